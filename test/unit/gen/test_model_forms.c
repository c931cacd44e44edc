/* In-place and out forms that entries list; the schemas are those of PyTorch's native_functions.yaml. */
#include "check.h"
#include "gen/model/model.h"
#include "gen/text/lists.h"

static const char *const tags_text =
    "- {tag: core, desc: c}\n- {tag: pointwise, desc: c}\n- {tag: inplace_view, desc: c}\n"
    "- {tag: out, desc: c}\n- {tag: inplace, desc: c}\n- {tag: view_copy, desc: c}\n"
    "- {tag: generated, desc: c}\n";

typedef struct fixture {
    lzg_ops ops;
    lzg_diag diag;
} fixture;

static lz_err *read_entries(fixture *f, const char *text, bool own_fields)
{
    const lzg_yaml *tags, *tree;
    *f = (fixture){ 0 };
    lzg_diag_init(&f->diag);
    LZ_TRY(lzg_yaml_parse(&f->ops.arena, lz_str_of(tags_text), "tags", &tags));
    LZ_TRY(lzg_ops_add_tags(&f->ops, tags, &f->diag));
    LZ_TRY(lzg_yaml_parse(&f->ops.arena, lz_str_of(text), "f", &tree));
    return lzg_ops_add(&f->ops, tree, own_fields, &f->diag);
}

static lz_err *done(fixture *f, lz_err *e)
{
    lzg_diag_deinit(&f->diag);
    lzg_ops_deinit(&f->ops);
    return e;
}

/* The forms of one entry, in their order. */
static lz_err *check_forms(const char *entry, const char *first, const char *second)
{
    fixture f;
    lz_err *e = read_entries(&f, entry, true);
    const char *wanted[] = { first, second };
    size_t n = second ? 2 : first ? 1 : 0;
    if (!e) {
        assert_false(lzg_diag_any(&f.diag));
        assert_int_equal(f.ops.nfunctions, n + 1);
        for (size_t i = 0; i < n; i++)
            assert_string_equal(f.ops.functions[i + 1]->func->text.ptr, wanted[i]);
    }
    return done(&f, e);
}

static lz_err *test_schemas(void)
{
    LZ_TRY(
        check_forms("- func: add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor\n"
                    "  variants: function, method, inplace, add.out\n",
                    "add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)",
                    "add.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)"));
    LZ_TRY(check_forms("- func: neg(Tensor self) -> Tensor\n  tags: [core, pointwise]\n  inner: -self\n",
                       "neg_(Tensor(a!) self) -> Tensor(a!)",
                       "neg.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)"));
    LZ_TRY(
        check_forms("- func: pow.Tensor_Tensor(Tensor self, Tensor exponent) -> Tensor\n"
                    "  variants: pow_.Tensor, out\n",
                    "pow_.Tensor(Tensor(a!) self, Tensor exponent) -> Tensor(a!)",
                    "pow.Tensor_Tensor_out(Tensor self, Tensor exponent, *, Tensor(a!) out) -> Tensor(a!)"));
    LZ_TRY(check_forms("- func: ldexp.Tensor(Tensor self, Tensor other) -> Tensor\n  variants: ldexp_\n",
                       "ldexp_(Tensor(a!) self, Tensor other) -> Tensor(a!)", NULL));
    LZ_TRY(
        check_forms("- func: tanh_backward(Tensor grad_output, Tensor output) -> Tensor\n"
                    "  variants: tanh_backward.grad_input\n",
                    "tanh_backward.grad_input(Tensor grad_output, Tensor output, *, Tensor(a!) grad_input) "
                    "-> Tensor(a!)",
                    NULL));
    LZ_TRY(check_forms("- func: xlogy.Tensor(Tensor self, Tensor other) -> Tensor\n"
                       "  variants: xlogy.OutTensor\n",
                       "xlogy.OutTensor(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)", NULL));
    LZ_TRY(check_forms(
        "- func: topk(Tensor self, SymInt k, int dim=-1) -> (Tensor values, Tensor indices)\n"
        "  variants: function, method, topk.values\n",
        "topk.values(Tensor self, SymInt k, int dim=-1, *, Tensor(a!) values, Tensor(b!) indices) -> "
        "(Tensor(a!) values, Tensor(b!) indices)",
        NULL));
    LZ_TRY(check_forms("- func: _linalg_qr(Tensor A) -> (Tensor, Tensor)\n  variants: out\n",
                       "_linalg_qr.out(Tensor A, *, Tensor(a!) out0, Tensor(b!) out1) -> "
                       "(Tensor(a!), Tensor(b!))",
                       NULL));
    LZ_TRY(check_forms(
        "- func: ones(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, "
        "Device? device=None, bool? pin_memory=None) -> Tensor\n  variants: out\n  formula: full(size, 1)\n",
        "ones.out(SymInt[] size, *, Tensor(a!) out) -> Tensor(a!)", NULL));
    LZ_TRY(check_forms("- func: sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, "
                       "ScalarType? dtype=None) -> Tensor\n  variants: function, sum.IntList_out\n",
                       "sum.IntList_out(Tensor self, int[1]? dim, bool keepdim=False, *, "
                       "ScalarType? dtype=None, Tensor(a!) out) -> Tensor(a!)",
                       NULL));
    LZ_TRY(check_forms("- func: max.dim(Tensor self, int dim) -> (Tensor values, Tensor indices)\n"
                       "  variants: max.dim_max(max,max_values)\n",
                       "max.dim_max(Tensor self, int dim, *, Tensor(a!) max, Tensor(b!) max_values) -> "
                       "(Tensor(a!) values, Tensor(b!) indices)",
                       NULL));
    LZ_TRY(check_forms("- func: log_sigmoid_forward(Tensor self) -> (Tensor output, Tensor buffer)\n"
                       "  variants: log_sigmoid_forward.output(output,buffer)\n",
                       "log_sigmoid_forward.output(Tensor self, *, Tensor(a!) output, Tensor(b!) buffer) -> "
                       "(Tensor(a!), Tensor(b!))",
                       NULL));
    LZ_TRY(check_forms("- func: adaptive_max_pool1d(Tensor self) -> (Tensor, Tensor)\n"
                       "  variants: out(out,indices)\n",
                       "adaptive_max_pool1d.out(Tensor self, *, Tensor(a!) out, Tensor(b!) indices) -> "
                       "(Tensor(a!), Tensor(b!))",
                       NULL));
    LZ_TRY(check_forms("- func: elu_backward(Tensor grad_output) -> Tensor\n  variants: out\n",
                       "elu_backward.grad_input(Tensor grad_output, *, Tensor(a!) grad_input) -> Tensor(a!)",
                       NULL));
    LZ_TRY(check_forms("- func: huber_loss_backward(Tensor grad_output) -> Tensor\n"
                       "  variants: huber_loss_backward.out(grad_input)\n",
                       "huber_loss_backward.out(Tensor grad_output, *, Tensor(a!) grad_input) -> Tensor(a!)",
                       NULL));
    LZ_TRY(check_forms("- func: t(Tensor(a) self) -> Tensor(a)\n  variants: inplace\n",
                       "t_(Tensor(a!) self) -> Tensor(a!)", NULL));
    return check_forms(
        "- func: isnan(Tensor self) -> Tensor\n  variants: function, method\n  tags: pointwise\n", NULL,
        NULL);
}

/* Bits of the forms of an entry with this line. */
static lz_err *check_memory(const char *line, unsigned of_entry, unsigned of_inplace, unsigned of_out)
{
    fixture f = { 0 };
    lz_text text = { 0 };
    lz_text_printf(&text, "- func: f(Tensor self) -> Tensor\n  variants: function, inplace, out\n%s%c", line,
                   '\0');
    lz_err *e = lz_text_check(&text);
    if (!e)
        e = read_entries(&f, text.ptr, true);
    if (!e) {
        assert_false(lzg_diag_any(&f.diag));
        assert_int_equal(f.ops.functions[0]->layout.memory, of_entry);
        assert_int_equal(f.ops.functions[1]->layout.memory, of_inplace);
        assert_int_equal(f.ops.functions[2]->layout.memory, of_out);
    }
    lz_text_deinit(&text);
    return done(&f, e);
}

static lz_err *test_memory(void)
{
    LZ_TRY(check_memory("", 0, 0, 0));
    LZ_TRY(check_memory("  tags: pointwise\n", 0, 0, LZ_MEMORY_CAST_OUT));
    LZ_TRY(check_memory("  strides: operands\n", 0, 0, LZ_MEMORY_CAST_OUT));
    LZ_TRY(check_memory("  strides: like self\n  memory: cast_out\n", 0, 0, LZ_MEMORY_CAST_OUT));
    LZ_TRY(check_memory("  tags: pointwise\n  memory: no_cast_out, no_cast\n", 0, LZ_MEMORY_NO_CAST, 0));
    LZ_TRY(check_memory("  memory: apart, overlap, alone\n", 0, LZ_MEMORY_APART | LZ_MEMORY_OVERLAP,
                        LZ_MEMORY_APART | LZ_MEMORY_ALONE));
    LZ_TRY(check_memory("  memory: storage, copies\n", LZ_MEMORY_STORAGE,
                        LZ_MEMORY_STORAGE | LZ_MEMORY_COPIES, LZ_MEMORY_STORAGE));
    return check_memory("  memory: may_return, own_dtype\n", LZ_MEMORY_MAY_RETURN, LZ_MEMORY_OWN_DTYPE,
                        LZ_MEMORY_OWN_DTYPE);
}

/* Only of the out form, and only where the entry says so. */
static lz_err *test_strides_of_forms(void)
{
    fixture f;
    lz_err *e =
        read_entries(&f,
                     "- func: f(Tensor self) -> Tensor\n  variants: inplace, out\n  strides: operands\n"
                     "  memory: contiguous_out\n"
                     "- func: g(Tensor self) -> Tensor\n  variants: out\n  strides: operands\n",
                     true);
    if (!e) {
        assert_false(lzg_diag_any(&f.diag));
        assert_int_equal(f.ops.functions[0]->layout.strides, LZ_STRIDES_operands);
        assert_int_equal(f.ops.functions[1]->layout.strides, LZ_STRIDES_NONE);
        assert_int_equal(f.ops.functions[2]->layout.strides, LZ_STRIDES_contiguous);
        assert_int_equal(f.ops.functions[4]->layout.strides, LZ_STRIDES_NONE);
    }
    return done(&f, e);
}

/* Behind the entries: what is generated for them, and groups. */
static lz_err *complete(fixture *f)
{
    LZ_TRY(lzg_lists_load(&f->ops.arena, NULL, &f->ops.lists));
    LZ_TRY(lzg_ops_generate(&f->ops, &f->diag));
    return lzg_ops_group(&f->ops, &f->diag);
}

/* Names of all operators, the generated ones included, each with a blank behind it. */
static lz_err *check_names(const char *entries, const char *wanted)
{
    fixture f;
    lz_text names = { 0 };
    lz_err *e = read_entries(&f, entries, true);
    if (!e)
        e = complete(&f);
    for (size_t i = 0; !e && i < f.ops.nfunctions; i++)
        lz_text_printf(&names, "%.*s ", LZ_FMT(f.ops.functions[i]->func->name.text));
    lz_text_putc(&names, '\0');
    if (!e)
        e = lz_text_check(&names);
    if (!e) {
        assert_false(lzg_diag_any(&f.diag));
        assert_string_equal(names.ptr, wanted);
    }
    lz_text_deinit(&names);
    return done(&f, e);
}

static lz_err *test_autogen(void)
{
    LZ_TRY(check_names(
        "- func: f.x(Tensor self) -> Tensor\n  variants: function, inplace, autogen\n  formula: self\n",
        "f.x f_.x f.x_out "));
    LZ_TRY(check_names(
        "- func: zero_(Tensor(a!) self) -> Tensor(a!)\n  variants: method, autogen\n  formula: self\n",
        "zero_ zero.out zero "));
    LZ_TRY(check_names("- func: t_copy(Tensor self) -> Tensor\n  tags: view_copy\n  formula: self\n",
                       "t_copy t_copy.out "));
    /* the functional form of an operator that also writes an argument follows from its out form */
    return check_names("- func: norm(Tensor x, Tensor(a!) mean) -> Tensor\n  formula: (x, x)\n"
                       "- func: norm.out(Tensor x, Tensor(a!) mean, *, Tensor(b!) out) -> Tensor(b!)\n",
                       "norm norm.out norm_functional ");
}

/* An out form of its own leaves nothing to make. */
static lz_err *test_autogen_beside_an_entry(void)
{
    fixture f;
    lz_text out = { 0 };
    lz_err *e = read_entries(&f,
                             "- func: f(Tensor self) -> Tensor\n  variants: autogen\n  formula: self\n"
                             "- func: f.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)\n",
                             true);
    if (!e)
        e = complete(&f);
    lzg_diag_print(&f.diag, &out);
    lz_text_putc(&out, '\0');
    if (!e)
        e = lz_text_check(&out);
    if (!e)
        assert_non_null(strstr(out.ptr, "f.out has an entry of its own and is made for autogen"));
    lz_text_deinit(&out);
    return done(&f, e);
}

static lz_err *test_default_forms(void)
{
    LZ_TRY(check_forms("- func: neg(Tensor self) -> Tensor\n  inner: -self\n",
                       "neg_(Tensor(a!) self) -> Tensor(a!)",
                       "neg.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)"));
    LZ_TRY(check_forms("- func: neg(Tensor self) -> Tensor\n  tags: []\n  inner: -self\n", NULL, NULL));
    LZ_TRY(check_forms("- func: special_entr(Tensor self) -> Tensor\n  inner: -self\n",
                       "special_entr.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)", NULL));
    LZ_TRY(check_forms("- func: mish(Tensor self) -> Tensor\n  python_module: nn\n  inner: -self\n",
                       "mish_(Tensor(a!) self) -> Tensor(a!)",
                       "mish.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)"));
    return check_forms(
        "- func: glu_backward(Tensor grad_output) -> Tensor\n  python_module: nn\n  formula: grad_output\n",
        "glu_backward.grad_input(Tensor grad_output, *, Tensor(a!) grad_input) -> Tensor(a!)", NULL);
}

/* The iterator casts to out; but a primitive of one tensor that keeps its dtype, or an activation, wants it
 * to fit. */
static lz_err *test_casts(void)
{
    static const struct {
        const char *entry;
        unsigned of_out;
    } table[] = {
        { "- func: neg(Tensor self) -> Tensor\n  inner: -self\n", 0 },
        { "- func: neg(Tensor self) -> Tensor\n  memory: cast_out\n  inner: -self\n", LZ_MEMORY_CAST_OUT },
        { "- func: sin(Tensor self) -> Tensor\n  shape: pointwise_float\n  inner: -self\n",
          LZ_MEMORY_CAST_OUT },
        { "- func: add(Tensor self, Tensor other) -> Tensor\n  inner: self\n", LZ_MEMORY_CAST_OUT },
        { "- func: silu(Tensor self) -> Tensor\n  python_module: nn\n  tags: pointwise\n  formula: self\n",
          0 },
        { "- func: sin(Tensor self) -> Tensor\n  tags: pointwise\n  formula: self\n", LZ_MEMORY_CAST_OUT },
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        fixture f;
        lz_err *e = read_entries(&f, table[i].entry, true);
        if (!e) {
            assert_false(lzg_diag_any(&f.diag));
            assert_int_equal(f.ops.nfunctions, 3);
            assert_int_equal(f.ops.functions[2]->layout.memory, table[i].of_out);
        }
        LZ_TRY(done(&f, e));
    }
    return NULL;
}

/* What X_backward has from X, and what it says itself. */
static lz_err *test_backward(void)
{
    fixture f;
    lz_err *e = read_entries(&f,
                             "- func: elu(Tensor self) -> Tensor\n  python_module: nn\n  tags: pointwise\n"
                             "  formula: self\n"
                             "- func: elu_backward(Tensor grad_output) -> Tensor\n  formula: grad_output\n"
                             "- func: glu(Tensor self) -> Tensor\n  formula: self\n"
                             "- func: glu_backward(Tensor self) -> Tensor\n  python_module: nn\n"
                             "  strides: like self\n  formula: self\n"
                             "- func: _backward(Tensor self) -> Tensor\n  formula: self\n",
                             true);
    if (!e) {
        assert_false(lzg_diag_any(&f.diag));
        const lzg_function *elu = lzg_ops_find(&f.ops, LZ_STR("elu_backward")),
                           *glu = lzg_ops_find(&f.ops, LZ_STR("glu_backward"));
        assert_true(lz_str_is(elu->python_module, "nn") && elu->layout.strides == LZ_STRIDES_operands);
        assert_true(lz_str_is(glu->python_module, "nn") && glu->layout.strides == LZ_STRIDES_like);
        assert_null(lzg_ops_find(&f.ops, LZ_STR("_backward"))->forward);
        assert_non_null(lzg_ops_find(&f.ops, LZ_STR("elu_backward.grad_input")));
    }
    return done(&f, e);
}

static const char *const originals =
    "- func: sub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor\n"
    "  variants: function, method, inplace, sub.out\n  tags: [core, pointwise]\n  memory: no_cast_out, "
    "overlap\n"
    "  formula: self\n"
    "- func: sin(Tensor self) -> Tensor\n  tags: pointwise\n  strides: like self\n  formula: self\n";

/* The operator of one more entry behind these, and the number of those behind it. */
static lz_err *read_same(fixture *f, const char *entry, const lzg_function **out, size_t *forms)
{
    lz_text text = { 0 };
    lz_text_printf(&text, "%s%s%c", originals, entry, '\0');
    lz_err *e = lz_text_check(&text);
    if (!e)
        e = read_entries(f, text.ptr, true);
    if (!e) {
        assert_false(lzg_diag_any(&f->diag));
        *out = f->ops.functions[6];
        *forms = f->ops.nfunctions - 7;
    }
    lz_text_deinit(&text);
    return e;
}

static lz_err *test_other_name(void)
{
    fixture f = { 0 };
    const lzg_function *op;
    size_t forms;
    lz_err *e = read_same(&f,
                          "- func: subtract.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor\n"
                          "  same_as: sub.Tensor\n",
                          &op, &forms);
    if (!e) {
        assert_true(lz_str_is(op->formula->text, "sub.Tensor(self, other, alpha=alpha)"));
        assert_true(op->layout.strides == LZ_STRIDES_operands && !lzg_function_has_tag(op, "pointwise"));
        assert_int_equal(op->variants, LZG_VARIANT_FUNCTION | LZG_VARIANT_METHOD);
        assert_int_equal(forms, 2);
        assert_true(lz_str_is(f.ops.functions[7]->func->name.text, "subtract_.Tensor"));
        assert_true(lz_str_is(f.ops.functions[8]->func->name.text, "subtract.out"));
        assert_int_equal(f.ops.functions[7]->layout.memory, LZ_MEMORY_OVERLAP);
        assert_int_equal(f.ops.functions[8]->layout.memory, 0);
    }
    return done(&f, e);
}

/* An overload of the same operator: its tags, but the usual names of forms; a number in place of an operand.
 */
static lz_err *test_other_overload(void)
{
    fixture f = { 0 };
    const lzg_function *op;
    size_t forms;
    lz_err *e = read_same(&f,
                          "- func: sub.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor\n"
                          "  same_as: sub.Tensor\n",
                          &op, &forms);
    if (!e) {
        assert_true(lzg_function_has_tag(op, "core") && lzg_function_has_tag(op, "pointwise"));
        assert_int_equal(op->layout.strides, LZ_STRIDES_operands_and_number);
        assert_int_equal(forms, 2);
        assert_true(lz_str_is(f.ops.functions[8]->func->name.text, "sub.Scalar_out"));
    }
    return done(&f, e);
}

/* Arguments by name, else by position; strides of that operator; an in-place form that returns nothing. */
static lz_err *test_items_of_lists(void)
{
    fixture f = { 0 };
    const lzg_function *op;
    size_t forms;
    lz_err *e = read_same(&f,
                          "- func: _foreach_sub.ScalarList(Tensor[] self, Tensor[] by, *, Scalar[] alpha) -> "
                          "Tensor[]\n  each: sub.Tensor\n",
                          &op, &forms);
    if (!e) {
        lz_str calls = LZ_STR("[sub.Tensor(self[i], by[i], alpha=alpha[i]) for i in range(len(self))]");
        assert_true(lz_str_ends(op->formula->text, calls));
        assert_true(lz_str_find(op->formula->text, LZ_STR("check(len(by) == len(self), ")) != SIZE_MAX);
        assert_true(op->layout.strides == LZ_STRIDES_operands && op->layout.memory == LZ_MEMORY_ITEMS);
        assert_int_equal(forms, 1);
        assert_int_equal(op->nautogen, 1);
        const lzg_function *inplace = f.ops.functions[7];
        assert_true(lz_str_is(inplace->func->text, "_foreach_sub_.ScalarList(Tensor(a!)[] self, Tensor[] by, "
                                                   "*, Scalar[] alpha) -> ()"));
        assert_int_equal(inplace->layout.memory, LZ_MEMORY_ITEMS);
    }
    return done(&f, e);
}

static lz_err *test_name_in_a_module(void)
{
    fixture f = { 0 };
    const lzg_function *op;
    size_t forms;
    lz_err *e = read_same(&f, "- func: special_sin(Tensor self) -> Tensor\n  same_as: sin\n", &op, &forms);
    if (!e) {
        assert_true(lz_str_is(op->formula->text, "sin.default(self)"));
        assert_true(lz_str_is(op->python_module, "special") && op->variants == LZG_VARIANT_FUNCTION);
        assert_true(op->layout.strides == LZ_STRIDES_like && op->layout.nargs == 1
                    && op->layout.args[0] == 0);
        assert_int_equal(forms, 1);
        assert_true(lz_str_is(f.ops.functions[7]->func->name.text, "special_sin.out"));
    }
    LZ_TRY(done(&f, e));
    f = (fixture){ 0 };
    e = read_same(&f, "- func: __sub__.Tensor(Tensor self, Tensor other) -> Tensor\n  same_as: sub.Tensor\n",
                  &op, &forms);
    if (!e)
        assert_true(forms == 0 && op->variants == (LZG_VARIANT_FUNCTION | LZG_VARIANT_METHOD));
    return done(&f, e);
}

/* A file without definitions is one of torchgen's, also where our fields are allowed. */
static lz_err *test_files_in_torchgens_format(void)
{
    fixture f;
    lz_err *e = read_entries(&f, "- func: f(Tensor self) -> Tensor\n  tags: pointwise\n", true);
    if (!e) {
        assert_false(lzg_diag_any(&f.diag));
        assert_int_equal(f.ops.nfunctions, 1);
        assert_int_equal(f.ops.functions[0]->variants, LZG_VARIANT_FUNCTION);
        assert_true(f.ops.functions[0]->composite_implicit && !f.ops.functions[0]->is_abstract);
    }
    LZ_TRY(done(&f, e));
    e = read_entries(&f, "- func: f(Tensor self) -> Tensor\n  formula: self\n", true);
    if (!e)
        assert_true(f.ops.functions[0]->composite_explicit && f.ops.functions[0]->is_abstract);
    return done(&f, e);
}

static lz_err *test_other_facts(void)
{
    fixture f;
    lz_err *e =
        read_entries(&f,
                     "- func: relu6(Tensor self) -> Tensor\n  variants: inplace, out\n"
                     "  python_module: nn\n  tags: [core, pointwise]\n  autogen: relu6.Other_out\n"
                     "- func: t(Tensor(a) self) -> Tensor(a)\n  variants: function, method, inplace\n",
                     true);
    if (!e) {
        assert_false(lzg_diag_any(&f.diag));
        const lzg_function *inplace = f.ops.functions[1], *out = f.ops.functions[2],
                           *view = f.ops.functions[4];
        assert_ptr_equal(inplace->form_of, f.ops.functions[0]);
        assert_true(lz_str_is(inplace->python_module, "nn") && lz_str_is(out->python_module, "nn"));
        assert_true(lzg_function_has_tag(inplace, "pointwise") && lzg_function_has_tag(inplace, "inplace"));
        assert_true(lzg_function_has_tag(out, "out") && !lzg_function_has_tag(out, "core"));
        assert_true(!inplace->generated && !out->generated);
        assert_true(inplace->nautogen == 1 && out->nautogen == 0);
        assert_int_equal(out->variants, LZG_VARIANT_FUNCTION);
        assert_true(lzg_function_has_tag(view, "inplace_view") && view->view_kind == LZG_ALIASING_INPLACE);
        assert_int_equal(view->variants, LZG_VARIANT_FUNCTION | LZG_VARIANT_METHOD);
    }
    return done(&f, e);
}

static lz_err *check_refused(const char *text, bool own_fields, const char *wanted)
{
    fixture f;
    lz_text out = { 0 };
    lz_err *e = read_entries(&f, text, own_fields);
    if (!e)
        e = lzg_ops_check(&f.ops, &f.diag);
    if (!e) {
        lzg_diag_print(&f.diag, &out);
        lz_text_putc(&out, '\0');
        e = lz_text_check(&out);
    }
    if (!e && !strstr(out.ptr, wanted))
        fail_msg("%s: '%s' instead of '%s'", text, out.ptr, wanted);
    lz_text_deinit(&out);
    return done(&f, e);
}

static lz_err *test_refusals(void)
{
#define F "- func: f(Tensor self) -> Tensor\n"
    static const char *const table[][2] = {
        { F "  variants: function, inpalce\n", "f:2:23: unknown variant 'inpalce'" },
        { F "  variants: out, f.b\n", "f:2:18: variants lists two out forms" },
        { F "  variants: g_.b\n", "f:2:13: no in-place form: its name is that of another operator" },
        { F "  variants: g.out\n", "no out form: its name is that of another operator" },
        { "- func: f(Tensor a) -> Tensor\n  variants: inplace\n", "must take a Tensor self" },
        { "- func: f(Tensor self) -> (Tensor, Tensor)\n  variants: inplace\n", "and return one Tensor" },
        { "- func: f(Tensor self) -> Tensor[]\n  variants: out\n", "no out form: the operator must return" },
        { "- func: f(Tensor self) -> ()\n  variants: out\n", "no out form: the operator must return" },
        { "- func: f_(Tensor(a!) self) -> Tensor(a!)\n  variants: out\n", "is no functional form itself" },
        { "- func: f(int n) -> Tensor\n  tags: pointwise\n  inner: n\n", "f:1:9: no in-place form" },
        { F "  variants: inplace\n- func: f_(Tensor(a!) self) -> Tensor(a!)\n",
          "f:3:9: f_ has an entry of its own and is one of the variants of f" },
        { "- func: f_(Tensor(a!) self) -> Tensor(a!)\n" F "  variants: inplace\n",
          "f_ has an entry of its own and is one of the variants of f" },
        { F "  variants: inplace\n  memory: cast_out\n", "cast_out and alone are for operators with an out" },
        { F "  memory: instances\n", "instances is for operators with statistics" },
        { F "  memory: statistics\n", "not 'statistics'" },
        { F "  variants: out\n  memory: copies\n",
          "own_dtype, copies and resizes are for operators that write" },
        { F "  variants: out\n  memory: overlap\n", "are for operators that write" },
        { F "  variants: out\n  memory: no_cast_out\n", "f:3:11: no_cast_out is for entries that list" },
        { F "  variants: inplace\n  strides: operands\n  memory: no_cast_out\n",
          "no_cast_out is for entries" },
        { F "  variants: inplace\n  memory: contiguous_out\n",
          "f:3:11: contiguous_out is for entries that list an out form" },
        { F "  variants: out(\n", "f:2:13: unknown variant 'out('" },
        { F "  variants: out()\n", "unknown variant 'out()'" },
        { F "  variants: inplace(a)\n", "unknown variant 'inplace(a)'" },
        { F "  variants: out(a b)\n", "f:2:13: 'a b' is no name of an argument" },
        { F "  variants: out(a,)\n", "'' is no name of an argument" },
        { F "  variants: out(self)\n", "'self' is an argument already" },
        { F "  variants: out(a,b)\n", "no out form: it must name as many arguments as the operator returns" },
        { F "  variants: autogen, autogen\n", "f:2:22: variants lists autogen twice" },
        { F "  variants: out, autogen\n", "f:2:13: variants lists an out form and autogen, which makes one" },
        { "- func: f(Tensor(a) self) -> Tensor(a)\n  variants: autogen\n",
          "autogen is for functional and in-place operators that return no views" },
        { "- func: f(Tensor self) -> ()\n  variants: autogen\n", "that return no views" },
        { F "  autogen: f.out\n  formula: self\n",
          "f:2:12: autogen is a word of variants in a file with definitions" },
        { F "  variants: autogen\n  autogen: f.out\n", "autogen is a word of variants" },
        { F "  same_as: f\n", "f:2:12: same_as names 'f', which no entry before this one has" },
        { F "  same_as: [f]\n", "same_as must be a string, not a list" },
        { F "- func: g(Tensor self) -> Tensor\n  formula: self\n  same_as: f\n",
          "f:4:12: same_as stands for formula, inner and shape" },
        { F "- func: g_(Tensor(a!) self) -> Tensor(a!)\n  same_as: f\n",
          "same_as is for operators that write nothing" },
        { F "  each: f\n", "f:2:9: each names 'f', which no entry before this one has" },
        { F "  each: [f]\n", "each must be a string, not a list" },
        { F "- func: g(Tensor[] self) -> Tensor[]\n  formula: self\n  each: f\n",
          "f:4:9: each stands for formula, inner, shape and same_as" },
        { F "- func: g_(Tensor(a!)[] self) -> ()\n  each: f\n", "each is for operators that write nothing" },
        { F "- func: g(Tensor[] self, Tensor[] by) -> Tensor[]\n  each: f\n", "f has no argument for 'by'" },
        { F "- func: g(Tensor self) -> Tensor\n  each: f\n",
          "each needs an argument that is a list of tensors" },
        { F "  strides: like self\n- func: g(Tensor a) -> Tensor\n  same_as: f\n",
          "f:4:12: the strides of f follow 'self', which is no tensor here" },
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        LZ_TRY(check_refused(table[i][0], true, table[i][1]));
    return check_refused(F "  variants: function, out\n", false, "unknown variant 'out'");
}

/* ---- fields that name arguments and operators ---- */

#define LIST "- func: parts(Tensor self, int[] at, int dim) -> Tensor[]\n"
#define NORM "- func: norm(Tensor x, Tensor mean, float f, bool b, bool train) -> Tensor\n"

static lz_err *test_arguments_by_name(void)
{
    fixture f;
    lz_err *e = read_entries(&f,
                             LIST "  length: at + 1\n  formula: at\n"
                                  "- func: g(Tensor self, Tensor other) -> Tensor\n"
                                  "  number: other\n  mask: self\n  formula: self\n",
                             true);
    if (!e) {
        assert_false(lzg_diag_any(&f.diag));
        const lz_layout_row *l = &f.ops.functions[0]->layout, *g = &f.ops.functions[1]->layout;
        assert_true(l->length == 2 && l->more == 1 && l->number == 0 && l->mask == 0);
        assert_true(g->number == 2 && g->mask == 1 && g->length == 0);
    }
    return done(&f, e);
}

static lz_err *test_statistics(void)
{
    fixture f;
    lz_err *e = read_entries(
        &f,
        "- func: marked(Tensor x, Tensor? w, Tensor(a!) mean, bool train, float f) -> Tensor\n" NORM
        "  statistics: marked if b\n  memory: instances\n  formula: x\n",
        true);
    if (!e) {
        assert_false(lzg_diag_any(&f.diag));
        const lzg_function *marked = f.ops.functions[0], *norm = f.ops.functions[1];
        const int wanted[] = { 0, LZ_NO_ARGUMENT, 1, 4, 2 };
        assert_int_equal(norm->layout.memory, LZ_MEMORY_STATISTICS | LZ_MEMORY_INSTANCES);
        assert_int_equal(norm->statistics_when, 3);
        for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
            assert_int_equal(lzg_statistics_argument(norm, &marked->func->args[i]), wanted[i]);
    }
    return done(&f, e);
}

static lz_err *test_refused_facts(void)
{
    static const char *const table[][2] = {
        { LIST "  length: size\n", "f:2:11: length names 'size', which is no argument" },
        { LIST "  length: self\n", "length names 'self', which is no number" },
        { LIST "  number: dim\n", "f:2:11: number names 'dim', which is no tensor" },
        { LIST "  mask: 3\n", "mask must be a string" },
        { NORM "  statistics: marked\n", "statistics is an operator, 'if' and an argument" },
        { NORM "  statistics: marked if f\n", "f:2:25: statistics names 'f', which is no bool" },
        { NORM "  statistics: marked if train\n", "which is no operator that writes" },
        { NORM "  statistics: marked if train\n"
               "- func: marked(Tensor x, Tensor(a!) var) -> Tensor\n",
          "marked needs 'var', which is no argument" },
        { F "  copying: g\n", "copying names 'g', which is no operator with these arguments" },
        { "- func: f(Tensor x) -> Tensor\n  algebra: idempotent, odd\n",
          "f:2:24: algebra is idempotent, involution or symmetric, not 'odd'" },
        { "- func: f(Tensor x) -> Tensor\n  algebra: [idempotent]\n", "algebra must be a string" },
        { "- func: f(Tensor x) -> Tensor\n  algebra: involution\n",
          "involution is for operators with a view" },
        { "- func: f(Tensor(a) x) -> Tensor(a)\n  algebra: idempotent\n",
          "idempotent is for operators with" },
        { "- func: f(Tensor(a) x, int i) -> Tensor(a)\n  algebra: symmetric\n",
          "symmetric is for operators with" },
        { "- func: f(Tensor(a) x, float i) -> Tensor(a)\n  algebra: involution\n", "involution is for" },
        { "- func: f(Tensor x) -> (Tensor, Tensor)\n  algebra: idempotent\n", "idempotent is for" },
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        LZ_TRY(check_refused(table[i][0], true, table[i][1]));
    return check_refused(F "  copying: g\n", false, "unknown field 'copying'");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LZ_TEST(test_schemas),
        LZ_TEST(test_memory),
        LZ_TEST(test_files_in_torchgens_format),
        LZ_TEST(test_other_facts),
        LZ_TEST(test_refusals),
        LZ_TEST(test_strides_of_forms),
        LZ_TEST(test_autogen),
        LZ_TEST(test_autogen_beside_an_entry),
        LZ_TEST(test_default_forms),
        LZ_TEST(test_casts),
        LZ_TEST(test_backward),
        LZ_TEST(test_other_name),
        LZ_TEST(test_other_overload),
        LZ_TEST(test_items_of_lists),
        LZ_TEST(test_name_in_a_module),
        LZ_TEST(test_arguments_by_name),
        LZ_TEST(test_statistics),
        LZ_TEST(test_refused_facts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
