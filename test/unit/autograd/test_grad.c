#include "autograd/grad.h"
#include "autograd/grad_table.h"
#include "check.h"
#include "op/op_table.h"
#include "small_tape.h"
#include <math.h>

static lz_err *finish(lz_ctx *c, lz_err *e)
{
    if (!e && lz_failed(c) && !lz_check_failing())
        fail_msg("%s", lz_message(c));
    if (!e && lz_failed(c))
        e = lz_errf(lz_code_of(c), "%s", lz_message(c));
    lz_close(c);
    return e;
}

/* Only what formulas need, and the sizes of what gradients are made to fit. */
static lz_err *test_what_is_kept(void)
{
    static const struct {
        uint16_t op;
        uint64_t wanted, whole, facts;
    } table[] = {
        { LZ_OP_mul_Tensor, 1, 2, 1 },                /* self wants other */
        { LZ_OP_mul_Tensor, 3, 3, 0 },                /* both */
        { LZ_OP_exp, 1, 2, 1 },                       /* the result */
        { LZ_OP_sum, 1, 0, 1 },                       /* sizes */
        { LZ_OP_add_Tensor, 2, 4, 2 },                /* alpha is a number */
        { LZ_OP_mm, 1, 2, 1 },                        /* mat2 */
        { LZ_OP_cat, 1, 2, 1 },                       /* dim, and sizes of all tensors */
        { LZ_OP_max_pool2d_with_indices, 1, 128, 1 }, /* indices */
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        lz_grad_needs n = lz_grad_keeps(table[i].op, table[i].wanted);
        if (n.whole != table[i].whole || n.facts != table[i].facts)
            fail_msg("%s: whole %llx, facts %llx", lz_op_table[table[i].op].name, (unsigned long long)n.whole,
                     (unsigned long long)n.facts);
    }
    return NULL;
}

static lz_err *read(small_tape *t, const lz_low_value *v, double *out, size_t n)
{
    int64_t slot = lz_recorder_slot(v);
    if (slot < 0)
        return lz_errf(LZ_ERR_INTERNAL, "no tensor");
    if (!lz_read(t->r.tensors.data[slot], out, n * sizeof *out))
        return lz_errf(lz_code_of(t->r.ctx), "%s", lz_message(t->r.ctx));
    return NULL;
}

/* A tensor of the elements as a value. */
static lz_err *add(small_tape *t, lz_ints sizes, const double *v, lz_low_value *out)
{
    lz_tensor *x = lz_from_memory(t->r.ctx, LZ_F64, sizes, v);
    if (lz_tensor_is_inert(x))
        return lz_errf(lz_code_of(t->r.ctx), "%s", lz_message(t->r.ctx));
    return lz_recorder_add(&t->r, x, out);
}

/* y = exp(x * w), with x [2] and w [3, 1]: x is broadcast, so its gradient is a sum. */
static lz_err *derive(small_tape *t)
{
    static const double x[] = { 0.5, -1 }, w[] = { 1, 2, -0.5 }, one[] = { 1, 1, 1, 1, 1, 1 };
    lz_low_value v[2], y, g, gx, one_each, ggx, ones2;
    double first[2], second[2];
    LZ_TRY(add(t, LZ_DIMS(2), x, &v[0]));
    LZ_TRY(add(t, LZ_DIMS(3, 1), w, &v[1]));
    LZ_TRY(add(t, LZ_DIMS(3, 2), one, &one_each));
    LZ_TRY(add(t, LZ_DIMS(2), one, &ones2));
    LZ_TRY(small_tape_want(t, &v[0]));
    LZ_TRY(small_tape_call(t, LZ_OP_mul_Tensor, v, &g));
    LZ_TRY(small_tape_call(t, LZ_OP_exp, &g, &y));
    LZ_TRY(small_tape_back(t, &y, &one_each, 1, v, &gx, 1, true));
    LZ_TRY(small_tape_back(t, &gx, &ones2, 1, v, &ggx, 1, false));
    LZ_TRY(read(t, &gx, first, 2));
    LZ_TRY(read(t, &ggx, second, 2));
    for (int i = 0; i < 2; i++) {
        double due1 = 0, due2 = 0;
        for (int k = 0; k < 3; k++) {
            due1 += w[k] * exp(x[i] * w[k]);
            due2 += w[k] * w[k] * exp(x[i] * w[k]);
        }
        assert_true(fabs(first[i] - due1) < 1e-12 && fabs(second[i] - due2) < 1e-12);
    }
    return NULL;
}

static lz_err *test_second_derivatives(void)
{
    small_tape t;
    lz_ctx *c = lz_open(NULL);
    if (!c)
        return lz_err_oom();
    small_tape_init(&t, c);
    lz_err *e = derive(&t);
    small_tape_deinit(&t);
    return finish(c, e);
}

/* Of an operator with several results the missing gradients are zeros where they go by name. */
static lz_err *test_missing_gradients(void)
{
    static const double x[] = { 3, 1, 2 };
    double got[3] = { 0 };
    small_tape t;
    lz_low_value args[3], results[2], one, g;
    lz_ctx *c = lz_open(NULL);
    if (!c)
        return lz_err_oom();
    small_tape_init(&t, c);
    lz_err *e = add(&t, LZ_DIMS(3), x, &args[0]);
    args[1] = lz_low_value_int(0);
    args[2] = lz_low_value_bool(false);
    if (!e)
        e = small_tape_want(&t, &args[0]);
    if (!e)
        e = small_tape_call(&t, LZ_OP_aminmax, args, results);
    if (!e)
        e = add(&t, (lz_ints){ NULL, 0 }, x, &one);
    if (!e)
        e = small_tape_back(&t, &results[1], &one, 1, args, &g, 1, false);
    if (!e)
        e = read(&t, &g, got, 3);
    if (!e)
        assert_true(got[0] == 3 && got[1] == 0 && got[2] == 0);
    small_tape_deinit(&t);
    return finish(c, e);
}

/* The gradient of igamma in its first argument is asked for and refused; in the second it is exp(-x) at a
 * = 1. */
static lz_err *test_derivatives_that_do_not_exist(void)
{
    static const double one[] = { 1, 1 }, x[] = { 0.5, 2 };
    double got[2] = { 0 };
    for (int wanted = 0; wanted < 2; wanted++) {
        small_tape t;
        lz_low_value args[2], y, seed, g;
        lz_ctx *c = lz_open(NULL);
        if (!c)
            return lz_err_oom();
        small_tape_init(&t, c);
        lz_err *e = add(&t, LZ_DIMS(2), one, &args[0]);
        e = e ? e : add(&t, LZ_DIMS(2), x, &args[1]);
        e = e ? e : small_tape_want(&t, &args[wanted]);
        e = e ? e : small_tape_call(&t, LZ_OP_igamma, args, &y);
        e = e ? e : add(&t, LZ_DIMS(2), one, &seed);
        e = e ? e : small_tape_back(&t, &y, &seed, 1, &args[wanted], &g, 1, false);
        if (wanted == 0)
            e = lz_check_err(e, LZ_ERR_ARG, "the derivative for 'igamma: input' is not implemented");
        else
            e = e ? e : read(&t, &g, got, 2);
        small_tape_deinit(&t);
        if (wanted == 0)
            lz_clear(c);
        LZ_TRY(finish(c, e));
    }
    assert_true(fabs(got[0] - exp(-0.5)) < 1e-15 && fabs(got[1] - exp(-2)) < 1e-15);
    return NULL;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LZ_TEST(test_derivatives_that_do_not_exist),
        LZ_TEST(test_what_is_kept),
        LZ_TEST(test_second_derivatives),
        LZ_TEST(test_missing_gradients),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
