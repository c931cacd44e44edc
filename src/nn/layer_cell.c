/* Recurrent cells: one step of a recurrent layer. */
#include "nn/module.h"
#include <math.h>

typedef struct cell {
    lz_rnn_kind kind;
    int64_t in, width;
    bool has_bias;
    lz_module_slot *weights[4]; /* of input and state; their biases */
} cell;

static lz_tensor *forward(lz_module *m, lz_tensor *x)
{
    return lz_run_cell_at(m, m->at, x, &(const lz_cell_args){ .h = NULL });
}

static lz_err *build(lz_module *m)
{
    static const char *const names[] = { "weight_ih", "weight_hh", "bias_ih", "bias_hh" };
    static const int gates[] = { [LZ_RNN_TANH] = 1, [LZ_RNN_RELU] = 1, [LZ_RNN_LSTM] = 4, [LZ_RNN_GRU] = 3 };
    cell *o = m->data;
    if ((unsigned)o->kind > LZ_RNN_GRU)
        return lz_errf(LZ_ERR_ARG, "expected an lz_rnn_kind");
    if (o->in < 0 || o->width < 0)
        return lz_errf(LZ_ERR_ARG, "sizes must not be negative");
    double bound = o->width > 0 ? 1 / sqrt((double)o->width) : 0;
    int64_t rows = gates[o->kind] * o->width, columns[] = { o->in, o->width };
    for (int i = 0; i < (o->has_bias ? 4 : 2); i++) {
        lz_ints sizes = i < 2 ? LZ_INTS(rows, columns[i]) : LZ_INTS(rows);
        LZ_TRY(lz_module_slot_add(m, names[i], LZ_SLOT_PARAM, lz_weight_uniform(m, sizes, bound),
                                  &o->weights[i]));
    }
    return NULL;
}

/* A given state as a batch, or zeros. */
static lz_tensor *state_of(lz_module *m, lz_tensor *given, const lz_tensor *x, bool single)
{
    const lz_loc at = m->at;
    const cell *o = m->data;
    if (!given)
        return lz_zeros(m->ctx, LZ_INTS(lz_tensor_sizes(x).v[0], o->width), .dtype = lz_tensor_dtype(x));
    return single ? lz_unsqueeze(m->ctx, given, 0) : given;
}

static lz_tensor *plain_step(lz_module *m, lz_tensor *x, lz_tensor *h)
{
    typedef lz_tensor *step_fn(lz_ctx *, lz_loc, lz_tensor *, lz_tensor *, lz_tensor *, lz_tensor *,
                               const lz_gru_cell_args *);
    static step_fn *const steps[] = { [LZ_RNN_TANH] = lz_rnn_tanh_cell_at,
                                      [LZ_RNN_RELU] = lz_rnn_relu_cell_at,
                                      [LZ_RNN_GRU] = lz_gru_cell_at };
    const cell *o = m->data;
    return steps[o->kind](m->ctx, m->at, x, h, o->weights[0]->tensor, o->weights[1]->tensor,
                          &(lz_gru_cell_args){ .b_ih = lz_module_slot_tensor(o->weights[2]),
                                               .b_hh = lz_module_slot_tensor(o->weights[3]) });
}

static lz_tensor *lstm_step(lz_module *m, lz_tensor *x, lz_tensor *h, lz_tensor *memory, lz_tensor **out)
{
    const lz_loc at = m->at;
    const cell *o = m->data;
    lz_tensor *states[] = { h, memory };
    lz_lstm_cell_result r = lz_lstm_cell(m->ctx, x, ((lz_tensors){ states, 2 }), o->weights[0]->tensor,
                                         o->weights[1]->tensor, .b_ih = lz_module_slot_tensor(o->weights[2]),
                                         .b_hh = lz_module_slot_tensor(o->weights[3]));
    *out = r.out1;
    return r.out0;
}

static lz_tensor *run(lz_module *m, lz_tensor *x, const lz_cell_args *args)
{
    const lz_loc at = m->at;
    const cell *o = m->data;
    bool single = lz_tensor_ndim(x) == 1, is_lstm = o->kind == LZ_RNN_LSTM;
    lz_tensor *memory = NULL;
    x = single ? lz_unsqueeze(m->ctx, x, 0) : x;
    if (lz_tensor_is_inert(x))
        return x;
    lz_tensor *h = state_of(m, args->h, x, single);
    h = is_lstm ? lstm_step(m, x, h, state_of(m, args->c, x, single), &memory) : plain_step(m, x, h);
    if (args->c_n)
        *args->c_n = single ? lz_squeeze_dim(m->ctx, memory, 0) : memory;
    return single ? lz_squeeze_dim(m->ctx, h, 0) : h;
}

static lz_err *check_call(const lz_module *m, const lz_tensor *x, const lz_cell_args *args)
{
    const lz_tensor *const given[] = { x, args->h, args->c };
    if (m->cls->forward != forward)
        return lz_errf(LZ_ERR_ARG, "lz_run_cell: '%s' is not a recurrent cell", m->path);
    if (!x)
        return lz_errf(LZ_ERR_ARG, "lz_run_cell: the input must not be NULL");
    for (int i = 0; i < 3; i++)
        if (given[i] && lz_tensor_is_inert(given[i]))
            return lz_errf(LZ_ERR_ARG, "lz_run_cell: input and states must not be inert");
    if ((args->c || args->c_n) && ((const cell *)m->data)->kind != LZ_RNN_LSTM)
        return lz_errf(LZ_ERR_ARG, "lz_run_cell: only an LSTM has a second state");
    for (int i = 0; i < 3; i++)
        if (given[i]
            && (lz_tensor_ndim(given[i]) != lz_tensor_ndim(x) || lz_tensor_ndim(x) < 1
                || lz_tensor_ndim(x) > 2))
            return lz_err_because(LZ_REASON_SHAPE,
                                  "a recurrent cell expects input and states to be both 1D or both 2D");
    return NULL;
}

lz_tensor *lz_run_cell_at(lz_module *m, lz_loc at, lz_tensor *x, const lz_cell_args *args)
{
    if (!m)
        return NULL;
    m->at = at;
    if (args->c_n)
        *args->c_n = NULL;
    lz_err *e = check_call(m, x, args);
    return e ? lz_refuse(m->ctx, at, e) : run(m, x, args);
}

lz_module *lz_nn_cell_at(lz_module *parent, lz_loc at, const char *name, lz_rnn_kind kind, int64_t in,
                         int64_t width, const lz_cell_options *options)
{
    static const lz_layer layer = { { "Cell", forward, NULL }, build };
    cell o = { .kind = kind, .in = in, .width = width, .has_bias = options->bias };
    return lz_layer_make(parent, at, name, &layer, &o, sizeof o);
}
