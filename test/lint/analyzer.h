/* analyzer.h - what clang-tidy cannot see from a declaration: a function that makes
 * an error never returns NULL. Included before every file but err.c, which defines
 * these functions; without it each `return lz_errf(...)` also counts as a success.
 * A plugin sees public headers alone, and makes no such errors. */
#if !defined(LZ_TEST_ANALYZER_H) && __has_include("base/err.h")
#define LZ_TEST_ANALYZER_H

#include "base/err.h"

static inline lz_err *lz_sure(lz_err *e)
{
    if (!e)
        __builtin_unreachable();
    return e;
}

#define lz_errf(...)        lz_sure(lz_errf(__VA_ARGS__))
#define lz_err_at(...)      lz_sure(lz_err_at(__VA_ARGS__))
#define lz_err_vat(...)     lz_sure(lz_err_vat(__VA_ARGS__))
#define lz_err_because(...) lz_sure(lz_err_because(__VA_ARGS__))
#define lz_err_errno(...)   lz_sure(lz_err_errno(__VA_ARGS__))
#define lz_err_oom()        lz_sure(lz_err_oom())

#endif
