/* Metrics as text: units, and the report. */
#include "base/metrics.h"

const unsigned lz_percentiles[LZ_PERCENTILES] = { 10, 50, 100, 200, 500, 800, 900, 950, 990 };

typedef struct scale {
    const char *suffix;
    uint64_t size;
} scale;

/* Each list ascends from size 1; a size of 0 ends it. */
static const scale scales[LZ_UNIT_COUNT][7] = {
    [LZ_UNIT_PLAIN] = { { "", 1 } },
    [LZ_UNIT_TIME] = { { "ns", 1 }, { "us", 1000 }, { "ms", 1000000 }, { "s", 1000000000 } },
    [LZ_UNIT_BYTES] = { { "B", 1 },
                        { "KiB", UINT64_C(1) << 10 },
                        { "MiB", UINT64_C(1) << 20 },
                        { "GiB", UINT64_C(1) << 30 },
                        { "TiB", UINT64_C(1) << 40 },
                        { "PiB", UINT64_C(1) << 50 } },
};

static uint64_t magnitude(lz_text *t, int64_t v)
{
    if (v < 0)
        lz_text_putc(t, '-');
    return v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
}

static void print_thousandths(lz_text *t, uint64_t whole, uint64_t part)
{
    lz_text_printf(t, "%llu.%03llu", (unsigned long long)whole, (unsigned long long)part);
}

void lz_unit_print(lz_text *t, lz_unit unit, int64_t v)
{
    uint64_t size = 1, left = magnitude(t, v), whole = left, part = 0;
    const scale *s = scales[unit];
    while (s[1].size && whole * size >= s[1].size) {
        size = (++s)->size;
        part = (left % size * 1000 + size / 2) / size; /* 1000 if it rounds up to the next integer */
        whole = left / size + part / 1000;
    }
    if (size == 1)
        lz_text_printf(t, "%llu", (unsigned long long)whole);
    else
        print_thousandths(t, whole, part % 1000);
    lz_text_puts(t, s->suffix);
}

static int64_t rounded(double v)
{
    const double most = 9.2e18;
    v = v > most ? most : v < -most ? -most : v;
    return (int64_t)(v < 0 ? v - 0.5 : v + 0.5);
}

static void print_rate(lz_text *t, const char *label, lz_unit unit, double rate)
{
    lz_text_printf(t, "  %s: ", label);
    if (unit == LZ_UNIT_PLAIN) {
        uint64_t milli = magnitude(t, rounded(rate * 1000));
        print_thousandths(t, milli / 1000, milli % 1000);
    } else
        lz_unit_print(t, unit, rounded(rate));
    lz_text_puts(t, " / second\n");
}

static void print_percentiles(lz_text *t, const lz_reading *r)
{
    lz_text_puts(t, "  Percentiles:");
    for (size_t i = 0; i < LZ_PERCENTILES; i++) {
        lz_text_printf(t, "%s %u%%=", i ? ";" : "", lz_percentiles[i] / 10);
        lz_unit_print(t, r->metric.unit, lz_percentile(r->sorted, r->kept, lz_percentiles[i]));
    }
    lz_text_putc(t, '\n');
}

static void print_series(lz_text *t, const lz_reading *r)
{
    lz_unit unit = r->metric.unit;
    if (!r->count)
        return;
    lz_text_printf(t, "Metric: %.*s\n  TotalSamples: %lld\n  Accumulator: ", LZ_FMT(r->metric.name),
                   (long long)r->count);
    lz_unit_print(t, unit, r->value);
    lz_text_puts(t, "\n  Range: ");
    lz_unit_print(t, unit, r->min);
    lz_text_puts(t, " to ");
    lz_unit_print(t, unit, r->max);
    lz_text_putc(t, '\n');
    if (r->rate > 0) {
        print_rate(t, "ValueRate", unit, r->value_rate);
        print_rate(t, "Rate", LZ_UNIT_PLAIN, r->rate);
    }
    print_percentiles(t, r);
}

static void print_counter(lz_text *t, const lz_reading *r)
{
    if (r->value)
        lz_text_printf(t, "Counter: %.*s\n  Value: %lld\n", LZ_FMT(r->metric.name), (long long)r->value);
}

lz_err *lz_metrics_report(lz_metrics *m, lz_text *out)
{
    lz_arena a;
    const lz_reading *r;
    size_t n = 0;
    lz_arena_init(&a);
    lz_err *e = lz_metrics_snapshot(m, &a, &r, &n);
    for (size_t i = 0; i < n; i++)
        if (r[i].metric.kind == LZ_METRIC_SERIES)
            print_series(out, &r[i]);
    for (size_t i = 0; i < n; i++)
        if (r[i].metric.kind == LZ_METRIC_COUNTER)
            print_counter(out, &r[i]);
    lz_arena_deinit(&a);
    return e ? e : lz_text_check(out);
}
