#include "gen/derivative/load_derivatives.h"
#include "base/mem.h"
#include "gen/derivative/derivative_entry.h"
#include "gen/derivative/forward_formulas.h"
#include "gen/derivative/gradient_names.h"
#include "gen/text/identifiers.h"

typedef struct reader {
    lzg_derivatives *table;
    lz_arena *arena;
    lzg_diag *diag;
    lz_map by_base;  /* functions, for lzg_entry_begin */
    lz_map counters; /* node class prefix -> size_t * */
} reader;

typedef struct formula {
    const lzg_yaml *key, *value;
} formula;

typedef struct formulas {
    formula *data;
    size_t len;
} formulas;

/* ---- formulas ---- */

static lz_err *split_names(lz_arena *a, lz_str text, lzg_names *out)
{
    lz_str *names, rest = text;
    size_t n = 1;
    for (size_t i = 0; i < text.len; i++)
        n += text.ptr[i] == ',';
    LZ_TRY(lz_arena_new(a, &names, n));
    bool more = true;
    for (size_t i = 0; more; i++)
        names[i] = lz_str_trim(lz_str_cut(&rest, LZ_STR(","), &more));
    *out = (lzg_names){ names, n };
    return NULL;
}

static lz_err *check_names(const lzg_derivative_entry *e, const formula *f, lzg_names names)
{
    const lzg_schema *s = e->func->func;
    for (size_t i = 0; i < s->nreturns; i++) {
        lz_str name = s->returns[i].name;
        if (name.ptr && lzg_names_have(names, name) && lzg_names_have(e->arg_names, name))
            return lz_err_at(LZ_ERR_MODEL, f->key->loc, "'%.*s' is both an argument and an output",
                             LZ_FMT(name));
    }
    return NULL;
}

static bool same_but_case(lz_str s, const char *lower)
{
    size_t n = strlen(lower);
    for (size_t i = 0; i < n && s.len == n; i++) {
        char c = s.ptr[i];
        if ((c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c) != lower[i])
            return false;
    }
    return s.len == n;
}

/* The contents of one key of an entry, while it is read. */
typedef struct outcome {
    lzg_derivative *derivatives;
    lzg_forward *forward;
    lz_str *non_differentiable, *differentiable;
    size_t nderivatives, nforward, nnon, ndiff;
} outcome;

static void add_names(lz_str *to, size_t *n, lzg_names names)
{
    for (size_t i = 0; i < names.len; i++)
        to[(*n)++] = names.data[i];
}

static lz_err *make_derivative(const reader *r, const lzg_derivative_entry *e, const lzg_yaml *written,
                               lzg_names vars, lzg_derivative *out)
{
    lz_str *used;
    size_t n = 0;
    *out = (lzg_derivative){
        .formula = written->text, .original = written->text, .vars = vars, .written = written
    };
    LZ_TRY(lzg_saved_variables(r->arena, e->inputs, e->args.n, vars, written, &out->formula,
                               &out->saved_inputs));
    LZ_TRY(lzg_saved_variables(r->arena, e->outputs, e->func->func->nreturns, vars, written, &out->formula,
                               &out->saved_outputs));
    LZ_TRY(lz_arena_new(r->arena, &used, e->named_gradients.len));
    for (size_t i = 0; i < e->named_gradients.len; i++)
        if (lzg_ident_used(out->formula, e->named_gradients.data[i]))
            used[n++] = e->named_gradients.data[i];
    out->named_gradients = (lzg_names){ used, n };
    return lzg_gradients_in_bounds(out->formula, e->func, written);
}

static lz_err *read_formula(const reader *r, const lzg_derivative_entry *e, const formula *f, outcome *o)
{
    lzg_names names;
    if (f->key->kind != LZG_YAML_STR || f->value->kind != LZG_YAML_STR)
        return lz_err_at(LZ_ERR_MODEL, f->value->loc,
                         "a formula is text under one or more names, not %s under %s",
                         lzg_yaml_kind_name(f->value->kind), lzg_yaml_kind_name(f->key->kind));
    LZ_TRY(split_names(r->arena, f->key->text, &names));
    LZ_TRY(check_names(e, f, names));
    if (!lzg_names_have(e->arg_names, names.data[0]))
        return lzg_forward_make(r->arena, e->func, names, f->value, &o->forward[o->nforward++]);
    if (same_but_case(lz_str_trim(f->value->text), "non_differentiable")) {
        add_names(o->non_differentiable, &o->nnon, names);
        return NULL;
    }
    add_names(o->differentiable, &o->ndiff, names);
    return make_derivative(r, e, f->value, names, &o->derivatives[o->nderivatives++]);
}

static lz_err *begin_outcome(lz_arena *a, const formulas *fs, outcome *o)
{
    size_t names = 0;
    for (size_t i = 0; i < fs->len; i++)
        names += fs->data[i].key->text.len + 1;
    LZ_TRY(lz_arena_new(a, &o->derivatives, fs->len));
    LZ_TRY(lz_arena_new(a, &o->forward, fs->len));
    LZ_TRY(lz_arena_new(a, &o->non_differentiable, names));
    return lz_arena_new(a, &o->differentiable, names);
}

static lz_err *check_overlap(const outcome *o, const lzg_yaml *at)
{
    lzg_names non = { o->non_differentiable, o->nnon };
    for (size_t i = 0; i < o->ndiff; i++)
        if (lzg_names_have(non, o->differentiable[i]))
            return lz_err_at(LZ_ERR_MODEL, at->loc, "'%.*s' is both differentiable and non_differentiable",
                             LZ_FMT(o->differentiable[i]));
    return NULL;
}

/* ---- one key of an entry ---- */

static lz_err *pick_args(const reader *r, const lzg_derivative_entry *e, const outcome *o,
                         lzg_diff_info *info)
{
    lzg_binding *args;
    LZ_TRY(lz_arena_new(r->arena, &args, e->args.n));
    for (size_t i = 0; i < e->args.n; i++)
        if (lzg_names_have((lzg_names){ o->differentiable, o->ndiff }, e->args.at[i].name))
            args[info->nargs++] = e->args.at[i];
    info->args = args;
    return NULL;
}

static lz_err *finish_forward(const reader *r, const lzg_derivative_entry *e, outcome *o, lzg_diff_info *info)
{
    lzg_forward_entry fe = { r->arena,   e->func,     e->name,        e->arg_names,
                             info->args, info->nargs, o->derivatives, o->nderivatives };
    for (size_t i = 0; i < o->nforward; i++)
        LZ_TRY(lzg_diag_take(r->diag, lzg_forward_finish(&fe, o->forward, o->nforward, i),
                             o->forward[i].written->loc, e->schema->text));
    info->forward = (lzg_forwards){ o->forward, o->nforward };
    return NULL;
}

static lz_err *name_node(reader *r, const lzg_derivative_entry *e, lzg_diff_info *info)
{
    lz_str prefix;
    if (info->nargs == 0)
        return NULL;
    LZ_TRY(lzg_node_prefix(r->arena, e->name, &prefix));
    if (!lz_str_is(info->key, "Default"))
        LZ_TRY(lz_arena_printf(r->arena, &prefix, "%.*s%.*s", LZ_FMT(prefix), LZ_FMT(info->key)));
    size_t *counter = lz_map_get(&r->counters, prefix);
    if (!counter) {
        LZ_TRY(lz_arena_new(r->arena, &counter, 1));
        LZ_TRY(lz_map_put(&r->counters, prefix, counter));
    }
    return lz_arena_printf(r->arena, &info->node, "%.*s%zu", LZ_FMT(prefix), (*counter)++);
}

static lz_err *make_info(reader *r, const lzg_derivative_entry *e, outcome *o, lzg_diff_info *info)
{
    LZ_TRY(lzg_diag_take(r->diag, check_overlap(o, info->written), info->written->loc, e->schema->text));
    LZ_TRY(pick_args(r, e, o, info));
    LZ_TRY(finish_forward(r, e, o, info));
    info->name = e->name;
    info->func = e->func;
    info->derivatives = o->derivatives;
    info->nderivatives = o->nderivatives;
    info->named_gradients = e->named_gradients;
    info->non_differentiable = (lzg_names){ o->non_differentiable, o->nnon };
    info->output_differentiability = e->given;
    info->conditional = e->conditional;
    LZ_TRY(lzg_diag_take(r->diag, lzg_gradients_check(info), info->written->loc, e->schema->text));
    LZ_TRY(lzg_gradients_used(r->arena, info));
    LZ_TRY(lzg_diff_info_unite_saved(r->arena, info));
    return name_node(r, e, info);
}

/* Sorted by the text of their keys. */
static lz_err *collect(const reader *r, const lzg_yaml *map, bool whole_entry, formulas *out)
{
    LZ_TRY(lz_arena_new(r->arena, &out->data, map->len));
    out->len = 0;
    for (size_t i = 0; i < map->len; i++) {
        formula f = { map->items[2 * i], map->items[2 * i + 1] };
        if (whole_entry
            && (lz_str_is(f.key->text, "name") || lz_str_is(f.key->text, "output_differentiability")))
            continue;
        size_t j = out->len++;
        for (; j > 0 && lz_str_cmp(f.key->text, out->data[j - 1].key->text) < 0; j--)
            out->data[j] = out->data[j - 1];
        out->data[j] = f;
    }
    return NULL;
}

static lz_err *read_key(reader *r, const lzg_derivative_entry *e, const lzg_yaml *map, bool whole_entry,
                        lzg_diff_info *info)
{
    formulas fs;
    outcome o = { 0 };
    size_t before = r->diag->found.len + r->diag->dropped;
    LZ_TRY(collect(r, map, whole_entry, &fs));
    LZ_TRY(begin_outcome(r->arena, &fs, &o));
    for (size_t i = 0; i < fs.len; i++)
        LZ_TRY(lzg_diag_take(r->diag, read_formula(r, e, &fs.data[i], &o), fs.data[i].value->loc,
                             e->schema->text));
    info->written = map;
    LZ_TRY(lz_map_put(&r->table->keys, info->key, NULL));
    return r->diag->found.len + r->diag->dropped == before ? make_info(r, e, &o, info) : NULL;
}

/* Keys that a dispatch field may have; Default means all others. */
static bool is_autograd_key(lz_str key)
{
    static const char *const not_for_entries[] = { "Autograd", "AutogradOther", "AutogradFunctionality" };
    for (size_t i = 0; i < sizeof not_for_entries / sizeof *not_for_entries; i++)
        if (lz_str_is(key, not_for_entries[i]))
            return false;
    return lz_str_is(key, "Default")
           || (lz_str_starts(key, LZ_STR("Autograd")) && lzg_dispatch_key_find(key) != LZG_KEY_NONE);
}

static lz_err *check_key(const lzg_yaml *key, const lzg_yaml *value)
{
    if (key->kind != LZG_YAML_STR || !is_autograd_key(key->text))
        return lz_err_at(LZ_ERR_MODEL, key->loc, "'%.*s' is not an autograd key", LZ_FMT(key->text));
    if (value->kind != LZG_YAML_MAP)
        return lz_err_at(LZ_ERR_MODEL, value->loc, "the formulas of a key are a mapping, not %s",
                         lzg_yaml_kind_name(value->kind));
    return NULL;
}

static lz_err *read_dispatch(reader *r, const lzg_derivative_entry *e, const lzg_yaml *dispatch,
                             lzg_diff_info *infos, size_t *n)
{
    for (size_t i = 0; i < dispatch->len; i++) {
        const lzg_yaml *key = dispatch->items[2 * i], *value = dispatch->items[2 * i + 1];
        lz_err *err = check_key(key, value);
        if (!err) {
            infos[*n].key = key->text;
            err = read_key(r, e, value, false, &infos[(*n)++]);
        }
        LZ_TRY(lzg_diag_take(r->diag, err, key->loc, e->schema->text));
    }
    return NULL;
}

/* ---- one entry ---- */

static lz_err *read_entry(reader *r, const lzg_yaml *node)
{
    lzg_derivative_entry e = { 0 };
    const lzg_yaml *dispatch = node->kind == LZG_YAML_MAP ? lzg_yaml_get(node, LZ_STR("dispatch")) : NULL;
    lzg_diff_info *infos;
    lzg_diff_infos *all;
    size_t n = 0;
    lz_err *err = lzg_entry_begin(r->arena, r->table->ops, &r->by_base, node, &e);
    if (err)
        return lzg_diag_take(r->diag, err, node->loc, e.schema ? e.schema->text : LZ_STR(""));
    LZ_TRY(lz_arena_new(r->arena, &infos, dispatch ? dispatch->len : 1));
    LZ_TRY(lz_arena_new(r->arena, &all, 1));
    size_t before = r->diag->found.len + r->diag->dropped;
    if (dispatch) {
        LZ_TRY(read_dispatch(r, &e, dispatch, infos, &n));
    } else {
        infos[n].key = LZ_STR("Default");
        LZ_TRY(read_key(r, &e, node, true, &infos[n++]));
    }
    *all = (lzg_diff_infos){ e.func, infos, n };
    bool good = r->diag->found.len + r->diag->dropped == before;
    return good ? lz_map_put(&r->table->infos, e.func->func->text, all) : NULL;
}

/* ---- the file ---- */

static lz_err *read_entries(reader *r, const lzg_yaml *entries)
{
    if (entries->kind != LZG_YAML_LIST)
        return lzg_diag_take(r->diag,
                             lz_err_at(LZ_ERR_MODEL, entries->loc,
                                       "derivatives are a list of entries, not %s",
                                       lzg_yaml_kind_name(entries->kind)),
                             entries->loc, LZ_STR(""));
    LZ_TRY(lzg_namesakes_index(r->arena, r->table->ops, &r->by_base));
    for (size_t i = 0; i < entries->len; i++)
        LZ_TRY(read_entry(r, entries->items[i]));
    return NULL;
}

/* A view and its copying form share their derivatives, unless the copy has its own. */
static lz_err *copy_views(reader *r)
{
    lzg_derivatives *t = r->table;
    size_t n = t->infos.len;
    for (size_t i = 0; i < n; i++) {
        const lzg_diff_infos *from = t->infos.entries[i].value;
        const lzg_view_group *g = lz_map_get(&t->ops->view_group_of, from->func->func->name.text);
        if (!g || g->view != from->func || !g->view_copy || !from->len)
            continue;
        const lz_map_entry *own = lz_map_find(&t->infos, g->view_copy->func->text);
        if (own && (size_t)(own - t->infos.entries) < n)
            continue;
        lzg_diff_infos *to;
        lzg_diff_info *copies;
        LZ_TRY(lz_arena_new(r->arena, &to, 1));
        LZ_TRY(lz_arena_new(r->arena, &copies, from->len));
        for (size_t k = 0; k < from->len; k++)
            LZ_TRY(lzg_diff_info_view_copy(r->arena, &from->data[k], g, &copies[k]));
        *to = (lzg_diff_infos){ g->view_copy, copies, from->len };
        LZ_TRY(lz_map_put(&t->infos, g->view_copy->func->text, to));
    }
    return NULL;
}

lz_err *lzg_derivatives_read(const lzg_ops *ops, const lzg_yaml *entries, lzg_diag *d, lzg_derivatives **out)
{
    lzg_derivatives *t = *out = lz_mem_zalloc(1, sizeof *t);
    if (!t)
        return lz_err_oom();
    t->ops = ops;
    reader r = { .table = t, .arena = &t->arena, .diag = d };
    lz_err *e = read_entries(&r, entries);
    if (!e)
        e = copy_views(&r);
    lz_map_deinit(&r.by_base);
    lz_map_deinit(&r.counters);
    return e;
}

lz_err *lzg_derivatives_load(const lzg_ops *ops, const lzg_yaml *entries, lzg_diag *d, lzg_derivatives **out)
{
    LZ_TRY(lzg_derivatives_read(ops, entries, d, out));
    LZ_TRY(lzg_derivatives_match(*out, d));
    return lzg_derivatives_check(*out, d);
}

void lzg_derivatives_free(lzg_derivatives *t)
{
    if (!t)
        return;
    lz_map_deinit(&t->infos);
    lz_map_deinit(&t->keys);
    lz_arena_deinit(&t->arena);
    lz_mem_free(t);
}
