/* gen_view_funcs.h - classes that keep the arguments of a view and make it again from another base:
 * ViewFuncs. */
#ifndef LZG_GEN_VIEW_FUNCS_H
#define LZG_GEN_VIEW_FUNCS_H

#include "gen/model/model.h"
#include "gen/text/snippet.h"

/* "AsStridedViewFunc" */
lz_str lzg_view_func_name(lzg_snippets *s, const lzg_function *f);

typedef struct lzg_view_func {
    lz_str declaration, definition;
} lzg_view_func;

LZ_MUST_USE
lz_err *lzg_view_func_print(lzg_snippets *s, const lzg_function *f, lzg_view_func *out);

#endif
