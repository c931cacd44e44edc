#include "lazy/registry.h"
#include "lazy_desk.h"
#include <pthread.h>
#include <stdio.h>

/* Eight threads, a context each, half of them asynchronous: they record and compile, partly the
 * same graphs at the same time, and compute with tensors that one of them has made. */
enum { THREADS = 8, STEPS = 30 };

typedef struct worker {
    pthread_t thread;
    int number;
    lz_tensor *shared; /* of another context; held */
    bool ok;
    char message[256];
} worker;

static bool right(lz_tensor *t, float first, float step)
{
    float v[4];
    bool is = lz_read(t, v, sizeof v);
    for (int i = 0; is && i < 4; i++)
        is = v[i] == first + (float)i * step;
    return is;
}

static bool steps(worker *w, lz_ctx *c)
{
    lz_tensor *x = lz_share(c, w->shared), *sum = bench_data(c, 4, 0);
    bool ok = true;
    for (int i = 1; ok && i <= STEPS; i++) {
        lz_tensor *next = bench_op(c, "add.Tensor", sum, x, i % 3, 1);
        lz_tensor *chain = next;
        for (int k = 0; k < i % 5 + w->number % 2; k++)
            chain = bench_op(c, "neg", chain, NULL, 1, 2);
        lz_release(sum);
        sum = next;
        lz_mark_step(c);
        if (i % 7 == 0)
            ok = right(x, 1, 1);
        if (chain != next)
            lz_release(chain);
    }
    /* 30 steps add 0 + 1 + 2 ten times over */
    return ok && right(sum, 30, 31) && lz_wait(c) && !lz_failed(c);
}

static void *work(void *user)
{
    worker *w = user;
    lz_ctx *c = lz_open(&(lz_options){ .device = "fake_bench", .async = w->number % 2 });
    w->ok = c && steps(w, c);
    snprintf(w->message, sizeof w->message, "%s", c ? lz_message(c) : "no context");
    lz_close(c);
    return NULL;
}

static lz_err *test_threads(void)
{
    bench b;
    worker w[THREADS];
    LZ_TRY(bench_open(&b, (lz_options){ 0 }));
    lz_tensor *x = bench_op(b.c, "add.Tensor", bench_data(b.c, 4, 0), bench_data(b.c, 4, 1), 1, 1);
    /* x is 1, 3, 5, 7; what is shared is 1, 2, 3, 4 */
    x = bench_op(b.c, "sub.Tensor", x, bench_data(b.c, 4, 0), 1, 2);
    lz_mark_step(b.c);
    if (lz_check_failing() || lz_failed(b.c))
        return bench_close(&b);
    for (int i = 0; i < THREADS; i++) {
        w[i] = (worker){ .number = i, .shared = x };
        assert_int_equal(pthread_create(&w[i].thread, NULL, work, &w[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(w[i].thread, NULL);
    for (int i = 0; i < THREADS; i++)
        if (!w[i].ok)
            fail_msg("thread %d: %s", i, w[i].message);
    /* The second thread waited: a chain of each length was compiled once. */
    assert_in_range(b.fake.compiles, 5, 14);
    return bench_close(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = { LZ_TEST(test_threads) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
