/* foreign.h - calls into code that is not ours: LLVM, oneDNN, OpenBLAS, the host's callbacks.
 *
 * Such code has globals that are destroyed when the process exits, and locks that a fork would copy as they
 * are. So every call is counted, and whoever exits or forks waits until all other threads have come out:
 *
 *     if (!lz_foreign_enter())
 *         return lz_foreign_ended("LLVM");
 *     ... calls ...
 *     lz_foreign_leave();
 *
 * Exit. Once the process exits nobody enters any more. The wait comes before the first destructor when the
 * thread exits that loaded this library (the main one), or one that has called lz_foreign_watch. When any
 * other thread exits, the wait comes before the destructors of what was made up to the last
 * lz_foreign_loaded; the globals of LLVM and the matrix libraries are never destroyed (lz_dl_open_lasting).
 * The wait takes no lock, so exit may be called from anywhere: a callback on a thread of the library, a
 * signal handler.
 *
 * Fork. Nobody enters while a fork is under way, but threads that hold a lock, which the fork waits for.
 *
 * No wait is longer than a few seconds: a thread that does not come out waits for the one that exits. */
#ifndef LZ_BASE_FOREIGN_H
#define LZ_BASE_FOREIGN_H

#include "base/err.h"
#include <stdbool.h>

bool lz_foreign_enter(void); /* false: the process exits. They nest. */
void lz_foreign_leave(void);
bool lz_foreign_has_ended(void);            /* the process exits; for long steps between enter and leave */
lz_err *lz_foreign_ended(const char *what); /* LZ_ERR_BUSY */

/* Before and after a library is loaded: exit waits before it destroys what the library has made so far. */
void lz_foreign_loaded(void);
/* From every thread of the host that may exit the process. */
void lz_foreign_watch(void);

/* For forks. */
void lz_foreign_hold(void);
bool lz_foreign_is_empty(void); /* no other thread is inside */
void lz_foreign_resume(void);
void lz_foreign_after_fork(void); /* in the child: this thread is alone */

#endif
