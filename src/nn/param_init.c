/* The initialisers of torch.nn.init: its fans, gains and formulas; numbers come from the context's
 * generator. */
#include "base/mem.h"
#include "nn/module.h"
#include <math.h>

/* ---- new tensors ---- */

static lz_tensor *draw_uniform(lz_ctx *c, lz_loc at, lz_ints sizes, lz_dtype d, double low, double high)
{
    return lz_add_Scalar(c, lz_mul_Scalar(c, lz_rand(c, sizes, .dtype = d), high - low), low);
}

lz_tensor *lz_weight_uniform(lz_module *m, lz_ints sizes, double bound)
{
    return draw_uniform(m->ctx, m->at, sizes, m->dtype, -bound, bound);
}

lz_tensor *lz_weight_full(lz_module *m, lz_ints sizes, double value)
{
    const lz_loc at = m->at;
    return lz_full(m->ctx, sizes, value, .dtype = m->dtype);
}

/* ---- writing to tensors ---- */

/* t: gets the result of `make`. */
typedef struct init_request {
    lz_ctx *c;
    lz_tensor *t;
    double a, b, low, high;
    int64_t groups;
} init_request;

static lz_tensor *refuse(lz_ctx *c, const char *what)
{
    return lz_fail(c, (lz_loc){ 0 }, LZ_ERR_ARG, what);
}

static lz_tensor *write(const init_request *r, lz_tensor *(*make)(const init_request *r))
{
    const lz_loc at = { 0 };
    if (!r->t)
        return refuse(r->c, "an initialiser needs a tensor");
    lz_scope *s = lz_scope_push(r->c);
    LZ_NO_GRAD(r->c)
    {
        lz_copy_(r->c, r->t, make(r));
    }
    lz_scope_pop(s);
    return r->t;
}

static lz_tensor *make_uniform(const init_request *r)
{
    return draw_uniform(r->c, (lz_loc){ 0 }, lz_tensor_sizes(r->t), lz_tensor_dtype(r->t), r->a, r->b);
}

lz_tensor *lz_init_uniform(lz_ctx *c, lz_tensor *t, double low, double high)
{
    if (!(low <= high))
        return refuse(c, "lz_init_uniform: the lower bound is above the upper one");
    return write(&(init_request){ .c = c, .t = t, .a = low, .b = high }, make_uniform);
}

static lz_tensor *make_normal(const init_request *r)
{
    const lz_loc at = { 0 };
    lz_tensor *x = lz_randn(r->c, lz_tensor_sizes(r->t), .dtype = lz_tensor_dtype(r->t));
    return lz_add_Scalar(r->c, lz_mul_Scalar(r->c, x, r->b), r->a);
}

lz_tensor *lz_init_normal(lz_ctx *c, lz_tensor *t, double mean, double std)
{
    if (!(std >= 0))
        return refuse(c, "lz_init_normal: the standard deviation is negative");
    return write(&(init_request){ .c = c, .t = t, .a = mean, .b = std }, make_normal);
}

static double normal_cdf(double x)
{
    return (1 + erf(x / sqrt(2.0))) / 2;
}

/* The inverse distribution function, at uniform places between those of low and high. */
static lz_tensor *make_trunc_normal(const init_request *r)
{
    const lz_loc at = { 0 };
    double from = 2 * normal_cdf((r->low - r->a) / r->b) - 1,
           to = 2 * normal_cdf((r->high - r->a) / r->b) - 1;
    lz_tensor *x = draw_uniform(r->c, (lz_loc){ 0 }, lz_tensor_sizes(r->t), lz_tensor_dtype(r->t), from, to);
    x = lz_mul_Scalar(r->c, lz_erfinv(r->c, x), r->b * sqrt(2.0));
    return lz_clamp(r->c, lz_add_Scalar(r->c, x, r->a), .min = LZ_S(r->low), .max = LZ_S(r->high));
}

lz_tensor *lz_init_trunc_normal(lz_ctx *c, lz_tensor *t, double mean, double std, double low, double high)
{
    if (!(std > 0) || !(low <= high))
        return refuse(c, "lz_init_trunc_normal: expected a standard deviation above 0, and low <= high");
    return write(&(init_request){ .c = c, .t = t, .a = mean, .b = std, .low = low, .high = high },
                 make_trunc_normal);
}

static lz_tensor *make_constant(const init_request *r)
{
    const lz_loc at = { 0 };
    return lz_full(r->c, lz_tensor_sizes(r->t), r->a, .dtype = lz_tensor_dtype(r->t));
}

lz_tensor *lz_init_constant(lz_ctx *c, lz_tensor *t, double value)
{
    return write(&(init_request){ .c = c, .t = t, .a = value }, make_constant);
}

lz_tensor *lz_init_zeros(lz_ctx *c, lz_tensor *t)
{
    return lz_init_constant(c, t, 0);
}

lz_tensor *lz_init_ones(lz_ctx *c, lz_tensor *t)
{
    return lz_init_constant(c, t, 1);
}

/* ---- shapes that an initialiser needs ---- */

static lz_tensor *make_eye(const init_request *r)
{
    const lz_loc at = { 0 };
    lz_ints n = lz_tensor_sizes(r->t);
    return lz_eye_m(r->c, n.v[0], n.v[1], .dtype = lz_tensor_dtype(r->t));
}

lz_tensor *lz_init_eye(lz_ctx *c, lz_tensor *t)
{
    if (!t || lz_tensor_ndim(t) != 2)
        return refuse(c, "lz_init_eye: expected a matrix");
    return write(&(init_request){ .c = c, .t = t }, make_eye);
}

/* 1 at the middle of the kernel where the input channel equals the output channel of its group. */
static lz_tensor *make_dirac(const init_request *r)
{
    const lz_loc at = { 0 };
    lz_ints n = lz_tensor_sizes(r->t);
    int64_t per_group = n.v[0] / r->groups, wide[8] = { 1, 1, 1, 1, 1, 1, 1, 1 };
    lz_tensor *out = lz_remainder_Scalar(r->c, lz_arange(r->c, LZ_S(n.v[0])), per_group);
    lz_tensor *in = lz_arange(r->c, LZ_S(n.v[1]));
    wide[0] = n.v[0];
    out = lz_view(r->c, out, ((lz_ints){ wide, n.n }));
    wide[0] = 1;
    wide[1] = n.v[1];
    lz_tensor *hit = lz_eq_Tensor(r->c, out, lz_view(r->c, in, ((lz_ints){ wide, n.n })));
    wide[1] = 1;
    for (int64_t k = 2; k < n.n; k++) {
        wide[k] = n.v[k];
        lz_tensor *middle = lz_eq_Scalar(r->c, lz_arange(r->c, LZ_S(n.v[k])), n.v[k] / 2);
        hit = lz_logical_and(r->c, hit, lz_view(r->c, middle, ((lz_ints){ wide, n.n })));
        wide[k] = 1;
    }
    return lz_to_dtype(r->c, hit, lz_tensor_dtype(r->t));
}

lz_tensor *lz_init_dirac(lz_ctx *c, lz_tensor *t, int64_t groups)
{
    lz_ints n = t ? lz_tensor_sizes(t) : (lz_ints){ NULL, 0 };
    if (n.n < 3 || n.n > 5)
        return refuse(c, "lz_init_dirac: expected a tensor of 3, 4 or 5 dimensions");
    if (groups < 1 || n.v[0] % groups)
        return refuse(c, "lz_init_dirac: dimension 0 must be divisible by groups");
    return write(&(init_request){ .c = c, .t = t, .groups = groups }, make_dirac);
}

bool lz_init_fans(const lz_tensor *t, int64_t *in, int64_t *out)
{
    lz_ints n = lz_tensor_sizes(t);
    int64_t places = 1;
    if (n.n < 2)
        return false;
    for (int64_t i = 2; i < n.n; i++)
        places *= n.v[i];
    *in = n.v[1] * places;
    *out = n.v[0] * places;
    return true;
}

static bool get_fans(lz_ctx *c, const lz_tensor *t, int64_t *in, int64_t *out)
{
    if (t && lz_init_fans(t, in, out) && *in > 0 && *out > 0)
        return true;
    refuse(c, "fan in and fan out need a tensor of at least 2 dimensions that has elements");
    return false;
}

lz_tensor *lz_init_xavier_uniform(lz_ctx *c, lz_tensor *t, double gain)
{
    int64_t in = 1, out = 1;
    if (!get_fans(c, t, &in, &out))
        return t;
    double bound = gain * sqrt(6.0 / (double)(in + out));
    return lz_init_uniform(c, t, -bound, bound);
}

lz_tensor *lz_init_xavier_normal(lz_ctx *c, lz_tensor *t, double gain)
{
    int64_t in = 1, out = 1;
    if (!get_fans(c, t, &in, &out))
        return t;
    return lz_init_normal(c, t, 0, gain * sqrt(2.0 / (double)(in + out)));
}

lz_tensor *lz_init_kaiming_uniform(lz_ctx *c, lz_tensor *t, double gain, lz_fan mode)
{
    int64_t in = 1, out = 1;
    if (!get_fans(c, t, &in, &out))
        return t;
    double bound = gain * sqrt(3.0 / (double)(mode == LZ_FAN_IN ? in : out));
    return lz_init_uniform(c, t, -bound, bound);
}

lz_tensor *lz_init_kaiming_normal(lz_ctx *c, lz_tensor *t, double gain, lz_fan mode)
{
    int64_t in = 1, out = 1;
    if (!get_fans(c, t, &in, &out))
        return t;
    return lz_init_normal(c, t, 0, gain / sqrt((double)(mode == LZ_FAN_IN ? in : out)));
}

double lz_init_gain(const char *nonlinearity, double param)
{
    static const struct {
        const char *name;
        double gain;
    } rows[] = {
        { "linear", 1 },           { "conv1d", 1 },  { "conv2d", 1 },     { "conv_transpose1d", 1 },
        { "conv_transpose2d", 1 }, { "sigmoid", 1 }, { "tanh", 5.0 / 3 }, { "relu", 0 },
        { "selu", 0.75 },
    };
    if (!nonlinearity)
        return NAN;
    if (!strcmp(nonlinearity, "leaky_relu"))
        return sqrt(2 / (1 + param * param));
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (!strcmp(nonlinearity, rows[i].name))
            return rows[i].gain > 0 ? rows[i].gain : sqrt(2.0);
    return NAN;
}

/* ---- columns with zeros ---- */

/* Ranks the random numbers of each column, and zeroes the elements with the smallest. */
static lz_tensor *make_sparse(const init_request *r)
{
    const lz_loc at = { 0 };
    lz_ints n = lz_tensor_sizes(r->t);
    int64_t zeros = (int64_t)ceil(r->low * (double)n.v[0]);
    lz_tensor *order = lz_argsort(r->c, lz_rand(r->c, n), .dim = 0);
    lz_tensor *rank = lz_argsort(r->c, order, .dim = 0);
    return lz_masked_fill_Scalar(r->c, make_normal(r), lz_lt_Scalar(r->c, rank, zeros), 0);
}

lz_tensor *lz_init_sparse(lz_ctx *c, lz_tensor *t, double sparsity, double std)
{
    if (!t || lz_tensor_ndim(t) != 2)
        return refuse(c, "lz_init_sparse: expected a matrix");
    if (!(sparsity >= 0 && sparsity <= 1) || !(std >= 0))
        return refuse(
            c,
            "lz_init_sparse: expected a sparsity from 0 to 1, and a standard deviation that is not negative");
    return write(&(init_request){ .c = c, .t = t, .b = std, .low = sparsity }, make_sparse);
}

/* ---- orthogonal rows ---- */

static double dot(const double *a, const double *b, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

/* Subtracts from each row its part along the rows before it, twice: the first time leaves rounding errors. */
static bool make_orthogonal(double *rows, int64_t n, int64_t width, double gain)
{
    for (int64_t i = 0; i < n; i++) {
        double *row = rows + i * width;
        for (int64_t k = 0; k < 2 * i; k++) {
            const double *other = rows + (k % i) * width;
            double part = dot(row, other, width);
            for (int64_t j = 0; j < width; j++)
                row[j] -= part * other[j];
        }
        double length = sqrt(dot(row, row, width));
        if (!(length > 1e-12))
            return false;
        for (int64_t j = 0; j < width; j++)
            row[j] /= length;
    }
    for (int64_t i = 0; i < n * width; i++)
        rows[i] *= gain;
    return true;
}

static lz_err *write_orthogonal(lz_ctx *c, lz_tensor *t, lz_ints rows, bool flip, double gain)
{
    const lz_loc at = { 0 };
    double *v = lz_mem_zalloc((size_t)(rows.v[0] * rows.v[1]), sizeof *v);
    if (!v)
        return lz_err_oom();
    bool ok = lz_read(lz_randn(c, rows, .dtype = LZ_F64), v, (size_t)(rows.v[0] * rows.v[1]) * sizeof *v)
              && make_orthogonal(v, rows.v[0], rows.v[1], gain);
    if (ok) {
        lz_tensor *q = lz_from_memory(c, LZ_F64, rows, v);
        q = lz_reshape(c, flip ? lz_t(c, q) : q, lz_tensor_sizes(t));
        lz_copy_(c, t, q);
    }
    lz_mem_free(v);
    return ok || lz_failed(c) ? NULL
                              : lz_errf(LZ_ERR_ARG, "lz_init_orthogonal: the rows are not independent");
}

lz_tensor *lz_init_orthogonal(lz_ctx *c, lz_tensor *t, double gain)
{
    const lz_loc at = { 0 };
    int64_t in = 1, out = 1;
    if (!get_fans(c, t, &in, &out))
        return t;
    int64_t n = lz_tensor_sizes(t).v[0], width = in;
    bool flip = n > width;
    lz_scope *s = lz_scope_push(c);
    LZ_NO_GRAD(c)
    {
        (void)lz_nn_report(c, (lz_loc){ 0 },
                           write_orthogonal(c, t, flip ? LZ_INTS(width, n) : LZ_INTS(n, width), flip, gain));
    }
    lz_scope_pop(s);
    return t;
}
