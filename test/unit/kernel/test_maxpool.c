/* Windows in planes against a loop over all their elements. */
#include "check.h"
#include "kernel/kernels.h"
#include <math.h>
#include <string.h>

enum { PLANES = 3, MOST_H = 13, MOST_W = 17 };

typedef struct shape {
    int64_t h, w, window[8]; /* kernel, stride, padding, dilation */
} shape;

static const shape shapes[] = {
    { 12, 16, { 2, 2, 2, 2, 0, 0, 1, 1 } }, { 13, 17, { 2, 2, 2, 2, 0, 0, 1, 1 } },
    { 5, 3, { 2, 2, 2, 2, 0, 0, 1, 1 } },   { 9, 11, { 3, 2, 1, 2, 1, 1, 1, 1 } },
    { 10, 12, { 2, 3, 2, 1, 0, 0, 3, 2 } }, { 1, 1, { 1, 1, 1, 1, 0, 0, 1, 1 } },
};

static int64_t positions(const shape *s, int d)
{
    const int64_t *w = s->window + d;
    return ((d ? s->w : s->h) + 2 * w[4] - w[6] * (w[0] - 1) - 1) / w[2] + 1;
}

/* Few values, so that many are equal. */
static float element(int64_t i)
{
    static const float special[] = { NAN, -INFINITY, 0.0F, -0.0F };
    int64_t k = i * 7919 % 41;
    return k < 4 ? special[k] : (float)(k % 7);
}

static int64_t best_of(const shape *s, const float *x, int64_t i, int64_t j)
{
    const int64_t *w = s->window;
    int64_t best = -1;
    for (int64_t k = 0; k < w[0] * w[1]; k++) {
        int64_t r = i * w[2] - w[4] + k / w[1] * w[6], c = j * w[3] - w[5] + k % w[1] * w[7],
                at = r * s->w + c;
        if (r < 0 || r >= s->h || c < 0 || c >= s->w)
            continue;
        if (best < 0 || x[at] > x[best] || (isnan(x[at]) && !isnan(x[best])))
            best = at;
    }
    return best;
}

/* transposed: columns of the plane lie together. */
static lz_err *check(const shape *s, bool transposed, lz_pool *pool)
{
    float plain[PLANES][MOST_H * MOST_W], x[PLANES * MOST_H * MOST_W], v[PLANES * MOST_H * MOST_W];
    int64_t at[PLANES * MOST_H * MOST_W], oh = positions(s, 0), ow = positions(s, 1), area = s->h * s->w;
    for (int64_t i = 0; i < PLANES * area; i++) {
        int64_t k = i % area, r = k / s->w, c = k % s->w;
        plain[i / area][k] = element(i);
        x[i / area * area + (transposed ? c * s->h + r : k)] = element(i);
    }
    int64_t sizes[] = { PLANES, s->h, s->w }, out[] = { PLANES, oh, ow }, dense[] = { oh * ow, ow, 1 };
    int64_t strides[] = { area, transposed ? 1 : s->w, transposed ? s->h : 1 };
    lz_kernel_call call = { .in = { { x, LZ_F32, 3, sizes, strides } },
                            .out = { v, LZ_F32, 3, out, dense },
                            .params = s->window,
                            .pool = pool };
    LZ_TRY(lz_pool_greatest(&call));
    call.out = (lz_strided){ at, LZ_I64, 3, out, dense };
    LZ_TRY(lz_pool_places(&call));
    for (int64_t i = 0; i < PLANES * oh * ow; i++) {
        const float *plane = plain[i / (oh * ow)];
        int64_t best = best_of(s, plane, i / ow % oh, i % ow);
        assert_int_equal(at[i], best);
        assert_memory_equal(&v[i], &plane[best], sizeof *v);
    }
    return NULL;
}

static lz_err *test_windows(void)
{
    lz_pool *two;
    LZ_TRY(lz_pool_create(2, &two));
    lz_err *e = NULL;
    for (size_t i = 0; !e && i < sizeof shapes / sizeof *shapes; i++)
        for (int k = 0; !e && k < 4; k++)
            e = check(&shapes[i], k % 2, k / 2 ? two : NULL);
    lz_pool_destroy(two);
    return e;
}

/* Sums at indices, line by line, begin with what was there. */
static lz_err *test_lines(void)
{
    enum { LINES = 3, SIZE = 5, N = 4 };
    double base[LINES * SIZE], source[LINES * N], out[LINES * SIZE], want[LINES * SIZE], one = 7;
    int64_t index[LINES * N], sizes[] = { LINES, SIZE }, dense[] = { SIZE, 1 }, still[] = { 0, 0 };
    int64_t small[] = { LINES, N }, rows[] = { N, 1 }, params[] = { 1, 1, 0, 0, 0 };
    for (int64_t i = 0; i < LINES * SIZE; i++)
        base[i] = (double)i;
    for (int64_t i = 0; i < LINES * N; i++) {
        index[i] = i * 3 % SIZE;
        source[i] = (double)(i * i);
    }
    for (int constant = 0; constant < 2; constant++) {
        lz_kernel_call call = { .in = { { constant ? &one : base, LZ_F64, 2, sizes,
                                          constant ? still : dense },
                                        { index, LZ_I64, 2, small, rows },
                                        { source, LZ_F64, 2, small, rows } },
                                .out = { out, LZ_F64, 2, sizes, dense },
                                .params = params };
        for (int64_t i = 0; i < LINES * SIZE; i++)
            want[i] = constant ? one : base[i];
        for (int64_t i = 0; i < LINES * N; i++)
            want[i / N * SIZE + index[i]] += source[i];
        LZ_TRY(lz_scatter_into(&call));
        assert_memory_equal(out, want, sizeof want);
    }
    return NULL;
}

int main(void)
{
    const struct CMUnitTest tests[] = { LZ_TEST(test_windows), LZ_TEST(test_lines) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
