#include "check.h"
#include "core/convert.h"
#include "core/strided_array.h"
#include <math.h>

#define EMPTY ((lz_ints){ NULL, 0 })

static void fill_up(const lz_array *a)
{
    for (int64_t i = 0; i < a->numel; i++)
        lz_array_set(a, i, lz_scalar_int(i + 1));
}

static lz_err *test_new_arrays_are_row_major(void)
{
    lz_array a;
    lz_err *e = lz_array_init_zero(&a, NULL, LZ_F32, LZ_DIMS(2, 3));
    if (e)
        return e;
    assert_true(lz_array_is_contiguous(&a));
    assert_int_equal(a.numel, 6);
    assert_int_equal(a.buffer->size, 24);
    for (int64_t i = 0; i < 6; i++)
        assert_true(lz_array_get(&a, i).re == 0);
    fill_up(&a);
    for (int64_t i = 0; i < 6; i++) {
        const int64_t index[] = { i / 3, i % 3 };
        assert_true(((float *)a.buffer->data)[i] == (float)(i + 1));
        assert_ptr_equal(lz_array_at(&a, index), (float *)a.buffer->data + i);
    }
    lz_array_deinit(&a);
    lz_array_deinit(&a);
    assert_null(a.buffer);
    return NULL;
}

static lz_err *test_arrays_without_elements_or_dimensions(void)
{
    lz_array a, b;
    lz_err *e = lz_array_init(&a, NULL, LZ_I64, LZ_DIMS(0, 3));
    if (e)
        return e;
    assert_int_equal(a.numel, 0);
    e = lz_array_init_clone(&b, NULL, &a, LZ_F64);
    if (!e)
        assert_int_equal(b.numel, 0);
    lz_array_deinit(&a);
    if (!e) {
        lz_array_deinit(&b);
        e = lz_array_init(&a, NULL, LZ_I64, EMPTY);
    }
    if (!e) {
        lz_array_set(&a, 0, lz_scalar_int(9));
        assert_int_equal(lz_array_get(&a, 0).i, 9);
        lz_array_deinit(&a);
    }
    return e;
}

static lz_err *test_what_makes_no_array_is_refused(void)
{
    lz_array a;
    lz_buffer *b = NULL;
    lz_err *e = lz_buffer_create(NULL, 24, &b);
    if (!e)
        e = lz_check_err(lz_array_init(&a, NULL, LZ_DTYPE_NONE, LZ_DIMS(2)), LZ_ERR_ARG, "needs a dtype");
    if (!e)
        e = lz_check_err(lz_array_init(&a, NULL, LZ_F32, LZ_DIMS(2, -1)), LZ_ERR_ARG, "negative dimension");
    if (!e)
        e = lz_check_err(lz_array_init(&a, NULL, LZ_F32, LZ_DIMS(INT64_MAX)), LZ_ERR_LIMIT, "overflowed");
    if (!e)
        e = lz_check_err(lz_array_init_view(&a, b, LZ_F32, LZ_DIMS(7), LZ_DIMS(1), 0), LZ_ERR_ARG,
                         "out of bounds");
    if (!e)
        e = lz_check_err(lz_array_init_view(&a, b, LZ_F32, LZ_DIMS(6), LZ_DIMS(-1), 4), LZ_ERR_ARG,
                         "before the storage");
    if (!e)
        e = lz_check_err(lz_array_init_view(&a, b, (lz_dtype)14, LZ_DIMS(6), LZ_DIMS(1), 0), LZ_ERR_ARG,
                         "needs a dtype");
    lz_buffer_release(b);
    return e;
}

/* Any strides on both sides, any two dtypes, some dimensions broadcast: as element by element. */
static lz_err *copy_case(uint64_t seed)
{
    lz_dtype from = lz_dtypes[seed % 10], to = lz_dtypes[seed / 10 % 10];
    int64_t sizes[3], src_sizes[3], ss[3], ds[3], step = 1;
    lz_array src = { .dtype = LZ_DTYPE_NONE }, dst = src;
    lz_buffer *sb = NULL, *db = NULL;
    for (int d = 0; d < 3; d++) {
        sizes[d] = 1 + (int64_t)(seed >> (d * 3 + 5)) % 5;
        src_sizes[d] = seed >> (d + 20) & 1 ? 1 : sizes[d];
        ss[d] = (int64_t)(seed >> (d * 4 + 7)) % 6;
    }
    for (int k = 0; k < 3; k++) {
        int d = (int)((seed + (uint64_t)k) % 3);
        ds[d] = step;
        step *= sizes[d] + (int64_t)(seed >> k & 1);
    }
    lz_err *e = lz_buffer_create(NULL, 100 * lz_dtype_size(from), &sb);
    if (!e)
        e = lz_buffer_create(NULL, 300 * lz_dtype_size(to), &db);
    if (!e)
        e = lz_array_init_view(&src, sb, from, (lz_ints){ src_sizes, 3 }, (lz_ints){ ss, 3 }, 3);
    if (!e)
        e = lz_array_init_view(&dst, db, to, (lz_ints){ sizes, 3 }, (lz_ints){ ds, 3 }, 5);
    if (!e) {
        memset(sb->data, 0, sb->size);
        fill_up(&src);
        e = lz_array_copy(&src, &dst);
    }
    for (int64_t i = 0; !e && i < dst.numel; i++) {
        int64_t at[LZ_MAX_DIMS];
        char want[16];
        lz_array_index_of(&dst, i, at);
        for (int d = 0; d < 3; d++)
            at[d] = src_sizes[d] == 1 ? 0 : at[d];
        lz_convert_run(from, lz_array_at(&src, at), 0, to, want, 0, 1);
        assert_memory_equal(lz_array_at_flat(&dst, i), want, lz_dtype_size(to));
    }
    lz_array_deinit(&src);
    lz_array_deinit(&dst);
    lz_buffer_release(sb);
    lz_buffer_release(db);
    return e;
}

static lz_err *test_copies_are_element_by_element(void)
{
    uint64_t state = 5;
    lz_err *e = NULL;
    for (int k = 0; !e && k < (lz_check_failing() ? 1 : 3000); k++) {
        state = state * 6364136223846793005 + 1442695040888963407;
        e = copy_case(state >> 20);
    }
    return e;
}

/* Shifted, reversed and transposed onto itself: dst gets what src held before. */
static lz_err *test_copies_within_one_buffer(void)
{
    const struct {
        lz_ints sizes, from, to;
        int64_t from_offset, to_offset;
    } rows[] = {
        { LZ_DIMS(9), LZ_DIMS(1), LZ_DIMS(1), 0, 1 },
        { LZ_DIMS(9), LZ_DIMS(1), LZ_DIMS(1), 1, 0 },
        { LZ_DIMS(10), LZ_DIMS(1), LZ_DIMS(-1), 0, 9 },
        { LZ_DIMS(3, 3), LZ_DIMS(3, 1), LZ_DIMS(1, 3), 0, 0 },
        { LZ_DIMS(2, 3), LZ_DIMS(3, 1), LZ_DIMS(3, 1), 0, 2 },
        { LZ_DIMS(5), LZ_DIMS(2), LZ_DIMS(2), 0, 1 },
        { LZ_DIMS(10), LZ_DIMS(1), LZ_DIMS(1), 0, 0 },
    };
    lz_err *e = NULL;
    for (size_t k = 0; !e && k < sizeof rows / sizeof *rows; k++) {
        lz_array all = { .dtype = LZ_DTYPE_NONE }, src = all, dst = all;
        int64_t before[10] = { 0 };
        e = lz_array_init(&all, NULL, LZ_I32, LZ_DIMS(10));
        if (!e)
            e = lz_array_init_view(&src, all.buffer, LZ_I32, rows[k].sizes, rows[k].from,
                                   rows[k].from_offset);
        if (!e)
            e = lz_array_init_view(&dst, all.buffer, LZ_I32, rows[k].sizes, rows[k].to, rows[k].to_offset);
        if (!e) {
            fill_up(&all);
            for (int64_t i = 0; i < src.numel; i++)
                before[i] = lz_array_get(&src, i).i;
            e = lz_array_copy(&src, &dst);
        }
        for (int64_t i = 0; !e && i < dst.numel; i++)
            assert_int_equal(lz_array_get(&dst, i).i, before[i]);
        lz_array_deinit(&src);
        lz_array_deinit(&dst);
        lz_array_deinit(&all);
    }
    return e;
}

static lz_err *test_copies_that_cannot_be(void)
{
    static int32_t fixed[4];
    lz_array a = { .dtype = LZ_DTYPE_NONE }, b = a, c = a;
    lz_buffer *rom = NULL;
    lz_err *e = lz_buffer_wrap(fixed, sizeof fixed, true, NULL, NULL, &rom);
    if (!e)
        e = lz_array_init_view(&a, rom, LZ_I32, LZ_DIMS(4), LZ_DIMS(1), 0);
    if (!e)
        e = lz_array_init_zero(&b, NULL, LZ_I32, LZ_DIMS(3));
    if (!e)
        e = lz_array_init_clone(&c, NULL, &a, LZ_I32); /* reading is fine */
    if (!e)
        e = lz_check_err(lz_array_copy(&c, &a), LZ_ERR_ARG, "read-only");
    if (!e)
        e = lz_check_err(lz_array_copy(&a, &b), LZ_ERR_ARG, "must match the existing size (4)");
    lz_array_deinit(&a);
    lz_array_deinit(&b);
    lz_array_deinit(&c);
    lz_buffer_release(rom);
    return e;
}

/* One pair of numbers in the middle of three equal ones. */
static lz_err *compare(lz_dtype d, double got, double want, const lz_tolerance *t, bool *out)
{
    lz_array a = { .dtype = LZ_DTYPE_NONE }, b = a;
    lz_difference diff = { 7, 7 };
    lz_err *e = lz_array_init_zero(&a, NULL, d, LZ_DIMS(1, 3));
    if (!e)
        e = lz_array_init_zero(&b, NULL, d, LZ_DIMS(1, 3));
    if (!e) {
        lz_array_set(&a, 1, lz_scalar_float(got));
        lz_array_set(&b, 1, lz_scalar_float(want));
        *out = lz_array_equal(&a, &b, t, &diff, NULL);
        assert_int_equal(diff.count, !*out);
        assert_int_equal(diff.first, *out ? -1 : 1);
    }
    lz_array_deinit(&a);
    lz_array_deinit(&b);
    return e;
}

static lz_err *test_tolerances(void)
{
    const lz_tolerance strict = { .nan_equal = false }, three = { .ulps = 3 };
    const struct {
        lz_dtype dtype;
        double got, want;
        const lz_tolerance *t; /* NULL: that of the dtype */
        bool equal;
    } rows[] = {
        { LZ_F32, 1.00009, 1, NULL, true },
        { LZ_F32, 1.0002, 1, NULL, false },
        { LZ_F32, 1e-5, 0, NULL, true },
        { LZ_F32, 3e-5, 0, NULL, false },
        { LZ_F64, 1 + 5e-10, 1, NULL, true },
        { LZ_F64, 1 + 1e-8, 1, NULL, false },
        { LZ_F16, 1 + 0x1p-9, 1, NULL, true },
        { LZ_F16, 1 + 0x1.8p-9, 1, NULL, false },
        { LZ_F16, 0x1p-24, -0x1p-24, NULL, true },
        { LZ_F16, 0x1p-23, -0x1p-24, NULL, false },
        { LZ_F16, INFINITY, 65504, NULL, true }, /* the next number */
        { LZ_BF16, 1 + 0x1p-6, 1, NULL, true },
        { LZ_BF16, 1 + 0x1.8p-6, 1, NULL, false },
        { LZ_F64, 1 + 0x1.8p-51, 1, &three, true },
        { LZ_F64, 1 + 0x1p-50, 1, &three, false },
        { LZ_F32, 1 + 0x1p-22, 1, &three, true },
        { LZ_F32, 0.0, -0.0, &strict, true },
        { LZ_F32, NAN, NAN, NULL, true },
        { LZ_F32, NAN, NAN, &strict, false },
        { LZ_F32, NAN, 1, NULL, false },
        { LZ_F32, 1, NAN, NULL, false },
        { LZ_F32, INFINITY, INFINITY, &strict, true },
        { LZ_F32, INFINITY, -INFINITY, NULL, false },
        { LZ_F32, 3e38, INFINITY, NULL, false },
        { LZ_F32, INFINITY, 3e38, NULL, false },
        { LZ_I64, 7, 7, NULL, true },
        { LZ_I64, 7, 8, NULL, false },
        { LZ_BOOL, 1, 0, NULL, false },
        { LZ_C64, 1, 1.00001, NULL, true },
        { LZ_C64, 1, 1.1, NULL, false },
    };
    lz_err *e = NULL;
    for (size_t i = 0; !e && i < sizeof rows / sizeof *rows; i++) {
        lz_tolerance own = lz_tolerance_of(rows[i].dtype);
        bool equal = false;
        e = compare(rows[i].dtype, rows[i].got, rows[i].want, rows[i].t ? rows[i].t : &own, &equal);
        if (!e && equal != rows[i].equal)
            fail_msg("row %zu", i);
    }
    return e;
}

static lz_err *explained(const lz_array *a, const lz_array *b, const char *want)
{
    const lz_tolerance t = lz_tolerance_of(a->dtype);
    lz_text why = { 0 };
    lz_difference d;
    assert_int_equal(lz_array_equal(a, b, &t, &d, &why), *want == 0);
    lz_err *e = lz_text_check(&why);
    if (!e && !lz_str_is(lz_text_view(&why), want))
        fail_msg("%.*s, expected %s", LZ_FMT(lz_text_view(&why)), want);
    lz_text_deinit(&why);
    return e;
}

static lz_err *test_differences_are_explained(void)
{
    lz_array a = { .dtype = LZ_DTYPE_NONE }, b = a, c = a, d = a;
    lz_err *e = lz_array_init(&a, NULL, LZ_F32, LZ_DIMS(2, 3));
    if (!e)
        e = lz_array_init(&b, NULL, LZ_F32, LZ_DIMS(2, 3));
    if (!e)
        e = lz_array_init(&c, NULL, LZ_F32, LZ_DIMS(3, 2));
    if (!e)
        e = lz_array_init(&d, NULL, LZ_I64, LZ_DIMS(2, 3));
    if (!e) {
        fill_up(&a);
        fill_up(&b);
        e = explained(&a, &b, "");
    }
    if (!e) {
        lz_array_set(&a, 4, lz_scalar_float(2.5));
        e = explained(&a, &b, "element [1, 1] is 2.5, expected 5.0");
    }
    if (!e) {
        lz_array_set(&a, 2, lz_scalar_float(NAN));
        e = explained(&a, &b, "element [0, 2] is nan, expected 3.0; 2 of 6 elements differ");
    }
    if (!e)
        e = explained(&a, &c, "got float32[2, 3], expected float32[3, 2]");
    if (!e)
        e = explained(&a, &d, "got float32[2, 3], expected int64[2, 3]");
    lz_array_deinit(&a);
    lz_array_deinit(&b);
    lz_array_deinit(&c);
    lz_array_deinit(&d);
    return e;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LZ_TEST(test_new_arrays_are_row_major),
        LZ_TEST(test_arrays_without_elements_or_dimensions),
        LZ_TEST(test_what_makes_no_array_is_refused),
        LZ_TEST(test_copies_are_element_by_element),
        LZ_TEST(test_copies_within_one_buffer),
        LZ_TEST(test_copies_that_cannot_be),
        LZ_TEST(test_tolerances),
        LZ_TEST(test_differences_are_explained),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
