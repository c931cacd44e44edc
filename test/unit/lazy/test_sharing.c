#include "lazy_calls.h"
#include <lazuli/lazuli.h>

/* What shares memory with what, where the recorded layouts (ops/layouts) do not look: writes. */

static lz_tensor *matrix(lz_ctx *c, bool grad)
{
    const float v[] = { 1, 2, 3, 4 };
    lz_tensor *x = lz_from_memory(c, LZ_F32, LZ_DIMS(2, 2), v);
    if (!grad)
        return x;
    lz_set_requires_grad(x, true);
    return lz_clone(c, x);
}

/* 10: the write to the result did not go through; 0: it did. */
static void expect_sum(lz_ctx *c, lz_tensor *x, lz_tensor *written, double want)
{
    lz_zero_(c, written);
    lz_tensor *sum = lz_sum(c, x);
    float got = -1;
    if (lz_read(sum, &got, sizeof got))
        assert_true((double)got == want);
}

/* The same with and without gradients; `which` picks a part, so that failing allocations stay few. */
static lz_err *write_to_results(bool grad, int which)
{
    lz_ctx *c = lz_open(NULL);
    if (!c)
        return lz_err_oom();
    lz_tensor *x = matrix(c, grad);
    switch (which) {
    case 0:
        expect_sum(c, x, lz_repeat(c, x, LZ_INTS(1, 1)), 10);
        expect_sum(c, x, lz_diag(c, x), 10);
        break;
    case 1:
        expect_sum(c, x, lz_ravel(c, lz_t(c, x)), 10);
        expect_sum(c, x, lz_to_dtype(c, x, LZ_F32, .copy = true), 10);
        break;
    case 2:
        expect_sum(c, x, lz_dropout(c, x, 0.5, false), 0);
        break;
    default:
        expect_sum(c, x, lz_atleast_3d(c, x), 0);
        break;
    }
    return finish(c);
}

static lz_err *write_all(bool grad)
{
    lz_err *e = NULL;
    int n = lz_check_failing() ? 1 : 4;
    for (int i = 0; !e && i < n; i++)
        e = write_to_results(grad, i);
    return e;
}

static lz_err *test_writes_to_results(void)
{
    return write_all(false);
}

static lz_err *test_writes_to_results_with_gradients(void)
{
    return write_all(true);
}

/* detach_ changes no element: what was saved stays good. */
static lz_err *test_detach_in_place_is_no_write(void)
{
    float got[4] = { 0 };
    lz_ctx *c = lz_open(NULL);
    if (!c)
        return lz_err_oom();
    lz_tensor *x = lz_from_memory(c, LZ_F32, LZ_DIMS(3), (const float[]){ 1, 2, 3 });
    lz_set_requires_grad(x, true);
    lz_tensor *h = lz_mul_Scalar(c, x, 2), *loss = lz_sum(c, lz_mul_Tensor(c, h, h));
    lz_detach_(c, h);
    if (lz_backward(c, loss) && lz_grad_of(x) && lz_read(lz_grad_of(x), got, 3 * sizeof *got))
        assert_true(got[0] == 8 && got[1] == 16 && got[2] == 24);
    return finish(c);
}

/* It counts from the beginning of the storage. */
static lz_err *test_as_strided_copy_of_a_view(void)
{
    float got[2] = { 0 };
    lz_ctx *c = lz_open(NULL);
    if (!c)
        return lz_err_oom();
    lz_tensor *z = matrix(c, false), *row = lz_select_int(c, z, 0, 1);
    lz_tensor *y = lz_as_strided_copy(c, row, LZ_INTS(2), LZ_INTS(2), .storage_offset = LZ_SOME(1));
    if (lz_read(y, got, sizeof got))
        assert_true(got[0] == 2 && got[1] == 4);
    assert_false(lz_is_alias_of(y, z));
    return finish(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = { LZ_TEST(test_writes_to_results),
                                        LZ_TEST(test_writes_to_results_with_gradients),
                                        LZ_TEST(test_detach_in_place_is_no_write),
                                        LZ_TEST(test_as_strided_copy_of_a_view) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
