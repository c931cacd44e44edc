/* Convolution. A transposed convolution is the gradient of a convolution for its input, so both use the
 * same kernels. */
#include "lower/prim_impl.h"

enum { MOST = 8 }; /* spatial dimensions */

typedef struct geometry {
    int64_t d; /* spatial dimensions */
    lz_ints stride, padding, dilation, output_padding;
    bool transposed;
    int64_t groups;
} geometry;

/* stride, padding, dilation, transposed, output_padding, groups. */
static lz_err *read_geometry(lz_lower *b, const lz_low_value *args, int64_t d, geometry *out)
{
    *out = (geometry){ .d = d };
    if (d < 1 || d > MOST)
        return lz_errf(LZ_ERR_ARG, "convolution: expected 3 to %d dimensions, found %lld", MOST + 2,
                       (long long)d + 2);
    LZ_TRY(lz_prim_spread_ints(b, &args[0], d, "stride", &out->stride));
    LZ_TRY(lz_prim_spread_ints(b, &args[1], d, "padding", &out->padding));
    LZ_TRY(lz_prim_spread_ints(b, &args[2], d, "dilation", &out->dilation));
    LZ_TRY(lz_low_value_get_bool(&args[3], &out->transposed));
    LZ_TRY(lz_prim_spread_ints(b, &args[4], d, "output_padding", &out->output_padding));
    LZ_TRY(lz_low_value_get_int(&args[5], &out->groups));
    if (out->groups <= 0)
        return lz_errf(LZ_ERR_ARG, "non-positive groups is not supported");
    for (int64_t i = 0; i < d; i++) {
        if (out->padding.v[i] < 0 || out->output_padding.v[i] < 0)
            return lz_errf(LZ_ERR_ARG, "negative padding is not supported");
        if (out->stride.v[i] <= 0)
            return lz_errf(LZ_ERR_ARG, "non-positive stride is not supported");
        if (out->dilation.v[i] <= 0)
            return lz_errf(LZ_ERR_ARG, "dilation should be greater than zero");
        if (out->transposed && out->output_padding.v[i] >= out->stride.v[i]
            && out->output_padding.v[i] >= out->dilation.v[i])
            return lz_errf(LZ_ERR_ARG,
                           "output padding must be smaller than either stride or dilation, but got output "
                           "padding %lld, stride %lld and dilation %lld in dimension %lld",
                           (long long)out->output_padding.v[i], (long long)out->stride.v[i],
                           (long long)out->dilation.v[i], (long long)i);
    }
    return NULL;
}

static lz_err *wrong_channels(const geometry *g, const lz_low_node *x, const lz_low_node *w, int64_t due)
{
    char a[LZ_SHAPE_CHARS], c[LZ_SHAPE_CHARS];
    return lz_err_because(
        LZ_REASON_SHAPE,
        "Given groups=%lld, weight of size %s, expected input%s to have %lld channels, but got %lld "
        "channels instead",
        (long long)g->groups, lz_shape_print(lz_low_node_sizes(w), a),
        lz_shape_print(lz_low_node_sizes(x), c), (long long)due, (long long)x->sizes[1]);
}

static lz_err *check_operands(const geometry *g, const lz_low_value *input, const lz_low_value *weight,
                              const lz_low_value *bias)
{
    const lz_low_node *x = input->node, *w = weight->node;
    if (w->ndim != x->ndim || w->ndim < 2)
        return lz_err_because(LZ_REASON_SHAPE, "Expected %dD input for a weight of %d dimensions", w->ndim,
                              w->ndim);
    int64_t due = g->transposed ? w->sizes[0] : w->sizes[1] * g->groups;
    int64_t given = g->transposed ? w->sizes[1] * g->groups : w->sizes[0];
    if (x->sizes[1] != due)
        return wrong_channels(g, x, w, due);
    if (w->sizes[0] < g->groups)
        return lz_errf(LZ_ERR_ARG, "Given groups=%lld, expected weight to be at least %lld at dimension 0",
                       (long long)g->groups, (long long)g->groups);
    if (w->sizes[0] % g->groups)
        return lz_errf(LZ_ERR_ARG, "expected weight to be divisible by groups=%lld at dimension 0",
                       (long long)g->groups);
    if (input->dtype != weight->dtype)
        return lz_err_because(LZ_REASON_DTYPE, "Input type (%s) and weight type (%s) should be the same",
                              lz_dtype_get(input->dtype)->script, lz_dtype_get(weight->dtype)->script);
    if (lz_low_value_is_tensor(bias) && (lz_low_value_ndim(bias) != 1 || bias->node->sizes[0] != given))
        return lz_err_because(LZ_REASON_SHAPE, "expected bias to be 1-dimensional with %lld elements",
                              (long long)given);
    for (int64_t i = 2; i < w->ndim; i++)
        if (w->sizes[i] == 0)
            return lz_errf(LZ_ERR_ARG, "kernel size should be greater than zero");
    return NULL;
}

static lz_err *no_output(const geometry *g, const lz_low_node *x, int64_t i)
{
    return lz_errf(
        LZ_ERR_ARG,
        "Calculated padded input size per channel: (%lld). Kernel size can't be greater than actual "
        "input size",
        (long long)(x->sizes[2 + i] + 2 * g->padding.v[i]));
}

static lz_err *output_sizes(const geometry *g, const lz_low_node *x, const lz_low_node *w, lz_shape *out)
{
    lz_calc_fault f = 0;
    out->n = 2 + g->d;
    out->v[0] = x->sizes[0];
    /* as in PyTorch, an input without channels gives a result without channels */
    out->v[1] = x->sizes[1] == 0 ? 0 : g->transposed ? w->sizes[1] * g->groups : w->sizes[0];
    if (!x->numel && x->sizes[0] && x->sizes[1])
        return lz_errf(LZ_ERR_ARG, "Only zero batch or zero channel inputs are supported");
    for (int64_t i = 0; i < g->d; i++) {
        int64_t in = x->sizes[2 + i], reach = lz_calc_mul(&f, g->dilation.v[i], w->sizes[2 + i] - 1);
        int64_t pad = lz_calc_mul(&f, 2, g->padding.v[i]);
        if (g->transposed)
            out->v[2 + i] = lz_calc_sub(&f, lz_calc_mul(&f, in - 1, g->stride.v[i]), pad) + reach
                            + g->output_padding.v[i] + 1;
        else if (lz_calc_add(&f, in, pad) < reach + 1)
            return no_output(g, x, i);
        else
            out->v[2 + i] = (in + pad - reach - 1) / g->stride.v[i] + 1;
    }
    LZ_TRY(lz_calc_check(f));
    for (int64_t i = 0; i < out->n; i++)
        if (out->v[i] < 0)
            return lz_errf(LZ_ERR_ARG, "convolution: the result would have a negative size");
        else if (i >= 2 && g->transposed && x->numel && out->v[i] == 0)
            return lz_errf(LZ_ERR_ARG, "convolution: Output size is too small: it is 0 in dimension %lld",
                           (long long)i);
    return NULL;
}

/* params of LZ_CALL_CONV: d, stride[d], padding[d], dilation[d], groups; then sizes. */
static size_t parameters(const geometry *g, lz_ints sizes, int64_t *out)
{
    size_t n = 0;
    const lz_ints *lists[3] = { &g->stride, &g->padding, &g->dilation };
    out[n++] = g->d;
    for (int k = 0; k < 3; k++)
        for (int64_t i = 0; i < g->d; i++)
            out[n++] = lists[k]->v[i];
    out[n++] = g->groups;
    for (int64_t i = 0; i < sizes.n; i++)
        out[n++] = sizes.v[i];
    return n;
}

static lz_err *call(lz_lower *b, lz_low_call_op op, const geometry *g, const lz_low_node *x,
                    const lz_low_node *y, lz_ints sizes, const lz_low_node **out)
{
    int64_t params[2 + 4 * MOST + 2 + MOST], numel;
    const lz_low_node *in[2] = { x, y };
    LZ_TRY(lz_shape_check(sizes));
    LZ_TRY(lz_shape_numel(sizes, &numel));
    if (!x->numel || !y->numel || !numel)
        return lz_prim_full(b, 0, (lz_dtype)x->dtype, sizes, out);
    size_t n = parameters(g, op == LZ_CALL_CONV ? (lz_ints){ NULL, 0 } : sizes, params);
    return lz_low_kernel(b, op, in, 2, (lz_dtype)x->dtype, sizes, params, n, out);
}

static lz_err *add_bias(lz_lower *b, const lz_low_value *bias, const lz_low_node *y, const lz_low_node **out)
{
    lz_shape sizes = { .n = y->ndim };
    const lz_low_node *n;
    *out = y;
    if (!lz_low_value_is_tensor(bias) || !y->sizes[1])
        return NULL;
    LZ_TRY(lz_low_cast(b, bias->node, (lz_dtype)y->dtype,
                       &n)); /* as in PyTorch, the bias may have another dtype */
    for (int64_t d = 0; d < y->ndim; d++)
        sizes.v[d] = d == 1 ? y->sizes[1] : 1;
    LZ_TRY(lz_low_reshape(b, n, lz_shape_ints(&sizes), &n));
    LZ_TRY(lz_low_expand(b, n, lz_low_node_sizes(y), &n));
    return lz_prim_map2(b, LZ_KERNEL_ADD, y, n, out);
}

lz_err *lz_lower_convolution(lz_lower *b, const lz_low_value *args, lz_low_value *results)
{
    const lz_low_node *x = args[0].node, *w = args[1].node, *n;
    geometry g;
    lz_shape sizes;
    LZ_TRY(read_geometry(b, &args[3], x->ndim - 2, &g));
    LZ_TRY(check_operands(&g, &args[0], &args[1], &args[2]));
    LZ_TRY(output_sizes(&g, x, w, &sizes));
    LZ_TRY(call(b, g.transposed ? LZ_CALL_CONV_INPUT : LZ_CALL_CONV, &g, x, w, lz_shape_ints(&sizes), &n));
    LZ_TRY(add_bias(b, &args[2], n, &n));
    results[0] = lz_prim_tensor(args[0].dtype, n);
    return NULL;
}

/* ---- gradients ---- */

/* Sums first over adjacent elements, then over images, which are far apart in memory. */
static lz_err *bias_gradient(lz_lower *b, const lz_low_node *gy, const lz_low_node **out)
{
    LZ_TRY(lz_low_reduce(b, LZ_KERNEL_RSUM, gy, lz_prim_all_dims(gy->ndim) & ~UINT64_C(3), false, out));
    return lz_low_reduce(b, LZ_KERNEL_RSUM, *out, 1, false, out);
}

/* grad_output, input, weight, bias_sizes, geometry..., output_mask. */
lz_err *lz_lower_convolution_backward(lz_lower *b, const lz_low_value *args, lz_low_value *results)
{
    const lz_low_node *gy = args[0].node, *x = args[1].node, *w = args[2].node, *n;
    lz_low_value none = lz_low_value_none();
    lz_shape sizes;
    geometry g;
    bool asked[3];
    LZ_TRY(read_geometry(b, &args[4], x->ndim - 2, &g));
    LZ_TRY(check_operands(&g, &args[1], &args[2], &none));
    LZ_TRY(output_sizes(&g, x, w, &sizes));
    if (!lz_shape_eq(lz_low_node_sizes(gy), lz_shape_ints(&sizes)))
        return lz_err_because(LZ_REASON_SHAPE,
                              "convolution_backward: expected grad_output to have the shape of the result");
    if (args[10].list.n != 3)
        return lz_errf(LZ_ERR_ARG, "convolution_backward: expected three elements in output_mask");
    for (int i = 0; i < 3; i++) {
        LZ_TRY(lz_low_value_get_bool(&args[10].list.items[i], &asked[i]));
        results[i] = lz_low_value_none();
    }
    if (asked[0]) {
        LZ_TRY(
            call(b, g.transposed ? LZ_CALL_CONV : LZ_CALL_CONV_INPUT, &g, gy, w, lz_low_node_sizes(x), &n));
        results[0] = lz_prim_tensor(args[1].dtype, n);
    }
    if (asked[1]) {
        LZ_TRY(call(b, LZ_CALL_CONV_WEIGHT, &g, g.transposed ? x : gy, g.transposed ? gy : x,
                    lz_low_node_sizes(w), &n));
        results[1] = lz_prim_tensor(args[2].dtype, n);
    }
    if (asked[2]) {
        LZ_TRY(bias_gradient(b, gy, &n));
        results[2] = lz_prim_tensor(args[0].dtype, n);
    }
    return NULL;
}
