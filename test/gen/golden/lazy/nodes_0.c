#include "lazy/nodes.h"
#include "op/op_table.h"

lz_err *lz_make_add_Tensor(lz_ir *lz_where, lz_output self, lz_output other, lz_scalar alpha,
                           lz_output *lz_out)
{
    const lz_operands lz_in[] = {
        { &self, 1 },
        { &other, 1 },
    };
    const lz_value lz_args[] = {
        lz_value_none(),
        lz_value_none(),
        lz_value_scalar(alpha),
    };
    return lz_ir_make(lz_where, &lz_op_table[LZ_OP_add_Tensor], lz_args, lz_in, 2, lz_out);
}

lz_err *lz_make_relu(lz_ir *lz_where, lz_output self, lz_output *lz_out)
{
    const lz_operands lz_in[] = {
        { &self, 1 },
    };
    const lz_value lz_args[] = {
        lz_value_none(),
    };
    return lz_ir_make(lz_where, &lz_op_table[LZ_OP_relu], lz_args, lz_in, 1, lz_out);
}

lz_err *lz_make_max_dim(lz_ir *lz_where, lz_output self, int64_t dim, bool keepdim, lz_output *lz_out)
{
    const lz_operands lz_in[] = {
        { &self, 1 },
    };
    const lz_value lz_args[] = {
        lz_value_none(),
        lz_value_integer(dim),
        lz_value_truth(keepdim),
    };
    return lz_ir_make(lz_where, &lz_op_table[LZ_OP_max_dim], lz_args, lz_in, 1, lz_out);
}

lz_err *lz_make_conv2d(lz_ir *lz_where, lz_output input, lz_output weight, lz_output bias, lz_ints stride,
                       lz_ints padding, int64_t groups, lz_output *lz_out)
{
    const lz_operands lz_in[] = {
        { &input, 1 },
        { &weight, 1 },
        { &bias, 1 },
    };
    const lz_value lz_args[] = {
        lz_value_none(),
        lz_value_none(),
        lz_value_none(),
        lz_value_ints(stride),
        lz_value_ints(padding),
        lz_value_integer(groups),
    };
    return lz_ir_make(lz_where, &lz_op_table[LZ_OP_conv2d], lz_args, lz_in, 3, lz_out);
}

lz_err *lz_make_options(lz_ir *lz_where, lz_output self, lz_opt_int a, lz_opt_float b, lz_opt_bool e,
                        const char *s, lz_memory_format f, lz_device d, lz_floats l, lz_output *lz_out)
{
    const lz_operands lz_in[] = {
        { &self, 1 },
    };
    const lz_value lz_args[] = {
        lz_value_none(),
        lz_value_of_opt_int(a),
        lz_value_of_opt_float(b),
        lz_value_of_opt_bool(e),
        lz_value_str(s),
        lz_value_memory_format(f),
        lz_value_device(d),
        lz_value_none(),
        lz_value_floats(l),
    };
    return lz_ir_make(lz_where, &lz_op_table[LZ_OP_options], lz_args, lz_in, 1, lz_out);
}

lz_err *lz_make_gelu(lz_ir *lz_where, lz_output self, const char *approximate, const char *end,
                     lz_output *lz_out)
{
    const lz_operands lz_in[] = {
        { &self, 1 },
    };
    const lz_value lz_args[] = {
        lz_value_none(),
        lz_value_str(approximate),
        lz_value_str(end),
    };
    return lz_ir_make(lz_where, &lz_op_table[LZ_OP_gelu], lz_args, lz_in, 1, lz_out);
}

