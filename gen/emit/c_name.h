/* c_name.h - names of operators, arguments and results that are valid in C and C++.
 *
 * An argument gets an underscore appended if its name is a keyword of either language, a macro of the
 * standard headers, or one of the names in every call. */
#ifndef LZG_C_NAME_H
#define LZG_C_NAME_H

#include "base/arena.h"
#include "base/err.h"
#include "base/map.h"

bool lzg_c_name_taken(lz_str name);
/* LZ_ERR_UNSUPPORTED if the name is no identifier even with an underscore. */
LZ_MUST_USE lz_err *lzg_c_name_of(lz_arena *a, lz_str name, lz_str *out);

/* Adds every identifier in the C file's code that begins with the prefix ("lz_") to names, without the
 * prefix; comments and strings are skipped. The arena owns the texts. */
LZ_MUST_USE lz_err *lzg_c_names_read(lz_arena *a, const char *path, lz_str prefix, lz_map *names);

#endif
