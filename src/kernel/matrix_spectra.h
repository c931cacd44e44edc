/* matrix_spectra.h - eigenvalues and singular values in plain code, by Jacobi's rotations. */
#ifndef LZ_KERNEL_MATRIX_SPECTRA_H
#define LZ_KERNEL_MATRIX_SPECTRA_H

#include "kernel/matrix_job.h"

lz_matrix_fn lz_plain_eigh, lz_plain_svd;
lz_matrix_room_fn lz_plain_eigh_room, lz_plain_svd_room;

#endif
