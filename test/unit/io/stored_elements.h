/* stored_elements.h - what is in the files of test/data/io and test/data/npy.
 *
 * Element number k in row-major order is (k - 3) / 2 of floats, k - 3 of signed and k of unsigned
 * integers, k % 3 == 0 of bool, (k - 3) / 2 - kj of complex. */
#ifndef LZ_TEST_STORED_ELEMENTS_H
#define LZ_TEST_STORED_ELEMENTS_H

#include "check.h"
#include "core/strided_array.h"

static inline void check_elements(const lz_array *a, lz_dtype d, lz_ints sizes)
{
    assert_int_equal(a->dtype, d);
    assert_true(lz_shape_eq(lz_array_sizes(a), sizes));
    for (int64_t k = 0; k < a->numel; k++) {
        lz_scalar v = lz_array_get(a, k);
        double half = (double)(k - 3) / 2;
        if (d == LZ_BOOL)
            assert_int_equal(v.i, k % 3 == 0);
        else if (v.kind == LZ_SCALAR_INT)
            assert_int_equal(v.i, d == LZ_U8 ? k : k - 3);
        else
            assert_true(v.re == half && v.im == (lz_dtype_is_complex(d) ? -(double)k : 0));
    }
}

#endif
