/* native.h - the signature of a kernel in at::native: dispatcher order, the overload in the name,
 * SymInt only for kernels that ask for it, defaults except on out ops. */
#ifndef LZG_API_NATIVE_H
#define LZG_API_NATIVE_H

#include "gen/api/local.h"
#include "gen/api/types.h"

LZ_MUST_USE lz_err *lzg_native_name(lz_arena *a, const lzg_schema *s,
                                    lz_str *out); /* base[_out][_overload] */
LZ_MUST_USE lz_err *lzg_native_arguments(lz_arena *a, const lzg_schema *s, lzg_local local, bool symint,
                                         lzg_bindings *out);
LZ_MUST_USE lz_err *lzg_native_signature(lz_arena *a, const lzg_schema *s, lzg_local local, bool symint,
                                         lzg_sig *out);

/* The signature expected of f's kernel m (NULL: none): native in tree, the dispatcher's for
 * external backends. A _symint kernel needs SymInt in the schema. */
LZ_MUST_USE lz_err *lzg_kernel_signature(lz_arena *a, const lzg_function *f, const lzg_backend_metadata *m,
                                         bool external, lzg_sig *out);

#endif
