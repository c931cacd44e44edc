/* Reads one operator's entry from YAML. */
#include "gen/model/model_entry.h"
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

static const lz_str field_names[LZG_FIELD_COUNT] = {
#define X(name) { #name, sizeof #name - 1 },
    LZG_FIELDS(X) LZG_OWN_FIELDS(X)
#undef X
};

const char *lzg_field_name(lzg_field field)
{
    return field_names[field].ptr;
}

lz_err *lzg_entry_wrong(lzg_field field, const lzg_yaml *value, const char *want)
{
    return lz_err_at(LZ_ERR_MODEL, value->loc, "%s must be %s, not %s", field_names[field].ptr, want,
                     lzg_yaml_kind_name(value->kind));
}

lz_err *lzg_entry_error(const lzg_entry *x, const lzg_function *f, lzg_field field, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    const lzg_yaml *value = x ? x->field[field] : NULL;
    lz_err *e = lz_err_vat(LZ_ERR_MODEL, value ? value->loc : f->func_loc, fmt, ap);
    va_end(ap);
    return e;
}

static int by_bytes(const void *a, const void *b)
{
    return lz_str_cmp(*(const lz_str *)a, *(const lz_str *)b);
}

void lzg_sort_strings(lz_str *strings, size_t *n)
{
    size_t kept = 0;
    if (*n)
        qsort(strings, *n, sizeof *strings, by_bytes);
    for (size_t i = 0; i < *n; i++)
        if (i == 0 || !lz_str_eq(strings[i], strings[kept - 1]))
            strings[kept++] = strings[i];
    *n = kept;
}

lz_err *lzg_cpp_base_name(lz_arena *a, const lzg_schema *s, lz_str *out)
{
    *out = s->name.printed_base;
    return lzg_schema_is_out_fn(s) ? lzg_concat(a, *out, LZ_STR("_out"), out) : NULL;
}

lz_err *lzg_split_namespace(const lzg_yaml *value, size_t levels, lz_str *ns, lz_str *name)
{
    lz_str colons = LZ_STR("::"), rest = value->text;
    size_t n = 0;
    *name = rest;
    for (bool more = lz_str_find_char(rest, ':') != SIZE_MAX; more; n += more)
        *name = lz_str_cut(&rest, colons, &more);
    if (n > levels)
        return lz_err_at(LZ_ERR_MODEL, value->loc, "more than %zu level%s of namespace in '%.*s'", levels,
                         levels == 1 ? "" : "s", LZ_FMT(value->text));
    *ns = lz_str_sub(value->text, 0, n ? value->text.len - name->len - colons.len : 0);
    return NULL;
}

/* ---- readers of single fields ---- */

static lz_err *read_func(lzg_entry *x, const lzg_yaml *v)
{
    lzg_function *f = x->f;
    lz_str schema;
    if (v->kind != LZG_YAML_STR)
        return lzg_entry_wrong(LZG_F_func, v, "a string");
    LZ_TRY(lzg_split_namespace(v, 1, &f->ns, &schema));
    if (f->ns.len == 0)
        f->ns = LZ_STR("aten");
    f->written = v->text;
    f->func_loc = lzg_yaml_at(v, v->text.len - schema.len);
    return lzg_schema_parse(x->arena, schema, f->func_loc, &f->func);
}

/* Of several arguments of one name, any may have it. */
static bool has_default(const lzg_schema *s, lz_str name)
{
    for (size_t i = 0; i < s->nargs; i++)
        if (s->args[i].deflt.ptr && lz_str_eq(s->args[i].name, name))
            return true;
    return false;
}

static lz_err *read_no_defaults(lzg_entry *x, const lzg_yaml *v)
{
    lz_str *names;
    if (v->kind != LZG_YAML_LIST)
        return lzg_entry_wrong(LZG_F_cpp_no_default_args, v, "a list");
    LZ_TRY(lz_arena_new(x->arena, &names, v->len));
    for (size_t i = 0; i < v->len; i++) {
        names[i] = v->items[i]->text;
        if (v->items[i]->kind != LZG_YAML_STR || !has_default(x->f->func, names[i]))
            return lz_err_at(LZ_ERR_MODEL, v->items[i]->loc, "'%.*s' is no argument with a default",
                             LZ_FMT(names[i]));
    }
    x->f->ncpp_no_default_args = v->len;
    lzg_sort_strings(names, &x->f->ncpp_no_default_args);
    x->f->cpp_no_default_args = names;
    return NULL;
}

static lz_err *read_device_check(lzg_entry *x, const lzg_yaml *v)
{
    if (v->kind == LZG_YAML_NULL)
        return NULL;
    if (v->kind != LZG_YAML_STR)
        return lzg_entry_wrong(LZG_F_device_check, v, "a string");
    x->f->device_check = lz_str_is(v->text, "ExactSame");
    if (!x->f->device_check && !lz_str_is(v->text, "NoCheck"))
        return lz_err_at(LZ_ERR_MODEL, v->loc, "device_check is NoCheck or ExactSame, not '%.*s'",
                         LZ_FMT(v->text));
    return NULL;
}

static lz_err *no_namespace(lzg_field field, const lzg_yaml *v)
{
    if (lz_str_find(v->text, LZ_STR("::")) != SIZE_MAX)
        return lz_err_at(LZ_ERR_MODEL, v->loc, "%s takes no namespace: it is the operator's own",
                         field_names[field].ptr);
    return NULL;
}

static lz_err *read_delegate(lzg_entry *x, const lzg_yaml *v)
{
    lzg_op_name *name;
    if (v->kind == LZG_YAML_NULL)
        return NULL;
    if (v->kind != LZG_YAML_STR)
        return lzg_entry_wrong(LZG_F_structured_delegate, v, "a string");
    LZ_TRY(no_namespace(LZG_F_structured_delegate, v));
    LZ_TRY(lz_arena_new(x->arena, &name, 1));
    x->f->structured_delegate = name;
    return lzg_op_name_parse(x->arena, v->text, lzg_yaml_at(v, 0), name);
}

static lz_err *read_bool(lzg_field field, const lzg_yaml *v, void *into)
{
    if (v->kind != LZG_YAML_BOOL)
        return lzg_entry_wrong(field, v, "a boolean");
    *(bool *)into = v->truth;
    return NULL;
}

static lz_err *read_optional(lzg_field field, const lzg_yaml *v, void *into)
{
    if (v->kind == LZG_YAML_NULL)
        return NULL;
    if (v->kind != LZG_YAML_STR)
        return lzg_entry_wrong(field, v, "a string");
    *(lz_str *)into = v->text;
    return field == LZG_F_structured_inherits ? no_namespace(field, v) : NULL;
}

static lz_err *read_autogen(lzg_entry *x, const lzg_yaml *v)
{
    if (v->kind != LZG_YAML_STR)
        return lzg_entry_wrong(LZG_F_autogen, v, "a string");
    lz_str rest = v->text;
    lzg_op_name *names;
    if (x->ops->defines || x->f->nautogen)
        return lz_err_at(LZ_ERR_MODEL, v->loc, "autogen is a word of variants in a file with definitions");
    LZ_TRY(lz_arena_new(x->arena, &names, lzg_count(rest, ',') + 1));
    x->f->autogen = names;
    for (bool more = rest.len > 0; more; x->f->nautogen++) {
        lz_str one = lzg_cut_item(&rest, &more);
        LZ_TRY(lzg_op_name_parse(x->arena, one, lzg_yaml_at(v, (size_t)(one.ptr - v->text.ptr)),
                                 &names[x->f->nautogen]));
    }
    return NULL;
}

/* X_backward belongs to the operator X of an earlier entry. */
static void find_forward(const lzg_entry *x)
{
    lz_str name = x->f->func->name.text, suffix = LZ_STR("_backward");
    if (x->ops->defines && lz_str_ends(name, suffix))
        x->f->forward = lzg_ops_find(x->ops, lz_str_sub(name, 0, name.len - suffix.len));
}

/* The module's name stands before the operator's, or X_backward is in the module of X. */
static void default_module(const lzg_entry *x)
{
    static const lz_str modules[] = { { "special_", 8 }, { "linalg_", 7 }, { "fft_", 4 } };
    lzg_function *f = x->f;
    if (!x->ops->defines || x->field[LZG_F_python_module])
        return;
    for (size_t i = 0; i < sizeof modules / sizeof *modules; i++)
        if (lz_str_starts(f->func->name.base, modules[i]))
            f->python_module = lz_str_sub(modules[i], 0, modules[i].len - 1);
    if (f->forward)
        f->python_module = f->forward->python_module;
}

/* ---- tags ---- */

/* A tag is known if tags.yaml has it, as the same kind of scalar. */
static lz_err *known_tag(const lzg_entry *x, const lzg_yaml *tag)
{
    const lzg_yaml *known = lz_map_get(&x->ops->tags, tag->text);
    if (known && tag->kind < LZG_YAML_LIST && known->kind == tag->kind)
        return NULL;
    return lz_err_at(LZ_ERR_MODEL, tag->loc, "unknown tag '%.*s'", LZ_FMT(tag->text));
}

static void add_own_tag(const lzg_entry *x, bool wanted, lz_str tag, lz_str *tags, size_t *n)
{
    if (wanted && lz_map_find(&x->ops->tags, tag))
        tags[(*n)++] = tag;
}

/* What works element by element is tagged so; a written empty list says that PyTorch does not. */
static bool is_pointwise(const lzg_entry *x, const lzg_yaml *tags)
{
    const lzg_yaml *shape = x->f->shape;
    bool elementwise = shape && lz_str_is(shape->text, "elementwise");
    return (x->f->inner || elementwise) && !(tags && tags->kind == LZG_YAML_LIST && tags->len == 0);
}

static lz_err *written_tags(const lzg_entry *x, const lzg_yaml *v, lz_str *tags, size_t *n)
{
    bool list = v->kind == LZG_YAML_LIST;
    if (!list && v->kind != LZG_YAML_STR)
        return lzg_entry_wrong(LZG_F_tags, v, "a string or a list");
    for (size_t i = 0; i < (list ? v->len : 1); i++) {
        const lzg_yaml *tag = list ? v->items[i] : v;
        LZ_TRY(known_tag(x, tag));
        tags[(*n)++] = tag->text;
    }
    return NULL;
}

static lz_err *read_tags(lzg_entry *x)
{
    const lzg_yaml *v = x->field[LZG_F_tags];
    lzg_function *f = x->f;
    const lzg_function *same = v ? NULL : lzg_same_operator(f);
    size_t n = 0;
    lz_str *tags;
    LZ_TRY(lz_arena_new(x->arena, &tags, (v ? v->len + 1 : 0) + (same ? same->ntags : 0) + 4));
    if (v)
        LZ_TRY(written_tags(x, v, tags, &n));
    for (size_t i = 0; same && i < same->ntags; i++)
        tags[n++] = same->tags[i];
    add_own_tag(x, is_pointwise(x, v), LZ_STR("pointwise"), tags, &n);
    add_own_tag(x, lz_str_is(f->ns, "aten"), LZ_STR("pt2_compliant_tag"), tags, &n);
    add_own_tag(x, lzg_schema_is_out_fn(f->func), LZ_STR("out"), tags, &n);
    add_own_tag(x, f->func->name.inplace, LZ_STR("inplace"), tags, &n);
    lzg_sort_strings(tags, &n);
    f->tags = tags;
    f->ntags = n;
    f->generated = lzg_function_has_tag(f, "generated");
    return NULL;
}

/* ---- the entry ---- */

/* A field is read either by a function of its own, or by a common one into a member. */
typedef struct reader {
    lz_err *(*own)(lzg_entry *x, const lzg_yaml *v);
    lz_err *(*common)(lzg_field field, const lzg_yaml *v, void *into);
    size_t offset;
} reader;

#define OWN(fn)                                                                                              \
    {                                                                                                        \
        .own = (fn)                                                                                          \
    }
#define INTO(fn, member)                                                                                     \
    {                                                                                                        \
        .common = (fn), .offset = offsetof(lzg_function, member)                                             \
    }
static const reader readers[LZG_FIELD_COUNT] = {
    [LZG_F_func] = OWN(read_func),
    [LZG_F_cpp_no_default_args] = OWN(read_no_defaults),
    [LZG_F_use_const_ref_for_mutable_tensors] = INTO(read_bool, use_const_ref),
    [LZG_F_variants] = OWN(lzg_entry_variants),
    [LZG_F_manual_kernel_registration] = INTO(read_bool, manual_kernel_registration),
    [LZG_F_manual_cpp_binding] = INTO(read_bool, manual_cpp_binding),
    [LZG_F_device_guard] = INTO(read_bool, device_guard),
    [LZG_F_device_check] = OWN(read_device_check),
    [LZG_F_structured] = INTO(read_bool, structured),
    [LZG_F_structured_delegate] = OWN(read_delegate),
    [LZG_F_structured_inherits] = INTO(read_optional, structured_inherits),
    [LZG_F_python_module] = INTO(read_optional, python_module),
    [LZG_F_category_override] = INTO(read_optional, category_override),
    [LZG_F_precomputed] = OWN(lzg_entry_precomputed),
    [LZG_F_autogen] = OWN(read_autogen),
    [LZG_F_ufunc_inner_loop] = OWN(lzg_entry_ufunc),
    [LZG_F_memory] = OWN(lzg_entry_memory),
    [LZG_F_strides] = OWN(lzg_entry_strides),
    [LZG_F_same_as] = OWN(lzg_entry_same_as),
    [LZG_F_each] = OWN(lzg_entry_each),
    [LZG_F_mask] = OWN(lzg_entry_mask),
    [LZG_F_length] = OWN(lzg_entry_length),
    [LZG_F_number] = OWN(lzg_entry_number),
    [LZG_F_statistics] = OWN(lzg_entry_statistics),
    [LZG_F_copying] = OWN(lzg_entry_copying),
    [LZG_F_algebra] = OWN(lzg_entry_algebra),
};

static lz_err *read_field(lzg_entry *x, lzg_field field)
{
    const lzg_yaml *v = x->field[field];
    const reader *r = &readers[field];
    if (!v)
        return NULL;
    if (r->own)
        return r->own(x, v);
    return r->common ? r->common(field, v, (char *)x->f + r->offset) : NULL;
}

static lz_err *place_field(lzg_entry *x, const lzg_yaml *key, const lzg_yaml *value)
{
    int last = x->own_fields ? LZG_FIELD_COUNT : LZG_F_formula;
    for (int i = 0; i < last && key->kind == LZG_YAML_STR; i++)
        if (lz_str_eq(key->text, field_names[i])) {
            x->field[i] = value;
            return NULL;
        }
    if (key->kind == LZG_YAML_STR && lz_str_is(key->text, "__line__"))
        return NULL; /* the original keeps line numbers under this key, and so passes over it */
    return lz_err_at(LZ_ERR_MODEL, key->loc, "unknown field '%.*s'", LZ_FMT(key->text));
}

static lz_err *place_fields(lzg_entry *x, const lzg_yaml *entry)
{
    for (size_t i = 0; i < entry->len; i++)
        LZ_TRY(place_field(x, entry->items[2 * i], entry->items[2 * i + 1]));
    if (!x->field[LZG_F_func] || x->field[LZG_F_func]->kind == LZG_YAML_NULL)
        return lz_err_at(LZ_ERR_MODEL, entry->loc, "entry without func");
    x->f->formula = x->field[LZG_F_formula];
    x->f->inner = x->field[LZG_F_inner];
    x->f->shape = x->field[LZG_F_shape];
    x->f->statics = x->field[LZG_F_static];
    x->f->memory = x->field[LZG_F_memory];
    x->f->strides = x->field[LZG_F_strides];
    return NULL;
}

lz_err *lzg_entry_read(lzg_ops *ops, const lzg_yaml *entry, bool own_fields, lzg_function **out)
{
    lzg_entry x = { .ops = ops, .arena = &ops->arena, .own_fields = own_fields };
    if (entry->kind != LZG_YAML_MAP)
        return lz_err_at(LZ_ERR_MODEL, entry->loc, "an operator entry is a mapping, not %s",
                         lzg_yaml_kind_name(entry->kind));
    LZ_TRY(lz_arena_new(x.arena, out, 1));
    x.f = *out;
    *x.f = (lzg_function){
        .loc = entry->loc, .variants = LZG_VARIANT_FUNCTION, .device_check = true, .device_guard = true
    };
    LZ_TRY(place_fields(&x, entry));
    for (int i = 0; i < LZG_FIELD_COUNT; i++)
        LZ_TRY(read_field(&x, (lzg_field)i));
    if (ops->defines && lz_str_starts(x.f->func->name.text, LZ_STR("_foreach")))
        x.f->device_check = false;
    find_forward(&x);
    default_module(&x);
    LZ_TRY(read_tags(&x));
    LZ_TRY(lzg_entry_default_variants(&x));
    lzg_function_default_strides(x.f);
    LZ_TRY(lzg_entry_sort_memory(&x));
    LZ_TRY(lzg_entry_dispatch(&x));
    LZ_TRY(lzg_function_check(&x, x.f));
    return lzg_function_derive(x.arena, x.f);
}
