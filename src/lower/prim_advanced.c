/* Indexing with tensors, as NumPy does it. */
#include "lower/prim_impl.h"

typedef struct indexing {
    const lz_low_node *at[LZ_MAX_DIMS]; /* i64 indices for each dimension, broadcast to one shape; NULL: the
                                           whole dimension */
    lz_shape shape;                     /* that shape */
    lz_shape order;                     /* dimensions of self: indexed ones first */
    int64_t count;                      /* number of indexed dimensions */
    int64_t first; /* first indexed dimension; -1: they are not adjacent, so the result begins with them */
} indexing;

static lz_err *find_true(lz_lower *b, const lz_low_node *mask, const lz_low_node **out)
{
    if (b->shape_only || !b->nonzero)
        return lz_errf(LZ_ERR_UNSUPPORTED, "the number of true elements is known only at run time");
    LZ_TRY(lz_low_cast(b, mask, LZ_BOOL, &mask));
    return b->nonzero(b->user, b, mask, out);
}

lz_err *lz_lower_nonzero(lz_lower *b, const lz_low_value *args, lz_low_value *results)
{
    const lz_low_node *n;
    LZ_TRY(find_true(b, args[0].node, &n));
    results[0] = lz_prim_tensor(LZ_I64, n);
    return NULL;
}

static lz_err *too_many(int64_t ndim, size_t n)
{
    return lz_err_because(LZ_REASON_INDEX, "too many indices for tensor of dimension %lld (got %zu)",
                          (long long)ndim, n);
}

/* A mask is an index for as many dimensions as it has. */
static lz_err *take_mask(lz_lower *b, const lz_low_node *x, const lz_low_node *mask, int64_t *dim,
                         indexing *out)
{
    const lz_low_node *found;
    for (int64_t d = 0; d < mask->ndim; d++)
        if (*dim + d >= x->ndim || mask->sizes[d] != x->sizes[*dim + d]) {
            char a[LZ_SHAPE_CHARS], c[LZ_SHAPE_CHARS];
            return lz_err_because(
                LZ_REASON_SHAPE,
                "The shape of the mask %s at index %lld does not match the shape of the indexed "
                "tensor %s at index %lld",
                lz_shape_print(lz_low_node_sizes(mask), a), (long long)d,
                lz_shape_print(lz_low_node_sizes(x), c), (long long)*dim + (long long)d);
        }
    LZ_TRY(find_true(b, mask, &found));
    for (int64_t d = 0; d < mask->ndim; d++)
        LZ_TRY(lz_low_select(b, found, 1, d, &out->at[(*dim)++]));
    return NULL;
}

static lz_err *take_indices(lz_lower *b, const lz_low_node *x, const lz_low_value *list, indexing *out)
{
    int64_t dim = 0;
    for (size_t i = 0; i < list->list.n; i++) {
        const lz_low_value *v = &list->list.items[i];
        bool mask = lz_low_value_is_tensor(v) && (v->dtype == LZ_BOOL || v->dtype == LZ_U8);
        if (lz_low_value_is_tensor(v) && !mask && v->dtype != LZ_I64 && v->dtype != LZ_I32)
            return lz_err_because(LZ_REASON_DTYPE,
                                  "tensors used as indices must be long, int, byte or bool tensors");
        if (mask) {
            LZ_TRY(take_mask(b, x, v->node, &dim, out));
            continue;
        }
        if (dim >= x->ndim)
            return too_many(x->ndim, list->list.n);
        out->at[dim++] = lz_low_value_is_tensor(v) ? v->node : NULL;
    }
    return NULL;
}

static lz_err *broadcast(lz_lower *b, const lz_low_node *x, indexing *out)
{
    lz_ints shapes[LZ_MAX_DIMS];
    size_t n = 0;
    for (int64_t d = 0; d < x->ndim; d++)
        if (out->at[d])
            shapes[n++] = lz_low_node_sizes(out->at[d]);
    lz_err *e = lz_shape_broadcast(shapes, n, &out->shape);
    if (e) {
        lz_err_drop(e);
        return lz_err_because(LZ_REASON_SHAPE,
                              "shape mismatch: indexing tensors could not be broadcast together");
    }
    for (int64_t d = 0; d < x->ndim; d++)
        if (out->at[d])
            LZ_TRY(lz_low_expand(b, out->at[d], lz_shape_ints(&out->shape), &out->at[d]));
    return NULL;
}

static void arrange(const lz_low_node *x, indexing *out)
{
    int64_t last = -1;
    out->first = -1;
    out->order.n = 0;
    for (int pass = 0; pass < 2; pass++)
        for (int64_t d = 0; d < x->ndim; d++)
            if ((out->at[d] != NULL) == (pass == 0))
                out->order.v[out->order.n++] = d;
    for (int64_t d = 0; d < x->ndim; d++)
        if (out->at[d]) {
            out->first = out->count == 0 ? d : out->first;
            last = d;
            out->count++;
        }
    if (out->count && last - out->first + 1 != out->count)
        out->first = 0;
}

static lz_err *read_indices(lz_lower *b, const lz_low_node *x, const lz_low_value *list, indexing *out)
{
    *out = (indexing){ 0 };
    LZ_TRY(take_indices(b, x, list, out));
    LZ_TRY(broadcast(b, x, out));
    arrange(x, out);
    return NULL;
}

/* x with the indexed dimensions joined: [their product, the others...]. */
static lz_err *gathered_dims(lz_lower *b, const lz_low_node *x, const indexing *in, const lz_low_node **out)
{
    lz_shape sizes = { .n = x->ndim - in->count + 1 };
    LZ_TRY(lz_low_permute(b, x, in->order.v, out));
    sizes.v[0] = 1;
    for (int64_t d = 0; d < in->count; d++)
        sizes.v[0] *= (*out)->sizes[d];
    for (int64_t d = in->count; d < x->ndim; d++)
        sizes.v[d - in->count + 1] = (*out)->sizes[d];
    return lz_low_reshape(b, *out, lz_shape_ints(&sizes), out);
}

/* The position of each element within the joined dimension: [n]. */
static lz_err *positions(lz_lower *b, const lz_low_node *x, const indexing *in, const lz_low_node **out)
{
    int64_t n;
    LZ_TRY(lz_shape_numel(lz_shape_ints(&in->shape), &n));
    *out = NULL;
    for (int64_t k = 0; k < in->count; k++) {
        int64_t d = in->order.v[k];
        const lz_low_node *at;
        LZ_TRY(lz_low_check_index(b, in->at[d], x->sizes[d], d, true, &at));
        if (*out) {
            LZ_TRY(lz_prim_map_number(b, LZ_KERNEL_MUL, *out, (double)x->sizes[d], out));
            LZ_TRY(lz_prim_map2(b, LZ_KERNEL_ADD, *out, at, out));
        } else {
            *out = at;
        }
    }
    return lz_low_reshape(b, *out, LZ_INTS(n), out);
}

/* Expands [n] to [n, the other dimensions of x]. */
static lz_err *spread_positions(lz_lower *b, const lz_low_node *at, const lz_low_node *x,
                                const lz_low_node **out)
{
    lz_shape sizes = lz_prim_resized(x, 0, at->sizes[0]), ones = { .n = x->ndim, .v = { at->sizes[0] } };
    for (int64_t d = 1; d < x->ndim; d++)
        ones.v[d] = 1;
    LZ_TRY(lz_low_reshape(b, at, lz_shape_ints(&ones), out));
    return lz_low_expand(b, *out, lz_shape_ints(&sizes), out);
}

/* The shape [index shape..., other dimensions...], and the order that moves the index dimensions to their
 * place in the result. */
static lz_err *result_order(const lz_low_node *x, const indexing *in, lz_shape *sizes, lz_shape *order)
{
    int64_t k = in->shape.n, rest = x->ndim - in->count;
    int64_t before = in->first;
    if (k + rest > LZ_MAX_DIMS)
        return lz_errf(LZ_ERR_LIMIT, "a tensor has at most %d dimensions", LZ_MAX_DIMS);
    *sizes = in->shape;
    *order = (lz_shape){ 0 };
    for (int64_t d = 0; d < rest; d++)
        sizes->v[sizes->n++] = x->sizes[in->order.v[in->count + d]];
    for (int64_t d = 0; d < before; d++)
        order->v[order->n++] = k + d;
    for (int64_t d = 0; d < k; d++)
        order->v[order->n++] = d;
    for (int64_t d = before; d < rest; d++)
        order->v[order->n++] = k + d;
    return NULL;
}

lz_err *lz_lower_index_Tensor(lz_lower *b, const lz_low_value *args, lz_low_value *results)
{
    const lz_low_node *x = args[0].node, *data, *at, *n;
    indexing in;
    lz_shape sizes, order;
    LZ_TRY(read_indices(b, x, &args[1], &in));
    results[0] = args[0];
    if (!in.count)
        return NULL;
    LZ_TRY(gathered_dims(b, x, &in, &data));
    LZ_TRY(positions(b, x, &in, &at));
    LZ_TRY(spread_positions(b, at, data, &at));
    LZ_TRY(lz_low_gather(b, data, at, 0, &n));
    LZ_TRY(result_order(x, &in, &sizes, &order));
    LZ_TRY(lz_low_reshape(b, n, lz_shape_ints(&sizes), &n));
    LZ_TRY(lz_low_permute(b, n, order.v, &n));
    results[0] = lz_prim_tensor(args[0].dtype, n);
    return NULL;
}

/* ---- writing ---- */

static void invert(const lz_shape *order, int64_t *out)
{
    for (int64_t i = 0; i < order->n; i++)
        out[order->v[i]] = i;
}

/* The values, broadcast to the shape of the result, as [n, other dimensions...]. */
static lz_err *put_values(lz_lower *b, const lz_low_node *x, const indexing *in, const lz_low_node *values,
                          const lz_low_node *data, int64_t n, const lz_low_node **out)
{
    lz_shape sizes, order, seen;
    int64_t back[LZ_MAX_DIMS];
    lz_shape flat = lz_prim_resized(data, 0, n);
    LZ_TRY(result_order(x, in, &sizes, &order));
    seen.n = order.n;
    for (int64_t d = 0; d < order.n; d++)
        seen.v[d] = sizes.v[order.v[d]];
    invert(&order, back);
    lz_err *e = lz_low_expand(b, values, lz_shape_ints(&seen), out);
    if (lz_err_must_surface(e))
        return e;
    if (e) {
        char a[LZ_SHAPE_CHARS], c[LZ_SHAPE_CHARS];
        lz_err_free(e);
        return lz_err_because(
            LZ_REASON_SHAPE,
            "shape mismatch: value tensor of shape %s cannot be broadcast to indexing result of "
            "shape %s",
            lz_shape_print(lz_low_node_sizes(values), a), lz_shape_print(lz_shape_ints(&seen), c));
    }
    LZ_TRY(lz_low_permute(b, *out, back, out));
    return lz_low_reshape(b, *out, lz_shape_ints(&flat), out);
}

static lz_err *put(lz_lower *b, lz_low_scatter_mode mode, const lz_low_value *self, const lz_low_value *list,
                   const lz_low_node *values, lz_low_value *out)
{
    const lz_low_node *x = self->node, *data, *at, *n;
    indexing in;
    int64_t back[LZ_MAX_DIMS];
    lz_shape permuted = { .n = x->ndim };
    LZ_TRY(read_indices(b, x, list, &in));
    if (!in.count)
        return lz_errf(LZ_ERR_ARG, "index_put: expected at least one index");
    LZ_TRY(gathered_dims(b, x, &in, &data));
    LZ_TRY(positions(b, x, &in, &at));
    LZ_TRY(put_values(b, x, &in, values, data, at->sizes[0], &values));
    LZ_TRY(spread_positions(b, at, data, &at));
    LZ_TRY(lz_low_scatter(b, mode, data, 0, at, values, &n));
    for (int64_t d = 0; d < x->ndim; d++)
        permuted.v[d] = x->sizes[in.order.v[d]];
    invert(&in.order, back);
    LZ_TRY(lz_low_reshape(b, n, lz_shape_ints(&permuted), &n));
    LZ_TRY(lz_low_permute(b, n, back, &n));
    *out = lz_prim_tensor(self->dtype, n);
    return NULL;
}

lz_err *lz_lower_index_put(lz_lower *b, const lz_low_value *args, lz_low_value *results)
{
    bool accumulate;
    if (args[2].dtype != args[0].dtype)
        return lz_err_because(
            LZ_REASON_DTYPE,
            "Index put requires the source and destination dtypes match, got %s for the destination "
            "and %s for the source.",
            lz_dtype_get(args[0].dtype)->script, lz_dtype_get(args[2].dtype)->script);
    LZ_TRY(lz_low_value_get_bool(&args[3], &accumulate));
    return put(b, accumulate ? LZ_SCATTER_ADD : LZ_SCATTER_SET, &args[0], &args[1], args[2].node, results);
}
