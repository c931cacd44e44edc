#include "core/strides.h"
#include <assert.h>
#include <stdlib.h>

/* The dimensions of channels-last formats, innermost first; n 0: row-major. */
typedef struct order {
    const char *name;
    int n;
    uint8_t dim[5];
} order;

static const order orders[] = {
    [LZ_CONTIGUOUS] = { "contiguous", 0, { 0 } },
    [LZ_PRESERVE] = { "preserve", 0, { 0 } },
    [LZ_CHANNELS_LAST] = { "channels_last", 4, { 1, 3, 2, 0 } },
    [LZ_CHANNELS_LAST_3D] = { "channels_last_3d", 5, { 1, 4, 3, 2, 0 } },
};

static const order *order_of(lz_memory_format format)
{
    return &orders[format == LZ_MEMORY_FORMAT_NONE ? LZ_CONTIGUOUS : format];
}

/* The i-th dimension from the innermost. */
static int64_t inner(const order *o, int64_t rank, int64_t i)
{
    return o->n ? o->dim[i] : rank - 1 - i;
}

/* A size of 0 counts as 1. Beside it other sizes may be so large that a stride would overflow. Such a stride
 * is never walked: it keeps the last value that fits. */
static void fill(lz_ints sizes, const order *o, lz_shape *out)
{
    int64_t stride = 1, next;
    out->n = sizes.n;
    for (int64_t i = 0; i < sizes.n; i++) {
        int64_t d = inner(o, sizes.n, i), size = sizes.v[d] > 0 ? sizes.v[d] : 1;
        out->v[d] = stride;
        stride = __builtin_mul_overflow(stride, size, &next) ? stride : next;
    }
}

lz_err *lz_strides_format(lz_ints sizes, lz_memory_format format, lz_shape *out)
{
    const order *o = order_of(format);
    int64_t numel;
    LZ_TRY(lz_shape_numel(sizes, &numel));
    if (o->n && sizes.n != o->n)
        return lz_errf(LZ_ERR_ARG, "required rank %d tensor to use %s format", o->n, o->name);
    fill(sizes, o, out);
    return NULL;
}

lz_err *lz_strides_contiguous(lz_ints sizes, lz_shape *out)
{
    return lz_strides_format(sizes, LZ_CONTIGUOUS, out);
}

static bool has_zero(lz_ints sizes)
{
    bool zero = false;
    for (int64_t i = 0; i < sizes.n; i++)
        zero = zero || sizes.v[i] == 0;
    return zero;
}

bool lz_strides_are_format(lz_ints sizes, lz_ints strides, lz_memory_format format)
{
    const order *o = order_of(format);
    int64_t expected = 1;
    if (o->n && sizes.n != o->n)
        return false;
    if (has_zero(sizes) && !o->n)
        return true;
    for (int64_t i = 0; i < sizes.n; i++) {
        int64_t d = inner(o, sizes.n, i);
        if (sizes.v[d] == 1)
            continue;
        if (strides.v[d] != expected)
            return false;
        expected *= sizes.v[d];
    }
    return true;
}

bool lz_strides_are_contiguous(lz_ints sizes, lz_ints strides)
{
    assert(sizes.n == strides.n);
    return lz_strides_are_format(sizes, strides, LZ_CONTIGUOUS);
}

typedef struct dim {
    int64_t size;
    uint64_t stride; /* its magnitude */
} dim;

/* The dimensions of size 2 and more, by ascending stride. */
static int64_t sorted_dims(lz_ints sizes, lz_ints strides, dim *out)
{
    int64_t n = 0;
    for (int64_t i = 0; i < sizes.n; i++) {
        uint64_t s = (uint64_t)strides.v[i];
        dim d = { sizes.v[i], strides.v[i] < 0 ? 0 - s : s };
        int64_t at = n;
        if (d.size < 2)
            continue;
        for (; at > 0 && out[at - 1].stride > d.stride; at--)
            out[at] = out[at - 1];
        out[at] = d;
        n++;
    }
    return n;
}

bool lz_strides_are_dense(lz_ints sizes, lz_ints strides)
{
    assert(sizes.n == strides.n);
    dim dims[LZ_MAX_DIMS];
    int64_t n = sorted_dims(sizes, strides, dims);
    uint64_t expected = 1;
    bool dense = true;
    for (int64_t i = 0; dense && i < n; i++) {
        dense = dims[i].stride == expected;
        expected *= (uint64_t)dims[i].size;
    }
    return dense || has_zero(sizes);
}

/* Strides ascend along the order, each at least the span of the previous dimension. If only sizes of 1
 * distinguish channels last from row-major, it is row-major. */
static bool looks_like(lz_ints sizes, lz_ints strides, const order *o)
{
    int64_t least = 0;
    if (sizes.n != o->n || strides.v[1] == 0)
        return false;
    for (int64_t i = 0; i < sizes.n; i++) {
        int64_t d = inner(o, sizes.n, i), span;
        if (sizes.v[d] == 0 || strides.v[d] < least || (d == 0 && least == strides.v[1]))
            return false;
        least = __builtin_mul_overflow(strides.v[d], sizes.v[d], &span) ? INT64_MAX : span;
    }
    return true;
}

lz_memory_format lz_strides_suggest(lz_ints sizes, lz_ints strides)
{
    if (looks_like(sizes, strides, &orders[LZ_CHANNELS_LAST]))
        return LZ_CHANNELS_LAST;
    return looks_like(sizes, strides, &orders[LZ_CHANNELS_LAST_3D]) ? LZ_CHANNELS_LAST_3D : LZ_CONTIGUOUS;
}

/* Above 0: a belongs outside b; 0: no operand decides. */
static int compare_dims(lz_ints sizes, const lz_ints *operands, size_t n, int64_t a, int64_t b)
{
    for (size_t i = 0; i < n; i++) {
        if (!operands[i].v || operands[i].v[a] == 0 || operands[i].v[b] == 0)
            continue;
        if (operands[i].v[a] != operands[i].v[b])
            return operands[i].v[a] < operands[i].v[b] ? -1 : 1;
        if (sizes.v[a] > sizes.v[b])
            return 1;
    }
    return 0;
}

/* Insertion sort that skips dimensions that cannot be compared; perm is innermost first. */
static void sort_dims(lz_ints sizes, const lz_ints *operands, size_t n, int64_t *perm)
{
    for (int64_t i = 0; i < sizes.n; i++)
        perm[i] = sizes.n - 1 - i;
    for (int64_t i = 1; i < sizes.n; i++) {
        int64_t at = i;
        int found = 1;
        for (int64_t j = i - 1; j >= 0 && found >= 0; j--) {
            found = compare_dims(sizes, operands, n, perm[j], perm[at]);
            if (found > 0) {
                int64_t t = perm[j];
                perm[j] = perm[at];
                perm[at] = t;
                at = j;
            }
        }
    }
}

lz_err *lz_strides_iterated(lz_ints sizes, const lz_ints *operands, size_t n, lz_shape *out)
{
    int64_t perm[LZ_MAX_DIMS], numel, stride = 1;
    bool row_major = true;
    LZ_TRY(lz_shape_numel(sizes, &numel));
    sort_dims(sizes, operands, n, perm);
    for (int64_t i = 0; i < sizes.n; i++)
        row_major = row_major && perm[i] == sizes.n - 1 - i;
    if (row_major || numel)
        return lz_strides_like(sizes, operands, n, out);
    out->n = sizes.n;
    for (int64_t i = 0; i < sizes.n; i++) {
        out->v[perm[i]] = stride;
        stride *= sizes.v[perm[i]];
    }
    return NULL;
}

lz_err *lz_strides_like(lz_ints sizes, const lz_ints *operands, size_t n, lz_shape *out)
{
    int64_t perm[LZ_MAX_DIMS], permuted[LZ_MAX_DIMS];
    lz_shape packed;
    LZ_TRY(lz_shape_check(sizes));
    sort_dims(sizes, operands, n, perm);
    for (int64_t i = 0; i < sizes.n; i++)
        permuted[sizes.n - 1 - i] = sizes.v[perm[i]];
    LZ_TRY(lz_strides_contiguous((lz_ints){ permuted, sizes.n }, &packed));
    for (int64_t i = 0; i < sizes.n; i++)
        out->v[perm[i]] = packed.v[sizes.n - 1 - i];
    out->n = sizes.n;
    return NULL;
}

/* Can the dimension and those inside it be walked as one? */
static bool joins(int64_t size, int64_t stride, int64_t chunk, int64_t base)
{
    int64_t span;
    return size == 1 || (!__builtin_mul_overflow(chunk, base, &span) && stride == span);
}

/* Gives strides to view dimensions from *v outwards until they hold `chunk` elements. */
static bool cover(lz_ints view, int64_t *v, int64_t chunk, int64_t base, lz_shape *out)
{
    int64_t count = 1;
    for (; *v >= 0 && (count < chunk || view.v[*v] == 1); (*v)--) {
        out->v[*v] = count * base;
        count *= view.v[*v];
    }
    return count == chunk;
}

static void view_of_nothing(lz_ints sizes, lz_ints strides, lz_ints view, lz_shape *out)
{
    bool same = lz_shape_eq(sizes, view);
    if (!same)
        fill(view, &orders[LZ_CONTIGUOUS], out);
    for (int64_t i = 0; same && i < sizes.n; i++)
        out->v[i] = strides.v[i];
}

bool lz_strides_view(lz_ints sizes, lz_ints strides, lz_ints view, lz_shape *out)
{
    assert(sizes.n == strides.n);
    int64_t v = view.n - 1;
    out->n = view.n;
    if (has_zero(sizes)) {
        view_of_nothing(sizes, strides, view, out);
        return true;
    }
    for (int64_t d = sizes.n - 1; d >= 0; d--) {
        int64_t base = strides.v[d], chunk = sizes.v[d];
        while (d > 0 && joins(sizes.v[d - 1], strides.v[d - 1], chunk, base))
            chunk *= sizes.v[--d];
        if (!cover(view, &v, chunk, base, out))
            return false;
    }
    for (; v >= 0; v--)
        out->v[v] = 1; /* a single element without dimensions */
    return true;
}

static lz_err *check_expand(lz_ints sizes, lz_ints target)
{
    char from[LZ_SHAPE_CHARS], to[LZ_SHAPE_CHARS];
    LZ_TRY(lz_shape_check(sizes));
    if (target.n > LZ_MAX_DIMS)
        return lz_shape_check(target);
    if (target.n < sizes.n)
        return lz_err_because(
            LZ_REASON_SHAPE,
            "expand: the number of sizes provided (%lld) must be greater or equal to the number of "
            "dimensions in the tensor (%lld): sizes %s of tensor %s",
            (long long)target.n, (long long)sizes.n, lz_shape_print(target, to), lz_shape_print(sizes, from));
    return NULL;
}

static lz_err *expand_dim(lz_ints sizes, lz_ints target, int64_t d, int64_t *out)
{
    char from[LZ_SHAPE_CHARS], to[LZ_SHAPE_CHARS];
    int64_t own = d - (target.n - sizes.n), asked = target.v[d], size = own < 0 ? 1 : sizes.v[own];
    if (own < 0 && asked < 0)
        return lz_errf(LZ_ERR_ARG,
                       "The expanded size of the tensor (%lld) isn't allowed in a leading, non-existing "
                       "dimension %lld",
                       (long long)asked, (long long)d);
    *out = asked == -1 ? size : asked;
    if (*out >= 0 && (*out == size || size == 1))
        return NULL;
    return lz_err_because(
        LZ_REASON_SHAPE,
        "The expanded size of the tensor (%lld) must match the existing size (%lld) at non-singleton "
        "dimension %lld.  Target sizes: %s.  Tensor sizes: %s",
        (long long)asked, (long long)size, (long long)d, lz_shape_print(target, to),
        lz_shape_print(sizes, from));
}

lz_err *lz_strides_expand(lz_ints sizes, lz_ints strides, lz_ints target, lz_shape *out_sizes,
                          lz_shape *out_strides)
{
    int64_t more = target.n - sizes.n;
    LZ_TRY(check_expand(sizes, target));
    out_sizes->n = out_strides->n = target.n;
    for (int64_t d = target.n - 1; d >= 0; d--) {
        int64_t size;
        LZ_TRY(expand_dim(sizes, target, d, &size));
        /* A new dimension of size 1 gets the stride of PyTorch's unsqueeze, except for a tensor without
         * dimensions. */
        int64_t next = d + 1 < target.n ? out_sizes->v[d + 1] * out_strides->v[d + 1] : 1;
        int64_t had = d >= more ? sizes.v[d - more] : 1;
        out_strides->v[d] = had != size || sizes.n == 0 ? 0 : d >= more ? strides.v[d - more] : next;
        out_sizes->v[d] = size;
    }
    return NULL;
}

static bool mergeable(const int64_t *sizes, int64_t *const *strides, size_t operands, int64_t outer,
                      int64_t d)
{
    bool merge = true;
    for (size_t i = 0; merge && i < operands; i++)
        merge = joins(sizes[outer], strides[i][outer], sizes[d], strides[i][d]);
    return merge;
}

int64_t lz_dims_collapse(int64_t rank, int64_t *sizes, int64_t *const *strides, size_t operands)
{
    assert(rank >= 0 && rank <= LZ_MAX_DIMS);
    int64_t n = 0;
    if (has_zero((lz_ints){ sizes, rank })) {
        sizes[0] = 0;
        return 1;
    }
    for (int64_t d = 0; d < rank; d++) {
        if (sizes[d] == 1)
            continue;
        bool merge = n > 0 && mergeable(sizes, strides, operands, n - 1, d);
        int64_t to = merge ? n - 1 : n++;
        sizes[to] = merge ? sizes[to] * sizes[d] : sizes[d];
        for (size_t i = 0; i < operands; i++)
            strides[i][to] = strides[i][d];
    }
    return n;
}

/* False on overflow. */
static bool extent(lz_ints sizes, lz_ints strides, int64_t offset, int64_t *low, int64_t *high)
{
    *low = *high = offset;
    for (int64_t i = 0; i < sizes.n; i++) {
        int64_t reach, *end = strides.v[i] < 0 ? low : high;
        if (__builtin_mul_overflow(sizes.v[i] - 1, strides.v[i], &reach)
            || __builtin_add_overflow(*end, reach, end))
            return false;
    }
    return true;
}

/* Walks add a stride once for each index, even for the only index of a size of 1, and count bytes. This
 * checks that the total fits. */
static bool walkable(lz_ints sizes, lz_ints strides)
{
    enum { LARGEST_ELEMENT = 16 };
    int64_t span, sum = 1;
    bool ok = true;
    for (int64_t i = 0; ok && i < sizes.n; i++)
        ok = strides.v[i] > INT64_MIN && !__builtin_mul_overflow(llabs(strides.v[i]), sizes.v[i], &span)
             && !__builtin_add_overflow(sum, span, &sum);
    return ok && !__builtin_mul_overflow(sum, LARGEST_ELEMENT, &sum);
}

static lz_err *overflowed(lz_ints sizes, lz_ints strides)
{
    char a[LZ_SHAPE_CHARS], b[LZ_SHAPE_CHARS];
    return lz_errf(LZ_ERR_LIMIT, "Storage size calculation overflowed with sizes=%s and strides=%s",
                   lz_shape_print(sizes, a), lz_shape_print(strides, b));
}

lz_err *lz_strides_extent(lz_ints sizes, lz_ints strides, int64_t offset, int64_t *low, int64_t *high)
{
    bool fits = extent(sizes, strides, offset, low, high) && walkable(sizes, strides);
    return fits ? NULL : overflowed(sizes, strides);
}

lz_err *lz_strides_check(lz_ints sizes, lz_ints strides, int64_t offset, size_t element, size_t bytes)
{
    char a[LZ_SHAPE_CHARS], b[LZ_SHAPE_CHARS];
    int64_t low = 0, high = 0, numel, need;
    if (sizes.n != strides.n)
        return lz_errf(LZ_ERR_ARG, "mismatch in length of strides and shape: %s and %s",
                       lz_shape_print(strides, b), lz_shape_print(sizes, a));
    LZ_TRY(lz_shape_numel(sizes, &numel));
    if (offset < 0)
        return lz_errf(LZ_ERR_ARG, "Tensor: invalid storage offset %lld", (long long)offset);
    if (numel == 0)
        return NULL;
    if (!extent(sizes, strides, offset, &low, &high))
        return overflowed(sizes, strides);
    if (low < 0)
        return lz_err_because(
            LZ_REASON_STORAGE,
            "sizes %s, strides %s and storage offset %lld reach %llu elements before the storage",
            lz_shape_print(sizes, a), lz_shape_print(strides, b), (long long)offset,
            0 - (unsigned long long)low);
    bool fits =
        !__builtin_add_overflow(high, 1, &need) && !__builtin_mul_overflow(need, (int64_t)element, &need);
    if (fits && (uint64_t)need <= bytes)
        return walkable(sizes, strides) ? NULL : overflowed(sizes, strides);
    need = fits ? need : INT64_MAX;
    return lz_err_because(
        LZ_REASON_STORAGE,
        "setStorage: sizes %s, strides %s, storage offset %lld, and itemsize %zu requiring a storage "
        "size of %lld are out of bounds for storage of size %zu",
        lz_shape_print(sizes, a), lz_shape_print(strides, b), (long long)offset, element, (long long)need,
        bytes);
}

static uint64_t gcd(uint64_t a, uint64_t b)
{
    while (b) {
        uint64_t t = a % b;
        a = b;
        b = t;
    }
    return a;
}

/* True if no stride can be reached by all smaller strides together. */
static bool nested(const dim *dims, int64_t n)
{
    uint64_t reach = 0, span;
    bool ok = true;
    for (int64_t i = 0; ok && i < n; i++) {
        ok = dims[i].stride > reach;
        if (__builtin_mul_overflow((uint64_t)dims[i].size - 1, dims[i].stride, &span)
            || __builtin_add_overflow(reach, span, &reach))
            reach = UINT64_MAX;
    }
    return ok;
}

/* Do multiples of both strides meet within the sizes? */
static bool meet(dim a, dim b)
{
    uint64_t g = gcd(a.stride, b.stride);
    return b.stride / g < (uint64_t)a.size && a.stride / g < (uint64_t)b.size;
}

lz_overlap lz_strides_overlap(lz_ints sizes, lz_ints strides)
{
    assert(sizes.n == strides.n);
    dim dims[LZ_MAX_DIMS];
    int64_t n = sorted_dims(sizes, strides, dims);
    if (has_zero(sizes) || nested(dims, n))
        return LZ_OVERLAP_NO;
    if (dims[0].stride == 0)
        return LZ_OVERLAP_YES;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < i; j++)
            if (meet(dims[i], dims[j]))
                return LZ_OVERLAP_YES;
    return n > 2 ? LZ_OVERLAP_MAYBE : LZ_OVERLAP_NO;
}

static bool same_walk(const lz_extent *a, const lz_extent *b)
{
    bool same = a->offset == b->offset && lz_shape_eq(a->sizes, b->sizes);
    for (int64_t i = 0; same && i < a->sizes.n; i++)
        same = a->sizes.v[i] == 1 || a->strides.v[i] == b->strides.v[i];
    return same;
}

/* A common divisor of all distances between two elements. */
static uint64_t pitch(const lz_extent *x, uint64_t g)
{
    dim dims[LZ_MAX_DIMS];
    int64_t n = sorted_dims(x->sizes, x->strides, dims);
    for (int64_t i = 0; i < n; i++)
        g = gcd(g, dims[i].stride);
    return g;
}

lz_sharing lz_strides_share(const lz_extent *a, const lz_extent *b)
{
    int64_t alow, ahigh, blow, bhigh;
    if (has_zero(a->sizes) || has_zero(b->sizes))
        return LZ_SHARE_NOTHING;
    if (!extent(a->sizes, a->strides, a->offset, &alow, &ahigh)
        || !extent(b->sizes, b->strides, b->offset, &blow, &bhigh))
        return LZ_SHARE_MAYBE;
    if (ahigh < blow || bhigh < alow)
        return LZ_SHARE_NOTHING;
    if (same_walk(a, b))
        return LZ_SHARE_ALL;
    uint64_t g = pitch(a, pitch(b, 0)),
             apart = (uint64_t)(a->offset > b->offset ? a->offset - b->offset : b->offset - a->offset);
    if (g && apart % g)
        return LZ_SHARE_NOTHING;
    bool dense = lz_strides_are_dense(a->sizes, a->strides) && lz_strides_are_dense(b->sizes, b->strides);
    return dense ? LZ_SHARE_SOME : LZ_SHARE_MAYBE;
}
