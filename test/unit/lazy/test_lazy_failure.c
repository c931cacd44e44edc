#include "calls.h"
#include "check.h"
#include <string.h>

/* A graph that fails while it runs: an index that is out of range. */

static void run_failure(bool async)
{
    const float x[3] = { 1, 2, 3 };
    const int64_t bad[2] = { 0, 7 };
    float got[3];
    lz_ctx *c = lz_open(&(lz_options){ .async = async });
    lz_tensor *a = lz_from_memory(c, LZ_F32, LZ_DIMS(3), x);
    lz_tensor *index = lz_from_memory(c, LZ_I64, LZ_DIMS(2), bad);
    lz_tensor *before = CALL(c, neg, T(a));
    int line = __LINE__ + 1;
    lz_tensor *lost = CALL(c, index_select, T(before), I(0), T(index));
    lz_tensor *later = CALL(c, exp, T(lost));
    lz_tensor *other = CALL(c, mul_Tensor, T(a), T(a));
    bool went = lz_mark_step(c) && lz_wait(c);
    assert_false(went);
    assert_true(lz_failed(c));
    assert_int_equal(lz_place(c).line, line);
    assert_non_null(strstr(lz_message(c), "index_select"));
    lz_clear(c);
    assert_true(lz_mark_step(c) && lz_wait(c)); /* the failure is reported once */
    assert_false(lz_failed(c));
    assert_true(lz_read(before, got, sizeof got) && got[2] == -3);
    assert_true(lz_read(other, got, sizeof got) && got[2] == 9);
    assert_true(lz_read(a, got, sizeof got) && got[2] == 3);
    assert_true(lz_read(index, (int64_t[2]){ 0 }, 16));
    assert_false(lz_failed(c));
    assert_false(lz_read(lost, got, sizeof got));
    assert_true(lz_failed(c));
    assert_non_null(strstr(lz_message(c), "index"));
    lz_clear(c);
    assert_false(lz_read(later, got, sizeof got));
    lz_clear(c);
    /* and everything goes on */
    lz_tensor *again = CALL(c, add_Tensor, T(a), T(other));
    assert_true(lz_read(again, got, sizeof got) && got[2] == 12);
    assert_false(lz_failed(c));
    lz_close(c);
}

static void test_failure_leaves_the_rest(void **state)
{
    (void)state;
    run_failure(false);
}

static void test_failure_on_the_device_thread(void **state)
{
    (void)state;
    run_failure(true);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_failure_leaves_the_rest),
                                        cmocka_unit_test(test_failure_on_the_device_thread) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
