#include "check.h"
#include "core/strided_array.h"
#include "script/executor.h"
#include "script/script_tensor.h"
#include <stdio.h>

/* Runs a graph on tensors of f32 (or what the graph makes of them) and prints the result. */

static lz_err *array_of(lz_ints sizes, double first, lz_script_value *out)
{
    lz_array a;
    LZ_TRY(lz_array_init(&a, NULL, LZ_F32, sizes));
    for (int64_t i = 0; i < a.numel; i++)
        lz_array_set(&a, i, lz_scalar_float(first + (double)i));
    lz_err *e = lz_script_tensor_of_array(&a, out);
    lz_array_deinit(&a);
    return e;
}

static lz_err *parse(const char *text, lz_executor **out)
{
    lz_graph *g;
    LZ_TRY(lz_graph_parse(NULL, lz_str_of(text), &g));
    lz_err *e = lz_executor_create(g, out);
    lz_graph_release(g);
    return e;
}

/* "1 2 3" */
static void show(lz_script_value v, lz_text *out)
{
    lz_array a;
    lz_scalar s;
    if (v.kind == LZ_SCRIPT_VALUE_LIST || v.kind == LZ_SCRIPT_VALUE_TUPLE) {
        for (size_t i = 0; i < v.list->len; i++) {
            lz_text_puts(out, i ? " | " : "");
            show(v.list->data[i], out);
        }
        return;
    }
    if (!lz_script_value_is_tensor(v)) {
        lz_err_free(lz_script_value_repr(v, out));
        return;
    }
    lz_err *e = lz_script_value_read(v, &a);
    for (int64_t i = 0; !e && i < a.numel; i++) {
        s = lz_array_get(&a, i);
        lz_text_printf(out, "%s%lld", i ? " " : "",
                       (long long)(s.kind == LZ_SCALAR_FLOAT ? s.re : (double)s.i));
    }
    if (e)
        lz_err_free(e);
    else
        lz_array_deinit(&a);
}

static lz_err *run_once(lz_executor *x, const lz_script_value *in, size_t n, bool separate, const char *want)
{
    lz_script_env env = { .seed = 7, .separate = separate };
    lz_script_value out = lz_script_value_none();
    lz_text t = { 0 };
    LZ_TRY(lz_executor_run(x, in, n, &env, &out));
    show(out, &t);
    lz_text_putc(&t, '\0');
    if (!t.failed && !lz_check_failing())
        assert_string_equal(t.ptr, want);
    lz_script_value_release(out);
    lz_err *e = lz_text_check(&t);
    lz_text_deinit(&t);
    return e;
}

/* With one input of these sizes: 1, 2, 3, ... */
static lz_err *expect(const char *text, lz_ints sizes, const char *want)
{
    lz_executor *x;
    lz_err *e = NULL;
    LZ_TRY(parse(text, &x));
    for (int i = 0; !e && i < 3; i++) {
        lz_script_value in;
        e = array_of(sizes, 1, &in);
        if (!e) {
            e = run_once(x, &in, 1, i == 2, want);
            lz_script_value_release(in);
        }
    }
    lz_executor_destroy(x);
    return e;
}

static lz_err *test_operators_run(void)
{
    return expect("graph(%x : Tensor):\n"
                  "  %1 : int = prim::Constant[value=1]()\n"
                  "  %2 : Tensor = aten::add(%x, %x, %1)\n"
                  "  %3 : Tensor = aten::mul(%2, %x)\n"
                  "  return (%3)\n",
                  LZ_DIMS(3), "2 8 18");
}

/* Which end of the order topk takes is its fourth argument. */
static lz_err *test_topk_takes_either_end(void)
{
    return expect("graph(%x : Tensor):\n"
                  "  %2 : int = prim::Constant[value=2]()\n"
                  "  %d : int = prim::Constant[value=-1]()\n"
                  "  %no : bool = prim::Constant[value=0]()\n"
                  "  %yes : bool = prim::Constant[value=1]()\n"
                  "  %a : Tensor, %i : Tensor = aten::topk(%x, %2, %d, %yes, %yes)\n"
                  "  %b : Tensor, %j : Tensor = aten::topk(%x, %2, %d, %no, %yes)\n"
                  "  %t : (Tensor, Tensor) = prim::TupleConstruct(%a, %b)\n"
                  "  return (%t)\n",
                  LZ_DIMS(4), "4 3 | 1 2");
}

/* A tensor constant behind the operator is a number, as a tracer found it; before it, a tensor. dtype 6:
 * float32. */
static lz_err *test_traced_numbers_are_numbers(void)
{
    return expect("graph(%x : Tensor):\n"
                  "  %1 : int = prim::Constant[value=1]()\n"
                  "  %4 : int = prim::Constant[value=4]()\n"
                  "  %no : bool = prim::Constant[value=0]()\n"
                  "  %n : NoneType = prim::Constant()\n"
                  "  %c : Double(requires_grad=0, device=cpu) = prim::Constant[value={1.5}]()\n"
                  "  %i : Tensor = aten::to(%x, %4, %no, %no, %n)\n"
                  "  %a : Tensor = aten::add(%i, %c, %1)\n"
                  "  %b : Tensor = aten::add(%c, %i, %1)\n"
                  "  %p : int = prim::dtype(%a)\n"
                  "  %q : int = prim::dtype(%b)\n"
                  "  %l : int[] = prim::ListConstruct(%p, %q)\n"
                  "  %d : Tensor = aten::tensor(%l, %n, %n, %no)\n"
                  "  %t : (Tensor, Tensor) = prim::TupleConstruct(%a, %d)\n"
                  "  return (%t)\n",
                  LZ_DIMS(2), "2 3 | 6 7");
}

/* A view sees what is written to its base, and the other way round. */
static lz_err *test_writes_through_views(void)
{
    return expect("graph(%x : Tensor):\n"
                  "  %0 : int = prim::Constant[value=0]()\n"
                  "  %1 : int = prim::Constant[value=1]()\n"
                  "  %10 : int = prim::Constant[value=10]()\n"
                  "  %y : Tensor = aten::mul(%x, %1)\n"
                  "  %row : Tensor = aten::select(%y, %0, %1)\n"
                  "  %col : Tensor = aten::select(%y, %1, %0)\n"
                  "  %w : Tensor = aten::mul_(%row, %10)\n"
                  "  %v : Tensor = aten::add_(%col, %10, %1)\n"
                  "  %t : (Tensor, Tensor, Tensor, Tensor) = prim::TupleConstruct(%y, %row, %col, %w)\n"
                  "  return (%t)\n",
                  LZ_DIMS(2, 3), "11 2 3 50 50 60 | 50 50 60 | 11 50 | 50 50 60");
}

/* What happens in one segment is seen in the next: a condition on a tensor ends the first. */
static lz_err *test_writes_are_seen_in_later_segments(void)
{
    return expect("graph(%x : Tensor):\n"
                  "  %0 : int = prim::Constant[value=0]()\n"
                  "  %1 : int = prim::Constant[value=1]()\n"
                  "  %n : NoneType = prim::Constant()\n"
                  "  %y : Tensor = aten::mul(%x, %1)\n"
                  "  %a : Tensor = aten::select(%y, %0, %0)\n"
                  "  %s : Tensor = aten::sum(%y, %n)\n"
                  "  %c : bool = aten::Bool(%s)\n"
                  "  %r : Tensor = prim::If(%c)\n"
                  "    block0():\n"
                  "      %z : Tensor = aten::add_(%y, %y, %1)\n"
                  "      -> (%z)\n"
                  "    block1():\n"
                  "      -> (%y)\n"
                  "  %t : (Tensor, Tensor, Tensor) = prim::TupleConstruct(%a, %y, %r)\n"
                  "  return (%t)\n",
                  LZ_DIMS(2, 2), "2 4 | 2 4 6 8 | 2 4 6 8");
}

/* A view that is made where its base is written is still a view of that base later. */
static lz_err *test_views_of_written_bases_stay_views(void)
{
    return expect("graph(%x : Tensor):\n"
                  "  %0 : int = prim::Constant[value=0]()\n"
                  "  %1 : int = prim::Constant[value=1]()\n"
                  "  %a : Tensor = aten::select(%x, %0, %0)\n"
                  "  %b : Tensor = aten::add_(%a, %1, %1)\n"
                  "  %col : Tensor = aten::select(%x, %1, %1)\n"
                  "  %c : bool = aten::is_floating_point(%col)\n"
                  "   = prim::If(%c)\n"
                  "    block0():\n"
                  "      %z : Tensor = aten::zero_(%col)\n"
                  "      -> ()\n"
                  "    block1():\n"
                  "      -> ()\n"
                  "  %t : (Tensor, Tensor, Tensor) = prim::TupleConstruct(%x, %a, %col)\n"
                  "  return (%t)\n",
                  LZ_DIMS(2, 2), "2 0 3 0 | 2 0 | 0 0");
}

/* A copy, though the operator could give a view: asked for, or because elements do not lie in a row. */
static lz_err *test_copies_are_no_views(void)
{
    return expect("graph(%x : Tensor):\n"
                  "  %0 : int = prim::Constant[value=0]()\n"
                  "  %1 : int = prim::Constant[value=1]()\n"
                  "  %f : int = prim::Constant[value=6]()\n"
                  "  %no : bool = prim::Constant[value=0]()\n"
                  "  %yes : bool = prim::Constant[value=1]()\n"
                  "  %n : NoneType = prim::Constant()\n"
                  "  %t : Tensor = aten::t(%x)\n"
                  "  %a : Tensor = aten::contiguous(%t, %0)\n"
                  "  %b : Tensor = aten::to(%x, %f, %no, %yes, %n)\n"
                  "  %c : Tensor = aten::contiguous(%x, %0)\n"
                  "  %p : Tensor = aten::zero_(%a)\n"
                  "  %q : Tensor = aten::zero_(%b)\n"
                  "  %r : Tensor = aten::add_(%c, %1, %1)\n"
                  "  %s : (Tensor, Tensor, Tensor) = prim::TupleConstruct(%x, %a, %b)\n"
                  "  return (%s)\n",
                  LZ_DIMS(2, 2), "2 3 4 5 | 0 0 0 0 | 0 0 0 0");
}

/* The caller's tensor is written, too; but not the array that it was made of. */
static lz_err *test_inputs_can_be_written(void)
{
    lz_executor *x;
    lz_script_value in, out;
    lz_script_env env = { 0 };
    lz_text t = { 0 };
    LZ_TRY(parse("graph(%x : Tensor):\n"
                 "  %1 : int = prim::Constant[value=1]()\n"
                 "  %y : Tensor = aten::add_(%x, %1, %1)\n"
                 "  return (%y)\n",
                 &x));
    lz_err *e = array_of(LZ_DIMS(2), 1, &in);
    if (!e) {
        e = lz_executor_run(x, &in, 1, &env, &out);
        if (!e) {
            assert_ptr_equal(out.tensor, in.tensor);
            show(in, &t);
            if (!t.failed && !lz_check_failing())
                assert_true(lz_str_is(lz_text_view(&t), "2 3"));
            lz_script_value_release(out);
        }
        lz_script_value_release(in);
    }
    lz_text_deinit(&t);
    lz_executor_destroy(x);
    return e;
}

/* A view that leaves the segment and its base are one storage. */
static lz_err *test_views_leave_as_views(void)
{
    return expect("graph(%x : Tensor):\n"
                  "  %0 : int = prim::Constant[value=0]()\n"
                  "  %1 : int = prim::Constant[value=1]()\n"
                  "  %n : NoneType = prim::Constant()\n"
                  "  %y : Tensor = aten::t(%x)\n"
                  "  %s : Tensor = aten::sum(%y, %n)\n"
                  "  %c : bool = aten::Bool(%s)\n"
                  "  %r : Tensor = prim::If(%c)\n"
                  "    block0():\n"
                  "      %z : Tensor = aten::add_(%x, %1, %1)\n"
                  "      -> (%y)\n"
                  "    block1():\n"
                  "      -> (%x)\n"
                  "  return (%r)\n",
                  LZ_DIMS(2, 3), "2 5 3 6 4 7");
}

static lz_err *test_loops_carry_values(void)
{
    return expect("graph(%x : Tensor):\n"
                  "  %1 : int = prim::Constant[value=1]()\n"
                  "  %5 : int = prim::Constant[value=5]()\n"
                  "  %t : bool = prim::Constant[value=1]()\n"
                  "  %y : Tensor, %k : int = prim::Loop(%5, %t, %x, %1)\n"
                  "    block0(%i : int, %a : Tensor, %m : int):\n"
                  "      %b : Tensor = aten::add(%a, %i, %1)\n"
                  "      %m2 : int = aten::mul(%m, %5)\n"
                  "      %go : bool = aten::lt(%m2, %5)\n"
                  "      %go2 : bool = aten::ne(%m2, %5)\n"
                  "      %cont : bool = aten::__or__(%go2, %t)\n"
                  "      -> (%cont, %b, %m2)\n"
                  "  %r : (Tensor, int) = prim::TupleConstruct(%y, %k)\n"
                  "  return (%r)\n",
                  LZ_DIMS(2), "11 12 | 3125");
}

/* A loop over a scalar that changes makes one plan. */
static void test_scalars_do_not_make_plans(void **state)
{
    lz_executor *x = NULL;
    lz_script_value in, out;
    lz_script_env env = { 0 };
    (void)state;
    assert_null(parse("graph(%x : Tensor, %n : int):\n"
                      "  %1 : int = prim::Constant[value=1]()\n"
                      "  %t : bool = prim::Constant[value=1]()\n"
                      "  %y : Tensor = prim::Loop(%n, %t, %x)\n"
                      "    block0(%i : int, %a : Tensor):\n"
                      "      %b : Tensor = aten::add(%a, %i, %1)\n"
                      "      -> (%t, %b)\n"
                      "  return (%y)\n",
                      &x));
    assert_null(array_of(LZ_DIMS(2), 0, &in));
    lz_script_value args[2] = { in, lz_script_value_int(100) };
    assert_null(lz_executor_run(x, args, 2, &env, &out));
    assert_int_equal(lz_executor_plans(x), 1);
    lz_script_value_release(out);
    lz_script_value_release(in);
    lz_executor_destroy(x);
}

static lz_err *test_errors_name_the_node(void)
{
    lz_executor *x;
    lz_script_value in, out;
    lz_script_env env = { 0 };
    LZ_TRY(parse("graph(%x : Tensor):\n"
                 "  %9 : int = prim::Constant[value=9]()\n"
                 "  %0 : int = prim::Constant[value=0]()\n"
                 "  %y : Tensor = aten::select(%x, %0, %9)\n"
                 "  return (%y)\n",
                 &x));
    lz_err *e = array_of(LZ_DIMS(2), 1, &in);
    if (!e) {
        e = lz_executor_run(x, &in, 1, &env, &out);
        if (lz_err_code(e) == LZ_ERR_ARG) {
            assert_int_equal(lz_err_loc(e).line, 4);
            assert_non_null(strstr(lz_err_text(e), "aten::select"));
            lz_err_free(e);
            e = NULL;
        } else {
            assert_true(lz_check_failing() && e);
        }
        lz_script_value_release(in);
    }
    lz_executor_destroy(x);
    return e;
}

/* Random operators draw other numbers each time, and the same again with the same seed. */
static void test_random_numbers_follow_the_seed(void **state)
{
    lz_executor *x = NULL;
    lz_script_value first, second, again;
    lz_array a, b, c;
    lz_script_env env = { .seed = 3 }, env2 = { .seed = 3 };
    (void)state;
    assert_null(parse("graph():\n"
                      "  %4 : int = prim::Constant[value=4]()\n"
                      "  %n : NoneType = prim::Constant()\n"
                      "  %s : int[] = prim::ListConstruct(%4)\n"
                      "  %r : Tensor = aten::rand(%s, %n, %n, %n, %n)\n"
                      "  return (%r)\n",
                      &x));
    assert_null(lz_executor_run(x, NULL, 0, &env, &first));
    assert_null(lz_executor_run(x, NULL, 0, &env, &second));
    assert_null(lz_executor_run(x, NULL, 0, &env2, &again));
    assert_null(lz_script_value_read(first, &a));
    assert_null(lz_script_value_read(second, &b));
    assert_null(lz_script_value_read(again, &c));
    lz_tolerance exact = { 0 };
    assert_false(lz_array_equal(&a, &b, &exact, NULL, NULL));
    assert_true(lz_array_equal(&a, &c, &exact, NULL, NULL));
    lz_array_deinit(&a);
    lz_array_deinit(&b);
    lz_array_deinit(&c);
    lz_script_value_release(first);
    lz_script_value_release(second);
    lz_script_value_release(again);
    lz_executor_destroy(x);
}

/* t_ and its like change what a tensor looks at for all who hold it; a later write finds the same elements.
 */
static lz_err *test_shapes_change_in_place(void)
{
    return expect("graph(%x : Tensor):\n"
                  "  %0 : int = prim::Constant[value=0]()\n"
                  "  %1 : int = prim::Constant[value=1]()\n"
                  "  %yes : bool = prim::Constant[value=1]()\n"
                  "  %y : Tensor = aten::mul(%x, %1)\n"
                  "  %l : Tensor[] = prim::ListConstruct(%y)\n"
                  "   = prim::If(%yes)\n"
                  "    block0():\n"
                  "      %t : Tensor = aten::t_(%y)\n"
                  "      -> ()\n"
                  "    block1():\n"
                  "      -> ()\n"
                  "  %z : Tensor = aten::__getitem__(%l, %0)\n"
                  "  %row : Tensor = aten::select(%z, %0, %1)\n"
                  "  %w : Tensor = aten::zero_(%row)\n"
                  "  %u : Tensor = aten::unsqueeze_(%row, %0)\n"
                  "  %n : int = aten::dim(%row)\n"
                  "  %r : (Tensor, Tensor, int) = prim::TupleConstruct(%y, %u, %n)\n"
                  "  return (%r)\n",
                  LZ_DIMS(2, 3), "1 4 0 0 3 6 | 0 0 | 2");
}

/* as_strided looks at the storage, whatever its argument looks at; the sum of a transposed tensor lies as
 * that does. */
static lz_err *test_writes_through_as_strided(void)
{
    return expect("graph(%x : Tensor):\n"
                  "  %0 : int = prim::Constant[value=0]()\n"
                  "  %1 : int = prim::Constant[value=1]()\n"
                  "  %sizes : int[] = prim::Constant[value=[2]]()\n"
                  "  %strides : int[] = prim::Constant[value=[1]]()\n"
                  "  %t : Tensor = aten::t(%x)\n"
                  "  %y : Tensor = aten::add(%t, %t, %1)\n"
                  "  %col : Tensor = aten::select(%y, %1, %1)\n"
                  "  %v : Tensor = aten::as_strided(%col, %sizes, %strides, %1)\n"
                  "  %w : Tensor = aten::zero_(%v)\n"
                  "  %r : (Tensor, Tensor) = prim::TupleConstruct(%y, %col)\n"
                  "  return (%r)\n",
                  LZ_DIMS(2, 3), "2 8 0 10 0 12 | 8 10 12");
}

/* What comes before sizes that depend on elements is run, then the rest; writes on both sides are seen. */
static lz_err *test_sizes_from_elements(void)
{
    return expect("graph(%x : Tensor):\n"
                  "  %0 : int = prim::Constant[value=0]()\n"
                  "  %1 : int = prim::Constant[value=1]()\n"
                  "  %3 : int = prim::Constant[value=3]()\n"
                  "  %y : Tensor = aten::mul(%x, %1)\n"
                  "  %row : Tensor = aten::select(%y, %0, %0)\n"
                  "  %a : Tensor = aten::zero_(%row)\n"
                  "  %m : Tensor = aten::gt(%y, %3)\n"
                  "  %found : Tensor = aten::masked_select(%y, %m)\n"
                  "  %b : Tensor = aten::add_(%row, %1, %1)\n"
                  "  %n : Tensor = aten::nonzero(%y)\n"
                  "  %k : int = aten::size(%n, %0)\n"
                  "  %r : (Tensor, Tensor, int) = prim::TupleConstruct(%y, %found, %k)\n"
                  "  return (%r)\n",
                  LZ_DIMS(2, 3), "1 1 1 4 5 6 | 4 5 6 | 6");
}

static lz_err *test_lists_of_tensors(void)
{
    return expect("graph(%x : Tensor):\n"
                  "  %0 : int = prim::Constant[value=0]()\n"
                  "  %1 : int = prim::Constant[value=1]()\n"
                  "  %l : Tensor[] = prim::ListConstruct(%x)\n"
                  "  %y : Tensor = aten::add(%x, %1, %1)\n"
                  "  %a : Tensor[] = aten::append(%l, %y)\n"
                  "  %z : Tensor = aten::cat(%l, %0)\n"
                  "  %n : int = aten::len(%l)\n"
                  "  %r : (Tensor, int) = prim::TupleConstruct(%z, %n)\n"
                  "  return (%r)\n",
                  LZ_DIMS(2), "1 2 2 3 | 2");
}

/* A chain of many nodes, on a small stack, in linear time. */
enum { CHAIN = 200000 };

static void *run_chain(void *arg)
{
    lz_text t = { 0 };
    lz_executor *x;
    lz_script_value in, out;
    lz_script_env env = { 0 };
    (void)arg;
    lz_text_puts(&t, "graph(%x0 : Tensor):\n  %one : int = prim::Constant[value=1]()\n");
    for (int i = 0; i < CHAIN; i++)
        lz_text_printf(&t, "  %%x%d : Tensor = aten::%s(%%x%d, %%x0, %%one)\n", i + 1, i % 2 ? "sub" : "add",
                       i);
    lz_text_printf(&t, "  return (%%x%d)\n", CHAIN);
    lz_graph *g;
    assert_null(lz_graph_parse(NULL, lz_text_view(&t), &g));
    assert_null(lz_executor_create(g, &x));
    lz_graph_release(g);
    assert_null(array_of(LZ_DIMS(3), 1, &in));
    assert_null(lz_executor_run(x, &in, 1, &env, &out));
    lz_text_clear(&t);
    show(out, &t);
    assert_true(lz_str_is(lz_text_view(&t), "1 2 3"));
    lz_script_value_release(out);
    lz_script_value_release(in);
    lz_executor_destroy(x);
    lz_text_deinit(&t);
    return NULL;
}

static void test_long_chain_on_a_small_stack(void **state)
{
    pthread_t thread;
    pthread_attr_t attr;
    (void)state;
    assert_int_equal(pthread_attr_init(&attr), 0);
    assert_int_equal(pthread_attr_setstacksize(&attr, LZ_SMALL_STACK), 0);
    assert_int_equal(pthread_create(&thread, &attr, run_chain, NULL), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    pthread_attr_destroy(&attr);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LZ_TEST(test_operators_run),
        LZ_TEST(test_topk_takes_either_end),
        LZ_TEST(test_traced_numbers_are_numbers),
        LZ_TEST(test_writes_through_views),
        LZ_TEST(test_writes_are_seen_in_later_segments),
        LZ_TEST(test_views_of_written_bases_stay_views),
        LZ_TEST(test_copies_are_no_views),
        LZ_TEST(test_inputs_can_be_written),
        LZ_TEST(test_views_leave_as_views),
        LZ_TEST(test_loops_carry_values),
        cmocka_unit_test(test_scalars_do_not_make_plans),
        LZ_TEST(test_errors_name_the_node),
        cmocka_unit_test(test_random_numbers_follow_the_seed),
        LZ_TEST(test_lists_of_tensors),
        LZ_TEST(test_shapes_change_in_place),
        LZ_TEST(test_writes_through_as_strided),
        LZ_TEST(test_sizes_from_elements),
        cmocka_unit_test(test_long_chain_on_a_small_stack),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
