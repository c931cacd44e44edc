#include "ulps.h"
#include <math.h>
#include <string.h>

enum { CHUNK = 4096 };

static lz_tile_fn *find_tile(const lz_tile_table *t, const char *name, bool f64)
{
    static const char *const fused[LZ_FUSED_INSTRS] = {
        [LZ_FUSED_GELU] = "gelu_tanh", [LZ_FUSED_GELU_ERF] = "gelu_erf", [LZ_FUSED_SILU] = "silu"
    };
    lz_kernel_op op;
    if (lz_kernel_op_find(lz_str_of(name), &op))
        return t->op[op][f64 ? LZ_KERNEL_F64 : LZ_KERNEL_F32];
    for (int i = 0; i < LZ_FUSED_INSTRS; i++) {
        if (fused[i] && strcmp(fused[i], name) == 0)
            return t->fused[i][f64];
    }
    return NULL;
}

static void run_tile(void *user, void *out, void *x, void *y, int n)
{
    lz_tile_fn **fn = user;
    (*fn)(out, x, y, y, y, n);
}

ulps_engine ulps_tile(const lz_tile_table *t, const char *name, bool f64)
{
    static _Thread_local lz_tile_fn *fn;
    fn = find_tile(t, name, f64);
    return (ulps_engine){ fn ? run_tile : NULL, &fn };
}

/* The last place of v in a format of so many digits and so small a least number. */
static long double place(long double v, int digits, int least)
{
    int e;
    frexpl(v, &e);
    return ldexpl(1, e - digits < least ? least : e - digits);
}

static void note_wrong(ulps *u, long double x)
{
    u->wrong_at = u->wrong++ ? u->wrong_at : (double)x;
}

/* `top` is what an infinity stands for: the first number beyond the format. */
static void check(ulps *u, long double x, long double got, long double want, bool f64)
{
    long double top = f64 ? 0x1p1024L : 0x1p128L;
    if (isnan(want) || isnan(got) || (isinf(want) && got != want)) {
        if (isnan(want) != isnan(got) || isinf(want))
            note_wrong(u, x);
        return;
    }
    if (isinf(want))
        return;
    if (got == 0 && signbit(got) != signbit(want)) {
        note_wrong(u, x);
        return;
    }
    got = isinf(got) ? copysignl(top, got) : got;
    want = fabsl(want) > top ? copysignl(top, want) : want;
    long double miss = fabsl(got - want);
    long double error = miss / place(want, f64 ? 53 : 24, f64 ? -1074 : -149);
    long double part = miss / (fabsl(want) > 1 ? fabsl(want) : 1);
    u->absolute = (double)part > u->absolute ? (double)part : u->absolute;
    if ((double)error > u->worst) {
        u->worst = (double)error;
        u->at = (double)x;
    }
}

/* The same as check, for f32 that are right or nearly so. False: look closer. */
static bool glance(const ulps *u, float got, double want)
{
    float near = (float)want;
    if ((near == got && signbit(near) == signbit(got)) || (near != near && got != got))
        return true;
    int64_t bits;
    double place, miss = fabs((double)got - want);
    memcpy(&bits, &want, sizeof bits);
    bits &= INT64_C(0x7ff0000000000000);
    memcpy(&place, &bits, sizeof place);
    return place > 0x1p-126 && place < 0x1p120 && miss * 0x1p23 <= u->worst * place && miss <= u->absolute;
}

void ulps_f32(const ref *r, ulps_engine e, int64_t first, int64_t end, int64_t step, ulps *out)
{
    float x[CHUNK], got[CHUNK];
    double want[CHUNK];
    out->worst = out->worst > 0.5 ? out->worst : 0.5; /* nearest is not looked at closer */
    for (int64_t at = first; e.run && at < end;) {
        int n = 0;
        for (; n < CHUNK && at < end; n++, at += step) {
            uint32_t bits = (uint32_t)at;
            memcpy(&x[n], &bits, sizeof bits);
        }
        e.run(e.user, got, x, x, n);
        r->f32(x, want, n);
        out->tried += n;
        for (int i = 0; i < n; i++) {
            if (!glance(out, got[i], want[i]))
                check(out, (long double)x[i], (long double)got[i], (long double)want[i], false);
        }
    }
}

static uint64_t next(uint64_t *s)
{
    *s ^= *s << 13;
    *s ^= *s >> 7;
    *s ^= *s << 17;
    return *s * UINT64_C(0x2545F4914F6CDD1D);
}

static const double special[] = { 0.0,
                                  -0.0,
                                  1,
                                  -1,
                                  0.5,
                                  -0.5,
                                  INFINITY,
                                  -INFINITY,
                                  NAN,
                                  0x1p-1074,
                                  -0x1p-1074,
                                  0x1p-1022,
                                  0x1.fffffffffffffp1023,
                                  -0x1.fffffffffffffp1023,
                                  710,
                                  -745.2,
                                  709.78,
                                  -708.4,
                                  1024,
                                  -1074.5,
                                  2,
                                  -2,
                                  3,
                                  0x1.921fb54442d18p0 };
enum { SPECIAL = sizeof special / sizeof *special };

static double sample(uint64_t *s, int64_t i)
{
    static const double spread[] = { 1, 4, 30, 800 };
    uint64_t bits = next(s);
    double v;
    if (i < SPECIAL)
        return special[i];
    memcpy(&v, &bits, sizeof v);
    if (i % 3 == 0)
        return v; /* all magnitudes */
    if (i % 3 == 1)
        return ldexp((double)(int64_t)bits, -63) * spread[next(s) % 4];
    return ldexp((double)(int64_t)bits, -63 - (int)(next(s) % 40)) + (next(s) & 1 ? 1 : 0);
}

void ulps_f64(const ref *r, ulps_engine e, int64_t n, uint64_t seed, ulps *out)
{
    double x[CHUNK], got[CHUNK];
    for (int64_t at = 0; e.run && at < n; at += CHUNK) {
        for (int i = 0; i < CHUNK; i++)
            x[i] = sample(&seed, at + i);
        e.run(e.user, got, x, x, CHUNK);
        out->tried += CHUNK;
        for (int i = 0; i < CHUNK; i++)
            check(out, (long double)x[i], (long double)got[i], r->f64((long double)x[i]), true);
    }
}

static void sample_pair(uint64_t *seed, int64_t i, double *x, double *y)
{
    bool edge = i < SPECIAL * SPECIAL;
    *x = edge ? special[i / SPECIAL] : sample(seed, SPECIAL + i % 7);
    *y = edge ? special[i % SPECIAL] : sample(seed, SPECIAL + i % 5);
}

static void check_pair(ulps *out, double x, double y, long double got, long double want, bool f64)
{
    double before = out->worst;
    check(out, (long double)x, got, want, f64);
    out->at2 = out->worst > before ? y : out->at2;
}

void ulps_pairs_f64(const ref2 *r, ulps_engine e, int64_t n, uint64_t seed, ulps *out)
{
    double x[CHUNK], y[CHUNK], got[CHUNK];
    for (int64_t at = 0; e.run && at < n; at += CHUNK) {
        for (int i = 0; i < CHUNK; i++)
            sample_pair(&seed, at + i, &x[i], &y[i]);
        e.run(e.user, got, x, y, CHUNK);
        out->tried += CHUNK;
        for (int i = 0; i < CHUNK; i++)
            check_pair(out, x[i], y[i], (long double)got[i], r->f64((long double)x[i], (long double)y[i]),
                       true);
    }
}

void ulps_pairs_f32(const ref2 *r, ulps_engine e, int64_t n, uint64_t seed, ulps *out)
{
    float x[CHUNK], y[CHUNK], got[CHUNK];
    double dx, dy;
    out->worst = out->worst > 0.5 ? out->worst : 0.5;
    for (int64_t at = 0; e.run && at < n; at += CHUNK) {
        for (int i = 0; i < CHUNK; i++) {
            sample_pair(&seed, at + i, &dx, &dy);
            x[i] = (float)dx;
            y[i] = (float)dy;
        }
        e.run(e.user, got, x, y, CHUNK);
        out->tried += CHUNK;
        for (int i = 0; i < CHUNK; i++) {
            double want = r->f32((double)x[i], (double)y[i]);
            if (!glance(out, got[i], want))
                check_pair(out, (double)x[i], (double)y[i], (long double)got[i], (long double)want, false);
        }
    }
}

void ulps_join(ulps *all, const ulps *part)
{
    all->at = part->worst > all->worst ? part->at : all->at;
    all->at2 = part->worst > all->worst ? part->at2 : all->at2;
    all->worst = part->worst > all->worst ? part->worst : all->worst;
    all->absolute = part->absolute > all->absolute ? part->absolute : all->absolute;
    all->wrong_at = part->wrong && !all->wrong ? part->wrong_at : all->wrong_at;
    all->wrong += part->wrong;
    all->tried += part->tried;
}
