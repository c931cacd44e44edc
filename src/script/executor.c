#include "script/executor.h"
#include "base/mem.h"
#include "base/vec.h"
#include "graph/gvalue_type.h"
#include "script/inst.h"
#include "script/xtensor.h"

struct lz_executor {
    lz_gprogram *program;
};

lz_err *lz_executor_create(lz_graph *g, lz_executor **out)
{
    lz_executor *x = lz_mem_zalloc(1, sizeof *x);
    if (!x)
        return lz_err_oom();
    lz_err *e = lz_gprogram_create(g, &x->program);
    if (e)
        lz_mem_free(x);
    else
        *out = x;
    return e;
}

void lz_executor_destroy(lz_executor *x)
{
    if (x)
        lz_gprogram_destroy(x->program);
    lz_mem_free(x);
}

size_t lz_executor_inputs(const lz_executor *x)
{
    return x->program->main->nparams;
}

size_t lz_executor_outputs(const lz_executor *x)
{
    return x->program->main->nrets;
}

size_t lz_executor_plans(lz_executor *x)
{
    size_t n = 0;
    for (size_t i = 0; i < x->program->n_segments; i++)
        n += lz_segment_entries(x->program->segments[i]);
    return n;
}

/* ---- frames ---- */

typedef struct frame {
    const lz_pblock *block;
    const lz_inst *owner; /* the IF or LOOP; NULL for the graph's own block */
    uint32_t next;        /* instruction */
    int64_t trip, trips;  /* of a LOOP */
} frame;

typedef struct machine {
    lz_gprogram *p;
    lz_exec_env *env;
    lz_gv *slots;
    frame stack[LZ_BLOCK_DEPTH + 2];
    int depth;
} machine;

static void release_dead(machine *m, const lz_inst *i)
{
    for (uint32_t k = 0; k < i->ndead; k++)
        lz_gv_set(&m->slots[i->dead[k]], lz_gv_none());
}

static void enter(machine *m, const lz_pblock *b, const lz_inst *owner)
{
    m->stack[m->depth++] = (frame){ .block = b, .owner = owner };
}

/* What block result k is; what belongs to the block is not needed there any more. */
static lz_gv take_result(machine *m, const lz_pblock *b, uint32_t k)
{
    return lz_gv_retain(m->slots[b->rets[k]]);
}

static void drop_results(machine *m, const lz_pblock *b)
{
    for (uint32_t k = 0; k < b->nrets; k++)
        if (b->own_ret[k])
            lz_gv_set(&m->slots[b->rets[k]], lz_gv_none());
}

/* ---- control flow ---- */

static lz_err *start_if(machine *m, const lz_inst *i)
{
    lz_gv c = m->slots[i->in[0]];
    if (c.kind != LZ_GV_BOOL)
        return lz_errf(LZ_ERR_ARG, "the condition of prim::If is no bool");
    enter(m, i->blocks[c.b ? 0 : 1], i);
    return NULL;
}

/* Results that are results of an outer slot are read before anything is set. */
static lz_err *set_all(machine *m, const lz_pblock *from, uint32_t first, const uint32_t *to, uint32_t n)
{
    LZ_VEC(lz_gv) values = { 0 };
    LZ_TRY(lz_vec_reserve(&values, n + 1));
    for (uint32_t k = 0; k < n; k++)
        values.data[k] = take_result(m, from, first + k);
    drop_results(m, from);
    for (uint32_t k = 0; k < n; k++)
        lz_gv_set(&m->slots[to[k]], values.data[k]);
    lz_vec_deinit(&values);
    return NULL;
}

static lz_err *end_if(machine *m, frame *f)
{
    LZ_TRY(set_all(m, f->block, 0, f->owner->out, f->owner->nout));
    m->depth--;
    release_dead(m, f->owner);
    return NULL;
}

static void set_trip(machine *m, const frame *f)
{
    lz_gv_set(&m->slots[f->block->params[0]], lz_gv_int(f->trip));
}

static lz_err *start_loop(machine *m, const lz_inst *i)
{
    lz_gv trips = m->slots[i->in[0]], go = m->slots[i->in[1]];
    const lz_pblock *b = i->blocks[0];
    if (trips.kind != LZ_GV_INT || go.kind != LZ_GV_BOOL)
        return lz_errf(LZ_ERR_ARG, "prim::Loop needs a number of trips and a condition");
    bool any = go.b && trips.i > 0;
    for (uint32_t k = 0; k + 2 < i->nin; k++)
        lz_gv_set(&m->slots[any ? b->params[1 + k] : i->out[k]], lz_gv_retain(m->slots[i->in[2 + k]]));
    if (!any) {
        release_dead(m, i);
        return NULL;
    }
    enter(m, b, i);
    m->stack[m->depth - 1].trips = trips.i;
    set_trip(m, &m->stack[m->depth - 1]);
    return NULL;
}

static lz_err *end_trip(machine *m, frame *f)
{
    lz_gv go = m->slots[f->block->rets[0]];
    if (go.kind != LZ_GV_BOOL)
        return lz_errf(LZ_ERR_ARG, "the condition of prim::Loop is no bool");
    bool again = go.b && ++f->trip < f->trips;
    const uint32_t *to = again ? f->block->params + 1 : f->owner->out;
    LZ_TRY(set_all(m, f->block, 1, to, f->owner->nout));
    if (again) {
        f->next = 0;
        set_trip(m, f);
        return NULL;
    }
    m->depth--;
    release_dead(m, f->owner);
    return NULL;
}

/* ---- one instruction ---- */

/* A list or dict that a built-in has changed and returned. Only tensors that were adopted before can
 * have come into it, so that nobody has to look through it each time something is appended. */
static bool is_argument(const machine *m, const lz_inst *i, uint32_t slot)
{
    lz_gv v = m->slots[slot];
    for (uint32_t k = 0; k < i->nin; k++) {
        lz_gv in = m->slots[i->in[k]];
        if (i->in[k] != slot && in.kind == v.kind
            && ((v.kind == LZ_GV_LIST && in.list == v.list) || (v.kind == LZ_GV_DICT && in.dict == v.dict)))
            return true;
    }
    return false;
}

/* Tensors that built-ins make are arrays. */
static lz_err *run_host(machine *m, const lz_inst *i)
{
    LZ_TRY(lz_inst_run(i, m->slots));
    for (uint32_t k = 0; k < i->nout; k++)
        if (!is_argument(m, i, i->out[k]))
            LZ_TRY(lz_gv_adopt(&m->slots[i->out[k]]));
    release_dead(m, i);
    return NULL;
}

static lz_err *step(machine *m, const lz_inst *i)
{
    if (i->kind == LZ_INST_SEGMENT) {
        LZ_TRY(lz_segment_run(m->p, i->segment, m->slots, i->dead, i->ndead, m->env));
        release_dead(m, i);
        return NULL;
    }
    lz_err *e = i->kind == LZ_INST_IF     ? start_if(m, i)
                : i->kind == LZ_INST_LOOP ? start_loop(m, i)
                                          : run_host(m, i);
    return lz_gprogram_error(m->p, i->node, e);
}

static lz_err *end_block(machine *m, frame *f)
{
    lz_err *e = f->owner->kind == LZ_INST_IF ? end_if(m, f) : end_trip(m, f);
    return lz_gprogram_error(m->p, f->owner->node, e);
}

static lz_err *run(machine *m)
{
    enter(m, m->p->main, NULL);
    for (;;) {
        frame *f = &m->stack[m->depth - 1];
        if (f->next < f->block->n)
            LZ_TRY(step(m, &f->block->insts[f->next++]));
        else if (f->owner)
            LZ_TRY(end_block(m, f));
        else
            return NULL;
    }
}

/* ---- in and out ---- */

static lz_err *take_inputs(machine *m, const lz_gv *in, size_t nin)
{
    const lz_pblock *b = m->p->main;
    if (nin != b->nparams)
        return lz_errf(LZ_ERR_ARG, "the graph takes %u inputs, not %zu", b->nparams, nin);
    for (uint32_t i = 0; i < nin; i++) {
        const lz_ir_value *v = m->p->graph->block->param->out[i];
        if (!lz_gv_fits(in[i], v->type))
            return lz_errf(LZ_ERR_ARG, "input %u is not of the type that the graph says", i);
        lz_gv_set(&m->slots[b->params[i]], lz_gv_retain(in[i]));
        LZ_TRY(lz_gv_adopt(&m->slots[b->params[i]]));
    }
    for (size_t i = 0; i < m->p->n_constants; i++) {
        lz_gv *slot = &m->slots[m->p->constants[i].slot];
        lz_gv_set(slot, lz_gv_retain(m->p->constants[i].value));
        if (slot->kind == LZ_GV_ARRAY)
            LZ_TRY(lz_gv_adopt(slot));
    }
    return NULL;
}

static void give_outputs(machine *m, lz_gv *out)
{
    for (uint32_t i = 0; i < m->p->main->nrets; i++)
        out[i] = take_result(m, m->p->main, i);
}

lz_err *lz_executor_run(lz_executor *x, const lz_gv *in, size_t nin, lz_exec_env *env, lz_gv *out)
{
    machine *m = lz_mem_zalloc(1, sizeof *m);
    if (!m)
        return lz_err_oom();
    m->p = x->program;
    m->env = env;
    m->slots = lz_mem_zalloc(x->program->n_slots + 1, sizeof *m->slots);
    lz_err *e = m->slots ? take_inputs(m, in, nin) : lz_err_oom();
    if (!e)
        e = run(m);
    if (!e)
        give_outputs(m, out);
    for (uint32_t i = 0; m->slots && i < x->program->n_slots; i++)
        lz_gv_release(m->slots[i]);
    lz_mem_free(m->slots);
    lz_mem_free(m);
    return e;
}
