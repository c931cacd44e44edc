#include "base/thread.h"
#include "base/log.h"
#include <signal.h>
#include <stdatomic.h>

/* A fault is delivered to the thread that caused it; a profiler's signal must reach all threads. */
static const int own_signals[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGPROF };

static LZ_THREAD_LOCAL bool ours;

void lz_thread_begin(void)
{
    ours = true;
}

bool lz_thread_is_ours(void)
{
    return ours;
}

static lz_err *not_started(int why, const char *name)
{
    static atomic_flag said = ATOMIC_FLAG_INIT;
    lz_err *e = lz_err_errno(why, "start thread", name);
    if (lz_log_on(LZ_LOG_WARN) && !atomic_flag_test_and_set(&said))
        lz_logf(LZ_LOG_WARN, "continuing with fewer threads: %s", lz_err_text(e));
    return e;
}

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
        return not_started(err, name);
    others_signals(&blocked);
    pthread_sigmask(SIG_SETMASK, &blocked, &before); /* the new thread inherits the mask */
    err = pthread_attr_setstacksize(&attr, stack);
    if (!err)
        err = pthread_create(out, &attr, run, arg);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attr);
    if (err)
        return not_started(err, name);
    pthread_setname_np(*out, name);
    return NULL;
}
