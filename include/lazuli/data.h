/* data.h - batches of a data set: which elements come next.
 *
 *     lz_loader *l = lz_loader_create(c, 60000, .batch = 64, .shuffle = true, .seed = 1);
 *     for (int epoch = 0; epoch < 10; epoch++)
 *         for (lz_tensor *i; (i = lz_loader_next(l));) {
 *             lz_tensor *x = lz_index_select(c, images, 0, i), *y = lz_index_select(c, labels, 0, i);
 *             ...
 *         }
 *     lz_loader_free(l);
 *
 * The order of an epoch depends only on the seed and the number of the epoch, on every machine. A run that
 * is continued in another process calls lz_loader_seek. */
#ifndef LAZULI_DATA_H
#define LAZULI_DATA_H

#include <lazuli/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct lz_loader lz_loader;

typedef struct lz_loader_options {
    int64_t batch;  /* elements of a batch; at least 1 */
    bool shuffle;   /* another order in each epoch; otherwise 0, 1, 2, ... */
    bool drop_last; /* leaves out the last batch if it is shorter */
    uint64_t seed;  /* of the orders */
} lz_loader_options;

/* A loader of n elements. On failure NULL, with the error in the context. NULL is a loader without
 * batches. */
#define lz_loader_create(c, ...)                                                                             \
    LZ_CALL(lz_loader_create_at((c), LZ_HERE, LZ_LAST(__VA_ARGS__),                                          \
                                &(const lz_loader_options){ .batch = 1, LZ_KEYWORDS(__VA_ARGS__) }))
LZ_API lz_loader *lz_loader_create_at(lz_ctx *c, lz_loc at, int64_t n, const lz_loader_options *options);
LZ_API void lz_loader_free(lz_loader *l); /* call it before the context is closed; NULL does nothing */

/* Indices of the next batch, i64; the tensor belongs to the current scope. NULL: the epoch is over, and the
 * next call begins another; or an error, which is in the context. */
LZ_API lz_tensor *lz_loader_next(lz_loader *l);

LZ_API int64_t lz_loader_batches(const lz_loader *l); /* number of batches in an epoch */
LZ_API int64_t lz_loader_epoch(const lz_loader *l);   /* the epoch of the next batch, from 0 */
LZ_API int64_t lz_loader_batch(const lz_loader *l);   /* the number of the next batch in its epoch */
/* Sets the next batch. false, with the error in the context: the batch does not exist. */
LZ_API bool lz_loader_seek(lz_loader *l, int64_t epoch, int64_t batch);

#ifdef __cplusplus
}
#endif
#endif
