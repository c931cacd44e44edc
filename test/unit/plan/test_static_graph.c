#include "check.h"
#include "core/strided_array.h"
#include "plan/static_graph.h"
#include <stdio.h>

/* Each graph runs as one plan, as one plan for each operator or two, and without fusion. */

enum { MOST = 4 };

typedef struct trial {
    const char *text;
    lz_static_graph_input in[MOST];
    lz_static_graph_arg args[MOST]; /* buffers are filled in */
    size_t n;
} trial;

static lz_err *fill(lz_static_graph_input in, lz_buffer **out)
{
    lz_array a;
    LZ_TRY(lz_array_init(&a, NULL, in.dtype, in.sizes));
    for (int64_t i = 0; i < a.numel; i++)
        lz_array_set(&a, i, lz_scalar_float(1 + (double)i));
    *out = lz_buffer_retain(a.buffer);
    lz_array_deinit(&a);
    return NULL;
}

static lz_err *fill_all(trial *t)
{
    for (size_t i = 0; i < t->n; i++)
        if (!t->in[i].number)
            LZ_TRY(fill(t->in[i], &t->args[i].buffer));
    return NULL;
}

static void release_all(trial *t)
{
    for (size_t i = 0; i < t->n; i++) {
        lz_buffer_release(t->args[i].buffer);
        t->args[i].buffer = NULL;
    }
}

/* "1 2 3" of the first output, and "|" before those that follow. */
static lz_err *show(const lz_static_graph *x, lz_buffer **buffers, lz_text *out)
{
    for (size_t i = 0; i < lz_static_graph_outputs(x); i++) {
        lz_static_graph_output o = lz_static_graph_output_get(x, i);
        lz_array a;
        lz_text_puts(out, i ? " | " : "");
        int64_t step[LZ_MAX_DIMS], s = 1;
        for (int64_t d = o.sizes.n; d-- > 0; s *= o.sizes.v[d])
            step[d] = s;
        LZ_TRY(lz_array_init_view(&a, buffers[i], o.dtype, o.sizes, (lz_ints){ step, o.sizes.n }, 0));
        for (int64_t k = 0; k < a.numel; k++) {
            lz_scalar v = lz_array_get(&a, k);
            lz_text_printf(out, "%s%g", k ? " " : "", v.kind == LZ_SCALAR_FLOAT ? v.re : (double)v.i);
        }
        lz_array_deinit(&a);
    }
    lz_text_putc(out, '\0');
    return lz_text_check(out);
}

static lz_err *run(trial *t, const lz_static_graph *x, const char *want)
{
    lz_buffer *out[MOST] = { NULL };
    lz_text text = { 0 };
    lz_static_graph_run_args args = { .in = t->args };
    lz_err *e = fill_all(t);
    if (!e)
        e = lz_static_graph_run(x, &args, out);
    if (!e)
        e = show(x, out, &text);
    if (!e)
        assert_string_equal(text.ptr, want);
    for (size_t i = 0; i < MOST; i++)
        lz_buffer_release(out[i]);
    release_all(t);
    lz_text_deinit(&text);
    return e;
}

static lz_err *expect_with(trial *t, lz_graph *g, const lz_static_graph_options *o, const char *want)
{
    lz_static_graph *x;
    LZ_TRY(lz_static_graph_create(g, t->in, o, &x));
    lz_err *e = run(t, x, want);
    if (!e)
        e = run(t, x, want); /* again: nothing is left of the first run */
    lz_static_graph_destroy(x);
    return e;
}

static lz_err *expect(trial t, const char *want)
{
    static const lz_static_graph_options all[] = { { 0 }, { .ops = 1 }, { .ops = 2 }, { .separate = true } };
    lz_graph *g;
    lz_err *e = NULL;
    LZ_TRY(lz_graph_parse(NULL, lz_str_of(t.text), &g));
    for (size_t i = 0; !e && i < sizeof all / sizeof *all; i++)
        e = expect_with(&t, g, &all[i], want);
    lz_graph_release(g);
    return e;
}

#define F32(...)                                                                                             \
    {                                                                                                        \
        .dtype = LZ_F32, .sizes = LZ_DIMS(__VA_ARGS__)                                                       \
    }
#define NUMBER(kind_)                                                                                        \
    {                                                                                                        \
        .number = kind_                                                                                      \
    }

static lz_err *test_operators_and_numbers(void)
{
    return expect(
        (trial){
            .text = "graph(%p0 : Tensor, %p1 : float, %p2 : Tensor, %p3 : int):\n"
                    "  %1 : Tensor = aten::mul(%p0, %p1)\n"
                    "  %2 : Tensor = aten::add(%1, %p2, %p3)\n"
                    "  %3 : Tensor = aten::relu(%2)\n"
                    "  return (%3, %1)\n",
            .in = { F32(3), NUMBER(LZ_SCALAR_FLOAT), F32(2, 3), NUMBER(LZ_SCALAR_INT) },
            .args = { [1].number = { LZ_SCALAR_FLOAT, 0, 0.5, 0 }, [3].number = { LZ_SCALAR_INT, -1, 0, 0 } },
            .n = 4 },
        "0 0 0 0 0 0 | 0.5 1 1.5");
}

/* Views of inputs come out dense; what is only passed on is passed on. */
static lz_err *test_views_and_inputs_as_results(void)
{
    return expect((trial){ .text = "graph(%p0 : Tensor):\n"
                                   "  %0 : int = prim::Constant[value=0]()\n"
                                   "  %1 : int = prim::Constant[value=1]()\n"
                                   "  %s : int[] = prim::Constant[value=[3, 2]]()\n"
                                   "  %t : Tensor = aten::transpose(%p0, %0, %1)\n"
                                   "  %v : Tensor = aten::view(%p0, %s)\n"
                                   "  %d : Tensor = aten::detach(%p0)\n"
                                   "  return (%p0, %t, %v, %d)\n",
                           .in = { F32(2, 3) },
                           .n = 1 },
                  "1 2 3 4 5 6 | 1 4 2 5 3 6 | 1 2 3 4 5 6 | 1 2 3 4 5 6");
}

/* The same elements as an input, but fewer, or in another order. */
static lz_err *test_views_of_views(void)
{
    return expect((trial){ .text = "graph(%p0 : Tensor):\n"
                                   "  %0 : int = prim::Constant[value=0]()\n"
                                   "  %1 : int = prim::Constant[value=1]()\n"
                                   "  %s : int[] = prim::Constant[value=[1, 2]]()\n"
                                   "  %d : Tensor = aten::diagonal(%p0, %0, %1, %0)\n"
                                   "  %v : Tensor = aten::view(%d, %s)\n"
                                   "  %t : Tensor = aten::t(%v)\n"
                                   "  %c : Tensor = aten::contiguous(%t, %0)\n"
                                   "  %f : Tensor = aten::select(%p0, %0, %0)\n"
                                   "  return (%c, %d, %f)\n",
                           .in = { F32(2, 3) },
                           .n = 1 },
                  "1 5 | 1 5 | 1 2 3");
}

/* Parts that begin at run-time numbers: of an input, of a part, of what was computed; and writes there. */
static lz_err *test_parts_from_numbers(void)
{
    return expect(
        (trial){ .text = "graph(%p0 : Tensor, %p1 : int, %p2 : int):\n"
                         "  %0 : int = prim::Constant[value=0]()\n"
                         "  %1 : int = prim::Constant[value=1]()\n"
                         "  %a : Float(2) = aten::select(%p0, %0, %p1)\n"
                         "  %b : Float(2, 2) = aten::slice(%p0, %0, %p1, %p2, %1)\n"
                         "  %c : Float(2) = aten::select(%b, %1, %p1)\n"
                         "  %d : Float(2) = aten::mul(%a, %c)\n"
                         "  %m : Float(4, 2) = aten::mul(%p0, %p0)\n"
                         "  %e : Float(2) = aten::select(%m, %0, %p2)\n"
                         "  %f : Float(4, 2) = aten::select_scatter(%p0, %d, %0, %p2)\n"
                         "  %g : Float(4, 2) = aten::slice_scatter(%f, %b, %0, %p1, %p2, %1)\n"
                         "  return (%a, %d, %e, %g)\n",
                 .in = { F32(4, 2), NUMBER(LZ_SCALAR_INT), NUMBER(LZ_SCALAR_INT) },
                 .args = { [1].number = { LZ_SCALAR_INT, 1, 0, 0 }, [2].number = { LZ_SCALAR_INT, 3, 0, 0 } },
                 .n = 3 },
        "3 4 | 12 24 | 49 64 | 1 2 3 4 5 6 12 24");
}

/* A number that leads out of the tensor is refused before anything runs. */
static lz_err *test_parts_that_leave_the_tensor(void)
{
    static const char text[] = "graph(%p0 : Tensor, %p1 : int):\n"
                               "  %0 : int = prim::Constant[value=0]()\n"
                               "  %1 : Float(2) = aten::select(%p0, %0, %p1)\n"
                               "  %2 : Float(2) = aten::neg(%1)\n"
                               "  return (%2)\n";
    static const int64_t wrong[] = { -1, 4, INT64_MAX, INT64_MIN };
    lz_static_graph_input in[2] = { F32(4, 2), NUMBER(LZ_SCALAR_INT) };
    lz_static_graph_arg a[2] = { { 0 }, { 0 } };
    lz_static_graph *x = NULL;
    lz_graph *g;
    lz_buffer *out;
    LZ_TRY(lz_graph_parse(NULL, lz_str_of(text), &g));
    lz_err *e = lz_static_graph_create(g, in, NULL, &x);
    if (!e)
        e = fill(in[0], &a[0].buffer);
    for (size_t i = 0; !e && i < sizeof wrong / sizeof *wrong; i++) {
        a[1].number = lz_scalar_int(wrong[i]);
        e = lz_static_graph_run(x, &(lz_static_graph_run_args){ .in = a }, &out);
        e = lz_check_err(e, LZ_ERR_ARG, "is out of the tensor's bounds");
    }
    lz_buffer_release(a[0].buffer);
    lz_static_graph_destroy(x);
    lz_graph_release(g);
    return e;
}

static lz_err *test_lists(void)
{
    return expect((trial){ .text = "graph(%p0 : Tensor):\n"
                                   "  %0 : int = prim::Constant[value=0]()\n"
                                   "  %2 : int = prim::Constant[value=2]()\n"
                                   "  %n : Tensor = aten::neg(%p0)\n"
                                   "  %l : Tensor[] = aten::split(%n, %2, %0)\n"
                                   "  %a : Tensor, %b : Tensor = prim::ListUnpack(%l)\n"
                                   "  %c : Tensor[] = prim::ListConstruct(%b, %p0, %a)\n"
                                   "  %r : Tensor = aten::cat(%c, %0)\n"
                                   "  return (%r, %b)\n",
                           .in = { F32(3) },
                           .n = 1 },
                  "-3 1 2 3 -1 -2 | -3");
}

/* Results that nothing is computed for, and constants. */
static lz_err *test_results_made_of_nothing(void)
{
    return expect((trial){ .text = "graph(%p0 : float):\n"
                                   "  %s : int[] = prim::Constant[value=[2]]()\n"
                                   "  %e : int[] = prim::Constant[value=annotate(List[int], [])]()\n"
                                   "  %n : NoneType = prim::Constant()\n"
                                   "  %a : Tensor = aten::full(%s, %p0, %n, %n, %n, %n)\n"
                                   "  %b : Tensor = aten::full(%e, %p0, %n, %n, %n, %n)\n"
                                   "  %c : Tensor = aten::ones(%e, %n, %n, %n, %n)\n"
                                   "  return (%a, %b, %c)\n",
                           .in = { NUMBER(LZ_SCALAR_FLOAT) },
                           .args = { { .number = { LZ_SCALAR_FLOAT, 0, 2.5, 0 } } },
                           .n = 1 },
                  "2.5 2.5 | 2.5 | 1");
}

/* The same position gives the same numbers, another one others; the order does not count. */
static lz_err *test_random_positions(void)
{
    static const char text[] = "graph(%p0 : int, %p1 : int, %p2 : int, %p3 : int):\n"
                               "  %s : int[] = prim::Constant[value=[64]]()\n"
                               "  %n : NoneType = prim::Constant()\n"
                               "  %a : Tensor = aten::rand[random=0](%s, %n, %n, %n, %n)\n"
                               "  %b : Tensor = aten::rand[random=2](%s, %n, %n, %n, %n)\n"
                               "  return (%a, %b)\n";
    static const lz_static_graph_input in[4] = { NUMBER(LZ_SCALAR_INT), NUMBER(LZ_SCALAR_INT),
                                                 NUMBER(LZ_SCALAR_INT), NUMBER(LZ_SCALAR_INT) };
    lz_static_graph *x = NULL;
    lz_graph *g;
    lz_buffer *one[2] = { NULL }, *two[2] = { NULL };
    LZ_TRY(lz_graph_parse(NULL, lz_str_of(text), &g));
    lz_err *e = lz_static_graph_create(g, in, NULL, &x);
    lz_static_graph_arg a[4] = { { .number = lz_scalar_int(7) },
                                 { .number = lz_scalar_int(1) },
                                 { .number = lz_scalar_int(7) },
                                 { .number = lz_scalar_int(2) } };
    if (!e)
        e = lz_static_graph_run(x, &(lz_static_graph_run_args){ .in = a }, one);
    lz_scalar swap = a[1].number;
    a[1].number = a[3].number;
    a[3].number = swap;
    if (!e)
        e = lz_static_graph_run(x, &(lz_static_graph_run_args){ .in = a }, two);
    if (!e) {
        assert_memory_equal(one[0]->data, two[1]->data, 64 * sizeof(float));
        assert_memory_equal(one[1]->data, two[0]->data, 64 * sizeof(float));
        assert_memory_not_equal(one[0]->data, one[1]->data, 64 * sizeof(float));
    }
    for (int i = 0; i < 2; i++) {
        lz_buffer_release(one[i]);
        lz_buffer_release(two[i]);
    }
    lz_static_graph_destroy(x);
    lz_graph_release(g);
    return e;
}

/* A dead input's memory becomes the result's; one that is needed stays as it was. */
static lz_err *test_donation(void)
{
    static const char text[] = "graph(%p0 : Tensor):\n"
                               "  %1 : Tensor = aten::neg(%p0)\n"
                               "  return (%1)\n";
    lz_static_graph_input in = F32(256);
    lz_static_graph *x = NULL;
    lz_graph *g;
    lz_err *e = NULL;
    LZ_TRY(lz_graph_parse(NULL, lz_str_of(text), &g));
    e = lz_static_graph_create(g, &in, NULL, &x);
    for (int donate = 0; !e && donate < 2; donate++) {
        lz_static_graph_arg a = { .donate = donate };
        lz_buffer *out = NULL;
        e = fill(in, &a.buffer);
        if (!e)
            e = lz_static_graph_run(x, &(lz_static_graph_run_args){ .in = &a }, &out);
        if (!e) {
            assert_int_equal(out == a.buffer, donate);
            assert_true(((float *)out->data)[5] == -6.0F);
            assert_true(donate || ((float *)a.buffer->data)[5] == 6.0F);
        }
        lz_buffer_release(out);
        lz_buffer_release(a.buffer);
    }
    lz_static_graph_destroy(x);
    lz_graph_release(g);
    return e;
}

/* An index out of range: the node is named, and nothing was written over. */
static lz_err *test_failing_node(void)
{
    static const char text[] = "graph(%p0 : Tensor, %p1 : Tensor):\n"
                               "  %0 : int = prim::Constant[value=0]()\n"
                               "  %1 : Tensor = aten::neg(%p0)\n"
                               "  %2 : Tensor = aten::index_select(%1, %0, %p1) # net.py:3:1\n"
                               "  return (%2)\n";
    lz_static_graph_input in[2] = { F32(3), { .dtype = LZ_I64, .sizes = LZ_DIMS(3) } };
    lz_static_graph_arg a[2] = { { .donate = true }, { .donate = true } };
    lz_static_graph *x = NULL;
    lz_graph *g;
    const lz_ssa_node *failed = NULL;
    lz_buffer *out;
    LZ_TRY(lz_graph_parse(NULL, lz_str_of(text), &g));
    lz_err *e = lz_static_graph_create(g, in, NULL, &x);
    for (int i = 0; !e && i < 2; i++)
        e = fill(in[i], &a[i].buffer);
    if (!e) {
        e = lz_static_graph_run(x, &(lz_static_graph_run_args){ .in = a, .failed = &failed }, &out);
        e = lz_check_err(e, LZ_ERR_ARG, "out of");
    }
    if (!e) {
        assert_non_null(failed);
        assert_int_equal(failed->loc.line, 3);
        assert_true(((float *)a[0].buffer->data)[2] == 3.0F);
    }
    for (int i = 0; i < 2; i++)
        lz_buffer_release(a[i].buffer);
    lz_static_graph_destroy(x);
    lz_graph_release(g);
    return e;
}

static lz_err *refuse(const char *text, const char *part)
{
    lz_static_graph_input in[2] = { F32(2), F32(2) };
    lz_static_graph *x;
    lz_graph *g;
    LZ_TRY(lz_graph_parse(NULL, lz_str_of(text), &g));
    lz_err *e = lz_check_err(lz_static_graph_create(g, in, NULL, &x), LZ_ERR_UNSUPPORTED, part);
    lz_graph_release(g);
    return e;
}

/* Dropout draws while it trains, and only then. */
static lz_err *test_dropout(void)
{
    static const char form[] = "graph(%%x : Tensor):\n"
                               "  %%p : float = prim::Constant[value=0.5]()\n"
                               "  %%t : bool = prim::Constant[value=%s]()\n"
                               "  %%y : Tensor = aten::dropout(%%x, %%p, %%t)\n"
                               "  return (%%y)\n";
    char text[512];
    lz_static_graph_input in = F32(2);
    lz_static_graph *x;
    lz_graph *g;
    snprintf(text, sizeof text, form, "True");
    LZ_TRY(refuse(text, "without a position"));
    snprintf(text, sizeof text, form, "False");
    LZ_TRY(lz_graph_parse(NULL, lz_str_of(text), &g));
    lz_err *e = lz_static_graph_create(g, &in, NULL, &x);
    if (!e)
        lz_static_graph_destroy(x);
    lz_graph_release(g);
    return e;
}

static lz_err *test_refusals(void)
{
    LZ_TRY(refuse("graph(%p0 : Tensor):\n  %1 : Tensor = aten::neg_(%p0)\n  return (%1)\n", "static graph"));
    LZ_TRY(refuse("graph(%p0 : Tensor):\n  %1 : int = aten::dim(%p0)\n  return (%1)\n", "static graph"));
    return refuse("graph(%p0 : Tensor):\n  %1 : Tensor = aten::nonzero(%p0)\n  return (%1)\n", "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LZ_TEST(test_operators_and_numbers),
        LZ_TEST(test_views_and_inputs_as_results),
        LZ_TEST(test_lists),
        LZ_TEST(test_parts_from_numbers),
        LZ_TEST(test_parts_that_leave_the_tensor),
        LZ_TEST(test_views_of_views),
        LZ_TEST(test_results_made_of_nothing),
        LZ_TEST(test_random_positions),
        LZ_TEST(test_dropout),
        LZ_TEST(test_donation),
        LZ_TEST(test_failing_node),
        LZ_TEST(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
