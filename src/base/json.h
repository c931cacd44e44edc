/* json.h - reading JSON into a tree.
 *
 * The tree belongs to the arena, holds copies of all texts and never changes. It is
 * strict RFC 8259: no comments, no trailing commas, no NaN; and stricter where the
 * RFC leaves it open: UTF-8 without a byte order mark, no lone surrogates, no equal
 * keys in one object, containers nested LZ_JSON_DEPTH deep at most, texts below 2 GiB.
 * The reader keeps its own stack, so deep texts do not use up the caller's.
 *
 * A number without fraction and exponent is an integer and exact: LZ_JSON_INT if it
 * fits in int64_t, else LZ_JSON_UINT if it fits in uint64_t, else it is refused (-0 is
 * the integer 0). Any other number is a double, correctly rounded; one beyond the
 * range of doubles is refused. */
#ifndef LZ_BASE_JSON_H
#define LZ_BASE_JSON_H

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

enum { LZ_JSON_DEPTH = 512 };

typedef enum lz_json_kind {
    LZ_JSON_NULL,
    LZ_JSON_BOOL,
    LZ_JSON_INT,
    LZ_JSON_UINT, /* above INT64_MAX only */
    LZ_JSON_DOUBLE,
    LZ_JSON_STRING,
    LZ_JSON_ARRAY,
    LZ_JSON_OBJECT,
    LZ_JSON_KINDS
} lz_json_kind;

typedef struct lz_json lz_json;
typedef struct lz_json_member lz_json_member;

struct lz_json {
    lz_loc loc; /* of the first character; columns count bytes */
    lz_json_kind kind;
    uint32_t len; /* of an array or object */
    union {
        bool b;
        int64_t i;
        uint64_t u;
        double d;
        lz_str str; /* UTF-8, may contain NUL; a NUL follows it */
        const lz_json *items;
        struct {
            const lz_json_member *members; /* in the order of the text */
            const uint32_t *order;         /* of the keys, sorted; NULL for small objects */
        };
    };
};

struct lz_json_member {
    lz_str key;
    int32_t line, col; /* of the key */
    lz_json value;
};

/* Parses all of text as one value. `file` is only for messages and may be NULL. LZ_ERR_SYNTAX: malformed,
 * with what was expected. LZ_ERR_LIMIT: beyond a stated limit. After an error the arena is as before. */
LZ_MUST_USE lz_err *lz_json_parse(lz_arena *a, const char *file, lz_str text, const lz_json **out);

/* JSON lines: one value per line; empty lines are skipped. If the values are needed one at a time, rewind the
 * arena between two calls.
 *
 *     lz_json_lines l;
 *     lz_json_lines_init(&l, path, text);
 *     while (!(e = lz_json_lines_next(&l, a, &v)) && v) ...
 *     lz_json_lines_deinit(&l); */
typedef struct lz_json_scratch lz_json_scratch;
typedef struct lz_json_lines {
    const char *file; /* borrowed, as is the text */
    lz_str rest;
    int32_t line; /* of rest */
    lz_json_scratch *scratch;
} lz_json_lines;

void lz_json_lines_init(lz_json_lines *l, const char *file, lz_str text);
void lz_json_lines_deinit(lz_json_lines *l);
/* *out is NULL after the last value. After an error the next call continues with the next line. */
LZ_MUST_USE lz_err *lz_json_lines_next(lz_json_lines *l, lz_arena *a, const lz_json **out);

/* Calls fn for each value in turn, until a call fails. The arena is rewound between values. */
typedef lz_err *lz_json_line_fn(void *user, const lz_json *v, lz_arena *a);
LZ_MUST_USE lz_err *lz_json_lines_each(const char *file, lz_str text, lz_json_line_fn *fn, void *user);

/* "an integer", "an array", ... */
const char *lz_json_kind_name(lz_json_kind kind);

/* NULL if the key is absent or v is not an object. */
const lz_json *lz_json_get(const lz_json *v, const char *key);
const lz_json *lz_json_find(const lz_json *v, lz_str key);

/* The value itself, if it is of that kind; else LZ_ERR_MODEL at its location, naming `what`. LZ_ERR_LIMIT: an
 * integer does not fit. Every number can be read as a double. */
LZ_MUST_USE lz_err *lz_json_as_bool(const lz_json *v, const char *what, bool *out);
LZ_MUST_USE lz_err *lz_json_as_int(const lz_json *v, const char *what, int64_t *out);
LZ_MUST_USE lz_err *lz_json_as_uint(const lz_json *v, const char *what, uint64_t *out);
LZ_MUST_USE lz_err *lz_json_as_double(const lz_json *v, const char *what, double *out);
LZ_MUST_USE lz_err *lz_json_as_str(const lz_json *v, const char *what, lz_str *out);
LZ_MUST_USE lz_err *lz_json_as_array(const lz_json *v, const char *what, const lz_json **out);
LZ_MUST_USE lz_err *lz_json_as_object(const lz_json *v, const char *what, const lz_json **out);

/* Like lz_json_as_..., for the value under a key of the object v; LZ_ERR_NOT_FOUND at the object if the key
 * is missing. */
LZ_MUST_USE lz_err *lz_json_get_any(const lz_json *v, const char *key, const lz_json **out);
LZ_MUST_USE lz_err *lz_json_get_int(const lz_json *v, const char *key, int64_t *out);
LZ_MUST_USE lz_err *lz_json_get_uint(const lz_json *v, const char *key, uint64_t *out);
LZ_MUST_USE lz_err *lz_json_get_str(const lz_json *v, const char *key, lz_str *out);
LZ_MUST_USE lz_err *lz_json_get_array(const lz_json *v, const char *key, const lz_json **out);
LZ_MUST_USE lz_err *lz_json_get_object(const lz_json *v, const char *key, const lz_json **out);

#endif
