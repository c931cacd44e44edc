#include "lazy/lazy_table.h"

const uint8_t lz_lazy_table[LZ_OP_COUNT] = {
    [LZ_OP_NONE] = 0,
    [LZ_OP_add_Tensor] = LZ_LAZY_RECORDED,
    [LZ_OP_add__Tensor] = LZ_LAZY_RECORDED,
    [LZ_OP_add_out] = LZ_LAZY_RECORDED,
    [LZ_OP_relu] = LZ_LAZY_IR_GEN,
    [LZ_OP_max_dim] = LZ_LAZY_RECORDED,
    [LZ_OP_conv2d] = LZ_LAZY_RECORDED | LZ_LAZY_SYMINT,
    [LZ_OP_sum_dim_IntList] = LZ_LAZY_AUTOGRAD,
    [LZ_OP_options] = LZ_LAZY_RECORDED,
    [LZ_OP_empty_memory_format] = LZ_LAZY_SUPPORTED,
    [LZ_OP_index_Tensor] = LZ_LAZY_SUPPORTED,
    [LZ_OP_gelu] = LZ_LAZY_RECORDED,
};
