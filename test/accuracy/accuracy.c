/* accuracy [--step N] [--samples N] [--details] [FUNCTION...]: the table of docs/accuracy.md.
 *
 * Each function is a kernel of its own. It is run as lz_kernel_run runs it, compiled in mode
 * `now`, on every f32 (or every Nth) and samples of f64, and compared with libm in a wider
 * type; and with the tile interpreter, which must give the same bits. */
#include "base/pool.h"
#include "engines.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PIECE = 1 << 24, PIECES = 256 };

typedef struct options {
    int64_t step, samples;
    bool details;
    int argc;
    char **argv;
} options;

typedef struct work {
    const ref *one; /* or */
    const ref2 *two;
    const options *o;
    const engine *f32, *f64;
    pthread_mutex_t lock;
    ulps u32, u64;
    int64_t differ; /* from the interpreter */
} work;

static void measure(const work *w, int64_t i, run *r32, run *r64, ulps *u32, ulps *u64)
{
    ulps_engine e32 = { engine_run, r32 }, e64 = { engine_run, r64 };
    uint64_t seed = (uint64_t)i * 77777 + 1;
    int64_t step = w->o->step;
    if (w->two) {
        ulps_pairs_f32(w->two, e32, w->o->samples / PIECES, seed, u32);
        ulps_pairs_f64(w->two, e64, w->o->samples / PIECES, seed, u64);
    } else {
        ulps_f32(w->one, e32, i * PIECE + i % step, (i + 1) * PIECE, step, u32);
        ulps_f64(w->one, e64, w->o->samples / PIECES, seed, u64);
    }
}

static lz_err *piece(void *user, int64_t begin, int64_t end, int worker)
{
    work *w = user;
    ulps u32 = { 0 }, u64 = { 0 };
    run r32 = { .of = w->f32 }, r64 = { .of = w->f64 };
    (void)worker;
    for (int64_t i = begin; i < end; i++)
        measure(w, i, &r32, &r64, &u32, &u64);
    pthread_mutex_lock(&w->lock);
    ulps_join(&w->u32, &u32);
    ulps_join(&w->u64, &u64);
    w->differ += r32.differ + r64.differ;
    pthread_mutex_unlock(&w->lock);
    lz_err *e = r32.err ? r32.err : r64.err;
    if (r32.err)
        lz_err_free(r64.err);
    return e;
}

static void show_wrong(const char *type, const ulps *u)
{
    if (u->wrong)
        printf(" %s: %lld wrong, e.g. %.17g", type, (long long)u->wrong, u->wrong_at);
}

static void show_steps(const engine *e)
{
    printf(e->called ? " called |" : " %d |", e->steps);
}

static const char *name_of(const work *w)
{
    return w->two ? w->two->name : w->one->name;
}

/* Where there is no limit the error relative to the greater of 1 and the value says more. */
static void show_error(const ulps *u, double limit)
{
    if (limit > 0 || u->worst < 100)
        printf(" %.2f |", u->worst);
    else
        printf(" %.1e relative to max(1, \\|y\\|) |", u->absolute);
}

static void limits(const work *w, double *limit32, double *limit64)
{
    *limit32 = w->two ? w->two->limit32 : w->one->limit32;
    *limit64 = w->two ? w->two->limit64 : w->one->limit64;
}

static void show(const work *w)
{
    double limit32, limit64;
    limits(w, &limit32, &limit64);
    char over[32] = "all";
    if (w->two)
        snprintf(over, sizeof over, "samples");
    else if (w->o->step > 1)
        snprintf(over, sizeof over, "every %lldth", (long long)w->o->step);
    printf("| %s |", name_of(w));
    show_error(&w->u32, limit32);
    printf(" %s |", over);
    show_error(&w->u64, limit64);
    show_steps(w->f32);
    show_steps(w->f64);
    if (w->o->details)
        printf(" f32 at %.9g, %.9g, absolute %.2g; f64 at %.17g, %.17g, absolute %.2g", w->u32.at, w->u32.at2,
               w->u32.absolute, w->u64.at, w->u64.at2, w->u64.absolute);
    show_wrong("f32", &w->u32);
    show_wrong("f64", &w->u64);
    if (w->differ)
        printf(" %lld differ from the interpreter", (long long)w->differ);
    printf("\n");
    fflush(stdout);
}

static bool over(const ulps *u, double limit)
{
    return u->wrong > 0 || (limit > 0 && u->worst > limit);
}

static bool bad(const work *w)
{
    double limit32, limit64;
    limits(w, &limit32, &limit64);
    return over(&w->u32, limit32) || over(&w->u64, limit64) || w->differ > 0;
}

/* One row; *failed counts those beyond their limits. */
static lz_err *row(lz_pool *pool, work *w, int *failed)
{
    engine f32 = { 0 }, f64 = { 0 };
    lz_err *e = engine_init(&f32, name_of(w), false);
    if (!e)
        e = engine_init(&f64, name_of(w), true);
    /* cppcheck-suppress autoVariables ; w does not outlive them */
    w->f32 = &f32;
    /* cppcheck-suppress autoVariables */
    w->f64 = &f64;
    pthread_mutex_init(&w->lock, NULL);
    if (!e)
        e = lz_pool_for(pool, PIECES, 1, piece, w);
    if (!e) {
        show(w);
        *failed += bad(w);
    }
    pthread_mutex_destroy(&w->lock);
    engine_deinit(&f32);
    engine_deinit(&f64);
    w->f32 = w->f64 = NULL;
    return e;
}

static bool wanted(const char *name, const options *o)
{
    for (int i = 0; i < o->argc; i++) {
        if (strcmp(o->argv[i], name) == 0)
            return true;
    }
    return o->argc == 0;
}

static options parse(int argc, char **argv)
{
    options o = { .step = 1, .samples = PIECES * 8192 };
    int i = 1;
    for (; i < argc && strncmp(argv[i], "--", 2) == 0; i++) {
        if (strcmp(argv[i], "--details") == 0)
            o.details = true;
        else if (i + 1 < argc && strcmp(argv[i], "--step") == 0)
            o.step = strtoll(argv[++i], NULL, 10);
        else if (i + 1 < argc && strcmp(argv[i], "--samples") == 0)
            o.samples = strtoll(argv[++i], NULL, 10);
    }
    o.argc = argc - i;
    o.argv = argv + i;
    return o;
}

static lz_err *table(lz_pool *pool, const options *o, int *failed)
{
    printf(
        "| Function | f32, ulp | over | f64, ulp | f32, steps | f64, steps |\n|---|---|---|---|---|---|\n");
    for (int i = 0; i < n_refs + n_refs2; i++) {
        bool two = i >= n_refs;
        work w = { .one = two ? NULL : &refs[i], .two = two ? &refs2[i - n_refs] : NULL, .o = o };
        if (wanted(name_of(&w), o))
            LZ_TRY(row(pool, &w, failed));
    }
    return NULL;
}

int main(int argc, char **argv)
{
    lz_pool *pool = NULL;
    int failed = 0;
    options o = parse(argc, argv);
    lz_err *e = engines_open();
    if (!e)
        e = lz_pool_create(0, &pool);
    if (!e)
        e = table(pool, &o, &failed);
    if (pool)
        lz_pool_destroy(pool);
    engines_close();
    if (e)
        printf("%s\n", lz_err_text(e));
    else if (failed)
        printf("%d of them beyond their limit\n", failed);
    lz_err_free(e);
    return e || failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
