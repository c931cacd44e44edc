#include "lower/layout.h"
#include "base/str.h"
#include "core/promote.h"
#include <assert.h>

/* ---- arguments ---- */

/* The value of an argument; NONE if the operator has no argument of that name or only a run knows the value.
 */
static lz_low_value fixed_arg(const lz_op_call *c, const char *name)
{
    for (int i = 0; i < c->op->nargs; i++)
        if (lz_str_is(lz_str_of(c->op->args[i].name), name)
            && (c->args[i].kind != LZ_LOW_VALUE_NUMBER || !c->args[i].node))
            return c->args[i];
    return lz_low_value_none();
}

static bool ints_arg(const lz_op_call *c, const char *name, lz_shape *out)
{
    lz_low_value v = fixed_arg(c, name);
    return v.kind == LZ_LOW_VALUE_LIST && lz_low_value_known_ints(&v, out);
}

bool lz_low_value_known_ints(const lz_low_value *v, lz_shape *out)
{
    out->n = 0;
    for (size_t i = 0; v->kind == LZ_LOW_VALUE_LIST && i < v->list.n; i++) {
        const lz_low_value *item = &v->list.items[i];
        if (item->kind != LZ_LOW_VALUE_NUMBER || item->node || out->n == LZ_MAX_DIMS)
            return false;
        out->v[out->n++] = item->number.i;
    }
    if (v->kind == LZ_LOW_VALUE_NUMBER && !v->node)
        out->v[out->n++] = v->number.i;
    return v->kind == LZ_LOW_VALUE_LIST || out->n;
}

uint32_t lz_op_call_operands(const lz_op_call *c, uint32_t arg, uint32_t *first)
{
    uint32_t n = 0;
    *first = 0;
    for (uint32_t i = 0; i <= arg; i++) {
        lz_kind kind = (lz_kind)c->op->args[i].type->kind;
        const lz_low_value *v = &c->args[i];
        *first += n;
        n = kind == LZ_KIND_TENSOR && v->kind == LZ_LOW_VALUE_TENSOR  ? 1
            : kind == LZ_KIND_TENSORS && v->kind == LZ_LOW_VALUE_LIST ? (uint32_t)v->list.n
                                                                      : 0;
    }
    return n;
}

bool lz_layout_must_copy(const lz_op_call *c, const lz_spec *self)
{
    lz_low_value copy = fixed_arg(c, "copy"), format = fixed_arg(c, "memory_format");
    if (copy.kind == LZ_LOW_VALUE_NUMBER && copy.number.i)
        return true;
    if (format.kind != LZ_LOW_VALUE_MEMORY_FORMAT)
        return lz_layout_of(c->op)->memory & LZ_MEMORY_ROW_MAJOR && !self->contiguous;
    return format.memory_format != LZ_PRESERVE
           && !lz_strides_are_format(lz_spec_sizes(self), lz_spec_strides(self), format.memory_format);
}

/* The operands and the result that a rule considers. */
enum { MOST = 8 };

typedef struct question {
    const lz_op_call *call;
    const lz_spec *operands[MOST]; /* in the order in which they decide; those that are there */
    bool is_mask[MOST];            /* the operand is not converted to the common dtype */
    size_t n;
    lz_dtype dtype; /* of the result */
    lz_ints sizes;
} question;

/* Whether only one item of the list takes part in one item of the result. */
static bool takes_items(const lz_op_call *c, uint32_t arg)
{
    return lz_layout_of(c->op)->memory & LZ_MEMORY_ITEMS && c->op->args[arg].type->kind == LZ_KIND_TENSORS;
}

static void add_operands(question *q, uint32_t arg)
{
    bool mask = lz_layout_of(q->call->op)->mask == arg + 1;
    uint32_t first, n = lz_op_call_operands(q->call, arg, &first);
    if (takes_items(q->call, arg)) {
        first += q->call->item;
        n = n > q->call->item ? 1 : 0;
    }
    for (uint32_t k = 0; k < n; k++)
        if (q->call->in[first + k] && q->n < MOST) {
            q->is_mask[q->n] = mask;
            q->operands[q->n++] = q->call->in[first + k];
        }
}

static void find_operands(question *q)
{
    const lz_layout_row *l = lz_layout_of(q->call->op);
    for (uint32_t i = 0; l->nargs == 0 && i < q->call->op->nargs; i++)
        add_operands(q, i);
    for (int i = 0; i < l->nargs; i++)
        add_operands(q, l->args[i]);
}

/* ---- rules ---- */

typedef lz_err *fresh_fn(const question *q, lz_shape *out);

static lz_err *contiguous(const question *q, lz_shape *out)
{
    return lz_strides_contiguous(q->sizes, out);
}

static lz_err *like_spec(const lz_spec *s, lz_shape *out)
{
    lz_ints strides = lz_spec_strides(s);
    if (!s->dense)
        return lz_strides_like(lz_spec_sizes(s), &strides, 1, out);
    out->n = s->ndim;
    for (int64_t i = 0; i < s->ndim; i++)
        out->v[i] = s->strides[i];
    return NULL;
}

static lz_memory_format suggested(const lz_spec *s)
{
    return lz_strides_suggest(lz_spec_sizes(s), lz_spec_strides(s));
}

static lz_err *in_format(const question *q, lz_memory_format f, lz_shape *out)
{
    bool fits = (f == LZ_CHANNELS_LAST && q->sizes.n == 4) || (f == LZ_CHANNELS_LAST_3D && q->sizes.n == 5);
    return lz_strides_format(q->sizes, fits ? f : LZ_CONTIGUOUS, out);
}

static lz_err *format(const question *q, lz_shape *out)
{
    return in_format(q, q->n ? suggested(q->operands[0]) : LZ_CONTIGUOUS, out);
}

/* Whether the operand is an empty list of numbers: cat ignores it. */
static bool is_nothing(const lz_spec *s)
{
    return s->ndim == 1 && s->sizes[0] == 0;
}

static lz_err *common_format(const question *q, lz_shape *out)
{
    lz_memory_format f = LZ_MEMORY_FORMAT_NONE;
    for (size_t i = 0; i < q->n; i++) {
        lz_memory_format g = suggested(q->operands[i]);
        if (is_nothing(q->operands[i]))
            continue;
        f = f == LZ_MEMORY_FORMAT_NONE || f == g ? g : LZ_CONTIGUOUS;
    }
    return in_format(q, f, out);
}

static lz_err *any_format(const question *q, lz_shape *out)
{
    lz_memory_format f = LZ_CONTIGUOUS;
    for (size_t i = 0; i < q->n && f == LZ_CONTIGUOUS; i++)
        f = suggested(q->operands[i]);
    return in_format(q, f, out);
}

static lz_err *transposed(const question *q, lz_shape *out)
{
    if (q->sizes.n != 2)
        return contiguous(q, out);
    *out = (lz_shape){ .n = 2, .v = { 1, q->sizes.v[0] } };
    return NULL;
}

/* Numbers and vectors that belong to the matrices have fewer dimensions. */
static lz_err *columns(const question *q, lz_shape *out)
{
    int64_t n = q->sizes.n;
    LZ_TRY(contiguous(q, out));
    if (n < 2 || q->n == 0 || n < q->operands[0]->ndim)
        return NULL;
    out->v[n - 2] = 1;
    out->v[n - 1] = q->sizes.v[n - 2] > 0 ? q->sizes.v[n - 2] : 1;
    return NULL;
}

/* The solution of X A = B is that of A' X' = B', transposed. */
static lz_err *columns_left(const question *q, lz_shape *out)
{
    lz_low_value left = fixed_arg(q->call, "left");
    bool right = left.kind == LZ_LOW_VALUE_NUMBER && !left.number.i;
    return right ? contiguous(q, out) : columns(q, out);
}

/* The strides of self; a quarter turn exchanges those of the two dimensions. A full turn is a contiguous
 * copy. */
static lz_err *rot90(const question *q, lz_shape *out)
{
    lz_low_value k = fixed_arg(q->call, "k");
    lz_shape dims;
    const lz_spec *s = q->n ? q->operands[0] : NULL;
    bool full_turn = k.kind == LZ_LOW_VALUE_NUMBER && k.number.i % 4 == 0;
    if (!s || full_turn || s->ndim != q->sizes.n || !ints_arg(q->call, "dims", &dims) || dims.n != 2)
        return contiguous(q, out);
    LZ_TRY(like_spec(s, out));
    int64_t a = dims.v[0], b = dims.v[1];
    a += a < 0 ? s->ndim : 0;
    b += b < 0 ? s->ndim : 0;
    if (k.kind == LZ_LOW_VALUE_NUMBER && k.number.i % 2 != 0) {
        int64_t t = out->v[a];
        out->v[a] = out->v[b];
        out->v[b] = t;
    }
    return NULL;
}

static lz_err *first_inner(const question *q, lz_shape *out)
{
    lz_shape rotated = { .n = q->sizes.n }, strides;
    if (q->n < 2 || q->operands[q->n - 1]->ndim == 0 || q->sizes.n == 0)
        return contiguous(q, out);
    for (int64_t i = 0; i < rotated.n; i++)
        rotated.v[i] = q->sizes.v[(i + 1) % rotated.n];
    LZ_TRY(lz_strides_contiguous(lz_shape_ints(&rotated), &strides));
    out->n = rotated.n;
    for (int64_t i = 0; i < rotated.n; i++)
        out->v[(i + 1) % rotated.n] = strides.v[i];
    return NULL;
}

/* The order of dimensions of the first operand, for a copy of a part of the operand that has the sizes of the
 * result. */
static lz_err *copied(const question *q, lz_shape *out)
{
    lz_ints strides = q->n ? lz_spec_strides(q->operands[0]) : (lz_ints){ NULL, 0 };
    bool fits = strides.n == q->sizes.n;
    for (int64_t i = 0; fits && i < strides.n; i++)
        fits = q->sizes.v[i] != 0;
    return fits ? lz_strides_iterated(q->sizes, &strides, 1, out) : contiguous(q, out);
}

/* As `copied`, but row-major if the strides of the operand are row-major for the sizes of the result. */
static lz_err *order(const question *q, lz_shape *out)
{
    lz_ints strides = q->n ? lz_spec_strides(q->operands[0]) : (lz_ints){ NULL, 0 };
    bool row_major = strides.n == q->sizes.n && lz_strides_are_contiguous(q->sizes, strides);
    return row_major ? contiguous(q, out) : copied(q, out);
}

/* ---- PyTorch's TensorIterator ---- */

/* The dtype that the operands are converted to before the operation. */
static lz_dtype common_dtype(const question *q)
{
    lz_dtype d = LZ_DTYPE_NONE;
    if (lz_dtype_is_float(q->dtype))
        return q->dtype;
    for (size_t i = 0; i < q->n; i++)
        if (q->operands[i]->ndim)
            d = lz_dtype_promote(d, (lz_dtype)q->operands[i]->dtype);
    return d;
}

/* Strides of an operand along the dimensions of the result: 0 where it is repeated. */
static bool broadcast(const lz_spec *s, const lz_shape *strides, lz_ints sizes, lz_shape *out)
{
    int64_t lead = sizes.n - s->ndim;
    assert(strides->n == s->ndim);
    *out = (lz_shape){ .n = sizes.n };
    for (int64_t i = 0; lead >= 0 && i < s->ndim; i++) {
        if (s->sizes[i] != 1 && s->sizes[i] != sizes.v[lead + i])
            return false;
        out->v[lead + i] = s->sizes[i] == sizes.v[lead + i] ? strides->v[i] : 0;
    }
    return lead >= 0;
}

/* Strides of the operands as TensorIterator sees them: a converted operand has no gaps. */
static lz_err *iterated(const question *q, lz_shape *strides)
{
    lz_dtype common = common_dtype(q);
    for (size_t i = 0; i < q->n; i++) {
        const lz_spec *s = q->operands[i];
        if (s->ndim && (lz_dtype)s->dtype != common && common != LZ_DTYPE_NONE && !q->is_mask[i]) {
            LZ_TRY(like_spec(s, &strides[i]));
            continue;
        }
        strides[i].n = s->ndim;
        for (int64_t d = 0; d < s->ndim; d++)
            strides[i].v[d] = s->strides[d];
    }
    return NULL;
}

/* Whether all operands have the sizes of the result, and equal strides without gaps, row-major strides or
 * channels last. */
static bool lie_alike(const question *q, const lz_shape *strides, lz_shape *out)
{
    bool row_major = q->n > 0, last = q->n > 0, equal = q->n > 0;
    for (size_t i = 0; i < q->n; i++) {
        lz_ints s = lz_shape_ints(&strides[i]);
        if (!lz_shape_eq(lz_spec_sizes(q->operands[i]), q->sizes))
            return false;
        row_major = row_major && lz_strides_are_contiguous(q->sizes, s);
        last = last && lz_strides_are_format(q->sizes, s, LZ_CHANNELS_LAST);
        equal = equal && lz_shape_eq(s, lz_shape_ints(&strides[0])) && lz_strides_are_dense(q->sizes, s);
    }
    if (!row_major && !last && equal)
        *out = strides[0];
    else if (row_major || last)
        lz_err_drop(lz_strides_format(q->sizes, row_major ? LZ_CONTIGUOUS : LZ_CHANNELS_LAST, out));
    return row_major || last || equal;
}

static lz_err *by_order(const question *q, const lz_shape *strides, lz_shape *out)
{
    lz_shape wide[MOST];
    lz_ints views[MOST];
    size_t n = 0;
    for (size_t i = 0; i < q->n; i++)
        if (broadcast(q->operands[i], &strides[i], q->sizes, &wide[n])) {
            views[n] = lz_shape_ints(&wide[n]);
            n++;
        }
    return lz_strides_iterated(q->sizes, views, n, out);
}

static lz_err *operands(const question *q, lz_shape *out)
{
    lz_shape strides[MOST];
    LZ_TRY(iterated(q, strides));
    return lie_alike(q, strides, out) ? NULL : by_order(q, strides, out);
}

/* ---- indexing, which uses TensorIterator too ---- */

/* The dimensions of self that have an index, and the dimensions of the result that the indices make. */
typedef struct indexed {
    bool is_indexed[LZ_MAX_DIMS];
    int64_t first, n; /* the first of these result dimensions, and their number */
} indexed;

/* A mask replaces as many dimensions as it has by one dimension. */
static bool find_indexed(const question *q, const lz_spec *self, indexed *x)
{
    uint32_t first, n = lz_op_call_operands(q->call, 1, &first);
    int64_t d = 0, last = -1;
    bool together = true;
    *x = (indexed){ .first = -1 };
    for (uint32_t k = 0; k < n; k++) {
        const lz_spec *s = q->call->in[first + k];
        bool mask = s && ((lz_dtype)s->dtype == LZ_BOOL || (lz_dtype)s->dtype == LZ_U8);
        int64_t covers = mask ? s->ndim : 1, dims = mask ? 1 : s ? s->ndim : 0;
        if (d + covers > self->ndim)
            return false;
        for (int64_t i = 0; s && i < covers; i++)
            x->is_indexed[d + i] = true;
        together = together && (!s || last < 0 || last == d - 1);
        x->first = s && x->first < 0 ? d : x->first;
        last = s ? d + covers - 1 : last;
        x->n = dims > x->n ? dims : x->n;
        d += covers;
    }
    x->first = together && x->first >= 0 ? x->first : 0;
    return q->call->op->args[1].type->kind == LZ_KIND_TENSORS && last >= 0;
}

/* Strides of self along the dimensions of the result: 0 along those that indices make. */
static bool without_indexed(const lz_spec *self, const indexed *x, lz_ints sizes, lz_shape *out)
{
    int64_t at = 0;
    *out = (lz_shape){ .n = sizes.n };
    for (int64_t d = 0; d < self->ndim; d++) {
        if (x->is_indexed[d])
            continue;
        at += at == x->first ? x->n : 0;
        if (at >= sizes.n)
            return false;
        out->v[at++] = self->strides[d];
    }
    return at <= sizes.n;
}

static void along_indexed(const lz_spec *s, const indexed *x, lz_ints sizes, lz_shape *out)
{
    int64_t lead = x->first + x->n - s->ndim;
    *out = (lz_shape){ .n = sizes.n };
    for (int64_t i = 0; i < s->ndim; i++)
        out->v[lead + i] = s->sizes[i] == 1 ? 0 : s->strides[i];
}

static lz_err *indexing(const question *q, lz_shape *out)
{
    lz_shape wide[MOST];
    lz_ints views[MOST];
    size_t n = 1;
    indexed x;
    uint32_t first, count = lz_op_call_operands(q->call, 1, &first);
    if (q->n == 0 || !find_indexed(q, q->operands[0], &x) || x.first + x.n > q->sizes.n
        || !without_indexed(q->operands[0], &x, q->sizes, &wide[0]))
        return contiguous(q, out);
    for (uint32_t k = 0; k < count && n < MOST; k++) {
        const lz_spec *s = q->call->in[first + k];
        if (s && s->ndim <= x.n && (lz_dtype)s->dtype != LZ_BOOL && (lz_dtype)s->dtype != LZ_U8)
            along_indexed(s, &x, q->sizes, &wide[n++]);
    }
    for (size_t i = 0; i < n; i++)
        views[i] = lz_shape_ints(&wide[i]);
    return lz_strides_iterated(q->sizes, views, n, out);
}

/* A number has no dimensions, so the operands never have equal sizes. */
static lz_err *operands_and_number(const question *q, lz_shape *out)
{
    lz_shape strides[MOST];
    LZ_TRY(iterated(q, strides));
    return q->sizes.n == 0 ? contiguous(q, out) : by_order(q, strides, out);
}

/* If the argument was broadcast, all operands decide. */
static lz_err *like(const question *q, lz_shape *out)
{
    question all = { .call = q->call, .dtype = q->dtype, .sizes = q->sizes };
    if (q->n && lz_shape_eq(lz_spec_sizes(q->operands[0]), q->sizes))
        return like_spec(q->operands[0], out);
    for (uint32_t i = 0; i < q->call->op->nargs; i++)
        add_operands(&all, i);
    return operands(&all, out);
}

static lz_err *row_major(const question *q, lz_shape *out)
{
    bool fits = q->n && lz_shape_eq(lz_spec_sizes(q->operands[0]), q->sizes);
    return fits ? contiguous(q, out) : operands(q, out);
}

/* A negative padding only cuts elements off: the result is a copy of a part. */
static lz_err *pad(const question *q, lz_shape *out)
{
    lz_shape by;
    bool adds = !ints_arg(q->call, "pad", &by);
    for (int64_t i = 0; !adds && i < by.n; i++)
        adds = by.v[i] > 0;
    return adds ? format(q, out) : copied(q, out);
}

static lz_err *dim_outer(const question *q, lz_shape *out)
{
    lz_low_value asked = fixed_arg(q->call, "dim");
    LZ_TRY(contiguous(q, out));
    if (asked.kind != LZ_LOW_VALUE_NUMBER || q->sizes.n < 2)
        return NULL;
    int64_t dim = asked.number.i < 0 ? asked.number.i + q->sizes.n : asked.number.i, run = 1;
    for (int64_t d = q->sizes.n; d-- > 0;)
        if (d != dim) {
            out->v[d] = run;
            run *= q->sizes.v[d] ? q->sizes.v[d] : 1;
        }
    out->v[dim] = run;
    return NULL;
}

/* PyTorch rolls along a dimension by concatenating two slices. A shift by nothing makes one slice empty,
 * and an empty slice has no format. */
static lz_err *roll(const question *q, lz_shape *out)
{
    lz_shape dims, shifts;
    bool sliced = q->n && ints_arg(q->call, "dims", &dims) && ints_arg(q->call, "shifts", &shifts) && dims.n;
    if (q->n && q->operands[0]->numel == 0)
        return like(q, out);
    for (int64_t i = 0; sliced && i < dims.n && i < shifts.n; i++) {
        int64_t d = dims.v[i] + (dims.v[i] < 0 ? q->sizes.n : 0);
        sliced = d >= 0 && d < q->sizes.n && shifts.v[i] % q->sizes.v[d] != 0;
    }
    return sliced ? format(q, out) : contiguous(q, out);
}

/* PyTorch concatenates along dimension dim and then splits that dimension. Stacking behind the last dimension
 * is row-major. */
static lz_err *stacked(const question *q, lz_shape *out)
{
    lz_low_value asked = fixed_arg(q->call, "dim");
    int64_t last = q->sizes.n - 1, dim = asked.kind == LZ_LOW_VALUE_NUMBER ? asked.number.i : last;
    dim += dim < 0 ? q->sizes.n : 0;
    if (dim >= last)
        return contiguous(q, out);
    lz_shape whole = { .n = last }, strides;
    for (int64_t d = 0; d < last; d++)
        whole.v[d] = q->sizes.v[d < dim ? d : d + 1] * (d == dim ? q->sizes.v[d] : 1);
    question cat = *q;
    cat.sizes = lz_shape_ints(&whole);
    LZ_TRY(common_format(&cat, &strides));
    out->n = q->sizes.n;
    for (int64_t d = 0; d <= last; d++)
        out->v[d] = strides.v[d <= dim ? d : d - 1];
    out->v[dim] *= q->sizes.v[dim + 1];
    return NULL;
}

/* As `format` if the call asks to preserve the format of the argument. */
static lz_err *preserved(const question *q, lz_shape *out)
{
    bool asked = fixed_arg(q->call, "memory_format").kind == LZ_LOW_VALUE_MEMORY_FORMAT;
    return (asked ? format : contiguous)(q, out);
}

/* The strides that the call names: perhaps with gaps, or with several elements at one place. */
static lz_err *given(const question *q, lz_shape *out)
{
    return ints_arg(q->call, "stride", out) && out->n == q->sizes.n ? NULL : contiguous(q, out);
}

/* Dense, with the dimensions in the order that the call names. */
static lz_err *physical(const question *q, lz_shape *out)
{
    lz_shape dims, sorted = { .n = q->sizes.n }, strides;
    if (!ints_arg(q->call, "physical_layout", &dims) || dims.n != q->sizes.n)
        return contiguous(q, out);
    for (int64_t i = 0; i < dims.n; i++)
        sorted.v[i] = q->sizes.v[dims.v[i]];
    LZ_TRY(lz_strides_contiguous(lz_shape_ints(&sorted), &strides));
    out->n = dims.n;
    for (int64_t i = 0; i < dims.n; i++)
        out->v[dims.v[i]] = strides.v[i];
    return NULL;
}

/* By lz_stride_rule; NULL: row-major, also for copies of views. */
static fresh_fn *const rules[LZ_STRIDE_RULE_COUNT] = {
    [LZ_STRIDES_operands] = operands,
    [LZ_STRIDES_operands_and_number] = operands_and_number,
    [LZ_STRIDES_like] = like,
    [LZ_STRIDES_format] = format,
    [LZ_STRIDES_common_format] = common_format,
    [LZ_STRIDES_any_format] = any_format,
    [LZ_STRIDES_same] = like, /* to.dtype: a copy keeps the order of dimensions */
    [LZ_STRIDES_order] = order,
    [LZ_STRIDES_index] = indexing,
    [LZ_STRIDES_rot90] = rot90,
    [LZ_STRIDES_first_inner] = first_inner,
    [LZ_STRIDES_transposed] = transposed,
    [LZ_STRIDES_columns] = columns,
    [LZ_STRIDES_columns_left] = columns_left,
    [LZ_STRIDES_pad] = pad,
    [LZ_STRIDES_dim_outer] = dim_outer,
    [LZ_STRIDES_row_major] = row_major,
    [LZ_STRIDES_roll] = roll,
    [LZ_STRIDES_stacked] = stacked,
    [LZ_STRIDES_given] = given,
    [LZ_STRIDES_physical] = physical,
    [LZ_STRIDES_preserved] = preserved,
};

lz_err *lz_layout_fresh(const lz_op_call *c, lz_dtype d, lz_ints sizes, lz_shape *out)
{
    fresh_fn *rule = rules[lz_layout_of(c->op)->strides];
    lz_low_value asked = fixed_arg(c, "memory_format");
    question q = { .call = c, .dtype = d, .sizes = sizes };
    if (asked.kind == LZ_LOW_VALUE_MEMORY_FORMAT && asked.memory_format != LZ_PRESERVE)
        return lz_strides_format(sizes, asked.memory_format, out);
    if (!rule)
        return contiguous(&q, out);
    find_operands(&q);
    return rule(&q, out);
}
