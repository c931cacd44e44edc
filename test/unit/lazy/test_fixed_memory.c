#include "base/poison.h"
#include "fake_backend.h"
#include "lazy_calls.h"
#include <errno.h>
#include <lazuli/lazuli.h>
#include <stdlib.h>

/* Compiled graphs of fixed memory. These tests count every call of the C library's allocator in the process.
 * The sanitizers have allocators of their own, so under them they count only our own calls. */

static atomic_size_t calls;

#if !defined(LZ_ASAN) && !defined(__SANITIZE_THREAD__)
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t size);
void *__libc_memalign(size_t align, size_t size);

void *malloc(size_t size)
{
    atomic_fetch_add(&calls, 1);
    return __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
    atomic_fetch_add(&calls, 1);
    return __libc_calloc(n, size);
}

void *realloc(void *p, size_t size)
{
    atomic_fetch_add(&calls, 1);
    return __libc_realloc(p, size);
}

int posix_memalign(void **out, size_t align, size_t size)
{
    atomic_fetch_add(&calls, 1);
    *out = __libc_memalign(align, size);
    return *out ? 0 : ENOMEM;
}
#endif

static void *count_resize(void *user, void *p, size_t size, size_t align)
{
    void *out = NULL;
    (void)user;
    atomic_fetch_add(&calls, 1);
    if (!size)
        free(p);
    else if (align <= 16)
        out = realloc(p, size);
    else if (posix_memalign(&out, align, size))
        out = NULL;
    return out;
}

/* ---- models ---- */

enum { MOST = 4096, RUNS = 6 };

typedef struct model {
    const char *name;
    int64_t sizes[4];
    int64_t ndim;
    lz_tensor *(*build)(lz_ctx *c, lz_tensor *x);
} model;

/* A constant of the graph: it is computed before. */
static lz_tensor *weight(lz_ctx *c, lz_ints sizes)
{
    lz_tensor *w = lz_mul_Scalar(c, lz_randn(c, sizes), LZ_S(0.1));
    lz_sync(c, &w, 1);
    return w;
}

static lz_tensor *layer(lz_ctx *c, lz_tensor *x, int64_t in, int64_t out)
{
    return lz_linear(c, x, weight(c, LZ_DIMS(out, in)), .bias = weight(c, LZ_DIMS(out)));
}

static lz_tensor *mlp(lz_ctx *c, lz_tensor *x)
{
    lz_tensor *h = lz_relu(c, layer(c, x, 32, 64));
    return lz_softmax_int(c, layer(c, lz_tanh(c, layer(c, h, 64, 64)), 64, 10), 1);
}

static lz_tensor *conv_net(lz_ctx *c, lz_tensor *x)
{
    lz_tensor *w = weight(c, LZ_DIMS(8, 3, 3, 3)), *v = weight(c, LZ_DIMS(8, 8, 3, 3));
    lz_tensor *h = lz_relu(c, lz_conv2d(c, x, w, .padding = LZ_INTS(1, 1)));
    h = lz_max_pool2d(c, h, LZ_INTS(2, 2));
    h = lz_relu(c, lz_conv2d(c, h, v, .bias = weight(c, LZ_DIMS(8)), .stride = LZ_INTS(2, 2)));
    return layer(c, lz_reshape(c, h, LZ_DIMS(2, 72)), 72, 10);
}

static lz_tensor *heads(lz_ctx *c, lz_tensor *x)
{
    return lz_transpose_int(c, lz_reshape(c, layer(c, x, 32, 32), LZ_DIMS(2, 12, 4, 8)), 1, 2);
}

static lz_tensor *gpt_block(lz_ctx *c, lz_tensor *x)
{
    lz_tensor *n = lz_layer_norm(c, x, LZ_INTS(32), .weight = weight(c, LZ_DIMS(32)));
    lz_tensor *q = heads(c, n), *k = heads(c, n), *v = heads(c, n);
    lz_tensor *a = lz_scaled_dot_product_attention(c, q, k, v, .is_causal = true);
    a = lz_reshape(c, lz_transpose_int(c, a, 1, 2), LZ_DIMS(2, 12, 32));
    lz_tensor *y = lz_add_Tensor(c, x, layer(c, a, 32, 32));
    lz_tensor *h = lz_gelu(c, layer(c, lz_layer_norm(c, y, LZ_INTS(32)), 32, 128), .approximate = "tanh");
    return lz_add_Tensor(c, y, layer(c, h, 128, 32));
}

static const model models[] = {
    { "mlp", { 8, 32 }, 2, mlp },
    { "conv_net", { 2, 3, 16, 16 }, 4, conv_net },
    { "gpt_block", { 2, 12, 32 }, 3, gpt_block },
};
enum { MODELS = sizeof models / sizeof *models };

static size_t numel(const model *m)
{
    size_t n = 1;
    for (int64_t i = 0; i < m->ndim; i++)
        n *= (size_t)m->sizes[i];
    return n;
}

static lz_tensor *input(lz_ctx *c, const model *m, int which)
{
    float v[MOST];
    for (size_t i = 0; i < numel(m); i++)
        v[i] = (float)((i * 7919 + (size_t)which * 104729) % 1013) / 1013.0F - 0.5F;
    return lz_from_memory(c, LZ_F32, (lz_ints){ m->sizes, m->ndim }, v);
}

/* The graph as it is, and the same with fixed memory. */
typedef struct pair {
    const model *model;
    lz_compiled *plain, *fixed;
} pair;

static pair extract(lz_ctx *c, const model *m)
{
    pair p = { .model = m };
    lz_scope *s = lz_scope_push(c);
    lz_tensor *x = input(c, m, 0), *y = m->build(c, x);
    p.plain = lz_failed(c) ? NULL : lz_extract(c, &x, 1, &y, 1);
    p.fixed = lz_failed(c) ? NULL : lz_extract(c, &x, 1, &y, 1);
    lz_scope_pop(s);
    if (p.fixed && !lz_compiled_fix(p.fixed))
        assert_true(lz_failed(c));
    return p;
}

static void free_pair(pair p)
{
    lz_compiled_free(p.plain);
    lz_compiled_free(p.fixed);
}

/* Runs one graph and releases its output. Returns the calls of allocators, also to free memory. */
static size_t run(lz_ctx *c, lz_compiled *f, lz_tensor *x, float *to)
{
    lz_tensor *y;
    lz_scope *s = lz_scope_push(c);
    size_t before = atomic_load(&calls);
    bool ok = lz_compiled_run(f, &x, 1, &y, 1);
    size_t made = atomic_load(&calls) - before;
    if (ok)
        lz_read(y, to, MOST * sizeof *to);
    lz_scope_pop(s);
    return made;
}

static void expect_equal(lz_ctx *c, pair p, int which, bool free_of_calls)
{
    float want[MOST] = { 0 }, got[MOST] = { 0 };
    lz_scope *s = lz_scope_push(c);
    lz_tensor *x = input(c, p.model, which);
    lz_sync(c, &x, 1);
    run(c, p.plain, x, want);
    size_t n = run(c, p.fixed, x, got);
    lz_scope_pop(s);
    if (free_of_calls && n)
        fail_msg("%s, run %d: %zu calls of the allocator", p.model->name, which, n);
    assert_memory_equal(want, got, sizeof want);
}

static lz_ctx *open_counted(int threads)
{
    static const lz_allocator counting = { .resize = count_resize };
    setenv("LAZULI_JIT", "off", 0); /* machine code that is made meanwhile takes memory */
    lz_allocator_set(&counting);
    lz_ctx *c = lz_open(&(lz_options){ .threads = threads });
    assert_non_null(c);
    return c;
}

static void close_counted(lz_ctx *c)
{
    assert_string_equal(lz_message(c), "");
    lz_close(c);
    lz_allocator_set(NULL);
}

/* ---- tests ---- */

static void test_later_runs_call_no_allocator(void **state)
{
    (void)state;
    for (int threads = 1; threads <= 3; threads += 2) {
        lz_ctx *c = open_counted(threads);
        for (size_t m = 0; m < MODELS; m++) {
            pair p = extract(c, &models[m]);
            for (int i = 0; i < RUNS; i++)
                expect_equal(c, p, i, i >= 2);
            free_pair(p);
        }
        close_counted(c);
    }
}

static void test_several_graphs_take_turns(void **state)
{
    pair p[MODELS];
    (void)state;
    lz_ctx *c = open_counted(1);
    for (size_t m = 0; m < MODELS; m++)
        p[m] = extract(c, &models[m]);
    for (int i = 0; i < RUNS; i++)
        for (size_t m = 0; m < MODELS; m++)
            expect_equal(c, p[m], i, i >= 2);
    for (size_t m = 0; m < MODELS; m++)
        free_pair(p[m]);
    close_counted(c);
}

/* Outputs that are held stay as they are, also after the graph is freed; the graph does not need them back.
 */
static void test_held_outputs_stay(void **state)
{
    float want[MOST], got[MOST];
    lz_tensor *y[RUNS];
    (void)state;
    lz_ctx *c = open_counted(1);
    pair p = extract(c, &models[2]);
    for (int i = 0; i < RUNS; i++) {
        lz_tensor *x = input(c, p.model, i);
        assert_true(lz_compiled_run(p.fixed, &x, 1, &y[i], 1));
    }
    lz_compiled_free(p.fixed);
    p.fixed = NULL;
    for (int i = 0; i < RUNS; i++) {
        lz_tensor *x = input(c, p.model, i), *r;
        assert_true(lz_compiled_run(p.plain, &x, 1, &r, 1));
        assert_true(lz_read(r, want, numel(p.model) * sizeof *want));
        assert_true(lz_read(y[i], got, numel(p.model) * sizeof *got));
        assert_memory_equal(want, got, numel(p.model) * sizeof *want);
    }
    free_pair(p);
    close_counted(c);
}

/* A view of an output holds the output; so does a pending tensor that reads it. */
static void test_readers_hold_outputs(void **state)
{
    (void)state;
    lz_ctx *c = open_counted(1);
    const float v[] = { 1, 2, 3, 4 }, w[] = { 5, 6, 7, 8 };
    lz_tensor *x = lz_from_memory(c, LZ_F32, LZ_DIMS(2, 2), v), *y = lz_add_Scalar(c, x, LZ_S(1)), *r;
    lz_compiled *f = lz_extract(c, &x, 1, &y, 1);
    assert_true(lz_compiled_fix(f));
    lz_tensor *u = lz_from_memory(c, LZ_F32, LZ_DIMS(2, 2), w);
    assert_true(lz_compiled_run(f, &x, 1, &r, 1));
    lz_tensor *view = lz_select_int(c, r, 0, 1), *pending;
    assert_true(lz_compiled_run(f, &u, 1, &r, 1));
    pending = lz_mul_Scalar(c, r, LZ_S(2));
    for (int i = 0; i < RUNS; i++) {
        lz_scope *s = lz_scope_push(c);
        assert_true(lz_compiled_run(f, &x, 1, &r, 1));
        lz_scope_pop(s);
    }
    EXPECT(view, 4, 5);
    EXPECT(pending, 12, 14, 16, 18);
    lz_compiled_free(f);
    close_counted(c);
}

/* The output of one run is the input of the next. */
static void test_a_recurrence_calls_no_allocator(void **state)
{
    const float one = 1;
    (void)state;
    lz_ctx *c = open_counted(1);
    lz_tensor *x = lz_from_memory(c, LZ_F32, LZ_DIMS(1), &one), *y = lz_mul_Scalar(c, x, LZ_S(2));
    lz_compiled *f = lz_extract(c, &x, 1, &y, 1);
    assert_true(lz_compiled_fix(f) && lz_compiled_fix(f));
    x = lz_retain(x);
    for (int i = 0; i < 12; i++) {
        lz_scope *s = lz_scope_push(c);
        size_t before = atomic_load(&calls);
        assert_true(lz_compiled_run(f, &x, 1, &y, 1));
        if (i >= 4)
            assert_int_equal(atomic_load(&calls) - before, 0);
        lz_release(x);
        x = lz_retain(y);
        lz_scope_pop(s);
    }
    EXPECT(x, 4096);
    lz_release(x);
    lz_compiled_free(f);
    close_counted(c);
}

static void test_runs_after_errors(void **state)
{
    const float rows[] = { 1, 2, 3, 4, 5, 6 };
    const int64_t good[] = { 2, 0 }, bad[] = { 1, 3 };
    (void)state;
    lz_ctx *c = open_counted(1);
    lz_tensor *w = lz_from_memory(c, LZ_F32, LZ_DIMS(3, 2), rows);
    lz_tensor *x = lz_from_memory(c, LZ_I64, LZ_DIMS(2), good),
              *z = lz_from_memory(c, LZ_I64, LZ_DIMS(2), bad);
    lz_tensor *y[] = { lz_embedding(c, w, x), lz_neg(c, x) }, *r[2];
    lz_compiled *f = lz_extract(c, &x, 1, y, 2);
    assert_true(lz_compiled_fix(f));
    for (int i = 0; i < 3 * RUNS; i++) {
        lz_scope *s = lz_scope_push(c);
        size_t before = atomic_load(&calls);
        bool fails = i == 3 || i == 8, wrong = i == 5;
        assert_true(lz_compiled_run(f, fails ? &z : wrong ? &w : &x, 1, r, 2) == !(fails || wrong));
        if (i == 2 || i == 7 || i > 10)
            assert_int_equal(atomic_load(&calls) - before, 0);
        if (fails)
            assert_non_null(strstr(lz_message(c), "index"));
        if (wrong)
            assert_non_null(strstr(lz_message(c), "input 0 differ"));
        lz_clear(c);
        if (!fails && !wrong)
            EXPECT(r[0], 5, 6, 1, 2);
        lz_scope_pop(s);
    }
    lz_compiled_free(f);
    close_counted(c);
}

static void expect_refusal(lz_ctx *c, lz_compiled *f, const char *why)
{
    assert_non_null(f);
    assert_false(lz_compiled_fix(f));
    assert_non_null(strstr(lz_message(c), why));
    lz_clear(c);
    lz_compiled_free(f);
}

static void test_what_cannot_be_fixed_is_named(void **state)
{
    const float v[] = { 1, 0, 3, 4 };
    (void)state;
    assert_false(lz_compiled_fix(NULL));
    lz_ctx *c = open_counted(1);
    lz_tensor *x = lz_from_memory(c, LZ_F32, LZ_DIMS(4), v), *y = lz_neg(c, x), *r;
    lz_add__Scalar(c, x, 1);
    lz_compiled *f = lz_extract(c, &x, 1, &y, 1);
    assert_false(lz_compiled_fix(f));
    assert_string_equal(lz_message(c),
                        "the memory of the graph cannot be fixed: the graph writes to input 0");
    lz_clear(c);
    x = lz_from_memory(c, LZ_F32, LZ_DIMS(4), v); /* it runs as before */
    assert_true(lz_compiled_run(f, &x, 1, &r, 1));
    EXPECT(r, -1, 0, -3, -4);
    EXPECT(x, 2, 1, 4, 5);
    lz_compiled_free(f);
    close_counted(c);
    static fake_backend other;
    int16_t type;
    fake_backend_init(&other, "fake_fixed", 1);
    assert_null(lz_backend_register(&other.table, &type));
    c = lz_open(&(lz_options){ .device = "fake_fixed" });
    x = lz_from_memory(c, LZ_F32, LZ_DIMS(4), v);
    y = lz_neg(c, x);
    expect_refusal(c, lz_extract(c, &x, 1, &y, 1), "cannot be fixed: backend fake_fixed decides");
    lz_close(c);
}

static lz_err *test_without_memory(void)
{
    lz_ctx *c = lz_open(NULL);
    if (!c)
        return lz_err_oom();
    pair p = extract(c, &models[0]);
    for (int i = 0; i < 3 && p.fixed && !lz_failed(c); i++) {
        lz_tensor *x = input(c, p.model, i), *y;
        if (lz_compiled_run(p.fixed, &x, 1, &y, 1))
            assert_int_equal(lz_tensor_numel(y), 80);
    }
    free_pair(p);
    return finish(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_later_runs_call_no_allocator),
                                        cmocka_unit_test(test_several_graphs_take_turns),
                                        cmocka_unit_test(test_held_outputs_stay),
                                        cmocka_unit_test(test_readers_hold_outputs),
                                        cmocka_unit_test(test_a_recurrence_calls_no_allocator),
                                        cmocka_unit_test(test_runs_after_errors),
                                        cmocka_unit_test(test_what_cannot_be_fixed_is_named),
                                        LZ_TEST(test_without_memory) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
