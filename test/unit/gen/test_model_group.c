#include "check.h"
#include "gen/model/model.h"
#include "gen/model/native_function_generation.h"

static const lz_loc nowhere = { 0 };

/* Without a tags file every tag is unknown, so these are all. */
static const char *const tags_text = "- {tag: view_copy, desc: c}\n- {tag: inplace_view, desc: c}\n"
                                     "- {tag: core, desc: c}\n- {tag: generated, desc: c}\n";

typedef struct world {
    lzg_ops ops;
    lzg_diag diag;
} world;

static lz_err *load(world *w, const char *text)
{
    const lzg_yaml *tags, *tree;
    LZ_TRY(lzg_ops_begin(&w->ops, NULL, NULL, &w->diag));
    LZ_TRY(lzg_yaml_parse(&w->ops.arena, lz_str_of(tags_text), "tags", &tags));
    LZ_TRY(lzg_ops_add_tags(&w->ops, tags, &w->diag));
    LZ_TRY(lzg_yaml_parse(&w->ops.arena, lz_str_of(text), "f", &tree));
    LZ_TRY(lzg_ops_add(&w->ops, tree, false, &w->diag));
    LZ_TRY(lzg_ops_check(&w->ops, &w->diag));
    LZ_TRY(lzg_ops_generate(&w->ops, &w->diag));
    LZ_TRY(lzg_ops_group(&w->ops, &w->diag));
    return lzg_ops_group_views(&w->ops, &w->diag);
}

static lz_err *open_world(world *w, const char *text)
{
    *w = (world){ 0 };
    lzg_diag_init(&w->diag);
    return load(w, text);
}

static lz_err *close_world(world *w, lz_err *e)
{
    lzg_diag_deinit(&w->diag);
    lzg_ops_deinit(&w->ops);
    return e;
}

typedef struct refusal {
    const char *text, *want; /* NULL: accepted */
} refusal;

static lz_err *check(const refusal *r)
{
    world w;
    lz_text out = { 0 };
    lz_err *e = open_world(&w, r->text);
    if (!e) {
        lzg_diag_print(&w.diag, &out);
        lz_text_putc(&out, '\0');
        e = lz_text_check(&out);
    }
    if (!e && (r->want ? !strstr(out.ptr, r->want) : out.len > 1))
        fail_msg("%s: '%s'", r->text, out.ptr);
    lz_text_deinit(&out);
    return close_world(&w, e);
}

static lz_err *check_all(const refusal *table, size_t n)
{
    for (size_t i = 0; i < n; i++)
        LZ_TRY(check(&table[i]));
    return NULL;
}
#define CHECK_ALL(table) check_all((table), sizeof(table) / sizeof *(table))

#define F        "- func: f(Tensor self) -> Tensor\n"
#define F_       "- func: f_(Tensor(a!) self) -> Tensor(a!)\n"
#define OUT      "- func: f.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)\n"
#define CPU      "  dispatch: {CPU: k}\n"
#define EXPLICIT "  dispatch: {CompositeExplicitAutograd: k}\n"

static lz_err *test_what_can_be_generated(void)
{
    static const refusal table[] = {
        { F OUT "- func: f.out2(Tensor self, *, Tensor(a!) r) -> Tensor(a!)",
          "f:3:9: f.out (line 2) has the same signature and is out, too" },
        { OUT CPU, "f:1:9: an out function without any other variant" },
        { OUT, NULL },
        { "- func: adaptive_avg_pool3d_backward.grad_input(Tensor self, *, Tensor(a!) g) -> Tensor(a!)\n" CPU,
          NULL },
        { "- func: f(Tensor self, Tensor(a!) x) -> ()\n" CPU, "no out variant is possible" },
        { "- func: f(Tensor self) -> int\n" CPU, "no out variant is possible" },
        { "- func: f(Tensor self) -> int\n", NULL },
        { "- func: f(Tensor self) -> int\n  tags: core\n", "no out variant is possible" },
        { "- func: f(Tensor self) -> int\n  manual_cpp_binding: True\n" CPU, NULL },
        { "- func: equal(Tensor self) -> bool\n" CPU, NULL },
        { "- func: polygamma_(Tensor(a!) self) -> Tensor(a!)\n  autogen: polygamma.out\n" CPU, NULL },
        { "- func: f.functional(Tensor self) -> Tensor\n  autogen: f.out\n" CPU,
          "'functional' in an overload name" },
        { "- func: f(Tensor self) -> (Tensor, int)\n  autogen: f.out\n" CPU, "return 0 must carry" },
        { "- func: f.x(Tensor self) -> int\n" EXPLICIT F EXPLICIT "  autogen: f.out\n"
          "- func: f.out(Tensor self, int n) -> Tensor\n" EXPLICIT,
          "f.out has a kernel for CompositeExplicitAutograd already" },
    };
    return CHECK_ALL(table);
}

static lz_err *test_groups_fit(void)
{
    static const refusal table[] = {
        { F CPU "  autogen: f.out", NULL },
        { F CPU "  autogen: f.my_out", "needs the line 'autogen: f.out', but has 'autogen: f.my_out'" },
        { F_ CPU "  autogen: f.out", "needs the line 'autogen: f, f.out', but has 'autogen: f.out'" },
        { F_ CPU "  autogen: f.out, f", NULL },
        { F_ OUT, "several variants, but no functional one" },
        { F F_, NULL },
        { F OUT F_, NULL },
        { F "- func: n::f.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)\n", "in two namespaces" },
        { F CPU OUT "  structured: True\n" CPU, "only one of them is structured" },
        { F "  structured_delegate: f.out\n" OUT "  structured: True\n" CPU, NULL },
        { F "  structured_delegate: f.out\n" OUT "  structured: True\n"
            "  dispatch: {CPU: a, CompositeImplicitAutograd: b}\n",
          "f:3:9: a structured kernel cannot be composite" },
        { F "  structured_delegate: g.out\n" OUT "  structured: True\n" CPU
            "- func: g.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)\n  structured: True\n" CPU
            "- func: g(Tensor x) -> Tensor\n  structured_delegate: g.out\n",
          "f does not delegate to f.out" },
        { "- func: f(Tensor self, Tensor(a!) x) -> Tensor\n" CPU
          "- func: f.b(Tensor self, Tensor x) -> (Tensor, Tensor)\n" CPU
          "- func: f.out(Tensor self, Tensor(a!) x, *, Tensor(b!) out) -> Tensor(b!)\n" CPU,
          "must be named ..._functional" },
        { "- func: f(Tensor self) -> Tensor\n  tags: generated\n", "generated f belongs to no group" },
        { F "- func: f.s(Tensor self, *, Tensor(a!) o, Tensor(b!) _scratch_) -> Tensor(a!)\n", NULL },
    };
    return CHECK_ALL(table);
}

#define VIEW "- func: f(Tensor(a) self) -> Tensor(a)\n"
#define COPY "- func: f_copy(Tensor self) -> Tensor\n"

static lz_err *test_view_groups_fit(void)
{
    static const refusal table[] = {
        { VIEW, NULL },
        { VIEW EXPLICIT, "add an operator f_copy" },
        { VIEW EXPLICIT COPY "  tags: view_copy\n" EXPLICIT "  autogen: f_copy.out\n", NULL },
        { VIEW EXPLICIT COPY, "f_copy needs the tag view_copy" },
        { VIEW EXPLICIT "- func: f.x(Tensor self) -> Tensor\n" EXPLICIT,
          "f:3:9: f (line 1) has the same signature" },
        { "- func: f_inverse(Tensor(a) self) -> Tensor(a)\n" EXPLICIT, NULL },
        { VIEW "- func: f.x(Tensor(a) self) -> Tensor(a)\n",
          "has the same signature and is functional, too" },
        { VIEW F_ "  tags: inplace_view\n" EXPLICIT,
          "the view is an implicit composite, so f_ must be one, too" },
        { VIEW F_ "  tags: inplace_view\n", NULL },
        { "- func: f_(Tensor(a!) self, Tensor(b -> *) x) -> Tensor(a!)\n",
          "the tag inplace_view is missing" },
    };
    return CHECK_ALL(table);
}

static lz_err *out_of(lz_arena *a, const char *text, bool functional, const lzg_schema **out)
{
    const lzg_schema *s;
    LZ_TRY(lzg_schema_parse(a, lz_str_of(text), nowhere, &s));
    return functional ? lzg_schema_functional_variant(a, s, nowhere, out)
                      : lzg_schema_out_variant(a, s, nowhere, out);
}

static lz_err *check_variant(const char *text, bool functional, const char *want)
{
    lz_arena a = { 0 };
    const lzg_schema *made;
    lz_err *e = out_of(&a, text, functional, &made);
    if (!e && !lz_str_is(made->text, want))
        fail_msg("%s: %s", text, made->text.ptr);
    lz_arena_deinit(&a);
    return e;
}

static lz_err *test_out_variants(void)
{
    LZ_TRY(check_variant("f.x(Tensor self, int n=1) -> Tensor r", false,
                         "f.x_out(Tensor self, int n=1, *, Tensor(a!) out) -> Tensor(a!)"));
    LZ_TRY(check_variant("f_(Tensor(a!) self, int n) -> Tensor(a!)", false,
                         "f.out(Tensor self, int n, *, Tensor(a!) out) -> Tensor(a!)"));
    LZ_TRY(check_variant("f_(Tensor(a!)[] self) -> ()", false,
                         "f.out(Tensor[] self, *, Tensor(a!)[] out) -> ()"));
    LZ_TRY(check_variant("f(Tensor self) -> (Tensor[], Tensor)", false,
                         "f.out(Tensor self, *, Tensor(a!)[] out0, Tensor(b!) out1) -> ()"));
    LZ_TRY(check_variant(
        "f(Tensor(c) x, Tensor(a) y) -> (Tensor, Tensor)", false,
        "f.out(Tensor x, Tensor y, *, Tensor(b!) out0, Tensor(d!) out1) -> (Tensor(b!), Tensor(d!))"));
    LZ_TRY(
        check_variant("f(Tensor self, Tensor(b!) x) -> (Tensor r, Tensor s)", false,
                      "f.out(Tensor self, Tensor(b!) x, *, Tensor(a!) out0, Tensor(c!) out1) -> (Tensor(a!), "
                      "Tensor(c!))"));
    return check_variant(
        "f(int n, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? "
        "pin_memory=None, int m=1) -> Tensor",
        false, "f.out(int n, *, int m=1, Tensor(a!) out) -> Tensor(a!)");
}

static lz_err *test_functional_variants(void)
{
    LZ_TRY(check_variant("f_.x(Tensor(a!) self) -> Tensor(a!)", true, "f.x(Tensor self) -> Tensor"));
    LZ_TRY(check_variant("f_(Tensor(a!)[] self) -> ()", true, "f(Tensor[] self) -> Tensor[] self_out"));
    LZ_TRY(check_variant("__iand__(Tensor(a!) self) -> Tensor(a!)", true, "__and__(Tensor self) -> Tensor"));
    return check_variant("f(Tensor self, Tensor(a!) x) -> Tensor r", true,
                         "f_functional(Tensor self, Tensor x) -> (Tensor r, Tensor x_out)");
}

static lz_err *test_a_mutable_operator_becomes_a_group(void)
{
    world w;
    lz_err *e = open_world(&w, "- func: f(SymInt n, Tensor(a!) x) -> Tensor\n" CPU
                               "  autogen: f_functional, f.out\n");
    if (!e) {
        assert_false(lzg_diag_any(&w.diag));
        assert_int_equal(w.ops.nfunctions, 3);
        assert_int_equal(w.ops.nexplicit, 1);
        assert_int_equal(w.ops.ngroups, 1);
        const lzg_group *g = &w.ops.groups[0];
        assert_ptr_equal(g->out, lzg_ops_find(&w.ops, LZ_STR("f.out")));
        assert_true(g->out->generated && !g->out->device_guard && !g->out->device_check);
        assert_true(lz_str_is(g->out->dispatch[0].kernel, "f_out_symint"));
        assert_true(lz_str_is(g->functional->dispatch[0].kernel, "f_functional_symint"));
        assert_true(g->functional->composite_explicit && g->functional->is_abstract);
        assert_null(g->inplace);
        assert_ptr_equal(lz_map_get(&w.ops.group_of, LZ_STR("f")), g);
    }
    return close_world(&w, e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LZ_TEST(test_what_can_be_generated), LZ_TEST(test_groups_fit),
        LZ_TEST(test_view_groups_fit),       LZ_TEST(test_out_variants),
        LZ_TEST(test_functional_variants),   LZ_TEST(test_a_mutable_operator_becomes_a_group),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
