#include "check.h"
#include "handmade_nodes.h"
#include "lazy/lowering.h"
#include "lazy/registry.h"
#include "op/op_table.h"

typedef lz_err *with_desk(desk *d);

static lz_err *run_with(with_desk *test)
{
    desk d;
    LZ_TRY(desk_open(&d));
    lz_err *e = test(&d);
    desk_close(&d);
    return e;
}

static void release_all(lz_data **v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        lz_data_release(v[i]);
}

/* y = relu(x * 3 - x), z = y + 2y, and x * x */
static lz_err *small_graph(desk *d, size_t out[3])
{
    size_t x, a, y;
    LZ_TRY(desk_data(d, -1.5F, &x));
    LZ_TRY(desk_op(d, "mul.Scalar", x, x, 3, 10, &a));
    LZ_TRY(desk_op(d, "sub.Tensor", a, x, 1, 11, &a));
    LZ_TRY(desk_op(d, "relu", a, a, 0, 12, &y));
    LZ_TRY(desk_op(d, "add.Tensor", y, y, 2, 13, &out[1]));
    out[0] = y;
    return desk_op(d, "mul.Tensor", x, x, 0, 14, &out[2]);
}

static lz_err *values(desk *d)
{
    size_t roots[3];
    lz_data *got[3] = { NULL };
    lz_job *j = NULL;
    LZ_TRY(small_graph(d, roots));
    lz_err *e = desk_run(d, roots, 3, NULL, &j, got);
    if (!e && j->error) {
        e = j->error;
        j->error = NULL;
    }
    for (int i = 0; !e && i < 3; i++)
        e = desk_expect(d, got[i], roots[i]);
    if (!e && !lz_check_failing()) {
        assert_int_equal(d->fake.runs, 1);
        assert_int_equal(d->fake.last_nodes, 6);
        assert_int_equal(d->fake.last_parameters, 4);
    }
    assert_true(e || lz_job_is_done(j));
    release_all(got, 3);
    lz_job_release(j);
    return e;
}

static lz_err *test_values(void)
{
    return run_with(values);
}

/* Whatever the words say can be read back: operators, operands, types, numbers. */
static lz_err *words(desk *d)
{
    size_t roots[3];
    LZ_TRY(small_graph(d, roots));
    LZ_TRY(desk_walk(d, roots, 3));
    const uint64_t *w = d->walk.flat.words, *at = lz_flat_first(w);
    assert_int_equal(lz_flat_nodes(w), 6);
    assert_int_equal(lz_flat_leaves(w), 1);
    assert_int_equal(lz_flat_roots(w), 3);
    for (uint32_t i = 0; i < 6; i++) {
        lz_flat_node x = lz_flat_read(at);
        const lz_node *n = d->walk.nodes.data[i];
        assert_ptr_equal(x.op ? &lz_op_table[x.op] : NULL, n->op);
        assert_int_equal(x.nin, n->nin);
        assert_int_equal(x.nnumbers, n->nnumbers);
        for (uint32_t k = 0; k < x.nin; k++)
            assert_ptr_equal(d->walk.nodes.data[lz_flat_ref_place(x.in[k])], n->in[k].node);
        assert_int_equal(lz_flat_type(&x, 0).sizes.v[0], DESK_NUMEL);
        assert_int_equal(lz_flat_type(&x, 0).dtype, LZ_F32);
        at = x.end;
    }
    for (int i = 0; i < 3; i++)
        assert_ptr_equal(d->walk.nodes.data[lz_flat_ref_place(at[i])], d->v[roots[i]].node);
    assert_true(at + 3 == w + d->walk.flat.n);
    return NULL;
}

static lz_err *test_words(void)
{
    return run_with(words);
}

/* Numbers and the identity of data are not part of a graph; sharing is. */
static lz_err *keys(desk *d)
{
    size_t x, y, a, b, c, s;
    LZ_TRY(desk_data(d, 1, &x));
    LZ_TRY(desk_data(d, 2, &y));
    LZ_TRY(desk_op(d, "mul.Scalar", x, x, 3, 1, &a));
    LZ_TRY(desk_op(d, "mul.Scalar", y, y, 4, 2, &b));
    LZ_TRY(desk_walk(d, &a, 1));
    lz_hash first = d->walk.flat.hash;
    LZ_TRY(desk_walk(d, &b, 1));
    assert_true(lz_hash_eq(first, d->walk.flat.hash));
    LZ_TRY(desk_op(d, "mul.Scalar", x, x, 4, 2, &c));
    LZ_TRY(desk_op(d, "add.Tensor", a, c, 1, 3, &s));
    LZ_TRY(desk_walk(d, &s, 1));
    lz_hash two = d->walk.flat.hash;
    LZ_TRY(desk_op(d, "add.Tensor", a, a, 1, 3, &s));
    LZ_TRY(desk_walk(d, &s, 1));
    assert_false(lz_hash_eq(two, d->walk.flat.hash));
    LZ_TRY(desk_op(d, "add.Tensor", a, b, 1, 3, &s));
    LZ_TRY(desk_walk(d, &s, 1));
    assert_false(lz_hash_eq(two, d->walk.flat.hash));
    return NULL;
}

static lz_err *test_keys(void)
{
    return run_with(keys);
}

/* ---- failure ---- */

static void expect_lost(lz_data *d, const char *part, int line)
{
    lz_err *e = lz_data_wait(d);
    if (!lz_check_failing()) {
        assert_non_null(strstr(lz_err_text(e), part));
        assert_int_equal(lz_err_loc(e).line, line);
    }
    lz_err_free(e);
}

static lz_err *only_what_depends(desk *d, bool silently)
{
    size_t roots[3];
    lz_data *got[3] = { NULL };
    lz_job *j = NULL;
    LZ_TRY(small_graph(d, roots));
    d->fake.fails = "relu";
    d->fake.fails_silently = silently;
    lz_err *e = desk_run(d, roots, 3, NULL, &j, got);
    if (!e && !lz_check_failing()) {
        expect_lost(got[0], "aten::relu: the machine is on fire", 12);
        expect_lost(got[1], "the machine is on fire", silently ? 13 : 12);
        e = desk_expect(d, got[2], roots[2]);
        assert_true(j->error && strstr(lz_err_text(j->error), "on fire"));
    }
    release_all(got, 3);
    lz_job_release(j);
    return e;
}

static lz_err *named_failure(desk *d)
{
    return only_what_depends(d, false);
}

static lz_err *test_only_what_depends_is_lost(void)
{
    return run_with(named_failure);
}

static lz_err *silent_failure(desk *d)
{
    return only_what_depends(d, true);
}

static lz_err *test_a_failure_without_a_place(void)
{
    return run_with(silent_failure);
}

static lz_err *injected(desk *d)
{
    size_t roots[3];
    lz_data *got[3] = { NULL };
    lz_job *j = NULL;
    LZ_TRY(small_graph(d, roots));
    lz_runtime_inject(d->runtime, "aten::mul.Tensor");
    lz_err *e = desk_run(d, roots, 3, NULL, &j, got);
    if (!e && !lz_check_failing()) {
        expect_lost(got[2], "injected", 14);
        e = desk_expect(d, got[0], roots[0]);
        if (!e)
            e = desk_expect(d, got[1], roots[1]);
    }
    release_all(got, 3);
    lz_job_release(j);
    return e;
}

static lz_err *test_injected(void)
{
    return run_with(injected);
}

/* Data that failed takes what is computed from it along, silently; the rest is computed. */
static lz_err *failed_leaf(desk *d)
{
    size_t x, y, roots[2];
    lz_data *got[2] = { NULL }, *bad;
    lz_job *j = NULL;
    LZ_TRY(desk_data(d, 1, &x));
    LZ_TRY(lz_data_create(lz_backend_of(d->type), (lz_device){ d->type, 0 },
                          (lz_data_type){ LZ_F32, LZ_DIMS(DESK_NUMEL) }, &bad));
    lz_err *why = lz_errf(LZ_ERR_LIMIT, "it is lost"), *e;
    lz_data_fail(bad, why);
    lz_err_free(why);
    e = lz_node_data(d->nodes, bad, d->spec, (lz_loc){ 0 }, &d->v[d->n].node);
    if (e) {
        lz_data_release(bad);
        return e;
    }
    y = d->n++;
    LZ_TRY(desk_op(d, "add.Tensor", x, y, 1, 5, &roots[0]));
    LZ_TRY(desk_op(d, "relu", x, x, 1, 6, &roots[1]));
    e = desk_run(d, roots, 2, NULL, &j, got);
    if (!e && !lz_check_failing()) {
        e = lz_check_err(lz_data_wait(got[0]), LZ_ERR_LIMIT, "it is lost");
        if (!e)
            e = desk_expect(d, got[1], roots[1]);
        assert_null(j->error);
    }
    release_all(got, 2);
    lz_job_release(j);
    return e;
}

static lz_err *test_failed_leaf(void)
{
    return run_with(failed_leaf);
}

/* ---- fallback ---- */

/* The built-in one, which comes back when a runtime is made. */
static void without_cpu(void)
{
    if (lz_has_backend("cpu"))
        lz_backend_forget(lz_backend_type(lz_get_backend("cpu")));
}

static lz_err *with_cpu(lz_err *(*test)(desk *d, fake_backend *cpu))
{
    desk d;
    fake_backend cpu;
    int16_t type;
    fake_backend_init(&cpu, "cpu", 1);
    without_cpu();
    LZ_TRY(lz_backend_register(&cpu.table, &type));
    lz_err *e = desk_open(&d);
    if (!e) {
        e = test(&d, &cpu);
        desk_close(&d);
    }
    assert_int_equal(cpu.live_data, 0);
    assert_int_equal(cpu.live_computations, 0);
    lz_backend_forget(type);
    return e;
}

/* relu cannot, so it runs on the CPU; both relus in one stage. */
static lz_err *stages(desk *d, fake_backend *cpu)
{
    size_t x, a, b, roots[3];
    lz_data *got[3] = { NULL };
    lz_job *j = NULL;
    d->fake.refuses = "relu";
    LZ_TRY(desk_data(d, -2, &x));
    LZ_TRY(desk_op(d, "mul.Scalar", x, x, 2, 1, &a));
    LZ_TRY(desk_op(d, "neg", x, x, 2, 1, &b));
    LZ_TRY(desk_op(d, "relu", a, a, 0, 2, &roots[0]));
    LZ_TRY(desk_op(d, "relu", b, b, 0, 3, &b));
    LZ_TRY(desk_op(d, "add.Tensor", roots[0], b, 1, 4, &roots[1]));
    LZ_TRY(desk_op(d, "mul.Tensor", roots[1], a, 1, 5, &roots[2]));
    lz_err *e = desk_run(d, roots, 3, NULL, &j, got);
    for (int i = 0; !e && !lz_check_failing() && i < 3; i++)
        e = desk_expect(d, got[i], roots[i]);
    assert_true(e || lz_check_failing() || (cpu->runs == 1 && d->fake.runs == 2 && cpu->compiles == 1));
    release_all(got, 3);
    lz_job_release(j);
    return e;
}

static lz_err *test_stages(void)
{
    return with_cpu(stages);
}

/* By name, with and without its overload. */
static lz_err *forced(desk *d, fake_backend *cpu)
{
    static const char *const lists[] = { "aten::mul", "aten::relu,aten::mul.Scalar", "mul,sub" };
    static const int cpu_runs[] = { 1, 2, 1 };
    size_t roots[3];
    LZ_TRY(small_graph(d, roots));
    for (size_t k = 0; k < 3; k++) {
        lz_data *got[3] = { NULL };
        lz_job *j = NULL;
        cpu->runs = 0;
        lz_err *e = desk_run(d, roots, 3, lists[k], &j, got);
        for (int i = 0; !e && !lz_check_failing() && i < 3; i++)
            e = desk_expect(d, got[i], roots[i]);
        assert_true(e || lz_check_failing() || cpu->runs == cpu_runs[k]);
        release_all(got, 3);
        lz_job_release(j);
        LZ_TRY(e);
    }
    return NULL;
}

static lz_err *test_forced(void)
{
    return with_cpu(forced);
}

static lz_err *failure_in_a_stage(desk *d, fake_backend *cpu)
{
    size_t roots[3];
    lz_data *got[3] = { NULL };
    lz_job *j = NULL;
    LZ_TRY(small_graph(d, roots));
    d->fake.refuses = cpu->fails = "relu";
    lz_err *e = desk_run(d, roots, 3, NULL, &j, got);
    if (!e && !lz_check_failing()) {
        expect_lost(got[0], "aten::relu: the machine is on fire", 12);
        expect_lost(got[1], "aten::relu: the machine is on fire", 12);
        e = desk_expect(d, got[2], roots[2]);
    }
    release_all(got, 3);
    lz_job_release(j);
    return e;
}

static lz_err *test_failure_in_a_stage(void)
{
    return with_cpu(failure_in_a_stage);
}

static lz_err *nobody_can(desk *d)
{
    size_t roots[3];
    lz_data *got[3];
    lz_job *j;
    LZ_TRY(small_graph(d, roots));
    d->fake.refuses = "relu";
    without_cpu();
    return lz_check_err(desk_run(d, roots, 3, NULL, &j, got), LZ_ERR_UNSUPPORTED, "aten::relu");
}

static lz_err *test_nobody_can(void)
{
    return run_with(nobody_can);
}

/* ---- lowering by hand ---- */

static lz_err *by_hand(desk *d)
{
    size_t roots[3], place;
    lz_arena a;
    lz_lowering l;
    const lz_parameter *p;
    const lz_node *const *nodes;
    LZ_TRY(small_graph(d, roots));
    lz_arena_init(&a);
    lz_lowering_init(&l, &a, "by hand", (lz_backend_device){ 3, 0 });
    lz_err *e = lz_lowering_add_result(&l, (lz_output){ d->v[roots[1]].node, 0 }, &place);
    assert_true(e || place == 0);
    if (!e)
        e = lz_lowering_add_result(&l, (lz_output){ d->v[roots[0]].node, 0 }, &place);
    assert_true(e || place == 1);
    if (!e) {
        assert_int_equal(lz_lowering_nodes(&l, &nodes), 5);
        /* operands first; x, the factor 3, alpha of sub, alpha of add */
        for (size_t i = 0; i < 5; i++)
            for (uint32_t k = 0; k < nodes[i]->nin; k++)
                assert_true(lz_lowering_index(&l, nodes[i]->in[k].node) < i);
        assert_int_equal(lz_lowering_parameters(&l, &p), 4);
        assert_int_equal(lz_lowering_emission(&l, nodes[2]), LZ_NOT_EMITTED);
        lz_lowering_set_emission(&l, nodes[2], LZ_EMITTED);
        assert_int_equal(lz_lowering_emission(&l, nodes[2]), LZ_EMITTED);
        assert_int_equal(lz_lowering_index(&l, d->v[roots[2]].node), SIZE_MAX);
        e = lz_check_err(lz_lowering_set_up_alias(&l, (lz_alias_pair){ 0, 1, true }), LZ_ERR_ARG, "number");
    }
    if (!e)
        e = lz_lowering_set_up_alias(&l, (lz_alias_pair){ 0, 0, true });
    lz_lowering_deinit(&l);
    lz_arena_deinit(&a);
    return e;
}

static lz_err *test_by_hand(void)
{
    return run_with(by_hand);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LZ_TEST(test_values),
        LZ_TEST(test_words),
        LZ_TEST(test_keys),
        LZ_TEST(test_only_what_depends_is_lost),
        LZ_TEST(test_a_failure_without_a_place),
        LZ_TEST(test_injected),
        LZ_TEST(test_failed_leaf),
        LZ_TEST(test_stages),
        LZ_TEST(test_forced),
        LZ_TEST(test_failure_in_a_stage),
        LZ_TEST(test_nobody_can),
        LZ_TEST(test_by_hand),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
