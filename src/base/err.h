/* err.h - making and passing on errors.
 *
 * A fallible function returns lz_err *, NULL for success. The receiver owns the error. If an error cannot be
 * allocated, the one static out-of-memory error is returned instead; freeing it does nothing. */
#ifndef LZ_BASE_ERR_H
#define LZ_BASE_ERR_H

#include <lazuli/base.h>
#include <stdarg.h>
#include <stdbool.h>

/* Functions that make an error never return NULL; with this attribute the compiler knows it. */
#define LZ_ERROR LZ_MUST_USE __attribute__((returns_nonnull))

LZ_ERROR lz_err *lz_errf(lz_code code, const char *fmt, ...) LZ_PRINTF(2, 3);
LZ_ERROR lz_err *lz_err_at(lz_code code, lz_loc loc, const char *fmt, ...) LZ_PRINTF(3, 4);
LZ_ERROR lz_err *lz_err_vat(lz_code code, lz_loc loc, const char *fmt, va_list ap) LZ_PRINTF(3, 0);

/* LZ_ERR_ARG: a call is refused; `reason` says what is wrong with it (lz_err_reason). */
LZ_ERROR lz_err *lz_err_because(lz_reason reason, const char *fmt, ...) LZ_PRINTF(2, 3);
/* Returns e. NULL and the static error are unchanged. */
lz_err *lz_err_set_reason(lz_err *e, lz_reason reason);

/* Says that the text names the operator that failed, so that no caller adds a name. Returns e. The static
 * error is unchanged. */
lz_err *lz_err_set_names_op(lz_err *e);
bool lz_err_names_op(const lz_err *e);

/* The static out-of-memory error. */
LZ_ERROR lz_err *lz_err_oom(void);

/* Replaces the text and location of the cause and keeps the rest; takes the cause. The arguments
 * may point into the cause. NULL stays NULL. */
LZ_MUST_USE lz_err *lz_err_reword(lz_err *cause, lz_loc loc, const char *fmt, ...) LZ_PRINTF(3, 4);

/* "context: cause", with all else as the cause has it; takes the cause. NULL stays NULL. */
LZ_MUST_USE lz_err *lz_err_wrap(lz_err *cause, const char *fmt, ...) LZ_PRINTF(2, 3);

LZ_MUST_USE lz_err *lz_err_copy(const lz_err *e);

/* "operation path: reason of errno" as LZ_ERR_IO, LZ_ERR_NOT_FOUND for ENOENT, or LZ_ERR_MEMORY for
 * ENOMEM. */
LZ_ERROR lz_err *lz_err_errno(int err, const char *operation, const char *path);

/* Must code that has a fallback pass this error on nevertheless? True if memory has run out, or an invariant
 * of ours is broken (LZ_ERR_INTERNAL), which the fallback would hide. */
bool lz_err_must_surface(const lz_err *e);

/* Frees an error of our own code that the caller can do without, because a fallback does the work. Asserts
 * that the error is not LZ_ERR_INTERNAL, which the fallback would hide. NULL does nothing. */
void lz_err_drop(lz_err *e);

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
