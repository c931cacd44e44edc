#include "calls.h"
#include "check.h"
#include <dirent.h>
#include <lazuli/lazuli.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

/* Several threads, a context each: they record, compile the same graphs and others, and
 * share tensors that are held. */

enum { THREADS = 8, STEPS = 40 };

typedef struct worker {
    lz_ctx *c;
    lz_tensor *shared; /* of c */
    int number;
    bool async;
    float got[4];
    bool ok;
} worker;

static void step(worker *w, lz_tensor *at, int i)
{
    lz_ctx *c = w->c;
    lz_scope *s = lz_scope_push(c);
    lz_tensor *half = CALL(c, mul_Tensor, T(w->shared), T(w->shared));
    CALL(c, add__Tensor, T(at), T(half));
    if (i % 5 == w->number % 5)
        CALL(c, relu_, T(at)); /* another graph than the neighbours have */
    lz_mark_step(c);
    lz_scope_pop(s);
}

static void *work(void *user)
{
    worker *w = user;
    const float zero[4] = { 0 };
    lz_tensor *at = lz_from_memory(w->c, LZ_F32, LZ_DIMS(4), zero);
    for (int i = 0; i < STEPS; i++)
        step(w, at, i);
    w->ok = lz_read(at, w->got, sizeof w->got) && !lz_failed(w->c);
    if (!w->ok)
        fprintf(stderr, "%s\n", lz_message(w->c));
    lz_close(w->c);
    return NULL;
}

static void test_threads_share_what_is_held(void **state)
{
    const float x[4] = { 1, 2, -3, 0.5F };
    pthread_t threads[THREADS];
    worker workers[THREADS] = { 0 };
    lz_ctx *main_ctx = lz_open(NULL);
    (void)state;
    lz_tensor *made = CALL(main_ctx, neg, T(lz_from_memory(main_ctx, LZ_F32, LZ_DIMS(4), x)));
    for (int i = 0; i < THREADS; i++) {
        workers[i].number = i;
        workers[i].async = i % 2;
        workers[i].c = lz_open(&(lz_options){ .async = i % 2 });
        assert_non_null(workers[i].c);
        workers[i].shared = lz_share(workers[i].c, made);
    }
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    for (int i = 0; i < THREADS; i++) {
        assert_true(workers[i].ok);
        for (int k = 0; k < 4; k++)
            assert_true(workers[i].got[k] == STEPS * x[k] * x[k]);
    }
    assert_false(lz_failed(main_ctx));
    lz_close(main_ctx);
}

/* ---- how many threads a context has ---- */

/* Threads of this process with the name of a pool's. */
static int pool_threads(void)
{
    int n = 0;
    DIR *tasks = opendir("/proc/self/task");
    assert_non_null(tasks);
    for (const struct dirent *d; (d = readdir(tasks));) {
        char path[300], name[16] = "";
        snprintf(path, sizeof path, "/proc/self/task/%s/comm", d->d_name);
        FILE *f = fopen(path, "r");
        if (f && fgets(name, sizeof name, f))
            n += strcmp(name, "lz-pool\n") == 0;
        if (f)
            fclose(f);
    }
    closedir(tasks);
    return n;
}

/* The caller is one of them. */
static void test_a_context_has_the_threads_it_asked_for(void **state)
{
    static const int asked[] = { 1, 3, 1, 2 }, there[] = { 0, 2, 2, 3 };
    enum { N = sizeof asked / sizeof *asked };
    lz_ctx *c[N];
    float first = 0;
    (void)state;
    assert_int_equal(pool_threads(), 0);
    for (int i = 0; i < N; i++) {
        c[i] = lz_open(&(lz_options){ .threads = asked[i] });
        lz_tensor *sum = CALL(c[i], sum, T(lz_ones(c[i], LZ_DIMS(1000, 1000))));
        assert_true(lz_read(sum, &first, sizeof first));
        assert_true(first == 1e6F);
        assert_int_equal(pool_threads(), there[i]);
    }
    for (int i = 0; i < N; i++)
        lz_close(c[i]);
    assert_int_equal(pool_threads(), 0);
}

static void test_a_wrong_number_of_threads_is_refused(void **state)
{
    static const int wrong[] = { -1, 1000000 };
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char number[16];
        lz_ctx *c = lz_open(&(lz_options){ .threads = wrong[i] });
        snprintf(number, sizeof number, "not %d", wrong[i]);
        assert_true(lz_failed(c));
        assert_non_null(strstr(lz_message(c), number));
        lz_close(c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_threads_share_what_is_held),
                                        cmocka_unit_test(test_a_context_has_the_threads_it_asked_for),
                                        cmocka_unit_test(test_a_wrong_number_of_threads_is_refused) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
