/* formula_cycle.h - finds formulas that call themselves through other formulas. */
#ifndef LZG_FORMULA_CYCLE_H
#define LZG_FORMULA_CYCLE_H

#include "gen/formula/formula_define.h"

/* Reports each cycle, from a formula back to its own operator, once in diag. */
LZ_MUST_USE
lz_err *lzg_formula_cycles(lzg_definitions *d, lzg_diag *diag);

#endif
