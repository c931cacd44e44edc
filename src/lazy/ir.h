/* ir.h - making nodes by hand, without tensors: for builders and backends that need some
 * that nobody recorded. */
#ifndef LZ_LAZY_IR_H
#define LZ_LAZY_IR_H

#include <lazuli/backend.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The builder of backends that have none of their own. */
extern const lz_ir_builder lz_own_ir_builder;

#ifdef __cplusplus
}
#endif
#endif
