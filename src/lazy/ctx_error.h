/* ctx_error.h - the first error of a context. */
#ifndef LZ_LAZY_CTX_ERROR_H
#define LZ_LAZY_CTX_ERROR_H

#include "base/err.h"
#include <lazuli/schema.h>

/* Keeps the first error, frees the others. */
void lz_ctx_fail(lz_ctx *c, lz_loc at, lz_err *e);
/* Reports the error of a call on line `at` to the context; true: e is NULL. An error that has a line of its
 * own, like that of an operator that fails while a graph runs, keeps that line. */
bool lz_ctx_report(lz_ctx *c, lz_loc at, lz_err *e);
/* Removes the context's error and returns it; NULL: there is none. For code that calls functions of the
 * program, which report errors through the context. */
LZ_MUST_USE lz_err *lz_ctx_take_error(lz_ctx *c);

#endif
