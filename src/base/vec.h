/* vec.h - a growing array of any type, in the caller's storage.
 *
 *     LZ_VEC(int) v = { 0 };
 *     LZ_TRY(lz_vec_push(&v, 7));      v.data[0], v.len
 *     lz_vec_deinit(&v);
 * A failed push leaves the vector as it was. */
#ifndef LZ_BASE_VEC_H
#define LZ_BASE_VEC_H

#include "base/err.h"

#define LZ_VEC(T)                                                                                            \
    struct {                                                                                                 \
        T *data;                                                                                             \
        size_t len, cap;                                                                                     \
    }

/* Room for `extra` more elements. `vec` is any LZ_VEC. */
#define lz_vec_reserve(v, extra) lz_vec_grow((v), sizeof *(v)->data, (extra))
#define lz_vec_push(v, ...)                                                                                  \
    __extension__({                                                                                          \
        lz_err *lz_vec_err_ = (v)->len < (v)->cap ? NULL : lz_vec_reserve((v), 1);                           \
        if (!lz_vec_err_)                                                                                    \
            (v)->data[(v)->len++] = (__VA_ARGS__);                                                           \
        lz_vec_err_;                                                                                         \
    })
#define lz_vec_deinit(v) lz_vec_free((v))

LZ_MUST_USE lz_err *lz_vec_grow(void *vec, size_t elem, size_t extra);
void lz_vec_free(void *vec);

#endif
