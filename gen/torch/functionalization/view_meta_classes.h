/* view_meta_classes.h - the classes that remember views, in C++: ViewMetaClasses.h and .cpp, their Python
 * bindings, the inverses that they call. */
#ifndef LZG_VIEW_META_CLASSES_H
#define LZG_VIEW_META_CLASSES_H

#include "base/text.h"
#include "gen/model/model.h"

/* Appended for the view and, if there is one, the inplace view; nothing for an implicit composite. Every
 * part ends its line. */
typedef lz_err *lzg_view_classes_fn(lz_arena *a, const lzg_ops *ops, const lzg_view_group *g, lz_text *out);

LZ_MUST_USE lz_err *lzg_put_view_class(lz_arena *a, const lzg_ops *ops, const lzg_view_group *g,
                                       lz_text *out);
LZ_MUST_USE lz_err *lzg_put_view_class_methods(lz_arena *a, const lzg_ops *ops, const lzg_view_group *g,
                                               lz_text *out);
LZ_MUST_USE lz_err *lzg_put_view_class_binding(lz_arena *a, const lzg_ops *ops, const lzg_view_group *g,
                                               lz_text *out);

/* FunctionalInverses.h: the declaration of the inverse. */
LZ_MUST_USE lz_err *lzg_put_view_inverse(lz_arena *a, const lzg_ops *ops, const lzg_view_group *g,
                                         lz_text *out);

#endif
