/* forward_formulas.h - tangents of outputs from tangents of inputs.
 *
 * A forward formula uses x_t (tangent) and x_p (primal) of each differentiable input x, never x itself,
 * and result. Two words replace whole formulas: auto_linear (call the operator on the tangents) and
 * auto_element_wise (conjugate the backward formula). An in-place operator uses the formula of its
 * functional form, rewritten so that the tangent of self is changed in place, too. */
#ifndef LZG_FORWARD_FORMULAS_H
#define LZG_FORWARD_FORMULAS_H

#include "gen/api/derivative.h"

/* The entry to which a formula belongs. */
typedef struct lzg_forward_entry {
    lz_arena *arena;
    const lzg_function *func;
    lz_str name;        /* base name of the entry */
    lzg_names all_args; /* of the C++ signature */
    const lzg_binding *args;
    size_t nargs; /* those with derivatives */
    const lzg_derivative *derivatives;
    size_t nderivatives;
} lzg_forward_entry;

/* A formula as written, its outputs found among f's returns. */
LZ_MUST_USE
lz_err *lzg_forward_make(lz_arena *a, const lzg_function *f, lzg_names vars, const lzg_yaml *written,
                         lzg_forward *out);

/* Spells out forwards[i], once all formulas of the entry are known. */
LZ_MUST_USE
lz_err *lzg_forward_finish(const lzg_forward_entry *entry, lzg_forward *forwards, size_t n, size_t i);

/* The formulas for the in-place operator f; exact: the entry is f's own. */
LZ_MUST_USE
lz_err *lzg_forward_in_place(lz_arena *a, const lzg_function *f, const lzg_diff_info *info, bool exact,
                             lzg_forwards *out);

bool lzg_is_foreach(const lzg_function *f);

#endif
