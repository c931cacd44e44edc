#include "base/clock.h"
#include "check.h"
#include <time.h>

static lz_err *test_time_goes_forward(void)
{
    uint64_t last = lz_clock_ns();
    for (int i = 0; i < 1000; i++) {
        uint64_t now = lz_clock_ns();
        assert_true(now >= last);
        last = now;
    }
    return NULL;
}

static lz_err *test_units_are_nanoseconds(void)
{
    const struct timespec pause = { .tv_nsec = 2000000 };
    uint64_t before = lz_clock_ns();
    assert_int_equal(nanosleep(&pause, NULL), 0);
    uint64_t took = lz_clock_ns() - before;
    assert_true(took >= 2000000 && took < 20000000000U);
    return NULL;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LZ_TEST(test_time_goes_forward),
        LZ_TEST(test_units_are_nanoseconds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
