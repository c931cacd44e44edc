/* utils.h - names, identifiers and namespaces in generated text. */
#ifndef LZG_UTILS_H
#define LZG_UTILS_H

#include "base/text.h"

/* "conv2d_backward" -> "Conv2DBackward": each part between underscores with a capital
 * behind every character that is no letter, small letters otherwise (Python's title). */
void lzg_put_title(lz_text *out, lz_str name);
/* "conv2d_backward" -> "Conv2dBackward": one capital a part (Python's capitalize). */
void lzg_put_camel(lz_text *out, lz_str name);

void lzg_put_lower(lz_text *out, lz_str s);
void lzg_put_upper(lz_text *out, lz_str s);
void lzg_put_joined(lz_text *out, const lz_str *items, size_t n, const char *separator);
/* Indents every line that is not blank by this many spaces; line ends stay. */
void lzg_put_indented(lz_text *out, lz_str s, size_t spaces);

/* Letters, digits and underscores; whatever is not ASCII counts as a letter. */
bool lzg_is_word(char c);
bool lzg_is_identifier(lz_str s); /* ASCII only, no digit first */

/* The next place of `name` as a whole word at or after `from`, or SIZE_MAX. */
size_t lzg_find_word(lz_str s, lz_str name, size_t from);

/* The text before the last "::", and the text after it. */
typedef struct lzg_namespaced {
    lz_str ns, entity;
} lzg_namespaced;

/* LZ_ERR_MODEL for more than `most` levels of namespaces. */
LZ_MUST_USE
lz_err *lzg_namespace_split(lz_str text, size_t most, lz_loc loc, lzg_namespaced *out);
LZ_MUST_USE
lz_err *lzg_namespace_check(lz_str ns, size_t most, lz_loc loc);
lz_str lzg_namespace_or(lz_str ns, lz_str otherwise); /* `otherwise` for an empty one */

/* "namespace a {\nnamespace b {" and "} // namespace b\n} // namespace a" */
void lzg_namespace_open(lz_text *out, lz_str ns);
void lzg_namespace_close(lz_text *out, lz_str ns);

#endif
