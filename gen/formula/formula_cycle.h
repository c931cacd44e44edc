/* formula_cycle.h - whether formulas come to an end. */
#ifndef LZG_FORMULA_CYCLE_H
#define LZG_FORMULA_CYCLE_H

#include "gen/formula/formula_define.h"

/* Each way back from a formula to its own operator goes into diag, once. */
LZ_MUST_USE
lz_err *lzg_formula_cycles(lzg_definitions *d, lzg_diag *diag);

#endif
