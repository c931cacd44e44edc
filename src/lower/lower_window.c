/* Parts of tensors that begin at a run-time number. */
#include "core/strides.h"
#include "lower/lower_impl.h"
#include "lower/views.h"

/* Adds the guard 0 <= start <= most: plans check it before they run. */
static lz_err *require_within(lz_lower *b, const lz_low_node *start, int64_t most)
{
    lz_low_value number = { .kind = LZ_LOW_VALUE_NUMBER, .number = lz_scalar_int(0), .node = start };
    const lz_low_value low[] = { number, lz_low_value_int(0) },
                       high[] = { number, lz_low_value_sized(lz_scalar_int(most)) };
    lz_low_value both[2], ok;
    const lz_low_value message[] = { lz_low_value_str(LZ_STR("a view that begins at ")), number,
                                     lz_low_value_str(
                                         LZ_STR(" is out of the tensor's bounds: it can begin at 0 to ")),
                                     lz_low_value_int(most) };
    LZ_TRY(lz_low_op(b, LZ_LOW_OP_GE, low, &both[0]));
    LZ_TRY(lz_low_op(b, LZ_LOW_OP_LE, high, &both[1]));
    LZ_TRY(lz_low_op(b, LZ_LOW_OP_AND, both, &ok));
    return lz_low_require(b, &ok, LZ_REASON_INDEX, message, sizeof message / sizeof *message);
}

static lz_err *check_start(const lz_lower *b, const lz_low_node *start)
{
    return b->move && start->kind == LZ_LOW_SCALAR && start->dtype == LZ_I64 ? NULL : lz_low_needs_value();
}

/* An input whose first element depends on a run-time number. */
static lz_err *move_input(lz_lower *b, const lz_group_view *v, const lz_low_node *start, int64_t stride,
                          lz_ints sizes, const lz_low_node **out)
{
    const lz_low_input_attr *in = v->base->attr;
    lz_dtype d = (lz_dtype)v->base->dtype;
    int64_t slot, number = ((const lz_low_scalar_attr *)start->attr)->slot;
    LZ_TRY(b->move(b, in->slot, number, stride * (int64_t)lz_dtype_size(d), &slot));
    return lz_low_input(b, slot, d, sizes, (lz_ints){ v->strides, sizes.n }, v->offset, out);
}

static lz_err *gather_from(lz_lower *b, const lz_low_node *x, int64_t dim, const lz_low_node *start,
                           lz_ints sizes, const lz_low_node **out)
{
    const lz_low_node *in[2], *index;
    int64_t strides[LZ_MAX_DIMS] = { 0 };
    strides[dim] = 1;
    LZ_TRY(lz_low_iota(b, sizes, 0, (lz_ints){ strides, sizes.n }, &in[0]));
    LZ_TRY(lz_low_expand(b, start, sizes, &in[1]));
    LZ_TRY(lz_low_map(b, LZ_KERNEL_ADD, in, &index));
    return lz_low_gather(b, x, index, dim, out);
}

lz_err *lz_low_window(lz_lower *b, const lz_low_node *x, int64_t dim, const lz_low_node *start, int64_t size,
                      const lz_low_node **out)
{
    lz_shape sizes;
    lz_group_view v;
    if (size < 0 || size > x->sizes[dim])
        return lz_errf(LZ_ERR_ARG, "a part of %lld elements does not fit into a dimension of size %lld",
                       (long long)size, (long long)x->sizes[dim]);
    if (b->shape_only || size == 0)
        return lz_low_slice(b, x, dim, 0, 1, size, out);
    LZ_TRY(check_start(b, start));
    LZ_TRY(require_within(b, start, x->sizes[dim] - size));
    LZ_TRY(lz_shape_copy(lz_low_node_sizes(x), &sizes));
    sizes.v[dim] = size;
    LZ_TRY(lz_view_resolve(b->arena, x, &v));
    if (v.base->kind == LZ_LOW_INPUT)
        return move_input(b, &v, start, v.strides[dim], lz_shape_ints(&sizes), out);
    return gather_from(b, x, dim, start, lz_shape_ints(&sizes), out);
}

lz_err *lz_low_update_from(lz_lower *b, const lz_low_node *base, const lz_low_node *part,
                           const lz_low_node *start, int64_t most, int64_t step, const int64_t *strides,
                           const lz_low_node **out)
{
    const lz_low_node *in[3] = { base, part, start };
    int64_t attr[2 + LZ_MAX_DIMS] = { 0 };
    if (b->shape_only || part->numel == 0 || most == 0)
        return lz_low_update(b, base, part, 0, strides, out);
    LZ_TRY(check_start(b, start));
    LZ_TRY(require_within(b, start, most));
    for (int64_t d = 0; d < part->ndim; d++)
        attr[1 + d] = part->sizes[d] == 1 ? 0 : strides[d];
    attr[1 + part->ndim] = step;
    return lz_low_intern(b,
                         &(lz_low_proto){ .kind = LZ_LOW_UPDATE,
                                          .dtype = (lz_dtype)base->dtype,
                                          .nin = 3,
                                          .in = in,
                                          .sizes = lz_low_node_sizes(base),
                                          .attr = attr,
                                          .attr_size = (2 + (size_t)part->ndim) * sizeof *attr },
                         out);
}
