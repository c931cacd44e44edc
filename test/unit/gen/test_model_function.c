#include "check.h"
#include "gen/model/model.h"

static const char *const tags_text = "- {tag: core, desc: c}\n- {tag: view_copy, desc: c}\n"
                                     "- {tag: inplace_view, desc: c}\n- {tag: out, desc: c}\n"
                                     "- {tag: nondeterministic_seeded, desc: c}\n- {tag: inplace, desc: c}\n"
                                     "- {tag: pt2_compliant_tag, desc: c}\n";

static lz_err *add_text(lzg_ops *ops, const char *text, bool own_fields, lzg_diag *d)
{
    const lzg_yaml *tags, *tree;
    LZ_TRY(lzg_yaml_parse(&ops->arena, lz_str_of(tags_text), "tags", &tags));
    LZ_TRY(lzg_ops_add_tags(ops, tags, d));
    LZ_TRY(lzg_yaml_parse(&ops->arena, lz_str_of(text), "f", &tree));
    LZ_TRY(lzg_ops_add(ops, tree, own_fields, d));
    return lzg_ops_check(ops, d);
}

static lz_err *read_fields(lzg_ops *ops, const char *text, bool own_fields, lzg_diag *d)
{
    lzg_diag_init(d);
    *ops = (lzg_ops){ 0 };
    return add_text(ops, text, own_fields, d);
}

static lz_err *read_text(lzg_ops *ops, const char *text, lzg_diag *d)
{
    return read_fields(ops, text, false, d);
}

static lz_err *done(lzg_ops *ops, lzg_diag *d, lz_err *e)
{
    lzg_diag_deinit(d);
    lzg_ops_deinit(ops);
    return e;
}

/* want: what the printed findings contain, or NULL for none. */
static lz_err *check_fields(const char *text, bool own_fields, const char *want)
{
    lzg_ops ops;
    lzg_diag d;
    lz_text out = { 0 };
    lz_err *e = read_fields(&ops, text, own_fields, &d);
    if (!e) {
        lzg_diag_print(&d, &out);
        lz_text_putc(&out, '\0');
        e = lz_text_check(&out);
    }
    if (!e && !want && lzg_diag_any(&d))
        fail_msg("%s refused: %s", text, out.ptr);
    if (!e && want && !strstr(out.ptr, want))
        fail_msg("%s: '%s' instead of '%s'", text, out.ptr, want);
    lz_text_deinit(&out);
    return done(&ops, &d, e);
}

static lz_err *check(const char *text, const char *want)
{
    return check_fields(text, false, want);
}

typedef struct refusal {
    const char *text, *want;
} refusal;

static lz_err *check_all(const refusal *table, size_t n)
{
    for (size_t i = 0; i < n; i++)
        LZ_TRY(check(table[i].text, table[i].want));
    return NULL;
}
#define CHECK_ALL(table) check_all((table), sizeof(table) / sizeof *(table))

#define F   "- func: f(Tensor self, int n=1) -> Tensor\n"
#define OUT "- func: f.out(Tensor self, int n=1, *, Tensor(a!) out) -> Tensor(a!)\n"

static lz_err *test_fields_have_types(void)
{
    static const refusal table[] = {
        { "f", "f:1:1: an operator file is a list, not a string" },
        { "- f", "f:1:3: an operator entry is a mapping, not a string" },
        { "- variants: method", "f:1:3: entry without func" },
        { "- func:", "entry without func" },
        { "- func: 5", "f:1:9: func must be a string, not an integer" },
        { "- func: f(tensor self) -> Tensor", "f:1:11: unknown type 'tensor'\n    f(tensor self) -> Tensor" },
        { "- func: a::f(tensor self) -> Tensor", "f:1:14: unknown type 'tensor'" },
        { "- func: a::b::f() -> ()", "f:1:9: more than 1 level of namespace" },
        { F "  variant: function", "f:2:3: unknown field 'variant'" },
        { F "  formula: self", "f:2:3: unknown field 'formula'" },
        { F "  5: x", "f:2:3: unknown field '5'" },
        { F "  __line__: x", NULL },
        { F "  variants: [method]", "f:2:13: variants must be a string, not a list" },
        { F "  variants: function, methods", "f:2:23: unknown variant 'methods'" },
        { F "  variants: method, function", NULL },
        { F "  manual_cpp_binding: 1", "f:2:23: manual_cpp_binding must be a boolean, not an integer" },
        { F "  manual_kernel_registration: \"True\"", "must be a boolean, not a string" },
        { F "  manual_kernel_registration: yes", NULL },
        { F "  device_guard: null", "device_guard must be a boolean" },
        { F "  device_check: nocheck", "f:2:17: device_check is NoCheck or ExactSame, not 'nocheck'" },
        { F "  device_check: 5", "device_check must be a string" },
        { F "  device_check:", NULL },
        { F "  python_module: 5", "python_module must be a string" },
        { F "  category_override: True", "category_override must be a string, not a boolean" },
        { F "  cpp_no_default_args: n", "cpp_no_default_args must be a list" },
        { F "  cpp_no_default_args: [n, self]", "f:2:28: 'self' is no argument with a default" },
        { F "  cpp_no_default_args: [n, n]", NULL },
        { "- func: f(Tensor self, int n, int n=1) -> Tensor\n  cpp_no_default_args: [n]", NULL },
        { "- func: f(Tensor self, int n, int n) -> Tensor\n  cpp_no_default_args: [n]",
          "'n' is no argument" },
        { F "  use_const_ref_for_mutable_tensors: maybe", "must be a boolean" },
        { F "  autogen: [f.out]", "autogen must be a string" },
        { F "  autogen: f.out, f_out", "f:2:19: the suffix _out is reserved" },
        { F "  tags: {core: 1}", "tags must be a string or a list" },
        { F "  tags: shiny", "f:2:9: unknown tag 'shiny'" },
        { F "  tags: [core, [core]]", "unknown tag" },
        { F "  tags: [core, core]", NULL },
    };
    return CHECK_ALL(table);
}

static lz_err *test_layout_fields(void)
{
#define V "- func: v(Tensor(a) self) -> Tensor(a)\n"
#define W                                                                                                    \
    "- func: w_(Tensor(a!) self) -> Tensor(a!)\n  autogen: w, w.out\n  dispatch: "                           \
    "{CompositeExplicitAutograd: w_}\n"
    static const refusal table[] = {
        { V "  memory: may_copy, may_return", NULL },
        { V "  memory: row_major", NULL },
        { V "  memory: [may_copy]", "f:2:11: memory must be a string, not a list" },
        { V "  memory: may_copy, maycopy",
          "f:2:21: memory is may_copy, may_share, may_return, row_major, overlap" },
        { V "  memory: may_share", "may_share is for results that the schema does not mark" },
        { V "  memory: overlap", "overlap, no_write, apart, no_cast, fills, own_dtype, copies and resizes "
                                 "are for operators that write" },
        { V "  memory: apart", "overlap, no_write, apart, no_cast, fills, own_dtype, copies and resizes are "
                               "for operators that write" },
        { V "  memory: cast_out", "cast_out and alone are for operators with an out argument" },
        { F "  memory: may_share", NULL },
        { F "  memory: may_copy", "may_copy and row_major are for results that the schema marks as views" },
        { W "  memory: overlap", NULL },
        { W "  memory: may_copy", "may_copy and row_major are for" },
        { V "  strides: view", NULL },
        { F "  strides: like self", NULL },
        { F "  strides: lke self", "f:2:12: no rule for strides is called 'lke'" },
        { F "  strides: like slef", "f:2:17: strides names 'slef', which is no argument" },
        { F "  strides: like n", "f:2:17: strides names 'n', which is no tensor" },
        { F "  strides: operands self, self, self, self, self", "strides names more than 4 arguments" },
        { F "  strides: 5", "strides must be a string, not an integer" },
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        LZ_TRY(check_fields(table[i].text, true, table[i].want));
    return NULL;
#undef V
#undef W
}

static lz_err *test_dispatch_tables(void)
{
    static const refusal table[] = {
        { F "  dispatch: CPU", "f:2:13: dispatch must be a mapping, not a string" },
        { F "  dispatch:", NULL },
        { F "  dispatch: {}", NULL },
        { F "  dispatch: {CPU, CUDA : a}", "strings under string keys" },
        { F "  dispatch: {5: a}", "strings under string keys" },
        { F "  dispatch: {CPU: 5}", "f:2:19: dispatch must be strings" },
        { F "  dispatch: {__line__: 5}", NULL },
        { F "  dispatch: {'CPU,CUDA , MPS': a}", NULL },
        { F "  dispatch: {'CPU,': a}", "unknown dispatch key ''" },
        { F "  dispatch: {'CPU, CPUU': a}", "f:2:20: unknown dispatch key 'CPUU'" },
        { F "  dispatch: {XLA: a}", "dispatch key XLA is not allowed" },
        { F "  dispatch: {CatchAll: a}", "dispatch key Undefined is not allowed" },
        { F "  dispatch: {CPU: a::b::c::d}", NULL },
        { F "  dispatch: {CPU: a::b::c::d::e}", "more than 3 levels of namespace" },
        { F "  manual_kernel_registration: True\n  dispatch: {CPU: a}", "no effect" },
        { F "  dispatch: {CompositeImplicitAutograd: f}", "the default: leave it out" },
        { F "  dispatch: {CompositeImplicitAutograd: g}", "give it the operator's name" },
        { F "  dispatch: {CompositeImplicitAutograd: f_symint}", NULL },
        { F "  dispatch: {CompositeImplicitAutograd: f, CPU: g}", NULL },
        { F "  dispatch: {CompositeImplicitAutograd: g, CompositeExplicitAutograd: h}",
          "more than one composite" },
        { F "  dispatch: {CompositeImplicitAutograd: g, CompositeImplicitAutogradNestedTensor: h}", NULL },
        { F "  dispatch: {CompositeExplicitAutograd: g, CompositeImplicitAutogradNestedTensor: h}", NULL },
        { F
          "  dispatch: {CompositeExplicitAutogradNonFunctional: g, CompositeImplicitAutogradNestedTensor: h}",
          "more than one composite" },
        { "- func: new_f(Tensor self) -> Tensor", "needs a dispatch table" },
        { "- func: f_like(Tensor self) -> Tensor", "needs a dispatch table" },
        { "- func: f(*, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? "
          "pin_memory=None) "
          "-> Tensor",
          "needs a dispatch table" },
        { F F, "f:2:9: f has a kernel for CompositeImplicitAutograd already" },
    };
    return CHECK_ALL(table);
}

static lz_err *test_structured_entries(void)
{
    static const refusal table[] = {
        { OUT "  variants: function, method", "f:2:13: an out function is a function" },
        { OUT "  use_const_ref_for_mutable_tensors: True", "on an out function" },
        { F "  structured: True", "f:2:15: structured belongs on the out function" },
        { OUT "  structured: True\n  dispatch: {CPU: a}\n" F "  structured_delegate: f.out", NULL },
        { OUT "  structured: True\n  device_guard: False", "f:3:17: structured kernels do not respect" },
        { OUT "  structured_delegate: f.out", "it does not delegate" },
        { OUT "  structured_inherits: TensorIteratorBase", "without structured: True" },
        { OUT "  structured: True\n  structured_inherits: a::b", "takes no namespace" },
        { F "  structured_delegate: a::f.out", "takes no namespace" },
        { F "  structured_delegate: f.out\n  dispatch: {CPU: a}", "CPU is delegated" },
        { F "  structured_delegate: f.out", "f:1:9: structured_delegate f.out does not exist" },
        { OUT "  dispatch: {CPU: a}\n" F "  structured_delegate: f.out",
          "structured_delegate f.out is not structured" },
        { F "  python_module: nn\n  variants: function, method", "f:2:18: a function in a module" },
        { "- func: _foreach_f(Tensor[] self) -> Tensor[]", "needs device_check: NoCheck" },
    };
    return CHECK_ALL(table);
}

static lz_err *test_precomputed(void)
{
    static const refusal table[] = {
        { F "  precomputed: []", "needs structured: True" },
        { OUT "  structured: True\n  precomputed: []", NULL },
        { OUT "  structured: True\n  precomputed: False", NULL },
        { OUT "  structured: True\n  precomputed: n -> int m", "precomputed must be a list" },
        { OUT "  structured: True\n  precomputed: [5]", "a precomputed line is a string" },
        { OUT "  structured: True\n  precomputed: ['int x', 'n -> int m']", "in the last line only" },
        { OUT "  structured: True\n  precomputed: ['n -> int m,int k']",
          "f:3:29: precomputed values are separated" },
        { OUT "  structured: True\n  precomputed: ['n -> int m', 'int k,  int l']", NULL },
        { OUT "  structured: True\n  precomputed: ['n m -> int m']", "'n m' is no argument name" },
        { OUT "  structured: True\n  precomputed: ['n -> int m', 'n -> int k']", "'n' is replaced twice" },
        { OUT "  structured: True\n  precomputed: ['n -> int M']", "'M' is all upper case" },
        { OUT "  structured: True\n  precomputed: ['n -> int m -> int k']", "a second ' -> '" },
        { OUT "  structured: True\n  precomputed: ['n -> itn m']", "f:3:23: unknown type 'itn'" },
    };
    return CHECK_ALL(table);
}

static lz_err *test_ufuncs(void)
{
    static const refusal table[] = {
        { F "  ufunc_inner_loop: f (Bool)", "belongs to a structured out function" },
        { OUT "  structured: True\n  ufunc_inner_loop: f (Bool, All)", NULL },
        { OUT "  structured: True\n  ufunc_inner_loop: {Generic: f (Bool), ScalarOnly: f (Half)}", NULL },
        { OUT "  structured: True\n  ufunc_inner_loop: f (Bool)\n  dispatch: {CPU: a}",
          "no explicit kernel for CPU" },
        { OUT "  structured: True\n  ufunc_inner_loop: [f]", "a string or a mapping" },
        { OUT "  structured: True\n  ufunc_inner_loop: f", "reads 'name (dtype, dtype)'" },
        { OUT "  structured: True\n  ufunc_inner_loop: f (Bool", "reads 'name (dtype, dtype)'" },
        { OUT "  structured: True\n  ufunc_inner_loop: f (Bool, Bol)", "f:3:30: unknown dtype 'Bol'" },
        { OUT "  structured: True\n  ufunc_inner_loop: f ()", "unknown dtype ''" },
        { OUT "  structured: True\n  ufunc_inner_loop: {CPU: f (Bool)}", "unknown ufunc key 'CPU'" },
        { OUT "  structured: True\n  ufunc_inner_loop: {Generic: 5}", "strings under string keys" },
    };
    return CHECK_ALL(table);
}

static lz_err *test_random_operators_say_so(void)
{
    static const refusal table[] = {
        { "- func: my_rand(Tensor self) -> Tensor", "nondeterministic_seeded is missing" },
        { "- func: my_rand(Tensor self) -> Tensor\n  tags: nondeterministic_seeded", NULL },
        { "- func: _philox_randint(Tensor self) -> Tensor", NULL },
        { "- func: f.dropout(Tensor self) -> Tensor", "missing" },
        { "- func: f(Tensor self, float dropout_p) -> Tensor", "missing" },
        { "- func: f_backward(Tensor self, float dropout_p) -> Tensor", NULL },
        { "- func: f(Tensor self, Generator? g) -> Tensor", "missing" },
        { "- func: f_backward(Tensor self, Generator[] g) -> Tensor", "missing" },
        { "- func: _cudnn_init_dropout_state(float dropout) -> Tensor", NULL },
    };
    return CHECK_ALL(table);
}

static lz_err *test_rules_across_entries(void)
{
    static const refusal table[] = {
        { "- func: f(Tensor self, int lambda) -> Tensor", "'lambda' is a Python keyword" },
        { "- func: f(Tensor self, int from) -> Tensor", "'from' is a Python keyword" },
        { "- func: uniform_(Tensor(a!) self, float from) -> Tensor(a!)", NULL },
        { "- func: f(Tensor(a!) self) -> Tensor(a!)\n  tags: inplace_view", "a name that is not in place" },
        { "- func: f_(Tensor(a!) self) -> Tensor(a!)\n  tags: inplace_view", "without an operator f" },
        { "- func: f_(Tensor(a!) self) -> Tensor(a!)\n  tags: inplace_view\n- func: f.x(int y) -> Tensor",
          NULL },
        { "- func: f_(Tensor(a!) self) -> Tensor(a!)\n  tags: inplace_view\n- func: f_functional.x(int y) -> "
          "Tensor",
          "without an operator f" },
        { "- func: resize_(Tensor(a!) self) -> Tensor(a!)\n  tags: inplace_view", NULL },
    };
    return CHECK_ALL(table);
}

static lz_err *test_every_mistake_is_found(void)
{
    lzg_ops ops;
    lzg_diag d;
    lz_err *e = read_text(&ops,
                          "- func: f(tensor self) -> Tensor\n- func: g(Tensor self) -> Tensor\n"
                          "  structured_delegate: f.out\n- func: h(Tensor self, int class) -> Tensor\n- 7\n",
                          &d);
    if (!e) {
        assert_int_equal(d.found.len, 3); /* not the delegate: f.out may be what was refused */
        assert_int_equal(d.found.data[0].loc.line, 1);
        assert_int_equal(d.found.data[1].loc.line, 5);
        assert_int_equal(d.found.data[2].loc.line, 4);
        assert_int_equal(ops.nfunctions, 2);
        assert_non_null(lzg_ops_find(&ops, LZ_STR("g")));
    }
    return done(&ops, &d, e);
}

static lz_err *test_an_entry_in_full(void)
{
    lzg_ops ops;
    lzg_diag d;
    lz_err *e =
        read_text(&ops,
                  "- func: ns::f.out(Tensor self, int n=1, int m=2, *, Tensor(a!) out) -> Tensor(a!)\n"
                  "  structured: on\n  structured_inherits: Base\n  tags: [nondeterministic_seeded, core]\n"
                  "  cpp_no_default_args: [n, m]\n  precomputed: ['n -> int a, bool b', int c]\n"
                  "  ufunc_inner_loop: {ScalarOnly: 'f1 (Bool, Integral)', Generic: f2 (Half)}\n"
                  "  dispatch: {'MPS, Meta': k_symint, XPU: a::b::k}\n  autogen: f, f.x_out\n",
                  &d);
    if (!e) {
        assert_false(lzg_diag_any(&d));
        const lzg_function *f = lzg_ops_find(&ops, LZ_STR("f.out"));
        assert_true(lz_str_is(f->ns, "ns") && f->structured && lz_str_is(f->structured_inherits, "Base"));
        assert_true(lz_str_is(f->tags[0], "core") && f->ntags == 3 && lz_str_is(f->tags[2], "out"));
        assert_true(f->ncpp_no_default_args == 2 && lz_str_is(f->cpp_no_default_args[0], "m"));
        assert_true(f->precomputed->nreplace == 1 && f->precomputed->replace[0].n == 2);
        assert_true(f->precomputed->nadd == 1 && lz_str_is(f->precomputed->add[0].name, "c"));
        assert_true(f->nufunc == 2 && f->ufunc[0].ndtypes == 6 && f->ufunc[1].key == LZG_UFUNC_Generic);
        assert_true(f->nautogen == 2 && lz_str_is(f->autogen[1].overload, "x_out"));
        assert_int_equal(f->ndispatch, 5);
        const lzg_backend_metadata *mps = lzg_function_kernel(f, lzg_dispatch_key_find(LZ_STR("MPS")));
        assert_true(mps->structured && lzg_backend_metadata_symint(mps));
        assert_true(lz_str_is(mps->cpp_namespace, "at::native"));
        assert_true(lz_str_is(lzg_function_kernel(f, lzg_dispatch_key_find(LZ_STR("XPU")))->cpp_namespace,
                              "a::b::native"));
        assert_false(lzg_function_kernel(f, lzg_dispatch_key_find(LZ_STR("Meta")))->structured);
        assert_true(
            lz_str_is(lzg_function_kernel(f, lzg_dispatch_key_find(LZ_STR("CUDA")))->kernel, "ufunc_f_CUDA"));
        assert_true(f->is_abstract && !lzg_function_has_composite(f));
        assert_int_equal(ops.nindices, 5);
        assert_true(lzg_ops_index(&ops, lzg_dispatch_key_find(LZ_STR("XPU")))->device_guard);
        assert_null(lzg_ops_index(&ops, lzg_key_implicit));
    }
    return done(&ops, &d, e);
}

static lz_err *test_defaults(void)
{
    lzg_ops ops;
    lzg_diag d;
    lz_err *e = read_text(&ops, "- func: f_(Tensor(a!) self) -> Tensor(a!)\n", &d);
    if (!e) {
        const lzg_function *f = ops.functions[0];
        assert_int_equal(f->variants, LZG_VARIANT_FUNCTION);
        assert_true(f->device_check && f->device_guard && lz_str_is(f->ns, "aten"));
        assert_true(f->composite_implicit && lzg_function_has_composite(f) && !f->is_abstract);
        assert_true(lz_str_is(f->dispatch[0].kernel, "f_"));
        assert_true(f->ntags == 2 && lzg_function_has_tag(f, "inplace"));
        assert_true(lz_str_is(f->signature, "f(Tensor self) -> Tensor"));
        assert_null(f->python_module.ptr);
        assert_int_equal(f->loc.col, 3);
        assert_int_equal(f->func_loc.col, 9);
    }
    return done(&ops, &d, e);
}

static lz_err *test_own_fields(void)
{
    lzg_ops ops = { 0 };
    lzg_diag d;
    lzg_diag_init(&d);
    lz_err *e = add_text(&ops, F "  formula: self * n\n  shape: same\n  static: [n]\n", true, &d);
    if (!e) {
        assert_false(lzg_diag_any(&d));
        assert_true(lz_str_is(ops.functions[0]->formula->text, "self * n"));
        assert_true(ops.functions[0]->statics->len == 1 && !ops.functions[0]->inner);
    }
    return done(&ops, &d, e);
}

static lz_err *test_ignored_keys_count_but_vanish(void)
{
    lzg_ops ops = { 0 };
    lzg_diag d;
    lzg_diag_init(&d);
    ops.ignored[lzg_dispatch_key_find(LZ_STR("MPS"))] = true;
    lz_err *e = add_text(&ops, F "  dispatch: {CompositeImplicitAutograd: f, MPS: g}\n", false, &d);
    if (!e) {
        assert_false(lzg_diag_any(&d));
        assert_int_equal(ops.functions[0]->ndispatch, 1);
    }
    return done(&ops, &d, e);
}

static lz_err *check_tags(const char *text, const char *want)
{
    lzg_ops ops = { 0 };
    lzg_diag d;
    const lzg_yaml *tree;
    lzg_diag_init(&d);
    lz_err *e = lzg_yaml_parse(&ops.arena, lz_str_of(text), "t", &tree);
    if (!e)
        e = lzg_ops_add_tags(&ops, tree, &d);
    if (!e && !want)
        assert_false(lzg_diag_any(&d));
    if (!e && want)
        assert_true(lz_str_find(d.found.data[0].reason, lz_str_of(want)) != SIZE_MAX);
    return done(&ops, &d, e);
}

static lz_err *test_tags_files(void)
{
    LZ_TRY(check_tags("- tag: a\n  desc: b\n- tag: a\n  desc:\n  more: x", NULL));
    LZ_TRY(check_tags("- tag: a\n  desc: ''", "needs a description"));
    LZ_TRY(check_tags("- tag: a", "needs a description"));
    LZ_TRY(check_tags("- desc: a", "needs a name"));
    LZ_TRY(check_tags("- tag: [a]\n  desc: x", "needs a name"));
    LZ_TRY(check_tags("- a", "a tag is a mapping"));
    return check_tags("a: b", "a tags file is a list");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LZ_TEST(test_fields_have_types),
        LZ_TEST(test_layout_fields),
        LZ_TEST(test_dispatch_tables),
        LZ_TEST(test_structured_entries),
        LZ_TEST(test_precomputed),
        LZ_TEST(test_ufuncs),
        LZ_TEST(test_random_operators_say_so),
        LZ_TEST(test_rules_across_entries),
        LZ_TEST(test_every_mistake_is_found),
        LZ_TEST(test_an_entry_in_full),
        LZ_TEST(test_defaults),
        LZ_TEST(test_own_fields),
        LZ_TEST(test_ignored_keys_count_but_vanish),
        LZ_TEST(test_tags_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
