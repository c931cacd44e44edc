/* A uniform permutation of 0 .. n-1: the shuffle of Rao (1961) and Sandelius (1962). Each number gets a
 * random bucket; then each bucket, which fits the cache, is shuffled by itself (Fisher and Yates). Both steps
 * together are exact.
 *
 * Buckets and their shuffles are functions of the key, so that threads only share the work. */
#include "base/mem.h"
#include "kernel/kernels.h"
#include "kernel/philox_words.h"
#include <assert.h>
#include <string.h>

enum { BUCKET = 8192, MOST_BITS = 11, PART = 1 << 16, DIGITS = 2 * LZ_PHILOX_WORDS /* of a group */ };

typedef struct shuffling {
    uint64_t key;
    int64_t n, parts;
    int bits; /* of a bucket's number */
    lz_philox_fill_fn *fill;
    uint16_t *digits;  /* [n]: the bucket of each number */
    uint32_t *numbers; /* [n], sorted by bucket */
    int64_t
        *bins; /* [parts, buckets]: counts, then positions; [buckets + 1] behind them: where buckets begin */
    int64_t *out;
} shuffling;

static int64_t *ends_of(const shuffling *s)
{
    return s->bins + (s->parts << s->bits);
}

/* ---- buckets ---- */

/* Parts begin at whole groups of words. */
static lz_err *count_parts(void *user, int64_t begin, int64_t end, int worker)
{
    const shuffling *s = user;
    uint32_t words[LZ_PHILOX_WORDS];
    (void)worker;
    for (int64_t p = begin; p < end; p++) {
        int64_t *bins = s->bins + (p << s->bits), last = (p + 1) * PART < s->n ? (p + 1) * PART : s->n;
        memset(bins, 0, sizeof *bins << s->bits);
        for (int64_t i = p * PART; i < last; i += DIGITS) {
            int64_t m = last - i < DIGITS ? last - i : DIGITS;
            s->fill(s->key, UINT32_MAX, i / DIGITS, 1, words);
            for (int64_t k = 0; k < m; k++) {
                uint32_t digit = (words[k / 2] >> (k % 2 * 16) & 0xFFFF) >> (16 - s->bits);
                s->digits[i + k] = (uint16_t)digit;
                bins[digit]++;
            }
        }
    }
    return NULL;
}

/* Counts become positions: bucket by bucket, and within a bucket part by part. */
static void place(const shuffling *s)
{
    int64_t sum = 0, *ends = ends_of(s);
    for (int64_t b = 0; b < INT64_C(1) << s->bits; b++) {
        ends[b] = sum;
        for (int64_t p = 0; p < s->parts; p++) {
            int64_t *bin = &s->bins[(p << s->bits) + b], count = *bin;
            *bin = sum;
            sum += count;
        }
    }
    ends[INT64_C(1) << s->bits] = sum;
}

static lz_err *move_parts(void *user, int64_t begin, int64_t end, int worker)
{
    const shuffling *s = user;
    (void)worker;
    for (int64_t p = begin; p < end; p++) {
        int64_t *bins = s->bins + (p << s->bits), last = (p + 1) * PART < s->n ? (p + 1) * PART : s->n;
        for (int64_t i = p * PART; i < last; i++)
            s->numbers[bins[s->digits[i]]++] = (uint32_t)i;
    }
    return NULL;
}

/* ---- one bucket ---- */

/* The words of a bucket. */
typedef struct words {
    const shuffling *s;
    uint32_t bucket;
    int64_t group;
    int left;
    uint32_t v[LZ_PHILOX_WORDS];
} words;

static inline uint32_t next_word(words *w)
{
    if (w->left == 0) {
        w->s->fill(w->s->key, w->bucket, w->group++, 1, w->v);
        w->left = LZ_PHILOX_WORDS;
    }
    return w->v[--w->left];
}

/* Each number below n with equal probability (Lemire 2019). */
static inline uint32_t below(words *w, uint32_t n)
{
    uint64_t x = (uint64_t)next_word(w) * n;
    if ((uint32_t)x < n)
        for (uint32_t least = -n % n; (uint32_t)x < least;)
            x = (uint64_t)next_word(w) * n;
    return (uint32_t)(x >> 32);
}

static lz_err *shuffle_buckets(void *user, int64_t begin, int64_t end, int worker)
{
    const shuffling *s = user;
    const int64_t *ends = ends_of(s);
    (void)worker;
    for (int64_t b = begin; b < end; b++) {
        words w = { .s = s, .bucket = (uint32_t)b };
        uint32_t *v = s->numbers + ends[b];
        for (int64_t i = ends[b + 1] - ends[b] - 1; i > 0; i--) {
            uint32_t j = below(&w, (uint32_t)i + 1), old = v[i];
            v[i] = v[j];
            v[j] = old;
        }
        for (int64_t i = ends[b]; i < ends[b + 1]; i++)
            s->out[i] = s->numbers[i];
    }
    return NULL;
}

/* ---- the whole permutation ---- */

static lz_err *fill_buckets(shuffling *s, lz_pool *pool)
{
    if (s->bits == 0) {
        int64_t *ends = ends_of(s);
        for (int64_t i = 0; i < s->n; i++)
            s->numbers[i] = (uint32_t)i;
        ends[0] = 0;
        ends[1] = s->n;
        return NULL;
    }
    LZ_TRY(lz_pool_for(pool, s->parts, 1, count_parts, s));
    place(s);
    return lz_pool_for(pool, s->parts, 1, move_parts, s);
}

static lz_err *shuffle(shuffling *s, lz_pool *pool)
{
    LZ_TRY(fill_buckets(s, pool));
    return lz_pool_for(pool, INT64_C(1) << s->bits, 1, shuffle_buckets, s);
}

lz_err *lz_shuffle(const lz_kernel_call *c)
{
    assert(c->in[0].dtype == LZ_I64 && c->out.dtype == LZ_I64 && c->out.ndim == 1);
    shuffling s = { .key = *(const uint64_t *)c->in[0].data,
                    .n = c->out.sizes[0],
                    .fill = lz_philox_fill(),
                    .out = c->out.data };
    if (s.n > UINT32_MAX)
        return lz_errf(LZ_ERR_LIMIT, "a random permutation has at most 2^32 - 1 elements");
    while (s.bits < MOST_BITS && s.n >> s.bits > BUCKET)
        s.bits++;
    s.parts = (s.n + PART - 1) / PART;
    size_t n = (size_t)s.n, bins = ((size_t)s.parts << s.bits) + (UINT64_C(1) << s.bits) + 1;
    char *room =
        lz_temporary_take(bins * sizeof *s.bins + n * (sizeof *s.numbers + sizeof *s.digits), LZ_MEM_ALIGN);
    if (!room)
        return lz_err_oom();
    s.bins = (int64_t *)(void *)room;
    s.numbers = (uint32_t *)(void *)(s.bins + bins);
    s.digits = (uint16_t *)(void *)(s.numbers + n);
    lz_err *e = shuffle(&s, c->pool);
    lz_temporary_give(room);
    return e;
}
