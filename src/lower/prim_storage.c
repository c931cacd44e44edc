/* Primitives that ask where a tensor lies in its storage, and the answers (storage_question.h). */
#include "core/scalar.h"
#include "core/shape.h"
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

lz_scalar lz_storage_answer(const lz_op_row *op, const lz_storage_place *in)
{
    return op->returns[0].type->kind == LZ_KIND_INT ? lz_scalar_int(in[0].offset)
                                                    : lz_scalar_bool(same_place(&in[0], &in[1]));
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

lz_err *lz_lower_is_set_to(lz_lower *b, const lz_low_value *args, lz_low_value *results)
{
    lz_storage_place a = place_of(&args[0]), other = place_of(&args[1]);
    (void)b;
    results[0] = lz_low_value_bool(same_place(&a, &other));
    return NULL;
}
