/* dtype.h - the element types: names, sizes, ranges.
 *
 * One row each, indexed by the number in lazuli/value.h. A number without a row gets the row of
 * LZ_CATEGORY_NONE, whose size is 0: a look-up never fails. */
#ifndef LZ_CORE_DTYPE_H
#define LZ_CORE_DTYPE_H

#include "base/str.h"
#include <lazuli/value.h>

typedef enum lz_category {
    LZ_CATEGORY_NONE,
    LZ_CATEGORY_BOOL,
    LZ_CATEGORY_INT,
    LZ_CATEGORY_FLOAT,
    LZ_CATEGORY_COMPLEX
} lz_category;

typedef struct lz_dtype_info {
    lz_dtype dtype;
    lz_category category;
    uint8_t size;       /* bytes of an element */
    bool computable;    /* kernels support it; the others are only stored, converted and printed */
    uint8_t order;      /* its index in lz_dtypes */
    lz_dtype part;      /* dtype of the two parts of a complex; otherwise itself */
    const char *name;   /* "float32", as users and files write it */
    const char *script; /* "Float", as in the types of TorchScript */
    const char *abbr;   /* "f32" */
    const char *c_name; /* "int8_t", as used in messages about values */
    int64_t min, max;   /* for bool and integers */
    double largest;     /* largest finite number of floats; for complex, of each part */
} lz_dtype_info;

enum { LZ_DTYPE_COUNT = 13, LZ_DTYPE_NUMBERS = 16 }; /* rows; all numbers are below LZ_DTYPE_NUMBERS */

/* Each dtype once: bool, integers, floats, complex; within these by size. */
extern const lz_dtype lz_dtypes[LZ_DTYPE_COUNT];

const lz_dtype_info *lz_dtype_get(lz_dtype d);

/* LZ_DTYPE_NONE if there is none. */
lz_dtype lz_dtype_by_abbr(lz_str name);

/* The complex dtype whose parts are the given float; c64 for bf16, which has none. */
lz_dtype lz_dtype_complex_of(lz_dtype part);

static inline size_t lz_dtype_size(lz_dtype d)
{
    return lz_dtype_get(d)->size;
}

static inline lz_category lz_dtype_category(lz_dtype d)
{
    return lz_dtype_get(d)->category;
}

static inline bool lz_dtype_is_float(lz_dtype d)
{
    return lz_dtype_category(d) == LZ_CATEGORY_FLOAT;
}

static inline bool lz_dtype_is_complex(lz_dtype d)
{
    return lz_dtype_category(d) == LZ_CATEGORY_COMPLEX;
}

/* Integers and bool. */
static inline bool lz_dtype_is_whole(lz_dtype d)
{
    lz_category k = lz_dtype_category(d);
    return k == LZ_CATEGORY_INT || k == LZ_CATEGORY_BOOL;
}

#endif
