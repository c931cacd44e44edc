/* identifiers.h - names in formulas of torchgen's files, which are unparsed texts.
 *
 * A name is used where no word character (letter, digit, underscore, any byte beyond ASCII) touches it.
 * Replacing and counting consume both neighbours: of two uses with a single character between them only
 * the first counts. torchgen has the same rule, and the formulas of derivative files rely on it. */
#ifndef LZG_IDENTIFIERS_H
#define LZG_IDENTIFIERS_H

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

bool lzg_is_digit(char c);

/* Length of the word characters or digits that s has from an offset on. */
size_t lzg_word_run(lz_str s, size_t from);
size_t lzg_digit_run(lz_str s, size_t from);

size_t lzg_find(lz_str s, lz_str what, size_t from); /* byte offset, or SIZE_MAX; any text */
size_t lzg_ident_find(lz_str formula, lz_str name);  /* byte offset, or SIZE_MAX */
bool lzg_ident_used(lz_str formula, lz_str name);
size_t lzg_ident_count(lz_str formula, lz_str name);
LZ_MUST_USE
lz_err *lzg_ident_replace(lz_arena *a, lz_str formula, lz_str name, lz_str with, lz_str *out);

/* Every word that equals the name, neighbours untouched. */
LZ_MUST_USE
lz_err *lzg_word_replace(lz_arena *a, lz_str formula, lz_str name, lz_str with, lz_str *out);
/* Every occurrence, word or not. */
LZ_MUST_USE
lz_err *lzg_replace_all(lz_arena *a, lz_str text, lz_str what, lz_str with, lz_str *out);

#endif
