/* small_numbers.h - arrays of small whole numbers: every sum is exact, so results are compared to the
 * last bit. */
#ifndef LZ_TEST_SMALL_NUMBERS_H
#define LZ_TEST_SMALL_NUMBERS_H

#include "core/convert.h"
#include "core/strided_array.h"
#include "kernel/kernels.h"

static inline int64_t some(void)
{
    static uint64_t seed = 1;
    seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (int64_t)(seed >> 33) % 7 - 3;
}

static inline lz_err *fill(lz_array *a, lz_dtype d, lz_ints sizes)
{
    LZ_TRY(lz_array_init(a, NULL, d, sizes));
    for (int64_t i = 0; i < a->numel; i++)
        lz_array_set(a, i, lz_scalar_int(some()));
    return NULL;
}

static inline lz_strided strided(const lz_array *a)
{
    return (lz_strided){ a->buffer->data, a->dtype, a->sizes.n, a->sizes.v, a->strides.v };
}

static inline double at(const lz_array *a, const int64_t *index)
{
    lz_scalar s = lz_element_get(a->dtype, lz_array_at(a, index));
    return s.kind == LZ_SCALAR_FLOAT ? s.re : (double)s.i;
}

#endif
