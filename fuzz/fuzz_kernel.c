/* Any bytes are choices by which a kernel and its arguments are made. Compiled code for it, on
 * every target that runs here and as lz_kernel_run runs it, gives what the tile interpreter
 * gives, to the last bit; so do its functions written out. */
#include <stdio.h>
#define RK_FAIL(...) (fprintf(stderr, __VA_ARGS__), abort())
#include "jit/codes.h"
#include "jit/program.h"
#include "test/unit/jit/random_kernel.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool is_nan(int dtype, uint64_t bits)
{
    static const uint64_t infinite[16] = {
        [LZ_F16] = 0x7c00, [LZ_BF16] = 0x7f80, [LZ_F32] = 0x7f800000, [LZ_F64] = 0x7ff0000000000000
    };
    static const uint64_t sign[16] = {
        [LZ_F16] = 0x8000, [LZ_BF16] = 0x8000, [LZ_F32] = 0x80000000, [LZ_F64] = 0x8000000000000000
    };
    return infinite[dtype] && (bits & ~sign[dtype]) > infinite[dtype];
}

static size_t size_of(int dtype)
{
    static const uint8_t sizes[] = { [LZ_BOOL] = 1, [LZ_U8] = 1,  [LZ_I8] = 1,   [LZ_I16] = 2, [LZ_I32] = 4,
                                     [LZ_I64] = 8,  [LZ_F16] = 2, [LZ_BF16] = 2, [LZ_F32] = 4, [LZ_F64] = 8 };
    return sizes[dtype];
}

static void expect_same(const random_kernel *r, const lz_kernel *k, int a, const char *want)
{
    size_t size = size_of(r->dtypes[a]);
    for (size_t i = 0; i + size <= r->bytes[a]; i += size) {
        uint64_t x = 0, y = 0;
        memcpy(&x, (const char *)r->access[a].base + i, size);
        memcpy(&y, want + i, size);
        if (x == y || (is_nan(r->dtypes[a], x) && is_nan(r->dtypes[a], y)))
            continue;
        lz_text t = { 0 };
        lz_kernel_print(k, &t);
        RK_FAIL("%.*saccess %d, element %zu: %llx, not %llx\n", LZ_FMT(lz_text_view(&t)), a, i / size,
                (unsigned long long)x, (unsigned long long)y);
    }
}

static void keep(const random_kernel *r, char *copy[RK_ACCESSES])
{
    for (int a = 0; a < r->n_access; a++) {
        if (!r->stored[a])
            continue;
        copy[a] = malloc(r->bytes[a]);
        if (!copy[a])
            abort();
        memcpy(copy[a], r->access[a].base, r->bytes[a]);
    }
}

/* Of one run: its stores, or that it failed as the first one did. */
static void check(const random_kernel *r, const lz_kernel *k, lz_err *e, const lz_err *first,
                  char *const want[RK_ACCESSES])
{
    if ((e == NULL) != (first == NULL) || (e && strcmp(lz_err_text(e), lz_err_text(first)) != 0))
        RK_FAIL("%s, not %s\n", e ? lz_err_text(e) : "no error", first ? lz_err_text(first) : "no error");
    for (int a = 0; !e && a < r->n_access; a++) {
        if (r->stored[a])
            expect_same(r, k, a, want[a]);
    }
    lz_err_free(e);
    for (int a = 0; a < r->n_access; a++) {
        if (r->stored[a])
            memset(r->access[a].base, 0, r->bytes[a]);
    }
}

static void run(const random_kernel *r, lz_kernel *k)
{
    char *want[RK_ACCESSES] = { NULL };
    lz_kernel_args args = rk_args(r);
    lz_kernel *hot = NULL;
    lz_jit_mode_set(LZ_JIT_OFF);
    lz_err *first = lz_kernel_run(k, &args, NULL);
    keep(r, want);
    for (int scale = 0; scale < 2; scale++) {
        if (lz_kernel_expand_hot(k, scale, &hot))
            abort();
        check(r, k, lz_kernel_run(hot, &args, NULL), first, want);
        lz_kernel_release(hot);
    }
    lz_jit_mode_set(LZ_JIT_NOW);
    check(r, k, lz_kernel_run(k, &args, NULL), first, want);
    lz_err_free(first);
    for (int a = 0; a < RK_ACCESSES; a++)
        free(want[a]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static random_kernel r;
    static bool open;
    if (!open && lz_native_codes_open(NULL))
        abort();
    open = true;
    lz_kernel *k = rk_make_of(&r, data, size);
    if (k)
        run(&r, k);
    lz_kernel_release(k);
    rk_free(&r);
    return 0;
}
