/* The verifier: checks everything that ir.h promises, and the rules of each node. One walk in the order of
 * the text; visited nodes are marked with their position. */
#include "graph/ir.h"

typedef struct verifier {
    const lz_graph *g;
    lz_map names;
    uint32_t position;
} verifier;

static lz_err *wrong(const verifier *v, const lz_ssa_node *n, const char *what)
{
    return lz_ssa_error(v->g, n, LZ_ERR_MODEL, "%s", what);
}

/* Only explicit names are checked: other values are named by their ids. */
static lz_err *take_name(verifier *v, const lz_ssa_value *value)
{
    if (!value->name.len)
        return NULL;
    if (lz_map_find(&v->names, value->name))
        return lz_ssa_error(v->g, value->node, LZ_ERR_MODEL, "two values are called %%%.*s",
                            LZ_FMT(value->name));
    return lz_map_put(&v->names, value->name, (void *)value);
}

static lz_err *check_outputs(verifier *v, lz_ssa_node *n)
{
    for (uint32_t i = 0; i < n->nout; i++) {
        lz_ssa_value *out = n->out[i];
        if (out->node != n || out->index != i || !out->type)
            return wrong(v, n, "an output names another node or has no type");
        uint32_t uses = 0;
        for (const lz_ssa_use *u = out->uses; u; u = u->next, uses++)
            if (u->value != out || (u->next && u->next->prev != u) || uses > out->nuses)
                return wrong(v, n, "the uses of an output are not linked");
        if (uses != out->nuses)
            return wrong(v, n, "the uses of an output are not counted right");
        out->mark = v->position;
        LZ_TRY(take_name(v, out));
    }
    return NULL;
}

/* A value is visible to later nodes of its block and of the blocks within these. */
static lz_err *check_inputs(const verifier *v, const lz_ssa_node *n)
{
    for (uint32_t i = 0; i < n->nin; i++) {
        const lz_ssa_value *in = lz_ssa_in(n, i);
        const lz_ssa_block *home = in->node->block;
        if (n->in[i].user != n)
            return wrong(v, n, "an input names another node");
        if (!home || !lz_ssa_within(n->block, home) || in->node->mark == 0 || in->mark == 0)
            return lz_ssa_error(v->g, n, LZ_ERR_MODEL, "input %u is not defined before it is used", i + 1);
    }
    return NULL;
}

static lz_err *check_calls(const verifier *v, const lz_ssa_node *n)
{
    const char *rule = lz_prim_check(n);
    if (rule)
        return wrong(v, n, rule);
    return lz_ssa_matches(n) ? NULL
                             : wrong(v, n, "inputs or outputs do not match the operator that is called");
}

static lz_err *check_blocks(const verifier *v, const lz_ssa_node *n)
{
    if (n->nblocks && lz_ssa_depth(n->block) >= LZ_BLOCK_DEPTH)
        return lz_ssa_error(v->g, n, LZ_ERR_LIMIT, "blocks are nested more than %d deep", LZ_BLOCK_DEPTH);
    for (uint32_t i = 0; i < n->nblocks; i++) {
        const lz_ssa_block *b = n->blocks[i];
        if (b->owner != n || b->index != i || b->param->prev || b->ret->next)
            return wrong(v, n, "a block names another owner");
    }
    return NULL;
}

static lz_err *enter(verifier *v, const lz_ssa_block *b)
{
    b->param->mark = ++v->position;
    return check_outputs(v, b->param);
}

static lz_err *check_node(verifier *v, lz_ssa_node *n)
{
    n->mark = ++v->position;
    if (!n->prev || n->prev->next != n || (n->next && n->next->prev != n))
        return wrong(v, n, "the nodes of a block are not linked");
    LZ_TRY(check_inputs(v, n));
    LZ_TRY(check_outputs(v, n));
    LZ_TRY(check_blocks(v, n));
    return NULL;
}

static void clear_marks(const lz_graph *g)
{
    g->block->param->mark = 0;
    for (lz_ssa_node *n = lz_ssa_first(g->block); n; n = lz_ssa_next(n)) {
        n->mark = 0;
        for (uint32_t i = 0; i < n->nout; i++)
            n->out[i]->mark = 0;
        for (uint32_t i = 0; i < n->nblocks; i++)
            n->blocks[i]->param->mark = 0;
    }
}

/* The rules of a node with blocks depend on the contents of the blocks, so they are checked after the ret of
 * the last block. */
static lz_err *leave(const verifier *v, const lz_ssa_node *ret)
{
    const lz_ssa_node *owner = ret->block->owner;
    bool last = owner && ret->block->index + 1 == owner->nblocks;
    return last ? check_calls(v, owner) : NULL;
}

static lz_err *walk(verifier *v)
{
    LZ_TRY(enter(v, v->g->block));
    for (lz_ssa_node *n = lz_ssa_first(v->g->block); n; n = lz_ssa_next(n)) {
        if (n->prev && lz_ssa_is(n->prev, LZ_PRIM_PARAM) && n->block->owner)
            LZ_TRY(enter(v, n->block));
        LZ_TRY(check_node(v, n));
        if (!n->nblocks)
            LZ_TRY(n->next ? check_calls(v, n) : leave(v, n));
    }
    return NULL;
}

lz_err *lz_graph_verify(const lz_graph *g)
{
    verifier v = { .g = g };
    clear_marks(g);
    lz_err *e = walk(&v);
    lz_map_deinit(&v.names);
    return e;
}
