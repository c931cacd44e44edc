/* The functions of lazuli/operator.h. */
#include "lower/lower_table.h"
#include "op/op_find.h"
#include <lazuli/operator.h>

/* Operator number 0 does not exist. */
size_t lz_operator_count(void)
{
    return LZ_OP_COUNT - 1;
}

const lz_op_row *lz_operator_at(size_t i)
{
    return i < lz_operator_count() ? &lz_op_table[i + 1] : NULL;
}

const lz_op_row *lz_operator_find(const char *name)
{
    return lz_op_find(lz_str_of(name));
}

const char *lz_operator_left_out(const char *name)
{
    return lz_op_left_out(lz_str_of(name));
}

const char *lz_support_name(lz_support s)
{
    static const char *const names[LZ_SUPPORT_COUNT] = { "not yet", "primitive", "formula", "derived" };
    return (unsigned)s < LZ_SUPPORT_COUNT ? names[s] : NULL;
}

static bool is_written(const lz_op_row *op)
{
    return op->kind == LZ_SCHEMA_FUNCTIONAL && !(op->flags & LZ_OPF_GENERATED);
}

/* Rows that share a lowering function have one meaning. The function belongs to the first functional entry
 * that was written by hand; without one, to the first row. */
static size_t owner_of(size_t op)
{
    const lz_lower_row *row = &lz_lower_table[op];
    size_t first = 0;
    for (size_t i = 1; i < LZ_OP_COUNT; i++) {
        if (lz_lower_table[i].fn != row->fn)
            continue;
        if (is_written(&lz_op_table[i]))
            return i;
        first = first ? first : i;
    }
    return first;
}

lz_support lz_operator_support(const lz_op_row *op, const lz_op_row **from)
{
    size_t n = (size_t)(op - lz_op_table);
    if (from)
        *from = NULL;
    if (!lz_lower_table[n].fn)
        return LZ_SUPPORT_NOT;
    size_t owner = owner_of(n);
    if (from && owner != n)
        *from = &lz_op_table[owner];
    if (owner != n)
        return LZ_SUPPORT_DERIVED;
    return lz_lower_table[n].kind == LZ_LOWER_FORMULA ? LZ_SUPPORT_FORMULA : LZ_SUPPORT_PRIMITIVE;
}
