/* Convolution and its gradients, our own and by oneDNN where it is there, against every pair of
 * elements that meet. */
#include "check.h"
#include "kernel/blas.h"
#include "kernel/conv_dnnl.h"
#include "small_numbers.h"
#include <stdlib.h>

typedef struct shape {
    int64_t d, groups, n, cin, cout;
    int64_t in[3], window[3], stride[3], padding[3], dilation[3];
} shape;

static int64_t out_size(const shape *s, int64_t i)
{
    return (s->in[i] + 2 * s->padding[i] - s->dilation[i] * (s->window[i] - 1) - 1) / s->stride[i] + 1;
}

typedef struct arrays {
    lz_array x, w, y;
} arrays;

/* Calls fn for each triple of elements that meet. */
typedef void meet_fn(arrays *a, lz_array *out, const int64_t *ix, const int64_t *iw, const int64_t *iy);

static void each_meeting(const shape *s, arrays *a, lz_array *out, meet_fn *fn)
{
    int64_t iy[LZ_MAX_DIMS], iw[LZ_MAX_DIMS], ix[LZ_MAX_DIMS];
    for (int64_t p = 0; p < a->y.numel; p++) {
        lz_array_index_of(&a->y, p, iy);
        for (int64_t q = 0; q < a->w.numel; q++) {
            bool in = true;
            lz_array_index_of(&a->w, q, iw);
            if (iw[0] != iy[1])
                continue;
            ix[0] = iy[0];
            ix[1] = iy[1] / (s->cout / s->groups) * (s->cin / s->groups) + iw[1];
            for (int64_t d = 0; d < s->d; d++) {
                ix[2 + d] = iy[2 + d] * s->stride[d] - s->padding[d] + iw[2 + d] * s->dilation[d];
                in = in && ix[2 + d] >= 0 && ix[2 + d] < s->in[d];
            }
            if (in)
                fn(a, out, ix, iw, iy);
        }
    }
}

static void add_to(lz_array *out, const int64_t *index, double v)
{
    lz_element_set(out->dtype, lz_scalar_float(at(out, index) + v), lz_array_at(out, index));
}

static void forward(arrays *a, lz_array *out, const int64_t *ix, const int64_t *iw, const int64_t *iy)
{
    add_to(out, iy, at(&a->x, ix) * at(&a->w, iw));
}

static void for_input(arrays *a, lz_array *out, const int64_t *ix, const int64_t *iw, const int64_t *iy)
{
    add_to(out, ix, at(&a->y, iy) * at(&a->w, iw));
}

static void for_weight(arrays *a, lz_array *out, const int64_t *ix, const int64_t *iw, const int64_t *iy)
{
    add_to(out, iw, at(&a->y, iy) * at(&a->x, ix));
}

static lz_pool *pool; /* of the convolutions below */
static int by_onednn; /* how many of them oneDNN computed */

static lz_err *check_conv(const shape *s, arrays *a, lz_kernel_call_fn *run, const lz_array *p,
                          const lz_array *q, const lz_array *like, meet_fn *fn)
{
    lz_array got = { 0 }, want = { 0 };
    int64_t params[11] = { s->d };
    for (int64_t i = 0; i < s->d; i++) {
        params[1 + i] = s->stride[i];
        params[1 + s->d + i] = s->padding[i];
        params[1 + 2 * s->d + i] = s->dilation[i];
    }
    params[1 + 3 * s->d] = s->groups;
    lz_err *e = lz_array_init(&got, NULL, like->dtype, lz_array_sizes(like));
    if (!e)
        e = lz_array_init_zero(&want, NULL, like->dtype, lz_array_sizes(like));
    const char *by = "";
    lz_kernel_call c = { .in = { strided(p), strided(q) }, .params = params, .pool = pool, .by = &by };
    if (!e) {
        c.out = strided(&got);
        e = run(&c);
        by_onednn += strcmp(by, lz_blas_name(LZ_BLAS_ONEDNN)) == 0;
    }
    if (!e) {
        each_meeting(s, a, &want, fn);
        assert_memory_equal(got.buffer->data, want.buffer->data,
                            (size_t)got.numel * lz_dtype_size(got.dtype));
    }
    lz_array_deinit(&got);
    lz_array_deinit(&want);
    return e;
}

static lz_err *check_shape(const shape *s, lz_dtype d)
{
    arrays a = { 0 };
    int64_t x[5] = { s->n, s->cin }, w[5] = { s->cout, s->cin / s->groups }, y[5] = { s->n, s->cout };
    for (int64_t i = 0; i < s->d; i++) {
        x[2 + i] = s->in[i];
        w[2 + i] = s->window[i];
        y[2 + i] = out_size(s, i);
    }
    lz_err *e = fill(&a.x, d, (lz_ints){ x, 2 + s->d });
    if (!e)
        e = fill(&a.w, d, (lz_ints){ w, 2 + s->d });
    if (!e)
        e = fill(&a.y, d, (lz_ints){ y, 2 + s->d });
    if (!e)
        e = check_conv(s, &a, lz_conv, &a.x, &a.w, &a.y, forward);
    if (!e)
        e = check_conv(s, &a, lz_conv_input, &a.y, &a.w, &a.x, for_input);
    if (!e)
        e = check_conv(s, &a, lz_conv_weight, &a.y, &a.x, &a.w, for_weight);
    lz_array_deinit(&a.x);
    lz_array_deinit(&a.w);
    lz_array_deinit(&a.y);
    return e;
}

/* Few dimensions, odd windows, groups, steps that leave something over. */
static const shape shapes[] = {
    { 2, 1, 2, 3, 4, { 6, 5 }, { 3, 2 }, { 1, 1 }, { 0, 0 }, { 1, 1 } },
    { 2, 2, 1, 4, 6, { 7, 7 }, { 3, 3 }, { 2, 1 }, { 1, 2 }, { 1, 2 } },
    { 1, 1, 3, 2, 2, { 9 }, { 4 }, { 3 }, { 2 }, { 1 } },
    { 3, 1, 1, 2, 3, { 3, 4, 5 }, { 2, 2, 2 }, { 1, 2, 1 }, { 1, 0, 1 }, { 1, 1, 2 } },
    { 2, 1, 1, 2, 3, { 8, 8 }, { 3, 3 }, { 2, 2 }, { 0, 0 }, { 1, 1 } },
    { 2, 5, 2, 5, 5, { 6, 6 }, { 3, 3 }, { 1, 1 }, { 1, 1 }, { 1, 1 } },
    { 2, 1, 1, 16, 17, { 4, 4 }, { 3, 3 }, { 1, 1 }, { 1, 1 }, { 1, 1 } },
    { 2, 2, 3, 32, 32, { 5, 3 }, { 1, 1 }, { 1, 1 }, { 0, 0 }, { 1, 1 } },
};

enum { SHAPES = sizeof shapes / sizeof *shapes };

static lz_err *test_small(void)
{
    for (size_t i = 0; i < 4; i++) {
        LZ_TRY(check_shape(&shapes[i], LZ_F32));
        LZ_TRY(check_shape(&shapes[i], LZ_I64));
    }
    return NULL;
}

/* Whether tests go by oneDNN from here on. */
static bool by_dnnl(bool on)
{
    unsetenv("LAZULI_BLAS");
    bool has = lz_blas_has(LZ_BLAS_ONEDNN);
    assert_int_equal(setenv("LAZULI_BLAS", on && has ? "onednn" : "own", 1), 0);
    return on && has;
}

static void test_every_shape(void **state)
{
    (void)state;
    for (int way = 0; way < 2; way++)
        for (size_t i = 0; i < SHAPES; i++) {
            bool dnnl = by_dnnl(way);
            assert_null(check_shape(&shapes[i], LZ_F32));
            assert_true(!dnnl || by_onednn > 0);
            assert_null(check_shape(&shapes[i], LZ_F64));
        }
    unsetenv("LAZULI_BLAS");
}

static lz_err *test_without_memory(void)
{
    by_dnnl(true);
    lz_err *e = check_shape(&shapes[6], LZ_F32);
    unsetenv("LAZULI_BLAS");
    return e;
}

/* Large enough to be cut into parts. */
static lz_err *run_large(lz_kernel_call_fn *fn, lz_array *p, lz_array *q, lz_array *out, int threads)
{
    static const int64_t params[] = { 2, 1, 1, 1, 1, 1, 1, 1 };
    lz_pool *some_pool;
    LZ_TRY(lz_pool_create(threads, &some_pool));
    lz_kernel_call c = {
        .in = { strided(p), strided(q) }, .out = strided(out), .params = params, .pool = some_pool
    };
    lz_err *e = fn(&c);
    lz_pool_destroy(some_pool);
    return e;
}

static void compare_threads(lz_kernel_call_fn *fn, lz_array *p, lz_array *q, const lz_array *like)
{
    lz_array first, other;
    assert_null(lz_array_init(&first, NULL, LZ_F32, lz_array_sizes(like)));
    assert_null(lz_array_init(&other, NULL, LZ_F32, lz_array_sizes(like)));
    assert_null(run_large(fn, p, q, &first, 1));
    for (int threads = 2; threads < 4; threads++) {
        assert_null(run_large(fn, p, q, &other, threads));
        assert_memory_equal(first.buffer->data, other.buffer->data, (size_t)first.numel * sizeof(float));
    }
    lz_array_deinit(&first);
    lz_array_deinit(&other);
}

static void test_threads_change_nothing(void **state)
{
    lz_array x, w, y;
    (void)state;
    for (int way = 0; way < 2; way++) {
        by_dnnl(way);
        assert_null(fill(&x, LZ_F32, LZ_DIMS(12, 20, 30, 30)));
        assert_null(fill(&w, LZ_F32, LZ_DIMS(24, 20, 3, 3)));
        assert_null(fill(&y, LZ_F32, LZ_DIMS(12, 24, 30, 30)));
        for (int64_t i = 0; i < x.numel; i++) /* so that sums are rounded */
            ((float *)x.buffer->data)[i] *= 0.1F;
        for (int64_t i = 0; i < y.numel; i++)
            ((float *)y.buffer->data)[i] *= 0.3F;
        compare_threads(lz_conv, &x, &w, &y);
        compare_threads(lz_conv_input, &y, &w, &x);
        compare_threads(lz_conv_weight, &y, &x, &w);
        lz_array_deinit(&x);
        lz_array_deinit(&w);
        lz_array_deinit(&y);
    }
    unsetenv("LAZULI_BLAS");
}

/* More shapes than are kept: each is right. */
static void test_more_than_are_kept(void **state)
{
    (void)state;
    by_onednn = 0;
    bool dnnl = by_dnnl(true);
    for (int64_t i = 0; dnnl && i < LZ_CONV_KEPT / 3 + 4; i++) {
        shape s = { 1, 1, 1, 2, 2, { 4 + i }, { 3 }, { 1 }, { 1 }, { 1 } };
        assert_null(check_shape(&s, LZ_F32));
    }
    assert_true(!dnnl || by_onednn > LZ_CONV_KEPT);
    unsetenv("LAZULI_BLAS");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LZ_TEST(test_small),
        cmocka_unit_test(test_every_shape),
        LZ_TEST(test_without_memory),
        cmocka_unit_test(test_threads_change_nothing),
        cmocka_unit_test(test_more_than_are_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
