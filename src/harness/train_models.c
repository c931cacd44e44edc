#include "harness/train_models.h"
#include "base/mem.h"

/* ---- data ---- */

/* Integers from 0 to end - 1, the same in every run. */
static lz_err *numbers(const lz_training *t, lz_ints sizes, int64_t end, lz_tensor **out)
{
    int64_t n = 1;
    for (int64_t i = 0; i < sizes.n; i++)
        n *= sizes.v[i];
    int64_t *v = lz_mem_zalloc((size_t)n, sizeof *v);
    if (!v)
        return lz_err_oom();
    for (int64_t i = 0; i < n; i++)
        v[i] = (i * 7919 + i / 13) % end;
    *out = lz_retain(lz_from_memory(t->c, LZ_I64, sizes, v));
    lz_mem_free(v);
    return lz_bench_check(t->b);
}

static lz_err *elements(const lz_training *t, lz_ints sizes, lz_tensor **out)
{
    lz_tensor *x;
    LZ_TRY(lz_bench_input(t->b, sizes, &x, NULL));
    *out = lz_retain(x);
    return NULL;
}

/* ---- MLP: 784-512-512-10 ---- */

enum { WIDE = 784, HIDDEN = 512, CLASSES = 10 };

static lz_err *make_mlp(lz_training *t)
{
    lz_module *s = lz_nn_sequential(t->m, "net");
    lz_nn_linear(s, NULL, WIDE, HIDDEN);
    lz_nn_op(s, NULL, lz_relu_at);
    lz_nn_linear(s, NULL, HIDDEN, HIDDEN);
    lz_nn_op(s, NULL, lz_relu_at);
    lz_nn_linear(s, NULL, HIDDEN, CLASSES);
    t->opt = lz_sgd(t->m, .lr = 0.01);
    return lz_bench_check(t->b);
}

static lz_err *mlp_data(lz_training *t)
{
    LZ_TRY(elements(t, LZ_DIMS(t->batch, WIDE), &t->x));
    return numbers(t, LZ_DIMS(t->batch), CLASSES, &t->y);
}

static lz_tensor *classify(const lz_training *t)
{
    return lz_forward(lz_module_find(t->m, "net"), t->x);
}

static lz_tensor *class_loss(const lz_training *t, lz_tensor *z)
{
    return lz_cross_entropy_loss(t->c, z, t->y);
}

const lz_training_model lz_training_mlp = { "mlp", 64, 0, make_mlp, mlp_data, classify, class_loss };

/* ---- LeNet: 5 x 5 windows, 1-32-64 channels, 1024-128-10 ---- */

enum { IMAGE = 28, WINDOW = 5, FIRST = 32, SECOND = 64, FLAT = 1024, DENSE = 128 };

static lz_err *make_lenet(lz_training *t)
{
    lz_module *s = lz_nn_sequential(t->m, "net");
    lz_nn_conv2d(s, NULL, 1, FIRST, WINDOW);
    lz_nn_op(s, NULL, lz_relu_at);
    lz_nn_max_pool2d(s, NULL, 2);
    lz_nn_conv2d(s, NULL, FIRST, SECOND, WINDOW);
    lz_nn_op(s, NULL, lz_relu_at);
    lz_nn_max_pool2d(s, NULL, 2);
    lz_nn_flatten(s, NULL);
    lz_nn_linear(s, NULL, FLAT, DENSE);
    lz_nn_op(s, NULL, lz_relu_at);
    lz_nn_linear(s, NULL, DENSE, CLASSES);
    t->opt = lz_sgd(t->m, .lr = 0.01);
    return lz_bench_check(t->b);
}

static lz_err *lenet_data(lz_training *t)
{
    LZ_TRY(elements(t, LZ_DIMS(t->batch, 1, IMAGE, IMAGE), &t->x));
    return numbers(t, LZ_DIMS(t->batch), CLASSES, &t->y);
}

const lz_training_model lz_training_lenet = { "lenet", 64, 0, make_lenet, lenet_data, classify, class_loss };

/* ---- GPT: 4 layers, width 256, 4 heads, 96 characters ---- */

enum { LAYERS = 4, HEADS = 4, CHARS = 96 };

static const int64_t width = 256;

static void make_block(lz_module *parent)
{
    lz_module *b = lz_nn_module(parent, NULL);
    lz_nn_layer_norm(b, "ln1", LZ_DIMS(width));
    lz_nn_linear(b, "qkv", width, 3 * width);
    lz_nn_linear(b, "proj", width, width);
    lz_nn_layer_norm(b, "ln2", LZ_DIMS(width));
    lz_nn_linear(b, "fc", width, 4 * width);
    lz_nn_linear(b, "fc2", 4 * width, width);
}

static lz_err *make_gpt(lz_training *t)
{
    lz_nn_embedding(t->m, "wte", CHARS, width);
    lz_tensor *wpe = lz_init_normal(t->c, lz_zeros(t->c, LZ_DIMS(t->length, width)), 0, 0.02);
    lz_module_add_param(t->m, "wpe", wpe);
    lz_module *blocks = lz_nn_module(t->m, "blocks");
    for (int i = 0; i < LAYERS; i++)
        make_block(blocks);
    lz_nn_layer_norm(t->m, "lnf", LZ_DIMS(width));
    lz_nn_linear(t->m, "head", width, CHARS, .bias = false);
    t->opt = lz_adam(t->m, .lr = 3e-4);
    return lz_bench_check(t->b);
}

static lz_err *gpt_data(lz_training *t)
{
    LZ_TRY(numbers(t, LZ_DIMS(t->batch, t->length), CHARS, &t->x));
    return numbers(t, LZ_DIMS(t->batch, t->length), CHARS, &t->y);
}

/* Query, key or value: [batch, heads, length, size of a head]. */
static lz_tensor *part(const lz_training *t, lz_tensor *qkv, int64_t i)
{
    lz_tensor *x = lz_slice_Tensor(t->c, qkv, .dim = 2, .start = lz_some_int(i * width),
                                   .end = lz_some_int((i + 1) * width));
    x = lz_view(t->c, x, LZ_DIMS(t->batch, t->length, HEADS, width / HEADS));
    return lz_transpose_int(t->c, x, 1, 2);
}

static lz_tensor *attend(const lz_training *t, lz_tensor *qkv)
{
    lz_tensor *o = lz_scaled_dot_product_attention(t->c, part(t, qkv, 0), part(t, qkv, 1), part(t, qkv, 2),
                                                   .is_causal = true);
    return lz_reshape(t->c, lz_transpose_int(t->c, o, 1, 2), LZ_DIMS(t->batch, t->length, width));
}

static lz_tensor *run_block(const lz_training *t, lz_module *b, lz_tensor *h)
{
    lz_tensor *x = lz_forward(lz_module_find(b, "ln1"), h);
    x = attend(t, lz_forward(lz_module_find(b, "qkv"), x));
    h = lz_add_Tensor(t->c, h, lz_forward(lz_module_find(b, "proj"), x));
    x = lz_forward(lz_module_find(b, "fc"), lz_forward(lz_module_find(b, "ln2"), h));
    x = lz_forward(lz_module_find(b, "fc2"), lz_gelu(t->c, x));
    return lz_add_Tensor(t->c, h, x);
}

/* The learned positions of a text. */
static lz_tensor *positions(const lz_training *t)
{
    lz_tensor *wpe = lz_module_get(t->m, "wpe");
    if (t->length == lz_tensor_sizes(wpe).v[0])
        return wpe;
    return lz_slice_Tensor(t->c, wpe, .end = lz_some_int(t->length));
}

static lz_tensor *predict(const lz_training *t)
{
    static const char *const blocks[LAYERS] = { "blocks.0", "blocks.1", "blocks.2", "blocks.3" };
    lz_tensor *h = lz_forward(lz_module_find(t->m, "wte"), t->x);
    h = lz_add_Tensor(t->c, h, positions(t));
    for (int i = 0; i < LAYERS; i++)
        h = run_block(t, lz_module_find(t->m, blocks[i]), h);
    return lz_forward(lz_module_find(t->m, "head"), lz_forward(lz_module_find(t->m, "lnf"), h));
}

static lz_tensor *text_loss(const lz_training *t, lz_tensor *h)
{
    int64_t rows = t->batch * t->length;
    h = lz_reshape(t->c, h, LZ_DIMS(rows, CHARS));
    return lz_cross_entropy_loss(t->c, h, lz_reshape(t->c, t->y, LZ_DIMS(rows)));
}

const lz_training_model lz_training_gpt = { "gpt", 8, LZ_GPT_LENGTH, make_gpt, gpt_data, predict, text_loss };
const lz_training_model lz_training_gpt_long = { "gpt_long", 1,       LZ_GPT_LONG, make_gpt,
                                                 gpt_data,   predict, text_loss };

/* ---- recurrent layers: 128 inputs, width 256, 16 sequences; the batch of the training is their length ----
 */

enum { SEQUENCES = 16, INPUTS = 128 };

static lz_err *make_recurrent(lz_training *t, lz_rnn_kind kind)
{
    lz_nn_recurrent(t->m, "net", kind, INPUTS, width);
    t->opt = lz_sgd(t->m, .lr = 0.01);
    return lz_bench_check(t->b);
}

static lz_err *make_lstm(lz_training *t)
{
    return make_recurrent(t, LZ_RNN_LSTM);
}

static lz_err *make_gru(lz_training *t)
{
    return make_recurrent(t, LZ_RNN_GRU);
}

static lz_err *sequences(lz_training *t)
{
    return elements(t, LZ_DIMS(t->batch, SEQUENCES, INPUTS), &t->x);
}

static lz_tensor *mean_square(const lz_training *t, lz_tensor *h)
{
    return lz_mean(t->c, lz_mul_Tensor(t->c, h, h));
}

const lz_training_model lz_training_lstm = { "lstm", 16, 0, make_lstm, sequences, classify, mean_square };
const lz_training_model lz_training_gru = { "gru", 16, 0, make_gru, sequences, classify, mean_square };

/* ---- use ---- */

static void drop_data(lz_training *t)
{
    lz_release(t->x);
    lz_release(t->y);
    t->x = t->y = NULL;
}

lz_err *lz_training_init(lz_training *t, const lz_bench *b, const lz_training_model *m, int64_t batch,
                         int64_t most)
{
    *t = (lz_training){ .model = m, .b = b, .c = b->c, .batch = batch ? batch : m->batch };
    t->length = most;
    t->m = lz_module_create(b->c);
    return t->m ? m->make(t) : lz_err_oom();
}

void lz_training_deinit(lz_training *t)
{
    drop_data(t);
    lz_optim_free(t->opt);
    lz_module_free(t->m);
}

lz_err *lz_training_set_data(lz_training *t, int64_t batch, int64_t length)
{
    drop_data(t);
    t->batch = batch;
    t->length = length;
    lz_scope *s = lz_scope_push(t->c);
    lz_err *e = t->model->data(t);
    lz_scope_pop(s);
    return e;
}

lz_err *lz_training_step(lz_training *t)
{
    double rate = lz_optim_lr(t->opt);
    lz_scope *s = lz_scope_push(t->c);
    lz_tensor *loss = lz_retain(t->model->loss(t, t->model->output(t)));
    lz_backward(t->c, loss);
    lz_optim_step(t->opt);
    lz_scope_pop(s);
    lz_mark_step(t->c);
    lz_item(loss);
    lz_release(loss);
    lz_optim_set_lr(t->opt, rate * 0.9999); /* a changed learning rate compiles nothing */
    return lz_bench_check(t->b);
}

lz_err *lz_training_forward(lz_training *t)
{
    lz_tensor *y = NULL;
    lz_scope *s = lz_scope_push(t->c);
    LZ_NO_GRAD(t->c) y = lz_retain(t->model->output(t));
    lz_scope_pop(s);
    lz_err *e = lz_bench_finish(t->b, y);
    lz_release(y);
    return e;
}
