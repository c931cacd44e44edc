/* script_tensor.h - the tensors of TorchScript graphs: a strided view of a storage that others may share.
 *
 * The storage is core's (storage.h): writing to a tensor gives its storage another buffer. Operators such as
 * t_ change a tensor's view of its storage, for all holders of the tensor. While a graph is functionalized
 * there are also described tensors: their storage has no buffer, so they have sizes and strides, but no
 * elements. */
#ifndef LZ_SCRIPT_SCRIPT_TENSOR_H
#define LZ_SCRIPT_SCRIPT_TENSOR_H

#include "core/storage.h"
#include "core/strided_array.h"
#include "graph/script_value.h"

typedef struct lz_script_tensor {
    lz_script_value_tensor head;
    lz_storage *storage; /* one count */
    lz_spec *spec;       /* belongs to the tensor */
    int64_t offset;      /* in elements */
} lz_script_tensor;

/* A view; the storage gets one more count. */
LZ_MUST_USE lz_err *lz_script_tensor_view(lz_storage *s, const lz_spec *spec, int64_t offset,
                                          lz_script_value *out);
/* As lz_script_tensor_view, but in a struct of `size` bytes that begins with an lz_script_tensor. The other
 * bytes are zero. */
LZ_MUST_USE lz_err *lz_script_tensor_extend(size_t size, lz_storage *s, const lz_spec *spec, int64_t offset,
                                            lz_script_value *out);
/* Changes the tensor's view of its storage; takes the spec over. */
void lz_script_tensor_set_view(lz_script_tensor *t, lz_spec *spec, int64_t offset);
/* A tensor with a storage of its own that shares the array's buffer. */
LZ_MUST_USE lz_err *lz_script_tensor_of_array(const lz_array *a, lz_script_value *out);
/* A row-major tensor with a storage of its own that has the buffer; takes over one count, also when it
 * fails. */
LZ_MUST_USE lz_err *lz_script_tensor_of_buffer(lz_buffer *buffer, lz_dtype d, lz_ints sizes,
                                               lz_script_value *out);

bool lz_is_script_tensor(lz_script_value v);
static inline lz_script_tensor *lz_script_tensor_of(lz_script_value v)
{
    return (lz_script_tensor *)v.tensor;
}

/* ARRAYs, also those within lists, tuples and dicts, become tensors of the executor. */
LZ_MUST_USE lz_err *lz_script_value_adopt(lz_script_value *v);

#endif
