#include "xla_ops.h"
#include <stdlib.h>
#include <string.h>

static const xla_op ops[] = {
    { "add.Tensor", xla_add_Tensor },
    { "conv2d", xla_conv2d },
    { "empty.memory_format", xla_empty_memory_format },
    { "gelu", xla_gelu },
    { "index.Tensor", xla_index_Tensor },
    { "max.dim", xla_max_dim },
    { "options", xla_options },
    { "sum.dim_IntList", xla_sum_dim_IntList },
};

static int compare(const void *name, const void *op)
{
    return strcmp(name, ((const xla_op *)op)->name);
}

const xla_op *xla_op_find(const lz_op_row *op)
{
    return bsearch(op->name, ops, sizeof ops / sizeof *ops, sizeof *ops, compare);
}
