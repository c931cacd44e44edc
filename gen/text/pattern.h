/* pattern.h - the few regular expressions that name lists are written in.
 *
 * Characters, '.', groups with alternatives, the suffixes '?', '*' and '+', the anchors
 * '^' and '$'; anything else is refused. A match starts at the first character, as
 * Python's re.match has it, and takes time linear in the text, whatever the pattern. */
#ifndef LZG_PATTERN_H
#define LZG_PATTERN_H

#include "base/arena.h"
#include "base/err.h"

enum { LZG_PATTERN_STEPS = 256 };

typedef struct lzg_pattern lzg_pattern;

/* Belongs to the arena. loc is the place of the text, for messages. */
LZ_MUST_USE
lz_err *lzg_pattern_compile(lz_arena *a, lz_str text, lz_loc loc, const lzg_pattern **out);
bool lzg_pattern_match(const lzg_pattern *p, lz_str s);

#endif
