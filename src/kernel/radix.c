#include "kernel/radix.h"
#include <string.h>

enum { FEW = 48, DIGIT = 8, WIDE_DIGIT = 11, LONG = 8192, SHARED = 1 << 16 };

/* Long arrays use wide digits: fewer passes, but more bins to clear and to add up. */
static int digit_of(int64_t n)
{
    return n < LONG ? DIGIT : WIDE_DIGIT;
}

static int bits_of(uint64_t v)
{
    return v ? 64 - __builtin_clzll(v) : 0;
}

static uint64_t low_bits(int bits)
{
    return bits < 64 ? (UINT64_C(1) << bits) - 1 : UINT64_MAX;
}

typedef struct range {
    uint64_t least;
    int bits; /* significant bits of key - least */
} range;

static range range_of(const uint64_t *keys, int64_t n)
{
    uint64_t least = keys[0], greatest = keys[0];
    for (int64_t i = 1; i < n; i++) {
        least = keys[i] < least ? keys[i] : least;
        greatest = keys[i] > greatest ? keys[i] : greatest;
    }
    return (range){ least, bits_of(greatest - least) };
}

/* ---- sorting words by some of their bits ---- */

/* One pass moves each word to the position of its digit. Threads work on parts of equal length. */
typedef struct pass {
    const uint64_t *from;
    uint64_t *to;
    int64_t n, part;
    int shift, bits;
    int64_t *bins; /* for each part and digit: the count, then the position of the next word */
} pass;

static int64_t part_end(const pass *p, int64_t part)
{
    int64_t end = (part + 1) * p->part;
    return end < p->n ? end : p->n;
}

static lz_err *count_parts(void *user, int64_t begin, int64_t end, int worker)
{
    const pass *p = user;
    const uint64_t mask = low_bits(p->bits);
    (void)worker;
    for (int64_t t = begin; t < end; t++) {
        int64_t *bins = p->bins + (t << p->bits), last = part_end(p, t);
        memset(bins, 0, sizeof *bins << p->bits);
        for (int64_t i = t * p->part; i < last; i++)
            bins[(p->from[i] >> p->shift) & mask]++;
    }
    return NULL;
}

static lz_err *move_parts(void *user, int64_t begin, int64_t end, int worker)
{
    const pass *p = user;
    const uint64_t mask = low_bits(p->bits);
    (void)worker;
    for (int64_t t = begin; t < end; t++) {
        int64_t *bins = p->bins + (t << p->bits), last = part_end(p, t);
        for (int64_t i = t * p->part; i < last; i++)
            p->to[bins[(p->from[i] >> p->shift) & mask]++] = p->from[i];
    }
    return NULL;
}

/* Turns counts into first positions: digit by digit, and within a digit part by part. */
static void place(const pass *p, int64_t parts)
{
    int64_t sum = 0;
    for (int64_t d = 0; d < INT64_C(1) << p->bits; d++)
        for (int64_t t = 0; t < parts; t++) {
            int64_t *bin = &p->bins[(t << p->bits) + d], count = *bin;
            *bin = sum;
            sum += count;
        }
}

static void sort_few(uint64_t *v, int64_t n, int shift)
{
    for (int64_t i = 1; i < n; i++) {
        uint64_t w = v[i];
        int64_t j = i;
        for (; j > 0 && v[j - 1] >> shift > w >> shift; j--)
            v[j] = v[j - 1];
        v[j] = w;
    }
}

typedef struct words {
    uint64_t *v, *other; /* n words each; each pass swaps them */
    int64_t *bins;
    int64_t n, parts;
    lz_pool *pool;
} words;

/* Stable, by `bits` bits from `shift` on; higher bits must be 0. */
static lz_err *sort_words(words *w, int shift, int bits)
{
    if (w->n <= FEW) {
        sort_few(w->v, w->n, shift);
        return NULL;
    }
    int passes = (bits + digit_of(w->n) - 1) / digit_of(w->n);
    for (int i = 0; i < passes; i++) {
        int from = bits * i / passes, to = bits * (i + 1) / passes;
        pass p = { w->v, w->other, w->n, (w->n + w->parts - 1) / w->parts, shift + from, to - from, w->bins };
        LZ_TRY(lz_pool_for(w->pool, w->parts, 1, count_parts, &p));
        place(&p, w->parts);
        LZ_TRY(lz_pool_for(w->pool, w->parts, 1, move_parts, &p));
        w->other = w->v;
        w->v = p.to;
    }
    return NULL;
}

/* ---- orders ---- */

static int64_t parts_of(int64_t n, const lz_pool *pool)
{
    return pool && n >= SHARED ? lz_pool_threads(pool) : 1;
}

size_t lz_order_room(int64_t n, const lz_pool *pool)
{
    return ((size_t)(2 * n) + ((size_t)parts_of(n, pool) << digit_of(n))) * sizeof(uint64_t);
}

/* Words are parts of keys above numbers, `number` bits wide: keys from bit `shift` on. */
static void fill_words(words *w, const uint64_t *keys, const range *r, int shift, int number)
{
    for (int64_t i = 0; i < w->n; i++)
        w->v[i] = (keys[i] - r->least) >> shift << number | (uint64_t)i;
}

/* Sorts a few words by their whole keys, stable. */
static void sort_run(uint64_t *v, int64_t n, const uint64_t *keys, uint64_t mask)
{
    for (int64_t i = 1; i < n; i++) {
        uint64_t w = v[i], key = keys[w & mask];
        int64_t j = i;
        for (; j > 0 && keys[v[j - 1] & mask] > key; j--)
            v[j] = v[j - 1];
        v[j] = w;
    }
}

/* Sorts runs of words that are equal but for their numbers. False: a run is too long for that. */
static bool sort_runs(const words *w, const uint64_t *keys, int number)
{
    for (int64_t i = 0, end; i < w->n; i = end) {
        uint64_t key = w->v[i] >> number;
        for (end = i + 1; end < w->n && w->v[end] >> number == key;)
            end++;
        if (end - i > FEW)
            return false;
        if (end - i > 1)
            sort_run(w->v + i, end - i, keys, low_bits(number));
    }
    return true;
}

/* For keys that leave no room for a number. Mostly few of them have equal high bits. If many have, the low
 * bits are sorted first and the other bits after them. */
static lz_err *order_wide(words *w, const uint64_t *keys, const range *r, int number)
{
    int fits = 64 - number, rest = r->bits - fits;
    fill_words(w, keys, r, rest, number);
    LZ_TRY(sort_words(w, number, fits));
    if (sort_runs(w, keys, number))
        return NULL;
    for (int64_t i = 0; i < w->n; i++)
        w->v[i] = (keys[i] - r->least) << number | (uint64_t)i;
    LZ_TRY(sort_words(w, number, fits));
    for (int64_t i = 0; i < w->n; i++) {
        uint64_t at = w->v[i] & low_bits(number);
        w->v[i] = (keys[at] - r->least) >> fits << number | at;
    }
    return sort_words(w, number, rest);
}

lz_err *lz_order_by_keys(const uint64_t *keys, int64_t n, void *room, lz_pool *pool, int64_t *order)
{
    if (n == 0)
        return NULL;
    range r = range_of(keys, n);
    int number = bits_of((uint64_t)n - 1);
    words w = { room, (uint64_t *)room + n, (int64_t *)room + 2 * n, n, parts_of(n, pool), pool };
    if (r.bits <= 64 - number) {
        fill_words(&w, keys, &r, 0, number);
        LZ_TRY(sort_words(&w, number, r.bits));
    } else {
        LZ_TRY(order_wide(&w, keys, &r, number));
    }
    for (int64_t i = 0; i < n; i++)
        order[i] = (int64_t)(w.v[i] & low_bits(number));
    return NULL;
}

/* ---- selecting ---- */

static uint64_t select_few(uint64_t *keys, int64_t n, int64_t k, int64_t *less)
{
    sort_few(keys, n, 0);
    *less = k;
    while (*less > 0 && keys[*less - 1] == keys[k])
        --*less;
    return keys[k];
}

/* Among keys that agree above `bits`, keeps those whose digit has rank k. Returns their number. */
static int64_t keep_digit(uint64_t *keys, int64_t n, const range *r, int digit, int64_t *k)
{
    int64_t bins[1 << WIDE_DIGIT], d = 0, kept = 0;
    const int shift = r->bits - digit;
    const uint64_t mask = low_bits(digit);
    memset(bins, 0, sizeof *bins << digit);
    for (int64_t i = 0; i < n; i++)
        bins[(keys[i] - r->least) >> shift & mask]++;
    while (*k >= bins[d])
        *k -= bins[d++];
    for (int64_t i = 0; i < n; i++) {
        uint64_t key = keys[i];
        keys[kept] = key;
        kept += ((key - r->least) >> shift & mask) == (uint64_t)d;
    }
    return kept;
}

uint64_t lz_keys_select(uint64_t *keys, int64_t n, int64_t k, int64_t *less)
{
    if (n <= FEW)
        return select_few(keys, n, k, less);
    range r = range_of(keys, n);
    int64_t rank = k;
    while (r.bits > 0 && n > 1) {
        int digit = r.bits < digit_of(n) ? r.bits : digit_of(n);
        n = keep_digit(keys, n, &r, digit, &k);
        r.bits -= digit;
    }
    *less = rank - k;
    return keys[0];
}
