/* Philox words with vectors of any machine, and the choice of the width. */
#include "kernel/philox_words.h"
#define LZ_PHILOX_FILL lz_philox_fill_base
#include "kernel/philox_fill.h"

lz_philox_fill_fn *lz_philox_fill(void)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2"))
        return lz_philox_fill_avx2;
#endif
    return lz_philox_fill_base;
}
