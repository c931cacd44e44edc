/* Nodes of a flat graph, and what backends read of nodes: of recorded nodes and of those of a subgraph. */
#include "lazy/pack.h"
#include "lazy/subgraph.h"
#include "op/op_table.h"
#include <assert.h>

/* ---- nodes of a flat graph ---- */

lz_flat_node lz_flat_read(const uint64_t *at)
{
    lz_flat_node n = lz_flat_head(at);
    assert(n.op < LZ_OP_COUNT);
    n.end = n.types;
    for (uint32_t i = 0; i < n.nout; i++)
        n.end = lz_flat_next_type(n.end);
    return n;
}

lz_data_type lz_flat_type(const lz_flat_node *n, uint32_t output)
{
    const uint64_t *t = n->types;
    assert(output < n->nout);
    for (uint32_t i = 0; i < output; i++)
        t = lz_flat_next_type(t);
    return lz_flat_type_at(t);
}

/* ---- for backends ---- */

lz_node_kind lz_node_kind_of(const lz_node *n)
{
    return lz_node_op(n) ? LZ_NODE_OP : LZ_NODE_DATA;
}

const lz_op_row *lz_node_op(const lz_node *n)
{
    const lz_subgraph_node *s = lz_subgraph_node_of(n);
    uint32_t op = s ? lz_flat_head(s->at).op : 0;
    return !s ? n->op : op ? &lz_op_table[op] : NULL;
}

static lz_node_arg read_arg(lz_slot s, const uint64_t *fixed, const lz_output *in)
{
    lz_node_arg a = { .kind = (lz_arg_kind)s.kind, .number = s.first, .scalar = (lz_scalar_kind)s.scalar };
    if (a.kind == LZ_ARG_VALUE)
        a.value = lz_unpack(fixed, s.first);
    if (a.kind == LZ_ARG_TENSOR || a.kind == LZ_ARG_TENSORS) {
        a.tensors = in + s.first;
        a.n = s.n;
    }
    return a;
}

lz_node_arg lz_node_arg_get(const lz_node *n, size_t i)
{
    const lz_subgraph_node *s = lz_subgraph_node_of(n);
    lz_node_arg none = { .kind = LZ_ARG_NONE };
    if (!s)
        return i < n->nargs ? read_arg(n->args[i], n->fixed, n->in) : none;
    lz_flat_node x = lz_flat_head(s->at);
    return i < x.nargs ? read_arg(lz_flat_slot(&x, i), x.fixed, s->in) : none;
}

size_t lz_node_operands(const lz_node *n, const lz_output **out)
{
    const lz_subgraph_node *s = lz_subgraph_node_of(n);
    *out = s ? s->in : n->in;
    return s ? lz_flat_head(s->at).nin : n->nin;
}

size_t lz_node_numbers(const lz_node *n)
{
    const lz_subgraph_node *s = lz_subgraph_node_of(n);
    return s ? lz_flat_head(s->at).nnumbers : n->nnumbers;
}

size_t lz_node_outputs(const lz_node *n)
{
    const lz_subgraph_node *s = lz_subgraph_node_of(n);
    return s ? lz_flat_head(s->at).nout : n->nout;
}

lz_data_type lz_node_type(const lz_node *n, size_t output)
{
    const lz_subgraph_node *s = lz_subgraph_node_of(n);
    if (s)
        return lz_flat_type_at(s->type[output]);
    const lz_spec *spec = n->specs[output];
    return (lz_data_type){ (lz_dtype)spec->dtype, lz_spec_sizes(spec) };
}

lz_loc lz_node_loc(const lz_node *n)
{
    const lz_subgraph_node *s = lz_subgraph_node_of(n);
    return !s ? n->at : s->loc ? *s->loc : (lz_loc){ 0 };
}

const char *lz_node_scope(const lz_node *n)
{
    const lz_subgraph_node *s = lz_subgraph_node_of(n);
    const char *scope = s ? s->scope : n->scope;
    return scope ? scope : "";
}
