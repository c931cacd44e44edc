/* Factorisations of an n x n matrix and the solution of a system with n right sides. Beside them the same by
 * direct calls of LAPACK in OpenBLAS, each on a copy of the matrix, which LAPACK writes over. Of the
 * symmetric matrix both read the lower triangle of the rows, LAPACK's upper one. */
#include "harness/bench_impl.h"
#include <string.h>

typedef const int num;
typedef const char text;

typedef struct library {
    void (*threads)(int n);
    void (*potrf)(text *uplo, num *n, float *a, num *lda, int *info, size_t);
    void (*getrf)(num *m, num *n, float *a, num *lda, int *pivots, int *info);
    void (*getrs)(text *trans, num *n, num *nrhs, const float *a, num *lda, const int *pivots, float *b,
                  num *ldb, int *info, size_t);
    void (*geqrf)(num *m, num *n, float *a, num *lda, float *tau, float *work, num *lwork, int *info);
    void (*orgqr)(num *m, num *n, num *k, float *a, num *lda, const float *tau, float *work, num *lwork,
                  int *info);
    void (*syevd)(text *jobz, text *uplo, num *n, float *a, num *lda, float *w, float *work, num *lwork,
                  int *iwork, num *liwork, int *info, size_t, size_t);
    void (*gesdd)(text *jobz, num *m, num *n, float *a, num *lda, float *s, float *u, num *ldu, float *vt,
                  num *ldvt, float *work, num *lwork, int *iwork, int *info, size_t);
} library;

static const lz_dl_symbol symbols[] = {
    { "openblas_set_num_threads", true, offsetof(library, threads) },
    { "spotrf_", true, offsetof(library, potrf) },
    { "sgetrf_", true, offsetof(library, getrf) },
    { "sgetrs_", true, offsetof(library, getrs) },
    { "sgeqrf_", true, offsetof(library, geqrf) },
    { "sorgqr_", true, offsetof(library, orgqr) },
    { "ssyevd_", true, offsetof(library, syevd) },
    { "sgesdd_", true, offsetof(library, gesdd) },
};

enum { ARRAYS = 4 };

typedef struct setting {
    const lz_bench *b;
    library lib;
    bool found;
    int n, lwork, info, *ints;
    lz_tensor *x, *spd;
    const float *xs, *spds;
    float *y[ARRAYS], *work;
} setting;

typedef lz_tensor *ours_fn(const setting *p);
typedef void direct_fn(setting *p);

/* ---- this library ---- */

static lz_tensor *cholesky(const setting *p)
{
    return lz_linalg_cholesky(p->b->c, p->spd);
}

static lz_tensor *lu(const setting *p)
{
    return lz_linalg_lu_factor_ex(p->b->c, p->x).LU;
}

static lz_tensor *qr(const setting *p)
{
    return lz_linalg_qr(p->b->c, p->x).Q;
}

static lz_tensor *eigh(const setting *p)
{
    return lz_linalg_eigh(p->b->c, p->spd).eigenvectors;
}

static lz_tensor *svd(const setting *p)
{
    return lz_linalg_svd(p->b->c, p->x, .full_matrices = false).U;
}

static lz_tensor *solve(const setting *p)
{
    return lz_linalg_solve(p->b->c, p->x, p->spd);
}

/* ---- LAPACK ---- */

static float *copy(const setting *p, int to, const float *from)
{
    return memcpy(p->y[to], from, (size_t)p->n * (size_t)p->n * sizeof(float));
}

static void direct_cholesky(setting *p)
{
    p->lib.potrf("U", &p->n, copy(p, 0, p->spds), &p->n, &p->info, 1);
}

static void direct_lu(setting *p)
{
    p->lib.getrf(&p->n, &p->n, copy(p, 0, p->xs), &p->n, p->ints, &p->info);
}

static void direct_qr(setting *p)
{
    float *a = copy(p, 0, p->xs);
    p->lib.geqrf(&p->n, &p->n, a, &p->n, p->y[1], p->work, &p->lwork, &p->info);
    p->lib.orgqr(&p->n, &p->n, &p->n, a, &p->n, p->y[1], p->work, &p->lwork, &p->info);
}

static void direct_eigh(setting *p)
{
    int ints = 8 * p->n;
    p->lib.syevd("V", "L", &p->n, copy(p, 0, p->spds), &p->n, p->y[1], p->work, &p->lwork, p->ints, &ints,
                 &p->info, 1, 1);
}

static void direct_svd(setting *p)
{
    p->lib.gesdd("S", &p->n, &p->n, copy(p, 0, p->xs), &p->n, p->work, p->y[1], &p->n, p->y[2], &p->n,
                 p->work + p->n, &p->lwork, p->ints, &p->info, 1);
}

static void direct_solve(setting *p)
{
    float *a = copy(p, 0, p->xs), *x = copy(p, 1, p->spds);
    p->lib.getrf(&p->n, &p->n, a, &p->n, p->ints, &p->info);
    p->lib.getrs("N", &p->n, &p->n, a, &p->n, p->ints, x, &p->n, &p->info, 1);
}

/* ---- figures ---- */

static const struct row {
    const char *name;
    ours_fn *ours;
    direct_fn *direct;
} rows[] = {
    { "cholesky", cholesky, direct_cholesky },
    { "lu", lu, direct_lu },
    { "qr", qr, direct_qr },
    { "eigh", eigh, direct_eigh },
    { "svd", svd, direct_svd },
    { "solve", solve, direct_solve },
};

typedef struct running {
    setting *p;
    const struct row *row;
} running;

static lz_err *run_ours(void *user)
{
    const running *r = user;
    lz_scope *s = lz_scope_push(r->p->b->c);
    lz_err *e = lz_bench_finish(r->p->b, r->row->ours(r->p));
    lz_scope_pop(s);
    return e;
}

static lz_err *run_direct(void *user)
{
    const running *r = user;
    r->p->lib.threads(1);
    r->row->direct(r->p);
    return r->p->info ? lz_errf(LZ_ERR_INTERNAL, "LAPACK: info is %d", r->p->info) : NULL;
}

static lz_err *measure(setting *p)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        running r = { p, &rows[i] };
        lz_measured ways[2] = { { .run = run_ours, .user = &r },
                                { .run = p->found ? run_direct : NULL, .user = &r, .spins = true } };
        LZ_TRY(lz_bench_measure(p->b, ways, 2));
        lz_bench_report_times(p->b, rows[i].name, ways, "LAPACK", 1e6, "us");
    }
    return NULL;
}

/* The second matrix is symmetric and positive definite. */
static lz_err *make_inputs(setting *p)
{
    int64_t n = p->n;
    float *x, *spd;
    LZ_TRY(lz_bench_input(p->b, LZ_DIMS(n, n), &p->x, &x));
    LZ_TRY(lz_bench_input(p->b, LZ_DIMS(n, n), &p->spd, &spd));
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j <= i; j++)
            spd[i * n + j] = spd[j * n + i] = x[i * n + j] * 0.25F + (i == j ? (float)n : 0);
    p->xs = x;
    p->spds = spd;
    return NULL;
}

static lz_err *with_memory(setting *p, lz_buffer **memory)
{
    size_t square = (size_t)p->n * (size_t)p->n * sizeof(float);
    p->lwork = 8 * p->n * p->n + 64 * p->n + 1024;
    LZ_TRY(lz_buffer_create(NULL, ARRAYS * square + ((size_t)p->lwork + 16 * (size_t)p->n) * sizeof(float),
                            memory));
    for (int i = 0; i < ARRAYS; i++)
        p->y[i] = (float *)(void *)((char *)(*memory)->data + (size_t)i * square);
    p->ints = (int *)((char *)(*memory)->data + ARRAYS * square);
    p->work = (float *)(void *)(p->ints + (ptrdiff_t)8 * p->n);
    LZ_TRY(make_inputs(p));
    return measure(p);
}

lz_err *lz_bench_linalg(lz_bench *b)
{
    static const char *const names[] = { "libopenblas.so.0", "libopenblas.so", NULL };
    static lz_dl *dl; /* has threads of its own, so it stays loaded until the process ends */
    setting p = { .b = b, .n = b->o.n ? (int)b->o.n : 512 };
    lz_buffer *memory = NULL;
    if (b->o.n > 4096)
        return lz_errf(LZ_ERR_ARG, "linalg: n must be at most 4096");
    lz_err *e = dl ? NULL : lz_dl_open(names, &dl);
    e = e ? e : lz_dl_load(dl, symbols, sizeof symbols / sizeof *symbols, &p.lib);
    p.found = !e;
    lz_err_free(e);
    lz_scope *s = lz_scope_push(b->c);
    e = with_memory(&p, &memory);
    lz_scope_pop(s);
    lz_buffer_release(memory);
    return e;
}
