/* To be filled in: copy this file and write what each operator is on the device. */
#include "xla_ops.h"

static lz_err *not_written(const lz_node *n)
{
    return lz_error(LZ_ERR_UNSUPPORTED, "xla has no %s yet", lz_node_op(n)->name);
}

/* add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor */
lz_err *xla_add_Tensor(xla_lowering *l, const lz_node *n)
{
    (void)l;
    return not_written(n);
}

/* conv2d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[2] stride=1, SymInt[2] padding=[0,0], SymInt groups=1) -> Tensor */
lz_err *xla_conv2d(xla_lowering *l, const lz_node *n)
{
    (void)l;
    return not_written(n);
}

/* empty.memory_format(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor */
lz_err *xla_empty_memory_format(xla_lowering *l, const lz_node *n)
{
    (void)l;
    return not_written(n);
}

/* gelu(Tensor self, *, str approximate='none', str end="* /\"??/") -> Tensor */
lz_err *xla_gelu(xla_lowering *l, const lz_node *n)
{
    (void)l;
    return not_written(n);
}

/* index.Tensor(Tensor self, Tensor?[] indices) -> Tensor */
lz_err *xla_index_Tensor(xla_lowering *l, const lz_node *n)
{
    (void)l;
    return not_written(n);
}

/* max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices) */
lz_err *xla_max_dim(xla_lowering *l, const lz_node *n)
{
    (void)l;
    return not_written(n);
}

/* options(Tensor self, int? a=2, float? b=None, bool? e=False, str? s=None, MemoryFormat? f=contiguous_format, Device? d=None, Generator? g=None, float[]? l=[0.5,1]) -> Tensor */
lz_err *xla_options(xla_lowering *l, const lz_node *n)
{
    (void)l;
    return not_written(n);
}

/* sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor */
lz_err *xla_sum_dim_IntList(xla_lowering *l, const lz_node *n)
{
    (void)l;
    return not_written(n);
}

