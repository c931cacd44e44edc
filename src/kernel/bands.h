/* bands.h - detects when rows of a matrix product are complete.
 *
 * Threads compute the result tile by tile. A band is the rows of one row of tiles. The thread that finishes a
 * band's last tile passes its rows, all columns, to `fn` while they are still in the cache. Rows are numbered
 * through all matrices of a batch. If there are very many bands, neighbouring ones are combined. If there are
 * fewer bands than threads, `fn` runs at the end, where all threads can take part. */
#ifndef LZ_KERNEL_BANDS_H
#define LZ_KERNEL_BANDS_H

#include "kernel/kernels.h"
#include <stdatomic.h>

enum { LZ_BANDS = 128 };

typedef struct lz_bands {
    lz_kernel_after_fn *fn; /* may be NULL */
    void *user;
    int64_t m, height;  /* rows of a matrix; rows of a band */
    int64_t each, all;  /* bands of a matrix; bands in total */
    int64_t across, go; /* tiles of a band; bands that are combined */
    bool late;
    atomic_int_fast64_t done[LZ_BANDS];
} lz_bands;

void lz_bands_init(lz_bands *s, lz_kernel_after_fn *fn, void *user, int64_t batch, int64_t m, int64_t height,
                   int64_t across, int threads);
/* Counts one more finished tile of this band (numbered through all matrices). */
LZ_MUST_USE lz_err *lz_bands_add(lz_bands *s, int64_t band);
/* Call when all tiles are finished. */
LZ_MUST_USE lz_err *lz_bands_finish(const lz_bands *s);

#endif
