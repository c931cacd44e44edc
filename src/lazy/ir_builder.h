/* ir_builder.h - makes nodes without tensors: for builders and backends that need nodes that no program
 * recorded. */
#ifndef LZ_LAZY_IR_BUILDER_H
#define LZ_LAZY_IR_BUILDER_H

#include <lazuli/backend.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The builder for backends without a builder of their own. */
extern const lz_ir_builder lz_own_ir_builder;

#ifdef __cplusplus
}
#endif
#endif
