#include "check.h"
#include "core/dtype.h"

static const struct {
    int number;
    size_t size;
    lz_category category;
    const char *name, *script, *abbr;
} known[] = {
    { 11, sizeof(bool), LZ_CATEGORY_BOOL, "bool", "Bool", "bool" },
    { 0, sizeof(uint8_t), LZ_CATEGORY_INT, "uint8", "Byte", "u8" },
    { 1, sizeof(int8_t), LZ_CATEGORY_INT, "int8", "Char", "i8" },
    { 2, sizeof(int16_t), LZ_CATEGORY_INT, "int16", "Short", "i16" },
    { 3, sizeof(int32_t), LZ_CATEGORY_INT, "int32", "Int", "i32" },
    { 4, sizeof(int64_t), LZ_CATEGORY_INT, "int64", "Long", "i64" },
    { 5, 2, LZ_CATEGORY_FLOAT, "float16", "Half", "f16" },
    { 15, 2, LZ_CATEGORY_FLOAT, "bfloat16", "BFloat16", "bf16" },
    { 6, sizeof(float), LZ_CATEGORY_FLOAT, "float32", "Float", "f32" },
    { 7, sizeof(double), LZ_CATEGORY_FLOAT, "float64", "Double", "f64" },
    { 8, 4, LZ_CATEGORY_COMPLEX, "complex32", "ComplexHalf", "c32" },
    { 9, 2 * sizeof(float), LZ_CATEGORY_COMPLEX, "complex64", "ComplexFloat", "c64" },
    { 10, 2 * sizeof(double), LZ_CATEGORY_COMPLEX, "complex128", "ComplexDouble", "c128" },
};

static lz_err *test_every_dtype_has_its_row(void)
{
    assert_int_equal(sizeof known / sizeof *known, LZ_DTYPE_COUNT);
    for (size_t i = 0; i < LZ_DTYPE_COUNT; i++) {
        lz_dtype d = (lz_dtype)known[i].number;
        const lz_dtype_info *row = lz_dtype_get(d);
        assert_int_equal(lz_dtypes[i], d);
        assert_int_equal(row->dtype, d);
        assert_int_equal(row->order, i);
        assert_int_equal(row->category, known[i].category);
        assert_int_equal(row->size, known[i].size);
        assert_string_equal(row->name, known[i].name);
        assert_string_equal(row->script, known[i].script);
        assert_string_equal(row->abbr, known[i].abbr);
        assert_int_equal(row->computable, known[i].category != LZ_CATEGORY_COMPLEX);
    }
    return NULL;
}

static lz_err *test_names_lead_back(void)
{
    for (size_t i = 0; i < LZ_DTYPE_COUNT; i++)
        assert_int_equal(lz_dtype_by_abbr(lz_str_of(known[i].abbr)), known[i].number);
    return NULL;
}

static lz_err *test_foreign_names_are_unknown(void)
{
    static const char *const foreign[] = { "", "Float", "f3", "f33", "torch.f32", "f32 ", "F32", "none" };
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++)
        assert_int_equal(lz_dtype_by_abbr(lz_str_of(foreign[i])), LZ_DTYPE_NONE);
    return NULL;
}

static lz_err *test_other_numbers_have_size_zero(void)
{
    for (int n = -200; n < 200; n++) {
        bool row = false;
        for (size_t i = 0; i < LZ_DTYPE_COUNT; i++)
            row = row || known[i].number == n;
        assert_int_equal(lz_dtype_size((lz_dtype)n) != 0, row);
        assert_int_equal(lz_dtype_category((lz_dtype)n) != LZ_CATEGORY_NONE, row);
    }
    return NULL;
}

static lz_err *test_limits_are_those_of_the_bits(void)
{
    for (size_t i = 1; i < LZ_DTYPE_COUNT; i++) {
        const lz_dtype_info *row = lz_dtype_get(lz_dtypes[i]);
        if (row->category != LZ_CATEGORY_INT)
            continue;
        unsigned bits = row->size * 8U;
        uint64_t most = bits == 64 ? INT64_MAX : (UINT64_C(1) << (bits - (row->dtype != LZ_U8))) - 1;
        assert_int_equal(row->max, most);
        assert_int_equal(row->min, row->dtype == LZ_U8 ? 0 : -(int64_t)most - 1);
    }
    assert_true(lz_dtype_get(LZ_F16)->largest == (2 - 0x1p-10) * 0x1p15);
    assert_true(lz_dtype_get(LZ_BF16)->largest == (2 - 0x1p-7) * 0x1p127);
    assert_true(lz_dtype_get(LZ_C64)->largest == (2 - 0x1p-23) * 0x1p127);
    return NULL;
}

static lz_err *test_complex_and_its_parts(void)
{
    static const lz_dtype pairs[][2] = { { LZ_C32, LZ_F16 }, { LZ_C64, LZ_F32 }, { LZ_C128, LZ_F64 } };
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(lz_dtype_get(pairs[i][0])->part, pairs[i][1]);
        assert_int_equal(lz_dtype_complex_of(pairs[i][1]), pairs[i][0]);
        assert_int_equal(lz_dtype_size(pairs[i][0]), 2 * lz_dtype_size(pairs[i][1]));
    }
    assert_int_equal(lz_dtype_complex_of(LZ_BF16), LZ_C64);
    assert_int_equal(lz_dtype_complex_of(LZ_I64), LZ_DTYPE_NONE);
    assert_int_equal(lz_dtype_get(LZ_I8)->part, LZ_I8);
    return NULL;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LZ_TEST(test_every_dtype_has_its_row),      LZ_TEST(test_names_lead_back),
        LZ_TEST(test_foreign_names_are_unknown),    LZ_TEST(test_other_numbers_have_size_zero),
        LZ_TEST(test_limits_are_those_of_the_bits), LZ_TEST(test_complex_and_its_parts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
