/* Donated inputs: updates are written in their memory, whatever comes before them in
 * the graph; a run that fails, for whatever reason, leaves them as they were. */
#include "check.h"
#include "plan/static_graph_impl.h"
#include <stdio.h>

enum { MOST = 4, SIDE = 16, CELLS = SIDE * SIDE };

typedef struct trial {
    const char *text;
    size_t n, outputs;
    const char *own; /* by output: '0' + the input whose memory it has, '-': none */
    size_t made;     /* buffers */
} trial;

typedef struct stand {
    lz_graph *g;
    lz_static_graph *x;
    lz_buffer_pool *pool;
    lz_static_graph_arg args[MOST];
    lz_buffer *out[MOST];
} stand;

static float number(size_t input, int i)
{
    return (float)(((int)input * 7 + i * 3) % 11) * 0.25F + 0.25F;
}

static lz_err *stand_init(stand *s, const trial *t, const lz_static_graph_options *o, bool donate)
{
    static const int64_t sizes[] = { SIDE, SIDE };
    lz_static_graph_input in[MOST];
    *s = (stand){ 0 };
    for (size_t i = 0; i < t->n; i++)
        in[i] = (lz_static_graph_input){ .dtype = LZ_F32, .sizes = { sizes, 2 } };
    LZ_TRY(lz_graph_parse(NULL, lz_str_of(t->text), &s->g));
    LZ_TRY(lz_static_graph_create(s->g, in, o, &s->x));
    LZ_TRY(lz_buffer_pool_create(1 << 20, &s->pool));
    for (size_t i = 0; i < t->n; i++) {
        LZ_TRY(lz_buffer_create(NULL, CELLS * sizeof(float), &s->args[i].buffer));
        s->args[i].donate = donate;
        for (int k = 0; k < CELLS; k++)
            ((float *)s->args[i].buffer->data)[k] = number(i, k);
    }
    return NULL;
}

static void stand_deinit(stand *s)
{
    for (int i = 0; i < MOST; i++) {
        lz_buffer_release(s->out[i]);
        lz_buffer_release(s->args[i].buffer);
    }
    lz_static_graph_destroy(s->x);
    lz_graph_release(s->g);
    lz_buffer_pool_release(s->pool);
}

static lz_err *run(stand *s, const trial *t)
{
    size_t planned = 0;
    lz_static_graph_run_args args = { .in = s->args, .memory = s->pool, .planned = &planned };
    lz_err *e = lz_static_graph_run(s->x, &args, s->out);
    if (!e && s->x->steps.len == 1)
        assert_int_equal(planned, lz_buffer_pool_stats(s->pool).peak);
    else if (!e)
        assert_true(planned >= lz_buffer_pool_stats(s->pool).peak);
    for (size_t i = 0; e && i < t->n; i++)
        for (int k = 0; k < CELLS; k++)
            assert_true(((float *)s->args[i].buffer->data)[k] == number(i, k));
    return e;
}

static lz_err *compare(stand *given, stand *plain, const trial *t)
{
    for (size_t i = 0; i < t->outputs; i++)
        assert_memory_equal(given->out[i]->data, plain->out[i]->data, plain->out[i]->size);
    return NULL;
}

static void expect_places(const stand *s, const trial *t)
{
    for (size_t i = 0; i < t->outputs; i++)
        for (size_t k = 0; k < t->n; k++)
            assert_int_equal(s->out[i] == s->args[k].buffer, t->own[i] == '0' + (int)k);
}

/* In one plan everything is where it is expected; in several, inputs are at least safe. */
static lz_err *expect_with(const trial *t, const lz_static_graph_options *o)
{
    stand plain, given = { 0 };
    lz_err *e = stand_init(&plain, t, o, false);
    e = e ? e : stand_init(&given, t, o, true);
    e = e ? e : run(&plain, t);
    e = e ? e : run(&given, t);
    e = e ? e : compare(&given, &plain, t);
    if (!e && !o->ops && !o->separate) {
        expect_places(&given, t);
        assert_int_equal(lz_buffer_pool_stats(given.pool).made, t->made);
    }
    stand_deinit(&plain);
    stand_deinit(&given);
    return e;
}

static lz_err *expect(trial t)
{
    static const lz_static_graph_options all[] = { { 0 }, { .ops = 1 }, { .ops = 3 }, { .separate = true } };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        LZ_TRY(expect_with(&t, &all[i]));
    return NULL;
}

/* x, w0, w1: the gradients come of matrix products, one after the other, each followed by the
 * update that it is for. Only temporaries are taken: one block. */
static lz_err *test_updates_between_products(void)
{
    return expect((trial){ .text = "graph(%p0 : Tensor, %p1 : Tensor, %p2 : Tensor):\n"
                                   "  %s : float = prim::Constant[value=0.125]()\n"
                                   "  %1 : Tensor = aten::mm(%p0, %p1)\n"
                                   "  %2 : Tensor = aten::tanh(%1)\n"
                                   "  %3 : Tensor = aten::mm(%2, %p2)\n"
                                   "  %4 : Tensor = aten::mm(%3, %p2)\n"
                                   "  %5 : Tensor = aten::sub(%p2, %3, %s)\n"
                                   "  %6 : Tensor = aten::mm(%4, %p0)\n"
                                   "  %7 : Tensor = aten::sub(%p1, %6, %s)\n"
                                   "  return (%5, %7)\n",
                           .n = 3,
                           .outputs = 2,
                           .own = "21",
                           .made = 1 });
}

/* Three results of one kernel, each in the memory of what it updates. */
static lz_err *test_three_results_of_one_kernel(void)
{
    return expect((trial){ .text = "graph(%p0 : Tensor, %p1 : Tensor, %p2 : Tensor, %p3 : Tensor):\n"
                                   "  %a : float = prim::Constant[value=0.5]()\n"
                                   "  %b : float = prim::Constant[value=0.25]()\n"
                                   "  %one : int = prim::Constant[value=1]()\n"
                                   "  %g : Tensor = aten::mm(%p3, %p3)\n"
                                   "  %1 : Tensor = aten::mul(%p0, %a)\n"
                                   "  %m : Tensor = aten::add(%1, %g, %b)\n"
                                   "  %2 : Tensor = aten::mul(%p1, %a)\n"
                                   "  %v : Tensor = aten::addcmul(%2, %g, %g, %b)\n"
                                   "  %3 : Tensor = aten::sqrt(%v)\n"
                                   "  %4 : Tensor = aten::add(%3, %b, %one)\n"
                                   "  %w : Tensor = aten::addcdiv(%p2, %m, %4, %a)\n"
                                   "  return (%m, %v, %w)\n",
                           .n = 4,
                           .outputs = 3,
                           .own = "012",
                           .made = 1 });
}

/* One result is an input as it was: nobody writes over it. */
static lz_err *test_an_input_that_is_a_result(void)
{
    return expect((trial){ .text = "graph(%p0 : Tensor, %p1 : Tensor):\n"
                                   "  %one : int = prim::Constant[value=1]()\n"
                                   "  %1 : Tensor = aten::add(%p0, %p1, %one)\n"
                                   "  %2 : Tensor = aten::mul(%p0, %p1)\n"
                                   "  return (%1, %p0, %2)\n",
                           .n = 2,
                           .outputs = 3,
                           .own = "10-",
                           .made = 1 });
}

/* Matrix products have the memory that they need before anything is written. */
static lz_err *test_an_update_before_a_product(void)
{
    return expect((trial){ .text = "graph(%p0 : Tensor, %p1 : Tensor):\n"
                                   "  %one : int = prim::Constant[value=1]()\n"
                                   "  %1 : Tensor = aten::sub(%p0, %p1, %one)\n"
                                   "  %2 : Tensor = aten::mm(%1, %p1)\n"
                                   "  return (%1, %2)\n",
                           .n = 2,
                           .outputs = 2,
                           .own = "0-",
                           .made = 1 });
}

/* What uses the new parameters can fail: the old ones are kept. */
static lz_err *test_no_update_before_a_risk(void)
{
    return expect((trial){ .text = "graph(%p0 : Tensor, %p1 : Tensor):\n"
                                   "  %one : int = prim::Constant[value=1]()\n"
                                   "  %no : bool = prim::Constant[value=0]()\n"
                                   "  %1 : Tensor = aten::sub(%p0, %p1, %one)\n"
                                   "  %2 : Tensor = aten::argsort(%1, %one, %no)\n"
                                   "  return (%1, %2)\n",
                           .n = 2,
                           .outputs = 2,
                           .own = "--",
                           .made = 2 });
}

/* The old parameters are read once more behind their update, but not by what needs the new: the
 * update waits. */
static lz_err *test_an_update_waits_for_readers(void)
{
    return expect((trial){ .text = "graph(%p0 : Tensor, %p1 : Tensor, %p2 : Tensor):\n"
                                   "  %one : int = prim::Constant[value=1]()\n"
                                   "  %g : Tensor = aten::mm(%p1, %p2)\n"
                                   "  %w : Tensor = aten::sub(%p0, %g, %one)\n"
                                   "  %t : Tensor = aten::t(%p0)\n"
                                   "  %d : Tensor = aten::mm(%g, %t)\n"
                                   "  %v : Tensor = aten::sub(%p1, %d, %one)\n"
                                   "  return (%v, %w)\n",
                           .n = 3,
                           .outputs = 2,
                           .own = "10",
                           .made = 1 });
}

/* An index that is out of range, found after the update stands in the text. */
static lz_err *test_failed_check(void)
{
    trial t = { .text = "graph(%p0 : Tensor, %p1 : Tensor):\n"
                        "  %d : int = prim::Constant[value=0]()\n"
                        "  %long : int = prim::Constant[value=4]()\n"
                        "  %no : bool = prim::Constant[value=0]()\n"
                        "  %none : NoneType = prim::Constant()\n"
                        "  %hundred : float = prim::Constant[value=100.]()\n"
                        "  %0 : Tensor = aten::neg(%p0)\n"
                        "  %1 : Tensor = aten::mul(%p1, %hundred)\n"
                        "  %2 : Tensor = aten::to(%1, %long, %no, %no, %none)\n"
                        "  %3 : Tensor = aten::select(%2, %d, %d)\n"
                        "  %4 : Tensor = aten::index_select(%p1, %d, %3)\n"
                        "  return (%0, %4)\n",
                .n = 2,
                .outputs = 2 };
    static const lz_static_graph_options all[] = { { 0 }, { .ops = 1 }, { .separate = true } };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        stand s;
        lz_err *e = stand_init(&s, &t, &all[i], true);
        e = e ? e : lz_check_err(run(&s, &t), LZ_ERR_ARG, "out of");
        stand_deinit(&s);
        LZ_TRY(e);
    }
    return NULL;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LZ_TEST(test_updates_between_products),
        LZ_TEST(test_three_results_of_one_kernel),
        LZ_TEST(test_an_input_that_is_a_result),
        LZ_TEST(test_an_update_before_a_product),
        LZ_TEST(test_no_update_before_a_risk),
        LZ_TEST(test_an_update_waits_for_readers),
        LZ_TEST(test_failed_check),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
