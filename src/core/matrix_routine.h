/* matrix_routine.h - factorisations and solvers of matrices: the arrays that each routine takes and gives.
 *
 * A routine works on a batch: each of its arrays has the batch as first dimension. A routine gives up to
 * LZ_ROUTINE_OUTS arrays. The first is the result of a kernel call (LZ_CALL_MATRICES, lower.h); the others
 * lie behind it in the same buffer, each on an address that is a multiple of 64, and LZ_CALL_BESIDE copies
 * one of them. All are row-major.
 *
 * The sizes are formulas in letters, of which lz_routine_size gives the values:
 *   m n k   rows and columns of the first operand, and the smaller of the two
 *   r c     rows and columns of the last operand
 *   a       the first parameter
 *   u v     columns of U and rows of Vh in an SVD: none, k or all (parameter 0: 0, 1, 2)
 *   w       columns of the eigenvectors: n, or none if parameter 1 is 0 */
#ifndef LZ_CORE_MATRIX_ROUTINE_H
#define LZ_CORE_MATRIX_ROUTINE_H

#include "base/err.h"
#include <lazuli/value.h>
#include <stdbool.h>
#include <stddef.h>

typedef enum lz_routine {
    LZ_ROUTINE_CHOLESKY,         /* a = L L', or U' U; parameter: upper */
    LZ_ROUTINE_LU,               /* a = P L U */
    LZ_ROUTINE_SOLVE,            /* x of a x = b */
    LZ_ROUTINE_LU_SOLVE,         /* x of a x = b, or a' x = b; parameter: transposed */
    LZ_ROUTINE_QR,               /* Householder reflectors and R */
    LZ_ROUTINE_REFLECTORS,       /* the columns of Q that reflectors stand for */
    LZ_ROUTINE_REFLECT,          /* Q c, Q' c, c Q or c Q'; parameters: left, transposed */
    LZ_ROUTINE_EIGH,             /* eigenvalues, eigenvectors; parameters: upper, vectors */
    LZ_ROUTINE_SVD,              /* singular values, U, Vh; parameter: see u and v */
    LZ_ROUTINE_LDL,              /* a = L D L', of a symmetric matrix */
    LZ_ROUTINE_LDL_SOLVE,        /* x of a x = b */
    LZ_ROUTINE_TRIANGULAR_SOLVE, /* x of a x = b, or x a = b; parameters: upper, left, unit diagonal */
    LZ_ROUTINE_PERMUTATION,      /* i32: the order of a rows that exchanges of pairs of rows lead to */
    LZ_ROUTINE_SQUARE,           /* a to the power of 2 to the s */
    LZ_ROUTINES
} lz_routine;

enum { LZ_ROUTINE_INS = 3, LZ_ROUTINE_OUTS = 4, LZ_ROUTINE_FLAGS = 3 };

typedef enum lz_routine_kind {
    LZ_ROUTINE_NO_ARRAY,
    LZ_ROUTINE_MATRIX, /* rows, columns */
    LZ_ROUTINE_VECTOR, /* rows */
    LZ_ROUTINE_INTS,   /* a vector of i32 */
    LZ_ROUTINE_INFO,   /* one i32 for each matrix: 0, or why the routine failed */
} lz_routine_kind;

typedef struct lz_routine_array {
    lz_routine_kind kind;
    char rows, cols;
} lz_routine_array;

typedef struct lz_routine_row {
    const char *name;
    lz_routine_array in[LZ_ROUTINE_INS], out[LZ_ROUTINE_OUTS];
} lz_routine_row;

/* The numbers of a call: the parameters are routine, check, and the flags. check is 0, or 2 * lz_routine_api,
 * plus 1 if messages name the matrix of the batch. */
typedef struct lz_routine_call {
    lz_routine routine;
    int64_t check, flags[LZ_ROUTINE_FLAGS];
    int64_t batch, m, n, r, c;
} lz_routine_call;

enum { LZ_ROUTINE_PARAMS = 2 + LZ_ROUTINE_FLAGS };

const lz_routine_row *lz_routine_get(lz_routine r);
int lz_routine_ins(const lz_routine_row *row);

/* Reads the parameters and the sizes of the n operands. False: a number is out of range, or the operands do
 * not fit together. */
bool lz_routine_read(const int64_t *params, const lz_ints *in, int n, lz_routine_call *out);
int64_t lz_routine_size(const lz_routine_call *c, char letter);
/* The dimensions of result i as it lies in memory, in sizes[3]; returns how many there are. */
int lz_routine_sizes(const lz_routine_call *c, int i, int64_t sizes[3]);
lz_dtype lz_routine_dtype(const lz_routine_call *c, int i, lz_dtype real);
/* Where result i begins in the buffer; i one more than the last: the bytes of the buffer. */
size_t lz_routine_offset(const lz_routine_call *c, int i, lz_dtype real);

/* ---- failures ---- */

/* The number of a function of PyTorch whose errors a call reports. 0: the name is empty, nothing is reported;
 * -1: no such function. */
int64_t lz_routine_api(lz_str name);
/* PyTorch's error for info != 0 of a matrix; check is that of the call and not 0. */
LZ_ERROR lz_err *lz_routine_failed(int64_t check, int64_t element, int64_t info);

#endif
