/* Recorded operators, graphs and programs, interpreted and compiled: in each mode, for each
 * vector extension that runs here, with one thread, two and three, they give the same bits.
 *
 * Each way is a process of its own, because much is chosen once in a process. They share a
 * folder of compiled kernels, so what only differs in threads is compiled once. */
#include "base/poison.h"
#include "base/vec.h"
#include "check.h"
#include "harness/replay.h"
#include "jit/codes.h"
#include "jit/llvm.h"
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct way {
    const char *jit, *cpu;
    int threads;
} way;

/* The first is what the others are compared with. A CPU that cannot do it is passed over. */
static const way ways[] = {
    { "off", NULL, 1 },        { "now", NULL, 1 },        { "now", NULL, 2 },   { "now", NULL, 3 },
    { "background", NULL, 1 }, { "background", NULL, 3 }, { "now", "avx2", 1 }, { "now", "sse4", 2 },
};
enum { WAYS = sizeof ways / sizeof *ways, AT_ONCE = 2 };

typedef lz_err *replay_fn(const char *path, const lz_replay_options *o, lz_replay_line_fn *report, void *user,
                          lz_replay_totals *out);

typedef struct source {
    const char *path;
    replay_fn *replay;
    int every, every_whole; /* lines: in a short run, in a whole one; 0: none */
    size_t least;           /* results */
} source;

#define DATA(name) LZ_SOURCE_DIR "/test/data/oracle/" name
static const source sources[] = {
    { DATA("opinfo/public.jsonl.gz"), lz_replay_ops, 4, 1, 1200 },
    { DATA("graphs"), lz_replay_graphs, 1, 1, 100 },
    { DATA("programs/programs.jsonl.gz"), lz_replay_programs, 20, 1, 100 },
    { DATA("opinfo_special.jsonl.gz"), lz_replay_ops, 80, 1, 1 },
    { DATA("opinfo_more.jsonl.gz"), lz_replay_ops, 0, 1, 900 },
    { DATA("opinfo_composed.jsonl.gz"), lz_replay_ops, 0, 1, 500 },
    { DATA("graphs_more"), lz_replay_graphs, 0, 1, 100 },
};

static bool whole; /* every case there is */
static bool llvm;  /* there is a compiler */
static char cache[4096];

typedef struct seen {
    uint64_t hash;
    char id[64];
} seen;

typedef struct run {
    lz_replay_totals totals;
    lz_native_codes_counts codes;
    LZ_VEC(seen) all;
} run;

/* ---- in a process of its own ---- */

static void note(void *user, lz_str id, uint64_t hash)
{
    run *r = user;
    seen s = { .hash = hash };
    snprintf(s.id, sizeof s.id, "%.*s", LZ_FMT(id));
    if (lz_vec_push(&r->all, s))
        _exit(3);
}

static void quiet(void *user, const char *line)
{
    (void)user, (void)line;
}

static void set(const char *name, const char *value)
{
    if (value ? setenv(name, value, 1) : unsetenv(name))
        _exit(4);
}

/* A way that is not for this CPU says nothing at all. */
static void run_way(const source *s, const way *w, FILE *out)
{
    run r = { 0 };
    char threads[8];
    snprintf(threads, sizeof threads, "%d", w->threads);
    set("LAZULI_JIT", w->jit);
    set("LAZULI_CPU", w->cpu);
    set("LAZULI_THREADS", threads);
    set("LAZULI_CACHE_DIR", cache);
    lz_replay_options o = { .threads = w->threads,
                            .seen = note,
                            .seen_user = &r,
                            .mode = LZ_REPLAY_STATEMENT,
                            .every = whole ? s->every_whole : s->every };
    lz_err *e = s->replay(s->path, &o, quiet, NULL, &r.totals);
    if (e) {
        fprintf(stderr, "%s: %s\n", s->path, lz_err_text(e));
        _exit(5);
    }
    lz_native_codes_count(&r.codes);
    bool ok = fwrite(&r.totals, sizeof r.totals, 1, out) == 1 && fwrite(&r.codes, sizeof r.codes, 1, out) == 1
              && fwrite(r.all.data, sizeof *r.all.data, r.all.len, out) == r.all.len;
    _exit(ok && fflush(out) == 0 ? 0 : 6);
}

/* ---- here ---- */

typedef struct child {
    pid_t pid;
    FILE *out;
} child;

static child start(const source *s, const way *w)
{
    child c = { .out = tmpfile() };
    assert_non_null(c.out);
    c.pid = fork();
    assert_true(c.pid >= 0);
    if (c.pid == 0)
        run_way(s, w, c.out);
    return c;
}

static void finish(child *c, const way *w, run *out)
{
    int status;
    seen s;
    *out = (run){ 0 };
    assert_int_equal(waitpid(c->pid, &status, 0), c->pid);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        fail_msg("%s, %s, threads: %d: ended with status %x", w->jit, w->cpu ? w->cpu : "best", w->threads,
                 (unsigned)status);
    rewind(c->out);
    assert_int_equal(fread(&out->totals, sizeof out->totals, 1, c->out), 1);
    assert_int_equal(fread(&out->codes, sizeof out->codes, 1, c->out), 1);
    while (fread(&s, sizeof s, 1, c->out) == 1)
        assert_null(lz_vec_push(&out->all, s));
    fclose(c->out);
}

static void check_same(const run *a, const run *b, const way *w)
{
    char how[64];
    snprintf(how, sizeof how, "%s, %s, threads: %d", w->jit, w->cpu ? w->cpu : "best", w->threads);
    for (size_t i = 0; i < a->all.len && i < b->all.len; i++) {
        assert_string_equal(a->all.data[i].id, b->all.data[i].id);
        if (a->all.data[i].hash != b->all.data[i].hash)
            fail_msg("%s: result %zu differs: %s", a->all.data[i].id, i, how);
    }
    assert_int_equal(a->all.len, b->all.len);
    assert_int_equal(a->totals.passed, b->totals.passed);
    assert_int_equal(a->totals.failed, b->totals.failed);
}

static bool runs_here(const way *w)
{
    return !w->cpu || (strcmp(w->cpu, "avx2") == 0 ? __builtin_cpu_supports("avx2") != 0 : true);
}

static void check_source(const source *s)
{
    run first, other;
    child c = start(s, &ways[0]);
    finish(&c, &ways[0], &first);
    assert_true(first.all.len >= s->least);
    assert_int_equal(first.codes.compiles + first.codes.disk_hits, 0);
    for (int i = 1; i < WAYS; i += AT_ONCE) {
        child now[AT_ONCE];
        int n = 0;
        for (; n < AT_ONCE && i + n < WAYS; n++)
            now[n] = start(s, &ways[runs_here(&ways[i + n]) ? i + n : 0]);
        for (int k = 0; k < n; k++) {
            finish(&now[k], &ways[i + k], &other);
            print_message("%s %s %d: %zu results, %zu passed, %lld compiled, %lld found, %lld refused\n",
                          ways[i + k].jit, ways[i + k].cpu ? ways[i + k].cpu : "best", ways[i + k].threads,
                          other.all.len, other.totals.passed, (long long)other.codes.compiles,
                          (long long)other.codes.disk_hits, (long long)other.codes.refused);
            check_same(&first, &other, &ways[i + k]);
            if (llvm && strcmp(ways[i + k].jit, "now") == 0)
                assert_true(other.codes.compiles + other.codes.disk_hits > 0);
            lz_vec_deinit(&other.all);
        }
    }
    lz_vec_deinit(&first.all);
}

static void test_tiers_agree(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++) {
        if (whole || sources[i].every)
            check_source(&sources[i]);
    }
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)st, (void)kind, (void)at;
    return remove(path);
}

static int make_cache(void **state)
{
    (void)state;
    lz_check_temp("lazuli-tiers-XXXXXX", cache);
    return mkdtemp(cache) ? 0 : -1;
}

static int drop_cache(void **state)
{
    (void)state;
    return nftw(cache, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* test_tiers [all] */
int main(int argc, char **argv)
{
#ifdef __SANITIZE_THREAD__
    puts("skipped: TSan does not follow locks into a child");
    return 77;
#endif
#ifdef LZ_ASAN
    puts("skipped: ASan does not see into compiled code");
    return 77;
#endif
    const lz_llvm *l;
    lz_err *e = lz_llvm_get(&l);
    llvm = !e;
    lz_err_free(e);
    whole = argc > 1 && strcmp(argv[1], "all") == 0;
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_tiers_agree) };
    return cmocka_run_group_tests(tests, make_cache, drop_cache);
}
