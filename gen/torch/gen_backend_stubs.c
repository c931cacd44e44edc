#include "gen/torch/gen_backend_stubs.h"
#include "gen/text/utils.h"

void lzg_backend_init(lzg_backend *b)
{
    *b = (lzg_backend){ .key = LZG_KEY_NONE, .autograd_key = LZG_KEY_NONE };
}

void lzg_backend_deinit(lzg_backend *b)
{
    lz_map_deinit(&b->index.index);
    lz_map_deinit(&b->autograd_index.index);
    lz_map_deinit(&b->full_codegen.set);
    lz_map_deinit(&b->ir_gen.set);
    lz_arena_deinit(&b->arena);
    lzg_backend_init(b);
}

/* ---- fields ---- */

#define FIELDS(X)                                                                                            \
    X(backend)                                                                                               \
    X(class_name)                                                                                            \
    X(cpp_namespace)                                                                                         \
    X(supported)                                                                                             \
    X(autograd) X(full_codegen) X(non_native) X(ir_gen) X(symint) X(use_out_as_primary) X(device_guard)

enum {
#define X(name) F_##name,
    FIELDS(X)
#undef X
        F_COUNT
};

static const char *const field_names[F_COUNT] = {
#define X(name) #name,
    FIELDS(X)
#undef X
};

typedef struct reader {
    lzg_backend *b;
    const lzg_ops *ops;
    lzg_diag *d;
    const lzg_yaml *doc;
    const lzg_yaml *field[F_COUNT]; /* NULL: absent */
    lz_map symint;                  /* texts of that list */
} reader;

static lz_err *take(reader *r, lz_err *e)
{
    return lzg_diag_take(r->d, e, r->doc->loc, LZ_STR(""));
}

static lz_err *sort_field(reader *r, const lzg_yaml *key, const lzg_yaml *value)
{
    for (size_t i = 0; key->kind == LZG_YAML_STR && i < F_COUNT; i++)
        if (lz_str_is(key->text, field_names[i])) {
            r->field[i] = value;
            return NULL;
        }
    return lz_err_at(LZ_ERR_MODEL, key->loc, "a backend has no field '%.*s'", LZ_FMT(key->text));
}

static lz_err *sort_fields(reader *r)
{
    if (r->doc->kind != LZG_YAML_MAP)
        return take(r, lz_err_at(LZ_ERR_MODEL, r->doc->loc, "a backend must be a mapping, not %s",
                                 lzg_yaml_kind_name(r->doc->kind)));
    for (size_t i = 0; i < r->doc->len; i++)
        LZ_TRY(take(r, sort_field(r, r->doc->items[2 * i], r->doc->items[2 * i + 1])));
    return NULL;
}

static bool given(const reader *r, size_t field)
{
    return r->field[field] && r->field[field]->kind != LZG_YAML_NULL;
}

static lz_err *required(const reader *r, size_t field)
{
    const lzg_yaml *v = r->field[field];
    if (given(r, field))
        return NULL;
    return lz_err_at(LZ_ERR_MODEL, v ? v->loc : r->doc->loc, "a backend needs '%s'", field_names[field]);
}

static lz_err *text_of(const reader *r, size_t field, lz_str *out)
{
    const lzg_yaml *v = r->field[field];
    if (v && v->kind >= LZG_YAML_LIST)
        return lz_err_at(LZ_ERR_MODEL, v->loc, "'%s' must be a string, not %s", field_names[field],
                         lzg_yaml_kind_name(v->kind));
    *out = v ? v->text : LZ_STR("");
    return NULL;
}

static lz_err *flag_of(const reader *r, size_t field, bool *out)
{
    const lzg_yaml *v = r->field[field];
    if (v && v->kind != LZG_YAML_BOOL)
        return lz_err_at(LZ_ERR_MODEL, v->loc, "'%s' must be a boolean, not %s", field_names[field],
                         lzg_yaml_kind_name(v->kind));
    *out = v && v->truth;
    return NULL;
}

/* Two lists may be left blank. */
static lz_err *list_of(const reader *r, size_t field, const lzg_yaml **out)
{
    const lzg_yaml *v = r->field[field];
    bool blank = v && v->kind == LZG_YAML_NULL && (field == F_supported || field == F_symint);
    *out = NULL;
    if (!v || blank)
        return NULL;
    if (v->kind != LZG_YAML_LIST)
        return lz_err_at(LZ_ERR_MODEL, v->loc, "'%s' must be a list, not %s", field_names[field],
                         lzg_yaml_kind_name(v->kind));
    *out = v;
    return NULL;
}

static lz_err *read_symint(reader *r, const lzg_yaml *list)
{
    for (size_t i = 0; list && i < list->len; i++) {
        const lzg_yaml *v = list->items[i];
        if (v->kind >= LZG_YAML_LIST)
            return lz_err_at(LZ_ERR_MODEL, v->loc, "'symint' must hold operator names, not %s",
                             lzg_yaml_kind_name(v->kind));
        LZ_TRY(lz_map_put(&r->symint, v->text, NULL));
    }
    return NULL;
}

/* ---- operators ---- */

/* The dispatcher's name of the operator, which is the name of external kernels. */
static lz_err *kernel_name(reader *r, const lzg_function *f, bool symint, lz_str *out)
{
    return lz_arena_printf(&r->b->arena, out, "%.*s%s%s", LZ_FMT(f->func->name.printed_base),
                           lzg_schema_is_out_fn(f->func) ? "_out" : "", symint ? "_symint" : "");
}

static lz_err *index_op(reader *r, lzg_backend_index *index, const lzg_yaml *item)
{
    if (item->kind != LZG_YAML_STR)
        return lz_err_at(LZ_ERR_MODEL, item->loc, "an operator's name must be a string, not %s",
                         lzg_yaml_kind_name(item->kind));
    const lzg_function *f = lzg_ops_find(r->ops, item->text);
    lzg_backend_metadata *m;
    if (!f)
        return lz_err_at(LZ_ERR_MODEL, item->loc, "there is no operator '%.*s'", LZ_FMT(item->text));
    bool symint = lz_map_find(&r->symint, item->text);
    LZ_TRY(lz_arena_new(&r->b->arena, &m, 1));
    *m = (lzg_backend_metadata){ .key = index->key, .cpp_namespace = r->b->cpp_namespace };
    LZ_TRY(kernel_name(r, f, symint, &m->kernel));
    return lz_map_put(&index->index, f->func->name.text, m);
}

static lz_err *index_list(reader *r, lzg_backend_index *index, const lzg_yaml *list)
{
    for (size_t i = 0; list && i < list->len; i++)
        LZ_TRY(take(r, index_op(r, index, list->items[i])));
    return NULL;
}

static lz_err *find_key(reader *r, const char *prefix, lzg_dispatch_key *out)
{
    lz_str name;
    const lzg_yaml *at = r->field[F_backend];
    LZ_TRY(lz_arena_printf(&r->b->arena, &name, "%s%.*s", prefix, LZ_FMT(r->b->name)));
    *out = at->kind == LZG_YAML_STR ? lzg_dispatch_key_find(name) : LZG_KEY_NONE;
    if (*out == LZG_KEY_NONE)
        return lz_err_at(LZ_ERR_MODEL, at->loc, "'%.*s' is no dispatch key", LZ_FMT(name));
    if (lzg_ops_index(r->ops, *out))
        return lz_err_at(LZ_ERR_MODEL, at->loc, "the operators have kernels for '%.*s' already",
                         LZ_FMT(name));
    return NULL;
}

/* One group's operators are all the backend's or all its autograd's. */
static const lzg_function *also_supported(const reader *r, lz_str name)
{
    const lz_map *supported = &r->b->index.index;
    const lzg_group *g = lz_map_get(&r->ops->group_of, name);
    if (!g)
        return lz_map_find(supported, name) ? lzg_ops_find(r->ops, name) : NULL;
    const lzg_function *const members[] = { g->functional, g->inplace, g->mutable, g->out };
    for (size_t i = 0; i < sizeof members / sizeof *members; i++)
        if (members[i] && lz_map_find(supported, members[i]->func->name.text))
            return members[i];
    return NULL;
}

static lz_err *check_mixing(reader *r, const lzg_yaml *autograd)
{
    for (size_t i = 0; autograd && i < autograd->len; i++) {
        const lzg_yaml *item = autograd->items[i];
        const lzg_function *f = item->kind == LZG_YAML_STR ? also_supported(r, item->text) : NULL;
        if (f)
            LZ_TRY(take(
                r, lz_err_at(LZ_ERR_MODEL, item->loc,
                             "'%.*s' is listed under 'autograd', but '%.*s' of its group under 'supported'",
                             LZ_FMT(item->text), LZ_FMT(f->func->name.text))));
    }
    return NULL;
}

/* ---- the file ---- */

static lz_err *read_names(reader *r)
{
    static const size_t needed[] = { F_backend, F_cpp_namespace };
    lz_str *const texts[] = { &r->b->name, &r->b->cpp_namespace };
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++) {
        lz_err *e = required(r, needed[i]);
        LZ_TRY(take(r, e ? e : text_of(r, needed[i], texts[i])));
    }
    return NULL;
}

static lz_err *read_class_name(reader *r)
{
    if (given(r, F_class_name))
        return take(r, text_of(r, F_class_name, &r->b->class_name));
    return lz_arena_printf(&r->b->arena, &r->b->class_name, "%sNativeFunctions",
                           lzg_dispatch_key_name(r->b->key));
}

static lz_err *check_namespace(reader *r)
{
    const lzg_yaml *v = r->field[F_cpp_namespace];
    if (v->kind != LZG_YAML_STR)
        return lz_err_at(LZ_ERR_MODEL, v->loc, "'cpp_namespace' must be a string, not %s",
                         lzg_yaml_kind_name(v->kind));
    return lzg_namespace_check(v->text, 2, v->loc);
}

typedef struct lists {
    const lzg_yaml *supported, *autograd, *full_codegen, *symint;
} lists;

static lz_err *read_lists(reader *r, lists *l)
{
    LZ_TRY(take(r, list_of(r, F_supported, &l->supported)));
    LZ_TRY(take(r, list_of(r, F_autograd, &l->autograd)));
    LZ_TRY(take(r, list_of(r, F_full_codegen, &l->full_codegen)));
    LZ_TRY(take(r, list_of(r, F_symint, &l->symint)));
    return take(r, read_symint(r, l->symint));
}

static bool any(const lzg_yaml *list)
{
    return list && list->len;
}

static lz_err *read_index(reader *r, const char *prefix, const lzg_backend_index *flags,
                          lzg_dispatch_key *key, lzg_backend_index *index)
{
    *index = *flags;
    LZ_TRY(take(r, find_key(r, prefix, key)));
    index->key = *key;
    return NULL;
}

static lz_err *read_operators(reader *r, const lists *l, const lzg_backend_index *flags)
{
    lzg_backend *b = r->b;
    if (any(l->supported) || any(l->full_codegen)) {
        LZ_TRY(take(r, check_namespace(r)));
        LZ_TRY(read_index(r, "", flags, &b->key, &b->index));
        LZ_TRY(index_list(r, &b->index, l->supported));
        LZ_TRY(index_list(r, &b->index, l->full_codegen));
        LZ_TRY(read_class_name(r));
    }
    if (any(l->autograd)) {
        LZ_TRY(read_index(r, "Autograd", flags, &b->autograd_key, &b->autograd_index));
        LZ_TRY(index_list(r, &b->autograd_index, l->autograd));
    }
    return check_mixing(r, l->autograd);
}

static lz_err *read_all(reader *r)
{
    lists l = { 0 };
    lzg_backend_index flags = { .external = true };
    LZ_TRY(sort_fields(r));
    if (r->doc->kind != LZG_YAML_MAP)
        return NULL;
    LZ_TRY(read_names(r));
    LZ_TRY(take(r, flag_of(r, F_use_out_as_primary, &flags.use_out_as_primary)));
    LZ_TRY(take(r, flag_of(r, F_device_guard, &flags.device_guard)));
    LZ_TRY(read_lists(r, &l));
    return given(r, F_backend) && given(r, F_cpp_namespace) ? read_operators(r, &l, &flags) : NULL;
}

lz_err *lzg_backend_read(lzg_backend *b, const lzg_ops *ops, const lzg_yaml *doc, lzg_diag *d)
{
    reader r = { .b = b, .ops = ops, .d = d, .doc = doc };
    lz_err *e = read_all(&r);
    lz_map_deinit(&r.symint);
    return e;
}

/* ---- lazy backends ---- */

bool lzg_op_list_has(const lzg_op_list *l, lz_str name)
{
    return lz_map_get(&l->set, name) != NULL;
}

static lz_err *fill_set(lzg_op_list *l)
{
    for (size_t i = 0; i < l->n; i++)
        LZ_TRY(lz_map_put(&l->set, l->names[i].text, (void *)&l->names[i]));
    return NULL;
}

static lz_err *read_op_list(reader *r, size_t field, lzg_op_list *out)
{
    const lzg_yaml *list;
    lzg_op_name *names;
    LZ_TRY(take(r, list_of(r, field, &list)));
    if (!list)
        return NULL;
    LZ_TRY(lz_arena_new(&r->b->arena, &names, list->len));
    for (size_t i = 0; i < list->len; i++) {
        const lzg_yaml *item = list->items[i];
        lz_err *e = item->kind == LZG_YAML_STR
                        ? lzg_op_name_parse(&r->b->arena, item->text, item->loc, &names[out->n])
                        : lz_err_at(LZ_ERR_MODEL, item->loc, "an operator's name must be a string, not %s",
                                    lzg_yaml_kind_name(item->kind));
        out->n += !e;
        LZ_TRY(take(r, e));
    }
    out->names = names;
    return fill_set(out);
}

static lz_err *read_properties(lz_arena *a, const lzg_yaml *list, lzg_non_native *out)
{
    lz_str *names;
    if (list->kind != LZG_YAML_LIST)
        return lz_err_at(LZ_ERR_MODEL, list->loc, "'properties' must be a list, not %s",
                         lzg_yaml_kind_name(list->kind));
    LZ_TRY(lz_arena_new(a, &names, list->len));
    for (size_t i = 0; i < list->len; i++) {
        if (list->items[i]->kind != LZG_YAML_STR)
            return lz_err_at(LZ_ERR_MODEL, list->items[i]->loc, "a property must be a string, not %s",
                             lzg_yaml_kind_name(list->items[i]->kind));
        names[i] = list->items[i]->text;
    }
    out->properties = names;
    out->nproperties = list->len;
    return NULL;
}

static lz_err *read_non_native(lz_arena *a, const lzg_yaml *item, lzg_non_native *out)
{
    const lzg_yaml *func = lzg_yaml_get(item, LZ_STR("func")), *kind = lzg_yaml_get(item, LZ_STR("opkind"));
    const lzg_yaml *properties = lzg_yaml_get(item, LZ_STR("properties"));
    if (item->kind != LZG_YAML_MAP || !func || func->kind != LZG_YAML_STR)
        return lz_err_at(LZ_ERR_MODEL, item->loc, "an entry of 'non_native' must be a mapping with a 'func'");
    if (kind && kind->kind >= LZG_YAML_LIST)
        return lz_err_at(LZ_ERR_MODEL, kind->loc, "'opkind' must be a string, not %s",
                         lzg_yaml_kind_name(kind->kind));
    *out = (lzg_non_native){ .loc = item->loc };
    if (kind && kind->kind != LZG_YAML_NULL)
        out->opkind = kind->text;
    if (properties)
        LZ_TRY(read_properties(a, properties, out));
    return lzg_schema_parse(a, func->text, func->loc, &out->func);
}

static lz_err *read_non_natives(reader *r)
{
    const lzg_yaml *list;
    lzg_non_native *entries;
    LZ_TRY(take(r, list_of(r, F_non_native, &list)));
    if (!list)
        return NULL;
    LZ_TRY(lz_arena_new(&r->b->arena, &entries, list->len));
    for (size_t i = 0; i < list->len; i++) {
        lz_err *e = read_non_native(&r->b->arena, list->items[i], &entries[r->b->nnon_native]);
        r->b->nnon_native += !e;
        LZ_TRY(take(r, e));
    }
    r->b->non_native = entries;
    return NULL;
}

lz_err *lzg_backend_read_lazy(lzg_backend *b, const lzg_yaml *doc, lzg_diag *d)
{
    reader r = { .b = b, .d = d, .doc = doc };
    if (doc->kind != LZG_YAML_MAP)
        return sort_fields(&r);
    for (size_t i = 0; i < F_COUNT; i++)
        r.field[i] = lzg_yaml_get(doc, lz_str_of(field_names[i]));
    LZ_TRY(read_op_list(&r, F_full_codegen, &b->full_codegen));
    LZ_TRY(read_op_list(&r, F_ir_gen, &b->ir_gen));
    return read_non_natives(&r);
}

lz_err *lzg_backend_load(lzg_backend *b, const lzg_ops *ops, const char *path, bool lazy, lzg_diag *d)
{
    const lzg_yaml *doc;
    lz_err *e = lzg_yaml_load(&b->arena, path, &doc);
    if (e)
        return lz_err_loc(e).line ? lzg_diag_take(d, e, (lz_loc){ 0 }, LZ_STR("")) : e;
    LZ_TRY(lzg_backend_read(b, ops, doc, d));
    return lazy && doc->kind == LZG_YAML_MAP ? lzg_backend_read_lazy(b, doc, d) : NULL;
}
