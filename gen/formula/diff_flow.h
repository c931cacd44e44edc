/* diff_flow.h - how operators without a derivative of their own are differentiated.
 *
 * Gradients flow through a formula along the arguments and results of what it calls that
 * can have one; an operator through whose formula nothing flows is not differentiable. */
#ifndef LZG_DIFF_FLOW_H
#define LZG_DIFF_FLOW_H

#include "gen/formula/formula_diff.h"

/* Fills in kind, args and results of every operator that no entry serves. */
LZ_MUST_USE lz_err *lzg_diff_flow(lzg_diffs *d);

#endif
