/* deprecated.h - old Python signatures that are still taken.
 *
 *     - name: add(Tensor self, Scalar alpha, Tensor other) -> Tensor
 *       aten: add(self, other, alpha)
 *
 * An entry is the old schema and the call that it stands for, written with names of its
 * own arguments or the constant 1; `f_out(out, ...)` calls an out operator. It holds for
 * every operator of that name whose arguments agree with the call in type and
 * annotation, place by place, the rest having defaults, and whose returns are equal. */
#ifndef LZG_DEPRECATED_H
#define LZG_DEPRECATED_H

#include "gen/model/model.h"

typedef struct lzg_deprecated {
    const lzg_schema *schema;
    lz_loc loc;         /* of the entry */
    lz_str aten;        /* the operator's name, without _out */
    bool is_out;        /* out arguments come first in the call */
    const lz_str *call; /* argument names and constants */
    size_t ncall;
    const lzg_function **targets; /* never empty */
    size_t ntargets;
} lzg_deprecated;

typedef struct lzg_deprecated_list {
    lzg_deprecated *at; /* those that were right */
    size_t n;
    size_t entries; /* in the file */
} lzg_deprecated_list;

/* Matches the file's entries with the functions given. Mistakes go into d; only memory errors
 * are returned. */
LZ_MUST_USE
lz_err *lzg_deprecated_load(lz_arena *a, const lzg_function *const *functions, size_t n, const lzg_yaml *file,
                            lzg_diag *d, lzg_deprecated_list *out);

#endif
