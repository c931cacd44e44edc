/* engines.h - one function as a kernel, run as kernels are run, and interpreted beside it. */
#ifndef LZ_TEST_ENGINES_H
#define LZ_TEST_ENGINES_H

#include "jit/program.h"
#include "ulps.h"

typedef struct engine {
    lz_kernel *kernel;
    lz_program *program;
    bool f64, called; /* called: its compiled code calls a tile function */
    bool rare;        /* it does so for great arguments */
    int steps;        /* operations of it when it is compiled */
} engine;

/* Of an operation, or of a formula that refs.h names. */
LZ_MUST_USE lz_err *engine_init(engine *e, const char *name, bool f64);
void engine_deinit(engine *e);

/* What a thread has run on one. */
typedef struct run {
    const engine *of;
    int64_t calls;  /* of engine_run */
    int64_t differ; /* elements whose bits differ between the two; NaN is NaN */
    lz_err *err;    /* the first */
} run;

/* ulps_engine's, user being a run. */
void engine_run(void *user, void *out, void *x, void *y, int n);

/* Compiled code is made at once from now on. */
LZ_MUST_USE lz_err *engines_open(void);
void engines_close(void);

#endif
