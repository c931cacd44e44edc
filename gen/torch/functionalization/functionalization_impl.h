/* functionalization_impl.h - rules that the checks of gen_functionalization_type.h share with the files that
 * print kernels. */
#ifndef LZG_FUNCTIONALIZATION_IMPL_H
#define LZG_FUNCTIONALIZATION_IMPL_H

#include "gen/model/model.h"

bool lzg_functionalization_writes(const lzg_schema *s);                  /* an argument */
bool lzg_functionalization_is_left_alone(const lzg_function *f);         /* its kernel is hand-written */
bool lzg_functionalization_is_exempt(const lzg_ops *ops, lz_str name);   /* listed as not functionalized */
bool lzg_computes_in_out_dtype(const lzg_ops *ops, const lzg_schema *s); /* if it is given no dtype */
LZ_MUST_USE lz_err *lzg_functionalization_check_no_view(const lzg_function *f);

/* Whether a member of the group has a kernel. */
LZ_MUST_USE lz_err *lzg_check_view_kernel(lz_arena *a, const lzg_view_group *g, const lzg_function *f);
LZ_MUST_USE lz_err *lzg_check_writing_kernel(lz_arena *a, const lzg_ops *ops, const lzg_group *g,
                                             const lzg_function *f);

#endif
