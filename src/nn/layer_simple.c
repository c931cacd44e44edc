/* Layers without weights. */
#include "nn/module.h"

/* ---- sequential ---- */

static lz_tensor *forward_sequential(lz_module *m, lz_tensor *x)
{
    for (lz_module *k = m->first; k; k = k->next)
        x = lz_forward_at(k, m->at, x);
    return x;
}

lz_module *lz_nn_sequential_at(lz_module *parent, lz_loc at, const char *name)
{
    static const lz_layer layer = { { "Sequential", forward_sequential, NULL }, NULL };
    return lz_layer_make(parent, at, name, &layer, NULL, 0);
}

/* ---- operators ---- */

typedef struct unary {
    lz_unary_op *op;
} unary;

static lz_tensor *forward_op(lz_module *m, lz_tensor *x)
{
    return ((const unary *)m->data)->op(m->ctx, m->at, x);
}

lz_module *lz_nn_op_at(lz_module *parent, lz_loc at, const char *name, lz_unary_op *op)
{
    static const lz_layer layer = { { "Op", forward_op, NULL }, NULL };
    unary o = { op };
    return lz_layer_make(parent, at, name, &layer, &o, sizeof o);
}

typedef struct gelu {
    const char *approximate;
} gelu;

static lz_err *build_gelu(lz_module *m)
{
    static const char *const known[] = { "none", "tanh" };
    gelu *o = m->data;
    for (int i = 0; i < 2; i++)
        if (o->approximate && !strcmp(o->approximate, known[i])) {
            o->approximate = known[i];
            return NULL;
        }
    return lz_errf(LZ_ERR_ARG, "approximate is \"none\" or \"tanh\"");
}

static lz_tensor *forward_gelu(lz_module *m, lz_tensor *x)
{
    const lz_loc at = m->at;
    return lz_gelu(m->ctx, x, .approximate = ((const gelu *)m->data)->approximate);
}

lz_module *lz_nn_gelu_at(lz_module *parent, lz_loc at, const char *name, const lz_gelu_options *options)
{
    static const lz_layer layer = { { "GELU", forward_gelu, NULL }, build_gelu };
    gelu o = { options->approximate };
    return lz_layer_make(parent, at, name, &layer, &o, sizeof o);
}

static lz_tensor *forward_flatten(lz_module *m, lz_tensor *x)
{
    const lz_loc at = m->at;
    const lz_flatten_options *o = m->data;
    return lz_flatten_using_ints(m->ctx, x, .start_dim = o->start_dim, .end_dim = o->end_dim);
}

lz_module *lz_nn_flatten_at(lz_module *parent, lz_loc at, const char *name, const lz_flatten_options *options)
{
    static const lz_layer layer = { { "Flatten", forward_flatten, NULL }, NULL };
    return lz_layer_make(parent, at, name, &layer, options, sizeof *options);
}

/* ---- pooling ---- */

enum { DIMS = 2 };

typedef struct pool {
    lz_pool_kind kind;
    int64_t ndim, kernel;
    lz_pool_options o;
} pool;

/* Fills a missing list with `all`, checks each number, and copies the list into the tree's arena. */
static lz_err *fill(lz_module *m, int64_t all, int64_t least, const char *what, lz_ints *each)
{
    const pool *o = m->data;
    int64_t same[DIMS] = { all, all };
    if (each->n > 0 && each->n != o->ndim)
        return lz_errf(LZ_ERR_ARG, "%s: got %d numbers for %d dimensions", what, (int)each->n, (int)o->ndim);
    if (each->n <= 0)
        *each = (lz_ints){ same, o->ndim };
    for (int64_t i = 0; i < each->n && i < DIMS; i++)
        if (each->v[i] < least)
            return lz_errf(LZ_ERR_ARG, "%s must be at least %d", what, (int)least);
    return lz_module_keep_ints(m, each);
}

/* Refuses options of the other kind of pooling. */
static lz_err *check_kind(const pool *o)
{
    bool is_max = o->kind == LZ_POOL_MAX;
    if (is_max && !o->o.count_include_pad)
        return lz_errf(LZ_ERR_ARG, "count_include_pad is for average pooling only");
    if (o->o.divisor_override.has && (is_max || o->ndim == 1 || o->o.divisor_override.v == 0))
        return lz_errf(LZ_ERR_ARG,
                       "divisor_override is for average pooling in two dimensions, and must not be 0");
    if (!is_max && (o->o.dilation != 1 || o->o.dilations.n > 0))
        return lz_errf(LZ_ERR_ARG, "dilation is for max pooling only");
    return NULL;
}

static lz_err *check_padding(lz_ints kernels, lz_ints paddings)
{
    for (int64_t i = 0; i < paddings.n; i++)
        if (paddings.v[i] > kernels.v[i] / 2)
            return lz_errf(LZ_ERR_ARG, "padding must be at most half of the kernel");
    return NULL;
}

static lz_err *build_pool(lz_module *m)
{
    pool *o = m->data;
    if (o->ndim < 1 || o->ndim > DIMS)
        return lz_errf(LZ_ERR_ARG, "pooling has 1 or 2 dimensions");
    LZ_TRY(check_kind(o));
    LZ_TRY(fill(m, o->kernel, 1, "kernel", &o->o.kernels));
    if (o->o.strides.n <= 0 && o->o.stride == 0)
        o->o.strides = o->o.kernels;
    LZ_TRY(fill(m, o->o.stride, 1, "stride", &o->o.strides));
    LZ_TRY(fill(m, o->o.padding, 0, "padding", &o->o.paddings));
    LZ_TRY(fill(m, o->o.dilation, 1, "dilation", &o->o.dilations));
    return check_padding(o->o.kernels, o->o.paddings);
}

static lz_tensor *forward_max(lz_module *m, lz_tensor *x)
{
    const pool *o = m->data;
    lz_max_pool2d_args args = { .stride = o->o.strides,
                                .padding = o->o.paddings,
                                .dilation = o->o.dilations,
                                .ceil_mode = o->o.ceil_mode };
    return (o->ndim == 1 ? lz_max_pool1d_at : lz_max_pool2d_at)(m->ctx, m->at, x, o->o.kernels, &args);
}

static lz_tensor *forward_avg(lz_module *m, lz_tensor *x)
{
    const lz_loc at = m->at;
    const pool *o = m->data;
    if (o->ndim == 1)
        return lz_avg_pool1d(m->ctx, x, o->o.kernels, .stride = o->o.strides, .padding = o->o.paddings,
                             .ceil_mode = o->o.ceil_mode, .count_include_pad = o->o.count_include_pad);
    return lz_avg_pool2d(m->ctx, x, o->o.kernels, .stride = o->o.strides, .padding = o->o.paddings,
                         .ceil_mode = o->o.ceil_mode, .count_include_pad = o->o.count_include_pad,
                         .divisor_override = o->o.divisor_override);
}

lz_module *lz_nn_pool_at(lz_module *parent, lz_loc at, const char *name, lz_pool_kind kind, int64_t ndim,
                         int64_t kernel, const lz_pool_options *options)
{
    static const lz_layer layers[] = {
        [LZ_POOL_MAX] = { { "MaxPool", forward_max, NULL }, build_pool },
        [LZ_POOL_AVG] = { { "AvgPool", forward_avg, NULL }, build_pool },
    };
    pool o = { .kind = kind, .ndim = ndim, .kernel = kernel, .o = *options };
    return lz_layer_make(parent, at, name, &layers[kind == LZ_POOL_AVG], &o, sizeof o);
}

typedef struct adaptive {
    lz_pool_kind kind;
    lz_ints sizes;
} adaptive;

static lz_err *build_adaptive(lz_module *m)
{
    adaptive *o = m->data;
    if (o->sizes.n < 1 || o->sizes.n > DIMS)
        return lz_errf(LZ_ERR_ARG, "pooling has 1 or 2 dimensions");
    for (int64_t i = 0; i < o->sizes.n; i++)
        if (o->sizes.v[i] < 1 && o->sizes.v[i] != -1)
            return lz_errf(LZ_ERR_ARG, "sizes must be at least 1, or -1");
    return lz_module_keep_ints(m, &o->sizes);
}

static lz_tensor *forward_adaptive(lz_module *m, lz_tensor *x)
{
    const lz_loc at = m->at;
    const adaptive *o = m->data;
    lz_ctx *c = m->ctx;
    int64_t sizes[DIMS] = { 0 };
    lz_ints to = { sizes, o->sizes.n }, from = x ? lz_tensor_sizes(x) : (lz_ints){ NULL, 0 };
    for (int64_t i = 0; i < to.n; i++)
        sizes[i] = o->sizes.v[i] > 0 || from.n < to.n ? o->sizes.v[i] : from.v[from.n - to.n + i];
    if (o->kind == LZ_POOL_MAX)
        return to.n == 1 ? lz_adaptive_max_pool1d(c, x, to).out0 : lz_adaptive_max_pool2d(c, x, to).out0;
    return to.n == 1 ? lz_adaptive_avg_pool1d(c, x, to) : lz_adaptive_avg_pool2d(c, x, to);
}

lz_module *lz_nn_adaptive_pool_at(lz_module *parent, lz_loc at, const char *name, lz_pool_kind kind,
                                  lz_ints sizes)
{
    static const lz_layer layer = { { "AdaptivePool", forward_adaptive, NULL }, build_adaptive };
    adaptive o = { kind, sizes };
    return lz_layer_make(parent, at, name, &layer, &o, sizeof o);
}
