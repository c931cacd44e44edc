#include "base/cpu.h"
#include "base/cpu_quota.h"
#include "base/file.h"
#include "check.h"
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

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
    int limit = lz_cpu_quota();
    assert_int_equal(lz_cpu_count(), limit && limit < CPU_COUNT(&before) ? limit : CPU_COUNT(&before));
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

/* Each group comes after those that contain it. */
static const struct {
    const char *folder, *file, *text;
} groups[] = {
    { "free", "cpu.max", "max 100000\n" },
    { "half", "cpu.max", "50000 100000\n" },
    { "most", "cpu.max", "350000 100000\n" },
    { "most/inner", "cpu.max", "800000 100000\n" },
    { "bad", "cpu.max", "x 100000\n" },
    { "cpu", "cpu.cfs_quota_us", "-1\n" },
    { "cpu/old", "cpu.cfs_quota_us", "200000\n" },
    { "cpu/old", "cpu.cfs_period_us", "100000\n" },
};

static lz_err *write_groups(const char *root)
{
    lz_err *e = NULL;
    for (size_t i = 0; !e && i < sizeof groups / sizeof *groups; i++) {
        char path[4200];
        snprintf(path, sizeof path, "%s/%s", root, groups[i].folder);
        mkdir(path, 0700);
        snprintf(path, sizeof path, "%s/%s/%s", root, groups[i].folder, groups[i].file);
        e = lz_file_replace(path, lz_str_of(groups[i].text), 0600, LZ_FILE_NO_SYNC);
    }
    return e;
}

static lz_err *test_control_groups_limit_the_count(void)
{
    static const struct {
        const char *groups;
        int cpus;
    } cases[] = {
        { "0::/free\n", 0 },
        { "0::/half\n", 1 },
        { "0::/most\n", 4 },
        { "0::/most/inner\n", 4 },
        { "0::/gone/most\n", 0 },
        { "0::/bad\n", 0 },
        { "0::/\n", 0 },
        { "3:cpuacct,cpu:/old\n2:memory:/most\n0::/\n", 2 },
        { "3:cpuset:/old\n", 0 },
        { "3:cpu:/\n", 0 },
        { "", 0 },
        { "nonsense", 0 },
    };
    const char *root = lz_check_dir();
    lz_err *e = write_groups(root);
    for (size_t i = 0; !e && i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(lz_cpu_quota_of(root, lz_str_of(cases[i].groups)), cases[i].cpus);
    return e;
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
        LZ_TEST(test_control_groups_limit_the_count),
        LZ_TEST(test_descriptions_are_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
