/* op_results.h - whether a result of an operator has new memory or is a view of an argument.
 *
 * The one model of views for all callers of operators: the lazy recorder (lazy/infer.c) and TorchScript
 * graphs (script/functionalize.c). It uses the schema, the fields `memory` and `strides` of the operator's
 * entry, and the nodes of the lowering function: a chain of index maps and reshapes of an argument is a
 * strided view of the argument. */
#ifndef LZ_LOWER_OP_RESULTS_H
#define LZ_LOWER_OP_RESULTS_H

#include "lower/layout.h"

typedef struct lz_result {
    const lz_spec *spec;
    int64_t offset; /* of a view, relative to its operand */
    int32_t viewed; /* the operand of which the result is a view; -1: new memory */
    bool same;      /* the result is the operand itself */
} lz_result;

/* Whether some result may be a view of an argument. */
bool lz_op_may_view(const lz_op_row *op);

/* Infers the results of an operator for lz_op_result: only sizes and dtypes are valid, and the nodes must
 * not be run. args have an input node for each tensor. b->nonzero is called if sizes depend on elements. */
LZ_MUST_USE lz_err *lz_op_infer(lz_lower *b, const lz_op_row *op, const lz_low_value *args,
                                lz_low_value *results, size_t *n);

/* Describes v: result `ret` of the call, or an item of that result if it is a list. LZ_ERR_ARG with
 * PyTorch's message if the view is impossible. */
LZ_MUST_USE lz_err *lz_op_result(const lz_op_call *c, lz_specs *specs, lz_arena *scratch, uint32_t ret,
                                 const lz_low_value *v, lz_result *out);

#endif
