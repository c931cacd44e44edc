/* dump_model.h - the model as canonical JSON lines: keys sorted, no spaces, ASCII, one
 * operator or group a line, sorted by name.
 *
 * What the model itself determines is written here. Keys that other modules compute
 * (signatures, Python bindings, lazy nodes, ...) come from hooks: a hook writes the
 * value of its key. A key without a hook is left out. */
#ifndef LZG_DUMP_MODEL_H
#define LZG_DUMP_MODEL_H

#include "base/json_write.h"
#include "gen/model/model.h"

/* Writes exactly one value. The arena is emptied after each operator. An error of a
 * rule (any code but LZ_ERR_MEMORY) is written as {"error":true}, unless part of the
 * value was written already. */
typedef lz_err *lzg_dump_fn(const lzg_ops *ops, const lzg_function *f, lz_arena *scratch, lz_json_writer *w);

typedef struct lzg_dump_hook {
    const char *key;
    lzg_dump_fn *put;
} lzg_dump_hook;

/* The same for a key that needs something else than the operators. */
typedef struct lzg_dump_user_hook {
    const char *key;
    lz_err *(*put)(const void *user, const lzg_function *f, lz_arena *scratch, lz_json_writer *w);
    const void *user;
} lzg_dump_user_hook;

/* hooks: sorted by key, up to one whose key is NULL; or NULL. Appends to out. */
LZ_MUST_USE
lz_err *lzg_dump_model(const lzg_ops *ops, const lzg_dump_hook *hooks, lz_text *out);
LZ_MUST_USE
lz_err *lzg_dump_model_user(const lzg_ops *ops, const lzg_dump_hook *hooks, const lzg_dump_user_hook *users,
                            lz_text *out);
LZ_MUST_USE
lz_err *lzg_dump_groups(const lzg_ops *ops, lz_text *out);

/* {"error":true} */
void lzg_dump_error(lz_json_writer *w);
/* A string, or null if its pointer is NULL. */
void lzg_dump_optional(lz_json_writer *w, lz_str s);

#endif
