/* c_name.h - names of operators, arguments and results that C and C++ both take.
 *
 * An argument whose name is a word of either language, a macro of the standard headers,
 * or one of the names that every call has, gets an underscore behind it. */
#ifndef LZG_C_NAME_H
#define LZG_C_NAME_H

#include "base/arena.h"
#include "base/err.h"
#include "base/map.h"

bool lzg_c_name_taken(lz_str name);
/* LZ_ERR_UNSUPPORTED for what no underscore makes an identifier. */
LZ_MUST_USE lz_err *lzg_c_name_of(lz_arena *a, lz_str name, lz_str *out);

/* Puts every identifier lz_x that the header's code contains into names, without the
 * prefix; comments and strings do not count. The texts are the arena's. */
LZ_MUST_USE lz_err *lzg_c_names_read(lz_arena *a, const char *path, lz_map *names);

#endif
