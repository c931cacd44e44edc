/* gen_variable_type.h - the kernels that attach autograd nodes to results: VariableType.
 *
 * An operator has one kernel for each autograd key of its derivatives; without derivatives it has one for
 * all keys, which is the general one that refuses the backward pass wherever that is possible. */
#ifndef LZG_GEN_VARIABLE_TYPE_H
#define LZG_GEN_VARIABLE_TYPE_H

#include "gen/api/derivative.h"
#include "gen/text/snippet.h"

typedef struct lzg_variable_kernel {
    lz_str definition, registration;
} lzg_variable_kernel;

/* The number of kernels; key i is infos->data[i].key, or Default. */
size_t lzg_variable_kernels(const lzg_differentiable *d);
LZ_MUST_USE
lz_err *lzg_variable_kernel_print(lzg_snippets *s, const lzg_ops *ops, const lzg_differentiable *d, size_t i,
                                  lzg_variable_kernel *out);

#endif
