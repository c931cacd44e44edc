/* boxed.h - arguments of an operator that is known only at run time.
 *
 * Arguments are values in the order of the schema. Binding checks them against the operator's rows, completes
 * them with defaults, and converts them to exactly what its C function takes. */
#ifndef LZ_OP_BOXED_H
#define LZ_OP_BOXED_H

#include "base/err.h"
#include <lazuli/schema.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { LZ_BOUND_ROOM = 64 };

typedef struct lz_bound {
    lz_value in[LZ_ARGS_MAX];
    size_t used;
    lz_scalar room[LZ_BOUND_ROOM]; /* lists made of one value: int[2] given as 3 */
} lz_bound;

/* Arguments after the n-th take their defaults, and so do those given as none, unless none is a valid value
 * for them. A value with one possible conversion is converted to what the schema says: an integer to a float,
 * a number to a Scalar, one number to a list of known size. LZ_ERR_ARG names operator and argument. Lists and
 * handles stay borrowed. */
LZ_MUST_USE
lz_err *lz_boxed_bind(const lz_op_row *op, lz_loc at, const lz_value *in, size_t n, lz_bound *out);

const char *lz_kind_name(lz_kind kind); /* as schemas write it: "Tensor", "int[]"; "None" */

#ifdef __cplusplus
}
#endif
#endif
