/* record.h - the one recorder that all functions of ops.h call. */
#ifndef LZ_LAZY_RECORD_H
#define LZ_LAZY_RECORD_H

#include <lazuli/schema.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Any operator: checks, infers, records; views, in-place and out variants included. `in` is
 * complete, in the order of the schema: what is absent is of kind none, or its type's value
 * for that. `out` has room for the results, which belong to the scope; a call that fails
 * leaves inert tensors and zeros there. */
void lz_record(lz_ctx *c, const lz_op_row *op, lz_loc at, const lz_value *in, lz_value *out);

/* The same for a call that a formula makes: it writes no running statistics (statistics.h). */
void lz_record_part(lz_ctx *c, const lz_op_row *op, lz_loc at, const lz_value *in, lz_value *out);

#ifdef __cplusplus
}
#endif
#endif
