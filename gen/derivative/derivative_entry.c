#include "gen/derivative/derivative_entry.h"
#include "gen/api/cpp.h"
#include "gen/text/identifiers.h"

/* The functions of one base name, in file order. */
typedef struct namesake namesake;
struct namesake {
    const lzg_function *f;
    namesake *next;
};

typedef lzg_derivative_entry entry;

/* The context in which the entries of a file are read. */
typedef struct source {
    lz_arena *arena;
    const lzg_ops *ops;
    const lz_map *by_base; /* base name -> namesake * */
} source;

/* ---- the function that an entry is about ---- */

/* name[.overload](...): false if the text has another form. */
static bool split_schema(lz_str s, lz_str *base, lz_str *name)
{
    size_t n = lzg_word_run(s, 0), end = n;
    if (n && n < s.len && s.ptr[n] == '.')
        end = lzg_word_run(s, n + 1) ? n + 1 + lzg_word_run(s, n + 1) : n;
    *base = lz_str_sub(s, 0, n);
    *name = lz_str_sub(s, 0, end);
    return n && end < s.len && s.ptr[end] == '(' && lz_str_rfind(s, LZ_STR(")")) != SIZE_MAX;
}

static lz_err *unknown_schema(const entry *e, const lzg_function *near)
{
    if (!near)
        return lz_err_at(LZ_ERR_MODEL, e->schema->loc, "no operator has the schema %.*s",
                         LZ_FMT(e->schema->text));
    lz_str a = e->schema->text, b = near->func->text;
    size_t at = 0;
    while (at < a.len && at < b.len && a.ptr[at] == b.ptr[at])
        at++;
    return lz_err_at(LZ_ERR_MODEL, lzg_yaml_at(e->schema, at),
                     "no operator has exactly this schema; the operator of this name is %.*s", LZ_FMT(b));
}

static lz_err *split_name(entry *e, lz_str *name)
{
    if (e->schema->kind != LZG_YAML_STR)
        return lz_err_at(LZ_ERR_MODEL, e->schema->loc, "name must be a schema, not %s",
                         lzg_yaml_kind_name(e->schema->kind));
    if (!split_schema(e->schema->text, &e->name, name))
        return lz_err_at(LZ_ERR_SYNTAX, e->schema->loc, "not a schema: %.*s", LZ_FMT(e->schema->text));
    return NULL;
}

/* Groups list a view first, then its in-place form, then its copy, then the others as they come. */
static int rank(const lzg_function *f)
{
    static const int of[] = { [LZG_ALIASING] = 0, [LZG_ALIASING_INPLACE] = 1, [LZG_NON_ALIASING] = 3 };
    bool copy = f->view_kind == LZG_NON_ALIASING && f->func->kind == LZG_FUNCTIONAL;
    return copy ? 2 : of[f->view_kind];
}

typedef struct kin {
    const lzg_function **data;
    size_t len;
} kin;

static void sort_kin(kin *k)
{
    for (size_t i = 1; i < k->len; i++)
        for (size_t j = i; j > 0 && rank(k->data[j]) < rank(k->data[j - 1]); j--) {
            const lzg_function *swap = k->data[j];
            k->data[j] = k->data[j - 1];
            k->data[j - 1] = swap;
        }
}

/* The functions of f's signature, in that order if there is a view among them. */
static lz_err *find_kin(const source *from, const lzg_function *f, kin *out)
{
    const lzg_schema *want, *have;
    const namesake *first = lz_map_get(from->by_base, f->func->name.base);
    size_t most = 0;
    bool view = false;
    for (const namesake *k = first; k; k = k->next)
        most++;
    LZ_TRY(lz_arena_new(from->arena, &out->data, most));
    LZ_TRY(lzg_schema_signature(from->arena, f->func, (lzg_signature_options){ 0 }, &want));
    out->len = 0;
    for (const namesake *k = first; k; k = k->next) {
        LZ_TRY(lzg_schema_signature(from->arena, k->f->func, (lzg_signature_options){ 0 }, &have));
        if (!lz_str_eq(have->text, want->text))
            continue;
        out->data[out->len++] = k->f;
        view = view || k->f->view_kind == LZG_ALIASING;
    }
    if (view)
        sort_kin(out);
    return NULL;
}

static bool bears(const lzg_function *f, lz_str name)
{
    const lzg_schema *s = f->func;
    return lz_str_find(s->name.overload, LZ_STR("functional")) == SIZE_MAX && !lzg_schema_is_out_fn(s)
           && lz_str_eq(s->name.printed_base, name);
}

/* The form that bears the entry's name; some operators only have the in-place one. */
static lz_err *find_form(const source *from, entry *e, const lzg_function *f)
{
    kin k;
    lz_str in_place;
    LZ_TRY(find_kin(from, f, &k));
    for (size_t i = 0; i < k.len; i++) {
        e->func = k.data[i];
        if (bears(e->func, e->name))
            return NULL;
    }
    e->func = k.data[0];
    LZ_TRY(lz_arena_printf(from->arena, &in_place, "%.*s_", LZ_FMT(e->name)));
    if (lz_str_eq(e->func->func->name.printed_base, in_place) && !lzg_schema_is_out_fn(e->func->func))
        return NULL;
    return lz_err_at(LZ_ERR_MODEL, e->schema->loc,
                     "there is no operator %.*s of this signature to differentiate", LZ_FMT(e->name));
}

static lz_err *find_function(const source *from, entry *e)
{
    lz_str name = { 0 };
    LZ_TRY(split_name(e, &name));
    const lzg_function *f = lzg_ops_find(from->ops, name);
    if (!f || !lz_str_eq(f->func->text, e->schema->text))
        return unknown_schema(e, f);
    return find_form(from, e, f);
}

/* ---- its arguments and outputs ---- */

static lz_err *plain_type(lz_arena *a, const lzg_ctype *t, lz_text *text, lz_str *out)
{
    LZ_TRY(lzg_ctype_remove_const_ref(a, t, &t));
    lzg_ctype_print(t, text);
    return lz_text_save(text, a, out);
}

static lz_err *read_inputs(const source *from, entry *e, lz_text *text)
{
    lz_str *names;
    LZ_TRY(lz_arena_new(from->arena, &names, e->args.n));
    LZ_TRY(lz_arena_new(from->arena, &e->inputs, e->args.n));
    for (size_t i = 0; i < e->args.n; i++) {
        const lzg_binding *b = &e->args.at[i];
        bool special = lz_str_eq(b->what.name, lzg_redundant_memory_format);
        names[i] = b->name;
        e->inputs[i].name = special ? LZ_STR("possibly_redundant_memory_format") : b->what.name;
        LZ_TRY(plain_type(from->arena, b->what.type, text, &e->inputs[i].type));
    }
    e->arg_names = (lzg_names){ names, e->args.n };
    return NULL;
}

static lz_err *read_outputs(const source *from, entry *e, lz_text *text)
{
    const lzg_schema *s = e->func->func;
    const lzg_ctype *type;
    lz_str *names;
    LZ_TRY(lzg_cpp_return_names(from->arena, e->func, "result", &names));
    LZ_TRY(lz_arena_new(from->arena, &e->outputs, s->nreturns));
    for (size_t i = 0; i < s->nreturns; i++) {
        e->outputs[i].name = lz_str_is(names[i], "self") ? LZ_STR("result") : names[i];
        LZ_TRY(lzg_cpp_return_type(from->arena, &s->returns[i], lzg_local_of(e->func), &type));
        LZ_TRY(plain_type(from->arena, type, text, &e->outputs[i].type));
    }
    return NULL;
}

/* Names that formulas use for something else. */
static const char *const reserved[] = { "grad_input_mask", "result" };

static lz_err *check_reserved(const entry *e)
{
    for (size_t i = 0; i < sizeof reserved / sizeof *reserved; i++)
        if (lzg_names_have(e->arg_names, lz_str_of(reserved[i])))
            return lz_err_at(LZ_ERR_MODEL, e->schema->loc,
                             "an argument may not be called '%s': formulas mean something else by it",
                             reserved[i]);
    return NULL;
}

/* Gradients that may be called grad_<output>: of named outputs that can have one. */
static lz_err *name_gradients(const source *from, entry *e)
{
    const lzg_schema *s = e->func->func;
    const lzg_yaml *given = e->given && e->given->len ? e->given : NULL;
    lz_str *names;
    size_t n = 0;
    LZ_TRY(lz_arena_new(from->arena, &names, s->nreturns));
    for (size_t i = 0; i < s->nreturns && (!given || i < given->len); i++) {
        bool wanted = !given || e->conditional || lzg_yaml_truthy(given->items[i]);
        if (wanted && s->returns[i].name.ptr && lzg_type_is_tensor_like(s->returns[i].type))
            LZ_TRY(lz_arena_printf(from->arena, &names[n++], "grad_%.*s", LZ_FMT(s->returns[i].name)));
    }
    e->named_gradients = (lzg_names){ names, n };
    return NULL;
}

static lz_err *read_signature(const source *from, entry *e)
{
    lzg_sig sig;
    lz_text text = { 0 };
    LZ_TRY(lzg_cpp_signature(from->arena, e->func,
                             (lzg_cpp_form){ .symint = lzg_schema_has_symint(e->func->func) }, &sig));
    e->args = sig.args;
    lz_err *err = read_inputs(from, e, &text);
    if (!err)
        err = read_outputs(from, e, &text);
    lz_text_deinit(&text);
    LZ_TRY(err);
    LZ_TRY(check_reserved(e));
    return name_gradients(from, e);
}

/* ---- the entry ---- */

static lz_err *read_given(entry *e, const lzg_yaml *given, bool dispatch)
{
    bool says_nothing = !given || given->kind == LZG_YAML_NULL || (!dispatch && !lzg_yaml_truthy(given));
    if (says_nothing)
        return NULL;
    if (given->kind != LZG_YAML_LIST)
        return lz_err_at(LZ_ERR_MODEL, given->loc, "output_differentiability must be a list, not %s",
                         lzg_yaml_kind_name(given->kind));
    e->given = given;
    for (size_t i = 0; i < given->len; i++)
        e->conditional = e->conditional || given->items[i]->kind == LZG_YAML_STR;
    if (e->conditional && given->len != 1)
        return lz_err_at(LZ_ERR_MODEL, given->loc,
                         "output_differentiability is a list of booleans or a single condition");
    return NULL;
}

static lz_err *check_shape(const lzg_yaml *node, const lzg_yaml *dispatch)
{
    if (node->kind != LZG_YAML_MAP)
        return lz_err_at(LZ_ERR_MODEL, node->loc, "an entry is a mapping, not %s",
                         lzg_yaml_kind_name(node->kind));
    if (!lzg_yaml_get(node, LZ_STR("name")))
        return lz_err_at(LZ_ERR_MODEL, node->loc, "an entry needs a name");
    if (dispatch && dispatch->kind != LZG_YAML_MAP)
        return lz_err_at(LZ_ERR_MODEL, dispatch->loc, "dispatch must be a mapping, not %s",
                         lzg_yaml_kind_name(dispatch->kind));
    return NULL;
}

lz_err *lzg_entry_begin(lz_arena *a, const lzg_ops *ops, const lz_map *namesakes, const lzg_yaml *node,
                        lzg_derivative_entry *out)
{
    const source from = { a, ops, namesakes };
    bool map = node->kind == LZG_YAML_MAP;
    const lzg_yaml *dispatch = map ? lzg_yaml_get(node, LZ_STR("dispatch")) : NULL;
    *out = (lzg_derivative_entry){ .schema = map ? lzg_yaml_get(node, LZ_STR("name")) : NULL };
    LZ_TRY(check_shape(node, dispatch));
    LZ_TRY(find_function(&from, out));
    LZ_TRY(read_given(out, lzg_yaml_get(node, LZ_STR("output_differentiability")), dispatch != NULL));
    return read_signature(&from, out);
}

lz_err *lzg_namesakes_index(lz_arena *a, const lzg_ops *ops, lz_map *out)
{
    for (size_t i = ops->nfunctions; i-- > 0;) {
        lz_str base = ops->functions[i]->func->name.base;
        namesake *k;
        LZ_TRY(lz_arena_new(a, &k, 1));
        *k = (namesake){ ops->functions[i], lz_map_get(out, base) };
        LZ_TRY(lz_map_put(out, base, k));
    }
    return NULL;
}
