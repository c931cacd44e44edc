/* Routines on matrices by LAPACK, which OpenBLAS contains. */
#include "kernel/lapack.h"
#include "base/foreign.h"
#include "kernel/blas.h"
#include "kernel/matrix_job.h"
#include <math.h>
#include <stddef.h>

/* Fortran passes the length of each string as one more argument. */
typedef size_t length;
typedef const char text;
typedef const int num;

/* Each function for float, and for double. */
typedef struct lapack {
    void (*potrf[2])(text *uplo, num *n, void *a, num *lda, int *info, length);
    void (*getrf[2])(num *m, num *n, void *a, num *lda, int *pivots, int *info);
    void (*getrs[2])(text *trans, num *n, num *nrhs, const void *a, num *lda, const int *pivots, void *b,
                     num *ldb, int *info, length);
    void (*geqrf[2])(num *m, num *n, void *a, num *lda, void *tau, void *work, num *lwork, int *info);
    void (*orgqr[2])(num *m, num *n, num *k, void *a, num *lda, const void *tau, void *work, num *lwork,
                     int *info);
    void (*ormqr[2])(text *side, text *trans, num *m, num *n, num *k, void *a, num *lda, const void *tau,
                     void *c, num *ldc, void *work, num *lwork, int *info, length, length);
    void (*syevd[2])(text *jobz, text *uplo, num *n, void *a, num *lda, void *w, void *work, num *lwork,
                     int *iwork, num *liwork, int *info, length, length);
    void (*gesdd[2])(text *jobz, num *m, num *n, void *a, num *lda, void *s, void *u, num *ldu, void *vt,
                     num *ldvt, void *work, num *lwork, int *iwork, int *info, length);
    void (*sytrf[2])(text *uplo, num *n, void *a, num *lda, int *pivots, void *work, num *lwork, int *info,
                     length);
    void (*sytrs[2])(text *uplo, num *n, num *nrhs, const void *a, num *lda, const int *pivots, void *b,
                     num *ldb, int *info, length);
    void (*trsm[2])(text *side, text *uplo, text *trans, text *diag, num *m, num *n, const void *alpha,
                    const void *a, num *lda, void *b, num *ldb, length, length, length, length);
} lapack;

static lapack lib;
static bool loaded;

#define BOTH(name)                                                                                           \
    { "s" #name "_", true, offsetof(lapack, name) },                                                         \
    {                                                                                                        \
        "d" #name "_", true, offsetof(lapack, name) + sizeof(void (*)(void))                                 \
    }

lz_err *lz_lapack_load(const lz_dl *dl)
{
    static const lz_dl_symbol symbols[] = {
        BOTH(potrf), BOTH(getrf), BOTH(getrs), BOTH(geqrf), BOTH(orgqr), BOTH(ormqr),
        BOTH(syevd), BOTH(gesdd), BOTH(sytrf), BOTH(sytrs), BOTH(trsm),
    };
    lz_err *e = lz_dl_load(dl, symbols, sizeof symbols / sizeof *symbols, &lib);
    loaded = !e;
    if (!e || lz_err_must_surface(e))
        return e;
    lz_err_free(e); /* a build of OpenBLAS without LAPACK still multiplies */
    return NULL;
}

bool lz_lapack_has(void)
{
    lz_blas wanted;
    lz_err *e = lz_blas_wanted(&wanted);
    bool has = !e && wanted != LZ_BLAS_OWN && lz_blas_has(LZ_BLAS_OPENBLAS) && loaded;
    lz_err_free(e);
    return has;
}

bool lz_lapack_enter(void)
{
    return lz_blas_openblas_has_room() && lz_foreign_enter();
}

void lz_lapack_leave(void)
{
    lz_foreign_leave();
}

/* ---- sizes ---- */

static int size(const lz_matrix_job *j, char letter)
{
    return (int)lz_routine_size(j->call, letter);
}

/* The distance of columns, which LAPACK wants to be positive. */
static int distance(int rows)
{
    return rows > 1 ? rows : 1;
}

/* The answer of a routine that is asked how many numbers it needs. */
static int64_t asked(bool f64, const void *answer)
{
    double n = f64 ? *(const double *)answer : (double)*(const float *)answer;
    return (int64_t)ceil(n) + 1;
}

/* ---- Cholesky, LU ---- */

static bool is_number(const lz_matrix_job *j, const void *a, int64_t at)
{
    return j->f64 ? !isnan(((const double *)a)[at]) : !isnan(((const float *)a)[at]);
}

/* The matrix is stored row after row: by columns it is the transposed one. OpenBLAS goes on with a NaN,
 * LAPACK stops there. */
static void cholesky(lz_matrix_job *j)
{
    int n = size(j, 'n');
    lib.potrf[j->f64](j->call->flags[0] ? "L" : "U", &n, j->out[0], &n, &j->info, 1);
    for (int i = 0; i < n && !j->info; i++)
        j->info = is_number(j, j->out[0], (int64_t)i * n + i) ? 0 : i + 1;
}

static void lu(lz_matrix_job *j)
{
    int m = size(j, 'm'), n = size(j, 'n');
    lib.getrf[j->f64](&m, &n, j->out[0], &m, j->out[1], &j->info);
}

static void lu_solve(lz_matrix_job *j)
{
    int n = size(j, 'n'), c = size(j, 'c');
    lib.getrs[j->f64](j->call->flags[0] ? "T" : "N", &n, &c, j->in[0], &n, j->in[1], j->out[0], &n, &j->info,
                      1);
}

/* NOLINTNEXTLINE(readability-non-const-parameter): the type of the table's functions */
static void pivots_room(const lz_routine_call *c, bool f64, int64_t *numbers, int64_t *ints)
{
    (void)f64;
    (void)numbers;
    *ints = c->n;
}

/* Rows are the columns of the transposed matrix. */
static void solve(lz_matrix_job *j)
{
    int n = size(j, 'n'), c = size(j, 'c'), unused;
    lib.getrf[j->f64](&n, &n, j->in[0], &n, j->ints, &j->info);
    lib.getrs[j->f64](j->by_rows ? "T" : "N", &n, &c, j->in[0], &n, j->ints, j->out[0], &n, &unused, 1);
}

static void triangular_solve(lz_matrix_job *j)
{
    const int64_t *how = j->call->flags;
    static const double one = 1;
    static const float one_float = 1;
    int n = distance(size(j, 'n')), r = size(j, 'r'), c = size(j, 'c'), ld = distance(r);
    bool upper = (how[0] != 0) != j->by_rows; /* rows are the columns of the transposed matrix */
    lib.trsm[j->f64](how[1] ? "L" : "R", upper ? "U" : "L", j->by_rows ? "T" : "N", how[2] ? "U" : "N", &r,
                     &c, j->f64 ? (const void *)&one : &one_float, j->in[0], &n, j->out[0], &ld, 1, 1, 1, 1);
}

/* ---- QR ---- */

static void qr(lz_matrix_job *j)
{
    int m = size(j, 'm'), n = size(j, 'n'), lwork = (int)j->room;
    lib.geqrf[j->f64](&m, &n, j->out[0], &m, j->out[1], j->work, &lwork, &j->info);
}

/* NOLINTNEXTLINE(readability-non-const-parameter): the type of the table's functions */
static void qr_room(const lz_routine_call *c, bool f64, int64_t *numbers, int64_t *ints)
{
    int m = (int)c->m, n = (int)c->n, ask = -1, info;
    double answer = 0, none[1] = { 0 };
    (void)ints;
    lib.geqrf[f64](&m, &n, none, &m, none, &answer, &ask, &info);
    *numbers = asked(f64, &answer);
}

static void reflectors(lz_matrix_job *j)
{
    int m = size(j, 'm'), n = size(j, 'n'), k = size(j, 'r'), lwork = (int)j->room;
    lib.orgqr[j->f64](&m, &n, &k, j->out[0], &m, j->in[1], j->work, &lwork, &j->info);
}

/* NOLINTNEXTLINE(readability-non-const-parameter): the type of the table's functions */
static void reflectors_room(const lz_routine_call *c, bool f64, int64_t *numbers, int64_t *ints)
{
    int m = (int)c->m, n = (int)c->n, k = (int)c->r, ask = -1, info;
    double answer = 0, none[1] = { 0 };
    (void)ints;
    lib.orgqr[f64](&m, &n, &k, none, &m, none, &answer, &ask, &info);
    *numbers = asked(f64, &answer);
}

static void reflect(lz_matrix_job *j)
{
    const int64_t *how = j->call->flags;
    int a = size(j, 'm'), k = size(j, 'n'), r = size(j, 'r'), c = size(j, 'c'), lwork = (int)j->room;
    lib.ormqr[j->f64](how[0] ? "L" : "R", how[1] ? "T" : "N", &r, &c, &k, j->in[0], &a, j->in[1], j->out[0],
                      &r, j->work, &lwork, &j->info, 1, 1);
}

/* NOLINTNEXTLINE(readability-non-const-parameter): the type of the table's functions */
static void reflect_room(const lz_routine_call *call, bool f64, int64_t *numbers, int64_t *ints)
{
    int a = (int)call->m, k = (int)call->n, r = (int)call->r, c = (int)call->c, ask = -1, info;
    double answer = 0, none[1] = { 0 };
    (void)ints;
    lib.ormqr[f64](call->flags[0] ? "L" : "R", "N", &r, &c, &k, none, &a, none, none, &r, &answer, &ask,
                   &info, 1, 1);
    *numbers = asked(f64, &answer);
}

/* ---- eigenvalues, singular values ---- */

static bool is_finite(const lz_matrix_job *j, const void *a, int64_t n)
{
    double sum = 0; /* stays 0 unless an element is infinite or NaN */
    for (int64_t i = 0; i < n; i++)
        sum += 0 * (j->f64 ? ((const double *)a)[i] : (double)((const float *)a)[i]);
    return sum == 0;
}

static void copy_numbers(const lz_matrix_job *j, const void *from, int64_t n, void *to)
{
    for (int64_t i = 0; i < n; i++)
        if (j->f64)
            ((double *)to)[i] = ((const double *)from)[i];
        else
            ((float *)to)[i] = ((const float *)from)[i];
}

/* The eigenvectors take the place of the matrix. */
static void eigh(lz_matrix_job *j)
{
    const int64_t *how = j->call->flags;
    int n = size(j, 'n'), lwork = (int)j->room, liwork = 5 * n + 8;
    if (!is_finite(j, j->in[0], (int64_t)n * n))
        j->info = 1;
    else
        lib.syevd[j->f64](how[1] ? "V" : "N", how[0] ? "U" : "L", &n, j->in[0], &n, j->out[0], j->work,
                          &lwork, j->ints, &liwork, &j->info, 1, 1);
    copy_numbers(j, j->in[0], (int64_t)n * size(j, 'w'), j->out[1]);
}

static void eigh_room(const lz_routine_call *c, bool f64, int64_t *numbers, int64_t *ints)
{
    int n = (int)c->n, ask = -1, info, few;
    double answer = 0, none[1] = { 0 };
    lib.syevd[f64](c->flags[1] ? "V" : "N", "L", &n, none, &n, none, &answer, &ask, &few, &ask, &info, 1, 1);
    *numbers = asked(f64, &answer);
    *ints = 5 * (int64_t)n + 8;
}

static text *svd_job(const lz_routine_call *c)
{
    return c->flags[0] == 0 ? "N" : c->flags[0] == 1 ? "S" : "A";
}

static void svd(lz_matrix_job *j)
{
    int m = size(j, 'm'), n = size(j, 'n'), v = distance(size(j, 'v')), lwork = (int)j->room;
    if (!is_finite(j, j->in[0], (int64_t)m * n))
        j->info = -4;
    else
        lib.gesdd[j->f64](svd_job(j->call), &m, &n, j->in[0], &m, j->out[0], j->out[1], &m, j->out[2], &v,
                          j->work, &lwork, j->ints, &j->info, 1);
}

static void svd_room(const lz_routine_call *c, bool f64, int64_t *numbers, int64_t *ints)
{
    int m = (int)c->m, n = (int)c->n, v = distance((int)lz_routine_size(c, 'v')), ask = -1, info, few;
    double answer = 0, none[1] = { 0 };
    lib.gesdd[f64](svd_job(c), &m, &n, none, &m, none, none, &m, none, &v, &answer, &ask, &few, &info, 1);
    *numbers = asked(f64, &answer);
    *ints = 8 * lz_routine_size(c, 'k');
}

/* ---- LDL ---- */

static void ldl(lz_matrix_job *j)
{
    int n = size(j, 'n'), lwork = (int)j->room;
    lib.sytrf[j->f64]("L", &n, j->out[0], &n, j->out[1], j->work, &lwork, &j->info, 1);
}

/* NOLINTNEXTLINE(readability-non-const-parameter): the type of the table's functions */
static void ldl_room(const lz_routine_call *c, bool f64, int64_t *numbers, int64_t *ints)
{
    int n = (int)c->n, ask = -1, info, few;
    double answer = 0, none[1] = { 0 };
    (void)ints;
    lib.sytrf[f64]("L", &n, none, &n, &few, &answer, &ask, &info, 1);
    *numbers = asked(f64, &answer);
}

static void ldl_solve(lz_matrix_job *j)
{
    int n = size(j, 'n'), c = size(j, 'c');
    lib.sytrs[j->f64]("L", &n, &c, j->in[0], &n, j->in[1], j->out[0], &n, &j->info, 1);
}

const lz_matrix_code *lz_lapack_code(lz_routine r)
{
    static const lz_matrix_code codes[LZ_ROUTINES] = {
        [LZ_ROUTINE_CHOLESKY] = { cholesky, NULL },
        [LZ_ROUTINE_LU] = { lu, NULL },
        [LZ_ROUTINE_SOLVE] = { solve, pivots_room },
        [LZ_ROUTINE_LU_SOLVE] = { lu_solve, NULL },
        [LZ_ROUTINE_QR] = { qr, qr_room },
        [LZ_ROUTINE_REFLECTORS] = { reflectors, reflectors_room },
        [LZ_ROUTINE_REFLECT] = { reflect, reflect_room },
        [LZ_ROUTINE_EIGH] = { eigh, eigh_room },
        [LZ_ROUTINE_SVD] = { svd, svd_room },
        [LZ_ROUTINE_LDL] = { ldl, ldl_room },
        [LZ_ROUTINE_LDL_SOLVE] = { ldl_solve, NULL },
        [LZ_ROUTINE_TRIANGULAR_SOLVE] = { triangular_solve, NULL },
    };
    return &codes[r];
}
