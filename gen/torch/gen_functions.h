/* gen_functions.h - the C++ API: at::add (Functions.h), Tensor::add (TensorBody.h) and at::redispatch::add
 * (RedispatchFunctions.h), each with all its signatures, as calls of at::_ops::add. user: unused. */
#ifndef LZG_GEN_FUNCTIONS_H
#define LZG_GEN_FUNCTIONS_H

#include "gen/torch/gen_torch.h"

LZ_MUST_USE lz_err *lzg_put_function(lz_arena *a, const void *user, const lzg_function *f, lz_text *out);
/* Nothing for operators that are no methods. */
LZ_MUST_USE lz_err *lzg_put_method_declaration(lz_arena *a, const void *user, const lzg_function *f,
                                               lz_text *out);
LZ_MUST_USE lz_err *lzg_put_method_definition(lz_arena *a, const void *user, const lzg_function *f,
                                              lz_text *out);
LZ_MUST_USE lz_err *lzg_put_redispatch_function(lz_arena *a, const void *user, const lzg_function *f,
                                                lz_text *out);

#endif
