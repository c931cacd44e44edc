#include "lazy/recorder.h"
#include "core/strides.h"
#include "lazy/ctx.h"
#include "lower/arg.h"
#include "lower/lower_table.h"
#include <string.h>

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

/* Of the arena one chunk stays. */
void lz_recorder_clear(lz_recorder *r)
{
    if (r->b.table_cap)
        memset((void *)r->b.table, 0, r->b.table_cap * sizeof *r->b.table);
    r->b.table_used = 0;
    r->b.n_nodes = 0;
    r->b.guards = NULL;
    r->tensors.len = 0;
    if (!r->start.chunk) {
        lz_arena_deinit(&r->arena);
        if (!lz_arena_zalloc(&r->arena, 1))
            return;
        r->start = lz_arena_save(&r->arena);
    }
    lz_arena_rewind(&r->arena, r->start);
}

/* ---- tensors as values ---- */

/* Each is one of a kind, so nothing is looked up; of strides nobody asks. */
static lz_err *input(lz_recorder *r, int64_t slot, lz_dtype d, lz_ints sizes, lz_lv *out)
{
    lz_ln *x = lz_arena_zalloc(&r->arena, sizeof *x + sizeof(lz_linput));
    if (!x)
        return lz_err_oom();
    lz_linput *attr = (lz_linput *)(void *)(x + 1);
    attr->slot = slot;
    x->kind = LZ_L_INPUT;
    x->ndim = (uint8_t)sizes.n;
    x->dtype = (int8_t)d;
    x->id = UINT32_MAX;
    x->sizes = sizes.v;
    x->attr = attr;
    x->attr_size = sizeof *attr;
    LZ_TRY(lz_shape_numel(sizes, &x->numel));
    *out = lz_lv_tensor(x);
    return NULL;
}

lz_err *lz_recorder_add(lz_recorder *r, lz_tensor *t, lz_lv *out)
{
    *out = lz_lv_none();
    if (!t)
        return NULL;
    LZ_TRY(lz_vec_push(&r->tensors, t));
    return input(r, (int64_t)r->tensors.len - 1, lz_tensor_dtype(t), lz_tensor_sizes(t), out);
}

lz_err *lz_recorder_facts(lz_recorder *r, lz_dtype d, lz_ints sizes, lz_lv *out)
{
    return input(r, LZ_NO_ELEMENTS, d, sizes, out);
}

int64_t lz_recorder_slot(const lz_lv *v)
{
    bool tensor = v->kind == LZ_LV_TENSOR && v->node->kind == LZ_L_INPUT;
    return tensor ? ((const lz_linput *)v->node->attr)->slot : LZ_NO_ELEMENTS;
}

static lz_err *take_list(lz_recorder *r, lz_tensors list, lz_lv *out)
{
    lz_lv *items;
    *out = lz_lv_none();
    if (list.n < 0)
        return NULL;
    LZ_TRY(lz_low_list_new(&r->b, (size_t)list.n, &items));
    for (int64_t i = 0; i < list.n; i++)
        LZ_TRY(lz_recorder_add(r, list.v[i], &items[i]));
    *out = lz_lv_list(items, (size_t)list.n);
    return NULL;
}

lz_err *lz_recorder_take(lz_recorder *r, const lz_value *v, lz_lv *out)
{
    if (v->kind == LZ_KIND_TENSOR)
        return lz_recorder_add(r, v->tensor, out);
    return v->kind == LZ_KIND_TENSORS ? take_list(r, v->tensors, out) : lz_arg_of_value(&r->b, v, out);
}

/* ---- values as arguments ---- */

typedef struct call {
    lz_recorder *r;
    const lz_op_row *op;
    const lz_lv *args;
} call;

/* A number among tensors is a tensor without dimensions, of the dtype that they come to. */
static lz_err *number_tensor(const call *k, const lz_lv *v, lz_tensor **out)
{
    const lz_scalar *number = v->node->attr;
    lz_lv of[LZ_ARGS_MAX];
    lz_dtype d = LZ_BOOL;
    size_t n = 0;
    for (int i = 0; i < k->op->nargs; i++)
        if (k->args[i].kind == LZ_LV_TENSOR)
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
    lz_record(k->r->ctx, &lz_op_table[LZ_OP_full], k->r->at, in, &made);
    *out = made.tensor;
    return NULL;
}

static lz_err *tensor_of(const call *k, const lz_lv *v, lz_tensor **out)
{
    int64_t slot = lz_recorder_slot(v);
    *out = NULL;
    if (v->kind == LZ_LV_NONE)
        return NULL;
    if (v->kind == LZ_LV_TENSOR && v->node->kind == LZ_L_CONST)
        return number_tensor(k, v, out);
    if (slot == LZ_NO_ELEMENTS)
        return lz_errf(LZ_ERR_INTERNAL, "%s: a formula needs elements that nobody kept", k->op->name);
    *out = k->r->tensors.data[slot];
    return NULL;
}

static lz_err *tensors_of(const call *k, const lz_lv *v, lz_value *out)
{
    lz_tensor **t;
    LZ_TRY(lz_arena_new(&k->r->arena, &t, v->list.n + 1));
    for (size_t i = 0; i < v->list.n; i++)
        LZ_TRY(tensor_of(k, &v->list.items[i], &t[i]));
    *out = lz_value_tensors((lz_tensors){ t, (int64_t)v->list.n });
    return NULL;
}

static double real_of(const lz_lv *v)
{
    return v->number.kind == LZ_SCALAR_FLOAT ? v->number.re : (double)v->number.i;
}

static lz_err *list_of(const call *k, lz_kind kind, const lz_lv *v, lz_value *out)
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
        const lz_lv *x = &v->list.items[i];
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

static lz_err *number_of(lz_kind kind, const lz_lv *v, lz_value *out)
{
    *out = kind == LZ_KIND_INT     ? lz_value_integer(v->number.i)
           : kind == LZ_KIND_FLOAT ? lz_value_real(real_of(v))
           : kind == LZ_KIND_BOOL  ? lz_value_truth(v->number.i != 0)
                                   : lz_value_scalar(v->number);
    return NULL;
}

static lz_err *text_of(const call *k, const lz_lv *v, lz_value *out)
{
    lz_str copy;
    LZ_TRY(lz_arena_copy(&k->r->arena, v->str, &copy));
    *out = lz_value_str(copy.ptr);
    return NULL;
}

/* int[2] may be given as one number. */
static lz_err *spread(const call *k, const lz_type_row *type, const lz_lv *v, lz_value *out)
{
    lz_lv *items;
    size_t n = type->size > 0 ? (size_t)type->size : 1;
    LZ_TRY(lz_low_list_new(&k->r->b, n, &items));
    for (size_t i = 0; i < n; i++)
        items[i] = *v;
    lz_lv list = lz_lv_list(items, n);
    return list_of(k, (lz_kind)type->kind, &list, out);
}

static lz_err *argument_of(const call *k, const lz_type_row *type, const lz_lv *v, lz_value *out)
{
    lz_kind kind = (lz_kind)type->kind;
    *out = lz_value_none();
    switch (v->kind) {
    case LZ_LV_TENSOR:
        out->kind = LZ_KIND_TENSOR;
        return tensor_of(k, v, &out->tensor);
    case LZ_LV_NUMBER:
        return lz_arg_element(kind) ? spread(k, type, v, out) : number_of(kind, v, out);
    case LZ_LV_STR:
        return text_of(k, v, out);
    case LZ_LV_LIST:
        return kind == LZ_KIND_TENSORS ? tensors_of(k, v, out) : list_of(k, kind, v, out);
    case LZ_LV_DTYPE:
        *out = lz_value_dtype(v->dtype);
        return NULL;
    case LZ_LV_DEVICE:
        *out = lz_value_device(v->device);
        return NULL;
    case LZ_LV_LAYOUT:
        *out = lz_value_layout(v->layout);
        return NULL;
    case LZ_LV_MEMORY_FORMAT:
        *out = lz_value_memory_format(v->memory_format);
        return NULL;
    default:
        return NULL;
    }
}

/* ---- calls ---- */

static lz_err *failed(const call *k)
{
    return lz_failed(k->r->ctx) ? lz_errf(lz_code_of(k->r->ctx), "%s", lz_message(k->r->ctx)) : NULL;
}

/* A row-major copy begins where its storage does. */
static lz_err *own_storage(lz_recorder *r, lz_value *t)
{
    const lz_value args[] = { *t, lz_value_memory_format(LZ_CONTIGUOUS) };
    lz_record(r->ctx, &lz_op_table[LZ_OP_clone], r->at, args, t);
    return NULL;
}

lz_err *lz_recorder_call(lz_recorder *r, uint16_t op, const lz_lv *args, lz_lv *results)
{
    lz_value in[LZ_ARGS_MAX],
        out[LZ_ARGS_MAX]; /* as much as is used: clearing all would take longer than the rest */
    call k = { .r = r, .args = args };
    /* formulas take no notice of strides and storages: as_strided counts in elements of its argument */
    k.op = &lz_op_table[op == LZ_OP_view         ? LZ_OP_reshape
                        : op == LZ_OP_as_strided ? LZ_OP_as_strided_copy
                                                 : op];
    for (int i = 0; i < k.op->nargs; i++)
        LZ_TRY(argument_of(&k, k.op->args[i].type, &args[i], &in[i]));
    if (op == LZ_OP_as_strided)
        LZ_TRY(own_storage(r, &in[0]));
    lz_record_part(r->ctx, k.op, r->at, in, out);
    LZ_TRY(failed(&k));
    for (int i = 0; i < k.op->nreturns; i++)
        LZ_TRY(lz_recorder_take(r, &out[i], &results[i]));
    return NULL;
}

lz_err *lz_recorder_tensor(lz_recorder *r, const lz_lv *v, lz_tensor **out)
{
    static const lz_op_row nothing = { .name = "a formula", .nargs = 0 };
    const call k = { .r = r, .op = &nothing, .args = NULL };
    return tensor_of(&k, v, out);
}

lz_err *lz_recorder_apply(lz_lower *b, uint16_t op, const lz_lv *args, lz_lv *results)
{
    return lz_recorder_call(b->user, op, args, results);
}

/* ---- a formula instead of its operator ---- */

static lz_err *give_list(lz_recorder *r, const lz_lv *v, lz_value *out)
{
    lz_tensor **list = lz_scope_alloc(r->ctx->scope, (v->list.n + 1) * sizeof *list);
    if (!list)
        return lz_err_oom();
    for (size_t i = 0; i < v->list.n; i++)
        LZ_TRY(lz_recorder_tensor(r, &v->list.items[i], &list[i]));
    *out = lz_value_tensors((lz_tensors){ list, (int64_t)v->list.n });
    return NULL;
}

static lz_err *give(lz_recorder *r, const lz_lv *v, lz_value *out)
{
    if (v->kind == LZ_LV_LIST)
        return give_list(r, v, out);
    *out = lz_value_tensor(NULL);
    return lz_recorder_tensor(r, v, &out->tensor);
}

static lz_err *record_formula(lz_recorder *r, const lz_op_row *op, const lz_value *in, lz_value *out)
{
    const lz_lower_row *row = &lz_lower_table[op - lz_op_table];
    lz_lv args[LZ_ARGS_MAX], results[LZ_ARGS_MAX] = { 0 };
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
    lz_err *e = record_formula(&r, op, in, out);
    lz_recorder_deinit(&r);
    return e;
}
