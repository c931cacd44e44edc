#include "base/err.h"
#include "check.h"
#include <errno.h>
#include <locale.h>

static lz_err *fails(int depth)
{
    if (depth == 0)
        return lz_err_at(LZ_ERR_SYNTAX, (lz_loc){ "a.yaml", 12, 3 }, "unexpected '%c'", '}');
    LZ_TRY(fails(depth - 1));
    return NULL;
}

static lz_err *test_code_text_and_place_travel(void)
{
    lz_err *e = fails(5);
    if (lz_err_code(e) == LZ_ERR_SYNTAX) {
        assert_string_equal(lz_err_text(e), "unexpected '}'");
        assert_string_equal(lz_err_loc(e).file, "a.yaml");
        assert_int_equal(lz_err_loc(e).line, 12);
        assert_int_equal(lz_err_loc(e).col, 3);
        lz_err_free(e);
        return NULL;
    }
    return e;
}

static lz_err *test_file_name_is_copied(void)
{
    char name[] = "first.txt";
    lz_err *e = lz_err_at(LZ_ERR_IO, (lz_loc){ name, 1, 1 }, "x");
    name[0] = name[1] = 'X';
    if (lz_err_code(e) == LZ_ERR_IO) {
        assert_string_equal(lz_err_loc(e).file, "first.txt");
        lz_err_free(e);
        return NULL;
    }
    return e;
}

static lz_err *test_wrap_adds_context(void)
{
    lz_err *e = lz_err_wrap(fails(0), "reading %s", "ops");
    if (lz_err_code(e) == LZ_ERR_SYNTAX) {
        assert_string_equal(lz_err_text(e), "reading ops: unexpected '}'");
        assert_int_equal(lz_err_loc(e).line, 12);
        lz_err_free(e);
        e = NULL;
    }
    assert_null(lz_err_wrap(NULL, "nothing"));
    return e;
}

static lz_err *test_null_is_success(void)
{
    assert_int_equal(lz_err_code(NULL), LZ_OK);
    assert_string_equal(lz_err_text(NULL), "");
    assert_null(lz_err_loc(NULL).file);
    lz_err_free(NULL);
    return NULL;
}

static lz_err *test_out_of_memory_needs_no_memory(void)
{
    lz_err *e = lz_err_oom();
    assert_int_equal(lz_err_code(e), LZ_ERR_MEMORY);
    assert_string_equal(lz_err_text(e), "out of memory");
    lz_err_free(e);
    lz_err_free(e);
    return NULL;
}

static lz_err *test_errno_ignores_the_locale(void)
{
    lz_err *e = lz_err_errno(ENOENT, "open", "/no/such");
    if (lz_err_code(e) == LZ_ERR_NOT_FOUND) {
        assert_string_equal(lz_err_text(e), "open /no/such: No such file or directory");
        lz_err_free(e);
        e = NULL;
    }
    lz_err *other = lz_err_errno(EACCES, "open", "x");
    if (lz_err_code(other) == LZ_ERR_IO) {
        lz_err_free(other);
        other = NULL;
    }
    return lz_err_first(e, other);
}

static lz_err *test_first_keeps_the_first(void)
{
    lz_err *a = lz_errf(LZ_ERR_ARG, "a"), *b = lz_errf(LZ_ERR_ARG, "b");
    lz_err *first = lz_err_first(a, b);
    assert_ptr_equal(first, a);
    if (lz_err_code(first) == LZ_ERR_ARG) {
        assert_string_equal(lz_err_text(first), "a");
        lz_err_free(first);
        first = NULL;
    }
    assert_null(lz_err_first(NULL, NULL));
    return first;
}

static lz_err *test_every_code_has_a_name(void)
{
    for (int i = 0; i < LZ_CODE_COUNT; i++)
        for (int k = 0; k < i; k++)
            assert_string_not_equal(lz_code_name((lz_code)i), lz_code_name((lz_code)k));
    assert_string_equal(lz_code_name((lz_code)999), "unknown");
    return NULL;
}

static lz_err *test_what_no_fallback_may_hide(void)
{
    assert_false(lz_err_must_surface(NULL));
    for (int i = 1; i < LZ_CODE_COUNT; i++) {
        lz_err *e = lz_errf((lz_code)i, "an error");
        bool expected = lz_err_code(e) == LZ_ERR_MEMORY || i == LZ_ERR_INTERNAL;
        assert_int_equal(lz_err_must_surface(e), expected);
        lz_err_free(e);
    }
    return NULL;
}

static lz_err *test_reasons_stay(void)
{
    lz_loc here = { "model.c", 3, 0 };
    lz_err *e = lz_err_because(LZ_REASON_SHAPE, "%d rows", 2), *copy = lz_err_copy(e);
    assert_true(lz_check_failing() || lz_err_reason(copy) == LZ_REASON_SHAPE);
    lz_err_free(copy);
    e = lz_err_reword(e, here, "again: %s", lz_err_text(e));
    e = lz_err_wrap(e, "outside");
    if (lz_err_code(e) == LZ_ERR_MEMORY)
        return e;
    assert_int_equal(lz_err_code(e), LZ_ERR_ARG);
    assert_int_equal(lz_err_reason(e), LZ_REASON_SHAPE);
    assert_int_equal(lz_err_loc(e).line, 3);
    assert_string_equal(lz_err_text(e), "outside: again: 2 rows");
    lz_err_free(e);
    return NULL;
}

static lz_err *test_reasons_by_code(void)
{
    lz_err *arg = lz_errf(LZ_ERR_ARG, "a"), *io = lz_errf(LZ_ERR_IO, "b");
    assert_int_equal(lz_err_reason(NULL), LZ_REASON_NONE);
    assert_int_equal(lz_err_reason(lz_err_oom()), LZ_REASON_OTHER);
    assert_true(lz_check_failing() || lz_err_reason(arg) == LZ_REASON_ARGUMENT);
    assert_int_equal(lz_err_reason(io), LZ_REASON_OTHER);
    lz_err_set_reason(lz_err_oom(), LZ_REASON_SHAPE); /* it is shared, and stays as it is */
    assert_int_equal(lz_err_reason(lz_err_oom()), LZ_REASON_OTHER);
    assert_null(lz_err_set_reason(NULL, LZ_REASON_SHAPE));
    assert_null(lz_err_reword(NULL, (lz_loc){ 0 }, "nothing"));
    assert_null(lz_err_copy(NULL));
    lz_err_free(arg);
    lz_err_free(io);
    return NULL;
}

static lz_err *test_naming_the_operator_stays(void)
{
    lz_err *e = lz_err_set_names_op(lz_errf(LZ_ERR_ARG, "aten::t: no"));
    lz_err *copy = lz_err_copy(e);
    e = lz_err_wrap(lz_err_reword(e, (lz_loc){ 0 }, "%s!", lz_err_text(e)), "step");
    assert_true(lz_err_names_op(e) || lz_check_failing());
    assert_true(lz_err_names_op(copy) || lz_check_failing());
    lz_err_drop(e);
    lz_err_drop(copy);
    e = lz_errf(LZ_ERR_ARG, "aten::t: no");
    assert_false(lz_err_names_op(e));
    lz_err_drop(e);
    lz_err_drop(NULL);
    assert_false(lz_err_names_op(lz_err_set_names_op(lz_err_oom()))); /* it is shared, and stays as it is */
    assert_false(lz_err_names_op(NULL));
    return NULL;
}

int main(void)
{
    setlocale(LC_ALL, "");
    const struct CMUnitTest tests[] = {
        LZ_TEST(test_code_text_and_place_travel),
        LZ_TEST(test_file_name_is_copied),
        LZ_TEST(test_wrap_adds_context),
        LZ_TEST(test_null_is_success),
        LZ_TEST(test_out_of_memory_needs_no_memory),
        LZ_TEST(test_errno_ignores_the_locale),
        LZ_TEST(test_first_keeps_the_first),
        LZ_TEST(test_every_code_has_a_name),
        LZ_TEST(test_what_no_fallback_may_hide),
        LZ_TEST(test_reasons_stay),
        LZ_TEST(test_naming_the_operator_stays),
        LZ_TEST(test_reasons_by_code),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
