#include "lazy/watch.h"
#include "base/log.h"
#include "lazy/flat_text.h"
#include "lazy/lazy_scope.h"
#include "lazy/lazy_storage.h"
#include "lazy/sync.h"

enum {
    GROWTHS = 8,    /* graphs of one line, each larger than the one before */
    DROPS = 4,      /* graphs that were compiled again */
    RISES = 32,     /* syncs in a row, each with more tensors or pending nodes than the one before */
    LOOKED_AT = 256 /* nodes or tensors from which the most frequent line is taken */
};

_Static_assert((int)LZ_SLOWDOWNS == (int)LZ_WARNINGS, "the report keeps one sentence of each kind");

void lz_watch_deinit(lz_watch *w)
{
    for (int i = 0; i < LZ_SLOWDOWNS; i++)
        lz_text_deinit(&w->warnings[i]);
}

static void follow(lz_rising_count *s, size_t v)
{
    if (v < s->last || !s->length)
        *s = (lz_rising_count){ v, v, 1 };
    else if (v > s->last) {
        s->last = v;
        s->length++;
    }
}

/* Limits repetition: true after `least` times, and each time the number has doubled. */
static bool is_time(uint32_t length, uint32_t least)
{
    uint32_t times = length / least;
    return times > 0 && length % least == 0 && (times & (times - 1)) == 0;
}

/* ---- reports ---- */

/* Publishes a finished warning: to the report of the runtime and to the log. */
static void report(lz_ctx *c, lz_slowdown t)
{
    lz_text *warning = &c->syncer->watch.warnings[t];
    lz_text_putc(warning, '\0');
    lz_err *e = lz_text_check(warning);
    if (e) {
        lz_err_free(e);
        lz_text_clear(warning);
        return;
    }
    lz_runtime_warn(c->shared, (int)t, warning->ptr);
    lz_logf(LZ_LOG_WARN, "%s", warning->ptr);
}

static lz_text *begin(lz_ctx *c, lz_slowdown t)
{
    lz_text *warning = &c->syncer->watch.warnings[t];
    lz_text_clear(warning);
    return warning;
}

static void put_line(lz_text *out, lz_loc at)
{
    if (at.file)
        lz_put_loc(out, at);
    else
        lz_text_puts(out, "an unknown line");
}

/* ---- lines ---- */

static bool same_line(lz_loc a, lz_loc b)
{
    return a.file == b.file && a.line == b.line;
}

/* The most frequent line; the first of equally frequent ones. */
static lz_loc commonest(const lz_loc *v, size_t n)
{
    lz_loc best = { 0 };
    size_t most = 0;
    for (size_t i = 0; i < n; i++) {
        size_t k = 0;
        for (size_t j = i; j < n; j++)
            k += same_line(v[i], v[j]);
        if (v[i].file && k > most) {
            most = k;
            best = v[i];
        }
    }
    return best;
}

/* The most frequent line among evenly spaced nodes of the walk. */
static lz_loc line_of_graph(const lz_walk *w)
{
    lz_loc some[LOOKED_AT];
    size_t n = w->nodes.len < LOOKED_AT ? w->nodes.len : LOOKED_AT;
    for (size_t i = 0; i < n; i++)
        some[i] = w->locs.data[i * w->nodes.len / n];
    return commonest(some, n);
}

/* The most frequent line among the newest pending storages. */
static lz_loc line_of_pending(const lz_ctx *c)
{
    lz_loc some[LOOKED_AT];
    size_t n = 0;
    for (const lz_lazy_storage *a = c->live; a && a->value.node && n < LOOKED_AT; a = a->next)
        some[n++] = a->value.node->at;
    return commonest(some, n);
}

/* ---- graphs that grow ---- */

static lz_rising_count *streak_of(lz_watch *w, lz_loc at)
{
    for (int i = 0; i < LZ_WATCHED_LINES; i++)
        if (w->lines[i].nodes.length && same_line(w->lines[i].at, at))
            return &w->lines[i].nodes;
    uint32_t i = w->next_line++ % LZ_WATCHED_LINES;
    w->lines[i].at = at;
    w->lines[i].nodes = (lz_rising_count){ 0 };
    return &w->lines[i].nodes;
}

static void watch_growth(lz_ctx *c, lz_loc at)
{
    lz_watch *w = &c->syncer->watch;
    lz_rising_count *s = streak_of(w, at);
    if (same_line(w->hit, at)) /* the line had a cache hit since: its graph does not grow each time */
        *s = (lz_rising_count){ 0 };
    w->hit = (lz_loc){ 0 };
    follow(s, c->syncer->walk.nodes.len);
    if (s->length < GROWTHS)
        return;
    lz_ctx_count(c, LZ_COUNT_GROWING);
    if (!is_time(s->length, GROWTHS))
        return;
    lz_text *out = begin(c, LZ_SLOWDOWN_GROWING);
    lz_text_puts(out, "the graph that is run at ");
    put_line(out, at);
    lz_text_printf(out, " grows each time and is compiled each time: %zu nodes, %zu nodes %u times before; ",
                   s->last, s->first, s->length - 1);
    lz_text_puts(out, "most of its nodes are recorded at ");
    put_line(out, line_of_graph(&c->syncer->walk));
    lz_text_puts(out, ". A list of tensors gets longer, or a value that is carried from step to step is not "
                      "held: call lz_mark_step once a step, or keep a fixed number of tensors");
    report(c, LZ_SLOWDOWN_GROWING);
}

void lz_watch_rest(lz_ctx *c, lz_loc at)
{
    lz_rising_count *s = &c->syncer->watch.pending;
    follow(s, c->n_pending ? lz_nodes_live(c->nodes) : 0);
    if (s->length < RISES)
        return;
    lz_ctx_count(c, LZ_COUNT_GROWING);
    if (!is_time(s->length, RISES))
        return;
    lz_text *out = begin(c, LZ_SLOWDOWN_GROWING);
    lz_text_puts(out, "pending values grow with each sync at ");
    put_line(out, at);
    lz_text_printf(out, ": %zu nodes, %zu nodes %u syncs before; most of them are recorded at ", s->last,
                   s->first, s->length - 1);
    put_line(out, line_of_pending(c));
    lz_text_puts(out, ", and no sync computes them: call lz_mark_step once a step, or sync them, too");
    report(c, LZ_SLOWDOWN_GROWING);
}

/* ---- graphs that are compiled again after an eviction ---- */

static void watch_drops(lz_ctx *c)
{
    lz_watch *w = &c->syncer->watch;
    if (!w->dropped)
        return;
    w->dropped = false;
    uint32_t n = ++c->syncer->drops;
    lz_ctx_count(c, LZ_COUNT_AGAIN);
    if (!is_time(n, DROPS))
        return;
    lz_err *e = lz_sync_explain(c);
    lz_text *out = begin(c, LZ_SLOWDOWN_DROPPED);
    lz_text_printf(out,
                   "%u graphs were compiled again, because the cache had dropped them: the cache holds %zu "
                   "graphs, or fewer "
                   "large ones. The last one: %s. Make shapes and attributes repeat, or raise cache_size and "
                   "cache_bytes in "
                   "lz_options",
                   n, lz_cache_limit(c->shared->cache), e ? "" : c->syncer->missed.why.ptr);
    lz_err_free(e);
    report(c, LZ_SLOWDOWN_DROPPED);
}

void lz_watch_compiled(lz_ctx *c, lz_loc at)
{
    watch_growth(c, at);
    watch_drops(c);
}

/* ---- tensors that are not released ---- */

static void put_owner(const lz_ctx *c, lz_text *out)
{
    const lz_scope *s = c->scope;
    if (!s->tensors) {
        lz_text_puts(out, "are retained and not released");
    } else if (!s->outer) {
        lz_text_puts(out,
                     "stay until the context is closed, because no scope is pushed: push one in the loop "
                     "(lz_scope_push) and pop it, or release the tensors");
    } else {
        lz_text_puts(out, "stay until the scope is popped that was pushed at ");
        put_line(out, s->pushed_at);
        lz_text_puts(out,
                     ": push a scope in the loop, too (lz_scope_push), and pop it, or release the tensors");
    }
}

void lz_watch_tensors(lz_ctx *c, lz_loc at)
{
    lz_rising_count *s = &c->syncer->watch.tensors;
    follow(s, c->tensors.live);
    if (s->length < RISES)
        return;
    lz_ctx_count(c, LZ_COUNT_SCOPE);
    if (!is_time(s->length, RISES))
        return;
    lz_text *out = begin(c, LZ_SLOWDOWN_SCOPE);
    lz_text_printf(out, "%zu tensors are alive, %zu were %u syncs before (this one at ", s->last, s->first,
                   s->length - 1);
    put_line(out, at);
    lz_text_puts(out, "); those made at ");
    put_line(out, line_of_pending(c));
    lz_text_puts(out, " ");
    put_owner(c, out);
    report(c, LZ_SLOWDOWN_SCOPE);
}
