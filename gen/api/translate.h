/* translate.h - expressions of one API's types from the variables of another.
 *
 * A scope holds the available expressions with named types; a translation finds for each goal an
 * expression of exactly its name and type. Each step of the search makes goals smaller, so the search
 * ends. If it finds no expression, the error lists the scope. */
#ifndef LZG_API_TRANSLATE_H
#define LZG_API_TRANSLATE_H

#include "gen/api/types.h"

typedef struct lzg_scope {
    lz_arena *arena;
    lzg_cexpr *at;
    size_t n, cap;
} lzg_scope;

void lzg_scope_init(lzg_scope *s, lz_arena *a);
/* A later entry of the same name and type replaces an earlier one. Expressions that follow from an
 * entry for every goal (an OptionalTensorRef from an optional Tensor, ...) are added, too. */
LZ_MUST_USE lz_err *lzg_scope_add(lzg_scope *s, lz_str expr, lzg_nctype what);
LZ_MUST_USE lz_err *lzg_scope_add_bindings(lzg_scope *s, lzg_bindings b);
LZ_MUST_USE lz_err *lzg_scope_add_this(lzg_scope *s); /* self is *this: inside a method of Tensor */

/* out[i] is the expression for goal i. With `owning`, conversions that copy are allowed. */
LZ_MUST_USE lz_err *lzg_translate(const lzg_scope *s, lzg_bindings goals, bool owning, lz_str **out);

/* "a, b, c" of a translation, or straight from bindings to goals. */
void lzg_exprs_print(const lz_str *exprs, size_t n, lz_text *out);
LZ_MUST_USE lz_err *lzg_translate_bindings(lz_arena *a, lzg_bindings from, lzg_bindings goals, lz_str **out);

#endif
