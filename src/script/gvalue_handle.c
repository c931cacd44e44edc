#include "script/gvalue_handle.h"
#include "base/mem.h"
#include "core/array_handle.h"
#include "core/array_print.h"
#include "graph/graph_parse.h"
#include "script/xtensor.h"

struct lz_gvalue {
    atomic_size_t count;
    lz_gv v;
    lz_text text; /* the last one asked for */
};

/* ---- making ---- */

lz_err *lz_gvalue_create_from(lz_gv v, lz_gvalue **out)
{
    lz_gvalue *made = lz_mem_zalloc(1, sizeof *made);
    if (!made) {
        lz_gv_release(v);
        return lz_err_oom();
    }
    atomic_init(&made->count, 1);
    made->v = v;
    *out = made;
    return NULL;
}

lz_err *lz_gvalue_create_array(lz_array *a, lz_gvalue **out)
{
    lz_gv v = lz_gv_none();
    if (!a)
        return lz_errf(LZ_ERR_ARG, "no array is given");
    LZ_TRY(lz_xtensor_of_array(a, &v));
    return lz_gvalue_create_from(v, out);
}

/* A name that is no type would be called that, where a type may stand. */
static bool is_other_name(const lz_token *t)
{
    static const char *const words[] = { "None", "True", "False", "annotate", "inf", "nan" };
    bool other = t->kind == LZ_TK_NAME;
    for (size_t i = 0; other && i < sizeof words / sizeof *words; i++)
        other = !lz_token_names(t, words[i]);
    return other;
}

/* All of the text is one value. */
static lz_err *read_literal(lz_lexer *l, lz_type_table *types, lz_gv *out)
{
    const lz_type *type;
    lz_err *e = NULL;
    if (is_other_name(&l->tok))
        return lz_lexer_expected(l, "a value");
    LZ_TRY(lz_parse_literal(l, types, out, &type));
    if (l->tok.kind == LZ_TK_LINE)
        e = lz_lexer_next(l);
    if (!e && l->tok.kind != LZ_TK_END)
        e = lz_lexer_expected(l, "the end of the value");
    if (e)
        lz_gv_release(*out);
    return e;
}

lz_err *lz_gvalue_create_literal(lz_str text, lz_gvalue **out)
{
    lz_arena arena;
    lz_type_table types;
    lz_lexer lexer;
    lz_gv v = lz_gv_none();
    lz_arena_init(&arena);
    lz_type_table_init(&types, &arena);
    lz_err *e = lz_lexer_init(&lexer, NULL, text);
    if (!e)
        e = read_literal(&lexer, &types, &v);
    lz_type_table_deinit(&types);
    lz_arena_deinit(&arena);
    return e ? e : lz_gvalue_create_from(v, out);
}

static lz_err *check_items(lz_gvalue *const *items, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!items[i])
            return lz_errf(LZ_ERR_ARG, "there is no item %zu", i);
    return NULL;
}

lz_err *lz_gvalue_create_list(lz_gvalue_kind kind, lz_gvalue *const *items, size_t n, lz_gvalue **out)
{
    lz_gv list;
    lz_err *e = NULL;
    if (kind != LZ_GVALUE_LIST && kind != LZ_GVALUE_TUPLE)
        return lz_errf(LZ_ERR_ARG, "items make a list or a tuple");
    LZ_TRY(check_items(items, n));
    LZ_TRY(lz_gv_list_make(n, &list));
    for (size_t i = 0; !e && i < n; i++)
        e = lz_gv_push(list, lz_gv_retain(items[i]->v));
    if (e) {
        lz_gv_release(list);
        return e;
    }
    if (kind == LZ_GVALUE_TUPLE)
        list.list->box.kind = list.kind = LZ_GV_TUPLE;
    return lz_gvalue_create_from(list, out);
}

lz_err *lz_gvalue_create_dict(lz_gvalue *const *keys, lz_gvalue *const *values, size_t n, lz_gvalue **out)
{
    lz_gv dict;
    lz_err *e = NULL;
    LZ_TRY(check_items(keys, n));
    LZ_TRY(check_items(values, n));
    LZ_TRY(lz_gv_dict_make(&dict));
    for (size_t i = 0; !e && i < n; i++)
        e = lz_gv_dict_put(dict, lz_gv_retain(keys[i]->v), lz_gv_retain(values[i]->v));
    if (e) {
        lz_gv_release(dict);
        return e;
    }
    return lz_gvalue_create_from(dict, out);
}

lz_gvalue *lz_gvalue_retain(lz_gvalue *v)
{
    atomic_fetch_add_explicit(&v->count, 1, memory_order_relaxed);
    return v;
}

void lz_gvalue_release(lz_gvalue *v)
{
    if (!v || atomic_fetch_sub_explicit(&v->count, 1, memory_order_acq_rel) != 1)
        return;
    lz_gv_release(v->v);
    lz_text_deinit(&v->text);
    lz_mem_free(v);
}

/* ---- looking ---- */

lz_gvalue_kind lz_gvalue_kind_of(const lz_gvalue *v)
{
    static const lz_gvalue_kind kinds[LZ_GV_KINDS] = {
        [LZ_GV_NONE] = LZ_GVALUE_NONE,   [LZ_GV_BOOL] = LZ_GVALUE_BOOL,    [LZ_GV_INT] = LZ_GVALUE_INT,
        [LZ_GV_FLOAT] = LZ_GVALUE_FLOAT, [LZ_GV_STR] = LZ_GVALUE_STR,      [LZ_GV_DEVICE] = LZ_GVALUE_DEVICE,
        [LZ_GV_LIST] = LZ_GVALUE_LIST,   [LZ_GV_TUPLE] = LZ_GVALUE_TUPLE,  [LZ_GV_DICT] = LZ_GVALUE_DICT,
        [LZ_GV_ARRAY] = LZ_GVALUE_ARRAY, [LZ_GV_TENSOR] = LZ_GVALUE_ARRAY, [LZ_GV_OBJECT] = LZ_GVALUE_NONE,
    };
    return kinds[v->v.kind];
}

lz_scalar lz_gvalue_scalar(const lz_gvalue *v)
{
    lz_gv x = v->v;
    return x.kind == LZ_GV_INT     ? lz_scalar_int(x.i)
           : x.kind == LZ_GV_FLOAT ? lz_scalar_float(x.f)
           : x.kind == LZ_GV_BOOL  ? lz_scalar_bool(x.b)
                                   : lz_scalar_none();
}

lz_str lz_gvalue_str(const lz_gvalue *v)
{
    bool text = v->v.kind == LZ_GV_STR || v->v.kind == LZ_GV_DEVICE;
    return text ? lz_gv_text(v->v) : (lz_str){ NULL, 0 };
}

static bool is_sequence(lz_gv v)
{
    return v.kind == LZ_GV_LIST || v.kind == LZ_GV_TUPLE;
}

size_t lz_gvalue_count(const lz_gvalue *v)
{
    return is_sequence(v->v) ? v->v.list->len : v->v.kind == LZ_GV_DICT ? lz_gv_dict_count(v->v) : 0;
}

static const lz_gv_pair *pair_at(const lz_gvalue *v, size_t i)
{
    lz_map_entry *e = lz_map_next(&v->v.dict->map, NULL);
    while (i--)
        e = lz_map_next(&v->v.dict->map, e);
    return e->value;
}

static lz_err *check_index(const lz_gvalue *v, size_t i)
{
    if (i < lz_gvalue_count(v))
        return NULL;
    return lz_errf(LZ_ERR_ARG, "item %zu of a value with %zu", i, lz_gvalue_count(v));
}

lz_err *lz_gvalue_item(const lz_gvalue *v, size_t i, lz_gvalue **out)
{
    LZ_TRY(check_index(v, i));
    lz_gv item = is_sequence(v->v) ? v->v.list->data[i] : pair_at(v, i)->value;
    return lz_gvalue_create_from(lz_gv_retain(item), out);
}

lz_err *lz_gvalue_key(const lz_gvalue *v, size_t i, lz_gvalue **out)
{
    LZ_TRY(check_index(v, i));
    if (v->v.kind != LZ_GV_DICT)
        return lz_errf(LZ_ERR_ARG, "only dicts have keys");
    return lz_gvalue_create_from(lz_gv_retain(pair_at(v, i)->key), out);
}

lz_err *lz_gvalue_array(const lz_gvalue *v, lz_array **out)
{
    lz_array a;
    if (!lz_gv_is_tensor(v->v))
        return lz_errf(LZ_ERR_ARG, "the value is no array");
    LZ_TRY(lz_gv_read(v->v, &a));
    return lz_array_create_from(&a, out);
}

/* ---- text ---- */

static lz_err *print(lz_gv v, int depth, lz_text *out);

static lz_err *print_tensor(lz_gv v, lz_text *out)
{
    lz_array a;
    LZ_TRY(lz_gv_read(v, &a));
    lz_err *e = lz_array_print(&a, NULL, out);
    lz_array_deinit(&a);
    return e;
}

/* NOLINTNEXTLINE(misc-no-recursion): LZ_GV_DEPTH deep at most */
static lz_err *print_items(lz_gv v, int depth, lz_text *out)
{
    bool tuple = v.kind == LZ_GV_TUPLE;
    lz_text_putc(out, tuple ? '(' : '[');
    for (size_t i = 0; i < v.list->len; i++) {
        lz_text_puts(out, i ? ", " : "");
        LZ_TRY(print(v.list->data[i], depth - 1, out));
    }
    lz_text_puts(out, tuple && v.list->len == 1 ? ",)" : tuple ? ")" : "]");
    return NULL;
}

/* NOLINTNEXTLINE(misc-no-recursion): LZ_GV_DEPTH deep at most */
static lz_err *print_pairs(lz_gv v, int depth, lz_text *out)
{
    const char *comma = "{";
    for (lz_map_entry *e = lz_map_next(&v.dict->map, NULL); e; e = lz_map_next(&v.dict->map, e)) {
        const lz_gv_pair *p = e->value;
        lz_text_puts(out, comma);
        LZ_TRY(print(p->key, depth - 1, out));
        lz_text_puts(out, ": ");
        LZ_TRY(print(p->value, depth - 1, out));
        comma = ", ";
    }
    lz_text_puts(out, *comma == '{' ? "{}" : "}");
    return NULL;
}

/* NOLINTNEXTLINE(misc-no-recursion): LZ_GV_DEPTH deep at most */
static lz_err *print(lz_gv v, int depth, lz_text *out)
{
    if (depth == 0)
        return lz_errf(LZ_ERR_LIMIT, "values within values, more than %d deep", LZ_GV_DEPTH);
    if (lz_gv_is_tensor(v))
        return print_tensor(v, out);
    if (is_sequence(v))
        return print_items(v, depth, out);
    if (v.kind == LZ_GV_DICT)
        return print_pairs(v, depth, out);
    if (v.kind == LZ_GV_FLOAT)
        return lz_text_double(out, v.f), NULL;
    return lz_gv_repr(v, out);
}

lz_err *lz_gvalue_text(lz_gvalue *v, lz_str *out)
{
    lz_text_clear(&v->text);
    LZ_TRY(print(v->v, LZ_GV_DEPTH, &v->text));
    LZ_TRY(lz_text_check(&v->text));
    *out = lz_text_view(&v->text);
    return NULL;
}

/* ---- into a run ---- */

static lz_err *copy(lz_gv v, int depth, lz_gv *out);

static lz_err *copy_tensor(lz_gv v, lz_gv *out)
{
    lz_array a;
    LZ_TRY(lz_gv_read(v, &a));
    lz_err *e = lz_xtensor_of_array(&a, out);
    lz_array_deinit(&a);
    return e;
}

/* NOLINTNEXTLINE(misc-no-recursion): LZ_GV_DEPTH deep at most */
static lz_err *copy_items(lz_gv v, int depth, lz_gv *out)
{
    lz_err *e = NULL;
    LZ_TRY(lz_gv_list_make(v.list->len, out));
    for (size_t i = 0; !e && i < v.list->len; i++) {
        lz_gv item;
        e = copy(v.list->data[i], depth - 1, &item);
        e = e ? e : lz_gv_push(*out, item);
    }
    if (e)
        lz_gv_release(*out);
    else
        out->list->box.kind = out->kind = v.kind;
    return e;
}

/* NOLINTNEXTLINE(misc-no-recursion): LZ_GV_DEPTH deep at most */
static lz_err *copy_pairs(lz_gv v, int depth, lz_gv *out)
{
    lz_err *e = NULL;
    LZ_TRY(lz_gv_dict_make(out));
    for (lz_map_entry *i = lz_map_next(&v.dict->map, NULL); !e && i; i = lz_map_next(&v.dict->map, i)) {
        const lz_gv_pair *p = i->value;
        lz_gv value;
        e = copy(p->value, depth - 1, &value);
        e = e ? e : lz_gv_dict_put(*out, lz_gv_retain(p->key), value);
    }
    if (e)
        lz_gv_release(*out);
    return e;
}

/* NOLINTNEXTLINE(misc-no-recursion): LZ_GV_DEPTH deep at most */
static lz_err *copy(lz_gv v, int depth, lz_gv *out)
{
    if (depth == 0)
        return lz_errf(LZ_ERR_LIMIT, "values within values, more than %d deep", LZ_GV_DEPTH);
    if (lz_gv_is_tensor(v))
        return copy_tensor(v, out);
    if (is_sequence(v))
        return copy_items(v, depth, out);
    if (v.kind == LZ_GV_DICT)
        return copy_pairs(v, depth, out);
    *out = lz_gv_retain(v);
    return NULL;
}

/* The tensor without dimensions that PyTorch makes of a number, unless the type knows better. */
static lz_err *tensor_of_number(lz_gv v, const lz_type *type, lz_gv *out)
{
    lz_dtype d = v.kind == LZ_GV_FLOAT ? LZ_F32 : v.kind == LZ_GV_BOOL ? LZ_BOOL : LZ_I64;
    if (type->tensor && type->tensor->dtype != LZ_DTYPE_NONE)
        d = type->tensor->dtype;
    LZ_TRY(lz_gv_array_make(d, (lz_ints){ NULL, 0 }, false, out));
    lz_array_set(&out->array->array, 0,
                 v.kind == LZ_GV_FLOAT  ? lz_scalar_float(v.f)
                 : v.kind == LZ_GV_BOOL ? lz_scalar_bool(v.b)
                                        : lz_scalar_int(v.i));
    return NULL;
}

lz_err *lz_gv_for_run(const lz_gvalue *v, const lz_type *type, lz_gv *out)
{
    lz_gv x = v->v, fit = lz_gv_none();
    const lz_type *inner = type->kind == LZ_TY_OPTIONAL ? type->elem[0] : type;
    bool number = x.kind == LZ_GV_INT || x.kind == LZ_GV_FLOAT || x.kind == LZ_GV_BOOL;
    if (number && inner->kind == LZ_TY_TENSOR)
        LZ_TRY(tensor_of_number(x, inner, &fit));
    else
        LZ_TRY(lz_gv_coerce(lz_gv_retain(x), type, &fit));
    lz_err *e = copy(fit, LZ_GV_DEPTH, out);
    lz_gv_release(fit);
    return e;
}
