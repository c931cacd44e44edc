#include "base/env.h"
#include "base/str.h"
#include "check.h"
#include <stdlib.h>

static lz_err *test_numbers(void)
{
    int64_t n = 5;
    unsetenv("LAZULI_THREADS");
    LZ_TRY(lz_env_int(LZ_ENV_THREADS, 1, 64, &n));
    assert_int_equal(n, 5);
    setenv("LAZULI_THREADS", "", 1);
    LZ_TRY(lz_env_int(LZ_ENV_THREADS, 1, 64, &n));
    assert_int_equal(n, 5);
    setenv("LAZULI_THREADS", "12", 1);
    LZ_TRY(lz_env_int(LZ_ENV_THREADS, 1, 64, &n));
    assert_int_equal(n, 12);
    const char *bad[] = { "0", "65", "x", "1x", "99999999999999999999", " 2" };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        setenv("LAZULI_THREADS", bad[i], 1);
        LZ_TRY(lz_check_err(lz_env_int(LZ_ENV_THREADS, 1, 64, &n), LZ_ERR_ARG, "whole number from 1 to 64"));
        assert_int_equal(n, 12);
    }
    return NULL;
}

static lz_err *test_words(void)
{
    const char *const words[] = { "off", "error", "warn", NULL };
    int i = 7;
    unsetenv("LAZULI_LOG");
    LZ_TRY(lz_env_word(LZ_ENV_LOG, words, &i));
    assert_int_equal(i, 7);
    setenv("LAZULI_LOG", "warn", 1);
    LZ_TRY(lz_env_word(LZ_ENV_LOG, words, &i));
    assert_int_equal(i, 2);
    setenv("LAZULI_LOG", "loud", 1);
    LZ_TRY(lz_check_err(lz_env_word(LZ_ENV_LOG, words, &i), LZ_ERR_ARG,
                        "LAZULI_LOG=loud: not one of off, error, warn"));
    return NULL;
}

static bool is_stray(const char *name)
{
    lz_str s;
    for (size_t i = 0; (s = lz_env_stray(i)).len; i++)
        if (lz_str_is(s, name))
            return true;
    return false;
}

/* What looks like ours and is not; what is ours, set or not, and what others use, is left out. */
static lz_err *test_strays(void)
{
    setenv("LAZULI_TREADS", "4", 1);
    setenv("LAZULI_", "", 1);
    setenv("LAZULI_LOG", "off", 1);
    setenv("NO_LAZULI_X", "1", 1);
    setenv("LTC_NOSUCH", "1", 1);
    setenv("LTC_EXPERIMENTAL", "nonzero", 1);
    setenv("LTC_TS_CUDA", "", 1);
    assert_true(is_stray("LTC_NOSUCH"));
    assert_false(is_stray("LTC_EXPERIMENTAL") || is_stray("LTC_TS_CUDA")); /* the table tells of the first */
    unsetenv("LTC_NOSUCH");
    assert_true(is_stray("LAZULI_TREADS") && is_stray("LAZULI_"));
    assert_false(is_stray("LAZULI_LOG") || is_stray("NO_LAZULI_X"));
    unsetenv("LAZULI_TREADS");
    assert_false(is_stray("LAZULI_TREADS"));
    return NULL;
}

/* Ours, and names of the original that mean the same. */
static lz_err *test_the_table_is_whole(void)
{
    for (int i = 0; i < LZ_ENV_COUNT; i++) {
        const char *name = lz_env_vars[i].name;
        assert_true(strncmp(name, "LAZULI_", 7) == 0 || strncmp(name, "LTC_", 4) == 0);
        assert_true(strlen(lz_env_vars[i].meaning) > 10);
    }
    return NULL;
}

static lz_err *test_variables_without_effect(void)
{
    size_t n = 0;
    for (const lz_env_var *v = lz_env_no_effect; v->name; v++, n++) {
        assert_true(strncmp(v->name, "LTC_", 4) == 0 && strlen(v->meaning) > 10);
        unsetenv(v->name);
        assert_false(lz_env_is_set(v));
        setenv(v->name, "", 1);
        assert_false(lz_env_is_set(v));
        setenv(v->name, "0", 1);
        assert_true(lz_env_is_set(v));
        unsetenv(v->name);
    }
    assert_int_equal(n, 4);
    return NULL;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LZ_TEST(test_numbers), LZ_TEST(test_variables_without_effect), LZ_TEST(test_words),
        LZ_TEST(test_strays),  LZ_TEST(test_the_table_is_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
