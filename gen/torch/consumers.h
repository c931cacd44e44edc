/* consumers.h - checks whether each consumer of the model accepts the operators.
 *
 * Every check walks all functions or groups as that consumer does and reports its refusals to the diag,
 * at the entry and with its schema. The checks expect a model that was loaded and grouped without
 * findings. */
#ifndef LZG_CONSUMERS_H
#define LZG_CONSUMERS_H

#include "gen/model/model.h"

/* The public C++ API: signatures, methods, calls into the dispatcher. */
LZ_MUST_USE lz_err *lzg_check_cpp(const lzg_ops *ops, lzg_diag *d);
/* Declarations of native kernels. */
LZ_MUST_USE lz_err *lzg_check_native(const lzg_ops *ops, lzg_diag *d);
/* Wrappers and registrations for every dispatch key. */
LZ_MUST_USE lz_err *lzg_check_register(const lzg_ops *ops, lzg_diag *d);
/* Functionalization of views and writes. */
LZ_MUST_USE lz_err *lzg_check_functionalize(const lzg_ops *ops, lzg_diag *d);
/* Kernels from inner loops. */
LZ_MUST_USE lz_err *lzg_check_ufunc(const lzg_ops *ops, lzg_diag *d);

#endif
