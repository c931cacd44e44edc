/* Built-ins on lists and tuples. A list is shared by all its holders. Functions that change a list return it
 * where TorchScript's schema does. */
#include "base/vec.h"
#include "graph/builtins.h"
#include "graph/builtins_util.h"
#include <stdlib.h>

/* ---- reading ---- */

static lz_err *length(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    (void)nin;
    *out = lz_script_value_int((int64_t)in->list->len);
    return NULL;
}

static lz_err *out_of_range(void)
{
    return lz_err_because(LZ_REASON_INDEX, "IndexError: list index out of range");
}

static lz_err *get_item(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    size_t at;
    (void)nin;
    if (!lz_index_wrap(in[1].i, in[0].list->len, &at))
        return out_of_range();
    *out = lz_script_value_retain(in[0].list->data[at]);
    return NULL;
}

/* The index of an equal element, or len. */
static lz_err *position(const lz_script_value_list *l, lz_script_value v, size_t *out)
{
    bool same = false;
    size_t i = 0;
    for (; i < l->len; i++) {
        LZ_TRY(lz_script_value_equal(l->data[i], v, &same));
        if (same)
            break;
    }
    *out = i;
    return NULL;
}

static lz_err *contains(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    size_t at;
    (void)nin;
    LZ_TRY(position(in[0].list, in[1], &at));
    *out = lz_script_value_bool(at < in[0].list->len);
    return NULL;
}

static lz_err *not_in_list(void)
{
    return lz_errf(LZ_ERR_ARG, "ValueError: that is not in list");
}

static lz_err *index_of(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    size_t at;
    (void)nin;
    LZ_TRY(position(in[0].list, in[1], &at));
    *out = lz_script_value_int((int64_t)at);
    return at < in[0].list->len ? NULL : not_in_list();
}

static lz_err *count(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    const lz_script_value_list *l = in[0].list;
    int64_t n = 0;
    (void)nin;
    for (size_t i = 0; i < l->len; i++) {
        bool same = false;
        LZ_TRY(lz_script_value_equal(l->data[i], in[1], &same));
        n += same;
    }
    *out = lz_script_value_int(n);
    return NULL;
}

/* Numbers and strings; other values are never sorted. */
static int compare(lz_script_value a, lz_script_value b)
{
    if (a.kind == LZ_SCRIPT_VALUE_STR)
        return lz_str_cmp(lz_script_value_text(a), lz_script_value_text(b));
    if (a.kind == LZ_SCRIPT_VALUE_FLOAT)
        return (a.f > b.f) - (a.f < b.f);
    int64_t x = a.kind == LZ_SCRIPT_VALUE_BOOL ? a.b : a.i, y = b.kind == LZ_SCRIPT_VALUE_BOOL ? b.b : b.i;
    return (x > y) - (x < y);
}

static lz_err *equal(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    bool same = false;
    (void)nin;
    LZ_TRY(lz_script_value_equal(in[0], in[1], &same));
    *out = lz_script_value_bool(same);
    return NULL;
}

static lz_err *unequal(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    LZ_TRY(equal(in, nin, out));
    out->b = !out->b;
    return NULL;
}

/* Compares the first elements that differ, or else the lengths. */
static int compare_lists(const lz_script_value_list *a, const lz_script_value_list *b)
{
    for (size_t i = 0; i < a->len && i < b->len; i++) {
        int c = compare(a->data[i], b->data[i]);
        if (c)
            return c;
    }
    return (a->len > b->len) - (a->len < b->len);
}

#define COMPARE(name, op)                                                                                    \
    static lz_err *name(const lz_script_value *in, size_t nin, lz_script_value *out)                         \
    {                                                                                                        \
        (void)nin;                                                                                           \
        *out = lz_script_value_bool(compare_lists(in[0].list, in[1].list) op 0);                             \
        return NULL;                                                                                         \
    }

COMPARE(l_lt, <)
COMPARE(l_le, <=)
COMPARE(l_gt, >)
COMPARE(l_ge, >=)

static lz_err *lesser_list(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    (void)nin;
    *out = lz_script_value_retain(in[compare_lists(in[1].list, in[0].list) < 0]);
    return NULL;
}

static lz_err *greater_list(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    (void)nin;
    *out = lz_script_value_retain(in[compare_lists(in[0].list, in[1].list) < 0]);
    return NULL;
}

static lz_err *extreme(const lz_script_value_list *l, int sign, lz_script_value *out)
{
    if (!l->len)
        return lz_errf(LZ_ERR_ARG, "ValueError: an empty list has no least and no greatest element");
    *out = l->data[0];
    for (size_t i = 1; i < l->len; i++)
        *out = sign * compare(l->data[i], *out) > 0 ? l->data[i] : *out;
    lz_script_value_retain(*out);
    return NULL;
}

static lz_err *least(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    (void)nin;
    return extreme(in->list, -1, out);
}

static lz_err *greatest(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    (void)nin;
    return extreme(in->list, 1, out);
}

static lz_err *sum_floats(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    double sum = 0;
    (void)nin;
    for (size_t i = 0; i < in->list->len; i++)
        sum += in->list->data[i].f;
    *out = lz_script_value_float(sum);
    return NULL;
}

static lz_err *sum_ints(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    int64_t sum = 0;
    (void)nin;
    for (size_t i = 0; i < in->list->len; i++) {
        lz_script_value v = in->list->data[i];
        if (__builtin_add_overflow(sum, v.kind == LZ_SCRIPT_VALUE_BOOL ? v.b : v.i, &sum))
            return lz_errf(LZ_ERR_LIMIT, "OverflowError: the sum does not fit in 64 bits");
    }
    *out = lz_script_value_int(sum);
    return NULL;
}

static size_t truths(const lz_script_value_list *l)
{
    size_t n = 0;
    for (size_t i = 0; i < l->len; i++) {
        lz_script_value v = l->data[i];
        n += v.kind == LZ_SCRIPT_VALUE_FLOAT ? v.f != 0 : v.kind == LZ_SCRIPT_VALUE_BOOL ? v.b : v.i != 0;
    }
    return n;
}

static lz_err *any(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    (void)nin;
    *out = lz_script_value_bool(truths(in->list) > 0);
    return NULL;
}

static lz_err *all(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    (void)nin;
    *out = lz_script_value_bool(truths(in->list) == in->list->len);
    return NULL;
}

/* ---- new lists ---- */

/* Appends `count_` elements of `from`, from `first` on, `step` apart. */
static lz_err *take(lz_script_value list, const lz_script_value_list *from, size_t first, size_t count_,
                    size_t step)
{
    lz_err *e = lz_vec_grow(&list.list->data, sizeof(lz_script_value), count_);
    for (size_t i = 0; !e && i < count_; i++)
        list.list->data[list.list->len++] = lz_script_value_retain(from->data[first + i * step]);
    return e;
}

static lz_err *finish(lz_err *e, lz_script_value *out)
{
    if (e)
        lz_script_value_release(*out);
    return e;
}

static lz_err *copy(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    (void)nin;
    LZ_TRY(lz_script_value_list_make(0, out));
    return finish(take(*out, in->list, 0, in->list->len, 1), out);
}

static lz_err *concatenate(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    LZ_TRY(copy(in, nin, out));
    return finish(take(*out, in[1].list, 0, in[1].list->len, 1), out);
}

static lz_err *slice(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    size_t first, n;
    (void)nin;
    if (in[3].i <= 0)
        return lz_errf(LZ_ERR_ARG, "ValueError: slice step must be positive");
    lz_slice(in + 1, in[3].i, in[0].list->len, &first, &n);
    LZ_TRY(lz_script_value_list_make(0, out));
    return finish(take(*out, in[0].list, first, n, (size_t)in[3].i), out);
}

static lz_err *repeat(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    lz_err *e = lz_builtin_room(in[0].list->len, in[1].i);
    (void)nin;
    LZ_TRY(e);
    LZ_TRY(lz_script_value_list_make(0, out));
    for (int64_t i = 0; !e && i < in[1].i && in[0].list->len; i++)
        e = take(*out, in[0].list, 0, in[0].list->len, 1);
    return finish(e, out);
}

static lz_err *repeat_right(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    const lz_script_value swapped[] = { in[1], in[0] };
    return repeat(swapped, nin, out);
}

static lz_err *range_list(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    lz_err *e = lz_builtin_room(1, in->i);
    (void)nin;
    LZ_TRY(e);
    LZ_TRY(lz_script_value_list_make(in->i > 0 ? (size_t)in->i : 0, out));
    for (int64_t i = 0; !e && i < in->i; i++)
        e = lz_script_value_push(*out, lz_script_value_int(i));
    return finish(e, out);
}

/* ---- changes ---- */

static lz_err *append(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    (void)nin;
    LZ_TRY(lz_script_value_push(in[0], lz_script_value_retain(in[1])));
    *out = lz_script_value_retain(in[0]);
    return NULL;
}

static lz_err *set_item(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    size_t at;
    (void)nin;
    if (!lz_index_wrap(in[1].i, in[0].list->len, &at))
        return out_of_range();
    lz_script_value_set(&in[0].list->data[at], lz_script_value_retain(in[2]));
    *out = lz_script_value_retain(in[0]);
    return NULL;
}

static lz_err *extend(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    (void)out;
    (void)nin;
    return take(in[0], in[1].list, 0, in[1].list->len, 1);
}

static lz_err *extend_back(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    LZ_TRY(extend(in, nin, out));
    *out = lz_script_value_retain(in[0]);
    return NULL;
}

static lz_err *repeat_in_place(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    lz_script_value made;
    LZ_TRY(repeat(in, nin, &made));
    lz_script_value_list *a = in[0].list, *b = made.list, old = *a;
    a->data = b->data, a->len = b->len, a->cap = b->cap;
    b->data = old.data, b->len = old.len, b->cap = old.cap;
    lz_script_value_release(made);
    *out = lz_script_value_retain(in[0]);
    return NULL;
}

static void remove_at(lz_script_value_list *l, size_t at)
{
    memmove(&l->data[at], &l->data[at + 1], (l->len - at - 1) * sizeof *l->data);
    l->len--;
}

static lz_err *insert(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    lz_script_value_list *l = in[0].list;
    size_t at = lz_index_clamp(in[1].i, l->len);
    (void)out;
    (void)nin;
    LZ_TRY(lz_script_value_push(in[0], lz_script_value_retain(in[2])));
    memmove(&l->data[at + 1], &l->data[at], (l->len - 1 - at) * sizeof *l->data);
    l->data[at] = in[2];
    return NULL;
}

static lz_err *pop(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    size_t at;
    (void)nin;
    if (!in[0].list->len)
        return lz_errf(LZ_ERR_ARG, "IndexError: pop from empty list");
    if (!lz_index_wrap(in[1].i, in[0].list->len, &at))
        return out_of_range();
    *out = in[0].list->data[at];
    remove_at(in[0].list, at);
    return NULL;
}

static lz_err *delete_item(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    lz_script_value gone = { 0 };
    (void)out;
    LZ_TRY(pop(in, nin, &gone));
    lz_script_value_release(gone);
    return NULL;
}

static lz_err *remove_value(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    size_t at;
    (void)out;
    (void)nin;
    LZ_TRY(position(in[0].list, in[1], &at));
    if (at == in[0].list->len)
        return not_in_list();
    lz_script_value gone = in[0].list->data[at];
    remove_at(in[0].list, at);
    lz_script_value_release(gone);
    return NULL;
}

static lz_err *clear(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    (void)out;
    (void)nin;
    while (in->list->len)
        lz_script_value_release(in->list->data[--in->list->len]);
    return NULL;
}

static lz_err *reverse(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    lz_script_value *v = in->list->data;
    (void)out;
    (void)nin;
    for (size_t i = 0, j = in->list->len; i + 1 < j; i++) {
        lz_script_value last = v[--j];
        v[j] = v[i];
        v[i] = last;
    }
    return NULL;
}

/* Stable merge sort, n log n: halves are sorted into the other array and merged. */
static void merge(const lz_script_value *v, size_t from, size_t mid, size_t to, int sign,
                  lz_script_value *out)
{
    size_t i = from, j = mid;
    for (size_t k = from; k < to; k++)
        out[k] = j < to && (i == mid || sign * compare(v[j], v[i]) < 0) ? v[j++] : v[i++];
}

static lz_err *sort_list(lz_script_value_list *l, bool descending)
{
    lz_script_value *v = l->data;
    LZ_VEC(lz_script_value) room = { 0 };
    LZ_TRY(lz_vec_reserve(&room, l->len + 1));
    for (size_t width = 1; width < l->len; width *= 2) {
        for (size_t from = 0; from < l->len; from += 2 * width) {
            size_t mid = from + width < l->len ? from + width : l->len;
            merge(v, from, mid, mid + width < l->len ? mid + width : l->len, descending ? -1 : 1, room.data);
        }
        memcpy(v, room.data, l->len * sizeof *v);
    }
    lz_vec_deinit(&room);
    return NULL;
}

static lz_err *sort(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    (void)out;
    return sort_list(in[0].list, nin == 2 && in[1].b);
}

static lz_err *sorted(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    LZ_TRY(copy(in, nin, out));
    return finish(sort_list(out->list, nin == 2 && in[1].b), out);
}

/* ---- options, tuples ---- */

static lz_err *unwrap(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    (void)nin;
    if (in->kind == LZ_SCRIPT_VALUE_NONE)
        return lz_errf(LZ_ERR_ARG, "Unwrapping null optional");
    *out = lz_script_value_retain(*in);
    return NULL;
}

/* ---- the table ---- */

#define ORDERED(name, fn)                                                                                    \
    { name, "int_list", "[i[i", "b", fn, 0 }, { name, "float_list", "[f[f", "b", fn, 0 },                    \
        { name, "bool_list", "[b[b", "b", fn, 0 },                                                           \
    {                                                                                                        \
        name, "str_list", "[s[s", "b", fn, 0                                                                 \
    }
#define EACH_KIND(name, args, rets, fn, flags)                                                               \
    { name, "int", "[i" args, rets("i"), fn, flags }, { name, "float", "[f" args, rets("f"), fn, flags },    \
        { name, "bool", "[b" args, rets("b"), fn, flags },                                                   \
    {                                                                                                        \
        name, "str", "[s" args, rets("s"), fn, flags                                                         \
    }
#define NOTHING(x) ""
#define LIST_OF(x) "[" x
#define ELEMENT(x) x

static const lz_builtin rows[] = {
    { "aten::Delete", "t", "[0i", "", delete_item, LZ_BUILTIN_WRITES },
    { "aten::__contains__", "list", "[00", "b", contains, 0 },
    { "aten::__getitem__", "t", "[0i", "0", get_item, 0 },
    { "aten::_set_item", "t", "[0i0", "[0", set_item, LZ_BUILTIN_WRITES },
    { "aten::_unwrap_optional", "", "?0", "0", unwrap, 0 },
    { "aten::add", "t", "[0[0", "[0", concatenate, LZ_BUILTIN_FRESH },
    { "aten::add_", "t", "[0[0", "[0", extend_back, LZ_BUILTIN_WRITES },
    { "aten::all", "int", "[i", "b", all, 0 },
    { "aten::all", "float", "[f", "b", all, 0 },
    { "aten::all", "bool", "[b", "b", all, 0 },
    { "aten::any", "int", "[i", "b", any, 0 },
    { "aten::any", "float", "[f", "b", any, 0 },
    { "aten::any", "bool", "[b", "b", any, 0 },
    { "aten::any", "str", "[s", "b", any, 0 },
    { "aten::append", "t", "[00", "[0", append, LZ_BUILTIN_WRITES },
    { "aten::clear", "t", "[0", "", clear, LZ_BUILTIN_WRITES },
    { "aten::copy", "t", "[0", "[0", copy, LZ_BUILTIN_FRESH },
    { "aten::count", "list", "[00", "i", count, 0 },
    ORDERED("aten::eq", equal),
    { "aten::extend", "t", "[0[0", "", extend, LZ_BUILTIN_WRITES },
    ORDERED("aten::ge", l_ge),
    ORDERED("aten::gt", l_gt),
    { "aten::index", "list", "[00", "i", index_of, 0 },
    { "aten::insert", "t", "[0i0", "", insert, LZ_BUILTIN_WRITES },
    ORDERED("aten::le", l_le),
    { "aten::len", "t", "[0", "i", length, 0 },
    { "aten::list", "t", "[0", "[0", copy, LZ_BUILTIN_FRESH },
    ORDERED("aten::lt", l_lt),
    { "aten::mul", "left_t", "[0i", "[0", repeat, LZ_BUILTIN_FRESH },
    { "aten::mul", "right_", "i[0", "[0", repeat_right, LZ_BUILTIN_FRESH },
    { "aten::mul_", "t", "[0i", "[0", repeat_in_place, LZ_BUILTIN_WRITES },
    ORDERED("aten::ne", unequal),
    { "aten::pop", "t", "[0i", "0", pop, LZ_BUILTIN_WRITES },
    { "aten::remove", "t", "[00", "", remove_value, LZ_BUILTIN_WRITES },
    { "aten::reverse", "t", "[0", "", reverse, LZ_BUILTIN_WRITES },
    { "aten::slice", "t", "[0?i?ii", "[0", slice, LZ_BUILTIN_FRESH },
    EACH_KIND("aten::sort", "b", NOTHING, sort, LZ_BUILTIN_WRITES),
    EACH_KIND("aten::sorted", "", LIST_OF, sorted, LZ_BUILTIN_FRESH),
    EACH_KIND("aten::sorted", "b", LIST_OF, sorted, LZ_BUILTIN_FRESH),
    { "aten::sum", "int", "[i", "i", sum_ints, 0 },
    { "aten::sum", "float", "[f", "f", sum_floats, 0 },
    { "aten::sum", "bool", "[b", "i", sum_ints, 0 },
    { "prim::max", "int_list", "[i[i", "[i", greater_list, 0 },
    { "prim::max", "float_list", "[f[f", "[f", greater_list, 0 },
    { "prim::max", "bool_list", "[b[b", "[b", greater_list, 0 },
    EACH_KIND("prim::max", "", ELEMENT, greatest, 0),
    { "prim::min", "int_list", "[i[i", "[i", lesser_list, 0 },
    { "prim::min", "float_list", "[f[f", "[f", lesser_list, 0 },
    { "prim::min", "bool_list", "[b[b", "[b", lesser_list, 0 },
    EACH_KIND("prim::min", "", ELEMENT, least, 0),
    { "prim::rangelist", "", "i", "[i", range_list, LZ_BUILTIN_FRESH },
    { "prim::unchecked_unwrap_optional", "", "?0", "0", unwrap, 0 },
};

const lz_builtin_table lz_builtins_list = LZ_BUILTIN_TABLE(rows);
