/* lapack.h - finds LAPACK in a library. */
#ifndef LZ_KERNEL_LAPACK_H
#define LZ_KERNEL_LAPACK_H

#include "base/dl.h"

/* Called once, when OpenBLAS has been loaded. A library without LAPACK is no error. */
LZ_MUST_USE lz_err *lz_lapack_load(const lz_dl *dl);

#endif
