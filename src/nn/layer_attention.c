/* The multi-head attention layer. */
#include "nn/module.h"
#include <math.h>

typedef struct attention {
    int64_t width, heads;
    lz_attention_options o;
    bool packed;                  /* one weight for query, key and value */
    lz_module_slot *in[3], *bias; /* packed: in[0] only */
    lz_module_slot *more[2];      /* bias_k, bias_v */
    lz_module *out;
} attention;

/* ---- weights ---- */

static lz_err *add_xavier(lz_module *m, const char *name, int64_t rows, int64_t columns, lz_module_slot **out)
{
    double bound = sqrt(6.0 / (double)(rows + columns));
    return lz_module_slot_add(m, name, LZ_SLOT_PARAM, lz_weight_uniform(m, LZ_INTS(rows, columns), bound),
                              out);
}

static lz_err *check(attention *o)
{
    if (o->width < 1 || o->heads < 1 || o->width % o->heads)
        return lz_errf(LZ_ERR_ARG, "embed_dim must be divisible by num_heads");
    if (!(o->o.dropout >= 0 && o->o.dropout <= 1))
        return lz_errf(LZ_ERR_ARG, "a probability is between 0 and 1");
    o->o.kdim = o->o.kdim ? o->o.kdim : o->width;
    o->o.vdim = o->o.vdim ? o->o.vdim : o->width;
    o->packed = o->o.kdim == o->width && o->o.vdim == o->width;
    return o->o.kdim > 0 && o->o.vdim > 0 ? NULL : lz_errf(LZ_ERR_ARG, "sizes must not be negative");
}

static lz_err *add_inputs(lz_module *m)
{
    attention *o = m->data;
    if (o->packed)
        return add_xavier(m, "in_proj_weight", 3 * o->width, o->width, &o->in[0]);
    LZ_TRY(add_xavier(m, "q_proj_weight", o->width, o->width, &o->in[0]));
    LZ_TRY(add_xavier(m, "k_proj_weight", o->width, o->o.kdim, &o->in[1]));
    return add_xavier(m, "v_proj_weight", o->width, o->o.vdim, &o->in[2]);
}

/* A learnt key and a learnt value. */
static lz_err *add_more(lz_module *m)
{
    static const char *const names[] = { "bias_k", "bias_v" };
    attention *o = m->data;
    for (int i = 0; i < 2; i++) {
        lz_tensor *t = lz_weight_full(m, LZ_INTS(1, 1, o->width), 0);
        LZ_TRY(
            lz_module_slot_add(m, names[i], LZ_SLOT_PARAM, lz_init_xavier_normal(m->ctx, t, 1), &o->more[i]));
    }
    return NULL;
}

static lz_err *build(lz_module *m)
{
    attention *o = m->data;
    LZ_TRY(check(o));
    LZ_TRY(add_inputs(m));
    if (o->o.bias)
        LZ_TRY(lz_module_slot_add(m, "in_proj_bias", LZ_SLOT_PARAM,
                                  lz_weight_full(m, LZ_INTS(3 * o->width), 0), &o->bias));
    if (o->o.add_bias_kv)
        LZ_TRY(add_more(m));
    o->out =
        lz_nn_linear_at(m, m->at, "out_proj", o->width, o->width, &(lz_linear_options){ .bias = o->o.bias });
    if (lz_module_is_inert(o->out))
        return lz_errf(LZ_ERR_ARG, "out_proj could not be made");
    if (o->o.bias)
        lz_init_zeros(m->ctx, lz_module_get(o->out, "bias"));
    return NULL;
}

/* ---- from inputs to heads ---- */

/* [.., width] to [batch, heads, length, width / heads]. */
static lz_tensor *to_heads(lz_module *m, lz_tensor *x)
{
    const lz_loc at = m->at;
    const attention *o = m->data;
    lz_ints n = lz_tensor_sizes(x);
    if (lz_tensor_is_inert(x) || n.n != 3)
        return x;
    x = lz_view(m->ctx, x, LZ_INTS(n.v[0], n.v[1], o->heads, o->width / o->heads));
    return lz_permute(m->ctx, x, o->o.batch_first ? LZ_INTS(0, 2, 1, 3) : LZ_INTS(1, 2, 0, 3));
}

static lz_tensor *from_heads(lz_module *m, lz_tensor *x)
{
    const lz_loc at = m->at;
    const attention *o = m->data;
    lz_ints n = lz_tensor_sizes(x);
    if (lz_tensor_is_inert(x))
        return x;
    int64_t batch = n.v[0], length = n.v[2];
    x = lz_permute(m->ctx, x, o->o.batch_first ? LZ_INTS(0, 2, 1, 3) : LZ_INTS(2, 0, 1, 3));
    return lz_reshape(m->ctx, x,
                      o->o.batch_first ? LZ_INTS(batch, length, o->width) : LZ_INTS(length, batch, o->width));
}

/* which: 0, 1, 2 for query, key, value. */
static lz_tensor *project(lz_module *m, lz_tensor *x, int64_t which)
{
    const lz_loc at = m->at;
    const attention *o = m->data;
    lz_tensor *w = o->in[o->packed ? 0 : which]->tensor, *b = lz_module_slot_tensor(o->bias);
    if (o->packed)
        w = lz_narrow(m->ctx, w, 0, which * o->width, o->width);
    if (b)
        b = lz_narrow(m->ctx, b, 0, which * o->width, o->width);
    return to_heads(m, lz_linear(m->ctx, x, w, .bias = b));
}

/* For self-attention, one product computes query, key and value. */
static void project_all(lz_module *m, lz_tensor *const in[3], lz_tensor *out[3])
{
    const lz_loc at = m->at;
    const attention *o = m->data;
    if (!o->packed || in[0] != in[1] || in[0] != in[2]) {
        for (int64_t i = 0; i < 3; i++)
            out[i] = project(m, in[i], i);
        return;
    }
    lz_tensor *y = lz_linear(m->ctx, in[0], o->in[0]->tensor, .bias = lz_module_slot_tensor(o->bias));
    for (int64_t i = 0; i < 3; i++) {
        lz_tensor *part = lz_narrow(m->ctx, y, -1, i * o->width, o->width);
        out[i] = to_heads(m, part);
    }
}

/* Appends a key or a value, [1, 1, width] for all sequences; more NULL: zeros. */
static lz_tensor *append(lz_module *m, lz_tensor *x, lz_tensor *more)
{
    const lz_loc at = m->at;
    lz_ints n = lz_tensor_sizes(x);
    if (lz_tensor_is_inert(x))
        return x;
    int64_t sizes[] = { n.v[0], n.v[1], 1, n.v[3] };
    lz_ints one = { sizes, 4 };
    more = more ? lz_expand(m->ctx, lz_view(m->ctx, more, LZ_INTS(1, n.v[1], 1, n.v[3])), one)
                : lz_zeros(m->ctx, one, .dtype = lz_tensor_dtype(x));
    lz_tensor *both[] = { x, more };
    return lz_cat(m->ctx, ((lz_tensors){ both, 2 }), .dim = 2);
}

static void append_all(lz_module *m, lz_tensor *x[3])
{
    const attention *o = m->data;
    for (int i = 1; i < 3; i++) {
        if (o->o.add_bias_kv)
            x[i] = append(m, x[i], o->more[i - 1]->tensor);
        if (o->o.add_zero_attn)
            x[i] = append(m, x[i], NULL);
    }
}

/* ---- masks ---- */

/* A mask of numbers that are added to scores; a bool mask becomes 0 and -inf. */
static lz_tensor *as_numbers(lz_module *m, lz_tensor *mask, lz_dtype dtype)
{
    const lz_loc at = m->at;
    if (!mask || lz_tensor_dtype(mask) != LZ_BOOL)
        return mask;
    lz_tensor *zeros = lz_zeros(m->ctx, lz_tensor_sizes(mask), .dtype = dtype);
    return lz_masked_fill_Scalar(m->ctx, zeros, mask, -(double)INFINITY);
}

static lz_tensor *add_masks(lz_module *m, lz_tensor *a, lz_tensor *b)
{
    const lz_loc at = m->at;
    return !a ? b : !b ? a : lz_add_Tensor(m->ctx, a, b);
}

static lz_tensor *causal_mask(lz_module *m, int64_t length, int64_t keys, lz_dtype dtype)
{
    const lz_loc at = m->at;
    lz_tensor *all = lz_full(m->ctx, LZ_INTS(length, keys), -(double)INFINITY, .dtype = dtype);
    return lz_triu(m->ctx, all, .diagonal = 1);
}

/* The sum of all masks, with the sizes of the scores [batch, heads, length, keys + more]; NULL: no mask.
 * Appended keys are not masked. */
static lz_tensor *find_mask(lz_module *m, const lz_attend_args *args, const lz_tensor *query, int64_t keys,
                            int64_t more)
{
    const lz_loc at = m->at;
    lz_ints q = lz_tensor_sizes(query);
    lz_dtype dtype = lz_tensor_dtype(query);
    lz_tensor *mask = as_numbers(m, args->attn_mask, dtype);
    lz_tensor *pad = as_numbers(m, args->key_padding_mask, dtype);
    if (mask && lz_tensor_ndim(mask) == 3)
        mask = lz_view(m->ctx, mask, LZ_INTS(q.v[0], q.v[1], q.v[2], keys));
    if (pad)
        pad = lz_view(m->ctx, pad, LZ_INTS(q.v[0], 1, 1, keys));
    mask = add_masks(m, mask, pad);
    if (args->is_causal)
        mask = add_masks(m, mask, causal_mask(m, q.v[2], keys, dtype));
    return mask && more ? lz_constant_pad_nd(m->ctx, mask, LZ_INTS(0, more)) : mask;
}

/* ---- attention ---- */

static lz_tensor *attend_slowly(lz_module *m, lz_tensor *const x[3], lz_tensor *mask,
                                const lz_attend_args *args)
{
    const lz_loc at = m->at;
    const attention *o = m->data;
    lz_ctx *c = m->ctx;
    lz_tensor *q = lz_mul_Scalar(c, x[0], sqrt((double)o->heads / (double)o->width));
    lz_tensor *score = lz_matmul(c, q, lz_transpose_int(c, x[1], -2, -1));
    lz_tensor *p = lz_softmax_int(c, mask ? lz_add_Tensor(c, score, mask) : score, -1);
    p = lz_dropout(c, p, o->o.dropout, m->training && o->o.dropout > 0);
    if (args->weights)
        *args->weights = args->each_head ? p : lz_mean_dim(c, p, LZ_INTS(1));
    return lz_matmul(c, p, x[2]);
}

static lz_tensor *attend(lz_module *m, lz_tensor *const in[3], const lz_attend_args *args)
{
    const lz_loc at = m->at;
    const attention *o = m->data;
    lz_tensor *x[3];
    project_all(m, in, x);
    for (int i = 0; i < 3; i++)
        if (lz_tensor_is_inert(x[i]))
            return x[i];
    int64_t keys = lz_tensor_sizes(x[1]).v[2], more = o->o.add_bias_kv + o->o.add_zero_attn;
    append_all(m, x);
    bool slowly = args->weights || (m->training && o->o.dropout > 0);
    bool masked = args->attn_mask || args->key_padding_mask || more || slowly;
    lz_tensor *mask = masked ? find_mask(m, args, x[0], keys, more) : NULL;
    lz_tensor *y = slowly ? attend_slowly(m, x, mask, args)
                          : lz_scaled_dot_product_attention(m->ctx, x[0], x[1], x[2], .attn_mask = mask,
                                                            .is_causal = args->is_causal && !masked);
    return lz_forward_at(o->out, m->at, from_heads(m, y));
}

/* ---- calls ---- */

/* The size of dimension `which` of [length, batch], or of [batch, length] with batch_first. A single sequence
 * is a batch of one. */
static int64_t size_at(const attention *o, const lz_tensor *t, int which)
{
    lz_ints n = lz_tensor_sizes(t);
    if (n.n == 2)
        return which ? 1 : n.v[0];
    return n.v[o->o.batch_first ? 1 - which : which];
}

static lz_err *check_inputs(const attention *o, lz_tensor *const in[3])
{
    int64_t widths[3] = { o->width, o->o.kdim, o->o.vdim }, ndim = lz_tensor_ndim(in[0]);
    if (ndim != 2 && ndim != 3)
        return lz_errf(LZ_ERR_ARG, "attention: expected a query of 2 or 3 dimensions, got %d", (int)ndim);
    for (int i = 0; i < 3; i++) {
        lz_ints n = lz_tensor_sizes(in[i]);
        if (n.n != ndim || n.v[ndim - 1] != widths[i])
            return lz_err_because(LZ_REASON_SHAPE, "attention: size mismatch: the widths of query, key or "
                                                   "value differ from embed_dim, kdim or vdim");
        if (size_at(o, in[i], 1) != size_at(o, in[0], 1))
            return lz_err_because(LZ_REASON_SHAPE,
                                  "attention: size mismatch: query, key and value need one batch size");
    }
    if (size_at(o, in[1], 0) != size_at(o, in[2], 0))
        return lz_err_because(LZ_REASON_SHAPE, "attention: size mismatch: expected one value for each key");
    return NULL;
}

static bool has_sizes(const lz_tensor *t, lz_ints want)
{
    lz_ints n = lz_tensor_sizes(t);
    return n.n == want.n && !memcmp(n.v, want.v, (size_t)n.n * sizeof *n.v);
}

static bool is_mask_dtype(lz_dtype d)
{
    return d == LZ_BOOL || d == LZ_F16 || d == LZ_BF16 || d == LZ_F32 || d == LZ_F64;
}

static lz_err *check_mask(const lz_tensor *mask, lz_ints sizes, lz_ints or_sizes, const char *what)
{
    if (!mask)
        return NULL;
    if (lz_tensor_is_inert(mask))
        return lz_errf(LZ_ERR_ARG, "attention: %s is inert", what);
    if (!is_mask_dtype(lz_tensor_dtype(mask)))
        return lz_errf(LZ_ERR_ARG, "attention: %s is neither bool nor floating", what);
    if (!has_sizes(mask, sizes) && !has_sizes(mask, or_sizes))
        return lz_err_because(LZ_REASON_SHAPE,
                              "attention: size mismatch: the sizes of %s do not fit query and key", what);
    return NULL;
}

static lz_err *check_masks(const attention *o, lz_tensor *const in[3], const lz_attend_args *args)
{
    int64_t length = size_at(o, in[0], 0), keys = size_at(o, in[1], 0), batch = size_at(o, in[0], 1);
    lz_ints padding = lz_tensor_ndim(in[0]) == 2 ? LZ_INTS(keys) : LZ_INTS(batch, keys);
    LZ_TRY(check_mask(args->attn_mask, LZ_INTS(length, keys), LZ_INTS(batch * o->heads, length, keys),
                      "attn_mask"));
    return check_mask(args->key_padding_mask, padding, padding, "key_padding_mask");
}

/* Makes a single sequence a batch of one. Equal inputs stay one tensor, so that project_all sees
 * self-attention. */
static void add_batch(lz_module *m, lz_tensor *in[3])
{
    const lz_loc at = m->at;
    const attention *o = m->data;
    lz_tensor *was[3] = { in[0], in[1], in[2] };
    for (int i = 0; i < 3; i++) {
        in[i] = i > 0 && was[i] == was[i - 1] ? in[i - 1]
                                              : lz_unsqueeze(m->ctx, was[i], o->o.batch_first ? 0 : 1);
    }
}

static lz_tensor *forward(lz_module *m, lz_tensor *x)
{
    return lz_attend_at(m, m->at, x, x, x, &(lz_attend_args){ 0 });
}

static const lz_layer layer = { { "MultiheadAttention", forward, NULL }, build };

static lz_err *check_call(const lz_module *m, lz_tensor *const in[3], const lz_attend_args *args)
{
    if (m->cls != &layer.cls)
        return lz_errf(LZ_ERR_ARG, "lz_attend: '%s' is not an attention layer", m->path);
    for (int i = 0; i < 3; i++)
        if (!in[i] || lz_tensor_is_inert(in[i]))
            return lz_errf(LZ_ERR_ARG, "lz_attend: query, key and value must not be NULL or inert");
    LZ_TRY(check_inputs(m->data, in));
    return check_masks(m->data, in, args);
}

lz_tensor *lz_attend_at(lz_module *m, lz_loc at, lz_tensor *query, lz_tensor *key, lz_tensor *value,
                        const lz_attend_args *args)
{
    lz_tensor *in[3] = { query, key, value };
    if (!m)
        return NULL;
    m->at = at;
    if (args->weights)
        *args->weights = NULL;
    lz_err *e = check_call(m, in, args);
    if (e)
        return lz_refuse(m->ctx, at, e);
    if (lz_tensor_ndim(query) == 3)
        return attend(m, in, args);
    add_batch(m, in);
    lz_tensor *y = attend(m, in, args);
    if (args->weights && *args->weights)
        *args->weights = lz_squeeze_dim(m->ctx, *args->weights, 0);
    return lz_squeeze_dim(m->ctx, y, ((const attention *)m->data)->o.batch_first ? 0 : 1);
}

lz_module *lz_nn_multihead_attention_at(lz_module *parent, lz_loc at, const char *name, int64_t width,
                                        int64_t heads, const lz_attention_options *options)
{
    attention o = { .width = width, .heads = heads, .o = *options };
    return lz_layer_make(parent, at, name, &layer, &o, sizeof o);
}
