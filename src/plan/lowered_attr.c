/* Attributes and types of lowered nodes. */
#include "core/shape.h"
#include "plan/lowered_read.h"

lz_err *lz_lowered_read_wrong(const lz_lowered_reader *r, const lz_ssa_node *n, const char *what)
{
    return lz_ssa_error(r->g, n, LZ_ERR_MODEL, "%s", what);
}

/* ---- attributes ---- */

/* The attribute if the node has one of this name and kind, otherwise NULL. */
static const lz_script_value *find(const lz_ssa_node *n, const char *name, lz_script_value_kind kind)
{
    const lz_ssa_attr *a = lz_ssa_attr_find(n, name);
    return a && !a->type && a->value.kind == kind ? &a->value : NULL;
}

static lz_err *no_attr(const lz_lowered_reader *r, const lz_ssa_node *n, const char *name)
{
    return lz_ssa_error(r->g, n, LZ_ERR_MODEL, "attribute '%s' is missing or has another type", name);
}

lz_err *lz_lowered_read_int(const lz_lowered_reader *r, const lz_ssa_node *n, const char *name, int64_t *out)
{
    const lz_script_value *v = find(n, name, LZ_SCRIPT_VALUE_INT);
    if (!v)
        return no_attr(r, n, name);
    *out = v->i;
    return NULL;
}

lz_err *lz_lowered_read_int_or(const lz_lowered_reader *r, const lz_ssa_node *n, const char *name,
                               int64_t absent, int64_t *out)
{
    *out = absent;
    return lz_ssa_attr_find(n, name) ? lz_lowered_read_int(r, n, name, out) : NULL;
}

lz_err *lz_lowered_read_str(const lz_lowered_reader *r, const lz_ssa_node *n, const char *name, lz_str *out)
{
    const lz_script_value *v = find(n, name, LZ_SCRIPT_VALUE_STR);
    if (!v)
        return no_attr(r, n, name);
    *out = lz_script_value_text(*v);
    return NULL;
}

static lz_err *ints_of(const lz_lowered_reader *r, const lz_ssa_node *n, const char *name, lz_script_value v,
                       int64_t *out)
{
    for (size_t i = 0; i < v.list->len; i++) {
        if (v.list->data[i].kind != LZ_SCRIPT_VALUE_INT)
            return lz_ssa_error(r->g, n, LZ_ERR_MODEL, "attribute '%s': expected integers only", name);
        out[i] = v.list->data[i].i;
    }
    return NULL;
}

lz_err *lz_lowered_read_ints(const lz_lowered_reader *r, const lz_ssa_node *n, const char *name, lz_ints *out)
{
    const lz_script_value *v = find(n, name, LZ_SCRIPT_VALUE_LIST);
    int64_t *list;
    if (!v)
        return no_attr(r, n, name);
    LZ_TRY(lz_arena_new(r->b->arena, &list, v->list->len + 1));
    *out = (lz_ints){ list, (int64_t)v->list->len };
    return ints_of(r, n, name, *v, list);
}

lz_err *lz_lowered_read_exactly(const lz_lowered_reader *r, const lz_ssa_node *n, const char *name,
                                int64_t count, const int64_t **out)
{
    lz_ints v = { NULL, 0 };
    LZ_TRY(lz_lowered_read_ints(r, n, name, &v));
    *out = v.v;
    if (v.n == count)
        return NULL;
    return lz_ssa_error(r->g, n, LZ_ERR_MODEL, "attribute '%s': found %lld numbers, expected %lld", name,
                        (long long)v.n, (long long)count);
}

lz_err *lz_lowered_read_rows(const lz_lowered_reader *r, const lz_ssa_node *n, const char *name,
                             int64_t *rows, int64_t width, int64_t **out)
{
    const lz_script_value *v = find(n, name, LZ_SCRIPT_VALUE_LIST);
    if (!v)
        return no_attr(r, n, name);
    if (*rows >= 0 && (int64_t)v->list->len != *rows)
        return lz_ssa_error(r->g, n, LZ_ERR_MODEL, "attribute '%s': found %zu rows, expected %lld", name,
                            v->list->len, (long long)*rows);
    *rows = (int64_t)v->list->len;
    LZ_TRY(lz_arena_new(r->b->arena, out, (size_t)(*rows * width) + 1));
    for (int64_t i = 0; i < *rows; i++) {
        lz_script_value row = v->list->data[i];
        if (row.kind != LZ_SCRIPT_VALUE_LIST || (int64_t)row.list->len != width)
            return lz_ssa_error(r->g, n, LZ_ERR_MODEL, "attribute '%s': expected %lld numbers in each row",
                                name, (long long)width);
        LZ_TRY(ints_of(r, n, name, row, *out + i * width));
    }
    return NULL;
}

lz_err *lz_lowered_read_bits(const lz_lowered_reader *r, const lz_ssa_node *n, const char *name,
                             uint64_t *out)
{
    lz_ints v = { NULL, 0 };
    *out = 0;
    LZ_TRY(lz_lowered_read_ints(r, n, name, &v));
    for (int64_t i = 0; i < v.n; i++) {
        if (v.v[i] < 0 || v.v[i] >= 64 || (i && v.v[i] <= v.v[i - 1]))
            return lz_ssa_error(r->g, n, LZ_ERR_MODEL,
                                "attribute '%s': expected ascending numbers from 0 to 63", name);
        *out |= UINT64_C(1) << v.v[i];
    }
    return NULL;
}

/* ---- values ---- */

lz_err *lz_lowered_read_know(lz_lowered_reader *r, lz_ssa_value *v, lz_lowered_value_reading what)
{
    what.value = v;
    LZ_TRY(lz_vec_push(&r->values, what));
    v->mark = (uint32_t)r->values.len;
    return NULL;
}

lz_err *lz_lowered_read_value(const lz_lowered_reader *r, const lz_ssa_node *n, uint32_t i,
                              lz_lowered_value_reading **out)
{
    uint32_t mark = i < n->nin ? lz_ssa_in(n, i)->mark : 0;
    *out = mark && mark <= r->values.len ? &r->values.data[mark - 1] : NULL;
    if (*out && (*out)->value == lz_ssa_in(n, i))
        return NULL;
    return lz_ssa_error(r->g, n, LZ_ERR_MODEL, "operand %u is missing or is no value of a lowered graph",
                        i + 1);
}

lz_err *lz_lowered_read_type(const lz_lowered_reader *r, const lz_ssa_node *n, lz_dtype *dtype,
                             lz_ints *sizes)
{
    const lz_tensor_facts *t =
        n->nout == 1 && n->out[0]->type->kind == LZ_GRAPH_TYPE_TENSOR ? n->out[0]->type->tensor : NULL;
    bool ok = t && t->dtype != LZ_DTYPE_NONE && t->rank >= 0;
    for (int i = 0; ok && i < t->rank; i++)
        ok = t->sizes[i] >= 0;
    if (!ok)
        return lz_lowered_read_wrong(r, n, "expected one result whose type has dtype and sizes");
    *dtype = t->dtype;
    *sizes = (lz_ints){ t->sizes, t->rank };
    if (lz_kernel_type_of(*dtype) == LZ_KERNEL_TYPES)
        return lz_ssa_error(r->g, n, LZ_ERR_UNSUPPORTED, "no kernel computes this dtype");
    return lz_ssa_locate(r->g, n, lz_shape_check(*sizes));
}
