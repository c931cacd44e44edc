/* file.h - whole files: reading, mapping, replacing, locking.
 *
 * A file is replaced in one step: whoever reads it finds all of the old contents
 * or all of the new, whatever fails in between. Every error names the path and
 * the reason. Descriptors are closed on exec. */
#ifndef LZ_BASE_FILE_H
#define LZ_BASE_FILE_H

#include "base/err.h"
#include "base/str.h"
#include <sys/types.h>

/* Opens a file for reading. A pipe is opened if it has no name (/dev/stdin, a shell's <(command)); a named
 * one (mkfifo) is LZ_ERR_IO, since nobody may ever write to it. Never waits. */
LZ_MUST_USE lz_err *lz_file_open(const char *path, int *out);

/* All of a file (a pipe too, up to its end) and a NUL that *len leaves out; len may
 * be NULL. Free with lz_mem_free. LZ_ERR_LIMIT if there are more than `most` bytes. */
LZ_MUST_USE lz_err *lz_file_read(const char *path, size_t most, size_t *len, char **out);

/* A regular file, read-only, in memory. An empty one has len 0 and data not NULL.
 * Touching what someone has cut off since raises SIGBUS: map only what is replaced. */
typedef struct lz_file_map {
    const void *data;
    size_t len;
} lz_file_map;

LZ_MUST_USE lz_err *lz_file_map_open(const char *path, lz_file_map *out);
void lz_file_map_close(lz_file_map *m); /* leaves m empty; again does nothing */

enum {
    LZ_FILE_SYNC_FOLDER = 1, /* come back only when the new name, too, would survive a power cut */
    LZ_FILE_NO_SYNC = 2,     /* for what can be made again: a power cut may leave it empty or cut off */
};

/* Writes a new file beside `path`, syncs it and renames it over `path`. The umask applies to mode. A symbolic
 * link at `path` stays: the file that it leads to is replaced, or made. Where the file system has files
 * without names (O_TMPFILE), a process that dies meanwhile leaves nothing behind. */
LZ_MUST_USE lz_err *lz_file_replace(const char *path, lz_str data, mode_t mode, unsigned flags);

/* The same in pieces. Close takes the error of what was written, if any, and passes it on: then,
 * or if it fails itself, `path` is as it was. */
typedef struct lz_file_writer {
    const char *path; /* borrowed until the end; for messages */
    char *target;     /* path, or where its links lead */
    char *temp;
    int fd;
    bool named; /* temp is a file */
} lz_file_writer;

LZ_MUST_USE lz_err *lz_file_writer_open(lz_file_writer *w, const char *path, mode_t mode);
LZ_MUST_USE lz_err *lz_file_writer_put(lz_file_writer *w, lz_str data);
LZ_MUST_USE lz_err *lz_file_writer_close(lz_file_writer *w, lz_err *e, unsigned flags);

/* Writes all of data. 0, or errno: EFBIG beyond RLIMIT_FSIZE, without SIGXFSZ. */
int lz_fd_write(int fd, lz_str data);

/* The part of path up to its last slash, or nothing. */
lz_str lz_file_folder(const char *path);

/* The same as lz_file_replace, unless the file holds these bytes already; *out: whether it was written. */
LZ_MUST_USE lz_err *lz_file_update(const char *path, lz_str data, mode_t mode, unsigned flags, bool *out);

enum {
    LZ_FILE_SHARED = 1, /* together with other shared locks; exclusive otherwise */
    LZ_FILE_TRY = 2,    /* LZ_ERR_BUSY instead of waiting */
};

/* Locks the file, made if missing, against every other lock on it, of this process
 * too. The lock ends with lz_file_unlock or with the process. The file stays: if it
 * were removed, two could hold locks under one name. */
LZ_MUST_USE lz_err *lz_file_lock(const char *path, unsigned flags, int *out);
void lz_file_unlock(int lock); /* -1 does nothing */

typedef struct lz_file_info {
    uint64_t size;
    int64_t mtime_ns; /* since 1970 */
    uid_t owner;
    mode_t mode; /* with the type: S_ISDIR(mode) */
} lz_file_info;

/* Of what a symbolic link points to. */
LZ_MUST_USE lz_err *lz_file_stat(const char *path, lz_file_info *out);

/* Not for folders. A missing file is LZ_ERR_NOT_FOUND. */
LZ_MUST_USE lz_err *lz_file_remove(const char *path);

#endif
