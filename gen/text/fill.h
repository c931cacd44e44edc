/* fill.h - patterns with named holes, for text that is made thousands of times.
 *
 * "${name}" stands for a field's value as it is: code_template.h arranges lines, this does not. A name
 * that no field has is a broken invariant: patterns and fields stand in the same function. */
#ifndef LZG_FILL_H
#define LZG_FILL_H

#include "base/text.h"

typedef struct lzg_named_text {
    const char *name;
    lz_str value;
} lzg_named_text;

void lzg_fill_fields(lz_text *out, lz_str pattern, const lzg_named_text *fields, size_t n);

/* lzg_fill_named(out, "struct ${name} {\n", { "name", name }) */
#define lzg_fill_named(out, pattern, ...)                                                                    \
    lzg_fill_fields((out), LZ_STR(pattern), (const lzg_named_text[]){ __VA_ARGS__ },                         \
                    sizeof((const lzg_named_text[]){ __VA_ARGS__ }) / sizeof(lzg_named_text))

#endif
