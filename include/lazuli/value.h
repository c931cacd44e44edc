/* value.h - the types that operator calls are made of: handles, scalars, lists,
 * options. Everything here is passed by value or borrowed for the call; only
 * tensors have owners. Numbers of the enumerations are those of PyTorch, because
 * graphs and files carry them. */
#ifndef LAZULI_VALUE_H
#define LAZULI_VALUE_H

#include <lazuli/base.h>
#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct lz_ctx lz_ctx;             /* one thread's recording, and its first error */
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

typedef struct lz_device {
    int16_t type;  /* -1: none; 0: CPU; others are given out as backends register */
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
    int64_t i;     /* BOOL, INT */
    double re, im; /* FLOAT: re */
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
typedef struct lz_tensors {
    lz_tensor *const *v;
    int64_t n;
} lz_tensors;

#ifdef __cplusplus
}
#else

/* LZ_INTS(2, 3), and LZ_DIMS for sizes, strides and dimensions. */
#define LZ_INTS(...)                                                                                         \
    ((lz_ints){ (const int64_t[]){ __VA_ARGS__ },                                                            \
                sizeof((const int64_t[]){ __VA_ARGS__ }) / sizeof(int64_t) })
#define LZ_DIMS(...) LZ_INTS(__VA_ARGS__)
#define LZ_FLOATS(...)                                                                                       \
    ((lz_floats){ (const double[]){ __VA_ARGS__ }, sizeof((const double[]){ __VA_ARGS__ }) / sizeof(double) })
#define LZ_BOOLS(...)                                                                                        \
    ((lz_bools){ (const bool[]){ __VA_ARGS__ }, sizeof((const bool[]){ __VA_ARGS__ }) / sizeof(bool) })
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

/* An option that is there: .dim = LZ_SOME(1) */
#define LZ_SOME(x)                                                                                           \
    {                                                                                                        \
        true, (x)                                                                                            \
    }

#endif
#endif
