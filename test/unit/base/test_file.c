#include "base/file.h"
#include "base/mem.h"
#include "check.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* The program's definitions win over the C library's, so each of these calls can be
 * made to fail or to do its work in small pieces. */
static struct {
    const char *call;
    int error, times;
    bool piecemeal;
    bool nameless; /* the file system has files without names */
    bool race;     /* someone else takes the next new file's name just before */
    char taken[256];
} fault;

enum { PIECE = 7 };

static bool hit(const char *call)
{
    if (!fault.call || strcmp(fault.call, call) != 0 || fault.times == 0)
        return false;
    fault.times--;
    errno = fault.error;
    return true;
}

static size_t piece(size_t n)
{
    return fault.piecemeal && n > PIECE ? PIECE : n;
}

ssize_t write(int fd, const void *buf, size_t n)
{
    return hit("write") ? -1 : syscall(SYS_write, fd, buf, piece(n));
}

ssize_t read(int fd, void *buf, size_t nbytes)
{
    return hit("read") ? -1 : syscall(SYS_read, fd, buf, piece(nbytes));
}

static void take(const char *path)
{
    if (!fault.race)
        return;
    long fd = syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT, 0600);
    assert_true(fd >= 0);
    assert_int_equal(syscall(SYS_write, fd, "theirs", 6), 6);
    syscall(SYS_close, fd);
    snprintf(fault.taken, sizeof fault.taken, "%s", path);
    fault.race = false;
}

int open(const char *file, int oflag, ...)
{
    va_list ap;
    va_start(ap, oflag);
    bool nameless = (oflag & O_TMPFILE) == O_TMPFILE;
    int mode = oflag & O_CREAT || nameless ? va_arg(ap, int) : 0;
    va_end(ap);
    if (nameless && !fault.nameless) {
        errno = EOPNOTSUPP;
        return -1;
    }
    if (oflag & O_CREAT)
        take(file);
    return hit("open") ? -1 : (int)syscall(SYS_openat, AT_FDCWD, file, oflag, mode);
}

int fsync(int fd)
{
    return hit("fsync") ? -1 : (int)syscall(SYS_fsync, fd);
}

int rename(const char *old, const char *new)
{
    return hit("rename") ? -1 : (int)syscall(SYS_renameat2, AT_FDCWD, old, AT_FDCWD, new, 0);
}

int linkat(int fromfd, const char *from, int tofd, const char *to, int flags)
{
    take(to);
    return hit("linkat") ? -1 : (int)syscall(SYS_linkat, fromfd, from, tofd, to, flags);
}

int close(int fd)
{
    int rc = (int)syscall(SYS_close, fd); /* as Linux does: closed even when it complains */
    return hit("close") ? -1 : rc;
}

static void plant(const char *path, lz_str data)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(data.ptr, 1, data.len, f), data.len);
    fclose(f);
}

static void assert_holds(const char *path, lz_str data)
{
    static char buf[1 << 17];
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    size_t n = fread(buf, 1, sizeof buf, f);
    fclose(f);
    assert_true(lz_str_eq((lz_str){ buf, n }, data));
}

/* Bytes of every value, longer than any buffer of file.c; main fills them in. */
static char noise_bytes[100003];

static lz_str noise(void)
{
    return (lz_str){ noise_bytes, sizeof noise_bytes };
}

static void make_noise(void)
{
    uint32_t x = 1;
    for (size_t i = 0; i < sizeof noise_bytes; i++) {
        x = x * 1664525u + 1013904223u;
        noise_bytes[i] = (char)(x >> 24);
    }
}

static unsigned long inode(const char *path)
{
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    return st.st_ino;
}

static lz_err *read_and_compare(const char *path, size_t most, lz_str want)
{
    char *got = NULL;
    size_t len = 0;
    LZ_TRY(lz_file_read(path, most, &len, &got));
    assert_true(lz_str_eq((lz_str){ got, len }, want));
    assert_int_equal(got[len], 0);
    lz_mem_free(got);
    return NULL;
}

static lz_err *test_read_gives_every_byte(void)
{
    plant("noise", noise());
    plant("empty", LZ_STR(""));
    LZ_TRY(read_and_compare("noise", SIZE_MAX, noise()));
    LZ_TRY(read_and_compare("noise", noise().len, noise()));
    LZ_TRY(read_and_compare("empty", 0, LZ_STR("")));
    fault.piecemeal = true;
    lz_err *e = read_and_compare("noise", SIZE_MAX, noise());
    fault.piecemeal = false;
    return e;
}

static lz_err *test_read_survives_interruption(void)
{
    plant("a", LZ_STR("interrupted"));
    fault.call = "read", fault.error = EINTR, fault.times = 3;
    lz_err *e = read_and_compare("a", 100, LZ_STR("interrupted"));
    assert_true(e || fault.times == 0);
    fault.times = 0;
    return e;
}

/* A pipe tells no size. */
static lz_err *test_read_takes_pipes(void)
{
    int ends[2];
    char path[32];
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], noise().ptr, 20000), 20000);
    close(ends[1]);
    snprintf(path, sizeof path, "/dev/fd/%d", ends[0]);
    lz_err *e = read_and_compare(path, SIZE_MAX, lz_str_sub(noise(), 0, 20000));
    close(ends[0]);
    return e;
}

/* The pipe has no writer, so opening it for reading would wait for ever. */
static lz_err *test_named_pipes_are_refused(void)
{
    char *got;
    bool wrote;
    unlink("fifo");
    assert_int_equal(mkfifo("fifo", 0600), 0);
    LZ_TRY(lz_check_err(lz_file_read("fifo", 9, NULL, &got), LZ_ERR_IO,
                        "open fifo: a named pipe; expected a file"));
    LZ_TRY(lz_check_err(lz_file_update("fifo", LZ_STR("x"), 0600, 0, &wrote), LZ_ERR_IO,
                        "open fifo: a named pipe"));
    LZ_TRY(lz_check_err(lz_file_replace("fifo", LZ_STR("x"), 0600, 0), LZ_ERR_ARG,
                        "fifo: not a regular file; refusing to replace it"));
    return NULL;
}

static lz_err *test_read_keeps_to_the_limit(void)
{
    char *got;
    plant("noise", noise());
    LZ_TRY(lz_check_err(lz_file_read("noise", noise().len - 1, NULL, &got), LZ_ERR_LIMIT,
                        " noise: longer than 100002 bytes"));
    return lz_check_err(lz_file_read("/dev/zero", 50000, NULL, &got), LZ_ERR_LIMIT,
                        "/dev/zero: longer than 50000 bytes");
}

static lz_err *test_read_errors_name_path_and_reason(void)
{
    char *got;
    plant("a", LZ_STR("x"));
    LZ_TRY(lz_check_err(lz_file_read("none", 9, NULL, &got), LZ_ERR_NOT_FOUND,
                        " none: No such file or directory"));
    LZ_TRY(lz_check_err(lz_file_read("a/b", 9, NULL, &got), LZ_ERR_IO, " a/b: Not a directory"));
    LZ_TRY(lz_check_err(lz_file_read("/proc", 9, NULL, &got), LZ_ERR_IO, "/proc: Is a directory"));
    fault.call = "read", fault.error = EIO, fault.times = 1;
    lz_err *e = lz_check_err(lz_file_read("a", 9, NULL, &got), LZ_ERR_IO, " a: Input/output error");
    fault.times = 0;
    return e;
}

static lz_err *test_map_shows_the_file(void)
{
    lz_file_map m = { 0 }, empty = { 0 };
    plant("noise", noise());
    plant("empty", LZ_STR(""));
    LZ_TRY(lz_file_map_open("noise", &m));
    assert_true(lz_str_eq((lz_str){ m.data, m.len }, noise()));
    lz_err *e = lz_file_map_open("empty", &empty);
    if (!e) {
        assert_non_null(empty.data);
        assert_int_equal(empty.len, 0);
    }
    lz_file_map_close(&empty);
    lz_file_map_close(&m);
    assert_int_equal(m.len, 0);
    lz_file_map_close(&m);
    return e;
}

static lz_err *test_map_refuses_what_is_no_file(void)
{
    lz_file_map m;
    unlink("fifo");
    assert_int_equal(mkfifo("fifo", 0600), 0);
    LZ_TRY(lz_check_err(lz_file_map_open(lz_check_dir(), &m), LZ_ERR_IO, ": Is a directory"));
    LZ_TRY(lz_check_err(lz_file_map_open("fifo", &m), LZ_ERR_IO, " fifo: not a regular file"));
    return lz_check_err(lz_file_map_open("none", &m), LZ_ERR_NOT_FOUND, " none: No such file");
}

/* A folder with one file "f" and, after whatever failed, nothing else. */
static const char *only_f(lz_str data)
{
    mkdir("only", 0700);
    plant("only/f", data);
    return "only/f";
}

static void assert_nothing_else(void)
{
    size_t n = 0;
    DIR *d = opendir("only");
    assert_non_null(d);
    for (const struct dirent *f = readdir(d); f; f = readdir(d))
        n += strcmp(f->d_name, ".") != 0 && strcmp(f->d_name, "..") != 0;
    closedir(d);
    assert_int_equal(n, 1);
}

static lz_err *test_replace_is_another_file(void)
{
    const char *path = only_f(LZ_STR("old"));
    lz_file_map before = { 0 };
    LZ_TRY(lz_file_map_open(path, &before));
    lz_err *e = lz_file_replace(path, noise(), 0600, LZ_FILE_SYNC_FOLDER);
    assert_true(lz_str_eq((lz_str){ before.data, before.len }, LZ_STR("old")));
    lz_file_map_close(&before);
    if (lz_err_code(e) != LZ_ERR_MEMORY)
        assert_holds(path, noise());
    return e;
}

static lz_err *test_replace_applies_mode_and_umask(void)
{
    static const struct {
        mode_t umask, mode, want;
    } cases[] = { { 022, 0666, 0644 }, { 077, 0755, 0700 }, { 0, 0600, 0600 }, { 0777, 0644, 0 } };
    const char *path = only_f(LZ_STR("old"));
    lz_err *e = NULL;
    mode_t old = umask(022);
    for (size_t i = 0; !e && i < sizeof cases / sizeof *cases; i++) {
        struct stat st;
        umask(cases[i].umask);
        e = lz_file_replace(path, LZ_STR("new"), cases[i].mode, 0);
        assert_int_equal(stat(path, &st), 0);
        if (!e)
            assert_int_equal(st.st_mode & 07777, cases[i].want);
    }
    umask(old);
    unlink(path);
    return e;
}

static lz_err *test_replace_writes_all_in_spite_of_the_system(void)
{
    static const char *const calls[] = { "write", "fsync", "open" };
    const char *path = only_f(LZ_STR("old"));
    lz_err *e = NULL;
    fault.piecemeal = true;
    for (size_t i = 0; !e && i < 3; i++) {
        fault.call = calls[i], fault.error = EINTR, fault.times = 3;
        lz_str data = lz_str_sub(noise(), 0, 1000 + i);
        e = lz_file_replace(path, data, 0600, 0);
        assert_true(e || fault.times == 0);
        if (!e)
            assert_holds(path, data);
    }
    fault.piecemeal = false;
    fault.times = 0;
    return e;
}

static lz_err *passes_over_taken_names(bool nameless)
{
    const char *path = only_f(LZ_STR("old"));
    fault.race = true;
    fault.nameless = nameless;
    fault.taken[0] = '\0';
    lz_err *e = lz_file_replace(path, LZ_STR("new"), 0600, 0);
    fault.race = false;
    if (e)
        return e; /* out of memory for the name, before any was taken */
    assert_holds(fault.taken, LZ_STR("theirs"));
    unlink(fault.taken);
    assert_holds(path, LZ_STR("new"));
    assert_nothing_else();
    return NULL;
}

static lz_err *test_replace_passes_over_taken_names(void)
{
    LZ_TRY(passes_over_taken_names(false));
    return passes_over_taken_names(true);
}

static lz_err *test_failed_replace_leaves_the_old_file_alone(void)
{
    static const struct {
        const char *call, *text;
        int error;
        bool nameless;
    } cases[] = {
        { "open", "create ", EROFS, false },    { "write", "write ", ENOSPC, false },
        { "fsync", "sync ", EIO, false },       { "rename", "replace ", EACCES, false },
        { "close", "close ", EDQUOT, false },   { "write", "write ", ENOSPC, true },
        { "fsync", "sync ", EIO, true },        { "linkat", "create ", EDQUOT, true },
        { "rename", "replace ", EACCES, true }, { "close", "close ", EDQUOT, true },
    };
    const char *path = only_f(LZ_STR("old"));
    lz_err *e = NULL;
    for (size_t i = 0; !e && i < sizeof cases / sizeof *cases; i++) {
        fault.call = cases[i].call, fault.error = cases[i].error, fault.times = 1;
        fault.nameless = cases[i].nameless;
        e = lz_file_replace(path, LZ_STR("new"), 0600, 0);
        fault.times = 0;
        if (lz_err_code(e) == LZ_ERR_IO) {
            assert_non_null(strstr(lz_err_text(e), strerrordesc_np(cases[i].error)));
            assert_non_null(strstr(lz_err_text(e), path));
        }
        e = lz_check_err(e, LZ_ERR_IO, cases[i].text);
        assert_holds(path, LZ_STR("old"));
        assert_nothing_else();
    }
    return e;
}

/* The kernel itself writes short here, then refuses. The signal that it sends would end this process. */
static lz_err *test_full_disk_leaves_the_old_file_alone(void)
{
    const char *path = only_f(LZ_STR("old"));
    struct rlimit old, small;
    sigset_t pending;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    small = (struct rlimit){ 1000, old.rlim_max };
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    lz_err *e = lz_file_replace(path, noise(), 0600, 0);
    setrlimit(RLIMIT_FSIZE, &old);
    e = lz_check_err(e, LZ_ERR_IO, "File too large");
    assert_holds(path, LZ_STR("old"));
    assert_nothing_else();
    sigpending(&pending);
    assert_false(sigismember(&pending, SIGXFSZ));
    return e;
}

/* A program that has blocked the signal keeps one that was pending before. */
static lz_err *test_a_signal_of_the_program_stays(void)
{
    sigset_t limit, old, pending;
    const struct timespec at_once = { 0 };
    int fd = open("/dev/full", O_WRONLY);
    sigemptyset(&limit);
    sigaddset(&limit, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &limit, &old);
    pthread_kill(pthread_self(), SIGXFSZ);
    assert_int_equal(lz_fd_write(fd, LZ_STR("x")), ENOSPC);
    fault.call = "write", fault.error = EFBIG, fault.times = 1;
    assert_int_equal(lz_fd_write(fd, LZ_STR("x")), EFBIG);
    sigpending(&pending);
    assert_true(sigismember(&pending, SIGXFSZ));
    assert_int_equal(sigtimedwait(&limit, NULL, &at_once), SIGXFSZ);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    close(fd);
    return NULL;
}

static void assert_link(const char *path, const char *to)
{
    char got[256] = "";
    assert_int_equal(readlink(path, got, sizeof got - 1), (ssize_t)strlen(to));
    assert_string_equal(got, to);
}

/* The links stay, and what they lead to is replaced or made: in another folder, over two links, relative to
 * the folder of each. */
static lz_err *test_replace_writes_through_links(void)
{
    static const char *const links[][2] = { { "links/first", "../links/second" },
                                            { "links/second", "deep/file" } };
    mkdir("links", 0700);
    mkdir("links/deep", 0700);
    unlink("links/deep/file");
    for (size_t i = 0; i < 2; i++) {
        unlink(links[i][0]);
        assert_int_equal(symlink(links[i][1], links[i][0]), 0);
    }
    for (int round = 0; round < 2; round++) { /* there is no file yet; there is one */
        lz_str data = lz_str_sub(noise(), 0, 100 + (size_t)round);
        LZ_TRY(lz_file_replace("links/first", data, 0600, LZ_FILE_SYNC_FOLDER));
        assert_holds("links/deep/file", data);
        for (size_t i = 0; i < 2; i++)
            assert_link(links[i][0], links[i][1]);
    }
    unlink("loop");
    assert_int_equal(symlink("loop", "loop"), 0);
    return lz_check_err(lz_file_replace("loop", LZ_STR("x"), 0600, 0), LZ_ERR_IO,
                        "create loop: Too many levels");
}

/* A process that is killed while it writes leaves no file, where the file system has files without names. */
static lz_err *test_killed_writer_leaves_nothing(void)
{
    const char *path = only_f(LZ_STR("old"));
    int ends[2], fd = (int)syscall(SYS_openat, AT_FDCWD, "only", O_WRONLY | O_TMPFILE, 0600);
    char c;
    fault.nameless = true;
    if (fd < 0 || lz_check_failing())
        return NULL; /* there are no such files here; or the child would fail instead */
    close(fd);
    assert_int_equal(pipe(ends), 0);
    pid_t pid = fork();
    if (pid == 0) {
        lz_file_writer w;
        lz_err *e = lz_file_writer_open(&w, path, 0600);
        e = e ? e : lz_file_writer_put(&w, noise());
        if (syscall(SYS_write, ends[1], e ? "n" : "y", 1) == 1)
            pause();
        _exit(1);
    }
    assert_int_equal(read(ends[0], &c, 1), 1);
    assert_int_equal(c, 'y');
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    close(ends[0]);
    close(ends[1]);
    assert_nothing_else();
    assert_holds(path, LZ_STR("old"));
    return NULL;
}

static lz_err *test_replace_refuses_wrong_places(void)
{
    mkdir("folder", 0700);
    LZ_TRY(lz_check_err(lz_file_replace("folder", LZ_STR("x"), 0600, 0), LZ_ERR_ARG,
                        "folder: not a regular file; refusing to replace it"));
    return lz_check_err(lz_file_replace("no/such", LZ_STR("x"), 0600, 0), LZ_ERR_NOT_FOUND,
                        " no/such: No such file or directory");
}

static lz_err *test_replace_takes_a_bare_name(void)
{
    LZ_TRY(lz_file_replace("bare", LZ_STR("x"), 0600, LZ_FILE_SYNC_FOLDER));
    assert_holds("bare", LZ_STR("x"));
    return NULL;
}

/* A sync would find the fault. */
static lz_err *test_replace_syncs_unless_told_otherwise(void)
{
    const char *path = only_f(LZ_STR("old"));
    fault.call = "fsync", fault.error = EIO, fault.times = 1;
    lz_err *e = lz_file_replace(path, LZ_STR("new"), 0600, LZ_FILE_NO_SYNC);
    assert_int_equal(fault.times, 1);
    assert_holds(path, e ? LZ_STR("old") : LZ_STR("new"));
    if (!e)
        e = lz_check_err(lz_file_replace(path, LZ_STR("other"), 0600, 0), LZ_ERR_IO, "sync ");
    fault.times = 0;
    assert_nothing_else();
    return e;
}

enum { ROUNDS = 200 };
static atomic_bool done;

static void *keep_replacing(void *path)
{
    lz_err *e = NULL;
    for (size_t i = 0; !e && i < ROUNDS; i++)
        e = lz_file_replace(path, lz_str_sub(noise(), 0, 20000 + i % 2 * 50000), 0600, 0);
    atomic_store(&done, true);
    return e;
}

/* Two writers at once, and a reader who always finds one whole version. */
static lz_err *test_readers_see_whole_files(void)
{
    if (lz_check_failing())
        return NULL; /* what the threads allocate first differs from run to run */
    const char *path = only_f(lz_str_sub(noise(), 0, 20000));
    pthread_t writers[2];
    atomic_store(&done, false);
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&writers[i], NULL, keep_replacing, (void *)path), 0);
    while (!atomic_load(&done)) {
        char *got;
        size_t len;
        lz_err *e = lz_file_read(path, SIZE_MAX, &len, &got);
        assert_null(e);
        assert_true(len == 20000 || len == 70000);
        assert_memory_equal(got, noise().ptr, len);
        lz_mem_free(got);
    }
    for (size_t i = 0; i < 2; i++) {
        void *e = NULL;
        pthread_join(writers[i], &e);
        assert_null(e);
    }
    assert_nothing_else();
    return NULL;
}

static lz_err *test_update_writes_only_changes(void)
{
    static const struct {
        size_t from, to;
        bool writes;
    } cases[] = {
        { 0, 50000, true },     { 0, 50000, false },     { 0, 49999, true }, { 0, 50000, true },
        { 50000, 99999, true }, { 50000, 99999, false }, { 0, 0, true },     { 0, 0, false },
    };
    const char *path = "updated";
    unlink(path);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bool wrote = !cases[i].writes;
        lz_str data = lz_str_sub(noise(), cases[i].from, cases[i].to);
        unsigned long before = i ? inode(path) : 0;
        LZ_TRY(lz_file_update(path, data, 0600, 0, &wrote));
        assert_int_equal(wrote, cases[i].writes);
        assert_int_equal(inode(path) != before, cases[i].writes);
        assert_holds(path, data);
    }
    return NULL;
}

static lz_err *test_update_passes_errors_on(void)
{
    bool wrote;
    plant("updated", LZ_STR("abc"));
    LZ_TRY(lz_check_err(lz_file_update("/proc", LZ_STR("x"), 0600, 0, &wrote), LZ_ERR_IO, "/proc: Is a dir"));
    fault.call = "read", fault.error = EIO, fault.times = 1;
    lz_err *e = lz_file_update("updated", LZ_STR("abd"), 0600, 0, &wrote);
    fault.times = 0;
    return lz_check_err(e, LZ_ERR_IO, " updated: Input/output error");
}

static lz_err *test_stat_tells_what_was_set(void)
{
    const struct timespec times[2] = { { 1, 2 }, { 1234567890, 123456789 } };
    lz_file_info i;
    plant("info", LZ_STR("twelve bytes"));
    assert_int_equal(chmod("info", 0640), 0);
    assert_int_equal(utimensat(AT_FDCWD, "info", times, 0), 0);
    LZ_TRY(lz_file_stat("info", &i));
    assert_int_equal(i.size, 12);
    assert_int_equal(i.mtime_ns, 1234567890123456789);
    assert_int_equal(i.owner, geteuid());
    assert_int_equal(i.mode, S_IFREG | 0640);
    LZ_TRY(lz_file_stat(lz_check_dir(), &i));
    assert_true(S_ISDIR(i.mode));
    return lz_check_err(lz_file_stat("none", &i), LZ_ERR_NOT_FOUND, " none: No such file");
}

/* In the scratch folder, so that bare names will do. */
int main(void)
{
    make_noise();
    if (chdir(lz_check_dir()) != 0)
        return 1;
    const struct CMUnitTest tests[] = {
        LZ_TEST(test_read_gives_every_byte),
        LZ_TEST(test_read_survives_interruption),
        LZ_TEST(test_read_takes_pipes),
        LZ_TEST(test_named_pipes_are_refused),
        LZ_TEST(test_read_keeps_to_the_limit),
        LZ_TEST(test_read_errors_name_path_and_reason),
        LZ_TEST(test_map_shows_the_file),
        LZ_TEST(test_map_refuses_what_is_no_file),
        LZ_TEST(test_replace_is_another_file),
        LZ_TEST(test_replace_applies_mode_and_umask),
        LZ_TEST(test_replace_writes_all_in_spite_of_the_system),
        LZ_TEST(test_replace_passes_over_taken_names),
        LZ_TEST(test_failed_replace_leaves_the_old_file_alone),
        LZ_TEST(test_full_disk_leaves_the_old_file_alone),
        LZ_TEST(test_a_signal_of_the_program_stays),
        LZ_TEST(test_replace_writes_through_links),
        LZ_TEST(test_killed_writer_leaves_nothing),
        LZ_TEST(test_replace_refuses_wrong_places),
        LZ_TEST(test_replace_takes_a_bare_name),
        LZ_TEST(test_replace_syncs_unless_told_otherwise),
        LZ_TEST(test_readers_see_whole_files),
        LZ_TEST(test_update_writes_only_changes),
        LZ_TEST(test_update_passes_errors_on),
        LZ_TEST(test_stat_tells_what_was_set),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
