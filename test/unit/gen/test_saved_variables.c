#include "base/text.h"
#include "check.h"
#include "gen/derivative/saved_variables.h"
#include "gen/text/identifiers.h"

static const lz_str vars_self[] = { { "self", 4 } };
static const lz_str vars_both[] = { { "self", 4 }, { "other", 5 } };

static lz_err *run(lz_arena *a, const char *formula, const lzg_named_type *names, size_t n, lzg_names vars,
                   lz_str *out, lzg_saved_list *saved)
{
    lzg_yaml *node;
    LZ_TRY(lz_arena_new(a, &node, 1));
    *node = (lzg_yaml){
        .kind = LZG_YAML_STR, .loc = { "f.yaml", 3, 9 }, .text = lz_str_of(formula), .one_line = true
    };
    *out = node->text;
    return lzg_saved_variables(a, names, n, vars, node, out, saved);
}

static const lzg_named_type tensors[] = { { { "self", 4 }, { "at::Tensor", 10 } },
                                          { { "other", 5 }, { "at::Tensor", 10 } } };

/* What is saved is printed as "name|type|expr", one a line. */
static const struct {
    const char *formula, *becomes, *saved;
} cases[] = {
    { "grad * self", "grad * self", "self|at::Tensor|self\n" },
    { "grad * my_self", "grad * my_self", "" },
    { "f(grad, self.sym_sizes())", "f(grad, self_sym_sizes)",
      "self_sym_sizes|c10::SymIntArrayRef|self.sym_sizes()\n" },
    { "f(self->sym_sizes())", "f(self_sym_sizes_opt)",
      "self_sym_sizes_opt|::std::optional<c10::SymIntArrayRef>|self.has_value() ? "
      "std::optional<c10::SymIntArrayRef>(self->sym_sizes()) : std::nullopt\n" },
    { "f(self.sym_blocksize())", "f(self_self_sym_blocksize_opt)",
      "self_self_sym_blocksize_opt|::std::optional<c10::SymIntArrayRef>|at::sparse_csr::getSymIntBlockSize("
      "self)\n" },
    { "f(self.options())", "f(self_options)", "self_options|at::TensorOptions|self.options()\n" },
    { "zeros_like(self)", "self_info.zeros()", "self_info|torch::autograd::generated::TypeAndSize|self\n" },
    { "f(self.sym_size(0), self.sym_size(-1), self.sym_size(dim))",
      "f(self_sym_argsize_0, self_sym_argsize_minus_1, self_sym_argsize_dim)",
      "self_sym_argsize_0|c10::SymInt|self.sym_size(0)\n"
      "self_sym_argsize_minus_1|c10::SymInt|self.sym_size(-1)\n"
      "self_sym_argsize_dim|c10::SymInt|self.sym_size(dim)\n" },
    { "self.sym_size(a + b)", "self.sym_size(a + b)", "self|at::Tensor|self\n" },
    { "self.numel() + self.sym_numel()", "self_numel + self_sym_numel",
      "self_numel|int64_t|self.numel()\nself_sym_numel|c10::SymInt|self.sym_numel()\n" },
    { "f(to_args_sizes(self), to_args_sizes_symint(self), to_args_scalartypes(self))",
      "f(self_args_sizes, self_args_sizes_symint, self_args_scalartypes)",
      "self_args_sizes|::std::vector<::std::vector<int64_t>>|to_args_sizes(self)\n"
      "self_args_sizes_symint|::std::vector<::std::vector<c10::SymInt>>|to_args_sizes_symint(self)\n"
      "self_args_scalartypes|::std::vector<at::ScalarType>|to_args_scalartypes(self)\n" },
    { "f(TensorGeometry(self))", "f(self_geometry)",
      "self_geometry|at::TensorGeometry|TensorGeometry(self)\n" },
    { "self.layout() + self.is_conj() + self.dim() + self.scalar_type()",
      "self_layout + self_conjugate + self_dim + self_scalar_type",
      "self_scalar_type|at::ScalarType|self.scalar_type()\nself_dim|int64_t|self.dim()\n"
      "self_layout|at::Layout|self.layout()\nself_conjugate|bool|self.is_conj()\n" },
    { "f(self.sym_strides())", "f(self_sym_strides)",
      "self_sym_strides|c10::SymIntArrayRef|strides_or_error(self, \"self\")\n" },
    /* arguments in their order; each use of a property again; self itself as well */
    { "other.dim() * self.dim() + self.dim() + self", "other_dim * self_dim + self_dim + self",
      "self_dim|int64_t|self.dim()\nself_dim|int64_t|self.dim()\nself|at::Tensor|self\n"
      "other_dim|int64_t|other.dim()\n" },
    /* a property is found behind a longer name, too */
    { "another.dim()", "another_dim", "other_dim|int64_t|other.dim()\n" },
    { "", "", "" },
};

static lz_err *print(lz_arena *a, lzg_saved_list saved, lz_str *out)
{
    lz_text t = { 0 };
    for (size_t i = 0; i < saved.len; i++)
        lz_text_printf(&t, "%.*s|%.*s|%.*s\n", LZ_FMT(saved.data[i].name), LZ_FMT(saved.data[i].type),
                       LZ_FMT(saved.data[i].expr));
    lz_err *e = lz_text_save(&t, a, out);
    lz_text_deinit(&t);
    return e;
}

static lz_err *check_case(lz_arena *a, size_t i)
{
    lz_str formula, text;
    lzg_saved_list saved;
    LZ_TRY(run(a, cases[i].formula, tensors, 2, (lzg_names){ vars_self, 1 }, &formula, &saved));
    LZ_TRY(print(a, saved, &text));
    if (!lz_str_is(formula, cases[i].becomes) || !lz_str_is(text, cases[i].saved))
        fail_msg("%s\nbecame %.*s\nand saves\n%.*s", cases[i].formula, LZ_FMT(formula), LZ_FMT(text));
    return NULL;
}

static lz_err *test_properties_are_saved_instead_of_tensors(void)
{
    lz_arena a = { 0 };
    lz_err *e = NULL;
    for (size_t i = 0; !e && i < sizeof cases / sizeof *cases; i++)
        e = check_case(&a, i);
    lz_arena_deinit(&a);
    return e;
}

static lz_err *test_optional_strings_are_viewed_again(void)
{
    const lzg_named_type mode = { LZ_STR("mode"), LZ_STR("::std::optional<c10::string_view>") };
    lz_arena a = { 0 };
    lz_str formula;
    lzg_saved_list saved;
    lz_err *e = run(&a, "f(mode,mode, modes)", &mode, 1, (lzg_names){ vars_self, 1 }, &formula, &saved);
    if (!e) {
        const char *view = "mode.has_value() ? std::optional<std::string_view>(mode.value()) : std::nullopt";
        assert_int_equal(formula.len, 2 * strlen(view) + strlen("f(,, modes)"));
        assert_true(lz_str_starts(lz_str_sub(formula, 2, formula.len), lz_str_of(view)));
        assert_true(lz_str_ends(formula, LZ_STR(", modes)")));
        assert_int_equal(saved.len, 1);
        assert_true(lz_str_is(saved.data[0].name, "mode"));
    }
    lz_arena_deinit(&a);
    return e;
}

static const struct {
    const char *formula, *part;
    int col;
} refusals[] = {
    { "f(grad, self.sizes())", "sym_sizes", 9 + 12 },
    { "f(grad, self->sizes())", "sym_sizes", 9 + 12 },
    { "x.size(0)", "sym_size(int)", 9 + 1 },
    { "x->size(-12)", "sym_size(int)", 9 + 1 },
    { "grad.strides()", "sym_strides", 9 + 4 },
    { "f(other.sym_strides())", "strides of 'other'", 9 + 2 },
};

static lz_err *check_refusal(lz_arena *a, size_t i)
{
    lz_str formula;
    lzg_saved_list saved;
    lz_err *e = run(a, refusals[i].formula, tensors, 2, (lzg_names){ vars_self, 1 }, &formula, &saved);
    if (lz_err_code(e) != LZ_ERR_MEMORY)
        assert_int_equal(lz_err_loc(e).col, refusals[i].col);
    return lz_check_err(e, LZ_ERR_MODEL, refusals[i].part);
}

static lz_err *test_fixed_sizes_are_refused(void)
{
    lz_arena a = { 0 };
    lz_err *e = NULL;
    for (size_t i = 0; !e && i < sizeof refusals / sizeof *refusals; i++)
        e = check_refusal(&a, i);
    lz_arena_deinit(&a);
    return e;
}

static lz_err *test_strides_need_the_formula_of_that_tensor_alone(void)
{
    lz_arena a = { 0 };
    lz_str formula;
    lzg_saved_list saved;
    lz_err *e = run(&a, "self.sym_strides()", tensors, 2, (lzg_names){ vars_both, 2 }, &formula, &saved);
    e = lz_check_err(e, LZ_ERR_MODEL, "strides of 'self'");
    lz_arena_deinit(&a);
    return e;
}

static lz_err *test_each_name_is_united_once(void)
{
    const lzg_saved list[] = { { LZ_STR("a"), LZ_STR("T"), LZ_STR("1") },
                               { LZ_STR("b"), LZ_STR("T"), LZ_STR("2") },
                               { LZ_STR("a"), LZ_STR("U"), LZ_STR("3") } };
    lz_arena a = { 0 };
    lzg_saved_list out;
    lz_err *e = lzg_saved_unique(&a, (lzg_saved_list){ list, 3 }, &out);
    if (!e) {
        assert_int_equal(out.len, 2);
        assert_true(lz_str_is(out.data[0].expr, "1"));
        assert_true(lz_str_is(out.data[1].expr, "2"));
    }
    lz_arena_deinit(&a);
    return e;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LZ_TEST(test_properties_are_saved_instead_of_tensors),
        LZ_TEST(test_optional_strings_are_viewed_again),
        LZ_TEST(test_fixed_sizes_are_refused),
        LZ_TEST(test_strides_need_the_formula_of_that_tensor_alone),
        LZ_TEST(test_each_name_is_united_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
