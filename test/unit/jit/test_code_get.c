#include "base/mem.h"
#include "check.h"
#include "jit/code_cache.h"
#include "jit/codes.h"
#include <stdio.h>
#include <stdlib.h>

static char folder[200];

static void new_folder(void)
{
    static int serial;
    snprintf(folder, sizeof folder, "%s/%d", lz_check_dir(), serial++);
    setenv("LAZULI_CACHE_DIR", folder, 1);
}

/* y = x * x + 1 */
static lz_err *build(lz_kernel **out)
{
    lz_kernel_builder *b;
    LZ_TRY(lz_kernel_builder_create(LZ_KERNEL_ROWS, 0, 1, &b));
    lz_kernel_value x = lz_kernel_build_load(b, lz_kernel_build_access(b, LZ_F32, LZ_KERNEL_ELEMENT));
    lz_kernel_value y = lz_kernel_build_op2(b, LZ_KERNEL_ADD, lz_kernel_build_op2(b, LZ_KERNEL_MUL, x, x),
                                            lz_kernel_build_const_f(b, LZ_KERNEL_F32, 1));
    lz_kernel_build_store(b, lz_kernel_build_access(b, LZ_F32, LZ_KERNEL_ELEMENT), y);
    return lz_kernel_builder_finish(b, out);
}

static const lz_native_variant side_by_side = { .run = { LZ_RUN_NEXT, LZ_RUN_NEXT } };

static void assert_right(const lz_native_loaded *c)
{
    enum { N = 37 };
    float x[N], y[N + 1];
    for (int i = 0; i < N; i++)
        x[i] = (float)i;
    y[N] = 7;
    const lz_native_access access[] = { { .base = (char *)x, .step = 4 }, { .base = (char *)y, .step = 4 } };
    void *scratch = aligned_alloc(64, (size_t)(c->needs.scratch + N * c->needs.scratch_row + 127) / 64 * 64);
    lz_native_frame f = {
        .n_outer = 1, .n_row = N, .access = access, .tiles = lz_tile(), .scratch = scratch
    };
    assert_int_equal(c->run(&f), LZ_CODE_FINE);
    for (int i = 0; i < N; i++)
        assert_true(y[i] == x[i] * x[i] + 1);
    assert_true(y[N] == 7);
    free(scratch);
}

/* One after the other: what is found, and whether it was made for that. */
static lz_err *get(const lz_kernel *k, bool make, bool *found, bool *made)
{
    lz_native_loaded c = { 0 };
    *made = false;
    LZ_TRY(lz_native_get(k, &side_by_side, make, &c, made));
    *found = c.run != NULL;
    if (c.run)
        assert_right(&c);
    lz_native_unload(&c);
    return NULL;
}

static lz_err *get_some(const lz_kernel *k)
{
    bool found, made, sure = !lz_check_failing(); /* storing may fail for want of memory */
    LZ_TRY(get(k, false, &found, &made));
    assert_false(found || made);
    LZ_TRY(get(k, true, &found, &made));
    assert_true(found && made);
    LZ_TRY(get(k, false, &found, &made));
    assert_true((found && !made) || !sure);
    LZ_TRY(get(k, true, &found, &made));
    assert_true(found && (!made || !sure));
    return NULL;
}

static lz_err *with_kernel(lz_err *(*test)(const lz_kernel *k))
{
    lz_kernel *k;
    new_folder();
    LZ_TRY(build(&k));
    lz_err *e = test(k);
    lz_kernel_release(k);
    return e;
}

static lz_err *test_get(void)
{
    return with_kernel(get_some);
}

/* Another object for the one kernel that is there, in an entry without fault. */
static lz_err *exchange(const lz_cache_folder *f, const char *name, lz_str object)
{
    lz_cache_object o;
    lz_text t = { 0 };
    LZ_TRY(lz_cache_folder_read(f, name, &o));
    bool ours = lz_str_starts(o.entry.key, LZ_STR("kernel"));
    if (ours)
        lz_native_entry_write(o.entry.key, object, &t);
    lz_err *e = lz_text_check(&t);
    if (!e && ours)
        e = lz_cache_folder_write(f, name, lz_text_view(&t));
    lz_text_deinit(&t);
    lz_mem_free(o.memory);
    return e;
}

static lz_err *exchange_all(lz_str object)
{
    lz_cache_folder f;
    lz_cache_files all = { 0 };
    LZ_TRY(lz_cache_folder_open(false, &f));
    lz_err *e = lz_cache_folder_list(&f, &all);
    for (size_t i = 0; !e && i < all.len; i++)
        e = exchange(&f, all.data[i].name, object);
    lz_vec_deinit(&all);
    lz_cache_folder_close(&f);
    return e;
}

static lz_err *get_odd(const lz_kernel *k)
{
    static const lz_str odd[] = { { "", 0 }, { "no object", 9 }, { "\177ELF\2\1\1", 7 } };
    bool found, made;
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        LZ_TRY(get(k, true, &found, &made));
        if (lz_check_failing())
            continue; /* there may be no entry */
        LZ_TRY(exchange_all(odd[i]));
        LZ_TRY(get(k, true, &found, &made));
        assert_true(found && made);
        LZ_TRY(get(k, true, &found, &made));
        assert_true(found && !made);
    }
    return NULL;
}

/* What cannot be loaded is made again. */
static lz_err *test_odd_objects(void)
{
    return with_kernel(get_odd);
}

static lz_err *get_refused(const lz_kernel *k)
{
    bool found, made;
    LZ_TRY(get(k, true, &found, &made));
    if (lz_check_failing())
        return NULL;
    LZ_TRY(exchange_all(LZ_STR("refused: too large a kernel")));
    LZ_TRY(lz_check_err(get(k, true, &found, &made), LZ_ERR_LIMIT, "too large a kernel"));
    assert_false(made);
    return lz_check_err(get(k, false, &found, &made), LZ_ERR_LIMIT, "too large a kernel");
}

static lz_err *test_refusals_are_kept(void)
{
    return with_kernel(get_refused);
}

/* LLVM stays loaded, so it is loaded before anybody counts. */
static bool can_compile(void)
{
    lz_kernel *k = NULL;
    lz_native_loaded c = { 0 };
    bool made = false;
    new_folder();
    lz_err *e = build(&k);
    e = e ? e : lz_native_get(k, &side_by_side, true, &c, &made);
    lz_native_unload(&c);
    lz_kernel_release(k);
    lz_err_free(e);
    return made;
}

int main(void)
{
    const struct CMUnitTest tests[] = { LZ_TEST(test_get), LZ_TEST(test_odd_objects),
                                        LZ_TEST(test_refusals_are_kept) };
    return can_compile() ? cmocka_run_group_tests(tests, NULL, NULL) : 0;
}
