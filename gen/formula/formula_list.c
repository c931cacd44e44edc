/* Type rules for tuples, lists, maps, folds and loops. */
#include "gen/formula/formula_check_impl.h"

/* NOLINTBEGIN(misc-no-recursion): as deep as the formula */

/* ---- tuples and lists ---- */

static bool holds_tuple(const lzg_fty *t)
{
    while (t->elem)
        t = t->elem;
    return t->kind == LZG_FTY_TUPLE;
}

static lz_err *check_items(lzg_checker *c, const lzg_expr *e, const lzg_term **items)
{
    for (size_t i = 0; i < e->nkids; i++) {
        LZ_TRY(lzg_check_expr(c, e->kids[i], &items[i]));
        if (holds_tuple(items[i]->type))
            return lz_err_at(LZ_ERR_MODEL, e->kids[i]->loc, "a tuple inside %s", lzg_expr_kind_name(e->kind));
    }
    return NULL;
}

static bool any_dynamic(const lzg_term *const *terms, size_t n)
{
    bool dynamic = false;
    for (size_t i = 0; i < n; i++)
        dynamic = dynamic || (terms[i] && terms[i]->dynamic);
    return dynamic;
}

lz_err *lzg_check_tuple(lzg_checker *c, const lzg_expr *e, const lzg_term **out)
{
    const lzg_term **items;
    const lzg_fty **types;
    LZ_TRY(lz_arena_new(c->arena, &items, e->nkids));
    LZ_TRY(lz_arena_new(c->arena, &types, e->nkids));
    LZ_TRY(check_items(c, e, items));
    for (size_t i = 0; i < e->nkids; i++)
        types[i] = items[i]->type;
    lzg_term proto = { .kind = LZG_TERM_TUPLE, .loc = e->loc, .dynamic = any_dynamic(items, e->nkids) };
    LZ_TRY(lzg_fty_tuple(c->arena, types, e->nkids, &proto.type));
    return lzg_term_make(c, proto, items, e->nkids, out);
}

/* The type to which all items are converted. */
static lz_err *join_items(lzg_checker *c, const lzg_expr *e, const lzg_term *const *items,
                          const lzg_fty **out)
{
    const lzg_fty *type = items[0]->type, *next;
    const char *a, *b;
    for (size_t i = 1; i < e->nkids; i++, type = next) {
        LZ_TRY(lzg_fty_join(c->arena, type, items[i]->type, &next));
        if (!next) {
            LZ_TRY(lzg_show(c, type, &a));
            LZ_TRY(lzg_show(c, items[i]->type, &b));
            return lz_err_at(LZ_ERR_MODEL, e->kids[i]->loc, "%s in a list of %s", b, a);
        }
    }
    *out = type;
    return NULL;
}

lz_err *lzg_check_list(lzg_checker *c, const lzg_expr *e, const lzg_term **out)
{
    const lzg_term **items;
    const lzg_fty *elem;
    lzg_term proto = { .kind = LZG_TERM_LIST, .loc = e->loc, .type = &lzg_fty_empty_list };
    if (e->nkids == 0)
        return lzg_term_make(c, proto, NULL, 0, out);
    LZ_TRY(lz_arena_new(c->arena, &items, e->nkids));
    LZ_TRY(check_items(c, e, items));
    LZ_TRY(join_items(c, e, items, &elem));
    for (size_t i = 0; i < e->nkids; i++)
        LZ_TRY(lzg_term_convert(c, items[i], elem, &items[i]));
    LZ_TRY(lzg_fty_list(c->arena, elem, lzg_fty_is(elem, LZG_TY_bool) ? (int32_t)e->nkids : -1, &proto.type));
    proto.dynamic = any_dynamic(items, e->nkids);
    return lzg_term_make(c, proto, items, e->nkids, out);
}

/* ---- indices ---- */

static lz_err *check_get(lzg_checker *c, const lzg_expr *e, const lzg_term *tuple, const lzg_term **out)
{
    const lzg_expr *index = e->kids[1];
    if (e->kind != LZG_EXPR_INDEX || index->kind != LZG_EXPR_INT || index->integer >= (int64_t)tuple->type->n)
        return lz_err_at(LZ_ERR_MODEL, e->at, "a tuple of %zu takes an index from 0 to %zu, written out",
                         tuple->type->n, tuple->type->n - 1);
    lzg_term proto = { .kind = LZG_TERM_GET,
                       .loc = e->loc,
                       .integer = index->integer,
                       .type = tuple->type->items[index->integer],
                       .dynamic = tuple->dynamic };
    return lzg_term_make(c, proto, &tuple, 1, out);
}

static lz_err *not_a_list(lzg_checker *c, lz_loc loc, const lzg_fty *type)
{
    const char *shown;
    if (lzg_fty_is(type, LZG_TY_Tensor))
        return lz_err_at(LZ_ERR_MODEL, loc, "a Tensor has no []: use select or slice");
    if (type->kind == LZG_FTY_OPTIONAL)
        return lzg_maybe_none(c, loc, type);
    LZ_TRY(lzg_show(c, type, &shown));
    return lz_err_at(LZ_ERR_MODEL, loc, "%s is not a list", shown);
}

/* An index or the end of a slice; NULL stays None. */
static lz_err *check_position(lzg_checker *c, const lzg_expr *e, const lzg_term **out)
{
    const char *shown;
    if (!e)
        return lzg_term_make(c, (lzg_term){ .kind = LZG_TERM_NONE, .type = &lzg_fty_none }, NULL, 0, out);
    LZ_TRY(lzg_check_expr(c, e, out));
    if ((*out)->dynamic)
        return lz_err_at(LZ_ERR_MODEL, e->loc, "a position must be known before the run");
    if (lzg_fty_is_int((*out)->type))
        return NULL;
    LZ_TRY(lzg_show(c, (*out)->type, &shown));
    return lz_err_at(LZ_ERR_MODEL, e->loc, "a position is an int, not %s", shown);
}

lz_err *lzg_check_index(lzg_checker *c, const lzg_expr *e, const lzg_term **out)
{
    const lzg_term *kids[3];
    LZ_TRY(lzg_check_expr(c, e->kids[0], &kids[0]));
    const lzg_fty *type = kids[0]->type;
    if (type->kind == LZG_FTY_TUPLE)
        return check_get(c, e, kids[0], out);
    if (type->kind != LZG_FTY_LIST)
        return not_a_list(c, e->at, type);
    for (size_t i = 1; i < e->nkids; i++)
        LZ_TRY(check_position(c, e->kids[i], &kids[i]));
    bool slice = e->kind == LZG_EXPR_SLICE;
    if (!slice && !type->elem)
        return lz_err_at(LZ_ERR_MODEL, e->at, "the list has no items");
    lzg_term proto = { .kind = LZG_TERM_PRIM,
                       .prim = slice ? LZG_PRIM_SLICE : LZG_PRIM_INDEX,
                       .loc = e->loc,
                       .type = slice ? type : type->elem,
                       .dynamic = kids[0]->dynamic };
    if (slice && type->elem)
        LZ_TRY(lzg_fty_list(c->arena, type->elem, -1, &proto.type));
    return lzg_term_make(c, proto, kids, e->nkids, out);
}

/* ---- comprehension, fold, loop ---- */

static lz_err *check_source(lzg_checker *c, const lzg_expr *e, const lzg_term **out)
{
    LZ_TRY(lzg_check_expr(c, e, out));
    return (*out)->type->kind == LZG_FTY_LIST ? NULL : not_a_list(c, e->loc, (*out)->type);
}

/* The type of a list's items; the empty list has items of any type. */
static const lzg_fty *elem_type(const lzg_term *list)
{
    return list->type->elem ? list->type->elem : lzg_fty_base(LZG_TY_int);
}

static lz_err *check_map_body(lzg_checker *c, const lzg_expr *e, const lzg_term **kids)
{
    LZ_TRY(lzg_bind(c, e->names[0], elem_type(kids[1]), kids[1]->dynamic));
    if (e->kids[2])
        LZ_TRY(lzg_check_condition(c, e->kids[2], false, &kids[2]));
    if (!e->kids[2])
        return lzg_check_expr(c, e->kids[0], &kids[0]);
    return lzg_check_knowing(c, e->kids[0], e->kids[2], true, &kids[0]);
}

lz_err *lzg_check_map(lzg_checker *c, const lzg_expr *e, const lzg_term **out)
{
    const lzg_term *kids[3] = { 0 };
    lzg_term proto = { .kind = LZG_TERM_MAP, .loc = e->loc };
    LZ_TRY(check_source(c, e->kids[1], &kids[1]));
    size_t first = c->slots.len;
    LZ_TRY(check_map_body(c, e, kids));
    lzg_leave(c, first);
    if (holds_tuple(kids[0]->type))
        return lz_err_at(LZ_ERR_MODEL, e->kids[0]->loc, "a tuple inside a list");
    LZ_TRY(lzg_take_slots(c, first, 1, &proto));
    LZ_TRY(lzg_fty_list(c->arena, kids[0]->type, -1, &proto.type));
    proto.dynamic = kids[0]->dynamic;
    return lzg_term_make(c, proto, kids, 3, out);
}

/* State of an iteration. Its types widen until an iteration keeps them. */
typedef struct turns {
    size_t n;
    const lzg_term **kids; /* as in the term: start values, list or condition, next values */
    const lzg_fty **types;
    bool *dynamic;
} turns;

static lz_err *check_start(lzg_checker *c, const lzg_expr *e, size_t n, turns *t)
{
    *t = (turns){ .n = n };
    LZ_TRY(lz_arena_new(c->arena, &t->kids, 2 * n + 1));
    LZ_TRY(lz_arena_new(c->arena, &t->types, n));
    LZ_TRY(lz_arena_new(c->arena, &t->dynamic, n));
    for (size_t i = 0; i < n; i++) {
        LZ_TRY(lzg_check_expr(c, e->kids[i], &t->kids[i]));
        t->types[i] = t->kids[i]->type;
        t->dynamic[i] = t->kids[i]->dynamic || c->inner;
        if (c->inner && lzg_fty_is_number(t->types[i]))
            t->types[i] = lzg_fty_base(LZG_TY_Scalar);
        if (holds_tuple(t->types[i]))
            return lz_err_at(LZ_ERR_MODEL, e->kids[i]->loc, "a tuple as a state");
    }
    return NULL;
}

static lz_err *grow(lzg_checker *c, const lzg_expr *e, turns *t, bool *grown)
{
    for (size_t i = 0; i < t->n; i++) {
        const lzg_term *next = t->kids[t->n + 1 + i];
        const lzg_fty *type;
        const char *a, *b;
        LZ_TRY(lzg_fty_join(c->arena, t->types[i], next->type, &type));
        if (!type) {
            LZ_TRY(lzg_show(c, t->types[i], &a));
            LZ_TRY(lzg_show(c, next->type, &b));
            return lz_err_at(LZ_ERR_MODEL, e->kids[t->n + 1 + i]->loc,
                             "the next '%.*s' is %s, it began as %s", LZ_FMT(e->names[i].text), b, a);
        }
        *grown = *grown || !lzg_fty_eq(type, t->types[i]) || next->dynamic > t->dynamic[i];
        t->types[i] = type;
        t->dynamic[i] = t->dynamic[i] || next->dynamic;
    }
    return NULL;
}

/* Checks one iteration, with the present types of the state. */
static lz_err *check_turn(lzg_checker *c, const lzg_expr *e, turns *t, bool *grown)
{
    size_t first = c->slots.len;
    for (size_t i = 0; i < t->n; i++)
        LZ_TRY(lzg_bind(c, e->names[i], t->types[i], t->dynamic[i]));
    if (e->kind == LZG_EXPR_FOLD)
        LZ_TRY(lzg_bind(c, e->names[t->n], elem_type(t->kids[t->n]), t->kids[t->n]->dynamic));
    else
        LZ_TRY(lzg_check_condition(c, e->kids[t->n], true, &t->kids[t->n]));
    for (size_t i = t->n + 1; i < e->nkids; i++)
        LZ_TRY(lzg_check_expr(c, e->kids[i], &t->kids[i]));
    lzg_leave(c, first);
    return grow(c, e, t, grown);
}

static lz_err *check_turns(lzg_checker *c, const lzg_expr *e, turns *t, lzg_term *proto)
{
    size_t first = c->slots.len;
    for (bool grown = true; grown;) {
        grown = false;
        c->slots.len = first;
        LZ_TRY(check_turn(c, e, t, &grown));
    }
    for (size_t i = 0; i < t->n; i++) {
        LZ_TRY(lzg_term_convert(c, t->kids[i], t->types[i], &t->kids[i]));
        LZ_TRY(lzg_term_convert(c, t->kids[t->n + 1 + i], t->types[i], &t->kids[t->n + 1 + i]));
        proto->dynamic = proto->dynamic || t->dynamic[i];
    }
    proto->type = t->types[0];
    if (t->n > 1)
        LZ_TRY(lzg_fty_tuple(c->arena, t->types, t->n, &proto->type));
    return lzg_take_slots(c, first, e->nnames, proto);
}

lz_err *lzg_check_fold(lzg_checker *c, const lzg_expr *e, const lzg_term **out)
{
    lzg_term proto = { .kind = LZG_TERM_FOLD, .loc = e->loc };
    turns t;
    LZ_TRY(check_start(c, e, e->nnames - 1, &t));
    LZ_TRY(check_source(c, e->kids[t.n], &t.kids[t.n]));
    LZ_TRY(check_turns(c, e, &t, &proto));
    return lzg_term_make(c, proto, t.kids, 2 * t.n + 1, out);
}

lz_err *lzg_check_loop(lzg_checker *c, const lzg_expr *e, const lzg_term **out)
{
    lzg_term proto = { .kind = LZG_TERM_LOOP, .loc = e->loc, .integer = e->integer };
    turns t;
    if (!c->inner)
        return lz_err_at(LZ_ERR_MODEL, e->loc, "loop is for inner expressions; over a list, use fold");
    LZ_TRY(check_start(c, e, e->nnames, &t));
    LZ_TRY(check_turns(c, e, &t, &proto));
    return lzg_term_make(c, proto, t.kids, 2 * t.n + 1, out);
}

/* NOLINTEND(misc-no-recursion) */
