/* matrix_copy.h - copies a matrix with any strides into a dense one, column after column. */
#ifndef LZ_KERNEL_MATRIX_COPY_H
#define LZ_KERNEL_MATRIX_COPY_H

#include <stdbool.h>
#include <stdint.h>

typedef enum lz_matrix_part { LZ_MATRIX_ALL, LZ_MATRIX_LOWER, LZ_MATRIX_UPPER } lz_matrix_part;

/* Strides in elements. */
typedef struct lz_matrix_from {
    const void *data;
    bool f64;
    int64_t rows, cols, row_stride, col_stride;
} lz_matrix_from;

/* Elements outside of the part become 0. to_f64: the copy is of double; otherwise it has the type of `from`.
 */
void lz_matrix_copy(const lz_matrix_from *from, lz_matrix_part part, bool to_f64, void *to);
/* Rounds n doubles to floats. */
void lz_matrix_narrow(const double *from, int64_t n, float *to);

#endif
