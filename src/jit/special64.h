/* special64.h - functions of f64 whose number of steps depends on the arguments: the Hurwitz zeta function,
 * the incomplete gamma functions, and orthogonal polynomials.
 *
 * Plain C on one element, behind prim_lang.h; each tile_*.c has its own copy. No function loops more than
 * LZ_SPECIAL_TURNS times, whatever the arguments are. */

enum { LZ_SPECIAL_TURNS = 1 << 26, GAMMA_TURNS = 2000 };

#define APART __attribute__((unused, noinline)) static /* the functions of math64.h are always inlined */

APART double apart_pow(double x, double y)
{
    return pow64(x, y);
}

APART double apart_exp(double x)
{
    return exp64(x);
}

/* ---- the Hurwitz zeta function: the sum of (q + k)^-s ---- */

/* Added to `sum`, for q > 0, s > 1: at least nine terms and as many as lead beyond 9, then the
 * Euler-Maclaurin formula. */
static double zeta_positive(double sum, double s, double q)
{
    /* B_2k / (2k)! */
    static const double bernoulli[] = {
        0.083333333333333329,   -0.0013888888888888889,  3.3068783068783071e-05, -8.2671957671957675e-07,
        2.08767569878681e-08,   -5.2841901386874932e-10, 1.3382536530684679e-11, -3.3896802963225829e-13,
        8.5860620562778452e-15, -2.174868698558062e-16,  5.5090028283602298e-18, -1.3954464685812524e-19,
    };
    double a = q, b = apart_pow(q, -s);
    for (int k = 0; k < 9 || a <= 9; k++) {
        sum += b;
        a += 1;
        b = apart_pow(a, -s);
        if (b < abs_f64(sum) * 0x1p-60)
            return sum;
    }
    sum += b * a / (s - 1) + 0.5 * b;
    double rising = s, t = b / a;
    for (int k = 0; k < 12; k++) {
        double term = bernoulli[k] * rising * t;
        sum += term;
        if (abs_f64(term) < abs_f64(sum) * 0x1p-60)
            break;
        rising *= (s + 2 * k + 1) * (s + 2 * k + 2);
        t /= a * a;
    }
    return sum;
}

/* Below 0 the terms up to the pole are those of a sum to the other side, with the sign of (-1)^s. */
static double zeta_f64(double s, double q)
{
    const double inf = (double)INFINITY, nan = (double)NAN;
    double down = __builtin_floor(q);
    if (s == 1 || (q <= 0 && down == q && !(s < 1)))
        return inf;
    if (s != s || q != q || s < 1 || q == inf)
        return nan;
    if (s == inf)
        return q < 1 ? inf : q == 1 ? 1 : nan;
    if (q > 0)
        return zeta_positive(0, s, q);
    if (__builtin_floor(s) != s)
        return nan;
    bool odd = __builtin_floor(s / 2) * 2 != s;
    double sum = 0;
    if (q > -16) { /* one after the other: for odd s the terms on both sides of the pole nearly cancel */
        while (q < 0) {
            sum += odd ? -apart_pow(-q, -s) : apart_pow(-q, -s);
            q += 1;
        }
        return zeta_positive(sum, s, q);
    }
    double right = zeta_positive(0, s, q - down);
    double left = zeta_positive(0, s, (down + 1) - q) - zeta_positive(0, s, 1 - q);
    return odd ? right - left : right + left;
}

/* ---- incomplete gamma functions ---- */

/* log(gamma(1 + a)) for 0 <= a <= 1.25, with its relative accuracy near 0 */
static double lgamma_next(double a)
{
    bool near = a < 0.5;
    double t = near ? a : a - 1;
    double l = t * lgamma_part64(t);
    return near ? l - log1p64(a) : l;
}

/* gamma(a) for 0 < a < 10, from the interval around 2 */
static double gamma_small(double a)
{
    double p = 1;
    while (a >= 2.5) {
        a -= 1;
        p *= a;
    }
    while (a < 1.5) {
        p /= a;
        a += 1;
    }
    return p * apart_exp((a - 2) * lgamma_part64(a - 2));
}

/* x/a - 1 - log(x/a) */
static double log_gap(double a, double x)
{
    double m = (x - a) / a, r = m / (2 + m), z = r * r;
    return abs_f64(m) < 0.29 ? r * (m - z * atanh_core64(z)) : m - log64(x / a);
}

/* x^a exp(-x) / gamma(a) */
APART double gamma_factor(double a, double x)
{
    if (a < 10)
        return apart_pow(x, a) * apart_exp(-x) / gamma_small(a);
    double i = 1 / a;
    double series = i
                    * HORNER6(64, i * i, 0.083333333333333329, -0.0027777777777777779, 0.00079365079365079365,
                              -0.00059523809523809529, 0.00084175084175084171, -0.0019175269175269176);
    return __builtin_sqrt(a * 0.15915494309189535) * apart_exp(-(a * log_gap(a, x)) - series);
}

/* The lower function as a series; good for x up to about a. */
static double gamma_series(double a, double x)
{
    double sum = 1, term = 1;
    for (int n = 1; n < GAMMA_TURNS && term > sum * 0x1p-56; n++) {
        term *= x / (a + n);
        sum += term;
    }
    return gamma_factor(a, x) / a * sum;
}

/* The upper function as a continued fraction, for x > 1.1 and x >= a. */
static double gamma_fraction(double a, double x)
{
    double b = x + 1 - a, c = 0x1p1000, d = 1 / b, h = d, step = 0;
    for (int n = 1; n < GAMMA_TURNS && abs_f64(step - 1) > 0x1p-53; n++) {
        double numerator = n * (a - n);
        b += 2;
        d = 1 / (numerator * d + b);
        c = b + numerator / c;
        step = c * d;
        h *= step;
    }
    return gamma_factor(a, x) * h;
}

/* The upper function for small x and a, without taking the difference of 1 and a number close to 1. */
static double gamma_rest(double a, double x)
{
    double sum = 0, term = 1, l = a * log64(x) - lgamma_next(a);
    for (int n = 1; n < GAMMA_TURNS && (n < 2 || abs_f64(term) > abs_f64(sum) * 0x1p-56); n++) {
        term *= -x / n;
        sum += term / (a + n);
    }
    return -expm1_64(l) - a * apart_exp(l) * sum;
}

/* The coefficient of a^-k in the uniform expansion, a power series in h. */
APART double gamma_uniform_sum(double i, double h)
{
    double s0 = HORNER17(64, h, -0.3333333333333333, 0.08333333333333333, -0.014814814814814815,
                         0.0011574074074074073, 0.0003527336860670194, -0.0001787551440329218,
                         3.919263178522438e-05, -2.185448510679992e-06, -1.85406221071516e-06,
                         8.296711340953087e-07, -1.7665952736826078e-07, 6.707853543401498e-09,
                         1.0261809784240309e-08, -4.382036018453353e-09, 9.14769958223679e-10,
                         -2.5514193994946248e-11, -5.830772132550426e-11);
    double s1 = HORNER15(64, h, -0.001851851851851852, -0.003472222222222222, 0.0026455026455026454,
                         -0.0009902263374485596, 0.00020576131687242798, -4.018775720164609e-07,
                         -1.8098550334489977e-05, 7.64916091608111e-06, -1.6120900894563446e-06,
                         4.647127802807434e-09, 1.378633446915721e-07, -5.752545603517705e-08,
                         1.1951628599778148e-08, -1.7543241719747647e-11, -1.0091543710600413e-09);
    double s2 = HORNER11(64, h, 0.004133597883597883, -0.0026813271604938273, 0.0007716049382716049,
                         2.0093878600823047e-06, -0.0001073665322636516, 5.2923448829120125e-05,
                         -1.2760635188618728e-05, 3.423578734096138e-08, 1.3721957309062934e-06,
                         -6.298992138380055e-07, 1.4280614206064242e-07);
    double s3 = HORNER9(64, h, 0.0006494341563786008, 0.00022947209362139917, -0.0004691894943952557,
                        0.00026772063206283885, -7.561801671883977e-05, -2.396505113867297e-07,
                        1.1082654115347302e-05, -5.6749528269915965e-06, 1.4230900732435883e-06);
    double s4 = HORNER7(64, h, -0.0008618882909167117, 0.0007840392217200666, -0.0002990724803031902,
                        -1.4638452578843418e-06, 6.641498215465122e-05, -3.968365047179435e-05,
                        1.1375726970678419e-05);
    double s5 = HORNER4(64, h, -0.00033679855336635813, -6.972813758365857e-05, 0.0002772753244959392,
                        -0.00019932570516188847);
    double s6 = 0.0005313079364639922;
    double sum = s6;
    sum = sum * i + s5;
    sum = sum * i + s4;
    sum = sum * i + s3;
    sum = sum * i + s2;
    sum = sum * i + s1;
    sum = sum * i + s0;
    return sum;
}

/* For a >= 200 and x near a, with h^2 / 2 = x/a - 1 - log(x/a): half of erfc(h sqrt(a/2)), corrected by a
 * power series in 1/a that has the same factor exp(-a h^2 / 2). */
static double gamma_uniform(double a, double x, bool upper)
{
    double gap = log_gap(a, x), u = a * gap;
    double h = copysign_f64(__builtin_sqrt(2 * gap), x - a), y = copysign_f64(__builtin_sqrt(u), x - a);
    double rest = apart_exp(-u) / __builtin_sqrt(a * 6.2831853071795862) * gamma_uniform_sum(1 / a, h);
    return upper ? 0.5 * erfc64(y) + rest : 0.5 * erfc64(-y) - rest;
}

/* For small x the upper function is far from 0, unless a is smaller still. */
static double gamma_upper_small(double a, double x)
{
    bool series = x <= 0.5 ? -0.4 / log64(x) < a : x * 1.1 < a;
    return series ? 1 - gamma_series(a, x) : gamma_rest(a, x);
}

/* The lower function P, or the upper one, Q = 1 - P. */
APART double gamma_part(double a, double x, bool upper)
{
    const double inf = (double)INFINITY, nan = (double)NAN;
    if (x < 0 || a < 0 || (a == 0 && !(x > 0)) || (a == inf && x == inf))
        return nan;
    if (a == 0 || x == 0 || a == inf || x == inf) /* even if the other one is NaN */
        return upper == (a != 0 && (x == 0 || a == inf)) ? 1 : 0;
    if (a != a || x != x)
        return nan;
    if (a >= 200 && abs_f64(x - a) < 0.29 * a)
        return gamma_uniform(a, x, upper);
    if (upper)
        return x <= 1.1 ? gamma_upper_small(a, x) : x < a ? 1 - gamma_series(a, x) : gamma_fraction(a, x);
    return x > 1.1 && x > a ? 1 - gamma_fraction(a, x) : gamma_series(a, x);
}

static double igamma_f64(double a, double x)
{
    return gamma_part(a, x, false);
}

static double igammac_f64(double a, double x)
{
    return gamma_part(a, x, true);
}

/* ---- orthogonal polynomials ---- */

/* p(0) = 1, p(1) = slope x + shift, and from k = 2 on p(k) = ((ak k + a) x + ck k + c) p(k - 1) - (dk k + d)
 * p(k - 2), divided by k where `over` is set. */
typedef struct recurrence {
    double slope, shift, ak, a, ck, c, dk, d;
    bool over;
} recurrence;

enum {
    CHEBYSHEV_T,
    CHEBYSHEV_U,
    CHEBYSHEV_V,
    CHEBYSHEV_W,
    HERMITE_H,
    HERMITE_HE,
    LAGUERRE,
    LEGENDRE,
    FAMILIES
};

static double recur(const recurrence *r, double x, double n)
{
    double p = 1, q = r->slope * x + r->shift, k = 2;
    while (k <= n && q == q) {
        double next = ((r->ak * k + r->a) * x + (r->ck * k + r->c)) * q - (r->dk * k + r->d) * p;
        p = q;
        q = r->over ? next / k : next;
        k++;
    }
    return n == 0 ? 1 : q;
}

/* Between -1 and 1 a Chebyshev polynomial is a quotient of a cosine or sine. */
APART double chebyshev_between(int family, double x, double n)
{
    double t = acos64(x), half = 0.5 * t;
    double turned = family == CHEBYSHEV_T ? n * t : family == CHEBYSHEV_U ? (n + 1) * t : (n + 0.5) * t;
    double c = cos64(turned), s = sin64(turned);
    switch (family) {
    case CHEBYSHEV_T:
        return c;
    case CHEBYSHEV_U:
        return s / sin64(t);
    case CHEBYSHEV_V:
        return c / cos64(half);
    default:
        return s / sin64(half);
    }
}

/* At 1 and -1. */
static double orthogonal_end(int family, double x, double n)
{
    bool odd = __builtin_floor(n / 2) * 2 != n;
    double sign = x < 0 && odd ? -1 : 1;
    switch (family) {
    case CHEBYSHEV_U:
        return sign * (n + 1);
    case CHEBYSHEV_V:
        return x > 0 ? 1 : sign * (2 * n + 1);
    case CHEBYSHEV_W:
        return x > 0 ? 2 * n + 1 : sign;
    default:
        return sign;
    }
}

/* The polynomial of degree n, cut to an integer, at x; 0 for negative n. */
static double orthogonal_f64(double x, double n, double kind)
{
    static const recurrence rows[FAMILIES] = {
        [CHEBYSHEV_T] = { 1, 0, 0, 2, 0, 0, 0, 1, false },  [CHEBYSHEV_U] = { 2, 0, 0, 2, 0, 0, 0, 1, false },
        [CHEBYSHEV_V] = { 2, -1, 0, 2, 0, 0, 0, 1, false }, [CHEBYSHEV_W] = { 2, 1, 0, 2, 0, 0, 0, 1, false },
        [HERMITE_H] = { 2, 0, 0, 2, 0, 0, 2, -2, false },   [HERMITE_HE] = { 1, 0, 0, 1, 0, 0, 1, -1, false },
        [LAGUERRE] = { -1, 1, 0, -1, 2, -1, 1, -1, true },  [LEGENDRE] = { 1, 0, 2, -1, 0, 0, 1, -1, true },
    };
    if (!(kind >= 0 && kind < FAMILIES))
        return (double)NAN;
    int family = (int)kind;
    n = __builtin_trunc(n);
    if (!(n >= 0 && n < 0x1p63)) /* a NaN and an infinity have no integer either */
        return 0;
    bool ends = family <= CHEBYSHEV_W || family == LEGENDRE;
    if (ends && abs_f64(x) == 1)
        return orthogonal_end(family, x, n);
    if (family <= CHEBYSHEV_W && n > 6 && abs_f64(x) < 1)
        return chebyshev_between(family, x, n);
    if (family == LAGUERRE && x == 0)
        return 1;
    return n > LZ_SPECIAL_TURNS ? (double)NAN : recur(&rows[family], x, n);
}
