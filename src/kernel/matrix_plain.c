/* Routines on matrices in plain code: factorisations and solvers. Results are those of LAPACK up to rounding,
 * signs and pivots included. */
#include "kernel/gemm.h"
#include "kernel/matrix_job.h"
#include "kernel/matrix_spectra.h"
#include <math.h>
#include <string.h>

/* ---- triangles ---- */

/* op(a) x = b for one column; a has size n and the distance lda of columns. */
typedef struct triangle {
    const double *a;
    int64_t n, lda;
    bool upper, transposed, unit;
} triangle;

static double entry(const triangle *t, int64_t i, int64_t j)
{
    return t->transposed ? t->a[j + i * t->lda] : t->a[i + j * t->lda];
}

/* The elements of x are `step` apart. */
static void solve_column(const triangle *t, double *x, int64_t step)
{
    bool down = t->upper == t->transposed; /* the first unknown is known first */
    for (int64_t k = 0; k < t->n; k++) {
        int64_t i = down ? k : t->n - 1 - k;
        if (!t->unit)
            x[i * step] /= entry(t, i, i);
        for (int64_t r = down ? i + 1 : 0, end = down ? t->n : i; r < end; r++)
            x[r * step] -= entry(t, r, i) * x[i * step];
    }
}

static void triangular_solve(lz_matrix_job *j)
{
    const int64_t *how = j->call->flags;
    int64_t r = j->call->r, c = j->call->c;
    /* rows are the columns of the transposed matrix */
    triangle t = { .a = j->in[0],
                   .n = j->call->n,
                   .lda = j->call->n,
                   .upper = (how[0] != 0) != j->by_rows,
                   .transposed = (how[1] == 0) != j->by_rows,
                   .unit = how[2] != 0 };
    for (int64_t i = 0; i < (how[1] ? c : r); i++) /* x a = b is a' x' = b' */
        solve_column(&t, (double *)j->out[0] + (how[1] ? i * r : i), how[1] ? 1 : r);
}

/* ---- Cholesky ---- */

/* The lower triangle of a: column by column, each minus what the columns before it give. */
static int cholesky_lower(double *a, int64_t n)
{
    for (int64_t j = 0; j < n; j++) {
        for (int64_t k = 0; k < j; k++)
            for (int64_t i = j; i < n; i++)
                a[i + j * n] -= a[i + k * n] * a[j + k * n];
        if (!(a[j + j * n] > 0))
            return (int)j + 1;
        a[j + j * n] = sqrt(a[j + j * n]);
        for (int64_t i = j + 1; i < n; i++)
            a[i + j * n] /= a[j + j * n];
    }
    return 0;
}

static void transpose_square(double *a, int64_t n)
{
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < j; i++) {
            double t = a[i + j * n];
            a[i + j * n] = a[j + i * n];
            a[j + i * n] = t;
        }
}

/* The matrix is stored row after row: by columns it is the transposed one. */
static void cholesky(lz_matrix_job *j)
{
    int64_t n = j->call->n;
    if (!j->call->flags[0])
        transpose_square(j->out[0], n);
    j->info = cholesky_lower(j->out[0], n);
    if (!j->call->flags[0])
        transpose_square(j->out[0], n);
}

/* ---- LU ---- */

static void exchange_rows(double *a, int64_t lda, int64_t cols, int64_t p, int64_t q)
{
    for (int64_t j = 0; j < cols && p != q; j++) {
        double t = a[p + j * lda];
        a[p + j * lda] = a[q + j * lda];
        a[q + j * lda] = t;
    }
}

/* The row of the greatest element of column k, from the diagonal on; the first of several. */
static int64_t find_pivot(const double *a, int64_t m, int64_t k)
{
    int64_t best = k;
    for (int64_t i = k + 1; i < m; i++)
        if (fabs(a[i + k * m]) > fabs(a[best + k * m]))
            best = i;
    return best;
}

static void eliminate(double *a, int64_t m, int64_t n, int64_t k)
{
    for (int64_t i = k + 1; i < m; i++)
        a[i + k * m] /= a[k + k * m];
    for (int64_t j = k + 1; j < n; j++)
        for (int64_t i = k + 1; i < m; i++)
            a[i + j * m] -= a[i + k * m] * a[k + j * m];
}

/* Returns 1 + the first column whose pivot is 0; 0: none. */
static int factorise(double *a, int64_t m, int64_t n, int32_t *pivots)
{
    int info = 0;
    for (int64_t i = 0; i < m && i < n; i++) {
        int64_t p = find_pivot(a, m, i);
        pivots[i] = (int32_t)p + 1;
        exchange_rows(a, m, n, i, p);
        if (a[i + i * m] != 0)
            eliminate(a, m, n, i);
        else
            info = info ? info : (int)i + 1;
    }
    return info;
}

static void solve_factorised(const double *a, const int32_t *pivots, int64_t n, bool transposed, double *b,
                             int64_t c)
{
    triangle lower = { a, n, n, false, transposed, true }, upper = { a, n, n, true, transposed, false };
    for (int64_t i = 0; i < n && !transposed; i++)
        exchange_rows(b, n, c, i, pivots[i] - 1);
    for (int64_t k = 0; k < c; k++) {
        solve_column(transposed ? &upper : &lower, b + k * n, 1);
        solve_column(transposed ? &lower : &upper, b + k * n, 1);
    }
    for (int64_t i = n; i-- > 0 && transposed;)
        exchange_rows(b, n, c, i, pivots[i] - 1);
}

static void lu(lz_matrix_job *j)
{
    j->info = factorise(j->out[0], j->call->m, j->call->n, j->out[1]);
}

static void lu_solve(lz_matrix_job *j)
{
    solve_factorised(j->in[0], j->in[1], j->call->n, j->call->flags[0] != 0, j->out[0], j->call->c);
}

static void solve(lz_matrix_job *j)
{
    j->info = factorise(j->in[0], j->call->n, j->call->n, j->ints);
    solve_factorised(j->in[0], j->ints, j->call->n, j->by_rows, j->out[0], j->call->c);
}

/* NOLINTNEXTLINE(readability-non-const-parameter): the type of the table's functions */
static void solve_room(const lz_routine_call *c, bool f64, int64_t *numbers, int64_t *ints)
{
    (void)f64;
    (void)numbers;
    *ints = c->n;
}

static void permutation(lz_matrix_job *j)
{
    int32_t *order = j->out[0];
    const int32_t *pivots = j->in[0];
    for (int64_t i = 0; i < j->call->flags[0]; i++)
        order[i] = (int32_t)i;
    for (int64_t i = 0; i < j->call->m; i++) {
        int32_t t = order[i], p = pivots[i] - 1;
        bool inside = p >= 0 && p < j->call->flags[0];
        order[i] = inside ? order[p] : t;
        if (inside)
            order[p] = t;
    }
}

/* ---- QR ---- */

static double norm(const double *x, int64_t n)
{
    double most = 0, sum = 0;
    for (int64_t i = 0; i < n; i++)
        most = fabs(x[i]) > most || isnan(x[i]) ? fabs(x[i]) : most;
    for (int64_t i = 0; i < n && most > 0; i++)
        sum += x[i] / most * (x[i] / most);
    return most * sqrt(sum);
}

/* Makes the reflector that maps x to (beta, 0, ...): x becomes beta, and the reflector without its first
 * element, which is 1. */
static double make_reflector(double *x, int64_t n)
{
    double rest = n > 1 ? norm(x + 1, n - 1) : 0;
    if (rest == 0)
        return 0;
    double beta = -copysign(hypot(x[0], rest), x[0]), alpha = x[0];
    for (int64_t i = 1; i < n; i++)
        x[i] /= alpha - beta;
    x[0] = beta;
    return (beta - alpha) / beta;
}

/* (1 - tau v v') c, where the first element of v is 1. The elements of a vector of c are `step` apart. */
static void reflect_columns(const double *v, double tau, int64_t n, double *c, int64_t step, int64_t next,
                            int64_t count)
{
    for (int64_t j = 0; j < count && tau != 0; j++) {
        double *x = c + j * next, sum = x[0];
        for (int64_t i = 1; i < n; i++)
            sum += v[i] * x[i * step];
        x[0] -= tau * sum;
        for (int64_t i = 1; i < n; i++)
            x[i * step] -= tau * sum * v[i];
    }
}

static void qr(lz_matrix_job *j)
{
    double *a = j->out[0], *tau = j->out[1];
    int64_t m = j->call->m, n = j->call->n, k = m < n ? m : n;
    for (int64_t i = 0; i < k; i++) {
        double *x = a + i + i * m;
        tau[i] = make_reflector(x, m - i);
        reflect_columns(x, tau[i], m - i, x + m, 1, m, n - i - 1);
    }
}

/* From the last reflector to the first: column i is then the reflector's image of unit vector i. */
static void reflectors(lz_matrix_job *j)
{
    double *a = j->out[0];
    const double *tau = j->in[1];
    int64_t m = j->call->m, n = j->call->n, k = j->call->r;
    for (int64_t i = k; i < n; i++) {
        memset(a + i * m, 0, (size_t)m * sizeof *a);
        a[i + i * m] = 1;
    }
    for (int64_t i = k; i-- > 0;) {
        double *x = a + i + i * m;
        reflect_columns(x, tau[i], m - i, x + m, 1, m, n - i - 1);
        for (int64_t r = 1; r < m - i; r++)
            x[r] *= -tau[i];
        x[0] = 1 - tau[i];
        memset(a + i * m, 0, (size_t)i * sizeof *a);
    }
}

static void reflect(lz_matrix_job *j)
{
    const double *a = j->in[0], *tau = j->in[1];
    double *out = j->out[0];
    bool left = j->call->flags[0] != 0, transposed = j->call->flags[1] != 0, forward = left == transposed;
    int64_t m = j->call->m, k = j->call->n, r = j->call->r, c = j->call->c;
    for (int64_t s = 0; s < k; s++) {
        int64_t i = forward ? s : k - 1 - s;
        reflect_columns(a + i + i * m, tau[i], m - i, out + (left ? i : i * r), left ? 1 : r, left ? r : 1,
                        left ? c : r);
    }
}

/* ---- L D L' by Bunch and Kaufman ---- */

/* The greatest element of a column, or of a row up to the diagonal, of the part that is left. */
static int64_t greatest(const double *a, int64_t n, int64_t k, int64_t row, double *value)
{
    int64_t best = -1;
    *value = 0;
    for (int64_t i = k; i < n; i++) {
        double x = i == row ? 0 : fabs(i > row ? a[i + row * n] : a[row + i * n]);
        if (i != row && (best < 0 || x > *value)) {
            best = i;
            *value = x;
        }
    }
    return best;
}

/* Whether the next block has size 2; *with: the row that is exchanged with the last row of the block. */
static bool choose_pivot(const double *a, int64_t n, int64_t k, int64_t *with)
{
    const double alpha = (1 + sqrt(17)) / 8;
    double column, row, here = fabs(a[k + k * n]);
    int64_t far = greatest(a, n, k, k, &column);
    *with = k;
    if (far < 0 || here >= alpha * column || column == 0)
        return false;
    greatest(a, n, k, far, &row);
    if (here >= alpha * column * (column / row))
        return false;
    *with = far;
    return fabs(a[far + far * n]) < alpha * row;
}

/* Exchanges rows and columns p < q of the lower triangle from column k on. */
static void exchange_both(double *a, int64_t n, int64_t p, int64_t q)
{
    double t;
    for (int64_t i = q + 1; i < n; i++)
        t = a[i + p * n], a[i + p * n] = a[i + q * n], a[i + q * n] = t;
    for (int64_t i = p + 1; i < q; i++)
        t = a[i + p * n], a[i + p * n] = a[q + i * n], a[q + i * n] = t;
    t = a[p + p * n], a[p + p * n] = a[q + q * n], a[q + q * n] = t;
}

static void eliminate_one(double *a, int64_t n, int64_t k)
{
    double d = a[k + k * n];
    for (int64_t j = k + 1; j < n; j++)
        for (int64_t i = j; i < n; i++)
            a[i + j * n] -= a[i + k * n] * a[j + k * n] / d;
    for (int64_t i = k + 1; i < n; i++)
        a[i + k * n] /= d;
}

static void eliminate_two(double *a, int64_t n, int64_t k)
{
    double d21 = a[k + 1 + k * n], d11 = a[k + 1 + (k + 1) * n] / d21, d22 = a[k + k * n] / d21;
    double t = 1 / (d11 * d22 - 1) / d21;
    for (int64_t j = k + 2; j < n; j++) {
        double first = t * (d11 * a[j + k * n] - a[j + (k + 1) * n]);
        double second = t * (d22 * a[j + (k + 1) * n] - a[j + k * n]);
        for (int64_t i = j; i < n; i++)
            a[i + j * n] -= a[i + k * n] * first + a[i + (k + 1) * n] * second;
        a[j + k * n] = first;
        a[j + (k + 1) * n] = second;
    }
}

static void ldl(lz_matrix_job *j)
{
    double *a = j->out[0];
    int32_t *pivots = j->out[1];
    int64_t n = j->call->n, step;
    for (int64_t k = 0; k < n; k += step) {
        int64_t with;
        bool two = choose_pivot(a, n, k, &with);
        step = two ? 2 : 1;
        int64_t last = k + step - 1;
        if (with != last) {
            double t = a[last + k * n];
            exchange_both(a, n, last, with);
            if (two)
                a[last + k * n] = a[with + k * n], a[with + k * n] = t;
        }
        pivots[k] = pivots[last] = (int32_t)(two ? -(with + 1) : with + 1);
        if (two)
            eliminate_two(a, n, k);
        else if (a[k + k * n] != 0)
            eliminate_one(a, n, k);
        else
            j->info = j->info ? j->info : (int)k + 1;
    }
}

/* b minus the columns of L before the block, with the rows exchanged as in the factorisation. */
static void ldl_down(const double *a, const int32_t *pivots, int64_t n, double *b)
{
    for (int64_t k = 0, step; k < n; k += step) {
        step = pivots[k] < 0 ? 2 : 1;
        int64_t last = k + step - 1, with = (pivots[k] < 0 ? -pivots[k] : pivots[k]) - 1;
        exchange_rows(b, n, 1, last, with);
        for (int64_t i = last + 1; i < n; i++)
            for (int64_t s = k; s <= last; s++)
                b[i] -= a[i + s * n] * b[s];
        if (step == 1) {
            b[k] /= a[k + k * n];
            continue;
        }
        double d21 = a[k + 1 + k * n], d11 = a[k + k * n] / d21, d22 = a[k + 1 + (k + 1) * n] / d21;
        double scale = d11 * d22 - 1, x = b[k] / d21, y = b[k + 1] / d21;
        b[k] = (d22 * x - y) / scale;
        b[k + 1] = (d11 * y - x) / scale;
    }
}

static void ldl_up(const double *a, const int32_t *pivots, int64_t n, double *b)
{
    for (int64_t last = n - 1, step; last >= 0; last -= step) {
        step = pivots[last] < 0 ? 2 : 1;
        int64_t with = (pivots[last] < 0 ? -pivots[last] : pivots[last]) - 1;
        for (int64_t s = last - step + 1; s <= last; s++)
            for (int64_t i = last + 1; i < n; i++)
                b[s] -= a[i + s * n] * b[i];
        exchange_rows(b, n, 1, last, with);
    }
}

static void ldl_solve(lz_matrix_job *j)
{
    int64_t n = j->call->n;
    for (int64_t c = 0; c < j->call->c; c++) {
        double *b = (double *)j->out[0] + c * n;
        ldl_down(j->in[0], j->in[1], n, b);
        ldl_up(j->in[0], j->in[1], n, b);
    }
}

/* ---- powers ---- */

static lz_gemm product(int64_t n, const double *x, double *to, char *scratch)
{
    lz_gemm_side rows = { .data = x, .dtype = LZ_F64, .along = n, .k = 1 };
    lz_gemm_side columns = { .data = x, .dtype = LZ_F64, .along = 1, .k = n };
    return (lz_gemm){ .type = LZ_GEMM_F64,
                      .batch = 1,
                      .m = n,
                      .n = n,
                      .k = n,
                      .x = rows,
                      .y = columns,
                      .out = to,
                      .out_dtype = LZ_F64,
                      .out_row = n,
                      .scratch = scratch };
}

/* A matrix in the order of columns is its transposed matrix in the order of rows, and so is the square of it.
 */
static void square(lz_matrix_job *j)
{
    int64_t n = j->call->n, bytes = n * n * (int64_t)sizeof(double);
    double *copy = j->work;
    char *scratch = (char *)copy + (bytes + 63) / 64 * 64;
    for (int32_t times = *(const int32_t *)j->in[1]; times > 0; times--) {
        memcpy(copy, j->out[0], (size_t)bytes);
        lz_gemm g = product(n, copy, j->out[0], scratch);
        lz_err_free(lz_gemm_run(&g, NULL)); /* with scratch memory it cannot fail */
    }
}

/* NOLINTNEXTLINE(readability-non-const-parameter): the type of the table's functions */
static void square_room(const lz_routine_call *c, bool f64, int64_t *numbers, int64_t *ints)
{
    lz_gemm g = product(c->n, NULL, NULL, NULL);
    (void)f64;
    (void)ints;
    *numbers = c->n * c->n + 8 + (int64_t)(lz_gemm_scratch(&g, 1) / sizeof(double)) + 8;
}

const lz_matrix_code *lz_matrix_plain(lz_routine r)
{
    static const lz_matrix_code codes[LZ_ROUTINES] = {
        [LZ_ROUTINE_CHOLESKY] = { cholesky, NULL },
        [LZ_ROUTINE_LU] = { lu, NULL },
        [LZ_ROUTINE_SOLVE] = { solve, solve_room },
        [LZ_ROUTINE_LU_SOLVE] = { lu_solve, NULL },
        [LZ_ROUTINE_QR] = { qr, NULL },
        [LZ_ROUTINE_REFLECTORS] = { reflectors, NULL },
        [LZ_ROUTINE_REFLECT] = { reflect, NULL },
        [LZ_ROUTINE_EIGH] = { lz_plain_eigh, lz_plain_eigh_room },
        [LZ_ROUTINE_SVD] = { lz_plain_svd, lz_plain_svd_room },
        [LZ_ROUTINE_LDL] = { ldl, NULL },
        [LZ_ROUTINE_LDL_SOLVE] = { ldl_solve, NULL },
        [LZ_ROUTINE_TRIANGULAR_SOLVE] = { triangular_solve, NULL },
        [LZ_ROUTINE_PERMUTATION] = { permutation, NULL },
        [LZ_ROUTINE_SQUARE] = { square, square_room },
    };
    return &codes[r];
}
