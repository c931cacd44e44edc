#include "autograd/engine.h"
#include "autograd/hooks.h"
#include "base/mem.h"
#include "op/op_table.h"
#include <assert.h>
#include <stdlib.h>

/* The gradients that have arrived at a node. */
typedef struct lz_tape_pending {
    struct lz_tape_pending *outer; /* of an outer pass, if a hook or function started this one */
    struct run *run;
    lz_tape_node *node; /* one count */
    lz_capture *captures;
    bool queued;
    lz_tensor *grads[]; /* [node->nout], one count each */
} pending;

typedef struct run {
    lz_ctx *ctx;
    const lz_backward_run *g;
    LZ_VEC(pending *) all, queue; /* the queue is a heap: latest node first */
    bool pruned;                  /* gradients go only to nodes in `all` */
} run;

/* ---- the heap ---- */

static bool later(const pending *a, const pending *b)
{
    return a->node->seq > b->node->seq;
}

static lz_err *enqueue(run *r, pending *p)
{
    size_t i = r->queue.len;
    LZ_TRY(lz_vec_push(&r->queue, p));
    p->queued = true;
    for (; i > 0 && later(p, r->queue.data[(i - 1) / 2]); i = (i - 1) / 2)
        r->queue.data[i] = r->queue.data[(i - 1) / 2];
    r->queue.data[i] = p;
    return NULL;
}

static pending *dequeue(run *r)
{
    assert(r->queue.len > 0);
    pending *first = r->queue.data[0], *last = r->queue.data[--r->queue.len];
    size_t n = r->queue.len, i = 0;
    for (size_t k = 1; k < n; k = 2 * i + 1) {
        if (k + 1 < n && later(r->queue.data[k + 1], r->queue.data[k]))
            k++;
        if (!later(r->queue.data[k], last))
            break;
        r->queue.data[i] = r->queue.data[k];
        i = k;
    }
    r->queue.data[i] = last;
    return first;
}

/* ---- nodes with gradients ---- */

static pending *find_pending(const run *r, const lz_tape_node *n)
{
    return n->pending && n->pending->run == r ? n->pending : NULL;
}

static lz_err *make_pending(run *r, lz_tape_node *n, pending **out)
{
    LZ_TRY(lz_vec_reserve(&r->all, 1));
    pending *p = lz_mem_zalloc(1, sizeof *p + n->nout * sizeof *p->grads);
    if (!p)
        return lz_err_oom();
    p->run = r;
    p->node = lz_tape_node_retain(n);
    p->outer = n->pending;
    n->pending = p;
    *out = p;
    return lz_vec_push(&r->all, p);
}

static void empty(pending *p)
{
    for (uint32_t i = 0; i < p->node->nout; i++) {
        lz_release(p->grads[i]);
        p->grads[i] = NULL;
    }
}

static void finish(run *r)
{
    for (size_t i = 0; i < r->all.len; i++) {
        pending *p = r->all.data[i];
        empty(p);
        assert(p->node->pending == p && p->run == r); /* inner passes have ended */
        p->node->pending = p->outer;
        lz_tape_node_release(p->node);
        lz_mem_free(p);
    }
    lz_vec_deinit(&r->all);
    lz_vec_deinit(&r->queue);
}

static lz_err *sum(lz_ctx *c, lz_loc at, lz_tensor *a, lz_tensor *b, lz_tensor **out)
{
    const lz_value in[] = { lz_value_tensor(a), lz_value_tensor(b), lz_value_scalar(lz_scalar_int(1)) };
    return lz_record_one(c, &lz_op_table[LZ_OP_add_Tensor], at, in, out);
}

static lz_err *add_to(run *r, lz_tape_edge e, lz_tensor *grad, lz_loc at)
{
    pending *p = find_pending(r, e.node);
    if (!p && r->pruned)
        return NULL;
    if (!p)
        LZ_TRY(make_pending(r, e.node, &p));
    lz_tensor **to = &p->grads[e.index], *total = grad;
    if (*to)
        LZ_TRY(sum(r->ctx, at, *to, grad, &total));
    lz_retain(total);
    lz_release(*to);
    *to = total;
    return p->queued ? NULL : enqueue(r, p);
}

/* ---- leaves ---- */

lz_err *lz_engine_accumulate(lz_grad_meta *m, lz_tensor *grad, bool create, lz_loc at)
{
    lz_tensor *total = grad;
    if (m->grad)
        LZ_TRY(sum(m->ctx, at, m->grad, grad, &total));
    else if (!create)
        LZ_TRY(lz_tensor_snapshot(grad, &total)); /* a leaf's gradient has a storage of its own */
    lz_retain(total);
    lz_release(m->grad);
    m->grad = total;
    return NULL;
}

static lz_err *accumulate(const run *r, const pending *p)
{
    if (r->g->ncaptures || !p->node->meta->requires) /* detach_: older results still have edges to the leaf */
        return NULL;
    LZ_TRY(lz_engine_accumulate(p->node->meta, p->grads[0], r->g->create, r->g->at));
    return lz_hooks_accumulated(r->ctx, p->node->meta);
}

/* ---- nodes ---- */

/* The arguments, as bits, whose gradients are computed: those with an edge to a node that needs one. */
static uint64_t wanted_now(const run *r, const lz_tape_node *n)
{
    uint64_t wanted = 0;
    uint32_t edge = 0;
    for (uint32_t i = 0; n->values && i < n->nargs; i++) {
        const lz_value *v = &n->values[i];
        int64_t k = v->kind == LZ_KIND_TENSORS ? v->tensors.n : v->kind == LZ_KIND_TENSOR;
        for (; k > 0; k--, edge++) {
            const lz_tape_node *to = n->edges[edge].node;
            wanted |= (uint64_t)(to && (!r->pruned || find_pending(r, to))) << i;
        }
    }
    for (; edge < n->nin; edge++) { /* a function has no values: its inputs */
        const lz_tape_node *to = n->edges[edge].node;
        wanted |= (uint64_t)(to && (!r->pruned || find_pending(r, to))) << edge;
    }
    return wanted & n->wanted;
}

static lz_err *send(run *r, const pending *p)
{
    lz_tape_node *n = p->node;
    uint64_t wanted = wanted_now(r, n);
    lz_tensor **out;
    if (!wanted)
        return NULL;
    out = lz_ctx_scope_alloc(r->ctx, n->nin * sizeof *out);
    if (!out)
        return lz_err_oom();
    LZ_TRY(lz_engine_node(r->ctx, n, p->grads, wanted, r->g->create, out));
    for (uint32_t i = 0; i < n->nin; i++)
        if (out[i] && n->edges[i].node)
            LZ_TRY(add_to(r, n->edges[i], out[i], lz_engine_place(n)));
    return NULL;
}

static void capture(const pending *p)
{
    for (lz_capture *x = p->captures; x; x = x->next) {
        assert(x->edge.node == p->node && x->edge.index < p->node->nout);
        x->grad = lz_retain(p->grads[x->edge.index]);
    }
}

static lz_err *step(run *r, pending *p)
{
    lz_tape_node *n = p->node;
    LZ_TRY(lz_hooks_call(r->ctx, n, p->grads, r->g->create, r->g->at));
    capture(p);
    LZ_TRY(n->kind == LZ_TAPE_NODE_LEAF ? accumulate(r, p) : send(r, p));
    if (!r->g->retain && !r->g->create)
        lz_tape_node_free_saved_values(n);
    empty(p);
    return NULL;
}

static lz_err *step_in_scope(run *r, pending *p)
{
    lz_scope *s;
    LZ_TRY(lz_scope_begin(r->ctx, &s));
    lz_err *e = step(r, p);
    lz_scope_pop(s);
    return e;
}

/* ---- pruning: only nodes that lead to captures ---- */

static int by_seq(const void *a, const void *b)
{
    const lz_tape_node *x = *(lz_tape_node *const *)a, *y = *(lz_tape_node *const *)b;
    return x->seq < y->seq ? -1 : x->seq > y->seq;
}

lz_err *lz_engine_reach(lz_ctx *c, const lz_tape_edge *roots, size_t n, lz_tape_nodes *out)
{
    lz_tape_nodes stack = { 0 };
    uint64_t mark = ++lz_ctx_tape(c)->mark;
    lz_err *e = NULL;
    for (size_t i = 0; !e && i < n; i++)
        if (roots[i].node)
            e = lz_vec_push(&stack, roots[i].node);
    while (!e && stack.len) {
        lz_tape_node *x = stack.data[--stack.len];
        if (x->mark == mark)
            continue;
        x->mark = mark;
        e = lz_vec_push(out, x);
        for (uint32_t i = 0; !e && x->edges && i < x->nin; i++)
            if (x->edges[i].node)
                e = lz_vec_push(&stack, x->edges[i].node);
    }
    lz_vec_deinit(&stack);
    if (!e && out->len)
        qsort(out->data, out->len, sizeof(lz_tape_node *), by_seq);
    return e;
}

static lz_err *wait_at_captures(run *r)
{
    for (size_t i = 0; i < r->g->ncaptures; i++) {
        lz_capture *x = &r->g->captures[i];
        pending *p = find_pending(r, x->edge.node);
        if (!p)
            LZ_TRY(make_pending(r, x->edge.node, &p));
        x->next = p->captures;
        p->captures = x;
    }
    return NULL;
}

static lz_err *prune(run *r)
{
    lz_tape_nodes nodes = { 0 };
    pending *p;
    LZ_TRY(wait_at_captures(r));
    lz_err *e = lz_engine_reach(r->ctx, r->g->roots, r->g->nroots, &nodes);
    for (size_t i = 0; !e && i < nodes.len; i++) {
        lz_tape_node *n = nodes.data[i];
        bool needed = false;
        for (uint32_t k = 0; !needed && n->edges && k < n->nin; k++)
            needed = n->edges[k].node && find_pending(r, n->edges[k].node);
        if (needed && !find_pending(r, n))
            e = make_pending(r, n, &p);
    }
    lz_vec_deinit(&nodes);
    r->pruned = true;
    return e;
}

/* ---- the whole pass ---- */

static lz_err *run_all(run *r)
{
    lz_err *e = r->g->ncaptures ? prune(r) : NULL;
    for (size_t i = 0; !e && i < r->g->nroots; i++)
        e = add_to(r, r->g->roots[i], r->g->grads[i], r->g->at);
    while (!e && r->queue.len)
        e = step_in_scope(r, dequeue(r));
    return e;
}

lz_err *lz_engine_run(lz_ctx *c, const lz_backward_run *g)
{
    run r = { .ctx = c, .g = g };
    lz_grad_mode mode = lz_set_grad_mode(c, g->create ? LZ_GRAD_ON : LZ_GRAD_OFF);
    lz_err *e = run_all(&r);
    finish(&r);
    lz_set_grad_mode(c, mode);
    return e;
}
