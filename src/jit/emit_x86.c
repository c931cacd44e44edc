/* The target x86-64 in three sizes. */
#include "jit/emit.h"

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

#if defined(__x86_64__)
static bool runs_sse4(void)
{
    return __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("popcnt");
}

static bool runs_avx2(void)
{
    return runs_sse4() && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")
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
      .runs = runs_sse4,
      .start = start },
    { .name = "avx2",
      .triple = TRIPLE,
      .cpu = "x86-64",
      .features = "+avx2,+fma,+bmi,+bmi2,+popcnt",
      .lanes = 8,
      .fma = true,
      .runs = runs_avx2,
      .start = start },
    { .name = "avx512",
      .triple = TRIPLE,
      .cpu = "x86-64",
      .features = "+avx2,+fma,+bmi,+bmi2,+popcnt,+avx512f,+avx512bw,+avx512dq,+avx512vl,+avx512cd",
      .lanes = 16,
      .masked = true,
      .fma = true,
      .runs = runs_avx512,
      .start = start },
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
