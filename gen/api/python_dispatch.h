/* python_dispatch.h - from parsed Python arguments to the C++ function.
 *
 * The binding parses, unpacks each argument with an accessor, and calls the operator
 * through a lambda whose parameters are the C++ ones. What has no such way is refused. */
#ifndef LZG_API_PYTHON_DISPATCH_H
#define LZG_API_PYTHON_DISPATCH_H

#include "gen/api/python.h"

/* What the lambda returns, written tensors by value. A type that the wrapper cannot make a
 * Python object of is refused. */
LZ_MUST_USE lz_err *lzg_python_lambda_return(lz_arena *a, const lzg_ops *ops, const lzg_function *f,
                                             lz_str *out);

/* NULL if a call parsed by sig can be handed to f. */
LZ_MUST_USE lz_err *lzg_python_check_dispatch(lz_arena *a, const lzg_ops *ops, const lzg_py_signature *sig,
                                              const lzg_function *f);

#endif
