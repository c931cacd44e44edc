/* names.h - names of tensors in files: UTF-8 without NUL, so that they are C strings. */
#ifndef LZ_IO_NAMES_H
#define LZ_IO_NAMES_H

#include "base/str.h"

enum { LZ_NAME_CHARS = 132 };

/* NULL if it can be a name, otherwise the reason why not. */
const char *lz_name_wrong(lz_str name);

/* For messages: truncates the name, and prints "?" for unprintable characters. Returns buf. */
const char *lz_name_print(lz_str name, char buf[LZ_NAME_CHARS]);

#endif
