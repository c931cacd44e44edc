#include "core/convert.h"
#include "core/dtype.h"
#include "kernel/gemm.h"
#include "kernel/kernels.h"
#include <string.h>

typedef struct product {
    const lz_kcall *c;
    lz_dtype compute;
    ptrdiff_t size;             /* bytes of an element of the computing type */
    ptrdiff_t x[3], y[3], o[3]; /* strides in bytes */
} product;

static void fetch_x(void *user, int64_t b, int64_t i0, int64_t ni, int64_t k0, int64_t nk, int64_t wide,
                    void *panel)
{
    const product *p = user;
    const lz_strided *x = &p->c->in[0];
    for (int64_t i = 0; i < ni; i++)
        lz_convert_run(x->dtype, (const char *)x->data + b * p->x[0] + (i0 + i) * p->x[1] + k0 * p->x[2],
                       p->x[2], p->compute, (char *)panel + i * p->size, wide * p->size, nk);
}

/* Along the dimension that lies closer together. */
static void fetch_y(void *user, int64_t b, int64_t k0, int64_t nk, int64_t j0, int64_t nj, int64_t wide,
                    void *panel)
{
    const product *p = user;
    const lz_strided *y = &p->c->in[1];
    const char *from = (const char *)y->data + b * p->y[0] + k0 * p->y[1] + j0 * p->y[2];
    if (p->y[2] == p->size && y->dtype == p->compute && nj == wide) {
        for (int64_t k = 0; k < nk; k++)
            memcpy((char *)panel + k * wide * p->size, from + k * p->y[1], (size_t)(wide * p->size));
        return;
    }
    for (int64_t j = 0; j < nj; j++)
        lz_convert_run(y->dtype, from + j * p->y[2], p->y[1], p->compute, (char *)panel + j * p->size,
                       wide * p->size, nk);
}

static void store(void *user, int64_t b, int64_t i, int64_t j0, int64_t n, const void *row)
{
    const product *p = user;
    const lz_strided *o = &p->c->out;
    lz_convert_run(p->compute, row, p->size, o->dtype,
                   (char *)o->data + b * p->o[0] + i * p->o[1] + j0 * p->o[2], p->o[2], n);
}

static void in_bytes(const lz_strided *s, ptrdiff_t out[3])
{
    for (int d = 0; d < 3; d++)
        out[d] = (ptrdiff_t)s->strides[d] * (ptrdiff_t)lz_dtype_size(s->dtype);
}

lz_err *lz_matmul(const lz_kcall *c)
{
    const lz_strided *x = &c->in[0], *y = &c->in[1];
    lz_gemm_type type = lz_gemm_type_of(x->dtype);
    product p = { .c = c, .compute = lz_gemm_dtype(type) };
    p.size = (ptrdiff_t)lz_dtype_size(p.compute);
    in_bytes(x, p.x);
    in_bytes(y, p.y);
    in_bytes(&c->out, p.o);
    lz_gemm g = { .type = type,
                  .batch = x->sizes[0],
                  .m = x->sizes[1],
                  .k = x->sizes[2],
                  .n = y->sizes[2],
                  .user = &p,
                  .fetch_x = fetch_x,
                  .fetch_y = fetch_y,
                  .store = store };
    return lz_gemm_run(&g, c->pool);
}
