#include "gen/api/functionalization.h"
#include "gen/text/lists.h"
#include "gen/torch/functionalization/gen_functionalization_type.h"
#include "gen_text.h"

typedef struct view_case {
    lzg_function view, copy;
    lzg_view_group group;
} view_case;

static lz_err *make(lz_arena *a, const char *view, const char *copy, view_case *out)
{
    *out = (view_case){ 0 };
    LZ_TRY(gen_function(a, view, &out->view));
    LZ_TRY(gen_function(a, copy, &out->copy));
    out->group = (lzg_view_group){ .view = &out->view, .view_copy = &out->copy };
    return NULL;
}

static lz_err *expect_bindings(lzg_bindings b, const char *want, lz_text *out)
{
    lz_text_clear(out);
    for (size_t i = 0; i < b.n; i++) {
        lz_text_puts(out, i ? "; " : "");
        lzg_binding_decl(&b.at[i], out);
    }
    LZ_TRY(lz_text_check(out));
    assert_text(out, want);
    return NULL;
}

static void expect(lz_str got, const char *want)
{
    if (!lz_str_is(got, want))
        fail_msg("got  %.*s\nwant %s", LZ_FMT(got), want);
}

static lz_err *one_output(lz_arena *a, const struct lzg_lists *lists, lz_text *out)
{
    view_case c;
    lzg_view_meta m;
    lz_str inverse;
    LZ_TRY(make(a, "view.x(Tensor(a) self, SymInt[] size, Tensor? w=None) -> Tensor(a)",
                "view_copy.x(Tensor self, SymInt[] size, Tensor? w=None) -> Tensor", &c));
    LZ_TRY(lzg_view_meta_make(a, lists, &c.group, &c.view, &m));
    expect(m.class_name, "view_x_ViewMeta");
    assert_false(m.multi_output);
    assert_false(m.as_strided);
    LZ_TRY(
        expect_bindings(m.attributes,
                        "bool reapply_views; at::functionalization::InverseReturnMode inverse_return_mode; "
                        "::std::vector<c10::SymInt> size; ::std::optional<at::Tensor> w",
                        out));
    LZ_TRY(expect_bindings(
        m.ctor,
        "bool has_symbolic_inputs; bool reapply_views; at::functionalization::InverseReturnMode "
        "inverse_return_mode; c10::SymIntArrayRef size; const ::std::optional<at::Tensor> & w",
        out));
    expect(m.create,
           "std::make_shared<at::functionalization::view_x_ViewMeta>(has_symbolic_inputs, reapply_views, "
           "inverse_return_mode, size, w)");
    expect(m.forward_reapply, "return at::_ops::view_x::call(base, size, w);");
    expect(m.forward_copy, "return at::_ops::view_copy_x::call(base, size, w);");
    expect(m.reverse, "at::functionalization::FunctionalInverses::view_x_inverse(base, mutated_view, "
                      "inverse_return_mode, size, w)");
    LZ_TRY(lzg_view_inverse_decl(a, &c.group, &inverse));
    expect(inverse,
           "static at::Tensor view_x_inverse(const at::Tensor & base, const at::Tensor & mutated_view, "
           "at::functionalization::InverseReturnMode inverse_return_mode, c10::SymIntArrayRef size, const "
           "::std::optional<at::Tensor> & w);");
    return NULL;
}

static lz_err *several_outputs(lz_arena *a, const struct lzg_lists *lists, lz_text *out)
{
    view_case c;
    lzg_view_meta m;
    LZ_TRY(make(a, "split.Tensor(Tensor(a -> *) self, SymInt split_size, int dim=0) -> Tensor(a)[]",
                "split_copy.Tensor(Tensor self, SymInt split_size, int dim=0) -> Tensor[]", &c));
    LZ_TRY(lzg_view_meta_make(a, lists, &c.group, &c.view, &m));
    assert_true(m.multi_output);
    LZ_TRY(
        expect_bindings((lzg_bindings){ m.ctor.at, 2 }, "bool has_symbolic_inputs; int64_t out_index", out));
    expect(m.create, "std::make_shared<at::functionalization::split_Tensor_ViewMeta>(has_symbolic_inputs, 0, "
                     "reapply_views, inverse_return_mode, split_size, dim)");
    expect(m.forward_reapply,
           "auto start = split_size * out_index; return at::_ops::slice_Tensor::call(base, dim, "
           "start, start + split_size, 1);");
    expect(m.reverse, "at::functionalization::FunctionalInverses::split_Tensor_inverse(base, mutated_view, "
                      "inverse_return_mode, out_index, split_size, dim)");
    LZ_TRY(make(a, "chop(Tensor(a -> *) self, int dim=0) -> Tensor(a)[]",
                "chop_copy(Tensor self, int dim=0) -> Tensor[]", &c));
    return lz_check_err(lzg_view_meta_make(a, lists, &c.group, &c.view, &m), LZ_ERR_UNSUPPORTED, "chop");
}

static lz_err *refusals(lz_arena *a, const struct lzg_lists *lists, lz_text *out)
{
    view_case c;
    lzg_view_meta m;
    lz_str inverse;
    (void)out;
    LZ_TRY(make(a, "v(int n, Tensor(a) self) -> Tensor(a)", "v_copy(int n, Tensor self) -> Tensor", &c));
    LZ_TRY(lz_check_err(lzg_view_meta_make(a, lists, &c.group, &c.view, &m), LZ_ERR_UNSUPPORTED, "first"));
    LZ_TRY(make(a, "v(Tensor(a) self) -> (Tensor(a), int)", "v_copy(Tensor self) -> (Tensor, int)", &c));
    LZ_TRY(lz_check_err(lzg_view_inverse_decl(a, &c.group, &inverse), LZ_ERR_UNSUPPORTED, "int"));
    LZ_TRY(make(a, "v(Tensor(a) self) -> Tensor(a)", "v_copy(Tensor self) -> Tensor", &c));
    c.group.view_copy = NULL;
    return lz_check_err(lzg_view_meta_make(a, lists, &c.group, &c.view, &m), LZ_ERR_UNSUPPORTED, "view_copy");
}

static lz_err *wrappers(lz_arena *a, const struct lzg_lists *lists, lz_text *out)
{
    static const char *const rows[][2] = {
        { "add.Tensor(Tensor self, Tensor other) -> Tensor", "add_Tensor" },
        { "add.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)", "add_out_out" },
        { "add_(Tensor(a!) self) -> Tensor(a!)", "add_" },
    };
    (void)lists;
    (void)out;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        lzg_function f;
        lz_str name;
        LZ_TRY(gen_function(a, rows[i][0], &f));
        LZ_TRY(lzg_functionalization_wrapper(a, f.func, &name));
        expect(name, rows[i][1]);
    }
    return NULL;
}

static lz_err *with_lists(lz_err *(*body)(lz_arena *, const struct lzg_lists *, lz_text *))
{
    lz_arena a;
    lz_text out = { 0 };
    const struct lzg_lists *lists;
    lz_arena_init(&a);
    lz_err *e = lzg_lists_load(&a, NULL, &lists);
    if (!e)
        e = (*body)(&a, lists, &out);
    lz_text_deinit(&out);
    lz_arena_deinit(&a);
    return e;
}

static lz_err *test_the_class_of_a_view(void)
{
    return with_lists(one_output);
}

static lz_err *test_one_of_several_outputs_is_replayed(void)
{
    return with_lists(several_outputs);
}

static lz_err *test_views_without_a_class(void)
{
    return with_lists(refusals);
}

static lz_err *test_names_of_wrappers(void)
{
    return with_lists(wrappers);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LZ_TEST(test_the_class_of_a_view),
        LZ_TEST(test_one_of_several_outputs_is_replayed),
        LZ_TEST(test_views_without_a_class),
        LZ_TEST(test_names_of_wrappers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
