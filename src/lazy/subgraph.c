#include "lazy/subgraph.h"
#include "lazy/lowering.h"
#include "op/op_table.h"
#include <assert.h>

lz_err *lz_graph_index_init(lz_arena *a, const uint64_t *words, lz_graph_index *out)
{
    lz_graph_index p = { .words = words,
                         .n = lz_flat_nodes(words),
                         .nroots = lz_flat_roots(words),
                         .nleaves = lz_flat_leaves(words) };
    LZ_TRY(lz_arena_new(a, &p.at, p.n));
    LZ_TRY(lz_arena_new(a, &p.first_number, p.n));
    LZ_TRY(lz_arena_new(a, &p.first_slot, p.n));
    const uint64_t *at = lz_flat_first(words);
    uint32_t leaves = 0;
    p.nslots = p.nleaves;
    for (uint32_t i = 0; i < p.n; i++) {
        lz_flat_node n = lz_flat_read(at);
        p.at[i] = at;
        p.first_slot[i] = n.op ? p.nslots : leaves++;
        p.nslots += n.op ? n.nout : 0;
        p.first_number[i] = p.nnumbers;
        p.nnumbers += n.nnumbers;
        at = n.end;
    }
    assert(leaves == p.nleaves);
    p.roots = at;
    LZ_TRY(lz_arena_new(a, &p.is_root, p.n));
    for (uint32_t i = 0; i < p.nroots; i++)
        p.is_root[lz_flat_ref_place(at[i])] = true;
    *out = p;
    return NULL;
}

lz_err *lz_subgraph_reach(lz_arena *a, const lz_graph_index *p, const uint64_t *refs, size_t n, bool **needed)
{
    bool *is;
    LZ_TRY(lz_arena_new(a, &is, p->n));
    for (size_t i = 0; i < n; i++)
        is[lz_flat_ref_place(refs[i])] = true;
    for (uint32_t i = p->n; i-- > 0;) {
        if (!is[i])
            continue;
        lz_flat_node x = lz_flat_head(p->at[i]);
        for (uint32_t k = 0; k < x.nin; k++)
            if (x.in[k])
                is[lz_flat_ref_place(x.in[k])] = true;
    }
    *needed = is;
    return NULL;
}

/* ---- nodes ---- */

typedef struct builder {
    const lz_graph_index *index;
    const bool *in;
    lz_origins origins;
    lz_subgraph *part;
    /* memory for the nodes, operands and types that are still to be made */
    lz_subgraph_node *nodes;
    lz_output *operands;
    const uint64_t **types;
    lz_subgraph_node **inside; /* by place: the node, or NULL */
    lz_subgraph_node **leaves; /* by slot: the leaf for a value from outside, or NULL */
} builder;

static lz_err *add_node(builder *c, const uint64_t *at, uint32_t place, lz_subgraph_node **out)
{
    lz_subgraph *part = c->part;
    *out = c->nodes++;
    **out = (lz_subgraph_node){ .at = at,
                                .type = c->types,
                                .in = c->operands,
                                .loc = c->origins.locs ? &c->origins.locs[place] : NULL,
                                .scope = c->origins.scopes ? c->origins.scopes[place] : NULL,
                                .place = place };
    part->place_of[part->nnodes++] = place;
    return lz_lowering_place(part->lowering, lz_subgraph_handle(*out));
}

/* The leaf that stands for a value from outside. */
static lz_err *leaf_for(builder *c, uint64_t ref, const lz_node **out)
{
    static const uint64_t data[] = { UINT64_C(1) << 16, 0, 0 };
    uint32_t place = lz_flat_ref_place(ref), slot = lz_graph_index_slot(c->index, ref);
    const uint64_t *type = lz_flat_head(c->index->at[place]).types;
    lz_lowering *l = c->part->lowering;
    if (c->leaves[slot]) {
        *out = lz_subgraph_handle(c->leaves[slot]);
        return NULL;
    }
    LZ_TRY(add_node(c, data, place, &c->leaves[slot]));
    *out = lz_subgraph_handle(c->leaves[slot]);
    for (uint32_t i = 0; i < lz_flat_ref_output(ref); i++)
        type = lz_flat_next_type(type);
    *c->types++ = type;
    c->part->sources[c->part->nsources++] = (lz_source){ .at = slot };
    return lz_lowering_add_parameters(l, *out);
}

static lz_err *operand(builder *c, uint64_t ref, lz_output *out)
{
    *out = (lz_output){ NULL, 0 };
    if (!ref)
        return NULL;
    lz_subgraph_node *from = c->inside[lz_flat_ref_place(ref)];
    if (!from)
        return leaf_for(c, ref, &out->node);
    *out = (lz_output){ lz_subgraph_handle(from), lz_flat_ref_output(ref) };
    return NULL;
}

/* The leaves of a node are added before the node. */
static lz_err *add_op(builder *c, uint32_t place)
{
    lz_flat_node x = lz_flat_head(c->index->at[place]);
    lz_output *in = c->operands;
    c->operands += x.nin;
    for (uint32_t i = 0; i < x.nin; i++)
        LZ_TRY(operand(c, x.in[i], &in[i]));
    LZ_TRY(add_node(c, c->index->at[place], place, &c->inside[place]));
    c->inside[place]->in = in;
    for (uint32_t i = 0; i < x.nout; i++, x.types = lz_flat_next_type(x.types))
        *c->types++ = x.types;
    return NULL;
}

/* Run-time numbers follow all data, in the order of the nodes. */
static lz_err *add_numbers(builder *c, const lz_node *n)
{
    lz_subgraph *part = c->part;
    const lz_parameter *p;
    uint32_t first = c->index->first_number[lz_subgraph_node_of(n)->place];
    size_t from = part->lowering->parameters.len;
    if (!lz_node_numbers(n))
        return NULL;
    LZ_TRY(lz_lowering_add_parameters(part->lowering, n));
    for (size_t i = from, all = lz_lowering_parameters(part->lowering, &p); i < all; i++)
        part->sources[part->nsources++] = (lz_source){ .is_number = true, .at = first + p[i].number };
    return NULL;
}

static lz_err *add_results(builder *c, const uint64_t *results, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        lz_subgraph_node *from = c->inside[lz_flat_ref_place(results[i])];
        assert(from);
        LZ_TRY(lz_vec_push(&c->part->lowering->results,
                           (lz_output){ lz_subgraph_handle(from), lz_flat_ref_output(results[i]) }));
    }
    return NULL;
}

static lz_err *fill(builder *c, const uint64_t *results, size_t nresults)
{
    const lz_graph_index *p = c->index;
    const lz_node *leaf;
    for (uint32_t i = 0; i < p->n; i++)
        if (c->in[i])
            LZ_TRY(lz_flat_head(p->at[i]).op ? add_op(c, i) : leaf_for(c, lz_flat_ref(i, 0), &leaf));
    const lz_lowering *l = c->part->lowering;
    for (size_t i = 0; i < l->nodes.len; i++)
        LZ_TRY(add_numbers(c, l->nodes.data[i]));
    return add_results(c, results, nresults);
}

/* Allocates for the worst case: each operand is a leaf of its own. */
static lz_err *make_room(lz_arena *a, builder *c)
{
    const lz_graph_index *p = c->index;
    size_t nodes = 0, operands = 0, outputs = 0;
    for (uint32_t i = 0; i < p->n; i++) {
        if (!c->in[i])
            continue;
        lz_flat_node x = lz_flat_head(p->at[i]);
        nodes++;
        operands += x.nin;
        outputs += x.nout;
    }
    LZ_TRY(lz_arena_new(a, &c->nodes, nodes + operands));
    LZ_TRY(lz_arena_new(a, &c->operands, operands));
    LZ_TRY(lz_arena_new(a, &c->types, outputs + operands));
    LZ_TRY(lz_arena_new(a, &c->inside, p->n));
    LZ_TRY(lz_arena_new(a, &c->leaves, p->nslots));
    LZ_TRY(lz_arena_new(a, &c->part->place_of, nodes + operands));
    return lz_arena_new(a, &c->part->sources, nodes + operands + p->nnumbers);
}

lz_err *lz_subgraph_make(lz_arena *a, const lz_graph_index *p, const bool *in, const uint64_t *results,
                         size_t nresults, lz_origins origins, const char *name, lz_backend_device d,
                         lz_subgraph *out)
{
    builder c = { .index = p, .in = in, .origins = origins, .part = out };
    *out = (lz_subgraph){ 0 };
    LZ_TRY(make_room(a, &c));
    LZ_TRY(lz_arena_new(a, &out->lowering, 1));
    lz_lowering_init(out->lowering, a, name, d);
    lz_err *e = fill(&c, results, nresults);
    if (e) {
        lz_lowering_deinit(out->lowering);
        *out = (lz_subgraph){ 0 };
    }
    return e;
}
