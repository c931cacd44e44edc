#include "check.h"
#include "core/strides.h"

#define EMPTY ((lz_ints){ NULL, 0 })

static uint64_t state = 1;

static int64_t pick(int64_t n)
{
    state = state * 6364136223846793005 + 1442695040888963407;
    return (int64_t)((state >> 33) % (uint64_t)n);
}

static void check_ints(lz_ints got, lz_ints want)
{
    char a[LZ_SHAPE_CHARS], b[LZ_SHAPE_CHARS];
    if (!lz_shape_eq(got, want))
        fail_msg("%s, expected %s", lz_shape_print(got, a), lz_shape_print(want, b));
}

/* Where the element at a position in row-major order lies. */
static int64_t address(lz_ints sizes, lz_ints strides, int64_t position)
{
    int64_t at = 0;
    for (int64_t d = sizes.n - 1; d >= 0; d--) {
        at += position % sizes.v[d] * strides.v[d];
        position /= sizes.v[d];
    }
    return at;
}

static int64_t numel(lz_ints sizes)
{
    int64_t n = 1;
    for (int64_t d = 0; d < sizes.n; d++)
        n *= sizes.v[d];
    return n;
}

/* Small sizes with strides as slicing, permuting and expanding make them, or any at all. */
static void random_view(lz_shape *sizes, lz_shape *strides, bool any)
{
    int64_t perm[4], stride = 1;
    sizes->n = strides->n = pick(5);
    for (int64_t d = 0; d < sizes->n; d++) {
        sizes->v[d] = 1 + pick(4);
        perm[d] = d;
    }
    for (int64_t d = sizes->n - 1; d > 0 && pick(2); d--) {
        int64_t j = pick(d + 1), t = perm[d];
        perm[d] = perm[j];
        perm[j] = t;
    }
    for (int64_t d = sizes->n - 1; d >= 0; d--) {
        strides->v[perm[d]] = any ? pick(9) : pick(8) ? stride : 0;
        stride *= sizes->v[perm[d]] + (pick(5) == 0);
    }
}

static lz_err *test_contiguous_strides_count_up(void)
{
    lz_shape out;
    lz_err *e = NULL;
    for (int k = 0; !e && k < 500; k++) {
        lz_shape sizes, other;
        random_view(&sizes, &other, true);
        e = lz_strides_contiguous(lz_shape_ints(&sizes), &out);
        if (e)
            return e;
        for (int64_t i = 0; i < numel(lz_shape_ints(&sizes)); i++)
            assert_int_equal(address(lz_shape_ints(&sizes), lz_shape_ints(&out), i), i);
    }
    e = lz_strides_contiguous(LZ_DIMS(3, 0, 5), &out);
    if (!e) {
        check_ints(lz_shape_ints(&out), LZ_DIMS(5, 5, 1));
        e = lz_strides_contiguous(LZ_DIMS(0, INT64_MAX, 2), &out); /* never walked */
    }
    if (!e)
        e = lz_check_err(lz_strides_contiguous(LZ_DIMS(INT64_MAX, 2), &out), LZ_ERR_LIMIT, "overflow");
    return e ? e : lz_strides_contiguous(LZ_DIMS(INT64_MAX, 1, 1), &out);
}

static lz_err *test_channels_last_has_its_strides(void)
{
    lz_shape out;
    lz_err *e = lz_strides_format(LZ_DIMS(2, 3, 4, 5), LZ_CHANNELS_LAST, &out);
    if (!e) {
        check_ints(lz_shape_ints(&out), LZ_DIMS(60, 1, 15, 3));
        assert_true(lz_strides_are_format(LZ_DIMS(2, 3, 4, 5), lz_shape_ints(&out), LZ_CHANNELS_LAST));
        assert_false(lz_strides_are_contiguous(LZ_DIMS(2, 3, 4, 5), lz_shape_ints(&out)));
        e = lz_strides_format(LZ_DIMS(2, 3, 4, 5, 6), LZ_CHANNELS_LAST_3D, &out);
    }
    if (!e) {
        check_ints(lz_shape_ints(&out), LZ_DIMS(360, 1, 90, 18, 3));
        assert_true(lz_strides_are_format(LZ_DIMS(2, 3, 4, 5, 6), lz_shape_ints(&out), LZ_CHANNELS_LAST_3D));
        assert_false(lz_strides_are_format(LZ_DIMS(2, 3, 4, 5, 6), lz_shape_ints(&out), LZ_CHANNELS_LAST));
        e = lz_check_err(lz_strides_format(LZ_DIMS(2, 3), LZ_CHANNELS_LAST, &out), LZ_ERR_ARG,
                         "required rank 4 tensor to use channels_last format");
    }
    if (!e)
        e = lz_check_err(lz_strides_format(LZ_DIMS(2, 3), LZ_CHANNELS_LAST_3D, &out), LZ_ERR_ARG,
                         "required rank 5 tensor to use channels_last_3d format");
    return e;
}

/* Contiguous: every address is its position. Dense: they are 0 to n - 1 in some order. */
static lz_err *test_contiguous_and_dense_by_their_meaning(void)
{
    int found[2] = { 0 };
    for (int k = 0; k < 20000; k++) {
        lz_shape sizes, strides;
        random_view(&sizes, &strides, k % 2);
        lz_ints s = lz_shape_ints(&sizes), t = lz_shape_ints(&strides);
        bool contiguous = true, dense = true, seen[256] = { 0 };
        for (int64_t i = 0, n = numel(s); i < n; i++) {
            int64_t at = address(s, t, i);
            contiguous = contiguous && at == i;
            dense = dense && at < n && !seen[at];
            if (at < n)
                seen[at] = true;
        }
        assert_int_equal(lz_strides_are_contiguous(s, t), contiguous);
        assert_int_equal(lz_strides_are_dense(s, t), dense);
        found[0] += contiguous;
        found[1] += dense && !contiguous;
    }
    assert_true(found[0] > 500 && found[1] > 500);
    assert_true(lz_strides_are_contiguous(LZ_DIMS(0, 5), LZ_DIMS(7, 9)));
    assert_true(lz_strides_are_dense(LZ_DIMS(0, 5), LZ_DIMS(7, 9)));
    return NULL;
}

/* As PyTorch's pooling decides it. */
static lz_err *test_the_suggested_format(void)
{
    const struct {
        lz_ints sizes, strides;
        lz_memory_format want;
    } rows[] = {
        { LZ_DIMS(2, 3, 4, 5), LZ_DIMS(60, 20, 5, 1), LZ_CONTIGUOUS },
        { LZ_DIMS(2, 3, 4, 5), LZ_DIMS(60, 1, 15, 3), LZ_CHANNELS_LAST },
        { LZ_DIMS(2, 2, 4, 5), LZ_DIMS(60, 1, 15, 3), LZ_CHANNELS_LAST }, /* sliced */
        { LZ_DIMS(2, 3, 1, 1), LZ_DIMS(3, 1, 1, 1), LZ_CONTIGUOUS },
        { LZ_DIMS(2, 3, 1, 1), LZ_DIMS(3, 1, 3, 3), LZ_CHANNELS_LAST },
        { LZ_DIMS(5, 1, 1, 1), LZ_DIMS(1, 1, 1, 1), LZ_CONTIGUOUS },
        { LZ_DIMS(2, 0, 4, 5), LZ_DIMS(60, 1, 15, 3), LZ_CONTIGUOUS },
        { LZ_DIMS(2, 3, 4, 5), LZ_DIMS(60, 0, 15, 3), LZ_CONTIGUOUS },
        { LZ_DIMS(2, 3, 4, 5, 6), LZ_DIMS(360, 1, 90, 18, 3), LZ_CHANNELS_LAST_3D },
        { LZ_DIMS(2, 3, 4, 5, 6), LZ_DIMS(360, 120, 30, 6, 1), LZ_CONTIGUOUS },
        { LZ_DIMS(3, 4), LZ_DIMS(1, 3), LZ_CONTIGUOUS },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_int_equal(lz_strides_suggest(rows[i].sizes, rows[i].strides), rows[i].want);
    return NULL;
}

/* The strides that PyTorch gives the sum of two tensors, or a copy of one. */
static lz_err *test_results_keep_the_order_of_dimensions(void)
{
    const struct {
        lz_ints sizes, operands[2];
        size_t n;
        lz_ints want;
    } rows[] = {
        { LZ_DIMS(2, 3), { LZ_DIMS(3, 1) }, 1, LZ_DIMS(3, 1) },
        { LZ_DIMS(3, 2), { LZ_DIMS(1, 3) }, 1, LZ_DIMS(1, 3) },
        { LZ_DIMS(3, 2), { LZ_DIMS(1, 8) }, 1, LZ_DIMS(1, 3) },
        { LZ_DIMS(3, 2), { LZ_DIMS(1, 3), LZ_DIMS(2, 1) }, 2, LZ_DIMS(1, 3) },
        { LZ_DIMS(3, 2), { LZ_DIMS(0, 1), LZ_DIMS(1, 3) }, 2, LZ_DIMS(1, 3) },
        { LZ_DIMS(2, 3, 4), { LZ_DIMS(0, 0, 0) }, 1, LZ_DIMS(12, 4, 1) },
        { LZ_DIMS(4, 2, 3), { LZ_DIMS(1, 12, 4) }, 1, LZ_DIMS(1, 12, 4) },
        { LZ_DIMS(2, 3, 4, 5), { LZ_DIMS(60, 1, 15, 3), { NULL, 0 } }, 2, LZ_DIMS(60, 1, 15, 3) },
        { LZ_DIMS(2, 2), { LZ_DIMS(1, 1) }, 1, LZ_DIMS(2, 1) },
        { LZ_DIMS(3, 2), { LZ_DIMS(1, 1) }, 1, LZ_DIMS(2, 1) },
        { LZ_DIMS(2, 3), { LZ_DIMS(1, 1) }, 1, LZ_DIMS(1, 2) },
        { { NULL, 0 }, { { NULL, 0 } }, 1, { NULL, 0 } },
    };
    lz_err *e = NULL;
    for (size_t i = 0; !e && i < sizeof rows / sizeof *rows; i++) {
        lz_shape out;
        e = lz_strides_like(rows[i].sizes, rows[i].operands, rows[i].n, &out);
        if (!e)
            check_ints(lz_shape_ints(&out), rows[i].want);
    }
    return e;
}

/* As torch.add gives them. */
static lz_err *test_iterated(void)
{
    lz_shape out;
    LZ_TRY(lz_strides_iterated(LZ_DIMS(2, 0, 3), (lz_ints[]){ LZ_DIMS(1, 2, 2) }, 1, &out));
    check_ints(lz_shape_ints(&out), LZ_DIMS(1, 2, 0));
    LZ_TRY(lz_strides_iterated(LZ_DIMS(2, 0, 3), (lz_ints[]){ LZ_DIMS(3, 3, 1), LZ_DIMS(1, 2, 2) }, 2, &out));
    check_ints(lz_shape_ints(&out), LZ_DIMS(3, 6, 1));
    LZ_TRY(lz_strides_iterated(LZ_DIMS(3, 2), (lz_ints[]){ LZ_DIMS(1, 8) }, 1, &out));
    check_ints(lz_shape_ints(&out), LZ_DIMS(1, 3));
    return NULL;
}

/* Sizes of a view, of the same number of elements. */
static void random_split(int64_t n, lz_shape *out)
{
    out->n = 0;
    while (n > 1 || (out->n < 6 && pick(3) == 0)) {
        int64_t f = out->n < 7 ? 1 + pick(n) : n;
        while (n % f)
            f--;
        out->v[out->n++] = f;
        n /= f;
    }
}

/* The only strides a view could have, from where its elements lie; false if some element
 * is elsewhere. */
static bool slow_view(lz_ints sizes, lz_ints strides, lz_ints view, lz_shape *out)
{
    int64_t step = 1;
    for (int64_t d = view.n - 1; d >= 0; d--) {
        out->v[d] = view.v[d] > 1 ? address(sizes, strides, step) : 0;
        step *= view.v[d];
    }
    out->n = view.n;
    for (int64_t i = 0; i < step; i++)
        if (address(view, lz_shape_ints(out), i) != address(sizes, strides, i))
            return false;
    return true;
}

static lz_err *test_a_view_is_found_if_there_is_one(void)
{
    int found[2] = { 0 };
    for (int k = 0; k < 30000; k++) {
        lz_shape sizes, strides, view, got, want;
        random_view(&sizes, &strides, false);
        lz_ints s = lz_shape_ints(&sizes), t = lz_shape_ints(&strides);
        random_split(numel(s), &view);
        lz_ints v = lz_shape_ints(&view);
        assert_int_equal(numel(v), numel(s));
        bool possible = slow_view(s, t, v, &want);
        assert_int_equal(lz_strides_view(s, t, v, &got), possible);
        for (int64_t d = 0; possible && d < v.n; d++)
            assert_true(v.v[d] == 1 || got.v[d] == want.v[d]);
        found[possible]++;
    }
    assert_true(found[0] > 1000 && found[1] > 1000);
    return NULL;
}

static lz_err *test_views_of_nothing(void)
{
    lz_shape out;
    assert_true(lz_strides_view(LZ_DIMS(0, 3), LZ_DIMS(7, 9), LZ_DIMS(0, 3), &out));
    check_ints(lz_shape_ints(&out), LZ_DIMS(7, 9));
    assert_true(lz_strides_view(LZ_DIMS(0, 3), LZ_DIMS(7, 9), LZ_DIMS(5, 0, 2), &out));
    check_ints(lz_shape_ints(&out), LZ_DIMS(2, 2, 1));
    assert_true(lz_strides_view(EMPTY, EMPTY, LZ_DIMS(1, 1), &out));
    check_ints(lz_shape_ints(&out), LZ_DIMS(1, 1));
    assert_true(lz_strides_view(LZ_DIMS(1, 1), LZ_DIMS(5, 5), EMPTY, &out));
    assert_int_equal(out.n, 0);
    return NULL;
}

static lz_err *test_expanding_repeats(void)
{
    lz_shape sizes, strides;
    lz_err *e = lz_strides_expand(LZ_DIMS(3, 1), LZ_DIMS(1, 7), LZ_DIMS(2, -1, 4), &sizes, &strides);
    if (!e) {
        check_ints(lz_shape_ints(&sizes), LZ_DIMS(2, 3, 4));
        check_ints(lz_shape_ints(&strides), LZ_DIMS(0, 1, 0));
        e = lz_strides_expand(LZ_DIMS(1), LZ_DIMS(7), LZ_DIMS(0), &sizes, &strides);
    }
    if (!e) {
        check_ints(lz_shape_ints(&sizes), LZ_DIMS(0));
        e = lz_strides_expand(LZ_DIMS(1), LZ_DIMS(7), LZ_DIMS(1), &sizes, &strides);
    }
    if (!e)
        check_ints(lz_shape_ints(&strides), LZ_DIMS(7));
    return e;
}

/* As PyTorch does: torch.empty(1, 5).expand(1, 1, 5), torch.tensor(1.).expand(1, 1). */
static lz_err *test_expanding_adds_dimensions_of_size_1(void)
{
    lz_shape sizes, strides;
    lz_ints none = { NULL, 0 };
    lz_err *e = lz_strides_expand(LZ_DIMS(1, 5), LZ_DIMS(5, 1), LZ_DIMS(1, 1, 5), &sizes, &strides);
    if (!e) {
        check_ints(lz_shape_ints(&strides), LZ_DIMS(5, 5, 1));
        e = lz_strides_expand(none, none, LZ_DIMS(1, 1), &sizes, &strides);
    }
    if (!e)
        check_ints(lz_shape_ints(&strides), LZ_DIMS(0, 0));
    return e;
}

static lz_err *test_what_cannot_expand_is_named(void)
{
    const struct {
        lz_ints target;
        const char *why;
    } rows[] = {
        { LZ_DIMS(2, 4),
          "The expanded size of the tensor (4) must match the existing size (3) at non-singleton dimension "
          "1.  Target sizes: [2, 4].  Tensor sizes: [2, 3]" },
        { LZ_DIMS(4), "the number of sizes provided (1) must be greater or equal to the number of dimensions "
                      "in the tensor (2)" },
        { LZ_DIMS(-1, 2, 3),
          "The expanded size of the tensor (-1) isn't allowed in a leading, non-existing dimension 0" },
        { LZ_DIMS(2, -3), "The expanded size of the tensor (-3) must match" },
    };
    lz_err *e = NULL;
    for (size_t i = 0; !e && i < sizeof rows / sizeof *rows; i++) {
        lz_shape sizes, strides;
        e = lz_check_err(lz_strides_expand(LZ_DIMS(2, 3), LZ_DIMS(3, 1), rows[i].target, &sizes, &strides),
                         LZ_ERR_ARG, rows[i].why);
    }
    return e;
}

/* Collapsed or not, both operands are walked in the same order; and nothing is left that
 * could be merged. */
static lz_err *test_collapsing_keeps_the_walk(void)
{
    int64_t saved = 0;
    for (int k = 0; k < 20000; k++) {
        lz_shape sizes, a, b, csizes, ca, cb;
        random_view(&sizes, &a, false);
        b = a;
        for (int64_t d = 0, stride = 1; d < sizes.n; stride *= sizes.v[sizes.n - 1 - d++])
            b.v[sizes.n - 1 - d] = k % 3 ? stride : a.v[sizes.n - 1 - d];
        csizes = sizes;
        ca = a;
        cb = b;
        int64_t *strides[] = { ca.v, cb.v };
        int64_t rank = lz_dims_collapse(sizes.n, csizes.v, strides, 2);
        lz_ints s = lz_shape_ints(&sizes), c = { csizes.v, rank };
        assert_true(rank <= sizes.n);
        assert_int_equal(numel(c), numel(s));
        for (int64_t i = 0; i < numel(s); i++) {
            assert_int_equal(address(c, (lz_ints){ ca.v, rank }, i), address(s, lz_shape_ints(&a), i));
            assert_int_equal(address(c, (lz_ints){ cb.v, rank }, i), address(s, lz_shape_ints(&b), i));
        }
        for (int64_t d = 0; d + 1 < rank; d++)
            assert_false(ca.v[d] == ca.v[d + 1] * csizes.v[d + 1]
                         && cb.v[d] == cb.v[d + 1] * csizes.v[d + 1]);
        saved += sizes.n - rank;
    }
    assert_true(saved > 10000);
    int64_t sizes[] = { 3, 0, 2 }, one[] = { 1, 1, 1 }, *strides[] = { one };
    assert_int_equal(lz_dims_collapse(3, sizes, strides, 1), 1);
    assert_int_equal(sizes[0], 0);
    return NULL;
}

static lz_err *test_extents_are_first_and_last(void)
{
    lz_err *e = NULL;
    for (int k = 0; !e && k < 5000; k++) {
        lz_shape sizes, strides;
        int64_t low, high, first = INT64_MAX, last = INT64_MIN;
        random_view(&sizes, &strides, true);
        for (int64_t d = 0; d < strides.n; d++)
            strides.v[d] -= 4;
        lz_ints s = lz_shape_ints(&sizes), t = lz_shape_ints(&strides);
        for (int64_t i = 0; i < numel(s); i++) {
            int64_t at = 100 + address(s, t, i);
            first = at < first ? at : first;
            last = at > last ? at : last;
        }
        e = lz_strides_extent(s, t, 100, &low, &high);
        if (!e)
            assert_true(low == first && high == last);
    }
    int64_t low, high;
    if (!e)
        e = lz_check_err(lz_strides_extent(LZ_DIMS(3), LZ_DIMS(INT64_MAX), 0, &low, &high), LZ_ERR_LIMIT,
                         "overflowed with sizes=[3] and strides=[9223372036854775807]");
    return e;
}

static lz_err *test_views_stay_inside_their_storage(void)
{
    lz_err *e = lz_strides_check(LZ_DIMS(2, 2), LZ_DIMS(1, 1), 3, 4, 24);
    if (!e)
        e = lz_strides_check(LZ_DIMS(2, 0), LZ_DIMS(99, 1), 0, 4, 0);
    if (!e)
        e = lz_strides_check(LZ_DIMS(4), LZ_DIMS(-1), 3, 4, 16);
    if (!e)
        e = lz_check_err(
            lz_strides_check(LZ_DIMS(2, 2), LZ_DIMS(1, 1), 8, 4, 24), LZ_ERR_ARG,
            "setStorage: sizes [2, 2], strides [1, 1], storage offset 8, and itemsize 4 requiring a storage "
            "size of 44 are out of bounds for storage of size 24");
    if (!e)
        e = lz_check_err(lz_strides_check(LZ_DIMS(4), LZ_DIMS(-1), 2, 4, 16), LZ_ERR_ARG,
                         "reach 1 elements before the storage");
    if (!e)
        e = lz_check_err(lz_strides_check(LZ_DIMS(4), LZ_DIMS(1, 1), 0, 4, 16), LZ_ERR_ARG,
                         "mismatch in length of strides and shape");
    if (!e)
        e = lz_check_err(lz_strides_check(LZ_DIMS(4), LZ_DIMS(1), -1, 4, 16), LZ_ERR_ARG,
                         "invalid storage offset -1");
    if (!e)
        e = lz_check_err(lz_strides_check(LZ_DIMS(2), LZ_DIMS(INT64_MAX), 0, 8, SIZE_MAX / 2), LZ_ERR_ARG,
                         "out of bounds");
    if (!e)
        e = lz_check_err(lz_strides_check(LZ_DIMS(2), LZ_DIMS(INT64_MIN), 0, 8, SIZE_MAX / 2), LZ_ERR_ARG,
                         "reach 9223372036854775808 elements before the storage");
    return e;
}

/* The stride of a size of 1 reaches no element, but walks add it and count it in bytes: UBSan would see it.
 */
static lz_err *test_strides_that_cannot_be_walked(void)
{
    static const int64_t far[] = { INT64_MAX, INT64_MIN, INT64_MAX / 8, -(1LL << 60) };
    int64_t low, high;
    for (size_t i = 0; i < sizeof far / sizeof *far; i++) {
        lz_ints sizes = LZ_DIMS(1, 3), strides = LZ_DIMS(far[i], 1);
        LZ_TRY(
            lz_check_err(lz_strides_check(sizes, strides, 0, 4, 12), LZ_ERR_LIMIT, "calculation overflowed"));
        LZ_TRY(lz_check_err(lz_strides_extent(sizes, strides, 0, &low, &high), LZ_ERR_LIMIT, "overflowed"));
    }
    lz_ints many = LZ_DIMS(2, 2, 2, 2), spread = LZ_DIMS(1LL << 56, 1LL << 57, 1LL << 57, 1LL << 57);
    LZ_TRY(lz_check_err(lz_strides_extent(many, spread, 0, &low, &high), LZ_ERR_LIMIT, "overflowed"));
    return lz_strides_check(LZ_DIMS(1, 3), LZ_DIMS(1LL << 58, 1), 0, 4, 12);
}

/* By counting visits. A sure answer has to be right; MAYBE is for three dimensions and more. */
static lz_err *test_overlap_by_counting(void)
{
    int found[3] = { 0 };
    for (int k = 0; k < 40000; k++) {
        lz_shape sizes, strides;
        bool seen[512] = { 0 }, twice = false;
        random_view(&sizes, &strides, k % 4 > 0);
        for (int64_t d = 0; d < strides.n && k % 4 == 3; d++)
            strides.v[d] = pick(30) + 1;
        lz_ints s = lz_shape_ints(&sizes), t = lz_shape_ints(&strides);
        for (int64_t i = 0; i < numel(s); i++) {
            int64_t at = address(s, t, i);
            assert_true(at < 512);
            twice = twice || seen[at];
            seen[at] = true;
        }
        lz_overlap got = lz_strides_overlap(s, t);
        if (got != LZ_OVERLAP_MAYBE)
            assert_int_equal(got == LZ_OVERLAP_YES, twice);
        else
            assert_true(s.n > 2);
        found[got]++;
    }
    assert_true(found[LZ_OVERLAP_NO] > 1000 && found[LZ_OVERLAP_YES] > 1000);
    assert_true(found[LZ_OVERLAP_MAYBE] < found[LZ_OVERLAP_NO] / 5);
    assert_int_equal(lz_strides_overlap(LZ_DIMS(0, 5), LZ_DIMS(0, 0)), LZ_OVERLAP_NO);
    assert_int_equal(lz_strides_overlap(LZ_DIMS(3, 1), LZ_DIMS(0, 1)), LZ_OVERLAP_YES);
    assert_int_equal(lz_strides_overlap(LZ_DIMS(1, 3), LZ_DIMS(0, 1)), LZ_OVERLAP_NO);
    return NULL;
}

static lz_sharing slow_share(const lz_extent *a, const lz_extent *b)
{
    int64_t n = numel(a->sizes), m = numel(b->sizes);
    bool some = false, all = lz_shape_eq(a->sizes, b->sizes);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < m; j++) {
            bool same =
                a->offset + address(a->sizes, a->strides, i) == b->offset + address(b->sizes, b->strides, j);
            some = some || same;
            all = all && (i != j || same);
        }
    return all ? LZ_SHARE_ALL : some ? LZ_SHARE_SOME : LZ_SHARE_NOTHING;
}

static lz_err *test_sharing_by_comparing_all(void)
{
    int found[4] = { 0 };
    for (int k = 0; k < 20000; k++) {
        lz_shape sa, ta, sb, tb;
        random_view(&sa, &ta, k % 3 == 0);
        random_view(&sb, &tb, k % 3 == 0);
        if (k % 5 == 0) {
            sb = sa;
            tb = ta;
        }
        const lz_extent a = { lz_shape_ints(&sa), lz_shape_ints(&ta), pick(k % 5 ? 20 : 2) };
        const lz_extent b = { lz_shape_ints(&sb), lz_shape_ints(&tb), pick(k % 5 ? 20 : 2) };
        lz_sharing got = lz_strides_share(&a, &b), want = slow_share(&a, &b);
        if (got != LZ_SHARE_MAYBE && got != want)
            fail_msg("case %d: %d, expected %d", k, (int)got, (int)want);
        found[got]++;
    }
    for (int i = 0; i < 4; i++)
        assert_true(found[i] > 100);
    const lz_extent even = { LZ_DIMS(4), LZ_DIMS(2), 0 }, odd = { LZ_DIMS(4), LZ_DIMS(2), 1 },
                    none = { LZ_DIMS(0), LZ_DIMS(1), 0 };
    assert_int_equal(lz_strides_share(&even, &odd), LZ_SHARE_NOTHING);
    assert_int_equal(lz_strides_share(&even, &none), LZ_SHARE_NOTHING);
    return NULL;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LZ_TEST(test_contiguous_strides_count_up),
        LZ_TEST(test_channels_last_has_its_strides),
        LZ_TEST(test_contiguous_and_dense_by_their_meaning),
        LZ_TEST(test_the_suggested_format),
        LZ_TEST(test_results_keep_the_order_of_dimensions),
        LZ_TEST(test_iterated),
        LZ_TEST(test_a_view_is_found_if_there_is_one),
        LZ_TEST(test_views_of_nothing),
        LZ_TEST(test_expanding_repeats),
        LZ_TEST(test_expanding_adds_dimensions_of_size_1),
        LZ_TEST(test_what_cannot_expand_is_named),
        LZ_TEST(test_collapsing_keeps_the_walk),
        LZ_TEST(test_extents_are_first_and_last),
        LZ_TEST(test_views_stay_inside_their_storage),
        LZ_TEST(test_strides_that_cannot_be_walked),
        LZ_TEST(test_overlap_by_counting),
        LZ_TEST(test_sharing_by_comparing_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
