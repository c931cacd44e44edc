/* Calls one operator: infers its results from its arguments, and adds its node to the graph. */
#include "base/mem.h"
#include "core/device.h"
#include "lower/arg.h"
#include "op/op_table.h"
#include "script/functionalize_impl.h"

/* A tensor argument, or a number in its place. */
typedef struct operand {
    const lz_spec *spec;
    lz_described *t; /* NULL: a number in place of a tensor, or an omitted tensor */
} operand;

typedef struct calling {
    lz_functionalizer *f;
    lz_functionalize_call *c;
    lz_lower b;
    lz_low_value args[LZ_ARGS_MAX], results[LZ_ARGS_MAX];
    size_t n;
    LZ_VEC(operand) operands;
    LZ_VEC(const lz_spec *) specs; /* specs of `operands` */
    LZ_VEC(lz_result) made;        /* tensors of all results, also those inside lists */
} calling;

void lz_functionalize_call_deinit(lz_functionalize_call *c)
{
    for (uint32_t i = 0; i < c->n; i++)
        lz_script_value_release(c->results[i]);
    c->n = 0;
}

/* ---- arguments as values of lowering functions ---- */

static lz_err *add_operand(calling *q, lz_described *t, const lz_spec *spec)
{
    LZ_TRY(lz_vec_push(&q->operands, (operand){ spec, t }));
    return lz_vec_push(&q->specs, spec);
}

static lz_err *tensor_value(void *user, lz_script_value v, lz_low_value *out)
{
    calling *q = user;
    const lz_low_node *n;
    if (!lz_script_value_is_described(v))
        return lz_errf(LZ_ERR_ARG, "expected a tensor");
    const lz_spec *s = lz_described_of(v)->spec;
    LZ_TRY(lz_low_input(&q->b, (int64_t)q->operands.len, (lz_dtype)s->dtype, lz_spec_sizes(s),
                        lz_spec_strides(s), 0, &n));
    *out = lz_low_value_tensor(n);
    return add_operand(q, lz_described_of(v), s);
}

/* A number in place of a tensor counts as a tensor without dimensions. */
static lz_err *add_number(calling *q, const lz_low_value *v)
{
    const lz_spec *s;
    LZ_TRY(lz_spec_get(q->f->out->specs, v->dtype, (lz_ints){ NULL, 0 }, (lz_ints){ NULL, 0 }, &s));
    return add_operand(q, NULL, s);
}

/* In a list with omitted tensors: inserts an empty operand for each omitted tensor, so that operand i
 * belongs to item i. */
static lz_err *add_gaps(calling *q, size_t first, const lz_low_value *list)
{
    size_t found = q->operands.len - first, gaps = list->list.n - found;
    for (size_t i = 0; i < gaps; i++)
        LZ_TRY(add_operand(q, NULL, NULL));
    for (size_t i = list->list.n; gaps && i-- > 0;) {
        bool there = list->list.items[i].kind == LZ_LOW_VALUE_TENSOR;
        operand o = there ? q->operands.data[first + --found] : (operand){ 0 };
        gaps -= !there;
        q->operands.data[first + i] = o;
        q->specs.data[first + i] = o.spec;
    }
    return NULL;
}

static lz_err *find_arg(calling *q, uint32_t i)
{
    const lz_functionalize_arg *a = &q->c->args[i];
    const lz_arg_row *row = &q->c->op->args[i];
    lz_arg_source source = { .b = &q->b, .tensor = tensor_value, .user = q };
    size_t first = q->operands.len;
    int64_t slot = a->local == LZ_NO_LOCAL ? LZ_KNOWN_NOW : q->f->a->run_time[a->local];
    if (!a->is_given && !row->default_value)
        return lz_errf(LZ_ERR_ARG, "required argument is missing");
    if (!a->is_given)
        return lz_arg_of_value(&q->b, row->default_value, &q->args[i]);
    LZ_TRY(lz_arg_of_script_value(&source, row->type, a->value, slot, &q->args[i]));
    const lz_low_value *v = &q->args[i];
    if (row->type->kind == LZ_KIND_TENSORS && v->kind == LZ_LOW_VALUE_LIST)
        return add_gaps(q, first, v);
    if (row->type->kind == LZ_KIND_TENSOR && v->kind == LZ_LOW_VALUE_TENSOR && q->operands.len == first)
        return add_number(q, v);
    return NULL;
}

static lz_err *find_args(calling *q)
{
    for (uint32_t i = 0; i < q->c->op->nargs; i++) {
        lz_err *e = find_arg(q, i);
        if (e)
            return lz_err_wrap(e, "argument '%s'", q->c->op->args[i].name);
    }
    return NULL;
}

/* ---- results of the operator ---- */

static lz_err *depends_on_elements(void *user, lz_lower *b, const lz_low_node *x, const lz_low_node **out)
{
    (void)b, (void)x, (void)out;
    ((calling *)user)->f->dynamic = true;
    return lz_errf(LZ_ERR_UNSUPPORTED, "the sizes of the result depend on elements");
}

static lz_err *infer(calling *q)
{
    LZ_TRY(lz_low_scalar(&q->b, INT32_MAX, LZ_I64, &q->b.seed));
    LZ_TRY(lz_low_scalar(&q->b, INT32_MAX, LZ_I64, &q->b.stream));
    LZ_TRY(lz_op_infer(&q->b, q->c->op, q->args, q->results, &q->n));
    q->n = q->n < q->c->op->nreturns ? q->n : q->c->op->nreturns;
    return NULL;
}

static lz_err *add_result(calling *q, uint32_t ret, uint32_t item, const lz_low_value *v)
{
    lz_op_call call = { q->c->op, q->args, q->specs.data, item };
    lz_result r;
    LZ_TRY(lz_op_result(&call, q->f->out->specs, q->b.arena, ret, v, &r));
    return lz_vec_push(&q->made, r);
}

static lz_err *find_results(calling *q)
{
    for (uint32_t i = 0; i < q->n; i++) {
        const lz_low_value *v = &q->results[i];
        if (v->kind == LZ_LOW_VALUE_TENSOR)
            LZ_TRY(add_result(q, i, 0, v));
        for (size_t k = 0; v->kind == LZ_LOW_VALUE_LIST && k < v->list.n; k++)
            LZ_TRY(add_result(q, i, (uint32_t)k, &v->list.items[k]));
    }
    return NULL;
}

/* ---- the node ---- */

static lz_script_value number_of_scalar(lz_scalar s)
{
    return s.kind == LZ_SCALAR_FLOAT  ? lz_script_value_float(s.re)
           : s.kind == LZ_SCALAR_BOOL ? lz_script_value_bool(s.i != 0)
           : s.kind == LZ_SCALAR_INT  ? lz_script_value_int(s.i)
                                      : lz_script_value_none();
}

/* The value of an omitted argument that precedes a given one. */
static lz_err *default_value(lz_functionalizer *f, const lz_value *v, lz_ssa_value **out)
{
    if (!v)
        return lz_functionalize_constant(f, lz_script_value_none(), out);
    switch (v->kind) {
    case LZ_KIND_INT:
        return lz_functionalize_constant(f, lz_script_value_int(v->integer), out);
    case LZ_KIND_FLOAT:
        return lz_functionalize_constant(f, lz_script_value_float(v->real), out);
    case LZ_KIND_BOOL:
        return lz_functionalize_constant(f, lz_script_value_bool(v->truth), out);
    case LZ_KIND_SCALAR:
        return lz_functionalize_constant(f, number_of_scalar(v->scalar), out);
    case LZ_KIND_DTYPE:
        return lz_functionalize_constant(
            f, v->dtype == LZ_DTYPE_NONE ? lz_script_value_none() : lz_script_value_int(v->dtype), out);
    case LZ_KIND_INTS:
        return v->ints.n < 0 ? lz_functionalize_constant(f, lz_script_value_none(), out)
                             : lz_functionalize_ints(f, v->ints, out);
    default:
        return lz_functionalize_constant(f, lz_script_value_none(), out);
    }
}

static lz_err *plain_value(lz_functionalizer *f, const lz_functionalize_arg *a, lz_ssa_value **out)
{
    if (a->local != LZ_NO_LOCAL && f->numbers[a->local]) {
        *out = f->numbers[a->local];
        return NULL;
    }
    if (a->local != LZ_NO_LOCAL && f->constants[a->local]) {
        *out = f->constants[a->local];
        return NULL;
    }
    LZ_TRY(lz_functionalize_constant(f, a->value, out));
    if (a->local != LZ_NO_LOCAL)
        f->constants[a->local] = *out;
    return NULL;
}

static lz_err *item_value(lz_functionalizer *f, lz_script_value v, lz_ssa_value **out)
{
    return lz_script_value_is_described(v) ? lz_described_value(f, lz_described_of(v), out)
                                           : lz_functionalize_constant(f, v, out);
}

static lz_err *list_value(lz_functionalizer *f, lz_script_value v, bool nullable, lz_ssa_value **out)
{
    lz_ssa_value **items;
    lz_ssa_node *n;
    const lz_type *type = lz_type_leaf(LZ_GRAPH_TYPE_TENSOR);
    bool list = v.kind == LZ_SCRIPT_VALUE_LIST || v.kind == LZ_SCRIPT_VALUE_TUPLE;
    size_t count = list ? v.list->len : 1;
    LZ_TRY(lz_arena_new(&f->scratch, &items, count + 1));
    for (size_t i = 0; i < count; i++)
        LZ_TRY(item_value(f, list ? v.list->data[i] : v, &items[i]));
    if (nullable)
        LZ_TRY(lz_type_optional(&f->g->types, type, &type));
    LZ_TRY(lz_type_list(&f->g->types, type, &type));
    LZ_TRY(lz_functionalize_node(f, "prim::ListConstruct", items, (uint32_t)count, &type, 1, &n));
    *out = n->out[0];
    return NULL;
}

static lz_err *arg_value(lz_functionalizer *f, const lz_arg_row *row, const lz_functionalize_arg *a,
                         lz_ssa_value **out)
{
    if (!a->is_given)
        return default_value(f, row->default_value, out);
    if (row->type->kind == LZ_KIND_TENSORS && a->value.kind != LZ_SCRIPT_VALUE_NONE)
        return list_value(f, a->value, row->type->flags & LZ_TYPE_NULLABLE, out);
    if (lz_script_value_is_described(a->value))
        return lz_described_value(f, lz_described_of(a->value), out);
    return plain_value(f, a, out);
}

static const lz_type *number_type(const lz_return_row *r)
{
    lz_kind k = (lz_kind)r->type->kind;
    return lz_type_leaf(k == LZ_KIND_INT     ? LZ_GRAPH_TYPE_INT
                        : k == LZ_KIND_FLOAT ? LZ_GRAPH_TYPE_FLOAT
                        : k == LZ_KIND_BOOL  ? LZ_GRAPH_TYPE_BOOL
                                             : LZ_GRAPH_TYPE_SCALAR);
}

static lz_err *find_types(calling *q, const lz_type **types)
{
    size_t k = 0;
    for (uint32_t i = 0; i < q->n; i++) {
        const lz_low_value *v = &q->results[i];
        types[i] = lz_type_leaf(LZ_GRAPH_TYPE_TENSOR);
        if (v->kind == LZ_LOW_VALUE_TENSOR)
            LZ_TRY(lz_functionalize_type(q->f, q->made.data[k++].spec, &types[i]));
        else if (v->kind == LZ_LOW_VALUE_NUMBER)
            types[i] = number_type(&q->c->op->returns[i]);
        else if (v->kind == LZ_LOW_VALUE_LIST) {
            LZ_TRY(lz_type_list(&q->f->g->types, types[i], &types[i]));
            k += v->list.n;
        }
    }
    return NULL;
}

/* The first random operator adds seed and stream to the inputs of the graph. */
static lz_err *add_seed(lz_functionalizer *f)
{
    lz_static_graph_input in = { .number = LZ_SCALAR_INT };
    const lz_type *type = lz_type_leaf(LZ_GRAPH_TYPE_INT);
    lz_ssa_value *unused;
    if (f->out->seed)
        return NULL;
    f->out->seed = (uint32_t)f->out->inputs.len + 1;
    LZ_TRY(lz_functionalize_param(f, type, &in, (lz_functionalize_source){ .kind = LZ_FUNCTIONALIZE_SEED },
                                  &unused));
    return lz_functionalize_param(f, type, &in, (lz_functionalize_source){ .kind = LZ_FUNCTIONALIZE_STREAM },
                                  &unused);
}

static lz_err *copy_attributes(lz_functionalizer *f, lz_ssa_node *to)
{
    const lz_ssa_node *from = f->a->insts[f->index].node;
    for (uint32_t i = 0; i < from->nattrs; i++)
        LZ_TRY(lz_ssa_attr_add(f->g, to, from->attrs[i]->name, NULL,
                               lz_script_value_retain(from->attrs[i]->value)));
    return NULL;
}

static lz_err *emit(calling *q, lz_ssa_node **out)
{
    lz_functionalizer *f = q->f;
    const lz_op_row *op = q->c->op;
    lz_ssa_value *in[LZ_ARGS_MAX];
    const lz_type *types[LZ_ARGS_MAX];
    uint32_t nin = op->nargs;
    bool placed = lz_ssa_attr_find(f->a->insts[f->index].node, LZ_STATIC_GRAPH_RANDOM);
    while (nin > 0 && !q->c->args[nin - 1].is_given)
        nin--;
    for (uint32_t i = 0; i < nin; i++)
        LZ_TRY(arg_value(f, &op->args[i], &q->c->args[i], &in[i]));
    if (q->b.next_stream && !placed)
        LZ_TRY(add_seed(f));
    LZ_TRY(find_types(q, types));
    LZ_TRY(lz_functionalize_op(f, op, in, nin, types, (uint32_t)q->n, out));
    return placed ? copy_attributes(f, *out) : NULL;
}

/* A result that is a view needs the operator's node only if the operand's elements are current. Otherwise
 * the view is derived from the storage when it is read. */
static bool needs_node(const calling *q)
{
    bool views = false;
    for (size_t i = 0; i < q->n; i++)
        if (q->results[i].kind == LZ_LOW_VALUE_NUMBER && q->results[i].node)
            return true;
    for (size_t i = 0; i < q->made.len; i++) {
        const lz_result *r = &q->made.data[i];
        if (r->viewed < 0)
            return true;
        const lz_described *t = q->operands.data[r->viewed].t;
        views = views || (!r->same && t && lz_described_is_current(t));
    }
    return views;
}

/* ---- results ---- */

static lz_err *give_tensor(calling *q, size_t k, lz_ssa_value *value, lz_script_value *out)
{
    const lz_result *r = &q->made.data[k];
    lz_described *t = r->viewed < 0 ? NULL : q->operands.data[r->viewed].t;
    if (!t)
        return lz_described_fresh(q->f, value, r->spec, out);
    if (r->same) {
        *out =
            lz_script_value_retain((lz_script_value){ .kind = LZ_SCRIPT_VALUE_TENSOR, .tensor = &t->x.head });
        return NULL;
    }
    LZ_TRY(lz_described_view(q->f, lz_storage_of(t), r->spec, t->x.offset + r->offset, out));
    if (value && lz_described_is_current(t)) {
        lz_described_of(*out)->value = value;
        lz_described_of(*out)->version = t->x.storage->head.version;
    }
    return NULL;
}

/* The values of a list's items. */
static lz_err *unpack(calling *q, size_t first, size_t n, lz_ssa_value *list, lz_ssa_value ***out)
{
    const lz_type **types;
    lz_ssa_node *node;
    *out = NULL;
    if (!list || !n)
        return NULL;
    LZ_TRY(lz_arena_new(&q->f->scratch, &types, n + 1));
    for (size_t i = 0; i < n; i++)
        LZ_TRY(lz_functionalize_type(q->f, q->made.data[first + i].spec, &types[i]));
    LZ_TRY(lz_functionalize_node(q->f, "prim::ListUnpack", &list, 1, types, (uint32_t)n, &node));
    *out = node->out;
    return NULL;
}

static lz_err *give_list(calling *q, size_t first, size_t n, lz_ssa_value *unpacked, lz_script_value *out)
{
    lz_ssa_value **values;
    lz_script_value item, list;
    lz_err *e = NULL;
    LZ_TRY(unpack(q, first, n, unpacked, &values));
    LZ_TRY(lz_script_value_list_make(n, &list));
    for (size_t i = 0; !e && i < n; i++) {
        e = give_tensor(q, first + i, values ? values[i] : NULL, &item);
        e = e ? e : lz_script_value_push(list, item);
    }
    if (e)
        lz_script_value_release(list);
    else
        *out = list;
    return e;
}

/* A number that only the run of the graph computes. */
static lz_err *give_number(calling *q, const lz_low_value *v, lz_ssa_value *value, lz_script_value *out)
{
    const lz_spec *s;
    *out = number_of_scalar(v->number);
    if (!v->node)
        return NULL;
    LZ_TRY(lz_spec_get(q->f->out->specs, (lz_dtype)v->node->dtype, (lz_ints){ NULL, 0 }, (lz_ints){ NULL, 0 },
                       &s));
    LZ_TRY(lz_described_fresh(q->f, value, s, out));
    lz_described_of(*out)->is_number = true;
    return NULL;
}

static lz_err *give_results(calling *q, const lz_ssa_node *node)
{
    size_t k = 0;
    for (uint32_t i = 0; i < q->n; i++) {
        const lz_low_value *v = &q->results[i];
        lz_ssa_value *value = node ? node->out[i] : NULL;
        lz_script_value *out = &q->c->results[i];
        *out = lz_script_value_none();
        if (v->kind == LZ_LOW_VALUE_TENSOR)
            LZ_TRY(give_tensor(q, k++, value, out));
        else if (v->kind == LZ_LOW_VALUE_NUMBER)
            LZ_TRY(give_number(q, v, value, out));
        else if (v->kind == LZ_LOW_VALUE_DTYPE)
            *out = lz_script_value_int(v->dtype);
        else if (v->kind == LZ_LOW_VALUE_LIST) {
            LZ_TRY(give_list(q, k, v->list.n, value, out));
            k += v->list.n;
        }
        q->c->n = i + 1;
    }
    return NULL;
}

/* ---- results that were computed before ---- */

static lz_err *given_tensor(calling *q, lz_described *t, lz_script_value *out)
{
    lz_op_call call = { q->c->op, q->args, q->specs.data, 0 };
    const lz_spec *s;
    lz_shape strides;
    lz_ssa_value *value;
    lz_dtype d = (lz_dtype)t->spec->dtype;
    LZ_TRY(lz_layout_fresh(&call, d, lz_spec_sizes(t->spec), &strides));
    LZ_TRY(lz_spec_get(q->f->out->specs, d, lz_spec_sizes(t->spec), lz_shape_ints(&strides), &s));
    LZ_TRY(lz_described_value(q->f, t, &value));
    return lz_described_fresh(q->f, value, s, out);
}

/* NOLINTNEXTLINE(misc-no-recursion): at most a list of tensors */
static lz_err *take_given(void *user, lz_script_value v, int depth, lz_script_value *out)
{
    *out = lz_script_value_none();
    if (lz_script_value_is_described(v))
        return given_tensor(user, lz_described_of(v), out);
    if (v.kind == LZ_SCRIPT_VALUE_LIST && depth > 0)
        return lz_script_value_map_items(v, take_given, user, depth - 1, out);
    *out = lz_script_value_retain(v);
    return NULL;
}

/* ---- the whole call ---- */

static lz_err *run(calling *q)
{
    lz_ssa_node *node = NULL;
    LZ_TRY(find_args(q));
    if (q->c->given) {
        for (uint32_t i = 0; i < q->c->n_given; i++) {
            LZ_TRY(take_given(q, q->c->given[i], 1, &q->c->results[i]));
            q->c->n = i + 1;
        }
        return NULL;
    }
    LZ_TRY(infer(q));
    LZ_TRY(find_results(q));
    if (needs_node(q))
        LZ_TRY(emit(q, &node));
    return give_results(q, node);
}

lz_err *lz_functionalize_call_run(lz_functionalizer *f, lz_functionalize_call *c)
{
    calling q = { .f = f, .c = c };
    lz_arena arena;
    lz_arena_init(&arena);
    lz_low_init(&q.b, &arena);
    q.b.nonzero = depends_on_elements;
    q.b.user = &q;
    lz_err *e = run(&q);
    lz_low_deinit(&q.b);
    lz_arena_deinit(&arena);
    lz_vec_deinit(&q.operands);
    lz_vec_deinit(&q.specs);
    lz_vec_deinit(&q.made);
    return e;
}
