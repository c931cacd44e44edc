/* ulps.h - how far functions are from what they should give, in units in the last place (of
 * the true value; for subnormal ones, of the least number there is).
 *
 * NaN for a number or a number for NaN, the wrong infinity, a zero of the wrong sign: these
 * are counted apart, as wrong. */
#ifndef LZ_TEST_ULPS_H
#define LZ_TEST_ULPS_H

#include "jit/tile.h"
#include "refs.h"

typedef struct ulps {
    double worst, at, at2, absolute; /* absolute: the greatest |error| / max(1, |value|) */
    int64_t wrong, tried;
    double wrong_at;
} ulps;

/* Who computes: n results of x, and of y where there are two. */
typedef struct ulps_engine {
    void (*run)(void *user, void *out, void *x, void *y, int n);
    void *user;
} ulps_engine;

/* A tile function of a reference's name; its run is NULL if there is none. */
ulps_engine ulps_tile(const lz_tile_table *t, const char *name, bool f64);

/* f32 by their bits: first, first + step, ... below end. */
void ulps_f32(const ref *r, ulps_engine e, int64_t first, int64_t end, int64_t step, ulps *out);
/* f64: about n, from all magnitudes and from around 1, and special ones. */
void ulps_f64(const ref *r, ulps_engine e, int64_t n, uint64_t seed, ulps *out);
/* About n pairs, likewise. */
void ulps_pairs_f32(const ref2 *r, ulps_engine e, int64_t n, uint64_t seed, ulps *out);
void ulps_pairs_f64(const ref2 *r, ulps_engine e, int64_t n, uint64_t seed, ulps *out);

void ulps_join(ulps *all, const ulps *part);

#endif
