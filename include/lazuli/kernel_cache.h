/* kernel_cache.h - the cache of compiled kernels on disk, for whoever looks after it.
 *
 * Programs need not: it is used, and kept within its size, without being asked. The variables
 * LAZULI_CACHE, LAZULI_CACHE_DIR and LAZULI_CACHE_SIZE say whether, where and how large. */
#ifndef LAZULI_KERNEL_CACHE_H
#define LAZULI_KERNEL_CACHE_H

#include <lazuli/base.h>
#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct lz_kernel_cache_entry {
    const char *name;   /* of its file */
    uint64_t size;      /* in bytes */
    int64_t unused;     /* for so many seconds, true to a minute */
    const char *broken; /* why it will be made again; NULL: it is sound, or nobody looked */
} lz_kernel_cache_entry;

typedef void lz_kernel_cache_fn(void *user, const lz_kernel_cache_entry *entry);

/* The folder, there or not; free it with lz_text_free. LZ_ERR_UNSUPPORTED: the cache is switched
 * off. LZ_ERR_NOT_FOUND: the user has no home. */
LZ_API LZ_MUST_USE lz_err *lz_kernel_cache_path(char **out);
LZ_API LZ_MUST_USE lz_err *lz_kernel_cache_limit(uint64_t *out); /* bytes */

/* Tells each entry, those longest unused first; verify: after reading it. The entry is borrowed. */
LZ_API LZ_MUST_USE lz_err *lz_kernel_cache_list(bool verify, lz_kernel_cache_fn *tell, void *user);

/* Removes all entries, how many and of how many bytes. Programs that run make them again. */
LZ_API LZ_MUST_USE lz_err *lz_kernel_cache_clear(size_t *count, uint64_t *bytes);

#ifdef __cplusplus
}
#endif
#endif
