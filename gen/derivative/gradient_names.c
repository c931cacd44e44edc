#include "gen/derivative/gradient_names.h"
#include "base/number.h"
#include "gen/text/identifiers.h"
#include "gen/text/utils.h"

/* The next grads[i] at or after *from, which moves past it; SIZE_MAX: none. */
static size_t next_index(lz_str formula, size_t *from, uint64_t *index)
{
    const lz_str open = LZ_STR("grads[");
    for (size_t at = lzg_find(formula, open, *from); at != SIZE_MAX; at = lzg_find(formula, open, at + 1)) {
        size_t digits = at + open.len, end = digits + lzg_digit_run(formula, digits);
        bool free_left = at == 0 || (at > *from && !lzg_is_word(formula.ptr[at - 1]));
        if (!free_left || end == digits || end == formula.len || formula.ptr[end] != ']')
            continue;
        if (!lz_uint64_parse(lz_str_sub(formula, digits, end), index))
            *index = UINT64_MAX;
        *from = end + 1;
        return at;
    }
    return SIZE_MAX;
}

lz_err *lzg_gradients_in_bounds(lz_str formula, const lzg_function *f, const lzg_yaml *written)
{
    uint64_t index;
    size_t from = 0, at;
    while ((at = next_index(formula, &from, &index)) != SIZE_MAX)
        if (index >= f->func->nreturns)
            return lz_err_at(LZ_ERR_MODEL, lzg_formula_at(written, lz_str_sub(formula, at, from)),
                             "%.*s is out of bounds: %.*s has %zu outputs",
                             LZ_FMT(lz_str_sub(formula, at, from)), LZ_FMT(f->func->name.text),
                             f->func->nreturns);
    return NULL;
}

typedef struct usage {
    size_t grads, indexed; /* uses of grads, and of these with an index */
    bool grad, named, beyond_first;
    const lzg_yaml *at;
} usage;

static void add_usage(usage *u, const lzg_derivative *d)
{
    uint64_t index;
    size_t grads = lzg_ident_count(d->formula, LZ_STR("grads"));
    bool grad = lzg_ident_used(d->formula, LZ_STR("grad"));
    if (!u->at && (grads || grad))
        u->at = d->written;
    u->grads += grads;
    u->grad = u->grad || grad;
    u->named = u->named || d->named_gradients.len;
    for (size_t from = 0; next_index(d->formula, &from, &index) != SIZE_MAX; u->indexed++)
        u->beyond_first = u->beyond_first || index > 0;
}

lz_err *lzg_gradients_check(const lzg_diff_info *info)
{
    usage u = { 0 };
    for (size_t i = 0; i < info->nderivatives; i++)
        add_usage(&u, &info->derivatives[i]);
    lz_loc at = u.at ? u.at->loc : (lz_loc){ 0 };
    if (u.grads < u.indexed)
        return lz_err_at(LZ_ERR_MODEL, at, "uses of grads[i] overlap in the formula");
    if (u.grad && u.grads)
        return lz_err_at(LZ_ERR_MODEL, at, "formulas mix grad and grads; grad is grads[0]");
    if (u.indexed && u.grads == u.indexed && !u.beyond_first)
        return lz_err_at(LZ_ERR_MODEL, at, "formulas use only grads[0]; write grad, or use the others, too");
    if (u.named && (u.grad || u.grads))
        return lz_err_at(LZ_ERR_MODEL, at,
                         "formulas mix gradients by name (grad_<output>) with grad or grads");
    return NULL;
}

static void insert_sorted(lz_str *names, size_t *n, lz_str name)
{
    size_t i = *n;
    if (lzg_names_have((lzg_names){ names, *n }, name))
        return;
    for (; i > 0 && lz_str_cmp(name, names[i - 1]) < 0; i--)
        names[i] = names[i - 1];
    names[i] = name;
    (*n)++;
}

lz_err *lzg_gradients_used(lz_arena *a, lzg_diff_info *info)
{
    lz_str *names;
    size_t n = 0;
    LZ_TRY(lz_arena_new(a, &names, info->named_gradients.len));
    for (size_t i = 0; i < info->nderivatives; i++)
        for (size_t k = 0; k < info->derivatives[i].named_gradients.len; k++)
            insert_sorted(names, &n, info->derivatives[i].named_gradients.data[k]);
    info->used_named_gradients = (lzg_names){ names, n };
    return NULL;
}
