/* nn.h - models: trees of modules with named parameters and buffers, layers, initialisers.
 *
 *     lz_module *m = lz_module_create(c);
 *     lz_module *c1 = lz_nn_conv2d(m, "c1", 1, 16, 3, .padding = 1);
 *     lz_tensor *h = lz_relu(c, lz_forward(c1, x));
 *
 * Names, layouts, defaults and numbers are PyTorch's: "c1.weight" is [16, 1, 3, 3]. A child belongs
 * to its parent, and the tree is freed as a whole, before its context is closed. A function that fails
 * leaves its error in the context, as operators do. A layer that cannot be made is inert: it returns inert
 * tensors. */
#ifndef LAZULI_NN_H
#define LAZULI_NN_H

#include <lazuli/autograd.h>
#include <lazuli/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct lz_module lz_module;

typedef lz_tensor *lz_unary_op(lz_ctx *c, lz_loc at, lz_tensor *x); /* lz_relu_at, lz_tanh_at, ... */

/* ---- trees ---- */

/* A root without layers. New children have dtype LZ_F32 and are in training mode. NULL: out of memory. */
LZ_API lz_module *lz_module_create(lz_ctx *c);
LZ_API void lz_module_free(lz_module *root); /* with its children; NULL does nothing */

LZ_API lz_ctx *lz_module_ctx(const lz_module *m);
LZ_API const char *lz_module_path(const lz_module *m); /* from the root: "blocks.0.attn"; the root's is "" */
LZ_API lz_module *lz_module_find(lz_module *m, const char *path); /* "0.attn"; NULL: there is none */
LZ_API lz_module *lz_module_child(const lz_module *m, size_t i);  /* in order; NULL: no such i */
LZ_API bool lz_module_is_inert(const lz_module *m);

/* A child that only holds others: a list of modules, or a dictionary. As with all children: without a name it
 * gets its number, "0", "1", ... */
#define lz_nn_module(parent, name) lz_nn_module_at((parent), LZ_HERE, (name))
LZ_API lz_module *lz_nn_module_at(lz_module *parent, lz_loc at, const char *name);

/* The dtype of layers that are added below m from now on. */
LZ_API void lz_module_set_dtype(lz_module *m, lz_dtype d);
/* Switches m and all modules below between training and evaluation, for dropout and batch normalisation. */
LZ_API void lz_train(lz_module *m, bool on);
LZ_API bool lz_is_training(const lz_module *m);
LZ_API bool lz_module_set_requires_grad(lz_module *m, bool on);

/* Applies a module. Operators in the module are recorded with the source line of this call. */
#define lz_forward(m, x) lz_forward_at((m), LZ_HERE, (x))
LZ_API lz_tensor *lz_forward_at(lz_module *m, lz_loc at, lz_tensor *x);

/* ---- parameters and buffers ---- */

/* Names are relative to m. A tensor with several names is listed once, under the first name. The lists belong
 * to the module and are valid until something is added to the tree. */
LZ_API lz_named_tensors lz_module_params(lz_module *m);
LZ_API lz_named_tensors lz_module_buffers(lz_module *m);
LZ_API lz_tensor *lz_module_param(lz_module *m, size_t i, const char **name); /* NULL: no such i */
LZ_API lz_tensor *lz_module_get(lz_module *m, const char *name); /* parameter or buffer; NULL: none */
LZ_API int64_t lz_module_numel(lz_module *m);                    /* elements of all parameters */
/* Replaces a parameter or buffer by another tensor of the same sizes, e.g. to share one between two
 * layers. */
LZ_API bool lz_module_set(lz_module *m, const char *name, lz_tensor *t);

/* ---- modules of the program ---- */

typedef struct lz_module_class {
    const char *name;
    lz_tensor *(*forward)(lz_module *m, lz_tensor *x); /* NULL: the program calls the children itself */
    void (*drop)(void *data);                          /* when the tree is freed; may be NULL */
} lz_module_class;

/* The class is borrowed; data is dropped also if the module cannot be made. */
#define lz_nn_custom(parent, name, cls, data) lz_nn_custom_at((parent), LZ_HERE, (name), (cls), (data))
LZ_API lz_module *lz_nn_custom_at(lz_module *parent, lz_loc at, const char *name, const lz_module_class *cls,
                                  void *data);
LZ_API void *lz_module_data(const lz_module *m);
/* Retain and return t. A parameter becomes a leaf that requires a gradient. A buffer that is not `saved` is
 * not part of the state. */
LZ_API lz_tensor *lz_module_add_param(lz_module *m, const char *name, lz_tensor *t);
LZ_API lz_tensor *lz_module_add_buffer(lz_module *m, const char *name, lz_tensor *t, bool saved);

/* ---- layers with weights ---- */

/* The functions behind the macros require options, never NULL: the macros set the defaults. */

typedef struct lz_linear_options {
    bool bias;
} lz_linear_options;

/* weight [out, in], bias [out]: lz_nn_linear(m, "f1", 256, 10, .bias = false) */
#define lz_nn_linear(parent, name, in, ...)                                                                  \
    LZ_CALL(lz_nn_linear_at((parent), LZ_HERE, (name), (in), LZ_LAST(__VA_ARGS__),                           \
                            &(const lz_linear_options){ .bias = true, LZ_KEYWORDS(__VA_ARGS__) }))
LZ_API lz_module *lz_nn_linear_at(lz_module *parent, lz_loc at, const char *name, int64_t in, int64_t out,
                                  const lz_linear_options *options);

/* One number for all dimensions, or, in the plural, one for each. */
typedef struct lz_conv_options {
    int64_t stride, padding, dilation, groups, output_padding; /* the last: transposed convolutions only */
    lz_ints kernels, strides, paddings, dilations, output_paddings;
    bool bias;
    bool same;                /* as much padding as keeps the size, without strides */
    const char *padding_mode; /* "zeros", "reflect", "replicate", "circular" */
} lz_conv_options;            /* `same` and padding_mode: not for transposed convolutions */

/* weight [out, in / groups, kernel...]; transposed: [in, out / groups, kernel...] */
#define lz_nn_conv1d(parent, name, in, out, ...)                                                             \
    LZ_NN_CONV(lz_nn_conv_at, parent, name, 1, false, in, out, __VA_ARGS__)
#define lz_nn_conv2d(parent, name, in, out, ...)                                                             \
    LZ_NN_CONV(lz_nn_conv_at, parent, name, 2, false, in, out, __VA_ARGS__)
#define lz_nn_conv3d(parent, name, in, out, ...)                                                             \
    LZ_NN_CONV(lz_nn_conv_at, parent, name, 3, false, in, out, __VA_ARGS__)
#define lz_nn_conv_transpose1d(parent, name, in, out, ...)                                                   \
    LZ_NN_CONV(lz_nn_conv_at, parent, name, 1, true, in, out, __VA_ARGS__)
#define lz_nn_conv_transpose2d(parent, name, in, out, ...)                                                   \
    LZ_NN_CONV(lz_nn_conv_at, parent, name, 2, true, in, out, __VA_ARGS__)
#define lz_nn_conv_transpose3d(parent, name, in, out, ...)                                                   \
    LZ_NN_CONV(lz_nn_conv_at, parent, name, 3, true, in, out, __VA_ARGS__)
#define LZ_NN_CONV(function, parent, name, ndim, transposed, in, out, ...)                                   \
    LZ_CALL(function((parent), LZ_HERE, (name), (ndim), (transposed), (in), (out), LZ_LAST(__VA_ARGS__),     \
                     &(const lz_conv_options){ .stride = 1,                                                  \
                                               .dilation = 1,                                                \
                                               .groups = 1,                                                  \
                                               .bias = true,                                                 \
                                               .padding_mode = "zeros",                                      \
                                               LZ_KEYWORDS(__VA_ARGS__) }))
LZ_API lz_module *lz_nn_conv_at(lz_module *parent, lz_loc at, const char *name, int64_t ndim, bool transposed,
                                int64_t in, int64_t out, int64_t kernel, const lz_conv_options *options);

typedef struct lz_embedding_options {
    lz_opt_int padding_idx; /* this row starts as 0 and gets no gradient; -1: the last */
    lz_opt_float max_norm;  /* rows that are looked up are made this short before, by norm_type */
    double norm_type;
    bool scale_grad_by_freq;
} lz_embedding_options;

/* weight [count, width] */
#define lz_nn_embedding(parent, name, count, ...)                                                            \
    LZ_CALL(lz_nn_embedding_at((parent), LZ_HERE, (name), (count), LZ_LAST(__VA_ARGS__),                     \
                               &(const lz_embedding_options){ .norm_type = 2, LZ_KEYWORDS(__VA_ARGS__) }))
LZ_API lz_module *lz_nn_embedding_at(lz_module *parent, lz_loc at, const char *name, int64_t count,
                                     int64_t width, const lz_embedding_options *options);

typedef struct lz_embedding_bag_options {
    lz_opt_int padding_idx; /* this row starts as 0, does not count and gets no gradient; -1: the last */
    lz_opt_float max_norm;
    double norm_type;
    bool scale_grad_by_freq;
    const char *mode; /* "sum", "mean", "max" */
    bool include_last_offset;
} lz_embedding_bag_options;

/* weight [count, width]; sums, means or maxima of rows */
#define lz_nn_embedding_bag(parent, name, count, ...)                                                        \
    LZ_CALL(lz_nn_embedding_bag_at(                                                                          \
        (parent), LZ_HERE, (name), (count), LZ_LAST(__VA_ARGS__),                                            \
        &(const lz_embedding_bag_options){ .norm_type = 2, .mode = "mean", LZ_KEYWORDS(__VA_ARGS__) }))
LZ_API lz_module *lz_nn_embedding_bag_at(lz_module *parent, lz_loc at, const char *name, int64_t count,
                                         int64_t width, const lz_embedding_bag_options *options);

typedef struct lz_bag_args {
    lz_tensor *offsets;            /* where each bag begins; of x with one dimension only, which needs it */
    lz_tensor *per_sample_weights; /* as x; mode "sum" only */
} lz_bag_args;

/* x: indices, [bags, length], or [indices] with offsets; gives [bags, width]. */
#define lz_run_bag(m, ...)                                                                                   \
    LZ_CALL(lz_run_bag_at((m), LZ_HERE, LZ_LAST(__VA_ARGS__),                                                \
                          &(const lz_bag_args){ .offsets = NULL, LZ_KEYWORDS(__VA_ARGS__) }))
LZ_API lz_tensor *lz_run_bag_at(lz_module *m, lz_loc at, lz_tensor *x, const lz_bag_args *args);

/* weight [out, in1, in2], bias [out]: lz_nn_bilinear(m, "b", 5, 4, 3, .bias = false) */
#define lz_nn_bilinear(parent, name, in1, in2, ...)                                                          \
    LZ_CALL(lz_nn_bilinear_at((parent), LZ_HERE, (name), (in1), (in2), LZ_LAST(__VA_ARGS__),                 \
                              &(const lz_linear_options){ .bias = true, LZ_KEYWORDS(__VA_ARGS__) }))
LZ_API lz_module *lz_nn_bilinear_at(lz_module *parent, lz_loc at, const char *name, int64_t in1, int64_t in2,
                                    int64_t out, const lz_linear_options *options);
#define lz_run_bilinear(m, x1, x2) lz_run_bilinear_at((m), LZ_HERE, (x1), (x2))
LZ_API lz_tensor *lz_run_bilinear_at(lz_module *m, lz_loc at, lz_tensor *x1, lz_tensor *x2);

/* ---- normalisation ---- */

typedef struct lz_batch_norm_options {
    double eps, momentum;     /* momentum: of the running mean and variance */
    bool cumulative;          /* instead of momentum: means of all batches so far, as by PyTorch's None */
    bool affine, bias;        /* affine false: neither weight nor bias */
    bool track_running_stats; /* false: the batch's own numbers, also in evaluation */
} lz_batch_norm_options;

/* weight, bias, running_mean, running_var [channels], num_batches_tracked */
#define lz_nn_batch_norm1d(parent, name, ...) LZ_NN_BATCH_NORM(1, parent, name, __VA_ARGS__)
#define lz_nn_batch_norm2d(parent, name, ...) LZ_NN_BATCH_NORM(2, parent, name, __VA_ARGS__)
#define lz_nn_batch_norm3d(parent, name, ...) LZ_NN_BATCH_NORM(3, parent, name, __VA_ARGS__)
#define LZ_NN_BATCH_NORM(ndim, parent, name, ...)                                                            \
    LZ_CALL(lz_nn_batch_norm_at(                                                                             \
        (parent), LZ_HERE, (name), (ndim), LZ_LAST(__VA_ARGS__),                                             \
        &(const lz_batch_norm_options){                                                                      \
            .momentum = 0.1, .track_running_stats = true, LZ_NORM_DEFAULTS, LZ_KEYWORDS(__VA_ARGS__) }))

/* Each instance and channel by itself; the batch may be missing. By default neither weights nor running
 * statistics. */
#define lz_nn_instance_norm1d(parent, name, ...) LZ_NN_INSTANCE_NORM(1, parent, name, __VA_ARGS__)
#define lz_nn_instance_norm2d(parent, name, ...) LZ_NN_INSTANCE_NORM(2, parent, name, __VA_ARGS__)
#define lz_nn_instance_norm3d(parent, name, ...) LZ_NN_INSTANCE_NORM(3, parent, name, __VA_ARGS__)
#define LZ_NN_INSTANCE_NORM(ndim, parent, name, ...)                                                         \
    LZ_CALL(                                                                                                 \
        lz_nn_instance_norm_at((parent), LZ_HERE, (name), (ndim), LZ_LAST(__VA_ARGS__),                      \
                               &(const lz_instance_norm_options){                                            \
                                   .eps = 1e-5, .momentum = 0.1, .bias = true, LZ_KEYWORDS(__VA_ARGS__) }))
typedef struct lz_instance_norm_options {
    double eps, momentum;
    bool affine, bias; /* bias: with affine only */
    bool track_running_stats;
} lz_instance_norm_options;

typedef struct lz_norm_options {
    double eps;
    bool affine, bias; /* as above */
} lz_norm_options;

/* over the last dimensions: lz_nn_layer_norm(m, "ln", LZ_INTS(64)) */
#define lz_nn_layer_norm(parent, name, ...) LZ_NN_NORM(lz_nn_layer_norm_at, parent, name, __VA_ARGS__)
#define lz_nn_group_norm(parent, name, groups, ...)                                                          \
    LZ_CALL(lz_nn_group_norm_at((parent), LZ_HERE, (name), (groups), LZ_LAST(__VA_ARGS__),                   \
                                &(const lz_norm_options){ LZ_NORM_DEFAULTS, LZ_KEYWORDS(__VA_ARGS__) }))
#define LZ_NORM_DEFAULTS .eps = 1e-5, .affine = true, .bias = true
#define LZ_NN_NORM(function, parent, name, ...)                                                              \
    LZ_CALL(function((parent), LZ_HERE, (name), LZ_LAST(__VA_ARGS__),                                        \
                     &(const lz_norm_options){ LZ_NORM_DEFAULTS, LZ_KEYWORDS(__VA_ARGS__) }))
LZ_API lz_module *lz_nn_batch_norm_at(lz_module *parent, lz_loc at, const char *name, int64_t ndim,
                                      int64_t channels, const lz_batch_norm_options *options);
LZ_API lz_module *lz_nn_instance_norm_at(lz_module *parent, lz_loc at, const char *name, int64_t ndim,
                                         int64_t channels, const lz_instance_norm_options *options);
LZ_API lz_module *lz_nn_layer_norm_at(lz_module *parent, lz_loc at, const char *name, lz_ints shape,
                                      const lz_norm_options *options);
LZ_API lz_module *lz_nn_group_norm_at(lz_module *parent, lz_loc at, const char *name, int64_t groups,
                                      int64_t channels, const lz_norm_options *options);

typedef struct lz_rms_norm_options {
    lz_opt_float eps; /* none: the smallest step from 1, of the input's dtype */
    bool affine;
} lz_rms_norm_options;

/* weight; over the last dimensions, as layer norm */
#define lz_nn_rms_norm(parent, name, ...)                                                                    \
    LZ_CALL(lz_nn_rms_norm_at((parent), LZ_HERE, (name), LZ_LAST(__VA_ARGS__),                               \
                              &(const lz_rms_norm_options){ .affine = true, LZ_KEYWORDS(__VA_ARGS__) }))
LZ_API lz_module *lz_nn_rms_norm_at(lz_module *parent, lz_loc at, const char *name, lz_ints shape,
                                    const lz_rms_norm_options *options);

typedef struct lz_response_norm_options {
    double alpha, beta, k;
} lz_response_norm_options;

/* Divides by (k + alpha * the mean of squares over `size` neighbouring channels)^beta. */
#define lz_nn_local_response_norm(parent, name, ...)                                                         \
    LZ_CALL(lz_nn_local_response_norm_at(                                                                    \
        (parent), LZ_HERE, (name), LZ_LAST(__VA_ARGS__),                                                     \
        &(const lz_response_norm_options){ .alpha = 1e-4, .beta = 0.75, .k = 1, LZ_KEYWORDS(__VA_ARGS__) }))
LZ_API lz_module *lz_nn_local_response_norm_at(lz_module *parent, lz_loc at, const char *name, int64_t size,
                                               const lz_response_norm_options *options);

/* ---- attention; encoders and decoders are in transformer.h ---- */

typedef struct lz_attention_options {
    double dropout; /* of the weights, while training */
    bool bias;
    int64_t kdim, vdim; /* widths of key and value; 0: as the query's */
    bool batch_first;   /* [batch, length, width] instead of [length, batch, width] */
    bool add_bias_kv;   /* appends a learnt key and value */
    bool add_zero_attn; /* appends a key and a value of zeros */
} lz_attention_options;

/* in_proj_weight [3 * width, width], or q_proj_weight, k_proj_weight, v_proj_weight; in_proj_bias;
 * bias_k, bias_v [1, 1, width]; out_proj.weight, out_proj.bias. lz_forward is attention of x to itself,
 * without a mask. */
#define lz_nn_multihead_attention(parent, name, width, ...)                                                  \
    LZ_CALL(lz_nn_multihead_attention_at(                                                                    \
        (parent), LZ_HERE, (name), (width), LZ_LAST(__VA_ARGS__),                                            \
        &(const lz_attention_options){ .bias = true, LZ_KEYWORDS(__VA_ARGS__) }))
LZ_API lz_module *lz_nn_multihead_attention_at(lz_module *parent, lz_loc at, const char *name, int64_t width,
                                               int64_t heads, const lz_attention_options *options);

typedef struct lz_attend_args {
    lz_tensor *attn_mask; /* [length, keys] or [batch * heads, length, keys]; bool: true is masked out */
    lz_tensor *key_padding_mask; /* [batch, keys]; true is masked out */
    bool is_causal;              /* masks out later keys, but no added keys; needs no attn_mask */
    bool each_head;              /* weights are not averaged over heads */
    lz_tensor **weights; /* gets the weights, [batch, (heads,) length, keys], of the scope; may be NULL */
} lz_attend_args;

/* A single sequence is [length, width]; its masks and weights have no batch dimension either. */
#define lz_attend(m, query, key, ...)                                                                        \
    LZ_CALL(lz_attend_at((m), LZ_HERE, (query), (key), LZ_LAST(__VA_ARGS__),                                 \
                         &(const lz_attend_args){ .attn_mask = NULL, LZ_KEYWORDS(__VA_ARGS__) }))
LZ_API lz_tensor *lz_attend_at(lz_module *m, lz_loc at, lz_tensor *query, lz_tensor *key, lz_tensor *value,
                               const lz_attend_args *args);

/* ---- recurrent layers ---- */

typedef enum lz_rnn_kind { LZ_RNN_TANH, LZ_RNN_RELU, LZ_RNN_LSTM, LZ_RNN_GRU } lz_rnn_kind;

typedef struct lz_rnn_options {
    int64_t layers;
    double dropout; /* of the outputs of all layers but the last, while training */
    bool bias, bidirectional;
    bool batch_first;  /* [batch, length, in] instead of [length, batch, in] */
    int64_t proj_size; /* LSTM only: the first state and the output are projections this wide; 0: none */
} lz_rnn_options;

/* weight_ih_l0 [gates * width, in], weight_hh_l0 [gates * width, width or proj_size], bias_ih_l0, bias_hh_l0,
 * with projections weight_hr_l0 [proj_size, width]; then those of "_l0_reverse", "_l1" and so on. lz_forward
 * begins with states of zeros: lz_nn_lstm(m, "rnn", 128, 256,
 * .layers = 2) */
#define lz_nn_recurrent(parent, name, kind, in, ...)                                                         \
    LZ_CALL(                                                                                                 \
        lz_nn_recurrent_at((parent), LZ_HERE, (name), (kind), (in), LZ_LAST(__VA_ARGS__),                    \
                           &(const lz_rnn_options){ .layers = 1, .bias = true, LZ_KEYWORDS(__VA_ARGS__) }))
#define lz_nn_rnn(parent, name, ...)  lz_nn_recurrent(parent, name, LZ_RNN_TANH, __VA_ARGS__)
#define lz_nn_lstm(parent, name, ...) lz_nn_recurrent(parent, name, LZ_RNN_LSTM, __VA_ARGS__)
#define lz_nn_gru(parent, name, ...)  lz_nn_recurrent(parent, name, LZ_RNN_GRU, __VA_ARGS__)
LZ_API lz_module *lz_nn_recurrent_at(lz_module *parent, lz_loc at, const char *name, lz_rnn_kind kind,
                                     int64_t in, int64_t width, const lz_rnn_options *options);

typedef struct lz_rnn_args {
    lz_tensor *h, *c;       /* first states [layers * directions, batch, width], h: or proj_size; NULL: zeros.
                               c: LSTM only */
    lz_tensor **h_n, **c_n; /* get the last states, of the scope; may be NULL */
    lz_tensor *batch_sizes; /* x is packed: the number of sequences at each time (lz__pack_padded_sequence) */
    int64_t batch;          /* of packed sequences without h: the first of batch_sizes */
} lz_rnn_args;

/* x [length, batch, in], [batch, length, in] with batch_first, or [length, in], whose states have no batch
 * dimension either; gives the outputs of the last layer: lz_run_rnn(m, x, .h = h, .h_n = &h) */
#define lz_run_rnn(m, ...)                                                                                   \
    LZ_CALL(lz_run_rnn_at((m), LZ_HERE, LZ_LAST(__VA_ARGS__),                                                \
                          &(const lz_rnn_args){ .h = NULL, LZ_KEYWORDS(__VA_ARGS__) }))
LZ_API lz_tensor *lz_run_rnn_at(lz_module *m, lz_loc at, lz_tensor *x, const lz_rnn_args *args);

typedef struct lz_cell_options {
    bool bias;
} lz_cell_options;

/* One step: weight_ih [gates * width, in], weight_hh [gates * width, width], bias_ih, bias_hh. lz_forward
 * begins with states of zeros. */
#define lz_nn_cell(parent, name, kind, in, ...)                                                              \
    LZ_CALL(lz_nn_cell_at((parent), LZ_HERE, (name), (kind), (in), LZ_LAST(__VA_ARGS__),                     \
                          &(const lz_cell_options){ .bias = true, LZ_KEYWORDS(__VA_ARGS__) }))
#define lz_nn_rnn_cell(parent, name, ...)  lz_nn_cell(parent, name, LZ_RNN_TANH, __VA_ARGS__)
#define lz_nn_lstm_cell(parent, name, ...) lz_nn_cell(parent, name, LZ_RNN_LSTM, __VA_ARGS__)
#define lz_nn_gru_cell(parent, name, ...)  lz_nn_cell(parent, name, LZ_RNN_GRU, __VA_ARGS__)
LZ_API lz_module *lz_nn_cell_at(lz_module *parent, lz_loc at, const char *name, lz_rnn_kind kind, int64_t in,
                                int64_t width, const lz_cell_options *options);

typedef struct lz_cell_args {
    lz_tensor *h, *c; /* states [batch, width] or [width], as x; NULL: zeros. c: LSTM only */
    lz_tensor **c_n;  /* gets the LSTM's second state, of the scope; may be NULL */
} lz_cell_args;

/* x [batch, in] or [in]; gives the new state: h = lz_run_cell(m, x, .h = h) */
#define lz_run_cell(m, ...)                                                                                  \
    LZ_CALL(lz_run_cell_at((m), LZ_HERE, LZ_LAST(__VA_ARGS__),                                               \
                           &(const lz_cell_args){ .h = NULL, LZ_KEYWORDS(__VA_ARGS__) }))
LZ_API lz_tensor *lz_run_cell_at(lz_module *m, lz_loc at, lz_tensor *x, const lz_cell_args *args);

/* ---- sequences of layers, and dropout for its switch; more layers without weights are in layers.h ---- */

/* Its children, one after the other. */
#define lz_nn_sequential(parent, name) lz_nn_sequential_at((parent), LZ_HERE, (name))
LZ_API lz_module *lz_nn_sequential_at(lz_module *parent, lz_loc at, const char *name);

/* Dropout of elements, or of whole channels with one to three spatial dimensions (the batch may be missing,
 * but not in 2d). The alpha forms keep mean and variance behind lz_selu. */
typedef enum lz_dropout_kind {
    LZ_DROPOUT_ELEMENTS,
    LZ_DROPOUT_1D,
    LZ_DROPOUT_2D,
    LZ_DROPOUT_3D,
    LZ_DROPOUT_ALPHA,
    LZ_DROPOUT_FEATURE_ALPHA
} lz_dropout_kind;

#define lz_nn_dropout(parent, name, p)               LZ_NN_DROPOUT(LZ_DROPOUT_ELEMENTS, parent, name, p)
#define lz_nn_dropout1d(parent, name, p)             LZ_NN_DROPOUT(LZ_DROPOUT_1D, parent, name, p)
#define lz_nn_dropout2d(parent, name, p)             LZ_NN_DROPOUT(LZ_DROPOUT_2D, parent, name, p)
#define lz_nn_dropout3d(parent, name, p)             LZ_NN_DROPOUT(LZ_DROPOUT_3D, parent, name, p)
#define lz_nn_alpha_dropout(parent, name, p)         LZ_NN_DROPOUT(LZ_DROPOUT_ALPHA, parent, name, p)
#define lz_nn_feature_alpha_dropout(parent, name, p) LZ_NN_DROPOUT(LZ_DROPOUT_FEATURE_ALPHA, parent, name, p)
#define LZ_NN_DROPOUT(kind, parent, name, p)         lz_nn_dropout_at((parent), LZ_HERE, (name), (kind), (p))
LZ_API lz_module *lz_nn_dropout_at(lz_module *parent, lz_loc at, const char *name, lz_dropout_kind kind,
                                   double p);

/* ---- initialisers: they write to a tensor, without the tape; t is returned ---- */

LZ_API lz_tensor *lz_init_uniform(lz_ctx *c, lz_tensor *t, double low, double high);
LZ_API lz_tensor *lz_init_normal(lz_ctx *c, lz_tensor *t, double mean, double std);
LZ_API lz_tensor *lz_init_trunc_normal(lz_ctx *c, lz_tensor *t, double mean, double std, double low,
                                       double high);
LZ_API lz_tensor *lz_init_constant(lz_ctx *c, lz_tensor *t, double value);
LZ_API lz_tensor *lz_init_zeros(lz_ctx *c, lz_tensor *t);
LZ_API lz_tensor *lz_init_ones(lz_ctx *c, lz_tensor *t);
LZ_API lz_tensor *lz_init_eye(lz_ctx *c, lz_tensor *t);                   /* of a matrix */
LZ_API lz_tensor *lz_init_dirac(lz_ctx *c, lz_tensor *t, int64_t groups); /* a convolution that copies */
LZ_API lz_tensor *lz_init_xavier_uniform(lz_ctx *c, lz_tensor *t, double gain);
LZ_API lz_tensor *lz_init_xavier_normal(lz_ctx *c, lz_tensor *t, double gain);

typedef enum lz_fan { LZ_FAN_IN, LZ_FAN_OUT } lz_fan;
/* gain: lz_init_gain(...) */
LZ_API lz_tensor *lz_init_kaiming_uniform(lz_ctx *c, lz_tensor *t, double gain, lz_fan mode);
LZ_API lz_tensor *lz_init_kaiming_normal(lz_ctx *c, lz_tensor *t, double gain, lz_fan mode);
/* Rows or columns, whichever are fewer, are orthogonal and `gain` long. A sync. */
LZ_API lz_tensor *lz_init_orthogonal(lz_ctx *c, lz_tensor *t, double gain);
/* Sets the fraction `sparsity` of every column of a matrix to 0, the rest to normal random numbers. */
LZ_API lz_tensor *lz_init_sparse(lz_ctx *c, lz_tensor *t, double sparsity, double std);

/* The gain of "linear", "conv2d", "sigmoid", "tanh", "relu", "leaky_relu" (param: the slope) or "selu"; NaN
 * for any other name. */
LZ_API double lz_init_gain(const char *nonlinearity, double param);
/* The numbers of inputs and outputs (fan-in, fan-out) of a weight; false: it has fewer than two
 * dimensions. */
LZ_API bool lz_init_fans(const lz_tensor *t, int64_t *in, int64_t *out);

/* ---- state: what is saved ---- */

/* Names and tensors in order: what files hold. Names are copied, tensors retained. */
typedef struct lz_state lz_state;
LZ_API lz_state *lz_state_create(lz_ctx *c); /* NULL: out of memory */
LZ_API void lz_state_free(lz_state *s);      /* NULL does nothing */
LZ_API bool lz_state_add(lz_state *s, const char *name, lz_tensor *t);
LZ_API lz_named_tensors lz_state_list(const lz_state *s);                  /* until something is added */
LZ_API lz_tensor *lz_find_tensor(lz_named_tensors list, const char *name); /* NULL: none */

/* Adds parameters and saved buffers, as prefix + name. A tensor with several names comes once for each. */
LZ_API bool lz_module_state(lz_module *m, const char *prefix, lz_state *out);
/* Copies the tensors to the module; a sync. Ignores names without the prefix. Names that are missing or
 * unexpected (unless `partial`), or whose sizes differ, are an error that lists them; the module is then
 * unchanged. */
LZ_API bool lz_module_load_state(lz_module *m, const char *prefix, lz_named_tensors from, bool partial);

#ifdef __cplusplus
}
#endif

#include <lazuli/layers.h>
#include <lazuli/losses.h>
#include <lazuli/transformer.h>

#endif
