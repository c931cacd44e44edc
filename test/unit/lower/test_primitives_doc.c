/* docs/primitives.md names every operator that is written by hand, once, and no other. */
#include "base/file.h"
#include "base/mem.h"
#include "check.h"
#include "lower/lower_table.h"
#include "op/op_table.h"
#include <stdio.h>

static bool is_named(const char *page, const char *name)
{
    char row[128];
    snprintf(row, sizeof row, "\n| `%s` | `src/lower/", name);
    return strstr(page, row) != NULL;
}

/* The first operator that a function lowers stands for all of them. */
static bool is_first(uint32_t op)
{
    for (uint32_t i = 1; i < op; i++)
        if (lz_lower_table[i].fn == lz_lower_table[op].fn)
            return false;
    return true;
}

static size_t count_rows(const char *page)
{
    size_t n = 0;
    for (const char *at = page; (at = strstr(at, "` | `src/lower/")); at++)
        n++;
    return n;
}

static lz_err *test_operators(void)
{
    char *page;
    size_t len, n = 0;
    LZ_TRY(lz_file_read(LZ_SOURCE_DIR "/docs/primitives.md", 1 << 20, &len, &page));
    for (uint32_t i = 1; i < LZ_OP_COUNT; i++)
        if (lz_lower_table[i].kind == LZ_LOWER_PRIMITIVE && is_first(i)) {
            if (!is_named(page, lz_op_table[i].name))
                fail_msg("docs/primitives.md does not name %s", lz_op_table[i].name);
            n++;
        }
    assert_int_equal(count_rows(page), n);
    lz_mem_free(page);
    return NULL;
}

int main(void)
{
    const struct CMUnitTest tests[] = { LZ_TEST(test_operators) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
