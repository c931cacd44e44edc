/* A loop that does the same in every step takes the same memory in every step. */
#include "calls.h"
#include "check.h"

enum { SIDE = 64, BYTES = SIDE * SIDE * 4, STEPS = 8 };

static int64_t figure(const char *name)
{
    int64_t v = 0;
    lz_counter_value(name, &v);
    return v;
}

static lz_tensor *matrix(lz_ctx *c, int seed)
{
    static float v[SIDE * SIDE];
    for (int i = 0; i < SIDE * SIDE; i++)
        v[i] = (float)((i * 7 + seed * 13) % 101) / 101 - 0.5F;
    return lz_from_memory(c, LZ_F32, LZ_DIMS(SIDE, SIDE), v);
}

/* Two layers, their gradients, and the way down. */
static void step(lz_ctx *c, lz_tensor *x, lz_tensor *w0, lz_tensor *w1)
{
    lz_scope *s = lz_scope_push(c);
    lz_tensor *h = CALL(c, relu, T(CALL(c, mm, T(x), T(w0))));
    lz_tensor *d = CALL(c, sub_Tensor, T(CALL(c, mm, T(h), T(w1))), T(x));
    lz_tensor *g1 = CALL(c, mm, T(CALL(c, t, T(h))), T(d));
    lz_tensor *dh = CALL(c, mm, T(d), T(CALL(c, t, T(w1))));
    lz_tensor *g0 = CALL(c, mm, T(CALL(c, t, T(x))), T(dh));
    CALL(c, sub__Tensor, T(w1), T(g1), F(1e-4));
    CALL(c, sub__Tensor, T(w0), T(g0), F(1e-4));
    lz_scope_pop(s); /* nobody asks for what lies between */
    lz_mark_step(c);
}

static void test_steady_steps(void **state)
{
    (void)state;
    lz_ctx *c = lz_open(NULL);
    lz_tensor *x = matrix(c, 1), *w0 = matrix(c, 2), *w1 = matrix(c, 3);
    int64_t made = 0, reused = 0, bytes = figure("TsBytes");
    for (int i = 0; i < STEPS; i++) {
        step(c, x, w0, w1);
        if (i < 1)
            continue;
        if (i > 1) {
            assert_int_equal(figure("TsBuffersMade"), made);
            assert_int_equal(figure("TsBuffersReused"), reused + 1); /* the block of temporaries */
        }
        made = figure("TsBuffersMade");
        reused = figure("TsBuffersReused");
        assert_int_equal(figure("TsBytes"), bytes); /* the parameters are where they were */
    }
    assert_in_range(figure("TsBytesPlanned"), BYTES, 5 * BYTES);
    assert_int_equal(figure("TsBytesPeak"), bytes + figure("TsBytesPlanned"));
    assert_int_equal(figure("TsBytesPredicted"), figure("TsBytesPeak"));
    if (lz_failed(c))
        fail_msg("%s", lz_message(c));
    lz_close(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_steady_steps) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
