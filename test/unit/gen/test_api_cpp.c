#include "gen/api/cpp.h"
#include "gen_text.h"

enum { WRITES = 1, OWNING = 2, SYMINT = 4, CONSTREF = 8, ILIST = 16 };

typedef struct type_row {
    const char *type;
    int how;
    const char *want; /* NULL: refused */
} type_row;

static const type_row arguments[] = {
    { "Tensor", 0, "const at::Tensor &" },
    { "Tensor", WRITES, "at::Tensor &" },
    { "Tensor", WRITES | CONSTREF, "const at::Tensor &" },
    { "Tensor", OWNING, "at::Tensor" },
    { "Tensor?", 0, "const ::std::optional<at::Tensor> &" },
    { "Tensor?", OWNING, "::std::optional<at::Tensor>" },
    { "Tensor?", WRITES, "at::Tensor &" },
    { "Tensor??", 0, "::std::optional<const ::std::optional<at::Tensor> &>" },
    { "Tensor[]", 0, "at::TensorList" },
    { "Tensor[]", ILIST, "const at::ITensorListRef &" },
    { "Tensor[]?", 0, "::std::optional<at::TensorList>" },
    { "Tensor?[]", 0, "const c10::List<::std::optional<at::Tensor>> &" },
    { "Scalar", 0, "const at::Scalar &" },
    { "Scalar", OWNING, "at::Scalar" },
    { "Scalar?", 0, "const ::std::optional<at::Scalar> &" },
    { "Scalar[]", 0, "at::ArrayRef<at::Scalar>" },
    { "int", 0, "int64_t" },
    { "int?", 0, "::std::optional<int64_t>" },
    { "int[]", 0, "at::IntArrayRef" },
    { "int[2]", 0, "at::IntArrayRef" },
    { "int[]", OWNING, "::std::vector<int64_t>" },
    { "int[2]?", 0, "at::OptionalIntArrayRef" },
    { "int[]?", OWNING, "at::OptionalIntArrayRef" },
    { "SymInt", 0, "int64_t" },
    { "SymInt", SYMINT, "c10::SymInt" },
    { "SymInt?", SYMINT, "::std::optional<c10::SymInt>" },
    { "SymInt[]", 0, "at::IntArrayRef" },
    { "SymInt[]", SYMINT, "c10::SymIntArrayRef" },
    { "SymInt[]", SYMINT | OWNING, "::std::vector<c10::SymInt>" },
    { "SymInt[]?", 0, "at::OptionalIntArrayRef" },
    { "SymInt[]?", SYMINT, "at::OptionalSymIntArrayRef" },
    { "bool[4]", 0, "::std::array<bool,4>" },
    { "bool[4]?", 0, "::std::optional<::std::array<bool,4>>" },
    { "float[]?", 0, "::std::optional<at::ArrayRef<double>>" },
    { "str", 0, "c10::string_view" },
    { "ScalarType?", 0, "::std::optional<at::ScalarType>" },
    { "Device[]", 0, "at::ArrayRef<at::Device>" },
    { "SymBool", 0, "c10::SymBool" },
    { "bool[]", 0, NULL },
    { "bool[]?", 0, NULL },
    { "GraphModule", 0, NULL },
    { "__torch__.torch.classes.x.Y", 0, NULL },
    { "__torch__.torch.classes.x.Y[]", 0, NULL },
};

static lz_err *check_argument(lz_arena *a, const type_row *r, lz_text *out)
{
    const lzg_type *t;
    const lzg_ctype *c;
    lzg_cpp_rules rules = { .local = { r->how & CONSTREF, r->how & ILIST },
                            .writes = r->how & WRITES,
                            .owning = r->how & OWNING,
                            .symint = r->how & SYMINT };
    LZ_TRY(lzg_type_parse(a, lz_str_of(r->type), (lz_loc){ 0 }, &t));
    lz_err *e = lzg_cpp_argumenttype(a, t, rules, &c);
    if (!r->want)
        return lz_check_err(e, LZ_ERR_UNSUPPORTED, "");
    LZ_TRY(e);
    lz_text_clear(out);
    lzg_ctype_print(c, out);
    LZ_TRY(lz_text_check(out));
    assert_text(out, r->want);
    return NULL;
}

/* Runs check(arena, row, text) over a table. */
#define OVER(rows, check)                                                                                    \
    lz_arena a;                                                                                              \
    lz_text out = { 0 };                                                                                     \
    lz_err *e = NULL;                                                                                        \
    lz_arena_init(&a);                                                                                       \
    for (size_t i = 0; !e && i < sizeof(rows) / sizeof *(rows); i++)                                         \
        e = check(&a, &(rows)[i], &out);                                                                     \
    lz_text_deinit(&out);                                                                                    \
    lz_arena_deinit(&a);                                                                                     \
    return e

static lz_err *test_argument_types(void)
{
    OVER(arguments, check_argument);
}

static const struct return_row {
    const char *returns, *want;
} returns[] = {
    { "()", "void" },
    { "Tensor", "at::Tensor" },
    { "Tensor[]", "::std::vector<at::Tensor>" },
    { "Tensor?", "::std::optional<at::Tensor>" },
    { "(Tensor a, int b)", "::std::tuple<at::Tensor,int64_t>" },
    { "(SymInt, Scalar)", "::std::tuple<c10::SymInt,at::Scalar>" },
    { "bool[2]", "::std::array<bool,2>" },
    { "int?", "::std::optional<int64_t>" },
    { "SymInt[]", "::std::vector<c10::SymInt>" },
    { "Tensor[2]", NULL },
    { "Scalar?", NULL },
    { "Tensor[]?", NULL },
    { "bool[]", NULL },
    { "GraphModule", NULL },
};

static lz_err *check_returns(lz_arena *a, const struct return_row *r, lz_text *out)
{
    lzg_function f;
    const lzg_ctype *t;
    lz_text_clear(out);
    lz_text_printf(out, "f(Tensor self) -> %s", r->returns);
    LZ_TRY(lz_text_check(out));
    LZ_TRY(lzg_schema_parse(a, lz_text_view(out), (lz_loc){ 0 }, &f.func));
    lz_err *e = lzg_cpp_returns_type(a, f.func, (lzg_local){ 0 }, &t);
    if (!r->want)
        return lz_check_err(e, LZ_ERR_UNSUPPORTED, "");
    LZ_TRY(e);
    lz_text_clear(out);
    lzg_ctype_print(t, out);
    LZ_TRY(lz_text_check(out));
    assert_text(out, r->want);
    return NULL;
}

static lz_err *test_return_types(void)
{
    OVER(returns, check_returns);
}

static const struct default_row {
    const char *type, *deflt;
    bool symint;
    const char *want;
} defaults[] = {
    { "int", "1", false, "1" },
    { "bool", "True", false, "true" },
    { "bool?", "False", false, "false" },
    { "int?", "None", false, "::std::nullopt" },
    { "Tensor?", "None", false, "{}" },
    { "Tensor??", "None", false, "::std::nullopt" },
    { "Tensor", "None", false, "::std::nullopt" },
    { "int", "Mean", false, "at::Reduction::Mean" },
    { "MemoryFormat?", "contiguous_format", false, "c10::MemoryFormat::Contiguous" },
    { "ScalarType", "long", false, "at::kLong" },
    { "int[]", "[]", false, "{}" },
    { "int[2]", "[1,2]", false, "{1,2}" },
    { "int[2]", "0", false, "0" },
    { "SymInt[2]", "1", true, "c10::SymInt(1)" },
    { "SymInt[2]", "1", false, "1" },
    { "SymInt[2]", "x1", true, "x1" },
    { "int[]?", "[0]", false, "{0}" },
    { "str", "'none'", false, "\"none\"" },
    { "str?", "'a\"b'", false, "\"a\\\"b\"" },
    { "str", "'it\\'s\\n'", false, "\"it's\\n\"" },
    { "str", "\"x\"", false, "\"x\"" },
    { "float", "1e-5", false, "1e-5" },
    { "int[]", "1", false, NULL },
    { "Tensor[]", "None", false, NULL },
};

static lz_err *check_default(lz_arena *a, const struct default_row *r, lz_text *out)
{
    const lzg_type *t;
    lz_str got;
    (void)out;
    LZ_TRY(lzg_type_parse(a, lz_str_of(r->type), (lz_loc){ 0 }, &t));
    lz_err *e = lzg_cpp_default_expr(a, lz_str_of(r->deflt), t, r->symint, &got);
    if (!r->want)
        return lz_check_err(e, LZ_ERR_UNSUPPORTED, r->deflt);
    LZ_TRY(e);
    if (!lz_str_is(got, r->want))
        fail_msg("%s %s: got %.*s", r->type, r->deflt, LZ_FMT(got));
    return NULL;
}

static lz_err *test_defaults(void)
{
    OVER(defaults, check_default);
}

enum { METHOD = 1, FALLBACK = 2 };

#define OPTIONS "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None"

static const struct form_row {
    const char *schema;
    int how;
    const char *want[5]; /* every form, in order, up to NULL */
} forms[] = {
    { "add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
      0,
      { "at::Tensor add(const at::Tensor & self, const at::Tensor & other, const at::Scalar & alpha=1)" } },
    { "add_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)",
      METHOD,
      { "at::Tensor & add_(const at::Tensor & other)" } },
    { "f.out(Tensor self, int n=2, *, Tensor(a!) out) -> Tensor(a!)",
      0,
      { "at::Tensor & f_out(at::Tensor & out, const at::Tensor & self, int64_t n=2)",
        "at::Tensor & f_outf(const at::Tensor & self, int64_t n, at::Tensor & out)" } },
    { "zeros(SymInt[] size, *, " OPTIONS ") -> Tensor",
      0,
      { "at::Tensor zeros(at::IntArrayRef size, at::TensorOptions options={})",
        "at::Tensor zeros(at::IntArrayRef size, ::std::optional<at::ScalarType> dtype, "
        "::std::optional<at::Layout> layout, ::std::optional<at::Device> device, ::std::optional<bool> "
        "pin_memory)",
        "at::Tensor zeros_symint(c10::SymIntArrayRef size, at::TensorOptions options={})",
        "at::Tensor zeros_symint(c10::SymIntArrayRef size, ::std::optional<at::ScalarType> dtype, "
        "::std::optional<at::Layout> layout, ::std::optional<at::Device> device, ::std::optional<bool> "
        "pin_memory)" } },
    { "r(int n, *, ScalarType? dtype=long, Layout? layout=None, Device? device=None, bool? pin_memory=None) "
      "-> "
      "Tensor",
      FALLBACK,
      { "at::Tensor __dispatch_r(int64_t n, at::TensorOptions options=at::kLong)",
        "at::Tensor __dispatch_r(int64_t n, ::std::optional<at::ScalarType> dtype, "
        "::std::optional<at::Layout> "
        "layout, ::std::optional<at::Device> device, ::std::optional<bool> pin_memory)" } },
    { "g(*, ScalarType dtype, Layout layout, Device device, bool pin_memory) -> Tensor",
      0,
      { "at::Tensor g(at::TensorOptions options)",
        "at::Tensor g(at::ScalarType dtype, at::Layout layout, at::Device device, bool pin_memory)" } },
    { "__iand__.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)",
      0,
      { "at::Tensor & __iand__(at::Tensor & self, const at::Tensor & other)" } },
};

static lz_err *check_forms(lz_arena *a, const struct form_row *r, lz_text *out)
{
    lzg_function f;
    lzg_cpp_form got[4];
    LZ_TRY(gen_function(a, r->schema, &f));
    lzg_cpp_form like = { .method = r->how & METHOD, .fallback = r->how & FALLBACK };
    size_t n = lzg_cpp_forms(f.func, like, got);
    for (size_t i = 0; i < n; i++) {
        lzg_sig sig;
        LZ_TRY(lzg_cpp_signature(a, &f, got[i], &sig));
        lz_text_clear(out);
        lzg_sig_decl(&sig, out);
        LZ_TRY(lz_text_check(out));
        assert_text(out, r->want[i]);
    }
    assert_null(r->want[n]);
    return NULL;
}

static lz_err *test_forms(void)
{
    OVER(forms, check_forms);
}

static lz_err *named_defaults_are_left_out(lz_arena *a, lz_text *out)
{
    lzg_function f;
    lzg_sig sig;
    const lz_str without[] = { LZ_STR("n") };
    LZ_TRY(gen_function(a, "f(Tensor self, int n=1, int m=2) -> Tensor", &f));
    f.cpp_no_default_args = without;
    f.ncpp_no_default_args = 1;
    LZ_TRY(lzg_cpp_signature(a, &f, (lzg_cpp_form){ 0 }, &sig));
    lzg_sig_decl(&sig, out);
    LZ_TRY(lz_text_check(out));
    assert_text(out, "at::Tensor f(const at::Tensor & self, int64_t n, int64_t m=2)");
    return NULL;
}

static lz_err *test_named_defaults_are_left_out(void)
{
    lz_arena a;
    lz_text out = { 0 };
    lz_arena_init(&a);
    lz_err *e = named_defaults_are_left_out(&a, &out);
    lz_text_deinit(&out);
    lz_arena_deinit(&a);
    return e;
}

static const struct names_row {
    const char *schema, *want;
} names[] = {
    { "f(Tensor self) -> Tensor", "result" },
    { "f(Tensor self) -> (Tensor, Tensor)", "result0,result1" },
    { "f(Tensor self) -> (Tensor values, Tensor indices)", "values,indices" },
    { "f(Tensor self) -> (Tensor self, Tensor)", "self_return,result1" },
    { "f_(Tensor(a!) self) -> Tensor(a!)", "self" },
    { "f.out(Tensor self, *, Tensor(a!) x, Tensor(b!) y) -> (Tensor(a!) p, Tensor(b!) q)", "x,y" },
    { "f(Tensor self) -> ()", "" },
};

static lz_err *check_names(lz_arena *a, const struct names_row *r, lz_text *out)
{
    lzg_function f;
    lz_str *got;
    LZ_TRY(gen_function(a, r->schema, &f));
    LZ_TRY(lzg_cpp_return_names(a, &f, "result", &got));
    lz_text_clear(out);
    for (size_t i = 0; i < f.func->nreturns; i++)
        lz_text_printf(out, "%s%.*s", i ? "," : "", LZ_FMT(got[i]));
    LZ_TRY(lz_text_check(out));
    assert_text(out, r->want);
    return NULL;
}

static lz_err *test_return_names(void)
{
    OVER(names, check_names);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LZ_TEST(test_argument_types), LZ_TEST(test_return_types), LZ_TEST(test_defaults),
        LZ_TEST(test_forms),          LZ_TEST(test_return_names), LZ_TEST(test_named_defaults_are_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
