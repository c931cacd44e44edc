/* Type rules for calls of operators in formulas: finds the overload. */
#include "gen/formula/formula_check_impl.h"

/* ---- the table of operators ---- */

static bool names_static(const lzg_function *f, lz_str arg)
{
    const lzg_yaml *list = f->statics;
    for (size_t i = 0; list && list->kind == LZG_YAML_LIST && i < list->len; i++)
        if (lz_str_eq(list->items[i]->text, arg))
            return true;
    return false;
}

static lz_err *make_params(lz_arena *a, lzg_callee *callee)
{
    const lzg_schema *s = callee->function->func;
    callee->nparams = s->first[LZG_OUT];
    callee->npositional = s->first[LZG_PRE_TENSOR_OPTIONS];
    LZ_TRY(lz_arena_new(a, &callee->params, callee->nparams));
    LZ_TRY(lz_arena_new(a, &callee->is_static, callee->nparams));
    LZ_TRY(lz_arena_new(a, &callee->defaults, callee->nparams));
    for (size_t i = 0; i < callee->nparams; i++) {
        const lzg_fty **t = &callee->params[i];
        LZ_TRY(lzg_fty_of(a, s->args[i].type, t));
        const lzg_fty *core = *t;
        while (core->elem)
            core = core->elem;
        callee->is_static[i] = names_static(callee->function, s->args[i].name)
                               || !(lzg_fty_is(core, LZG_TY_Tensor) || lzg_fty_is_run_time(core));
    }
    return NULL;
}

static lz_err *key_of(lz_arena *a, lz_str ns, lz_str name, lz_str *out)
{
    *out = name;
    if (ns.len == 0 || lz_str_is(ns, "aten"))
        return NULL;
    return lz_arena_printf(a, out, "%.*s::%.*s", LZ_FMT(ns), LZ_FMT(name));
}

static lz_err *add_callee(lzg_callees *t, const lzg_function *f)
{
    lzg_callee *callee, *last;
    lz_str key;
    LZ_TRY(lz_arena_new(t->arena, &callee, 1));
    callee->function = f;
    callee->writes = lzg_schema_is_mutable(f->func);
    LZ_TRY(make_params(t->arena, callee));
    LZ_TRY(key_of(t->arena, f->ns, f->func->name.printed_base, &key));
    last = lz_map_get(&t->by_base, key);
    if (!last)
        return lz_map_put(&t->by_base, key, callee);
    while (last->next)
        last = last->next;
    last->next = callee;
    return NULL;
}

lz_err *lzg_callees_init(lzg_callees *t, lz_arena *a, const lzg_ops *ops)
{
    *t = (lzg_callees){ .arena = a };
    for (size_t i = 0; i < ops->nfunctions; i++)
        LZ_TRY(add_callee(t, ops->functions[i]));
    return NULL;
}

void lzg_callees_deinit(lzg_callees *t)
{
    lz_map_deinit(&t->by_base);
}

lzg_callee *lzg_callees_find(const lzg_callees *t, lz_str ns, lz_str name)
{
    char key[256];
    if (ns.len == 0 || lz_str_is(ns, "aten"))
        return lz_map_get(&t->by_base, name);
    if (ns.len + name.len + 2 > sizeof key)
        return NULL;
    memcpy(key, ns.ptr, ns.len);
    key[ns.len] = key[ns.len + 1] = ':';
    memcpy(key + ns.len + 2, name.ptr, name.len);
    return lz_map_get(&t->by_base, (lz_str){ key, ns.len + 2 + name.len });
}

/* ---- one overload against the arguments ---- */

typedef enum misfit { FITS, NO_SELF, TOO_MANY, UNKNOWN_KEYWORD, TWICE, MISSING, WRONG_TYPE, RUN_TIME } misfit;

typedef struct candidate {
    lzg_callee *callee;
    size_t *chosen; /* per parameter: 1 + the argument; 0: the default */
    int *cost;      /* per argument */
    misfit misfit;
    size_t arg, param; /* the argument that does not fit */
} candidate;

static size_t find_param(const lzg_callee *callee, lz_str name)
{
    size_t i = 0;
    while (i < callee->nparams && !lz_str_eq(callee->function->func->args[i].name, name))
        i++;
    return i;
}

static bool misfits(candidate *k, misfit why, size_t arg, size_t param)
{
    k->misfit = why;
    k->arg = arg;
    k->param = param;
    return false;
}

static bool place_keyword(candidate *k, const lzg_call *call, size_t i)
{
    size_t p = find_param(k->callee, call->args[i].keyword.text);
    if (p == k->callee->nparams)
        return misfits(k, UNKNOWN_KEYWORD, i, p);
    if (k->chosen[p])
        return misfits(k, TWICE, i, p);
    k->chosen[p] = i + 1;
    return true;
}

static bool place_arguments(candidate *k, const lzg_call *call)
{
    size_t next = 0, i = 0;
    if (call->method) {
        size_t self = find_param(k->callee, LZ_STR("self"));
        if (self == k->callee->nparams)
            return misfits(k, NO_SELF, 0, 0);
        k->chosen[self] = ++i;
    }
    for (; i < call->n; i++) {
        if (call->args[i].keyword.text.ptr) {
            if (!place_keyword(k, call, i))
                return false;
            continue;
        }
        while (next < k->callee->npositional && k->chosen[next])
            next++;
        if (next >= k->callee->npositional)
            return misfits(k, TOO_MANY, i, 0);
        k->chosen[next] = i + 1;
    }
    return true;
}

static bool weigh_arguments(candidate *k, const lzg_call *call)
{
    for (size_t p = 0; p < k->callee->nparams; p++) {
        size_t i = k->chosen[p];
        if (!i && !k->callee->function->func->args[p].deflt.ptr)
            return misfits(k, MISSING, 0, p);
        if (!i)
            continue;
        const lzg_term *arg = call->args[i - 1].term;
        k->cost[i - 1] = lzg_fty_cost(arg->type, k->callee->params[p]);
        if (k->cost[i - 1] < 0)
            return misfits(k, WRONG_TYPE, i - 1, p);
        if (arg->dynamic && k->callee->is_static[p])
            return misfits(k, RUN_TIME, i - 1, p);
    }
    return true;
}

static lz_err *try_candidate(lzg_checker *c, const lzg_call *call, lzg_callee *callee, candidate *out)
{
    *out = (candidate){ .callee = callee };
    LZ_TRY(lz_arena_new(c->arena, &out->chosen, callee->nparams));
    LZ_TRY(lz_arena_new(c->arena, &out->cost, call->n));
    if (place_arguments(out, call))
        (void)weigh_arguments(out, call);
    return NULL;
}

/* ---- messages ---- */

static lz_err *explain_type(lzg_checker *c, const lzg_call *call, const candidate *k)
{
    const lzg_schema *s = k->callee->function->func;
    const lzg_actual *arg = &call->args[k->arg];
    const char *got, *wanted;
    if (arg->term->type->kind == LZG_FTY_OPTIONAL
        && lzg_fty_cost(arg->term->type->elem, k->callee->params[k->param]) >= 0)
        return lzg_maybe_none(c, arg->loc, arg->term->type);
    LZ_TRY(lzg_show(c, arg->term->type, &got));
    LZ_TRY(lzg_show(c, k->callee->params[k->param], &wanted));
    return lz_err_at(LZ_ERR_MODEL, arg->loc, "argument '%.*s' of %.*s is %s, not %s",
                     LZ_FMT(s->args[k->param].name), LZ_FMT(s->name.text), wanted, got);
}

/* No overload has the keyword. */
static lz_err *explain_keyword(lzg_checker *c, const lzg_call *call, const candidate *ks, size_t n)
{
    const lzg_schema *s = ks[0].callee->function->func;
    lzg_name keyword = call->args[ks[0].arg].keyword;
    lzg_suggestion hint = lzg_suggest(keyword.text);
    const char *text;
    for (size_t k = 0; k < n; k++)
        for (size_t i = 0; i < ks[k].callee->nparams; i++)
            lzg_suggest_offer(&hint, ks[k].callee->function->func->args[i].name);
    LZ_TRY(lzg_suggest_text(&hint, c->arena, &text));
    if (n > 1)
        return lz_err_at(LZ_ERR_MODEL, keyword.loc, "no overload of '%.*s' has an argument '%.*s'%s",
                         LZ_FMT(call->name), LZ_FMT(keyword.text), text);
    return lz_err_at(LZ_ERR_MODEL, keyword.loc, "%.*s has no argument '%.*s'%s", LZ_FMT(s->name.text),
                     LZ_FMT(keyword.text), text);
}

static lz_err *explain(lzg_checker *c, const lzg_call *call, const candidate *k)
{
    const lzg_schema *s = k->callee->function->func;
    lz_str name = s->name.text, param = k->param < s->nargs ? s->args[k->param].name : (lz_str){ 0 };
    lz_loc loc = k->arg < call->n ? call->args[k->arg].loc : call->at;
    switch (k->misfit) {
    case NO_SELF:
        return lz_err_at(LZ_ERR_MODEL, call->at, "%.*s has no argument self: it is no method", LZ_FMT(name));
    case TOO_MANY:
        return lz_err_at(LZ_ERR_MODEL, loc, "%.*s takes %zu arguments by position", LZ_FMT(name),
                         k->callee->npositional);
    case UNKNOWN_KEYWORD:
        return explain_keyword(c, call, k, 1);
    case TWICE:
        return lz_err_at(LZ_ERR_MODEL, call->args[k->arg].keyword.loc,
                         "argument '%.*s' of %.*s is given twice", LZ_FMT(param), LZ_FMT(name));
    case MISSING:
        return lz_err_at(LZ_ERR_MODEL, call->at, "argument '%.*s' of %.*s is missing", LZ_FMT(param),
                         LZ_FMT(name));
    case RUN_TIME:
        param = lzg_term_culprit(c, call->args[k->arg].term);
        return lz_err_at(LZ_ERR_MODEL, loc,
                         "argument '%.*s' of %.*s must be known before the run; '%.*s' is not, unless it is "
                         "named under static",
                         LZ_FMT(s->args[k->param].name), LZ_FMT(name), LZ_FMT(param));
    default:
        return explain_type(c, call, k);
    }
}

static void list_schemas(const candidate *ks, size_t n, bool fitting, lz_text *out)
{
    for (size_t i = 0; i < n; i++)
        if (!fitting || ks[i].misfit == FITS)
            lz_text_printf(out, "\n    %.*s", LZ_FMT(ks[i].callee->function->func->text));
}

static lz_err *list_types(lzg_checker *c, const lzg_call *call, lz_text *out)
{
    for (size_t i = 0; i < call->n; i++) {
        const char *shown;
        LZ_TRY(lzg_show(c, call->args[i].term->type, &shown));
        lz_text_puts(out, i ? ", " : "");
        if (call->args[i].keyword.text.ptr)
            lz_text_printf(out, "%.*s=", LZ_FMT(call->args[i].keyword.text));
        lz_text_puts(out, shown);
    }
    return NULL;
}

static lz_err *no_choice(lzg_checker *c, const lzg_call *call, const candidate *ks, size_t n, bool fitting)
{
    lz_text types = { 0 }, schemas = { 0 };
    lz_err *e = list_types(c, call, &types);
    list_schemas(ks, n, fitting, &schemas);
    e = lz_err_first(e, lz_text_check(&types));
    e = lz_err_first(e, lz_text_check(&schemas));
    if (!e)
        e = lz_err_at(LZ_ERR_MODEL, call->at, "%s overload of '%.*s' takes (%.*s):%.*s",
                      fitting ? "more than one" : "no", LZ_FMT(call->name), LZ_FMT(lz_text_view(&types)),
                      LZ_FMT(lz_text_view(&schemas)));
    lz_text_deinit(&types);
    lz_text_deinit(&schemas);
    return e;
}

static lz_err *unknown_operator(lzg_checker *c, const lzg_call *call)
{
    const char *hint;
    lz_str name;
    if (call->spelling)
        return lz_err_at(LZ_ERR_MODEL, call->at,
                         "'%s' on a Tensor needs the operator '%.*s', which is unknown", call->spelling,
                         LZ_FMT(call->name));
    LZ_TRY(key_of(c->arena, call->ns, call->name, &name));
    lzg_suggestion s = lzg_suggest(name);
    lzg_suggest_offer_functions(&s);
    lzg_suggest_offer_operators(&s, c->callees);
    LZ_TRY(lzg_suggest_text(&s, c->arena, &hint));
    return lz_err_at(LZ_ERR_MODEL, call->at, "unknown operator '%.*s'%s", LZ_FMT(name), hint);
}

/* Some overloads may have been excluded. */
static lz_err *nothing_callable(lzg_checker *c, const lzg_call *call, const lzg_callee *first)
{
    lzg_suggestion s = lzg_suggest(call->overload);
    const char *hint;
    if (!call->overload.ptr)
        return lz_err_at(LZ_ERR_MODEL, call->at, "'%.*s' writes an argument: a formula only computes values",
                         LZ_FMT(call->name));
    for (; first; first = first->next)
        lzg_suggest_offer(&s, first->function->func->name.overload);
    LZ_TRY(lzg_suggest_text(&s, c->arena, &hint));
    return lz_err_at(LZ_ERR_MODEL, call->at, "'%.*s' has no overload '%.*s' that only computes values%s",
                     LZ_FMT(call->name), LZ_FMT(call->overload), hint);
}

/* ---- the choice ---- */

static bool is_named(const lzg_callee *callee, lz_str overload)
{
    lz_str own = callee->function->func->name.overload;
    return !overload.ptr || lz_str_eq(own, overload) || (own.len == 0 && lz_str_is(overload, "default"));
}

/* Conversions are at least as cheap in every argument, and cheaper in one. */
static bool better(const candidate *a, const candidate *b, size_t n)
{
    bool nearer = false;
    for (size_t i = 0; i < n; i++) {
        if (a->cost[i] > b->cost[i])
            return false;
        nearer = nearer || a->cost[i] < b->cost[i];
    }
    return nearer;
}

static const candidate *choose(const candidate *ks, size_t n, size_t nargs)
{
    for (size_t i = 0; i < n; i++) {
        bool best = ks[i].misfit == FITS;
        for (size_t j = 0; best && j < n; j++)
            best = j == i || ks[j].misfit != FITS || better(&ks[i], &ks[j], nargs);
        if (best)
            return &ks[i];
    }
    return NULL;
}

/* No overload fits: if all overloads fail for the same reason, the message has that reason. */
static lz_err *explain_all(lzg_checker *c, const lzg_call *call, const candidate *ks, size_t n)
{
    bool agree = true, fitting = false;
    for (size_t i = 0; i < n; i++) {
        agree = agree && ks[i].misfit == ks[0].misfit && ks[i].arg == ks[0].arg;
        fitting = fitting || ks[i].misfit == FITS;
    }
    if (agree && ks[0].misfit == UNKNOWN_KEYWORD)
        return explain_keyword(c, call, ks, n);
    if (!fitting && (n == 1 || (agree && ks[0].misfit == NO_SELF)))
        return explain(c, call, &ks[0]);
    for (size_t i = 0; !fitting && i < n; i++)
        if (ks[i].misfit == RUN_TIME)
            return explain(c, call, &ks[i]);
    return no_choice(c, call, ks, n, fitting);
}

static lz_err *make_default(lzg_checker *c, lzg_callee *callee, size_t p)
{
    const lzg_argument *arg = &callee->function->func->args[p];
    lzg_checker fresh = { .arena = c->callees->arena, .callees = c->callees, .defaults = true };
    const lzg_expr *e;
    const lzg_term *t = NULL;
    lz_err *err = lzg_formula_parse_default(fresh.arena, arg->deflt, callee->function->func_loc, &e);
    if (!err)
        err = lzg_check_expr(&fresh, e, &t);
    if (!err && lzg_fty_cost(t->type, callee->params[p]) >= 0)
        err = lzg_term_convert(&fresh, t, callee->params[p], &callee->defaults[p]);
    lz_vec_deinit(&fresh.slots);
    if (!err && callee->defaults[p])
        return NULL;
    if (lz_err_code(err) == LZ_ERR_MEMORY)
        return err;
    lz_err_free(err);
    return lz_err_at(LZ_ERR_MODEL, callee->function->func_loc, "'%.*s' is no default for argument '%.*s'",
                     LZ_FMT(arg->deflt), LZ_FMT(arg->name));
}

static lz_err *return_type(lzg_checker *c, const lzg_schema *s, const lzg_fty **out)
{
    const lzg_fty **items;
    LZ_TRY(lz_arena_new(c->arena, &items, s->nreturns));
    for (size_t i = 0; i < s->nreturns; i++)
        LZ_TRY(lzg_fty_of(c->arena, s->returns[i].type, &items[i]));
    *out = s->nreturns ? items[0] : &lzg_fty_none;
    return s->nreturns > 1 ? lzg_fty_tuple(c->arena, items, s->nreturns, out) : NULL;
}

/* A value that an operator reads from a tensor is not known before the run. */
static bool returns_numbers(const lzg_schema *s)
{
    bool numbers = false;
    for (size_t i = 0; i < s->nreturns; i++)
        numbers = numbers || !lzg_type_is_tensor_like(s->returns[i].type);
    return numbers;
}

static lz_err *make_call(lzg_checker *c, const lzg_call *call, const candidate *k, const lzg_term **out)
{
    lzg_callee *callee = k->callee;
    const lzg_term **kids;
    lzg_term proto = { .kind = LZG_TERM_CALL, .function = callee->function, .loc = call->at };
    LZ_TRY(lz_arena_new(c->arena, &kids, callee->nparams));
    for (size_t p = 0; p < callee->nparams; p++) {
        if (k->chosen[p]) {
            LZ_TRY(lzg_term_convert(c, call->args[k->chosen[p] - 1].term, callee->params[p], &kids[p]));
            continue;
        }
        if (!callee->defaults[p])
            LZ_TRY(make_default(c, callee, p));
        kids[p] = callee->defaults[p];
    }
    LZ_TRY(return_type(c, callee->function->func, &proto.type));
    proto.dynamic = returns_numbers(callee->function->func);
    return lzg_term_make(c, proto, kids, callee->nparams, out);
}

lz_err *lzg_check_call(lzg_checker *c, const lzg_call *call, const lzg_term **out)
{
    lzg_callee *first = lzg_callees_find(c->callees, call->ns, call->name);
    candidate *ks;
    size_t n = 0;
    if (!first)
        return unknown_operator(c, call);
    for (const lzg_callee *k = first; k; k = k->next)
        n++;
    LZ_TRY(lz_arena_new(c->arena, &ks, n));
    n = 0;
    for (lzg_callee *k = first; k; k = k->next)
        if (!k->writes && is_named(k, call->overload))
            LZ_TRY(try_candidate(c, call, k, &ks[n++]));
    if (n == 0)
        return nothing_callable(c, call, first);
    const candidate *best = choose(ks, n, call->n);
    return best ? make_call(c, call, best, out) : explain_all(c, call, ks, n);
}
