/* bench_child.h - this command as a child, for what happens once in a process. */
#ifndef LZ_CLI_BENCH_CHILD_H
#define LZ_CLI_BENCH_CHILD_H

#include "base/err.h"

enum { CLI_FOLDER = 4096 };

/* A new folder in TMPDIR or /tmp, which children then take for the user's cache folder. */
LZ_MUST_USE lz_err *cli_folder_make(char path[CLI_FOLDER]);
void cli_folder_empty(const char *path);
void cli_folder_remove(const char *path);

/* Runs this command. argv[0] is its name, the end is NULL. An error if its status is not 0. */
LZ_MUST_USE lz_err *cli_child_run(char *const *argv);
/* The same; what it prints is thrown away. Seconds until it printed something, and of CPUs that
 * it used in all. */
LZ_MUST_USE lz_err *cli_child_time(char *const *argv, double *first, double *cpu);

#endif
