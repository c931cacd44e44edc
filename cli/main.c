/* The command `lazuli`. */
#include "base/env.h"
#include "cli/command.h"
#include <stdio.h>

static const cli_command commands[] = {
    { "bench", "[SUITE] [OPTIONS]", "measures the speed of this machine; lists the suites", cli_bench },
    { "cache", "[list | verify | clear]", "the compiled kernels on disk", cli_cache },
    { "devices", "[-v]", "the backends and their devices", cli_devices },
    { "env", "[--json]", "this program, this machine, and every environment variable", cli_env },
    { "gen", "COMMAND ...", "operator files: checks them, writes code from them", cli_gen },
    { "graph", "FILE [OPTIONS]", "a graph as text: checks, improves, prints or runs it", cli_graph },
    { "io", "list FILE | copy FROM TO", "files of tensors (.npz, .safetensors)", cli_io },
    { "ops", "[NAME ...]", "the operators, and how each is supported", cli_ops },
    { "select", "MODEL... [--out FILE]", "the operators that graphs call, for a build of only these",
      cli_select },
    { "test", "KIND PATH [OPTIONS]", "replays recorded cases, and tests a backend", cli_test },
    { 0 },
};

static void to_stderr(void *user, lz_level level, const char *msg)
{
    static const char *const names[] = { "error", "warning", "info", "debug" };
    (void)user;
    fprintf(stderr, "lazuli: %s: %s\n", names[level], msg);
}

static lz_err *listen_to_the_log(void)
{
    static const char *const words[] = { "off", "error", "warn", "info", "debug" };
    int word = 0;
    LZ_TRY(lz_env_word(LZ_ENV_LOG, words, &word));
    if (word > 0)
        lz_log_set(to_stderr, NULL, (lz_level)(word - 1));
    return NULL;
}

int main(int argc, char **argv)
{
    lz_err *e = listen_to_the_log();
    return e ? cli_report(e) : cli_main("lazuli", commands, argc, argv);
}
