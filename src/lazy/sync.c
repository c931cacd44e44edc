#include "lazy/sync.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/profiler.h"
#include "lazy/canon.h"
#include "lazy/explain.h"
#include "lazy/lazy_storage.h"
#include "lazy/save_graph.h"
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

/* Nodes are computed in the order of the walk. Roots near the leaves come first, so that the gradient of a
 * weight is computed right after its operands, not after those of all layers. */
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

static lz_err *collect_one(lz_ctx *c, lz_lazy_storage *a)
{
    lz_syncer *s = c->syncer;
    if (!a->value.node)
        return NULL;
    if (a->value.node->op)
        return lz_vec_push(&s->rest, (lz_root){ a, a->value, (uint32_t)s->rest.len });
    lz_lazy_storage_hold(a, lz_data_retain(a->value.node->data));
    count(c, LZ_COUNT_TO_DATA, 1);
    return NULL;
}

static lz_err *collect_asked(lz_ctx *c, lz_lazy_storage *const *roots, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (!roots[i]->is_asked)
            LZ_TRY(collect_one(c, roots[i]));
        roots[i]->is_asked = true;
    }
    return NULL;
}

/* Collects the other pending storages; unless `all`, without temporaries that need not be kept for a read. */
static lz_err *collect_others(lz_ctx *c, bool all)
{
    lz_lazy_storage *a = c->live, *next;
    uint32_t mark = all ? 0 : lz_walk_mark(&c->syncer->walk);
    for (size_t i = c->n_pending; i > 0; i--, a = next) {
        next = a->next; /* collect_one may move a to the list of held storages */
        if (a->is_asked || (!all && lz_is_unwanted_step(a, mark)))
            continue;
        LZ_TRY(collect_one(c, a));
    }
    return NULL;
}

/* Whether the requested roots and the other pending roots have operators in common. */
static lz_err *find_shared(lz_ctx *c, size_t asked, bool *out)
{
    lz_syncer *s = c->syncer;
    s->outputs.len = 0;
    LZ_TRY(lz_vec_reserve(&s->outputs, s->rest.len));
    for (size_t i = 0; i < s->rest.len; i++)
        s->outputs.data[i] = s->rest.data[i].value;
    return lz_walk_shares(&s->walk, s->outputs.data, asked, s->rest.len, out);
}

/* An explicit sync leaves pending what shares no operator with the requested roots. */
static lz_err *collect(lz_ctx *c, lz_lazy_storage *const *roots, size_t n, lz_sync_extent extent)
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

lz_err *lz_sync_collect(lz_ctx *c, lz_lazy_storage *const *roots, size_t n, lz_sync_extent extent)
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

static lz_walk_guess *guess_of(lz_syncer *s)
{
    return &s->guesses[(s->roots.data[0].value.node->hash.lo ^ s->roots.len) % LZ_SYNC_GUESSES];
}

/* Without memory there is no guess. */
static void expect_again(lz_syncer *s, const lz_executable *p)
{
    if (p->words)
        lz_err_free(lz_walk_expect(&s->walk, p->words, guess_of(s)));
}

/* Compares the graph with the one that had this first root before. *held keeps that one: one count. */
static lz_err *walk_as_before(lz_ctx *c, lz_executable **held)
{
    lz_syncer *s = c->syncer;
    const lz_walk_guess *g = guess_of(s);
    bool same = false;
    lz_executable *p = g->flat.words ? lz_cache_hold(c->shared->cache, &g->flat) : NULL;
    lz_err *e =
        p ? lz_walk_compare(&s->walk, g, s->outputs.data, s->outputs.len, s->device, s->forced_hash, &same)
          : NULL;
    *held = same ? p : NULL;
    if (!same)
        lz_executable_release(p);
    return e;
}

/* held (may be NULL): gets the executable whose words are those of the walk, one count; NULL: the walk has
 * words of its own. */
static lz_err *walk_roots(lz_ctx *c, lz_executable **held)
{
    lz_syncer *s = c->syncer;
    s->outputs.len = s->result_of.len = 0;
    LZ_TRY(lz_vec_reserve(&s->outputs, s->roots.len));
    LZ_TRY(lz_vec_reserve(&s->result_of, s->roots.len));
    for (size_t i = 0; i < s->roots.len; i++)
        s->outputs.data[i] = s->roots.data[i].value;
    s->outputs.len = s->result_of.len = s->roots.len;
    if (held)
        LZ_TRY(walk_as_before(c, held));
    if (!held || !*held)
        LZ_TRY(lz_walk_run(&s->walk, s->outputs.data, s->outputs.len, s->device, s->forced_hash));
    memcpy(s->result_of.data, s->walk.result_of.data, s->roots.len * sizeof(uint32_t));
    lz_series_add(c->shared->graph_size, (int64_t)s->walk.nodes.len);
    return lz_vec_reserve(&s->order, s->walk.results.len);
}

/* Walks the graph again with the results in another order: order[i] is the former number of the i-th. */
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
    return lz_walk_run(&s->walk, s->outputs.data, n, s->device, s->forced_hash);
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
    LZ_TRY(walk_roots(c, NULL));
    if (has_ties(&s->walk))
        LZ_TRY(lz_canon_order(&s->walk.flat, s->order.data, &other));
    return other ? walk_again(c) : NULL;
}

/* Takes over the names of the operators. */
static lz_err *refuse_fallback(const lz_ctx *c, lz_text *names, lz_loc at)
{
    lz_text_putc(names, '\0');
    lz_err *e = lz_text_check(names);
    if (!e)
        e = lz_ctx_allows(c, LZ_FALLBACK, names->ptr, at);
    lz_text_deinit(names);
    return e;
}

/* Checks before anything is compiled. */
static lz_err *forbidden_fallback(lz_ctx *c, const lz_compile_request *o, lz_loc at)
{
    lz_text names = { 0 };
    size_t n = 0;
    if (!(c->forbidden & LZ_FALLBACK))
        return NULL;
    lz_err *e = lz_executable_fallbacks(o, &names, &n);
    if (!e && n)
        return refuse_fallback(c, &names, at);
    lz_text_deinit(&names);
    return e;
}

/* Checks a cached graph, and operators that the device refused while it compiled. */
static lz_err *forbidden_stages(const lz_ctx *c, const lz_executable *p, lz_loc at)
{
    lz_text names = { 0 };
    if (!p->nfallbacks || !(c->forbidden & LZ_FALLBACK))
        return NULL;
    lz_executable_name_fallbacks(p, &names);
    return refuse_fallback(c, &names, at);
}

lz_err *lz_sync_explain(lz_ctx *c)
{
    lz_cache_miss *m = &c->syncer->missed;
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

/* Keeps the graph of the walk for lz_sync_explain. Comparing it with other graphs right away would take as
 * long as compiling a small graph. */
static lz_err *remember_missed(lz_ctx *c)
{
    const lz_walk *w = &c->syncer->walk;
    lz_cache_miss *m = &c->syncer->missed;
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

/* For a log that takes the reason, and for contexts that forbid compiling. */
static lz_err *explain_first(lz_ctx *c, lz_loc at)
{
    const lz_cache_miss *m = &c->syncer->missed;
    LZ_TRY(remember_missed(c));
    LZ_TRY(lz_sync_explain(c));
    lz_logf(LZ_LOG_INFO, "compiling: %s", m->why.ptr);
    return lz_ctx_allows(c, LZ_COMPILE, m->why.ptr, at);
}

/* Marks data that only nodes hold: no tensor uses it any more. */
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

/* Adds to o what is known of the nodes and the data of the walk. */
static lz_err *compile_with(lz_ctx *c, lz_compile_request *o, lz_executable **out)
{
    lz_arena a;
    lz_arena_init(&a);
    lz_err *e = find_dying(&c->syncer->walk, &a, &o->dying);
    if (!e && c->options.scopes_in_graph)
        e = find_scopes(&c->syncer->walk, &a, &o->origins.scopes);
    if (!e)
        e = lz_executable_compile(o, out);
    if (e && !lz_err_must_surface(e)) {
        /* Keep the graph; lz_job_run compiles the results one by one and reports those that fail. */
        lz_err_free(e);
        e = lz_executable_shell(o, out);
    }
    lz_arena_deinit(&a);
    return e;
}

/* Returns memory: the temporaries of a large scope took more than the compiled graph needs. */
static void trim_memory(lz_ctx *c)
{
    lz_slab_trim(&c->tensors);
    lz_slab_trim(&c->storages);
    lz_nodes_trim(c->nodes);
}

static lz_err *compile(lz_ctx *c, lz_loc at, lz_executable **out)
{
    lz_syncer *s = c->syncer;
    uint64_t start = lz_clock_ns(), lower = 0;
    lz_compile_request o = { .words = s->walk.flat.words,
                             .origins = { s->walk.locs.data, NULL },
                             .forced = s->forced,
                             .replicas = s->replicas.devices,
                             .nreplicas = s->replicas.n,
                             .copies = s->replicas.made,
                             .keep = s->walk.flat.n,
                             .lower_ns = &lower };
    trim_memory(c);
    bool first = lz_log_on(LZ_LOG_INFO) || (c->forbidden & LZ_COMPILE);
    if (first)
        LZ_TRY(explain_first(c, at));
    LZ_TRY(forbidden_fallback(c, &o, at));
    count(c, LZ_COUNT_UNCACHED, 1);
    LZ_TRY(compile_with(c, &o, out));
    /* after compiling, because its memory is free again */
    lz_err *e = first ? NULL : remember_missed(c);
    if (e) {
        lz_executable_release(*out);
        *out = NULL;
        return e;
    }
    lz_watch_compiled(c, at);
    lz_series_add(c->shared->lower, (int64_t)lower);
    lz_series_add(c->shared->compile, (int64_t)(lz_clock_ns() - start - lower));
    return NULL;
}

/* Keeps the replica in the cache. If memory is short or another thread has made the replica, nothing is kept,
 * and the replica's device compiles the graph. */
static void keep_replica(lz_ctx *c, lz_executable *p)
{
    lz_syncer *s = c->syncer;
    lz_flat f = { p->words, s->walk.flat.n, lz_hash_bytes(p->words, s->walk.flat.n * sizeof *p->words) };
    lz_cache_lookup t = { 0 };
    lz_err_drop(lz_cache_find(c->shared->cache, &f, s->walk.locs.data, s->order.data, &t));
    if (t.to_make)
        lz_cache_finish(c->shared->cache, t.to_make, p);
    lz_executable_release(t.executable);
}

/* Finishes the cache entry first, because other threads wait for it. */
static lz_err *compile_for(lz_ctx *c, lz_loc at, struct lz_cached *to_make, lz_executable **out)
{
    lz_replicas *r = &c->syncer->replicas;
    lz_err *e = compile(c, at, out);
    if (to_make)
        lz_cache_finish(c->shared->cache, to_make, e || !(*out)->nstages ? NULL : *out);
    for (size_t i = 0; i < r->n; i++) {
        if (r->made[i])
            keep_replica(c, r->made[i]);
        lz_executable_release(r->made[i]);
        r->made[i] = NULL;
    }
    return e;
}

/* Graphs that differ only in the order of roots with equal structure share one executable. The canonical
 * order is expensive, so the order of the walk is looked up first; a REDIRECT entry of the cache gives the
 * canonical order. */
static lz_err *find_or_compile(lz_ctx *c, lz_loc at, bool guessed, lz_executable **out)
{
    lz_syncer *s = c->syncer;
    lz_cache_lookup t = { 0 };
    for (int detours = 0; detours < DETOURS; detours++) {
        LZ_TRY(lz_cache_find(c->shared->cache, &s->walk.flat, s->walk.locs.data, s->order.data, &t));
        s->watch.dropped = t.again;
        if (t.executable) {
            if (!guessed && detours == 0)
                expect_again(s, t.executable);
            s->watch.hit = at;
            count(c, LZ_COUNT_CACHED, 1);
            *out = t.executable;
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
    return compile_for(c, at, NULL, out);
}

lz_err *lz_sync_executable(lz_ctx *c, lz_loc at, lz_executable **out)
{
    lz_executable *guess = NULL;
    LZ_TRY(walk_roots(c, &guess));
    lz_err *e = find_or_compile(c, at, guess != NULL, out);
    if (!e && guess) /* if another thread has dropped the guess meanwhile, the same words are elsewhere now */
        c->syncer->walk.flat.words = (*out)->words;
    lz_executable_release(guess);
    return e;
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
    for (size_t i = 0; i < w->numbered.len; i++)
        for (uint32_t k = 0; k < w->numbered.data[i]->nnumbers; k++)
            *to++ = (lz_argument){ .number = lz_node_scalars(w->numbered.data[i])[k] };
    memcpy(j->locs, w->locs.data, w->nodes.len * sizeof *j->locs);
}

static lz_err *make_job(lz_ctx *c, lz_executable *p, lz_job **out)
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

/* Nothing can fail from here on: every root gets its data or a handle that will be filled. */
static void hold_roots(lz_ctx *c, const lz_job *j)
{
    lz_syncer *s = c->syncer;
    for (size_t i = 0; i < s->roots.len; i++)
        if (s->roots.data[i].cell->value.node)
            lz_lazy_storage_hold(s->roots.data[i].cell, lz_data_retain(j->results[s->result_of.data[i]]));
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

/* Runs the job at once if there is no queue. Takes over the job. */
static lz_err *start_job(lz_ctx *c, lz_job *j, lz_queue *q)
{
    lz_syncer *s = c->syncer;
    enlist(s, j);
    lz_err *e = q ? lz_queue_push(q, run_queued, drop_queued, lz_job_retain(j)) : NULL;
    if (q && e)
        lz_job_release(j);
    if (!q || e)
        lz_job_run(j);
    lz_err_free(e); /* if the queue takes no job, the job has run here */
    return s->njobs > JOBS_AT_ONCE ? reap_oldest(c) : NULL;
}

static void count_fallbacks(lz_ctx *c, const lz_executable *p)
{
    for (size_t i = 0; i < p->nfallbacks; i++)
        count(c, LZ_COUNT_FELL_BACK + p->fallbacks[i], 1);
}

static lz_err *run_graph(lz_ctx *c, lz_loc at)
{
    lz_executable *p;
    lz_queue *q = NULL;
    lz_job *j;
    lz_ctx_uses(c, c->syncer->device);
    if (c->options.async)
        LZ_TRY(lz_runtime_queue(c->shared, c->syncer->device, &q));
    LZ_TRY(lz_sync_executable(c, at, &p));
    lz_err *e = forbidden_stages(c, p, at);
    if (!e)
        e = lz_save_graph(c, p, at);
    if (!e)
        e = make_job(c, p, &j);
    if (!e) {
        c->syncer->latest = c->syncer->walk.flat.hash;
        count(c, LZ_COUNT_SYNCED, c->syncer->roots.len);
        count_fallbacks(c, p);
        hold_roots(c, j);
        e = start_job(c, j, q);
    }
    lz_executable_release(p);
    return e;
}

/* Waits for the roots of a read. This call reports the failures that it meets; the next call does not. */
static lz_err *await(lz_ctx *c, lz_lazy_storage *const *roots, size_t n)
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

lz_err *lz_ctx_sync(lz_ctx *c, lz_lazy_storage *const *roots, size_t n, lz_sync_cause why, lz_loc at)
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
