#include "lower/op_lower.h"
#include "core/shape.h"
#include "lower/lower_table.h"

static const lz_lower_row *row_of(const lz_op_row *op)
{
    return &lz_lower_table[op - lz_op_table];
}

bool lz_op_can_lower(const lz_op_row *op)
{
    return row_of(op)->fn != NULL;
}

static lz_lv written_dtype(const lz_op_row *op, const lz_lv *args)
{
    for (int i = 0; i < op->nargs; i++)
        if (op->args[i].write && args[i].kind == LZ_LV_TENSOR)
            return lz_lv_dtype(args[i].dtype);
    return lz_lv_none();
}

/* ---- arguments are what the schema says: lowering functions take that for granted ---- */

static const struct {
    lz_lv_kind kind, element; /* element: of a list */
} due[LZ_KIND_COUNT] = {
    [LZ_KIND_TENSOR] = { LZ_LV_TENSOR, LZ_LV_NONE },
    [LZ_KIND_GENERATOR] = { LZ_LV_GENERATOR, LZ_LV_NONE },
    [LZ_KIND_INT] = { LZ_LV_NUMBER, LZ_LV_NONE },
    [LZ_KIND_FLOAT] = { LZ_LV_NUMBER, LZ_LV_NONE },
    [LZ_KIND_BOOL] = { LZ_LV_NUMBER, LZ_LV_NONE },
    [LZ_KIND_SCALAR] = { LZ_LV_NUMBER, LZ_LV_NONE },
    [LZ_KIND_STR] = { LZ_LV_STR, LZ_LV_NONE },
    [LZ_KIND_DTYPE] = { LZ_LV_DTYPE, LZ_LV_NONE },
    [LZ_KIND_LAYOUT] = { LZ_LV_LAYOUT, LZ_LV_NONE },
    [LZ_KIND_MEMORY_FORMAT] = { LZ_LV_MEMORY_FORMAT, LZ_LV_NONE },
    [LZ_KIND_DEVICE] = { LZ_LV_DEVICE, LZ_LV_NONE },
    [LZ_KIND_INTS] = { LZ_LV_LIST, LZ_LV_NUMBER },
    [LZ_KIND_FLOATS] = { LZ_LV_LIST, LZ_LV_NUMBER },
    [LZ_KIND_BOOLS] = { LZ_LV_LIST, LZ_LV_NUMBER },
    [LZ_KIND_SCALARS] = { LZ_LV_LIST, LZ_LV_NUMBER },
    [LZ_KIND_STRS] = { LZ_LV_LIST, LZ_LV_STR },
    [LZ_KIND_TENSORS] = { LZ_LV_LIST, LZ_LV_TENSOR },
};

/* int[2] may be given as one number. */
static bool fits(const lz_type_row *type, const lz_lv *v)
{
    bool nullable = type->flags & LZ_TYPE_NULLABLE, sized = type->size > 0;
    if (v->kind == LZ_LV_NONE)
        return type->flags & LZ_TYPE_OPTIONAL;
    if (v->kind != due[type->kind].kind)
        return sized && v->kind == LZ_LV_NUMBER && due[type->kind].element == LZ_LV_NUMBER;
    for (size_t i = 0; v->kind == LZ_LV_LIST && i < v->list.n; i++)
        if (v->list.items[i].kind != due[type->kind].element
            && !(nullable && v->list.items[i].kind == LZ_LV_NONE))
            return false;
    return true;
}

static lz_err *check_args(const lz_op_row *op, const lz_lv *args)
{
    for (int i = 0; i < op->nargs; i++)
        if (!fits(op->args[i].type, &args[i]))
            return lz_errf(LZ_ERR_ARG, "%s(): argument '%s' must be %s", op->name, op->args[i].name,
                           op->args[i].type->text);
    return NULL;
}

static lz_err *pass_args(const lz_op_row *op, const lz_lv *args, lz_lv *passed)
{
    const lz_lower_row *row = row_of(op);
    if (!row->fn)
        return lz_errf(LZ_ERR_UNSUPPORTED, "%s::%s is not implemented yet", op->ns, op->name);
    LZ_TRY(check_args(op, args));
    for (int i = 0; i < row->nargs; i++) {
        int from = row->from ? row->from[i] : i;
        passed[i] = from >= 0                   ? args[from]
                    : from == LZ_FROM_OUT_DTYPE ? written_dtype(op, args)
                                                : lz_lv_none();
    }
    return NULL;
}

/* What is written in place keeps its shape, unless the operator is a view of itself. */
static lz_err *check_in_place(const lz_op_row *op, const lz_lv *args, const lz_lv *results)
{
    char is[LZ_SHAPE_CHARS], made[LZ_SHAPE_CHARS];
    if (op->kind != LZ_SCHEMA_INPLACE || (op->tags & LZ_TAG_BIT(inplace_view)) || !op->nargs
        || args[0].kind != LZ_LV_TENSOR || results[0].kind != LZ_LV_TENSOR
        || lz_shape_eq(lz_lv_sizes(&args[0]), lz_lv_sizes(&results[0])))
        return NULL;
    return lz_errf(LZ_ERR_ARG, "output with shape %s doesn't match the broadcast shape %s",
                   lz_shape_print(lz_lv_sizes(&args[0]), is), lz_shape_print(lz_lv_sizes(&results[0]), made));
}

lz_err *lz_op_lower(lz_lower *b, const lz_op_row *op, const lz_lv *args, lz_lv *results, size_t *n)
{
    const lz_lower_row *row = row_of(op);
    lz_lv passed[LZ_ARGS_MAX];
    LZ_TRY(pass_args(op, args, passed));
    *n = row->nresults;
    LZ_TRY(lz_low_call(b, row->fn, passed, row->nargs, results, *n));
    return check_in_place(op, args, results);
}

lz_err *lz_op_lower_as_is(lz_lower *b, const lz_op_row *op, const lz_lv *args, lz_lv *results, size_t *n)
{
    const lz_lower_row *row = row_of(op);
    lz_lv passed[LZ_ARGS_MAX];
    LZ_TRY(pass_args(op, args, passed));
    *n = row->nresults;
    LZ_TRY(row->fn(b, passed, results));
    for (size_t i = 0; i < *n; i++)
        LZ_TRY(lz_low_round(b, &results[i]));
    return NULL;
}
