#include "base/vec.h"
#include "check.h"

typedef LZ_VEC(int) ints;

static lz_err *test_push_keeps_order(void)
{
    ints v = { 0 };
    lz_err *e = NULL;
    for (int i = 0; !e && i < 1000; i++)
        e = lz_vec_push(&v, i * 3);
    for (size_t i = 0; i < v.len; i++)
        assert_int_equal(v.data[i], (int)i * 3);
    if (!e)
        assert_int_equal(v.len, 1000);
    lz_vec_deinit(&v);
    assert_null(v.data);
    assert_int_equal(v.len, 0);
    return e;
}

static lz_err *test_push_takes_structs(void)
{
    typedef struct point {
        double x, y;
    } point;
    LZ_VEC(point) v = { 0 };
    lz_err *e = lz_vec_push(&v, (point){ 1, 2 });
    if (!e) {
        assert_true(v.data[0].x == 1 && v.data[0].y == 2);
        assert_true(v.cap >= v.len);
    }
    lz_vec_deinit(&v);
    return e;
}

static lz_err *test_reserve_makes_room_once(void)
{
    ints v = { 0 };
    lz_err *e = lz_vec_reserve(&v, 100);
    if (!e) {
        const int *before = v.data;
        for (int i = 0; !e && i < 100; i++)
            e = lz_vec_push(&v, i);
        assert_null(e);
        assert_ptr_equal(before, v.data);
    }
    lz_vec_deinit(&v);
    return e;
}

static lz_err *test_absurd_sizes_are_refused(void)
{
    ints v = { 0 };
    lz_err *e = lz_vec_push(&v, 1);
    if (!e) {
        assert_int_equal(lz_err_code(lz_vec_reserve(&v, SIZE_MAX)), LZ_ERR_MEMORY);
        assert_int_equal(lz_err_code(lz_vec_reserve(&v, SIZE_MAX / 2)), LZ_ERR_MEMORY);
        assert_int_equal(v.len, 1);
        assert_int_equal(v.data[0], 1);
    }
    lz_vec_deinit(&v);
    return e;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LZ_TEST(test_push_keeps_order),
        LZ_TEST(test_push_takes_structs),
        LZ_TEST(test_reserve_makes_room_once),
        LZ_TEST(test_absurd_sizes_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
