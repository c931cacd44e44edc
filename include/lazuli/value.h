/* value.h - the types of arguments and results of operators: handles, scalars, lists,
 * options, and lz_value, which holds a value of any kind. All of them are passed by value
 * or borrowed for the call. Only tensors have owners: a list of tensors that a call returns,
 * its array included, belongs to the scope that was current at the call. Enumerators have
 * PyTorch's numbers, because graphs and files contain these numbers. */
#ifndef LAZULI_VALUE_H
#define LAZULI_VALUE_H

#include <lazuli/base.h>
#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct lz_ctx lz_ctx;             /* records calls, and keeps the first error (tensor.h) */
typedef struct lz_tensor lz_tensor;       /* NULL stands for an absent Tensor? */
typedef struct lz_generator lz_generator; /* a source of random numbers */
typedef struct lz_storage lz_storage;
typedef struct lz_stream lz_stream;
typedef struct lz_object lz_object; /* an instance of a custom class, a graph module */

typedef enum lz_dtype {
    LZ_DTYPE_NONE = -1, /* an absent ScalarType? */
    LZ_U8 = 0,
    LZ_I8 = 1,
    LZ_I16 = 2,
    LZ_I32 = 3,
    LZ_I64 = 4,
    LZ_F16 = 5,
    LZ_F32 = 6,
    LZ_F64 = 7,
    LZ_C32 = 8,
    LZ_C64 = 9,
    LZ_C128 = 10,
    LZ_BOOL = 11,
    LZ_BF16 = 15
} lz_dtype;

typedef enum lz_layout { LZ_LAYOUT_NONE = -1, LZ_STRIDED = 0, LZ_SPARSE = 1 } lz_layout;

typedef enum lz_memory_format {
    LZ_MEMORY_FORMAT_NONE = -1,
    LZ_CONTIGUOUS = 0,
    LZ_PRESERVE = 1,
    LZ_CHANNELS_LAST = 2,
    LZ_CHANNELS_LAST_3D = 3
} lz_memory_format;

typedef enum lz_qscheme {
    LZ_QSCHEME_NONE = -1,
    LZ_PER_TENSOR_AFFINE = 0,
    LZ_PER_CHANNEL_AFFINE = 1,
    LZ_PER_TENSOR_SYMMETRIC = 2,
    LZ_PER_CHANNEL_SYMMETRIC = 3,
    LZ_PER_CHANNEL_AFFINE_FLOAT = 4
} lz_qscheme;

typedef struct lz_device {
    int16_t type;  /* -1: none; 0: CPU; other numbers are assigned when backends register */
    int16_t index; /* -1: the current one */
} lz_device;

typedef enum lz_scalar_kind {
    LZ_SCALAR_NONE, /* an absent Scalar? */
    LZ_SCALAR_BOOL,
    LZ_SCALAR_INT,
    LZ_SCALAR_FLOAT,
    LZ_SCALAR_COMPLEX
} lz_scalar_kind;

typedef struct lz_scalar {
    lz_scalar_kind kind;
    int64_t i;     /* BOOL, INT; lz_item sets it for the others too: truncated, clamped to int64_t */
    double re, im; /* FLOAT: re; lz_item sets re for BOOL and INT too */
} lz_scalar;

static inline lz_scalar lz_scalar_bool(bool v)
{
    lz_scalar s = { LZ_SCALAR_BOOL, v, 0, 0 };
    return s;
}

static inline lz_scalar lz_scalar_int(int64_t v)
{
    lz_scalar s = { LZ_SCALAR_INT, v, 0, 0 };
    return s;
}

static inline lz_scalar lz_scalar_float(double v)
{
    lz_scalar s = { LZ_SCALAR_FLOAT, 0, v, 0 };
    return s;
}

static inline lz_scalar lz_scalar_complex(double re, double im)
{
    lz_scalar s = { LZ_SCALAR_COMPLEX, 0, re, im };
    return s;
}

static inline lz_scalar lz_scalar_none(void)
{
    lz_scalar s = { LZ_SCALAR_NONE, 0, 0, 0 };
    return s;
}

static inline lz_scalar lz_scalar_same(lz_scalar v)
{
    return v;
}

/* Options of types that have no value of their own for "absent". */
typedef struct lz_opt_int {
    bool has;
    int64_t v;
} lz_opt_int;
typedef struct lz_opt_float {
    bool has;
    double v;
} lz_opt_float;
typedef struct lz_opt_bool {
    bool has, v;
} lz_opt_bool;

static inline lz_opt_int lz_some_int(int64_t v)
{
    lz_opt_int o = { true, v };
    return o;
}

static inline lz_opt_float lz_some_float(double v)
{
    lz_opt_float o = { true, v };
    return o;
}

static inline lz_opt_bool lz_some_bool(bool v)
{
    lz_opt_bool o = { true, v };
    return o;
}

/* Lists; v NULL with n 0 is the empty list, n -1 an absent list. */
typedef struct lz_ints {
    const int64_t *v;
    int64_t n;
} lz_ints;
typedef struct lz_floats {
    const double *v;
    int64_t n;
} lz_floats;
typedef struct lz_bools {
    const bool *v;
    int64_t n;
} lz_bools;
typedef struct lz_scalars {
    const lz_scalar *v;
    int64_t n;
} lz_scalars;
typedef struct lz_strs {
    const char *const *v;
    int64_t n;
} lz_strs;
typedef struct lz_tensors {
    lz_tensor *const *v; /* a Tensor?[] has NULL in it */
    int64_t n;
} lz_tensors;

/* Lists that are arrays of the program: lz_cat(c, lz_tensors_of(parts, n)). A compound literal with a comma
 * would be two arguments of the macro. */
static inline lz_ints lz_ints_of(const int64_t *v, int64_t n)
{
    lz_ints list = { v, n };
    return list;
}

static inline lz_floats lz_floats_of(const double *v, int64_t n)
{
    lz_floats list = { v, n };
    return list;
}

static inline lz_bools lz_bools_of(const bool *v, int64_t n)
{
    lz_bools list = { v, n };
    return list;
}

static inline lz_scalars lz_scalars_of(const lz_scalar *v, int64_t n)
{
    lz_scalars list = { v, n };
    return list;
}

static inline lz_strs lz_strs_of(const char *const *v, int64_t n)
{
    lz_strs list = { v, n };
    return list;
}

static inline lz_tensors lz_tensors_of(lz_tensor *const *v, int64_t n)
{
    lz_tensors list = { v, n };
    return list;
}

/* Absent options, for positional arguments; a Tensor? is NULL, a Scalar? lz_scalar_none(). */
static inline lz_opt_int lz_none_int(void)
{
    lz_opt_int o = { false, 0 };
    return o;
}

static inline lz_opt_float lz_none_float(void)
{
    lz_opt_float o = { false, 0 };
    return o;
}

static inline lz_opt_bool lz_none_bool(void)
{
    lz_opt_bool o = { false, false };
    return o;
}

static inline lz_ints lz_none_ints(void)
{
    return lz_ints_of(NULL, -1);
}

static inline lz_floats lz_none_floats(void)
{
    return lz_floats_of(NULL, -1);
}

/* A value of any kind, for callers that know the operator only at run time.
 *
 *     kind             C type, and member of lz_value */
#define LZ_KINDS(X)                                                                                          \
    X(TENSOR, lz_tensor *, tensor)                                                                           \
    X(GENERATOR, lz_generator *, generator)                                                                  \
    X(STORAGE, lz_storage *, storage)                                                                        \
    X(STREAM, lz_stream *, stream)                                                                           \
    X(OBJECT, lz_object *, object)                                                                           \
    X(INT, int64_t, integer)                                                                                 \
    X(FLOAT, double, real)                                                                                   \
    X(BOOL, bool, truth)                                                                                     \
    X(SCALAR, lz_scalar, scalar)                                                                             \
    X(STR, const char *, str)                                                                                \
    X(DTYPE, lz_dtype, dtype)                                                                                \
    X(LAYOUT, lz_layout, layout)                                                                             \
    X(MEMORY_FORMAT, lz_memory_format, memory_format)                                                        \
    X(QSCHEME, lz_qscheme, qscheme)                                                                          \
    X(DEVICE, lz_device, device)                                                                             \
    X(INTS, lz_ints, ints)                                                                                   \
    X(FLOATS, lz_floats, floats)                                                                             \
    X(BOOLS, lz_bools, bools)                                                                                \
    X(SCALARS, lz_scalars, scalars)                                                                          \
    X(STRS, lz_strs, strs)                                                                                   \
    X(TENSORS, lz_tensors, tensors)

typedef enum lz_kind {
    LZ_KIND_NONE, /* an absent option; as an argument: the default, where there is one */
#define X(kind, type, member) LZ_KIND_##kind,
    LZ_KINDS(X)
#undef X
        LZ_KIND_COUNT
} lz_kind;

typedef struct lz_value {
    lz_kind kind;
    union {
#define X(kind, type, member) type member;
        LZ_KINDS(X)
#undef X
    };
} lz_value;

/* lz_value_tensor(t), lz_value_integer(2), lz_value_ints(list), ... */
#define X(kind_, type, member_)                                                                              \
    static inline lz_value lz_value_##member_(type v)                                                        \
    {                                                                                                        \
        lz_value out;                                                                                        \
        out.kind = LZ_KIND_##kind_;                                                                          \
        out.member_ = v;                                                                                     \
        return out;                                                                                          \
    }
LZ_KINDS(X)
#undef X

static inline lz_value lz_value_none(void)
{
    lz_value out;
    out.kind = LZ_KIND_NONE;
    out.tensor = NULL;
    return out;
}

static inline lz_value lz_value_same(lz_value v)
{
    return v;
}

/* A tensor or a number, where an operator takes either. */
typedef struct lz_operand {
    lz_tensor *tensor;
    lz_scalar number; /* LZ_SCALAR_NONE: the operand is the tensor */
} lz_operand;

static inline bool lz_operand_is_tensor(lz_operand o)
{
    return o.number.kind == LZ_SCALAR_NONE;
}

static inline lz_operand lz_operand_tensor(lz_tensor *t)
{
    lz_operand o = { t, { LZ_SCALAR_NONE, 0, 0, 0 } };
    return o;
}

static inline lz_operand lz_operand_scalar(lz_scalar v)
{
    lz_operand o = { NULL, v };
    return o;
}

static inline lz_operand lz_operand_bool(bool v)
{
    return lz_operand_scalar(lz_scalar_bool(v));
}

static inline lz_operand lz_operand_int(int64_t v)
{
    return lz_operand_scalar(lz_scalar_int(v));
}

static inline lz_operand lz_operand_float(double v)
{
    return lz_operand_scalar(lz_scalar_float(v));
}

/* An optional int, float or bool from a value: absent where the value is of another kind. */
static inline lz_opt_int lz_value_opt_int(lz_value v)
{
    lz_opt_int o = { v.kind == LZ_KIND_INT, v.kind == LZ_KIND_INT ? v.integer : 0 };
    return o;
}

static inline lz_opt_float lz_value_opt_float(lz_value v)
{
    lz_opt_float o = { v.kind == LZ_KIND_FLOAT, v.kind == LZ_KIND_FLOAT ? v.real : 0 };
    return o;
}

static inline lz_opt_bool lz_value_opt_bool(lz_value v)
{
    lz_opt_bool o = { v.kind == LZ_KIND_BOOL, v.kind == LZ_KIND_BOOL && v.truth };
    return o;
}

/* A value from an optional int, float or bool; LZ_KIND_NONE if absent. */
static inline lz_value lz_value_of_opt_int(lz_opt_int o)
{
    return o.has ? lz_value_integer(o.v) : lz_value_none();
}

static inline lz_value lz_value_of_opt_float(lz_opt_float o)
{
    return o.has ? lz_value_real(o.v) : lz_value_none();
}

static inline lz_value lz_value_of_opt_bool(lz_opt_bool o)
{
    return o.has ? lz_value_truth(o.v) : lz_value_none();
}

#ifdef __cplusplus
}

#define LZ_HERE (lz_loc{ __FILE__, __LINE__, 0 })

#else

/* The line of the user's program that contains the macro. */
#define LZ_HERE ((lz_loc){ __FILE__, __LINE__, 0 })

/* LZ_INTS(2, 3), and LZ_DIMS for sizes, strides and dimensions. */
#define LZ_INTS(...)                                                                                         \
    ((lz_ints){ (const int64_t[]){ __VA_ARGS__ },                                                            \
                sizeof((const int64_t[]){ __VA_ARGS__ }) / sizeof(int64_t) })
#define LZ_DIMS(...) LZ_INTS(__VA_ARGS__)
#define LZ_FLOATS(...)                                                                                       \
    ((lz_floats){ (const double[]){ __VA_ARGS__ }, sizeof((const double[]){ __VA_ARGS__ }) / sizeof(double) })
#define LZ_BOOLS(...)                                                                                        \
    ((lz_bools){ (const bool[]){ __VA_ARGS__ }, sizeof((const bool[]){ __VA_ARGS__ }) / sizeof(bool) })
#define LZ_STRS(...)                                                                                         \
    ((lz_strs){ (const char *const[]){ __VA_ARGS__ },                                                        \
                sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(const char *) })
#define LZ_TENSORS(...)                                                                                      \
    ((lz_tensors){ (lz_tensor *const[]){ __VA_ARGS__ },                                                      \
                   sizeof((lz_tensor *const[]){ __VA_ARGS__ }) / sizeof(lz_tensor *) })

/* A Scalar from any C number: LZ_S(2) is an integer, LZ_S(0.5) a float. */
#define LZ_S(x)                                                                                              \
    _Generic((x), lz_scalar                                                                                  \
             : lz_scalar_same, bool                                                                          \
             : lz_scalar_bool, float                                                                         \
             : lz_scalar_float, double                                                                       \
             : lz_scalar_float, default                                                                      \
             : lz_scalar_int)(x)

/* An lz_operand from a tensor or any C number. */
#define LZ_OPERAND(x)                                                                                        \
    _Generic((x), lz_tensor *                                                                                \
             : lz_operand_tensor, lz_scalar                                                                  \
             : lz_operand_scalar, bool                                                                       \
             : lz_operand_bool, float                                                                        \
             : lz_operand_float, double                                                                      \
             : lz_operand_float, default                                                                     \
             : lz_operand_int)(x)

/* An lz_value from a tensor, a C number, a string or a list. */
#define LZ_V(x)                                                                                              \
    _Generic((x), lz_tensor *                                                                                \
             : lz_value_tensor, lz_tensors                                                                   \
             : lz_value_tensors, lz_ints                                                                     \
             : lz_value_ints, lz_floats                                                                      \
             : lz_value_floats, lz_scalar                                                                    \
             : lz_value_scalar, lz_value                                                                     \
             : lz_value_same, bool                                                                           \
             : lz_value_truth, float                                                                         \
             : lz_value_real, double                                                                         \
             : lz_value_real, char *                                                                         \
             : lz_value_str, const char *                                                                    \
             : lz_value_str, default                                                                         \
             : lz_value_integer)(x)

/* An option with a value: .dim = LZ_SOME(1) */
#define LZ_SOME(x)                                                                                           \
    {                                                                                                        \
        true, (x)                                                                                            \
    }

/* Parts of the macros of ops.h. A call with keywords is a block, so that lists written in the call live until
 * it returns. The pragma allows a keyword to override a default. */
#if defined(__clang__)
#define LZ_QUIET_OVERRIDE _Pragma("clang diagnostic ignored \"-Winitializer-overrides\"")
#else
#define LZ_QUIET_OVERRIDE _Pragma("GCC diagnostic ignored \"-Woverride-init\"")
#endif
#define LZ_CALL(...)                                                                                         \
    __extension__({                                                                                          \
        _Pragma("GCC diagnostic push") LZ_QUIET_OVERRIDE __VA_ARGS__;                                        \
        _Pragma("GCC diagnostic pop")                                                                        \
    })
/* The last positional argument and the keywords arrive together: an empty "..." is not C17. */
#define LZ_LAST(...)            LZ_LAST_(__VA_ARGS__, )
#define LZ_LAST_(last, ...)     last
#define LZ_KEYWORDS(...)        LZ_KEYWORDS_(__VA_ARGS__, )
#define LZ_KEYWORDS_(last, ...) __VA_ARGS__

#endif
#endif
