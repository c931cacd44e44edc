/* Builder of lowered graphs: scalar operations, casts, random words, checks. */
#include "lower/lower_impl.h"
#include <assert.h>
#include <string.h>

/* ---- scalar operations ---- */

static lz_dtype bits_of(lz_dtype d)
{
    return d == LZ_F32 ? LZ_I32 : d == LZ_I32 ? LZ_F32 : d == LZ_F64 ? LZ_I64 : LZ_F64;
}

static bool takes(lz_kop op, const lz_ln *n)
{
    lz_ktype t = lz_ktype_of((lz_dtype)n->dtype);
    return t < LZ_KTYPES && lz_kop_types(op) >> t & 1;
}

static lz_err *check_inputs(lz_kop op, const lz_ln *const *in)
{
    int n = lz_kop_operands(op), first = lz_kop_result(op) == LZ_KR_LAST; /* a select's condition is bool */
    assert(n >= 1 && n <= 3);
    if (first && in[0]->dtype != LZ_BOOL)
        return lz_errf(LZ_ERR_INTERNAL, "%s of a condition that is not bool", lz_kop_text(op));
    for (int i = 0; i < n; i++) {
        if (i >= first && in[i]->dtype != in[first]->dtype)
            return lz_errf(LZ_ERR_INTERNAL, "%s of different dtypes", lz_kop_text(op));
        if (i >= first && !takes(op, in[i]))
            return lz_errf(LZ_ERR_UNSUPPORTED, "\"%s\" is not implemented for %s", lz_kop_text(op),
                           lz_dtype_get((lz_dtype)in[i]->dtype)->script);
        if (!lz_shape_eq(lz_ln_sizes(in[i]), lz_ln_sizes(in[0])))
            return lz_errf(LZ_ERR_INTERNAL, "%s of different sizes", lz_kop_text(op));
    }
    return NULL;
}

static lz_dtype result_dtype(lz_kop op, lz_dtype d)
{
    lz_kresult r = lz_kop_result(op);
    return r == LZ_KR_BOOL ? LZ_BOOL : r == LZ_KR_BITS ? bits_of(d) : d;
}

lz_err *lz_low_make_map(lz_lower *b, lz_kop op, const lz_ln *const *in, bool number, const lz_ln **out)
{
    size_t n = (size_t)lz_kop_operands(op);
    LZ_TRY(check_inputs(op, in));
    return lz_low_intern(b,
                         &(lz_low_proto){ .kind = LZ_L_MAP,
                                          .dtype = result_dtype(op, (lz_dtype)in[n - 1]->dtype),
                                          .number = number,
                                          .op = (uint16_t)op,
                                          .nin = n,
                                          .in = in,
                                          .sizes = lz_ln_sizes(in[0]) },
                         out);
}

lz_err *lz_low_map(lz_lower *b, lz_kop op, const lz_ln *const *in, const lz_ln **out)
{
    return lz_low_make_map(b, op, in, false, out);
}

/* ---- casts ---- */

/* Digits that integers need and floats have, sign included. */
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

/* Every number of `from` is one of `to`. */
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

lz_err *lz_low_make_cast(lz_lower *b, const lz_ln *x, lz_dtype to, bool number, const lz_ln **out)
{
    if (!lz_dtype_get(to)->computable)
        return lz_errf(LZ_ERR_UNSUPPORTED, "%s is not supported yet", lz_dtype_get(to)->name);
    if (!b->shape_only) {
        while (x->kind == LZ_L_CAST && holds((lz_dtype)x->dtype, (lz_dtype)x->in[0]->dtype))
            x = x->in[0];
        if (x->kind == LZ_L_CONST) {
            char room[16];
            lz_element_set(to, *(const lz_scalar *)x->attr, room);
            return lz_low_make_const(b, lz_element_get(to, room), to, number, x->op != 0, out);
        }
    }
    if (x->dtype == (int8_t)to && x->number == number) {
        *out = x;
        return NULL;
    }
    return lz_low_intern(
        b,
        &(lz_low_proto){
            .kind = LZ_L_CAST, .dtype = to, .number = number, .nin = 1, .in = &x, .sizes = lz_ln_sizes(x) },
        out);
}

lz_err *lz_low_cast(lz_lower *b, const lz_ln *x, lz_dtype to, const lz_ln **out)
{
    return lz_low_make_cast(b, x, to, false, out);
}

/* ---- random words, index checks ---- */

lz_err *lz_low_philox(lz_lower *b, int word, const lz_ln *seed, const lz_ln *stream, const lz_ln *index,
                      const lz_ln **out)
{
    const lz_ln *in[3] = { b->stream, stream, index };
    if (b->stream)
        LZ_TRY(lz_low_map(b, LZ_K_ADD, in, &stream));
    LZ_TRY(lz_low_expand(b, seed, lz_ln_sizes(index), &in[0]));
    LZ_TRY(lz_low_expand(b, stream, lz_ln_sizes(index), &in[1]));
    return lz_low_intern(b,
                         &(lz_low_proto){ .kind = LZ_L_PHILOX,
                                          .dtype = LZ_I64,
                                          .op = (uint16_t)word,
                                          .nin = 3,
                                          .in = in,
                                          .sizes = lz_ln_sizes(index) },
                         out);
}

/* Input dimensions have their own dimension of the result each, all of it, or one step. */
static bool shows_all(const lz_ln *n)
{
    const lz_ln *x = n->in[0];
    const lz_lindex *a = n->attr;
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

/* Its elements are those of its input, each at least once. */
static bool is_spread(const lz_ln *n)
{
    bool views = n->numel > 0 && n->nin == 1; /* where only sizes are wanted, there are no inputs */
    return views && (n->kind == LZ_L_RESHAPE || (n->kind == LZ_L_INDEX && shows_all(n)));
}

lz_err *lz_low_new_check(lz_lower *b, lz_str rule, lz_lcheck **out)
{
    *out = lz_arena_zalloc(b->arena, sizeof **out + rule.len + 1);
    if (!*out)
        return lz_err_oom();
    memcpy((*out)->rule, rule.ptr, rule.len);
    return NULL;
}

static lz_err *check_elements(lz_lower *b, const lz_ln *index, const lz_lcheck *attr, const lz_ln **out)
{
    LZ_TRY(lz_low_cast(b, index, LZ_I64, &index));
    return lz_low_intern(b,
                         &(lz_low_proto){ .kind = LZ_L_CHECK,
                                          .dtype = LZ_I64,
                                          .nin = 1,
                                          .in = &index,
                                          .sizes = lz_ln_sizes(index),
                                          .attr = attr,
                                          .attr_size = sizeof *attr + strlen(attr->rule) + 1 },
                         out);
}

enum { DEEP = 8 }; /* views on top of each other that are looked through */

/* The views above an index, from the outermost on, and what is below them. */
static int strip_views(const lz_ln **index, const lz_ln *views[DEEP])
{
    int n = 0;
    while (n < DEEP && is_spread(*index)) {
        views[n++] = *index;
        *index = (*index)->in[0];
    }
    return n;
}

/* The same views of another node. */
static lz_err *put_views(lz_lower *b, const lz_ln *const *views, int n, const lz_ln **x)
{
    while (n-- > 0) {
        const lz_lindex *a = views[n]->attr;
        lz_ints sizes = lz_ln_sizes(views[n]);
        LZ_TRY(views[n]->kind == LZ_L_RESHAPE
                   ? lz_low_reshape(b, *x, sizes, x)
                   : lz_low_index(b, *x, sizes, a->v + (*x)->ndim, a->v, 0, NULL, x));
    }
    return NULL;
}

/* The view of x that n is, with one step of each dimension along which n stands still. */
static lz_err *once(lz_lower *b, const lz_ln *n, const lz_ln **out)
{
    const lz_lindex *a = n->attr;
    bool plain = n->kind == LZ_L_INDEX && n->nin == 1 && !a->bounded && n->numel > 0;
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

/* An index that many elements share is checked once, and stays a view. */
lz_err *lz_low_check_index(lz_lower *b, const lz_ln *index, int64_t size, int64_t dim, bool wrap,
                           const lz_ln **out)
{
    const lz_ln *views[DEEP], *few;
    lz_lcheck *attr;
    if (size == 0 && index->numel) /* the result may have no elements, and then nothing would run the check */
        return lz_errf(LZ_ERR_ARG, "index is out of bounds for dimension %lld with size 0", (long long)dim);
    int n = strip_views(&index, views);
    LZ_TRY(once(b, index, &few));
    LZ_TRY(lz_low_new_check(b, LZ_STR(""), &attr));
    attr->size = size;
    attr->dim = dim;
    attr->wrap = wrap;
    LZ_TRY(check_elements(b, few, attr, out));
    if (few->ndim == index->ndim)
        LZ_TRY(lz_low_expand(b, *out, lz_ln_sizes(index), out));
    return put_views(b, views, n, out);
}

/* An element that breaks the rule is 1, and the only index into a dimension of one element is 0. */
lz_err *lz_low_check_rule(lz_lower *b, const lz_ln *condition, lz_str rule, const lz_ln *x, const lz_ln **out)
{
    const lz_ln *broken, *zero, *kept, *in[3];
    lz_lcheck *attr;
    LZ_TRY(lz_low_map(b, LZ_K_NOT, &condition, &broken));
    LZ_TRY(lz_low_new_check(b, rule, &attr));
    attr->size = 1;
    LZ_TRY(check_elements(b, broken, attr, &in[0]));
    LZ_TRY(lz_low_const(b, lz_scalar_int(0), LZ_I64, &zero));
    LZ_TRY(lz_low_expand(b, zero, lz_ln_sizes(x), &in[1]));
    LZ_TRY(lz_low_map(b, LZ_K_EQ, in, &kept));
    LZ_TRY(lz_low_const(b, lz_scalar_int(0), (lz_dtype)x->dtype, &zero));
    LZ_TRY(lz_low_expand(b, zero, lz_ln_sizes(x), &in[2]));
    in[0] = kept;
    in[1] = x;
    return lz_low_map(b, LZ_K_SELECT, in, out); /* what is computed of x waits for the check */
}

lz_err *lz_low_unchecked(lz_lower *b, const lz_ln *index, const lz_ln **out, const lz_lcheck **check)
{
    const lz_ln *views[DEEP];
    int n = strip_views(&index, views);
    *check = index->kind == LZ_L_CHECK && index->nin == 1 ? index->attr : NULL;
    if (*check && (*check)->rule[0])
        *check = NULL;
    *out = *check ? index->in[0] : index;
    return put_views(b, views, n, out);
}
