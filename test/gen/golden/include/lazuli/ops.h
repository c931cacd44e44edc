/* ops.h - all operators. Made by lazuli-gen from the operator files.
 *
 *     lz_add_Tensor(c, a, b)
 *     lz_add_Tensor(c, a, b, .alpha = LZ_S(2))
 *
 * Arguments without a default are given by position, the others by name; a number stands
 * for a Scalar. The macros, which are for C, note the line they stand in. The functions
 * behind them take it as `at`, and the named arguments as a struct, or NULL for all
 * defaults; lz_NAME_defaults is that struct, to be copied and changed.
 *
 * What is passed is borrowed. Results belong to the context's current scope: so do the
 * arrays of lists. Operators that write to an argument return that argument. */
#ifndef LAZULI_OPS_H
#define LAZULI_OPS_H

#include <lazuli/value.h>

#ifdef __cplusplus
extern "C" {
#endif

/* add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor */
typedef struct lz_add_Tensor_args {
    lz_scalar alpha;
} lz_add_Tensor_args;
LZ_API extern const lz_add_Tensor_args lz_add_Tensor_defaults;
LZ_API lz_tensor *lz_add_Tensor_at(lz_ctx *c, lz_loc at, lz_tensor *self, lz_tensor *other,
                                   const lz_add_Tensor_args *args);

/* add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!) */
typedef lz_add_Tensor_args lz_add__Tensor_args;
LZ_API extern const lz_add__Tensor_args lz_add__Tensor_defaults;
LZ_API lz_tensor *lz_add__Tensor_at(lz_ctx *c, lz_loc at, lz_tensor *self, lz_tensor *other,
                                    const lz_add__Tensor_args *args);

/* add.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!) */
typedef lz_add_Tensor_args lz_add_out_args;
LZ_API extern const lz_add_out_args lz_add_out_defaults;
LZ_API lz_tensor *lz_add_out_at(lz_ctx *c, lz_loc at, lz_tensor *self, lz_tensor *other, lz_tensor *out,
                                const lz_add_out_args *args);

/* sub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor */
typedef lz_add_Tensor_args lz_sub_Tensor_args;
LZ_API extern const lz_sub_Tensor_args lz_sub_Tensor_defaults;
LZ_API lz_tensor *lz_sub_Tensor_at(lz_ctx *c, lz_loc at, lz_tensor *self, lz_tensor *other,
                                   const lz_sub_Tensor_args *args);

/* relu(Tensor self) -> Tensor */
LZ_API lz_tensor *lz_relu_at(lz_ctx *c, lz_loc at, lz_tensor *self);

/* mul.Scalar(Tensor self, Scalar other) -> Tensor */
LZ_API lz_tensor *lz_mul_Scalar_at(lz_ctx *c, lz_loc at, lz_tensor *self, lz_scalar other);

/* max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices) */
typedef struct lz_max_dim_args {
    bool keepdim;
} lz_max_dim_args;
LZ_API extern const lz_max_dim_args lz_max_dim_defaults;
typedef struct lz_max_dim_result {
    lz_tensor *values;
    lz_tensor *indices;
} lz_max_dim_result;
LZ_API lz_max_dim_result lz_max_dim_at(lz_ctx *c, lz_loc at, lz_tensor *self, int64_t dim,
                                       const lz_max_dim_args *args);

/* min.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices) */
typedef lz_max_dim_args lz_min_dim_args;
LZ_API extern const lz_min_dim_args lz_min_dim_defaults;
typedef lz_max_dim_result lz_min_dim_result;
LZ_API lz_min_dim_result lz_min_dim_at(lz_ctx *c, lz_loc at, lz_tensor *self, int64_t dim,
                                       const lz_min_dim_args *args);

/* frexp_parts(Tensor self) -> (Tensor, Tensor, int) */
typedef struct lz_frexp_parts_result {
    lz_tensor *out0;
    lz_tensor *out1;
    int64_t out2;
} lz_frexp_parts_result;
LZ_API lz_frexp_parts_result lz_frexp_parts_at(lz_ctx *c, lz_loc at, lz_tensor *self);

/* conv2d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[2] stride=1, SymInt[2] padding=[0,0], SymInt groups=1) -> Tensor */
typedef struct lz_conv2d_args {
    lz_tensor *bias;
    lz_ints stride;
    lz_ints padding;
    int64_t groups;
} lz_conv2d_args;
LZ_API extern const lz_conv2d_args lz_conv2d_defaults;
LZ_API lz_tensor *lz_conv2d_at(lz_ctx *c, lz_loc at, lz_tensor *input, lz_tensor *weight,
                               const lz_conv2d_args *args);

/* sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor */
typedef struct lz_sum_dim_IntList_args {
    bool keepdim;
    lz_dtype dtype;
} lz_sum_dim_IntList_args;
LZ_API extern const lz_sum_dim_IntList_args lz_sum_dim_IntList_defaults;
LZ_API lz_tensor *lz_sum_dim_IntList_at(lz_ctx *c, lz_loc at, lz_tensor *self, lz_ints dim,
                                        const lz_sum_dim_IntList_args *args);

/* clamp(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor */
typedef struct lz_clamp_args {
    lz_scalar min;
    lz_scalar max;
} lz_clamp_args;
LZ_API extern const lz_clamp_args lz_clamp_defaults;
LZ_API lz_tensor *lz_clamp_at(lz_ctx *c, lz_loc at, lz_tensor *self, const lz_clamp_args *args);

/* options(Tensor self, int? a=2, float? b=None, bool? e=False, str? s=None, MemoryFormat? f=contiguous_format, Device? d=None, Generator? g=None, float[]? l=[0.5,1]) -> Tensor */
typedef struct lz_options_args {
    lz_opt_int a;
    lz_opt_float b;
    lz_opt_bool e;
    const char *s;
    lz_memory_format f;
    lz_device d;
    lz_generator *g;
    lz_floats l;
} lz_options_args;
LZ_API extern const lz_options_args lz_options_defaults;
LZ_API lz_tensor *lz_options_at(lz_ctx *c, lz_loc at, lz_tensor *self, const lz_options_args *args);

/* empty.memory_format(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor */
typedef struct lz_empty_memory_format_args {
    lz_dtype dtype;
    lz_layout layout;
    lz_device device;
    lz_opt_bool pin_memory;
    lz_memory_format memory_format;
} lz_empty_memory_format_args;
LZ_API extern const lz_empty_memory_format_args lz_empty_memory_format_defaults;
LZ_API lz_tensor *lz_empty_memory_format_at(lz_ctx *c, lz_loc at, lz_ints size,
                                            const lz_empty_memory_format_args *args);

/* split.Tensor(Tensor(a -> *) self, SymInt split_size, int dim=0) -> Tensor(a)[] */
typedef struct lz_split_Tensor_args {
    int64_t dim;
} lz_split_Tensor_args;
LZ_API extern const lz_split_Tensor_args lz_split_Tensor_defaults;
LZ_API lz_tensors lz_split_Tensor_at(lz_ctx *c, lz_loc at, lz_tensor *self, int64_t split_size,
                                     const lz_split_Tensor_args *args);

/* index.Tensor(Tensor self, Tensor?[] indices) -> Tensor */
LZ_API lz_tensor *lz_index_Tensor_at(lz_ctx *c, lz_loc at, lz_tensor *self, lz_tensors indices);

/* _foreach_add_.List(Tensor(a!)[] self, Tensor[] other, *, Scalar alpha=1) -> () */
typedef lz_add_Tensor_args lz__foreach_add__List_args;
LZ_API extern const lz__foreach_add__List_args lz__foreach_add__List_defaults;
LZ_API void lz__foreach_add__List_at(lz_ctx *c, lz_loc at, lz_tensors self, lz_tensors other,
                                     const lz__foreach_add__List_args *args);

/* words(Tensor self, int default, *, Tensor new, int register=0, bool this=True, float I=0.25, int at=1) -> (Tensor template, Tensor c) */
typedef struct lz_words_args {
    int64_t register_;
    bool this_;
    double I_;
    int64_t at_;
} lz_words_args;
LZ_API extern const lz_words_args lz_words_defaults;
typedef struct lz_words_result {
    lz_tensor *template_;
    lz_tensor *c_;
} lz_words_result;
LZ_API lz_words_result lz_words_at(lz_ctx *c, lz_loc at, lz_tensor *self, int64_t default_, lz_tensor *new_,
                                   const lz_words_args *args);

/* gelu(Tensor self, *, str approximate='none', str end="* /\"??/") -> Tensor */
typedef struct lz_gelu_args {
    const char *approximate;
    const char *end;
} lz_gelu_args;
LZ_API extern const lz_gelu_args lz_gelu_defaults;
LZ_API lz_tensor *lz_gelu_at(lz_ctx *c, lz_loc at, lz_tensor *self, const lz_gelu_args *args);

/* nothing() -> () */
LZ_API void lz_nothing_at(lz_ctx *c, lz_loc at);

/* late(int a=1, Tensor? self=None, *, Tensor other) -> bool */
typedef struct lz_late_args {
    int64_t a;
    lz_tensor *self;
} lz_late_args;
LZ_API extern const lz_late_args lz_late_defaults;
LZ_API bool lz_late_at(lz_ctx *c, lz_loc at, lz_tensor *other, const lz_late_args *args);

/* all_named(int n=3) -> int */
typedef struct lz_all_named_args {
    int64_t n;
} lz_all_named_args;
LZ_API extern const lz_all_named_args lz_all_named_defaults;
LZ_API int64_t lz_all_named_at(lz_ctx *c, lz_loc at, const lz_all_named_args *args);

/* det(Tensor A) -> (Tensor result, Tensor LU) */
typedef struct lz_det_result_ {
    lz_tensor *result;
    lz_tensor *LU;
} lz_det_result_;
LZ_API lz_det_result_ lz_det_at(lz_ctx *c, lz_loc at, lz_tensor *A);

/* det.result(Tensor A, *, Tensor(a!) result, Tensor(b!) LU) -> (Tensor(a!) result, Tensor(b!) LU) */
typedef lz_det_result_ lz_det_result_result;
LZ_API lz_det_result_result lz_det_result_at(lz_ctx *c, lz_loc at, lz_tensor *A, lz_tensor *result,
                                             lz_tensor *LU);

/* scale(Tensor self, float by) -> Tensor */
LZ_API lz_tensor *lz_other_scale_at(lz_ctx *c, lz_loc at, lz_tensor *self, double by);

/* add.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor */
typedef lz_add_Tensor_args lz_add_Scalar_args;
LZ_API extern const lz_add_Scalar_args lz_add_Scalar_defaults;
LZ_API lz_tensor *lz_add_Scalar_at(lz_ctx *c, lz_loc at, lz_tensor *self, lz_scalar other,
                                   const lz_add_Scalar_args *args);

/* sum(Tensor self, *, ScalarType? dtype=None) -> Tensor */
typedef struct lz_sum_args {
    lz_dtype dtype;
} lz_sum_args;
LZ_API extern const lz_sum_args lz_sum_defaults;
LZ_API lz_tensor *lz_sum_at(lz_ctx *c, lz_loc at, lz_tensor *self, const lz_sum_args *args);

/* empty.memory_format_out(SymInt[] size, *, MemoryFormat? memory_format=None, Tensor(a!) out) -> Tensor(a!) */
typedef struct lz_empty_memory_format_out_args {
    lz_memory_format memory_format;
} lz_empty_memory_format_out_args;
LZ_API extern const lz_empty_memory_format_out_args lz_empty_memory_format_out_defaults;
LZ_API lz_tensor *lz_empty_memory_format_out_at(lz_ctx *c, lz_loc at, lz_ints size, lz_tensor *out,
                                                const lz_empty_memory_format_out_args *args);

#ifdef __cplusplus
}
#else

#define lz_add_Tensor(c, self, ...) LZ_CALL(lz_add_Tensor_at((c), LZ_HERE, (self), LZ_LAST(__VA_ARGS__), \
    &(const lz_add_Tensor_args){ .alpha = { LZ_SCALAR_INT, 1, 0, 0 }, LZ_KEYWORDS(__VA_ARGS__) }))
#define lz_add__Tensor(c, self, ...) LZ_CALL(lz_add__Tensor_at((c), LZ_HERE, (self), LZ_LAST(__VA_ARGS__), \
    &(const lz_add__Tensor_args){ .alpha = { LZ_SCALAR_INT, 1, 0, 0 }, LZ_KEYWORDS(__VA_ARGS__) }))
#define lz_add_out(c, self, other, ...) LZ_CALL(lz_add_out_at((c), LZ_HERE, (self), (other), \
    LZ_LAST(__VA_ARGS__), &(const lz_add_out_args){ .alpha = { LZ_SCALAR_INT, 1, 0, 0 }, \
    LZ_KEYWORDS(__VA_ARGS__) }))
#define lz_sub_Tensor(c, self, ...) LZ_CALL(lz_sub_Tensor_at((c), LZ_HERE, (self), LZ_LAST(__VA_ARGS__), \
    &(const lz_sub_Tensor_args){ .alpha = { LZ_SCALAR_INT, 1, 0, 0 }, LZ_KEYWORDS(__VA_ARGS__) }))
#define lz_relu(c, self) lz_relu_at((c), LZ_HERE, (self))
#define lz_mul_Scalar(c, self, other) lz_mul_Scalar_at((c), LZ_HERE, (self), LZ_S(other))
#define lz_max_dim(c, self, ...) LZ_CALL(lz_max_dim_at((c), LZ_HERE, (self), LZ_LAST(__VA_ARGS__), \
    &(const lz_max_dim_args){ .keepdim = false, LZ_KEYWORDS(__VA_ARGS__) }))
#define lz_min_dim(c, self, ...) LZ_CALL(lz_min_dim_at((c), LZ_HERE, (self), LZ_LAST(__VA_ARGS__), \
    &(const lz_min_dim_args){ .keepdim = false, LZ_KEYWORDS(__VA_ARGS__) }))
#define lz_frexp_parts(c, self) lz_frexp_parts_at((c), LZ_HERE, (self))
#define lz_conv2d(c, input, ...) LZ_CALL(lz_conv2d_at((c), LZ_HERE, (input), LZ_LAST(__VA_ARGS__), \
    &(const lz_conv2d_args){ .bias = NULL, .stride = lz_conv2d_defaults.stride, \
    .padding = lz_conv2d_defaults.padding, .groups = 1, LZ_KEYWORDS(__VA_ARGS__) }))
#define lz_sum_dim_IntList(c, self, ...) LZ_CALL(lz_sum_dim_IntList_at((c), LZ_HERE, (self), \
    LZ_LAST(__VA_ARGS__), &(const lz_sum_dim_IntList_args){ .keepdim = false, .dtype = LZ_DTYPE_NONE, \
    LZ_KEYWORDS(__VA_ARGS__) }))
#define lz_clamp(c, ...) LZ_CALL(lz_clamp_at((c), LZ_HERE, LZ_LAST(__VA_ARGS__), &(const lz_clamp_args){ \
    .min = { LZ_SCALAR_NONE, 0, 0, 0 }, .max = { LZ_SCALAR_NONE, 0, 0, 0 }, LZ_KEYWORDS(__VA_ARGS__) }))
#define lz_options(c, ...) LZ_CALL(lz_options_at((c), LZ_HERE, LZ_LAST(__VA_ARGS__), \
    &(const lz_options_args){ .a = { true, 2 }, .b = { false, 0 }, .e = { true, false }, .s = NULL, \
    .f = LZ_CONTIGUOUS, .d = { -1, -1 }, .g = NULL, .l = lz_options_defaults.l, LZ_KEYWORDS(__VA_ARGS__) }))
#define lz_empty_memory_format(c, ...) LZ_CALL(lz_empty_memory_format_at((c), LZ_HERE, LZ_LAST(__VA_ARGS__), \
    &(const lz_empty_memory_format_args){ .dtype = LZ_DTYPE_NONE, .layout = LZ_LAYOUT_NONE, \
    .device = { -1, -1 }, .pin_memory = { false, 0 }, .memory_format = LZ_MEMORY_FORMAT_NONE, \
    LZ_KEYWORDS(__VA_ARGS__) }))
#define lz_split_Tensor(c, self, ...) LZ_CALL(lz_split_Tensor_at((c), LZ_HERE, (self), LZ_LAST(__VA_ARGS__), \
    &(const lz_split_Tensor_args){ .dim = 0, LZ_KEYWORDS(__VA_ARGS__) }))
#define lz_index_Tensor(c, self, indices) lz_index_Tensor_at((c), LZ_HERE, (self), (indices))
#define lz__foreach_add__List(c, self, ...) LZ_CALL(lz__foreach_add__List_at((c), LZ_HERE, (self), \
    LZ_LAST(__VA_ARGS__), &(const lz__foreach_add__List_args){ .alpha = { LZ_SCALAR_INT, 1, 0, 0 }, \
    LZ_KEYWORDS(__VA_ARGS__) }))
#define lz_words(c, self, default_, ...) LZ_CALL(lz_words_at((c), LZ_HERE, (self), (default_), \
    LZ_LAST(__VA_ARGS__), &(const lz_words_args){ .register_ = 0, .this_ = true, .I_ = 0.25, .at_ = 1, \
    LZ_KEYWORDS(__VA_ARGS__) }))
#define lz_gelu(c, ...) LZ_CALL(lz_gelu_at((c), LZ_HERE, LZ_LAST(__VA_ARGS__), &(const lz_gelu_args){ \
    .approximate = "none", .end = "*/\"?\?/", LZ_KEYWORDS(__VA_ARGS__) }))
#define lz_nothing(c) lz_nothing_at((c), LZ_HERE)
#define lz_late(c, ...) LZ_CALL(lz_late_at((c), LZ_HERE, LZ_LAST(__VA_ARGS__), &(const lz_late_args){ \
    .a = 1, .self = NULL, LZ_KEYWORDS(__VA_ARGS__) }))
#define lz_all_named(...) LZ_CALL(lz_all_named_at(LZ_LAST(__VA_ARGS__), LZ_HERE, &(const lz_all_named_args){ \
    .n = 3, LZ_KEYWORDS(__VA_ARGS__) }))
#define lz_det(c, A) lz_det_at((c), LZ_HERE, (A))
#define lz_det_result(c, A, result, LU) lz_det_result_at((c), LZ_HERE, (A), (result), (LU))
#define lz_other_scale(c, self, by) lz_other_scale_at((c), LZ_HERE, (self), (by))
#define lz_add_Scalar(c, self, ...) LZ_CALL(lz_add_Scalar_at((c), LZ_HERE, (self), \
    LZ_S(LZ_LAST(__VA_ARGS__)), &(const lz_add_Scalar_args){ .alpha = { LZ_SCALAR_INT, 1, 0, 0 }, \
    LZ_KEYWORDS(__VA_ARGS__) }))
#define lz_sum(c, ...) LZ_CALL(lz_sum_at((c), LZ_HERE, LZ_LAST(__VA_ARGS__), &(const lz_sum_args){ \
    .dtype = LZ_DTYPE_NONE, LZ_KEYWORDS(__VA_ARGS__) }))
#define lz_empty_memory_format_out(c, size, ...) LZ_CALL(lz_empty_memory_format_out_at((c), LZ_HERE, (size), \
    LZ_LAST(__VA_ARGS__), &(const lz_empty_memory_format_out_args){ .memory_format = LZ_MEMORY_FORMAT_NONE, \
    LZ_KEYWORDS(__VA_ARGS__) }))

#endif
#endif
