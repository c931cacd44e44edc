#include "graph/gvalue.h"
#include "base/mem.h"
#include "base/vec.h"
#include "core/strides.h"

/* ---- making ---- */

static void *make_box(lz_gv_kind kind, size_t size, lz_gv *out)
{
    lz_gv_box *b = lz_mem_zalloc(1, size);
    if (b) {
        atomic_init(&b->count, 1);
        b->kind = kind;
        *out = (lz_gv){ .kind = kind, .box = b };
    }
    return b;
}

static lz_err *make_string(lz_gv_kind kind, lz_str text, lz_gv *out)
{
    lz_gv_string *s = make_box(kind, sizeof *s + text.len + 1, out);
    if (!s)
        return lz_err_oom();
    s->len = text.len;
    if (text.len)
        memcpy(s->text, text.ptr, text.len);
    return NULL;
}

lz_err *lz_gv_str(lz_str text, lz_gv *out)
{
    if (text.len > LZ_GV_TEXT_MAX)
        return lz_errf(LZ_ERR_LIMIT, "a string of %zu bytes: a string of a graph has at most %d", text.len,
                       LZ_GV_TEXT_MAX);
    return make_string(LZ_GV_STR, text, out);
}

lz_err *lz_gv_device(lz_str text, lz_gv *out)
{
    return make_string(LZ_GV_DEVICE, text, out);
}

lz_err *lz_gv_list_make(size_t room, lz_gv *out)
{
    lz_gv_list *l = make_box(LZ_GV_LIST, sizeof *l, out);
    if (!l)
        return lz_err_oom();
    lz_err *e = room ? lz_vec_grow(&l->data, sizeof *l->data, room) : NULL;
    if (e)
        lz_gv_release(*out);
    return e;
}

lz_err *lz_gv_tuple(const lz_gv *values, size_t n, lz_gv *out)
{
    lz_gv made;
    lz_err *e = lz_gv_list_make(n, &made);
    for (size_t i = 0; e && i < n; i++)
        lz_gv_release(values[i]);
    LZ_TRY(e);
    if (n)
        memcpy(made.list->data, values, n * sizeof *values);
    made.list->len = n;
    made.list->box.kind = made.kind = LZ_GV_TUPLE;
    *out = made;
    return NULL;
}

lz_err *lz_gv_dict_make(lz_gv *out)
{
    return make_box(LZ_GV_DICT, sizeof(lz_gv_dict), out) ? NULL : lz_err_oom();
}

lz_err *lz_gv_array_wrap(lz_array *array, lz_gv *out)
{
    lz_gv_array *a = make_box(LZ_GV_ARRAY, sizeof *a, out);
    if (!a) {
        lz_array_deinit(array);
        return lz_err_oom();
    }
    a->array = *array;
    return NULL;
}

lz_err *lz_gv_array_make(lz_dtype dtype, lz_ints sizes, bool unknown, lz_gv *out)
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
    return lz_gv_array_wrap(&a, out);
}

lz_gv lz_gv_tensor_init(lz_gv_tensor *t, lz_gv_kind kind, const lz_tensor_class *cls)
{
    t->box.kind = kind;
    t->box.next = NULL;
    t->cls = cls;
    atomic_init(&t->box.count, 1);
    return (lz_gv){ .kind = kind, .tensor = t };
}

/* ---- counting ---- */

lz_gv lz_gv_retain(lz_gv v)
{
    if (v.kind >= LZ_GV_BOXED)
        atomic_fetch_add_explicit(&v.box->count, 1, memory_order_relaxed);
    return v;
}

/* Gives one count back; a box without any is put on the list of what is to be freed. */
static void drop(lz_gv v, lz_gv_box **dead)
{
    if (v.kind < LZ_GV_BOXED || atomic_fetch_sub_explicit(&v.box->count, 1, memory_order_acq_rel) != 1)
        return;
    v.box->next = *dead;
    *dead = v.box;
}

static void drop_list(lz_gv_box *b, lz_gv_box **dead)
{
    lz_gv_list *l = (lz_gv_list *)b;
    for (size_t i = 0; i < l->len; i++)
        drop(l->data[i], dead);
    lz_mem_free(l->data);
    lz_mem_free(l);
}

static void drop_dict(lz_gv_box *b, lz_gv_box **dead)
{
    lz_gv_dict *d = (lz_gv_dict *)b;
    for (lz_map_entry *e = lz_map_next(&d->map, NULL); e; e = lz_map_next(&d->map, e)) {
        lz_gv_pair *p = e->value;
        drop(p->key, dead);
        drop(p->value, dead);
        lz_mem_free(p);
    }
    lz_map_deinit(&d->map);
    lz_mem_free(d);
}

static void drop_plain(lz_gv_box *b, lz_gv_box **dead)
{
    (void)dead;
    lz_mem_free(b);
}

static void drop_array(lz_gv_box *b, lz_gv_box **dead)
{
    (void)dead;
    lz_array_deinit(&((lz_gv_array *)b)->array);
    lz_mem_free(b);
}

static void drop_tensor(lz_gv_box *b, lz_gv_box **dead)
{
    lz_gv_tensor *t = (lz_gv_tensor *)b;
    (void)dead;
    t->cls->drop(t);
}

typedef void drop_fn(lz_gv_box *b, lz_gv_box **dead);

static drop_fn *const drop_fns[LZ_GV_KINDS] = {
    [LZ_GV_STR] = drop_plain,     [LZ_GV_DEVICE] = drop_plain,  [LZ_GV_LIST] = drop_list,
    [LZ_GV_TUPLE] = drop_list,    [LZ_GV_DICT] = drop_dict,     [LZ_GV_ARRAY] = drop_array,
    [LZ_GV_TENSOR] = drop_tensor, [LZ_GV_OBJECT] = drop_tensor,
};

/* Lists in lists are freed one after the other, not one within the other. */
void lz_gv_release(lz_gv v)
{
    lz_gv_box *dead = NULL;
    drop(v, &dead);
    while (dead) {
        lz_gv_box *b = dead;
        dead = b->next;
        drop_fns[b->kind](b, &dead);
    }
}

void lz_gv_set(lz_gv *place, lz_gv v)
{
    lz_gv old = *place;
    *place = v;
    lz_gv_release(old);
}

lz_err *lz_gv_push(lz_gv list, lz_gv v)
{
    lz_gv_list *l = list.list;
    lz_err *e = l->len < l->cap ? NULL : lz_vec_grow(&l->data, sizeof *l->data, 1);
    if (e)
        lz_gv_release(v);
    else
        l->data[l->len++] = v;
    return e;
}

/* ---- dicts ---- */

/* Bytes that are equal for equal keys: 0.0 and -0.0 are one key. */
static lz_err *key_bytes(lz_gv key, char code[9], lz_str *out)
{
    double f = key.f == 0 ? 0 : key.f;
    int64_t i = key.kind == LZ_GV_BOOL ? key.b : key.i;
    if (key.kind == LZ_GV_STR) {
        *out = lz_gv_text(key);
        return NULL;
    }
    if (key.kind != LZ_GV_INT && key.kind != LZ_GV_BOOL && key.kind != LZ_GV_FLOAT)
        return lz_errf(LZ_ERR_ARG, "TypeError: a key is a string or a number");
    code[0] = (char)key.kind;
    memcpy(code + 1, key.kind == LZ_GV_FLOAT ? (const void *)&f : (const void *)&i, 8);
    *out = (lz_str){ code, 9 };
    return NULL;
}

static lz_err *add_pair(lz_gv_dict *d, lz_gv key, lz_gv value)
{
    lz_str bytes;
    lz_gv_pair *p = lz_mem_zalloc(1, sizeof *p);
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

lz_err *lz_gv_dict_put(lz_gv dict, lz_gv key, lz_gv value)
{
    lz_gv *old = NULL;
    lz_err *e = lz_gv_dict_get(dict, key, &old);
    if (!e && !old)
        e = add_pair(dict.dict, key, value);
    else if (!e)
        lz_gv_set(old, lz_gv_retain(value));
    if (e || old) {
        lz_gv_release(key);
        lz_gv_release(value);
    }
    return e;
}

lz_err *lz_gv_dict_get(lz_gv dict, lz_gv key, lz_gv **out)
{
    char code[9];
    lz_str bytes;
    LZ_TRY(key_bytes(key, code, &bytes));
    lz_gv_pair *p = lz_map_get(&dict.dict->map, bytes);
    *out = p ? &p->value : NULL;
    return NULL;
}

lz_err *lz_gv_dict_remove(lz_gv dict, lz_gv key, bool *out)
{
    char code[9];
    lz_str bytes;
    LZ_TRY(key_bytes(key, code, &bytes));
    lz_gv_pair *p = lz_map_get(&dict.dict->map, bytes);
    *out = p && lz_map_remove(&dict.dict->map, bytes);
    if (p) {
        lz_gv_release(p->key);
        lz_gv_release(p->value);
        lz_mem_free(p);
    }
    return NULL;
}

size_t lz_gv_dict_count(lz_gv dict)
{
    return lz_map_count(&dict.dict->map);
}
