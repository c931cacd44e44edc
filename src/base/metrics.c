#include "base/metrics.h"
#include "base/clock.h"
#include "base/lock.h"
#include "base/mem.h"
#include "base/vec.h"
#include <stdlib.h>

enum { DEFAULT_KEEP = 1024, LOCKS = 8 };

typedef struct sample {
    uint64_t at;
    int64_t value;
} sample;

struct lz_series {
    lz_metric metric;
    lz_lock *lock; /* one of `locks` */
    int64_t count, total, min, max;
    size_t keep;
    sample ring[]; /* sample number i is at i % keep */
};

/* Shared by all series: few threads add at the same time, and a fork takes every lock there is. */
static lz_lock locks[LOCKS] = { LZ_LOCK_INIT, LZ_LOCK_INIT, LZ_LOCK_INIT, LZ_LOCK_INIT,
                                LZ_LOCK_INIT, LZ_LOCK_INIT, LZ_LOCK_INIT, LZ_LOCK_INIT };

/* The arena holds every metric; `sorted` points to them by name. */
struct lz_metrics {
    lz_lock lock;
    lz_arena arena;
    LZ_VEC(lz_metric *) sorted;
    size_t keep;
};

lz_err *lz_metrics_create(size_t keep, lz_metrics **out)
{
    lz_metrics *m = lz_mem_zalloc(1, sizeof *m);
    if (!m)
        return lz_err_oom();
    lz_lock_init(&m->lock);
    m->keep = keep ? keep : DEFAULT_KEEP;
    lz_arena_init(&m->arena);
    *out = m;
    return NULL;
}

void lz_metrics_destroy(lz_metrics *m)
{
    if (!m)
        return;
    lz_vec_deinit(&m->sorted);
    lz_arena_deinit(&m->arena);
    lz_lock_deinit(&m->lock);
    lz_mem_free(m);
}

/* The index of the name, or where it would be inserted. */
static size_t place(const lz_metrics *m, lz_str name)
{
    size_t lo = 0, hi = m->sorted.len;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (lz_str_cmp(m->sorted.data[mid]->name, name) < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

static lz_metric *at(const lz_metrics *m, size_t i, lz_str name)
{
    bool hit = i < m->sorted.len && lz_str_eq(m->sorted.data[i]->name, name);
    return hit ? m->sorted.data[i] : NULL;
}

static lz_err *insert(lz_metrics *m, size_t i, const lz_metric *want, size_t bytes, lz_metric **out)
{
    LZ_TRY(lz_vec_reserve(&m->sorted, 1));
    lz_metric *made = lz_arena_zalloc(&m->arena, bytes);
    if (!made)
        return lz_err_oom();
    *made = *want;
    LZ_TRY(lz_arena_copy(&m->arena, want->name, &made->name));
    memmove(&m->sorted.data[i + 1], &m->sorted.data[i], (m->sorted.len - i) * sizeof *m->sorted.data);
    m->sorted.data[i] = made;
    m->sorted.len++;
    *out = made;
    return NULL;
}

static lz_err *find_or_make(lz_metrics *m, const lz_metric *want, size_t bytes, lz_metric **out)
{
    size_t i = place(m, want->name);
    lz_metric *hit = at(m, i, want->name);
    if (!hit) {
        lz_arena_mark mark = lz_arena_save(&m->arena);
        lz_err *e = insert(m, i, want, bytes, out);
        if (e)
            lz_arena_rewind(&m->arena, mark);
        return e;
    }
    if (hit->kind != want->kind || hit->unit != want->unit)
        return lz_errf(LZ_ERR_ARG, "metric %.*s is used in two ways", LZ_FMT(want->name));
    *out = hit;
    return NULL;
}

lz_err *lz_metrics_counter(lz_metrics *m, lz_str name, lz_counter **out)
{
    const lz_metric want = { .name = name, .kind = LZ_METRIC_COUNTER };
    lz_metric *found = NULL;
    lz_lock_take(&m->lock);
    lz_err *e = find_or_make(m, &want, sizeof **out, &found);
    lz_lock_give(&m->lock);
    if (!e)
        *out = (lz_counter *)found;
    return e;
}

lz_err *lz_metrics_series(lz_metrics *m, lz_str name, lz_unit unit, lz_series **out)
{
    const lz_metric want = { .name = name, .kind = LZ_METRIC_SERIES, .unit = unit };
    lz_metric *found = NULL;
    size_t bytes;
    if (!lz_size_mul(m->keep, sizeof(sample), &bytes) || !lz_size_add(bytes, sizeof **out, &bytes))
        return lz_err_oom();
    lz_lock_take(&m->lock);
    lz_err *e = find_or_make(m, &want, bytes, &found);
    lz_series *s = (lz_series *)found;
    if (s && !s->keep) { /* new, not yet visible to other threads */
        s->lock = &locks[m->sorted.len % LOCKS];
        s->keep = m->keep;
    }
    lz_lock_give(&m->lock);
    if (!e)
        *out = s;
    return e;
}

static int64_t saturated_add(int64_t a, int64_t b)
{
    int64_t sum;
    if (__builtin_add_overflow(a, b, &sum))
        sum = b < 0 ? INT64_MIN : INT64_MAX;
    return sum;
}

void lz_series_add_at(lz_series *s, int64_t value, uint64_t now)
{
    lz_lock_take(s->lock);
    s->min = s->count && s->min < value ? s->min : value;
    s->max = s->count && s->max > value ? s->max : value;
    s->ring[(uint64_t)s->count % s->keep] = (sample){ .at = now, .value = value };
    s->total = saturated_add(s->total, value);
    s->count++;
    lz_lock_give(s->lock);
}

void lz_series_add(lz_series *s, int64_t value)
{
    lz_series_add_at(s, value, lz_clock_ns());
}

void lz_series_add_since(lz_series *s, uint64_t start)
{
    uint64_t now = lz_clock_ns();
    lz_series_add_at(s, (int64_t)(now - start), now);
}

bool lz_metrics_value(lz_metrics *m, lz_str name, int64_t *out)
{
    lz_lock_take(&m->lock);
    lz_metric *hit = at(m, place(m, name), name);
    lz_lock_give(&m->lock);
    if (hit && hit->kind == LZ_METRIC_COUNTER)
        *out = atomic_load_explicit(&((lz_counter *)hit)->value, memory_order_relaxed);
    else if (hit) {
        lz_series *s = (lz_series *)hit;
        lz_lock_take(s->lock);
        *out = s->total;
        lz_lock_give(s->lock);
    }
    return hit != NULL;
}

static void reset(lz_metric *metric)
{
    if (metric->kind == LZ_METRIC_COUNTER) {
        atomic_store_explicit(&((lz_counter *)metric)->value, 0, memory_order_relaxed);
        return;
    }
    lz_series *s = (lz_series *)metric;
    lz_lock_take(s->lock);
    s->count = s->total = s->min = s->max = 0;
    lz_lock_give(s->lock);
}

void lz_metrics_reset(lz_metrics *m)
{
    lz_lock_take(&m->lock);
    for (size_t i = 0; i < m->sorted.len; i++)
        reset(m->sorted.data[i]);
    lz_lock_give(&m->lock);
}

static int ascending(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static void read_rates(const lz_series *s, lz_reading *out)
{
    uint64_t count = (uint64_t)s->count;
    size_t oldest = (size_t)((count - out->kept) % s->keep), newest = (size_t)((count - 1) % s->keep);
    if (!count || s->ring[newest].at <= s->ring[oldest].at)
        return;
    double seconds = (double)(s->ring[newest].at - s->ring[oldest].at) * 1e-9, sum = 0;
    for (size_t i = 0; i < out->kept; i++)
        sum += i == oldest ? 0 : (double)s->ring[i].value;
    out->rate = (double)(out->kept - 1) / seconds;
    out->value_rate = sum / seconds;
}

/* With s locked. */
static lz_err *read_samples(const lz_series *s, lz_arena *a, lz_reading *out, int64_t **values)
{
    out->kept = (uint64_t)s->count < s->keep ? (size_t)s->count : s->keep;
    out->value = s->total;
    out->count = s->count;
    out->min = s->min;
    out->max = s->max;
    read_rates(s, out);
    LZ_TRY(lz_arena_new(a, values, out->kept));
    for (size_t i = 0; i < out->kept; i++)
        (*values)[i] = s->ring[i].value;
    return NULL;
}

static lz_err *read_series(lz_series *s, lz_arena *a, lz_reading *out)
{
    int64_t *values;
    lz_lock_take(s->lock);
    lz_err *e = read_samples(s, a, out, &values);
    lz_lock_give(s->lock);
    if (e)
        return e;
    qsort(values, out->kept, sizeof *values, ascending);
    out->sorted = values;
    return NULL;
}

static lz_err *read_metric(lz_metric *metric, lz_arena *a, lz_reading *out)
{
    out->metric = *metric;
    LZ_TRY(lz_arena_copy(a, metric->name, &out->metric.name));
    if (metric->kind == LZ_METRIC_SERIES)
        return read_series((lz_series *)metric, a, out);
    out->value = atomic_load_explicit(&((lz_counter *)metric)->value, memory_order_relaxed);
    return NULL;
}

lz_err *lz_metrics_snapshot(lz_metrics *m, lz_arena *a, const lz_reading **out, size_t *count)
{
    lz_reading *readings;
    lz_metric **all;
    lz_lock_take(&m->lock); /* only for the list: metrics are never moved or removed */
    size_t n = m->sorted.len;
    lz_err *e = lz_arena_new(a, &all, n);
    if (!e && n)
        memcpy(all, m->sorted.data, n * sizeof *all);
    lz_lock_give(&m->lock);
    if (!e)
        e = lz_arena_new(a, &readings, n);
    for (size_t i = 0; !e && i < n; i++)
        e = read_metric(all[i], a, &readings[i]);
    if (e)
        return e;
    *out = readings;
    *count = n;
    return NULL;
}

int64_t lz_percentile(const int64_t *sorted, size_t n, unsigned permille)
{
    size_t rank = n / 1000 * permille + (n % 1000 * permille + 999) / 1000;
    return n ? sorted[rank ? rank - 1 : 0] : 0;
}
