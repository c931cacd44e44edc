/* Compiled kernels give what the tile interpreter gives, to the last bit, on every target
 * that runs here. Which NaN it is is nobody's promise. */
#include "emit_run.h"
#include "jit/program.h"
#include "random_kernel.h"
#include <stdio.h>

static uint64_t from = 1, to = 120;

static const lz_target *targets[LZ_TARGETS_MOST];
static int n_targets;

static void show(const random_kernel *r, const lz_kernel *k)
{
    lz_text t = { 0 };
    lz_kernel_print(k, &t);
    print_error("%.*s", LZ_FMT(lz_text_view(&t)));
    for (int d = 0; d < r->n_outer + r->n_row; d++)
        print_error("extent %lld\n", (long long)r->extents[d]);
    lz_text_deinit(&t);
}

static void expect(const random_kernel *r, const lz_kernel *k, char *const *want, uint64_t seed,
                   const char *what)
{
    for (int a = 0; a < r->n_access; a++) {
        int64_t at =
            r->stored[a] ? er_difference(r->dtypes[a], r->access[a].base, want[a], r->bytes[a] - 8) : -1;
        if (at < 0)
            continue;
        show(r, k);
        const uint8_t *x = (const uint8_t *)r->access[a].base + at, *y = (const uint8_t *)want[a] + at;
        for (size_t i = 0; i < lz_dtype_bytes(r->dtypes[a]); i++)
            print_error("%02x, not %02x\n", x[i], y[i]);
        fail_msg("seed %llu, %s: access %d, byte %lld", (unsigned long long)seed, what, a, (long long)at);
    }
}

static void clear(const random_kernel *r)
{
    for (int a = 0; a < r->n_access; a++) {
        if (r->stored[a])
            memset(r->access[a].base, 0, r->bytes[a]);
    }
}

static void keep(const random_kernel *r, char **copy)
{
    for (int a = 0; a < r->n_access; a++) {
        copy[a] = malloc(r->bytes[a]);
        assert_non_null(copy[a]);
        memcpy(copy[a], r->access[a].base, r->bytes[a]);
    }
    clear(r);
}

static lz_err *interpret(const lz_kernel *k, const lz_kernel_args *args)
{
    return lz_program_run(k->program, args, NULL);
}

/* Same memory, or both fail. */
static void try_target(const random_kernel *r, const lz_kernel *k, const lz_target *t, uint64_t seed, bool ok,
                       char *const *want, int *done, int *shared)
{
    static emit_run run;
    lz_kernel_args args = rk_args(r);
    lz_native_loaded code = { 0 };
    er_init(&run, k, &args, seed % 3 ? seed : 0, 0);
    lz_err *e = er_compile(&run, t, &code);
    bool refused = er_refused(e);
    e = e ? e : er_call(&run, &code);
    if (!e && ok && code.walk) {
        expect(r, k, want, seed, t->name);
        clear(r);
        e = er_share(&run, &code);
        ++*shared;
    }
    lz_native_unload(&code);
    er_free(&run);
    if (refused) {
        print_message("seed %llu: %s\n", (unsigned long long)seed, lz_err_text(e));
    } else if ((e == NULL) != ok) {
        show(r, k);
        fail_msg("seed %llu, %s: %s", (unsigned long long)seed, t->name, e ? lz_err_text(e) : "no error");
    } else if (ok) {
        expect(r, k, want, seed, t->name);
    }
    *done += !refused;
    lz_err_free(e);
    clear(r);
}

static void try_seed(uint64_t seed, int *done, int *shared)
{
    static random_kernel r;
    char *want[RK_ACCESSES] = { NULL };
    lz_kernel *k = rk_make(&r, seed, seed % 16 == 0);
    lz_kernel_args args = rk_args(&r);
    lz_err *e = k ? interpret(k, &args) : NULL;
    if (k)
        keep(&r, want);
    for (int t = 0; k && t < n_targets; t++)
        try_target(&r, k, targets[t], seed, e == NULL, want, done, shared);
    for (int a = 0; a < RK_ACCESSES; a++)
        free(want[a]);
    lz_err_free(e);
    lz_kernel_release(k);
    rk_free(&r);
}

static void test_random_kernels(void **state)
{
    (void)state;
    int done = 0, shared = 0;
    for (uint64_t seed = from; seed <= to; seed++)
        try_seed(seed, &done, &shared);
    assert_true(done > (int)(to - from + 1) * n_targets * 3 / 4);
    assert_true(to - from < 50 || shared > 0);
}

/* test_emit_random [FROM TO]: the seeds to try */
int main(int argc, char **argv)
{
    const lz_llvm *l;
    lz_err *e = lz_llvm_get(&l);
    if (e) {
        print_message("skipped: %s\n", lz_err_text(e));
        lz_err_free(e);
        return 77;
    }
    if (argc == 3) {
        from = strtoull(argv[1], NULL, 10);
        to = strtoull(argv[2], NULL, 10);
    }
    n_targets = lz_target_all(targets);
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_random_kernels) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
