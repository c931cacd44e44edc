/* A lowered program from its graph. */
#include "plan/lowered_read.h"
#include <assert.h>

/* ---- buffers and views ---- */

static lz_err *read_placed(lz_lowered_reader *r, const lz_ssa_node *n, lz_lowered_buffer *m)
{
    lz_str kind;
    if (!lz_ssa_attr_find(n, "kind"))
        return NULL;
    LZ_TRY(lz_lowered_read_str(r, n, "kind", &kind));
    m->output = lz_str_is(kind, "output");
    if (!m->output && !lz_str_is(kind, "temporary"))
        return lz_lowered_read_wrong(r, n, "attribute 'kind': expected 'temporary' or 'output'");
    m->placed = true;
    LZ_TRY(lz_lowered_read_int(r, n, "bytes", &m->bytes));
    return m->output ? NULL : lz_lowered_read_int(r, n, "where", &m->where);
}

static lz_err *read_buffer_node(lz_lowered_reader *r, lz_ssa_node *n)
{
    lz_dtype d;
    lz_ints sizes;
    lz_lowered_read_buffer made = { 0 };
    lz_lowered_value_reading *v = NULL;
    LZ_TRY(lz_lowered_read_type(r, n, &d, &sizes));
    LZ_TRY(lz_lowered_read_shape(r, d, sizes, &made.node));
    if (n->nin)
        LZ_TRY(lz_lowered_read_value(r, n, 0, &v));
    bool memory =
        v && v->kind == LZ_READ_NODE && (v->node->kind == LZ_LOW_INPUT || v->node->kind == LZ_LOW_BUFFER);
    if (n->nin > 1 || n->nblocks || (v && (!memory || v->node->dtype != made.node->dtype)))
        return lz_lowered_read_wrong(r, n, "expected no operand, or one input or buffer of the same dtype");
    if (v && v->node->kind == LZ_LOW_BUFFER && v->node->numel != made.node->numel)
        return lz_lowered_read_wrong(r, n, "expected an operand with as many elements as the buffer");
    made.memory.shares = v ? v->node : NULL;
    LZ_TRY(read_placed(r, n, &made.memory));
    LZ_TRY(lz_vec_push(&r->buffers, made));
    return lz_lowered_read_know(r, n->out[0], (lz_lowered_value_reading){ LZ_READ_NODE, .node = made.node });
}

static lz_err *read_view(lz_lowered_reader *r, lz_ssa_node *n)
{
    lz_dtype d;
    lz_ints sizes;
    lz_lowered_value_reading *v, made = { .kind = LZ_READ_VIEW };
    LZ_TRY(lz_lowered_read_type(r, n, &d, &sizes));
    LZ_TRY(lz_lowered_read_value(r, n, 0, &v));
    if (n->nin != 1 || n->nblocks || (v->kind != LZ_READ_NODE && v->kind != LZ_READ_SOURCE)
        || (v->kind == LZ_READ_NODE && v->node->dtype != (int8_t)d))
        return lz_lowered_read_wrong(r, n,
                                     "expected one input, buffer, parameter or constant of the view's dtype");
    made.base = lz_ssa_in(n, 0)->mark;
    LZ_TRY(lz_lowered_read_int(r, n, "offset", &made.offset));
    LZ_TRY(lz_lowered_read_exactly(r, n, "strides", sizes.n, &made.strides));
    LZ_TRY(lz_lowered_read_shape(r, d, sizes, &made.node));
    return lz_lowered_read_know(r, n->out[0], made);
}

/* ---- results ---- */

static lz_err *output_of(lz_lowered_reader *r, const lz_low_node *x, int32_t *out)
{
    for (size_t i = 0; i < r->l->outputs.len; i++)
        if (r->l->outputs.data[i] == x) {
            *out = (int32_t)i;
            return NULL;
        }
    *out = (int32_t)r->l->outputs.len;
    return lz_vec_push(&r->l->outputs, x);
}

/* The slot of a parameter or constant; adds a slot if no node has used the value yet. */
static lz_err *slot_of(lz_lowered_reader *r, const lz_ssa_node *n, const lz_ssa_value *v, int64_t *out)
{
    lz_ssa_use use = { .value = (lz_ssa_value *)v };
    lz_ssa_node one = *n;
    one.in = &use;
    one.nin = 1;
    return lz_lowered_read_slot(r, &one, false, out);
}

static lz_err *read_assign(lz_lowered_reader *r, lz_ssa_node *n)
{
    lz_lowered_value_reading *to, *from;
    lz_lowered_write_back w;
    LZ_TRY(lz_lowered_read_value(r, n, 0, &to));
    LZ_TRY(lz_lowered_read_value(r, n, 1, &from));
    if (n->nin != 2 || n->nout || n->nblocks || to->kind != LZ_READ_SOURCE || from->kind == LZ_READ_SOURCE
        || from->kind == LZ_READ_ITEM)
        return lz_lowered_read_wrong(r, n, "expected a parameter and a computed tensor, and no result");
    const lz_low_node *x = from->node;
    if (from->kind == LZ_READ_VIEW)
        LZ_TRY(lz_lowered_read_memory(r, n, 1, &x));
    LZ_TRY(slot_of(r, n, to->value, &w.slot));
    LZ_TRY(output_of(r, x, &w.output));
    return lz_vec_push(&r->l->writes, w);
}

static lz_err *read_result(lz_lowered_reader *r, const lz_ssa_node *ret, uint32_t i)
{
    lz_lowered_value_reading *v;
    lz_lowered_result x = { .output = -1 };
    LZ_TRY(lz_lowered_read_value(r, ret, i, &v));
    const lz_lowered_value_reading *base = v->kind == LZ_READ_VIEW ? &r->values.data[v->base - 1] : v;
    assert(base);
    x.whole = v->kind != LZ_READ_VIEW;
    if (!x.whole) {
        x.dtype = (lz_dtype)v->node->dtype;
        x.sizes = lz_low_node_sizes(v->node);
        x.strides = (lz_ints){ v->strides, v->node->ndim };
        x.offset = v->offset;
    }
    if (base->kind == LZ_READ_SOURCE)
        LZ_TRY(slot_of(r, ret, base->value, &x.slot));
    else
        LZ_TRY(output_of(r, base->node, &x.output));
    return lz_vec_push(&r->l->results, x);
}

/* ---- the graph ---- */

static lz_err *read_memory(lz_lowered_reader *r, lz_ssa_node *n)
{
    if (r->memory || n->nin || n->nout || n->nblocks)
        return lz_lowered_read_wrong(r, n, "expected one lz::memory, without operands, results and blocks");
    r->memory = r->l->placed = true;
    LZ_TRY(lz_lowered_read_int(r, n, "temporaries", &r->l->temporaries));
    LZ_TRY(lz_lowered_read_int(r, n, "peak", &r->l->peak));
    return lz_lowered_read_int(r, n, "donated", &r->l->donated);
}

typedef lz_err *top_fn(lz_lowered_reader *r, lz_ssa_node *n);

static lz_err *top_constant(lz_lowered_reader *r, lz_ssa_node *n)
{
    return lz_lowered_read_know(r, n->out[0], (lz_lowered_value_reading){ .kind = LZ_READ_SOURCE });
}

static const struct {
    const char *name;
    top_fn *read;
} tops[] = {
    { "lz::view", read_view },
    { "lz::buffer", read_buffer_node },
    { "lz::group", lz_lowered_read_group },
    { "lz::run", lz_lowered_read_run },
    { "lz::assign", read_assign },
    { "lz::memory", read_memory },
    { "prim::Constant", top_constant },
};

static lz_err *read_top(lz_lowered_reader *r, lz_ssa_node *n)
{
    lz_low_kind kind;
    const lz_low_node *node;
    LZ_TRY(lz_vec_push(&r->l->origins, n->loc));
    r->b->origin = (uint32_t)r->l->origins.len - 1;
    for (size_t i = 0; i < sizeof tops / sizeof *tops; i++)
        if (lz_ssa_named(n, tops[i].name))
            return tops[i].read(r, n);
    if (!lz_low_kind_find(n->sym->name, &kind))
        return lz_lowered_read_wrong(r, n, "a lowered graph cannot contain this node");
    if (r->l->is_fused && kind != LZ_LOW_INPUT)
        return lz_ssa_error(r->g, n, LZ_ERR_MODEL,
                            "a fused graph computes only inside lz::group; found %.*s outside",
                            LZ_FMT(n->sym->name));
    LZ_TRY(lz_lowered_read_node(r, n, kind, &node));
    return lz_lowered_read_know(r, n->out[0], (lz_lowered_value_reading){ LZ_READ_NODE, .node = node });
}

static lz_err *finish_fused(lz_lowered_reader *r)
{
    lz_fused *f = &r->l->fused;
    f->arena = r->b->arena;
    f->dag = r->b;
    LZ_TRY(lz_arena_new(r->b->arena, &f->nodes, r->b->n_nodes + 1));
    LZ_TRY(lz_arena_new(r->b->arena, &r->l->buffers, r->b->n_nodes + 1));
    for (size_t i = 0; i < r->buffers.len; i++) {
        f->nodes[r->buffers.data[i].node->id].buffer = true;
        r->l->buffers[r->buffers.data[i].node->id] = r->buffers.data[i].memory;
    }
    for (size_t i = 0; i < r->aliases.len; i++) {
        const lz_lowered_value_reading *v = &r->values.data[r->aliases.data[i] - 1];
        f->nodes[v->node->id].alias = r->values.data[v->base - 1].node;
    }
    return NULL;
}

static lz_err *read(lz_lowered_reader *r)
{
    const lz_ssa_block *b = r->g->block;
    for (lz_ssa_node *n = lz_ssa_first(b); n; n = lz_ssa_next(n))
        for (uint32_t i = 0; i < n->nout; i++)
            n->out[i]->mark = 0;
    for (uint32_t i = 0; i < b->param->nout; i++)
        LZ_TRY(
            lz_lowered_read_know(r, b->param->out[i], (lz_lowered_value_reading){ .kind = LZ_READ_SOURCE }));
    for (lz_ssa_node *n = lz_ssa_first(b); n != b->ret; n = n->next)
        LZ_TRY(read_top(r, n));
    assert(b->ret);
    for (uint32_t i = 0; i < b->ret->nin; i++)
        LZ_TRY(read_result(r, b->ret, i));
    return r->l->is_fused ? finish_fused(r) : NULL;
}

lz_err *lz_lowered_read(lz_graph *g, lz_lower *dag, lz_lowered *out)
{
    lz_lowered_reader r = { .g = g, .l = out, .b = dag };
    *out = (lz_lowered){ .graph = g, .dag = dag, .is_fused = lz_graph_is_fused(g) };
    lz_err *e = read(&r);
    lz_vec_deinit(&r.values);
    lz_vec_deinit(&r.buffers);
    lz_vec_deinit(&r.aliases);
    if (e)
        lz_lowered_deinit(out);
    return e;
}
