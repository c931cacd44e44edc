/* code_template.h - text with holes.
 *
 *     $name  ${name}    the value; a list's items joined with ", "
 *     ${,name} ${name,} the same, with ", " before or after a list that is not empty
 *
 * Where only blanks stand before a hole in its line, every line of the value (of every
 * item of a list) becomes a line of its own at that indent; trailing blanks and empty
 * lines at the end are cut. A '$' without a name behind it stands for itself. Values
 * are not searched for holes. */
#ifndef LZG_CODE_TEMPLATE_H
#define LZG_CODE_TEMPLATE_H

#include "base/map.h"
#include "gen/text/fill.h"
#include "gen/text/texts.h"

typedef struct lzg_item lzg_item;
struct lzg_item {
    lz_str text;
    lzg_item *next;
};

typedef struct lzg_value {
    bool is_list;
    lzg_item *first, *last;
} lzg_value;

/* Names and their values. Names and texts are borrowed; the rest is the arena's. */
typedef struct lzg_env {
    lz_arena *arena;
    lz_map values; /* name -> lzg_value * */
} lzg_env;

void lzg_env_init(lzg_env *env, lz_arena *arena);
void lzg_env_deinit(lzg_env *env);

LZ_MUST_USE
lz_err *lzg_env_text(lzg_env *env, const char *name, lz_str text); /* replaces what was there */
LZ_MUST_USE
lz_err *lzg_env_list(lzg_env *env, const char *name); /* an empty list, unless a list is there */
LZ_MUST_USE
lz_err *lzg_env_add(lzg_env *env, const char *name, lz_str item); /* to the list, made if missing */
/* All items of the list to the end of one in env, made if missing. The texts are borrowed. */
LZ_MUST_USE
lz_err *lzg_env_texts(lzg_env *env, const char *name, const lzg_texts *items);
const lzg_value *lzg_env_get(const lzg_env *env, lz_str name); /* or NULL */

/* Adds copies of all values of `from`: lists are appended to, texts replaced. */
LZ_MUST_USE
lz_err *lzg_env_merge(lzg_env *env, const lzg_env *from);

typedef struct lzg_template {
    lz_str text;
    const char *file; /* its name: for the comment in files made from it */
    const char *path; /* for messages; NULL: file */
} lzg_template;

/* LZ_ERR_NOT_FOUND at its place for a name that env lacks. */
LZ_MUST_USE
lz_err *lzg_template_expand(const lzg_template *t, const lzg_env *env, lz_text *out);
/* The same; what env lacks comes from the defaults. */
LZ_MUST_USE
lz_err *lzg_template_expand_with(const lzg_template *t, const lzg_env *env, const lzg_env *defaults,
                                 lz_text *out);

/* The same holes in a pattern that stands in C, every one with a text: lines for a hole that is alone in its
 * line, items joined with ", " for another.
 *
 *     lzg_expand(out, "if (${cond}) {\n  ${body}\n}\n", { "cond", cond }, { "body", body });
 */
#define lzg_expand(out, pattern, ...)                                                                        \
    lzg_expand_with((out), LZ_STR(pattern), (const lzg_named_text[]){ __VA_ARGS__ },                         \
                    sizeof((const lzg_named_text[]){ __VA_ARGS__ }) / sizeof(lzg_named_text))

void lzg_expand_with(lz_text *out, lz_str pattern, const lzg_named_text *fields, size_t n);

#endif
