/* Names of lowered nodes, and the rule of each kind. */
#include "lower/lower_impl.h"
#include "plan/lowered.h"

static const char *const kind_names[LZ_L_KINDS] = {
    [LZ_L_INPUT] = "lz::input",     [LZ_L_SCALAR] = "lz::scalar", [LZ_L_CONST] = "lz::const",
    [LZ_L_IOTA] = "lz::iota",       [LZ_L_MAP] = "lz::map",       [LZ_L_CAST] = "lz::cast",
    [LZ_L_PHILOX] = "lz::philox",   [LZ_L_CHECK] = "lz::check",   [LZ_L_INDEX] = "lz::index",
    [LZ_L_RESHAPE] = "lz::reshape", [LZ_L_REDUCE] = "lz::reduce", [LZ_L_SCAN] = "lz::scan",
    [LZ_L_GATHER] = "lz::gather",   [LZ_L_CAT] = "lz::cat",       [LZ_L_UPDATE] = "lz::update",
    [LZ_L_CALL] = "lz::call",       [LZ_L_BUFFER] = "lz::buffer",
};

static const char *const reduce_names[LZ_K_REDUCES] = {
    [LZ_K_RSUM] = "sum", [LZ_K_RPROD] = "prod",     [LZ_K_RMAX] = "max",
    [LZ_K_RMIN] = "min", [LZ_K_RAND] = "all",       [LZ_K_ROR] = "any",
    [LZ_K_RXOR] = "xor", [LZ_K_RARGMAX] = "argmax", [LZ_K_RARGMIN] = "argmin",
};

static int find(const char *const *names, int n, lz_str name)
{
    int i = 0;
    while (i < n && !lz_str_is(name, names[i]))
        i++;
    return i;
}

const char *lz_lkind_name(lz_lkind kind)
{
    return kind_names[kind];
}

bool lz_lkind_find(lz_str name, lz_lkind *out)
{
    *out = (lz_lkind)find(kind_names, LZ_L_KINDS, name);
    return *out < LZ_L_KINDS;
}

const char *lz_reduce_name(lz_kreduce op)
{
    return reduce_names[op];
}

bool lz_reduce_find(lz_str name, lz_kreduce *out)
{
    *out = (lz_kreduce)find(reduce_names, LZ_K_REDUCES, name);
    return *out < LZ_K_REDUCES;
}

/* ---- rules ---- */

typedef const char *rule_fn(const lz_low_proto *p);

static bool like(const lz_low_proto *p, const lz_ln *x)
{
    return lz_shape_eq(p->sizes, lz_ln_sizes(x));
}

static bool is_i64(const lz_ln *x)
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
    return p->nin == 1 && like(p, p->in[0]) ? NULL : "a cast takes one tensor of the same sizes";
}

static const char *check_philox(const lz_low_proto *p)
{
    bool ok = p->nin == 3 && p->op < 4 && p->dtype == LZ_I64;
    for (size_t i = 0; ok && i < 3; i++)
        ok = is_i64(p->in[i]) && like(p, p->in[i]);
    return ok ? NULL
              : "philox takes seed, stream and index, all of Long and of the same sizes, and a word from 0 "
                "to 3";
}

static const char *check_check(const lz_low_proto *p)
{
    const lz_lcheck *a = p->attr;
    bool ok = p->nin == 1 && p->dtype == LZ_I64 && is_i64(p->in[0]) && like(p, p->in[0]);
    if (!ok)
        return "a check takes indices of Long and gives the same";
    return a->size >= 0 && a->dim >= 0 && a->dim < LZ_MAX_DIMS && (a->wrap == 0 || a->wrap == 1)
                   && p->attr_size > sizeof *a
               ? NULL
               : "a check needs a size, a dimension, and wrap 0 or 1";
}

/* out += f * (size - 1), towards the end that the sign says. */
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
    const lz_lindex *a = p->attr;
    int64_t rows = p->in[0]->ndim, low = a->v[r], high = low;
    bool bounded = a->bounded >> r & 1, ok = true, empty = false;
    for (int64_t c = 0; ok && c < p->sizes.n; c++) {
        ok = widen(a->v[rows + r * p->sizes.n + c], p->sizes.v[c], &low, &high);
        empty = empty || p->sizes.v[c] == 0;
    }
    if (!ok)
        return "an index is too large";
    return bounded || empty || (low >= 0 && high < p->in[0]->sizes[r]) ? NULL : "an index leaves the tensor";
}

static const char *check_index(const lz_low_proto *p)
{
    const lz_lindex *a = p->attr;
    const char *why = NULL;
    if (!p->nin || p->dtype != (lz_dtype)p->in[0]->dtype)
        return "an index map takes a tensor of the same dtype";
    if (p->in[0]->ndim < LZ_MAX_DIMS && a->bounded >> p->in[0]->ndim)
        return "a dimension that is bounded is not there";
    if (p->nin != (a->bounded ? 2 : 1))
        return "an index map with bounds takes a second operand, others do not";
    if (p->nin == 2 && (p->in[1]->ndim || p->in[1]->dtype != p->in[0]->dtype))
        return "what fills the outside has no dimensions and the same dtype";
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
               : "a reshape takes one tensor of the same dtype and as many elements";
}

static lz_dtype reduced_dtype(const lz_low_proto *p)
{
    bool index = p->op == LZ_K_RARGMAX || p->op == LZ_K_RARGMIN;
    return index ? LZ_I64 : (lz_dtype)p->in[0]->dtype;
}

static bool takes(lz_kreduce op, const lz_ln *x)
{
    bool logic = op == LZ_K_RAND || op == LZ_K_ROR || op == LZ_K_RXOR,
         sums = op == LZ_K_RSUM || op == LZ_K_RPROD;
    bool real = x->dtype == LZ_F16 || x->dtype == LZ_BF16 || x->dtype == LZ_F32 || x->dtype == LZ_F64;
    return !(logic && real) && !(sums && x->dtype == LZ_BOOL);
}

static const char *check_reduce(const lz_low_proto *p)
{
    uint64_t dims = ((const lz_lreduce *)p->attr)->dims;
    int64_t k = 0;
    bool ok = true;
    if (!p->nin) /* over nothing, in a group */
        return NULL;
    if (p->nin != 1 || p->dtype != reduced_dtype(p) || !takes((lz_kreduce)p->op, p->in[0]))
        return "a reduction takes one tensor and gives its dtype, or Long";
    if (p->in[0]->ndim < LZ_MAX_DIMS && dims >> p->in[0]->ndim)
        return "a dimension to be reduced is not there";
    for (int64_t d = 0; ok && d < p->in[0]->ndim; d++)
        if (!(dims >> d & 1))
            ok = k < p->sizes.n && p->sizes.v[k++] == p->in[0]->sizes[d];
    return ok && k == p->sizes.n ? NULL : "the sizes are not those of the dimensions that are kept";
}

static bool is_dim(const lz_low_proto *p, int64_t n)
{
    int64_t dim = ((const lz_ldim *)p->attr)->dim;
    return dim >= 0 && dim < n;
}

static const char *check_scan(const lz_low_proto *p)
{
    if (p->nin != 1 || p->dtype != reduced_dtype(p) || !like(p, p->in[0])
        || !takes((lz_kreduce)p->op, p->in[0]))
        return "a scan takes one tensor of the same sizes and gives its dtype, or Long";
    return is_dim(p, p->sizes.n) ? NULL : "there is no such dimension";
}

static const char *check_gather(const lz_low_proto *p)
{
    int64_t dim = ((const lz_ldim *)p->attr)->dim;
    bool ok = p->nin == 2 && p->dtype == (lz_dtype)p->in[0]->dtype && is_i64(p->in[1]) && like(p, p->in[1])
              && p->in[0]->ndim == p->sizes.n;
    if (!ok)
        return "a gather takes a tensor and indices of Long, and has their sizes";
    for (int64_t d = 0; ok && d < p->sizes.n; d++)
        ok = d == dim || p->in[0]->sizes[d] == p->sizes.v[d];
    return ok && is_dim(p, p->sizes.n) ? NULL : "sizes differ besides along the dimension";
}

static bool joins(const lz_low_proto *p, const lz_ln *x, int64_t dim)
{
    bool ok = x->dtype == (int8_t)p->dtype && x->ndim == p->sizes.n;
    for (int64_t d = 0; ok && d < p->sizes.n; d++)
        ok = d == dim || x->sizes[d] == p->sizes.v[d];
    return ok;
}

static const char *check_cat(const lz_low_proto *p)
{
    int64_t dim = ((const lz_ldim *)p->attr)->dim, sum = 0;
    bool ok = p->nin > 0 && is_dim(p, p->sizes.n);
    for (size_t i = 0; ok && i < p->nin; i++)
        ok = joins(p, p->in[i], dim) && !__builtin_add_overflow(sum, p->in[i]->sizes[dim], &sum);
    return ok && sum == p->sizes.v[dim] ? NULL : "the parts do not make up the whole";
}

static const char *check_update(const lz_low_proto *p)
{
    const lz_lupdate *a = p->attr;
    int64_t low = a->offset, high = low;
    if (p->nin != 2 || p->dtype != (lz_dtype)p->in[0]->dtype || p->in[1]->dtype != p->in[0]->dtype
        || !like(p, p->in[0]))
        return "an update takes a tensor and a part of one dtype, and gives what the tensor is";
    for (int64_t d = 0; d < p->in[1]->ndim; d++)
        if (!widen(a->strides[d], p->in[1]->sizes[d], &low, &high))
            return "a stride is too large";
    return !p->in[1]->numel || (low >= 0 && high < p->in[0]->numel) ? NULL : "the part leaves the tensor";
}

static const char *check_call(const lz_low_proto *p)
{
    static const struct {
        size_t operands, params; /* at least so many */
    } rows[LZ_CALLS] = {
        [LZ_CALL_MATMUL] = { 2, 0 },      [LZ_CALL_CONV] = { 2, 5 },    [LZ_CALL_CONV_INPUT] = { 2, 5 },
        [LZ_CALL_CONV_WEIGHT] = { 2, 5 }, [LZ_CALL_SORT] = { 1, 1 },    [LZ_CALL_TOPK] = { 1, 1 },
        [LZ_CALL_SEARCH] = { 2, 1 },      [LZ_CALL_SCATTER] = { 3, 2 }, [LZ_CALL_POOL_MAX] = { 1, 8 },
        [LZ_CALL_POOL_AT] = { 1, 8 },     [LZ_CALL_RANK] = { 1, 1 },    [LZ_CALL_CONTAINS] = { 2, 0 },
        [LZ_CALL_COUNT] = { 1, 2 },
    };
    if (p->nin != rows[p->op].operands)
        return "it takes another number of operands";
    return p->attr_size >= rows[p->op].params * sizeof(int64_t) ? NULL : "it needs more parameters";
}

static rule_fn *const rules[LZ_L_KINDS] = {
    [LZ_L_INPUT] = no_rule,         [LZ_L_SCALAR] = no_rule,      [LZ_L_CONST] = no_rule,
    [LZ_L_IOTA] = no_rule,          [LZ_L_MAP] = no_rule,         [LZ_L_CAST] = check_cast,
    [LZ_L_PHILOX] = check_philox,   [LZ_L_CHECK] = check_check,   [LZ_L_INDEX] = check_index,
    [LZ_L_RESHAPE] = check_reshape, [LZ_L_REDUCE] = check_reduce, [LZ_L_SCAN] = check_scan,
    [LZ_L_GATHER] = check_gather,   [LZ_L_CAT] = check_cat,       [LZ_L_UPDATE] = check_update,
    [LZ_L_CALL] = check_call,       [LZ_L_BUFFER] = no_rule,
};

const char *lz_low_check(const lz_low_proto *p)
{
    return rules[p->kind](p);
}
