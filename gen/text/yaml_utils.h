/* yaml_utils.h - YAML files as a tree that remembers where everything stood.
 *
 * libyaml's events with YAML 1.1 scalars as PyYAML's safe loader resolves them
 * (yes/no/on/off are booleans, 0x10 and 1_000 are integers, ~ is null, quoted
 * scalars are always strings), duplicate keys refused everywhere, one document a
 * file. Aliases share their anchor's node; no node contains itself, and walking all
 * of a tree, aliases expanded, is bounded. The tree is arena-owned and immutable. */
#ifndef LZG_YAML_UTILS_H
#define LZG_YAML_UTILS_H

#include "base/arena.h"
#include "base/err.h"

enum {
    LZG_YAML_DEPTH = 128,       /* of nesting, aliases expanded */
    LZG_YAML_NODES = 1 << 22,   /* of a tree, aliases expanded */
    LZG_YAML_BYTES = 256 << 20, /* of a file */
};

typedef enum lzg_yaml_kind {
    LZG_YAML_NULL,
    LZG_YAML_BOOL,
    LZG_YAML_INT,
    LZG_YAML_FLOAT,
    LZG_YAML_TIMESTAMP,
    LZG_YAML_STR,
    LZG_YAML_LIST,
    LZG_YAML_MAP
} lzg_yaml_kind;

typedef struct lzg_yaml lzg_yaml;
struct lzg_yaml {
    lzg_yaml_kind kind;
    lz_loc loc;      /* of its first character (of a quoted scalar: of the quote) */
    lz_str text;     /* a scalar's value as text */
    bool truth;      /* of a BOOL */
    int64_t integer; /* of an INT; held at the ends of its range beyond them */
    double real;     /* of a FLOAT or INT */
    bool quoted;     /* column of text character i is loc.col + i, + 1 if quoted; exact for one-line scalars
                        without escapes */
    bool one_line;   /* whether that holds */
    size_t len;      /* items of a LIST, pairs of a MAP */
    const lzg_yaml *const *items; /* LIST: items; MAP: key, value, key, value, ... in file order */
};

/* Parses a whole text; `file` names it in locations and is copied. An empty
 * document gives a NULL-kind node. Errors have a location: LZ_ERR_SYNTAX,
 * LZ_ERR_UNSUPPORTED for a tag other than !!str and its kin and for << and =,
 * LZ_ERR_LIMIT for the bounds above. */
LZ_MUST_USE
lz_err *lzg_yaml_parse(lz_arena *a, lz_str text, const char *file, const lzg_yaml **out);
LZ_MUST_USE
lz_err *lzg_yaml_load(lz_arena *a, const char *path, const lzg_yaml **out);

/* The value under a key of a MAP, or NULL. */
const lzg_yaml *lzg_yaml_get(const lzg_yaml *map, lz_str key);

/* "a list", "a string", ... for messages. */
const char *lzg_yaml_kind_name(lzg_yaml_kind kind);

/* The place of byte `offset` of a scalar's text, of the scalar's start unless one_line. */
lz_loc lzg_yaml_at(const lzg_yaml *scalar, size_t offset);

#endif
