/* lazuli.h - the whole public interface. */
#ifndef LAZULI_LAZULI_H
#define LAZULI_LAZULI_H

#include <lazuli/array.h>
#include <lazuli/base.h>
#include <lazuli/graph.h>
#include <lazuli/operator.h>
#include <lazuli/run.h>
#include <lazuli/value.h>

#endif
