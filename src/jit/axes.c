#include "jit/axes.h"
#include "jit/tile.h"
#include <assert.h>

size_t lz_dtype_bytes(int dtype)
{
    static const uint8_t sizes[LZ_DTYPE_SLOTS] = {
        [LZ_BOOL] = 1, [LZ_U8] = 1,  [LZ_I8] = 1,   [LZ_I16] = 2, [LZ_I32] = 4,
        [LZ_I64] = 8,  [LZ_F16] = 2, [LZ_BF16] = 2, [LZ_F32] = 4, [LZ_F64] = 8
    };
    assert(dtype >= 0 && dtype < LZ_DTYPE_SLOTS && sizes[dtype]);
    return sizes[dtype];
}

lz_err *lz_nest_bad_index(const lz_nest *n, int64_t index, int64_t dim, int64_t size)
{
    if (dim < 0)
        return lz_errf(LZ_ERR_ARG, "%s", n->args->rules[-1 - dim]);
    return lz_err_because(LZ_REASON_INDEX, "index %lld is out of bounds for dimension %lld with size %lld",
                          (long long)index, (long long)dim, (long long)size);
}

lz_err *lz_nest_check(const lz_nest *n)
{
    int64_t total = 1;
    bool empty = false;
    int dims = n->n_outer + n->n_row;
    for (int d = 0; d < dims; d++) {
        int64_t e = n->args->extents[d];
        if (e < 0)
            return lz_errf(LZ_ERR_ARG, "kernel: extent %lld is negative", (long long)e);
        empty = empty || e == 0;
    }
    for (int d = 0; !empty && d < dims; d++) {
        if (__builtin_mul_overflow(total, n->args->extents[d], &total))
            return lz_errf(LZ_ERR_LIMIT, "a kernel over more than 2^63 elements");
    }
    return NULL;
}

char *lz_nest_base(const lz_nest *n, int access)
{
    assert(access >= 0 && access < n->n_access);
    const lz_kernel_use *u = &n->use[access];
    const lz_kernel_access *a = &n->args->access[access];
    return lz_pointer_add(u->loads || u->stores ? a->base : NULL, a->offset * lz_kernel_use_size(u));
}

/* For every used access: does stepping through all of `inner` move as far as one step of `outer`? */
static bool merges(const lz_nest *n, int outer, int inner, int64_t extent)
{
    bool does = true;
    for (int a = 0; does && a < n->n_access; a++) {
        if (lz_kernel_use_any(&n->use[a]))
            does = lz_nest_stride(n, a, outer) == lz_nest_stride(n, a, inner) * extent;
    }
    return does;
}

void lz_axes_add(lz_axes *x, const lz_nest *n, int begin, int end)
{
    for (int d = begin; d < end; d++) {
        int64_t e = n->args->extents[d];
        x->total *= e;
        if (e == 1)
            continue;
        if (x->n && merges(n, x->dim[x->n - 1], d, e)) {
            x->extent[x->n - 1] *= e;
            x->dim[x->n - 1] = (uint8_t)d;
            continue;
        }
        assert(x->n < LZ_KERNEL_DIMS);
        x->extent[x->n] = e;
        x->dim[x->n++] = (uint8_t)d;
    }
}

void lz_axes_swap_last(lz_axes *x)
{
    int last = x->n - 1;
    int64_t extent = x->extent[last];
    uint8_t dim = x->dim[last];
    x->extent[last] = x->extent[last - 1];
    x->dim[last] = x->dim[last - 1];
    x->extent[last - 1] = extent;
    x->dim[last - 1] = dim;
}

bool lz_axes_linear(const lz_axes *x, const lz_nest *n, int access, int first)
{
    bool does = true;
    for (int d = first; does && d + 1 < x->n; d++)
        does = lz_nest_stride(n, access, x->dim[d])
               == lz_nest_stride(n, access, x->dim[d + 1]) * x->extent[d + 1];
    return does;
}

void lz_axes_split(const lz_axes *x, int64_t flat, int64_t *at)
{
    for (int d = x->n - 1; d >= 0; d--) {
        int64_t e = x->extent[d] ? x->extent[d] : 1;
        at[d] = flat ? flat % e : 0; /* most calls are about the start, and a division takes long */
        flat = flat ? flat / e : 0;
    }
}
