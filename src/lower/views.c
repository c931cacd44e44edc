#include "lower/views.h"
#include "core/dtype.h"
#include "core/strides.h"
#include <string.h>

/* Strides of empty tensors mean nothing, and may be anything. */
void lz_row_major(lz_ints sizes, int64_t *strides)
{
    for (int64_t d = sizes.n, s = 1; d-- > 0;) {
        strides[d] = s;
        s = (int64_t)((uint64_t)s * (uint64_t)sizes.v[d]);
    }
}

lz_err *lz_dense_view(lz_arena *a, const lz_ln *n, lz_gview *out)
{
    *out = (lz_gview){ .base = n };
    LZ_TRY(lz_arena_new(a, &out->strides, (size_t)n->ndim + 1));
    lz_row_major(lz_ln_sizes(n), out->strides);
    if (n->kind == LZ_L_INPUT) {
        const lz_linput *in = n->attr;
        out->offset = in->offset;
        memcpy(out->strides, in->strides, n->ndim * sizeof *out->strides);
    }
    return NULL;
}

bool lz_ln_is_pointwise(const lz_ln *n)
{
    bool divides =
        n->kind == LZ_L_MAP && lz_dtype_is_whole((lz_dtype)n->dtype)
        && (n->op == LZ_K_IDIV || n->op == LZ_K_IDIV_FLOOR || n->op == LZ_K_FMOD || n->op == LZ_K_REMAINDER);
    return (n->kind == LZ_L_MAP || n->kind == LZ_L_CAST) && !divides;
}

static bool is_view(const lz_ln *n)
{
    return (n->kind == LZ_L_INDEX && n->nin == 1) || n->kind == LZ_L_RESHAPE;
}

/* The view that n is of its operand, put before the one that v is of the operand. */
static lz_err *look_through(lz_arena *a, const lz_ln *n, lz_gview *v, bool *ok)
{
    const lz_ln *x = n->in[0];
    lz_gview out = *v;
    lz_shape strides;
    LZ_TRY(lz_arena_new(a, &out.strides, (size_t)n->ndim + 1));
    if (n->kind == LZ_L_RESHAPE) {
        *ok = x->numel > 0
              && lz_strides_view(lz_ln_sizes(x), (lz_ints){ v->strides, x->ndim }, lz_ln_sizes(n), &strides);
        memcpy(out.strides, strides.v, *ok ? n->ndim * sizeof *out.strides : 0);
    } else {
        const lz_lindex *at = n->attr;
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

lz_err *lz_view_resolve(lz_arena *a, const lz_ln *n, lz_gview *out)
{
    enum { CHAIN = 32 };
    const lz_ln *chain[CHAIN], *base = n;
    int k = 0;
    while (k < CHAIN && is_view(base) && base->numel > 0) {
        chain[k++] = base;
        base = base->in[0];
    }
    LZ_TRY(lz_dense_view(a, base, out));
    while (k-- > 0) {
        bool ok;
        lz_gview v = *out;
        LZ_TRY(look_through(a, chain[k], &v, &ok));
        if (!ok)
            LZ_TRY(lz_dense_view(a, chain[k], &v));
        *out = v;
    }
    return NULL;
}
