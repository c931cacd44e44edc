/* Convolution layers. */
#include "nn/module.h"
#include <math.h>

enum { DIMS = 3 };

/* Numbers of the spatial dimensions. */
typedef struct geometry {
    int64_t kernel[DIMS], stride[DIMS], padding[DIMS], dilation[DIMS], output_padding[DIMS];
    int64_t around[2 * DIMS]; /* padding before and after each dimension, the last dimension first; unused
                                 with zeros */
} geometry;

typedef struct conv {
    int64_t ndim, in, out, groups;
    bool transposed, has_bias;
    geometry g;
    const char *mode; /* of lz_pad; NULL: the convolution itself pads with zeros */
    lz_module_slot *weight, *bias;
    const lz_conv_options *options; /* valid while the layer is made */
    int64_t kernel;
} conv;

static lz_err *find_mode(const char *name, conv *out)
{
    static const char *const modes[] = { "reflect", "replicate", "circular" };
    if (!name || !strcmp(name, "zeros"))
        return NULL;
    if (out->transposed)
        return lz_errf(LZ_ERR_ARG, "transposed convolutions support padding_mode \"zeros\" only");
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
        if (!strcmp(name, modes[i])) {
            out->mode = modes[i];
            return NULL;
        }
    return lz_errf(LZ_ERR_ARG, "unknown padding_mode \"%s\"", name);
}

/* Moves the padding from the convolution to lz_pad, which runs before the convolution. */
static void pad_before(bool same, conv *o)
{
    for (int64_t i = 0; i < o->ndim; i++) {
        int64_t *around = &o->g.around[2 * (o->ndim - 1 - i)];
        int64_t all = same ? o->g.dilation[i] * (o->g.kernel[i] - 1) : 2 * o->g.padding[i];
        around[0] = all / 2;
        around[1] = all - all / 2;
        o->g.padding[i] = 0;
    }
}

static lz_err *check_paddings(const lz_conv_options *o, const conv *c)
{
    if (o->same && c->transposed)
        return lz_errf(LZ_ERR_ARG, "transposed convolutions do not support padding 'same'");
    for (int64_t i = 0; i < c->ndim; i++) {
        if (o->same && (c->g.stride[i] != 1 || c->g.padding[i] != 0))
            return lz_errf(LZ_ERR_ARG, "padding 'same' needs stride 1 and no other padding");
        if (!c->transposed && c->g.output_padding[i] != 0)
            return lz_errf(LZ_ERR_ARG, "output_padding is for transposed convolutions only");
        if (c->g.output_padding[i] >= c->g.stride[i] && c->g.output_padding[i] >= c->g.dilation[i])
            return lz_errf(LZ_ERR_ARG, "output_padding must be below stride or dilation");
    }
    return NULL;
}

static lz_err *read_options(const lz_conv_options *o, conv *out)
{
    int64_t n = out->ndim;
    if (n < 1 || n > DIMS)
        return lz_errf(LZ_ERR_ARG, "convolutions have 1, 2 or 3 dimensions");
    LZ_TRY(lz_layer_spread(o->kernels, out->kernel, n, 1, "kernel", out->g.kernel));
    LZ_TRY(lz_layer_spread(o->strides, o->stride, n, 1, "stride", out->g.stride));
    LZ_TRY(lz_layer_spread(o->paddings, o->padding, n, 0, "padding", out->g.padding));
    LZ_TRY(lz_layer_spread(o->dilations, o->dilation, n, 1, "dilation", out->g.dilation));
    LZ_TRY(lz_layer_spread(o->output_paddings, o->output_padding, n, 0, "output_padding",
                           out->g.output_padding));
    if (o->groups < 1 || out->in < 0 || out->out < 0 || out->in % o->groups || out->out % o->groups)
        return lz_errf(LZ_ERR_ARG, "channels must be divisible by groups");
    LZ_TRY(check_paddings(o, out));
    LZ_TRY(find_mode(o->padding_mode, out));
    if (out->mode)
        pad_before(o->same, out);
    out->groups = o->groups;
    out->has_bias = o->bias;
    return NULL;
}

static lz_err *build(lz_module *m)
{
    conv *o = m->data;
    LZ_TRY(read_options(o->options, o));
    o->options = NULL;
    int64_t rows = o->transposed ? o->in : o->out, columns = (o->transposed ? o->out : o->in) / o->groups;
    int64_t sizes[2 + DIMS] = { rows, columns }, fan = columns;
    for (int64_t i = 0; i < o->ndim; i++)
        fan *= sizes[2 + i] = o->g.kernel[i];
    double bound = fan > 0 ? 1 / sqrt((double)fan) : 0;
    lz_ints shape = { sizes, 2 + o->ndim };
    LZ_TRY(lz_module_slot_add(m, "weight", LZ_SLOT_PARAM, lz_weight_uniform(m, shape, bound), &o->weight));
    if (!o->has_bias)
        return NULL;
    return lz_module_slot_add(m, "bias", LZ_SLOT_PARAM, lz_weight_uniform(m, LZ_INTS(o->out), bound),
                              &o->bias);
}

static lz_tensor *forward(lz_module *m, lz_tensor *x)
{
    const lz_loc at = m->at;
    typedef lz_tensor *plain_fn(lz_ctx *, lz_loc, lz_tensor *, lz_tensor *, const lz_conv2d_args *);
    static plain_fn *const plain[DIMS] = { lz_conv1d_at, lz_conv2d_at, lz_conv3d_at };
    const conv *o = m->data;
    lz_conv2d_args args = { .bias = lz_module_slot_tensor(o->bias),
                            .stride = { o->g.stride, o->ndim },
                            .padding = { o->g.padding, o->ndim },
                            .dilation = { o->g.dilation, o->ndim },
                            .groups = o->groups };
    if (o->mode)
        x = lz_pad(m->ctx, x, ((lz_ints){ o->g.around, 2 * o->ndim }), .mode = o->mode);
    return plain[o->ndim - 1](m->ctx, m->at, x, o->weight->tensor, &args);
}

static lz_tensor *forward_same(lz_module *m, lz_tensor *x)
{
    if (((const conv *)m->data)->mode)
        return forward(m, x);
    typedef lz_tensor *same_fn(lz_ctx *, lz_loc, lz_tensor *, lz_tensor *, const lz_conv1d_padding_args *);
    static same_fn *const same[DIMS] = { lz_conv1d_padding_at, lz_conv2d_padding_at, lz_conv3d_padding_at };
    const conv *o = m->data;
    lz_conv1d_padding_args args = { .bias = lz_module_slot_tensor(o->bias),
                                    .stride = { o->g.stride, o->ndim },
                                    .padding = "same",
                                    .dilation = { o->g.dilation, o->ndim },
                                    .groups = o->groups };
    return same[o->ndim - 1](m->ctx, m->at, x, o->weight->tensor, &args);
}

static lz_tensor *forward_transposed(lz_module *m, lz_tensor *x)
{
    typedef lz_tensor *back_fn(lz_ctx *, lz_loc, lz_tensor *, lz_tensor *, const lz_conv_transpose1d_args *);
    static back_fn *const back[DIMS] = { lz_conv_transpose1d_at, lz_conv_transpose2d_input_at,
                                         lz_conv_transpose3d_input_at };
    const conv *o = m->data;
    lz_conv_transpose1d_args args = { .bias = lz_module_slot_tensor(o->bias),
                                      .stride = { o->g.stride, o->ndim },
                                      .padding = { o->g.padding, o->ndim },
                                      .output_padding = { o->g.output_padding, o->ndim },
                                      .groups = o->groups,
                                      .dilation = { o->g.dilation, o->ndim } };
    return back[o->ndim - 1](m->ctx, m->at, x, o->weight->tensor, &args);
}

lz_module *lz_nn_conv_at(lz_module *parent, lz_loc at, const char *name, int64_t ndim, bool transposed,
                         int64_t in, int64_t out, int64_t kernel, const lz_conv_options *options)
{
    static const lz_layer plain = { { "Conv", forward, NULL }, build };
    static const lz_layer same = { { "Conv", forward_same, NULL }, build };
    static const lz_layer back = { { "ConvTranspose", forward_transposed, NULL }, build };
    conv o = {
        .ndim = ndim, .transposed = transposed, .in = in, .out = out, .options = options, .kernel = kernel
    };
    const lz_layer *layer = transposed ? &back : options->same ? &same : &plain;
    return lz_layer_make(parent, at, name, layer, &o, sizeof o);
}
