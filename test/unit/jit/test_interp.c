/* Random kernels: every way of running one gives what the slow evaluator gives, to the
 * last bit: each vector extension, functions whole, written out, and as compilers get
 * them. Large ones, which it is too slow for, give the same with each vector extension on
 * one thread, two and three. */
#include "jit/program.h"
#include "random_kernel.h"
#include "slow_eval.h"
#include <stdio.h>

enum { LARGE = 16 }; /* one seed of so many is tried large, too */

static uint64_t from = 1, to = 400;

static bool both_nan(int dtype, const void *x, const void *y, int64_t i)
{
    num a = slow_get(dtype, x, i), b = slow_get(dtype, y, i);
    bool floating = dtype == LZ_F16 || dtype == LZ_BF16 || dtype == LZ_F32 || dtype == LZ_F64;
    return floating && isnan(a.f) && isnan(b.f);
}

static size_t size_of(int dtype)
{
    static const uint8_t sizes[] = { [LZ_BOOL] = 1, [LZ_U8] = 1,  [LZ_I8] = 1,   [LZ_I16] = 2, [LZ_I32] = 4,
                                     [LZ_I64] = 8,  [LZ_F16] = 2, [LZ_BF16] = 2, [LZ_F32] = 4, [LZ_F64] = 8 };
    return sizes[dtype];
}

static const lz_kernel *running;
static void show(const random_kernel *r, const lz_kernel *k);

static void expect_element(const random_kernel *r, int a, const char *want, int64_t i, uint64_t seed,
                           const char *what)
{
    const char *got = r->access[a].base;
    size_t size = size_of(r->dtypes[a]);
    if (memcmp(got + (size_t)i * size, want + (size_t)i * size, size) == 0
        || both_nan(r->dtypes[a], got, want, i))
        return;
    num x = slow_get(r->dtypes[a], got, i), y = slow_get(r->dtypes[a], want, i);
    show(r, running);
    fail_msg("seed %llu, %s: access %d, element %lld: %.17g (%lld), not %.17g (%lld)",
             (unsigned long long)seed, what, a, (long long)i, x.f, (long long)x.i, y.f, (long long)y.i);
}

/* `want` has what is stored. */
static void expect(const random_kernel *r, char *const want[RK_ACCESSES], uint64_t seed, const char *what)
{
    for (int a = 0; a < r->n_access; a++) {
        int64_t n = want[a] ? (int64_t)(r->bytes[a] / size_of(r->dtypes[a])) : 0;
        for (int64_t i = 0; i < n; i++)
            expect_element(r, a, want[a], i, seed, what);
    }
}

/* What there is to know about a kernel that went wrong. */
static void show(const random_kernel *r, const lz_kernel *k)
{
    lz_text t = { 0 };
    lz_kernel_print(k, &t);
    print_error("%.*s", LZ_FMT(lz_text_view(&t)));
    for (int d = 0; d < r->n_outer + r->n_row; d++)
        print_error("extent %lld\n", (long long)r->extents[d]);
    for (int a = 0; a < r->n_access; a++) {
        print_error("access %d: offset %lld strides", a, (long long)r->access[a].offset);
        for (int d = 0; d < r->n_outer + r->n_row; d++)
            print_error(" %lld", (long long)r->strides[a][d]);
        print_error("\n");
    }
    lz_text_deinit(&t);
}

static void clear(const random_kernel *r)
{
    for (int a = 0; a < r->n_access; a++) {
        if (r->stored[a])
            memset(r->access[a].base, 0, r->bytes[a]);
    }
}

static lz_err *run_program(const random_kernel *r, const lz_kernel_ir *ir, const lz_tile_table *tiles,
                           lz_pool *pool)
{
    lz_program *p = NULL;
    lz_kernel_args args = rk_args(r);
    assert_null(lz_program_create(ir, tiles, &p));
    lz_err *e = lz_program_run(p, &args, pool);
    lz_program_destroy(p);
    return e;
}

static void expect_run(const random_kernel *r, const lz_kernel_ir *ir, const lz_tile_table *tiles, bool ok,
                       char *const want[RK_ACCESSES], uint64_t seed, const char *what)
{
    lz_err *e = run_program(r, ir, tiles, NULL);
    if ((e == NULL) != ok)
        fail_msg("seed %llu, %s: %s", (unsigned long long)seed, what, e ? lz_err_text(e) : "no error");
    if (ok)
        expect(r, want, seed, what);
    lz_err_free(e);
    clear(r);
}

/* As compilers get it, without and with LZ_KERNEL_SCALE. */
static void expect_hot(const random_kernel *r, const lz_kernel *k, bool ok, char *const want[RK_ACCESSES],
                       uint64_t seed)
{
    for (int scale = 0; scale < 2; scale++) {
        lz_kernel *x = NULL;
        assert_null(lz_kernel_expand_hot(k, scale, &x));
        expect_run(r, &x->ir, lz_tile(), ok, want, seed, scale ? "hot, with scale" : "hot");
        lz_kernel_release(x);
    }
}

static void try_seed(uint64_t seed, int *done)
{
    static random_kernel r;
    lz_kernel *k = rk_make(&r, seed, false), *x = NULL;
    lz_kernel_args args = rk_args(&r);
    char *want[RK_ACCESSES] = { NULL };
    lz_err *e = k ? lz_kernel_expand(k, &x) : NULL;
    running = k;
    if (k && !e) {
        const lz_tile_table *tiles[3];
        int n = lz_tile_all(tiles);
        bool ok = slow_run(&x->ir, &args);
        rk_keep(&r, want);
        for (int t = 0; t < n; t++) {
            expect_run(&r, &k->ir, tiles[t], ok, want, seed, tiles[t]->name);
            expect_run(&r, &x->ir, tiles[t], ok, want, seed, "written out");
        }
        expect_hot(&r, k, ok, want, seed);
        ++*done;
    }
    lz_err_free(e); /* too large when written out */
    for (int a = 0; a < RK_ACCESSES; a++)
        free(want[a]);
    lz_kernel_release(k);
    lz_kernel_release(x);
    rk_free(&r);
}

static void test_random_kernels(void **state)
{
    (void)state;
    int done = 0;
    for (uint64_t seed = from; seed <= to; seed++)
        try_seed(seed, &done);
    assert_true(done > (int)(to - from + 1) * 3 / 4);
}

/* Bits, or what went wrong: the first run's, the second's. */
static void expect_same(const random_kernel *r, const lz_err *e, const lz_err *first,
                        char *const want[RK_ACCESSES], uint64_t seed, const char *what)
{
    const char *said = e ? lz_err_text(e) : "no error", *before = first ? lz_err_text(first) : "no error";
    if (strcmp(said, before) != 0)
        fail_msg("seed %llu, %s: %s, not %s", (unsigned long long)seed, what, said, before);
    if (!e)
        expect(r, want, seed, what);
}

static void try_large(uint64_t seed, lz_pool *const pools[3], int *done)
{
    static random_kernel r;
    const lz_tile_table *tiles[3];
    int n = lz_tile_all(tiles);
    lz_kernel *k = rk_make(&r, seed, true);
    char *want[RK_ACCESSES] = { NULL };
    lz_err *first = k ? run_program(&r, &k->ir, tiles[0], NULL) : NULL;
    running = k;
    rk_keep(&r, want);
    for (int i = 1; k && i < n * 3; i++) {
        char what[32];
        lz_err *e = run_program(&r, &k->ir, tiles[i / 3], pools[i % 3]);
        snprintf(what, sizeof what, "%s, threads: %d", tiles[i / 3]->name, i % 3 + 1);
        expect_same(&r, e, first, want, seed, what);
        lz_err_free(e);
        clear(&r);
    }
    *done += k != NULL;
    lz_err_free(first);
    for (int a = 0; a < RK_ACCESSES; a++)
        free(want[a]);
    lz_kernel_release(k);
    rk_free(&r);
}

static void test_widths_and_threads_agree(void **state)
{
    (void)state;
    lz_pool *pools[3] = { NULL };
    assert_null(lz_pool_create(2, &pools[1]));
    assert_null(lz_pool_create(3, &pools[2]));
    int done = 0, tried = 0;
    for (uint64_t seed = from; seed <= to; seed += LARGE, tried++)
        try_large(seed, pools, &done);
    lz_pool_destroy(pools[1]);
    lz_pool_destroy(pools[2]);
    assert_true(done > tried / 2);
}

/* test_interp [FROM TO]: the seeds to try */
int main(int argc, char **argv)
{
    if (argc == 3) {
        from = strtoull(argv[1], NULL, 10);
        to = strtoull(argv[2], NULL, 10);
    }
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_random_kernels),
                                        cmocka_unit_test(test_widths_and_threads_agree) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
