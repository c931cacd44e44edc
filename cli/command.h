/* command.h - the commands behind `lazuli NAME`: one file each, one row each. */
#ifndef LZ_CLI_COMMAND_H
#define LZ_CLI_COMMAND_H

#include <lazuli/base.h>

/* Exit statuses: 0 fine, 1 something is wrong with what was looked at, 2 wrong use. */
enum { CLI_OK = 0, CLI_FAILED = 1, CLI_USAGE = 2 };

/* argv[0] is the command's own name. */
typedef int cli_run_fn(int argc, char **argv);

typedef struct cli_command {
    const char *name, *synopsis, *help;
    cli_run_fn *run;
} cli_command;

/* Runs the row named argv[1]; prints help, or what is wrong, otherwise. */
int cli_main(const char *program, const cli_command *table, int argc, char **argv);

/* Writes "program: text" to standard error, frees e and gives CLI_FAILED; CLI_OK for NULL. */
int cli_report(lz_err *e);
/* The same for a wrong use; gives CLI_USAGE. */
int cli_misuse(const char *fmt, ...) LZ_PRINTF(1, 2);

cli_run_fn cli_bench, cli_cache, cli_devices, cli_env, cli_gen, cli_graph, cli_io, cli_ops, cli_test;

#endif
