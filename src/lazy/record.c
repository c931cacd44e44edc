#include "lazy/record.h"
#include "base/clock.h"
#include "base/profiler.h"
#include "core/device.h"
#include "core/strides.h"
#include "lazy/debug.h"
#include "lazy/eager.h"
#include "lazy/lazy_scope.h"
#include "lazy/lazy_tensor.h"
#include "lazy/record_impl.h"
#include "lazy/recorder.h"
#include "lazy/runtime.h"
#include "lazy/write_statistics.h"
#include "lower/layout.h"
#include "lower/statistics.h"
#include "lower/storage_question.h"
#include "lower/write_rules.h"
#include "op/functional_table.h"
#include "op/op_table.h"
#include <assert.h>
#include <string.h>

/* ---- the parts of recording ---- */

lz_err *lz_record_check(const lz_ctx *c, const lz_tensor *t, bool *ok)
{
    if (t->ctx != c)
        return lz_err_because(LZ_REASON_CONTEXT, "a tensor belongs to another context: lz_share it");
    if (!t->storage)
        *ok = false;
    return NULL;
}

static lz_err *other_device(void)
{
    return lz_errf(LZ_ERR_ARG, "Expected all tensors to be on the same device");
}

/* Specs of the operands. */
static lz_err *look_at_operands(lz_ctx *c, bool *ok)
{
    size_t n = c->call.tensors.len;
    const lz_tensor *first = NULL;
    *ok = true;
    if (c->operand_specs.cap < n) {
        c->operand_specs.len = 0;
        LZ_TRY(lz_vec_reserve(&c->operand_specs, n));
    }
    c->operand_specs.len = n;
    for (size_t i = 0; i < n; i++) {
        const lz_tensor *t = c->call.tensors.data[i];
        c->operand_specs.data[i] = t ? t->spec : NULL;
        if (!t)
            continue;
        if (t->ctx != c || !t->storage) {
            *ok = false;
            return lz_record_check(c, t, ok);
        }
        first = first ? first : t;
        if (t->storage->device.type != first->storage->device.type
            || t->storage->device.index != first->storage->device.index)
            return other_device();
    }
    return NULL;
}

lz_err *lz_record_pack(lz_ctx *c, const lz_op_row *op, const lz_value *in, bool *ok)
{
    LZ_TRY(lz_call_pack(&c->call, op, in, lz_infer_is_static(c->infer, op)));
    return look_at_operands(c, ok);
}

lz_err *lz_record_infer(lz_ctx *c, const lz_value *in, const lz_inferred **out)
{
    const lz_op_row *op = c->call.op;
    lz_err *e = lz_infer_call(c->infer, &c->call, c->operand_specs.data, out);
    if (lz_err_code(e) != LZ_ERR_NEEDS_VALUE || c->call.nnumbers == 0)
        return e;
    lz_err_free(e);
    LZ_TRY(lz_call_pack(&c->call, op, in, true));
    return lz_infer_call(c->infer, &c->call, c->operand_specs.data, out);
}

/* ---- a call that repeats the call after the last one ---- */

/* The value of t if it is known already; else node is NULL. */
static inline lz_output value_at_hand(const lz_tensor *t)
{
    const lz_lazy_storage *a = t->storage;
    if (!lz_tensor_is_base(t))
        return lz_storage_is_at(&a->head, t->version) ? t->value : (lz_output){ NULL, 0 };
    return a->value.node ? a->value : (lz_output){ a->leaf, 0 };
}

/* A call that is compared with an earlier one. tensors, values: where to store the operands; NULL: not
 * stored. */
typedef struct matching {
    const lz_inferred *x;
    lz_tensor **tensors;
    lz_output *values;
    lz_device device; /* of the first operand */
} matching;

static inline bool matches_tensor(matching *m, uint32_t operand, lz_tensor *t)
{
    if (!t || t->spec != m->x->in[operand])
        return false;
    assert(t->storage); /* an inert tensor has no spec of the context */
    if (m->tensors)
        m->tensors[operand] = t;
    if (m->values) {
        m->values[operand] = value_at_hand(t);
        if (!m->values[operand].node)
            return false;
    }
    if (operand == 0)
        m->device = t->storage->device;
    return lz_device_eq(t->storage->device, m->device);
}

static inline bool matches_list(matching *m, const lz_slot *s, const lz_value *v)
{
    bool same = v->kind == LZ_KIND_TENSORS && v->tensors.n == s->n && (s->n == 0 || v->tensors.v);
    for (uint32_t i = 0; same && i < s->n; i++)
        same = matches_tensor(m, s->first + i, v->tensors.v[i]);
    return same;
}

/* Whether packing and inferring would give m->x. If so, operands and numbers are stored. */
static inline bool matches(matching *m, const lz_value *v, lz_scalar *numbers)
{
    const lz_node_form *f = &m->x->form;
    assert(f->nslots >= f->op->nargs);
    for (const lz_slot *s = f->slots, *end = s + f->op->nargs; s < end; s++, v++) {
        bool same;
        if (s->kind == LZ_ARG_TENSOR) {
            same = v->kind == LZ_KIND_TENSOR && matches_tensor(m, s->first, v->tensor);
        } else if (s->kind == LZ_ARG_SCALAR) {
            same = v->kind == LZ_KIND_SCALAR && v->scalar.kind == (lz_scalar_kind)s->scalar;
            numbers[s->first] = v->scalar;
        } else {
            same = s->kind == LZ_ARG_TENSORS ? matches_list(m, s, v)
                                             : lz_pack_repeats(s, f->fixed, &f->op->args[s - f->slots], v);
        }
        if (!same)
            return false;
    }
    return true;
}

/* The answer that followed the last answer, if it is about op. */
static inline lz_inferred *expected(const lz_ctx *c, const lz_op_row *op)
{
    lz_inferred *x = lz_infer_position_of(c->infer)->last->after[0];
    return x && x->form.op == op ? x : NULL;
}

static inline void follow(const lz_ctx *c, lz_inferred *x)
{
    lz_infer_position *position = lz_infer_position_of(c->infer);
    position->last = x;
    position->sequence = LZ_INFER_SEQUENCE_REPEATED;
}

/* Since x was inferred, the numbers of the operator have become fixed. */
static inline bool is_outdated(const lz_ctx *c, const lz_inferred *x)
{
    return x->form.nnumbers && lz_infer_is_static(c->infer, x->form.op);
}

const lz_inferred *lz_record_repeat(lz_ctx *c, const lz_op_row *op, const lz_value *in)
{
    lz_inferred *x = expected(c, op);
    lz_call *call = &c->call;
    if (!x || x->dynamic || call->tensors.cap < x->form.nin || is_outdated(c, x))
        return NULL;
    matching m = { .x = x, .tensors = call->tensors.data };
    if (!matches(&m, in, call->numbers))
        return NULL;
    call->op = op;
    call->args = in;
    call->nslots = op->nargs;
    call->nnumbers = x->form.nnumbers - (x->streams ? 2U : 0U);
    call->tensors.len = x->form.nin;
    follow(c, x);
    return x;
}

/* ---- the node of a call ---- */

static inline lz_err *find_operands(lz_ctx *c)
{
    size_t n = c->call.tensors.len;
    if (c->operands.cap < n) {
        c->operands.len = 0;
        LZ_TRY(lz_vec_reserve(&c->operands, n));
    }
    c->operands.len = n;
    for (size_t i = 0; i < n; i++) {
        lz_tensor *t = c->call.tensors.data[i];
        lz_output *to = &c->operands.data[i];
        *to = t ? value_at_hand(t) : (lz_output){ NULL, 0 };
        if (t && !to->node)
            LZ_TRY(lz_tensor_value(t, to));
    }
    return NULL;
}

static void count_op(lz_ctx *c, const lz_op_row *op)
{
    size_t i = (size_t)(op - lz_op_table);
    lz_infer_sequence sequence = lz_infer_position_of(c->infer)->sequence;
    lz_ctx_count(c, LZ_COUNT_OPS + i);
    if (sequence == LZ_INFER_SEQUENCE_REPEATED)
        lz_ctx_count(c, LZ_COUNT_REUSED + i);
    if (sequence == LZ_INFER_SEQUENCE_FORKED)
        lz_ctx_count(c, LZ_COUNT_FORKED);
}

lz_err *lz_record_node(lz_ctx *c, const lz_inferred *x, lz_node **out)
{
    LZ_TRY(find_operands(c));
    lz_generator *g = c->drawing;
    if (x->streams)
        LZ_TRY(lz_ctx_draw(c, &c->call, &g));
    LZ_TRY(lz_node_make(c->nodes, &x->form, c->operands.data, c->call.numbers, c->at, c->scope->path, out));
    g->state.position += x->streams;
    count_op(c, x->form.op);
    return NULL;
}

/* A result whose strides leave gaps or let elements coincide: a view of a storage that is long enough. */
static lz_err *spread_tensor(lz_ctx *c, const lz_spec *s, lz_device d, lz_output v, lz_tensor **out)
{
    const lz_spec *dense;
    LZ_TRY(lz_spec_get(c->specs, (lz_dtype)s->dtype, lz_spec_sizes(s), (lz_ints){ NULL, 0 }, &dense));
    lz_node_retain((lz_node *)v.node); /* the storage gives its count up when it grows */
    lz_err *e = lz_tensor_pending(c, dense, d, v, out);
    bool made = !e;
    if (made)
        e = lz_tensor_resize(*out, s);
    if (!e)
        e = lz_tensor_write(*out, v, c->at);
    if (!e || !made)
        lz_node_release(c->nodes, (lz_node *)v.node);
    return e;
}

/* Takes over one count of the node unless the function fails. */
static lz_err *fresh_tensor(lz_ctx *c, const lz_result *r, const lz_node *node, uint32_t index,
                            lz_tensor **out)
{
    const lz_tensor *first = c->call.tensors.len ? c->call.tensors.data[0] : NULL;
    lz_device d = first ? first->storage->device : c->device;
    return (r->spec->dense ? lz_tensor_pending : spread_tensor)(c, r->spec, d, (lz_output){ node, index },
                                                                out);
}

lz_err *lz_record_tensor(lz_ctx *c, const lz_result *r, const lz_node *node, uint32_t index, bool several,
                         lz_tensor **out)
{
    if (r->viewed < 0) {
        assert(node); /* only views need no node (needs_node) */
        LZ_TRY(fresh_tensor(c, r, node, index, out));
        lz_node_retain((lz_node *)node);
        return NULL;
    }
    lz_tensor *t = c->call.tensors.data[r->viewed];
    if (r->same) {
        *out = t;
        return lz_scope_share(c->scope, t);
    }
    LZ_TRY(lz_tensor_create(t->storage, r->spec, t->offset + r->offset, out));
    if (lz_layout_of(c->call.op)->memory & LZ_MEMORY_DETACHES)
        (*out)->tape.history = ++c->histories;
    else
        lz_tensor_shows(*out, t, several ? LZ_CREATED_SEVERAL : 0);
    if (!node || lz_tensor_is_base(*out))
        return NULL;
    lz_node_retain((lz_node *)node);
    (*out)->value = (lz_output){ node, index };
    (*out)->version = t->storage->head.version;
    return NULL;
}

/* ---- operators that do not write ---- */

/* A view's node is the call itself if the call is a function of one current value. Otherwise the value is
 * derived from the storage on demand. So is a part of a storage with moving views, where offsets are run-time
 * numbers. */
static bool views_need_node(const lz_ctx *c, const lz_inferred *x)
{
    lz_tensor *const *in = c->call.tensors.data;
    bool moves = false;
    for (uint32_t i = 0; i < x->form.nout; i++) {
        const lz_result *r = &x->results[i];
        if (r->viewed < 0)
            return true;
        const lz_lazy_storage *a = in[r->viewed]->storage;
        moves = moves || (r->spec->extent < a->spec->numel && lz_lazy_storage_moves(a));
    }
    return !x->results[0].same && !moves && c->call.tensors.len == 1 && lz_tensor_is_current(in[0]);
}

static inline bool needs_node(const lz_ctx *c, const lz_inferred *x)
{
    return x->form.nout && (x->results[0].viewed < 0 || views_need_node(c, x));
}

static lz_value number_value(lz_kind kind, lz_scalar s)
{
    if (kind == LZ_KIND_INT)
        return lz_value_integer(s.i);
    if (kind == LZ_KIND_BOOL)
        return lz_value_truth(s.kind == LZ_SCALAR_FLOAT ? s.re != 0 : s.i != 0);
    if (kind == LZ_KIND_FLOAT)
        return lz_value_real(s.kind == LZ_SCALAR_FLOAT ? s.re : (double)s.i);
    if (kind == LZ_KIND_DTYPE)
        return lz_value_dtype(s.kind == LZ_SCALAR_INT ? (lz_dtype)s.i : LZ_DTYPE_NONE);
    return lz_value_scalar(s);
}

static lz_err *give_list(lz_ctx *c, const lz_inferred *x, const lz_returned *r, const lz_node *node,
                         lz_value *out)
{
    lz_tensor **list = lz_scope_alloc(c->scope, (r->n + 1) * sizeof *list);
    bool several = !(lz_layout_of(c->call.op)->memory & LZ_MEMORY_ONE_BY_ONE);
    if (!list)
        return lz_err_oom();
    for (uint32_t i = 0; i < r->n; i++)
        LZ_TRY(lz_record_tensor(c, &x->results[r->first + i], node, r->first + i, several, &list[i]));
    *out = lz_value_tensors((lz_tensors){ list, r->n });
    return NULL;
}

static lz_err *give_results(lz_ctx *c, const lz_op_row *op, const lz_inferred *x, const lz_node *node,
                            lz_value *out)
{
    for (uint32_t i = 0; i < op->nreturns && i < x->nreturns; i++) {
        const lz_returned *r = &x->returns[i];
        lz_tensor *t = NULL;
        out[i] = lz_value_none();
        if (r->kind == LZ_KIND_TENSORS) {
            LZ_TRY(give_list(c, x, r, node, &out[i]));
        } else if (r->kind == LZ_KIND_TENSOR) {
            LZ_TRY(lz_record_tensor(c, &x->results[r->first], node, r->first, false, &t));
            out[i] = lz_value_tensor(t);
        } else if (r->kind == LZ_KIND_SCALAR || r->kind == LZ_KIND_DTYPE) {
            out[i] = number_value((lz_kind)op->returns[i].type->kind, r->number);
        }
    }
    return NULL;
}

/* The formula of an operator that returns a list knows the list's length: where(condition). That of a view
 * records views. */
static bool gives_list(const lz_op_row *op)
{
    bool list = false;
    for (uint32_t i = 0; i < op->nreturns; i++)
        list = list || op->returns[i].type->kind == LZ_KIND_TENSORS;
    return list;
}

static lz_err *run_now(lz_ctx *c, const lz_op_row *op, const lz_value *in, lz_value *out)
{
    lz_value results[LZ_ARGS_MAX];
    size_t n;
    lz_ctx_count(c, LZ_COUNT_OPS + (size_t)(op - lz_op_table));
    if (gives_list(op) || op->flags & LZ_OPF_VIEW)
        return lz_recorder_formula(c, op, c->at, in, out);
    LZ_TRY(lz_eager_call(c, results, &n));
    for (size_t i = 0; i < n && i < op->nreturns; i++)
        out[i] = results[i].kind == LZ_KIND_SCALAR
                     ? number_value((lz_kind)op->returns[i].type->kind, results[i].scalar)
                     : results[i];
    return NULL;
}

bool lz_record_is_by_formula(const lz_op_row *op, const lz_value *in)
{
    bool found = false;
    for (uint32_t i = 0; !found && i < op->nargs; i++)
        found = in[i].kind == LZ_KIND_SCALARS && !op->args[i].fixed;
    return found;
}

static lz_err *record_plain(lz_ctx *c, const lz_op_row *op, const lz_value *in, lz_value *out, bool *ok)
{
    const lz_inferred *x = lz_record_repeat(c, op, in);
    lz_node *node = NULL;
    if (!x) {
        LZ_TRY(lz_record_pack(c, op, in, ok));
        if (!*ok)
            return NULL;
        if (lz_record_is_by_formula(op, in)) {
            lz_ctx_count(c, LZ_COUNT_OPS + (size_t)(op - lz_op_table));
            return lz_recorder_formula(c, op, c->at, in, out);
        }
        LZ_TRY(lz_record_infer(c, in, &x));
    }
    if (x->dynamic)
        return run_now(c, op, in, out);
    if (needs_node(c, x))
        LZ_TRY(lz_record_node(c, x, &node));
    else
        lz_ctx_count(c, LZ_COUNT_OPS + (size_t)(op - lz_op_table)); /* a view without a node */
    lz_err *e = give_results(c, op, x, node, out);
    lz_node_release(c->nodes, node);
    return e;
}

/* ---- as_strided: a view of the storage, not of the argument's view ---- */

/* Sizes, strides and perhaps the offset are arguments, or those of another tensor (slice_inverse). */
static lz_err *strided_spec(lz_ctx *c, const lz_op_row *op, const lz_value *in, const lz_spec **spec,
                            int64_t *offset)
{
    const lz_tensor *t = in[0].tensor, *as = in[1].kind == LZ_KIND_TENSOR ? in[1].tensor : NULL;
    lz_ints sizes = as ? lz_spec_sizes(as->spec) : in[1].ints,
            strides = as ? lz_spec_strides(as->spec) : in[2].ints;
    const lz_spec *base = t->storage->spec;
    size_t element = lz_dtype_size((lz_dtype)base->dtype);
    bool named = !as && op->nargs > 3 && in[3].kind == LZ_KIND_INT;
    *offset = as ? as->offset : named ? in[3].integer : t->offset;
    LZ_TRY(lz_shape_check(sizes));
    for (int64_t i = 0; i < strides.n; i++)
        if (strides.v[i] < 0)
            return lz_errf(LZ_ERR_ARG, "as_strided: Negative strides are not supported at the moment");
    LZ_TRY(lz_strides_check(sizes, strides, *offset, element, (size_t)base->numel * element));
    return lz_spec_get(c->specs, (lz_dtype)base->dtype, sizes, strides, spec);
}

static lz_err *check_strided(const lz_ctx *c, const lz_op_row *op, const lz_value *in, bool *ok)
{
    for (uint32_t i = 0; i < 2; i++) {
        bool tensor = op->args[i].type->kind == LZ_KIND_TENSOR;
        if (tensor && (in[i].kind != LZ_KIND_TENSOR || !in[i].tensor))
            return lz_errf(LZ_ERR_ARG, "%s(): argument '%s' must be a tensor, not none", op->name,
                           op->args[i].name);
        if (tensor)
            LZ_TRY(lz_record_check(c, in[i].tensor, ok));
    }
    return NULL;
}

static lz_err *record_strided(lz_ctx *c, const lz_op_row *op, const lz_value *in, lz_value *out, bool *ok)
{
    lz_tensor *t = in[0].tensor, *made = NULL;
    const lz_spec *spec = NULL;
    int64_t offset = 0;
    LZ_TRY(check_strided(c, op, in, ok));
    if (!*ok)
        return NULL;
    assert(t);
    LZ_TRY(strided_spec(c, op, in, &spec, &offset));
    lz_ctx_count(c, LZ_COUNT_OPS + (size_t)(op - lz_op_table));
    out[0] = in[0];
    if (op->flags & LZ_OPF_MUTABLE) {
        lz_tensor_look(t, t->storage, spec, offset);
        lz_tensor_written(t, op, c->at);
        return NULL;
    }
    LZ_TRY(lz_tensor_create(t->storage, spec, offset, &made));
    lz_tensor_shows(made, t, 0);
    out[0] = lz_value_tensor(made);
    return NULL;
}

/* Copies a view of the storage. */
static lz_err *record_strided_copy(lz_ctx *c, const lz_op_row *op, const lz_value *in, lz_value *out,
                                   bool *ok)
{
    lz_value looks = lz_value_none();
    const lz_value place[] = { in[0], in[1], in[2], op->nargs > 3 ? in[3] : looks };
    LZ_TRY(record_strided(c, &lz_op_table[LZ_OP_as_strided], place, &looks, ok));
    if (!*ok || looks.kind != LZ_KIND_TENSOR)
        return NULL;
    const lz_value args[] = { looks, lz_value_memory_format(LZ_CONTIGUOUS) };
    lz_err *e = record_plain(c, &lz_op_table[LZ_OP_clone], args, out, ok);
    lz_release(looks.tensor);
    lz_ctx_count(c, LZ_COUNT_OPS + (size_t)(op - lz_op_table));
    return e;
}

static lz_err *record_strided_copy_out(lz_ctx *c, const lz_op_row *op, const lz_value *in, lz_value *out,
                                       bool *ok)
{
    lz_value made = lz_value_none();
    const lz_value *to = &in[op->nargs - 1];
    if (to->kind != LZ_KIND_TENSOR || !to->tensor)
        return lz_errf(LZ_ERR_ARG, "argument 'out' must be a tensor, not none");
    LZ_TRY(lz_record_check(c, to->tensor, ok));
    if (*ok)
        LZ_TRY(record_strided_copy(c, lz_write_functional(op), in, &made, ok));
    if (!*ok || made.kind != LZ_KIND_TENSOR)
        return NULL;
    if (to->tensor->spec->dtype != made.tensor->spec->dtype)
        return lz_err_because(LZ_REASON_DTYPE, "Expected out tensor to have dtype %s, but got %s instead",
                              lz_dtype_get((lz_dtype)made.tensor->spec->dtype)->name,
                              lz_dtype_get((lz_dtype)to->tensor->spec->dtype)->name);
    out[0] = *to;
    return lz_record_put(c, op, to->tensor, made.tensor);
}

/* ---- operators that give self other sizes: resize_ ---- */

static bool names_format(const lz_op_row *op, const lz_value *in)
{
    bool named = false;
    for (uint32_t i = 0; i < op->nargs; i++)
        named =
            named || (in[i].kind == LZ_KIND_MEMORY_FORMAT && in[i].memory_format != LZ_MEMORY_FORMAT_NONE);
    return named;
}

/* The functional form has the sizes and strides. Its elements are those that the storage has. */
static lz_err *record_resize(lz_ctx *c, const lz_op_row *op, const lz_value *in, lz_value *out, bool *ok)
{
    const lz_inferred *x;
    LZ_TRY(lz_record_pack(c, lz_write_functional(op), in, ok));
    if (!*ok)
        return NULL;
    LZ_TRY(lz_record_infer(c, in, &x));
    lz_tensor *t = in[0].tensor;
    const lz_spec *spec = x->results[0].spec;
    lz_ctx_count(c, LZ_COUNT_OPS + (size_t)(op - lz_op_table));
    if (names_format(op, in) || !lz_shape_eq(lz_spec_sizes(t->spec), lz_spec_sizes(spec))) {
        LZ_TRY(lz_tensor_resize(t, spec));
        lz_tensor_written(t, op, c->at);
    }
    out[0] = in[0];
    return NULL;
}

/* ---- questions about storages ---- */

static lz_err *record_question(lz_ctx *c, const lz_op_row *op, const lz_value *in, lz_value *out, bool *ok)
{
    lz_storage_asked asked = { .dim = 0 };
    lz_scalar answer;
    for (uint32_t i = 0; i < op->nargs; i++) {
        const lz_tensor *t = in[i].kind == LZ_KIND_TENSOR ? in[i].tensor : NULL;
        if (in[i].kind == LZ_KIND_INT) {
            asked.dim = in[i].integer;
            continue;
        }
        if (!t)
            return lz_errf(LZ_ERR_ARG, "argument '%s' must be a tensor, not none", op->args[i].name);
        LZ_TRY(lz_record_check(c, t, ok));
        if (!*ok)
            return NULL;
        asked.place[i] =
            (lz_storage_place){ t->storage, t->offset, lz_spec_sizes(t->spec), lz_spec_strides(t->spec) };
    }
    LZ_TRY(lz_storage_answer(op, &asked, &answer));
    lz_ctx_count(c, LZ_COUNT_OPS + (size_t)(op - lz_op_table));
    out[0] = number_value((lz_kind)op->returns[0].type->kind, answer);
    return NULL;
}

/* ---- operators that change their argument's view of its storage: t_ ---- */

static lz_err *record_look(lz_ctx *c, const lz_op_row *op, const lz_value *in, lz_value *out, bool *ok)
{
    const lz_op_row *view = &lz_op_table[lz_functional_table[op - lz_op_table].view];
    lz_value made = lz_value_tensor(NULL);
    bool detaches = lz_layout_of(op)->memory & LZ_MEMORY_DETACHES;
    if (detaches && in[0].kind == LZ_KIND_TENSOR && in[0].tensor
        && in[0].tensor->tape.creation & LZ_CREATED_VIEW)
        return lz_errf(LZ_ERR_ARG, "Can't detach views in-place. Use detach() instead.");
    LZ_TRY(record_plain(c, view, in, &made, ok));
    if (!*ok || !made.tensor)
        return NULL;
    lz_tensor *t = in[0].tensor, *v = made.tensor;
    assert(t); /* record_plain has made a view of t */
    lz_output value = v->value;
    uint32_t version = v->version;
    v->value.node = NULL;
    lz_tensor_look(t, v->storage, v->spec, v->offset);
    t->value = value;
    t->version = version;
    if (!(lz_layout_of(op)->memory & LZ_MEMORY_NO_WRITE))
        lz_tensor_written(t, op, c->at);
    lz_release(v);
    out[0] = in[0];
    return NULL;
}

/* ---- any operator ---- */

typedef lz_err *record_fn(lz_ctx *c, const lz_op_row *op, const lz_value *in, lz_value *out, bool *ok);

/* Of an operator that uses the storage behind its argument's view. */
static record_fn *storage_recorder_of(const lz_op_row *op)
{
    return lz_op_asks_storage(op)      ? record_question
           : op->flags & LZ_OPF_VIEW   ? record_strided
           : op->kind == LZ_SCHEMA_OUT ? record_strided_copy_out
                                       : record_strided_copy;
}

static inline record_fn *recorder_of(const lz_op_row *op)
{
    if (lz_layout_of(op)->memory & LZ_MEMORY_STORAGE)
        return storage_recorder_of(op);
    if (op->kind == LZ_SCHEMA_FUNCTIONAL)
        return record_plain;
    if (op->kind == LZ_SCHEMA_INPLACE && lz_layout_of(op)->memory & LZ_MEMORY_RESIZES)
        return record_resize;
    return op->flags & LZ_OPF_INPLACE_VIEW ? record_look : lz_record_write;
}

static int64_t length_by(const lz_value *v, int64_t more)
{
    return v->kind == LZ_KIND_INT ? v->integer + more : v->kind == LZ_KIND_INTS ? v->ints.n + more : 0;
}

/* How many tensors the program expects in the list that the operator returns; 0: it depends on sizes. Without
 * an argument that says so, as many as a list of tensors has. */
static int64_t expected_length(const lz_op_row *op, const lz_value *in)
{
    const lz_layout_row *l = lz_layout_of(op);
    int64_t n = l->length ? length_by(&in[l->length - 1], l->more) : 0;
    for (uint32_t i = 0; !l->length && n <= 0 && i < op->nargs; i++)
        n = in[i].kind == LZ_KIND_TENSORS ? in[i].tensors.n : 0;
    return n < 0 ? 0 : n;
}

static lz_tensors inert_list(lz_ctx *c, int64_t n)
{
    enum { MOST = 1 << 20 };
    lz_tensors list = { c->inerts, n < LZ_INERTS ? n : LZ_INERTS };
    lz_tensor **v = n > LZ_INERTS && n <= MOST ? lz_scope_alloc(c->scope, (size_t)n * sizeof *v) : NULL;
    if (!v)
        return list;
    for (int64_t i = 0; i < n; i++)
        v[i] = c->inert;
    return (lz_tensors){ v, n };
}

static void give_inert(lz_ctx *c, const lz_op_row *op, const lz_value *in, lz_value *out)
{
    for (uint32_t i = 0; i < op->nreturns; i++) {
        lz_kind kind = (lz_kind)op->returns[i].type->kind;
        out[i] = kind == LZ_KIND_TENSOR    ? lz_value_tensor(c->inert)
                 : kind == LZ_KIND_TENSORS ? lz_value_tensors(inert_list(c, expected_length(op, in)))
                                           : number_value(kind, lz_scalar_none());
    }
}

static bool is_too_long(const lz_ctx *c)
{
    return lz_nodes_live(c->nodes) > c->options.trim_nodes
           || lz_nodes_bytes(c->nodes) > c->options.trim_bytes;
}

enum { TIMED = 1024 };

/* Only one call in TIMED is timed, because reading the clock takes as long as a call. */
static lz_err *record_timed(lz_ctx *c, const lz_op_row *op, const lz_value *in, lz_value *out, bool *ok)
{
    uint64_t start = lz_clock_ns();
    lz_err *e = recorder_of(op)(c, op, in, out, ok);
    uint64_t ns = lz_clock_ns() - start;
    if (c->shared)
        lz_series_add(c->shared->record, (int64_t)ns);
    if (lz_profile_on()) {
        uint64_t calls = c->recorded > TIMED ? TIMED : 1; /* since the last timed call */
        lz_profile_recorded(calls, ns * calls);
    }
    return e;
}

/* "aten::add.Tensor: text", with the line of the call. An error of an operator that the call consists of
 * keeps its name. */
static lz_err *name_error(const lz_op_row *op, lz_loc at, lz_err *e)
{
    if (lz_err_names_op(e))
        return e;
    return lz_err_set_names_op(lz_err_reword(e, at, "%s::%s: %s", op->ns, op->name, lz_err_text(e)));
}

/* Gives a failed call inert results. Syncs when the trace has reached its limit. */
static __attribute__((noinline)) lz_err *end_call(lz_ctx *c, const lz_op_row *op, const lz_value *in,
                                                  lz_value *out, lz_err *e, bool ok)
{
    lz_loc at = c->at;
    if (e || !ok)
        give_inert(c, op, in, out);
    if (!e && is_too_long(c))
        e = lz_ctx_sync(c, NULL, 0, LZ_CAUSE_TRIM, at);
    return e ? name_error(op, at, e) : NULL;
}

/* ---- the frequent case: one new tensor, and the same call as in the step before ---- */

static inline lz_inferred *repeat_one(lz_ctx *c, const lz_op_row *op, const lz_value *in, lz_device *device)
{
    lz_inferred *x = expected(c, op);
    if (!x || !x->is_one || c->operands.cap < x->form.nin || is_outdated(c, x))
        return NULL;
    matching m = { .x = x, .values = c->operands.data, .device = c->device };
    if (!matches(&m, in, c->call.numbers))
        return NULL;
    *device = m.device;
    return x;
}

static inline lz_err *node_again(lz_ctx *c, lz_inferred *x, lz_node **out)
{
    follow(c, x);
    LZ_TRY(lz_node_make(c->nodes, &x->form, c->operands.data, c->call.numbers, c->at, c->scope->path, out));
    if (c->counts) {
        atomic_uint_fast64_t *counts = c->counts + (size_t)(x->form.op - lz_op_table);
        lz_count(counts + LZ_COUNT_OPS);
        lz_count(counts + LZ_COUNT_REUSED);
    }
    return NULL;
}

lz_inferred *lz_record_repeat_one(lz_ctx *c, const lz_op_row *op, const lz_value *in)
{
    lz_device device;
    return repeat_one(c, op, in, &device);
}

lz_err *lz_record_again(lz_ctx *c, lz_inferred *x, lz_node **out)
{
    return node_again(c, x, out);
}

static inline lz_err *make_one(lz_ctx *c, lz_inferred *x, lz_device d, lz_value *out)
{
    lz_node *node = NULL;
    lz_tensor *t = NULL;
    LZ_TRY(node_again(c, x, &node));
    lz_err *e = lz_tensor_pending(c, x->results[0].spec, d, (lz_output){ node, 0 }, &t);
    if (e)
        lz_node_release(c->nodes, node);
    *out = lz_value_tensor(t);
    return e;
}

/* false: nothing was done, and the operator's recorder must record the call. */
static inline bool record_again(lz_ctx *c, const lz_op_row *op, const lz_value *in, lz_value *out, lz_err **e)
{
    lz_device device;
    lz_inferred *x = repeat_one(c, op, in, &device);
    if (x)
        *e = make_one(c, x, device, out);
    return x;
}

static __attribute__((noinline)) lz_err *record(lz_ctx *c, const lz_op_row *op, lz_loc at, const lz_value *in,
                                                lz_value *out)
{
    bool ok = true;
    lz_err *e = NULL;
    c->at = at;
    if (c->recorded++ % TIMED == 0)
        e = record_timed(c, op, in, out, &ok);
    else if (!record_again(c, op, in, out, &e))
        e = recorder_of(op)(c, op, in, out, &ok);
    return e || !ok || is_too_long(c) ? end_call(c, op, in, out, e, ok) : NULL;
}

/* The tape records calls that need gradients; `record` records all other calls and the tape's own. */
static __attribute__((noinline)) lz_err *record_with_tape(lz_ctx *c, const lz_op_row *op, lz_loc at,
                                                          const lz_value *in, lz_value *out)
{
    bool done = false;
    c->at = at;
    lz_err *e = lz_call_check_lists(op, in);
    if (!e)
        e = c->tape_hooks->record(c, op, at, in, out, &done);
    if (!e)
        return done ? NULL : record(c, op, at, in, out);
    give_inert(c, op, in, out);
    return name_error(op, at, e);
}

/* With LAZULI_DEBUG. A call that meets another thread in the context does nothing; the other thread reports
 * it. */
static __attribute__((noinline)) lz_err *record_checked(lz_ctx *c, const lz_op_row *op, lz_loc at,
                                                        const lz_value *in, lz_value *out, bool below_tape)
{
    if (!lz_debug_enter(c, at)) {
        give_inert(c, op, in, out);
        return NULL;
    }
    lz_err *e = lz_debug_arguments(op, in);
    if (e) {
        give_inert(c, op, in, out);
        e = name_error(op, at, e);
    } else {
        e = (c->tape && !below_tape ? record_with_tape : record)(c, op, at, in, out);
    }
    lz_debug_leave(c);
    return e;
}

lz_err *lz_record_part(lz_ctx *c, const lz_op_row *op, lz_loc at, const lz_value *in, lz_value *out)
{
    if (c->debug)
        return record_checked(c, op, at, in, out, false);
    return c->tape ? record_with_tape(c, op, at, in, out) : record(c, op, at, in, out);
}

lz_err *lz_record_below_tape(lz_ctx *c, const lz_op_row *op, lz_loc at, const lz_value *in, lz_value *out)
{
    return c->debug ? record_checked(c, op, at, in, out, true) : record(c, op, at, in, out);
}

static __attribute__((noinline)) lz_err *record_norm(lz_ctx *c, const lz_op_row *op, lz_loc at,
                                                     const lz_value *in, lz_value *out)
{
    lz_value rest[LZ_ARGS_MAX];
    lz_err *e = lz_statistics_write(c, op, at, in, rest);
    if (!e)
        return lz_record_part(c, op, at, rest, out);
    give_inert(c, op, in, out);
    return name_error(op, at, e);
}

lz_err *lz_record_try(lz_ctx *c, const lz_op_row *op, lz_loc at, const lz_value *in, lz_value *out)
{
    bool writes = lz_statistics_of(op) && lz_statistics_are_written(op, in);
    return writes ? record_norm(c, op, at, in, out) : lz_record_part(c, op, at, in, out);
}

void lz_record(lz_ctx *c, const lz_op_row *op, lz_loc at, const lz_value *in, lz_value *out)
{
    lz_err *e = lz_record_try(c, op, at, in, out);
    if (e)
        lz_ctx_fail(c, (lz_loc){ 0 }, e); /* the error has its line */
}

static lz_err *take_one(const lz_op_row *op, lz_loc at, const lz_value *made, lz_tensor **out)
{
    assert(made->kind == LZ_KIND_TENSOR);
    *out = made->tensor;
    if (!made->tensor->storage)
        return lz_err_set_names_op(
            lz_err_at(LZ_ERR_ARG, at, "%s::%s: an argument is inert", op->ns, op->name));
    return NULL;
}

lz_err *lz_record_one(lz_ctx *c, const lz_op_row *op, lz_loc at, const lz_value *in, lz_tensor **out)
{
    lz_value made = lz_value_none();
    LZ_TRY(lz_record_try(c, op, at, in, &made));
    return take_one(op, at, &made, out);
}

lz_err *lz_record_one_below_tape(lz_ctx *c, const lz_op_row *op, lz_loc at, const lz_value *in,
                                 lz_tensor **out)
{
    lz_value made = lz_value_none();
    LZ_TRY(lz_record_below_tape(c, op, at, in, &made));
    return take_one(op, at, &made, out);
}
