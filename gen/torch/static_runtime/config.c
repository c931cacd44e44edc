#include "gen/torch/static_runtime/config.h"
#include "gen/text/lists.h"

static bool listed(const lzg_ops *ops, const char *list, lz_str name)
{
    return ops->lists && lzg_lists_has(ops->lists, list, name);
}

bool lzg_is_hand_written(const lzg_ops *ops, lz_str base)
{
    return listed(ops, "static_runtime.hand_written_ops", base);
}

bool lzg_is_blocked(const lzg_ops *ops, lz_str base)
{
    return listed(ops, "generator.blocked_ops", base);
}

lz_err *lzg_fitted_inputs(const lzg_ops *ops, lz_str base, int round, const lz_json **out)
{
    const lz_json *all = ops->lists ? lzg_lists_get(ops->lists, "static_runtime.fitted_inputs") : NULL;
    const lz_json *rounds = all ? lz_json_find(all, base) : NULL;
    *out = NULL;
    if (!rounds)
        return NULL;
    LZ_TRY(lz_json_as_array(rounds, "fitted inputs", &rounds));
    if (rounds->len != LZG_INPUT_ROUNDS)
        return lz_err_at(LZ_ERR_MODEL, rounds->loc, "fitted inputs are for %d rounds", (int)LZG_INPUT_ROUNDS);
    *out = &rounds->items[round];
    return (*out)->kind == LZ_JSON_OBJECT
               ? NULL
               : lz_err_at(LZ_ERR_MODEL, (*out)->loc, "the inputs of a round are an object");
}

bool lzg_keeps_memory(const lzg_ops *ops, lz_str name)
{
    return listed(ops, "static_runtime.no_memory_resize", name);
}

static lz_err *given_shape(const lz_json *shape, lzg_input *in)
{
    LZ_TRY(lz_json_as_array(shape, "a shape", &shape));
    if (shape->len > LZG_INPUT_RANK)
        return lz_err_at(LZ_ERR_LIMIT, shape->loc, "a shape has %d sizes at most", (int)LZG_INPUT_RANK);
    for (in->rank = 0; in->rank < shape->len; in->rank++)
        LZ_TRY(lz_json_as_int(&shape->items[in->rank], "a size", &in->sizes[in->rank]));
    return NULL;
}

/* About 16 or 64 by the sum of its sizes, which are even. */
static lz_err *set_shape(const lzg_ops *ops, lz_str base, int round, lzg_input *in)
{
    const lz_json *shapes = ops->lists ? lzg_lists_get(ops->lists, "static_runtime.tensor_shapes") : NULL;
    const lz_json *shape = shapes ? lz_json_find(shapes, base) : NULL;
    in->listed = shape;
    if (shape)
        return given_shape(shape, in);
    in->rank = listed(ops, "static_runtime.rank_1_tensors", base)   ? 1
               : listed(ops, "static_runtime.rank_2_tensors", base) ? 2
                                                                    : 3;
    int64_t rank = (int64_t)in->rank, size = ((round ? 64 : 16) + rank - 1) / rank;
    for (size_t i = 0; i < in->rank; i++)
        in->sizes[i] = size + size % 2;
    return NULL;
}

lz_err *lzg_input_for(const lzg_ops *ops, lz_str base, const lzg_type *t, int round, lzg_input *out)
{
    static const char *const literals[LZG_TY_COUNT] = {
        [LZG_TY_int] = "1",         [LZG_TY_bool] = "false",
        [LZG_TY_Scalar] = "2",      [LZG_TY_ScalarType] = "Float",
        [LZG_TY_str] = "\"floor\"",
    };
    const lzg_type *value = t->kind == LZG_TYPE_OPTIONAL ? t->elem : t;
    bool known = value->kind == LZG_TYPE_BASE && (value->base == LZG_TY_Tensor || literals[value->base]);
    if (!known)
        return lz_errf(LZ_ERR_UNSUPPORTED, "no input is made up for this type");
    *out = (lzg_input){ .type = value->base, .literal = literals[value->base] };
    if (out->literal)
        return NULL;
    out->elements = listed(ops, "static_runtime.int_tensors", base)       ? LZG_INT_ELEMENTS
                    : listed(ops, "static_runtime.complex_tensors", base) ? LZG_COMPLEX_ELEMENTS
                                                                          : LZG_REAL_ELEMENTS;
    return set_shape(ops, base, round, out);
}
