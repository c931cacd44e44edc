/* Measures the generator on PyTorch's operator file: reading it (YAML, model, generated variants, groups),
 * dumping the model, and emitting files that are up to date. Python's torchgen, if it can be imported, is
 * measured beside it. Prints one JSON object per line, with the fastest and the median run. */
#include <lazuli/gen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { RUNS = 21, PATH_LEN = 4096 };

static char native[PATH_LEN], tags[PATH_LEN], folder[PATH_LEN];

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void line(const char *system, const char *what, const char *metric, double value, const char *unit)
{
    printf("{\"suite\":\"gen\",\"system\":\"%s\",\"name\":\"%s\",\"metric\":\"%s\",\"value\":%.2f,\"unit\":"
           "\"%s\"}\n",
           system, what, metric, value, unit);
}

/* Reports the fastest run, which approximates an idle machine. */
static double report(const char *system, const char *what, double *ms, int n)
{
    qsort(ms, (size_t)n, sizeof *ms, by_size);
    line(system, what, "fastest", ms[0], "ms");
    line(system, what, "median", ms[n / 2], "ms");
    return ms[0];
}

/* Returns the exit status. The output goes to a file or is discarded. */
static int run(const char *output, const char *const *argv)
{
    fflush(stdout); /* otherwise the child would print it again */
    pid_t child = fork();
    if (child == 0) {
        if (!freopen(output ? output : "/dev/null", "w", stdout))
            _exit(126);
        execvp(argv[0], (char *const *)argv);
        _exit(127);
    }
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) < 0)
        return 126;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 125;
}

static const char program[] = LZ_BUILD_DIR "/lazuli-gen", oracle_program[] = LZ_BUILD_DIR "/test/gen_oracle";

static int fail(const char *what)
{
    fprintf(stderr, "bench_gen: %s failed\n", what);
    return EXIT_FAILURE;
}

/* ---- cases ---- */

static int bench_open(double *best)
{
    double ms[RUNS];
    const char *const files[] = { native, NULL };
    for (int i = 0; i < RUNS; i++) {
        lzg_set *set;
        double start = now();
        lz_err *e = lzg_set_open(&(lzg_set_options){ .files = files, .tags = tags }, &set);
        ms[i] = now() - start;
        if (e) {
            fprintf(stderr, "bench_gen: %s\n", lz_err_text(e));
            lz_err_free(e);
            return EXIT_FAILURE;
        }
        lzg_set_close(set);
    }
    *best = report("lazuli", "read", ms, RUNS);
    return EXIT_SUCCESS;
}

static int bench_command(const char *what, const char *const *argv, int runs)
{
    double ms[RUNS];
    for (int i = 0; i < runs; i++) {
        double start = now();
        if (run(NULL, argv) != 0)
            return fail(what);
        ms[i] = now() - start;
    }
    report("lazuli", what, ms, runs);
    return EXIT_SUCCESS;
}

static int bench_commands(void)
{
    const char *const dump[] = {
        program, "dump", "--what", "model", "--native", native, "--tags", tags, NULL
    };
    const char *const emit[] = { program,    "emit", "--target", "all", "--out", folder,
                                 "--native", native, "--tags",   tags,  NULL };
    if (bench_command("dump_model", dump, 7) != EXIT_SUCCESS)
        return EXIT_FAILURE;
    if (run(NULL, emit) != 0)
        return fail("emit");
    return bench_command("emit_unchanged", emit, RUNS);
}

/* ---- Python ---- */

static const char script[] = "import sys, time\n"
                             "try:\n"
                             "    import torchgen.gen as g\n"
                             "except ImportError:\n"
                             "    sys.exit(3)\n"
                             "t = time.perf_counter()\n"
                             "p = g.parse_native_yaml(sys.argv[1], sys.argv[2])\n"
                             "g.get_grouped_native_functions(p.native_functions)\n"
                             "g.get_grouped_by_view_native_functions(p.native_functions)\n"
                             "print((time.perf_counter() - t) * 1e3)\n";

static int bench_python(double ours)
{
    char output[PATH_LEN + 16];
    const char *const python[] = { "python3", "-c", script, native, tags, NULL };
    snprintf(output, sizeof output, "%s/python", folder);
    double ms[3];
    for (int i = 0; i < 3; i++) {
        int status = run(output, python);
        if (status == 3 || status == 127) {
            fprintf(stderr, "bench_gen: no torchgen to compare with (PYTHONPATH)\n");
            return EXIT_SUCCESS;
        }
        FILE *f = fopen(output, "r");
        int got = f ? fscanf(f, "%lf", &ms[i]) : 0;
        if (f)
            fclose(f);
        if (status != 0 || got != 1)
            return fail("torchgen");
    }
    line("torchgen", "read", "ratio", report("torchgen", "read", ms, 3) / ours, "x");
    return EXIT_SUCCESS;
}

/* ---- the files ---- */

/* PyTorch's original files if they exist, else files rebuilt from recorded contents. */
static int find_files(void)
{
    const char *oracle = getenv("LAZULI_ORACLE");
    oracle = oracle ? oracle : LZ_SOURCE_DIR "/../shared/oracle";
    snprintf(native, sizeof native, "%s/torch-2.15/native_functions.yaml", oracle);
    snprintf(tags, sizeof tags, "%s/torch-2.15/tags.yaml", oracle);
    if (access(native, R_OK) == 0 && access(tags, R_OK) == 0)
        return EXIT_SUCCESS;
    snprintf(native, sizeof native, "%.4000s/native_functions.yaml", folder);
    snprintf(tags, sizeof tags, "%.4000s/tags.yaml", folder);
    const char *const rebuild[] = { oracle_program, native, tags, NULL };
    return run(NULL, rebuild) == 0 ? EXIT_SUCCESS : fail("gen_oracle");
}

int main(void)
{
    double ours = 0;
    const char *under = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%.3900s/bench_gen.XXXXXX", under && *under ? under : "/tmp");
    if (!mkdtemp(folder))
        return fail("mkdtemp");
    int status = find_files();
    if (status == EXIT_SUCCESS)
        status = bench_open(&ours);
    if (status == EXIT_SUCCESS)
        status = bench_commands();
    if (status == EXIT_SUCCESS)
        status = bench_python(ours);
    const char *const clean[] = { "rm", "-rf", folder, NULL };
    run(NULL, clean);
    return status;
}
