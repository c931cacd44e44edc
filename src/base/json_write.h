/* json_write.h - appends JSON to a text, value by value.
 *
 * Compact form: byte for byte as Python's json.dumps(v, separators=(",", ":")). Indented form: as
 * json.dumps(v, indent=n). Both are pure ASCII. The order of keys is the caller's.
 *
 * As with lz_text, single calls do not fail. The first mistake (a value without a key, an end without a
 * beginning, a NaN, a string that is not UTF-8, ...) stops the writer, and lz_json_finish returns it. */
#ifndef LZ_BASE_JSON_WRITE_H
#define LZ_BASE_JSON_WRITE_H

#include "base/json.h"
#include "base/text.h"

enum { LZ_JSON_COMPACT = -1 };

typedef struct lz_json_writer {
    lz_text *text; /* borrowed */
    int indent;
    bool empty;       /* the innermost container is still empty */
    bool keyed;       /* a key was written and its value is missing */
    bool done;        /* the one outermost value is written */
    lz_code code;     /* of the first mistake; LZ_OK: none */
    const char *what; /* description of the first mistake */
    size_t depth;
    bool is_object[LZ_JSON_DEPTH]; /* by depth, outermost first */
} lz_json_writer;

/* Prepares to write one value. indent: LZ_JSON_COMPACT or the spaces per level. */
void lz_json_writer_init(lz_json_writer *w, lz_text *text, int indent);

void lz_json_begin_object(lz_json_writer *w);
void lz_json_end_object(lz_json_writer *w);
void lz_json_begin_array(lz_json_writer *w);
void lz_json_end_array(lz_json_writer *w);
void lz_json_put_key(lz_json_writer *w, const char *key);
void lz_json_put_key_str(lz_json_writer *w, lz_str key);

void lz_json_put_null(lz_json_writer *w);
void lz_json_put_bool(lz_json_writer *w, bool v);
void lz_json_put_int(lz_json_writer *w, int64_t v);
void lz_json_put_uint(lz_json_writer *w, uint64_t v);
void lz_json_put_double(lz_json_writer *w, double v); /* finite; 1 is written 1.0 */
void lz_json_put_cstr(lz_json_writer *w, const char *v);
void lz_json_put_str(lz_json_writer *w, lz_str v);

/* A member of an object: a key and its value. An optional text whose ptr (or v) is NULL is written as null.
 */
void lz_json_member_bool(lz_json_writer *w, const char *key, bool v);
void lz_json_member_int(lz_json_writer *w, const char *key, int64_t v);
void lz_json_member_uint(lz_json_writer *w, const char *key, uint64_t v);
void lz_json_member_double(lz_json_writer *w, const char *key, double v);
void lz_json_member_cstr(lz_json_writer *w, const char *key, const char *v);
void lz_json_member_str(lz_json_writer *w, const char *key, lz_str v);
void lz_json_member_optional_cstr(lz_json_writer *w, const char *key, const char *v);
void lz_json_member_optional_str(lz_json_writer *w, const char *key, lz_str v);

/* LZ_ERR_ARG for a mistake (LZ_ERR_LIMIT: nested too deep), LZ_ERR_MEMORY if the text ran out of memory. The
 * text is then incomplete. */
LZ_MUST_USE lz_err *lz_json_finish(const lz_json_writer *w);

#endif
