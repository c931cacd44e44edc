#include "script/executor.h"
#include "base/mem.h"
#include "base/vec.h"
#include "graph/script_value_type.h"
#include "script/inst.h"
#include "script/script_tensor.h"

struct lz_executor {
    lz_script_program *program;
};

lz_err *lz_executor_create(lz_graph *g, lz_executor **out)
{
    lz_executor *x = lz_mem_zalloc(1, sizeof *x);
    if (!x)
        return lz_err_oom();
    lz_err *e = lz_script_program_create(g, &x->program);
    if (e)
        lz_mem_free(x);
    else
        *out = x;
    return e;
}

void lz_executor_destroy(lz_executor *x)
{
    if (x)
        lz_script_program_destroy(x->program);
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
    const lz_script_block *block;
    const lz_script_instr *owner; /* the IF or LOOP instruction; NULL for the graph's own block */
    uint32_t next;                /* the instruction to run next */
    int64_t trip, trips;          /* of a LOOP: trips so far, and the limit */
} frame;

typedef struct machine {
    lz_script_program *p;
    lz_script_env *env;
    lz_script_value *slots;
    frame stack[LZ_BLOCK_DEPTH + 2];
    int depth;
} machine;

static void release_dead(machine *m, const lz_script_instr *i)
{
    for (uint32_t k = 0; k < i->ndead; k++)
        lz_script_value_set(&m->slots[i->dead[k]], lz_script_value_none());
}

static void enter(machine *m, const lz_script_block *b, const lz_script_instr *owner)
{
    m->stack[m->depth++] = (frame){ .block = b, .owner = owner };
}

/* Result k of the block, with a count of its own. */
static lz_script_value take_result(machine *m, const lz_script_block *b, uint32_t k)
{
    return lz_script_value_retain(m->slots[b->rets[k]]);
}

static void drop_results(machine *m, const lz_script_block *b)
{
    for (uint32_t k = 0; k < b->nrets; k++)
        if (b->own_ret[k])
            lz_script_value_set(&m->slots[b->rets[k]], lz_script_value_none());
}

/* ---- blocks ---- */

static lz_err *start_if(machine *m, const lz_script_instr *i)
{
    lz_script_value c = m->slots[i->in[0]];
    if (c.kind != LZ_SCRIPT_VALUE_BOOL)
        return lz_errf(LZ_ERR_ARG, "prim::If: expected a bool as condition");
    enter(m, i->blocks[c.b ? 0 : 1], i);
    return NULL;
}

/* Reads all results before any slot is set: a result may be the old value of a slot that is set here. */
static lz_err *set_all(machine *m, const lz_script_block *from, uint32_t first, const uint32_t *to,
                       uint32_t n)
{
    LZ_VEC(lz_script_value) values = { 0 };
    LZ_TRY(lz_vec_reserve(&values, n + 1));
    for (uint32_t k = 0; k < n; k++)
        values.data[k] = take_result(m, from, first + k);
    drop_results(m, from);
    for (uint32_t k = 0; k < n; k++)
        lz_script_value_set(&m->slots[to[k]], values.data[k]);
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
    lz_script_value_set(&m->slots[f->block->params[0]], lz_script_value_int(f->trip));
}

static lz_err *start_loop(machine *m, const lz_script_instr *i)
{
    lz_script_value trips = m->slots[i->in[0]], go = m->slots[i->in[1]];
    const lz_script_block *b = i->blocks[0];
    if (trips.kind != LZ_SCRIPT_VALUE_INT || go.kind != LZ_SCRIPT_VALUE_BOOL)
        return lz_errf(LZ_ERR_ARG, "prim::Loop: expected an int (number of trips) and a bool (condition)");
    bool any = go.b && trips.i > 0;
    for (uint32_t k = 0; k + 2 < i->nin; k++)
        lz_script_value_set(&m->slots[any ? b->params[1 + k] : i->out[k]],
                            lz_script_value_retain(m->slots[i->in[2 + k]]));
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
    lz_script_value go = m->slots[f->block->rets[0]];
    if (go.kind != LZ_SCRIPT_VALUE_BOOL)
        return lz_errf(LZ_ERR_ARG, "prim::Loop: expected a bool as condition");
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

/* Whether the slot holds a list or dict that the built-in got as an argument and returned. Its tensors
 * have been adopted before, so each append need not search the whole list. */
static bool is_argument(const machine *m, const lz_script_instr *i, uint32_t slot)
{
    lz_script_value v = m->slots[slot];
    for (uint32_t k = 0; k < i->nin; k++) {
        lz_script_value in = m->slots[i->in[k]];
        if (i->in[k] != slot && in.kind == v.kind
            && ((v.kind == LZ_SCRIPT_VALUE_LIST && in.list == v.list)
                || (v.kind == LZ_SCRIPT_VALUE_DICT && in.dict == v.dict)))
            return true;
    }
    return false;
}

/* Built-ins make tensors as arrays: adopts them. */
static lz_err *run_host(machine *m, const lz_script_instr *i)
{
    LZ_TRY(lz_script_instr_run(i, m->slots));
    for (uint32_t k = 0; k < i->nout; k++)
        if (!is_argument(m, i, i->out[k]))
            LZ_TRY(lz_script_value_adopt(&m->slots[i->out[k]]));
    release_dead(m, i);
    return NULL;
}

static lz_err *step(machine *m, const lz_script_instr *i)
{
    if (i->kind == LZ_SCRIPT_INSTR_SEGMENT) {
        LZ_TRY(lz_segment_run(m->p, i->segment, m->slots, i->dead, i->ndead, m->env));
        release_dead(m, i);
        return NULL;
    }
    lz_err *e = i->kind == LZ_SCRIPT_INSTR_IF     ? start_if(m, i)
                : i->kind == LZ_SCRIPT_INSTR_LOOP ? start_loop(m, i)
                                                  : run_host(m, i);
    return lz_script_program_error(m->p, i->node, e);
}

static lz_err *end_block(machine *m, frame *f)
{
    lz_err *e = f->owner->kind == LZ_SCRIPT_INSTR_IF ? end_if(m, f) : end_trip(m, f);
    return lz_script_program_error(m->p, f->owner->node, e);
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

/* ---- inputs and outputs ---- */

static lz_err *take_inputs(machine *m, const lz_script_value *in, size_t nin)
{
    const lz_script_block *b = m->p->main;
    if (nin != b->nparams)
        return lz_errf(LZ_ERR_ARG, "the graph takes %u inputs, found %zu", b->nparams, nin);
    for (uint32_t i = 0; i < nin; i++) {
        const lz_ssa_value *v = m->p->graph->block->param->out[i];
        if (!lz_script_value_fits(in[i], v->type))
            return lz_errf(LZ_ERR_ARG, "input %u has another type than the graph states", i);
        lz_script_value_set(&m->slots[b->params[i]], lz_script_value_retain(in[i]));
        LZ_TRY(lz_script_value_adopt(&m->slots[b->params[i]]));
    }
    for (size_t i = 0; i < m->p->n_constants; i++) {
        lz_script_value *slot = &m->slots[m->p->constants[i].slot];
        lz_script_value_set(slot, lz_script_value_retain(m->p->constants[i].value));
        if (slot->kind == LZ_SCRIPT_VALUE_ARRAY)
            LZ_TRY(lz_script_value_adopt(slot));
    }
    return NULL;
}

static void give_outputs(machine *m, lz_script_value *out)
{
    for (uint32_t i = 0; i < m->p->main->nrets; i++)
        out[i] = take_result(m, m->p->main, i);
}

lz_err *lz_executor_run(lz_executor *x, const lz_script_value *in, size_t nin, lz_script_env *env,
                        lz_script_value *out)
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
        lz_script_value_release(m->slots[i]);
    lz_mem_free(m->slots);
    lz_mem_free(m);
    return e;
}
