#include <lazuli/short_ops.h>

/* As in tensor.h, some of whose functions have names that operators may have. */
LZ_API lz_tensor *lz_fail(lz_ctx *c, lz_loc at, lz_code code, const char *text);

const lz_add_any_args lz_add_any_defaults = {
    .alpha = { LZ_SCALAR_INT, 1, 0, 0 },
};

lz_tensor *lz_add_any_at(lz_ctx *c, lz_loc at, lz_tensor *self, lz_operand other,
    const lz_add_any_args *args)
{
    args = args ? args : &lz_add_any_defaults;
    if (lz_operand_is_tensor(other))
        return lz_add_Tensor_at(c, at, self, other.tensor, &(const lz_add_Tensor_args){ .alpha = args->alpha,
        });
    if (!lz_operand_is_tensor(other))
        return lz_add_Scalar_at(c, at, self, other.number, &(const lz_add_Scalar_args){ .alpha = args->alpha,
        });
    return lz_fail(c, at, LZ_ERR_ARG, "add: no overload takes these tensors and numbers");
}

const lz_sum_any_args lz_sum_any_defaults = {
    .dim = { NULL, -1 },
    .keepdim = false,
    .dtype = LZ_DTYPE_NONE,
};

lz_tensor *lz_sum_any_at(lz_ctx *c, lz_loc at, lz_tensor *self, const lz_sum_any_args *args)
{
    args = args ? args : &lz_sum_any_defaults;
    if (args->dim.n >= 0)
        return lz_sum_dim_IntList_at(c, at, self, args->dim, &(const lz_sum_dim_IntList_args){
        .keepdim = args->keepdim, .dtype = args->dtype, });
    if (args->keepdim)
        return lz_fail(c, at, LZ_ERR_ARG, "sum: keepdim is given without dim");
    return lz_sum_at(c, at, self, &(const lz_sum_args){ .dtype = args->dtype, });
}

