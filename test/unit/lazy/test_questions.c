#include "base/text.h"
#include "open_ctx.h"
#include <lazuli/run.h>

/* Operators that return numbers, bools and dtypes: from C, by name, and in TorchScript graphs. What follows
 * from dtypes, sizes and strides is answered without a step. */

static lz_tensor *matrix(lz_ctx *c)
{
    float v[6] = { 0, 1, 2, 3, 4, 5 };
    return lz_from_memory(c, LZ_F32, LZ_DIMS(2, 3), v);
}

static void shapes_and_strides(void **state)
{
    (void)state;
    lz_ctx *c = open_ctx(NULL);
    lz_tensor *x = matrix(c), *t = lz_t(c, x);
    lz_tensor *part = lz_slice_Tensor(c, t, .start = LZ_SOME(1), .end = LZ_SOME(3));
    assert_int_equal(lz_numel(c, part), 4);
    assert_int_equal(lz_dim(c, part), 2);
    assert_int_equal(lz_size_int(c, part, -2), 2);
    assert_int_equal(lz_stride_int(c, part, 0), 1);
    assert_int_equal(lz_stride_int(c, part, 1), 3);
    assert_int_equal(lz_storage_offset(c, part), 1);
    assert_true(lz_is_contiguous(c, x));
    assert_false(lz_is_contiguous(c, t));
    assert_true(lz_is_same_size(c, x, lz_t(c, t)));
    assert_true(lz_is_set_to(c, x, lz_t(c, t)));
    assert_false(lz_is_set_to(c, x, lz_clone(c, x)));
    assert_false(lz_is_set_to(c, part, x));
    close_ctx(c);
}

static void dtypes(void **state)
{
    (void)state;
    lz_ctx *c = open_ctx(NULL);
    lz_tensor *x = matrix(c), *i = lz_to_dtype(c, x, LZ_I64);
    assert_int_equal(lz_result_type_Tensor(c, i, x), LZ_F32);
    assert_int_equal(lz_result_type_Scalar(c, i, LZ_S(2)), LZ_I64);
    assert_int_equal(lz_result_type_Scalar_Scalar(c, LZ_S(2), LZ_S(1.5)), LZ_F32);
    assert_int_equal(lz_promote_types(c, LZ_F16, LZ_BF16), LZ_F32);
    assert_true(lz_is_floating_point(c, x) && lz_is_signed(c, i) && !lz_is_floating_point(c, i));
    assert_true(lz_can_cast(c, LZ_I64, LZ_F16) && !lz_can_cast(c, LZ_F16, LZ_I64));
    lz_value out = lz_call(c, "promote_types", lz_value_dtype(LZ_U8), lz_value_dtype(LZ_I8));
    assert_int_equal(out.kind, LZ_KIND_DTYPE);
    assert_int_equal(out.dtype, LZ_I16);
    close_ctx(c);
}

/* The first group of questions records and runs nothing; each of the second is one read of what is pending.
 */
static void reads_only_where_elements_decide(void **state)
{
    (void)state;
    lz_ctx *c = open_ctx(NULL);
    lz_tensor *x = matrix(c), *y = lz_add_Scalar(c, x, 1);
    lz_forbid(c, LZ_SYNC);
    assert_int_equal(lz_numel(c, y), 6);
    assert_false(lz_is_contiguous(c, lz_t(c, y)));
    assert_int_equal(lz_storage_offset(c, y), 0);
    assert_false(lz_equal(c, y, y));
    assert_non_null(strstr(lz_message(c), "forbidden"));
    lz_clear(c);
    lz_forbid(c, 0);
    assert_true(lz_equal(c, y, lz_add_Scalar(c, x, 1)));
    assert_false(lz_equal(c, y, x));
    assert_false(lz_equal(c, y, lz_t(c, y)));
    assert_true(lz_allclose(c, y, lz_add_Scalar(c, y, 1e-7)));
    assert_false(lz_allclose(c, y, x));
    assert_true(lz_allclose(c, y, x, .atol = 1.5));
    assert_true(lz_item_default(c, lz_sum(c, y)).re == 21);
    assert_true(lz_is_nonzero(c, lz_sum(c, y)));
    close_ctx(c);
}

static void gradients_do_not_matter(void **state)
{
    (void)state;
    lz_ctx *c = open_ctx(NULL);
    lz_tensor *x = matrix(c);
    lz_set_requires_grad(x, true);
    lz_tensor *y = lz_mul_Tensor(c, x, x);
    assert_int_equal(lz_numel(c, y), 6);
    assert_true(lz_equal(c, y, y) && lz_allclose(c, y, y));
    assert_true(lz_item_default(c, lz_sum(c, y)).re == 55);
    assert_int_equal(lz_result_type_Tensor(c, x, y), LZ_F32);
    assert_int_equal(lz_storage_offset(c, y), 0);
    close_ctx(c);
}

static void refuses(void **state)
{
    (void)state;
    lz_ctx *c = open_ctx(NULL);
    lz_tensor *x = matrix(c);
    assert_int_equal(lz_size_int(c, x, 2), 0);
    assert_non_null(strstr(lz_message(c), "Dimension out of range"));
    lz_clear(c);
    assert_int_equal(lz_item_default(c, x).kind, LZ_SCALAR_NONE);
    assert_non_null(strstr(lz_message(c), "a Tensor with 6 elements cannot be converted to Scalar"));
    lz_clear(c);
    assert_false(lz_is_nonzero(c, x));
    assert_non_null(strstr(lz_message(c), "Boolean value of Tensor with more than one value is ambiguous"));
    lz_clear(c);
    close_ctx(c);
}

/* ---- graphs ---- */

static const char text[] = "graph(%x : Tensor):\n"
                           "  %0 : int = prim::Constant[value=0]()\n"
                           "  %1 : int = prim::Constant[value=1]()\n"
                           "  %2 : int = prim::Constant[value=2]()\n"
                           "  %t : Tensor = aten::t(%x)\n"
                           "  %s : Tensor = aten::slice(%t, %0, %1, %2, %1)\n"
                           "  %o : int = aten::storage_offset(%s)\n"
                           "  %z : bool = aten::is_set_to(%x, %t)\n"
                           "  %n : bool = aten::is_same_size(%x, %t)\n"
                           "  %p : int = aten::promote_types(%0, %1)\n"
                           "  %y : Tensor = aten::add(%s, %1, %1)\n"
                           "  %a : bool = aten::allclose(%y, %s)\n"
                           "  %m : Tensor = aten::sum(%y)\n"
                           "  %nz : bool = aten::is_nonzero(%m)\n"
                           "  %w : Tensor = aten::unsqueeze(%x, %0)\n"
                           "  %v : Tensor = aten::unsqueeze(%w, %1)\n"
                           "  %c : bool = aten::is_contiguous(%v, %2)\n"
                           "  %d : int = prim::Constant[value=7]()\n"
                           "  %e : Tensor = aten::to(%x, %d)\n"
                           "  %q : bool = aten::equal(%e, %x)\n"
                           "  %r : (int, bool, bool, int, bool, bool, bool, bool) = "
                           "prim::TupleConstruct(%o, %z, %n, %p, %a, %nz, %c, %q)\n"
                           "  return (%r)\n";

static lz_err *run_graph(lz_runner *r, lz_array *x, lz_str *out, lz_gvalue **result)
{
    lz_gvalue *in = NULL;
    lz_run_stats stats = { 0 };
    lz_err *e = lz_gvalue_create_array(x, &in);
    e = e ? e : lz_runner_run(r, &in, 1, result, &stats);
    e = e ? e : lz_gvalue_text(*result, out);
    lz_gvalue_release(in);
    return e;
}

static lz_err *in_graphs(void)
{
    lz_graph *g = NULL;
    lz_runner *r = NULL;
    lz_array *x = NULL;
    lz_gvalue *result = NULL;
    lz_str shown = { 0 };
    lz_err *e = lz_graph_parse("test.ir", lz_str_of(text), &g);
    e = e ? e : lz_runner_create(g, &(lz_runner_options){ .threads = 1 }, &r);
    e = e ? e : lz_array_create(LZ_F32, LZ_DIMS(2, 3), &x);
    e = e ? e : run_graph(r, x, &shown, &result);
    if (!e)
        assert_true(lz_str_is(shown, "(1, False, False, 2, False, True, True, True)"));
    lz_gvalue_release(result);
    lz_array_release(x);
    lz_runner_release(r);
    lz_graph_release(g);
    return e;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shapes_and_strides),
        cmocka_unit_test(dtypes),
        cmocka_unit_test(reads_only_where_elements_decide),
        cmocka_unit_test(gradients_do_not_matter),
        cmocka_unit_test(refuses),
        LZ_TEST(in_graphs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
