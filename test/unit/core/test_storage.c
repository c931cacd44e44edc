#include "base/mem.h"
#include "check.h"
#include "core/storage.h"
#include <string.h>

static lz_err *test_a_write_gives_another_buffer(void)
{
    lz_buffer *a, *b, *kept;
    lz_storage *s;
    LZ_TRY(lz_buffer_create(NULL, 16, &a));
    kept = lz_buffer_retain(a);
    lz_err *e = lz_storage_create(a, &s);
    if (!e) {
        e = lz_buffer_create(NULL, 32, &b);
        if (!e) {
            lz_storage_write(s, b);
            assert_ptr_equal(s->buffer, b);
            assert_true(lz_storage_is_at(&s->head, 1));
            assert_int_equal(s->bytes, b->size);
            assert_true(lz_buffer_is_exclusive(kept)); /* the storage has let go of it */
        }
        lz_storage_release(s);
    }
    lz_buffer_release(kept);
    return e;
}

/* The slow way: marks every element that a view shows. */
static int64_t marks(const lz_storage_view *l, char *seen)
{
    int64_t twice = 0;
    memset(seen, 0, 256);
    for (int64_t i = 0; i < l->spec->numel; i++) {
        int64_t at = l->offset;
        for (int64_t d = l->spec->ndim, rest = i; d-- > 0; rest /= l->spec->sizes[d])
            at += rest % l->spec->sizes[d] * l->spec->strides[d];
        twice += seen[at]++ > 0;
    }
    return twice;
}

static bool meet_slowly(const lz_storage_view *a, const lz_storage_view *b)
{
    char x[256], y[256];
    bool found = false;
    marks(a, x);
    marks(b, y);
    for (int i = 0; i < 256; i++)
        found = found || (x[i] && y[i]);
    return found;
}

/* All pairs of a few dense views against the slow way; and views that hit an element twice. */
static lz_err *test_overlap(void)
{
    static const int64_t shapes[][4] = { { 2, 3, 3, 1 }, { 3, 2, 1, 3 }, { 2, 2, 2, 1 }, { 1, 4, 4, 1 } };
    enum { N = sizeof shapes / sizeof *shapes };
    lz_specs *specs;
    lz_err *e = NULL;
    LZ_TRY(lz_specs_create(&specs));
    for (int i = 0; !e && i < N * N * 49; i++) {
        const int64_t *p = shapes[i % N], *q = shapes[i / N % N];
        const lz_spec *a, *b;
        e = lz_spec_get(specs, LZ_F32, LZ_DIMS(p[0], p[1]), LZ_DIMS(p[2], p[3]), &a);
        e = e ? e : lz_spec_get(specs, LZ_F32, LZ_DIMS(q[0], q[1]), LZ_DIMS(q[2], q[3]), &b);
        if (e)
            break;
        lz_storage_view x = { specs, a, i / N / N % 7 }, y = { specs, b, i / N / N / 7 },
                        other = { &x, b, y.offset };
        bool meet = meet_slowly(&x, &y);
        assert_int_equal(lz_storage_views_overlap(&x, &y), meet);
        assert_int_equal(
            lz_storage_views_shifted(&x, &y),
            meet && (x.offset != y.offset || a->numel != b->numel || p[2] != q[2] || p[3] != q[3]));
        assert_false(lz_storage_views_overlap(&x, &other));
    }
    lz_specs_destroy(specs);
    return e;
}

static lz_err *test_a_view_that_overlaps_itself(void)
{
    static const struct {
        int64_t sizes[2], strides[2];
        bool overlaps, expanded;
    } rows[] = { { { 2, 3 }, { 3, 1 }, false, false },
                 { { 2, 3 }, { 0, 1 }, true, true },
                 { { 3, 2 }, { 1, 1 }, true, false },
                 { { 2, 2 }, { 4, 1 }, false, false },
                 { { 1, 3 }, { 0, 1 }, false, false } };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        lz_spec *s;
        char seen[256];
        LZ_TRY(lz_spec_create(LZ_I64, (lz_ints){ rows[i].sizes, 2 }, (lz_ints){ rows[i].strides, 2 }, &s));
        lz_storage_view l = { seen, s, 0 };
        assert_int_equal(marks(&l, seen) > 0, rows[i].overlaps);
        assert_int_equal(lz_spec_overlaps_itself(s, false), rows[i].overlaps);
        assert_int_equal(lz_spec_overlaps_itself(s, true), rows[i].expanded);
        lz_mem_free(s);
    }
    return NULL;
}

int main(void)
{
    const struct CMUnitTest tests[] = { LZ_TEST(test_a_write_gives_another_buffer), LZ_TEST(test_overlap),
                                        LZ_TEST(test_a_view_that_overlaps_itself) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
