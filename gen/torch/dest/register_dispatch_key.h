/* register_dispatch_key.h - the wrappers that are registered for a dispatch key, and the direct functions
 * at::<key>:: that lead to them.
 *
 * A wrapper checks and guards devices, and calls the kernel that a dispatch table names. Of a structured
 * operator it constructs the kernel's class, which allocates, resizes or checks outputs, and calls meta and
 * impl. Meta and CompositeExplicitAutogradNonFunctional kernels of structured operators are made from the
 * operator's meta function and out op, so no table may name them. */
#ifndef LZG_DEST_REGISTER_DISPATCH_KEY_H
#define LZG_DEST_REGISTER_DISPATCH_KEY_H

#include "gen/api/types.h"
#include "gen/text/code_template.h"
#include "gen/text/texts.h"
#include "gen/torch/grouped.h"

struct lzg_selector;

/* What to call before op.impl of a structured kernel: appends the statements that replace the call, and
 * sets *found. `args` are those of op.impl. */
typedef lz_err *lzg_consult_fn(const void *context, const lzg_group *g, lz_str args, lz_text *out,
                               bool *found);

typedef struct lzg_registrar {
    lz_arena *arena; /* for everything that is made on the way; the caller rewinds it */
    const lzg_backend_index *index;
    lzg_dispatch_key key; /* that wrappers are registered for: index->key, if the index has kernels */
    const struct lzg_selector *selector; /* which operators to register; NULL: every one */
    lz_str class_name;                   /* of an external backend's kernels; ptr NULL: none */
    lzg_consult_fn *consult;             /* or NULL */
    const void *context;                 /* passed to consult */
} lzg_registrar;

/* Texts of a group; more is appended by the next. */
typedef struct lzg_registration {
    lz_text wrappers; /* definitions for an anonymous namespace */
    lz_text direct;   /* definitions for at::<key>; none for external backends */
    lz_text impls;    /* statements m.impl(...) of the selected operators */
    bool any;         /* whether there is a wrapper */
} lzg_registration;

void lzg_registration_deinit(lzg_registration *r);
LZ_MUST_USE lz_err *lzg_register_wrappers(const lzg_registrar *r, const lzg_grouped *g,
                                          lzg_registration *out);

/* The definitions of one group, ready for a file: namespaces and registration around them, as the template
 * RegisterDispatchDefinitions.ini arranges them. `base` has what every template gets. Nothing is appended
 * for a group without wrappers. */
typedef struct lzg_register_file {
    const lzg_template *definitions;
    const lzg_env *base; /* or NULL */
    bool skip_registration;
} lzg_register_file;
LZ_MUST_USE lz_err *lzg_register_definitions(const lzg_registrar *r, const lzg_register_file *file,
                                             const lzg_grouped *g, lz_text *out);

/* "TORCH_API R name(T a=1);" for the direct functions; an item for each operator. */
LZ_MUST_USE lz_err *lzg_register_declarations(const lzg_registrar *r, const lzg_grouped *g, lzg_texts *out);

/* The headers that a registration file needs, and the functions that its classes call; added to a list. */
typedef struct lzg_register_options {
    bool per_operator_headers, rocm, has_native_aot;
} lzg_register_options;
LZ_MUST_USE lz_err *lzg_register_headers(const lzg_backend_index *index, lzg_register_options o, lzg_env *env,
                                         const char *list);
LZ_MUST_USE lz_err *lzg_register_helpers(const lzg_backend_index *index, lzg_env *env, const char *list);

/* Whether the group has wrappers under every key for which any operator has a kernel. */
LZ_MUST_USE lz_err *lzg_register_check(lz_arena *a, const lzg_ops *ops, const lzg_grouped *g);

#endif
