/* buffer.h - the host memory of tensors: aligned to 64 bytes, counted, reused.
 *
 * A released buffer goes back to its pool, which hands it out again for a size of the
 * same class (eight classes for each doubling, so at most an eighth is wasted). What
 * the pool keeps is bounded; the longest unused goes first. Buffers and pools may be
 * used from any thread, and a pool lives as long as its buffers. */
#ifndef LZ_CORE_BUFFER_H
#define LZ_CORE_BUFFER_H

#include "base/err.h"
#include <stdatomic.h>
#include <stdbool.h>

enum {
    LZ_BUFFER_ALIGN = 64,
    LZ_BUFFER_HUGE = 4 << 20, /* from here on aligned to, and asked to be made of, huge pages */
};

typedef struct lz_buffer_pool lz_buffer_pool;
typedef void lz_buffer_drop_fn(void *user, void *data, size_t size);

/* Something made of a buffer's contents, which is right as long as they stay (plan/packed_weights.h). */
typedef struct lz_buffer_made {
    struct lz_buffer *memory; /* NULL: it was only asked for */
    int64_t how[5];           /* all 0: not even that */
} lz_buffer_made;

typedef struct lz_buffer {
    void *data;     /* never NULL, but in foreign memory of size 0 */
    size_t size;    /* as asked for */
    bool read_only; /* nobody may write, not even a sole owner */
    atomic_size_t count;
    lz_buffer_made made;
    struct lz_buffer_home *home; /* where it goes in the end */
} lz_buffer;

/* keep: the most bytes of free buffers to hold. One count is the caller's. */
LZ_MUST_USE lz_err *lz_buffer_pool_create(size_t keep, lz_buffer_pool **out);
/* Free buffers go at once, the pool with its last buffer. NULL does nothing. */
void lz_buffer_pool_release(lz_buffer_pool *p);

/* Contents are whatever was there. Zero bytes are fine. Without a pool (NULL) the
 * memory is freed at the end. Where memory is out, the pool gives up what it keeps
 * before this fails. */
LZ_MUST_USE lz_err *lz_buffer_create(lz_buffer_pool *p, size_t size, lz_buffer **out);

/* What a pool takes for so many bytes, with what the class wastes: `live` of the stats
 * grows by it. */
size_t lz_buffer_capacity(size_t size);

/* Memory of someone else, of any alignment: drop (may be NULL) is called once with the
 * last release, from whatever thread that is. On failure it is not called. */
LZ_MUST_USE lz_err *lz_buffer_wrap(void *data, size_t size, bool read_only, lz_buffer_drop_fn *drop,
                                   void *user, lz_buffer **out);

lz_buffer *lz_buffer_retain(lz_buffer *b); /* returns b */
void lz_buffer_release(lz_buffer *b);      /* NULL does nothing */

/* The caller has the only count and may write: nobody would notice. */
bool lz_buffer_is_exclusive(const lz_buffer *b);

/* The contents are about to change: what was made of them goes. The last release does it, too. */
void lz_buffer_forget(lz_buffer *b);

typedef struct lz_buffer_stats {
    size_t live, cached; /* bytes, with what the classes waste */
    size_t asked;        /* bytes of live buffers, as asked for */
    size_t peak;         /* of live, since the start or lz_buffer_pool_reset_peak */
    size_t asked_peak;   /* of asked */
    size_t made, reused; /* buffers */
} lz_buffer_stats;

lz_buffer_stats lz_buffer_pool_stats(lz_buffer_pool *p);
void lz_buffer_pool_reset_peak(lz_buffer_pool *p);

/* Frees the longest unused until at most `keep` bytes are cached. */
void lz_buffer_pool_trim(lz_buffer_pool *p, size_t keep);

#endif
