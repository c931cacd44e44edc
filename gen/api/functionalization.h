/* functionalization.h - how a view is remembered and replayed: a class per view op
 * holds its arguments, calls the op again on a new base (forward) and carries a
 * mutated view back (reverse). All of it follows the dispatcher's types. */
#ifndef LZG_API_FUNCTIONALIZATION_H
#define LZG_API_FUNCTIONALIZATION_H

#include "gen/api/local.h"
#include "gen/api/types.h"

/* Several returns, or a list. */
bool lzg_functionalization_multi_output(const lzg_schema *s);

/* The class's members besides those of its base: owned copies, or (as parameters of its
 * constructor) as they come. The first argument, the viewed Tensor, is left out. */
LZ_MUST_USE lz_err *lzg_functionalization_attributes(lz_arena *a, const lzg_schema *s, lzg_local local,
                                                     bool owning, lzg_bindings *out);
/* has_symbolic_inputs, and out_index where there are several outputs. */
LZ_MUST_USE lz_err *lzg_functionalization_base_arguments(lz_arena *a, const lzg_schema *s, lzg_bindings *out);
/* Both: all parameters of the constructor. */
LZ_MUST_USE lz_err *lzg_functionalization_ctor_arguments(lz_arena *a, const lzg_schema *s, lzg_local local,
                                                         lzg_bindings *out);

/* The arguments that forward (base, arguments) or reverse (base, mutated_view, inverse_return_mode,
 * [out_index], arguments) passes on. */
LZ_MUST_USE lz_err *lzg_functionalization_op_arguments(lz_arena *a, const lzg_schema *s, lzg_local local,
                                                       bool reverse, lzg_bindings *out);

extern const lzg_binding lzg_base_binding, lzg_mutated_view_binding;

/* "static at::Tensor NAME_inverse(...);" Every return must be tensor-like. */
LZ_MUST_USE lz_err *lzg_view_inverse_decl(lz_arena *a, const lzg_view_group *g, lz_str *out);

#endif
