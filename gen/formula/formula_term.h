/* formula_term.h - a checked formula: typed, with every name resolved.
 *
 * The checker turns an expression into a term, and lowering functions are generated from terms. C
 * operators on tensors, methods and overloads are calls of one operator each, with all arguments in the
 * order of its schema; implicit conversions are terms; names are slots. Terms are immutable, arena-
 * owned and as high as their expression, plus conversions. */
#ifndef LZG_FORMULA_TERM_H
#define LZG_FORMULA_TERM_H

#include "gen/formula/formula.h"
#include "gen/formula/formula_type.h"

/* Functions of numbers (of elements, in an `inner` expression). X(NAME, name, arguments,
 * result): SAME as the arguments, FLOAT. The kernel IR has one instruction for each. */
#define LZG_SCALAR_FUNCTIONS(X)                                                                              \
    X(ABS, abs, 1, SAME)                                                                                     \
    X(FLOOR, floor, 1, SAME)                                                                                 \
    X(CEIL, ceil, 1, SAME)                                                                                   \
    X(TRUNC, trunc, 1, SAME)                                                                                 \
    X(ROUND, round, 1, SAME)                                                                                 \
    X(MIN, min, 2, SAME)                                                                                     \
    X(MAX, max, 2, SAME)                                                                                     \
    X(FMOD, fmod, 2, SAME)                                                                                   \
    X(SQRT, sqrt, 1, FLOAT)                                                                                  \
    X(EXP, exp, 1, FLOAT)                                                                                    \
    X(EXP2, exp2, 1, FLOAT)                                                                                  \
    X(EXPM1, expm1, 1, FLOAT)                                                                                \
    X(LOG, log, 1, FLOAT)                                                                                    \
    X(LOG1P, log1p, 1, FLOAT)                                                                                \
    X(LOG2, log2, 1, FLOAT)                                                                                  \
    X(LOG10, log10, 1, FLOAT)                                                                                \
    X(SIN, sin, 1, FLOAT)                                                                                    \
    X(COS, cos, 1, FLOAT)                                                                                    \
    X(TAN, tan, 1, FLOAT)                                                                                    \
    X(ASIN, asin, 1, FLOAT)                                                                                  \
    X(ACOS, acos, 1, FLOAT)                                                                                  \
    X(ATAN, atan, 1, FLOAT)                                                                                  \
    X(ATAN2, atan2, 2, FLOAT)                                                                                \
    X(SINH, sinh, 1, FLOAT)                                                                                  \
    X(COSH, cosh, 1, FLOAT)                                                                                  \
    X(TANH, tanh, 1, FLOAT)                                                                                  \
    X(ASINH, asinh, 1, FLOAT)                                                                                \
    X(ACOSH, acosh, 1, FLOAT)                                                                                \
    X(ATANH, atanh, 1, FLOAT)                                                                                \
    X(ERF, erf, 1, FLOAT)                                                                                    \
    X(ERFC, erfc, 1, FLOAT)                                                                                  \
    X(ERFINV, erfinv, 1, FLOAT)                                                                              \
    X(NORMAL_CDF, normal_cdf, 1, FLOAT)                                                                      \
    X(LGAMMA, lgamma, 1, FLOAT)                                                                              \
    X(DIGAMMA, digamma, 1, FLOAT)                                                                            \
    X(ZETA, zeta, 2, FLOAT)                                                                                  \
    X(IGAMMA, igamma, 2, FLOAT)                                                                              \
    X(IGAMMAC, igammac, 2, FLOAT)                                                                            \
    X(ORTHOGONAL, orthogonal, 3, FLOAT)

/* The functions of the language. X(NAME, name) */
#define LZG_BUILTINS(X)                                                                                      \
    X(CAST, cast)                                                                                            \
    X(BITCAST, bitcast)                                                                                      \
    X(POLY, poly)                                                                                            \
    X(LEN, len)                                                                                              \
    X(RANGE, range)                                                                                          \
    X(TO_INT, to_int)                                                                                        \
    X(RESULT_TYPE, result_type)                                                                              \
    X(OPMATH, opmath)                                                                                        \
    X(DEFAULT_DTYPE, default_dtype)                                                                          \
    X(WRAP_DIM, wrap_dim)                                                                                    \
    X(WRAP_DIMS, wrap_dims)                                                                                  \
    X(SUMS, sums)                                                                                            \
    X(CONTRACTION, contraction)                                                                              \
    X(BROADCAST_SHAPES, broadcast_shapes)                                                                    \
    X(ELEMENT, element)

/* X(NAME, of, name, type of the result, a list of it) */
#define LZG_ATTRIBUTES(X)                                                                                    \
    X(SHAPE, Tensor, shape, SymInt, true)                                                                    \
    X(NDIM, Tensor, ndim, int, false)                                                                        \
    X(NUMEL, Tensor, numel, SymInt, false)                                                                   \
    X(STRIDES, Tensor, strides, SymInt, true)                                                                \
    X(DTYPE, Tensor, dtype, ScalarType, false)                                                               \
    X(DEVICE, Tensor, device, Device, false)                                                                 \
    X(LAYOUT, Tensor, layout, Layout, false)                                                                 \
    X(NUMBER_DTYPE, Scalar, dtype, ScalarType, false)                                                        \
    X(IS_FLOATING_POINT, ScalarType, is_floating_point, bool, false)                                         \
    X(IS_COMPLEX, ScalarType, is_complex, bool, false)                                                       \
    X(IS_INTEGRAL, ScalarType, is_integral, bool, false)                                                     \
    X(IS_SIGNED, ScalarType, is_signed, bool, false)                                                         \
    X(ITEMSIZE, ScalarType, itemsize, int, false)                                                            \
    X(LOWEST, ScalarType, min, Scalar, false)                                                                \
    X(HIGHEST, ScalarType, max, Scalar, false)                                                               \
    X(EPS, ScalarType, eps, Scalar, false)

typedef enum lzg_prim {
#define X(NAME, ...) LZG_PRIM_##NAME,
    LZG_SCALAR_FUNCTIONS(X) LZG_BUILTINS(X) LZG_ATTRIBUTES(X)
#undef X
        LZG_PRIM_INDEX, /* list, index */
    LZG_PRIM_SLICE,     /* list, from or None, to or None */
    LZG_PRIM_IS_NONE,
    LZG_PRIM_COUNT
} lzg_prim;

const char *lzg_prim_name(lzg_prim prim);

typedef enum lzg_term_kind {
    LZG_TERM_INT,     /* integer */
    LZG_TERM_FLOAT,   /* real */
    LZG_TERM_STR,     /* text */
    LZG_TERM_BOOL,    /* truth */
    LZG_TERM_NONE,    /* */
    LZG_TERM_CONST,   /* text: the name of a constant that is no number: float32, contiguous_format, ... */
    LZG_TERM_VAR,     /* integer: the slot; an optional one may be known not to be None */
    LZG_TERM_CALL,    /* function; kids: its arguments, none left out */
    LZG_TERM_OP,      /* op; kids: operands that are no tensors */
    LZG_TERM_PRIM,    /* prim; kids: its arguments */
    LZG_TERM_COND,    /* kids: condition, then, else */
    LZG_TERM_TUPLE,   /* kids */
    LZG_TERM_GET,     /* integer; kids: the tuple */
    LZG_TERM_LIST,    /* kids */
    LZG_TERM_MAP,     /* slots: variable; kids: body, list, filter or NULL */
    LZG_TERM_FOLD,    /* slots: state, variable; kids: start values, list, next values */
    LZG_TERM_LOOP,    /* slots: state; integer: bound; kids: start values, condition, next values */
    LZG_TERM_LET,     /* slots: one, or several of a tuple; kids: value, rest */
    LZG_TERM_CHECK,   /* kids: condition, rest, parts of the message */
    LZG_TERM_CONVERT, /* to its type; kids: the value */
    LZG_TERM_COUNT
} lzg_term_kind;

typedef struct lzg_term lzg_term;
struct lzg_term {
    lzg_term_kind kind;
    lzg_op op;
    lzg_prim prim;
    bool truth;
    bool dynamic; /* a number whose value is not known before the run */
    const lzg_fty *type;
    lz_loc loc;
    const lzg_function *function;
    lz_str text;
    int64_t integer;
    double real;
    const lzg_term *const *kids;
    size_t nkids;
    const uint32_t *slots;
    size_t nslots;
};

/* The contents of a slot. */
typedef struct lzg_slot {
    lz_str name;
    lz_loc loc;
    const lzg_fty *type;
    bool dynamic;
} lzg_slot;

typedef struct lzg_checked {
    const lzg_term *root;
    const lzg_slot *slots; /* the given names in their order, then the formula's own */
    size_t nslots, ngiven;
} lzg_checked;

/* For tests and messages: (add.Tensor (var x) (convert Tensor (int 1)) ...). */
void lzg_term_print(const lzg_term *t, lz_text *out);

#endif
