#include "kernel/matrix_copy.h"
#include <string.h>

/* The rows of column `col` that belong to the part. */
static void part_rows(lz_matrix_part part, int64_t col, int64_t rows, int64_t *first, int64_t *end)
{
    *first = part == LZ_MATRIX_LOWER ? (col < rows ? col : rows) : 0;
    *end = part == LZ_MATRIX_UPPER && col + 1 < rows ? col + 1 : rows;
}

/* Squares of 4 x 4 elements are transposed in registers. A strip of four columns of the copy is written at a
 * time. */
typedef float four_floats __attribute__((vector_size(16), aligned(4), may_alias));
typedef double two_doubles __attribute__((vector_size(16), aligned(8), may_alias));

static void square_of_floats(const float *from, int64_t row, float *to, int64_t col)
{
    four_floats x[4], a, b, c, d;
    for (int i = 0; i < 4; i++)
        x[i] = *(const four_floats *)(from + i * row);
    a = __builtin_shufflevector(x[0], x[1], 0, 4, 1, 5);
    b = __builtin_shufflevector(x[2], x[3], 0, 4, 1, 5);
    c = __builtin_shufflevector(x[0], x[1], 2, 6, 3, 7);
    d = __builtin_shufflevector(x[2], x[3], 2, 6, 3, 7);
    *(four_floats *)to = __builtin_shufflevector(a, b, 0, 1, 4, 5);
    *(four_floats *)(to + col) = __builtin_shufflevector(a, b, 2, 3, 6, 7);
    *(four_floats *)(to + 2 * col) = __builtin_shufflevector(c, d, 0, 1, 4, 5);
    *(four_floats *)(to + 3 * col) = __builtin_shufflevector(c, d, 2, 3, 6, 7);
}

static void square_of_doubles(const double *from, int64_t row, double *to, int64_t col)
{
    for (int64_t i = 0; i < 4; i += 2)
        for (int64_t j = 0; j < 4; j += 2) {
            two_doubles x = *(const two_doubles *)(from + i * row + j);
            two_doubles y = *(const two_doubles *)(from + (i + 1) * row + j);
            *(two_doubles *)(to + j * col + i) = __builtin_shufflevector(x, y, 0, 2);
            *(two_doubles *)(to + (j + 1) * col + i) = __builtin_shufflevector(x, y, 1, 3);
        }
}

#define COPY(NAME, FROM, TO)                                                                                 \
    static void NAME(const lz_matrix_from *m, lz_matrix_part part, TO *to)                                   \
    {                                                                                                        \
        const FROM *x = m->data;                                                                             \
        for (int64_t j = 0; j < m->cols; j++) {                                                              \
            int64_t first, end;                                                                              \
            TO *col = to + j * m->rows;                                                                      \
            part_rows(part, j, m->rows, &first, &end);                                                       \
            for (int64_t i = 0; i < first; i++)                                                              \
                col[i] = 0;                                                                                  \
            for (int64_t i = first; i < end; i++)                                                            \
                col[i] = (TO)x[i * m->row_stride + j * m->col_stride];                                       \
            for (int64_t i = end; i < m->rows; i++)                                                          \
                col[i] = 0;                                                                                  \
        }                                                                                                    \
    }

COPY(copy_floats, float, float)
COPY(copy_doubles, double, double)
COPY(copy_widening, float, double)

static void copy_rest(const lz_matrix_from *m, lz_matrix_part part, bool to_f64, void *to)
{
    if (!m->f64 && to_f64)
        copy_widening(m, part, to);
    else if (m->f64)
        copy_doubles(m, part, to);
    else
        copy_floats(m, part, to);
}

/* Zeros what the squares on the diagonal have copied outside of the part, and what no square has reached. */
static void clear_outside(const lz_matrix_from *m, lz_matrix_part part, char *to)
{
    size_t size = m->f64 ? sizeof(double) : sizeof(float);
    for (int64_t j = 0; j < m->cols; j++) {
        int64_t first, end;
        char *col = to + (size_t)(j * m->rows) * size;
        part_rows(part, j, m->rows, &first, &end);
        memset(col, 0, (size_t)first * size);
        memset(col + (size_t)end * size, 0, (size_t)(m->rows - end) * size);
    }
}

enum { LINE = 64 };

static void transpose_square(const lz_matrix_from *m, int64_t i, int64_t j, char *to)
{
    int64_t from = i * m->row_stride + j, at = j * m->rows + i;
    if (m->f64)
        square_of_doubles((const double *)m->data + from, m->row_stride, (double *)(void *)to + at, m->rows);
    else
        square_of_floats((const float *)m->data + from, m->row_stride, (float *)(void *)to + at, m->rows);
}

/* A tile has the rows and columns of one cache line, so that each line is read and written at once. The
 * processor does not foresee that the next tile is needed: it lies below this one. */
static void transpose_tile(const lz_matrix_from *m, int64_t row, int64_t col, char *to)
{
    int64_t size = m->f64 ? sizeof(double) : sizeof(float), edge = LINE / size;
    int64_t end_row = row + edge < m->rows ? row + edge : m->rows,
            end_col = col + edge < m->cols ? col + edge : m->cols;
    const char *next = (const char *)m->data + ((row + edge) * m->row_stride + col) * size;
    for (int64_t i = 0; i < edge && row + edge + i < m->rows; i++)
        __builtin_prefetch(next + i * m->row_stride * size);
    for (int64_t i = row; i < end_row; i += 4)
        for (int64_t j = col; j < end_col; j += 4)
            transpose_square(m, i, j, to);
}

static bool is_outside(lz_matrix_part part, int64_t i, int64_t j, int64_t edge)
{
    return part == LZ_MATRIX_LOWER ? i + edge <= j : part == LZ_MATRIX_UPPER && j + edge <= i;
}

/* Of a matrix with multiples of 4 rows and columns, stored row after row: only the squares that touch the
 * part. */
static void transpose(const lz_matrix_from *m, lz_matrix_part part, char *to)
{
    int64_t edge = LINE / (m->f64 ? (int64_t)sizeof(double) : (int64_t)sizeof(float));
    for (int64_t j = 0; j < m->cols; j += edge)
        for (int64_t i = 0; i < m->rows; i += edge)
            if (!is_outside(part, i, j, edge))
                transpose_tile(m, i, j, to);
    if (part != LZ_MATRIX_ALL)
        clear_outside(m, part, to);
}

void lz_matrix_copy(const lz_matrix_from *from, lz_matrix_part part, bool to_f64, void *to)
{
    bool same = from->f64 == to_f64, fours = from->rows % 4 == 0 && from->cols % 4 == 0;
    size_t size = from->f64 ? sizeof(double) : sizeof(float);
    if (same && part == LZ_MATRIX_ALL && from->row_stride == 1 && from->col_stride == from->rows)
        memcpy(to, from->data, (size_t)(from->rows * from->cols) * size);
    else if (same && from->col_stride == 1 && fours)
        transpose(from, part, to);
    else
        copy_rest(from, part, to_f64, to);
}

void lz_matrix_narrow(const double *from, int64_t n, float *to)
{
    for (int64_t i = 0; i < n; i++)
        to[i] = (float)from[i];
}
