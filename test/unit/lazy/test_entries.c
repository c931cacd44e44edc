#include "lazy/ir_builder.h"
#include "lazy/registry.h"
#include "lazy_desk.h"
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* A backend that brings every entry and counts who is called: each must be, by some program. */

#define ENTRIES(X)                                                                                           \
    X(get_backend_devices)                                                                                   \
    X(make_computation_data_from_tensor)                                                                     \
    X(make_tensor_from_computation_data)                                                                     \
    X(release_data)                                                                                          \
    X(compile)                                                                                               \
    X(execute_computation)                                                                                   \
    X(release_computation)                                                                                   \
    X(initialize_aten_bindings)                                                                              \
    X(set_rng_seed)                                                                                          \
    X(get_ir_builder)                                                                                        \
    X(create_data_placeholder)                                                                               \
    X(get_computation_data_from_node)                                                                        \
    X(copy_data)                                                                                             \
    X(create_lowering_context)                                                                               \
    X(release_lowering_context)                                                                              \
    X(supports)                                                                                              \
    X(get_compilation_devices)                                                                               \
    X(get_computation_backend_text)                                                                          \
    X(get_computation_bytes)                                                                                 \
    X(get_default_device_ordinal)                                                                            \
    X(eager_fallback_device_type)                                                                            \
    X(get_backend_device)                                                                                    \
    X(create_metric_report)                                                                                  \
    X(get_metrics)

enum {
#define X(name) CALLED_##name,
    ENTRIES(X)
#undef X
        CALLED_make_device_data,
    CALLED_prepare_to_exit,
    CALLED
};

static const char *const names[] = {
#define X(name) #name,
    ENTRIES(X)
#undef X
        "make_device_data",
    "prepare_to_exit",
};

static int calls[CALLED];
static lz_backend inner; /* of the fake, which does the work */
static uint64_t seed;
static int8_t fallback_type;
static lz_backend_device compiled_for;

#define COUNT(name) (calls[CALLED_##name]++)

static lz_err *count_devices(void *self, lz_backend_device *out, size_t room, size_t *n)
{
    COUNT(get_backend_devices);
    return inner.get_backend_devices(self, out, room, n);
}

static lz_err *count_upload(void *self, const lz_host_tensor *t, lz_backend_device d, void **out)
{
    COUNT(make_computation_data_from_tensor);
    return inner.make_computation_data_from_tensor(self, t, d, out);
}

static lz_err *count_download(void *self, void *data, lz_dtype logical, const lz_host_tensor *out)
{
    COUNT(make_tensor_from_computation_data);
    return inner.make_tensor_from_computation_data(self, data, logical, out);
}

static void count_release_data(void *self, void *data)
{
    COUNT(release_data);
    inner.release_data(self, data);
}

static lz_err *count_compile(void *self, lz_lowering *const *l, size_t n, void **out)
{
    COUNT(compile);
    compiled_for = lz_lowering_device(l[0]);
    assert_ptr_equal(lz_lowering_payload(l[0]), calls);
    return inner.compile(self, l, n, out);
}

/* Placeholders are the fake's own arrays; what it computes takes their place. */
static lz_err *count_execute(void *self, void *computation, const lz_execution *x)
{
    COUNT(execute_computation);
    void *before[8] = { NULL };
    for (size_t i = 0; i < x->n_results; i++)
        before[i] = x->results[i];
    lz_err *e = inner.execute_computation(self, computation, x);
    for (size_t i = 0; !e && i < x->n_results; i++)
        if (before[i])
            inner.release_data(self, before[i]);
    return e;
}

static void count_release_computation(void *self, void *computation)
{
    COUNT(release_computation);
    inner.release_computation(self, computation);
}

static lz_err *count_init(void *self)
{
    (void)self;
    COUNT(initialize_aten_bindings);
    return NULL;
}

static lz_err *count_seed(void *self, uint64_t s)
{
    (void)self;
    COUNT(set_rng_seed);
    seed = s;
    return NULL;
}

static lz_err *count_device_data(void *self, lz_ir *ir, lz_data *data, lz_output *out)
{
    COUNT(make_device_data);
    return lz_own_ir_builder.make_device_data(self, ir, data, out);
}

static const lz_ir_builder *count_builder(void *self)
{
    static lz_ir_builder b;
    (void)self;
    b = lz_own_ir_builder;
    b.make_device_data = count_device_data;
    COUNT(get_ir_builder);
    return &b;
}

static lz_err *count_placeholder(void *self, lz_backend_device d, const lz_data_type *t, void **out)
{
    float none[64] = { 0 };
    int64_t strides[1] = { 1 };
    lz_host_tensor h = { .type = *t, .strides = { strides, t->sizes.n }, .data = none };
    COUNT(create_data_placeholder);
    return inner.make_computation_data_from_tensor(self, &h, d, out);
}

static lz_data *count_node_data(void *self, const lz_node *n)
{
    (void)self;
    COUNT(get_computation_data_from_node);
    assert_int_equal(lz_node_kind_of(n), LZ_NODE_DATA);
    return NULL; /* the leaf's own */
}

static lz_err *count_copy(void *self, void *data, lz_backend_device from, lz_backend_device to, void **out)
{
    float v[4];
    int64_t sizes[] = { 4 }, strides[] = { 1 };
    lz_host_tensor h = { .type = { LZ_F32, { sizes, 1 } }, .strides = { strides, 1 }, .data = v };
    COUNT(copy_data);
    assert_int_equal(from.ordinal, 1);
    assert_int_equal(to.ordinal, 0);
    LZ_TRY(inner.make_tensor_from_computation_data(self, data, LZ_F32, &h));
    return inner.make_computation_data_from_tensor(self, &h, to, out);
}

static lz_err *count_lowering(void *self, lz_lowering *l, const lz_node *const *order, size_t n, void **out)
{
    (void)self, (void)l, (void)order, (void)n;
    COUNT(create_lowering_context);
    *out = calls;
    return NULL;
}

static void count_release_lowering(void *self, void *payload)
{
    (void)self;
    COUNT(release_lowering_context);
    assert_ptr_equal(payload, calls);
}

static bool count_supports(void *self, const lz_node *n)
{
    COUNT(supports);
    return inner.supports(self, n);
}

static lz_err *count_compilation(void *self, lz_backend_device d, lz_backend_device *all, size_t n)
{
    (void)self;
    COUNT(get_compilation_devices);
    assert_int_equal(n, 1);
    assert_int_equal(all[0].ordinal, d.ordinal);
    all[0].ordinal = 77;
    return NULL;
}

static const char *count_text(void *self, void *computation)
{
    (void)self, (void)computation;
    COUNT(get_computation_backend_text);
    return "the program";
}

static size_t count_bytes(void *self, void *computation)
{
    (void)self;
    COUNT(get_computation_bytes);
    assert_non_null(computation);
    return 1000;
}

static int64_t count_ordinal(void *self)
{
    (void)self;
    COUNT(get_default_device_ordinal);
    return 1;
}

static int8_t count_fallback(void *self)
{
    (void)self;
    COUNT(eager_fallback_device_type);
    return fallback_type;
}

static lz_err *count_device(void *self, lz_device d, lz_backend_device *out)
{
    (void)self;
    COUNT(get_backend_device);
    *out = (lz_backend_device){ 3, d.index };
    return NULL;
}

static const char *count_report(void *self)
{
    (void)self;
    COUNT(create_metric_report);
    return "all is well";
}

static size_t count_metrics(void *self, lz_metric_value *out, size_t room)
{
    (void)self;
    COUNT(get_metrics);
    if (room)
        out[0] = (lz_metric_value){ "Watts", 12 };
    return 1;
}

static void count_exit(void *self)
{
    (void)self;
    COUNT(prepare_to_exit);
}

static void make_counting(fake_backend *f)
{
    fake_backend_init(f, "fake_counting", 2);
    inner = f->table;
    memset(calls, 0, sizeof calls);
    f->table.get_backend_devices = count_devices;
    f->table.make_computation_data_from_tensor = count_upload;
    f->table.make_tensor_from_computation_data = count_download;
    f->table.release_data = count_release_data;
    f->table.compile = count_compile;
    f->table.execute_computation = count_execute;
    f->table.release_computation = count_release_computation;
    f->table.initialize_aten_bindings = count_init;
    f->table.prepare_to_exit = count_exit;
    f->table.set_rng_seed = count_seed;
    f->table.get_ir_builder = count_builder;
    f->table.create_data_placeholder = count_placeholder;
    f->table.get_computation_data_from_node = count_node_data;
    f->table.copy_data = count_copy;
    f->table.create_lowering_context = count_lowering;
    f->table.release_lowering_context = count_release_lowering;
    f->table.supports = count_supports;
    f->table.get_compilation_devices = count_compilation;
    f->table.get_computation_backend_text = count_text;
    f->table.get_computation_bytes = count_bytes;
    f->table.get_default_device_ordinal = count_ordinal;
    f->table.eager_fallback_device_type = count_fallback;
    f->table.get_backend_device = count_device;
    f->table.create_metric_report = count_report;
    f->table.get_metrics = count_metrics;
}

/* ---- a program that needs them all ---- */

static lz_err *use_all(lz_ctx *c, fake_backend *f)
{
    char *text;
    lz_tensor *x = bench_data(c, 4, 1), *y = bench_op(c, "add.Tensor", x, x, 2, 1);
    bench_expect(y, 3, 3);
    bench_expect(lz_copy_to(c, y, (lz_device){ c->device.type, 0 }), 3, 3);
    lz_err *e = lz_dump(c, &y, 1, LZ_DUMP_BACKEND, &text);
    if (!e)
        lz_text_free(text);
    lz_err_free(e);
    f->refuses = "relu";
    y = bench_op(c, "neg", bench_op(c, "relu", y, NULL, 1, 2), NULL, 1, 3);
    bench_expect(y, -3, -3);
    lz_tensor *z = bench_op(c, "neg", x, NULL, 1, 4);
    e = lz_dump(c, &z, 1, LZ_DUMP_BACKEND, &text);
    if (!e)
        lz_text_free(text);
    lz_err_free(e);
    LZ_TRY(lz_metrics_text(&text));
    if (!lz_check_failing())
        assert_true(strstr(text, "Watts") && strstr(text, "all is well"));
    lz_text_free(text);
    return NULL;
}

static lz_err *run_program(fake_backend *f)
{
    lz_ctx *c = lz_open(&(lz_options){ .device = "fake_counting", .seed = 5 });
    if (!c)
        return lz_err_oom();
    lz_tensor *x = bench_data(c, 1, 0);
    if (!lz_failed(c)) {
        assert_int_equal(lz_tensor_device(x).index, 1);
        assert_int_equal(seed, 5);
        lz_manual_seed(c, 9);
        assert_int_equal(seed, 9);
    }
    lz_err *e = lz_failed(c) ? NULL : use_all(c, f);
    if (!e && lz_failed(c))
        e = lz_errf(lz_code_of(c), "%s", lz_message(c));
    lz_close(c);
    return e;
}

static lz_err *test_every_entry_is_called(void)
{
    fake_backend f;
    int16_t type;
    make_counting(&f);
    LZ_TRY(lz_backend_register(&f.table, &type));
    lz_err *e = run_program(&f);
    lz_backend_forget(type);
    for (size_t i = 0; i < CALLED; i++)
        if (!e && !lz_check_failing() && !calls[i])
            fail_msg("%s was never called", names[i]);
    assert_int_equal(f.live_data, 0);
    assert_int_equal(f.live_computations, 0);
    if (!e && !lz_check_failing()) {
        assert_int_equal(compiled_for.ordinal, 77);
        assert_int_equal(calls[CALLED_initialize_aten_bindings], 1);
        assert_int_equal(calls[CALLED_prepare_to_exit], 1);
        assert_int_equal(calls[CALLED_create_lowering_context], calls[CALLED_release_lowering_context]);
        assert_int_equal(calls[CALLED_compile], calls[CALLED_get_compilation_devices]);
        assert_int_equal(calls[CALLED_compile], calls[CALLED_release_computation]);
    }
    return e;
}

/* ---- which device runs what falls back ---- */

static lz_backend_device fallen_to;

static lz_err *two_kinds(void *self, lz_backend_device *out, size_t room, size_t *n)
{
    (void)self;
    *n = 2;
    for (size_t i = 0; i < 2 && i < room; i++)
        out[i] = (lz_backend_device){ i ? 6 : 4, 0 };
    return NULL;
}

static lz_err *note_device(void *self, lz_lowering *const *l, size_t n, void **out)
{
    fallen_to = lz_lowering_device(l[0]);
    return inner.compile(self, l, n, out);
}

static lz_err *test_the_backend_says_where_to_fall(void)
{
    fake_backend f, cpu;
    int16_t type, cpu_type;
    static const int8_t asked[] = { 6, 4, 5 }, want[] = { 6, 4, 4 };
    lz_err *e = NULL;
    if (lz_has_backend("cpu"))
        lz_backend_forget(lz_backend_type(lz_get_backend("cpu")));
    fake_backend_init(&cpu, "cpu", 2);
    cpu.table.get_backend_devices = two_kinds;
    cpu.table.compile = note_device;
    LZ_TRY(lz_backend_register(&cpu.table, &cpu_type));
    for (size_t i = 0; !e && i < 3; i++) {
        make_counting(&f);
        fallback_type = asked[i];
        e = lz_backend_register(&f.table, &type);
        if (e)
            break;
        e = run_program(&f);
        lz_backend_forget(type);
        if (!e && !lz_check_failing())
            assert_int_equal(fallen_to.type, want[i]);
    }
    lz_backend_forget(cpu_type);
    return e;
}

/* ---- the end ---- */

static int *exits;

static void note_exit(void *self)
{
    (void)self;
    ++*exits;
}

static void end_a_process(void)
{
    static fake_backend f;
    fake_backend_init(&f, "fake_ending", 1);
    f.table.prepare_to_exit = note_exit;
    lz_err *e = lz_backend_register(&f.table, NULL);
    for (int i = 0; !e && i < 2; i++)
        lz_close(lz_open(&(lz_options){ .device = "fake_ending" }));
    exit(e ? 1 : *exits); /* contexts come and go before */
}

static void test_told_once_when_the_process_ends(void **state)
{
    int status = -1;
    (void)state;
    exits = mmap(NULL, sizeof *exits, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(exits != MAP_FAILED);
    pid_t child = fork();
    if (child == 0)
        end_a_process();
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(*exits, 1);
    munmap(exits, sizeof *exits);
}

int main(void)
{
    const struct CMUnitTest tests[] = { LZ_TEST(test_every_entry_is_called),
                                        LZ_TEST(test_the_backend_says_where_to_fall),
                                        cmocka_unit_test(test_told_once_when_the_process_ends) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
