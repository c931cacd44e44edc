/* model_group.h - operators of one signature, by kind.
 *
 * A bucket holds at most one operator of each kind. Buckets come in the order of
 * their first member, so everything made from them is reproducible. */
#ifndef LZG_MODEL_GROUP_H
#define LZG_MODEL_GROUP_H

#include "gen/model/model_entry.h"

/* Behind the schema kinds: the kinds of views, for grouping by view. */
enum { LZG_SLOT_ALIASING = LZG_KIND_COUNT, LZG_SLOT_ALIASING_INPLACE, LZG_SLOT_COUNT };

typedef struct lzg_bucket lzg_bucket;
struct lzg_bucket {
    const lzg_function *slot[LZG_SLOT_COUNT];
    uint8_t order[LZG_SLOT_COUNT]; /* the n slots that are taken, in the order in which they were */
    size_t n;
    bool dunder;      /* part of the signature, though its print may not show it */
    lzg_bucket *same; /* another bucket with the same print */
    lzg_bucket *next; /* in order */
};

typedef struct lzg_buckets {
    lz_map by_signature;
    lzg_bucket *first, **last;
    size_t n;
} lzg_buckets;

/* Calls fn with empty buckets, which are freed when it returns. */
typedef lz_err *lzg_buckets_fn(lzg_ops *ops, lzg_buckets *b, lzg_diag *d);
LZ_MUST_USE lz_err *lzg_buckets_run(lzg_ops *ops, lzg_diag *d, lzg_buckets_fn *fn);

/* The bucket of that signature, made if need be. */
LZ_MUST_USE
lz_err *lzg_buckets_get(lzg_buckets *b, lz_arena *a, lz_str signature, bool dunder, lzg_bucket **out);
/* By signature and kind; an error if the slot is taken (X4). */
LZ_MUST_USE
lz_err *lzg_buckets_put(lzg_buckets *b, lz_arena *a, const lzg_function *f);

#endif
