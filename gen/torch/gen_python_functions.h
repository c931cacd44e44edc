/* gen_python_functions.h - the operators that Python has, their modules, and the order in which Python
 * tries the overloads of a name.
 *
 * An operator is bound in torch.Tensor (methods), in torch, or in the module that its entry names.
 * Overloads that differ only in out are one signature. The lzg_python owns everything; it may outlive
 * the files but not the operators. */
#ifndef LZG_GEN_PYTHON_FUNCTIONS_H
#define LZG_GEN_PYTHON_FUNCTIONS_H

#include "gen/api/python_order.h"
#include "gen/text/lists.h"
#include "gen/torch/deprecated.h"

typedef enum lzg_py_module { /* in the order of their names */
                             LZG_PY_TORCH,
                             LZG_PY_TENSOR,
                             LZG_PY_FFT,
                             LZG_PY_LINALG,
                             LZG_PY_NESTED,
                             LZG_PY_NN,
                             LZG_PY_SPARSE,
                             LZG_PY_SPECIAL,
                             LZG_PY_MODULE_COUNT
} lzg_py_module;
const char *lzg_py_module_name(lzg_py_module module); /* "torch.Tensor" */

typedef struct lzg_py_name { /* all that is bound to one name of one module */
    lzg_py_module module;
    lz_str name;
    const lzg_py_overload *overloads; /* in the order they are tried */
    size_t n;
    bool noarg;                     /* one overload, without arguments */
    size_t max_args;                /* of any one operator */
    const lzg_function **functions; /* of the overloads before they were joined, as they were found */
    size_t nfunctions;
    size_t place; /* among the names of the module, by first function */
} lzg_py_name;

/* The functions of one name, in order. */
typedef struct lzg_py_group {
    const lzg_function **functions;
    size_t n, room;
} lzg_py_group;

typedef struct lzg_python {
    const lzg_ops *ops;
    lz_arena arena;
    const lzg_function **functions; /* the bound ones, as ops has them */
    size_t nfunctions;
    lz_map bound; /* their schemas' texts */
    lzg_deprecated_list deprecated;
    const lzg_py_name *names; /* by module and name */
    size_t nnames, noverloads;
} lzg_python;

/* Finds the bound operators; call deinit in any case. */
LZ_MUST_USE lz_err *lzg_python_init(lzg_python *p, const lzg_ops *ops);
void lzg_python_deinit(lzg_python *p);
bool lzg_python_is_bound(const lzg_python *p, const lzg_function *f);

/* The functions of a module (LZG_PY_MODULE_COUNT: all of them), by name: name -> lzg_py_group *, in order of
 * first occurrence. The groups belong to the arena, the map is the caller's to deinit. */
LZ_MUST_USE lz_err *lzg_python_group(const lzg_python *p, lz_arena *a, lzg_py_module module, lz_map *out);

/* Makes the names. deprecated: the tree of that file, or NULL. Mistakes go into d; operators with a
 * mistake are left out. */
LZ_MUST_USE lz_err *lzg_python_load(lzg_python *p, const lzg_yaml *deprecated, lzg_diag *d);

/* After loading: whether every overload can call its operators. */
LZ_MUST_USE lz_err *lzg_python_check(lzg_python *p, lzg_diag *d);

/* All of it for operators alone; and for a file of deprecated signatures up to those. */
LZ_MUST_USE lz_err *lzg_check_python(const lzg_ops *ops, lzg_diag *d);
LZ_MUST_USE lz_err *lzg_check_deprecated(const lzg_ops *ops, const lzg_yaml *deprecated, lzg_diag *d);

#endif
