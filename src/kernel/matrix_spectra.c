#include "kernel/matrix_spectra.h"
#include <float.h>
#include <math.h>
#include <string.h>

enum { SWEEPS = 60 }; /* about ten are enough */

static bool all_finite(const double *a, int64_t n)
{
    bool good = true;
    for (int64_t i = 0; i < n; i++)
        good = good && isfinite(a[i]);
    return good;
}

static void unit_matrix(double *a, int64_t n)
{
    memset(a, 0, (size_t)(n * n) * sizeof *a);
    for (int64_t i = 0; i < n; i++)
        a[i + i * n] = 1;
}

/* x, y become c x - s y and s x + c y; their elements are `step` apart. */
static void rotate(double *x, double *y, int64_t n, int64_t step, double c, double s)
{
    for (int64_t i = 0; i < n; i++) {
        double a = x[i * step], b = y[i * step];
        x[i * step] = c * a - s * b;
        y[i * step] = s * a + c * b;
    }
}

/* The rotation after which the product of two vectors is 0; p, q: their squares, or the two diagonal
 * elements. */
static void angle(double p, double q, double between, double *c, double *s)
{
    double zeta = (q - p) / (2 * between), t = copysign(1, zeta) / (fabs(zeta) + hypot(1, zeta));
    *c = 1 / hypot(1, t);
    *s = *c * t;
}

/* Numbers in descending or ascending order, with the columns that belong to them. */
static void order_columns(double *value, int64_t n, bool descending, double *a, int64_t rows, double *b,
                          int64_t rows_b)
{
    for (int64_t i = 0; i < n; i++) {
        int64_t best = i;
        for (int64_t k = i + 1; k < n; k++)
            if (descending ? value[k] > value[best] : value[k] < value[best])
                best = k;
        double t = value[i];
        value[i] = value[best];
        value[best] = t;
        if (best == i)
            continue;
        rotate(a + i * rows, a + best * rows, rows, 1, 0, 1); /* exchanges them, and the sign of one */
        rotate(b + i * rows_b, b + best * rows_b, rows_b, 1, 0, 1);
    }
}

/* ---- eigenvalues ---- */

/* Fills both triangles from the one that counts. */
static void make_symmetric(double *a, int64_t n, bool upper)
{
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < j; i++)
            if (upper)
                a[j + i * n] = a[i + j * n];
            else
                a[i + j * n] = a[j + i * n];
}

/* Rotates each pair of rows and columns once. False: there was nothing left to rotate. */
static bool sweep_symmetric(double *a, double *v, int64_t n)
{
    bool rotated = false;
    for (int64_t p = 0; p < n; p++)
        for (int64_t q = p + 1; q < n; q++) {
            double c, s, off = a[p + q * n], x = fabs(a[p + p * n]), y = fabs(a[q + q * n]);
            if (off == 0 || fabs(off) <= DBL_EPSILON / 8 * sqrt(x) * sqrt(y) || fabs(off) < DBL_MIN)
                continue;
            angle(a[p + p * n], a[q + q * n], off, &c, &s);
            rotate(a + p * n, a + q * n, n, 1, c, s);
            rotate(a + p, a + q, n, n, c, s);
            rotate(v + p * n, v + q * n, n, 1, c, s);
            rotated = true;
        }
    return rotated;
}

void lz_plain_eigh(lz_matrix_job *j)
{
    int64_t n = j->call->n, sweeps = 0;
    double *a = j->in[0], *v = j->work, *w = j->out[0];
    bool vectors = j->call->flags[1] != 0;
    make_symmetric(a, n, j->call->flags[0] != 0);
    unit_matrix(v, n);
    if (!all_finite(a, n * n))
        j->info = 1;
    while (!j->info && sweeps < SWEEPS && sweep_symmetric(a, v, n))
        sweeps++;
    for (int64_t i = 0; i < n; i++)
        w[i] = a[i + i * n];
    order_columns(w, n, false, v, n, v, 0);
    if (vectors)
        memcpy(j->out[1], v, (size_t)(n * n) * sizeof *v);
}

/* NOLINTNEXTLINE(readability-non-const-parameter): the type of the table's functions */
void lz_plain_eigh_room(const lz_routine_call *c, bool f64, int64_t *numbers, int64_t *ints)
{
    (void)f64;
    (void)ints;
    *numbers = c->n * c->n;
}

/* ---- singular values ---- */

static double dot(const double *x, const double *y, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += x[i] * y[i];
    return sum;
}

/* Makes the columns of a, which has m >= n rows, orthogonal: a v is the new a. */
static bool sweep_columns(double *a, double *v, int64_t m, int64_t n)
{
    bool rotated = false;
    for (int64_t p = 0; p < n; p++)
        for (int64_t q = p + 1; q < n; q++) {
            double *x = a + p * m, *y = a + q * m, c, s, between = dot(x, y, m), xx = dot(x, x, m),
                   yy = dot(y, y, m);
            if (between == 0 || fabs(between) <= DBL_EPSILON * sqrt(xx) * sqrt(yy))
                continue;
            angle(xx, yy, between, &c, &s);
            rotate(x, y, m, 1, c, s);
            rotate(v + p * n, v + q * n, n, 1, c, s);
            rotated = true;
        }
    return rotated;
}

/* Fills column k of u with a unit vector that is orthogonal to the columns before it: what is left of the
 * unit vectors in turn, until enough is left of one. */
static void complete_column(double *u, int64_t m, int64_t k)
{
    double *x = u + k * m, size = 0;
    for (int64_t try = 0; try < m && size < 0.5 / sqrt((double)m); try++) {
        memset(x, 0, (size_t)m * sizeof *x);
        x[(k + try) % m] = 1;
        for (int twice = 0; twice < 2; twice++)
            for (int64_t i = 0; i < k; i++) {
                double part = dot(u + i * m, x, m);
                for (int64_t r = 0; r < m; r++)
                    x[r] -= part * u[i * m + r];
            }
        size = sqrt(dot(x, x, m));
    }
    for (int64_t r = 0; r < m; r++)
        x[r] /= size;
}

/* The columns of a divided by their lengths, and more columns up to `cols`. */
static void unit_columns(const double *a, const double *s, int64_t m, int64_t n, double *u, int64_t cols)
{
    for (int64_t k = 0; k < cols; k++)
        if (k < n && s[k] > (double)m * DBL_EPSILON * s[0] && s[k] > DBL_MIN)
            for (int64_t r = 0; r < m; r++)
                u[r + k * m] = a[r + k * m] / s[k];
        else
            complete_column(u, m, k);
}

/* Scales a so that squares of its elements neither overflow nor vanish. */
static double scale_to_one(double *a, int64_t n)
{
    double most = 0;
    for (int64_t i = 0; i < n; i++)
        most = fabs(a[i]) > most ? fabs(a[i]) : most;
    for (int64_t i = 0; i < n && most > 0; i++)
        a[i] /= most;
    return most > 0 ? most : 1;
}

static void transpose_into(const double *a, int64_t rows, int64_t cols, double *to)
{
    for (int64_t j = 0; j < cols; j++)
        for (int64_t i = 0; i < rows; i++)
            to[j + i * cols] = a[i + j * rows];
}

/* a: tall >= wide. left: [tall, n_left], right: [wide, n_right], n_left and n_right are 0, wide or all. */
static void svd_tall(double *a, double *v, double *s, int64_t tall, int64_t wide, double *left,
                     int64_t n_left)
{
    double scale = scale_to_one(a, tall * wide);
    unit_matrix(v, wide);
    for (int sweeps = 0; sweeps < SWEEPS && sweep_columns(a, v, tall, wide);)
        sweeps++;
    for (int64_t k = 0; k < wide; k++)
        s[k] = sqrt(dot(a + k * tall, a + k * tall, tall));
    order_columns(s, wide, true, a, tall, v, wide);
    unit_columns(a, s, tall, wide, left, n_left);
    for (int64_t k = 0; k < wide; k++)
        s[k] *= scale;
}

/* A wide matrix is transposed: its U and V change places. work: the matrix, V of the tall one, its U. */
void lz_plain_svd(lz_matrix_job *j)
{
    int64_t m = j->call->m, n = j->call->n, tall = m > n ? m : n, wide = m > n ? n : m,
            how = j->call->flags[0];
    int64_t n_left = how == 0 ? 0 : how == 1 ? wide : tall;
    double *a = j->work, *v = a + m * n, *left = v + wide * wide;
    if (!all_finite(j->in[0], m * n)) {
        j->info = -4;
        return;
    }
    if (m >= n)
        memcpy(a, j->in[0], (size_t)(m * n) * sizeof *a);
    else
        transpose_into(j->in[0], m, n, a);
    svd_tall(a, v, j->out[0], tall, wide, left, n_left);
    if (how && m >= n) {
        memcpy(j->out[1], left, (size_t)(m * n_left) * sizeof *a);
        transpose_into(v, n, n, j->out[2]);
    } else if (how) {
        memcpy(j->out[1], v, (size_t)(m * m) * sizeof *a);
        transpose_into(left, n, n_left, j->out[2]);
    }
}

/* NOLINTNEXTLINE(readability-non-const-parameter): the type of the table's functions */
void lz_plain_svd_room(const lz_routine_call *c, bool f64, int64_t *numbers, int64_t *ints)
{
    int64_t tall = c->m > c->n ? c->m : c->n, wide = c->m > c->n ? c->n : c->m;
    (void)f64;
    (void)ints;
    *numbers = c->m * c->n + wide * wide + tall * tall;
}
