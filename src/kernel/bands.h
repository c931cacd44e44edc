/* bands.h - rows of a product that are complete.
 *
 * The result is made tile by tile, on any threads. A band is the rows of one row of tiles; whoever
 * finishes the last tile of it hands its rows on, all columns, while they are still near. Rows of
 * all matrices of a batch count on. Of very many bands, neighbours go together; fewer than there are
 * threads are left to the end, when all threads can have a part in what follows. */
#ifndef LZ_KERNEL_BANDS_H
#define LZ_KERNEL_BANDS_H

#include "kernel/kernels.h"
#include <stdatomic.h>

enum { LZ_BANDS = 128 };

typedef struct lz_bands {
    lz_kafter_fn *fn; /* may be NULL */
    void *user;
    int64_t m, height;  /* rows of a matrix; of a band */
    int64_t each, all;  /* bands of a matrix; of all */
    int64_t across, go; /* tiles of a band; bands that go together */
    bool late;
    atomic_int_fast64_t done[LZ_BANDS];
} lz_bands;

void lz_bands_init(lz_bands *s, lz_kafter_fn *fn, void *user, int64_t batch, int64_t m, int64_t height,
                   int64_t across, int threads);
/* One more tile of this band (counted over all matrices) is there. */
LZ_MUST_USE lz_err *lz_bands_add(lz_bands *s, int64_t band);
/* All tiles are there. */
LZ_MUST_USE lz_err *lz_bands_finish(const lz_bands *s);

#endif
