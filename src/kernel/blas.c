#include "kernel/blas.h"
#include "base/dl.h"
#include "base/env.h"
#include "base/foreign.h"
#include "base/memory_limit.h"
#include "kernel/dnnl.h"
#include "kernel/lapack.h"
#include <limits.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>

static const char *const words[] = { "own", "openblas", "onednn", "auto", NULL };

const char *lz_blas_name(lz_blas b)
{
    return words[b];
}

lz_err *lz_blas_wanted(lz_blas *out)
{
    int word = LZ_BLASES;
    LZ_TRY(lz_env_word(LZ_ENV_BLAS, words, &word));
    *out = (lz_blas)word;
    return NULL;
}

/* ---- OpenBLAS ---- */

enum { ROW_MAJOR = 101, PLAIN = 111, TRANSPOSED = 112 };

typedef struct openblas {
    void (*sgemm)(int order, int tx, int ty, int m, int n, int k, float alpha, const float *x, int ldx,
                  const float *y, int ldy, float beta, float *out, int ldo);
    void (*dgemm)(int order, int tx, int ty, int m, int n, int k, double alpha, const double *x, int ldx,
                  const double *y, int ldy, double beta, double *out, int ldo);
    void (*set_threads)(int n);
    const char *(*config)(void);
    char file[512];
} openblas;

static openblas lib;

/* OpenBLAS starts a thread for every other CPU in the affinity mask when it is loaded. Restricting the mask
 * to one CPU avoids that. */
static lz_err *open_alone(const char *const *names, lz_dl **out)
{
    cpu_set_t all, one;
    int cpu = sched_getcpu();
    bool known = cpu >= 0 && sched_getaffinity(0, sizeof all, &all) == 0;
    CPU_ZERO(&one);
    if (known) {
        CPU_SET((size_t)cpu, &one);
        known = sched_setaffinity(0, sizeof one, &one) == 0;
    }
    lz_err *e = lz_dl_open_lasting(names, out);
    if (known)
        sched_setaffinity(0, sizeof all, &all);
    return e;
}

static lz_err *load(void)
{
    static const char *const names[] = { "libopenblas.so.0", "libopenblas.so", NULL };
    static const lz_dl_symbol symbols[] = {
        { "cblas_sgemm", true, offsetof(openblas, sgemm) },
        { "cblas_dgemm", true, offsetof(openblas, dgemm) },
        { "openblas_set_num_threads", true, offsetof(openblas, set_threads) },
        { "openblas_get_config", false, offsetof(openblas, config) },
    };
    static lz_dl *dl; /* stays open until the process ends */
    LZ_TRY(open_alone(names, &dl));
    snprintf(lib.file, sizeof lib.file, "%s", lz_dl_path(dl));
    lz_err *e = lz_dl_load(dl, symbols, sizeof symbols / sizeof *symbols, &lib);
    e = e ? e : lz_lapack_load(dl);
    if (e)
        lz_dl_close(dl);
    else
        lib.set_threads(1); /* for the whole process: OpenBLAS has no setting per thread */
    return e;
}

static lz_err *get_openblas(void)
{
    static lz_dl_choice choice = LZ_DL_CHOICE("OpenBLAS", load, (size_t)320 << 20); /* loading maps 170 MiB */
    return lz_dl_have(&choice);
}

/* OpenBLAS maps 32 MiB for each thread that calls it. */
bool lz_blas_openblas_has_room(void)
{
    static lz_memory_limit_need need = { .what = "OpenBLAS", .bytes = (size_t)128 << 20 };
    return lz_memory_limit_allows(&need);
}

static bool openblas_multiply(const lz_blas_product *p)
{
    int tx = p->xt ? TRANSPOSED : PLAIN, ty = p->yt ? TRANSPOSED : PLAIN;
    int m = (int)p->m, n = (int)p->n, k = (int)p->k, ldx = (int)p->ldx, ldy = (int)p->ldy, ldo = (int)p->ldo;
    if (!lz_blas_openblas_has_room() || !lz_foreign_enter())
        return false;
    if (p->f64)
        lib.dgemm(ROW_MAJOR, tx, ty, m, n, k, 1, p->x, ldx, p->y, ldy, 0, p->out, ldo);
    else
        lib.sgemm(ROW_MAJOR, tx, ty, m, n, k, 1, p->x, ldx, p->y, ldy, 0, p->out, ldo);
    lz_foreign_leave();
    return true;
}

/* ---- oneDNN ---- */

static bool onednn_multiply(const lz_blas_product *p)
{
    const lz_dnnl *d;
    lz_err *e = lz_dnnl_get(&d);
    lz_err_drop(e);
    if (e || !lz_dnnl_has_room())
        return false;
    int before = lz_dnnl_enter(d);
    if (before < 0)
        return false;
    int status = d->sgemm(p->xt ? 'T' : 'N', p->yt ? 'T' : 'N', p->m, p->n, p->k, 1, p->x, p->ldx, p->y,
                          p->ldy, 0, p->out, p->ldo);
    lz_dnnl_leave(d, before);
    return status == 0;
}

/* ---- common ---- */

lz_err *lz_blas_load(lz_blas b)
{
    const lz_dnnl *d;
    return b == LZ_BLAS_OWN ? NULL : b == LZ_BLAS_ONEDNN ? lz_dnnl_get(&d) : get_openblas();
}

bool lz_blas_has(lz_blas b)
{
    lz_err *e = lz_blas_load(b);
    bool has = !e;
    lz_err_drop(e);
    return has;
}

static void describe_onednn(lz_text *out)
{
    const lz_dnnl *d;
    lz_err *e = lz_dnnl_get(&d);
    const lz_dnnl_version *v = e ? NULL : d->version();
    if (v)
        lz_text_printf(out, "%d.%d.%d, %s", v->major, v->minor, v->patch, d->file);
    else
        lz_text_puts(out, lz_err_text(e));
    lz_err_free(e);
}

/* The configuration text begins with "OpenBLAS 0.3.21 ". */
static void describe_openblas(lz_text *out)
{
    lz_err *e = get_openblas();
    lz_str config = lz_str_of(!e && lib.config ? lib.config() : ""), name = LZ_STR("OpenBLAS ");
    size_t end = name.len;
    while (end < config.len && config.ptr[end] != ' ')
        end++;
    if (e)
        lz_text_puts(out, lz_err_text(e));
    else
        lz_text_printf(out, "%.*s, %s",
                       LZ_FMT(lz_str_starts(config, name) ? lz_str_sub(config, name.len, end)
                                                          : LZ_STR("unknown version")),
                       lib.file);
    lz_err_free(e);
}

void lz_blas_describe(lz_blas b, lz_text *out)
{
    if (b == LZ_BLAS_ONEDNN)
        describe_onednn(out);
    else if (b == LZ_BLAS_OPENBLAS)
        describe_openblas(out);
    else
        lz_text_puts(out, "always there");
}

bool lz_blas_can(lz_blas b, const lz_blas_product *p)
{
    bool fits = p->m <= INT_MAX && p->n <= INT_MAX && p->k <= INT_MAX && p->ldx <= INT_MAX
                && p->ldy <= INT_MAX && p->ldo <= INT_MAX;
    return b == LZ_BLAS_ONEDNN ? !p->f64 : b == LZ_BLAS_OPENBLAS && fits;
}

bool lz_blas_multiply(lz_blas b, const lz_blas_product *p)
{
    return b == LZ_BLAS_ONEDNN ? onednn_multiply(p) : openblas_multiply(p);
}
