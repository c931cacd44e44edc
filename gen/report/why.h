/* why.h - every output that an operator feeds, as text for a reader.
 *
 * Sections of "name: value" lines: the place of the entry, its generated variants, its groups, kernels,
 * signatures, derivatives and Python names, and each line of each emitted file that exists because of
 * the operator. */
#ifndef LZG_WHY_H
#define LZG_WHY_H

#include "gen/emit/emit.h"

typedef struct lzg_why_inputs {
    const char *derivatives, *deprecated; /* files, or NULL: no such sections */
    const lzg_emit *emit;                 /* of which every target was run and every file kept */
} lzg_why_inputs;

/* An operator by name, "add.Tensor" or "aten::add.Tensor"; LZ_ERR_NOT_FOUND lists the overloads of the
 * name. */
LZ_MUST_USE lz_err *lzg_why_find(const lzg_ops *ops, lz_str name, const lzg_function **out);

/* Appends to out; mistakes in the files go into d. */
LZ_MUST_USE
lz_err *lzg_why(const lzg_ops *ops, const lzg_function *f, const lzg_why_inputs *in, lzg_diag *d,
                lz_text *out);

#endif
