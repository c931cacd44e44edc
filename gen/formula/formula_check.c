#include "gen/formula/formula_check_impl.h"

enum { WORK_MAX = 200000 }; /* nested folds are checked more than once */

/* ---- terms ---- */

lz_err *lzg_term_make(lzg_checker *c, lzg_term proto, const lzg_term *const *kids, size_t n,
                      const lzg_term **out)
{
    const lzg_term **copy;
    lzg_term *t;
    LZ_TRY(lz_arena_new(c->arena, &copy, n));
    LZ_TRY(lz_arena_new(c->arena, &t, 1));
    if (n)
        memcpy(copy, kids, n * sizeof *copy);
    *t = proto;
    t->kids = copy;
    t->nkids = n;
    *out = t;
    return NULL;
}

lz_err *lzg_term_convert(lzg_checker *c, const lzg_term *t, const lzg_fty *to, const lzg_term **out)
{
    int cost = lzg_fty_cost(t->type, to);
    *out = t;
    if (cost < 0)
        return lz_err_at(LZ_ERR_INTERNAL, t->loc, "a conversion that should have been refused");
    if (cost == 0)
        return NULL;
    lzg_term proto = { .kind = LZG_TERM_CONVERT, .type = to, .loc = t->loc };
    proto.dynamic = t->dynamic && cost < LZG_COST_WRAP;
    return lzg_term_make(c, proto, &t, 1, out);
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as the term */
lz_str lzg_term_culprit(const lzg_checker *c, const lzg_term *t)
{
    lz_str name = { 0 };
    if (!t || !t->dynamic)
        return name;
    if (t->kind == LZG_TERM_CALL)
        return t->function->func->name.text;
    if (t->kind == LZG_TERM_VAR) {
        const lzg_formula_binding *b = &c->slots.data[t->integer];
        return b->origin.ptr ? b->origin : b->slot.name;
    }
    for (size_t i = 0; !name.ptr && i < t->nkids; i++)
        name = lzg_term_culprit(c, t->kids[i]);
    return name;
}

lz_err *lzg_show(lzg_checker *c, const lzg_fty *t, const char **out)
{
    lz_text text = { 0 };
    lz_str saved = { 0 };
    lzg_fty_print(t, &text);
    lz_err *e = lz_text_save(&text, c->arena, &saved);
    lz_text_deinit(&text);
    *out = saved.ptr;
    return e;
}

lz_err *lzg_maybe_none(lzg_checker *c, lz_loc loc, const lzg_fty *type)
{
    const char *shown;
    LZ_TRY(lzg_show(c, type, &shown));
    return lz_err_at(LZ_ERR_MODEL, loc, "%s may be None here: test 'is None' first", shown);
}

/* ---- names in scope ---- */

static lzg_formula_binding *find(const lzg_checker *c, lz_str name)
{
    for (size_t i = c->slots.len; i > 0; i--)
        if (c->slots.data[i - 1].live && lz_str_eq(c->slots.data[i - 1].slot.name, name))
            return &c->slots.data[i - 1];
    return NULL;
}

bool lzg_is_bound(const lzg_checker *c, lz_str name)
{
    return find(c, name) != NULL;
}

lz_err *lzg_bind(lzg_checker *c, lzg_name name, const lzg_fty *type, bool dynamic)
{
    bool ignored = lz_str_is(name.text, "_");
    const lzg_formula_binding *other = find(c, name.text);
    if (other && other->slot.loc.line)
        return lz_err_at(LZ_ERR_MODEL, name.loc, "'%.*s' hides the name of line %d", LZ_FMT(name.text),
                         other->slot.loc.line);
    if (other)
        return lz_err_at(LZ_ERR_MODEL, name.loc, "'%.*s' hides an argument", LZ_FMT(name.text));
    if (lzg_is_constant(name.text))
        return lz_err_at(LZ_ERR_MODEL, name.loc, "'%.*s' hides a constant", LZ_FMT(name.text));
    lzg_slot slot = { .name = name.text, .loc = name.loc, .type = type, .dynamic = dynamic };
    return lz_vec_push(&c->slots, (lzg_formula_binding){ .slot = slot, .live = !ignored, .used = ignored });
}

void lzg_leave(lzg_checker *c, size_t from)
{
    for (size_t i = from; i < c->slots.len; i++)
        c->slots.data[i].live = false;
}

static lz_err *check_used(const lzg_checker *c, size_t from, size_t n)
{
    for (size_t i = from; i < from + n; i++) {
        const lzg_formula_binding *b = &c->slots.data[i];
        if (!b->used)
            return lz_err_at(LZ_ERR_MODEL, b->slot.loc, "'%.*s' is never used", LZ_FMT(b->slot.name));
    }
    return NULL;
}

lz_err *lzg_take_slots(lzg_checker *c, size_t from, size_t n, lzg_term *t)
{
    uint32_t *slots;
    LZ_TRY(lz_arena_new(c->arena, &slots, n));
    for (size_t i = 0; i < n; i++)
        slots[i] = (uint32_t)(from + i);
    t->slots = slots;
    t->nslots = n;
    return NULL;
}

/* ---- leaves ---- */

static lz_err *check_literal(lzg_checker *c, const lzg_expr *e, const lzg_term **out)
{
    static const struct {
        lzg_term_kind kind;
        lzg_base_ty type;
    } kinds[] = {
        [LZG_EXPR_INT] = { LZG_TERM_INT, LZG_TY_int },    [LZG_EXPR_FLOAT] = { LZG_TERM_FLOAT, LZG_TY_float },
        [LZG_EXPR_STR] = { LZG_TERM_STR, LZG_TY_str },    [LZG_EXPR_BOOL] = { LZG_TERM_BOOL, LZG_TY_bool },
        [LZG_EXPR_NONE] = { LZG_TERM_NONE, LZG_TY_bool },
    };
    lzg_term proto = { .kind = kinds[e->kind].kind,
                       .type = e->kind == LZG_EXPR_NONE ? &lzg_fty_none : lzg_fty_base(kinds[e->kind].type),
                       .loc = e->loc,
                       .integer = e->integer,
                       .real = e->real,
                       .truth = e->truth,
                       .text = e->text };
    return lzg_term_make(c, proto, NULL, 0, out);
}

static lz_err *unknown_name(lzg_checker *c, const lzg_expr *e)
{
    lzg_suggestion s = lzg_suggest(e->text);
    const char *hint;
    if (lzg_callees_find(c->callees, e->ns, e->text))
        return lz_err_at(LZ_ERR_MODEL, e->loc, "'%.*s' is an operator: call it", LZ_FMT(e->text));
    for (size_t i = 0; i < c->slots.len; i++)
        if (c->slots.data[i].live)
            lzg_suggest_offer(&s, c->slots.data[i].slot.name);
    LZ_TRY(lzg_suggest_text(&s, c->arena, &hint));
    return lz_err_at(LZ_ERR_MODEL, e->loc, "unknown name '%.*s'%s", LZ_FMT(e->text), hint);
}

static lz_err *check_name(lzg_checker *c, const lzg_expr *e, const lzg_term **out)
{
    lzg_formula_binding *b = find(c, e->text);
    if (!b) {
        LZ_TRY(lzg_check_constant(c, e, out));
        return *out ? NULL : unknown_name(c, e);
    }
    bool known = b->slot.type->kind == LZG_FTY_OPTIONAL && b->not_none > 0;
    lzg_term proto = { .kind = LZG_TERM_VAR,
                       .type = known ? b->slot.type->elem : b->slot.type,
                       .dynamic = b->slot.dynamic,
                       .loc = e->loc,
                       .integer = b - c->slots.data };
    b->used = true;
    return lzg_term_make(c, proto, NULL, 0, out);
}

/* ---- conditions ---- */

/* Adds `delta` for every name that is not None when e is `truth`. */
/* NOLINTNEXTLINE(misc-no-recursion): as deep as the formula */
static void count_facts(lzg_checker *c, const lzg_expr *e, bool truth, int delta)
{
    bool both = e->kind == LZG_EXPR_BINARY && e->op == (truth ? LZG_OP_AND : LZG_OP_OR);
    lzg_formula_binding *b = NULL;
    if (e->kind == LZG_EXPR_IS && e->kids[0]->kind == LZG_EXPR_NAME && e->truth != truth)
        b = find(c, e->kids[0]->text);
    if (b)
        b->not_none += delta;
    if (e->kind == LZG_EXPR_UNARY && e->op == LZG_OP_NOT)
        count_facts(c, e->kids[0], !truth, delta);
    for (size_t i = 0; both && i < 2; i++)
        count_facts(c, e->kids[i], truth, delta);
}

/* NOLINTBEGIN(misc-no-recursion): as deep as the formula */

/* Checks e where `known` is `truth`. */
lz_err *lzg_check_knowing(lzg_checker *c, const lzg_expr *e, const lzg_expr *known, bool truth,
                          const lzg_term **out)
{
    count_facts(c, known, truth, +1);
    lz_err *err = lzg_check_expr(c, e, out);
    count_facts(c, known, truth, -1);
    return err;
}

static lz_err *not_a_condition(lzg_checker *c, const lzg_expr *e, const lzg_fty *type)
{
    const char *shown;
    LZ_TRY(lzg_show(c, type, &shown));
    if (lzg_fty_is(type, LZG_TY_Tensor))
        return lz_err_at(LZ_ERR_MODEL, e->loc,
                         "a condition cannot be a Tensor: choose elements with where(condition, a, b)");
    return lz_err_at(LZ_ERR_MODEL, e->loc, "a condition is a bool, not %s", shown);
}

lz_err *lzg_check_condition(lzg_checker *c, const lzg_expr *e, bool run_time, const lzg_term **out)
{
    LZ_TRY(lzg_check_expr(c, e, out));
    if (!lzg_fty_is((*out)->type, LZG_TY_bool))
        return not_a_condition(c, e, (*out)->type);
    if (!(*out)->dynamic || run_time)
        return NULL;
    lz_str culprit = lzg_term_culprit(c, *out);
    return lz_err_at(LZ_ERR_MODEL, e->loc,
                     "the condition depends on the run-time value of '%.*s': use where(), or name it under "
                     "static",
                     LZ_FMT(culprit));
}

static lz_err *check_cond(lzg_checker *c, const lzg_expr *e, const lzg_term **out)
{
    const lzg_term *kids[3];
    const lzg_fty *type;
    const char *a, *b;
    LZ_TRY(lzg_check_condition(c, e->kids[0], c->inner, &kids[0]));
    LZ_TRY(lzg_check_knowing(c, e->kids[1], e->kids[0], true, &kids[1]));
    LZ_TRY(lzg_check_knowing(c, e->kids[2], e->kids[0], false, &kids[2]));
    LZ_TRY(lzg_fty_join(c->arena, kids[1]->type, kids[2]->type, &type));
    if (!type) {
        LZ_TRY(lzg_show(c, kids[1]->type, &a));
        LZ_TRY(lzg_show(c, kids[2]->type, &b));
        return lz_err_at(LZ_ERR_MODEL, e->at, "both results of ?: need one type, found %s and %s", a, b);
    }
    LZ_TRY(lzg_term_convert(c, kids[1], type, &kids[1]));
    LZ_TRY(lzg_term_convert(c, kids[2], type, &kids[2]));
    lzg_term proto = { .kind = LZG_TERM_COND, .type = type, .loc = e->loc };
    proto.dynamic = kids[0]->dynamic || kids[1]->dynamic || kids[2]->dynamic;
    return lzg_term_make(c, proto, kids, 3, out);
}

static lz_err *check_is(lzg_checker *c, const lzg_expr *e, const lzg_term **out)
{
    const lzg_term *operand;
    lzg_term proto = { .kind = LZG_TERM_PRIM, .prim = LZG_PRIM_IS_NONE, .loc = e->loc };
    proto.type = lzg_fty_base(LZG_TY_bool);
    LZ_TRY(lzg_check_expr(c, e->kids[0], &operand));
    if (operand->type->kind != LZG_FTY_OPTIONAL && operand->type->kind != LZG_FTY_NONE)
        return lz_err_at(LZ_ERR_MODEL, e->at, "this is never None");
    LZ_TRY(lzg_term_make(c, proto, &operand, 1, out));
    if (e->truth)
        return NULL;
    proto = (lzg_term){ .kind = LZG_TERM_OP, .op = LZG_OP_NOT, .loc = e->loc, .type = proto.type };
    return lzg_term_make(c, proto, out, 1, out);
}

static lz_err *check_unary(lzg_checker *c, const lzg_expr *e, const lzg_term **out)
{
    const lzg_term *operand;
    LZ_TRY(lzg_check_expr(c, e->kids[0], &operand));
    return lzg_check_unary(c, e, operand, out);
}

static lz_err *check_binary(lzg_checker *c, const lzg_expr *e, const lzg_term **out)
{
    const lzg_term *left, *right;
    LZ_TRY(lzg_check_expr(c, e->kids[0], &left));
    if (e->op == LZG_OP_AND || e->op == LZG_OP_OR)
        LZ_TRY(lzg_check_knowing(c, e->kids[1], e->kids[0], e->op == LZG_OP_AND, &right));
    else
        LZ_TRY(lzg_check_expr(c, e->kids[1], &right));
    return lzg_check_binary(c, e, left, right, out);
}

static lz_err *check_attr(lzg_checker *c, const lzg_expr *e, const lzg_term **out)
{
    const lzg_term *whose;
    LZ_TRY(lzg_check_expr(c, e->kids[0], &whose));
    return lzg_check_attribute(c, e, whose, out);
}

/* ---- calls ---- */

static lz_err *check_actuals(lzg_checker *c, const lzg_expr *e, size_t from, lzg_call *call)
{
    call->n = e->nkids - from;
    LZ_TRY(lz_arena_new(c->arena, &call->args, call->n));
    for (size_t i = 0; i < call->n; i++) {
        const lzg_expr *kid = e->kids[from + i];
        LZ_TRY(lzg_check_expr(c, kid, &call->args[i].term));
        call->args[i].loc = kid->loc;
        call->args[i].keyword = e->names[from + i];
    }
    return NULL;
}

static bool all_numbers(const lzg_call *call)
{
    bool numbers = true;
    for (size_t i = 0; i < call->n; i++)
        numbers = numbers
                  && (lzg_fty_is_number(call->args[i].term->type)
                      || lzg_fty_is(call->args[i].term->type, LZG_TY_bool));
    return numbers;
}

static lz_err *unknown_function(lzg_checker *c, const lzg_call *call)
{
    lzg_suggestion s = lzg_suggest(call->name);
    const char *hint;
    lzg_suggest_offer_functions(&s);
    LZ_TRY(lzg_suggest_text(&s, c->arena, &hint));
    return lz_err_at(LZ_ERR_MODEL, call->at, "'%.*s' is no function of elements%s", LZ_FMT(call->name), hint);
}

static lz_err *check_call(lzg_checker *c, const lzg_expr *e, const lzg_term **out)
{
    lzg_call call = { .ns = e->ns, .name = e->text, .loc = e->loc, .at = e->at };
    LZ_TRY(check_actuals(c, e, 0, &call));
    *out = NULL;
    if (!e->ns.ptr)
        LZ_TRY(lzg_check_builtin(c, &call, out));
    if (!*out && !e->ns.ptr && (c->inner || all_numbers(&call)))
        LZ_TRY(lzg_check_scalar_call(c, &call, out));
    if (!*out)
        LZ_TRY(c->inner ? unknown_function(c, &call) : lzg_check_call(c, &call, out));
    return NULL;
}

/* name.overload(arguments) */
static lz_err *check_overload(lzg_checker *c, const lzg_expr *e, const lzg_term **out)
{
    const lzg_expr *name = e->kids[0];
    lzg_call call = { .name = name->text, .overload = e->text, .loc = e->loc, .at = e->loc };
    LZ_TRY(check_actuals(c, e, 1, &call));
    return lzg_check_call(c, &call, out);
}

static lz_err *check_method(lzg_checker *c, const lzg_expr *e, const lzg_term **out)
{
    const lzg_expr *who = e->kids[0];
    const char *shown;
    if (!c->inner && who->kind == LZG_EXPR_NAME && !lzg_is_bound(c, who->text)
        && lzg_callees_find(c->callees, who->ns, who->text))
        return check_overload(c, e, out);
    lzg_call call = { .name = e->text, .loc = e->loc, .at = e->at, .method = true };
    LZ_TRY(check_actuals(c, e, 0, &call));
    const lzg_fty *type = call.args[0].term->type;
    if (type->kind == LZG_FTY_OPTIONAL)
        return lzg_maybe_none(c, who->loc, type);
    if (lzg_fty_is(type, LZG_TY_Tensor))
        return lzg_check_call(c, &call, out);
    LZ_TRY(lzg_show(c, type, &shown));
    return lz_err_at(LZ_ERR_MODEL, e->at, "%s has no methods", shown);
}

/* ---- let and check ---- */

static lz_err *bind_pattern(lzg_checker *c, const lzg_expr *e, const lzg_term *value)
{
    const char *shown;
    if (e->nnames == 1)
        return lzg_bind(c, e->names[0], value->type, value->dynamic);
    LZ_TRY(lzg_show(c, value->type, &shown));
    if (value->type->kind != LZG_FTY_TUPLE || value->type->n != e->nnames)
        return lz_err_at(LZ_ERR_MODEL, e->names[0].loc, "%zu names for %s", e->nnames, shown);
    for (size_t i = 0; i < e->nnames; i++)
        LZ_TRY(lzg_bind(c, e->names[i], value->type->items[i], value->dynamic));
    return NULL;
}

static lz_err *check_let(lzg_checker *c, const lzg_expr *e, const lzg_term **out)
{
    const lzg_term *kids[2];
    LZ_TRY(lzg_check_expr(c, e->kids[0], &kids[0]));
    size_t first = c->slots.len;
    LZ_TRY(bind_pattern(c, e, kids[0]));
    for (size_t i = first; i < c->slots.len; i++)
        c->slots.data[i].origin = lzg_term_culprit(c, kids[0]);
    LZ_TRY(lzg_check_expr(c, e->kids[1], &kids[1]));
    lzg_leave(c, first);
    LZ_TRY(check_used(c, first, e->nnames));
    lzg_term proto = {
        .kind = LZG_TERM_LET, .loc = e->loc, .type = kids[1]->type, .dynamic = kids[1]->dynamic
    };
    LZ_TRY(lzg_take_slots(c, first, e->nnames, &proto));
    return lzg_term_make(c, proto, kids, 2, out);
}

static lz_err *check_part(lzg_checker *c, const lzg_expr *e, const lzg_term **out)
{
    LZ_TRY(lzg_check_expr(c, e, out));
    const lzg_fty *t = (*out)->type;
    while (t->elem)
        t = t->elem;
    if (t->kind == LZG_FTY_TUPLE || lzg_fty_is(t, LZG_TY_Tensor))
        return lz_err_at(LZ_ERR_MODEL, e->loc, "a message cannot show a Tensor; its shape or dtype it can");
    return NULL;
}

static lz_err *check_check(lzg_checker *c, const lzg_expr *e, const lzg_term **out)
{
    const lzg_term **kids;
    LZ_TRY(lz_arena_new(c->arena, &kids, e->nkids));
    LZ_TRY(lzg_check_condition(c, e->kids[0], !c->inner, &kids[0]));
    for (size_t i = 2; i < e->nkids; i++)
        LZ_TRY(check_part(c, e->kids[i], &kids[i]));
    LZ_TRY(lzg_check_knowing(c, e->kids[1], e->kids[0], true, &kids[1]));
    lzg_term proto = {
        .kind = LZG_TERM_CHECK, .loc = e->loc, .type = kids[1]->type, .dynamic = kids[1]->dynamic
    };
    return lzg_term_make(c, proto, kids, e->nkids, out);
}

static lz_err *(*const checks[LZG_EXPR_COUNT])(lzg_checker *c, const lzg_expr *e, const lzg_term **out) = {
    [LZG_EXPR_INT] = check_literal,     [LZG_EXPR_FLOAT] = check_literal,
    [LZG_EXPR_STR] = check_literal,     [LZG_EXPR_BOOL] = check_literal,
    [LZG_EXPR_NONE] = check_literal,    [LZG_EXPR_NAME] = check_name,
    [LZG_EXPR_UNARY] = check_unary,     [LZG_EXPR_BINARY] = check_binary,
    [LZG_EXPR_COND] = check_cond,       [LZG_EXPR_IS] = check_is,
    [LZG_EXPR_CALL] = check_call,       [LZG_EXPR_METHOD] = check_method,
    [LZG_EXPR_ATTR] = check_attr,       [LZG_EXPR_INDEX] = lzg_check_index,
    [LZG_EXPR_SLICE] = lzg_check_index, [LZG_EXPR_TUPLE] = lzg_check_tuple,
    [LZG_EXPR_LIST] = lzg_check_list,   [LZG_EXPR_MAP] = lzg_check_map,
    [LZG_EXPR_FOLD] = lzg_check_fold,   [LZG_EXPR_LOOP] = lzg_check_loop,
    [LZG_EXPR_LET] = check_let,         [LZG_EXPR_CHECK] = check_check,
};

lz_err *lzg_check_expr(lzg_checker *c, const lzg_expr *e, const lzg_term **out)
{
    if (++c->work > WORK_MAX)
        return lz_err_at(LZ_ERR_LIMIT, e->loc, "checking the formula takes too many steps");
    return checks[e->kind](c, e, out);
}

/* NOLINTEND(misc-no-recursion) */

/* ---- whole formulas ---- */

/* The place of a block's value, the last expression. */
static const lzg_expr *tail(const lzg_expr *e)
{
    while (e->kind == LZG_EXPR_LET || e->kind == LZG_EXPR_CHECK)
        e = e->kids[1];
    return e;
}

static lz_err *wrong_result(lzg_checker *c, const lzg_expr *e, const lzg_fty *got, const lzg_fty *wanted,
                            lz_str who)
{
    const char *a, *b;
    LZ_TRY(lzg_show(c, got, &a));
    LZ_TRY(lzg_show(c, wanted, &b));
    return lz_err_at(LZ_ERR_MODEL, tail(e)->loc, "the formula gives %s, %.*s returns %s", a, LZ_FMT(who), b);
}

static lz_err *check_result(lzg_checker *c, const lzg_expr *e, const lzg_expectation *expect,
                            const lzg_term **root)
{
    const lzg_fty *wanted = expect->nresults == 1 ? expect->results[0] : NULL, *got = (*root)->type;
    if (!wanted)
        LZ_TRY(lzg_fty_tuple(c->arena, expect->results, expect->nresults, &wanted));
    int cost = lzg_fty_cost(got, wanted);
    if (cost < 0 || cost >= LZG_COST_SPREAD)
        return wrong_result(c, e, got, wanted, expect->who);
    return lzg_term_convert(c, *root, wanted, root);
}

static lz_err *bind_given(lzg_checker *c, const lzg_expectation *expect)
{
    for (size_t i = 0; i < expect->ngiven; i++) {
        const lzg_given *g = &expect->given[i];
        lzg_slot slot = { .name = g->name, .type = g->type, .dynamic = g->dynamic };
        LZ_TRY(lz_vec_push(&c->slots, (lzg_formula_binding){ .slot = slot, .live = true }));
    }
    return NULL;
}

static lz_err *save_slots(lzg_checker *c, lzg_checked *out)
{
    lzg_slot *slots;
    LZ_TRY(lz_arena_new(c->arena, &slots, c->slots.len));
    for (size_t i = 0; i < c->slots.len; i++)
        slots[i] = c->slots.data[i].slot;
    out->slots = slots;
    out->nslots = c->slots.len;
    return NULL;
}

lz_err *lzg_formula_check(lz_arena *a, lzg_callees *callees, const lzg_expr *formula,
                          const lzg_expectation *expect, lzg_checked *out)
{
    lzg_checker c = { .arena = a, .callees = callees, .inner = expect->inner };
    *out = (lzg_checked){ .ngiven = expect->ngiven };
    lz_err *e = bind_given(&c, expect);
    if (!e)
        e = lzg_check_expr(&c, formula, &out->root);
    if (!e)
        e = check_result(&c, formula, expect, &out->root);
    if (!e)
        e = save_slots(&c, out);
    lz_vec_deinit(&c.slots);
    return e;
}

/* ---- what an operator gives and takes ---- */

/* An element of a tensor is a number, and so are the other numbers of the expression. */
static lz_err *as_element(lz_arena *a, const lzg_fty *t, const lzg_fty **out)
{
    const lzg_fty *core = t->kind == LZG_FTY_OPTIONAL ? t->elem : t;
    *out = t;
    if (!lzg_fty_is(core, LZG_TY_Tensor) && !lzg_fty_is(core, LZG_TY_float))
        return NULL;
    *out = lzg_fty_base(LZG_TY_Scalar);
    return t == core ? NULL : lzg_fty_optional(a, *out, out);
}

static lz_err *give(lz_arena *a, const lzg_argument *arg, bool is_static, bool inner, lzg_given *out)
{
    LZ_TRY(lzg_fty_of(a, arg->type, &out->type));
    if (inner)
        LZ_TRY(as_element(a, out->type, &out->type));
    out->name = arg->name;
    out->dynamic = !is_static && lzg_fty_is_run_time(out->type);
    return NULL;
}

/* Whether a formula gives the new value of an argument: it is written and not returned. */
static bool is_told(const lzg_schema *s, const lzg_argument *arg)
{
    bool told =
        (s->kind == LZG_MUTABLE || s->kind == LZG_INPLACE) && arg->annotation && arg->annotation->write;
    for (size_t i = 0; told && s->kind == LZG_INPLACE && i < s->nreturns; i++)
        told = !lzg_annotation_eq(arg->annotation, s->returns[i].annotation);
    return told;
}

size_t lzg_formula_results(const lzg_schema *s)
{
    size_t n = s->nreturns;
    for (size_t i = 0; i < s->nargs; i++)
        n += is_told(s, &s->args[i]);
    return n;
}

/* A result that output_mask can leave out may be None. */
static lz_err *result_type(lz_arena *a, const lzg_schema *s, const lzg_type *t, bool inner,
                           const lzg_fty **out)
{
    LZ_TRY(lzg_fty_of(a, t, out));
    if (inner)
        LZ_TRY(as_element(a, *out, out));
    return lzg_schema_arg(s, LZ_STR("output_mask")) ? lzg_fty_optional(a, *out, out) : NULL;
}

lz_err *lzg_expectation_of(lz_arena *a, const lzg_function *f, const bool *is_static, bool inner,
                           lzg_expectation *out)
{
    const lzg_schema *s = f->func;
    const lzg_fty **results;
    lzg_given *given;
    *out = (lzg_expectation){ .inner = inner, .who = s->name.text };
    out->ngiven = s->first[LZG_OUT];
    LZ_TRY(lz_arena_new(a, &given, out->ngiven));
    LZ_TRY(lz_arena_new(a, &results, lzg_formula_results(s)));
    for (size_t i = 0; i < out->ngiven; i++)
        LZ_TRY(give(a, &s->args[i], is_static && is_static[i], inner, &given[i]));
    for (size_t i = 0; i < s->nreturns; i++)
        LZ_TRY(result_type(a, s, s->returns[i].type, inner, &results[out->nresults++]));
    for (size_t i = 0; i < s->nargs; i++)
        if (is_told(s, &s->args[i]))
            LZ_TRY(lzg_fty_of(a, s->args[i].type, &results[out->nresults++]));
    out->given = given;
    out->results = results;
    return NULL;
}
