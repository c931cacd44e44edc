/* array.h - arrays in host memory: inputs and results of graphs.
 *
 * An array is counted: release each array that you created or retained. Its dtype, sizes and
 * strides never change, and it can be shared between threads. Strides are in elements. */
#ifndef LAZULI_ARRAY_H
#define LAZULI_ARRAY_H

#include <lazuli/value.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct lz_array lz_array;

/* New memory, row-major, all zeros. */
LZ_API LZ_MUST_USE lz_err *lz_array_create(lz_dtype dtype, lz_ints sizes, lz_array **out);

typedef void lz_array_drop_fn(void *user, void *data);

/* Memory of the program. */
typedef struct lz_foreign {
    void *data; /* the element with all indices 0; aligned as its C type requires */
    lz_dtype dtype;
    lz_ints sizes;
    lz_ints strides; /* may be 0 or negative; v NULL: row-major */
    bool read_only;
    lz_array_drop_fn *drop; /* called once, when the library no longer uses the memory; may be NULL */
    void *user;
} lz_foreign;

/* The memory stays where it is. On failure drop is not called. */
LZ_API LZ_MUST_USE lz_err *lz_array_wrap(const lz_foreign *memory, lz_array **out);

LZ_API lz_array *lz_array_retain(lz_array *a); /* returns a */
LZ_API void lz_array_release(lz_array *a);     /* NULL does nothing */

LZ_API lz_dtype lz_array_dtype(const lz_array *a);
LZ_API lz_ints lz_array_sizes(const lz_array *a);
LZ_API lz_ints lz_array_strides(const lz_array *a);
LZ_API int64_t lz_array_numel(const lz_array *a);
LZ_API void *lz_array_data(const lz_array *a); /* the element with all indices 0 */
LZ_API bool lz_array_is_contiguous(const lz_array *a);

/* One element, by its position in row-major order. LZ_ERR_ARG: there is no such element. */
LZ_API LZ_MUST_USE lz_err *lz_array_element(const lz_array *a, int64_t position, lz_scalar *out);

/* NumPy's .npy files. The format has no bf16. An error names the file and the byte offset. */
LZ_API LZ_MUST_USE lz_err *lz_array_load(const char *path, lz_array **out);
LZ_API LZ_MUST_USE lz_err *lz_array_save(const char *path, const lz_array *a);

/* The array as PyTorch prints it: tensor([1.0000, 2.5000]). The text belongs to the array and is valid until
 * the next lz_array_text or the array's release. Not thread-safe for one array. */
LZ_API LZ_MUST_USE lz_err *lz_array_text(lz_array *a, lz_str *out);

LZ_API const char *lz_dtype_name(lz_dtype d); /* "float32"; NULL: there is no such dtype */

#ifdef __cplusplus
}
#endif
#endif
