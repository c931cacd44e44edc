/* lower_impl.h - what the files of the builder share. */
#ifndef LZ_LOWER_LOWER_IMPL_H
#define LZ_LOWER_LOWER_IMPL_H

#include "core/convert.h"
#include "core/dtype.h"
#include "core/promote.h"
#include "core/shape.h"
#include "lower/lower.h"

typedef struct lz_low_proto {
    lz_low_kind kind;
    lz_dtype dtype;
    bool number;
    uint16_t op;
    size_t nin;
    const lz_low_node *const *in;
    lz_ints sizes;
    const void *attr; /* no padding bytes may be uninitialised */
    size_t attr_size;
} lz_low_proto;

/* Finds an equal node or makes a new one. */
LZ_MUST_USE lz_err *lz_low_intern(lz_lower *b, const lz_low_proto *p, const lz_low_node **out);
/* A node like n with other operands and sizes. */
LZ_MUST_USE lz_err *lz_low_again(lz_lower *b, const lz_low_node *n, const lz_low_node *const *in,
                                 lz_ints sizes, const lz_low_node **out);

/* Keeps v unconverted. */
LZ_MUST_USE lz_err *lz_low_make_const(lz_lower *b, lz_scalar v, lz_dtype d, bool number, bool sized,
                                      const lz_low_node **out);
/* As lz_low_map and lz_low_cast. number: the result is a number of the formula language. */
LZ_MUST_USE lz_err *lz_low_make_map(lz_lower *b, lz_kernel_op op, const lz_low_node *const *in, bool number,
                                    const lz_low_node **out);
LZ_MUST_USE lz_err *lz_low_make_cast(lz_lower *b, const lz_low_node *x, lz_dtype to, bool number,
                                     const lz_low_node **out);
/* An operator of the formula language on nodes of one dtype and one shape. */
LZ_MUST_USE lz_err *lz_low_node_op(lz_lower *b, lz_low_operator op, const lz_low_node *const *in, bool number,
                                   const lz_low_node **out);

/* The attribute of a check with this rule; everything else is zero. */
LZ_MUST_USE lz_err *lz_low_new_check(lz_lower *b, lz_str rule, lz_low_check_attr **out);

#endif
