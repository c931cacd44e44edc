#include "jit/turn.h"
#include <math.h>
#include <string.h>

typedef struct turn {
    int64_t count;
    double hi, lo;
} turn;

__extension__ typedef unsigned __int128 wide;

/* The bits of 2/pi behind the binary point, after 64 zeros. */
static const uint64_t two_over_pi[] = {
    0x0000000000000000, 0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041, 0xfe5163abdebbc561,
    0xb7246e3a424dd2e0, 0x06492eea09d1921c, 0xfe1deb1cb129a73e, 0xe88235f52ebb4484, 0xe99c7026b45f7e41,
    0x3991d639835339f4, 0x9c845f8bbdf9283b, 0x1ff897ffde05980f, 0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7,
    0x4f463f669e5fea2d, 0x7527bac7ebe5f17b, 0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08, 0x56033046fc7b6bab,
    0xf0cfbc209af4361d,
};

static uint64_t window(int bit)
{
    int word = bit / 64, shift = bit % 64;
    uint64_t next = shift ? two_over_pi[word + 1] >> (64 - shift) : 0;
    return (two_over_pi[word] << shift) | next;
}

/* m 2^e 2/pi modulo 4, m < 2^53, -40 < e: two bits of integer and 190 of fraction.
 * Bits of 2/pi before the window would only add multiples of 4. */
static void multiply(uint64_t m, int e, uint64_t out[3])
{
    int first = 64 + e - 2;
    wide low = (wide)window(first + 128) * m;
    wide mid = (wide)window(first + 64) * m + (uint64_t)(low >> 64);
    out[2] = (uint64_t)low;
    out[1] = (uint64_t)mid;
    out[0] = window(first) * m + (uint64_t)(mid >> 64);
}

/* f 2^-128 as two doubles */
static void split(wide f, double *hi, double *lo)
{
    uint64_t top = (uint64_t)(f >> 64), bottom = (uint64_t)f;
    int zeros = top ? __builtin_clzll(top) : 64 + (bottom ? __builtin_clzll(bottom) : 0);
    wide g = f << (zeros < 128 ? zeros : 0);
    uint64_t first = (uint64_t)(g >> 75), second = (uint64_t)(g >> 22) & ((UINT64_C(1) << 53) - 1);
    *hi = ldexp((double)first, -53 - zeros);
    *lo = ldexp((double)second, -106 - zeros);
}

static turn reduce(double x)
{
    uint64_t i;
    memcpy(&i, &x, sizeof i);
    int e = (int)((i >> 52) & 2047);
    if (e == 2047)
        return (turn){ 0, NAN, NAN };
    if (e < 1023 + 20)
        return (turn){ 0, 0, 0 };
    uint64_t product[3];
    multiply((i & ((UINT64_C(1) << 52) - 1)) | (UINT64_C(1) << 52), e - 1075, product);
    int64_t n = (int64_t)(product[0] >> 62);
    wide f =
        ((wide)((product[0] << 2) | (product[1] >> 62)) << 64) | ((product[1] << 2) | (product[2] >> 62));
    int above = (int)(f >> 127); /* more than half a turn: from the other side */
    f = above ? -f : f;
    double hi, lo;
    split(f, &hi, &lo);
    double sign = (above != 0) != (x < 0) ? -1 : 1;
    double r = hi * 1.5707963267948966;
    double rest = fma(hi, 1.5707963267948966, -r) + hi * 6.123233995736766e-17 + lo * 1.5707963267948966;
    n += above;
    return (turn){ (x < 0 ? -n : n) & 3, sign * r, sign * rest };
}

int64_t lz_turn_count(double x)
{
    return reduce(x).count;
}

double lz_turn_hi(double x)
{
    return reduce(x).hi;
}

double lz_turn_lo(double x)
{
    return reduce(x).lo;
}
