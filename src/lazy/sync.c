#include "lazy/sync.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "lazy/canon.h"
#include "lazy/explain.h"
#include "lazy/save.h"
#include <stdlib.h>
#include <string.h>

enum { JOBS_AT_ONCE = 64, DETOURS = 4 };

static const char *const causes[] = { [LZ_CAUSE_STEP] = "lz_mark_step",
                                      [LZ_CAUSE_SYNC] = "lz_sync",
                                      [LZ_CAUSE_READ] = "reading a value",
                                      [LZ_CAUSE_TRIM] = "a trace that grew too large" };

static void count(lz_ctx *c, size_t which, size_t n)
{
    atomic_uint_fast64_t *at = &c->counts[which];
    atomic_store_explicit(at, atomic_load_explicit(at, memory_order_relaxed) + n, memory_order_relaxed);
}

lz_err *lz_ctx_allows(const lz_ctx *c, lz_events event, const char *what, lz_loc at)
{
    static const char *const names[] = {
        [LZ_SYNC] = "sync", [LZ_FALLBACK] = "fallback", [LZ_COMPILE] = "compile", [LZ_COPY] = "copy"
    };
    if (!(c->forbidden & event))
        return NULL;
    return lz_err_at(LZ_ERR_UNSUPPORTED, at, "a %s is forbidden here: %s", names[event], what);
}

/* ---- roots ---- */

/* Nodes are computed in the order of the walk, so what can be had early comes first: the gradient
 * of a weight right behind what it is made from, which need not wait for all other layers. */
static int by_structure(const void *pa, const void *pb)
{
    const lz_root *a = pa, *b = pb;
    lz_hash x = a->value.node->hash, y = b->value.node->hash;
    uint32_t near = a->value.node->depth, far = b->value.node->depth;
    if (near != far)
        return near < far ? -1 : 1;
    if (x.lo != y.lo)
        return x.lo < y.lo ? -1 : 1;
    if (x.hi != y.hi)
        return x.hi < y.hi ? -1 : 1;
    if (a->value.index != b->value.index)
        return a->value.index < b->value.index ? -1 : 1;
    return a->turn < b->turn ? -1 : 1;
}

static lz_err *collect_one(lz_ctx *c, lz_alias *a)
{
    lz_syncer *s = c->syncer;
    if (!a->value.node)
        return NULL;
    if (a->value.node->op)
        return lz_vec_push(&s->rest, (lz_root){ a, a->value, (uint32_t)s->rest.len });
    lz_alias_hold(a, lz_data_retain(a->value.node->data));
    count(c, LZ_COUNT_TO_DATA, 1);
    return NULL;
}

lz_err *lz_sync_collect(lz_ctx *c, lz_alias *const *roots, size_t n, bool all)
{
    lz_syncer *s = c->syncer;
    s->rest.len = s->roots.len = 0;
    lz_alias *a = c->live, *next;
    for (size_t i = all ? c->n_pending : 0; i > 0; i--, a = next) {
        next = a->next; /* a may move to those that are held */
        LZ_TRY(collect_one(c, a));
    }
    for (size_t i = 0; i < n; i++)
        LZ_TRY(collect_one(c, roots[i]));
    LZ_TRY(lz_vec_reserve(&s->roots, s->rest.len));
    lz_sync_next(c);
    return NULL;
}

bool lz_sync_next(lz_ctx *c)
{
    lz_syncer *s = c->syncer;
    size_t left = 0;
    s->roots.len = 0;
    for (size_t i = 0; i < s->rest.len; i++) {
        lz_root r = s->rest.data[i];
        bool here = i == 0 || lz_device_eq(r.cell->device, s->device);
        if (i == 0)
            s->device = r.cell->device;
        *(here ? &s->roots.data[s->roots.len++] : &s->rest.data[left++]) = r;
    }
    s->rest.len = left;
    s->backend = lz_backend_of(s->device.type);
    if (s->roots.len > 1)
        qsort(s->roots.data, s->roots.len, sizeof *s->roots.data, by_structure);
    return s->roots.len > 0;
}

/* ---- the graph ---- */

static lz_err *walk_roots(lz_ctx *c)
{
    lz_syncer *s = c->syncer;
    s->outputs.len = s->result_of.len = 0;
    LZ_TRY(lz_vec_reserve(&s->outputs, s->roots.len));
    LZ_TRY(lz_vec_reserve(&s->result_of, s->roots.len));
    for (size_t i = 0; i < s->roots.len; i++)
        s->outputs.data[i] = s->roots.data[i].value;
    s->outputs.len = s->result_of.len = s->roots.len;
    LZ_TRY(lz_walk_run(&s->walk, s->outputs.data, s->outputs.len, s->device, s->fence));
    memcpy(s->result_of.data, s->walk.result_of.data, s->roots.len * sizeof(uint32_t));
    lz_series_add(c->shared->graph_size, (int64_t)s->walk.nodes.len);
    return lz_vec_reserve(&s->order, s->walk.results.len);
}

/* The same graph with its results in another order: order[i] is the former number of the i-th. */
static lz_err *walk_again(lz_ctx *c)
{
    lz_syncer *s = c->syncer;
    size_t n = s->walk.results.len;
    uint32_t *now = lz_mem_alloc(n * sizeof *now);
    if (!now)
        return lz_err_oom();
    s->outputs.len = 0;
    for (size_t i = 0; i < n; i++) {
        s->outputs.data[i] = s->walk.results.data[s->order.data[i]];
        now[s->order.data[i]] = (uint32_t)i;
    }
    for (size_t i = 0; i < s->result_of.len; i++)
        s->result_of.data[i] = now[s->result_of.data[i]];
    lz_mem_free(now);
    return lz_walk_run(&s->walk, s->outputs.data, n, s->device, s->fence);
}

static bool has_ties(const lz_walk *w)
{
    for (size_t i = 1; i < w->results.len; i++) {
        const lz_output *a = &w->results.data[i - 1], *b = &w->results.data[i];
        if (a->index == b->index && lz_hash_eq(a->node->hash, b->node->hash))
            return true;
    }
    return false;
}

lz_err *lz_sync_walk(lz_ctx *c)
{
    lz_syncer *s = c->syncer;
    bool other = false;
    LZ_TRY(walk_roots(c));
    if (has_ties(&s->walk))
        LZ_TRY(lz_canon_order(&s->walk.flat, s->order.data, &other));
    return other ? walk_again(c) : NULL;
}

static lz_err *forbidden_fallback(lz_ctx *c, const lz_order *o, lz_loc at)
{
    lz_text names = { 0 };
    size_t n = 0;
    if (!(c->forbidden & LZ_FALLBACK))
        return NULL;
    lz_err *e = lz_recipe_fallbacks(o, &names, &n);
    if (!e)
        e = lz_text_check(&names);
    if (!e && n) {
        lz_text_putc(&names, '\0');
        e = lz_ctx_allows(c, LZ_FALLBACK, names.failed ? "" : names.ptr, at);
    }
    lz_text_deinit(&names);
    return e;
}

lz_err *lz_sync_explain(lz_ctx *c)
{
    lz_missed *m = &c->syncer->missed;
    if (!m->unexplained)
        return NULL;
    lz_text_clear(&m->why);
    lz_flat f = { m->words.data, m->words.len, m->hash };
    LZ_TRY(lz_explain_miss(c->shared->cache, &f, m->locs.data, &m->why));
    lz_text_putc(&m->why, '\0');
    LZ_TRY(lz_text_check(&m->why));
    m->unexplained = false;
    return NULL;
}

/* To compare it with what is there takes as long as to compile a small graph. */
static lz_err *explain(lz_ctx *c, lz_loc at)
{
    const lz_walk *w = &c->syncer->walk;
    lz_missed *m = &c->syncer->missed;
    m->words.len = m->locs.len = 0;
    lz_text_clear(&m->why);
    LZ_TRY(lz_vec_reserve(&m->words, w->flat.n));
    LZ_TRY(lz_vec_reserve(&m->locs, w->nodes.len));
    memcpy(m->words.data, w->flat.words, w->flat.n * sizeof *m->words.data);
    memcpy(m->locs.data, w->locs.data, w->nodes.len * sizeof *m->locs.data);
    m->words.len = w->flat.n;
    m->locs.len = w->nodes.len;
    m->hash = w->flat.hash;
    m->unexplained = true;
    if (!lz_log_on(LZ_LOG_INFO) && !(c->forbidden & LZ_COMPILE))
        return NULL;
    LZ_TRY(lz_sync_explain(c));
    lz_logf(LZ_LOG_INFO, "compiling: %s", m->why.ptr);
    return lz_ctx_allows(c, LZ_COMPILE, m->why.ptr, at);
}

static lz_err *compile(lz_ctx *c, lz_loc at, lz_recipe **out)
{
    lz_syncer *s = c->syncer;
    uint64_t start = lz_clock_ns(), lower = 0;
    lz_order o = { .words = s->walk.flat.words,
                   .locs = s->walk.locs.data,
                   .forced = s->forced,
                   .keep = s->walk.flat.n,
                   .lower_ns = &lower };
    LZ_TRY(explain(c, at));
    LZ_TRY(forbidden_fallback(c, &o, at));
    count(c, LZ_COUNT_UNCACHED, 1);
    lz_err *e = lz_recipe_compile(&o, out);
    if (e && lz_err_code(e) == LZ_ERR_MEMORY)
        return e;
    if (e) {
        /* The job finds out which results it is that cannot be had. */
        lz_err_free(e);
        LZ_TRY(lz_recipe_shell(&o, out));
    }
    lz_series_add(c->shared->lower, (int64_t)lower);
    lz_series_add(c->shared->compile, (int64_t)(lz_clock_ns() - start - lower));
    return NULL;
}

static lz_err *compile_for(lz_ctx *c, lz_loc at, struct lz_cached *to_make, lz_recipe **out)
{
    lz_err *e = compile(c, at, out);
    lz_cache_finish(c->shared->cache, to_make, e || !(*out)->nstages ? NULL : *out);
    return e;
}

/* Graphs that differ only in the order of roots of the same structure are one graph. What the
 * order is costs time to find out, so the cheap one is looked up first; where it was seen
 * before, the cache says which order is meant. */
lz_err *lz_sync_recipe(lz_ctx *c, lz_loc at, lz_recipe **out)
{
    lz_syncer *s = c->syncer;
    lz_ticket t = { 0 };
    LZ_TRY(walk_roots(c));
    for (int detours = 0; detours < DETOURS; detours++) {
        LZ_TRY(lz_cache_find(c->shared->cache, &s->walk.flat, s->walk.locs.data, s->order.data, &t));
        if (t.recipe) {
            count(c, LZ_COUNT_CACHED, 1);
            *out = t.recipe;
            return NULL;
        }
        bool other = t.order != NULL;
        if (t.to_make && detours == 0 && has_ties(&s->walk)) {
            lz_err *e = lz_canon_order(&s->walk.flat, s->order.data, &other);
            if (!e && other)
                lz_cache_redirect(c->shared->cache, t.to_make, s->order.data, s->walk.results.len);
            else if (e) {
                lz_cache_finish(c->shared->cache, t.to_make, NULL);
                return e;
            }
        }
        if (!other)
            return compile_for(c, at, t.to_make, out);
        LZ_TRY(walk_again(c));
    }
    return compile(c, at, out);
}

/* ---- the job ---- */

static lz_err *make_results(lz_ctx *c, lz_job *j)
{
    const lz_syncer *s = c->syncer;
    const lz_backend *b = s->backend;
    for (uint32_t i = 0; i < j->nresults; i++) {
        lz_output o = s->walk.results.data[i];
        lz_data_type type = lz_node_type(o.node, o.index);
        LZ_TRY(lz_data_create(b, s->device, type, &j->results[i]));
        LZ_TRY(b->create_data_placeholder(b->self, j->results[i]->real, &type, &j->payloads[i]));
    }
    return NULL;
}

static void gather(const lz_walk *w, lz_job *j)
{
    lz_argument *to = j->args + j->nleaves;
    for (uint32_t i = 0; i < j->nleaves; i++) {
        j->leaves[i] = lz_data_retain(w->leaves.data[i]);
        j->args[i] = (lz_argument){ 0 };
    }
    for (size_t i = 0; i < w->nodes.len; i++)
        for (uint32_t k = 0; k < w->nodes.data[i]->nnumbers; k++)
            *to++ = (lz_argument){ .number = w->nodes.data[i]->numbers[k] };
    memcpy(j->locs, w->locs.data, w->nodes.len * sizeof *j->locs);
}

static lz_err *make_job(lz_ctx *c, lz_recipe *p, lz_job **out)
{
    const lz_walk *w = &c->syncer->walk;
    lz_job_sizes n = { .nodes = (uint32_t)w->nodes.len,
                       .leaves = (uint32_t)w->leaves.len,
                       .numbers = (uint32_t)w->nnumbers,
                       .results = (uint32_t)w->results.len };
    LZ_TRY(lz_job_create(c->shared, p, n, out));
    (*out)->forced = c->syncer->forced;
    (*out)->threads = c->options.threads;
    gather(w, *out);
    lz_err *e = make_results(c, *out);
    if (e) {
        lz_job_drop(*out);
        lz_job_release(*out);
    }
    return e;
}

/* From here on nothing can go wrong for the context: every root has its data, or will have it. */
static void hold_roots(lz_ctx *c, const lz_job *j)
{
    lz_syncer *s = c->syncer;
    for (size_t i = 0; i < s->roots.len; i++)
        if (s->roots.data[i].cell->value.node)
            lz_alias_hold(s->roots.data[i].cell, lz_data_retain(j->results[s->result_of.data[i]]));
    s->roots.len = 0;
}

static void run_queued(void *user)
{
    lz_job_run(user);
    lz_job_release(user);
}

static void drop_queued(void *user)
{
    lz_job_drop(user);
    lz_job_release(user);
}

static void enlist(lz_syncer *s, lz_job *j)
{
    *(s->youngest ? &s->youngest->next : &s->oldest) = j;
    s->youngest = j;
    s->njobs++;
}

static lz_err *reap_oldest(lz_ctx *c)
{
    lz_syncer *s = c->syncer;
    lz_job *j = s->oldest;
    if (!lz_job_is_done(j)) {
        uint64_t start = lz_clock_ns();
        lz_job_wait(j);
        lz_series_add_since(c->shared->lock_wait, start);
    }
    lz_err *e = j->error;
    j->error = NULL;
    s->oldest = j->next;
    s->youngest = s->oldest ? s->youngest : NULL;
    s->njobs--;
    lz_job_release(j);
    count(c, LZ_COUNT_FAILED, e != NULL);
    return e;
}

lz_err *lz_sync_reap(lz_ctx *c, bool wait)
{
    lz_syncer *s = c->syncer;
    lz_err *first = NULL;
    while (s->oldest && (wait || lz_job_is_done(s->oldest)))
        first = lz_err_first(first, reap_oldest(c));
    return first;
}

/* Without a queue the job runs here and now. Takes the job. */
static lz_err *start_job(lz_ctx *c, lz_job *j, lz_queue *q)
{
    lz_syncer *s = c->syncer;
    enlist(s, j);
    lz_err *e = q ? lz_queue_push(q, run_queued, drop_queued, lz_job_retain(j)) : NULL;
    if (q && e)
        lz_job_release(j);
    if (!q || e)
        lz_job_run(j);
    lz_err_free(e); /* a queue without room is no reason to fail */
    return s->njobs > JOBS_AT_ONCE ? reap_oldest(c) : NULL;
}

static void count_fallbacks(lz_ctx *c, const lz_recipe *p)
{
    for (size_t i = 0; i < p->nfallbacks; i++)
        count(c, LZ_COUNT_FELL_BACK + p->fallbacks[i], 1);
}

static lz_err *run_graph(lz_ctx *c, lz_loc at)
{
    lz_recipe *p;
    lz_queue *q = NULL;
    lz_job *j;
    if (c->options.async)
        LZ_TRY(lz_runtime_queue(c->shared, c->syncer->device, &q));
    LZ_TRY(lz_sync_recipe(c, at, &p));
    lz_err *e = p->nfallbacks && (c->forbidden & LZ_FALLBACK)
                    ? lz_ctx_allows(c, LZ_FALLBACK, "the graph has operators that the device cannot run", at)
                    : NULL;
    if (!e)
        e = lz_save_graph(c, p, at);
    if (!e)
        e = make_job(c, p, &j);
    if (!e) {
        count(c, LZ_COUNT_SYNCED, c->syncer->roots.len);
        count_fallbacks(c, p);
        hold_roots(c, j);
        e = start_job(c, j, q);
    }
    lz_recipe_release(p);
    return e;
}

/* A read waits for what it reads. A failure that it meets is told by this call, not once more by
 * the next. */
static lz_err *await(lz_ctx *c, lz_alias *const *roots, size_t n)
{
    bool failed = false;
    for (size_t i = 0; i < n; i++)
        if (roots[i]->data) {
            lz_err *e = lz_data_wait(roots[i]->data);
            failed = failed || e;
            lz_err_free(e);
        }
    return lz_sync_reap(c, failed);
}

lz_err *lz_ctx_sync(lz_ctx *c, lz_alias *const *roots, size_t n, lz_sync_cause why, lz_loc at)
{
    if (!c->syncer)
        return lz_errf(LZ_ERR_NOT_FOUND, "the context has no device");
    uint64_t start = lz_clock_ns();
    bool all = why == LZ_CAUSE_STEP || why == LZ_CAUSE_TRIM;
    lz_err *e = lz_sync_collect(c, roots, all ? 0 : n, all);
    if (!e && c->syncer->roots.len)
        e = lz_ctx_allows(c, LZ_SYNC, causes[why], at);
    for (bool more = !e && c->syncer->roots.len; more; more = !e && lz_sync_next(c))
        e = run_graph(c, at);
    if (why == LZ_CAUSE_TRIM && !e) {
        count(c, LZ_COUNT_TRIM, 1);
        lz_logf(LZ_LOG_WARN, "TrimIrGraph: %s:%d: the trace grew to its limit and was run",
                at.file ? at.file : "?", at.line);
    }
    e = lz_err_first(e, why == LZ_CAUSE_READ ? await(c, roots, n) : lz_sync_reap(c, false));
    lz_series_add_since(c->shared->sync, start);
    return e;
}
