/* lower_impl.h - what the files of the builder share. */
#ifndef LZ_LOWER_LOWER_IMPL_H
#define LZ_LOWER_LOWER_IMPL_H

#include "core/convert.h"
#include "core/dtype.h"
#include "core/promote.h"
#include "core/shape.h"
#include "lower/lower.h"

typedef struct lz_low_proto {
    lz_lkind kind;
    lz_dtype dtype;
    bool number;
    uint16_t op;
    size_t nin;
    const lz_ln *const *in;
    lz_ints sizes;
    const void *attr; /* without uninitialised padding */
    size_t attr_size;
} lz_low_proto;

/* Finds or makes the node. */
LZ_MUST_USE lz_err *lz_low_intern(lz_lower *b, const lz_low_proto *p, const lz_ln **out);
/* The same node, of other operands and of these sizes. */
LZ_MUST_USE lz_err *lz_low_again(lz_lower *b, const lz_ln *n, const lz_ln *const *in, lz_ints sizes,
                                 const lz_ln **out);

/* Takes v as it is. */
LZ_MUST_USE lz_err *lz_low_make_const(lz_lower *b, lz_scalar v, lz_dtype d, bool number, bool sized,
                                      const lz_ln **out);
/* Like lz_low_map and lz_low_cast; number: the result is one of the language. */
LZ_MUST_USE lz_err *lz_low_make_map(lz_lower *b, lz_kop op, const lz_ln *const *in, bool number,
                                    const lz_ln **out);
LZ_MUST_USE lz_err *lz_low_make_cast(lz_lower *b, const lz_ln *x, lz_dtype to, bool number,
                                     const lz_ln **out);
/* An operation of the language on nodes of one dtype and one shape. */
LZ_MUST_USE lz_err *lz_low_node_op(lz_lower *b, lz_lop op, const lz_ln *const *in, bool number,
                                   const lz_ln **out);

/* The attribute of a check; all but the rule is zero. */
LZ_MUST_USE lz_err *lz_low_new_check(lz_lower *b, lz_str rule, lz_lcheck **out);

#endif
