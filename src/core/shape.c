#include "core/shape.h"
#include "base/number.h"
#include <assert.h>
#include <string.h>

const char *lz_shape_print(lz_ints sizes, char buf[LZ_SHAPE_CHARS])
{
    char *p = buf;
    *p++ = '[';
    for (int64_t i = 0; i < sizes.n && i < LZ_MAX_DIMS; i++) {
        p = i ? mempcpy(p, ", ", 2) : p;
        p += lz_int64_print(sizes.v[i], p);
    }
    if (sizes.n > LZ_MAX_DIMS)
        p = mempcpy(p, ", ...", 5);
    *p++ = ']';
    *p = 0;
    return buf;
}

bool lz_shape_eq(lz_ints a, lz_ints b)
{
    bool eq = a.n == b.n;
    for (int64_t i = 0; eq && i < a.n; i++)
        eq = a.v[i] == b.v[i];
    return eq;
}

static lz_err *too_many(int64_t n)
{
    return lz_errf(LZ_ERR_LIMIT, "%lld dimensions; there can be at most %d", (long long)n, LZ_MAX_DIMS);
}

lz_err *lz_shape_check(lz_ints sizes)
{
    char text[LZ_SHAPE_CHARS];
    if (sizes.n > LZ_MAX_DIMS)
        return too_many(sizes.n);
    for (int64_t i = 0; i < sizes.n; i++)
        if (sizes.v[i] < 0)
            return lz_errf(LZ_ERR_ARG, "Trying to create tensor with negative dimension %lld: %s",
                           (long long)sizes.v[i], lz_shape_print(sizes, text));
    return NULL;
}

lz_err *lz_shape_copy(lz_ints sizes, lz_shape *out)
{
    if (sizes.n > LZ_MAX_DIMS)
        return too_many(sizes.n);
    out->n = sizes.n < 0 ? 0 : sizes.n;
    for (int64_t i = 0; i < out->n; i++)
        out->v[i] = sizes.v[i];
    return NULL;
}

/* False on overflow. */
static bool product(lz_ints sizes, int64_t *out)
{
    bool fits = true, zero = false;
    int64_t n = 1;
    for (int64_t i = 0; i < sizes.n; i++) {
        zero = zero || sizes.v[i] == 0;
        fits = fits && !__builtin_mul_overflow(n, sizes.v[i], &n);
    }
    *out = zero ? 0 : n;
    return zero || fits;
}

lz_err *lz_shape_numel(lz_ints sizes, int64_t *out)
{
    char text[LZ_SHAPE_CHARS];
    LZ_TRY(lz_shape_check(sizes));
    if (product(sizes, out))
        return NULL;
    return lz_errf(LZ_ERR_LIMIT, "numel: integer multiplication overflow with sizes %s",
                   lz_shape_print(sizes, text));
}

lz_err *lz_shape_bytes(lz_ints sizes, size_t element, size_t *out)
{
    char text[LZ_SHAPE_CHARS];
    int64_t numel;
    LZ_TRY(lz_shape_numel(sizes, &numel));
    if (!__builtin_mul_overflow((size_t)numel, element, out) && *out <= PTRDIFF_MAX)
        return NULL;
    return lz_errf(LZ_ERR_LIMIT, "Storage size calculation overflowed with sizes=%s",
                   lz_shape_print(sizes, text));
}

/* Size of dimension d of a shape aligned at the last of `rank` dimensions. */
static int64_t size_at(lz_ints sizes, int64_t rank, int64_t d)
{
    int64_t i = d - (rank - sizes.n);
    return i < 0 ? 1 : sizes.v[i];
}

static lz_err *mismatch(const lz_ints *shapes, size_t n, size_t a, size_t b, int64_t rank, int64_t d)
{
    char ta[LZ_SHAPE_CHARS], tb[LZ_SHAPE_CHARS];
    long long sa = size_at(shapes[a], rank, d), sb = size_at(shapes[b], rank, d);
    lz_shape_print(shapes[a], ta);
    lz_shape_print(shapes[b], tb);
    if (n == 2)
        return lz_err_because(
            LZ_REASON_SHAPE,
            "The size of tensor a (%lld) must match the size of tensor b (%lld) at non-singleton "
            "dimension %lld: shapes %s and %s",
            sa, sb, (long long)d, ta, tb);
    return lz_err_because(
        LZ_REASON_SHAPE,
        "The size of tensor %zu (%lld) must match the size of tensor %zu (%lld) at non-singleton "
        "dimension %lld: shapes %s and %s",
        a, sa, b, sb, (long long)d, ta, tb);
}

static lz_err *broadcast_dim(const lz_ints *shapes, size_t n, int64_t d, lz_shape *out)
{
    size_t first = n; /* the first shape whose size is not 1 */
    out->v[d] = 1;
    for (size_t i = 0; i < n; i++) {
        int64_t size = size_at(shapes[i], out->n, d);
        if (size == 1 || size == out->v[d])
            continue;
        if (first < n)
            return mismatch(shapes, n, first, i, out->n, d);
        first = i;
        out->v[d] = size;
    }
    return NULL;
}

lz_err *lz_shape_broadcast(const lz_ints *shapes, size_t n, lz_shape *out)
{
    out->n = 0;
    for (size_t i = 0; i < n; i++) {
        LZ_TRY(lz_shape_check(shapes[i]));
        out->n = shapes[i].n > out->n ? shapes[i].n : out->n;
    }
    for (int64_t d = out->n - 1; d >= 0; d--)
        LZ_TRY(broadcast_dim(shapes, n, d, out));
    return NULL;
}

lz_err *lz_wrap_dim(int64_t dim, int64_t rank, int64_t *out)
{
    int64_t n = rank > 0 ? rank : 1;
    if (dim < -n || dim >= n)
        return lz_err_because(
            LZ_REASON_INDEX, "Dimension out of range (expected to be in range of [%lld, %lld], but got %lld)",
            (long long)-n, (long long)n - 1, (long long)dim);
    *out = dim < 0 ? dim + n : dim;
    return NULL;
}

lz_err *lz_wrap_dims(lz_ints dims, int64_t rank, uint64_t *out)
{
    *out = 0;
    if (rank > LZ_MAX_DIMS)
        return too_many(rank);
    for (int64_t i = 0; i < dims.n; i++) {
        int64_t d = 0;
        LZ_TRY(lz_wrap_dim(dims.v[i], rank, &d));
        if (*out >> d & 1)
            return lz_errf(LZ_ERR_ARG, "dim %lld appears multiple times in the list of dims", (long long)d);
        *out |= UINT64_C(1) << d;
    }
    return NULL;
}

/* *out: the index of the only -1, or -1. */
static lz_err *find_open(lz_ints asked, int64_t *out)
{
    *out = -1;
    if (asked.n > LZ_MAX_DIMS)
        return too_many(asked.n);
    for (int64_t i = 0; i < asked.n; i++) {
        if (asked.v[i] < -1)
            return lz_errf(LZ_ERR_ARG, "invalid shape dimension %lld", (long long)asked.v[i]);
        if (asked.v[i] == -1 && *out >= 0)
            return lz_errf(LZ_ERR_ARG, "only one dimension can be inferred");
        *out = asked.v[i] == -1 ? i : *out;
    }
    return NULL;
}

lz_err *lz_shape_infer(lz_ints asked, int64_t numel, lz_shape *out)
{
    char text[LZ_SHAPE_CHARS];
    int64_t open, rest;
    LZ_TRY(find_open(asked, &open));
    LZ_TRY(lz_shape_copy(asked, out));
    if (open >= 0)
        out->v[open] = 1;
    bool fits = product(lz_shape_ints(out), &rest);
    if (fits && open >= 0 && rest == 0 && numel == 0)
        return lz_errf(
            LZ_ERR_ARG,
            "cannot reshape tensor of 0 elements into shape %s because the unspecified dimension size "
            "-1 can be any value and is ambiguous",
            lz_shape_print(asked, text));
    if (!fits || (open < 0 ? rest != numel : rest == 0 || numel % rest != 0))
        return lz_err_because(LZ_REASON_SHAPE, "shape '%s' is invalid for input of size %lld",
                              lz_shape_print(asked, text), (long long)numel);
    if (open >= 0)
        out->v[open] = numel / rest;
    return NULL;
}

void lz_shape_reduce(lz_ints sizes, uint64_t dims, bool keep, lz_shape *out)
{
    assert(sizes.n <= LZ_MAX_DIMS);
    int64_t n = 0;
    for (int64_t d = 0; d < sizes.n; d++) {
        bool gone = dims >> d & 1;
        if (!gone || keep)
            out->v[n++] = gone ? 1 : sizes.v[d];
    }
    out->n = n;
}
