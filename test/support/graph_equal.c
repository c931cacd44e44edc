#include "graph_equal.h"

static bool same_outputs(lz_ssa_node *a, lz_ssa_node *b, uint32_t *number)
{
    bool same = a->nout == b->nout;
    for (uint32_t i = 0; same && i < a->nout; i++) {
        a->out[i]->mark = b->out[i]->mark = (*number)++;
        same = lz_type_equal(a->out[i]->type, b->out[i]->type);
    }
    return same;
}

static bool same_attrs(const lz_ssa_node *a, const lz_ssa_node *b)
{
    bool same = a->nattrs == b->nattrs;
    for (uint32_t i = 0; same && i < a->nattrs; i++) {
        const lz_ssa_attr *x = a->attrs[i], *y = b->attrs[i];
        same = lz_str_eq(x->name, y->name) && !x->type == !y->type;
        same = same
               && (x->type ? lz_type_equal(x->type, y->type) : lz_script_value_identical(x->value, y->value));
    }
    return same;
}

static bool same_node(lz_ssa_node *a, lz_ssa_node *b, uint32_t *number)
{
    bool same = lz_str_eq(a->sym->name, b->sym->name) && a->op == b->op && a->builtin == b->builtin
                && a->nin == b->nin && a->nblocks == b->nblocks && !a->next == !b->next;
    for (uint32_t i = 0; same && i < a->nin; i++)
        same = lz_ssa_in(a, i)->mark == lz_ssa_in(b, i)->mark;
    same = same && same_attrs(a, b) && same_outputs(a, b, number);
    for (uint32_t i = 0; same && i < a->nblocks; i++)
        same = same_outputs(a->blocks[i]->param, b->blocks[i]->param, number);
    return same;
}

bool graph_equal(lz_graph *a, lz_graph *b)
{
    uint32_t number = 0;
    bool same = same_outputs(a->block->param, b->block->param, &number);
    lz_ssa_node *x = lz_ssa_first(a->block), *y = lz_ssa_first(b->block);
    for (; same && x && y; x = lz_ssa_next(x), y = lz_ssa_next(y))
        same = same_node(x, y, &number);
    return same && !x && !y;
}
