#include "check.h"
#include "jit/kernel.h"
#include "jit/kernel_ir.h"
#include <math.h>

static lz_err *softmax_kernel(lz_kernel **out)
{
    lz_kernel_builder *b;
    LZ_TRY(lz_kernel_builder_create(LZ_KERNEL_ROWS, 1, 1, &b));
    lz_kernel_value x = lz_kernel_build_load(b, lz_kernel_build_access(b, LZ_F32, LZ_KERNEL_ELEMENT));
    lz_kernel_value e = lz_kernel_build_op1(
        b, LZ_KERNEL_EXP,
        lz_kernel_build_op2(b, LZ_KERNEL_SUB, x, lz_kernel_build_reduce(b, LZ_KERNEL_RMAX, x)));
    lz_kernel_value y =
        lz_kernel_build_op2(b, LZ_KERNEL_DIV, e, lz_kernel_build_reduce(b, LZ_KERNEL_RSUM, e));
    lz_kernel_build_store(b, lz_kernel_build_access(b, LZ_F32, LZ_KERNEL_ELEMENT), y);
    return lz_kernel_builder_finish(b, out);
}

enum { ROWS = 3, LENGTH = 777 };

static void expect_softmax(const float *x, const float *y)
{
    double most = -INFINITY, sum = 0;
    for (int i = 0; i < LENGTH; i++)
        most = fmax(most, (double)x[i]);
    for (int i = 0; i < LENGTH; i++)
        sum += exp((double)x[i] - most);
    for (int i = 0; i < LENGTH; i++) {
        double want = exp((double)x[i] - most) / sum;
        assert_true(fabs((double)y[i] - want) <= 1e-5 * want);
    }
}

static lz_err *test_softmax(void)
{
    static float x[ROWS][LENGTH], y[ROWS][LENGTH];
    for (int i = 0; i < ROWS * LENGTH; i++)
        x[i / LENGTH][i % LENGTH] = (float)sin(i) * 20;
    lz_kernel *k = NULL;
    LZ_TRY(softmax_kernel(&k));
    int64_t extents[] = { ROWS, LENGTH }, strides[] = { LENGTH, 1 };
    lz_kernel_access access[] = { { x, 0, strides }, { y, 0, strides } };
    lz_err *e = lz_kernel_run(k, &(lz_kernel_args){ .extents = extents, .access = access }, NULL);
    for (int r = 0; !e && r < ROWS; r++)
        expect_softmax(x[r], y[r]);
    assert_true(lz_kernel_in_place(k, 0, 1));
    lz_kernel_release(k);
    return e;
}

static lz_err *test_equal_structure_is_equal(void)
{
    lz_kernel *a = NULL, *b = NULL;
    lz_err *e = softmax_kernel(&a);
    e = e ? e : softmax_kernel(&b);
    if (!e) {
        assert_true(lz_kernel_equal(a, b));
        assert_true(lz_hash_eq(a->hash, b->hash));
    }
    lz_kernel_release(a);
    lz_kernel_release(b);
    return e;
}

static lz_err *test_print(void)
{
    lz_kernel *k = NULL;
    lz_text t = { 0 };
    LZ_TRY(softmax_kernel(&k));
    lz_kernel_print(k, &t);
    lz_err *e = lz_text_check(&t);
    if (!e)
        assert_true(lz_str_is(lz_text_view(&t), "kernel rows outer 1 row 1\n"
                                                "  access 0 : f32 element\n"
                                                "  access 1 : f32 element\n"
                                                "  %0 : f32 = load 0  # element\n"
                                                "  %1 : f32 = reduce max %0  # outer after 1\n"
                                                "  %2 : f32 = sub %0, %1  # element after 1\n"
                                                "  %3 : f32 = exp %2  # element after 1\n"
                                                "  %4 : f32 = reduce sum %3  # outer after 2\n"
                                                "  %5 : f32 = div %3, %4  # element after 2\n"
                                                "  store 1 %5\n"));
    lz_text_deinit(&t);
    lz_kernel_release(k);
    return e;
}

static lz_err *test_misuse_is_told(void)
{
    lz_kernel_builder *b;
    lz_kernel *k;
    LZ_TRY(lz_kernel_builder_create(LZ_KERNEL_ROWS, 0, 1, &b));
    lz_kernel_value x = lz_kernel_build_load(b, lz_kernel_build_access(b, LZ_BOOL, LZ_KERNEL_ELEMENT));
    lz_kernel_build_op2(b, LZ_KERNEL_ADD, x, x);
    LZ_TRY(lz_check_err(lz_kernel_builder_finish(b, &k), LZ_ERR_ARG, "there is no add of bool"));
    LZ_TRY(lz_kernel_builder_create(LZ_KERNEL_ROWS, 0, 1, &b));
    x = lz_kernel_build_load(b, lz_kernel_build_access(b, LZ_F32, LZ_KERNEL_ELEMENT));
    lz_kernel_build_op2(b, LZ_KERNEL_ADD, x, lz_kernel_build_const_i(b, LZ_KERNEL_I64, 1));
    LZ_TRY(lz_check_err(lz_kernel_builder_finish(b, &k), LZ_ERR_ARG, "add is f32, not i64"));
    LZ_TRY(lz_kernel_builder_create(LZ_KERNEL_ROWS, 0, 1, &b));
    x = lz_kernel_build_load(b, lz_kernel_build_access(b, LZ_F32, LZ_KERNEL_ELEMENT));
    lz_kernel_build_store(b, lz_kernel_build_access(b, LZ_F32, LZ_KERNEL_OUTER), x);
    return lz_check_err(lz_kernel_builder_finish(b, &k), LZ_ERR_ARG, "one place for a value per element");
}

/* x and y are replaced by x + y and x * y; what is a mere copy must not be written over. */
static lz_err *sum_and_product(bool copy, lz_kernel **out)
{
    lz_kernel_builder *b;
    LZ_TRY(lz_kernel_builder_create(LZ_KERNEL_ROWS, 0, 1, &b));
    lz_kernel_value x = lz_kernel_build_load(b, lz_kernel_build_access(b, LZ_F32, LZ_KERNEL_ELEMENT));
    lz_kernel_value y = lz_kernel_build_load(b, lz_kernel_build_access(b, LZ_F32, LZ_KERNEL_ELEMENT));
    lz_kernel_build_store(b, lz_kernel_build_access(b, LZ_F32, LZ_KERNEL_ELEMENT),
                          lz_kernel_build_op2(b, LZ_KERNEL_ADD, x, y));
    lz_kernel_build_store(b, lz_kernel_build_access(b, LZ_F32, LZ_KERNEL_ELEMENT),
                          copy ? x : lz_kernel_build_op2(b, LZ_KERNEL_MUL, x, y));
    return lz_kernel_builder_finish(b, out);
}

static lz_err *test_several_stores_in_place(void)
{
    enum { N = 1500 };
    static float x[N], y[N];
    lz_kernel *k = NULL, *copies = NULL;
    int64_t extents[] = { N }, strides[] = { 1 };
    lz_kernel_access access[] = {
        { x, 0, strides }, { y, 0, strides }, { x, 0, strides }, { y, 0, strides }
    };
    lz_err *e = sum_and_product(false, &k);
    e = e ? e : sum_and_product(true, &copies);
    for (int i = 0; i < N; i++) {
        x[i] = (float)(i % 17);
        y[i] = (float)(i % 5) - 2;
    }
    e = e ? e : lz_kernel_run(k, &(lz_kernel_args){ .extents = extents, .access = access }, NULL);
    for (int i = 0; !e && i < N; i++) {
        assert_true(x[i] == (float)(i % 17) + (float)(i % 5) - 2);
        assert_true(y[i] == (float)(i % 17) * ((float)(i % 5) - 2));
    }
    if (!e) {
        assert_true(lz_kernel_in_place(k, 0, 2) && lz_kernel_in_place(k, 1, 3));
        assert_false(lz_kernel_in_place(copies, 0, 2));
        assert_true(lz_kernel_in_place(copies, 1, 2));
    }
    lz_kernel_release(k);
    lz_kernel_release(copies);
    return e;
}

/* a += the sums of x's columns, and how many times larger that is: a is read before any row of x, and
 * once more when its new elements are known. */
static lz_err *columns_kernel(lz_kernel **out)
{
    lz_kernel_builder *b;
    LZ_TRY(lz_kernel_builder_create(LZ_KERNEL_COLUMNS, 1, 1, &b));
    lz_kernel_value a = lz_kernel_build_load(b, lz_kernel_build_access(b, LZ_F32, LZ_KERNEL_OUTER));
    lz_kernel_value x = lz_kernel_build_load(b, lz_kernel_build_access(b, LZ_F32, LZ_KERNEL_ELEMENT));
    lz_kernel_value sum =
        lz_kernel_build_op2(b, LZ_KERNEL_ADD, lz_kernel_build_reduce(b, LZ_KERNEL_RSUM, x), a);
    lz_kernel_build_store(b, lz_kernel_build_access(b, LZ_F32, LZ_KERNEL_OUTER), sum);
    lz_kernel_build_store(b, lz_kernel_build_access(b, LZ_F32, LZ_KERNEL_OUTER),
                          lz_kernel_build_op2(b, LZ_KERNEL_DIV, sum, a));
    return lz_kernel_builder_finish(b, out);
}

static lz_err *test_columns_in_place(void)
{
    enum { N = 300, HIGH = 4 };
    static float a[N], x[HIGH][N], times[N];
    lz_kernel *k = NULL;
    int64_t extents[] = { N, HIGH }, once[] = { 1, 0 }, all[] = { 1, N };
    lz_kernel_access access[] = { { a, 0, once }, { x, 0, all }, { a, 0, once }, { times, 0, once } };
    for (int i = 0; i < N; i++) {
        a[i] = (float)(i % 17 + 1);
        for (int r = 0; r < HIGH; r++)
            x[r][i] = (float)(i % 5 * r);
    }
    lz_err *e = columns_kernel(&k);
    if (!e)
        assert_true(lz_kernel_in_place(k, 0, 2));
    e = e ? e : lz_kernel_run(k, &(lz_kernel_args){ .extents = extents, .access = access }, NULL);
    for (int i = 0; !e && i < N; i++) {
        int rows = HIGH * (HIGH - 1) / 2 * (i % 5);
        float due = (float)rows + (float)(i % 17 + 1);
        assert_true(a[i] == due && times[i] == due / (float)(i % 17 + 1));
    }
    lz_kernel_release(k);
    return e;
}

/* What is built simpler than it was asked for, beside C as it was asked for. */
enum { SIMPLER = 8 };

static void simpler_values(lz_kernel_builder *b, lz_kernel_value x, lz_kernel_value y,
                           lz_kernel_value out[SIMPLER])
{
    lz_kernel_value minus_x = lz_kernel_build_op1(b, LZ_KERNEL_NEG, x),
                    minus_y = lz_kernel_build_op1(b, LZ_KERNEL_NEG, y);
    lz_kernel_value c = lz_kernel_build_const_f(b, LZ_KERNEL_F32, 3.5),
                    less = lz_kernel_build_op2(b, LZ_KERNEL_LT, x, y);
    out[0] = lz_kernel_build_op2(b, LZ_KERNEL_ADD, minus_x, y);
    out[1] = lz_kernel_build_op2(b, LZ_KERNEL_SUB, x, minus_y);
    out[2] = lz_kernel_build_op2(b, LZ_KERNEL_MUL, minus_x, c);
    out[3] = lz_kernel_build_op2(b, LZ_KERNEL_MUL, minus_x, minus_y);
    out[4] = lz_kernel_build_op3(b, LZ_KERNEL_FMA, minus_x, c, y);
    out[5] = lz_kernel_build_op3(b, LZ_KERNEL_FMA, minus_x, minus_y, c);
    out[6] = lz_kernel_build_op1(b, LZ_KERNEL_ABS, minus_x);
    out[7] = lz_kernel_build_op3(b, LZ_KERNEL_SELECT, lz_kernel_build_op1(b, LZ_KERNEL_NOT, less), x, y);
}

static void expect_simpler(float x, float y, const float got[SIMPLER])
{
    volatile float mx = -x, my = -y;
    const float want[SIMPLER] = {
        mx + y, x - my, mx * 3.5F, mx * my, fmaf(mx, 3.5F, y), fmaf(mx, my, 3.5F), fabsf(mx), !(x < y) ? x : y
    };
    for (int i = 0; i < SIMPLER; i++) {
        bool same = got[i] == want[i] && signbit(got[i]) == signbit(want[i]);
        if (!same && !(isnan(got[i]) && isnan(want[i])))
            fail_msg("%d of %g and %g: %g, not %g", i, (double)x, (double)y, (double)got[i], (double)want[i]);
    }
}

static lz_err *test_simpler_is_the_same(void)
{
    static const float x[] = { 0.0F, -0.0F, 1, -1, 1.5F, 3e38F, -1e-40F, INFINITY, -INFINITY, NAN };
    enum { N = sizeof x / sizeof *x };
    static float first[N * N], second[N * N], out[SIMPLER][N * N];
    lz_kernel_builder *b;
    lz_kernel *k = NULL;
    LZ_TRY(lz_kernel_builder_create(LZ_KERNEL_ROWS, 0, 1, &b));
    lz_kernel_value values[SIMPLER],
        vx = lz_kernel_build_load(b, lz_kernel_build_access(b, LZ_F32, LZ_KERNEL_ELEMENT));
    simpler_values(b, vx, lz_kernel_build_load(b, lz_kernel_build_access(b, LZ_F32, LZ_KERNEL_ELEMENT)),
                   values);
    int64_t extents[] = { N * N }, strides[] = { 1 };
    lz_kernel_access access[2 + SIMPLER] = { { first, 0, strides }, { second, 0, strides } };
    for (int i = 0; i < SIMPLER; i++) {
        lz_kernel_build_store(b, lz_kernel_build_access(b, LZ_F32, LZ_KERNEL_ELEMENT), values[i]);
        access[2 + i] = (lz_kernel_access){ out[i], 0, strides };
    }
    for (int i = 0; i < N * N; i++) {
        first[i] = x[i / N];
        second[i] = x[i % N];
    }
    LZ_TRY(lz_kernel_builder_finish(b, &k));
    lz_err *e = lz_kernel_run(k, &(lz_kernel_args){ .extents = extents, .access = access }, NULL);
    for (int i = 0; !e && i < N * N; i++) {
        float got[SIMPLER];
        for (int j = 0; j < SIMPLER; j++)
            got[j] = out[j][i];
        expect_simpler(first[i], second[i], got);
    }
    lz_kernel_release(k);
    return e;
}

/* Steps of whole numbers that become one. */
static lz_err *test_integer_steps_are_joined(void)
{
    lz_kernel_builder *b;
    LZ_TRY(lz_kernel_builder_create(LZ_KERNEL_ROWS, 0, 1, &b));
    lz_kernel_value x = lz_kernel_build_load(b, lz_kernel_build_access(b, LZ_I32, LZ_KERNEL_ELEMENT));
    lz_kernel_value y =
        lz_kernel_build_op2(b, LZ_KERNEL_SUB, x, lz_kernel_build_const_i(b, LZ_KERNEL_I32, INT32_MIN));
    y = lz_kernel_build_op2(b, LZ_KERNEL_ADD, y, lz_kernel_build_const_i(b, LZ_KERNEL_I32, 5));
    lz_kernel_value z =
        lz_kernel_build_op2(b, LZ_KERNEL_ADD, x, lz_kernel_build_const_i(b, LZ_KERNEL_I32, INT32_MIN + 5));
    lz_kernel_build_store(b, lz_kernel_build_access(b, LZ_I32, LZ_KERNEL_ELEMENT), y);
    lz_kernel *k;
    LZ_TRY(lz_kernel_builder_finish(b, &k));
    assert_int_equal(y, z);
    lz_kernel_release(k);
    return NULL;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LZ_TEST(test_softmax),
        LZ_TEST(test_several_stores_in_place),
        LZ_TEST(test_columns_in_place),
        LZ_TEST(test_equal_structure_is_equal),
        LZ_TEST(test_print),
        LZ_TEST(test_misuse_is_told),
        LZ_TEST(test_simpler_is_the_same),
        LZ_TEST(test_integer_steps_are_joined),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
