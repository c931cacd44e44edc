#include "script/script_value_handle.h"
#include "base/mem.h"
#include "core/array_handle.h"
#include "core/array_print.h"
#include "graph/graph_parse.h"
#include "script/script_tensor.h"

struct lz_gvalue {
    atomic_size_t count;
    lz_script_value v;
    lz_text text; /* the last text that lz_gvalue_text returned */
};

/* ---- creating ---- */

lz_err *lz_gvalue_create_from(lz_script_value v, lz_gvalue **out)
{
    lz_gvalue *made = lz_mem_zalloc(1, sizeof *made);
    if (!made) {
        lz_script_value_release(v);
        return lz_err_oom();
    }
    atomic_init(&made->count, 1);
    made->v = v;
    *out = made;
    return NULL;
}

lz_err *lz_gvalue_create_array(lz_array *a, lz_gvalue **out)
{
    lz_script_value v = lz_script_value_none();
    if (!a)
        return lz_errf(LZ_ERR_ARG, "expected an array, found NULL");
    LZ_TRY(lz_script_tensor_of_array(a, &v));
    return lz_gvalue_create_from(v, out);
}

/* Whether a token is an unknown name where a type may stand: the lexer would report it as an unknown type. */
static bool is_other_name(const lz_token *t)
{
    static const char *const words[] = { "None", "True", "False", "annotate", "inf", "nan" };
    bool other = t->kind == LZ_TOKEN_NAME;
    for (size_t i = 0; other && i < sizeof words / sizeof *words; i++)
        other = !lz_token_names(t, words[i]);
    return other;
}

/* Reads the whole text as one value. */
static lz_err *read_literal(lz_lexer *l, lz_type_table *types, lz_script_value *out)
{
    const lz_type *type;
    lz_err *e = NULL;
    if (is_other_name(&l->tok))
        return lz_lexer_expected(l, "a value");
    LZ_TRY(lz_parse_literal(l, types, out, &type));
    if (l->tok.kind == LZ_TOKEN_LINE)
        e = lz_lexer_next(l);
    if (!e && l->tok.kind != LZ_TOKEN_END)
        e = lz_lexer_expected(l, "the end of the value");
    if (e)
        lz_script_value_release(*out);
    return e;
}

lz_err *lz_gvalue_create_literal(lz_str text, lz_gvalue **out)
{
    lz_arena arena;
    lz_type_table types;
    lz_lexer lexer;
    lz_script_value v = lz_script_value_none();
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
            return lz_errf(LZ_ERR_ARG, "item %zu does not exist", i);
    return NULL;
}

lz_err *lz_gvalue_create_list(lz_gvalue_kind kind, lz_gvalue *const *items, size_t n, lz_gvalue **out)
{
    lz_script_value list;
    lz_err *e = NULL;
    if (kind != LZ_GVALUE_LIST && kind != LZ_GVALUE_TUPLE)
        return lz_errf(LZ_ERR_ARG, "expected the kind list or tuple");
    LZ_TRY(check_items(items, n));
    LZ_TRY(lz_script_value_list_make(n, &list));
    for (size_t i = 0; !e && i < n; i++)
        e = lz_script_value_push(list, lz_script_value_retain(items[i]->v));
    if (e) {
        lz_script_value_release(list);
        return e;
    }
    if (kind == LZ_GVALUE_TUPLE)
        list.list->box.kind = list.kind = LZ_SCRIPT_VALUE_TUPLE;
    return lz_gvalue_create_from(list, out);
}

lz_err *lz_gvalue_create_dict(lz_gvalue *const *keys, lz_gvalue *const *values, size_t n, lz_gvalue **out)
{
    lz_script_value dict;
    lz_err *e = NULL;
    LZ_TRY(check_items(keys, n));
    LZ_TRY(check_items(values, n));
    LZ_TRY(lz_script_value_dict_make(&dict));
    for (size_t i = 0; !e && i < n; i++)
        e = lz_script_value_dict_put(dict, lz_script_value_retain(keys[i]->v),
                                     lz_script_value_retain(values[i]->v));
    if (e) {
        lz_script_value_release(dict);
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
    lz_script_value_release(v->v);
    lz_text_deinit(&v->text);
    lz_mem_free(v);
}

/* ---- queries ---- */

lz_gvalue_kind lz_gvalue_kind_of(const lz_gvalue *v)
{
    static const lz_gvalue_kind kinds[LZ_SCRIPT_VALUE_KINDS] = {
        [LZ_SCRIPT_VALUE_NONE] = LZ_GVALUE_NONE,    [LZ_SCRIPT_VALUE_BOOL] = LZ_GVALUE_BOOL,
        [LZ_SCRIPT_VALUE_INT] = LZ_GVALUE_INT,      [LZ_SCRIPT_VALUE_FLOAT] = LZ_GVALUE_FLOAT,
        [LZ_SCRIPT_VALUE_STR] = LZ_GVALUE_STR,      [LZ_SCRIPT_VALUE_DEVICE] = LZ_GVALUE_DEVICE,
        [LZ_SCRIPT_VALUE_LIST] = LZ_GVALUE_LIST,    [LZ_SCRIPT_VALUE_TUPLE] = LZ_GVALUE_TUPLE,
        [LZ_SCRIPT_VALUE_DICT] = LZ_GVALUE_DICT,    [LZ_SCRIPT_VALUE_ARRAY] = LZ_GVALUE_ARRAY,
        [LZ_SCRIPT_VALUE_TENSOR] = LZ_GVALUE_ARRAY, [LZ_SCRIPT_VALUE_OBJECT] = LZ_GVALUE_NONE,
    };
    return kinds[v->v.kind];
}

lz_scalar lz_gvalue_scalar(const lz_gvalue *v)
{
    lz_script_value x = v->v;
    return x.kind == LZ_SCRIPT_VALUE_INT     ? lz_scalar_int(x.i)
           : x.kind == LZ_SCRIPT_VALUE_FLOAT ? lz_scalar_float(x.f)
           : x.kind == LZ_SCRIPT_VALUE_BOOL  ? lz_scalar_bool(x.b)
                                             : lz_scalar_none();
}

lz_str lz_gvalue_str(const lz_gvalue *v)
{
    bool text = v->v.kind == LZ_SCRIPT_VALUE_STR || v->v.kind == LZ_SCRIPT_VALUE_DEVICE;
    return text ? lz_script_value_text(v->v) : (lz_str){ NULL, 0 };
}

static bool is_sequence(lz_script_value v)
{
    return v.kind == LZ_SCRIPT_VALUE_LIST || v.kind == LZ_SCRIPT_VALUE_TUPLE;
}

size_t lz_gvalue_count(const lz_gvalue *v)
{
    return is_sequence(v->v)                   ? v->v.list->len
           : v->v.kind == LZ_SCRIPT_VALUE_DICT ? lz_script_value_dict_count(v->v)
                                               : 0;
}

static const lz_script_value_pair *pair_at(const lz_gvalue *v, size_t i)
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
    return lz_errf(LZ_ERR_ARG, "item %zu does not exist: the value has %zu items", i, lz_gvalue_count(v));
}

lz_err *lz_gvalue_item(const lz_gvalue *v, size_t i, lz_gvalue **out)
{
    LZ_TRY(check_index(v, i));
    lz_script_value item = is_sequence(v->v) ? v->v.list->data[i] : pair_at(v, i)->value;
    return lz_gvalue_create_from(lz_script_value_retain(item), out);
}

lz_err *lz_gvalue_key(const lz_gvalue *v, size_t i, lz_gvalue **out)
{
    LZ_TRY(check_index(v, i));
    if (v->v.kind != LZ_SCRIPT_VALUE_DICT)
        return lz_errf(LZ_ERR_ARG, "the value has no keys: it is no dict");
    return lz_gvalue_create_from(lz_script_value_retain(pair_at(v, i)->key), out);
}

lz_err *lz_gvalue_array(const lz_gvalue *v, lz_array **out)
{
    lz_array a;
    if (!lz_script_value_is_tensor(v->v))
        return lz_errf(LZ_ERR_ARG, "the value is no tensor");
    LZ_TRY(lz_script_value_read(v->v, &a));
    return lz_array_create_from(&a, out);
}

/* ---- text ---- */

static lz_err *print(lz_script_value v, int depth, lz_text *out);

static lz_err *print_tensor(lz_script_value v, lz_text *out)
{
    lz_array a;
    LZ_TRY(lz_script_value_read(v, &a));
    lz_err *e = lz_array_print(&a, NULL, out);
    lz_array_deinit(&a);
    return e;
}

/* NOLINTNEXTLINE(misc-no-recursion): at most LZ_SCRIPT_VALUE_DEPTH deep */
static lz_err *print_items(lz_script_value v, int depth, lz_text *out)
{
    bool tuple = v.kind == LZ_SCRIPT_VALUE_TUPLE;
    lz_text_putc(out, tuple ? '(' : '[');
    for (size_t i = 0; i < v.list->len; i++) {
        lz_text_puts(out, i ? ", " : "");
        LZ_TRY(print(v.list->data[i], depth - 1, out));
    }
    lz_text_puts(out, tuple && v.list->len == 1 ? ",)" : tuple ? ")" : "]");
    return NULL;
}

/* NOLINTNEXTLINE(misc-no-recursion): at most LZ_SCRIPT_VALUE_DEPTH deep */
static lz_err *print_pairs(lz_script_value v, int depth, lz_text *out)
{
    const char *comma = "{";
    for (lz_map_entry *e = lz_map_next(&v.dict->map, NULL); e; e = lz_map_next(&v.dict->map, e)) {
        const lz_script_value_pair *p = e->value;
        lz_text_puts(out, comma);
        LZ_TRY(print(p->key, depth - 1, out));
        lz_text_puts(out, ": ");
        LZ_TRY(print(p->value, depth - 1, out));
        comma = ", ";
    }
    lz_text_puts(out, *comma == '{' ? "{}" : "}");
    return NULL;
}

/* NOLINTNEXTLINE(misc-no-recursion): at most LZ_SCRIPT_VALUE_DEPTH deep */
static lz_err *print(lz_script_value v, int depth, lz_text *out)
{
    if (depth == 0)
        return lz_errf(LZ_ERR_LIMIT, "values are nested more than %d deep", LZ_SCRIPT_VALUE_DEPTH);
    if (lz_script_value_is_tensor(v))
        return print_tensor(v, out);
    if (is_sequence(v))
        return print_items(v, depth, out);
    if (v.kind == LZ_SCRIPT_VALUE_DICT)
        return print_pairs(v, depth, out);
    if (v.kind == LZ_SCRIPT_VALUE_FLOAT)
        return lz_text_double(out, v.f), NULL;
    return lz_script_value_repr(v, out);
}

lz_err *lz_gvalue_text(lz_gvalue *v, lz_str *out)
{
    lz_text_clear(&v->text);
    LZ_TRY(print(v->v, LZ_SCRIPT_VALUE_DEPTH, &v->text));
    LZ_TRY(lz_text_check(&v->text));
    *out = lz_text_view(&v->text);
    return NULL;
}

/* ---- copies for a run ---- */

static lz_err *copy(void *user, lz_script_value v, int depth, lz_script_value *out);

static lz_err *copy_tensor(lz_script_value v, lz_script_value *out)
{
    lz_array a;
    LZ_TRY(lz_script_value_read(v, &a));
    lz_err *e = lz_script_tensor_of_array(&a, out);
    lz_array_deinit(&a);
    return e;
}

/* NOLINTNEXTLINE(misc-no-recursion): at most LZ_SCRIPT_VALUE_DEPTH deep */
static lz_err *copy_pairs(lz_script_value v, int depth, lz_script_value *out)
{
    lz_err *e = NULL;
    LZ_TRY(lz_script_value_dict_make(out));
    for (lz_map_entry *i = lz_map_next(&v.dict->map, NULL); !e && i; i = lz_map_next(&v.dict->map, i)) {
        const lz_script_value_pair *p = i->value;
        lz_script_value value;
        e = copy(NULL, p->value, depth - 1, &value);
        e = e ? e : lz_script_value_dict_put(*out, lz_script_value_retain(p->key), value);
    }
    if (e)
        lz_script_value_release(*out);
    return e;
}

/* NOLINTNEXTLINE(misc-no-recursion): at most LZ_SCRIPT_VALUE_DEPTH deep */
static lz_err *copy(void *user, lz_script_value v, int depth, lz_script_value *out)
{
    if (depth == 0)
        return lz_errf(LZ_ERR_LIMIT, "values are nested more than %d deep", LZ_SCRIPT_VALUE_DEPTH);
    if (lz_script_value_is_tensor(v))
        return copy_tensor(v, out);
    if (is_sequence(v))
        return lz_script_value_map_items(v, copy, user, depth - 1, out);
    if (v.kind == LZ_SCRIPT_VALUE_DICT)
        return copy_pairs(v, depth, out);
    *out = lz_script_value_retain(v);
    return NULL;
}

/* As in PyTorch, a number becomes a tensor without dimensions. Its dtype is that of the type, if the type
 * states one. */
static lz_err *tensor_of_number(lz_script_value v, const lz_type *type, lz_script_value *out)
{
    lz_dtype d = v.kind == LZ_SCRIPT_VALUE_FLOAT ? LZ_F32 : v.kind == LZ_SCRIPT_VALUE_BOOL ? LZ_BOOL : LZ_I64;
    if (type->tensor && type->tensor->dtype != LZ_DTYPE_NONE)
        d = type->tensor->dtype;
    LZ_TRY(lz_script_value_array_make(d, (lz_ints){ NULL, 0 }, false, out));
    lz_array_set(&out->array->array, 0,
                 v.kind == LZ_SCRIPT_VALUE_FLOAT  ? lz_scalar_float(v.f)
                 : v.kind == LZ_SCRIPT_VALUE_BOOL ? lz_scalar_bool(v.b)
                                                  : lz_scalar_int(v.i));
    return NULL;
}

lz_err *lz_script_value_for_run(const lz_gvalue *v, const lz_type *type, lz_script_value *out)
{
    lz_script_value x = v->v, fit = lz_script_value_none();
    const lz_type *inner = type->kind == LZ_GRAPH_TYPE_OPTIONAL ? type->elem[0] : type;
    bool number =
        x.kind == LZ_SCRIPT_VALUE_INT || x.kind == LZ_SCRIPT_VALUE_FLOAT || x.kind == LZ_SCRIPT_VALUE_BOOL;
    if (number && inner->kind == LZ_GRAPH_TYPE_TENSOR)
        LZ_TRY(tensor_of_number(x, inner, &fit));
    else
        LZ_TRY(lz_script_value_coerce(lz_script_value_retain(x), type, &fit));
    lz_err *e = copy(NULL, fit, LZ_SCRIPT_VALUE_DEPTH, out);
    lz_script_value_release(fit);
    return e;
}
