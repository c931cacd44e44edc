/* figure.h - how the programs of this folder print what they measured. */
#ifndef LZ_BENCH_FIGURE_H
#define LZ_BENCH_FIGURE_H

#include <lazuli/base.h>
#include <stdbool.h>

/* Prints a figure: as a line of JSON, or for people. `name`: the case; `system`: what was measured. */
void bench_json(bool on);
void bench_figure(const char *suite, const char *system, const char *name, const char *metric, double value,
                  const char *unit);

/* Ends the program with a message if e is not NULL. */
void bench_try(lz_err *e);

#endif
