/* Recurrent layers: RNN, LSTM and GRU along sequences, padded or packed. */
#include "nn/module.h"
#include <math.h>
#include <stdio.h>

/* The number that lz__recurrent has for a cell; parts as wide as the state. */
static const struct {
    int cell, gates, states;
} cells[] = { [LZ_RNN_TANH] = { 0, 1, 1 },
              [LZ_RNN_RELU] = { 1, 1, 1 },
              [LZ_RNN_LSTM] = { 2, 4, 2 },
              [LZ_RNN_GRU] = { 3, 3, 1 } };

enum { KINDS = sizeof cells / sizeof *cells };

typedef struct recurrent {
    lz_rnn_kind kind;
    int64_t in, width;
    lz_rnn_options o;
    lz_module_slot **weights; /* in PyTorch's order */
    lz_tensor **tensors;      /* room for a call */
    size_t count;
} recurrent;

static int ways_of(const recurrent *o)
{
    return o->o.bidirectional ? 2 : 1;
}

/* ---- weights ---- */

static lz_err *check(const recurrent *o)
{
    if (o->in < 1 || o->width < 1)
        return lz_errf(LZ_ERR_ARG, "input_size and hidden_size must be greater than zero");
    if (o->o.layers < 1 || o->o.layers > 1024)
        return lz_errf(LZ_ERR_ARG, "num_layers must be greater than zero, and at most 1024");
    if (!(o->o.dropout >= 0 && o->o.dropout <= 1))
        return lz_errf(LZ_ERR_ARG, "dropout is a probability between 0 and 1");
    if (o->o.proj_size != 0 && o->kind != LZ_RNN_LSTM)
        return lz_errf(LZ_ERR_ARG, "proj_size argument is only supported for LSTM, not RNN or GRU");
    if (o->o.proj_size < 0 || o->o.proj_size >= o->width)
        return lz_errf(LZ_ERR_ARG,
                       "proj_size has to be a positive integer, smaller than hidden_size, or zero");
    return NULL;
}

/* The width of the first state and of the output. */
static int64_t out_width(const recurrent *o)
{
    return o->o.proj_size ? o->o.proj_size : o->width;
}

enum { INPUT, STATE, INPUT_BIAS, STATE_BIAS, PROJECTION, PARTS };

/* weight_ih_l0_reverse and so on. */
static lz_err *add_weight(lz_module *m, int64_t layer, int way, int part)
{
    static const char *const names[] = { "weight_ih", "weight_hh", "bias_ih", "bias_hh", "weight_hr" };
    recurrent *o = m->data;
    char name[64];
    int64_t gates = cells[o->kind].gates * o->width;
    int64_t in = layer ? ways_of(o) * out_width(o) : o->in;
    const int64_t sizes[PARTS][2] = { [INPUT] = { gates, in },
                                      [STATE] = { gates, out_width(o) },
                                      [INPUT_BIAS] = { gates },
                                      [STATE_BIAS] = { gates },
                                      [PROJECTION] = { o->o.proj_size, o->width } };
    bool is_bias = part == INPUT_BIAS || part == STATE_BIAS;
    snprintf(name, sizeof name, "%s_l%lld%s", names[part], (long long)layer, way ? "_reverse" : "");
    lz_tensor *t =
        lz_weight_uniform(m, (lz_ints){ sizes[part], is_bias ? 1 : 2 }, 1 / sqrt((double)o->width));
    return lz_module_slot_add(m, name, LZ_SLOT_PARAM, t, &o->weights[o->count++]);
}

static bool has_part(const recurrent *o, int part)
{
    return part == PROJECTION ? o->o.proj_size > 0 : part < INPUT_BIAS || o->o.bias;
}

static lz_err *build(lz_module *m)
{
    recurrent *o = m->data;
    LZ_TRY(check(o));
    size_t most = (size_t)o->o.layers * (size_t)ways_of(o) * PARTS;
    LZ_TRY(lz_arena_new(&m->tree->arena, &o->weights, most));
    LZ_TRY(lz_arena_new(&m->tree->arena, &o->tensors, most));
    for (int64_t layer = 0; layer < o->o.layers; layer++)
        for (int way = 0; way < ways_of(o); way++)
            for (int part = 0; part < PARTS; part++)
                if (has_part(o, part))
                    LZ_TRY(add_weight(m, layer, way, part));
    return NULL;
}

/* ---- calls ---- */

static lz_tensors weights_of(const recurrent *o)
{
    for (size_t i = 0; i < o->count; i++)
        o->tensors[i] = o->weights[i]->tensor;
    return (lz_tensors){ o->tensors, (int64_t)o->count };
}

/* What the call gives, or zeros: [layers and directions, batch, width] each. */
static lz_tensors first_states(lz_module *m, lz_tensor *x, const lz_rnn_args *args, int64_t batch,
                               bool single, lz_tensor *room[2])
{
    const lz_loc at = m->at;
    const recurrent *o = m->data;
    lz_tensor *const given[2] = { args->h, args->c };
    const int64_t widths[] = { out_width(o), o->width };
    int n = cells[o->kind].states == 2 ? 2 : 1;
    for (int i = 0; i < n; i++) {
        room[i] = given[i] ? given[i]
                           : lz_zeros(m->ctx, LZ_INTS(o->o.layers * ways_of(o), batch, widths[i]),
                                      .dtype = lz_tensor_dtype(x));
        if (given[i] && single)
            room[i] = lz_unsqueeze(m->ctx, given[i], 1);
    }
    return (lz_tensors){ room, n };
}

static void give_states(lz_module *m, lz_tensor *h, lz_tensor *c, const lz_rnn_args *args, bool single)
{
    const lz_loc at = m->at;
    if (args->h_n)
        *args->h_n = single ? lz_squeeze_dim(m->ctx, h, 1) : h;
    if (args->c_n)
        *args->c_n = single ? lz_squeeze_dim(m->ctx, c, 1) : c;
}

static lz_tensor *run_packed(lz_module *m, lz_tensor *x, const lz_rnn_args *args)
{
    const lz_loc at = m->at;
    const recurrent *o = m->data;
    lz_tensor *room[2];
    int64_t batch = args->h ? lz_tensor_sizes(args->h).v[1] : args->batch;
    lz__recurrent_result r = lz__recurrent(
        m->ctx, x, args->batch_sizes, first_states(m, x, args, batch, false, room), weights_of(o), o->o.bias,
        o->o.layers, o->o.dropout, m->training, o->o.bidirectional, cells[o->kind].cell);
    give_states(m, r.out1, r.out2, args, false);
    return r.out0;
}

static lz_tensor *run_padded(lz_module *m, lz_tensor *x, const lz_rnn_args *args)
{
    const lz_loc at = m->at;
    const recurrent *o = m->data;
    lz_tensor *room[2];
    bool single = lz_tensor_ndim(x) == 2, first = o->o.batch_first && !single;
    x = single ? lz_unsqueeze(m->ctx, x, 1) : x;
    if (lz_tensor_is_inert(x))
        return x;
    lz_tensors states = first_states(m, x, args, lz_tensor_sizes(x).v[first ? 0 : 1], single, room);
    lz__recurrent_dense_result r =
        lz__recurrent_dense(m->ctx, x, states, weights_of(o), o->o.bias, o->o.layers, o->o.dropout,
                            m->training, o->o.bidirectional, first, cells[o->kind].cell);
    give_states(m, r.out1, r.out2, args, single);
    return single ? lz_squeeze_dim(m->ctx, r.out0, 1) : r.out0;
}

static lz_tensor *forward(lz_module *m, lz_tensor *x);
static const lz_layer layers[KINDS] = {
    [LZ_RNN_TANH] = { { "RNN", forward, NULL }, build },
    [LZ_RNN_RELU] = { { "RNN", forward, NULL }, build },
    [LZ_RNN_LSTM] = { { "LSTM", forward, NULL }, build },
    [LZ_RNN_GRU] = { { "GRU", forward, NULL }, build },
};

static lz_err *check_call(const lz_module *m, const lz_tensor *x, const lz_rnn_args *args)
{
    const recurrent *o = NULL;
    for (int i = 0; i < KINDS; i++)
        o = m->cls == &layers[i].cls ? m->data : o;
    if (!o)
        return lz_errf(LZ_ERR_ARG, "lz_run_rnn: '%s' is not a recurrent layer", m->path);
    if (!x || lz_tensor_is_inert(x))
        return lz_errf(LZ_ERR_ARG, "lz_run_rnn: the input must not be NULL or inert");
    if ((args->h && lz_tensor_is_inert(args->h)) || (args->c && lz_tensor_is_inert(args->c)))
        return lz_errf(LZ_ERR_ARG, "lz_run_rnn: a state must not be inert");
    if ((args->c || args->c_n) && o->kind != LZ_RNN_LSTM)
        return lz_errf(LZ_ERR_ARG, "lz_run_rnn: only an LSTM has a second state");
    if (args->batch_sizes)
        return !args->h || lz_tensor_ndim(args->h) == 3
                   ? NULL
                   : lz_err_because(LZ_REASON_SHAPE,
                                    "lz_run_rnn: states of packed sequences have 3 dimensions");
    if (lz_tensor_ndim(x) != 2 && lz_tensor_ndim(x) != 3)
        return lz_err_because(LZ_REASON_SHAPE, "RNN: Expected input to be 2D or 3D, got %dD instead",
                              (int)lz_tensor_ndim(x));
    return NULL;
}

lz_tensor *lz_run_rnn_at(lz_module *m, lz_loc at, lz_tensor *x, const lz_rnn_args *args)
{
    if (!m)
        return NULL;
    m->at = at;
    if (args->h_n)
        *args->h_n = NULL;
    if (args->c_n)
        *args->c_n = NULL;
    lz_err *e = check_call(m, x, args);
    if (e)
        return lz_refuse(m->ctx, at, e);
    return args->batch_sizes ? run_packed(m, x, args) : run_padded(m, x, args);
}

static lz_tensor *forward(lz_module *m, lz_tensor *x)
{
    return lz_run_rnn_at(m, m->at, x, &(const lz_rnn_args){ .h = NULL });
}

lz_module *lz_nn_recurrent_at(lz_module *parent, lz_loc at, const char *name, lz_rnn_kind kind, int64_t in,
                              int64_t width, const lz_rnn_options *options)
{
    bool known = (unsigned)kind < KINDS;
    recurrent o = { .kind = known ? kind : LZ_RNN_TANH, .in = known ? in : 0, .width = width, .o = *options };
    return lz_layer_make(parent, at, name, &layers[o.kind], &o, sizeof o);
}
