/* formula_type.h - the types of values in formulas.
 *
 * These are the types of the schema language, and None, tuples (several returns) and the empty list.
 * Types are compared by structure; base types are static. */
#ifndef LZG_FORMULA_TYPE_H
#define LZG_FORMULA_TYPE_H

#include "gen/model/model.h"

typedef enum lzg_fty_kind {
    LZG_FTY_BASE,
    LZG_FTY_NONE,
    LZG_FTY_OPTIONAL,
    LZG_FTY_LIST,
    LZG_FTY_TUPLE,
    LZG_FTY_CLASS
} lzg_fty_kind;

typedef struct lzg_fty lzg_fty;
struct lzg_fty {
    lzg_fty_kind kind;
    lzg_base_ty base;            /* BASE */
    const lzg_fty *elem;         /* OPTIONAL, LIST; NULL for the empty list */
    int32_t size;                /* LIST: -1 for [] */
    const lzg_fty *const *items; /* TUPLE */
    size_t n;
    lz_str class_name; /* CLASS */
};

extern const lzg_fty lzg_fty_none, lzg_fty_empty_list;
const lzg_fty *lzg_fty_base(lzg_base_ty base);

LZ_MUST_USE
lz_err *lzg_fty_of(lz_arena *a, const lzg_type *t, const lzg_fty **out);
LZ_MUST_USE
lz_err *lzg_fty_optional(lz_arena *a, const lzg_fty *elem, const lzg_fty **out); /* never of an optional */
LZ_MUST_USE
lz_err *lzg_fty_list(lz_arena *a, const lzg_fty *elem, int32_t size, const lzg_fty **out);
/* Keeps `items`. */
LZ_MUST_USE
lz_err *lzg_fty_tuple(lz_arena *a, const lzg_fty *const *items, size_t n, const lzg_fty **out);

void lzg_fty_print(const lzg_fty *t, lz_text *out);
bool lzg_fty_eq(const lzg_fty *a, const lzg_fty *b);
bool lzg_fty_is(const lzg_fty *t, lzg_base_ty base);
bool lzg_fty_is_number(const lzg_fty *t); /* int, SymInt, float, Scalar */
bool lzg_fty_is_int(const lzg_fty *t);    /* int, SymInt */
/* A number or a list of them, optional or not, whose value is not known before the run. */
bool lzg_fty_is_run_time(const lzg_fty *t);

/* The cost of converting `from` to `to`: 0 for equal types, greater for less preferred conversions, -1
 * if there is no conversion. Above LZG_COST_WRAP a number becomes a tensor. */
enum { LZG_COST_LIFT = 1, LZG_COST_INT = 2, LZG_COST_NUMBER = 4, LZG_COST_SPREAD = 8, LZG_COST_WRAP = 16 };
int lzg_fty_cost(const lzg_fty *from, const lzg_fty *to);

/* The type to which both convert at the lowest cost; *out is NULL if there is none. */
LZ_MUST_USE
lz_err *lzg_fty_join(lz_arena *a, const lzg_fty *x, const lzg_fty *y, const lzg_fty **out);

#endif
