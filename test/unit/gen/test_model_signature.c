#include "check.h"
#include "gen/model/model.h"

static const lz_loc nowhere = { 0 };
static const lzg_signature_options plain = { 0 };

static lz_err *check(const char *text, lzg_signature_options o, const char *want)
{
    lz_arena a = { 0 };
    const lzg_schema *s, *sig, *again;
    lz_err *e = lzg_schema_parse(&a, lz_str_of(text), nowhere, &s);
    if (!e)
        e = lzg_schema_signature(&a, s, o, &sig);
    if (!e) {
        if (!lz_str_is(sig->text, want))
            fail_msg("%s: %s", text, sig->text.ptr);
        e = lzg_schema_parse(&a, sig->text, nowhere, &again); /* a signature is a schema */
    }
    if (!e)
        e = lzg_schema_signature(&a, again, plain, &again); /* and its own signature */
    if (!e && !o.keep_return_names)
        assert_true(lz_str_is(again->text, want));
    lz_arena_deinit(&a);
    return e;
}

static lz_err *test_variants_share_a_signature(void)
{
    const char *want = "add(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor";
    LZ_TRY(check("add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor", plain, want));
    LZ_TRY(check("add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)", plain, want));
    return check("add.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)", plain,
                 want);
}

static lz_err *test_written_arguments_become_returns(void)
{
    LZ_TRY(check("f_(Tensor(a!)[] self, Tensor(b!) x) -> ()", plain,
                 "f(Tensor[] self, Tensor x) -> (Tensor[], Tensor)"));
    LZ_TRY(check("f(Tensor self, Tensor(a!) x, Tensor(b!)? y) -> Tensor r",
                 (lzg_signature_options){ .keep_return_names = true },
                 "f(Tensor self, Tensor x, Tensor? y) -> (Tensor r, Tensor x_out, Tensor? y_out)"));
    LZ_TRY(check("f_functional.o(Tensor self, Tensor(a!) x, *, Tensor(b!)[] o) -> ()", plain,
                 "f(Tensor self, Tensor x) -> (Tensor[], Tensor)"));
    return check("record(Tensor(a!) self, Stream s) -> ()", plain, "record(Tensor self, Stream s) -> Tensor");
}

static lz_err *test_options_and_defaults(void)
{
    const char *factory =
        "f(int n, *, int a=1, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
        "bool? pin_memory=None, int b=2) -> Tensor";
    LZ_TRY(check(factory, plain, "f(int n, *, int a=1, int b=2) -> Tensor"));
    return check(factory, (lzg_signature_options){ .strip_default = true },
                 "f(int n, *, int a, int b) -> Tensor");
}

static lz_err *test_view_names(void)
{
    lzg_signature_options view = { .strip_view_copy_name = true };
    LZ_TRY(check("view_copy(Tensor self) -> Tensor", view, "view(Tensor self) -> Tensor"));
    LZ_TRY(check("a_copy_b_copy.x(Tensor self) -> Tensor", view, "a_b(Tensor self) -> Tensor"));
    LZ_TRY(check("a_copy_b(Tensor self) -> Tensor", view, "a_copy_b(Tensor self) -> Tensor"));
    LZ_TRY(check("slice_scatter(Tensor self) -> Tensor", view, "slice_inverse(Tensor self) -> Tensor"));
    return check("view_copy(Tensor self) -> Tensor", plain, "view_copy(Tensor self) -> Tensor");
}

static lz_err *test_bernoulli(void)
{
    return check("bernoulli.p(Tensor self, float p, *, Generator? generator=None) -> Tensor", plain,
                 "bernoulli(Tensor self, float p=0.5, *, Generator? generator=None) -> Tensor");
}

static lz_err *test_a_schema_from_parts(void)
{
    lz_arena a = { 0 };
    const lzg_schema *s, *made = NULL;
    lz_err *e = lzg_schema_parse(&a, LZ_STR("f.x(Tensor self, int n=1) -> (Tensor, int k)"), nowhere, &s);
    lzg_schema parts = { 0 };
    if (!e) {
        parts = *s;
        parts.name.overload = LZ_STR("y");
        e = lzg_schema_make(&a, &parts, nowhere, &made);
    }
    if (!e) {
        assert_true(lz_str_is(made->text, "f.y(Tensor self, int n=1) -> (Tensor, int k)"));
        parts.name.inplace = true;
        e = lz_check_err(lzg_schema_make(&a, &parts, nowhere, &made), LZ_ERR_MODEL, "in-place");
    }
    lz_arena_deinit(&a);
    return e;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LZ_TEST(test_variants_share_a_signature),
        LZ_TEST(test_written_arguments_become_returns),
        LZ_TEST(test_options_and_defaults),
        LZ_TEST(test_view_names),
        LZ_TEST(test_bernoulli),
        LZ_TEST(test_a_schema_from_parts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
