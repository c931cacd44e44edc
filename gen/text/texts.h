/* texts.h - a list of texts, built in one buffer.
 *
 *     lzg_texts list = { 0 };
 *     lzg_put(&list.text, "int x;\n");      whatever is appended to .text ...
 *     LZ_TRY(lzg_texts_end(&list));         ... becomes one item
 *
 * Emitters append to a lz_text; a list of declarations is thus built without a copy for each. */
#ifndef LZG_TEXTS_H
#define LZG_TEXTS_H

#include "base/text.h"
#include "base/vec.h"

/* A zeroed list is empty. */
typedef struct lzg_texts {
    lz_text text; /* the items, one behind the other, then what is not yet an item */
    LZ_VEC(size_t) ends;
} lzg_texts;

void lzg_texts_deinit(lzg_texts *t);

/* Whatever was appended since the last end, even nothing, is one item. */
LZ_MUST_USE lz_err *lzg_texts_end(lzg_texts *t);
/* The same, unless nothing was appended. */
LZ_MUST_USE lz_err *lzg_texts_end_if_any(lzg_texts *t);

size_t lzg_texts_count(const lzg_texts *t);
lz_str lzg_texts_item(const lzg_texts *t, size_t i); /* valid until the next addition */

#endif
