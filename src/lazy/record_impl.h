/* record_impl.h - what record.c and write.c share: the parts of recording one call, in order.
 * The call that is being recorded is the context's. */
#ifndef LZ_LAZY_RECORD_IMPL_H
#define LZ_LAZY_RECORD_IMPL_H

#include "lazy/ctx.h"
#include "lazy/functional_call.h"

/* The answer of lz_infer_call, if this call followed the last answer before (lz_infer_sequence); NULL: it did
 * not, or comparing would take as long as packing and inferring. Packs nothing: of the context's call only
 * operator, tensors and numbers are set. The answer is never `dynamic`. */
const lz_inferred *lz_record_repeat(lz_ctx *c, const lz_op_row *op, const lz_value *in);
/* As lz_record_repeat, for a call that gives one new tensor and whose operands have values at hand: sets only
 * operands and numbers of the context's call, and nothing counts as recorded before lz_record_again. */
lz_inferred *lz_record_repeat_one(lz_ctx *c, const lz_op_row *op, const lz_value *in);
/* The node of a call that lz_record_repeat_one has found; one count is the caller's. */
LZ_MUST_USE lz_err *lz_record_again(lz_ctx *c, lz_inferred *x, lz_node **out);
/* Packs the arguments and collects the operands. *ok false: an operand is inert, so the call does nothing. */
LZ_MUST_USE lz_err *lz_record_pack(lz_ctx *c, const lz_op_row *op, const lz_value *in, bool *ok);
/* Infers the results of the packed call; packs again where numbers turn out to be fixed. */
LZ_MUST_USE lz_err *lz_record_infer(lz_ctx *c, const lz_value *in, const lz_inferred **out);
/* The node of the packed call; one count is the caller's. */
LZ_MUST_USE lz_err *lz_record_node(lz_ctx *c, const lz_inferred *x, lz_node **out);
/* A new tensor for a result, or a view of an operand. node NULL: the value is derived on demand. several: the
 * result is one of a list. */
LZ_MUST_USE lz_err *lz_record_tensor(lz_ctx *c, const lz_result *r, const lz_node *node, uint32_t index,
                                     bool several, lz_tensor **out);
/* An error if t belongs to another context; *ok false: t is inert. */
LZ_MUST_USE lz_err *lz_record_check(const lz_ctx *c, const lz_tensor *t, bool *ok);

/* Whether a call of this operator is recorded as the operators of its formula: a list of numbers is no
 * run-time value of a node. */
bool lz_record_is_by_formula(const lz_op_row *op, const lz_value *in);

/* Operators that write to arguments (write.c). */
LZ_MUST_USE lz_err *lz_record_write(lz_ctx *c, const lz_op_row *op, const lz_value *in, lz_value *out,
                                    bool *ok);

#endif
