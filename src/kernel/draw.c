/* Draws from distributions that need a number of random words that is not known before: gamma, Poisson,
 * binomial.
 *
 * Each element has a key of its own, 64 random bits. Its words are those of Philox-4x32-10 with that key,
 * counted from 0, so that an element's draw depends on nothing but its key and parameters. */
#include "kernel/philox_words.h"
#include "kernel/strided_walk.h"
#include <assert.h>
#include <math.h>

#define TWO_PI 6.283185307179586476925

/* A source of words: blocks of four, two numbers each. */
typedef struct words {
    uint64_t key, block;
    uint32_t v[4];
    int left; /* numbers of the last block that were not used yet */
} words;

static void next_block(words *w)
{
    lz_philox_block(w->key, w->block++, 0, w->v);
    w->left = 2;
}

/* 0 < u < 1: a multiple of 2^-53, and a half of that. */
static double uniform(words *w)
{
    if (w->left == 0)
        next_block(w);
    const uint32_t *v = --w->left ? w->v + 2 : w->v;
    return ((double)(v[0] >> 6) * 0x1p-26 + ((double)(v[1] >> 6) + 0.5) * 0x1p-52);
}

static double normal(words *w)
{
    double u = uniform(w), v = uniform(w);
    return sqrt(-2 * log(u)) * cos(TWO_PI * v);
}

/* ---- gamma ---- */

/* The method of Marsaglia and Tsang (2000) for a >= 1: the cube of a shifted normal number, of which 95 to
 * 100 % are accepted. */
static double large_gamma(words *w, double a)
{
    double d = a - 1.0 / 3, c = 1 / sqrt(9 * d);
    for (;;) {
        double x = normal(w), v = 1 + c * x, u = uniform(w);
        v = v * v * v;
        if (v > 0 && (u < 1 - 0.0331 * (x * x) * (x * x) || log(u) < 0.5 * x * x + d * (1 - v + log(v))))
            return d * v;
    }
}

/* A gamma number for a is one for a + 1 times u^(1 / a). */
static double gamma_draw(words *w, double a, double unused)
{
    (void)unused;
    if (!(a > 0) || isinf(a))
        return a >= 0 ? a : NAN;
    double boost = a < 1 ? pow(uniform(w), 1 / a) : 1;
    return large_gamma(w, a < 1 ? a + 1 : a) * boost;
}

/* ---- Poisson ---- */

/* Adds up probabilities until they exceed a uniform number. The second condition ends a search that rounding
 * would continue beyond all probabilities. */
static double small_poisson(words *w, double mean)
{
    double p = exp(-mean), sum = p, u = uniform(w), k = 0;
    while (u > sum && p > 1e-20) {
        p *= mean / ++k;
        sum += p;
    }
    return k;
}

static double log_gamma(double x)
{
    int sign;
    return lgamma_r(x, &sign);
}

/* Transformed rejection with a squeeze: PTRS of Hörmann (1993). */
static double large_poisson(words *w, double mean)
{
    double root = sqrt(mean), log_mean = log(mean);
    double b = 0.931 + 2.53 * root, a = -0.059 + 0.02483 * b;
    double inverse = 1.1239 + 1.1328 / (b - 3.4), quick = 0.9277 - 3.6224 / (b - 2);
    for (;;) {
        double u = uniform(w) - 0.5, v = uniform(w), us = 0.5 - fabs(u);
        double k = floor((2 * a / us + b) * u + mean + 0.43);
        if (us >= 0.07 && v <= quick)
            return k;
        if (k < 0 || (us < 0.013 && v > us))
            continue;
        if (log(v) + log(inverse) - log(a / (us * us) + b) <= k * log_mean - mean - log_gamma(k + 1))
            return k;
    }
}

/* Above MANY the difference to a normal number, rounded, is less than any test can tell. */
static double poisson_draw(words *w, double mean, double unused)
{
    const double many = 1e12;
    (void)unused;
    if (!(mean > 0) || isinf(mean))
        return mean >= 0 ? mean : NAN;
    if (mean > many)
        return floor(mean + sqrt(mean) * normal(w) + 0.5);
    return mean < 10 ? small_poisson(w, mean) : large_poisson(w, mean);
}

/* ---- binomial ---- */

/* log(k!) without the leading terms of Stirling's formula. */
static double stirling_rest(double k)
{
    double x = k + 1, y = 1 / (x * x);
    if (k < 10)
        return log_gamma(x) - ((k + 0.5) * log(x) - x + 0.5 * log(TWO_PI));
    return (1.0 / 12 - (1.0 / 360 - y / 1260) * y) / x;
}

/* Adds up distances between successes. */
static double few_successes(words *w, double n, double p)
{
    double scale = 1 / log1p(-p), at = 0, k = -1;
    do {
        at += ceil(log(uniform(w)) * scale);
        k++;
    } while (at <= n);
    return k;
}

/* BTRS of Hörmann (1993), for n p >= 10 and p <= 1/2. */
static double many_successes(words *w, double n, double p)
{
    double q = 1 - p, deviation = sqrt(n * p * q), r = p / q, m = floor((n + 1) * p);
    double b = 1.15 + 2.53 * deviation, a = -0.0873 + 0.0248 * b + 0.01 * p, c = n * p + 0.5;
    double alpha = (2.83 + 5.1 / b) * deviation, quick = 0.92 - 4.2 / b;
    for (;;) {
        double u = uniform(w) - 0.5, v = uniform(w), us = 0.5 - fabs(u);
        double k = floor((2 * a / us + b) * u + c);
        if (us >= 0.07 && v <= quick)
            return k;
        if (k < 0 || k > n)
            continue;
        double limit = (m + 0.5) * log((m + 1) / (r * (n - m + 1))) + (n + 1) * log((n - m + 1) / (n - k + 1))
                       + (k + 0.5) * log(r * (n - k + 1) / (k + 1)) + stirling_rest(m) + stirling_rest(n - m)
                       - stirling_rest(k) - stirling_rest(n - k);
        if (log(v * alpha / (a / (us * us) + b)) <= limit)
            return k;
    }
}

static double at_most_half(words *w, double n, double p)
{
    return n * p >= 10 ? many_successes(w, floor(n), p) : few_successes(w, n, p);
}

static double binomial_draw(words *w, double n, double p)
{
    if (isnan(n) || isnan(p))
        return NAN;
    if (n <= 0 || p <= 0)
        return 0;
    if (p >= 1 || isinf(n))
        return n;
    return p <= 0.5 ? at_most_half(w, n, p) : n - at_most_half(w, n, 1 - p);
}

/* ---- elements ---- */

typedef double draw_fn(words *w, double a, double b);

static draw_fn *const distributions[LZ_DISTRIBUTIONS] = {
    [LZ_DRAW_GAMMA] = gamma_draw, [LZ_DRAW_POISSON] = poisson_draw, [LZ_DRAW_BINOMIAL] = binomial_draw
};

double lz_draw_one(lz_distribution d, uint64_t key, double a, double b)
{
    words w = { .key = key };
    return distributions[d](&w, a, b);
}

static const void *element(const lz_strided *s, int64_t i)
{
    return lz_strided_at(s, lz_strided_offset(s, s->ndim, i));
}

static lz_err *draw_range(void *user, int64_t begin, int64_t end, int worker)
{
    const lz_kernel_call *c = user;
    (void)worker;
    for (int64_t i = begin; i < end; i++) {
        uint64_t key = *(const uint64_t *)element(&c->in[0], i);
        const double *a = element(&c->in[1], i), *b = element(&c->in[2], i);
        ((double *)c->out.data)[i] = lz_draw_one((lz_distribution)c->params[0], key, *a, *b);
    }
    return NULL;
}

lz_err *lz_draw(const lz_kernel_call *c)
{
    assert(c->in[0].dtype == LZ_I64 && c->in[1].dtype == LZ_F64 && c->in[2].dtype == LZ_F64);
    lz_kernel_call call = *c;
    return lz_pool_for(c->pool, lz_strided_count(&c->out, c->out.ndim), 512, draw_range, &call);
}
