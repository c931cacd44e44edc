/* The pass "views". Requires a lowered DAG; keeps every element of its outputs.
 *
 * A view of a pointwise node without other users becomes a pointwise node on views of its operands. So
 * views move to the leaves. There the builder composes them, and a strided view of an input becomes an
 * input with other strides. Kernels that do not fuse take strided operands: views of their operands stay
 * where they are. */
#include "core/dtype.h"
#include "core/strides.h"
#include "lower/lower_impl.h"
#include "plan/dag_passes.h"

/* Views to be applied to a node, the nearest first. */
typedef struct chain {
    const lz_low_node *view;
    const struct chain *next;
    int length;
    bool reshaped; /* one of the views is a reshape */
} chain;

typedef struct mover {
    const lz_lower *dag;
    lz_lower *b;
    uint32_t *uses;      /* by node: number of uses by needed nodes and as an output */
    const chain **above; /* by node: views that its only user wants to see it through */
    bool *sunk;          /* by view: the operand is computed with the view applied */
    bool *strided;       /* by node: some user takes strided operands */
    bool *wanted;        /* by node: it is an output */
    const lz_low_node **now;
} mover;

static bool is_view(const lz_low_node *n)
{
    return (n->kind == LZ_LOW_INDEX && n->nin == 1) || n->kind == LZ_LOW_RESHAPE;
}

/* ---- which views sink ---- */

static void count_uses(mover *m, const lz_low_node *const *outputs, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        m->uses[outputs[i]->id]++;
        m->wanted[outputs[i]->id] = true;
    }
    for (uint32_t i = m->dag->n_nodes; i-- > 0;) {
        const lz_low_node *x = m->dag->nodes[i];
        for (int k = 0; m->uses[i] && k < x->nin; k++) {
            m->uses[x->in[k]->id]++;
            m->strided[x->in[k]->id] |= x->kind == LZ_LOW_CALL || (x->kind == LZ_LOW_GATHER && k == 0);
        }
    }
}

/* *ok: a reshape of x to `sizes` costs nothing, because it is a strided view of memory. */
static lz_err *reshapes_freely(const mover *m, const lz_low_node *x, lz_ints sizes, bool *ok)
{
    lz_group_view v;
    lz_shape strides;
    LZ_TRY(lz_view_resolve(m->b->arena, x, &v));
    *ok = (v.base->kind == LZ_LOW_INPUT || v.base->kind == LZ_LOW_CALL || v.base->ndim == 0)
          && lz_strides_view(lz_low_node_sizes(x), (lz_ints){ v.strides, x->ndim }, sizes, &strides);
    return NULL;
}

static lz_err *can_sink(const mover *m, const lz_low_node *view, const chain *c, bool *ok)
{
    enum { LONGEST = 16 };
    const lz_low_node *x = view->in[0];
    *ok = m->uses[x->id] == 1 && lz_low_node_is_pointwise(x) && !m->strided[view->id] && view->numel > 0
          && view->numel <= x->numel && (!c || (!c->reshaped && c->length < LONGEST));
    for (int i = 0; *ok && view->kind == LZ_LOW_RESHAPE && i < x->nin; i++)
        LZ_TRY(reshapes_freely(m, x->in[i], lz_low_node_sizes(view), ok));
    return NULL;
}

/* Requires that users are visited before operands. */
static lz_err *sink(mover *m, const lz_low_node *n)
{
    const chain *c = m->above[n->id];
    chain *more;
    if (is_view(n)) {
        LZ_TRY(can_sink(m, n, c, &m->sunk[n->id]));
        if (!m->sunk[n->id])
            return NULL;
        LZ_TRY(lz_arena_new(m->b->arena, &more, 1));
        *more = (chain){ n, c, c ? c->length + 1 : 1, n->kind == LZ_LOW_RESHAPE || (c && c->reshaped) };
        m->above[n->in[0]->id] = more;
        return NULL;
    }
    for (int i = 0; c && !c->reshaped && i < n->nin; i++)
        if (m->uses[n->in[i]->id] == 1 && (lz_low_node_is_pointwise(n->in[i]) || is_view(n->in[i])))
            m->above[n->in[i]->id] = c;
    return NULL;
}

/* ---- building the new DAG ---- */

static lz_err *absorb(mover *m, const lz_low_node **n)
{
    lz_group_view v;
    if (!is_view(*n) || !(*n)->numel)
        return NULL;
    LZ_TRY(lz_view_resolve(m->b->arena, *n, &v));
    if (v.base->kind != LZ_LOW_INPUT)
        return NULL;
    return lz_low_input(m->b, ((const lz_low_input_attr *)v.base->attr)->slot, (lz_dtype)(*n)->dtype,
                        lz_low_node_sizes(*n), (lz_ints){ v.strides, (*n)->ndim }, v.offset, n);
}

/* Applies the view `like` to another node. */
static lz_err *apply(mover *m, const lz_low_node *like, const lz_low_node *x, const lz_low_node *fill,
                     const lz_low_node **out)
{
    const lz_low_index_attr *a = like->attr;
    if (like->kind == LZ_LOW_RESHAPE)
        LZ_TRY(lz_low_reshape(m->b, x, lz_low_node_sizes(like), out));
    else
        LZ_TRY(lz_low_index(m->b, x, lz_low_node_sizes(like), a->v + x->ndim, a->v, a->bounded, fill, out));
    return absorb(m, out);
}

static lz_err *apply_all(mover *m, const chain *c, const lz_low_node *x, const lz_low_node **out)
{
    *out = x;
    for (; c; c = c->next)
        LZ_TRY(apply(m, c->view, *out, NULL, out));
    return NULL;
}

/* Copies n with new operands. A pointwise node takes the sizes of its operands. */
static lz_err *copy_node(mover *m, const lz_low_node *n, const lz_low_node *const *in,
                         const lz_low_node **out)
{
    return lz_low_again(m->b, n, in,
                        lz_low_node_is_pointwise(n) ? lz_low_node_sizes(in[0]) : lz_low_node_sizes(n), out);
}

static lz_err *rebuild(mover *m, const lz_low_node *n, const lz_low_node **out)
{
    const chain *c = m->above[n->id];
    const lz_low_node **in;
    m->b->origin = n->origin;
    if (m->sunk[n->id]) {
        *out = m->now[n->in[0]->id];
        return NULL;
    }
    if (n->kind == LZ_LOW_INDEX || n->kind == LZ_LOW_RESHAPE) {
        LZ_TRY(apply(m, n, m->now[n->in[0]->id], n->nin > 1 ? m->now[n->in[1]->id] : NULL, out));
        return apply_all(m, c, *out, out);
    }
    if (n->kind == LZ_LOW_GATHER && !m->wanted[n->in[0]->id]) {
        LZ_TRY(lz_gather_operands(m->b, m->now[n->in[0]->id], m->now[n->in[1]->id],
                                  ((const lz_low_dim_attr *)n->attr)->dim, out));
        if (*out)
            return NULL;
    }
    LZ_TRY(lz_arena_new(m->b->arena, &in, n->nin + 1));
    for (int i = 0; i < n->nin; i++) {
        uint32_t id = n->in[i]->id;
        LZ_TRY(apply_all(m, m->above[id] == c ? NULL : c, m->now[id], &in[i]));
    }
    return copy_node(m, n, in, out);
}

/* An output that was no input gets memory of its own. */
static lz_err *rebuild_output(mover *m, const lz_low_node *old, const lz_low_node **out)
{
    *out = m->now[old->id];
    if ((*out)->kind != LZ_LOW_INPUT || old->kind == LZ_LOW_INPUT)
        return NULL;
    m->b->origin = old->origin;
    return lz_low_copy(m->b, *out, out);
}

static lz_err *move(mover *m, const lz_low_node *const *outputs, size_t n, const lz_low_node **moved)
{
    size_t all = m->dag->n_nodes + 1;
    LZ_TRY(lz_arena_new(m->b->arena, &m->uses, all));
    LZ_TRY(lz_arena_new(m->b->arena, &m->above, all));
    LZ_TRY(lz_arena_new(m->b->arena, &m->sunk, all));
    LZ_TRY(lz_arena_new(m->b->arena, &m->strided, all));
    LZ_TRY(lz_arena_new(m->b->arena, &m->wanted, all));
    LZ_TRY(lz_arena_new(m->b->arena, &m->now, all));
    count_uses(m, outputs, n);
    for (uint32_t i = m->dag->n_nodes; i-- > 0;)
        if (m->uses[i])
            LZ_TRY(sink(m, m->dag->nodes[i]));
    for (uint32_t i = 0; i < m->dag->n_nodes; i++)
        if (m->uses[i])
            LZ_TRY(rebuild(m, m->dag->nodes[i], &m->now[i]));
    for (size_t i = 0; i < n; i++)
        LZ_TRY(rebuild_output(m, outputs[i], &moved[i]));
    return NULL;
}

lz_err *lz_move_views(const lz_lower *dag, const lz_low_node *const *outputs, size_t n, lz_lower *out,
                      const lz_low_node **moved)
{
    mover m = { .dag = dag, .b = out };
    lz_low_init(out, dag->arena);
    lz_err *e = move(&m, outputs, n, moved);
    e = e ? e : lz_transpose_products(out, moved, n);
    e = e ? e : lz_relayout_inputs(out, moved, n);
    if (e)
        lz_low_deinit(out);
    return e;
}
