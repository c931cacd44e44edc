/* lower.h - the lowered DAG: the primitives that operators are made of, and the builder.
 *
 * A node is one primitive, applied to earlier nodes. Nodes are hash-consed and immutable, and belong to
 * the builder's arena. Dtype and sizes of a node are plain numbers. Nothing here computes elements.
 *
 * An operator is lowered by a function of type lz_lower_fn: generated from its formula, or written by hand
 * for a primitive. The function gets all arguments of the schema in order, and returns the results. A
 * builder that only wants shapes makes nodes without inputs; the same functions then infer shapes.
 *
 * Within an operator, f16 and bf16 are computed in f32: the dtype of a value may differ from that of its
 * node. lz_low_call, which calls an operator from outside, rounds the results. */
#ifndef LZ_LOWER_LOWER_H
#define LZ_LOWER_LOWER_H

#include "base/arena.h"
#include "base/hash_table.h"
#include "base/text.h"
#include "jit/kernel.h"
#include <lazuli/value.h>

/* ---- nodes ---- */

typedef enum lz_low_kind {
    LZ_LOW_INPUT,  /* an input tensor; attr lz_low_input_attr */
    LZ_LOW_SCALAR, /* a run-time number, without dimensions; attr lz_low_scalar_attr */
    LZ_LOW_CONST,  /* a number without dimensions (op: 1 if derived from sizes); attr lz_scalar */
    LZ_LOW_IOTA,   /* i64: offset + strides * index; attr lz_low_iota_attr */
    LZ_LOW_MAP,    /* a scalar operation (op: lz_kernel_op); inputs have the sizes of the node */
    LZ_LOW_CAST,   /* converts to the node's dtype */
    LZ_LOW_PHILOX, /* i64 word (op: 0..3) of seed, stream, index; see lz_kernel_build_philox */
    LZ_LOW_CHECK,  /* an i64 index, checked against a size; attr lz_low_check_attr */
    LZ_LOW_INDEX, /* out[i] = in[map * i + offset], or fill (input 1) out of bounds; attr lz_low_index_attr */
    LZ_LOW_RESHAPE, /* the same elements in row-major order */
    LZ_LOW_REDUCE,  /* over some dimensions, which are removed (op: lz_kernel_reduction); attr
                       lz_low_reduce_attr */
    LZ_LOW_SCAN,    /* along a dimension (op: lz_kernel_reduction); attr lz_low_dim_attr */
    LZ_LOW_GATHER,  /* out[i] = in[i with i[dim] replaced by index[i]]; inputs: data, index; attr
                       lz_low_dim_attr */
    LZ_LOW_CAT,     /* concatenation along a dimension; attr lz_low_dim_attr */
    LZ_LOW_UPDATE,  /* inputs: base, part, optionally a start (LZ_LOW_SCALAR, i64). The base with the elements
                       of a strided view replaced by the part; attr lz_low_update_attr */
    LZ_LOW_CALL,    /* a kernel that does not fuse (op: lz_low_call_op); attr: its int64_t parameters */
    LZ_LOW_BUFFER,  /* only in fused programs read from text: a buffer that launches write; attr
                       lz_low_scalar_attr */
    LZ_LOW_KINDS
} lz_low_kind;

/* The kernels of LZ_LOW_CALL, with inputs; parameters. */
typedef enum lz_low_call_op {
    LZ_CALL_MATMUL, /* a [b, m, k], b [b, k, n] */
    LZ_CALL_CONV,   /* x [n, c, ...], w [o, c / groups, ...]; d, stride[d], padding[d], dilation[d], groups */
    LZ_CALL_CONV_INPUT,  /* gradient for x: gy, w; the parameters of CONV, then the sizes of x */
    LZ_CALL_CONV_WEIGHT, /* gradient for w: gy, x; the parameters of CONV, then the sizes of w */
    LZ_CALL_POOL_MAX,    /* x: maximum of each window; kernel[2], stride[2], padding[2], dilation[2] */
    LZ_CALL_POOL_AT,     /* x: i64 position of that maximum in its plane; the parameters of POOL_MAX */
    LZ_CALL_SORT,        /* x: i64 indices that sort the last dimension, stable; descending */
    LZ_CALL_TOPK,        /* x: i64 indices of the k first along the last dimension; k, largest, sorted */
    LZ_CALL_RANK,        /* x: i64 index of the element with this rank along the last dimension; rank */
    LZ_CALL_SEARCH,      /* sequence [..., n], values [..., m]: i64 positions; right */
    LZ_CALL_CONTAINS,    /* elements, set: bool, whether an element is in the set */
    LZ_CALL_DRAW,        /* i64 keys, f64 a, f64 b: f64 draws; lz_distribution */
    LZ_CALL_COUNT, /* i64 numbers: i64 count of each number; whether to check the numbers, dim for the message
                    */
    LZ_CALL_SCATTER,   /* base, index, source: see lz_low_scatter_mode; mode, dim, check, dim for the message,
                          wrap */
    LZ_CALL_MATRICES,  /* matrices, and what belongs to them: core/matrix_routine.h; its parameters */
    LZ_CALL_BESIDE,    /* a node of MATRICES: another of its results; bytes from the first result on */
    LZ_CALL_ATTENTION, /* q, k, v, scale, perhaps mask: results, maxima and sums of the rows (kernels.h);
                          causal, number of inputs */
    LZ_CALL_ATTENTION_BACKWARD, /* gradient, q, k, v, lse, delta, scale, perhaps mask: gradients for q, k, v;
                                   causal, number of inputs, ranges */
    LZ_CALL_RECUR, /* gates of the input, weight and bias of the state, states, i64 batch sizes: what is
                      saved, states (kernels.h); lz_cell_kind, reverse */
    LZ_CALL_RECUR_BACKWARD, /* gradient of output and states, what is saved, weight of the state, batch sizes:
                               gradients of gates and states; the parameters of RECUR */
    LZ_CALL_RECUR_LINEAR,   /* what is added to the states, weight, slopes, states, batch sizes: states at and
                               before each row, states (kernel/recurrent.h); the parameters of RECUR */
    LZ_CALL_RECUR_LINEAR_BACKWARD, /* gradients of these and of the states, slopes, weight, batch sizes, what
                               is added to gradients of gates: gradients of gates, of inputs, of states */
    LZ_CALL_SHUFFLE,               /* an i64 key []: a random permutation, i64 [n] */
    LZ_CALL_SUPPRESS,  /* boxes [n, 4] in the order of scores, f64 threshold []: bool, whether to keep each */
    LZ_CALL_ROI_ALIGN, /* images or the gradient of the result, regions, f64 scale []: rows, columns, samples,
                          aligned, whether it is the gradient (kernels.h) */
    LZ_CALL_CTC_ALPHA, /* log probabilities, targets, i64 lengths of inputs and targets: alpha (kernels.h);
                          blank */
    LZ_CALL_CTC_SLOPE, /* these, loss, alpha: gradient of the probabilities; blank */
    LZ_CALLS
} lz_low_call_op;

typedef enum lz_low_scatter_mode {
    LZ_SCATTER_SET, /* of several elements for one place, the last in row-major order wins */
    LZ_SCATTER_ADD, /* all elements for one place are combined in row-major order */
    LZ_SCATTER_MUL,
    LZ_SCATTER_MIN,
    LZ_SCATTER_MAX,
    LZ_SCATTERS
} lz_low_scatter_mode;

typedef struct lz_low_node lz_low_node;
struct lz_low_node {
    uint8_t kind; /* lz_low_kind */
    uint8_t ndim; /* at most 64 */
    int8_t dtype; /* lz_dtype */
    bool number;  /* a number of the formula language: tensors decide in promotion */
    uint16_t op, nin;
    uint32_t id;     /* greater than the ids of all inputs */
    uint32_t origin; /* lz_lower.origin when the node was made */
    uint32_t attr_size;
    int64_t numel;
    lz_hash_link link; /* in the builder's table */
    uint64_t hash;
    const int64_t *sizes;
    const void *attr;
    const lz_low_node *in[];
};

typedef struct lz_low_input_attr {
    int64_t slot, offset; /* in elements */
    int64_t strides[];    /* ndim strides */
} lz_low_input_attr;

typedef struct lz_low_scalar_attr {
    int64_t slot; /* of the run-time number; the node's dtype is bool, i64 or f64 */
} lz_low_scalar_attr;

typedef struct lz_low_iota_attr {
    int64_t offset;
    int64_t strides[];
} lz_low_iota_attr;

typedef struct lz_low_check_attr {
    int64_t size; /* 0 <= index < size; with wrap -size <= index < size, where negative numbers count from the
                     end */
    int64_t dim;  /* named in the message */
    int64_t wrap;
    char rule[]; /* the whole message of a check that is not for an index; else "" */
} lz_low_check_attr;

typedef struct lz_low_index_attr {
    uint64_t bounded; /* input dimensions along which the index may be out of range */
    int64_t v[];      /* offset[in.ndim], then map[in.ndim][ndim] */
} lz_low_index_attr;

typedef struct lz_low_reduce_attr {
    uint64_t dims;
} lz_low_reduce_attr;

typedef struct lz_low_dim_attr {
    int64_t dim;
} lz_low_dim_attr;

typedef struct lz_low_update_attr {
    int64_t offset;    /* of the part in base, which counts as row-major */
    int64_t strides[]; /* one per dimension of the part; with a start also, at the end, the elements of base
                          in one step of the start */
} lz_low_update_attr;

static inline lz_ints lz_low_node_sizes(const lz_low_node *n)
{
    return (lz_ints){ n->sizes, n->ndim };
}

/* ---- values: arguments and results of operators ---- */

typedef enum lz_low_value_kind {
    LZ_LOW_VALUE_NONE,
    LZ_LOW_VALUE_TENSOR, /* node, dtype */
    LZ_LOW_VALUE_NUMBER, /* number; with a node it is known only at run time, and here only its kind */
    LZ_LOW_VALUE_STR,
    LZ_LOW_VALUE_DTYPE,
    LZ_LOW_VALUE_DEVICE,
    LZ_LOW_VALUE_LAYOUT,
    LZ_LOW_VALUE_MEMORY_FORMAT,
    LZ_LOW_VALUE_GENERATOR, /* its index in generator.i */
    LZ_LOW_VALUE_LIST,      /* items of any of these kinds; Tensor?[] may have NONE items */
    LZ_LOW_VALUE_KINDS
} lz_low_value_kind;

typedef struct lz_low_value lz_low_value;
struct lz_low_value {
    lz_low_value_kind kind;
    bool sized;     /* NUMBER: computed from sizes, so kernels get it as an argument instead of a constant */
    lz_dtype dtype; /* TENSOR: the dtype that the user sees; DTYPE: the value itself */
    const lz_low_node *node; /* TENSOR: the node; NUMBER: see LZ_LOW_VALUE_NUMBER */
    union {
        lz_scalar number;
        lz_str str;
        lz_device device;
        lz_layout layout;
        lz_memory_format memory_format;
        struct {
            const lz_low_value *items;
            size_t n;
        } list;
    };
};

static inline lz_low_value lz_low_value_none(void)
{
    return (lz_low_value){ .kind = LZ_LOW_VALUE_NONE };
}
static inline lz_low_value lz_low_value_number(lz_scalar v)
{
    return (lz_low_value){ .kind = LZ_LOW_VALUE_NUMBER, .number = v };
}
/* A number that a formula computes from sizes, not a literal of the formula. */
static inline lz_low_value lz_low_value_sized(lz_scalar v)
{
    return (lz_low_value){ .kind = LZ_LOW_VALUE_NUMBER, .sized = true, .number = v };
}
static inline lz_low_value lz_low_value_int(int64_t v)
{
    return lz_low_value_number(lz_scalar_int(v));
}
static inline lz_low_value lz_low_value_float(double v)
{
    return lz_low_value_number(lz_scalar_float(v));
}
static inline lz_low_value lz_low_value_bool(bool v)
{
    return lz_low_value_number(lz_scalar_bool(v));
}
static inline lz_low_value lz_low_value_str(lz_str v)
{
    return (lz_low_value){ .kind = LZ_LOW_VALUE_STR, .str = v };
}
static inline lz_low_value lz_low_value_dtype(lz_dtype v)
{
    return (lz_low_value){ .kind = v == LZ_DTYPE_NONE ? LZ_LOW_VALUE_NONE : LZ_LOW_VALUE_DTYPE, .dtype = v };
}
static inline lz_low_value lz_low_value_device(lz_device v)
{
    return (lz_low_value){ .kind = v.type < 0 ? LZ_LOW_VALUE_NONE : LZ_LOW_VALUE_DEVICE, .device = v };
}
static inline lz_low_value lz_low_value_layout(lz_layout v)
{
    return (lz_low_value){ .kind = v == LZ_LAYOUT_NONE ? LZ_LOW_VALUE_NONE : LZ_LOW_VALUE_LAYOUT,
                           .layout = v };
}
static inline lz_low_value lz_low_value_memory_format(lz_memory_format v)
{
    return (lz_low_value){ .kind =
                               v == LZ_MEMORY_FORMAT_NONE ? LZ_LOW_VALUE_NONE : LZ_LOW_VALUE_MEMORY_FORMAT,
                           .memory_format = v };
}
static inline lz_low_value lz_low_value_list(const lz_low_value *items, size_t n)
{
    return (lz_low_value){ .kind = LZ_LOW_VALUE_LIST, .list = { items, n } };
}
/* A tensor whose dtype is that of its node. */
static inline lz_low_value lz_low_value_tensor(const lz_low_node *n)
{
    return (lz_low_value){ .kind = LZ_LOW_VALUE_TENSOR, .dtype = (lz_dtype)n->dtype, .node = n };
}

static inline bool lz_low_value_is_none(const lz_low_value *v)
{
    return v->kind == LZ_LOW_VALUE_NONE;
}
static inline bool lz_low_value_is_tensor(const lz_low_value *v)
{
    return v->kind == LZ_LOW_VALUE_TENSOR;
}
static inline lz_ints lz_low_value_sizes(const lz_low_value *tensor)
{
    return lz_low_node_sizes(tensor->node);
}
static inline int64_t lz_low_value_ndim(const lz_low_value *tensor)
{
    return tensor->node->ndim;
}
static inline int64_t lz_low_value_numel(const lz_low_value *tensor)
{
    return tensor->node->numel;
}

/* ---- the builder ---- */

typedef struct lz_lower lz_lower;
typedef lz_err *lz_lower_fn(lz_lower *b, const lz_low_value *args, lz_low_value *results);

/* Overrides how a formula's operator calls are executed. The recorder records them. */
typedef lz_err *lz_lower_apply_fn(lz_lower *b, uint16_t op, const lz_low_value *args, lz_low_value *results);
/* Computes x now, for operators whose sizes depend on elements. *out: an input node with the indices
 * found. */
typedef lz_err *lz_lower_nonzero_fn(void *user, lz_lower *b, const lz_low_node *x, const lz_low_node **out);
/* Adds an input slot, *out. Its memory in a run is that of `slot`, from `bytes` times the run-time number in
 * slot `number` on. */
typedef lz_err *lz_lower_move_fn(lz_lower *b, int64_t slot, int64_t number, int64_t bytes, int64_t *out);

struct lz_lower {
    lz_arena *arena;           /* borrowed */
    bool shape_only;           /* nodes have no inputs and are not shared */
    lz_dtype default_float;    /* LZ_F32 unless the user chose another dtype */
    uint32_t origin;           /* the caller's number of the node that is being lowered */
    uint32_t n_nodes;          /* made so far */
    uint64_t next_stream;      /* stream number of the next random operator */
    const lz_low_node *seed;   /* i64 scalar node, the seed of random operators; or NULL */
    const lz_low_node *stream; /* i64 scalar node that is added to every stream number; or NULL */
    lz_lower_nonzero_fn *nonzero;
    lz_lower_apply_fn *apply;      /* NULL: operators are lowered */
    lz_lower_move_fn *move;        /* NULL: offsets of views must be known */
    void *user;                    /* passed to nonzero, apply and move */
    lz_ints expected;              /* the sizes of the result if the caller knows them; n -1: unknown */
    const struct lz_guard *guards; /* the last one first; in the arena */
    const lz_low_node **nodes;     /* [n_nodes], by id */
    size_t nodes_cap;
    lz_hash_table table; /* hash table of the nodes */
};

void lz_low_init(lz_lower *b, lz_arena *arena);
void lz_low_deinit(lz_lower *b); /* frees everything except the arena */

/* Calls an operator: computes f16 and bf16 arguments in f32, and rounds the results. */
LZ_MUST_USE
lz_err *lz_low_call(lz_lower *b, lz_lower_fn *fn, const lz_low_value *args, size_t nargs,
                    lz_low_value *results, size_t n);
/* Rounds: converts the node to the value's dtype. */
LZ_MUST_USE lz_err *lz_low_round(lz_lower *b, lz_low_value *v);

/* ---- the language of formulas ---- */

/* C operators and functions. They take numbers and, in inner expressions, elements. */
#define LZ_LOW_OPERATORS(X)                                                                                  \
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
    X(ZETA, "zeta", 2)                                                                                       \
    X(IGAMMA, "igamma", 2)                                                                                   \
    X(IGAMMAC, "igammac", 2)                                                                                 \
    X(ORTHOGONAL, "orthogonal", 3)                                                                           \
    X(SELECT, "?:", 3)

typedef enum lz_low_operator {
#define X(name, text, n) LZ_LOW_OP_##name,
    LZ_LOW_OPERATORS(X)
#undef X
        LZ_LOPS_COUNT
} lz_low_operator;

/* Applies an operator. For numbers the result is known if all arguments are known. Elements must have one
 * dtype; a number among them is converted to that dtype. */
LZ_MUST_USE lz_err *lz_low_op(lz_lower *b, lz_low_operator op, const lz_low_value *args, lz_low_value *out);
/* c0 + x * (c1 + x * (c2 ...)). For a tensor x it is computed by operators. */
LZ_MUST_USE lz_err *lz_low_poly(lz_lower *b, const lz_low_value *x, const lz_low_value *coefficients,
                                lz_low_value *out);
/* cast(x, dtype) of a tensor, an element or a number. */
LZ_MUST_USE lz_err *lz_low_cast_to(lz_lower *b, const lz_low_value *x, lz_dtype to, lz_low_value *out);
LZ_MUST_USE lz_err *lz_low_bitcast(lz_lower *b, const lz_low_value *x, lz_dtype to,
                                   lz_low_value *out); /* elements */
/* Makes a tensor without dimensions from a number: a "wrapped number" in promotion. */
LZ_MUST_USE lz_err *lz_low_wrap(lz_lower *b, const lz_low_value *number, lz_low_value *out);
/* Converts a number to another kind, for a Scalar parameter given a bool or a float given an int. */
LZ_MUST_USE lz_err *lz_low_convert(lz_lower *b, const lz_low_value *number, lz_scalar_kind to,
                                   lz_low_value *out);

/* Rules of inner expressions (docs/formulas.md). */
typedef enum lz_inner_rule {
    LZ_INNER_POINTWISE,
    LZ_INNER_FLOAT,
    LZ_INNER_WIDE, /* as FLOAT, but not half precision */
    LZ_INNER_INT,
    LZ_INNER_NUMBER, /* no operand is bool */
    LZ_INNER_PREDICATE,
    LZ_INNER_SELECT, /* the first tensor is the condition */
    LZ_INNER_RULES
} lz_inner_rule;

typedef struct lz_inner {
    lz_dtype type;    /* T: the dtype that the user sees */
    lz_dtype compute; /* the dtype of the computation */
    lz_dtype result;
    lz_ints sizes;
} lz_inner;

/* Converts tensors and numbers to elements of T and broadcasts them. Other arguments stay unchanged.
 * `name` is for messages. */
LZ_MUST_USE lz_err *lz_inner_begin(lz_lower *b, const char *name, lz_inner_rule rule,
                                   const lz_low_value *args, size_t n, lz_low_value *elements, lz_inner *out);
/* Makes the tensor whose elements the expression has computed. */
LZ_MUST_USE lz_err *lz_inner_end(lz_lower *b, const lz_inner *in, const lz_low_value *value,
                                 lz_low_value *out);

/* LZ_ERR_NEEDS_VALUE: lowering needs the value of a run-time number. The caller may fix the number and
 * lower again. */
LZ_ERROR lz_err *lz_low_needs_value(void);
/* Known values. LZ_ERR_NEEDS_VALUE for a run-time number, LZ_ERR_ARG for another kind of value. */
LZ_MUST_USE lz_err *lz_low_value_get_int(const lz_low_value *v, int64_t *out);
LZ_MUST_USE lz_err *lz_low_value_get_bool(const lz_low_value *v, bool *out);
LZ_MUST_USE lz_err *lz_low_value_get_double(const lz_low_value *v, double *out);
LZ_MUST_USE lz_err *lz_low_value_get_ints(lz_lower *b, const lz_low_value *list, lz_ints *out);

/* bool, i64, f64 or c128. */
lz_dtype lz_low_value_number_dtype(const lz_low_value *v);

typedef enum lz_dtype_attr {
    LZ_DTYPE_IS_FLOATING_POINT,
    LZ_DTYPE_IS_COMPLEX,
    LZ_DTYPE_IS_INTEGRAL, /* bool does not count */
    LZ_DTYPE_IS_SIGNED,
    LZ_DTYPE_ITEMSIZE,
    LZ_DTYPE_MIN,
    LZ_DTYPE_MAX,
    LZ_DTYPE_EPS,
    LZ_DTYPE_ATTRS
} lz_dtype_attr;
lz_low_value lz_low_dtype_attr(lz_dtype d, lz_dtype_attr attr);
lz_dtype lz_low_opmath(lz_dtype d);
/* The result type of tensors, numbers, dtypes and lists of these. */
LZ_MUST_USE lz_err *lz_low_result_type(lz_lower *b, const lz_low_value *args, size_t n, lz_dtype *out);

/* New lists belong to the arena. */
LZ_MUST_USE lz_err *lz_low_list(lz_lower *b, const lz_low_value *items, size_t n,
                                lz_low_value *out); /* copies */
LZ_MUST_USE lz_err *lz_low_int_list(lz_lower *b, lz_ints v, lz_low_value *out);
LZ_MUST_USE lz_err *lz_low_list_new(lz_lower *b, size_t n, lz_low_value **items); /* all items are NONE */
LZ_MUST_USE lz_err *lz_low_list_join(lz_lower *b, const lz_low_value *x, const lz_low_value *y,
                                     lz_low_value *out);
LZ_MUST_USE lz_err *lz_low_list_repeat(lz_lower *b, const lz_low_value *x, int64_t times, lz_low_value *out);
LZ_MUST_USE lz_err *lz_low_list_get(const lz_low_value *x, int64_t i,
                                    lz_low_value *out); /* negative i counts from the end */
/* from and to may be NONE. */
LZ_MUST_USE lz_err *lz_low_list_slice(const lz_low_value *x, const lz_low_value *from, const lz_low_value *to,
                                      lz_low_value *out);
LZ_MUST_USE lz_err *lz_low_list_has(lz_lower *b, const lz_low_value *x, const lz_low_value *item, bool *out);
/* For known values of any kind. */
LZ_MUST_USE lz_err *lz_low_value_equal(lz_lower *b, const lz_low_value *x, const lz_low_value *y, bool *out);
LZ_MUST_USE lz_err *lz_low_range(lz_lower *b, int64_t from, int64_t to, int64_t step, lz_low_value *out);
LZ_MUST_USE lz_err *lz_low_shape(lz_lower *b, const lz_low_value *tensor, lz_low_value *out);
/* Of an argument of the operator; for any other tensor row-major ones. */
LZ_MUST_USE lz_err *lz_low_strides(lz_lower *b, const lz_low_value *tensor, lz_low_value *out);
/* The one element of a tensor as a number that only a run knows. */
LZ_MUST_USE lz_err *lz_low_element(lz_lower *b, const lz_low_value *tensor, lz_low_value *out);
LZ_MUST_USE lz_err *lz_low_wrap_dim(int64_t dim, int64_t ndim, int64_t *out);
LZ_MUST_USE lz_err *lz_low_wrap_dims(lz_lower *b, const lz_low_value *dims, int64_t ndim, lz_low_value *out);
/* The steps of an Einstein summation (core/contraction.h): an equation, a list with the number of dimensions
 * and the sizes of each operand, and, with n = 3, a path. */
LZ_MUST_USE lz_err *lz_low_contraction(lz_lower *b, const lz_low_value *args, size_t n, lz_low_value *out);
/* The sums of the first 0, 1, ... and of all items of a list of ints. */
LZ_MUST_USE lz_err *lz_low_sums(lz_lower *b, const lz_low_value *list, lz_low_value *out);
LZ_MUST_USE lz_err *lz_low_broadcast_shapes(lz_lower *b, const lz_low_value *shapes, size_t n,
                                            lz_low_value *out);

/* Checks a condition. False: LZ_ERR_ARG with the reason and the message. A condition on run-time numbers
 * becomes a guard, which plans check before they run (guard.h). */
LZ_MUST_USE lz_err *lz_low_require(lz_lower *b, const lz_low_value *condition, lz_reason reason,
                                   const lz_low_value *parts, size_t n);
/* Refuses a number that does not fit into dtype d, now or when a plan runs. */
LZ_MUST_USE lz_err *lz_low_require_fits(lz_lower *b, const lz_low_value *number, lz_dtype d);
/* The error of a check. The message consists of texts (LZ_LOW_VALUE_STR) and values. */
LZ_MUST_USE lz_err *lz_low_message(lz_reason reason, const lz_low_value *parts, size_t n);
void lz_low_value_print(const lz_low_value *v, lz_text *out);

/* ---- primitives: each makes one node or a few ---- */

LZ_MUST_USE lz_err *lz_low_input(lz_lower *b, int64_t slot, lz_dtype d, lz_ints sizes, lz_ints strides,
                                 int64_t offset, const lz_low_node **out);
LZ_MUST_USE lz_err *lz_low_scalar(lz_lower *b, int64_t slot, lz_dtype d, const lz_low_node **out);
LZ_MUST_USE lz_err *lz_low_const(lz_lower *b, lz_scalar v, lz_dtype d, const lz_low_node **out);
LZ_MUST_USE lz_err *lz_low_iota(lz_lower *b, lz_ints sizes, int64_t offset, lz_ints strides,
                                const lz_low_node **out);
/* Inputs must have one shape and the dtypes of the operation; lz_kernel_op says the dtype of the result. */
LZ_MUST_USE lz_err *lz_low_map(lz_lower *b, lz_kernel_op op, const lz_low_node *const *in,
                               const lz_low_node **out);
LZ_MUST_USE lz_err *lz_low_cast(lz_lower *b, const lz_low_node *x, lz_dtype to, const lz_low_node **out);
LZ_MUST_USE lz_err *lz_low_philox(lz_lower *b, int word, const lz_low_node *seed, const lz_low_node *stream,
                                  const lz_low_node *index, const lz_low_node **out);
LZ_MUST_USE lz_err *lz_low_check_index(lz_lower *b, const lz_low_node *index, int64_t size, int64_t dim,
                                       bool wrap, const lz_low_node **out);
/* Gives x. The run fails with the message `rule` where the condition (bool, with the sizes of x) is false. */
LZ_MUST_USE lz_err *lz_low_check_rule(lz_lower *b, const lz_low_node *condition, lz_str rule,
                                      const lz_low_node *x, const lz_low_node **out);
/* *out: the index before lz_low_check_index, with the same views. *check: the attribute of the check;
 * NULL: the index is not checked. */
LZ_MUST_USE lz_err *lz_low_unchecked(lz_lower *b, const lz_low_node *index, const lz_low_node **out,
                                     const lz_low_check_attr **check);

/* map: x.ndim rows of sizes.n numbers. fill has no dimensions and x's dtype; NULL if `bounded` is 0. */
LZ_MUST_USE lz_err *lz_low_index(lz_lower *b, const lz_low_node *x, lz_ints sizes, const int64_t *map,
                                 const int64_t *offset, uint64_t bounded, const lz_low_node *fill,
                                 const lz_low_node **out);
/* Copies x to a buffer of its own. */
LZ_MUST_USE lz_err *lz_low_copy(lz_lower *b, const lz_low_node *x, const lz_low_node **out);
LZ_MUST_USE lz_err *lz_low_reshape(lz_lower *b, const lz_low_node *x, lz_ints sizes, const lz_low_node **out);
LZ_MUST_USE lz_err *lz_low_expand(lz_lower *b, const lz_low_node *x, lz_ints sizes, const lz_low_node **out);
LZ_MUST_USE lz_err *lz_low_permute(lz_lower *b, const lz_low_node *x, const int64_t *dims,
                                   const lz_low_node **out);
/* out[i] = x[start + step * i] along a dimension. */
LZ_MUST_USE lz_err *lz_low_slice(lz_lower *b, const lz_low_node *x, int64_t dim, int64_t start, int64_t step,
                                 int64_t size, const lz_low_node **out);
LZ_MUST_USE lz_err *lz_low_select(lz_lower *b, const lz_low_node *x, int64_t dim, int64_t index,
                                  const lz_low_node **out);
/* `size` elements along a dimension, beginning at a run-time number (LZ_LOW_SCALAR, i64). Plans check that
 * they lie within x. For an input this is another input (b->move), otherwise a gather. */
LZ_MUST_USE lz_err *lz_low_window(lz_lower *b, const lz_low_node *x, int64_t dim, const lz_low_node *start,
                                  int64_t size, const lz_low_node **out);
LZ_MUST_USE lz_err *lz_low_unsqueeze(lz_lower *b, const lz_low_node *x, int64_t dim, const lz_low_node **out);
/* Adds before[d] elements of fill at the front of dimension d. sizes: of the result. */
LZ_MUST_USE lz_err *lz_low_pad(lz_lower *b, const lz_low_node *x, const int64_t *before, lz_ints sizes,
                               const lz_low_node *fill, const lz_low_node **out);

LZ_MUST_USE lz_err *lz_low_reduce(lz_lower *b, lz_kernel_reduction op, const lz_low_node *x, uint64_t dims,
                                  bool keep, const lz_low_node **out);
LZ_MUST_USE lz_err *lz_low_scan(lz_lower *b, lz_kernel_reduction op, const lz_low_node *x, int64_t dim,
                                const lz_low_node **out);
/* index must be i64 and checked (lz_low_check_index). All sizes except that of dim must be equal. */
LZ_MUST_USE lz_err *lz_low_gather(lz_lower *b, const lz_low_node *data, const lz_low_node *index, int64_t dim,
                                  const lz_low_node **out);
LZ_MUST_USE lz_err *lz_low_cat(lz_lower *b, const lz_low_node *const *in, size_t n, int64_t dim,
                               const lz_low_node **out);
LZ_MUST_USE lz_err *lz_low_update(lz_lower *b, const lz_low_node *base, const lz_low_node *part,
                                  int64_t offset, const int64_t *strides, const lz_low_node **out);
/* As lz_low_update, with `step` elements times a run-time number added to the offset. Plans check 0 <=
 * start <= most. */
LZ_MUST_USE lz_err *lz_low_update_from(lz_lower *b, const lz_low_node *base, const lz_low_node *part,
                                       const lz_low_node *start, int64_t most, int64_t step,
                                       const int64_t *strides, const lz_low_node **out);
LZ_MUST_USE lz_err *lz_low_scatter(lz_lower *b, lz_low_scatter_mode mode, const lz_low_node *base,
                                   int64_t dim, const lz_low_node *index, const lz_low_node *source,
                                   const lz_low_node **out);
LZ_MUST_USE lz_err *lz_low_matmul(lz_lower *b, const lz_low_node *x, const lz_low_node *y,
                                  const lz_low_node **out);
/* d: the dtype of x and y; or f32 for bf16, i32 for i8 or u8 by i8. */
LZ_MUST_USE lz_err *lz_low_matmul_to(lz_lower *b, const lz_low_node *x, const lz_low_node *y, lz_dtype d,
                                     const lz_low_node **out);
/* Calls any other kernel. sizes: of the result. */
LZ_MUST_USE lz_err *lz_low_kernel(lz_lower *b, lz_low_call_op op, const lz_low_node *const *in, size_t n,
                                  lz_dtype d, lz_ints sizes, const int64_t *params, size_t nparams,
                                  const lz_low_node **out);

#endif
