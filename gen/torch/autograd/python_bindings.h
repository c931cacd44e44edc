/* python_bindings.h - the functions that Python calls, in C++: each parses its arguments, chooses the
 * overload and calls it without Python's lock.
 *
 * Results with named fields are struct sequences; their types are made in python_return_types. */
#ifndef LZG_PYTHON_BINDINGS_H
#define LZG_PYTHON_BINDINGS_H

#include "gen/text/snippet.h"
#include "gen/torch/gen_python_functions.h"

typedef struct lzg_binding_text {
    lz_str forward; /* declaration; empty for methods */
    lz_str method;  /* definition */
    lz_str row;     /* of the table of methods */
} lzg_binding_text;

LZ_MUST_USE
lz_err *lzg_python_binding_print(lzg_snippets *s, const lzg_ops *ops, const lzg_py_name *name,
                                 lzg_binding_text *out);

/* The types of struct sequences that functions of one name return: a list of each kind of text. */
typedef struct lzg_return_types {
    lz_str definitions, registrations, declarations;
} lzg_return_types;

LZ_MUST_USE
lz_err *lzg_python_return_types(lzg_snippets *s, const lzg_py_group *group, lzg_return_types *out);

/* Types by function name and fields: the first function with a new combination makes a new type. */
typedef struct lzg_structseqs {
    lzg_pieces keys;    /* "max_values_indices" */
    lzg_pieces types;   /* "NamedTuple", "NamedTuple1", ... */
    lzg_pieces getters; /* "max": the function that made it */
} lzg_structseqs;

LZ_MUST_USE
lz_err *lzg_structseqs_find(lzg_snippets *s, const lzg_function *const *functions, size_t n,
                            lzg_structseqs *out);
/* The type of the function's result; empty: no struct sequence. */
LZ_MUST_USE
lz_err *lzg_structseq_type(lzg_snippets *s, const lzg_structseqs *all, const lzg_function *f, lz_str *out);

/* The statements of one overload (python_call.c): from parsed arguments to a Python object. */
LZ_MUST_USE
lz_err *lzg_python_call(lzg_snippets *s, const lzg_ops *ops, const lzg_py_signature *sig,
                        const lzg_function *f, lz_str structseq, lz_str *out);

#endif
