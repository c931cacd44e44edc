/* Replaces a file atomically, and writes under a limit of file sizes. */
#include "base/file.h"
#include "base/mem.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TEMP_NAME = 64, PROC_NAME = 32, LINKS_MOST = 40, TARGET_MOST = 4096 };

/* ---- writing ---- */

static int write_all(int fd, lz_str data)
{
    while (data.len) {
        ssize_t put = write(fd, data.ptr, data.len);
        if (put < 0 && errno != EINTR)
            return errno;
        data = lz_str_sub(data, put < 0 ? 0 : (size_t)put, data.len);
    }
    return 0;
}

/* Beyond RLIMIT_FSIZE the kernel sends SIGXFSZ to the writing thread; by default that ends the process. The
 * signal's disposition belongs to the program, so this blocks the signal and consumes the one that it
 * caused. */
int lz_fd_write(int fd, lz_str data)
{
    const struct timespec at_once = { 0 };
    sigset_t limit, pending, old;
    sigemptyset(&limit);
    sigaddset(&limit, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &limit, &old);
    sigpending(&pending);
    int error = write_all(fd, data);
    if (error == EFBIG && !sigismember(&pending, SIGXFSZ))
        while (sigtimedwait(&limit, NULL, &at_once) < 0 && errno == EINTR)
            ;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return error;
}

/* ---- the target ---- */

/* The target of the link `path`, relative to the same folder as `path`. *out NULL: `path` is no link. */
static lz_err *follow_once(const char *path, char **out)
{
    char to[TARGET_MOST];
    ssize_t n = readlink(path, to, sizeof to);
    *out = NULL;
    if (n < 0)
        return NULL; /* creating a file there gives a better error */
    if ((size_t)n == sizeof to)
        return lz_err_errno(ENAMETOOLONG, "read link", path);
    lz_str folder = n && to[0] == '/' ? LZ_STR("") : lz_file_folder(path);
    *out = lz_mem_alloc(folder.len + (size_t)n + 1);
    if (!*out)
        return lz_err_oom();
    snprintf(*out, folder.len + (size_t)n + 1, "%.*s%.*s", LZ_FMT(folder), (int)n, to);
    return NULL;
}

/* The file at the end of a chain of links, which need not exist. */
static lz_err *follow_links(const char *path, char **out)
{
    size_t size = strlen(path) + 1;
    char *at = lz_mem_alloc(size);
    if (!at)
        return lz_err_oom();
    memcpy(at, path, size);
    for (int i = 0; i < LINKS_MOST; i++) {
        char *next;
        lz_err *e = follow_once(at, &next);
        if (!e && !next) {
            *out = at;
            return NULL;
        }
        lz_mem_free(at);
        LZ_TRY(e);
        at = next;
    }
    lz_mem_free(at);
    return lz_err_errno(ELOOP, "create", path);
}

static void name_temp(lz_file_writer *w)
{
    static atomic_uint serial;
    lz_str folder = lz_file_folder(w->target);
    snprintf(w->temp, folder.len + TEMP_NAME, "%.*s.lazuli-%ld-%u.tmp", LZ_FMT(folder), (long)getpid(),
             atomic_fetch_add(&serial, 1));
}

/* A file without a name disappears with the process that writes it. Not every file system supports unnamed
 * files, and giving them a name needs /proc. */
static bool create_nameless(lz_file_writer *w, mode_t mode)
{
    lz_str folder = lz_file_folder(w->target);
    if (access("/proc/self/fd", X_OK) != 0)
        return false;
    snprintf(w->temp, folder.len + TEMP_NAME, "%.*s", LZ_FMT(folder.len ? folder : LZ_STR(".")));
    do
        w->fd = open(w->temp, O_WRONLY | O_TMPFILE | O_CLOEXEC, mode);
    while (w->fd < 0 && errno == EINTR);
    return w->fd >= 0;
}

/* Names contain the process id and a serial number; O_EXCL skips names that dead processes left. */
static lz_err *create_named(lz_file_writer *w, mode_t mode)
{
    do {
        name_temp(w);
        w->fd = open(w->temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    } while (w->fd < 0 && (errno == EEXIST || errno == EINTR));
    w->named = w->fd >= 0;
    return w->fd < 0 ? lz_err_errno(errno, "create", w->path) : NULL;
}

/* A rename would replace a device, a pipe or a socket by a file. */
static lz_err *check_target(const lz_file_writer *w)
{
    struct stat st;
    if (stat(w->target, &st) != 0 || S_ISREG(st.st_mode))
        return NULL;
    return lz_errf(LZ_ERR_ARG, "%s: not a regular file; refusing to replace it", w->path);
}

static lz_err *create(lz_file_writer *w, mode_t mode)
{
    LZ_TRY(check_target(w));
    w->temp = lz_mem_alloc(lz_file_folder(w->target).len + TEMP_NAME);
    return !w->temp ? lz_err_oom() : create_nameless(w, mode) ? NULL : create_named(w, mode);
}

lz_err *lz_file_writer_open(lz_file_writer *w, const char *path, mode_t mode)
{
    *w = (lz_file_writer){ .path = path, .fd = -1 };
    LZ_TRY(follow_links(path, &w->target));
    lz_err *e = create(w, mode);
    if (e) {
        lz_mem_free(w->temp);
        lz_mem_free(w->target);
    }
    return e;
}

lz_err *lz_file_writer_put(lz_file_writer *w, lz_str data)
{
    int error = lz_fd_write(w->fd, data);
    return error ? lz_err_errno(error, "write", w->path) : NULL;
}

/* ---- naming the file ---- */

/* linkat cannot replace a file, so the file gets a temporary name just before the rename. */
static lz_err *give_name(lz_file_writer *w)
{
    char proc[PROC_NAME];
    int rc;
    snprintf(proc, sizeof proc, "/proc/self/fd/%d", w->fd);
    do {
        name_temp(w);
        rc = linkat(AT_FDCWD, proc, AT_FDCWD, w->temp, AT_SYMLINK_FOLLOW);
    } while (rc != 0 && errno == EEXIST);
    w->named = rc == 0;
    return rc != 0 ? lz_err_errno(errno, "create", w->path) : NULL;
}

static lz_err *sync_fd(int fd, const char *path)
{
    int rc;
    do
        rc = fsync(fd);
    while (rc != 0 && errno == EINTR);
    return rc != 0 ? lz_err_errno(errno, "sync", path) : NULL;
}

static lz_err *open_folder(const lz_file_writer *w, int *out)
{
    lz_str folder = lz_file_folder(w->target);
    char *name = lz_mem_alloc(folder.len + 2);
    if (!name)
        return lz_err_oom();
    snprintf(name, folder.len + 2, "%.*s", LZ_FMT(folder.len ? folder : LZ_STR(".")));
    do
        *out = open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    while (*out < 0 && errno == EINTR);
    lz_err *e = *out < 0 ? lz_err_errno(errno, "open", name) : NULL;
    lz_mem_free(name);
    return e;
}

/* Everything that can fail is done before the rename, except syncing the folder. */
static lz_err *rename_and_sync(const lz_file_writer *w, int folder)
{
    if (rename(w->temp, w->target) != 0)
        return lz_err_errno(errno, "replace", w->path);
    return folder >= 0 ? sync_fd(folder, w->path) : NULL;
}

lz_err *lz_file_writer_close(lz_file_writer *w, lz_err *e, unsigned flags)
{
    int folder = -1;
    if (!e && !(flags & LZ_FILE_NO_SYNC))
        e = sync_fd(w->fd, w->path);
    if (!e && (flags & LZ_FILE_SYNC_FOLDER))
        e = open_folder(w, &folder);
    if (!e && !w->named)
        e = give_name(w);
    if (close(w->fd) != 0 && !e)
        e = lz_err_errno(errno, "close", w->path);
    if (!e)
        e = rename_and_sync(w, folder);
    if (e && w->named)
        unlink(w->temp);
    if (folder >= 0)
        close(folder);
    lz_mem_free(w->temp);
    lz_mem_free(w->target);
    return e;
}

lz_err *lz_file_replace(const char *path, lz_str data, mode_t mode, unsigned flags)
{
    lz_file_writer w;
    LZ_TRY(lz_file_writer_open(&w, path, mode));
    return lz_file_writer_close(&w, lz_file_writer_put(&w, data), flags);
}

static lz_err *fill_new(int fd, const char *path, lz_str data)
{
    int error = lz_fd_write(fd, data);
    if (close(fd) != 0 && !error)
        error = errno;
    if (!error)
        return NULL;
    unlink(path);
    return lz_err_errno(error, "write", path);
}

lz_err *lz_file_create(const char *path, lz_str data, mode_t mode, bool *out)
{
    int fd;
    do
        fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    while (fd < 0 && errno == EINTR);
    *out = fd >= 0;
    if (fd < 0)
        return errno == EEXIST ? NULL : lz_err_errno(errno, "create", path);
    return fill_new(fd, path, data);
}
