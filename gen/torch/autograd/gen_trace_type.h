/* gen_trace_type.h - kernels that record a call as a node of a TorchScript graph, then make the call:
 * TraceType. */
#ifndef LZG_GEN_TRACE_TYPE_H
#define LZG_GEN_TRACE_TYPE_H

#include "gen/torch/autograd/autograd_kernel.h"

typedef struct lzg_trace_kernel {
    lz_str definition, registration;
} lzg_trace_kernel;

LZ_MUST_USE
lz_err *lzg_trace_kernel_print(lzg_snippets *s, const lzg_ops *ops, const lzg_function *f,
                               lzg_trace_kernel *out);

/* Whether calls are recorded at all; otherwise the tracer sees the operators that this one calls. */
bool lzg_should_trace(const lzg_ops *ops, const lzg_function *f);

#endif
