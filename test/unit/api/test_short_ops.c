/* Short names against the overloads that they stand for, and calls by name against both. */
#include "check.h"
#include <lazuli/lazuli.h>
#include <math.h>
#include <string.h>

enum { N = 6 };

static lz_ctx *begin(lz_tensor **a, lz_tensor **b)
{
    static const float x[N] = { 1, 2, 3, 4, 5, 6 }, y[N] = { 2, 0.5F, 3, 1, 2, 0.25F };
    lz_ctx *c = lz_open(NULL);
    *a = lz_from_memory(c, LZ_F32, LZ_DIMS(2, 3), x);
    *b = lz_from_memory(c, LZ_F32, LZ_DIMS(2, 3), y);
    return c;
}

static void end(lz_ctx *c)
{
    assert_false(lz_failed(c));
    lz_close(c);
}

static void same(lz_tensor *got, lz_tensor *want)
{
    float x[N], y[N];
    lz_ints s = lz_tensor_sizes(got), t = lz_tensor_sizes(want);
    size_t bytes = sizeof(float);
    assert_int_equal(s.n, t.n);
    for (int64_t i = 0; i < s.n; i++) {
        assert_int_equal(s.v[i], t.v[i]);
        bytes *= (size_t)s.v[i];
    }
    assert_true(lz_read(got, x, bytes) && lz_read(want, y, bytes));
    assert_memory_equal(x, y, bytes);
}

static void test_tensor_or_number(void **state)
{
    (void)state;
    lz_tensor *a, *b;
    lz_ctx *c = begin(&a, &b);
    same(lz_add(c, a, b), lz_add_Tensor(c, a, b));
    same(lz_add(c, a, 2), lz_add_Scalar(c, a, 2));
    same(lz_add(c, a, 0.5F), lz_add_Scalar(c, a, 0.5));
    same(lz_add(c, a, b, .alpha = LZ_S(3)), lz_add_Tensor(c, a, b, .alpha = LZ_S(3)));
    same(lz_add(c, a, 2, .alpha = LZ_S(3)), lz_add_Scalar(c, a, 2, .alpha = LZ_S(3)));
    same(lz_pow(c, a, b), lz_pow_Tensor_Tensor(c, a, b));
    same(lz_pow(c, 2, b), lz_pow_Scalar(c, 2, b));
    same(lz_pow(c, a, 2), lz_pow_Tensor_Scalar(c, a, 2));
    same(lz_floor_divide(c, a, b), lz_floor_divide_at(c, LZ_HERE, a, b));
    same(lz_floor_divide(c, a, 2), lz_floor_divide_Scalar(c, a, 2));
    lz_tensor *w = lz_clone(c, a), *v = lz_clone(c, a);
    same(lz_mul_(c, w, b), lz_mul__Tensor(c, v, b));
    same(w, v);
    end(c);
}

static void test_given_dimensions(void **state)
{
    (void)state;
    lz_tensor *a, *b;
    lz_ctx *c = begin(&a, &b);
    same(lz_sum(c, a), lz_sum_at(c, LZ_HERE, a, NULL));
    same(lz_sum(c, a, .dim = LZ_DIMS(1)), lz_sum_dim_IntList(c, a, LZ_DIMS(1)));
    same(lz_sum(c, a, .dim = LZ_DIMS(0), .keepdim = true),
         lz_sum_dim_IntList(c, a, LZ_DIMS(0), .keepdim = true));
    same(lz_prod(c, a, .dim = LZ_SOME(1)), lz_prod_dim_int(c, a, 1));
    same(lz_mean(c, a, .dim = LZ_DIMS(0, 1)), lz_mean_dim(c, a, LZ_DIMS(0, 1)));
    same(lz_softmax(c, a, 1), lz_softmax_int(c, a, 1));
    end(c);
}

static void refused(lz_ctx *c, const lz_tensor *t, const char *text)
{
    assert_non_null(t);
    assert_true(lz_failed(c));
    assert_non_null(strstr(lz_message(c), text));
    lz_clear(c);
}

static void test_refusals(void **state)
{
    (void)state;
    lz_tensor *a, *b;
    lz_ctx *c = begin(&a, &b);
    refused(c, lz_sum(c, a, .keepdim = true), "keepdim is given without dim");
    refused(c, lz_pow(c, 2, 3), "no overload takes these tensors and numbers");
    refused(c, lz_add(c, a, (lz_tensor *)NULL), "other");
    end(c);
}

static void test_call_by_name(void **state)
{
    (void)state;
    lz_tensor *a, *b;
    lz_value out[2];
    lz_ctx *c = begin(&a, &b);
    same(lz_call(c, "add.Tensor", LZ_V(a), LZ_V(b)).tensor, lz_add_Tensor(c, a, b));
    same(lz_call(c, "aten::add.Tensor", LZ_V(a), LZ_V(b), LZ_V(2)).tensor,
         lz_add_Tensor(c, a, b, .alpha = LZ_S(2)));
    same(lz_call(c, "sum.dim_IntList", LZ_V(a), LZ_V(1)).tensor, lz_sum_dim_IntList(c, a, LZ_DIMS(1)));
    const lz_value in[] = { LZ_V(a), LZ_V(1) };
    assert_int_equal(lz_call_at(c, LZ_HERE, "max.dim", in, 2, out, 2), 2);
    same(out[0].tensor, lz_max_dim(c, a, 1).values);
    end(c);
}

static void test_bad_calls(void **state)
{
    (void)state;
    lz_tensor *a, *b;
    lz_value out[2];
    lz_ctx *c = begin(&a, &b);
    const lz_value in[] = { LZ_V(a), LZ_V("one") };
    assert_int_equal(lz_call(c, "no_such_operator", LZ_V(a)).kind, LZ_KIND_NONE);
    refused(c, a, "there is no operator 'no_such_operator'");
    assert_int_equal(lz_call_at(c, LZ_HERE, NULL, in, 1, out, 2), 0);
    refused(c, a, "there is no operator");
    assert_int_equal(lz_call_at(c, LZ_HERE, "max.dim", in, 1, out, 1), 0);
    refused(c, a, "room for 1");
    assert_int_equal(lz_call_at(c, LZ_HERE, "relu", in, 2, out, 2), 0);
    refused(c, a, "expected at most 1 argument, found 2");
    assert_int_equal(lz_call_at(c, LZ_HERE, "add.Tensor", in, 2, out, 2), 0);
    refused(c, a, "other");
    assert_int_equal(lz_call_at(c, LZ_HERE, "add.Tensor", in, 1, out, 2), 0);
    refused(c, a, "is missing");
    end(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tensor_or_number), cmocka_unit_test(test_given_dimensions),
        cmocka_unit_test(test_refusals),         cmocka_unit_test(test_call_by_name),
        cmocka_unit_test(test_bad_calls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
