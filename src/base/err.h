/* err.h - making and passing on errors.
 *
 * A fallible function returns lz_err *, NULL for success. The error belongs to
 * whoever receives it. When even the error cannot be allocated, the one static
 * out-of-memory error stands in; freeing it does nothing. */
#ifndef LZ_BASE_ERR_H
#define LZ_BASE_ERR_H

#include <lazuli/base.h>
#include <stdarg.h>

/* Makers never return NULL: a compiler that knows it sees that an error path is one. */
#define LZ_ERROR LZ_MUST_USE __attribute__((returns_nonnull))

LZ_ERROR lz_err *lz_errf(lz_code code, const char *fmt, ...) LZ_PRINTF(2, 3);
LZ_ERROR lz_err *lz_err_at(lz_code code, lz_loc loc, const char *fmt, ...) LZ_PRINTF(3, 4);
LZ_ERROR lz_err *lz_err_vat(lz_code code, lz_loc loc, const char *fmt, va_list ap) LZ_PRINTF(3, 0);

/* The static error. */
LZ_ERROR lz_err *lz_err_oom(void);

/* "context: cause", with the cause's code and location; takes the cause. NULL stays NULL. */
LZ_MUST_USE lz_err *lz_err_wrap(lz_err *cause, const char *fmt, ...) LZ_PRINTF(2, 3);

/* "operation path: reason of errno" as LZ_ERR_IO, or LZ_ERR_NOT_FOUND for ENOENT. */
LZ_ERROR lz_err *lz_err_errno(int err, const char *operation, const char *path);

/* Keeps the first of two errors and frees the second; either may be NULL. */
lz_err *lz_err_first(lz_err *first, lz_err *second);

/* The only macro that returns. */
#define LZ_TRY(expr)                                                                                         \
    do {                                                                                                     \
        lz_err *lz_try_err_ = (expr);                                                                        \
        if (lz_try_err_)                                                                                     \
            return lz_try_err_;                                                                              \
    } while (0)

#endif
