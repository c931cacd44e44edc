/* diff_flow.h - how operators without a derivative of their own are differentiated.
 *
 * Gradients flow through a formula along the differentiable arguments and results of the operators that
 * it calls. An operator is not differentiable if no gradient flows through its formula. */
#ifndef LZG_DIFF_FLOW_H
#define LZG_DIFF_FLOW_H

#include "gen/formula/formula_diff.h"

/* Fills in kind, args and results of every operator without an entry. */
LZ_MUST_USE lz_err *lzg_diff_flow(lzg_diffs *d);

#endif
