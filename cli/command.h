/* command.h - the commands of `lazuli`: one file and one row each. */
#ifndef LZ_CLI_COMMAND_H
#define LZ_CLI_COMMAND_H

#include <lazuli/base.h>
#include <stdbool.h>

/* Exit statuses: 0 success, 1 a check or run failed, 2 wrong use. */
enum { CLI_OK = 0, CLI_FAILED = 1, CLI_USAGE = 2 };

/* argv[0] is the command's own name. */
typedef int cli_run_fn(int argc, char **argv);

typedef struct cli_command {
    const char *name, *synopsis, *help;
    cli_run_fn *run;
} cli_command;

/* Runs the command named argv[1]. Without a valid command, prints help or an error. `help NAME` is
 * `NAME --help`. */
int cli_main(const char *program, const cli_command *table, int argc, char **argv);

const char *cli_program(void); /* "lazuli", "lazuli gen" */

/* Whether the arguments of a command ask for help: --help or -h. Every command answers. */
bool cli_asks_help(int argc, char **argv);

/* Writes "program: text" to standard error, and frees e. Returns CLI_FAILED; for NULL, CLI_OK. */
int cli_report(lz_err *e);
/* As cli_report, for a wrong use of the running command; names its help. Returns CLI_USAGE. */
int cli_misuse(const char *fmt, ...) LZ_PRINTF(1, 2);

cli_run_fn cli_bench, cli_cache, cli_devices, cli_env, cli_gen, cli_graph, cli_io, cli_ops, cli_select,
    cli_test;

#endif
