#include "lower/views.h"
#include "core/dtype.h"
#include "core/strides.h"
#include <assert.h>
#include <string.h>

/* The strides of empty tensors are arbitrary. */
void lz_row_major(lz_ints sizes, int64_t *strides)
{
    for (int64_t d = sizes.n, s = 1; d-- > 0;) {
        strides[d] = s;
        s = (int64_t)((uint64_t)s * (uint64_t)sizes.v[d]);
    }
}

lz_err *lz_dense_view(lz_arena *a, const lz_low_node *n, lz_group_view *out)
{
    *out = (lz_group_view){ .base = n };
    LZ_TRY(lz_arena_new(a, &out->strides, (size_t)n->ndim + 1));
    lz_row_major(lz_low_node_sizes(n), out->strides);
    if (n->kind == LZ_LOW_INPUT) {
        const lz_low_input_attr *in = n->attr;
        out->offset = in->offset;
        memcpy(out->strides, in->strides, n->ndim * sizeof *out->strides);
    }
    return NULL;
}

bool lz_low_node_is_pointwise(const lz_low_node *n)
{
    bool divides = n->kind == LZ_LOW_MAP && lz_dtype_is_whole((lz_dtype)n->dtype)
                   && (n->op == LZ_KERNEL_IDIV || n->op == LZ_KERNEL_IDIV_FLOOR || n->op == LZ_KERNEL_FMOD
                       || n->op == LZ_KERNEL_REMAINDER);
    return (n->kind == LZ_LOW_MAP || n->kind == LZ_LOW_CAST) && !divides;
}

static bool is_view(const lz_low_node *n)
{
    return (n->kind == LZ_LOW_INDEX && n->nin == 1) || n->kind == LZ_LOW_RESHAPE;
}

/* Changes v, a view that x = n->in[0] is of a node, to the view that n is of that node. */
static lz_err *look_through(lz_arena *a, const lz_low_node *n, lz_group_view *v, bool *ok)
{
    assert(n->nin && is_view(n));
    const lz_low_node *x = n->in[0];
    lz_group_view out = *v;
    lz_shape strides;
    LZ_TRY(lz_arena_new(a, &out.strides, (size_t)n->ndim + 1));
    if (n->kind == LZ_LOW_RESHAPE) {
        *ok = x->numel > 0
              && lz_strides_view(lz_low_node_sizes(x), (lz_ints){ v->strides, x->ndim }, lz_low_node_sizes(n),
                                 &strides);
        memcpy(out.strides, strides.v, *ok ? n->ndim * sizeof *out.strides : 0);
    } else {
        const lz_low_index_attr *at = n->attr;
        for (int64_t r = 0; r < x->ndim; r++) {
            out.offset += v->strides[r] * at->v[r];
            for (int64_t c = 0; c < n->ndim; c++)
                out.strides[c] += v->strides[r] * at->v[x->ndim + r * n->ndim + c];
        }
        *ok = true;
    }
    *v = out;
    return NULL;
}

lz_err *lz_view_resolve(lz_arena *a, const lz_low_node *n, lz_group_view *out)
{
    enum { CHAIN = 32 };
    const lz_low_node *chain[CHAIN], *base = n;
    int k = 0;
    while (k < CHAIN && is_view(base) && base->numel > 0) {
        chain[k++] = base;
        base = base->in[0];
    }
    LZ_TRY(lz_dense_view(a, base, out));
    while (k-- > 0) {
        bool ok;
        lz_group_view v = *out;
        LZ_TRY(look_through(a, chain[k], &v, &ok));
        if (!ok)
            LZ_TRY(lz_dense_view(a, chain[k], &v));
        *out = v;
    }
    return NULL;
}
