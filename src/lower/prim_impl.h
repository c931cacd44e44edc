/* prim_impl.h - what the lowering functions that are written by hand share.
 *
 * A tensor argument is carried by a node that may be wider than its dtype (lower.h);
 * results say the dtype that the user sees. */
#ifndef LZ_LOWER_PRIM_IMPL_H
#define LZ_LOWER_PRIM_IMPL_H

#include "core/dtype.h"
#include "core/shape.h"
#include "lower/lower_calc.h"
#include "lower/lower_table.h"

static inline lz_lv lz_prim_tensor(lz_dtype d, const lz_ln *n)
{
    return (lz_lv){ .kind = LZ_LV_TENSOR, .dtype = d, .node = n };
}

/* A ScalarType? argument, or what stands for None. */
static inline lz_dtype lz_prim_dtype(const lz_lv *v, lz_dtype otherwise)
{
    return v->kind == LZ_LV_DTYPE ? v->dtype : otherwise;
}

/* What sums of integers and bool are: i64. */
static inline lz_dtype lz_prim_sum_dtype(const lz_lv *dtype, lz_dtype self)
{
    return lz_prim_dtype(dtype, lz_dtype_is_whole(self) ? LZ_I64 : self);
}

static inline uint64_t lz_prim_all_dims(int64_t ndim)
{
    return ndim < 64 ? (UINT64_C(1) << ndim) - 1 : ~UINT64_C(0);
}

/* A dimension; of a tensor without any both 0 and -1 mean 0. */
LZ_MUST_USE lz_err *lz_prim_dim(const lz_lv *dim, int64_t ndim, int64_t *out);
/* Dimensions as a set; None, and an empty list if `empty_is_all`, mean all of them. */
LZ_MUST_USE
lz_err *lz_prim_dims(lz_lower *b, const lz_lv *dims, int64_t ndim, bool empty_is_all, uint64_t *out);
/* The node in the dtype that d is computed in. */
LZ_MUST_USE lz_err *lz_prim_cast(lz_lower *b, const lz_lv *x, lz_dtype d, const lz_ln **out);
/* One dimension of size 1 where there is none. */
LZ_MUST_USE lz_err *lz_prim_some_dim(lz_lower *b, const lz_ln *x, const lz_ln **out);
/* A number in every element. */
LZ_MUST_USE
lz_err *lz_prim_full(lz_lower *b, double v, lz_dtype d, lz_ints sizes, const lz_ln **out);
/* The same sizes but for one dimension. */
lz_shape lz_prim_resized(const lz_ln *x, int64_t dim, int64_t size);
/* Row-major strides of sizes. */
void lz_prim_strides(lz_ints sizes, int64_t *out);
/* i64: the index along a dimension. */
LZ_MUST_USE lz_err *lz_prim_index_along(lz_lower *b, lz_ints sizes, int64_t dim, const lz_ln **out);

LZ_MUST_USE
lz_err *lz_prim_map1(lz_lower *b, lz_kop op, const lz_ln *x, const lz_ln **out);
LZ_MUST_USE
lz_err *lz_prim_map2(lz_lower *b, lz_kop op, const lz_ln *x, const lz_ln *y, const lz_ln **out);
LZ_MUST_USE
lz_err *lz_prim_map3(lz_lower *b, lz_kop op, const lz_ln *x, const lz_ln *y, const lz_ln *z,
                     const lz_ln **out);
/* x op v */
LZ_MUST_USE
lz_err *lz_prim_map_number(lz_lower *b, lz_kop op, const lz_ln *x, double v, const lz_ln **out);

/* An int[N] argument with one number for each of n; a list of one stands for n equal ones. */
LZ_MUST_USE
lz_err *lz_prim_spread_ints(lz_lower *b, const lz_lv *list, int64_t n, const char *what, lz_ints *out);

#endif
