/* A recurrent cell along a sequence, forward and backward: at each time one matrix product and one step of
 * the cell. */
#include "kernel/recurrent.h"
#include "base/mem.h"
#include "kernel/gemm.h"
#include "kernel/strided_walk.h"
#include <string.h>

enum { PANEL = 128 }; /* bytes of a panel's row: the lanes of two vectors at least */

typedef struct recurrence {
    const lz_kernel_call *c;
    lz_cell_kind kind;
    lz_cell_size size;
    bool f64, backward, linear;
    int64_t item;                      /* bytes of an element */
    int64_t rows, batch, width, times; /* rows: of all times; width: of the state */
    int64_t *active, *first;           /* by time: sequences; the row of the first one */
    char *x, *bias, *grad, *saved;     /* dense inputs; saved: NULL in the forward pass */
    char *slopes, *local;              /* of a linear recurrence, as x and grad */
    char *weight, *product, *own[3];
    int n_own;
    char *state; /* in the result */
    char *rest;  /* backward: the slopes; else what is saved */
    int64_t at;  /* the time */
    const lz_gemm_width *w;
    const lz_cell_math *math;
    int64_t n, k, wide, panels; /* of the weight; columns of a panel */
    const char *factor;         /* of the product at this time */
} recurrence;

/* ---- operands ---- */

static bool is_dense(const lz_strided *s)
{
    int64_t step = 1;
    for (int64_t d = s->ndim; d-- > 0; step *= s->sizes[d])
        if (s->sizes[d] != 1 && s->strides[d] != step)
            return false;
    return true;
}

static void copy(const lz_strided *s, int64_t n, char *to)
{
    int64_t size = (int64_t)lz_dtype_size(s->dtype), row = s->sizes[s->ndim - 1],
            step = s->strides[s->ndim - 1];
    for (int64_t i = 0; i < n; i += row) {
        const char *from = lz_strided_at(s, lz_strided_offset(s, s->ndim - 1, i / row));
        for (int64_t j = 0; j < row; j++)
            memcpy(to + (i + j) * size, from + j * step * size, (size_t)size);
    }
}

/* The input, or a dense copy of it. */
static lz_err *read_dense(recurrence *r, const lz_strided *s, char **out)
{
    int64_t n = lz_strided_count(s, s->ndim);
    *out = s->data;
    if (is_dense(s))
        return NULL;
    char *own = lz_temporary_zeroed((size_t)n + 1, (size_t)lz_dtype_size(s->dtype));
    if (!own)
        return lz_err_oom();
    copy(s, n, own);
    r->own[r->n_own++] = own;
    *out = own;
    return NULL;
}

/* The weight as y[k][n] of the products of a step, in panels: n are gates, or in the gradient k are. */
static lz_err *read_weight(recurrence *r, const lz_strided *s)
{
    int64_t gates = r->size.gates * r->width;
    lz_gemm_side side = { .data = s->data,
                          .dtype = s->dtype,
                          .along = s->strides[r->backward ? 1 : 0],
                          .k = s->strides[r->backward ? 0 : 1] };
    r->n = r->backward ? r->width : gates;
    r->k = r->backward ? gates : r->width;
    r->panels = (r->n + r->wide - 1) / r->wide;
    r->weight = lz_temporary_zeroed((size_t)(r->panels * r->wide * r->k) + 1, (size_t)r->item);
    if (!r->weight)
        return lz_err_oom();
    for (int64_t p = 0; p < r->panels; p++) {
        int64_t at = p * r->wide, left = r->n - at;
        lz_gemm_pack(r->w, s->dtype, &side, 0, at, left < r->wide ? left : r->wide, 0, r->k, r->wide,
                     r->weight + at * r->k * r->item);
    }
    return NULL;
}

/* The number of sequences never grows, and the rows are as many as the data has. */
static lz_err *read_times(recurrence *r, const lz_strided *s)
{
    int64_t sum = 0, last = r->batch;
    r->times = s->sizes[0];
    r->active = lz_temporary_zeroed((size_t)r->times * 2 + 1, sizeof *r->active);
    if (!r->active)
        return lz_err_oom();
    r->first = r->active + r->times;
    for (int64_t t = 0; t < r->times; t++) {
        int64_t n = ((const int64_t *)s->data)[t * s->strides[0]];
        if (n < 0 || n > last || (!t && n != r->batch) || n > r->rows - sum)
            return lz_errf(LZ_ERR_ARG,
                           "batch_sizes: %lld sequences at time %lld do not fit a batch of %lld in %lld rows",
                           (long long)n, (long long)t, (long long)r->batch, (long long)r->rows);
        r->active[t] = last = n;
        r->first[t] = sum;
        sum += n;
    }
    if (sum == r->rows)
        return NULL;
    return lz_errf(LZ_ERR_ARG, "batch_sizes have %lld rows, but the data has %lld", (long long)sum,
                   (long long)r->rows);
}

static const lz_cell_math *math_of(const lz_gemm_width *w)
{
#if defined(__x86_64__)
    if (w->bytes > 16)
        return w->bytes == 64 ? &lz_cell_avx512 : &lz_cell_avx2;
#endif
    (void)w;
    return &lz_cell_base;
}

static void set_up(recurrence *r, const lz_kernel_call *c, const lz_strided *state)
{
    r->c = c;
    r->kind = (lz_cell_kind)c->params[0];
    r->size = lz_cell_size_of(r->kind);
    r->f64 = c->out.dtype == LZ_F64;
    r->item = r->f64 ? 8 : 4;
    r->batch = state->sizes[1];
    r->width = state->sizes[2];
    const lz_gemm_width *widths[LZ_GEMM_WIDTHS] = { NULL };
    r->w = widths[lz_gemm_widths(widths) - 1];
    r->math = math_of(r->w);
    r->wide = PANEL / r->item;
}

static void close(recurrence *r)
{
    for (int i = 0; i < r->n_own; i++)
        lz_temporary_give(r->own[i]);
    lz_temporary_give(r->weight);
    lz_temporary_give(r->product);
    lz_temporary_give(r->active);
}

/* ---- steps ---- */

static char *at(const recurrence *r, char *p, int64_t row, int64_t parts)
{
    return p + row * parts * r->width * r->item;
}

/* Parts of n rows, and where those of this row are. */
static void set_parts(const recurrence *r, char *p, int64_t row, int n, void **out)
{
    for (int k = 0; k < n; k++)
        out[k] = at(r, p, k * r->rows + row, 1);
}

static void linear_row(const recurrence *r, int64_t i)
{
    int64_t row = r->first[r->at] + i;
    int gates = r->size.gates, states = r->size.states;
    void *slopes[6], *in[4] = { NULL };
    lz_linear_step s = { .n = r->width,
                         .gates = gates,
                         .state = at(r, r->state, i, 1),
                         .memory = at(r, r->state, r->batch + i, 1) };
    set_parts(r, r->slopes, row, gates + states, slopes);
    set_parts(r, r->backward ? r->grad : r->x, row, r->backward ? 2 * states : states, in);
    memcpy(s.slope, slopes, (size_t)gates * sizeof *slopes);
    memcpy(s.in, in, sizeof in);
    s.keep = slopes[gates];
    s.open = states == 2 ? slopes[gates + 1] : NULL;
    if (r->backward) {
        s.gates_in = at(r, r->local, row, gates);
        s.gates_out = at(r, r->rest, row, gates);
        set_parts(r, at(r, r->rest, r->rows, gates), row, states, s.out);
    } else {
        s.gates_in = at(r, r->product, i, gates);
        set_parts(r, r->rest, row, 2 * states, s.out);
    }
    (r->backward ? r->math->linear_backward : r->math->linear)[states - 1][r->f64](&s);
}

static lz_err *run_linear_rows(void *user, int64_t begin, int64_t end, int worker)
{
    (void)worker;
    for (int64_t i = begin; i < end; i++)
        linear_row(user, i);
    return NULL;
}

static lz_err *run_rows(void *user, int64_t begin, int64_t end, int worker)
{
    const recurrence *r = user;
    lz_cell_fn *step = (r->backward ? r->math->backward : r->math->forward)[r->kind][r->f64];
    (void)worker;
    for (int64_t i = begin; i < end; i++) {
        int64_t row = r->first[r->at] + i;
        lz_cell_step s = { .n = r->width,
                           .state = at(r, r->state, i, 1),
                           .memory = at(r, r->state, r->batch + i, 1),
                           .bias = r->bias };
        for (int k = 0; k < r->size.saved; k++)
            s.saved[k] = at(r, r->saved ? r->saved : r->rest, k * r->rows + row, 1);
        if (r->backward) {
            s.grad = at(r, r->grad, row, 1);
            s.slopes = at(r, r->rest, row, r->size.gates);
            s.extra = at(r, r->rest, r->rows * r->size.gates + row, 1);
        } else {
            s.x = at(r, r->x, row, r->size.gates);
            s.h = at(r, r->product, i, r->size.gates);
        }
        step(&s);
    }
    return NULL;
}

/* The cell on all active rows of a time. */
static lz_err *run_step(recurrence *r)
{
    enum { GRAIN = 4096 };
    int64_t grain = GRAIN / (r->width * r->size.gates);
    return lz_pool_for(r->c->pool, r->active[r->at], grain, r->linear ? run_linear_rows : run_rows, r);
}

/* All rows of some columns of the product. */
static void do_columns(const recurrence *r, lz_gemm_wide wide, lz_gemm_block b)
{
    int height = 0;
    for (int64_t left = r->active[r->at]; left > 0; left -= r->w->heights[height]) {
        while (r->w->heights[height] > left)
            height++;
        r->w->micro[r->f64 ? LZ_GEMM_F64 : LZ_GEMM_F32][height][wide](&b);
        b.x = (const char *)b.x + r->w->heights[height] * b.xi * r->item;
        b.out = (char *)b.out + r->w->heights[height] * b.oi * r->item;
    }
}

static lz_err *run_panels(void *user, int64_t begin, int64_t end, int worker)
{
    const recurrence *r = user;
    int64_t lanes = r->w->bytes / r->item, last = end * r->wide < r->n ? end * r->wide : r->n, step;
    (void)worker;
    lz_gemm_block b = { .nk = r->k, .x = r->factor, .xi = r->k, .xk = 1, .yk = r->wide, .oi = r->n };
    for (int64_t j = begin * r->wide; j < last; j += step) {
        int64_t left = last - j;
        lz_gemm_wide way = left >= 2 * lanes ? LZ_GEMM_TWO : left >= lanes ? LZ_GEMM_ONE : LZ_GEMM_PART;
        step = way == LZ_GEMM_TWO ? 2 * lanes : lanes;
        b.y = r->weight + (j / r->wide * r->wide * r->k + j % r->wide) * r->item;
        b.out = r->product + j * r->item;
        b.lanes = (int)(left < lanes ? left : lanes);
        do_columns(r, way, b);
    }
    return NULL;
}

/* product[m][n] = x[m][k] * weight[k][n] for the rows of a time */
static lz_err *multiply(recurrence *r, const char *x)
{
    enum { GRAIN = 1 << 17 };
    r->factor = x;
    return lz_pool_for(r->c->pool, r->panels, GRAIN / (r->wide * r->k * (r->active[r->at] + 1)) + 1,
                       run_panels, r);
}

static void add_product(recurrence *r)
{
    int64_t n = r->active[r->at] * r->width;
    for (int64_t i = 0; r->f64 && i < n; i++)
        ((double *)(void *)r->state)[i] += ((double *)(void *)r->product)[i];
    for (int64_t i = 0; !r->f64 && i < n; i++)
        ((float *)(void *)r->state)[i] += ((float *)(void *)r->product)[i];
}

static lz_err *one_time(recurrence *r)
{
    if (!r->backward) {
        LZ_TRY(multiply(r, r->state));
        return run_step(r);
    }
    LZ_TRY(run_step(r));
    LZ_TRY(multiply(r, at(r, r->rest, r->first[r->at], r->size.gates)));
    add_product(r);
    return NULL;
}

static lz_err *run(recurrence *r)
{
    bool last_first = (r->c->params[1] != 0) != r->backward;
    for (int64_t i = 0; i < r->times; i++) {
        r->at = last_first ? r->times - 1 - i : i;
        LZ_TRY(one_time(r));
    }
    return NULL;
}

/* The state begins as this input, in its place at the end of the result. */
static lz_err *start_state(recurrence *r, const lz_strided *s, int64_t parts)
{
    r->rest = r->c->out.data;
    r->state = at(r, r->rest, r->rows, parts);
    copy(s, r->size.states * r->batch * r->width, r->state);
    r->product = lz_temporary_zeroed((size_t)(r->batch * r->width * r->size.gates) + 1, (size_t)r->item);
    return r->product ? NULL : lz_err_oom();
}

static lz_err *forward(recurrence *r)
{
    const lz_kernel_call *c = r->c;
    LZ_TRY(read_times(r, &c->in[4]));
    LZ_TRY(read_dense(r, &c->in[0], &r->x));
    LZ_TRY(read_weight(r, &c->in[1]));
    LZ_TRY(read_dense(r, &c->in[2], &r->bias));
    LZ_TRY(start_state(r, &c->in[3], r->size.saved));
    return run(r);
}

static lz_err *backward(recurrence *r)
{
    const lz_kernel_call *c = r->c;
    LZ_TRY(read_times(r, &c->in[4]));
    LZ_TRY(read_dense(r, &c->in[0], &r->grad));
    LZ_TRY(read_dense(r, &c->in[2], &r->saved));
    LZ_TRY(read_weight(r, &c->in[3]));
    LZ_TRY(start_state(r, &c->in[1], r->size.slopes));
    return run(r);
}

lz_err *lz_recur(const lz_kernel_call *c)
{
    recurrence r = { .rows = c->in[0].sizes[0] };
    set_up(&r, c, &c->in[3]);
    lz_err *e = forward(&r);
    close(&r);
    return e;
}

lz_err *lz_recur_backward(const lz_kernel_call *c)
{
    recurrence r = { .rows = c->in[0].sizes[0], .backward = true };
    set_up(&r, c, &c->in[1]);
    lz_err *e = backward(&r);
    close(&r);
    return e;
}

/* ---- linear recurrences ---- */

static lz_err *linear_forward(recurrence *r)
{
    const lz_kernel_call *c = r->c;
    LZ_TRY(read_times(r, &c->in[4]));
    LZ_TRY(read_dense(r, &c->in[0], &r->x));
    LZ_TRY(read_weight(r, &c->in[1]));
    LZ_TRY(read_dense(r, &c->in[2], &r->slopes));
    LZ_TRY(start_state(r, &c->in[3], (int64_t)2 * r->size.states));
    return run(r);
}

static lz_err *linear_backward(recurrence *r)
{
    const lz_kernel_call *c = r->c;
    LZ_TRY(read_times(r, &c->in[4]));
    LZ_TRY(read_dense(r, &c->in[0], &r->grad));
    LZ_TRY(read_dense(r, &c->in[2], &r->slopes));
    LZ_TRY(read_weight(r, &c->in[3]));
    LZ_TRY(read_dense(r, &c->in[5], &r->local));
    LZ_TRY(start_state(r, &c->in[1], r->size.gates + r->size.states));
    return run(r);
}

lz_err *lz_recur_linear(const lz_kernel_call *c)
{
    recurrence r = { .rows = c->in[0].sizes[1], .linear = true };
    set_up(&r, c, &c->in[3]);
    lz_err *e = linear_forward(&r);
    close(&r);
    return e;
}

lz_err *lz_recur_linear_backward(const lz_kernel_call *c)
{
    recurrence r = { .rows = c->in[0].sizes[1], .backward = true, .linear = true };
    set_up(&r, c, &c->in[1]);
    lz_err *e = linear_backward(&r);
    close(&r);
    return e;
}
