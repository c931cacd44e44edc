#include "lazy/record.h"
#include "op/op_table.h"
#include <lazuli/ops.h>

lz_tensor *lz_add_Tensor_at(lz_ctx *c, lz_loc at, lz_tensor *self, lz_tensor *other,
                            const lz_add_Tensor_args *args)
{
    args = args ? args : &lz_add_Tensor_defaults;
    const lz_value lz_in[] = {
        lz_value_tensor(self),
        lz_value_tensor(other),
        lz_value_scalar(args->alpha),
    };
    lz_value lz_out[1];
    lz_record(c, &lz_op_table[LZ_OP_add_Tensor], at, lz_in, lz_out);
    return lz_out[0].tensor;
}

lz_tensor *lz_add__Tensor_at(lz_ctx *c, lz_loc at, lz_tensor *self, lz_tensor *other,
                             const lz_add__Tensor_args *args)
{
    args = args ? args : &lz_add__Tensor_defaults;
    const lz_value lz_in[] = {
        lz_value_tensor(self),
        lz_value_tensor(other),
        lz_value_scalar(args->alpha),
    };
    lz_value lz_out[1];
    lz_record(c, &lz_op_table[LZ_OP_add__Tensor], at, lz_in, lz_out);
    return lz_out[0].tensor;
}

lz_tensor *lz_add_out_at(lz_ctx *c, lz_loc at, lz_tensor *self, lz_tensor *other, lz_tensor *out,
                         const lz_add_out_args *args)
{
    args = args ? args : &lz_add_out_defaults;
    const lz_value lz_in[] = {
        lz_value_tensor(self),
        lz_value_tensor(other),
        lz_value_scalar(args->alpha),
        lz_value_tensor(out),
    };
    lz_value lz_out[1];
    lz_record(c, &lz_op_table[LZ_OP_add_out], at, lz_in, lz_out);
    return lz_out[0].tensor;
}

lz_tensor *lz_sub_Tensor_at(lz_ctx *c, lz_loc at, lz_tensor *self, lz_tensor *other,
                            const lz_sub_Tensor_args *args)
{
    args = args ? args : &lz_sub_Tensor_defaults;
    const lz_value lz_in[] = {
        lz_value_tensor(self),
        lz_value_tensor(other),
        lz_value_scalar(args->alpha),
    };
    lz_value lz_out[1];
    lz_record(c, &lz_op_table[LZ_OP_sub_Tensor], at, lz_in, lz_out);
    return lz_out[0].tensor;
}

lz_tensor *lz_relu_at(lz_ctx *c, lz_loc at, lz_tensor *self)
{
    const lz_value lz_in[] = {
        lz_value_tensor(self),
    };
    lz_value lz_out[1];
    lz_record(c, &lz_op_table[LZ_OP_relu], at, lz_in, lz_out);
    return lz_out[0].tensor;
}

lz_tensor *lz_mul_Scalar_at(lz_ctx *c, lz_loc at, lz_tensor *self, lz_scalar other)
{
    const lz_value lz_in[] = {
        lz_value_tensor(self),
        lz_value_scalar(other),
    };
    lz_value lz_out[1];
    lz_record(c, &lz_op_table[LZ_OP_mul_Scalar], at, lz_in, lz_out);
    return lz_out[0].tensor;
}

lz_max_dim_result lz_max_dim_at(lz_ctx *c, lz_loc at, lz_tensor *self, int64_t dim,
                                const lz_max_dim_args *args)
{
    args = args ? args : &lz_max_dim_defaults;
    const lz_value lz_in[] = {
        lz_value_tensor(self),
        lz_value_integer(dim),
        lz_value_truth(args->keepdim),
    };
    lz_value lz_out[2];
    lz_record(c, &lz_op_table[LZ_OP_max_dim], at, lz_in, lz_out);
    return (lz_max_dim_result){
        .values = lz_out[0].tensor,
        .indices = lz_out[1].tensor,
    };
}

lz_min_dim_result lz_min_dim_at(lz_ctx *c, lz_loc at, lz_tensor *self, int64_t dim,
                                const lz_min_dim_args *args)
{
    args = args ? args : &lz_min_dim_defaults;
    const lz_value lz_in[] = {
        lz_value_tensor(self),
        lz_value_integer(dim),
        lz_value_truth(args->keepdim),
    };
    lz_value lz_out[2];
    lz_record(c, &lz_op_table[LZ_OP_min_dim], at, lz_in, lz_out);
    return (lz_min_dim_result){
        .values = lz_out[0].tensor,
        .indices = lz_out[1].tensor,
    };
}

lz_frexp_parts_result lz_frexp_parts_at(lz_ctx *c, lz_loc at, lz_tensor *self)
{
    const lz_value lz_in[] = {
        lz_value_tensor(self),
    };
    lz_value lz_out[3];
    lz_record(c, &lz_op_table[LZ_OP_frexp_parts], at, lz_in, lz_out);
    return (lz_frexp_parts_result){
        .out0 = lz_out[0].tensor,
        .out1 = lz_out[1].tensor,
        .out2 = lz_out[2].integer,
    };
}

lz_tensor *lz_conv2d_at(lz_ctx *c, lz_loc at, lz_tensor *input, lz_tensor *weight, const lz_conv2d_args *args)
{
    args = args ? args : &lz_conv2d_defaults;
    const lz_value lz_in[] = {
        lz_value_tensor(input),
        lz_value_tensor(weight),
        lz_value_tensor(args->bias),
        lz_value_ints(args->stride),
        lz_value_ints(args->padding),
        lz_value_integer(args->groups),
    };
    lz_value lz_out[1];
    lz_record(c, &lz_op_table[LZ_OP_conv2d], at, lz_in, lz_out);
    return lz_out[0].tensor;
}

lz_tensor *lz_sum_dim_IntList_at(lz_ctx *c, lz_loc at, lz_tensor *self, lz_ints dim,
                                 const lz_sum_dim_IntList_args *args)
{
    args = args ? args : &lz_sum_dim_IntList_defaults;
    const lz_value lz_in[] = {
        lz_value_tensor(self),
        lz_value_ints(dim),
        lz_value_truth(args->keepdim),
        lz_value_dtype(args->dtype),
    };
    lz_value lz_out[1];
    lz_record(c, &lz_op_table[LZ_OP_sum_dim_IntList], at, lz_in, lz_out);
    return lz_out[0].tensor;
}

lz_tensor *lz_clamp_at(lz_ctx *c, lz_loc at, lz_tensor *self, const lz_clamp_args *args)
{
    args = args ? args : &lz_clamp_defaults;
    const lz_value lz_in[] = {
        lz_value_tensor(self),
        lz_value_scalar(args->min),
        lz_value_scalar(args->max),
    };
    lz_value lz_out[1];
    lz_record(c, &lz_op_table[LZ_OP_clamp], at, lz_in, lz_out);
    return lz_out[0].tensor;
}

lz_tensor *lz_options_at(lz_ctx *c, lz_loc at, lz_tensor *self, const lz_options_args *args)
{
    args = args ? args : &lz_options_defaults;
    const lz_value lz_in[] = {
        lz_value_tensor(self),
        lz_value_of_opt_int(args->a),
        lz_value_of_opt_float(args->b),
        lz_value_of_opt_bool(args->e),
        lz_value_str(args->s),
        lz_value_memory_format(args->f),
        lz_value_device(args->d),
        lz_value_generator(args->g),
        lz_value_floats(args->l),
    };
    lz_value lz_out[1];
    lz_record(c, &lz_op_table[LZ_OP_options], at, lz_in, lz_out);
    return lz_out[0].tensor;
}

lz_tensor *lz_empty_memory_format_at(lz_ctx *c, lz_loc at, lz_ints size,
                                     const lz_empty_memory_format_args *args)
{
    args = args ? args : &lz_empty_memory_format_defaults;
    const lz_value lz_in[] = {
        lz_value_ints(size),
        lz_value_dtype(args->dtype),
        lz_value_layout(args->layout),
        lz_value_device(args->device),
        lz_value_of_opt_bool(args->pin_memory),
        lz_value_memory_format(args->memory_format),
    };
    lz_value lz_out[1];
    lz_record(c, &lz_op_table[LZ_OP_empty_memory_format], at, lz_in, lz_out);
    return lz_out[0].tensor;
}

lz_tensors lz_split_Tensor_at(lz_ctx *c, lz_loc at, lz_tensor *self, int64_t split_size,
                              const lz_split_Tensor_args *args)
{
    args = args ? args : &lz_split_Tensor_defaults;
    const lz_value lz_in[] = {
        lz_value_tensor(self),
        lz_value_integer(split_size),
        lz_value_integer(args->dim),
    };
    lz_value lz_out[1];
    lz_record(c, &lz_op_table[LZ_OP_split_Tensor], at, lz_in, lz_out);
    return lz_out[0].tensors;
}

lz_tensor *lz_index_Tensor_at(lz_ctx *c, lz_loc at, lz_tensor *self, lz_tensors indices)
{
    const lz_value lz_in[] = {
        lz_value_tensor(self),
        lz_value_tensors(indices),
    };
    lz_value lz_out[1];
    lz_record(c, &lz_op_table[LZ_OP_index_Tensor], at, lz_in, lz_out);
    return lz_out[0].tensor;
}

void lz__foreach_add__List_at(lz_ctx *c, lz_loc at, lz_tensors self, lz_tensors other,
                              const lz__foreach_add__List_args *args)
{
    args = args ? args : &lz__foreach_add__List_defaults;
    const lz_value lz_in[] = {
        lz_value_tensors(self),
        lz_value_tensors(other),
        lz_value_scalar(args->alpha),
    };
    lz_value lz_out[1];
    lz_record(c, &lz_op_table[LZ_OP__foreach_add__List], at, lz_in, lz_out);
}

lz_words_result lz_words_at(lz_ctx *c, lz_loc at, lz_tensor *self, int64_t default_, lz_tensor *new_,
                            const lz_words_args *args)
{
    args = args ? args : &lz_words_defaults;
    const lz_value lz_in[] = {
        lz_value_tensor(self),
        lz_value_integer(default_),
        lz_value_tensor(new_),
        lz_value_integer(args->register_),
        lz_value_truth(args->this_),
        lz_value_real(args->I_),
        lz_value_integer(args->at_),
    };
    lz_value lz_out[2];
    lz_record(c, &lz_op_table[LZ_OP_words], at, lz_in, lz_out);
    return (lz_words_result){
        .template_ = lz_out[0].tensor,
        .c_ = lz_out[1].tensor,
    };
}

lz_tensor *lz_gelu_at(lz_ctx *c, lz_loc at, lz_tensor *self, const lz_gelu_args *args)
{
    args = args ? args : &lz_gelu_defaults;
    const lz_value lz_in[] = {
        lz_value_tensor(self),
        lz_value_str(args->approximate),
        lz_value_str(args->end),
    };
    lz_value lz_out[1];
    lz_record(c, &lz_op_table[LZ_OP_gelu], at, lz_in, lz_out);
    return lz_out[0].tensor;
}

void lz_nothing_at(lz_ctx *c, lz_loc at)
{
    lz_value lz_out[1];
    lz_record(c, &lz_op_table[LZ_OP_nothing], at, NULL, lz_out);
}

bool lz_late_at(lz_ctx *c, lz_loc at, lz_tensor *other, const lz_late_args *args)
{
    args = args ? args : &lz_late_defaults;
    const lz_value lz_in[] = {
        lz_value_integer(args->a),
        lz_value_tensor(args->self),
        lz_value_tensor(other),
    };
    lz_value lz_out[1];
    lz_record(c, &lz_op_table[LZ_OP_late], at, lz_in, lz_out);
    return lz_out[0].truth;
}

int64_t lz_all_named_at(lz_ctx *c, lz_loc at, const lz_all_named_args *args)
{
    args = args ? args : &lz_all_named_defaults;
    const lz_value lz_in[] = {
        lz_value_integer(args->n),
    };
    lz_value lz_out[1];
    lz_record(c, &lz_op_table[LZ_OP_all_named], at, lz_in, lz_out);
    return lz_out[0].integer;
}

lz_det_result_ lz_det_at(lz_ctx *c, lz_loc at, lz_tensor *A)
{
    const lz_value lz_in[] = {
        lz_value_tensor(A),
    };
    lz_value lz_out[2];
    lz_record(c, &lz_op_table[LZ_OP_det], at, lz_in, lz_out);
    return (lz_det_result_){
        .result = lz_out[0].tensor,
        .LU = lz_out[1].tensor,
    };
}

lz_det_result_result lz_det_result_at(lz_ctx *c, lz_loc at, lz_tensor *A, lz_tensor *result, lz_tensor *LU)
{
    const lz_value lz_in[] = {
        lz_value_tensor(A),
        lz_value_tensor(result),
        lz_value_tensor(LU),
    };
    lz_value lz_out[2];
    lz_record(c, &lz_op_table[LZ_OP_det_result], at, lz_in, lz_out);
    return (lz_det_result_result){
        .result = lz_out[0].tensor,
        .LU = lz_out[1].tensor,
    };
}

lz_tensor *lz_other_scale_at(lz_ctx *c, lz_loc at, lz_tensor *self, double by)
{
    const lz_value lz_in[] = {
        lz_value_tensor(self),
        lz_value_real(by),
    };
    lz_value lz_out[1];
    lz_record(c, &lz_op_table[LZ_OP_other_scale], at, lz_in, lz_out);
    return lz_out[0].tensor;
}

lz_tensor *lz_add_Scalar_at(lz_ctx *c, lz_loc at, lz_tensor *self, lz_scalar other,
                            const lz_add_Scalar_args *args)
{
    args = args ? args : &lz_add_Scalar_defaults;
    const lz_value lz_in[] = {
        lz_value_tensor(self),
        lz_value_scalar(other),
        lz_value_scalar(args->alpha),
    };
    lz_value lz_out[1];
    lz_record(c, &lz_op_table[LZ_OP_add_Scalar], at, lz_in, lz_out);
    return lz_out[0].tensor;
}

lz_tensor *lz_sum_at(lz_ctx *c, lz_loc at, lz_tensor *self, const lz_sum_args *args)
{
    args = args ? args : &lz_sum_defaults;
    const lz_value lz_in[] = {
        lz_value_tensor(self),
        lz_value_dtype(args->dtype),
    };
    lz_value lz_out[1];
    lz_record(c, &lz_op_table[LZ_OP_sum], at, lz_in, lz_out);
    return lz_out[0].tensor;
}

lz_tensor *lz_empty_memory_format_out_at(lz_ctx *c, lz_loc at, lz_ints size, lz_tensor *out,
                                         const lz_empty_memory_format_out_args *args)
{
    args = args ? args : &lz_empty_memory_format_out_defaults;
    const lz_value lz_in[] = {
        lz_value_ints(size),
        lz_value_memory_format(args->memory_format),
        lz_value_tensor(out),
    };
    lz_value lz_out[1];
    lz_record(c, &lz_op_table[LZ_OP_empty_memory_format_out], at, lz_in, lz_out);
    return lz_out[0].tensor;
}

