/* metrics.h - named counters and series of measured values.
 *
 * A name means one thing for the life of the lz_metrics: the first request creates the metric, later ones
 * find it, and the pointer is valid until lz_metrics_destroy. All functions may be called by many threads at
 * once. */
#ifndef LZ_BASE_METRICS_H
#define LZ_BASE_METRICS_H

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "base/text.h"
#include <stdatomic.h>

typedef enum lz_unit { LZ_UNIT_PLAIN, LZ_UNIT_TIME, LZ_UNIT_BYTES, LZ_UNIT_COUNT } lz_unit; /* time: ns */
typedef enum lz_metric_kind { LZ_METRIC_COUNTER, LZ_METRIC_SERIES } lz_metric_kind;

typedef struct lz_metric {
    lz_str name;
    lz_metric_kind kind;
    lz_unit unit;
} lz_metric;

typedef struct lz_counter {
    lz_metric metric;
    atomic_int_fast64_t value;
    char pad[64]; /* no two counters in one cache line */
} lz_counter;

typedef struct lz_series lz_series;
typedef struct lz_metrics lz_metrics;

/* keep: how many of its latest samples a series holds; 0 for 1024. */
LZ_MUST_USE lz_err *lz_metrics_create(size_t keep, lz_metrics **out);
void lz_metrics_destroy(lz_metrics *m);

/* Finds or makes. LZ_ERR_ARG if the name is of the other kind or another unit. */
LZ_MUST_USE lz_err *lz_metrics_counter(lz_metrics *m, lz_str name, lz_counter **out);
LZ_MUST_USE lz_err *lz_metrics_series(lz_metrics *m, lz_str name, lz_unit unit, lz_series **out);

static inline void lz_counter_add(lz_counter *c, int64_t n)
{
    atomic_fetch_add_explicit(&c->value, n, memory_order_relaxed);
}

void lz_series_add(lz_series *s, int64_t value);
void lz_series_add_at(lz_series *s, int64_t value, uint64_t now); /* now: a value of lz_clock_ns */
void lz_series_add_since(lz_series *s, uint64_t start);           /* adds lz_clock_ns() - start */

/* A counter's value or a series' total; false if the name is unknown. Creates nothing. */
bool lz_metrics_value(lz_metrics *m, lz_str name, int64_t *out);

/* Sets all values to zero and empties all series; names and pointers stay valid. */
void lz_metrics_reset(lz_metrics *m);

/* One metric at one moment. The rates are per second between the oldest and the newest kept sample, without
 * counting the oldest: two samples a second apart give a rate of 1. They are 0 if no time has passed. */
typedef struct lz_reading {
    lz_metric metric;
    int64_t value;           /* the counter's value; or the sum of all samples, saturated */
    int64_t count, min, max; /* of all samples since the last reset; 0 for a counter */
    const int64_t *sorted;   /* the kept samples, ascending */
    size_t kept;
    double rate, value_rate; /* samples, and their sum, per second */
} lz_reading;

/* Every metric in the order of names (by bytes). The result is in the arena and independent of m. Each
 * reading is consistent in itself. */
LZ_MUST_USE lz_err *lz_metrics_snapshot(lz_metrics *m, lz_arena *a, const lz_reading **out, size_t *count);

/* By nearest rank: the least sample that is not less than permille/1000 of the n samples. permille 0 gives
 * the least, 1000 the greatest; n 0 gives 0. */
int64_t lz_percentile(const int64_t *sorted, size_t n, unsigned permille);

/* The permilles a report shows, ascending. */
enum { LZ_PERCENTILES = 9 };
extern const unsigned lz_percentiles[LZ_PERCENTILES];

/* Appends "1.234ms", "512B", "-7": three decimals, rounded, in the largest unit in which the integer part is
 * not 0. */
void lz_unit_print(lz_text *t, lz_unit unit, int64_t v);

/* For users: series, then counters, by name, without those that are zero. */
LZ_MUST_USE lz_err *lz_metrics_report(lz_metrics *m, lz_text *out);

#endif
