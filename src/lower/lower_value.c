/* Values of formulas: known numbers, dtypes, lists. */
#include "core/contraction.h"
#include "core/device.h"
#include "core/scalar.h"
#include "core/strides.h"
#include "lower/lower_impl.h"
#include <float.h>
#include <string.h>

/* ---- known values ---- */

lz_err *lz_low_needs_value(void)
{
    return lz_errf(LZ_ERR_NEEDS_VALUE, "the value of a run-time number is needed here");
}

static lz_err *known_number(const lz_low_value *v, lz_scalar *out)
{
    if (v->kind != LZ_LOW_VALUE_NUMBER)
        return lz_errf(LZ_ERR_ARG, "expected a number");
    if (v->node)
        return lz_low_needs_value();
    *out = v->number;
    return NULL;
}

lz_err *lz_low_value_get_int(const lz_low_value *v, int64_t *out)
{
    lz_scalar s;
    LZ_TRY(known_number(v, &s));
    return lz_scalar_to_int(s, out);
}

lz_err *lz_low_value_get_bool(const lz_low_value *v, bool *out)
{
    lz_scalar s;
    LZ_TRY(known_number(v, &s));
    *out = lz_scalar_is_true(s);
    return NULL;
}

lz_err *lz_low_value_get_double(const lz_low_value *v, double *out)
{
    lz_scalar s;
    LZ_TRY(known_number(v, &s));
    return lz_scalar_to_double(s, out);
}

lz_err *lz_low_value_get_ints(lz_lower *b, const lz_low_value *list, lz_ints *out)
{
    int64_t *v;
    if (list->kind == LZ_LOW_VALUE_NONE) {
        *out = (lz_ints){ NULL, -1 };
        return NULL;
    }
    if (list->kind != LZ_LOW_VALUE_LIST)
        return lz_errf(LZ_ERR_ARG, "expected a list of ints");
    LZ_TRY(lz_arena_new(b->arena, &v, list->list.n + 1));
    for (size_t i = 0; i < list->list.n; i++)
        LZ_TRY(lz_low_value_get_int(&list->list.items[i], &v[i]));
    *out = (lz_ints){ v, (int64_t)list->list.n };
    return NULL;
}

/* ---- dtypes ---- */

static double eps_of(lz_dtype d)
{
    return d == LZ_F16 ? 0x1p-10 : d == LZ_BF16 ? 0x1p-7 : d == LZ_F32 ? FLT_EPSILON : DBL_EPSILON;
}

static lz_low_value lowest(const lz_dtype_info *d)
{
    return lz_dtype_is_float(d->dtype) ? lz_low_value_float(-d->largest) : lz_low_value_int(d->min);
}

static lz_low_value highest(const lz_dtype_info *d)
{
    return lz_dtype_is_float(d->dtype) ? lz_low_value_float(d->largest) : lz_low_value_int(d->max);
}

lz_low_value lz_low_dtype_attr(lz_dtype dtype, lz_dtype_attr attr)
{
    const lz_dtype_info *d = lz_dtype_get(dtype);
    const lz_low_value values[LZ_DTYPE_ATTRS] = {
        [LZ_DTYPE_IS_FLOATING_POINT] = lz_low_value_bool(lz_dtype_is_float(dtype)),
        [LZ_DTYPE_IS_COMPLEX] = lz_low_value_bool(lz_dtype_is_complex(dtype)),
        [LZ_DTYPE_IS_INTEGRAL] = lz_low_value_bool(lz_dtype_is_whole(dtype) && dtype != LZ_BOOL),
        [LZ_DTYPE_IS_SIGNED] = lz_low_value_bool(dtype != LZ_U8 && dtype != LZ_BOOL),
        [LZ_DTYPE_ITEMSIZE] = lz_low_value_int(d->size),
        [LZ_DTYPE_MIN] = lowest(d),
        [LZ_DTYPE_MAX] = highest(d),
        [LZ_DTYPE_EPS] = lz_low_value_float(eps_of(dtype)),
    };
    return values[attr];
}

/* ---- lists ---- */

lz_err *lz_low_list_new(lz_lower *b, size_t n, lz_low_value **items)
{
    return lz_arena_new(b->arena, items, n ? n : 1);
}

lz_err *lz_low_list(lz_lower *b, const lz_low_value *items, size_t n, lz_low_value *out)
{
    lz_low_value *copy;
    LZ_TRY(lz_low_list_new(b, n, &copy));
    if (n)
        memcpy(copy, items, n * sizeof *copy);
    *out = lz_low_value_list(copy, n);
    return NULL;
}

lz_err *lz_low_int_list(lz_lower *b, lz_ints v, lz_low_value *out)
{
    lz_low_value *items;
    LZ_TRY(lz_low_list_new(b, (size_t)v.n, &items));
    for (int64_t i = 0; i < v.n; i++)
        items[i] = lz_low_value_int(v.v[i]);
    *out = lz_low_value_list(items, (size_t)v.n);
    return NULL;
}

lz_err *lz_low_list_join(lz_lower *b, const lz_low_value *x, const lz_low_value *y, lz_low_value *out)
{
    lz_low_value *items;
    size_t n = x->list.n + y->list.n;
    LZ_TRY(lz_low_list_new(b, n, &items));
    for (size_t i = 0; i < n; i++)
        items[i] = i < x->list.n ? x->list.items[i] : y->list.items[i - x->list.n];
    *out = lz_low_value_list(items, n);
    return NULL;
}

lz_err *lz_low_list_repeat(lz_lower *b, const lz_low_value *x, int64_t times, lz_low_value *out)
{
    lz_low_value *items;
    size_t n;
    if (__builtin_mul_overflow(x->list.n, (size_t)(times < 0 ? 0 : times), &n))
        return lz_errf(LZ_ERR_LIMIT, "a list has too many items");
    LZ_TRY(lz_low_list_new(b, n, &items));
    for (size_t i = 0; i < n; i++)
        items[i] = x->list.items[i % x->list.n];
    *out = lz_low_value_list(items, n);
    return NULL;
}

lz_err *lz_low_list_get(const lz_low_value *x, int64_t i, lz_low_value *out)
{
    int64_t n = (int64_t)x->list.n, at = i < 0 ? i + n : i;
    if (at < 0 || at >= n)
        return lz_err_because(LZ_REASON_INDEX, "list index out of range: %lld of %lld", (long long)i,
                              (long long)n);
    *out = x->list.items[at];
    return NULL;
}

/* A bound of a slice, by Python's rules. */
static lz_err *bound(const lz_low_value *v, int64_t absent, int64_t n, int64_t *out)
{
    *out = absent;
    if (v->kind == LZ_LOW_VALUE_NONE)
        return NULL;
    LZ_TRY(lz_low_value_get_int(v, out));
    *out = *out < 0 ? *out + n : *out;
    *out = *out < 0 ? 0 : *out > n ? n : *out;
    return NULL;
}

lz_err *lz_low_list_slice(const lz_low_value *x, const lz_low_value *from, const lz_low_value *to,
                          lz_low_value *out)
{
    int64_t n = (int64_t)x->list.n, first, last;
    LZ_TRY(bound(from, 0, n, &first));
    LZ_TRY(bound(to, n, n, &last));
    *out = lz_low_value_list(x->list.items + first, last > first ? (size_t)(last - first) : 0);
    return NULL;
}

static lz_err *equal_items(const lz_low_value *x, const lz_low_value *y, bool *out)
{
    *out = x->kind == y->kind;
    if (!*out)
        return NULL;
    if (x->kind == LZ_LOW_VALUE_NUMBER) {
        if (x->node || y->node)
            return lz_low_needs_value();
        return lz_scalar_compare(LZ_SCALAR_EQ, x->number, y->number, out);
    }
    *out = x->kind == LZ_LOW_VALUE_STR             ? lz_str_eq(x->str, y->str)
           : x->kind == LZ_LOW_VALUE_DTYPE         ? x->dtype == y->dtype
           : x->kind == LZ_LOW_VALUE_DEVICE        ? lz_device_eq(x->device, y->device)
           : x->kind == LZ_LOW_VALUE_LAYOUT        ? x->layout == y->layout
           : x->kind == LZ_LOW_VALUE_MEMORY_FORMAT ? x->memory_format == y->memory_format
                                                   : x->node == y->node;
    return NULL;
}

lz_err *lz_low_value_equal(lz_lower *b, const lz_low_value *x, const lz_low_value *y, bool *out)
{
    (void)b;
    if (x->kind != LZ_LOW_VALUE_LIST || y->kind != LZ_LOW_VALUE_LIST)
        return equal_items(x, y, out);
    *out = x->list.n == y->list.n;
    for (size_t i = 0; *out && i < x->list.n; i++)
        LZ_TRY(equal_items(&x->list.items[i], &y->list.items[i], out));
    return NULL;
}

lz_err *lz_low_list_has(lz_lower *b, const lz_low_value *x, const lz_low_value *item, bool *out)
{
    *out = false;
    for (size_t i = 0; !*out && i < x->list.n; i++)
        LZ_TRY(lz_low_value_equal(b, &x->list.items[i], item, out));
    return NULL;
}

lz_err *lz_low_range(lz_lower *b, int64_t from, int64_t to, int64_t step, lz_low_value *out)
{
    lz_low_value *items;
    uint64_t span, n = 0;
    if (step == 0)
        return lz_errf(LZ_ERR_ARG, "range() arg 3 must not be zero");
    if (step > 0 ? from < to : from > to) {
        span = step > 0 ? (uint64_t)to - (uint64_t)from : (uint64_t)from - (uint64_t)to;
        uint64_t by = step > 0 ? (uint64_t)step : -(uint64_t)step;
        n = (span + by - 1) / by;
    }
    if (n > (uint64_t)1 << 20)
        return lz_errf(LZ_ERR_LIMIT, "a list has too many items");
    LZ_TRY(lz_low_list_new(b, n, &items));
    for (uint64_t i = 0; i < n; i++)
        items[i] = lz_low_value_int(from + step * (int64_t)i);
    *out = lz_low_value_list(items, n);
    return NULL;
}

/* ---- shapes ---- */

lz_err *lz_low_shape(lz_lower *b, const lz_low_value *tensor, lz_low_value *out)
{
    return lz_low_int_list(b, lz_low_value_sizes(tensor), out);
}

lz_err *lz_low_strides(lz_lower *b, const lz_low_value *tensor, lz_low_value *out)
{
    const lz_low_node *n = tensor->node;
    lz_shape dense;
    while (n->kind == LZ_LOW_CAST && n->nin) /* float16 is computed in float32 */
        n = n->in[0];
    if (n->kind == LZ_LOW_INPUT) {
        const lz_low_input_attr *at = n->attr;
        if (n->attr_size < sizeof *at + n->ndim * sizeof *at->strides)
            return lz_errf(LZ_ERR_UNSUPPORTED, "the strides of this tensor are not known here");
        return lz_low_int_list(b, (lz_ints){ at->strides, n->ndim }, out);
    }
    LZ_TRY(lz_strides_contiguous(lz_low_node_sizes(n), &dense));
    return lz_low_int_list(b, lz_shape_ints(&dense), out);
}

lz_err *lz_low_wrap_dim(int64_t dim, int64_t ndim, int64_t *out)
{
    return lz_wrap_dim(dim, ndim, out);
}

lz_err *lz_low_wrap_dims(lz_lower *b, const lz_low_value *dims, int64_t ndim, lz_low_value *out)
{
    lz_ints v;
    uint64_t set;
    lz_low_value *items;
    LZ_TRY(lz_low_value_get_ints(b, dims, &v));
    LZ_TRY(lz_wrap_dims(v, ndim, &set));
    size_t n = ndim ? (size_t)v.n : 0;
    LZ_TRY(lz_low_list_new(b, n, &items));
    for (size_t i = 0; i < n; i++)
        items[i] = lz_low_value_int(v.v[i] < 0 ? v.v[i] + ndim : v.v[i]);
    *out = lz_low_value_list(items, n);
    return NULL;
}

lz_err *lz_low_sums(lz_lower *b, const lz_low_value *list, lz_low_value *out)
{
    lz_ints v;
    lz_low_value *items;
    int64_t sum = 0;
    LZ_TRY(lz_low_value_get_ints(b, list, &v));
    LZ_TRY(lz_low_list_new(b, (size_t)v.n + 1, &items));
    for (int64_t i = 0; i < v.n; i++) {
        items[i] = lz_low_value_int(sum);
        if (__builtin_add_overflow(sum, v.v[i], &sum))
            return lz_errf(LZ_ERR_LIMIT, "a sum of sizes does not fit into 64 bits");
    }
    items[v.n] = lz_low_value_int(sum);
    *out = lz_low_value_list(items, (size_t)v.n + 1);
    return NULL;
}

/* Takes the list apart: each shape behind its number of dimensions. */
static lz_err *read_shapes(lz_lower *b, lz_ints v, lz_ints **shapes, size_t *n)
{
    LZ_TRY(lz_arena_new(b->arena, shapes, (size_t)v.n + 1));
    *n = 0;
    for (int64_t at = 0; at < v.n; at += v.v[at] + 1)
        (*shapes)[(*n)++] = (lz_ints){ v.v + at + 1, v.v[at] };
    return NULL;
}

lz_err *lz_low_contraction(lz_lower *b, const lz_low_value *args, size_t n, lz_low_value *out)
{
    lz_ints v, path, plan, *shapes;
    size_t operands;
    LZ_TRY(lz_low_value_get_ints(b, &args[1], &v));
    if (n > 2)
        LZ_TRY(lz_low_value_get_ints(b, &args[2], &path));
    LZ_TRY(read_shapes(b, v, &shapes, &operands));
    LZ_TRY(lz_contraction_plan(b->arena, args[0].str, shapes, operands, n > 2 ? &path : NULL, &plan));
    return lz_low_int_list(b, plan, out);
}

lz_err *lz_low_broadcast_shapes(lz_lower *b, const lz_low_value *shapes, size_t n, lz_low_value *out)
{
    lz_ints *v;
    lz_shape sizes;
    LZ_TRY(lz_arena_new(b->arena, &v, n));
    for (size_t i = 0; i < n; i++)
        LZ_TRY(lz_low_value_get_ints(b, &shapes[i], &v[i]));
    LZ_TRY(lz_shape_broadcast(v, n, &sizes));
    return lz_low_int_list(b, lz_shape_ints(&sizes), out);
}

/* ---- text ---- */

static void print_item(const lz_low_value *v, lz_text *out)
{
    char room[LZ_SHAPE_CHARS];
    if (v->kind == LZ_LOW_VALUE_NUMBER && v->node)
        lz_text_puts(out, "(a run-time number)");
    else if (v->kind == LZ_LOW_VALUE_NUMBER)
        lz_scalar_print(v->number, out);
    else if (v->kind == LZ_LOW_VALUE_STR)
        lz_text_add(out, v->str);
    else if (v->kind == LZ_LOW_VALUE_DTYPE)
        lz_text_puts(out, lz_dtype_get(v->dtype)->name);
    else if (v->kind == LZ_LOW_VALUE_DEVICE)
        lz_text_puts(out, lz_device_print(v->device, room));
    else if (v->kind == LZ_LOW_VALUE_TENSOR)
        lz_text_printf(out, "a tensor of shape %s", lz_shape_print(lz_low_value_sizes(v), room));
    else
        lz_text_puts(out, v->kind == LZ_LOW_VALUE_NONE ? "None" : "(...)");
}

void lz_low_value_print(const lz_low_value *v, lz_text *out)
{
    if (v->kind != LZ_LOW_VALUE_LIST) {
        print_item(v, out);
        return;
    }
    lz_text_putc(out, '[');
    for (size_t i = 0; i < v->list.n; i++) {
        lz_text_puts(out, i ? ", " : "");
        print_item(&v->list.items[i], out);
    }
    lz_text_putc(out, ']');
}

lz_err *lz_low_message(lz_reason reason, const lz_low_value *parts, size_t n)
{
    lz_text t = { 0 };
    for (size_t i = 0; i < n; i++)
        lz_low_value_print(&parts[i], &t);
    lz_err *e = lz_text_check(&t);
    if (!e)
        e = lz_err_because(reason, "%.*s", LZ_FMT(lz_text_view(&t)));
    lz_text_deinit(&t);
    return e;
}
