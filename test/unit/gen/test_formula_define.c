#include "base/dir.h"
#include "base/file.h"
#include "base/mem.h"
#include "check.h"
#include "dir_list.h"
#include "gen/formula/formula_define.h"

typedef struct fixture {
    lzg_ops ops;
    lzg_diag diag;
    lzg_definitions defs;
} fixture;

static lz_err *read_entries(fixture *f, const char *yaml)
{
    const char *text = "- {tag: view_copy, desc: x}\n- {tag: generated, desc: x}\n";
    const lzg_yaml *tree;
    lzg_diag_init(&f->diag);
    LZ_TRY(lzg_ops_begin(&f->ops, NULL, NULL, &f->diag));
    LZ_TRY(lzg_yaml_parse(&f->ops.arena, lz_str_of(text), "tags.yaml", &tree));
    LZ_TRY(lzg_ops_add_tags(&f->ops, tree, &f->diag));
    LZ_TRY(lzg_yaml_parse(&f->ops.arena, lz_str_of(yaml), "ops.yaml", &tree));
    LZ_TRY(lzg_ops_add(&f->ops, tree, true, &f->diag));
    LZ_TRY(lzg_ops_check(&f->ops, &f->diag));
    LZ_TRY(lzg_ops_generate(&f->ops, &f->diag));
    LZ_TRY(lzg_ops_group(&f->ops, &f->diag));
    LZ_TRY(lzg_ops_group_views(&f->ops, &f->diag));
    LZ_TRY(lzg_diag_error(&f->diag));
    return lzg_definitions_init(&f->defs, &f->ops, &f->diag);
}

static void teardown(fixture *f)
{
    lzg_definitions_deinit(&f->defs);
    lzg_ops_deinit(&f->ops);
    lzg_diag_deinit(&f->diag);
}

/* The findings of these entries, printed. */
static lz_err *check_findings(const char *yaml, const char *wanted)
{
    fixture f = { 0 };
    lz_text t = { 0 };
    lz_err *e = read_entries(&f, yaml);
    if (!e) {
        for (size_t i = 0; i < f.diag.found.len; i++)
            lz_text_printf(&t, "%d:%d: %.*s\n", f.diag.found.data[i].loc.line, f.diag.found.data[i].loc.col,
                           LZ_FMT(f.diag.found.data[i].reason));
        e = lz_text_check(&t);
    }
    if (!e && !lz_str_is(lz_text_view(&t), wanted))
        fail_msg("%s\ngives\n%.*s", yaml, LZ_FMT(lz_text_view(&t)));
    lz_text_deinit(&t);
    teardown(&f);
    return e;
}

static lz_err *test_a_definition_is_due_once(void)
{
    static const char *const table[][2] = {
        { "- func: f(Tensor self) -> Tensor\n",
          "1:9: f has no definition: expected formula, inner or shape\n" },
        { "- func: f(Tensor self) -> Tensor\n  formula: self\n", "" },
        { "- func: f(Tensor self) -> Tensor\n  formula: self\n  inner: self\n",
          "3:10: inner cannot be combined with a formula\n" },
        { "- func: f(Tensor self) -> Tensor\n  formula: self\n  shape: like\n",
          "3:10: shape cannot be combined with a formula\n" },
        { "- func: f(Tensor self) -> Tensor\n  inner: self\n  shape: pointwise_float\n", "" },
        { "- func: f(Tensor self) -> Tensor\n  formula: self\n"
          "- func: f_(Tensor(a!) self) -> Tensor(a!)\n"
          "- func: f.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)\n",
          "" },
        { "- func: f(Tensor self) -> Tensor\n  formula: self\n"
          "- func: f_(Tensor(a!) self) -> Tensor(a!)\n  formula: self\n",
          "4:12: the definition of f_ is that of f\n" },
        { "- func: f_(Tensor(a!) self) -> Tensor(a!)\n",
          "1:9: f_ has no definition: expected formula, inner or shape\n" },
        { "- func: f_(Tensor(a!) self) -> Tensor(a!)\n  formula: self\n", "" },
        { "- func: v(Tensor(a) self) -> Tensor(a)\n  formula: self\n  dispatch: {CompositeExplicitAutograd: "
          "v}\n"
          "- func: v_copy(Tensor self) -> Tensor\n  tags: view_copy\n"
          "  dispatch: {CompositeExplicitAutograd: v_copy}\n",
          "" },
        { "- func: f(Tensor self) -> ()\n  formula: self\n",
          "2:12: a formula for an operator that returns nothing\n" },
        { "- func: f(Tensor self) -> Tensor\n  formula: [self]\n",
          "2:12: expected a formula, found a list\n" },
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        LZ_TRY(check_findings(table[i][0], table[i][1]));
    return NULL;
}

static lz_err *test_rules_must_fit(void)
{
    static const char *const table[][2] = {
        { "- func: f(Tensor self) -> Tensor\n  shape: liek\n",
          "2:10: unknown rule 'liek' (did you mean 'like'?)\n" },
        { "- func: f(Tensor self) -> Tensor\n  shape: pointwise\n",
          "2:10: the rule 'pointwise' needs inner\n" },
        { "- func: f(Tensor self) -> Tensor\n  shape: like\n  inner: self\n",
          "2:10: the rule 'like' cannot be combined with inner\n" },
        { "- func: f(Tensor self, int dim) -> Tensor\n  shape: reduce\n",
          "2:10: the rule 'reduce' needs an argument 'keepdim' of type bool\n" },
        { "- func: f(Tensor self, str dim, bool keepdim) -> Tensor\n  shape: reduce\n",
          "2:10: the rule 'reduce' needs an argument 'dim' of type int\n" },
        { "- func: f(Tensor self, int[1]? dim, bool keepdim) -> Tensor\n  shape: reduce\n", "" },
        { "- func: f(Tensor self) -> (Tensor, Tensor)\n  shape: like\n",
          "2:10: the rule 'like' is for 1 results, f has 2\n" },
        { "- func: f(Tensor self, Tensor other) -> Tensor\n  shape: predicate\n  inner: self < other\n", "" },
        { "- func: f(Tensor self, Tensor other) -> Tensor\n  shape: predicate\n  inner: self + other\n",
          "3:10: the formula gives Scalar, f returns bool\n" },
        { "- func: f(int n) -> Tensor\n  inner: n\n",
          "2:10: inner needs an operator that takes and returns tensors\n" },
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        LZ_TRY(check_findings(table[i][0], table[i][1]));
    return NULL;
}

static lz_err *test_static_names_numbers(void)
{
#define NORM                                                                                                 \
    "- func: norm(Tensor self, Scalar p, int dim) -> Tensor\n  formula: |\n    p == 2 ? self : self\n"
    static const char *const table[][2] = {
        { NORM "  static: [p]\n", "" },
        { NORM,
          "3:5: the condition depends on the run-time value of 'p': use where(), or name it under static\n" },
        { NORM "  static: [q]\n", "4:12: static names 'q', which is no argument\n" },
        { NORM "  static: [p, sefl]\n",
          "4:15: static names 'sefl', which is no argument (did you mean 'self'?)\n" },
        { NORM "  static: [dim]\n", "4:12: 'dim' is known before the run anyway: static is for numbers\n" },
        { NORM "  static: [p, p]\n", "4:15: 'p' occurs twice\n" },
        { NORM "  static: [1]\n", "4:12: expected the name of an argument, found an integer\n" },
        { NORM "  static: p\n", "4:11: static is a list of arguments, not a string\n" },
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        LZ_TRY(check_findings(table[i][0], table[i][1]));
    return NULL;
}

static lz_err *test_formulas_come_to_an_end(void)
{
    static const char *const table[][2] = {
        { "- func: f(Tensor self) -> Tensor\n  formula: f(self)\n",
          "2:12: the formula leads back to itself: f -> f\n" },
        { "- func: a(Tensor self) -> Tensor\n  formula: b(self)\n"
          "- func: b(Tensor self) -> Tensor\n  formula: c(c(self))\n"
          "- func: c(Tensor self, int n=0) -> Tensor\n  formula: |\n    n == 0 ? self\n    : a(self)\n",
          "8:7: the formula leads back to itself: a -> b -> c -> a\n" },
        { "- func: a(Tensor self) -> Tensor\n  formula: b(self) + b(self)\n"
          "- func: b(Tensor self) -> Tensor\n  formula: self\n"
          "- func: add(Tensor self, Tensor other) -> Tensor\n  inner: self + other\n",
          "" },
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        LZ_TRY(check_findings(table[i][0], table[i][1]));
    return NULL;
}

static lz_err *test_every_mistake_is_found(void)
{
    return check_findings("- func: f(Tensor self) -> Tensor\n  formula: g(self\n"
                          "- func: g(Tensor self) -> Tensor\n  formula: |\n    let x = self;\n    h(x)\n"
                          "- func: k(Tensor self) -> Tensor\n  formula: self\n"
                          "- func: m(Tensor self) -> Tensor\n  formula: k(k(self), 1)\n",
                          "2:18: expected ')', found the end\n"
                          "6:5: unknown operator 'h'\n"
                          "10:23: k takes 1 arguments by position\n");
}

static lz_err *test_definitions_are_found(void)
{
    static const char yaml[] = "- func: f(Tensor self, Scalar p) -> Tensor\n  formula: self\n  static: [p]\n"
                               "- func: f_(Tensor(a!) self, Scalar p) -> Tensor(a!)\n"
                               "- func: mine::g(Tensor self) -> Tensor\n  inner: self\n";
    fixture f = { 0 };
    lz_err *e = read_entries(&f, yaml);
    if (!e) {
        const lzg_definition *d = lzg_definitions_find(&f.defs, LZ_STR("f"));
        const lzg_definition *in = lzg_definitions_find(&f.defs, LZ_STR("f_"));
        const lzg_definition *g = lzg_definitions_find(&f.defs, LZ_STR("mine::g"));
        assert_null(lzg_definitions_find(&f.defs, LZ_STR("g")));
        assert_int_equal(d->kind, LZG_DEF_FORMULA);
        assert_int_equal(in->kind, LZG_DEF_DERIVED);
        assert_ptr_equal(in->from, d->function);
        assert_true(d->is_static[1] && in->is_static[1] && !in->is_static[0]);
        assert_int_equal(g->kind, LZG_DEF_POINTWISE);
        assert_string_equal(g->rule->name, "pointwise");
        assert_string_equal(lzg_definition_kind_name(g->kind), "pointwise");
        assert_ptr_equal(lzg_definition_of(&f.defs, g->function), g);
    }
    teardown(&f);
    return e;
}

/* ---- the project's own operators ---- */

#define OPS LZ_SOURCE_DIR "/ops"

static bool holds_operators(lz_str file)
{
    static const char *const others[] = { "tags.yaml", "derivatives.yaml", "left_out.yaml" };
    bool holds = lz_str_ends(file, LZ_STR(".yaml"));
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        holds = holds && !lz_str_is(file, others[i]);
    return holds;
}

static lz_err *list_own(lz_arena *a, const char ***out)
{
    lz_str *names, path;
    size_t count, n = 0;
    LZ_TRY(dir_list(OPS, a, &count, &names));
    LZ_TRY(lz_arena_new(a, out, count + 1));
    for (size_t i = 0; i < count; i++) {
        if (!holds_operators(names[i]))
            continue;
        LZ_TRY(lz_arena_printf(a, &path, OPS "/%.*s", LZ_FMT(names[i])));
        (*out)[n++] = path.ptr;
    }
    return NULL;
}

static lz_err *load_own(fixture *f, lz_arena *a)
{
    const char **files;
    lzg_ops_options o = { .tags = OPS "/tags.yaml", .own_fields = true };
    lzg_diag_init(&f->diag);
    LZ_TRY(list_own(a, &files));
    o.files = files;
    LZ_TRY(lzg_ops_load(&f->ops, &o, &f->diag));
    LZ_TRY(lzg_definitions_init(&f->defs, &f->ops, &f->diag));
    return lzg_diag_error(&f->diag);
}

/* What is printed parses to the same tree and means the same. */
static lz_err *print_back(const lzg_definition *d, lz_arena *a)
{
    const lzg_expr *again;
    lz_text t = { 0 };
    lzg_formula_print(d->expr, &t);
    lz_err *e = lz_text_check(&t);
    if (!e)
        e = lzg_formula_parse_text(a, lz_text_view(&t), (lz_loc){ "printed", 1, 1 }, 1, &again);
    if (!e && !lzg_formula_eq(d->expr, again))
        fail_msg("%.*s: %.*s", LZ_FMT(d->function->func->name.text), LZ_FMT(lz_text_view(&t)));
    lz_text_deinit(&t);
    return e;
}

static lz_err *test_own_operators_are_right(void)
{
    fixture f = { 0 };
    lz_arena a = { 0 };
    size_t counts[LZG_DEF_COUNT] = { 0 };
    lz_err *e = load_own(&f, &a);
    for (size_t i = 0; !e && i < f.defs.n; i++) {
        const lzg_definition *d = &f.defs.list[i];
        counts[d->kind]++;
        if (d->expr)
            e = print_back(d, &a);
    }
    if (!e) {
        assert_int_equal(counts[LZG_DEF_MISSING], 0);
        assert_true(counts[LZG_DEF_FORMULA] >= 60);
        assert_true(counts[LZG_DEF_POINTWISE] >= 40);
        assert_true(counts[LZG_DEF_PRIMITIVE] >= 20);
        assert_true(f.ops.ngroups > 100 && f.ops.nview_groups > 10);
    }
    lz_arena_deinit(&a);
    teardown(&f);
    return e;
}

/* ---- docs/formulas.md ---- */

static lz_str section(lz_str text, lz_str title)
{
    size_t from = lz_str_find(text, title);
    assert_true(from != SIZE_MAX);
    lz_str rest = lz_str_sub(text, from + title.len, text.len);
    return lz_str_sub(rest, 0, lz_str_find(rest, LZ_STR("\n## ")));
}

/* Each name in the first column of the tables is a rule. */
static size_t count_documented(lz_str rows)
{
    size_t n = 0;
    for (bool more = true; more;) {
        lz_str row = lz_str_cut(&rows, LZ_STR("\n"), &more), rest = lz_str_sub(row, 2, row.len);
        bool cell = lz_str_starts(row, LZ_STR("| `"));
        rest = lz_str_sub(rest, 0, lz_str_find(rest, LZ_STR(" | ")));
        for (bool names = cell; names; n++) {
            lz_str name = lz_str_cut(&rest, LZ_STR(", "), &names);
            if (!lzg_shape_rule_find(lz_str_sub(name, 1, name.len - 1)))
                fail_msg("docs/formulas.md has a rule %.*s", LZ_FMT(name));
        }
    }
    return n;
}

/* A word that stands between backticks. */
static bool documented(lz_str text, lz_str word)
{
    bool code = false, found = false;
    for (size_t i = 0; !found && i + word.len < text.len; i++) {
        code = code != (text.ptr[i] == '`');
        found = code && lz_str_starts(lz_str_sub(text, i + 1, text.len), word);
    }
    return found;
}

static lz_err *test_documentation_is_complete(void)
{
    char *content = NULL;
    size_t len, n;
    LZ_TRY(lz_file_read(LZ_SOURCE_DIR "/docs/formulas.md", 1 << 20, &len, &content));
    lz_str text = { content, len };
    (void)lzg_shape_rules(&n);
    assert_int_equal(count_documented(section(text, LZ_STR("\n## Shape rules"))), n);
    for (int i = 0; i < LZG_PRIM_INDEX; i++) {
        const char *name = lzg_prim_name((lzg_prim)i);
        if (!documented(text, lz_str_of(name[0] == '.' ? name + 1 : name)))
            fail_msg("docs/formulas.md does not have %s", name);
    }
    lz_mem_free(content);
    return NULL;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LZ_TEST(test_a_definition_is_due_once), LZ_TEST(test_rules_must_fit),
        LZ_TEST(test_static_names_numbers),     LZ_TEST(test_formulas_come_to_an_end),
        LZ_TEST(test_every_mistake_is_found),   LZ_TEST(test_definitions_are_found),
        LZ_TEST(test_own_operators_are_right),  LZ_TEST(test_documentation_is_complete),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
