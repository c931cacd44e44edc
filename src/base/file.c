#include "base/file.h"
#include "base/mem.h"
#include "base/vec.h"
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CHUNK = 8192, TEMP_NAME = 64 };

typedef LZ_VEC(char) bytes;

static lz_err *open_file(const char *path, int flags, mode_t mode, int *out)
{
    do
        *out = open(path, flags | O_CLOEXEC, mode);
    while (*out < 0 && errno == EINTR);
    return *out < 0 ? lz_err_errno(errno, "open", path) : NULL;
}

static ssize_t read_some(int fd, char *buf, size_t size)
{
    ssize_t got;
    do
        got = read(fd, buf, size);
    while (got < 0 && errno == EINTR);
    return got;
}

static lz_err *too_long(const char *path, size_t most)
{
    return lz_errf(LZ_ERR_LIMIT, "read %s: longer than %zu bytes", path, most);
}

/* Adds a NUL. The size is only a hint: pipes and /proc have none, and a file may grow meanwhile. */
static lz_err *read_all(int fd, const char *path, size_t most, bytes *b)
{
    struct stat st;
    if (fstat(fd, &st) != 0)
        return lz_err_errno(errno, "read", path);
    size_t hint = S_ISREG(st.st_mode) ? (size_t)st.st_size : 0;
    if (hint > most)
        return too_long(path, most);
    LZ_TRY(lz_vec_reserve(b, (hint ? hint : CHUNK) + 2));
    for (;;) {
        LZ_TRY(lz_vec_reserve(b, 2));
        ssize_t got = read_some(fd, b->data + b->len, b->cap - b->len - 1);
        if (got < 0)
            return lz_err_errno(errno, "read", path);
        if (got == 0)
            break;
        b->len += (size_t)got;
        if (b->len > most)
            return too_long(path, most);
    }
    b->data[b->len] = '\0';
    return NULL;
}

lz_err *lz_file_read(const char *path, size_t most, size_t *len, char **out)
{
    int fd;
    bytes b = { 0 };
    LZ_TRY(open_file(path, O_RDONLY, 0, &fd));
    lz_err *e = read_all(fd, path, most, &b);
    close(fd);
    if (e) {
        lz_vec_deinit(&b);
        return e;
    }
    if (len)
        *len = b.len;
    *out = b.data;
    return NULL;
}

static lz_err *map_fd(int fd, const char *path, lz_file_map *out)
{
    struct stat st;
    if (fstat(fd, &st) != 0)
        return lz_err_errno(errno, "map", path);
    if (S_ISDIR(st.st_mode))
        return lz_err_errno(EISDIR, "map", path);
    if (!S_ISREG(st.st_mode))
        return lz_errf(LZ_ERR_IO, "map %s: not a regular file", path);
    *out = (lz_file_map){ "", (size_t)st.st_size };
    if (out->len == 0)
        return NULL; /* mmap refuses empty ranges */
    void *p = mmap(NULL, out->len, PROT_READ, MAP_PRIVATE, fd, 0);
    if (p == MAP_FAILED)
        return lz_err_errno(errno, "map", path);
    out->data = p;
    return NULL;
}

lz_err *lz_file_map_open(const char *path, lz_file_map *out)
{
    int fd;
    LZ_TRY(open_file(path, O_RDONLY | O_NONBLOCK, 0, &fd)); /* a pipe is refused, not waited for */
    lz_err *e = map_fd(fd, path, out);
    close(fd);
    return e;
}

void lz_file_map_close(lz_file_map *m)
{
    if (m->len)
        munmap((void *)m->data, m->len);
    *m = (lz_file_map){ "", 0 };
}

/* The part of path up to its last slash, or nothing. */
static lz_str folder_of(const char *path)
{
    lz_str p = lz_str_of(path);
    size_t slash = lz_str_rfind(p, LZ_STR("/"));
    return lz_str_sub(p, 0, slash == SIZE_MAX ? 0 : slash + 1);
}

/* Names differ by process and serial number; O_EXCL passes over those left by the dead. */
static lz_err *create_beside(const char *path, mode_t mode, char **temp, int *out)
{
    static atomic_uint serial;
    lz_str folder = folder_of(path);
    size_t size = folder.len + TEMP_NAME;
    *temp = lz_mem_alloc(size);
    if (!*temp)
        return lz_err_oom();
    do {
        unsigned n = atomic_fetch_add(&serial, 1);
        snprintf(*temp, size, "%.*s.lazuli-%ld-%u.tmp", LZ_FMT(folder), (long)getpid(), n);
        *out = open(*temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    } while (*out < 0 && (errno == EEXIST || errno == EINTR));
    if (*out >= 0)
        return NULL;
    lz_err *e = lz_err_errno(errno, "create", path);
    lz_mem_free(*temp);
    return e;
}

static lz_err *write_all(int fd, const char *path, lz_str data)
{
    while (data.len) {
        ssize_t put = write(fd, data.ptr, data.len);
        if (put < 0 && errno != EINTR)
            return lz_err_errno(errno, "write", path);
        data = lz_str_sub(data, put < 0 ? 0 : (size_t)put, data.len);
    }
    return NULL;
}

static lz_err *sync_fd(int fd, const char *path)
{
    int rc;
    do
        rc = fsync(fd);
    while (rc != 0 && errno == EINTR);
    return rc != 0 ? lz_err_errno(errno, "sync", path) : NULL;
}

static lz_err *open_folder(const char *path, int *out)
{
    lz_str folder = folder_of(path);
    char *name = lz_mem_alloc(folder.len + 2);
    if (!name)
        return lz_err_oom();
    snprintf(name, folder.len + 2, "%.*s", LZ_FMT(folder.len ? folder : LZ_STR(".")));
    lz_err *e = open_file(name, O_RDONLY | O_DIRECTORY, 0, out);
    lz_mem_free(name);
    return e;
}

lz_err *lz_file_writer_open(lz_file_writer *w, const char *path, mode_t mode)
{
    w->path = path;
    return create_beside(path, mode, &w->temp, &w->fd);
}

lz_err *lz_file_writer_put(lz_file_writer *w, lz_str data)
{
    return write_all(w->fd, w->path, data);
}

/* Whatever can fail has been done before the new name is there, but for syncing it. */
static lz_err *rename_and_sync(const lz_file_writer *w, int folder)
{
    if (rename(w->temp, w->path) != 0)
        return lz_err_errno(errno, "replace", w->path);
    return folder >= 0 ? sync_fd(folder, w->path) : NULL;
}

lz_err *lz_file_writer_close(lz_file_writer *w, lz_err *e, unsigned flags)
{
    int folder = -1;
    if (!e && !(flags & LZ_FILE_NO_SYNC))
        e = sync_fd(w->fd, w->path);
    if (close(w->fd) != 0 && !e)
        e = lz_err_errno(errno, "close", w->path);
    if (!e && (flags & LZ_FILE_SYNC_FOLDER))
        e = open_folder(w->path, &folder);
    if (!e)
        e = rename_and_sync(w, folder);
    if (e)
        unlink(w->temp);
    if (folder >= 0)
        close(folder);
    lz_mem_free(w->temp);
    return e;
}

lz_err *lz_file_replace(const char *path, lz_str data, mode_t mode, unsigned flags)
{
    lz_file_writer w;
    LZ_TRY(lz_file_writer_open(&w, path, mode));
    return lz_file_writer_close(&w, lz_file_writer_put(&w, data), flags);
}

static lz_err *holds(const char *path, lz_str data, bool *out)
{
    int fd;
    char chunk[CHUNK];
    ssize_t got;
    LZ_TRY(open_file(path, O_RDONLY, 0, &fd));
    while ((got = read_some(fd, chunk, sizeof chunk)) > 0) {
        if ((size_t)got > data.len || memcmp(chunk, data.ptr, (size_t)got) != 0)
            break;
        data = lz_str_sub(data, (size_t)got, data.len);
    }
    lz_err *e = got < 0 ? lz_err_errno(errno, "read", path) : NULL;
    close(fd);
    *out = got == 0 && data.len == 0;
    return e;
}

lz_err *lz_file_update(const char *path, lz_str data, mode_t mode, unsigned flags, bool *out)
{
    bool same = false;
    lz_err *e = holds(path, data, &same);
    if (e && lz_err_code(e) != LZ_ERR_NOT_FOUND)
        return e;
    lz_err_free(e);
    *out = !same;
    return same ? NULL : lz_file_replace(path, data, mode, flags);
}

lz_err *lz_file_lock(const char *path, unsigned flags, int *out)
{
    bool shared = flags & LZ_FILE_SHARED;
    int how = (shared ? LOCK_SH : LOCK_EX) | (flags & LZ_FILE_TRY ? LOCK_NB : 0);
    int fd, rc;
    /* NFS wants write access for an exclusive lock */
    LZ_TRY(open_file(path, (shared ? O_RDONLY : O_RDWR) | O_CREAT, 0666, &fd));
    do
        rc = flock(fd, how);
    while (rc != 0 && errno == EINTR);
    if (rc == 0) {
        *out = fd;
        return NULL;
    }
    lz_err *e = errno == EWOULDBLOCK ? lz_errf(LZ_ERR_BUSY, "lock %s: held by someone else", path)
                                     : lz_err_errno(errno, "lock", path);
    close(fd);
    return e;
}

void lz_file_unlock(int lock)
{
    if (lock < 0)
        return;
    flock(lock, LOCK_UN); /* a forked child may still have the descriptor open */
    close(lock);
}

lz_err *lz_file_stat(const char *path, lz_file_info *out)
{
    struct stat st;
    if (stat(path, &st) != 0)
        return lz_err_errno(errno, "stat", path);
    *out = (lz_file_info){
        .size = (uint64_t)st.st_size,
        .mtime_ns = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec,
        .owner = st.st_uid,
        .mode = st.st_mode,
    };
    return NULL;
}

lz_err *lz_file_remove(const char *path)
{
    return unlink(path) != 0 ? lz_err_errno(errno, "remove", path) : NULL;
}
