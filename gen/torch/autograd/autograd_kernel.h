/* autograd_kernel.h - what the kernels of one operator have in common that are called around those of
 * backends: names, types and parameters, and how results are bound and returned. */
#ifndef LZG_AUTOGRAD_KERNEL_H
#define LZG_AUTOGRAD_KERNEL_H

#include "gen/model/model.h"
#include "gen/text/snippet.h"

typedef struct lzg_autograd_kernel {
    const lzg_function *f;
    lz_str name;           /* the C++ function: add_, add_out */
    lz_str wrapper;        /* the kernel: add_out_out */
    lz_str returns;        /* its type */
    lz_str formals;        /* "c10::DispatchKeySet ks, const at::Tensor & self" */
    lz_str exprs;          /* "self, other" */
    lzg_bindings args;     /* as the dispatcher passes them */
    const lz_str *results; /* names of the returned values */
} lzg_autograd_kernel;

LZ_MUST_USE
lz_err *lzg_autograd_kernel_init(lzg_autograd_kernel *k, lzg_snippets *s, const lzg_function *f);

/* In place or with out arguments: what is written is an argument. */
bool lzg_modifies_arguments(const lzg_function *f);

/* Neither autograd nor tracing kernels are written for these: they are written by hand. */
bool lzg_is_manual_autograd(const lzg_ops *ops, lz_str cpp_name);

/* "auto result", "auto [values, indices]" */
lz_str lzg_tie_return_values(lzg_snippets *s, const lzg_autograd_kernel *k);
/* "result", "std::make_tuple(std::move(values), std::move(indices))", ... */
lz_str lzg_return_value(lzg_snippets *s, const lzg_autograd_kernel *k);

/* "RETURNS NAME(FORMALS) {\n  BODY\n}" */
lz_str lzg_autograd_definition(lzg_snippets *s, const lzg_autograd_kernel *k, lz_str name,
                               const lzg_pieces *body);
/* "m.impl("add.Tensor", TORCH_FN(CLASS::NAME)" */
lz_str lzg_autograd_registration(lzg_snippets *s, const lzg_autograd_kernel *k, const char *class,
                                 lz_str name);

/* "#include <ATen/ops/NAME_ops.h>" */
lz_str lzg_ops_header(lzg_snippets *s, const lzg_function *f);

#endif
