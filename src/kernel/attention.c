#include "kernel/attention.h"
#include "base/mem.h"
#include "core/dtype.h"

enum { ALIGN = 64 };

static const lz_attention_math *math_of(const lz_gemm_width *w)
{
#if defined(__x86_64__)
    if (w->bytes > 16)
        return w->bytes == 64 ? &lz_attention_avx512 : &lz_attention_avx2;
#endif
    (void)w;
    return &lz_attention_base;
}

void lz_attention_init(lz_attention *a, const lz_kernel_call *c, int q, int scale, int inputs)
{
    const lz_gemm_width *widths[LZ_GEMM_WIDTHS];
    int n = lz_gemm_widths(widths);
    const lz_strided *in = c->in + q;
    *a = (lz_attention){ .c = c,
                         .w = widths[c->way && c->way <= n ? c->way - 1 : n - 1],
                         .dtype = in[0].dtype,
                         .is_f64 = in[0].dtype == LZ_F64,
                         .size = (int64_t)lz_dtype_size(in[0].dtype),
                         .batch = in[0].sizes[0],
                         .heads = in[0].sizes[1],
                         .l = in[0].sizes[2],
                         .e = in[0].sizes[3],
                         .groups = in[1].sizes[1],
                         .s = in[1].sizes[2],
                         .ev = in[2].sizes[3],
                         .q = &in[0],
                         .k = &in[1],
                         .v = &in[2],
                         .causal = c->params[0] != 0,
                         .scratch = c->scratch };
    a->math = math_of(a->w);
    a->mask = inputs > scale + 1 ? &c->in[scale + 1] : NULL;
    a->scale = c->in[scale].data ? *(const double *)c->in[scale].data : 0;
}

size_t lz_attention_bytes(const lz_attention *a, int64_t n)
{
    return ((size_t)(n * a->size) + ALIGN - 1) / ALIGN * ALIGN;
}

static int64_t panel_of(const lz_attention *a)
{
    return LZ_ATTENTION_PANEL / a->size;
}

size_t lz_attention_panels(const lz_attention *a, int64_t k, int64_t n)
{
    int64_t wide = panel_of(a);
    return lz_attention_bytes(a, (n + wide - 1) / wide * wide * k);
}

const char *lz_attention_at(const lz_attention *a, const lz_strided *x, int64_t b, int64_t head, int64_t row)
{
    return (const char *)x->data + (b * x->strides[0] + head * x->strides[1] + row * x->strides[2]) * a->size;
}

void lz_attention_pack(const lz_attention *a, const lz_strided *x, int64_t b, int64_t head, int64_t at,
                       int64_t rows, bool turned, char *panels)
{
    int64_t wide = panel_of(a), n = turned ? rows : x->sizes[3], k = turned ? x->sizes[3] : rows;
    lz_gemm_side side = { .data = lz_attention_at(a, x, b, head, at),
                          .dtype = x->dtype,
                          .along = x->strides[turned ? 2 : 3],
                          .k = x->strides[turned ? 3 : 2] };
    for (int64_t j = 0; j < n; j += wide)
        lz_gemm_pack(a->w, a->dtype, &side, 0, j, lz_attention_least(wide, n - j), 0, k, wide,
                     panels + j * k * a->size);
}

/* ---- products ---- */

/* All rows of some columns. */
static void do_columns(const lz_attention *a, const lz_attention_product *p, lz_gemm_wide wide,
                       lz_gemm_block b)
{
    const lz_gemm_width *w = a->w;
    int height = 0;
    for (int64_t left = p->m; left > 0; left -= w->heights[height]) {
        while (w->heights[height] > left)
            height++;
        w->micro[a->is_f64 ? LZ_GEMM_F64 : LZ_GEMM_F32][height][wide](&b);
        b.x = (const char *)b.x + w->heights[height] * p->xi * a->size;
        b.out = (char *)b.out + w->heights[height] * p->oi * a->size;
    }
}

void lz_attention_multiply(const lz_attention *a, const lz_attention_product *p)
{
    int64_t wide = panel_of(a), lanes = a->w->bytes / a->size, step;
    lz_gemm_block b = {
        .nk = p->k, .x = p->x, .xi = p->xi, .xk = p->xk, .yk = wide, .oi = p->oi, .add = p->add
    };
    for (int64_t j = 0; j < p->n; j += step) {
        int64_t left = p->n - j;
        lz_gemm_wide way = left >= 2 * lanes ? LZ_GEMM_TWO : left >= lanes ? LZ_GEMM_ONE : LZ_GEMM_PART;
        step = way == LZ_GEMM_TWO ? 2 * lanes : lanes;
        b.y = p->y + (j / wide * wide * p->k + j % wide) * a->size;
        b.out = p->out + j * a->size;
        b.lanes = (int)lz_attention_least(left, lanes);
        do_columns(a, p, way, b);
    }
}

/* ---- masks ---- */

#define COPY(T)                                                                                              \
    static void copy_##T(const T *from, int64_t step, int64_t n, T *to)                                      \
    {                                                                                                        \
        for (int64_t j = 0; j < n; j++)                                                                      \
            to[j] = from[j * step];                                                                          \
    }                                                                                                        \
    static void choose_##T(const bool *from, int64_t step, int64_t n, T *to)                                 \
    {                                                                                                        \
        for (int64_t j = 0; j < n; j++)                                                                      \
            to[j] = from[j * step] ? 0 : (T)-INFINITY;                                                       \
    }
COPY(float)
COPY(double)

const void *lz_attention_bias(const lz_attention *a, const lz_attention_tile *t, int64_t i, char *room)
{
    const lz_strided *x = a->mask;
    if (!x || (i > 0 && x->strides[2] == 0))
        return x ? room : NULL;
    const char *from =
        (const char *)x->data
        + (t->b * x->strides[0] + t->head * x->strides[1] + (t->i + i) * x->strides[2] + t->j * x->strides[3])
              * (int64_t)lz_dtype_size(x->dtype);
    int64_t step = x->strides[3];
    if (x->dtype == LZ_BOOL && a->is_f64)
        choose_double((const void *)from, step, t->n, (void *)room);
    else if (x->dtype == LZ_BOOL)
        choose_float((const void *)from, step, t->n, (void *)room);
    else if (a->is_f64)
        copy_double((const void *)from, step, t->n, (void *)room);
    else
        copy_float((const void *)from, step, t->n, (void *)room);
    return room;
}

int64_t lz_attention_valid(const lz_attention *a, const lz_attention_tile *t, int64_t i)
{
    int64_t seen = t->i + i + 1 - t->j;
    return !a->causal || seen > t->n ? t->n : seen < 0 ? 0 : seen;
}

/* ---- running ---- */

lz_err *lz_attention_run(lz_attention *a, int64_t tasks, lz_range_fn *fn, void *user)
{
    int threads = lz_pool_threads(a->c->pool);
    if (!a->scratch && !(a->scratch = lz_temporary_take((size_t)threads * a->room, ALIGN)))
        return lz_err_oom();
    lz_err *e = lz_pool_for(a->c->pool, tasks, 1, fn, user);
    if (a->scratch != a->c->scratch)
        lz_temporary_give(a->scratch);
    return e;
}
