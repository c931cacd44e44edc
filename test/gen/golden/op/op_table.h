/* op_table.h - the operators by number. Made by lazuli-gen from the operator files. */
#ifndef LZ_OP_OP_TABLE_H
#define LZ_OP_OP_TABLE_H

#include <lazuli/schema.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum lz_op {
    LZ_OP_NONE,
    LZ_OP_add_Tensor,
    LZ_OP_add__Tensor,
    LZ_OP_add_out,
    LZ_OP_sub_Tensor,
    LZ_OP_relu,
    LZ_OP_mul_Scalar,
    LZ_OP_max_dim,
    LZ_OP_min_dim,
    LZ_OP_frexp_parts,
    LZ_OP_conv2d,
    LZ_OP_sum_dim_IntList,
    LZ_OP_clamp,
    LZ_OP_options,
    LZ_OP_empty_memory_format,
    LZ_OP_split_Tensor,
    LZ_OP_index_Tensor,
    LZ_OP__foreach_add__List,
    LZ_OP_words,
    LZ_OP_gelu,
    LZ_OP_nothing,
    LZ_OP_late,
    LZ_OP_all_named,
    LZ_OP_det,
    LZ_OP_det_result,
    LZ_OP_other_scale,
    LZ_OP_add_Scalar,
    LZ_OP_sum,
    LZ_OP_empty_memory_format_out,
    LZ_OP_COUNT
} lz_op;

/* Bits of lz_op_row.tags. */
typedef enum lz_tag {
    LZ_TAG_core,
    LZ_TAG_pointwise,
    LZ_TAG_reduction,
    LZ_TAG_generated,
    LZ_TAG_nondeterministic_seeded,
    LZ_TAG_out,
    LZ_TAG_COUNT
} lz_tag;

#define LZ_TAG_BIT(tag) (UINT64_C(1) << LZ_TAG_##tag)

/* By lz_op; row 0 is empty. */
extern const lz_op_row lz_op_table[LZ_OP_COUNT];
extern const lz_layout_row lz_op_layout[LZ_OP_COUNT];
/* Every lz_op, sorted by name, then by namespace: overloads stand together. */
extern const uint16_t lz_op_by_name[LZ_OP_COUNT];

/* Operators of PyTorch that are not planned. Ends with a row without a pattern. */
typedef struct lz_left_out_row {
    const char *pattern; /* of names without overload; * stands for any characters */
    const char *family;
} lz_left_out_row;
extern const lz_left_out_row lz_left_out_table[];

/* A selective build: operators may be missing. */
extern const bool lz_op_table_selective;

#ifdef __cplusplus
}
#endif
#endif
