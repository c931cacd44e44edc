/* formula_check_impl.h - declarations that the files of the checker share.
 *
 * A name in scope is a slot. Scopes nest, so the live slots form a stack. An optional slot counts the
 * surrounding conditions that imply that its value is not None. */
#ifndef LZG_FORMULA_CHECK_IMPL_H
#define LZG_FORMULA_CHECK_IMPL_H

#include "base/vec.h"
#include "gen/formula/formula_check.h"

typedef struct lzg_formula_binding {
    lzg_slot slot;
    lz_str origin; /* the name that makes the value dynamic, if another one */
    bool live, used;
    int not_none;
} lzg_formula_binding;

typedef struct lzg_checker {
    lz_arena *arena;
    lzg_callees *callees;
    LZ_VEC(lzg_formula_binding) slots;
    size_t work; /* expressions checked */
    bool inner;
    bool defaults; /* a schema's default: its constants have names of their own */
} lzg_checker;

/* An argument of a call, as written in the formula. */
typedef struct lzg_actual {
    const lzg_term *term;
    lz_loc loc;
    lzg_name keyword; /* text.ptr NULL: by position */
} lzg_actual;

typedef struct lzg_call {
    lz_str ns, name, overload; /* ptr NULL: none given; "default": the overload without a name */
    lz_loc loc, at;            /* of the call; of its name */
    const char *spelling;      /* of a C operator, or NULL */
    bool method;               /* the first argument is self */
    lzg_actual *args;
    size_t n;
} lzg_call;

/* ---- formula_check.c ---- */
LZ_MUST_USE
lz_err *lzg_check_expr(lzg_checker *c, const lzg_expr *e, const lzg_term **out);
LZ_MUST_USE
lz_err *lzg_term_make(lzg_checker *c, lzg_term proto, const lzg_term *const *kids, size_t n,
                      const lzg_term **out);
/* Only where lzg_fty_cost allows the conversion. */
LZ_MUST_USE
lz_err *lzg_term_convert(lzg_checker *c, const lzg_term *t, const lzg_fty *to, const lzg_term **out);
/* The name of the argument or operator that makes a term dynamic. */
lz_str lzg_term_culprit(const lzg_checker *c, const lzg_term *t);
LZ_MUST_USE
lz_err *lzg_show(lzg_checker *c, const lzg_fty *t, const char **out);
/* The error for an optional where a value is expected. */
LZ_MUST_USE
lz_err *lzg_maybe_none(lzg_checker *c, lz_loc loc, const lzg_fty *type);
/* Whether the name is bound here. */
bool lzg_is_bound(const lzg_checker *c, lz_str name);
/* Makes a slot; hiding another name is an error. "_" makes no slot. */
LZ_MUST_USE
lz_err *lzg_bind(lzg_checker *c, lzg_name name, const lzg_fty *type, bool dynamic);
void lzg_leave(lzg_checker *c, size_t from);
/* Slots `from` and following become those of a term. */
LZ_MUST_USE
lz_err *lzg_take_slots(lzg_checker *c, size_t from, size_t n, lzg_term *t);
/* A bool; unless `run_time`, known before the run. */
LZ_MUST_USE
lz_err *lzg_check_condition(lzg_checker *c, const lzg_expr *e, bool run_time, const lzg_term **out);
/* Checks e where `known` is `truth`. */
LZ_MUST_USE
lz_err *lzg_check_knowing(lzg_checker *c, const lzg_expr *e, const lzg_expr *known, bool truth,
                          const lzg_term **out);

/* ---- formula_list.c: tuples, lists and what goes over them ---- */
LZ_MUST_USE
lz_err *lzg_check_tuple(lzg_checker *c, const lzg_expr *e, const lzg_term **out);
LZ_MUST_USE
lz_err *lzg_check_list(lzg_checker *c, const lzg_expr *e, const lzg_term **out);
LZ_MUST_USE
lz_err *lzg_check_index(lzg_checker *c, const lzg_expr *e, const lzg_term **out); /* and slices */
LZ_MUST_USE
lz_err *lzg_check_map(lzg_checker *c, const lzg_expr *e, const lzg_term **out);
LZ_MUST_USE
lz_err *lzg_check_fold(lzg_checker *c, const lzg_expr *e, const lzg_term **out);
LZ_MUST_USE
lz_err *lzg_check_loop(lzg_checker *c, const lzg_expr *e, const lzg_term **out);

/* ---- formula_number.c: what is done with values that are no tensors ---- */
LZ_MUST_USE
lz_err *lzg_check_unary(lzg_checker *c, const lzg_expr *e, const lzg_term *operand, const lzg_term **out);
LZ_MUST_USE
lz_err *lzg_check_binary(lzg_checker *c, const lzg_expr *e, const lzg_term *left, const lzg_term *right,
                         const lzg_term **out);
LZ_MUST_USE
lz_err *lzg_check_attribute(lzg_checker *c, const lzg_expr *e, const lzg_term *whose, const lzg_term **out);
/* *out is NULL if no function has the name. */
LZ_MUST_USE
lz_err *lzg_check_constant(lzg_checker *c, const lzg_expr *e, const lzg_term **out);
bool lzg_is_constant(lz_str name);

/* ---- formula_builtin.c: functions that are no operators; NULL in *out likewise ---- */
LZ_MUST_USE
lz_err *lzg_check_scalar_call(lzg_checker *c, const lzg_call *call, const lzg_term **out);
LZ_MUST_USE
lz_err *lzg_check_builtin(lzg_checker *c, const lzg_call *call, const lzg_term **out);

/* ---- formula_call.c ---- */
lzg_callee *lzg_callees_find(const lzg_callees *t, lz_str ns, lz_str name);
LZ_MUST_USE
lz_err *lzg_check_call(lzg_checker *c, const lzg_call *call, const lzg_term **out);

/* ---- formula_suggest.c ---- */
typedef struct lzg_suggestion {
    lz_str wrong, best;
    size_t distance;
} lzg_suggestion;

lzg_suggestion lzg_suggest(lz_str wrong);
void lzg_suggest_offer(lzg_suggestion *s, lz_str name);
void lzg_suggest_offer_functions(lzg_suggestion *s);
void lzg_suggest_offer_operators(lzg_suggestion *s, const lzg_callees *t);
/* " (did you mean 'x'?)" for "%s", or nothing. */
LZ_MUST_USE
lz_err *lzg_suggest_text(const lzg_suggestion *s, lz_arena *a, const char **out);

#endif
