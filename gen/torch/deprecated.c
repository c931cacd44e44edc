#include "gen/torch/deprecated.h"

typedef struct loader {
    lz_arena *a;
    lz_map by_name; /* a name as printed -> its first candidate */
} loader;

typedef struct candidate {
    const lzg_function *f;
    struct candidate *next, *last; /* last: of the first candidate */
} candidate;

/* ---- the operators ---- */

static lz_err *add_function(loader *l, const lzg_function *f)
{
    candidate *new, *first = lz_map_get(&l->by_name, f->func->name.printed_base);
    LZ_TRY(lz_arena_new(l->a, &new, 1));
    *new = (candidate){ .f = f, .last = new };
    if (!first)
        return lz_map_put(&l->by_name, f->func->name.printed_base, new);
    first->last->next = new;
    first->last = new;
    return NULL;
}

/* ---- reading an entry ---- */

static lz_err *field(const lzg_yaml *entry, const char *key, const lzg_yaml **out)
{
    *out = lzg_yaml_get(entry, lz_str_of(key));
    if (!*out)
        return lz_err_at(LZ_ERR_MODEL, entry->loc, "a deprecated entry needs '%s'", key);
    if ((*out)->kind != LZG_YAML_STR)
        return lz_err_at(LZ_ERR_MODEL, (*out)->loc, "%s must be a string, not %s", key,
                         lzg_yaml_kind_name((*out)->kind));
    return NULL;
}

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'
           || (unsigned char)c >= 0x80;
}

static size_t skip_word(lz_str s, size_t at)
{
    while (at < s.len && is_word(s.ptr[at]))
        at++;
    return at;
}

/* name[.overload](params): text after the last parenthesis of the line is ignored. */
static bool split_call(lz_str text, lz_str *name, lz_str *params)
{
    size_t at = skip_word(text, 0), newline;
    *name = lz_str_sub(text, 0, at);
    if (at && at < text.len && text.ptr[at] == '.') {
        size_t end = skip_word(text, at + 1);
        at = end > at + 1 ? end : at;
    }
    if (name->len == 0 || at == text.len || text.ptr[at] != '(')
        return false;
    *params = lz_str_sub(text, at + 1, text.len);
    newline = lz_str_find_char(*params, '\n');
    *params = lz_str_sub(*params, 0, newline);
    size_t close = lz_str_rfind(*params, LZ_STR(")"));
    *params = lz_str_sub(*params, 0, close);
    return close != SIZE_MAX;
}

/* Without any "_out". */
static lz_err *strip_out(lz_arena *a, lz_str name, lz_str *out)
{
    lz_text t = { 0 };
    for (bool more = true; more;)
        lz_text_add(&t, lz_str_cut(&name, LZ_STR("_out"), &more));
    lz_err *e = lz_text_save(&t, a, out);
    lz_text_deinit(&t);
    return e;
}

static lz_err *split_params(lz_arena *a, lz_str params, lzg_deprecated *out)
{
    lz_str comma = LZ_STR(", "), rest = params, *call;
    size_t n = 0;
    for (bool more = true; more; n++)
        lz_str_cut(&rest, comma, &more);
    LZ_TRY(lz_arena_new(a, &call, n));
    out->call = call;
    rest = params;
    for (bool more = true; more; out->ncall++)
        call[out->ncall] = lz_str_cut(&rest, comma, &more);
    return NULL;
}

static lz_err *read_call(lz_arena *a, const lzg_yaml *aten, lzg_deprecated *out)
{
    lz_str params;
    if (!split_call(aten->text, &out->aten, &params))
        return lz_err_at(LZ_ERR_SYNTAX, aten->loc, "aten is a call, name(argument, ...), not '%.*s'",
                         LZ_FMT(aten->text));
    out->is_out = lz_str_ends(out->aten, LZ_STR("_out"));
    if (out->is_out)
        LZ_TRY(strip_out(a, out->aten, &out->aten));
    return split_params(a, params, out);
}

/* ---- agreement ---- */

static const struct {
    const char *text;
    lzg_type type;
} constants[] = { { "1", { .kind = LZG_TYPE_BASE, .base = LZG_TY_Scalar, .size = -1 } } };

/* Of two arguments with one name the last counts. */
static const lzg_argument *find_argument(const lzg_schema *s, lz_str name)
{
    for (size_t i = s->nargs; i-- > 0;)
        if (lz_str_eq(s->args[i].name, name))
            return &s->args[i];
    return NULL;
}

/* The type and annotation of the value; false if it is unknown. */
static bool value_of(const lzg_schema *s, lz_str value, const lzg_type **type, const lzg_annotation **note)
{
    *note = NULL;
    for (size_t i = 0; i < sizeof constants / sizeof *constants; i++) {
        *type = &constants[i].type;
        if (lz_str_is(value, constants[i].text))
            return true;
    }
    const lzg_argument *arg = find_argument(s, value);
    if (!arg)
        return false;
    *type = arg->type;
    *note = arg->annotation;
    return true;
}

static lz_err *check_values(const lzg_deprecated *x, const lzg_yaml *aten)
{
    const lzg_type *type;
    const lzg_annotation *note;
    for (size_t i = 0; i < x->ncall; i++) {
        lz_str value = x->call[i];
        if (!value_of(x->schema, value, &type, &note))
            return lz_err_at(LZ_ERR_MODEL, lzg_yaml_at(aten, (size_t)(value.ptr - aten->text.ptr)),
                             "'%.*s' is neither an argument of the schema nor a known constant",
                             LZ_FMT(value));
    }
    return NULL;
}

/* The i-th argument in the order of the call. */
static const lzg_argument *called(const lzg_deprecated *x, const lzg_schema *s, size_t i)
{
    size_t outs = s->nargs - s->first[LZG_OUT];
    if (!x->is_out)
        return &s->args[i];
    return i < outs ? &s->args[s->first[LZG_OUT] + i] : &s->args[i - outs];
}

static bool arguments_agree(const lzg_deprecated *x, const lzg_schema *s)
{
    const lzg_type *type;
    const lzg_annotation *note;
    for (size_t i = 0; i < s->nargs; i++) {
        const lzg_argument *arg = called(x, s, i);
        if (i >= x->ncall) {
            if (!arg->deflt.ptr)
                return false;
        } else if (!value_of(x->schema, x->call[i], &type, &note) || !lzg_type_eq(type, arg->type)
                   || !lzg_annotation_eq(note, arg->annotation)) {
            return false;
        }
    }
    return true;
}

static bool return_eq(const lzg_return *a, const lzg_return *b)
{
    bool named = a->name.ptr && b->name.ptr;
    return (named ? lz_str_eq(a->name, b->name) : a->name.ptr == b->name.ptr) && lzg_type_eq(a->type, b->type)
           && lzg_annotation_eq(a->annotation, b->annotation);
}

static bool returns_agree(const lzg_schema *a, const lzg_schema *b)
{
    bool eq = a->nreturns == b->nreturns;
    for (size_t i = 0; eq && i < a->nreturns; i++)
        eq = return_eq(&a->returns[i], &b->returns[i]);
    return eq;
}

static lz_err *find_targets(loader *l, lzg_deprecated *x)
{
    const candidate *first = lz_map_get(&l->by_name, x->aten);
    size_t n = 0;
    for (const candidate *k = first; k; k = k->next)
        n++;
    LZ_TRY(lz_arena_new(l->a, &x->targets, n));
    for (const candidate *k = first; k; k = k->next)
        if (arguments_agree(x, k->f->func) && returns_agree(x->schema, k->f->func))
            x->targets[x->ntargets++] = k->f;
    if (x->ntargets)
        return NULL;
    return lz_err_at(LZ_ERR_MODEL, x->loc, "no operator '%.*s' agrees with this call and its returns",
                     LZ_FMT(x->aten));
}

/* ---- the file ---- */

static lz_err *read_entry(loader *l, const lzg_yaml *entry, lzg_deprecated *out)
{
    const lzg_yaml *name, *aten;
    *out = (lzg_deprecated){ .loc = entry->loc };
    if (entry->kind != LZG_YAML_MAP)
        return lz_err_at(LZ_ERR_MODEL, entry->loc, "a deprecated entry is a mapping, not %s",
                         lzg_yaml_kind_name(entry->kind));
    LZ_TRY(field(entry, "name", &name));
    LZ_TRY(lzg_schema_parse(l->a, name->text, lzg_yaml_at(name, 0), &out->schema));
    LZ_TRY(field(entry, "aten", &aten));
    LZ_TRY(read_call(l->a, aten, out));
    LZ_TRY(check_values(out, aten));
    return find_targets(l, out);
}

static lz_str context(const lzg_yaml *entry)
{
    const lzg_yaml *name = entry->kind == LZG_YAML_MAP ? lzg_yaml_get(entry, LZ_STR("name")) : NULL;
    return name ? name->text : LZ_STR("");
}

/* Nothing at all may be written as a list, a mapping or a string. */
static bool is_empty(const lzg_yaml *file)
{
    return (file->kind == LZG_YAML_MAP && file->len == 0)
           || (file->kind == LZG_YAML_STR && file->text.len == 0);
}

static lz_err *read_entries(loader *l, const lzg_yaml *file, lzg_diag *d, lzg_deprecated_list *out)
{
    if (is_empty(file))
        return NULL;
    if (file->kind != LZG_YAML_LIST)
        return lzg_diag_take(d,
                             lz_err_at(LZ_ERR_MODEL, file->loc, "deprecated signatures are a list, not %s",
                                       lzg_yaml_kind_name(file->kind)),
                             file->loc, LZ_STR(""));
    out->entries = file->len;
    LZ_TRY(lz_arena_new(l->a, &out->at, file->len));
    for (size_t i = 0; i < file->len; i++) {
        lz_err *e = read_entry(l, file->items[i], &out->at[out->n]);
        out->n += e == NULL;
        LZ_TRY(lzg_diag_take(d, e, file->items[i]->loc, context(file->items[i])));
    }
    return NULL;
}

lz_err *lzg_deprecated_load(lz_arena *a, const lzg_function *const *functions, size_t n, const lzg_yaml *file,
                            lzg_diag *d, lzg_deprecated_list *out)
{
    loader l = { .a = a };
    lz_err *e = NULL;
    *out = (lzg_deprecated_list){ 0 };
    for (size_t i = 0; !e && i < n; i++)
        e = add_function(&l, functions[i]);
    if (!e)
        e = read_entries(&l, file, d, out);
    lz_map_deinit(&l.by_name);
    return e;
}
