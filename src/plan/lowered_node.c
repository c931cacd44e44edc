/* Names of lowered nodes, and the rule of each kind. */
#include "lower/lower_impl.h"
#include "plan/lowered_call.h"

static const char *const kind_names[LZ_LOW_KINDS] = {
    [LZ_LOW_INPUT] = "lz::input",     [LZ_LOW_SCALAR] = "lz::scalar", [LZ_LOW_CONST] = "lz::const",
    [LZ_LOW_IOTA] = "lz::iota",       [LZ_LOW_MAP] = "lz::map",       [LZ_LOW_CAST] = "lz::cast",
    [LZ_LOW_PHILOX] = "lz::philox",   [LZ_LOW_CHECK] = "lz::check",   [LZ_LOW_INDEX] = "lz::index",
    [LZ_LOW_RESHAPE] = "lz::reshape", [LZ_LOW_REDUCE] = "lz::reduce", [LZ_LOW_SCAN] = "lz::scan",
    [LZ_LOW_GATHER] = "lz::gather",   [LZ_LOW_CAT] = "lz::cat",       [LZ_LOW_UPDATE] = "lz::update",
    [LZ_LOW_CALL] = "lz::call",       [LZ_LOW_BUFFER] = "lz::buffer",
};

static const char *const reduce_names[LZ_KERNEL_REDUCES] = {
    [LZ_KERNEL_RSUM] = "sum", [LZ_KERNEL_RPROD] = "prod",     [LZ_KERNEL_RMAX] = "max",
    [LZ_KERNEL_RMIN] = "min", [LZ_KERNEL_RAND] = "all",       [LZ_KERNEL_ROR] = "any",
    [LZ_KERNEL_RXOR] = "xor", [LZ_KERNEL_RARGMAX] = "argmax", [LZ_KERNEL_RARGMIN] = "argmin",
};

static int find(const char *const *names, int n, lz_str name)
{
    int i = 0;
    while (i < n && !lz_str_is(name, names[i]))
        i++;
    return i;
}

const char *lz_low_kind_name(lz_low_kind kind)
{
    return kind_names[kind];
}

bool lz_low_kind_find(lz_str name, lz_low_kind *out)
{
    *out = (lz_low_kind)find(kind_names, LZ_LOW_KINDS, name);
    return *out < LZ_LOW_KINDS;
}

const char *lz_reduce_name(lz_kernel_reduction op)
{
    return reduce_names[op];
}

bool lz_reduce_find(lz_str name, lz_kernel_reduction *out)
{
    *out = (lz_kernel_reduction)find(reduce_names, LZ_KERNEL_REDUCES, name);
    return *out < LZ_KERNEL_REDUCES;
}

/* ---- rules ---- */

typedef const char *rule_fn(const lz_low_proto *p);

static bool like(const lz_low_proto *p, const lz_low_node *x)
{
    return lz_shape_eq(p->sizes, lz_low_node_sizes(x));
}

static bool is_i64(const lz_low_node *x)
{
    return x->dtype == LZ_I64;
}

static const char *no_rule(const lz_low_proto *p)
{
    (void)p;
    return NULL;
}

static const char *check_cast(const lz_low_proto *p)
{
    return p->nin == 1 && like(p, p->in[0]) ? NULL : "expected one tensor of the same sizes";
}

static const char *check_philox(const lz_low_proto *p)
{
    bool ok = p->nin == 3 && p->op < 4 && p->dtype == LZ_I64;
    for (size_t i = 0; ok && i < 3; i++)
        ok = is_i64(p->in[i]) && like(p, p->in[i]);
    return ok ? NULL
              : "expected seed, stream and index, of dtype Long and of the result's sizes, and a word from 0 "
                "to 3";
}

static const char *check_check(const lz_low_proto *p)
{
    const lz_low_check_attr *a = p->attr;
    bool ok = p->nin == 1 && p->dtype == LZ_I64 && is_i64(p->in[0]) && like(p, p->in[0]);
    if (!ok)
        return "expected one tensor and a result of dtype Long and of the same sizes";
    return a->size >= 0 && a->dim >= 0 && a->dim < LZ_MAX_DIMS && (a->wrap == 0 || a->wrap == 1)
                   && p->attr_size > sizeof *a
               ? NULL
               : "expected a size, a dimension, and wrap 0 or 1";
}

/* Adds f * (size - 1) to *high if f is positive, otherwise to *low. False: overflow. */
static bool widen(int64_t f, int64_t size, int64_t *low, int64_t *high)
{
    int64_t far;
    if (size <= 1 || f == 0)
        return true;
    return !__builtin_mul_overflow(f, size - 1, &far)
           && !__builtin_add_overflow(*(f < 0 ? low : high), far, f < 0 ? low : high);
}

static const char *check_index_row(const lz_low_proto *p, int64_t r)
{
    const lz_low_index_attr *a = p->attr;
    int64_t rows = p->in[0]->ndim, low = a->v[r], high = low;
    bool bounded = a->bounded >> r & 1, ok = true, empty = false;
    for (int64_t c = 0; ok && c < p->sizes.n; c++) {
        ok = widen(a->v[rows + r * p->sizes.n + c], p->sizes.v[c], &low, &high);
        empty = empty || p->sizes.v[c] == 0;
    }
    if (!ok)
        return "the index overflows";
    return bounded || empty || (low >= 0 && high < p->in[0]->sizes[r])
               ? NULL
               : "the index is out of the operand's bounds";
}

static const char *check_index(const lz_low_proto *p)
{
    const lz_low_index_attr *a = p->attr;
    const char *why = NULL;
    if (!p->nin || p->dtype != (lz_dtype)p->in[0]->dtype)
        return "expected an operand of the result's dtype";
    if (p->in[0]->ndim < LZ_MAX_DIMS && a->bounded >> p->in[0]->ndim)
        return "attribute 'bounded' names a dimension that the operand does not have";
    if (p->nin != (a->bounded ? 2 : 1))
        return "expected two operands with attribute 'bounded', otherwise one";
    if (p->nin == 2 && (p->in[1]->ndim || p->in[1]->dtype != p->in[0]->dtype))
        return "operand 2: expected a tensor without dimensions, of the dtype of operand 1";
    for (int64_t r = 0; !why && r < p->in[0]->ndim; r++)
        why = check_index_row(p, r);
    return why;
}

static const char *check_reshape(const lz_low_proto *p)
{
    int64_t n = 1;
    for (int64_t d = 0; d < p->sizes.n; d++)
        n = (int64_t)((uint64_t)n * (uint64_t)p->sizes.v[d]);
    return p->nin == 1 && p->dtype == (lz_dtype)p->in[0]->dtype && n == p->in[0]->numel
               ? NULL
               : "expected one tensor of the same dtype and number of elements";
}

static lz_dtype reduced_dtype(const lz_low_proto *p)
{
    bool index = p->op == LZ_KERNEL_RARGMAX || p->op == LZ_KERNEL_RARGMIN;
    return index ? LZ_I64 : (lz_dtype)p->in[0]->dtype;
}

static bool takes(lz_kernel_reduction op, const lz_low_node *x)
{
    bool logic = op == LZ_KERNEL_RAND || op == LZ_KERNEL_ROR || op == LZ_KERNEL_RXOR,
         sums = op == LZ_KERNEL_RSUM || op == LZ_KERNEL_RPROD;
    bool real = x->dtype == LZ_F16 || x->dtype == LZ_BF16 || x->dtype == LZ_F32 || x->dtype == LZ_F64;
    return !(logic && real) && !(sums && x->dtype == LZ_BOOL);
}

static const char *check_reduce(const lz_low_proto *p)
{
    uint64_t dims = ((const lz_low_reduce_attr *)p->attr)->dims;
    int64_t k = 0;
    bool ok = true;
    if (!p->nin) /* a reduction over no elements, inside a group */
        return NULL;
    if (p->nin != 1 || p->dtype != reduced_dtype(p) || !takes((lz_kernel_reduction)p->op, p->in[0]))
        return "expected one tensor of a dtype that the reduction takes, and a result of its dtype, or Long "
               "for an index";
    if (p->in[0]->ndim < LZ_MAX_DIMS && dims >> p->in[0]->ndim)
        return "attribute 'dims' names a dimension that the operand does not have";
    for (int64_t d = 0; ok && d < p->in[0]->ndim; d++)
        if (!(dims >> d & 1))
            ok = k < p->sizes.n && p->sizes.v[k++] == p->in[0]->sizes[d];
    return ok && k == p->sizes.n
               ? NULL
               : "expected the result to have the sizes of the dimensions that are not reduced";
}

static bool is_dim(const lz_low_proto *p, int64_t n)
{
    int64_t dim = ((const lz_low_dim_attr *)p->attr)->dim;
    return dim >= 0 && dim < n;
}

static const char *check_scan(const lz_low_proto *p)
{
    if (p->nin != 1 || p->dtype != reduced_dtype(p) || !like(p, p->in[0])
        || !takes((lz_kernel_reduction)p->op, p->in[0]))
        return "expected one tensor of the same sizes and of a dtype that the scan takes, and a result of "
               "its dtype, or Long for an index";
    return is_dim(p, p->sizes.n) ? NULL : "attribute 'dim': expected a dimension of the operand";
}

static const char *check_gather(const lz_low_proto *p)
{
    int64_t dim = ((const lz_low_dim_attr *)p->attr)->dim;
    bool ok = p->nin == 2 && p->dtype == (lz_dtype)p->in[0]->dtype && is_i64(p->in[1]) && like(p, p->in[1])
              && p->in[0]->ndim == p->sizes.n;
    if (!ok)
        return "expected a tensor of the result's dtype, and indices of dtype Long and of the result's sizes";
    for (int64_t d = 0; ok && d < p->sizes.n; d++)
        ok = d == dim || p->in[0]->sizes[d] == p->sizes.v[d];
    return ok && is_dim(p, p->sizes.n)
               ? NULL
               : "the sizes of operand and index differ in a dimension other than attribute 'dim'";
}

static bool joins(const lz_low_proto *p, const lz_low_node *x, int64_t dim)
{
    bool ok = x->dtype == (int8_t)p->dtype && x->ndim == p->sizes.n;
    for (int64_t d = 0; ok && d < p->sizes.n; d++)
        ok = d == dim || x->sizes[d] == p->sizes.v[d];
    return ok;
}

static const char *check_cat(const lz_low_proto *p)
{
    int64_t dim = ((const lz_low_dim_attr *)p->attr)->dim, sum = 0;
    bool ok = p->nin > 0 && is_dim(p, p->sizes.n);
    for (size_t i = 0; ok && i < p->nin; i++)
        ok = joins(p, p->in[i], dim) && !__builtin_add_overflow(sum, p->in[i]->sizes[dim], &sum);
    return ok && sum == p->sizes.v[dim]
               ? NULL
               : "the operands do not make up the result: check dtypes, sizes and attribute 'dim'";
}

static const char *check_update(const lz_low_proto *p)
{
    const lz_low_update_attr *a = p->attr;
    int64_t low = a->offset, high = low;
    bool starts = p->nin == 3;
    if (starts && (p->in[2]->kind != LZ_LOW_SCALAR || p->in[2]->dtype != LZ_I64))
        return "expected a run-time number of type int as the third operand";
    if (p->nin != 2 + (size_t)starts || p->dtype != (lz_dtype)p->in[0]->dtype
        || p->in[1]->dtype != p->in[0]->dtype || !like(p, p->in[0]))
        return "expected a tensor and a part of the same dtype, and a result of the tensor's dtype and sizes";
    for (int64_t d = 0; d < p->in[1]->ndim; d++)
        if (!widen(a->strides[d], p->in[1]->sizes[d], &low, &high))
            return "the strides overflow";
    return !p->in[1]->numel || (low >= 0 && high < p->in[0]->numel)
               ? NULL
               : "the part is out of the tensor's bounds";
}

static rule_fn *const rules[LZ_LOW_KINDS] = {
    [LZ_LOW_INPUT] = no_rule,          [LZ_LOW_SCALAR] = no_rule,      [LZ_LOW_CONST] = no_rule,
    [LZ_LOW_IOTA] = no_rule,           [LZ_LOW_MAP] = no_rule,         [LZ_LOW_CAST] = check_cast,
    [LZ_LOW_PHILOX] = check_philox,    [LZ_LOW_CHECK] = check_check,   [LZ_LOW_INDEX] = check_index,
    [LZ_LOW_RESHAPE] = check_reshape,  [LZ_LOW_REDUCE] = check_reduce, [LZ_LOW_SCAN] = check_scan,
    [LZ_LOW_GATHER] = check_gather,    [LZ_LOW_CAT] = check_cat,       [LZ_LOW_UPDATE] = check_update,
    [LZ_LOW_CALL] = lz_low_check_call, [LZ_LOW_BUFFER] = no_rule,
};

const char *lz_low_check(const lz_low_proto *p)
{
    return rules[p->kind](p);
}
