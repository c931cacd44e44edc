/* Builder of lowered graphs: index maps and reshapes. */
#include "core/strides.h"
#include "lower/lower_impl.h"
#include <string.h>

/* An affine map from the indices of a result to those of x. Rows are dimensions of x. */
typedef struct map {
    int64_t rows, cols;
    int64_t *v; /* offset[rows], then [rows][cols]: as in lz_low_index_attr */
} map;

static size_t map_bytes(const map *m)
{
    return sizeof(lz_low_index_attr) + (size_t)(m->rows * (m->cols + 1)) * sizeof *m->v;
}

/* A zeroed lz_low_index_attr. */
static lz_err *map_new(lz_lower *b, int64_t rows, int64_t cols, lz_low_index_attr **attr, map *out)
{
    *out = (map){ rows, cols, NULL };
    *attr = lz_arena_zalloc(b->arena, map_bytes(out));
    if (!*attr)
        return lz_err_oom();
    out->v = (*attr)->v;
    return NULL;
}

static int64_t *cell(const map *m, int64_t row, int64_t col)
{
    return &m->v[m->rows + row * m->cols + col];
}

static map map_of(const lz_low_node *n)
{
    lz_low_index_attr *attr = (lz_low_index_attr *)n->attr;
    return (map){ n->in[0]->ndim, n->ndim, attr->v };
}

static bool is_identity(const map *m, lz_ints from, lz_ints to)
{
    bool same = lz_shape_eq(from, to);
    for (int64_t r = 0; same && r < m->rows; r++) {
        same = m->v[r] == 0;
        for (int64_t c = 0; same && c < m->cols; c++)
            same = to.v[c] == 1 || *cell(m, r, c) == (r == c);
    }
    return same;
}

/* Clears the columns of dimensions of size 1, which have no effect, so that equal maps are equal bytes. */
static void tidy(const map *m, lz_ints sizes)
{
    for (int64_t c = 0; c < m->cols; c++)
        for (int64_t r = 0; sizes.v[c] == 1 && r < m->rows; r++)
            *cell(m, r, c) = 0;
}

static int64_t wrap_add(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a + (uint64_t)b);
}

static int64_t wrap_mul(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a * (uint64_t)b);
}

/* *attr: the map of x followed by the map `outer`. */
static lz_err *compose(lz_lower *b, const lz_low_node *x, const map *outer, lz_low_index_attr **attr,
                       map *out)
{
    map inner = map_of(x);
    LZ_TRY(map_new(b, inner.rows, outer->cols, attr, out));
    (*attr)->bounded = ((const lz_low_index_attr *)x->attr)->bounded;
    for (int64_t r = 0; r < inner.rows; r++) {
        out->v[r] = inner.v[r];
        for (int64_t k = 0; k < inner.cols; k++) {
            int64_t f = *cell(&inner, r, k);
            out->v[r] = wrap_add(out->v[r], wrap_mul(f, outer->v[k]));
            for (int64_t c = 0; f && c < outer->cols; c++)
                *cell(out, r, c) = wrap_add(*cell(out, r, c), wrap_mul(f, *cell(outer, k, c)));
        }
    }
    return NULL;
}

/* An index map of IOTA is an IOTA. */
static lz_err *index_iota(lz_lower *b, const lz_low_node *x, const map *m, lz_ints sizes,
                          const lz_low_node **out)
{
    const lz_low_iota_attr *iota = x->attr;
    int64_t offset = iota->offset, strides[LZ_MAX_DIMS] = { 0 };
    for (int64_t r = 0; r < m->rows; r++) {
        offset = wrap_add(offset, wrap_mul(iota->strides[r], m->v[r]));
        for (int64_t c = 0; c < m->cols; c++)
            strides[c] = wrap_add(strides[c], wrap_mul(iota->strides[r], *cell(m, r, c)));
    }
    return lz_low_iota(b, sizes, offset, (lz_ints){ strides, sizes.n }, out);
}

static lz_err *make_index(lz_lower *b, const lz_low_node *x, lz_ints sizes, lz_low_index_attr *attr, map m,
                          const lz_low_node *fill, const lz_low_node **out)
{
    tidy(&m, sizes);
    while (!attr->bounded && !is_identity(&m, lz_low_node_sizes(x), sizes) && !b->shape_only
           && x->kind == LZ_LOW_INDEX) {
        map outer = m;
        LZ_TRY(compose(b, x, &outer, &attr, &m));
        tidy(&m, sizes);
        fill = x->nin > 1 ? x->in[1] : NULL;
        x = x->in[0];
    }
    if (!attr->bounded && is_identity(&m, lz_low_node_sizes(x), sizes)) {
        *out = x;
        return NULL;
    }
    if (!attr->bounded && !b->shape_only && x->kind == LZ_LOW_IOTA)
        return index_iota(b, x, &m, sizes, out);
    const lz_low_node *in[2] = { x, fill };
    return lz_low_intern(b,
                         &(lz_low_proto){ .kind = LZ_LOW_INDEX,
                                          .dtype = (lz_dtype)x->dtype,
                                          .nin = attr->bounded ? 2 : 1,
                                          .in = in,
                                          .sizes = sizes,
                                          .attr = attr,
                                          .attr_size = map_bytes(&m) },
                         out);
}

lz_err *lz_low_index(lz_lower *b, const lz_low_node *x, lz_ints sizes, const int64_t *table,
                     const int64_t *offset, uint64_t bounded, const lz_low_node *fill,
                     const lz_low_node **out)
{
    lz_low_index_attr *attr;
    map m;
    LZ_TRY(lz_shape_check(sizes));
    LZ_TRY(map_new(b, x->ndim, sizes.n, &attr, &m));
    attr->bounded = bounded;
    for (int64_t r = 0; r < m.rows; r++) {
        m.v[r] = offset ? offset[r] : 0;
        for (int64_t c = 0; c < m.cols; c++)
            *cell(&m, r, c) = table[r * m.cols + c];
    }
    return make_index(b, x, sizes, attr, m, fill, out);
}

lz_err *lz_low_copy(lz_lower *b, const lz_low_node *x, const lz_low_node **out)
{
    lz_low_index_attr *attr;
    map m;
    LZ_TRY(map_new(b, x->ndim, x->ndim, &attr, &m));
    for (int64_t d = 0; d < x->ndim; d++)
        *cell(&m, d, d) = 1;
    tidy(&m, lz_low_node_sizes(x));
    return lz_low_intern(b,
                         &(lz_low_proto){ .kind = LZ_LOW_INDEX,
                                          .dtype = (lz_dtype)x->dtype,
                                          .nin = 1,
                                          .in = &x,
                                          .sizes = lz_low_node_sizes(x),
                                          .attr = attr,
                                          .attr_size = map_bytes(&m) },
                         out);
}

/* ---- views of whole dimensions: result dimension c runs along x's dimension from[c] ---- */

/* from[c] -1: a new dimension. Dimensions of x that no c names are fixed at `offset`. */
static lz_err *pick(lz_lower *b, const lz_low_node *x, lz_ints sizes, const int64_t *from,
                    const int64_t *steps, const int64_t *offset, const lz_low_node **out)
{
    lz_low_index_attr *attr;
    map m;
    LZ_TRY(lz_shape_check(sizes));
    LZ_TRY(map_new(b, x->ndim, sizes.n, &attr, &m));
    for (int64_t r = 0; offset && r < m.rows; r++)
        m.v[r] = offset[r];
    for (int64_t c = 0; c < m.cols; c++)
        if (from[c] >= 0)
            *cell(&m, from[c], c) = steps ? steps[c] : 1;
    return make_index(b, x, sizes, attr, m, NULL, out);
}

lz_err *lz_low_expand(lz_lower *b, const lz_low_node *x, lz_ints sizes, const lz_low_node **out)
{
    int64_t from[LZ_MAX_DIMS];
    int64_t lead = sizes.n - x->ndim;
    for (int64_t c = 0; c < sizes.n; c++) {
        from[c] = c < lead || (x->sizes[c - lead] == 1 && sizes.v[c] != 1) ? -1 : c - lead;
        if (c >= lead && x->sizes[c - lead] != 1 && x->sizes[c - lead] != sizes.v[c])
            return lz_err_because(
                LZ_REASON_SHAPE,
                "The expanded size of the tensor (%lld) must match the existing size (%lld) at "
                "non-singleton dimension %lld",
                (long long)sizes.v[c], (long long)x->sizes[c - lead], (long long)c);
    }
    if (lead < 0)
        return lz_err_because(LZ_REASON_SHAPE,
                              "the number of sizes provided (%lld) must be greater or equal to the number of "
                              "dimensions in the tensor (%d)",
                              (long long)sizes.n, x->ndim);
    return pick(b, x, sizes, from, NULL, NULL, out);
}

lz_err *lz_low_permute(lz_lower *b, const lz_low_node *x, const int64_t *dims, const lz_low_node **out)
{
    int64_t sizes[LZ_MAX_DIMS];
    for (int64_t c = 0; c < x->ndim; c++)
        sizes[c] = x->sizes[dims[c]];
    return pick(b, x, (lz_ints){ sizes, x->ndim }, dims, NULL, NULL, out);
}

lz_err *lz_low_slice(lz_lower *b, const lz_low_node *x, int64_t dim, int64_t start, int64_t step,
                     int64_t size, const lz_low_node **out)
{
    int64_t from[LZ_MAX_DIMS], steps[LZ_MAX_DIMS], offset[LZ_MAX_DIMS] = { 0 };
    lz_shape sizes = { .n = x->ndim };
    for (int64_t c = 0; c < x->ndim; c++) {
        from[c] = c;
        steps[c] = c == dim ? step : 1;
        sizes.v[c] = c == dim ? size : x->sizes[c];
    }
    offset[dim] = start;
    return pick(b, x, lz_shape_ints(&sizes), from, steps, offset, out);
}

lz_err *lz_low_select(lz_lower *b, const lz_low_node *x, int64_t dim, int64_t index, const lz_low_node **out)
{
    int64_t from[LZ_MAX_DIMS], offset[LZ_MAX_DIMS] = { 0 };
    lz_shape sizes = { .n = x->ndim - 1 };
    for (int64_t c = 0; c < sizes.n; c++) {
        from[c] = c < dim ? c : c + 1;
        sizes.v[c] = x->sizes[from[c]];
    }
    offset[dim] = index;
    return pick(b, x, lz_shape_ints(&sizes), from, NULL, offset, out);
}

lz_err *lz_low_unsqueeze(lz_lower *b, const lz_low_node *x, int64_t dim, const lz_low_node **out)
{
    int64_t from[LZ_MAX_DIMS];
    lz_shape sizes = { .n = x->ndim + 1 };
    if (sizes.n > LZ_MAX_DIMS)
        return lz_errf(LZ_ERR_LIMIT, "a tensor has at most %d dimensions", LZ_MAX_DIMS);
    for (int64_t c = 0; c < sizes.n; c++) {
        from[c] = c < dim ? c : c == dim ? -1 : c - 1;
        sizes.v[c] = c == dim ? 1 : x->sizes[from[c]];
    }
    return pick(b, x, lz_shape_ints(&sizes), from, NULL, NULL, out);
}

lz_err *lz_low_pad(lz_lower *b, const lz_low_node *x, const int64_t *before, lz_ints sizes,
                   const lz_low_node *fill, const lz_low_node **out)
{
    lz_low_index_attr *attr;
    map m;
    LZ_TRY(lz_shape_check(sizes));
    LZ_TRY(map_new(b, x->ndim, sizes.n, &attr, &m));
    for (int64_t d = 0; d < m.rows; d++) {
        m.v[d] = -before[d];
        *cell(&m, d, d) = 1;
        if (before[d] > 0 || sizes.v[d] - before[d] > x->sizes[d])
            attr->bounded |= UINT64_C(1) << d;
    }
    return make_index(b, x, sizes, attr, m, attr->bounded ? fill : NULL, out);
}

/* ---- reshape ---- */

/* True: each dimension of x corresponds to consecutive dimensions of the result, so that its index is
 * affine in their indices. Dimensions of size 1 are ignored. */
static bool splits(lz_ints from, lz_ints to, const map *m)
{
    int64_t c = 0;
    for (int64_t r = 0; r < from.n; r++) {
        int64_t left = from.v[r], first = c;
        if (left == 1)
            continue;
        while (c < to.n && left > 1 && to.v[c] > 0 && left % to.v[c] == 0)
            left /= to.v[c++];
        if (left != 1)
            return false;
        for (int64_t k = c, stride = 1; k-- > first; stride *= to.v[k])
            *cell(m, r, k) = stride;
    }
    while (c < to.n && to.v[c] == 1)
        c++;
    return c == to.n;
}

static bool is_uniform(const lz_low_node *x)
{
    return x->kind == LZ_LOW_INDEX && x->nin == 1 && x->in[0]->ndim == 0;
}

lz_err *lz_low_reshape(lz_lower *b, const lz_low_node *x, lz_ints sizes, const lz_low_node **out)
{
    lz_low_index_attr *attr;
    map m;
    int64_t numel;
    while (!b->shape_only && x->kind == LZ_LOW_RESHAPE)
        x = x->in[0];
    if (lz_shape_eq(lz_low_node_sizes(x), sizes)) {
        *out = x;
        return NULL;
    }
    LZ_TRY(lz_shape_check(sizes));
    LZ_TRY(lz_shape_numel(sizes, &numel));
    if (numel != x->numel)
        return lz_err_because(LZ_REASON_SHAPE, "%lld elements cannot have a shape of %lld",
                              (long long)x->numel, (long long)numel);
    if (!b->shape_only && is_uniform(x))
        return lz_low_expand(b, x->in[0], sizes, out);
    LZ_TRY(map_new(b, x->ndim, sizes.n, &attr, &m));
    if (x->numel > 0 && splits(lz_low_node_sizes(x), sizes, &m))
        return make_index(b, x, sizes, attr, m, NULL, out);
    return lz_low_intern(
        b,
        &(lz_low_proto){
            .kind = LZ_LOW_RESHAPE, .dtype = (lz_dtype)x->dtype, .nin = 1, .in = &x, .sizes = sizes },
        out);
}
