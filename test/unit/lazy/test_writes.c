#include "lazy_calls.h"

static const float six[] = { 0, 1, 2, 3, 4, 5 };

/* The statement is refused for this reason, and the context goes on. */
static void refused(lz_ctx *c, lz_reason why)
{
    if (lz_code_of(c) == LZ_ERR_MEMORY)
        return;
    assert_true(lz_failed(c));
    assert_string_equal(lz_reason_name(lz_reason_of(c)), lz_reason_name(why));
    lz_clear(c);
}

static bool same_ints(lz_ints a, lz_ints b)
{
    return lz_shape_eq(a, b);
}

/* ---- out= ---- */

static lz_err *test_out(void)
{
    lz_ctx *c = lz_open(NULL);
    if (!c)
        return lz_err_oom();
    lz_tensor *x = lz_from_memory(c, LZ_F32, LZ_DIMS(2, 3), six);
    lz_tensor *out = lz_from_memory(c, LZ_F32, LZ_DIMS(2, 3), six);
    lz_tensor *row = CALL(c, select_int, T(out), I(0), I(1));
    lz_tensor *got = CALL(c, add_out, T(x), T(x), S(1), T(out));
    if (!lz_failed(c))
        assert_ptr_equal(got, out);
    EXPECT(row, 6, 8, 10);
    /* too small, and another looks at its storage: that grows */
    lz_tensor *small = lz_from_memory(c, LZ_F32, LZ_DIMS(2), six);
    lz_tensor *first = CALL(c, slice_Tensor, T(small), I(0), I(0), I(1), I(1));
    CALL(c, add_out, T(x), T(x), S(2), T(small));
    EXPECT(small, 0, 3, 6, 9, 12, 15);
    EXPECT(first, 0);
    CALL(c, fill__Scalar, T(first), S(7));
    EXPECT(small, 7, 3, 6, 9, 12, 15);
    /* nobody else does: a new one */
    lz_tensor *alone = lz_from_memory(c, LZ_F32, LZ_DIMS(0), six);
    CALL(c, neg_out, T(x), T(alone));
    EXPECT(alone, -0.0f, -1, -2, -3, -4, -5);
    if (!lz_failed(c)) {
        lz_tensor *whole = lz_from_memory(c, LZ_I64, LZ_DIMS(0), NULL);
        CALL(c, add_out, T(x), T(x), S(1), T(whole));
        refused(c, LZ_REASON_DTYPE);
    }
    return finish(c);
}

/* ---- several results ---- */

static lz_err *test_several(void)
{
    lz_ctx *c = lz_open(NULL);
    lz_value out[4];
    if (!c)
        return lz_err_oom();
    lz_tensor *x = lz_from_memory(c, LZ_F32, LZ_DIMS(2, 3), six);
    call_all(c, LZ_OP_chunk, (lz_value[]){ T(x), I(3), I(1) }, 3, out);
    if (!lz_failed(c)) {
        assert_int_equal(out[0].kind, LZ_KIND_TENSORS);
        assert_int_equal(out[0].tensors.n, 3);
        CALL(c, zero_, T(out[0].tensors.v[1]));
        EXPECT(out[0].tensors.v[2], 2, 5);
        EXPECT(x, 0, 0, 2, 3, 0, 5);
    }
    call_all(c, LZ_OP_max_dim, (lz_value[]){ T(x), I(1) }, 2, out);
    if (!lz_failed(c)) {
        EXPECT(out[0].tensor, 2, 5);
        assert_int_equal(lz_tensor_dtype(out[1].tensor), LZ_I64);
    }
    return finish(c);
}

/* An operator that writes to two arguments which it does not return. */
static lz_err *test_running_statistics(void)
{
    lz_ctx *c = lz_open(NULL);
    lz_value out[4] = { lz_value_none() }, none = lz_value_none();
    const float zeros[] = { 0, 0, 0 }, ones[] = { 1, 1, 1 };
    if (!c)
        return lz_err_oom();
    lz_tensor *x = lz_from_memory(c, LZ_F32, LZ_DIMS(2, 3), six);
    lz_tensor *mean = lz_from_memory(c, LZ_F32, LZ_DIMS(3), zeros);
    lz_tensor *var = lz_from_memory(c, LZ_F32, LZ_DIMS(3), ones);
    lz_tensor *tail = CALL(c, slice_Tensor, T(mean), I(0), I(1), I(3), I(1));
    lz_value in[] = {
        T(x), none, none, T(mean), T(var), lz_value_truth(true), lz_value_real(0.5), lz_value_real(0)
    };
    if (!lz_failed(c))
        call_all(c, LZ_OP__native_batch_norm_legit, in, 8, out);
    EXPECT(mean, 0.75f, 1.25f, 1.75f);
    EXPECT(tail, 1.25f, 1.75f);
    if (!lz_failed(c))
        EXPECT(out[0].tensor, -1, -1, -1, 1, 1, 1);
    return finish(c);
}

/* ---- sizes that depend on elements ---- */

static lz_err *test_sizes_from_elements(void)
{
    lz_ctx *c = lz_open(NULL);
    if (!c)
        return lz_err_oom();
    lz_tensor *x = lz_from_memory(c, LZ_F32, LZ_DIMS(2, 3), six);
    lz_tensor *big = CALL(c, gt_Scalar, T(x), S(2.5));
    lz_tensor *found = CALL(c, masked_select, T(x), T(big));
    EXPECT(found, 3, 4, 5);
    lz_tensor *places = CALL(c, nonzero, T(CALL(c, t, T(x))));
    if (!lz_failed(c))
        assert_true(same_ints(lz_tensor_sizes(places), LZ_DIMS(5, 2)));
    EXPECT(CALL(c, mul_Scalar, T(found), S(2)), 6, 8, 10);
    /* written by a mask */
    lz_tensor *masks[] = { big };
    lz_tensor *value = CALL(c, select_int, T(found), I(0), I(0));
    CALL(c, index_put_, T(x), lz_value_tensors((lz_tensors){ masks, 1 }), T(value));
    EXPECT(x, 0, 1, 2, 3, 3, 3);
    return finish(c);
}

/* ---- dtypes ---- */

static lz_err *test_dtypes(void)
{
    const int64_t whole[] = { 1, 2, 3 };
    int32_t got[3];
    lz_ctx *c = lz_open(NULL);
    if (!c)
        return lz_err_oom();
    lz_tensor *a = lz_from_memory(c, LZ_I64, LZ_DIMS(3), whole);
    lz_tensor *n = CALL(c, _to_copy, T(a), lz_value_dtype(LZ_I32));
    CALL(c, add__Tensor, T(n), T(a));
    if (!lz_failed(c) && lz_read(n, got, sizeof got)) {
        assert_int_equal(lz_tensor_dtype(n), LZ_I32);
        assert_int_equal(got[2], 6);
        CALL(c, add__Scalar, T(a), S(0.5));
        refused(c, LZ_REASON_DTYPE);
    }
    lz_tensor *x = lz_from_memory(c, LZ_F32, LZ_DIMS(3), six);
    CALL(c, copy_, T(x), T(a));
    EXPECT(x, 1, 2, 3);
    return finish(c);
}

/* ---- refusals: nothing changes ---- */

static lz_err *test_refusals(void)
{
    lz_ctx *c = lz_open(NULL);
    if (!c)
        return lz_err_oom();
    lz_tensor *x = lz_from_memory(c, LZ_F32, LZ_DIMS(6), six);
    lz_tensor *head = CALL(c, slice_Tensor, T(x), I(0), I(0), I(5), I(1));
    lz_tensor *tail = CALL(c, slice_Tensor, T(x), I(0), I(1), I(6), I(1));
    if (!lz_failed(c)) {
        CALL(c, copy_, T(head), T(tail));
        refused(c, LZ_REASON_OVERLAP);
        CALL(c, add__Tensor, T(x), T(head));
        refused(c, LZ_REASON_OVERLAP);
        CALL(c, select_int, T(x), I(0), I(6));
        refused(c, LZ_REASON_INDEX);
        CALL(c, as_strided, T(head), L(2, 2), L(4, 2), I(0));
        refused(c, LZ_REASON_STORAGE);
        CALL(c, reshape, T(x), L(4, -1));
        refused(c, LZ_REASON_SHAPE);
        CALL(c, permute, T(x), L(0, 0));
        refused(c, LZ_REASON_ARGUMENT);
    }
    EXPECT(x, 0, 1, 2, 3, 4, 5);
    return finish(c);
}

/* ---- layouts ---- */

static lz_err *test_layouts(void)
{
    lz_ctx *c = lz_open(NULL);
    if (!c)
        return lz_err_oom();
    lz_tensor *x = lz_from_memory(c, LZ_F32, LZ_DIMS(2, 3), six);
    lz_tensor *xt = CALL(c, t, T(x));
    lz_tensor *sum = CALL(c, add_Tensor, T(xt), T(xt));
    lz_tensor *flat = CALL(c, reshape, T(sum), L(6));
    lz_tensor *row_major = CALL(c, contiguous, T(sum));
    lz_tensor *back = CALL(c, view, T(CALL(c, t, T(sum))), L(6));
    lz_tensor *clone = CALL(c, clone, T(xt)), *zeros = CALL(c, zeros_like, T(xt));
    if (!lz_failed(c)) {
        assert_true(same_ints(lz_tensor_strides(sum), LZ_DIMS(1, 3)));
        assert_false(lz_is_alias_of(flat, sum));
        assert_true(same_ints(lz_tensor_strides(row_major), LZ_DIMS(2, 1)));
        assert_true(lz_is_alias_of(back, sum));
        assert_true(same_ints(lz_tensor_strides(clone), LZ_DIMS(1, 3)));
        assert_true(same_ints(lz_tensor_strides(zeros), LZ_DIMS(1, 3)));
    }
    EXPECT(flat, 0, 6, 2, 8, 4, 10);
    CALL(c, fill__Scalar, T(CALL(c, select_int, T(sum), I(0), I(1))), S(9));
    EXPECT(sum, 0, 6, 9, 9, 4, 10);
    return finish(c);
}

/* ---- data swap, detach ---- */

static lz_err *test_set_data(void)
{
    lz_ctx *c = lz_open(NULL);
    if (!c)
        return lz_err_oom();
    lz_tensor *x = lz_from_memory(c, LZ_F32, LZ_DIMS(2, 3), six),
              *y = lz_from_memory(c, LZ_F32, LZ_DIMS(2), six);
    lz_tensor *d = CALL(c, detach, T(x));
    CALL(c, add__Scalar, T(d), S(1));
    EXPECT(x, 1, 2, 3, 4, 5, 6);
    if (!lz_failed(c)) {
        assert_true(lz_is_alias_of(d, x));
        assert_true(lz_set_data(x, y));
        assert_true(lz_is_alias_of(x, y));
    }
    CALL(c, add__Scalar, T(y), S(5));
    EXPECT(x, 5, 6);
    EXPECT(d, 1, 2, 3, 4, 5, 6);
    return finish(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = { LZ_TEST(test_out),
                                        LZ_TEST(test_several),
                                        LZ_TEST(test_running_statistics),
                                        LZ_TEST(test_sizes_from_elements),
                                        LZ_TEST(test_dtypes),
                                        LZ_TEST(test_refusals),
                                        LZ_TEST(test_layouts),
                                        LZ_TEST(test_set_data) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
