#include "base/cpu.h"
#include "check.h"
#include <sched.h>
#include <stdlib.h>

static lz_err *test_threads_follow_the_variable(void)
{
    int n = 0;
    unsetenv("LAZULI_THREADS");
    LZ_TRY(lz_cpu_threads(&n));
    assert_int_equal(n, lz_cpu_count());
    setenv("LAZULI_THREADS", "3", 1);
    LZ_TRY(lz_cpu_threads(&n));
    assert_int_equal(n, 3);
    setenv("LAZULI_THREADS", "many", 1);
    return lz_check_err(lz_cpu_threads(&n), LZ_ERR_ARG, "LAZULI_THREADS=many");
}

static lz_err *test_count_follows_the_affinity(void)
{
    cpu_set_t before, one;
    assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
    assert_int_equal(lz_cpu_count(), CPU_COUNT(&before));
    CPU_ZERO(&one);
    for (size_t i = 0; CPU_COUNT(&one) == 0; i++)
        if (CPU_ISSET(i, &before))
            CPU_SET(i, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    int pinned = lz_cpu_count();
    assert_int_equal(sched_setaffinity(0, sizeof before, &before), 0);
    assert_int_equal(pinned, 1);
    return NULL;
}

static lz_err *test_descriptions_are_words(void)
{
    lz_text name = { 0 }, features = { 0 };
    lz_cpu_name(&name);
    lz_cpu_features(&features);
    lz_err *e = lz_err_first(lz_text_check(&name), lz_text_check(&features));
    if (!e) {
        assert_true(name.len > 0);
        assert_false(lz_str_ends(lz_text_view(&name), LZ_STR(" ")));
        assert_true(lz_str_find(lz_text_view(&features), LZ_STR("  ")) == SIZE_MAX);
    }
    assert_true(lz_memory_total() > 1 << 20);
    lz_text_deinit(&name);
    lz_text_deinit(&features);
    return e;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LZ_TEST(test_threads_follow_the_variable),
        LZ_TEST(test_count_follows_the_affinity),
        LZ_TEST(test_descriptions_are_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
