/* dump_derivatives.h - derivatives as canonical JSON lines: one object per operator
 * and autograd key, sorted by both, keys sorted, ASCII, no spaces. */
#ifndef LZG_DUMP_DERIVATIVES_H
#define LZG_DUMP_DERIVATIVES_H

#include "base/text.h"
#include "gen/derivative/load_derivatives.h"

/* Loads the file and prints it; mistakes in it are one error with all of them. */
LZ_MUST_USE
lz_err *lzg_dump_derivatives(const lzg_ops *ops, const char *path, lz_text *out);
LZ_MUST_USE
lz_err *lzg_derivatives_print(lzg_derivatives *t, lz_text *out);

#endif
