/* Records calls that need gradients: chooses the calls, and what the tape saves. */
#include "autograd/grad_table.h"
#include "autograd/tape.h"
#include "base/mem.h"
#include "core/dtype.h"
#include "core/strides.h"
#include "lazy/functional_call.h"
#include "lower/layout.h"
#include "lower/lower_table.h"
#include "op/functional_table.h"
#include <assert.h>

/* ---- arguments ---- */

static bool wants(const lz_tensor *t)
{
    return lz_tensor_is_tracked(t) && lz_grad_required(t);
}

static bool any_wants(const lz_value *v)
{
    if (v->kind == LZ_KIND_TENSOR)
        return wants(v->tensor);
    for (int64_t i = 0; v->kind == LZ_KIND_TENSORS && i < v->tensors.n; i++)
        if (wants(v->tensors.v[i]))
            return true;
    return false;
}

static uint64_t wanted_of(const lz_grad_row *row, const lz_value *in)
{
    uint64_t wanted = 0;
    for (uint64_t rest = row->args; rest; rest &= rest - 1) {
        int i = __builtin_ctzll(rest);
        wanted |= (uint64_t)any_wants(&in[i]) << i;
    }
    return wanted;
}

static bool any_argument(const lz_op_row *op, const lz_value *in)
{
    for (uint32_t i = 0; i < op->nargs; i++)
        if (any_wants(&in[i]))
            return true;
    return false;
}

/* ---- edges of a call ---- */

/* One edge for each tensor among the arguments. Most calls need no allocation. */
typedef struct edge_list {
    lz_tape_edge few[8], *v;
    size_t n;
    lz_loc at;
} edge_list;

static lz_err *make_list(edge_list *l, uint16_t op, const lz_value *in)
{
    size_t n = 0;
    for (int i = lz_grad_nargs(op); i-- > 0;)
        n += in[i].kind == LZ_KIND_TENSORS && in[i].tensors.n > 0 ? (size_t)in[i].tensors.n
                                                                  : in[i].kind == LZ_KIND_TENSOR;
    l->v = n <= sizeof l->few / sizeof *l->few ? l->few : lz_mem_alloc(n * sizeof *l->v);
    return l->v ? NULL : lz_err_oom();
}

static void drop_list(edge_list *l)
{
    lz_edges_release(l->v, l->n);
    if (l->v != l->few)
        lz_mem_free(l->v);
}

static lz_err *add_edge(edge_list *l, lz_tensor *t, bool wanted)
{
    l->v[l->n] = (lz_tape_edge){ NULL, 0 };
    if (wanted && wants(t))
        LZ_TRY(lz_edge_of(t, l->at, &l->v[l->n]));
    l->n++;
    return NULL;
}

static lz_err *find_edges(edge_list *l, uint16_t op, const lz_value *in, uint64_t wanted)
{
    int n = lz_grad_nargs(op);
    for (int i = 0; i < n; i++) {
        if (in[i].kind == LZ_KIND_TENSOR)
            LZ_TRY(add_edge(l, in[i].tensor, wanted >> i & 1));
        for (int64_t k = 0; in[i].kind == LZ_KIND_TENSORS && k < in[i].tensors.n; k++)
            LZ_TRY(add_edge(l, in[i].tensors.v[k], wanted >> i & 1));
    }
    return NULL;
}

/* Copies tensors, so that the node keeps the present values whatever is written later. */
static lz_err *freeze(lz_ctx *c, const lz_value *v, lz_value *out)
{
    lz_tensor **list;
    *out = *v;
    if (v->kind == LZ_KIND_TENSOR && v->tensor)
        return lz_tensor_snapshot(v->tensor, &out->tensor);
    if (v->kind != LZ_KIND_TENSORS || v->tensors.n < 0)
        return NULL;
    list = lz_ctx_scope_alloc(c, ((size_t)v->tensors.n + 1) * sizeof *list);
    if (!list)
        return lz_err_oom();
    for (int64_t i = 0; i < v->tensors.n; i++) {
        list[i] = NULL;
        if (v->tensors.v[i])
            LZ_TRY(lz_tensor_snapshot(v->tensors.v[i], &list[i]));
    }
    out->tensors.v = list;
    return NULL;
}

static lz_err *freeze_all(lz_ctx *c, const lz_value *v, int n, lz_value *out)
{
    for (int i = 0; i < n; i++)
        LZ_TRY(freeze(c, &v[i], &out[i]));
    return NULL;
}

static lz_err *make_node(lz_ctx *c, uint16_t op, lz_loc at, const lz_value *in, const lz_value *out,
                         uint64_t wanted, lz_tape_node **node)
{
    edge_list l;
    lz_tape *tape = lz_ctx_tape(c);
    lz_value frozen[LZ_ARGS_MAX], made[LZ_ARGS_MAX];
    l.n = 0;
    l.at = at;
    LZ_TRY(make_list(&l, op, in));
    lz_err *e = find_edges(&l, op, in, wanted);
    if (!e && tape->keeps_all) {
        e = freeze_all(c, in, lz_grad_nargs(op), frozen);
        if (!e)
            e = freeze_all(c, out, lz_op_table[op].nreturns, made);
        in = frozen;
        out = made;
    }
    if (!e) {
        e = lz_tape_node_of_call(tape, op, at, in, out, wanted, l.v, l.n, node);
        l.n = 0;
    }
    drop_list(&l);
    return e;
}

/* ---- operators that do not write ---- */

static bool is_argument(const lz_tensor *t, const lz_op_row *op, const lz_value *in)
{
    for (uint32_t i = 0; i < op->nargs; i++)
        if (in[i].kind == LZ_KIND_TENSOR && in[i].tensor == t)
            return true;
    return false;
}

static lz_err *set_result(lz_tensor *t, const lz_op_row *op, const lz_value *in, lz_tape_node *node,
                          uint32_t index)
{
    if (lz_tensor_is_inert(t) || !lz_dtype_is_float(lz_tensor_dtype(t)) || is_argument(t, op, in))
        return NULL;
    return lz_history_set(t, (lz_tape_edge){ lz_tape_node_retain(node), index });
}

static lz_err *set_results(const lz_op_row *op, const lz_value *in, const lz_value *out, uint64_t which,
                           lz_tape_node *node)
{
    uint32_t index = 0;
    for (uint32_t i = 0; i < op->nreturns; i++) {
        bool has = which >> i & 1;
        if (out[i].kind == LZ_KIND_TENSOR && has)
            LZ_TRY(set_result(out[i].tensor, op, in, node, index));
        for (int64_t k = 0; out[i].kind == LZ_KIND_TENSORS && has && k < out[i].tensors.n; k++)
            LZ_TRY(set_result(out[i].tensors.v[k], op, in, node, index + (uint32_t)k));
        index += out[i].kind == LZ_KIND_TENSORS ? (uint32_t)out[i].tensors.n : out[i].kind == LZ_KIND_TENSOR;
    }
    return NULL;
}

/* A call with an inert argument has inert results. */
static bool is_inert(const lz_op_row *op, const lz_value *out)
{
    return op->nreturns && out[0].kind == LZ_KIND_TENSOR && out[0].tensor
           && lz_tensor_is_inert(out[0].tensor);
}

static uint16_t number_of(const lz_op_row *op)
{
    return (uint16_t)(op - lz_op_table);
}

/* Tensors that were made in inference mode cannot be saved. */
static lz_err *check_kept(uint16_t op, const lz_value *in, uint64_t wanted)
{
    uint64_t whole = lz_grad_keeps(op, wanted).whole;
    for (int i = 0; i < lz_grad_nargs(op); i++)
        if (whole >> i & 1 && in[i].kind == LZ_KIND_TENSOR && in[i].tensor
            && lz_tensor_slot(in[i].tensor)->creation & LZ_CREATED_INFERENCE)
            return lz_errf(LZ_ERR_ARG, "Inference tensors cannot be saved for backward. To work around you "
                                       "can make a clone to get a normal tensor and use it in autograd.");
    return NULL;
}

/* Whether the result is a view of a part of the first argument, without repeated elements, and with an offset
 * that is a run-time number. */
static bool shows_moving_part(const lz_op_row *op, const lz_value *in, const lz_value *out)
{
    if (op->nreturns != 1 || out[0].kind != LZ_KIND_TENSOR || in[0].kind != LZ_KIND_TENSOR)
        return false;
    const lz_tensor *t = out[0].tensor, *of = in[0].tensor;
    return t != of && lz_is_alias_of(t, of) && lz_tensor_offset_is_number(t)
           && lz_tensor_numel(t) < lz_tensor_numel(of)
           && lz_strides_overlap(lz_tensor_sizes(t), lz_tensor_strides(t)) == LZ_OVERLAP_NO;
}

static lz_err *record_own(lz_ctx *c, const lz_op_row *op, lz_loc at, const lz_value *in, uint64_t wanted,
                          lz_value *out)
{
    lz_tape_node *node;
    LZ_TRY(check_kept(number_of(op), in, wanted));
    LZ_TRY(lz_record_below_tape(c, op, at, in, out));
    if (is_inert(op, out))
        return NULL;
    LZ_TRY(make_node(c, number_of(op), at, in, out, wanted, &node));
    node->moves = shows_moving_part(op, in, out);
    lz_err *e = set_results(op, in, out, lz_grad_table[number_of(op)].results, node);
    lz_tape_node_release(node);
    return e;
}

static lz_err *record_strided(lz_ctx *c, const lz_op_row *op, lz_loc at, const lz_value *in, lz_value *out)
{
    lz_tape_edge e;
    lz_tensor *t = in[0].tensor;
    LZ_TRY(lz_edge_of(t, at, &e));
    lz_err *err = lz_record_below_tape(c, op, at, in, out);
    if (err || is_inert(op, out)) {
        lz_tape_node_release(e.node);
        return err;
    }
    return lz_history_strided(t, lz_tensor_spec(t), lz_tensor_offset(t), e, out[0].tensor, at);
}

/* Records a view and a copy of the view. */
static lz_err *record_strided_copy(lz_ctx *c, const lz_op_row *op, lz_loc at, const lz_value *in,
                                   lz_value *out)
{
    lz_value looks[2] = { lz_value_none(), lz_value_memory_format(LZ_CONTIGUOUS) };
    const lz_value place[] = { in[0], in[1], in[2], op->nargs > 3 ? in[3] : looks[0] };
    LZ_TRY(record_strided(c, &lz_op_table[LZ_OP_as_strided], at, place, looks));
    return lz_record_try(c, &lz_op_table[LZ_OP_clone], at, looks, out);
}

/* Operators without a derivative of their own that return the same elements in the same order, as a view if
 * possible. */
static bool is_reshaper(const lz_op_row *op)
{
    const lz_layout_row *l = lz_layout_of(op);
    return op->flags & LZ_OPF_VIEW && lz_grad_table[number_of(op)].kind != LZ_GRAD_OWN
           && (l->strides == LZ_STRIDES_view || l->strides == LZ_STRIDES_flatten
               || l->memory & LZ_MEMORY_ROW_MAJOR);
}

static lz_err *record_reshape(lz_ctx *c, const lz_op_row *op, lz_loc at, const lz_value *in, lz_value *out)
{
    lz_tape_node *node;
    LZ_TRY(lz_record_below_tape(c, op, at, in, out));
    if (is_inert(op, out) || out[0].tensor == in[0].tensor)
        return NULL;
    const lz_value args[] = { in[0], lz_value_ints(lz_tensor_sizes(out[0].tensor)) };
    LZ_TRY(make_node(c, LZ_OP_view, at, args, out, 1, &node));
    lz_err *e = lz_history_set(out[0].tensor, (lz_tape_edge){ node, 0 });
    return e;
}

/* ---- operators that are recorded by their formulas ---- */

static lz_err *give_tensor(lz_recorder *r, const lz_op_row *op, const lz_low_value *v, lz_tensor **out)
{
    LZ_TRY(lz_recorder_tensor(r, v, out));
    bool several = op->flags & LZ_OPF_VIEW && op->returns[0].type->kind == LZ_KIND_TENSORS
                   && !(lz_layout_of(op)->memory & LZ_MEMORY_ONE_BY_ONE);
    if (*out && several)
        lz_tensor_slot(*out)->creation |= LZ_CREATED_SEVERAL;
    return NULL;
}

/* A recorder, and the scope of the formula's operators. */
typedef struct parts {
    lz_recorder *r;
    lz_scope *scope;
} parts;

static lz_err *give_list(const parts *p, const lz_op_row *op, const lz_low_value *v, lz_value *out)
{
    lz_tensor **list = lz_scope_alloc_outer(p->scope, (v->list.n + 1) * sizeof *list);
    if (!list)
        return lz_err_oom();
    for (size_t i = 0; i < v->list.n; i++)
        LZ_TRY(give_tensor(p->r, op, &v->list.items[i], &list[i]));
    *out = lz_value_tensors((lz_tensors){ list, (int64_t)v->list.n });
    return NULL;
}

static lz_err *give_results(const parts *p, const lz_op_row *op, const lz_low_value *results, lz_value *out)
{
    for (uint32_t i = 0; i < op->nreturns; i++) {
        if (op->returns[i].type->kind == LZ_KIND_TENSORS) {
            LZ_TRY(give_list(p, op, &results[i], &out[i]));
        } else if (op->returns[i].type->kind == LZ_KIND_TENSOR) {
            out[i] = lz_value_tensor(NULL);
            LZ_TRY(give_tensor(p->r, op, &results[i], &out[i].tensor));
        } else if (op->returns[i].type->kind == LZ_KIND_INT && results[i].kind == LZ_LOW_VALUE_NUMBER
                   && !results[i].node) {
            out[i] = lz_value_integer(results[i].number.i); /* of an operator that returns tensors, too */
        } else {
            return lz_errf(LZ_ERR_UNSUPPORTED, "%s: the result is a number, which cannot have a gradient",
                           op->name);
        }
    }
    return NULL;
}

static lz_err *take_apart(const parts *p, const lz_op_row *op, const lz_value *in, lz_value *out)
{
    const lz_lower_row *row = &lz_lower_table[number_of(op)];
    lz_low_value args[LZ_ARGS_MAX], results[LZ_ARGS_MAX] = { 0 };
    for (int i = 0; i < row->nargs; i++)
        LZ_TRY(lz_recorder_take(p->r, &in[row->from ? row->from[i] : i], &args[i]));
    LZ_TRY(row->fn(&p->r->b, args, results));
    return give_results(p, op, results, out);
}

/* ---- results leave the scope of the formula ---- */

static lz_err *pass_one(const lz_scope *s, lz_tensor *t, bool shared)
{
    if (lz_tensor_is_inert(t))
        return NULL;
    if (shared)
        return lz_scope_give(s, t);
    lz_scope_give_own(s, t);
    return NULL;
}

/* shared: a result that is an argument gets one more count, as from any operator that returns its
 * argument. */
static lz_err *pass_results(const lz_scope *s, const lz_op_row *op, const lz_value *out, bool shared)
{
    for (uint32_t i = 0; i < op->nreturns; i++) {
        if (out[i].kind == LZ_KIND_TENSOR)
            LZ_TRY(pass_one(s, out[i].tensor, shared));
        for (int64_t k = 0; out[i].kind == LZ_KIND_TENSORS && k < out[i].tensors.n; k++)
            LZ_TRY(pass_one(s, out[i].tensors.v[k], shared));
    }
    return NULL;
}

static bool belongs(const lz_ctx *c, const lz_tensor *t)
{
    return !lz_tensor_is_inert(t) && lz_tensor_ctx(t) == c;
}

/* Formulas cannot handle inert tensors or tensors of another context. */
static bool is_usable(const lz_ctx *c, const lz_value *v)
{
    if (v->kind == LZ_KIND_TENSOR)
        return !v->tensor || belongs(c, v->tensor);
    for (int64_t i = 0; v->kind == LZ_KIND_TENSORS && i < v->tensors.n; i++)
        if (v->tensors.v[i] && !belongs(c, v->tensors.v[i]))
            return false;
    return true;
}

static lz_err *record_parts(lz_ctx *c, const lz_op_row *op, lz_loc at, const lz_value *in, lz_value *out)
{
    lz_tape *tape = lz_ctx_tape(c);
    parts p;
    for (uint32_t i = 0; i < op->nargs; i++)
        if (!is_usable(c, &in[i]))
            return lz_record_below_tape(c, op, at, in, out);
    LZ_TRY(lz_tape_recorder(tape, at, &p.r));
    lz_err *e = lz_scope_begin(c, &p.scope);
    if (!e) {
        e = take_apart(&p, op, in, out);
        if (!e && !is_inert(op, out))
            e = lz_record_match_results(c, p.scope, op, at, in, out);
        if (!e)
            e = pass_results(p.scope, op, out, true);
        lz_scope_pop(p.scope);
    }
    lz_tape_recorder_done(tape, p.r);
    return e;
}

static lz_err *record_functional(lz_ctx *c, const lz_op_row *op, lz_loc at, const lz_value *in, lz_value *out,
                                 bool *done)
{
    const lz_grad_row *row = &lz_grad_table[number_of(op)];
    uint64_t wanted = row->kind == LZ_GRAD_NOT ? 0 : wanted_of(row, in);
    *done = wanted != 0;
    if (!wanted)
        return NULL;
    if (lz_layout_of(op)->memory & LZ_MEMORY_STORAGE)
        return op->flags & LZ_OPF_VIEW ? record_strided(c, op, at, in, out)
                                       : record_strided_copy(c, op, at, in, out);
    if (is_reshaper(op))
        return record_reshape(c, op, at, in, out);
    return row->kind == LZ_GRAD_OWN ? record_own(c, op, at, in, wanted, out)
                                    : record_parts(c, op, at, in, out);
}

/* ---- operators that write ---- */

/* A call that writes to its first argument. */
typedef struct rewriting {
    lz_ctx *c;
    const lz_op_row *op;
    lz_loc at;
    const lz_value *in;
    lz_functional_call call;
    lz_tensor *self;
} rewriting;

/* The value of a tensor before the write, with its history. */
static lz_err *old_value(const rewriting *w, lz_tensor *t, lz_tensor **out)
{
    lz_tape_edge e;
    LZ_TRY(lz_edge_of(t, w->at, &e));
    lz_err *err = lz_tensor_snapshot(t, out);
    if (err) {
        lz_tape_node_release(e.node);
        return err;
    }
    return e.node ? lz_history_set(*out, e) : NULL;
}

/* The node of the functional form: saves self before the write, and the result after it. */
static lz_err *node_of_write(rewriting *w, lz_tape_node **node)
{
    uint16_t functional = number_of(w->call.functional);
    uint64_t wanted = wanted_of(&lz_grad_table[functional], w->call.args);
    lz_grad_needs needs = lz_grad_keeps(functional, wanted);
    const lz_value result = lz_value_tensor(w->self);
    lz_value in[LZ_ARGS_MAX] = { 0 };
    for (uint32_t i = 0; i < w->call.functional->nargs; i++)
        in[i] = w->call.args[i];
    if (needs.whole & 1)
        LZ_TRY(old_value(w, w->self, &in[0].tensor));
    LZ_TRY(make_node(w->c, functional, w->at, in, &result, wanted, node));
    lz_saved *result_item = &(*node)->items[(*node)->nin];
    result_item->writes += result_item->storage && !lz_ctx_tape(w->c)->keeps_all;
    return NULL;
}

/* An operator without derivatives: the gradient of the old value is zero. */
static lz_err *node_of_cut(const rewriting *w, lz_tape_node **node)
{
    enum { ONE = sizeof(lz_tape_edge) + sizeof(lz_saved) + 32 };
    lz_tape_edge e;
    LZ_TRY(lz_edge_of(w->self, w->at, &e));
    lz_err *err = lz_tape_node_alloc(lz_ctx_tape(w->c), LZ_TAPE_NODE_CUT, ONE, node);
    if (err) {
        lz_tape_node_release(e.node);
        return err;
    }
    lz_tape_node *n = *node;
    n->op = number_of(w->op);
    n->at = w->at;
    n->nin = n->nout = 1;
    n->wanted = 1;
    n->cut = lz_tensor_spec(w->self);
    n->edges = (lz_tape_edge *)(void *)(n + 1);
    n->edges[0] = e;
    return NULL;
}

/* The result's value exists only after the write. */
static lz_err *keep_written(const rewriting *w, const lz_tape_node *node)
{
    lz_tensor *t;
    lz_saved *x = &node->items[node->nin];
    LZ_TRY(lz_tensor_snapshot(w->self, &t));
    lz_saved_drop(x);
    lz_saved_init(x, t, true);
    return NULL;
}

static lz_err *write_with_node(rewriting *w, bool cut, lz_value *out)
{
    lz_tape_node *node;
    LZ_TRY(cut ? node_of_cut(w, &node) : node_of_write(w, &node));
    lz_err *e = lz_record_below_tape(w->c, w->op, w->at, w->in, out);
    bool made = !e && !is_inert(w->op, out);
    if (made && lz_ctx_tape(w->c)->keeps_all && !cut)
        e = keep_written(w, node);
    if (e || !made) {
        lz_tape_node_release(node);
        return e;
    }
    return lz_history_write(w->self, (lz_tape_edge){ node, 0 }, w->at);
}

/* A list as it was before the write: item i of the first written list is its old value. */
static lz_err *old_list(const rewriting *w, lz_scope *s, lz_value *list)
{
    const lz_writes *writes = &w->call.writes;
    lz_tensor **v = lz_scope_alloc(s, ((size_t)list->tensors.n + 1) * sizeof *v);
    if (!v)
        return lz_err_oom();
    for (int64_t i = 0; i < list->tensors.n; i++) {
        v[i] = list->tensors.v[i];
        bool is_written = i < writes->n && writes->v[i].t == v[i];
        if (is_written)
            LZ_TRY(old_value(w, v[i], &v[i]));
    }
    list->tensors.v = v;
    return NULL;
}

/* The functional form sees written tensors as they were. */
static lz_err *replace_written(rewriting *w, lz_scope *s)
{
    lz_tensor *old = NULL;
    for (uint32_t i = 0; i < w->call.functional->nargs; i++) {
        lz_value *v = &w->call.args[i];
        if (v->kind == LZ_KIND_TENSORS)
            LZ_TRY(old_list(w, s, v));
        if (v->kind != LZ_KIND_TENSOR || v->tensor != w->self)
            continue;
        if (!old)
            LZ_TRY(old_value(w, w->self, &old));
        v->tensor = old;
    }
    return NULL;
}

/* Records the functional form on the old values, then writes its results. */
static lz_err *write_by_parts(rewriting *w, lz_scope *s, lz_value *out)
{
    lz_functional_call *k = &w->call;
    lz_value made[LZ_ARGS_MAX];
    LZ_TRY(replace_written(w, s));
    LZ_TRY(lz_record_try(w->c, k->functional, w->at, k->args, made));
    if (is_inert(k->functional, made)) {
        for (uint32_t i = 0; i < w->op->nreturns; i++)
            out[i] = lz_value_tensor(lz_ctx_inert(w->c));
        return NULL;
    }
    for (uint32_t i = 0; i < k->writes.n; i++) {
        lz_tensor *t = k->writes.v[i].t,
                  *v = lz_written_value(&k->writes.v[i], made, k->functional->nreturns);
        if (!v)
            return lz_errf(LZ_ERR_ARG, "the operator has no result for every written tensor");
        lz_tape_edge e = { NULL, 0 };
        LZ_TRY(lz_record_put(w->c, w->op, t, v));
        LZ_TRY(lz_edge_of(v, w->at, &e));
        if (e.node)
            LZ_TRY(lz_history_write(t, e, w->at));
    }
    for (uint32_t i = 0; i < w->op->nreturns; i++) {
        uint8_t arg = w->op->returns[i].argument;
        out[i] = arg != LZ_NO_ARGUMENT ? w->in[arg] : made[i];
    }
    return NULL;
}

/* Integers have no gradients: copy_ from a tensor that requires gradients is an ordinary write. */
static bool writes_floats(const lz_functional_call *k)
{
    bool found = false;
    for (uint32_t i = 0; !found && i < k->writes.n; i++)
        found = lz_dtype_is_float(lz_tensor_dtype(k->writes.v[i].t));
    return found;
}

static lz_err *rewrite(rewriting *w, lz_value *out, bool *done)
{
    const lz_grad_row *row = &lz_grad_table[number_of(w->call.functional)];
    w->self = w->call.writes.v[0].t;
    bool cut = row->kind == LZ_GRAD_NOT;
    if (cut && (w->call.writes.v[0].of || !wants(w->self)))
        return NULL;
    for (uint32_t i = 0; i < w->call.writes.n; i++)
        LZ_TRY(lz_history_check(w->call.writes.v[i].t));
    *done = true;
    bool by_items;
    LZ_TRY(lz_record_is_by_items(w->op, w->in, &w->call.writes, &by_items));
    if (by_items)
        return lz_record_by_items(w->c, w->op, w->at, w->in, w->call.writes.v[0].of);
    const lz_value *first = &w->call.args[0];
    bool whole = w->op->kind == LZ_SCHEMA_INPLACE && w->call.writes.n == 1 && first->kind == LZ_KIND_TENSOR
                 && first->tensor == w->self && (cut || row->kind == LZ_GRAD_OWN);
    lz_scope *s;
    LZ_TRY(lz_scope_begin(w->c, &s));
    lz_err *e = whole ? write_with_node(w, cut, out) : write_by_parts(w, s, out);
    if (!e)
        e = pass_results(s, w->op, out, false);
    lz_scope_pop(s);
    return e;
}

static lz_err *record_write(lz_ctx *c, const lz_op_row *op, lz_loc at, const lz_value *in, lz_value *out,
                            bool *done)
{
    rewriting w = { .c = c, .op = op, .at = at, .in = in };
    bool ok = true;
    lz_err *e = lz_record_functional(c, op, in, &w.call, &ok);
    if (!e && ok && w.call.writes.n && writes_floats(&w.call))
        e = rewrite(&w, out, done);
    lz_functional_call_deinit(&w.call);
    return e;
}

static lz_err *record_look(lz_ctx *c, const lz_op_row *op, lz_loc at, const lz_value *in, lz_value *out)
{
    lz_tensor *t = in[0].tensor;
    const lz_spec *spec = lz_tensor_spec(t);
    int64_t offset = lz_tensor_offset(t);
    lz_tape_edge e;
    LZ_TRY(lz_history_check(t));
    LZ_TRY(lz_edge_of(t, at, &e));
    lz_err *err = lz_record_below_tape(c, op, at, in, out);
    if (err || is_inert(op, out)) {
        lz_tape_node_release(e.node);
        return err;
    }
    return lz_history_strided(t, spec, offset, e, t, at);
}

static lz_err *record_detach(lz_ctx *c, const lz_op_row *op, lz_loc at, const lz_value *in, lz_value *out)
{
    LZ_TRY(lz_record_below_tape(c, op, at, in, out));
    lz_grad_meta *m = is_inert(op, out) ? NULL : lz_meta_at(in[0].tensor);
    if (m) {
        lz_meta_set_fn(m, (lz_tape_edge){ NULL, 0 });
        m->requires = false;
    }
    return NULL;
}

static lz_err *check_written(const lz_op_row *op, const lz_value *in)
{
    for (uint32_t i = 0; i < op->nargs; i++)
        if (op->args[i].write && in[i].kind == LZ_KIND_TENSOR && in[i].tensor
            && lz_tensor_slot(in[i].tensor)->creation & LZ_CREATED_INFERENCE)
            return lz_errf(LZ_ERR_ARG, "Inplace update to inference tensor outside InferenceMode is not "
                                       "allowed. You can make a clone to get a normal tensor before.");
    return NULL;
}

/* Whether the functional form of a writing operator has derivatives. */
static bool is_differentiable(const lz_op_row *op)
{
    uint16_t functional = lz_functional_table[number_of(op)].functional;
    return functional && lz_grad_table[functional].kind != LZ_GRAD_NOT;
}

lz_err *lz_tape_record(lz_ctx *c, const lz_op_row *op, lz_loc at, const lz_value *in, lz_value *out,
                       bool *done)
{
    lz_grad_mode mode = lz_get_grad_mode(c);
    if (op->kind != LZ_SCHEMA_FUNCTIONAL && mode != LZ_GRAD_INFERENCE)
        LZ_TRY(check_written(op, in));
    bool detaches = op->kind == LZ_SCHEMA_INPLACE && lz_layout_of(op)->memory & LZ_MEMORY_DETACHES;
    if (op->kind == LZ_SCHEMA_INPLACE && lz_layout_of(op)->memory & LZ_MEMORY_RESIZES)
        return any_wants(&in[0]) ? lz_errf(LZ_ERR_ARG, "cannot resize variables that require grad") : NULL;
    if (detaches && any_argument(op, in)) { /* also with gradients off */
        *done = true;
        return record_detach(c, op, at, in, out);
    }
    if (mode != LZ_GRAD_ON)
        return NULL;
    if (op->kind == LZ_SCHEMA_FUNCTIONAL)
        return record_functional(c, op, at, in, out, done);
    if (!any_argument(op, in))
        return NULL;
    /* a generated out form is recorded as its functional form and a copy, which both have derivatives */
    bool copies = op->flags & LZ_OPF_GENERATED && is_differentiable(op);
    if (op->kind == LZ_SCHEMA_OUT && !is_differentiable(op))
        return NULL;
    if (op->kind == LZ_SCHEMA_OUT && !copies)
        return lz_errf(LZ_ERR_ARG, "functions with out=... arguments don't support automatic "
                                   "differentiation, but one of the arguments requires grad.");
    if (!(op->flags & LZ_OPF_INPLACE_VIEW))
        return record_write(c, op, at, in, out, done);
    *done = true;
    return record_look(c, op, at, in, out);
}
