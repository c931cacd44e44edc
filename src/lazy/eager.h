/* eager.h - calls whose results cannot be described before they are computed: nonzero,
 * masked_select, indexing with masks, unique.
 *
 * Their operands are synced and copied to the host, the call runs there, and the results are uploaded as held
 * data. */
#ifndef LZ_LAZY_EAGER_H
#define LZ_LAZY_EAGER_H

#include "lazy/ctx.h"

/* The call is packed in c->call. results: the operator's returns, then the values of arguments that it writes
 * and does not return; *n: their number, at most LZ_ARGS_MAX. */
LZ_MUST_USE lz_err *lz_eager_call(lz_ctx *c, lz_value *results, size_t *n);

#endif
