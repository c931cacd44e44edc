#include "open_ctx.h"
#include <stdio.h>

/* Programs that become slower as they run are named, with the line, by lz_explain and by the report; others
 * are not. */

static bool says(lz_ctx *c, const char *part)
{
    char *report = NULL;
    assert_null(lz_metrics_text(&report));
    bool both = strstr(lz_explain(c), part) && strstr(report, part);
    lz_text_free(report);
    return both;
}

static void expect(lz_ctx *c, const char *part)
{
    if (!says(c, part))
        fail_msg("nobody says '%s', but: %s", part, lz_explain(c));
}

static lz_tensor *number(lz_ctx *c, float v)
{
    return lz_from_memory(c, LZ_F32, LZ_DIMS(1), &v);
}

/* "test_watch.c:123" */
static const char *line(int n)
{
    static char text[64];
    (void)snprintf(text, sizeof text, "test_watch.c:%d", n);
    return text;
}

/* ---- graphs that grow ---- */

static void test_list_that_grows(void **state)
{
    enum { TIMES = 20 };
    lz_tensor *list[TIMES];
    int made = 0, run = 0;
    (void)state;
    lz_ctx *c = open_ctx(NULL);
    for (int i = 0; i < TIMES; i++) {
        list[i] = lz_retain(number(c, (float)i));
        lz_scope *s = lz_scope_push(c);
        lz_tensors all = { list, i + 1 };
        made = __LINE__ + 1;
        lz_tensor *sum = lz_sum(c, lz_stack(c, all));
        run = __LINE__ + 1;
        assert_true(lz_item(sum).re == i * (i + 1) / 2.0);
        lz_scope_pop(s);
    }
    expect(c, "grows each time and is compiled each time");
    expect(c, line(run));
    expect(c, line(made));
    assert_true(count("GrowingGraph") > 0);
    for (int i = 0; i < TIMES; i++)
        lz_release(list[i]);
    close_ctx(c);
}

/* A value that is carried from step to step, while only others are synced. */
static void test_value_that_is_never_synced(void **state)
{
    int made = 0;
    (void)state;
    lz_ctx *c = open_ctx(NULL);
    lz_tensor *total = lz_retain(number(c, 0)), *x = lz_retain(number(c, 1));
    for (int i = 0; i < 80; i++) {
        lz_scope *s = lz_scope_push(c);
        made = __LINE__ + 1;
        lz_tensor *next = lz_retain(lz_add_Scalar(c, total, 1));
        lz_release(total);
        total = next;
        lz_tensor *y = lz_mul_Scalar(c, x, 2);
        lz_sync(c, &y, 1);
        lz_scope_pop(s);
    }
    expect(c, "pending values grow");
    expect(c, line(made));
    assert_true(lz_item(total).re == 80);
    lz_release(total);
    lz_release(x);
    close_ctx(c);
}

/* ---- graphs that are dropped and asked for again ---- */

static void test_small_cache(void **state)
{
    int made = 0;
    (void)state;
    lz_ctx *c = open_ctx(&(lz_options){ .cache_size = 3 });
    for (int i = 0; i < 40; i++) {
        lz_scope *s = lz_scope_push(c);
        float v[8] = { 0 };
        made = __LINE__ + 1;
        lz_tensor *y = lz_exp(c, lz_from_memory(c, LZ_F32, LZ_DIMS(1 + i % 8), v));
        assert_true(lz_item(lz_sum(c, y)).re == 1 + i % 8);
        lz_scope_pop(s);
    }
    expect(c, "compiled again");
    expect(c, line(made));
    expect(c, "shape is");
    assert_int_equal(count("CompiledAgain"), 32);
    close_ctx(c);
    c = open_ctx(&(lz_options){ .cache_size = 1024 }); /* of the whole process */
    close_ctx(c);
}

/* ---- tensors that no scope releases ---- */

static void test_no_scope(void **state)
{
    int made = 0;
    (void)state;
    lz_ctx *c = open_ctx(NULL);
    lz_tensor *x = lz_retain(number(c, 1));
    for (int i = 0; i < 80; i++) {
        made = __LINE__ + 1;
        lz_tensor *y = lz_mul_Scalar(c, x, 2);
        assert_true(lz_item(y).re == 2);
    }
    expect(c, "tensors are alive");
    expect(c, "no scope is pushed");
    expect(c, line(made));
    assert_true(count("MissingScope") > 0);
    lz_release(x);
    close_ctx(c);
}

/* The scope was pushed before the loop. */
static void test_scope_outside(void **state)
{
    (void)state;
    lz_ctx *c = open_ctx(NULL);
    lz_tensor *x = lz_retain(number(c, 1));
    int pushed = __LINE__ + 1;
    lz_scope *s = lz_scope_push(c);
    for (int i = 0; i < 80; i++) {
        lz_mul_Scalar(c, x, 2);
        lz_mark_step(c);
    }
    expect(c, "stay until the scope is popped");
    expect(c, line(pushed));
    lz_scope_pop(s);
    lz_release(x);
    close_ctx(c);
}

/* ---- programs that are as they should be ---- */

static void test_nothing_to_say(void **state)
{
    (void)state;
    lz_ctx *c = open_ctx(NULL);
    lz_metrics_clear();
    lz_tensor *w = lz_retain(number(c, 1)), *kept[3] = { 0 };
    for (int i = 0; i < 200; i++) {
        lz_scope *s = lz_scope_push(c);
        lz_add__Scalar(c, w, 0.5);
        lz_tensor *y = lz_mul_Tensor(c, w, number(c, (float)i));
        if (kept[i % 3])
            lz_release(kept[i % 3]);
        kept[i % 3] = lz_retain(y);
        lz_sync(c, &y, 1);
        if (i % 10 == 0)
            lz_item(lz_sum(c, y));
        lz_scope_pop(s);
        lz_mark_step(c);
    }
    assert_null(strstr(lz_explain(c), "Warning"));
    assert_int_equal(count("GrowingGraph") + count("CompiledAgain") + count("MissingScope"), 0);
    char *report;
    assert_null(lz_metrics_text(&report));
    assert_null(strstr(report, "Warning"));
    lz_text_free(report);
    for (int i = 0; i < 3; i++)
        lz_release(kept[i]);
    lz_release(w);
    close_ctx(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_list_that_grows), cmocka_unit_test(test_value_that_is_never_synced),
        cmocka_unit_test(test_small_cache),     cmocka_unit_test(test_no_scope),
        cmocka_unit_test(test_scope_outside),   cmocka_unit_test(test_nothing_to_say),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
