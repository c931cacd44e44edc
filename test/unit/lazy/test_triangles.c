#include "open_ctx.h"
#include <stdlib.h>

/* tril_indices and triu_indices against loops over the rows. */

typedef lz_tensor *make_fn(lz_ctx *c, int64_t rows, int64_t columns, int64_t offset);

static lz_tensor *lower(lz_ctx *c, int64_t rows, int64_t columns, int64_t offset)
{
    return lz_tril_indices(c, rows, columns, .offset = offset);
}

static lz_tensor *upper(lz_ctx *c, int64_t rows, int64_t columns, int64_t offset)
{
    return lz_triu_indices(c, rows, columns, .offset = offset);
}

static bool belongs(make_fn *make, int64_t row, int64_t column, int64_t offset)
{
    return make == lower ? column - row <= offset : column - row >= offset;
}

static void check(lz_ctx *c, make_fn *make, int64_t rows, int64_t columns, int64_t offset)
{
    lz_tensor *t = make(c, rows, columns, offset);
    int64_t n = lz_tensor_sizes(t).v[1], at = 0;
    int64_t *found = malloc((size_t)(2 * n + 1) * sizeof *found);
    assert_non_null(found);
    assert_true(lz_read(t, found, (size_t)(2 * n) * sizeof *found));
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j++) {
            if (!belongs(make, i, j, offset))
                continue;
            assert_true(at < n);
            assert_int_equal(found[at], i);
            assert_int_equal(found[n + at], j);
            at++;
        }
    assert_int_equal(at, n);
    free(found);
    lz_release(t);
}

static void test_small(void **state)
{
    lz_ctx *c = open_ctx(NULL);
    (void)state;
    for (int64_t rows = 0; rows < 5; rows++)
        for (int64_t columns = 0; columns < 5; columns++)
            for (int64_t offset = -6; offset <= 6; offset++) {
                check(c, lower, rows, columns, offset);
                check(c, upper, rows, columns, offset);
            }
    close_ctx(c);
}

/* Square roots of large numbers are rounded; indices are not. */
static void test_large(void **state)
{
    static const int64_t sizes[][3] = { { 1500, 1500, 0 }, { 2000, 700, -31 }, { 700, 2000, 513 } };
    lz_ctx *c = open_ctx(NULL);
    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        check(c, lower, sizes[i][0], sizes[i][1], sizes[i][2]);
        check(c, upper, sizes[i][0], sizes[i][1], sizes[i][2]);
    }
    close_ctx(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_small), cmocka_unit_test(test_large) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
