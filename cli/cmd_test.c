/* lazuli test - recorded cases of operators, graphs and programs. */
#include "base/number.h"
#include "cli/command.h"
#include <lazuli/replay.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

typedef lz_err *replay_fn(const char *path, const lz_replay_options *o, lz_replay_line_fn *tell, void *user,
                          lz_replay_totals *out);

static const struct {
    const char *name;
    replay_fn *run;
} kinds[] = { { "ops", lz_replay_ops },
              { "graphs", lz_replay_graphs },
              { "programs", lz_replay_programs },
              { "backend", lz_replay_backend } };

enum { KINDS = sizeof kinds / sizeof *kinds };

static void tell(void *user, const char *line)
{
    (void)user;
    puts(line);
}

static int run(replay_fn *replay, const char *path, const lz_replay_options *o)
{
    lz_replay_totals totals;
    lz_err *e = replay(path, o, tell, NULL, &totals);
    if (e)
        return cli_report(e);
    return totals.failed ? CLI_FAILED : CLI_OK;
}

static bool take_mode(const char *name, lz_replay_mode *out)
{
    static const char *const names[] = { [LZ_REPLAY_STATEMENT] = "statement",
                                         [LZ_REPLAY_READ] = "read",
                                         [LZ_REPLAY_ASYNC] = "async",
                                         [LZ_REPLAY_RANDOM] = "random" };
    for (int i = 0; i < 4; i++)
        if (!strcmp(name, names[i]))
            return *out = (lz_replay_mode)i, true;
    return false;
}

/* One option, with what follows it; 0: none of ours. */
static int take_option(int argc, char **argv, lz_replay_options *o)
{
    int64_t n;
    if (!strcmp(argv[0], "-v"))
        return o->details = true, 1;
    if (!strcmp(argv[0], "--separate"))
        return o->separate = true, 1;
    if (!strcmp(argv[0], "--only") && argc > 1)
        return o->only = argv[1], 2;
    if (!strcmp(argv[0], "--device") && argc > 1)
        return o->device = argv[1], 2;
    if (!strcmp(argv[0], "--mode") && argc > 1 && take_mode(argv[1], &o->mode))
        return 2;
    if (!strcmp(argv[0], "--threads") && argc > 1 && lz_int64_parse(lz_str_of(argv[1]), &n) && n > 0
        && n < 1024)
        return o->threads = (int)n, 2;
    return 0;
}

int cli_test(int argc, char **argv)
{
    lz_replay_options o = { 0 };
    const char *path = NULL;
    size_t kind = 0;
    while (kind < KINDS && (argc < 2 || strcmp(argv[1], kinds[kind].name) != 0))
        kind++;
    if (kind == KINDS)
        return cli_misuse("test takes 'ops CASES.jsonl', 'graphs FOLDER', 'programs PROGRAMS.jsonl' or "
                          "'backend PLUGIN.so'");
    for (int i = 2; i < argc;) {
        int taken = take_option(argc - i, argv + i, &o);
        if (!taken && (argv[i][0] == '-' || path))
            return cli_misuse("test: '%s' is not understood", argv[i]);
        if (!taken)
            path = argv[i];
        i += taken ? taken : 1;
    }
    return path ? run(kinds[kind].run, path, &o) : cli_misuse("test %s: a path is missing", argv[1]);
}
