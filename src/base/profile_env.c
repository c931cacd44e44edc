/* LAZULI_PROFILE: one profile of the whole process, written when the process exits. */
#include "base/env.h"
#include "base/file.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/profile_impl.h"
#include <errno.h>
#include <limits.h>
#include <stdlib.h>

static lz_lock lock = LZ_LOCK_INIT;
static char path[PATH_MAX]; /* absolute, since a program may change its working folder; empty: no profile */
static unsigned generation; /* lz_fork_count when the profile was started */

/* Errors can only be logged now. A forked child leaves the file to its parent. */
static void write_at_exit(void)
{
    lz_profile *p = NULL;
    if (!path[0] || generation != lz_fork_count())
        return;
    lz_err *e = lz_profile_stop(true, &p);
    if (!e)
        e = lz_profile_save(p, path);
    if (e)
        lz_logf(LZ_LOG_ERROR, "LAZULI_PROFILE=%s: the profile was not written: %s", path, lz_err_text(e));
    lz_err_free(e);
    lz_profile_free(p);
}

/* Creates the file at once, so that an unwritable path is reported before the work is done. */
static lz_err *begin(const char *file)
{
    LZ_TRY(lz_file_replace(file, LZ_STR(""), 0666, LZ_FILE_NO_SYNC));
    if (!realpath(file, path))
        return lz_err_errno(ENAMETOOLONG, "find", file);
    generation = lz_fork_count();
    lz_err *e = atexit(write_at_exit) ? lz_err_oom() : lz_profile_start(NULL, true);
    if (e)
        path[0] = '\0';
    return e;
}

lz_err *lz_profile_from_env(void)
{
    const char *file = lz_env_text(LZ_ENV_PROFILE);
    if (!file)
        return NULL;
    lz_lock_take(&lock);
    lz_err *e = path[0] ? NULL : begin(file);
    lz_lock_give(&lock);
    return e ? lz_err_wrap(e, "%s=%s", lz_env_vars[LZ_ENV_PROFILE].name, file) : NULL;
}
