/* buffer.h - the host memory of tensors: aligned to 64 bytes, reference-counted, reused.
 *
 * A released buffer returns to its pool, which reuses it for a size of the same class (eight classes per
 * doubling, so at most an eighth is wasted); a large one also for up to half its size, if no block of that
 * size is free. The pool keeps a limited number of bytes; the least recently
 * released block is freed first. Buffers and pools may be used from any thread, and a pool lives as long as
 * its buffers. */
#ifndef LZ_CORE_BUFFER_H
#define LZ_CORE_BUFFER_H

#include "base/err.h"
#include <stdatomic.h>
#include <stdbool.h>

enum {
    LZ_BUFFER_ALIGN = 64,
    LZ_BUFFER_HUGE = 4 << 20, /* from this size on aligned to huge pages, with MADV_HUGEPAGE */
};

typedef struct lz_buffer_pool lz_buffer_pool;
typedef void lz_buffer_drop_fn(void *user, void *data, size_t size);

/* Memory derived from a buffer's contents, valid as long as the contents do not change
 * (plan/packed_weights.h). */
typedef struct lz_buffer_made {
    struct lz_buffer *memory; /* NULL: requested but not yet made */
    int64_t how[5];           /* all 0: not even requested */
} lz_buffer_made;

typedef struct lz_buffer {
    void *data;     /* never NULL, except for foreign memory of size 0 */
    size_t size;    /* as requested */
    bool read_only; /* no owner may write, not even the only one */
    atomic_size_t count;
    lz_buffer_made made;
    struct lz_buffer_home *home; /* the owner of the memory */
} lz_buffer;

/* keep: the most bytes of free buffers to hold. The caller owns one reference. */
LZ_MUST_USE lz_err *lz_buffer_pool_create(size_t keep, lz_buffer_pool **out);
/* Frees the free buffers at once, and the pool with its last buffer. NULL is allowed. */
void lz_buffer_pool_release(lz_buffer_pool *p);

/* The contents are undefined. A size of 0 is allowed. Without a pool (NULL) the last release frees the
 * memory. If memory is out, the pool frees its free buffers before this fails. */
LZ_MUST_USE lz_err *lz_buffer_create(lz_buffer_pool *p, size_t size, lz_buffer **out);

/* Like lz_buffer_create, for a buffer that is released soon: a large one may get any larger free block. */
LZ_MUST_USE lz_err *lz_buffer_create_brief(lz_buffer_pool *p, size_t size, lz_buffer **out);

/* Bytes that a pool allocates for a size, including what the class wastes: `live` of the stats grows by
 * it. */
size_t lz_buffer_capacity(size_t size);

/* Wraps foreign memory of any alignment. drop (may be NULL) is called once, at the last release, on the
 * thread that releases. On failure it is not called. */
LZ_MUST_USE lz_err *lz_buffer_wrap(void *data, size_t size, bool read_only, lz_buffer_drop_fn *drop,
                                   void *user, lz_buffer **out);

lz_buffer *lz_buffer_retain(lz_buffer *b); /* returns b */
void lz_buffer_release(lz_buffer *b);      /* NULL is allowed */

/* True if the caller has the only reference and may write. */
bool lz_buffer_is_exclusive(const lz_buffer *b);

/* Call before the contents change: drops the memory derived from them. The last release does it, too. */
void lz_buffer_forget(lz_buffer *b);

typedef struct lz_buffer_stats {
    size_t live, cached; /* bytes, including what the classes waste; cached: also what live buffers leave of
                            larger blocks */
    size_t asked;        /* bytes of live buffers, as requested */
    size_t peak;         /* maximum of live, since the start or lz_buffer_pool_reset_peak */
    size_t asked_peak;   /* maximum of asked */
    size_t made, reused; /* buffers */
} lz_buffer_stats;

lz_buffer_stats lz_buffer_pool_stats(lz_buffer_pool *p);
void lz_buffer_pool_reset_peak(lz_buffer_pool *p);

/* Frees the least recently released buffers until at most `keep` bytes are cached. */
void lz_buffer_pool_trim(lz_buffer_pool *p, size_t keep);

#endif
