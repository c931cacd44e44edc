#include "gen/torch/gen_python_functions.h"
#include "gen/api/cpp.h"
#include "gen/api/python_dispatch.h"
#include <stdlib.h>

/* ---- modules ---- */

static const char *const module_names[LZG_PY_MODULE_COUNT] = {
    [LZG_PY_TORCH] = "torch",         [LZG_PY_TENSOR] = "torch.Tensor",   [LZG_PY_FFT] = "torch.fft",
    [LZG_PY_LINALG] = "torch.linalg", [LZG_PY_NESTED] = "torch.nested",   [LZG_PY_NN] = "torch.nn",
    [LZG_PY_SPARSE] = "torch.sparse", [LZG_PY_SPECIAL] = "torch.special",
};

const char *lzg_py_module_name(lzg_py_module module)
{
    return module_names[module];
}

/* The module that takes a function's signature as method or as function, or LZG_PY_MODULE_COUNT. */
static lzg_py_module module_of(const lzg_function *f, bool method)
{
    lz_str named = f->python_module;
    if (method)
        return !named.ptr && (f->variants & LZG_VARIANT_METHOD) ? LZG_PY_TENSOR : LZG_PY_MODULE_COUNT;
    if (!named.ptr)
        return f->variants & LZG_VARIANT_FUNCTION ? LZG_PY_TORCH : LZG_PY_MODULE_COUNT;
    for (unsigned m = LZG_PY_FFT; m < LZG_PY_MODULE_COUNT; m++)
        if (lz_str_is(named, module_names[m] + strlen("torch.")))
            return (lzg_py_module)m;
    return LZG_PY_MODULE_COUNT;
}

/* ---- which operators are bound ---- */

/* Generated operators are not, but for the copies of views that once were written by hand. */
static lz_err *should_bind(const lzg_ops *ops, const lzg_pattern_list *skip, lz_arena *scratch,
                           const lzg_function *f, bool *out)
{
    lz_str name;
    *out = !lzg_function_has_tag(f, "generated") || lzg_function_has_tag(f, "view_copy");
    if (!*out)
        return NULL;
    LZ_TRY(lzg_cpp_name(scratch, f->func, (lzg_cpp_form){ 0 }, &name));
    *out =
        !lzg_pattern_list_match(skip, name)
        && !lzg_lists_has(ops->lists, "gen_python_functions.skip_python_bindings_signatures", f->func->text);
    return NULL;
}

static lz_err *find_bound(lzg_python *p, lz_arena *scratch)
{
    lzg_pattern_list skip;
    LZ_TRY(lzg_lists_patterns(p->ops->lists, scratch, "gen_python_functions.skip_python_bindings", &skip));
    LZ_TRY(lz_arena_new(&p->arena, &p->functions, p->ops->nfunctions));
    for (size_t i = 0; i < p->ops->nfunctions; i++) {
        const lzg_function *f = p->ops->functions[i];
        bool bound;
        LZ_TRY(should_bind(p->ops, &skip, scratch, f, &bound));
        if (!bound)
            continue;
        p->functions[p->nfunctions++] = f;
        LZ_TRY(lz_map_put(&p->bound, f->func->text, NULL));
    }
    return NULL;
}

lz_err *lzg_python_init(lzg_python *p, const lzg_ops *ops)
{
    lz_arena scratch = { 0 };
    *p = (lzg_python){ .ops = ops };
    lz_err *e = find_bound(p, &scratch);
    lz_arena_deinit(&scratch);
    return e;
}

void lzg_python_deinit(lzg_python *p)
{
    lz_map_deinit(&p->bound);
    lz_arena_deinit(&p->arena);
    *p = (lzg_python){ 0 };
}

bool lzg_python_is_bound(const lzg_python *p, const lzg_function *f)
{
    return lz_map_find(&p->bound, f->func->text) != NULL;
}

/* ---- functions by name ---- */

static lz_err *group_add(lz_arena *a, lzg_py_group *g, const lzg_function *f)
{
    if (g->n == g->room) {
        size_t room = g->room ? 2 * g->room : 2;
        const lzg_function **functions;
        LZ_TRY(lz_arena_new(a, &functions, room));
        if (g->n)
            memcpy(functions, g->functions, g->n * sizeof *functions);
        g->functions = functions;
        g->room = room;
    }
    g->functions[g->n++] = f;
    return NULL;
}

static bool is_in(const lzg_function *f, lzg_py_module module)
{
    return module == LZG_PY_MODULE_COUNT || module_of(f, false) == module || module_of(f, true) == module;
}

lz_err *lzg_python_group(const lzg_python *p, lz_arena *a, lzg_py_module module, lz_map *out)
{
    for (size_t i = 0; i < p->nfunctions; i++) {
        lz_str name = p->functions[i]->func->name.printed_base;
        if (!is_in(p->functions[i], module))
            continue;
        lzg_py_group *g = lz_map_get(out, name);
        if (!g) {
            LZ_TRY(lz_arena_new(a, &g, 1));
            LZ_TRY(lz_map_put(out, name, g));
        }
        LZ_TRY(group_add(a, g, p->functions[i]));
    }
    return NULL;
}

/* ---- signatures by name ---- */

/* One operator's signature, before base and out are joined. */
typedef struct pair {
    lzg_py_signature sig;
    const lzg_function *f;
    const lzg_deprecated *by; /* or NULL */
    struct pair *next;
} pair;

typedef struct name {
    pair *first, *last;
    size_t n;
} name;

typedef struct loader {
    lzg_python *p;
    lzg_diag *d;
    lz_map modules[LZG_PY_MODULE_COUNT]; /* a name as printed -> name */
    size_t nnames;
} loader;

static lz_loc loc_of(const lzg_deprecated *by, const lzg_function *f)
{
    return by ? by->loc : f->loc;
}

static lz_str schema_of(const lzg_deprecated *by, const lzg_function *f)
{
    return by ? by->schema->text : f->func->text;
}

static lz_err *make_pair(lz_arena *a, const lzg_function *f, const lzg_deprecated *by, bool method,
                         pair **out)
{
    pair *x;
    LZ_TRY(lz_arena_new(a, &x, 1));
    LZ_TRY(lzg_python_signature(a, by ? by->schema : f->func, f->category_override, method, &x->sig));
    x->f = f;
    x->by = by;
    x->sig.deprecated = by != NULL;
    x->sig.call = by ? by->call : NULL;
    x->sig.ncall = by ? by->ncall : 0;
    *out = x;
    return NULL;
}

/* Under the operator's name, which an old signature may not have. */
static lz_err *put_pair(loader *l, lzg_py_module module, pair *x)
{
    lz_str key = x->f->func->name.printed_base;
    name *to = lz_map_get(&l->modules[module], key);
    if (!to) {
        LZ_TRY(lz_arena_new(&l->p->arena, &to, 1));
        LZ_TRY(lz_map_put(&l->modules[module], key, to));
        to->first = x;
        l->nnames++;
    } else {
        to->last->next = x;
    }
    to->last = x;
    to->n++;
    return NULL;
}

static lz_err *add_signatures(loader *l, const lzg_function *f, const lzg_deprecated *by)
{
    size_t fields;
    LZ_TRY(lzg_python_fields(f->func, &fields));
    for (int method = 0; method <= 1; method++) {
        lzg_py_module module = module_of(f, method);
        pair *x;
        LZ_TRY(make_pair(&l->p->arena, f, by, method, &x));
        if (module != LZG_PY_MODULE_COUNT)
            LZ_TRY(put_pair(l, module, x));
    }
    return NULL;
}

static lz_err *add_functions(loader *l)
{
    for (size_t i = 0; i < l->p->nfunctions; i++) {
        const lzg_function *f = l->p->functions[i];
        LZ_TRY(lzg_diag_take(l->d, add_signatures(l, f, NULL), f->loc, f->func->text));
    }
    return NULL;
}

static lz_err *add_deprecated(loader *l)
{
    for (size_t i = 0; i < l->p->deprecated.n; i++) {
        const lzg_deprecated *x = &l->p->deprecated.at[i];
        for (size_t k = 0; k < x->ntargets; k++)
            LZ_TRY(lzg_diag_take(l->d, add_signatures(l, x->targets[k], x), x->loc, x->schema->text));
    }
    return NULL;
}

/* ---- base and out ---- */

typedef struct member {
    lz_str key; /* the string without outputs */
    const pair *pair;
    size_t place;
    bool is_out;
} member;

static int by_key(const void *x, const void *y)
{
    const member *a = x, *b = y;
    int order = lz_str_cmp(a->key, b->key);
    if (order == 0)
        order = a->is_out - b->is_out;
    return order ? order : (a->place > b->place) - (a->place < b->place);
}

static lz_err *print(lz_arena *a, const lzg_py_signature *sig, lzg_py_form form, lz_str *out)
{
    lz_text t = { 0 };
    lz_err *e = lzg_python_print(sig, form, &t);
    if (!e)
        e = lz_text_save(&t, a, out);
    lz_text_deinit(&t);
    return e;
}

/* Those that can be printed, sorted so that a base is followed by its out. */
static lz_err *list_members(loader *l, const name *from, lz_arena *scratch, member **out, size_t *n)
{
    LZ_TRY(lz_arena_new(scratch, out, from->n));
    *n = 0;
    for (const pair *x = from->first; x; x = x->next) {
        member *m = &(*out)[*n];
        *m = (member){ .pair = x, .place = *n, .is_out = lzg_schema_is_out_fn(x->f->func) };
        lz_err *e = print(scratch, &x->sig, (lzg_py_form){ .skip_outputs = true }, &m->key);
        *n += e == NULL;
        LZ_TRY(lzg_diag_take(l->d, e, loc_of(x->by, x->f), schema_of(x->by, x->f)));
    }
    if (*n)
        qsort(*out, *n, sizeof **out, by_key);
    return NULL;
}

/* Two bases or two outs with one string, or an out without a base; `before` may be NULL. */
static lz_err *misfit(const member *m, const member *before)
{
    bool same = before && lz_str_eq(before->key, m->key);
    if (same && before->is_out == m->is_out)
        return lz_errf(LZ_ERR_MODEL, "Python cannot tell it from %.*s: both are %.*s",
                       LZ_FMT(before->pair->f->func->name.text), LZ_FMT(m->key));
    if (m->is_out && !same)
        return lz_errf(LZ_ERR_MODEL, "an out operator without its base: no overload is %.*s", LZ_FMT(m->key));
    return NULL;
}

static lz_err *join(loader *l, const member *base, const member *out, lzg_py_overload *to)
{
    lzg_py_signature *merged;
    *to = (lzg_py_overload){ .sig = &base->pair->sig, .base = base->pair->f, .by = base->pair->by };
    to->place = base->place;
    if (out) {
        LZ_TRY(lz_arena_new(&l->p->arena, &merged, 1));
        LZ_TRY(lzg_python_merge(&l->p->arena, &base->pair->sig, &out->pair->sig, merged));
        to->sig = merged;
        to->out = out->pair->f;
    }
    return print(&l->p->arena, to->sig, (lzg_py_form){ 0 }, &to->text);
}

static lz_err *join_members(loader *l, const member *m, size_t n, lzg_py_overload *overloads, size_t *count)
{
    *count = 0;
    for (size_t i = 0; i < n; i++) {
        const pair *x = m[i].pair;
        lz_err *e = misfit(&m[i], i ? &m[i - 1] : NULL);
        bool pairs = i + 1 < n && m[i + 1].is_out && lz_str_eq(m[i].key, m[i + 1].key);
        if (!e && !m[i].is_out)
            e = join(l, &m[i], pairs ? &m[i + 1] : NULL, &overloads[*count]);
        *count += !e && !m[i].is_out;
        LZ_TRY(lzg_diag_take(l->d, e, loc_of(x->by, x->f), schema_of(x->by, x->f)));
    }
    return NULL;
}

/* ---- names ---- */

static void measure(const name *from, lzg_py_name *out)
{
    for (const pair *x = from->first; x; x = x->next)
        out->max_args = x->sig.n > out->max_args ? x->sig.n : out->max_args;
    out->noarg = from->n == 1 && out->max_args == 0;
}

static lz_err *list_functions(loader *l, const name *from, lzg_py_name *out)
{
    LZ_TRY(lz_arena_new(&l->p->arena, &out->functions, from->n));
    for (const pair *x = from->first; x; x = x->next)
        out->functions[out->nfunctions++] = x->f;
    return NULL;
}

static lz_err *make_name(loader *l, lz_arena *scratch, const name *from, lzg_py_name *out)
{
    member *members;
    lzg_py_overload *overloads;
    size_t n;
    measure(from, out);
    LZ_TRY(list_functions(l, from, out));
    LZ_TRY(list_members(l, from, scratch, &members, &n));
    LZ_TRY(lz_arena_new(&l->p->arena, &overloads, n));
    LZ_TRY(join_members(l, members, n, overloads, &out->n));
    out->overloads = overloads;
    l->p->noverloads += out->n;
    return lzg_python_sort(scratch, overloads, out->n);
}

static lz_err *make_names(loader *l, lz_arena *scratch, lzg_py_name *names)
{
    for (unsigned m = 0; m < LZG_PY_MODULE_COUNT; m++) {
        const lz_map *map = &l->modules[m];
        for (lz_map_entry *e = lz_map_next(map, NULL); e; e = lz_map_next(map, e)) {
            lz_arena_mark mark = lz_arena_save(scratch);
            lzg_py_name *out = &names[l->p->nnames++];
            *out = (lzg_py_name){ .module = (lzg_py_module)m,
                                  .name = e->key,
                                  .place = (size_t)(e - map->entries) };
            LZ_TRY(make_name(l, scratch, e->value, out));
            lz_arena_rewind(scratch, mark);
        }
    }
    return NULL;
}

static int by_module_and_name(const void *x, const void *y)
{
    const lzg_py_name *a = x, *b = y;
    return a->module != b->module ? (int)a->module - (int)b->module : lz_str_cmp(a->name, b->name);
}

static lz_err *make_all(loader *l)
{
    lz_arena scratch = { 0 };
    lzg_py_name *names;
    LZ_TRY(lz_arena_new(&l->p->arena, &names, l->nnames));
    l->p->names = names;
    lz_err *e = make_names(l, &scratch, names);
    lz_arena_deinit(&scratch);
    if (l->p->nnames)
        qsort(names, l->p->nnames, sizeof *names, by_module_and_name);
    return e;
}

/* The old signatures and those of operators; whole: their names, too. */
static lz_err *load(lzg_python *p, const lzg_yaml *deprecated, bool whole, lzg_diag *d)
{
    loader l = { .p = p, .d = d };
    lz_err *e = NULL;
    if (deprecated)
        e = lzg_deprecated_load(&p->arena, p->functions, p->nfunctions, deprecated, d, &p->deprecated);
    if (!e)
        e = add_functions(&l);
    if (!e)
        e = add_deprecated(&l);
    if (!e && whole)
        e = make_all(&l);
    for (unsigned m = 0; m < LZG_PY_MODULE_COUNT; m++)
        lz_map_deinit(&l.modules[m]);
    return e;
}

lz_err *lzg_python_load(lzg_python *p, const lzg_yaml *deprecated, lzg_diag *d)
{
    return load(p, deprecated, true, d);
}

/* ---- checks ---- */

static lz_err *check_overload(lzg_python *p, lz_arena *scratch, const lzg_py_overload *x, lzg_diag *d)
{
    const lzg_function *const both[] = { x->base, x->out };
    for (size_t i = 0; i < 2; i++) {
        if (!both[i])
            continue;
        lz_arena_mark mark = lz_arena_save(scratch);
        lz_err *e = lzg_python_check_dispatch(scratch, p->ops, x->sig, both[i]);
        lz_arena_rewind(scratch, mark);
        LZ_TRY(lzg_diag_take(d, e, loc_of(x->by, both[i]), schema_of(x->by, both[i])));
    }
    return NULL;
}

lz_err *lzg_python_check(lzg_python *p, lzg_diag *d)
{
    lz_arena scratch = { 0 };
    lz_err *e = NULL;
    for (size_t i = 0; !e && i < p->nnames; i++)
        for (size_t k = 0; !e && k < p->names[i].n; k++)
            e = check_overload(p, &scratch, &p->names[i].overloads[k], d);
    lz_arena_deinit(&scratch);
    return e;
}

lz_err *lzg_check_python(const lzg_ops *ops, lzg_diag *d)
{
    lzg_python p;
    lz_err *e = lzg_python_init(&p, ops);
    if (!e)
        e = lzg_python_load(&p, NULL, d);
    if (!e)
        e = lzg_python_check(&p, d);
    lzg_python_deinit(&p);
    return e;
}

lz_err *lzg_check_deprecated(const lzg_ops *ops, const lzg_yaml *deprecated, lzg_diag *d)
{
    lzg_python p;
    lz_err *e = lzg_python_init(&p, ops);
    if (!e)
        e = load(&p, deprecated, false, d);
    lzg_python_deinit(&p);
    return e;
}
