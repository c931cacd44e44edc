#include "graph/script_value.h"
#include "base/mem.h"
#include "base/vec.h"
#include "core/strides.h"

/* ---- creation ---- */

static void *make_box(lz_script_value_kind kind, size_t size, lz_script_value *out)
{
    lz_script_value_box *b = lz_mem_zalloc(1, size);
    if (b) {
        atomic_init(&b->count, 1);
        b->kind = kind;
        *out = (lz_script_value){ .kind = kind, .box = b };
    }
    return b;
}

static lz_err *make_string(lz_script_value_kind kind, lz_str text, lz_script_value *out)
{
    lz_script_value_string *s = make_box(kind, sizeof *s + text.len + 1, out);
    if (!s)
        return lz_err_oom();
    s->len = text.len;
    if (text.len)
        memcpy(s->text, text.ptr, text.len);
    return NULL;
}

lz_err *lz_script_value_str(lz_str text, lz_script_value *out)
{
    if (text.len > LZ_SCRIPT_VALUE_TEXT_MAX)
        return lz_errf(LZ_ERR_LIMIT, "a string of %zu bytes: a string of a graph has at most %d", text.len,
                       LZ_SCRIPT_VALUE_TEXT_MAX);
    return make_string(LZ_SCRIPT_VALUE_STR, text, out);
}

lz_err *lz_script_value_device(lz_str text, lz_script_value *out)
{
    return make_string(LZ_SCRIPT_VALUE_DEVICE, text, out);
}

lz_err *lz_script_value_list_make(size_t room, lz_script_value *out)
{
    lz_script_value_list *l = make_box(LZ_SCRIPT_VALUE_LIST, sizeof *l, out);
    if (!l)
        return lz_err_oom();
    lz_err *e = room ? lz_vec_grow(&l->data, sizeof *l->data, room) : NULL;
    if (e) {
        lz_script_value_release(*out);
        *out = lz_script_value_none(); /* callers release what a failed call left */
    }
    return e;
}

lz_err *lz_script_value_tuple(const lz_script_value *values, size_t n, lz_script_value *out)
{
    lz_script_value made;
    lz_err *e = lz_script_value_list_make(n, &made);
    for (size_t i = 0; e && i < n; i++)
        lz_script_value_release(values[i]);
    LZ_TRY(e);
    if (n)
        memcpy(made.list->data, values, n * sizeof *values);
    made.list->len = n;
    made.list->box.kind = made.kind = LZ_SCRIPT_VALUE_TUPLE;
    *out = made;
    return NULL;
}

lz_err *lz_script_value_dict_make(lz_script_value *out)
{
    return make_box(LZ_SCRIPT_VALUE_DICT, sizeof(lz_script_value_dict), out) ? NULL : lz_err_oom();
}

lz_err *lz_script_value_array_wrap(lz_array *array, lz_script_value *out)
{
    lz_script_value_array *a = make_box(LZ_SCRIPT_VALUE_ARRAY, sizeof *a, out);
    if (!a) {
        lz_array_deinit(array);
        return lz_err_oom();
    }
    a->array = *array;
    return NULL;
}

lz_err *lz_script_value_array_make(lz_dtype dtype, lz_ints sizes, bool unknown, lz_script_value *out)
{
    lz_array a = { .dtype = dtype };
    if (unknown) {
        LZ_TRY(lz_shape_check(sizes));
        LZ_TRY(lz_shape_copy(sizes, &a.sizes));
        LZ_TRY(lz_shape_numel(sizes, &a.numel));
        LZ_TRY(lz_strides_contiguous(sizes, &a.strides));
    } else {
        LZ_TRY(lz_array_init_zero(&a, NULL, dtype, sizes));
    }
    return lz_script_value_array_wrap(&a, out);
}

lz_script_value lz_script_value_tensor_init(lz_script_value_tensor *t, lz_script_value_kind kind,
                                            const lz_tensor_class *cls)
{
    t->box.kind = kind;
    t->box.next = NULL;
    t->cls = cls;
    atomic_init(&t->box.count, 1);
    return (lz_script_value){ .kind = kind, .tensor = t };
}

/* ---- counting ---- */

lz_script_value lz_script_value_retain(lz_script_value v)
{
    if (v.kind >= LZ_SCRIPT_VALUE_BOXED)
        atomic_fetch_add_explicit(&v.box->count, 1, memory_order_relaxed);
    return v;
}

/* Drops one reference; a box without any is put on the list `dead`. */
static void drop(lz_script_value v, lz_script_value_box **dead)
{
    if (v.kind < LZ_SCRIPT_VALUE_BOXED
        || atomic_fetch_sub_explicit(&v.box->count, 1, memory_order_acq_rel) != 1)
        return;
    v.box->next = *dead;
    *dead = v.box;
}

static void drop_list(lz_script_value_box *b, lz_script_value_box **dead)
{
    lz_script_value_list *l = (lz_script_value_list *)b;
    for (size_t i = 0; i < l->len; i++)
        drop(l->data[i], dead);
    lz_mem_free(l->data);
    lz_mem_free(l);
}

static void drop_dict(lz_script_value_box *b, lz_script_value_box **dead)
{
    lz_script_value_dict *d = (lz_script_value_dict *)b;
    for (lz_map_entry *e = lz_map_next(&d->map, NULL); e; e = lz_map_next(&d->map, e)) {
        lz_script_value_pair *p = e->value;
        drop(p->key, dead);
        drop(p->value, dead);
        lz_mem_free(p);
    }
    lz_map_deinit(&d->map);
    lz_mem_free(d);
}

static void drop_plain(lz_script_value_box *b, lz_script_value_box **dead)
{
    (void)dead;
    lz_mem_free(b);
}

static void drop_array(lz_script_value_box *b, lz_script_value_box **dead)
{
    (void)dead;
    lz_array_deinit(&((lz_script_value_array *)b)->array);
    lz_mem_free(b);
}

static void drop_tensor(lz_script_value_box *b, lz_script_value_box **dead)
{
    lz_script_value_tensor *t = (lz_script_value_tensor *)b;
    (void)dead;
    t->cls->drop(t);
}

typedef void drop_fn(lz_script_value_box *b, lz_script_value_box **dead);

static drop_fn *const drop_fns[LZ_SCRIPT_VALUE_KINDS] = {
    [LZ_SCRIPT_VALUE_STR] = drop_plain,     [LZ_SCRIPT_VALUE_DEVICE] = drop_plain,
    [LZ_SCRIPT_VALUE_LIST] = drop_list,     [LZ_SCRIPT_VALUE_TUPLE] = drop_list,
    [LZ_SCRIPT_VALUE_DICT] = drop_dict,     [LZ_SCRIPT_VALUE_ARRAY] = drop_array,
    [LZ_SCRIPT_VALUE_TENSOR] = drop_tensor, [LZ_SCRIPT_VALUE_OBJECT] = drop_tensor,
};

/* Frees nested lists iteratively, without recursion. */
void lz_script_value_release(lz_script_value v)
{
    lz_script_value_box *dead = NULL;
    drop(v, &dead);
    while (dead) {
        lz_script_value_box *b = dead;
        dead = b->next;
        drop_fns[b->kind](b, &dead);
    }
}

void lz_script_value_set(lz_script_value *place, lz_script_value v)
{
    lz_script_value old = *place;
    *place = v;
    lz_script_value_release(old);
}

lz_err *lz_script_value_push(lz_script_value list, lz_script_value v)
{
    lz_script_value_list *l = list.list;
    lz_err *e = l->len < l->cap ? NULL : lz_vec_grow(&l->data, sizeof *l->data, 1);
    if (e)
        lz_script_value_release(v);
    else
        l->data[l->len++] = v;
    return e;
}

/* NOLINTNEXTLINE(misc-no-recursion): fn counts the depth down */
lz_err *lz_script_value_map_items(lz_script_value v, lz_script_value_map_fn *fn, void *user, int depth,
                                  lz_script_value *out)
{
    lz_script_value list, item = lz_script_value_none();
    lz_err *e = NULL;
    *out = lz_script_value_none();
    LZ_TRY(lz_script_value_list_make(v.list->len, &list));
    for (size_t i = 0; !e && i < v.list->len; i++) {
        e = fn(user, v.list->data[i], depth, &item);
        e = e ? e : lz_script_value_push(list, item);
    }
    if (e) {
        lz_script_value_release(list);
        return e;
    }
    list.list->box.kind = list.kind = v.kind;
    *out = list;
    return NULL;
}

/* ---- dicts ---- */

/* Bytes that are equal for equal keys: 0.0 and -0.0 are one key. */
static lz_err *key_bytes(lz_script_value key, char code[9], lz_str *out)
{
    double f = key.f == 0 ? 0 : key.f;
    int64_t i = key.kind == LZ_SCRIPT_VALUE_BOOL ? key.b : key.i;
    if (key.kind == LZ_SCRIPT_VALUE_STR) {
        *out = lz_script_value_text(key);
        return NULL;
    }
    if (key.kind != LZ_SCRIPT_VALUE_INT && key.kind != LZ_SCRIPT_VALUE_BOOL
        && key.kind != LZ_SCRIPT_VALUE_FLOAT)
        return lz_errf(LZ_ERR_ARG, "TypeError: a key is a string or a number");
    code[0] = (char)key.kind;
    memcpy(code + 1, key.kind == LZ_SCRIPT_VALUE_FLOAT ? (const void *)&f : (const void *)&i, 8);
    *out = (lz_str){ code, 9 };
    return NULL;
}

static lz_err *add_pair(lz_script_value_dict *d, lz_script_value key, lz_script_value value)
{
    lz_str bytes;
    lz_script_value_pair *p = lz_mem_zalloc(1, sizeof *p);
    lz_err *e = p ? key_bytes(key, p->code, &bytes) : lz_err_oom();
    e = e ? e : lz_map_put(&d->map, bytes, p);
    if (e) {
        lz_mem_free(p);
        return e;
    }
    p->key = key;
    p->value = value;
    return NULL;
}

lz_err *lz_script_value_dict_put(lz_script_value dict, lz_script_value key, lz_script_value value)
{
    lz_script_value *old = NULL;
    lz_err *e = lz_script_value_dict_get(dict, key, &old);
    if (!e && !old)
        e = add_pair(dict.dict, key, value);
    else if (!e)
        lz_script_value_set(old, lz_script_value_retain(value));
    if (e || old) {
        lz_script_value_release(key);
        lz_script_value_release(value);
    }
    return e;
}

lz_err *lz_script_value_dict_get(lz_script_value dict, lz_script_value key, lz_script_value **out)
{
    char code[9];
    lz_str bytes;
    LZ_TRY(key_bytes(key, code, &bytes));
    lz_script_value_pair *p = lz_map_get(&dict.dict->map, bytes);
    *out = p ? &p->value : NULL;
    return NULL;
}

lz_err *lz_script_value_dict_remove(lz_script_value dict, lz_script_value key, bool *out)
{
    char code[9];
    lz_str bytes;
    LZ_TRY(key_bytes(key, code, &bytes));
    lz_script_value_pair *p = lz_map_get(&dict.dict->map, bytes);
    *out = p && lz_map_remove(&dict.dict->map, bytes);
    if (p) {
        lz_script_value_release(p->key);
        lz_script_value_release(p->value);
        lz_mem_free(p);
    }
    return NULL;
}

size_t lz_script_value_dict_count(lz_script_value dict)
{
    return lz_map_count(&dict.dict->map);
}
