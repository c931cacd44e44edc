/* boxed.h - calling an operator that is known only at run time.
 *
 * Arguments come as values in the order of the schema. They are bound first: checked
 * against the rows of the operator, completed by defaults, and turned into exactly what
 * its C function takes. After that a thunk, one for each type of function, picks them
 * without looking. */
#ifndef LZ_OP_BOXED_H
#define LZ_OP_BOXED_H

#include "base/err.h"
#include <lazuli/schema.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef void lz_any_fn(void); /* cast back before it is called */
typedef void lz_thunk_fn(lz_any_fn *f, lz_ctx *c, lz_loc at, const lz_value *in, lz_value *out);

typedef struct lz_boxed_row {
    lz_thunk_fn *thunk;
    lz_any_fn *function; /* lz_NAME_at */
} lz_boxed_row;

enum { LZ_BOUND_ROOM = 64 };

typedef struct lz_bound {
    lz_value in[LZ_ARGS_MAX];
    size_t used;
    lz_scalar room[LZ_BOUND_ROOM]; /* lists made of one value: int[2] given as 3 */
} lz_bound;

/* Arguments behind the n-th take their defaults, and so do those given as none, unless
 * none is one of their values. A value that fits in one way only is turned into what the
 * schema says: an integer into a float, a number into a Scalar, one number into a list of
 * known size. LZ_ERR_ARG names operator and argument. Lists and handles stay borrowed. */
LZ_MUST_USE
lz_err *lz_boxed_bind(const lz_op_row *op, lz_loc at, const lz_value *in, size_t n, lz_bound *out);

/* Binds and calls; out has room for op->nreturns. */
LZ_MUST_USE
lz_err *lz_boxed_call(const lz_op_row *op, const lz_boxed_row *row, lz_ctx *c, lz_loc at, const lz_value *in,
                      size_t n, lz_value *out);

const char *lz_kind_name(lz_kind kind); /* "tensor", "integer", ...; "none" */

#ifdef __cplusplus
}
#endif
#endif
