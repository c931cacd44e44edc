#include "base/thread.h"
#include <signal.h>

/* A fault belongs to the thread that made it, a profiler wants to see them all. */
static const int own_signals[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGPROF };

static void others_signals(sigset_t *out)
{
    sigfillset(out);
    for (size_t i = 0; i < sizeof own_signals / sizeof *own_signals; i++)
        sigdelset(out, own_signals[i]);
}

lz_err *lz_thread_start(const char *name, size_t stack, lz_thread_fn *run, void *arg, pthread_t *out)
{
    pthread_attr_t attr;
    sigset_t blocked, before;
    int err = pthread_attr_init(&attr);
    if (err)
        return lz_err_errno(err, "start thread", name);
    others_signals(&blocked);
    pthread_sigmask(SIG_SETMASK, &blocked, &before); /* the new thread inherits the mask */
    err = pthread_attr_setstacksize(&attr, stack);
    if (!err)
        err = pthread_create(out, &attr, run, arg);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attr);
    if (err)
        return lz_err_errno(err, "start thread", name);
    pthread_setname_np(*out, name);
    return NULL;
}
