/* reference.h - a page of all operators for readers, in Markdown: docs/operators.md.
 *
 * One section for each operator file, in it one entry after the other as they stand in the file: schema,
 * forms, definition, dtypes, derivative. Everything comes from the entries. */
#ifndef LZG_REFERENCE_H
#define LZG_REFERENCE_H

#include "gen/formula/formula_diff.h"
#include "gen/model/left_out.h"

typedef struct lzg_reference {
    const lzg_ops *ops;
    const lzg_definitions *definitions;
    const lzg_diffs *diffs;       /* or NULL: nothing is said about derivatives */
    const lzg_left_out *left_out; /* or NULL */
} lzg_reference;

/* Appends the page. */
LZ_MUST_USE lz_err *lzg_reference_print(const lzg_reference *r, lz_text *out);

#endif
