/* promote.h - the dtype of a result from the dtypes of the operands, as in PyTorch.
 *
 * Operands have three ranks: tensors with dimensions, tensors without, and plain numbers. A lower rank
 * changes the result only if it has a higher category (bool < integer < float < complex): an i8 tensor plus
 * 1000 stays i8, plus 1.5 it becomes the default float. */
#ifndef LZ_CORE_PROMOTE_H
#define LZ_CORE_PROMOTE_H

#include "base/err.h"
#include "core/dtype.h"

typedef enum lz_arg_rank { LZ_RANK_TENSOR, LZ_RANK_ZERO_DIM, LZ_RANK_NUMBER, LZ_RANKS } lz_arg_rank;

typedef struct lz_arg_type {
    lz_dtype dtype; /* LZ_DTYPE_NONE: an absent tensor, which is ignored */
    lz_arg_rank rank;
} lz_arg_type;

/* The least dtype that both convert to; NONE yields the other. */
lz_dtype lz_dtype_promote(lz_dtype a, lz_dtype b);

/* default_float: the dtype of numbers with a fraction; LZ_F32 unless the user chose another. */
lz_dtype lz_dtype_result(const lz_arg_type *args, size_t n, lz_dtype default_float);

/* How an operator derives its types from the common dtype. */
typedef enum lz_promotion {
    LZ_PROMOTE_COMMON,         /* add: no change */
    LZ_PROMOTE_WHOLE_TO_FLOAT, /* sqrt, div: integers and bool become the default float */
    LZ_PROMOTE_ALWAYS_BOOL,    /* eq: compares in the common dtype, gives bool */
    LZ_PROMOTE_TO_REAL,        /* abs: a complex gives the dtype of its parts */
    LZ_PROMOTE_BOOL_TO_I64,    /* sum: bool is counted as i64 */
    LZ_PROMOTIONS
} lz_promotion;

typedef struct lz_op_types {
    lz_dtype common; /* operands are converted to this */
    lz_dtype result;
} lz_op_types;

lz_op_types lz_promote_op(lz_promotion rule, const lz_arg_type *args, size_t n, lz_dtype default_float);

/* May a result be stored in an existing `to` (in-place, out=)? Never in a lower category, but an integer may
 * become narrower. */
bool lz_dtype_can_cast(lz_dtype from, lz_dtype to);
LZ_MUST_USE lz_err *lz_dtype_check_cast(lz_dtype from, lz_dtype to);

#endif
