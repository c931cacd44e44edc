#include "base/number.h"
#include "base/decimal.h"

__extension__ typedef unsigned __int128 u128;

enum {
    MANTISSA = 52, /* stored bits */
    EXP_MIN = -1074,
    EXP_NAN = 2047,
    Q_MIN = -343, /* below it even 10^19 * 10^q rounds to 0 */
    Q_MAX = 308,  /* above it even 1 * 10^q rounds to infinity */
};

static uint64_t to_bits(double v)
{
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    return bits;
}

static double from_bits(uint64_t bits)
{
    double v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

/* 5^j for j < LZ_DECIMAL_STEP, shifted up to 64 bits: the leading bits of 10^j. */
static const uint64_t fives[LZ_DECIMAL_STEP] = {
    0x8000000000000000, 0xa000000000000000, 0xc800000000000000, 0xfa00000000000000, 0x9c40000000000000,
    0xc350000000000000, 0xf424000000000000, 0x9896800000000000, 0xbebc200000000000, 0xee6b280000000000,
    0x9502f90000000000, 0xba43b74000000000, 0xe8d4a51000000000, 0x9184e72a00000000, 0xb5e620f480000000,
    0xe35fa931a0000000, 0x8e1bc9bf04000000, 0xb1a2bc2ec5000000, 0xde0b6b3a76400000, 0x8ac7230489e80000,
    0xad78ebc5ac620000, 0xd8d726b7177a8000, 0x878678326eac9000, 0xa968163f0a57b400, 0xd3c21bcecceda100,
    0x84595161401484a0, 0xa56fa5b99019a5c8,
};

/* a * b / 2^64, truncated */
static u128 mul_high(u128 a, uint64_t b)
{
    u128 low = (u128)(uint64_t)a * b;
    return (a >> 64) * b + (low >> 64);
}

/* The leading 128 bits of 10^q: 10^q is in [g, g + 4) * 2^*exp, and equal to g * 2^*exp for q in 0..54.
 * Truncating the table entry and the product each cost less than 1, and normalising the top bit doubles the
 * error. */
static u128 power_of_ten(int q, int *exp)
{
    int up = q + LZ_DECIMAL_ZERO * LZ_DECIMAL_STEP; /* not negative */
    const uint64_t *step = lz_decimal_powers[up / LZ_DECIMAL_STEP];
    u128 g = mul_high((u128)step[0] << 64 | step[1], fives[up % LZ_DECIMAL_STEP]);
    *exp = (q * 217706 >> 16) - 127; /* floor(log2(10^q)) - 127 */
    return g >> 127 ? g : g << 1;
}

static size_t put_uint(char *to, uint64_t v)
{
    char rev[LZ_INT_CHARS];
    size_t n = 0;
    do
        rev[n++] = (char)('0' + v % 10);
    while (v /= 10);
    for (size_t i = 0; i < n; i++)
        to[i] = rev[n - 1 - i];
    return n;
}

size_t lz_uint64_print(uint64_t v, char buf[LZ_INT_CHARS])
{
    return put_uint(buf, v);
}

size_t lz_int64_print(int64_t v, char buf[LZ_INT_CHARS])
{
    if (v >= 0)
        return put_uint(buf, (uint64_t)v);
    buf[0] = '-';
    return 1 + put_uint(buf + 1, -(uint64_t)v);
}

/* v = m * 2^e; edge: v is a power of two whose lower neighbour is nearer than the upper. */
static uint64_t split(double v, int *e, bool *edge)
{
    uint64_t bits = to_bits(v), m = bits & (((uint64_t)1 << MANTISSA) - 1);
    int biased = (int)(bits >> MANTISSA & EXP_NAN);
    *edge = m == 0 && biased > 1;
    *e = EXP_MIN + (biased ? biased - 1 : 0);
    return biased ? m | (uint64_t)1 << MANTISSA : m;
}

enum answer { NO, YES, UNSURE };

/* Is a (an integer) at most x, whose true value is in [x, x + 2) / 2^64? Equality is always UNSURE, so it
 * does not matter whether the interval includes its ends. */
static enum answer at_most(uint64_t a, u128 x)
{
    u128 scaled = (u128)a << 64;
    return scaled < x ? YES : scaled >= x + 2 ? NO : UNSURE;
}

static enum answer at_least(uint64_t a, u128 x)
{
    u128 scaled = (u128)a << 64;
    return scaled < x ? NO : scaled >= x + 2 ? YES : UNSURE;
}

/* Looks for the shortest decimal d * 10^*k in the interval that reads back as m * 2^e. Units are chosen so
 * that the interval is at least 1 (0.75 at an edge) and less than 10 wide: it contains at most one multiple
 * of ten, and only that can be shorter. Returns 0 if 128 bits do not decide. */
static uint64_t shortest(uint64_t m, int e, bool edge, int *k)
{
    int exp;
    *k = e * 315653 >> 20; /* floor(log10(2^e)) */
    u128 g = power_of_ten(-*k, &exp);
    /* The factors 2^8 fill up 64 bits, the shift (6 to 9) leaves 64 bits after the point. */
    int shift = -(exp + e - 2 + 64 - 8 + 64);
    u128 low = mul_high(g, (4 * m - (edge ? 1 : 2)) << 8) >> shift;
    u128 mid = mul_high(g, 4 * m << 8) >> shift;
    u128 high = mul_high(g, (4 * m + 2) << 8) >> shift;
    uint64_t d = (uint64_t)(mid >> 64), part = (uint64_t)mid, ten = d - d % 10;
    if (part >= UINT64_MAX - 1)
        return 0;
    enum answer down = at_least(ten, low), up = at_most(ten + 10, high);
    if (down != NO || up != NO)
        return down == UNSURE || up == UNSURE ? 0 : down == YES ? ten : ten + 10;
    down = at_least(d, low);
    up = at_most(d + 1, high);
    const uint64_t half = (uint64_t)1 << 63;
    if (down == UNSURE || up == UNSURE || (part <= half && part >= half - 2))
        return 0;
    return down == NO && up == NO ? 0 : down == YES && (up == NO || part < half) ? d : d + 1;
}

size_t lz_double_digits_short(double v, char digits[LZ_SHORT_DIGITS], int *exp10)
{
    bool edge;
    int e, k = 0;
    uint64_t m = split(v, &e, &edge);
    /* An integer below 2^53 is its own shortest form. */
    bool whole = e <= 0 && e >= -MANTISSA && !(m & (((uint64_t)1 << -e) - 1));
    uint64_t d = whole ? m >> -e : shortest(m, e, edge, &k);
    if (d == 0)
        return lz_decimal_short(m, e, edge, digits, exp10);
    for (; d % 10 == 0; k++)
        d /= 10;
    size_t n = put_uint(digits, d);
    *exp10 = (int)n + k;
    return n;
}

size_t lz_double_digits_fixed(double v, int places, char digits[LZ_DOUBLE_DIGITS], int *exp10)
{
    bool edge;
    int e;
    uint64_t m = split(v, &e, &edge);
    return lz_decimal_fixed(m, e, places, digits, exp10);
}

size_t lz_double_digits_exact(double v, int count, char digits[LZ_DOUBLE_DIGITS], int *exp10)
{
    bool edge;
    int e;
    uint64_t m = split(v, &e, &edge);
    return lz_decimal_exact(m, e, count, digits, exp10);
}

static size_t put(char *to, const char *from, size_t n)
{
    memcpy(to, from, n);
    return n;
}

static size_t put_zeros(char *to, int n)
{
    memset(to, '0', (size_t)n);
    return (size_t)n;
}

/* d.ddde+XX */
static size_t lay_out_exponent(char *p, const char *digits, size_t n, int exp)
{
    size_t len = put(p, digits, 1);
    if (n > 1) {
        p[len++] = '.';
        len += put(p + len, digits + 1, n - 1);
    }
    p[len++] = 'e';
    p[len++] = exp < 0 ? '-' : '+';
    exp = exp < 0 ? -exp : exp;
    if (exp < 10)
        p[len++] = '0';
    return len + put_uint(p + len, (uint64_t)exp);
}

/* ddd.ddd with at least one digit on either side of the point */
static size_t lay_out_fixed(char *p, const char *digits, size_t n, int point)
{
    size_t before = point <= 0 ? 0 : (size_t)point < n ? (size_t)point : n;
    size_t len = put(p, digits, before);
    len += put_zeros(p + len, point <= 0 ? 1 : point - (int)before);
    p[len++] = '.';
    len += put_zeros(p + len, point < 0 ? -point : 0);
    len += put(p + len, digits + before, n - before);
    return len + put_zeros(p + len, before == n);
}

size_t lz_double_print(double v, char buf[LZ_DOUBLE_CHARS])
{
    char digits[LZ_SHORT_DIGITS];
    uint64_t bits = to_bits(v), magnitude = bits << 1;
    int point;
    size_t len = 0, n;
    if (magnitude > (uint64_t)EXP_NAN << (MANTISSA + 1))
        return put(buf, "nan", 3);
    if (bits >> 63)
        buf[len++] = '-';
    if (magnitude == (uint64_t)EXP_NAN << (MANTISSA + 1))
        return len + put(buf + len, "inf", 3);
    if (magnitude == 0)
        return len + put(buf + len, "0.0", 3);
    n = lz_double_digits_short(v, digits, &point);
    if (point > -4 && point <= 16)
        return len + lay_out_fixed(buf + len, digits, n, point);
    return len + lay_out_exponent(buf + len, digits, n, point - 1);
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* A parsed number: 0.d1d2d3... * 10^exp. */
typedef struct scan {
    lz_str digits;  /* from the first that is not 0; may contain the point */
    int64_t exp;    /* clamped to about +-10^18 */
    uint64_t first; /* the first 19 digits as an integer, */
    int count;      /* how many digits `first` has */
    bool more;      /* do other digits follow? */
} scan;

static bool scan_exponent(const char *p, const char *end, int64_t *exp)
{
    const int64_t huge = 1000000000000000000;
    int64_t v = 0;
    if (p == end)
        return true;
    if (*p != 'e' && *p != 'E')
        return false;
    p++;
    bool minus = p < end && *p == '-';
    p += p < end && (*p == '-' || *p == '+');
    if (p == end)
        return false;
    for (; p < end && is_digit(*p); p++)
        v = v > huge / 10 ? huge : v * 10 + (*p - '0');
    *exp += minus ? -v : v;
    return p == end;
}

/* Scans digits and the point. Leading zeros are skipped, but those after the point count for the exponent. */
static const char *scan_digits(const char *p, const char *end, scan *out)
{
    const char *start = p, *point = NULL, *first = NULL;
    for (; p < end && (is_digit(*p) || (*p == '.' && !point)); p++) {
        if (*p == '.') {
            point = p;
            continue;
        }
        if (!first && *p == '0')
            continue;
        first = first ? first : p;
        if (out->count < 19) {
            out->first = out->first * 10 + (uint64_t)(*p - '0');
            out->count++;
        } else
            out->more = true;
    }
    if (p == start || (point && p == start + 1))
        return NULL;
    first = first ? first : p;
    point = point ? point : p;
    out->digits = (lz_str){ first, (size_t)(p - first) };
    out->exp = first < point ? point - first : point + 1 - first;
    return p;
}

/* The bits of the positive double nearest to the number. The first digits times a power of ten give its
 * leading 128 bits, x, up to an error. Only if the middle between two doubles is within that error, the
 * digits are compared with it exactly. */
static uint64_t nearest(const scan *s)
{
    const uint64_t infinite = (uint64_t)EXP_NAN << MANTISSA;
    const u128 half = (u128)1 << 74;
    unsigned spare = (unsigned)__builtin_clzll(s->first);
    int exp, q = (int)(s->exp - s->count);
    u128 x = mul_high(power_of_ten(q, &exp), s->first << spare);
    /* 4 from the power, 1 from the product, doubled below. 19 digits leave at most 4 bits unused, so the
     * unknown rest of the digits is less than 2^(4 + 64). */
    u128 error = 10 + (s->more ? (u128)1 << 69 : 0);
    exp += 64 - (int)spare + 127 + 1023;
    if (!(x >> 127)) {
        x <<= 1;
        exp--;
    }
    if (exp >= EXP_NAN)
        return infinite;
    int sink = exp < 1 ? 1 - exp : 0; /* subnormal: the leading bits become 0 */
    x = sink < 128 ? x >> sink : 0;
    error += sink > 0;
    uint64_t m = (uint64_t)(x >> 75), bits = ((uint64_t)(exp + sink - 1) << MANTISSA) + m;
    u128 rest = x & (2 * half - 1);
    if (rest > half || rest + error < half)
        return bits + (rest > half);
    int c = lz_decimal_compare(s->digits, (int)s->exp, 2 * m + 1, EXP_MIN - 1 + exp + sink - 1);
    return bits + (c > 0 || (c == 0 && m % 2));
}

static bool is_word(lz_str s, const char *lower)
{
    size_t i = 0;
    for (; i < s.len && lower[i] && (s.ptr[i] | 0x20) == lower[i]; i++)
        ;
    return i == s.len && !lower[i];
}

/* inf, nan: no digits */
static bool special(lz_str s, uint64_t *bits)
{
    if (is_word(s, "nan"))
        *bits = (uint64_t)EXP_NAN << MANTISSA | (uint64_t)1 << (MANTISSA - 1);
    else if (is_word(s, "inf") || is_word(s, "infinity"))
        *bits = (uint64_t)EXP_NAN << MANTISSA;
    else
        return false;
    return true;
}

static bool cut_sign(lz_str *s)
{
    bool minus = s->len && s->ptr[0] == '-';
    if (s->len && (minus || s->ptr[0] == '+'))
        *s = lz_str_sub(*s, 1, s->len);
    return minus;
}

bool lz_double_parse(lz_str s, double *out)
{
    scan n = { 0 };
    uint64_t bits = 0;
    bool minus = cut_sign(&s);
    if (s.len == 0)
        return false;
    const char *end = s.ptr + s.len, *p = scan_digits(s.ptr, end, &n);
    if (!p ? !special(s, &bits) : !scan_exponent(p, end, &n.exp))
        return false;
    if (p && n.first && n.exp - n.count > Q_MAX)
        bits = (uint64_t)EXP_NAN << MANTISSA;
    else if (p && n.first && n.exp - n.count >= Q_MIN)
        bits = nearest(&n);
    *out = from_bits(bits | (uint64_t)minus << 63);
    return true;
}

bool lz_uint64_parse(lz_str s, uint64_t *out)
{
    uint64_t v = 0;
    bool minus = cut_sign(&s), ok = s.len > 0;
    for (size_t i = 0; ok && i < s.len; i++)
        ok = is_digit(s.ptr[i]) && !__builtin_mul_overflow(v, (uint64_t)10, &v)
             && !__builtin_add_overflow(v, (uint64_t)(s.ptr[i] - '0'), &v);
    if (!ok || (minus && v))
        return false;
    *out = v;
    return true;
}

bool lz_int64_parse(lz_str s, int64_t *out)
{
    uint64_t v;
    bool minus = cut_sign(&s);
    if (s.len && !is_digit(s.ptr[0]))
        return false;
    if (!lz_uint64_parse(s, &v) || v > (uint64_t)INT64_MAX + minus)
        return false;
    *out = (int64_t)(minus ? -v : v);
    return true;
}
