/* gen_functionalization_type.h - functionalization of views and writes.
 *
 * A view that is no implicit composite gets a ViewMeta class; an op that writes gets a kernel that
 * calls its functional form. The checks compute everything that the kernel needs and refuse operators
 * without one. */
#ifndef LZG_GEN_FUNCTIONALIZATION_TYPE_H
#define LZG_GEN_FUNCTIONALIZATION_TYPE_H

#include "gen/api/local.h"
#include "gen/api/types.h"

/* The C++ name of the op, with _overload where there is one. */
LZ_MUST_USE lz_err *lzg_functionalization_wrapper(lz_arena *a, const lzg_schema *s, lz_str *out);

/* The ViewMeta class of f, the view or inplace view of its group. */
typedef struct lzg_view_meta {
    lz_str class_name;
    bool multi_output, as_strided;
    lzg_bindings attributes; /* owned members */
    lzg_bindings ctor;
    lz_str create;          /* std::make_shared<...>(...) of the only output, or the first */
    lz_str create_indexed;  /* ...of output out_index */
    lz_str body_reapply;    /* of forward, that takes a view: lines, indented by four */
    lz_str body_copy;       /* of forward, that takes a copy */
    lz_str forward_reapply; /* the same without comments, statements separated by one space */
    lz_str forward_copy;
    lz_str reverse; /* the call of the inverse */
} lzg_view_meta;

LZ_MUST_USE lz_err *lzg_view_meta_make(lz_arena *a, const struct lzg_lists *lists, const lzg_view_group *g,
                                       const lzg_function *f, lzg_view_meta *out);

/* Whether functionalization can handle a group of views, a group with writing members, or an
 * op that is in neither. */
LZ_MUST_USE lz_err *lzg_functionalize_view(lz_arena *a, const lzg_ops *ops, const lzg_view_group *g);
LZ_MUST_USE lz_err *lzg_functionalize_group(lz_arena *a, const lzg_ops *ops, const lzg_group *g);
LZ_MUST_USE lz_err *lzg_functionalize_single(const lzg_ops *ops, const lzg_function *f);

#endif
