/* op_args.h - calls of operators with arguments that a stream of choices makes up.
 *
 * The arguments have the kinds of the schema, mostly, and values that make no sense, mostly.
 * A call must end well or be refused; anything else is found by lz_op_args_call or by a
 * sanitizer. */
#ifndef LZ_TEST_OP_ARGS_H
#define LZ_TEST_OP_ARGS_H

#include "base/err.h"
#include <lazuli/schema.h>

/* The next choice among n; the stream may be a generator or bytes. */
typedef uint32_t lz_choose_fn(void *user, uint32_t n);

/* NULL: it ran or was refused (*ran says which); otherwise what is wrong with the refusal. */
LZ_MUST_USE lz_err *lz_op_args_call(const lz_op_row *op, lz_choose_fn *choose, void *user, bool *ran);

#endif
