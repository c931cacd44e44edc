/* builtins_util.h - shared by families of built-ins: Python's indices and slices as positions, and the limit
 * on what a single call may create. */
#ifndef LZ_GRAPH_BUILTINS_UTIL_H
#define LZ_GRAPH_BUILTINS_UTIL_H

#include "graph/script_value.h"

enum { LZ_BUILTIN_MOST = 1 << 26 }; /* bytes of a string, elements of a list */

/* Checks that n times `each` elements are within the limit. */
static inline lz_err *lz_builtin_room(size_t each, int64_t n)
{
    if (n <= 0 || !each || (uint64_t)n <= LZ_BUILTIN_MOST / each)
        return NULL;
    return lz_errf(LZ_ERR_LIMIT, "MemoryError: more than %d elements at once", LZ_BUILTIN_MOST);
}

/* False: out of range. Negative indices count from the end. */
static inline bool lz_index_wrap(int64_t i, size_t len, size_t *out)
{
    int64_t n = (int64_t)len, at = i < 0 ? i + n : i;
    *out = (size_t)at;
    return at >= 0 && at < n;
}

/* Wraps a negative index, then clamps to 0..len. */
static inline size_t lz_index_clamp(int64_t i, size_t len)
{
    int64_t n = (int64_t)len, at = i < 0 ? i + n : i;
    return at < 0 ? 0 : at > n ? len : (size_t)at;
}

/* start:end:step of len elements: the first index and the number of elements. Bounds may be None; step must
 * be positive. */
static inline void lz_slice(const lz_script_value bound[2], int64_t step, size_t len, size_t *first,
                            size_t *count)
{
    size_t from = bound[0].kind == LZ_SCRIPT_VALUE_NONE ? 0 : lz_index_clamp(bound[0].i, len);
    size_t to = bound[1].kind == LZ_SCRIPT_VALUE_NONE ? len : lz_index_clamp(bound[1].i, len);
    *first = from;
    *count = from < to ? (to - from - 1) / (size_t)step + 1 : 0;
}

#endif
