/* Operators that write: recorded as their functional form and a write to a storage. */
#include "base/mem.h"
#include "base/str.h"
#include "core/storage.h"
#include "lazy/eager.h"
#include "lazy/ir_builder.h"
#include "lazy/lazy_tensor.h"
#include "lazy/record.h"
#include "lazy/record_impl.h"
#include "lazy/recorder.h"
#include "lower/layout.h"
#include "lower/write_rules.h"
#include "op/functional_table.h"
#include "op/op_table.h"
#include <assert.h>
#include <inttypes.h>
#include <string.h>

/* A call that writes, and the functional operator that computes what is written. */
typedef struct writing {
    lz_ctx *c;
    const lz_op_row *op, *functional;
    const lz_value *in;
    const lz_value *args; /* of the functional operator */
    lz_value own[LZ_ARGS_MAX];
    lz_writes *writes;
    const lz_inferred *x; /* NULL: not inferred yet */
    lz_node *node;
    bool by_formula;            /* the functional operator is recorded by its formula */
    lz_value made[LZ_ARGS_MAX]; /* results of a call that ran at once, or of the formula */
    size_t nmade;
} writing;

/* ---- what may be written ---- */

/* Whether another tensor may see the elements of t. */
static inline bool is_shared(const lz_tensor *t)
{
    return t->storage->refs > 1;
}

/* For operators whose written tensors must not overlap each other. */
static bool writes_twice(const writing *w, uint32_t i)
{
    bool found = false;
    for (uint32_t k = 0; lz_layout_of(w->op)->memory & LZ_MEMORY_ALONE && !found && k < i; k++)
        found = lz_tensors_overlap(w->writes->v[i].t, w->writes->v[k].t);
    return found;
}

static bool copies_itself(const writing *w)
{
    lz_write_read reads[2];
    size_t n = 0;
    if (!(lz_layout_of(w->op)->memory & LZ_MEMORY_COPIES) || !w->writes->n)
        return false;
    lz_storage_view to = lz_tensor_view_of(w->writes->v[0].t);
    for (uint32_t i = 0; i < 2; i++)
        if (w->args[i].kind == LZ_KIND_TENSOR && w->args[i].tensor)
            reads[n++] = (lz_write_read){ .view = lz_tensor_view_of(w->args[i].tensor), .arg = i };
    return lz_write_copies_itself(w->op, &to, reads, n);
}

static bool names_dtype(const writing *w)
{
    uint32_t i = lz_write_dtype_argument(w->op);
    return i != LZ_NO_ARGUMENT && lz_functional_is_passed(&w->in[i]);
}

static bool reads_itself(const writing *w, const lz_tensor *t)
{
    bool found = false;
    for (uint32_t i = 0; !found && i < w->functional->nargs; i++)
        found = w->args[i].kind == LZ_KIND_TENSOR && w->args[i].tensor == t;
    return found;
}

/* Whether t is dense and no other argument views its storage: then no rule about overlap applies. */
static bool is_separate(const writing *w, const lz_tensor *t)
{
    const lz_call *call = &w->c->call;
    bool separate = t->spec->dense;
    for (size_t j = 0; separate && is_shared(t) && j < call->tensors.len; j++) {
        const lz_tensor *x = call->tensors.data[j];
        separate = !x || x == t || x->storage != t->storage;
    }
    return separate;
}

static lz_err *check_overlap_of(const writing *w, const lz_tensor *t)
{
    const lz_call *call = &w->c->call;
    lz_write_rule rule = { .op = w->op, .functional = w->functional, .copies_itself = copies_itself(w) };
    lz_storage_view to = lz_tensor_view_of(t);
    LZ_TRY(lz_write_check_overlap(&rule, &to, NULL, 0));
    for (size_t j = 0; j < call->tensors.len; j++) {
        const lz_tensor *x = call->tensors.data[j];
        if (!x || x->storage != t->storage || x == t)
            continue;
        lz_write_read read = { .view = lz_tensor_view_of(x) };
        LZ_TRY(lz_write_check_overlap(&rule, &to, &read, 1));
    }
    return NULL;
}

static lz_err *check_overlap(const writing *w)
{
    for (uint32_t i = 0; i < w->writes->n; i++)
        if (!is_separate(w, w->writes->v[i].t))
            LZ_TRY(check_overlap_of(w, w->writes->v[i].t));
    return NULL;
}

static lz_err *check_apart_from(const writing *w, const lz_tensor *t, uint32_t arg, const lz_tensor *x)
{
    lz_write_rule rule = { .op = w->op, .functional = w->functional };
    if (!x || x->storage != t->storage)
        return NULL;
    lz_storage_view to = lz_tensor_view_of(t);
    lz_write_read read = { lz_tensor_view_of(x), arg, x == t };
    return lz_write_check_apart(&rule, &to, &read, 1);
}

static bool is_left_out(const lz_tensors *list)
{
    bool out = true;
    for (int64_t k = 0; out && k < list->n; k++)
        out = !list->v[k] || lz_write_leaves_out(list->v[k]->spec);
    return out;
}

static lz_err *check_apart(const writing *w, const lz_tensor *t)
{
    if (!(lz_layout_of(w->op)->memory & (LZ_MEMORY_APART | LZ_MEMORY_ALONE)))
        return NULL;
    for (uint32_t i = 0; i < w->functional->nargs; i++) {
        const lz_value *v = &w->args[i];
        if (v->kind == LZ_KIND_TENSOR)
            LZ_TRY(check_apart_from(w, t, i, v->tensor));
        bool compared = v->kind == LZ_KIND_TENSORS && !is_left_out(&v->tensors);
        for (int64_t k = 0; compared && k < v->tensors.n; k++)
            LZ_TRY(check_apart_from(w, t, i, v->tensors.v[k]));
    }
    return NULL;
}

static lz_err *check_fits(const writing *w, const lz_tensor *t, const lz_spec *s)
{
    if (t->spec == s)
        return NULL;
    lz_write_rule rule = { .op = w->op,
                           .functional = w->functional,
                           .names_dtype = names_dtype(w),
                           .reads_written = reads_itself(w, t) };
    return lz_write_check_fits(&rule, t->spec, s);
}

static lz_err *not_written(void)
{
    return lz_errf(LZ_ERR_UNSUPPORTED, "the functional form has no result for a written argument");
}

/* For out forms that compute first and then copy: a resized tensor becomes row-major. */
static lz_err *resized(lz_ctx *c, const lz_op_row *op, const lz_spec **s)
{
    if (!lz_write_resizes_row_major(op))
        return NULL;
    return lz_spec_get(c->specs, (lz_dtype)(*s)->dtype, lz_spec_sizes(*s), (lz_ints){ NULL, 0 }, s);
}

static lz_err *wrong_length(const lz_written *x, size_t n)
{
    return lz_errf(LZ_ERR_ARG, "the list that is written has %u tensors, the result has %zu", x->of, n);
}

/* The i-th written tensor becomes a tensor that exists already. */
static lz_err *made_result(const writing *w, const lz_written *x, const lz_spec **spec)
{
    const lz_value *v = x->result < w->nmade ? &w->made[x->result] : NULL;
    if (v && v->kind == LZ_KIND_TENSORS && x->of != (uint64_t)v->tensors.n)
        return wrong_length(x, (size_t)v->tensors.n);
    const lz_tensor *t = lz_written_value(x, w->made, w->nmade);
    if (!t)
        return not_written();
    *spec = t->spec;
    return NULL;
}

/* The spec of the result that the i-th written tensor gets. */
static lz_err *result_of(const writing *w, uint32_t i, const lz_spec **spec)
{
    const lz_written *x = &w->writes->v[i];
    if (w->by_formula || w->x->dynamic)
        return made_result(w, x, spec);
    const lz_returned *r = x->result < w->x->nreturns ? &w->x->returns[x->result] : NULL;
    if (!r || r->kind != (x->of ? LZ_KIND_TENSORS : LZ_KIND_TENSOR))
        return not_written();
    if (x->of && x->of != r->n)
        return wrong_length(x, r->n);
    *spec = w->x->results[r->first + x->item].spec;
    return NULL;
}

/* ---- writing ---- */

static lz_err *cast(lz_ctx *c, lz_output v, const lz_spec *to, lz_node **out)
{
    lz_value none = lz_value_none(), self = lz_value_tensor(c->inert);
    lz_output built;
    if (c->builder) {
        LZ_TRY(c->builder->make_cast(c->backend->self, lz_ir_of(c), v, (lz_dtype)to->dtype, &built));
        *out = (lz_node *)built.node;
        return NULL;
    }
    lz_value args[] = { self, lz_value_dtype((lz_dtype)to->dtype), none, none, none, lz_value_truth(false),
                        none };
    return lz_node_op_create(c->nodes, &lz_op_table[LZ_OP__to_copy], args, &v, 1, &to, 1, c->at, out);
}

/* Whether a result of these sizes covers the storage, and no other tensor uses the storage. A storage never
 * gets smaller: as_strided still finds the elements behind a result that has fewer elements. */
static bool covers(const lz_tensor *t, const lz_spec *s)
{
    return t->storage->refs == 1 && t->offset == 0 && s->numel >= t->storage->spec->numel;
}

/* The storage takes on the sizes of the result, and keeps what the tape attached to it. */
static void replace(lz_tensor *t, const lz_spec *s, lz_output v)
{
    lz_lazy_storage *a = t->storage;
    lz_node_retain((lz_node *)v.node);
    lz_lazy_storage_set(a, v);
    a->spec = s;
    lz_tensor_look(t, a, s, 0);
}

static lz_err *put(lz_ctx *c, lz_tensor *t, const lz_spec *s, lz_output v)
{
    if (t->spec == s || lz_shape_eq(lz_spec_sizes(t->spec), lz_spec_sizes(s)))
        return lz_tensor_write(t, v, c->at);
    if (covers(t, s)) {
        replace(t, s, v);
        return NULL;
    }
    LZ_TRY(lz_tensor_resize(t, s));
    return lz_tensor_write(t, v, c->at);
}

static lz_err *write_one(lz_ctx *c, lz_tensor *t, const lz_spec *s, lz_output v)
{
    lz_node *converted = NULL;
    if (s->dtype != t->spec->dtype) {
        LZ_TRY(lz_spec_get(c->specs, (lz_dtype)t->spec->dtype, lz_spec_sizes(s), lz_spec_strides(s), &s));
        LZ_TRY(cast(c, v, s, &converted));
        v = (lz_output){ converted, 0 };
    }
    lz_err *e = put(c, t, s, v);
    lz_node_release(c->nodes, converted);
    return e;
}

static lz_err *value_of(const writing *w, uint32_t i, lz_output *out)
{
    const lz_written *x = &w->writes->v[i];
    if (w->by_formula || w->x->dynamic)
        return lz_tensor_value(lz_written_value(x, w->made, w->nmade), out);
    *out = (lz_output){ w->node, w->x->returns[x->result].first + x->item };
    return NULL;
}

static lz_err *write_all(writing *w)
{
    for (uint32_t i = 0; i < w->writes->n; i++) {
        const lz_spec *s = NULL;
        lz_output v = { NULL, 0 };
        LZ_TRY(result_of(w, i, &s));
        assert(s);
        LZ_TRY(value_of(w, i, &v));
        LZ_TRY(resized(w->c, w->op, &s));
        LZ_TRY(write_one(w->c, w->writes->v[i].t, s, v));
        lz_tensor_written(w->writes->v[i].t, w->op, w->c->at);
    }
    return NULL;
}

static lz_err *give_back(const writing *w, lz_value *out)
{
    for (uint32_t i = 0; i < w->op->nreturns; i++) {
        uint8_t arg = w->op->returns[i].argument;
        lz_tensor *t;
        if (arg != LZ_NO_ARGUMENT) {
            out[i] = w->in[arg];
        } else if (w->by_formula || w->x->dynamic) {
            out[i] = w->made[i];
        } else {
            LZ_TRY(lz_record_tensor(w->c, &w->x->results[w->x->returns[i].first], w->node,
                                    w->x->returns[i].first, false, &t));
            out[i] = lz_value_tensor(t);
        }
    }
    return NULL;
}

static lz_err *check_results(const writing *w)
{
    for (uint32_t i = 0; i < w->writes->n; i++) {
        const lz_spec *s = NULL;
        LZ_TRY(result_of(w, i, &s));
        assert(s);
        LZ_TRY(check_fits(w, w->writes->v[i].t, s));
        if (writes_twice(w, i))
            return lz_write_shared_element();
        LZ_TRY(check_apart(w, w->writes->v[i].t));
    }
    return NULL;
}

/* Computes the new values, or asks what they will be. */
static lz_err *compute(writing *w)
{
    if (w->by_formula) {
        w->nmade = w->functional->nreturns;
        return lz_recorder_formula(w->c, w->functional, w->c->at, w->args, w->made);
    }
    if (!w->x)
        LZ_TRY(lz_record_infer(w->c, w->args, &w->x));
    return w->x->dynamic ? lz_eager_call(w->c, w->made, &w->nmade) : NULL;
}

static lz_err *write_call(writing *w, lz_value *out)
{
    LZ_TRY(check_overlap(w));
    LZ_TRY(compute(w));
    LZ_TRY(check_results(w));
    if (!w->by_formula && !w->x->dynamic)
        LZ_TRY(lz_record_node(w->c, w->x, &w->node));
    lz_err *e = write_all(w);
    if (!e)
        e = give_back(w, out);
    lz_node_release(w->c->nodes, w->node);
    return e;
}

static lz_err *begin(writing *w, lz_ctx *c, const lz_op_row *op, const lz_value *in, bool *ok)
{
    w->c = c;
    w->op = op;
    w->in = in;
    w->functional = lz_write_functional(op);
    w->nmade = 0;
    w->x = NULL;
    w->node = NULL;
    w->by_formula = false;
    if (!w->functional)
        return lz_errf(LZ_ERR_UNSUPPORTED, "the operator has no functional form");
    LZ_TRY(lz_writes_find(c, op, in, w->writes, ok));
    if (!*ok)
        return NULL;
    w->args = lz_functional_args(op, in, w->writes, w->own);
    w->by_formula = lz_record_is_by_formula(w->functional, w->args);
    w->x = lz_record_repeat(c, w->functional, w->args);
    return w->x ? NULL : lz_record_pack(c, w->functional, w->args, ok);
}

/* ---- any call that writes ---- */

static lz_err *record_write(writing *w, lz_ctx *c, const lz_op_row *op, const lz_value *in, lz_value *out,
                            bool *ok)
{
    bool by_items = false;
    LZ_TRY(begin(w, c, op, in, ok));
    if (*ok)
        LZ_TRY(lz_record_is_by_items(op, in, w->writes, &by_items));
    if (!*ok || !by_items)
        return *ok ? write_call(w, out) : NULL;
    if (!w->by_formula && !w->x)
        LZ_TRY(lz_record_infer(c, w->args, &w->x)); /* what is refused for one item is refused for all */
    return lz_record_by_items(c, op, c->at, in, w->writes->v[0].of);
}

static lz_err *write_any(lz_ctx *c, const lz_op_row *op, const lz_value *in, lz_value *out, bool *ok)
{
    lz_writes writes; /* not all of both is set: to clear their arrays would double the cost of a write */
    writing w;
    writes.v = NULL;
    w.writes = &writes;
    lz_err *e = record_write(&w, c, op, in, out, ok);
    lz_writes_deinit(&writes);
    return e;
}

/* ---- the frequent case: in place, the same call as in the step before, and no other view ---- */

/* The tensor that the call writes if the rules about overlap and dtypes cannot refuse it. */
static inline lz_tensor *written_alone(const lz_op_row *op, const lz_value *in)
{
    enum { RULES = LZ_MEMORY_OWN_DTYPE | LZ_MEMORY_APART | LZ_MEMORY_ALONE };
    const lz_functional_row *row = lz_functional_of(op);
    bool plain = op->kind == LZ_SCHEMA_INPLACE && row->nwrites == 1 && lz_write_same_arguments(op);
    if (!plain || !row->functional || lz_layout_of(op)->memory & RULES)
        return NULL;
    const lz_value *v = &in[row->writes[0].argument];
    lz_tensor *t = v->kind == LZ_KIND_TENSOR ? v->tensor : NULL;
    return t && t->storage && !is_shared(t) && t->spec->dense ? t : NULL;
}

/* false: nothing was done. */
static bool write_again(lz_ctx *c, const lz_op_row *op, const lz_value *in, lz_value *out, lz_err **e)
{
    lz_node *node = NULL;
    lz_tensor *t = written_alone(op, in);
    lz_inferred *x = t ? lz_record_repeat_one(c, lz_write_functional(op), in) : NULL;
    if (!x || x->results[0].spec != t->spec)
        return false;
    *e = lz_record_again(c, x, &node);
    if (!*e)
        *e = lz_tensor_write(t, (lz_output){ node, 0 }, c->at);
    lz_node_release(c->nodes, node);
    if (*e)
        return true;
    lz_tensor_written(t, op, c->at);
    for (uint32_t i = 0; i < op->nreturns; i++)
        out[i] = lz_value_tensor(t);
    return true;
}

lz_err *lz_record_write(lz_ctx *c, const lz_op_row *op, const lz_value *in, lz_value *out, bool *ok)
{
    lz_err *e = NULL;
    return write_again(c, op, in, out, &e) ? e : write_any(c, op, in, out, ok);
}

/* ---- for callers that compute the written values themselves ---- */

lz_err *lz_record_functional(lz_ctx *c, const lz_op_row *op, const lz_value *in, lz_functional_call *out,
                             bool *ok)
{
    out->writes.v = NULL;
    writing w = { .writes = &out->writes };
    LZ_TRY(begin(&w, c, op, in, ok));
    if (!*ok)
        return NULL;
    bool by_items;
    LZ_TRY(lz_record_is_by_items(op, in, w.writes, &by_items));
    if (!by_items)
        LZ_TRY(check_overlap(&w));
    if (!w.x && !w.by_formula)
        LZ_TRY(lz_record_infer(c, w.args, &w.x));
    if (w.x && !w.x->dynamic && !by_items)
        LZ_TRY(check_results(&w));
    out->functional = w.functional;
    memcpy(out->args, w.args, w.functional->nargs * sizeof *w.args);
    return NULL;
}

lz_err *lz_record_put(lz_ctx *c, const lz_op_row *op, lz_tensor *t, lz_tensor *made)
{
    lz_output v;
    const lz_spec *s = made->spec;
    lz_write_rule rule = { .op = op, .functional = lz_write_functional(op) };
    if (t->spec != s) /* results whose sizes depend on elements were not compared before */
        LZ_TRY(lz_write_check_fits(&rule, t->spec, s));
    LZ_TRY(lz_tensor_value(made, &v));
    LZ_TRY(resized(c, op, &s));
    LZ_TRY(write_one(c, t, s, v));
    lz_tensor_written(t, op, c->at);
    return NULL;
}
