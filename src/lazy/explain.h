/* explain.h - why a graph had to be compiled, in words. */
#ifndef LZ_LAZY_EXPLAIN_H
#define LZ_LAZY_EXPLAIN_H

#include "base/text.h"
#include "lazy/cache.h"

/* Writes the most similar graph of the cache, and the first difference from it. */
LZ_MUST_USE lz_err *lz_explain_miss(lz_cache *c, const lz_flat *f, const lz_loc *locs, lz_text *out);

#endif
