/* nodes.h - one function for each operator that is recorded: it makes the operator's node from
 * outputs of other nodes. Made by lazuli-gen from the operator files. */
#ifndef LZ_LAZY_NODES_H
#define LZ_LAZY_NODES_H

#include "lazy/ir_builder.h"

#ifdef __cplusplus
extern "C" {
#endif

LZ_MUST_USE
lz_err *lz_make_add_Tensor(lz_ir *lz_where, lz_output self, lz_output other, lz_scalar alpha,
                           lz_output *lz_out);
LZ_MUST_USE
lz_err *lz_make_relu(lz_ir *lz_where, lz_output self, lz_output *lz_out);
LZ_MUST_USE
lz_err *lz_make_max_dim(lz_ir *lz_where, lz_output self, int64_t dim, bool keepdim, lz_output *lz_out);
LZ_MUST_USE
lz_err *lz_make_conv2d(lz_ir *lz_where, lz_output input, lz_output weight, lz_output bias, lz_ints stride,
                       lz_ints padding, int64_t groups, lz_output *lz_out);
LZ_MUST_USE
lz_err *lz_make_options(lz_ir *lz_where, lz_output self, lz_opt_int a, lz_opt_float b, lz_opt_bool e,
                        const char *s, lz_memory_format f, lz_device d, lz_floats l, lz_output *lz_out);
LZ_MUST_USE
lz_err *lz_make_gelu(lz_ir *lz_where, lz_output self, const char *approximate, const char *end,
                     lz_output *lz_out);
/* No operator of this set; the backend makes and lowers these nodes:
 * scalar(Scalar value, ScalarType type) -> Tensor */

#ifdef __cplusplus
}
#endif
#endif
