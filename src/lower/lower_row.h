/* lower_row.h - what lower_table.h, which is generated from the operator files, is made of.
 *
 * Entries that do the same (a function, its in-place and its out form, a view and its
 * copy) share one lowering function; it computes, others write. Its results are the
 * operator's returns in order; behind them, for an operator that writes arguments which it
 * does not return, what these become. */
#ifndef LZ_LOWER_LOWER_ROW_H
#define LZ_LOWER_LOWER_ROW_H

#include "lower/lower.h"

typedef enum lz_lower_kind {
    LZ_LOWER_NOT,       /* there is none */
    LZ_LOWER_FORMULA,   /* made from a formula over other operators */
    LZ_LOWER_INNER,     /* made from what happens to one element */
    LZ_LOWER_PRIMITIVE, /* written by hand */
    LZ_LOWER_KINDS
} lz_lower_kind;

enum {
    LZ_FROM_NONE = -1,      /* the function gets None */
    LZ_FROM_OUT_DTYPE = -2, /* the dtype of the first tensor that is written */
};

typedef struct lz_lower_row {
    lz_lower_fn *fn;
    const int8_t *from;      /* for each argument of fn the operator's; NULL: in order, without out */
    uint8_t nargs, nresults; /* of fn */
    uint8_t kind;            /* lz_lower_kind */
} lz_lower_row;

#endif
