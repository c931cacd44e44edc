/* python_dispatch.h - from parsed Python arguments to the C++ function.
 *
 * The binding parses, unpacks each argument with an accessor, and calls the operator through a lambda
 * whose parameters are the C++ ones. Arguments and results that cannot be converted in this way are
 * refused. */
#ifndef LZG_API_PYTHON_DISPATCH_H
#define LZG_API_PYTHON_DISPATCH_H

#include "gen/api/python.h"
#include "gen/api/types.h"

/* The return type of the lambda; written tensors are returned by value. A type is refused if the
 * wrapper cannot make a Python object from it. */
LZ_MUST_USE lz_err *lzg_python_lambda_return(lz_arena *a, const lzg_ops *ops, const lzg_function *f,
                                             lz_str *out);

/* The parameters of the lambda: those of f in C++, or of the deprecated schema. */
LZ_MUST_USE lz_err *lzg_python_lambda_arguments(lz_arena *a, const lzg_py_signature *sig,
                                                const lzg_function *f, lzg_bindings *out);

/* NULL if a call parsed by sig can be handed to f. */
LZ_MUST_USE lz_err *lzg_python_check_dispatch(lz_arena *a, const lzg_ops *ops, const lzg_py_signature *sig,
                                              const lzg_function *f);

#endif
