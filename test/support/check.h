/* check.h - unit tests that must also survive every failing allocation.
 *
 * A test is a function that returns lz_err *: it asserts with cmocka and passes
 * on the errors of what it calls (after cleaning up), as any caller should. It
 * runs once normally, where it must succeed; then again and again with its 1st,
 * 2nd, 3rd, ... allocation failing, once alone and once with all later ones. Each
 * of these runs must end well or with LZ_ERR_MEMORY, and every run must free
 * everything.
 *
 *     static lz_err *test_push(void) { ... }
 *     int main(void)
 *     {
 *         const struct CMUnitTest tests[] = { LZ_TEST(test_push) };
 *         return cmocka_run_group_tests(tests, NULL, NULL);
 *     } */
#ifndef LZ_TEST_CHECK_H
#define LZ_TEST_CHECK_H

#include "base/err.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
/* cmocka needs the four above first */
#include <cmocka.h>

typedef lz_err *lz_test_fn(void);

typedef struct lz_test_case {
    const char *name;
    lz_test_fn *run;
} lz_test_case;

void lz_check_run(void **state);

#define LZ_TEST(fn)                                                                                          \
    {                                                                                                        \
#fn, lz_check_run, NULL, NULL, &(lz_test_case)                                                       \
        {                                                                                                    \
#fn, fn                                                                                          \
        }                                                                                                    \
    }

/* True while an allocation is being made to fail: for what is only true otherwise. */
bool lz_check_failing(void);

/* Asserts code and that the text contains `part`; frees e. Under a failing
 * allocation LZ_ERR_MEMORY is fine too and is passed back to be returned. */
LZ_MUST_USE lz_err *lz_check_err(lz_err *e, lz_code code, const char *part);

/* A fresh directory, removed with everything in it when the process ends. */
const char *lz_check_dir(void);
/* Puts $TMPDIR/name, or /tmp/name, into path. */
void lz_check_temp(const char *name, char path[4096]);

/* The stack on which graphs of a million nodes must do. ThreadSanitizer keeps much of its own there. */
#ifdef __SANITIZE_THREAD__
enum { LZ_SMALL_STACK = 2 << 20 };
#else
enum { LZ_SMALL_STACK = 256 << 10 };
#endif

#endif
