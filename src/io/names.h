/* names.h - names of tensors in files: UTF-8 without NUL, so that they are C strings. */
#ifndef LZ_IO_NAMES_H
#define LZ_IO_NAMES_H

#include "base/str.h"

enum { LZ_NAME_CHARS = 132 };

/* NULL: it can be a name; otherwise why not. */
const char *lz_name_wrong(lz_str name);

/* For messages: cut to what fits, and "?" for what a terminal would not print. Returns buf. */
const char *lz_name_print(lz_str name, char buf[LZ_NAME_CHARS]);

#endif
