/* roots.h - operators by base name: "add" has add.Tensor, add_.Tensor, add.out. */
#ifndef LZG_ROOTS_H
#define LZG_ROOTS_H

#include "gen/model/model.h"

/* The operators of one base name, and the groups whose functional operator has it. */
typedef struct lzg_root {
    lz_str name;
    const lzg_function **f;
    lzg_grouped *grouped;
    size_t n, ngrouped;
} lzg_root;

typedef struct lzg_roots {
    lzg_root *at; /* in the order of the operators */
    size_t n;
} lzg_roots;

LZ_MUST_USE lz_err *lzg_roots_make(lz_arena *a, const lzg_ops *ops, lzg_roots *out);

#endif
