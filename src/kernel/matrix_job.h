/* matrix_job.h - one matrix of a batch, as the routines of core/matrix_routine.h get it.
 *
 * All matrices of a job are dense and stored column after column, those of LZ_ROUTINE_CHOLESKY row after row.
 * A routine reads its operands, may write over them only where its row in matrices.c says that they are
 * copies, and fills its results. Each row has two functions: one calls LAPACK, for float or double; one is
 * plain code, for double alone. */
#ifndef LZ_KERNEL_MATRIX_JOB_H
#define LZ_KERNEL_MATRIX_JOB_H

#include "core/matrix_routine.h"

typedef struct lz_matrix_job {
    const lz_routine_call *call;
    bool f64;
    bool by_rows; /* operand 0 is stored row after row: only where matrices.c allows it */
    void *in[LZ_ROUTINE_INS];
    void *out[LZ_ROUTINE_OUTS];
    void *work;   /* as many numbers as the routine asked for */
    int64_t room; /* that many */
    int32_t *ints;
    int info; /* 0, or what the routine says */
} lz_matrix_job;

typedef void lz_matrix_fn(lz_matrix_job *j);
/* Numbers, and 32-bit integers, that the routine needs beside its arrays. */
typedef void lz_matrix_room_fn(const lz_routine_call *c, bool f64, int64_t *numbers, int64_t *ints);

typedef struct lz_matrix_code {
    lz_matrix_fn *run;
    lz_matrix_room_fn *room; /* NULL: none */
} lz_matrix_code;

/* LAPACK of OpenBLAS, by routine; run NULL: only the plain code exists. */
const lz_matrix_code *lz_lapack_code(lz_routine r);
/* Loads it at the first call. False: it is absent, or LAZULI_BLAS=own. */
bool lz_lapack_has(void);
bool lz_lapack_enter(void); /* false: memory is short, or the process exits */
void lz_lapack_leave(void);

/* The plain code; jobs are of double. */
const lz_matrix_code *lz_matrix_plain(lz_routine r);

#endif
