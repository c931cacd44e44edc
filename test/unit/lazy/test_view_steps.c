#include "check.h"
#include "lazy/view_steps.h"

/* ---- random views of a plain strided array ---- */

static uint64_t state;

static int64_t below(int64_t n)
{
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (int64_t)(state >> 33) % n;
}

typedef struct look {
    int64_t n, sizes[16], strides[16], offset;
} look;

static void do_permute(look *v)
{
    for (int64_t i = v->n - 1; i > 0; i--) {
        int64_t j = below(i + 1), s = v->sizes[i], t = v->strides[i];
        v->sizes[i] = v->sizes[j];
        v->strides[i] = v->strides[j];
        v->sizes[j] = s;
        v->strides[j] = t;
    }
}

static void do_slice(look *v)
{
    int64_t d = v->n ? below(v->n) : 0;
    if (v->n == 0 || v->sizes[d] == 0)
        return;
    int64_t start = below(v->sizes[d]), step = 1 + below(3), left = v->sizes[d] - start;
    v->offset += start * v->strides[d];
    v->sizes[d] = 1 + below((left + step - 1) / step);
    v->strides[d] *= step;
}

static void do_select(look *v)
{
    if (v->n == 0)
        return;
    int64_t d = below(v->n);
    v->offset += below(v->sizes[d]) * v->strides[d];
    v->n--;
    for (; d < v->n; d++) {
        v->sizes[d] = v->sizes[d + 1];
        v->strides[d] = v->strides[d + 1];
    }
}

static void do_insert(look *v, int64_t size)
{
    int64_t d = below(v->n + 1);
    if (v->n == 8)
        return;
    for (int64_t i = v->n++; i > d; i--) {
        v->sizes[i] = v->sizes[i - 1];
        v->strides[i] = v->strides[i - 1];
    }
    v->sizes[d] = size;
    v->strides[d] = 0;
}

/* A dimension becomes two. */
static void do_split(look *v)
{
    int64_t d = v->n ? below(v->n) : 0, k = 2 + below(2);
    if (v->n == 0 || v->n == 8 || v->sizes[d] % k)
        return;
    for (int64_t i = v->n++; i > d + 1; i--) {
        v->sizes[i] = v->sizes[i - 1];
        v->strides[i] = v->strides[i - 1];
    }
    v->sizes[d + 1] = k;
    v->strides[d + 1] = v->strides[d];
    v->sizes[d] /= k;
    v->strides[d] *= k;
}

/* Windows that do not overlap. */
static void do_unfold(look *v)
{
    int64_t d = v->n ? below(v->n) : 0, size = 2, step = 2 + below(2);
    if (v->n == 0 || v->n == 8 || v->sizes[d] < size)
        return;
    v->sizes[v->n] = size;
    v->strides[v->n++] = v->strides[d];
    v->sizes[d] = (v->sizes[d] - size) / step + 1;
    v->strides[d] *= step;
}

static void do_diagonal(look *v)
{
    if (v->n < 2)
        return;
    v->sizes[0] = v->sizes[0] < v->sizes[1] ? v->sizes[0] : v->sizes[1];
    v->strides[0] += v->strides[1];
    v->n--;
    for (int64_t d = 1; d < v->n; d++) {
        v->sizes[d] = v->sizes[d + 1];
        v->strides[d] = v->strides[d + 1];
    }
}

static void move_on(look *v)
{
    switch (below(8)) {
    case 0:
        do_permute(v);
        break;
    case 1:
    case 2:
        do_slice(v);
        break;
    case 3:
        do_select(v);
        break;
    case 4:
        do_insert(v, below(3) ? 1 : 2);
        break;
    case 5:
        do_split(v);
        break;
    case 6:
        do_unfold(v);
        break;
    default:
        do_diagonal(v);
    }
}

static lz_err *random_base(lz_specs *specs, const lz_spec **out)
{
    lz_shape sizes = { .n = below(4) }, strides;
    int64_t order[4] = { 0, 1, 2, 3 }, next = 1;
    bool permuted = below(2);
    for (int64_t i = 0; i < sizes.n; i++)
        sizes.v[i] = below(5) ? 1 + below(6) : 1;
    for (int64_t i = sizes.n - 1; permuted && i > 0; i--) {
        int64_t j = below(i + 1), t = order[i];
        order[i] = order[j];
        order[j] = t;
    }
    strides.n = sizes.n;
    for (int64_t i = sizes.n - 1; i >= 0; i--) {
        strides.v[order[i]] = next;
        next *= sizes.v[order[i]];
    }
    return lz_spec_get(specs, LZ_F32, lz_shape_ints(&sizes), lz_shape_ints(&strides), out);
}

/* ---- tests ---- */

static void check_steps(const lz_spec *base, const look *v, const lz_steps *s)
{
    lz_map_of m;
    bool ok;
    lz_view_steps_compose(base, s, &m, &ok);
    assert_true(ok);
    assert_int_equal(m.sizes.n, v->n);
    assert_int_equal(m.offset, v->offset);
    for (int64_t i = 0; i < v->n; i++) {
        assert_int_equal(m.sizes.v[i], v->sizes[i]);
        if (v->sizes[i] > 1)
            assert_int_equal(m.strides.v[i], v->strides[i]);
    }
}

/* How many of so many random views need as_strided. */
static lz_err *try_views(lz_specs *specs, int count, int *strided)
{
    lz_arena a;
    lz_err *e = NULL;
    lz_arena_init(&a);
    for (int k = 0; !e && k < count; k++) {
        const lz_spec *base;
        lz_steps s = { 0 };
        e = random_base(specs, &base);
        if (e)
            break;
        look v = { .n = base->ndim };
        for (int64_t i = 0; i < v.n; i++) {
            v.sizes[i] = base->sizes[i];
            v.strides[i] = base->strides[i];
        }
        for (int64_t i = below(6); i > 0; i--)
            move_on(&v);
        e = lz_view_steps_find(&a, base, (lz_ints){ v.sizes, v.n }, (lz_ints){ v.strides, v.n }, v.offset,
                               &s);
        if (!e)
            check_steps(base, &v, &s);
        *strided += !e && s.n && s.v[s.n - 1].kind == LZ_STEP_STRIDED;
    }
    lz_arena_deinit(&a);
    return e;
}

static lz_err *run_views(int count, int most)
{
    lz_specs *specs;
    int strided = 0;
    LZ_TRY(lz_specs_create(&specs));
    state = 7;
    lz_err *e = try_views(specs, count, &strided);
    assert_in_range(strided, 0, most);
    lz_specs_destroy(specs);
    return e;
}

static lz_err *test_steps_compose_to_the_map(void)
{
    return run_views(60, 20);
}

/* The rest is not for a failing allocator: it would take too long. */
static lz_err *test_many_maps(void)
{
    return lz_check_failing() ? NULL : run_views(20000, 2000);
}

static const lz_view_step_kind *kinds_of(const lz_steps *s, lz_view_step_kind *out)
{
    for (size_t i = 0; i < s->n; i++)
        out[i] = s->v[i].kind;
    return out;
}

/* What a user would have written. */
static lz_err *plain_steps(lz_specs *specs, lz_arena *a)
{
    const lz_spec *base;
    lz_steps s;
    lz_view_step_kind k[16] = { 0 };
    LZ_TRY(lz_spec_get(specs, LZ_F32, LZ_DIMS(4, 6), (lz_ints){ NULL, 0 }, &base));
    LZ_TRY(lz_view_steps_find(a, base, LZ_DIMS(4, 6), LZ_DIMS(6, 1), 0, &s));
    assert_int_equal(s.n, 0);
    LZ_TRY(lz_view_steps_find(a, base, LZ_DIMS(6, 4), LZ_DIMS(1, 6), 0, &s));
    assert_int_equal(s.n, 1);
    assert_int_equal(kinds_of(&s, k)[0], LZ_STEP_PERMUTE);
    LZ_TRY(lz_view_steps_find(a, base, LZ_DIMS(4, 2), LZ_DIMS(6, 2), 1, &s));
    assert_int_equal(s.n, 1);
    assert_int_equal(s.v[0].kind, LZ_STEP_SLICE);
    assert_int_equal(s.v[0].start, 1);
    assert_int_equal(s.v[0].step, 2);
    LZ_TRY(lz_view_steps_find(a, base, LZ_DIMS(6), LZ_DIMS(1), 12, &s));
    assert_int_equal(s.n, 1);
    assert_int_equal(s.v[0].kind, LZ_STEP_SELECT);
    LZ_TRY(lz_view_steps_find(a, base, LZ_DIMS(24), LZ_DIMS(1), 0, &s));
    assert_int_equal(s.n, 1);
    assert_int_equal(s.v[0].kind, LZ_STEP_VIEW);
    LZ_TRY(lz_view_steps_find(a, base, LZ_DIMS(5, 4, 6), LZ_DIMS(0, 6, 1), 0, &s));
    assert_int_equal(s.n, 2);
    assert_int_equal(kinds_of(&s, k)[1], LZ_STEP_EXPAND);
    LZ_TRY(lz_view_steps_find(a, base, LZ_DIMS(5, 2), LZ_DIMS(1, 1), 0, &s));
    assert_int_equal(s.v[s.n - 1].kind, LZ_STEP_STRIDED);
    return NULL;
}

static lz_err *test_plain_steps(void)
{
    lz_specs *specs;
    lz_arena a;
    LZ_TRY(lz_specs_create(&specs));
    lz_arena_init(&a);
    lz_err *e = plain_steps(specs, &a);
    lz_arena_deinit(&a);
    lz_specs_destroy(specs);
    return e;
}

int main(void)
{
    const struct CMUnitTest tests[] = { LZ_TEST(test_steps_compose_to_the_map), LZ_TEST(test_many_maps),
                                        LZ_TEST(test_plain_steps) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
