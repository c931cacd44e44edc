#include "check.h"
#include "gen/formula/formula_diff.h"
#include <stdio.h>

/* mul and exp are primitives, cube and both are formulas over them, count is of no use to gradients. */
static const char operators[] =
    "- func: mul.Tensor(Tensor self, Tensor other) -> Tensor\n"
    "  inner: self * other\n  dispatch: {CompositeExplicitAutograd: mul}\n"
    "- func: mul_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)\n"
    "  dispatch: {CompositeExplicitAutograd: mul_}\n"
    "- func: exp(Tensor self) -> Tensor\n"
    "  inner: exp(self)\n  dispatch: {CompositeExplicitAutograd: exp}\n"
    "- func: expand(Tensor self, SymInt[] size) -> Tensor\n"
    "  shape: expand\n  dispatch: {CompositeExplicitAutograd: expand}\n"
    "- func: eq.Tensor(Tensor self, Tensor other) -> Tensor\n"
    "  shape: predicate\n  inner: self == other\n  dispatch: {CompositeExplicitAutograd: eq}\n"
    "- func: add.Tensor(Tensor self, Tensor other) -> Tensor\n"
    "  inner: self + other\n  dispatch: {CompositeExplicitAutograd: add}\n"
    "- func: cube(Tensor self) -> Tensor\n"
    "  formula: self * (self * self)\n"
    "- func: same(Tensor self, Tensor other) -> Tensor\n"
    "  formula: exp(self) == other\n"
    "- func: both(Tensor self, Tensor other) -> (Tensor, Tensor)\n"
    "  formula: (exp(self), self == other)\n"
    "- func: pair(Tensor self) -> (Tensor low, Tensor high)\n"
    "  formula: (self, exp(self))\n  dispatch: {CompositeExplicitAutograd: pair}\n"
    "- func: stack(Tensor[] tensors, int dim=0) -> Tensor\n"
    "  formula: tensors[0]\n  dispatch: {CompositeExplicitAutograd: stack}\n";

static const char good[] = "- name: mul.Tensor(Tensor self, Tensor other) -> Tensor\n"
                           "  self: grad * other\n  other: grad * self\n"
                           "  result: self_t * other_p + other_t * self_p\n"
                           "- name: exp(Tensor self) -> Tensor\n"
                           "  self: grad * result\n  result: auto_element_wise\n"
                           "- name: expand(Tensor self, SymInt[] size) -> Tensor\n"
                           "  self: expand(grad, self.shape)\n  result: auto_linear\n"
                           "- name: eq.Tensor(Tensor self, Tensor other) -> Tensor\n"
                           "  self: non_differentiable\n  other: non_differentiable\n"
                           "- name: add.Tensor(Tensor self, Tensor other) -> Tensor\n"
                           "  self, other: (grad, grad)\n";

typedef struct fixture {
    lzg_ops ops;
    lzg_diag diag;
    lzg_definitions defs;
    lzg_diffs diffs;
} fixture;

static lz_err *setup(fixture *f, const char *first, const char *second)
{
    const lzg_yaml *tree;
    lz_str text;
    *f = (fixture){ 0 };
    lzg_diag_init(&f->diag);
    LZ_TRY(lzg_ops_begin(&f->ops, NULL, NULL, &f->diag));
    LZ_TRY(lzg_yaml_parse(&f->ops.arena, lz_str_of(operators), "ops.yaml", &tree));
    LZ_TRY(lzg_ops_add(&f->ops, tree, true, &f->diag));
    LZ_TRY(lzg_ops_check(&f->ops, &f->diag));
    LZ_TRY(lzg_ops_generate(&f->ops, &f->diag));
    LZ_TRY(lzg_ops_group(&f->ops, &f->diag));
    LZ_TRY(lzg_ops_group_views(&f->ops, &f->diag));
    LZ_TRY(lzg_definitions_init(&f->defs, &f->ops, &f->diag));
    LZ_TRY(lzg_diag_error(&f->diag));
    LZ_TRY(lz_arena_printf(&f->ops.arena, &text, "%s%s", first, second));
    LZ_TRY(lzg_yaml_parse(&f->ops.arena, text, "derivatives.yaml", &tree));
    return lzg_diffs_init(&f->diffs, &f->ops, &f->defs, tree, &f->diag);
}

static void teardown(fixture *f)
{
    lzg_diffs_deinit(&f->diffs);
    lzg_definitions_deinit(&f->defs);
    lzg_ops_deinit(&f->ops);
    lzg_diag_deinit(&f->diag);
}

static const lzg_diff *diff_of(const fixture *f, const char *name)
{
    return lzg_diff_of(&f->diffs, lzg_ops_find(&f->ops, lz_str_of(name)));
}

static void check_kinds(const fixture *f)
{
    static const struct {
        const char *name;
        lzg_diff_kind kind;
        uint64_t args, results;
    } table[] = {
        { "mul.Tensor", LZG_DIFF_OWN, 3, 1 }, { "mul_.Tensor", LZG_DIFF_OWN, 3, 1 },
        { "exp", LZG_DIFF_OWN, 1, 1 },        { "eq.Tensor", LZG_DIFF_NOT, 0, 1 },
        { "cube", LZG_DIFF_PARTS, 1, 1 },     { "same", LZG_DIFF_NOT, 0, 0 },
        { "both", LZG_DIFF_PARTS, 1, 1 },     { "pair", LZG_DIFF_PARTS, 1, 3 },
        { "stack", LZG_DIFF_PARTS, 1, 1 },
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        const lzg_diff *d = diff_of(f, table[i].name);
        assert_non_null(d);
        if (d->kind != table[i].kind || d->args != table[i].args || d->results != table[i].results)
            fail_msg("%s: kind %d, args %llx, results %llx", table[i].name, (int)d->kind,
                     (unsigned long long)d->args, (unsigned long long)d->results);
    }
}

static lz_err *test_kinds_and_needs(void)
{
    fixture f;
    lz_err *e = setup(&f, good, "");
    if (!e)
        e = lzg_diag_error(&f.diag);
    if (!e) {
        const lzg_diff *mul = diff_of(&f, "mul.Tensor"), *exp = diff_of(&f, "exp"),
                       *wide = diff_of(&f, "expand");
        check_kinds(&f);
        assert_int_equal(mul->nformulas, 2); /* other, then self: keys are sorted */
        assert_int_equal(mul->formulas[0].gives, 2);
        assert_int_equal(mul->formulas[0].whole, 1);
        assert_int_equal(mul->formulas[1].whole, 2);
        assert_ptr_equal(diff_of(&f, "mul_.Tensor")->like, mul);
        assert_int_equal(mul->forward, LZG_FORWARD_WRITTEN);
        assert_int_equal(mul->forwards[0].whole, 3);
        assert_int_equal(exp->formulas[0].whole, 2); /* the result */
        assert_int_equal(exp->forward, LZG_FORWARD_ELEMENT);
        assert_int_equal(wide->formulas[0].whole, 0);
        assert_int_equal(wide->formulas[0].facts, 1); /* sizes of self */
        assert_int_equal(wide->forward, LZG_FORWARD_LINEAR);
    }
    teardown(&f);
    return e;
}

/* Sizes of the items of a list, of a name for a value, of what a loop goes over. */
static lz_err *test_facts_go_through_names(void)
{
    static const char *const formulas[] = {
        "[expand(grad, t.shape) for t in tensors]",
        "[(let t = tensors[i]; expand(grad, t.shape)) for i in range(len(tensors))]",
    };
    lz_err *e = NULL;
    for (size_t i = 0; !e && i < 2; i++) {
        fixture f;
        char entry[256];
        snprintf(entry, sizeof entry,
                 "- name: stack(Tensor[] tensors, int dim=0) -> Tensor\n  tensors: |\n    %s\n", formulas[i]);
        e = setup(&f, good, entry);
        if (!e)
            e = lzg_diag_error(&f.diag);
        if (!e) {
            assert_int_equal(diff_of(&f, "stack")->formulas[0].facts, 1);
            assert_int_equal(diff_of(&f, "stack")->formulas[0].whole, 0);
        }
        teardown(&f);
    }
    return e;
}

static lz_err *check_findings(const char *first, const char *entry, const char *wanted)
{
    fixture f;
    lz_text t = { 0 };
    lz_err *e = setup(&f, first, entry);
    for (size_t i = 0; !e && i < f.diag.found.len; i++) {
        const lzg_finding *x = &f.diag.found.data[i];
        lz_text_printf(&t, "%d:%d: %.*s\n", x->loc.line, x->loc.col, LZ_FMT(x->reason));
    }
    if (!e)
        e = lz_text_check(&t);
    if (!e && !lz_str_is(lz_text_view(&t), wanted))
        fail_msg("%s\ngives\n%.*s", entry, LZ_FMT(lz_text_view(&t)));
    lz_text_deinit(&t);
    teardown(&f);
    return e;
}

static lz_err *test_refusals(void)
{
    static const char *const pair = "- name: pair(Tensor self) -> (Tensor low, Tensor high)\n";
    static const char *const table[][2] = {
        { "  self: grad * othr\n  other: grad * self\n",
          "2:16: unknown name 'othr' (did you mean 'other'?)\n" },
        { "  self: grad * other\n", "1:3: 'other' needs a formula or the value non_differentiable\n" },
        { "  self: grad.shape\n  other: grad\n",
          "2:9: the formula gives SymInt[], mul.Tensor returns Tensor?\n" },
        { "  other, self: (grad * self, grad * other)\n", "2:16: 'self' is out of order in the key\n" },
        { "  self, other: (grad * other, grad * self)\n", "" },
        { "  self: expnd(grad, [1])\n  other: grad\n",
          "2:9: unknown operator 'expnd' (did you mean 'expand'?)\n" },
        { "  self: (let unused = grad; grad * other)\n  other: grad\n", "2:14: 'unused' is never used\n" },
        { "  self: grad * other\n  other: grad * self\n  result: self_t * other_q\n",
          "4:20: unknown name 'other_q' (did you mean 'other_p'?)\n" },
        { "  output_differentiability: [self.is_floating_point()]\n  self: grad * other\n  other: grad * "
          "self\n",
          "2:29: output_differentiability is a list of booleans\n" },
        { "  self: grads[1]\n  other: grad\n", "2:9: grads[1] is out of bounds: mul.Tensor has 1 outputs\n" },
    };
    static const char *const pairs[][2] = {
        { "  self: grad_low + grad_high * high\n", "" },
        { "  self: grad * high\n  output_differentiability: [True, True]\n",
          "3:29: formulas use grad, but several outputs can have gradients: use grads[i] or "
          "grad_<output>\n" },
        { "  self: grad * high\n", "" },
        { "  self: grads[0] * grads[1]\n", "2:9: Tensor? may be None here: test 'is None' first\n" },
        { "  dispatch:\n    AutogradCUDA:\n      self: grad\n",
          "4:7: derivatives are the same for every dispatch key\n" },
        { "  self: grad_low + grads[1]\n",
          "2:9: formulas mix gradients by name (grad_<output>) with grad or grads\n" },
    };
    const char *rest = strstr(good, "- name: exp("),
               *head = "- name: mul.Tensor(Tensor self, Tensor other) -> Tensor\n";
    char text[2048];
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        snprintf(text, sizeof text, "%s%s", table[i][0], rest);
        LZ_TRY(check_findings(head, text, table[i][1]));
    }
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        snprintf(text, sizeof text, "%s%s", pairs[i][0], good);
        LZ_TRY(check_findings(pair, text, pairs[i][1]));
    }
    return NULL;
}

static lz_err *test_nobody_is_forgotten(void)
{
    static const char *const none = "- name: exp(Tensor self) -> Tensor\n  self: grad * result\n";
    return check_findings(none, "",
                          "1:9: mul.Tensor has no derivative, and no formula to take it from\n"
                          "9:9: expand has no derivative, and no formula to take it from\n"
                          "12:9: eq.Tensor has no derivative, and no formula to take it from\n"
                          "16:9: add.Tensor has no derivative, and no formula to take it from\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LZ_TEST(test_kinds_and_needs),
        LZ_TEST(test_facts_go_through_names),
        LZ_TEST(test_refusals),
        LZ_TEST(test_nobody_is_forgotten),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
