/* snippet.h - pieces of generated text, made of smaller ones.
 *
 *     lz_str check = lzg_phrase(s, "check_inplace($, _any_requires_grad);", name);
 *     lz_str block = lzg_snippet(s, "if (${cond}) {\n  ${body}\n}\n", { "cond", cond }, { "body", body });
 *
 * Pieces belong to the arena. Making one never fails at once: running out of memory is remembered, gives
 * empty pieces, and is reported by lzg_snippets_check. */
#ifndef LZG_SNIPPET_H
#define LZG_SNIPPET_H

#include "gen/api/types.h"
#include "gen/emit/c_text.h"
#include "gen/text/code_template.h"

typedef struct lzg_snippets {
    lz_arena *arena;
    lz_text text; /* the piece being made */
    lz_err *error;
} lzg_snippets;

/* A zeroed list is empty. */
typedef struct lzg_pieces {
    lzg_item *first, *last;
    size_t n;
} lzg_pieces;

void lzg_snippets_init(lzg_snippets *s, lz_arena *arena);
void lzg_snippets_deinit(lzg_snippets *s);
LZ_MUST_USE
lz_err *lzg_snippets_check(lzg_snippets *s); /* returns and forgets the first error */

/* Takes an error, for lzg_snippets_check to report; NULL is fine. Returns whether there was none. */
bool lzg_snippets_ok(lzg_snippets *s, lz_err *e);

/* Named holes, as lzg_expand has them. */
#define lzg_snippet(s, pattern, ...)                                                                         \
    lzg_snippet_with((s), LZ_STR(pattern), (const lzg_named_text[]){ __VA_ARGS__ },                          \
                     sizeof((const lzg_named_text[]){ __VA_ARGS__ }) / sizeof(lzg_named_text))
/* Named holes, filled with the values as they are: no line is indented or trimmed. */
#define lzg_raw_snippet(s, pattern, ...)                                                                     \
    lzg_raw_snippet_with((s), LZ_STR(pattern), (const lzg_named_text[]){ __VA_ARGS__ },                      \
                         sizeof((const lzg_named_text[]){ __VA_ARGS__ }) / sizeof(lzg_named_text))
/* Holes '$' by position, as lzg_fill has them: for texts of one line. */
#define lzg_phrase(s, pattern, ...)                                                                          \
    lzg_phrase_with((s), LZ_STR(pattern), (const lz_str[]){ __VA_ARGS__ },                                   \
                    sizeof((const lz_str[]){ __VA_ARGS__ }) / sizeof(lz_str))

lz_str lzg_snippet_with(lzg_snippets *s, lz_str pattern, const lzg_named_text *parts, size_t n);
lz_str lzg_raw_snippet_with(lzg_snippets *s, lz_str pattern, const lzg_named_text *fields, size_t n);
lz_str lzg_phrase_with(lzg_snippets *s, lz_str pattern, const lz_str *values, size_t n);
lz_str lzg_snippet_take(lzg_snippets *s); /* what was added to s->text, as a piece */
lz_str lzg_snippet_int(lzg_snippets *s, int64_t v);
lz_str lzg_snippet_type(lzg_snippets *s, const lzg_ctype *t); /* as printed */
lz_str lzg_snippet_upper(lzg_snippets *s, lz_str text);
/* Every occurrence of `what` replaced. */
lz_str lzg_snippet_replace(lzg_snippets *s, lz_str text, lz_str what, lz_str with);

void lzg_pieces_add(lzg_snippets *s, lzg_pieces *to, lz_str piece);
lz_str lzg_pieces_join(lzg_snippets *s, const lzg_pieces *pieces, const char *separator);
/* Each piece on lines of its own. */
lz_str lzg_pieces_lines(lzg_snippets *s, const lzg_pieces *pieces);

#define lzg_add_phrase(s, to, pattern, ...)  lzg_pieces_add((s), (to), lzg_phrase((s), pattern, __VA_ARGS__))
#define lzg_add_snippet(s, to, pattern, ...) lzg_pieces_add((s), (to), lzg_snippet((s), pattern, __VA_ARGS__))

#endif
