/* xtensor.h - the tensors of the executor: a strided view of a storage that others may
 * share.
 *
 * Writing to a tensor gives its storage another buffer, so that whoever shares the
 * storage sees it and whoever holds the old buffer does not. Sizes, strides and dtype of
 * a tensor never change. */
#ifndef LZ_SCRIPT_XTENSOR_H
#define LZ_SCRIPT_XTENSOR_H

#include "core/array.h"
#include "graph/gvalue.h"

typedef struct lz_xstorage {
    atomic_uint count;
    lz_buffer *buffer; /* one count */
} lz_xstorage;

typedef struct lz_xtensor {
    lz_gv_tensor head;
    lz_xstorage *storage; /* one count */
    lz_dtype dtype;
    int64_t ndim, numel;
    int64_t offset;   /* in elements */
    int64_t *strides; /* behind the sizes */
    int64_t sizes[];
} lz_xtensor;

/* Takes over one count of the buffer, also when it fails. */
LZ_MUST_USE lz_err *lz_xstorage_create(lz_buffer *buffer, lz_xstorage **out);
lz_xstorage *lz_xstorage_retain(lz_xstorage *s);
void lz_xstorage_release(lz_xstorage *s);

/* A view; the storage gets one more count. */
LZ_MUST_USE lz_err *lz_xtensor_view(lz_xstorage *s, lz_dtype d, lz_ints sizes, lz_ints strides,
                                    int64_t offset, lz_gv *out);
/* A tensor with a storage of its own that looks at the array's buffer. */
LZ_MUST_USE lz_err *lz_xtensor_of_array(const lz_array *a, lz_gv *out);

bool lz_gv_is_xtensor(lz_gv v);
static inline lz_xtensor *lz_xtensor_of(lz_gv v)
{
    return (lz_xtensor *)v.tensor;
}

/* ARRAYs, also those within lists, tuples and dicts, become tensors of the executor. */
LZ_MUST_USE lz_err *lz_gv_adopt(lz_gv *v);

#endif
