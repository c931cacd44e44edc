/* Rules for results in which PyTorch's choice is arbitrary: these are compared by meaning. The list is
 * complete; all other indices (of sort, max, argmax, cummax, median, mode, pooling, ...) are compared
 * exactly.
 *
 * ALONG: an index along a dimension that a selection found. Of equal elements any may be
 *     named, so the element at our index must equal the element at PyTorch's index.
 * ALONG_DIFFERENT: as ALONG; all indices of a row must be different.
 * EIGEN, LEFT, RIGHT: eigenvectors of the symmetric matrix A, of A A', and, as rows, of A' A: unit vectors
 * that are orthogonal to each other, and A v is v times a number. Signs may differ, and for a number that
 * occurs several times all of its vectors. */
#include "core/convert.h"
#include "harness/replay_impl.h"
#include <math.h>
#include <string.h>

typedef enum rule { EXACT, ALONG, ALONG_DIFFERENT, EIGEN, LEFT, RIGHT } rule;

static const struct {
    const char *op; /* the operator's name before the dot */
    size_t output;
    rule rule;
} rules[] = {
    { "topk", 1, ALONG_DIFFERENT }, { "kthvalue", 1, ALONG },
    { "nanmedian", 1, ALONG },      { "_linalg_eigh", 1, EIGEN },
    { "linalg_eigh", 1, EIGEN },    { "_linalg_svd", 0, LEFT },
    { "_linalg_svd", 2, RIGHT },    { "linalg_svd", 0, LEFT },
    { "linalg_svd", 2, RIGHT },     { "svd", 0, LEFT },
};

static rule rule_of(const lz_rule_case *c)
{
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (strlen(rules[i].op) == c->op->base && !memcmp(rules[i].op, c->op->name, c->op->base)
            && rules[i].output == c->output)
            return rules[i].rule;
    return EXACT;
}

static bool same_element(const lz_array *x, int64_t a, int64_t b)
{
    lz_scalar p = lz_array_get(x, a), q = lz_array_get(x, b);
    if (p.kind == LZ_SCALAR_FLOAT)
        return p.re == q.re || (isnan(p.re) && isnan(q.re));
    return p.i == q.i;
}

/* ---- along a dimension ---- */

/* The dimension that the call names; -1: all dimensions. */
static int64_t dim_of(const lz_rule_case *c, int64_t ndim)
{
    for (int i = 0; i < c->op->nargs; i++) {
        if (strcmp(c->op->args[i].name, "dim") != 0 || c->args[i].kind != LZ_LOW_VALUE_NUMBER)
            continue;
        int64_t d = c->args[i].number.i;
        return d < 0 ? d + ndim : d;
    }
    return -1;
}

/* The position in x of index element i, with `at` along dim. The index has x's dimensions, or all except
 * dim. */
static int64_t place(const lz_array *x, const lz_array *index, int64_t i, int64_t dim, int64_t at)
{
    int64_t v[LZ_MAX_DIMS] = { 0 }, number = 0;
    bool missing = index->sizes.n < x->sizes.n;
    lz_array_index_of(index, i, v);
    for (int64_t d = 0; d < x->sizes.n; d++) {
        int64_t k = missing && d > dim ? d - 1 : d;
        number = number * x->sizes.v[d] + (d == dim ? at : v[k]);
    }
    return number;
}

static bool along(const lz_rule_case *c, const lz_array *got, const lz_array *want, lz_text *why)
{
    const lz_array *x = c->arrays[0];
    int64_t dim = x ? dim_of(c, x->sizes.n) : 0, size = !x           ? 0
                                                        : dim < 0    ? x->numel
                                                        : x->sizes.n ? x->sizes.v[dim]
                                                                     : 1;
    for (int64_t i = 0; x && i < got->numel; i++) {
        int64_t a = lz_array_get(got, i).i, b = lz_array_get(want, i).i;
        bool inside = a >= 0 && a < size;
        bool flat = dim < 0 || x->sizes.n == 0;
        if (!inside
            || !same_element(x, flat ? a : place(x, got, i, dim, a), flat ? b : place(x, want, i, dim, b))) {
            lz_text_printf(why, "index %lld is %lld; its element differs from the element at %lld",
                           (long long)i, (long long)a, (long long)b);
            return false;
        }
    }
    return x != NULL;
}

/* Whether all indices along the dimension are different. */
static bool different(const lz_rule_case *c, const lz_array *got, lz_text *why)
{
    int64_t n = got->sizes.n, dim = n ? dim_of(c, n) : 0, v[LZ_MAX_DIMS];
    dim = dim < 0 ? n - 1 : dim;
    for (int64_t i = 0; n && i < got->numel; i++) {
        int64_t here = lz_array_get(got, i).i;
        lz_array_index_of(got, i, v);
        for (int64_t k = v[dim]; k-- > 0;) {
            v[dim] = k;
            if (lz_element_get(got->dtype, lz_array_at(got, v)).i == here) {
                lz_text_printf(why, "index %lld occurs twice", (long long)here);
                return false;
            }
        }
    }
    return true;
}

/* ---- vectors ---- */

/* Matrix number `batch` of an array, or its transposed matrix. */
typedef struct matrix {
    const lz_array *a;
    int64_t batch, rows, cols;
    bool transposed;
} matrix;

static matrix matrix_of(const lz_array *a, int64_t batch, bool transposed)
{
    int64_t n = a->sizes.n, rows = a->sizes.v[n - 2], cols = a->sizes.v[n - 1];
    return (matrix){ a, batch, transposed ? cols : rows, transposed ? rows : cols, transposed };
}

static double entry(const matrix *m, int64_t i, int64_t j)
{
    int64_t row = m->transposed ? j : i, col = m->transposed ? i : j;
    int64_t rows = m->transposed ? m->cols : m->rows, cols = m->transposed ? m->rows : m->cols;
    return lz_array_get(m->a, (m->batch * rows + row) * cols + col).re;
}

/* An element of the matrix that has the vectors: the triangle of A that the call names, or A A'. */
static double symmetric_entry(const matrix *a, rule r, bool upper, int64_t i, int64_t j)
{
    double sum = 0;
    if (r == EIGEN)
        return (i < j) == upper ? entry(a, i, j) : entry(a, j, i);
    for (int64_t k = 0; k < a->cols; k++)
        sum += entry(a, i, k) * entry(a, j, k);
    return sum;
}

static double dot(const matrix *v, int64_t p, int64_t q)
{
    double sum = 0;
    for (int64_t i = 0; i < v->rows; i++)
        sum += entry(v, i, p) * entry(v, i, q);
    return sum;
}

/* The greatest element of A v - (v' A v) v, for column `col`; *scale: the greatest element of A. */
static double residual(const matrix *a, const matrix *v, rule r, bool upper, int64_t col, double *scale)
{
    double value = 0, worst = 0;
    for (int pass = 0; pass < 2; pass++)
        for (int64_t i = 0; i < v->rows; i++) {
            double sum = 0;
            for (int64_t j = 0; j < v->rows; j++) {
                double x = symmetric_entry(a, r, upper, i, j);
                sum += x * entry(v, j, col);
                *scale = fmax(*scale, fabs(x));
            }
            value += pass ? 0 : sum * entry(v, i, col);
            worst = fmax(worst, pass ? fabs(sum - value * entry(v, i, col)) : 0);
        }
    return worst;
}

static bool is_upper(const lz_rule_case *c)
{
    for (int i = 0; i < c->op->nargs; i++)
        if (!strcmp(c->op->args[i].name, "UPLO") && c->args[i].kind == LZ_LOW_VALUE_STR)
            return c->args[i].str.ptr[0] == 'U' || c->args[i].str.ptr[0] == 'u';
    return false;
}

static bool vectors_hold(const lz_rule_case *c, rule r, const matrix *a, const matrix *v, double eps)
{
    double size = (double)v->rows, scale = 1;
    for (int64_t p = 0; p < v->cols; p++) {
        for (int64_t q = 0; q <= p; q++)
            if (!(fabs(dot(v, p, q) - (p == q)) <= 16 * eps * size))
                return false;
        if (!(residual(a, v, r, is_upper(c), p, &scale) <= 64 * eps * size * scale))
            return false;
    }
    return true;
}

static bool vectors(const lz_rule_case *c, rule r, const lz_array *got, lz_text *why)
{
    const lz_array *a = c->arrays[0];
    double eps = got->dtype == LZ_F64 ? 0x1p-52 : 0x1p-23;
    int64_t n = got->sizes.n,
            count = n < 2 || got->numel == 0 ? 0 : got->numel / got->sizes.v[n - 1] / got->sizes.v[n - 2];
    for (int64_t i = 0; i < count; i++) {
        matrix m = matrix_of(a, i, r == RIGHT), v = matrix_of(got, i, r == RIGHT);
        if (!vectors_hold(c, r, &m, &v, eps)) {
            lz_text_printf(why, "the vectors of matrix %lld are none of the argument", (long long)i);
            return false;
        }
    }
    return true;
}

/* ---- interface ---- */

bool lz_replay_equal(const lz_rule_case *c, const lz_array *got, const lz_array *want, lz_text *why)
{
    lz_tolerance t = lz_tolerance_of(want->dtype);
    rule r = c ? rule_of(c) : EXACT;
    bool comparable = got->dtype == want->dtype && lz_shape_eq(lz_array_sizes(got), lz_array_sizes(want));
    if (r == EXACT || !comparable)
        return lz_array_equal(got, want, &t, NULL, why);
    if (r == EIGEN || r == LEFT || r == RIGHT)
        return lz_array_equal(got, want, &t, NULL, NULL) || vectors(c, r, got, why);
    return along(c, got, want, why) && (r != ALONG_DIFFERENT || different(c, got, why));
}
