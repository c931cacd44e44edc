/* transformer.h - encoders and decoders of transformers.
 *
 *     lz_module *t = lz_nn_transformer_encoder(m, "encoder", 256, 4, 6, .batch_first = true);
 *     lz_tensor *y = lz_encode(t, x, .is_causal = true);
 *
 * Part of nn.h. Names of parameters are PyTorch's: "layers.0.self_attn.in_proj_weight". */
#ifndef LAZULI_TRANSFORMER_H
#define LAZULI_TRANSFORMER_H

#include <lazuli/nn.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct lz_transformer_options {
    int64_t dim_feedforward;
    double dropout, layer_norm_eps;
    const char *activation;     /* "relu", "gelu" */
    lz_unary_op *activation_op; /* any other; NULL: the one above */
    bool batch_first;           /* [batch, length, width] instead of [length, batch, width] */
    bool norm_first;            /* norms before attention and feed-forward parts, not behind the sums */
    bool bias;                  /* of all linear layers and norms */
    bool norm;                  /* encoder and decoder: a layer norm of the result, "norm" */
} lz_transformer_options;

#define LZ_TRANSFORMER_DEFAULTS_                                                                             \
    .dim_feedforward = 2048, .dropout = 0.1, .layer_norm_eps = 1e-5, .activation = "relu", .bias = true

/* One layer: self_attn, linear1, linear2, norm1, norm2; a decoder's: also multihead_attn, norm3. */
#define lz_nn_transformer_encoder_layer(parent, name, width, ...)                                            \
    LZ_NN_TRANSFORMER_LAYER_(false, parent, name, width, __VA_ARGS__)
#define lz_nn_transformer_decoder_layer(parent, name, width, ...)                                            \
    LZ_NN_TRANSFORMER_LAYER_(true, parent, name, width, __VA_ARGS__)
#define LZ_NN_TRANSFORMER_LAYER_(decoder, parent, name, width, ...)                                          \
    LZ_CALL(lz_nn_transformer_layer_at(                                                                      \
        (parent), LZ_HERE, (name), (decoder), (width), LZ_LAST(__VA_ARGS__),                                 \
        &(const lz_transformer_options){ LZ_TRANSFORMER_DEFAULTS_, LZ_KEYWORDS(__VA_ARGS__) }))
LZ_API lz_module *lz_nn_transformer_layer_at(lz_module *parent, lz_loc at, const char *name, bool decoder,
                                             int64_t width, int64_t heads,
                                             const lz_transformer_options *options);

/* layers.0, layers.1, ..., which begin with equal weights, and norm, if wanted */
#define lz_nn_transformer_encoder(parent, name, width, heads, ...)                                           \
    LZ_NN_TRANSFORMER_STACK_(false, parent, name, width, heads, __VA_ARGS__)
#define lz_nn_transformer_decoder(parent, name, width, heads, ...)                                           \
    LZ_NN_TRANSFORMER_STACK_(true, parent, name, width, heads, __VA_ARGS__)
#define LZ_NN_TRANSFORMER_STACK_(decoder, parent, name, width, heads, ...)                                   \
    LZ_CALL(lz_nn_transformer_stack_at(                                                                      \
        (parent), LZ_HERE, (name), (decoder), (width), (heads), LZ_LAST(__VA_ARGS__),                        \
        &(const lz_transformer_options){ LZ_TRANSFORMER_DEFAULTS_, LZ_KEYWORDS(__VA_ARGS__) }))
LZ_API lz_module *lz_nn_transformer_stack_at(lz_module *parent, lz_loc at, const char *name, bool decoder,
                                             int64_t width, int64_t heads, int64_t layers,
                                             const lz_transformer_options *options);

/* encoder and decoder, with norms; matrices begin as lz_init_xavier_uniform makes them:
 * lz_nn_transformer(m, "t", 512, 8, 6, 6) */
#define lz_nn_transformer(parent, name, width, heads, encoder_layers, ...)                                   \
    LZ_CALL(lz_nn_transformer_at((parent), LZ_HERE, (name), (width), (heads), (encoder_layers),              \
                                 LZ_LAST(__VA_ARGS__),                                                       \
                                 &(const lz_transformer_options){ LZ_TRANSFORMER_DEFAULTS_, .norm = true,    \
                                                                  LZ_KEYWORDS(__VA_ARGS__) }))
LZ_API lz_module *lz_nn_transformer_at(lz_module *parent, lz_loc at, const char *name, int64_t width,
                                       int64_t heads, int64_t encoder_layers, int64_t decoder_layers,
                                       const lz_transformer_options *options);

/* Masks as those of lz_attend. */
typedef struct lz_encode_args {
    lz_tensor *mask, *key_padding_mask; /* PyTorch's src_mask, src_key_padding_mask */
    bool is_causal;
} lz_encode_args;

/* An encoder or one of its layers. lz_forward is this without masks. */
#define lz_encode(m, ...)                                                                                    \
    LZ_CALL(lz_encode_at((m), LZ_HERE, LZ_LAST(__VA_ARGS__),                                                 \
                         &(const lz_encode_args){ .mask = NULL, LZ_KEYWORDS(__VA_ARGS__) }))
LZ_API lz_tensor *lz_encode_at(lz_module *m, lz_loc at, lz_tensor *src, const lz_encode_args *args);

typedef struct lz_decode_args {
    lz_tensor *tgt_mask, *tgt_key_padding_mask, *memory_mask, *memory_key_padding_mask;
    bool tgt_is_causal, memory_is_causal;
} lz_decode_args;

/* A decoder or one of its layers. */
#define lz_decode(m, tgt, ...)                                                                               \
    LZ_CALL(lz_decode_at((m), LZ_HERE, (tgt), LZ_LAST(__VA_ARGS__),                                          \
                         &(const lz_decode_args){ .tgt_mask = NULL, LZ_KEYWORDS(__VA_ARGS__) }))
LZ_API lz_tensor *lz_decode_at(lz_module *m, lz_loc at, lz_tensor *tgt, lz_tensor *memory,
                               const lz_decode_args *args);

typedef struct lz_transform_args {
    lz_encode_args src;
    lz_decode_args tgt;
} lz_transform_args;

/* lz_run_transformer(m, src, tgt, .src = { .key_padding_mask = pad }, .tgt = { .tgt_is_causal = true }) */
#define lz_run_transformer(m, src_, ...)                                                                     \
    LZ_CALL(lz_run_transformer_at((m), LZ_HERE, (src_), LZ_LAST(__VA_ARGS__),                                \
                                  &(const lz_transform_args){ .src.mask = NULL, LZ_KEYWORDS(__VA_ARGS__) }))
LZ_API lz_tensor *lz_run_transformer_at(lz_module *m, lz_loc at, lz_tensor *src, lz_tensor *tgt,
                                        const lz_transform_args *args);

#ifdef __cplusplus
}
#endif
#endif
