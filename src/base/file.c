#include "base/file.h"
#include "base/mem.h"
#include "base/vec.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

enum { CHUNK = 8192 };

typedef LZ_VEC(char) bytes;

static lz_err *open_file(const char *path, int flags, mode_t mode, int *out)
{
    do
        *out = open(path, flags | O_CLOEXEC, mode);
    while (*out < 0 && errno == EINTR);
    return *out < 0 ? lz_err_errno(errno, "open", path) : NULL;
}

/* Refuses named pipes: reading one waits for a writer, who may never come. A pipe without a name is held open
 * by the process that made it, so its data and its end will come. */
static lz_err *check_source(int fd, const char *path)
{
    struct stat st;
    struct statfs fs;
    if (fstat(fd, &st) != 0 || fstatfs(fd, &fs) != 0)
        return lz_err_errno(errno, "open", path);
    if (S_ISFIFO(st.st_mode) && fs.f_type != PIPEFS_MAGIC)
        return lz_errf(LZ_ERR_IO, "open %s: a named pipe; expected a file, or a pipe such as /dev/stdin",
                       path);
    if (!S_ISREG(st.st_mode) && fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK) != 0)
        return lz_err_errno(errno, "open", path);
    return NULL;
}

lz_err *lz_file_open(const char *path, int *out)
{
    LZ_TRY(open_file(path, O_RDONLY | O_NONBLOCK, 0, out));
    lz_err *e = check_source(*out, path);
    if (e)
        close(*out);
    return e;
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

/* Adds a NUL. The file size is only a hint: pipes and /proc have none, and a file may grow meanwhile. */
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
    LZ_TRY(lz_file_open(path, &fd));
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
    LZ_TRY(open_file(path, O_RDONLY | O_NONBLOCK, 0, &fd)); /* refuses a pipe instead of waiting for it */
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

lz_str lz_file_folder(const char *path)
{
    lz_str p = lz_str_of(path);
    size_t slash = lz_str_rfind(p, LZ_STR("/"));
    return lz_str_sub(p, 0, slash == SIZE_MAX ? 0 : slash + 1);
}

static lz_err *holds(const char *path, lz_str data, bool *out)
{
    int fd;
    char chunk[CHUNK];
    ssize_t got;
    LZ_TRY(lz_file_open(path, &fd));
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
