#include "check.h"
#include "jit/code_cache.h"

/* y = x * a + c, of several shapes; each number changes one thing. */
enum { SAME, OP, CONSTANT, DTYPE, VARY, DIMS, PARAM, STORES, MODE, CHANGES };

static lz_err *build(int change, lz_kernel **out)
{
    lz_kernel_builder *b;
    LZ_TRY(lz_kernel_builder_create(change == MODE ? LZ_KERNEL_COLUMNS : LZ_KERNEL_ROWS,
                                    change == DIMS ? 2 : 1, 1, &b));
    lz_dtype in = change == DTYPE ? LZ_F16 : LZ_F32;
    int x = lz_kernel_build_access(b, in, change == VARY ? LZ_KERNEL_OUTER : LZ_KERNEL_ELEMENT);
    int y = lz_kernel_build_access(b, LZ_F32, LZ_KERNEL_ELEMENT);
    lz_kernel_value a = lz_kernel_build_param(b, LZ_KERNEL_F32);
    if (change == PARAM)
        lz_kernel_build_param(b, LZ_KERNEL_I64);
    lz_kernel_value v =
        lz_kernel_build_op2(b, change == OP ? LZ_KERNEL_SUB : LZ_KERNEL_MUL, lz_kernel_build_load(b, x), a);
    v = lz_kernel_build_op2(b, LZ_KERNEL_ADD, v,
                            lz_kernel_build_const_f(b, LZ_KERNEL_F32, change == CONSTANT ? 2.5 : 1.5));
    lz_kernel_build_store(b, y, v);
    if (change == STORES)
        lz_kernel_build_store(b, lz_kernel_build_access(b, LZ_F32, LZ_KERNEL_ELEMENT), v);
    return lz_kernel_builder_finish(b, out);
}

static lz_err *key_of(const lz_kernel *k, const lz_native_variant *v, const char *target, lz_text *out)
{
    lz_text_clear(out);
    lz_kernel_key(k, v, target, out);
    return lz_text_check(out);
}

static lz_err *compare(const lz_kernel *one, const lz_kernel *two, lz_text *t1, lz_text *t2)
{
    lz_native_variant v = { .run = { LZ_RUN_NEXT, LZ_RUN_NEXT } };
    LZ_TRY(key_of(one, &v, "cpu", t1));
    LZ_TRY(key_of(two, &v, "cpu", t2));
    assert_int_equal(lz_str_eq(lz_text_view(t1), lz_text_view(t2)), lz_kernel_equal(one, two));
    return NULL;
}

static lz_err *compare_all(lz_kernel *const *k, lz_text *t1, lz_text *t2)
{
    for (int i = 0; i < CHANGES; i++)
        for (int j = 0; j < CHANGES; j++)
            LZ_TRY(compare(k[i], k[j], t1, t2));
    return NULL;
}

/* Equal kernels have equal keys, different ones different keys. */
static lz_err *test_kernels(void)
{
    lz_kernel *k[CHANGES + 1] = { 0 };
    lz_text t1 = { 0 }, t2 = { 0 };
    lz_err *e = NULL;
    for (int i = 0; !e && i <= CHANGES; i++)
        e = build(i % CHANGES, &k[i]);
    if (!e)
        e = compare_all(k, &t1, &t2);
    if (!e)
        e = compare(k[SAME], k[CHANGES], &t1, &t2);
    for (int i = 0; !e && i < CHANGES; i++)
        assert_int_equal(lz_kernel_equal(k[SAME], k[i]), i == SAME);
    for (int i = 0; i <= CHANGES; i++)
        lz_kernel_release(k[i]);
    lz_text_deinit(&t1);
    lz_text_deinit(&t2);
    return e;
}

static lz_err *differ(const lz_kernel *k, lz_native_variant v, const char *target, const lz_text *first,
                      bool differs)
{
    lz_text t = { 0 };
    lz_err *e = key_of(k, &v, target, &t);
    if (!e)
        assert_int_equal(lz_str_eq(lz_text_view(first), lz_text_view(&t)), !differs);
    lz_text_deinit(&t);
    return e;
}

static lz_err *all_variants(const lz_kernel *k, const lz_text *first)
{
    const lz_native_variant v = { .run = { LZ_RUN_NEXT, LZ_RUN_NEXT } };
    lz_native_variant w = v;
    LZ_TRY(differ(k, w, "cpu", first, false));
    LZ_TRY(differ(k, w, "cpu2", first, true));
    LZ_TRY(differ(k, w, "", first, true));
    w.run[0] = LZ_RUN_SAME;
    LZ_TRY(differ(k, w, "cpu", first, true));
    w = v, w.run[1] = LZ_RUN_STEP;
    LZ_TRY(differ(k, w, "cpu", first, true));
    w = v, w.stream[1] = 1;
    LZ_TRY(differ(k, w, "cpu", first, true));
    w = v, w.columns = 1;
    LZ_TRY(differ(k, w, "cpu", first, true));
    w = v, w.across_table = 1;
    return differ(k, w, "cpu", first, true);
}

static lz_err *test_variants(void)
{
    lz_kernel *k;
    lz_text first = { 0 };
    const lz_native_variant v = { .run = { LZ_RUN_NEXT, LZ_RUN_NEXT } };
    LZ_TRY(build(SAME, &k));
    lz_err *e = key_of(k, &v, "cpu", &first);
    if (!e)
        e = all_variants(k, &first);
    lz_kernel_release(k);
    lz_text_deinit(&first);
    return e;
}

int main(void)
{
    const struct CMUnitTest tests[] = { LZ_TEST(test_kernels), LZ_TEST(test_variants) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
