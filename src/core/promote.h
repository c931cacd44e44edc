/* promote.h - the dtype of a result from the dtypes of the operands, as PyTorch has it.
 *
 * Operands come in three ranks: tensors with dimensions, tensors without, and numbers
 * of the language. A lower rank changes the result only where it has a higher category
 * (bool < integer < float < complex): an i8 tensor plus 1000 stays i8, plus 1.5 it
 * becomes the default float. */
#ifndef LZ_CORE_PROMOTE_H
#define LZ_CORE_PROMOTE_H

#include "base/err.h"
#include "core/dtype.h"

typedef enum lz_arg_rank { LZ_RANK_TENSOR, LZ_RANK_ZERO_DIM, LZ_RANK_NUMBER, LZ_RANKS } lz_arg_rank;

typedef struct lz_arg_type {
    lz_dtype dtype; /* LZ_DTYPE_NONE: an absent tensor, which does not count */
    lz_arg_rank rank;
} lz_arg_type;

lz_arg_type lz_arg_of_scalar(lz_scalar v);

/* The least dtype that both go into; NONE gives way to the other. */
lz_dtype lz_dtype_promote(lz_dtype a, lz_dtype b);

/* default_float: what numbers with a fraction become; LZ_F32 unless the user chose. */
lz_dtype lz_dtype_result(const lz_arg_type *args, size_t n, lz_dtype default_float);

/* What an operator makes of the common dtype. */
typedef enum lz_promotion {
    LZ_PROMOTE_COMMON,         /* add: the same */
    LZ_PROMOTE_WHOLE_TO_FLOAT, /* sqrt, div: integers and bool become the default float */
    LZ_PROMOTE_ALWAYS_BOOL,    /* eq: compares in the common dtype, gives bool */
    LZ_PROMOTE_TO_REAL,        /* abs: a complex gives its part's dtype */
    LZ_PROMOTE_BOOL_TO_I64,    /* sum: bool is counted */
    LZ_PROMOTIONS
} lz_promotion;

typedef struct lz_op_types {
    lz_dtype common; /* operands are converted to this */
    lz_dtype result;
} lz_op_types;

lz_op_types lz_promote_op(lz_promotion rule, const lz_arg_type *args, size_t n, lz_dtype default_float);

/* Whether a result may be stored where `to` is given (in-place, out=): never to a lower
 * category, but an integer may become narrower. */
bool lz_dtype_can_cast(lz_dtype from, lz_dtype to);
LZ_MUST_USE lz_err *lz_dtype_check_cast(lz_dtype from, lz_dtype to);

#endif
