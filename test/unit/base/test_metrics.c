#include "base/clock.h"
#include "base/mem.h"
#include "base/metrics.h"
#include "check.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 8 };

static uint32_t seed = 1;

static int64_t random_value(void)
{
    seed = seed * 1664525U + 1013904223U;
    return (int64_t)(seed >> 8) % 100 - 30;
}

static lz_err *with_metrics(size_t keep, lz_err *(*run)(lz_metrics *m))
{
    lz_metrics *m;
    LZ_TRY(lz_metrics_create(keep, &m));
    lz_err *e = run(m);
    lz_metrics_destroy(m);
    return e;
}

static lz_err *names(lz_metrics *m)
{
    const char *const list[] = { "b", "a", "", "ab", "aa", "b" };
    lz_counter *c[6], *again;
    for (int i = 0; i < 6; i++)
        LZ_TRY(lz_metrics_counter(m, lz_str_of(list[i]), &c[i]));
    for (int i = 0; i < 6; i++) {
        LZ_TRY(lz_metrics_counter(m, lz_str_of(list[i]), &again));
        assert_ptr_equal(again, c[i]);
        for (int j = 0; j < i; j++)
            assert_int_equal(c[i] == c[j], strcmp(list[i], list[j]) == 0);
    }
    return NULL;
}

static lz_err *test_a_name_is_one_counter(void)
{
    return with_metrics(0, names);
}

static lz_err *clashes(lz_metrics *m)
{
    lz_counter *c;
    lz_series *s, *again;
    int64_t v;
    LZ_TRY(lz_metrics_counter(m, LZ_STR("c"), &c));
    LZ_TRY(lz_metrics_series(m, LZ_STR("s"), LZ_UNIT_TIME, &s));
    LZ_TRY(lz_metrics_series(m, LZ_STR("s"), LZ_UNIT_TIME, &again));
    assert_ptr_equal(s, again);
    LZ_TRY(lz_check_err(lz_metrics_counter(m, LZ_STR("s"), &c), LZ_ERR_ARG, "metric s "));
    LZ_TRY(lz_check_err(lz_metrics_series(m, LZ_STR("c"), LZ_UNIT_PLAIN, &s), LZ_ERR_ARG, "metric c "));
    LZ_TRY(lz_check_err(lz_metrics_series(m, LZ_STR("s"), LZ_UNIT_BYTES, &s), LZ_ERR_ARG, "metric s "));
    lz_counter_add(c, 5);
    lz_counter_add(c, -7);
    assert_true(lz_metrics_value(m, LZ_STR("c"), &v) && v == -2);
    lz_series_add(s, 11);
    lz_series_add(s, 2);
    assert_true(lz_metrics_value(m, LZ_STR("s"), &v) && v == 13);
    assert_false(lz_metrics_value(m, LZ_STR("x"), &v));
    return NULL;
}

static lz_err *test_a_name_has_one_use(void)
{
    return with_metrics(0, clashes);
}

static int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

/* By the definition: try every sample, count those it is not exceeded by. */
static int64_t slow_percentile(const int64_t *v, size_t n, unsigned permille)
{
    int64_t best = INT64_MAX;
    for (size_t i = 0; i < n; i++) {
        size_t at_most = 0;
        for (size_t j = 0; j < n; j++)
            at_most += v[j] <= v[i];
        if (at_most * 1000 >= permille * n && v[i] < best)
            best = v[i];
    }
    return n ? best : 0;
}

static lz_err *test_percentiles_are_nearest_ranks(void)
{
    int64_t v[40], sorted[40];
    for (size_t n = 0; n <= 40; n++) {
        for (size_t i = 0; i < n; i++)
            v[i] = sorted[i] = random_value();
        qsort(sorted, n, sizeof *sorted, by_value);
        for (unsigned permille = 0; permille <= 1000; permille++)
            assert_int_equal(lz_percentile(sorted, n, permille), slow_percentile(v, n, permille));
    }
    for (int i = 1; i < LZ_PERCENTILES; i++)
        assert_true(lz_percentiles[i - 1] < lz_percentiles[i] && lz_percentiles[i] < 1000);
    return NULL;
}

enum { KEEP = 8, SECOND = 1000000000 };

static bool near(double a, double b)
{
    return a - b < 1e-9 && b - a < 1e-9;
}

/* n samples half a second apart, against sums made on the side. */
static lz_err *check_samples(size_t n, lz_arena *a)
{
    int64_t v[64], total = 0, last = 0;
    const lz_reading *r = NULL;
    lz_metrics *m;
    lz_series *s;
    size_t count = 0, kept = n < KEEP ? n : KEEP;
    LZ_TRY(lz_metrics_create(KEEP, &m));
    lz_err *e = lz_metrics_series(m, LZ_STR("s"), LZ_UNIT_PLAIN, &s);
    for (size_t i = 0; !e && i < n; i++) {
        total += v[i] = random_value();
        lz_series_add_at(s, v[i], 77 + i * (SECOND / 2));
    }
    if (!e)
        e = lz_metrics_snapshot(m, a, &r, &count);
    lz_metrics_destroy(m); /* the snapshot stays */
    if (e)
        return e;
    for (size_t i = 1; i < kept; i++)
        last += v[n - kept + i];
    assert_int_equal(count, 1);
    assert_true(lz_str_is(r->metric.name, "s") && r->metric.kind == LZ_METRIC_SERIES);
    assert_true(r->value == total && r->count == (int64_t)n && r->kept == kept);
    assert_true(near(r->rate, kept > 1 ? 2 : 0));
    assert_true(near(r->value_rate, kept > 1 ? (double)last / ((double)(kept - 1) * 0.5) : 0));
    qsort(v + n - kept, kept, sizeof *v, by_value);
    assert_true(kept == 0 || memcmp(r->sorted, v + n - kept, kept * sizeof *v) == 0);
    qsort(v, n, sizeof *v, by_value);
    assert_true(r->min == (n ? v[0] : 0) && r->max == (n ? v[n - 1] : 0));
    return NULL;
}

static lz_err *test_the_latest_samples_are_kept(void)
{
    lz_err *e = NULL;
    for (size_t n = 0; !e && n <= (size_t)3 * KEEP; n++) {
        lz_arena a;
        lz_arena_init(&a);
        e = check_samples(n, &a);
        lz_arena_deinit(&a);
    }
    return e;
}

static lz_err *extremes(lz_metrics *m)
{
    lz_series *s;
    int64_t v;
    LZ_TRY(lz_metrics_series(m, LZ_STR("s"), LZ_UNIT_PLAIN, &s));
    lz_series_add_at(s, INT64_MAX, 2);
    lz_series_add_at(s, INT64_MAX, 1); /* a clock that seems to go back */
    assert_true(lz_metrics_value(m, LZ_STR("s"), &v) && v == INT64_MAX);
    lz_metrics_reset(m);
    lz_series_add(s, INT64_MIN);
    lz_series_add(s, -1);
    assert_true(lz_metrics_value(m, LZ_STR("s"), &v) && v == INT64_MIN);
    lz_metrics_reset(m);
    uint64_t start = lz_clock_ns() - 5000;
    lz_series_add_since(s, start);
    assert_true(lz_metrics_value(m, LZ_STR("s"), &v) && v >= 5000 && v < 60 * (int64_t)SECOND);
    return NULL;
}

static lz_err *test_extremes(void)
{
    return with_metrics(4, extremes);
}

static lz_err *too_many(lz_metrics *m)
{
    lz_series *s;
    lz_err *e = lz_metrics_series(m, LZ_STR("s"), LZ_UNIT_PLAIN, &s);
    assert_int_equal(lz_err_code(e), LZ_ERR_MEMORY);
    lz_err_free(e);
    return NULL;
}

static lz_err *test_absurd_rings_are_refused(void)
{
    LZ_TRY(with_metrics(SIZE_MAX, too_many));
    return with_metrics(SIZE_MAX / 16, too_many);
}

static lz_err *fill(lz_metrics *m, bool counters_first)
{
    lz_counter *c;
    lz_series *time, *bytes, *plain;
    if (counters_first)
        LZ_TRY(lz_metrics_counter(m, LZ_STR("Hits"), &c));
    LZ_TRY(lz_metrics_series(m, LZ_STR("Upload"), LZ_UNIT_BYTES, &bytes));
    LZ_TRY(lz_metrics_series(m, LZ_STR("Compile"), LZ_UNIT_TIME, &time));
    LZ_TRY(lz_metrics_series(m, LZ_STR("Empty"), LZ_UNIT_TIME, &plain));
    LZ_TRY(lz_metrics_series(m, LZ_STR("Size"), LZ_UNIT_PLAIN, &plain));
    LZ_TRY(lz_metrics_counter(m, LZ_STR("Zero"), &c));
    LZ_TRY(lz_metrics_counter(m, LZ_STR("Hits"), &c));
    lz_counter_add(c, 12);
    lz_series_add_at(time, 1234567, 0);
    lz_series_add_at(time, 2000000, 2 * (uint64_t)SECOND);
    lz_series_add_at(bytes, 1536, 5);
    for (int i = 1; i <= 100; i++)
        lz_series_add_at(plain, i, (uint64_t)i * (SECOND / 4));
    return NULL;
}

static lz_err *report(lz_metrics *m)
{
    lz_text t = { 0 };
    lz_err *e = fill(m, false);
    if (!e)
        e = lz_metrics_report(m, &t);
    if (!e)
        assert_true(lz_str_is(
            lz_text_view(&t),
            "Metric: Compile\n  TotalSamples: 2\n  Accumulator: 3.235ms\n  Range: 1.235ms to 2.000ms\n"
            "  ValueRate: 1.000ms / second\n  Rate: 0.500 / second\n"
            "  Percentiles: 1%=1.235ms; 5%=1.235ms; 10%=1.235ms; 20%=1.235ms; 50%=1.235ms; 80%=2.000ms;"
            " 90%=2.000ms; 95%=2.000ms; 99%=2.000ms\n"
            "Metric: Size\n  TotalSamples: 100\n  Accumulator: 5050\n  Range: 1 to 100\n"
            "  ValueRate: 204.000 / second\n  Rate: 4.000 / second\n"
            "  Percentiles: 1%=1; 5%=5; 10%=10; 20%=20; 50%=50; 80%=80; 90%=90; 95%=95; 99%=99\n"
            "Metric: Upload\n  TotalSamples: 1\n  Accumulator: 1.500KiB\n  Range: 1.500KiB to 1.500KiB\n"
            "  Percentiles: 1%=1.500KiB; 5%=1.500KiB; 10%=1.500KiB; 20%=1.500KiB; 50%=1.500KiB;"
            " 80%=1.500KiB; 90%=1.500KiB; 95%=1.500KiB; 99%=1.500KiB\n"
            "Counter: Hits\n  Value: 12\n"));
    lz_text_deinit(&t);
    return e;
}

static lz_err *test_report(void)
{
    return with_metrics(0, report);
}

static lz_err *snapshot(lz_metrics *m)
{
    const char *const want[] = { "Compile", "Empty", "Hits", "Size", "Upload", "Zero" };
    const lz_reading *r;
    size_t n;
    lz_arena a;
    lz_arena_init(&a);
    lz_err *e = fill(m, true);
    if (!e)
        e = lz_metrics_snapshot(m, &a, &r, &n);
    if (!e) {
        assert_int_equal(n, 6);
        for (size_t i = 0; i < n; i++)
            assert_true(lz_str_is(r[i].metric.name, want[i]));
        lz_metrics_reset(m);
        assert_true(r[2].metric.kind == LZ_METRIC_COUNTER && r[2].value == 12); /* not reset with it */
        e = lz_metrics_snapshot(m, &a, &r, &n);
    }
    for (size_t i = 0; !e && i < 6; i++) {
        assert_true(lz_str_is(r[i].metric.name, want[i]) && r[i].value == 0 && r[i].count == 0);
        assert_true(r[i].kept == 0 && r[i].min == 0 && r[i].max == 0);
    }
    lz_arena_deinit(&a);
    return e;
}

static lz_err *test_snapshot_and_reset(void)
{
    return with_metrics(0, snapshot);
}

static lz_err *test_units(void)
{
    static const struct {
        lz_unit unit;
        int64_t v;
        const char *text;
    } rows[] = {
        { LZ_UNIT_PLAIN, 0, "0" },
        { LZ_UNIT_PLAIN, INT64_MIN, "-9223372036854775808" },
        { LZ_UNIT_TIME, 0, "0ns" },
        { LZ_UNIT_TIME, 999, "999ns" },
        { LZ_UNIT_TIME, 1000, "1.000us" },
        { LZ_UNIT_TIME, 999999, "999.999us" },
        { LZ_UNIT_TIME, 1234499, "1.234ms" },
        { LZ_UNIT_TIME, 1234500, "1.235ms" },
        { LZ_UNIT_TIME, 999999499, "999.999ms" },
        { LZ_UNIT_TIME, 999999500, "1.000s" },
        { LZ_UNIT_TIME, -1500000000, "-1.500s" },
        { LZ_UNIT_TIME, 3600000000000, "3600.000s" },
        { LZ_UNIT_TIME, INT64_MAX, "9223372036.855s" },
        { LZ_UNIT_BYTES, 1023, "1023B" },
        { LZ_UNIT_BYTES, 1024, "1.000KiB" },
        { LZ_UNIT_BYTES, (1 << 20) - 1, "1023.999KiB" },
        { LZ_UNIT_BYTES, (1 << 30) - 1, "1.000GiB" },
        { LZ_UNIT_BYTES, 3 << 19, "1.500MiB" },
        { LZ_UNIT_BYTES, INT64_MAX, "8192.000PiB" },
        { LZ_UNIT_BYTES, INT64_MIN, "-8192.000PiB" },
    };
    lz_text t = { 0 };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        lz_text_clear(&t);
        lz_unit_print(&t, rows[i].unit, rows[i].v);
        if (!t.failed)
            assert_true(lz_str_is(lz_text_view(&t), rows[i].text));
    }
    lz_err *e = lz_text_check(&t);
    lz_text_deinit(&t);
    return e;
}

/* Read back, a printed value is within half of its last digit. */
static lz_err *test_units_are_rounded(void)
{
    static const char *const suffix[] = { "KiB", "MiB", "GiB", "TiB", "PiB" };
    lz_text t = { 0 };
    char *text = NULL;
    lz_err *e = NULL;
    for (int i = 0; !e && i < 20; i++) {
        int64_t v = (random_value() + 31) * ((int64_t)1 << (10 + 2 * i)) + random_value();
        lz_unit_print(&t, LZ_UNIT_BYTES, v);
        e = lz_text_take(&t, &text);
        if (e)
            break;
        char *end;
        double printed = strtod(text, &end), size = 1;
        for (int k = 0; k < 5; k++)
            size = strcmp(end, suffix[k]) == 0 ? (double)((int64_t)1 << (10 * (k + 1))) : size;
        assert_true(size > 1 && printed >= 1 && (printed < 1024 || size > 1e15));
        assert_true(near((double)v / size - printed, 0) || (double)v / size - printed <= 0.0005000001);
        assert_true(printed - (double)v / size <= 0.0005000001);
        lz_mem_free(text);
    }
    lz_text_deinit(&t);
    return e;
}

typedef struct client {
    pthread_t thread;
    lz_metrics *m;
    int id;
    lz_err *err;
} client;

static lz_err *count_and_measure(client *c)
{
    lz_counter *shared, *pair;
    lz_series *s;
    for (int i = 0; i < 20; i++) {
        char name[16];
        snprintf(name, sizeof name, "pair %d", (i + c->id) % 20);
        LZ_TRY(lz_metrics_counter(c->m, lz_str_of(name), &pair));
        LZ_TRY(lz_metrics_counter(c->m, LZ_STR("shared"), &shared));
        LZ_TRY(lz_metrics_series(c->m, LZ_STR("series"), LZ_UNIT_PLAIN, &s));
        lz_counter_add(pair, i);
        for (int k = 0; k < 100; k++) {
            lz_counter_add(shared, 1);
            lz_series_add(s, k);
        }
    }
    return NULL;
}

static void *use_metrics(void *arg)
{
    client *c = arg;
    c->err = count_and_measure(c);
    return NULL;
}

/* While the others write: what is seen only grows and fits together. */
static lz_err *watch(lz_metrics *m)
{
    int64_t last = 0;
    lz_err *e = NULL;
    for (int i = 0; !e && i < 20; i++) {
        const lz_reading *r;
        size_t n = 0;
        lz_arena a;
        lz_arena_init(&a);
        e = lz_metrics_snapshot(m, &a, &r, &n);
        for (size_t k = 1; k < n; k++)
            assert_true(lz_str_cmp(r[k - 1].metric.name, r[k].metric.name) < 0);
        for (size_t k = 0; k < n; k++)
            if (lz_str_is(r[k].metric.name, "series")) {
                assert_true(r[k].count >= last && r[k].kept <= (size_t)r[k].count && r[k].max < 100);
                last = r[k].count;
            }
        lz_arena_deinit(&a);
    }
    return e;
}

static void check_totals(lz_metrics *m)
{
    int64_t v, sum = 0;
    assert_true(lz_metrics_value(m, LZ_STR("shared"), &v) && v == INT64_C(2000) * THREADS);
    assert_true(lz_metrics_value(m, LZ_STR("series"), &v) && v == INT64_C(4950) * 20 * THREADS);
    for (int i = 0; i < 20; i++) {
        char name[16];
        snprintf(name, sizeof name, "pair %d", i);
        assert_true(lz_metrics_value(m, lz_str_of(name), &v));
        sum += v;
    }
    assert_true(sum == INT64_C(190) * THREADS);
}

static lz_err *hammer(lz_metrics *m)
{
    client all[THREADS];
    for (int i = 0; i < THREADS; i++) {
        all[i] = (client){ .m = m, .id = i };
        assert_int_equal(pthread_create(&all[i].thread, NULL, use_metrics, &all[i]), 0);
    }
    lz_err *e = watch(m);
    for (int i = 0; i < THREADS; i++)
        pthread_join(all[i].thread, NULL);
    for (int i = 0; i < THREADS; i++)
        e = lz_err_first(e, all[i].err);
    if (!e)
        check_totals(m);
    return e;
}

static lz_err *test_many_threads(void)
{
    return with_metrics(64, hammer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LZ_TEST(test_a_name_is_one_counter),
        LZ_TEST(test_a_name_has_one_use),
        LZ_TEST(test_percentiles_are_nearest_ranks),
        LZ_TEST(test_the_latest_samples_are_kept),
        LZ_TEST(test_extremes),
        LZ_TEST(test_absurd_rings_are_refused),
        LZ_TEST(test_report),
        LZ_TEST(test_snapshot_and_reset),
        LZ_TEST(test_units),
        LZ_TEST(test_units_are_rounded),
        LZ_TEST(test_many_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
