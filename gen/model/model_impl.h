/* model_impl.h - what the files of the model share among themselves.
 *
 * A source is a text being parsed. Every piece handed around is a part of that
 * text, so the place of an error is the distance of the piece from its start. */
#ifndef LZG_MODEL_IMPL_H
#define LZG_MODEL_IMPL_H

#include "gen/model/model.h"

typedef struct lzg_src {
    lz_arena *arena;
    lz_str text;
    lz_loc loc; /* of text.ptr[0] */
} lzg_src;

/* Copies the text into the arena: what is parsed from it may point into it. */
LZ_MUST_USE
lz_err *lzg_src_init(lzg_src *src, lz_arena *a, lz_str text, lz_loc loc);

/* LZ_ERR_SYNTAX or LZ_ERR_MODEL at the piece (anything outside the text stands for its start). */
LZ_MUST_USE
lz_err *lzg_src_syntax(const lzg_src *src, lz_str piece, const char *fmt, ...) LZ_PRINTF(3, 4);
LZ_MUST_USE
lz_err *lzg_src_model(const lzg_src *src, lz_str piece, const char *fmt, ...) LZ_PRINTF(3, 4);

/* Parsers of pieces. */
LZ_MUST_USE
lz_err *lzg_src_type(const lzg_src *src, lz_str piece, const lzg_type **out);
LZ_MUST_USE
lz_err *lzg_src_annotation(const lzg_src *src, lz_str piece, const lzg_annotation **out);
LZ_MUST_USE
lz_err *lzg_src_argument(const lzg_src *src, lz_str piece, lzg_argument *out);
LZ_MUST_USE
lz_err *lzg_src_return(const lzg_src *src, lz_str piece, lzg_return *out);
LZ_MUST_USE
lz_err *lzg_src_op_name(const lzg_src *src, lz_str piece, lzg_op_name *out);
/* Fills args, nargs and first of *out. */
LZ_MUST_USE
lz_err *lzg_src_arguments(const lzg_src *src, lz_str piece, lzg_schema *out);

/* Sets first[] from the sections; S1-S9 and the kind. src says where to point. */
LZ_MUST_USE
lz_err *lzg_schema_finish(const lzg_src *src, lzg_schema *s);
void lzg_arguments_print(const lzg_schema *s, lz_text *out);
bool lzg_schema_is_functional_fn(const lzg_schema *s);

/* The schema with the arguments of its signature: no annotations, tensor options or out. */
LZ_MUST_USE
lz_err *lzg_schema_without_options(lz_arena *a, const lzg_schema *s, const lzg_schema **out);

/* a then b, NUL-terminated, in the arena. */
LZ_MUST_USE
lz_err *lzg_concat(lz_arena *a, lz_str first, lz_str second, lz_str *out);

/* How often the character occurs. */
size_t lzg_count(lz_str s, char c);
/* lz_str_cut at ", ", which is most of what parsing does. */
lz_str lzg_cut_item(lz_str *rest, bool *more);

#endif
