/* accuracy [--step N] [--samples N] [FUNCTION...]: the table of docs/accuracy.md. Every f32
 * (or every Nth) and samples of f64 go through the tile functions and libm in a wider type. */
#include "base/pool.h"
#include "ulps.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct work {
    const ref *r;
    const lz_tile_table *tiles;
    int64_t step, samples;
    pthread_mutex_t lock;
    ulps f32, f64;
} work;

enum { PIECE = 1 << 24, PIECES = 256 };

static lz_err *piece(void *user, int64_t begin, int64_t end, int worker)
{
    work *w = user;
    ulps f32 = { 0 }, f64 = { 0 };
    (void)worker;
    for (int64_t i = begin; i < end; i++) {
        ulps_f32(w->r, w->tiles, i * PIECE + i % w->step, (i + 1) * PIECE, w->step, &f32);
        ulps_f64(w->r, w->tiles, w->samples / PIECES, (uint64_t)i * 77777 + 1, &f64);
    }
    pthread_mutex_lock(&w->lock);
    ulps_join(&w->f32, &f32);
    ulps_join(&w->f64, &f64);
    pthread_mutex_unlock(&w->lock);
    return NULL;
}

static bool wanted(const char *name, int argc, char **argv)
{
    bool any = false, is = false;
    for (int i = 1; i < argc; i++) {
        if (strncmp(argv[i], "--", 2) == 0) {
            i++;
            continue;
        }
        any = true;
        is = is || strcmp(argv[i], name) == 0;
    }
    return is || !any;
}

static int64_t option(const char *name, int64_t otherwise, int argc, char **argv)
{
    for (int i = 1; i + 1 < argc; i++) {
        if (strcmp(argv[i], name) == 0)
            return strtoll(argv[i + 1], NULL, 10);
    }
    return otherwise;
}

static bool over(const ulps *u, double limit)
{
    return u->wrong > 0 || (limit > 0 && u->worst > limit);
}

static void show(const char *name, const ulps *f32, const ulps *f64)
{
    printf("| %-9s | %8.3f | %14.7g | %8.1e | %8.3f | %22.16g | %8.1e |", name, f32->worst, f32->at,
           f32->absolute, f64->worst, f64->at, f64->absolute);
    if (f32->wrong)
        printf(" f32: %lld wrong, e.g. %.9g", (long long)f32->wrong, f32->wrong_at);
    if (f64->wrong)
        printf(" f64: %lld wrong, e.g. %.17g", (long long)f64->wrong, f64->wrong_at);
    printf("\n");
    fflush(stdout);
}

int main(int argc, char **argv)
{
    lz_pool *pool;
    int failed = 0;
    if (lz_pool_create(0, &pool))
        return EXIT_FAILURE;
    printf("| function  | f32, ulp |             at | absolute | f64, ulp |                     at | "
           "absolute |\n"
           "|---|---|---|---|---|---|---|\n");
    for (int i = 0; i < n_refs; i++) {
        work w = { .r = &refs[i],
                   .tiles = lz_tile(),
                   .step = option("--step", 1, argc, argv),
                   .samples = option("--samples", PIECES * 8192, argc, argv) };
        if (!wanted(refs[i].name, argc, argv))
            continue;
        w.step = refs[i].slow && w.step < 101 ? 101 : w.step;
        pthread_mutex_init(&w.lock, NULL);
        lz_err_free(lz_pool_for(pool, PIECES, 1, piece, &w));
        pthread_mutex_destroy(&w.lock);
        show(refs[i].name, &w.f32, &w.f64);
        failed += over(&w.f32, refs[i].limit32) || over(&w.f64, refs[i].limit64);
    }
    lz_pool_destroy(pool);
    if (failed)
        printf("%d of them beyond their limit\n", failed);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
