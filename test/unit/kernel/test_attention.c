/* Attention and its gradients against simple loops in f64, at every vector width. */
#include "check.h"
#include "kernel/attention.h"
#include <string.h>

typedef enum mask { NONE, CHOICE, ADDED, KEYS, MASKS } mask; /* KEYS: one choice for all rows */

typedef struct shape {
    int64_t batch, heads, groups, l, s, e, ev;
    bool causal;
    mask mask;
} shape;

/* Lengths around tiles of 96 x 128 and panels of 32, of 1, shared keys, other widths of values. */
static const shape shapes[] = {
    { 1, 2, 2, 1, 1, 1, 1, false, NONE },       { 1, 1, 1, 1, 300, 8, 16, true, NONE },
    { 2, 2, 2, 97, 129, 33, 31, false, ADDED }, { 1, 4, 2, 96, 128, 16, 48, true, NONE },
    { 1, 2, 1, 200, 257, 8, 5, true, CHOICE },  { 1, 1, 1, 30, 150, 5, 70, false, KEYS },
};

enum { MOST = 200000 };

static double x[10][MOST]; /* q, k, v, gradient; results; weights of a row and their gradients */
static float narrow[10][MOST], narrow_delta[MOST];
static bool seen[MOST];
static _Alignas(64) char scratch[8 << 20]; /* so that only few calls allocate memory, each of which must be
                                              able to fail */

static double number(int64_t i)
{
    return (double)((i * 7919 + i / 13 * 104729) % 1013 - 506) / 400;
}

/* One tensor [batch, heads, rows, width] in memory [batch, rows, heads, width], as layers have it. */
typedef struct view {
    int64_t sizes[4], strides[4];
} view;

static view view_of(int64_t batch, int64_t heads, int64_t rows, int64_t width)
{
    return (view){ { batch, heads, rows, width }, { rows * heads * width, width, heads * width, 1 } };
}

static int64_t place(const view *v, int64_t b, int64_t h, int64_t i, int64_t j)
{
    return b * v->strides[0] + h * v->strides[1] + i * v->strides[2] + j * v->strides[3];
}

typedef struct setup {
    shape s;
    bool wide; /* f64 */
    view q, k, v, out, rows, mask;
    double scale;
} setup;

static setup set_up(shape s, bool wide)
{
    setup t = { .s = s, .wide = wide, .scale = 0.3 };
    t.q = view_of(s.batch, s.heads, s.l, s.e);
    t.k = view_of(s.batch, s.groups, s.s, s.e);
    t.v = view_of(s.batch, s.groups, s.s, s.ev);
    t.out = view_of(s.batch, s.heads, s.l, s.ev);
    t.rows = (view){ { s.batch, s.heads, s.l, 1 }, { s.heads * s.l, s.l, 1, 1 } };
    t.mask = (view){ { s.batch, s.heads, s.l, s.s }, { 0, 0, s.mask == KEYS ? 0 : s.s, 1 } };
    for (int64_t i = 0; i < MOST; i++) {
        for (int n = 0; n < 4; n++)
            x[n][i] = (float)number(i + 1000 * n);
        x[4][i] = i % 11 == 3 ? -INFINITY : (float)number(i);         /* the mask */
        seen[i] = i % 5 != 2 && (i / s.s % 7 != 1 || s.mask == KEYS); /* whole rows see nothing */
    }
    return t;
}

/* ---- the simple version ---- */

static double score(const setup *t, int64_t b, int64_t h, int64_t i, int64_t j)
{
    int64_t g = h / (t->s.heads / t->s.groups), m = t->s.mask == KEYS ? j : i * t->s.s + j;
    double sum = 0;
    for (int64_t e = 0; e < t->s.e; e++)
        sum += x[0][place(&t->q, b, h, i, e)] * x[1][place(&t->k, b, g, j, e)];
    sum *= t->scale;
    if (t->s.mask == ADDED)
        sum += x[4][m];
    bool hidden = (t->s.causal && j > i) || ((t->s.mask == CHOICE || t->s.mask == KEYS) && !seen[m]);
    return hidden ? -INFINITY : sum;
}

/* The weights of a row; returns the logarithm of their sum, 0 if the row sees nothing. */
static double weights(const setup *t, int64_t b, int64_t h, int64_t i, double *p)
{
    double most = -INFINITY, sum = 0;
    for (int64_t j = 0; j < t->s.s; j++) {
        p[j] = score(t, b, h, i, j);
        most = p[j] > most ? p[j] : most;
    }
    for (int64_t j = 0; j < t->s.s; j++)
        sum += p[j] = most == -INFINITY ? 0 : exp(p[j] - most);
    for (int64_t j = 0; j < t->s.s; j++)
        p[j] /= sum > 0 ? sum : 1;
    return sum > 0 ? most + log(sum) : 0;
}

/* Results in x[5], logarithms in x[6]. */
static void attend(const setup *t)
{
    memset(x[5], 0, sizeof x[5]);
    for (int64_t r = 0; r < t->s.batch * t->s.heads * t->s.l; r++) {
        int64_t b = r / t->s.l / t->s.heads, h = r / t->s.l % t->s.heads, i = r % t->s.l;
        double p[512];
        x[6][r] = weights(t, b, h, i, p);
        for (int64_t j = 0; j < t->s.s; j++)
            for (int64_t e = 0; e < t->s.ev; e++)
                x[5][place(&t->out, b, h, i, e)] +=
                    p[j] * x[2][place(&t->v, b, h / (t->s.heads / t->s.groups), j, e)];
    }
}

/* Gradients for query, key, value in x[7], x[8], x[9]. */
static void differentiate_row(const setup *t, int64_t b, int64_t h, int64_t i)
{
    int64_t g = h / (t->s.heads / t->s.groups);
    double p[512], slope[512], mean = 0;
    weights(t, b, h, i, p);
    for (int64_t j = 0; j < t->s.s; j++) {
        slope[j] = 0;
        for (int64_t e = 0; e < t->s.ev; e++) {
            double grad = x[3][place(&t->out, b, h, i, e)];
            slope[j] += grad * x[2][place(&t->v, b, g, j, e)];
            x[9][place(&t->v, b, g, j, e)] += p[j] * grad;
        }
        mean += p[j] * slope[j];
    }
    for (int64_t j = 0; j < t->s.s; j++)
        for (int64_t e = 0; e < t->s.e; e++) {
            double d = p[j] * (slope[j] - mean) * t->scale;
            x[7][place(&t->q, b, h, i, e)] += d * x[1][place(&t->k, b, g, j, e)];
            x[8][place(&t->k, b, g, j, e)] += d * x[0][place(&t->q, b, h, i, e)];
        }
}

static void differentiate(const setup *t)
{
    memset(x[7], 0, 3 * sizeof x[7]);
    for (int64_t r = 0; r < t->s.batch * t->s.heads * t->s.l; r++)
        differentiate_row(t, r / t->s.l / t->s.heads, r / t->s.l % t->s.heads, r % t->s.l);
}

/* ---- the kernel ---- */

static lz_strided strided(const setup *t, int n, const view *v)
{
    for (int64_t i = 0; !t->wide && i < MOST; i++)
        narrow[n][i] = (float)x[n][i];
    return (lz_strided){ t->wide ? (void *)x[n] : narrow[n], t->wide ? LZ_F64 : LZ_F32, 4, v->sizes,
                         v->strides };
}

static lz_strided mask_of(const setup *t)
{
    lz_strided m = strided(t, 4, &t->mask);
    return t->s.mask == ADDED ? m : (lz_strided){ seen, LZ_BOOL, 4, t->mask.sizes, t->mask.strides };
}

static double result(const setup *t, const void *out, int64_t i)
{
    return t->wide ? ((const double *)out)[i] : (double)((const float *)out)[i];
}

static void assert_near(const setup *t, const void *out, int64_t from, const double *want, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        double got = result(t, out, from + i), off = fabs(got - want[i]);
        assert_true(off <= (t->wide ? 1e-12 : 2e-5) * (1 + fabs(want[i])));
    }
}

static int64_t numel(const view *v)
{
    return v->sizes[0] * v->sizes[1] * v->sizes[2] * v->sizes[3];
}

/* The same bits at every width and number of threads; *first: nothing to compare with yet. */
static void assert_same(void *first, const void *out, size_t bytes, bool is_first)
{
    if (is_first)
        memcpy(first, out, bytes);
    assert_memory_equal(first, out, bytes);
}

static lz_err *check_forward(const setup *t, int way, lz_pool *pool, double *first)
{
    static double out[MOST];
    int64_t all = numel(&t->out), rows = numel(&t->rows), n = all + 2 * rows, one = 1;
    int64_t params[] = { t->s.causal, t->s.mask == NONE ? 4 : 5 };
    lz_kernel_call c = { .in = { strided(t, 0, &t->q),
                                 strided(t, 1, &t->k),
                                 strided(t, 2, &t->v),
                                 { (void *)&t->scale, LZ_F64, 0, NULL, NULL },
                                 mask_of(t) },
                         .out = { out, t->wide ? LZ_F64 : LZ_F32, 1, &n, &one },
                         .params = params,
                         .pool = pool,
                         .way = way,
                         .scratch = scratch };
    assert_true(3 * lz_attention_scratch(&c) <= sizeof scratch);
    LZ_TRY(lz_attention_forward(&c));
    assert_near(t, out, 0, x[5], all);
    for (int64_t r = 0; r < rows; r++) {
        double lse = result(t, out, all + r) + log(result(t, out, all + rows + r));
        assert_true(fabs(lse - x[6][r]) <= (t->wide ? 1e-12 : 1e-5) * (1 + fabs(lse)));
    }
    assert_same(first, out, (size_t)n * (t->wide ? 8 : 4), way == 1);
    return NULL;
}

/* The sum over the ranges, and the rest. */
static void add_ranges(const setup *t, void *out, int64_t ranges)
{
    int64_t n = numel(&t->q);
    for (int64_t i = 0; i < (ranges - 1) * n; i++)
        if (t->wide)
            ((double *)out)[(ranges - 1) * n + i % n] += ((double *)out)[i];
        else
            ((float *)out)[(ranges - 1) * n + i % n] += ((float *)out)[i];
}

static lz_err *check_backward(const setup *t, int way, int64_t ranges, lz_pool *pool, double *first)
{
    static double out[MOST], delta[MOST];
    int64_t nq = numel(&t->q), nk = numel(&t->k), nv = numel(&t->v), n = ranges * nq + nk + nv, one = 1;
    int64_t params[] = { t->s.causal, t->s.mask == NONE ? 7 : 8, ranges }, rows = numel(&t->rows);
    for (int64_t r = 0; r < rows; r++) {
        int64_t b = r / t->s.l / t->s.heads, h = r / t->s.l % t->s.heads, i = r % t->s.l;
        double sum = 0;
        for (int64_t e = 0; e < t->s.ev; e++)
            sum += x[3][place(&t->out, b, h, i, e)] * x[5][place(&t->out, b, h, i, e)];
        delta[r] = sum;
        narrow_delta[r] = (float)sum;
    }
    lz_strided d = strided(t, 6, &t->rows);
    d.data = t->wide ? (void *)delta : narrow_delta;
    lz_kernel_call c = { .in = { strided(t, 3, &t->out),
                                 strided(t, 0, &t->q),
                                 strided(t, 1, &t->k),
                                 strided(t, 2, &t->v),
                                 strided(t, 6, &t->rows),
                                 d,
                                 { (void *)&t->scale, LZ_F64, 0, NULL, NULL },
                                 mask_of(t) },
                         .out = { out, t->wide ? LZ_F64 : LZ_F32, 1, &n, &one },
                         .params = params,
                         .pool = pool,
                         .way = way,
                         .scratch = scratch };
    assert_true(3 * lz_attention_backward_scratch(&c) <= sizeof scratch);
    LZ_TRY(lz_attention_backward(&c));
    assert_same(first, out, (size_t)n * (t->wide ? 8 : 4), way == 1);
    add_ranges(t, out, ranges);
    assert_near(t, out, (ranges - 1) * nq, x[7], nq);
    assert_near(t, out, ranges * nq, x[8], nk);
    assert_near(t, out, ranges * nq + nk, x[9], nv);
    return NULL;
}

static lz_err *check(const setup *t, lz_pool *three)
{
    static double first[2][MOST];
    const lz_gemm_width *widths[LZ_GEMM_WIDTHS];
    int n = lz_gemm_widths(widths);
    attend(t);
    differentiate(t);
    for (int way = 1; way <= n; way++) {
        LZ_TRY(check_forward(t, way, way % 2 ? NULL : three, first[0]));
        LZ_TRY(check_backward(t, way, 1 + t->s.l % 2, way % 2 ? three : NULL, first[1]));
    }
    return NULL;
}

static lz_err *test_shapes(void)
{
    lz_pool *three;
    LZ_TRY(lz_pool_create(3, &three));
    lz_err *e = NULL;
    for (size_t i = 0; !e && i < sizeof shapes / sizeof *shapes; i++)
        for (int wide = 0; !e && wide < 2; wide++) {
            setup t = set_up(shapes[i], wide);
            e = check(&t, three);
        }
    lz_pool_destroy(three);
    return e;
}

/* A score that is no number, or infinite, makes its row NaN and no other. */
static lz_err *test_special(void)
{
    static const double values[] = { NAN, INFINITY };
    static double out[MOST];
    for (int n = 0; n < 2; n++) {
        setup t = set_up((shape){ 1, 1, 1, 20, 150, 4, 4, false, ADDED }, true);
        int64_t params[] = { 0, 5 }, size = 20 * 6, one = 1;
        x[4][3 * 150 + 140] = values[n];
        lz_kernel_call c = { .in = { strided(&t, 0, &t.q),
                                     strided(&t, 1, &t.k),
                                     strided(&t, 2, &t.v),
                                     { &t.scale, LZ_F64, 0, NULL, NULL },
                                     mask_of(&t) },
                             .out = { out, LZ_F64, 1, &size, &one },
                             .params = params };
        LZ_TRY(lz_attention_forward(&c));
        for (int64_t i = 0; i < 20 * 4; i++)
            assert_int_equal(isnan(out[i]), i / 4 == 3);
    }
    return NULL;
}

int main(void)
{
    const struct CMUnitTest tests[] = { LZ_TEST(test_shapes), LZ_TEST(test_special) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
