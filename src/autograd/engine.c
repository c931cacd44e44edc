#include "autograd/engine.h"
#include "autograd/unpack.h"
#include "base/mem.h"
#include <stdlib.h>

/* Gradients that wait at a node. */
typedef struct lz_gpending {
    struct lz_gpending *outer; /* of a way back that this one is inside of */
    struct run *run;
    lz_gnode *node; /* one count */
    bool queued;
    lz_tensor *grads[]; /* [node->nout], one count each */
} pending;

typedef struct run {
    lz_ctx *ctx;
    const lz_going *g;
    LZ_VEC(pending *) all, queue; /* the queue is a heap: latest node first */
    bool pruned;                  /* only nodes in `all` matter */
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

/* ---- what waits ---- */

static pending *find_pending(const run *r, const lz_gnode *n)
{
    return n->pending && n->pending->run == r ? n->pending : NULL;
}

static lz_err *make_pending(run *r, lz_gnode *n, pending **out)
{
    LZ_TRY(lz_vec_reserve(&r->all, 1));
    pending *p = lz_mem_zalloc(1, sizeof *p + n->nout * sizeof *p->grads);
    if (!p)
        return lz_err_oom();
    p->run = r;
    p->node = lz_gnode_retain(n);
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
        p->node->pending = p->outer;
        lz_gnode_release(p->node);
        lz_mem_free(p);
    }
    lz_vec_deinit(&r->all);
    lz_vec_deinit(&r->queue);
}

static lz_err *sum(lz_ctx *c, lz_loc at, lz_tensor *a, lz_tensor *b, lz_tensor **out)
{
    const lz_value in[] = { lz_value_tensor(a), lz_value_tensor(b), lz_value_scalar(lz_scalar_int(1)) };
    lz_value made;
    lz_record(c, &lz_op_table[LZ_OP_add_Tensor], at, in, &made);
    *out = made.tensor;
    return made.tensor->alias ? NULL : lz_errf(lz_code_of(c), "%s", lz_message(c));
}

static lz_err *add_to(run *r, lz_gedge e, lz_tensor *grad, lz_loc at)
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

/* ---- nodes ---- */

static lz_err *grad_value(lz_recorder *rec, const pending *p, const lz_value *v, uint32_t *item, lz_lv *out)
{
    lz_lv *list;
    *out = lz_lv_none();
    if (v->kind == LZ_KIND_TENSOR)
        return lz_recorder_add(rec, p->grads[(*item)++], out);
    if (v->kind != LZ_KIND_TENSORS)
        return NULL;
    LZ_TRY(lz_low_list_new(&rec->b, (size_t)v->tensors.n, &list));
    for (int64_t i = 0; i < v->tensors.n; i++)
        LZ_TRY(lz_recorder_add(rec, p->grads[(*item)++], &list[i]));
    *out = lz_lv_list(list, (size_t)v->tensors.n);
    return NULL;
}

static lz_err *send(run *r, lz_recorder *rec, const lz_gnode *n, uint32_t edge, const lz_lv *v)
{
    lz_tensor *t;
    if (!n->edges[edge].node || v->kind != LZ_LV_TENSOR)
        return NULL;
    LZ_TRY(lz_recorder_tensor(rec, v, &t));
    return add_to(r, n->edges[edge], t, n->at);
}

static lz_err *send_all(run *r, lz_recorder *rec, const lz_gnode *n, const lz_lv *out)
{
    uint32_t edge = 0;
    for (uint32_t i = 0; i < n->nargs; i++) {
        const lz_value *v = &n->values[i];
        if (v->kind == LZ_KIND_TENSOR)
            LZ_TRY(send(r, rec, n, edge++, &out[i]));
        for (int64_t k = 0; v->kind == LZ_KIND_TENSORS && k < v->tensors.n; k++, edge++)
            if (out[i].kind == LZ_LV_LIST)
                LZ_TRY(send(r, rec, n, edge, &out[i].list.items[k]));
    }
    return NULL;
}

/* Of these only gradients that somebody waits for are computed. */
static uint64_t wanted_now(const run *r, const lz_gnode *n)
{
    uint64_t wanted = 0;
    uint32_t edge = 0;
    for (uint32_t i = 0; i < n->nargs; i++) {
        const lz_value *v = &n->values[i];
        int64_t k = v->kind == LZ_KIND_TENSORS ? v->tensors.n : v->kind == LZ_KIND_TENSOR;
        for (; k > 0; k--, edge++) {
            const lz_gnode *to = n->edges[edge].node;
            if (to && (!r->pruned || find_pending(r, to)))
                wanted |= UINT64_C(1) << i;
        }
    }
    return wanted & n->wanted;
}

static lz_err *differentiate(run *r, lz_recorder *rec, pending *p)
{
    lz_gnode *n = p->node;
    lz_lv args[LZ_ARGS_MAX], results[LZ_ARGS_MAX], grads[LZ_ARGS_MAX], out[LZ_ARGS_MAX];
    uint64_t wanted = wanted_now(r, n);
    uint32_t item = 0;
    if (!wanted)
        return NULL;
    LZ_TRY(lz_unpack_call(rec, n, r->g->create, args, results));
    for (uint32_t i = 0; i < n->nresults; i++)
        LZ_TRY(grad_value(rec, p, &n->values[n->nargs + i], &item, &grads[i]));
    LZ_TRY(lz_grad_call(rec, n->op, args, results, grads, wanted, out));
    return send_all(r, rec, n, out);
}

static lz_err *zeros(lz_ctx *c, lz_loc at, const lz_spec *s, lz_tensor **out)
{
    const lz_value in[] = { lz_value_ints(lz_spec_sizes(s)), lz_value_dtype((lz_dtype)s->dtype),
                            lz_value_layout(LZ_LAYOUT_NONE), lz_value_device((lz_device){ -1, -1 }),
                            lz_value_none() };
    lz_value made;
    lz_record(c, &lz_op_table[LZ_OP_zeros], at, in, &made);
    *out = made.tensor;
    return made.tensor->alias ? NULL : lz_errf(lz_code_of(c), "%s", lz_message(c));
}

static lz_err *go_by_formula(run *r, pending *p)
{
    lz_recorder rec;
    lz_recorder_init(&rec, r->ctx, p->node->at);
    lz_err *e = differentiate(r, &rec, p);
    lz_recorder_deinit(&rec);
    return e;
}

static lz_err *go_to_leaf(run *r, pending *p)
{
    return r->g->ncaptures ? NULL : lz_engine_leave(p->node->meta, p->grads[0], r->g->create, r->g->at);
}

static lz_err *go_nowhere(run *r, pending *p)
{
    lz_tensor *z;
    LZ_TRY(zeros(r->ctx, p->node->at, p->node->cut, &z));
    return p->node->edges[0].node ? add_to(r, p->node->edges[0], z, p->node->at) : NULL;
}

typedef lz_err *go_fn(run *r, pending *p);
static go_fn *const go[LZ_GNODE_KINDS] = {
    [LZ_GNODE_OP] = go_by_formula,
    [LZ_GNODE_LEAF] = go_to_leaf,
    [LZ_GNODE_CUT] = go_nowhere,
};

static lz_err *spent(const lz_gnode *n)
{
    return lz_errf(LZ_ERR_ARG,
                   "Trying to backward through the graph a second time: what %s at %s:%d had kept is gone. "
                   "Specify retain_graph for the first time, if that is needed.",
                   lz_op_table[n->op].name, n->at.file ? n->at.file : "?", (int)n->at.line);
}

static void capture(const run *r, const pending *p)
{
    for (size_t i = 0; i < r->g->ncaptures; i++) {
        lz_capture *x = &r->g->captures[i];
        if (x->edge.node == p->node && !x->grad)
            x->grad = lz_retain(p->grads[x->edge.index]);
    }
}

static lz_err *step(run *r, pending *p)
{
    lz_gnode *n = p->node;
    capture(r, p);
    if (n->spent)
        return spent(n);
    LZ_TRY(go[n->kind](r, p));
    if (!r->g->retain && !r->g->create)
        lz_gnode_spend(n);
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

/* ---- leaves ---- */

lz_err *lz_engine_leave(lz_grad_meta *m, lz_tensor *grad, bool create, lz_loc at)
{
    lz_tensor *total = grad;
    if (m->grad)
        LZ_TRY(sum(m->ctx, at, m->grad, grad, &total));
    else if (!create)
        LZ_TRY(lz_snapshot(grad, &total)); /* nobody else shares its storage */
    lz_retain(total);
    lz_release(m->grad);
    m->grad = total;
    return NULL;
}

/* ---- only what leads to the captures ---- */

static int by_seq(const void *a, const void *b)
{
    const lz_gnode *x = *(lz_gnode *const *)a, *y = *(lz_gnode *const *)b;
    return x->seq < y->seq ? -1 : x->seq > y->seq;
}

typedef LZ_VEC(lz_gnode *) node_list;

/* All nodes behind the roots, the first recorded first. */
static lz_err *reach(run *r, node_list *out)
{
    LZ_VEC(lz_gnode *) stack = { 0 };
    uint64_t mark = ++r->ctx->tape->mark;
    lz_err *e = NULL;
    for (size_t i = 0; !e && i < r->g->nroots; i++)
        e = lz_vec_push(&stack, r->g->roots[i].node);
    while (!e && stack.len) {
        lz_gnode *n = stack.data[--stack.len];
        if (n->mark == mark)
            continue;
        n->mark = mark;
        e = lz_vec_push(out, n);
        for (uint32_t i = 0; !e && n->edges && i < n->nin; i++)
            if (n->edges[i].node)
                e = lz_vec_push(&stack, n->edges[i].node);
    }
    lz_vec_deinit(&stack);
    if (!e && out->len)
        qsort(out->data, out->len, sizeof *out->data, by_seq);
    return e;
}

static bool is_captured(const run *r, const lz_gnode *n)
{
    for (size_t i = 0; i < r->g->ncaptures; i++)
        if (r->g->captures[i].edge.node == n)
            return true;
    return false;
}

static lz_err *prune(run *r)
{
    node_list nodes = { 0 };
    pending *p;
    lz_err *e = reach(r, &nodes);
    for (size_t i = 0; !e && i < nodes.len; i++) {
        lz_gnode *n = nodes.data[i];
        bool needed = is_captured(r, n);
        for (uint32_t k = 0; !needed && n->edges && k < n->nin; k++)
            needed = n->edges[k].node && find_pending(r, n->edges[k].node);
        if (needed)
            e = make_pending(r, n, &p);
    }
    lz_vec_deinit(&nodes);
    r->pruned = true;
    return e;
}

/* ---- all of it ---- */

static lz_err *run_all(run *r)
{
    lz_err *e = r->g->ncaptures ? prune(r) : NULL;
    for (size_t i = 0; !e && i < r->g->nroots; i++)
        e = add_to(r, r->g->roots[i], r->g->grads[i], r->g->at);
    while (!e && r->queue.len)
        e = step_in_scope(r, dequeue(r));
    return e;
}

lz_err *lz_engine_run(lz_ctx *c, const lz_going *g)
{
    run r = { .ctx = c, .g = g };
    uint8_t mode = c->grad_mode;
    c->grad_mode = g->create ? LZ_GRAD_ON : LZ_GRAD_OFF;
    lz_err *e = run_all(&r);
    finish(&r);
    c->grad_mode = mode;
    return e;
}
