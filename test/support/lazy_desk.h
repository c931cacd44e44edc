/* lazy_desk.h - contexts on a fake device, and operators by name, for tests of syncs. */
#ifndef LZ_TEST_LAZY_DESK_H
#define LZ_TEST_LAZY_DESK_H

#include "check.h"
#include "fake_backend.h"
#include "lazy/ctx.h"

typedef struct bench {
    fake_backend fake;
    int16_t type;
    lz_ctx *c;
} bench;

/* A backend "fake_bench" and a context on its first device. options.device is set. */
LZ_MUST_USE lz_err *bench_open(bench *b, lz_options options);
/* The context's error, if it is one of memory while allocations fail; others end the test. */
LZ_MUST_USE lz_err *bench_close(bench *b);

/* n elements: first, first + 1, ... */
lz_tensor *bench_data(lz_ctx *c, int64_t n, float first);
lz_tensor *bench_op(lz_ctx *c, const char *op, lz_tensor *a, lz_tensor *b, double number, int line);
/* Every element is first + i * step; nothing is asked of a context that has failed. */
void bench_expect(lz_tensor *t, float first, float step);
int64_t bench_count(const char *name); /* 0: never */

#endif
