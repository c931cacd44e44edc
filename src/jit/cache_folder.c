#include "jit/cache_folder.h"
#include "base/dir.h"
#include "base/env.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/number.h"
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { TEMP_NAME = 64, NOT_OFTEN_S = 60 };

static const uint64_t usual_limit = 256ull << 20;

lz_err *lz_cache_folder_limit(uint64_t *out)
{
    *out = usual_limit;
    return lz_env_bytes(LZ_ENV_CACHE_SIZE, out);
}

/* Says why an opened file or folder must not be trusted; NULL if it may be. */
static const char *suspicious(const struct stat *st)
{
    if (st->st_uid != geteuid())
        return "it belongs to another user";
    return st->st_mode & (S_IWGRP | S_IWOTH) ? "others may write it" : NULL;
}

/* Makes the folder and its parent, but nothing above: a missing home directory is not ours to create. */
static lz_err *make_folder(char *path)
{
    if (mkdir(path, 0700) == 0 || errno == EEXIST)
        return NULL;
    char *slash = strrchr(path, '/');
    if (errno != ENOENT || !slash || slash == path)
        return lz_err_errno(errno, "make folder", path);
    *slash = '\0';
    bool up = mkdir(path, 0700) == 0 || errno == EEXIST;
    *slash = '/';
    return up && (mkdir(path, 0700) == 0 || errno == EEXIST) ? NULL
                                                             : lz_err_errno(errno, "make folder", path);
}

/* For a link that O_NOFOLLOW refuses, open reports "not a directory"; this reports the link. */
static lz_err *not_opened(int why, const char *path)
{
    struct stat st;
    if ((why == ENOTDIR || why == ELOOP) && lstat(path, &st) == 0 && S_ISLNK(st.st_mode))
        return lz_errf(LZ_ERR_MODEL, "%s is not used: it is a link", path);
    return lz_err_errno(why, "open", path);
}

static lz_err *open_folder(char *path, bool make, int *out)
{
    enum { FLAGS = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC };
    *out = open(path, FLAGS);
    if (*out < 0 && errno == ENOENT && make) {
        LZ_TRY(make_folder(path));
        *out = open(path, FLAGS);
    }
    return *out < 0 ? not_opened(errno, path) : NULL;
}

static lz_err *check_folder(int fd, const char *path)
{
    struct stat st;
    if (fstat(fd, &st) != 0)
        return lz_err_errno(errno, "stat", path);
    const char *why = suspicious(&st);
    return why ? lz_errf(LZ_ERR_MODEL, "%s is not used: %s", path, why) : NULL;
}

lz_err *lz_cache_folder_open(bool make, lz_cache_folder *out)
{
    char *path;
    LZ_TRY(lz_cache_folder_limit(&out->limit));
    LZ_TRY(lz_dir_cache(&path));
    lz_err *e = open_folder(path, make, &out->fd);
    if (!e && (e = check_folder(out->fd, path)))
        close(out->fd);
    lz_mem_free(path);
    return e;
}

void lz_cache_folder_close(lz_cache_folder *f)
{
    close(f->fd);
}

/* ---- one entry ---- */

static lz_err *broken(const char *name, const char *why)
{
    return lz_errf(LZ_ERR_MODEL, "%s: %s", name, why);
}

static lz_err *read_bytes(int fd, const char *name, size_t size, char **out)
{
    char *p = lz_mem_alloc(size);
    size_t have = 0;
    ssize_t got = 1;
    if (!p)
        return lz_err_oom();
    while (have < size && got > 0) {
        got = read(fd, p + have, size - have);
        have += got > 0 ? (size_t)got : 0;
        got = got < 0 && errno == EINTR ? 1 : got;
    }
    if (have == size) {
        *out = p;
        return NULL;
    }
    lz_err *e = got < 0 ? lz_err_errno(errno, "read", name) : broken(name, "it is truncated");
    lz_mem_free(p);
    return e;
}

static lz_err *read_entry(int fd, const char *name, lz_cache_object *out)
{
    struct stat st;
    if (fstat(fd, &st) != 0)
        return lz_err_errno(errno, "stat", name);
    const char *why = S_ISREG(st.st_mode) ? suspicious(&st) : "it is no file";
    if (!why && (st.st_size <= 0 || st.st_size > LZ_ENTRY_MOST))
        why = st.st_size > 0 ? "something was added to it" : "it is truncated";
    if (why)
        return broken(name, why);
    size_t size = (size_t)st.st_size;
    LZ_TRY(read_bytes(fd, name, size, &out->memory));
    char own[LZ_ENTRY_NAME];
    why = lz_native_entry_read((lz_str){ out->memory, size }, &out->entry);
    if (!why) {
        lz_native_entry_name(out->entry.key, own);
        why = strcmp(own, name) != 0 ? "it is the entry of another kernel" : NULL;
    }
    if (why)
        lz_mem_free(out->memory);
    out->used = st.st_mtim.tv_sec;
    return why ? broken(name, why) : NULL;
}

lz_err *lz_cache_folder_read(const lz_cache_folder *f, const char *name, lz_cache_object *out)
{
    int fd = openat(f->fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return errno == ELOOP ? broken(name, "it is a link") : lz_err_errno(errno, "open", name);
    lz_err *e = read_entry(fd, name, out);
    close(fd);
    return e;
}

/* Failure is ignored: the time only serves to find the least recently used entry. */
void lz_cache_folder_touch(const lz_cache_folder *f, const char *name, const lz_cache_object *o)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME_COARSE, &now);
    if (now.tv_sec - o->used >= NOT_OFTEN_S || now.tv_sec < o->used)
        (void)utimensat(f->fd, name, NULL, AT_SYMLINK_NOFOLLOW);
}

/* cache_tidy.c parses these names. */
static lz_err *create_temp(const lz_cache_folder *f, char temp[TEMP_NAME], int *out)
{
    static atomic_uint serial;
    do {
        snprintf(temp, TEMP_NAME, ".new-%ld-%u", (long)getpid(), atomic_fetch_add(&serial, 1));
        *out = openat(f->fd, temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    } while (*out < 0 && (errno == EEXIST || errno == EINTR));
    return *out < 0 ? lz_err_errno(errno, "create", temp) : NULL;
}

lz_err *lz_cache_folder_write(const lz_cache_folder *f, const char *name, lz_str bytes)
{
    char temp[TEMP_NAME];
    int fd;
    LZ_TRY(create_temp(f, temp, &fd));
    int error = lz_fd_write(fd, bytes);
    lz_err *e = error ? lz_err_errno(error, "write", name) : NULL;
    if (close(fd) != 0 && !e)
        e = lz_err_errno(errno, "close", name);
    if (!e && renameat(f->fd, temp, f->fd, name) != 0)
        e = lz_err_errno(errno, "replace", name);
    if (e)
        unlinkat(f->fd, temp, 0);
    return e;
}

void lz_cache_folder_remove(const lz_cache_folder *f, const char *name)
{
    unlinkat(f->fd, name, 0);
}

/* ---- locks: one byte of the lock file per number ---- */

void lz_cache_lock_init(const lz_cache_folder *f, uint64_t number, lz_cache_lock *out)
{
    int fd = openat(f->fd, "lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
    *out = (lz_cache_lock){ fd, number };
}

static int set_lock(const lz_cache_lock *l, short type)
{
    struct flock lock = { .l_type = type, .l_start = (off_t)(l->number & INT64_MAX >> 1), .l_len = 1 };
    int rc;
    do
        rc = fcntl(l->fd, F_OFD_SETLK, &lock);
    while (rc != 0 && errno == EINTR);
    return rc;
}

lz_cache_lock_state lz_cache_lock_try(const lz_cache_lock *l)
{
    if (l->fd < 0)
        return LZ_LOCK_NONE;
    if (set_lock(l, F_WRLCK) == 0)
        return LZ_LOCK_MINE;
    return errno == EAGAIN || errno == EACCES ? LZ_LOCK_THEIRS : LZ_LOCK_NONE;
}

void lz_cache_lock_deinit(lz_cache_lock *l)
{
    if (l->fd < 0)
        return;
    set_lock(l, F_UNLCK); /* a forked child may still have the descriptor open */
    close(l->fd);
}
