#include "exec/op_lower.h"
#include "exec/lower_table.h"

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

lz_err *lz_op_lower(lz_lower *b, const lz_op_row *op, const lz_lv *args, lz_lv *results, size_t *n)
{
    const lz_lower_row *row = row_of(op);
    lz_lv passed[LZ_ARGS_MAX] = { 0 };
    if (!row->fn)
        return lz_errf(LZ_ERR_UNSUPPORTED, "%s::%s is not implemented yet", op->ns, op->name);
    for (int i = 0; i < row->nargs; i++) {
        int from = row->from ? row->from[i] : i;
        if (from >= 0)
            passed[i] = args[from];
        else if (from == LZ_FROM_OUT_DTYPE)
            passed[i] = written_dtype(op, args);
    }
    *n = row->nresults;
    return lz_low_call(b, row->fn, passed, row->nargs, results, row->nresults);
}
