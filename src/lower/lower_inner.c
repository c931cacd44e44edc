/* Inner expressions: operands are broadcast and converted to the dtype of the computation. */
#include "lower/lower_impl.h"

/* ---- promotion ---- */

lz_dtype lz_low_opmath(lz_dtype d)
{
    return d == LZ_F16 || d == LZ_BF16 ? LZ_F32 : d;
}

static lz_arg_type arg_type(const lz_low_value *v)
{
    if (v->kind == LZ_LOW_VALUE_TENSOR)
        return (lz_arg_type){ v->dtype, v->node->number ? LZ_RANK_NUMBER
                                        : v->node->ndim ? LZ_RANK_TENSOR
                                                        : LZ_RANK_ZERO_DIM };
    if (v->kind == LZ_LOW_VALUE_NUMBER)
        return (lz_arg_type){ lz_low_value_number_dtype(v), LZ_RANK_NUMBER };
    return (lz_arg_type){ v->kind == LZ_LOW_VALUE_DTYPE ? v->dtype : LZ_DTYPE_NONE, LZ_RANK_TENSOR };
}

static size_t count_types(const lz_low_value *args, size_t n)
{
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
        count += args[i].kind == LZ_LOW_VALUE_LIST ? args[i].list.n : 1;
    return count;
}

static lz_err *arg_types(lz_lower *b, const lz_low_value *args, size_t n, lz_arg_type **out, size_t *count)
{
    size_t k = 0;
    LZ_TRY(lz_arena_new(b->arena, out, count_types(args, n)));
    for (size_t i = 0; i < n; i++) {
        if (args[i].kind != LZ_LOW_VALUE_LIST)
            (*out)[k++] = arg_type(&args[i]);
        for (size_t j = 0; args[i].kind == LZ_LOW_VALUE_LIST && j < args[i].list.n; j++)
            (*out)[k++] = arg_type(&args[i].list.items[j]);
    }
    *count = k;
    return NULL;
}

lz_err *lz_low_result_type(lz_lower *b, const lz_low_value *args, size_t n, lz_dtype *out)
{
    lz_arg_type *types;
    LZ_TRY(arg_types(b, args, n, &types, &n));
    *out = lz_dtype_result(types, n, b->default_float);
    return NULL;
}

/* ---- inner expressions ---- */

static const lz_promotion promotions[LZ_INNER_RULES] = {
    [LZ_INNER_POINTWISE] = LZ_PROMOTE_COMMON,      [LZ_INNER_FLOAT] = LZ_PROMOTE_WHOLE_TO_FLOAT,
    [LZ_INNER_WIDE] = LZ_PROMOTE_WHOLE_TO_FLOAT,   [LZ_INNER_INT] = LZ_PROMOTE_COMMON,
    [LZ_INNER_PREDICATE] = LZ_PROMOTE_ALWAYS_BOOL, [LZ_INNER_NUMBER] = LZ_PROMOTE_COMMON,
    [LZ_INNER_SELECT] = LZ_PROMOTE_COMMON,
};

static size_t condition_of(lz_inner_rule rule, const lz_low_value *args, size_t n)
{
    for (size_t i = 0; rule == LZ_INNER_SELECT && i < n; i++)
        if (args[i].kind == LZ_LOW_VALUE_TENSOR)
            return i;
    return n;
}

static lz_err *inner_types(lz_lower *b, lz_inner_rule rule, const lz_low_value *args, size_t n, lz_inner *out)
{
    lz_arg_type *types;
    size_t k = 0, condition = condition_of(rule, args, n);
    LZ_TRY(lz_arena_new(b->arena, &types, n));
    for (size_t i = 0; i < n; i++)
        if (args[i].kind == LZ_LOW_VALUE_TENSOR && i != condition)
            types[k++] = arg_type(&args[i]);
    lz_op_types t = lz_promote_op(promotions[rule], types, k, b->default_float);
    out->type = t.common;
    out->compute = lz_low_opmath(t.common);
    out->result = t.result;
    return NULL;
}

static lz_err *inner_sizes(lz_lower *b, const lz_low_value *args, size_t n, lz_inner *out)
{
    lz_ints *shapes;
    lz_shape sizes;
    int64_t *copy;
    size_t k = 0;
    LZ_TRY(lz_arena_new(b->arena, &shapes, n));
    for (size_t i = 0; i < n; i++)
        if (args[i].kind == LZ_LOW_VALUE_TENSOR)
            shapes[k++] = lz_low_value_sizes(&args[i]);
    LZ_TRY(lz_shape_broadcast(shapes, k, &sizes));
    LZ_TRY(lz_arena_new(b->arena, &copy, (size_t)sizes.n + 1));
    for (int64_t i = 0; i < sizes.n; i++)
        copy[i] = sizes.v[i];
    out->sizes = (lz_ints){ copy, sizes.n };
    return NULL;
}

static lz_err *inner_element(lz_lower *b, const lz_inner *in, lz_dtype type, const lz_low_value *arg,
                             lz_low_value *out)
{
    const lz_low_node *n;
    lz_low_value wrapped = *arg;
    if (arg->kind == LZ_LOW_VALUE_NUMBER)
        LZ_TRY(lz_low_wrap(b, arg, &wrapped));
    LZ_TRY(lz_low_cast(b, wrapped.node, lz_low_opmath(type), &n));
    LZ_TRY(lz_low_expand(b, n, in->sizes, &n));
    *out = (lz_low_value){ .kind = LZ_LOW_VALUE_TENSOR, .dtype = type, .node = n };
    return NULL;
}

lz_err *lz_inner_begin(lz_lower *b, const char *name, lz_inner_rule rule, const lz_low_value *args, size_t n,
                       lz_low_value *elements, lz_inner *out)
{
    size_t condition = condition_of(rule, args, n);
    LZ_TRY(inner_types(b, rule, args, n, out));
    if (!lz_dtype_get(out->type)->computable)
        return lz_errf(LZ_ERR_UNSUPPORTED, "%s: %s is not supported yet", name,
                       lz_dtype_get(out->type)->name);
    bool half = out->type == LZ_F16 || out->type == LZ_BF16;
    if ((rule == LZ_INNER_INT && !lz_dtype_is_whole(out->type)) || (rule == LZ_INNER_WIDE && half))
        return lz_err_because(LZ_REASON_DTYPE, "\"%s\" not implemented for '%s'", name,
                              lz_dtype_get(out->type)->script);
    if (condition < n && args[condition].dtype != LZ_BOOL && args[condition].dtype != LZ_U8)
        return lz_err_because(LZ_REASON_DTYPE,
                              "%s expected condition to be a boolean tensor, but got a tensor with dtype %s",
                              name, lz_dtype_get(args[condition].dtype)->script);
    LZ_TRY(inner_sizes(b, args, n, out));
    for (size_t i = 0; i < n; i++) {
        elements[i] = args[i];
        if (rule == LZ_INNER_NUMBER && args[i].kind == LZ_LOW_VALUE_TENSOR && args[i].dtype == LZ_BOOL)
            return lz_err_because(LZ_REASON_DTYPE,
                                  "%s is not defined for bool tensors: use logical_xor or logical_not", name);
        if (args[i].kind == LZ_LOW_VALUE_TENSOR || args[i].kind == LZ_LOW_VALUE_NUMBER)
            LZ_TRY(inner_element(b, out, i == condition ? LZ_BOOL : out->type, &args[i], &elements[i]));
    }
    return NULL;
}

lz_err *lz_inner_end(lz_lower *b, const lz_inner *in, const lz_low_value *value, lz_low_value *out)
{
    lz_low_value v = *value;
    const lz_low_node *n;
    if (v.kind == LZ_LOW_VALUE_NUMBER) /* the expression uses no element */
        LZ_TRY(inner_element(b, in, in->result, value, &v));
    LZ_TRY(lz_low_cast(b, v.node, lz_low_opmath(in->result), &n));
    *out = (lz_low_value){ .kind = LZ_LOW_VALUE_TENSOR, .dtype = in->result, .node = n };
    return NULL;
}

/* ---- calling operators ---- */

static lz_err *carry(lz_lower *b, lz_low_value *v)
{
    if (v->kind == LZ_LOW_VALUE_TENSOR && v->node->number) /* a wrapped number stays a wrapped number */
        return NULL;
    if (v->kind == LZ_LOW_VALUE_TENSOR)
        return lz_low_cast(b, v->node, lz_low_opmath(v->dtype), &v->node);
    lz_low_value *items;
    if (v->kind != LZ_LOW_VALUE_LIST)
        return NULL;
    LZ_TRY(lz_low_list_new(b, v->list.n, &items));
    for (size_t i = 0; i < v->list.n; i++) {
        items[i] = v->list.items[i];
        if (items[i].kind == LZ_LOW_VALUE_TENSOR)
            LZ_TRY(lz_low_cast(b, items[i].node, lz_low_opmath(items[i].dtype), &items[i].node));
    }
    v->list.items = items;
    return NULL;
}

lz_err *lz_low_round(lz_lower *b, lz_low_value *v)
{
    lz_low_value *items;
    if (v->kind == LZ_LOW_VALUE_TENSOR)
        return lz_low_cast(b, v->node, v->dtype, &v->node);
    if (v->kind != LZ_LOW_VALUE_LIST)
        return NULL;
    LZ_TRY(lz_low_list_new(b, v->list.n, &items));
    for (size_t i = 0; i < v->list.n; i++) {
        items[i] = v->list.items[i];
        if (items[i].kind == LZ_LOW_VALUE_TENSOR)
            LZ_TRY(lz_low_cast(b, items[i].node, items[i].dtype, &items[i].node));
    }
    v->list.items = items;
    return NULL;
}

lz_err *lz_low_call(lz_lower *b, lz_lower_fn *fn, const lz_low_value *args, size_t nargs,
                    lz_low_value *results, size_t n)
{
    lz_low_value *carried;
    LZ_TRY(lz_low_list_new(b, nargs, &carried));
    for (size_t i = 0; i < nargs; i++) {
        carried[i] = args[i];
        LZ_TRY(carry(b, &carried[i]));
    }
    LZ_TRY(fn(b, carried, results));
    for (size_t i = 0; i < n; i++)
        LZ_TRY(lz_low_round(b, &results[i]));
    return NULL;
}
