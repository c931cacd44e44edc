/* Gradient edges of tensors: leaves, views and their bases, writes. */
#include "autograd/tape.h"
#include "core/strides.h"

/* ---- bases ---- */

static lz_grad_meta *base_of(const lz_tensor *t)
{
    lz_grad_meta *m = t->alias ? t->alias->bases : NULL;
    while (m && m->family != t->family)
        m = m->next;
    return m;
}

static bool is_view(const lz_tensor *t)
{
    return t->made & LZ_MADE_VIEW;
}

static bool has_grad(const lz_grad_meta *m)
{
    return m && (m->requires || m->fn.node);
}

bool lz_grad_required(const lz_tensor *t)
{
    return has_grad(t->meta) || (is_view(t) && has_grad(base_of(t)));
}

/* The base of a view, which may be gone: then the whole storage stands for it. */
static lz_err *make_base(lz_tensor *t, lz_grad_meta **out)
{
    lz_alias *a = t->alias;
    *out = base_of(t);
    for (lz_tensor *v = a->views; !*out && v; v = v->next)
        if (v->family == t->family && !is_view(v))
            return lz_meta_of(v, out);
    if (*out)
        return NULL;
    LZ_TRY(lz_meta_create(t->ctx, t->family, out));
    (*out)->spec = a->spec;
    lz_meta_make_base(*out, a);
    lz_meta_release(*out);
    return NULL;
}

/* ---- leaves ---- */

static lz_err *leaf_edge(lz_tensor *t, lz_gedge *out)
{
    lz_grad_meta *m;
    LZ_TRY(lz_meta_of(t, &m));
    if (m->leaf) {
        *out = (lz_gedge){ lz_gnode_retain(m->leaf), 0 };
        return NULL;
    }
    LZ_TRY(lz_gnode_alloc(t->ctx->tape, LZ_GNODE_LEAF, 0, &m->leaf));
    m->leaf->nout = 1;
    m->leaf->meta = lz_meta_retain(m);
    *out = (lz_gedge){ m->leaf, 0 };
    return NULL;
}

/* ---- views of storages: the edges of as_strided ---- */

/* How a tensor lies in its storage. */
typedef struct shape {
    const lz_spec *spec;
    int64_t offset;
} shape;

static shape shape_of(const lz_tensor *t)
{
    return (shape){ t->spec, t->offset };
}

static shape base_shape(const lz_grad_meta *m)
{
    return m->t ? shape_of(m->t) : (shape){ m->spec, m->offset };
}

static bool is_whole(shape s, const lz_alias *a)
{
    return s.spec->contiguous && s.offset == 0 && s.spec->numel == a->spec->numel;
}

/* Elements of `part` put into `into`, or that part of it: no value is looked at. Takes the edges over. */
static lz_err *strided_node(lz_alias *a, uint16_t op, const lz_spec *into, shape part, lz_gedge e,
                            lz_gedge source, lz_loc at, lz_gedge *out)
{
    lz_tensor self = { .spec = into }, src = { .spec = part.spec };
    bool scatter = op == LZ_OP_as_strided_scatter;
    lz_value in[5] = { lz_value_tensor(&self) }, result = lz_value_tensor(scatter ? &self : &src);
    lz_gedge edges[2] = { e, source };
    int n = 1;
    lz_gnode *node;
    if (scatter)
        in[n++] = lz_value_tensor(&src);
    in[n++] = lz_value_ints(lz_spec_sizes(part.spec));
    in[n++] = lz_value_ints(lz_spec_strides(part.spec));
    in[n++] = lz_value_integer(part.offset);
    uint64_t wanted = (e.node != NULL) | (uint64_t)(source.node != NULL) << 1;
    LZ_TRY(lz_gnode_of_call(a->ctx->tape, op, at, in, &result, wanted, edges, scatter ? 2 : 1, &node));
    *out = (lz_gedge){ node, 0 };
    return NULL;
}

static const lz_gedge nowhere = { NULL, 0 };

/* A tensor's elements as a part of its storage, which is row-major then. */
static lz_err *to_storage(lz_alias *a, shape *s, lz_gedge e, lz_loc at, lz_gedge *out)
{
    const lz_spec *flat;
    shape old = *s;
    *out = e;
    if (is_whole(old, a))
        return NULL;
    lz_err *err = lz_spec_get(a->ctx->specs, (lz_dtype)a->spec->dtype, LZ_DIMS(a->spec->numel),
                              (lz_ints){ NULL, 0 }, &flat);
    if (err) {
        lz_gnode_release(e.node);
        return err;
    }
    *s = (shape){ flat, 0 };
    if (!e.node)
        return NULL;
    return strided_node(a, LZ_OP_as_strided_scatter, flat, old, nowhere, e, at, out);
}

/* From a tensor to another that looks at the same storage. */
static lz_err *restride(lz_alias *a, shape from, shape to, lz_gedge e, lz_loc at, lz_gedge *out)
{
    LZ_TRY(to_storage(a, &from, e, at, &e));
    return strided_node(a, LZ_OP_as_strided, from.spec, to, e, nowhere, at, out);
}

/* ---- edges ---- */

static lz_err *refuse_view(const lz_tensor *t, bool by_another)
{
    const char *what = by_another ? "its base or another view of its base has been" : "is being";
    if (t->made & LZ_MADE_SEVERAL && !(t->made & LZ_MADE_OFF))
        return lz_errf(LZ_ERR_ARG,
                       "Output of %s is a view and %s modified inplace. It is the output of a function that "
                       "returns multiple views. Such functions do not allow the output views to be modified "
                       "inplace. You should replace the inplace operation by an out-of-place one.",
                       lz_grad_fn(t) ? lz_grad_fn(t) : "a call", what);
    return lz_errf(LZ_ERR_ARG,
                   "A view was created in %s mode and %s modified inplace with grad mode enabled. Make both "
                   "with gradients off, or both with gradients on.",
                   t->made & LZ_MADE_INFERENCE ? "inference" : "no_grad", what);
}

static bool may_not_be_written(const lz_tensor *t)
{
    return is_view(t) && t->made & (LZ_MADE_OFF | LZ_MADE_SEVERAL);
}

static lz_err *meta_edge(lz_tensor *t, lz_gedge *out)
{
    const lz_grad_meta *m = t->meta;
    if (!m || !m->fn.node)
        return leaf_edge(t, out);
    *out = (lz_gedge){ lz_gnode_retain(m->fn.node), m->fn.index };
    return NULL;
}

/* The storage was written to: what a view shows is found from its base again. */
static lz_err *renew(lz_tensor *t, lz_grad_meta *base, lz_loc at)
{
    lz_gedge e = nowhere;
    shape from = { t->alias->spec, 0 };
    if (may_not_be_written(t))
        return refuse_view(t, true);
    if (base) {
        from = base_shape(base);
        e = (lz_gedge){ lz_gnode_retain(base->fn.node), base->fn.index };
        if (!e.node && base->requires && base->t)
            LZ_TRY(leaf_edge(base->t, &e));
    }
    LZ_TRY(restride(t->alias, from, shape_of(t), e, at, &e));
    return lz_history_set(t, e);
}

lz_err *lz_edge_of(lz_tensor *t, lz_loc at, lz_gedge *out)
{
    *out = nowhere;
    if (!lz_grad_required(t))
        return NULL;
    if (is_view(t) && t->writes != t->alias->writes) {
        lz_grad_meta *base = base_of(t);
        if (t->meta && t->meta->requires && !has_grad(base))
            return meta_edge(t, out);
        LZ_TRY(renew(t, base, at));
    }
    return meta_edge(t, out);
}

/* ---- changes ---- */

lz_err *lz_history_set(lz_tensor *t, lz_gedge e)
{
    lz_grad_meta *m;
    lz_err *err = lz_meta_of(t, &m);
    if (err) {
        lz_gnode_release(e.node);
        return err;
    }
    lz_meta_set_fn(m, e);
    t->writes = t->alias->writes;
    return NULL;
}

/* The base's new value: the old one with the view's elements in it. */
static lz_err *write_base(lz_tensor *t, lz_gedge e, lz_loc at)
{
    lz_alias *a = t->alias;
    lz_grad_meta *base;
    LZ_TRY(make_base(t, &base));
    shape whole = base_shape(base), s = whole;
    lz_gedge old = { lz_gnode_retain(base->fn.node), base->fn.index };
    LZ_TRY(to_storage(a, &s, old, at, &old));
    lz_gnode_retain(e.node);
    LZ_TRY(strided_node(a, LZ_OP_as_strided_scatter, s.spec, shape_of(t), old, e, at, &old));
    if (!is_whole(whole, a))
        LZ_TRY(strided_node(a, LZ_OP_as_strided, s.spec, whole, old, nowhere, at, &old));
    lz_meta_set_fn(base, old);
    return NULL;
}

lz_err *lz_history_write(lz_tensor *t, lz_gedge e, lz_loc at)
{
    lz_err *err = is_view(t) ? write_base(t, e, at) : NULL;
    if (err) {
        lz_gnode_release(e.node);
        return err;
    }
    return lz_history_set(t, e);
}

lz_err *lz_history_strided(lz_tensor *t, const lz_spec *spec, int64_t offset, lz_gedge e, lz_tensor *v,
                           lz_loc at)
{
    LZ_TRY(restride(t->alias, (shape){ spec, offset }, shape_of(v), e, at, &e));
    return lz_history_set(v, e);
}

bool lz_is_leaf(const lz_tensor *t)
{
    bool stale = t->alias && is_view(t) && t->writes != t->alias->writes && has_grad(base_of(t));
    return !stale && (!t->meta || !t->meta->fn.node);
}

lz_err *lz_history_check(lz_tensor *t)
{
    const lz_grad_meta *base = is_view(t) ? base_of(t) : NULL;
    if (may_not_be_written(t))
        return refuse_view(t, false);
    if (is_view(t) && lz_grad_required(t) && !(base && base->fn.node))
        return lz_errf(
            LZ_ERR_ARG,
            "a view of a leaf Variable that requires grad is being used in an in-place operation.");
    if (lz_grad_required(t) && lz_is_leaf(t))
        return lz_errf(LZ_ERR_ARG,
                       "a leaf Variable that requires grad is being used in an in-place operation.");
    return NULL;
}

/* ---- values ---- */

lz_err *lz_snapshot(lz_tensor *t, lz_tensor **out)
{
    lz_ctx *c = t->ctx;
    lz_alias *a = t->alias, *own;
    const lz_spec *s;
    lz_output v;
    LZ_TRY(lz_spec_get(c->specs, (lz_dtype)t->spec->dtype, lz_spec_sizes(t->spec), (lz_ints){ NULL, 0 }, &s));
    if (a->data && lz_tensor_is_base(t) && a->spec == s)
        return lz_tensor_of_data(c, s, a->device, lz_data_retain(a->data), out);
    LZ_TRY(lz_tensor_value(t, &v));
    LZ_TRY(lz_alias_pending(c, s, v, &own));
    lz_node_retain((lz_node *)v.node);
    own->device = a->device;
    lz_err *e = lz_tensor_create(own, s, 0, out);
    lz_alias_release(own);
    return e;
}
