#include "base/mem.h"
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
    lz_err *e = s->backend->execute_computation(s->backend->self, s->computation, &x);
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

static const lz_stage *stage_on(const lz_recipe *p, size_t side)
{
    return &p->stages[side];
}

static lz_err *fetch(const runner *r, uint32_t slot, size_t side, lz_data **out)
{
    value *v = &r->values[slot];
    const lz_stage *to = stage_on(r->recipe, side);
    if (!v->on[side])
        LZ_TRY(lz_data_copy(v->on[!side], to->backend, to->device, &v->on[side]));
    *out = v->on[side];
    return NULL;
}

static lz_err *gather(const runner *r, const lz_stage *s, size_t side, lz_argument *args)
{
    for (size_t i = 0; i < s->nsources; i++) {
        lz_data *d;
        args[i] = (lz_argument){ 0 };
        if (s->sources[i].is_number) {
            args[i] = r->call->args[r->recipe->nleaves + s->sources[i].at];
            continue;
        }
        LZ_TRY(fetch(r, s->sources[i].at, side, &d));
        args[i].data = d->payload;
    }
    return NULL;
}

/* Takes the payloads over, also on failure. */
static lz_err *store(const runner *r, const lz_stage *s, size_t side, void **payloads)
{
    lz_err *e = NULL;
    for (size_t i = 0; i < s->nresults; i++) {
        lz_data **to = &r->values[s->results[i]].on[side];
        if (!e)
            e = lz_data_create(s->backend, s->device, s->types[i], to);
        if (!e)
            lz_data_fill(*to, payloads[i]);
        else
            s->backend->release_data(s->backend->self, payloads[i]);
    }
    return e;
}

static lz_err *run_nth(runner *r, size_t k)
{
    const lz_stage *s = &r->recipe->stages[k];
    if (!s->computation)
        return NULL;
    lz_argument *args = lz_mem_zalloc(s->nsources + 1, sizeof *args);
    void **payloads = lz_mem_zalloc(s->nresults, sizeof *payloads);
    lz_err *e = args && payloads ? gather(r, s, k % 2, args) : lz_err_oom();
    if (!e)
        e = run_stage(s, &(lz_recipe_call){ .args = args, .results = payloads, .threads = r->call->threads },
                      &r->failed);
    if (!e)
        e = store(r, s, k % 2, payloads);
    lz_mem_free(args);
    lz_mem_free(payloads);
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
        if (v->on[0] == v->on[1]) {
            lz_data_release(v->on[1]);
            v->on[1] = NULL;
        }
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
