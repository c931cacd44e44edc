#include "lazy/sync.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/profile.h"
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

static lz_err *collect_asked(lz_ctx *c, lz_alias *const *roots, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (!roots[i]->is_asked)
            LZ_TRY(collect_one(c, roots[i]));
        roots[i]->is_asked = true;
    }
    return NULL;
}

/* What else is pending: all of it, or what a read leaves pending for nobody's sake. */
static lz_err *collect_others(lz_ctx *c, bool all)
{
    lz_alias *a = c->live, *next;
    uint32_t mark = all ? 0 : lz_walk_mark(&c->syncer->walk);
    for (size_t i = c->n_pending; i > 0; i--, a = next) {
        next = a->next; /* a may move to those that are held */
        if (a->is_asked || (!all && lz_passes_by(a, mark)))
            continue;
        LZ_TRY(collect_one(c, a));
    }
    return NULL;
}

/* Whether what is asked for, the first roots, computes something that the others need too. */
static lz_err *find_shared(lz_ctx *c, size_t asked, bool *out)
{
    lz_syncer *s = c->syncer;
    s->outputs.len = 0;
    LZ_TRY(lz_vec_reserve(&s->outputs, s->rest.len));
    for (size_t i = 0; i < s->rest.len; i++)
        s->outputs.data[i] = s->rest.data[i].value;
    return lz_walk_shares(&s->walk, s->outputs.data, asked, s->rest.len, out);
}

/* An explicit sync leaves alone what has nothing to do with it. */
static lz_err *collect(lz_ctx *c, lz_alias *const *roots, size_t n, lz_sync_extent extent)
{
    lz_syncer *s = c->syncer;
    bool shared = true;
    LZ_TRY(collect_asked(c, roots, n));
    size_t asked = s->rest.len;
    if (extent == LZ_SYNC_ALL || (extent != LZ_SYNC_THESE && asked))
        LZ_TRY(collect_others(c, extent == LZ_SYNC_ALL));
    if (extent == LZ_SYNC_SHARED && s->rest.len > asked)
        LZ_TRY(find_shared(c, asked, &shared));
    if (!shared)
        s->rest.len = asked;
    return NULL;
}

lz_err *lz_sync_collect(lz_ctx *c, lz_alias *const *roots, size_t n, lz_sync_extent extent)
{
    lz_syncer *s = c->syncer;
    s->rest.len = s->roots.len = 0;
    lz_err *e = collect(c, roots, n, extent);
    for (size_t i = 0; i < n; i++)
        roots[i]->is_asked = false;
    LZ_TRY(e);
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

/* Takes the names of the operators. */
static lz_err *refuse_fallback(const lz_ctx *c, lz_text *names, lz_loc at)
{
    lz_text_putc(names, '\0');
    lz_err *e = lz_text_check(names);
    if (!e)
        e = lz_ctx_allows(c, LZ_FALLBACK, names->ptr, at);
    lz_text_deinit(names);
    return e;
}

/* Before anything is compiled. */
static lz_err *forbidden_fallback(lz_ctx *c, const lz_order *o, lz_loc at)
{
    lz_text names = { 0 };
    size_t n = 0;
    if (!(c->forbidden & LZ_FALLBACK))
        return NULL;
    lz_err *e = lz_recipe_fallbacks(o, &names, &n);
    if (!e && n)
        return refuse_fallback(c, &names, at);
    lz_text_deinit(&names);
    return e;
}

/* Of a graph that was compiled before, or of operators that the device refused while it compiled. */
static lz_err *forbidden_stages(const lz_ctx *c, const lz_recipe *p, lz_loc at)
{
    lz_text names = { 0 };
    if (!p->nfallbacks || !(c->forbidden & LZ_FALLBACK))
        return NULL;
    lz_recipe_name_fallbacks(p, &names);
    return refuse_fallback(c, &names, at);
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

/* Remembers the graph of the walk as the last one that was compiled, for lz_sync_explain: to compare it with
 * the others takes as long as to compile a small graph. */
static lz_err *remember_missed(lz_ctx *c)
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
    return NULL;
}

/* Where somebody wants to know before the compilation, or forbids it. */
static lz_err *explain_first(lz_ctx *c, lz_loc at)
{
    const lz_missed *m = &c->syncer->missed;
    LZ_TRY(remember_missed(c));
    LZ_TRY(lz_sync_explain(c));
    lz_logf(LZ_LOG_INFO, "compiling: %s", m->why.ptr);
    return lz_ctx_allows(c, LZ_COMPILE, m->why.ptr, at);
}

/* Data that only nodes hold: no tensor shows it any more. */
static lz_err *find_dying(const lz_walk *w, lz_arena *a, const bool **out)
{
    bool *dying;
    LZ_TRY(lz_arena_new(a, &dying, w->leaves.len));
    for (size_t i = 0; i < w->leaves.len; i++)
        dying[i] = lz_data_is_sole(w->leaves.data[i]);
    *out = dying;
    return NULL;
}

static lz_err *find_scopes(const lz_walk *w, lz_arena *a, const char *const **out)
{
    const char **scopes;
    LZ_TRY(lz_arena_new(a, &scopes, w->nodes.len));
    for (size_t i = 0; i < w->nodes.len; i++)
        scopes[i] = w->nodes.data[i]->scope;
    *out = scopes;
    return NULL;
}

/* The order, with what else is known of its nodes and data. */
static lz_err *compile_with(lz_ctx *c, lz_order *o, lz_recipe **out)
{
    lz_arena a;
    lz_arena_init(&a);
    lz_err *e = find_dying(&c->syncer->walk, &a, &o->dying);
    if (!e && c->options.scopes_in_graph)
        e = find_scopes(&c->syncer->walk, &a, &o->origins.scopes);
    if (!e)
        e = lz_recipe_compile(o, out);
    if (e && lz_err_code(e) != LZ_ERR_MEMORY) {
        /* The job finds out which results it is that cannot be had. */
        lz_err_free(e);
        e = lz_recipe_shell(o, out);
    }
    lz_arena_deinit(&a);
    return e;
}

/* What a scope with many temporaries leaves behind is more than the compiled graph needs. */
static void trim_memory(lz_ctx *c)
{
    lz_slab_trim(&c->tensors);
    lz_slab_trim(&c->aliases);
    lz_nodes_trim(c->nodes);
}

static lz_err *compile(lz_ctx *c, lz_loc at, lz_recipe **out)
{
    lz_syncer *s = c->syncer;
    uint64_t start = lz_clock_ns(), lower = 0;
    lz_order o = { .words = s->walk.flat.words,
                   .origins = { s->walk.locs.data, NULL },
                   .forced = s->forced,
                   .keep = s->walk.flat.n,
                   .lower_ns = &lower };
    trim_memory(c);
    bool first = lz_log_on(LZ_LOG_INFO) || (c->forbidden & LZ_COMPILE);
    if (first)
        LZ_TRY(explain_first(c, at));
    LZ_TRY(forbidden_fallback(c, &o, at));
    count(c, LZ_COUNT_UNCACHED, 1);
    LZ_TRY(compile_with(c, &o, out));
    /* only now: the memory of the compilation is free again */
    lz_err *e = first ? NULL : remember_missed(c);
    if (e) {
        lz_recipe_release(*out);
        *out = NULL;
        return e;
    }
    lz_watch_compiled(c, at);
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
        s->watch.dropped = t.again;
        if (t.recipe) {
            s->watch.hit = at;
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
        lz_span span = lz_span_begin();
        lz_job_wait(j);
        lz_span_end(&span, &(lz_span_note){ .phase = LZ_PHASE_WAIT });
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
    lz_ctx_uses(c, c->syncer->device);
    if (c->options.async)
        LZ_TRY(lz_runtime_queue(c->shared, c->syncer->device, &q));
    LZ_TRY(lz_sync_recipe(c, at, &p));
    lz_err *e = forbidden_stages(c, p, at);
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
    static const lz_sync_extent extents[] = { [LZ_CAUSE_STEP] = LZ_SYNC_ALL,
                                              [LZ_CAUSE_TRIM] = LZ_SYNC_ALL,
                                              [LZ_CAUSE_READ] = LZ_SYNC_LIVE,
                                              [LZ_CAUSE_SYNC] = LZ_SYNC_SHARED };
    uint64_t start = lz_clock_ns();
    lz_watch_tensors(c, at);
    lz_span span = lz_span_begin();
    lz_err *e = lz_sync_collect(c, roots, n, extents[why]);
    if (!e && c->syncer->roots.len)
        e = lz_ctx_allows(c, LZ_SYNC, causes[why], at);
    for (bool more = !e && c->syncer->roots.len; more; more = !e && lz_sync_next(c))
        e = run_graph(c, at);
    if (why == LZ_CAUSE_SYNC)
        lz_watch_rest(c, at);
    if (why == LZ_CAUSE_TRIM && !e) {
        count(c, LZ_COUNT_TRIM, 1);
        lz_logf(LZ_LOG_WARN, "TrimIrGraph: %s:%d: the trace grew to its limit and was run",
                at.file ? at.file : "?", at.line);
    }
    e = lz_err_first(e, why == LZ_CAUSE_READ ? await(c, roots, n) : lz_sync_reap(c, false));
    lz_span_end(&span, &(lz_span_note){ .phase = LZ_PHASE_SYNC, .name = causes[why], .at = at });
    lz_series_add_since(c->shared->sync, start);
    return e;
}
