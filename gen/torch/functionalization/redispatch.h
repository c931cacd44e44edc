/* redispatch.h - what a made kernel returns after it has called another form of its operator. */
#ifndef LZG_REDISPATCH_H
#define LZG_REDISPATCH_H

#include "gen/api/types.h"

typedef struct lzg_redispatch {
    const lz_str *aliased; /* arguments that are returned */
    lz_str *fresh;         /* the other returns: the variable, or std::get<i>(variable) */
    size_t naliased, nfresh;
} lzg_redispatch;

/* The returns of s, called with its results in `variable`. */
LZ_MUST_USE lz_err *lzg_redispatch_make(lz_arena *a, const lzg_schema *s, lz_str variable,
                                        lzg_redispatch *out);

/* "return TYPE(aliased, fresh);", without the type for a single value; nothing where there is none. */
LZ_MUST_USE lz_err *lzg_put_return(const lzg_ctype *type, const lzg_redispatch *r, lz_text *out);
LZ_MUST_USE lz_err *lzg_put_return_of(const lzg_ctype *type, const lz_str *names, size_t n, lz_text *out);

#endif
