/* lazuli test - recorded cases of operators, graphs and programs. */
#include "base/err.h"
#include "base/number.h"
#include "cli/command.h"
#include "harness/replay.h"
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const char usage[] =
    "usage: lazuli test ops CASES.jsonl          recorded calls of operators\n"
    "       lazuli test graphs FOLDER            graphs.jsonl, which run; malformed.jsonl, which are "
    "refused\n"
    "       lazuli test programs PROGRAMS.jsonl  sequences of calls with views, writes and gradients\n"
    "       lazuli test backend PLUGIN.so        what a backend must do (docs/adding-a-backend.md)\n"
    "Files may be compressed (.gz). The last line is N passed, M failed, K unsupported.\n"
    "  -v           prints every case that does not pass, with the reason\n"
    "  --only NAME  only the operator, graph, program or group of this name\n"
    "  --threads N  the number of threads, 1 to 1024\n"
    "  --separate   ops, graphs: runs without fusion\n"
    "  --mode MODE  programs: syncs after each statement (statement), only when a value is read (read),\n"
    "               after each statement without waiting (async), or at random points (random)\n"
    "  --device D   programs: the device\n";

typedef lz_err *replay_fn(const char *path, const lz_replay_options *o, lz_replay_line_fn *report, void *user,
                          lz_replay_totals *out);

enum { OPS = 1, GRAPHS = 2, PROGRAMS = 4, BACKEND = 8, ALL = 15 };

static const struct {
    const char *name;
    replay_fn *run;
} kinds[] = { { "ops", lz_replay_ops },
              { "graphs", lz_replay_graphs },
              { "programs", lz_replay_programs },
              { "backend", lz_replay_backend } };

enum { KINDS = sizeof kinds / sizeof *kinds };

static void print_line(void *user, const char *line)
{
    (void)user;
    puts(line);
}

/* It is an error if no case was run. */
static int run(replay_fn *replay, const char *path, const lz_replay_options *o)
{
    lz_replay_totals totals;
    lz_err *e = replay(path, o, print_line, NULL, &totals);
    if (!e && !totals.passed && !totals.failed && !totals.unsupported)
        e = lz_errf(LZ_ERR_NOT_FOUND, "%s: found no cases%s%s", path, o->only ? " of " : "",
                    o->only ? o->only : "");
    if (e)
        return cli_report(e);
    return totals.failed ? CLI_FAILED : CLI_OK;
}

/* ---- options ---- */

static bool take_mode(const char *name, lz_replay_options *o)
{
    static const char *const names[] = { [LZ_REPLAY_STATEMENT] = "statement",
                                         [LZ_REPLAY_READ] = "read",
                                         [LZ_REPLAY_ASYNC] = "async",
                                         [LZ_REPLAY_RANDOM] = "random" };
    for (int i = 0; i < 4; i++)
        if (!strcmp(name, names[i]))
            return o->mode = (lz_replay_mode)i, true;
    return false;
}

static bool take_threads(const char *text, lz_replay_options *o)
{
    int64_t n;
    if (!lz_int64_parse(lz_str_of(text), &n) || n < 1 || n > 1024)
        return false;
    o->threads = (int)n;
    return true;
}

static bool take_only(const char *text, lz_replay_options *o)
{
    o->only = text;
    return *text;
}

static bool take_device(const char *text, lz_replay_options *o)
{
    o->device = text;
    return *text;
}

static bool take_details(const char *text, lz_replay_options *o)
{
    (void)text;
    return o->details = true;
}

static bool take_separate(const char *text, lz_replay_options *o)
{
    (void)text;
    return o->separate = true;
}

/* needs: the value that follows; NULL: none. of: the kinds of cases that the option is for. */
static const struct {
    const char *name, *needs;
    unsigned of;
    bool (*take)(const char *text, lz_replay_options *o);
} options[] = { { "-v", NULL, ALL, take_details },
                { "--separate", NULL, OPS | GRAPHS, take_separate },
                { "--only", "a name", ALL, take_only },
                { "--threads", "a number from 1 to 1024", ALL, take_threads },
                { "--mode", "statement, read, async or random", PROGRAMS, take_mode },
                { "--device", "a device", PROGRAMS, take_device } };

enum { OPTIONS = sizeof options / sizeof *options };

/* Reads one option and its value. Returns the number of words read; 0: an error was printed. */
static int take_option(size_t kind, int argc, char **argv, lz_replay_options *o)
{
    size_t i = 0;
    while (i < OPTIONS && strcmp(argv[0], options[i].name) != 0)
        i++;
    if (i == OPTIONS || !(options[i].of >> kind & 1))
        return cli_misuse("test %s has no option '%s'", kinds[kind].name, argv[0]), 0;
    if (!options[i].needs)
        return options[i].take(NULL, o), 1;
    if (argc < 2)
        return cli_misuse("test: %s needs %s", argv[0], options[i].needs), 0;
    if (!options[i].take(argv[1], o))
        return cli_misuse("test: %s needs %s, not '%s'", argv[0], options[i].needs, argv[1]), 0;
    return 2;
}

int cli_test(int argc, char **argv)
{
    lz_replay_options o = { 0 };
    const char *path = NULL;
    size_t kind = 0;
    if (cli_asks_help(argc, argv))
        return fputs(usage, stdout), CLI_OK;
    while (kind < KINDS && (argc < 2 || strcmp(argv[1], kinds[kind].name) != 0))
        kind++;
    if (kind == KINDS)
        return cli_misuse("test: expected ops, graphs, programs or backend%s%s%s",
                          argc > 1 ? ", found '" : "", argc > 1 ? argv[1] : "", argc > 1 ? "'" : "");
    for (int i = 2, taken; i < argc; i += taken) {
        taken = 1;
        if (argv[i][0] == '-' || path)
            taken = take_option(kind, argc - i, argv + i, &o);
        else
            path = argv[i];
        if (!taken)
            return CLI_USAGE;
    }
    return path ? run(kinds[kind].run, path, &o) : cli_misuse("test %s: a path is missing", argv[1]);
}
