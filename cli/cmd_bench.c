/* lazuli bench - measures the speed of the library on this machine. */
#include "base/env.h"
#include "base/json_write.h"
#include "base/mem.h"
#include "base/number.h"
#include "cli/bench_child.h"
#include "cli/command.h"
#include "cli/profile_option.h"
#include "harness/bench.h"
#include "harness/measure.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char usage[] =
    "usage: lazuli bench                     lists the suites\n"
    "       lazuli bench SUITE [OPTIONS]     measures one suite\n"
    "  --n N             the size, in the unit of the suite; without it the suite's own sizes\n"
    "  --threads T       the number of threads, 1 to 1024; without it 1\n"
    "  --seconds S       roughly how long to measure each figure; without it 1\n"
    "  --only TEXT       only the rows whose names contain TEXT (suites ops and varying)\n"
    "  --loops FILE      a shared object with C loops to compare with; without it bench/loops.so\n"
    "                    beside the command\n"
    "  --json            prints one JSON object for each figure\n"
    "  --profile[=FILE]  prints where the time went, or writes it to a file: .json gets a trace\n";

typedef struct request {
    const char *suite;
    lz_bench_options o;
    bool json, here; /* here: run the suite in this process, not in a child */
    lz_err *bad;     /* the first error while printing */
    int argc;
    char **argv;
    char path[4096]; /* of the shared object with loops */
    cli_profile profile;
} request;

/* ---- figures ---- */

static void print_text(const lz_bench_figure *f)
{
    printf("%-16s %-12s %-16s %12.2f %-8s", f->name, f->system, f->metric, f->value, f->unit);
    if (f->against)
        printf(" %7.2f x %s", f->ratio, f->against);
    putchar('\n');
}

static void put_number(lz_json_writer *w, const char *key, double v, bool has)
{
    lz_json_put_key(w, key);
    if (has)
        lz_json_put_double(w, v);
    else
        lz_json_put_null(w);
}

static lz_err *print_json(const lz_bench_figure *f)
{
    lz_text t = { 0 };
    lz_json_writer w;
    lz_json_writer_init(&w, &t, LZ_JSON_COMPACT);
    lz_json_begin_object(&w);
    lz_json_member_optional_cstr(&w, "suite", f->suite);
    lz_json_member_optional_cstr(&w, "system", f->system);
    lz_json_member_optional_cstr(&w, "name", f->name);
    lz_json_member_optional_cstr(&w, "metric", f->metric);
    put_number(&w, "value", f->value, true);
    lz_json_member_optional_cstr(&w, "unit", f->unit);
    put_number(&w, "ratio", f->ratio, f->against != NULL);
    lz_json_member_optional_cstr(&w, "against", f->against);
    lz_json_member_int(&w, "threads", f->threads);
    lz_json_end_object(&w);
    lz_err *e = lz_json_finish(&w);
    if (!e)
        printf("%.*s\n", LZ_FMT(lz_text_view(&t)));
    lz_text_deinit(&t);
    return e;
}

/* Flushes each figure: the reader may wait for the first line. */
static void print_figure(void *user, const lz_bench_figure *f)
{
    request *r = user;
    lz_err *e = NULL;
    if (r->json)
        e = print_json(f);
    else
        print_text(f);
    fflush(stdout);
    if (r->bad)
        lz_err_free(e);
    else
        r->bad = e;
}

/* ---- suites that need new processes ---- */

/* argv of a child that runs the suite itself: `bench SUITE ...`. */
static lz_err *make_argv(const request *r, char ***out)
{
    static char name[] = "lazuli", here[] = "--here";
    char **argv = lz_mem_zalloc((size_t)r->argc + 3, sizeof *argv);
    if (!argv)
        return lz_err_oom();
    argv[0] = name;
    memcpy(argv + 1, r->argv, (size_t)r->argc * sizeof *argv);
    argv[r->argc + 1] = here;
    *out = argv;
    return NULL;
}

static lz_err *set_jit(const char *mode)
{
    return setenv("LAZULI_JIT", mode, 1) == 0 ? NULL : lz_err_oom();
}

/* Runs with an empty cache, and with the default compiler settings. */
static lz_err *run_once(request *r, char *const *argv, const char *folder)
{
    (void)r;
    (void)folder;
    return cli_child_run(argv);
}

static lz_err *run_shapes(request *r, char *const *argv, const char *folder)
{
    LZ_TRY(set_jit("now"));
    return run_once(r, argv, folder);
}

/* Runs twice: the second process finds the kernels of the first one in the cache. */
static lz_err *run_compile(request *r, char *const *argv, const char *folder)
{
    LZ_TRY(run_shapes(r, argv, folder));
    return cli_child_run(argv);
}

typedef struct start {
    const char *name, *jit;
    bool warm;        /* use the cache of the run before */
    const char *llvm; /* where to look for LLVM; NULL: the default */
} start;

static const start starts[] = { { "off", "off", false, NULL },
                                { "background", "background", false, NULL },
                                { "no_llvm", "now", false, "/no/such/libLLVM.so" },
                                { "now", "now", false, NULL },
                                { "now_cached", "now", true, NULL } };

enum { STARTS = sizeof starts / sizeof *starts };

typedef struct times {
    double first, cpu; /* seconds */
} times;

static lz_err *time_child(char *const *argv, times *best)
{
    times t;
    LZ_TRY(cli_child_time(argv, &t.first, &t.cpu));
    best->first = t.first < best->first ? t.first : best->first;
    best->cpu = t.cpu < best->cpu ? t.cpu : best->cpu;
    return NULL;
}

/* Time to start and end this command: it prints its version. */
static lz_err *time_nothing(times *best)
{
    char name[] = "lazuli", version[] = "--version";
    char *const argv[] = { name, version, NULL };
    return time_child(argv, best);
}

static lz_err *time_start(const start *s, char *const *argv, const char *folder, times *best)
{
    static const char llvm[] = "LAZULI_LLVM";
    char before[4096];
    snprintf(before, sizeof before, "%s", lz_env_text(LZ_ENV_LLVM) ? lz_env_text(LZ_ENV_LLVM) : "");
    if (!s->warm)
        cli_folder_empty(folder);
    LZ_TRY(set_jit(s->jit));
    if (s->llvm && setenv(llvm, s->llvm, 1) != 0)
        return lz_err_oom();
    lz_err *e = time_child(argv, best);
    if (s->llvm)
        setenv(llvm, before, 1); /* an empty variable counts as unset */
    return e;
}

static void report_start(request *r, const char *system, const char *name, const times *t,
                         const times *nothing)
{
    bool ours = t != nothing;
    const lz_bench_figure figures[] = {
        { .metric = "first_result", .value = t->first * 1e3, .ratio = t->first / nothing->first },
        { .metric = "cpu", .value = t->cpu * 1e3, .ratio = t->cpu / nothing->cpu },
    };
    for (int i = 0; i < 2; i++) {
        lz_bench_figure f = figures[i];
        f.suite = "start";
        f.system = system;
        f.name = name;
        f.unit = "ms";
        f.against = ours ? "--version" : NULL;
        f.threads = r->o.threads ? r->o.threads : 1;
        print_figure(r, &f);
    }
}

static lz_err *run_start(request *r, char *const *argv, const char *folder)
{
    times best[STARTS], nothing = { 1e9, 1e9 };
    double begin = lz_measure_clock(2), seconds = r->o.seconds > 0 ? r->o.seconds : 1;
    int64_t rounds = r->o.n ? r->o.n : 5;
    for (int i = 0; i < STARTS; i++)
        best[i] = nothing;
    for (int64_t round = 0; round < rounds || (!r->o.n && lz_measure_clock(2) - begin < seconds); round++) {
        LZ_TRY(time_nothing(&nothing));
        for (int i = 0; i < STARTS; i++)
            LZ_TRY(time_start(&starts[i], argv, folder, &best[i]));
    }
    report_start(r, "--version", "process", &nothing, &nothing);
    for (int i = 0; i < STARTS; i++)
        report_start(r, "lazuli", starts[i].name, &best[i], &nothing);
    return NULL;
}

static const struct {
    const char *suite;
    lz_err *(*run)(request *r, char *const *argv, const char *folder);
} in_children[] = { { "shapes", run_shapes }, { "compile", run_compile }, { "start", run_start },
                    { "mlp", run_once },      { "lenet", run_once },      { "gpt", run_once },
                    { "gpt_long", run_once }, { "lstm", run_once },       { "gru", run_once },
                    { "plan", run_once },     { "million", run_once },    { "varying", run_once } };

static lz_err *run_fresh(request *r)
{
    char folder[CLI_FOLDER], **argv = NULL;
    LZ_TRY(make_argv(r, &argv));
    lz_err *e = cli_folder_make(folder);
    for (size_t i = 0; !e && i < sizeof in_children / sizeof *in_children; i++)
        if (!strcmp(in_children[i].suite, r->suite))
            e = in_children[i].run(r, argv, folder);
    cli_folder_remove(folder);
    lz_mem_free(argv);
    return e;
}

/* ---- the command ---- */

static const lz_bench_suite *find(const char *name)
{
    const lz_bench_suite *s = NULL;
    for (size_t i = 0; (s = lz_bench_suite_at(i)) && strcmp(s->name, name) != 0; i++)
        ;
    return s;
}

static int list(void)
{
    const lz_bench_suite *s;
    for (size_t i = 0; (s = lz_bench_suite_at(i)); i++)
        printf("  %-10s %s\n", s->name, s->help);
    return CLI_OK;
}

/* The build puts loops.so beside the command. */
static const char *default_loops(char path[4096])
{
    static const char behind[] = "/bench/loops.so";
    ssize_t n = readlink("/proc/self/exe", path, 4096 - sizeof behind);
    if (n <= 0)
        return NULL;
    path[n] = 0;
    char *slash = strrchr(path, '/');
    memcpy(slash, behind, sizeof behind);
    return access(path, R_OK) == 0 ? path : NULL;
}

static bool take_n(const char *text, request *r)
{
    return lz_int64_parse(lz_str_of(text), &r->o.n) && r->o.n > 0 && r->o.n <= INT32_MAX;
}

static bool take_threads(const char *text, request *r)
{
    int64_t n;
    if (!lz_int64_parse(lz_str_of(text), &n) || n < 1 || n > 1024)
        return false;
    r->o.threads = (int)n;
    return true;
}

static bool take_seconds(const char *text, request *r)
{
    return lz_double_parse(lz_str_of(text), &r->o.seconds) && r->o.seconds > 0 && r->o.seconds < 1e6;
}

static bool take_loops(const char *text, request *r)
{
    r->o.loops = text;
    return *text;
}

static bool take_only(const char *text, request *r)
{
    r->o.only = text;
    return *text;
}

static const struct {
    const char *name, *needs;
    bool (*take)(const char *text, request *r);
} options[] = { { "--n", "an integer from 1", take_n },
                { "--threads", "a number from 1 to 1024", take_threads },
                { "--seconds", "a number above 0, and below a million", take_seconds },
                { "--loops", "a shared object", take_loops },
                { "--only", "a part of the names of rows", take_only } };

enum { OPTIONS = sizeof options / sizeof *options };

/* Reads one option and its value. Returns the number of words read; 0: an error was printed. */
static int take_option(int argc, char **argv, request *r)
{
    size_t i = 0;
    if (!strcmp(argv[0], "--json"))
        return r->json = true, 1;
    if (!strcmp(argv[0], "--here"))
        return r->here = true, 1;
    if (cli_profile_take(&r->profile, argv[0]))
        return 1;
    while (i < OPTIONS && strcmp(argv[0], options[i].name) != 0)
        i++;
    if (i == OPTIONS)
        return cli_misuse("bench: unexpected argument '%s'", argv[0]), 0;
    if (argc < 2)
        return cli_misuse("bench: %s needs %s", argv[0], options[i].needs), 0;
    if (!options[i].take(argv[1], r))
        return cli_misuse("bench: %s needs %s, not '%s'", argv[0], options[i].needs, argv[1]), 0;
    return 2;
}

/* Runs the suite in this process. A child that runs the suite takes the profile itself. */
static lz_err *run_here(request *r)
{
    LZ_TRY(cli_profile_begin(&r->profile));
    return cli_profile_end(&r->profile, lz_bench_run(r->suite, &r->o, print_figure, r),
                           r->json ? stderr : stdout);
}

static int run(request *r)
{
    const lz_bench_suite *s = find(r->suite);
    r->o.loops = r->o.loops ? r->o.loops : default_loops(r->path);
    if (!r->o.loops && !r->here && !r->json)
        fprintf(stderr,
                "lazuli: found no loops to compare with (--loops FILE); ratios to them are left out\n");
    lz_err *e = s && s->fresh && !r->here ? run_fresh(r) : run_here(r);
    if (e)
        lz_err_free(r->bad);
    return cli_report(e ? e : r->bad);
}

int cli_bench(int argc, char **argv)
{
    request r = { .argc = argc, .argv = argv };
    if (cli_asks_help(argc, argv))
        return fputs(usage, stdout), CLI_OK;
    for (int i = 1, taken; i < argc; i += taken) {
        taken = 1;
        if (argv[i][0] == '-' || r.suite)
            taken = take_option(argc - i, argv + i, &r);
        else
            r.suite = argv[i];
        if (!taken)
            return CLI_USAGE;
    }
    if (!r.suite && argc > 1)
        return cli_misuse("bench: %s needs a suite", argv[1]);
    return r.suite ? run(&r) : list();
}
