/* file.h - whole files: reading, mapping, replacing.
 *
 * A file is replaced atomically: a reader finds all of the old contents or all of the new, whatever fails in
 * between. Every error names the path and the reason. Descriptors are closed on exec. */
#ifndef LZ_BASE_FILE_H
#define LZ_BASE_FILE_H

#include "base/err.h"
#include "base/str.h"
#include <sys/types.h>

/* Opens a file for reading. A pipe without a name (/dev/stdin, a shell's <(command)) is accepted. A named
 * pipe (mkfifo) is LZ_ERR_IO, because a process may never write to it. Never waits. */
LZ_MUST_USE lz_err *lz_file_open(const char *path, int *out);

/* Reads all of a file (or of a pipe, up to its end) and appends a NUL that *len does not count; len may be
 * NULL. Free with lz_mem_free. LZ_ERR_LIMIT if there are more than `most` bytes. */
LZ_MUST_USE lz_err *lz_file_read(const char *path, size_t most, size_t *len, char **out);

/* A read-only mapping of a regular file. An empty file has len 0 and data not NULL. Accessing bytes that were
 * truncated since raises SIGBUS: map only files that are replaced, never modified. */
typedef struct lz_file_map {
    const void *data;
    size_t len;
} lz_file_map;

LZ_MUST_USE lz_err *lz_file_map_open(const char *path, lz_file_map *out);
void lz_file_map_close(lz_file_map *m); /* leaves m empty; a second call does nothing */

enum {
    LZ_FILE_SYNC_FOLDER = 1, /* return only when the new name, too, would survive a power cut */
    LZ_FILE_NO_SYNC = 2,     /* for reproducible data: a power cut may leave the file empty or truncated */
};

/* Writes a new file beside `path`, syncs it and renames it to `path`. The umask applies to mode. A symbolic
 * link at `path` stays: its target is replaced or created. A target that is not a regular file (a device, a
 * pipe, a folder) is LZ_ERR_ARG. If the file system supports O_TMPFILE, a process that dies meanwhile leaves
 * nothing behind. */
LZ_MUST_USE lz_err *lz_file_replace(const char *path, lz_str data, mode_t mode, unsigned flags);

/* Like lz_file_replace, in pieces. Close takes the error of what was written, if any, and returns it. After
 * an error `path` is unchanged, except if only syncing the folder (LZ_FILE_SYNC_FOLDER) failed. */
typedef struct lz_file_writer {
    const char *path; /* borrowed until close; for messages */
    char *target;     /* path with its links resolved */
    char *temp;
    int fd;
    bool named; /* temp exists as a file */
} lz_file_writer;

LZ_MUST_USE lz_err *lz_file_writer_open(lz_file_writer *w, const char *path, mode_t mode);
LZ_MUST_USE lz_err *lz_file_writer_put(lz_file_writer *w, lz_str data);
LZ_MUST_USE lz_err *lz_file_writer_close(lz_file_writer *w, lz_err *e, unsigned flags);

/* Writes all of data. Returns 0 or errno: EFBIG beyond RLIMIT_FSIZE, without raising SIGXFSZ. */
int lz_fd_write(int fd, lz_str data);

/* The part of path up to its last slash, or nothing. */
lz_str lz_file_folder(const char *path);

/* Like lz_file_replace, unless the file already holds these bytes; *out: was it written? */
LZ_MUST_USE lz_err *lz_file_update(const char *path, lz_str data, mode_t mode, unsigned flags, bool *out);

/* Writes a new file; *out false: there is one already, and it is left alone. Much faster than replacing, and
 * not atomic: after an error there is no file, but a process that dies meanwhile leaves a part of it. */
LZ_MUST_USE lz_err *lz_file_create(const char *path, lz_str data, mode_t mode, bool *out);

typedef struct lz_file_info {
    uint64_t size;
    int64_t mtime_ns; /* since 1970 */
    uid_t owner;
    mode_t mode; /* with the type: S_ISDIR(mode) */
} lz_file_info;

/* Follows symbolic links. */
LZ_MUST_USE lz_err *lz_file_stat(const char *path, lz_file_info *out);

#endif
