/* Encoder and decoder layers of transformers, stacks of them, and both together. */
#include "nn/module.h"

/* Parts of a layer: one or two attentions, and a feed-forward part. */
enum { SELF, CROSS, ATTENTIONS };

typedef struct block {
    lz_transformer_options o;
    int64_t width, heads;
    bool decoder;
    lz_module *attention[ATTENTIONS], *linear[2], *inner_dropout;
    lz_module *norm[ATTENTIONS + 1], *dropout[ATTENTIONS + 1]; /* in the order of the parts */
} block;

/* Masks of a call, by attention. */
typedef struct block_masks {
    lz_tensor *mask[ATTENTIONS], *padding[ATTENTIONS];
    bool causal[ATTENTIONS];
} block_masks;

/* ---- making ---- */

static lz_err *find_activation(lz_transformer_options *o)
{
    static const char *const known[] = { "relu", "gelu" };
    for (int i = 0; i < 2; i++)
        if (o->activation && !strcmp(o->activation, known[i])) {
            o->activation = known[i];
            return NULL;
        }
    return o->activation_op ? NULL : lz_errf(LZ_ERR_ARG, "activation should be relu/gelu");
}

static void add_norms(lz_module *m, block *b, int parts)
{
    static const char *const norms[] = { "norm1", "norm2", "norm3" };
    static const char *const dropouts[] = { "dropout1", "dropout2", "dropout3" };
    const lz_norm_options options = { .eps = b->o.layer_norm_eps, .affine = true, .bias = b->o.bias };
    for (int i = 0; i < parts; i++) {
        b->norm[i] = lz_nn_layer_norm_at(m, m->at, norms[i], LZ_INTS(b->width), &options);
        b->dropout[i] = lz_nn_dropout_at(m, m->at, dropouts[i], LZ_DROPOUT_ELEMENTS, b->o.dropout);
    }
}

static lz_err *build_block(lz_module *m)
{
    block *b = m->data;
    LZ_TRY(find_activation(&b->o));
    if (b->o.norm)
        return lz_errf(LZ_ERR_ARG, "norm is for encoders and decoders, not for their layers");
    const lz_attention_options attention = { .dropout = b->o.dropout,
                                             .bias = b->o.bias,
                                             .batch_first = b->o.batch_first };
    const lz_linear_options linear = { .bias = b->o.bias };
    int64_t inner = b->o.dim_feedforward;
    b->attention[SELF] = lz_nn_multihead_attention_at(m, m->at, "self_attn", b->width, b->heads, &attention);
    if (b->decoder)
        b->attention[CROSS] =
            lz_nn_multihead_attention_at(m, m->at, "multihead_attn", b->width, b->heads, &attention);
    b->linear[0] = lz_nn_linear_at(m, m->at, "linear1", b->width, inner, &linear);
    b->inner_dropout = lz_nn_dropout_at(m, m->at, "dropout", LZ_DROPOUT_ELEMENTS, b->o.dropout);
    b->linear[1] = lz_nn_linear_at(m, m->at, "linear2", inner, b->width, &linear);
    add_norms(m, b, b->decoder ? 3 : 2);
    return m->lacks_layer ? lz_errf(LZ_ERR_ARG, "a part of the layer could not be made") : NULL;
}

/* ---- one layer ---- */

/* memory: of the encoder, for CROSS; else NULL. */
static lz_tensor *attend(lz_module *m, lz_tensor *x, lz_tensor *memory, const block_masks *masks, int which)
{
    const block *b = m->data;
    lz_tensor *keys = memory ? memory : x;
    lz_tensor *y = lz_attend_at(b->attention[which], m->at, x, keys, keys,
                                &(const lz_attend_args){ .attn_mask = masks->mask[which],
                                                         .key_padding_mask = masks->padding[which],
                                                         .is_causal = masks->causal[which] });
    return lz_forward_at(b->dropout[which], m->at, y);
}

static lz_tensor *feed_forward(lz_module *m, lz_tensor *x)
{
    const lz_loc at = m->at;
    const block *b = m->data;
    lz_tensor *h = lz_forward_at(b->linear[0], at, x);
    if (b->o.activation_op)
        h = b->o.activation_op(m->ctx, at, h);
    else
        h = b->o.activation[0] == 'r' ? lz_relu(m->ctx, h) : lz_gelu(m->ctx, h);
    h = lz_forward_at(b->linear[1], at, lz_forward_at(b->inner_dropout, at, h));
    return lz_forward_at(b->dropout[b->decoder ? 2 : 1], at, h);
}

/* Part i: attention, or behind the attentions the feed-forward part. */
static lz_tensor *part(lz_module *m, lz_tensor *x, lz_tensor *memory, const block_masks *masks, int i)
{
    bool decoder = ((const block *)m->data)->decoder;
    return i == (decoder ? 2 : 1) ? feed_forward(m, x) : attend(m, x, i == CROSS ? memory : NULL, masks, i);
}

static lz_tensor *run_block(lz_module *m, lz_tensor *x, lz_tensor *memory, const block_masks *masks)
{
    const lz_loc at = m->at;
    const block *b = m->data;
    for (int i = 0; i < (b->decoder ? 3 : 2); i++) {
        lz_tensor *in = b->o.norm_first ? lz_forward_at(b->norm[i], at, x) : x;
        x = lz_add_Tensor(m->ctx, x, part(m, in, memory, masks, i));
        if (!b->o.norm_first)
            x = lz_forward_at(b->norm[i], at, x);
    }
    return x;
}

static lz_tensor *forward_block(lz_module *m, lz_tensor *x)
{
    return lz_encode_at(m, m->at, x, &(const lz_encode_args){ .mask = NULL });
}

lz_module *lz_nn_transformer_layer_at(lz_module *parent, lz_loc at, const char *name, bool decoder,
                                      int64_t width, int64_t heads, const lz_transformer_options *options)
{
    static const lz_layer layers[] = { { { "TransformerEncoderLayer", forward_block, NULL }, build_block },
                                       { { "TransformerDecoderLayer", forward_block, NULL }, build_block } };
    block b = { .o = *options, .width = width, .heads = heads, .decoder = decoder };
    return lz_layer_make(parent, at, name, &layers[decoder], &b, sizeof b);
}

/* ---- stacks ---- */

typedef struct stack {
    lz_transformer_options o;
    int64_t width, heads, count;
    bool decoder;
    lz_module *layers, *norm;
} stack;

/* All layers begin with the weights of the first. */
static void copy_weights(lz_module *from, lz_module *to)
{
    const lz_loc at = from->at;
    lz_named_tensors a = lz_module_params(from), b = lz_module_params(to);
    for (size_t i = 0; i < a.n && i < b.n; i++)
        lz_copy_(from->ctx, b.v[i].tensor, a.v[i].tensor);
}

static lz_err *build_stack(lz_module *m)
{
    stack *s = m->data;
    if (s->count < 0 || s->count > 1 << 16)
        return lz_errf(LZ_ERR_ARG, "num_layers must be between 0 and 65536");
    lz_transformer_options options = s->o;
    options.norm = false;
    s->layers = lz_nn_module_at(m, m->at, "layers");
    for (int64_t i = 0; i < s->count && !s->layers->lacks_layer; i++) {
        lz_module *layer =
            lz_nn_transformer_layer_at(s->layers, m->at, NULL, s->decoder, s->width, s->heads, &options);
        if (i > 0 && !lz_module_is_inert(layer))
            copy_weights(s->layers->first, layer);
    }
    if (s->o.norm)
        s->norm = lz_nn_layer_norm_at(
            m, m->at, "norm", LZ_INTS(s->width),
            &(lz_norm_options){ .eps = s->o.layer_norm_eps, .affine = true, .bias = s->o.bias });
    s->o.activation = NULL; /* the caller's */
    return m->lacks_layer || s->layers->lacks_layer ? lz_errf(LZ_ERR_ARG, "a layer could not be made") : NULL;
}

static lz_tensor *run_stack(lz_module *m, lz_tensor *x, lz_tensor *memory, const block_masks *masks)
{
    const stack *s = m->data;
    for (lz_module *k = s->layers->first; k; k = k->next) {
        k->at = m->at;
        x = run_block(k, x, memory, masks);
    }
    return s->norm ? lz_forward_at(s->norm, m->at, x) : x;
}

static lz_tensor *forward_stack(lz_module *m, lz_tensor *x)
{
    return lz_encode_at(m, m->at, x, &(const lz_encode_args){ .mask = NULL });
}

lz_module *lz_nn_transformer_stack_at(lz_module *parent, lz_loc at, const char *name, bool decoder,
                                      int64_t width, int64_t heads, int64_t layers,
                                      const lz_transformer_options *options)
{
    static const lz_layer kinds[] = { { { "TransformerEncoder", forward_stack, NULL }, build_stack },
                                      { { "TransformerDecoder", forward_stack, NULL }, build_stack } };
    stack s = { .o = *options, .width = width, .heads = heads, .count = layers, .decoder = decoder };
    return lz_layer_make(parent, at, name, &kinds[decoder], &s, sizeof s);
}

/* ---- calls ---- */

static lz_err *check_call(const lz_module *m, bool decoder, const lz_tensor *x, const lz_tensor *memory)
{
    bool one = m->cls->forward == forward_block, many = m->cls->forward == forward_stack;
    bool is_decoder = one ? ((const block *)m->data)->decoder : many && ((const stack *)m->data)->decoder;
    const char *what = decoder ? "decoder" : "encoder";
    if ((!one && !many) || is_decoder != decoder)
        return lz_errf(LZ_ERR_ARG, "'%s' is neither %s nor %s layer", m->path,
                       decoder ? "a decoder" : "an encoder", decoder ? "a decoder" : "an encoder");
    if (m->lacks_layer || !x || lz_tensor_is_inert(x) || (decoder && (!memory || lz_tensor_is_inert(memory))))
        return lz_errf(LZ_ERR_ARG, "%s '%s': inputs must not be NULL or inert", what, m->path);
    return NULL;
}

static lz_tensor *call(lz_module *m, lz_loc at, lz_tensor *x, lz_tensor *memory, bool decoder,
                       const block_masks *masks)
{
    m->at = at;
    lz_err *e = check_call(m, decoder, x, memory);
    if (e)
        return lz_refuse(m->ctx, at, e);
    return m->cls->forward == forward_block ? run_block(m, x, memory, masks) : run_stack(m, x, memory, masks);
}

lz_tensor *lz_encode_at(lz_module *m, lz_loc at, lz_tensor *src, const lz_encode_args *args)
{
    const block_masks masks = { .mask = { args->mask },
                                .padding = { args->key_padding_mask },
                                .causal = { args->is_causal } };
    return m ? call(m, at, src, NULL, false, &masks) : NULL;
}

lz_tensor *lz_decode_at(lz_module *m, lz_loc at, lz_tensor *tgt, lz_tensor *memory,
                        const lz_decode_args *args)
{
    const block_masks masks = { .mask = { args->tgt_mask, args->memory_mask },
                                .padding = { args->tgt_key_padding_mask, args->memory_key_padding_mask },
                                .causal = { args->tgt_is_causal, args->memory_is_causal } };
    return m ? call(m, at, tgt, memory, true, &masks) : NULL;
}

/* ---- encoder and decoder ---- */

typedef struct transformer {
    lz_transformer_options o;
    int64_t width, heads, layers[2];
    lz_module *stacks[2];
} transformer;

static lz_err *build_transformer(lz_module *m)
{
    static const char *const names[] = { "encoder", "decoder" };
    transformer *t = m->data;
    for (int i = 0; i < 2; i++)
        t->stacks[i] =
            lz_nn_transformer_stack_at(m, m->at, names[i], i == 1, t->width, t->heads, t->layers[i], &t->o);
    t->o.activation = NULL; /* the caller's */
    if (m->lacks_layer)
        return lz_errf(LZ_ERR_ARG, "the encoder or the decoder could not be made");
    lz_named_tensors all = lz_module_params(m);
    for (size_t i = 0; i < all.n; i++)
        if (lz_tensor_ndim(all.v[i].tensor) > 1)
            lz_init_xavier_uniform(m->ctx, all.v[i].tensor, 1);
    return NULL;
}

static lz_tensor *forward_transformer(lz_module *m, lz_tensor *x)
{
    return lz_run_transformer_at(m, m->at, x, x, &(const lz_transform_args){ .src.mask = NULL });
}

static lz_err *check_transformer(const lz_module *m, const lz_tensor *src, const lz_tensor *tgt)
{
    const transformer *t = m->data;
    if (m->cls->forward != forward_transformer)
        return lz_errf(LZ_ERR_ARG, "lz_run_transformer: '%s' is not a transformer", m->path);
    if (!src || lz_tensor_is_inert(src) || !tgt || lz_tensor_is_inert(tgt))
        return lz_errf(LZ_ERR_ARG, "lz_run_transformer: src and tgt must not be NULL or inert");
    lz_ints a = lz_tensor_sizes(src), b = lz_tensor_sizes(tgt);
    int batch = t->o.batch_first ? 0 : 1;
    if (a.n == 3 && b.n == 3 && a.v[batch] != b.v[batch])
        return lz_err_because(LZ_REASON_SHAPE, "the batch number of src and tgt must be equal");
    if (a.n < 2 || b.n < 2 || a.v[a.n - 1] != t->width || b.v[b.n - 1] != t->width)
        return lz_err_because(LZ_REASON_SHAPE, "the feature number of src and tgt must be equal to d_model");
    return NULL;
}

lz_tensor *lz_run_transformer_at(lz_module *m, lz_loc at, lz_tensor *src, lz_tensor *tgt,
                                 const lz_transform_args *args)
{
    if (!m)
        return NULL;
    m->at = at;
    lz_err *e = check_transformer(m, src, tgt);
    if (e)
        return lz_refuse(m->ctx, at, e);
    const transformer *t = m->data;
    lz_tensor *memory = lz_encode_at(t->stacks[0], at, src, &args->src);
    return lz_decode_at(t->stacks[1], at, tgt, memory, &args->tgt);
}

lz_module *lz_nn_transformer_at(lz_module *parent, lz_loc at, const char *name, int64_t width, int64_t heads,
                                int64_t encoder_layers, int64_t decoder_layers,
                                const lz_transformer_options *options)
{
    static const lz_layer layer = { { "Transformer", forward_transformer, NULL }, build_transformer };
    transformer t = {
        .o = *options, .width = width, .heads = heads, .layers = { encoder_layers, decoder_layers }
    };
    return lz_layer_make(parent, at, name, &layer, &t, sizeof t);
}
