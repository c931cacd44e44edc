/* formula_parser.h - declarations that the two files of the parser share.
 *
 * Finished nodes wait on a stack until their parent is made. A function that pushes nodes also removes
 * them. */
#ifndef LZG_FORMULA_PARSER_H
#define LZG_FORMULA_PARSER_H

#include "base/vec.h"
#include "gen/formula/formula.h"
#include "gen/formula/formula_lex.h"

typedef struct lzg_parser {
    lz_arena *arena;
    lzg_lexer lex;
    lzg_token tok; /* the next one */
    int depth;
    LZ_VEC(const lzg_expr *) kids; /* finished nodes without a parent yet */
    LZ_VEC(lzg_name) names;
} lzg_parser;

/* The heights of the two stacks at the start of a node. */
typedef struct lzg_parse_mark {
    size_t kids, names;
} lzg_parse_mark;

/* ---- formula_parse.c ---- */
lzg_parse_mark lzg_parse_save(const lzg_parser *p);
/* A node like `proto`, with the kids and names that are on the stacks above the mark. */
LZ_MUST_USE
lz_err *lzg_parse_make(lzg_parser *p, lzg_expr proto, lzg_parse_mark m, const lzg_expr **out);
/* The same, with these kids. */
LZ_MUST_USE
lz_err *lzg_parse_make_of(lzg_parser *p, lzg_expr proto, const lzg_expr *const *kids, size_t n,
                          const lzg_expr **out);

LZ_MUST_USE
lz_err *lzg_parse_advance(lzg_parser *p);
LZ_MUST_USE
lz_err *lzg_parse_expect(lzg_parser *p, lzg_token_kind kind);
LZ_MUST_USE
lz_err *lzg_parse_accept(lzg_parser *p, lzg_token_kind kind, bool *out);
LZ_MUST_USE
lz_err *lzg_parse_unexpected(const lzg_parser *p, const char *wanted);
LZ_MUST_USE
lz_err *lzg_parse_push_name(lzg_parser *p);

LZ_MUST_USE
lz_err *lzg_parse_expr(lzg_parser *p, const lzg_expr **out);
LZ_MUST_USE
lz_err *lzg_parse_push_expr(lzg_parser *p);
LZ_MUST_USE
lz_err *lzg_parse_block(lzg_parser *p, const lzg_expr **out);

/* ---- formula_primary.c ---- */
LZ_MUST_USE
lz_err *lzg_parse_postfix(lzg_parser *p, const lzg_expr **out);
/* "text {expression} text": its parts go onto the stack. */
LZ_MUST_USE
lz_err *lzg_parse_message(lzg_parser *p);

#endif
