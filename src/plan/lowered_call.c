/* The rules of calls of kernels. Kernels take operands of these dtypes and sizes for granted. */
#include "plan/lowered_call.h"
#include "core/distribution.h"
#include "core/dtype.h"
#include "core/matrix_routine.h"
#include "core/recurrent_cell.h"
#include "core/shape.h"
#include "lower/lower_impl.h"
#include <assert.h>

typedef const char *rule_fn(const lz_low_proto *p);

static const int64_t *params_of(const lz_low_proto *p)
{
    return p->attr;
}

static bool like(const lz_low_proto *p, const lz_low_node *x)
{
    return lz_shape_eq(p->sizes, lz_low_node_sizes(x));
}

/* Equal sizes but in the last dimension. */
static bool same_rows(lz_ints x, lz_ints y)
{
    bool same = x.n == y.n && x.n > 0;
    for (int64_t d = 0; same && d < x.n - 1; d++)
        same = x.v[d] == y.v[d];
    return same;
}

static bool one_dtype(const lz_low_proto *p)
{
    return p->in[0]->dtype == p->in[1]->dtype && p->dtype == (lz_dtype)p->in[0]->dtype;
}

static const char *matmul(const lz_low_proto *p)
{
    const lz_low_node *x = p->in[0], *y = p->in[1];
    bool wider = (x->dtype == LZ_BF16 && y->dtype == LZ_BF16 && p->dtype == LZ_F32)
                 || ((x->dtype == LZ_I8 || x->dtype == LZ_U8) && y->dtype == LZ_I8 && p->dtype == LZ_I32);
    if (!(one_dtype(p) || wider) || x->ndim != 3 || y->ndim != 3 || p->sizes.n != 3)
        return "matmul takes two tensors of three dimensions and gives one, all of one dtype, or Float of "
               "BFloat16, or Int of Char";
    bool ok = x->sizes[0] == y->sizes[0] && x->sizes[2] == y->sizes[1] && p->sizes.v[0] == x->sizes[0]
              && p->sizes.v[1] == x->sizes[1] && p->sizes.v[2] == y->sizes[2];
    return ok ? NULL : "matmul takes tensors of the sizes [b, m, k] and [b, k, n] and gives [b, m, n]";
}

/* ---- convolutions ---- */

/* Of one dimension: y is no larger than the windows that lie in x with its padding. */
static bool window_fits(int64_t x, int64_t w, int64_t y, int64_t stride, int64_t padding, int64_t dilation)
{
    int64_t padded, reach;
    if (x < 1 || w < 1 || y < 1 || stride < 1 || padding < 0 || dilation < 1
        || __builtin_mul_overflow(2, padding, &padded) || __builtin_add_overflow(padded, x, &padded)
        || __builtin_mul_overflow(dilation, w - 1, &reach))
        return false;
    return padded > reach && y - 1 <= (padded - reach - 1) / stride;
}

/* y = conv(x, w); params: as of LZ_CALL_CONV. */
static const char *conv_sizes(lz_ints x, lz_ints w, lz_ints y, const int64_t *params)
{
    int64_t d = params[0], groups = params[1 + 3 * d];
    bool ok = groups > 0 && x.v[0] > 0 && x.v[0] == y.v[0] && y.v[1] > 0 && y.v[1] == w.v[0]
              && w.v[0] % groups == 0 && w.v[1] > 0 && x.v[1] % groups == 0 && x.v[1] / groups == w.v[1];
    for (int64_t i = 0; ok && i < d; i++)
        ok = window_fits(x.v[2 + i], w.v[2 + i], y.v[2 + i], params[1 + i], params[1 + d + i],
                         params[1 + 2 * d + i]);
    return ok ? NULL : "the sizes of a convolution do not match its parameters";
}

static const char *conv(const lz_low_proto *p)
{
    const int64_t *params = params_of(p);
    size_t n = p->attr_size / sizeof *params;
    int64_t d = params[0];
    bool ok = one_dtype(p) && d >= 1 && d <= 3 && p->sizes.n == d + 2 && p->in[0]->ndim == d + 2
              && p->in[1]->ndim == d + 2;
    if (!ok)
        return "a convolution takes two tensors of d + 2 dimensions and gives one, all of one dtype";
    if (n < (size_t)(2 + 3 * d))
        return "it needs more parameters";
    lz_ints x = lz_low_node_sizes(p->in[0]), y = lz_low_node_sizes(p->in[1]);
    return p->op == LZ_CALL_CONV         ? conv_sizes(x, y, p->sizes, params)
           : p->op == LZ_CALL_CONV_INPUT ? conv_sizes(p->sizes, y, x, params)
                                         : conv_sizes(y, p->sizes, x, params);
}

/* ---- pooling ---- */

static bool pool_dim_fits(int64_t x, int64_t y, const int64_t *params)
{
    int64_t kernel = params[0], stride = params[2], padding = params[4], dilation = params[6], start;
    bool ok = kernel >= 1 && stride >= 1 && dilation >= 1 && padding >= 0 && padding < kernel
              && (padding == 0 || dilation == 1);
    return ok && y >= 0 && (y == 0 || !__builtin_mul_overflow(y - 1, stride, &start)) /* the last window */
           && (y == 0 || start - padding < x);
}

static const char *pool(const lz_low_proto *p)
{
    const lz_low_node *x = p->in[0];
    lz_dtype result = p->op == LZ_CALL_POOL_AT ? LZ_I64 : (lz_dtype)x->dtype;
    bool ok = (x->dtype == LZ_F32 || x->dtype == LZ_F64) && p->dtype == result && x->ndim >= 2
              && p->sizes.n == x->ndim;
    for (int64_t d = 0; ok && d < x->ndim - 2; d++)
        ok = p->sizes.v[d] == x->sizes[d];
    for (int64_t i = 0; ok && i < 2; i++)
        ok = pool_dim_fits(x->sizes[x->ndim - 2 + i], p->sizes.v[x->ndim - 2 + i], params_of(p) + i);
    return ok ? NULL : "the windows do not lie in planes of Float or Double";
}

/* ---- order, search, counts, scatters ---- */

static const char *sort(const lz_low_proto *p)
{
    return p->dtype == LZ_I64 && p->sizes.n > 0 && like(p, p->in[0])
               ? NULL
               : "a sort takes a tensor with a dimension and gives as many indices of Long";
}

static const char *topk(const lz_low_proto *p)
{
    lz_ints x = lz_low_node_sizes(p->in[0]);
    int64_t k = params_of(p)[0];
    bool ok = p->dtype == LZ_I64 && same_rows(x, p->sizes) && p->sizes.v[x.n - 1] == k && k <= x.v[x.n - 1];
    return ok ? NULL : "topk gives k indices of Long for each row, and a row has k elements";
}

static const char *rank(const lz_low_proto *p)
{
    lz_ints x = lz_low_node_sizes(p->in[0]);
    int64_t k = params_of(p)[0];
    bool ok = p->dtype == LZ_I64 && same_rows(x, p->sizes) && p->sizes.v[x.n - 1] == 1 && k >= 0
              && k < x.v[x.n - 1];
    return ok ? NULL : "rank gives one index of Long for each row, and a row has more elements than the rank";
}

static const char *search(const lz_low_proto *p)
{
    lz_ints seq = lz_low_node_sizes(p->in[0]), values = lz_low_node_sizes(p->in[1]);
    bool ok = p->dtype == LZ_I64 && p->in[0]->dtype == p->in[1]->dtype && like(p, p->in[1])
              && (seq.n == 1 || same_rows(seq, values));
    return ok ? NULL : "a search takes rows and values of one dtype and gives a Long for each value";
}

static const char *contains(const lz_low_proto *p)
{
    return p->dtype == LZ_BOOL && p->in[0]->dtype == p->in[1]->dtype && like(p, p->in[0])
               ? NULL
               : "contains takes two tensors of one dtype and gives a Bool for each element of the first";
}

static const char *draw(const lz_low_proto *p)
{
    bool ok = p->dtype == LZ_F64 && p->in[0]->dtype == LZ_I64 && params_of(p)[0] >= 0
              && params_of(p)[0] < LZ_DISTRIBUTIONS;
    for (int i = 0; i < 3; i++)
        ok = ok && (i == 0 || p->in[i]->dtype == LZ_F64) && like(p, p->in[i]);
    return ok ? NULL : "draw takes keys of Long and two parameters of Double, all of the result's sizes";
}

static const char *shuffle(const lz_low_proto *p)
{
    const lz_low_node *key = p->in[0];
    return p->dtype == LZ_I64 && p->sizes.n == 1 && key->dtype == LZ_I64 && key->ndim == 0
               ? NULL
               : "shuffle takes a key of Long without dimensions and gives a tensor of Long with one "
                 "dimension";
}

static const char *count(const lz_low_proto *p)
{
    const lz_low_node *x = p->in[0];
    return p->dtype == LZ_I64 && p->sizes.n == 1 && x->dtype == LZ_I64 && x->ndim == 1
               ? NULL
               : "count takes and gives a tensor of Long with one dimension";
}

static const char *scatter(const lz_low_proto *p)
{
    const lz_low_node *base = p->in[0], *index = p->in[1], *source = p->in[2];
    int64_t mode = params_of(p)[0], dim = params_of(p)[1];
    if (p->dtype != (lz_dtype)base->dtype || source->dtype != base->dtype || index->dtype != LZ_I64
        || !like(p, base))
        return "scatter takes a base, indices of Long and a source of the base's dtype, and gives what the "
               "base is";
    if (mode < 0 || mode >= LZ_SCATTERS || dim < 0 || (dim && dim >= index->ndim))
        return "scatter has no such mode or dimension";
    bool scales = base->dtype == LZ_F32 || base->dtype == LZ_F64;
    if (p->nin == 4
        && (mode != LZ_SCATTER_ADD || !scales || p->in[3]->ndim || p->in[3]->dtype != base->dtype))
        return "a fourth operand of a scatter is a number of the base's dtype, by which the source of a sum "
               "of "
               "Float or Double is multiplied";
    bool ok = index->ndim == base->ndim && lz_shape_eq(lz_low_node_sizes(index), lz_low_node_sizes(source));
    for (int64_t d = 0; ok && d < index->ndim; d++)
        ok = d == dim || index->sizes[d] <= base->sizes[d];
    return ok ? NULL : "the indices of a scatter have the sizes of the source and lie in the base";
}

/* ---- routines on matrices ---- */

static bool read_routine(const int64_t *params, const lz_low_node *const *in, size_t n, lz_routine_call *out)
{
    lz_ints sizes[LZ_ROUTINE_INS];
    for (size_t i = 0; i < n && i < LZ_ROUTINE_INS; i++)
        sizes[i] = lz_low_node_sizes(in[i]);
    return n <= LZ_ROUTINE_INS && lz_routine_read(params, sizes, (int)n, out);
}

static bool is_result(const lz_low_proto *p, const lz_routine_call *c, int i, lz_dtype real)
{
    int64_t sizes[3];
    int n = lz_routine_sizes(c, i, sizes);
    return p->dtype == lz_routine_dtype(c, i, real) && lz_shape_eq(p->sizes, (lz_ints){ sizes, n });
}

/* Of the numbers of a routine; permutations have none. */
static lz_dtype real_of(const lz_low_node *first)
{
    return first->dtype == LZ_F32 ? LZ_F32 : LZ_F64;
}

static const char *matrices(const lz_low_proto *p)
{
    lz_routine_call c;
    if (!read_routine(params_of(p), p->in, p->nin, &c))
        return "the operands do not have the sizes that the routine takes";
    const lz_routine_row *row = lz_routine_get(c.routine);
    lz_dtype real = real_of(p->in[0]);
    bool ok = is_result(p, &c, 0, real);
    for (size_t i = 0; ok && i < p->nin; i++)
        ok = (lz_dtype)p->in[i]->dtype == (row->in[i].kind == LZ_ROUTINE_INTS ? LZ_I32 : real);
    return ok ? NULL : "a routine takes and gives Float or Double, and Int for permutations";
}

static const char *beside(const lz_low_proto *p)
{
    const lz_low_node *x = p->in[0];
    lz_routine_call c;
    if (x->kind == LZ_LOW_BUFFER) /* of a fused program: the plan checks the bytes */
        return params_of(p)[0] >= 0 ? NULL : "its parameter is below 0";
    if (x->kind != LZ_LOW_CALL || x->op != LZ_CALL_MATRICES || !read_routine(x->attr, x->in, x->nin, &c))
        return "its operand is a call of a routine on matrices";
    lz_dtype real = real_of(x->in[0]);
    for (int i = 1; i < LZ_ROUTINE_OUTS && lz_routine_get(c.routine)->out[i].kind != LZ_ROUTINE_NO_ARRAY; i++)
        if (params_of(p)[0] == (int64_t)lz_routine_offset(&c, i, real) && is_result(p, &c, i, real))
            return NULL;
    return "the routine has no such result";
}

size_t lz_low_buffer_bytes(const lz_low_node *n)
{
    lz_routine_call c;
    if (n->kind == LZ_LOW_CALL && n->op == LZ_CALL_MATRICES && read_routine(n->attr, n->in, n->nin, &c))
        return lz_routine_offset(&c, LZ_ROUTINE_OUTS, real_of(n->in[0]));
    return (size_t)n->numel * lz_dtype_size((lz_dtype)n->dtype);
}

/* ---- attention ---- */

/* Query, key and value of these dtypes and sizes fit each other; the mask (may be NULL) fits them. */
static bool attention_fits(const lz_low_node *const *in, const lz_low_node *scale, const lz_low_node *mask)
{
    const lz_low_node *q = in[0], *k = in[1], *v = in[2];
    bool ok = (q->dtype == LZ_F32 || q->dtype == LZ_F64) && k->dtype == q->dtype && v->dtype == q->dtype
              && q->ndim == 4 && k->ndim == 4 && v->ndim == 4 && scale->dtype == LZ_F64 && scale->ndim == 0;
    ok = ok && q->numel > 0 && k->numel > 0 && v->numel > 0 && q->sizes[0] == k->sizes[0]
         && q->sizes[1] % k->sizes[1] == 0 && q->sizes[3] == k->sizes[3];
    for (int64_t d = 0; ok && d < 3; d++)
        ok = k->sizes[d] == v->sizes[d];
    if (!ok || !mask)
        return ok;
    const int64_t sizes[] = { q->sizes[0], q->sizes[1], q->sizes[2], k->sizes[2] };
    return (mask->dtype == LZ_BOOL || mask->dtype == q->dtype)
           && lz_shape_eq(lz_low_node_sizes(mask), (lz_ints){ sizes, 4 });
}

static bool has_numel(const lz_low_proto *p, const lz_low_node *like, int64_t numel)
{
    return p->dtype == (lz_dtype)like->dtype && p->sizes.n == 1 && p->sizes.v[0] == numel;
}

static const char *attention(const lz_low_proto *p)
{
    const lz_low_node *q = p->in[0], *v = p->in[2];
    bool ok =
        params_of(p)[1] == (int64_t)p->nin && attention_fits(p->in, p->in[3], p->nin > 4 ? p->in[4] : NULL);
    int64_t rows = ok ? q->sizes[0] * q->sizes[1] * q->sizes[2] : 0, more, all = 0;
    ok = ok && !__builtin_add_overflow(v->sizes[3], 2, &more) && !__builtin_mul_overflow(rows, more, &all);
    return ok && has_numel(p, q, all) ? NULL : "query, key, value, scale and mask of attention do not fit";
}

/* A number for each query. */
static bool per_row(const lz_low_node *x, const lz_low_node *q)
{
    const int64_t sizes[] = { q->sizes[0], q->sizes[1], q->sizes[2], 1 };
    return x->dtype == q->dtype && lz_shape_eq(lz_low_node_sizes(x), (lz_ints){ sizes, 4 });
}

static const char *attention_backward(const lz_low_proto *p)
{
    const lz_low_node *g = p->in[0], *q = p->in[1], *k = p->in[2], *v = p->in[3];
    int64_t ranges = params_of(p)[2], all;
    bool ok = params_of(p)[1] == (int64_t)p->nin && ranges >= 1
              && attention_fits(p->in + 1, p->in[6], p->nin > 7 ? p->in[7] : NULL) && per_row(p->in[4], q)
              && per_row(p->in[5], q) && g->dtype == q->dtype && g->ndim == 4 && g->sizes[3] == v->sizes[3];
    for (int64_t d = 0; ok && d < 3; d++)
        ok = g->sizes[d] == q->sizes[d];
    ok = ok && !__builtin_mul_overflow(ranges, q->numel, &all) && !__builtin_add_overflow(all, k->numel, &all)
         && !__builtin_add_overflow(all, v->numel, &all);
    return ok && has_numel(p, q, all) ? NULL : "gradient, query, key, value and mask of attention do not fit";
}

/* ---- recurrent cells ---- */

static bool has_sizes(const lz_low_node *x, lz_dtype d, lz_ints sizes)
{
    return x->dtype == (int8_t)d && lz_shape_eq(lz_low_node_sizes(x), sizes);
}

/* data [rows, ...], state [states, batch, width]; `parts` rows of that width and the states are the result.
 */
static const char *recurrent(const lz_low_proto *p, const lz_low_node *state, bool backward)
{
    static const char error[] = "data, weights, states and batch sizes of a recurrent cell do not fit";
    const int64_t *params = params_of(p);
    if (params[0] < 0 || params[0] >= LZ_CELLS || state->ndim != 3 || p->in[0]->ndim != 2
        || p->in[4]->ndim != 1)
        return error;
    lz_cell_size size = lz_cell_size_of((lz_cell_kind)params[0]);
    int64_t width = state->sizes[2], rows = p->in[0]->sizes[0], n = size.gates * width, all, more;
    lz_dtype d = p->dtype;
    bool ok = (d == LZ_F32 || d == LZ_F64) && state->numel > 0 && p->in[4]->dtype == LZ_I64
              && has_sizes(state, d, LZ_INTS(size.states, state->sizes[1], width));
    if (backward)
        ok = ok && has_sizes(p->in[0], d, LZ_INTS(rows, width))
             && has_sizes(p->in[2], d, LZ_INTS(size.saved, rows, width))
             && has_sizes(p->in[3], d, LZ_INTS(n, width));
    else
        ok = ok && has_sizes(p->in[0], d, LZ_INTS(rows, n)) && has_sizes(p->in[1], d, LZ_INTS(n, width))
             && has_sizes(p->in[2], d, LZ_INTS(n));
    ok = ok && !__builtin_mul_overflow(rows * width, backward ? size.slopes : size.saved, &more)
         && !__builtin_add_overflow(more, state->numel, &all);
    return ok && has_numel(p, state, all) ? NULL : error;
}

/* inputs [parts, rows, width], state [states, batch, width]. */
static const char *linear(const lz_low_proto *p, const lz_low_node *state, bool backward)
{
    static const char error[] = "inputs, slopes, weights, states and batch sizes of a recurrence do not fit";
    const int64_t *params = params_of(p);
    if (params[0] < 0 || params[0] >= LZ_CELLS || state->ndim != 3 || p->in[0]->ndim != 3
        || p->in[4]->ndim != 1)
        return error;
    lz_cell_size size = lz_cell_size_of((lz_cell_kind)params[0]);
    int64_t width = state->sizes[2], rows = p->in[0]->sizes[1], n = size.gates * width, all, more;
    lz_dtype d = p->dtype;
    bool ok = (d == LZ_F32 || d == LZ_F64) && state->numel > 0 && p->in[4]->dtype == LZ_I64
              && has_sizes(state, d, LZ_INTS(size.states, state->sizes[1], width))
              && has_sizes(p->in[0], d, LZ_INTS((int64_t)(backward ? 2 : 1) * size.states, rows, width))
              && has_sizes(p->in[2], d, LZ_INTS(size.gates + size.states, rows, width))
              && has_sizes(p->in[backward ? 3 : 1], d, LZ_INTS(n, width))
              && (!backward || has_sizes(p->in[5], d, LZ_INTS(rows, n)));
    int parts = backward ? size.gates + size.states : 2 * size.states;
    ok = ok && !__builtin_mul_overflow(rows * width, parts, &more)
         && !__builtin_add_overflow(more, state->numel, &all);
    return ok && has_numel(p, state, all) ? NULL : error;
}

static const char *recur_linear(const lz_low_proto *p)
{
    return linear(p, p->in[3], false);
}

static const char *recur_linear_backward(const lz_low_proto *p)
{
    return linear(p, p->in[1], true);
}

static const char *recur(const lz_low_proto *p)
{
    return recurrent(p, p->in[3], false);
}

static const char *recur_backward(const lz_low_proto *p)
{
    return recurrent(p, p->in[1], true);
}

/* ---- detection of objects ---- */

static const char *suppress(const lz_low_proto *p)
{
    const lz_low_node *x = p->in[0], *most = p->in[1];
    bool ok = (x->dtype == LZ_F32 || x->dtype == LZ_F64) && x->ndim == 2 && x->sizes[1] == 4
              && most->dtype == LZ_F64 && most->ndim == 0 && p->dtype == LZ_BOOL && p->sizes.n == 1
              && p->sizes.v[0] == x->sizes[0];
    return ok ? NULL : "suppress takes boxes [n, 4] and a threshold, and gives a Bool for each box";
}

static const char *roi_align(const lz_low_proto *p)
{
    const lz_low_node *data = p->in[0], *regions = p->in[1], *scale = p->in[2];
    const int64_t *params = params_of(p);
    lz_ints images = params[4] ? p->sizes : lz_low_node_sizes(data);
    lz_ints bins = params[4] ? lz_low_node_sizes(data) : p->sizes;
    bool ok = (p->dtype == LZ_F32 || p->dtype == LZ_F64) && data->dtype == (int8_t)p->dtype
              && regions->dtype == (int8_t)p->dtype && scale->dtype == LZ_F64 && scale->ndim == 0
              && images.n == 4 && bins.n == 4 && regions->ndim == 2 && regions->sizes[1] == 5;
    ok = ok && bins.v[0] == regions->sizes[0] && bins.v[1] == images.v[1] && bins.v[2] == params[0]
         && bins.v[3] == params[1] && params[0] > 0 && params[1] > 0 && images.v[2] > 0 && images.v[3] > 0;
    return ok ? NULL : "images, regions and bins of roi_align do not fit";
}

/* ---- connectionist temporal classification ---- */

static bool ctc_fits(const lz_low_proto *p)
{
    const lz_low_node *x = p->in[0], *targets = p->in[1];
    lz_dtype d = (lz_dtype)x->dtype;
    if ((d != LZ_F32 && d != LZ_F64) || p->dtype != d || x->ndim != 3 || targets->ndim != 2)
        return false;
    int64_t batch = x->sizes[1], blank = params_of(p)[0];
    return has_sizes(targets, LZ_I64, LZ_INTS(batch, targets->sizes[1]))
           && has_sizes(p->in[2], LZ_I64, LZ_INTS(batch)) && has_sizes(p->in[3], LZ_I64, LZ_INTS(batch))
           && blank >= 0 && blank < x->sizes[2] && targets->sizes[1] < INT64_MAX / 4;
}

static const char *ctc_alpha(const lz_low_proto *p)
{
    bool ok =
        ctc_fits(p)
        && lz_shape_eq(p->sizes, LZ_INTS(p->in[0]->sizes[1], p->in[0]->sizes[0], 2 * p->in[1]->sizes[1] + 1));
    return ok ? NULL : "probabilities, targets and lengths do not fit";
}

static const char *ctc_slope(const lz_low_proto *p)
{
    const lz_low_node *x = p->in[0];
    bool ok = ctc_fits(p) && like(p, x) && has_sizes(p->in[4], (lz_dtype)x->dtype, LZ_INTS(x->sizes[1]))
              && has_sizes(p->in[5], (lz_dtype)x->dtype,
                           LZ_INTS(x->sizes[1], x->sizes[0], 2 * p->in[1]->sizes[1] + 1));
    return ok ? NULL : "probabilities, targets, lengths, loss and alpha do not fit";
}

/* ---- all of them ---- */

static const struct {
    size_t operands, params; /* params: at least so many */
    rule_fn *rule;
    size_t optional; /* further operands */
} rows[LZ_CALLS] = {
    [LZ_CALL_MATMUL] = { 2, 0, matmul, 0 },
    [LZ_CALL_CONV] = { 2, 5, conv, 0 },
    [LZ_CALL_CONV_INPUT] = { 2, 5, conv, 0 },
    [LZ_CALL_CONV_WEIGHT] = { 2, 5, conv, 0 },
    [LZ_CALL_SORT] = { 1, 1, sort, 0 },
    [LZ_CALL_TOPK] = { 1, 3, topk, 0 },
    [LZ_CALL_SEARCH] = { 2, 1, search, 0 },
    [LZ_CALL_SCATTER] = { 3, 5, scatter, 1 },
    [LZ_CALL_POOL_MAX] = { 1, 8, pool, 0 },
    [LZ_CALL_POOL_AT] = { 1, 8, pool, 0 },
    [LZ_CALL_RANK] = { 1, 1, rank, 0 },
    [LZ_CALL_CONTAINS] = { 2, 0, contains, 0 },
    [LZ_CALL_COUNT] = { 1, 2, count, 0 },
    [LZ_CALL_MATRICES] = { 1, LZ_ROUTINE_PARAMS, matrices, 2 },
    [LZ_CALL_BESIDE] = { 1, 1, beside, 0 },
    [LZ_CALL_DRAW] = { 3, 1, draw, 0 },
    [LZ_CALL_ATTENTION] = { 4, 2, attention, 1 },
    [LZ_CALL_ATTENTION_BACKWARD] = { 7, 3, attention_backward, 1 },
    [LZ_CALL_RECUR] = { 5, 2, recur, 0 },
    [LZ_CALL_RECUR_BACKWARD] = { 5, 2, recur_backward, 0 },
    [LZ_CALL_RECUR_LINEAR] = { 5, 2, recur_linear, 0 },
    [LZ_CALL_RECUR_LINEAR_BACKWARD] = { 6, 2, recur_linear_backward, 0 },
    [LZ_CALL_SHUFFLE] = { 1, 0, shuffle, 0 },
    [LZ_CALL_SUPPRESS] = { 2, 0, suppress, 0 },
    [LZ_CALL_ROI_ALIGN] = { 3, 5, roi_align, 0 },
    [LZ_CALL_CTC_ALPHA] = { 4, 1, ctc_alpha, 0 },
    [LZ_CALL_CTC_SLOPE] = { 6, 1, ctc_slope, 0 },
};

const char *lz_low_check_call(const lz_low_proto *p)
{
    assert(p->kind == LZ_LOW_CALL && p->op < LZ_CALLS);
    if (p->nin < rows[p->op].operands || p->nin > rows[p->op].operands + rows[p->op].optional)
        return "it takes another number of operands";
    if (p->attr_size < rows[p->op].params * sizeof(int64_t))
        return "it needs more parameters";
    return rows[p->op].rule(p);
}
