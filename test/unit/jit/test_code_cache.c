#include "base/log.h"
#include "base/mem.h"
#include "check.h"
#include "jit/code_cache.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* The program's definitions win over the C library's. */
static atomic_int honest = INT_MAX; /* so many times this process is who it is */
static bool full;                   /* the disk */

uid_t geteuid(void)
{
    uid_t real = (uid_t)syscall(SYS_geteuid);
    return honest == INT_MAX || (honest > 0 && honest-- > 0) ? real : real + 1;
}

ssize_t write(int fd, const void *buf, size_t n)
{
    errno = ENOSPC;
    return full && n > 100 ? -1 : syscall(SYS_write, fd, buf, n);
}

static char folder[200];

/* A folder that is not there yet. */
static void new_folder(void)
{
    static int serial;
    snprintf(folder, sizeof folder, "%s/%d", lz_check_dir(), serial++);
    setenv("LAZULI_CACHE_DIR", folder, 1);
}

static const char *in_folder(const char *name)
{
    static char path[300];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

/* An object is its key, many times. */
enum { TIMES = 300 };

static atomic_int makes;
static lz_code must_fail; /* LZ_OK: it does not */

static lz_err *make(void *user, lz_text *out)
{
    const lz_str *key = user;
    makes++;
    if (must_fail != LZ_OK)
        return lz_errf(must_fail, "no compiler");
    for (int i = 0; i < TIMES; i++)
        lz_text_add(out, *key);
    return NULL;
}

static void assert_object_of(lz_str key, lz_str bytes)
{
    assert_int_equal(bytes.len, key.len * TIMES);
    for (size_t i = 0; i < TIMES; i++)
        assert_memory_equal(bytes.ptr + i * key.len, key.ptr, key.len);
}

/* Storing may fail for want of memory, and nobody hears of it. */
static bool sure(void)
{
    return !lz_check_failing();
}

/* *made: whether the object had to be made. */
static lz_err *get(const char *name, bool *made)
{
    lz_str key = lz_str_of(name);
    lz_native_object o;
    int before = makes;
    LZ_TRY(lz_native_cache_find(key, &o));
    bool found = o.memory != NULL;
    lz_native_object_deinit(&o);
    LZ_TRY(lz_native_cache_get(key, make, &key, &o));
    assert_true(found != o.made || !sure());
    assert_object_of(key, o.bytes);
    assert_int_equal((uintptr_t)o.bytes.ptr % 16, 0);
    assert_int_equal(makes - before, o.made);
    *made = o.made;
    lz_native_object_deinit(&o);
    return NULL;
}

static const char *file_of(const char *key)
{
    char name[LZ_ENTRY_NAME];
    lz_native_entry_name(lz_str_of(key), name);
    return in_folder(name);
}

static bool there(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0;
}

static lz_err *test_second_time(void)
{
    bool made;
    struct stat st;
    new_folder();
    LZ_TRY(get("one", &made));
    assert_true(made);
    LZ_TRY(get("one", &made));
    assert_true(!made || !sure());
    LZ_TRY(get("two", &made));
    assert_true(made);
    assert_true(stat(folder, &st) == 0 || !sure());
    if (sure()) {
        assert_int_equal(st.st_mode & 07777, 0700);
        assert_int_equal(stat(file_of("one"), &st), 0);
        assert_int_equal(st.st_mode & 07777, 0600);
    }
    lz_native_cache_drop(LZ_STR("one"));
    assert_false(there(file_of("one")) && sure());
    return NULL;
}

static lz_err *test_failure_to_make(void)
{
    lz_str key = LZ_STR("k");
    lz_native_object o;
    bool made;
    new_folder();
    must_fail = LZ_ERR_NOT_FOUND;
    lz_err *e = lz_native_cache_get(key, make, &key, &o);
    must_fail = LZ_OK;
    LZ_TRY(lz_check_err(e, LZ_ERR_NOT_FOUND, "no compiler"));
    assert_null(o.memory);
    assert_false(there(file_of("k")));
    LZ_TRY(get("k", &made));
    assert_true(made);
    return NULL;
}

/* ---- entries that must not be used ---- */

static void plant(const char *path, const void *data, size_t n)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, n, f), n);
    fclose(f);
}

static size_t slurp(const char *path, char *buf, size_t size)
{
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    size_t n = fread(buf, 1, size, f);
    fclose(f);
    return n;
}

/* The one that is damaged. */
static char entry[1 << 14];
static size_t entry_size;

static void cut(const char *path)
{
    plant(path, entry, entry_size / 2);
}

static void empty(const char *path)
{
    plant(path, entry, 0);
}

static void extend(const char *path)
{
    entry[entry_size] = 0;
    plant(path, entry, entry_size + 1);
}

static void flip(const char *path, size_t at)
{
    entry[at] ^= 16;
    plant(path, entry, entry_size);
}

static void flip_head(const char *path)
{
    flip(path, 9);
}

static void flip_key(const char *path)
{
    flip(path, 33);
}

static void flip_object(const char *path)
{
    flip(path, entry_size / 2);
}

static void flip_sum(const char *path)
{
    flip(path, entry_size - 1);
}

static void put_another(const char *path)
{
    char other[300];
    snprintf(other, sizeof other, "%s", file_of("other"));
    assert_int_equal(rename(other, path), 0);
}

static void open_to_all(const char *path)
{
    assert_int_equal(chmod(path, 0666), 0);
}

static void link_to_it(const char *path)
{
    char real[300];
    snprintf(real, sizeof real, "%s", in_folder("elsewhere"));
    assert_int_equal(rename(path, real), 0);
    assert_int_equal(symlink(real, path), 0);
}

static void pipe_instead(const char *path)
{
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkfifo(path, 0600), 0);
}

static void folder_instead(const char *path)
{
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkdir(path, 0700), 0);
}

static void foreign(const char *path)
{
    (void)path;
    honest = 1; /* the folder is ours */
}

/* what is done to the entry, what is then said of it, whether it cannot be removed */
#define DAMAGES(X)                                                                                           \
    X(cut, "it is truncated", false)                                                                         \
    X(empty, "it is truncated", false)                                                                       \
    X(extend, "something was added to it", false)                                                            \
    X(flip_head, "it has another format", false)                                                             \
    X(flip_key, "its bytes were changed", false)                                                             \
    X(flip_object, "its bytes were changed", false)                                                          \
    X(flip_sum, "its bytes were changed", false)                                                             \
    X(put_another, "it is the entry of another kernel", false)                                               \
    X(open_to_all, "others may write it", false)                                                             \
    X(link_to_it, "it is a link", false)                                                                     \
    X(pipe_instead, "it is no file", false)                                                                  \
    X(folder_instead, "it is no file", true)                                                                 \
    X(foreign, "it belongs to another user", false)

static lz_err *read_broken(const char *why)
{
    lz_cache_folder f;
    lz_cache_object o;
    char name[LZ_ENTRY_NAME];
    lz_native_entry_name(LZ_STR("one"), name);
    int was = honest;
    LZ_TRY(lz_cache_folder_open(false, &f));
    lz_err *e = lz_cache_folder_read(&f, name, &o);
    honest = was;
    lz_cache_folder_close(&f);
    return lz_check_err(e, LZ_ERR_MODEL, why);
}

/* Recognised, made again, and sound afterwards. */
static lz_err *try_damage(void (*damage)(const char *path), const char *why, bool stays)
{
    char path[300];
    bool made;
    new_folder();
    LZ_TRY(get("one", &made));
    LZ_TRY(get("other", &made));
    if (!there(file_of("one")) || !there(file_of("other")))
        return NULL; /* storing failed for want of memory */
    snprintf(path, sizeof path, "%s", file_of("one"));
    entry_size = slurp(path, entry, sizeof entry - 1);
    damage(path);
    lz_err *e = read_broken(why);
    if (!e)
        e = get("one", &made);
    honest = INT_MAX;
    LZ_TRY(e);
    assert_true(made);
    LZ_TRY(get("one", &made));
    assert_int_equal(made && sure(), stays && sure());
    if (stays)
        assert_int_equal(rmdir(path), 0);
    return NULL;
}

#define X(damage, why, stays)                                                                                \
    static lz_err *test_##damage(void)                                                                       \
    {                                                                                                        \
        return try_damage(damage, why, stays);                                                               \
    }
DAMAGES(X)
#undef X

/* ---- folders that cannot be used ---- */

static int warnings;

static void listen(void *user, lz_level level, const char *msg)
{
    (void)user;
    warnings += level == LZ_LOG_WARN && strstr(msg, "the cache of compiled kernels: ") != NULL
                && msg[strlen("the cache of compiled kernels: ")] != '\0';
}

static void off(void)
{
    setenv("LAZULI_CACHE", "off", 1);
}

static void neither_on_nor_off(void)
{
    setenv("LAZULI_CACHE", "maybe", 1);
}

static void no_size(void)
{
    setenv("LAZULI_CACHE_SIZE", "much", 1);
}

static void homeless(void)
{
    unsetenv("LAZULI_CACHE_DIR");
    unsetenv("XDG_CACHE_HOME");
    unsetenv("HOME");
}

static void home_not_there(void)
{
    unsetenv("LAZULI_CACHE_DIR");
    setenv("XDG_CACHE_HOME", "/nowhere/at/all", 1);
}

static void foreign_folder(void)
{
    honest = 0;
}

static void folder_open_to_all(void)
{
    assert_int_equal(mkdir(folder, 0700), 0);
    assert_int_equal(chmod(folder, 0770), 0);
}

static void linked_folder(void)
{
    char real[250];
    snprintf(real, sizeof real, "%s.real", folder);
    assert_int_equal(mkdir(real, 0700), 0);
    assert_int_equal(symlink(real, folder), 0);
    setenv("LAZULI_CACHE_DIR", in_folder(""), 1); /* with a slash behind it */
}

static void file_for_folder(void)
{
    plant(folder, "x", 1);
}

static void folder_in_a_file(void)
{
    plant(folder, "x", 1);
    setenv("LAZULI_CACHE_DIR", in_folder("below"), 1);
}

static void no_room(void)
{
    setenv("LAZULI_CACHE_SIZE", "800", 1);
}

static void full_disk(void)
{
    full = true;
}

static void (*const spoilers[])(void) = {
    off,           neither_on_nor_off, no_size,         homeless,         home_not_there, foreign_folder,
    linked_folder, folder_open_to_all, file_for_folder, folder_in_a_file, no_room,        full_disk,
};

static lz_err *try_spoiled(size_t i)
{
    bool made;
    new_folder();
    spoilers[i]();
    for (int k = 0; k < 2; k++) {
        LZ_TRY(get("one", &made));
        assert_true(made);
    }
    return NULL;
}

/* Everything works as without a cache. */
static lz_err *test_without(void)
{
    lz_err *e = NULL;
    char *home = getenv("HOME");
    char kept[200];
    snprintf(kept, sizeof kept, "%s", home ? home : "/");
    for (size_t i = 0; !e && i < sizeof spoilers / sizeof *spoilers; i++) {
        e = try_spoiled(i);
        honest = INT_MAX;
        full = false;
        unsetenv("LAZULI_CACHE");
        unsetenv("LAZULI_CACHE_SIZE");
        unsetenv("XDG_CACHE_HOME");
        setenv("HOME", kept, 1);
    }
    return e;
}

/* A disk that fills up leaves nothing behind. */
static lz_err *test_full(void)
{
    lz_cache_folder f;
    lz_cache_files all = { 0 };
    bool made;
    new_folder();
    full = true;
    lz_err *e = get("one", &made);
    full = false;
    LZ_TRY(e);
    LZ_TRY(lz_cache_folder_open(true, &f));
    size_t count = 0;
    uint64_t bytes;
    e = lz_cache_folder_list(&f, &all);
    assert_int_equal(all.len, 0);
    if (!e)
        e = lz_cache_folder_clear(&f, &count, &bytes);
    assert_true(e || count == 0);
    lz_cache_folder_close(&f);
    return e;
}

/* ---- who goes first ---- */

static void set_age(const char *path, int64_t seconds)
{
    struct timespec t[2] = { { .tv_nsec = UTIME_OMIT }, { .tv_sec = time(NULL) - seconds } };
    assert_int_equal(utimensat(AT_FDCWD, path, t, AT_SYMLINK_NOFOLLOW), 0);
}

static int64_t age_of(const char *path)
{
    struct stat st;
    struct timespec now; /* time() is some milliseconds late, and a new file would come from the future */
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(clock_gettime(CLOCK_REALTIME, &now), 0);
    return now.tv_sec - st.st_mtim.tv_sec;
}

static lz_err *test_touch(void)
{
    bool made;
    new_folder();
    LZ_TRY(get("one", &made));
    if (!there(file_of("one")))
        return NULL;
    set_age(file_of("one"), 40);
    LZ_TRY(get("one", &made));
    assert_true(age_of(file_of("one")) >= 40); /* not every time */
    set_age(file_of("one"), 80);
    LZ_TRY(get("one", &made));
    assert_true(made || age_of(file_of("one")) < 40);
    set_age(file_of("one"), -4000); /* clocks go wrong */
    LZ_TRY(get("one", &made));
    assert_true(made || age_of(file_of("one")) >= 0);
    return NULL;
}

static lz_err *fill(void)
{
    bool made;
    char key[16];
    for (int i = 0; i < 10; i++) { /* of about 1000 bytes each */
        snprintf(key, sizeof key, "k%02d", i);
        LZ_TRY(get(key, &made));
        if (there(file_of(key)))
            set_age(file_of(key), 1000 - i);
        LZ_TRY(get("k00", &made)); /* used all the time */
    }
    return NULL;
}

static lz_err *test_oldest_go(void)
{
    new_folder();
    setenv("LAZULI_CACHE_SIZE", "5K", 1);
    lz_err *e = fill();
    unsetenv("LAZULI_CACHE_SIZE");
    LZ_TRY(e);
    if (!sure())
        return NULL;
    static const char *const gone[] = { "k01", "k02", "k03", "k04" }, *const kept[] = { "k00", "k08", "k09" };
    for (size_t i = 0; i < sizeof gone / sizeof *gone; i++)
        assert_false(there(file_of(gone[i])));
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        assert_true(there(file_of(kept[i])));
    return NULL;
}

static pid_t dead_process(void)
{
    pid_t pid = fork();
    if (pid == 0)
        _exit(0);
    waitpid(pid, NULL, 0);
    return pid;
}

/* What is left of processes that died while they wrote, and what is not ours. */
static lz_err *test_left_behind(void)
{
    static pid_t dead;
    char left[64], old[64], now[64];
    bool made;
    dead = dead ? dead : dead_process();
    snprintf(left, sizeof left, ".new-%ld-1", (long)dead);
    snprintf(old, sizeof old, ".new-%ld-99997", (long)getpid());
    snprintf(now, sizeof now, ".new-%ld-99999", (long)getpid());
    new_folder();
    assert_int_equal(mkdir(folder, 0700), 0);
    const char *const names[] = { left, old, now, "notes.txt", ".new-x-1" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        plant(in_folder(names[i]), "x", 1);
    set_age(in_folder(old), 5000);
    setenv("LAZULI_CACHE_SIZE", "5K", 1);
    lz_err *e = get("one", &made);
    unsetenv("LAZULI_CACHE_SIZE");
    LZ_TRY(e);
    for (size_t i = 0; sure() && i < sizeof names / sizeof *names; i++)
        assert_int_equal(there(in_folder(names[i])), i >= 2);
    return NULL;
}

static lz_err *check_listing(const lz_cache_folder *f, lz_cache_files *all)
{
    size_t count;
    uint64_t bytes, sum = 0;
    LZ_TRY(lz_cache_folder_list(f, all));
    for (size_t i = 0; i < all->len; i++) {
        sum += all->data[i].size;
        assert_true(i == 0 || all->data[i - 1].used <= all->data[i].used);
    }
    LZ_TRY(lz_cache_folder_clear(f, &count, &bytes));
    assert_int_equal(count, all->len);
    assert_int_equal(bytes, sum);
    if (sure())
        assert_int_equal(count, 2);
    assert_false(there(file_of("one")) || there(file_of("two")));
    assert_true(there(in_folder("notes.txt")));
    return NULL;
}

static lz_err *test_list_and_clear(void)
{
    lz_cache_folder f;
    lz_cache_files all = { 0 };
    bool made;
    new_folder();
    LZ_TRY(get("one", &made));
    if (there(file_of("one")))
        set_age(file_of("one"), -10);
    LZ_TRY(get("two", &made));
    LZ_TRY(lz_cache_folder_open(true, &f));
    plant(in_folder("notes.txt"), "x", 1);
    lz_err *e = check_listing(&f, &all);
    lz_vec_deinit(&all);
    lz_cache_folder_close(&f);
    return e;
}

/* A folder in an entry's place cannot be removed; all else is, whichever comes first. */
static lz_err *test_clear_goes_on(void)
{
    static const char in_the_way[] = "0123456789abcdef0123456789abcdef.kernel";
    bool made;
    lz_cache_folder f;
    lz_cache_files all = { 0 };
    size_t count = 0;
    uint64_t bytes;
    new_folder();
    for (char key[] = "a"; *key <= 'h'; ++*key)
        LZ_TRY(get(key, &made));
    assert_int_equal(mkdir(in_folder(in_the_way), 0700), 0);
    LZ_TRY(lz_cache_folder_open(true, &f));
    lz_err *e = lz_check_err(lz_cache_folder_clear(&f, &count, &bytes), LZ_ERR_IO, in_the_way);
    if (!e)
        e = lz_cache_folder_list(&f, &all);
    assert_true(e || (all.len == 1 && strcmp(all.data[0].name, in_the_way) == 0));
    lz_vec_deinit(&all);
    lz_cache_folder_close(&f);
    return e;
}

static lz_err *test_a_link_is_called_a_link(void)
{
    lz_cache_folder f;
    new_folder();
    linked_folder();
    LZ_TRY(lz_check_err(lz_cache_folder_open(true, &f), LZ_ERR_MODEL, "is not used: it is a link"));
    new_folder();
    file_for_folder();
    return lz_check_err(lz_cache_folder_open(true, &f), LZ_ERR_IO, "open");
}

static lz_err *test_sizes(void)
{
    static const struct {
        const char *text;
        uint64_t bytes; /* UINT64_MAX: refused */
    } cases[] = {
        { "0", 0 },           { "1000", 1000 },           { "7K", 7 << 10 },
        { "3m", 3 << 20 },    { "2G", 2ull << 30 },       { "1t", 1ull << 40 },
        { "K", UINT64_MAX },  { "-1", UINT64_MAX },       { "1.5G", UINT64_MAX },
        { "1X", UINT64_MAX }, { "9999999T", UINT64_MAX }, { "1 M", UINT64_MAX },
    };
    uint64_t got;
    lz_err *e = NULL;
    for (size_t i = 0; !e && i < sizeof cases / sizeof *cases; i++) {
        setenv("LAZULI_CACHE_SIZE", cases[i].text, 1);
        e = lz_cache_folder_limit(&got);
        if (cases[i].bytes == UINT64_MAX)
            e = lz_check_err(e, LZ_ERR_ARG, cases[i].text);
        else
            assert_true(e || got == cases[i].bytes);
    }
    unsetenv("LAZULI_CACHE_SIZE");
    LZ_TRY(e);
    LZ_TRY(lz_cache_folder_limit(&got));
    assert_int_equal(got, 256 << 20);
    return NULL;
}

/* ---- many at once ---- */

enum { PROCESSES = 16, KEYS = 6, THREADS = 8 };

/* A slow one that leaves a mark in a file of its own. */
static lz_err *make_slowly(void *user, lz_text *out)
{
    const lz_str *key = user;
    char name[64];
    snprintf(name, sizeof name, "marks-%.*s", LZ_FMT(*key));
    int fd = open(in_folder(name), O_WRONLY | O_APPEND | O_CREAT, 0600);
    bool ok = write(fd, "x", 1) == 1;
    close(fd);
    usleep(3000);
    return ok ? make(user, out) : lz_errf(LZ_ERR_IO, "no mark");
}

static bool get_slowly(int i, lz_native_object_fn *maker)
{
    char name[16];
    snprintf(name, sizeof name, "key%d", i);
    lz_str key = lz_str_of(name);
    lz_native_object o;
    lz_err *e = lz_native_cache_get(key, maker, &key, &o);
    bool ok = !e && o.bytes.len == key.len * TIMES && memcmp(o.bytes.ptr, name, key.len) == 0;
    lz_native_object_deinit(&o);
    lz_err_free(e);
    return ok;
}

static void child(int number, int start)
{
    char c;
    bool ok = read(start, &c, 1) == 0; /* until the parent lets everybody go */
    for (int i = 0; i < KEYS; i++)
        ok = get_slowly((i + number / 4) % KEYS, make_slowly) && ok;
    _exit(ok ? 0 : 1);
}

static void assert_one_mark_each(void)
{
    for (int i = 0; i < KEYS; i++) {
        char name[32], marks[64];
        snprintf(name, sizeof name, "marks-key%d", i);
        assert_int_equal(slurp(in_folder(name), marks, sizeof marks), 1);
    }
}

static lz_err *test_processes(void)
{
    pid_t pids[PROCESSES];
    int start[2], status;
    if (!sure())
        return NULL;
    new_folder();
    assert_int_equal(mkdir(folder, 0700), 0);
    assert_int_equal(pipe(start), 0);
    for (int i = 0; i < PROCESSES; i++) {
        pids[i] = fork();
        if (pids[i] == 0) {
            close(start[1]);
            child(i, start[0]);
        }
    }
    close(start[0]);
    close(start[1]);
    for (int i = 0; i < PROCESSES; i++) {
        assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
        assert_int_equal(status, 0);
    }
    assert_one_mark_each();
    return NULL;
}

static void *get_all(void *user)
{
    atomic_int *failures = user;
    for (int i = 0; i < KEYS; i++)
        atomic_fetch_add(failures, !get_slowly(i, make_slowly));
    return NULL;
}

static lz_err *test_threads(void)
{
    pthread_t threads[THREADS];
    atomic_int failures = 0;
    if (!sure())
        return NULL;
    new_folder();
    assert_int_equal(mkdir(folder, 0700), 0);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, get_all, &failures), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(failures, 0);
    assert_one_mark_each();
    return NULL;
}

/* ---- a crowd in a small room ---- */

enum { CROWD = 6, STAY = 15, ROOM = 16 << 10 };

static void crowd(int number)
{
    bool ok = true;
    for (int i = 0; i < STAY; i++)
        ok = get_slowly(number * STAY + i, make) && get_slowly(i, make) && ok;
    _exit(ok ? 0 : 1);
}

static uint64_t bytes_kept(void)
{
    lz_cache_folder f;
    lz_cache_files all = { 0 };
    uint64_t sum = 0;
    lz_err *e = lz_cache_folder_open(false, &f);
    assert_null(e);
    e = lz_cache_folder_list(&f, &all);
    assert_null(e);
    for (size_t i = 0; i < all.len; i++)
        sum += all.data[i].size;
    lz_vec_deinit(&all);
    lz_cache_folder_close(&f);
    return sum;
}

/* All store and remove at the same time: every object is right, and the size is kept. */
static lz_err *test_crowd(void)
{
    pid_t pids[CROWD];
    int status;
    if (!sure())
        return NULL;
    new_folder();
    setenv("LAZULI_CACHE_SIZE", "16K", 1);
    for (int i = 0; i < CROWD; i++) {
        pids[i] = fork();
        if (pids[i] == 0)
            crowd(i);
    }
    for (int i = 0; i < CROWD; i++) {
        assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
        assert_int_equal(status, 0);
    }
    assert_true(get_slowly(CROWD * STAY, make));
    unsetenv("LAZULI_CACHE_SIZE");
    assert_in_range(bytes_kept(), ROOM / 2, ROOM);
    return NULL;
}

static int told; /* a pipe */

static lz_err *make_forever(void *user, lz_text *out)
{
    (void)user, (void)out;
    bool ok = write(told, "x", 1) == 1;
    for (;;)
        pause();
    return ok ? NULL : lz_errf(LZ_ERR_IO, "nobody listens");
}

/* A process that dies while it makes an object delays no other. */
static lz_err *test_death(void)
{
    int tell[2];
    char c;
    if (!sure())
        return NULL;
    new_folder();
    assert_int_equal(pipe(tell), 0);
    pid_t pid = fork();
    if (pid == 0) {
        told = tell[1];
        get_slowly(0, make_forever);
        _exit(1);
    }
    assert_int_equal(read(tell[0], &c, 1), 1); /* it has the lock */
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    close(tell[0]);
    close(tell[1]);
    time_t before = time(NULL);
    assert_true(get_slowly(0, make_slowly));
    assert_true(time(NULL) - before < 5);
    return NULL;
}

/* ---- a lock that is never given back ---- */

static atomic_int naps, gave_up;

int nanosleep(const struct timespec *requested_time, struct timespec *remaining)
{
    atomic_fetch_add(&naps, 1);
    return (int)syscall(SYS_nanosleep, requested_time, remaining);
}

static void count_giving_up(void *user, lz_level level, const char *text)
{
    (void)user;
    atomic_fetch_add(&gave_up, level == LZ_LOG_WARN && strstr(text, "without waiting") != NULL);
}

static void hold(const lz_cache_folder *f, const char *key, lz_cache_lock *out)
{
    char name[LZ_ENTRY_NAME];
    lz_native_entry_name(lz_str_of(key), name);
    lz_cache_lock_init(f, lz_hash64(name, sizeof name), out);
    assert_int_equal(lz_cache_lock_try(out), LZ_LOCK_MINE);
}

/* It holds up a process once, not for each kernel. The last test: this process has no patience left. */
static lz_err *test_held_locks(void)
{
    lz_cache_folder f;
    lz_cache_lock locks[3];
    if (!sure())
        return NULL;
    new_folder();
    LZ_TRY(lz_cache_folder_open(true, &f));
    lz_log_set(count_giving_up, NULL, LZ_LOG_WARN);
    hold(&f, "key0", &locks[0]);
    hold(&f, "key1", &locks[1]);
    hold(&f, "key2", &locks[2]);
    atomic_store(&naps, 0);
    assert_true(get_slowly(0, make));
    assert_int_equal(atomic_exchange(&naps, 0), 4000);
    assert_true(get_slowly(1, make) && get_slowly(2, make));
    assert_int_equal(naps, 0);
    assert_int_equal(gave_up, 1);
    lz_log_set(listen, NULL, LZ_LOG_WARN);
    for (int i = 0; i < 3; i++)
        lz_cache_lock_deinit(&locks[i]);
    lz_cache_folder_close(&f);
    return NULL;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LZ_TEST(test_second_time),
        LZ_TEST(test_failure_to_make),
#define X(damage, why, stays) LZ_TEST(test_##damage),
        DAMAGES(X)
#undef X
            LZ_TEST(test_without),
        LZ_TEST(test_full),
        LZ_TEST(test_touch),
        LZ_TEST(test_oldest_go),
        LZ_TEST(test_left_behind),
        LZ_TEST(test_clear_goes_on),
        LZ_TEST(test_a_link_is_called_a_link),
        LZ_TEST(test_sizes),
        LZ_TEST(test_list_and_clear),
        LZ_TEST(test_processes),
        LZ_TEST(test_threads),
        LZ_TEST(test_crowd),
        LZ_TEST(test_death),
        LZ_TEST(test_held_locks),
    };
    lz_log_set(listen, NULL, LZ_LOG_WARN);
    umask(022);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    return failed || warnings != 1; /* what is wrong is said, and once */
}
