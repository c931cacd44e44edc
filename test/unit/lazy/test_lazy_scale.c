#include "base/poison.h"
#include "calls.h"
#include "check.h"
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* Long chains, long loops, many results. */

#if defined(__SANITIZE_THREAD__) || defined(LZ_ASAN)
enum { LONG = 100000, LOOPS = 20000 };
#else
enum { LONG = 1000000, LOOPS = 100000 };
#endif

static void check_ctx(const lz_ctx *c)
{
    if (lz_failed(c))
        fail_msg("%s", lz_message(c));
}

/* What a thread with a small stack does; asserts stay outside of it. */
typedef struct long_chain {
    bool ok;
    float got;
    int64_t steps, graphs;
} long_chain;

static void *run_chain(void *user)
{
    long_chain *r = user;
    const float one = 1;
    lz_ctx *c = lz_open(NULL);
    if (!c)
        return NULL;
    lz_tensor *x = lz_from_memory(c, LZ_F32, LZ_DIMS(1), &one), *z = lz_retain(x);
    for (int i = 0; i < LONG; i++) {
        lz_scope *s = lz_scope_push(c);
        lz_tensor *next = lz_retain(i % 2 ? CALL(c, neg, T(z)) : CALL(c, add_Tensor, T(z), T(x)));
        lz_scope_pop(s);
        lz_release(z);
        z = next;
    }
    int64_t before = counted("UncachedCompile") + counted("CachedCompile"), trims = counted("TrimIrGraph");
    r->ok = lz_mark_step(c) && lz_read(z, &r->got, sizeof r->got) && !lz_failed(c);
    r->graphs = counted("UncachedCompile") + counted("CachedCompile") - before;
    r->steps = counted("TrimIrGraph") - trims;
    if (!r->ok)
        fprintf(stderr, "%s\n", lz_message(c));
    lz_release(z);
    lz_close(c);
    return NULL;
}

static void test_long_chain_is_one_graph_on_a_small_stack(void **state)
{
    long_chain r = { 0 };
    pthread_t thread;
    pthread_attr_t attr;
    (void)state;
    assert_int_equal(pthread_attr_init(&attr), 0);
    assert_int_equal(pthread_attr_setstacksize(&attr, LZ_SMALL_STACK), 0);
    assert_int_equal(pthread_create(&thread, &attr, run_chain, &r), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    pthread_attr_destroy(&attr);
    assert_true(r.ok);
    assert_int_equal(r.graphs, 1);
    assert_int_equal(r.steps, 0);
    /* x -> -(x + 1) twice is x: after every fourth operator the value is 1 again */
    assert_true(r.got == (LONG % 4 == 0 ? 1.0F : -2.0F));
}

/* The same without a sync: the nodes just go. */
static void *drop_chain(void *user)
{
    bool *ok = user;
    const float one = 1;
    lz_ctx *c = lz_open(NULL);
    if (!c)
        return NULL;
    lz_tensor *x = lz_from_memory(c, LZ_F32, LZ_DIMS(1), &one), *z = lz_retain(x);
    for (int i = 0; i < LONG; i++) {
        lz_scope *s = lz_scope_push(c);
        lz_tensor *next = lz_retain(CALL(c, add_Tensor, T(z), T(x)));
        lz_scope_pop(s);
        lz_release(z);
        z = next;
    }
    lz_release(z);
    *ok = !lz_failed(c);
    lz_close(c);
    return NULL;
}

static void test_long_chain_goes_on_a_small_stack(void **state)
{
    bool ok = false;
    pthread_t thread;
    pthread_attr_t attr;
    (void)state;
    assert_int_equal(pthread_attr_init(&attr), 0);
    assert_int_equal(pthread_attr_setstacksize(&attr, LZ_SMALL_STACK), 0);
    assert_int_equal(pthread_create(&thread, &attr, drop_chain, &ok), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    pthread_attr_destroy(&attr);
    assert_true(ok);
}

/* Bytes that the library has, counted at its one door to the heap: what a process has of the
 * system also depends on who else keeps memory back, such as a sanitizer. */
static atomic_long held_bytes;

static void *count_bytes(void *user, void *ptr, size_t size, size_t align)
{
    (void)user;
    long before = ptr ? (long)malloc_usable_size(ptr) : 0;
    if (size == 0) {
        free(ptr);
        atomic_fetch_sub(&held_bytes, before);
        return NULL;
    }
    void *out =
        ptr || align <= 16 ? realloc(ptr, size) : aligned_alloc(align, (size + align - 1) / align * align);
    if (out)
        atomic_fetch_add(&held_bytes, (long)malloc_usable_size(out) - before);
    return out;
}

/* Work that is thrown away leaves nothing behind. */
static void test_loops_without_syncs_stay_flat(void **state)
{
    const float x[4] = { 1, 2, 3, 4 };
    lz_ctx *c = lz_open(NULL);
    long early = 0;
    (void)state;
    lz_tensor *a = lz_from_memory(c, LZ_F32, LZ_DIMS(4), x);
    for (int i = 0; i < LOOPS; i++) {
        lz_scope *s = lz_scope_push(c);
        lz_tensor *b = CALL(c, mul_Scalar, T(a), F((double)i));
        b = CALL(c, relu, T(CALL(c, add_Tensor, T(b), T(a))));
        lz_tensor *v = CALL(c, view, T(b), L(2, 2));
        CALL(c, add__Tensor, T(v), T(v));
        CALL(c, sum, T(b));
        lz_scope_pop(s);
        if (i == LOOPS / 10)
            early = atomic_load(&held_bytes);
    }
    check_ctx(c);
    long late = atomic_load(&held_bytes);
    if (late > early + (64 << 10))
        fail_msg("%ld bytes at a tenth of the loop, %ld at its end", early, late);
    lz_close(c);
}

/* Of this thread: others may keep the machine busy. */
static uint64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* One sync of n results; in ns. */
static uint64_t many_results(lz_ctx *c, int n, float *sum)
{
    const float x[2] = { 1, 2 };
    float got[2];
    lz_scope *s = lz_scope_push(c);
    lz_tensor **made = test_malloc((size_t)n * sizeof(lz_tensor *));
    lz_tensor *a = lz_from_memory(c, LZ_F32, LZ_DIMS(2), x);
    for (int i = 0; i < n; i++)
        made[i] = CALL(c, mul_Scalar, T(a), F((double)(i % 7)));
    uint64_t start = now();
    lz_mark_step(c);
    lz_wait(c);
    uint64_t took = now() - start;
    *sum = 0;
    for (int i = 0; i < n; i++) {
        assert_true(lz_read(made[i], got, sizeof got));
        *sum += got[1];
    }
    test_free(made);
    lz_scope_pop(s);
    return took;
}

/* The first time, and again. Four times as many take four times as long, sixteen times if the time were
 * quadratic; between these there is room for a busy machine. */
static void test_many_results_cost_linear_time(void **state)
{
    lz_ctx *c = lz_open(NULL);
    uint64_t few[2] = { UINT64_MAX, UINT64_MAX }, many[2] = { UINT64_MAX, UINT64_MAX };
    float sum;
    (void)state;
    for (int round = 0; round < 3; round++) {
        lz_cache_clear(c);
        for (int again = 0; again < 2; again++) {
            uint64_t t = many_results(c, 2000, &sum);
            few[again] = t < few[again] ? t : few[again];
            t = many_results(c, 8000, &sum);
            many[again] = t < many[again] ? t : many[again];
        }
    }
    float want = 0;
    for (int i = 0; i < 8000; i++)
        want += 2 * (float)(i % 7);
    assert_true(sum == want);
    check_ctx(c);
    for (int again = 0; again < 2; again++)
        if (many[again] > 12 * few[again])
            fail_msg("%s: 2000 results took %llu ns, 8000 took %llu", again ? "cached" : "compiled",
                     (unsigned long long)few[again], (unsigned long long)many[again]);
    lz_close(c);
}

int main(void)
{
    lz_allocator_set(&(lz_allocator){ .resize = count_bytes });
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_long_chain_is_one_graph_on_a_small_stack),
        cmocka_unit_test(test_long_chain_goes_on_a_small_stack),
        cmocka_unit_test(test_loops_without_syncs_stay_flat),
        cmocka_unit_test(test_many_results_cost_linear_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
