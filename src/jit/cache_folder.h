/* cache_folder.h - the folder in which compiled kernels are kept between processes.
 *
 * What is in it will be run: so a folder or a file is used only if it belongs to this user,
 * nobody else may write it, and no link leads to it. Everything is opened in the folder that was
 * looked at, not by its path again. All of it may be done by many processes at once. */
#ifndef LZ_JIT_CACHE_FOLDER_H
#define LZ_JIT_CACHE_FOLDER_H

#include "base/vec.h"
#include "jit/code_entry.h"

typedef struct lz_cfolder {
    int fd;
    uint64_t limit; /* bytes of all entries */
} lz_cfolder;

/* Where it would be: LAZULI_CACHE_DIR, else "lazuli" in the user's cache folder. Free with
 * lz_mem_free. LZ_ERR_UNSUPPORTED: LAZULI_CACHE is off. LZ_ERR_NOT_FOUND: the user has no home. */
LZ_MUST_USE lz_err *lz_cfolder_path(char **out);
LZ_MUST_USE lz_err *lz_cfolder_limit(uint64_t *out); /* LAZULI_CACHE_SIZE */
/* make: if it is missing; else that is LZ_ERR_NOT_FOUND. */
LZ_MUST_USE lz_err *lz_cfolder_open(bool make, lz_cfolder *out);
void lz_cfolder_close(lz_cfolder *f);

/* An entry in memory of its own. */
typedef struct lz_cobject {
    char *memory;
    lz_entry entry;
    int64_t used; /* when it was last used: s since 1970, true to a minute */
} lz_cobject;

/* LZ_ERR_NOT_FOUND: there is none. LZ_ERR_MODEL: there is one that must not be used, and why. */
LZ_MUST_USE lz_err *lz_cfolder_read(const lz_cfolder *f, const char *name, lz_cobject *out);
void lz_cfolder_touch(const lz_cfolder *f, const char *name, const lz_cobject *o); /* it is used now */
/* In one step: whoever reads finds all of it or none. */
LZ_MUST_USE lz_err *lz_cfolder_write(const lz_cfolder *f, const char *name, lz_str bytes);
void lz_cfolder_remove(const lz_cfolder *f, const char *name);

typedef struct lz_cinfo {
    char name[LZ_ENTRY_NAME];
    uint64_t size;
    int64_t used; /* ns since 1970 */
} lz_cinfo;

typedef LZ_VEC(lz_cinfo) lz_cinfos;

/* All entries, those longest unused first. */
LZ_MUST_USE lz_err *lz_cfolder_list(const lz_cfolder *f, lz_cinfos *out);
/* After `added` bytes were written: removes what dead processes left behind, and what is longest
 * unused if there is too much. Looks only once in a while. */
void lz_cfolder_tidy(const lz_cfolder *f, uint64_t added);
/* All entries, and unfinished ones of others too. */
LZ_MUST_USE lz_err *lz_cfolder_clear(const lz_cfolder *f, size_t *count, uint64_t *bytes);

/* Locks against every other holder, of this process too. They end with the process. */
typedef enum lz_cheld { LZ_LOCK_MINE, LZ_LOCK_THEIRS, LZ_LOCK_NONE } lz_cheld; /* NONE: cannot be had here */

typedef struct lz_clatch {
    int fd;
    uint64_t number;
} lz_clatch;

void lz_clatch_init(const lz_cfolder *f, uint64_t number, lz_clatch *out);
lz_cheld lz_clatch_try(const lz_clatch *l);
void lz_clatch_deinit(lz_clatch *l); /* unlocks */

#endif
