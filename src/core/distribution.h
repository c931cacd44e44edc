/* distribution.h - distributions whose draws take a number of random words that is not known before: what a
 * kernel call draws from (LZ_CALL_DRAW, lower.h). */
#ifndef LZ_CORE_DISTRIBUTION_H
#define LZ_CORE_DISTRIBUTION_H

typedef enum lz_distribution {
    LZ_DRAW_GAMMA,    /* a: shape; b is not used */
    LZ_DRAW_POISSON,  /* a: mean; b is not used */
    LZ_DRAW_BINOMIAL, /* a: number of trials, b: probability */
    LZ_DISTRIBUTIONS
} lz_distribution;

#endif
