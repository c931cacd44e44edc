/* lower_row.h - the row type of lower_table.h, which is generated from the operator files.
 *
 * Entries of one meaning (a function, its in-place and out forms, a view and its copy) share one
 * lowering function. The function only computes; callers write. Its results are the operator's returns in
 * order, followed by the new values of written arguments that the operator does not return. */
#ifndef LZ_LOWER_LOWER_ROW_H
#define LZ_LOWER_LOWER_ROW_H

#include "lower/lower.h"

typedef enum lz_lower_kind {
    LZ_LOWER_NOT,       /* no lowering function */
    LZ_LOWER_FORMULA,   /* generated from a formula over other operators */
    LZ_LOWER_INNER,     /* generated from an expression for one element */
    LZ_LOWER_PRIMITIVE, /* written by hand */
    LZ_LOWER_KINDS
} lz_lower_kind;

enum {
    LZ_FROM_NONE = -1,      /* the function gets None */
    LZ_FROM_OUT_DTYPE = -2, /* the dtype of the first tensor that is written */
};

typedef struct lz_lower_row {
    lz_lower_fn *fn;
    const int8_t *
        from; /* for each argument of fn: the index of the operator's argument; NULL: in order, without out */
    uint8_t nargs, nresults; /* of fn */
    uint8_t kind;            /* lz_lower_kind */
} lz_lower_row;

#endif
