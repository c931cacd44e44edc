/* boxed_table.h - operators by number, called with arrays of values. Made by lazuli-gen from
 * the operator files. */
#ifndef LZ_API_BOXED_TABLE_H
#define LZ_API_BOXED_TABLE_H

#include "op/boxed.h"
#include "op/op_table.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef void lz_any_fn(void); /* cast back to its real type before a call */
/* Passes values on without checks; one for each type of function. */
typedef void lz_thunk_fn(lz_any_fn *f, lz_ctx *c, lz_loc at, const lz_value *in, lz_value *out);

typedef struct lz_boxed_row {
    lz_thunk_fn *thunk;
    lz_any_fn *function; /* lz_NAME_at */
} lz_boxed_row;

/* By lz_op; row 0 is empty. */
extern const lz_boxed_row lz_boxed_table[LZ_OP_COUNT];

/* Binds n values (op/boxed.h) and calls; out has room for the operator's results. */
LZ_MUST_USE
lz_err *lz_boxed_call(lz_op op, lz_ctx *c, lz_loc at, const lz_value *in, size_t n, lz_value *out);

/* One for each type that the functions of ops.h have, under the name of its first operator. */
lz_thunk_fn lz_boxed_add_Tensor;
lz_thunk_fn lz_boxed_add_out;
lz_thunk_fn lz_boxed_relu;
lz_thunk_fn lz_boxed_mul_Scalar;
lz_thunk_fn lz_boxed_max_dim;
lz_thunk_fn lz_boxed_frexp_parts;
lz_thunk_fn lz_boxed_conv2d;
lz_thunk_fn lz_boxed_sum_dim_IntList;
lz_thunk_fn lz_boxed_clamp;
lz_thunk_fn lz_boxed_options;
lz_thunk_fn lz_boxed_empty_memory_format;
lz_thunk_fn lz_boxed_split_Tensor;
lz_thunk_fn lz_boxed_index_Tensor;
lz_thunk_fn lz_boxed__foreach_add__List;
lz_thunk_fn lz_boxed_words;
lz_thunk_fn lz_boxed_gelu;
lz_thunk_fn lz_boxed_nothing;
lz_thunk_fn lz_boxed_late;
lz_thunk_fn lz_boxed_all_named;
lz_thunk_fn lz_boxed_det;
lz_thunk_fn lz_boxed_det_result;
lz_thunk_fn lz_boxed_other_scale;
lz_thunk_fn lz_boxed_add_Scalar;
lz_thunk_fn lz_boxed_sum;
lz_thunk_fn lz_boxed_empty_memory_format_out;

#ifdef __cplusplus
}
#endif
#endif
