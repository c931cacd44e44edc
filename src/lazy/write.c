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

/* ---- arguments of the functional operator ---- */

static bool is_passed(const lz_value *v)
{
    return v->kind != LZ_KIND_NONE && (v->kind != LZ_KIND_DTYPE || v->dtype != LZ_DTYPE_NONE);
}

static lz_value functional_arg(const writing *w, uint32_t i)
{
    const lz_arg_row *a = &w->functional->args[i];
    uint32_t source = lz_write_source(w->op, i);
    bool passed = source != LZ_NO_ARGUMENT && is_passed(&w->in[source]);
    if (!passed && w->writes->n && lz_write_takes_dtype(w->op, i))
        return lz_value_dtype((lz_dtype)w->writes->v[0].t->spec->dtype);
    return source != LZ_NO_ARGUMENT ? w->in[source] : a->default_value ? *a->default_value : lz_value_none();
}

static void find_args(writing *w)
{
    bool own_dtype = w->writes->n && lz_layout_of(w->op)->memory & LZ_MEMORY_OWN_DTYPE;
    w->args = lz_write_same_arguments(w->op) && !own_dtype ? w->in : w->own;
    for (uint32_t i = 0; w->args == w->own && i < w->functional->nargs; i++)
        w->own[i] = functional_arg(w, i);
}

/* ---- the written tensors ---- */

static uint32_t count_written(const writing *w, const lz_functional_row *row)
{
    uint32_t n = 0;
    for (uint32_t k = 0; k < row->nwrites; k++) {
        const lz_value *v = &w->in[row->writes[k].argument];
        n += v->kind == LZ_KIND_TENSORS && v->tensors.n > 0 ? (uint32_t)v->tensors.n : 1;
    }
    return n;
}

static lz_err *reserve(lz_writes *list, uint32_t n)
{
    list->v = list->few;
    if (n <= sizeof list->few / sizeof *list->few)
        return NULL;
    list->v = lz_mem_alloc(n * sizeof *list->v);
    return list->v ? NULL : lz_err_oom();
}

static void drop(lz_writes *list)
{
    if (list->v != list->few)
        lz_mem_free(list->v);
    list->v = NULL;
    list->n = 0;
}

static lz_err *add_written(writing *w, lz_written x, bool *ok)
{
    bool usable = true;
    LZ_TRY(lz_record_check(w->c, x.t, &usable));
    *ok = *ok && usable;
    w->writes->v[w->writes->n++] = x;
    return NULL;
}

static lz_err *add_list(writing *w, const lz_arg_row *a, const lz_value *v, uint32_t result, bool *ok)
{
    if (v->kind != LZ_KIND_TENSORS || v->tensors.n < 0)
        return lz_errf(LZ_ERR_ARG, "argument '%s' must be a list of tensors, not none", a->name);
    LZ_TRY(lz_call_check_lists(w->op, w->in));
    for (int64_t i = 0; i < v->tensors.n; i++) {
        if (!v->tensors.v[i])
            return lz_errf(LZ_ERR_ARG, "argument '%s' must be a list of tensors, item %" PRIi64 " is none",
                           a->name, i);
        LZ_TRY(
            add_written(w, (lz_written){ v->tensors.v[i], result, (uint32_t)i, (uint32_t)v->tensors.n }, ok));
    }
    return NULL;
}

/* Lists the written tensors in the order of the arguments. */
static lz_err *find_written(writing *w, bool *ok)
{
    const lz_functional_row *row = &lz_functional_table[w->op - lz_op_table];
    LZ_TRY(reserve(w->writes, count_written(w, row)));
    for (uint32_t k = 0; k < row->nwrites; k++) {
        const lz_arg_row *a = &w->op->args[row->writes[k].argument];
        const lz_value *v = &w->in[row->writes[k].argument];
        if (a->type->kind == LZ_KIND_TENSORS)
            LZ_TRY(add_list(w, a, v, row->writes[k].result, ok));
        else if (v->kind == LZ_KIND_TENSOR && v->tensor)
            LZ_TRY(add_written(w, (lz_written){ .t = v->tensor, .result = row->writes[k].result }, ok));
        else if (!(a->type->flags & LZ_TYPE_OPTIONAL))
            return lz_errf(LZ_ERR_ARG, "argument '%s' must be a tensor, not none", a->name);
    }
    return NULL;
}

/* ---- what may be written ---- */

static inline lz_storage_view view_of(const lz_tensor *t)
{
    return (lz_storage_view){ t->storage, t->spec, t->offset };
}

/* Whether another tensor may see the elements of t. */
static inline bool is_shared(const lz_tensor *t)
{
    return t->storage->refs > 1;
}

static bool overlap_at_all(const lz_tensor *a, const lz_tensor *b)
{
    lz_storage_view x = view_of(a), y = view_of(b);
    return a == b || lz_storage_views_overlap(&x, &y); /* a == b is an overlap even without elements */
}

/* For operators whose written tensors must not overlap each other. */
static bool writes_twice(const writing *w, uint32_t i)
{
    bool found = false;
    for (uint32_t k = 0; lz_layout_of(w->op)->memory & LZ_MEMORY_ALONE && !found && k < i; k++)
        found = overlap_at_all(w->writes->v[i].t, w->writes->v[k].t);
    return found;
}

static bool copies_itself(const writing *w)
{
    lz_write_read reads[2];
    size_t n = 0;
    if (!(lz_layout_of(w->op)->memory & LZ_MEMORY_COPIES) || !w->writes->n)
        return false;
    lz_storage_view to = view_of(w->writes->v[0].t);
    for (uint32_t i = 0; i < 2; i++)
        /* NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult): find_args has set it */
        if (w->args[i].kind == LZ_KIND_TENSOR && w->args[i].tensor)
            reads[n++] = (lz_write_read){ .view = view_of(w->args[i].tensor), .arg = i };
    return lz_write_copies_itself(w->op, &to, reads, n);
}

static bool names_dtype(const writing *w)
{
    uint32_t i = lz_write_dtype_argument(w->op);
    return i != LZ_NO_ARGUMENT && is_passed(&w->in[i]);
}

static bool reads_itself(const writing *w, const lz_tensor *t)
{
    bool found = false;
    for (uint32_t i = 0; !found && i < w->functional->nargs; i++)
        /* NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult): find_args has set it */
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
    lz_storage_view to = view_of(t);
    LZ_TRY(lz_write_check_overlap(&rule, &to, NULL, 0));
    for (size_t j = 0; j < call->tensors.len; j++) {
        const lz_tensor *x = call->tensors.data[j];
        if (!x || x->storage != t->storage || x == t)
            continue;
        lz_write_read read = { .view = view_of(x) };
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
    lz_storage_view to = view_of(t);
    lz_write_read read = { view_of(x), arg, x == t };
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
        /* NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult): find_args has set it */
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
    w->writes->n = 0;
    w->nmade = 0;
    w->x = NULL;
    w->node = NULL;
    w->by_formula = false;
    if (!w->functional)
        return lz_errf(LZ_ERR_UNSUPPORTED, "the operator has no functional form");
    LZ_TRY(find_written(w, ok));
    if (!*ok)
        return NULL;
    find_args(w);
    w->by_formula = lz_record_is_by_formula(w->functional, w->args);
    w->x = lz_record_repeat(c, w->functional, w->args);
    return w->x ? NULL : lz_record_pack(c, w->functional, w->args, ok);
}

/* ---- lists whose items are written one after the other ---- */

/* The storages of written lists, by address: which item uses a storage. */
typedef struct storages {
    const lz_lazy_storage **of; /* NULL: free */
    uint32_t *item, mask;
} storages;

static uint32_t place_of(const storages *s, const lz_lazy_storage *x)
{
    uint32_t i = (uint32_t)((uintptr_t)x >> 4) & s->mask;
    while (s->of[i] && s->of[i] != x)
        i = (i + 1) & s->mask;
    return i;
}

/* Whether another item than `item` has written elements of that storage, as far as the first finding goes. */
static bool is_anothers(const storages *s, const lz_tensor *t, uint32_t item)
{
    uint32_t i = place_of(s, t->storage);
    return s->of[i] && s->item[i] != item;
}

/* Whether the storage of a written item is also used by another item. */
static bool shares_storages(storages *s, const lz_op_row *op, const lz_value *in, const lz_writes *writes)
{
    bool found = false;
    for (uint32_t i = 0; i < writes->n; i++) {
        const lz_written *x = &writes->v[i];
        uint32_t k = place_of(s, x->t->storage);
        found = found || (s->of[k] && s->item[k] != x->item);
        s->of[k] = x->t->storage;
        s->item[k] = x->item;
    }
    for (uint32_t i = 0; i < op->nargs; i++)
        for (int64_t k = 0; in[i].kind == LZ_KIND_TENSORS && !found && k < in[i].tensors.n; k++)
            found = in[i].tensors.v[k]->storage && is_anothers(s, in[i].tensors.v[k], (uint32_t)k);
    return found;
}

/* Whether item i of a written list is seen by another item of the call: its new value is an operand there. */
static bool meets_another(const lz_op_row *op, const lz_value *in, const lz_written *x)
{
    bool found = false;
    for (uint32_t i = 0; i < op->nargs; i++)
        for (int64_t k = 0; in[i].kind == LZ_KIND_TENSORS && !found && k < in[i].tensors.n; k++) {
            const lz_tensor *y = in[i].tensors.v[k];
            found = k != x->item && y->storage == x->t->storage && overlap_at_all(x->t, y);
        }
    return found;
}

lz_err *lz_record_is_by_items(const lz_op_row *op, const lz_value *in, const lz_writes *writes, bool *found)
{
    storages s = { .mask = 15 };
    *found = false;
    if (op->kind != LZ_SCHEMA_INPLACE || !(lz_layout_of(op)->memory & LZ_MEMORY_ITEMS) || writes->n < 2)
        return NULL;
    while (s.mask < 2 * writes->n)
        s.mask = 2 * s.mask + 1;
    s.of = lz_mem_zalloc(s.mask + 1, sizeof *s.of);
    s.item = lz_mem_zalloc(s.mask + 1, sizeof *s.item);
    bool shared = s.of && s.item && shares_storages(&s, op, in, writes);
    for (uint32_t i = 0; shared && !*found && i < writes->n; i++)
        *found = writes->v[i].of > 1 && meets_another(op, in, &writes->v[i]);
    bool failed = !s.of || !s.item;
    lz_mem_free(s.of);
    lz_mem_free(s.item);
    return failed ? lz_err_oom() : NULL;
}

/* The arguments of a call for item i: lists of one item. */
static void slice(const lz_op_row *op, const lz_value *in, int64_t n, int64_t i, lz_value *out)
{
    for (uint32_t k = 0; k < op->nargs; k++) {
        out[k] = in[k];
        if (in[k].kind == LZ_KIND_TENSORS && in[k].tensors.n == n)
            out[k].tensors = (lz_tensors){ in[k].tensors.v + i, 1 };
        if (in[k].kind == LZ_KIND_SCALARS && in[k].scalars.n == n)
            out[k].scalars = (lz_scalars){ in[k].scalars.v + i, 1 };
    }
}

lz_err *lz_record_by_items(lz_ctx *c, const lz_op_row *op, lz_loc at, const lz_value *in, uint32_t n)
{
    lz_value one[LZ_ARGS_MAX], none[LZ_ARGS_MAX];
    for (uint32_t i = 0; i < n; i++) {
        slice(op, in, n, i, one);
        LZ_TRY(lz_record_part(c, op, at, one, none));
    }
    return NULL;
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

lz_err *lz_record_write(lz_ctx *c, const lz_op_row *op, const lz_value *in, lz_value *out, bool *ok)
{
    lz_writes writes; /* not all of both is set: to clear their arrays would double the cost of a write */
    writing w;
    writes.v = NULL;
    writes.n = 0;
    w.writes = &writes;
    lz_err *e = record_write(&w, c, op, in, out, ok);
    drop(&writes);
    return e;
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

void lz_functional_call_deinit(lz_functional_call *f)
{
    drop(&f->writes);
}

lz_tensor *lz_written_value(const lz_written *w, const lz_value *results, size_t n)
{
    const lz_value *v = w->result < n ? &results[w->result] : NULL;
    if (v && v->kind == LZ_KIND_TENSORS)
        return w->of && w->item < (uint64_t)v->tensors.n ? v->tensors.v[w->item] : NULL;
    return v && v->kind == LZ_KIND_TENSOR && !w->of ? v->tensor : NULL;
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
