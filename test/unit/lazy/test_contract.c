/* What backend.h promises to a backend: defaults of devices, placeholders, donation, refusals at compile
 * time, scopes, pairs of memory, waiting, and the end of the process. */
#include "lazy/registry.h"
#include "lazy_desk.h"
#include <lazuli/ops.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>

/* A device beside a CPU, both fakes; `inner` does the work behind the hooks of a test. */
typedef struct pair {
    bench b;
    fake_backend cpu;
    int16_t cpu_type;
} pair;

static lz_backend inner;

static void forget_cpu(void)
{
    const lz_backend *cpu = lz_get_backend("cpu");
    if (cpu)
        lz_backend_forget(lz_backend_type(cpu));
}

/* The hook changes the tables of both before they are registered. */
static lz_err *open_pair(pair *p, lz_options options, void (*hook)(lz_backend *b))
{
    forget_cpu();
    if (lz_has_backend("fake_bench"))
        lz_backend_forget(lz_backend_type(lz_get_backend("fake_bench")));
    fake_backend_init(&p->cpu, "cpu", 1);
    fake_backend_init(&p->b.fake, "fake_bench", 2);
    inner = p->b.fake.table;
    hook(&p->cpu.table);
    hook(&p->b.fake.table);
    LZ_TRY(lz_backend_register(&p->cpu.table, &p->cpu_type));
    lz_err *e = lz_backend_register(&p->b.fake.table, &p->b.type);
    options.device = "fake_bench";
    p->b.c = e ? NULL : lz_open(&options);
    if (p->b.c)
        return NULL;
    if (!e)
        lz_backend_forget(p->b.type);
    lz_backend_forget(p->cpu_type);
    return e ? e : lz_err_oom();
}

static lz_err *close_pair(pair *p)
{
    lz_err *e = bench_close(&p->b);
    assert_int_equal(p->cpu.live_data, 0);
    assert_int_equal(p->cpu.live_computations, 0);
    lz_backend_forget(p->cpu_type);
    return e;
}

/* ---- devices ---- */

static lz_backend_device listed[3];
static size_t nlisted;

static lz_err *listed_devices(void *self, lz_backend_device *out, size_t room, size_t *n)
{
    (void)self;
    *n = nlisted;
    for (size_t i = 0; i < nlisted && i < room; i++)
        out[i] = listed[i];
    return NULL;
}

static void expect_default(const char *name, int16_t index)
{
    lz_device d = { -1, -1 };
    lz_err *e = lz_backend_default_device(name, &d);
    assert_true(e || d.index == index);
    lz_err_free(e);
}

/* Of devices (5, 0), (6, 0), (6, 1). */
static lz_err *change_default(const lz_backend *b)
{
    expect_default("fake_types", 0);
    LZ_TRY(lz_check_err(b->set_default_device_ordinal(b->self, 1), LZ_ERR_NOT_FOUND, "of type 5 with"));
    LZ_TRY(b->set_default_device_type(b->self, 6));
    expect_default("fake_types", 1);
    LZ_TRY(b->set_default_device_ordinal(b->self, 1));
    expect_default("fake_types", 2);
    LZ_TRY(b->set_default_device_type(b->self, 5)); /* which has no ordinal 1 */
    expect_default("fake_types", 0);
    return NULL;
}

/* An ordinal is no index, and the type counts as well. */
static lz_err *test_default_device(void)
{
    fake_backend f;
    int16_t type;
    fake_backend_init(&f, "fake_types", 1);
    f.table.get_backend_devices = listed_devices;
    listed[0] = (lz_backend_device){ 0, 3 };
    nlisted = 1;
    LZ_TRY(lz_backend_register(&f.table, &type));
    expect_default("fake_types", 0);
    lz_backend_forget(type);
    listed[0] = (lz_backend_device){ 5, 0 };
    listed[1] = (lz_backend_device){ 6, 0 };
    listed[2] = (lz_backend_device){ 6, 1 };
    nlisted = 3;
    LZ_TRY(lz_backend_register(&f.table, &type));
    lz_err *e = change_default(lz_backend_of(type));
    assert_true(lz_backend_device_exists((lz_backend_device){ 6, 1 }));
    assert_false(lz_backend_device_exists((lz_backend_device){ 6, 2 }));
    assert_false(lz_backend_device_exists((lz_backend_device){ 77, 0 }));
    lz_backend_forget(type);
    assert_false(lz_backend_device_exists((lz_backend_device){ 6, 1 }));
    return e;
}

static int8_t chosen_type;

static int8_t choose_type(void *self)
{
    (void)self;
    return chosen_type;
}

/* A backend's own choice without a device is reported; no choice means the first device. */
static lz_err *test_a_default_that_is_not_there(void)
{
    fake_backend f;
    int16_t type;
    lz_device d;
    fake_backend_init(&f, "fake_types", 1);
    f.table.get_default_device_type = choose_type;
    LZ_TRY(lz_backend_register(&f.table, &type));
    chosen_type = 0;
    expect_default("fake_types", 0);
    chosen_type = 9;
    lz_err *e = lz_check_err(lz_backend_default_device("fake_types", &d), LZ_ERR_NOT_FOUND, "no such device");
    lz_backend_forget(type);
    return e;
}

static lz_err *test_setting_the_default(void)
{
    bench b;
    LZ_TRY(bench_open(&b, (lz_options){ 0 }));
    lz_err *e = lz_backend_set_default("fake_bench:1");
    expect_default("fake_bench", e ? 0 : 1);
    if (!e)
        e = lz_check_err(lz_backend_set_default("fake_bench:2"), LZ_ERR_ARG, "no such device");
    lz_ctx *c = e ? NULL : lz_open(&(lz_options){ .device = "fake_bench" });
    lz_tensor *there = c ? bench_data(c, 1, 0) : NULL;
    if (c && !lz_failed(c))
        assert_int_equal(lz_tensor_device(there).index, 1);
    /* a copy to no index in particular goes there too */
    lz_tensor *x = bench_data(b.c, 2, 1), *y = lz_copy_to(b.c, x, (lz_device){ b.type, -1 });
    assert_true(lz_failed(b.c) || e || lz_tensor_device(y).index == 1);
    lz_close(c);
    lz_err *f = bench_close(&b);
    return lz_err_first(e, f);
}

/* ---- placeholders ---- */

static int given, seen; /* placeholders made, and met by execute_computation */

static lz_err *hold_place(void *self, lz_backend_device d, const lz_data_type *t, void **out)
{
    static float none[64];
    int64_t strides[] = { 1 };
    lz_host_tensor h = { .type = *t, .strides = { strides, t->sizes.n }, .data = none };
    LZ_TRY(inner.make_computation_data_from_tensor(self, &h, d, out));
    given++;
    return NULL;
}

static lz_err *replace_places(void *self, void *computation, const lz_execution *x)
{
    void *before[8] = { NULL };
    for (size_t i = 0; i < x->n_results; i++) {
        before[i] = x->results[i];
        assert_non_null(before[i]);
    }
    LZ_TRY(inner.execute_computation(self, computation, x));
    for (size_t i = 0; i < x->n_results; i++)
        inner.release_data(self, before[i]);
    seen += (int)x->n_results;
    return NULL;
}

static void with_places(lz_backend *b)
{
    b->create_data_placeholder = hold_place;
    b->execute_computation = replace_places;
}

/* In every stage of a graph with a fallback, and when results are computed anew after a failure. */
static lz_err *test_placeholders_in_stages(void)
{
    pair p;
    given = seen = 0;
    LZ_TRY(open_pair(&p, (lz_options){ 0 }, with_places));
    lz_ctx *c = p.b.c;
    p.b.fake.refuses = "relu";
    lz_tensor *x = bench_data(c, 4, 1), *s = bench_op(c, "add.Tensor", x, x, 1, 1);
    lz_tensor *r = bench_op(c, "relu", s, NULL, 1, 2), *n = bench_op(c, "neg", r, NULL, 1, 3);
    bench_expect(n, -2, -2);
    bench_expect(r, 2, 2);
    assert_true(lz_check_failing() || (given >= 3 && seen >= 3));
    return close_pair(&p);
}

static lz_err *test_placeholders_after_a_failure(void)
{
    pair p;
    LZ_TRY(open_pair(&p, (lz_options){ 0 }, with_places));
    lz_ctx *c = p.b.c;
    p.b.fake.fails = "mul.Tensor";
    lz_tensor *x = bench_data(c, 4, 1), *n = bench_op(c, "neg", x, NULL, 1, 1);
    lz_tensor *bad = bench_op(c, "mul.Tensor", x, x, 1, 2);
    if (!lz_failed(c)) {
        assert_false(lz_mark_step(c) && lz_wait(c));
        lz_clear(c);
        bench_expect(n, -1, -1);
    }
    (void)bad;
    return close_pair(&p);
}

/* ---- donation ---- */

static int donated;

/* Does with donated memory what a device may do once nothing can fail any more. */
static lz_err *spoil_donated(void *self, void *computation, const lz_execution *x)
{
    static const float junk[] = { 99, 99, 99, 99 };
    LZ_TRY(inner.execute_computation(self, computation, x));
    for (size_t i = 0; i < x->n; i++)
        if (x->arguments[i].donated) {
            donated++;
            memcpy((char *)x->arguments[i].data + 10 * sizeof(int64_t), junk, sizeof junk);
        }
    return NULL;
}

static void with_spoiling(lz_backend *b)
{
    b->execute_computation = spoil_donated;
}

/* w -= relu(w): relu runs on the CPU, on a copy; the device may overwrite w in the last stage. */
static void update(lz_ctx *c, lz_tensor *w)
{
    lz_scope *s = lz_scope_push(c);
    lz_tensor *r = bench_op(c, "relu", bench_op(c, "mul.Scalar", w, NULL, 2, 1), NULL, 1, 2);
    bench_op(c, "sub_.Tensor", w, r, 1, 3);
    lz_scope_pop(s);
}

static lz_err *test_donation_in_stages(void)
{
    pair p;
    donated = 0;
    LZ_TRY(open_pair(&p, (lz_options){ 0 }, with_spoiling));
    lz_ctx *c = p.b.c;
    p.b.fake.refuses = "relu";
    lz_tensor *w = bench_data(c, 4, 1);
    update(c, w);
    lz_mark_step(c);
    /* what the CPU read, what it gave, and w */
    assert_true(lz_check_failing() || donated == 3);
    if (!lz_failed(c))
        bench_expect(w, -1, -1);
    return close_pair(&p);
}

/* A stage that fails leaves w as it was, though stages before it went well. */
static lz_err *test_a_later_stage_that_fails(void)
{
    pair p;
    LZ_TRY(open_pair(&p, (lz_options){ 0 }, with_spoiling));
    lz_ctx *c = p.b.c;
    p.b.fake.refuses = "relu";
    p.b.fake.fails = "sub.Tensor";
    lz_tensor *w = bench_data(c, 4, 1), *twice = bench_op(c, "mul.Scalar", w, NULL, 2, 4);
    lz_tensor *kept = bench_op(c, "add.Tensor", w, w, 1, 5);
    update(c, w);
    if (!lz_failed(c)) {
        assert_false(lz_mark_step(c) && lz_wait(c));
        lz_clear(c);
        bench_expect(twice, 2, 2);
        bench_expect(kept, 2, 2);
    }
    return close_pair(&p);
}

/* ---- what a backend finds out when it compiles ---- */

static void unchanged(lz_backend *b)
{
    (void)b;
}

static lz_err *test_a_compile_may_name_what_falls_back(void)
{
    pair p;
    float v[4];
    LZ_TRY(open_pair(&p, (lz_options){ 0 }, unchanged));
    lz_ctx *c = p.b.c;
    p.b.fake.unknown = "relu";
    p.b.fake.names_unknown = true;
    lz_tensor *x = bench_data(c, 4, 1);
    for (int i = 0; i < 2; i++) {
        lz_tensor *s = bench_op(c, "add.Tensor", x, x, i, 1);
        bench_expect(bench_op(c, "neg", bench_op(c, "relu", s, NULL, 1, 2), NULL, 1, 3), (float)-(1 + i),
                     (float)-(1 + i));
    }
    if (!lz_check_failing()) {
        assert_int_equal(bench_count("aten::relu"), 2);
        assert_int_equal(p.cpu.runs, 2);
        lz_forbid(c, LZ_FALLBACK);
        lz_tensor *r = bench_op(c, "relu", x, NULL, 1, 4);
        assert_false(lz_read(r, v, sizeof v));
        assert_non_null(strstr(lz_message(c), "a fallback is forbidden here: aten::relu"));
        lz_clear(c);
    }
    return close_pair(&p);
}

/* Without a backend to fall back to, the error names the operator and its line. */
static lz_err *test_a_compile_that_nobody_can_do(void)
{
    pair p;
    float v[4];
    LZ_TRY(open_pair(&p, (lz_options){ 0 }, unchanged));
    lz_ctx *c = p.b.c;
    p.b.fake.unknown = p.cpu.unknown = "relu";
    p.b.fake.names_unknown = p.cpu.names_unknown = true;
    lz_tensor *x = bench_data(c, 4, 1), *r = bench_op(c, "relu", x, NULL, 1, 7);
    if (!lz_check_failing()) {
        assert_false(lz_read(r, v, sizeof v));
        assert_non_null(strstr(lz_message(c), "aten::relu: never heard of relu"));
        assert_int_equal(lz_place(c).line, 7);
        lz_clear(c);
        bench_expect(x, 1, 1);
    }
    lz_clear(c);
    return close_pair(&p);
}

/* ---- what a lowering knows ---- */

static char scopes[128];
static size_t npairs;
static lz_alias_pair first_pair;

static lz_err *look_at_lowering(void *self, lz_lowering *const *l, size_t n, void **out)
{
    const lz_node *const *nodes;
    const lz_alias_pair *pairs;
    size_t count = lz_lowering_nodes(l[0], &nodes);
    npairs = lz_lowering_aliases(l[0], &pairs);
    if (npairs)
        first_pair = pairs[0];
    scopes[0] = '\0';
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(lz_lowering_emission(l[0], nodes[i]), LZ_NOT_EMITTED);
        lz_lowering_set_emission(l[0], nodes[i], LZ_EMITTED);
        assert_int_equal(lz_lowering_emission(l[0], nodes[i]), LZ_EMITTED);
        if (lz_node_op(nodes[i])) {
            strcat(scopes, lz_node_scope(nodes[i]));
            strcat(scopes, ";");
        }
    }
    return inner.compile(self, l, n, out);
}

static void with_looking(lz_backend *b)
{
    b->compile = look_at_lowering;
}

static lz_err *test_scopes_reach_lowerings(void)
{
    pair p;
    LZ_TRY(open_pair(&p, (lz_options){ .scopes_in_graph = true }, with_looking));
    lz_ctx *c = p.b.c;
    lz_tensor *x = bench_data(c, 4, 1), *y = bench_op(c, "neg", x, NULL, 1, 1);
    lz_scope *s = lz_scope_push_as(c, "layer");
    lz_tensor *z = bench_op(c, "relu", y, NULL, 1, 2);
    if (!lz_tensor_is_inert(z))
        lz_retain(z);
    lz_scope_pop(s);
    lz_mark_step(c);
    assert_true(lz_check_failing() || strcmp(scopes, ";layer.1;") == 0);
    /* also of what is compiled anew after a failure */
    p.b.fake.fails = "mul.Tensor";
    s = lz_scope_push_as(c, "tail");
    lz_tensor *good = bench_op(c, "neg", y, NULL, 1, 3), *bad = bench_op(c, "mul.Tensor", y, y, 1, 4);
    if (!lz_failed(c) && good && bad) {
        assert_false(lz_mark_step(c) && lz_wait(c));
        lz_clear(c);
        assert_true(lz_check_failing() || strcmp(scopes, "tail.2;") == 0);
    }
    lz_scope_pop(s);
    if (z && !lz_tensor_is_inert(z))
        lz_release(z);
    return close_pair(&p);
}

/* The memory of what a program overwrites may become that of what it computes instead. */
static lz_err *test_pairs_of_memory(void)
{
    pair p;
    LZ_TRY(open_pair(&p, (lz_options){ 0 }, with_looking));
    lz_ctx *c = p.b.c;
    lz_tensor *x = bench_data(c, 4, 1), *w = bench_data(c, 4, 5);
    bench_op(c, "add_.Tensor", w, x, 1, 1);
    lz_mark_step(c);
    if (!lz_check_failing()) {
        assert_int_equal(npairs, 1);
        assert_int_equal(first_pair.output, 0);
        assert_false(first_pair.must);
    }
    lz_tensor *y = bench_op(c, "mul.Tensor", x, w, 1, 2); /* both stay */
    lz_mark_step(c);
    assert_true(lz_check_failing() || npairs == 0);
    if (!lz_failed(c))
        bench_expect(w, 6, 2);
    (void)y;
    return close_pair(&p);
}

/* ---- numbers as data ---- */

static int numbers;

static lz_err *count_number(void *self, lz_scalar v, lz_backend_device d, void **out)
{
    double x = v.re;
    lz_host_tensor h = { .type = { LZ_F64, { NULL, 0 } }, .data = &x };
    assert_int_equal(v.kind, LZ_SCALAR_FLOAT);
    numbers++;
    return inner.make_computation_data_from_tensor(self, &h, d, out);
}

static void with_numbers(lz_backend *b)
{
    b->make_computation_data_from_scalar = count_number;
}

static lz_err *test_a_tensor_without_dimensions_is_a_number(void)
{
    static const double two = 2;
    static const float three = 3;
    pair p;
    numbers = 0;
    LZ_TRY(open_pair(&p, (lz_options){ 0 }, with_numbers));
    lz_from_memory(p.b.c, LZ_F64, LZ_DIMS(1), &two);             /* has a dimension */
    lz_from_memory(p.b.c, LZ_F32, (lz_ints){ NULL, 0 }, &three); /* is no C double */
    lz_from_memory(p.b.c, LZ_F64, (lz_ints){ NULL, 0 }, &two);
    assert_true(lz_check_failing() || numbers == 1);
    return close_pair(&p);
}

/* ---- offsets of views ---- */

static lz_arg_kind index_kind;

static bool look_at_index(void *self, const lz_node *n)
{
    if (strcmp(lz_node_op(n)->name, "select.int") == 0)
        index_kind = lz_node_arg_get(n, 2).kind;
    return inner.supports(self, n);
}

static bool takes(void *self)
{
    (void)self;
    return true;
}

static void with_fixed_offsets(lz_backend *b)
{
    b->supports = look_at_index;
}

static void with_offsets(lz_backend *b)
{
    b->supports = look_at_index;
    b->takes_offsets = takes;
}

/* How many graphs three rows of held data are. */
static lz_err *count_graphs(void (*with)(lz_backend *), int *graphs)
{
    pair p;
    index_kind = LZ_ARG_NONE;
    LZ_TRY(open_pair(&p, (lz_options){ 0 }, with));
    lz_ctx *c = p.b.c;
    lz_tensor *x = bench_data(c, 4, 1);
    for (int64_t i = 0; i < 3; i++) {
        lz_scope *s = lz_scope_push(c);
        lz_tensor *row = lz_select_int(c, x, 0, i);
        bench_op(c, "neg", row, NULL, 1, 2);
        lz_mark_step(c);
        lz_scope_pop(s);
    }
    *graphs = atomic_load(&p.b.fake.compiles);
    return close_pair(&p);
}

/* A backend that does not take them sees fixed arguments. */
static lz_err *test_offsets_are_numbers_for_those_who_take_them(void)
{
    int graphs;
    LZ_TRY(count_graphs(with_fixed_offsets, &graphs));
    assert_true(lz_check_failing() || (graphs == 3 && index_kind == LZ_ARG_VALUE));
    LZ_TRY(count_graphs(with_offsets, &graphs));
    assert_true(lz_check_failing() || (graphs == 1 && index_kind == LZ_ARG_SCALAR));
    return NULL;
}

/* ---- waiting ---- */

static int waited;
static const char *late;

static lz_err *wait_for_device(void *self, lz_backend_device d)
{
    (void)self;
    waited += d.ordinal == 0;
    const char *why = late;
    late = NULL;
    return why ? lz_errf(LZ_ERR_INTERNAL, "%s", why) : NULL;
}

static void with_waiting(lz_backend *b)
{
    if (strcmp(b->name, "fake_bench") == 0)
        b->synchronize = wait_for_device;
}

static lz_err *test_waiting_for_devices(void)
{
    pair p;
    lz_err *e = open_pair(&p, (lz_options){ 0 }, with_waiting);
    LZ_TRY(e);
    lz_ctx *c = p.b.c;
    waited = 0;
    late = NULL;
    if (!lz_failed(c)) {
        assert_true(lz_wait(c));
        assert_int_equal(waited, 1);
        late = "the queue broke";
        assert_false(lz_wait(c));
        assert_non_null(strstr(lz_message(c), lz_check_failing() ? "" : "the queue broke"));
        lz_clear(c);
        assert_true(lz_wait(c)); /* reported once */
        assert_int_equal(waited, 3);
    }
    lz_ctx *other = lz_open(&(lz_options){ .device = "cpu" }); /* has nothing to do with it */
    lz_close(other);
    assert_true(lz_check_failing() || waited == 3);
    e = close_pair(&p);
    assert_true(lz_check_failing() || waited >= 4);
    return e;
}

/* ---- the end ---- */

enum { MOST_EVENTS = 8 };

static struct {
    int n;
    char event[MOST_EVENTS];
} * story;

static void tell(char event)
{
    if (story->n < MOST_EVENTS)
        story->event[story->n++] = event;
}

static void library_ends(void)
{
    tell('L');
}

static void prepare_first(void *self)
{
    (void)self;
    tell('1');
}

static void prepare_second(void *self)
{
    (void)self;
    tell('2');
}

static lz_err *wait_at_end(void *self, lz_backend_device d)
{
    (void)self, (void)d;
    tell('w');
    return NULL;
}

static void end_a_process(void)
{
    static fake_backend first, second;
    fake_backend_init(&first, "fake_first", 1);
    fake_backend_init(&second, "fake_second", 1);
    first.table.prepare_to_exit = prepare_first;
    second.table.prepare_to_exit = prepare_second;
    second.table.synchronize = wait_at_end;
    lz_err *e = lz_backend_register(&first.table, NULL);
    if (!e && atexit(library_ends) == 0) /* as a library does that the second backend loads */
        e = lz_backend_register(&second.table, NULL);
    exit(e ? 1 : 0);
}

/* The youngest first, its device waited for, and before the libraries that it brought. */
static void test_each_is_told_before_its_libraries_end(void **state)
{
    int status = -1;
    (void)state;
    story = mmap(NULL, sizeof *story, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(story != MAP_FAILED);
    pid_t child = fork();
    if (child == 0)
        end_a_process();
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(story->n, 4);
    assert_memory_equal(story->event, "w2L1", 4);
    munmap(story, sizeof *story);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LZ_TEST(test_default_device),
        LZ_TEST(test_a_default_that_is_not_there),
        LZ_TEST(test_setting_the_default),
        LZ_TEST(test_placeholders_in_stages),
        LZ_TEST(test_placeholders_after_a_failure),
        LZ_TEST(test_donation_in_stages),
        LZ_TEST(test_a_later_stage_that_fails),
        LZ_TEST(test_a_compile_may_name_what_falls_back),
        LZ_TEST(test_a_compile_that_nobody_can_do),
        LZ_TEST(test_scopes_reach_lowerings),
        LZ_TEST(test_pairs_of_memory),
        LZ_TEST(test_a_tensor_without_dimensions_is_a_number),
        LZ_TEST(test_offsets_are_numbers_for_those_who_take_them),
        LZ_TEST(test_waiting_for_devices),
        cmocka_unit_test(test_each_is_told_before_its_libraries_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
