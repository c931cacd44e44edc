/* spec.h - dtype, sizes and strides of a tensor.
 *
 * Specs of one table are interned: equal specs are one pointer, so pointers are compared, and a spec lives as
 * long as its table. A spec may also be created without a table. */
#ifndef LZ_CORE_SPEC_H
#define LZ_CORE_SPEC_H

#include "base/arena.h"
#include "base/hash_table.h"
#include <lazuli/value.h>

typedef struct lz_spec {
    uint64_t hash;      /* of dtype, sizes and strides */
    uint64_t type_hash; /* of dtype and sizes only, which is what a graph knows */
    int64_t numel;
    int64_t extent; /* elements of the smallest storage that it fits in, from offset 0 */
    int16_t ndim;
    int8_t dtype;           /* lz_dtype */
    bool contiguous;        /* row-major */
    bool dense;             /* without gaps and overlaps, in some order of dimensions */
    const int64_t *strides; /* points behind the sizes */
    lz_hash_link link;      /* for lz_specs */
    int64_t sizes[];
} lz_spec;

typedef struct lz_specs lz_specs; /* a table; used by one thread at a time */

LZ_MUST_USE lz_err *lz_specs_create(lz_specs **out);
void lz_specs_destroy(lz_specs *s);

/* Strides v NULL: row-major. */
LZ_MUST_USE lz_err *lz_spec_get(lz_specs *s, lz_dtype d, lz_ints sizes, lz_ints strides, const lz_spec **out);

/* Without a table: free with lz_mem_free. Strides v NULL: row-major. */
LZ_MUST_USE lz_err *lz_spec_create(lz_dtype d, lz_ints sizes, lz_ints strides, lz_spec **out);

static inline lz_ints lz_spec_sizes(const lz_spec *s)
{
    return (lz_ints){ s->sizes, s->ndim };
}
static inline lz_ints lz_spec_strides(const lz_spec *s)
{
    return (lz_ints){ s->strides, s->ndim };
}

#endif
