#include "open_ctx.h"
#include <stdio.h>

/* What a program can see of what happened, and forbid. */

static const float four[] = { 1, 2, 3, 4 };

static lz_tensor *data(lz_ctx *c)
{
    return lz_from_memory(c, LZ_F32, LZ_DIMS(2, 2), four);
}

/* ---- counters ---- */

static void some_work(lz_ctx *c)
{
    lz_tensor *x = data(c), *y = lz_neg(c, lz_add_Tensor(c, x, x));
    lz_mark_step(c);
    assert_string_equal(lz_print(y), "tensor([[-2., -4.],\n        [-6., -8.]])");
}

static void test_uploads_are_counted(void **state)
{
    (void)state;
    lz_ctx *c = open_ctx(NULL);
    lz_metrics_clear();
    assert_int_equal(count("DeviceDataUploaded"), 0);
    data(c);
    data(c);
    assert_int_equal(count("DeviceDataUploaded"), 2);
    lz_add_Scalar(c, data(c), 5); /* a number is an argument, not data */
    lz_mark_step(c);
    assert_int_equal(count("DeviceDataUploaded"), 3);
    assert_true(count("IrValueTensorToDataHandle") > 0);
    close_ctx(c);
}

static void test_report_has_every_timer(void **state)
{
    static const char *const names[] = { "Record",
                                         "Lower",
                                         "Compile",
                                         "Execute",
                                         "Sync",
                                         "TensorsGraphSize",
                                         "IrValueTensorToDataHandle",
                                         "DeviceDataUploaded",
                                         "CreateLtcTensor",
                                         "MarkStep",
                                         "UncachedCompile",
                                         "SyncedTensorsWithIR",
                                         "lazy::add",
                                         "lazy::neg" };
    char *text;
    (void)state;
    lz_ctx *c = open_ctx(NULL);
    some_work(c);
    assert_null(lz_metrics_text(&text));
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strstr(text, names[i]) || !count(names[i]))
            fail_msg("%s is %lld in\n%s", names[i], (long long)count(names[i]), text);
    lz_text_free(text);
    close_ctx(c);
}

/* One call in 1024, from the first. */
static void test_recording_is_sampled(void **state)
{
    char *text;
    (void)state;
    lz_ctx *c = open_ctx(NULL);
    lz_metrics_clear();
    for (int i = 0; i < 3000; i++)
        lz_release(lz_neg(c, data(c)));
    assert_null(lz_metrics_text(&text));
    const char *at = strstr(text, "Record\n");
    assert_non_null(at);
    assert_non_null(strstr(at, "TotalSamples: 3\n"));
    lz_text_free(text);
    close_ctx(c);
}

/* What a backend counts is its own, and nobody clears it. */
static void expect_only_backends(void)
{
    const char *name;
    for (size_t i = 0; (name = lz_counter_name(i)); i++)
        assert_memory_equal(name, "Ts", 2);
}

static bool has_name(const char *wanted)
{
    const char *name;
    for (size_t i = 0; (name = lz_counter_name(i)); i++)
        if (strcmp(name, wanted) == 0)
            return true;
    return false;
}

static size_t occurrences(const char *text, const char *part)
{
    size_t n = 0;
    for (const char *at = text; (at = strstr(at, part)); at++)
        n++;
    return n;
}

static void test_metrics_of_a_backend_are_told_once(void **state)
{
    char *text;
    (void)state;
    lz_ctx *c = open_ctx(NULL);
    some_work(c);
    assert_null(lz_metrics_text(&text));
    assert_int_equal(occurrences(text, "TsLaunches"), 1);
    assert_int_equal(occurrences(text, "TsBytesPeak"), 1);
    lz_text_free(text);
    close_ctx(c);
}

static void test_names_are_sorted_and_not_zero(void **state)
{
    size_t n = 0;
    bool seen = false;
    char before[128] = "";
    (void)state;
    lz_ctx *c = open_ctx(NULL);
    lz_metrics_clear();
    expect_only_backends(); /* section 8, 22: none before use */
    some_work(c);
    for (const char *name; (name = lz_counter_name(n)); n++) {
        assert_true(strcmp(before, name) < 0);
        assert_true(count(name) != 0);
        seen = seen || strcmp(name, "lazy::neg") == 0;
        snprintf(before, sizeof before, "%s", name);
    }
    assert_true(seen && n > 5);
    assert_true(has_name("TsLaunches")); /* a metric of the backend */
    lz_metrics_clear();
    expect_only_backends();
    close_ctx(c);
}

/* ---- limits ---- */

static void test_trim_by_bytes(void **state)
{
    float got[4];
    (void)state;
    lz_ctx *c = open_ctx(&(lz_options){ .trim_bytes = 64 << 10 });
    lz_metrics_clear();
    lz_tensor *x = data(c), *one = lz_ones(c, LZ_DIMS(2, 2));
    for (int i = 0; i < 2000; i++) {
        lz_tensor *y = lz_add_Tensor(c, x, one);
        lz_release(x);
        x = y;
    }
    assert_in_range(count("TrimIrGraph"), 2, 50);
    assert_int_equal(count("MarkStep"), 0);
    assert_true(lz_read(x, got, sizeof got));
    for (int i = 0; i < 4; i++)
        assert_true(got[i] == four[i] + 2000);
    close_ctx(c);
}

/* ---- what is forbidden ---- */

/* The read is refused with this word, at the next one nothing is forbidden and all is there. */
static void refused(lz_ctx *c, unsigned events, lz_tensor *t, const char *word)
{
    float got[4];
    lz_forbid(c, events);
    assert_false(lz_read(t, got, sizeof got));
    if (!strstr(lz_message(c), word))
        fail_msg("'%s' is not in '%s'", word, lz_message(c));
    lz_clear(c);
    lz_forbid(c, 0);
    assert_true(lz_read(t, got, sizeof got));
    assert_true(got[0] == -1 && got[3] == -4);
}

static void test_forbidden_events(void **state)
{
    (void)state;
    lz_ctx *c = open_ctx(&(lz_options){ .force_fallback = "aten::neg" });
    lz_cache_clear(c);
    refused(c, LZ_COMPILE, lz_neg(c, data(c)), "a compile is forbidden here");
    refused(c, LZ_SYNC, lz_neg(c, data(c)), "a sync is forbidden here");
    refused(c, LZ_FALLBACK, lz_neg(c, data(c)), "a fallback is forbidden here");
    refused(c, LZ_COPY, lz_neg(c, data(c)), "a copy between devices or to the host is forbidden here");
    close_ctx(c);
}

/* What does not happen is not refused. */
static void test_forbidding_is_no_more_than_that(void **state)
{
    float got[4];
    (void)state;
    lz_ctx *c = open_ctx(NULL);
    lz_tensor *x = data(c);
    lz_mul_Scalar(c, x, 2);
    lz_mark_step(c);
    lz_forbid(c, LZ_COMPILE | LZ_FALLBACK | LZ_COPY);
    lz_tensor *y = lz_mul_Scalar(c, x, 3); /* another number, the same graph */
    assert_true(lz_mark_step(c));
    lz_forbid(c, LZ_SYNC | LZ_COMPILE | LZ_FALLBACK);
    assert_true(lz_read(y, got, sizeof got)); /* held: read without a sync */
    assert_true(lz_mark_step(c));             /* nothing is pending */
    assert_true(got[3] == 12);
    lz_forbid(c, LZ_COPY);
    assert_string_equal(lz_print(y), "");
    assert_non_null(strstr(lz_message(c), "forbidden here"));
    lz_clear(c);
    lz_nonzero(c, y); /* looks at elements on the host */
    assert_non_null(strstr(lz_message(c), "forbidden here"));
    lz_clear(c);
    close_ctx(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_uploads_are_counted),
                                        cmocka_unit_test(test_report_has_every_timer),
                                        cmocka_unit_test(test_recording_is_sampled),
                                        cmocka_unit_test(test_names_are_sorted_and_not_zero),
                                        cmocka_unit_test(test_metrics_of_a_backend_are_told_once),
                                        cmocka_unit_test(test_trim_by_bytes),
                                        cmocka_unit_test(test_forbidden_events),
                                        cmocka_unit_test(test_forbidding_is_no_more_than_that) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
