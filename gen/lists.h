/* lists.h - the name lists that rules refer to: operators exempt from a rule, skip
 * patterns for Python bindings, supported return types, fallback operators with
 * versions. They are facts about an operator set, so they are data: a JSON file
 * (gen/data/lists.json, compiled into the library as the default). */
#ifndef LZG_LISTS_H
#define LZG_LISTS_H

#include "base/arena.h"
#include "base/err.h"
#include "base/json.h"

typedef struct lzg_lists {
    const lz_json *root;
} lzg_lists;

LZ_MUST_USE lz_err *lzg_lists_load(lz_arena *a, const char *path, const lzg_lists **out); /* NULL: built in */

/* Whether the list (an array of strings, or an object's keys) holds the name. */
bool lzg_lists_has(const lzg_lists *l, const char *list, lz_str name);
const lz_json *lzg_lists_get(const lzg_lists *l, const char *list); /* or NULL */

#endif
