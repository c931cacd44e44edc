#include "cli/command.h"
#include "base/err.h"
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char *program_name = "lazuli";
static const char *command_name; /* NULL: no command runs */

const char *cli_program(void)
{
    return program_name;
}

int cli_report(lz_err *e)
{
    if (!e)
        return CLI_OK;
    lz_loc at = lz_err_loc(e);
    fprintf(stderr, "%s: ", program_name);
    if (at.file && at.line)
        fprintf(stderr, "%s:%d:%d: ", at.file, at.line, at.col > 0 ? at.col : 0);
    else if (at.file)
        fprintf(stderr, "%s: ", at.file);
    fprintf(stderr, "%s\n", lz_err_text(e));
    lz_err_free(e);
    return CLI_FAILED;
}

int cli_misuse(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    lz_err *e = lz_err_vat(LZ_ERR_ARG, (lz_loc){ 0 }, fmt, ap);
    va_end(ap);
    fprintf(stderr, "%s: %s (see '%s %s%s')\n", program_name, lz_err_text(e), program_name,
            command_name ? command_name : "help", command_name ? " --help" : "");
    lz_err_free(e);
    return CLI_USAGE;
}

static int help(const cli_command *table)
{
    printf("usage: %s COMMAND ...\n", program_name);
    for (const cli_command *c = table; c->name; c++)
        printf("  %s %-10s %-28s %s\n", program_name, c->name, c->synopsis, c->help);
    printf("  %s --version\n"
           "%s COMMAND --help describes a command.\n",
           program_name, program_name);
    return CLI_OK;
}

static int version(void)
{
    printf("%s %s\n", program_name, lz_version());
    return CLI_OK;
}

bool cli_asks_help(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h"))
            return true;
    return false;
}

static int run(const cli_command *c, int argc, char **argv)
{
    command_name = c->name;
    return c->run(argc, argv);
}

static const cli_command *find(const cli_command *table, const char *name)
{
    while (table->name && strcmp(table->name, name) != 0)
        table++;
    return table->name ? table : NULL;
}

/* `help` alone, or `help NAME`. */
static int help_about(const cli_command *table, int argc, char **argv)
{
    static char option[] = "--help";
    const cli_command *c = argc > 2 ? find(table, argv[2]) : NULL;
    if (c)
        return run(c, 2, (char *[]){ argv[2], option, NULL });
    return argc > 2 ? cli_misuse("no command '%s'", argv[2]) : help(table);
}

static int finish(int status)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return status;
    fprintf(stderr, "%s: cannot write to standard output\n", program_name);
    return CLI_FAILED;
}

int cli_main(const char *program, const cli_command *table, int argc, char **argv)
{
    program_name = program;
    command_name = NULL;
    signal(SIGXFSZ, SIG_IGN); /* output beyond RLIMIT_FSIZE is an error with a message */
    if (argc < 2) {
        help(table);
        return finish(CLI_USAGE);
    }
    if (!strcmp(argv[1], "--version") && argc > 2)
        return cli_misuse("--version takes no argument, found '%s'", argv[2]);
    if (!strcmp(argv[1], "--version"))
        return finish(version());
    if (!strcmp(argv[1], "help") || !strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))
        return finish(help_about(table, argc, argv));
    const cli_command *c = find(table, argv[1]);
    return c ? finish(run(c, argc - 1, argv + 1)) : cli_misuse("no command '%s'", argv[1]);
}
