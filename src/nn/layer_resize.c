/* Padding, upsampling, and windows as columns. */
#include "nn/module.h"

enum { DIMS = 3 };

/* ---- padding ---- */

typedef struct pad_layer {
    lz_pad_kind kind;
    int64_t ndim, around[2 * DIMS];
    double value;
    lz_ints sizes; /* valid while the layer is made */
} pad_layer;

static lz_err *build_pad(lz_module *m)
{
    pad_layer *p = m->data;
    lz_ints sizes = p->sizes;
    p->sizes = (lz_ints){ NULL, 0 };
    if ((unsigned)p->kind > LZ_PAD_CIRCULAR || p->ndim < 1 || p->ndim > DIMS)
        return lz_errf(LZ_ERR_ARG, "expected an lz_pad_kind, and 1, 2 or 3 dimensions");
    if (sizes.n != 1 && sizes.n != 2 * p->ndim)
        return lz_errf(LZ_ERR_ARG, "padding: expected 1 or %d numbers, got %d", (int)(2 * p->ndim),
                       (int)sizes.n);
    for (int64_t i = 0; i < 2 * p->ndim; i++)
        p->around[i] = sizes.v[sizes.n == 1 ? 0 : i];
    return NULL;
}

static lz_tensor *forward_pad(lz_module *m, lz_tensor *x)
{
    static const char *const modes[] = { [LZ_PAD_CONSTANT] = "constant",
                                         [LZ_PAD_REFLECT] = "reflect",
                                         [LZ_PAD_REPLICATE] = "replicate",
                                         [LZ_PAD_CIRCULAR] = "circular" };
    const lz_loc at = m->at;
    const pad_layer *p = m->data;
    bool fixed = p->kind == LZ_PAD_CONSTANT;
    int64_t n = x && !lz_tensor_is_inert(x) ? lz_tensor_ndim(x) : p->ndim + 1;
    if (!fixed && n != p->ndim + 1 && n != p->ndim + 2)
        return lz_refuse(m->ctx, at,
                         lz_err_because(LZ_REASON_SHAPE, "padding: expected %dD or %dD input (got %dD input)",
                                        (int)p->ndim + 1, (int)p->ndim + 2, (int)n));
    return lz_pad(m->ctx, x, ((lz_ints){ p->around, 2 * p->ndim }), .mode = modes[p->kind],
                  .value = { fixed, fixed ? p->value : 0 });
}

lz_module *lz_nn_pad_at(lz_module *parent, lz_loc at, const char *name, lz_pad_kind kind, int64_t ndim,
                        lz_ints sizes, double value)
{
    static const lz_layer layer = { { "Pad", forward_pad, NULL }, build_pad };
    pad_layer p = { .kind = kind, .ndim = ndim, .value = value, .sizes = sizes };
    return lz_layer_make(parent, at, name, &layer, &p, sizeof p);
}

/* ---- upsampling ---- */

typedef lz_tensor *plain_fn(lz_ctx *, lz_loc, lz_tensor *, lz_ints, lz_floats);
typedef lz_tensor *aligned_fn(lz_ctx *, lz_loc, lz_tensor *, lz_ints, bool, lz_floats);
typedef lz_tensor *area_fn(lz_ctx *, lz_loc, lz_tensor *, lz_ints);

/* By spatial dimensions; one of the three, NULL where a mode does not have them. */
static const struct mode {
    const char *name;
    plain_fn *plain[DIMS];
    aligned_fn *aligned[DIMS];
    area_fn *area[DIMS];
} modes[] = {
    { .name = "nearest",
      .plain = { lz_upsample_nearest1d_vec_at, lz_upsample_nearest2d_vec_at, lz_upsample_nearest3d_vec_at } },
    { .name = "nearest-exact",
      .plain = { lz__upsample_nearest_exact1d_vec_at, lz__upsample_nearest_exact2d_vec_at,
                 lz__upsample_nearest_exact3d_vec_at } },
    { .name = "area",
      .area = { lz_adaptive_avg_pool1d_at, lz_adaptive_avg_pool2d_at, lz_adaptive_avg_pool3d_at } },
    { .name = "linear", .aligned = { [0] = lz_upsample_linear1d_vec_at } },
    { .name = "bilinear", .aligned = { [1] = lz_upsample_bilinear2d_vec_at } },
    { .name = "bicubic", .aligned = { [1] = lz_upsample_bicubic2d_vec_at } },
    { .name = "trilinear", .aligned = { [2] = lz_upsample_trilinear3d_vec_at } },
};

typedef struct upsampling {
    const struct mode *mode;
    int64_t count, size[DIMS]; /* count: of sizes or scales; 1: for all dimensions */
    double scale[DIMS];
    bool by_scale, align, recompute;
    const lz_upsample_options *options; /* valid while the layer is made */
} upsampling;

static bool is_aligned(const struct mode *mode)
{
    return mode->aligned[0] || mode->aligned[1] || mode->aligned[2];
}

static lz_err *read_mode(const lz_upsample_options *o, upsampling *out)
{
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
        if (o->mode && !strcmp(o->mode, modes[i].name))
            out->mode = &modes[i];
    if (!out->mode)
        return lz_errf(LZ_ERR_ARG, "unknown mode \"%s\"", o->mode ? o->mode : "");
    if (o->align_corners.has && !is_aligned(out->mode))
        return lz_errf(LZ_ERR_ARG, "align_corners can only be set with the interpolating modes: linear | "
                                   "bilinear | bicubic | trilinear");
    out->align = o->align_corners.has && o->align_corners.v;
    out->recompute = o->recompute_scale_factor || out->mode->area[0];
    return NULL;
}

static lz_err *build_upsample(lz_module *m)
{
    upsampling *u = m->data;
    const lz_upsample_options *o = u->options;
    int64_t n = o->sizes.n > 0 ? o->sizes.n : o->scales.n > 0 ? o->scales.n : 1;
    u->options = NULL;
    u->by_scale = o->scale != 0 || o->scales.n > 0;
    LZ_TRY(read_mode(o, u));
    if ((o->sizes.n > 0) == u->by_scale)
        return lz_errf(LZ_ERR_ARG, "one of sizes and scale must be given, not both");
    if (o->recompute_scale_factor && !u->by_scale)
        return lz_errf(LZ_ERR_ARG, "recompute_scale_factor is not meaningful with explicit sizes");
    if (n > DIMS)
        return lz_errf(LZ_ERR_ARG, "upsampling has 1, 2 or 3 dimensions");
    u->count = n;
    for (int64_t i = 0; i < n; i++) {
        u->size[i] = u->by_scale ? 0 : o->sizes.v[i];
        u->scale[i] = !u->by_scale ? 0 : o->scales.n > 0 ? o->scales.v[i] : o->scale;
        if (u->by_scale ? !(u->scale[i] > 0) : u->size[i] < 1)
            return lz_errf(LZ_ERR_ARG, "sizes and scales must be greater than 0");
    }
    return NULL;
}

static lz_err *check_dims(const upsampling *u, int64_t dims)
{
    bool has_mode = dims >= 1 && dims <= DIMS
                    && (u->mode->plain[dims - 1] || u->mode->aligned[dims - 1] || u->mode->area[dims - 1]);
    if (!has_mode)
        return lz_err_because(LZ_REASON_SHAPE, "upsampling: mode \"%s\" does not take %dD input",
                              u->mode->name, (int)dims + 2);
    if (u->count != 1 && u->count != dims)
        return lz_err_because(LZ_REASON_SHAPE, "upsampling: got %d sizes or scales for %d spatial dimensions",
                              (int)u->count, (int)dims);
    return NULL;
}

static lz_tensor *upsample(lz_module *m, lz_tensor *x, int64_t dims)
{
    const upsampling *u = m->data;
    int64_t size[DIMS] = { 0 }, which = dims - 1;
    double scale[DIMS] = { 0 };
    lz_ints from = lz_tensor_sizes(x), sizes = lz_none_ints();
    lz_floats scales = lz_none_floats();
    for (int64_t i = 0; i < dims; i++) {
        scale[i] = u->scale[u->count == 1 ? 0 : i];
        size[i] = u->by_scale ? (int64_t)((double)from.v[2 + i] * scale[i]) : u->size[u->count == 1 ? 0 : i];
    }
    if (u->by_scale && !u->recompute)
        scales = (lz_floats){ scale, dims };
    else
        sizes = (lz_ints){ size, dims };
    if (u->mode->area[which])
        return u->mode->area[which](m->ctx, m->at, x, sizes);
    if (u->mode->plain[which])
        return u->mode->plain[which](m->ctx, m->at, x, sizes, scales);
    return u->mode->aligned[which](m->ctx, m->at, x, sizes, u->align, scales);
}

static lz_tensor *forward_upsample(lz_module *m, lz_tensor *x)
{
    if (!x || lz_tensor_is_inert(x))
        return lz_refuse(m->ctx, m->at,
                         lz_errf(LZ_ERR_ARG, "upsampling: the input must not be NULL or inert"));
    int64_t dims = lz_tensor_ndim(x) - 2;
    lz_err *e = check_dims(m->data, dims);
    return e ? lz_refuse(m->ctx, m->at, e) : upsample(m, x, dims);
}

lz_module *lz_nn_upsample_at(lz_module *parent, lz_loc at, const char *name,
                             const lz_upsample_options *options)
{
    static const lz_layer layer = { { "Upsample", forward_upsample, NULL }, build_upsample };
    upsampling u = { .options = options };
    return lz_layer_make(parent, at, name, &layer, &u, sizeof u);
}

/* ---- windows as columns ---- */

typedef struct folding {
    int64_t kernel[2], dilation[2], padding[2], stride[2], size[2];
    bool unfolds;
    const lz_fold_options *options; /* valid while the layer is made */
    lz_ints sizes;
} folding;

static lz_err *build_fold(lz_module *m)
{
    folding *f = m->data;
    const lz_fold_options *o = f->options;
    lz_ints sizes = f->sizes;
    f->options = NULL;
    f->sizes = (lz_ints){ NULL, 0 };
    LZ_TRY(lz_layer_spread(o->kernels, f->kernel[0], 2, 1, "kernel", f->kernel));
    LZ_TRY(lz_layer_spread(o->dilations, o->dilation, 2, 1, "dilation", f->dilation));
    LZ_TRY(lz_layer_spread(o->paddings, o->padding, 2, 0, "padding", f->padding));
    LZ_TRY(lz_layer_spread(o->strides, o->stride, 2, 1, "stride", f->stride));
    f->unfolds = sizes.n <= 0;
    if (f->unfolds)
        return NULL;
    return lz_layer_spread(sizes.n == 1 ? (lz_ints){ NULL, 0 } : sizes, sizes.v[0], 2, 1, "sizes", f->size);
}

static lz_tensor *forward_fold(lz_module *m, lz_tensor *x)
{
    const lz_loc at = m->at;
    const folding *f = m->data;
    lz_ints kernel = { f->kernel, 2 }, dilation = { f->dilation, 2 }, padding = { f->padding, 2 },
            stride = { f->stride, 2 };
    if (f->unfolds)
        return lz_im2col(m->ctx, x, kernel, dilation, padding, stride);
    return lz_col2im(m->ctx, x, ((lz_ints){ f->size, 2 }), kernel, dilation, padding, stride);
}

lz_module *lz_nn_fold_at(lz_module *parent, lz_loc at, const char *name, lz_ints sizes, int64_t kernel,
                         const lz_fold_options *options)
{
    static const lz_layer layer = { { "Fold", forward_fold, NULL }, build_fold };
    folding f = { .kernel = { kernel }, .options = options, .sizes = sizes };
    return lz_layer_make(parent, at, name, &layer, &f, sizeof f);
}
