/* Recorded operators and graphs, run several ways: with any number of threads, fused and node
 * by node, they give the same bits. */
#include "base/vec.h"
#include "check.h"
#include "harness/replay.h"
#include <stdio.h>

typedef struct seen {
    uint64_t hash;
    char id[64];
} seen;

typedef struct run {
    LZ_VEC(seen) all;
    lz_replay_totals totals;
} run;

static void note(void *user, lz_str id, uint64_t hash)
{
    run *r = user;
    seen s = { .hash = hash };
    snprintf(s.id, sizeof s.id, "%.*s", LZ_FMT(id));
    lz_err *e = lz_vec_push(&r->all, s);
    if (e)
        fail_msg("%s", lz_err_text(e));
}

static void quiet(void *user, const char *line)
{
    (void)user, (void)line;
}

typedef lz_err *replay_fn(const char *path, const lz_replay_options *o, lz_replay_line_fn *report, void *user,
                          lz_replay_totals *out);

static void replay(replay_fn *fn, const char *path, int threads, bool separate, run *out)
{
    *out = (run){ 0 };
    lz_replay_options o = { .threads = threads, .separate = separate, .seen = note, .seen_user = out };
    lz_err *e = fn(path, &o, quiet, NULL, &out->totals);
    if (e)
        fail_msg("%s", lz_err_text(e));
}

static void check_same(const run *a, const run *b, const char *how)
{
    assert_int_equal(a->all.len, b->all.len);
    assert_int_equal(a->totals.passed, b->totals.passed);
    assert_int_equal(a->totals.failed, b->totals.failed);
    for (size_t i = 0; i < a->all.len; i++) {
        assert_string_equal(a->all.data[i].id, b->all.data[i].id);
        if (a->all.data[i].hash != b->all.data[i].hash)
            fail_msg("%s: result %zu differs %s", a->all.data[i].id, i, how);
    }
}

static void check_agreement(replay_fn *fn, const char *path, size_t least)
{
    static const struct {
        const char *name;
        int threads;
        bool separate;
    } ways[] = { { "with 2 threads", 2, false },
                 { "with 3 threads", 3, false },
                 { "node by node", 1, true },
                 { "node by node with 3 threads", 3, true } };
    run one, other;
    replay(fn, path, 1, false, &one);
    assert_true(one.all.len >= least);
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        replay(fn, path, ways[i].threads, ways[i].separate, &other);
        check_same(&one, &other, ways[i].name);
        lz_vec_deinit(&other.all);
    }
    lz_vec_deinit(&one.all);
}

static void test_operators(void **state)
{
    (void)state;
    check_agreement(lz_replay_ops, LZ_SOURCE_DIR "/test/data/oracle/opinfo/public.jsonl.gz", 5000);
}

static void test_graphs(void **state)
{
    (void)state;
    check_agreement(lz_replay_graphs, LZ_SOURCE_DIR "/test/data/oracle/graphs", 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_operators), cmocka_unit_test(test_graphs) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
