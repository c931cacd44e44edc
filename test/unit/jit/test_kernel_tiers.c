/* Random kernels as lz_kernel_run runs them: compiled, on one thread, two and three, they give
 * what the interpreter gives, to the last bit, and fail as it fails. */
#include "jit/codes.h"
#include "jit/llvm.h"
#include "jit/program.h"
#include "random_kernel.h"

static uint64_t from = 1, to = 150;
static lz_pool *pools[3];

/* bits without the sign */
static bool is_nan(int dtype, uint64_t bits)
{
    static const uint64_t infinite[LZ_DTYPE_SLOTS] = {
        [LZ_F16] = 0x7c00, [LZ_BF16] = 0x7f80, [LZ_F32] = 0x7f800000, [LZ_F64] = 0x7ff0000000000000
    };
    return infinite[dtype] && bits > infinite[dtype];
}

static size_t size_of(int dtype)
{
    static const uint8_t sizes[] = { [LZ_BOOL] = 1, [LZ_U8] = 1,  [LZ_I8] = 1,   [LZ_I16] = 2, [LZ_I32] = 4,
                                     [LZ_I64] = 8,  [LZ_F16] = 2, [LZ_BF16] = 2, [LZ_F32] = 4, [LZ_F64] = 8 };
    return sizes[dtype];
}

static void expect_same(const random_kernel *r, const lz_kernel *k, int a, const char *want, uint64_t seed)
{
    size_t size = size_of(r->dtypes[a]);
    uint64_t most = size == 8 ? UINT64_MAX >> 1 : (UINT64_C(1) << (8 * size - 1)) - 1;
    for (size_t i = 0; i + size <= r->bytes[a]; i += size) {
        uint64_t x = 0, y = 0;
        memcpy(&x, (const char *)r->access[a].base + i, size);
        memcpy(&y, want + i, size);
        if (x == y || (is_nan(r->dtypes[a], x & most) && is_nan(r->dtypes[a], y & most)))
            continue;
        lz_text t = { 0 };
        lz_kernel_print(k, &t);
        print_error("%.*s", LZ_FMT(lz_text_view(&t)));
        lz_text_deinit(&t);
        fail_msg("seed %llu: access %d, element %zu: %llx, not %llx", (unsigned long long)seed, a, i / size,
                 (unsigned long long)x, (unsigned long long)y);
    }
}

static void clear(const random_kernel *r)
{
    for (int a = 0; a < r->n_access; a++) {
        if (r->stored[a])
            memset(r->access[a].base, 0, r->bytes[a]);
    }
}

static void expect_run(const random_kernel *r, const lz_kernel *k, const lz_err *first, char *const *want,
                       lz_pool *pool, uint64_t seed)
{
    lz_kernel_args args = rk_args(r);
    lz_err *e = lz_kernel_run(k, &args, pool);
    const char *said = e ? lz_err_text(e) : "no error", *before = first ? lz_err_text(first) : "no error";
    if (strcmp(said, before) != 0)
        fail_msg("seed %llu: %s, not %s", (unsigned long long)seed, said, before);
    for (int a = 0; !e && a < r->n_access; a++) {
        if (want[a])
            expect_same(r, k, a, want[a], seed);
    }
    lz_err_free(e);
    clear(r);
}

static void try_seed(uint64_t seed)
{
    static random_kernel r;
    char *want[RK_ACCESSES] = { NULL };
    lz_kernel *k = rk_make(&r, seed, seed % 4 == 0);
    lz_kernel_args args = rk_args(&r);
    lz_jit_mode_set(LZ_JIT_OFF);
    lz_err *first = k ? lz_kernel_run(k, &args, NULL) : NULL;
    rk_keep(&r, want);
    lz_jit_mode_set(LZ_JIT_NOW);
    for (int i = 0; k && i < 3; i++)
        expect_run(&r, k, first, want, pools[i], seed);
    lz_err_free(first);
    for (int a = 0; a < RK_ACCESSES; a++)
        free(want[a]);
    lz_kernel_release(k);
    rk_free(&r);
}

static void test_compiled_is_interpreted(void **state)
{
    (void)state;
    lz_native_codes_counts c;
    assert_null(lz_native_codes_open(NULL));
    assert_null(lz_pool_create(2, &pools[1]));
    assert_null(lz_pool_create(3, &pools[2]));
    for (uint64_t seed = from; seed <= to; seed++)
        try_seed(seed);
    lz_native_codes_count(&c);
    print_message("%lld compiled, %lld found, %lld refused\n", (long long)c.compiles, (long long)c.disk_hits,
                  (long long)c.refused);
    const lz_llvm *l;
    lz_err *e = lz_llvm_get(&l);
    if (!e)
        assert_true(c.compiles + c.disk_hits > 0);
    lz_err_free(e);
    lz_pool_destroy(pools[1]);
    lz_pool_destroy(pools[2]);
    lz_native_codes_close(NULL);
}

/* test_kernel_tiers [FROM TO]: the seeds to try */
int main(int argc, char **argv)
{
    if (argc == 3) {
        from = strtoull(argv[1], NULL, 10);
        to = strtoull(argv[2], NULL, 10);
    }
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_compiled_is_interpreted) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
