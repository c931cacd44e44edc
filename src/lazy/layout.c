#include "lazy/layout.h"
#include "base/str.h"
#include "core/promote.h"
#include <assert.h>

/* ---- arguments ---- */

/* The value of a fixed argument; none if there is no such argument. */
static lz_value fixed_arg(const lz_call *c, const char *name)
{
    for (int i = 0; i < c->op->nargs; i++)
        if (lz_str_is(lz_str_of(c->op->args[i].name), name) && c->slots[i].kind == LZ_ARG_VALUE)
            return lz_unpack(c->words.data, c->slots[i].first);
    return lz_value_none();
}

bool lz_layout_must_copy(const lz_call *c, const lz_spec *self)
{
    lz_value copy = fixed_arg(c, "copy"), format = fixed_arg(c, "memory_format");
    if (copy.kind == LZ_KIND_BOOL && copy.truth)
        return true;
    if (format.kind != LZ_KIND_MEMORY_FORMAT)
        return lz_layout_of(c->op)->memory & LZ_MEMORY_ROW_MAJOR && !self->contiguous;
    return format.memory_format != LZ_PRESERVE
           && !lz_strides_are_format(lz_spec_sizes(self), lz_spec_strides(self), format.memory_format);
}

/* What a rule looks at. */
enum { MOST = 8 };

typedef struct question {
    const lz_call *call;
    const lz_spec *const *in;
    const lz_spec *operands[MOST]; /* in the order in which they decide; those that are there */
    bool chooses[MOST];            /* the operand is a mask, which is not converted to the common dtype */
    size_t n;
    lz_dtype dtype; /* of the result */
    lz_ints sizes;
} question;

static void add_operands(question *q, uint32_t arg)
{
    const lz_slot *s = &q->call->slots[arg];
    const char *name = q->call->op->args[arg].name;
    uint32_t n = s->kind == LZ_ARG_TENSOR ? 1 : s->kind == LZ_ARG_TENSORS ? s->n : 0;
    for (uint32_t k = 0; k < n; k++)
        if (q->in[s->first + k] && q->n < MOST) {
            q->chooses[q->n] = lz_str_is(lz_str_of(name), "condition") || lz_str_is(lz_str_of(name), "mask");
            q->operands[q->n++] = q->in[s->first + k];
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

/* A list of numbers without elements has no say: cat takes it beside anything. */
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

/* A quarter turn exchanges the two dimensions of what otherwise lies like self. */
static lz_err *rot90(const question *q, lz_shape *out)
{
    lz_value k = fixed_arg(q->call, "k"), dims = fixed_arg(q->call, "dims");
    const lz_spec *s = q->n ? q->operands[0] : NULL;
    if (!s || s->ndim != q->sizes.n || dims.kind != LZ_KIND_INTS || dims.ints.n != 2)
        return contiguous(q, out);
    LZ_TRY(like_spec(s, out));
    int64_t a = dims.ints.v[0], b = dims.ints.v[1];
    a += a < 0 ? s->ndim : 0;
    b += b < 0 ? s->ndim : 0;
    if (k.kind == LZ_KIND_INT && k.integer % 2 != 0) {
        int64_t t = out->v[a];
        out->v[a] = out->v[b];
        out->v[b] = t;
    }
    return NULL;
}

static lz_err *first_inner(const question *q, lz_shape *out)
{
    lz_shape turned = { .n = q->sizes.n }, strides;
    if (q->n < 2 || q->operands[q->n - 1]->ndim == 0 || q->sizes.n == 0)
        return contiguous(q, out);
    for (int64_t i = 0; i < turned.n; i++)
        turned.v[i] = q->sizes.v[(i + 1) % turned.n];
    LZ_TRY(lz_strides_contiguous(lz_shape_ints(&turned), &strides));
    out->n = turned.n;
    for (int64_t i = 0; i < turned.n; i++)
        out->v[(i + 1) % turned.n] = strides.v[i];
    return NULL;
}

/* The order of a part of the first operand that has the sizes of the result, copied. */
static lz_err *copied(const question *q, lz_shape *out)
{
    lz_ints strides = q->n ? lz_spec_strides(q->operands[0]) : (lz_ints){ NULL, 0 };
    bool fits = strides.n == q->sizes.n;
    for (int64_t i = 0; fits && i < strides.n; i++)
        fits = q->sizes.v[i] != 0;
    return fits ? lz_strides_iterated(q->sizes, &strides, 1, out) : contiguous(q, out);
}

/* Of such a part, iterated over: row-major if that is one way to see it. */
static lz_err *order(const question *q, lz_shape *out)
{
    lz_ints strides = q->n ? lz_spec_strides(q->operands[0]) : (lz_ints){ NULL, 0 };
    bool row_major = strides.n == q->sizes.n && lz_strides_are_contiguous(q->sizes, strides);
    return row_major ? contiguous(q, out) : copied(q, out);
}

/* ---- as TensorIterator has it ---- */

/* What the operands are converted to before anything else. */
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

/* Operands as they are iterated over: converted ones have no gaps. */
static lz_err *iterated(const question *q, lz_shape *strides)
{
    lz_dtype common = common_dtype(q);
    for (size_t i = 0; i < q->n; i++) {
        const lz_spec *s = q->operands[i];
        if (s->ndim && (lz_dtype)s->dtype != common && common != LZ_DTYPE_NONE && !q->chooses[i]) {
            LZ_TRY(like_spec(s, &strides[i]));
            continue;
        }
        strides[i].n = s->ndim;
        for (int64_t d = 0; d < s->ndim; d++)
            strides[i].v[d] = s->strides[d];
    }
    return NULL;
}

/* All operands have the sizes of the result and lie alike, without gaps. */
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
        lz_err_free(lz_strides_format(q->sizes, row_major ? LZ_CONTIGUOUS : LZ_CHANNELS_LAST, out));
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

/* ---- indexing, which is iterated over, too ---- */

/* Dimensions of self that have an index; of those without one, and of what the indices broadcast to. */
typedef struct indexed {
    bool is_indexed[LZ_MAX_DIMS];
    int64_t first, n; /* dimensions of the result that indices make, from the first */
} indexed;

/* A mask is an index for each of its dimensions, with one dimension. */
static bool find_indexed(const question *q, const lz_spec *self, indexed *x)
{
    const lz_slot *list = &q->call->slots[1];
    int64_t d = 0, last = -1;
    bool together = true;
    *x = (indexed){ .first = -1 };
    for (uint32_t k = 0; k < list->n; k++) {
        const lz_spec *s = q->in[list->first + k];
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
    return list->kind == LZ_ARG_TENSORS && last >= 0;
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
    const lz_slot *list = &q->call->slots[1];
    if (q->n == 0 || !find_indexed(q, q->operands[0], &x) || x.first + x.n > q->sizes.n
        || !without_indexed(q->operands[0], &x, q->sizes, &wide[0]))
        return contiguous(q, out);
    for (uint32_t k = 0; k < list->n && n < MOST; k++) {
        const lz_spec *s = q->in[list->first + k];
        if (s && s->ndim <= x.n && (lz_dtype)s->dtype != LZ_BOOL && (lz_dtype)s->dtype != LZ_U8)
            along_indexed(s, &x, q->sizes, &wide[n++]);
    }
    for (size_t i = 0; i < n; i++)
        views[i] = lz_shape_ints(&wide[i]);
    return lz_strides_iterated(q->sizes, views, n, out);
}

/* A number has no dimensions: the operands never have equal sizes. */
static lz_err *operands_and_number(const question *q, lz_shape *out)
{
    lz_shape strides[MOST];
    LZ_TRY(iterated(q, strides));
    return q->sizes.n == 0 ? contiguous(q, out) : by_order(q, strides, out);
}

/* Where the argument was broadcast, all operands decide. */
static lz_err *like(const question *q, lz_shape *out)
{
    question all = { .call = q->call, .in = q->in, .dtype = q->dtype, .sizes = q->sizes };
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

/* What is only cut off is copied as it lies. */
static lz_err *pad(const question *q, lz_shape *out)
{
    lz_value by = fixed_arg(q->call, "pad");
    bool adds = by.kind != LZ_KIND_INTS;
    for (int64_t i = 0; !adds && i < by.ints.n; i++)
        adds = by.ints.v[i] > 0;
    return adds ? format(q, out) : copied(q, out);
}

static lz_err *dim_outer(const question *q, lz_shape *out)
{
    lz_value asked = fixed_arg(q->call, "dim");
    LZ_TRY(contiguous(q, out));
    if (asked.kind != LZ_KIND_INT || q->sizes.n < 2)
        return NULL;
    int64_t dim = asked.integer < 0 ? asked.integer + q->sizes.n : asked.integer, run = 1;
    for (int64_t d = q->sizes.n; d-- > 0;)
        if (d != dim) {
            out->v[d] = run;
            run *= q->sizes.v[d] ? q->sizes.v[d] : 1;
        }
    out->v[dim] = run;
    return NULL;
}

/* By lz_stride_rule; NULL: row-major, and so are copies of views. */
static fresh_fn *const rules[LZ_STRIDE_RULE_COUNT] = {
    [LZ_STRIDES_operands] = operands,
    [LZ_STRIDES_operands_and_number] = operands_and_number,
    [LZ_STRIDES_like] = like,
    [LZ_STRIDES_format] = format,
    [LZ_STRIDES_common_format] = common_format,
    [LZ_STRIDES_any_format] = any_format,
    [LZ_STRIDES_same] = like, /* to.dtype: a copy keeps the order */
    [LZ_STRIDES_order] = order,
    [LZ_STRIDES_index] = indexing,
    [LZ_STRIDES_rot90] = rot90,
    [LZ_STRIDES_first_inner] = first_inner,
    [LZ_STRIDES_transposed] = transposed,
    [LZ_STRIDES_pad] = pad,
    [LZ_STRIDES_dim_outer] = dim_outer,
    [LZ_STRIDES_row_major] = row_major,
};

lz_err *lz_layout_fresh(const lz_call *c, const lz_spec *const *in, lz_dtype d, lz_ints sizes, lz_shape *out)
{
    fresh_fn *rule = rules[lz_layout_of(c->op)->strides];
    lz_value asked = fixed_arg(c, "memory_format");
    question q = { .call = c, .in = in, .dtype = d, .sizes = sizes };
    if (asked.kind == LZ_KIND_MEMORY_FORMAT && asked.memory_format != LZ_PRESERVE)
        return lz_strides_format(sizes, asked.memory_format, out);
    if (!rule)
        return contiguous(&q, out);
    find_operands(&q);
    return rule(&q, out);
}
