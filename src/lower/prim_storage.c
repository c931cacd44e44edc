/* Primitives that ask where a tensor lies in its storage, and the answers (storage_question.h). */
#include "core/scalar.h"
#include "core/shape.h"
#include "lower/lower_calc.h"
#include "lower/lower_table.h"
#include "lower/storage_question.h"

bool lz_op_asks_storage(const lz_op_row *op)
{
    return lz_layout_of(op)->memory & LZ_MEMORY_STORAGE && op->nreturns == 1
           && op->returns[0].type->kind != LZ_KIND_TENSOR;
}

static bool same_place(const lz_storage_place *a, const lz_storage_place *b)
{
    return a->storage == b->storage && a->offset == b->offset && lz_shape_eq(a->sizes, b->sizes)
           && lz_shape_eq(a->strides, b->strides);
}

static lz_err *stride_of(lz_ints strides, int64_t dim, int64_t *out)
{
    int64_t d;
    if (strides.n == 0)
        return lz_errf(LZ_ERR_ARG, "Dimension specified as %lld but tensor has no dimensions",
                       (long long)dim);
    LZ_TRY(lz_wrap_dim(dim, strides.n, &d));
    *out = strides.v[d];
    return NULL;
}

lz_err *lz_storage_answer(const lz_op_row *op, const lz_storage_asked *in, lz_scalar *out)
{
    int64_t n = in->place[0].offset;
    if (op->nargs > 1 && op->args[1].type->kind == LZ_KIND_INT)
        LZ_TRY(stride_of(in->place[0].strides, in->dim, &n));
    *out = op->returns[0].type->kind == LZ_KIND_INT
               ? lz_scalar_int(n)
               : lz_scalar_bool(same_place(&in->place[0], &in->place[1]));
    return NULL;
}

/* ---- for arguments that are inputs, each with a storage of its own ---- */

static lz_storage_place place_of(const lz_low_value *v)
{
    const lz_low_node *n = v->node;
    while (n->kind == LZ_LOW_CAST && n->nin) /* float16 is computed in float32 */
        n = n->in[0];
    lz_storage_place p = { .storage = n, .sizes = lz_low_node_sizes(n) };
    if (n->kind == LZ_LOW_INPUT)
        p.offset = ((const lz_low_input_attr *)n->attr)->offset;
    return p;
}

lz_err *lz_lower_storage_offset(lz_lower *b, const lz_low_value *args, lz_low_value *results)
{
    (void)b;
    results[0] = lz_low_value_int(place_of(&args[0]).offset);
    return NULL;
}

lz_err *lz_lower_stride_int(lz_lower *b, const lz_low_value *args, lz_low_value *results)
{
    lz_low_value strides;
    int64_t dim, n;
    LZ_TRY(lz_low_value_get_int(&args[1], &dim));
    LZ_TRY(lz_low_strides(b, &args[0], &strides));
    LZ_TRY(lz_wrap_dim(dim, lz_low_value_ndim(&args[0]), &dim));
    LZ_TRY(lz_calc_int_at(&strides, dim, &n));
    results[0] = lz_low_value_int(n);
    return NULL;
}

lz_err *lz_lower_is_set_to(lz_lower *b, const lz_low_value *args, lz_low_value *results)
{
    lz_storage_place a = place_of(&args[0]), other = place_of(&args[1]);
    (void)b;
    results[0] = lz_low_value_bool(same_place(&a, &other));
    return NULL;
}
