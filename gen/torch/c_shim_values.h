/* c_shim_values.h - inside a C shim: ATen's values from the C parameters, and the C results from ATen's. */
#ifndef LZG_C_SHIM_VALUES_H
#define LZG_C_SHIM_VALUES_H

#include "gen/model/model.h"
#include "gen/text/lists.h"

/* The expression that is passed on for an argument, "resolve_tensor_dispatch_flags(self)". */
LZ_MUST_USE lz_err *lzg_put_c_shim_argument(lz_arena *a, const lzg_argument *arg, lz_text *out);

/* Assignments from tmp_result to the result pointers, a line each, without the last line end. For some
 * operators ("gen_aoti_c_shim.null_returns") a pointer may be null. */
LZ_MUST_USE lz_err *lzg_put_c_shim_results(const lzg_lists *lists, const lzg_schema *s, lz_text *out);

#endif
