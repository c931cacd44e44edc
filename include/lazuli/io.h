/* io.h - files of many named tensors: NumPy's .npz and safetensors.
 *
 * An archive is open for reading and never changes. Its file is mapped: opening an archive
 * reads only names, dtypes and sizes. Tensors of safetensors use the mapped memory, which
 * lives as long as the last of these tensors. So do not write into an open file (the save functions
 * replace files, which is safe). An error names the file, the member and the byte offset;
 * after an error nothing stays open. */
#ifndef LAZULI_IO_H
#define LAZULI_IO_H

#include <lazuli/array.h>
#include <lazuli/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct lz_archive lz_archive;

/* Recognises the format by the first bytes of the file. */
LZ_API LZ_MUST_USE lz_err *lz_archive_read(const char *path, lz_archive **out);
/* Like lz_archive_read, for programs with a context: NULL after an error, which is in the context. */
LZ_API lz_archive *lz_archive_open(lz_ctx *c, const char *path);
LZ_API void lz_archive_close(lz_archive *a); /* tensors and arrays stay; NULL does nothing */

LZ_API const char *lz_archive_format(const lz_archive *a); /* "npz", "safetensors" */
LZ_API size_t lz_archive_count(const lz_archive *a);
/* Texts and sizes live as long as the archive. NULL, an archive that could not be opened, counts as empty:
 * its functions return "", LZ_DTYPE_NONE, or an empty list. */
LZ_API const char *lz_archive_name(const lz_archive *a, size_t i);
LZ_API lz_dtype lz_archive_dtype(const lz_archive *a, size_t i); /* LZ_DTYPE_NONE: not a dtype of Lazuli */
LZ_API lz_ints lz_archive_sizes(const lz_archive *a, size_t i);
LZ_API size_t lz_archive_find(const lz_archive *a, const char *name); /* SIZE_MAX: there is none */

/* The metadata of a safetensors file, in the order of the file. */
typedef struct lz_metadata {
    const char *key, *value;
} lz_metadata;

LZ_API size_t lz_archive_metadata_count(const lz_archive *a);
LZ_API lz_metadata lz_archive_metadata_at(const lz_archive *a, size_t i);
LZ_API const char *lz_archive_metadata(const lz_archive *a, const char *key); /* NULL: there is none */

LZ_API LZ_MUST_USE lz_err *lz_archive_array(const lz_archive *a, size_t i, lz_array **out);
LZ_API lz_tensor *lz_archive_tensor(lz_ctx *c, const lz_archive *a, const char *name);
/* All tensors, in order; out has room for lz_archive_count. The names belong to the archive. */
LZ_API bool lz_archive_tensors(lz_ctx *c, const lz_archive *a, lz_named_tensor *out);

/* ---- NumPy's .npy: one tensor ---- */

LZ_API lz_tensor *lz_load_npy(lz_ctx *c, const char *path); /* inert after an error */
LZ_API bool lz_save_npy(lz_tensor *t, const char *path);    /* a sync; replaces a file as below */
LZ_API lz_tensor *lz_load_npy_at(lz_ctx *c, lz_loc at, const char *path);
LZ_API bool lz_save_npy_at(lz_tensor *t, lz_loc at, const char *path);
#define lz_load_npy(c, path) lz_load_npy_at((c), LZ_HERE, (path))
#define lz_save_npy(t, path) lz_save_npy_at((t), LZ_HERE, (path))

/* ---- saving ---- */

/* One sync for all tensors. The file appears, or replaces an existing file, only when it is complete
 * and on the disk. An error before anything is written: names that are empty, not UTF-8, or not unique;
 * dtypes that the format does not have (npz: bf16, c32; safetensors: c32, c128). */
LZ_API bool lz_save_safetensors(lz_ctx *c, const char *path, lz_named_tensors tensors,
                                const lz_metadata *metadata, size_t n);
LZ_API bool lz_save_npz(lz_ctx *c, const char *path, lz_named_tensors tensors);

/* A checkpoint, from which a run can be continued: tensors, the number of the step and the state of the
 * random generator, in one safetensors file. lz_open_checkpoint sets the random state of the context; its
 * `step` may be NULL. */
LZ_API bool lz_save_checkpoint(lz_ctx *c, const char *path, lz_named_tensors tensors, int64_t step);
LZ_API lz_archive *lz_open_checkpoint(lz_ctx *c, const char *path, int64_t *step);

/* The save functions with a source line, as in tensor.h. */
LZ_API bool lz_save_safetensors_at(lz_ctx *c, lz_loc at, const char *path, lz_named_tensors tensors,
                                   const lz_metadata *metadata, size_t n);
LZ_API bool lz_save_npz_at(lz_ctx *c, lz_loc at, const char *path, lz_named_tensors tensors);
LZ_API bool lz_save_checkpoint_at(lz_ctx *c, lz_loc at, const char *path, lz_named_tensors tensors,
                                  int64_t step);
#define lz_save_safetensors(c, ...) lz_save_safetensors_at((c), LZ_HERE, __VA_ARGS__)
#define lz_save_npz(c, ...)         lz_save_npz_at((c), LZ_HERE, __VA_ARGS__)
#define lz_save_checkpoint(c, ...)  lz_save_checkpoint_at((c), LZ_HERE, __VA_ARGS__)

#ifdef __cplusplus
}
#endif
#endif
