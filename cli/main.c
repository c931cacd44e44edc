/* The command `lazuli`. */
#include "base/env.h"
#include "cli/command.h"
#include <stdio.h>

static const cli_command commands[] = {
    { "bench", "[NAME] [--json]",
      "speed on this machine: --n N, --threads T, --seconds S, --loops FILE; lists the suites", cli_bench },
    { "cache", "[list | verify | clear] [--json]",
      "compiled kernels on disk: lists, verifies or removes them", cli_cache },
    { "devices", "[-v]", "backends and their devices; -v: the entries of the interface that they implement",
      cli_devices },
    { "env", "[--json]", "this program, this machine and its environment", cli_env },
    { "gen", "COMMAND ...", "operator files: checks them, writes code from them", cli_gen },
    { "graph", "FILE [--passes A,B] [--run]", "a graph as text: checks it, improves it, shows it, runs it",
      cli_graph },
    { "io", "list FILE | copy FROM TO",
      "files of tensors (.npz, safetensors): lists them, copies them to the format of TO's name", cli_io },
    { "ops", "[--json] [NAME ...]", "the operators, and how each is supported", cli_ops },
    { "test", "ops FILE | graphs FOLDER | programs FILE | backend PLUGIN.so",
      "recorded cases: -v, --only NAME, --threads N; for ops and graphs --separate; for programs "
      "--mode statement|read|async|random, --device D",
      cli_test },
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
    static const char *const words[] = { "off", "error", "warn", "info", "debug", NULL };
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
