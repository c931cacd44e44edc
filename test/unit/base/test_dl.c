#include "base/dl.h"
#include "check.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* libresolv comes with the C library, and nothing else in this program uses it. */
static const char *const resolv[] = { "liblazuli-none.so.7", "", "libresolv.so.2", "liblazuli-later.so",
                                      NULL };

typedef struct functions {
    void *before;
    int (*parse_ttl)(const char *text, unsigned long *out);
    int (*fancy)(void);
    void *after;
} functions;

static const lz_dl_symbol symbols[] = {
    { "ns_parse_ttl", true, offsetof(functions, parse_ttl) },
    { "lazuli_has_no_such_function", false, offsetof(functions, fancy) },
};

static lz_err *test_symbols_land_in_their_members(void)
{
    int mark;
    functions f = { &mark, NULL, getpid, &mark };
    lz_dl *dl;
    LZ_TRY(lz_dl_open(resolv, &dl));
    lz_err *e = lz_dl_load(dl, symbols, 2, &f);
    if (!e) {
        unsigned long seconds = 0;
        assert_int_equal(f.parse_ttl("1H30M", &seconds), 0);
        assert_int_equal(seconds, 5400);
        assert_null(f.fancy);
    }
    assert_ptr_equal(f.before, &mark);
    assert_ptr_equal(f.after, &mark);
    lz_dl_close(dl);
    return e;
}

static lz_err *test_symbols_stay_private(void)
{
    bool before = dlsym(RTLD_DEFAULT, "ns_parse_ttl");
    lz_dl *dl;
    LZ_TRY(lz_dl_open(resolv, &dl));
    assert_int_equal((bool)dlsym(RTLD_DEFAULT, "ns_parse_ttl"), before);
    lz_dl_close(dl);
    return NULL;
}

/* The kernel knows what is mapped. */
static bool mapped(const char *path)
{
    char line[4352];
    bool found = false;
    FILE *maps = fopen("/proc/self/maps", "r");
    assert_non_null(maps);
    while (!found && fgets(line, sizeof line, maps))
        found = strstr(line, path);
    fclose(maps);
    return found;
}

/* The loader would wait until a program writes to the pipe. */
static lz_err *test_named_pipes_are_refused(void)
{
    char path[4096];
    lz_dl *dl;
    snprintf(path, sizeof path, "%s/pipe.so", lz_check_dir());
    unlink(path);
    assert_int_equal(mkfifo(path, 0600), 0);
    const char *const names[] = { path, NULL };
    LZ_TRY(lz_check_err(lz_dl_open(names, &dl), LZ_ERR_NOT_FOUND, "pipe.so: is not a regular file"));
    return lz_check_err(lz_dl_open_lasting(names, &dl), LZ_ERR_NOT_FOUND, "pipe.so: is not a regular file");
}

static lz_err *test_path_is_what_is_mapped(void)
{
    char path[4096], real[4096];
    lz_dl *dl;
    LZ_TRY(lz_dl_open(resolv, &dl));
    snprintf(path, sizeof path, "%s", lz_dl_path(dl));
    assert_int_equal(path[0], '/');
    assert_non_null(strstr(path, "/libresolv.so.2"));
    assert_non_null(realpath(path, real));
    assert_true(mapped(real));
    lz_dl_close(dl);
    assert_false(mapped(real));
    return NULL;
}

static lz_err *test_missing_functions_are_named_together(void)
{
    static const lz_dl_symbol wanted[] = {
        { "lazuli_absent_one", true, offsetof(functions, before) },
        { "ns_parse_ttl", true, offsetof(functions, parse_ttl) },
        { "lazuli_absent_optional", false, offsetof(functions, fancy) },
        { "lazuli_absent_two", true, offsetof(functions, after) },
    };
    functions f = { .before = &f, .fancy = getpid, .after = &f };
    lz_dl *dl;
    LZ_TRY(lz_dl_open(resolv, &dl));
    lz_err *e = lz_dl_load(dl, wanted, 4, &f);
    if (!lz_check_failing())
        assert_null(strstr(lz_err_text(e), "optional"));
    e = lz_check_err(e, LZ_ERR_NOT_FOUND, "/libresolv.so.2 lacks lazuli_absent_one, lazuli_absent_two");
    assert_true(!f.before && !f.parse_ttl && !f.fancy && !f.after);
    lz_dl_close(dl);
    return e;
}

static lz_err *test_every_candidate_gets_its_reason(void)
{
    char broken[256], want[1024];
    snprintf(broken, sizeof broken, "%s/libbroken.so", lz_check_dir());
    FILE *f = fopen(broken, "w");
    assert_non_null(f);
    for (int i = 0; i < 1000; i++)
        fputs("this is no library\n", f);
    fclose(f);
    const char *const names[] = { "liblazuli-none.so.7", "", broken, NULL };
    lz_dl *dl;
    snprintf(
        want, sizeof want,
        "no library could be loaded: liblazuli-none.so.7: cannot open shared object file: No such file or "
        "directory; (empty name): names no library; %s: invalid ELF header",
        broken);
    return lz_check_err(lz_dl_open(names, &dl), LZ_ERR_NOT_FOUND, want);
}

/* libthread_db calls back into a debugger, which this program is not. */
static lz_err *test_missing_dependencies_show_at_once(void)
{
    static const char *const names[] = { "libthread_db.so.1", NULL };
    lz_dl *dl;
    return lz_check_err(lz_dl_open(names, &dl), LZ_ERR_NOT_FOUND, "undefined symbol: ps_");
}

static lz_err *test_no_candidates(void)
{
    const char *const none[] = { NULL };
    lz_dl *dl;
    lz_dl_close(NULL);
    return lz_check_err(lz_dl_open(none, &dl), LZ_ERR_ARG, "no names");
}

/* ---- globals of libraries ---- */

typedef lz_err *open_fn(const char *const *names, lz_dl **out);

/* The status of a process that loads a library and exits with 0. */
static int exit_with(open_fn *open, const char *name)
{
    int status = 0;
    fflush(NULL);
    pid_t p = fork();
    if (p == 0) {
        const char *const names[] = { name, NULL };
        lz_dl *dl;
        lz_err *e = open(names, &dl);
        exit(e ? 9 : 0);
    }
    assert_true(p > 0 && waitpid(p, &status, 0) == p && WIFEXITED(status));
    return WEXITSTATUS(status);
}

static lz_err *open_without_files(const char *const *names, lz_dl **out)
{
    setrlimit(RLIMIT_FSIZE, &(struct rlimit){ 0 });
    return lz_dl_open_lasting(names, out);
}

/* The library's destructor ends the process with status 3. */
static void test_lasting_globals_are_not_destroyed(void **state)
{
    (void)state;
    assert_int_equal(exit_with(lz_dl_open, LZ_PLUGIN_DIR "/exit_status.so"), 3);
    assert_int_equal(exit_with(lz_dl_open_lasting, LZ_PLUGIN_DIR "/exit_status.so"), 0);
    assert_int_equal(exit_with(open_without_files, LZ_PLUGIN_DIR "/exit_status.so"),
                     3); /* it is loaded plainly */
}

static lz_err *test_lasting_libraries_are_as_others(void)
{
    static const char *const absent[] = { "liblazuli-none.so.7", NULL };
    lz_dl *dl, *again;
    functions f = { 0 };
    LZ_TRY(lz_dl_open_lasting(resolv, &dl));
    lz_err *e = lz_dl_open_lasting(resolv, &again);
    e = e ? e : lz_dl_load(again, symbols, 2, &f);
    assert_true(e || f.parse_ttl);
    assert_non_null(strstr(lz_dl_path(dl), "/libresolv.so.2"));
    if (!e)
        lz_dl_close(again);
    lz_dl_close(dl);
    return e ? e
             : lz_check_err(lz_dl_open_lasting(absent, &dl), LZ_ERR_NOT_FOUND,
                            "liblazuli-none.so.7: cannot open shared object file");
}

/* ---- libraries that may be absent ---- */

static int looks;
static lz_code say;

static lz_err *look(void)
{
    looks++;
    return say ? lz_errf(say, "said so") : NULL;
}

/* Absence is remembered, lack of memory is not. */
static lz_err *test_choice(void)
{
    lz_dl_choice c = LZ_DL_CHOICE("some", look, 0);
    looks = 0;
    say = LZ_ERR_MEMORY;
    lz_err *e = lz_dl_have(&c);
    assert_int_equal(lz_err_code(e), LZ_ERR_MEMORY);
    lz_err_free(e);
    say = LZ_ERR_NOT_FOUND;
    for (int i = 0; i < 3; i++) {
        e = lz_check_err(lz_dl_have(&c), LZ_ERR_NOT_FOUND, "some: said so");
        if (e)
            return e;
    }
    assert_int_equal(looks, 2);
    return NULL;
}

static lz_err *test_choice_is_made_once(void)
{
    lz_dl_choice c = LZ_DL_CHOICE("some", look, 0);
    looks = 0;
    say = LZ_OK;
    LZ_TRY(lz_dl_have(&c));
    LZ_TRY(lz_dl_have(&c));
    assert_int_equal(looks, 1);
    return NULL;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LZ_TEST(test_choice),
        LZ_TEST(test_choice_is_made_once),
        LZ_TEST(test_symbols_land_in_their_members),
        LZ_TEST(test_symbols_stay_private),
        LZ_TEST(test_named_pipes_are_refused),
        LZ_TEST(test_path_is_what_is_mapped),
        LZ_TEST(test_missing_functions_are_named_together),
        LZ_TEST(test_every_candidate_gets_its_reason),
        LZ_TEST(test_missing_dependencies_show_at_once),
        LZ_TEST(test_no_candidates),
        cmocka_unit_test(test_lasting_globals_are_not_destroyed),
        LZ_TEST(test_lasting_libraries_are_as_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
