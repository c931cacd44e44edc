#include "gen/torch/selective_build/selected_operator.h"
#include "base/text.h"
#include "gen/text/yaml_scalar.h"

/* ---- texts ---- */

/* Quoted as Python's repr quotes. */
static void put_quoted(lz_text *t, lz_str s)
{
    char quote = lz_str_find_char(s, '\'') != SIZE_MAX && lz_str_find_char(s, '"') == SIZE_MAX ? '"' : '\'';
    lz_text_putc(t, quote);
    for (size_t i = 0; i < s.len; i++) {
        if (s.ptr[i] == quote || s.ptr[i] == '\\')
            lz_text_putc(t, '\\');
        if (s.ptr[i] == '\n')
            lz_text_puts(t, "\\n");
        else
            lz_text_putc(t, s.ptr[i]);
    }
    lz_text_putc(t, quote);
}

/* NOLINTNEXTLINE(misc-no-recursion): at most LZG_YAML_DEPTH deep */
static void put_value(lz_text *t, const lzg_yaml *v, bool inside)
{
    bool map = v->kind == LZG_YAML_MAP;
    if (v->kind == LZG_YAML_NULL)
        lz_text_puts(t, "None");
    else if (v->kind == LZG_YAML_BOOL)
        lz_text_puts(t, v->truth ? "True" : "False");
    else if (v->kind == LZG_YAML_INT)
        lz_text_int(t, v->integer);
    else if (v->kind == LZG_YAML_FLOAT)
        lz_text_double(t, v->real);
    else if (v->kind == LZG_YAML_STR && inside)
        put_quoted(t, v->text);
    else if (v->kind < LZG_YAML_LIST)
        lz_text_add(t, v->text);
    else {
        lz_text_putc(t, map ? '{' : '[');
        for (size_t i = 0; i < v->len << map; i++) {
            lz_text_puts(t, i == 0 ? "" : map && i % 2 ? ": " : ", ");
            put_value(t, v->items[i], true);
        }
        lz_text_putc(t, map ? '}' : ']');
    }
}

lz_err *lzg_yaml_str(const lzg_yaml *v, lz_arena *a, lz_str *out)
{
    lz_text t = { 0 };
    if (v->kind == LZG_YAML_STR) {
        *out = v->text;
        return NULL;
    }
    put_value(&t, v, false);
    lz_err *e = lz_text_save(&t, a, out);
    lz_text_deinit(&t);
    return e;
}

static lz_err *add_text(lzg_text_set *into, lz_arena *a, lz_str text)
{
    lz_str own;
    if (lz_map_find(into, text))
        return NULL;
    LZ_TRY(lz_arena_copy(a, text, &own));
    return lz_map_put(into, own, NULL);
}

lz_err *lzg_text_set_merge(lzg_text_set *into, lz_arena *a, const lzg_text_set *from)
{
    for (lz_map_entry *e = lz_map_next(from, NULL); e; e = lz_map_next(from, e))
        LZ_TRY(add_text(into, a, e->key));
    return NULL;
}

lz_err *lzg_text_set_read(lzg_text_set *into, lz_arena *a, const lzg_yaml *list, const char *what)
{
    if (list->kind != LZG_YAML_LIST)
        return lz_err_at(LZ_ERR_MODEL, list->loc, "%s must be a list, not %s", what,
                         lzg_yaml_kind_name(list->kind));
    for (size_t i = 0; i < list->len; i++) {
        lz_str text;
        LZ_TRY(lzg_yaml_str(list->items[i], a, &text));
        LZ_TRY(add_text(into, a, text));
    }
    return NULL;
}

/* ---- operators ---- */

static lz_err *read_flag(const lzg_yaml *value, lz_str name, bool *out)
{
    if (value->kind != LZG_YAML_BOOL)
        return lz_err_at(LZ_ERR_MODEL, value->loc, "%.*s must be a boolean, not %s", LZ_FMT(name),
                         lzg_yaml_kind_name(value->kind));
    *out = value->truth;
    return NULL;
}

static lz_err *read_name(const lzg_yaml *value, const lzg_yaml *key)
{
    if (value->kind >= LZG_YAML_LIST || lzg_yaml_key_cmp(value, key) != 0)
        return lz_err_at(LZ_ERR_MODEL, value->loc, "the operator '%.*s' has another name inside",
                         LZ_FMT(key->text));
    return NULL;
}

static lz_err *read_field(lzg_selected_op *op, lz_arena *a, const lzg_yaml *key, const lzg_yaml *field,
                          const lzg_yaml *value)
{
    const struct {
        const char *name;
        bool *flag;
    } flags[] = {
        { "is_root_operator", &op->is_root_operator },
        { "is_used_for_training", &op->is_used_for_training },
        { "include_all_overloads", &op->include_all_overloads },
    };
    for (size_t i = 0; field->kind == LZG_YAML_STR && i < sizeof flags / sizeof *flags; i++)
        if (lz_str_is(field->text, flags[i].name))
            return read_flag(value, field->text, flags[i].flag);
    if (field->kind == LZG_YAML_STR && lz_str_is(field->text, "name"))
        return read_name(value, key);
    if (field->kind != LZG_YAML_STR || !lz_str_is(field->text, "debug_info"))
        return lz_err_at(LZ_ERR_MODEL, field->loc, "an operator has no field '%.*s'", LZ_FMT(field->text));
    op->has_debug_info = true;
    return lzg_text_set_read(&op->debug_info, a, value, "debug_info");
}

lz_err *lzg_selected_op_read(lzg_selected_op *op, lz_arena *a, const lzg_yaml *key, const lzg_yaml *info)
{
    *op = (lzg_selected_op){ .is_root_operator = true,
                             .is_used_for_training = true,
                             .include_all_overloads = true };
    lz_err *e = lzg_yaml_str(key, a, &op->name);
    if (!e && info->kind != LZG_YAML_MAP)
        e = lz_err_at(LZ_ERR_MODEL, info->loc, "the operator '%.*s' must be a mapping, not %s",
                      LZ_FMT(op->name), lzg_yaml_kind_name(info->kind));
    for (size_t i = 0; !e && i < info->len; i++)
        e = read_field(op, a, key, info->items[2 * i], info->items[2 * i + 1]);
    if (e)
        lzg_selected_op_deinit(op);
    return e;
}

lz_err *lzg_selected_op_merge(lzg_selected_op *into, lz_arena *a, const lzg_selected_op *from)
{
    if (!lz_str_eq(into->name, from->name))
        return lz_errf(LZ_ERR_ARG, "'%.*s' and '%.*s' are two operators", LZ_FMT(into->name),
                       LZ_FMT(from->name));
    into->is_root_operator |= from->is_root_operator;
    into->is_used_for_training |= from->is_used_for_training;
    into->include_all_overloads |= from->include_all_overloads;
    into->has_debug_info |= from->has_debug_info;
    return lzg_text_set_merge(&into->debug_info, a, &from->debug_info);
}

void lzg_selected_op_deinit(lzg_selected_op *op)
{
    lz_map_deinit(&op->debug_info);
}

lz_str lzg_strip_overload(lz_str name)
{
    size_t dot = lz_str_find_char(name, '.');
    return lz_str_sub(name, 0, dot);
}
