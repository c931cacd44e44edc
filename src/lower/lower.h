/* lower.h - the lowered DAG: what operators are made of, and how it is built.
 *
 * A node is one primitive applied to nodes made before it. Nodes are hash-consed and
 * immutable, belong to the builder's arena, and know their dtype and sizes, which are
 * plain numbers. Nothing here computes elements.
 *
 * An operator is lowered by a function of one form, lz_lower_fn: generated from its
 * formula, or written by hand for a primitive. It gets the arguments of the schema in
 * order, none left out, and gives the results. A builder that only wants shapes makes
 * nodes without inputs; the same functions are then shape functions.
 *
 * Inside an operator, f16 and bf16 are carried in f32: a value has a dtype of its own
 * beside that of its node. lz_low_call, which is how an operator is called from outside,
 * rounds the results. */
#ifndef LZ_LOWER_LOWER_H
#define LZ_LOWER_LOWER_H

#include "base/arena.h"
#include "base/err.h"
#include "base/text.h"
#include "jit/kernel.h"
#include <lazuli/value.h>

/* ---- nodes ---- */

typedef enum lz_lkind {
    LZ_L_INPUT,   /* a tensor from outside; attr lz_linput */
    LZ_L_SCALAR,  /* a number from outside, without dimensions; attr lz_lscalar */
    LZ_L_CONST,   /* a number without dimensions (op: 1 if sizes tell it); attr lz_scalar */
    LZ_L_IOTA,    /* i64: offset + strides * index; attr lz_liota */
    LZ_L_MAP,     /* a scalar operation (op: lz_kop); inputs have its sizes */
    LZ_L_CAST,    /* to dtype */
    LZ_L_PHILOX,  /* i64 word (op: 0..3) of seed, stream, index; as lz_kb_philox */
    LZ_L_CHECK,   /* an i64 index, found to be below a size; attr lz_lcheck */
    LZ_L_INDEX,   /* out[i] = in[map * i + offset], or fill (input 1) out of bounds; attr lz_lindex */
    LZ_L_RESHAPE, /* the same elements in row-major order */
    LZ_L_REDUCE,  /* over some dimensions, which are gone (op: lz_kreduce); attr lz_lreduce */
    LZ_L_SCAN,    /* along a dimension (op: lz_kreduce); attr lz_ldim */
    LZ_L_GATHER,  /* out[i] = in[i with i[dim] replaced by index[i]]; inputs: data, index; attr lz_ldim */
    LZ_L_CAT,     /* one behind the other; attr lz_ldim */
    LZ_L_UPDATE,  /* inputs: base, part, perhaps a start (LZ_L_SCALAR, i64); base with the elements that a
                     view of it shows replaced; attr lz_lupdate */
    LZ_L_CALL,    /* a kernel that does not fuse (op: lz_lcall_op); attr: its int64_t parameters */
    LZ_L_BUFFER,  /* only in fused programs read from text: what a launch writes; attr lz_lscalar */
    LZ_L_KINDS
} lz_lkind;

/* What LZ_L_CALL calls. Inputs; parameters. */
typedef enum lz_lcall_op {
    LZ_CALL_MATMUL, /* a [b, m, k], b [b, k, n] */
    LZ_CALL_CONV,   /* x [n, c, ...], w [o, c / groups, ...]; d, stride[d], padding[d], dilation[d], groups */
    LZ_CALL_CONV_INPUT,  /* the gradient for x: gy, w; the same and the sizes of x behind */
    LZ_CALL_CONV_WEIGHT, /* the gradient for w: gy, x; the same and the sizes of w behind */
    LZ_CALL_POOL_MAX,    /* x: the greatest of each window; kernel[2], stride[2], padding[2], dilation[2] */
    LZ_CALL_POOL_AT,     /* x: i64, where in its plane that lies; the same */
    LZ_CALL_SORT,        /* x: i64 indices in order along the last dimension, stable; descending */
    LZ_CALL_TOPK,        /* x: i64 indices of the k first along the last dimension; k, largest, sorted */
    LZ_CALL_RANK,        /* x: i64 index of the element of that rank along the last dimension; rank */
    LZ_CALL_SEARCH,      /* sequence [..., n], values [..., m]: i64 positions; right */
    LZ_CALL_CONTAINS,    /* elements, set: bool, whether an element is in the set */
    LZ_CALL_COUNT,       /* numbers, i64: i64, how often each occurs; whether to check them, the dim named */
    LZ_CALL_SCATTER,     /* base, index, source: lz_lscatter; mode, dim, check, dim of the message, wrap */
    LZ_CALLS
} lz_lcall_op;

typedef enum lz_lscatter {
    LZ_SCATTER_SET, /* of several the last in row-major order wins */
    LZ_SCATTER_ADD, /* all of them are combined in row-major order */
    LZ_SCATTER_MUL,
    LZ_SCATTER_MIN,
    LZ_SCATTER_MAX,
    LZ_SCATTERS
} lz_lscatter;

typedef struct lz_ln lz_ln;
struct lz_ln {
    uint8_t kind; /* lz_lkind */
    uint8_t ndim; /* up to 64 */
    int8_t dtype; /* lz_dtype */
    bool number;  /* a number of the language: yields to tensors in promotion */
    uint16_t op, nin;
    uint32_t id;     /* inputs have smaller ones */
    uint32_t origin; /* lz_lower.origin when it was made */
    uint32_t attr_size;
    int64_t numel;
    uint64_t hash;
    const int64_t *sizes;
    const void *attr;
    const lz_ln *in[];
};

typedef struct lz_linput {
    int64_t slot, offset; /* in elements */
    int64_t strides[];    /* ndim of them */
} lz_linput;

typedef struct lz_lscalar {
    int64_t slot; /* of run-time numbers; dtype is bool, i64 or f64 */
} lz_lscalar;

typedef struct lz_liota {
    int64_t offset;
    int64_t strides[];
} lz_liota;

typedef struct lz_lcheck {
    int64_t size; /* 0 <= index < size, or with wrap -size <= index, which then counts from the end */
    int64_t dim;  /* for the message */
    int64_t wrap;
    char rule[]; /* the whole message, if this is no index; else "" */
} lz_lcheck;

typedef struct lz_lindex {
    uint64_t bounded; /* input dimensions along which the index may be out of range */
    int64_t v[];      /* offset[in.ndim], then map[in.ndim][ndim] */
} lz_lindex;

typedef struct lz_lreduce {
    uint64_t dims;
} lz_lreduce;

typedef struct lz_ldim {
    int64_t dim;
} lz_ldim;

typedef struct lz_lupdate {
    int64_t offset;    /* of the view into base, which counts as row-major */
    int64_t strides[]; /* one for each dimension of the part; behind them, with a start: how many elements
                          of base one step of the start is */
} lz_lupdate;

static inline lz_ints lz_ln_sizes(const lz_ln *n)
{
    return (lz_ints){ n->sizes, n->ndim };
}

/* ---- values: what operators take and give ---- */

typedef enum lz_lv_kind {
    LZ_LV_NONE,
    LZ_LV_TENSOR, /* node, dtype */
    LZ_LV_NUMBER, /* number; with a node its value is known at run time only, and only the kind counts */
    LZ_LV_STR,
    LZ_LV_DTYPE,
    LZ_LV_DEVICE,
    LZ_LV_LAYOUT,
    LZ_LV_MEMORY_FORMAT,
    LZ_LV_GENERATOR, /* its number in generator.i */
    LZ_LV_LIST,      /* of any of these; Tensor?[] has NONE items */
    LZ_LV_KINDS
} lz_lv_kind;

typedef struct lz_lv lz_lv;
struct lz_lv {
    lz_lv_kind kind;
    bool sized;        /* NUMBER: found from sizes, so it is an argument of kernels and no part of them */
    lz_dtype dtype;    /* TENSOR: what the user sees; DTYPE: itself */
    const lz_ln *node; /* TENSOR; NUMBER: see there */
    union {
        lz_scalar number;
        lz_str str;
        lz_device device;
        lz_layout layout;
        lz_memory_format memory_format;
        struct {
            const lz_lv *items;
            size_t n;
        } list;
    };
};

static inline lz_lv lz_lv_none(void)
{
    return (lz_lv){ .kind = LZ_LV_NONE };
}
static inline lz_lv lz_lv_number(lz_scalar v)
{
    return (lz_lv){ .kind = LZ_LV_NUMBER, .number = v };
}
/* What a formula has computed, not what stands in it. */
static inline lz_lv lz_lv_sized(lz_scalar v)
{
    return (lz_lv){ .kind = LZ_LV_NUMBER, .sized = true, .number = v };
}
static inline lz_lv lz_lv_int(int64_t v)
{
    return lz_lv_number(lz_scalar_int(v));
}
static inline lz_lv lz_lv_float(double v)
{
    return lz_lv_number(lz_scalar_float(v));
}
static inline lz_lv lz_lv_bool(bool v)
{
    return lz_lv_number(lz_scalar_bool(v));
}
static inline lz_lv lz_lv_str(lz_str v)
{
    return (lz_lv){ .kind = LZ_LV_STR, .str = v };
}
static inline lz_lv lz_lv_dtype(lz_dtype v)
{
    return (lz_lv){ .kind = v == LZ_DTYPE_NONE ? LZ_LV_NONE : LZ_LV_DTYPE, .dtype = v };
}
static inline lz_lv lz_lv_device(lz_device v)
{
    return (lz_lv){ .kind = v.type < 0 ? LZ_LV_NONE : LZ_LV_DEVICE, .device = v };
}
static inline lz_lv lz_lv_layout(lz_layout v)
{
    return (lz_lv){ .kind = v == LZ_LAYOUT_NONE ? LZ_LV_NONE : LZ_LV_LAYOUT, .layout = v };
}
static inline lz_lv lz_lv_memory_format(lz_memory_format v)
{
    return (lz_lv){ .kind = v == LZ_MEMORY_FORMAT_NONE ? LZ_LV_NONE : LZ_LV_MEMORY_FORMAT,
                    .memory_format = v };
}
static inline lz_lv lz_lv_list(const lz_lv *items, size_t n)
{
    return (lz_lv){ .kind = LZ_LV_LIST, .list = { items, n } };
}
/* A tensor whose dtype is that of its node. */
static inline lz_lv lz_lv_tensor(const lz_ln *n)
{
    return (lz_lv){ .kind = LZ_LV_TENSOR, .dtype = (lz_dtype)n->dtype, .node = n };
}

static inline bool lz_lv_is_none(const lz_lv *v)
{
    return v->kind == LZ_LV_NONE;
}
static inline bool lz_lv_is_tensor(const lz_lv *v)
{
    return v->kind == LZ_LV_TENSOR;
}
static inline lz_ints lz_lv_sizes(const lz_lv *tensor)
{
    return lz_ln_sizes(tensor->node);
}
static inline int64_t lz_lv_ndim(const lz_lv *tensor)
{
    return tensor->node->ndim;
}
static inline int64_t lz_lv_numel(const lz_lv *tensor)
{
    return tensor->node->numel;
}

/* ---- the builder ---- */

typedef struct lz_lower lz_lower;
typedef lz_err *lz_lower_fn(lz_lower *b, const lz_lv *args, lz_lv *results);

/* Someone who can compute a value now: for operators whose sizes depend on elements.
 * Gives an input node that holds the elements found. */
/* Someone who calls the operators that formulas call in a way of his own: records them, say. */
typedef lz_err *lz_lower_apply_fn(lz_lower *b, uint16_t op, const lz_lv *args, lz_lv *results);
typedef lz_err *lz_lower_nonzero_fn(void *user, lz_lower *b, const lz_ln *x, const lz_ln **out);
/* Someone who moves inputs when a plan runs: *out is a new input slot. Its memory is that of `slot`,
 * from so many bytes times the run-time number in slot `number` on. */
typedef lz_err *lz_lower_move_fn(lz_lower *b, int64_t slot, int64_t number, int64_t bytes, int64_t *out);

struct lz_lower {
    lz_arena *arena;        /* borrowed */
    bool shape_only;        /* nodes have no inputs and are not shared */
    lz_dtype default_float; /* LZ_F32 unless the user chose */
    uint32_t origin;        /* the caller's number of what is being lowered */
    uint32_t n_nodes;       /* made so far */
    uint64_t next_stream;   /* of the next random operator */
    const lz_ln *seed;      /* i64 scalar node for random operators, or NULL */
    const lz_ln *stream;    /* i64 scalar node that every stream is counted from, or NULL */
    lz_lower_nonzero_fn *nonzero;
    lz_lower_apply_fn *apply;      /* or NULL: operators are lowered */
    lz_lower_move_fn *move;        /* or NULL: where a view begins has to be known */
    void *user;                    /* of these three */
    lz_ints expected;              /* the sizes that the result has, where the caller knows them; n -1: not */
    const struct lz_guard *guards; /* the last one first; of the arena */
    const lz_ln **nodes;           /* [n_nodes], by id */
    size_t nodes_cap;
    const lz_ln **table; /* open addressing */
    size_t table_cap, table_used;
};

void lz_low_init(lz_lower *b, lz_arena *arena);
void lz_low_deinit(lz_lower *b); /* the arena stays */

/* Calls an operator from outside: carries f16 and bf16 arguments in f32, and rounds the
 * results. */
LZ_MUST_USE
lz_err *lz_low_call(lz_lower *b, lz_lower_fn *fn, const lz_lv *args, size_t nargs, lz_lv *results, size_t n);
/* Rounds: the node gets the value's dtype. */
LZ_MUST_USE lz_err *lz_low_round(lz_lower *b, lz_lv *v);

/* ---- the language of formulas ---- */

/* C operators and functions, of numbers and, in inner expressions, of elements. */
#define LZ_LOPS(X)                                                                                           \
    X(ADD, "+", 2)                                                                                           \
    X(SUB, "-", 2)                                                                                           \
    X(MUL, "*", 2)                                                                                           \
    X(DIV, "/", 2)                                                                                           \
    X(FLOORDIV, "//", 2)                                                                                     \
    X(MOD, "%", 2)                                                                                           \
    X(POW, "**", 2)                                                                                          \
    X(EQ, "==", 2)                                                                                           \
    X(NE, "!=", 2)                                                                                           \
    X(LT, "<", 2)                                                                                            \
    X(LE, "<=", 2)                                                                                           \
    X(GT, ">", 2)                                                                                            \
    X(GE, ">=", 2)                                                                                           \
    X(BITAND, "&", 2)                                                                                        \
    X(BITOR, "|", 2)                                                                                         \
    X(BITXOR, "^", 2)                                                                                        \
    X(SHL, "<<", 2)                                                                                          \
    X(SHR, ">>", 2)                                                                                          \
    X(AND, "&&", 2)                                                                                          \
    X(OR, "||", 2)                                                                                           \
    X(NEG, "neg", 1)                                                                                         \
    X(NOT, "!", 1)                                                                                           \
    X(BITNOT, "~", 1)                                                                                        \
    X(ABS, "abs", 1)                                                                                         \
    X(FLOOR, "floor", 1)                                                                                     \
    X(CEIL, "ceil", 1)                                                                                       \
    X(TRUNC, "trunc", 1)                                                                                     \
    X(ROUND, "round", 1)                                                                                     \
    X(MIN, "min", 2)                                                                                         \
    X(MAX, "max", 2)                                                                                         \
    X(FMOD, "fmod", 2)                                                                                       \
    X(SQRT, "sqrt", 1)                                                                                       \
    X(EXP, "exp", 1)                                                                                         \
    X(EXP2, "exp2", 1)                                                                                       \
    X(EXPM1, "expm1", 1)                                                                                     \
    X(LOG, "log", 1)                                                                                         \
    X(LOG1P, "log1p", 1)                                                                                     \
    X(LOG2, "log2", 1)                                                                                       \
    X(LOG10, "log10", 1)                                                                                     \
    X(SIN, "sin", 1)                                                                                         \
    X(COS, "cos", 1)                                                                                         \
    X(TAN, "tan", 1)                                                                                         \
    X(ASIN, "asin", 1)                                                                                       \
    X(ACOS, "acos", 1)                                                                                       \
    X(ATAN, "atan", 1)                                                                                       \
    X(ATAN2, "atan2", 2)                                                                                     \
    X(SINH, "sinh", 1)                                                                                       \
    X(COSH, "cosh", 1)                                                                                       \
    X(TANH, "tanh", 1)                                                                                       \
    X(ASINH, "asinh", 1)                                                                                     \
    X(ACOSH, "acosh", 1)                                                                                     \
    X(ATANH, "atanh", 1)                                                                                     \
    X(ERF, "erf", 1)                                                                                         \
    X(ERFC, "erfc", 1)                                                                                       \
    X(ERFINV, "erfinv", 1)                                                                                   \
    X(NORMAL_CDF, "normal_cdf", 1)                                                                           \
    X(LGAMMA, "lgamma", 1)                                                                                   \
    X(DIGAMMA, "digamma", 1)                                                                                 \
    X(SELECT, "?:", 3)

typedef enum lz_lop {
#define X(name, text, n) LZ_LOP_##name,
    LZ_LOPS(X)
#undef X
        LZ_LOPS_COUNT
} lz_lop;

/* One of them, on numbers (the result is known now if all arguments are) or on elements
 * of one dtype; a number among elements is converted to their dtype. */
LZ_MUST_USE lz_err *lz_low_op(lz_lower *b, lz_lop op, const lz_lv *args, lz_lv *out);
/* c0 + x * (c1 + x * (c2 ...)); of a tensor with the operators of tensors. */
LZ_MUST_USE lz_err *lz_low_poly(lz_lower *b, const lz_lv *x, const lz_lv *coefficients, lz_lv *out);
/* cast(x, dtype): a tensor, an element or a number. */
LZ_MUST_USE lz_err *lz_low_cast_to(lz_lower *b, const lz_lv *x, lz_dtype to, lz_lv *out);
LZ_MUST_USE lz_err *lz_low_bitcast(lz_lower *b, const lz_lv *x, lz_dtype to, lz_lv *out); /* elements */
/* A number becomes a tensor without dimensions, a "wrapped number". */
LZ_MUST_USE lz_err *lz_low_wrap(lz_lower *b, const lz_lv *number, lz_lv *out);
/* A number of another kind: of a Scalar parameter given a bool, of a float given an int. */
LZ_MUST_USE lz_err *lz_low_convert(lz_lower *b, const lz_lv *number, lz_scalar_kind to, lz_lv *out);

/* Rules of inner expressions (docs/formulas.md). */
typedef enum lz_inner_rule {
    LZ_INNER_POINTWISE,
    LZ_INNER_FLOAT,
    LZ_INNER_INT,
    LZ_INNER_NUMBER, /* no operand is bool */
    LZ_INNER_PREDICATE,
    LZ_INNER_SELECT, /* the first tensor is the condition */
    LZ_INNER_RULES
} lz_inner_rule;

typedef struct lz_inner {
    lz_dtype type;    /* T, as the user sees it */
    lz_dtype compute; /* what elements are computed in */
    lz_dtype result;
    lz_ints sizes;
} lz_inner;

/* Turns arguments into elements: tensors and numbers are converted to T and broadcast;
 * the rest is left as it is. `name` is for messages. */
LZ_MUST_USE lz_err *lz_inner_begin(lz_lower *b, const char *name, lz_inner_rule rule, const lz_lv *args,
                                   size_t n, lz_lv *elements, lz_inner *out);
/* The tensor that one element's value stands for. */
LZ_MUST_USE lz_err *lz_inner_end(lz_lower *b, const lz_inner *in, const lz_lv *value, lz_lv *out);

/* Known values; LZ_ERR_INTERNAL for a run-time number, LZ_ERR_ARG for another kind. */
LZ_MUST_USE lz_err *lz_lv_get_int(const lz_lv *v, int64_t *out);
LZ_MUST_USE lz_err *lz_lv_get_bool(const lz_lv *v, bool *out);
LZ_MUST_USE lz_err *lz_lv_get_double(const lz_lv *v, double *out);
LZ_MUST_USE lz_err *lz_lv_get_ints(lz_lower *b, const lz_lv *list, lz_ints *out);

/* The dtype of a number: bool, i64, f64, c128. */
lz_dtype lz_lv_number_dtype(const lz_lv *v);

typedef enum lz_dtype_attr {
    LZ_DTYPE_IS_FLOATING_POINT,
    LZ_DTYPE_IS_COMPLEX,
    LZ_DTYPE_IS_INTEGRAL, /* without bool */
    LZ_DTYPE_IS_SIGNED,
    LZ_DTYPE_ITEMSIZE,
    LZ_DTYPE_MIN,
    LZ_DTYPE_MAX,
    LZ_DTYPE_EPS,
    LZ_DTYPE_ATTRS
} lz_dtype_attr;
lz_lv lz_low_dtype_attr(lz_dtype d, lz_dtype_attr attr);
lz_dtype lz_low_opmath(lz_dtype d);
/* Of tensors, numbers, dtypes, lists of them. */
LZ_MUST_USE lz_err *lz_low_result_type(lz_lower *b, const lz_lv *args, size_t n, lz_dtype *out);

/* Lists; new ones belong to the arena. */
LZ_MUST_USE lz_err *lz_low_list(lz_lower *b, const lz_lv *items, size_t n, lz_lv *out); /* copies */
LZ_MUST_USE lz_err *lz_low_int_list(lz_lower *b, lz_ints v, lz_lv *out);
LZ_MUST_USE lz_err *lz_low_list_new(lz_lower *b, size_t n, lz_lv **items); /* zeroed: all NONE */
LZ_MUST_USE lz_err *lz_low_list_join(lz_lower *b, const lz_lv *x, const lz_lv *y, lz_lv *out);
LZ_MUST_USE lz_err *lz_low_list_repeat(lz_lower *b, const lz_lv *x, int64_t times, lz_lv *out);
LZ_MUST_USE lz_err *lz_low_list_get(const lz_lv *x, int64_t i, lz_lv *out); /* negative: from the end */
/* from and to may be NONE. */
LZ_MUST_USE lz_err *lz_low_list_slice(const lz_lv *x, const lz_lv *from, const lz_lv *to, lz_lv *out);
LZ_MUST_USE lz_err *lz_low_list_has(lz_lower *b, const lz_lv *x, const lz_lv *item, bool *out);
/* Of known values of any kind. */
LZ_MUST_USE lz_err *lz_lv_equal(lz_lower *b, const lz_lv *x, const lz_lv *y, bool *out);
LZ_MUST_USE lz_err *lz_low_range(lz_lower *b, int64_t from, int64_t to, int64_t step, lz_lv *out);
LZ_MUST_USE lz_err *lz_low_shape(lz_lower *b, const lz_lv *tensor, lz_lv *out);
LZ_MUST_USE lz_err *lz_low_wrap_dim(int64_t dim, int64_t ndim, int64_t *out);
LZ_MUST_USE lz_err *lz_low_wrap_dims(lz_lower *b, const lz_lv *dims, int64_t ndim, lz_lv *out);
/* The sums of the first 0, 1, ... and of all items of a list of ints. */
LZ_MUST_USE lz_err *lz_low_sums(lz_lower *b, const lz_lv *list, lz_lv *out);
LZ_MUST_USE lz_err *lz_low_broadcast_shapes(lz_lower *b, const lz_lv *shapes, size_t n, lz_lv *out);

/* A check: the error of the message if the condition is false; if it is known at run time
 * only, plans check it before they run (guard.h). */
LZ_MUST_USE lz_err *lz_low_require(lz_lower *b, const lz_lv *condition, const lz_lv *parts, size_t n);
/* A number that is to be an element of dtype d: refused, now or when it runs, if it does not fit. */
LZ_MUST_USE lz_err *lz_low_require_fits(lz_lower *b, const lz_lv *number, lz_dtype d);
/* The error of a check: texts (LZ_LV_STR) and values one behind the other. */
LZ_MUST_USE lz_err *lz_low_message(const lz_lv *parts, size_t n);
void lz_lv_print(const lz_lv *v, lz_text *out);

/* ---- primitives: one node each, or a few ---- */

LZ_MUST_USE lz_err *lz_low_input(lz_lower *b, int64_t slot, lz_dtype d, lz_ints sizes, lz_ints strides,
                                 int64_t offset, const lz_ln **out);
LZ_MUST_USE lz_err *lz_low_scalar(lz_lower *b, int64_t slot, lz_dtype d, const lz_ln **out);
LZ_MUST_USE lz_err *lz_low_const(lz_lower *b, lz_scalar v, lz_dtype d, const lz_ln **out);
LZ_MUST_USE lz_err *lz_low_iota(lz_lower *b, lz_ints sizes, int64_t offset, lz_ints strides,
                                const lz_ln **out);
/* Inputs have one shape and the operation's dtypes; lz_kop says which the result has. */
LZ_MUST_USE lz_err *lz_low_map(lz_lower *b, lz_kop op, const lz_ln *const *in, const lz_ln **out);
LZ_MUST_USE lz_err *lz_low_cast(lz_lower *b, const lz_ln *x, lz_dtype to, const lz_ln **out);
LZ_MUST_USE lz_err *lz_low_philox(lz_lower *b, int word, const lz_ln *seed, const lz_ln *stream,
                                  const lz_ln *index, const lz_ln **out);
LZ_MUST_USE lz_err *lz_low_check_index(lz_lower *b, const lz_ln *index, int64_t size, int64_t dim, bool wrap,
                                       const lz_ln **out);
/* x, whose run fails with the message `rule` where the condition, of bool and of the sizes of x, is false. */
LZ_MUST_USE lz_err *lz_low_check_rule(lz_lower *b, const lz_ln *condition, lz_str rule, const lz_ln *x,
                                      const lz_ln **out);
/* What lz_low_check_index was given, in the same views, and how it is checked; NULL: it is not. */
LZ_MUST_USE lz_err *lz_low_unchecked(lz_lower *b, const lz_ln *index, const lz_ln **out,
                                     const lz_lcheck **check);

/* map: x.ndim rows of sizes.n numbers. fill (without dimensions, x's dtype) may be NULL
 * if nothing is bounded. */
LZ_MUST_USE lz_err *lz_low_index(lz_lower *b, const lz_ln *x, lz_ints sizes, const int64_t *map,
                                 const int64_t *offset, uint64_t bounded, const lz_ln *fill,
                                 const lz_ln **out);
/* The elements of x in a buffer of their own, where one is asked for. */
LZ_MUST_USE lz_err *lz_low_copy(lz_lower *b, const lz_ln *x, const lz_ln **out);
LZ_MUST_USE lz_err *lz_low_reshape(lz_lower *b, const lz_ln *x, lz_ints sizes, const lz_ln **out);
LZ_MUST_USE lz_err *lz_low_expand(lz_lower *b, const lz_ln *x, lz_ints sizes, const lz_ln **out);
LZ_MUST_USE lz_err *lz_low_permute(lz_lower *b, const lz_ln *x, const int64_t *dims, const lz_ln **out);
/* out[i] = x[start + step * i] along a dimension. */
LZ_MUST_USE lz_err *lz_low_slice(lz_lower *b, const lz_ln *x, int64_t dim, int64_t start, int64_t step,
                                 int64_t size, const lz_ln **out);
LZ_MUST_USE lz_err *lz_low_select(lz_lower *b, const lz_ln *x, int64_t dim, int64_t index, const lz_ln **out);
/* `size` elements along a dimension, from a run-time number on (LZ_L_SCALAR, i64). Plans check that they
 * lie within x. Of an input it is an input (b->move), of anything else a gather. */
LZ_MUST_USE lz_err *lz_low_window(lz_lower *b, const lz_ln *x, int64_t dim, const lz_ln *start, int64_t size,
                                  const lz_ln **out);
LZ_MUST_USE lz_err *lz_low_unsqueeze(lz_lower *b, const lz_ln *x, int64_t dim, const lz_ln **out);
/* before[d] elements of fill in front, sizes in all. */
LZ_MUST_USE lz_err *lz_low_pad(lz_lower *b, const lz_ln *x, const int64_t *before, lz_ints sizes,
                               const lz_ln *fill, const lz_ln **out);

LZ_MUST_USE lz_err *lz_low_reduce(lz_lower *b, lz_kreduce op, const lz_ln *x, uint64_t dims, bool keep,
                                  const lz_ln **out);
LZ_MUST_USE lz_err *lz_low_scan(lz_lower *b, lz_kreduce op, const lz_ln *x, int64_t dim, const lz_ln **out);
/* index is i64 and within bounds (lz_low_check_index); equal sizes but along dim. */
LZ_MUST_USE lz_err *lz_low_gather(lz_lower *b, const lz_ln *data, const lz_ln *index, int64_t dim,
                                  const lz_ln **out);
LZ_MUST_USE lz_err *lz_low_cat(lz_lower *b, const lz_ln *const *in, size_t n, int64_t dim, const lz_ln **out);
LZ_MUST_USE lz_err *lz_low_update(lz_lower *b, const lz_ln *base, const lz_ln *part, int64_t offset,
                                  const int64_t *strides, const lz_ln **out);
/* The same, `step` elements times a run-time number further on. Plans check 0 <= start <= most. */
LZ_MUST_USE lz_err *lz_low_update_from(lz_lower *b, const lz_ln *base, const lz_ln *part, const lz_ln *start,
                                       int64_t most, int64_t step, const int64_t *strides, const lz_ln **out);
LZ_MUST_USE lz_err *lz_low_scatter(lz_lower *b, lz_lscatter mode, const lz_ln *base, int64_t dim,
                                   const lz_ln *index, const lz_ln *source, const lz_ln **out);
LZ_MUST_USE lz_err *lz_low_matmul(lz_lower *b, const lz_ln *x, const lz_ln *y, const lz_ln **out);
/* Any other kernel; sizes are the result's. */
LZ_MUST_USE lz_err *lz_low_kernel(lz_lower *b, lz_lcall_op op, const lz_ln *const *in, size_t n, lz_dtype d,
                                  lz_ints sizes, const int64_t *params, size_t nparams, const lz_ln **out);

#endif
