/* Names of the process's counters and timers. */
#include "base/lock.h"
#include "base/mem.h"
#include "lazy/ctx.h"
#include "lazy/registry.h"
#include "lazy/runtime.h"
#include "op/op_table.h"
#include <stdlib.h>
#include <string.h>

static const char *const plain[] = {
#define X(id, name) name,
    LZ_COUNT_NAMES(X)
#undef X
};

/* Counters of operators. lazy:: sums over overloads, as the original does. */
typedef struct family {
    const char *prefix;
    size_t first;
    bool overloads;
} family;

static const family families[] = { { "lazy::", LZ_COUNT_OPS, false },
                                   { "IrNodeReused_", LZ_COUNT_REUSED, true },
                                   { "aten::", LZ_COUNT_FELL_BACK, true } };

enum { FAMILIES = sizeof families / sizeof *families };

static int64_t sum(const int64_t *n, const family *f, lz_str op)
{
    int64_t all = 0;
    for (size_t i = 1; i < LZ_OP_COUNT; i++) {
        const lz_op_row *row = &lz_op_table[i];
        bool is =
            lz_str_is(op, row->name) || (!f->overloads && lz_str_eq(op, (lz_str){ row->name, row->base }));
        all += is ? n[f->first + i] : 0;
    }
    return all;
}

static int64_t *read_all(lz_runtime *r)
{
    int64_t *n = lz_mem_zalloc(LZ_COUNTS, sizeof *n);
    if (n)
        lz_runtime_counters(r, n);
    return n;
}

static bool find(const int64_t *n, lz_str name, int64_t *out)
{
    for (size_t i = 0; i < LZ_COUNT_OPS; i++)
        if (lz_str_is(name, plain[i])) {
            *out = n[i];
            return n[i] != 0;
        }
    for (size_t i = 0; i < FAMILIES; i++) {
        lz_str prefix = lz_str_of(families[i].prefix);
        if (!lz_str_starts(name, prefix))
            continue;
        *out = sum(n, &families[i], lz_str_sub(name, prefix.len, name.len));
        return *out != 0;
    }
    return false;
}

/* Memory of the compiled graphs. Clearing counters does not change it, so that it is not listed among
 * them. */
enum { GRAPH_PARTS = 5 };

static void graph_parts(lz_runtime *r, lz_metric_value out[GRAPH_PARTS])
{
    lz_cache_parts p = lz_cache_measure(r->cache);
    out[0] = (lz_metric_value){ "GraphBytes", (int64_t)p.all };
    out[1] = (lz_metric_value){ "GraphKeyBytes", (int64_t)p.keys };
    out[2] = (lz_metric_value){ "GraphLineBytes", (int64_t)p.lines };
    out[3] = (lz_metric_value){ "GraphExecutableBytes", (int64_t)p.executables };
    out[4] = (lz_metric_value){ "GraphComputationBytes", (int64_t)p.computations };
}

static bool find_graph_part(lz_runtime *r, const char *name, int64_t *out)
{
    lz_metric_value parts[GRAPH_PARTS];
    bool is = false;
    if (!lz_str_starts(lz_str_of(name), LZ_STR("Graph")))
        return false;
    graph_parts(r, parts);
    for (size_t i = 0; !is && i < GRAPH_PARTS; i++) {
        is = strcmp(parts[i].name, name) == 0;
        *out = is ? parts[i].value : *out;
    }
    return is;
}

enum { BACKEND_METRICS = 64 };

static bool ask_backends(const char *name, int64_t *out)
{
    bool is = false;
    for (int type = 0; !is && type < LZ_BACKEND_TYPES; type++) {
        const lz_backend *b = lz_backend_of((int16_t)type);
        lz_metric_value values[BACKEND_METRICS];
        size_t n = b ? b->get_metrics(b->self, values, BACKEND_METRICS) : 0;
        for (size_t i = 0; !is && i < n && i < BACKEND_METRICS; i++) {
            is = strcmp(values[i].name, name) == 0;
            *out = is ? values[i].value : *out;
        }
    }
    return is;
}

bool lz_counter_value(const char *name, int64_t *value)
{
    lz_runtime *r = lz_runtime_if_there();
    int64_t *n = r ? read_all(r) : NULL, v = 0;
    bool is = n
              && (find(n, lz_str_of(name), &v) || lz_metrics_value(r->metrics, lz_str_of(name), &v)
                  || find_graph_part(r, name, &v) || ask_backends(name, &v));
    if (is && value)
        *value = v;
    lz_mem_free(n);
    lz_runtime_release(r);
    return is && v != 0;
}

/* ---- lists ---- */

static lz_err *add(lz_metrics *m, lz_str name, int64_t v)
{
    lz_counter *c;
    LZ_TRY(lz_metrics_counter(m, name, &c));
    atomic_fetch_add(&c->value, v);
    return NULL;
}

static lz_err *add_op(lz_metrics *m, const family *f, size_t op, int64_t v)
{
    char name[256];
    lz_text t = { 0 };
    const lz_op_row *row = &lz_op_table[op];
    lz_text_printf(&t, "%s%.*s", f->prefix, f->overloads ? (int)strlen(row->name) : row->base, row->name);
    lz_err *e = lz_text_check(&t);
    size_t n = t.len < sizeof name ? t.len : sizeof name;
    if (!e) {
        memcpy(name, t.ptr, n);
        e = add(m, (lz_str){ name, n }, v);
    }
    lz_text_deinit(&t);
    return e;
}

static lz_err *add_metrics(lz_metrics *m, const lz_backend *b)
{
    lz_metric_value values[BACKEND_METRICS];
    size_t n = b->get_metrics(b->self, values, BACKEND_METRICS);
    for (size_t i = 0; i < n && i < BACKEND_METRICS; i++)
        if (values[i].value)
            LZ_TRY(add(m, lz_str_of(values[i].name), values[i].value));
    return NULL;
}

/* Copies the counters to the metrics before they are read. */
static lz_err *fill(lz_metrics *m, const int64_t *n)
{
    for (size_t i = 0; i < LZ_COUNT_OPS; i++)
        if (n[i])
            LZ_TRY(add(m, lz_str_of(plain[i]), n[i]));
    for (size_t k = 0; k < FAMILIES; k++)
        for (size_t i = 1; i < LZ_OP_COUNT; i++)
            if (n[families[k].first + i])
                LZ_TRY(add_op(m, &families[k], i, n[families[k].first + i]));
    return NULL;
}

static lz_err *counters_of(lz_runtime *r, lz_metrics **out)
{
    int64_t *n = read_all(r);
    lz_err *e = n ? lz_metrics_create(1, out) : lz_err_oom();
    if (!e) {
        e = fill(*out, n);
        if (e)
            lz_metrics_destroy(*out);
    }
    lz_mem_free(n);
    return e;
}

static lz_err *list_names(lz_runtime *r)
{
    lz_metrics *m;
    const lz_reading *all;
    size_t n;
    LZ_TRY(counters_of(r, &m));
    lz_arena_deinit(&r->names);
    lz_arena_init(&r->names);
    r->nnames = 0;
    lz_err *e = NULL;
    for (int type = 0; !e && type < LZ_BACKEND_TYPES; type++) {
        const lz_backend *b = lz_backend_of((int16_t)type);
        e = b ? add_metrics(m, b) : NULL;
    }
    if (!e)
        e = lz_metrics_snapshot(m, &r->names, &all, &n);
    if (!e)
        e = lz_arena_new(&r->names, &r->name, n);
    for (size_t i = 0; !e && i < n; i++) {
        lz_str copy;
        e = lz_arena_copy(&r->names, all[i].metric.name, &copy);
        if (!e)
            r->name[r->nnames++] = copy.ptr;
    }
    lz_metrics_destroy(m);
    return e;
}

const char *lz_counter_name(size_t i)
{
    lz_runtime *r = lz_runtime_if_there();
    if (!r)
        return NULL;
    lz_lock_take(&r->names_lock);
    if (i == 0)
        lz_err_drop(list_names(r));
    const char *name = i < r->nnames ? r->name[i] : NULL;
    lz_lock_give(&r->names_lock);
    lz_runtime_release(r);
    return name;
}

void lz_metrics_clear(void)
{
    lz_runtime *r = lz_runtime_if_there();
    if (!r)
        return;
    lz_runtime_clear(r);
    lz_metrics_reset(r->metrics);
    lz_runtime_release(r);
}

/* ---- the report ---- */

static void put_backends(lz_text *out)
{
    for (int type = 0; type < LZ_BACKEND_TYPES; type++) {
        const lz_backend *b = lz_backend_of((int16_t)type);
        const char *text = b ? b->create_metric_report(b->self) : "";
        lz_metric_value values[BACKEND_METRICS];
        size_t n = b ? b->get_metrics(b->self, values, BACKEND_METRICS) : 0;
        for (size_t i = 0; i < n && i < BACKEND_METRICS; i++)
            lz_text_printf(out, "Backend %s: %s\n  Value: %lld\n", b->name, values[i].name,
                           (long long)values[i].value);
        if (text && *text)
            lz_text_printf(out, "%s\n", text);
    }
}

static void put_graphs(lz_runtime *r, lz_text *out)
{
    lz_metric_value parts[GRAPH_PARTS];
    graph_parts(r, parts);
    for (size_t i = 0; i < GRAPH_PARTS && parts[0].value; i++)
        lz_text_printf(out, "Compiled graphs: %s\n  Value: %lld\n", parts[i].name, (long long)parts[i].value);
}

static lz_err *report(lz_runtime *r, lz_text *out)
{
    lz_metrics *m;
    LZ_TRY(lz_metrics_report(r->metrics, out));
    LZ_TRY(counters_of(r, &m));
    lz_err *e = lz_metrics_report(m, out);
    lz_metrics_destroy(m);
    lz_runtime_put_warnings(r, out);
    put_graphs(r, out);
    put_backends(out);
    return e;
}

lz_err *lz_metrics_text(char **out)
{
    lz_text t = { 0 };
    lz_runtime *r = lz_runtime_if_there();
    lz_err *e = r ? report(r, &t) : NULL;
    lz_runtime_release(r);
    if (!e)
        e = lz_text_take(&t, out);
    lz_text_deinit(&t);
    return e;
}

void lz_text_free(char *text)
{
    lz_mem_free(text);
}
