/* Runs what a graph was compiled to: one computation, or several stages. */
#include "base/mem.h"
#include "base/profile.h"
#include "lazy/recipe.h"
#include <string.h>

static lz_err *run_stage(const lz_stage *s, const lz_recipe_call *c, size_t *failed)
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
            e = lz_errf(LZ_ERR_INTERNAL, "backend %s gave no result %zu", s->backend->name, i);
    return e;
}

static lz_err *run_part(const lz_recipe *p, const lz_recipe_call *c, size_t *failed)
{
    const lz_stage *s = &p->stages[0];
    lz_argument *own = lz_mem_zalloc(s->nsources + 1, sizeof *own);
    if (!own)
        return lz_err_oom();
    for (size_t i = 0; i < s->nsources; i++)
        own[i] = c->args[s->sources[i].is_number ? p->nleaves + s->sources[i].at : s->sources[i].at];
    lz_recipe_call part = *c;
    part.args = own;
    lz_err *e = run_stage(s, &part, failed);
    lz_mem_free(own);
    return e;
}

/* ---- several stages: values between them are data handles ---- */

typedef struct value {
    lz_data *on[2]; /* the device, the CPU; they may be the same */
} value;

typedef struct runner {
    const lz_recipe *recipe;
    const lz_recipe_call *call;
    value *values; /* by slot */
    size_t failed; /* place */
} runner;

static void drop(lz_data **d)
{
    lz_data_release(*d);
    *d = NULL;
}

static lz_err *fetch(const runner *r, uint32_t slot, size_t side, lz_data **out)
{
    value *v = &r->values[slot];
    const lz_stage *to = &r->recipe->stages[side];
    if (!v->on[side])
        LZ_TRY(lz_data_copy(v->on[!side], to->backend, to->device, &v->on[side]));
    *out = v->on[side];
    return NULL;
}

/* A value that nobody needs afterwards is the stage's to overwrite. If a stage fails, all is computed
 * anew from the leaves: so they are given away only where nothing can fail any more, to the last. */
static bool may_donate(const runner *r, size_t k, uint32_t slot, const lz_data *d)
{
    const lz_recipe_call *c = r->call;
    if (slot < r->recipe->nleaves && d == c->leaves[slot])
        return k == r->recipe->last && c->args[slot].donated;
    return lz_data_is_sole(d);
}

static lz_err *gather(const runner *r, size_t k, lz_argument *args)
{
    const lz_stage *s = &r->recipe->stages[k];
    size_t side = k % 2;
    for (size_t i = 0; i < s->nsources; i++) {
        uint32_t slot = s->sources[i].at;
        lz_data *d;
        args[i] = (lz_argument){ 0 };
        if (s->sources[i].is_number) {
            args[i] = r->call->args[r->recipe->nleaves + slot];
            continue;
        }
        LZ_TRY(fetch(r, slot, side, &d));
        if (s->dies[i])
            drop(&r->values[slot].on[!side]);
        args[i] = (lz_argument){ .data = d->payload, .donated = s->dies[i] && may_donate(r, k, slot, d) };
    }
    return NULL;
}

/* What a stage gives: handles, made beforehand so that nothing can fail behind it, and payloads. */
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

/* A root on the device has the placeholder that it was given, all else one of its own. */
static lz_err *make_outputs(const runner *r, size_t k, outputs *o)
{
    const lz_stage *s = &r->recipe->stages[k];
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
    const lz_stage *s = &r->recipe->stages[k];
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

/* Roots that the CPU has computed go to the device while a failure does no harm. */
static lz_err *bring_roots(const runner *r)
{
    const lz_recipe *p = r->recipe;
    lz_data *d;
    for (uint32_t i = 0; i < p->nroots; i++)
        if (r->values[p->roots[i]].on[1])
            LZ_TRY(fetch(r, p->roots[i], 0, &d));
    return NULL;
}

static lz_err *run_nth(runner *r, size_t k)
{
    const lz_stage *s = &r->recipe->stages[k];
    if (!s->computation)
        return NULL;
    outputs o;
    lz_argument *args = lz_mem_zalloc(s->nsources + 1, sizeof *args);
    lz_err *e = make_outputs(r, k, &o);
    if (!args && !e)
        e = lz_err_oom();
    if (!e && k == r->recipe->last)
        e = bring_roots(r);
    if (!e)
        e = gather(r, k, args);
    if (!e)
        e = run_stage(
            s,
            &(lz_recipe_call){
                .args = args, .results = o.payloads, .threads = r->call->threads, .locs = r->call->locs },
            &r->failed);
    if (!e)
        store(r, k, &o);
    free_outputs(s, &o);
    lz_mem_free(args);
    return e;
}

/* A handle that nobody else has gives up what it holds. */
static void *take(lz_data *d)
{
    void *payload = d->payload;
    d->payload = NULL;
    return payload;
}

static lz_err *deliver(const runner *r, void **results)
{
    const lz_recipe *p = r->recipe;
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

static lz_err *run_stages(const lz_recipe *p, const lz_recipe_call *c, size_t *failed)
{
    lz_err *e = NULL;
    runner r = {
        .recipe = p, .call = c, .values = lz_mem_zalloc(p->nslots, sizeof *r.values), .failed = SIZE_MAX
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

lz_err *lz_recipe_run(const lz_recipe *p, const lz_recipe_call *c, size_t *failed)
{
    *failed = SIZE_MAX;
    if (p->nstages == 0)
        return lz_errf(LZ_ERR_UNSUPPORTED, "the graph cannot be compiled");
    if (p->nstages > 1)
        return run_stages(p, c, failed);
    return p->stages[0].direct ? run_stage(&p->stages[0], c, failed) : run_part(p, c, failed);
}
