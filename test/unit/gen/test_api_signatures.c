#include "gen/api/dispatcher.h"
#include "gen/api/meta.h"
#include "gen/api/native.h"
#include "gen/api/structured.h"
#include "gen_text.h"

#define OPTIONS "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None"

static lz_err *expect_sig(const lzg_sig *sig, const char *want, lz_text *out)
{
    lz_text_clear(out);
    lzg_sig_decl(sig, out);
    LZ_TRY(lz_text_check(out));
    assert_text(out, want);
    return NULL;
}

/* Runs a body that needs an arena and a text. */
static lz_err *with_arena(lz_err *(*body)(lz_arena *, lz_text *))
{
    lz_arena a;
    lz_text out = { 0 };
    lz_arena_init(&a);
    lz_err *e = (*body)(&a, &out);
    lz_text_deinit(&out);
    lz_arena_deinit(&a);
    return e;
}

static const struct {
    const char *schema, *dispatcher, *nosymint, *native, *native_symint;
} rows[] = {
    { "f.int(Tensor self, SymInt[] size, int n=1) -> Tensor",
      "at::Tensor f(const at::Tensor & self, c10::SymIntArrayRef size, int64_t n)",
      "at::Tensor f(const at::Tensor & self, at::IntArrayRef size, int64_t n)",
      "at::Tensor f_int(const at::Tensor & self, at::IntArrayRef size, int64_t n=1)",
      "at::Tensor f_int(const at::Tensor & self, c10::SymIntArrayRef size, int64_t n=1)" },
    /* TensorOptions are optional for kernels whatever the schema says; their defaults are {} */
    { "g(*, ScalarType dtype, Layout layout, Device device, bool pin_memory, MemoryFormat? "
      "memory_format=None) -> "
      "Tensor",
      "at::Tensor g(at::ScalarType dtype, at::Layout layout, at::Device device, bool pin_memory, "
      "::std::optional<at::MemoryFormat> memory_format)",
      "at::Tensor g(at::ScalarType dtype, at::Layout layout, at::Device device, bool pin_memory, "
      "::std::optional<at::MemoryFormat> memory_format)",
      "at::Tensor g(::std::optional<at::ScalarType> dtype={}, ::std::optional<at::Layout> layout={}, "
      "::std::optional<at::Device> device={}, ::std::optional<bool> pin_memory={}, "
      "::std::optional<at::MemoryFormat> memory_format=::std::nullopt)",
      "at::Tensor g(::std::optional<at::ScalarType> dtype={}, ::std::optional<at::Layout> layout={}, "
      "::std::optional<at::Device> device={}, ::std::optional<bool> pin_memory={}, "
      "::std::optional<at::MemoryFormat> memory_format=::std::nullopt)" },
    /* out ops have no defaults, and _out before the overload */
    { "h.x_out(Tensor self, int n=1, *, Tensor(a!) out) -> Tensor(a!)",
      "at::Tensor & h_out(const at::Tensor & self, int64_t n, at::Tensor & out)",
      "at::Tensor & h_out(const at::Tensor & self, int64_t n, at::Tensor & out)",
      "at::Tensor & h_out_x_out(const at::Tensor & self, int64_t n, at::Tensor & out)",
      "at::Tensor & h_out_x_out(const at::Tensor & self, int64_t n, at::Tensor & out)" },
    /* a written Tensor? stays optional only for kernels */
    { "k(Tensor self, Tensor(a!)? w, Tensor?[] xs, Scalar? s=None) -> Tensor",
      "at::Tensor k(const at::Tensor & self, at::Tensor & w, const c10::List<::std::optional<at::Tensor>> & "
      "xs, "
      "const ::std::optional<at::Scalar> & s)",
      "at::Tensor k(const at::Tensor & self, at::Tensor & w, const c10::List<::std::optional<at::Tensor>> & "
      "xs, "
      "const ::std::optional<at::Scalar> & s)",
      "at::Tensor k(const at::Tensor & self, ::std::optional<at::Tensor> & w, const "
      "c10::List<::std::optional<at::Tensor>> & xs, const ::std::optional<at::Scalar> & s=::std::nullopt)",
      "at::Tensor k(const at::Tensor & self, ::std::optional<at::Tensor> & w, const "
      "c10::List<::std::optional<at::Tensor>> & xs, const ::std::optional<at::Scalar> & s=::std::nullopt)" },
};

static lz_err *conventions(lz_arena *a, lz_text *out)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        lzg_function f;
        lzg_sig sig;
        lzg_local l = { 0 };
        LZ_TRY(gen_function(a, rows[i].schema, &f));
        LZ_TRY(lzg_dispatcher_signature(a, f.func, l, (lzg_dispatcher_form){ 0 }, &sig));
        LZ_TRY(expect_sig(&sig, rows[i].dispatcher, out));
        LZ_TRY(lzg_dispatcher_signature(a, f.func, l, (lzg_dispatcher_form){ .nosymint = true }, &sig));
        LZ_TRY(expect_sig(&sig, rows[i].nosymint, out));
        LZ_TRY(lzg_native_signature(a, f.func, l, false, &sig));
        LZ_TRY(expect_sig(&sig, rows[i].native, out));
        LZ_TRY(lzg_native_signature(a, f.func, l, true, &sig));
        LZ_TRY(expect_sig(&sig, rows[i].native_symint, out));
    }
    return NULL;
}

static lz_err *test_dispatcher_and_native_conventions(void)
{
    return with_arena(conventions);
}

static lz_err *local_switches(lz_arena *a, lz_text *out)
{
    lzg_function f;
    lzg_op_name delegate = { 0 };
    lzg_sig sig;
    LZ_TRY(gen_function(a, "f_(Tensor(a!) self, Tensor[] xs) -> Tensor(a!)", &f));
    f.use_const_ref = true;
    LZ_TRY(lzg_dispatcher_signature(a, f.func, lzg_local_of(&f), (lzg_dispatcher_form){ 0 }, &sig));
    LZ_TRY(expect_sig(&sig, "const at::Tensor & f_(const at::Tensor & self, at::TensorList xs)", out));
    f.use_const_ref = false;
    f.structured_delegate = &delegate;
    LZ_TRY(lzg_dispatcher_signature(a, f.func, lzg_local_of(&f), (lzg_dispatcher_form){ 0 }, &sig));
    return expect_sig(&sig, "at::Tensor & f_(at::Tensor & self, const at::ITensorListRef & xs)", out);
}

static lz_err *test_a_functions_switches_change_its_types(void)
{
    return with_arena(local_switches);
}

static lz_err *kernel_signatures(lz_arena *a, lz_text *out)
{
    lzg_function f, g;
    lzg_sig sig;
    lzg_backend_metadata plain = { .kernel = LZ_STR("f_cpu") }, symint = { .kernel = LZ_STR("f_symint") };
    LZ_TRY(gen_function(a, "f.x(SymInt n=1) -> Tensor", &f));
    LZ_TRY(gen_function(a, "g(int n) -> Tensor", &g));
    LZ_TRY(lzg_kernel_signature(a, &f, &plain, false, &sig));
    LZ_TRY(expect_sig(&sig, "at::Tensor f_x(int64_t n=1)", out));
    LZ_TRY(lzg_kernel_signature(a, &f, &symint, false, &sig));
    LZ_TRY(expect_sig(&sig, "at::Tensor f_x(c10::SymInt n=1)", out));
    LZ_TRY(lzg_kernel_signature(a, &f, &plain, true, &sig));
    LZ_TRY(expect_sig(&sig, "at::Tensor f(int64_t n)", out));
    return lz_check_err(lzg_kernel_signature(a, &g, &symint, false, &sig), LZ_ERR_MODEL, "SymInt");
}

static lz_err *test_kernels_take_symints_if_they_say_so(void)
{
    return with_arena(kernel_signatures);
}

static lz_err *structured_arguments(lz_arena *a, lz_text *out)
{
    lzg_function functional, out_op;
    lzg_argument with[2], add;
    LZ_TRY(gen_function(
        a, "f.Tensor(Tensor self, Tensor? w, SymInt dim, Tensor[] xs, Scalar? s, int[]? p) -> Tensor",
        &functional));
    LZ_TRY(gen_function(a,
                        "f.out(Tensor self, Tensor? w, SymInt dim, Tensor[] xs, Scalar? s, int[]? p, *, "
                        "Tensor(a!) out) -> Tensor(a!)",
                        &out_op));
    LZ_TRY(lzg_argument_parse(a, LZ_STR("int lo"), (lz_loc){ 0 }, &with[0]));
    LZ_TRY(lzg_argument_parse(a, LZ_STR("int[] hi"), (lz_loc){ 0 }, &with[1]));
    LZ_TRY(lzg_argument_parse(a, LZ_STR("Tensor?[] more"), (lz_loc){ 0 }, &add));
    const lzg_precompute_replace replace = { LZ_STR("dim"), with, 2 };
    const lzg_precompute precomputed = { &replace, 1, &add, 1 };
    lzg_group g = { .functional = &functional, .out = &out_op, .structured = true };
    lzg_sig sig = { .name = LZ_STR("impl"), .returns = lzg_ctype_base(LZG_CPP_void) };
    lz_str name;
    LZ_TRY(lzg_structured_meta_arguments(a, &g, &sig.args));
    LZ_TRY(expect_sig(&sig,
                      "void impl(const at::Tensor & self, at::OptionalTensorRef w, int64_t dim, const "
                      "at::ITensorListRef & xs, at::OptionalScalarRef s, at::OptionalIntArrayRef p)",
                      out));
    out_op.precomputed = &precomputed;
    LZ_TRY(lzg_structured_impl_arguments(a, &g, &sig.args));
    LZ_TRY(expect_sig(
        &sig,
        "void impl(const at::Tensor & self, at::OptionalTensorRef w, int64_t lo, at::IntArrayRef hi, "
        "const at::ITensorListRef & xs, at::OptionalScalarRef s, at::OptionalIntArrayRef p, "
        "at::IOptTensorListRef more, const at::Tensor & out)",
        out));
    LZ_TRY(lzg_meta_name(a, &g, &name));
    assert_true(lz_str_is(name, "f_Tensor"));
    return NULL;
}

static lz_err *test_structured_kernels(void)
{
    return with_arena(structured_arguments);
}

static lz_err *structured_refusals(lz_arena *a, lz_text *out)
{
    lzg_function f;
    lzg_group g = { .functional = &f, .structured = true };
    lzg_bindings args;
    (void)out;
    LZ_TRY(gen_function(a, "f(Tensor self, *, " OPTIONS ") -> Tensor", &f));
    return lz_check_err(lzg_structured_meta_arguments(a, &g, &args), LZ_ERR_UNSUPPORTED, "TensorOptions");
}

static lz_err *test_structured_kernels_take_no_tensor_options(void)
{
    return with_arena(structured_refusals);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LZ_TEST(test_dispatcher_and_native_conventions),
        LZ_TEST(test_a_functions_switches_change_its_types),
        LZ_TEST(test_kernels_take_symints_if_they_say_so),
        LZ_TEST(test_structured_kernels),
        LZ_TEST(test_structured_kernels_take_no_tensor_options),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
