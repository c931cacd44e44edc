/* Tensors whose sizes and strides a call names: resize_, empty_strided, and parts whose place is a tensor. */
#include "check.h"
#include "open_ctx.h"
#include <lazuli/lazuli.h>
#include <string.h>

static lz_tensor *numbers(lz_ctx *c, int64_t n)
{
    return lz_arange(c, LZ_S(n), .dtype = LZ_F32);
}

static void check_values(lz_tensor *t, const float *v, size_t n)
{
    float got[32] = { 0 };
    assert_true(n <= 32);
    assert_int_equal(lz_tensor_numel(t), n);
    assert_true(lz_read(t, got, n * sizeof *got));
    assert_memory_equal(got, v, n * sizeof *got);
}

static void check_strides(const lz_tensor *t, lz_ints strides)
{
    assert_int_equal(lz_tensor_strides(t).n, strides.n);
    assert_memory_equal(lz_tensor_strides(t).v, strides.v, (size_t)strides.n * sizeof *strides.v);
}

/* The storage keeps its elements, also behind what a smaller tensor shows. */
static void test_resize_keeps_the_storage(void **state)
{
    (void)state;
    lz_ctx *c = open_ctx(NULL);
    lz_tensor *x = numbers(c, 6);
    lz_tensor *view = lz_narrow(c, x, 0, 1, 2);
    lz_resize_(c, x, LZ_DIMS(2, 2));
    check_values(x, (float[]){ 0, 1, 2, 3 }, 4);
    lz_resize_(c, x, LZ_DIMS(6));
    check_values(x, (float[]){ 0, 1, 2, 3, 4, 5 }, 6);
    lz_resize_(c, view, LZ_DIMS(2, 4)); /* from its offset on; the storage grows by 3 zeros */
    check_values(view, (float[]){ 1, 2, 3, 4, 5, 0, 0, 0 }, 8);
    lz_fill__Scalar(c, view, LZ_S(7));
    check_values(x, (float[]){ 0, 7, 7, 7, 7, 7 }, 6);
    close_ctx(c);
}

static void test_equal_sizes_keep_the_strides(void **state)
{
    (void)state;
    lz_ctx *c = open_ctx(NULL);
    lz_tensor *x = lz_t(c, lz_view(c, numbers(c, 6), LZ_DIMS(2, 3)));
    lz_resize_(c, x, LZ_DIMS(3, 2));
    check_strides(x, LZ_INTS(1, 3));
    lz_resize_(c, x, LZ_DIMS(6, 1));
    check_strides(x, LZ_INTS(1, 1));
    check_values(x, (float[]){ 0, 1, 2, 3, 4, 5 }, 6);
    close_ctx(c);
}

static void test_no_tensor_with_gradients_is_resized(void **state)
{
    (void)state;
    lz_ctx *c = open_ctx(NULL);
    lz_tensor *x = numbers(c, 6);
    assert_true(lz_set_requires_grad(x, true));
    lz_resize_(c, x, LZ_DIMS(2));
    assert_non_null(strstr(lz_message(c), "cannot resize variables that require grad"));
    lz_close(c);
}

/* Dense in another order, with gaps, and with elements at one place. */
static void test_strides_are_those_of_the_call(void **state)
{
    (void)state;
    lz_ctx *c = open_ctx(NULL);
    const lz_ints all[] = { LZ_INTS(1, 2), LZ_INTS(5, 2), LZ_INTS(0, 1) };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        lz_tensor *x = lz_empty_strided(c, LZ_DIMS(2, 3), all[i]);
        check_strides(x, all[i]);
        lz_copy_(c, x, lz_view(c, numbers(c, 6), LZ_DIMS(2, 3)));
        if (i < 2)
            check_values(x, (float[]){ 0, 1, 2, 3, 4, 5 }, 6);
        else {
            assert_non_null(strstr(lz_message(c), "single memory location"));
            lz_clear(c);
        }
    }
    check_strides(lz_empty_permuted(c, LZ_DIMS(2, 3, 4), LZ_INTS(2, 0, 1)), LZ_INTS(3, 1, 6));
    close_ctx(c);
}

/* Views of the tensor: a write to one is seen. */
static void test_places_that_are_tensors(void **state)
{
    (void)state;
    lz_ctx *c = open_ctx(NULL);
    lz_tensor *x = numbers(c, 6),
              *part = lz_narrow_Tensor(c, x, 0, lz_scalar_tensor(c, LZ_S(-4), .dtype = LZ_I64), 2);
    check_values(part, (float[]){ 2, 3 }, 2);
    lz_fill__Scalar(c, part, LZ_S(9));
    lz_tensors parts =
        lz_tensor_split_tensor_indices_or_sections(c, x, lz_add_Scalar(c, lz_arange(c, LZ_S(2)), LZ_S(3)));
    assert_int_equal(parts.n, 3);
    lz_fill__Scalar(c, parts.v[2], LZ_S(8));
    check_values(x, (float[]){ 0, 1, 9, 9, 8, 8 }, 6);
    close_ctx(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_resize_keeps_the_storage),
        cmocka_unit_test(test_equal_sizes_keep_the_strides),
        cmocka_unit_test(test_no_tensor_with_gradients_is_resized),
        cmocka_unit_test(test_strides_are_those_of_the_call),
        cmocka_unit_test(test_places_that_are_tensors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
