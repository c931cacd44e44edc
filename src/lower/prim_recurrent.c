/* A recurrent cell along a sequence: one kernel call, however long the sequence is. */
#include "core/recurrent_cell.h"
#include "lower/prim_impl.h"

typedef struct sequence {
    lz_cell_size size;
    int64_t params[2]; /* cell, reverse */
    int64_t rows, batch, width;
} sequence;

/* values: cell, reverse; data of `ndim` dimensions, the rows in dimension `dim`; state [states, batch,
 * width]. */
static lz_err *read_sequence(const lz_low_value *values, const lz_low_node *data, int ndim, int dim,
                             const lz_low_node *state, sequence *s)
{
    bool reverse;
    LZ_TRY(lz_low_value_get_int(&values[0], &s->params[0]));
    LZ_TRY(lz_low_value_get_bool(&values[1], &reverse));
    s->params[1] = reverse;
    if (s->params[0] < 0 || s->params[0] >= LZ_CELLS)
        return lz_errf(LZ_ERR_ARG, "no recurrent cell has the number %lld", (long long)s->params[0]);
    s->size = lz_cell_size_of((lz_cell_kind)s->params[0]);
    if (data->ndim != ndim || state->ndim != 3 || state->sizes[0] != s->size.states)
        return lz_err_because(LZ_REASON_SHAPE, "a recurrent cell needs rows of data and %d states",
                              s->size.states);
    s->rows = data->sizes[dim];
    s->batch = state->sizes[1];
    s->width = state->sizes[2];
    return NULL;
}

static lz_err *check_operands(const lz_low_node *const *in, const int64_t (*sizes)[3], size_t n)
{
    for (size_t i = 0; i < n; i++)
        for (int d = 0; d < in[i]->ndim; d++)
            if (in[i]->sizes[d] != sizes[i][d])
                return lz_err_because(
                    LZ_REASON_SHAPE, "operand %d of a recurrent cell has size %lld in dimension %d, not %lld",
                    (int)i, (long long)in[i]->sizes[d], d, (long long)sizes[i][d]);
    return NULL;
}

/* The next part of the result, of these sizes; *at moves on. */
static lz_err *take(lz_lower *b, const lz_low_node *x, int64_t *at, lz_ints sizes, const lz_low_node **out)
{
    int64_t n;
    LZ_TRY(lz_shape_numel(sizes, &n));
    LZ_TRY(lz_low_slice(b, x, 0, *at, 1, n, out));
    *at += n;
    return lz_low_reshape(b, *out, sizes, out);
}

/* All parts of the result in one row of numbers; without elements where the state has none. */
static lz_err *call(lz_lower *b, lz_low_call_op op, const sequence *s, const lz_low_node *const *in, size_t n,
                    int64_t parts, const lz_low_node **out)
{
    int64_t per, states, numel, rows;
    lz_dtype d = (lz_dtype)in[0]->dtype;
    LZ_TRY(lz_shape_numel(LZ_INTS(parts, s->rows, s->width), &rows));
    LZ_TRY(lz_shape_numel(LZ_INTS(s->size.states, s->batch, s->width), &states));
    LZ_TRY(lz_shape_numel(LZ_INTS(s->size.gates, s->batch, s->width), &per));
    if (__builtin_add_overflow(rows, states, &numel))
        return lz_errf(LZ_ERR_ARG, "a sequence of %lld rows is too long", (long long)s->rows);
    if (!numel)
        return lz_prim_full(b, 0, d, LZ_INTS(0), out);
    return lz_low_kernel(b, op, in, n, d, LZ_INTS(numel), s->params, 2, out);
}

/* args: gates, w_hh, b_hh, hx, batch_sizes, cell, reverse. Results: the output, the states, all that is
 * saved. */
lz_err *lz_lower__recurrent_scan(lz_lower *b, const lz_low_value *args, lz_low_value *results)
{
    const lz_low_node *in[5], *all, *out[3];
    sequence s;
    int64_t at = 0;
    for (int i = 0; i < 5; i++)
        in[i] = args[i].node;
    LZ_TRY(read_sequence(&args[5], in[0], 2, 0, in[3], &s));
    const int64_t n = s.size.gates * s.width;
    const int64_t sizes[][3] = { { s.rows, n }, { n, s.width }, { n }, { s.size.states, s.batch, s.width } };
    LZ_TRY(check_operands(in, sizes, 4));
    LZ_TRY(call(b, LZ_CALL_RECUR, &s, in, 5, s.size.saved, &all));
    LZ_TRY(take(b, all, &at, LZ_INTS(s.size.saved, s.rows, s.width), &out[2]));
    LZ_TRY(take(b, all, &at, LZ_INTS(s.size.states, s.batch, s.width), &out[1]));
    at = 0;
    LZ_TRY(take(b, all, &at, LZ_INTS(s.rows, s.width), &out[0]));
    for (int i = 0; i < 3; i++)
        results[i] = lz_prim_tensor(args[0].dtype, out[i]);
    return NULL;
}

/* args: grad_out, grad_state, saved, w_hh, batch_sizes, cell, reverse. Results: gradients of the input's
 * gates, of the state's gates, of hx. */
lz_err *lz_lower__recurrent_scan_backward(lz_lower *b, const lz_low_value *args, lz_low_value *results)
{
    const lz_low_node *in[5], *all, *out[3], *most, *differs;
    sequence s;
    int64_t at = 0;
    for (int i = 0; i < 5; i++)
        in[i] = args[i].node;
    LZ_TRY(read_sequence(&args[5], in[0], 2, 0, in[1], &s));
    const int64_t n = s.size.gates * s.width;
    const int64_t sizes[][3] = { { s.rows, s.width },
                                 { s.size.states, s.batch, s.width },
                                 { s.size.saved, s.rows, s.width },
                                 { n, s.width } };
    LZ_TRY(check_operands(in, sizes, 4));
    LZ_TRY(call(b, LZ_CALL_RECUR_BACKWARD, &s, in, 5, s.size.slopes, &all));
    LZ_TRY(take(b, all, &at, LZ_INTS(s.rows, n), &out[1]));
    out[0] = out[1];
    if (s.size.slopes > s.size.gates) {
        LZ_TRY(take(b, all, &at, LZ_INTS(s.rows, s.width), &differs));
        LZ_TRY(lz_low_slice(b, out[1], 1, 0, 1, n - s.width, &most));
        LZ_TRY(lz_low_cat(b, (const lz_low_node *const[]){ most, differs }, 2, 1, &out[0]));
    }
    LZ_TRY(take(b, all, &at, LZ_INTS(s.size.states, s.batch, s.width), &out[2]));
    for (int i = 0; i < 3; i++)
        results[i] = lz_prim_tensor(args[0].dtype, out[i]);
    return NULL;
}

/* args: v, w_hh, slopes, hx, batch_sizes, cell, reverse. Results: states at and before each row, the states.
 */
lz_err *lz_lower__recurrent_linear(lz_lower *b, const lz_low_value *args, lz_low_value *results)
{
    const lz_low_node *in[5], *all, *out[2];
    sequence s;
    int64_t at = 0;
    for (int i = 0; i < 5; i++)
        in[i] = args[i].node;
    LZ_TRY(read_sequence(&args[5], in[0], 3, 1, in[3], &s));
    const int64_t states = s.size.states, slopes = s.size.gates + states;
    const int64_t sizes[][3] = { { states, s.rows, s.width },
                                 { s.size.gates * s.width, s.width },
                                 { slopes, s.rows, s.width },
                                 { states, s.batch, s.width } };
    LZ_TRY(check_operands(in, sizes, 4));
    LZ_TRY(call(b, LZ_CALL_RECUR_LINEAR, &s, in, 5, 2 * states, &all));
    LZ_TRY(take(b, all, &at, LZ_INTS(2 * states, s.rows, s.width), &out[0]));
    LZ_TRY(take(b, all, &at, LZ_INTS(states, s.batch, s.width), &out[1]));
    for (int i = 0; i < 2; i++)
        results[i] = lz_prim_tensor(args[0].dtype, out[i]);
    return NULL;
}

/* args: grad, grad_state, slopes, w_hh, batch_sizes, local, cell, reverse. Results: gradients of the gates,
 * of v, of hx. */
lz_err *lz_lower__recurrent_linear_backward(lz_lower *b, const lz_low_value *args, lz_low_value *results)
{
    const lz_low_node *in[6], *all, *out[3];
    sequence s;
    int64_t at = 0;
    for (int i = 0; i < 6; i++)
        in[i] = args[i].node;
    LZ_TRY(read_sequence(&args[6], in[0], 3, 1, in[1], &s));
    const int64_t states = s.size.states, gates = s.size.gates;
    const int64_t sizes[][3] = {
        { 2 * states, s.rows, s.width }, { states, s.batch, s.width }, { gates + states, s.rows, s.width },
        { gates * s.width, s.width },    { in[4]->sizes[0] },          { s.rows, gates * s.width }
    };
    LZ_TRY(check_operands(in, sizes, 6));
    LZ_TRY(call(b, LZ_CALL_RECUR_LINEAR_BACKWARD, &s, in, 6, gates + states, &all));
    LZ_TRY(take(b, all, &at, LZ_INTS(s.rows, gates * s.width), &out[0]));
    LZ_TRY(take(b, all, &at, LZ_INTS(states, s.rows, s.width), &out[1]));
    LZ_TRY(take(b, all, &at, LZ_INTS(states, s.batch, s.width), &out[2]));
    for (int i = 0; i < 3; i++)
        results[i] = lz_prim_tensor(args[0].dtype, out[i]);
    return NULL;
}
