/* saved_members.h - how an autograd node keeps a saved value, and how Python reads it.
 *
 * Tensors are kept as SavedVariable, which is unpacked before use and released after it; views are kept as
 * the containers that own their elements; the rest is kept as it is. */
#ifndef LZG_SAVED_MEMBERS_H
#define LZG_SAVED_MEMBERS_H

#include "gen/derivative/saved_variables.h"
#include "gen/text/snippet.h"

typedef enum lzg_keep {
    LZG_KEEP_VALUE,
    LZG_KEEP_VARIABLE,           /* SavedVariable */
    LZG_KEEP_VARIABLES,          /* a vector of them */
    LZG_KEEP_OPTIONAL_VARIABLES, /* the same for a list of optional tensors */
    LZG_KEEP_SCALARS,            /* a vector of Scalar, released with the tensors */
} lzg_keep;

typedef struct lzg_saved_form {
    const char *type; /* of the saved value */
    lzg_keep keep;
    const char *member;        /* its declaration, with $ for the name; NULL: type and name */
    const char *getter, *body; /* patterns for Python; NULL: Python cannot read it */
} lzg_saved_form;

/* An output of type Scalar is kept as a tensor. */
const lzg_saved_form *lzg_saved_form_of(lz_str type, bool is_output);

/* Adds "static PyObject* THP<node>_<name>_getter(...)" and, for tensors, the getter of the packed value to
 * `getters`, and their rows of the property table to `rows`. */
void lzg_saved_getters(lzg_snippets *s, lz_str node, const lzg_saved *saved, bool is_output,
                       lzg_pieces *getters, lzg_pieces *rows);

#endif
