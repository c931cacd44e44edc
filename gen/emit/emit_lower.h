/* emit_lower.h - a checked formula as a C function that builds the lowered DAG.
 *
 * Values that are known when an operator is called become ordinary C: ints, bools and dtypes are C
 * variables, conditions are ifs, folds are loops. Tensors, run-time numbers, lists and other values are
 * lz_low_value. A term without statements of its own gives a C expression; other terms add statements
 * to the body and give the name of their result. Names are assigned once, except the state of loops. */
#ifndef LZG_EMIT_LOWER_H
#define LZG_EMIT_LOWER_H

#include "base/vec.h"
#include "gen/emit/emit.h"
#include "gen/formula/formula_define.h"

typedef enum lzg_rep { LZG_REP_VALUE, LZG_REP_INT, LZG_REP_BOOL, LZG_REP_DTYPE, LZG_REP_COUNT } lzg_rep;

/* The precedence of a C expression. */
enum {
    LZG_BINDS_COND,
    LZG_BINDS_OR,
    LZG_BINDS_AND,
    LZG_BINDS_BITOR,
    LZG_BINDS_BITXOR,
    LZG_BINDS_BITAND,
    LZG_BINDS_EQ,
    LZG_BINDS_REL,
    LZG_BINDS_ADD,
    LZG_BINDS_MUL,
    LZG_BINDS_UNARY,
    LZG_BINDS_PRIMARY
};

enum { LZG_BITS_ANY = 63, LZG_BITS_SAFE = 62 };

typedef struct lzg_c_expr {
    lz_str text;
    lzg_rep rep;
    uint8_t binds;
    uint8_t bits; /* INT: the magnitude is below 2^bits */
    bool pointer; /* VALUE: a const lz_low_value * */
    bool place;   /* VALUE: its address can be taken */
    bool risky;   /* may set `fault` */
} lzg_c_expr;

/* The destination of a value: a variable, or an array for the parts of a tuple. */
typedef struct lzg_c_place {
    lz_str text;
    lzg_rep rep;
} lzg_c_place;

typedef struct lzg_c_slot {
    lzg_c_expr expr;
    lzg_c_expr *parts; /* of a tuple */
    bool used, declared;
} lzg_c_slot;

typedef struct lzg_lower {
    const lzg_c_ops *ops;
    const lzg_c_op *op;
    const lzg_definition *def;
    lz_str symbol; /* of the C function */
    lz_arena arena;
    lz_text body, line;
    int indent;
    int ntemps, ncounted; /* t[...]; names with numbers */
    bool inner, builder, faults;
    lzg_c_slot *slots;
    const uint8_t *subjects; /* by slot: check_reason.h */
    LZ_VEC(lz_str) names;    /* of C variables in scope */
    LZ_VEC(size_t) scopes;   /* their number at the start of each block */
} lzg_lower;

/* ---- emit_lower.c ---- */

/* "mul_Tensor": the operator that defines f. */
LZ_MUST_USE lz_err *lzg_lower_symbol(const lzg_c_ops *c, const lzg_function *f, lz_str *out);

/* A definition as a C function of that name. */
LZ_MUST_USE
lz_err *lzg_lower_function(const lzg_c_ops *c, const lzg_c_op *op, const lzg_definition *def,
                           const char *prefix, lz_str name, lz_text *out);

/* "pointwise" of "ops/pointwise.yaml". */
lz_str lzg_family_of(const lzg_function *f);
/* One file of C for each file of operators. */
typedef struct lzg_families {
    const char *stem, *includes;               /* "lower/lower_" */
    bool (*has)(const lzg_emit *e, size_t op); /* whether this operator needs the file; NULL: all do */
    lz_err *(*put)(lzg_emit *e, lz_str family, lz_text *out);
} lzg_families;
LZ_MUST_USE lz_err *lzg_family_file(const lzg_families *f, lz_str family, lz_arena *a, lz_str *out);
LZ_MUST_USE lz_err *lzg_emit_families(lzg_emit *e, const lzg_families *f);

/* ---- emit_lower_text.c: statements and expressions as text ---- */

/* A statement on a line, or on several. */
void lzg_stmt(lzg_lower *f, const char *fmt, ...) LZ_PRINTF(2, 3);
/* A block; the names of the block are free again after it. */
LZ_MUST_USE lz_err *lzg_open(lzg_lower *f, const char *fmt, ...) LZ_PRINTF(2, 3); /* text and " {" */
void lzg_close(lzg_lower *f, const char *rest);                                   /* "}" and text */
void lzg_leave_block(lzg_lower *f);                                               /* without a "}" */
LZ_MUST_USE
lz_err *lzg_expr_make(lzg_lower *f, lzg_rep rep, int binds, lzg_c_expr *out, const char *fmt, ...)
    LZ_PRINTF(5, 6);
LZ_MUST_USE lz_err *lzg_name_new(lzg_lower *f, lz_str wish, lz_str *out); /* adds a number if wish is taken */
LZ_MUST_USE lz_err *lzg_name_count(lzg_lower *f, const char *stem, lz_str *out); /* stem1, stem2 ... */
LZ_MUST_USE lz_err *lzg_temp(lzg_lower *f, lzg_c_expr *out);                     /* t[i] */
/* Declares a C variable for a value, which then has the variable as its text. */
LZ_MUST_USE lz_err *lzg_declare(lzg_lower *f, lz_str name, lzg_c_expr *e);
/* A C variable that holds the value, after the check for faults. */
LZ_MUST_USE lz_err *lzg_settle(lzg_lower *f, lzg_c_expr *e);
/* Declares name and unpacks the pointer's value into it. */
LZ_MUST_USE lz_err *lzg_get_known(lzg_lower *f, lz_str pointer, lz_str name, lzg_rep rep);
LZ_MUST_USE lz_err *lzg_as(lzg_lower *f, lzg_c_expr *e, lzg_rep rep);
bool lzg_is_literal(const lzg_c_expr *e); /* an integer literal of the formula */
/* In parentheses if its precedence is lower. */
LZ_MUST_USE lz_err *lzg_operand(lzg_lower *f, const lzg_c_expr *e, int binds, lz_str *out);
LZ_MUST_USE lz_err *lzg_by_value(lzg_lower *f, lzg_c_expr *e, lz_str *out);
LZ_MUST_USE lz_err *lzg_by_pointer(lzg_lower *f, lzg_c_expr *e, lz_str *out);
LZ_MUST_USE lz_err *lzg_store(lzg_lower *f, const lzg_c_place *to, lzg_c_expr *e); /* to = e; */
const char *lzg_rep_type(lzg_rep rep);                                             /* "int64_t" */

/* ---- emit_lower_term.c ---- */

lzg_rep lzg_rep_of(const lzg_fty *type, bool dynamic);
/* Whether it needs no statements. */
bool lzg_is_plain(const lzg_lower *f, const lzg_term *t);
bool lzg_are_plain(const lzg_lower *f, const lzg_term *const *terms, size_t n);
/* The value of a term that is no tuple. */
LZ_MUST_USE lz_err *lzg_eval(lzg_lower *f, const lzg_term *t, lzg_c_expr *out);
LZ_MUST_USE lz_err *lzg_eval_as(lzg_lower *f, const lzg_term *t, lzg_rep rep, lzg_c_expr *out);
/* Any term; for a tuple the place is an array. */
LZ_MUST_USE lz_err *lzg_eval_into(lzg_lower *f, const lzg_term *t, const lzg_c_place *to);
/* The parts of a tuple as expressions; the arena owns the array. */
LZ_MUST_USE lz_err *lzg_eval_parts(lzg_lower *f, const lzg_term *t, lzg_c_expr **out);
/* All of them by value, with commas between. */
LZ_MUST_USE lz_err *lzg_eval_args(lzg_lower *f, const lzg_term *const *terms, size_t n, lz_str *out);
LZ_MUST_USE lz_err *lzg_eval_pointer(lzg_lower *f, const lzg_term *t, lz_str *out);
/* The variable that a statement writes its result to: `want` if it fits, or a new one. */
LZ_MUST_USE lz_err *lzg_result(lzg_lower *f, lzg_rep rep, const lzg_c_place *want, lzg_c_expr *out);

/* ---- emit_lower_number.c; `want` may be NULL ---- */

LZ_MUST_USE lz_err *lzg_eval_op(lzg_lower *f, const lzg_term *t, const lzg_c_place *want, lzg_c_expr *out);
LZ_MUST_USE lz_err *lzg_eval_prim(lzg_lower *f, const lzg_term *t, const lzg_c_place *want, lzg_c_expr *out);
LZ_MUST_USE
lz_err *lzg_eval_convert(lzg_lower *f, const lzg_term *t, const lzg_c_place *want, lzg_c_expr *out);
bool lzg_is_plain_op(const lzg_lower *f, const lzg_term *t);
bool lzg_is_plain_prim(const lzg_lower *f, const lzg_term *t);
bool lzg_is_plain_convert(const lzg_lower *f, const lzg_term *t);
/* A value of one type as one of another. */
LZ_MUST_USE
lz_err *lzg_convert(lzg_lower *f, lzg_c_expr *e, const lzg_fty *from, const lzg_fty *to,
                    const lzg_c_place *want);

/* ---- emit_lower_list.c ---- */

LZ_MUST_USE lz_err *lzg_eval_list(lzg_lower *f, const lzg_term *t, const lzg_c_place *want, lzg_c_expr *out);
LZ_MUST_USE lz_err *lzg_eval_map(lzg_lower *f, const lzg_term *t, const lzg_c_place *want, lzg_c_expr *out);
/* The state after the last iteration, one expression for each name. */
LZ_MUST_USE lz_err *lzg_eval_fold(lzg_lower *f, const lzg_term *t, lzg_c_expr *parts);
LZ_MUST_USE lz_err *lzg_eval_loop(lzg_lower *f, const lzg_term *t, lzg_c_expr *parts);

#endif
