/* lists.h - the name lists that rules refer to: operators exempt from a rule, skip
 * patterns for Python bindings, supported return types, fallback operators with
 * versions. They are facts about an operator set, so they are data: a JSON file
 * (gen/data/lists.json, compiled into the library as the default), an object of lists
 * named MODULE.list. */
#ifndef LZG_LISTS_H
#define LZG_LISTS_H

#include "base/arena.h"
#include "base/err.h"
#include "base/json.h"
#include "gen/text/pattern.h"

typedef struct lzg_name_list {
    const lz_str *names; /* sorted by bytes */
    size_t n;
} lzg_name_list;

typedef struct lzg_lists {
    const lz_json *root;
    const lzg_name_list *lists; /* one for each member of root, in its order */
} lzg_lists;

/* A list that is no array of strings and no object is refused. */
LZ_MUST_USE
lz_err *lzg_lists_load(lz_arena *a, const char *path, const lzg_lists **out); /* NULL: built in */

/* Whether the list (an array of strings, or an object's keys) holds the name. */
bool lzg_lists_has(const lzg_lists *l, const char *list, lz_str name);
/* The text under a name in a list that is an object of texts; ptr NULL: there is none. */
lz_str lzg_lists_text(const lzg_lists *l, const char *list, lz_str name);
const lz_json *lzg_lists_get(const lzg_lists *l, const char *list); /* or NULL */

/* A list of patterns, ready to match; empty if the list does not exist. */
typedef struct lzg_pattern_list {
    const lzg_pattern *const *patterns;
    size_t n;
} lzg_pattern_list;

LZ_MUST_USE
lz_err *lzg_lists_patterns(const lzg_lists *l, lz_arena *a, const char *list, lzg_pattern_list *out);
bool lzg_pattern_list_match(const lzg_pattern_list *l, lz_str name); /* any of them */

#endif
