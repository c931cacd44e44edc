#include "cli/bench_child.h"
#include "harness/measure.h"
#include <errno.h>
#include <ftw.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- folders ---- */

lz_err *cli_folder_make(char path[CLI_FOLDER])
{
    const char *under = getenv("TMPDIR");
    under = under && *under ? under : "/tmp";
    if (snprintf(path, CLI_FOLDER, "%s/lazuli-bench.XXXXXX", under) >= CLI_FOLDER) {
        path[0] = '\0'; /* so that a caller does not remove the folder of a part of the path */
        return lz_errf(LZ_ERR_IO, "TMPDIR is too long");
    }
    if (!mkdtemp(path) || setenv("LAZULI_CACHE_DIR", path, 1) != 0 || setenv("LAZULI_CACHE", "on", 1) != 0)
        return lz_errf(LZ_ERR_IO, "%s: cannot create a folder (errno %d)", path, errno);
    return NULL;
}

static int drop(const char *path, const struct stat *s, int type, struct FTW *where)
{
    (void)s;
    (void)type;
    return where->level > 0 ? remove(path) : 0;
}

void cli_folder_empty(const char *path)
{
    nftw(path, drop, 16, FTW_DEPTH | FTW_PHYS);
}

void cli_folder_remove(const char *path)
{
    cli_folder_empty(path);
    rmdir(path);
}

/* ---- child processes ---- */

static lz_err *spawn(char *const *argv, const posix_spawn_file_actions_t *actions, pid_t *out)
{
    fflush(stdout); /* our output must precede the child's */
    int bad = posix_spawn(out, "/proc/self/exe", actions, NULL, argv, environ);
    return bad ? lz_errf(LZ_ERR_IO, "cannot start a child process (errno %d)", bad) : NULL;
}

static double seconds(struct timeval t)
{
    return (double)t.tv_sec + (double)t.tv_usec * 1e-6;
}

static lz_err *end(pid_t child, char *const *argv, double *cpu)
{
    int status;
    struct rusage used;
    while (wait4(child, &status, 0, &used) < 0)
        if (errno != EINTR)
            return lz_errf(LZ_ERR_IO, "cannot wait for a child process (errno %d)", errno);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        return lz_errf(LZ_ERR_IO, "'%s %s' failed in a child process", argv[0], argv[1]);
    *cpu = seconds(used.ru_utime) + seconds(used.ru_stime);
    return NULL;
}

lz_err *cli_child_run(char *const *argv)
{
    pid_t child;
    double cpu;
    LZ_TRY(spawn(argv, NULL, &child));
    return end(child, argv, &cpu);
}

/* Returns the seconds until the first output arrives; then reads the rest. */
static double listen(int from, double start)
{
    char text[512];
    ssize_t got = read(from, text, sizeof text);
    double took = lz_measure_clock(2) - start;
    while (got > 0)
        got = read(from, text, sizeof text);
    return took;
}

lz_err *cli_child_time(char *const *argv, double *first, double *cpu)
{
    int ends[2];
    pid_t child;
    posix_spawn_file_actions_t actions;
    if (pipe(ends) != 0)
        return lz_errf(LZ_ERR_IO, "cannot create a pipe (errno %d)", errno);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_addclose(&actions, ends[0]);
    double start = lz_measure_clock(2);
    lz_err *e = spawn(argv, &actions, &child);
    close(ends[1]);
    if (!e) {
        *first = listen(ends[0], start);
        e = end(child, argv, cpu);
    }
    close(ends[0]);
    posix_spawn_file_actions_destroy(&actions);
    return e;
}
