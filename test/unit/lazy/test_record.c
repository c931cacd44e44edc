#include "lazy_calls.h"

static const float six[] = { 0, 1, 2, 3, 4, 5 };

/* ---- tests ---- */

static lz_err *test_chain(void)
{
    lz_ctx *c = lz_open(NULL);
    if (!c)
        return lz_err_oom();
    lz_tensor *x = lz_from_memory(c, LZ_F32, LZ_DIMS(2, 3), six);
    lz_tensor *y = CALL(c, add_Tensor, T(x), T(x));
    lz_tensor *z = CALL(c, mul_Scalar, T(y), S(0.5));
    if (!lz_failed(c))
        assert_false(lz_tensor_is_held(z));
    EXPECT(z, 0, 1, 2, 3, 4, 5);
    if (!lz_failed(c))
        assert_true(lz_tensor_is_held(z));
    EXPECT(CALL(c, relu, T(CALL(c, neg, T(z)))), 0, 0, 0, 0, 0, 0);
    return finish(c);
}

static lz_err *test_views(void)
{
    lz_ctx *c = lz_open(NULL);
    if (!c)
        return lz_err_oom();
    lz_tensor *x = lz_from_memory(c, LZ_F32, LZ_DIMS(2, 3), six);
    lz_tensor *xt = CALL(c, t, T(x));
    lz_tensor *row = CALL(c, select_int, T(xt), I(0), I(1));
    EXPECT(row, 1, 4);
    CALL(c, add__Scalar, T(row), S(10));
    EXPECT(x, 0, 11, 2, 3, 14, 5);
    EXPECT(xt, 0, 3, 11, 14, 2, 5);
    CALL(c, t_, T(x));
    EXPECT(x, 0, 3, 11, 14, 2, 5);
    lz_tensor *flat =
        CALL(c, as_strided, T(row), lz_value_ints(LZ_INTS(2, 2)), lz_value_ints(LZ_INTS(1, 2)), I(0));
    EXPECT(flat, 0, 2, 11, 3);
    CALL(c, zero_, T(flat));
    EXPECT(x, 0, 0, 0, 14, 0, 5);
    return finish(c);
}

static lz_err *test_refusals(void)
{
    lz_ctx *c = lz_open(NULL);
    if (!c)
        return lz_err_oom();
    lz_tensor *x = lz_from_memory(c, LZ_F32, LZ_DIMS(2, 3), six);
    lz_tensor *wide = CALL(c, expand, T(CALL(c, select_int, T(x), I(0), I(0))), lz_value_ints(LZ_INTS(4, 3)));
    bool fine = !lz_failed(c);
    lz_tensor *bad = CALL(c, add__Scalar, T(wide), S(1));
    if (fine && lz_code_of(c) != LZ_ERR_MEMORY) {
        assert_int_equal(lz_reason_of(c), LZ_REASON_EXPANDED);
        assert_true(lz_tensor_is_inert(bad));
        assert_true(lz_tensor_is_inert(CALL(c, relu, T(bad))));
        lz_clear(c);
        CALL(c, view, T(CALL(c, t, T(x))), lz_value_ints(LZ_INTS(6)));
    }
    if (fine && lz_code_of(c) != LZ_ERR_MEMORY) {
        assert_int_equal(lz_reason_of(c), LZ_REASON_VIEW);
        lz_clear(c);
        CALL(c, add_Tensor, T(x), T(CALL(c, t, T(x))));
    }
    if (fine && lz_code_of(c) != LZ_ERR_MEMORY) {
        assert_int_equal(lz_reason_of(c), LZ_REASON_SHAPE);
        lz_clear(c);
    }
    EXPECT(x, 0, 1, 2, 3, 4, 5);
    return finish(c);
}

/* A call inside the library gives its error, with operator and line, and leaves the context alone; in the
 * context the same error has the same text. */
static lz_err *test_returned_errors(void)
{
    static const lz_loc at = { "model.c", 12, 0 };
    const lz_op_row *op = &lz_op_table[LZ_OP_mm];
    lz_ctx *c = lz_open(NULL);
    if (!c)
        return lz_err_oom();
    lz_value x = T(lz_from_memory(c, LZ_F32, LZ_DIMS(2, 3), six)), out = lz_value_none();
    if (lz_failed(c))
        return finish(c);
    lz_err *e = lz_record_try(c, op, at, (lz_value[]){ x, x }, &out);
    assert_false(lz_failed(c));
    assert_true(lz_tensor_is_inert(out.tensor));
    if (lz_err_code(e) == LZ_ERR_MEMORY) {
        lz_ctx_fail(c, at, e);
        return finish(c);
    }
    assert_int_equal(lz_err_code(e), LZ_ERR_ARG);
    assert_int_equal(lz_err_loc(e).line, 12);
    assert_ptr_equal(strstr(lz_err_text(e), "aten::mm: "), lz_err_text(e));
    assert_null(strstr(lz_err_text(e), "model.c"));
    lz_record(c, op, at, (lz_value[]){ x, x }, &out);
    if (lz_code_of(c) != LZ_ERR_MEMORY) {
        assert_true(strncmp(lz_message(c), lz_err_text(e), strlen(lz_err_text(e))) == 0);
        if (!lz_check_failing())
            assert_string_equal(lz_message(c) + strlen(lz_err_text(e)), " (model.c:12)");
        assert_int_equal(lz_reason_of(c), LZ_REASON_SHAPE);
        assert_int_equal(lz_place(c).line, 12);
        lz_clear(c);
    }
    lz_err_free(e);
    return finish(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = { LZ_TEST(test_chain), LZ_TEST(test_views), LZ_TEST(test_refusals),
                                        LZ_TEST(test_returned_errors) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
