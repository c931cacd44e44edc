#include "gen/report/dump_python.h"
#include "gen_text.h"

/* ---- operators from text ---- */

typedef struct fixture {
    lzg_ops ops;
    lzg_diag found, d; /* of the model, of Python */
    lzg_python p;
} fixture;

static lz_err *load(fixture *x, const char *yaml, const char *deprecated)
{
    const lzg_yaml *tree = NULL;
    *x = (fixture){ 0 };
    lzg_diag_init(&x->d);
    LZ_TRY(gen_ops(&x->ops, yaml, &x->found));
    LZ_TRY(lzg_diag_error(&x->found));
    LZ_TRY(lzg_python_init(&x->p, &x->ops));
    if (deprecated)
        LZ_TRY(lzg_yaml_parse(&x->ops.arena, lz_str_of(deprecated), "deprecated", &tree));
    LZ_TRY(lzg_python_load(&x->p, tree, &x->d));
    return lzg_python_check(&x->p, &x->d);
}

static void unload(fixture *x)
{
    lzg_python_deinit(&x->p);
    lzg_ops_deinit(&x->ops);
    lzg_diag_deinit(&x->found);
    lzg_diag_deinit(&x->d);
}

/* The dump, as the operators give it. */
static lz_err *check(const char *yaml, const char *deprecated, const char *want)
{
    fixture x;
    lz_text text = { 0 };
    lz_err *e = load(&x, yaml, deprecated);
    if (!e)
        e = lzg_diag_error(&x.d);
    if (!e)
        e = lzg_dump_python_names(&x.p, &text);
    if (!e)
        assert_text(&text, want);
    lz_text_deinit(&text);
    unload(&x);
    return e;
}

/* Exactly one finding, and it says so. */
static lz_err *refuse(const char *yaml, const char *deprecated, const char *why)
{
    fixture x;
    lz_err *e = load(&x, yaml, deprecated);
    if (!e && x.d.found.len != 1)
        fail_msg("%zu findings of:\n%s", x.d.found.len, yaml);
    if (!e)
        e = lz_check_err(lzg_diag_error(&x.d), LZ_ERR_MODEL, why);
    unload(&x);
    return e;
}

/* ---- what is bound ---- */

static lz_err *is_bound(const char *yaml, const char *name, bool want)
{
    fixture x;
    lz_err *e = load(&x, yaml, NULL);
    const lzg_function *f = e ? NULL : lzg_ops_find(&x.ops, lz_str_of(name));
    if (!e) {
        assert_non_null(f);
        assert_int_equal(lzg_python_is_bound(&x.p, f), want);
    }
    unload(&x);
    return e;
}

static lz_err *test_what_python_sees(void)
{
    LZ_TRY(is_bound("- func: f(Tensor self) -> Tensor", "f", true));
    LZ_TRY(is_bound("- func: f_backward(Tensor self) -> Tensor", "f_backward", false));
    LZ_TRY(is_bound("- func: item(Tensor self) -> Scalar", "item", false));
    LZ_TRY(is_bound("- func: items(Tensor self) -> Scalar", "items", true));
    LZ_TRY(is_bound("- func: index.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)", "index.out", false));
    LZ_TRY(is_bound("- func: mul.Scalar(Tensor self, Scalar other) -> Tensor", "mul.Scalar", false));
    return is_bound("- func: mul.Scalar(Tensor self, Scalar o) -> Tensor", "mul.Scalar", true);
}

static lz_err *test_generated_operators_are_not_bound(void)
{
    const char *f = "- func: f(Tensor self) -> Tensor\n  dispatch: {CPU: f}\n  autogen: f.out\n";
    const char *copy = "- func: f_copy(Tensor self) -> Tensor\n  dispatch: {CPU: f}\n  autogen: f_copy.out\n"
                       "  tags: view_copy\n";
    LZ_TRY(is_bound(f, "f.out", false));
    LZ_TRY(is_bound(f, "f", true));
    return is_bound(copy, "f_copy.out", true);
}

/* ---- names ---- */

static lz_err *test_modules(void)
{
    return check(
        "- func: f(Tensor self) -> Tensor\n  variants: function, method\n"
        "- func: f_(Tensor(a!) self) -> Tensor(a!)\n  variants: method\n"
        "- func: g(Tensor self) -> Tensor\n  python_module: linalg\n"
        "- func: h(Tensor self) -> Tensor\n  python_module: elsewhere\n",
        NULL,
        "{\"max_args\":1,\"module\":\"torch\",\"name\":\"f\",\"noarg\":false,\"signatures\":[{\"base\":\"f\","
        "\"out\":null,\"out_idx\":null,\"sig\":\"f(Tensor input)\"}]}\n"
        "{\"max_args\":0,\"module\":\"torch.Tensor\",\"name\":\"f\",\"noarg\":true,\"signatures\":[{\"base\":"
        "\"f\",\"out\":null,\"out_idx\":null,\"sig\":\"f()\"}]}\n"
        "{\"max_args\":0,\"module\":\"torch.Tensor\",\"name\":\"f_\",\"noarg\":true,\"signatures\":[{"
        "\"base\":\"f_\",\"out\":null,\"out_idx\":null,\"sig\":\"f_()\"}]}\n"
        "{\"max_args\":1,\"module\":\"torch.linalg\",\"name\":\"g\",\"noarg\":false,\"signatures\":[{"
        "\"base\":\"g\",\"out\":null,\"out_idx\":null,\"sig\":\"g(Tensor input)\"}]}\n");
}

static lz_err *test_base_and_out_are_one_signature(void)
{
    return check(
        "- func: f.S(Tensor self, Scalar o) -> Tensor\n"
        "- func: f.T_out(Tensor self, Tensor o, *, Tensor(a!) out) -> Tensor(a!)\n"
        "- func: f.T(Tensor self, Tensor o) -> Tensor\n",
        NULL,
        "{\"max_args\":3,\"module\":\"torch\",\"name\":\"f\",\"noarg\":false,\"signatures\":["
        "{\"base\":\"f.T\",\"out\":\"f.T_out\",\"out_idx\":2,\"sig\":\"f(Tensor input, Tensor o, *, "
        "Tensor out=None)\"},"
        "{\"base\":\"f.S\",\"out\":null,\"out_idx\":null,\"sig\":\"f(Tensor input, Scalar o)\"}]}\n");
}

/* Old signatures stand under the operator's name, also where their own differs. */
static lz_err *test_old_signatures_join_the_operator(void)
{
    return check(
        "- func: f(Tensor self, int n, *, Scalar a=1) -> Tensor\n",
        "- name: g(Tensor self, Scalar a, int n) -> Tensor\n  aten: f(self, n, a)\n",
        "{\"max_args\":3,\"module\":\"torch\",\"name\":\"f\",\"noarg\":false,\"signatures\":["
        "{\"base\":\"f\",\"out\":null,\"out_idx\":null,\"sig\":\"f(Tensor input, int64_t n, *, Scalar "
        "a=1)\"},"
        "{\"base\":\"f\",\"out\":null,\"out_idx\":null,\"sig\":\"g(Tensor input, Scalar a, int64_t "
        "n)|deprecated\"}]}\n");
}

static lz_err *test_ambiguous_overloads(void)
{
    LZ_TRY(refuse("- func: f.a(Tensor self, int n) -> Tensor\n- func: f.b(Tensor self, int n) -> int\n", NULL,
                  "both are f(Tensor input, int64_t n)"));
    LZ_TRY(refuse("- func: f.a(Tensor self, int n) -> Tensor\n- func: f.b(Tensor input, int n) -> int\n",
                  NULL, "both are"));
    LZ_TRY(refuse("- func: f.o(Tensor self, int n, *, Tensor(a!) out) -> Tensor(a!)\n", NULL,
                  "no overload is f(Tensor input, int64_t n)"));
    LZ_TRY(refuse("- func: f(Tensor self) -> Tensor\n"
                  "- func: f.o(Tensor self, *, Tensor(a!) out) -> Tensor(a!)\n"
                  "- func: f.p(Tensor self, *, Tensor(a!)[] res) -> ()\n",
                  NULL, "both are f(Tensor input)"));
    return refuse("- func: f(Tensor self, int n) -> Tensor\n",
                  "- name: f(Tensor self, int n) -> Tensor\n  aten: f(self, n)\n"
                  "- name: f(Tensor self, int n) -> Tensor\n  aten: f(self, n)\n",
                  "deprecated");
}

/* ---- calls ---- */

#define TENSOR_OPTIONS                                                                                       \
    "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None"

static lz_err *test_returns_that_cannot_be_wrapped(void)
{
    LZ_TRY(refuse("- func: f(Tensor self) -> int[]\n", NULL, "::std::vector<int64_t>"));
    LZ_TRY(refuse("- func: f(Tensor self) -> (Tensor a, Tensor)\n", NULL, "all named or none"));
    return refuse("- func: f(Tensor self) -> (Tensor, str)\n", NULL, "c10::string_view");
}

static lz_err *test_arguments_that_cannot_be_parsed(void)
{
    LZ_TRY(refuse("- func: f(Tensor self, QScheme q) -> Tensor\n", NULL, "QScheme"));
    LZ_TRY(refuse("- func: f(Tensor self, bool[2] m) -> Tensor\n", NULL, "bool[2]"));
    LZ_TRY(refuse("- func: f(Tensor self, DimVector d) -> Tensor\n", NULL, "DimVector"));
    LZ_TRY(refuse("- func: f(Tensor self, bool requires_grad) -> Tensor\n", NULL, "requires_grad"));
    return refuse("- func: f(Tensor self, int n) -> Tensor\n"
                  "- func: f.o(Tensor input, int n, *, Tensor(a!) out) -> Tensor(a!)\n",
                  NULL, "no argument 'self'");
}

/* Options must be on both sides, or have an out tensor to be compared with. */
static lz_err *test_options_on_both_sides(void)
{
    LZ_TRY(refuse("- func: f(int n) -> Tensor\n", NULL, "takes none"));
    LZ_TRY(refuse("- func: f(Tensor self, *, " TENSOR_OPTIONS ") -> Tensor\n", NULL, "no factory"));
    LZ_TRY(refuse("- func: f(int n, *, " TENSOR_OPTIONS ") -> Tensor\n  dispatch: {CPU: f}\n"
                  "- func: f.o(int n, *, Tensor(a!) res) -> Tensor(a!)\n",
                  NULL, "called out"));
    return check("- func: f(int n, *, " TENSOR_OPTIONS ") -> Tensor\n  dispatch: {CPU: f}\n"
                 "- func: f.o(int n, *, Tensor(a!) out) -> Tensor(a!)\n",
                 NULL,
                 "{\"max_args\":7,\"module\":\"torch\",\"name\":\"f\",\"noarg\":false,\"signatures\":["
                 "{\"base\":\"f\",\"out\":\"f.o\",\"out_idx\":1,\"sig\":\"f(int64_t n, *, Tensor out=None, "
                 "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=False, "
                 "bool? requires_grad=False)\"}]}\n");
}

static lz_err *test_foreach_returns_its_list(void)
{
    return refuse("- func: _foreach_f_(Tensor(a!)? self) -> ()\n  device_check: NoCheck\n", NULL,
                  "list of tensors");
}

/* ---- the key of the model dump ---- */

static lz_err *dump_key(const char *yaml, lz_text *out)
{
    fixture x;
    lz_json_writer w;
    lz_json_writer_init(&w, out, LZ_JSON_COMPACT);
    lz_err *e = load(&x, yaml, NULL);
    if (!e)
        e = lzg_dump_python_key(&x.p, x.ops.functions[0], &x.p.arena, &w);
    unload(&x);
    return e ? e : lz_json_finish(&w);
}

static lz_err *check_key(const char *yaml, const char *want)
{
    lz_text text = { 0 };
    lz_err *e = dump_key(yaml, &text);
    if (!e)
        assert_text(&text, want);
    lz_text_deinit(&text);
    return e;
}

static lz_err *test_refused_strings_are_errors_in_the_dump(void)
{
    LZ_TRY(check_key("- func: f(bool[] x) -> (Tensor a, Tensor)\n",
                     "{\"bound\":true,\"function\":{\"error\":true},\"pyi\":{\"error\":true},"
                     "\"pyi_vararg\":null,\"returns_fields\":{\"error\":true}}"));
    return check_key("- func: f(Tensor self, int[1] n) -> (Tensor a, int b)\n  variants: method\n",
                     "{\"bound\":true,\"function\":\"f(Tensor input, IntArrayRef[1] n)\",\"method\":\"f("
                     "IntArrayRef[1] n)\",\"pyi\":\"def f(input: Tensor, n: _int | _size) -> "
                     "torch.return_types.f: ...\",\"pyi_vararg\":null,\"returns_fields\":[\"a\",\"b\"]}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LZ_TEST(test_what_python_sees),
        LZ_TEST(test_generated_operators_are_not_bound),
        LZ_TEST(test_modules),
        LZ_TEST(test_base_and_out_are_one_signature),
        LZ_TEST(test_old_signatures_join_the_operator),
        LZ_TEST(test_ambiguous_overloads),
        LZ_TEST(test_returns_that_cannot_be_wrapped),
        LZ_TEST(test_arguments_that_cannot_be_parsed),
        LZ_TEST(test_options_on_both_sides),
        LZ_TEST(test_foreach_returns_its_list),
        LZ_TEST(test_refused_strings_are_errors_in_the_dump),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
