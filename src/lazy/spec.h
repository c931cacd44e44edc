/* spec.h - dtype, sizes and strides of a tensor, interned.
 *
 * Within one context equal specs are one pointer, so that a comparison is a comparison of
 * pointers, and a spec lives as long as its context. */
#ifndef LZ_LAZY_SPEC_H
#define LZ_LAZY_SPEC_H

#include "base/arena.h"
#include "base/err.h"
#include <lazuli/value.h>

typedef struct lz_spec {
    uint64_t hash;      /* of everything below */
    uint64_t type_hash; /* of dtype and sizes: what a graph knows */
    int64_t numel;
    int64_t extent; /* elements of the smallest storage it fits in, from offset 0 */
    int16_t ndim;
    int8_t dtype;           /* lz_dtype */
    bool contiguous;        /* row-major */
    bool dense;             /* without gaps and sharing, in some order */
    const int64_t *strides; /* behind the sizes */
    int64_t sizes[];
} lz_spec;

typedef struct lz_specs lz_specs; /* the table of a context */

LZ_MUST_USE lz_err *lz_specs_create(lz_specs **out);
void lz_specs_destroy(lz_specs *s);

/* Strides v NULL: row-major. */
LZ_MUST_USE lz_err *lz_spec_get(lz_specs *s, lz_dtype d, lz_ints sizes, lz_ints strides, const lz_spec **out);

static inline lz_ints lz_spec_sizes(const lz_spec *s)
{
    return (lz_ints){ s->sizes, s->ndim };
}
static inline lz_ints lz_spec_strides(const lz_spec *s)
{
    return (lz_ints){ s->strides, s->ndim };
}

#endif
