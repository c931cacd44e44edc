/* python_order.h - the order in which Python tries overloads.
 *
 * Overloads are in the order of their strings, with one exception: an overload that would also accept
 * another's arguments comes after the other. A number converts to a Tensor, and a Tensor without
 * dimensions to a number; the Tensor form has precedence. */
#ifndef LZG_API_PYTHON_ORDER_H
#define LZG_API_PYTHON_ORDER_H

#include "gen/api/python.h"

typedef struct lzg_py_overload {
    const lzg_py_signature *sig;     /* parses for both */
    const lzg_function *base, *out;  /* out: or NULL */
    lz_str text;                     /* the parser's string */
    size_t place;                    /* among the overloads as they were found */
    const struct lzg_deprecated *by; /* the entry that asked for it, or NULL */
} lzg_py_overload;

/* Whether a has lower priority than b; they must not differ otherwise. */
bool lzg_python_smaller(const lzg_py_signature *a, const lzg_py_signature *b);

LZ_MUST_USE lz_err *lzg_python_sort(lz_arena *scratch, lzg_py_overload *overloads, size_t n);

#endif
