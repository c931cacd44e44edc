#include "op/op_find.h"
#include <assert.h>
#include <string.h>

static const lz_op_row *row_at(size_t i)
{
    return &lz_op_table[lz_op_by_name[i]];
}

/* The first row whose name is not less than `name`. Operator number 0 does not exist. */
static size_t first_of(lz_str name)
{
    size_t lo = 1, hi = LZ_OP_COUNT;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        assert(mid == 1 || strcmp(row_at(mid - 1)->name, row_at(mid)->name) <= 0); /* the generator sorts */
        bool before = lz_str_cmp(lz_str_of(row_at(mid)->name), name) < 0;
        lo = before ? mid + 1 : lo;
        hi = before ? hi : mid;
    }
    return lo;
}

const lz_op_row *lz_op_find(lz_str name)
{
    size_t colon = lz_str_find(name, LZ_STR("::"));
    lz_str ns = { NULL, 0 };
    if (colon != SIZE_MAX) {
        ns = lz_str_sub(name, 0, colon);
        name = lz_str_sub(name, colon + 2, name.len);
    }
    for (size_t i = first_of(name); i < LZ_OP_COUNT && lz_str_is(name, row_at(i)->name); i++)
        if (colon == SIZE_MAX || lz_str_is(ns, row_at(i)->ns))
            return row_at(i);
    return NULL;
}

/* "aten::to_sparse.csr" without namespace and overload. */
static lz_str base_of(lz_str name)
{
    size_t colon = lz_str_rfind(name, LZ_STR("::"));
    if (colon != SIZE_MAX)
        name = lz_str_sub(name, colon + 2, name.len);
    size_t dot = lz_str_find_char(name, '.');
    return dot == SIZE_MAX ? name : lz_str_sub(name, 0, dot);
}

const char *lz_op_left_out(lz_str name)
{
    lz_str base = base_of(name), plain = base;
    if (lz_str_ends(base, LZ_STR("_")))
        plain.len--;
    for (const lz_left_out_row *row = lz_left_out_table; row->pattern; row++) {
        lz_str pattern = lz_str_of(row->pattern);
        if (lz_str_matches(base, pattern) || lz_str_matches(plain, pattern))
            return row->family;
    }
    return NULL;
}

lz_err *lz_op_unknown(lz_code code, lz_str name)
{
    const char *family = lz_op_left_out(name);
    if (lz_op_table_selective && !family)
        return lz_errf(code, "operator %.*s is not part of this build, which has selected operators only",
                       LZ_FMT(name));
    return lz_errf(code, "there is no operator '%.*s'%s%s%s", LZ_FMT(name), family ? ": " : "",
                   family ? family : "", family ? " are not planned" : "");
}
