#include "base/text.h"
#include "check.h"
#include "op/op_find.h"

/* Every operator is found under its name, with and without the namespace. */
static lz_err *test_all_are_found(void)
{
    lz_err *e = NULL;
    lz_text full = { 0 };
    for (size_t i = 1; !e && i < LZ_OP_COUNT; i++) {
        const lz_op_row *row = &lz_op_table[i];
        lz_text_clear(&full);
        lz_text_printf(&full, "%s::%s", row->ns, row->name);
        e = lz_text_check(&full);
        if (e)
            break;
        assert_ptr_equal(lz_op_find(lz_text_view(&full)), row);
        assert_string_equal(lz_op_find(lz_str_of(row->name))->name, row->name);
    }
    lz_text_deinit(&full);
    return e;
}

/* A part of a name, a name with more behind it, another namespace, nothing: no operator. */
static lz_err *test_others_are_not(void)
{
    static const char *const names[] = { "",          "::",          "aten::", "aten::ad",
                                         "add.Tenso", "add.Tensor2", "zzzzzz", "aten::zzzz",
                                         "no::mm",    "mm ",         "::mm" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_null(lz_op_find(lz_str_of(names[i])));
    return NULL;
}

/* Namespace, overload and the _ of an in-place form do not count; an operator of the table is never left out.
 */
static lz_err *test_left_out(void)
{
    static const char *const names[] = { "coalesce",  "aten::coalesce", "to_sparse.sparse_dim",
                                         "coalesce_", "sparse_resize_", "_sparse_mm" };
    static const char *const others[] = { "",           "aten::", "coalesce2",     "relu",
                                          "add.Tensor", "_",      "aten::_coalesc" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_string_equal(lz_op_left_out(lz_str_of(names[i])), "sparse tensors");
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_null(lz_op_left_out(lz_str_of(others[i])));
    for (size_t i = 1; i < LZ_OP_COUNT; i++)
        assert_null(lz_op_left_out(lz_str_of(lz_op_table[i].name)));
    return NULL;
}

static lz_err *test_unknown(void)
{
    lz_err *e = lz_op_unknown(LZ_ERR_NOT_FOUND, LZ_STR("aten::hspmm"));
    if (lz_err_code(e) == LZ_ERR_MEMORY)
        return e;
    assert_string_equal(lz_err_text(e), "there is no operator 'aten::hspmm': sparse tensors are not planned");
    lz_err_free(e);
    e = lz_op_unknown(LZ_ERR_NOT_FOUND, LZ_STR("hspmmm"));
    if (lz_err_code(e) == LZ_ERR_MEMORY)
        return e;
    assert_string_equal(lz_err_text(e), "there is no operator 'hspmmm'");
    lz_err_free(e);
    return NULL;
}

int main(void)
{
    const struct CMUnitTest tests[] = { LZ_TEST(test_all_are_found), LZ_TEST(test_others_are_not),
                                        LZ_TEST(test_left_out), LZ_TEST(test_unknown) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
