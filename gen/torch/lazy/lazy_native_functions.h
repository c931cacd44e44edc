/* lazy_native_functions.h - the kernels of a lazy backend: LazyNativeFunctions.cpp.
 *
 * A kernel finds the device, makes operands of its arguments, reuses or makes a node, and returns a tensor
 * that has the node's value. Shapes come from meta kernels where there are some, else from compute_shape_
 * functions, which the backend writes by hand. */
#ifndef LZG_LAZY_NATIVE_FUNCTIONS_H
#define LZG_LAZY_NATIVE_FUNCTIONS_H

#include "gen/model/model.h"
#include "gen/torch/lazy/lazy_ir.h"

typedef struct lzg_lazy_functions {
    const lzg_lazy_ir *ir;
    const lzg_backend_index *index;
    lz_str class_name; /* of the kernels */
    const lzg_torch_lazy_options *o;
} lzg_lazy_functions;

LZ_MUST_USE
lz_err *lzg_lazy_native_function(lzg_snippets *s, const lzg_lazy_functions *lf, const lzg_function *f,
                                 lz_str *out);

/* The declaration of its compute_shape_ function; empty: it needs none. */
LZ_MUST_USE
lz_err *lzg_lazy_shape_declaration(lzg_snippets *s, const lzg_lazy_functions *lf, const lzg_function *f,
                                   lz_str *out);

#endif
