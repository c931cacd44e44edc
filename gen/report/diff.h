/* diff.h - the differences between two operator sets. */
#ifndef LZG_DIFF_H
#define LZG_DIFF_H

#include "gen/model/model.h"

typedef struct lzg_diff_counts {
    size_t added, removed, changed;
} lzg_diff_counts;

/* One line for each operator that differs, "+ name", "- name" or "~ name", with its place; for a
 * changed operator, each field that differs with its old and new value. Operators of the old set come
 * in its order, then the added ones in the order of the new set. Appends to out. */
LZ_MUST_USE lz_err *lzg_diff(const lzg_ops *old, const lzg_ops *now, lz_text *out, lzg_diff_counts *counts);

#endif
