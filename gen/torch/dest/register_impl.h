/* register_impl.h - shared by the files that print wrappers (register_dispatch_key.h). */
#ifndef LZG_DEST_REGISTER_IMPL_H
#define LZG_DEST_REGISTER_IMPL_H

#include "gen/torch/dest/register_dispatch_key.h"
#include "gen/torch/grouped.h"
#include "gen/torch/torch_run.h"

lz_str lzg_key_text(lzg_dispatch_key key);
bool lzg_key_is(lzg_dispatch_key key, const char *name);
bool lzg_key_is_one_of(lzg_dispatch_key key, const char *const *names); /* NULL-terminated */

/* Calls of check_and_update_common_device for every tensor-like argument, outs first. */
void lzg_put_device_check(lz_text *out, const lzg_function *f, lz_str wrapper);

/* at::<key>::name for each C++ form of f, which pass their arguments to the wrapper. */
LZ_MUST_USE lz_err *lzg_put_direct(const lzg_registrar *r, const lzg_function *f, const lzg_sig *wrapper,
                                   lz_text *out);
LZ_MUST_USE lz_err *lzg_is_registered(const lzg_registrar *r, const lzg_function *f, bool *out);

/* Of the group's primary kernel; "at::native" if there is none. */
lz_str lzg_kernel_namespace(const lzg_registrar *r, const lzg_grouped *g);

/* a::b::native is registered in a::b and declared in a::b::cpu: two and three levels at most. */
LZ_MUST_USE lz_err *lzg_kernel_namespace_check(lz_str ns);

/* The member's class and wrapper. Nothing for an out op under CompositeExplicitAutogradNonFunctional. */
LZ_MUST_USE lz_err *lzg_register_structured(const lzg_registrar *r, const lzg_group *g, const lzg_function *f,
                                            lzg_registration *out);

/* The class that a wrapper of a structured kernel constructs. */
typedef struct lzg_structured_class {
    lzg_dispatch_key key;
    lzg_schema_kind kind;
    size_t nreturns;
    lz_str name, parent;
    bool calls_parent; /* outputs are also set in the parent */
} lzg_structured_class;
LZ_MUST_USE lz_err *lzg_put_structured_class(const lzg_structured_class *c, lz_text *out);

#endif
