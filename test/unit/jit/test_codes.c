/* Which code runs when: modes, sharing, swapping, forks, with code that is ready-made. */
#include "check.h"
#include "jit/codes.h"
#include "jit/program.h"
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- code that leaves a mark ---- */

static atomic_int asked, made, runs;
static atomic_int answer; /* what the source says: an lz_code */
static atomic_bool on_disk;
static atomic_int scratch; /* bytes that the code says it needs */

enum { MARK = 7 };

/* y[i] = x[i] + c is what the kernel does; this adds MARK more, so that the two differ. */
static int run_marked(lz_native_frame *f)
{
    atomic_fetch_add(&runs, 1);
    const float *x = (const float *)(const void *)f->access[0].base;
    float *y = (float *)(void *)f->access[1].base;
    for (int64_t i = 0; i < f->n_row; i++)
        y[i] = x[i] + 1 + MARK;
    return LZ_CODE_FINE;
}

static lz_err *source(const lz_kernel *k, const lz_native_variant *v, bool make, lz_native_loaded *out,
                      bool *was_made)
{
    assert_true(k->ir.nodes.len > 0 && v->run[0] == LZ_RUN_NEXT);
    atomic_fetch_add(&asked, 1);
    int code = atomic_load(&answer);
    if (code)
        return lz_errf((lz_code)code, "said so");
    if (!make && !atomic_load(&on_disk))
        return NULL;
    atomic_fetch_add(&made, make);
    *was_made = make && !atomic_load(&on_disk);
    *out = (lz_native_loaded){ .run = run_marked, .needs = { .scratch = atomic_load(&scratch) } };
    return NULL;
}

static void begin(lz_jit_mode mode)
{
    atomic_store(&asked, 0);
    atomic_store(&made, 0);
    atomic_store(&runs, 0);
    atomic_store(&answer, LZ_OK);
    atomic_store(&on_disk, false);
    atomic_store(&scratch, 0);
    lz_native_codes_source_set(source);
    lz_jit_mode_set(mode);
}

static lz_err *end(lz_err *e)
{
    lz_native_codes_source_set(NULL);
    lz_jit_mode_set(LZ_JIT_OFF);
    return e;
}

static lz_err *add_kernel(double c, lz_kernel **out)
{
    lz_kernel_builder *b;
    LZ_TRY(lz_kernel_builder_create(LZ_KERNEL_ROWS, 0, 1, &b));
    lz_kernel_value x = lz_kernel_build_load(b, lz_kernel_build_access(b, LZ_F32, LZ_KERNEL_ELEMENT));
    lz_kernel_value y =
        lz_kernel_build_op2(b, LZ_KERNEL_ADD, x, lz_kernel_build_const_f(b, LZ_KERNEL_F32, c));
    lz_kernel_build_store(b, lz_kernel_build_access(b, LZ_F32, LZ_KERNEL_ELEMENT), y);
    return lz_kernel_builder_finish(b, out);
}

enum { N = 5000 };

/* Runs it on zeros: 1 for the interpreter, 1 + MARK for the code; -1 for anything else. */
static lz_err *run(const lz_kernel *k, int64_t n, int *out)
{
    static const float zeros[N];
    static _Thread_local float y[N];
    const int64_t one[] = { 1 };
    const lz_kernel_access access[] = { { (void *)zeros, 0, one }, { y, 0, one } };
    lz_kernel_args args = { .extents = &n, .access = access };
    memset(y, 0, sizeof y);
    LZ_TRY(lz_kernel_run(k, &args, NULL));
    *out = (int)y[0];
    for (int64_t i = 0; i < n; i++)
        *out = (int)y[i] == *out ? *out : -1;
    return NULL;
}

static lz_err *expect(const lz_kernel *k, int64_t n, int value)
{
    int got = -1;
    LZ_TRY(run(k, n, &got));
    if (lz_check_failing() && got != value && got > 0 && got < MARK) /* memory is out: interpreted */
        return lz_err_oom();
    assert_int_equal(got, value);
    return NULL;
}

/* Whatever allocation fails, a kernel runs. */
static lz_err *test_no_memory(void)
{
    lz_kernel *k = NULL;
    int got = -1;
    LZ_TRY(add_kernel(1, &k));
    begin(LZ_JIT_NOW);
    atomic_store(&scratch, 1 << 20);
    lz_err *e = run(k, N, &got);
    assert_null(e);
    assert_true(got == 1 + MARK || (lz_check_failing() && got == 1));
    lz_kernel_release(k);
    return end(e);
}

/* ---- modes ---- */

static lz_err *test_off(void)
{
    lz_kernel *k = NULL;
    LZ_TRY(add_kernel(1, &k));
    begin(LZ_JIT_OFF);
    lz_err *e = expect(k, N, 1);
    assert_int_equal(asked, 0);
    lz_kernel_release(k);
    return end(e);
}

static lz_err *test_now(void)
{
    lz_kernel *k = NULL;
    LZ_TRY(add_kernel(1, &k));
    begin(LZ_JIT_NOW);
    lz_err *e = expect(k, 3, 1 + MARK);
    e = e ? e : expect(k, N, 1 + MARK);
    assert_true(e || (asked == 1 && made == 1 && runs == 2));
    lz_kernel_release(k);
    return end(e);
}

/* What kernels have the same code: equal ones, also after the first is gone. */
static lz_err *share(lz_kernel *k)
{
    lz_kernel *same = NULL, *other = NULL;
    LZ_TRY(expect(k, N, 1 + MARK));
    lz_err *e = add_kernel(1, &same);
    LZ_TRY(e);
    e = expect(same, N, 1 + MARK);
    lz_kernel_release(same);
    assert_true(e || made == 1);
    LZ_TRY(e);
    LZ_TRY(add_kernel(2, &other));
    e = expect(other, N, 1 + MARK);
    lz_kernel_release(other);
    assert_true(e || made == 2);
    return e;
}

static lz_err *test_equal_kernels_share(void)
{
    lz_kernel *k = NULL;
    lz_native_codes_counts before, now;
    begin(LZ_JIT_NOW);
    lz_native_codes_count(&before);
    LZ_TRY(lz_native_codes_open(NULL));
    lz_err *e = add_kernel(1, &k);
    if (!e) {
        e = share(k);
        lz_kernel_release(k);
    }
    e = e ? e : add_kernel(1, &k);
    if (!e) {
        e = expect(k, N, 1 + MARK);
        assert_true(e || made == 2);
        lz_kernel_release(k);
    }
    lz_native_codes_count(&now);
    assert_true(e || now.compiles - before.compiles == 2);
    assert_true(e || now.entries == 2);
    lz_native_codes_close(NULL);
    lz_native_codes_count(&now);
    assert_int_equal(now.entries, 0);
    return end(e);
}

static lz_err *test_refused_once(void)
{
    lz_kernel *k = NULL;
    lz_metrics *m = NULL;
    int64_t refused = -1;
    begin(LZ_JIT_NOW);
    LZ_TRY(lz_metrics_create(0, &m));
    lz_err *e = lz_native_codes_open(m);
    if (e) {
        lz_metrics_destroy(m);
        return end(e);
    }
    e = add_kernel(1, &k);
    if (!e) {
        atomic_store(&answer, LZ_ERR_UNSUPPORTED);
        for (int i = 0; !e && i < 3; i++)
            e = expect(k, N, 1);
        /* without memory the source says so, and is asked again */
        assert_true(e || lz_check_failing() || asked == 1);
        assert_true(lz_metrics_value(m, LZ_STR("KernelRefused"), &refused));
        assert_true(e || lz_check_failing() || refused == 1);
        lz_kernel_release(k);
    }
    lz_native_codes_close(m);
    lz_metrics_destroy(m);
    return end(e);
}

static lz_err *expect_fault(const lz_kernel *k)
{
    int got;
    lz_err *e = run(k, N, &got);
    if (!e && lz_check_failing()) /* memory is out: interpreted */
        return lz_err_oom();
    return lz_check_err(e, LZ_ERR_INTERNAL, "said so");
}

/* A broken invariant of the compiler reaches each run; the interpreter would hide it. */
static lz_err *test_fault_is_reported(void)
{
    lz_kernel *k = NULL;
    LZ_TRY(add_kernel(1, &k));
    begin(LZ_JIT_NOW);
    atomic_store(&answer, LZ_ERR_INTERNAL);
    lz_err *e = expect_fault(k);
    e = e ? e : expect_fault(k);
    assert_true(e || lz_check_failing() || asked == 1);
    lz_kernel_release(k);
    return end(e);
}

static lz_err *test_no_compiler_is_known_once(void)
{
    lz_kernel *k = NULL, *other = NULL;
    begin(LZ_JIT_NOW);
    atomic_store(&answer, LZ_ERR_NOT_FOUND);
    LZ_TRY(add_kernel(1, &k));
    lz_err *e = add_kernel(2, &other);
    if (!e) {
        e = expect(k, N, 1);
        e = e ? e : expect(other, N, 2);
        assert_true(e || lz_check_failing() || asked == 1);
        lz_kernel_release(other);
    }
    lz_kernel_release(k);
    return end(e);
}

static lz_err *test_bad_mode(void)
{
    lz_kernel *k = NULL;
    int got = -1;
    LZ_TRY(add_kernel(1, &k));
    lz_jit_mode_set(LZ_JIT_MODES);
    setenv("LAZULI_JIT", "sometimes", 1);
    lz_err *e =
        lz_check_err(run(k, N, &got), LZ_ERR_ARG, "LAZULI_JIT=sometimes: not one of off, background, now");
    unsetenv("LAZULI_JIT");
    lz_kernel_release(k);
    return end(e);
}

/* ---- the thread; what it allocates cannot be counted on, so nothing is made to fail ---- */

static void must(lz_err *e)
{
    if (e)
        fail_msg("%s", lz_err_text(e));
}

static void test_hot_kernels_are_swapped(void **state)
{
    lz_kernel *k = NULL;
    lz_metrics *m;
    int64_t value;
    (void)state;
    begin(LZ_JIT_BACKGROUND);
    must(lz_metrics_create(0, &m));
    must(lz_native_codes_open(m));
    must(add_kernel(1, &k));
    must(expect(k, 100, 1)); /* tiny: nobody looks */
    lz_native_codes_wait();
    assert_int_equal(asked, 0);
    must(expect(k, N, 1)); /* looked for on the disk, once */
    lz_native_codes_wait();
    must(expect(k, N, 1));
    lz_native_codes_wait();
    assert_int_equal(asked, 1);
    for (int i = 0; i < 3000000 / N; i++) {
        int got = -1;
        must(run(k, N, &got));
        assert_true(got == 1 || got == 1 + MARK);
    }
    lz_native_codes_wait();
    must(expect(k, N, 1 + MARK));
    assert_int_equal(made, 1);
    assert_true(lz_metrics_value(m, LZ_STR("KernelSwap"), &value) && value == 1);
    assert_true(lz_metrics_value(m, LZ_STR("KernelDiskHit"), &value) && value == 0);
    lz_kernel_release(k);
    lz_native_codes_close(m);
    lz_metrics_destroy(m);
    must(end(NULL));
}

/* ---- the thread holds what it compiles ---- */

static lz_kernel *compiled;
static atomic_bool under_way, released;

/* Makes the same kernel again, as expanding it may, and is the last that has it. */
static lz_err *slow_source(const lz_kernel *k, const lz_native_variant *v, bool make, lz_native_loaded *out,
                           bool *was_made)
{
    lz_kernel *mine = lz_kernel_retain(compiled);
    atomic_store(&under_way, true);
    while (!atomic_load(&released))
        sched_yield();
    for (int i = 0; i < 20; i++)
        sched_yield();
    lz_err *e = source(k, v, make, out, was_made);
    lz_kernel_release(mine);
    return e;
}

static void test_closing_ends_the_thread(void **state)
{
    lz_native_codes_counts counts;
    (void)state;
    begin(LZ_JIT_BACKGROUND);
    lz_native_codes_source_set(slow_source);
    atomic_store(&under_way, false);
    atomic_store(&released, false);
    must(lz_native_codes_open(NULL));
    must(add_kernel(1, &compiled));
    must(expect(compiled, N, 1)); /* looked for on the disk */
    while (!atomic_load(&under_way))
        sched_yield();
    lz_kernel_release(compiled);
    atomic_store(&released, true);
    lz_native_codes_close(NULL);
    lz_native_codes_count(&counts);
    assert_int_equal(counts.entries, 0); /* nobody holds anything, and nobody is at work */
    must(end(NULL));
}

static void test_nothing_is_compiled_in_a_pause(void **state)
{
    lz_kernel *k = NULL;
    (void)state;
    begin(LZ_JIT_BACKGROUND);
    must(add_kernel(1, &k));
    lz_native_codes_pause();
    for (int i = 0; i <= 3000000 / N; i++)
        must(expect(k, N, 1));
    assert_int_equal(made, 0);
    lz_native_codes_resume();
    lz_native_codes_wait();
    must(expect(k, N, 1 + MARK));
    assert_int_equal(made, 1);
    lz_kernel_release(k);
    must(end(NULL));
}

static void test_what_is_on_the_disk_comes_soon(void **state)
{
    lz_kernel *k = NULL;
    lz_native_codes_counts before, now;
    (void)state;
    begin(LZ_JIT_BACKGROUND);
    atomic_store(&on_disk, true);
    lz_native_codes_count(&before);
    must(add_kernel(1, &k));
    must(expect(k, N, 1));
    lz_native_codes_wait();
    must(expect(k, N, 1 + MARK));
    lz_native_codes_count(&now);
    assert_int_equal(now.disk_hits - before.disk_hits, 1);
    assert_int_equal(now.compiles - before.compiles, 0);
    lz_kernel_release(k);
    must(end(NULL));
}

/* What nobody uses is kept, up to a bound; what was used last stays. */
static void test_there_is_a_bound(void **state)
{
    enum { MANY = 4300, BOUND = 4096 };
    lz_kernel *k = NULL;
    lz_native_codes_counts c;
    (void)state;
    begin(LZ_JIT_NOW);
    must(lz_native_codes_open(NULL));
    for (int i = 0; i < MANY; i++) {
        must(add_kernel(i, &k));
        must(expect(k, 8, 1 + MARK));
        lz_kernel_release(k);
    }
    lz_native_codes_count(&c);
    assert_int_equal(c.entries, BOUND);
    assert_int_equal(made, MANY);
    must(add_kernel(MANY - 1, &k)); /* still there */
    must(expect(k, 8, 1 + MARK));
    lz_kernel_release(k);
    assert_int_equal(made, MANY);
    must(add_kernel(0, &k)); /* the oldest is not */
    must(expect(k, 8, 1 + MARK));
    lz_kernel_release(k);
    assert_int_equal(made, MANY + 1);
    lz_native_codes_close(NULL);
    lz_native_codes_count(&c);
    assert_int_equal(c.entries, 0);
    must(end(NULL));
}

/* Several threads run what is swapped under them. */
static void *run_often(void *arg)
{
    bool swapped = false;
    for (int i = 0; i < 20000 && !(swapped && i % 100 == 0); i++) {
        int got = -1;
        must(run(arg, N, &got));
        if (got != 1 && got != 1 + MARK)
            return "mixed";
        if (swapped && got == 1)
            return "went back";
        swapped = swapped || got == 1 + MARK;
        if (i > 700)
            sched_yield();
    }
    return swapped ? NULL : "never swapped";
}

static void test_swap_under_threads(void **state)
{
    enum { THREADS = 4 };
    pthread_t threads[THREADS];
    lz_kernel *k = NULL;
    (void)state;
    begin(LZ_JIT_BACKGROUND);
    must(add_kernel(1, &k));
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, run_often, k), 0);
    for (int i = 0; i < THREADS; i++) {
        void *wrong;
        pthread_join(threads[i], &wrong);
        if (wrong)
            fail_msg("%s", (const char *)wrong);
    }
    assert_int_equal(made, 1);
    lz_kernel_release(k);
    must(end(NULL));
}

/* Kernels come and go while others run. */
static void *make_and_run(void *arg)
{
    for (int i = 0; i < 200; i++) {
        lz_kernel *k = NULL;
        int got = -1;
        if (lz_err_code(add_kernel(i % 5, &k)) != LZ_OK || lz_err_code(run(k, N, &got)) != LZ_OK)
            return "failed";
        lz_kernel_release(k);
    }
    return arg;
}

static void test_kernels_come_and_go(void **state)
{
    pthread_t threads[3];
    (void)state;
    begin(LZ_JIT_BACKGROUND);
    atomic_store(&on_disk, true);
    for (int i = 0; i < 3; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, make_and_run, NULL), 0);
    for (int i = 0; i < 3; i++) {
        void *wrong;
        pthread_join(threads[i], &wrong);
        assert_null(wrong);
    }
    lz_native_codes_counts c;
    lz_native_codes_count(&c);
    assert_int_equal(c.entries, 0);
    must(end(NULL));
}

#ifndef __SANITIZE_THREAD__ /* which does not follow threads into a child */
static int child(const lz_kernel *k)
{
    int got = 0;
    lz_err *e = run(k, N, &got);
    lz_native_codes_wait();
    e = e ? e : run(k, N, &got);
    return !e && got == 1 + MARK ? 0 : 1;
}

static void test_fork(void **state)
{
    lz_kernel *k = NULL, *other = NULL;
    int status;
    (void)state;
    begin(LZ_JIT_BACKGROUND);
    atomic_store(&on_disk, true);
    must(add_kernel(1, &k));
    must(add_kernel(2, &other));
    must(expect(other, N, 1 + 1)); /* starts the thread */
    lz_native_codes_wait();
    pid_t pid = fork();
    if (pid == 0)
        _exit(child(k));
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    lz_kernel_release(k);
    lz_kernel_release(other);
    must(end(NULL));
}
#else
static void test_fork(void **state)
{
    (void)state;
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        LZ_TEST(test_no_memory),
        LZ_TEST(test_off),
        LZ_TEST(test_now),
        LZ_TEST(test_equal_kernels_share),
        LZ_TEST(test_refused_once),
        LZ_TEST(test_fault_is_reported),
        LZ_TEST(test_no_compiler_is_known_once),
        LZ_TEST(test_bad_mode),
        cmocka_unit_test(test_hot_kernels_are_swapped),
        cmocka_unit_test(test_closing_ends_the_thread),
        cmocka_unit_test(test_nothing_is_compiled_in_a_pause),
        cmocka_unit_test(test_what_is_on_the_disk_comes_soon),
        cmocka_unit_test(test_there_is_a_bound),
        cmocka_unit_test(test_swap_under_threads),
        cmocka_unit_test(test_kernels_come_and_go),
        cmocka_unit_test(test_fork),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
