#include "base/cpu.h"
#include "base/cpu_quota.h"
#include "base/env.h"
#include <sched.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

static int allowed_cpus(void)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0)
        return CPU_COUNT(&set);
    long n = sysconf(_SC_NPROCESSORS_ONLN); /* a machine with more CPUs than a cpu_set_t holds */
    return n > 0 ? (int)n : 1;
}

int lz_cpu_count(void)
{
    int allowed = allowed_cpus(), quota = allowed > 1 ? lz_cpu_quota() : 0;
    return quota && quota < allowed ? quota : allowed;
}

lz_err *lz_cpu_threads(int *out)
{
    int64_t n = lz_cpu_count();
    LZ_TRY(lz_env_int(LZ_ENV_THREADS, 1, LZ_MOST_THREADS, &n));
    *out = (int)n;
    return NULL;
}

uint64_t lz_memory_total(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    return pages > 0 && size > 0 ? (uint64_t)pages * (uint64_t)size : 0;
}

#if defined(__x86_64__)

void lz_cpu_name(lz_text *out)
{
    unsigned words[12] = { 0 }, most = (unsigned)__get_cpuid_max(0x80000000u, NULL);
    for (size_t i = 0; i < 3 && most >= 0x80000004u; i++)
        __get_cpuid(0x80000002u + (unsigned)i, &words[4 * i], &words[4 * i + 1], &words[4 * i + 2],
                    &words[4 * i + 3]);
    char name[sizeof words + 1] = { 0 };
    memcpy(name, words, sizeof words);
    lz_str s = lz_str_trim(lz_str_of(name));
    lz_text_add(out, s.len ? s : LZ_STR("x86_64"));
}

void lz_cpu_features(lz_text *out)
{
    size_t before = out->len;
    __builtin_cpu_init();
#define FEATURE(name)                                                                                        \
    if (__builtin_cpu_supports(name))                                                                        \
        lz_text_printf(out, "%s%s", out->len > before ? " " : "", name);
    FEATURE("sse4.2")
    FEATURE("avx")
    FEATURE("fma")
    FEATURE("avx2")
    FEATURE("avx512f")
    FEATURE("avx512bw")
    FEATURE("avx512dq")
    FEATURE("avx512vl")
    FEATURE("avx512bf16")
#undef FEATURE
}

#else

void lz_cpu_name(lz_text *out)
{
    lz_text_puts(out, "unknown CPU");
}

void lz_cpu_features(lz_text *out)
{
    (void)out;
}

#endif
