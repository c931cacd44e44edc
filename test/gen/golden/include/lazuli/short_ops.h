/* short_ops.h - one name for several overloads. Made by lazuli-gen from the operator files.
 *
 *     lz_add(c, a, b)    lz_add(c, a, 2)          a tensor or a number
 *     lz_sum(c, x)       lz_sum(c, x, .dim = ...)  all elements, or some dimensions
 *     lz_softmax(c, x, 1)                         the only overload, softmax.int
 *
 * The macros are for C; the functions behind them choose the overload of ops.h. */
#ifndef LAZULI_SHORT_OPS_H
#define LAZULI_SHORT_OPS_H

#include <lazuli/ops.h>

#ifdef __cplusplus
extern "C" {
#endif

/* add.Tensor, add.Scalar */
typedef struct lz_add_any_args {
    lz_scalar alpha;
} lz_add_any_args;
LZ_API extern const lz_add_any_args lz_add_any_defaults;
LZ_API lz_tensor *lz_add_any_at(lz_ctx *c, lz_loc at, lz_tensor *self, lz_operand other,
    const lz_add_any_args *args);

/* sum, sum.dim_IntList */
typedef struct lz_sum_any_args {
    lz_ints dim;
    bool keepdim;
    lz_dtype dtype;
} lz_sum_any_args;
LZ_API extern const lz_sum_any_args lz_sum_any_defaults;
LZ_API lz_tensor *lz_sum_any_at(lz_ctx *c, lz_loc at, lz_tensor *self, const lz_sum_any_args *args);

#ifdef __cplusplus
}
#else

#undef lz_add
#define lz_add(c, self, ...) LZ_CALL(lz_add_any_at((c), LZ_HERE, (self), LZ_OPERAND(LZ_LAST(__VA_ARGS__)), \
    &(const lz_add_any_args){ .alpha = { LZ_SCALAR_INT, 1, 0, 0 }, LZ_KEYWORDS(__VA_ARGS__) }))
#undef lz_sum
#define lz_sum(c, ...) LZ_CALL(lz_sum_any_at((c), LZ_HERE, (LZ_LAST(__VA_ARGS__)), &(const lz_sum_any_args){ \
    .dim = { NULL, -1 }, .keepdim = false, .dtype = LZ_DTYPE_NONE, LZ_KEYWORDS(__VA_ARGS__) }))

#define lz_add_(...) lz_add__Tensor(__VA_ARGS__)
#define lz_sub(...) lz_sub_Tensor(__VA_ARGS__)
#define lz_mul(...) lz_mul_Scalar(__VA_ARGS__)
#define lz_max(...) lz_max_dim(__VA_ARGS__)
#define lz_min(...) lz_min_dim(__VA_ARGS__)
#define lz_empty(...) lz_empty_memory_format(__VA_ARGS__)
#define lz_split(...) lz_split_Tensor(__VA_ARGS__)
#define lz_index(...) lz_index_Tensor(__VA_ARGS__)
#define lz__foreach_add_(...) lz__foreach_add__List(__VA_ARGS__)

#endif
#endif
