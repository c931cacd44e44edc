/* Attention without a matrix of scores. */
#include "lower/prim_impl.h"
#include <math.h>

#define NAME "scaled_dot_product_attention_flash_attention: "

typedef struct attention {
    const lz_low_node *q, *k, *v, *scale, *mask; /* mask: NULL if there is none */
    int64_t batch, heads, groups, l, s, e, ev;
    bool causal;
} attention;

/* ---- arguments ---- */

static lz_err *refuse_dtypes(const lz_low_value *q, const lz_low_value *x)
{
    return lz_err_because(LZ_REASON_DTYPE, "expected scalar type %s but found %s",
                          lz_dtype_get(q->dtype)->c_name, lz_dtype_get(x->dtype)->c_name);
}

static lz_err *check_tensors(const lz_low_value *q, const lz_low_value *k, const lz_low_value *v)
{
    if (!lz_dtype_is_float(q->dtype))
        return lz_err_because(LZ_REASON_DTYPE,
                              NAME "Expected data type in FP32, FP64, BF16, FP16, but got %s instead.",
                              lz_dtype_get(q->dtype)->c_name);
    if (q->node->ndim != 4 || k->node->ndim != 4 || v->node->ndim != 4)
        return lz_err_because(LZ_REASON_SHAPE, NAME "Accept only 4 dims inputs shape of {B, H, T, K}");
    return k->dtype != q->dtype ? refuse_dtypes(q, k) : v->dtype != q->dtype ? refuse_dtypes(q, v) : NULL;
}

static lz_err *check_sizes(const attention *a)
{
    bool ok = a->batch == a->k->sizes[0] && a->e == a->k->sizes[3]
              && (a->groups ? a->heads % a->groups == 0 : !a->heads);
    for (int d = 0; d < 3; d++)
        ok = ok && a->k->sizes[d] == a->v->sizes[d];
    return ok ? NULL
              : lz_err_because(
                  LZ_REASON_SHAPE,
                  NAME "query [%lld, %lld, %lld, %lld] does not fit key [%lld, %lld, %lld, %lld] and value "
                       "[%lld, %lld, %lld, %lld]",
                  (long long)a->batch, (long long)a->heads, (long long)a->l, (long long)a->e,
                  (long long)a->k->sizes[0], (long long)a->groups, (long long)a->s, (long long)a->k->sizes[3],
                  (long long)a->v->sizes[0], (long long)a->v->sizes[1], (long long)a->v->sizes[2],
                  (long long)a->ev);
}

/* Bool, or added in the dtype of the computation; of the sizes [batch, heads, l, s]. */
static lz_err *read_mask(lz_lower *b, const lz_low_value *mask, const lz_low_value *q, attention *a)
{
    const lz_low_node *m = mask->node;
    if (mask->dtype != LZ_BOOL && mask->dtype != q->dtype)
        return lz_err_because(LZ_REASON_DTYPE, NAME "Attention mask is the same data type as query");
    if (m->ndim != 2 && m->ndim != 4)
        return lz_err_because(LZ_REASON_SHAPE, NAME "Attention mask dim in {2, 4}");
    if (mask->dtype != LZ_BOOL)
        LZ_TRY(lz_low_cast(b, m, (lz_dtype)a->q->dtype, &m));
    return lz_low_expand(b, m, LZ_INTS(a->batch, a->heads, a->l, a->s), &a->mask);
}

/* A number in a tensor without dimensions; the scale of one query if it is not given. */
static lz_err *read_scale(lz_lower *b, const lz_low_value *scale, attention *a)
{
    lz_low_value number = lz_low_value_is_none(scale)
                              ? lz_low_value_sized(lz_scalar_float(1 / sqrt((double)a->e)))
                              : *scale,
                 t;
    LZ_TRY(lz_low_wrap(b, &number, &t));
    return lz_low_cast(b, t.node, LZ_F64, &a->scale);
}

/* args: query, key, value; then dropout_p, is_causal, attn_mask, scale. */
static lz_err *read_attention(lz_lower *b, const lz_low_value *in, const lz_low_value *rest, attention *a)
{
    double dropout;
    LZ_TRY(check_tensors(&in[0], &in[1], &in[2]));
    const lz_low_node *q = in[0].node, *k = in[1].node, *v = in[2].node;
    *a = (attention){ .q = q, .k = k, .v = v };
    a->batch = q->sizes[0];
    a->heads = q->sizes[1];
    a->l = q->sizes[2];
    a->e = q->sizes[3];
    a->groups = k->sizes[1];
    a->s = k->sizes[2];
    a->ev = v->sizes[3];
    LZ_TRY(check_sizes(a));
    LZ_TRY(lz_low_value_get_double(&rest[0], &dropout));
    if (dropout != 0)
        return lz_errf(LZ_ERR_ARG, NAME "Currently do not support dropout > 0");
    LZ_TRY(lz_low_value_get_bool(&rest[1], &a->causal));
    if (!lz_low_value_is_none(&rest[2]))
        LZ_TRY(read_mask(b, &rest[2], &in[0], a));
    return read_scale(b, &rest[3], a);
}

static bool is_empty(const attention *a)
{
    return !a->q->numel || !a->k->numel || !a->v->numel;
}

/* ---- results ---- */

/* The elements of x from *at on, as a tensor of these sizes; *at moves on. */
static lz_err *take(lz_lower *b, const lz_low_node *x, int64_t *at, lz_ints sizes, const lz_low_node **out)
{
    int64_t n;
    LZ_TRY(lz_shape_numel(sizes, &n));
    LZ_TRY(lz_low_slice(b, x, 0, *at, 1, n, out));
    *at += n;
    return lz_low_reshape(b, *out, sizes, out);
}

/* [batch, rows, heads, width] as [batch, heads, rows, width] */
static lz_err *take_heads(lz_lower *b, const lz_low_node *x, int64_t *at, lz_ints sizes,
                          const lz_low_node **out)
{
    LZ_TRY(take(b, x, at, sizes, out));
    return lz_low_permute(b, *out, (const int64_t[]){ 0, 2, 1, 3 }, out);
}

/* max + log(sum) */
static lz_err *take_lse(lz_lower *b, const lz_low_node *x, int64_t at, lz_ints rows, const lz_low_node **out)
{
    const lz_low_node *max, *sum;
    LZ_TRY(take(b, x, &at, rows, &max));
    LZ_TRY(take(b, x, &at, rows, &sum));
    LZ_TRY(lz_prim_map1(b, LZ_KERNEL_LOG, sum, &sum));
    return lz_prim_map2(b, LZ_KERNEL_ADD, max, sum, out);
}

static lz_err *call_forward(lz_lower *b, const attention *a, const lz_low_node **out, const lz_low_node **lse)
{
    const lz_low_node *in[] = { a->q, a->k, a->v, a->scale, a->mask }, *all;
    size_t n = a->mask ? 5 : 4;
    const lz_ints rows = LZ_INTS(a->batch, a->heads, a->l);
    int64_t at = 0, count, numel, params[] = { a->causal, (int64_t)n };
    LZ_TRY(lz_shape_numel(rows, &count));
    LZ_TRY(lz_shape_numel(LZ_INTS(count, a->ev + 2), &numel));
    LZ_TRY(
        lz_low_kernel(b, LZ_CALL_ATTENTION, in, n, (lz_dtype)a->q->dtype, LZ_INTS(numel), params, 2, &all));
    LZ_TRY(take_heads(b, all, &at, LZ_INTS(a->batch, a->l, a->heads, a->ev), out));
    return take_lse(b, all, at, rows, lse);
}

lz_err *lz_lower__scaled_dot_product_flash_attention_for_cpu(lz_lower *b, const lz_low_value *args,
                                                             lz_low_value *results)
{
    attention a;
    const lz_low_node *out, *lse;
    LZ_TRY(read_attention(b, args, args + 3, &a));
    if (is_empty(&a)) {
        LZ_TRY(lz_prim_full(b, 0, (lz_dtype)a.q->dtype, LZ_INTS(a.batch, a.heads, a.l, a.ev), &out));
        LZ_TRY(lz_prim_full(b, 0, (lz_dtype)a.q->dtype, LZ_INTS(a.batch, a.heads, a.l), &lse));
    } else {
        LZ_TRY(call_forward(b, &a, &out, &lse));
    }
    results[0] = lz_prim_tensor(args[0].dtype, out);
    results[1] = lz_prim_tensor((lz_dtype)lse->dtype, lse);
    return NULL;
}

/* ---- gradients ---- */

/* The sum of gradient times result for each query, [batch, heads, l, 1]. */
static lz_err *make_delta(lz_lower *b, const lz_low_node *grad, const lz_low_node *out,
                          const lz_low_node **delta)
{
    LZ_TRY(lz_prim_map2(b, LZ_KERNEL_MUL, grad, out, delta));
    return lz_low_reduce(b, LZ_KERNEL_RSUM, *delta, UINT64_C(1) << 3, true, delta);
}

/* Ranges of the keys, which threads can share. Each has sums of its own for the gradient of the query. */
static int64_t ranges_of(const attention *a)
{
    enum { TASKS = 32, MOST = 8, KEYS = 256 };
    int64_t pairs = a->batch * a->groups, by_keys = (a->s + KEYS - 1) / KEYS;
    int64_t ranges = (TASKS + pairs - 1) / pairs;
    ranges = ranges < MOST ? ranges : MOST;
    return ranges < by_keys ? ranges : by_keys;
}

static lz_err *call_backward(lz_lower *b, const attention *a, const lz_low_node *grad, const lz_low_node *out,
                             const lz_low_node *lse, const lz_low_node *slopes[3])
{
    const lz_low_node *in[] = { grad, a->q, a->k, a->v, lse, NULL, a->scale, a->mask }, *all;
    size_t n = a->mask ? 8 : 7;
    int64_t at = 0, ranges = ranges_of(a), numel, more;
    int64_t params[] = { a->causal, (int64_t)n, ranges };
    LZ_TRY(make_delta(b, grad, out, &in[5]));
    LZ_TRY(lz_low_unsqueeze(b, lse, 3, &in[4]));
    LZ_TRY(lz_shape_numel(LZ_INTS(ranges, a->q->numel), &numel));
    LZ_TRY(lz_shape_numel(LZ_INTS(a->k->numel + a->v->numel), &more));
    LZ_TRY(lz_low_kernel(b, LZ_CALL_ATTENTION_BACKWARD, in, n, (lz_dtype)a->q->dtype, LZ_INTS(numel + more),
                         params, 3, &all));
    LZ_TRY(take(b, all, &at, LZ_INTS(ranges, a->batch, a->l, a->heads, a->e), &slopes[0]));
    LZ_TRY(lz_low_reduce(b, LZ_KERNEL_RSUM, slopes[0], 1, false, &slopes[0]));
    LZ_TRY(lz_low_permute(b, slopes[0], (const int64_t[]){ 0, 2, 1, 3 }, &slopes[0]));
    LZ_TRY(take_heads(b, all, &at, LZ_INTS(a->batch, a->s, a->groups, a->e), &slopes[1]));
    return take_heads(b, all, &at, LZ_INTS(a->batch, a->s, a->groups, a->ev), &slopes[2]);
}

/* The gradient and the saved results fit the arguments. */
static lz_err *check_results(const attention *a, const lz_low_value *grad, const lz_low_value *out,
                             const lz_low_value *lse, lz_dtype d)
{
    const lz_ints sizes = LZ_INTS(a->batch, a->heads, a->l, a->ev);
    bool ok = lz_shape_eq(lz_low_node_sizes(grad->node), sizes)
              && lz_shape_eq(lz_low_node_sizes(out->node), sizes)
              && lz_shape_eq(lz_low_node_sizes(lse->node), (lz_ints){ sizes.v, 3 });
    if (!ok)
        return lz_err_because(LZ_REASON_SHAPE,
                              NAME "grad_out, out and logsumexp do not have the sizes of the results");
    if (grad->dtype == d && out->dtype == d && lz_dtype_is_float(lse->dtype))
        return NULL;
    return lz_err_because(LZ_REASON_DTYPE, NAME "grad_out and out must have the data type of query");
}

/* args: grad_out, query, key, value, out, logsumexp, dropout_p, is_causal, attn_mask, scale. */
lz_err *lz_lower__scaled_dot_product_flash_attention_for_cpu_backward(lz_lower *b, const lz_low_value *args,
                                                                      lz_low_value *results)
{
    attention a;
    const lz_low_node *slopes[3], *lse;
    LZ_TRY(read_attention(b, args + 1, args + 6, &a));
    LZ_TRY(check_results(&a, &args[0], &args[4], &args[5], args[1].dtype));
    for (int i = 0; is_empty(&a) && i < 3; i++)
        LZ_TRY(lz_prim_full(b, 0, (lz_dtype)args[1 + i].node->dtype, lz_low_node_sizes(args[1 + i].node),
                            &slopes[i]));
    if (!is_empty(&a)) {
        LZ_TRY(lz_low_cast(b, args[5].node, (lz_dtype)a.q->dtype, &lse));
        LZ_TRY(call_backward(b, &a, args[0].node, args[4].node, lse, slopes));
    }
    for (int i = 0; i < 3; i++)
        results[i] = lz_prim_tensor(args[1].dtype, slopes[i]);
    return NULL;
}
