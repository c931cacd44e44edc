#include "lazy/recorder.h"
#include "lazy_calls.h"
#include "lower/lower_table.h"
#include <lazuli/ops.h>
#include <math.h>

static const float numbers[] = { 0.5F, -1, 2, 3, -4, 1, 7, 0.25F, -2, 1, 1, 3 };

/* addmm by its formula, operator by operator. */
static lz_err *addmm_in_parts(lz_recorder *r, lz_tensor *const *x, double alpha, lz_tensor **out)
{
    lz_low_value args[5], result;
    *out = NULL;
    for (int i = 0; i < 3; i++)
        LZ_TRY(lz_recorder_add(r, x[i], &args[i]));
    args[3] = lz_low_value_float(0.5);
    args[4] = lz_low_value_float(alpha);
    LZ_TRY(lz_lower_table[LZ_OP_addmm].fn(&r->b, args, &result));
    *out = r->tensors.data[lz_recorder_slot(&result)];
    return NULL;
}

static lz_err *compare_parts(lz_ctx *c, lz_tensor *const *x, double alpha)
{
    float got[9] = { 0 }, due[9] = { 0 };
    lz_recorder r;
    lz_tensor *y;
    lz_recorder_init(&r, c, LZ_HERE);
    lz_err *e = addmm_in_parts(&r, x, alpha, &y);
    lz_tensor *whole = lz_addmm(c, x[0], x[1], x[2], .beta = LZ_S(0.5), .alpha = LZ_S(alpha));
    if (!e && lz_read(y, got, sizeof got) && lz_read(whole, due, sizeof due))
        for (int i = 0; i < 9; i++)
            assert_true(fabsf(got[i] - due[i]) <= 1e-5F * (1 + fabsf(due[i])));
    lz_recorder_deinit(&r);
    return e;
}

/* Numbers stay arguments of what is recorded: another value compiles nothing. */
static lz_err *test_formulas_record(void)
{
    int64_t before = 0, after = 0;
    lz_ctx *c = lz_open(NULL);
    if (!c)
        return lz_err_oom();
    lz_tensor *x[] = { lz_from_memory(c, LZ_F32, LZ_DIMS(3, 3), numbers),
                       lz_from_memory(c, LZ_F32, LZ_DIMS(3, 4), numbers),
                       lz_from_memory(c, LZ_F32, LZ_DIMS(4, 3), numbers) };
    lz_err *e = lz_failed(c) ? NULL : compare_parts(c, x, 2);
    lz_counter_value("UncachedCompile", &before);
    if (!e && !lz_failed(c))
        e = compare_parts(c, x, 1);
    lz_counter_value("UncachedCompile", &after);
    if (!lz_check_failing())
        assert_int_equal(before, after);
    lz_err *second = finish(c);
    if (e) {
        lz_err_free(second);
        return lz_check_failing() ? e : lz_check_err(e, LZ_OK, "");
    }
    return second;
}

/* What was not kept cannot be used, only looked at. */
static lz_err *test_facts_have_no_elements(void)
{
    lz_recorder r;
    lz_low_value x, y, sizes;
    lz_ctx *c = lz_open(NULL);
    if (!c)
        return lz_err_oom();
    lz_recorder_init(&r, c, LZ_HERE);
    lz_err *e = lz_recorder_facts(&r, LZ_F32, LZ_DIMS(2, 3), &x);
    if (!e)
        e = lz_low_shape(&r.b, &x, &sizes);
    if (!e) {
        assert_int_equal(sizes.list.n, 2);
        assert_int_equal(lz_recorder_slot(&x), LZ_NO_ELEMENTS);
        e = lz_check_err(lz_low_apply(&r.b, LZ_OP_neg, &x, &y), LZ_ERR_INTERNAL,
                         "elements that were not saved");
    }
    lz_recorder_deinit(&r);
    lz_err *second = finish(c);
    lz_err_free(e ? second : NULL);
    return e ? e : second;
}

/* An operator may leave results out; the others can be read. */
static lz_err *test_results_left_out(void)
{
    static const bool only_input[] = { true, false, false };
    float got[12] = { 0 };
    lz_ctx *c = lz_open(NULL);
    if (!c)
        return lz_err_oom();
    lz_tensor *x = lz_from_memory(c, LZ_F32, LZ_DIMS(3, 4), numbers);
    lz_native_layer_norm_result n = lz_native_layer_norm(c, x, LZ_INTS(4), NULL, NULL, 1e-5);
    lz_native_layer_norm_backward_result g = lz_native_layer_norm_backward(
        c, x, x, LZ_INTS(4), n.out1, n.out2, NULL, NULL, ((lz_bools){ only_input, 3 }));
    if (!lz_failed(c) && lz_read(g.out0, got, sizeof got)) {
        assert_null(g.out1);
        assert_null(g.out2);
        for (int i = 0; i < 3; i++) /* a shift of a row changes nothing, so its gradients sum to 0 */
            assert_true(fabsf(got[4 * i] + got[4 * i + 1] + got[4 * i + 2] + got[4 * i + 3]) < 1e-5F);
    }
    return finish(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LZ_TEST(test_formulas_record),
        LZ_TEST(test_facts_have_no_elements),
        LZ_TEST(test_results_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
