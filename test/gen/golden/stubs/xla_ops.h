/* xla_ops.h - the operators of backend xla. Made by lazuli-gen from its file. */
#ifndef XLA_OPS_H
#define XLA_OPS_H

#include <lazuli/backend.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct xla_lowering xla_lowering; /* a graph on its way: yours to define */

/* Adds what node n computes to the graph. */
typedef lz_err *xla_op_fn(xla_lowering *l, const lz_node *n);

typedef struct xla_op {
    const char *name;
    xla_op_fn *lower;
} xla_op;

/* NULL: the backend does not have it. */
const xla_op *xla_op_find(const lz_op_row *op);

/* add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor */
xla_op_fn xla_add_Tensor;
/* conv2d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[2] stride=1, SymInt[2] padding=[0,0], SymInt groups=1) -> Tensor */
xla_op_fn xla_conv2d;
/* empty.memory_format(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor */
xla_op_fn xla_empty_memory_format;
/* gelu(Tensor self, *, str approximate='none', str end="* /\"??/") -> Tensor */
xla_op_fn xla_gelu;
/* index.Tensor(Tensor self, Tensor?[] indices) -> Tensor */
xla_op_fn xla_index_Tensor;
/* max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices) */
xla_op_fn xla_max_dim;
/* options(Tensor self, int? a=2, float? b=None, bool? e=False, str? s=None, MemoryFormat? f=contiguous_format, Device? d=None, Generator? g=None, float[]? l=[0.5,1]) -> Tensor */
xla_op_fn xla_options;
/* sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor */
xla_op_fn xla_sum_dim_IntList;

#ifdef __cplusplus
}
#endif
#endif
