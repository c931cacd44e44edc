#include "lazy/view_strides.h"
#include "op/op_table.h"

typedef struct viewing {
    const lz_call *c;
    const lz_spec *self;
    lz_ints sizes; /* of the result */
    lz_shape *out;
} viewing;

typedef bool strides_fn(const viewing *v);

/* ---- arguments ---- */

static lz_value arg(const viewing *v, uint32_t i)
{
    const lz_slot *s = &v->c->slots[i];
    return s->kind == LZ_ARG_VALUE ? lz_unpack(v->c->words.data, s->first) : lz_value_none();
}

static int64_t wrap(int64_t dim, int64_t n)
{
    return dim < 0 ? dim + (n ? n : 1) : dim;
}

static int64_t dim_arg(const viewing *v, uint32_t i)
{
    return wrap(arg(v, i).integer, v->self->ndim);
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

static bool slice(const viewing *v)
{
    copy_self(v);
    if (v->self->ndim)
        v->out->v[dim_arg(v, 1)] *= arg(v, 4).integer;
    return true;
}

static bool expand(const viewing *v)
{
    lz_shape ignored;
    lz_err *e =
        lz_strides_expand(lz_spec_sizes(v->self), lz_spec_strides(v->self), v->sizes, &ignored, v->out);
    lz_err_free(e);
    return !e;
}

/* ---- fewer, more ---- */

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
    int64_t n = v->self->ndim, dim = arg(v, 1).integer;
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
    lz_ints dims = arg(v, 1).ints;
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
        v->out->v[dim] *= arg(v, 3).integer;
    insert_dim(v->out, n, n ? v->self->strides[dim] : 1);
    return true;
}

static bool diagonal(const viewing *v)
{
    int64_t a = dim_arg(v, 2), b = dim_arg(v, 3);
    copy_self(v);
    remove_dim(v->out, a > b ? a : b);
    remove_dim(v->out, a > b ? b : a);
    insert_dim(v->out, v->out->n, v->self->strides[a] + v->self->strides[b]);
    return true;
}

/* ---- another order ---- */

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
    lz_ints dims = arg(v, 1).ints;
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

/* Those that are named go where they should, the others fill up in their order. */
static bool movedims(const viewing *v)
{
    lz_ints from = arg(v, 1).ints, to = arg(v, 2).ints;
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

/* The strides of a flatten that does nothing are those it had. */
static bool flatten(const viewing *v)
{
    return lz_shape_eq(lz_spec_sizes(v->self), v->sizes) ? same(v) : view(v);
}

/* ---- which ---- */

typedef struct rule {
    uint16_t op;
    strides_fn *fn;
} rule;

static const rule rules[] = {
    { LZ_OP_positive, same },
    { LZ_OP_alias, same },
    { LZ_OP_detach, same },
    { LZ_OP_lift_fresh, same },
    { LZ_OP_contiguous, same },
    { LZ_OP_to_dtype, same },
    { LZ_OP_to_other, same },
    { LZ_OP_to_device, same },
    { LZ_OP_to_dtype_layout, same },
    { LZ_OP_narrow, same },
    { LZ_OP_split_Tensor, same },
    { LZ_OP_split_with_sizes, same },
    { LZ_OP_split_sizes, same },
    { LZ_OP_chunk, same },
    { LZ_OP_slice_Tensor, slice },
    { LZ_OP_expand, expand },
    { LZ_OP_expand_as, expand },
    { LZ_OP_broadcast_to, expand },
    { LZ_OP_select_int, select },
    { LZ_OP_unbind_int, select },
    { LZ_OP_unsqueeze, unsqueeze },
    { LZ_OP_squeeze, squeeze },
    { LZ_OP_squeeze_dim, squeeze_dim },
    { LZ_OP_squeeze_dims, squeeze_dims },
    { LZ_OP_unfold, unfold },
    { LZ_OP_diagonal, diagonal },
    { LZ_OP_transpose_int, transpose },
    { LZ_OP_swapaxes, transpose },
    { LZ_OP_swapdims, transpose },
    { LZ_OP_t, swap_last },
    { LZ_OP_mT, swap_last },
    { LZ_OP_adjoint, swap_last },
    { LZ_OP_numpy_T, reverse },
    { LZ_OP_permute, permute },
    { LZ_OP_movedim_int, movedim },
    { LZ_OP_moveaxis_int, movedim },
    { LZ_OP_movedim_intlist, movedims },
    { LZ_OP_moveaxis_intlist, movedims },
    { LZ_OP_view, view },
    { LZ_OP_view_as, view },
    { LZ_OP_reshape, view },
    { LZ_OP_unflatten_int, view },
    { LZ_OP_ravel, view },
    { LZ_OP_flatten_using_ints, flatten },
};

bool lz_view_strides(const lz_call *c, const lz_spec *self, lz_ints sizes, lz_shape *out)
{
    viewing v = { c, self, sizes, out };
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (c->op == &lz_op_table[rules[i].op])
            return rules[i].fn(&v) && out->n == sizes.n;
    return false;
}

/* ---- where nothing begins ---- */

static int64_t clamp(int64_t x, int64_t most)
{
    return x < 0 ? 0 : x > most ? most : x;
}

bool lz_view_offset(const lz_call *c, const lz_spec *self, int64_t *out)
{
    viewing v = { .c = c, .self = self };
    bool cuts = c->op == &lz_op_table[LZ_OP_slice_Tensor] || c->op == &lz_op_table[LZ_OP_narrow]
                || c->op == &lz_op_table[LZ_OP_select_int];
    if (!cuts || self->ndim == 0)
        return false;
    int64_t dim = dim_arg(&v, 1), n = self->sizes[dim];
    lz_value start = arg(&v, 2);
    int64_t from = start.kind == LZ_KIND_INT ? start.integer : 0;
    *out = clamp(from < 0 ? from + n : from, n) * self->strides[dim];
    return true;
}
