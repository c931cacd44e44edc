/* Views, and other operators that only move elements. */
#include "core/strides.h"
#include "lower/prim_impl.h"

/* Returns e, or the node that the call stored in *n as result. */
static lz_err *result(const lz_low_value *self, lz_err *e, const lz_low_node *const *n, lz_low_value *out)
{
    if (!e)
        *out = lz_prim_tensor(self->dtype, *n);
    return e;
}

lz_err *lz_lower_view(lz_lower *b, const lz_low_value *args, lz_low_value *results)
{
    lz_ints asked;
    lz_shape sizes;
    const lz_low_node *n = NULL;
    LZ_TRY(lz_low_value_get_ints(b, &args[1], &asked));
    LZ_TRY(lz_shape_infer(asked, lz_low_value_numel(&args[0]), &sizes));
    return result(&args[0], lz_low_reshape(b, args[0].node, lz_shape_ints(&sizes), &n), &n, results);
}

lz_err *lz_lower_permute(lz_lower *b, const lz_low_value *args, lz_low_value *results)
{
    const lz_low_node *x = args[0].node, *n = NULL;
    lz_ints dims;
    uint64_t set;
    int64_t order[LZ_MAX_DIMS];
    LZ_TRY(lz_low_value_get_ints(b, &args[1], &dims));
    if (dims.n != x->ndim)
        return lz_errf(LZ_ERR_ARG,
                       "permute(sparse_coo): number of dimensions in the tensor input does not match the "
                       "length of the desired ordering of dimensions i.e. input.dim() = %d is not equal to "
                       "len(dims) = %lld",
                       x->ndim, (long long)dims.n);
    if (dims.n)
        LZ_TRY(lz_wrap_dims(dims, x->ndim, &set));
    for (int64_t i = 0; i < dims.n; i++)
        order[i] = dims.v[i] < 0 ? dims.v[i] + x->ndim : dims.v[i];
    return result(&args[0], lz_low_permute(b, x, order, &n), &n, results);
}

/* -1 keeps a size, but not that of a new dimension. */
lz_err *lz_lower_expand(lz_lower *b, const lz_low_value *args, lz_low_value *results)
{
    const lz_low_node *x = args[0].node, *n = NULL;
    lz_ints asked;
    lz_shape sizes;
    LZ_TRY(lz_low_value_get_ints(b, &args[1], &asked));
    LZ_TRY(lz_shape_copy(asked, &sizes));
    for (int64_t d = 0; d < sizes.n; d++) {
        int64_t from = d - sizes.n + x->ndim;
        if (sizes.v[d] == -1 && from < 0)
            return lz_errf(LZ_ERR_ARG,
                           "The expanded size of the tensor (-1) isn't allowed in a leading, non-existing "
                           "dimension %lld",
                           (long long)d);
        if (sizes.v[d] == -1)
            sizes.v[d] = x->sizes[from];
    }
    return result(&args[0], lz_low_expand(b, x, lz_shape_ints(&sizes), &n), &n, results);
}

/* ---- parts of dimensions ---- */

static lz_err *no_dims(const char *name)
{
    return lz_errf(LZ_ERR_ARG, "%s() cannot be applied to a 0-dim tensor.", name);
}

/* A bound of a slice: negative numbers count from the end; then clamped to 0..size. */
static lz_err *bound(const lz_low_value *v, int64_t absent, int64_t size, int64_t *out)
{
    *out = absent;
    if (!lz_low_value_is_none(v))
        LZ_TRY(lz_low_value_get_int(v, out));
    if (*out < 0)
        *out += size;
    *out = lz_calc_min(lz_calc_max(*out, 0), size);
    return NULL;
}

typedef struct range {
    int64_t dim, start, step, size;
} range;

/* dim, start, end, step. */
static lz_err *read_range(const lz_low_node *x, const lz_low_value *args, range *out)
{
    int64_t end;
    if (!x->ndim)
        return no_dims("slice");
    LZ_TRY(lz_prim_dim(&args[0], x->ndim, &out->dim));
    LZ_TRY(bound(&args[1], 0, x->sizes[out->dim], &out->start));
    LZ_TRY(bound(&args[2], INT64_MAX, x->sizes[out->dim], &end));
    LZ_TRY(lz_low_value_get_int(&args[3], &out->step));
    if (out->step <= 0)
        return lz_errf(LZ_ERR_ARG, "slice step must be positive");
    out->size = end > out->start ? (end - out->start - 1) / out->step + 1 : 0;
    return NULL;
}

/* Whether the start is a run-time number. Then the caller must know the size. */
static bool begins_later(const lz_low_value *start)
{
    return start->kind == LZ_LOW_VALUE_NUMBER && start->node;
}

/* The length that `size` elements at distance `step` cover. */
static int64_t reach_of(int64_t size, int64_t step)
{
    return size > 0 ? (size - 1) * step + 1 : 0;
}

/* Arguments dim, start, end, step, for a part of `size` elements. */
static lz_err *read_later_range(const lz_low_node *x, const lz_low_value *args, lz_ints sizes, range *out)
{
    if (!x->ndim)
        return no_dims("slice");
    LZ_TRY(lz_prim_dim(&args[0], x->ndim, &out->dim));
    LZ_TRY(lz_low_value_get_int(&args[3], &out->step));
    if (sizes.n != x->ndim)
        return lz_low_needs_value();
    out->size = sizes.v[out->dim];
    if (out->step <= 0)
        return lz_errf(LZ_ERR_ARG, "slice step must be positive");
    return out->size <= x->sizes[out->dim] / out->step + 1
               ? NULL
               : lz_errf(LZ_ERR_ARG, "a slice of %lld elements does not fit into a dimension of size %lld",
                         (long long)out->size, (long long)x->sizes[out->dim]);
}

static lz_err *slice_later(lz_lower *b, const lz_low_value *args, lz_low_value *results)
{
    const lz_low_node *x = args[0].node, *n = NULL;
    range r;
    LZ_TRY(read_later_range(x, &args[1], b->expected, &r));
    LZ_TRY(lz_low_window(b, x, r.dim, args[2].node, reach_of(r.size, r.step), &n));
    return result(&args[0], lz_low_slice(b, n, r.dim, 0, r.step, r.size, &n), &n, results);
}

lz_err *lz_lower_slice_Tensor(lz_lower *b, const lz_low_value *args, lz_low_value *results)
{
    const lz_low_node *x = args[0].node, *n = NULL;
    range r;
    if (begins_later(&args[2]))
        return slice_later(b, args, results);
    LZ_TRY(read_range(x, &args[1], &r));
    return result(&args[0], lz_low_slice(b, x, r.dim, r.start, r.step, r.size, &n), &n, results);
}

static lz_err *read_position(const lz_low_node *x, int64_t dim, const lz_low_value *arg, int64_t *out)
{
    LZ_TRY(lz_low_value_get_int(arg, out));
    if (*out < -x->sizes[dim] || *out >= x->sizes[dim]) {
        char shape[LZ_SHAPE_CHARS];
        return lz_err_because(LZ_REASON_INDEX,
                              "select(): index %lld out of range for tensor of size %s at dimension %lld",
                              (long long)*out, lz_shape_print(lz_low_node_sizes(x), shape), (long long)dim);
    }
    *out += *out < 0 ? x->sizes[dim] : 0;
    return NULL;
}

lz_err *lz_lower_select_int(lz_lower *b, const lz_low_value *args, lz_low_value *results)
{
    const lz_low_node *x = args[0].node, *n = NULL;
    int64_t dim, index;
    if (!x->ndim)
        return no_dims("select");
    LZ_TRY(lz_prim_dim(&args[1], x->ndim, &dim));
    if (begins_later(&args[2])) {
        LZ_TRY(lz_low_window(b, x, dim, args[2].node, 1, &n));
        return result(&args[0], lz_low_select(b, n, dim, 0, &n), &n, results);
    }
    LZ_TRY(read_position(x, dim, &args[2], &index));
    return result(&args[0], lz_low_select(b, x, dim, index, &n), &n, results);
}

lz_err *lz_lower_flip(lz_lower *b, const lz_low_value *args, lz_low_value *results)
{
    const lz_low_node *n = args[0].node;
    uint64_t dims;
    lz_err *e = lz_prim_dims(b, &args[1], n->ndim, false, &dims);
    for (int64_t d = 0; !e && d < args[0].node->ndim; d++)
        if (dims >> d & 1)
            e = lz_low_slice(b, n, d, n->sizes[d] - 1, -1, n->sizes[d], &n);
    return result(&args[0], e, &n, results);
}

/* Row r of the map: step along the window's dimension, 1 within the window. */
lz_err *lz_lower_unfold(lz_lower *b, const lz_low_value *args, lz_low_value *results)
{
    const lz_low_node *x, *n = NULL;
    int64_t dim, size, step;
    LZ_TRY(lz_prim_dim(&args[1], lz_low_value_ndim(&args[0]), &dim));
    LZ_TRY(lz_low_value_get_int(&args[2], &size));
    LZ_TRY(lz_low_value_get_int(&args[3], &step));
    LZ_TRY(lz_prim_some_dim(b, args[0].node, &x));
    if (size > x->sizes[dim] || size < 0)
        return lz_err_because(LZ_REASON_INDEX,
                              "maximum size for tensor at dimension %lld is %lld but size is %lld",
                              (long long)dim, (long long)x->sizes[dim], (long long)size);
    if (step <= 0)
        return lz_errf(LZ_ERR_ARG, "step is %lld but must be > 0", (long long)step);
    lz_shape sizes = lz_prim_resized(x, dim, (x->sizes[dim] - size) / step + 1);
    int64_t map[LZ_MAX_DIMS * (LZ_MAX_DIMS + 1)] = { 0 }, cols = x->ndim + 1;
    if (cols > LZ_MAX_DIMS)
        return lz_errf(LZ_ERR_LIMIT, "a tensor has at most %d dimensions", LZ_MAX_DIMS);
    sizes.v[sizes.n++] = size;
    for (int64_t r = 0; r < x->ndim; r++)
        map[r * cols + r] = r == dim ? step : 1;
    map[dim * cols + x->ndim] = 1;
    /* a tensor without dimensions has one window and no dimension for positions */
    if (!args[0].node->ndim) {
        sizes = (lz_shape){ .n = 1, .v = { size } };
        map[0] = 1;
    }
    return result(&args[0], lz_low_index(b, x, lz_shape_ints(&sizes), map, NULL, 0, NULL, &n), &n, results);
}

/* ---- as_strided: of the memory of an input; other nodes count as row-major ---- */

static lz_err *strided_input(lz_lower *b, const lz_low_node *x, lz_ints sizes, lz_ints strides,
                             const lz_low_value *offset, const lz_low_node **out)
{
    const lz_low_input_attr *in = x->attr;
    int64_t at = in->offset;
    if (!lz_low_value_is_none(offset))
        LZ_TRY(lz_low_value_get_int(offset, &at));
    return lz_low_input(b, in->slot, (lz_dtype)x->dtype, sizes, strides, at, out);
}

static lz_err *strided_dense(lz_lower *b, const lz_low_node *x, lz_ints sizes, lz_ints strides,
                             const lz_low_value *offset, const lz_low_node **out)
{
    int64_t at = 0, numel;
    if (!lz_low_value_is_none(offset))
        LZ_TRY(lz_low_value_get_int(offset, &at));
    LZ_TRY(lz_shape_numel(sizes, &numel));
    if (numel)
        LZ_TRY(lz_strides_check(sizes, strides, at, 1, (size_t)x->numel));
    LZ_TRY(lz_low_reshape(b, x, LZ_INTS(x->numel), &x));
    return lz_low_index(b, x, sizes, strides.v, &at, 0, NULL, out);
}

/* The extent from the first to the last element of the view. No element may lie before the offset. */
static lz_err *extent_of(lz_ints sizes, lz_ints strides, size_t numel, int64_t *out)
{
    *out = 1;
    LZ_TRY(lz_strides_check(sizes, strides, 0, 1, numel));
    for (int64_t d = 0; d < sizes.n; d++)
        *out = sizes.v[d] == 0 || *out == 0 ? 0 : *out + (sizes.v[d] - 1) * strides.v[d];
    return NULL;
}

static lz_err *strided_later(lz_lower *b, const lz_low_node *x, lz_ints sizes, lz_ints strides,
                             const lz_low_node *start, const lz_low_node **out)
{
    int64_t extent, zero = 0;
    LZ_TRY(extent_of(sizes, strides, (size_t)x->numel, &extent));
    LZ_TRY(lz_low_reshape(b, x, LZ_INTS(x->numel), &x));
    LZ_TRY(lz_low_window(b, x, 0, start, extent, &x));
    return lz_low_index(b, x, sizes, strides.v, &zero, 0, NULL, out);
}

lz_err *lz_lower_as_strided(lz_lower *b, const lz_low_value *args, lz_low_value *results)
{
    const lz_low_node *x = args[0].node, *n = NULL;
    lz_ints sizes, strides;
    LZ_TRY(lz_low_value_get_ints(b, &args[1], &sizes));
    LZ_TRY(lz_low_value_get_ints(b, &args[2], &strides));
    LZ_TRY(lz_shape_check(sizes));
    if (sizes.n != strides.n)
        return lz_errf(LZ_ERR_ARG, "mismatch in length of strides and shape");
    if (begins_later(&args[3]))
        return result(&args[0], strided_later(b, x, sizes, strides, args[3].node, &n), &n, results);
    lz_err *e = x->kind == LZ_LOW_INPUT && !b->shape_only ? strided_input(b, x, sizes, strides, &args[3], &n)
                                                          : strided_dense(b, x, sizes, strides, &args[3], &n);
    return result(&args[0], e, &n, results);
}

/* ---- diagonals ---- */

typedef struct diagonal {
    int64_t dim1, dim2, offset, size;
} diagonal;

/* offset, dim1, dim2. */
static lz_err *read_diagonal(const lz_low_node *x, const lz_low_value *args, diagonal *out)
{
    LZ_TRY(lz_low_value_get_int(&args[0], &out->offset));
    LZ_TRY(lz_prim_dim(&args[1], x->ndim, &out->dim1));
    LZ_TRY(lz_prim_dim(&args[2], x->ndim, &out->dim2));
    if (out->dim1 == out->dim2)
        return lz_errf(LZ_ERR_ARG, "diagonal dimensions cannot be identical %lld, %lld", (long long)out->dim1,
                       (long long)out->dim2);
    int64_t rows = x->sizes[out->dim1], cols = x->sizes[out->dim2], o = out->offset;
    bool outside = o >= 0 ? o >= cols : o <= -rows;
    out->size = outside ? 0 : o >= 0 ? lz_calc_min(rows, cols - o) : lz_calc_min(rows + o, cols);
    out->offset = outside ? 0 : o;
    return NULL;
}

/* The sizes of the view; from[c]: the dimension of x for dimension c. */
static lz_shape diagonal_sizes(const lz_low_node *x, const diagonal *g, int64_t *from)
{
    lz_shape sizes = { 0 };
    for (int64_t d = 0; d < x->ndim; d++)
        if (d != g->dim1 && d != g->dim2) {
            from[sizes.n] = d;
            sizes.v[sizes.n++] = x->sizes[d];
        }
    sizes.v[sizes.n++] = g->size;
    return sizes;
}

lz_err *lz_lower_diagonal(lz_lower *b, const lz_low_value *args, lz_low_value *results)
{
    const lz_low_node *x = args[0].node, *n = NULL;
    int64_t map[LZ_MAX_DIMS * LZ_MAX_DIMS] = { 0 }, offset[LZ_MAX_DIMS] = { 0 }, from[LZ_MAX_DIMS];
    diagonal g;
    if (x->ndim < 2)
        return lz_errf(LZ_ERR_ARG, "diagonal needs at least 2 dimensions, not %d", x->ndim);
    LZ_TRY(read_diagonal(x, &args[1], &g));
    lz_shape sizes = diagonal_sizes(x, &g, from);
    for (int64_t c = 0; c + 1 < sizes.n; c++)
        map[from[c] * sizes.n + c] = 1;
    map[g.dim1 * sizes.n + sizes.n - 1] = map[g.dim2 * sizes.n + sizes.n - 1] = 1;
    offset[g.dim1] = lz_calc_max(0, -g.offset);
    offset[g.dim2] = lz_calc_max(0, g.offset);
    lz_err *e = lz_low_index(b, x, lz_shape_ints(&sizes), map, offset, 0, NULL, &n);
    return result(&args[0], e, &n, results);
}

/* ---- writing through a view ---- */

/* Where a written view begins: at a known element, or at an element that depends on a run-time number. */
typedef struct beginning {
    int64_t offset;
    const lz_low_node *start; /* the run-time number; NULL: none */
    int64_t most, step;       /* the greatest value of start; elements in one step of `start` */
} beginning;

/* Writes src into the elements of self that a view with these sizes and strides shows. */
static lz_err *write_view(lz_lower *b, const lz_low_value *self, const lz_low_value *src,
                          const lz_shape *sizes, beginning at, const int64_t *strides, lz_low_value *results)
{
    const lz_low_node *part, *n = NULL;
    if (!lz_shape_eq(lz_low_value_sizes(src), lz_shape_ints(sizes))) {
        char x[LZ_SHAPE_CHARS], y[LZ_SHAPE_CHARS];
        return lz_errf(
            LZ_ERR_ARG,
            "expected src to have a size equal to the slice of self. src size = %s, slice size = %s",
            lz_shape_print(lz_low_value_sizes(src), x), lz_shape_print(lz_shape_ints(sizes), y));
    }
    LZ_TRY(lz_prim_cast(b, src, self->dtype, &part));
    lz_err *e = at.start ? lz_low_update_from(b, self->node, part, at.start, at.most, at.step, strides, &n)
                         : lz_low_update(b, self->node, part, at.offset, strides, &n);
    return result(self, e, &n, results);
}

lz_err *lz_lower_diagonal_scatter(lz_lower *b, const lz_low_value *args, lz_low_value *results)
{
    const lz_low_node *x = args[0].node;
    int64_t strides[LZ_MAX_DIMS], from[LZ_MAX_DIMS];
    lz_shape own;
    diagonal g;
    LZ_TRY(read_diagonal(x, &args[2], &g));
    lz_shape sizes = diagonal_sizes(x, &g, from);
    LZ_TRY(lz_strides_contiguous(lz_low_node_sizes(x), &own));
    for (int64_t c = 0; c + 1 < sizes.n; c++)
        strides[c] = own.v[from[c]];
    strides[sizes.n - 1] = own.v[g.dim1] + own.v[g.dim2];
    int64_t at = lz_calc_max(0, -g.offset) * own.v[g.dim1] + lz_calc_max(0, g.offset) * own.v[g.dim2];
    return write_view(b, &args[0], &args[1], &sizes, (beginning){ .offset = at }, strides, results);
}

lz_err *lz_lower_select_scatter(lz_lower *b, const lz_low_value *args, lz_low_value *results)
{
    const lz_low_node *x = args[0].node;
    int64_t strides[LZ_MAX_DIMS], dim, index = 0;
    lz_shape sizes = { 0 }, own;
    beginning at = { 0 };
    if (!x->ndim)
        return no_dims("select_scatter");
    LZ_TRY(lz_prim_dim(&args[2], x->ndim, &dim));
    if (!begins_later(&args[3]))
        LZ_TRY(read_position(x, dim, &args[3], &index));
    LZ_TRY(lz_strides_contiguous(lz_low_node_sizes(x), &own));
    for (int64_t d = 0; d < x->ndim; d++)
        if (d != dim) {
            strides[sizes.n] = own.v[d];
            sizes.v[sizes.n++] = x->sizes[d];
        }
    at = (beginning){ index * own.v[dim], args[3].node, x->sizes[dim] - 1, own.v[dim] };
    return write_view(b, &args[0], &args[1], &sizes, at, strides, results);
}

lz_err *lz_lower_slice_scatter(lz_lower *b, const lz_low_value *args, lz_low_value *results)
{
    const lz_low_node *x = args[0].node;
    lz_shape strides;
    range r = { 0 };
    const lz_low_node *start = begins_later(&args[3]) ? args[3].node : NULL;
    LZ_TRY(start ? read_later_range(x, &args[2], lz_low_value_sizes(&args[1]), &r)
                 : read_range(x, &args[2], &r));
    lz_shape sizes = lz_prim_resized(x, r.dim, r.size);
    LZ_TRY(lz_strides_contiguous(lz_low_node_sizes(x), &strides));
    beginning at = { r.start * strides.v[r.dim], start, x->sizes[r.dim] - reach_of(r.size, r.step),
                     strides.v[r.dim] };
    if (r.size > 1) /* the stride of a dimension of size 1 does not matter */
        strides.v[r.dim] *= r.step;
    return write_view(b, &args[0], &args[1], &sizes, at, strides.v, results);
}

lz_err *lz_lower_as_strided_scatter(lz_lower *b, const lz_low_value *args, lz_low_value *results)
{
    lz_ints asked, strides;
    lz_shape sizes;
    beginning at = { 0 };
    int64_t extent;
    LZ_TRY(lz_low_value_get_ints(b, &args[2], &asked));
    LZ_TRY(lz_low_value_get_ints(b, &args[3], &strides));
    LZ_TRY(lz_shape_check(asked));
    LZ_TRY(lz_shape_copy(asked, &sizes));
    if (asked.n != strides.n)
        return lz_errf(LZ_ERR_ARG, "mismatch in length of strides and shape");
    if (begins_later(&args[4])) {
        LZ_TRY(extent_of(asked, strides, (size_t)lz_low_value_numel(&args[0]), &extent));
        at = (beginning){ 0, args[4].node, lz_low_value_numel(&args[0]) - extent, 1 };
    } else if (!lz_low_value_is_none(&args[4])) {
        LZ_TRY(lz_low_value_get_int(&args[4], &at.offset));
    }
    LZ_TRY(lz_strides_check(asked, strides, at.offset, 1, (size_t)lz_low_value_numel(&args[0])));
    return write_view(b, &args[0], &args[1], &sizes, at, strides.v, results);
}

/* ---- padding ---- */

/* Negative numbers cut elements off. */
lz_err *lz_lower_constant_pad_nd(lz_lower *b, const lz_low_value *args, lz_low_value *results)
{
    const lz_low_node *x = args[0].node, *fill, *n = NULL;
    lz_ints pad;
    lz_low_value value;
    lz_shape sizes;
    lz_calc_fault fault = 0;
    int64_t before[LZ_MAX_DIMS] = { 0 };
    LZ_TRY(lz_low_value_get_ints(b, &args[1], &pad));
    if (pad.n % 2)
        return lz_errf(LZ_ERR_ARG, "Length of pad must be even but instead it equals %lld", (long long)pad.n);
    if (pad.n / 2 > x->ndim)
        return lz_errf(
            LZ_ERR_ARG,
            "Length of pad should be no more than twice the number of dimensions of the input. Pad "
            "length is %lld while the input has %d dimensions.",
            (long long)pad.n, x->ndim);
    LZ_TRY(lz_shape_copy(lz_low_node_sizes(x), &sizes));
    for (int64_t i = 0; i < pad.n / 2; i++) {
        int64_t d = x->ndim - 1 - i;
        before[d] = pad.v[2 * i];
        sizes.v[d] = lz_calc_add(&fault, lz_calc_add(&fault, x->sizes[d], pad.v[2 * i]), pad.v[2 * i + 1]);
        if (!fault && sizes.v[d] < 0)
            return lz_errf(
                LZ_ERR_ARG,
                "The input size %lld, plus negative padding %lld and %lld resulted in a negative output "
                "size, which is invalid. Check dimension %lld of your input.",
                (long long)x->sizes[d], (long long)pad.v[2 * i], (long long)pad.v[2 * i + 1], (long long)d);
    }
    LZ_TRY(lz_calc_check(fault));
    LZ_TRY(lz_low_require_fits(b, &args[2], args[0].dtype));
    LZ_TRY(lz_low_wrap(b, &args[2], &value));
    LZ_TRY(lz_prim_cast(b, &value, args[0].dtype, &fill));
    lz_err *e = lz_low_pad(b, x, before, lz_shape_ints(&sizes), fill, &n);
    return result(&args[0], e, &n, results);
}

/* ---- joining ---- */

/* A tensor of shape [0] is accepted in any cat, as in PyTorch. */
static bool is_skipped(const lz_low_node *x)
{
    return x->ndim == 1 && x->sizes[0] == 0;
}

static lz_err *cat_mismatch(const lz_low_node *a, const lz_low_node *x, int64_t dim, size_t i)
{
    if (a->ndim != x->ndim)
        return lz_err_because(LZ_REASON_SHAPE, "Tensors must have same number of dimensions: got %d and %d",
                              a->ndim, x->ndim);
    for (int64_t d = 0; d < a->ndim; d++)
        if (d != dim && a->sizes[d] != x->sizes[d])
            return lz_err_because(
                LZ_REASON_SHAPE,
                "Sizes of tensors must match except in dimension %lld. Expected size %lld but got "
                "size %lld for tensor number %zu in the list.",
                (long long)dim, (long long)a->sizes[d], (long long)x->sizes[d], i);
    return NULL;
}

/* The first tensor that is not skipped, or the first tensor. */
static const lz_low_node *cat_model(const lz_low_value *list)
{
    for (size_t i = 0; i < list->list.n; i++)
        if (!is_skipped(list->list.items[i].node))
            return list->list.items[i].node;
    return list->list.items[0].node;
}

lz_err *lz_lower_cat(lz_lower *b, const lz_low_value *args, lz_low_value *results)
{
    const lz_low_value *list = &args[0];
    const lz_low_node **parts, *model, *n = NULL;
    lz_dtype d;
    int64_t dim;
    size_t count = 0;
    if (list->list.n == 0)
        return lz_errf(LZ_ERR_ARG, "torch.cat(): expected a non-empty list of Tensors");
    model = cat_model(list);
    LZ_TRY(lz_low_result_type(b, list, 1, &d));
    if (is_skipped(model)) /* all tensors are skipped: dim is not checked */
        dim = 0;
    else
        LZ_TRY(lz_prim_dim(&args[1], model->ndim, &dim));
    LZ_TRY(lz_arena_new(b->arena, &parts, list->list.n));
    for (size_t i = 0; i < list->list.n; i++) {
        const lz_low_value *x = &list->list.items[i];
        if (!x->node->ndim)
            return lz_errf(LZ_ERR_ARG, "zero-dimensional tensor (at position %zu) cannot be concatenated", i);
        if (is_skipped(x->node) && !is_skipped(model))
            continue;
        LZ_TRY(cat_mismatch(model, x->node, dim, i));
        LZ_TRY(lz_prim_cast(b, x, d, &parts[count++]));
    }
    LZ_TRY(lz_low_cat(b, parts, count, dim, &n));
    results[0] = lz_prim_tensor(d, n);
    return NULL;
}
