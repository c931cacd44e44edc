/* left_out.h - operators of PyTorch that are not planned, by family (ops/left_out.yaml).
 *
 * The file is a list of families: a text, and patterns of names without overload, in which * stands for any
 * characters. A pattern that matches an operator of the operator files is refused: the operator is there. */
#ifndef LZG_LEFT_OUT_H
#define LZG_LEFT_OUT_H

#include "gen/model/model.h"

typedef struct lzg_left_out_row {
    lz_str pattern, family;
} lzg_left_out_row;

typedef struct lzg_left_out {
    const lzg_left_out_row *rows; /* in the order of the file */
    size_t n;
} lzg_left_out;

/* Mistakes in the file are added to d. The rows belong to a. */
LZ_MUST_USE
lz_err *lzg_left_out_read(lz_arena *a, const lzg_ops *ops, const lzg_yaml *list, lzg_diag *d,
                          lzg_left_out *out);
LZ_MUST_USE
lz_err *lzg_left_out_load(lz_arena *a, const lzg_ops *ops, const char *path, lzg_diag *d, lzg_left_out *out);

#endif
