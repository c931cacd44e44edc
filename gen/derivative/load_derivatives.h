/* load_derivatives.h - derivatives.yaml as a table of every operator's derivatives.
 *
 * Entries are read, copies of views take over their views' entries, then each operator is matched with
 * an entry. All mistakes go into the diag; the remaining entries are usable. The operators and the YAML
 * tree must outlive the table. */
#ifndef LZG_LOAD_DERIVATIVES_H
#define LZG_LOAD_DERIVATIVES_H

#include "gen/api/derivative.h"

typedef struct lzg_derivatives {
    lz_arena arena;
    const lzg_ops *ops;
    lz_map infos;                        /* schema -> lzg_diff_infos *, derived ones last */
    lz_map keys;                         /* autograd keys that occur */
    const lzg_differentiable *functions; /* every operator, in order of C++ names */
    size_t nfunctions;
} lzg_derivatives;

/* Reads, matches and checks. Returns only memory errors. */
LZ_MUST_USE
lz_err *lzg_derivatives_load(const lzg_ops *ops, const lzg_yaml *entries, lzg_diag *d, lzg_derivatives **out);
void lzg_derivatives_free(lzg_derivatives *t);

/* The stages. Reading makes the table; matching adds derived infos and fills functions; checking tests
 * whether a kernel could be written for every derivative. */
LZ_MUST_USE
lz_err *lzg_derivatives_read(const lzg_ops *ops, const lzg_yaml *entries, lzg_diag *d, lzg_derivatives **out);
LZ_MUST_USE
lz_err *lzg_derivatives_match(lzg_derivatives *t, lzg_diag *d);
LZ_MUST_USE
lz_err *lzg_derivatives_check(lzg_derivatives *t, lzg_diag *d);
/* Of that, only whether the nodes can keep what they save. */
LZ_MUST_USE
lz_err *lzg_derivatives_check_nodes(lzg_derivatives *t, lzg_diag *d);
/* Matches only operators that the function wants; the others are not in the table. */
typedef lz_err *lzg_wanted_fn(const void *user, const lzg_function *f, bool *out);
LZ_MUST_USE
lz_err *lzg_derivatives_match_wanted(lzg_derivatives *t, lzg_wanted_fn *wanted, const void *user,
                                     lzg_diag *d);

/* Counts of the entries as written and as matched. */
typedef struct lzg_derivative_counts {
    size_t entries, with_dispatch, auto_linear, auto_element_wise, output_differentiability;
    size_t formulas, infos, nodes, rows;
    lzg_names keys; /* sorted, in the table's arena */
} lzg_derivative_counts;

LZ_MUST_USE
lz_err *lzg_derivatives_count(lzg_derivatives *t, const lzg_yaml *entries, lzg_derivative_counts *out);

#endif
