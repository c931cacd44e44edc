/* strided_array.h - a strided view of host memory, for files, tests and printing.
 *
 * The struct is in the caller's storage (array_handle.h has reference-counted ones); it owns one reference to
 * its buffer, released by lz_array_deinit. Every element is inside the buffer. */
#ifndef LZ_CORE_STRIDED_ARRAY_H
#define LZ_CORE_STRIDED_ARRAY_H

#include "base/text.h"
#include "core/buffer.h"
#include "core/dtype.h"
#include "core/shape.h"
#include <lazuli/array.h>

struct lz_array {
    lz_dtype dtype;
    lz_shape sizes, strides; /* in elements */
    int64_t offset;          /* of the first element; in elements */
    int64_t numel;
    lz_buffer *buffer;
};

/* New memory, row-major, not initialised; pool may be NULL. */
LZ_MUST_USE lz_err *lz_array_init(lz_array *out, lz_buffer_pool *pool, lz_dtype d, lz_ints sizes);
LZ_MUST_USE lz_err *lz_array_init_zero(lz_array *out, lz_buffer_pool *pool, lz_dtype d, lz_ints sizes);

/* A view of a buffer; retains the buffer. */
LZ_MUST_USE lz_err *lz_array_init_view(lz_array *out, lz_buffer *b, lz_dtype d, lz_ints sizes,
                                       lz_ints strides, int64_t offset);

/* A row-major copy of src, as dtype d. */
LZ_MUST_USE lz_err *lz_array_init_clone(lz_array *out, lz_buffer_pool *pool, const lz_array *src, lz_dtype d);

void lz_array_deinit(lz_array *a); /* leaves it empty; a second call does nothing */

/* The element at an index (one number per dimension, each within its size), or at a position in row-major
 * order. */
void *lz_array_at(const lz_array *a, const int64_t *index);
void *lz_array_at_flat(const lz_array *a, int64_t position);
void lz_array_index_of(const lz_array *a, int64_t position, int64_t index[LZ_MAX_DIMS]);

lz_scalar lz_array_get(const lz_array *a, int64_t position);
void lz_array_set(const lz_array *a, int64_t position, lz_scalar v); /* by the rules of convert.h */

/* Copies all elements of src, broadcast, to dst, by the rules of convert.h. The two may share memory: dst
 * gets what src held before. */
LZ_MUST_USE lz_err *lz_array_copy(const lz_array *src, const lz_array *dst);

/* How far two elements may differ. A float passes if |got - want| <= atol + rtol * |want|, or if they are at
 * most `ulps` numbers of the dtype apart; equal infinities pass, and NaNs if nan_equal. All other elements
 * must be equal. */
typedef struct lz_tolerance {
    double rtol, atol;
    uint64_t ulps;
    bool nan_equal;
} lz_tolerance;

/* f32: 1e-4 and 1e-5; f64: 1e-9; f16, bf16: two ulps. NaN equal. */
lz_tolerance lz_tolerance_of(lz_dtype d);

typedef struct lz_difference {
    int64_t count; /* elements that differ; 0 if dtypes or sizes differ */
    int64_t first; /* position in row-major order; -1: dtypes or sizes differ */
} lz_difference;

/* True if dtype and sizes are equal and all elements are within the tolerance. Otherwise describes the
 * difference in *out (may be NULL) and appends a sentence to the text (may be NULL). */
bool lz_array_equal(const lz_array *got, const lz_array *want, const lz_tolerance *t, lz_difference *out,
                    lz_text *why);

#endif
