#include "lazy/layout.h"
#include "base/str.h"
#include "op/op_table.h"

static int find_arg(const lz_op_row *op, const char *name)
{
    for (int i = 0; i < op->nargs; i++)
        if (lz_str_is(lz_str_of(op->args[i].name), name))
            return i;
    return -1;
}

/* The value of a fixed argument; none if there is no such argument. */
static lz_value fixed_arg(const lz_call *c, const char *name)
{
    int i = find_arg(c->op, name);
    if (i < 0 || c->slots[i].kind != LZ_ARG_VALUE)
        return lz_value_none();
    return lz_unpack(c->words.data, c->slots[i].first);
}

static bool base_is(const lz_op_row *op, const char *name)
{
    return lz_str_is((lz_str){ op->name, op->base }, name);
}

static const char *const copiers[] = { "reshape",    "reshape_as", "flatten", "ravel",
                                       "contiguous", "to",         "type_as", "atleast_1d",
                                       "atleast_2d", "atleast_3d", "to_dense" };

static const char *const returners[] = { "flatten",    "contiguous", "to",        "type_as",
                                         "atleast_1d", "atleast_2d", "atleast_3d" };

static bool is_one_of(const lz_op_row *op, const char *const *names, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (base_is(op, names[i]))
            return true;
    return false;
}

bool lz_layout_may_copy(const lz_op_row *op)
{
    return is_one_of(op, copiers, sizeof copiers / sizeof *copiers);
}

bool lz_layout_may_return(const lz_op_row *op)
{
    return is_one_of(op, returners, sizeof returners / sizeof *returners);
}

bool lz_layout_must_copy(const lz_call *c, const lz_spec *self)
{
    lz_value copy = fixed_arg(c, "copy"), format = fixed_arg(c, "memory_format");
    if (copy.kind == LZ_KIND_BOOL && copy.truth)
        return true;
    return format.kind == LZ_KIND_MEMORY_FORMAT && format.memory_format != LZ_PRESERVE
           && !lz_strides_are_format(lz_spec_sizes(self), lz_spec_strides(self), format.memory_format);
}

static void copy_strides(const lz_spec *s, lz_shape *out)
{
    out->n = s->ndim;
    for (int64_t i = 0; i < s->ndim; i++)
        out->v[i] = s->strides[i];
}

/* As the operand lies, without gaps. */
static lz_err *like_one(const lz_spec *s, lz_ints sizes, lz_shape *out)
{
    lz_ints strides = lz_spec_strides(s);
    if (!s->dense || !lz_shape_eq(lz_spec_sizes(s), sizes))
        return lz_strides_like(sizes, &strides, lz_shape_eq(lz_spec_sizes(s), sizes) ? 1 : 0, out);
    copy_strides(s, out);
    return NULL;
}

/* As the operands lie, the first that can tell. */
static lz_err *like_all(const lz_spec *const *in, size_t n, lz_ints sizes, lz_shape *out)
{
    enum { MOST = 8 };
    lz_shape wide[MOST], ignored;
    lz_ints strides[MOST];
    size_t k = 0;
    const lz_spec *first = NULL;
    bool same = true;
    for (size_t i = 0; i < n && k < MOST; i++) {
        if (!in[i] || in[i]->ndim == 0)
            continue;
        same = same && lz_shape_eq(lz_spec_sizes(in[i]), sizes)
               && (!first || lz_shape_eq(lz_spec_strides(first), lz_spec_strides(in[i])));
        first = first ? first : in[i];
        lz_err *e =
            lz_strides_expand(lz_spec_sizes(in[i]), lz_spec_strides(in[i]), sizes, &ignored, &wide[k]);
        strides[k] = lz_shape_ints(&wide[k]);
        k += e == NULL;
        lz_err_free(e);
    }
    if (first && same && first->dense) {
        copy_strides(first, out);
        return NULL;
    }
    return lz_strides_like(sizes, strides, k, out);
}

static bool all_row_major(const lz_spec *const *in, size_t n)
{
    bool all = true;
    for (size_t i = 0; all && i < n; i++)
        all = !in[i] || in[i]->contiguous;
    return all;
}

lz_err *lz_layout_fresh(const lz_call *c, const lz_spec *const *in, lz_ints sizes, lz_shape *out)
{
    lz_value format = fixed_arg(c, "memory_format");
    size_t n = c->tensors.len;
    if (format.kind == LZ_KIND_MEMORY_FORMAT && format.memory_format != LZ_PRESERVE)
        return lz_strides_format(sizes, format.memory_format, out);
    if (n > 0 && find_arg(c->op, "memory_format") >= 0 && in[0])
        return like_one(in[0], sizes, out);
    if (!(c->op->tags & LZ_TAG_BIT(pointwise)) || all_row_major(in, n))
        return lz_strides_contiguous(sizes, out);
    return like_all(in, n, sizes, out);
}
