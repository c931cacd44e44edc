/* figure.h - how the programs of this folder tell what they measured. */
#ifndef LZ_BENCH_FIGURE_H
#define LZ_BENCH_FIGURE_H

#include <lazuli/base.h>
#include <stdbool.h>

/* One figure: as a line of JSON, or for people. `name` is the case, `system` who did it. */
void bench_json(bool on);
void bench_figure(const char *suite, const char *system, const char *name, const char *metric, double value,
                  const char *unit);

/* Ends the program if there is an error. */
void bench_try(lz_err *e);

#endif
