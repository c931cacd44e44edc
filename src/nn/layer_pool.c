/* Pooling layers: maxima, averages and roots of powers in windows, maxima at random places, and back. */
#include "nn/module.h"
#include <math.h>

enum { DIMS = 3 };

/* Numbers of the spatial dimensions. */
typedef struct windows {
    int64_t ndim, kernel[DIMS], stride[DIMS], padding[DIMS], dilation[DIMS];
} windows;

typedef struct pool {
    lz_pool_kind kind;
    windows w;
    lz_pool_options o; /* its lists are valid while the layer is made */
    int64_t kernel;
} pool;

static lz_ints list_of(const windows *w, const int64_t *v)
{
    return (lz_ints){ v, w->ndim };
}

/* ---- options ---- */

/* Refuses options of the other kinds of pooling. */
static lz_err *check_kind(const pool *p)
{
    bool is_max = p->kind == LZ_POOL_MAX, is_avg = p->kind == LZ_POOL_AVG;
    if (!is_avg && !p->o.count_include_pad)
        return lz_errf(LZ_ERR_ARG, "count_include_pad is for average pooling only");
    if (p->o.divisor_override.has && (!is_avg || p->w.ndim == 1 || p->o.divisor_override.v == 0))
        return lz_errf(LZ_ERR_ARG, "divisor_override is for average pooling in two or three dimensions, and "
                                   "must not be 0");
    if (!is_max && (p->o.dilation != 1 || p->o.dilations.n > 0))
        return lz_errf(LZ_ERR_ARG, "dilation is for max pooling only");
    if (p->kind != LZ_POOL_POWER)
        return p->o.norm_type == 0 ? NULL
                                   : lz_errf(LZ_ERR_ARG, "norm_type is for power-average pooling only");
    if (p->o.norm_type == 0 || p->o.norm_type != p->o.norm_type)
        return lz_errf(LZ_ERR_ARG, "norm_type must be a non-zero value");
    if (p->o.padding != 0 || p->o.paddings.n > 0)
        return lz_errf(LZ_ERR_ARG, "power-average pooling has no padding");
    return NULL;
}

static lz_err *read_windows(lz_ints kernels, int64_t kernel, lz_ints strides, int64_t stride,
                            lz_ints paddings, int64_t padding, windows *out)
{
    if (out->ndim < 1 || out->ndim > DIMS)
        return lz_errf(LZ_ERR_ARG, "pooling has 1, 2 or 3 dimensions");
    LZ_TRY(lz_layer_spread(kernels, kernel, out->ndim, 1, "kernel", out->kernel));
    if (strides.n <= 0 && stride == 0)
        strides = list_of(out, out->kernel);
    LZ_TRY(lz_layer_spread(strides, stride, out->ndim, 1, "stride", out->stride));
    return lz_layer_spread(paddings, padding, out->ndim, 0, "padding", out->padding);
}

static lz_err *build_pool(lz_module *m)
{
    pool *p = m->data;
    const lz_pool_options *o = &p->o;
    LZ_TRY(check_kind(p));
    LZ_TRY(read_windows(o->kernels, p->kernel, o->strides, o->stride, o->paddings, o->padding, &p->w));
    LZ_TRY(lz_layer_spread(o->dilations, o->dilation, p->w.ndim, 1, "dilation", p->w.dilation));
    for (int64_t i = 0; i < p->w.ndim; i++)
        if (p->w.padding[i] > p->w.kernel[i] / 2)
            return lz_errf(LZ_ERR_ARG, "padding must be at most half of the kernel");
    p->o.kernels = p->o.strides = p->o.paddings = p->o.dilations = (lz_ints){ NULL, 0 };
    return NULL;
}

/* ---- maxima ---- */

/* indices NULL: not wanted. */
static lz_tensor *pool_max(lz_module *m, lz_tensor *x, lz_tensor **indices)
{
    typedef lz_tensor *plain_fn(lz_ctx *, lz_loc, lz_tensor *, lz_ints, const lz_max_pool2d_args *);
    typedef lz_max_pool2d_with_indices_result both_fn(lz_ctx *, lz_loc, lz_tensor *, lz_ints,
                                                      const lz_max_pool2d_with_indices_args *);
    static plain_fn *const plain[DIMS] = { lz_max_pool1d_at, lz_max_pool2d_at, lz_max_pool3d_at };
    static both_fn *const both[DIMS] = { lz_max_pool1d_with_indices_at, lz_max_pool2d_with_indices_at,
                                         lz_max_pool3d_with_indices_at };
    const pool *p = m->data;
    const windows *w = &p->w;
    lz_max_pool2d_args args = { .stride = list_of(w, w->stride),
                                .padding = list_of(w, w->padding),
                                .dilation = list_of(w, w->dilation),
                                .ceil_mode = p->o.ceil_mode };
    if (!indices)
        return plain[w->ndim - 1](m->ctx, m->at, x, list_of(w, w->kernel), &args);
    lz_max_pool2d_with_indices_result r = both[w->ndim - 1](m->ctx, m->at, x, list_of(w, w->kernel), &args);
    *indices = r.out1;
    return r.out0;
}

static lz_tensor *forward_max(lz_module *m, lz_tensor *x)
{
    return pool_max(m, x, NULL);
}

/* ---- averages ---- */

static lz_tensor *forward_avg(lz_module *m, lz_tensor *x)
{
    const lz_loc at = m->at;
    const pool *p = m->data;
    const windows *w = &p->w;
    lz_ints kernel = list_of(w, w->kernel), stride = list_of(w, w->stride), padding = list_of(w, w->padding);
    if (w->ndim == 1)
        return lz_avg_pool1d(m->ctx, x, kernel, .stride = stride, .padding = padding,
                             .ceil_mode = p->o.ceil_mode, .count_include_pad = p->o.count_include_pad);
    lz_avg_pool2d_args args = { .stride = stride,
                                .padding = padding,
                                .ceil_mode = p->o.ceil_mode,
                                .count_include_pad = p->o.count_include_pad,
                                .divisor_override = p->o.divisor_override };
    return (w->ndim == 2 ? lz_avg_pool2d_at : lz_avg_pool3d_at)(m->ctx, at, x, kernel, &args);
}

/* The root of the sum of powers; infinite powers are maxima and minima of absolute values. */
static lz_tensor *forward_power(lz_module *m, lz_tensor *x)
{
    const lz_loc at = m->at;
    const pool *p = m->data;
    lz_ctx *c = m->ctx;
    double norm = p->o.norm_type, count = 1;
    if (norm > 0 && isinf(norm))
        return pool_max(m, lz_abs(c, x), NULL);
    if (isinf(norm))
        return lz_neg(c, pool_max(m, lz_neg(c, lz_abs(c, x)), NULL));
    for (int64_t i = 0; i < p->w.ndim; i++)
        count *= (double)p->w.kernel[i];
    lz_tensor *mean = forward_avg(m, lz_pow_Tensor_Scalar(c, x, norm));
    lz_tensor *positive = lz_mul_Tensor(c, lz_sign(c, mean), lz_relu(c, lz_abs(c, mean)));
    return lz_pow_Tensor_Scalar(c, lz_mul_Scalar(c, positive, count), 1 / norm);
}

lz_module *lz_nn_pool_at(lz_module *parent, lz_loc at, const char *name, lz_pool_kind kind, int64_t ndim,
                         int64_t kernel, const lz_pool_options *options)
{
    static const lz_layer layers[] = {
        [LZ_POOL_MAX] = { { "MaxPool", forward_max, NULL }, build_pool },
        [LZ_POOL_AVG] = { { "AvgPool", forward_avg, NULL }, build_pool },
        [LZ_POOL_POWER] = { { "LPPool", forward_power, NULL }, build_pool },
    };
    bool known = (unsigned)kind <= LZ_POOL_POWER;
    pool p = { .kind = kind, .w.ndim = known ? ndim : 0, .kernel = kernel, .o = *options };
    return lz_layer_make(parent, at, name, &layers[known ? kind : LZ_POOL_MAX], &p, sizeof p);
}

/* ---- to output sizes ---- */

typedef struct adaptive {
    lz_pool_kind kind;
    lz_ints sizes;
} adaptive;

static lz_err *build_adaptive(lz_module *m)
{
    adaptive *o = m->data;
    if (o->kind != LZ_POOL_MAX && o->kind != LZ_POOL_AVG)
        return lz_errf(LZ_ERR_ARG, "adaptive pooling takes maxima or averages");
    if (o->sizes.n < 1 || o->sizes.n > DIMS)
        return lz_errf(LZ_ERR_ARG, "pooling has 1, 2 or 3 dimensions");
    for (int64_t i = 0; i < o->sizes.n; i++)
        if (o->sizes.v[i] < 1 && o->sizes.v[i] != -1)
            return lz_errf(LZ_ERR_ARG, "sizes must be at least 1, or -1");
    return lz_module_keep_ints(m, &o->sizes);
}

static lz_tensor *pool_adaptively(lz_module *m, lz_tensor *x, lz_tensor **indices)
{
    typedef lz_tensor *avg_fn(lz_ctx *, lz_loc, lz_tensor *, lz_ints);
    typedef lz_adaptive_max_pool2d_result max_fn(lz_ctx *, lz_loc, lz_tensor *, lz_ints);
    static avg_fn *const avg[DIMS] = { lz_adaptive_avg_pool1d_at, lz_adaptive_avg_pool2d_at,
                                       lz_adaptive_avg_pool3d_at };
    static max_fn *const max[DIMS] = { lz_adaptive_max_pool1d_at, lz_adaptive_max_pool2d_at,
                                       lz_adaptive_max_pool3d_at };
    const adaptive *o = m->data;
    int64_t sizes[DIMS] = { 0 };
    lz_ints to = { sizes, o->sizes.n }, from = x ? lz_tensor_sizes(x) : (lz_ints){ NULL, 0 };
    for (int64_t i = 0; i < to.n; i++)
        sizes[i] = o->sizes.v[i] > 0 || from.n < to.n ? o->sizes.v[i] : from.v[from.n - to.n + i];
    if (o->kind == LZ_POOL_AVG)
        return avg[to.n - 1](m->ctx, m->at, x, to);
    lz_adaptive_max_pool2d_result r = max[to.n - 1](m->ctx, m->at, x, to);
    if (indices)
        *indices = r.out1;
    return r.out0;
}

static lz_tensor *forward_adaptive(lz_module *m, lz_tensor *x)
{
    return pool_adaptively(m, x, NULL);
}

lz_module *lz_nn_adaptive_pool_at(lz_module *parent, lz_loc at, const char *name, lz_pool_kind kind,
                                  lz_ints sizes)
{
    static const lz_layer layer = { { "AdaptivePool", forward_adaptive, NULL }, build_adaptive };
    adaptive o = { kind, sizes };
    return lz_layer_make(parent, at, name, &layer, &o, sizeof o);
}

/* ---- at random places ---- */

typedef struct fractional {
    windows w;
    int64_t kernel, size[DIMS]; /* size 0: by ratio */
    double ratio[DIMS];
    lz_module_slot *random;
    const lz_fractional_pool_options *options; /* valid while the layer is made */
} fractional;

static lz_err *read_ratios(const lz_fractional_pool_options *o, fractional *out)
{
    if (o->ratios.n > 0 && o->ratios.n != out->w.ndim)
        return lz_errf(LZ_ERR_ARG, "ratio: got %d numbers for %d dimensions", (int)o->ratios.n,
                       (int)out->w.ndim);
    for (int64_t i = 0; i < out->w.ndim; i++) {
        out->ratio[i] = o->ratios.n > 0 ? o->ratios.v[i] : o->ratio;
        if (!(out->ratio[i] > 0 && out->ratio[i] < 1))
            return lz_errf(LZ_ERR_ARG, "output_ratio must be between 0 and 1");
    }
    return NULL;
}

static lz_err *build_fractional(lz_module *m)
{
    fractional *f = m->data;
    const lz_fractional_pool_options *o = f->options;
    bool sized = o->sizes.n > 0, by_ratio = o->ratio != 0 || o->ratios.n > 0;
    f->options = NULL;
    if (sized == by_ratio)
        return lz_errf(LZ_ERR_ARG, "fractional max pooling requires either sizes or a ratio");
    LZ_TRY(lz_layer_spread(o->kernels, f->kernel, f->w.ndim, 1, "kernel", f->w.kernel));
    LZ_TRY(sized ? lz_layer_spread(o->sizes.n == 1 ? (lz_ints){ NULL, 0 } : o->sizes, o->sizes.v[0],
                                   f->w.ndim, 1, "size", f->size)
                 : read_ratios(o, f));
    if (!o->random)
        return NULL;
    return lz_module_slot_add(m, "_random_samples", LZ_SLOT_BUFFER, o->random, &f->random);
}

/* One number for each instance, channel and dimension. */
static lz_tensor *draw(lz_module *m, const lz_tensor *x)
{
    const lz_loc at = m->at;
    int64_t ndim = ((const fractional *)m->data)->w.ndim;
    lz_ints n = lz_tensor_sizes(x);
    return lz_rand(m->ctx, LZ_INTS(n.n == ndim + 1 ? 1 : n.v[0], n.v[n.n - ndim - 1], ndim),
                   .dtype = lz_tensor_dtype(x));
}

static lz_tensor *pool_fractionally(lz_module *m, lz_tensor *x, lz_tensor **indices)
{
    const fractional *f = m->data;
    int64_t sizes[DIMS], ndim = f->w.ndim;
    if (!x || lz_tensor_is_inert(x) || lz_tensor_ndim(x) <= ndim)
        return lz_refuse(m->ctx, m->at,
                         lz_err_because(LZ_REASON_SHAPE,
                                        "fractional max pooling: expected %d or %d dimensions", (int)ndim + 1,
                                        (int)ndim + 2));
    lz_ints n = lz_tensor_sizes(x);
    for (int64_t i = 0; i < ndim; i++)
        sizes[i] = f->size[i] > 0 ? f->size[i] : (int64_t)((double)n.v[n.n - ndim + i] * f->ratio[i]);
    lz_fractional_max_pool2d_result r =
        (ndim == 2 ? lz_fractional_max_pool2d_at : lz_fractional_max_pool3d_at)(
            m->ctx, m->at, x, list_of(&f->w, f->w.kernel), (lz_ints){ sizes, ndim },
            f->random ? f->random->tensor : draw(m, x));
    if (indices)
        *indices = r.out1;
    return r.out0;
}

static lz_tensor *forward_fractional(lz_module *m, lz_tensor *x)
{
    return pool_fractionally(m, x, NULL);
}

lz_module *lz_nn_fractional_max_pool_at(lz_module *parent, lz_loc at, const char *name, int64_t ndim,
                                        int64_t kernel, const lz_fractional_pool_options *options)
{
    static const lz_layer layer = { { "FractionalMaxPool", forward_fractional, NULL }, build_fractional };
    fractional f = { .w.ndim = ndim == 2 ? 2 : 3, .kernel = kernel, .options = options };
    return lz_layer_make(parent, at, name, &layer, &f, sizeof f);
}

/* ---- with indices, and back ---- */

lz_tensor *lz_pool_with_indices_at(lz_module *m, lz_loc at, lz_tensor *x, lz_tensor **indices)
{
    if (!m)
        return NULL;
    m->at = at;
    *indices = NULL;
    if (m->cls->forward == forward_max)
        return pool_max(m, x, indices);
    if (m->cls->forward == forward_fractional)
        return pool_fractionally(m, x, indices);
    if (m->cls->forward == forward_adaptive && ((const adaptive *)m->data)->kind == LZ_POOL_MAX)
        return pool_adaptively(m, x, indices);
    return lz_refuse(m->ctx, at,
                     lz_errf(LZ_ERR_ARG, "lz_pool_with_indices: '%s' is not a max pooling layer", m->path));
}

typedef struct unpool {
    windows w;
    int64_t kernel;
    lz_unpool_options o; /* valid while the layer is made */
} unpool;

static lz_err *build_unpool(lz_module *m)
{
    unpool *p = m->data;
    lz_unpool_options o = p->o;
    p->o = (lz_unpool_options){ 0 };
    return read_windows(o.kernels, p->kernel, o.strides, o.stride, o.paddings, o.padding, &p->w);
}

static lz_tensor *forward_unpool(lz_module *m, lz_tensor *x)
{
    (void)x;
    return lz_refuse(m->ctx, m->at, lz_errf(LZ_ERR_ARG, "'%s' needs indices: call lz_unpool", m->path));
}

/* The sizes of the result: those of the smallest input of the pooling, or the given ones, if they are near.
 */
static lz_err *unpooled_sizes(const windows *w, lz_ints from, lz_ints given, int64_t *out)
{
    if (from.n <= w->ndim)
        return lz_err_because(LZ_REASON_SHAPE, "max unpooling: expected %d or %d dimensions, got %d",
                              (int)w->ndim + 1, (int)w->ndim + 2, (int)from.n);
    if (given.n == w->ndim + 2)
        given = (lz_ints){ given.v + 2, w->ndim };
    if (given.n > 0 && given.n != w->ndim)
        return lz_errf(LZ_ERR_ARG, "sizes should have %d or %d elements, but got %d", (int)w->ndim,
                       (int)w->ndim + 2, (int)given.n);
    for (int64_t i = 0; i < w->ndim; i++) {
        int64_t least = (from.v[from.n - w->ndim + i] - 1) * w->stride[i] + w->kernel[i] - 2 * w->padding[i];
        out[i] = given.n > 0 ? given.v[i] : least;
        if (out[i] <= least - w->stride[i] || out[i] >= least + w->stride[i])
            return lz_errf(LZ_ERR_ARG, "size %lld of dimension %d must be between %lld and %lld",
                           (long long)out[i], (int)i, (long long)(least - w->stride[i]),
                           (long long)(least + w->stride[i]));
        if (out[i] < 0)
            return lz_errf(LZ_ERR_ARG, "max unpooling: sizes must not be negative");
    }
    return NULL;
}

static lz_tensor *do_unpool(lz_module *m, lz_tensor *x, lz_tensor *indices, const int64_t *sizes)
{
    const lz_loc at = m->at;
    const windows *w = &((const unpool *)m->data)->w;
    if (w->ndim == 3)
        return lz_max_unpool3d(m->ctx, x, indices, list_of(w, sizes), list_of(w, w->stride),
                               list_of(w, w->padding));
    if (w->ndim == 2)
        return lz_max_unpool2d(m->ctx, x, indices, list_of(w, sizes));
    lz_tensor *y = lz_max_unpool2d(m->ctx, lz_unsqueeze(m->ctx, x, -1), lz_unsqueeze(m->ctx, indices, -1),
                                   LZ_INTS(sizes[0], 1));
    return lz_squeeze_dim(m->ctx, y, -1);
}

lz_tensor *lz_unpool_at(lz_module *m, lz_loc at, lz_tensor *x, lz_tensor *indices, lz_ints sizes)
{
    int64_t out[DIMS] = { 0 };
    if (!m)
        return NULL;
    m->at = at;
    if (m->cls->forward != forward_unpool)
        return lz_refuse(m->ctx, at,
                         lz_errf(LZ_ERR_ARG, "lz_unpool: '%s' is not a MaxUnpool layer", m->path));
    if (!x || lz_tensor_is_inert(x) || !indices || lz_tensor_is_inert(indices))
        return lz_refuse(m->ctx, at,
                         lz_errf(LZ_ERR_ARG, "lz_unpool: input and indices must not be NULL or inert"));
    lz_err *e = unpooled_sizes(&((const unpool *)m->data)->w, lz_tensor_sizes(x), sizes, out);
    return e ? lz_refuse(m->ctx, at, e) : do_unpool(m, x, indices, out);
}

lz_module *lz_nn_max_unpool_at(lz_module *parent, lz_loc at, const char *name, int64_t ndim, int64_t kernel,
                               const lz_unpool_options *options)
{
    static const lz_layer layer = { { "MaxUnpool", forward_unpool, NULL }, build_unpool };
    unpool p = { .w.ndim = ndim, .kernel = kernel, .o = *options };
    return lz_layer_make(parent, at, name, &layer, &p, sizeof p);
}
