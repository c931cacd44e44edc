#include "check.h"
#include "core/shape.h"

#define EMPTY ((lz_ints){ NULL, 0 })

static void check_ints(lz_ints got, lz_ints want)
{
    char a[LZ_SHAPE_CHARS], b[LZ_SHAPE_CHARS];
    if (!lz_shape_eq(got, want))
        fail_msg("%s, expected %s", lz_shape_print(got, a), lz_shape_print(want, b));
}

static lz_err *test_shapes_are_printed_in_brackets(void)
{
    char text[LZ_SHAPE_CHARS];
    int64_t many[70];
    assert_string_equal(lz_shape_print(EMPTY, text), "[]");
    assert_string_equal(lz_shape_print(LZ_DIMS(2), text), "[2]");
    assert_string_equal(lz_shape_print(LZ_DIMS(2, 0, -1), text), "[2, 0, -1]");
    for (int i = 0; i < 70; i++)
        many[i] = INT64_MIN;
    size_t len = strlen(lz_shape_print((lz_ints){ many, 70 }, text));
    assert_true(len < LZ_SHAPE_CHARS);
    assert_non_null(strstr(text, ", ...]"));
    return NULL;
}

static lz_err *test_numel_is_the_product(void)
{
    int64_t n = -1;
    lz_err *e = lz_shape_numel(EMPTY, &n);
    if (!e) {
        assert_int_equal(n, 1);
        e = lz_shape_numel(LZ_DIMS(2, 3, 4), &n);
    }
    if (!e) {
        assert_int_equal(n, 24);
        e = lz_shape_numel(LZ_DIMS(INT64_MAX, INT64_MAX, 0), &n);
    }
    if (!e) {
        assert_int_equal(n, 0);
        e = lz_shape_numel(LZ_DIMS(INT64_MAX, 1), &n);
    }
    if (!e) {
        assert_int_equal(n, INT64_MAX);
        e = lz_check_err(lz_shape_numel(LZ_DIMS(INT64_MAX, 2), &n), LZ_ERR_LIMIT, "overflow");
    }
    if (!e)
        e = lz_check_err(lz_shape_numel(LZ_DIMS(-1, 2), &n), LZ_ERR_ARG,
                         "Trying to create tensor with negative dimension -1: [-1, 2]");
    return e;
}

static lz_err *test_bytes_fit_into_memory(void)
{
    size_t bytes = 1;
    lz_err *e = lz_shape_bytes(LZ_DIMS(3, 5), 8, &bytes);
    if (!e) {
        assert_int_equal(bytes, 120);
        e = lz_check_err(lz_shape_bytes(LZ_DIMS(INT64_MAX), 4, &bytes), LZ_ERR_LIMIT,
                         "Storage size calculation overflowed");
    }
    if (!e)
        e = lz_check_err(lz_shape_bytes(LZ_DIMS(INT64_MAX), 2, &bytes), LZ_ERR_LIMIT,
                         "overflowed with sizes=[9223372036854775807]");
    return e;
}

static lz_err *test_64_dimensions_are_the_most(void)
{
    int64_t ones[65];
    lz_shape out;
    int64_t n;
    for (int i = 0; i < 65; i++)
        ones[i] = 1;
    lz_err *e = lz_shape_copy((lz_ints){ ones, 64 }, &out);
    if (!e)
        e = lz_shape_numel(lz_shape_ints(&out), &n);
    if (!e)
        e = lz_check_err(lz_shape_copy((lz_ints){ ones, 65 }, &out), LZ_ERR_LIMIT,
                         "65 dimensions; there can be at most 64");
    if (!e)
        e = lz_check_err(lz_shape_check((lz_ints){ ones, 65 }), LZ_ERR_LIMIT, "65 dimensions");
    return e;
}

static lz_err *test_shapes_broadcast(void)
{
    const struct {
        lz_ints shapes[3];
        size_t n;
        lz_ints want;
    } rows[] = {
        { { LZ_DIMS(2, 3), LZ_DIMS(3) }, 2, LZ_DIMS(2, 3) },
        { { LZ_DIMS(2, 1), LZ_DIMS(1, 3) }, 2, LZ_DIMS(2, 3) },
        { { EMPTY, LZ_DIMS(4, 5) }, 2, LZ_DIMS(4, 5) },
        { { LZ_DIMS(1), LZ_DIMS(0) }, 2, LZ_DIMS(0) },
        { { LZ_DIMS(0, 1), LZ_DIMS(1, 7) }, 2, LZ_DIMS(0, 7) },
        { { LZ_DIMS(5, 1, 1), LZ_DIMS(3, 1), LZ_DIMS(2) }, 3, LZ_DIMS(5, 3, 2) },
        { { EMPTY, EMPTY }, 2, EMPTY },
        { { EMPTY }, 0, EMPTY },
    };
    lz_err *e = NULL;
    for (size_t i = 0; !e && i < sizeof rows / sizeof *rows; i++) {
        lz_shape out;
        e = lz_shape_broadcast(rows[i].shapes, rows[i].n, &out);
        if (!e)
            check_ints(lz_shape_ints(&out), rows[i].want);
    }
    return e;
}

static lz_err *test_what_does_not_broadcast_is_named(void)
{
    lz_shape out;
    const lz_ints two[] = { LZ_DIMS(2, 3), LZ_DIMS(2, 4) },
                  three[] = { LZ_DIMS(1, 3), LZ_DIMS(2, 3), LZ_DIMS(2, 1, 4) },
                  zero[] = { LZ_DIMS(0), LZ_DIMS(2) };
    lz_err *e = lz_check_err(
        lz_shape_broadcast(two, 2, &out), LZ_ERR_ARG,
        "The size of tensor a (3) must match the size of tensor b (4) at non-singleton dimension 1: "
        "shapes [2, 3] and [2, 4]");
    if (!e)
        e = lz_check_err(
            lz_shape_broadcast(three, 3, &out), LZ_ERR_ARG,
            "The size of tensor 0 (3) must match the size of tensor 2 (4) at non-singleton dimension 2: "
            "shapes [1, 3] and [2, 1, 4]");
    if (!e)
        e = lz_check_err(lz_shape_broadcast(zero, 2, &out), LZ_ERR_ARG,
                         "tensor a (0) must match the size of tensor b (2)");
    return e;
}

static lz_err *test_dimensions_wrap(void)
{
    lz_err *e = NULL;
    for (int64_t rank = 0; !e && rank < 5; rank++)
        for (int64_t d = -8; !e && d < 8; d++) {
            int64_t n = rank ? rank : 1, out = -1;
            bool fine = d >= -n && d < n;
            lz_err *got = lz_wrap_dim(d, rank, &out);
            if (fine && !got)
                assert_int_equal(out, ((d % n) + n) % n);
            e = fine ? got : lz_check_err(got, LZ_ERR_ARG, "Dimension out of range");
        }
    int64_t out;
    if (!e)
        e = lz_check_err(lz_wrap_dim(5, 2, &out), LZ_ERR_ARG,
                         "Dimension out of range (expected to be in range of [-2, 1], but got 5)");
    if (!e)
        e = lz_check_err(lz_wrap_dim(5, 0, &out), LZ_ERR_ARG, "[-1, 0], but got 5)");
    return e;
}

static lz_err *test_lists_of_dimensions_are_sets(void)
{
    uint64_t mask;
    lz_err *e = lz_wrap_dims(LZ_DIMS(0, -1), 64, &mask);
    if (!e) {
        assert_int_equal(mask, UINT64_C(1) << 63 | 1);
        e = lz_wrap_dims(EMPTY, 3, &mask);
    }
    if (!e) {
        assert_int_equal(mask, 0);
        e = lz_check_err(lz_wrap_dims(LZ_DIMS(1, 0, -2), 3, &mask), LZ_ERR_ARG,
                         "dim 1 appears multiple times in the list of dims");
    }
    if (!e)
        e = lz_check_err(lz_wrap_dims(LZ_DIMS(3), 3, &mask), LZ_ERR_ARG, "Dimension out of range");
    return e;
}

static lz_err *test_one_size_is_inferred(void)
{
    const struct {
        lz_ints asked;
        int64_t numel;
        lz_ints want;
    } rows[] = {
        { LZ_DIMS(2, 3), 6, LZ_DIMS(2, 3) },
        { LZ_DIMS(-1), 6, LZ_DIMS(6) },
        { LZ_DIMS(2, -1), 6, LZ_DIMS(2, 3) },
        { LZ_DIMS(-1, 6), 6, LZ_DIMS(1, 6) },
        { LZ_DIMS(3, -1), 0, LZ_DIMS(3, 0) },
        { LZ_DIMS(0, 4), 0, LZ_DIMS(0, 4) },
        { EMPTY, 1, EMPTY },
        { LZ_DIMS(-1), 0, LZ_DIMS(0) },
        { LZ_DIMS(-1), 1, LZ_DIMS(1) },
    };
    lz_err *e = NULL;
    for (size_t i = 0; !e && i < sizeof rows / sizeof *rows; i++) {
        lz_shape out;
        e = lz_shape_infer(rows[i].asked, rows[i].numel, &out);
        if (!e)
            check_ints(lz_shape_ints(&out), rows[i].want);
    }
    return e;
}

static lz_err *test_impossible_shapes_are_refused(void)
{
    const struct {
        lz_ints asked;
        int64_t numel;
        const char *why;
    } rows[] = {
        { LZ_DIMS(4, -1), 6, "shape '[4, -1]' is invalid for input of size 6" },
        { LZ_DIMS(7), 6, "shape '[7]' is invalid for input of size 6" },
        { LZ_DIMS(-1, -1), 6, "only one dimension can be inferred" },
        { LZ_DIMS(-2, 3), 6, "invalid shape dimension -2" },
        { LZ_DIMS(-1, 0), 0,
          "cannot reshape tensor of 0 elements into shape [-1, 0] because the unspecified dimension size -1 "
          "can be any "
          "value and is ambiguous" },
        { LZ_DIMS(0, -1), 6, "shape '[0, -1]' is invalid for input of size 6" },
        { LZ_DIMS(INT64_MAX, INT64_MAX, -1), 6, "is invalid for input of size 6" },
        { EMPTY, 2, "shape '[]' is invalid for input of size 2" },
    };
    lz_err *e = NULL;
    for (size_t i = 0; !e && i < sizeof rows / sizeof *rows; i++) {
        lz_shape out;
        e = lz_check_err(lz_shape_infer(rows[i].asked, rows[i].numel, &out), LZ_ERR_ARG, rows[i].why);
    }
    return e;
}

static lz_err *test_reduced_dimensions_go_or_stay(void)
{
    lz_shape out;
    lz_shape_reduce(LZ_DIMS(2, 3, 4), 5, false, &out);
    check_ints(lz_shape_ints(&out), LZ_DIMS(3));
    lz_shape_reduce(LZ_DIMS(2, 3, 4), 5, true, &out);
    check_ints(lz_shape_ints(&out), LZ_DIMS(1, 3, 1));
    lz_shape_reduce(EMPTY, 1, true, &out);
    check_ints(lz_shape_ints(&out), EMPTY);
    lz_shape_reduce(LZ_DIMS(2, 0), 0, false, &out);
    check_ints(lz_shape_ints(&out), LZ_DIMS(2, 0));
    return NULL;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LZ_TEST(test_shapes_are_printed_in_brackets),
        LZ_TEST(test_numel_is_the_product),
        LZ_TEST(test_bytes_fit_into_memory),
        LZ_TEST(test_64_dimensions_are_the_most),
        LZ_TEST(test_shapes_broadcast),
        LZ_TEST(test_what_does_not_broadcast_is_named),
        LZ_TEST(test_dimensions_wrap),
        LZ_TEST(test_lists_of_dimensions_are_sets),
        LZ_TEST(test_one_size_is_inferred),
        LZ_TEST(test_impossible_shapes_are_refused),
        LZ_TEST(test_reduced_dimensions_go_or_stay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
