#include "check.h"
#include "gen/text/diag.h"

static const lz_loc here = { "f.yaml", 7, 3 };

static lz_err *fill(lzg_diag *d)
{
    LZ_TRY(lzg_diag_take(d, NULL, here, LZ_STR("")));
    assert_false(lzg_diag_any(d));
    LZ_TRY(lzg_diag_take(d, lz_err_at(LZ_ERR_SYNTAX, (lz_loc){ "g.yaml", 1, 2 }, "bad"), here,
                         LZ_STR("f() -> ()")));
    LZ_TRY(lzg_diag_take(d, lz_errf(LZ_ERR_MODEL, "worse"), here, LZ_STR("")));
    return NULL;
}

static lz_err *check_print(const lzg_diag *d, const char *want)
{
    lz_text t = { 0 };
    lzg_diag_print(d, &t);
    lz_err *e = lz_text_check(&t);
    if (!e && !lz_str_is(lz_text_view(&t), want))
        fail_msg("printed '%.*s'", LZ_FMT(lz_text_view(&t)));
    lz_text_deinit(&t);
    return e;
}

static lz_err *check_found(lzg_diag *d)
{
    LZ_TRY(fill(d));
    assert_int_equal(d->found.data[0].code, LZ_ERR_SYNTAX);
    LZ_TRY(check_print(d, "g.yaml:1:2: bad\n    f() -> ()\nf.yaml:7:3: worse\n"));
    lz_err *e = lzg_diag_error(d);
    if (lz_err_code(e) == LZ_ERR_MODEL)
        assert_int_equal(lz_err_loc(e).col, 2);
    return lz_check_err(e, LZ_ERR_MODEL, "f.yaml:7:3: worse");
}

static lz_err *test_findings(void)
{
    lzg_diag d;
    lzg_diag_init(&d);
    assert_null(lzg_diag_error(&d));
    lz_err *e = check_found(&d);
    lzg_diag_deinit(&d);
    return e;
}

static lz_err *check_limit(lzg_diag *d)
{
    d->limit = 1;
    LZ_TRY(fill(d));
    LZ_TRY(lzg_diag_take(d, lz_errf(LZ_ERR_MODEL, "third"), here, LZ_STR("")));
    assert_int_equal(d->found.len, 1);
    return check_print(d, "g.yaml:1:2: bad\n    f() -> ()\nand 2 more\n");
}

static lz_err *test_limit(void)
{
    lzg_diag d;
    lzg_diag_init(&d);
    lz_err *e = check_limit(&d);
    lzg_diag_deinit(&d);
    return e;
}

/* Running out of memory is no finding. */
static lz_err *test_memory_errors_pass(void)
{
    lzg_diag d;
    lzg_diag_init(&d);
    assert_ptr_equal(lzg_diag_take(&d, lz_err_oom(), here, LZ_STR("")), lz_err_oom());
    assert_false(lzg_diag_any(&d));
    lzg_diag_deinit(&d);
    return NULL;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LZ_TEST(test_findings),
        LZ_TEST(test_limit),
        LZ_TEST(test_memory_errors_pass),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
