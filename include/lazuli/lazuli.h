/* lazuli.h - the whole public interface. */
#ifndef LAZULI_LAZULI_H
#define LAZULI_LAZULI_H

#include <lazuli/array.h>
#include <lazuli/autograd.h>
#include <lazuli/backend.h>
#include <lazuli/base.h>
#include <lazuli/data.h>
#include <lazuli/graph.h>
#include <lazuli/io.h>
#include <lazuli/kernel_cache.h>
#include <lazuli/nn.h>
#include <lazuli/operator.h>
#include <lazuli/ops.h>
#include <lazuli/optim.h>
#include <lazuli/profile.h>
#include <lazuli/run.h>
#include <lazuli/short_ops.h>
#include <lazuli/tensor.h>
#include <lazuli/value.h>

#endif
