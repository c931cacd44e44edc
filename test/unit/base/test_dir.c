#include "base/dir.h"
#include "base/mem.h"
#include "check.h"
#include "dir_list.h"
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static void touch(const char *path)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    fclose(f);
}

static mode_t mode_of(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 ? st.st_mode : 0;
}

static lz_err *test_join(void)
{
    static const struct {
        const char *folder, *name, *want;
    } cases[] = {
        { "a", "b", "a/b" }, { "a/", "b", "a/b" }, { "/", "b", "/b" }, { "", "b", "b" },
        { "a", "/b", "/b" }, { "a", "", "a/" },    { "", "", "" },     { "../a", "b/c", "../a/b/c" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *got;
        LZ_TRY(lz_path_join(cases[i].folder, cases[i].name, &got));
        assert_string_equal(got, cases[i].want);
        lz_mem_free(got);
    }
    return NULL;
}

static void set(const char *name, const char *value)
{
    assert_int_equal(value ? setenv(name, value, 1) : unsetenv(name), 0);
}

static lz_err *test_user_cache(void)
{
    static const struct {
        const char *xdg, *home, *want;
    } cases[] = {
        { "/x/cache", "/home/u", "/x/cache" },
        { NULL, "/home/u", "/home/u/.cache" },
        { "", "/home/u/", "/home/u/.cache" },
        { "relative", "/home/u", "/home/u/.cache" },
        { "/only/xdg", NULL, "/only/xdg" },
        { NULL, NULL, NULL },
        { "", "", NULL },
        { "relative", "relative", NULL },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *got = NULL;
        set("XDG_CACHE_HOME", cases[i].xdg);
        set("HOME", cases[i].home);
        lz_err *e = lz_dir_user_cache(&got);
        if (!cases[i].want)
            e = lz_check_err(e, LZ_ERR_NOT_FOUND, "XDG_CACHE_HOME");
        LZ_TRY(e);
        if (cases[i].want)
            assert_string_equal(got, cases[i].want);
        lz_mem_free(got);
    }
    return NULL;
}

static lz_err *test_make_builds_the_whole_path(void)
{
    mode_t old = umask(022);
    rmdir("m/n//o"), rmdir("m/n"), rmdir("m");
    lz_err *e = lz_dir_make("m/n//o/", 0777);
    umask(old);
    LZ_TRY(e);
    assert_int_equal(mode_of("m"), S_IFDIR | 0755);
    assert_int_equal(mode_of("m/n"), S_IFDIR | 0755);
    assert_int_equal(mode_of("m/n/o"), S_IFDIR | 0755);
    LZ_TRY(lz_dir_make("m/n/o", 0700));
    assert_int_equal(mode_of("m/n/o"), S_IFDIR | 0755);
    return NULL;
}

static lz_err *test_make_takes_links_and_absolute_paths(void)
{
    char whole[256];
    rmdir("real/sub"), rmdir("real"), unlink("link");
    LZ_TRY(lz_dir_make("real", 0700));
    assert_int_equal(symlink("real", "link"), 0);
    snprintf(whole, sizeof whole, "%s/link/sub", lz_check_dir());
    LZ_TRY(lz_dir_make(whole, 0700));
    assert_true(S_ISDIR(mode_of("real/sub")));
    return lz_dir_make("/", 0700);
}

static lz_err *test_make_says_what_is_in_the_way(void)
{
    touch("file");
    unlink("loose");
    assert_int_equal(symlink("nowhere", "loose"), 0);
    LZ_TRY(lz_check_err(lz_dir_make("file", 0700), LZ_ERR_IO, "make folder file: Not a directory"));
    LZ_TRY(lz_check_err(lz_dir_make("file/a/b", 0700), LZ_ERR_IO, "make folder file: Not a directory"));
    LZ_TRY(lz_check_err(lz_dir_make("loose", 0700), LZ_ERR_IO, " loose: File exists"));
    LZ_TRY(lz_check_err(lz_dir_make("", 0700), LZ_ERR_NOT_FOUND, "No such file"));
    return lz_check_err(lz_dir_make("/proc/lazuli/x", 0700), LZ_ERR_NOT_FOUND, "make folder /proc/lazuli: ");
}

static lz_err *list(const char *path, const char *const *want, size_t n)
{
    lz_arena a;
    lz_str *got = NULL;
    size_t count = 99;
    lz_arena_init(&a);
    lz_err *e = dir_list(path, &a, &count, &got);
    assert_true(!e || a.total == 0);
    if (!e) {
        assert_int_equal(count, n);
        for (size_t i = 0; i < n; i++) {
            assert_string_equal(got[i].ptr, want[i]);
            assert_int_equal(got[i].len, strlen(want[i]));
        }
    }
    lz_arena_deinit(&a);
    return e;
}

static lz_err *test_list_is_sorted_by_bytes(void)
{
    static const char *const made[] = { "b", "a10", "\xc3\xa9", "a", "Z", ".hidden", "a b", "a1", "..." };
    static const char *const want[] = { "...", ".hidden", "Z", "a", "a b", "a1", "a10", "b", "\xc3\xa9" };
    enum { N = sizeof made / sizeof *made };
    mkdir("empty", 0700);
    mkdir("full", 0700);
    for (size_t i = 0; i < N; i++) {
        char name[64];
        snprintf(name, sizeof name, "full/%s", made[i]);
        touch(name);
    }
    LZ_TRY(list("empty", NULL, 0));
    return list("full", want, N);
}

static lz_err *test_list_of_many(void)
{
    static char names[500][16];
    const char *want[500];
    mkdir("many", 0700);
    for (size_t i = 0; i < 500; i++) {
        char name[64];
        snprintf(names[i], sizeof names[i], "n%03zu", i);
        want[i] = names[i];
        snprintf(name, sizeof name, "many/n%03zu", i * 7 % 500);
        touch(name);
    }
    return list("many", want, 500);
}

static lz_err *test_list_errors(void)
{
    touch("file");
    LZ_TRY(lz_check_err(list("none", NULL, 0), LZ_ERR_NOT_FOUND, " none: No such file or directory"));
    return lz_check_err(list("file", NULL, 0), LZ_ERR_IO, "list file: Not a directory");
}

/* In the scratch folder, so that bare names will do. */
int main(void)
{
    if (chdir(lz_check_dir()) != 0)
        return 1;
    const struct CMUnitTest tests[] = {
        LZ_TEST(test_join),
        LZ_TEST(test_user_cache),
        LZ_TEST(test_make_builds_the_whole_path),
        LZ_TEST(test_make_takes_links_and_absolute_paths),
        LZ_TEST(test_make_says_what_is_in_the_way),
        LZ_TEST(test_list_is_sorted_by_bytes),
        LZ_TEST(test_list_of_many),
        LZ_TEST(test_list_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
