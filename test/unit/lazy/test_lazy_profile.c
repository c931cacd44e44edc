#include "base/profiler.h"
#include "jit/codes.h"
#include "open_ctx.h"
#include <pthread.h>
#include <stdio.h>
#include <string.h>

/* Profiles of programs: what was run is known, so calls, bytes and lines are. */

enum { N = 1000 };
static float data[N];
static int add_line, mul_line, other_line; /* of the operators below */

static lz_tensor *some(lz_ctx *c)
{
    return lz_from_memory(c, LZ_F32, LZ_DIMS(N), data);
}

/* One kernel: what is between the two operators is released before it is computed. */
static void compute(lz_ctx *c, lz_tensor *x, lz_tensor *y)
{
    lz_scope *s = lz_scope_push(c), *inner = lz_scope_push(c);
    add_line = __LINE__ + 1;
    lz_tensor *z = lz_add_Tensor(c, x, y);
    mul_line = __LINE__ + 1;
    lz_tensor *kept = lz_retain(lz_mul_Tensor(c, z, y));
    lz_scope_pop(inner);
    lz_mark_step(c);
    lz_release(kept);
    lz_scope_pop(s);
}

static const lz_profile_row *find_row(const lz_profile *p, lz_profile_by by, const char *name)
{
    const lz_profile_row *rows;
    size_t n = lz_profile_rows(p, by, &rows);
    for (size_t i = 0; i < n; i++)
        if (strncmp(rows[i].name, name, strlen(name)) == 0)
            return &rows[i];
    return NULL;
}

static const lz_profile_row *row_of(const lz_profile *p, lz_profile_by by, const char *name)
{
    const lz_profile_row *row = find_row(p, by, name);
    char *text;
    if (!row && !lz_profile_text(p, 0, &text))
        fail_msg("there is no row '%s' in\n%s", name, text);
    return row;
}

static const lz_profile_row *row_of_line(const lz_profile *p, int line, const char *suffix)
{
    char name[4096];
    snprintf(name, sizeof name, "%s:%d%s", __FILE__, line, suffix);
    return row_of(p, LZ_PROFILE_LINES, name);
}

static void check_sums(const lz_profile *p)
{
    for (int by = LZ_PROFILE_OPERATORS; by < LZ_PROFILE_TABLES; by++) {
        const lz_profile_row *rows;
        uint64_t sum = 0;
        size_t n = lz_profile_rows(p, (lz_profile_by)by, &rows);
        for (size_t i = 0; i < n; i++) {
            sum += rows[i].self_ns;
            assert_true(rows[i].self_ns <= rows[i].total_ns);
        }
        assert_int_equal(sum, lz_profile_summary_of(p).launch_ns);
    }
}

static bool has_compiler(void)
{
    char about[256];
    lz_kernel_compiler(about, sizeof about);
    return strstr(about, "LLVM") && !strstr(about, "cannot") && lz_jit_mode_text(LZ_JIT_NOW);
}

static lz_profile *end_profile(void)
{
    lz_profile *p = NULL;
    lz_err *e = lz_profile_end(&p);
    assert_string_equal(lz_err_text(e), "");
    return p;
}

/* ---- calls, bytes, lines ---- */

static void check_compute(const lz_profile *p, uint64_t times)
{
    const lz_profile_row *kernel = row_of(p, LZ_PROFILE_KERNELS, "add+mul #");
    const lz_profile_row *add = row_of(p, LZ_PROFILE_OPERATORS, "aten::add");
    const lz_profile_row *mul = row_of(p, LZ_PROFILE_OPERATORS, "aten::mul");
    assert_int_equal(kernel->calls, times);
    assert_int_equal(kernel->read, times * 2 * N * sizeof(float));
    assert_int_equal(kernel->written, times * N * sizeof(float));
    assert_int_equal(add->calls, times);
    assert_int_equal(mul->calls, times);
    assert_int_equal(add->total_ns, kernel->total_ns);
    assert_int_equal(add->read + mul->read, kernel->read);
    assert_int_equal(row_of_line(p, add_line, "")->calls, times);
    assert_int_equal(row_of_line(p, mul_line, "")->calls, times);
    assert_string_equal(row_of_line(p, mul_line, "")->detail, "aten::mul");
    assert_int_equal(row_of(p, LZ_PROFILE_PHASES, "run graph")->calls, times);
    assert_int_equal(row_of(p, LZ_PROFILE_PHASES, "sync")->calls, times);
    check_sums(p);
}

static void test_known_graph(void **state)
{
    (void)state;
    for (int mode = LZ_JIT_OFF; mode <= LZ_JIT_NOW; mode += LZ_JIT_NOW - LZ_JIT_OFF) {
        lz_jit_mode_set((lz_jit_mode)mode);
        lz_ctx *c = open_ctx(NULL);
        lz_tensor *x = some(c), *y = some(c);
        assert_null(lz_profile_begin(NULL));
        for (int i = 0; i < 3; i++)
            compute(c, x, y);
        lz_profile *p = end_profile();
        check_compute(p, 3);
        const lz_profile_row *kernel = row_of(p, LZ_PROFILE_KERNELS, "add+mul #");
        bool compiles = mode == LZ_JIT_NOW && has_compiler();
        assert_int_equal(kernel->compiled, compiles ? 3 : 0);
        assert_string_equal(kernel->detail, compiles ? "compiled" : "interpreted");
        assert_true(lz_profile_summary_of(p).peak_bytes >= N * sizeof(float));
        lz_profile_free(p);
        close_ctx(c);
    }
    lz_jit_mode_set(LZ_JIT_MODES);
}

/* The graph that one line had compiled serves another line, which is the one that is named. */
static void test_lines_are_those_of_the_run(void **state)
{
    (void)state;
    lz_ctx *c = open_ctx(NULL);
    lz_tensor *x = some(c), *y = some(c);
    compute(c, x, y);
    assert_null(lz_profile_begin(NULL));
    lz_scope *s = lz_scope_push(c), *inner = lz_scope_push(c);
    other_line = __LINE__ + 1;
    lz_tensor *kept = lz_retain(lz_mul_Tensor(c, lz_add_Tensor(c, x, y), y));
    lz_scope_pop(inner);
    lz_mark_step(c);
    lz_release(kept);
    lz_scope_pop(s);
    compute(c, x, y);
    lz_profile *p = end_profile();
    assert_null(find_row(p, LZ_PROFILE_PHASES, "compile graph"));
    assert_int_equal(row_of_line(p, other_line, "")->calls, 2);
    assert_string_equal(row_of_line(p, other_line, "")->detail, "aten::add, aten::mul");
    assert_int_equal(row_of_line(p, add_line, "")->calls, 1);
    assert_int_equal(row_of(p, LZ_PROFILE_KERNELS, "add+mul #")->calls, 2);
    lz_profile_free(p);
    close_ctx(c);
}

static void test_backward_names_the_forward_line(void **state)
{
    (void)state;
    lz_ctx *c = open_ctx(NULL);
    lz_tensor *w = some(c), *x = some(c);
    lz_set_requires_grad(w, true);
    assert_null(lz_profile_begin(NULL));
    int line = __LINE__ + 1;
    lz_tensor *y = lz_mul_Tensor(c, lz_exp(c, w), x);
    lz_backward(c, lz_sum(c, y));
    lz_mark_step(c);
    lz_profile *p = end_profile();
    assert_non_null(row_of_line(p, line, ""));
    const lz_profile_row *back = row_of_line(p, line, " backward");
    assert_non_null(strstr(back->detail, "aten::mul"));
    check_sums(p);
    lz_profile_free(p);
    close_ctx(c);
}

/* ---- products ---- */

static void test_products(void **state)
{
    (void)state;
    lz_ctx *c = open_ctx(NULL);
    lz_tensor *a = lz_from_memory(c, LZ_F32, LZ_DIMS(8, 16), data),
              *b = lz_from_memory(c, LZ_F32, LZ_DIMS(16, 4), data);
    assert_null(lz_profile_begin(NULL));
    lz_tensor *y = lz_mm(c, a, b);
    lz_mark_step(c);
    lz_profile *p = end_profile();
    const lz_profile_row *k = row_of(p, LZ_PROFILE_KERNELS, "matmul [1, 8, 16] [1, 16, 4]");
    assert_true(k->flops == 2.0 * 8 * 16 * 4);
    assert_int_equal(k->read, (8 * 16 + 16 * 4) * sizeof(float));
    assert_int_equal(k->written, 8 * 4 * sizeof(float));
    assert_true(row_of(p, LZ_PROFILE_OPERATORS, "aten::mm")->flops == k->flops);
    check_sums(p);
    lz_profile_free(p);
    assert_true(lz_tensor_is_held(y));
    close_ctx(c);
}

/* A product and what goes over its rows: two kernels whose times add up. */
static void test_epilogue(void **state)
{
    enum { M = 64 };
    static float large[M * M];
    (void)state;
    lz_ctx *c = open_ctx(NULL);
    lz_tensor *a = lz_from_memory(c, LZ_F32, LZ_DIMS(M, M), large);
    assert_null(lz_profile_begin(NULL));
    lz_scope *s = lz_scope_push(c);
    lz_tensor *y = lz_retain(lz_relu(c, lz_mm(c, a, a)));
    lz_scope_pop(s);
    lz_mark_step(c);
    lz_profile *p = end_profile();
    assert_int_equal(row_of(p, LZ_PROFILE_OPERATORS, "aten::mm")->calls, 1);
    assert_int_equal(row_of(p, LZ_PROFILE_OPERATORS, "aten::relu")->calls, 1);
    assert_int_equal(row_of(p, LZ_PROFILE_KERNELS, "relu #")->read, M * M * sizeof(float));
    assert_int_equal(lz_profile_summary_of(p).launches, 2);
    check_sums(p);
    lz_profile_free(p);
    lz_release(y);
    close_ctx(c);
}

static void test_convolution(void **state)
{
    (void)state;
    lz_ctx *c = open_ctx(NULL);
    lz_tensor *x = lz_from_memory(c, LZ_F32, LZ_DIMS(1, 2, 6, 6), data);
    lz_tensor *w = lz_from_memory(c, LZ_F32, LZ_DIMS(3, 2, 3, 3), data);
    assert_null(lz_profile_begin(NULL));
    lz_tensor *y = lz_conv2d(c, x, w);
    lz_mark_step(c);
    lz_profile *p = end_profile();
    const lz_profile_row *k = row_of(p, LZ_PROFILE_KERNELS, "conv ");
    assert_true(k->flops == 2.0 * (3 * 4 * 4) * (2 * 3 * 3));
    assert_string_equal(k->detail, "own");
    lz_profile_free(p);
    assert_true(lz_tensor_is_held(y));
    close_ctx(c);
}

/* ---- copies, failures ---- */

static void test_uploads_and_downloads(void **state)
{
    static float out[N];
    (void)state;
    lz_ctx *c = open_ctx(NULL);
    assert_null(lz_profile_begin(NULL));
    lz_tensor *x = some(c);
    assert_true(lz_read(x, out, sizeof out));
    lz_profile *p = end_profile();
    assert_int_equal(row_of(p, LZ_PROFILE_PHASES, "upload")->written, sizeof data);
    assert_int_equal(row_of(p, LZ_PROFILE_PHASES, "download")->read, sizeof out);
    lz_profile_free(p);
    close_ctx(c);
}

static void test_failing_run(void **state)
{
    static const int64_t bad[] = { N };
    (void)state;
    lz_ctx *c = open_ctx(NULL);
    lz_tensor *x = some(c), *i = lz_from_memory(c, LZ_I64, LZ_DIMS(1), bad);
    assert_null(lz_profile_begin(NULL));
    lz_tensor *y = lz_neg(c, x), *z = lz_index_select(c, x, 0, i);
    assert_false(lz_mark_step(c));
    lz_profile *p = end_profile();
    assert_true(lz_tensor_is_held(y) && z);
    assert_true(row_of(p, LZ_PROFILE_OPERATORS, "aten::neg")->calls >= 1);
    assert_true(row_of(p, LZ_PROFILE_PHASES, "run graph")->calls >= 2); /* once more without what failed */
    check_sums(p);
    lz_profile_free(p);
    lz_clear(c);
    close_ctx(c);
}

/* ---- threads ---- */

static void test_asynchronous_runs(void **state)
{
    (void)state;
    lz_ctx *c = open_ctx(&(lz_options){ .async = true });
    lz_tensor *x = some(c), *y = some(c);
    assert_null(lz_profile_begin(NULL));
    for (int i = 0; i < 3; i++)
        compute(c, x, y);
    lz_wait(c);
    lz_profile *p = end_profile();
    check_compute(p, 3);
    assert_true(lz_profile_summary_of(p).threads >= 2);
    lz_profile_free(p);
    close_ctx(c);
}

enum { THREADS = 4, STEPS = 25 };

static void *work(void *user)
{
    lz_ctx *c = lz_open(&(lz_options){ .async = user != NULL });
    lz_tensor *x = some(c), *y = some(c);
    for (int i = 0; i < STEPS; i++) {
        lz_scope *s = lz_scope_push(c);
        lz_tensor *z = lz_neg(c, lz_add_Tensor(c, x, y));
        (void)z;
        lz_mark_step(c);
        lz_scope_pop(s);
    }
    lz_wait(c);
    bool ok = !lz_failed(c);
    lz_close(c);
    return ok ? NULL : work;
}

/* Contexts record, compile and run on many threads while profiles begin and end. */
static void test_many_contexts(void **state)
{
    pthread_t threads[THREADS];
    (void)state;
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, work, i % 2 ? data : NULL), 0);
    for (int i = 0; i < 20; i++) {
        assert_null(lz_profile_begin(NULL));
        lz_profile *p = end_profile();
        check_sums(p);
        lz_profile_free(p);
    }
    assert_null(lz_profile_begin(NULL));
    for (int i = 0; i < THREADS; i++) {
        void *failed;
        pthread_join(threads[i], &failed);
        assert_null(failed);
    }
    lz_profile *p = end_profile();
    check_sums(p);
    lz_profile_free(p);
}

/* ---- memory ---- */

/* A profile without memory is an error, and not a table that lacks something; the program goes on. */
static lz_err *profile_context(lz_ctx *c)
{
    lz_profile *p;
    lz_tensor *x = some(c), *y = some(c);
    LZ_TRY(lz_profile_begin(NULL));
    compute(c, x, y);
    LZ_TRY(lz_profile_end(&p));
    check_sums(p);
    if (!lz_check_failing()) /* what fails is run once more in parts */
        check_compute(p, 1);
    lz_profile_free(p);
    return lz_failed(c) ? lz_errf(lz_code_of(c), "%s", lz_message(c)) : NULL;
}

static lz_err *test_memory_runs_out(void)
{
    lz_jit_mode_set(LZ_JIT_OFF);
    lz_ctx *c = lz_open(&(lz_options){ .threads = 1 });
    if (!c)
        return lz_err_oom();
    lz_err *e = lz_failed(c) ? lz_errf(lz_code_of(c), "%s", lz_message(c)) : profile_context(c);
    lz_close(c);
    lz_jit_mode_set(LZ_JIT_MODES);
    return e;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known_graph),
        cmocka_unit_test(test_lines_are_those_of_the_run),
        cmocka_unit_test(test_backward_names_the_forward_line),
        cmocka_unit_test(test_products),
        cmocka_unit_test(test_epilogue),
        cmocka_unit_test(test_convolution),
        cmocka_unit_test(test_uploads_and_downloads),
        cmocka_unit_test(test_failing_run),
        cmocka_unit_test(test_asynchronous_runs),
        cmocka_unit_test(test_many_contexts),
        LZ_TEST(test_memory_runs_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
