/* All operators of a run: loading, indices by key, checks. */
#include "base/mem.h"
#include "gen/model/model_entry.h"
#include "gen/text/lists.h"
#include <assert.h>

/* ---- tags ---- */

static lz_err *add_tag(lzg_ops *ops, const lzg_yaml *e)
{
    if (e->kind != LZG_YAML_MAP)
        return lz_err_at(LZ_ERR_MODEL, e->loc, "a tag is a mapping, not %s", lzg_yaml_kind_name(e->kind));
    const lzg_yaml *tag = lzg_yaml_get(e, LZ_STR("tag")), *desc = lzg_yaml_get(e, LZ_STR("desc"));
    if (!tag || tag->kind >= LZG_YAML_LIST)
        return lz_err_at(LZ_ERR_MODEL, tag ? tag->loc : e->loc, "a tag needs a name under 'tag'");
    if (!desc || (desc->kind == LZG_YAML_STR && desc->text.len == 0))
        return lz_err_at(LZ_ERR_MODEL, desc ? desc->loc : e->loc, "tag '%.*s' needs a description",
                         LZ_FMT(tag->text));
    return lz_map_put(&ops->tags, tag->text, (void *)tag);
}

lz_err *lzg_ops_add_tags(lzg_ops *ops, const lzg_yaml *tags, lzg_diag *d)
{
    if (tags->kind != LZG_YAML_LIST)
        return lzg_diag_take(d,
                             lz_err_at(LZ_ERR_MODEL, tags->loc, "a tags file is a list, not %s",
                                       lzg_yaml_kind_name(tags->kind)),
                             tags->loc, LZ_STR(""));
    for (size_t i = 0; i < tags->len; i++)
        LZ_TRY(lzg_diag_take(d, add_tag(ops, tags->items[i]), tags->items[i]->loc, LZ_STR("")));
    return NULL;
}

/* ---- functions and indices ---- */

static lz_err *push_function(lzg_ops *ops, const lzg_function *f)
{
    if (ops->nfunctions == ops->cfunctions) {
        size_t room = ops->cfunctions ? ops->cfunctions * 2 : 64;
        const lzg_function **more = lz_mem_resize(ops->functions, room * sizeof *more);
        if (!more)
            return lz_err_oom();
        ops->functions = more;
        ops->cfunctions = room;
    }
    assert(lzg_ops_find(ops, f->func->name.text) == f); /* the list and the map have the same functions */
    ops->functions[ops->nfunctions++] = f;
    return NULL;
}

/* The place of the key's index, or where it would be. */
static size_t index_place(const lzg_ops *ops, lzg_dispatch_key key)
{
    size_t i = 0;
    while (i < ops->nindices && ops->indices[i].key < key)
        i++;
    return i;
}

const lzg_backend_index *lzg_ops_index(const lzg_ops *ops, lzg_dispatch_key key)
{
    size_t i = index_place(ops, key);
    return i < ops->nindices && ops->indices[i].key == key ? &ops->indices[i] : NULL;
}

static lz_err *grow_indices(lzg_ops *ops, lzg_dispatch_key key, lzg_backend_index **out)
{
    size_t i = index_place(ops, key);
    if (i == ops->nindices || ops->indices[i].key != key) {
        if (!ops->indices)
            LZ_TRY(lz_arena_new(&ops->arena, &ops->indices, LZG_KEY_COUNT));
        memmove(&ops->indices[i + 1], &ops->indices[i], (ops->nindices - i) * sizeof *ops->indices);
        ops->indices[i] = (lzg_backend_index){ .key = key,
                                               .use_out_as_primary = true,
                                               .device_guard = lzg_dispatch_key_device_guard(key) };
        ops->key_order[ops->nindices++] = key;
        assert(ops->nindices <= LZG_KEY_COUNT && (i == 0 || ops->indices[i - 1].key < key)); /* ascending */
    }
    *out = &ops->indices[i];
    return NULL;
}

/* D10 */
static lz_err *index_function(lzg_ops *ops, const lzg_function *f)
{
    for (size_t i = 0; i < f->ndispatch; i++) {
        lzg_backend_index *index;
        LZ_TRY(grow_indices(ops, f->dispatch[i].key, &index));
        if (lz_map_find(&index->index, f->func->name.text))
            return lz_err_at(LZ_ERR_MODEL, f->func_loc, "%.*s has a kernel for %s already",
                             LZ_FMT(f->func->name.text), lzg_dispatch_key_name(f->dispatch[i].key));
        LZ_TRY(lz_map_put(&index->index, f->func->name.text, (void *)&f->dispatch[i]));
    }
    return NULL;
}

lz_err *lzg_ops_add_function(lzg_ops *ops, lzg_function *f)
{
    LZ_TRY(index_function(ops, f));
    LZ_TRY(lz_map_put(&ops->by_name, f->func->name.text, f));
    return push_function(ops, f);
}

const lzg_function *lzg_ops_find(const lzg_ops *ops, lz_str name)
{
    return lz_map_get(&ops->by_name, name);
}

/* ---- entries ---- */

static lz_err *check_unique(const lzg_ops *ops, const lzg_function *f)
{
    const lzg_function *other = lzg_ops_find(ops, f->func->name.text);
    const lzg_function *listed = f->form_of ? f->form_of : other ? other->form_of : NULL;
    if (!other || !listed)
        return NULL;
    return lz_err_at(LZ_ERR_MODEL, f->func_loc,
                     "%.*s has an entry of its own and is one of the variants of %.*s",
                     LZ_FMT(f->func->name.text), LZ_FMT(listed->func->name.text));
}

static lz_err *add_unique(lzg_ops *ops, lzg_function *f)
{
    LZ_TRY(check_unique(ops, f));
    return lzg_ops_add_function(ops, f);
}

/* The forms that an entry lists come behind it. */
static lz_err *add_entry(lzg_ops *ops, const lzg_yaml *entry, bool own_fields)
{
    lzg_function *f, *form;
    LZ_TRY(lzg_entry_read(ops, entry, own_fields, &f));
    LZ_TRY(add_unique(ops, f));
    for (size_t i = 0; i < f->nforms; i++) {
        LZ_TRY(lzg_form_make(ops, f, &f->forms[i], &form));
        LZ_TRY(add_unique(ops, form));
    }
    return NULL;
}

static lz_str context_of(const lzg_yaml *entry)
{
    const lzg_yaml *func = entry->kind == LZG_YAML_MAP ? lzg_yaml_get(entry, LZ_STR("func")) : NULL;
    return func ? func->text : LZ_STR("");
}

/* Without a definition anywhere it is a file in torchgen's format, and means what it means there. */
static bool has_definitions(const lzg_yaml *entries)
{
    static const lz_str fields[] = {
        { "formula", 7 }, { "inner", 5 }, { "shape", 5 }, { "same_as", 7 }, { "each", 4 }
    };
    for (size_t i = 0; i < entries->len; i++)
        for (size_t k = 0; entries->items[i]->kind == LZG_YAML_MAP && k < sizeof fields / sizeof *fields; k++)
            if (lzg_yaml_get(entries->items[i], fields[k]))
                return true;
    return false;
}

lz_err *lzg_ops_add(lzg_ops *ops, const lzg_yaml *entries, bool own_fields, lzg_diag *d)
{
    if (entries->kind != LZG_YAML_LIST) {
        ops->broken = true;
        return lzg_diag_take(d,
                             lz_err_at(LZ_ERR_MODEL, entries->loc, "an operator file is a list, not %s",
                                       lzg_yaml_kind_name(entries->kind)),
                             entries->loc, LZ_STR(""));
    }
    ops->defines = own_fields && has_definitions(entries);
    for (size_t i = 0; i < entries->len; i++) {
        const lzg_yaml *entry = entries->items[i];
        lz_err *e = add_entry(ops, entry, own_fields);
        ops->broken = ops->broken || e;
        LZ_TRY(lzg_diag_take(d, e, entry->loc, context_of(entry)));
    }
    ops->nexplicit = ops->nfunctions;
    return NULL;
}

lz_err *lzg_ops_report(lzg_ops *ops, lzg_diag *d, lz_err *e, const lzg_function *about)
{
    if (e && ops->broken && lz_err_code(e) != LZ_ERR_MEMORY) {
        lz_err_free(e);
        return NULL;
    }
    return lzg_diag_take(d, e, about->func_loc, about->written);
}

/* ---- rules across entries ---- */

/* X1 */
static lz_err *check_delegate(const lzg_ops *ops, const lzg_function *f)
{
    if (!f->structured_delegate)
        return NULL;
    lz_str name = f->structured_delegate->text;
    const lzg_function *target = lzg_ops_find(ops, name);
    if (!target)
        return lz_err_at(LZ_ERR_MODEL, f->func_loc, "structured_delegate %.*s does not exist", LZ_FMT(name));
    if (!target->structured)
        return lz_err_at(LZ_ERR_MODEL, f->func_loc, "structured_delegate %.*s is not structured",
                         LZ_FMT(name));
    return NULL;
}

static bool is_python_keyword(lz_str s)
{
    static const lz_str words[] = {
#define W(word) { word, sizeof word - 1 }
        W("False"),  W("None"),   W("True"),    W("and"),      W("as"),       W("assert"), W("async"),
        W("await"),  W("break"),  W("class"),   W("continue"), W("def"),      W("del"),    W("elif"),
        W("else"),   W("except"), W("finally"), W("for"),      W("from"),     W("global"), W("if"),
        W("import"), W("in"),     W("is"),      W("lambda"),   W("nonlocal"), W("not"),    W("or"),
        W("pass"),   W("raise"),  W("return"),  W("try"),      W("while"),    W("with"),   W("yield"),
#undef W
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (words[i].len == s.len && words[i].ptr[0] == s.ptr[0] && lz_str_eq(words[i], s))
            return true;
    return false;
}

/* Three operators are older than the rule. */
static bool may_say_from(lz_str op)
{
    return lz_str_is(op, "_has_compatible_shallow_copy_type") || lz_str_is(op, "random_.from")
           || lz_str_is(op, "uniform_");
}

/* X2 */
static lz_err *check_keywords(const lzg_function *f)
{
    for (size_t i = 0; i < f->func->nargs; i++) {
        lz_str name = f->func->args[i].name;
        if (is_python_keyword(name) && !(lz_str_is(name, "from") && may_say_from(f->func->name.text)))
            return lz_err_at(LZ_ERR_MODEL, f->func_loc, "argument '%.*s' is a Python keyword", LZ_FMT(name));
    }
    return NULL;
}

/* X3. bases: printed base names of all operators. */
static lz_err *check_inplace_view(lzg_ops *ops, const lzg_function *f, const lz_map *bases)
{
    const lzg_op_name *name = &f->func->name;
    if (!lzg_function_has_tag(f, "inplace_view") || lz_str_is(name->text, "resize_")
        || lz_str_is(name->text, "resize_as_") || lz_str_is(name->printed_base, "set_"))
        return NULL;
    if (!name->inplace)
        return lz_err_at(LZ_ERR_MODEL, f->func_loc, "inplace_view on a name that is not in place");
    lzg_op_name base = { .base = name->base, .dunder = name->dunder };
    LZ_TRY(lzg_op_name_finish(&ops->arena, &base));
    const lzg_function *other = lz_map_get(bases, base.text);
    if (!other)
        return lz_err_at(LZ_ERR_MODEL, f->func_loc, "inplace_view without an operator %.*s",
                         LZ_FMT(base.text));
    return NULL;
}

static lz_err *check_all(lzg_ops *ops, const lz_map *bases, lzg_diag *d)
{
    for (size_t i = 0; i < ops->nexplicit; i++) {
        const lzg_function *f = ops->functions[i];
        LZ_TRY(lzg_diag_take(d, check_keywords(f), f->func_loc, f->written));
        LZ_TRY(lzg_ops_report(ops, d, check_delegate(ops, f), f));
        LZ_TRY(lzg_ops_report(ops, d, check_inplace_view(ops, f, bases), f));
        LZ_TRY(lzg_ops_report(ops, d, lzg_facts_check(ops, f), f));
    }
    return NULL;
}

lz_err *lzg_ops_check(lzg_ops *ops, lzg_diag *d)
{
    lz_map bases = { 0 };
    lz_err *e = NULL;
    for (size_t i = 0; !e && i < ops->nexplicit; i++) {
        const lzg_op_name *name = &ops->functions[i]->func->name;
        if (!name->inplace && !name->functional_overload)
            e = lz_map_put(&bases, name->printed_base, (void *)ops->functions[i]);
    }
    if (!e)
        e = check_all(ops, &bases, d);
    lz_map_deinit(&bases);
    return e;
}

/* ---- loading ---- */

/* Memory and I/O errors stop a run; what is wrong in a file is a finding. */
static lz_err *take(lzg_diag *d, lz_err *e, const char *path)
{
    lz_code code = lz_err_code(e);
    if (code == LZ_ERR_IO || code == LZ_ERR_NOT_FOUND)
        return e;
    return lzg_diag_take(d, e, (lz_loc){ .file = path }, LZ_STR(""));
}

lz_err *lzg_ops_begin(lzg_ops *ops, const char *tags, const char *lists, lzg_diag *d)
{
    const lzg_yaml *tree = NULL;
    *ops = (lzg_ops){ 0 };
    LZ_TRY(lzg_lists_load(&ops->arena, lists, &ops->lists));
    if (!tags)
        return NULL;
    LZ_TRY(take(d, lzg_yaml_load(&ops->arena, tags, &tree), tags));
    return tree ? lzg_ops_add_tags(ops, tree, d) : NULL;
}

static lz_err *set_ignored(lzg_ops *ops, const char *const *names)
{
    for (; names && *names; names++) {
        lzg_dispatch_key key = lzg_dispatch_key_find(lz_str_of(*names));
        if (key == LZG_KEY_NONE)
            return lz_errf(LZ_ERR_ARG, "unknown dispatch key '%s'", *names);
        ops->ignored[key] = true;
    }
    return NULL;
}

static lz_err *load_file(lzg_ops *ops, const char *path, bool own_fields, lzg_diag *d)
{
    const lzg_yaml *tree = NULL;
    LZ_TRY(take(d, lzg_yaml_load(&ops->arena, path, &tree), path));
    ops->broken = ops->broken || !tree;
    return tree ? lzg_ops_add(ops, tree, own_fields, d) : NULL;
}

lz_err *lzg_ops_load(lzg_ops *ops, const lzg_ops_options *o, lzg_diag *d)
{
    LZ_TRY(lzg_ops_begin(ops, o->tags, o->lists, d));
    LZ_TRY(set_ignored(ops, o->ignore_keys));
    for (const char *const *file = o->files; *file; file++)
        LZ_TRY(load_file(ops, *file, o->own_fields, d));
    LZ_TRY(lzg_ops_check(ops, d));
    LZ_TRY(lzg_ops_generate(ops, d));
    LZ_TRY(lzg_ops_group(ops, d));
    return lzg_ops_group_views(ops, d);
}

void lzg_ops_deinit(lzg_ops *ops)
{
    for (size_t i = 0; i < ops->nindices; i++)
        lz_map_deinit(&ops->indices[i].index);
    lz_map_deinit(&ops->tags);
    lz_map_deinit(&ops->by_name);
    lz_map_deinit(&ops->group_of);
    lz_map_deinit(&ops->view_group_of);
    lz_mem_free(ops->functions);
    lz_arena_deinit(&ops->arena);
    *ops = (lzg_ops){ 0 };
}
