/* Builder of lowered graphs: reductions, scans, gathers, joins, updates, calls. */
#include "lower/lower_impl.h"
#include <string.h>

/* ---- reductions and scans ---- */

static const char *const reduce_names[LZ_KERNEL_REDUCES] = {
    [LZ_KERNEL_RSUM] = "sum", [LZ_KERNEL_RPROD] = "prod",     [LZ_KERNEL_RMAX] = "max",
    [LZ_KERNEL_RMIN] = "min", [LZ_KERNEL_RAND] = "all",       [LZ_KERNEL_ROR] = "any",
    [LZ_KERNEL_RXOR] = "xor", [LZ_KERNEL_RARGMAX] = "argmax", [LZ_KERNEL_RARGMIN] = "argmin",
};

static bool gives_index(lz_kernel_reduction op)
{
    return op == LZ_KERNEL_RARGMAX || op == LZ_KERNEL_RARGMIN;
}

/* Whether the reduction of no elements has a value. */
static bool has_neutral(lz_kernel_reduction op)
{
    return op != LZ_KERNEL_RMAX && op != LZ_KERNEL_RMIN && !gives_index(op);
}

static lz_err *check_some(lz_kernel_reduction op, const lz_low_node *x, uint64_t dims, lz_ints sizes)
{
    int64_t n;
    LZ_TRY(lz_shape_numel(sizes, &n));
    if (has_neutral(op) || n == 0)
        return NULL;
    for (int64_t d = 0; d < x->ndim; d++)
        if (dims >> d & 1 && x->sizes[d] == 0)
            return lz_err_because(
                LZ_REASON_INDEX,
                "%s(): Expected reduction dim %lld to have non-zero size, as the operation has no "
                "identity",
                reduce_names[op], (long long)d);
    return NULL;
}

static lz_err *make_reduce(lz_lower *b, lz_kernel_reduction op, const lz_low_node *x, uint64_t dims,
                           lz_ints sizes, const lz_low_node **out)
{
    lz_low_reduce_attr attr = { dims };
    return lz_low_intern(b,
                         &(lz_low_proto){ .kind = LZ_LOW_REDUCE,
                                          .dtype = gives_index(op) ? LZ_I64 : (lz_dtype)x->dtype,
                                          .op = (uint16_t)op,
                                          .nin = 1,
                                          .in = &x,
                                          .sizes = sizes,
                                          .attr = &attr,
                                          .attr_size = sizeof attr },
                         out);
}

static lz_err *zeros(lz_lower *b, lz_ints sizes, const lz_low_node **out)
{
    LZ_TRY(lz_low_const(b, lz_scalar_int(0), LZ_I64, out));
    return lz_low_expand(b, *out, sizes, out);
}

lz_err *lz_low_reduce(lz_lower *b, lz_kernel_reduction op, const lz_low_node *x, uint64_t dims, bool keep,
                      const lz_low_node **out)
{
    lz_shape sizes, kept;
    bool one = true; /* a reduction of one element is that element */
    for (int64_t d = 0; d < x->ndim; d++)
        one = one && (!(dims >> d & 1) || x->sizes[d] == 1);
    lz_shape_reduce(lz_low_node_sizes(x), dims, false, &sizes);
    lz_shape_reduce(lz_low_node_sizes(x), dims, true, &kept);
    LZ_TRY(check_some(op, x, dims, lz_shape_ints(&sizes)));
    *out = x;
    if (one && gives_index(op))
        LZ_TRY(zeros(b, lz_shape_ints(&sizes), out));
    else if (!one)
        LZ_TRY(make_reduce(b, op, x, dims, lz_shape_ints(&sizes), out));
    return lz_low_reshape(b, *out, lz_shape_ints(keep ? &kept : &sizes), out);
}

lz_err *lz_low_scan(lz_lower *b, lz_kernel_reduction op, const lz_low_node *x, int64_t dim,
                    const lz_low_node **out)
{
    lz_low_dim_attr attr = { dim };
    *out = x;
    if (x->ndim == 0 || x->sizes[dim] == 1)
        return gives_index(op) ? zeros(b, lz_low_node_sizes(x), out) : NULL;
    return lz_low_intern(b,
                         &(lz_low_proto){ .kind = LZ_LOW_SCAN,
                                          .dtype = gives_index(op) ? LZ_I64 : (lz_dtype)x->dtype,
                                          .op = (uint16_t)op,
                                          .nin = 1,
                                          .in = &x,
                                          .sizes = lz_low_node_sizes(x),
                                          .attr = &attr,
                                          .attr_size = sizeof attr },
                         out);
}

/* ---- gather, cat, update ---- */

lz_err *lz_low_gather(lz_lower *b, const lz_low_node *data, const lz_low_node *index, int64_t dim,
                      const lz_low_node **out)
{
    const lz_low_node *in[2] = { data, index };
    lz_low_dim_attr attr = { dim };
    for (int64_t d = 0; d < data->ndim; d++)
        if (d != dim && data->sizes[d] != index->sizes[d])
            return lz_errf(LZ_ERR_INTERNAL, "gather of different sizes");
    return lz_low_intern(b,
                         &(lz_low_proto){ .kind = LZ_LOW_GATHER,
                                          .dtype = (lz_dtype)data->dtype,
                                          .nin = 2,
                                          .in = in,
                                          .sizes = lz_low_node_sizes(index),
                                          .attr = &attr,
                                          .attr_size = sizeof attr },
                         out);
}

lz_err *lz_low_cat(lz_lower *b, const lz_low_node *const *in, size_t n, int64_t dim, const lz_low_node **out)
{
    lz_low_dim_attr attr = { dim };
    lz_shape sizes;
    size_t kept = 0;
    const lz_low_node **parts;
    LZ_TRY(lz_arena_new(b->arena, &parts, n));
    LZ_TRY(lz_shape_copy(lz_low_node_sizes(in[0]), &sizes));
    sizes.v[dim] = 0;
    for (size_t i = 0; i < n; i++) {
        if (__builtin_add_overflow(sizes.v[dim], in[i]->sizes[dim], &sizes.v[dim]))
            return lz_errf(LZ_ERR_LIMIT, "cat of too many elements");
        if (in[i]->sizes[dim] > 0)
            parts[kept++] = in[i];
    }
    if (kept == 0)
        parts[kept++] = in[0];
    if (kept > UINT16_MAX)
        return lz_errf(LZ_ERR_LIMIT, "cat of more than %d tensors", UINT16_MAX);
    if (kept == 1) {
        *out = parts[0];
        return NULL;
    }
    return lz_low_intern(b,
                         &(lz_low_proto){ .kind = LZ_LOW_CAT,
                                          .dtype = (lz_dtype)parts[0]->dtype,
                                          .nin = kept,
                                          .in = parts,
                                          .sizes = lz_shape_ints(&sizes),
                                          .attr = &attr,
                                          .attr_size = sizeof attr },
                         out);
}

static bool covers(const lz_low_node *base, const lz_low_node *part, int64_t offset, const int64_t *strides)
{
    int64_t dense = 1;
    bool all = offset == 0 && part->numel == base->numel;
    for (int64_t d = part->ndim; all && d-- > 0; dense *= part->sizes[d])
        all = part->sizes[d] == 1 || strides[d] == dense;
    return all;
}

lz_err *lz_low_update(lz_lower *b, const lz_low_node *base, const lz_low_node *part, int64_t offset,
                      const int64_t *strides, const lz_low_node **out)
{
    const lz_low_node *in[2] = { base, part };
    int64_t attr[1 + LZ_MAX_DIMS] = { offset };
    *out = base;
    if (part->numel == 0)
        return NULL;
    if (covers(base, part, offset, strides))
        return lz_low_reshape(b, part, lz_low_node_sizes(base), out);
    for (int64_t d = 0; d < part->ndim; d++)
        attr[1 + d] = part->sizes[d] == 1 ? 0 : strides[d];
    return lz_low_intern(b,
                         &(lz_low_proto){ .kind = LZ_LOW_UPDATE,
                                          .dtype = (lz_dtype)base->dtype,
                                          .nin = 2,
                                          .in = in,
                                          .sizes = lz_low_node_sizes(base),
                                          .attr = attr,
                                          .attr_size = (1 + (size_t)part->ndim) * sizeof *attr },
                         out);
}

/* ---- kernels that do not fuse ---- */

lz_err *lz_low_kernel(lz_lower *b, lz_low_call_op op, const lz_low_node *const *in, size_t n, lz_dtype d,
                      lz_ints sizes, const int64_t *params, size_t nparams, const lz_low_node **out)
{
    LZ_TRY(lz_shape_check(sizes));
    return lz_low_intern(b,
                         &(lz_low_proto){ .kind = LZ_LOW_CALL,
                                          .dtype = d,
                                          .op = (uint16_t)op,
                                          .nin = n,
                                          .in = in,
                                          .sizes = sizes,
                                          .attr = params,
                                          .attr_size = nparams * sizeof *params },
                         out);
}

/* Lets the scatter kernel check a long index, which saves a pass over memory. A short index is checked
 * before: a launch that can fail must not run after launches that write over inputs. */
static lz_err *let_kernel_check(lz_lower *b, const lz_low_node *base, const lz_low_node **index,
                                int64_t params[5])
{
    enum { LONG = 1 << 15 };
    const lz_low_node *raw;
    const lz_low_check_attr *check;
    LZ_TRY(lz_low_unchecked(b, *index, &raw, &check));
    if (!check || !base->ndim || check->size != base->sizes[params[1]] || raw->numel < LONG
        || raw->kind == LZ_LOW_INDEX)
        return NULL;
    *index = raw;
    params[2] = 1;
    params[3] = check->dim;
    params[4] = check->wrap;
    return NULL;
}

static const lz_low_node *under_views(const lz_low_node *n)
{
    while ((n->kind == LZ_LOW_INDEX || n->kind == LZ_LOW_RESHAPE) && n->nin == 1)
        n = n->in[0];
    return n;
}

/* Whether the graph shows that every element is v. */
static bool is_all(const lz_low_node *n, int64_t v)
{
    n = under_views(n);
    if (n->kind != LZ_LOW_CONST)
        return false;
    lz_scalar s = *(const lz_scalar *)n->attr;
    return s.kind == LZ_SCALAR_FLOAT ? s.re == (double)v : s.i == v;
}

/* Whether the scatter only counts: it adds ones to zeros, and the dtype represents every count exactly
 * (integers wrap around). */
static bool is_count(lz_low_scatter_mode mode, const lz_low_node *base, const lz_low_node *index,
                     const lz_low_node *source)
{
    lz_dtype d = (lz_dtype)base->dtype;
    bool exact = lz_dtype_is_whole(d) || (d == LZ_F32 && index->numel <= 1 << 24)
                 || (d == LZ_F64 && index->numel <= INT64_C(1) << 53);
    return mode == LZ_SCATTER_ADD && exact && d != LZ_BOOL && base->ndim == 1 && index->ndim == 1
           && is_all(base, 0) && is_all(source, 1);
}

/* params: those of LZ_CALL_COUNT. Negative indices have been checked and converted. */
static lz_err *low_count(lz_lower *b, const lz_low_node *base, const lz_low_node *index,
                         const int64_t params[2], const lz_low_node **out)
{
    LZ_TRY(lz_low_kernel(b, LZ_CALL_COUNT, &index, 1, LZ_I64, lz_low_node_sizes(base), params, 2, out));
    return lz_low_cast(b, *out, (lz_dtype)base->dtype, out);
}

/* A sum multiplies its source by a number itself, if the source is in memory already: in[2] becomes that,
 * in[3] the number. Returns the number of operands. Narrower floats are multiplied in another dtype than they
 * are added in. Where only sizes are wanted, a product has no operands. */
static size_t let_kernel_scale(lz_low_scatter_mode mode, const lz_low_node *in[4])
{
    const lz_low_node *x = in[2];
    if (mode != LZ_SCATTER_ADD || (x->dtype != LZ_F32 && x->dtype != LZ_F64) || x->kind != LZ_LOW_MAP
        || x->op != LZ_KERNEL_MUL || x->nin != 2)
        return 3;
    const lz_low_node *number = under_views(x->in[1]), *source = under_views(x->in[0]);
    if (number->ndim || (source->kind != LZ_LOW_INPUT && source->kind != LZ_LOW_CALL))
        return 3;
    in[2] = x->in[0];
    in[3] = number;
    return 4;
}

lz_err *lz_low_scatter(lz_lower *b, lz_low_scatter_mode mode, const lz_low_node *base, int64_t dim,
                       const lz_low_node *index, const lz_low_node *source, const lz_low_node **out)
{
    const lz_low_node *in[4] = { base, index, source };
    int64_t params[5] = { mode, dim };
    if (!lz_shape_eq(lz_low_node_sizes(index), lz_low_node_sizes(source)))
        return lz_errf(LZ_ERR_INTERNAL, "scatter of different sizes");
    *out = base;
    if (index->numel == 0)
        return NULL;
    LZ_TRY(let_kernel_check(b, base, &in[1], params));
    if (is_count(mode, base, index, source))
        return low_count(b, base, params[4] ? index : in[1],
                         (int64_t[2]){ params[4] ? 0 : params[2], params[3] }, out);
    return lz_low_kernel(b, LZ_CALL_SCATTER, in, let_kernel_scale(mode, in), (lz_dtype)base->dtype,
                         lz_low_node_sizes(base), params, 5, out);
}

lz_err *lz_low_matmul_to(lz_lower *b, const lz_low_node *x, const lz_low_node *y, lz_dtype d,
                         const lz_low_node **out)
{
    const lz_low_node *in[2] = { x, y };
    int64_t sizes[3] = { x->sizes[0], x->sizes[1], y->sizes[2] };
    if (x->sizes[0] != y->sizes[0] || x->sizes[2] != y->sizes[1])
        return lz_errf(LZ_ERR_INTERNAL, "matmul of different sizes");
    return lz_low_kernel(b, LZ_CALL_MATMUL, in, 2, d, (lz_ints){ sizes, 3 }, NULL, 0, out);
}

lz_err *lz_low_matmul(lz_lower *b, const lz_low_node *x, const lz_low_node *y, const lz_low_node **out)
{
    return lz_low_matmul_to(b, x, y, (lz_dtype)x->dtype, out);
}
