/* Dead code elimination: removes nodes whose results are unused, unused outputs of prim::If, and unused
 * values that a prim::Loop carries. Nodes with effects stay, and so do the conditions that decide whether
 * they run. Requires: any graph. Keeps: effects, their order, random draws. */
#include "base/vec.h"
#include "graph/effects.h"
#include "pass/pass.h"
#include <assert.h>

typedef struct dce {
    LZ_VEC(lz_ssa_value *) work; /* alive, inputs not yet visited */
    LZ_VEC(lz_ssa_node *) nodes; /* all nodes, in the order of the text */
} dce;

enum { DEAD, ALIVE };

static lz_err *keep_value(dce *d, lz_ssa_value *v)
{
    if (v->mark == ALIVE)
        return NULL;
    v->mark = ALIVE;
    return lz_vec_push(&d->work, v);
}

/* prim::If and prim::Loop by themselves need only the inputs that decide; a node of unknown meaning needs
 * everything that its blocks return. */
static lz_err *keep_inputs(dce *d, lz_ssa_node *n)
{
    uint32_t deciding = lz_ssa_is(n, LZ_PRIM_IF) ? 1 : lz_ssa_is(n, LZ_PRIM_LOOP) ? 2 : n->nin;
    for (uint32_t i = 0; i < deciding && i < n->nin; i++)
        LZ_TRY(keep_value(d, lz_ssa_in(n, i)));
    for (uint32_t b = 0; b < n->nblocks; b++) {
        lz_ssa_node *ret = n->blocks[b]->ret;
        uint32_t wanted = lz_ssa_is(n, LZ_PRIM_IF) ? 0 : lz_ssa_is(n, LZ_PRIM_LOOP) ? 1 : ret->nin;
        for (uint32_t i = 0; i < wanted && i < ret->nin; i++)
            LZ_TRY(keep_value(d, lz_ssa_in(ret, i)));
    }
    return NULL;
}

/* Keeps a node and the nodes that own the blocks around it. */
static lz_err *keep_node(dce *d, lz_ssa_node *n)
{
    for (; n && n->mark != ALIVE; n = n->block->owner) {
        n->mark = ALIVE;
        LZ_TRY(keep_inputs(d, n));
    }
    return NULL;
}

/* Carried value i of a loop: the initial value, the parameter and the value for the next iteration. */
static lz_err *keep_carried(dce *d, const lz_ssa_node *loop, uint32_t i)
{
    assert(lz_ssa_is(loop, LZ_PRIM_LOOP) && i < loop->nout);
    LZ_TRY(keep_value(d, lz_ssa_in(loop, i + 2)));
    LZ_TRY(keep_value(d, loop->blocks[0]->param->out[i + 1]));
    return keep_value(d, lz_ssa_in(loop->blocks[0]->ret, i + 1));
}

static lz_err *follow(dce *d, const lz_ssa_value *v)
{
    lz_ssa_node *n = v->node, *owner = n->block->owner;
    if (lz_ssa_is(n, LZ_PRIM_PARAM)) {
        LZ_TRY(keep_node(d, owner));
        return owner && lz_ssa_is(owner, LZ_PRIM_LOOP) && v->index ? keep_carried(d, owner, v->index - 1)
                                                                   : NULL;
    }
    LZ_TRY(keep_node(d, n));
    if (lz_ssa_is(n, LZ_PRIM_LOOP))
        return keep_carried(d, n, v->index);
    for (uint32_t b = 0; lz_ssa_is(n, LZ_PRIM_IF) && b < n->nblocks; b++)
        LZ_TRY(keep_value(d, lz_ssa_in(n->blocks[b]->ret, v->index)));
    return NULL;
}

/* ---- liveness ---- */

static void forget_outputs(const lz_ssa_node *n)
{
    for (uint32_t i = 0; i < n->nout; i++)
        n->out[i]->mark = DEAD;
}

static lz_err *collect(dce *d, lz_graph *g)
{
    forget_outputs(g->block->param);
    for (lz_ssa_node *n = lz_ssa_first(g->block); n; n = lz_ssa_next(n)) {
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
        LZ_TRY(keep_value(d, lz_ssa_in(g->block->ret, i)));
    for (size_t i = 0; i < d->nodes.len; i++)
        if (lz_ssa_effects(d->nodes.data[i]))
            LZ_TRY(keep_node(d, d->nodes.data[i]));
    while (d->work.len)
        LZ_TRY(follow(d, d->work.data[--d->work.len]));
    return NULL;
}

/* ---- removal ---- */

static void trim_if(lz_ssa_node *n)
{
    for (uint32_t i = n->nout; i-- > 0;) {
        if (n->out[i]->mark == ALIVE)
            continue;
        for (uint32_t b = 0; b < n->nblocks; b++)
            lz_ssa_input_remove(n->blocks[b]->ret, i);
        lz_ssa_output_remove(n, i);
    }
}

/* An output may be dead while the loop itself still uses the value; if the output is alive, so is the
 * parameter. */
static void trim_loop(lz_ssa_node *n)
{
    lz_ssa_block *b = n->blocks[0];
    for (uint32_t i = n->nout; i-- > 0;) {
        if (b->param->out[i + 1]->mark == ALIVE)
            continue;
        lz_ssa_input_remove(b->ret, i + 1);
        lz_ssa_input_remove(n, i + 2);
        lz_ssa_output_remove(n, i);
        lz_ssa_output_remove(b->param, i + 1);
    }
}

/* Goes backwards: the users of a dead value are dead nodes, which come later, and results of blocks, which
 * are removed with the node that owns the block. */
static void sweep(dce *d)
{
    for (size_t i = d->nodes.len; i-- > 0;) {
        lz_ssa_node *n = d->nodes.data[i];
        if (n->mark != ALIVE)
            lz_ssa_erase(n);
        else if (lz_ssa_is(n, LZ_PRIM_IF))
            trim_if(n);
        else if (lz_ssa_is(n, LZ_PRIM_LOOP))
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
