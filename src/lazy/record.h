/* record.h - the one recorder that all functions of ops.h call. */
#ifndef LZ_LAZY_RECORD_H
#define LZ_LAZY_RECORD_H

#include "base/err.h"
#include <lazuli/schema.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Checks, infers and records a call of any operator; views, in-place and out variants included. `in` has all
 * arguments in the order of the schema; an absent one is of kind none, or its type's value for "absent".
 * `out` has room for the results, which belong to the scope. A call that fails sets results to inert tensors
 * and zeros, and leaves its error in the context. */
void lz_record(lz_ctx *c, const lz_op_row *op, lz_loc at, const lz_value *in, lz_value *out);

/* lz_record for callers inside the library: returns the error, which names operator and line, and does not
 * set that of the context. A call with an inert argument gives inert results and no error. */
LZ_MUST_USE lz_err *lz_record_try(lz_ctx *c, const lz_op_row *op, lz_loc at, const lz_value *in,
                                  lz_value *out);
/* lz_record_try for a call that a formula makes: it writes no running statistics (statistics.h). */
LZ_MUST_USE lz_err *lz_record_part(lz_ctx *c, const lz_op_row *op, lz_loc at, const lz_value *in,
                                   lz_value *out);
/* lz_record_part without the tape of gradients, whatever the arguments require. */
LZ_MUST_USE lz_err *lz_record_below_tape(lz_ctx *c, const lz_op_row *op, lz_loc at, const lz_value *in,
                                         lz_value *out);
/* lz_record_try and lz_record_below_tape for an operator with one tensor as its result; an inert result is an
 * error. */
LZ_MUST_USE lz_err *lz_record_one(lz_ctx *c, const lz_op_row *op, lz_loc at, const lz_value *in,
                                  lz_tensor **out);
LZ_MUST_USE lz_err *lz_record_one_below_tape(lz_ctx *c, const lz_op_row *op, lz_loc at, const lz_value *in,
                                             lz_tensor **out);

#ifdef __cplusplus
}
#endif
#endif
