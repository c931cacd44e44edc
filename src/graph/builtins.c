#include "graph/builtins.h"

const lz_builtin_table *const lz_builtin_tables[LZ_BUILTIN_TABLES] = {
    &lz_builtins_number, &lz_builtins_math, &lz_builtins_str,    &lz_builtins_text,
    &lz_builtins_list,   &lz_builtins_dict, &lz_builtins_tensor,
};

/* The first row with that name, or where it would be inserted. */
static size_t lower_bound(const lz_builtin_table *t, lz_str name)
{
    size_t lo = 0, hi = t->n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (lz_str_cmp(lz_str_of(t->rows[mid].name), name) < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

size_t lz_builtins_find(lz_str name, const lz_builtin **out, size_t room)
{
    size_t n = 0;
    for (size_t t = 0; t < LZ_BUILTIN_TABLES; t++) {
        const lz_builtin_table *table = lz_builtin_tables[t];
        for (size_t i = lower_bound(table, name); i < table->n && lz_str_is(name, table->rows[i].name);
             i++, n++)
            if (n < room)
                out[n] = &table->rows[i];
    }
    return n;
}

static void print_list(const char *p, lz_text *out)
{
    for (const char *start = p; *p;) {
        lz_text_puts(out, p == start ? "" : ", ");
        lz_pattern_print(&p, out);
    }
}

void lz_builtin_print(const lz_builtin *b, lz_text *out)
{
    lz_text_printf(out, "%s%s%s(", b->name, *b->overload ? "." : "", b->overload);
    print_list(b->args, out);
    lz_text_puts(out, ") -> ");
    bool one = lz_pattern_count(b->rets) == 1;
    lz_text_puts(out, one ? "" : "(");
    print_list(b->rets, out);
    lz_text_puts(out, one ? "" : ")");
}
