/* axes.h - the loop nest of one run, with its dimensions merged.
 *
 * Neighbouring dimensions that every access steps through with one stride are merged into one. Dimensions of
 * extent 1 are dropped. The axes that remain are the loops to run. */
#ifndef LZ_JIT_AXES_H
#define LZ_JIT_AXES_H

#include "jit/kernel_ir.h"

/* A kernel with its arguments. */
typedef struct lz_nest {
    const lz_kernel_args *args;
    const lz_kernel_use *use; /* one per access */
    int n_access, n_outer, n_row;
} lz_nest;

typedef struct lz_axes {
    int n;
    int64_t total;                  /* product of the extents; 1 without axes */
    int64_t extent[LZ_KERNEL_DIMS]; /* never 1 */
    uint8_t dim[LZ_KERNEL_DIMS];    /* dimension of its stride: the innermost merged one */
} lz_axes;

size_t lz_dtype_bytes(int dtype);

/* Refuses extents below 0 and a product above 2^63. */
LZ_MUST_USE lz_err *lz_nest_check(const lz_nest *n);
/* The error for an index that failed a LZ_KERNEL_NODE_CHECK. */
LZ_MUST_USE lz_err *lz_nest_bad_index(const lz_nest *n, int64_t index, int64_t dim, int64_t size);

static inline bool lz_kernel_use_any(const lz_kernel_use *u)
{
    return u->loads || u->stores || u->affine;
}

/* Bytes of an element; 1 for an access without memory. */
static inline int64_t lz_kernel_use_size(const lz_kernel_use *u)
{
    return u->loads || u->stores ? (int64_t)lz_dtype_bytes(u->dtype) : 1;
}

/* In elements. 0 along the row for an access that does not vary along the row, whatever stride was passed. */
static inline int64_t lz_nest_stride(const lz_nest *n, int access, int dim)
{
    bool still = dim >= n->n_outer && n->use[access].vary == LZ_KERNEL_OUTER;
    return still ? 0 : n->args->access[access].strides[dim];
}

/* p + bytes. An access without memory has no base: its p is NULL plus a distance, and C leaves arithmetic on
 * NULL undefined. */
static inline char *lz_pointer_add(char *p, int64_t bytes)
{
    /* NOLINTNEXTLINE(performance-no-int-to-ptr): p + bytes is undefined for NULL */
    return (char *)((uintptr_t)p + (uintptr_t)bytes);
}

/* Base address plus offset. */
char *lz_nest_base(const lz_nest *n, int access);

static inline void lz_axes_init(lz_axes *x)
{
    x->n = 0;
    x->total = 1;
}

/* Adds dimensions begin..end-1 of the nest inside the axes already in x. */
void lz_axes_add(lz_axes *x, const lz_nest *n, int begin, int end);

/* Exchanges the last two axes. */
void lz_axes_swap_last(lz_axes *x);

/* Can one stride walk the access through axes `first` and inwards? */
bool lz_axes_linear(const lz_axes *x, const lz_nest *n, int access, int first);

/* Splits the row-major element number `flat` into an index along each axis. */
void lz_axes_split(const lz_axes *x, int64_t flat, int64_t *at);

#endif
