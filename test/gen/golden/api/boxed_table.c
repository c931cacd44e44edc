#include "api/boxed_table.h"
#include <lazuli/ops.h>

const lz_boxed_row lz_boxed_table[LZ_OP_COUNT] = {
    [LZ_OP_NONE] = { NULL, NULL },
    [LZ_OP_add_Tensor] = { lz_boxed_add_Tensor, (lz_any_fn *)lz_add_Tensor_at },
    [LZ_OP_add__Tensor] = { lz_boxed_add_Tensor, (lz_any_fn *)lz_add__Tensor_at },
    [LZ_OP_add_out] = { lz_boxed_add_out, (lz_any_fn *)lz_add_out_at },
    [LZ_OP_sub_Tensor] = { lz_boxed_add_Tensor, (lz_any_fn *)lz_sub_Tensor_at },
    [LZ_OP_relu] = { lz_boxed_relu, (lz_any_fn *)lz_relu_at },
    [LZ_OP_mul_Scalar] = { lz_boxed_mul_Scalar, (lz_any_fn *)lz_mul_Scalar_at },
    [LZ_OP_max_dim] = { lz_boxed_max_dim, (lz_any_fn *)lz_max_dim_at },
    [LZ_OP_min_dim] = { lz_boxed_max_dim, (lz_any_fn *)lz_min_dim_at },
    [LZ_OP_frexp_parts] = { lz_boxed_frexp_parts, (lz_any_fn *)lz_frexp_parts_at },
    [LZ_OP_conv2d] = { lz_boxed_conv2d, (lz_any_fn *)lz_conv2d_at },
    [LZ_OP_sum_dim_IntList] = { lz_boxed_sum_dim_IntList, (lz_any_fn *)lz_sum_dim_IntList_at },
    [LZ_OP_clamp] = { lz_boxed_clamp, (lz_any_fn *)lz_clamp_at },
    [LZ_OP_options] = { lz_boxed_options, (lz_any_fn *)lz_options_at },
    [LZ_OP_empty_memory_format] = { lz_boxed_empty_memory_format, (lz_any_fn *)lz_empty_memory_format_at },
    [LZ_OP_split_Tensor] = { lz_boxed_split_Tensor, (lz_any_fn *)lz_split_Tensor_at },
    [LZ_OP_index_Tensor] = { lz_boxed_index_Tensor, (lz_any_fn *)lz_index_Tensor_at },
    [LZ_OP__foreach_add__List] = { lz_boxed__foreach_add__List, (lz_any_fn *)lz__foreach_add__List_at },
    [LZ_OP_words] = { lz_boxed_words, (lz_any_fn *)lz_words_at },
    [LZ_OP_gelu] = { lz_boxed_gelu, (lz_any_fn *)lz_gelu_at },
    [LZ_OP_nothing] = { lz_boxed_nothing, (lz_any_fn *)lz_nothing_at },
    [LZ_OP_late] = { lz_boxed_late, (lz_any_fn *)lz_late_at },
    [LZ_OP_all_named] = { lz_boxed_all_named, (lz_any_fn *)lz_all_named_at },
    [LZ_OP_det] = { lz_boxed_det, (lz_any_fn *)lz_det_at },
    [LZ_OP_det_result] = { lz_boxed_det_result, (lz_any_fn *)lz_det_result_at },
    [LZ_OP_other_scale] = { lz_boxed_other_scale, (lz_any_fn *)lz_other_scale_at },
    [LZ_OP_add_Scalar] = { lz_boxed_add_Scalar, (lz_any_fn *)lz_add_Scalar_at },
    [LZ_OP_sum] = { lz_boxed_sum, (lz_any_fn *)lz_sum_at },
    [LZ_OP_empty_memory_format_out] = { lz_boxed_empty_memory_format_out, (lz_any_fn *)lz_empty_memory_format_out_at },
};

lz_err *lz_boxed_call(lz_op op, lz_ctx *c, lz_loc at, const lz_value *in, size_t n, lz_value *out)
{
    lz_bound bound;
    const lz_boxed_row *row = &lz_boxed_table[op];
    LZ_TRY(lz_boxed_bind(&lz_op_table[op], at, in, n, &bound));
    row->thunk(row->function, c, at, bound.in, out);
    return NULL;
}
