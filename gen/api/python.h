/* python.h - Python signatures of operators.
 *
 * A schema becomes positional arguments, keyword arguments, at most one `out` and, for
 * factories, the scattered fields of TensorOptions. The same signature prints as the
 * string that the argument parser reads and as a line of a type stub. */
#ifndef LZG_API_PYTHON_H
#define LZG_API_PYTHON_H

#include "gen/model/model.h"

typedef struct lzg_py_argument {
    lz_str name;
    const lzg_type *type;
    lz_str deflt; /* ptr NULL: none */
    lz_str init;  /* C++ that computes an absent one; ptr NULL: none */
} lzg_py_argument;

typedef struct lzg_py_signature {
    lz_str name;
    const lzg_schema *schema;
    const lzg_py_argument *args; /* positional, keyword, out, tensor options */
    size_t n;                    /* all of them */
    size_t npositional;
    size_t ninputs;                 /* positional and keyword: the position of out */
    bool has_out;                   /* args[ninputs] is out */
    const lzg_py_argument *outputs; /* what it holds: several are packed into one list */
    size_t noutputs;
    bool method; /* self is not among the arguments */
    bool deprecated;
    const lz_str *call; /* deprecated: the arguments passed on, names or constants */
    size_t ncall;
} lzg_py_signature;

/* category: the entry's category_override. */
LZ_MUST_USE lz_err *lzg_python_signature(lz_arena *a, const lzg_schema *s, lz_str category, bool method,
                                         lzg_py_signature *out);

/* `with` parses for both of a pair that differs in out alone; its options are the base's. */
LZ_MUST_USE lz_err *lzg_python_merge(lz_arena *a, const lzg_py_signature *base, const lzg_py_signature *with,
                                     lzg_py_signature *out);

typedef struct lzg_py_form {
    bool skip_outputs;
    bool nosymint;
} lzg_py_form;

/* "add(Tensor input, Tensor other, *, Scalar alpha=1, Tensor out=None)", "...|deprecated" */
LZ_MUST_USE lz_err *lzg_python_print(const lzg_py_signature *sig, lzg_py_form form, lz_text *out);

/* "def add(input: Tensor, ...) -> Tensor: ...", wrapped at 80 columns. */
LZ_MUST_USE lz_err *lzg_python_print_pyi(lz_arena *a, const lzg_py_signature *sig, bool skip_outputs,
                                         lz_text *out);
/* The same with the one list of ints spread, "*size: _int"; *has says whether there is such a form. */
LZ_MUST_USE lz_err *lzg_python_print_pyi_vararg(lz_arena *a, const lzg_py_signature *sig, bool skip_outputs,
                                                lz_text *out, bool *has);

/* Named fields of the returned struct sequence, *out of them: all returns or none. Some
 * named and some not is refused. */
LZ_MUST_USE lz_err *lzg_python_fields(const lzg_schema *s, size_t *out);
/* Its class in a stub; nothing if there are no fields. */
LZ_MUST_USE lz_err *lzg_python_print_structseq(lz_arena *a, const lzg_py_signature *sig, lz_text *out);

#endif
