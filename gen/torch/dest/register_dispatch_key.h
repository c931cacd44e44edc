/* register_dispatch_key.h - the wrappers that are registered for a dispatch key, and
 * the direct functions at::<key>:: that lead to them.
 *
 * Meta and CompositeExplicitAutogradNonFunctional kernels of structured operators are
 * made from the operator's meta function and out op, so no table may name them. */
#ifndef LZG_DEST_REGISTER_DISPATCH_KEY_H
#define LZG_DEST_REGISTER_DISPATCH_KEY_H

#include "gen/api/types.h"

typedef struct lzg_wrapper {
    lzg_sig sig;   /* wrapper_<Key>_<overload>_<name>; structured: wrapper_<Key>_<native name> */
    lz_str callee; /* of the kernel: at::native::name, op.impl, ...; empty: none is called */
    const lz_str *args;
    size_t nargs;
} lzg_wrapper;

/* m: f's kernel for the key, or NULL for the stub that an inplace op without kernel or
 * composite gets for Meta. */
LZ_MUST_USE lz_err *lzg_register_unstructured(lz_arena *a, const lzg_function *f, lzg_dispatch_key key,
                                              const lzg_backend_metadata *m, lzg_wrapper *out);

/* f: a member of the structured group g. Without a signature where nothing is registered:
 * out for CompositeExplicitAutogradNonFunctional. */
LZ_MUST_USE lz_err *lzg_register_structured(lz_arena *a, const lzg_group *g, const lzg_function *f,
                                            lzg_dispatch_key key, lzg_wrapper *out);

/* Everything that a group, or an op outside groups, registers for any key. */
LZ_MUST_USE lz_err *lzg_register_group(lz_arena *a, const lzg_group *g);
LZ_MUST_USE lz_err *lzg_register_single(lz_arena *a, const lzg_function *f);

#endif
