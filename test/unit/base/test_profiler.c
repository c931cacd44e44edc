#include "base/json.h"
#include "base/mem.h"
#include "base/profiler.h"
#include "base/thread.h"
#include "check.h"
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

/* The recording and reporting of spans and launches, without anything that computes. */

static void nap_in(lz_phase phase, const char *name)
{
    lz_span s = lz_span_begin();
    lz_sleep_ns(200000);
    lz_span_end(&s, &(lz_span_note){ .phase = phase, .name = name, .at = { "some.c", 7, 0 }, .bytes = 5 });
}

static const lz_profile_row *row_of(const lz_profile *p, lz_profile_by by, const char *name)
{
    const lz_profile_row *rows;
    size_t n = lz_profile_rows(p, by, &rows);
    for (size_t i = 0; i < n; i++)
        if (strcmp(rows[i].name, name) == 0)
            return &rows[i];
    fail_msg("there is no row '%s'", name);
    return NULL;
}

static uint64_t sum_of_self(const lz_profile *p, lz_profile_by by)
{
    const lz_profile_row *rows;
    uint64_t sum = 0;
    size_t n = lz_profile_rows(p, by, &rows);
    for (size_t i = 0; i < n; i++)
        sum += rows[i].self_ns;
    return sum;
}

/* ---- beginning and ending ---- */

static lz_err *test_begin_and_end_are_pairs(void)
{
    lz_profile *p;
    LZ_TRY(lz_check_err(lz_profile_end(&p), LZ_ERR_ARG, "lz_profile_begin comes first"));
    assert_false(lz_profile_on());
    LZ_TRY(lz_profile_begin(NULL));
    assert_true(lz_profile_on());
    lz_err *e = lz_check_err(lz_profile_begin(NULL), LZ_ERR_BUSY, "already; lz_profile_end comes first");
    lz_err *ended = lz_profile_end(&p);
    assert_false(lz_profile_on());
    if (!ended)
        lz_profile_free(p);
    LZ_TRY(lz_err_first(e, ended));
    return lz_check_err(lz_profile_end(&p), LZ_ERR_ARG, "lz_profile_begin comes first");
}

static lz_err *test_nothing_is_kept_while_it_is_off(void)
{
    lz_profile *p;
    const lz_profile_row *rows;
    lz_span before = lz_span_begin();
    nap_in(LZ_PHASE_RUN, NULL);
    LZ_TRY(lz_profile_begin(NULL));
    lz_span_end(&before, &(lz_span_note){ .phase = LZ_PHASE_RUN });
    lz_span late = lz_span_begin();
    LZ_TRY(lz_profile_end(&p));
    lz_span_end(&late, &(lz_span_note){ .phase = LZ_PHASE_RUN });
    assert_int_equal(lz_profile_rows(p, LZ_PROFILE_PHASES, &rows), 0);
    assert_int_equal(lz_profile_rows(p, (lz_profile_by)77, &rows), 0);
    lz_profile_free(p);
    return NULL;
}

/* A span that began in one profile and ends in the next is in neither. */
static lz_err *test_spans_do_not_cross_profiles(void)
{
    lz_profile *p;
    LZ_TRY(lz_profile_begin(NULL));
    lz_span s = lz_span_begin();
    lz_err *e = lz_profile_end(&p);
    if (!e)
        lz_profile_free(p);
    LZ_TRY(e);
    LZ_TRY(lz_profile_begin(NULL));
    nap_in(LZ_PHASE_RUN, NULL);
    lz_span_end(&s, &(lz_span_note){ .phase = LZ_PHASE_SYNC });
    LZ_TRY(lz_profile_end(&p));
    assert_int_equal(row_of(p, LZ_PROFILE_PHASES, "run graph")->calls, 1);
    assert_int_equal(sum_of_self(p, LZ_PROFILE_PHASES), row_of(p, LZ_PROFILE_PHASES, "run graph")->self_ns);
    lz_profile_free(p);
    return NULL;
}

/* ---- times ---- */

static lz_err *test_self_times_add_up(void)
{
    lz_profile *p;
    LZ_TRY(lz_profile_begin(NULL));
    for (int i = 0; i < 3; i++) {
        lz_span outer = lz_span_begin();
        nap_in(LZ_PHASE_COMPILE, NULL);
        nap_in(LZ_PHASE_RUN, "x");
        lz_sleep_ns(100000);
        lz_span_end(&outer, &(lz_span_note){ .phase = LZ_PHASE_SYNC });
    }
    LZ_TRY(lz_profile_end(&p));
    const lz_profile_row *sync = row_of(p, LZ_PROFILE_PHASES, "sync");
    const lz_profile_row *compile = row_of(p, LZ_PROFILE_PHASES, "compile graph");
    const lz_profile_row *run = row_of(p, LZ_PROFILE_PHASES, "run graph");
    assert_int_equal(sync->calls, 3);
    assert_int_equal(compile->calls, 3);
    assert_int_equal(compile->self_ns, compile->total_ns);
    assert_int_equal(sync->self_ns + compile->total_ns + run->total_ns, sync->total_ns);
    assert_int_equal(sum_of_self(p, LZ_PROFILE_PHASES), sync->total_ns);
    assert_true(compile->total_ns >= 3 * 200000U && sync->self_ns >= 3 * 100000U);
    lz_profile_summary s = lz_profile_summary_of(p);
    assert_int_equal(s.wall_ns - s.outside_ns, sync->total_ns);
    assert_int_equal(s.threads, 1);
    lz_profile_free(p);
    return NULL;
}

/* ---- launches ---- */

/* A plan of two launches: the first computes parts of three operators, the second goes on with the last. */
static const lz_launch_source first[] = { { 0, { "aten::add", 9 }, { "a.c", 3, 0 }, 1 },
                                          { 1, { "aten::mul", 9 }, { "a.c", 4, 0 }, 1 },
                                          { 2, { "aten::add", 9 }, { "a.c", 4, LZ_COL_BACKWARD }, 1 } };
static const lz_launch_source second[] = { { 2, { "aten::add", 9 }, { "a.c", 4, LZ_COL_BACKWARD }, 0 } };
static const lz_launch_facts plan[] = {
    { { "add+mul #12345678", 17 }, true, 100, 50, 0, first, 3 },
    { { "matmul [1, 2, 3]", 16 }, false, 7, 8, 1000, second, 1 },
};

static void launch_all(lz_plan_key key, int times)
{
    lz_launch_numbers at = lz_profile_find(key);
    if (at.first == LZ_NO_LAUNCH)
        at = lz_profile_describe(key, plan, 2);
    for (int i = 0; i < times; i++) {
        lz_span s = lz_span_begin();
        lz_sleep_ns(50000);
        lz_span_end_launch(&s, &(lz_launched){ .profile = at.profile, .number = at.first, .compiled = i > 0 },
                           NULL);
        s = lz_span_begin();
        lz_span_end_launch(
            &s, &(lz_launched){ .profile = at.profile, .number = at.first + 1, .by = "onednn" }, NULL);
    }
}

static void check_rows(const lz_profile *p)
{
    const lz_profile_row *add = row_of(p, LZ_PROFILE_OPERATORS, "aten::add");
    const lz_profile_row *mul = row_of(p, LZ_PROFILE_OPERATORS, "aten::mul");
    const lz_profile_row *kernel = row_of(p, LZ_PROFILE_KERNELS, "add+mul #12345678");
    const lz_profile_row *call = row_of(p, LZ_PROFILE_KERNELS, "matmul [1, 2, 3]");
    assert_int_equal(kernel->calls, 4);
    assert_int_equal(kernel->compiled, 2);
    assert_string_equal(kernel->detail, "partly compiled");
    assert_string_equal(call->detail, "onednn");
    assert_true(call->flops == 4000);
    assert_int_equal(add->calls, 8); /* origins 0 and 2, not the two launches of the latter */
    assert_int_equal(mul->calls, 4);
    assert_int_equal(add->total_ns, kernel->total_ns + call->total_ns);
    assert_int_equal(mul->total_ns, kernel->total_ns);
    assert_int_equal(mul->self_ns, kernel->total_ns * 2 / 3 - kernel->total_ns / 3);
    assert_int_equal(add->read + mul->read, 4 * 107);
    assert_int_equal(add->written + mul->written, 4 * 58);
    for (int by = LZ_PROFILE_OPERATORS; by < LZ_PROFILE_TABLES; by++)
        assert_int_equal(sum_of_self(p, (lz_profile_by)by), kernel->self_ns + call->self_ns);
    assert_int_equal(lz_profile_summary_of(p).launches, 8);
}

static lz_err *test_launches_are_shared_out(void)
{
    lz_profile *p;
    LZ_TRY(lz_profile_begin(NULL));
    launch_all((lz_plan_key){ 1, 0 }, 1);
    launch_all((lz_plan_key){ 1, 0 }, 3);
    LZ_TRY(lz_profile_end(&p));
    if (!lz_check_failing())
        check_rows(p);
    const lz_profile_row *line = row_of(p, LZ_PROFILE_LINES, "a.c:4 backward");
    assert_string_equal(line->detail, "aten::add");
    assert_int_equal(row_of(p, LZ_PROFILE_LINES, "a.c:4")->calls, line->calls);
    lz_profile_free(p);
    return NULL;
}

/* A launch that turned out to do nothing is time of the span around it. */
static lz_err *test_launch_that_was_none(void)
{
    lz_profile *p;
    LZ_TRY(lz_profile_begin(NULL));
    lz_span outer = lz_span_begin(), s = lz_span_begin();
    nap_in(LZ_PHASE_CODE, NULL);
    lz_span_end_launch(&s, &(lz_launched){ .number = LZ_NO_LAUNCH }, NULL);
    lz_span_end(&outer, &(lz_span_note){ .phase = LZ_PHASE_PLAN });
    LZ_TRY(lz_profile_end(&p));
    const lz_profile_row *around = row_of(p, LZ_PROFILE_PHASES, "prepare launches");
    assert_int_equal(around->self_ns + row_of(p, LZ_PROFILE_PHASES, "compile kernels")->total_ns,
                     around->total_ns);
    assert_int_equal(lz_profile_summary_of(p).launches, 0);
    lz_profile_free(p);
    return NULL;
}

/* Numbers of a plan mean nothing in another profile. */
static lz_err *test_numbers_are_of_one_profile(void)
{
    lz_profile *p;
    const lz_profile_row *rows;
    LZ_TRY(lz_profile_begin(NULL));
    lz_launch_numbers at = lz_profile_describe((lz_plan_key){ 1, 0 }, plan, 2);
    lz_err *e = lz_profile_end(&p);
    if (!e)
        lz_profile_free(p);
    LZ_TRY(e);
    LZ_TRY(lz_profile_begin(NULL));
    lz_span s = lz_span_begin();
    lz_span_end_launch(&s, &(lz_launched){ .profile = at.profile, .number = at.first }, NULL);
    LZ_TRY(lz_profile_end(&p));
    assert_int_equal(lz_profile_rows(p, LZ_PROFILE_KERNELS, &rows), 0);
    lz_profile_free(p);
    return NULL;
}

/* ---- the trace ---- */

typedef struct event {
    double start, end;
    int64_t thread;
} event;

static lz_err *number_at(const lz_json *v, const char *key, double *out)
{
    LZ_TRY(lz_json_get_any(v, key, &v));
    return lz_json_as_double(v, key, out);
}

static lz_err *read_event(const lz_json *v, event *out)
{
    double length;
    LZ_TRY(number_at(v, "ts", &out->start));
    LZ_TRY(number_at(v, "dur", &length));
    out->end = out->start + length;
    return lz_json_get_int(v, "tid", &out->thread);
}

/* Of any two events of a thread one is within the other, or they do not meet; to half a nanosecond. */
static lz_err *check_nesting(const lz_json *events, size_t *n)
{
    const double e = 0.0005;
    for (uint32_t i = 0; i < events->len; i++) {
        event a, b;
        lz_str kind;
        LZ_TRY(lz_json_get_str(&events->items[i], "ph", &kind));
        if (kind.ptr[0] != 'X')
            continue;
        ++*n;
        LZ_TRY(read_event(&events->items[i], &a));
        for (uint32_t k = 0; k < i; k++) {
            LZ_TRY(lz_json_get_str(&events->items[k], "ph", &kind));
            if (kind.ptr[0] != 'X')
                continue;
            LZ_TRY(read_event(&events->items[k], &b));
            bool apart = a.thread != b.thread || a.end <= b.start + e || b.end <= a.start + e;
            bool within = (a.start >= b.start - e && a.end <= b.end + e)
                          || (b.start >= a.start - e && b.end <= a.end + e);
            assert_true(apart || within);
        }
    }
    return NULL;
}

static lz_err *check_trace(const lz_profile *p, size_t *n, int64_t *lost)
{
    lz_arena a;
    char *text;
    const lz_json *v, *events;
    LZ_TRY(lz_profile_trace(p, &text));
    lz_arena_init(&a);
    lz_err *e = lz_json_parse(&a, "trace", (lz_str){ text, strlen(text) }, &v);
    e = e ? e : lz_json_get_array(v, "traceEvents", &events);
    e = e ? e : lz_json_get_int(v, "lost", lost);
    e = e ? e : check_nesting(events, n);
    lz_mem_free(text);
    lz_arena_deinit(&a);
    return e;
}

static lz_err *take_nested(const lz_profile_options *o, lz_profile **out)
{
    LZ_TRY(lz_profile_begin(o));
    lz_span outer = lz_span_begin();
    nap_in(LZ_PHASE_COMPILE, "a name with \"quotes\", and \xff no UTF-8");
    launch_all((lz_plan_key){ 1, 2 }, 2);
    lz_span_end(&outer, &(lz_span_note){ .phase = LZ_PHASE_SYNC });
    return lz_profile_end(out);
}

static lz_err *test_trace_is_json_and_nests(void)
{
    lz_profile *p;
    size_t n = 0;
    int64_t lost = -1;
    LZ_TRY(take_nested(NULL, &p));
    lz_err *e = check_trace(p, &n, &lost);
    lz_profile_free(p);
    LZ_TRY(e);
    assert_int_equal(n, 6);
    assert_int_equal(lost, 0);
    return NULL;
}

/* Tables count what the trace has no room for. */
static lz_err *test_trace_is_bounded(void)
{
    lz_profile *p;
    size_t n = 0;
    int64_t lost = -1;
    LZ_TRY(take_nested(&(lz_profile_options){ .events = 2 }, &p));
    assert_int_equal(lz_profile_summary_of(p).launches, 4);
    assert_int_equal(lz_profile_summary_of(p).lost, 4);
    lz_err *e = check_trace(p, &n, &lost);
    lz_profile_free(p);
    LZ_TRY(e);
    assert_int_equal(n, 2);
    assert_int_equal(lost, 4);
    return NULL;
}

static lz_err *test_text_and_files(void)
{
    char path[4200], *text;
    lz_profile *p;
    LZ_TRY(take_nested(NULL, &p));
    lz_err *e = lz_profile_text(p, 1, &text);
    if (!e) {
        assert_non_null(strstr(text, "aten::add"));
        assert_null(strstr(text, "aten::mul  "));
        assert_non_null(strstr(text, "1 more"));
        lz_mem_free(text);
    }
    snprintf(path, sizeof path, "%s/p.json", lz_check_dir());
    e = e ? e : lz_profile_save(p, path);
    e = e ? e
          : lz_check_err(lz_profile_save(p, "/no/such/folder/p.txt"), LZ_ERR_NOT_FOUND, "/no/such/folder");
    lz_profile_free(p);
    return e;
}

/* ---- threads and forks ---- */

enum { THREADS = 4, STEPS = 200 };

static void *work(void *user)
{
    for (int i = 0; i < STEPS; i++) {
        lz_span s = lz_span_begin();
        launch_all((lz_plan_key){ (uint64_t)(uintptr_t)user % 2, 0 }, 1);
        lz_span_end(&s, &(lz_span_note){ .phase = LZ_PHASE_RUN });
    }
    return NULL;
}

static void test_many_threads(void **state)
{
    pthread_t threads[THREADS];
    lz_profile *p;
    (void)state;
    assert_null(lz_profile_begin(NULL));
    for (intptr_t i = 0; i < THREADS; i++)
        /* NOLINTNEXTLINE(performance-no-int-to-ptr): a number for the thread */
        assert_int_equal(pthread_create(&threads[i], NULL, work, (void *)i), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_null(lz_profile_end(&p));
    lz_profile_summary s = lz_profile_summary_of(p);
    assert_int_equal(s.launches, 2 * THREADS * STEPS);
    assert_int_equal(s.threads, THREADS + 1);
    assert_int_equal(row_of(p, LZ_PROFILE_OPERATORS, "aten::mul")->calls, THREADS * STEPS);
    assert_int_equal(sum_of_self(p, LZ_PROFILE_PHASES), row_of(p, LZ_PROFILE_PHASES, "run graph")->total_ns);
    lz_profile_free(p);
}

static void test_child_takes_no_part(void **state)
{
    lz_profile *p;
    (void)state;
    assert_null(lz_profile_begin(NULL));
    nap_in(LZ_PHASE_RUN, NULL);
    pid_t child = fork();
    if (child == 0) {
        lz_profile *own;
        nap_in(LZ_PHASE_RUN, NULL);
        lz_err *e = lz_profile_end(&own);
        bool good = lz_err_code(e) == LZ_ERR_ARG && !lz_profile_on();
        lz_err_free(e);
        e = lz_profile_begin(NULL);
        nap_in(LZ_PHASE_RUN, NULL);
        e = e ? e : lz_profile_end(&own);
        good = good && !e && row_of(own, LZ_PROFILE_PHASES, "run graph")->calls == 1;
        _exit(good ? 0 : 1);
    }
    int status = -1;
    waitpid(child, &status, 0);
    assert_int_equal(status, 0);
    assert_null(lz_profile_end(&p));
    assert_int_equal(row_of(p, LZ_PROFILE_PHASES, "run graph")->calls, 1);
    lz_profile_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = { LZ_TEST(test_begin_and_end_are_pairs),
                                        LZ_TEST(test_nothing_is_kept_while_it_is_off),
                                        LZ_TEST(test_spans_do_not_cross_profiles),
                                        LZ_TEST(test_self_times_add_up),
                                        LZ_TEST(test_launches_are_shared_out),
                                        LZ_TEST(test_launch_that_was_none),
                                        LZ_TEST(test_numbers_are_of_one_profile),
                                        LZ_TEST(test_trace_is_json_and_nests),
                                        LZ_TEST(test_trace_is_bounded),
                                        LZ_TEST(test_text_and_files),
                                        cmocka_unit_test(test_many_threads),
                                        cmocka_unit_test(test_child_takes_no_part) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
