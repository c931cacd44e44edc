/* axes.h - the loop nest of one run, and its dimensions merged.
 *
 * Neighbouring dimensions that every access walks through as one are made one, and
 * dimensions of extent 1 are left out: what is left is what has to be looped over. */
#ifndef LZ_JIT_AXES_H
#define LZ_JIT_AXES_H

#include "jit/kernel_ir.h"

/* A kernel with its arguments. */
typedef struct lz_nest {
    const lz_kernel_args *args;
    const lz_kuse *use; /* of each access */
    int n_access, n_outer, n_row;
} lz_nest;

typedef struct lz_axes {
    int n;
    int64_t total;                  /* the product; 1 for none */
    int64_t extent[LZ_KERNEL_DIMS]; /* none is 1 */
    uint8_t dim[LZ_KERNEL_DIMS];    /* whose stride counts: the innermost merged into it */
} lz_axes;

size_t lz_dtype_bytes(int dtype);

/* Extents below 0 or a product above 2^63 are refused. */
LZ_MUST_USE lz_err *lz_nest_check(const lz_nest *n);
/* What a check that failed has to say. */
LZ_MUST_USE lz_err *lz_nest_bad_index(const lz_nest *n, int64_t index, int64_t dim, int64_t size);

static inline bool lz_kuse_any(const lz_kuse *u)
{
    return u->loads || u->stores || u->affine;
}

/* Bytes of an element; 1 where there is no memory. */
static inline int64_t lz_kuse_size(const lz_kuse *u)
{
    return u->loads || u->stores ? (int64_t)lz_dtype_bytes(u->dtype) : 1;
}

/* In elements. Along the row, what does not vary along it stands still, whatever was passed. */
static inline int64_t lz_nest_stride(const lz_nest *n, int access, int dim)
{
    bool still = dim >= n->n_outer && n->use[access].vary == LZ_K_OUTER;
    return still ? 0 : n->args->access[access].strides[dim];
}

/* p so many bytes on; an access without memory has only the distance from NULL, of which C
 * pointers know nothing. */
static inline char *lz_reach_move(char *p, int64_t bytes)
{
    /* NOLINTNEXTLINE(performance-no-int-to-ptr): p + bytes is undefined for NULL */
    return (char *)((uintptr_t)p + (uintptr_t)bytes);
}

/* Where an access starts: its base and offset. */
char *lz_nest_base(const lz_nest *n, int access);

static inline void lz_axes_init(lz_axes *x)
{
    x->n = 0;
    x->total = 1;
}

/* Dimensions begin..end-1, inside of those it has. */
void lz_axes_add(lz_axes *x, const lz_nest *n, int begin, int end);

/* Does one stride lead an access through the axes from `first` on? */
bool lz_axes_linear(const lz_axes *x, const lz_nest *n, int access, int first);

/* The index along each axis of element `flat`, row-major. */
void lz_axes_split(const lz_axes *x, int64_t flat, int64_t *at);

#endif
