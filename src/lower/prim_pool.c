/* Pooling: windows are an index map, and the result is a reduction over them. The last d dimensions are
 * pooled, the dimensions before them are kept. */
#include "lower/prim_impl.h"
#include <math.h>

enum { MOST = 3 }; /* pooled dimensions */

typedef struct pool {
    int64_t d, lead; /* pooled dimensions; dimensions before them */
    lz_ints kernel, stride, padding, dilation;
    int64_t out[MOST]; /* number of windows in each dimension */
} pool;

static int64_t product(const int64_t *v, int64_t n)
{
    int64_t p = 1;
    for (int64_t i = 0; i < n; i++)
        p *= v[i];
    return p;
}

/* Arguments kernel_size, stride, padding; an empty stride means the kernel's size. */
static lz_err *read_pool(lz_lower *b, const char *name, int64_t d, const lz_low_node *x,
                         const lz_low_value *args, pool *out)
{
    static const int64_t ones[MOST] = { 1, 1, 1 };
    *out = (pool){ .d = d, .lead = x->ndim - d };
    if (x->ndim != d + 1 && x->ndim != d + 2)
        return lz_errf(LZ_ERR_ARG,
                       "%s: Expected %lldD or %lldD (batch mode) tensor for input, but got %d dimensions",
                       name, (long long)d + 1, (long long)d + 2, x->ndim);
    if (product(x->sizes + x->ndim - d - 1, d + 1) == 0)
        return lz_errf(LZ_ERR_ARG, "%s: only the batch may have size 0", name);
    LZ_TRY(lz_prim_spread_ints(b, &args[0], d, "kernel_size", &out->kernel));
    if (args[1].kind == LZ_LOW_VALUE_LIST && !args[1].list.n)
        out->stride = out->kernel;
    else
        LZ_TRY(lz_prim_spread_ints(b, &args[1], d, "stride", &out->stride));
    LZ_TRY(lz_prim_spread_ints(b, &args[2], d, "padding", &out->padding));
    out->dilation = (lz_ints){ ones, d };
    return NULL;
}

static lz_err *check_window(const char *name, const pool *p, int64_t i)
{
    if (p->kernel.v[i] <= 0)
        return lz_errf(LZ_ERR_ARG, "%s: kernel size should be greater than zero", name);
    if (p->stride.v[i] <= 0)
        return lz_errf(LZ_ERR_ARG, "%s: stride should not be zero", name);
    if (p->dilation.v[i] <= 0)
        return lz_errf(LZ_ERR_ARG, "%s: dilation should be greater than zero", name);
    if (p->padding.v[i] < 0)
        return lz_errf(LZ_ERR_ARG, "pad must be non-negative, but got pad: %lld", (long long)p->padding.v[i]);
    return NULL;
}

/* A window that begins after the input and the left padding does not count, even with ceil_mode. */
static lz_err *place_windows(const char *name, const lz_low_node *x, bool ceil_mode, pool *p)
{
    for (int64_t i = 0; i < p->d; i++) {
        lz_calc_fault f = 0;
        int64_t in = x->sizes[p->lead + i], pad = p->padding.v[i];
        LZ_TRY(check_window(name, p, i));
        int64_t reach = lz_calc_mul(&f, p->dilation.v[i], p->kernel.v[i] - 1);
        if (pad > p->kernel.v[i] / 2)
            return lz_errf(LZ_ERR_ARG,
                           "pad should be at most half of kernel size, but got pad=%lld and kernel_size=%lld",
                           (long long)pad, (long long)p->kernel.v[i]);
        int64_t room =
            lz_calc_sub(&f, lz_calc_add(&f, in, lz_calc_mul(&f, 2, pad)), lz_calc_add(&f, reach, 1));
        int64_t up = ceil_mode ? p->stride.v[i] - 1 : 0;
        int64_t n = lz_calc_add(&f, lz_calc_div(&f, lz_calc_add(&f, room, up), p->stride.v[i]), 1);
        LZ_TRY(lz_calc_check(f));
        if (ceil_mode && (n - 1) * p->stride.v[i] >= in + pad)
            n--;
        if (n < 1)
            return lz_errf(LZ_ERR_ARG,
                           "%s: the output would be too small: %lld positions of a window of %lld in %lld",
                           name, (long long)n, (long long)p->kernel.v[i], (long long)in);
        p->out[i] = n;
    }
    return NULL;
}

/* [kept..., positions..., window...]; elements in the padding are `fill`. */
static lz_err *windows(lz_lower *b, const lz_low_node *x, const pool *p, const lz_low_node *fill,
                       const lz_low_node **out)
{
    int64_t map[(LZ_MAX_DIMS + MOST) * LZ_MAX_DIMS] = { 0 }, offset[LZ_MAX_DIMS] = { 0 };
    lz_shape sizes = { .n = x->ndim + p->d };
    uint64_t bounded = 0;
    for (int64_t r = 0; r < p->lead; r++) {
        sizes.v[r] = x->sizes[r];
        map[r * sizes.n + r] = 1;
    }
    for (int64_t i = 0; i < p->d; i++) {
        int64_t r = p->lead + i;
        sizes.v[r] = p->out[i];
        sizes.v[r + p->d] = p->kernel.v[i];
        map[r * sizes.n + r] = p->stride.v[i];
        map[r * sizes.n + r + p->d] = p->dilation.v[i];
        offset[r] = -p->padding.v[i];
        int64_t last =
            (p->out[i] - 1) * p->stride.v[i] + (p->kernel.v[i] - 1) * p->dilation.v[i] - p->padding.v[i];
        if (p->padding.v[i] || last >= x->sizes[r])
            bounded |= UINT64_C(1) << r;
    }
    return lz_low_index(b, x, lz_shape_ints(&sizes), map, offset, bounded, bounded ? fill : NULL, out);
}

static uint64_t window_dims(const lz_low_node *x, const pool *p)
{
    return lz_prim_all_dims(p->d) << x->ndim;
}

/* ---- max pooling ---- */

static lz_err *lowest(lz_lower *b, lz_dtype d, const lz_low_node **out)
{
    lz_scalar v = lz_dtype_is_float(d) ? lz_scalar_float(-INFINITY) : lz_scalar_int(lz_dtype_get(d)->min);
    return lz_low_const(b, v, d, out);
}

/* Along pooled dimension i: the position in x of the window element that `at` names. If all elements of a
 * window equal the padding value, it is the first element inside x. */
static lz_err *position_along(lz_lower *b, const lz_low_node *x, const pool *p, const lz_low_node *at,
                              int64_t i, const lz_low_node **out)
{
    int64_t inner = product(p->kernel.v + i + 1, p->d - i - 1), strides[LZ_MAX_DIMS] = { 0 };
    const lz_low_node *start, *wrapped, *zero, *outside;
    LZ_TRY(lz_prim_map_number(b, LZ_KERNEL_IDIV, at, (double)inner, out));
    LZ_TRY(lz_prim_map_number(b, LZ_KERNEL_FMOD, *out, (double)p->kernel.v[i], out));
    LZ_TRY(lz_prim_map_number(b, LZ_KERNEL_MUL, *out, (double)p->dilation.v[i], out));
    strides[p->lead + i] = p->stride.v[i];
    LZ_TRY(lz_low_iota(b, lz_low_node_sizes(at), -p->padding.v[i], (lz_ints){ strides, at->ndim }, &start));
    LZ_TRY(lz_prim_map2(b, LZ_KERNEL_ADD, *out, start, out));
    if (!p->padding.v[i])
        return NULL;
    LZ_TRY(lz_prim_full(b, 0, LZ_I64, lz_low_node_sizes(at), &zero));
    LZ_TRY(lz_prim_map2(b, LZ_KERNEL_LT, *out, zero, &outside));
    LZ_TRY(lz_prim_map_number(b, LZ_KERNEL_REMAINDER, *out, (double)p->dilation.v[i], &wrapped));
    (void)x;
    return lz_prim_map3(b, LZ_KERNEL_SELECT, outside, wrapped, *out, out);
}

static lz_err *positions(lz_lower *b, const lz_low_node *x, const pool *p, const lz_low_node *at,
                         const lz_low_node **out)
{
    const lz_low_node *along;
    LZ_TRY(position_along(b, x, p, at, 0, out));
    for (int64_t i = 1; i < p->d; i++) {
        LZ_TRY(lz_prim_map_number(b, LZ_KERNEL_MUL, *out, (double)x->sizes[p->lead + i], out));
        LZ_TRY(position_along(b, x, p, at, i, &along));
        LZ_TRY(lz_prim_map2(b, LZ_KERNEL_ADD, *out, along, out));
    }
    return NULL;
}

/* Whether special kernels exist: planes of floats, and every window has an element inside x. */
static bool has_kernel(const lz_low_node *x, const pool *p)
{
    bool ok = p->d == 2 && (x->dtype == LZ_F32 || x->dtype == LZ_F64) && x->numel > 0;
    for (int64_t i = 0; i < p->d; i++)
        ok = ok && (p->padding.v[i] == 0 || p->dilation.v[i] == 1);
    return ok;
}

static lz_err *call_kernels(lz_lower *b, const lz_low_node *x, const pool *p, const lz_low_node **v,
                            const lz_low_node **at)
{
    const lz_ints *lists[] = { &p->kernel, &p->stride, &p->padding, &p->dilation };
    int64_t params[8];
    lz_shape sizes = { .n = x->ndim };
    for (int i = 0; i < 8; i++)
        params[i] = lists[i / 2]->v[i % 2];
    for (int64_t i = 0; i < x->ndim; i++)
        sizes.v[i] = i < p->lead ? x->sizes[i] : p->out[i - p->lead];
    LZ_TRY(
        lz_low_kernel(b, LZ_CALL_POOL_MAX, &x, 1, (lz_dtype)x->dtype, lz_shape_ints(&sizes), params, 8, v));
    return lz_low_kernel(b, LZ_CALL_POOL_AT, &x, 1, LZ_I64, lz_shape_ints(&sizes), params, 8, at);
}

static lz_err *max_pool(lz_lower *b, const char *name, int64_t d, const lz_low_value *args,
                        lz_low_value *results)
{
    const lz_low_node *x = args[0].node, *w, *fill, *v, *at;
    pool p;
    bool ceil_mode;
    LZ_TRY(read_pool(b, name, d, x, &args[1], &p));
    LZ_TRY(lz_prim_spread_ints(b, &args[4], d, "dilation", &p.dilation));
    LZ_TRY(lz_low_value_get_bool(&args[5], &ceil_mode));
    LZ_TRY(place_windows(name, x, ceil_mode, &p));
    if (has_kernel(x, &p)) {
        LZ_TRY(call_kernels(b, x, &p, &v, &at));
    } else {
        LZ_TRY(lowest(b, (lz_dtype)x->dtype, &fill));
        LZ_TRY(windows(b, x, &p, fill, &w));
        LZ_TRY(lz_low_reduce(b, LZ_KERNEL_RMAX, w, window_dims(x, &p), false, &v));
        LZ_TRY(lz_low_reduce(b, LZ_KERNEL_RARGMAX, w, window_dims(x, &p), false, &at));
        LZ_TRY(positions(b, x, &p, at, &at));
    }
    results[0] = lz_prim_tensor(args[0].dtype, v);
    results[1] = lz_prim_tensor(LZ_I64, at);
    return NULL;
}

lz_err *lz_lower_max_pool2d_with_indices(lz_lower *b, const lz_low_value *args, lz_low_value *results)
{
    return max_pool(b, "max_pool2d", 2, args, results);
}

lz_err *lz_lower_max_pool3d_with_indices(lz_lower *b, const lz_low_value *args, lz_low_value *results)
{
    return max_pool(b, "max_pool3d", 3, args, results);
}

/* ---- average pooling ---- */

typedef struct average {
    pool p;
    bool include_pad;
    int64_t divisor; /* 0: the number of elements */
} average;

/* In three dimensions a window must fit into x even if padding would make it fit. */
static lz_err *check_kernel_fits(const lz_low_node *x, const pool *p)
{
    const int64_t *n = x->sizes + p->lead, *k = p->kernel.v;
    if (p->d < 3 || (n[0] >= k[0] && n[1] >= k[1] && n[2] >= k[2]))
        return NULL;
    return lz_errf(
        LZ_ERR_ARG,
        "input image (T: %lld H: %lld W: %lld) smaller than kernel size (kT: %lld kH: %lld kW: %lld)",
        (long long)n[0], (long long)n[1], (long long)n[2], (long long)k[0], (long long)k[1], (long long)k[2]);
}

/* kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override. */
static lz_err *read_average(lz_lower *b, const char *name, int64_t d, const lz_low_node *x,
                            const lz_low_value *args, average *out)
{
    bool ceil_mode;
    LZ_TRY(read_pool(b, name, d, x, args, &out->p));
    LZ_TRY(lz_low_value_get_bool(&args[3], &ceil_mode));
    LZ_TRY(lz_low_value_get_bool(&args[4], &out->include_pad));
    out->divisor = 0;
    if (!lz_low_value_is_none(&args[5])) {
        LZ_TRY(lz_low_value_get_int(&args[5], &out->divisor));
        if (!out->divisor)
            return lz_errf(LZ_ERR_ARG, "divisor must be not zero");
    }
    LZ_TRY(place_windows(name, x, ceil_mode, &out->p));
    return check_kernel_fits(x, &out->p);
}

static lz_err *clip(lz_lower *b, lz_kernel_op op, const lz_low_node *x, int64_t v, const lz_low_node **out)
{
    return lz_prim_map_number(b, op, x, (double)v, out);
}

/* i64, of `sizes`: the number of elements that count in each window along dimension i. */
static lz_err *count_along(lz_lower *b, const average *a, const lz_low_node *x, int64_t i, lz_ints sizes,
                           const lz_low_node **out)
{
    int64_t strides[LZ_MAX_DIMS] = { 0 }, in = x->sizes[a->p.lead + i], pad = a->p.padding.v[i];
    const lz_low_node *start, *end;
    strides[a->p.lead + i] = a->p.stride.v[i];
    LZ_TRY(lz_low_iota(b, sizes, -pad, (lz_ints){ strides, sizes.n }, &start));
    LZ_TRY(clip(b, LZ_KERNEL_ADD, start, a->p.kernel.v[i], &end));
    LZ_TRY(clip(b, LZ_KERNEL_MIN, end, in + pad, &end));
    if (!a->include_pad) {
        LZ_TRY(clip(b, LZ_KERNEL_MAX, start, 0, &start));
        LZ_TRY(clip(b, LZ_KERNEL_MIN, end, in, &end));
    }
    return lz_prim_map2(b, LZ_KERNEL_SUB, end, start, out);
}

/* The divisors of the sums over windows, in the dtype of x. */
static lz_err *divisors(lz_lower *b, const average *a, const lz_low_node *x, lz_ints sizes,
                        const lz_low_node **out)
{
    const lz_low_node *along;
    if (a->divisor)
        return lz_prim_full(b, (double)a->divisor, (lz_dtype)x->dtype, sizes, out);
    LZ_TRY(count_along(b, a, x, 0, sizes, out));
    for (int64_t i = 1; i < a->p.d; i++) {
        LZ_TRY(count_along(b, a, x, i, sizes, &along));
        LZ_TRY(lz_prim_map2(b, LZ_KERNEL_MUL, *out, along, out));
    }
    return lz_low_cast(b, *out, (lz_dtype)x->dtype, out);
}

static lz_kernel_op division(const lz_low_node *x)
{
    return lz_dtype_is_float((lz_dtype)x->dtype) ? LZ_KERNEL_DIV : LZ_KERNEL_IDIV;
}

static lz_err *avg_pool(lz_lower *b, const char *name, int64_t d, const lz_low_value *args,
                        lz_low_value *results)
{
    const lz_low_node *x = args[0].node, *w, *fill, *v, *parts;
    average a;
    LZ_TRY(read_average(b, name, d, x, &args[1], &a));
    LZ_TRY(lz_low_const(b, lz_scalar_int(0), (lz_dtype)x->dtype, &fill));
    LZ_TRY(windows(b, x, &a.p, fill, &w));
    LZ_TRY(lz_low_reduce(b, LZ_KERNEL_RSUM, w, window_dims(x, &a.p), false, &v));
    LZ_TRY(divisors(b, &a, x, lz_low_node_sizes(v), &parts));
    LZ_TRY(lz_prim_map2(b, division(x), v, parts, &v));
    results[0] = lz_prim_tensor(args[0].dtype, v);
    return NULL;
}

lz_err *lz_lower_avg_pool2d(lz_lower *b, const lz_low_value *args, lz_low_value *results)
{
    return avg_pool(b, "avg_pool2d", 2, args, results);
}

lz_err *lz_lower_avg_pool3d(lz_lower *b, const lz_low_value *args, lz_low_value *results)
{
    return avg_pool(b, "avg_pool3d", 3, args, results);
}

/* ---- gradients: windows added up at their places in x ---- */

/* Adds up windows [kept..., positions..., window...] to [kept..., sizes...]. */
static lz_err *add_windows(lz_lower *b, const lz_low_node *w, const pool *p, const int64_t *sizes,
                           const lz_low_node **out)
{
    int64_t strides[LZ_MAX_DIMS] = { 0 }, whole[MOST], kept[LZ_MAX_DIMS];
    int64_t lead = product(w->sizes, p->lead), count = product(w->sizes + p->lead, 2 * p->d);
    const lz_low_node *base, *at;
    for (int64_t i = 0; i < p->d; i++) {
        int64_t last = (p->out[i] - 1) * p->stride.v[i] + (p->kernel.v[i] - 1) * p->dilation.v[i] + 1;
        whole[i] = lz_calc_max(sizes[i] + 2 * p->padding.v[i], last);
    }
    for (int64_t i = 0; i < p->d; i++) {
        int64_t stride = product(whole + i + 1, p->d - i - 1);
        strides[p->lead + i] = p->stride.v[i] * stride;
        strides[p->lead + p->d + i] = p->dilation.v[i] * stride;
    }
    LZ_TRY(lz_low_iota(b, lz_low_node_sizes(w), 0, (lz_ints){ strides, w->ndim }, &at));
    LZ_TRY(lz_low_reshape(b, at, LZ_INTS(lead, count), &at));
    LZ_TRY(lz_low_reshape(b, w, LZ_INTS(lead, count), &w));
    LZ_TRY(lz_prim_full(b, 0, (lz_dtype)w->dtype, LZ_INTS(lead, product(whole, p->d)), &base));
    LZ_TRY(lz_low_scatter(b, LZ_SCATTER_ADD, base, 1, at, w, out));
    kept[0] = lead;
    for (int64_t i = 0; i < p->d; i++)
        kept[1 + i] = whole[i];
    LZ_TRY(lz_low_reshape(b, *out, (lz_ints){ kept, 1 + p->d }, out));
    for (int64_t i = 0; i < p->d; i++)
        LZ_TRY(lz_low_slice(b, *out, 1 + i, p->padding.v[i], 1, sizes[i], out));
    return NULL;
}

static lz_err *avg_pool_backward(lz_lower *b, const char *name, int64_t d, const lz_low_value *args,
                                 lz_low_value *results)
{
    const lz_low_node *g = args[0].node, *x = args[1].node, *parts, *n;
    lz_shape wide = { .n = x->ndim + d };
    average a;
    LZ_TRY(read_average(b, name, d, x, &args[2], &a));
    for (int64_t i = 0; i < x->ndim; i++)
        if (g->ndim != x->ndim || g->sizes[i] != (i < a.p.lead ? x->sizes[i] : a.p.out[i - a.p.lead]))
            return lz_err_because(LZ_REASON_SHAPE, "%s: expected grad_output to have the shape of the result",
                                  name);
    LZ_TRY(divisors(b, &a, x, lz_low_node_sizes(g), &parts));
    LZ_TRY(lz_low_cast(b, parts, (lz_dtype)g->dtype, &parts));
    LZ_TRY(lz_prim_map2(b, division(g), g, parts, &n));
    for (int64_t i = 0; i < d; i++)
        LZ_TRY(lz_low_unsqueeze(b, n, n->ndim, &n));
    for (int64_t i = 0; i < wide.n; i++)
        wide.v[i] = i < x->ndim ? g->sizes[i] : a.p.kernel.v[i - x->ndim];
    LZ_TRY(lz_low_expand(b, n, lz_shape_ints(&wide), &n));
    LZ_TRY(add_windows(b, n, &a.p, x->sizes + a.p.lead, &n));
    LZ_TRY(lz_low_reshape(b, n, lz_low_node_sizes(x), &n));
    results[0] = lz_prim_tensor(args[0].dtype, n);
    return NULL;
}

lz_err *lz_lower_avg_pool2d_backward(lz_lower *b, const lz_low_value *args, lz_low_value *results)
{
    return avg_pool_backward(b, "avg_pool2d_backward", 2, args, results);
}

lz_err *lz_lower_avg_pool3d_backward(lz_lower *b, const lz_low_value *args, lz_low_value *results)
{
    return avg_pool_backward(b, "avg_pool3d_backward", 3, args, results);
}

/* ---- windows as columns ---- */

/* Arguments kernel_size, dilation, padding, stride, for an image of these sizes. */
static lz_err *read_columns(lz_lower *b, const char *name, int64_t lead, const int64_t *sizes,
                            const lz_low_value *args, pool *out)
{
    *out = (pool){ .d = 2, .lead = lead };
    for (int i = 0; i < 4; i++)
        if (args[i].kind == LZ_LOW_VALUE_LIST && args[i].list.n != 2)
            return lz_errf(LZ_ERR_ARG, "%s: expected lists of two numbers, found one of %zu", name,
                           args[i].list.n);
    LZ_TRY(lz_prim_spread_ints(b, &args[0], 2, "kernel_size", &out->kernel));
    LZ_TRY(lz_prim_spread_ints(b, &args[1], 2, "dilation", &out->dilation));
    LZ_TRY(lz_prim_spread_ints(b, &args[2], 2, "padding", &out->padding));
    LZ_TRY(lz_prim_spread_ints(b, &args[3], 2, "stride", &out->stride));
    for (int64_t i = 0; i < 2; i++) {
        LZ_TRY(check_window(name, out, i));
        int64_t room = sizes[i] + 2 * out->padding.v[i] - out->dilation.v[i] * (out->kernel.v[i] - 1) - 1;
        if (room < 0)
            return lz_errf(LZ_ERR_ARG, "%s: the window does not fit into %lld", name, (long long)sizes[i]);
        out->out[i] = room / out->stride.v[i] + 1;
    }
    return NULL;
}

lz_err *lz_lower_im2col(lz_lower *b, const lz_low_value *args, lz_low_value *results)
{
    const lz_low_node *x = args[0].node, *fill, *w;
    int64_t order[LZ_MAX_DIMS], lead = x->ndim - 2;
    lz_shape sizes = { 0 };
    pool p;
    if (x->ndim != 3 && x->ndim != 4)
        return lz_errf(LZ_ERR_ARG, "im2col: Expected 3D or 4D (batch mode) tensor, but got %d dimensions",
                       x->ndim);
    if (product(x->sizes + x->ndim - 3, 3) == 0)
        return lz_errf(LZ_ERR_ARG, "im2col: only the batch may have size 0");
    LZ_TRY(read_columns(b, "im2col", lead, x->sizes + lead, &args[1], &p));
    LZ_TRY(lz_low_const(b, lz_scalar_int(0), (lz_dtype)x->dtype, &fill));
    LZ_TRY(windows(b, x, &p, fill, &w));
    for (int64_t i = 0; i < w->ndim; i++)
        order[i] = i < lead ? i : i < lead + 2 ? i + 2 : i - 2;
    LZ_TRY(lz_low_permute(b, w, order, &w));
    if (lead == 2)
        sizes.v[sizes.n++] = x->sizes[0];
    sizes.v[sizes.n++] = x->sizes[lead - 1] * product(p.kernel.v, 2);
    sizes.v[sizes.n++] = product(p.out, 2);
    LZ_TRY(lz_low_reshape(b, w, lz_shape_ints(&sizes), &w));
    results[0] = lz_prim_tensor(args[0].dtype, w);
    return NULL;
}

static lz_err *check_columns(const lz_low_node *x, const pool *p)
{
    int64_t area = product(p->kernel.v, 2), rows = x->sizes[x->ndim - 2], cols = x->sizes[x->ndim - 1];
    if (rows % area)
        return lz_errf(
            LZ_ERR_ARG,
            "Expected size of input's dimension 1 to be divisible by the product of kernel_size, but got "
            "input.size(1)=%lld and kernel_size=(%lld, %lld).",
            (long long)rows, (long long)p->kernel.v[0], (long long)p->kernel.v[1]);
    if (cols != product(p->out, 2))
        return lz_errf(
            LZ_ERR_ARG,
            "expected input.size(2) to match the calculated number of sliding blocks %lld * %lld = %lld, "
            "but got input.size(2)=%lld.",
            (long long)p->out[0], (long long)p->out[1], (long long)product(p->out, 2), (long long)cols);
    return NULL;
}

lz_err *lz_lower_col2im(lz_lower *b, const lz_low_value *args, lz_low_value *results)
{
    const lz_low_node *x = args[0].node, *w;
    lz_ints sizes;
    lz_shape out = { 0 };
    pool p;
    if (x->ndim != 2 && x->ndim != 3)
        return lz_errf(LZ_ERR_ARG, "col2im: Expected 2D or 3D (batch mode) tensor, but got %d dimensions",
                       x->ndim);
    LZ_TRY(lz_prim_spread_ints(b, &args[1], 2, "output_size", &sizes));
    LZ_TRY(read_columns(b, "col2im", 2, sizes.v, &args[2], &p));
    LZ_TRY(check_columns(x, &p));
    int64_t n = x->ndim == 3 ? x->sizes[0] : 1, c = x->sizes[x->ndim - 2] / product(p.kernel.v, 2);
    int64_t split[6] = { n, c, p.kernel.v[0], p.kernel.v[1], p.out[0], p.out[1] };
    LZ_TRY(lz_low_reshape(b, x, (lz_ints){ split, 6 }, &w));
    LZ_TRY(lz_low_permute(b, w, (const int64_t[]){ 0, 1, 4, 5, 2, 3 }, &w));
    LZ_TRY(add_windows(b, w, &p, sizes.v, &w));
    if (x->ndim == 3)
        out.v[out.n++] = n;
    out.v[out.n++] = c;
    out.v[out.n++] = sizes.v[0];
    out.v[out.n++] = sizes.v[1];
    LZ_TRY(lz_low_reshape(b, w, lz_shape_ints(&out), &w));
    results[0] = lz_prim_tensor(args[0].dtype, w);
    return NULL;
}
