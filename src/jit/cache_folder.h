/* cache_folder.h - the folder that keeps compiled kernels between processes.
 *
 * Its contents are executed, so a folder or file is used only if it belongs to this user, no other user
 * may write it, and it is not a symbolic link. Files are opened relative to the folder that was checked,
 * never again by path. Many processes may use the folder at once. */
#ifndef LZ_JIT_CACHE_FOLDER_H
#define LZ_JIT_CACHE_FOLDER_H

#include "base/vec.h"
#include "jit/code_entry.h"

typedef struct lz_cache_folder {
    int fd;
    uint64_t limit; /* most bytes that all entries together may have */
} lz_cache_folder;

LZ_MUST_USE lz_err *lz_cache_folder_limit(uint64_t *out); /* LAZULI_CACHE_SIZE */
/* make: create a missing folder; without it a missing folder is LZ_ERR_NOT_FOUND. */
LZ_MUST_USE lz_err *lz_cache_folder_open(bool make, lz_cache_folder *out);
void lz_cache_folder_close(lz_cache_folder *f);

/* An entry and the memory that holds it. */
typedef struct lz_cache_object {
    char *memory;
    lz_native_entry entry;
    int64_t used; /* time of last use in seconds since 1970, accurate to a minute */
} lz_cache_object;

/* LZ_ERR_NOT_FOUND: the entry does not exist. LZ_ERR_MODEL: the entry must not be used; the message says
 * why. The caller frees out->memory. */
LZ_MUST_USE lz_err *lz_cache_folder_read(const lz_cache_folder *f, const char *name, lz_cache_object *out);
void lz_cache_folder_touch(const lz_cache_folder *f, const char *name,
                           const lz_cache_object *o); /* records a use now */
/* Atomic: a reader finds the whole entry or none. */
LZ_MUST_USE lz_err *lz_cache_folder_write(const lz_cache_folder *f, const char *name, lz_str bytes);
void lz_cache_folder_remove(const lz_cache_folder *f, const char *name);

typedef struct lz_cache_file {
    char name[LZ_ENTRY_NAME];
    uint64_t size;
    int64_t used; /* ns since 1970 */
} lz_cache_file;

typedef LZ_VEC(lz_cache_file) lz_cache_files;

/* All entries, least recently used first. */
LZ_MUST_USE lz_err *lz_cache_folder_list(const lz_cache_folder *f, lz_cache_files *out);
/* Called after `added` bytes were written. Removes files that dead processes left unfinished, and the least
 * recently used entries if the total exceeds the limit. Lists the folder only once in a while. */
void lz_cache_folder_tidy(const lz_cache_folder *f, uint64_t added);
/* Removes all entries, including unfinished ones of other processes. */
LZ_MUST_USE lz_err *lz_cache_folder_clear(const lz_cache_folder *f, size_t *count, uint64_t *bytes);

/* A lock excludes every other holder, in this process too. The system releases it when the process ends. */
typedef enum lz_cache_lock_state {
    LZ_LOCK_MINE,
    LZ_LOCK_THEIRS,
    LZ_LOCK_NONE
} lz_cache_lock_state; /* LZ_LOCK_NONE: the file system has no locks */

typedef struct lz_cache_lock {
    int fd;
    uint64_t number;
} lz_cache_lock;

void lz_cache_lock_init(const lz_cache_folder *f, uint64_t number, lz_cache_lock *out);
lz_cache_lock_state lz_cache_lock_try(const lz_cache_lock *l);
void lz_cache_lock_deinit(lz_cache_lock *l); /* unlocks */

#endif
