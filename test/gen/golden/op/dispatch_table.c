#include "op/dispatch_table.h"

const uint16_t lz_composite_order[LZ_COMPOSITES] = {
    LZ_KEY_CompositeExplicitAutograd,
    LZ_KEY_CompositeExplicitAutogradNonFunctional,
    LZ_KEY_CompositeImplicitAutograd,
    LZ_KEY_CompositeImplicitAutogradNestedTensor,
};

static const lz_kernel_row add_out_kernels[] = {
    { "add_cpu", "at::native", LZ_KEY_CPU, LZ_KERNEL_STRUCTURED },
    { "add_gpu", "at::native", LZ_KEY_CUDA, LZ_KERNEL_STRUCTURED },
    { "add_gpu", "at::native", LZ_KEY_MPS, LZ_KERNEL_STRUCTURED },
    { "add_sparse_symint", "sparse::native", LZ_KEY_SparseCPU, LZ_KERNEL_SYMINT },
};
static const lz_kernel_row sub_Tensor_kernels[] = {
    { "sub", "at::native", LZ_KEY_CompositeImplicitAutograd, 0 },
};
static const lz_kernel_row relu_kernels[] = {
    { "relu", "at::native", LZ_KEY_CompositeImplicitAutograd, 0 },
};
static const lz_kernel_row mul_Scalar_kernels[] = {
    { "mul", "at::native", LZ_KEY_CompositeImplicitAutograd, 0 },
};
static const lz_kernel_row max_dim_kernels[] = {
    { "max", "at::native", LZ_KEY_CompositeImplicitAutograd, 0 },
};
static const lz_kernel_row min_dim_kernels[] = {
    { "min", "at::native", LZ_KEY_CompositeImplicitAutograd, 0 },
};
static const lz_kernel_row frexp_parts_kernels[] = {
    { "frexp_parts", "at::native", LZ_KEY_CompositeImplicitAutograd, 0 },
};
static const lz_kernel_row conv2d_kernels[] = {
    { "conv2d", "at::native", LZ_KEY_CompositeImplicitAutograd, 0 },
};
static const lz_kernel_row sum_dim_IntList_kernels[] = {
    { "sum", "at::native", LZ_KEY_CompositeImplicitAutograd, 0 },
};
static const lz_kernel_row clamp_kernels[] = {
    { "clamp", "at::native", LZ_KEY_CompositeImplicitAutograd, 0 },
};
static const lz_kernel_row options_kernels[] = {
    { "options", "at::native", LZ_KEY_CompositeImplicitAutograd, 0 },
};
static const lz_kernel_row empty_memory_format_kernels[] = {
    { "empty_cpu", "at::native", LZ_KEY_CPU, 0 },
    { "empty_any", "at::native", LZ_KEY_CompositeExplicitAutograd, 0 },
};
static const lz_kernel_row split_Tensor_kernels[] = {
    { "split", "at::native", LZ_KEY_CompositeImplicitAutograd, 0 },
};
static const lz_kernel_row index_Tensor_kernels[] = {
    { "index", "at::native", LZ_KEY_CompositeImplicitAutograd, 0 },
};
static const lz_kernel_row _foreach_add__List_kernels[] = {
    { "_foreach_add_", "at::native", LZ_KEY_CompositeImplicitAutograd, 0 },
};
static const lz_kernel_row words_kernels[] = {
    { "words", "at::native", LZ_KEY_CompositeImplicitAutograd, 0 },
};
static const lz_kernel_row gelu_kernels[] = {
    { "gelu", "at::native", LZ_KEY_CompositeImplicitAutograd, 0 },
};
static const lz_kernel_row nothing_kernels[] = {
    { "nothing", "at::native", LZ_KEY_CompositeImplicitAutograd, 0 },
};
static const lz_kernel_row late_kernels[] = {
    { "late", "at::native", LZ_KEY_CompositeImplicitAutograd, 0 },
};
static const lz_kernel_row all_named_kernels[] = {
    { "all_named", "at::native", LZ_KEY_CompositeImplicitAutograd, 0 },
};
static const lz_kernel_row det_kernels[] = {
    { "det", "at::native", LZ_KEY_CompositeImplicitAutograd, 0 },
};
static const lz_kernel_row det_result_kernels[] = {
    { "det_out", "at::native", LZ_KEY_CompositeImplicitAutograd, 0 },
};
static const lz_kernel_row other_scale_kernels[] = {
    { "scale", "at::native", LZ_KEY_CompositeImplicitAutograd, 0 },
};
static const lz_kernel_row add_Scalar_kernels[] = {
    { "add", "at::native", LZ_KEY_CompositeImplicitAutograd, 0 },
};
static const lz_kernel_row sum_kernels[] = {
    { "sum", "at::native", LZ_KEY_CompositeImplicitAutograd, 0 },
};
static const lz_kernel_row empty_memory_format_out_kernels[] = {
    { "empty_memory_format_out_symint", "at::native", LZ_KEY_CompositeExplicitAutograd, LZ_KERNEL_SYMINT },
};

const lz_dispatch_row lz_dispatch_table[LZ_OP_COUNT] = {
    [LZ_OP_NONE] = { 0 },
    [LZ_OP_add_Tensor] = { .delegate = LZ_OP_add_out, .device_check = true, .device_guard = true },
    [LZ_OP_add__Tensor] = { .delegate = LZ_OP_add_out, .device_check = true, .device_guard = true },
    [LZ_OP_add_out] = { .kernels = add_out_kernels, .nkernels = 4, .device_check = true, .device_guard = true },
    [LZ_OP_sub_Tensor] = { .kernels = sub_Tensor_kernels, .nkernels = 1, .composite = 4, .device_check = true, .device_guard = true },
    [LZ_OP_relu] = { .kernels = relu_kernels, .nkernels = 1, .composite = 4, .device_check = true, .device_guard = true },
    [LZ_OP_mul_Scalar] = { .kernels = mul_Scalar_kernels, .nkernels = 1, .composite = 4, .device_check = true, .device_guard = true },
    [LZ_OP_max_dim] = { .kernels = max_dim_kernels, .nkernels = 1, .composite = 4, .device_check = true, .device_guard = true },
    [LZ_OP_min_dim] = { .kernels = min_dim_kernels, .nkernels = 1, .composite = 4, .device_check = true, .device_guard = true },
    [LZ_OP_frexp_parts] = { .kernels = frexp_parts_kernels, .nkernels = 1, .composite = 4, .device_check = true, .device_guard = true },
    [LZ_OP_conv2d] = { .kernels = conv2d_kernels, .nkernels = 1, .composite = 4, .device_check = true, .device_guard = true },
    [LZ_OP_sum_dim_IntList] = { .kernels = sum_dim_IntList_kernels, .nkernels = 1, .composite = 4, .device_check = true, .device_guard = true },
    [LZ_OP_clamp] = { .kernels = clamp_kernels, .nkernels = 1, .composite = 4, .device_check = true, .device_guard = true },
    [LZ_OP_options] = { .kernels = options_kernels, .nkernels = 1, .composite = 4, .device_check = true, .device_guard = true },
    [LZ_OP_empty_memory_format] = { .kernels = empty_memory_format_kernels, .nkernels = 2, .composite = 1, .device_check = true, .device_guard = true },
    [LZ_OP_split_Tensor] = { .kernels = split_Tensor_kernels, .nkernels = 1, .composite = 4, .device_check = true, .device_guard = true },
    [LZ_OP_index_Tensor] = { .kernels = index_Tensor_kernels, .nkernels = 1, .composite = 4, .device_check = true, .device_guard = true },
    [LZ_OP__foreach_add__List] = { .kernels = _foreach_add__List_kernels, .nkernels = 1, .composite = 4, .device_guard = true },
    [LZ_OP_words] = { .kernels = words_kernels, .nkernels = 1, .composite = 4, .device_check = true, .device_guard = true },
    [LZ_OP_gelu] = { .kernels = gelu_kernels, .nkernels = 1, .composite = 4, .device_check = true, .device_guard = true },
    [LZ_OP_nothing] = { .kernels = nothing_kernels, .nkernels = 1, .composite = 4, .device_check = true, .device_guard = true },
    [LZ_OP_late] = { .kernels = late_kernels, .nkernels = 1, .composite = 4, .device_check = true, .device_guard = true },
    [LZ_OP_all_named] = { .kernels = all_named_kernels, .nkernels = 1, .composite = 4, .device_check = true, .device_guard = true },
    [LZ_OP_det] = { .kernels = det_kernels, .nkernels = 1, .composite = 4, .device_check = true, .device_guard = true },
    [LZ_OP_det_result] = { .kernels = det_result_kernels, .nkernels = 1, .composite = 4, .device_check = true, .device_guard = true },
    [LZ_OP_other_scale] = { .kernels = other_scale_kernels, .nkernels = 1, .composite = 4, .device_check = true, .device_guard = true },
    [LZ_OP_add_Scalar] = { .kernels = add_Scalar_kernels, .nkernels = 1, .composite = 4, .device_check = true, .device_guard = true },
    [LZ_OP_sum] = { .kernels = sum_kernels, .nkernels = 1, .composite = 4, .device_check = true, .device_guard = true },
    [LZ_OP_empty_memory_format_out] = { .kernels = empty_memory_format_out_kernels, .nkernels = 1, .composite = 1, .device_guard = false },
};
