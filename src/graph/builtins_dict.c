/* Dicts. Keys keep the order in which they came. */
#include "graph/builtins.h"

static lz_err *missing(lz_gv key)
{
    lz_text t = { 0 };
    lz_err *e = lz_gv_repr(key, &t);
    e = lz_err_first(e, lz_text_check(&t));
    e = e ? e : lz_errf(LZ_ERR_ARG, "KeyError: %.*s", LZ_FMT(lz_text_view(&t)));
    lz_text_deinit(&t);
    return e;
}

static lz_err *finish(lz_err *e, lz_gv *out)
{
    if (e)
        lz_gv_release(*out);
    return e;
}

/* ---- looking ---- */

static lz_err *length(const lz_gv *in, size_t nin, lz_gv *out)
{
    (void)nin;
    *out = lz_gv_int((int64_t)lz_gv_dict_count(*in));
    return NULL;
}

static lz_err *get_item(const lz_gv *in, size_t nin, lz_gv *out)
{
    lz_gv *v = NULL;
    (void)nin;
    LZ_TRY(lz_gv_dict_get(in[0], in[1], &v));
    if (!v)
        return missing(in[1]);
    *out = lz_gv_retain(*v);
    return NULL;
}

static lz_err *contains(const lz_gv *in, size_t nin, lz_gv *out)
{
    lz_gv *v = NULL;
    (void)nin;
    LZ_TRY(lz_gv_dict_get(in[0], in[1], &v));
    *out = lz_gv_bool(v != NULL);
    return NULL;
}

static lz_err *get(const lz_gv *in, size_t nin, lz_gv *out)
{
    lz_gv *v = NULL;
    LZ_TRY(lz_gv_dict_get(in[0], in[1], &v));
    *out = lz_gv_retain(v ? *v : nin == 3 ? in[2] : lz_gv_none());
    return NULL;
}

typedef lz_err *part_fn(const lz_gv_pair *p, lz_gv *out);

static lz_err *key_of(const lz_gv_pair *p, lz_gv *out)
{
    *out = lz_gv_retain(p->key);
    return NULL;
}

static lz_err *value_of(const lz_gv_pair *p, lz_gv *out)
{
    *out = lz_gv_retain(p->value);
    return NULL;
}

static lz_err *pair_of(const lz_gv_pair *p, lz_gv *out)
{
    const lz_gv both[] = { lz_gv_retain(p->key), lz_gv_retain(p->value) };
    return lz_gv_tuple(both, 2, out);
}

static lz_err *list_of(lz_gv dict, part_fn *part, lz_gv *out)
{
    const lz_map *m = &dict.dict->map;
    lz_err *e = NULL;
    LZ_TRY(lz_gv_list_make(lz_gv_dict_count(dict), out));
    for (lz_map_entry *i = lz_map_next(m, NULL); !e && i; i = lz_map_next(m, i)) {
        lz_gv v;
        e = part(i->value, &v);
        e = e ? e : lz_gv_push(*out, v);
    }
    return finish(e, out);
}

static lz_err *keys(const lz_gv *in, size_t nin, lz_gv *out)
{
    (void)nin;
    return list_of(*in, key_of, out);
}

static lz_err *values(const lz_gv *in, size_t nin, lz_gv *out)
{
    (void)nin;
    return list_of(*in, value_of, out);
}

static lz_err *items(const lz_gv *in, size_t nin, lz_gv *out)
{
    (void)nin;
    return list_of(*in, pair_of, out);
}

/* ---- making and changing ---- */

static lz_err *add_all(lz_gv dict, lz_gv from)
{
    const lz_map *m = &from.dict->map;
    lz_err *e = NULL;
    for (lz_map_entry *i = dict.dict == from.dict ? NULL : lz_map_next(m, NULL); !e && i;
         i = lz_map_next(m, i)) {
        const lz_gv_pair *p = i->value;
        e = lz_gv_dict_put(dict, lz_gv_retain(p->key), lz_gv_retain(p->value));
    }
    return e;
}

static lz_err *copy(const lz_gv *in, size_t nin, lz_gv *out)
{
    (void)nin;
    LZ_TRY(lz_gv_dict_make(out));
    return finish(add_all(*out, *in), out);
}

static lz_err *from_pairs(const lz_gv *in, size_t nin, lz_gv *out)
{
    lz_err *e = NULL;
    (void)nin;
    LZ_TRY(lz_gv_dict_make(out));
    for (size_t i = 0; !e && i < in->list->len; i++) {
        const lz_gv *pair = in->list->data[i].list->data;
        e = lz_gv_dict_put(*out, lz_gv_retain(pair[0]), lz_gv_retain(pair[1]));
    }
    return finish(e, out);
}

static lz_err *empty(const lz_gv *in, size_t nin, lz_gv *out)
{
    (void)in;
    (void)nin;
    return lz_gv_dict_make(out);
}

static lz_err *set_item(const lz_gv *in, size_t nin, lz_gv *out)
{
    (void)out;
    (void)nin;
    return lz_gv_dict_put(in[0], lz_gv_retain(in[1]), lz_gv_retain(in[2]));
}

static lz_err *set_default(const lz_gv *in, size_t nin, lz_gv *out)
{
    lz_gv *v = NULL;
    LZ_TRY(lz_gv_dict_get(in[0], in[1], &v));
    if (!v)
        LZ_TRY(set_item(in, nin, out));
    *out = lz_gv_retain(v ? *v : in[2]);
    return NULL;
}

static lz_err *update(const lz_gv *in, size_t nin, lz_gv *out)
{
    (void)out;
    (void)nin;
    return add_all(in[0], in[1]);
}

static lz_err *delete_item(const lz_gv *in, size_t nin, lz_gv *out)
{
    bool there = false;
    (void)out;
    (void)nin;
    LZ_TRY(lz_gv_dict_remove(in[0], in[1], &there));
    return there ? NULL : missing(in[1]);
}

static lz_err *pop(const lz_gv *in, size_t nin, lz_gv *out)
{
    lz_gv *v = NULL;
    bool there;
    LZ_TRY(lz_gv_dict_get(in[0], in[1], &v));
    if (!v && nin < 3)
        return missing(in[1]);
    *out = lz_gv_retain(v ? *v : in[2]);
    return finish(lz_gv_dict_remove(in[0], in[1], &there), out);
}

static lz_err *pop_item(const lz_gv *in, size_t nin, lz_gv *out)
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
    return finish(lz_gv_dict_remove(*in, out->list->data[0], &there), out);
}

static lz_err *clear(const lz_gv *in, size_t nin, lz_gv *out)
{
    const lz_map *m = &in->dict->map;
    lz_err *e = NULL;
    bool there;
    (void)out;
    (void)nin;
    for (lz_map_entry *i = lz_map_next(m, NULL); !e && i; i = lz_map_next(m, i)) {
        lz_gv key = lz_gv_retain(((lz_gv_pair *)i->value)->key);
        e = lz_gv_dict_remove(*in, key, &there);
        lz_gv_release(key);
    }
    return e;
}

static const lz_builtin rows[] = {
    { "aten::Delete", "Dict", "d101", "", delete_item, LZ_BF_WRITES },
    { "aten::__contains__", "Dict", "d101", "b", contains, 0 },
    { "aten::__getitem__", "Dict", "d101", "0", get_item, 0 },
    { "aten::_set_item", "Dict", "d1010", "", set_item, LZ_BF_WRITES },
    { "aten::clear", "Dict", "d10", "", clear, LZ_BF_WRITES },
    { "aten::copy", "Dict", "d10", "d10", copy, LZ_BF_FRESH },
    { "aten::dict", "", "", "dsT", empty, LZ_BF_FRESH },
    { "aten::dict", "pairs", "[(10)", "d10", from_pairs, LZ_BF_FRESH },
    { "aten::dict", "Dict", "d10", "d10", copy, LZ_BF_FRESH },
    { "aten::get", "", "d101", "?0", get, 0 },
    { "aten::get", "default", "d1010", "0", get, 0 },
    { "aten::items", "", "d10", "[(10)", items, LZ_BF_FRESH },
    { "aten::keys", "", "d10", "[1", keys, LZ_BF_FRESH },
    { "aten::len", "Dict", "d10", "i", length, 0 },
    { "aten::pop", "Dict", "d101", "0", pop, LZ_BF_WRITES },
    { "aten::pop", "Dict_default", "d1010", "0", pop, LZ_BF_WRITES },
    { "aten::popitem", "", "d10", "(10)", pop_item, LZ_BF_WRITES },
    { "aten::setdefault", "", "d1010", "0", set_default, LZ_BF_WRITES },
    { "aten::update", "", "d10d10", "", update, LZ_BF_WRITES },
    { "aten::values", "", "d10", "[0", values, LZ_BF_FRESH },
};

const lz_builtin_table lz_builtins_dict = LZ_BUILTIN_TABLE(rows);
