#include "gen/torch/gen_python_functions.h"
#include "gen_text.h"
#include <stdio.h>

static const char operators[] =
    "- func: f.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor\n"
    "- func: f.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor\n"
    "- func: f_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> "
    "Tensor(a!)\n"
    "- func: f.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) -> "
    "Tensor(a!)\n"
    "- func: g.a(Tensor self, int n=1) -> (Tensor x, int y)\n"
    "- func: g.b(Tensor self, int n=1, float z=1.0) -> (Tensor x, int y)\n";

/* The entries, or one NULL-terminated word per target in *out. */
static lz_err *load(lzg_ops *ops, lzg_python *p, const char *yaml, lzg_diag *d)
{
    const lzg_yaml *tree;
    LZ_TRY(gen_ops(ops, operators, d));
    LZ_TRY(lzg_python_init(p, ops));
    LZ_TRY(lzg_yaml_parse(&ops->arena, lz_str_of(yaml), "deprecated", &tree));
    return lzg_deprecated_load(&p->arena, p->functions, p->nfunctions, tree, d, &p->deprecated);
}

static void print_targets(const lzg_deprecated_list *l, lz_text *out)
{
    for (size_t i = 0; i < l->n; i++)
        for (size_t k = 0; k < l->at[i].ntargets; k++)
            lz_text_printf(out, "%.*s ", LZ_FMT(l->at[i].targets[k]->func->name.text));
}

static lz_err *with(const char *yaml, lz_text *out)
{
    lzg_ops ops = { 0 };
    lzg_python p = { 0 };
    lzg_diag d;
    lz_err *e = load(&ops, &p, yaml, &d);
    if (!e)
        e = lzg_diag_error(&d);
    if (!e) {
        assert_int_equal(p.deprecated.n, p.deprecated.entries);
        print_targets(&p.deprecated, out);
    }
    lzg_python_deinit(&p);
    lzg_ops_deinit(&ops);
    lzg_diag_deinit(&d);
    return e ? e : lz_text_check(out);
}

/* The operators that the entries stand for. */
static lz_err *check(const char *yaml, const char *want)
{
    lz_text text = { 0 };
    lz_err *e = with(yaml, &text);
    if (!e)
        assert_text(&text, want);
    lz_text_deinit(&text);
    return e;
}

static lz_err *refuse(const char *yaml, const char *why)
{
    lz_text text = { 0 };
    lz_err *e = lz_check_err(with(yaml, &text), LZ_ERR_MODEL, why);
    lz_text_deinit(&text);
    return e;
}

#define ENTRY(name, aten) "- name: '" name "'\n  aten: " aten "\n"

static lz_err *test_calls_find_their_operators(void)
{
    LZ_TRY(check(ENTRY("f(Tensor self, Scalar alpha, Tensor other) -> Tensor", "f(self, other, alpha)"),
                 "f.Tensor "));
    LZ_TRY(check(ENTRY("f(Tensor self, Tensor other) -> Tensor", "f(self, other, 1)"), "f.Tensor "));
    LZ_TRY(check(ENTRY("f(Tensor self, Tensor other) -> Tensor", "f(self, other)"), "f.Tensor "));
    LZ_TRY(check(ENTRY("f(Tensor self) -> Tensor", "f(self, 1)"), "f.Scalar "));
    LZ_TRY(check(ENTRY("old(Tensor a, int b) -> (Tensor x, int y)", "g(a, b)"), "g.a g.b "));
    return check(
        ENTRY("f_(Tensor(a!) self, Scalar alpha, Tensor other) -> Tensor(a!)", "f_(self, other, alpha)"),
        "f_.Tensor ");
}

static lz_err *test_out_comes_first(void)
{
    const char *entry = ENTRY("f(Tensor self, Scalar alpha, Tensor other, *, Tensor(a!) out) -> Tensor(a!)",
                              "f_out(out, self, other, alpha)");
    return check(entry, "f.out ");
}

static lz_err *test_how_a_call_is_written(void)
{
    const char *schema = "f(Tensor self, Tensor other) -> Tensor";
    static const struct {
        const char *aten, *why; /* why NULL: fine */
    } calls[] = {
        { "f.any(self, other)", NULL },        { "'f(self, other) and more'", NULL },
        { "'f(self, other, 1, 1, 1)'", NULL }, { "f", "is a call" },
        { "'f (self, other)'", "is a call" },  { "'.x(self, other)'", "is a call" },
        { "'f.(self, other)'", "is a call" },  { "f(self, other", "is a call" },
        { "'f()'", "neither an argument" },    { "f(self,other)", "neither an argument" },
        { "f(self, other, 2)", "'2'" },        { "'(self)'", "is a call" },
    };
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        char entry[256];
        snprintf(entry, sizeof entry, "- name: '%s'\n  aten: %s\n", schema, calls[i].aten);
        LZ_TRY(calls[i].why ? refuse(entry, calls[i].why) : check(entry, "f.Tensor "));
    }
    return NULL;
}

static lz_err *test_what_does_not_agree(void)
{
    const char *none = "no operator";
    LZ_TRY(refuse(ENTRY("h(Tensor self) -> Tensor", "h(self)"), none));
    LZ_TRY(refuse(ENTRY("f(Tensor self) -> Tensor", "f(self)"), none));
    LZ_TRY(refuse(ENTRY("f(Tensor self, int other) -> Tensor", "f(self, other)"), none));
    LZ_TRY(refuse(ENTRY("f(Tensor(a) self, Tensor other) -> Tensor", "f(self, other)"), none));
    LZ_TRY(refuse(ENTRY("f(Tensor self, Tensor other) -> Tensor r", "f(self, other)"), none));
    LZ_TRY(refuse(ENTRY("f(Tensor self, Tensor other) -> (Tensor, Tensor)", "f(self, other)"), none));
    return refuse(ENTRY("g(Tensor self) -> (Tensor x, int z)", "g(self)"), none);
}

static lz_err *test_the_shape_of_the_file(void)
{
    LZ_TRY(check("[]", ""));
    LZ_TRY(check("{}", ""));
    LZ_TRY(check("''", ""));
    LZ_TRY(refuse("", "a list"));
    LZ_TRY(refuse("name: f", "a list"));
    LZ_TRY(refuse("- f", "a mapping"));
    LZ_TRY(refuse("- aten: f(self)", "'name'"));
    LZ_TRY(refuse("- name: f(Tensor self) -> Tensor", "'aten'"));
    LZ_TRY(refuse("- name: 1\n  aten: f(self)", "a string"));
    LZ_TRY(refuse("- name: f(Tensor self) -> Tensor\n  aten: 1", "a string"));
    return check("- name: f(Tensor self, Tensor other) -> Tensor\n  aten: f(self, other)\n  note: 1\n",
                 "f.Tensor ");
}

/* Every entry is judged; a finding stands at its line. */
static lz_err *test_every_entry_is_judged(void)
{
    lzg_ops ops = { 0 };
    lzg_python p = { 0 };
    lzg_diag d;
    lz_err *e = load(&ops, &p,
                     ENTRY("f(Tensor self) -> Tensor", "f(what)")
                         ENTRY("f(Tensor self, Tensor other) -> Tensor", "f(self, other)")
                             ENTRY("f(Tensor self -> Tensor", "f(self)"),
                     &d);
    if (!e) {
        assert_int_equal(d.found.len, 2);
        assert_int_equal(d.found.data[0].loc.line, 2);
        assert_int_equal(d.found.data[0].loc.col, 11);
        assert_int_equal(d.found.data[1].loc.line, 5);
        assert_true(lz_str_is(d.found.data[1].context, "f(Tensor self -> Tensor"));
        assert_int_equal(p.deprecated.n, 1);
        assert_int_equal(p.deprecated.entries, 3);
    }
    lzg_python_deinit(&p);
    lzg_ops_deinit(&ops);
    lzg_diag_deinit(&d);
    return e;
}

/* Signatures that Python cannot have are refused with the file. */
static lz_err *test_old_signatures_must_be_signatures(void)
{
    lzg_ops ops = { 0 };
    lzg_diag d;
    const lzg_yaml *tree;
    lz_err *e = gen_ops(&ops, operators, &d);
    if (!e)
        e = lzg_yaml_parse(
            &ops.arena,
            LZ_STR(ENTRY("f(Tensor self, Tensor other, int requires_grad) -> Tensor", "f(self, other)")),
            "deprecated", &tree);
    if (!e)
        e = lzg_check_deprecated(&ops, tree, &d);
    if (!e)
        e = lz_check_err(lzg_diag_error(&d), LZ_ERR_MODEL, "requires_grad");
    lzg_ops_deinit(&ops);
    lzg_diag_deinit(&d);
    return e;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LZ_TEST(test_calls_find_their_operators),
        LZ_TEST(test_out_comes_first),
        LZ_TEST(test_how_a_call_is_written),
        LZ_TEST(test_what_does_not_agree),
        LZ_TEST(test_the_shape_of_the_file),
        LZ_TEST(test_every_entry_is_judged),
        LZ_TEST(test_old_signatures_must_be_signatures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
