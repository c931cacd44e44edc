/* diff.h - what changed between two operator sets. */
#ifndef LZG_DIFF_H
#define LZG_DIFF_H

#include "gen/model.h"

typedef struct lzg_diff_counts {
    size_t added, removed, changed;
} lzg_diff_counts;

/* For each operator that differs a line, "+ name", "- name" or "~ name", with its place;
 * for a changed one each field that differs, as it was and as it is. Operators of the
 * old set come in its order, then those that are new in the order of the new one.
 * Appends to out. */
LZ_MUST_USE lz_err *lzg_diff(const lzg_ops *old, const lzg_ops *now, lz_text *out, lzg_diff_counts *counts);

#endif
