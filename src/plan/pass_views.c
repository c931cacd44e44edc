/* The pass "views". Requires a lowered DAG; keeps every element of its outputs.
 *
 * A view of something pointwise that nobody else wants becomes something pointwise of
 * views, so that views gather at the leaves. There the builder composes them, and a
 * strided view of an input becomes an input with other strides. Kernels that do not
 * fuse take strided operands: views stay on top of what is computed for them. */
#include "core/dtype.h"
#include "core/strides.h"
#include "lower/lower_impl.h"
#include "plan/dag_passes.h"

/* Views to be put on top of a node, the nearest first. */
typedef struct chain {
    const lz_ln *view;
    const struct chain *next;
    int length;
    bool reshaped; /* some of them is a reshape */
} chain;

typedef struct mover {
    const lz_lower *dag;
    lz_lower *b;
    uint32_t *uses;      /* of a node: by nodes that are needed, and as outputs */
    const chain **above; /* of a node: views that it is computed under, for its only user */
    bool *sunk;          /* of a view: its operand is computed under it */
    bool *strided;       /* of a node: some user takes strided operands */
    bool *wanted;        /* of a node: it is an output */
    const lz_ln **now;
} mover;

static bool is_view(const lz_ln *n)
{
    return (n->kind == LZ_L_INDEX && n->nin == 1) || n->kind == LZ_L_RESHAPE;
}

/* ---- which views sink ---- */

static void count_uses(mover *m, const lz_ln *const *outputs, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        m->uses[outputs[i]->id]++;
        m->wanted[outputs[i]->id] = true;
    }
    for (uint32_t i = m->dag->n_nodes; i-- > 0;) {
        const lz_ln *x = m->dag->nodes[i];
        for (int k = 0; m->uses[i] && k < x->nin; k++) {
            m->uses[x->in[k]->id]++;
            m->strided[x->in[k]->id] |= x->kind == LZ_L_CALL || (x->kind == LZ_L_GATHER && k == 0);
        }
    }
}

/* A reshape of x costs nothing: it is a strided view of what lies in memory anyway. */
static lz_err *reshapes_freely(const mover *m, const lz_ln *x, lz_ints sizes, bool *ok)
{
    lz_gview v;
    lz_shape strides;
    LZ_TRY(lz_view_resolve(m->b->arena, x, &v));
    *ok = (v.base->kind == LZ_L_INPUT || v.base->kind == LZ_L_CALL || v.base->ndim == 0)
          && lz_strides_view(lz_ln_sizes(x), (lz_ints){ v.strides, x->ndim }, sizes, &strides);
    return NULL;
}

static lz_err *can_sink(const mover *m, const lz_ln *view, const chain *c, bool *ok)
{
    enum { LONGEST = 16 };
    const lz_ln *x = view->in[0];
    *ok = m->uses[x->id] == 1 && lz_ln_is_pointwise(x) && !m->strided[view->id] && view->numel > 0
          && view->numel <= x->numel && (!c || (!c->reshaped && c->length < LONGEST));
    for (int i = 0; *ok && view->kind == LZ_L_RESHAPE && i < x->nin; i++)
        LZ_TRY(reshapes_freely(m, x->in[i], lz_ln_sizes(view), ok));
    return NULL;
}

/* Users come before operands. */
static lz_err *sink(mover *m, const lz_ln *n)
{
    const chain *c = m->above[n->id];
    chain *more;
    if (is_view(n)) {
        LZ_TRY(can_sink(m, n, c, &m->sunk[n->id]));
        if (!m->sunk[n->id])
            return NULL;
        LZ_TRY(lz_arena_new(m->b->arena, &more, 1));
        *more = (chain){ n, c, c ? c->length + 1 : 1, n->kind == LZ_L_RESHAPE || (c && c->reshaped) };
        m->above[n->in[0]->id] = more;
        return NULL;
    }
    for (int i = 0; c && !c->reshaped && i < n->nin; i++)
        if (m->uses[n->in[i]->id] == 1 && (lz_ln_is_pointwise(n->in[i]) || is_view(n->in[i])))
            m->above[n->in[i]->id] = c;
    return NULL;
}

/* ---- making the DAG anew ---- */

static lz_err *absorb(mover *m, const lz_ln **n)
{
    lz_gview v;
    if (!is_view(*n) || !(*n)->numel)
        return NULL;
    LZ_TRY(lz_view_resolve(m->b->arena, *n, &v));
    if (v.base->kind != LZ_L_INPUT)
        return NULL;
    return lz_low_input(m->b, ((const lz_linput *)v.base->attr)->slot, (lz_dtype)(*n)->dtype, lz_ln_sizes(*n),
                        (lz_ints){ v.strides, (*n)->ndim }, v.offset, n);
}

/* The view that `like` is, of another node. */
static lz_err *apply(mover *m, const lz_ln *like, const lz_ln *x, const lz_ln *fill, const lz_ln **out)
{
    const lz_lindex *a = like->attr;
    if (like->kind == LZ_L_RESHAPE)
        LZ_TRY(lz_low_reshape(m->b, x, lz_ln_sizes(like), out));
    else
        LZ_TRY(lz_low_index(m->b, x, lz_ln_sizes(like), a->v + x->ndim, a->v, a->bounded, fill, out));
    return absorb(m, out);
}

static lz_err *apply_all(mover *m, const chain *c, const lz_ln *x, const lz_ln **out)
{
    *out = x;
    for (; c; c = c->next)
        LZ_TRY(apply(m, c->view, *out, NULL, out));
    return NULL;
}

/* The same node of what its operands have become; its sizes those of a pointwise operand. */
static lz_err *copy_node(mover *m, const lz_ln *n, const lz_ln *const *in, const lz_ln **out)
{
    return lz_low_again(m->b, n, in, lz_ln_is_pointwise(n) ? lz_ln_sizes(in[0]) : lz_ln_sizes(n), out);
}

static lz_err *rebuild(mover *m, const lz_ln *n, const lz_ln **out)
{
    const chain *c = m->above[n->id];
    const lz_ln **in;
    m->b->origin = n->origin;
    if (m->sunk[n->id]) {
        *out = m->now[n->in[0]->id];
        return NULL;
    }
    if (n->kind == LZ_L_INDEX || n->kind == LZ_L_RESHAPE) {
        LZ_TRY(apply(m, n, m->now[n->in[0]->id], n->nin > 1 ? m->now[n->in[1]->id] : NULL, out));
        return apply_all(m, c, *out, out);
    }
    if (n->kind == LZ_L_GATHER && !m->wanted[n->in[0]->id]) {
        LZ_TRY(lz_gather_operands(m->b, m->now[n->in[0]->id], m->now[n->in[1]->id],
                                  ((const lz_ldim *)n->attr)->dim, out));
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

/* An output of its own does not become an input. */
static lz_err *rebuild_output(mover *m, const lz_ln *old, const lz_ln **out)
{
    *out = m->now[old->id];
    if ((*out)->kind != LZ_L_INPUT || old->kind == LZ_L_INPUT)
        return NULL;
    m->b->origin = old->origin;
    return lz_low_copy(m->b, *out, out);
}

static lz_err *move(mover *m, const lz_ln *const *outputs, size_t n, const lz_ln **moved)
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

lz_err *lz_move_views(const lz_lower *dag, const lz_ln *const *outputs, size_t n, lz_lower *out,
                      const lz_ln **moved)
{
    mover m = { .dag = dag, .b = out };
    lz_low_init(out, dag->arena);
    lz_err *e = move(&m, outputs, n, moved);
    e = e ? e : lz_turn_products(out, moved, n);
    if (e)
        lz_low_deinit(out);
    return e;
}
