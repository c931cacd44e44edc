/* Recording with gradients: which calls go on the tape, and what the tape saves. */
#include "autograd/grad_table.h"
#include "autograd/tape.h"
#include "base/mem.h"
#include "core/dtype.h"
#include "lazy/functional_table.h"
#include "lazy/layout.h"
#include "lazy/record_impl.h"
#include "lower/lower_table.h"
#include <assert.h>

/* ---- arguments ---- */

static bool wants(const lz_tensor *t)
{
    return t && t->alias && (t->meta || t->alias->bases) && lz_grad_required(t);
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

/* One for each tensor among the arguments; few calls have more than fit. */
typedef struct edge_list {
    lz_gedge few[8], *v;
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
    l->v[l->n] = (lz_gedge){ NULL, 0 };
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

/* Values as they are now, whatever is written later. */
static lz_err *freeze(lz_ctx *c, const lz_value *v, lz_value *out)
{
    lz_tensor **list;
    *out = *v;
    if (v->kind == LZ_KIND_TENSOR && v->tensor)
        return lz_snapshot(v->tensor, &out->tensor);
    if (v->kind != LZ_KIND_TENSORS || v->tensors.n < 0)
        return NULL;
    list = lz_scope_alloc(c->scope, ((size_t)v->tensors.n + 1) * sizeof *list);
    if (!list)
        return lz_err_oom();
    for (int64_t i = 0; i < v->tensors.n; i++) {
        list[i] = NULL;
        if (v->tensors.v[i])
            LZ_TRY(lz_snapshot(v->tensors.v[i], &list[i]));
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
                         uint64_t wanted, lz_gnode **node)
{
    edge_list l;
    lz_value frozen[LZ_ARGS_MAX], made[LZ_ARGS_MAX];
    l.n = 0;
    l.at = at;
    LZ_TRY(make_list(&l, op, in));
    lz_err *e = find_edges(&l, op, in, wanted);
    if (!e && c->tape->keeps_all) {
        e = freeze_all(c, in, lz_grad_nargs(op), frozen);
        if (!e)
            e = freeze_all(c, out, lz_op_table[op].nreturns, made);
        in = frozen;
        out = made;
    }
    if (!e) {
        e = lz_gnode_of_call(c->tape, op, at, in, out, wanted, l.v, l.n, node);
        l.n = 0;
    }
    drop_list(&l);
    return e;
}

/* ---- operators that write nothing ---- */

static void record_hidden(lz_ctx *c, const lz_op_row *op, lz_loc at, const lz_value *in, lz_value *out)
{
    bool was = c->tape_is_hidden;
    c->tape_is_hidden = true;
    lz_record(c, op, at, in, out);
    c->tape_is_hidden = was;
}

static bool is_argument(const lz_tensor *t, const lz_op_row *op, const lz_value *in)
{
    for (uint32_t i = 0; i < op->nargs; i++)
        if (in[i].kind == LZ_KIND_TENSOR && in[i].tensor == t)
            return true;
    return false;
}

static lz_err *set_result(lz_tensor *t, const lz_op_row *op, const lz_value *in, lz_gnode *node,
                          uint32_t index)
{
    if (!t || !t->alias || !lz_dtype_is_float((lz_dtype)t->spec->dtype) || is_argument(t, op, in))
        return NULL;
    return lz_history_set(t, (lz_gedge){ lz_gnode_retain(node), index });
}

static lz_err *set_results(const lz_op_row *op, const lz_value *in, const lz_value *out, uint64_t which,
                           lz_gnode *node)
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

/* A call that failed gave nothing. */
static bool is_inert(const lz_op_row *op, const lz_value *out)
{
    return op->nreturns && out[0].kind == LZ_KIND_TENSOR && out[0].tensor && !out[0].tensor->alias;
}

static uint16_t number_of(const lz_op_row *op)
{
    return (uint16_t)(op - lz_op_table);
}

/* What is made in inference mode can never be part of a tape. */
static lz_err *check_kept(uint16_t op, const lz_value *in, uint64_t wanted)
{
    uint64_t whole = lz_grad_keeps(op, wanted).whole;
    for (int i = 0; i < lz_grad_nargs(op); i++)
        if (whole >> i & 1 && in[i].kind == LZ_KIND_TENSOR && in[i].tensor
            && in[i].tensor->made & LZ_MADE_INFERENCE)
            return lz_errf(LZ_ERR_ARG, "Inference tensors cannot be saved for backward. To work around you "
                                       "can make a clone to get a normal tensor and use it in autograd.");
    return NULL;
}

/* The result shows a part of what the first argument shows, each element once, and its offset is a
 * run-time number of the graph. */
static bool shows_moving_part(const lz_op_row *op, const lz_value *in, const lz_value *out)
{
    if (op->nreturns != 1 || out[0].kind != LZ_KIND_TENSOR || in[0].kind != LZ_KIND_TENSOR)
        return false;
    const lz_tensor *t = out[0].tensor, *of = in[0].tensor;
    return t != of && t->alias == of->alias && lz_alias_moves(t->alias) && t->spec->numel < of->spec->numel
           && lz_strides_overlap(lz_spec_sizes(t->spec), lz_spec_strides(t->spec)) == LZ_OVERLAP_NO;
}

static lz_err *record_own(lz_ctx *c, const lz_op_row *op, lz_loc at, const lz_value *in, uint64_t wanted,
                          lz_value *out)
{
    lz_gnode *node;
    LZ_TRY(check_kept(number_of(op), in, wanted));
    record_hidden(c, op, at, in, out);
    if (is_inert(op, out))
        return NULL;
    LZ_TRY(make_node(c, number_of(op), at, in, out, wanted, &node));
    node->moves = shows_moving_part(op, in, out);
    lz_err *e = set_results(op, in, out, lz_grad_table[number_of(op)].results, node);
    lz_gnode_release(node);
    return e;
}

static lz_err *record_strided(lz_ctx *c, const lz_op_row *op, lz_loc at, const lz_value *in, lz_value *out)
{
    lz_gedge e;
    lz_tensor *t = in[0].tensor;
    LZ_TRY(lz_edge_of(t, at, &e));
    record_hidden(c, op, at, in, out);
    if (is_inert(op, out)) {
        lz_gnode_release(e.node);
        return NULL;
    }
    return lz_history_strided(t, t->spec, t->offset, e, out[0].tensor, at);
}

/* A view, and a copy of it. */
static lz_err *record_strided_copy(lz_ctx *c, lz_loc at, const lz_value *in, lz_value *out)
{
    lz_value looks[2] = { lz_value_none(), lz_value_memory_format(LZ_CONTIGUOUS) };
    LZ_TRY(record_strided(c, &lz_op_table[LZ_OP_as_strided], at, in, looks));
    lz_record(c, &lz_op_table[LZ_OP_clone], at, looks, out);
    return NULL;
}

/* Operators without a derivative of their own that give the same elements in the same order, as a view
 * where they can. */
static bool is_reshaper(const lz_op_row *op)
{
    const lz_layout_row *l = lz_layout_of(op);
    return op->flags & LZ_OPF_VIEW && lz_grad_table[number_of(op)].kind != LZ_GRAD_OWN
           && (l->strides == LZ_STRIDES_view || l->strides == LZ_STRIDES_flatten
               || l->memory & LZ_MEMORY_ROW_MAJOR);
}

static lz_err *record_reshape(lz_ctx *c, const lz_op_row *op, lz_loc at, const lz_value *in, lz_value *out)
{
    lz_gnode *node;
    record_hidden(c, op, at, in, out);
    if (is_inert(op, out) || out[0].tensor == in[0].tensor)
        return NULL;
    const lz_value args[] = { in[0], lz_value_ints(lz_tensor_sizes(out[0].tensor)) };
    LZ_TRY(make_node(c, LZ_OP_view, at, args, out, 1, &node));
    lz_err *e = lz_history_set(out[0].tensor, (lz_gedge){ node, 0 });
    return e;
}

/* ---- operators that are taken apart ---- */

static lz_err *give_tensor(lz_recorder *r, const lz_op_row *op, const lz_lv *v, lz_tensor **out)
{
    LZ_TRY(lz_recorder_tensor(r, v, out));
    if (*out && op->flags & LZ_OPF_VIEW && op->returns[0].type->kind == LZ_KIND_TENSORS)
        (*out)->made |= LZ_MADE_SEVERAL;
    return NULL;
}

static lz_err *give_list(lz_recorder *r, const lz_op_row *op, const lz_lv *v, lz_value *out)
{
    lz_tensor **list = lz_scope_alloc(r->ctx->scope->outer, (v->list.n + 1) * sizeof *list);
    if (!list)
        return lz_err_oom();
    for (size_t i = 0; i < v->list.n; i++)
        LZ_TRY(give_tensor(r, op, &v->list.items[i], &list[i]));
    *out = lz_value_tensors((lz_tensors){ list, (int64_t)v->list.n });
    return NULL;
}

static lz_err *give_results(lz_recorder *r, const lz_op_row *op, const lz_lv *results, lz_value *out)
{
    for (uint32_t i = 0; i < op->nreturns; i++) {
        if (op->returns[i].type->kind == LZ_KIND_TENSORS) {
            LZ_TRY(give_list(r, op, &results[i], &out[i]));
        } else if (op->returns[i].type->kind == LZ_KIND_TENSOR) {
            out[i] = lz_value_tensor(NULL);
            LZ_TRY(give_tensor(r, op, &results[i], &out[i].tensor));
        } else {
            return lz_errf(LZ_ERR_UNSUPPORTED, "%s: a number that has a gradient", op->name);
        }
    }
    return NULL;
}

static lz_err *take_apart(lz_recorder *r, const lz_op_row *op, const lz_value *in, lz_value *out)
{
    const lz_lower_row *row = &lz_lower_table[number_of(op)];
    lz_lv args[LZ_ARGS_MAX], results[LZ_ARGS_MAX] = { 0 };
    for (int i = 0; i < row->nargs; i++)
        LZ_TRY(lz_recorder_take(r, &in[row->from ? row->from[i] : i], &args[i]));
    LZ_TRY(row->fn(&r->b, args, results));
    return give_results(r, op, results, out);
}

/* ---- parts give what the whole would: the same storages and strides ---- */

/* clone or alias of t; inert if that fails, and the context has the error. */
static lz_tensor *made_of(lz_ctx *c, lz_loc at, uint16_t op, lz_tensor *t)
{
    const lz_value in[] = { lz_value_tensor(t), lz_value_none() };
    lz_value made;
    lz_record(c, &lz_op_table[op], at, in, &made);
    return made.tensor;
}

/* A tensor of its own with the strides of s: one of the parts (arguments belong to other scopes) whose
 * storage has one count, so that nobody else knows it, or a copy. */
static lz_err *make_fresh(lz_ctx *c, lz_loc at, const lz_spec *s, lz_tensor **t)
{
    bool own = (*t)->scope == c->scope && lz_tensor_is_base(*t) && (*t)->alias->refs == 1;
    if (own && (*t)->spec == s)
        return NULL;
    if (!own)
        *t = made_of(c, at, LZ_OP_clone, *t);
    if ((*t)->alias && lz_tensor_is_base(*t) && (*t)->alias->refs == 1)
        (*t)->spec = (*t)->alias->spec = s;
    return NULL;
}

/* What a result has to be. */
typedef struct conformed {
    const lz_spec *spec;
    lz_tensor *viewed; /* it looks at this argument; NULL: it is new */
    bool same;         /* it is that argument */
} conformed;

static lz_err *conform_one(lz_ctx *c, lz_loc at, const conformed *w, lz_tensor **t)
{
    if (!*t || !(*t)->alias)
        return NULL;
    if (!w->viewed)
        return make_fresh(c, at, w->spec, t);
    if (w->same) {
        *t = w->viewed;
        return NULL;
    }
    if (*t == w->viewed) /* the formula gave the argument back where the operator gives a view of it */
        *t = made_of(c, at, LZ_OP_alias, *t);
    if ((*t)->alias == w->viewed->alias)
        (*t)->spec = w->spec;
    return NULL;
}

static lz_err *conform_results(lz_ctx *c, lz_loc at, const lz_op_row *op, const conformed *w, lz_value *out)
{
    for (uint32_t i = 0; i < op->nreturns; i++) {
        bool is_list = out[i].kind == LZ_KIND_TENSORS;
        lz_tensor **list = is_list ? (lz_tensor **)out[i].tensors.v : &out[i].tensor;
        int64_t n = is_list ? out[i].tensors.n : out[i].kind == LZ_KIND_TENSOR;
        for (int64_t k = 0; k < n; k++)
            LZ_TRY(conform_one(c, at, w++, &list[k]));
    }
    return NULL;
}

/* Answers stay good until the next question, and a copy is one: what is wanted is noted first. */
static lz_err *find_conformed(lz_ctx *c, const lz_inferred *x, conformed **out)
{
    uint32_t n = x->form.nout;
    conformed *w = lz_scope_alloc(c->scope, (n + 1) * sizeof *w);
    if (!w)
        return lz_err_oom();
    for (uint32_t i = 0; i < n; i++) {
        const lz_result *r = &x->results[i];
        w[i] = (conformed){ r->spec, r->viewed < 0 ? NULL : c->call.tensors.data[r->viewed], r->same };
    }
    *out = w;
    return NULL;
}

static lz_err *conform(lz_ctx *c, lz_loc at, const lz_op_row *op, const lz_value *in, lz_value *out)
{
    const lz_inferred *x;
    conformed *w = NULL;
    bool ok = true;
    LZ_TRY(lz_record_pack(c, op, in, &ok));
    if (!ok)
        return NULL;
    LZ_TRY(lz_record_infer(c, in, &x));
    if (x->dynamic)
        return NULL;
    LZ_TRY(find_conformed(c, x, &w));
    assert(w);
    return conform_results(c, at, op, w, out);
}

/* ---- what is made on the way goes, results stay ---- */

static lz_err *pass_one(const lz_scope *s, lz_tensor *t, bool shared)
{
    if (!t || !t->alias)
        return NULL;
    if (t->scope != s)
        return shared ? lz_scope_share(s->outer, t) : NULL;
    lz_scope_remove(t);
    lz_scope_add(s->outer, t);
    return NULL;
}

/* shared: a result that is an argument gets a count, as from any operator that gives it back. */
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

/* Formulas know nothing of tensors that are not there, or somewhere else. */
static bool is_usable(const lz_ctx *c, const lz_value *v)
{
    if (v->kind == LZ_KIND_TENSOR)
        return !v->tensor || (v->tensor->alias && v->tensor->ctx == c);
    for (int64_t i = 0; v->kind == LZ_KIND_TENSORS && i < v->tensors.n; i++)
        if (v->tensors.v[i] && (!v->tensors.v[i]->alias || v->tensors.v[i]->ctx != c))
            return false;
    return true;
}

static lz_err *record_parts(lz_ctx *c, const lz_op_row *op, lz_loc at, const lz_value *in, lz_value *out)
{
    lz_recorder *r;
    for (uint32_t i = 0; i < op->nargs; i++)
        if (!is_usable(c, &in[i])) {
            record_hidden(c, op, at, in, out);
            return NULL;
        }
    lz_scope *s;
    LZ_TRY(lz_tape_recorder(c->tape, at, &r));
    lz_err *e = lz_scope_begin(c, &s);
    if (!e) {
        e = take_apart(r, op, in, out);
        if (!e && !is_inert(op, out))
            e = conform(c, at, op, in, out);
        if (!e)
            e = pass_results(s, op, out, true);
        lz_scope_pop(s);
    }
    lz_tape_recorder_done(c->tape, r);
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
    if (op == &lz_op_table[LZ_OP_as_strided])
        return record_strided(c, op, at, in, out);
    if (op == &lz_op_table[LZ_OP_as_strided_copy])
        return record_strided_copy(c, at, in, out);
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
    lz_kin_call kin;
    lz_tensor *self;
} rewriting;

/* The value before the write, with its history. */
static lz_err *old_self(const rewriting *w, lz_tensor **out)
{
    lz_gedge e;
    LZ_TRY(lz_edge_of(w->self, w->at, &e));
    lz_err *err = lz_snapshot(w->self, out);
    if (err) {
        lz_gnode_release(e.node);
        return err;
    }
    return e.node ? lz_history_set(*out, e) : NULL;
}

/* One node: it keeps self as it was, and what is written as it will be. */
static lz_err *node_of_write(rewriting *w, lz_gnode **node)
{
    uint16_t kin = number_of(w->kin.kin);
    uint64_t wanted = wanted_of(&lz_grad_table[kin], w->kin.args);
    lz_grad_needs needs = lz_grad_keeps(kin, wanted);
    const lz_value result = lz_value_tensor(w->self);
    lz_value in[LZ_ARGS_MAX] = { 0 };
    for (uint32_t i = 0; i < w->kin.kin->nargs; i++)
        in[i] = w->kin.args[i];
    if (needs.whole & 1)
        LZ_TRY(old_self(w, &in[0].tensor));
    LZ_TRY(make_node(w->c, kin, w->at, in, &result, wanted, node));
    lz_gitem *kept = &(*node)->items[(*node)->nin];
    kept->writes += kept->alias && !w->c->tape->keeps_all;
    return NULL;
}

/* What was there before gets zeros. */
static lz_err *node_of_cut(const rewriting *w, lz_gnode **node)
{
    enum { ONE = sizeof(lz_gedge) + sizeof(lz_gitem) + 32 };
    lz_gedge e;
    LZ_TRY(lz_edge_of(w->self, w->at, &e));
    lz_err *err = lz_gnode_alloc(w->c->tape, LZ_GNODE_CUT, ONE, node);
    if (err) {
        lz_gnode_release(e.node);
        return err;
    }
    lz_gnode *n = *node;
    n->op = number_of(w->op);
    n->at = w->at;
    n->nin = n->nout = 1;
    n->wanted = 1;
    n->cut = w->self->spec;
    n->edges = (lz_gedge *)(void *)(n + 1);
    n->edges[0] = e;
    return NULL;
}

/* The result is known only now. */
static lz_err *keep_written(const rewriting *w, const lz_gnode *node)
{
    lz_tensor *t;
    lz_gitem *x = &node->items[node->nin];
    LZ_TRY(lz_snapshot(w->self, &t));
    t->alias->refs++;
    lz_alias_release(x->alias);
    x->alias = t->alias;
    return NULL;
}

static lz_err *write_with_node(rewriting *w, bool cut, lz_value *out)
{
    lz_gnode *node;
    LZ_TRY(cut ? node_of_cut(w, &node) : node_of_write(w, &node));
    record_hidden(w->c, w->op, w->at, w->in, out);
    if (is_inert(w->op, out)) {
        lz_gnode_release(node);
        return NULL;
    }
    lz_err *e = w->c->tape->keeps_all && !cut ? keep_written(w, node) : NULL;
    if (e) {
        lz_gnode_release(node);
        return e;
    }
    return lz_history_write(w->self, (lz_gedge){ node, 0 }, w->at);
}

/* The functional operator is recorded on what was there before, then its results are written. */
static lz_err *write_by_parts(rewriting *w, lz_value *out)
{
    lz_kin_call *k = &w->kin;
    lz_value made[LZ_ARGS_MAX];
    lz_tensor *old;
    LZ_TRY(old_self(w, &old));
    for (uint32_t i = 0; i < k->kin->nargs; i++)
        if (k->args[i].kind == LZ_KIND_TENSOR && k->args[i].tensor == w->self)
            k->args[i].tensor = old;
    lz_record(w->c, k->kin, w->at, k->args, made);
    if (is_inert(k->kin, made)) {
        for (uint32_t i = 0; i < w->op->nreturns; i++)
            out[i] = lz_value_tensor(w->c->inert);
        return NULL;
    }
    for (uint32_t i = 0; i < k->nwritten; i++) {
        lz_tensor *t = k->written[i].t, *v = made[k->written[i].result].tensor;
        lz_gedge e = { NULL, 0 };
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
static bool writes_floats(const lz_kin_call *k)
{
    bool found = false;
    for (uint32_t i = 0; !found && i < k->nwritten; i++)
        found = lz_dtype_is_float((lz_dtype)k->written[i].t->spec->dtype);
    return found;
}

static lz_err *record_write(lz_ctx *c, const lz_op_row *op, lz_loc at, const lz_value *in, lz_value *out,
                            bool *done)
{
    rewriting w = { .c = c, .op = op, .at = at, .in = in };
    bool ok = true;
    LZ_TRY(lz_record_kin(c, op, in, &w.kin, &ok));
    if (!ok || w.kin.nwritten == 0 || !writes_floats(&w.kin))
        return NULL;
    const lz_grad_row *row = &lz_grad_table[number_of(w.kin.kin)];
    w.self = w.kin.written[0].t;
    bool cut = row->kind == LZ_GRAD_NOT;
    if (cut && !wants(w.self))
        return NULL;
    for (uint32_t i = 0; i < w.kin.nwritten; i++)
        LZ_TRY(lz_history_check(w.kin.written[i].t));
    *done = true;
    bool whole =
        op->kind == LZ_SCHEMA_INPLACE && w.kin.args[0].tensor == w.self && (cut || row->kind == LZ_GRAD_OWN);
    lz_scope *s;
    LZ_TRY(lz_scope_begin(c, &s));
    lz_err *e = whole ? write_with_node(&w, cut, out) : write_by_parts(&w, out);
    if (!e)
        e = pass_results(s, op, out, false);
    lz_scope_pop(s);
    return e;
}

static lz_err *record_look(lz_ctx *c, const lz_op_row *op, lz_loc at, const lz_value *in, lz_value *out)
{
    lz_tensor *t = in[0].tensor;
    const lz_spec *spec = t->spec;
    int64_t offset = t->offset;
    lz_gedge e;
    LZ_TRY(lz_history_check(t));
    LZ_TRY(lz_edge_of(t, at, &e));
    record_hidden(c, op, at, in, out);
    if (is_inert(op, out)) {
        lz_gnode_release(e.node);
        return NULL;
    }
    return lz_history_strided(t, spec, offset, e, t, at);
}

static lz_err *record_detach(lz_ctx *c, const lz_op_row *op, lz_loc at, const lz_value *in, lz_value *out)
{
    lz_tensor *t = in[0].tensor;
    record_hidden(c, op, at, in, out);
    if (!is_inert(op, out) && t->meta) {
        lz_meta_set_fn(t->meta, (lz_gedge){ NULL, 0 });
        t->meta->requires = false;
    }
    return NULL;
}

static lz_err *check_written(const lz_op_row *op, const lz_value *in)
{
    for (uint32_t i = 0; i < op->nargs; i++)
        if (op->args[i].write && in[i].kind == LZ_KIND_TENSOR && in[i].tensor
            && in[i].tensor->made & LZ_MADE_INFERENCE)
            return lz_errf(LZ_ERR_ARG, "Inplace update to inference tensor outside InferenceMode is not "
                                       "allowed. You can make a clone to get a normal tensor before.");
    return NULL;
}

/* Does the functional form of an operator that writes have derivatives? */
static bool is_differentiable(const lz_op_row *op)
{
    uint16_t kin = lz_functional_table[number_of(op)].functional;
    return kin && lz_grad_table[kin].kind != LZ_GRAD_NOT;
}

lz_err *lz_tape_record(lz_ctx *c, const lz_op_row *op, lz_loc at, const lz_value *in, lz_value *out,
                       bool *done)
{
    if (op->kind != LZ_SCHEMA_FUNCTIONAL && c->grad_mode != LZ_GRAD_INFERENCE)
        LZ_TRY(check_written(op, in));
    if (op == &lz_op_table[LZ_OP_detach_] && any_argument(op, in)) { /* with gradients off, too */
        *done = true;
        return record_detach(c, op, at, in, out);
    }
    if (c->grad_mode != LZ_GRAD_ON)
        return NULL;
    if (op->kind == LZ_SCHEMA_FUNCTIONAL)
        return record_functional(c, op, at, in, out, done);
    if (!any_argument(op, in))
        return NULL;
    /* a generated out form is its functional form and a copy, which has a derivative */
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
