#include "lazy/recorder.h"
#include "core/strides.h"
#include "lazy/ctx.h"
#include "lazy/lazy_scope.h"
#include "lazy/record.h"
#include "lower/arg.h"
#include "lower/layout.h"
#include "lower/lower_table.h"
#include "op/functional_table.h"

void lz_recorder_init(lz_recorder *r, lz_ctx *c, lz_loc at)
{
    *r = (lz_recorder){ .ctx = c, .at = at };
    lz_arena_init(&r->arena);
    lz_low_init(&r->b, &r->arena);
    r->b.apply = lz_recorder_apply;
    r->b.user = r;
}

void lz_recorder_deinit(lz_recorder *r)
{
    lz_low_deinit(&r->b);
    lz_vec_deinit(&r->tensors);
    lz_arena_deinit(&r->arena);
}

/* Keeps the first chunk of the arena. */
void lz_recorder_clear(lz_recorder *r)
{
    lz_hash_table_clear(&r->b.table);
    r->b.n_nodes = 0;
    r->b.guards = NULL;
    r->tensors.len = 0;
    r->generator = NULL;
    if (!r->start.chunk) {
        lz_arena_deinit(&r->arena);
        if (!lz_arena_zalloc(&r->arena, 1))
            return;
        r->start = lz_arena_save(&r->arena);
    }
    lz_arena_rewind(&r->arena, r->start);
}

/* ---- tensors as values ---- */

/* An input node that is not interned: each is unique. Strides are left out, because formulas do not read
 * them. */
static lz_err *input(lz_recorder *r, int64_t slot, lz_dtype d, lz_ints sizes, lz_low_value *out)
{
    lz_low_node *x = lz_arena_zalloc(&r->arena, sizeof *x + sizeof(lz_low_input_attr));
    if (!x)
        return lz_err_oom();
    lz_low_input_attr *attr = (lz_low_input_attr *)(void *)(x + 1);
    attr->slot = slot;
    x->kind = LZ_LOW_INPUT;
    x->ndim = (uint8_t)sizes.n;
    x->dtype = (int8_t)d;
    x->id = UINT32_MAX;
    x->sizes = sizes.v;
    x->attr = attr;
    x->attr_size = sizeof *attr;
    LZ_TRY(lz_shape_numel(sizes, &x->numel));
    *out = lz_low_value_tensor(x);
    return NULL;
}

lz_err *lz_recorder_add(lz_recorder *r, lz_tensor *t, lz_low_value *out)
{
    *out = lz_low_value_none();
    if (!t)
        return NULL;
    LZ_TRY(lz_vec_push(&r->tensors, t));
    return input(r, (int64_t)r->tensors.len - 1, lz_tensor_dtype(t), lz_tensor_sizes(t), out);
}

lz_err *lz_recorder_facts(lz_recorder *r, lz_dtype d, lz_ints sizes, lz_low_value *out)
{
    return input(r, LZ_NO_ELEMENTS, d, sizes, out);
}

int64_t lz_recorder_slot(const lz_low_value *v)
{
    bool tensor = v->kind == LZ_LOW_VALUE_TENSOR && v->node->kind == LZ_LOW_INPUT;
    return tensor ? ((const lz_low_input_attr *)v->node->attr)->slot : LZ_NO_ELEMENTS;
}

static lz_err *take_list(lz_recorder *r, lz_tensors list, lz_low_value *out)
{
    lz_low_value *items;
    *out = lz_low_value_none();
    if (list.n < 0)
        return NULL;
    LZ_TRY(lz_low_list_new(&r->b, (size_t)list.n, &items));
    for (int64_t i = 0; i < list.n; i++)
        LZ_TRY(lz_recorder_add(r, list.v[i], &items[i]));
    *out = lz_low_value_list(items, (size_t)list.n);
    return NULL;
}

lz_err *lz_recorder_take(lz_recorder *r, const lz_value *v, lz_low_value *out)
{
    if (v->kind == LZ_KIND_TENSOR)
        return lz_recorder_add(r, v->tensor, out);
    if (v->kind == LZ_KIND_GENERATOR && v->generator)
        r->generator = v->generator;
    return v->kind == LZ_KIND_TENSORS ? take_list(r, v->tensors, out) : lz_arg_of_value(&r->b, v, out);
}

/* ---- values as arguments ---- */

typedef struct call {
    lz_recorder *r;
    const lz_op_row *op;
    const lz_low_value *args;
} call;

static lz_err *record(const lz_recorder *r, const lz_op_row *op, const lz_value *in, lz_value *out)
{
    lz_generator *was = r->ctx->drawing;
    r->ctx->drawing = r->generator ? r->generator : was;
    lz_err *e = (r->below_tape ? lz_record_below_tape : lz_record_part)(r->ctx, op, r->at, in, out);
    r->ctx->drawing = was;
    return e;
}

/* A number among tensors becomes a tensor without dimensions, whose dtype is the result type of the
 * tensors. */
static lz_err *number_tensor(const call *k, const lz_low_value *v, lz_tensor **out)
{
    const lz_scalar *number = v->node->attr;
    lz_low_value of[LZ_ARGS_MAX];
    lz_dtype d = LZ_BOOL;
    size_t n = 0;
    for (int i = 0; i < k->op->nargs; i++)
        if (k->args[i].kind == LZ_LOW_VALUE_TENSOR)
            of[n++] = k->args[i];
    if (number->kind != LZ_SCALAR_BOOL)
        LZ_TRY(lz_low_result_type(&k->r->b, of, n, &d));
    const lz_value in[] = { lz_value_ints((lz_ints){ NULL, 0 }),
                            lz_value_scalar(*number),
                            lz_value_dtype(d),
                            lz_value_layout(LZ_LAYOUT_NONE),
                            lz_value_device((lz_device){ -1, -1 }),
                            lz_value_none() };
    lz_value made;
    LZ_TRY(record(k->r, &lz_op_table[LZ_OP_full], in, &made));
    *out = made.tensor;
    return NULL;
}

static lz_err *tensor_of(const call *k, const lz_low_value *v, lz_tensor **out)
{
    int64_t slot = lz_recorder_slot(v);
    *out = NULL;
    if (v->kind == LZ_LOW_VALUE_NONE)
        return NULL;
    if (v->kind == LZ_LOW_VALUE_TENSOR && v->node->kind == LZ_LOW_CONST)
        return number_tensor(k, v, out);
    if (slot == LZ_NO_ELEMENTS)
        return lz_errf(LZ_ERR_INTERNAL, "%s: the formula reads elements that were not saved", k->op->name);
    *out = k->r->tensors.data[slot];
    return NULL;
}

static lz_err *tensors_of(const call *k, const lz_low_value *v, lz_value *out)
{
    lz_tensor **t;
    LZ_TRY(lz_arena_new(&k->r->arena, &t, v->list.n + 1));
    for (size_t i = 0; i < v->list.n; i++)
        LZ_TRY(tensor_of(k, &v->list.items[i], &t[i]));
    *out = lz_value_tensors((lz_tensors){ t, (int64_t)v->list.n });
    return NULL;
}

static double real_of(const lz_low_value *v)
{
    return v->number.kind == LZ_SCALAR_FLOAT ? v->number.re : (double)v->number.i;
}

static lz_err *list_of(const call *k, lz_kind kind, const lz_low_value *v, lz_value *out)
{
    size_t n = v->list.n;
    int64_t len = (int64_t)n;
    union {
        int64_t *i;
        double *f;
        bool *b;
        lz_scalar *s;
    } to;
    LZ_TRY(lz_arena_new(&k->r->arena, &to.s, n + 1));
    for (size_t i = 0; i < n; i++) {
        const lz_low_value *x = &v->list.items[i];
        if (kind == LZ_KIND_INTS)
            to.i[i] = x->number.i;
        else if (kind == LZ_KIND_FLOATS)
            to.f[i] = real_of(x);
        else if (kind == LZ_KIND_BOOLS)
            to.b[i] = x->number.i != 0;
        else
            to.s[i] = x->number;
    }
    *out = kind == LZ_KIND_INTS     ? lz_value_ints((lz_ints){ to.i, len })
           : kind == LZ_KIND_FLOATS ? lz_value_floats((lz_floats){ to.f, len })
           : kind == LZ_KIND_BOOLS  ? lz_value_bools((lz_bools){ to.b, len })
                                    : lz_value_scalars((lz_scalars){ to.s, len });
    return NULL;
}

static lz_err *number_of(lz_kind kind, const lz_low_value *v, lz_value *out)
{
    *out = kind == LZ_KIND_INT     ? lz_value_integer(v->number.i)
           : kind == LZ_KIND_FLOAT ? lz_value_real(real_of(v))
           : kind == LZ_KIND_BOOL  ? lz_value_truth(v->number.i != 0)
                                   : lz_value_scalar(v->number);
    return NULL;
}

static lz_err *text_of(const call *k, const lz_low_value *v, lz_value *out)
{
    lz_str copy;
    LZ_TRY(lz_arena_copy(&k->r->arena, v->str, &copy));
    *out = lz_value_str(copy.ptr);
    return NULL;
}

/* Expands a number that is given for int[n]. */
static lz_err *spread(const call *k, const lz_type_row *type, const lz_low_value *v, lz_value *out)
{
    lz_low_value *items;
    size_t n = type->size > 0 ? (size_t)type->size : 1;
    LZ_TRY(lz_low_list_new(&k->r->b, n, &items));
    for (size_t i = 0; i < n; i++)
        items[i] = *v;
    lz_low_value list = lz_low_value_list(items, n);
    return list_of(k, (lz_kind)type->kind, &list, out);
}

static lz_err *argument_of(const call *k, const lz_type_row *type, const lz_low_value *v, lz_value *out)
{
    lz_kind kind = (lz_kind)type->kind;
    *out = lz_value_none();
    switch (v->kind) {
    case LZ_LOW_VALUE_TENSOR:
        out->kind = LZ_KIND_TENSOR;
        return tensor_of(k, v, &out->tensor);
    case LZ_LOW_VALUE_NUMBER:
        return lz_arg_element(kind) ? spread(k, type, v, out) : number_of(kind, v, out);
    case LZ_LOW_VALUE_STR:
        return text_of(k, v, out);
    case LZ_LOW_VALUE_LIST:
        return kind == LZ_KIND_TENSORS ? tensors_of(k, v, out) : list_of(k, kind, v, out);
    case LZ_LOW_VALUE_DTYPE:
        *out = lz_value_dtype(v->dtype);
        return NULL;
    case LZ_LOW_VALUE_DEVICE:
        *out = lz_value_device(v->device);
        return NULL;
    case LZ_LOW_VALUE_LAYOUT:
        *out = lz_value_layout(v->layout);
        return NULL;
    case LZ_LOW_VALUE_MEMORY_FORMAT:
        *out = lz_value_memory_format(v->memory_format);
        return NULL;
    default:
        return NULL;
    }
}

/* ---- calls ---- */

/* Copies t row-major, so that the copy begins at offset 0 of its storage. */
static lz_err *own_storage(const lz_recorder *r, lz_value *t)
{
    const lz_value args[] = { *t, lz_value_memory_format(LZ_CONTIGUOUS) };
    return record(r, &lz_op_table[LZ_OP_clone], args, t);
}

static bool looks_at_storage(const lz_op_row *op)
{
    return op->flags & LZ_OPF_VIEW && lz_layout_of(op)->memory & LZ_MEMORY_STORAGE;
}

/* Formulas take no notice of strides and storages: view copies where it has to, and as_strided counts in
 * elements of its argument. */
static uint16_t without_strides(uint16_t op, bool strided)
{
    const lz_functional_row *row = &lz_functional_table[op];
    return strided ? row->functional : row->copying ? row->copying : op;
}

lz_err *lz_recorder_call(lz_recorder *r, uint16_t op, const lz_low_value *args, lz_low_value *results)
{
    lz_value in[LZ_ARGS_MAX],
        out[LZ_ARGS_MAX]; /* only used entries are set: clearing the arrays would take longer than the rest */
    call k = { .r = r, .args = args };
    bool strided = looks_at_storage(&lz_op_table[op]);
    k.op = &lz_op_table[without_strides(op, strided)];
    for (int i = 0; i < k.op->nargs; i++)
        LZ_TRY(argument_of(&k, k.op->args[i].type, &args[i], &in[i]));
    if (strided)
        LZ_TRY(own_storage(r, &in[0]));
    LZ_TRY(record(r, k.op, in, out));
    if (k.op->nreturns && out[0].kind == LZ_KIND_TENSOR && out[0].tensor == r->ctx->inert)
        return lz_err_set_names_op(
            lz_err_at(LZ_ERR_ARG, r->at, "%s::%s: an argument is inert", k.op->ns, k.op->name));
    for (int i = 0; i < k.op->nreturns; i++)
        LZ_TRY(lz_recorder_take(r, &out[i], &results[i]));
    return NULL;
}

lz_err *lz_recorder_tensor(lz_recorder *r, const lz_low_value *v, lz_tensor **out)
{
    static const lz_op_row nothing = { .name = "a formula", .nargs = 0 };
    const call k = { .r = r, .op = &nothing, .args = NULL };
    return tensor_of(&k, v, out);
}

lz_err *lz_recorder_apply(lz_lower *b, uint16_t op, const lz_low_value *args, lz_low_value *results)
{
    return lz_recorder_call(b->user, op, args, results);
}

/* ---- a formula instead of its operator ---- */

static lz_err *give_list(lz_recorder *r, const lz_low_value *v, lz_value *out)
{
    lz_tensor **list = lz_scope_alloc(r->ctx->scope, (v->list.n + 1) * sizeof *list);
    if (!list)
        return lz_err_oom();
    for (size_t i = 0; i < v->list.n; i++)
        LZ_TRY(lz_recorder_tensor(r, &v->list.items[i], &list[i]));
    *out = lz_value_tensors((lz_tensors){ list, (int64_t)v->list.n });
    return NULL;
}

static lz_err *give(lz_recorder *r, const lz_low_value *v, lz_value *out)
{
    if (v->kind == LZ_LOW_VALUE_LIST)
        return give_list(r, v, out);
    *out = lz_value_tensor(NULL);
    return lz_recorder_tensor(r, v, &out->tensor);
}

static lz_err *record_formula(lz_recorder *r, const lz_op_row *op, const lz_value *in, lz_value *out)
{
    const lz_lower_row *row = &lz_lower_table[op - lz_op_table];
    lz_low_value args[LZ_ARGS_MAX], results[LZ_ARGS_MAX] = { 0 };
    for (int i = 0; i < row->nargs; i++)
        LZ_TRY(lz_recorder_take(r, &in[row->from ? row->from[i] : i], &args[i]));
    LZ_TRY(row->fn(&r->b, args, results));
    for (uint32_t i = 0; i < op->nreturns; i++)
        LZ_TRY(give(r, &results[i], &out[i]));
    return NULL;
}

lz_err *lz_recorder_formula(lz_ctx *c, const lz_op_row *op, lz_loc at, const lz_value *in, lz_value *out)
{
    lz_recorder r;
    lz_recorder_init(&r, c, at);
    r.below_tape = true;
    lz_err *e = record_formula(&r, op, in, out);
    lz_recorder_deinit(&r);
    return e;
}
