#include "gen/formula/formula_define.h"
#include "gen/formula/formula_check_impl.h"
#include "gen/formula/formula_cycle.h"

typedef struct definer {
    lzg_definitions *d;
    const lzg_ops *ops;
    lzg_diag *diag;
    lz_map carriers; /* signature -> the lzg_function that holds the definition */
} definer;

const char *lzg_definition_kind_name(lzg_definition_kind kind)
{
    static const char *const names[LZG_DEF_COUNT] = {
        [LZG_DEF_MISSING] = "missing",     [LZG_DEF_FORMULA] = "formula", [LZG_DEF_POINTWISE] = "pointwise",
        [LZG_DEF_PRIMITIVE] = "primitive", [LZG_DEF_DERIVED] = "derived",
    };
    return names[kind];
}

static lz_err *full_name(lz_arena *a, const lzg_function *f, lz_str name, lz_str *out)
{
    *out = name;
    if (lz_str_is(f->ns, "aten") || f->ns.len == 0)
        return NULL;
    return lz_arena_printf(a, out, "%.*s::%.*s", LZ_FMT(f->ns), LZ_FMT(name));
}

static lz_str function_key(const lzg_function *const *f)
{
    return (lz_str){ (const char *)f, sizeof *f };
}

/* ---- who holds the definition ---- */

/* Smaller ranks are preferred. */
static int rank(const lzg_function *f)
{
    static const int ranks[LZG_KIND_COUNT] = {
        [LZG_FUNCTIONAL] = 0, [LZG_MUTABLE] = 1, [LZG_INPLACE] = 2, [LZG_OUT_KIND] = 3, [LZG_SCRATCH] = 4,
    };
    return ranks[f->func->kind] + (f->generated ? LZG_KIND_COUNT : 0);
}

static lz_err *signature_key(definer *p, const lzg_function *f, lz_str *out)
{
    const lzg_schema *s;
    LZ_TRY(lzg_schema_signature(&p->d->arena, f->func, (lzg_signature_options){ .strip_default = true }, &s));
    return full_name(&p->d->arena, f, s->text, out);
}

static lz_err *find_carriers(definer *p, lz_str *keys)
{
    for (size_t i = 0; i < p->ops->nfunctions; i++) {
        const lzg_function *f = p->ops->functions[i], *other;
        LZ_TRY(signature_key(p, f, &keys[i]));
        other = lz_map_get(&p->carriers, keys[i]);
        if (!other || rank(f) < rank(other))
            LZ_TRY(lz_map_put(&p->carriers, keys[i], (void *)f));
    }
    return NULL;
}

/* The operator from which f is derived; NULL: f has its own definition. */
static const lzg_function *origin(const definer *p, const lzg_function *f, lz_str key)
{
    const lzg_view_group *g = lz_map_get(&p->ops->view_group_of, f->func->name.text);
    const lzg_function *carrier = lz_map_get(&p->carriers, key);
    if (carrier != f)
        return carrier;
    if (lz_str_ends(f->func->name.base,
                    LZ_STR("_scatter"))) /* the twin of slice_inverse puts in, and copies nothing */
        return NULL;
    return g && g->view_copy == f && g->view != f ? g->view : NULL;
}

/* ---- static ---- */

static lz_err *unknown_static(definer *p, const lzg_function *f, const lzg_yaml *name)
{
    lzg_suggestion s = lzg_suggest(name->text);
    const char *hint;
    for (size_t i = 0; i < f->func->nargs; i++)
        lzg_suggest_offer(&s, f->func->args[i].name);
    LZ_TRY(lzg_suggest_text(&s, &p->d->arena, &hint));
    return lz_err_at(LZ_ERR_MODEL, name->loc, "static names '%.*s', which is no argument%s",
                     LZ_FMT(name->text), hint);
}

static lz_err *read_static(definer *p, const lzg_function *f, const lzg_yaml *name, bool *is_static)
{
    const lzg_argument *arg = lzg_schema_arg(f->func, name->text);
    const lzg_fty *type;
    if (name->kind != LZG_YAML_STR)
        return lz_err_at(LZ_ERR_MODEL, name->loc, "expected the name of an argument, found %s",
                         lzg_yaml_kind_name(name->kind));
    if (!arg)
        return unknown_static(p, f, name);
    LZ_TRY(lzg_fty_of(&p->d->arena, arg->type, &type));
    if (!lzg_fty_is_run_time(type))
        return lz_err_at(LZ_ERR_MODEL, name->loc,
                         "'%.*s' is known before the run anyway: static is for numbers", LZ_FMT(name->text));
    if (is_static[arg - f->func->args])
        return lz_err_at(LZ_ERR_MODEL, name->loc, "'%.*s' occurs twice", LZ_FMT(name->text));
    is_static[arg - f->func->args] = true;
    return NULL;
}

static lz_err *read_statics(definer *p, lzg_definition *def)
{
    const lzg_yaml *list = def->function->statics;
    bool *is_static;
    LZ_TRY(lz_arena_new(&p->d->arena, &is_static, def->function->func->nargs));
    def->is_static = is_static;
    if (!list)
        return NULL;
    if (list->kind != LZG_YAML_LIST)
        return lz_err_at(LZ_ERR_MODEL, list->loc, "static is a list of arguments, not %s",
                         lzg_yaml_kind_name(list->kind));
    for (size_t i = 0; i < list->len; i++)
        LZ_TRY(read_static(p, def->function, list->items[i], is_static));
    return NULL;
}

/* ---- formula, inner, shape ---- */

static lz_err *unknown_rule(definer *p, const lzg_yaml *name)
{
    lzg_suggestion s = lzg_suggest(name->text);
    const char *hint;
    size_t n;
    for (const lzg_shape_rule *r = lzg_shape_rules(&n); n > 0; n--, r++)
        lzg_suggest_offer(&s, lz_str_of(r->name));
    LZ_TRY(lzg_suggest_text(&s, &p->d->arena, &hint));
    return lz_err_at(LZ_ERR_MODEL, name->loc, "unknown rule '%.*s'%s", LZ_FMT(name->text), hint);
}

static lz_err *read_rule(definer *p, lzg_definition *def)
{
    const lzg_yaml *node = def->function->shape;
    lz_loc loc = node ? node->loc : def->function->inner->loc;
    size_t n;
    def->rule = lzg_shape_rules(&n); /* the first is pointwise */
    if (node)
        def->rule = lzg_shape_rule_find(node->text);
    if (node && !def->rule)
        return unknown_rule(p, node);
    if (def->rule->pointwise && !def->function->inner)
        return lz_err_at(LZ_ERR_MODEL, loc, "the rule '%s' needs inner", def->rule->name);
    if (!def->rule->pointwise && def->function->inner)
        return lz_err_at(LZ_ERR_MODEL, loc, "the rule '%s' cannot be combined with inner", def->rule->name);
    return lzg_shape_rule_check(def->rule, def->function->func, loc);
}

static lz_err *check_elements(const lzg_function *f)
{
    const lzg_schema *s = f->func;
    bool any = false, all = true;
    for (size_t i = 0; i < s->nargs; i++)
        any = any || lzg_type_is_base_like(s->args[i].type, LZG_TY_Tensor);
    for (size_t i = 0; i < s->nreturns; i++)
        all = all && lzg_type_is(s->returns[i].type, LZG_TY_Tensor);
    if (any && all)
        return NULL;
    return lz_err_at(LZ_ERR_MODEL, f->inner->loc, "inner needs an operator that takes and returns tensors");
}

static lz_err *define_inner(definer *p, lzg_definition *def)
{
    const lzg_function *f = def->function;
    const lzg_fty *truth = lzg_fty_base(LZG_TY_bool);
    lzg_expectation expect;
    def->kind = LZG_DEF_POINTWISE;
    LZ_TRY(check_elements(f));
    LZ_TRY(lzg_formula_parse(&p->d->arena, f->inner, LZ_STR("inner"), &def->expr));
    LZ_TRY(lzg_expectation_of(&p->d->arena, f, def->is_static, true, &expect));
    if (def->rule->truth)
        expect.results = &truth;
    return lzg_formula_check(&p->d->arena, &p->d->callees, def->expr, &expect, &def->checked);
}

static lz_err *define_formula(definer *p, lzg_definition *def)
{
    const lzg_function *f = def->function;
    lzg_expectation expect;
    def->kind = LZG_DEF_FORMULA;
    LZ_TRY(lzg_formula_parse(&p->d->arena, f->formula, LZ_STR("formula"), &def->expr));
    LZ_TRY(lzg_expectation_of(&p->d->arena, f, def->is_static, false, &expect));
    if (expect.nresults == 0)
        return lz_err_at(LZ_ERR_MODEL, f->formula->loc, "a formula for an operator that returns nothing");
    return lzg_formula_check(&p->d->arena, &p->d->callees, def->expr, &expect, &def->checked);
}

static lz_err *define_derived(lzg_definition *def, const lzg_function *from)
{
    const lzg_function *f = def->function;
    const lzg_yaml *own = f->formula ? f->formula : f->inner ? f->inner : f->shape ? f->shape : f->statics;
    def->kind = LZG_DEF_DERIVED;
    def->from = from;
    if (own && !f->generated)
        return lz_err_at(LZ_ERR_MODEL, own->loc, "the definition of %.*s is that of %.*s",
                         LZ_FMT(f->func->name.text), LZ_FMT(from->func->name.text));
    return NULL;
}

static lz_err *define(definer *p, lzg_definition *def, lz_str key)
{
    const lzg_function *f = def->function, *from = origin(p, f, key);
    if (from)
        return define_derived(def, from);
    LZ_TRY(read_statics(p, def));
    if (f->formula && (f->inner || f->shape))
        return lz_err_at(LZ_ERR_MODEL, (f->inner ? f->inner : f->shape)->loc,
                         "%s cannot be combined with a formula", f->inner ? "inner" : "shape");
    if (f->formula)
        return define_formula(p, def);
    if (!f->inner && !f->shape)
        return lz_err_at(LZ_ERR_MODEL, f->func_loc,
                         "%.*s has no definition: expected formula, inner or shape",
                         LZ_FMT(f->func->name.text));
    def->kind = LZG_DEF_PRIMITIVE;
    LZ_TRY(read_rule(p, def));
    return f->inner ? define_inner(p, def) : NULL;
}

/* An argument of a derived operator is static if it is static in the original. */
static lz_err *inherit_statics(definer *p, lzg_definition *def)
{
    const lzg_schema *s = def->function->func, *base;
    const lzg_definition *from = def;
    bool *is_static;
    LZ_TRY(lz_arena_new(&p->d->arena, &is_static, s->nargs));
    def->is_static = is_static;
    for (size_t i = 0; i < p->d->n && from->kind == LZG_DEF_DERIVED; i++)
        from = lzg_definition_of(p->d, from->from);
    if (from->kind == LZG_DEF_DERIVED || !from->is_static)
        return NULL;
    base = from->function->func;
    for (size_t i = 0; i < s->nargs; i++) {
        const lzg_argument *arg = lzg_schema_arg(base, s->args[i].name);
        is_static[i] = arg && from->is_static[arg - base->args];
    }
    return NULL;
}

static lz_err *define_all(definer *p)
{
    lzg_definitions *d = p->d;
    lz_str *keys, name;
    LZ_TRY(lz_arena_new(&d->arena, &keys, p->ops->nfunctions));
    LZ_TRY(lz_arena_new(&d->arena, &d->list, p->ops->nfunctions));
    LZ_TRY(find_carriers(p, keys));
    LZ_TRY(lzg_callees_init(&d->callees, &d->arena, p->ops));
    for (d->n = 0; d->n < p->ops->nfunctions; d->n++) {
        lzg_definition *def = &d->list[d->n];
        def->function = p->ops->functions[d->n];
        lz_err *e = define(p, def, keys[d->n]);
        if (e)
            def->kind = LZG_DEF_MISSING;
        LZ_TRY(lzg_diag_take(p->diag, e, def->function->func_loc, def->function->written));
        LZ_TRY(full_name(&d->arena, def->function, def->function->func->name.text, &name));
        LZ_TRY(lz_map_put(&d->by_name, name, def));
        LZ_TRY(lz_map_put(&d->by_function, function_key(&def->function), def));
    }
    for (size_t i = 0; i < d->n; i++)
        if (d->list[i].kind == LZG_DEF_DERIVED)
            LZ_TRY(inherit_statics(p, &d->list[i]));
    return NULL;
}

lz_err *lzg_definitions_init(lzg_definitions *d, const lzg_ops *ops, lzg_diag *diag)
{
    definer p = { .d = d, .ops = ops, .diag = diag };
    *d = (lzg_definitions){ 0 };
    lz_err *e = define_all(&p);
    if (!e)
        e = lzg_formula_cycles(d, diag);
    lz_map_deinit(&p.carriers);
    return e;
}

void lzg_definitions_deinit(lzg_definitions *d)
{
    lzg_callees_deinit(&d->callees);
    lz_map_deinit(&d->by_name);
    lz_map_deinit(&d->by_function);
    lz_arena_deinit(&d->arena);
    *d = (lzg_definitions){ 0 };
}

const lzg_definition *lzg_definitions_find(const lzg_definitions *d, lz_str name)
{
    return lz_map_get(&d->by_name, name);
}

const lzg_definition *lzg_definition_of(const lzg_definitions *d, const lzg_function *f)
{
    return lz_map_get(&d->by_function, function_key(&f));
}
