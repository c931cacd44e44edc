#include "base/decimal.h"
#include <assert.h>

__extension__ typedef unsigned __int128 u128;

/* The largest numbers come from lz_decimal_compare: KEPT digits, or 5^(KEPT + 345)
 * times a mantissa, either shifted to within 32 bits of the other: below 2^2800. */
enum { LIMBS = 48, KEPT = 800 };

const uint64_t lz_decimal_powers[LZ_DECIMAL_POWERS][2] = {
    { 0x8049a4ac0c5811ae, 0x205b896d777d6278 }, /* 10^-351 */
    { 0xcf42894a5dce35ea, 0x52064cac828675b9 }, /* 10^-324 */
    { 0xa76c582338ed2621, 0xaf2af2b80af6f24e }, /* 10^-297 */
    { 0x873e4f75e2224e68, 0x5a7744a6e804a291 }, /* 10^-270 */
    { 0xda7f5bf590966848, 0xaf39a475506a899e }, /* 10^-243 */
    { 0xb080392cc4349dec, 0xbd8d794d96aacfb3 }, /* 10^-216 */
    { 0x8e938662882af53e, 0x547eb47b7282ee9c }, /* 10^-189 */
    { 0xe65829b3046b0afa, 0x0cb4a5a3112a5112 }, /* 10^-162 */
    { 0xba121a4650e4ddeb, 0x92f34d62616ce413 }, /* 10^-135 */
    { 0x964e858c91ba2655, 0x3a6a07f8d510f86f }, /* 10^-108 */
    { 0xf2d56790ab41c2a2, 0xfae27299423fb9c3 }, /* 10^-81 */
    { 0xc428d05aa4751e4c, 0xaa97e14c3c26b886 }, /* 10^-54 */
    { 0x9e74d1b791e07e48, 0x775ea264cf55347d }, /* 10^-27 */
    { 0x8000000000000000, 0x0000000000000000 }, /* 10^0 */
    { 0xcecb8f27f4200f3a, 0x0000000000000000 }, /* 10^27 */
    { 0xa70c3c40a64e6c51, 0x999090b65f67d924 }, /* 10^54 */
    { 0x86f0ac99b4e8dafd, 0x69a028bb3ded71a3 }, /* 10^81 */
    { 0xda01ee641a708de9, 0xe80e6f4820cc9495 }, /* 10^108 */
    { 0xb01ae745b101e9e4, 0x5ec05dcff72e7f8f }, /* 10^135 */
    { 0x8e41ade9fbebc27d, 0x14588f13be847307 }, /* 10^162 */
    { 0xe5d3ef282a242e81, 0x8f1668c8a86da5fa }, /* 10^189 */
    { 0xb9a74a0637ce2ee1, 0x6d953e2bd7173692 }, /* 10^216 */
    { 0x95f83d0a1fb69cd9, 0x4abdaf101564f98e }, /* 10^243 */
    { 0xf24a01a73cf2dccf, 0xbc633b39673c8cec }, /* 10^270 */
    { 0xc3b8358109e84f07, 0x0a862f80ec4700c8 }, /* 10^297 */
    { 0x9e19db92b4e31ba9, 0x6c07a2c26a8346d1 }, /* 10^324 */
};

/* limb[len - 1] is not 0; zero has no limbs. */
typedef struct big {
    size_t len;
    uint64_t limb[LIMBS];
} big;

static void push(big *b, uint64_t limb)
{
    assert(b->len < LIMBS);
    b->limb[b->len++] = limb;
}

static void set(big *b, uint64_t v)
{
    b->len = 0;
    if (v)
        push(b, v);
}

static void copy(big *to, const big *from)
{
    to->len = from->len;
    memcpy(to->limb, from->limb, from->len * sizeof *from->limb);
}

static void mul_add(big *b, uint64_t factor, uint64_t carry)
{
    for (size_t i = 0; i < b->len; i++) {
        u128 t = (u128)b->limb[i] * factor + carry;
        b->limb[i] = (uint64_t)t;
        carry = (uint64_t)(t >> 64);
    }
    if (carry)
        push(b, carry);
}

static uint64_t pow_small(uint64_t base, unsigned n)
{
    uint64_t p = 1;
    while (n-- > 0)
        p *= base;
    return p;
}

static void mul_pow5(big *b, unsigned n)
{
    const uint64_t step = pow_small(5, LZ_DECIMAL_STEP);
    for (; n >= LZ_DECIMAL_STEP; n -= LZ_DECIMAL_STEP)
        mul_add(b, step, 0);
    mul_add(b, pow_small(5, n), 0);
}

static void shift_left(big *b, unsigned n)
{
    size_t limbs = n / 64;
    mul_add(b, (uint64_t)1 << n % 64, 0);
    if (b->len == 0 || limbs == 0)
        return;
    assert(b->len + limbs <= LIMBS);
    memmove(b->limb + limbs, b->limb, b->len * sizeof *b->limb);
    memset(b->limb, 0, limbs * sizeof *b->limb);
    b->len += limbs;
}

static int compare(const big *a, const big *b)
{
    if (a->len != b->len)
        return a->len < b->len ? -1 : 1;
    for (size_t i = a->len; i-- > 0;)
        if (a->limb[i] != b->limb[i])
            return a->limb[i] < b->limb[i] ? -1 : 1;
    return 0;
}

static void add(big *a, const big *b)
{
    uint64_t carry = 0;
    while (a->len < b->len)
        push(a, 0);
    for (size_t i = 0; i < a->len; i++) {
        u128 t = (u128)a->limb[i] + (i < b->len ? b->limb[i] : 0) + carry;
        a->limb[i] = (uint64_t)t;
        carry = (uint64_t)(t >> 64);
    }
    if (carry)
        push(a, carry);
}

/* a >= b */
static void subtract(big *a, const big *b)
{
    uint64_t borrow = 0;
    for (size_t i = 0; i < a->len; i++) {
        u128 t = (u128)a->limb[i] - (i < b->len ? b->limb[i] : 0) - borrow;
        a->limb[i] = (uint64_t)t;
        borrow = (uint64_t)(t >> 64) & 1;
    }
    while (a->len && a->limb[a->len - 1] == 0)
        a->len--;
}

/* The quotient of r by s, which is below 10; r becomes the remainder. */
static char divide(big *r, const big *s)
{
    char digit = 0;
    for (; compare(r, s) >= 0; digit++)
        subtract(r, s);
    return digit;
}

static int compare_twice(const big *r, const big *s)
{
    big twice;
    copy(&twice, r);
    mul_add(&twice, 2, 0);
    return compare(&twice, s);
}

/* r / s = m * 2^e / 10^k with 10^(k-1) <= m * 2^e. k may be one too small. */
static int fraction(uint64_t m, int e, big *r, big *s)
{
    int log2 = e + 63 - __builtin_clzll(m);
    int k = (log2 * 315653 >> 20) + 1; /* floor(log10(2^log2)) + 1 */
    set(r, m);
    set(s, 1);
    mul_pow5(k < 0 ? r : s, (unsigned)(k < 0 ? -k : k));
    int twos = e - k;
    shift_left(twos < 0 ? s : r, (unsigned)(twos < 0 ? -twos : twos));
    return k;
}

/* Free-format digit generation after Steele and White: digits come off r / s until the remainder is within
 * the margin of v on one side. The margins, below and above, are half the gaps to the neighbours; a reader
 * rounds a tie to the even one. */
size_t lz_decimal_short(uint64_t m, int e, bool edge, char digits[LZ_SHORT_DIGITS], int *exp10)
{
    big r, s, below, above, sum;
    /* In units of a quarter of the last place the margins are whole numbers. */
    int k = fraction(4 * m, e - 2, &r, &s);
    bool even = m % 2 == 0, low, high;
    size_t n = 0;
    /* r was made from 4 * m: one quarter is r / (4 * m), built the same way. */
    set(&below, 1);
    mul_pow5(&below, (unsigned)(k < 0 ? -k : 0));
    shift_left(&below, (unsigned)(e - 2 - k > 0 ? e - 2 - k : 0));
    copy(&above, &below);
    mul_add(&above, 2, 0);
    if (!edge)
        copy(&below, &above);
    copy(&sum, &r);
    add(&sum, &above);
    if (compare(&sum, &s) >= !even) {
        mul_add(&s, 10, 0);
        k++;
    }
    do {
        mul_add(&r, 10, 0);
        mul_add(&below, 10, 0);
        mul_add(&above, 10, 0);
        assert(n < LZ_SHORT_DIGITS);
        digits[n++] = (char)('0' + divide(&r, &s));
        copy(&sum, &r);
        add(&sum, &above);
        low = compare(&r, &below) < even;
        high = compare(&sum, &s) >= !even;
    } while (!low && !high);
    int half = low && high ? compare_twice(&r, &s) : high ? 1 : -1;
    digits[n - 1] = (char)(digits[n - 1] + (half > 0 || (half == 0 && digits[n - 1] % 2)));
    *exp10 = k;
    return n;
}

/* Adds one unit in the last place; 99 becomes 1 with one more power of ten. */
static size_t round_up(char *digits, size_t n, int *exp10)
{
    while (n > 0 && digits[n - 1] == '9')
        n--;
    if (n > 0) {
        digits[n - 1]++;
        return n;
    }
    digits[0] = '1';
    ++*exp10;
    return 1;
}

/* Generates `count` digits of v / 10^k = r / s < 1. */
static size_t generate(big *r, const big *s, int64_t count, char *digits, int *exp10)
{
    size_t n = 0;
    if (count < 0)
        return 0;
    for (; r->len && (int64_t)n < count; n++) {
        mul_add(r, 10, 0);
        assert(n < LZ_DOUBLE_DIGITS);
        digits[n] = (char)('0' + divide(r, s));
    }
    int half = compare_twice(r, s);
    if (half > 0 || (half == 0 && n > 0 && digits[n - 1] % 2))
        return round_up(digits, n, exp10);
    while (n > 0 && digits[n - 1] == '0')
        n--;
    return n;
}

static int scaled(uint64_t m, int e, big *r, big *s)
{
    int k = fraction(m, e, r, s);
    if (compare(r, s) < 0)
        return k;
    mul_add(s, 10, 0);
    return k + 1;
}

size_t lz_decimal_fixed(uint64_t m, int e, int places, char digits[LZ_DOUBLE_DIGITS], int *exp10)
{
    big r, s;
    *exp10 = scaled(m, e, &r, &s);
    return generate(&r, &s, (int64_t)*exp10 + places, digits, exp10);
}

size_t lz_decimal_exact(uint64_t m, int e, int count, char digits[LZ_DOUBLE_DIGITS], int *exp10)
{
    big r, s;
    *exp10 = scaled(m, e, &r, &s);
    return generate(&r, &s, count, digits, exp10);
}

/* Takes the first KEPT digits into *out; *more: is any later digit not 0? Returns how many were taken. */
static int take_digits(lz_str digits, big *out, bool *more)
{
    int n = 0;
    uint64_t part = 0, scale = 1;
    set(out, 0);
    *more = false;
    for (size_t i = 0; i < digits.len; i++) {
        if (digits.ptr[i] == '.')
            continue;
        if (n == KEPT) {
            *more = *more || digits.ptr[i] != '0';
            continue;
        }
        part = part * 10 + (uint64_t)(digits.ptr[i] - '0');
        scale *= 10;
        n++;
        if (scale == 1000000000000000000u) {
            mul_add(out, scale, part);
            part = 0;
            scale = 1;
        }
    }
    mul_add(out, scale, part);
    return n;
}

int lz_decimal_compare(lz_str digits, int exp10, uint64_t m, int e)
{
    big a, b;
    bool more;
    int tens = exp10 - take_digits(digits, &a, &more);
    set(&b, m);
    mul_pow5(tens < 0 ? &b : &a, (unsigned)(tens < 0 ? -tens : tens));
    int twos = tens - e;
    shift_left(twos < 0 ? &b : &a, (unsigned)(twos < 0 ? -twos : twos));
    /* m * 2^e has fewer digits than KEPT, so the digits cut off only decide a tie. */
    int c = compare(&a, &b);
    return c ? c : more;
}
