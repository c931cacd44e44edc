/* A convolution and its gradients for the input and for the weight are three matrix products of the same
 * three arrays; they differ only in which element is fetched. With fewer than three dimensions, leading ones
 * of size 1 are added. */
#include "base/mem.h"
#include "core/convert.h"
#include "core/dtype.h"
#include "kernel/blas.h"
#include "kernel/conv_dnnl.h"
#include "kernel/gemm.h"
#include "kernel/kernels.h"
#include <string.h>

enum { DIMS = LZ_CONV_DIMS };

typedef struct conv {
    int64_t n, groups, cin, cout; /* channels of one group */
    int64_t in[DIMS], out[DIMS], window[DIMS];
    int64_t stride[DIMS], padding[DIMS], dilation[DIMS];
    int64_t n_in, n_out, n_window; /* products of the sizes */
    size_t size;                   /* bytes of an element of the computing type */
    const char *x, *w, *gy;        /* dense, in the computing type; only those that are read */
    lz_dtype compute;
    const lz_kernel_call *call;
} conv;

/* ---- positions ---- */

typedef struct place {
    int64_t v[DIMS];
} place;

static place place_of(int64_t number, const int64_t sizes[DIMS])
{
    place p;
    for (int d = DIMS; d-- > 0; number /= sizes[d])
        p.v[d] = number % sizes[d];
    return p;
}

static void move(const conv *c, char *to, const char *from)
{
    if (c->size == 4)
        memcpy(to, from, 4);
    else
        memcpy(to, from, 8);
}

/* Element (i, k) of a panel with `wide` elements for each k. */
static char *cell(const conv *c, void *panel, int64_t k, int64_t i, int64_t wide)
{
    return (char *)panel + (size_t)(k * wide + i) * c->size;
}

static const char *element(const conv *c, const char *base, int64_t number)
{
    return base + (size_t)number * c->size;
}

/* ---- forward: out[o, p] = sum over (c, window) of w * x ---- */

static void forward_w(void *user, int64_t b, int64_t i0, int64_t ni, int64_t k0, int64_t nk, int64_t wide,
                      void *panel)
{
    const conv *c = user;
    int64_t group = b % c->groups, k_all = c->cin * c->n_window;
    for (int64_t i = 0; i < ni; i++)
        for (int64_t k = 0; k < nk; k++)
            move(c, cell(c, panel, k, i, wide),
                 element(c, c->w, (group * c->cout + i0 + i) * k_all + k0 + k));
}

/* Columns of a panel that differ in the last dimension only. */
typedef struct line {
    int64_t j, n;
    place p; /* of the first column */
} line;

static int find_lines(int64_t j0, int64_t nj, const int64_t sizes[DIMS], line out[LZ_GEMM_COLS])
{
    int k = 0;
    for (int64_t j = 0; j < nj; j += out[k++].n) {
        out[k] = (line){ .j = j, .p = place_of(j0 + j, sizes) };
        int64_t left = sizes[DIMS - 1] - out[k].p.v[DIMS - 1];
        out[k].n = left < nj - j ? left : nj - j;
    }
    return k;
}

/* Copies elements x, x + step, ... of a row of `size` elements; elements outside the row stay zero. */
static void copy_line(const conv *c, char *to, const char *row, int64_t x, int64_t step, int64_t n,
                      int64_t size)
{
    int64_t from = x < 0 ? (-x + step - 1) / step : 0, end = x < size ? (size - x + step - 1) / step : 0;
    end = end < n ? end : n;
    if (step == 1 && from < end) {
        memcpy(to + (size_t)from * c->size, element(c, row, x + from), (size_t)(end - from) * c->size);
        return;
    }
    for (int64_t i = from; i < end; i++)
        move(c, to + (size_t)i * c->size, element(c, row, x + i * step));
}

/* The number of the first element of the input row that output p reads at window position k, -1 if there is
 * none; *x: the position in that row. */
static int64_t input_row(const conv *c, const place *p, const place *k, int64_t *x)
{
    int64_t number = 0;
    for (int d = 0; d < DIMS; d++) {
        int64_t at = p->v[d] * c->stride[d] - c->padding[d] + k->v[d] * c->dilation[d];
        *x = at;
        if (d < DIMS - 1 && (at < 0 || at >= c->in[d]))
            return -1;
        number = number * c->in[d] + (d < DIMS - 1 ? at : 0);
    }
    return number;
}

static void forward_x(void *user, int64_t b, int64_t j0, int64_t nj, int64_t k0, int64_t nk, int64_t wide,
                      void *panel)
{
    const conv *c = user;
    line lines[LZ_GEMM_COLS];
    int n = find_lines(j0, nj, c->out, lines);
    for (int64_t k = 0; k < nk; k++) {
        place window = place_of((k0 + k) % c->n_window, c->window);
        int64_t channel = b * c->cin + (k0 + k) / c->n_window, x; /* b numbers the groups of all images */
        for (int i = 0; i < n; i++) {
            int64_t row = input_row(c, &lines[i].p, &window, &x);
            if (row >= 0)
                copy_line(c, cell(c, panel, k, lines[i].j, wide), element(c, c->x, channel * c->n_in + row),
                          x, c->stride[DIMS - 1], lines[i].n, c->in[DIMS - 1]);
        }
    }
}

/* ---- gradient of the input: gx[c, q] = sum over (o, window) of w * gy ---- */

/* The inverse of input_row: the output row that reads input q; x is not yet divided by the stride. */
static int64_t output_row(const conv *c, const place *q, const place *k, int64_t *x)
{
    int64_t number = 0;
    for (int d = 0; d < DIMS; d++) {
        int64_t at = q->v[d] + c->padding[d] - k->v[d] * c->dilation[d];
        *x = at;
        if (d < DIMS - 1 && (at < 0 || at % c->stride[d] || at / c->stride[d] >= c->out[d]))
            return -1;
        number = number * c->out[d] + (d < DIMS - 1 ? at / c->stride[d] : 0);
    }
    return number;
}

/* Copies those of the n positions from x on that are multiples of the stride. */
static void copy_every(const conv *c, char *to, const char *row, int64_t x, int64_t n)
{
    int64_t stride = c->stride[DIMS - 1];
    for (int64_t i = x < 0 ? -x : 0; i < n; i++)
        if ((x + i) % stride == 0 && (x + i) / stride < c->out[DIMS - 1])
            move(c, to + (size_t)i * c->size, element(c, row, (x + i) / stride));
}

static void input_w(void *user, int64_t b, int64_t i0, int64_t ni, int64_t k0, int64_t nk, int64_t wide,
                    void *panel)
{
    const conv *c = user;
    int64_t group = b % c->groups;
    for (int64_t k = 0; k < nk; k++) {
        int64_t o = (k0 + k) / c->n_window, window = (k0 + k) % c->n_window;
        for (int64_t i = 0; i < ni; i++)
            move(c, cell(c, panel, k, i, wide),
                 element(c, c->w, ((group * c->cout + o) * c->cin + i0 + i) * c->n_window + window));
    }
}

static void input_gy(void *user, int64_t b, int64_t j0, int64_t nj, int64_t k0, int64_t nk, int64_t wide,
                     void *panel)
{
    const conv *c = user;
    line lines[LZ_GEMM_COLS];
    int n = find_lines(j0, nj, c->in, lines);
    for (int64_t k = 0; k < nk; k++) {
        place window = place_of((k0 + k) % c->n_window, c->window);
        const char *y = element(c, c->gy, (b * c->cout + (k0 + k) / c->n_window) * c->n_out);
        for (int i = 0; i < n; i++) {
            char *to = cell(c, panel, k, lines[i].j, wide);
            int64_t x, row = output_row(c, &lines[i].p, &window, &x);
            if (row >= 0 && c->stride[DIMS - 1] == 1)
                copy_line(c, to, element(c, y, row), x, 1, lines[i].n, c->out[DIMS - 1]);
            else if (row >= 0)
                copy_every(c, to, element(c, y, row), x, lines[i].n);
        }
    }
}

/* ---- gradient of the weight: gw[o, (c, window)] = sum over (n, p) of gy * x ---- */

static void weight_gy(void *user, int64_t b, int64_t i0, int64_t ni, int64_t k0, int64_t nk, int64_t wide,
                      void *panel)
{
    const conv *c = user;
    for (int64_t k = 0; k < nk; k++) {
        int64_t image = (k0 + k) / c->n_out, p = (k0 + k) % c->n_out;
        for (int64_t i = 0; i < ni; i++)
            move(c, cell(c, panel, k, i, wide),
                 element(c, c->gy, ((image * c->groups + b) * c->cout + i0 + i) * c->n_out + p));
    }
}

static void weight_x(void *user, int64_t b, int64_t j0, int64_t nj, int64_t k0, int64_t nk, int64_t wide,
                     void *panel)
{
    const conv *c = user;
    int64_t sizes[DIMS] = { c->cin * c->window[0], c->window[1], c->window[2] }; /* channel x depth first */
    line lines[LZ_GEMM_COLS];
    int n = find_lines(j0, nj, sizes, lines);
    for (int64_t k = 0; k < nk; k++) {
        place p = place_of((k0 + k) % c->n_out, c->out);
        int64_t image = (k0 + k) / c->n_out, x;
        for (int i = 0; i < n; i++) {
            place window = lines[i].p;
            int64_t channel = (image * c->groups + b) * c->cin + window.v[0] / c->window[0];
            window.v[0] %= c->window[0];
            int64_t row = input_row(c, &p, &window, &x);
            if (row >= 0)
                copy_line(c, cell(c, panel, k, lines[i].j, wide), element(c, c->x, channel * c->n_in + row),
                          x, c->dilation[DIMS - 1], lines[i].n, c->in[DIMS - 1]);
        }
    }
}

/* ---- setup ---- */

/* The sizes after the first two dimensions, right-aligned. */
static int64_t spatial(int64_t d, const int64_t *sizes, int64_t out[DIMS])
{
    int64_t n = 1;
    for (int64_t i = 0; i < DIMS; i++) {
        out[i] = i < DIMS - d ? 1 : sizes[2 + i - (DIMS - d)];
        n *= out[i];
    }
    return n;
}

static void parameters(conv *c, const int64_t *params)
{
    int64_t d = params[0];
    for (int64_t i = 0; i < DIMS; i++) {
        int64_t k = i - (DIMS - d);
        c->stride[i] = k < 0 ? 1 : params[1 + k];
        c->padding[i] = k < 0 ? 0 : params[1 + d + k];
        c->dilation[i] = k < 0 ? 1 : params[1 + 2 * d + k];
    }
    c->groups = params[1 + 3 * d];
}

static void set_up(conv *c, const lz_kernel_call *call, const int64_t *x, const int64_t *w, const int64_t *y)
{
    int64_t d = call->params[0];
    *c = (conv){ .call = call, .n = x[0] };
    parameters(c, call->params);
    c->cin = w[1];
    c->cout = w[0] / c->groups;
    c->n_in = spatial(d, x, c->in);
    c->n_window = spatial(d, w, c->window);
    c->n_out = spatial(d, y, c->out);
}

static int64_t count(const lz_strided *s)
{
    int64_t n = 1;
    for (int64_t d = 0; d < s->ndim; d++)
        n *= s->sizes[d];
    return n;
}

static bool is_dense(const lz_strided *s)
{
    int64_t want = 1;
    for (int64_t d = s->ndim; d-- > 0; want *= s->sizes[d])
        if (s->sizes[d] != 1 && s->strides[d] != want)
            return false;
    return true;
}

/* Row-major and in the computing type: the array itself, or a copy that the caller frees. */
static lz_err *dense(const lz_strided *s, lz_dtype compute, char **copy, const char **out)
{
    size_t from = lz_dtype_size(s->dtype), to = lz_dtype_size(compute);
    int64_t n = count(s), last = s->ndim ? s->sizes[s->ndim - 1] : 1;
    *out = s->data;
    if (n == 0 || (s->dtype == compute && is_dense(s)))
        return NULL;
    *copy = lz_temporary_take((size_t)n * to, 64);
    if (!*copy)
        return lz_err_oom();
    *out = *copy;
    for (int64_t at = 0; at < n; at += last) {
        int64_t offset = 0, rest = at / last;
        for (int64_t d = s->ndim - 1; d-- > 0; rest /= s->sizes[d])
            offset += rest % s->sizes[d] * s->strides[d];
        lz_convert_run(s->dtype, (const char *)s->data + offset * (int64_t)from,
                       (ptrdiff_t)s->strides[s->ndim - 1] * (ptrdiff_t)from, compute, *copy + (size_t)at * to,
                       (ptrdiff_t)to, last);
    }
    return NULL;
}

/* ---- oneDNN ---- */

static lz_conv_shape shape_of(const conv *c, lz_conv_kind kind)
{
    lz_conv_shape s = { .kind = (int64_t)kind,
                        .d = c->call->params[0],
                        .n = c->n,
                        .groups = c->groups,
                        .cin = c->cin,
                        .cout = c->cout };
    for (int d = 0; d < DIMS; d++) {
        s.in[d] = c->in[d];
        s.out[d] = c->out[d];
        s.window[d] = c->window[d];
        s.stride[d] = c->stride[d];
        s.padding[d] = c->padding[d];
        s.dilation[d] = c->dilation[d];
    }
    return s;
}

/* Loading oneDNN and making a primitive takes some milliseconds; 2^20 products take our own code 0.02 ms or
 * more. */
static lz_err *wants_dnnl(const conv *c, const lz_gemm *g, bool *out)
{
    enum { DNNL_FROM = 1 << 20 };
    lz_blas wanted;
    LZ_TRY(lz_blas_wanted(&wanted));
    double products = (double)g->batch * (double)g->m * (double)g->n * (double)g->k;
    bool f32 =
        c->call->in[0].dtype == LZ_F32 && c->call->in[1].dtype == LZ_F32 && c->call->out.dtype == LZ_F32;
    if (wanted == LZ_BLAS_ONEDNN)
        LZ_TRY(lz_blas_load(wanted));
    *out = f32 && (wanted == LZ_BLAS_ONEDNN || (wanted == LZ_BLASES && products >= DNNL_FROM));
    return NULL;
}

static lz_err *by_dnnl(const conv *c, const lz_gemm *g, lz_conv_kind kind, bool *done)
{
    float *out = c->call->out.data;
    float *arrays[LZ_CONV_ARRAYS] = { (float *)(void *)c->x, (float *)(void *)c->w, (float *)(void *)c->gy };
    lz_conv_shape s = shape_of(c, kind);
    arrays[kind == LZ_CONV_INPUT ? 0 : kind == LZ_CONV_WEIGHT ? 1 : 2] = out;
    LZ_TRY(wants_dnnl(c, g, done));
    return *done ? lz_conv_dnnl(&s, arrays, c->call->pool, done) : NULL;
}

/* Prepares both operands and runs the product. */
static lz_err *run(conv *c, lz_gemm *g, lz_conv_kind kind, const char **first, const char **second)
{
    char *copies[2] = { NULL, NULL };
    bool done = false;
    g->type = lz_gemm_type_of(c->call->in[0].dtype);
    g->user = c;
    g->out = c->call->out.data;
    g->out_dtype = c->call->out.dtype;
    g->out_row = g->n;
    g->out_batch = g->m * g->n;
    c->compute = lz_gemm_dtype(g->type);
    c->size = lz_dtype_size(c->compute);
    lz_err *e = dense(&c->call->in[0], c->compute, &copies[0], first);
    if (!e)
        e = dense(&c->call->in[1], c->compute, &copies[1], second);
    if (!e)
        e = by_dnnl(c, g, kind, &done);
    if (c->call->by)
        *c->call->by = lz_blas_name(done ? LZ_BLAS_ONEDNN : LZ_BLAS_OWN);
    if (!e && !done)
        e = lz_gemm_run(g, c->call->pool);
    lz_temporary_give(copies[0]);
    lz_temporary_give(copies[1]);
    return e;
}

lz_err *lz_conv(const lz_kernel_call *call)
{
    conv c;
    set_up(&c, call, call->in[0].sizes, call->in[1].sizes, call->out.sizes);
    lz_gemm g = { .batch = c.n * c.groups,
                  .m = c.cout,
                  .n = c.n_out,
                  .k = c.cin * c.n_window,
                  .x.fetch = forward_w,
                  .y.fetch = forward_x };
    return run(&c, &g, LZ_CONV_FORWARD, &c.x, &c.w);
}

lz_err *lz_conv_input(const lz_kernel_call *call)
{
    conv c;
    set_up(&c, call, call->out.sizes, call->in[1].sizes, call->in[0].sizes);
    lz_gemm g = { .batch = c.n * c.groups,
                  .m = c.cin,
                  .n = c.n_in,
                  .k = c.cout * c.n_window,
                  .x.fetch = input_w,
                  .y.fetch = input_gy };
    return run(&c, &g, LZ_CONV_INPUT, &c.gy, &c.w);
}

lz_err *lz_conv_weight(const lz_kernel_call *call)
{
    conv c;
    set_up(&c, call, call->in[1].sizes, call->out.sizes, call->in[0].sizes);
    lz_gemm g = { .batch = c.groups,
                  .m = c.cout,
                  .n = c.cin * c.n_window,
                  .k = c.n * c.n_out,
                  .x.fetch = weight_gy,
                  .y.fetch = weight_x };
    return run(&c, &g, LZ_CONV_WEIGHT, &c.gy, &c.x);
}
