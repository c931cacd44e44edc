#include "api/boxed_table.h"
#include <lazuli/ops.h>

/* add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor */
void lz_boxed_add_Tensor(lz_any_fn *f, lz_ctx *c, lz_loc at, const lz_value *in, lz_value *out)
{
    typedef lz_tensor *call(lz_ctx *, lz_loc, lz_tensor *, lz_tensor *, const lz_add_Tensor_args *);
    const lz_add_Tensor_args args = {
        .alpha = in[2].scalar,
    };
    out[0] = lz_value_tensor(((call *)f)(c, at, in[0].tensor, in[1].tensor, &args));
}

/* add.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!) */
void lz_boxed_add_out(lz_any_fn *f, lz_ctx *c, lz_loc at, const lz_value *in, lz_value *out)
{
    typedef lz_tensor *call(lz_ctx *, lz_loc, lz_tensor *, lz_tensor *, lz_tensor *, const lz_add_out_args *);
    const lz_add_out_args args = {
        .alpha = in[2].scalar,
    };
    out[0] = lz_value_tensor(((call *)f)(c, at, in[0].tensor, in[1].tensor, in[3].tensor, &args));
}

/* relu(Tensor self) -> Tensor */
void lz_boxed_relu(lz_any_fn *f, lz_ctx *c, lz_loc at, const lz_value *in, lz_value *out)
{
    typedef lz_tensor *call(lz_ctx *, lz_loc, lz_tensor *);
    out[0] = lz_value_tensor(((call *)f)(c, at, in[0].tensor));
}

/* mul.Scalar(Tensor self, Scalar other) -> Tensor */
void lz_boxed_mul_Scalar(lz_any_fn *f, lz_ctx *c, lz_loc at, const lz_value *in, lz_value *out)
{
    typedef lz_tensor *call(lz_ctx *, lz_loc, lz_tensor *, lz_scalar);
    out[0] = lz_value_tensor(((call *)f)(c, at, in[0].tensor, in[1].scalar));
}

/* max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices) */
void lz_boxed_max_dim(lz_any_fn *f, lz_ctx *c, lz_loc at, const lz_value *in, lz_value *out)
{
    typedef lz_max_dim_result call(lz_ctx *, lz_loc, lz_tensor *, int64_t, const lz_max_dim_args *);
    const lz_max_dim_args args = {
        .keepdim = in[2].truth,
    };
    lz_max_dim_result r = ((call *)f)(c, at, in[0].tensor, in[1].integer, &args);
    out[0] = lz_value_tensor(r.values);
    out[1] = lz_value_tensor(r.indices);
}

/* frexp_parts(Tensor self) -> (Tensor, Tensor, int) */
void lz_boxed_frexp_parts(lz_any_fn *f, lz_ctx *c, lz_loc at, const lz_value *in, lz_value *out)
{
    typedef lz_frexp_parts_result call(lz_ctx *, lz_loc, lz_tensor *);
    lz_frexp_parts_result r = ((call *)f)(c, at, in[0].tensor);
    out[0] = lz_value_tensor(r.out0);
    out[1] = lz_value_tensor(r.out1);
    out[2] = lz_value_integer(r.out2);
}

/* conv2d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[2] stride=1, SymInt[2] padding=[0,0], SymInt groups=1) -> Tensor */
void lz_boxed_conv2d(lz_any_fn *f, lz_ctx *c, lz_loc at, const lz_value *in, lz_value *out)
{
    typedef lz_tensor *call(lz_ctx *, lz_loc, lz_tensor *, lz_tensor *, const lz_conv2d_args *);
    const lz_conv2d_args args = {
        .bias = in[2].tensor,
        .stride = in[3].ints,
        .padding = in[4].ints,
        .groups = in[5].integer,
    };
    out[0] = lz_value_tensor(((call *)f)(c, at, in[0].tensor, in[1].tensor, &args));
}

/* sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor */
void lz_boxed_sum_dim_IntList(lz_any_fn *f, lz_ctx *c, lz_loc at, const lz_value *in, lz_value *out)
{
    typedef lz_tensor *call(lz_ctx *, lz_loc, lz_tensor *, lz_ints, const lz_sum_dim_IntList_args *);
    const lz_sum_dim_IntList_args args = {
        .keepdim = in[2].truth,
        .dtype = in[3].dtype,
    };
    out[0] = lz_value_tensor(((call *)f)(c, at, in[0].tensor, in[1].ints, &args));
}

/* clamp(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor */
void lz_boxed_clamp(lz_any_fn *f, lz_ctx *c, lz_loc at, const lz_value *in, lz_value *out)
{
    typedef lz_tensor *call(lz_ctx *, lz_loc, lz_tensor *, const lz_clamp_args *);
    const lz_clamp_args args = {
        .min = in[1].scalar,
        .max = in[2].scalar,
    };
    out[0] = lz_value_tensor(((call *)f)(c, at, in[0].tensor, &args));
}

/* options(Tensor self, int? a=2, float? b=None, bool? e=False, str? s=None, MemoryFormat? f=contiguous_format, Device? d=None, Generator? g=None, float[]? l=[0.5,1]) -> Tensor */
void lz_boxed_options(lz_any_fn *f, lz_ctx *c, lz_loc at, const lz_value *in, lz_value *out)
{
    typedef lz_tensor *call(lz_ctx *, lz_loc, lz_tensor *, const lz_options_args *);
    const lz_options_args args = {
        .a = lz_value_opt_int(in[1]),
        .b = lz_value_opt_float(in[2]),
        .e = lz_value_opt_bool(in[3]),
        .s = in[4].str,
        .f = in[5].memory_format,
        .d = in[6].device,
        .g = in[7].generator,
        .l = in[8].floats,
    };
    out[0] = lz_value_tensor(((call *)f)(c, at, in[0].tensor, &args));
}

/* empty.memory_format(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor */
void lz_boxed_empty_memory_format(lz_any_fn *f, lz_ctx *c, lz_loc at, const lz_value *in, lz_value *out)
{
    typedef lz_tensor *call(lz_ctx *, lz_loc, lz_ints, const lz_empty_memory_format_args *);
    const lz_empty_memory_format_args args = {
        .dtype = in[1].dtype,
        .layout = in[2].layout,
        .device = in[3].device,
        .pin_memory = lz_value_opt_bool(in[4]),
        .memory_format = in[5].memory_format,
    };
    out[0] = lz_value_tensor(((call *)f)(c, at, in[0].ints, &args));
}

/* split.Tensor(Tensor(a -> *) self, SymInt split_size, int dim=0) -> Tensor(a)[] */
void lz_boxed_split_Tensor(lz_any_fn *f, lz_ctx *c, lz_loc at, const lz_value *in, lz_value *out)
{
    typedef lz_tensors call(lz_ctx *, lz_loc, lz_tensor *, int64_t, const lz_split_Tensor_args *);
    const lz_split_Tensor_args args = {
        .dim = in[2].integer,
    };
    out[0] = lz_value_tensors(((call *)f)(c, at, in[0].tensor, in[1].integer, &args));
}

/* index.Tensor(Tensor self, Tensor?[] indices) -> Tensor */
void lz_boxed_index_Tensor(lz_any_fn *f, lz_ctx *c, lz_loc at, const lz_value *in, lz_value *out)
{
    typedef lz_tensor *call(lz_ctx *, lz_loc, lz_tensor *, lz_tensors);
    out[0] = lz_value_tensor(((call *)f)(c, at, in[0].tensor, in[1].tensors));
}

/* _foreach_add_.List(Tensor(a!)[] self, Tensor[] other, *, Scalar alpha=1) -> () */
void lz_boxed__foreach_add__List(lz_any_fn *f, lz_ctx *c, lz_loc at, const lz_value *in, lz_value *out)
{
    typedef void call(lz_ctx *, lz_loc, lz_tensors, lz_tensors, const lz__foreach_add__List_args *);
    const lz__foreach_add__List_args args = {
        .alpha = in[2].scalar,
    };
    (void)out;
    ((call *)f)(c, at, in[0].tensors, in[1].tensors, &args);
}

/* words(Tensor self, int default, *, Tensor new, int register=0, bool this=True, float I=0.25, int at=1) -> (Tensor template, Tensor c) */
void lz_boxed_words(lz_any_fn *f, lz_ctx *c, lz_loc at, const lz_value *in, lz_value *out)
{
    typedef lz_words_result call(lz_ctx *, lz_loc, lz_tensor *, int64_t, lz_tensor *, const lz_words_args *);
    const lz_words_args args = {
        .register_ = in[3].integer,
        .this_ = in[4].truth,
        .I_ = in[5].real,
        .at_ = in[6].integer,
    };
    lz_words_result r = ((call *)f)(c, at, in[0].tensor, in[1].integer, in[2].tensor, &args);
    out[0] = lz_value_tensor(r.template_);
    out[1] = lz_value_tensor(r.c_);
}

/* gelu(Tensor self, *, str approximate='none', str end="* /\"??/") -> Tensor */
void lz_boxed_gelu(lz_any_fn *f, lz_ctx *c, lz_loc at, const lz_value *in, lz_value *out)
{
    typedef lz_tensor *call(lz_ctx *, lz_loc, lz_tensor *, const lz_gelu_args *);
    const lz_gelu_args args = {
        .approximate = in[1].str,
        .end = in[2].str,
    };
    out[0] = lz_value_tensor(((call *)f)(c, at, in[0].tensor, &args));
}

/* nothing() -> () */
void lz_boxed_nothing(lz_any_fn *f, lz_ctx *c, lz_loc at, const lz_value *in, lz_value *out)
{
    typedef void call(lz_ctx *, lz_loc);
    (void)in;
    (void)out;
    ((call *)f)(c, at);
}

/* late(int a=1, Tensor? self=None, *, Tensor other) -> bool */
void lz_boxed_late(lz_any_fn *f, lz_ctx *c, lz_loc at, const lz_value *in, lz_value *out)
{
    typedef bool call(lz_ctx *, lz_loc, lz_tensor *, const lz_late_args *);
    const lz_late_args args = {
        .a = in[0].integer,
        .self = in[1].tensor,
    };
    out[0] = lz_value_truth(((call *)f)(c, at, in[2].tensor, &args));
}

/* all_named(int n=3) -> int */
void lz_boxed_all_named(lz_any_fn *f, lz_ctx *c, lz_loc at, const lz_value *in, lz_value *out)
{
    typedef int64_t call(lz_ctx *, lz_loc, const lz_all_named_args *);
    const lz_all_named_args args = {
        .n = in[0].integer,
    };
    out[0] = lz_value_integer(((call *)f)(c, at, &args));
}

/* det(Tensor A) -> (Tensor result, Tensor LU) */
void lz_boxed_det(lz_any_fn *f, lz_ctx *c, lz_loc at, const lz_value *in, lz_value *out)
{
    typedef lz_det_result_ call(lz_ctx *, lz_loc, lz_tensor *);
    lz_det_result_ r = ((call *)f)(c, at, in[0].tensor);
    out[0] = lz_value_tensor(r.result);
    out[1] = lz_value_tensor(r.LU);
}

/* det.result(Tensor A, *, Tensor(a!) result, Tensor(b!) LU) -> (Tensor(a!) result, Tensor(b!) LU) */
void lz_boxed_det_result(lz_any_fn *f, lz_ctx *c, lz_loc at, const lz_value *in, lz_value *out)
{
    typedef lz_det_result_result call(lz_ctx *, lz_loc, lz_tensor *, lz_tensor *, lz_tensor *);
    lz_det_result_result r = ((call *)f)(c, at, in[0].tensor, in[1].tensor, in[2].tensor);
    out[0] = lz_value_tensor(r.result);
    out[1] = lz_value_tensor(r.LU);
}

/* scale(Tensor self, float by) -> Tensor */
void lz_boxed_other_scale(lz_any_fn *f, lz_ctx *c, lz_loc at, const lz_value *in, lz_value *out)
{
    typedef lz_tensor *call(lz_ctx *, lz_loc, lz_tensor *, double);
    out[0] = lz_value_tensor(((call *)f)(c, at, in[0].tensor, in[1].real));
}

/* add.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor */
void lz_boxed_add_Scalar(lz_any_fn *f, lz_ctx *c, lz_loc at, const lz_value *in, lz_value *out)
{
    typedef lz_tensor *call(lz_ctx *, lz_loc, lz_tensor *, lz_scalar, const lz_add_Scalar_args *);
    const lz_add_Scalar_args args = {
        .alpha = in[2].scalar,
    };
    out[0] = lz_value_tensor(((call *)f)(c, at, in[0].tensor, in[1].scalar, &args));
}

/* sum(Tensor self, *, ScalarType? dtype=None) -> Tensor */
void lz_boxed_sum(lz_any_fn *f, lz_ctx *c, lz_loc at, const lz_value *in, lz_value *out)
{
    typedef lz_tensor *call(lz_ctx *, lz_loc, lz_tensor *, const lz_sum_args *);
    const lz_sum_args args = {
        .dtype = in[1].dtype,
    };
    out[0] = lz_value_tensor(((call *)f)(c, at, in[0].tensor, &args));
}

/* empty.memory_format_out(SymInt[] size, *, MemoryFormat? memory_format=None, Tensor(a!) out) -> Tensor(a!) */
void lz_boxed_empty_memory_format_out(lz_any_fn *f, lz_ctx *c, lz_loc at, const lz_value *in, lz_value *out)
{
    typedef lz_tensor *call(lz_ctx *, lz_loc, lz_ints, lz_tensor *, const lz_empty_memory_format_out_args *);
    const lz_empty_memory_format_out_args args = {
        .memory_format = in[1].memory_format,
    };
    out[0] = lz_value_tensor(((call *)f)(c, at, in[0].ints, in[2].tensor, &args));
}

