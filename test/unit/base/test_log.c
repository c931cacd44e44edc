#include "base/log.h"
#include "check.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

enum { THREADS = 8, EACH = 300 };

typedef struct heard {
    int count;
    lz_level level;
    char last[8192];
} heard;

static void hear(void *user, lz_level level, const char *msg)
{
    heard *h = user;
    h->count++;
    h->level = level;
    snprintf(h->last, sizeof h->last, "%s", msg);
}

static lz_err *test_silent_until_asked(void)
{
    assert_false(lz_log_on(LZ_LOG_ERROR));
    lz_logf(LZ_LOG_ERROR, "nobody hears this");
    heard h = { 0 };
    lz_log_set(hear, &h, LZ_LOG_OFF);
    lz_logf(LZ_LOG_ERROR, "nor this");
    lz_log_set(NULL, &h, LZ_LOG_DEBUG);
    assert_false(lz_log_on(LZ_LOG_ERROR));
    lz_logf(LZ_LOG_ERROR, "nor this");
    assert_int_equal(h.count, 0);
    return NULL;
}

static lz_err *test_levels_up_to_the_one_set(void)
{
    const lz_level levels[] = { LZ_LOG_ERROR, LZ_LOG_WARN, LZ_LOG_INFO, LZ_LOG_DEBUG };
    for (int most = 0; most < 4; most++)
        for (int i = 0; i < 4; i++) {
            heard h = { .level = LZ_LOG_OFF };
            lz_log_set(hear, &h, levels[most]);
            assert_int_equal(lz_log_on(levels[i]), i <= most);
            assert_false(lz_log_on(LZ_LOG_OFF));
            char want[16];
            snprintf(want, sizeof want, "level %d", i);
            lz_logf(levels[i], "%s %d", "level", i);
            assert_int_equal(h.count, i <= most);
            assert_int_equal(h.level, i <= most ? levels[i] : LZ_LOG_OFF);
            assert_string_equal(h.last, i <= most ? want : "");
        }
    lz_log_set(NULL, NULL, LZ_LOG_OFF);
    return NULL;
}

static lz_err *test_any_length(void)
{
    static char want[6001];
    for (size_t len = 500; len <= 6000; len = len < 520 ? len + 1 : len * 3 / 2) {
        heard h = { 0 };
        for (size_t i = 0; i < len; i++)
            want[i] = (char)('a' + i % 26);
        want[len] = '\0';
        lz_log_set(hear, &h, LZ_LOG_INFO);
        lz_logf(LZ_LOG_INFO, "%s", want);
        assert_int_equal(h.count, 1);
        size_t got = strlen(h.last);
        if (got != len) { /* only if memory ran out: the text is then the beginning */
            assert_true(lz_check_failing() && len > 500);
            assert_string_equal(h.last + got - 3, "...");
            assert_memory_equal(h.last, want, got - 3);
        } else
            assert_string_equal(h.last, want);
    }
    lz_log_set(NULL, NULL, LZ_LOG_OFF);
    return NULL;
}

static lz_err *test_one_line(void)
{
    heard h = { 0 };
    lz_log_set(hear, &h, LZ_LOG_INFO);
    lz_logf(LZ_LOG_INFO, "one\n%s\n", "two\n\nthree");
    lz_log_set(NULL, NULL, LZ_LOG_OFF);
    assert_string_equal(h.last, "one two  three ");
    return NULL;
}

static void hear_and_log(void *user, lz_level level, const char *msg)
{
    hear(user, level, msg);
    lz_logf(level, "heard: %s", msg);
}

static void hear_once(void *user, lz_level level, const char *msg)
{
    hear(user, level, msg);
    lz_log_set(NULL, NULL, LZ_LOG_OFF);
}

static lz_err *test_callback_may_log_and_leave(void)
{
    heard h = { 0 };
    lz_log_set(hear_and_log, &h, LZ_LOG_INFO);
    lz_logf(LZ_LOG_INFO, "first");
    lz_logf(LZ_LOG_INFO, "second");
    assert_int_equal(h.count, 2);
    assert_string_equal(h.last, "second");
    lz_log_set(hear_once, &h, LZ_LOG_INFO);
    lz_logf(LZ_LOG_INFO, "third");
    lz_logf(LZ_LOG_INFO, "fourth");
    assert_int_equal(h.count, 3);
    assert_string_equal(h.last, "third");
    return NULL;
}

/* Plain fields: two calls at a time would also be a data race. */
typedef struct crowd {
    int next[THREADS];
    int calls, wrong;
    bool gone;
} crowd;

static void hear_crowd(void *user, lz_level level, const char *msg)
{
    crowd *c = user;
    int thread = 0, number = 0;
    (void)level;
    c->calls++;
    c->wrong += c->gone || sscanf(msg, "%d %d", &thread, &number) != 2 || number < c->next[thread];
    c->next[thread] = number + 1;
}

static void *shout(void *arg)
{
    for (int i = 0; i < EACH; i++)
        lz_logf(LZ_LOG_INFO, "%d %d", *(int *)arg, i);
    return NULL;
}

static void start(pthread_t *threads, int *ids)
{
    for (int i = 0; i < THREADS; i++) {
        ids[i] = i;
        assert_int_equal(pthread_create(&threads[i], NULL, shout, &ids[i]), 0);
    }
}

static void join(const pthread_t *threads)
{
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
}

static lz_err *test_one_call_at_a_time(void)
{
    crowd c = { 0 };
    pthread_t threads[THREADS];
    int ids[THREADS];
    lz_log_set(hear_crowd, &c, LZ_LOG_INFO);
    start(threads, ids);
    join(threads);
    lz_log_set(NULL, NULL, LZ_LOG_OFF);
    assert_int_equal(c.calls, THREADS * EACH);
    assert_int_equal(c.wrong, 0);
    return NULL;
}

static lz_err *test_former_callback_is_left_alone(void)
{
    crowd c[2] = { 0 };
    pthread_t threads[THREADS];
    int ids[THREADS], wrong = 0;
    start(threads, ids);
    for (int i = 0; i < 200; i++) {
        c[i % 2] = (crowd){ 0 };
        lz_log_set(hear_crowd, &c[i % 2], LZ_LOG_INFO);
        c[1 - i % 2].gone = true; /* a race here would be seen, too */
        wrong += c[1 - i % 2].wrong;
    }
    join(threads);
    lz_log_set(NULL, NULL, LZ_LOG_OFF);
    assert_int_equal(wrong + c[0].wrong + c[1].wrong, 0);
    return NULL;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LZ_TEST(test_silent_until_asked),
        LZ_TEST(test_levels_up_to_the_one_set),
        LZ_TEST(test_any_length),
        LZ_TEST(test_one_line),
        LZ_TEST(test_callback_may_log_and_leave),
        LZ_TEST(test_one_call_at_a_time),
        LZ_TEST(test_former_callback_is_left_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
