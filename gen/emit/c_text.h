/* c_text.h - writing C: lines with placeholders, strings, comments, lists that wrap.
 *
 * Emitters write megabytes in a few milliseconds, so placeholders are filled by position and not by
 * name, as in code_template.h. */
#ifndef LZG_C_TEXT_H
#define LZG_C_TEXT_H

#include "base/text.h"

enum { LZG_C_COLUMNS = 110 };

/* lzg_fill(out, "LZ_OP_$ = $,\n", a, b): each '$' is the next lz_str. */
#define lzg_fill(out, pattern, ...)                                                                          \
    lzg_fill_with((out), LZ_STR(pattern), (const lz_str[]){ __VA_ARGS__ },                                   \
                  sizeof((const lz_str[]){ __VA_ARGS__ }) / sizeof(lz_str))
#define lzg_put(out, literal) lz_text_add((out), LZ_STR(literal))

void lzg_fill_with(lz_text *out, lz_str pattern, const lz_str *values, size_t n);

/* "text", or NULL for a pointer that is NULL. */
void lzg_put_c_string(lz_text *out, lz_str s);
/* A comment text that cannot end its comment. */
void lzg_put_c_comment(lz_text *out, lz_str s);

/* Items of a list; an item that would pass the last column starts a new line. */
typedef struct lzg_wrap {
    lz_text *out;
    size_t line;   /* where the current line starts */
    size_t item;   /* where the current item starts */
    size_t indent; /* of further lines */
    lz_str end;    /* end of a line that continues: "" or " \\" */
} lzg_wrap;

/* `indent` spaces for further lines; the current line starts at or before the end of out. */
lzg_wrap lzg_wrap_begin(lz_text *out, size_t indent, lz_str end);
void lzg_wrap_item(lzg_wrap *w);                   /* begins an item... */
void lzg_wrap_done(lzg_wrap *w, lz_str separator); /* ...and ends it; this text stays on the item's line */

#endif
