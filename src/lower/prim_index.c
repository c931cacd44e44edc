/* Gathering and scattering along one dimension. */
#include "lower/prim_impl.h"
#include <math.h>

static lz_err *check_index_dtype(const char *name, const lz_low_value *index)
{
    if (index->dtype == LZ_I64 || index->dtype == LZ_I32)
        return NULL;
    return lz_err_because(LZ_REASON_DTYPE, "%s(): Expected dtype int32/int64 for index", name);
}

/* The first sizes[d] elements of each dimension of x; along `dim` (unless -1) all elements. */
static lz_err *front(lz_lower *b, const lz_low_node *x, lz_ints sizes, int64_t dim, const lz_low_node **out)
{
    *out = x;
    for (int64_t d = 0; d < x->ndim; d++)
        if (d != dim && sizes.v[d] != (*out)->sizes[d])
            LZ_TRY(lz_low_slice(b, *out, d, 0, 1, sizes.v[d], out));
    return NULL;
}

static lz_err *too_large(const char *who, const lz_low_node *index, const lz_low_node *x, int64_t dim)
{
    char a[LZ_SHAPE_CHARS], c[LZ_SHAPE_CHARS];
    return lz_err_because(LZ_REASON_SHAPE,
                          "Expected index %s to be no larger than %s %s apart from dimension %lld",
                          lz_shape_print(lz_low_node_sizes(index), a), who,
                          lz_shape_print(lz_low_node_sizes(x), c), (long long)dim);
}

/* Checks that index is no larger than x in every dimension except dim (-1: in all). */
static lz_err *check_fits(const char *who, const lz_low_node *index, const lz_low_node *x, int64_t dim,
                          int64_t shown)
{
    if (index->ndim != x->ndim)
        return lz_err_because(LZ_REASON_SHAPE,
                              "Index tensor must have the same number of dimensions as %s tensor", who);
    for (int64_t d = 0; d < x->ndim; d++)
        if (d != dim && index->sizes[d] > x->sizes[d])
            return too_large(who, index, x, shown);
    return NULL;
}

/* ---- gather ---- */

lz_err *lz_lower_gather(lz_lower *b, const lz_low_value *args, lz_low_value *results)
{
    const lz_low_node *x, *index, *n;
    int64_t dim;
    if (lz_low_value_numel(&args[2]))
        LZ_TRY(check_index_dtype("gather", &args[2]));
    LZ_TRY(lz_prim_dim(&args[1], lz_low_value_ndim(&args[0]), &dim));
    LZ_TRY(lz_prim_some_dim(b, args[0].node, &x));
    LZ_TRY(lz_prim_some_dim(b, args[2].node, &index));
    if (index->numel) {
        LZ_TRY(check_fits("input", index, x, dim, dim));
        LZ_TRY(front(b, x, lz_low_node_sizes(index), dim, &x));
        LZ_TRY(lz_low_check_index(b, index, x->sizes[dim], dim, false, &index));
        LZ_TRY(lz_low_gather(b, x, index, dim, &n));
    } else {
        LZ_TRY(lz_prim_full(b, 0, (lz_dtype)x->dtype, lz_low_node_sizes(index), &n));
    }
    LZ_TRY(lz_low_reshape(b, n, lz_low_value_sizes(&args[2]), &n));
    results[0] = lz_prim_tensor(args[0].dtype, n);
    return NULL;
}

/* Gathers with an index [n] along dim, which holds for all other indices. */
static lz_err *select_along(lz_lower *b, const lz_low_node *x, int64_t dim, const lz_low_node *index,
                            const lz_low_node **out)
{
    lz_shape sizes = lz_prim_resized(x, dim, index->sizes[0]),
             ones = lz_prim_resized(x, dim, index->sizes[0]);
    for (int64_t d = 0; d < x->ndim; d++)
        ones.v[d] = d == dim ? index->sizes[0] : 1;
    LZ_TRY(lz_low_reshape(b, index, lz_shape_ints(&ones), &index));
    LZ_TRY(lz_low_expand(b, index, lz_shape_ints(&sizes), &index));
    return lz_low_gather(b, x, index, dim, out);
}

lz_err *lz_lower_index_select(lz_lower *b, const lz_low_value *args, lz_low_value *results)
{
    const lz_low_node *x, *index, *n;
    int64_t dim;
    LZ_TRY(check_index_dtype("index_select", &args[2]));
    if (lz_low_value_ndim(&args[2]) > 1)
        return lz_errf(LZ_ERR_ARG, "index_select(): Index is supposed to be a vector");
    LZ_TRY(lz_prim_dim(&args[1], lz_low_value_ndim(&args[0]), &dim));
    LZ_TRY(lz_prim_some_dim(b, args[0].node, &x));
    LZ_TRY(lz_prim_some_dim(b, args[2].node, &index));
    LZ_TRY(lz_low_check_index(b, index, x->sizes[dim], dim, false, &index));
    LZ_TRY(select_along(b, x, dim, index, &n));
    if (!lz_low_value_ndim(&args[0]))
        LZ_TRY(lz_low_reshape(b, n, lz_low_value_sizes(&args[0]), &n));
    results[0] = lz_prim_tensor(args[0].dtype, n);
    return NULL;
}

/* ---- scatter ---- */

/* src NULL: every element of the source is `fill`. */
static lz_err *scatter(lz_lower *b, lz_low_scatter_mode mode, const lz_low_value *args,
                       const lz_low_node *src, const lz_low_node *fill, lz_low_value *results)
{
    const lz_low_value *self = &args[0];
    const lz_low_node *x, *index, *n;
    int64_t dim;
    if (lz_low_value_numel(&args[2]))
        LZ_TRY(check_index_dtype("scatter", &args[2]));
    LZ_TRY(lz_prim_dim(&args[1], lz_low_value_ndim(self), &dim));
    results[0] = *self;
    if (!lz_low_value_numel(&args[2]))
        return NULL;
    LZ_TRY(lz_prim_some_dim(b, self->node, &x));
    LZ_TRY(lz_prim_some_dim(b, args[2].node, &index));
    LZ_TRY(check_fits("self", index, x, dim, dim));
    if (src) {
        LZ_TRY(lz_prim_some_dim(b, src, &src));
        LZ_TRY(check_fits("src", index, src, -1, dim));
        LZ_TRY(front(b, src, lz_low_node_sizes(index), -1, &src));
    } else {
        LZ_TRY(lz_low_expand(b, fill, lz_low_node_sizes(index), &src));
    }
    LZ_TRY(lz_low_check_index(b, index, x->sizes[dim], dim, false, &index));
    LZ_TRY(lz_low_scatter(b, mode, x, dim, index, src, &n));
    LZ_TRY(lz_low_reshape(b, n, lz_low_value_sizes(self), &n));
    results[0] = lz_prim_tensor(self->dtype, n);
    return NULL;
}

static lz_err *scatter_src(lz_lower *b, lz_low_scatter_mode mode, const lz_low_value *args,
                           lz_low_value *results)
{
    if (args[3].dtype != args[0].dtype)
        return lz_err_because(LZ_REASON_DTYPE, "scatter(): Expected self.dtype to be equal to src.dtype");
    return scatter(b, mode, args, args[3].node, NULL, results);
}

static lz_err *scatter_value(lz_lower *b, lz_low_scatter_mode mode, const lz_low_value *args,
                             lz_low_value *results)
{
    lz_low_value value;
    const lz_low_node *n;
    LZ_TRY(lz_low_require_fits(b, &args[3], args[0].dtype));
    LZ_TRY(lz_low_wrap(b, &args[3], &value));
    LZ_TRY(lz_prim_cast(b, &value, args[0].dtype, &n));
    return scatter(b, mode, args, NULL, n, results);
}

lz_err *lz_lower_scatter_src(lz_lower *b, const lz_low_value *args, lz_low_value *results)
{
    return scatter_src(b, LZ_SCATTER_SET, args, results);
}

lz_err *lz_lower_scatter_value(lz_lower *b, const lz_low_value *args, lz_low_value *results)
{
    return scatter_value(b, LZ_SCATTER_SET, args, results);
}

lz_err *lz_lower_scatter_add(lz_lower *b, const lz_low_value *args, lz_low_value *results)
{
    return scatter_src(b, LZ_SCATTER_ADD, args, results);
}

/* ---- scatter with a reduction ---- */

typedef struct reduction {
    const char *name;
    lz_low_scatter_mode mode;
    double neutral; /* of floats; integers use their least or greatest value */
} reduction;

static lz_err *find_reduction(const reduction *rows, size_t n, const lz_low_value *name, const char *known,
                              const reduction **out)
{
    for (size_t i = 0; name->kind == LZ_LOW_VALUE_STR && i < n; i++)
        if (lz_str_is(name->str, rows[i].name)) {
            *out = &rows[i];
            return NULL;
        }
    return lz_errf(LZ_ERR_ARG, "reduce argument must be either %s", known);
}

static const reduction old_reductions[] = { { "add", LZ_SCATTER_ADD, 0 }, { "multiply", LZ_SCATTER_MUL, 1 } };

lz_err *lz_lower_scatter_reduce(lz_lower *b, const lz_low_value *args, lz_low_value *results)
{
    const reduction *r;
    LZ_TRY(find_reduction(old_reductions, 2, &args[4], "add or multiply.", &r));
    return scatter_src(b, r->mode, args, results);
}

lz_err *lz_lower_scatter_value_reduce(lz_lower *b, const lz_low_value *args, lz_low_value *results)
{
    const reduction *r;
    LZ_TRY(find_reduction(old_reductions, 2, &args[4], "add or multiply.", &r));
    return scatter_value(b, r->mode, args, results);
}

static const reduction reductions[] = {
    { "sum", LZ_SCATTER_ADD, 0 },         { "prod", LZ_SCATTER_MUL, 1 },
    { "mean", LZ_SCATTER_ADD, 0 },        { "amax", LZ_SCATTER_MAX, -INFINITY },
    { "amin", LZ_SCATTER_MIN, INFINITY },
};

static lz_scalar neutral(const reduction *r, lz_dtype d)
{
    const lz_dtype_info *info = lz_dtype_get(d);
    if (lz_dtype_is_float(d) || (r->mode != LZ_SCATTER_MAX && r->mode != LZ_SCATTER_MIN))
        return lz_scalar_float(r->neutral);
    return lz_scalar_int(r->mode == LZ_SCATTER_MAX ? info->min : info->max);
}

/* Adds 1 to `from` for each element that is scattered to a place, in self's dtype. */
static lz_err *count_hits(lz_lower *b, const lz_low_value *args, double from, lz_low_value *out)
{
    lz_dtype d = (lz_dtype)args[0].node->dtype;
    lz_low_value counting[4] = { args[0], args[1], args[2] };
    const lz_low_node *n;
    LZ_TRY(lz_prim_full(b, from, d, lz_low_value_sizes(&args[0]), &n));
    counting[0] = lz_prim_tensor(d, n);
    LZ_TRY(lz_low_const(b, lz_scalar_int(1), d, &n));
    return scatter(b, d == LZ_BOOL ? LZ_SCATTER_SET : LZ_SCATTER_ADD, counting, NULL, n, out);
}

/* Replaces self by the neutral element wherever an element is scattered to. */
static lz_err *without_self(lz_lower *b, const reduction *r, const lz_low_value *args, lz_low_value *out)
{
    const lz_low_node *x = args[0].node, *hit, *zero, *n;
    lz_low_value hits;
    LZ_TRY(count_hits(b, args, 0, &hits));
    LZ_TRY(lz_prim_full(b, 0, (lz_dtype)x->dtype, lz_low_node_sizes(x), &zero));
    LZ_TRY(lz_prim_map2(b, LZ_KERNEL_NE, hits.node, zero, &hit));
    LZ_TRY(lz_low_const(b, neutral(r, (lz_dtype)x->dtype), (lz_dtype)x->dtype, &n));
    LZ_TRY(lz_low_expand(b, n, lz_low_node_sizes(x), &n));
    LZ_TRY(lz_prim_map3(b, LZ_KERNEL_SELECT, hit, n, x, &n));
    *out = lz_prim_tensor(args[0].dtype, n);
    return NULL;
}

static lz_err *divide_by_hits(lz_lower *b, const lz_low_value *args, bool include, lz_low_value *out)
{
    lz_low_value hits;
    const lz_low_node *n;
    LZ_TRY(count_hits(b, args, include, &hits));
    LZ_TRY(lz_prim_map_number(b, LZ_KERNEL_MAX, hits.node, 1, &n));
    lz_kernel_op op = lz_dtype_is_float((lz_dtype)n->dtype) ? LZ_KERNEL_DIV : LZ_KERNEL_IDIV_FLOOR;
    return lz_prim_map2(b, op, out->node, n, &out->node);
}

/* self, dim, index, src, reduce, include_self. */
lz_err *lz_lower_scatter_reduce_two(lz_lower *b, const lz_low_value *args, lz_low_value *results)
{
    const reduction *r;
    lz_low_value given[4] = { args[0], args[1], args[2], args[3] };
    bool include;
    LZ_TRY(find_reduction(reductions, 5, &args[4], "sum, prod, mean, amax or amin.", &r));
    LZ_TRY(lz_low_value_get_bool(&args[5], &include));
    if (!include && lz_low_value_numel(&args[2]))
        LZ_TRY(without_self(b, r, args, &given[0]));
    LZ_TRY(scatter_src(b, r->mode, given, results));
    return lz_str_is(args[4].str, "mean") ? divide_by_hits(b, args, include, results) : NULL;
}
