/* record_impl.h - what record.c and write.c share: the parts of recording one call, in order.
 * The call that is being recorded is the context's. */
#ifndef LZ_LAZY_RECORD_IMPL_H
#define LZ_LAZY_RECORD_IMPL_H

#include "lazy/ctx.h"

/* What the call gives, if the answer before it was last followed by this call; NULL if not, or where that
 * takes as long to find out as packing and asking. Packs nothing: of the context's call only operator,
 * tensors and numbers are set. An answer from here has no need of elements (dynamic). */
const lz_inferred *lz_record_repeat(lz_ctx *c, const lz_op_row *op, const lz_value *in);
/* Packs the arguments and looks at the operands. *ok false: one of them is inert, so nothing
 * is to be done. */
LZ_MUST_USE lz_err *lz_record_pack(lz_ctx *c, const lz_op_row *op, const lz_value *in, bool *ok);
/* What the packed call gives; packs again where numbers turn out to be fixed. */
LZ_MUST_USE lz_err *lz_record_infer(lz_ctx *c, const lz_value *in, const lz_inferred **out);
/* The node of the packed call; one count is the caller's. */
LZ_MUST_USE lz_err *lz_record_node(lz_ctx *c, const lz_inferred *x, lz_node **out);
/* A new tensor for a result, or one that looks at an operand. node NULL: its value is found
 * when it is asked for. several: it is one of a list. */
LZ_MUST_USE lz_err *lz_record_tensor(lz_ctx *c, const lz_result *r, const lz_node *node, uint32_t index,
                                     bool several, lz_tensor **out);
/* t may be used in this context: *ok as above. */
LZ_MUST_USE lz_err *lz_record_check(const lz_ctx *c, const lz_tensor *t, bool *ok);

/* Operators that write to arguments (write.c). */
LZ_MUST_USE lz_err *lz_record_write(lz_ctx *c, const lz_op_row *op, const lz_value *in, lz_value *out,
                                    bool *ok);

/* The operator that computes what another one writes, and its arguments. */
typedef struct lz_kin_call {
    const lz_op_row *kin;
    lz_value args[LZ_ARGS_MAX];
    uint32_t nwritten;
    struct {
        lz_tensor *t;
        uint32_t result; /* of the kin: what t becomes */
    } written[LZ_ARGS_MAX];
} lz_kin_call;

/* Refuses whatever lz_record_write would refuse; nothing is recorded. */
LZ_MUST_USE lz_err *lz_record_kin(lz_ctx *c, const lz_op_row *op, const lz_value *in, lz_kin_call *out,
                                  bool *ok);
/* The elements of t become those of `made`, cast to its dtype: by the operator op. */
LZ_MUST_USE lz_err *lz_record_put(lz_ctx *c, const lz_op_row *op, lz_tensor *t, lz_tensor *made);

#endif
