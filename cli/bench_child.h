/* bench_child.h - runs this command as a child process, to measure costs that occur once per process. */
#ifndef LZ_CLI_BENCH_CHILD_H
#define LZ_CLI_BENCH_CHILD_H

#include "base/err.h"

enum { CLI_FOLDER = 4096 };

/* Makes a new folder in TMPDIR or /tmp, which children use as the user's cache folder. */
LZ_MUST_USE lz_err *cli_folder_make(char path[CLI_FOLDER]);
void cli_folder_empty(const char *path);
void cli_folder_remove(const char *path);

/* Runs this command. argv[0] is the command's name; the last entry is NULL. Fails if the exit status is
 * not 0. */
LZ_MUST_USE lz_err *cli_child_run(char *const *argv);
/* As cli_child_run, but discards the output. *first: seconds until the first output; *cpu: CPU seconds in
 * total. */
LZ_MUST_USE lz_err *cli_child_time(char *const *argv, double *first, double *cpu);

#endif
