/* Runs an executable: one computation, or several stages. */
#include "base/mem.h"
#include "base/profiler.h"
#include "lazy/executable.h"
#include <string.h>

static lz_err *run_stage(const lz_stage *s, const lz_executable_call *c, size_t *failed)
{
    size_t place = SIZE_MAX;
    lz_execution x = { .arguments = c->args,
                       .n = s->nsources,
                       .device = s->real,
                       .results = c->results,
                       .n_results = s->nresults,
                       .failed = &place,
                       .threads = c->threads };
    lz_run_lines lines = { .locs = c->locs, .places = s->place_of, .n = c->locs ? s->nnodes : 0 };
    lz_span span = lz_span_begin();
    const lz_run_lines *former = span.profile ? lz_run_lines_set(&lines) : NULL;
    lz_err *e = s->backend->execute_computation(s->backend->self, s->computation, &x);
    if (span.profile)
        lz_run_lines_set(former);
    lz_span_end(&span, &(lz_span_note){ .phase = LZ_PHASE_RUN, .name = s->backend->name });
    if (e)
        *failed = place < s->nnodes ? s->place_of[place] : SIZE_MAX;
    for (size_t i = 0; !e && i < s->nresults; i++)
        if (!c->results[i])
            e = lz_errf(LZ_ERR_ARG, "backend %s: execute_computation reported success but gave no result %zu",
                        s->backend->name, i);
    return e;
}

static lz_err *run_part(const lz_executable *p, const lz_executable_call *c, size_t *failed)
{
    const lz_stage *s = &p->stages[0];
    lz_argument *own = lz_temporary_zeroed(s->nsources + 1, sizeof *own);
    if (!own)
        return lz_err_oom();
    for (size_t i = 0; i < s->nsources; i++)
        own[i] = c->args[s->sources[i].is_number ? p->nleaves + s->sources[i].at : s->sources[i].at];
    lz_executable_call part = *c;
    part.args = own;
    lz_err *e = run_stage(s, &part, failed);
    lz_temporary_give(own);
    return e;
}

/* ---- several stages: values between them are data handles ---- */

typedef struct value {
    lz_data *on[2]; /* on the device, on the CPU; may be one handle */
} value;

typedef struct runner {
    const lz_executable *executable;
    const lz_executable_call *call;
    value *values; /* by slot */
    size_t failed; /* the place of the node that failed */
} runner;

static void drop(lz_data **d)
{
    lz_data_release(*d);
    *d = NULL;
}

static lz_err *fetch(const runner *r, uint32_t slot, size_t side, lz_data **out)
{
    value *v = &r->values[slot];
    const lz_stage *to = &r->executable->stages[side];
    if (!v->on[side])
        LZ_TRY(lz_data_copy(v->on[!side], to->backend, to->device, &v->on[side]));
    *out = v->on[side];
    return NULL;
}

/* A stage may overwrite a value that no later stage reads. If a stage fails, everything is computed again
 * from the leaves; so leaves are donated only to the last stage, after which nothing can fail. */
static bool may_donate(const runner *r, size_t k, uint32_t slot, const lz_data *d)
{
    const lz_executable_call *c = r->call;
    if (slot < r->executable->nleaves && d == c->leaves[slot])
        return k == r->executable->last && c->args[slot].donated;
    return lz_data_is_sole(d);
}

static lz_err *gather(const runner *r, size_t k, lz_argument *args)
{
    const lz_stage *s = &r->executable->stages[k];
    size_t side = k % 2;
    for (size_t i = 0; i < s->nsources; i++) {
        uint32_t slot = s->sources[i].at;
        lz_data *d;
        args[i] = (lz_argument){ 0 };
        if (s->sources[i].is_number) {
            args[i] = r->call->args[r->executable->nleaves + slot];
            continue;
        }
        LZ_TRY(fetch(r, slot, side, &d));
        if (s->dies[i])
            drop(&r->values[slot].on[!side]);
        args[i] = (lz_argument){ .data = d->payload, .donated = s->dies[i] && may_donate(r, k, slot, d) };
    }
    return NULL;
}

/* The results of a stage. Handles are made before the stage runs, so that nothing can fail afterwards. */
typedef struct outputs {
    lz_data **data;
    void **payloads;
} outputs;

static void free_outputs(const lz_stage *s, outputs *o)
{
    for (size_t i = 0; i < s->nresults; i++) {
        if (o->payloads && o->payloads[i])
            s->backend->release_data(s->backend->self, o->payloads[i]);
        if (o->data)
            lz_data_release(o->data[i]);
    }
    lz_mem_free(o->data);
    lz_mem_free(o->payloads);
}

/* A root on the device has the placeholder of the caller; any other result has a placeholder of its own. */
static lz_err *make_outputs(const runner *r, size_t k, outputs *o)
{
    const lz_stage *s = &r->executable->stages[k];
    *o = (outputs){ lz_mem_zalloc(s->nresults, sizeof *o->data), lz_mem_zalloc(s->nresults, sizeof(void *)) };
    if (!o->data || !o->payloads)
        return lz_err_oom();
    for (size_t i = 0; i < s->nresults; i++) {
        void **given = k % 2 == 0 && s->root[i] != UINT32_MAX ? &r->call->results[s->root[i]] : NULL;
        LZ_TRY(lz_data_create(s->backend, s->device, s->types[i], &o->data[i]));
        if (given) {
            o->payloads[i] = *given;
            *given = NULL;
        } else {
            LZ_TRY(s->backend->create_data_placeholder(s->backend->self, s->real, &s->types[i],
                                                       &o->payloads[i]));
        }
    }
    return NULL;
}

static void store(const runner *r, size_t k, outputs *o)
{
    const lz_stage *s = &r->executable->stages[k];
    for (size_t i = 0; i < s->nresults; i++) {
        lz_data_fill(o->data[i], o->payloads[i]);
        r->values[s->results[i]].on[k % 2] = o->data[i];
        o->data[i] = NULL;
        o->payloads[i] = NULL;
    }
    for (size_t i = 0; i < s->nsources; i++)
        if (s->dies[i]) {
            drop(&r->values[s->sources[i].at].on[0]);
            drop(&r->values[s->sources[i].at].on[1]);
        }
}

/* Copies roots that the CPU has computed to the device before the last stage: afterwards leaves may be
 * overwritten, and a failure could not be repaired. */
static lz_err *bring_roots(const runner *r)
{
    const lz_executable *p = r->executable;
    lz_data *d;
    for (uint32_t i = 0; i < p->nroots; i++)
        if (r->values[p->roots[i]].on[1])
            LZ_TRY(fetch(r, p->roots[i], 0, &d));
    return NULL;
}

static lz_err *run_nth(runner *r, size_t k)
{
    const lz_stage *s = &r->executable->stages[k];
    if (!s->computation)
        return NULL;
    outputs o;
    lz_argument *args = lz_mem_zalloc(s->nsources + 1, sizeof *args);
    lz_err *e = make_outputs(r, k, &o);
    if (!args && !e)
        e = lz_err_oom();
    if (!e && k == r->executable->last)
        e = bring_roots(r);
    if (!e)
        e = gather(r, k, args);
    if (!e)
        e = run_stage(
            s,
            &(lz_executable_call){
                .args = args, .results = o.payloads, .threads = r->call->threads, .locs = r->call->locs },
            &r->failed);
    if (!e)
        store(r, k, &o);
    free_outputs(s, &o);
    lz_mem_free(args);
    return e;
}

/* Takes the payload out of a handle that has one owner. */
static void *take(lz_data *d)
{
    void *payload = d->payload;
    d->payload = NULL;
    return payload;
}

static lz_err *deliver(const runner *r, void **results)
{
    const lz_executable *p = r->executable;
    lz_data *d;
    for (size_t i = 0; i < p->nroots; i++)
        LZ_TRY(fetch(r, p->roots[i], 0, &d));
    for (size_t i = 0; i < p->nroots; i++) {
        value *v = &r->values[p->roots[i]];
        const lz_backend *b = p->stages[0].backend;
        drop(&v->on[1]);
        if (results[i])
            b->release_data(b->self, results[i]);
        results[i] = take(v->on[0]);
    }
    return NULL;
}

static lz_err *run_stages(const lz_executable *p, const lz_executable_call *c, size_t *failed)
{
    lz_err *e = NULL;
    runner r = {
        .executable = p, .call = c, .values = lz_mem_zalloc(p->nslots, sizeof *r.values), .failed = SIZE_MAX
    };
    if (!r.values)
        return lz_err_oom();
    for (uint32_t i = 0; i < p->nleaves; i++)
        r.values[i].on[0] = lz_data_retain(c->leaves[i]);
    for (size_t k = 0; !e && k < p->nstages; k++)
        e = run_nth(&r, k);
    if (!e)
        e = deliver(&r, c->results);
    for (uint32_t i = 0; i < p->nslots; i++) {
        lz_data_release(r.values[i].on[0]);
        lz_data_release(r.values[i].on[1]);
    }
    lz_mem_free(r.values);
    *failed = r.failed;
    return e;
}

lz_err *lz_executable_run(const lz_executable *p, const lz_executable_call *c, size_t *failed)
{
    *failed = SIZE_MAX;
    if (p->nstages == 0)
        return lz_errf(LZ_ERR_UNSUPPORTED, "the graph cannot be compiled");
    if (p->nstages > 1)
        return run_stages(p, c, failed);
    return p->stages[0].direct ? run_stage(&p->stages[0], c, failed) : run_part(p, c, failed);
}
