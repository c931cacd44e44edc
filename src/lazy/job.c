#include "lazy/job.h"
#include "base/clock.h"
#include "base/lock.h"
#include "base/mem.h"
#include "op/op_table.h"
#include <assert.h>
#include <string.h>

static void *part(char **at, size_t n, size_t size)
{
    void *p = *at;
    *at += (n * size + 15) / 16 * 16;
    return p;
}

lz_err *lz_job_create(lz_runtime *r, lz_executable *p, lz_job_sizes n, lz_job **out)
{
    size_t args = (size_t)n.leaves + n.numbers;
    size_t size = sizeof(lz_job) + args * sizeof(lz_argument) + n.leaves * sizeof(lz_data *)
                  + n.results * (sizeof(lz_data *) + sizeof(void *)) + n.nodes * sizeof(lz_loc)
                  + (size_t)7 * 16;
    lz_job *j = lz_temporary_take(size, LZ_MEM_ALIGN);
    if (!j)
        return lz_err_oom();
    char *at = (char *)j;
    *(lz_job *)part(&at, 1, sizeof *j) = (lz_job){ .runtime = r,
                                                   .executable = lz_executable_retain(p),
                                                   .nleaves = n.leaves,
                                                   .nargs = (uint32_t)args,
                                                   .nresults = n.results };
    atomic_init(&j->count, 1);
    j->generation = lz_fork_count();
    j->args = part(&at, args, sizeof *j->args);
    j->leaves = part(&at, n.leaves, sizeof *j->leaves);
    j->results = part(&at, n.results, sizeof *j->results);
    j->payloads = part(&at, n.results, sizeof *j->payloads);
    j->locs = part(&at, n.nodes, sizeof *j->locs);
    memset(j->leaves, 0, (size_t)(at - (char *)j->leaves) - n.nodes * sizeof *j->locs);
    *out = j;
    return NULL;
}

lz_job *lz_job_retain(lz_job *j)
{
    atomic_fetch_add_explicit(&j->count, 1, memory_order_relaxed);
    return j;
}

static void drop_references(lz_job *j)
{
    for (uint32_t i = 0; i < j->nleaves; i++)
        lz_data_release(j->leaves[i]);
    for (uint32_t i = 0; i < j->nresults; i++)
        lz_data_release(j->results[i]);
    j->nleaves = j->nresults = 0;
    lz_executable_release(j->executable);
    j->executable = NULL;
}

void lz_job_release(lz_job *j)
{
    if (!j || atomic_fetch_sub_explicit(&j->count, 1, memory_order_acq_rel) != 1)
        return;
    drop_references(j);
    lz_err_free(j->error);
    lz_temporary_give(j);
}

/* ---- running ---- */

static void drop_placeholder(lz_job *j, uint32_t i)
{
    const lz_backend *b = j->results[i]->backend;
    if (j->payloads[i])
        b->release_data(b->self, j->payloads[i]);
    j->payloads[i] = NULL;
}

static void mark_failed(lz_job *j, uint32_t i, const lz_err *why)
{
    if (!j->results[i] || lz_data_state_of(j->results[i]) != LZ_DATA_EMPTY)
        return;
    drop_placeholder(j, i);
    lz_data_fail(j->results[i], why);
}

/* The operator that LAZULI_INJECT_FAILURE names fails before anything is computed. */
static lz_err *injected(const lz_job *j, const bool *needed, size_t *failed)
{
    const char *name = j->runtime->inject;
    if (!*name)
        return NULL;
    const lz_executable *p = j->executable;
    const uint64_t *at = lz_flat_first(p->words);
    for (uint32_t i = 0, n = lz_flat_nodes(p->words); i < n; i++) {
        lz_flat_node x = lz_flat_read(at);
        at = x.end;
        if (x.op && (!needed || needed[i]) && strcmp(lz_op_table[x.op].name, name) == 0) {
            *failed = i;
            return lz_errf(LZ_ERR_INTERNAL, "failure injected by LAZULI_INJECT_FAILURE");
        }
    }
    return NULL;
}

static lz_err *execute(lz_job *j, const lz_executable *p, const bool *needed, void **payloads, size_t *failed)
{
    uint64_t start = lz_clock_ns();
    lz_err *e = injected(j, needed, failed);
    lz_executable_call call = {
        .args = j->args, .leaves = j->leaves, .results = payloads, .threads = j->threads, .locs = j->locs
    };
    if (!e)
        e = lz_executable_run(p, &call, failed);
    lz_series_add_since(j->runtime->execute, start);
    return e;
}

/* ---- after a failure ---- */

/* The results that are still to be computed, and the index of their graph. */
typedef struct partial_run {
    lz_job *job;
    lz_arena arena;
    lz_graph_index places;
    uint32_t *todo; /* numbers of results */
    size_t n;
} partial_run;

static lz_err *name_failure(const lz_job *j, const lz_graph_index *p, size_t place, lz_err *why)
{
    assert(place < p->n);
    lz_flat_node x = lz_flat_read(p->at[place]);
    const lz_op_row *op = &lz_op_table[x.op];
    return lz_err_set_names_op(
        lz_err_reword(why, j->locs[place], "%s::%s: %s", op->ns, op->name, lz_err_text(why)));
}

/* out, by place: the node is the failed one, or depends on it. */
static lz_err *find_dependents(partial_run *r, size_t place, bool **out)
{
    bool *is;
    LZ_TRY(lz_arena_new(&r->arena, &is, r->places.n));
    is[place] = true;
    for (uint32_t i = (uint32_t)place + 1; i < r->places.n; i++) {
        lz_flat_node x = lz_flat_read(r->places.at[i]);
        for (uint32_t k = 0; !is[i] && k < x.nin; k++)
            is[i] = x.in[k] && is[lz_flat_ref_place(x.in[k])];
    }
    *out = is;
    return NULL;
}

static uint32_t place_of_result(const partial_run *r, uint32_t result)
{
    return lz_flat_ref_place(r->places.roots[result]);
}

/* Fails the results of the list that depend on a place, and removes them. *any: some results depended on the
 * place. */
static lz_err *fail_dependents(partial_run *r, size_t place, const lz_err *why, bool *any)
{
    bool *lost;
    size_t kept = 0;
    LZ_TRY(find_dependents(r, place, &lost));
    for (size_t i = 0; i < r->n; i++) {
        uint32_t k = r->todo[i];
        if (lost[place_of_result(r, k)])
            mark_failed(r->job, k, why);
        else
            r->todo[kept++] = k;
    }
    *any = kept < r->n;
    r->n = kept;
    return NULL;
}

/* Keeps the first error, but no other error hides a broken invariant. */
static void report(lz_job *j, lz_err *e)
{
    bool hidden = lz_err_code(e) == LZ_ERR_INTERNAL && lz_err_code(j->error) != LZ_ERR_INTERNAL;
    j->error = hidden ? lz_err_first(e, j->error) : lz_err_first(j->error, e);
}

/* Takes the placeholders that a failed run has left, and makes the missing ones. */
static lz_err *take_placeholders(lz_job *j, const uint32_t *todo, size_t n, void **out)
{
    for (size_t i = 0; i < n; i++) {
        const lz_data *d = j->results[todo[i]];
        out[i] = j->payloads[todo[i]];
        j->payloads[todo[i]] = NULL;
        if (!out[i])
            LZ_TRY(d->backend->create_data_placeholder(d->backend->self, d->real, &d->type, &out[i]));
    }
    return NULL;
}

/* Computes results todo[0..n) with an executable that has only these results. */
static lz_err *compute(partial_run *r, const uint32_t *todo, size_t n, size_t *failed, bool *compiled)
{
    lz_job *j = r->job;
    uint64_t *refs;
    void **payloads;
    bool *needed;
    lz_executable *p;
    *failed = SIZE_MAX;
    LZ_TRY(lz_arena_new(&r->arena, &refs, n));
    LZ_TRY(lz_arena_new(&r->arena, &payloads, n));
    for (size_t i = 0; i < n; i++)
        refs[i] = r->places.roots[todo[i]];
    LZ_TRY(lz_subgraph_reach(&r->arena, &r->places, refs, n, &needed));
    lz_compile_request o = { .words = j->executable->words,
                             .origins = { j->locs, j->executable->scopes },
                             .roots = refs,
                             .nroots = n,
                             .forced = j->forced,
                             .failed = failed };
    LZ_TRY(lz_executable_compile(&o, &p));
    *compiled = true;
    lz_err *e = take_placeholders(j, todo, n, payloads);
    if (!e)
        e = execute(j, p, needed, payloads, failed);
    for (size_t i = 0; i < n; i++)
        if (e && payloads[i])
            j->payloads[todo[i]] = payloads[i];
        else if (!e)
            lz_data_fill(j->results[todo[i]], payloads[i]);
    lz_executable_release(p);
    return e;
}

/* Whether the first k of the needed nodes can be compiled. */
static lz_err *try_prefix(partial_run *r, const uint32_t *needed, size_t k)
{
    uint64_t *refs;
    lz_executable *p;
    lz_arena_mark mark = lz_arena_save(&r->arena);
    LZ_TRY(lz_arena_new(&r->arena, &refs, k));
    for (size_t i = 0; i < k; i++)
        refs[i] = lz_flat_ref(needed[i], 0);
    lz_compile_request o = {
        .words = r->job->executable->words, .roots = refs, .nroots = k, .forced = r->job->forced
    };
    lz_err *e = lz_executable_compile(&o, &p);
    if (!e)
        lz_executable_release(p);
    lz_arena_rewind(&r->arena, mark);
    return e;
}

/* The backend may fail to compile a graph without a reason. A binary search finds the first node of the
 * shortest prefix that does not compile. An error that must surface is returned at the end: it does not stop
 * the search. */
static lz_err *find_failing_node(partial_run *r, uint32_t result, size_t *place)
{
    bool *is;
    uint32_t *needed;
    size_t n = 0, most;
    lz_err *surfaces = NULL;
    uint64_t ref = r->places.roots[result];
    LZ_TRY(lz_subgraph_reach(&r->arena, &r->places, &ref, 1, &is));
    LZ_TRY(lz_arena_new(&r->arena, &needed, r->places.n));
    for (uint32_t i = 0; i < r->places.n; i++)
        if (is[i] && lz_flat_read(r->places.at[i]).op)
            needed[n++] = i;
    size_t least = 0; /* `least` nodes compile, `most` do not */
    for (most = n; most > least + 1;) {
        size_t half = least + (most - least) / 2;
        lz_err *e = try_prefix(r, needed, half);
        *(e ? &most : &least) = half;
        if (lz_err_must_surface(e))
            surfaces = lz_err_first(surfaces, e);
        else
            lz_err_free(e);
    }
    *place = needed[most - 1];
    return surfaces;
}

/* The failed node is unknown: each result is computed alone. A broken invariant is reported even if every
 * single result can be computed. */
static void compute_each(partial_run *r, lz_err *why)
{
    for (size_t i = 0; i < r->n; i++) {
        size_t failed;
        bool compiled = false;
        lz_err *e = compute(r, &r->todo[i], 1, &failed, &compiled), *search = NULL;
        size_t place = failed != SIZE_MAX ? failed : place_of_result(r, r->todo[i]);
        if (!e)
            continue;
        if (!compiled && failed == SIZE_MAX && lz_err_code(e) != LZ_ERR_MEMORY)
            search = find_failing_node(r, r->todo[i], &place);
        e = name_failure(r->job, &r->places, place, e);
        mark_failed(r->job, r->todo[i], e);
        report(r->job, e);
        report(r->job, search);
    }
    r->n = 0;
    if (lz_err_code(why) == LZ_ERR_INTERNAL)
        report(r->job, why);
    else
        lz_err_free(why);
}

/* Fails the results that depend on the failed node. Takes over why. */
static lz_err *handle_failure(partial_run *r, lz_err *why, size_t failed)
{
    bool any = false;
    if (failed == SIZE_MAX) {
        compute_each(r, why);
        return NULL;
    }
    why = name_failure(r->job, &r->places, failed, why);
    lz_err *e = fail_dependents(r, failed, why, &any);
    if (!e && !any)
        compute_each(r, NULL);
    report(r->job, why);
    return e;
}

static lz_err *compute_rest(partial_run *r, lz_err *why, size_t failed)
{
    bool compiled;
    lz_err *e = handle_failure(r, why, failed);
    while (!e && r->n) {
        why = compute(r, r->todo, r->n, &failed, &compiled);
        if (!why)
            return NULL;
        e = handle_failure(r, why, failed);
    }
    return e;
}

/* Fails the results that depend on failed leaves. The reason was reported when the leaf failed. */
static lz_err *fail_dependents_of_leaves(partial_run *r)
{
    uint32_t leaf = 0;
    for (uint32_t i = 0; i < r->places.n; i++) {
        bool any;
        if (lz_flat_read(r->places.at[i]).op)
            continue;
        lz_data *d = r->job->leaves[leaf++];
        if (lz_data_state_of(d) != LZ_DATA_FAILED)
            continue;
        lz_err *why = lz_data_failure(d);
        lz_err *e = fail_dependents(r, i, why, &any);
        lz_err_free(why);
        LZ_TRY(e);
    }
    return NULL;
}

static lz_err *partial_run_init(partial_run *r, lz_job *j)
{
    *r = (partial_run){ .job = j, .n = j->nresults };
    lz_arena_init(&r->arena);
    LZ_TRY(lz_graph_index_init(&r->arena, j->executable->words, &r->places));
    LZ_TRY(lz_arena_new(&r->arena, &r->todo, r->n));
    for (uint32_t i = 0; i < j->nresults; i++)
        r->todo[i] = i;
    for (uint32_t i = 0; i < j->nleaves; i++)
        j->args[i].donated = false;
    return NULL;
}

static lz_err *run_after_failed_leaves(partial_run *r)
{
    size_t failed;
    bool compiled;
    LZ_TRY(fail_dependents_of_leaves(r));
    lz_err *why = r->n ? compute(r, r->todo, r->n, &failed, &compiled) : NULL;
    return why ? compute_rest(r, why, failed) : NULL;
}

/* Computes the results that do not depend on a failure. Takes over why; NULL: some leaves have failed. */
static void recover(lz_job *j, lz_err *why, size_t failed)
{
    partial_run r;
    lz_err *e = partial_run_init(&r, j);
    if (!e)
        e = why ? compute_rest(&r, why, failed) : run_after_failed_leaves(&r);
    else
        lz_err_free(why);
    for (uint32_t i = 0; e && i < j->nresults; i++)
        mark_failed(j, i, e);
    report(j, e);
    lz_arena_deinit(&r.arena);
}

/* ---- the whole run ---- */

static bool take_leaves(lz_job *j)
{
    bool good = true;
    for (uint32_t i = 0; i < j->nleaves; i++) {
        lz_data *d = j->leaves[i];
        if (lz_data_state_of(d) == LZ_DATA_EMPTY)
            lz_err_free(lz_data_wait(d));
        good = good && lz_data_state_of(d) == LZ_DATA_FULL;
        j->args[i].data = d->payload;
        j->args[i].donated = lz_data_is_sole(d);
    }
    return good;
}

/* As in backend_data.c: of the waiting thread and the finishing thread, one sees the other. */
static struct {
    lz_lock lock;
    atomic_int waiters;
} over = { .lock = LZ_LOCK_INIT };

static void finish(lz_job *j)
{
    drop_references(j);
    atomic_store(&j->done, true);
    if (atomic_load(&over.waiters) == 0)
        return;
    lz_lock_take(&over.lock);
    lz_lock_wake(&over.lock);
    lz_lock_give(&over.lock);
}

/* The thread that ran the job belongs to another process. Results that are still empty fail when they are
 * read. */
static void abandon(lz_job *j)
{
    report(j, lz_errf(LZ_ERR_BUSY, "%s", lz_lost_in_fork));
    atomic_store(&j->done, true);
}

void lz_job_wait(lz_job *j)
{
    if (lz_job_is_done(j))
        return;
    lz_lock_take(&over.lock);
    atomic_fetch_add(&over.waiters, 1);
    while (!lz_job_is_done(j))
        lz_lock_wait(&over.lock);
    atomic_fetch_sub(&over.waiters, 1);
    lz_lock_give(&over.lock);
}

void lz_job_run(lz_job *j)
{
    size_t failed = SIZE_MAX;
    bool good = take_leaves(j);
    lz_err *e = good ? execute(j, j->executable, NULL, j->payloads, &failed) : NULL;
    if (e || !good)
        recover(j, e, failed);
    else
        for (uint32_t i = 0; i < j->nresults; i++)
            lz_data_fill(j->results[i], j->payloads[i]);
    finish(j);
}

void lz_job_drop(lz_job *j)
{
    lz_err *e = lz_errf(LZ_ERR_BUSY, "the device was closed before the value was computed");
    for (uint32_t i = 0; i < j->nresults; i++)
        mark_failed(j, i, e);
    report(j, e);
    finish(j);
}

bool lz_job_is_done(lz_job *j)
{
    if (!atomic_load_explicit(&j->done, memory_order_acquire) && j->generation != lz_fork_count())
        abandon(j);
    return atomic_load_explicit(&j->done, memory_order_acquire);
}
