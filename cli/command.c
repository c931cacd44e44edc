#include "cli/command.h"
#include "base/err.h"
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char *program_name = "lazuli";

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
    fprintf(stderr, "%s: %s (see '%s help')\n", program_name, lz_err_text(e), program_name);
    lz_err_free(e);
    return CLI_USAGE;
}

static int help(const cli_command *table)
{
    printf("usage: %s COMMAND ...\n", program_name);
    for (const cli_command *c = table; c->name; c++)
        printf("  %s %-10s %-28s %s\n", program_name, c->name, c->synopsis, c->help);
    printf("  %s --version\n", program_name);
    return CLI_OK;
}

static int version(void)
{
    printf("%s %s\n", program_name, lz_version());
    return CLI_OK;
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
        return finish(help(table));
    for (const cli_command *c = table; c->name; c++)
        if (!strcmp(argv[1], c->name))
            return finish(c->run(argc - 1, argv + 1));
    return cli_misuse("no command '%s'", argv[1]);
}
