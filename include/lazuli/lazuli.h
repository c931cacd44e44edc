/* lazuli.h - the whole public interface. */
#ifndef LAZULI_LAZULI_H
#define LAZULI_LAZULI_H

#include <lazuli/base.h>
#include <lazuli/value.h>

#endif
