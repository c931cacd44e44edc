/* storage_question.h - operators that ask where a tensor lies in its storage: storage_offset, is_set_to.
 * Defined in prim_storage.c. */
#ifndef LZ_LOWER_STORAGE_QUESTION_H
#define LZ_LOWER_STORAGE_QUESTION_H

#include "lower/layout.h"

/* Where a tensor lies. */
typedef struct lz_storage_place {
    const void *storage;
    int64_t offset; /* in elements */
    lz_ints sizes, strides;
} lz_storage_place;

/* Whether op is such a question: it uses the storage, and its result is no tensor. */
bool lz_op_asks_storage(const lz_op_row *op);

/* The answer, an int or a bool. in: the tensor, and the other one where the operator compares. */
lz_scalar lz_storage_answer(const lz_op_row *op, const lz_storage_place *in);

#endif
