/* The dispatch table of one entry. */
#include "gen/model/model_entry.h"

/* The dispatch table of one entry. Ignored keys are not in it, but count. */
typedef struct table {
    lzg_backend_metadata *row;
    size_t n, keys;
    bool redundant; /* the implicit composite under its default name */
} table;

static lzg_backend_metadata *find_row(const table *t, lzg_dispatch_key key)
{
    for (size_t i = 0; i < t->n; i++)
        if (t->row[i].key == key)
            return &t->row[i];
    return NULL;
}

/* A key written twice keeps its place and takes the later kernel. */
static void put_row(table *t, lzg_backend_metadata m)
{
    lzg_backend_metadata *old = find_row(t, m.key);
    if (old)
        *old = m;
    else
        t->row[t->n++] = m;
}

static lz_err *kernel_of(lzg_entry *x, const lzg_yaml *v, lzg_backend_metadata *m)
{
    lz_str ns;
    LZ_TRY(lzg_split_namespace(v, 3, &ns, &m->kernel));
    m->cpp_namespace = LZ_STR("at::native");
    return ns.len ? lzg_concat(x->arena, ns, LZ_STR("::native"), &m->cpp_namespace) : NULL;
}

static lz_err *add_key(lzg_entry *x, table *t, const lzg_yaml *keys, lz_str name, const lzg_yaml *v)
{
    lz_loc loc = lzg_yaml_at(keys, (size_t)(name.ptr - keys->text.ptr));
    lzg_backend_metadata m = { .key = lzg_dispatch_key_find(name) };
    lz_str cpp_name;
    if (m.key == LZG_KEY_NONE)
        return lz_err_at(LZ_ERR_MODEL, loc, "unknown dispatch key '%.*s'", LZ_FMT(name));
    t->keys++;
    if (x->ops->ignored[m.key])
        return NULL;
    if (!lzg_dispatch_key_allowed(m.key))
        return lz_err_at(LZ_ERR_MODEL, loc, "dispatch key %s is not allowed in an entry",
                         lzg_dispatch_key_name(m.key));
    LZ_TRY(kernel_of(x, v, &m));
    m.structured = x->f->structured && lzg_dispatch_key_structured(m.key);
    put_row(t, m);
    if (m.key == lzg_key_implicit) {
        LZ_TRY(lzg_cpp_base_name(x->arena, x->f->func, &cpp_name));
        t->redundant = t->redundant || lz_str_eq(v->text, cpp_name);
    }
    return NULL;
}

static lz_err *add_keys(lzg_entry *x, table *t, const lzg_yaml *keys, const lzg_yaml *v)
{
    if (keys->kind == LZG_YAML_STR && lz_str_is(keys->text, "__line__"))
        return NULL;
    if (keys->kind != LZG_YAML_STR || v->kind != LZG_YAML_STR)
        return lzg_entry_wrong(LZG_F_dispatch, keys->kind == LZG_YAML_STR ? v : keys,
                               "strings under string keys");
    lz_str rest = keys->text;
    for (bool more = true; more;)
        LZ_TRY(add_key(x, t, keys, lz_str_trim(lz_str_cut(&rest, LZ_STR(","), &more)), v));
    return NULL;
}

/* D5, D6: a table that says no more than its absence would. */
static lz_err *check_needed(const lzg_entry *x, const table *t, const lzg_yaml *v)
{
    const lzg_backend_metadata *implicit = find_row(t, lzg_key_implicit);
    if (t->keys == 1 && t->redundant)
        return lz_err_at(LZ_ERR_MODEL, v->loc, "this dispatch table is the default: leave it out");
    if (t->keys == 1 && t->n == 1 && implicit && !x->f->structured_delegate
        && !lzg_backend_metadata_symint(implicit))
        return lz_err_at(
            LZ_ERR_MODEL, v->loc,
            "the only kernel is CompositeImplicitAutograd: give it the operator's name, then leave "
            "the table out");
    return NULL;
}

static lz_err *read_table(lzg_entry *x, table *t, const lzg_yaml *v)
{
    if (v->kind != LZG_YAML_MAP)
        return lzg_entry_wrong(LZG_F_dispatch, v, "a mapping");
    if (x->f->manual_kernel_registration)
        return lz_err_at(LZ_ERR_MODEL, v->loc, "dispatch has no effect with manual_kernel_registration");
    for (size_t i = 0; i < v->len; i++)
        LZ_TRY(add_keys(x, t, v->items[2 * i], v->items[2 * i + 1]));
    return check_needed(x, t, v);
}

static bool has_tensor_argument(const lzg_schema *s)
{
    for (size_t i = 0; i < s->first[LZG_OUT]; i++)
        if (lzg_type_is_tensor_like(s->args[i].type))
            return true;
    return false;
}

static bool is_factory(const lzg_schema *s)
{
    lz_str name = s->name.printed_base;
    return lz_str_starts(name, LZ_STR("new_")) || lz_str_ends(name, LZ_STR("_like"))
           || (lzg_schema_has_tensor_options(s) && !has_tensor_argument(s));
}

/* D8; else the implicit composite named after the operator. One of the project's own operators is an
 * explicit composite: any of them may have a derivative. */
static lz_err *default_table(lzg_entry *x, table *t)
{
    const lzg_schema *s = x->f->func;
    if (x->f->structured || x->f->structured_delegate)
        return NULL;
    if (!x->ops->defines && is_factory(s))
        return lzg_entry_error(x, x->f, LZG_F_func,
                               "%.*s is a factory: it needs a dispatch table with CompositeExplicitAutograd",
                               LZ_FMT(s->name.printed_base));
    lzg_backend_metadata m = { .key = x->ops->defines ? lzg_key_explicit : lzg_key_implicit,
                               .cpp_namespace = LZ_STR("at::native") };
    LZ_TRY(lzg_cpp_base_name(x->arena, s, &m.kernel));
    put_row(t, m);
    return NULL;
}

/* D7 */
static lz_err *check_composites(const lzg_entry *x, const table *t)
{
    bool nested = find_row(t, lzg_key_implicit_nested), non_functional = find_row(t, lzg_key_non_functional);
    int n = nested + non_functional + (find_row(t, lzg_key_implicit) != NULL)
            + (find_row(t, lzg_key_explicit) != NULL);
    if (n <= 1 || (n == 2 && nested && !non_functional))
        return NULL;
    return lzg_entry_error(x, x->f, LZG_F_dispatch,
                           "more than one composite kernel: each covers what the other does");
}

/* T10; loops stand for the kernels of the keys they serve. */
static lz_err *add_ufunc(lzg_entry *x, table *t)
{
    lzg_function *f = x->f;
    if (f->nufunc == 0)
        return NULL;
    if (!f->structured || !lzg_schema_is_out_fn(f->func))
        return lzg_entry_error(x, f, LZG_F_ufunc_inner_loop,
                               "ufunc_inner_loop belongs to a structured out function");
    for (int i = 0; i < LZG_KEY_COUNT; i++) {
        lzg_dispatch_key key = (lzg_dispatch_key)i;
        lzg_backend_metadata m = { .key = key, .structured = true, .cpp_namespace = LZ_STR("at::native") };
        if (!lzg_dispatch_key_ufunc(key))
            continue;
        if (find_row(t, key))
            return lzg_entry_error(x, f, LZG_F_dispatch, "a ufunc takes no explicit kernel for %s",
                                   lzg_dispatch_key_name(key));
        LZ_TRY(lz_arena_printf(x->arena, &m.kernel, "ufunc_%.*s_%s", LZ_FMT(f->func->name.printed_base),
                               lzg_dispatch_key_name(key)));
        put_row(t, m);
    }
    return NULL;
}

/* D9, and what follows from the keys. */
static lz_err *finish(lzg_entry *x, const table *t)
{
    lzg_function *f = x->f;
    for (size_t i = 0; i < t->n && f->structured_delegate; i++)
        if (lzg_dispatch_key_structured(t->row[i].key))
            return lzg_entry_error(x, f, LZG_F_dispatch, "%s is delegated: it takes no kernel here",
                                   lzg_dispatch_key_name(t->row[i].key));
    f->dispatch = t->row;
    f->ndispatch = t->n;
    f->composite_implicit = find_row(t, lzg_key_implicit);
    f->composite_implicit_nested = find_row(t, lzg_key_implicit_nested);
    f->composite_explicit = find_row(t, lzg_key_explicit);
    f->composite_non_functional = find_row(t, lzg_key_non_functional);
    size_t implicit = (size_t)f->composite_implicit + (size_t)f->composite_implicit_nested;
    f->is_abstract = f->structured_delegate || implicit == 0 || t->n != implicit;
    return NULL;
}

static size_t room(const lzg_yaml *v)
{
    size_t n = 1 + 2; /* the default, and what ufunc loops add */
    for (size_t i = 0; v && v->kind == LZG_YAML_MAP && i < v->len; i++)
        n += 1 + lzg_count(v->items[2 * i]->text, ',');
    return n;
}

lz_err *lzg_entry_dispatch(lzg_entry *x)
{
    const lzg_yaml *v = x->field[LZG_F_dispatch];
    table t = { 0 };
    LZ_TRY(lz_arena_new(x->arena, &t.row, room(v)));
    LZ_TRY(v && v->kind != LZG_YAML_NULL ? read_table(x, &t, v) : default_table(x, &t));
    LZ_TRY(check_composites(x, &t));
    LZ_TRY(add_ufunc(x, &t));
    return finish(x, &t);
}

const lzg_backend_metadata *lzg_function_kernel(const lzg_function *f, lzg_dispatch_key key)
{
    for (size_t i = 0; i < f->ndispatch; i++)
        if (f->dispatch[i].key == key)
            return &f->dispatch[i];
    return NULL;
}
