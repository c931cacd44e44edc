/* foreach_derivatives.h - derivatives of operators over lists of tensors.
 *
 * _foreach_add is differentiated as add is, element by element: its formulas are
 * those of the reference operator with lists indexed by i. They are rewritten as
 * plain text, so they hold whatever the reference's names make of it. An in-place
 * operator takes the reference's info as it is. */
#ifndef LZG_FOREACH_DERIVATIVES_H
#define LZG_FOREACH_DERIVATIVES_H

#include "gen/api/derivative.h"

/* The infos of entries under their signatures without defaults. */
typedef struct lzg_signed_infos {
    const lzg_schema *signature;
    const lzg_diff_infos *infos;
} lzg_signed_infos;

/* *out is NULL if nothing fits; *made tells a new info from the reference's own. */
LZ_MUST_USE
lz_err *lzg_foreach_derive(lz_arena *a, const lzg_function *f, const lz_map *functional,
                           const lz_map *non_functional, const lzg_diff_infos **out, bool *made);

#endif
