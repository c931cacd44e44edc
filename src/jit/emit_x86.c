/* The target x86-64 in three sizes. */
#include "jit/emit.h"
#if defined(__x86_64__)
#include <cpuid.h>
#endif

static bool start(const lz_llvm *l)
{
    bool has = l->InitializeX86TargetInfo && l->InitializeX86Target && l->InitializeX86TargetMC
               && l->InitializeX86AsmPrinter;
    if (has) {
        l->InitializeX86TargetInfo();
        l->InitializeX86Target();
        l->InitializeX86TargetMC();
        l->InitializeX86AsmPrinter();
    }
    return has;
}

/* `count` lanes of x from `from` on; those that are not there are undefined. */
static lz_lvalue *lanes(lz_em *e, lz_lvalue *x, int of, int at, int count)
{
    lz_lvalue *which[LZ_EM_LANES];
    for (int i = 0; i < count; i++)
        which[i] = at + i < of ? lz_em_i32(e, at + i) : e->l->GetPoison(e->i32);
    return e->l->BuildShuffleVector(e->b, x, x, e->l->ConstVector(which, (unsigned)count), "");
}

static lz_lvalue *join(lz_em *e, lz_lvalue *x, lz_lvalue *y, int each)
{
    lz_lvalue *which[LZ_EM_LANES];
    for (int i = 0; i < 2 * each; i++)
        which[i] = lz_em_i32(e, i);
    return e->l->BuildShuffleVector(e->b, x, y, e->l->ConstVector(which, (unsigned)(2 * each)), "");
}

static lz_lvalue *scalef(lz_em *e, int ktype, lz_lvalue *x, lz_lvalue *y)
{
    bool wide = ktype == LZ_KF64;
    lz_ltype *mask = wide ? e->i8 : e->i16;
    lz_lvalue *args[] = { x, y, x, e->l->ConstAllOnes(mask), lz_em_i32(e, 4) };
    return lz_em_call(e, wide ? "llvm.x86.avx512.mask.scalef.pd.512" : "llvm.x86.avx512.mask.scalef.ps.512",
                      0, NULL, 5, args);
}

/* In whole registers: fewer lanes are filled up, more take two. */
static lz_lvalue *scale(lz_em *e, int ktype, lz_lvalue *x, lz_lvalue *y)
{
    int whole = ktype == LZ_KF64 ? 8 : 16, have = e->lanes;
    if (have == whole)
        return scalef(e, ktype, x, y);
    if (have == 2 * whole)
        return join(e, scalef(e, ktype, lanes(e, x, have, 0, whole), lanes(e, y, have, 0, whole)),
                    scalef(e, ktype, lanes(e, x, have, whole, whole), lanes(e, y, have, whole, whole)),
                    whole);
    if (have > 1)
        return lanes(e, scalef(e, ktype, lanes(e, x, have, 0, whole), lanes(e, y, have, 0, whole)), whole, 0,
                     have);
    e->lanes = whole;
    lz_lvalue *all = scalef(e, ktype, lz_em_splat(e, x), lz_em_splat(e, y));
    e->lanes = 1;
    return e->l->BuildExtractElement(e->b, all, lz_em_i32(e, 0), "");
}

#if defined(__x86_64__)
static bool runs_sse4(void)
{
    return __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("popcnt");
}

static bool has_f16c(void)
{
    unsigned a, b, c = 0, d;
    return __get_cpuid(1, &a, &b, &c, &d) && (c & bit_F16C);
}

static bool runs_avx2(void)
{
    return runs_sse4() && has_f16c() && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")
           && __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
}

static bool runs_avx512(void)
{
    return runs_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw")
           && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")
           && __builtin_cpu_supports("avx512cd");
}
#else
static bool runs_not(void)
{
    return false;
}
#define runs_sse4   runs_not
#define runs_avx2   runs_not
#define runs_avx512 runs_not
#endif

/* Worst first. The features are named, rather than taken from this machine, so that an
 * object runs on every CPU that has them. */
#define TRIPLE "x86_64-unknown-linux-gnu"
static const lz_target targets[] = {
    { .name = "sse4",
      .triple = TRIPLE,
      .cpu = "x86-64",
      .features = "+sse4.2,+popcnt",
      .lanes = 4,
      .reads = 4,
      .runs = runs_sse4,
      .start = start,
      .drain = "llvm.x86.sse.sfence" },
    { .name = "avx2",
      .triple = TRIPLE,
      .cpu = "x86-64",
      .features = "+avx2,+fma,+f16c,+bmi,+bmi2,+popcnt",
      .lanes = 8,
      .reads = 8,
      .held = 8,
      .fma = true,
      .half = true,
      .runs = runs_avx2,
      .start = start,
      .drain = "llvm.x86.sse.sfence" },
    { .name = "avx512",
      .triple = TRIPLE,
      .cpu = "x86-64",
      .features = "+avx2,+fma,+f16c,+bmi,+bmi2,+popcnt,+avx512f,+avx512bw,+avx512dq,+avx512vl,+avx512cd",
      .lanes = 16,
      .reads = 8, /* halves of a line: memory is read 2 to 10 % faster than by whole lines */
      .held = LZ_EM_HELD,
      .held_beside = LZ_EM_HELD,
      .masked = true,
      .scale = scale,
      .fma = true,
      .half = true,
      .runs = runs_avx512,
      .start = start,
      .drain = "llvm.x86.sse.sfence" },
};

int lz_target_all(const lz_target *out[LZ_TARGETS_MOST])
{
    int n = 0;
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
        if (targets[i].runs())
            out[n++] = &targets[i];
    }
    return n;
}
