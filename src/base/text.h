/* text.h - builds text.
 *
 * Appending never fails at once: running out of memory is remembered and reported by lz_text_take or
 * lz_text_check. Nothing here depends on the locale; numbers with a fraction go through lz_text_double, never
 * through a %f. */
#ifndef LZ_BASE_TEXT_H
#define LZ_BASE_TEXT_H

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

/* A zeroed text is empty. */
typedef struct lz_text {
    char *ptr; /* not NUL-terminated while being built */
    size_t len, cap;
    bool failed;
} lz_text;

void lz_text_deinit(lz_text *t);
void lz_text_clear(lz_text *t);             /* keeps the memory, clears text and failure */
void lz_text_reserve(lz_text *t, size_t n); /* the next n bytes need no new memory */

void lz_text_add(lz_text *t, lz_str s);
void lz_text_puts(lz_text *t, const char *cstr);
void lz_text_putc(lz_text *t, char c);
void lz_text_fill(lz_text *t, char c, size_t n);
void lz_text_printf(lz_text *t, const char *fmt, ...) LZ_PRINTF(2, 3); /* no floating-point conversions */
void lz_text_vprintf(lz_text *t, const char *fmt, va_list ap) LZ_PRINTF(2, 0);
void lz_text_int(lz_text *t, int64_t v);
void lz_text_double(lz_text *t, double v); /* shortest text that reads back, as Python's repr */

lz_str lz_text_view(const lz_text *t); /* valid until the next addition */
LZ_MUST_USE lz_err *lz_text_check(const lz_text *t);

/* Transfers a NUL-terminated string to the caller, who frees it with lz_mem_free; empties t. */
LZ_MUST_USE lz_err *lz_text_take(lz_text *t, char **out);
/* Copies the text into an arena; t becomes empty but keeps its memory. */
LZ_MUST_USE lz_err *lz_text_save(lz_text *t, lz_arena *a, lz_str *out);

#endif
