/* formula.h - formulas as written: text to tree and back. docs/formulas.md has the grammar.
 *
 * A tree is immutable, arena-owned and at most LZG_FORMULA_DEPTH high, so a walk over a tree may
 * recurse. Printing is canonical: equal trees have equal texts, and a printed text parses to an equal
 * tree. formula_check.h resolves the names. */
#ifndef LZG_FORMULA_FORMULA_H
#define LZG_FORMULA_FORMULA_H

#include "base/arena.h"
#include "base/err.h"
#include "base/text.h"
#include "gen/text/yaml_utils.h"

enum {
    LZG_FORMULA_DEPTH = 150,     /* of a tree, and of parentheses */
    LZG_FORMULA_BYTES = 1 << 16, /* of one formula */
};

/* Operators by precedence, loosest first; the parser, the printer and the checker
 * all read this table. X(name, spelling, level) */
#define LZG_BINARY_OPS(X)                                                                                    \
    X(OR, "||", 2)                                                                                           \
    X(AND, "&&", 3)                                                                                          \
    X(EQ, "==", 4)                                                                                           \
    X(NE, "!=", 4)                                                                                           \
    X(LE, "<=", 4)                                                                                           \
    X(GE, ">=", 4)                                                                                           \
    X(LT, "<", 4)                                                                                            \
    X(GT, ">", 4)                                                                                            \
    X(IN, "in", 4)                                                                                           \
    X(BITOR, "|", 5)                                                                                         \
    X(BITXOR, "^", 6)                                                                                        \
    X(BITAND, "&", 7)                                                                                        \
    X(SHL, "<<", 8)                                                                                          \
    X(SHR, ">>", 8)                                                                                          \
    X(ADD, "+", 9)                                                                                           \
    X(SUB, "-", 9)                                                                                           \
    X(MUL, "*", 10)                                                                                          \
    X(FLOORDIV, "//", 10)                                                                                    \
    X(DIV, "/", 10)                                                                                          \
    X(MOD, "%", 10)                                                                                          \
    X(POW, "**", 12)

#define LZG_UNARY_OPS(X)                                                                                     \
    X(NEG, "-", 11)                                                                                          \
    X(NOT, "!", 11)                                                                                          \
    X(BITNOT, "~", 11)

/* Levels without an operator of the table. */
enum {
    LZG_LEVEL_BLOCK = 0, /* let and check */
    LZG_LEVEL_COND = 1,
    LZG_LEVEL_COMPARE = 4, /* does not chain */
    LZG_LEVEL_UNARY = 11,
    LZG_LEVEL_POW = 12,
    LZG_LEVEL_POSTFIX = 13
};

typedef enum lzg_op {
#define X(name, spelling, level) LZG_OP_##name,
    LZG_BINARY_OPS(X) LZG_UNARY_OPS(X)
#undef X
        LZG_OP_COUNT
} lzg_op;

const char *lzg_op_spelling(lzg_op op);
int lzg_op_level(lzg_op op);

/* The kids and names of each kind. A name whose text.ptr is NULL is absent. */
typedef enum lzg_expr_kind {
    LZG_EXPR_INT,    /* integer, never negative */
    LZG_EXPR_FLOAT,  /* real, finite, never negative */
    LZG_EXPR_STR,    /* text */
    LZG_EXPR_BOOL,   /* truth */
    LZG_EXPR_NONE,   /* */
    LZG_EXPR_NAME,   /* text */
    LZG_EXPR_UNARY,  /* op; kids: operand */
    LZG_EXPR_BINARY, /* op; kids: left, right */
    LZG_EXPR_COND,   /* kids: condition, then, else */
    LZG_EXPR_IS,     /* kids: operand; truth: is None, otherwise is not None */
    LZG_EXPR_CALL,   /* ns, text; kids: arguments; names: their keywords */
    LZG_EXPR_METHOD, /* text; kids: receiver, arguments; names: (absent), keywords */
    LZG_EXPR_ATTR,   /* text; kids: whose */
    LZG_EXPR_INDEX,  /* kids: whose, index */
    LZG_EXPR_SLICE,  /* kids: whose, from or NULL, to or NULL */
    LZG_EXPR_TUPLE,  /* kids: two or more items */
    LZG_EXPR_LIST,   /* kids: items */
    LZG_EXPR_MAP,    /* [body for name in list if filter]; kids: body, list, filter or NULL */
    LZG_EXPR_FOLD,   /* names: state, variable; kids: start values, list, next values */
    LZG_EXPR_LOOP,   /* names: state; kids: start values, condition, next values; integer: bound */
    LZG_EXPR_LET,    /* names: one, or several of a tuple; kids: value, rest */
    LZG_EXPR_CHECK,  /* kids: condition, rest, parts of the message (LZG_EXPR_STR: its text) */
    LZG_EXPR_COUNT
} lzg_expr_kind;

typedef struct lzg_name {
    lz_str text;
    lz_loc loc;
} lzg_name;

typedef struct lzg_expr lzg_expr;
struct lzg_expr {
    lzg_expr_kind kind;
    lzg_op op;
    uint16_t height; /* 1 for a leaf */
    bool truth;
    lz_loc loc; /* of its first character */
    lz_loc at;  /* of its main token: the operator, the name after the dot, the bracket */
    lz_str text, ns;
    int64_t integer;
    double real;
    const lzg_expr *const *kids;
    size_t nkids;
    const lzg_name *names;
    size_t nnames;
};

/* Parses a scalar of a YAML file. LZ_ERR_SYNTAX, or LZ_ERR_LIMIT for the bounds above. Places are exact
 * in one-line scalars and in literal blocks (|) that are indented by two more than their key; in other
 * scalars every place is the start of the scalar. */
LZ_MUST_USE
lz_err *lzg_formula_parse(lz_arena *a, const lzg_yaml *scalar, lz_str key, const lzg_expr **out);

/* Parses any text; `at` is the place of its first character, and every line begins
 * in column `indent`. */
LZ_MUST_USE
lz_err *lzg_formula_parse_text(lz_arena *a, lz_str text, lz_loc at, int32_t indent, const lzg_expr **out);

/* The default of a schema's argument: an expression, whose strings may also have single quotes. */
LZ_MUST_USE
lz_err *lzg_formula_parse_default(lz_arena *a, lz_str text, lz_loc at, const lzg_expr **out);

/* On one line. */
void lzg_formula_print(const lzg_expr *e, lz_text *out);
/* Compares everything but places. */
bool lzg_formula_eq(const lzg_expr *a, const lzg_expr *b);

/* "an integer", "a call", ... for messages. */
const char *lzg_expr_kind_name(lzg_expr_kind kind);

#endif
