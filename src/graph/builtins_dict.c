/* Built-ins on dicts. Keys keep the order of insertion. */
#include "graph/builtins.h"

static lz_err *missing(lz_script_value key)
{
    lz_text t = { 0 };
    lz_err *e = lz_script_value_repr(key, &t);
    e = lz_err_first(e, lz_text_check(&t));
    e = e ? e : lz_errf(LZ_ERR_ARG, "KeyError: %.*s", LZ_FMT(lz_text_view(&t)));
    lz_text_deinit(&t);
    return e;
}

static lz_err *finish(lz_err *e, lz_script_value *out)
{
    if (e)
        lz_script_value_release(*out);
    return e;
}

/* ---- reading ---- */

static lz_err *length(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    (void)nin;
    *out = lz_script_value_int((int64_t)lz_script_value_dict_count(*in));
    return NULL;
}

static lz_err *get_item(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    lz_script_value *v = NULL;
    (void)nin;
    LZ_TRY(lz_script_value_dict_get(in[0], in[1], &v));
    if (!v)
        return missing(in[1]);
    *out = lz_script_value_retain(*v);
    return NULL;
}

static lz_err *contains(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    lz_script_value *v = NULL;
    (void)nin;
    LZ_TRY(lz_script_value_dict_get(in[0], in[1], &v));
    *out = lz_script_value_bool(v != NULL);
    return NULL;
}

static lz_err *get(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    lz_script_value *v = NULL;
    LZ_TRY(lz_script_value_dict_get(in[0], in[1], &v));
    *out = lz_script_value_retain(v ? *v : nin == 3 ? in[2] : lz_script_value_none());
    return NULL;
}

typedef lz_err *part_fn(const lz_script_value_pair *p, lz_script_value *out);

static lz_err *key_of(const lz_script_value_pair *p, lz_script_value *out)
{
    *out = lz_script_value_retain(p->key);
    return NULL;
}

static lz_err *value_of(const lz_script_value_pair *p, lz_script_value *out)
{
    *out = lz_script_value_retain(p->value);
    return NULL;
}

static lz_err *pair_of(const lz_script_value_pair *p, lz_script_value *out)
{
    const lz_script_value both[] = { lz_script_value_retain(p->key), lz_script_value_retain(p->value) };
    return lz_script_value_tuple(both, 2, out);
}

static lz_err *list_of(lz_script_value dict, part_fn *part, lz_script_value *out)
{
    const lz_map *m = &dict.dict->map;
    lz_err *e = NULL;
    LZ_TRY(lz_script_value_list_make(lz_script_value_dict_count(dict), out));
    for (lz_map_entry *i = lz_map_next(m, NULL); !e && i; i = lz_map_next(m, i)) {
        lz_script_value v;
        e = part(i->value, &v);
        e = e ? e : lz_script_value_push(*out, v);
    }
    return finish(e, out);
}

static lz_err *keys(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    (void)nin;
    return list_of(*in, key_of, out);
}

static lz_err *values(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    (void)nin;
    return list_of(*in, value_of, out);
}

static lz_err *items(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    (void)nin;
    return list_of(*in, pair_of, out);
}

/* ---- creation and changes ---- */

static lz_err *add_all(lz_script_value dict, lz_script_value from)
{
    const lz_map *m = &from.dict->map;
    lz_err *e = NULL;
    for (lz_map_entry *i = dict.dict == from.dict ? NULL : lz_map_next(m, NULL); !e && i;
         i = lz_map_next(m, i)) {
        const lz_script_value_pair *p = i->value;
        e = lz_script_value_dict_put(dict, lz_script_value_retain(p->key), lz_script_value_retain(p->value));
    }
    return e;
}

static lz_err *copy(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    (void)nin;
    LZ_TRY(lz_script_value_dict_make(out));
    return finish(add_all(*out, *in), out);
}

static lz_err *from_pairs(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    lz_err *e = NULL;
    (void)nin;
    LZ_TRY(lz_script_value_dict_make(out));
    for (size_t i = 0; !e && i < in->list->len; i++) {
        const lz_script_value *pair = in->list->data[i].list->data;
        e = lz_script_value_dict_put(*out, lz_script_value_retain(pair[0]), lz_script_value_retain(pair[1]));
    }
    return finish(e, out);
}

static lz_err *empty(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    (void)in;
    (void)nin;
    return lz_script_value_dict_make(out);
}

static lz_err *set_item(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    (void)out;
    (void)nin;
    return lz_script_value_dict_put(in[0], lz_script_value_retain(in[1]), lz_script_value_retain(in[2]));
}

static lz_err *set_default(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    lz_script_value *v = NULL;
    LZ_TRY(lz_script_value_dict_get(in[0], in[1], &v));
    if (!v)
        LZ_TRY(set_item(in, nin, out));
    *out = lz_script_value_retain(v ? *v : in[2]);
    return NULL;
}

static lz_err *update(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    (void)out;
    (void)nin;
    return add_all(in[0], in[1]);
}

static lz_err *delete_item(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    bool there = false;
    (void)out;
    (void)nin;
    LZ_TRY(lz_script_value_dict_remove(in[0], in[1], &there));
    return there ? NULL : missing(in[1]);
}

static lz_err *pop(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    lz_script_value *v = NULL;
    bool there;
    LZ_TRY(lz_script_value_dict_get(in[0], in[1], &v));
    if (!v && nin < 3)
        return missing(in[1]);
    *out = lz_script_value_retain(v ? *v : in[2]);
    return finish(lz_script_value_dict_remove(in[0], in[1], &there), out);
}

static lz_err *pop_item(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    const lz_map *m = &in->dict->map;
    lz_map_entry *last = NULL;
    bool there;
    (void)nin;
    for (lz_map_entry *i = lz_map_next(m, NULL); i; i = lz_map_next(m, i))
        last = i;
    if (!last)
        return lz_errf(LZ_ERR_ARG, "KeyError: popitem(): dictionary is empty");
    LZ_TRY(pair_of(last->value, out));
    return finish(lz_script_value_dict_remove(*in, out->list->data[0], &there), out);
}

static lz_err *clear(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    const lz_map *m = &in->dict->map;
    lz_err *e = NULL;
    bool there;
    (void)out;
    (void)nin;
    for (lz_map_entry *i = lz_map_next(m, NULL); !e && i; i = lz_map_next(m, i)) {
        lz_script_value key = lz_script_value_retain(((lz_script_value_pair *)i->value)->key);
        e = lz_script_value_dict_remove(*in, key, &there);
        lz_script_value_release(key);
    }
    return e;
}

static const lz_builtin rows[] = {
    { "aten::Delete", "Dict", "d101", "", delete_item, LZ_BUILTIN_WRITES },
    { "aten::__contains__", "Dict", "d101", "b", contains, 0 },
    { "aten::__getitem__", "Dict", "d101", "0", get_item, 0 },
    { "aten::_set_item", "Dict", "d1010", "", set_item, LZ_BUILTIN_WRITES },
    { "aten::clear", "Dict", "d10", "", clear, LZ_BUILTIN_WRITES },
    { "aten::copy", "Dict", "d10", "d10", copy, LZ_BUILTIN_FRESH },
    { "aten::dict", "", "", "dsT", empty, LZ_BUILTIN_FRESH },
    { "aten::dict", "pairs", "[(10)", "d10", from_pairs, LZ_BUILTIN_FRESH },
    { "aten::dict", "Dict", "d10", "d10", copy, LZ_BUILTIN_FRESH },
    { "aten::get", "", "d101", "?0", get, 0 },
    { "aten::get", "default", "d1010", "0", get, 0 },
    { "aten::items", "", "d10", "[(10)", items, LZ_BUILTIN_FRESH },
    { "aten::keys", "", "d10", "[1", keys, LZ_BUILTIN_FRESH },
    { "aten::len", "Dict", "d10", "i", length, 0 },
    { "aten::pop", "Dict", "d101", "0", pop, LZ_BUILTIN_WRITES },
    { "aten::pop", "Dict_default", "d1010", "0", pop, LZ_BUILTIN_WRITES },
    { "aten::popitem", "", "d10", "(10)", pop_item, LZ_BUILTIN_WRITES },
    { "aten::setdefault", "", "d1010", "0", set_default, LZ_BUILTIN_WRITES },
    { "aten::update", "", "d10d10", "", update, LZ_BUILTIN_WRITES },
    { "aten::values", "", "d10", "[0", values, LZ_BUILTIN_FRESH },
};

const lz_builtin_table lz_builtins_dict = LZ_BUILTIN_TABLE(rows);
