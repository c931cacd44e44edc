/* Operators that write: recorded as their functional form and a write to a storage. */
#include "base/str.h"
#include "core/promote.h"
#include "core/strides.h"
#include "lazy/eager.h"
#include "lazy/functional_table.h"
#include "lazy/ir.h"
#include "lazy/layout.h"
#include "lazy/record_impl.h"
#include "op/op_table.h"
#include <string.h>

/* A call that writes, as its functional kin sees it. */
typedef struct writing {
    lz_ctx *c;
    const lz_op_row *op, *kin;
    const lz_value *in;
    const lz_value *args; /* of the kin */
    lz_value own[LZ_ARGS_MAX];
    uint32_t nwritten;
    struct {
        lz_tensor *t;
        uint32_t result; /* of the kin: what it becomes */
    } written[LZ_ARGS_MAX];
    const lz_inferred *x; /* NULL: not asked for yet */
    lz_node *node;
    lz_value made[LZ_ARGS_MAX]; /* results of a call that had to run at once */
    size_t nmade;
} writing;

/* ---- the kin and its arguments ---- */

static const lz_op_row *kin_of(const lz_op_row *op)
{
    uint16_t k = lz_functional_table[op - lz_op_table].functional;
    return k ? &lz_op_table[k] : NULL;
}

static lz_value default_of(const writing *w, const lz_arg_row *a)
{
    if (w->nwritten && lz_str_is(lz_str_of(a->name), "dtype"))
        return lz_value_dtype((lz_dtype)w->written[0].t->spec->dtype);
    return a->default_value ? *a->default_value : lz_value_none();
}

static lz_value kin_arg(const writing *w, const lz_arg_row *a)
{
    for (uint32_t i = 0; i < w->op->nargs; i++)
        if (strcmp(w->op->args[i].name, a->name) == 0)
            return w->in[i];
    return default_of(w, a);
}

/* sum(x, out=y) adds in the dtype of y. */
static void set_own_dtype(writing *w)
{
    for (uint32_t i = 0; i < w->kin->nargs; i++)
        if (lz_str_is(lz_str_of(w->kin->args[i].name), "dtype")
            && (w->own[i].kind != LZ_KIND_DTYPE || w->own[i].dtype == LZ_DTYPE_NONE))
            w->own[i] = lz_value_dtype((lz_dtype)w->written[0].t->spec->dtype);
}

static void find_args(writing *w)
{
    bool own_dtype = w->nwritten && lz_layout_of(w->op)->memory & LZ_MEMORY_OWN_DTYPE;
    bool in_place = w->op->kind == LZ_SCHEMA_INPLACE && w->kin->nargs == w->op->nargs;
    w->args = in_place && !own_dtype ? w->in : w->own;
    if (w->args == w->in)
        return;
    for (uint32_t i = 0; i < w->kin->nargs; i++)
        w->own[i] = in_place ? w->in[i] : kin_arg(w, &w->kin->args[i]);
    if (own_dtype)
        set_own_dtype(w);
}

/* In the order of the arguments. */
static lz_err *find_written(writing *w, bool *ok)
{
    const lz_functional_row *row = &lz_functional_table[w->op - lz_op_table];
    for (uint32_t k = 0; k < row->nwrites; k++) {
        const lz_arg_row *a = &w->op->args[row->writes[k].argument];
        const lz_value *v = &w->in[row->writes[k].argument];
        if (a->type->kind != LZ_KIND_TENSOR)
            return lz_errf(LZ_ERR_UNSUPPORTED, "a list of tensors to be written");
        if (v->kind == LZ_KIND_TENSOR && v->tensor) {
            LZ_TRY(lz_record_check(w->c, v->tensor, ok));
            w->written[w->nwritten].t = v->tensor;
            w->written[w->nwritten++].result = row->writes[k].result;
        } else if (!(a->type->flags & LZ_TYPE_OPTIONAL)) {
            return lz_errf(LZ_ERR_ARG, "argument '%s' must be a tensor, not none", a->name);
        }
    }
    return NULL;
}

/* ---- what may be written ---- */

/* Two dense views of one storage that share elements, but not each with its like; as PyTorch
 * has it, also strides that are never walked must be equal. */
static bool overlap_shifted(const lz_tensor *a, const lz_tensor *b)
{
    if (a->alias != b->alias || a == b || !a->spec->dense || !b->spec->dense || !a->spec->numel
        || !b->spec->numel)
        return false;
    if (a->offset == b->offset && a->spec->numel == b->spec->numel)
        return !lz_shape_eq(lz_spec_strides(a->spec), lz_spec_strides(b->spec));
    return a->offset < b->offset + b->spec->numel && b->offset < a->offset + a->spec->numel;
}

static bool overlap_at_all(const lz_tensor *a, const lz_tensor *b)
{
    if (a == b) /* whatever it looks like, and be it without elements */
        return true;
    return a->alias == b->alias && a->spec->dense && b->spec->dense && a->spec->numel && b->spec->numel
           && a->offset < b->offset + b->spec->numel && b->offset < a->offset + a->spec->numel;
}

static bool shares_any(const lz_tensor *t, const lz_value *v)
{
    bool found = v->kind == LZ_KIND_TENSOR && v->tensor && overlap_at_all(t, v->tensor);
    for (int64_t i = 0; !found && v->kind == LZ_KIND_TENSORS && i < v->tensors.n; i++)
        found = v->tensors.v[i] && overlap_at_all(t, v->tensors.v[i]);
    return found;
}

/* Of an operator that wants its arguments, self or not, apart from what it writes. */
static bool reads_written(const writing *w, const lz_tensor *t)
{
    uint16_t memory = lz_layout_of(w->op)->memory;
    bool found = false;
    if (!(memory & (LZ_MEMORY_APART | LZ_MEMORY_ALONE)))
        return false;
    for (uint32_t i = memory & LZ_MEMORY_ALONE ? 0 : 1; !found && i < w->kin->nargs; i++)
        found = shares_any(t, &w->args[i]);
    return found;
}

/* Of an operator that wants the tensors that it writes apart from each other. */
static bool writes_twice(const writing *w, uint32_t i)
{
    bool found = false;
    for (uint32_t k = 0; lz_layout_of(w->op)->memory & LZ_MEMORY_ALONE && !found && k < i; k++)
        found = overlap_at_all(w->written[i].t, w->written[k].t);
    return found;
}

static lz_err *shared_element(void)
{
    return lz_errf(LZ_ERR_ARG, "unsupported operation: some elements of the input tensor and the written-to "
                               "tensor refer to a single memory location. Please clone() the tensor before "
                               "performing the operation.");
}

/* x.copy_(x) does nothing, whatever x is, also by another name. */
static bool copies_itself(const writing *w)
{
    if (w->op != &lz_op_table[LZ_OP_copy_])
        return false;
    const lz_tensor *a = w->in[0].tensor, *b = w->in[1].tensor;
    return b && a->alias == b->alias && a->spec == b->spec && a->offset == b->offset;
}

static bool is_expanded(const lz_spec *s)
{
    lz_ints sizes = lz_spec_sizes(s), strides = lz_spec_strides(s);
    bool found = false;
    for (int64_t d = 0; s->numel && !found && d < sizes.n; d++)
        found = sizes.v[d] > 1 && strides.v[d] == 0;
    return found;
}

/* Where all elements get one value it does not matter that some of them are one; PyTorch refuses strides of
 * 0. */
static bool overlaps_itself(const lz_spec *s, bool fills)
{
    if (s->dense)
        return false;
    return fills ? is_expanded(s)
                 : lz_strides_overlap(lz_spec_sizes(s), lz_spec_strides(s)) == LZ_OVERLAP_YES;
}

static lz_err *check_overlap(const writing *w)
{
    const lz_call *call = &w->c->call;
    uint16_t memory = lz_layout_of(w->op)->memory;
    bool strict = !(memory & LZ_MEMORY_OVERLAP) && !copies_itself(w), fills = memory & LZ_MEMORY_FILLS;
    for (uint32_t i = 0; i < w->nwritten; i++) {
        const lz_tensor *t = w->written[i].t;
        if (strict && overlaps_itself(t->spec, fills))
            return lz_errf(
                LZ_ERR_ARG,
                "unsupported operation: more than one element of the written-to tensor refers to a "
                "single memory location. Please clone() the tensor before performing the operation.");
        for (size_t j = 0; strict && !fills && j < call->tensors.len; j++)
            if (call->tensors.data[j] && overlap_shifted(t, call->tensors.data[j]))
                return shared_element();
    }
    return NULL;
}

/* An out tensor that an elementwise operator also reads keeps its sizes. */
static bool may_resize(const writing *w, const lz_tensor *t)
{
    bool may = w->op->kind == LZ_SCHEMA_OUT;
    /* a generated out form computes first and copies then */
    bool iterates =
        lz_layout_of(w->kin)->strides == LZ_STRIDES_operands && !(w->op->flags & LZ_OPF_GENERATED);
    for (uint32_t i = 0; may && iterates && i < w->kin->nargs; i++)
        may = w->args[i].kind != LZ_KIND_TENSOR || w->args[i].tensor != t;
    return may;
}

/* An out form casts its result, unless the call names the result's dtype. */
static bool casts_out(const writing *w)
{
    bool casts = lz_layout_of(w->op)->memory & LZ_MEMORY_CAST_OUT;
    for (uint32_t i = 0; casts && i < w->op->nargs; i++)
        casts = w->in[i].kind != LZ_KIND_DTYPE || w->in[i].dtype == LZ_DTYPE_NONE
                || !lz_str_is(lz_str_of(w->op->args[i].name), "dtype");
    return casts;
}

static lz_err *check_fits(const writing *w, const lz_tensor *t, const lz_spec *s)
{
    char a[LZ_SHAPE_CHARS], b[LZ_SHAPE_CHARS];
    if (t->spec == s)
        return NULL;
    if (!may_resize(w, t) && !lz_shape_eq(lz_spec_sizes(t->spec), lz_spec_sizes(s)))
        return lz_errf(LZ_ERR_ARG, "output with shape %s doesn't match the broadcast shape %s",
                       lz_shape_print(lz_spec_sizes(t->spec), a), lz_shape_print(lz_spec_sizes(s), b));
    if (t->spec->dtype == s->dtype)
        return NULL;
    lz_dtype due = (lz_dtype)s->dtype, found = (lz_dtype)t->spec->dtype;
    if (w->op->kind == LZ_SCHEMA_OUT && !casts_out(w))
        return lz_errf(LZ_ERR_ARG, "Expected out tensor to have dtype %s, but got %s instead",
                       lz_dtype_get(due)->name, lz_dtype_get(found)->name);
    if (lz_layout_of(w->op)->memory & LZ_MEMORY_NO_CAST)
        return lz_errf(LZ_ERR_ARG,
                       "the tensor to be written has dtype %s but the operation's result requires dtype %s",
                       lz_dtype_get(found)->name, lz_dtype_get(due)->name);
    return lz_dtype_check_cast(due, found);
}

static lz_err *not_written(void)
{
    return lz_errf(LZ_ERR_UNSUPPORTED, "the operator gives nothing to be written");
}

/* Of an out form that computes first and copies then: what it resizes becomes row-major. */
static lz_err *resized(const writing *w, const lz_spec **s)
{
    bool copies = lz_layout_of(w->op)->strides == LZ_STRIDES_contiguous || w->op->flags & LZ_OPF_GENERATED;
    if (w->op->kind != LZ_SCHEMA_OUT || !copies)
        return NULL;
    return lz_spec_get(w->c->specs, (lz_dtype)(*s)->dtype, lz_spec_sizes(*s), (lz_ints){ NULL, 0 }, s);
}

/* What the i-th written tensor becomes. */
static lz_err *result_of(const writing *w, uint32_t i, const lz_spec **spec)
{
    uint32_t k = w->written[i].result;
    if (w->x->dynamic) {
        if (k >= w->nmade || w->made[k].kind != LZ_KIND_TENSOR)
            return not_written();
        *spec = w->made[k].tensor->spec;
        return NULL;
    }
    if (k >= w->x->nreturns || w->x->returns[k].kind != LZ_KIND_TENSOR)
        return not_written();
    *spec = w->x->results[w->x->returns[k].first].spec;
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

/* Room for another shape: in the old storage if others look at it too. */
static lz_err *resize(lz_tensor *t, const lz_spec *s)
{
    lz_alias *a = t->alias;
    if (t->offset + s->extent > a->spec->numel)
        LZ_TRY(lz_alias_grow(a, t->offset + s->extent));
    lz_tensor_look(t, a, s, t->offset);
    return NULL;
}

/* Nobody else looks at the storage: it may as well be a new one. */
static lz_err *replace(lz_ctx *c, lz_tensor *t, const lz_spec *s, lz_output v)
{
    lz_alias *a;
    LZ_TRY(lz_alias_pending(c, s, v, &a));
    lz_node_retain((lz_node *)v.node);
    a->device = t->alias->device;
    lz_tensor_look(t, a, s, 0);
    lz_alias_release(a);
    return NULL;
}

static lz_err *put(lz_ctx *c, lz_tensor *t, const lz_spec *s, lz_output v)
{
    if (t->spec == s || lz_shape_eq(lz_spec_sizes(t->spec), lz_spec_sizes(s)))
        return lz_tensor_write(t, v, c->at);
    if (t->alias->refs == 1)
        return replace(c, t, s, v);
    LZ_TRY(resize(t, s));
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
    uint32_t k = w->written[i].result;
    if (w->x->dynamic)
        return lz_tensor_value(w->made[k].tensor, out);
    *out = (lz_output){ w->node, w->x->returns[k].first };
    return NULL;
}

static lz_err *write_all(writing *w)
{
    for (uint32_t i = 0; i < w->nwritten; i++) {
        const lz_spec *s = NULL;
        lz_output v = { NULL, 0 };
        LZ_TRY(result_of(w, i, &s));
        LZ_TRY(value_of(w, i, &v));
        LZ_TRY(resized(w, &s));
        LZ_TRY(write_one(w->c, w->written[i].t, s, v));
        lz_tensor_written(w->written[i].t, w->op, w->c->at);
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
        } else if (w->x->dynamic) {
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
    for (uint32_t i = 0; i < w->nwritten; i++) {
        const lz_spec *s;
        LZ_TRY(result_of(w, i, &s));
        LZ_TRY(check_fits(w, w->written[i].t, s));
        bool elements = s->numel || w->written[i].t->spec->numel; /* there is something to share */
        if (elements && (reads_written(w, w->written[i].t) || writes_twice(w, i)))
            return shared_element();
    }
    return NULL;
}

static lz_err *write_call(writing *w, lz_value *out)
{
    LZ_TRY(check_overlap(w));
    if (!w->x)
        LZ_TRY(lz_record_infer(w->c, w->args, &w->x));
    if (w->x->dynamic)
        LZ_TRY(lz_eager_call(w->c, w->made, &w->nmade));
    LZ_TRY(check_results(w));
    if (!w->x->dynamic)
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
    w->kin = kin_of(op);
    w->nwritten = 0;
    w->nmade = 0;
    w->x = NULL;
    w->node = NULL;
    if (!w->kin)
        return lz_errf(LZ_ERR_UNSUPPORTED, "there is no functional form of it");
    LZ_TRY(find_written(w, ok));
    if (!*ok)
        return NULL;
    find_args(w);
    w->x = lz_record_repeat(c, w->kin, w->args);
    return w->x ? NULL : lz_record_pack(c, w->kin, w->args, ok);
}

lz_err *lz_record_write(lz_ctx *c, const lz_op_row *op, const lz_value *in, lz_value *out, bool *ok)
{
    writing w;
    LZ_TRY(begin(&w, c, op, in, ok));
    return *ok ? write_call(&w, out) : NULL;
}

/* ---- for those who compute what is written in their own way ---- */

lz_err *lz_record_kin(lz_ctx *c, const lz_op_row *op, const lz_value *in, lz_kin_call *out, bool *ok)
{
    writing w;
    LZ_TRY(begin(&w, c, op, in, ok));
    if (!*ok)
        return NULL;
    LZ_TRY(check_overlap(&w));
    if (!w.x)
        LZ_TRY(lz_record_infer(c, w.args, &w.x));
    if (!w.x->dynamic)
        LZ_TRY(check_results(&w));
    out->kin = w.kin;
    memcpy(out->args, w.args, w.kin->nargs * sizeof *w.args);
    out->nwritten = w.nwritten;
    for (uint32_t i = 0; i < w.nwritten; i++) {
        out->written[i].t = w.written[i].t;
        out->written[i].result = w.written[i].result;
    }
    return NULL;
}

lz_err *lz_record_put(lz_ctx *c, const lz_op_row *op, lz_tensor *t, lz_tensor *made)
{
    lz_output v;
    LZ_TRY(lz_tensor_value(made, &v));
    LZ_TRY(write_one(c, t, made->spec, v));
    lz_tensor_written(t, op, c->at);
    return NULL;
}
