#include "calls.h"
#include "check.h"
#include <pthread.h>
#include <stdio.h>

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

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_threads_share_what_is_held) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
