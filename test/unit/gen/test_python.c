#include "gen/api/python.h"
#include "gen_text.h"

static const lz_str no_category = { 0 };

typedef struct request {
    const char *schema, *category; /* category NULL: none */
    bool method, skip_outputs, deprecated;
} request;

static lz_err *make(lz_arena *a, const request *r, lzg_py_signature *out)
{
    const lzg_schema *s;
    LZ_TRY(lzg_schema_parse(a, lz_str_of(r->schema), (lz_loc){ 0 }, &s));
    LZ_TRY(lzg_python_signature(a, s, r->category ? lz_str_of(r->category) : no_category, r->method, out));
    out->deprecated = r->deprecated;
    return NULL;
}

static lz_err *print(const request *r, lz_text *out)
{
    lz_arena a = { 0 };
    lzg_py_signature sig;
    lz_err *e = make(&a, r, &sig);
    if (!e)
        e = lzg_python_print(&sig, (lzg_py_form){ .skip_outputs = r->skip_outputs }, out);
    lz_arena_deinit(&a);
    return e;
}

static lz_err *check(request r, const char *want)
{
    lz_text text = { 0 };
    lz_err *e = print(&r, &text);
    if (!e)
        assert_text(&text, want);
    lz_text_deinit(&text);
    return e;
}

static lz_err *refuse(request r, lz_code code, const char *why)
{
    lz_text text = { 0 };
    lz_err *e = lz_check_err(print(&r, &text), code, why);
    lz_text_deinit(&text);
    return e;
}

static lz_err *test_self_is_input_in_functions(void)
{
    const char *s = "f(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor";
    LZ_TRY(check((request){ .schema = s }, "f(Tensor input, Tensor other, *, Scalar alpha=1)"));
    LZ_TRY(check((request){ .schema = s, .method = true }, "f(Tensor other, *, Scalar alpha=1)"));
    LZ_TRY(check((request){ .schema = "f(Scalar self, Tensor x) -> Tensor" }, "f(Scalar self, Tensor x)"));
    LZ_TRY(check((request){ .schema = "f(Tensor? self) -> Tensor" }, "f(Tensor? self)"));
    LZ_TRY(check((request){ .schema = "f(Tensor self) -> Tensor", .method = true }, "f()"));
    return check((request){ .schema = "f(int n, Tensor self, int m) -> Tensor", .method = true },
                 "f(int64_t n, int64_t m)");
}

static lz_err *test_absent_values_are_none(void)
{
    LZ_TRY(check((request){ .schema = "f(Tensor self, Tensor? w=None, int? n=None, int[] d=[]) -> Tensor" },
                 "f(Tensor input, Tensor? w=None, int64_t? n=None, IntArrayRef d=None)"));
    return check((request){ .schema = "f(Tensor self, int[2] d=[1,1], str s='x') -> Tensor" },
                 "f(Tensor input, IntArrayRef[2] d={1,1}, c10::string_view s=\"x\")");
}

static lz_err *test_outs_are_one_argument(void)
{
    const char *one = "f.out(Tensor self, int n, *, Tensor(a!) out) -> Tensor(a!)";
    const char *two =
        "f.o(Tensor self, *, bool b=True, Tensor(a!) x, Tensor(b!) y) -> (Tensor(a!), Tensor(b!))";
    LZ_TRY(check((request){ .schema = one }, "f(Tensor input, int64_t n, *, Tensor out=None)"));
    LZ_TRY(check((request){ .schema = one, .skip_outputs = true }, "f(Tensor input, int64_t n)"));
    LZ_TRY(check((request){ .schema = two }, "f(Tensor input, *, bool b=True, TensorList[2] out=None)"));
    LZ_TRY(check((request){ .schema = two, .skip_outputs = true }, "f(Tensor input, *, bool b=True)"));
    LZ_TRY(check((request){ .schema = "f.o(Tensor self, *, Tensor(a!)[] res) -> ()" },
                 "f(Tensor input, *, TensorList res=None)"));
    return check((request){ .schema = "f.o(*, Tensor(a!) out) -> Tensor(a!)", .skip_outputs = true },
                 "f(*, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? "
                 "pin_memory=False, bool? requires_grad=False)");
}

#define OPTIONS                                                                                              \
    "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=False, bool? "       \
    "requires_grad=False)"

/* A tensor made of none, new_x, x_like, or what the entry says. */
static lz_err *test_who_has_tensor_options(void)
{
    LZ_TRY(check((request){ .schema = "f(int n) -> Tensor" }, "f(int64_t n, *, " OPTIONS));
    LZ_TRY(check((request){ .schema = "f(int n) -> Tensor", .category = "dummy" }, "f(int64_t n)"));
    LZ_TRY(check((request){ .schema = "f(Tensor[] n) -> Tensor" }, "f(TensorList n)"));
    LZ_TRY(check((request){ .schema = "f(int n) -> int" }, "f(int64_t n)"));
    LZ_TRY(
        check((request){ .schema = "f(Tensor x) -> int", .category = "factory" }, "f(Tensor x, *, " OPTIONS));
    LZ_TRY(
        check((request){ .schema = "f(Tensor x) -> Tensor", .category = "new" }, "f(Tensor x, *, " OPTIONS));
    LZ_TRY(
        check((request){ .schema = "f(Tensor x) -> Tensor", .category = "like" }, "f(Tensor x, *, " OPTIONS));
    LZ_TRY(check((request){ .schema = "new_f(Tensor x) -> Tensor" }, "new_f(Tensor x, *, " OPTIONS));
    LZ_TRY(check((request){ .schema = "f_like(Tensor x) -> Tensor" }, "f_like(Tensor x, *, " OPTIONS));
    LZ_TRY(check((request){ .schema = "f_like.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)" },
                 "f_like(Tensor x, *, Tensor out=None)"));
    return check((request){ .schema = "new_f.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)" },
                 "new_f(Tensor x, *, Tensor out=None, " OPTIONS);
}

static lz_err *test_options_of_the_schema_are_replaced(void)
{
    const char *s = "f(int n, *, int a=1, ScalarType? dtype=long, Layout? layout=None, Device? device=None, "
                    "bool? pin_memory=None, int b=2) -> Tensor";
    return check((request){ .schema = s }, "f(int64_t n, *, int64_t a=1, int64_t b=2, " OPTIONS);
}

static lz_err *check_inits(lz_arena *a)
{
    const char *s = "f(int n, *, ScalarType? dtype=long, Layout? layout=None, Device? device=None, "
                    "bool? pin_memory=None) -> Tensor";
    lzg_py_signature sig;
    LZ_TRY(make(a, &(request){ .schema = s }, &sig));
    assert_int_equal(sig.n, 6);
    assert_true(lz_str_is(sig.args[1].init, "at::kLong"));
    assert_null(sig.args[2].init.ptr);
    assert_true(lz_str_is(sig.args[3].init, "torch::tensors::get_default_device()"));
    assert_null(sig.args[4].init.ptr);
    LZ_TRY(make(a, &(request){ .schema = s, .category = "like" }, &sig));
    for (size_t i = 0; i < sig.n; i++)
        assert_null(sig.args[i].init.ptr);
    return NULL;
}

/* What an absent option is; like and new take the tensor's. */
static lz_err *test_absent_options_are_computed(void)
{
    lz_arena a = { 0 };
    lz_err *e = check_inits(&a);
    lz_arena_deinit(&a);
    return e;
}

/* An argument counts by its name wherever that occurs. */
static lz_err *test_a_name_twice(void)
{
    return check((request){ .schema = "f(Tensor self, int a, *, int a) -> Tensor" },
                 "f(Tensor input, int64_t a, int64_t a, *, int64_t a, int64_t a)");
}

static lz_err *test_deprecated_signatures_say_so(void)
{
    return check((request){ .schema = "f(Tensor self, int n) -> Tensor", .deprecated = true },
                 "f(Tensor input, int64_t n)|deprecated");
}

static lz_err *test_refusals(void)
{
    LZ_TRY(refuse((request){ .schema = "f(Tensor self, bool requires_grad) -> Tensor" }, LZ_ERR_MODEL,
                  "requires_grad"));
    LZ_TRY(refuse((request){ .schema = "f(Tensor self, bool[] x) -> Tensor" }, LZ_ERR_UNSUPPORTED, "bool[]"));
    LZ_TRY(refuse((request){ .schema = "f(GraphModule x) -> Tensor" }, LZ_ERR_UNSUPPORTED, "GraphModule"));
    return refuse((request){ .schema = "f(Tensor self, int[] x=1) -> Tensor" }, LZ_ERR_UNSUPPORTED, "1");
}

static lz_err *check_merge(lz_arena *a, lz_text *out)
{
    lzg_py_signature base, with, merged;
    LZ_TRY(make(
        a,
        &(request){ .schema = "f(int n, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
                              "bool? pin_memory=None) -> Tensor" },
        &base));
    LZ_TRY(make(a,
                &(request){ .schema = "f.out(int n, *, Tensor(a!) out) -> Tensor(a!)", .category = "dummy" },
                &with));
    LZ_TRY(lzg_python_merge(a, &base, &with, &merged));
    assert_int_equal(merged.ninputs, 1);
    assert_true(merged.has_out);
    return lzg_python_print(&merged, (lzg_py_form){ 0 }, out);
}

static lz_err *test_base_and_out_share_the_options_of_the_base(void)
{
    lz_arena a = { 0 };
    lz_text text = { 0 };
    lz_err *e = check_merge(&a, &text);
    if (!e)
        assert_text(&text, "f(int64_t n, *, Tensor out=None, " OPTIONS);
    lz_text_deinit(&text);
    lz_arena_deinit(&a);
    return e;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LZ_TEST(test_self_is_input_in_functions),
        LZ_TEST(test_absent_values_are_none),
        LZ_TEST(test_outs_are_one_argument),
        LZ_TEST(test_who_has_tensor_options),
        LZ_TEST(test_options_of_the_schema_are_replaced),
        LZ_TEST(test_absent_options_are_computed),
        LZ_TEST(test_a_name_twice),
        LZ_TEST(test_deprecated_signatures_say_so),
        LZ_TEST(test_refusals),
        LZ_TEST(test_base_and_out_share_the_options_of_the_base),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
