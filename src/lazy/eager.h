/* eager.h - calls whose results cannot be described before they are computed: nonzero,
 * masked_select, indexing with masks, unique.
 *
 * What they need is synced and fetched, the call runs on the host, and the results are held
 * data like any other. */
#ifndef LZ_LAZY_EAGER_H
#define LZ_LAZY_EAGER_H

#include "lazy/ctx.h"

/* The call is packed in c->call. Results come as the operator returns them; behind them what
 * it writes without returning it; *n: how many, at most LZ_ARGS_MAX. */
LZ_MUST_USE lz_err *lz_eager_call(lz_ctx *c, lz_value *results, size_t *n);

#endif
