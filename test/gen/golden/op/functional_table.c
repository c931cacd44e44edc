#include "op/functional_table.h"

static const lz_write_row write_add__Tensor[] = { { 0, 0 } };
static const lz_write_row write_add_out[] = { { 3, 0 } };
static const lz_write_row write__foreach_add__List[] = { { 0, 0 } };
static const lz_write_row write_det_result[] = { { 1, 0 }, { 2, 1 } };
static const lz_write_row write_empty_memory_format_out[] = { { 2, 0 } };
static const uint8_t from_empty_memory_format_out[] = { 0, LZ_NO_ARGUMENT, LZ_NO_ARGUMENT, LZ_NO_ARGUMENT, LZ_NO_ARGUMENT, 1 };

const lz_functional_row lz_functional_table[LZ_OP_COUNT] = {
    [LZ_OP_NONE] = { 0 },
    [LZ_OP_add_Tensor] = { .inplace = LZ_OP_add__Tensor, .nwrites = 0 },
    [LZ_OP_add__Tensor] = { .functional = LZ_OP_add_Tensor, .nwrites = 1, .writes = write_add__Tensor },
    [LZ_OP_add_out] = { .functional = LZ_OP_add_Tensor, .nwrites = 1, .writes = write_add_out },
    [LZ_OP__foreach_add__List] = { .nwrites = 1, .writes = write__foreach_add__List },
    [LZ_OP_det_result] = { .functional = LZ_OP_det, .nwrites = 2, .writes = write_det_result },
    [LZ_OP_empty_memory_format_out] = { .functional = LZ_OP_empty_memory_format, .nwrites = 1, .dtype = 2, .writes = write_empty_memory_format_out, .from = from_empty_memory_format_out },
};
