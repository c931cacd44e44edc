/* selection.h - the operators of a selective build.
 *
 * Roots are the operators of a selection (gen/torch/selective_build) and those that C files name: as
 * LZ_OP_x, as a function or macro of ops.h, or by a short name, which stands for all of its overloads. An
 * operator needs those that its formula and its derivatives call, its functional form, and the other forms
 * that functionalization reads. All that is needed, directly or not, is kept, and nothing else. */
#ifndef LZG_SELECTION_H
#define LZG_SELECTION_H

#include "gen/emit/emit.h"
#include "gen/torch/selective_build/selector.h"

typedef struct lzg_selection {
    const lzg_selector *selector;
    const char *const *uses; /* C files, NULL-terminated; or NULL */
} lzg_selection;

/* Leaves out of c, which e writes, all operators that are not needed. An operator of the selection that does
 * not exist is a finding in d. */
LZ_MUST_USE
lz_err *lzg_selection_apply(const lzg_selection *s, const lzg_emit *e, lzg_c_ops *c, lzg_diag *d);

#endif
