#include <lazuli/ops.h>

const lz_add_Tensor_args lz_add_Tensor_defaults = {
    .alpha = { LZ_SCALAR_INT, 1, 0, 0 },
};

const lz_add__Tensor_args lz_add__Tensor_defaults = {
    .alpha = { LZ_SCALAR_INT, 1, 0, 0 },
};

const lz_add_out_args lz_add_out_defaults = {
    .alpha = { LZ_SCALAR_INT, 1, 0, 0 },
};

const lz_sub_Tensor_args lz_sub_Tensor_defaults = {
    .alpha = { LZ_SCALAR_INT, 1, 0, 0 },
};

const lz_max_dim_args lz_max_dim_defaults = {
    .keepdim = false,
};

const lz_min_dim_args lz_min_dim_defaults = {
    .keepdim = false,
};

const lz_conv2d_args lz_conv2d_defaults = {
    .bias = NULL,
    .stride = { (const int64_t[]){ 1, 1 }, 2 },
    .padding = { (const int64_t[]){ 0, 0 }, 2 },
    .groups = 1,
};

const lz_sum_dim_IntList_args lz_sum_dim_IntList_defaults = {
    .keepdim = false,
    .dtype = LZ_DTYPE_NONE,
};

const lz_clamp_args lz_clamp_defaults = {
    .min = { LZ_SCALAR_NONE, 0, 0, 0 },
    .max = { LZ_SCALAR_NONE, 0, 0, 0 },
};

const lz_options_args lz_options_defaults = {
    .a = { true, 2 },
    .b = { false, 0 },
    .e = { true, false },
    .s = NULL,
    .f = LZ_CONTIGUOUS,
    .d = { -1, -1 },
    .g = NULL,
    .l = { (const double[]){ 0.5, 1.0 }, 2 },
};

const lz_empty_memory_format_args lz_empty_memory_format_defaults = {
    .dtype = LZ_DTYPE_NONE,
    .layout = LZ_LAYOUT_NONE,
    .device = { -1, -1 },
    .pin_memory = { false, 0 },
    .memory_format = LZ_MEMORY_FORMAT_NONE,
};

const lz_split_Tensor_args lz_split_Tensor_defaults = {
    .dim = 0,
};

const lz__foreach_add__List_args lz__foreach_add__List_defaults = {
    .alpha = { LZ_SCALAR_INT, 1, 0, 0 },
};

const lz_words_args lz_words_defaults = {
    .register_ = 0,
    .this_ = true,
    .I_ = 0.25,
    .at_ = 1,
};

const lz_gelu_args lz_gelu_defaults = {
    .approximate = "none",
    .end = "*/\"?\?/",
};

const lz_late_args lz_late_defaults = {
    .a = 1,
    .self = NULL,
};

const lz_all_named_args lz_all_named_defaults = {
    .n = 3,
};

const lz_add_Scalar_args lz_add_Scalar_defaults = {
    .alpha = { LZ_SCALAR_INT, 1, 0, 0 },
};

const lz_sum_args lz_sum_defaults = {
    .dtype = LZ_DTYPE_NONE,
};

const lz_empty_memory_format_out_args lz_empty_memory_format_out_defaults = {
    .memory_format = LZ_MEMORY_FORMAT_NONE,
};

