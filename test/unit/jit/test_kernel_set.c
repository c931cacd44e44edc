#include "base/thread.h"
#include "check.h"
#include "jit/kernel.h"

/* x * factor, factor being a constant: a structure for each. */
static lz_err *scaled(double factor, lz_kernel_mode mode, lz_kernel **out)
{
    lz_kernel_builder *b;
    LZ_TRY(lz_kernel_builder_create(mode, 0, 1, &b));
    lz_kernel_value x = lz_kernel_build_load(b, lz_kernel_build_access(b, LZ_F32, LZ_KERNEL_ELEMENT));
    lz_kernel_value y =
        lz_kernel_build_op2(b, LZ_KERNEL_MUL, x, lz_kernel_build_const_f(b, LZ_KERNEL_F32, factor));
    lz_kernel_build_store(b, lz_kernel_build_access(b, LZ_F32, LZ_KERNEL_ELEMENT), y);
    return lz_kernel_builder_finish(b, out);
}

static lz_err *test_one_of_a_structure(void)
{
    lz_kernel *a = NULL, *b = NULL, *c = NULL, *d = NULL;
    lz_err *e = scaled(3, LZ_KERNEL_ROWS, &a);
    e = e ? e : scaled(3, LZ_KERNEL_ROWS, &b);
    e = e ? e : scaled(5, LZ_KERNEL_ROWS, &c);
    e = e ? e : scaled(3, LZ_KERNEL_COLUMNS, &d);
    if (!e) {
        assert_ptr_equal(a, b);
        assert_ptr_not_equal(a, c);
        assert_ptr_not_equal(a, d);
    }
    lz_kernel_release(a);
    lz_kernel_release(b);
    lz_kernel_release(c);
    lz_kernel_release(d);
    return e;
}

/* What is left when the last owner is gone is nothing: the harness looks for leaks, and a
 * kernel that is asked for again runs. */
static lz_err *test_comes_back(void)
{
    for (int i = 0; i < 3; i++) {
        float x[] = { 1, 2, 3 }, y[3] = { 0 };
        int64_t extents[] = { 3 }, strides[] = { 1 };
        lz_kernel_access access[] = { { x, 0, strides }, { y, 0, strides } };
        lz_kernel *k = NULL;
        LZ_TRY(scaled(7, LZ_KERNEL_ROWS, &k));
        lz_err *e = lz_kernel_run(k, &(lz_kernel_args){ .extents = extents, .access = access }, NULL);
        lz_kernel_release(k);
        LZ_TRY(e);
        assert_true(y[0] == 7 && y[1] == 14 && y[2] == 21);
    }
    return NULL;
}

enum { THREADS = 4, ROUNDS = 300, STRUCTURES = 5 };

static void *make_and_drop(void *user)
{
    lz_err **e = user;
    for (int i = 0; !*e && i < ROUNDS; i++) {
        lz_kernel *a = NULL, *b = NULL;
        *e = scaled(i % STRUCTURES + 2, LZ_KERNEL_ROWS, &a);
        *e = *e ? *e : scaled(i % STRUCTURES + 2, LZ_KERNEL_ROWS, &b);
        if (!*e && a != b)
            *e = lz_errf(LZ_ERR_INTERNAL, "two kernels of one structure");
        lz_kernel_release(a);
        lz_kernel_release(b);
    }
    return NULL;
}

static lz_err *test_threads(void)
{
    pthread_t threads[THREADS];
    lz_err *errors[THREADS] = { NULL }, *e = NULL;
    int n = 0;
    if (lz_check_failing()) /* threads would take turns at failing */
        return NULL;
    while (!e && n < THREADS) {
        e = lz_thread_start("kernels", 1 << 20, make_and_drop, &errors[n], &threads[n]);
        n += !e;
    }
    for (int i = 0; i < n; i++) {
        pthread_join(threads[i], NULL);
        e = lz_err_first(e, errors[i]);
    }
    return e;
}

int main(void)
{
    const struct CMUnitTest tests[] = { LZ_TEST(test_one_of_a_structure), LZ_TEST(test_comes_back),
                                        LZ_TEST(test_threads) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
