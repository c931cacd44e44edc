/* Forward mode: records a function on a tape that keeps everything, then computes tangents along its nodes in
 * the order of recording. If the function depends on an outside tensor that requires a gradient, the tangents
 * are recorded too, and can be differentiated. */
#include "autograd/backward.h"
#include "autograd/checkpoint.h"
#include "autograd/engine.h"
#include "autograd/function.h"
#include "autograd/unpack.h"
#include "base/mem.h"
#include "core/dtype.h"
#include "op/op_table.h"

typedef struct pushing {
    lz_ctx *c;
    lz_tape_nodes nodes; /* all nodes that the results depend on, in the order of recording */
    lz_tensor ***of;     /* by node: tangents of its results, borrowed from the scope; NULL: no tangents */
    bool create;         /* tangents get a history */
    uint64_t order;      /* the numbering that n->order belongs to */
} pushing;

/* ---- tangents by edge ---- */

static uint64_t number(lz_ctx *c, const lz_tape_nodes *nodes)
{
    for (size_t i = 0; i < nodes->len; i++)
        nodes->data[i]->order = (uint32_t)i;
    return ++lz_ctx_tape(c)->orders;
}

/* A user's function may have run another lz_jvp along the same nodes, which has numbered them anew. */
static void number_again(pushing *p)
{
    if (p->order != lz_ctx_tape(p->c)->orders)
        p->order = number(p->c, &p->nodes);
}

static bool is_known(const pushing *p, const lz_tape_node *n)
{
    return n && n->order < p->nodes.len && p->nodes.data[n->order] == n;
}

static lz_tensor *tangent_at(const pushing *p, lz_tape_edge e)
{
    lz_tensor **t = is_known(p, e.node) ? p->of[e.node->order] : NULL;
    return t ? t[e.index] : NULL;
}

static lz_err *make_room(pushing *p, const lz_tape_node *n, lz_tensor ***out)
{
    *out = p->of[n->order] = lz_ctx_scope_alloc(p->c, (n->nout + 1) * sizeof **out);
    if (!*out)
        return lz_err_oom();
    for (uint32_t i = 0; i < n->nout; i++)
        (*out)[i] = NULL;
    return NULL;
}

static lz_err *take_tangents(lz_recorder *r, const pushing *p, const lz_tape_node *n, lz_low_value *out)
{
    uint32_t edge = 0;
    for (uint32_t i = 0; i < n->nargs; i++) {
        const lz_value *v = &n->values[i];
        lz_low_value *list;
        out[i] = lz_low_value_none();
        if (v->kind == LZ_KIND_TENSOR)
            LZ_TRY(lz_recorder_add(r, tangent_at(p, n->edges[edge++]), &out[i]));
        if (v->kind != LZ_KIND_TENSORS || v->tensors.n < 0)
            continue;
        LZ_TRY(lz_low_list_new(&r->b, (size_t)v->tensors.n, &list));
        for (int64_t k = 0; k < v->tensors.n; k++)
            LZ_TRY(lz_recorder_add(r, tangent_at(p, n->edges[edge++]), &list[k]));
        out[i] = lz_low_value_list(list, (size_t)v->tensors.n);
    }
    return NULL;
}

static lz_err *give_tangents(lz_recorder *r, const lz_tape_node *n, const lz_low_value *made, lz_tensor **out)
{
    uint32_t at = 0;
    for (uint32_t i = 0; i < n->nresults; i++) {
        const lz_value *v = &n->values[n->nargs + i];
        if (v->kind == LZ_KIND_TENSOR)
            LZ_TRY(lz_recorder_tensor(r, &made[i], &out[at++]));
        for (int64_t k = 0; v->kind == LZ_KIND_TENSORS && k < v->tensors.n; k++, at++)
            if (made[i].kind == LZ_LOW_VALUE_LIST)
                LZ_TRY(lz_recorder_tensor(r, &made[i].list.items[k], &out[at]));
    }
    return NULL;
}

static lz_err *push_by_formula(lz_recorder *r, const pushing *p, lz_tape_node *n, lz_tensor **out)
{
    lz_low_value args[LZ_ARGS_MAX], results[LZ_ARGS_MAX], tangents[LZ_ARGS_MAX], made[LZ_ARGS_MAX];
    LZ_TRY(lz_unpack_call(r, n, p->create, args, results));
    LZ_TRY(take_tangents(r, p, n, tangents));
    LZ_TRY(lz_grad_forward(r, n->op, args, results, tangents, made));
    return give_tangents(r, n, made, out);
}

/* ---- two backward steps: the tangent is the gradient of the gradient, which is linear ---- */

typedef struct two_steps {
    lz_tensor **dummies; /* one gradient for each result */
    lz_tensor **grads;   /* the argument gradients that result, for edges with tangents */
    lz_tensor **tangents;
    int64_t n; /* entries of grads and tangents */
} two_steps;

static lz_err *prepare(const pushing *p, const lz_tape_node *n, two_steps *s)
{
    lz_tensor **room = lz_ctx_scope_alloc(p->c, (n->nout + 2 * (size_t)n->nin + 1) * sizeof *room);
    if (!room)
        return lz_err_oom();
    *s = (two_steps){ room, room + n->nout, room + n->nout + n->nin, 0 };
    for (uint32_t i = 0; i < n->nout; i++) {
        const lz_spec *spec = n->items[n->nin + i].spec;
        s->dummies[i] = NULL;
        if (!spec || !lz_dtype_is_float((lz_dtype)spec->dtype))
            continue;
        LZ_TRY(lz_engine_zeros(p->c, n->at, spec, &s->dummies[i]));
        LZ_TRY(lz_grad_require(s->dummies[i], true));
    }
    return NULL;
}

static lz_err *step_back(pushing *p, lz_tape_node *n, two_steps *s)
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

static lz_err *push_by_two_steps(pushing *p, lz_tape_node *n, lz_tensor **out)
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
        if (s.dummies[i])
            LZ_TRY(lz_backward_inputs(p->c, n->at, (lz_tensors){ s.grads, s.n }, LZ_TENSORS(s.dummies[i]),
                                      &out[i], &args));
    return NULL;
}

/* ---- along the tape ---- */

static bool any_tangent(const pushing *p, const lz_tape_node *n)
{
    for (uint32_t i = 0; n->edges && i < n->nin; i++)
        if (tangent_at(p, n->edges[i]))
            return true;
    return false;
}

static lz_err *push_node(pushing *p, lz_tape_node *n)
{
    lz_tape *tape = lz_ctx_tape(p->c);
    lz_tensor **out;
    lz_recorder *r;
    if (n->kind == LZ_TAPE_NODE_CUT || !any_tangent(p, n))
        return NULL;
    if (n->freed_saved_values)
        return lz_engine_values_were_freed(n);
    LZ_TRY(lz_checkpoint_restore(n, NULL));
    LZ_TRY(make_room(p, n, &out));
    if (n->kind != LZ_TAPE_NODE_OP)
        return push_by_two_steps(p, n, out);
    LZ_TRY(lz_tape_recorder(tape, n->at, &r));
    lz_err *e = push_by_formula(r, p, n, out);
    lz_tape_recorder_done(tape, r);
    if (lz_err_code(e) != LZ_ERR_UNSUPPORTED)
        return e;
    lz_err_free(e);
    return push_by_two_steps(p, n, out);
}

/* The edge where the tangent of an input starts: a leaf's node, or the node of a copy. */
static lz_tape_edge start_of(const lz_tensor *in)
{
    const lz_grad_meta *m = lz_meta_at(in);
    if (!m)
        return (lz_tape_edge){ NULL, 0 };
    return m->fn.node ? m->fn : (lz_tape_edge){ m->leaf, 0 };
}

static lz_err *set_input(pushing *p, const lz_tensor *in, lz_tensor *tangent)
{
    lz_tensor **at;
    lz_tape_edge e = start_of(in);
    if (!is_known(p, e.node) || !tangent)
        return NULL;
    LZ_TRY(make_room(p, e.node, &at));
    at[e.index] = tangent;
    return NULL;
}

/* Whether one of the nodes is a leaf other than the inputs. */
static bool leads_outside(const lz_tape_nodes *nodes, lz_tensors in)
{
    size_t leaves = 0;
    for (size_t i = 0; i < nodes->len; i++)
        leaves += nodes->data[i]->kind == LZ_TAPE_NODE_LEAF;
    for (int64_t i = 0; i < in.n; i++) {
        const lz_tape_node *n = start_of(in.v[i]).node;
        leaves -= n && n->kind == LZ_TAPE_NODE_LEAF && n->order < nodes->len && nodes->data[n->order] == n;
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

static lz_err *push_all(pushing *p, lz_tensors in, lz_tensors tangents, const lz_tape_edge *roots,
                        lz_tensor **out_tangents, size_t nout)
{
    p->of = lz_ctx_scope_alloc(p->c, (p->nodes.len + 1) * sizeof *p->of);
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

/* Makes a tensor that stands for the input t: a new leaf, or, if t requires a gradient, a copy with a
 * history. */
static lz_err *stand_in(lz_ctx *c, lz_tensor *t, lz_tensor **out)
{
    const lz_value in[] = { lz_value_tensor(t), lz_value_none() };
    if (lz_get_grad_mode(c) == LZ_GRAD_ON && lz_grad_required(t))
        return lz_record_one(c, &lz_op_table[LZ_OP_clone], lz_ctx_line(c), in, out);
    LZ_TRY(lz_tensor_snapshot(t, out));
    return lz_dtype_is_float(lz_tensor_dtype(t)) ? lz_grad_require(*out, true) : NULL;
}

static bool belongs(const lz_ctx *c, const lz_tensor *t)
{
    return !lz_tensor_is_inert(t) && lz_tensor_ctx(t) == c;
}

static lz_err *check(const lz_ctx *c, lz_tangent_fn *f, lz_tensors in, lz_tensors tangents)
{
    if (!f)
        return lz_errf(LZ_ERR_ARG, "expected a function, found NULL");
    if (in.n != tangents.n || in.n < 0)
        return lz_errf(LZ_ERR_ARG, "expected one tangent for each of %lld inputs, found %lld",
                       (long long)in.n, (long long)tangents.n);
    for (int64_t i = 0; i < in.n; i++) {
        const lz_tensor *x = in.v[i], *t = tangents.v[i];
        if (!belongs(c, x))
            return lz_err_because(LZ_REASON_CONTEXT, "input %lld belongs to another context or is inert",
                                  (long long)i);
        if (t && !lz_dtype_is_float(lz_tensor_dtype(x)))
            return lz_err_because(LZ_REASON_DTYPE, "input %lld has no tangent: its dtype is not floating",
                                  (long long)i);
        if (t)
            LZ_TRY(lz_engine_fits(c, "tangent", (size_t)i, t, lz_tensor_spec(x), true));
    }
    return NULL;
}

typedef struct jvp {
    lz_tangent_fn *f;
    void *user;
    lz_tensors in, tangents;
    size_t nout;
    lz_tensor **ins, **outs, **pushed; /* owned by the scope */
    lz_tape_edge *roots;
    bool create;
} jvp;

static lz_err *call_function(lz_ctx *c, const jvp *j)
{
    lz_grad_mode was = lz_set_grad_mode(c, LZ_GRAD_ON);
    lz_tape *tape = lz_ctx_tape(c);
    bool kept = tape->keeps_all;
    tape->keeps_all = true;
    lz_err *e = j->f(c, (lz_tensors){ j->ins, j->in.n }, j->outs, j->user);
    tape->keeps_all = kept;
    lz_set_grad_mode(c, was);
    e = lz_err_first(lz_ctx_take_error(c), e);
    for (size_t i = 0; !e && i < j->nout; i++)
        if (!belongs(c, j->outs[i]))
            e = lz_err_because(LZ_REASON_CONTEXT,
                               "the function returned no result %zu, or one of another context", i);
    return e;
}

static lz_err *push_through(lz_ctx *c, jvp *j)
{
    pushing p = { .c = c };
    const lz_tensors ins = { j->ins, j->in.n };
    lz_err *e = NULL;
    for (size_t i = 0; !e && i < j->nout; i++)
        e = lz_edge_of(j->outs[i], lz_ctx_line(c), &j->roots[i]);
    if (!e)
        e = lz_engine_reach(c, j->roots, j->nout, &p.nodes);
    p.order = number(c, &p.nodes);
    if (lz_get_grad_mode(c) == LZ_GRAD_ON)
        j->create = p.create = any_required(j->tangents) || leads_outside(&p.nodes, ins);
    lz_grad_mode was = lz_set_grad_mode(c, p.create ? LZ_GRAD_ON : LZ_GRAD_OFF);
    if (!e)
        e = push_all(&p, ins, j->tangents, j->roots, j->pushed, j->nout);
    lz_set_grad_mode(c, was);
    for (size_t i = 0; i < j->nout; i++)
        lz_tape_node_release(j->roots[i].node);
    lz_vec_deinit(&p.nodes);
    return e;
}

static lz_err *run(lz_ctx *c, jvp *j)
{
    size_t n = (size_t)j->in.n + 2 * j->nout + 1;
    j->ins = lz_ctx_scope_alloc(c, n * sizeof *j->ins);
    j->roots = lz_ctx_scope_alloc(c, (j->nout + 1) * sizeof *j->roots);
    if (!j->ins || !j->roots)
        return lz_err_oom();
    j->outs = j->ins + j->in.n;
    j->pushed = j->outs + j->nout;
    for (size_t i = 0; i < j->nout; i++) {
        j->outs[i] = j->pushed[i] = NULL;
        j->roots[i] = (lz_tape_edge){ NULL, 0 };
    }
    for (int64_t i = 0; i < j->in.n; i++)
        LZ_TRY(stand_in(c, j->in.v[i], &j->ins[i]));
    LZ_TRY(call_function(c, j));
    return push_through(c, j);
}

static lz_err *has_history(lz_ctx *c, const jvp *j, lz_tensor *t, bool *out)
{
    lz_tape_nodes nodes = { 0 };
    lz_tape_edge edge = { NULL, 0 };
    *out = false;
    if (!j->create || !lz_grad_required(t))
        return NULL;
    LZ_TRY(lz_edge_of(t, lz_ctx_line(c), &edge));
    lz_err *e = lz_engine_reach(c, &edge, 1, &nodes);
    number(c, &nodes);
    *out = !e && leads_outside(&nodes, (lz_tensors){ j->ins, j->in.n });
    lz_tape_node_release(edge.node);
    lz_vec_deinit(&nodes);
    return e;
}

/* Moves t out of the scope: with its history if that leads outside, otherwise as a value. */
static lz_err *give(lz_ctx *c, const lz_scope *s, const jvp *j, lz_tensor *t, lz_tensor **out)
{
    bool with_history;
    LZ_TRY(has_history(c, j, t, &with_history));
    if (!with_history)
        LZ_TRY(lz_tensor_snapshot(t, &t));
    LZ_TRY(lz_scope_give(s, t));
    *out = t;
    return NULL;
}

static lz_err *jvp_in_scope(lz_ctx *c, jvp *j, lz_tensor **out, lz_tensor **out_tangents)
{
    lz_scope *s;
    LZ_TRY(lz_scope_begin(c, &s));
    lz_err *e = run(c, j);
    for (size_t i = 0; !e && i < j->nout; i++) {
        e = give(c, s, j, j->outs[i], &out[i]);
        if (!e && j->pushed[i])
            e = give(c, s, j, j->pushed[i], &out_tangents[i]);
    }
    lz_scope_pop(s);
    return e;
}

bool lz_jvp(lz_ctx *c, lz_tangent_fn *f, void *user, lz_tensors in, lz_tensors tangents, lz_tensor **out,
            lz_tensor **out_tangents, size_t nout)
{
    lz_tape *tape;
    jvp j = { .f = f, .user = user, .in = in, .tangents = tangents, .nout = nout };
    for (size_t i = 0; i < nout; i++) {
        out[i] = lz_ctx_inert(c);
        out_tangents[i] = NULL;
    }
    if (lz_failed(c))
        return false;
    lz_err *e = check(c, f, in, tangents);
    if (!e)
        e = lz_tape_of(c, &tape);
    if (!e)
        e = jvp_in_scope(c, &j, out, out_tangents);
    return lz_ctx_report(c, (lz_loc){ 0 }, e);
}
