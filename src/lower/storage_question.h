/* storage_question.h - operators that ask where a tensor lies in its storage: storage_offset, stride.int,
 * is_set_to. Graphs know neither an offset nor the stride of a dimension of size 1. Defined in
 * prim_storage.c. */
#ifndef LZ_LOWER_STORAGE_QUESTION_H
#define LZ_LOWER_STORAGE_QUESTION_H

#include "lower/layout.h"

/* Where a tensor lies. */
typedef struct lz_storage_place {
    const void *storage;
    int64_t offset; /* in elements */
    lz_ints sizes, strides;
} lz_storage_place;

/* The arguments of a question: a tensor, and another one or a dimension. */
typedef struct lz_storage_asked {
    lz_storage_place place[2];
    int64_t dim;
} lz_storage_asked;

/* Whether op is such a question: it uses the storage, and its result is no tensor. */
bool lz_op_asks_storage(const lz_op_row *op);

/* The answer, an int or a bool. */
LZ_MUST_USE lz_err *lz_storage_answer(const lz_op_row *op, const lz_storage_asked *in, lz_scalar *out);

#endif
