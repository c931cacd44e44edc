/* Recurrent cells along sequences against loops over elements, and their gradients against differences. */
#include "check.h"
#include "core/recurrent_cell.h"
#include "kernel/kernels.h"
#include <math.h>
#include <string.h>

enum { TIMES = 5, BATCH = 3, WIDTH = 4, ROWS = 10, GATES = 4, MOST = 8 * ROWS * WIDTH + 2 * BATCH * WIDTH };

static const int64_t numbers[TIMES] = { 3, 3, 2, 1, 1 };

typedef struct operands {
    double x[ROWS * GATES * WIDTH], w[GATES * WIDTH * WIDTH], bias[GATES * WIDTH], state[2 * BATCH * WIDTH];
} operands;

static double number(int64_t i)
{
    return (double)(i * 7919 % 101) / 50 - 1;
}

static void fill(operands *o)
{
    double *all[] = { o->x, o->w, o->bias, o->state };
    const size_t sizes[] = { sizeof o->x, sizeof o->w, sizeof o->bias, sizeof o->state };
    for (size_t k = 0; k < 4; k++)
        for (size_t i = 0; i < sizes[k] / sizeof(double); i++)
            all[k][i] = number((int64_t)(i + 13 * k + 1));
}

/* ---- the slow way ---- */

static double logistic(double x)
{
    return 1 / (1 + exp(-x));
}

/* Gate g of an element, without the part of the state and with it. */
typedef struct sums {
    double x[GATES], h[GATES];
} sums;

static double next_state(lz_cell_kind kind, const sums *s, double before, double *memory)
{
    double all[GATES];
    for (int g = 0; g < GATES; g++)
        all[g] = s->x[g] + s->h[g];
    if (kind == LZ_CELL_TANH)
        return tanh(all[0]);
    if (kind == LZ_CELL_RELU)
        return fmax(all[0], 0);
    if (kind == LZ_CELL_LSTM) {
        *memory = logistic(all[1]) * *memory + logistic(all[0]) * tanh(all[2]);
        return logistic(all[3]) * tanh(*memory);
    }
    double keep = logistic(all[1]), new = tanh(s->x[2] + logistic(all[0]) * s->h[2]);
    return (1 - keep) * new + keep *before;
}

/* One sequence at one time. */
static void step(lz_cell_kind kind, const operands *o, int64_t row, double *h, double *memory)
{
    int gates = lz_cell_size_of(kind).gates;
    double new[WIDTH];
    for (int j = 0; j < WIDTH; j++) {
        sums s = { { 0 }, { 0 } };
        for (int g = 0; g < gates; g++) {
            s.x[g] = o->x[row * gates * WIDTH + g * WIDTH + j];
            s.h[g] = o->bias[g * WIDTH + j];
            for (int k = 0; k < WIDTH; k++)
                s.h[g] += o->w[(g * WIDTH + j) * WIDTH + k] * h[k];
        }
        new[j] = next_state(kind, &s, h[j], &memory[j]);
    }
    memcpy(h, new, sizeof new);
}

/* out [rows, width], state [2, batch, width] */
static void run_slowly(lz_cell_kind kind, bool reverse, const operands *o, double *out, double *state)
{
    memcpy(state, o->state, sizeof o->state);
    for (int i = 0; i < TIMES; i++) {
        int64_t t = reverse ? TIMES - 1 - i : i, first = 0;
        for (int64_t k = 0; k < t; k++)
            first += numbers[k];
        for (int64_t b = 0; b < numbers[t]; b++) {
            step(kind, o, first + b, state + b * WIDTH, state + (BATCH + b) * WIDTH);
            memcpy(out + (first + b) * WIDTH, state + b * WIDTH, WIDTH * sizeof *out);
        }
    }
}

/* ---- calls ---- */

typedef struct setup {
    lz_cell_kind kind;
    bool reverse, f64;
    lz_pool *pool;
} setup;

typedef struct array {
    double wide[MOST];
    float narrow[MOST];
    int64_t sizes[3], strides[3];
} array;

/* An operand with gaps between its elements if `step` is 2. */
static lz_strided operand(const setup *s, array *a, const double *from, int64_t ndim, const int64_t *sizes,
                          int64_t step)
{
    int64_t n = step;
    for (int64_t d = ndim; d-- > 0; n *= sizes[d]) {
        a->sizes[d] = sizes[d];
        a->strides[d] = n;
    }
    for (int64_t i = 0; i < n / step; i++) {
        a->wide[i * step] = from[i];
        a->narrow[i * step] = (float)from[i];
    }
    return (lz_strided){ s->f64 ? (void *)a->wide : a->narrow, s->f64 ? LZ_F64 : LZ_F32, ndim, a->sizes,
                         a->strides };
}

/* The result as doubles. */
static lz_err *call(const setup *s, lz_kernel_call *c, lz_kernel_call_fn *fn, int64_t n, double *out)
{
    static const int64_t times[] = { TIMES }, one[] = { 1 };
    static float narrow[MOST];
    const int64_t params[] = { s->kind, s->reverse }, size[] = { n };
    /* NOLINTNEXTLINE(performance-no-int-to-ptr): only read, but the field is not const */
    c->in[4] = (lz_strided){ (void *)(uintptr_t)numbers, LZ_I64, 1, times, one };
    c->out = (lz_strided){ s->f64 ? (void *)out : narrow, s->f64 ? LZ_F64 : LZ_F32, 1, size, one };
    c->params = params;
    c->pool = s->pool;
    LZ_TRY(fn(c));
    for (int64_t i = 0; !s->f64 && i < n; i++)
        out[i] = narrow[i];
    return NULL;
}

static lz_err *forward(const setup *s, const operands *o, double *out)
{
    static array x, w, bias, state;
    lz_cell_size size = lz_cell_size_of(s->kind);
    int64_t n = size.gates * WIDTH;
    lz_kernel_call c = { .in = { operand(s, &x, o->x, 2, (const int64_t[]){ ROWS, n }, 2),
                                 operand(s, &w, o->w, 2, (const int64_t[]){ n, WIDTH }, 1),
                                 operand(s, &bias, o->bias, 1, &n, 2),
                                 operand(s, &state, o->state, 3,
                                         (const int64_t[]){ size.states, BATCH, WIDTH }, 1) } };
    return call(s, &c, lz_recur, (size.saved * ROWS + size.states * BATCH) * WIDTH, out);
}

static lz_err *check_forward(const setup *s)
{
    static double got[MOST], out[ROWS * WIDTH], state[2 * BATCH * WIDTH];
    operands o;
    lz_cell_size size = lz_cell_size_of(s->kind);
    fill(&o);
    run_slowly(s->kind, s->reverse, &o, out, state);
    LZ_TRY(forward(s, &o, got));
    for (int i = 0; i < ROWS * WIDTH; i++)
        assert_true(fabs(got[i] - out[i]) < (s->f64 ? 1e-13 : 2e-6));
    for (int i = 0; i < size.states * BATCH * WIDTH; i++)
        assert_true(fabs(got[size.saved * ROWS * WIDTH + i] - state[i]) < (s->f64 ? 1e-13 : 2e-6));
    return NULL;
}

/* A linear function of outputs and states. */
static double value_of(const setup *s, const operands *o)
{
    double out[ROWS * WIDTH], state[2 * BATCH * WIDTH], sum = 0;
    run_slowly(s->kind, s->reverse, o, out, state);
    for (int i = 0; i < ROWS * WIDTH; i++)
        sum += out[i] * number(i + 3);
    for (int i = 0; i < lz_cell_size_of(s->kind).states * BATCH * WIDTH; i++)
        sum += state[i] * number(i + 50);
    return sum;
}

static double difference(const setup *s, operands *o, double *at)
{
    const double old = *at, h = 1e-5;
    *at = old + h;
    double up = value_of(s, o);
    *at = old - h;
    double down = value_of(s, o);
    *at = old;
    return (up - down) / (2 * h);
}

/* Gradients of the input's gates and of the first states. */
static lz_err *check_backward(const setup *s)
{
    static double saved[MOST], got[MOST], grad[MOST], last[MOST];
    static array a[4];
    lz_cell_size size = lz_cell_size_of(s->kind);
    int64_t n = size.gates * WIDTH, states = size.states * BATCH * WIDTH;
    operands o;
    fill(&o);
    for (int i = 0; i < MOST; i++) {
        grad[i] = number(i + 3);
        last[i] = number(i + 50);
    }
    LZ_TRY(forward(s, &o, saved));
    lz_kernel_call c = { .in = {
                             operand(s, &a[0], grad, 2, (const int64_t[]){ ROWS, WIDTH }, 2),
                             operand(s, &a[1], last, 3, (const int64_t[]){ size.states, BATCH, WIDTH }, 1),
                             operand(s, &a[2], saved, 3, (const int64_t[]){ size.saved, ROWS, WIDTH }, 1),
                             operand(s, &a[3], o.w, 2, (const int64_t[]){ n, WIDTH }, 1) } };
    LZ_TRY(call(s, &c, lz_recur_backward, size.slopes * ROWS * WIDTH + states, got));
    for (int64_t i = 0; i < ROWS * n; i++) {
        bool other = size.slopes > size.gates && i % n >= 2 * WIDTH;
        double g = got[other ? ROWS * n + i / n * WIDTH + i % WIDTH : i];
        assert_true(fabs(g - difference(s, &o, &o.x[i])) < (s->f64 ? 1e-8 : 1e-5));
    }
    for (int64_t i = 0; i < states; i++)
        assert_true(fabs(got[size.slopes * ROWS * WIDTH + i] - difference(s, &o, &o.state[i]))
                    < (s->f64 ? 1e-8 : 1e-5));
    return NULL;
}

static lz_err *test_cells(void)
{
    lz_pool *two;
    LZ_TRY(lz_pool_create(2, &two));
    lz_err *e = NULL;
    for (int k = 0; !e && k < LZ_CELLS * 8; k++) {
        const setup s = { (lz_cell_kind)(k / 8), k & 1, k & 2, k & 4 ? two : NULL };
        e = check_forward(&s);
        e = e ? e : check_backward(&s);
    }
    lz_pool_destroy(two);
    return e;
}

/* ---- linear recurrences ---- */

typedef struct linear_inputs {
    double v[2 * ROWS * WIDTH], w[GATES * WIDTH * WIDTH], slopes[6 * ROWS * WIDTH], state[2 * BATCH * WIDTH];
} linear_inputs;

static void fill_linear(linear_inputs *in)
{
    for (size_t i = 0; i < sizeof *in / sizeof(double); i++)
        ((double *)(void *)in)[i] = number((int64_t)(i * 3 + i / 17)) / 2;
}

/* One sequence at one row; all gates add to the last state, but for a memory, which all gates but the last
 * add to. */
static void linear_row(const setup *s, const linear_inputs *in, int64_t row, double *state, double *out)
{
    lz_cell_size size = lz_cell_size_of(s->kind);
    double gates[GATES * WIDTH] = { 0 }, *memory = state + BATCH * WIDTH;
    const double *slope = in->slopes + row * WIDTH;
    for (int i = 0; i < size.gates * WIDTH; i++)
        for (int k = 0; k < WIDTH; k++)
            gates[i] += in->w[i * WIDTH + k] * state[k];
    for (int j = 0; j < WIDTH; j++) {
        double h = in->v[row * WIDTH + j], c = in->v[(ROWS + row) * WIDTH + j];
        double kept = slope[size.gates * ROWS * WIDTH + j];
        for (int g = 0; g < size.gates; g++)
            *(size.states == 2 && g < size.gates - 1 ? &c : &h) +=
                slope[g * ROWS * WIDTH + j] * gates[g * WIDTH + j];
        out[(ROWS + row) * WIDTH + j] = state[j];
        if (size.states == 2) {
            out[(3 * ROWS + row) * WIDTH + j] = memory[j];
            out[(2 * ROWS + row) * WIDTH + j] = memory[j] = c + kept * memory[j];
            h += slope[(size.gates + 1) * ROWS * WIDTH + j] * memory[j];
        } else {
            h += kept * state[j];
        }
        out[row * WIDTH + j] = h;
    }
    memcpy(state, out + row * WIDTH, WIDTH * sizeof *state);
}

/* out: the rows of all results, then the states. */
static void run_linear_slowly(const setup *s, const linear_inputs *in, double *out)
{
    lz_cell_size size = lz_cell_size_of(s->kind);
    double *state = out + 2 * size.states * ROWS * WIDTH, all[2 * BATCH * WIDTH];
    memcpy(all, in->state, sizeof all);
    for (int i = 0; i < TIMES; i++) {
        int64_t t = s->reverse ? TIMES - 1 - i : i, first = 0;
        for (int64_t k = 0; k < t; k++)
            first += numbers[k];
        for (int64_t b = 0; b < numbers[t]; b++)
            linear_row(s, in, first + b, all + b * WIDTH, out);
    }
    memcpy(state, all, (size_t)size.states * BATCH * WIDTH * sizeof *all);
}

static double product(const double *a, const double *b, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

/* The second call is the transpose of the first: both give the same product with given numbers. */
static lz_err *check_linear(const setup *s)
{
    static double want[MOST], got[MOST], back[MOST], given[MOST], none[GATES * ROWS * WIDTH];
    static array a[5];
    lz_cell_size size = lz_cell_size_of(s->kind);
    int64_t n = size.gates * WIDTH, rows = 2 * size.states * ROWS * WIDTH,
            states = size.states * BATCH * WIDTH;
    const int64_t weight[] = { n, WIDTH }, of_states[] = { size.states, BATCH, WIDTH }, gates[] = { ROWS, n };
    const int64_t inputs[] = { size.states, ROWS, WIDTH }, results[] = { 2 * size.states, ROWS, WIDTH };
    const int64_t slopes[] = { size.gates + size.states, ROWS, WIDTH };
    double tolerance = s->f64 ? 1e-12 : 1e-4;
    linear_inputs in;
    fill_linear(&in);
    for (int i = 0; i < MOST; i++)
        given[i] = number(i + 7);
    lz_kernel_call c = { .in = { operand(s, &a[0], in.v, 3, inputs, 2), operand(s, &a[1], in.w, 2, weight, 1),
                                 operand(s, &a[2], in.slopes, 3, slopes, 1),
                                 operand(s, &a[3], in.state, 3, of_states, 2) } };
    LZ_TRY(call(s, &c, lz_recur_linear, rows + states, got));
    run_linear_slowly(s, &in, want);
    for (int64_t i = 0; i < rows + states; i++)
        assert_true(fabs(got[i] - want[i]) < tolerance * (1 + fabs(want[i])));
    c = (lz_kernel_call){
        .in = { operand(s, &a[0], given, 3, results, 1), operand(s, &a[1], given + rows, 3, of_states, 1),
                operand(s, &a[2], in.slopes, 3, slopes, 1), operand(s, &a[3], in.w, 2, weight, 1) }
    };
    c.in[5] = operand(s, &a[4], none, 2, gates, 2);
    LZ_TRY(call(s, &c, lz_recur_linear_backward, (size.gates + size.states) * ROWS * WIDTH + states, back));
    const double *of_v = back + ROWS * n, *of_state = of_v + rows / 2;
    double forth = product(want, given, rows + states);
    double and_back = product(in.v, of_v, rows / 2) + product(in.state, of_state, states);
    assert_true(fabs(forth - and_back) < tolerance * (1 + fabs(forth)));
    return NULL;
}

static lz_err *test_linear(void)
{
    lz_pool *two;
    LZ_TRY(lz_pool_create(2, &two));
    lz_err *e = NULL;
    for (int k = 0; !e && k < LZ_CELLS * 8; k++)
        e = check_linear(&(setup){ (lz_cell_kind)(k / 8), k & 1, k & 2, k & 4 ? two : NULL });
    lz_pool_destroy(two);
    return e;
}

/* More sequences than before, another batch, rows that do not add up. */
static lz_err *test_numbers(void)
{
    static const int64_t wrong[][2] = { { 1, 2 }, { 3, 1 }, { 2, 2 }, { 2, 0 }, { 2, -1 } };
    double x[3] = { 0 }, w = 0, state[2] = { 0 }, out[2 * 3 + 2] = { 0 };
    const int64_t one[] = { 1, 1, 1 }, rows[] = { 3, 1 }, states[] = { 1, 2, 1 }, order[] = { 2, 1, 1 },
                  two[] = { 2 };
    const int64_t params[] = { LZ_CELL_TANH, 0 }, numel[] = { 8 };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        lz_kernel_call c = { .in = { { x, LZ_F64, 2, rows, one },
                                     { &w, LZ_F64, 2, one, one },
                                     { &w, LZ_F64, 1, one, one },
                                     { state, LZ_F64, 3, states, order },
                                     /* NOLINTNEXTLINE(performance-no-int-to-ptr): only read */
                                     { (void *)(uintptr_t)wrong[i], LZ_I64, 1, two, one } },
                             .out = { out, LZ_F64, 1, numel, one },
                             .params = params };
        lz_err *e = lz_recur(&c);
        if (lz_err_code(e) == LZ_ERR_MEMORY)
            return e;
        assert_int_equal(lz_err_code(e), LZ_ERR_ARG);
        lz_err_free(e);
    }
    return NULL;
}

int main(void)
{
    const struct CMUnitTest tests[] = { LZ_TEST(test_cells), LZ_TEST(test_linear), LZ_TEST(test_numbers) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
