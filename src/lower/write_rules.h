/* write_rules.h - what an operator may write to: PyTorch's rules for in-place and out forms.
 *
 * Shared by the lazy recorder (lazy/write.c) and TorchScript graphs (script/functionalize.c). Facts about
 * single operators are the field `memory` of their entries. */
#ifndef LZ_LOWER_WRITE_RULES_H
#define LZ_LOWER_WRITE_RULES_H

#include "core/storage.h"
#include "lower/layout.h"
#include "op/functional_table.h"

/* A tensor of the call: its view, and its argument index in the functional operator. */
typedef struct lz_write_read {
    lz_storage_view view;
    uint32_t arg;
    bool is_written; /* this tensor is `to`, the written one */
} lz_write_read;

/* An operator that writes, and the functional operator that computes the new values. */
typedef struct lz_write_rule {
    const lz_op_row *op, *functional;
    bool copies_itself; /* lz_write_copies_itself */
    bool names_dtype;   /* the call passes lz_write_dtype_argument */
    bool reads_written; /* a tensor argument of the functional operator is the tensor that is written */
} lz_write_rule;

/* An error if `to` must not be written, because it overlaps itself or a tensor that is read. Must be
 * called before anything is computed. */
LZ_MUST_USE lz_err *lz_write_check_overlap(const lz_write_rule *r, const lz_storage_view *to,
                                           const lz_write_read *reads, size_t n);
/* Whether an operator on a list of tensors leaves this one out: a vector without elements. If the whole list
 * is left out, the list shares nothing with what is written, as in PyTorch. */
static inline bool lz_write_leaves_out(const lz_spec *s)
{
    return s->ndim == 1 && s->numel == 0;
}
/* Whether the result may be written to a tensor of other sizes, which then takes the result's sizes. */
bool lz_write_may_resize(const lz_write_rule *r);
/* An error if sizes or dtype of a result do not fit the tensor that is written. */
LZ_MUST_USE lz_err *lz_write_check_fits(const lz_write_rule *r, const lz_spec *to, const lz_spec *result);
/* For an operator that requires it: an error if an argument shares elements with the written tensor. */
LZ_MUST_USE lz_err *lz_write_check_apart(const lz_write_rule *r, const lz_storage_view *to,
                                         const lz_write_read *reads, size_t n);
/* The error for two tensors that share an element. */
LZ_MUST_USE lz_err *lz_write_shared_element(void);
/* Whether an out form that resizes a tensor makes it row-major: true if it computes first and then copies. */
bool lz_write_resizes_row_major(const lz_op_row *op);

/* ---- the functional operator, which computes what is written ---- */

static inline const lz_functional_row *lz_functional_of(const lz_op_row *op)
{
    return &lz_functional_table[op - lz_op_table];
}
/* NULL: there is none. */
static inline const lz_op_row *lz_write_functional(const lz_op_row *op)
{
    uint16_t k = lz_functional_of(op)->functional;
    return k ? &lz_op_table[k] : NULL;
}
/* The argument of `op` that is argument i of its functional operator; LZ_NO_ARGUMENT: there is none. */
uint32_t lz_write_source(const lz_op_row *op, uint32_t i);
/* Whether all arguments of the functional operator are those of `op` with the same numbers. */
static inline bool lz_write_same_arguments(const lz_op_row *op)
{
    return !lz_functional_of(op)->from;
}
/* Whether argument i of the functional operator, if the call does not pass it, is the dtype of the tensor
 * that is written: sum(x, out=y) adds in the dtype of y. */
bool lz_write_takes_dtype(const lz_op_row *op, uint32_t i);
/* The argument by which a call names the dtype of its result; LZ_NO_ARGUMENT: there is none. */
uint32_t lz_write_dtype_argument(const lz_op_row *op);
/* Whether the call does nothing because source and target are one view: x.copy_(x). */
bool lz_write_copies_itself(const lz_op_row *op, const lz_storage_view *to, const lz_write_read *reads,
                            size_t n);

#endif
