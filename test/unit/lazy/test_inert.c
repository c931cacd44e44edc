/* What failed calls return can be looked at before anybody checks for errors. */
#include "check.h"
#include <lazuli/lazuli.h>
#include <math.h>
#include <stdio.h>

static lz_tensor *fail_once(lz_ctx *c)
{
    return lz_mm(c, lz_zeros(c, LZ_DIMS(2, 3)), lz_zeros(c, LZ_DIMS(2, 3)));
}

/* All n, and some behind them, are inert tensors. */
static void expect_list(lz_tensors list, int64_t n)
{
    assert_int_equal(list.n, n);
    for (int64_t i = 0; i < (n < 200 ? 256 : n); i++)
        assert_true(list.v[i] && lz_tensor_is_inert(list.v[i]));
}

static void test_lists(void **state)
{
    (void)state;
    lz_ctx *c = lz_open(NULL);
    lz_tensor *bad = fail_once(c), *good = lz_zeros(c, LZ_DIMS(4, 4));
    expect_list(lz_chunk(c, bad, 4, .dim = 1), 4);
    expect_list(lz_split_with_sizes(c, bad, LZ_INTS(1, 2, 3)), 3);
    expect_list(lz_split_sizes(c, bad, LZ_INTS(1, 2, 3, 4)), 4);
    expect_list(lz_tensor_split_sections(c, bad, 5), 5);
    expect_list(lz_tensor_split_indices(c, bad, LZ_INTS(1, 3)), 3);
    expect_list(lz_broadcast_tensors(c, LZ_TENSORS(good, bad)), 2);
    expect_list(lz_meshgrid_indexing(c, LZ_TENSORS(bad, good, good), "ij"), 3);
    expect_list(lz_chunk(c, bad, 1000), 1000);
    expect_list(lz_unbind_int(c, bad), 0);
    expect_list(lz_chunk(c, good, -3), 0);       /* refused */
    assert_int_equal(lz_chunk(c, good, 3).n, 2); /* and what PyTorch gives, where nothing fails */
    lz_close(c);
}

static void test_shapes(void **state)
{
    (void)state;
    lz_ctx *c = lz_open(NULL);
    lz_tensor *bad = fail_once(c);
    for (int i = 0; i < 64; i++)
        assert_true(lz_tensor_sizes(bad).v[i] == 0 && lz_tensor_strides(NULL).v[i] == 0);
    assert_true(lz_tensor_sizes(bad).n == 0 && lz_tensor_ndim(NULL) == 0 && lz_tensor_numel(bad) == 0);
    assert_true(lz_tensor_dtype(NULL) == LZ_DTYPE_NONE && lz_tensor_is_inert(NULL));
    assert_false(lz_tensor_is_held(NULL) || lz_is_alias_of(NULL, bad) || lz_is_alias_of(bad, NULL));
    assert_true(!lz_tensor_ctx(NULL) && lz_tensor_ctx(bad) == c);
    lz_close(c);
}

static void test_items(void **state)
{
    (void)state;
    lz_ctx *c = lz_open(NULL);
    assert_true(lz_item(lz_full(c, LZ_DIMS(1), 7, .dtype = LZ_I64)).re == 7);
    assert_true(lz_item_int(lz_full(c, LZ_DIMS(1), -2.9)) == -2);
    assert_true(lz_item_double(lz_full(c, LZ_DIMS(1), true, .dtype = LZ_BOOL)) == 1);
    assert_true(lz_item_int(lz_full(c, LZ_DIMS(1), INFINITY)) == INT64_MAX);
    assert_true(lz_item_int(lz_full(c, LZ_DIMS(1), -1e30)) == INT64_MIN);
    assert_true(lz_item_int(lz_full(c, LZ_DIMS(1), (double)NAN)) == 0);
    assert_true(isnan(lz_item_double(lz_full(c, LZ_DIMS(1), (double)NAN))));
    assert_false(lz_failed(c));
    assert_true(isnan(lz_item_double(fail_once(c))) && lz_item(NULL).kind == LZ_SCALAR_NONE);
    lz_clear(c);
    assert_true(isnan(lz_item(lz_zeros(c, LZ_DIMS(2))).re) && lz_failed(c));
    lz_close(c);
}

static void test_archives(void **state)
{
    (void)state;
    lz_ctx *c = lz_open(NULL);
    lz_archive *a = lz_archive_open(c, "/there/is/no/such.npz");
    assert_true(!a && lz_failed(c));
    lz_clear(c);
    assert_true(lz_tensor_is_inert(lz_archive_tensor(c, a, "x")));
    assert_true(lz_archive_count(a) == 0 && lz_archive_find(a, "x") == SIZE_MAX);
    assert_string_equal(lz_archive_name(a, 3), "");
    assert_string_equal(lz_archive_format(a), "");
    assert_true(lz_archive_dtype(a, 0) == LZ_DTYPE_NONE && lz_archive_sizes(a, 0).n == 0);
    assert_true(lz_archive_metadata_count(a) == 0 && !lz_archive_metadata(a, "k"));
    assert_string_equal(lz_archive_metadata_at(a, 0).key, "");
    lz_close(c);
}

/* Lists that are arrays, and options that are absent, as positional arguments. */
static void test_arguments(void **state)
{
    (void)state;
    lz_ctx *c = lz_open(NULL);
    lz_tensor *parts[3];
    const int64_t sizes[2] = { 2, 3 };
    for (int i = 0; i < 3; i++)
        parts[i] = lz_full(c, lz_ints_of(sizes, 2), (double)i);
    lz_tensor *all = lz_cat(c, lz_tensors_of(parts, 3), .dim = 1);
    assert_true(lz_tensor_sizes(all).v[1] == 9);
    assert_true(lz_item_double(lz_sum(c, all)) == 18);
    assert_true(lz_item_double(lz_sum_dim_IntList(c, all, lz_none_ints())) == 18);
    assert_false(lz_failed(c));
    lz_close(c);
}

static void test_npy(void **state)
{
    (void)state;
    char path[4096];
    const float v[] = { 1.5F, -2, 3, 4, 5, 6 };
    float got[6];
    lz_ctx *c = lz_open(NULL);
    snprintf(path, sizeof path, "%s/x.npy", lz_check_dir());
    lz_tensor *x = lz_from_memory(c, LZ_F32, LZ_DIMS(2, 3), v);
    assert_true(lz_save_npy(lz_transpose_int(c, x, 0, 1), path));
    lz_tensor *y = lz_load_npy(c, path);
    assert_true(lz_tensor_sizes(y).v[0] == 3 && lz_tensor_sizes(y).v[1] == 2);
    assert_true(lz_read(lz_transpose_int(c, y, 0, 1), got, sizeof got));
    assert_memory_equal(got, v, sizeof v);
    assert_false(lz_failed(c));
    assert_true(lz_tensor_is_inert(lz_load_npy(c, "/there/is/no/such.npy")));
    assert_true(lz_place(c).line == __LINE__ - 1 && strstr(lz_message(c), "such.npy"));
    lz_clear(c);
    assert_false(lz_save_npy(x, NULL) || lz_save_npy(fail_once(c), path));
    lz_close(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lists),    cmocka_unit_test(test_shapes),    cmocka_unit_test(test_items),
        cmocka_unit_test(test_archives), cmocka_unit_test(test_arguments), cmocka_unit_test(test_npy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
