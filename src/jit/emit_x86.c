/* The target x86-64 in three feature levels. */
#include "jit/emitter.h"
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

/* `count` lanes of x from lane `at` on; lanes beyond the end of x are poison. */
static lz_llvm_value *lanes(lz_emitter *e, lz_llvm_value *x, int of, int at, int count)
{
    lz_llvm_value *which[LZ_EMIT_LANES];
    for (int i = 0; i < count; i++)
        which[i] = at + i < of ? lz_emit_i32(e, at + i) : e->l->GetPoison(e->i32);
    return e->l->BuildShuffleVector(e->b, x, x, e->l->ConstVector(which, (unsigned)count), "");
}

static lz_llvm_value *join(lz_emitter *e, lz_llvm_value *x, lz_llvm_value *y, int each)
{
    lz_llvm_value *which[LZ_EMIT_LANES];
    for (int i = 0; i < 2 * each; i++)
        which[i] = lz_emit_i32(e, i);
    return e->l->BuildShuffleVector(e->b, x, y, e->l->ConstVector(which, (unsigned)(2 * each)), "");
}

static lz_llvm_value *scalef(lz_emitter *e, int ktype, lz_llvm_value *x, lz_llvm_value *y)
{
    bool wide = ktype == LZ_KERNEL_F64;
    lz_llvm_type *mask = wide ? e->i8 : e->i16;
    lz_llvm_value *args[] = { x, y, x, e->l->ConstAllOnes(mask), lz_emit_i32(e, 4) };
    return lz_emit_call(e, wide ? "llvm.x86.avx512.mask.scalef.pd.512" : "llvm.x86.avx512.mask.scalef.ps.512",
                        0, NULL, 5, args);
}

/* In whole registers: fewer lanes are padded, more take two registers. */
static lz_llvm_value *scale(lz_emitter *e, int ktype, lz_llvm_value *x, lz_llvm_value *y)
{
    int whole = ktype == LZ_KERNEL_F64 ? 8 : 16, have = e->lanes;
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
    lz_llvm_value *all = scalef(e, ktype, lz_emit_splat(e, x), lz_emit_splat(e, y));
    e->lanes = 1;
    return e->l->BuildExtractElement(e->b, all, lz_emit_i32(e, 0), "");
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

/* Least capable first. The features are listed, not taken from this machine, so that an object runs on every
 * CPU that has them. */
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
      .reads = 8, /* half a cache line: memory is read 2 to 10 % faster than by whole lines */
      .held = LZ_EMIT_HELD,
      .held_beside = LZ_EMIT_HELD,
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
