#include "core/dtype.h"
#include "kernel/gemm.h"
#include "kernel/kernels.h"

lz_err *lz_matmul(const lz_kcall *c)
{
    const lz_strided *x = &c->in[0], *y = &c->in[1], *o = &c->out;
    lz_gemm g = { .type = lz_gemm_type_of(x->dtype),
                  .batch = x->sizes[0],
                  .m = x->sizes[1],
                  .k = x->sizes[2],
                  .n = y->sizes[2],
                  .x = { x->data, x->dtype, x->strides[0], x->strides[1], x->strides[2], NULL },
                  .y = { y->data, y->dtype, y->strides[0], y->strides[2], y->strides[1], NULL },
                  .out = o->data,
                  .out_dtype = o->dtype,
                  .out_batch = o->strides[0],
                  .out_row = o->strides[1] };
    return lz_gemm_run(&g, c->pool);
}
