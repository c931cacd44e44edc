/* A loop that does the same in every step takes the same memory in every step. */
#include "calls.h"
#include "check.h"
#include "lazy/ctx.h"
#include "lazy/runtime.h"
#include <malloc.h>
#include <math.h>
#include <stdlib.h>

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

/* ---- weights that stay the same ---- */

enum { ROWS = 4 };

/* x * transposed w, as a loop has it, to the last bit */
static void expect_product(lz_ctx *c, lz_tensor *x, lz_tensor *w)
{
    static float xs[ROWS * SIDE], ws[SIDE * SIDE], y[ROWS * SIDE];
    lz_scope *s = lz_scope_push(c);
    assert_true(lz_read(CALL(c, mm, T(x), T(CALL(c, t, T(w)))), y, sizeof y));
    assert_true(lz_read(x, xs, sizeof xs) && lz_read(w, ws, sizeof ws));
    lz_scope_pop(s);
    for (int i = 0; i < ROWS * SIDE; i++) {
        float sum = 0;
        for (int k = 0; k < SIDE; k++)
            sum = fmaf(xs[i / SIDE * SIDE + k], ws[i % SIDE * SIDE + k], sum);
        assert_true(y[i] == sum);
    }
}

/* The second run takes memory for a transposed copy, as predicted; an update gives it back. */
static void test_copies_of_weights(void **state)
{
    (void)state;
    static const float row[ROWS * SIDE] = { 0.25F, -1, 3, [SIDE] = 1, [2 * SIDE + 5] = 0.3F };
    lz_ctx *c = lz_open(NULL);
    lz_tensor *x = lz_from_memory(c, LZ_F32, LZ_DIMS(ROWS, SIDE), row), *w = matrix(c, 2);
    lz_mark_step(c);
    int64_t bytes = figure("TsBytes");
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 4; i++) {
            expect_product(c, x, w);
            assert_int_equal(figure("TsBytes"), bytes + (i > 0 ? BYTES : 0));
            assert_int_equal(figure("TsBytesPredicted"), figure("TsBytesPeak"));
        }
        CALL(c, sub__Tensor, T(w), T(w), F(0.5 + round));
        lz_mark_step(c);
        assert_int_equal(figure("TsBytes"), bytes);
    }
    if (lz_failed(c))
        fail_msg("%s", lz_message(c));
    lz_close(c);
    assert_int_equal(figure("TsBytes"), 0);
}

/* ---- what compiled graphs take ---- */

static atomic_int_fast64_t allocated; /* bytes, as the C library has them */

static void *count_resize(void *user, void *ptr, size_t size, size_t align)
{
    void *out = NULL;
    (void)user;
    atomic_fetch_sub(&allocated, (int_fast64_t)malloc_usable_size(ptr));
    if (size == 0)
        free(ptr);
    else
        out = align > sizeof(max_align_t) ? aligned_alloc(align, (size + align - 1) / align * align)
                                          : realloc(ptr, size);
    atomic_fetch_add(&allocated, (int_fast64_t)malloc_usable_size(size ? out : NULL));
    return out;
}

static int64_t sum_of(const char *const *names)
{
    int64_t sum = 0;
    for (; *names; names++) {
        assert_true(figure(*names) > 0);
        sum += figure(*names);
    }
    return sum;
}

/* The parts are all of it; and so much is free when the graphs are dropped. */
static void test_graph_bytes(void **state)
{
    static const char *const parts[] = { "GraphKeyBytes", "GraphLineBytes", "GraphExecutableBytes",
                                         "GraphComputationBytes", NULL };
    static const char *const computation[] = { "TsGraphBytes",    "TsStepBytes",   "TsLaunchBytes",
                                               "TsArgumentBytes", "TsKernelBytes", NULL };
    (void)state;
    lz_ctx *c = lz_open(NULL);
    lz_tensor *x = matrix(c, 1), *w0 = matrix(c, 2), *w1 = matrix(c, 3);
    step(c, x, w0, w1);
    lz_mark_step(c);
    assert_int_equal(sum_of(parts), figure("GraphBytes"));
    assert_int_equal(sum_of(computation), figure("GraphComputationBytes"));
    int64_t said = figure("GraphBytes"), before = allocated;
    lz_cache_drop(c->shared->cache);
    int64_t freed = before - allocated;
    assert_int_equal(figure("GraphBytes"), 0);
    assert_int_equal(figure("TsKernelBytes"), 0);
    assert_in_range(freed, said * 9 / 10, said * 11 / 10);
    lz_close(c);
}

int main(void)
{
    /* the prediction is the greatest of the process: what takes more comes later */
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_copies_of_weights),
                                        cmocka_unit_test(test_steady_steps),
                                        cmocka_unit_test(test_graph_bytes) };
    lz_allocator_set(&(lz_allocator){ .resize = count_resize });
    setenv("LAZULI_JIT", "off", 1); /* machine code has a bound of its own */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
