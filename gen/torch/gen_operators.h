/* gen_operators.h - Operators.h and Operators.cpp: at::_ops::NAME, a struct for each operator with its schema
 * and the ways into the dispatcher. */
#ifndef LZG_GEN_OPERATORS_H
#define LZG_GEN_OPERATORS_H

#include "gen/torch/gen_torch.h"

/* user: unused. */
LZ_MUST_USE lz_err *lzg_put_operator_declaration(lz_arena *a, const void *user, const lzg_function *f,
                                                 lz_text *out);
/* user: lzg_torch_settings; with static dispatch `call` leads to a kernel. */
LZ_MUST_USE lz_err *lzg_put_operator_definition(lz_arena *a, const void *user, const lzg_function *f,
                                                lz_text *out);

/* Text as a C++ string literal. */
void lzg_put_cpp_string(lz_text *out, lz_str s);

#endif
