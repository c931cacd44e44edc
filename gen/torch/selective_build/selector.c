#include "gen/torch/selective_build/selector.h"
#include "base/json_write.h"
#include "base/vec.h"
#include <stdlib.h>

void lzg_selector_init(lzg_selector *s)
{
    *s = (lzg_selector){ 0 };
}

static void sets_deinit(lz_map *sets)
{
    for (lz_map_entry *e = lz_map_next(sets, NULL); e; e = lz_map_next(sets, e))
        lz_map_deinit(e->value);
    lz_map_deinit(sets);
}

void lzg_selector_deinit(lzg_selector *s)
{
    for (lz_map_entry *e = lz_map_next(&s->operators, NULL); e; e = lz_map_next(&s->operators, e))
        lzg_selected_op_deinit(e->value);
    lz_map_deinit(&s->operators);
    sets_deinit(&s->kernel_metadata);
    sets_deinit(&s->et_kernel_metadata);
    lz_map_deinit(&s->debug_info);
    lz_map_deinit(&s->custom_classes);
    lz_map_deinit(&s->build_features);
    lz_arena_deinit(&s->arena);
    *s = (lzg_selector){ 0 };
}

/* ---- building ---- */

static lz_err *add_op(lzg_selector *s, const lzg_selected_op *op)
{
    lzg_selected_op *own = lz_map_get(&s->operators, op->name);
    if (own)
        return lzg_selected_op_merge(own, &s->arena, op);
    LZ_TRY(lz_arena_new(&s->arena, &own, 1));
    LZ_TRY(lz_arena_copy(&s->arena, op->name, &own->name));
    LZ_TRY(lz_map_put(&s->operators, own->name, own));
    return lzg_selected_op_merge(own, &s->arena, op);
}

/* The set under a key of a map of sets, made if missing. */
static lz_err *set_of(lzg_selector *s, lz_map *sets, lz_str key, lzg_text_set **out)
{
    lz_str own;
    *out = lz_map_get(sets, key);
    if (*out)
        return NULL;
    LZ_TRY(lz_arena_copy(&s->arena, key, &own));
    LZ_TRY(lz_arena_new(&s->arena, out, 1));
    return lz_map_put(sets, own, *out);
}

static lz_err *merge_sets(lzg_selector *s, lz_map *into, const lz_map *from)
{
    for (lz_map_entry *e = lz_map_next(from, NULL); e; e = lz_map_next(from, e)) {
        lzg_text_set *set;
        LZ_TRY(set_of(s, into, e->key, &set));
        LZ_TRY(lzg_text_set_merge(set, &s->arena, e->value));
    }
    return NULL;
}

lz_err *lzg_selector_merge(lzg_selector *into, const lzg_selector *from)
{
    into->include_all_operators |= from->include_all_operators;
    into->include_all_non_op_selectives |= from->include_all_non_op_selectives;
    into->has_debug_info |= from->has_debug_info;
    for (lz_map_entry *e = lz_map_next(&from->operators, NULL); e; e = lz_map_next(&from->operators, e))
        LZ_TRY(add_op(into, e->value));
    LZ_TRY(merge_sets(into, &into->kernel_metadata, &from->kernel_metadata));
    LZ_TRY(merge_sets(into, &into->et_kernel_metadata, &from->et_kernel_metadata));
    LZ_TRY(lzg_text_set_merge(&into->debug_info, &into->arena, &from->debug_info));
    LZ_TRY(lzg_text_set_merge(&into->custom_classes, &into->arena, &from->custom_classes));
    return lzg_text_set_merge(&into->build_features, &into->arena, &from->build_features);
}

lz_err *lzg_selector_allow(lzg_selector *s, const lz_str *names, size_t n, bool root, bool training)
{
    s->include_all_non_op_selectives = true;
    for (size_t i = 0; i < n; i++) {
        lzg_selected_op op = { .name = names[i],
                               .is_root_operator = root,
                               .is_used_for_training = training,
                               .include_all_overloads = true };
        LZ_TRY(add_op(s, &op));
    }
    return NULL;
}

/* ---- reading ---- */

static lz_err *read_flag(const lzg_yaml *v, const char *name, bool *flag)
{
    if (v->kind != LZG_YAML_BOOL)
        return lz_err_at(LZ_ERR_MODEL, v->loc, "%s must be a boolean, not %s", name,
                         lzg_yaml_kind_name(v->kind));
    *flag |= v->truth;
    return NULL;
}

static lz_err *read_all_operators(lzg_selector *s, const lzg_yaml *v, lzg_diag *d)
{
    (void)d;
    return read_flag(v, "include_all_operators", &s->include_all_operators);
}

static lz_err *read_all_others(lzg_selector *s, const lzg_yaml *v, lzg_diag *d)
{
    (void)d;
    return read_flag(v, "include_all_non_op_selectives", &s->include_all_non_op_selectives);
}

static lz_err *read_debug_info(lzg_selector *s, const lzg_yaml *v, lzg_diag *d)
{
    (void)d;
    s->has_debug_info = true;
    return lzg_text_set_read(&s->debug_info, &s->arena, v, "debug_info");
}

/* Items of a Python set must be hashable. */
static lz_err *read_scalars(lzg_selector *s, const lzg_yaml *v, const char *what, lzg_text_set *out)
{
    for (size_t i = 0; v->kind == LZG_YAML_LIST && i < v->len; i++)
        if (v->items[i]->kind >= LZG_YAML_LIST)
            return lz_err_at(LZ_ERR_MODEL, v->items[i]->loc, "%s must hold names, not %s", what,
                             lzg_yaml_kind_name(v->items[i]->kind));
    return lzg_text_set_read(out, &s->arena, v, what);
}

static lz_err *read_classes(lzg_selector *s, const lzg_yaml *v, lzg_diag *d)
{
    (void)d;
    return read_scalars(s, v, "custom_classes", &s->custom_classes);
}

static lz_err *read_features(lzg_selector *s, const lzg_yaml *v, lzg_diag *d)
{
    (void)d;
    return read_scalars(s, v, "build_features", &s->build_features);
}

static lz_err *not_a_mapping(const lzg_yaml *v, const char *what)
{
    if (v->kind == LZG_YAML_MAP)
        return NULL;
    return lz_err_at(LZ_ERR_MODEL, v->loc, "%s must be a mapping, not %s", what, lzg_yaml_kind_name(v->kind));
}

static lz_err *read_operator(lzg_selector *s, const lzg_yaml *key, const lzg_yaml *info)
{
    lzg_selected_op op;
    LZ_TRY(lzg_selected_op_read(&op, &s->arena, key, info));
    lz_err *e = add_op(s, &op);
    lzg_selected_op_deinit(&op);
    return e;
}

static lz_err *read_operators(lzg_selector *s, const lzg_yaml *v, lzg_diag *d)
{
    LZ_TRY(not_a_mapping(v, "operators"));
    for (size_t i = 0; i < v->len; i++) {
        const lzg_yaml *key = v->items[2 * i];
        LZ_TRY(lzg_diag_take(d, read_operator(s, key, v->items[2 * i + 1]), key->loc, key->text));
    }
    return NULL;
}

static lz_err *read_set(lzg_selector *s, lz_map *sets, const lzg_yaml *key, const lzg_yaml *list,
                        const char *what)
{
    lz_str name;
    lzg_text_set *set;
    LZ_TRY(lzg_yaml_str(key, &s->arena, &name));
    LZ_TRY(set_of(s, sets, name, &set));
    return lzg_text_set_read(set, &s->arena, list, what);
}

static lz_err *read_sets(lzg_selector *s, lz_map *sets, const lzg_yaml *v, const char *what, lzg_diag *d)
{
    LZ_TRY(not_a_mapping(v, what));
    for (size_t i = 0; i < v->len; i++) {
        const lzg_yaml *key = v->items[2 * i];
        LZ_TRY(lzg_diag_take(d, read_set(s, sets, key, v->items[2 * i + 1], what), key->loc, key->text));
    }
    return NULL;
}

static lz_err *read_kernels(lzg_selector *s, const lzg_yaml *v, lzg_diag *d)
{
    return read_sets(s, &s->kernel_metadata, v, "kernel_metadata", d);
}

static lz_err *read_et_kernels(lzg_selector *s, const lzg_yaml *v, lzg_diag *d)
{
    return read_sets(s, &s->et_kernel_metadata, v, "et_kernel_metadata", d);
}

static const struct {
    const char *key;
    lz_err *(*read)(lzg_selector *s, const lzg_yaml *v, lzg_diag *d);
} fields[] = {
    { "include_all_operators", read_all_operators },
    { "include_all_non_op_selectives", read_all_others },
    { "debug_info", read_debug_info },
    { "operators", read_operators },
    { "kernel_metadata", read_kernels },
    { "et_kernel_metadata", read_et_kernels },
    { "custom_classes", read_classes },
    { "build_features", read_features },
};

static lz_err *read_field(lzg_selector *s, const lzg_yaml *key, const lzg_yaml *value, lzg_diag *d)
{
    for (size_t i = 0; key->kind == LZG_YAML_STR && i < sizeof fields / sizeof *fields; i++)
        if (lz_str_is(key->text, fields[i].key))
            return fields[i].read(s, value, d);
    return lz_err_at(LZ_ERR_MODEL, key->loc, "a selective build has no field '%.*s'", LZ_FMT(key->text));
}

lz_err *lzg_selector_read(lzg_selector *s, const lzg_yaml *doc, lzg_diag *d)
{
    lz_err *e = not_a_mapping(doc, "a selective build");
    if (e)
        return lzg_diag_take(d, e, doc->loc, LZ_STR(""));
    for (size_t i = 0; i < doc->len; i++) {
        const lzg_yaml *key = doc->items[2 * i];
        LZ_TRY(lzg_diag_take(d, read_field(s, key, doc->items[2 * i + 1], d), key->loc, LZ_STR("")));
    }
    return NULL;
}

lz_err *lzg_selector_load(lzg_selector *s, const char *path, lzg_diag *d)
{
    lz_arena a = { 0 };
    const lzg_yaml *doc;
    lz_err *e = lzg_yaml_load(&a, path, &doc);
    if (!e)
        e = lzg_selector_read(s, doc, d);
    else if (lz_err_loc(e).line)
        e = lzg_diag_take(d, e, (lz_loc){ 0 }, LZ_STR(""));
    lz_arena_deinit(&a);
    return e;
}

/* ---- asking ---- */

const lzg_selected_op *lzg_selector_find(const lzg_selector *s, lz_str name)
{
    const lzg_selected_op *op = lz_map_get(&s->operators, name);
    if (op)
        return op;
    op = lz_map_get(&s->operators, lzg_strip_overload(name));
    return op && op->include_all_overloads ? op : NULL;
}

bool lzg_selector_has(const lzg_selector *s, lz_str name)
{
    return s->include_all_operators || lzg_selector_find(s, name);
}

bool lzg_selector_trains(const lzg_selector *s, lz_str name)
{
    const lzg_selected_op *op = lz_map_get(&s->operators, name);
    const lzg_selected_op *base = lz_map_get(&s->operators, lzg_strip_overload(name));
    return s->include_all_operators || (op && op->is_used_for_training)
           || (base && base->include_all_overloads && base->is_used_for_training);
}

bool lzg_selector_is_root(const lzg_selector *s, lz_str name)
{
    const lzg_selected_op *op = lzg_selector_find(s, name);
    return s->include_all_operators || (op && op->is_root_operator);
}

bool lzg_selector_has_dtype(const lzg_selector *s, lz_str kernel_tag, lz_str dtype)
{
    const lzg_text_set *dtypes = lz_map_get(&s->kernel_metadata, kernel_tag);
    return s->include_all_operators || s->include_all_non_op_selectives
           || (dtypes && lz_map_find(dtypes, dtype));
}

static lz_err *ask(const lzg_selector *s, const lzg_function *f, bool (*query)(const lzg_selector *, lz_str),
                   bool *out)
{
    lz_text t = { 0 };
    lz_text_printf(&t, "%.*s::%.*s", LZ_FMT(f->ns), LZ_FMT(f->func->name.text));
    lz_err *e = lz_text_check(&t);
    if (!e)
        *out = query(s, lz_text_view(&t));
    lz_text_deinit(&t);
    return e;
}

lz_err *lzg_selector_has_function(const lzg_selector *s, const lzg_function *f, bool *out)
{
    return ask(s, f, lzg_selector_has, out);
}

lz_err *lzg_selector_trains_function(const lzg_selector *s, const lzg_function *f, bool *out)
{
    return ask(s, f, lzg_selector_trains, out);
}

/* The text between the first and the second slash: "v1/7;0,1|..." without its version. */
static bool unversioned(lz_str key, lz_str *out)
{
    bool more = true;
    lz_str_cut(&key, LZ_STR("/"), &more);
    if (!more)
        return false;
    *out = lz_str_cut(&key, LZ_STR("/"), &more);
    return true;
}

/* Each of Python's split("/")[1] is an error where there is no slash. */
static lz_err *cover(lz_str wanted, const lz_str *keys, size_t n, lz_str *out)
{
    lz_str body = { 0 }, own = { 0 };
    bool has_default = false;
    for (size_t i = 0; i < n; i++) {
        if (lz_str_is(keys[i], "default")) {
            has_default = true;
            continue;
        }
        if (!unversioned(keys[i], &own) || !unversioned(wanted, &body))
            return lz_errf(LZ_ERR_ARG, "'%.*s' and '%.*s' are no kernel keys", LZ_FMT(keys[i]),
                           LZ_FMT(wanted));
        if (lz_str_eq(own, body)) {
            *out = keys[i];
            return NULL;
        }
    }
    *out = LZ_STR("default");
    return has_default ? NULL : lz_errf(LZ_ERR_NOT_FOUND, "no kernel for '%.*s'", LZ_FMT(wanted));
}

lz_err *lzg_selector_et_kernels(const lzg_selector *s, lz_str op, const lz_str *keys, size_t n,
                                lzg_text_set *out)
{
    const lzg_text_set *used = lz_map_get(&s->et_kernel_metadata, op);
    for (size_t i = 0; !used && s->include_all_operators && i < n; i++)
        LZ_TRY(lz_map_put(out, keys[i], NULL));
    for (lz_map_entry *e = used ? lz_map_next(used, NULL) : NULL; e; e = lz_map_next(used, e)) {
        lz_str key;
        LZ_TRY(cover(e->key, keys, n, &key));
        LZ_TRY(lz_map_put(out, key, NULL));
    }
    return NULL;
}

/* ---- printing ---- */

static int by_key(const void *a, const void *b)
{
    return lz_str_cmp((*(const lz_map_entry *const *)a)->key, (*(const lz_map_entry *const *)b)->key);
}

typedef lz_err *put_entry(lz_json_writer *w, const lz_map_entry *e);

static lz_err *each_sorted(const lz_map *m, lz_json_writer *w, put_entry *put)
{
    LZ_VEC(const lz_map_entry *) v = { 0 };
    lz_err *err = NULL;
    for (lz_map_entry *e = lz_map_next(m, NULL); !err && e; e = lz_map_next(m, e))
        err = lz_vec_push(&v, e);
    if (v.len)
        qsort(v.data, v.len, sizeof *v.data, by_key);
    for (size_t i = 0; !err && i < v.len; i++)
        err = put(w, v.data[i]);
    lz_vec_deinit(&v);
    return err;
}

static lz_err *put_text(lz_json_writer *w, const lz_map_entry *e)
{
    lz_json_put_str(w, e->key);
    return NULL;
}

static lz_err *put_set(lz_json_writer *w, lz_str key, const lzg_text_set *set)
{
    lz_json_put_key_str(w, key);
    lz_json_begin_array(w);
    LZ_TRY(each_sorted(set, w, put_text));
    lz_json_end_array(w);
    return NULL;
}

static lz_err *put_named_set(lz_json_writer *w, const lz_map_entry *e)
{
    return put_set(w, e->key, e->value);
}

static void put_flag(lz_json_writer *w, const char *key, bool flag)
{
    lz_json_put_key(w, key);
    lz_json_put_bool(w, flag);
}

static lz_err *put_op(lz_json_writer *w, const lz_map_entry *e)
{
    const lzg_selected_op *op = e->value;
    lz_json_put_key_str(w, op->name);
    lz_json_begin_object(w);
    put_flag(w, "is_root_operator", op->is_root_operator);
    put_flag(w, "is_used_for_training", op->is_used_for_training);
    put_flag(w, "include_all_overloads", op->include_all_overloads);
    if (op->has_debug_info)
        LZ_TRY(put_set(w, LZ_STR("debug_info"), &op->debug_info));
    lz_json_end_object(w);
    return NULL;
}

static lz_err *put_map(lz_json_writer *w, const char *key, const lz_map *m, put_entry *put)
{
    lz_json_put_key(w, key);
    lz_json_begin_object(w);
    LZ_TRY(each_sorted(m, w, put));
    lz_json_end_object(w);
    return NULL;
}

lz_err *lzg_selector_print(const lzg_selector *s, lz_text *out)
{
    lz_json_writer w;
    lz_json_writer_init(&w, out, 1);
    lz_json_begin_object(&w);
    put_flag(&w, "include_all_non_op_selectives", s->include_all_non_op_selectives);
    put_flag(&w, "include_all_operators", s->include_all_operators);
    LZ_TRY(put_map(&w, "operators", &s->operators, put_op));
    if (s->has_debug_info)
        LZ_TRY(put_set(&w, LZ_STR("debug_info"), &s->debug_info));
    LZ_TRY(put_map(&w, "kernel_metadata", &s->kernel_metadata, put_named_set));
    LZ_TRY(put_map(&w, "et_kernel_metadata", &s->et_kernel_metadata, put_named_set));
    LZ_TRY(put_set(&w, LZ_STR("custom_classes"), &s->custom_classes));
    LZ_TRY(put_set(&w, LZ_STR("build_features"), &s->build_features));
    lz_json_end_object(&w);
    return lz_json_finish(&w);
}
