/* foreign.h - calls into code that is not ours: LLVM, oneDNN, OpenBLAS, the host's callbacks.
 *
 * Such code has globals that are destroyed when the process exits, and locks that a fork would copy in any
 * state. So every call is counted, and a thread that exits or forks waits until all other threads have left:
 *
 *     if (!lz_foreign_enter())
 *         return lz_foreign_ended("LLVM");
 *     ... calls ...
 *     lz_foreign_leave();
 *
 * Exit. Once the process exits, no thread may enter. If the exiting thread is the one that loaded this
 * library (the main one), or has called lz_foreign_watch, the wait comes before the first destructor. If any
 * other thread exits, the wait comes before the destructors of everything made up to the last
 * lz_foreign_loaded; the globals of LLVM and the matrix libraries are never destroyed (lz_dl_open_lasting).
 * The wait takes no lock, so exit may be called from anywhere: a callback on a thread of the library, a
 * signal handler.
 *
 * Fork. While a fork is in progress only threads that hold a lock may enter, because the fork waits for
 * those.
 *
 * Every wait is limited to a few seconds: a thread that does not leave may be waiting for the exiting one. */
#ifndef LZ_BASE_FOREIGN_H
#define LZ_BASE_FOREIGN_H

#include "base/err.h"
#include <stdbool.h>

bool lz_foreign_enter(void); /* false: the process exits. Calls nest. */
void lz_foreign_leave(void);
bool lz_foreign_has_ended(void);            /* the process exits; to be polled between enter and leave */
lz_err *lz_foreign_ended(const char *what); /* LZ_ERR_BUSY */

/* Call before and after a library is loaded: exit then waits before it destroys what the library has made so
 * far. */
void lz_foreign_loaded(void);
/* Call on every thread of the host that may exit the process. */
void lz_foreign_watch(void);

/* For lock.c's fork handlers. */
void lz_foreign_hold(void);
bool lz_foreign_is_empty(void); /* no other thread is inside */
void lz_foreign_resume(void);
void lz_foreign_after_fork(void); /* in the child: this thread is alone */

#endif
