/* Dead code: nodes whose results nobody asks for go, and with them outputs of prim::If and
 * what prim::Loop carries around for nobody. What has an effect stays, and what decides
 * whether it happens. Requires: any graph. Keeps: effects, their order, random draws. */
#include "base/vec.h"
#include "graph/effects.h"
#include "pass/pass.h"

typedef struct dce {
    LZ_VEC(lz_ir_value *) work; /* alive, and not yet followed */
    LZ_VEC(lz_ir_node *) nodes; /* all of them, in the order of the text */
} dce;

enum { DEAD, ALIVE };

static lz_err *keep_value(dce *d, lz_ir_value *v)
{
    if (v->mark == ALIVE)
        return NULL;
    v->mark = ALIVE;
    return lz_vec_push(&d->work, v);
}

/* Of prim::If and prim::Loop only what decides is needed as such; a node of unknown
 * meaning needs all that its blocks give. */
static lz_err *keep_inputs(dce *d, lz_ir_node *n)
{
    uint32_t deciding = lz_ir_is(n, LZ_PRIM_IF) ? 1 : lz_ir_is(n, LZ_PRIM_LOOP) ? 2 : n->nin;
    for (uint32_t i = 0; i < deciding && i < n->nin; i++)
        LZ_TRY(keep_value(d, lz_ir_in(n, i)));
    for (uint32_t b = 0; b < n->nblocks; b++) {
        lz_ir_node *ret = n->blocks[b]->ret;
        uint32_t wanted = lz_ir_is(n, LZ_PRIM_IF) ? 0 : lz_ir_is(n, LZ_PRIM_LOOP) ? 1 : ret->nin;
        for (uint32_t i = 0; i < wanted && i < ret->nin; i++)
            LZ_TRY(keep_value(d, lz_ir_in(ret, i)));
    }
    return NULL;
}

/* A node, and those whose blocks it stands in. */
static lz_err *keep_node(dce *d, lz_ir_node *n)
{
    for (; n && n->mark != ALIVE; n = n->block->owner) {
        n->mark = ALIVE;
        LZ_TRY(keep_inputs(d, n));
    }
    return NULL;
}

/* Carried value i of a loop: what comes in and what comes around. */
static lz_err *keep_carried(dce *d, const lz_ir_node *loop, uint32_t i)
{
    LZ_TRY(keep_value(d, lz_ir_in(loop, i + 2)));
    LZ_TRY(keep_value(d, loop->blocks[0]->param->out[i + 1]));
    return keep_value(d, lz_ir_in(loop->blocks[0]->ret, i + 1));
}

static lz_err *follow(dce *d, const lz_ir_value *v)
{
    lz_ir_node *n = v->node, *owner = n->block->owner;
    if (lz_ir_is(n, LZ_PRIM_PARAM)) {
        LZ_TRY(keep_node(d, owner));
        return owner && lz_ir_is(owner, LZ_PRIM_LOOP) && v->index ? keep_carried(d, owner, v->index - 1)
                                                                  : NULL;
    }
    LZ_TRY(keep_node(d, n));
    if (lz_ir_is(n, LZ_PRIM_LOOP))
        return keep_carried(d, n, v->index);
    for (uint32_t b = 0; lz_ir_is(n, LZ_PRIM_IF) && b < n->nblocks; b++)
        LZ_TRY(keep_value(d, lz_ir_in(n->blocks[b]->ret, v->index)));
    return NULL;
}

/* ---- what is alive ---- */

static void forget_outputs(const lz_ir_node *n)
{
    for (uint32_t i = 0; i < n->nout; i++)
        n->out[i]->mark = DEAD;
}

static lz_err *collect(dce *d, lz_graph *g)
{
    forget_outputs(g->block->param);
    for (lz_ir_node *n = lz_ir_first(g->block); n; n = lz_ir_next(n)) {
        n->mark = DEAD;
        forget_outputs(n);
        for (uint32_t i = 0; i < n->nblocks; i++)
            forget_outputs(n->blocks[i]->param);
        if (n->next)
            LZ_TRY(lz_vec_push(&d->nodes, n));
    }
    return NULL;
}

static lz_err *mark(dce *d, lz_graph *g)
{
    LZ_TRY(collect(d, g));
    for (uint32_t i = 0; i < g->block->ret->nin; i++)
        LZ_TRY(keep_value(d, lz_ir_in(g->block->ret, i)));
    for (size_t i = 0; i < d->nodes.len; i++)
        if (lz_ir_effects(d->nodes.data[i]))
            LZ_TRY(keep_node(d, d->nodes.data[i]));
    while (d->work.len)
        LZ_TRY(follow(d, d->work.data[--d->work.len]));
    return NULL;
}

/* ---- what goes ---- */

static void trim_if(lz_ir_node *n)
{
    for (uint32_t i = n->nout; i-- > 0;) {
        if (n->out[i]->mark == ALIVE)
            continue;
        for (uint32_t b = 0; b < n->nblocks; b++)
            lz_ir_input_remove(n->blocks[b]->ret, i);
        lz_ir_output_remove(n, i);
    }
}

/* An output may be dead while the loop itself goes on using the value; if it is alive, so
 * is its parameter. */
static void trim_loop(lz_ir_node *n)
{
    lz_ir_block *b = n->blocks[0];
    for (uint32_t i = n->nout; i-- > 0;) {
        if (b->param->out[i + 1]->mark == ALIVE)
            continue;
        lz_ir_input_remove(b->ret, i + 1);
        lz_ir_input_remove(n, i + 2);
        lz_ir_output_remove(n, i);
        lz_ir_output_remove(b->param, i + 1);
    }
}

/* From the end on: dead values are used by dead nodes, which come later, and by results of
 * blocks, which go when the turn comes of the node that they are in. */
static void sweep(dce *d)
{
    for (size_t i = d->nodes.len; i-- > 0;) {
        lz_ir_node *n = d->nodes.data[i];
        if (n->mark != ALIVE)
            lz_ir_erase(n);
        else if (lz_ir_is(n, LZ_PRIM_IF))
            trim_if(n);
        else if (lz_ir_is(n, LZ_PRIM_LOOP))
            trim_loop(n);
    }
}

lz_err *lz_pass_dce(lz_graph *g)
{
    dce d = { 0 };
    lz_err *e = mark(&d, g);
    if (!e)
        sweep(&d);
    lz_vec_deinit(&d.work);
    lz_vec_deinit(&d.nodes);
    return e;
}
