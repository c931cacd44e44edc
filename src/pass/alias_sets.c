#include "pass/alias_sets.h"
#include "base/mem.h"
#include "graph/effects.h"
#include <assert.h>

static uint32_t root(const lz_alias_sets *a, uint32_t i)
{
    assert(i < a->n && a->parent[i] < a->n); /* the mark of a value that the sets know */
    while (a->parent[i] != i) {
        a->parent[i] = a->parent[a->parent[i]];
        i = a->parent[i];
    }
    return i;
}

static void join(lz_alias_sets *a, const lz_ssa_value *x, const lz_ssa_value *y)
{
    if (!lz_type_is_mutable(x->type) || !lz_type_is_mutable(y->type))
        return;
    uint32_t i = root(a, x->mark), j = root(a, y->mark);
    a->parent[j] = i;
    a->written[i] = a->written[i] || a->written[j];
}

static void write_to(lz_alias_sets *a, const lz_ssa_value *v)
{
    if (lz_type_is_mutable(v->type))
        a->written[root(a, v->mark)] = true;
}

/* ---- aliasing of each node ---- */

static void share_if(lz_alias_sets *a, const lz_ssa_node *n)
{
    for (uint32_t b = 0; b < n->nblocks; b++) {
        assert(n->blocks[b]->ret->nin == n->nout);
        for (uint32_t i = 0; i < n->nout; i++)
            join(a, n->out[i], lz_ssa_in(n->blocks[b]->ret, i));
    }
}

static void share_loop(lz_alias_sets *a, const lz_ssa_node *n)
{
    const lz_ssa_block *b = n->blocks[0];
    assert(n->nin == n->nout + 2 && b->param->nout == n->nout + 1 && b->ret->nin == n->nout + 1);
    for (uint32_t i = 0; i < n->nout; i++) {
        join(a, n->out[i], lz_ssa_in(n, i + 2));
        join(a, n->out[i], b->param->out[i + 1]);
        join(a, n->out[i], lz_ssa_in(b->ret, i + 1));
    }
}

/* A value that is put into a written container is held by it from then on. */
static void share_written(lz_alias_sets *a, const lz_ssa_node *n)
{
    for (uint32_t i = 0; i < n->nin; i++) {
        if (!lz_ssa_writes_to(n, i))
            continue;
        write_to(a, lz_ssa_in(n, i));
        for (uint32_t j = 0; !n->op && j < n->nin; j++)
            join(a, lz_ssa_in(n, i), lz_ssa_in(n, j));
    }
}

/* For nodes of unknown meaning: anything may happen to what their blocks take and give. */
static void share_unknown(lz_alias_sets *a, const lz_ssa_node *n)
{
    for (uint32_t b = 0; b < n->nblocks; b++) {
        for (uint32_t i = 0; i < n->blocks[b]->param->nout; i++)
            write_to(a, n->blocks[b]->param->out[i]);
        for (uint32_t i = 0; i < n->blocks[b]->ret->nin; i++)
            write_to(a, lz_ssa_in(n->blocks[b]->ret, i));
    }
    for (uint32_t i = 0; i < n->nout; i++)
        write_to(a, n->out[i]);
}

static void share(lz_alias_sets *a, const lz_ssa_node *n)
{
    if (lz_ssa_is(n, LZ_PRIM_IF)) {
        share_if(a, n);
        return;
    }
    if (lz_ssa_is(n, LZ_PRIM_LOOP)) {
        share_loop(a, n);
        return;
    }
    share_written(a, n);
    if (lz_ssa_unknown(n))
        share_unknown(a, n);
    for (uint32_t i = 0; i < n->nin; i++)
        for (uint32_t j = 0; j < n->nout; j++)
            if (lz_ssa_may_alias(n, i, j))
                join(a, lz_ssa_in(n, i), n->out[j]);
}

/* ---- interface ---- */

static void number(lz_alias_sets *a, const lz_ssa_node *n)
{
    for (uint32_t i = 0; i < n->nout; i++)
        n->out[i]->mark = a->n++;
}

static void number_all(lz_alias_sets *a, const lz_graph *g)
{
    number(a, g->block->param);
    for (const lz_ssa_node *n = lz_ssa_first(g->block); n; n = lz_ssa_next(n)) {
        number(a, n);
        for (uint32_t i = 0; i < n->nblocks; i++)
            number(a, n->blocks[i]->param);
    }
}

/* The caller may pass one tensor twice. */
static void share_inputs(lz_alias_sets *a, const lz_ssa_node *param)
{
    const lz_ssa_value *first = NULL;
    for (uint32_t i = 0; i < param->nout; i++) {
        if (first)
            join(a, first, param->out[i]);
        if (!first && lz_type_is_mutable(param->out[i]->type))
            first = param->out[i];
    }
}

lz_err *lz_alias_sets_init(lz_alias_sets *a, const lz_graph *g)
{
    *a = (lz_alias_sets){ 0 };
    number_all(a, g);
    a->parent = lz_mem_zalloc((size_t)a->n + 1, sizeof *a->parent);
    a->written = lz_mem_zalloc((size_t)a->n + 1, sizeof *a->written);
    if (!a->parent || !a->written) {
        lz_alias_sets_deinit(a);
        return lz_err_oom();
    }
    for (uint32_t i = 0; i < a->n; i++)
        a->parent[i] = i;
    share_inputs(a, g->block->param);
    for (const lz_ssa_node *n = lz_ssa_first(g->block); n; n = lz_ssa_next(n))
        if (n->next)
            share(a, n);
    return NULL;
}

void lz_alias_sets_deinit(lz_alias_sets *a)
{
    lz_mem_free(a->parent);
    lz_mem_free(a->written);
    *a = (lz_alias_sets){ 0 };
}

bool lz_alias_sets_is_written(const lz_alias_sets *a, const lz_ssa_value *v)
{
    if (!lz_type_is_mutable(v->type))
        return false;
    return v->mark >= a->n || a->written[root(a, v->mark)];
}
