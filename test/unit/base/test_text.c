#include "base/mem.h"
#include "base/text.h"
#include "check.h"
#include <locale.h>
#include <stdio.h>

static lz_err *test_pieces_join(void)
{
    lz_text t = { 0 };
    lz_text_puts(&t, "x = ");
    lz_text_int(&t, INT64_MIN);
    lz_text_putc(&t, ' ');
    lz_text_fill(&t, '-', 5);
    lz_text_printf(&t, "%s:%d", "end", 7);
    lz_text_add(&t, (lz_str){ NULL, 0 });
    char *out = NULL;
    lz_err *e = lz_text_take(&t, &out);
    if (!e)
        assert_string_equal(out, "x = -9223372036854775808 -----end:7");
    lz_mem_free(out);
    lz_text_deinit(&t);
    return e;
}

static lz_err *test_failure_is_told_once_at_the_end(void)
{
    lz_text t = { 0 };
    for (int i = 0; i < 1000; i++)
        lz_text_printf(&t, "line %d\n", i);
    lz_err *e = lz_text_check(&t);
    if (!e) {
        lz_str v = lz_text_view(&t);
        assert_true(lz_str_ends(v, LZ_STR("line 999\n")));
        assert_int_equal(v.len, 10 * 7 + 90 * 8 + 900 * 9);
    } else {
        assert_true(t.failed);
        lz_text_clear(&t);
        assert_null(lz_text_check(&t));
    }
    lz_text_deinit(&t);
    return e;
}

static lz_err *test_save_into_an_arena(void)
{
    lz_text t = { 0 };
    lz_arena a = { 0 };
    lz_str one = { 0 }, two = { 0 };
    lz_text_puts(&t, "first");
    lz_err *e = lz_text_save(&t, &a, &one);
    lz_text_puts(&t, "second");
    e = e ? e : lz_text_save(&t, &a, &two);
    if (!e) {
        assert_string_equal(one.ptr, "first");
        assert_string_equal(two.ptr, "second");
        assert_int_equal(lz_text_view(&t).len, 0);
    }
    lz_text_deinit(&t);
    lz_arena_deinit(&a);
    return e;
}

static lz_err *test_doubles_read_back(void)
{
    const double values[] = { 0.1, -0.0, 1e300, 5e-324, 1.0 / 3, 123456789012345680.0 };
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        lz_text t = { 0 };
        char *out = NULL;
        lz_text_double(&t, values[i]);
        LZ_TRY(lz_text_take(&t, &out));
        double back = 0;
        assert_int_equal(sscanf(out, "%lf", &back), 1);
        assert_memory_equal(&back, &values[i], sizeof back);
        lz_mem_free(out);
    }
    return NULL;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LZ_TEST(test_pieces_join),
        LZ_TEST(test_failure_is_told_once_at_the_end),
        LZ_TEST(test_save_into_an_arena),
        LZ_TEST(test_doubles_read_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
