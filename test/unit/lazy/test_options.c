/* What a program asks of a context makes the difference that it promises, or is refused by name. Everything
 * also runs with each of its allocations failing. */
#include "check.h"
#include <lazuli/io.h>
#include <lazuli/lazuli.h>
#include <stdlib.h>
#include <unistd.h>

static lz_err *finish(lz_ctx *c)
{
    lz_err *e = lz_failed(c) ? lz_errf(lz_code_of(c), "%s", lz_message(c)) : NULL;
    lz_close(c);
    return e;
}

/* The last call failed and says this, unless memory was out. */
static void expect_failure(lz_ctx *c, const char *part)
{
    if (lz_code_of(c) == LZ_ERR_MEMORY)
        return;
    if (!strstr(lz_message(c), part))
        fail_msg("\"%s\" says nothing of \"%s\"", lz_message(c), part);
    lz_clear(c);
}

static lz_tensor *two(lz_ctx *c)
{
    return lz_add_Scalar(c, lz_ones(c, LZ_INTS(3)), LZ_S(1));
}

/* ---- operators that must not run on the device ---- */

static lz_err *open_with(const char *forced, const char *refused)
{
    lz_ctx *c = lz_open(&(lz_options){ .force_fallback = forced });
    if (!c)
        return lz_err_oom();
    if (refused)
        expect_failure(c, refused);
    return finish(c);
}

static lz_err *test_unknown_fallback(void)
{
    LZ_TRY(open_with("aten::sub,aten::nosuch", "no operator 'aten::nosuch'"));
    LZ_TRY(open_with("add.Nosuch", "no operator 'add.Nosuch'"));
    LZ_TRY(open_with("", NULL));
    return open_with(" , aten::sub , add.Scalar,", NULL);
}

static lz_err *test_forced_fallback(void)
{
    static const char *const ways[] = { "aten::add", "add", " aten::add.Scalar , mul" };
    for (size_t i = 0; i < 3; i++) {
        int64_t n = 0;
        lz_ctx *c = lz_open(&(lz_options){ .force_fallback = ways[i] });
        if (!c)
            return lz_err_oom();
        lz_tensor *t = two(c);
        lz_sync(c, &t, 1);
        if (!lz_failed(c) && (lz_counter_value("aten::add.Scalar", &n) || !lz_check_failing()))
            assert_int_equal(n, 1);
        LZ_TRY(finish(c));
    }
    return NULL;
}

static lz_err *test_unknown_injection(void)
{
    setenv("LAZULI_INJECT_FAILURE", "add", 1);
    lz_ctx *c = lz_open(NULL);
    unsetenv("LAZULI_INJECT_FAILURE");
    if (!c)
        return lz_err_oom();
    expect_failure(c, "LAZULI_INJECT_FAILURE=add: expected an operator with its overload");
    return finish(c);
}

/* ---- dumps ---- */

static lz_err *dump_of(lz_ctx *c, lz_tensor *t, lz_dump_form form, const char *part)
{
    char *text;
    if (lz_failed(c))
        return NULL;
    LZ_TRY(lz_dump(c, &t, 1, form, &text));
    if (!strstr(text, part) && !(lz_check_failing() && !*text)) /* a backend without memory has no text */
        fail_msg("%s has no %s", text, part);
    lz_text_free(text);
    return NULL;
}

static lz_err *dump_forms(lz_ctx *c)
{
    char *text;
    lz_scope_push_as(c, NULL);
    lz_scope_push_as(c, "encoder");
    lz_scope_push_as(c, "");
    lz_scope_push_as(c, "block");
    lz_tensor *t = two(c);
    LZ_TRY(dump_of(c, t, LZ_DUMP_TEXT, "scope=encoder.1/block.1, location="));
    LZ_TRY(dump_of(c, t, LZ_DUMP_DOT, "\\nencoder.1/block.1\\n"));
    LZ_TRY(dump_of(c, t, LZ_DUMP_BACKEND, "aten::add"));
    if (lz_failed(c))
        return NULL;
    lz_err *e = lz_dump(c, &t, 1, (lz_dump_form)9, &text);
    assert_non_null(e);
    bool is_memory = lz_err_code(e) == LZ_ERR_MEMORY;
    assert_true(is_memory || strstr(lz_err_text(e), "expected an lz_dump_form, got 9"));
    if (is_memory)
        return e;
    lz_err_free(e);
    return NULL;
}

static lz_err *test_dumps(void)
{
    lz_ctx *c = lz_open(&(lz_options){ .scopes_in_graph = true });
    if (!c)
        return lz_err_oom();
    lz_err *e = dump_forms(c);
    lz_err *other = finish(c);
    if (e)
        lz_err_free(other);
    return e ? e : other;
}

/* ---- NULL ---- */

static lz_err *test_nothing(void)
{
    lz_tensor *none = NULL, *out = NULL;
    lz_ctx *c = lz_open(NULL), *far = lz_open(NULL);
    if (!c || !far) {
        lz_close(c);
        lz_close(far);
        return lz_err_oom();
    }
    lz_tensor *x = two(c), *there = two(far);
    if (!lz_failed(c)) {
        assert_false(lz_read(x, NULL, 12));
        expect_failure(c, "expected memory, found NULL");
    }
    for (int i = 0; i < 2 && !lz_failed(c) && !lz_failed(far); i++) {
        lz_compiled *f = lz_extract(c, &x, 1, i ? &none : &there, 1);
        assert_null(f);
        expect_failure(c, "tensor 0 does not belong to this context");
        out = x;
        assert_false(lz_compiled_run(f, &x, 1, &out, 1));
        assert_null(out);
    }
    lz_err *e = finish(far), *other = finish(c);
    if (e)
        lz_err_free(other);
    return e ? e : other;
}

/* ---- a checkpoint whose step nobody asks for ---- */

static lz_err *test_step_of_a_checkpoint(void)
{
    char path[4096];
    int64_t step = 0;
    lz_ctx *c = lz_open(NULL);
    if (!c)
        return lz_err_oom();
    lz_check_temp("step.safetensors", path);
    const lz_named_tensor t = { "t", two(c) };
    lz_save_checkpoint(c, path, (lz_named_tensors){ &t, 1 }, 7);
    lz_archive *a = lz_open_checkpoint(c, path, NULL), *b = lz_open_checkpoint(c, path, &step);
    if (!lz_failed(c)) {
        assert_int_equal(step, 7);
        assert_true(lz_tensor_is_inert(lz_archive_tensor(c, a, NULL)));
        expect_failure(c, "there is no tensor ''");
    }
    lz_archive_close(a);
    lz_archive_close(b);
    unlink(path);
    return finish(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LZ_TEST(test_unknown_fallback),  LZ_TEST(test_forced_fallback),
        LZ_TEST(test_unknown_injection), LZ_TEST(test_dumps),
        LZ_TEST(test_nothing),           LZ_TEST(test_step_of_a_checkpoint),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
