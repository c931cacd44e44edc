/* replicas.h - a graph compiled for several devices at once.
 *
 * A context that was opened with `replicas` names other devices of its backend that run the same program. A
 * new graph is then compiled for all these devices by one call of the backend, and contexts on those devices
 * find theirs in the cache. */
#ifndef LZ_LAZY_REPLICAS_H
#define LZ_LAZY_REPLICAS_H

#include "lazy/lowering.h"
#include "lazy/registry.h"

typedef struct lz_executable lz_executable;

typedef struct lz_replicas {
    lz_device devices[LZ_BACKEND_DEVICES];   /* without the context's own */
    lz_executable *made[LZ_BACKEND_DEVICES]; /* by the last compilation, one for each device, or NULL */
    size_t n;
} lz_replicas;

/* "cpu:0,cpu:1"; NULL, "": none. All must be devices of own's backend. `own` and repetitions are left out. */
LZ_MUST_USE lz_err *lz_replicas_parse(const char *list, lz_device own, lz_replicas *out);

/* Compiles l for its own device and n others by one call: out[0], then out[1] to out[n]. `a` gets the copies
 * that the call needs. *blamed: the place of the node that could not be compiled, or SIZE_MAX. */
LZ_MUST_USE lz_err *lz_replicas_compile(lz_arena *a, const lz_backend *b, lz_lowering *l,
                                        const lz_device *others, size_t n, void **out, size_t *blamed);

#endif
