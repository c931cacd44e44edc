/* str.h - functions on lz_str. */
#ifndef LZ_BASE_STR_H
#define LZ_BASE_STR_H

#include <lazuli/base.h>
#include <stdbool.h>
#include <string.h>

#define LZ_STR(literal) ((lz_str){ "" literal, sizeof(literal) - 1 })

lz_str lz_str_of(const char *cstr);                  /* NULL gives the empty string */
lz_str lz_str_sub(lz_str s, size_t from, size_t to); /* clamped to s */
bool lz_str_eq(lz_str a, lz_str b);
bool lz_str_is(lz_str a, const char *cstr);
int lz_str_cmp(lz_str a, lz_str b); /* by bytes, shorter first */
bool lz_str_starts(lz_str s, lz_str prefix);
bool lz_str_ends(lz_str s, lz_str suffix);
bool lz_str_matches(lz_str s, lz_str pattern); /* in the pattern, * stands for any characters */
lz_str lz_str_trim(lz_str s);                  /* ASCII white space on both sides */

/* Byte offset, or SIZE_MAX. */
size_t lz_str_find(lz_str s, lz_str needle);
size_t lz_str_rfind(lz_str s, lz_str needle);
size_t lz_str_find_char(lz_str s, char c);

/* Cuts *rest at the first separator: returns the part before it and moves *rest past it. Without a separator
 * returns all of *rest and sets *more to false.
 *  for (bool more = true; more;) { lz_str part = lz_str_cut(&rest, sep, &more); ... } */
lz_str lz_str_cut(lz_str *rest, lz_str separator, bool *more);

#endif
