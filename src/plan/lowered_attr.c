/* Attributes and types of lowered nodes. */
#include "core/shape.h"
#include "plan/lowered_read.h"

lz_err *lz_lread_wrong(const lz_lreader *r, const lz_ir_node *n, const char *what)
{
    return lz_ir_error(r->g, n, LZ_ERR_MODEL, "%s", what);
}

/* ---- attributes ---- */

/* The attribute, if it is there and of the kind. */
static const lz_gv *find(const lz_ir_node *n, const char *name, lz_gv_kind kind)
{
    const lz_ir_attr *a = lz_ir_attr_find(n, name);
    return a && !a->type && a->value.kind == kind ? &a->value : NULL;
}

static lz_err *no_attr(const lz_lreader *r, const lz_ir_node *n, const char *name)
{
    return lz_ir_error(r->g, n, LZ_ERR_MODEL, "attribute '%s' is missing or of another kind", name);
}

lz_err *lz_lread_int(const lz_lreader *r, const lz_ir_node *n, const char *name, int64_t *out)
{
    const lz_gv *v = find(n, name, LZ_GV_INT);
    if (!v)
        return no_attr(r, n, name);
    *out = v->i;
    return NULL;
}

lz_err *lz_lread_int_or(const lz_lreader *r, const lz_ir_node *n, const char *name, int64_t absent,
                        int64_t *out)
{
    *out = absent;
    return lz_ir_attr_find(n, name) ? lz_lread_int(r, n, name, out) : NULL;
}

lz_err *lz_lread_str(const lz_lreader *r, const lz_ir_node *n, const char *name, lz_str *out)
{
    const lz_gv *v = find(n, name, LZ_GV_STR);
    if (!v)
        return no_attr(r, n, name);
    *out = lz_gv_text(*v);
    return NULL;
}

static lz_err *ints_of(const lz_lreader *r, const lz_ir_node *n, const char *name, lz_gv v, int64_t *out)
{
    for (size_t i = 0; i < v.list->len; i++) {
        if (v.list->data[i].kind != LZ_GV_INT)
            return lz_ir_error(r->g, n, LZ_ERR_MODEL, "attribute '%s' has something that is no int", name);
        out[i] = v.list->data[i].i;
    }
    return NULL;
}

lz_err *lz_lread_ints(const lz_lreader *r, const lz_ir_node *n, const char *name, lz_ints *out)
{
    const lz_gv *v = find(n, name, LZ_GV_LIST);
    int64_t *list;
    if (!v)
        return no_attr(r, n, name);
    LZ_TRY(lz_arena_new(r->b->arena, &list, v->list->len + 1));
    *out = (lz_ints){ list, (int64_t)v->list->len };
    return ints_of(r, n, name, *v, list);
}

lz_err *lz_lread_exactly(const lz_lreader *r, const lz_ir_node *n, const char *name, int64_t count,
                         const int64_t **out)
{
    lz_ints v = { NULL, 0 };
    LZ_TRY(lz_lread_ints(r, n, name, &v));
    *out = v.v;
    if (v.n == count)
        return NULL;
    return lz_ir_error(r->g, n, LZ_ERR_MODEL, "attribute '%s' has %lld numbers, not %lld", name,
                       (long long)v.n, (long long)count);
}

lz_err *lz_lread_rows(const lz_lreader *r, const lz_ir_node *n, const char *name, int64_t *rows,
                      int64_t width, int64_t **out)
{
    const lz_gv *v = find(n, name, LZ_GV_LIST);
    if (!v)
        return no_attr(r, n, name);
    if (*rows >= 0 && (int64_t)v->list->len != *rows)
        return lz_ir_error(r->g, n, LZ_ERR_MODEL, "attribute '%s' has %zu rows, not %lld", name, v->list->len,
                           (long long)*rows);
    *rows = (int64_t)v->list->len;
    LZ_TRY(lz_arena_new(r->b->arena, out, (size_t)(*rows * width) + 1));
    for (int64_t i = 0; i < *rows; i++) {
        lz_gv row = v->list->data[i];
        if (row.kind != LZ_GV_LIST || (int64_t)row.list->len != width)
            return lz_ir_error(r->g, n, LZ_ERR_MODEL, "a row of attribute '%s' has not %lld numbers", name,
                               (long long)width);
        LZ_TRY(ints_of(r, n, name, row, *out + i * width));
    }
    return NULL;
}

lz_err *lz_lread_bits(const lz_lreader *r, const lz_ir_node *n, const char *name, uint64_t *out)
{
    lz_ints v = { NULL, 0 };
    *out = 0;
    LZ_TRY(lz_lread_ints(r, n, name, &v));
    for (int64_t i = 0; i < v.n; i++) {
        if (v.v[i] < 0 || v.v[i] >= 64 || (i && v.v[i] <= v.v[i - 1]))
            return lz_ir_error(r->g, n, LZ_ERR_MODEL, "attribute '%s' must be ascending and below 64", name);
        *out |= UINT64_C(1) << v.v[i];
    }
    return NULL;
}

/* ---- values ---- */

lz_err *lz_lread_know(lz_lreader *r, lz_ir_value *v, lz_lvalue_read what)
{
    what.value = v;
    LZ_TRY(lz_vec_push(&r->values, what));
    v->mark = (uint32_t)r->values.len;
    return NULL;
}

lz_err *lz_lread_value(const lz_lreader *r, const lz_ir_node *n, uint32_t i, lz_lvalue_read **out)
{
    uint32_t mark = i < n->nin ? lz_ir_in(n, i)->mark : 0;
    *out = mark && mark <= r->values.len ? &r->values.data[mark - 1] : NULL;
    if (*out && (*out)->value == lz_ir_in(n, i))
        return NULL;
    return lz_ir_error(r->g, n, LZ_ERR_MODEL, "operand %u is missing or nothing that is lowered", i + 1);
}

lz_err *lz_lread_type(const lz_lreader *r, const lz_ir_node *n, lz_dtype *dtype, lz_ints *sizes)
{
    const lz_tensor_facts *t =
        n->nout == 1 && n->out[0]->type->kind == LZ_TY_TENSOR ? n->out[0]->type->tensor : NULL;
    bool ok = t && t->dtype != LZ_DTYPE_NONE && t->rank >= 0;
    for (int i = 0; ok && i < t->rank; i++)
        ok = t->sizes[i] >= 0;
    if (!ok)
        return lz_lread_wrong(r, n, "one output is needed, with dtype and sizes in its type");
    *dtype = t->dtype;
    *sizes = (lz_ints){ t->sizes, t->rank };
    if (lz_ktype_of(*dtype) == LZ_KTYPES)
        return lz_ir_error(r->g, n, LZ_ERR_UNSUPPORTED, "no kernel computes this dtype");
    lz_err *e = lz_shape_check(*sizes);
    if (!e)
        return NULL;
    lz_err *placed = lz_lread_wrong(r, n, lz_err_text(e));
    lz_err_free(e);
    return placed;
}
