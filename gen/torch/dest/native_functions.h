/* native_functions.h - declarations of the kernels that dispatch tables name. */
#ifndef LZG_DEST_NATIVE_FUNCTIONS_H
#define LZG_DEST_NATIVE_FUNCTIONS_H

#include "gen/model/model.h"
#include "gen/text/texts.h"

/* All kernels of one operator (of a group: of its out op) share a namespace. */
LZ_MUST_USE lz_err *lzg_native_one_namespace(const lzg_function *f);

/* "PREFIX R kernel(T a=1, ...);" of f's kernel m, which follows the native API, or the dispatcher's if it is
 * external; nothing for legacy:: kernels. */
LZ_MUST_USE lz_err *lzg_put_native_declaration(lz_arena *a, const char *prefix, const lzg_function *f,
                                               const lzg_backend_metadata *m, bool external, lz_text *out);

/* "struct PREFIX structured_KERNEL : public at::meta::structured_NAME {\nvoid impl(...);\n};\n" */
LZ_MUST_USE lz_err *lzg_put_native_structured(lz_arena *a, const char *prefix, const lzg_group *g,
                                              const lzg_backend_metadata *m, lz_text *out);

/* The macro that exports an index's kernels: TORCH_API, TORCH_CUDA_CPP_API, ...; "" for an external one. */
const char *lzg_export_macro(const lzg_backend_index *index);

/* All declarations that a group or an operator has for an index, an item each. */
LZ_MUST_USE lz_err *lzg_put_native_declarations(lz_arena *a, const lzg_ops *ops,
                                                const lzg_backend_index *index, const lzg_grouped *g,
                                                lzg_texts *out);

/* The declarations of groups and operators for all keys, by namespace, an item a line. Those that differ in
 * their macro alone are one. */
LZ_MUST_USE lz_err *lzg_put_namespaced_kernels(lz_arena *a, const lzg_ops *ops, const lzg_grouped *g,
                                               size_t n, lzg_texts *out);

/* Kernels of the CUDA family that are in the CPU library ("dest.native_functions.cpu_dll_cuda_kernels") must
 * exist. */
LZ_MUST_USE lz_err *lzg_check_cpu_dll_kernels(const lzg_ops *ops);

#endif
