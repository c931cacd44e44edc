#include "base/log.h"
#include "base/memory_limit.h"
#include "check.h"
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

enum { MIB = 1 << 20 };

static int logged;

static void count(void *user, lz_level level, const char *text)
{
    (void)user;
    logged += level == LZ_LOG_WARN && strstr(text, "some library is not used") && strstr(text, "RLIMIT_AS");
}

static rlim_t mapped(void)
{
    unsigned long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    assert_non_null(f);
    assert_int_equal(fscanf(f, "%lu", &pages), 1);
    fclose(f);
    return (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE);
}

/* Without a limit there is room for anything. */
static void test_no_limit(void **unused)
{
    lz_memory_limit_need all = { .what = "all", .bytes = SIZE_MAX };
    struct rlimit now;
    (void)unused;
    getrlimit(RLIMIT_AS, &now);
    if (now.rlim_cur != RLIM_INFINITY)
        skip();
    lz_memory_limit_check();
    assert_true(lz_memory_limit_allows(&all));
    assert_true(lz_memory_limit_allows_now(&all));
}

/* With a limit: for what is left. The log gets one message. */
static void test_limit(void **unused)
{
    lz_memory_limit_need small = { .what = "a small library", .bytes = 16 * MIB };
    lz_memory_limit_need large = { .what = "some library", .bytes = (size_t)300 * MIB };
    struct rlimit before, now;
    (void)unused;
    getrlimit(RLIMIT_AS, &before);
    now = before;
    now.rlim_cur = mapped() + (rlim_t)200 * MIB;
    assert_int_equal(setrlimit(RLIMIT_AS, &now), 0);
    lz_log_set(count, NULL, LZ_LOG_WARN);
    lz_memory_limit_check();
    for (int i = 0; i < 3; i++) {
        assert_true(lz_memory_limit_allows(&small));
        assert_false(lz_memory_limit_allows(&large));
    }
    assert_int_equal(logged, 1);
    assert_int_equal(setrlimit(RLIMIT_AS, &before), 0);
    assert_true(lz_memory_limit_allows(&large)); /* the limit itself is asked each time */
    lz_memory_limit_check();
    assert_true(lz_memory_limit_allows(&large));
    lz_log_set(NULL, NULL, LZ_LOG_OFF);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_no_limit), cmocka_unit_test(test_limit) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
