/* dnnl.h - oneDNN 2.x, found at run time, with our own prototypes.
 *
 * Its structs are opaque here: we provide memory and only oneDNN's functions access it. They differ in 3.x,
 * which is refused. oneDNN is built with OpenMP. Between lz_dnnl_enter and _leave the calling thread is
 * limited to one OpenMP thread, so that oneDNN starts none and results do not depend on their number. */
#ifndef LZ_KERNEL_DNNL_H
#define LZ_KERNEL_DNNL_H

#include "base/err.h"
#include <stdbool.h>

enum { LZ_DNNL_DIMS = 12 };

/* Larger than in 2.x: a memory descriptor has some 700 bytes, an operation descriptor contains eight memory
 * descriptors. Descriptors that oneDNN returns by pointer are smaller: never copy them. */
typedef struct lz_dnnl_md {
    _Alignas(8) char room[1536];
} lz_dnnl_md;
typedef struct lz_dnnl_desc {
    _Alignas(8) char room[16384];
} lz_dnnl_desc;

typedef struct lz_dnnl_arg {
    int arg;
    void *memory;
} lz_dnnl_arg;

/* The values of oneDNN's enums that we use. */
enum {
    LZ_DNNL_CPU = 1,
    LZ_DNNL_IN_ORDER = 1,
    LZ_DNNL_F32 = 3,
    LZ_DNNL_ANY = 1, /* a format tag */
    LZ_DNNL_DIRECT = 1,
    LZ_DNNL_TRAINING = 64,
    LZ_DNNL_INFERENCE = 96,
    LZ_DNNL_USER_SCRATCHPAD = 1,
    LZ_DNNL_QUERY_SRC = 129, /* then diff_src, weights, diff_weights, dst, diff_dst */
    LZ_DNNL_QUERY_DIFF_SRC,
    LZ_DNNL_QUERY_WEIGHTS,
    LZ_DNNL_QUERY_DIFF_WEIGHTS,
    LZ_DNNL_QUERY_DST,
    LZ_DNNL_QUERY_DIFF_DST,
    LZ_DNNL_QUERY_SCRATCHPAD = 136,
    LZ_DNNL_ARG_SRC = 1,
    LZ_DNNL_ARG_DST = 17,
    LZ_DNNL_ARG_WEIGHTS = 33,
    LZ_DNNL_ARG_SCRATCHPAD = 80,
    LZ_DNNL_ARG_DIFF_SRC = 129,
    LZ_DNNL_ARG_DIFF_DST = 145,
    LZ_DNNL_ARG_DIFF_WEIGHTS = 161,
};

typedef struct lz_dnnl_version {
    int major, minor, patch;
    const char *hash;
    unsigned cpu_runtime, gpu_runtime;
} lz_dnnl_version;

/* Functions return 0 on success. */
typedef struct lz_dnnl {
    const lz_dnnl_version *(*version)(void);
    int (*sgemm)(char tx, char ty, int64_t m, int64_t n, int64_t k, float alpha, const float *x, int64_t ldx,
                 const float *y, int64_t ldy, float beta, float *out, int64_t ldo);
    int (*engine_create)(void **out, int kind, size_t index);
    int (*stream_create)(void **out, void *engine, unsigned flags);
    int (*stream_destroy)(void *stream);
    int (*md_strides)(lz_dnnl_md *out, int ndim, const int64_t *dims, int type, const int64_t *strides);
    int (*md_tag)(lz_dnnl_md *out, int ndim, const int64_t *dims, int type, int tag);
    size_t (*md_size)(const lz_dnnl_md *md);
    int (*md_equal)(const lz_dnnl_md *a, const lz_dnnl_md *b); /* 1: equal */
    int (*conv_forward)(lz_dnnl_desc *out, int prop, int alg, const lz_dnnl_md *src,
                        const lz_dnnl_md *weights, const lz_dnnl_md *bias, const lz_dnnl_md *dst,
                        const int64_t *strides, const int64_t *dilates, const int64_t *before,
                        const int64_t *behind);
    int (*conv_data)(lz_dnnl_desc *out, int alg, const lz_dnnl_md *diff_src, const lz_dnnl_md *weights,
                     const lz_dnnl_md *diff_dst, const int64_t *strides, const int64_t *dilates,
                     const int64_t *before, const int64_t *behind);
    int (*conv_weights)(lz_dnnl_desc *out, int alg, const lz_dnnl_md *src, const lz_dnnl_md *diff_weights,
                        const lz_dnnl_md *diff_bias, const lz_dnnl_md *diff_dst, const int64_t *strides,
                        const int64_t *dilates, const int64_t *before, const int64_t *behind);
    int (*reorder)(void **pd, const lz_dnnl_md *from, void *from_engine, const lz_dnnl_md *to,
                   void *to_engine, const void *attr);
    int (*attr_create)(void **out);
    int (*attr_destroy)(void *attr);
    int (*attr_scratchpad)(void *attr, int mode);
    int (*pd_create)(void **out, const lz_dnnl_desc *d, const void *attr, void *engine, const void *hint);
    int (*pd_destroy)(void *pd);
    const lz_dnnl_md *(*pd_md)(const void *pd, int what, int index);
    int (*create)(void **out, const void *pd);
    int (*destroy)(void *primitive);
    int (*execute)(const void *primitive, void *stream, int n, const lz_dnnl_arg *args);
    int (*memory_create)(void **out, const lz_dnnl_md *md, void *engine, void *data);
    int (*memory_destroy)(void *memory);
    /* OpenMP's functions; NULL if oneDNN is built without it */
    int (*omp_most)(void);
    void (*omp_set)(int n);
    void *engine; /* the CPU engine */
    char file[512];
} lz_dnnl;

/* Loads oneDNN at the first call. LZ_ERR_NOT_FOUND says why it cannot be used; later calls return the
 * same. */
LZ_MUST_USE lz_err *lz_dnnl_get(const lz_dnnl **out);

/* False: too little memory is left for oneDNN (base/memory_limit.h). */
bool lz_dnnl_has_room(void);

/* Returns the value to pass to _leave; -1: the process exits, and oneDNN must not be called. */
int lz_dnnl_enter(const lz_dnnl *d);
void lz_dnnl_leave(const lz_dnnl *d, int before);

#endif
