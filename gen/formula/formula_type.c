#include "gen/formula/formula_type.h"

const lzg_fty lzg_fty_none = { .kind = LZG_FTY_NONE };
const lzg_fty lzg_fty_empty_list = { .kind = LZG_FTY_LIST, .size = -1 };

static const lzg_fty bases[LZG_TY_COUNT] = {
#define X(name) [LZG_TY_##name] = { .kind = LZG_FTY_BASE, .base = LZG_TY_##name },
    LZG_BASE_TYPES(X)
#undef X
};

const lzg_fty *lzg_fty_base(lzg_base_ty base)
{
    return &bases[base];
}

static lz_err *make(lz_arena *a, lzg_fty proto, const lzg_fty **out)
{
    lzg_fty *t;
    LZ_TRY(lz_arena_new(a, &t, 1));
    *t = proto;
    *out = t;
    return NULL;
}

/* NOLINTBEGIN(misc-no-recursion): types are at most as deep as lzg_type_parse and a formula make them */

lz_err *lzg_fty_of(lz_arena *a, const lzg_type *t, const lzg_fty **out)
{
    const lzg_fty *elem = NULL;
    if (t->kind == LZG_TYPE_BASE) {
        *out = &bases[t->base];
        return NULL;
    }
    if (t->kind == LZG_TYPE_CLASS)
        return make(a, (lzg_fty){ .kind = LZG_FTY_CLASS, .class_name = t->class_name }, out);
    LZ_TRY(lzg_fty_of(a, t->elem, &elem));
    if (t->kind == LZG_TYPE_OPTIONAL)
        return lzg_fty_optional(a, elem, out);
    return lzg_fty_list(a, elem, t->size, out);
}

static void print_tuple(const lzg_fty *t, lz_text *out)
{
    lz_text_putc(out, '(');
    for (size_t i = 0; i < t->n; i++) {
        lz_text_puts(out, i ? ", " : "");
        lzg_fty_print(t->items[i], out);
    }
    lz_text_putc(out, ')');
}

void lzg_fty_print(const lzg_fty *t, lz_text *out)
{
    if (t->elem)
        lzg_fty_print(t->elem, out);
    if (t->kind == LZG_FTY_BASE)
        lz_text_puts(out, lzg_base_ty_name(t->base));
    else if (t->kind == LZG_FTY_NONE)
        lz_text_puts(out, "None");
    else if (t->kind == LZG_FTY_OPTIONAL)
        lz_text_putc(out, '?');
    else if (t->kind == LZG_FTY_TUPLE)
        print_tuple(t, out);
    else if (t->kind == LZG_FTY_CLASS)
        lz_text_add(out, t->class_name);
    else if (t->size >= 0)
        lz_text_printf(out, "[%d]", t->size);
    else
        lz_text_puts(out, "[]");
}

static bool same_items(const lzg_fty *a, const lzg_fty *b)
{
    bool eq = a->n == b->n;
    for (size_t i = 0; eq && i < a->n; i++)
        eq = lzg_fty_eq(a->items[i], b->items[i]);
    return eq;
}

bool lzg_fty_eq(const lzg_fty *a, const lzg_fty *b)
{
    if (a == b)
        return true;
    if (!a || !b || a->kind != b->kind)
        return false;
    return a->base == b->base && a->size == b->size && lz_str_eq(a->class_name, b->class_name)
           && lzg_fty_eq(a->elem, b->elem) && same_items(a, b);
}

/* ---- conversions ---- */

typedef struct step {
    lzg_base_ty from, to;
    int cost;
} step;

static const step steps[] = {
    { LZG_TY_int, LZG_TY_SymInt, LZG_COST_INT },      { LZG_TY_SymInt, LZG_TY_int, LZG_COST_INT },
    { LZG_TY_int, LZG_TY_DeviceIndex, LZG_COST_INT }, { LZG_TY_DeviceIndex, LZG_TY_int, LZG_COST_INT },
    { LZG_TY_bool, LZG_TY_SymBool, LZG_COST_INT },    { LZG_TY_SymBool, LZG_TY_bool, LZG_COST_INT },
    { LZG_TY_int, LZG_TY_float, LZG_COST_NUMBER },    { LZG_TY_SymInt, LZG_TY_float, LZG_COST_NUMBER },
    { LZG_TY_int, LZG_TY_Scalar, LZG_COST_NUMBER },   { LZG_TY_SymInt, LZG_TY_Scalar, LZG_COST_NUMBER },
    { LZG_TY_float, LZG_TY_Scalar, LZG_COST_NUMBER }, { LZG_TY_bool, LZG_TY_Scalar, LZG_COST_NUMBER },
    { LZG_TY_int, LZG_TY_Tensor, LZG_COST_WRAP },     { LZG_TY_SymInt, LZG_TY_Tensor, LZG_COST_WRAP },
    { LZG_TY_float, LZG_TY_Tensor, LZG_COST_WRAP },   { LZG_TY_bool, LZG_TY_Tensor, LZG_COST_WRAP },
    { LZG_TY_Scalar, LZG_TY_Tensor, LZG_COST_WRAP },
};

static int base_cost(lzg_base_ty from, lzg_base_ty to)
{
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
        if (steps[i].from == from && steps[i].to == to)
            return steps[i].cost;
    return from == to ? 0 : -1;
}

static int plus(int cost, int more)
{
    return cost < 0 ? -1 : cost + more;
}

static int tuple_cost(const lzg_fty *from, const lzg_fty *to)
{
    int most = from->n == to->n ? 0 : -1;
    for (size_t i = 0; most >= 0 && i < from->n; i++) {
        int cost = lzg_fty_cost(from->items[i], to->items[i]);
        most = cost < 0 || cost > most ? cost : most;
    }
    return most;
}

/* Numbers that are items of a list do not become tensors. */
static bool wraps(const lzg_fty *from, const lzg_fty *to)
{
    return lzg_fty_cost(from, to) >= LZG_COST_WRAP;
}

/* int[2] takes lists of any length, as in PyTorch; bool[3] is an array. */
static int list_cost(const lzg_fty *from, const lzg_fty *to)
{
    if (!from->elem)
        return 0;
    if (!to->elem)
        return -1;
    if (lzg_fty_is(to->elem, LZG_TY_bool) && to->size >= 0 && from->size >= 0 && from->size != to->size)
        return -1;
    return wraps(from->elem, to->elem) ? -1 : lzg_fty_cost(from->elem, to->elem);
}

int lzg_fty_cost(const lzg_fty *from, const lzg_fty *to)
{
    if (from == to)
        return 0;
    if (to->kind == LZG_FTY_OPTIONAL) {
        if (from->kind == LZG_FTY_NONE)
            return 0;
        return from->kind == LZG_FTY_OPTIONAL ? lzg_fty_cost(from->elem, to->elem)
                                              : plus(lzg_fty_cost(from, to->elem), LZG_COST_LIFT);
    }
    if (from->kind == LZG_FTY_BASE && to->kind == LZG_FTY_LIST && to->size > 0
        && !lzg_fty_is(to->elem, LZG_TY_Tensor))
        return plus(lzg_fty_cost(from, to->elem), LZG_COST_SPREAD);
    if (from->kind != to->kind)
        return -1;
    if (from->kind == LZG_FTY_BASE)
        return base_cost(from->base, to->base);
    if (from->kind == LZG_FTY_LIST)
        return list_cost(from, to);
    return from->kind == LZG_FTY_TUPLE ? tuple_cost(from, to) : lzg_fty_eq(from, to) ? 0 : -1;
}

/* ---- joins ---- */

static lz_err *join_tuples(lz_arena *a, const lzg_fty *x, const lzg_fty *y, const lzg_fty **out)
{
    const lzg_fty **items;
    *out = NULL;
    if (x->n != y->n)
        return NULL;
    LZ_TRY(lz_arena_new(a, &items, x->n));
    for (size_t i = 0; i < x->n; i++) {
        LZ_TRY(lzg_fty_join(a, x->items[i], y->items[i], &items[i]));
        if (!items[i])
            return NULL;
    }
    return lzg_fty_tuple(a, items, x->n, out);
}

static lz_err *join_optional(lz_arena *a, const lzg_fty *x, const lzg_fty *y, const lzg_fty **out)
{
    const lzg_fty *from = x->kind == LZG_FTY_OPTIONAL ? x->elem : x;
    const lzg_fty *to = y->kind == LZG_FTY_OPTIONAL ? y->elem : y, *elem;
    if (from->kind == LZG_FTY_NONE || to->kind == LZG_FTY_NONE)
        elem = from->kind == LZG_FTY_NONE ? to : from;
    else
        LZ_TRY(lzg_fty_join(a, from, to, &elem));
    *out = elem;
    return elem ? lzg_fty_optional(a, elem, out) : NULL;
}

static lz_err *join_lists(lz_arena *a, const lzg_fty *x, const lzg_fty *y, const lzg_fty **out)
{
    const lzg_fty *elem;
    *out = !x->elem ? y : !y->elem ? x : NULL;
    if (*out)
        return NULL;
    LZ_TRY(lzg_fty_join(a, x->elem, y->elem, &elem));
    if (!elem || wraps(x->elem, elem) || wraps(y->elem, elem))
        return NULL;
    return lzg_fty_list(a, elem, -1, out);
}

lz_err *lzg_fty_join(lz_arena *a, const lzg_fty *x, const lzg_fty *y, const lzg_fty **out)
{
    bool sym = lzg_fty_is_int(x) && lzg_fty_is_int(y);
    *out = x;
    if (lzg_fty_eq(x, y))
        return NULL;
    if (x->kind == LZG_FTY_OPTIONAL || x->kind == LZG_FTY_NONE || y->kind == LZG_FTY_OPTIONAL
        || y->kind == LZG_FTY_NONE)
        return join_optional(a, x, y, out);
    if (x->kind == LZG_FTY_TUPLE && y->kind == LZG_FTY_TUPLE)
        return join_tuples(a, x, y, out);
    if (x->kind == LZG_FTY_LIST && y->kind == LZG_FTY_LIST)
        return join_lists(a, x, y, out);
    if (x->kind != LZG_FTY_BASE || y->kind != LZG_FTY_BASE)
        *out = NULL;
    else if (sym)
        *out = &bases[LZG_TY_SymInt];
    else
        *out = base_cost(x->base, y->base) >= 0 ? y : base_cost(y->base, x->base) >= 0 ? x : NULL;
    return NULL;
}

/* NOLINTEND(misc-no-recursion) */

lz_err *lzg_fty_optional(lz_arena *a, const lzg_fty *elem, const lzg_fty **out)
{
    *out = elem;
    if (elem->kind == LZG_FTY_OPTIONAL || elem->kind == LZG_FTY_NONE)
        return NULL;
    return make(a, (lzg_fty){ .kind = LZG_FTY_OPTIONAL, .elem = elem }, out);
}

lz_err *lzg_fty_list(lz_arena *a, const lzg_fty *elem, int32_t size, const lzg_fty **out)
{
    return make(a, (lzg_fty){ .kind = LZG_FTY_LIST, .elem = elem, .size = size }, out);
}

lz_err *lzg_fty_tuple(lz_arena *a, const lzg_fty *const *items, size_t n, const lzg_fty **out)
{
    return make(a, (lzg_fty){ .kind = LZG_FTY_TUPLE, .items = items, .n = n }, out);
}

bool lzg_fty_is(const lzg_fty *t, lzg_base_ty base)
{
    return t->kind == LZG_FTY_BASE && t->base == base;
}

bool lzg_fty_is_int(const lzg_fty *t)
{
    return lzg_fty_is(t, LZG_TY_int) || lzg_fty_is(t, LZG_TY_SymInt);
}

bool lzg_fty_is_number(const lzg_fty *t)
{
    return lzg_fty_is_int(t) || lzg_fty_is(t, LZG_TY_float) || lzg_fty_is(t, LZG_TY_Scalar);
}

bool lzg_fty_is_run_time(const lzg_fty *t)
{
    while (t->kind == LZG_FTY_OPTIONAL || (t->kind == LZG_FTY_LIST && t->elem))
        t = t->elem;
    return lzg_fty_is(t, LZG_TY_float) || lzg_fty_is(t, LZG_TY_Scalar);
}
