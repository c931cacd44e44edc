/* kernel_cache.h - lists and clears the cache of compiled kernels on disk.
 *
 * Ordinary programs do not need these functions: the library uses the cache and limits its size by itself.
 * The variables LAZULI_CACHE, LAZULI_CACHE_DIR and LAZULI_CACHE_SIZE set whether, where and how large. */
#ifndef LAZULI_KERNEL_CACHE_H
#define LAZULI_KERNEL_CACHE_H

#include <lazuli/base.h>
#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct lz_kernel_cache_entry {
    const char *name;   /* of the entry's file */
    uint64_t size;      /* in bytes */
    int64_t unused;     /* seconds since the last use, accurate to a minute */
    const char *broken; /* why the entry cannot be used; NULL: the entry is valid, or was not verified */
} lz_kernel_cache_entry;

typedef void lz_kernel_cache_fn(void *user, const lz_kernel_cache_entry *entry);

/* The path of the folder, which need not exist yet; free it with lz_text_free. LZ_ERR_UNSUPPORTED: the cache
 * is switched off. LZ_ERR_NOT_FOUND: the user has no home directory. */
LZ_API LZ_MUST_USE lz_err *lz_kernel_cache_path(char **out);
LZ_API LZ_MUST_USE lz_err *lz_kernel_cache_limit(uint64_t *out); /* bytes */

/* Calls fn for each entry, the longest unused first; verify: reads and checks each file. The entry is
 * borrowed. */
LZ_API LZ_MUST_USE lz_err *lz_kernel_cache_list(bool verify, lz_kernel_cache_fn *fn, void *user);

/* Removes all entries; sets the number of entries and bytes removed. Running programs compile them again. */
LZ_API LZ_MUST_USE lz_err *lz_kernel_cache_clear(size_t *count, uint64_t *bytes);

#ifdef __cplusplus
}
#endif
#endif
