#include "lower/view_strides.h"
#include "lower/layout.h"

typedef struct viewing {
    const lz_op_call *c;
    const lz_spec *self;
    lz_ints sizes; /* of the result */
    lz_shape *out;
} viewing;

typedef bool strides_fn(const viewing *v);

/* ---- arguments ---- */

static int64_t int_arg(const viewing *v, uint32_t i, int64_t otherwise)
{
    const lz_low_value *a = &v->c->args[i];
    return a->kind == LZ_LOW_VALUE_NUMBER && !a->node ? a->number.i : otherwise;
}

static lz_shape ints_arg(const viewing *v, uint32_t i)
{
    lz_shape out;
    if (!lz_low_value_known_ints(&v->c->args[i], &out))
        out.n = 0;
    return out;
}

static int64_t wrap(int64_t dim, int64_t n)
{
    return dim < 0 ? dim + (n ? n : 1) : dim;
}

static int64_t dim_arg(const viewing *v, uint32_t i)
{
    return wrap(int_arg(v, i, 0), v->self->ndim);
}

static void copy_self(const viewing *v)
{
    v->out->n = v->self->ndim;
    for (int64_t d = 0; d < v->self->ndim; d++)
        v->out->v[d] = v->self->strides[d];
}

static void remove_dim(lz_shape *s, int64_t dim)
{
    s->n--;
    for (int64_t d = dim; d < s->n; d++)
        s->v[d] = s->v[d + 1];
}

static void insert_dim(lz_shape *s, int64_t dim, int64_t stride)
{
    for (int64_t d = s->n++; d > dim; d--)
        s->v[d] = s->v[d - 1];
    s->v[dim] = stride;
}

static bool move_dim(lz_shape *s, int64_t from, int64_t to)
{
    int64_t stride = s->v[from];
    remove_dim(s, from);
    insert_dim(s, to, stride);
    return true;
}

/* ---- the same dimensions ---- */

static bool same(const viewing *v)
{
    copy_self(v);
    return true;
}

static void multiply(int64_t *stride, int64_t step)
{
    *stride = lz_stride_times(*stride, step);
}

static bool slice(const viewing *v)
{
    copy_self(v);
    if (v->self->ndim)
        multiply(&v->out->v[dim_arg(v, 1)], int_arg(v, 4, 1));
    return true;
}

static bool expand(const viewing *v)
{
    lz_shape ignored;
    lz_err *e =
        lz_strides_expand(lz_spec_sizes(v->self), lz_spec_strides(v->self), v->sizes, &ignored, v->out);
    lz_err_drop(e); /* LZ_ERR_ARG: sizes that do not broadcast */
    return !e;
}

/* ---- dimensions removed and added ---- */

static bool drop(const viewing *v, uint32_t i)
{
    copy_self(v);
    remove_dim(v->out, dim_arg(v, i));
    return true;
}

static bool select(const viewing *v)
{
    return drop(v, 1);
}

static bool unsqueeze(const viewing *v)
{
    int64_t n = v->self->ndim, dim = int_arg(v, 1, 0);
    dim = dim < 0 ? dim + n + 1 : dim;
    copy_self(v);
    insert_dim(v->out, dim, dim >= n ? 1 : v->self->sizes[dim] * v->self->strides[dim]);
    return true;
}

static bool squeeze_those(const viewing *v, uint64_t dims)
{
    v->out->n = 0;
    for (int64_t d = 0; d < v->self->ndim; d++)
        if (v->self->sizes[d] != 1 || !(dims >> d & 1))
            v->out->v[v->out->n++] = v->self->strides[d];
    return true;
}

static bool squeeze(const viewing *v)
{
    return squeeze_those(v, UINT64_MAX);
}

static bool squeeze_dim(const viewing *v)
{
    return squeeze_those(v, UINT64_C(1) << dim_arg(v, 1));
}

static bool squeeze_dims(const viewing *v)
{
    lz_shape dims = ints_arg(v, 1);
    uint64_t set = 0;
    for (int64_t i = 0; i < dims.n; i++)
        set |= UINT64_C(1) << wrap(dims.v[i], v->self->ndim);
    return squeeze_those(v, set);
}

static bool unfold(const viewing *v)
{
    int64_t n = v->self->ndim, dim = dim_arg(v, 1);
    copy_self(v);
    if (n)
        multiply(&v->out->v[dim], int_arg(v, 3, 1));
    insert_dim(v->out, n, n ? v->self->strides[dim] : 1);
    return true;
}

static bool diagonal(const viewing *v)
{
    int64_t a = dim_arg(v, 2), b = dim_arg(v, 3);
    copy_self(v);
    remove_dim(v->out, a > b ? a : b);
    remove_dim(v->out, a > b ? b : a);
    insert_dim(v->out, v->out->n, lz_stride_plus(v->self->strides[a], v->self->strides[b]));
    return true;
}

/* ---- dimensions in another order ---- */

static bool swap(const viewing *v, int64_t a, int64_t b)
{
    copy_self(v);
    if (v->self->ndim) {
        v->out->v[a] = v->self->strides[b];
        v->out->v[b] = v->self->strides[a];
    }
    return true;
}

static bool transpose(const viewing *v)
{
    return swap(v, dim_arg(v, 1), dim_arg(v, 2));
}

static bool swap_last(const viewing *v)
{
    int64_t n = v->self->ndim;
    return n < 2 ? same(v) : swap(v, n - 2, n - 1);
}

static bool reverse(const viewing *v)
{
    int64_t n = v->self->ndim;
    v->out->n = n;
    for (int64_t d = 0; d < n; d++)
        v->out->v[d] = v->self->strides[n - 1 - d];
    return true;
}

static bool permute(const viewing *v)
{
    lz_shape dims = ints_arg(v, 1);
    v->out->n = dims.n;
    for (int64_t d = 0; d < dims.n; d++)
        v->out->v[d] = v->self->strides[wrap(dims.v[d], v->self->ndim)];
    return true;
}

static bool movedim(const viewing *v)
{
    copy_self(v);
    return v->self->ndim == 0 || move_dim(v->out, dim_arg(v, 1), dim_arg(v, 2));
}

/* The named dimensions move to their targets. The others fill the gaps in order. */
static bool movedims(const viewing *v)
{
    lz_shape from = ints_arg(v, 1), to = ints_arg(v, 2);
    int64_t n = v->self->ndim, source[LZ_MAX_DIMS], next = 0;
    uint64_t moved = 0;
    for (int64_t d = 0; d < n; d++)
        source[d] = -1;
    for (int64_t i = 0; i < from.n && n; i++) {
        source[wrap(to.v[i], n)] = wrap(from.v[i], n);
        moved |= UINT64_C(1) << wrap(from.v[i], n);
    }
    v->out->n = n;
    for (int64_t d = 0; d < n; d++) {
        while (source[d] < 0 && moved >> next & 1)
            next++;
        v->out->v[d] = v->self->strides[source[d] < 0 ? next++ : source[d]];
    }
    return true;
}

/* ---- other sizes ---- */

static bool view(const viewing *v)
{
    return lz_strides_view(lz_spec_sizes(v->self), lz_spec_strides(v->self), v->sizes, v->out);
}

/* A flatten that changes nothing keeps the strides. */
static bool flatten(const viewing *v)
{
    return lz_shape_eq(lz_spec_sizes(v->self), v->sizes) ? same(v) : view(v);
}

/* ---- rules by operator ---- */

/* By lz_stride_rule; NULL: the rule is not for views. */
static strides_fn *const rules[LZ_STRIDE_RULE_COUNT] = {
    [LZ_STRIDES_same] = same,
    [LZ_STRIDES_parts] = same,
    [LZ_STRIDES_slice] = slice,
    [LZ_STRIDES_narrow] = same,
    [LZ_STRIDES_expand] = expand,
    [LZ_STRIDES_select] = select,
    [LZ_STRIDES_unsqueeze] = unsqueeze,
    [LZ_STRIDES_squeeze] = squeeze,
    [LZ_STRIDES_squeeze_dim] = squeeze_dim,
    [LZ_STRIDES_squeeze_dims] = squeeze_dims,
    [LZ_STRIDES_unfold] = unfold,
    [LZ_STRIDES_diagonal] = diagonal,
    [LZ_STRIDES_transpose] = transpose,
    [LZ_STRIDES_swap_last] = swap_last,
    [LZ_STRIDES_reverse] = reverse,
    [LZ_STRIDES_permute] = permute,
    [LZ_STRIDES_movedim] = movedim,
    [LZ_STRIDES_movedims] = movedims,
    [LZ_STRIDES_view] = view,
    [LZ_STRIDES_flatten] = flatten,
};

bool lz_view_strides(const lz_op_call *c, const lz_spec *self, lz_ints sizes, lz_shape *out)
{
    viewing v = { c, self, sizes, out };
    strides_fn *fn = rules[lz_layout_of(c->op)->strides];
    return fn && fn(&v) && out->n == sizes.n;
}

/* ---- offsets of views without elements ---- */

static int64_t clamp(int64_t x, int64_t most)
{
    return x < 0 ? 0 : x > most ? most : x;
}

bool lz_view_offset(const lz_op_call *c, const lz_spec *self, int64_t *out)
{
    viewing v = { .c = c, .self = self };
    int rule = lz_layout_of(c->op)->strides;
    bool cuts = rule == LZ_STRIDES_slice || rule == LZ_STRIDES_narrow || rule == LZ_STRIDES_select;
    if (!cuts || self->ndim == 0 || c->op->nargs < 3)
        return false;
    int64_t dim = dim_arg(&v, 1), n = self->sizes[dim];
    int64_t from = int_arg(&v, 2, 0);
    *out = clamp(from < 0 ? from + n : from, n) * self->strides[dim];
    return true;
}
