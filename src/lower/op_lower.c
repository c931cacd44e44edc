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

static lz_low_value written_dtype(const lz_op_row *op, const lz_low_value *args)
{
    for (int i = 0; i < op->nargs; i++)
        if (op->args[i].write && args[i].kind == LZ_LOW_VALUE_TENSOR)
            return lz_low_value_dtype(args[i].dtype);
    return lz_low_value_none();
}

/* ---- checks of arguments: lowering functions rely on the kinds of the schema ---- */

static const struct {
    lz_low_value_kind kind, element; /* element: the kind of a list's items */
} expected[LZ_KIND_COUNT] = {
    [LZ_KIND_TENSOR] = { LZ_LOW_VALUE_TENSOR, LZ_LOW_VALUE_NONE },
    [LZ_KIND_GENERATOR] = { LZ_LOW_VALUE_GENERATOR, LZ_LOW_VALUE_NONE },
    [LZ_KIND_INT] = { LZ_LOW_VALUE_NUMBER, LZ_LOW_VALUE_NONE },
    [LZ_KIND_FLOAT] = { LZ_LOW_VALUE_NUMBER, LZ_LOW_VALUE_NONE },
    [LZ_KIND_BOOL] = { LZ_LOW_VALUE_NUMBER, LZ_LOW_VALUE_NONE },
    [LZ_KIND_SCALAR] = { LZ_LOW_VALUE_NUMBER, LZ_LOW_VALUE_NONE },
    [LZ_KIND_STR] = { LZ_LOW_VALUE_STR, LZ_LOW_VALUE_NONE },
    [LZ_KIND_DTYPE] = { LZ_LOW_VALUE_DTYPE, LZ_LOW_VALUE_NONE },
    [LZ_KIND_LAYOUT] = { LZ_LOW_VALUE_LAYOUT, LZ_LOW_VALUE_NONE },
    [LZ_KIND_MEMORY_FORMAT] = { LZ_LOW_VALUE_MEMORY_FORMAT, LZ_LOW_VALUE_NONE },
    [LZ_KIND_DEVICE] = { LZ_LOW_VALUE_DEVICE, LZ_LOW_VALUE_NONE },
    [LZ_KIND_INTS] = { LZ_LOW_VALUE_LIST, LZ_LOW_VALUE_NUMBER },
    [LZ_KIND_FLOATS] = { LZ_LOW_VALUE_LIST, LZ_LOW_VALUE_NUMBER },
    [LZ_KIND_BOOLS] = { LZ_LOW_VALUE_LIST, LZ_LOW_VALUE_NUMBER },
    [LZ_KIND_SCALARS] = { LZ_LOW_VALUE_LIST, LZ_LOW_VALUE_NUMBER },
    [LZ_KIND_STRS] = { LZ_LOW_VALUE_LIST, LZ_LOW_VALUE_STR },
    [LZ_KIND_TENSORS] = { LZ_LOW_VALUE_LIST, LZ_LOW_VALUE_TENSOR },
};

/* One number may stand for int[2]. */
static bool fits(const lz_type_row *type, const lz_low_value *v)
{
    bool nullable = type->flags & LZ_TYPE_NULLABLE, sized = type->size > 0;
    if (v->kind == LZ_LOW_VALUE_NONE)
        return type->flags & LZ_TYPE_OPTIONAL;
    if (v->kind != expected[type->kind].kind)
        return sized && v->kind == LZ_LOW_VALUE_NUMBER && expected[type->kind].element == LZ_LOW_VALUE_NUMBER;
    for (size_t i = 0; v->kind == LZ_LOW_VALUE_LIST && i < v->list.n; i++)
        if (v->list.items[i].kind != expected[type->kind].element
            && !(nullable && v->list.items[i].kind == LZ_LOW_VALUE_NONE))
            return false;
    return true;
}

static lz_err *check_args(const lz_op_row *op, const lz_low_value *args)
{
    for (int i = 0; i < op->nargs; i++)
        if (!fits(op->args[i].type, &args[i]))
            return lz_errf(LZ_ERR_ARG, "%s(): argument '%s' must be %s", op->name, op->args[i].name,
                           op->args[i].type->text);
    return NULL;
}

lz_err *lz_op_unsupported(const lz_op_row *op)
{
    return lz_err_set_names_op(
        lz_errf(LZ_ERR_UNSUPPORTED, "%s::%s is not implemented yet", op->ns, op->name));
}

static lz_err *pass_args(const lz_op_row *op, const lz_low_value *args, lz_low_value *passed)
{
    const lz_lower_row *row = row_of(op);
    if (!row->fn)
        return lz_op_unsupported(op);
    LZ_TRY(check_args(op, args));
    for (int i = 0; i < row->nargs; i++) {
        int from = row->from ? row->from[i] : i;
        passed[i] = from >= 0                   ? args[from]
                    : from == LZ_FROM_OUT_DTYPE ? written_dtype(op, args)
                                                : lz_low_value_none();
    }
    return NULL;
}

/* An in-place operator must not change the shape, unless the operator is a view of itself. */
static lz_err *check_in_place(const lz_op_row *op, const lz_low_value *args, const lz_low_value *results)
{
    char is[LZ_SHAPE_CHARS], made[LZ_SHAPE_CHARS];
    if (op->kind != LZ_SCHEMA_INPLACE || (op->tags & LZ_TAG_BIT(inplace_view)) || !op->nargs
        || args[0].kind != LZ_LOW_VALUE_TENSOR || results[0].kind != LZ_LOW_VALUE_TENSOR
        || lz_shape_eq(lz_low_value_sizes(&args[0]), lz_low_value_sizes(&results[0])))
        return NULL;
    return lz_err_because(LZ_REASON_SHAPE, "output with shape %s doesn't match the broadcast shape %s",
                          lz_shape_print(lz_low_value_sizes(&args[0]), is),
                          lz_shape_print(lz_low_value_sizes(&results[0]), made));
}

lz_err *lz_op_lower(lz_lower *b, const lz_op_row *op, const lz_low_value *args, lz_low_value *results,
                    size_t *n)
{
    const lz_lower_row *row = row_of(op);
    lz_low_value passed[LZ_ARGS_MAX];
    LZ_TRY(pass_args(op, args, passed));
    *n = row->nresults;
    LZ_TRY(lz_low_call(b, row->fn, passed, row->nargs, results, *n));
    return check_in_place(op, args, results);
}

lz_err *lz_op_lower_as_is(lz_lower *b, const lz_op_row *op, const lz_low_value *args, lz_low_value *results,
                          size_t *n)
{
    const lz_lower_row *row = row_of(op);
    lz_low_value passed[LZ_ARGS_MAX];
    LZ_TRY(pass_args(op, args, passed));
    *n = row->nresults;
    LZ_TRY(row->fn(b, passed, results));
    for (size_t i = 0; i < *n; i++)
        LZ_TRY(lz_low_round(b, &results[i]));
    return NULL;
}
