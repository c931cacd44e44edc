/* variable_kernel.h - one kernel of VariableType, and the parts that print it.
 *
 * An in-place foreach kernel has the derivatives of another operator, element by element: its inputs have
 * that operator's names, and lzg_foreach_argument finds the list that stands for one. */
#ifndef LZG_VARIABLE_KERNEL_H
#define LZG_VARIABLE_KERNEL_H

#include "gen/api/derivative.h"
#include "gen/torch/autograd/autograd_kernel.h"

typedef struct lzg_variable {
    lz_str name;
    const lzg_type *type;
} lzg_variable;

typedef struct lzg_vkernel {
    lzg_snippets *s;
    const lzg_ops *ops;
    const lzg_function *f;
    const lzg_diff_info *info; /* NULL: no derivatives */
    lzg_forwards forward;
    lzg_autograd_kernel k;
    lz_str viewed;              /* the argument that results are views of; ptr NULL: none */
    const lzg_variable *inputs; /* the differentiable ones */
    size_t ninputs;
    const lzg_variable *args; /* of these, the ones with derivatives */
    size_t nargs;
    lzg_names outputs;
    lzg_bindings unpacked; /* arguments of the call below autograd */
    bool inplace, out, foreach, foreach_inplace;
    bool has_derivatives;
    bool requires_derivative;   /* something is differentiable */
    bool try_jit_decomposition; /* tangents, too, may be computed by a decomposition */
} lzg_vkernel;

bool lzg_is_tensor_list(const lzg_type *t); /* looking through ? */
bool lzg_vkernel_listed(const lzg_vkernel *v, const char *list, lz_str name);

/* Of an in-place foreach kernel: the argument in the place of the reference's one; else NULL. */
const lzg_argument *lzg_foreach_argument(const lzg_vkernel *v, lz_str name);
bool lzg_is_list(const lzg_argument *arg);

/* ---- tangents (variable_tangents.c) ---- */

void lzg_any_has_forward_grad(const lzg_vkernel *v, lzg_pieces *body);
lz_str lzg_has_forward_grad(const lzg_vkernel *v, const lzg_forward *fw); /* name of the variable */
lz_str lzg_any_tangent(const lzg_vkernel *v);                             /* a condition: of any input */
lz_str lzg_forbid_forward(const lzg_vkernel *v);
LZ_MUST_USE lz_err *lzg_forward_statements(const lzg_vkernel *v, lzg_pieces *body);

/* ---- saved values (variable_saves.c) ---- */

LZ_MUST_USE lz_err *lzg_save_inputs(const lzg_vkernel *v, lzg_pieces *setup);
LZ_MUST_USE lz_err *lzg_save_outputs(const lzg_vkernel *v, lzg_pieces *body);

/* A loop over the nodes of an in-place foreach kernel. */
lz_str lzg_for_each_node(const lzg_vkernel *v, lz_str preamble, lz_str statements);

/* ---- the call (variable_call.c) ---- */

LZ_MUST_USE lz_err *lzg_variable_call(const lzg_vkernel *v, lzg_pieces *body);

#endif
