/* gen_aoti_c_shim.h - operators as plain C functions with a stable ABI.
 *
 * Every value is a pointer, handle or number; optional means pointer, a list is pointer and length.
 * Types without a C form are LZ_ERR_UNSUPPORTED. */
#ifndef LZG_GEN_AOTI_C_SHIM_H
#define LZG_GEN_AOTI_C_SHIM_H

#include "gen/model/model.h"

/* A later version of an operator's shim: version 1 lacks the new arguments of all. */
typedef struct lzg_shim_version {
    unsigned number; /* from 2 */
    const lz_str *new_args;
    size_t nnew_args;
    lz_str since; /* TORCH_VERSION_X_Y_Z, or ptr NULL */
} lzg_shim_version;

typedef struct lzg_shim_versions {
    lz_str since; /* of version 1 */
    const lzg_shim_version *at;
    size_t n;
} lzg_shim_versions;

/* "AOTI_TORCH_EXPORT AOTITorchError aoti_torch_DEVICE_NAME[_vN](...);", newest version
 * first, one a line, guarded where it has a `since`. v may be NULL: one version. */
LZ_MUST_USE lz_err *lzg_c_shim_declaration(lz_arena *a, const lzg_schema *s, const char *device,
                                           const lzg_shim_versions *v, lz_str *out);

/* The versions that the list of fallback operators ("inductor_fallback_ops",
 * "aten_shimified_ops") gives f; *listed is false where it does not name f. */
LZ_MUST_USE lz_err *lzg_c_shim_versions(lz_arena *a, const lzg_ops *ops, const char *list,
                                        const lzg_function *f, bool *listed, lzg_shim_versions *out);

/* The shims for one dispatch key. */
typedef struct lzg_c_shim {
    const lzg_ops *ops;
    lzg_dispatch_key key; /* LZG_KEY_NONE: device "aten", which goes through the dispatcher */
    bool extend;          /* composite kernels do not count: another file has their shims */
} lzg_c_shim;

typedef struct lzg_c_shim_op {
    const lzg_function *f;
    lz_str name;          /* aten.add.Tensor, aten.abs.default */
    lzg_dispatch_key key; /* of the kernel that is called; LZG_KEY_NONE: the dispatcher */
    lzg_shim_versions versions;
    bool listed;
} lzg_c_shim_op;

/* The listed operators with a kernel or composite for the key, sorted by name. */
LZ_MUST_USE lz_err *lzg_c_shim_ops(lz_arena *a, const lzg_c_shim *shim, lzg_c_shim_op **out, size_t *n);
LZ_MUST_USE lz_err *lzg_c_shim_device(lz_arena *a, lzg_dispatch_key key, lz_str *out); /* "cpu", "aten" */

/* The declarations, a line or more each, and the definitions. Operators without a C form are left out. */
LZ_MUST_USE lz_err *lzg_c_shim_header(lz_arena *a, const lzg_c_shim *shim, lz_text *out);
LZ_MUST_USE lz_err *lzg_c_shim_source(lz_arena *a, const lzg_c_shim *shim, lz_text *out);

#endif
