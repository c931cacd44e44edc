/* open_ctx.h - contexts that must not fail, and counters. */
#ifndef LZ_TEST_OPEN_CTX_H
#define LZ_TEST_OPEN_CTX_H

#include "check.h"
#include <lazuli/lazuli.h>

/* NULL: all defaults. */
static inline lz_ctx *open_ctx(const lz_options *o)
{
    lz_ctx *c = lz_open(o);
    assert_non_null(c);
    assert_string_equal(lz_message(c), "");
    return c;
}

static inline void close_ctx(lz_ctx *c)
{
    assert_string_equal(lz_message(c), "");
    lz_close(c);
}

static inline int64_t count(const char *name)
{
    int64_t v = 0;
    return lz_counter_value(name, &v) ? v : 0;
}

#endif
