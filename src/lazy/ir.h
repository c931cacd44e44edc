/* ir.h - making nodes by hand, without tensors: for builders and backends that need some
 * that nobody recorded. */
#ifndef LZ_LAZY_IR_H
#define LZ_LAZY_IR_H

#include <lazuli/backend.h>

#ifdef __cplusplus
extern "C" {
#endif

/* args: of the schema, in its order; tensors among them are none, and come as `in`. What the
 * node looks like is inferred. Gives its first output, with one count of the node. */
LZ_MUST_USE lz_err *lz_ir_make(lz_ir *ir, const lz_op_row *op, const lz_value *args, const lz_operands *in,
                               size_t n, lz_output *out);

/* Where a context records. */
lz_ir *lz_ir_of(lz_ctx *c);
void lz_ir_release(lz_ir *ir, lz_output o);

/* The builder of backends that have none of their own. */
extern const lz_ir_builder lz_own_ir_builder;

#ifdef __cplusplus
}
#endif
#endif
