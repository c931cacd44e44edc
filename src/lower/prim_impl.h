/* prim_impl.h - shared by the lowering functions that are written by hand.
 *
 * The node of a tensor argument may be wider than the argument's dtype (lower.h). Results state the dtype
 * that the user sees. */
#ifndef LZ_LOWER_PRIM_IMPL_H
#define LZ_LOWER_PRIM_IMPL_H

#include "core/dtype.h"
#include "core/shape.h"
#include "lower/lower_calc.h"
#include "lower/lower_table.h"

static inline lz_low_value lz_prim_tensor(lz_dtype d, const lz_low_node *n)
{
    return (lz_low_value){ .kind = LZ_LOW_VALUE_TENSOR, .dtype = d, .node = n };
}

/* A ScalarType? argument; `otherwise` for None. */
static inline lz_dtype lz_prim_dtype(const lz_low_value *v, lz_dtype otherwise)
{
    return v->kind == LZ_LOW_VALUE_DTYPE ? v->dtype : otherwise;
}

/* The dtype of a sum: i64 for integers and bool. */
static inline lz_dtype lz_prim_sum_dtype(const lz_low_value *dtype, lz_dtype self)
{
    return lz_prim_dtype(dtype, lz_dtype_is_whole(self) ? LZ_I64 : self);
}

static inline uint64_t lz_prim_all_dims(int64_t ndim)
{
    return ndim < 64 ? (UINT64_C(1) << ndim) - 1 : ~UINT64_C(0);
}

/* A dimension. For a tensor without dimensions both 0 and -1 mean 0. */
LZ_MUST_USE lz_err *lz_prim_dim(const lz_low_value *dim, int64_t ndim, int64_t *out);
/* Dimensions as a set of bits. None, and with `empty_is_all` an empty list, mean all dimensions. */
LZ_MUST_USE
lz_err *lz_prim_dims(lz_lower *b, const lz_low_value *dims, int64_t ndim, bool empty_is_all, uint64_t *out);
/* The node in the dtype in which d is computed. */
LZ_MUST_USE lz_err *lz_prim_cast(lz_lower *b, const lz_low_value *x, lz_dtype d, const lz_low_node **out);
/* x; with one dimension of size 1 if x has no dimensions. */
LZ_MUST_USE lz_err *lz_prim_some_dim(lz_lower *b, const lz_low_node *x, const lz_low_node **out);
/* A tensor with the number in every element. */
LZ_MUST_USE
lz_err *lz_prim_full(lz_lower *b, double v, lz_dtype d, lz_ints sizes, const lz_low_node **out);
/* The sizes of x, with `size` in dimension dim. */
lz_shape lz_prim_resized(const lz_low_node *x, int64_t dim, int64_t size);

LZ_MUST_USE
lz_err *lz_prim_map1(lz_lower *b, lz_kernel_op op, const lz_low_node *x, const lz_low_node **out);
LZ_MUST_USE
lz_err *lz_prim_map2(lz_lower *b, lz_kernel_op op, const lz_low_node *x, const lz_low_node *y,
                     const lz_low_node **out);
LZ_MUST_USE
lz_err *lz_prim_map3(lz_lower *b, lz_kernel_op op, const lz_low_node *x, const lz_low_node *y,
                     const lz_low_node *z, const lz_low_node **out);
/* x op v */
LZ_MUST_USE
lz_err *lz_prim_map_number(lz_lower *b, lz_kernel_op op, const lz_low_node *x, double v,
                           const lz_low_node **out);

/* An int[N] argument as n numbers. A list with one number stands for n equal numbers. */
LZ_MUST_USE
lz_err *lz_prim_spread_ints(lz_lower *b, const lz_low_value *list, int64_t n, const char *what, lz_ints *out);

#endif
