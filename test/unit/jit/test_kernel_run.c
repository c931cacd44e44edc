#include "check.h"
#include "jit/kernel.h"
#include "jit/kernel_ir.h"
#include <math.h>

static const int64_t flat[] = { 0, 1 };

/* Runs and lets the kernel go. */
static lz_err *run_once(lz_kernel *k, const int64_t *extents, const lz_kernel_access *access,
                        const lz_kernel_scalar *params)
{
    lz_err *e =
        lz_kernel_run(k, &(lz_kernel_args){ .extents = extents, .access = access, .params = params }, NULL);
    lz_kernel_release(k);
    return e;
}

static lz_err *test_pointwise(void)
{
    lz_kernel_builder *b;
    LZ_TRY(lz_kernel_builder_create(LZ_KERNEL_ROWS, 0, 2, &b));
    lz_kernel_value x = lz_kernel_build_load(b, lz_kernel_build_access(b, LZ_F32, LZ_KERNEL_ELEMENT));
    lz_kernel_value y = lz_kernel_build_load(b, lz_kernel_build_access(b, LZ_F32, LZ_KERNEL_ELEMENT));
    lz_kernel_value s = lz_kernel_build_param(b, LZ_KERNEL_F32);
    lz_kernel_value r = lz_kernel_build_op1(
        b, LZ_KERNEL_EXP,
        lz_kernel_build_op2(b, LZ_KERNEL_ADD, lz_kernel_build_op2(b, LZ_KERNEL_MUL, x, s), y));
    lz_kernel_build_store(b, lz_kernel_build_access(b, LZ_F32, LZ_KERNEL_ELEMENT), r);
    lz_kernel *k;
    LZ_TRY(lz_kernel_builder_finish(b, &k));
    float in[6] = { 0, 0.5f, -1, 2, 3, -0.25f }, row[3] = { 1, 2, 3 }, out[6];
    const int64_t dense[] = { 3, 1 }, broadcast[] = { 0, 1 }, transposed[] = { 1, 2 }, extents[] = { 2, 3 };
    const lz_kernel_access access[] = { { in, 0, dense }, { row, 0, broadcast }, { out, 0, transposed } };
    LZ_TRY(run_once(k, extents, access, &(lz_kernel_scalar){ .f = 0.5 }));
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 3; j++)
            assert_true(fabs((double)out[j * 2 + i] / exp((double)(in[i * 3 + j] * 0.5f + row[j])) - 1)
                        < 0x1p-23);
    return NULL;
}

static lz_err *softmax(lz_kernel_mode mode, lz_kernel **out)
{
    lz_kernel_builder *b;
    LZ_TRY(lz_kernel_builder_create(mode, 1, 1, &b));
    lz_kernel_value x = lz_kernel_build_load(b, lz_kernel_build_access(b, LZ_F32, LZ_KERNEL_ELEMENT));
    lz_kernel_value e = lz_kernel_build_op1(
        b, LZ_KERNEL_EXP,
        lz_kernel_build_op2(b, LZ_KERNEL_SUB, x, lz_kernel_build_reduce(b, LZ_KERNEL_RMAX, x)));
    lz_kernel_value y =
        lz_kernel_build_op2(b, LZ_KERNEL_DIV, e, lz_kernel_build_reduce(b, LZ_KERNEL_RSUM, e));
    lz_kernel_build_store(b, lz_kernel_build_access(b, LZ_F32, LZ_KERNEL_ELEMENT), y);
    return lz_kernel_builder_finish(b, out);
}

static lz_err *test_softmax(void)
{
    enum { ROWS = 3, COLS = 150 };
    static float in[ROWS * COLS], out[ROWS * COLS];
    lz_kernel *k;
    LZ_TRY(softmax(LZ_KERNEL_ROWS, &k));
    for (int i = 0; i < ROWS * COLS; i++)
        in[i] = (float)(i * 37 % 101) / 10;
    const int64_t dense[] = { COLS, 1 }, extents[] = { ROWS, COLS };
    LZ_TRY(run_once(k, extents, (lz_kernel_access[]){ { in, 0, dense }, { out, 0, dense } }, NULL));
    for (int i = 0; i < ROWS; i++) {
        double sum = 0;
        for (int j = 0; j < COLS; j++)
            sum += exp((double)in[i * COLS + j]);
        for (int j = 0; j < COLS; j++)
            assert_true(fabs((double)out[i * COLS + j] * sum / exp((double)in[i * COLS + j]) - 1) < 2e-6);
    }
    return NULL;
}

/* The outer dimension is the column, the row goes down. */
static lz_err *test_column_sum(void)
{
    for (int mode = LZ_KERNEL_ROWS; mode <= LZ_KERNEL_COLUMNS; mode++) {
        lz_kernel_builder *b;
        LZ_TRY(lz_kernel_builder_create((lz_kernel_mode)mode, 1, 1, &b));
        lz_kernel_value x = lz_kernel_build_load(b, lz_kernel_build_access(b, LZ_F64, LZ_KERNEL_ELEMENT));
        lz_kernel_build_store(b, lz_kernel_build_access(b, LZ_F64, LZ_KERNEL_OUTER),
                              lz_kernel_build_reduce(b, LZ_KERNEL_RSUM, x));
        lz_kernel *k;
        LZ_TRY(lz_kernel_builder_finish(b, &k));
        double in[100][2], out[2] = { -1, -1 };
        for (int i = 0; i < 100; i++) {
            in[i][0] = i;
            in[i][1] = -2 * i;
        }
        const int64_t down[] = { 1, 2 }, to[] = { 1, 0 }, extents[] = { 2, 100 }, none[] = { 2, 0 };
        const lz_kernel_access access[] = { { in, 0, down }, { out, 0, to } };
        lz_kernel_retain(k);
        lz_err *e = run_once(k, extents, access, NULL);
        assert_true(e || (out[0] == 4950 && out[1] == -9900));
        e = lz_err_first(e, run_once(k, none, access, NULL));
        assert_true(e || (out[0] == 0 && out[1] == 0));
        LZ_TRY(e);
    }
    return NULL;
}

static lz_err *test_argmax_and_max_prefer_nan(void)
{
    lz_kernel_builder *b;
    LZ_TRY(lz_kernel_builder_create(LZ_KERNEL_ROWS, 1, 1, &b));
    lz_kernel_value x = lz_kernel_build_load(b, lz_kernel_build_access(b, LZ_F32, LZ_KERNEL_ELEMENT));
    const lz_kernel_reduction kinds[] = { LZ_KERNEL_RARGMAX, LZ_KERNEL_RARGMIN };
    for (int i = 0; i < 2; i++)
        lz_kernel_build_store(b, lz_kernel_build_access(b, LZ_I64, LZ_KERNEL_OUTER),
                              lz_kernel_build_reduce(b, kinds[i], x));
    lz_kernel_build_store(b, lz_kernel_build_access(b, LZ_F32, LZ_KERNEL_OUTER),
                          lz_kernel_build_reduce(b, LZ_KERNEL_RMAX, x));
    lz_kernel *k;
    LZ_TRY(lz_kernel_builder_finish(b, &k));
    float in[2][5] = { { 1, 7, -3, 7, -3 }, { 1, 9, NAN, 3, NAN } }, max[2];
    int64_t most[2], least[2];
    const int64_t rows[] = { 5, 1 }, to[] = { 1, 0 }, extents[] = { 2, 5 };
    const lz_kernel_access access[] = { { in, 0, rows }, { most, 0, to }, { least, 0, to }, { max, 0, to } };
    LZ_TRY(run_once(k, extents, access, NULL));
    assert_true(most[0] == 1 && least[0] == 2 && max[0] == 7);
    assert_true(most[1] == 2 && least[1] == 2 && isnan(max[1]));
    return NULL;
}

/* Padding by one on both sides: nothing is read outside. */
static lz_err *test_masked_load(void)
{
    lz_kernel_builder *b;
    LZ_TRY(lz_kernel_builder_create(LZ_KERNEL_ROWS, 0, 1, &b));
    int from = lz_kernel_build_access(b, LZ_I16, LZ_KERNEL_ELEMENT);
    lz_kernel_value i = lz_kernel_build_affine(b, lz_kernel_build_access(b, LZ_I64, LZ_KERNEL_ELEMENT));
    lz_kernel_value inside = lz_kernel_build_op2(
        b, LZ_KERNEL_AND,
        lz_kernel_build_op2(b, LZ_KERNEL_GE, i, lz_kernel_build_const_i(b, LZ_KERNEL_I64, 0)),
        lz_kernel_build_op2(b, LZ_KERNEL_LT, i, lz_kernel_build_param(b, LZ_KERNEL_I64)));
    lz_kernel_value x =
        lz_kernel_build_load_if(b, from, inside, lz_kernel_build_const_i(b, LZ_KERNEL_I32, 9));
    lz_kernel_build_store(b, lz_kernel_build_access(b, LZ_I16, LZ_KERNEL_ELEMENT), x);
    lz_kernel *k;
    LZ_TRY(lz_kernel_builder_finish(b, &k));
    int16_t in[3] = { 1, -2, 3 }, out[5], want[5] = { 9, 1, -2, 3, 9 };
    const lz_kernel_access access[] = { { in, -1, flat + 1 }, { NULL, -1, flat + 1 }, { out, 0, flat + 1 } };
    LZ_TRY(run_once(k, (int64_t[]){ 5 }, access, &(lz_kernel_scalar){ .i = 3 }));
    assert_memory_equal(out, want, sizeof want);
    return NULL;
}

static lz_err *test_gather_is_checked(void)
{
    lz_kernel_builder *b;
    LZ_TRY(lz_kernel_builder_create(LZ_KERNEL_ROWS, 0, 1, &b));
    lz_kernel_value i = lz_kernel_build_load(b, lz_kernel_build_access(b, LZ_I64, LZ_KERNEL_ELEMENT));
    lz_kernel_value at = lz_kernel_build_check(b, i, lz_kernel_build_param(b, LZ_KERNEL_I64), 2, true);
    lz_kernel_value x = lz_kernel_build_gather(b, lz_kernel_build_access(b, LZ_F64, LZ_KERNEL_OUTER), at);
    lz_kernel_build_store(b, lz_kernel_build_access(b, LZ_F64, LZ_KERNEL_ELEMENT), x);
    lz_kernel *k;
    LZ_TRY(lz_kernel_builder_finish(b, &k));
    int64_t index[3] = { 2, -3, 1 };
    double in[3] = { 10, 20, 30 }, out[3] = { 0 }, want[3] = { 30, 10, 20 };
    const lz_kernel_access access[] = { { index, 0, flat + 1 }, { in, 0, flat }, { out, 0, flat + 1 } };
    lz_kernel_retain(k);
    lz_err *e = run_once(k, (int64_t[]){ 3 }, access, &(lz_kernel_scalar){ .i = 3 });
    if (!e)
        assert_memory_equal(out, want, sizeof want);
    index[1] = -4;
    lz_err *bad = run_once(k, (int64_t[]){ 3 }, access, &(lz_kernel_scalar){ .i = 3 });
    bad = lz_check_err(bad, LZ_ERR_ARG, "index -4 is out of bounds for dimension 2 with size 3");
    return lz_err_first(e, bad);
}

static lz_err *test_scans(void)
{
    lz_kernel_builder *b;
    LZ_TRY(lz_kernel_builder_create(LZ_KERNEL_ROWS, 1, 1, &b));
    lz_kernel_value x = lz_kernel_build_load(b, lz_kernel_build_access(b, LZ_I32, LZ_KERNEL_ELEMENT));
    lz_kernel_value sum = lz_kernel_build_scan(b, LZ_KERNEL_RSUM, x);
    lz_kernel_build_store(b, lz_kernel_build_access(b, LZ_I32, LZ_KERNEL_ELEMENT), sum);
    lz_kernel_build_store(b, lz_kernel_build_access(b, LZ_I64, LZ_KERNEL_ELEMENT),
                          lz_kernel_build_scan(b, LZ_KERNEL_RARGMAX, x));
    lz_kernel_build_store(b, lz_kernel_build_access(b, LZ_I32, LZ_KERNEL_OUTER),
                          lz_kernel_build_reduce(b, LZ_KERNEL_RMAX, sum));
    lz_kernel *k;
    LZ_TRY(lz_kernel_builder_finish(b, &k));
    int32_t in[2][4] = { { 1, 3, -9, 3 }, { -1, -2, 5, 1 } }, sums[2][4], most[2];
    const int32_t want[2][4] = { { 1, 4, -5, -2 }, { -1, -3, 2, 3 } };
    int64_t at[2][4];
    const int64_t want_at[2][4] = { { 0, 1, 1, 3 }, { 0, 0, 2, 2 } };
    const int64_t rows[] = { 4, 1 }, to[] = { 1, 0 };
    const lz_kernel_access access[] = {
        { in, 0, rows }, { sums, 0, rows }, { at, 0, rows }, { most, 0, to }
    };
    LZ_TRY(run_once(k, (int64_t[]){ 2, 4 }, access, NULL));
    assert_memory_equal(sums, want, sizeof want);
    assert_memory_equal(at, want_at, sizeof want_at);
    assert_true(most[0] == 4 && most[1] == 3);
    return NULL;
}

/* One value, cast and stored. */
static lz_err *cast_once(lz_dtype from, const void *in, lz_dtype to, void *out)
{
    lz_kernel_builder *b;
    LZ_TRY(lz_kernel_builder_create(LZ_KERNEL_ROWS, 0, 0, &b));
    lz_kernel_value x = lz_kernel_build_cast(
        b, lz_kernel_build_load(b, lz_kernel_build_access(b, from, LZ_KERNEL_ELEMENT)), to);
    lz_kernel_build_store(b, lz_kernel_build_access(b, to, LZ_KERNEL_ELEMENT), x);
    lz_kernel *k;
    LZ_TRY(lz_kernel_builder_finish(b, &k));
    union {
        const void *from;
        void *base;
    } source = { in };
    return run_once(k, NULL, (lz_kernel_access[]){ { source.base, 0, NULL }, { out, 0, NULL } }, NULL);
}

static lz_err *test_casts(void)
{
    int8_t i8 = 0;
    LZ_TRY(cast_once(LZ_I64, &(int64_t){ 200 }, LZ_I8, &i8));
    assert_int_equal(i8, -56);
    uint8_t u8 = 0;
    LZ_TRY(cast_once(LZ_F32, &(float){ -1.5f }, LZ_U8, &u8));
    assert_int_equal(u8, 255);
    int64_t i64 = 0;
    LZ_TRY(cast_once(LZ_F64, &(double){ NAN }, LZ_I64, &i64));
    assert_true(i64 == INT64_MIN);
    uint8_t truth = 7;
    LZ_TRY(cast_once(LZ_F64, &(double){ NAN }, LZ_BOOL, &truth));
    assert_int_equal(truth, 1);
    float f32 = 0;
    LZ_TRY(cast_once(LZ_I64, &(int64_t){ INT64_C(0x1000001000000001) }, LZ_F32, &f32));
    assert_true(f32 == 0x1.000002p60f);
    return NULL;
}

static lz_err *test_half_and_bfloat(void)
{
    static const struct {
        lz_dtype to;
        float x;
        unsigned bits;
    } cases[] = {
        { LZ_F16, 1, 0x3c00 },           { LZ_F16, -2.5f, 0xc100 },
        { LZ_F16, 65519, 0x7bff },       { LZ_F16, 65520, 0x7c00 },
        { LZ_F16, 0x1p-24f, 1 },         { LZ_F16, 0x1p-25f, 0 },
        { LZ_F16, 0x1.8p-25f, 1 },       { LZ_F16, 2049, 0x6800 },
        { LZ_F16, 2051, 0x6802 },        { LZ_F16, -0.0f, 0x8000 },
        { LZ_F16, 0x1.ffep-15f, 0x400 }, { LZ_BF16, 1, 0x3f80 },
        { LZ_BF16, 0x1.01p0f, 0x3f80 },  { LZ_BF16, 0x1.03p0f, 0x3f82 },
        { LZ_BF16, -INFINITY, 0xff80 },  { LZ_BF16, 0x1.fffffep127f, 0x7f80 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint16_t h = 0;
        LZ_TRY(cast_once(LZ_F32, &cases[i].x, cases[i].to, &h));
        assert_int_equal(h, cases[i].bits);
        float back = 0, again = 0;
        LZ_TRY(cast_once(cases[i].to, &h, LZ_F32, &back));
        LZ_TRY(cast_once(LZ_F32, &back, LZ_F32, &again));
        assert_true(back == again && signbit(back) == signbit(cases[i].x));
    }
    return NULL;
}

static lz_err *int_op(lz_kernel_op op, int64_t x, int64_t y, int64_t *out)
{
    lz_kernel_builder *b;
    LZ_TRY(lz_kernel_builder_create(LZ_KERNEL_ROWS, 0, 0, &b));
    lz_kernel_value v = lz_kernel_build_param(b, LZ_KERNEL_I32), w = lz_kernel_build_param(b, LZ_KERNEL_I32);
    lz_kernel_value r =
        lz_kernel_op_operands(op) == 1 ? lz_kernel_build_op1(b, op, v) : lz_kernel_build_op2(b, op, v, w);
    lz_kernel_build_store(b, lz_kernel_build_access(b, LZ_I64, LZ_KERNEL_OUTER),
                          lz_kernel_build_cast(b, r, LZ_I64));
    lz_kernel *k;
    LZ_TRY(lz_kernel_builder_finish(b, &k));
    return run_once(k, NULL, &(lz_kernel_access){ out, 0, NULL },
                    (lz_kernel_scalar[]){ { .i = x }, { .i = y } });
}

static lz_err *test_integers(void)
{
    static const struct {
        lz_kernel_op op;
        int64_t x, y, want;
    } cases[] = {
        { LZ_KERNEL_ADD, INT32_MAX, 1, INT32_MIN },
        { LZ_KERNEL_IDIV, -7, 2, -3 },
        { LZ_KERNEL_IDIV, INT32_MIN, -1, INT32_MIN },
        { LZ_KERNEL_IDIV_FLOOR, -7, 2, -4 },
        { LZ_KERNEL_IDIV_FLOOR, 7, 2, 3 },
        { LZ_KERNEL_FMOD, -7, 3, -1 },
        { LZ_KERNEL_REMAINDER, -7, 3, 2 },
        { LZ_KERNEL_REMAINDER, 7, -3, -2 },
        { LZ_KERNEL_SHL, 1, 31, INT32_MIN },
        { LZ_KERNEL_SHL, 1, 32, 0 },
        { LZ_KERNEL_SHR, -8, 1, -4 },
        { LZ_KERNEL_SHR, -8, -1, -1 },
        { LZ_KERNEL_SHRU, -1, 28, 15 },
        { LZ_KERNEL_GCD, -12, 18, 6 },
        { LZ_KERNEL_POW, 3, 5, 243 },
        { LZ_KERNEL_POW, -1, -3, -1 },
        { LZ_KERNEL_POW, 2, -1, 0 },
        { LZ_KERNEL_NOT, 5, 0, -6 },
        { LZ_KERNEL_ABS, INT32_MIN, 0, INT32_MIN },
        { LZ_KERNEL_GT, 2, 1, 1 },
        { LZ_KERNEL_GE, 1, 2, 0 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t got = 77;
        LZ_TRY(int_op(cases[i].op, cases[i].x, cases[i].y, &got));
        assert_int_equal(got, cases[i].want);
    }
    int64_t got;
    return lz_check_err(int_op(LZ_KERNEL_REMAINDER, 1, 0, &got), LZ_ERR_ARG, "division by zero");
}

/* The known answers that Random123 publishes. */
static lz_err *test_philox(void)
{
    static const struct {
        int64_t seed, stream, index;
        uint32_t want[4];
    } cases[] = {
        { 0, 0, 0, { 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8 } },
        { -1, -1, -1, { 0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd } },
    };
    lz_kernel_builder *b;
    LZ_TRY(lz_kernel_builder_create(LZ_KERNEL_ROWS, 0, 0, &b));
    lz_kernel_value seed = lz_kernel_build_param(b, LZ_KERNEL_I64),
                    stream = lz_kernel_build_param(b, LZ_KERNEL_I64),
                    index = lz_kernel_build_param(b, LZ_KERNEL_I64);
    for (int i = 0; i < 4; i++)
        lz_kernel_build_store(b, lz_kernel_build_access(b, LZ_I64, LZ_KERNEL_OUTER),
                              lz_kernel_build_philox(b, i, seed, stream, index));
    lz_kernel *k;
    LZ_TRY(lz_kernel_builder_finish(b, &k));
    lz_err *e = NULL;
    for (int c = 0; c < 2; c++) {
        int64_t out[4] = { 0 };
        const lz_kernel_access access[] = {
            { out, 0, NULL }, { out, 1, NULL }, { out, 2, NULL }, { out, 3, NULL }
        };
        const lz_kernel_scalar params[] = { { .i = cases[c].seed },
                                            { .i = cases[c].stream },
                                            { .i = cases[c].index } };
        lz_kernel_retain(k);
        e = lz_err_first(e, run_once(k, NULL, access, params));
        for (int i = 0; !e && i < 4; i++)
            assert_int_equal(out[i], cases[c].want[i]);
    }
    lz_kernel_release(k);
    return e;
}

static lz_err *float_op(lz_kernel_op op, double x, double *out)
{
    lz_kernel_builder *b;
    LZ_TRY(lz_kernel_builder_create(LZ_KERNEL_ROWS, 0, 0, &b));
    lz_kernel_build_store(b, lz_kernel_build_access(b, LZ_F64, LZ_KERNEL_OUTER),
                          lz_kernel_build_op1(b, op, lz_kernel_build_param(b, LZ_KERNEL_F64)));
    lz_kernel *k;
    LZ_TRY(lz_kernel_builder_finish(b, &k));
    return run_once(k, NULL, &(lz_kernel_access){ out, 0, NULL }, &(lz_kernel_scalar){ .f = x });
}

/* Against what defines them: erf, and differences of lgamma's logarithms. */
static lz_err *test_special_functions(void)
{
    double y;
    for (int i = -9; i <= 9; i++) {
        double x = i * 0.111;
        LZ_TRY(float_op(LZ_KERNEL_ERFINV, x, &y));
        assert_true(fabs(erf(y) - x) < 1e-15);
    }
    const double points[] = { 0.3, 1, 2.5, 40, -0.5, -3.7 };
    for (int i = 0; i < 6; i++) {
        double next, x = points[i];
        LZ_TRY(float_op(LZ_KERNEL_DIGAMMA, x, &y));
        LZ_TRY(float_op(LZ_KERNEL_DIGAMMA, x + 1, &next));
        assert_true(fabs(next - y - 1 / x) < 1e-13);
    }
    LZ_TRY(float_op(LZ_KERNEL_DIGAMMA, 1, &y));
    assert_true(fabs(y + 0.57721566490153286) < 1e-14);
    LZ_TRY(float_op(LZ_KERNEL_DIGAMMA, -2, &y));
    assert_true(isnan(y));
    LZ_TRY(float_op(LZ_KERNEL_ERFINV, -1, &y));
    assert_true(y == (double)-INFINITY);
    return NULL;
}

static lz_err *test_zero_extents_do_nothing(void)
{
    lz_kernel *k;
    LZ_TRY(softmax(LZ_KERNEL_ROWS, &k));
    const int64_t dense[] = { 4, 1 };
    const lz_kernel_access access[] = { { NULL, 0, dense }, { NULL, 0, dense } };
    lz_kernel_retain(k);
    lz_err *e = run_once(k, (int64_t[]){ 0, 4 }, access, NULL);
    return lz_err_first(e, run_once(k, (int64_t[]){ 4, 0 }, access, NULL));
}

static lz_err *test_equal_structure_is_equal(void)
{
    lz_kernel *a = NULL, *b = NULL, *c = NULL;
    lz_text text = { 0 };
    lz_err *e = softmax(LZ_KERNEL_ROWS, &a);
    e = e ? e : softmax(LZ_KERNEL_ROWS, &b);
    e = e ? e : softmax(LZ_KERNEL_COLUMNS, &c);
    if (!e) {
        assert_true(lz_kernel_equal(a, b) && lz_hash_eq(a->hash, b->hash));
        assert_false(lz_kernel_equal(a, c));
        assert_true(lz_kernel_in_place(a, 0, 1));
        assert_false(lz_kernel_in_place(a, 1, 0));
        lz_kernel_print(a, &text);
        e = lz_text_check(&text);
    }
    if (!e)
        assert_true(lz_str_find(lz_text_view(&text), LZ_STR("reduce max %0")) != SIZE_MAX);
    lz_text_deinit(&text);
    lz_kernel_release(a);
    lz_kernel_release(b);
    lz_kernel_release(c);
    return e;
}

/* A store made before the last reduction is known may not overwrite what that reads. */
static lz_err *test_in_place_waits_for_later_stages(void)
{
    lz_kernel_builder *b;
    LZ_TRY(lz_kernel_builder_create(LZ_KERNEL_ROWS, 1, 1, &b));
    int in = lz_kernel_build_access(b, LZ_F32, LZ_KERNEL_ELEMENT),
        early = lz_kernel_build_access(b, LZ_F32, LZ_KERNEL_ELEMENT);
    int late = lz_kernel_build_access(b, LZ_F32, LZ_KERNEL_ELEMENT),
        wide = lz_kernel_build_access(b, LZ_F64, LZ_KERNEL_ELEMENT);
    lz_kernel_value x = lz_kernel_build_load(b, in),
                    y = lz_kernel_build_op2(b, LZ_KERNEL_SUB, x,
                                            lz_kernel_build_reduce(b, LZ_KERNEL_RMAX, x));
    lz_kernel_build_store(b, early, lz_kernel_build_op1(b, LZ_KERNEL_NEG, x));
    lz_kernel_build_store(b, late, y);
    lz_kernel_build_store(b, wide, lz_kernel_build_cast(b, y, LZ_F64));
    lz_kernel *k;
    LZ_TRY(lz_kernel_builder_finish(b, &k));
    assert_false(lz_kernel_in_place(k, in, early));
    assert_true(lz_kernel_in_place(k, in, late));
    assert_false(lz_kernel_in_place(k, in, wide));
    lz_kernel_release(k);
    return NULL;
}

/* Nor what a row still reads that was loaded once for it. */
static lz_err *test_in_place_waits_for_the_row(void)
{
    lz_kernel_builder *b;
    LZ_TRY(lz_kernel_builder_create(LZ_KERNEL_ROWS, 1, 1, &b));
    int in = lz_kernel_build_access(b, LZ_F32, LZ_KERNEL_OUTER),
        all = lz_kernel_build_access(b, LZ_F32, LZ_KERNEL_ELEMENT);
    int early = lz_kernel_build_access(b, LZ_F32, LZ_KERNEL_OUTER),
        late = lz_kernel_build_access(b, LZ_F32, LZ_KERNEL_OUTER);
    lz_kernel_value x = lz_kernel_build_load(b, in),
                    y = lz_kernel_build_op2(b, LZ_KERNEL_MUL, x, lz_kernel_build_load(b, all));
    lz_kernel_build_store(b, early, lz_kernel_build_op1(b, LZ_KERNEL_NEG, x));
    lz_kernel_build_store(b, late, lz_kernel_build_reduce(b, LZ_KERNEL_RMAX, y));
    lz_kernel *k;
    LZ_TRY(lz_kernel_builder_finish(b, &k));
    assert_false(lz_kernel_in_place(k, in, early));
    assert_true(lz_kernel_in_place(k, in, late));
    lz_kernel_release(k);
    return NULL;
}

static lz_err *test_values_are_shared_and_typed(void)
{
    lz_kernel_builder *b;
    LZ_TRY(lz_kernel_builder_create(LZ_KERNEL_ROWS, 1, 1, &b));
    lz_kernel_value x = lz_kernel_build_load(b, lz_kernel_build_access(b, LZ_BF16, LZ_KERNEL_ELEMENT)),
                    one = lz_kernel_build_const_i(b, LZ_KERNEL_F32, 1);
    lz_kernel_value r = lz_kernel_build_op2(b, LZ_KERNEL_LT, x, one);
    int n = lz_kernel_build_count(b);
    bool same = lz_kernel_build_op2(b, LZ_KERNEL_GT, lz_kernel_build_const_f(b, LZ_KERNEL_F32, 1), x) == r
                && lz_kernel_build_count(b) == n;
    bool typed = lz_kernel_build_type(b, r) == LZ_KERNEL_BOOL && lz_kernel_build_varies(b, r)
                 && !lz_kernel_build_varies(b, one);
    bool row = !lz_kernel_build_varies(b, lz_kernel_build_reduce(b, LZ_KERNEL_ROR, r));
    lz_kernel *k;
    LZ_TRY(lz_kernel_builder_finish(b, &k));
    lz_kernel_release(k);
    assert_true(same && typed && row);
    return NULL;
}

static lz_err *test_first_error_sticks(void)
{
    lz_kernel_builder *b;
    LZ_TRY(lz_kernel_builder_create(LZ_KERNEL_ROWS, 1, 1, &b));
    lz_kernel_value x = lz_kernel_build_load(b, lz_kernel_build_access(b, LZ_F32, LZ_KERNEL_ELEMENT));
    lz_kernel_value bad =
        lz_kernel_build_op2(b, LZ_KERNEL_ADD, x, lz_kernel_build_const_i(b, LZ_KERNEL_I32, 1));
    lz_kernel_build_store(b, lz_kernel_build_access(b, LZ_C64, LZ_KERNEL_ELEMENT),
                          lz_kernel_build_op1(b, LZ_KERNEL_EXP, bad));
    lz_kernel *k;
    return lz_check_err(lz_kernel_builder_finish(b, &k), LZ_ERR_ARG, "add");
}

static lz_err *test_too_many_values_are_refused(void)
{
    lz_kernel_builder *b;
    LZ_TRY(lz_kernel_builder_create(LZ_KERNEL_ROWS, 0, 1, &b));
    lz_kernel_value x = lz_kernel_build_load(b, lz_kernel_build_access(b, LZ_I32, LZ_KERNEL_ELEMENT));
    for (int i = 0; i < LZ_KERNEL_OPS; i++)
        x = lz_kernel_build_op2(b, i % 2 ? LZ_KERNEL_XOR : LZ_KERNEL_ADD, x,
                                lz_kernel_build_const_i(b, LZ_KERNEL_I32, i + 1));
    lz_kernel_build_store(b, lz_kernel_build_access(b, LZ_I32, LZ_KERNEL_ELEMENT), x);
    lz_kernel *k;
    return lz_check_err(lz_kernel_builder_finish(b, &k), LZ_ERR_LIMIT, "values");
}

static lz_err *test_operations_are_found_by_text(void)
{
    for (int i = 0; i < LZ_KERNEL_OP_COUNT; i++) {
        lz_kernel_op op = LZ_KERNEL_OP_COUNT;
        assert_true(lz_kernel_op_find(lz_str_of(lz_kernel_op_text((lz_kernel_op)i)), &op));
        assert_int_equal(op, i);
    }
    lz_kernel_op op;
    assert_false(lz_kernel_op_find(LZ_STR("adds"), &op));
    assert_int_equal(lz_kernel_type_of(LZ_BF16), LZ_KERNEL_F32);
    assert_int_equal(lz_kernel_type_of(LZ_C64), LZ_KERNEL_TYPES);
    assert_int_equal(lz_kernel_type_of(LZ_DTYPE_NONE), LZ_KERNEL_TYPES);
    return NULL;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LZ_TEST(test_pointwise),
        LZ_TEST(test_softmax),
        LZ_TEST(test_column_sum),
        LZ_TEST(test_argmax_and_max_prefer_nan),
        LZ_TEST(test_masked_load),
        LZ_TEST(test_gather_is_checked),
        LZ_TEST(test_scans),
        LZ_TEST(test_casts),
        LZ_TEST(test_half_and_bfloat),
        LZ_TEST(test_integers),
        LZ_TEST(test_philox),
        LZ_TEST(test_special_functions),
        LZ_TEST(test_zero_extents_do_nothing),
        LZ_TEST(test_equal_structure_is_equal),
        LZ_TEST(test_in_place_waits_for_later_stages),
        LZ_TEST(test_in_place_waits_for_the_row),
        LZ_TEST(test_values_are_shared_and_typed),
        LZ_TEST(test_first_error_sticks),
        LZ_TEST(test_too_many_values_are_refused),
        LZ_TEST(test_operations_are_found_by_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
