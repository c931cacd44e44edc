/* Builder of lowered graphs: scalar operations, casts, random words, checks. */
#include "lower/lower_impl.h"
#include <assert.h>
#include <string.h>

/* ---- scalar operations ---- */

static lz_dtype bits_of(lz_dtype d)
{
    return d == LZ_F32 ? LZ_I32 : d == LZ_I32 ? LZ_F32 : d == LZ_F64 ? LZ_I64 : LZ_F64;
}

static bool takes(lz_kernel_op op, const lz_low_node *n)
{
    lz_kernel_type t = lz_kernel_type_of((lz_dtype)n->dtype);
    return t < LZ_KERNEL_TYPES && lz_kernel_op_types(op) >> t & 1;
}

static lz_err *check_inputs(lz_kernel_op op, const lz_low_node *const *in)
{
    int n = lz_kernel_op_operands(op),
        first = lz_kernel_op_result(op) == LZ_KERNEL_REDUCE_LAST; /* a select's condition is bool */
    assert(n >= 1 && n <= 3);
    if (first && in[0]->dtype != LZ_BOOL)
        return lz_errf(LZ_ERR_INTERNAL, "%s of a condition that is not bool", lz_kernel_op_text(op));
    for (int i = 0; i < n; i++) {
        if (i >= first && in[i]->dtype != in[first]->dtype)
            return lz_errf(LZ_ERR_INTERNAL, "%s of different dtypes", lz_kernel_op_text(op));
        if (i >= first && !takes(op, in[i]))
            return lz_errf(LZ_ERR_UNSUPPORTED, "\"%s\" is not implemented for %s", lz_kernel_op_text(op),
                           lz_dtype_get((lz_dtype)in[i]->dtype)->script);
        if (!lz_shape_eq(lz_low_node_sizes(in[i]), lz_low_node_sizes(in[0])))
            return lz_errf(LZ_ERR_INTERNAL, "%s of different sizes", lz_kernel_op_text(op));
    }
    return NULL;
}

static lz_dtype result_dtype(lz_kernel_op op, lz_dtype d)
{
    lz_kernel_result r = lz_kernel_op_result(op);
    return r == LZ_KERNEL_REDUCE_BOOL ? LZ_BOOL : r == LZ_KERNEL_REDUCE_BITS ? bits_of(d) : d;
}

/* ---- index arithmetic: sums, differences and multiples of indices are indices ---- */

typedef struct linear {
    int64_t offset, strides[LZ_MAX_DIMS];
} linear;

/* An index, or a known number for all elements, as a linear function of the index. */
static bool is_linear(const lz_low_node *n, linear *out)
{
    *out = (linear){ 0 };
    if (n->kind == LZ_LOW_IOTA) {
        const lz_low_iota_attr *a = n->attr;
        out->offset = a->offset;
        memcpy(out->strides, a->strides, (size_t)n->ndim * sizeof *a->strides);
        return true;
    }
    while (n->kind == LZ_LOW_INDEX && n->nin == 1)
        n = n->in[0];
    const lz_scalar *v = n->kind == LZ_LOW_CONST && !n->op ? n->attr : NULL;
    out->offset = v ? v->i : 0;
    return v && v->kind == LZ_SCALAR_INT;
}

static uint64_t combine(lz_kernel_op op, int64_t x, int64_t y)
{
    uint64_t a = (uint64_t)x, b = (uint64_t)y;
    return op == LZ_KERNEL_ADD ? a + b : op == LZ_KERNEL_SUB ? a - b : a * b;
}

/* x op y as an index, where both are indices, or one is and the other a number. *out NULL: it is none. */
static lz_err *index_map(lz_lower *b, lz_kernel_op op, const lz_low_node *const *in, const lz_low_node **out)
{
    linear x, y;
    bool product = op == LZ_KERNEL_MUL;
    *out = NULL;
    if (!product && op != LZ_KERNEL_ADD && op != LZ_KERNEL_SUB)
        return NULL;
    int indices = (in[0]->kind == LZ_LOW_IOTA) + (in[1]->kind == LZ_LOW_IOTA);
    if (!indices || (product && indices == 2) || !is_linear(in[0], &x) || !is_linear(in[1], &y))
        return NULL;
    const linear *number = in[0]->kind == LZ_LOW_IOTA ? &y : &x, *index = number == &x ? &y : &x;
    for (int64_t d = 0; d < in[0]->ndim; d++)
        x.strides[d] = (int64_t)(product ? combine(op, index->strides[d], number->offset)
                                         : combine(op, x.strides[d], y.strides[d]));
    int64_t offset = (int64_t)combine(op, x.offset, y.offset);
    return lz_low_iota(b, lz_low_node_sizes(in[0]), offset, (lz_ints){ x.strides, in[0]->ndim }, out);
}

lz_err *lz_low_make_map(lz_lower *b, lz_kernel_op op, const lz_low_node *const *in, bool number,
                        const lz_low_node **out)
{
    size_t n = (size_t)lz_kernel_op_operands(op);
    LZ_TRY(check_inputs(op, in));
    if (!number && !b->shape_only) {
        LZ_TRY(index_map(b, op, in, out));
        if (*out)
            return NULL;
    }
    return lz_low_intern(b,
                         &(lz_low_proto){ .kind = LZ_LOW_MAP,
                                          .dtype = result_dtype(op, (lz_dtype)in[n - 1]->dtype),
                                          .number = number,
                                          .op = (uint16_t)op,
                                          .nin = n,
                                          .in = in,
                                          .sizes = lz_low_node_sizes(in[0]) },
                         out);
}

lz_err *lz_low_map(lz_lower *b, lz_kernel_op op, const lz_low_node *const *in, const lz_low_node **out)
{
    return lz_low_make_map(b, op, in, false, out);
}

/* ---- casts ---- */

/* Binary digits, with sign, that integers of the dtype need and floats of the dtype have. */
static int digits(lz_dtype d)
{
    static const struct {
        lz_dtype dtype;
        int digits;
    } table[] = { { LZ_BOOL, 1 }, { LZ_U8, 9 },   { LZ_I8, 8 },   { LZ_I16, 16 }, { LZ_I32, 32 },
                  { LZ_I64, 64 }, { LZ_BF16, 9 }, { LZ_F16, 12 }, { LZ_F32, 25 }, { LZ_F64, 54 } };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (table[i].dtype == d)
            return table[i].digits;
    return 0;
}

/* Whether `to` represents every number of `from` exactly. */
static bool holds(lz_dtype to, lz_dtype from)
{
    bool real = lz_dtype_is_float(to), whole = lz_dtype_is_whole(from);
    if (to == LZ_BOOL || lz_dtype_is_complex(to) || lz_dtype_is_complex(from))
        return false;
    if (from == LZ_BOOL)
        return true;
    if (!real && (!whole || to == LZ_U8)) /* u8 holds no negative number */
        return false;
    return (from != LZ_F16 || to != LZ_BF16) && digits(to) >= digits(from);
}

lz_err *lz_low_make_cast(lz_lower *b, const lz_low_node *x, lz_dtype to, bool number, const lz_low_node **out)
{
    if (!lz_dtype_get(to)->computable)
        return lz_errf(LZ_ERR_UNSUPPORTED, "%s is not supported yet", lz_dtype_get(to)->name);
    if (!b->shape_only) {
        while (x->kind == LZ_LOW_CAST && holds((lz_dtype)x->dtype, (lz_dtype)x->in[0]->dtype))
            x = x->in[0];
        if (x->kind == LZ_LOW_CONST) {
            char room[16];
            lz_element_set(to, *(const lz_scalar *)x->attr, room);
            return lz_low_make_const(b, lz_element_get(to, room), to, number, x->op != 0, out);
        }
    }
    if (x->dtype == (int8_t)to && x->number == number) {
        *out = x;
        return NULL;
    }
    return lz_low_intern(b,
                         &(lz_low_proto){ .kind = LZ_LOW_CAST,
                                          .dtype = to,
                                          .number = number,
                                          .nin = 1,
                                          .in = &x,
                                          .sizes = lz_low_node_sizes(x) },
                         out);
}

lz_err *lz_low_cast(lz_lower *b, const lz_low_node *x, lz_dtype to, const lz_low_node **out)
{
    return lz_low_make_cast(b, x, to, false, out);
}

/* ---- random words, index checks ---- */

lz_err *lz_low_philox(lz_lower *b, int word, const lz_low_node *seed, const lz_low_node *stream,
                      const lz_low_node *index, const lz_low_node **out)
{
    const lz_low_node *in[3] = { b->stream, stream, index };
    if (b->stream)
        LZ_TRY(lz_low_map(b, LZ_KERNEL_ADD, in, &stream));
    LZ_TRY(lz_low_expand(b, seed, lz_low_node_sizes(index), &in[0]));
    LZ_TRY(lz_low_expand(b, stream, lz_low_node_sizes(index), &in[1]));
    return lz_low_intern(b,
                         &(lz_low_proto){ .kind = LZ_LOW_PHILOX,
                                          .dtype = LZ_I64,
                                          .op = (uint16_t)word,
                                          .nin = 3,
                                          .in = in,
                                          .sizes = lz_low_node_sizes(index) },
                         out);
}

/* Whether each input dimension is a whole dimension of the result, or has size 1. */
static bool shows_all(const lz_low_node *n)
{
    const lz_low_node *x = n->in[0];
    const lz_low_index_attr *a = n->attr;
    uint64_t used = 0;
    for (int64_t r = 0; r < x->ndim; r++) {
        const int64_t *row = a->v + x->ndim + r * n->ndim;
        bool found = x->sizes[r] == 1;
        for (int64_t c = 0; c < n->ndim && !found; c++) {
            found = row[c] == 1 && n->sizes[c] == x->sizes[r] && !a->v[r] && !(used >> c & 1);
            used |= (uint64_t)found << c;
        }
        if (!found)
            return false;
    }
    return !a->bounded;
}

/* Whether n is a view in which every element of its input occurs at least once. */
static bool is_spread(const lz_low_node *n)
{
    bool views = n->numel > 0 && n->nin == 1; /* a builder for shapes makes nodes without inputs */
    return views && (n->kind == LZ_LOW_RESHAPE || (n->kind == LZ_LOW_INDEX && shows_all(n)));
}

lz_err *lz_low_new_check(lz_lower *b, lz_str rule, lz_low_check_attr **out)
{
    *out = lz_arena_zalloc(b->arena, sizeof **out + rule.len + 1);
    if (!*out)
        return lz_err_oom();
    memcpy((*out)->rule, rule.ptr, rule.len);
    return NULL;
}

static lz_err *check_elements(lz_lower *b, const lz_low_node *index, const lz_low_check_attr *attr,
                              const lz_low_node **out)
{
    LZ_TRY(lz_low_cast(b, index, LZ_I64, &index));
    return lz_low_intern(b,
                         &(lz_low_proto){ .kind = LZ_LOW_CHECK,
                                          .dtype = LZ_I64,
                                          .nin = 1,
                                          .in = &index,
                                          .sizes = lz_low_node_sizes(index),
                                          .attr = attr,
                                          .attr_size = sizeof *attr + strlen(attr->rule) + 1 },
                         out);
}

enum { DEEP = 8 }; /* most views that are removed */

/* Removes the views above an index. *index: the node below; views: outermost first. */
static int strip_views(const lz_low_node **index, const lz_low_node *views[DEEP])
{
    int n = 0;
    while (n < DEEP && is_spread(*index)) {
        views[n++] = *index;
        *index = (*index)->in[0];
    }
    return n;
}

/* Applies the views of one node to another node. */
static lz_err *put_views(lz_lower *b, const lz_low_node *const *views, int n, const lz_low_node **x)
{
    while (n-- > 0) {
        const lz_low_index_attr *a = views[n]->attr;
        lz_ints sizes = lz_low_node_sizes(views[n]);
        LZ_TRY(views[n]->kind == LZ_LOW_RESHAPE
                   ? lz_low_reshape(b, *x, sizes, x)
                   : lz_low_index(b, *x, sizes, a->v + (*x)->ndim, a->v, 0, NULL, x));
    }
    return NULL;
}

/* A view of n with size 1 in each dimension along which n repeats its elements. */
static lz_err *once(lz_lower *b, const lz_low_node *n, const lz_low_node **out)
{
    const lz_low_index_attr *a = n->attr;
    bool plain = n->kind == LZ_LOW_INDEX && n->nin == 1 && !a->bounded && n->numel > 0;
    lz_shape sizes = { .n = n->ndim };
    for (int64_t c = 0; c < n->ndim; c++) {
        bool still = plain;
        for (int64_t r = 0; still && r < n->in[0]->ndim; r++)
            still = a->v[n->in[0]->ndim + r * n->ndim + c] == 0;
        sizes.v[c] = still ? 1 : n->sizes[c];
    }
    *out = n;
    if (!plain)
        return NULL;
    return lz_low_index(b, n->in[0], lz_shape_ints(&sizes), a->v + n->in[0]->ndim, a->v, 0, NULL, out);
}

/* Checks each element of the index once: the check goes below the views. */
lz_err *lz_low_check_index(lz_lower *b, const lz_low_node *index, int64_t size, int64_t dim, bool wrap,
                           const lz_low_node **out)
{
    const lz_low_node *views[DEEP], *few;
    lz_low_check_attr *attr;
    if (size == 0 && index->numel) /* the result may have no elements; then no launch would run the check */
        return lz_err_because(LZ_REASON_INDEX, "index is out of bounds for dimension %lld with size 0",
                              (long long)dim);
    int n = strip_views(&index, views);
    LZ_TRY(once(b, index, &few));
    LZ_TRY(lz_low_new_check(b, LZ_STR(""), &attr));
    attr->size = size;
    attr->dim = dim;
    attr->wrap = wrap;
    LZ_TRY(check_elements(b, few, attr, out));
    if (few->ndim == index->ndim)
        LZ_TRY(lz_low_expand(b, *out, lz_low_node_sizes(index), out));
    return put_views(b, views, n, out);
}

/* A broken rule gives 1, and a check for size 1 accepts only the index 0. */
lz_err *lz_low_check_rule(lz_lower *b, const lz_low_node *condition, lz_str rule, const lz_low_node *x,
                          const lz_low_node **out)
{
    const lz_low_node *broken, *zero, *kept, *in[3];
    lz_low_check_attr *attr;
    LZ_TRY(lz_low_map(b, LZ_KERNEL_NOT, &condition, &broken));
    LZ_TRY(lz_low_new_check(b, rule, &attr));
    attr->size = 1;
    LZ_TRY(check_elements(b, broken, attr, &in[0]));
    LZ_TRY(lz_low_const(b, lz_scalar_int(0), LZ_I64, &zero));
    LZ_TRY(lz_low_expand(b, zero, lz_low_node_sizes(x), &in[1]));
    LZ_TRY(lz_low_map(b, LZ_KERNEL_EQ, in, &kept));
    LZ_TRY(lz_low_const(b, lz_scalar_int(0), (lz_dtype)x->dtype, &zero));
    LZ_TRY(lz_low_expand(b, zero, lz_low_node_sizes(x), &in[2]));
    in[0] = kept;
    in[1] = x;
    return lz_low_map(b, LZ_KERNEL_SELECT, in,
                      out); /* a select, so that what is computed from x depends on the check */
}

lz_err *lz_low_unchecked(lz_lower *b, const lz_low_node *index, const lz_low_node **out,
                         const lz_low_check_attr **check)
{
    const lz_low_node *views[DEEP];
    int n = strip_views(&index, views);
    *check = index->kind == LZ_LOW_CHECK && index->nin == 1 ? index->attr : NULL;
    if (*check && (*check)->rule[0])
        *check = NULL;
    *out = *check ? index->in[0] : index;
    return put_views(b, views, n, out);
}
