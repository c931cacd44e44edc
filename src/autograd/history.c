/* Gradient edges of tensors: leaves, views and their bases, writes. */
#include "autograd/tape.h"
#include "core/dtype.h"
#include "core/strides.h"
#include "op/op_table.h"

/* ---- bases ---- */

static lz_grad_meta *base_of(const lz_tensor *t)
{
    return (lz_grad_meta *)(void *)lz_tensor_base_attachment(t);
}

static unsigned creation_of(const lz_tensor *t)
{
    return lz_tensor_slot(t)->creation;
}

static bool is_view(const lz_tensor *t)
{
    return creation_of(t) & LZ_CREATED_VIEW;
}

/* Whether the storage was written to after the tensor's history was set. */
static bool is_stale(const lz_tensor *t)
{
    return lz_tensor_slot(t)->writes != lz_tensor_storage_writes(t);
}

static bool has_grad(const lz_grad_meta *m)
{
    return m && (m->requires || m->fn.node);
}

bool lz_grad_required(const lz_tensor *t)
{
    const lz_tape_slot *s = lz_tensor_slot(t);
    return has_grad((const lz_grad_meta *)(const void *)s->attached)
           || (s->creation & LZ_CREATED_VIEW && has_grad(base_of(t)));
}

/* The base's attachment. If the base tensor is gone, a new attachment stands for the whole storage. */
static lz_err *make_base(const lz_tensor *t, lz_grad_meta **out)
{
    *out = base_of(t);
    if (*out)
        return NULL;
    lz_tensor *base = lz_tensor_base(t);
    if (base)
        return lz_meta_of(base, out);
    LZ_TRY(lz_meta_create(t, out));
    (*out)->base.spec = lz_tensor_storage_spec(t);
    lz_tensor_attach_base(t, &(*out)->base);
    lz_meta_release(*out);
    return NULL;
}

/* ---- leaves ---- */

static lz_err *leaf_edge(lz_tensor *t, lz_tape_edge *out)
{
    lz_grad_meta *m;
    LZ_TRY(lz_meta_of(t, &m));
    if (m->leaf) {
        *out = (lz_tape_edge){ lz_tape_node_retain(m->leaf), 0 };
        return NULL;
    }
    LZ_TRY(lz_tape_node_alloc(lz_ctx_tape(m->ctx), LZ_TAPE_NODE_LEAF, 0, &m->leaf));
    m->leaf->nout = 1;
    m->leaf->meta = lz_meta_retain(m);
    *out = (lz_tape_edge){ m->leaf, 0 };
    return NULL;
}

/* ---- views of storages: the edges of as_strided ---- */

/* A tensor's view of its storage. */
typedef struct shape {
    const lz_spec *spec;
    int64_t offset;
} shape;

static shape shape_of(const lz_tensor *t)
{
    return (shape){ lz_tensor_spec(t), lz_tensor_offset(t) };
}

static shape base_shape(const lz_grad_meta *m)
{
    return m->base.tensor ? shape_of(m->base.tensor) : (shape){ m->base.spec, m->base.offset };
}

/* of: the spec of the storage. */
static bool is_whole(shape s, const lz_spec *of)
{
    return s.spec->contiguous && s.offset == 0 && s.spec->numel == of->numel;
}

/* A node of as_strided_scatter (`part` is put into `into`) or of as_strided (`part` is taken from `into`). No
 * value is saved, so that the node gets specs instead of tensors. Takes over the edges. */
static lz_err *strided_node(lz_ctx *c, uint16_t op, const lz_spec *into, shape part, lz_tape_edge e,
                            lz_tape_edge source, lz_loc at, lz_tape_edge *out)
{
    bool scatter = op == LZ_OP_as_strided_scatter;
    lz_value in[5] = { lz_value_tensor(NULL) }, result = lz_value_tensor(NULL);
    lz_tape_edge edges[2] = { e, source };
    int n = 1;
    lz_tape_node *node;
    if (scatter)
        in[n++] = lz_value_tensor(NULL);
    in[n++] = lz_value_ints(lz_spec_sizes(part.spec));
    in[n++] = lz_value_ints(lz_spec_strides(part.spec));
    in[n++] = lz_value_integer(part.offset);
    uint64_t wanted = (e.node != NULL) | (uint64_t)(source.node != NULL) << 1;
    LZ_TRY(lz_tape_node_of_call(lz_ctx_tape(c), op, at, in, &result, wanted, edges, scatter ? 2 : 1, &node));
    node->items[0].spec = into;
    node->items[1].spec = part.spec;
    if (scatter)
        node->items[2].spec = into;
    *out = (lz_tape_edge){ node, 0 };
    return NULL;
}

static const lz_tape_edge nowhere = { NULL, 0 };

/* From an edge of a view of t's storage, makes an edge of the whole storage, row-major. *s: the old view,
 * then the whole. */
static lz_err *to_storage(const lz_tensor *t, shape *s, lz_tape_edge e, lz_loc at, lz_tape_edge *out)
{
    lz_ctx *c = lz_tensor_ctx(t);
    const lz_spec *storage = lz_tensor_storage_spec(t), *flat;
    shape old = *s;
    *out = e;
    if (is_whole(old, storage))
        return NULL;
    lz_err *err = lz_ctx_spec(c, (lz_dtype)storage->dtype, LZ_DIMS(storage->numel), &flat);
    if (err) {
        lz_tape_node_release(e.node);
        return err;
    }
    *s = (shape){ flat, 0 };
    if (!e.node)
        return NULL;
    return strided_node(c, LZ_OP_as_strided_scatter, flat, old, nowhere, e, at, out);
}

/* From an edge of one view of t's storage, makes an edge of another view. */
static lz_err *restride(const lz_tensor *t, shape from, shape to, lz_tape_edge e, lz_loc at,
                        lz_tape_edge *out)
{
    LZ_TRY(to_storage(t, &from, e, at, &e));
    return strided_node(lz_tensor_ctx(t), LZ_OP_as_strided, from.spec, to, e, nowhere, at, out);
}

/* ---- edges ---- */

/* The name of the operator or function that made t. */
static const char *maker_of(const lz_tensor *t)
{
    const lz_grad_meta *m = lz_meta_at(t);
    return m && m->fn.node ? lz_tape_node_name(m->fn.node) : "a call";
}

static lz_err *refuse_view(const lz_tensor *t, bool by_another)
{
    const char *what = by_another ? "its base or another view of its base has been" : "is being";
    if (creation_of(t) & LZ_CREATED_SEVERAL && !(creation_of(t) & LZ_CREATED_NO_GRAD))
        return lz_err_because(
            LZ_REASON_AUTOGRAD_VIEW,
            "Output of %s is a view and %s modified inplace. It is the output of a function that "
            "returns multiple views. Such functions do not allow the output views to be modified "
            "inplace. You should replace the inplace operation by an out-of-place one.",
            maker_of(t), what);
    return lz_err_because(
        LZ_REASON_AUTOGRAD_VIEW,
        "A view was created in %s mode and %s modified inplace with grad mode enabled. Make both "
        "with gradients off, or both with gradients on.",
        creation_of(t) & LZ_CREATED_INFERENCE ? "inference" : "no_grad", what);
}

static bool may_not_be_written(const lz_tensor *t)
{
    return is_view(t) && creation_of(t) & (LZ_CREATED_NO_GRAD | LZ_CREATED_SEVERAL);
}

static lz_err *meta_edge(lz_tensor *t, lz_tape_edge *out)
{
    const lz_grad_meta *m = lz_meta_at(t);
    if (!m || !m->fn.node)
        return leaf_edge(t, out);
    *out = (lz_tape_edge){ lz_tape_node_retain(m->fn.node), m->fn.index };
    return NULL;
}

/* The storage was written to: derives the history of a view from its base again. */
static lz_err *renew(lz_tensor *t, lz_grad_meta *base, lz_loc at)
{
    lz_tape_edge e = nowhere;
    shape from = { lz_tensor_storage_spec(t), 0 };
    if (may_not_be_written(t))
        return refuse_view(t, true);
    if (base) {
        from = base_shape(base);
        e = (lz_tape_edge){ lz_tape_node_retain(base->fn.node), base->fn.index };
        if (!e.node && base->requires && base->base.tensor)
            LZ_TRY(leaf_edge(base->base.tensor, &e));
    }
    LZ_TRY(restride(t, from, shape_of(t), e, at, &e));
    return lz_history_set(t, e);
}

lz_err *lz_edge_of(lz_tensor *t, lz_loc at, lz_tape_edge *out)
{
    *out = nowhere;
    if (!lz_grad_required(t))
        return NULL;
    if (is_view(t) && is_stale(t)) {
        lz_grad_meta *base = base_of(t), *own = lz_meta_at(t);
        if (own && own->requires && !has_grad(base))
            return meta_edge(t, out);
        LZ_TRY(renew(t, base, at));
    }
    return meta_edge(t, out);
}

/* ---- changes ---- */

lz_err *lz_history_set(lz_tensor *t, lz_tape_edge e)
{
    lz_grad_meta *m;
    lz_err *err = lz_meta_of(t, &m);
    if (err) {
        lz_tape_node_release(e.node);
        return err;
    }
    lz_meta_set_fn(m, e);
    lz_tensor_slot(t)->writes = lz_tensor_storage_writes(t);
    return NULL;
}

/* The new history of the base: as before, with the view's elements scattered into it. */
static lz_err *write_base(lz_tensor *t, lz_tape_edge e, lz_loc at)
{
    lz_ctx *c = lz_tensor_ctx(t);
    lz_grad_meta *base;
    LZ_TRY(make_base(t, &base));
    shape whole = base_shape(base), s = whole;
    lz_tape_edge old = { lz_tape_node_retain(base->fn.node), base->fn.index };
    LZ_TRY(to_storage(t, &s, old, at, &old));
    lz_tape_node_retain(e.node);
    LZ_TRY(strided_node(c, LZ_OP_as_strided_scatter, s.spec, shape_of(t), old, e, at, &old));
    if (!is_whole(whole, lz_tensor_storage_spec(t)))
        LZ_TRY(strided_node(c, LZ_OP_as_strided, s.spec, whole, old, nowhere, at, &old));
    lz_meta_set_fn(base, old);
    return NULL;
}

lz_err *lz_history_write(lz_tensor *t, lz_tape_edge e, lz_loc at)
{
    lz_err *err = is_view(t) ? write_base(t, e, at) : NULL;
    if (err) {
        lz_tape_node_release(e.node);
        return err;
    }
    return lz_history_set(t, e);
}

lz_err *lz_history_strided(lz_tensor *t, const lz_spec *spec, int64_t offset, lz_tape_edge e, lz_tensor *v,
                           lz_loc at)
{
    LZ_TRY(restride(t, (shape){ spec, offset }, shape_of(v), e, at, &e));
    return lz_history_set(v, e);
}

lz_err *lz_grad_require(lz_tensor *t, bool on)
{
    lz_ctx *c = lz_tensor_ctx(t);
    lz_tape *tape;
    lz_grad_meta *m;
    if (on && !lz_dtype_is_float(lz_tensor_dtype(t)))
        return lz_err_because(LZ_REASON_DTYPE, "only Tensors of floating point dtype can require gradients");
    if (!on && !lz_is_leaf(t))
        return lz_errf(LZ_ERR_ARG, "you can only change requires_grad flags of leaf variables. If you want "
                                   "to use a computed variable in a subgraph that doesn't require "
                                   "differentiation use lz_detached.");
    if (on && creation_of(t) & LZ_CREATED_INFERENCE && lz_get_grad_mode(c) != LZ_GRAD_INFERENCE)
        return lz_errf(LZ_ERR_ARG, "Setting requires_grad=True on inference tensor outside InferenceMode is "
                                   "not allowed.");
    if (!on && !lz_meta_at(t))
        return NULL;
    LZ_TRY(lz_tape_of(c, &tape));
    LZ_TRY(lz_meta_of(t, &m));
    m->requires = on && !m->fn.node;
    return NULL;
}

bool lz_is_leaf(const lz_tensor *t)
{
    const lz_grad_meta *own = lz_meta_at(t);
    bool stale = !lz_tensor_is_inert(t) && is_view(t) && is_stale(t) && has_grad(base_of(t));
    return !stale && (!own || !own->fn.node);
}

lz_err *lz_history_check(lz_tensor *t)
{
    const lz_grad_meta *base = is_view(t) ? base_of(t) : NULL;
    if (may_not_be_written(t))
        return refuse_view(t, false);
    if (is_view(t) && lz_grad_required(t) && !(base && base->fn.node))
        return lz_err_because(
            LZ_REASON_AUTOGRAD_LEAF,
            "a view of a leaf Variable that requires grad is being used in an in-place operation.");
    if (lz_grad_required(t) && lz_is_leaf(t))
        return lz_err_because(LZ_REASON_AUTOGRAD_LEAF,
                              "a leaf Variable that requires grad is being used in an in-place operation.");
    return NULL;
}
