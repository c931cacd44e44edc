/* A schema from example values that are written as text: `lazuli gen torch-schema`. */
#include "base/vec.h"
#include "gen/text/yaml_utils.h"
#include "gen/torch/gen_schema_utils.h"
#include <lazuli/gen.h>

/* ---- values ---- */

/* Words for values that have no spelling of their own. In quotes they are texts. */
static const struct {
    const char *word;
    lzg_base_ty type;
} words[] = {
    { "tensor", LZG_TY_Tensor },
    { "symint", LZG_TY_SymInt },
    { "symbool", LZG_TY_SymBool },
    { "graph", LZG_TY_GraphModule },
};

static const lzg_base_ty types[] = {
    [LZG_YAML_BOOL] = LZG_TY_bool,
    [LZG_YAML_INT] = LZG_TY_int,
    [LZG_YAML_FLOAT] = LZG_TY_float,
    [LZG_YAML_STR] = LZG_TY_str,
};

/* object(NAME): a value of a class. */
static lz_err *read_object(lz_arena *a, lz_str text, bool *found, lzg_example *out)
{
    lz_str before = LZ_STR("object("), name;
    *found = lz_str_starts(text, before) && lz_str_ends(text, LZ_STR(")")) && text.len > before.len + 1;
    if (!*found)
        return NULL;
    LZ_TRY(lz_arena_copy(a, lz_str_sub(text, before.len, text.len - 1), &name));
    *out = (lzg_example){ .kind = LZG_TYPE_CLASS, .class_name = name.ptr };
    return NULL;
}

static lz_err *read_scalar(lz_arena *a, const lzg_yaml *v, lzg_example *out)
{
    bool object = false;
    if (v->kind == LZG_YAML_STR && !v->quoted)
        LZ_TRY(read_object(a, v->text, &object, out));
    if (object)
        return NULL;
    if (v->kind < LZG_YAML_BOOL || v->kind > LZG_YAML_STR || v->kind == LZG_YAML_TIMESTAMP)
        return lz_err_at(LZ_ERR_ARG, v->loc,
                         "a value is tensor, symint, symbool, graph, object(NAME), a number, a boolean, "
                         "a text or a list of these, not %s",
                         lzg_yaml_kind_name(v->kind));
    *out = (lzg_example){ .kind = LZG_TYPE_BASE, .base = types[v->kind] };
    for (size_t i = 0; v->kind == LZG_YAML_STR && !v->quoted && i < sizeof words / sizeof *words; i++)
        if (lz_str_is(v->text, words[i].word))
            out->base = words[i].type;
    return NULL;
}

/* NOLINTNEXTLINE(misc-no-recursion): YAML bounds how deep lists nest */
static lz_err *read_value(lz_arena *a, const lzg_yaml *v, lzg_example *out)
{
    lzg_example *items;
    if (v->kind != LZG_YAML_LIST)
        return read_scalar(a, v, out);
    LZ_TRY(lz_arena_new(a, &items, v->len));
    for (size_t i = 0; i < v->len; i++)
        LZ_TRY(read_value(a, v->items[i], &items[i]));
    *out = (lzg_example){ .kind = LZG_TYPE_LIST, .items = items, .n = v->len };
    return NULL;
}

lz_err *lzg_example_parse(lz_arena *a, lz_str text, const char *what, lzg_example *out)
{
    const lzg_yaml *v;
    lz_err *e = lzg_yaml_parse(a, text, what, &v);
    if (!e)
        e = read_value(a, v, out);
    if (!e || lz_err_code(e) == LZ_ERR_MEMORY)
        return e;
    lz_err *named = lz_errf(LZ_ERR_ARG, "%s=%.*s: %s", what, LZ_FMT(text), lz_err_text(e));
    lz_err_free(e);
    return named;
}

/* ---- all values of a call ---- */

static size_t count(const char *const *list)
{
    size_t n = 0;
    while (list && list[n])
        n++;
    return n;
}

static lz_err *read_input(lz_arena *a, const char *word, lzg_named_example *out)
{
    const char *equals = strchr(word, '=');
    lz_str name;
    if (!equals || equals == word)
        return lz_errf(LZ_ERR_ARG, "an input is NAME=VALUE, not '%s'", word);
    LZ_TRY(lz_arena_copy(a, (lz_str){ word, (size_t)(equals - word) }, &name));
    out->name = name.ptr;
    return lzg_example_parse(a, lz_str_of(equals + 1), out->name, &out->value);
}

static lz_err *make_schema(lz_arena *a, const lzg_torch_schema_options *o, const lzg_schema **out)
{
    size_t nin = count(o->inputs), nouts = count(o->outputs);
    lzg_named_example *in;
    lzg_example *outs;
    LZ_TRY(lz_arena_new(a, &in, nin));
    LZ_TRY(lz_arena_new(a, &outs, nouts));
    for (size_t i = 0; i < nin; i++)
        LZ_TRY(read_input(a, o->inputs[i], &in[i]));
    for (size_t i = 0; i < nouts; i++)
        LZ_TRY(lzg_example_parse(a, lz_str_of(o->outputs[i]), "output", &outs[i]));
    return lzg_schema_of_examples(a, o->name, in, nin, outs, nouts, out);
}

lz_err *lzg_torch_schema(const lzg_torch_schema_options *o, char *out, size_t size)
{
    const lzg_schema *s = NULL;
    lz_arena a;
    lz_arena_init(&a);
    lz_err *e = make_schema(&a, o, &s);
    if (!e && s->text.len >= size)
        e = lz_errf(LZ_ERR_LIMIT, "the schema has %zu bytes, the buffer %zu", s->text.len + 1, size);
    if (!e) {
        memcpy(out, s->text.ptr, s->text.len);
        out[s->text.len] = '\0';
    }
    lz_arena_deinit(&a);
    return e;
}
