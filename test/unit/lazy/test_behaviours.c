#include "fake_backend.h"
#include "lazy/registry.h"
#include "open_ctx.h"
#include <stdatomic.h>

/* What PyTorch's own tests of lazy tensors ask for, as programs; the numbers are those of
 * the list of behaviours that this follows. */

static const float six[] = { 0, 1, 2, 3, 4, 5 };

static lz_tensor *data(lz_ctx *c)
{
    return lz_from_memory(c, LZ_F32, LZ_DIMS(2, 3), six);
}

static void expect(lz_tensor *t, const float *want, size_t n)
{
    float got[64];
    assert_int_equal(lz_tensor_numel(t), n);
    assert_true(lz_read(t, got, sizeof got));
    for (size_t i = 0; i < n; i++)
        if (got[i] != want[i])
            fail_msg("element %zu is %g, not %g", i, (double)got[i], (double)want[i]);
}

#define EXPECT(t, ...)                                                                                       \
    expect(t, (const float[]){ __VA_ARGS__ }, sizeof((const float[]){ __VA_ARGS__ }) / sizeof(float))

static void refused(lz_ctx *c, lz_tensor *t, lz_reason why)
{
    assert_true(lz_tensor_is_inert(t));
    assert_string_equal(lz_reason_name(lz_reason_of(c)), lz_reason_name(why));
    lz_clear(c);
}

/* ---- devices ---- */

/* 1, 2: the default decides where new tensors are. */
static void test_default_devices(void **state)
{
    static fake_backend f;
    int16_t type;
    (void)state;
    fake_backend_init(&f, "fake_default", 2);
    assert_null(lz_backend_register(&f.table, &type));
    const lz_backend *b = lz_get_backend("fake_default");
    for (int16_t i = 0; i < 2; i++) {
        assert_null(b->set_default_device_ordinal(b->self, i));
        lz_ctx *c = lz_open(&(lz_options){ .device = "fake_default" });
        lz_device d = lz_tensor_device(data(c));
        assert_true(d.type == type && d.index == i);
        close_ctx(c);
    }
    lz_backend_forget(type);
    lz_ctx *c = open_ctx(NULL);
    lz_device cpu = lz_tensor_device(data(c));
    assert_true(cpu.type == 0 && cpu.index == 0);
    close_ctx(c);
}

/* 3: names that are no devices. */
static void test_unknown_devices(void **state)
{
    static const char *const bad[] = { "cpu:7", "nowhere", "cpu:", "cpu:x", "", "cpu:-1" };
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        lz_ctx *c = lz_open(&(lz_options){ .device = bad[i] });
        assert_true(lz_failed(c));
        assert_true(lz_tensor_is_inert(data(c)));
        assert_false(lz_mark_step(c));
        lz_close(c);
    }
    lz_ctx *c = lz_open(&(lz_options){ .device = "cpu:0" });
    EXPECT(data(c), 0, 1, 2, 3, 4, 5);
    close_ctx(c);
}

/* ---- structure ---- */

static bool same_graph(lz_ctx *c, lz_tensor *a, lz_tensor *b)
{
    lz_graph_key x = { 0, 0 }, y = { 0, 1 };
    assert_true(lz_graph_hash(c, &a, 1, &x) && lz_graph_hash(c, &b, 1, &y));
    return x.lo == y.lo && x.hi == y.hi;
}

/* 5: what is known of one shape is not used for another. */
static void test_shapes_are_told_apart(void **state)
{
    float v[8] = { 0, 1, 2, 3, 4, 5, 6, 7 };
    (void)state;
    lz_ctx *c = open_ctx(NULL);
    lz_tensor *wide = lz_from_memory(c, LZ_F32, LZ_DIMS(2, 4), v);
    lz_tensor *tall = lz_from_memory(c, LZ_F32, LZ_DIMS(4, 2), v);
    lz_tensor *a = lz_add_Tensor(c, wide, wide), *b = lz_add_Tensor(c, tall, tall);
    assert_int_equal(lz_tensor_sizes(a).v[0], 2);
    assert_int_equal(lz_tensor_sizes(b).v[0], 4);
    assert_false(same_graph(c, a, b));
    close_ctx(c);
}

/* 6: one leaf twice is not two leaves; other data of the same kind is the same graph. */
static void test_leaves(void **state)
{
    (void)state;
    lz_ctx *c = open_ctx(NULL);
    lz_tensor *x = data(c), *y = data(c), *z = data(c);
    assert_false(same_graph(c, lz_add_Tensor(c, x, x), lz_add_Tensor(c, x, y)));
    assert_true(same_graph(c, lz_add_Tensor(c, x, y), lz_add_Tensor(c, y, z)));
    assert_true(same_graph(c, lz_neg(c, x), lz_neg(c, z)));
    close_ctx(c);
}

/* 9: operands before those who use them, each once. */
static void test_diamond(void **state)
{
    char *text;
    (void)state;
    lz_ctx *c = open_ctx(NULL);
    lz_tensor *d = lz_sin(c, data(c)), *top = lz_mul_Tensor(c, lz_exp(c, d), lz_tanh(c, d));
    assert_null(lz_dump(c, &top, 1, LZ_DUMP_TEXT, &text));
    const char *at[] = { strstr(text, "aten::sin"), strstr(text, "aten::exp"), strstr(text, "aten::tanh"),
                         strstr(text, "aten::mul") };
    assert_true(at[0] && at[0] < at[1] && at[1] < at[2] && at[2] < at[3]);
    assert_null(strstr(at[0] + 1, "aten::sin"));
    lz_text_free(text);
    close_ctx(c);
}

/* 11: numbers, flags, names and options that are part of a graph make it another one. */
static void test_fixed_arguments_matter(void **state)
{
    (void)state;
    lz_ctx *c = open_ctx(NULL);
    lz_tensor *x = data(c), *y = data(c);
    assert_false(same_graph(c, lz_sum_dim_IntList(c, x, LZ_DIMS(0)), lz_sum_dim_IntList(c, x, LZ_DIMS(1))));
    assert_false(same_graph(c, lz_sum_dim_IntList(c, x, LZ_DIMS(0)),
                            lz_sum_dim_IntList(c, x, LZ_DIMS(0), .keepdim = true)));
    assert_false(same_graph(c, lz_sum_dim_IntList(c, x, LZ_DIMS(0)),
                            lz_sum_dim_IntList(c, x, LZ_DIMS(0), .dtype = LZ_F64)));
    assert_false(same_graph(c, lz_div_Tensor_mode(c, x, y, "floor"), lz_div_Tensor_mode(c, x, y, "trunc")));
    assert_false(same_graph(c, lz_div_Tensor_mode(c, x, y, NULL), lz_div_Tensor_mode(c, x, y, "trunc")));
    assert_true(same_graph(c, lz_add_Tensor(c, x, y, .alpha = LZ_S(0.5)),
                           lz_add_Tensor(c, x, y, .alpha = LZ_S(7.5))));
    close_ctx(c);
}

/* 12 */
static void test_permutations(void **state)
{
    (void)state;
    lz_ctx *c = open_ctx(NULL);
    lz_tensor *x = lz_view(c, data(c), LZ_DIMS(1, 2, 3)), *p = lz_permute(c, x, LZ_DIMS(2, 0, 1));
    EXPECT(p, 0, 3, 1, 4, 2, 5);
    EXPECT(lz_permute(c, p, LZ_DIMS(1, 2, 0)), 0, 1, 2, 3, 4, 5);
    assert_true(lz_tensor_is_inert(lz_permute(c, x, LZ_DIMS(0, 0, 1))));
    lz_clear(c);
    assert_true(lz_tensor_is_inert(lz_permute(c, x, LZ_DIMS(0, 1))));
    lz_clear(c);
    refused(c, lz_permute(c, x, LZ_DIMS(0, 1, 3)), LZ_REASON_INDEX);
    close_ctx(c);
}

/* 13: no dimensions, one element; dimensions that are not there. 21: one element is a number. */
static void test_shapes(void **state)
{
    (void)state;
    lz_ctx *c = open_ctx(NULL);
    lz_tensor *x = data(c), *s = lz_sum(c, x);
    assert_int_equal(lz_tensor_ndim(s), 0);
    assert_int_equal(lz_tensor_numel(s), 1);
    assert_true(lz_item(s).re == 15);
    assert_string_equal(lz_print(s), "tensor(15.)");
    refused(c, lz_select_int(c, x, 2, 0), LZ_REASON_INDEX);
    refused(c, lz_select_int(c, x, -3, 0), LZ_REASON_INDEX);
    refused(c, lz_select_int(c, x, 0, 2), LZ_REASON_INDEX);
    EXPECT(lz_select_int(c, x, -1, -1), 2, 5);
    assert_int_equal(lz_item(x).kind, LZ_SCALAR_NONE);
    lz_clear(c);
    close_ctx(c);
}

/* ---- memory ---- */

/* 17: a clone does not see what is written later, also when nothing ran before. */
static void test_clones(void **state)
{
    (void)state;
    lz_ctx *c = open_ctx(NULL);
    lz_tensor *x = data(c), *early = lz_clone(c, x), *row = lz_clone(c, lz_select_int(c, x, 0, 1));
    lz_mul__Scalar(c, x, 10);
    EXPECT(early, 0, 1, 2, 3, 4, 5);
    EXPECT(row, 3, 4, 5);
    EXPECT(x, 0, 10, 20, 30, 40, 50);
    lz_zero_(c, early);
    EXPECT(x, 0, 10, 20, 30, 40, 50);
    close_ctx(c);
}

/* 19 */
static void test_aliases(void **state)
{
    (void)state;
    lz_ctx *c = open_ctx(NULL);
    lz_tensor *x = data(c), *t = lz_t(c, x), *v = lz_select_int(c, t, 0, 0);
    assert_true(lz_is_alias_of(t, x) && lz_is_alias_of(v, x) && lz_is_alias_of(v, t));
    assert_false(lz_is_alias_of(lz_clone(c, x), x));
    assert_false(lz_is_alias_of(lz_reshape(c, t, LZ_DIMS(6)), x)); /* it had to be a copy */
    assert_true(lz_is_alias_of(lz_reshape(c, x, LZ_DIMS(6)), x));
    close_ctx(c);
}

/* 20: indices from memory, computed, and boolean. */
static void test_index_tensors(void **state)
{
    const int64_t order[] = { 1, 0, 1 };
    (void)state;
    lz_ctx *c = open_ctx(NULL);
    lz_tensor *x = data(c), *held = lz_from_memory(c, LZ_I64, LZ_DIMS(3), order);
    EXPECT(lz_index_Tensor(c, x, LZ_TENSORS(held)), 3, 4, 5, 0, 1, 2, 3, 4, 5);
    lz_tensor *computed = lz_add_Scalar(c, held, 1);
    EXPECT(lz_index_Tensor(c, x, LZ_TENSORS(NULL, computed)), 2, 1, 2, 5, 4, 5);
    EXPECT(lz_index_Tensor(c, x, LZ_TENSORS(held, computed)), 5, 1, 5);
    EXPECT(lz_index_Tensor(c, x, LZ_TENSORS(lz_gt_Scalar(c, x, 2))), 3, 4, 5);
    lz_tensor *real = lz_from_memory(c, LZ_F32, LZ_DIMS(2), six);
    refused(c, lz_index_Tensor(c, x, LZ_TENSORS(real)), LZ_REASON_DTYPE);
    close_ctx(c);
}

/* 25: a parameter that is made, filled and looked at is one tensor of a step. */
static void test_one_storage_is_synced_once(void **state)
{
    (void)state;
    lz_ctx *c = open_ctx(NULL);
    lz_tensor *w = lz_zeros(c, LZ_DIMS(2, 3)), *t = lz_t(c, w);
    lz_fill__Scalar(c, w, 2);
    lz_mul__Scalar(c, lz_select_int(c, t, 0, 1), 4);
    lz_metrics_clear();
    lz_mark_step(c);
    assert_int_equal(count("SyncedTensorsWithIR"), 1);
    EXPECT(w, 2, 8, 2, 2, 8, 2);
    EXPECT(t, 2, 2, 8, 8, 2, 2);
    close_ctx(c);
}

/* 26: other data, of another dtype: a cast that is recorded, not done. */
static void test_other_data(void **state)
{
    char *text;
    (void)state;
    lz_ctx *c = open_ctx(NULL);
    lz_tensor *x = data(c), *row = lz_select_int(c, x, 0, 0);
    assert_true(lz_set_data(x, lz_to_dtype(c, x, LZ_F16)));
    assert_int_equal(lz_tensor_dtype(x), LZ_F16);
    assert_null(lz_dump(c, &x, 1, LZ_DUMP_TEXT, &text));
    assert_non_null(strstr(text, "aten::to"));
    lz_text_free(text);
    assert_string_equal(lz_print(x), "tensor([[0., 1., 2.],\n        [3., 4., 5.]], dtype=torch.float16)");
    EXPECT(row, 0, 1, 2);
    close_ctx(c);
}

/* 32: what shares memory still does after a step. */
static void test_views_outlive_steps(void **state)
{
    (void)state;
    lz_ctx *c = open_ctx(NULL);
    lz_tensor *x = lz_add_Scalar(c, data(c), 1), *v = lz_view(c, x, LZ_DIMS(3, 2));
    lz_mark_step(c);
    lz_mul__Scalar(c, lz_select_int(c, v, 0, 2), 10);
    EXPECT(x, 1, 2, 3, 4, 50, 60);
    lz_mark_step(c);
    lz_zero_(c, lz_select_int(c, x, 0, 0));
    EXPECT(v, 0, 0, 0, 4, 50, 60);
    assert_true(lz_is_alias_of(v, x));
    lz_tensor *held = data(c); /* uploaded, then looked at */
    EXPECT(lz_view(c, held, LZ_DIMS(6)), 0, 1, 2, 3, 4, 5);
    close_ctx(c);
}

/* ---- steps ---- */

/* 27: a seed gives its values again, and compiles nothing. */
static void test_seeds(void **state)
{
    float a[6], b[6], other[6];
    (void)state;
    lz_ctx *c = open_ctx(NULL);
    lz_manual_seed(c, 3);
    assert_true(lz_read(lz_rand(c, LZ_DIMS(6)), a, sizeof a));
    int64_t before = count("UncachedCompile");
    lz_manual_seed(c, 4);
    assert_true(lz_read(lz_rand(c, LZ_DIMS(6)), other, sizeof other));
    lz_manual_seed(c, 3);
    assert_true(lz_read(lz_rand(c, LZ_DIMS(6)), b, sizeof b));
    assert_memory_equal(a, b, sizeof a);
    assert_memory_not_equal(a, other, sizeof a);
    assert_int_equal(count("UncachedCompile"), before);
    close_ctx(c);
}

/* A program that goes on where another stopped draws what that one would have drawn. */
static void test_random_state(void **state)
{
    float a[6], b[6];
    (void)state;
    lz_ctx *c = open_ctx(NULL), *later = open_ctx(NULL);
    lz_manual_seed(c, 3);
    lz_rand(c, LZ_DIMS(6));
    lz_random_state at = lz_get_random_state(c);
    assert_int_equal(at.seed, 3);
    assert_true(lz_read(lz_rand(c, LZ_DIMS(6)), a, sizeof a));
    assert_true(lz_get_random_state(c).position > at.position);
    lz_set_random_state(later, at);
    assert_true(lz_read(lz_rand(later, LZ_DIMS(6)), b, sizeof b));
    assert_memory_equal(a, b, sizeof a);
    close_ctx(later);
    close_ctx(c);
}

/* 28 */
static void test_dtypes_of_products(void **state)
{
    (void)state;
    lz_ctx *c = open_ctx(NULL), *foreign = open_ctx(NULL);
    lz_tensor *a = lz_ones(c, LZ_DIMS(2, 3)), *b = lz_ones(c, LZ_DIMS(3, 2));
    lz_tensor *bias = lz_ones(c, LZ_DIMS(2)), *half = lz_to_dtype(c, b, LZ_F16);
    EXPECT(lz_addmm(c, bias, a, b), 4, 4, 4, 4);
    lz_tensor *small = lz_addmm(c, lz_to_dtype(c, bias, LZ_F16), lz_to_dtype(c, a, LZ_F16), half);
    assert_int_equal(lz_tensor_dtype(small), LZ_F16);
    refused(c, lz_addmm(c, bias, a, half), LZ_REASON_DTYPE);
    refused(c, lz_mm(c, a, half), LZ_REASON_DTYPE);
    refused(c, lz_mm(c, a, a), LZ_REASON_SHAPE);
    refused(c, lz_mm(c, a, data(foreign)), LZ_REASON_CONTEXT);
    close_ctx(foreign);
    close_ctx(c);
}

/* The reason is that of the check that failed, whatever the words of its message. */
static void test_reasons(void **state)
{
    (void)state;
    lz_ctx *c = open_ctx(NULL);
    lz_tensor *x = data(c), *two = lz_ones(c, LZ_DIMS(2)), *three = lz_ones(c, LZ_DIMS(3));
    refused(c, lz_relu(c, lz_to_dtype(c, x, LZ_BOOL)), LZ_REASON_DTYPE);
    refused(c, lz_dot(c, two, three), LZ_REASON_SHAPE);
    refused(c, lz_narrow(c, x, 1, 2, 2), LZ_REASON_INDEX);
    refused(c, lz_narrow(c, x, 1, 0, -1), LZ_REASON_ARGUMENT);
    /* A number is looked at when the graph runs; the message says "dtype". */
    lz_tensor *bad = lz_softshrink(c, x, .lambd = lz_scalar_float(-1));
    assert_false(lz_read(bad, (float[6]){ 0 }, 6 * sizeof(float)));
    assert_non_null(strstr(lz_message(c), "dtype"));
    assert_int_equal(lz_reason_of(c), LZ_REASON_ARGUMENT);
    lz_clear(c);
    lz_tensor *far = lz_index_select(c, two, 0, lz_full(c, LZ_DIMS(1), lz_scalar_int(7)));
    assert_false(lz_mark_step(c) && lz_wait(c));
    assert_int_equal(lz_reason_of(c), LZ_REASON_INDEX);
    lz_clear(c);
    assert_false(lz_read(far, (float[1]){ 0 }, sizeof(float)));
    assert_int_equal(lz_reason_of(c), LZ_REASON_INDEX);
    lz_clear(c);
    assert_int_equal(lz_reason_of(c), LZ_REASON_NONE);
    close_ctx(c);
}

static void add_steps(lz_ctx *c, lz_tensor *x, int n, bool other)
{
    for (int i = 0; i < n; i++) {
        lz_scope *s = lz_scope_push(c);
        lz_tensor *y = lz_add_Tensor(c, x, x), *z = other ? lz_mul_Tensor(c, y, x) : lz_sub_Tensor(c, y, x);
        lz_mark_step(c);
        if (other)
            EXPECT(z, 0, 2, 8, 18, 32, 50);
        else
            EXPECT(z, 0, 1, 2, 3, 4, 5);
        lz_scope_pop(s);
    }
}

/* 29: a repeated step finds its nodes, also after it went another way for a while, and where
 * something falls back. */
static void test_reuse(void **state)
{
    (void)state;
    for (int forced = 0; forced < 2; forced++) {
        lz_ctx *c = lz_open(&(lz_options){ .force_fallback = forced ? "aten::sub" : NULL });
        lz_tensor *x = data(c);
        lz_metrics_clear();
        add_steps(c, x, 10, false);
        assert_true(count("IrNodeReused_add.Tensor") >= 8);
        add_steps(c, x, 10, true);
        assert_true(count("IrNodeReused_mul.Tensor") >= 8);
        add_steps(c, x, 10, false);
        assert_true(count("IrNodeReused_sub.Tensor") >= 17);
        assert_true((count("aten::sub.Tensor") > 0) == forced);
        close_ctx(c);
    }
}

static lz_err *note(void *user)
{
    atomic_fetch_add((atomic_int *)user, 1);
    return NULL;
}

static lz_err *note_and_fail(void *user)
{
    note(user);
    return lz_error(LZ_ERR_ARG, "no more of this");
}

/* 30: in the step, or after it; a failure stops later closures and is reported. */
static void test_closures(void **state)
{
    atomic_int in_step = 0, after = 0, failed = 0, behind = 0;
    (void)state;
    lz_ctx *c = open_ctx(NULL);
    lz_add_step_closure(c, note, &in_step, false);
    lz_add_step_closure(c, note, &after, true);
    assert_true(lz_mark_step(c));
    assert_int_equal(in_step, 1);
    assert_true(lz_wait(c));
    assert_int_equal(after, 1);
    lz_add_step_closure(c, note_and_fail, &failed, false);
    lz_add_step_closure(c, note, &behind, false);
    assert_false(lz_mark_step(c));
    assert_ptr_equal(strstr(lz_message(c), "no more of this (" __FILE__ ":"), lz_message(c));
    lz_clear(c);
    assert_true(lz_mark_step(c));
    assert_true(failed == 1 && behind == 0 && in_step == 1);
    close_ctx(c);
}

/* 33: sizes that elements decide are the true ones. */
static void test_nonzero(void **state)
{
    int64_t at[10];
    (void)state;
    lz_ctx *c = open_ctx(NULL);
    lz_tensor *x = data(c), *n = lz_nonzero(c, x);
    assert_true(lz_tensor_sizes(n).v[0] == 5 && lz_tensor_sizes(n).v[1] == 2);
    assert_true(lz_read(n, at, sizeof at));
    assert_true(at[0] == 0 && at[1] == 1 && at[8] == 1 && at[9] == 2);
    close_ctx(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_default_devices),
        cmocka_unit_test(test_reasons),
        cmocka_unit_test(test_unknown_devices),
        cmocka_unit_test(test_shapes_are_told_apart),
        cmocka_unit_test(test_leaves),
        cmocka_unit_test(test_diamond),
        cmocka_unit_test(test_fixed_arguments_matter),
        cmocka_unit_test(test_permutations),
        cmocka_unit_test(test_shapes),
        cmocka_unit_test(test_clones),
        cmocka_unit_test(test_aliases),
        cmocka_unit_test(test_index_tensors),
        cmocka_unit_test(test_one_storage_is_synced_once),
        cmocka_unit_test(test_other_data),
        cmocka_unit_test(test_views_outlive_steps),
        cmocka_unit_test(test_seeds),
        cmocka_unit_test(test_random_state),
        cmocka_unit_test(test_dtypes_of_products),
        cmocka_unit_test(test_reuse),
        cmocka_unit_test(test_closures),
        cmocka_unit_test(test_nonzero),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
