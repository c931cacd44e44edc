/* Forward mode: a function is recorded on a tape that keeps everything, then tangents go along
 * its nodes in the order of recording. Where something outside requires gradients, this is
 * recorded as well: tangents are then differentiated like anything else. */
#include "autograd/checkpoint.h"
#include "autograd/engine.h"
#include "autograd/function.h"
#include "autograd/unpack.h"
#include "base/mem.h"
#include "core/dtype.h"

typedef struct pushing {
    lz_ctx *c;
    lz_gnodes nodes; /* those behind the results, the first recorded first */
    lz_tensor ***of; /* by node: tangents of its results, borrowed from the scope; NULL: none */
    bool create;     /* tangents have a history */
    uint64_t order;  /* which of them the nodes have */
} pushing;

/* ---- tangents by edge ---- */

static uint64_t number(lz_ctx *c, const lz_gnodes *nodes)
{
    for (size_t i = 0; i < nodes->len; i++)
        nodes->data[i]->order = (uint32_t)i;
    return ++c->tape->orders;
}

/* A function of the user's may have asked for tangents itself, along the same nodes. */
static void number_again(pushing *p)
{
    if (p->order != p->c->tape->orders)
        p->order = number(p->c, &p->nodes);
}

static bool is_known(const pushing *p, const lz_gnode *n)
{
    return n && n->order < p->nodes.len && p->nodes.data[n->order] == n;
}

static lz_tensor *tangent_at(const pushing *p, lz_gedge e)
{
    lz_tensor **t = is_known(p, e.node) ? p->of[e.node->order] : NULL;
    return t ? t[e.index] : NULL;
}

static lz_err *make_room(pushing *p, const lz_gnode *n, lz_tensor ***out)
{
    *out = p->of[n->order] = lz_scope_alloc(p->c->scope, (n->nout + 1) * sizeof **out);
    if (!*out)
        return lz_err_oom();
    for (uint32_t i = 0; i < n->nout; i++)
        (*out)[i] = NULL;
    return NULL;
}

static lz_err *take_tangents(lz_recorder *r, const pushing *p, const lz_gnode *n, lz_lv *out)
{
    uint32_t edge = 0;
    for (uint32_t i = 0; i < n->nargs; i++) {
        const lz_value *v = &n->values[i];
        lz_lv *list;
        out[i] = lz_lv_none();
        if (v->kind == LZ_KIND_TENSOR)
            LZ_TRY(lz_recorder_add(r, tangent_at(p, n->edges[edge++]), &out[i]));
        if (v->kind != LZ_KIND_TENSORS || v->tensors.n < 0)
            continue;
        LZ_TRY(lz_low_list_new(&r->b, (size_t)v->tensors.n, &list));
        for (int64_t k = 0; k < v->tensors.n; k++)
            LZ_TRY(lz_recorder_add(r, tangent_at(p, n->edges[edge++]), &list[k]));
        out[i] = lz_lv_list(list, (size_t)v->tensors.n);
    }
    return NULL;
}

static lz_err *give_tangents(lz_recorder *r, const lz_gnode *n, const lz_lv *made, lz_tensor **out)
{
    uint32_t at = 0;
    for (uint32_t i = 0; i < n->nresults; i++) {
        const lz_value *v = &n->values[n->nargs + i];
        if (v->kind == LZ_KIND_TENSOR)
            LZ_TRY(lz_recorder_tensor(r, &made[i], &out[at++]));
        for (int64_t k = 0; v->kind == LZ_KIND_TENSORS && k < v->tensors.n; k++, at++)
            if (made[i].kind == LZ_LV_LIST)
                LZ_TRY(lz_recorder_tensor(r, &made[i].list.items[k], &out[at]));
    }
    return NULL;
}

static lz_err *push_by_formula(lz_recorder *r, const pushing *p, lz_gnode *n, lz_tensor **out)
{
    lz_lv args[LZ_ARGS_MAX], results[LZ_ARGS_MAX], tangents[LZ_ARGS_MAX], made[LZ_ARGS_MAX];
    LZ_TRY(lz_unpack_call(r, n, p->create, args, results));
    LZ_TRY(take_tangents(r, p, n, tangents));
    LZ_TRY(lz_grad_forward(r, n->op, args, results, tangents, made));
    return give_tangents(r, n, made, out);
}

/* ---- two backward steps: gradients are linear in what they come from ---- */

typedef struct two_steps {
    lz_tensor **dummies; /* a gradient for each result */
    lz_tensor **grads;   /* that come of them, for edges that have tangents */
    lz_tensor **tangents;
    int64_t n; /* of the last two */
} two_steps;

static lz_err *prepare(const pushing *p, const lz_gnode *n, two_steps *s)
{
    lz_tensor **room = lz_scope_alloc(p->c->scope, (n->nout + 2 * (size_t)n->nin + 1) * sizeof *room);
    if (!room)
        return lz_err_oom();
    *s = (two_steps){ room, room + n->nout, room + n->nout + n->nin, 0 };
    for (uint32_t i = 0; i < n->nout; i++) {
        const lz_spec *spec = n->items[n->nin + i].spec;
        s->dummies[i] = NULL;
        if (!spec || !lz_dtype_is_float((lz_dtype)spec->dtype))
            continue;
        LZ_TRY(lz_engine_zeros(p->c, n->at, spec, &s->dummies[i]));
        lz_set_requires_grad(s->dummies[i], true);
    }
    return NULL;
}

static lz_err *step_back(pushing *p, lz_gnode *n, two_steps *s)
{
    LZ_TRY(lz_engine_node(p->c, n, s->dummies, n->wanted, true, s->grads));
    number_again(p);
    for (uint32_t i = 0; i < n->nin; i++) {
        lz_tensor *g = s->grads[i], *t = tangent_at(p, n->edges[i]);
        if (!g || !t || !lz_grad_required(g))
            continue;
        s->grads[s->n] = g;
        s->tangents[s->n++] = t;
    }
    return NULL;
}

static lz_err *push_by_two_steps(pushing *p, lz_gnode *n, lz_tensor **out)
{
    two_steps s;
    LZ_TRY(prepare(p, n, &s));
    lz_grad_mode was = lz_set_grad_mode(p->c, LZ_GRAD_ON);
    lz_err *e = step_back(p, n, &s);
    lz_set_grad_mode(p->c, was);
    LZ_TRY(e);
    const lz_grad_args args = { .gradients = { s.tangents, s.n },
                                .retain_graph = true,
                                .create_graph = p->create,
                                .allow_unused = true };
    for (uint32_t i = 0; i < n->nout && s.n; i++)
        if (s.dummies[i]
            && !lz_grad_at(p->c, n->at, (lz_tensors){ s.grads, s.n }, LZ_TENSORS(s.dummies[i]), &out[i],
                           &args))
            return lz_errf(lz_code_of(p->c), "%s", lz_message(p->c));
    return NULL;
}

/* ---- along the tape ---- */

static bool any_tangent(const pushing *p, const lz_gnode *n)
{
    for (uint32_t i = 0; n->edges && i < n->nin; i++)
        if (tangent_at(p, n->edges[i]))
            return true;
    return false;
}

static lz_err *push_node(pushing *p, lz_gnode *n)
{
    lz_tensor **out;
    lz_recorder *r;
    if (n->kind == LZ_GNODE_CUT || !any_tangent(p, n))
        return NULL;
    if (n->spent)
        return lz_engine_spent(n);
    LZ_TRY(lz_checkpoint_restore(n, NULL));
    LZ_TRY(make_room(p, n, &out));
    if (n->kind != LZ_GNODE_OP)
        return push_by_two_steps(p, n, out);
    LZ_TRY(lz_tape_recorder(p->c->tape, n->at, &r));
    lz_err *e = push_by_formula(r, p, n, out);
    lz_tape_recorder_done(p->c->tape, r);
    if (lz_err_code(e) != LZ_ERR_UNSUPPORTED)
        return e;
    lz_err_free(e);
    return push_by_two_steps(p, n, out);
}

/* Where the tangent of an input begins: the node of a leaf, or of a copy. */
static lz_gedge start_of(const lz_tensor *in)
{
    const lz_grad_meta *m = in->meta;
    if (!m)
        return (lz_gedge){ NULL, 0 };
    return m->fn.node ? m->fn : (lz_gedge){ m->leaf, 0 };
}

static lz_err *set_input(pushing *p, const lz_tensor *in, lz_tensor *tangent)
{
    lz_tensor **at;
    lz_gedge e = start_of(in);
    if (!is_known(p, e.node) || !tangent)
        return NULL;
    LZ_TRY(make_room(p, e.node, &at));
    at[e.index] = tangent;
    return NULL;
}

/* Whether any of these nodes is a leaf that is none of the inputs. */
static bool leads_outside(const lz_gnodes *nodes, lz_tensors in)
{
    size_t leaves = 0;
    for (size_t i = 0; i < nodes->len; i++)
        leaves += nodes->data[i]->kind == LZ_GNODE_LEAF;
    for (int64_t i = 0; i < in.n; i++) {
        const lz_gnode *n = start_of(in.v[i]).node;
        leaves -= n && n->kind == LZ_GNODE_LEAF && n->order < nodes->len && nodes->data[n->order] == n;
    }
    return leaves > 0;
}

static bool any_required(lz_tensors t)
{
    for (int64_t i = 0; i < t.n; i++)
        if (t.v[i] && lz_grad_required(t.v[i]))
            return true;
    return false;
}

static lz_err *push_all(pushing *p, lz_tensors in, lz_tensors tangents, const lz_gedge *roots,
                        lz_tensor **out_tangents, size_t nout)
{
    p->of = lz_scope_alloc(p->c->scope, (p->nodes.len + 1) * sizeof *p->of);
    if (!p->of)
        return lz_err_oom();
    for (size_t i = 0; i < p->nodes.len; i++)
        p->of[i] = NULL;
    for (int64_t i = 0; i < in.n; i++)
        LZ_TRY(set_input(p, in.v[i], tangents.v[i]));
    for (size_t i = 0; i < p->nodes.len; i++) {
        LZ_TRY(push_node(p, p->nodes.data[i]));
        number_again(p);
    }
    for (size_t i = 0; i < nout; i++)
        out_tangents[i] = tangent_at(p, roots[i]);
    return NULL;
}

/* ---- a function ---- */

/* Tensors of its own stand for the inputs: leaves, so that nothing else has to do with them, or copies
 * that lead to those that require gradients. */
static lz_err *stand_in(lz_ctx *c, lz_tensor *t, lz_tensor **out)
{
    const lz_value in[] = { lz_value_tensor(t), lz_value_none() };
    lz_value made;
    if (c->grad_mode == LZ_GRAD_ON && lz_grad_required(t)) {
        lz_record(c, &lz_op_table[LZ_OP_clone], c->at, in, &made);
        *out = made.tensor;
        return made.tensor->alias ? NULL : lz_errf(lz_code_of(c), "%s", lz_message(c));
    }
    LZ_TRY(lz_snapshot(t, out));
    if (lz_dtype_is_float((lz_dtype)t->spec->dtype))
        lz_set_requires_grad(*out, true);
    return NULL;
}

static lz_err *check(const lz_ctx *c, lz_tangent_fn *f, lz_tensors in, lz_tensors tangents)
{
    if (!f)
        return lz_errf(LZ_ERR_ARG, "no function is given");
    if (in.n != tangents.n || in.n < 0)
        return lz_errf(LZ_ERR_ARG, "one tangent for each input is due");
    for (int64_t i = 0; i < in.n; i++) {
        const lz_tensor *x = in.v[i], *t = tangents.v[i];
        if (!x || !x->alias || x->ctx != c)
            return lz_errf(LZ_ERR_ARG, "input %lld belongs to another context, or is inert", (long long)i);
        if (t && !lz_dtype_is_float((lz_dtype)x->spec->dtype))
            return lz_errf(LZ_ERR_ARG, "input %lld has no tangent: its dtype is not floating", (long long)i);
        if (t)
            LZ_TRY(lz_engine_fits(c, "tangent", (size_t)i, t, x->spec, true));
    }
    return NULL;
}

typedef struct jvp {
    lz_tangent_fn *f;
    void *user;
    lz_tensors in, tangents;
    size_t nout;
    lz_tensor **ins, **outs, **pushed; /* of the scope */
    lz_gedge *roots;
    bool create;
} jvp;

static lz_err *call_function(lz_ctx *c, const jvp *j)
{
    lz_grad_mode was = lz_set_grad_mode(c, LZ_GRAD_ON);
    bool kept = c->tape->keeps_all;
    c->tape->keeps_all = true;
    lz_err *e = j->f(c, (lz_tensors){ j->ins, j->in.n }, j->outs, j->user);
    c->tape->keeps_all = kept;
    lz_set_grad_mode(c, was);
    if (!e && lz_failed(c))
        e = lz_errf(lz_code_of(c), "%s", lz_message(c));
    for (size_t i = 0; !e && i < j->nout; i++)
        if (!j->outs[i] || !j->outs[i]->alias || j->outs[i]->ctx != c)
            e = lz_errf(LZ_ERR_ARG, "the function gave no result %zu, or one that belongs to another context",
                        i);
    return e;
}

static lz_err *push_through(lz_ctx *c, jvp *j)
{
    pushing p = { .c = c };
    const lz_tensors ins = { j->ins, j->in.n };
    lz_err *e = NULL;
    for (size_t i = 0; !e && i < j->nout; i++)
        e = lz_edge_of(j->outs[i], c->at, &j->roots[i]);
    if (!e)
        e = lz_engine_reach(c, j->roots, j->nout, &p.nodes);
    p.order = number(c, &p.nodes);
    if (c->grad_mode == LZ_GRAD_ON)
        j->create = p.create = any_required(j->tangents) || leads_outside(&p.nodes, ins);
    lz_grad_mode was = lz_set_grad_mode(c, p.create ? LZ_GRAD_ON : LZ_GRAD_OFF);
    if (!e)
        e = push_all(&p, ins, j->tangents, j->roots, j->pushed, j->nout);
    lz_set_grad_mode(c, was);
    for (size_t i = 0; i < j->nout; i++)
        lz_gnode_release(j->roots[i].node);
    lz_vec_deinit(&p.nodes);
    return e;
}

static lz_err *run(lz_ctx *c, jvp *j)
{
    size_t n = (size_t)j->in.n + 2 * j->nout + 1;
    j->ins = lz_scope_alloc(c->scope, n * sizeof *j->ins);
    j->roots = lz_scope_alloc(c->scope, (j->nout + 1) * sizeof *j->roots);
    if (!j->ins || !j->roots)
        return lz_err_oom();
    j->outs = j->ins + j->in.n;
    j->pushed = j->outs + j->nout;
    for (size_t i = 0; i < j->nout; i++) {
        j->outs[i] = j->pushed[i] = NULL;
        j->roots[i] = (lz_gedge){ NULL, 0 };
    }
    for (int64_t i = 0; i < j->in.n; i++)
        LZ_TRY(stand_in(c, j->in.v[i], &j->ins[i]));
    LZ_TRY(call_function(c, j));
    return push_through(c, j);
}

static lz_err *has_history(lz_ctx *c, const jvp *j, lz_tensor *t, bool *out)
{
    lz_gnodes nodes = { 0 };
    lz_gedge edge = { NULL, 0 };
    *out = false;
    if (!j->create || !lz_grad_required(t))
        return NULL;
    LZ_TRY(lz_edge_of(t, c->at, &edge));
    lz_err *e = lz_engine_reach(c, &edge, 1, &nodes);
    number(c, &nodes);
    *out = !e && leads_outside(&nodes, (lz_tensors){ j->ins, j->in.n });
    lz_gnode_release(edge.node);
    lz_vec_deinit(&nodes);
    return e;
}

/* Results leave the scope as values, unless their history leads to something outside. */
static lz_err *give(lz_ctx *c, const jvp *j, lz_tensor *t, lz_tensor **out)
{
    bool with_history;
    LZ_TRY(has_history(c, j, t, &with_history));
    if (!with_history)
        return lz_snapshot(t, out);
    LZ_TRY(lz_scope_share(c->scope, t));
    *out = t;
    return NULL;
}

static lz_err *jvp_in_scope(lz_ctx *c, jvp *j, lz_tensor **out, lz_tensor **out_tangents)
{
    lz_scope *s, *outer = c->scope;
    LZ_TRY(lz_scope_begin(c, &s));
    lz_err *e = run(c, j);
    c->scope = outer;
    for (size_t i = 0; !e && i < j->nout; i++) {
        e = give(c, j, j->outs[i], &out[i]);
        if (!e && j->pushed[i])
            e = give(c, j, j->pushed[i], &out_tangents[i]);
    }
    c->scope = s;
    lz_scope_pop(s);
    return e;
}

bool lz_jvp(lz_ctx *c, lz_tangent_fn *f, void *user, lz_tensors in, lz_tensors tangents, lz_tensor **out,
            lz_tensor **out_tangents, size_t nout)
{
    lz_tape *tape;
    jvp j = { .f = f, .user = user, .in = in, .tangents = tangents, .nout = nout };
    for (size_t i = 0; i < nout; i++) {
        out[i] = c->inert;
        out_tangents[i] = NULL;
    }
    lz_err *e = check(c, f, in, tangents);
    if (!e)
        e = lz_tape_of(c, &tape);
    if (!e)
        e = jvp_in_scope(c, &j, out, out_tangents);
    bool ok = !e;
    lz_ctx_fail(c, (lz_loc){ 0 }, NULL, e);
    return ok;
}
