/* Lowers a stretch of a TorchScript graph without control flow, with its views and writes. */
#include "base/mem.h"
#include "core/dtype.h"
#include "core/promote.h"
#include "core/shape.h"
#include "core/strides.h"
#include "lower/arg.h"
#include "lower/op_lower.h"
#include "lower/views.h"
#include "plan/op_nonzero.h"
#include "script/segment_impl.h"
#include <string.h>

typedef struct lowering {
    lz_seg_call *call;
    lz_seg_entry *entry;
    lz_lower b;
    lz_gv *env;         /* of local slots */
    int64_t *scalar_of; /* of local slots: run-time number, or -1 */
    uint32_t n_tensors; /* mirrored so far */
    lz_cell **cells;    /* of tensor inputs */
    LZ_VEC(const lz_ln *) outputs;
    LZ_VEC(lz_seg_write) writes;
} lowering;

/* ---- cells ---- */

static lz_err *new_cell(lowering *l, const lz_ln *base, lz_cell **out)
{
    LZ_TRY(lz_arena_new(&l->entry->arena, out, 1));
    **out = (lz_cell){ .base = base, .numel = base->numel, .input = -1, .output = -1 };
    return NULL;
}

/* A new tensor that looks at all of a new cell. */
static lz_err *fresh(lowering *l, const lz_ln *n, lz_gv *out)
{
    lz_cell *cell;
    lz_shape strides;
    LZ_TRY(new_cell(l, n, &cell));
    LZ_TRY(lz_strides_contiguous(lz_ln_sizes(n), &strides));
    LZ_TRY(lz_stensor_create(cell, (lz_dtype)n->dtype, lz_ln_sizes(n), lz_shape_ints(&strides), 0, out));
    lz_stensor_of(*out)->node = n;
    return NULL;
}

/* The elements of t as they are now. */
static lz_err *node_of(lowering *l, lz_stensor *t, const lz_ln **out)
{
    const lz_ln *flat;
    if (t->generation != t->cell->generation) {
        LZ_TRY(lz_low_reshape(&l->b, t->cell->base, LZ_DIMS(t->cell->numel), &flat));
        LZ_TRY(lz_low_index(&l->b, flat, (lz_ints){ t->sizes, t->ndim }, t->strides, &t->offset, 0, NULL,
                            &t->node));
        t->generation = t->cell->generation;
    }
    *out = t->node;
    return NULL;
}

/* t's elements become those of n. */
static lz_err *write_tensor(lowering *l, lz_stensor *t, const lz_lv *value)
{
    const lz_ln *flat, *part;
    char a[LZ_SHAPE_CHARS], c[LZ_SHAPE_CHARS];
    lz_ints sizes = { t->sizes, t->ndim };
    LZ_TRY(lz_dtype_check_cast(value->dtype, t->dtype));
    if (!lz_shape_eq(lz_lv_sizes(value), sizes))
        return lz_errf(LZ_ERR_ARG, "output with shape %s doesn't match the broadcast shape %s",
                       lz_shape_print(sizes, a), lz_shape_print(lz_lv_sizes(value), c));
    LZ_TRY(lz_low_cast(&l->b, value->node, t->dtype, &part));
    LZ_TRY(lz_low_reshape(&l->b, t->cell->base, LZ_DIMS(t->cell->numel), &flat));
    LZ_TRY(lz_low_update(&l->b, flat, part, t->offset, t->strides, &t->cell->base));
    t->generation = ++t->cell->generation;
    t->node = part;
    return NULL;
}

/* ---- inputs ---- */

/* Tensors of one storage share a cell, where something is written; it has all that the
 * storage has. */
static lz_err *shared_cell(lowering *l, const lz_xtensor *x, uint32_t i, lz_cell **out)
{
    lz_seg_call *c = l->call;
    const lz_ln *flat;
    int64_t one = 1;
    for (uint32_t k = 0; k < i; k++)
        if (c->tensors.data[k]->storage == x->storage) {
            *out = l->cells[k];
            if (c->tensors.data[k]->dtype != x->dtype)
                return lz_errf(LZ_ERR_UNSUPPORTED, "views of one storage with different dtypes");
            return NULL;
        }
    int64_t numel = (int64_t)(x->storage->buffer->size / lz_dtype_size(x->dtype));
    LZ_TRY(lz_low_input(&l->b, i, x->dtype, LZ_DIMS(numel), (lz_ints){ &one, 1 }, 0, &flat));
    LZ_TRY(new_cell(l, flat, out));
    (*out)->input = (int32_t)i;
    return NULL;
}

static lz_err *mirror_tensor(lowering *l, lz_gv *out)
{
    uint32_t i = l->n_tensors++;
    const lz_xtensor *x = l->call->tensors.data[i];
    lz_ints sizes = { x->sizes, x->ndim }, strides = { x->strides, x->ndim };
    const lz_ln *n;
    bool writes = l->call->seg->writes;
    int64_t offset = writes ? x->offset : 0;
    if (writes) {
        LZ_TRY(shared_cell(l, x, i, &l->cells[i]));
        LZ_TRY(lz_low_input(&l->b, l->cells[i]->input, x->dtype, sizes, strides, offset, &n));
    } else {
        LZ_TRY(lz_low_input(&l->b, i, x->dtype, sizes, strides, 0, &n));
        LZ_TRY(new_cell(l, n, &l->cells[i]));
        l->cells[i]->input = (int32_t)i;
    }
    LZ_TRY(lz_stensor_create(l->cells[i], x->dtype, sizes, strides, offset, out));
    lz_stensor_of(*out)->node = n;
    lz_stensor_of(*out)->self = (int32_t)i;
    return NULL;
}

/* The value with tensors that are only being spoken of; in the order of the key. */
/* NOLINTNEXTLINE(misc-no-recursion): LZ_GV_DEPTH deep at most */
static lz_err *mirror(lowering *l, lz_gv v, int depth, lz_gv *out)
{
    lz_gv made, item;
    lz_err *e = NULL;
    *out = lz_gv_none();
    if (lz_gv_is_tensor(v))
        return mirror_tensor(l, out);
    if ((v.kind != LZ_GV_LIST && v.kind != LZ_GV_TUPLE) || depth == 0) {
        *out = lz_gv_retain(v);
        return NULL;
    }
    LZ_TRY(lz_gv_list_make(v.list->len, &made));
    for (size_t i = 0; !e && i < v.list->len; i++) {
        e = mirror(l, v.list->data[i], depth - 1, &item);
        if (!e)
            e = lz_gv_push(made, item);
    }
    if (!e && v.kind == LZ_GV_TUPLE) {
        for (size_t i = 0; i < made.list->len; i++)
            lz_gv_retain(made.list->data[i]);
        e = lz_gv_tuple(made.list->data, made.list->len, out);
        lz_gv_release(made);
        return e;
    }
    if (e)
        lz_gv_release(made);
    else
        *out = made;
    return e;
}

static lz_err *mirror_inputs(lowering *l)
{
    const lz_segment *s = l->call->seg;
    for (uint32_t i = 0; i < s->n_constants; i++)
        l->env[s->constants[i].slot] = lz_gv_retain(s->constants[i].value);
    for (uint32_t i = 0; i < s->n_inputs; i++) {
        const lz_seg_input *in = &s->inputs[i];
        LZ_TRY(mirror(l, l->call->slots[in->slot], LZ_GV_DEPTH, &l->env[in->local]));
        if (in->run_time && !l->call->statics)
            l->scalar_of[in->local] = LZ_SEG_NUMBERS + (int64_t)i;
    }
    return NULL;
}

/* ---- values of the graph as values of operators ---- */

static lz_err *tensor_lv(void *user, lz_gv v, lz_lv *out)
{
    const lz_ln *n;
    if (!lz_gv_is_stensor(v))
        return lz_errf(LZ_ERR_ARG, "a tensor is needed here");
    LZ_TRY(node_of(user, lz_stensor_of(v), &n));
    *out = lz_lv_tensor(n);
    return NULL;
}

static lz_err *default_lv(lowering *l, const lz_arg_row *arg, lz_lv *out)
{
    if (!arg->default_value)
        return lz_errf(LZ_ERR_ARG, "argument '%s' is missing", arg->name);
    return lz_arg_of_value(&l->b, arg->default_value, out);
}

/* ---- operators ---- */

typedef struct calling {
    const lz_inst *inst;
    const lz_op_row *op;
    lz_lv args[LZ_ARGS_MAX], results[LZ_ARGS_MAX];
    lz_gv given[LZ_ARGS_MAX]; /* borrowed */
    size_t n;
} calling;

/* A tracer writes the 2 of x * 2 as a tensor constant. PyTorch's executor makes a number of it again if it is
 * the second operand of one of these, so that it does not take part in promotion as a tensor does. */
static bool is_traced_number(const calling *c, uint32_t arg, lz_scalar *out)
{
    static const char *const names[] = { "add.Tensor", "sub.Tensor", "mul.Tensor", "div.Tensor" };
    bool known = false;
    lz_gv v;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        known = known || !strcmp(c->op->name, names[i]);
    if (!known || arg != 1 || !lz_ir_const(lz_ir_in(c->inst->node, arg), &v) || v.kind != LZ_GV_ARRAY)
        return false;
    const lz_array *a = &v.array->array;
    if (!a->buffer || lz_array_sizes(a).n || a->dtype == LZ_BOOL || lz_dtype_is_complex(a->dtype))
        return false;
    *out = lz_array_get(a, 0);
    return true;
}

static lz_err *find_arg(lowering *l, calling *c, uint32_t i)
{
    lz_scalar number;
    lz_arg_source source = { .b = &l->b, .tensor = tensor_lv, .user = l };
    if (!is_traced_number(c, i, &number))
        return lz_arg_of_gv(&source, c->op->args[i].type, c->given[i], l->scalar_of[c->inst->in[i]],
                            &c->args[i]);
    lz_lv v = lz_lv_number(number);
    return lz_low_wrap(&l->b, &v, &c->args[i]);
}

static lz_err *find_args(lowering *l, calling *c)
{
    for (uint32_t i = 0; i < c->op->nargs; i++) {
        lz_err *e;
        c->given[i] = i < c->inst->nin ? l->env[c->inst->in[i]] : lz_gv_none();
        if (i < c->inst->nin)
            e = find_arg(l, c, i);
        else
            e = default_lv(l, &c->op->args[i], &c->args[i]);
        if (e)
            return lz_err_wrap(e, "argument '%s'", c->op->args[i].name);
    }
    return NULL;
}

/* A result that looks at an argument's memory: where, if it is a strided view of it. */
static lz_err *alias_of(lowering *l, calling *c, uint32_t arg, lz_lv *views, size_t *n, const lz_ln **probe)
{
    enum { PROBE = 1 << 30 };
    lz_stensor *t = lz_stensor_of(c->given[arg]);
    lz_lv old = c->args[arg];
    lz_ints sizes = { t->sizes, t->ndim }, strides = { t->strides, t->ndim };
    LZ_TRY(lz_low_input(&l->b, PROBE, t->dtype, sizes, strides, t->offset, probe));
    c->args[arg].node = *probe;
    lz_err *e = lz_op_lower_as_is(&l->b, c->op, c->args, views, n);
    c->args[arg] = old;
    return e;
}

static lz_err *view_tensor(lowering *l, lz_stensor *of, const lz_ln *probe, const lz_lv *view,
                           const lz_lv *result, lz_gv *out)
{
    lz_gview v;
    LZ_TRY(lz_view_resolve(l->b.arena, view->node, &v));
    if (v.base != probe || view->node->numel == 0)
        return fresh(l, result->node, out);
    lz_ints strides = { v.strides, view->node->ndim };
    LZ_TRY(lz_stensor_create(of->cell, of->dtype, lz_ln_sizes(view->node), strides, v.offset, out));
    lz_stensor_of(*out)->node = result->node;
    lz_stensor_of(*out)->generation = of->cell->generation;
    return NULL;
}

typedef lz_err *make_fn(lowering *l, const void *user, const lz_lv *result, const lz_lv *view, lz_gv *out);

typedef struct viewed {
    lz_stensor *of;
    const lz_ln *probe;
} viewed;

static lz_err *make_view(lowering *l, const void *user, const lz_lv *result, const lz_lv *view, lz_gv *out)
{
    const viewed *v = user;
    return view_tensor(l, v->of, v->probe, view, result, out);
}

static lz_err *make_fresh(lowering *l, const void *user, const lz_lv *result, const lz_lv *view, lz_gv *out)
{
    (void)user, (void)view;
    return fresh(l, result->node, out);
}

/* A number that is known when the plan has run. */
static lz_err *make_number(lowering *l, const lz_lv *result, lz_gv *out)
{
    lz_scalar s = result->number;
    if (!result->node) {
        *out = s.kind == LZ_SCALAR_FLOAT  ? lz_gv_float(s.re)
               : s.kind == LZ_SCALAR_BOOL ? lz_gv_bool(s.i != 0)
                                          : lz_gv_int(s.i);
        return NULL;
    }
    LZ_TRY(fresh(l, result->node, out));
    lz_stensor_of(*out)->is_number = true;
    return NULL;
}

/* NOLINTNEXTLINE(misc-no-recursion): an operator gives at most a tuple of lists */
static lz_err *result_gv(lowering *l, make_fn *make, const void *user, const lz_lv *result, const lz_lv *view,
                         lz_gv *out)
{
    lz_err *e = NULL;
    *out = lz_gv_none();
    if (result->kind == LZ_LV_TENSOR)
        return make(l, user, result, view, out);
    if (result->kind == LZ_LV_NUMBER)
        return make_number(l, result, out);
    if (result->kind != LZ_LV_LIST)
        return NULL;
    lz_gv list, item;
    LZ_TRY(lz_gv_list_make(result->list.n, &list));
    for (size_t i = 0; !e && i < result->list.n; i++) {
        e = result_gv(l, make, user, &result->list.items[i], view ? &view->list.items[i] : NULL, &item);
        if (!e)
            e = lz_gv_push(list, item);
    }
    if (e)
        lz_gv_release(list);
    else
        *out = list;
    return e;
}

static bool is_row_major(const lz_stensor *t)
{
    int64_t expected = 1;
    bool ok = true;
    for (int64_t d = t->ndim; ok && d-- > 0; expected *= t->sizes[d])
        ok = t->sizes[d] == 1 || t->strides[d] == expected;
    return ok;
}

/* Whether an operator that may give its argument back gives a copy: it is asked to, or has to. */
static bool copies(const calling *c)
{
    bool asked = false;
    for (uint32_t i = 0; i < c->op->nargs; i++)
        asked = asked
                || (!strcmp(c->op->args[i].name, "copy") && c->given[i].kind == LZ_GV_BOOL && c->given[i].b);
    return asked
           || (!strcmp(c->op->name, "contiguous") && lz_gv_is_stensor(c->given[0])
               && !is_row_major(lz_stensor_of(c->given[0])));
}

/* The argument that result i looks at, if it is a tensor. */
static bool looks_at(const calling *c, uint32_t i, uint32_t *arg)
{
    const lz_return_row *r = &c->op->returns[i];
    *arg = r->argument;
    if (copies(c))
        return false;
    return r->argument != LZ_NO_ARGUMENT && !r->write && lz_gv_is_stensor(c->given[r->argument]);
}

static lz_err *give_results(lowering *l, calling *c)
{
    for (uint32_t i = 0; i < c->inst->nout && i < c->op->nreturns; i++) {
        lz_gv *out = &l->env[c->inst->out[i]];
        uint32_t arg;
        if (!looks_at(c, i, &arg)) {
            LZ_TRY(result_gv(l, make_fresh, NULL, &c->results[i], NULL, out));
            continue;
        }
        lz_lv views[LZ_ARGS_MAX];
        viewed v = { .of = lz_stensor_of(c->given[arg]) };
        size_t n;
        LZ_TRY(alias_of(l, c, arg, views, &n, &v.probe));
        LZ_TRY(result_gv(l, make_view, &v, &c->results[i], &views[i], out));
    }
    return NULL;
}

/* What is written, in the order of the arguments: the results, or what comes behind them. */
static lz_err *write_results(lowering *l, calling *c)
{
    bool same = c->op->kind == LZ_SCHEMA_INPLACE || c->op->kind == LZ_SCHEMA_OUT;
    size_t k = same ? 0 : c->op->nreturns;
    for (uint32_t i = 0; i < c->op->nargs; i++) {
        if (!c->op->args[i].write || (c->given[i].kind == LZ_GV_NONE && ++k))
            continue;
        if (!lz_gv_is_stensor(c->given[i]) || k >= c->n || c->results[k].kind != LZ_LV_TENSOR)
            return lz_errf(LZ_ERR_UNSUPPORTED, "%s::%s cannot write to argument '%s'", c->op->ns, c->op->name,
                           c->op->args[i].name);
        LZ_TRY(write_tensor(l, lz_stensor_of(c->given[i]), &c->results[k++]));
    }
    for (uint32_t i = 0; i < c->inst->nout && i < c->op->nreturns; i++) {
        uint32_t arg = c->op->returns[i].argument;
        lz_gv *out = &l->env[c->inst->out[i]];
        if (arg == LZ_NO_ARGUMENT)
            LZ_TRY(result_gv(l, make_fresh, NULL, &c->results[i], NULL, out));
        else
            *out = lz_gv_retain(c->given[arg]);
    }
    return NULL;
}

static bool is_view(const lz_op_row *op)
{
    for (uint32_t i = 0; i < op->nreturns; i++)
        if (op->returns[i].argument != LZ_NO_ARGUMENT && !op->returns[i].write)
            return true;
    return false;
}

static lz_err *lower_op(lowering *l, const lz_inst *inst)
{
    calling c = { .inst = inst, .op = inst->node->op };
    LZ_TRY(find_args(l, &c));
    if (is_view(c.op))
        LZ_TRY(lz_op_lower_as_is(&l->b, c.op, c.args, c.results, &c.n));
    else
        LZ_TRY(lz_op_lower(&l->b, c.op, c.args, c.results, &c.n));
    return c.op->flags & LZ_OPF_MUTABLE ? write_results(l, &c) : give_results(l, &c);
}

/* ---- what is no operator ---- */

static lz_err *run_host(lowering *l, const lz_inst *inst)
{
    return lz_inst_run(inst, l->env);
}

/* ---- sizes that depend on elements ---- */

static lz_err *nonzero(void *user, lz_lower *b, const lz_ln *x, const lz_ln **out)
{
    lowering *l = user;
    lz_array found;
    int64_t slot = (int64_t)(l->call->tensors.len + l->call->extra.len);
    LZ_TRY(lz_segment_args(l->call));
    lz_run_args args = { .inputs = l->call->inputs,
                         .scalars = l->call->scalars,
                         .memory = l->call->env->memory,
                         .threads = l->call->env->threads };
    LZ_TRY(lz_op_nonzero(b, x, &args, &found));
    lz_err *e = lz_vec_push(&l->call->extra, found.buffer);
    if (!e) {
        lz_buffer_retain(found.buffer);
        lz_mem_free(l->entry->key); /* the next call may find others */
        l->entry->key = NULL;
        e = lz_low_input(b, slot, LZ_I64, lz_array_sizes(&found), lz_array_strides(&found), 0, out);
    }
    lz_array_deinit(&found);
    return e;
}

static lz_err *no_elements(void *user, lz_lower *b, const lz_ln *x, const lz_ln **out)
{
    (void)user, (void)b, (void)x, (void)out;
    return lz_errf(LZ_ERR_UNSUPPORTED, "the sizes of the result depend on elements");
}

/* ---- outputs ---- */

static lz_err *add_output(lowering *l, const lz_ln *n, int32_t *out)
{
    const lz_linput *in = n->attr;
    int64_t dense[LZ_MAX_DIMS];
    bool plain = n->kind == LZ_L_INPUT && in->offset == 0;
    lz_row_major(lz_ln_sizes(n), dense);
    for (int64_t d = 0; plain && d < n->ndim; d++)
        plain = n->sizes[d] == 1 || in->strides[d] == dense[d];
    if (n->kind == LZ_L_INPUT && !plain)
        LZ_TRY(lz_low_copy(&l->b, n, &n));
    *out = (int32_t)l->outputs.len;
    return lz_vec_push(&l->outputs, n);
}

/* Every tensor of an output has a number, and its cell something to be had from. */
/* NOLINTNEXTLINE(misc-no-recursion): LZ_GV_DEPTH deep at most */
static lz_err *find_source(lowering *l, lz_gv v, int depth)
{
    if ((v.kind == LZ_GV_LIST || v.kind == LZ_GV_TUPLE) && depth > 0)
        for (size_t i = 0; i < v.list->len; i++)
            LZ_TRY(find_source(l, v.list->data[i], depth - 1));
    if (!lz_gv_is_stensor(v))
        return NULL;
    lz_stensor *t = lz_stensor_of(v);
    lz_cell *c = t->cell;
    t->number = l->entry->n_stensors++;
    if (c->input >= 0)
        l->entry->kept[c->input] = true;
    if (c->output >= 0 || (c->input >= 0 && c->generation == 0))
        return NULL;
    return add_output(l, c->base, &c->output);
}

static lz_err *find_outputs(lowering *l)
{
    const lz_segment *s = l->call->seg;
    lz_seg_entry *e = l->entry;
    for (uint32_t i = 0; i < l->n_tensors; i++) {
        lz_cell *c = l->cells[i];
        if (c->generation == 0 || c->output >= 0)
            continue;
        LZ_TRY(add_output(l, c->base, &c->output));
        LZ_TRY(lz_vec_push(&l->writes, (lz_seg_write){ i, (uint32_t)c->output }));
    }
    LZ_TRY(lz_arena_new(&e->arena, &e->patterns, s->n_outputs + 1));
    LZ_TRY(lz_arena_new(&e->arena, &e->kept, l->n_tensors + 1));
    for (uint32_t i = 0; i < s->n_outputs; i++) {
        e->patterns[i] = lz_gv_retain(l->env[s->outputs[i].local]);
        e->n_patterns++;
        LZ_TRY(find_source(l, e->patterns[i], LZ_GV_DEPTH));
    }
    LZ_TRY(lz_arena_new(&e->arena, &e->writes, l->writes.len + 1));
    for (size_t i = 0; i < l->writes.len; i++)
        e->writes[e->n_writes++] = l->writes.data[i];
    return NULL;
}

/* ---- all of it ---- */

static lz_err *set_up(lowering *l)
{
    lz_arena *a = l->b.arena;
    const lz_segment *s = l->call->seg;
    LZ_TRY(lz_arena_new(a, &l->env, s->n_local + 1));
    LZ_TRY(lz_arena_new(a, &l->scalar_of, s->n_local + 1));
    LZ_TRY(lz_arena_new(a, &l->cells, l->call->tensors.len + 1));
    for (uint32_t i = 0; i < s->n_local; i++)
        l->scalar_of[i] = -1;
    LZ_TRY(lz_low_scalar(&l->b, LZ_SEG_SEED, LZ_I64, &l->b.seed));
    return lz_low_scalar(&l->b, LZ_SEG_STREAM, LZ_I64, &l->b.stream);
}

static lz_err *lower_insts(lowering *l)
{
    const lz_segment *s = l->call->seg;
    for (uint32_t i = 0; i < s->n; i++) {
        l->call->at = &s->insts[i];
        l->b.origin = i;
        LZ_TRY(s->insts[i].kind == LZ_INST_OP ? lower_op(l, &s->insts[i]) : run_host(l, &s->insts[i]));
    }
    l->call->at = NULL;
    return NULL;
}

static lz_err *lower(lowering *l)
{
    lz_plan_options options = { .separate = l->call->env->separate };
    LZ_TRY(set_up(l));
    LZ_TRY(mirror_inputs(l));
    LZ_TRY(lower_insts(l));
    LZ_TRY(find_outputs(l));
    l->entry->streams = l->b.next_stream;
    if (l->call->take)
        return l->call->take(l->call, l->entry, &l->b, l->outputs.data, l->outputs.len);
    return lz_plan_create(&l->b, l->outputs.data, l->outputs.len, &options, &l->entry->plan);
}

lz_err *lz_segment_lower(lz_seg_call *call, lz_seg_entry *out)
{
    lowering l = { .call = call, .entry = out };
    lz_arena scratch;
    lz_arena_init(&scratch);
    lz_low_init(&l.b, &scratch);
    l.b.nonzero = call->take ? no_elements : nonzero;
    l.b.user = &l;
    lz_err *e = lower(&l);
    for (uint32_t i = 0; l.env && i < call->seg->n_local; i++)
        lz_gv_release(l.env[i]);
    lz_vec_deinit(&l.outputs);
    lz_vec_deinit(&l.writes);
    lz_low_deinit(&l.b);
    lz_arena_deinit(&scratch);
    return e;
}
