/* Several devices of the CPU: their memory, graphs that are compiled for all of them at once, and what a
 * program can ask about them. Everything also runs with each of its allocations failing. */
#include "check.h"
#include <lazuli/lazuli.h>
#include <stdlib.h>
#include <time.h>

static lz_err *finish(lz_ctx *c)
{
    lz_err *e = lz_failed(c) ? lz_errf(lz_code_of(c), "%s", lz_message(c)) : NULL;
    lz_close(c);
    return e;
}

static lz_err *finish_both(lz_ctx *a, lz_ctx *b)
{
    lz_err *e = finish(a), *other = finish(b);
    if (e)
        lz_err_free(other);
    return e ? e : other;
}

static void expect_failure(lz_ctx *c, const char *part)
{
    if (lz_code_of(c) == LZ_ERR_MEMORY)
        return;
    if (!strstr(lz_message(c), part))
        fail_msg("\"%s\" says nothing of \"%s\"", lz_message(c), part);
    lz_clear(c);
}

static int64_t counter(const char *name)
{
    int64_t n = 0;
    lz_counter_value(name, &n);
    return n;
}

/* ---- how many there are ---- */

static lz_err *open_failing(const lz_options *o, const char *part)
{
    lz_ctx *c = lz_open(o);
    if (!c)
        return lz_err_oom();
    assert_true(lz_failed(c));
    expect_failure(c, part);
    return finish(c);
}

static lz_err *test_counts_that_are_refused(void)
{
    LZ_TRY(open_failing(&(lz_options){ .cpu_devices = -1 }, "1 to 64 devices"));
    LZ_TRY(open_failing(&(lz_options){ .cpu_devices = 65 }, "1 to 64 devices"));
    LZ_TRY(open_failing(&(lz_options){ .device = "cpu:63" }, "no such device"));
    LZ_TRY(lz_check_err(lz_backend_set_device_count("nosuch", 2), LZ_ERR_NOT_FOUND, "no backend nosuch"));
    return lz_check_err(lz_backend_set_device_count("cpu", 0), LZ_ERR_ARG, "1 to 64 devices, not 0");
}

/* Only a machine with CUDA has such a device. */
static lz_err *test_cuda_is_asked_for(void)
{
    lz_ctx *c = lz_open(&(lz_options){ .ts_cuda = true });
    if (!c)
        return lz_err_oom();
    expect_failure(c, "no such device: cpu has none of type CUDA");
    LZ_TRY(finish(c));
    c = lz_open(&(lz_options){ .ts_cuda = true, .device = "cpu:0" }); /* a number says which is meant */
    return c ? finish(c) : lz_err_oom();
}

/* ---- data on them ---- */

static lz_err *use_two(lz_ctx *a, lz_ctx *b)
{
    float v[1000] = { 1, 2, 3 }, got[3] = { 0 };
    lz_memory_info one, two;
    lz_tensor *x = lz_from_memory(a, LZ_F32, LZ_DIMS(1000), v);
    lz_tensor *y = lz_add_Scalar(b, lz_from_memory(b, LZ_F32, LZ_DIMS(3), v), LZ_S(1));
    if (lz_failed(a) || lz_failed(b))
        return NULL;
    assert_int_equal(lz_tensor_device(x).index, 1);
    assert_int_equal(lz_tensor_device(y).index, 2);
    if (!lz_read(y, got, sizeof got))
        return NULL;
    assert_true(got[0] == 2 && got[1] == 3 && got[2] == 4);
    if (!lz_get_memory_info(a, NULL, &one) || !lz_get_memory_info(a, "cpu:2", &two))
        return NULL;
    assert_true(one.used_bytes >= 4000 && two.used_bytes < 4000 && two.used_bytes >= 12);
    assert_true(one.total_bytes == two.total_bytes && one.peak_bytes >= one.used_bytes);
    int64_t here = lz_held_bytes(a, NULL), there = lz_held_bytes(a, "cpu:2"), other = lz_held_bytes(b, NULL);
    if (here >= 0 && there >= 0 && other >= 0)
        assert_true(here == 4000 && there == 0
                    && (other == 12 || other == 24)); /* y, and what it is made of */
    return NULL;
}

static lz_err *test_each_has_memory(void)
{
    lz_ctx *a = lz_open(&(lz_options){ .device = "cpu:1", .cpu_devices = 3 });
    lz_ctx *b = lz_open(&(lz_options){ .device = "cpu:2", .cpu_devices = 3 });
    lz_err *e = a && b ? NULL : lz_err_oom();
    if (!e && !lz_failed(a) && !lz_failed(b))
        e = use_two(a, b);
    if (!e && !lz_failed(a)) {
        lz_memory_info m;
        assert_false(lz_get_memory_info(a, "nosuch:1", &m) || lz_held_bytes(a, "cpu:60") >= 0);
        assert_true(m.used_bytes == -1);
        expect_failure(a, "nosuch");
    }
    if (e) {
        lz_close(a);
        lz_close(b);
        return e;
    }
    return finish_both(a, b);
}

/* A copy to another device, and a graph that is given data of two. */
static lz_err *test_copies(void)
{
    float v[2] = { 3, 4 }, got[2] = { 0 };
    lz_ctx *c = lz_open(&(lz_options){ .cpu_devices = 2 });
    if (!c)
        return lz_err_oom();
    lz_tensor *x = lz_from_memory(c, LZ_F32, LZ_DIMS(2), v);
    lz_tensor *y = lz_copy_to(c, x, (lz_device){ lz_tensor_device(x).type, 1 });
    lz_tensor *z = lz_mul_Tensor(c, y, y);
    if (!lz_failed(c) && lz_read(z, got, sizeof got)) {
        assert_int_equal(lz_tensor_device(z).index, 1);
        assert_true(got[0] == 9 && got[1] == 16);
    }
    if (!lz_failed(c)) {
        lz_add_Tensor(c, x, y);
        expect_failure(c, "same device");
    }
    return finish(c);
}

static lz_err *test_the_default_is_set(void)
{
    lz_device d;
    lz_err *e = lz_backend_set_device_count("cpu", 2);
    if (!e)
        e = lz_backend_set_default("cpu:1");
    if (!e) {
        e = lz_backend_default_device("cpu", &d);
        if (!e)
            assert_int_equal(d.index, 1);
        lz_err *back = lz_backend_set_default("cpu:0");
        while (back) { /* only for want of memory: the other tests rely on it */
            lz_err_free(back);
            back = lz_backend_set_default("cpu:0");
        }
    }
    return e;
}

/* ---- graphs for several devices ---- */

static bool step(lz_ctx *c, float *got)
{
    static const float v[4] = { 1, -2, 3, -4 };
    lz_scope *s = lz_scope_push(c);
    lz_tensor *x = lz_from_memory(c, LZ_F32, LZ_DIMS(4), v);
    lz_tensor *y = lz_relu(c, lz_mul_Scalar(c, x, LZ_S(2)));
    bool ok = lz_read(y, got, 4 * sizeof *got);
    lz_scope_pop(s);
    return ok;
}

static void check_step(lz_ctx *c)
{
    float got[4] = { 0 };
    if (step(c, got))
        assert_true(got[0] == 2 && got[1] == 0 && got[2] == 6 && got[3] == 0);
}

static lz_err *run_replicas(lz_ctx *a, lz_ctx *b)
{
    lz_cache_clear(a);
    lz_metrics_clear();
    int64_t before = counter("TsCompiled");
    check_step(a);
    if (lz_failed(a) || lz_check_failing())
        return NULL;
    assert_int_equal(counter("UncachedCompile"), 1);
    assert_int_equal(counter("TsCompiled") - before, 3); /* for three devices */
    check_step(b);
    assert_int_equal(counter("UncachedCompile"), 1);
    assert_int_equal(counter("CachedCompile"), 1);
    assert_int_equal(counter("TsCompiled") - before, 3);
    return NULL;
}

static lz_err *replicas_with(const char *forced)
{
    lz_ctx *a = lz_open(&(lz_options){ .device = "cpu:0",
                                       .cpu_devices = 3,
                                       .replicas = "cpu:1, cpu:0,cpu:2,cpu:1",
                                       .force_fallback = forced });
    lz_ctx *b = lz_open(&(lz_options){ .device = "cpu:2", .cpu_devices = 3, .force_fallback = forced });
    if (!a || !b) {
        lz_close(a);
        lz_close(b);
        return lz_err_oom();
    }
    if (!lz_failed(a) && !lz_failed(b) && !forced)
        run_replicas(a, b);
    for (int i = 0; forced && i < 2; i++) { /* cut in stages, with one in the middle that they share */
        check_step(a);
        check_step(b);
    }
    return finish_both(a, b);
}

static lz_err *test_replicas(void)
{
    LZ_TRY(replicas_with(NULL));
    LZ_TRY(replicas_with("aten::mul"));
    LZ_TRY(open_failing(&(lz_options){ .replicas = "cpu:99" }, "replicas: cpu:99: no such device"));
    return open_failing(&(lz_options){ .replicas = "nosuch:1" }, "replicas");
}

/* Two devices that leave their work to the CPU, and count what they are asked to compile. */
static const lz_backend *cpu;
static size_t asked, compiled;
static lz_backend_device seen[2];

static lz_err *twin_devices(void *self, lz_backend_device *out, size_t room, size_t *n)
{
    (void)self;
    *n = 2;
    for (size_t i = 0; i < 2 && i < room; i++)
        out[i] = (lz_backend_device){ 5, (int64_t)i };
    return NULL;
}

static lz_err *twin_upload(void *self, const lz_host_tensor *t, lz_backend_device d, void **out)
{
    (void)self;
    return cpu->make_computation_data_from_tensor(cpu->self, t, d, out);
}

static lz_err *twin_read(void *self, void *data, lz_dtype logical, const lz_host_tensor *out)
{
    (void)self;
    return cpu->make_tensor_from_computation_data(cpu->self, data, logical, out);
}

static void twin_release(void *self, void *data)
{
    (void)self;
    cpu->release_data(cpu->self, data);
}

static lz_err *twin_compilation_devices(void *self, lz_backend_device d, lz_backend_device *devices, size_t n)
{
    (void)self, (void)d;
    asked = n;
    for (size_t i = 0; i < n; i++)
        devices[i].type = 6; /* what it is compiled for; it runs on type 5 */
    return NULL;
}

static lz_err *twin_compile(void *self, lz_lowering *const *l, size_t n, void **out)
{
    (void)self;
    compiled = n;
    for (size_t i = 0; i < n && i < 2; i++)
        seen[i] = lz_lowering_device(l[i]);
    return cpu->compile(cpu->self, l, n, out);
}

static lz_err *twin_execute(void *self, void *computation, const lz_execution *x)
{
    (void)self;
    assert_int_equal(x->device.type, 5);
    return cpu->execute_computation(cpu->self, computation, x);
}

static void twin_forget(void *self, void *computation)
{
    (void)self;
    cpu->release_computation(cpu->self, computation);
}

static const lz_backend twins = { .struct_size = sizeof twins,
                                  .abi = LZ_BACKEND_ABI << 16 | LZ_BACKEND_ABI_MINOR,
                                  .name = "twins",
                                  .get_backend_devices = twin_devices,
                                  .make_computation_data_from_tensor = twin_upload,
                                  .make_tensor_from_computation_data = twin_read,
                                  .release_data = twin_release,
                                  .compile = twin_compile,
                                  .execute_computation = twin_execute,
                                  .release_computation = twin_forget,
                                  .get_compilation_devices = twin_compilation_devices };

/* The second twin finds what one call has compiled for both. */
static lz_err *test_one_call_compiles_for_both(void)
{
    LZ_TRY(lz_backends_ready());
    cpu = lz_get_backend("cpu");
    if (!lz_has_backend("twins"))
        LZ_TRY(lz_backend_register(&twins, NULL));
    LZ_TRY(lz_check_err(lz_backend_set_device_count("twins", 3), LZ_ERR_UNSUPPORTED,
                        "has 2 devices and cannot"));
    asked = compiled = 0;
    lz_ctx *a = lz_open(&(lz_options){ .device = "twins:0", .replicas = "twins:1" });
    lz_ctx *b = lz_open(&(lz_options){ .device = "twins:1" });
    if (!a || !b) {
        lz_close(a);
        lz_close(b);
        return lz_err_oom();
    }
    if (!lz_failed(a) && !lz_failed(b))
        check_step(a);
    if (!lz_failed(a) && !lz_check_failing()) {
        assert_true(asked == 2 && compiled == 2);
        assert_true(seen[0].type == 6 && seen[0].ordinal == 0 && seen[1].type == 6 && seen[1].ordinal == 1);
        compiled = 0;
        check_step(b);
        assert_int_equal(compiled, 0);
    }
    return finish_both(a, b);
}

/* ---- the latest graph ---- */

static lz_err *latest(lz_ctx *c, const char *part)
{
    char *text;
    if (lz_failed(c))
        return NULL;
    LZ_TRY(lz_latest_graph(c, &text));
    bool has = *part ? strstr(text, part) != NULL : !*text;
    if (!has && !lz_check_failing()) /* a backend without memory has no text */
        fail_msg("\"%s\" has no \"%s\"", text, part);
    lz_text_free(text);
    return NULL;
}

static lz_err *ask_latest(lz_ctx *c)
{
    char *text;
    LZ_TRY(latest(c, ""));
    check_step(c);
    LZ_TRY(latest(c, "aten::relu"));
    lz_neg(c, lz_ones(c, LZ_DIMS(2)));
    LZ_TRY(latest(c, "aten::relu")); /* recorded, not run */
    lz_mark_step(c);
    LZ_TRY(latest(c, "aten::neg"));
    lz_cache_clear(c);
    return lz_failed(c) ? NULL
                        : lz_check_err(lz_latest_graph(c, &text), LZ_ERR_NOT_FOUND, "is not in the cache");
}

static lz_err *test_latest_graph(void)
{
    lz_ctx *c = lz_open(NULL);
    if (!c)
        return lz_err_oom();
    lz_err *e = lz_failed(c) ? NULL : ask_latest(c), *other = finish(c);
    if (e)
        lz_err_free(other);
    return e ? e : other;
}

/* ---- numbers of a compiled graph ---- */

typedef struct cached {
    lz_graph_key key;
    lz_scalar numbers[4];
    size_t n;
} cached;

/* x * 3 + x * 1 (alpha), compiled. */
static void compile_graph(lz_ctx *c, cached *g)
{
    static const float v[2] = { 1, 2 };
    lz_scope *s = lz_scope_push(c);
    lz_tensor *x = lz_from_memory(c, LZ_F32, LZ_DIMS(2), v);
    lz_tensor *y = lz_retain(lz_add_Tensor(c, lz_mul_Scalar(c, x, LZ_S(3.0)), x));
    size_t one = 1;
    lz_scalar first;
    lz_scope_pop(s); /* the product is no result */
    g->n = 4;
    if (!lz_graph_hash(c, &y, 1, &g->key) || !lz_graph_numbers(c, &y, 1, g->numbers, &g->n))
        return;
    assert_int_equal(g->n, 2);
    if (lz_graph_numbers(c, &y, 1, &first, &one)) /* too little room: how much it takes */
        assert_int_equal(one, 2);
    lz_sync(c, &y, 1);
}

static void run_numbers(lz_ctx *c, const cached *g)
{
    static const float v[2] = { 10, 20 };
    float got[2];
    lz_tensor *x = lz_from_memory(c, LZ_F32, LZ_DIMS(2), v), *y;
    lz_scalar numbers[2] = { g->numbers[0], g->numbers[1] };
    size_t scale = numbers[0].kind == LZ_SCALAR_FLOAT ? 0 : 1;
    numbers[scale] = LZ_S(5.0);
    if (lz_run_cached_with(c, g->key, &x, 1, numbers, 2, &y, 1) && lz_read(y, got, sizeof got))
        assert_true(got[0] == 60 && got[1] == 120);
    if (lz_failed(c))
        return;
    assert_false(lz_run_cached_with(c, g->key, &x, 1, numbers, 1, &y, 1));
    expect_failure(c, "takes 2 numbers, got 1");
    numbers[scale] = LZ_S(5);
    assert_false(lz_run_cached_with(c, g->key, &x, 1, numbers, 2, &y, 1));
    expect_failure(c, "as float, got int");
    assert_false(lz_run_cached(c, g->key, &x, 1, &y, 1));
    expect_failure(c, "takes 2 numbers besides tensors");
}

/* Another context than the one that compiled it gives the numbers. */
static lz_err *test_numbers(void)
{
    cached g = { 0 };
    lz_ctx *a = lz_open(NULL), *b = lz_open(NULL);
    if (!a || !b) {
        lz_close(a);
        lz_close(b);
        return lz_err_oom();
    }
    if (!lz_failed(a) && !lz_failed(b))
        compile_graph(a, &g);
    if (!lz_failed(a) && !lz_failed(b) && g.n)
        run_numbers(b, &g);
    return finish_both(a, b);
}

/* ---- the environment ---- */

static lz_err *closure_slow(void *user)
{
    struct timespec t = { .tv_nsec = 20000000 };
    nanosleep(&t, NULL);
    *(int *)user = 1;
    return NULL;
}

/* Room for one: when the second has been handed over, the first is done. */
static lz_err *with_queue(const char *name, const char *value, const char *refused)
{
    int done[2] = { 0, 0 };
    setenv(name, value, 1);
    lz_ctx *c = lz_open(NULL);
    unsetenv(name);
    if (!c)
        return lz_err_oom();
    if (refused) {
        expect_failure(c, refused);
        return finish(c);
    }
    lz_add_step_closure(c, closure_slow, &done[0], true);
    lz_add_step_closure(c, closure_slow, &done[1], true);
    bool ok = !lz_failed(c) && lz_mark_step(c);
    if (ok)
        assert_int_equal(done[0], 1);
    if (!lz_failed(c) && lz_wait(c) && ok)
        assert_int_equal(done[1], 1);
    return finish(c);
}

static lz_err *test_queue_of_closures(void)
{
    LZ_TRY(with_queue("LTC_MAX_ASYNC_QUEUE", "1", NULL));
    LZ_TRY(with_queue("LAZULI_MAX_ASYNC_QUEUE", "1", NULL));
    return with_queue("LTC_MAX_ASYNC_QUEUE", "none", "LTC_MAX_ASYNC_QUEUE=none: not a whole number");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LZ_TEST(test_counts_that_are_refused),
        LZ_TEST(test_cuda_is_asked_for),
        LZ_TEST(test_each_has_memory),
        LZ_TEST(test_copies),
        LZ_TEST(test_the_default_is_set),
        LZ_TEST(test_replicas),
        LZ_TEST(test_one_call_compiles_for_both),
        LZ_TEST(test_latest_graph),
        LZ_TEST(test_numbers),
        LZ_TEST(test_queue_of_closures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
