/* c_default.h - a schema's defaults as C initialisers.
 *
 * The schema language does not parse defaults. This module parses a default by the type of its
 * argument, and refuses a default that does not fit the type. */
#ifndef LZG_C_DEFAULT_H
#define LZG_C_DEFAULT_H

#include "gen/emit/c_type.h"

typedef struct lzg_c_default {
    bool none;    /* None for an option */
    lz_str init;  /* of the C type, at file scope: "1", "{ LZ_SCALAR_INT, 1, 0, 0 }" */
    lz_str value; /* of the member of lz_value; empty for None */
} lzg_c_default;

/* LZ_ERR_UNSUPPORTED if text is no value of the type. */
LZ_MUST_USE
lz_err *lzg_c_default_read(lz_arena *a, lz_str text, const lzg_type *t, lzg_c_type c, lzg_c_default *out);

#endif
