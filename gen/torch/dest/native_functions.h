/* native_functions.h - declarations of the kernels that dispatch tables name. */
#ifndef LZG_DEST_NATIVE_FUNCTIONS_H
#define LZG_DEST_NATIVE_FUNCTIONS_H

#include "gen/model/model.h"

/* All kernels of one operator (of a group: of its out op) share a namespace. */
LZ_MUST_USE lz_err *lzg_native_one_namespace(const lzg_function *f);

/* "R kernel(T a=1, ...);" of f's kernel m; empty for legacy:: kernels. */
LZ_MUST_USE lz_err *lzg_native_declaration(lz_arena *a, const lzg_function *f, const lzg_backend_metadata *m,
                                           lz_str *out);

/* "struct structured_KERNEL : public at::meta::structured_NAME {\nvoid impl(...);\n};" */
LZ_MUST_USE lz_err *lzg_native_structured(lz_arena *a, const lzg_group *g, const lzg_backend_metadata *m,
                                          lz_str *out);

#endif
