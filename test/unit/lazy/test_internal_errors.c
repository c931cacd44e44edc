#include "check.h"
#include "core/strided_array.h"
#include "lazy/ctx.h"
#include "lazy/infer.h"
#include "lazy/registry.h"
#include "lazy_desk.h"
#include "lower/lower.h"
#include "lower/lower_table.h"
#include "op/op_table.h"
#include "open_ctx.h"
#include "plan/static_graph.h"
#include "script/executor.h"
#include "script/script_tensor.h"
#include <lazuli/graph.h>

/* A broken invariant (LZ_ERR_INTERNAL) reaches the user: no caller takes it for "this needs a value" and goes
 * a slower way. The linker puts the functions below in the place of leaky_relu's lowering, of the builder of
 * scalar operations, and of the maker of static graphs (--wrap). */

typedef enum planted { NOWHERE, NUMBERS, NODES, MAPS, SEPARATE } planted;

static planted where;
static lz_code plant;

lz_err *__real_lz_lower_leaky_relu(lz_lower *b, const lz_low_value *args, lz_low_value *results);
lz_err *__wrap_lz_lower_leaky_relu(lz_lower *b, const lz_low_value *args, lz_low_value *results);

/* NUMBERS: fails only while the slope is known at run time alone. NODES: only where nodes are made. */
lz_err *__wrap_lz_lower_leaky_relu(lz_lower *b, const lz_low_value *args, lz_low_value *results)
{
    if ((where == NUMBERS && args[1].node) || (where == NODES && !b->shape_only))
        return lz_errf(plant, "planted");
    return __real_lz_lower_leaky_relu(b, args, results);
}

lz_err *__real_lz_low_make_map(lz_lower *b, lz_kernel_op op, const lz_low_node *const *in, bool number,
                               const lz_low_node **out);
lz_err *__wrap_lz_low_make_map(lz_lower *b, lz_kernel_op op, const lz_low_node *const *in, bool number,
                               const lz_low_node **out);

lz_err *__wrap_lz_low_make_map(lz_lower *b, lz_kernel_op op, const lz_low_node *const *in, bool number,
                               const lz_low_node **out)
{
    return where == MAPS ? lz_errf(plant, "planted") : __real_lz_low_make_map(b, op, in, number, out);
}

lz_err *__real_lz_static_graph_create(lz_graph *g, const lz_static_graph_input *inputs,
                                      const lz_static_graph_options *o, lz_static_graph **out);
lz_err *__wrap_lz_static_graph_create(lz_graph *g, const lz_static_graph_input *inputs,
                                      const lz_static_graph_options *o, lz_static_graph **out);

lz_err *__wrap_lz_static_graph_create(lz_graph *g, const lz_static_graph_input *inputs,
                                      const lz_static_graph_options *o, lz_static_graph **out)
{
    return where == SEPARATE && o && o->separate ? lz_errf(plant, "planted")
                                                 : __real_lz_static_graph_create(g, inputs, o, out);
}

static void plant_at(planted at, lz_code code)
{
    where = at;
    plant = code;
}

static const float four[] = { -2, -1, 1, 2 };

static lz_tensor *record(lz_ctx *c)
{
    lz_tensor *x = lz_from_memory(c, LZ_F32, LZ_DIMS(4), four);
    return lz_leaky_relu(c, x, .negative_slope = lz_scalar_float(0.5));
}

static void expect_internal(lz_ctx *c)
{
    assert_int_equal(lz_code_of(c), LZ_ERR_INTERNAL);
    assert_non_null(strstr(lz_message(c), "planted"));
    lz_clear(c);
}

static void expect_values(lz_tensor *t)
{
    float got[4];
    assert_true(lz_read(t, got, sizeof got));
    assert_true(got[0] == -1 && got[1] == -0.5F && got[2] == 1 && got[3] == 2);
}

/* Recording: the operator is not taken for one that needs its numbers. */
static void test_recording(void **state)
{
    (void)state;
    lz_ctx *c = open_ctx(NULL);
    const lz_op_row *op = &lz_op_table[LZ_OP_leaky_relu];
    plant_at(NUMBERS, LZ_ERR_INTERNAL);
    assert_true(lz_tensor_is_inert(record(c)));
    expect_internal(c);
    assert_false(lz_infer_is_static(c->infer, op));
    plant_at(NUMBERS, LZ_ERR_NEEDS_VALUE);
    lz_tensor *t = record(c);
    assert_true(lz_infer_is_static(c->infer, op));
    plant_at(NOWHERE, LZ_OK);
    expect_values(t);
    close_ctx(c);
}

/* Our backend: compiling fails, and the executor is not asked instead. */
static void test_compiling(void **state)
{
    (void)state;
    lz_ctx *c = open_ctx(NULL);
    lz_tensor *t = record(c);
    plant_at(NODES, LZ_ERR_INTERNAL);
    assert_false(lz_mark_step(c));
    expect_internal(c);
    plant_at(NOWHERE, LZ_OK);
    expect_values(t); /* it was not lost */
    close_ctx(c);
}

static lz_err *run_graph(lz_executor *x, lz_script_value *out)
{
    lz_array a;
    lz_script_value in[2] = { lz_script_value_none(), lz_script_value_float(0.5) };
    LZ_TRY(lz_array_init(&a, NULL, LZ_F32, LZ_INTS(4)));
    for (int64_t i = 0; i < a.numel; i++)
        lz_array_set(&a, i, lz_scalar_float((double)four[i]));
    lz_err *e = lz_script_tensor_of_array(&a, &in[0]);
    lz_array_deinit(&a);
    lz_script_env env = { .seed = 7 };
    if (!e)
        e = lz_executor_run(x, in, 2, &env, out);
    lz_script_value_release(in[0]);
    return e;
}

static void expect_run(lz_executor *x, lz_code code)
{
    lz_script_value out = lz_script_value_none();
    lz_err *e = run_graph(x, &out);
    assert_int_equal(lz_err_code(e), code);
    lz_err_free(e);
    lz_script_value_release(out);
}

/* TorchScript graphs: a segment is not compiled for the value. */
static void test_scripts(void **state)
{
    lz_graph *g;
    lz_executor *x;
    (void)state;
    const char *text = "graph(%x : Tensor, %slope : float):\n"
                       "  %y : Tensor = aten::leaky_relu(%x, %slope)\n"
                       "  return (%y)\n";
    assert_null(lz_graph_parse(NULL, lz_str_of(text), &g));
    assert_null(lz_executor_create(g, &x));
    lz_graph_release(g);
    plant_at(NUMBERS, LZ_ERR_INTERNAL);
    expect_run(x, LZ_ERR_INTERNAL);
    plant_at(NUMBERS, LZ_ERR_NEEDS_VALUE);
    expect_run(x, LZ_OK);
    plant_at(NOWHERE, LZ_OK);
    lz_executor_destroy(x);
}

/* Lowered graphs as text: the reader adds the line and keeps the code. */
static void expect_read(lz_code code)
{
    lz_graph *g;
    const char *text = "graph(%x : Float(2)):\n"
                       "  %1 : Float(2) = lz::input[offset=0, strides=[1]](%x)\n"
                       "  %2 : Float(2) = lz::map[op=\"neg\"](%1)\n"
                       "  return (%2)\n";
    assert_null(lz_graph_parse("text", lz_str_of(text), &g));
    lz_err *e = lz_graph_improve(g, LZ_STR("views"), true);
    assert_int_equal(lz_err_code(e), code);
    assert_int_equal(e ? lz_err_loc(e).line : 3, 3);
    lz_err_free(e);
    lz_graph_release(g);
}

static void test_reading(void **state)
{
    (void)state;
    plant_at(MAPS, LZ_ERR_INTERNAL);
    expect_read(LZ_ERR_INTERNAL);
    plant_at(NOWHERE, LZ_OK);
    expect_read(LZ_OK);
}

/* A run fails, and so does the search for the operator that failed. */
static void expect_search(lz_code planted_code, lz_code code)
{
    lz_ctx *c = open_ctx(NULL);
    float got[2];
    lz_tensor *x = lz_from_memory(c, LZ_F32, LZ_DIMS(4), four);
    lz_tensor *at = lz_from_memory(c, LZ_I64, LZ_DIMS(2), (const int64_t[]){ 1, 9 });
    lz_tensor *y = lz_neg(c, lz_index_select(c, x, 0, at));
    plant_at(SEPARATE, planted_code);
    assert_false(lz_read(y, got, sizeof got));
    plant_at(NOWHERE, LZ_OK);
    assert_int_equal(lz_code_of(c), code);
    lz_clear(c);
    close_ctx(c);
}

static void test_searching(void **state)
{
    (void)state;
    expect_search(LZ_ERR_INTERNAL, LZ_ERR_INTERNAL);
    expect_search(LZ_ERR_LIMIT, LZ_ERR_ARG);
}

/* A backend that fails for several results and not for one. */
static lz_err *(*execute_alone)(void *self, void *computation, const lz_execution *x);
static lz_code together;

static lz_err *execute(void *self, void *computation, const lz_execution *x)
{
    return x->n_results > 1 ? lz_errf(together, "planted") : execute_alone(self, computation, x);
}

static void run_two(lz_code code)
{
    static fake_backend f;
    int16_t type;
    float got[2];
    fake_backend_init(&f, "fake_pair", 1);
    execute_alone = f.table.execute_computation;
    f.table.execute_computation = execute;
    together = code;
    assert_null(lz_backend_register(&f.table, &type));
    lz_ctx *c = lz_open(&(lz_options){ .device = "fake_pair" });
    lz_tensor *x = bench_data(c, 2, 3);
    lz_tensor *a = bench_op(c, "neg", x, NULL, 0, 1), *b = bench_op(c, "mul.Tensor", x, x, 0, 2);
    bool went = lz_mark_step(c);
    assert_int_equal(went, code != LZ_ERR_INTERNAL);
    if (!went)
        expect_internal(c);
    assert_true(lz_read(a, got, sizeof got) && got[1] == -4);
    assert_true(lz_read(b, got, sizeof got) && got[1] == 16);
    close_ctx(c);
    lz_backend_forget(type);
}

/* Each result is computed for itself after a failure; a broken invariant is reported all the same. */
static void test_rescue(void **state)
{
    (void)state;
    run_two(LZ_ERR_LIMIT);
    run_two(LZ_ERR_INTERNAL);
}

/* A backend whose second compilation and all later ones fail, the third with a code of its own. */
static lz_err *(*compile_well)(void *self, lz_lowering *const *instances, size_t n, void **out);
static int compilations;

static lz_err *compile(void *self, lz_lowering *const *instances, size_t n, void **out)
{
    compilations++;
    return compilations == 1 ? compile_well(self, instances, n, out)
                             : lz_errf(compilations == 3 ? together : LZ_ERR_LIMIT, "planted");
}

static lz_err *execute_never(void *self, void *computation, const lz_execution *x)
{
    (void)self, (void)computation, (void)x;
    return lz_errf(LZ_ERR_LIMIT, "too much");
}

static lz_code run_halved(lz_code code)
{
    static fake_backend f;
    int16_t type;
    fake_backend_init(&f, "fake_halved", 1);
    compile_well = f.table.compile;
    f.table.compile = compile;
    f.table.execute_computation = execute_never;
    together = code;
    compilations = 0;
    assert_null(lz_backend_register(&f.table, &type));
    lz_ctx *c = lz_open(&(lz_options){ .device = "fake_halved" });
    lz_tensor *x = bench_data(c, 2, 3);
    bench_op(c, "neg", bench_op(c, "mul.Tensor", x, x, 0, 1), NULL, 0, 2);
    assert_false(lz_mark_step(c));
    lz_code got = lz_code_of(c);
    lz_clear(c);
    close_ctx(c);
    lz_backend_forget(type);
    assert_true(compilations > 2);
    return got;
}

/* The search for the operator that cannot be compiled meets a broken invariant. */
static void test_halving(void **state)
{
    (void)state;
    assert_int_equal(run_halved(LZ_ERR_LIMIT), LZ_ERR_LIMIT);
    assert_int_equal(run_halved(LZ_ERR_INTERNAL), LZ_ERR_INTERNAL);
}

/* What a plug-in does wrong is no broken invariant of ours. */
static lz_err *compile_nothing(void *self, lz_lowering *const *instances, size_t n, void **out)
{
    (void)self, (void)instances, (void)n, (void)out;
    return NULL;
}

static lz_err *execute_nothing(void *self, void *computation, const lz_execution *x)
{
    (void)self, (void)computation;
    x->results[0] = NULL;
    return NULL;
}

static void expect_fault(fake_backend *f, const char *name)
{
    int16_t type;
    assert_null(lz_backend_register(&f->table, &type));
    lz_ctx *c = lz_open(&(lz_options){ .device = f->table.name });
    bench_op(c, "neg", bench_data(c, 2, 3), NULL, 0, 1);
    assert_false(lz_mark_step(c));
    assert_int_equal(lz_code_of(c), LZ_ERR_ARG);
    assert_non_null(strstr(lz_message(c), name));
    lz_clear(c);
    close_ctx(c);
    lz_backend_forget(type);
}

static void test_plugins(void **state)
{
    static fake_backend f;
    (void)state;
    fake_backend_init(&f, "fake_idle", 1);
    f.table.compile = compile_nothing;
    expect_fault(&f, "fake_idle: compile");
    fake_backend_init(&f, "fake_void", 1);
    f.table.execute_computation = execute_nothing;
    expect_fault(&f, "fake_void: execute_computation");
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_recording), cmocka_unit_test(test_compiling),
                                        cmocka_unit_test(test_scripts),   cmocka_unit_test(test_rescue),
                                        cmocka_unit_test(test_reading),   cmocka_unit_test(test_searching),
                                        cmocka_unit_test(test_halving),   cmocka_unit_test(test_plugins) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
