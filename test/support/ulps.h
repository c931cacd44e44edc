/* ulps.h - how far the tile functions are from what they should give, in units in the last
 * place (of the true value; for subnormal ones, of the least number there is).
 *
 * NaN for a number or a number for NaN, the wrong infinity, a zero of the wrong sign: these
 * are counted apart, as wrong. */
#ifndef LZ_TEST_ULPS_H
#define LZ_TEST_ULPS_H

#include "jit/tile.h"
#include "refs.h"

typedef struct ulps {
    double worst, at, absolute; /* absolute: the greatest |error| / max(1, |value|) */
    int64_t wrong, tried;
    double wrong_at;
} ulps;

/* The tile function of a reference's name; NULL: there is none. */
lz_tile_fn *ulps_function(const lz_tile_table *t, const char *name, bool f64);

/* f32 by their bits: first, first + step, ... below end. */
void ulps_f32(const ref *r, const lz_tile_table *t, int64_t first, int64_t end, int64_t step, ulps *out);
/* f64: about n, from all magnitudes and from around 1, and special ones. */
void ulps_f64(const ref *r, const lz_tile_table *t, int64_t n, uint64_t seed, ulps *out);

void ulps_join(ulps *all, const ulps *part);

#endif
