/* Matrix products: chooses the library and the blocks by shape. */
#include "core/dtype.h"
#include "kernel/bands.h"
#include "kernel/blas.h"
#include "kernel/gemm.h"
#include "kernel/kernels.h"
#include "kernel/matmul_pairs.h"
#include <pthread.h>

/* Which library, by shape. Our own product cuts the work as the number of threads asks for, since no bit
 * depends on the cut, reads small operands in place, and needs no library to be loaded (5 to 9 ms; oneDNN's
 * first call takes 33 ms more). oneDNN is much faster if one side is a vector. OpenBLAS serves machines on
 * which our own vectors have no fma.
 *
 * f32, one Zen 4 core, microseconds, least of many in turns, with tiles of at most 512 x 512:
 *     m x n x k         own    OpenBLAS 0.3.21  oneDNN 2.6.3
 *     8 x 8 x 8         0.12   0.04             0.27
 *     32 x 32 x 32      0.74   0.59             0.83
 *     64 x 64 x 64      4.66   4.56             5.30
 *     96 x 96 x 96      16.8   15.3             15.8
 *     128 x 128 x 128   38.3   41.7             36.7
 *     256^3             302    320              296
 *     512^3             2430   2560             2345
 *     128 x 512 x 784   954    1016             885
 *     16 x 1024 x 1024  304    486              310
 *     1 x 1024 x 1024   75     248              54
 *     1024 x 1 x 1024   238    202              49
 * with y transposed in memory, as layers store their weights:
 *     8 x 1024 x 1024   328    791              184
 *     16 x 1024 x 1024  485    950              950
 *     64 x 1024 x 1024  1692   2029             1898
 *     128 x 512 x 784   966    1049             931
 * One Zen 5 core, tiles of at most 2048 x 1024, beside oneDNN in the blocks below: 1024^3 8725 and 8774,
 * 2048^3 71128 and 68883; a training step of GPT 0.97 to 1.01 of the time. */
enum { LIBRARY_FROM = 1 << 20 };

/* Libraries are called block by block. Block sizes depend on the shape alone, so results do not depend on the
 * number of threads. Four blocks from 2^22 products on, more if a side exceeds 2048: splitting 256^3 costs
 * nothing, 1024^3 1.9 %, 2048^3 1.5 to 2.2 % (into 16 blocks: 4 %). Blocks have few rows if k is short, where
 * a pass over the result takes almost as long as the product: then their rows are still in the cache for the
 * operation that follows. That costs nothing either (1024 x 1024 x 256: 0.99 to 1.02), except if y is
 * transposed: each block packs it again (3 to 5 %, more than the following operation gains). */
enum { CUT_FROM = 1 << 22, BLOCK_LEAST = 128, BLOCK_MOST = 1024, BLOCK_STEP = 64, SHORT = 256 };

static int64_t block_of(int64_t n)
{
    int64_t half = (n / 2 + BLOCK_STEP - 1) / BLOCK_STEP * BLOCK_STEP;
    return half < BLOCK_LEAST ? BLOCK_LEAST : half > BLOCK_MOST ? BLOCK_MOST : half;
}

static double products(const lz_kernel_call *c)
{
    return (double)c->in[0].sizes[1] * (double)c->in[0].sizes[2] * (double)c->in[1].sizes[2];
}

/* ---- layouts ---- */

/* True if the rows of s (dimension 1), or the rows of its transpose, are contiguous and `ld` elements
 * apart. */
static bool is_regular(const lz_strided *s, bool *transposed, int64_t *ld)
{
    int64_t rows = s->sizes[1], cols = s->sizes[2], row = s->strides[1], col = s->strides[2];
    bool plain = (col == 1 || cols == 1) && (row >= cols || rows == 1);
    *transposed = !plain;
    *ld = plain ? (rows == 1 ? cols : row) : cols == 1 ? rows : col;
    return plain || ((row == 1 || rows == 1) && (col >= rows || cols == 1));
}

/* Describes the first matrix of the batch; false: the layout or the type is not supported. */
static bool as_product(const lz_kernel_call *c, lz_blas_product *p)
{
    const lz_strided *x = &c->in[0], *y = &c->in[1], *o = &c->out;
    *p = (lz_blas_product){ .f64 = x->dtype == LZ_F64,
                            .m = x->sizes[1],
                            .n = y->sizes[2],
                            .k = x->sizes[2],
                            .x = x->data,
                            .y = y->data,
                            .out = o->data,
                            .ldo = x->sizes[1] == 1 ? y->sizes[2] : o->strides[1] };
    bool typed = (x->dtype == LZ_F32 || x->dtype == LZ_F64) && o->dtype == x->dtype && y->dtype == x->dtype;
    return typed && p->m > 0 && p->n > 0 && p->k > 0 && is_regular(x, &p->xt, &p->ldx)
           && is_regular(y, &p->yt, &p->ldy);
}

/* ---- which library ---- */

static bool own_is_slow(void)
{
    const lz_gemm_width *widths[LZ_GEMM_WIDTHS];
    return lz_gemm_widths(widths) == 1; /* no fma */
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Libraries are asked in the order of preference; if none suits, our own product is used. */
static bool suits(lz_blas b, const lz_kernel_call *c, const lz_blas_product *p)
{
    bool vector = products(c) >= LIBRARY_FROM && (p->m == 1 || p->n == 1);
    if (!lz_blas_can(b, p) || (b == LZ_BLAS_OPENBLAS && !own_is_slow()))
        return false;
    return (vector || own_is_slow()) && lz_blas_has(b);
}

/* A way besides the libraries. Sums of bf16 are rounded otherwise than by our own product: vdpbf16ps adds
 * both products of a pair to the f32 sum, the second first, each addition rounded to nearest, and takes
 * subnormal numbers for 0. Integers are exact. */
enum { PAIRS = 2 + LZ_BLASES };

lz_err *lz_matmul_prepare(lz_kernel_call *c)
{
    lz_blas wanted;
    lz_blas_product p;
    LZ_TRY(lz_blas_wanted(&wanted));
    if (wanted != LZ_BLASES)
        LZ_TRY(lz_blas_load(wanted));
    bool regular = as_product(c, &p);
    lz_blas b = LZ_BLAS_OWN;
    if (regular && wanted == LZ_BLASES)
        b = suits(LZ_BLAS_ONEDNN, c, &p)     ? LZ_BLAS_ONEDNN
            : suits(LZ_BLAS_OPENBLAS, c, &p) ? LZ_BLAS_OPENBLAS
                                             : LZ_BLAS_OWN;
    else if (regular && lz_blas_can(wanted, &p))
        b = wanted;
    bool pairs = lz_matmul_has_pairs(c) && (wanted == LZ_BLASES || c->in[0].dtype != LZ_BF16);
    c->way = pairs ? PAIRS : 1 + (int)b;
    return NULL;
}

bool lz_matmul_is_own(const lz_kernel_call *c)
{
    return c->way == 1 + (int)LZ_BLAS_OWN;
}

const char *lz_matmul_way(const lz_kernel_call *c)
{
    if (c->way == PAIRS)
        return lz_matmul_pairs_name(c);
    return c->way ? lz_blas_name((lz_blas)(c->way - 1)) : NULL;
}

/* ---- our own ---- */

static lz_gemm as_gemm(const lz_kernel_call *c)
{
    const lz_strided *x = &c->in[0], *y = &c->in[1], *o = &c->out;
    return (lz_gemm){ .type = lz_gemm_type_of(o->dtype),
                      .batch = x->sizes[0],
                      .m = x->sizes[1],
                      .k = x->sizes[2],
                      .n = y->sizes[2],
                      .x = { x->data, x->dtype, x->strides[0], x->strides[1], x->strides[2], NULL },
                      .y = { y->data, y->dtype, y->strides[0], y->strides[2], y->strides[1], NULL },
                      .out = o->data,
                      .out_dtype = o->dtype,
                      .out_batch = o->strides[0],
                      .out_row = o->strides[1],
                      .after = c->after,
                      .after_user = c->after_user,
                      .scratch = c->scratch };
}

size_t lz_matmul_scratch(const lz_kernel_call *c)
{
    lz_gemm g = as_gemm(c);
    lz_matmul_pairs p;
    if (c->way != PAIRS)
        return lz_gemm_scratch(&g, 1);
    lz_matmul_pairs_init(&p, c, &g);
    return lz_gemm_scratch(&p.g, 1);
}

/* ---- libraries ---- */

typedef struct run {
    const lz_kernel_call *c;
    lz_blas blas;
    lz_blas_product whole;
    int64_t mb, nb, blocks_m, blocks_n;
    lz_bands bands;
    pthread_mutex_t scratch; /* guards c->scratch */
} run;

static const void *at(const void *base, int64_t elements, bool f64)
{
    return (const char *)base + elements * (f64 ? 8 : 4);
}

/* The library failed for lack of memory: our own product computes the block in the call's scratch. */
static lz_err *by_own(run *r, const lz_blas_product *p)
{
    lz_dtype d = p->f64 ? LZ_F64 : LZ_F32;
    lz_gemm g = { .type = lz_gemm_type_of(d),
                  .batch = 1,
                  .m = p->m,
                  .n = p->n,
                  .k = p->k,
                  .x = { p->x, d, 0, p->xt ? 1 : p->ldx, p->xt ? p->ldx : 1, NULL },
                  .y = { p->y, d, 0, p->yt ? p->ldy : 1, p->yt ? 1 : p->ldy, NULL },
                  .out = p->out,
                  .out_dtype = d,
                  .out_row = p->ldo,
                  .scratch = r->c->scratch };
    pthread_mutex_lock(&r->scratch);
    lz_err *e = lz_gemm_run(&g, NULL);
    pthread_mutex_unlock(&r->scratch);
    return e;
}

static lz_err *do_block(run *r, int64_t number)
{
    const lz_kernel_call *c = r->c;
    lz_blas_product p = r->whole;
    int64_t b = number / r->blocks_n / r->blocks_m;
    int64_t i = number / r->blocks_n % r->blocks_m * r->mb, j = number % r->blocks_n * r->nb;
    p.m = least(r->mb, p.m - i);
    p.n = least(r->nb, p.n - j);
    p.x = at(p.x, b * c->in[0].strides[0] + i * (p.xt ? 1 : p.ldx), p.f64);
    p.y = at(p.y, b * c->in[1].strides[0] + j * (p.yt ? p.ldy : 1), p.f64);
    p.out = (void *)at(p.out, b * c->out.strides[0] + i * p.ldo + j, p.f64);
    if (!lz_blas_multiply(r->blas, &p))
        LZ_TRY(by_own(r, &p));
    return lz_bands_add(&r->bands, number / r->blocks_n);
}

static lz_err *do_blocks(void *user, int64_t begin, int64_t end, int worker)
{
    lz_err *e = NULL;
    (void)worker;
    for (int64_t i = begin; !e && i < end; i++)
        e = do_block(user, i);
    return e;
}

static lz_err *by_library(const lz_kernel_call *c, lz_blas b)
{
    run r;
    r.c = c; /* `bands` is initialised before its first use */
    r.blas = b;
    r.scratch = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    if (!as_product(c, &r.whole))
        return lz_errf(LZ_ERR_INTERNAL, "%s cannot compute this product", lz_blas_name(b));
    bool cut = products(c) >= CUT_FROM;
    r.mb = !cut ? r.whole.m : r.whole.k <= SHORT && !r.whole.yt ? BLOCK_LEAST : block_of(r.whole.m);
    r.nb = cut ? block_of(r.whole.n) : r.whole.n;
    r.blocks_m = (r.whole.m + r.mb - 1) / r.mb;
    r.blocks_n = (r.whole.n + r.nb - 1) / r.nb;
    lz_bands_init(&r.bands, c->after, c->after_user, c->in[0].sizes[0], r.whole.m, r.mb, r.blocks_n,
                  lz_pool_threads(c->pool));
    LZ_TRY(lz_pool_for(c->pool, c->in[0].sizes[0] * r.blocks_m * r.blocks_n, 1, do_blocks, &r));
    return lz_bands_finish(&r.bands);
}

static lz_err *multiply(const lz_kernel_call *c)
{
    lz_gemm g = as_gemm(c);
    lz_matmul_pairs p;
    if (c->way == PAIRS) {
        lz_matmul_pairs_init(&p, c, &g);
        return lz_gemm_run(&p.g, c->pool);
    }
    if (c->way > 1 + (int)LZ_BLAS_OWN)
        return by_library(c, (lz_blas)(c->way - 1));
    return lz_gemm_run(&g, c->pool);
}

lz_err *lz_matmul(const lz_kernel_call *c)
{
    if (c->way)
        return multiply(c);
    lz_kernel_call with = *c;
    LZ_TRY(lz_matmul_prepare(&with));
    return multiply(&with);
}
