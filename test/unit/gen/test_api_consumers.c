#include "gen/api/ufunc.h"
#include "gen/torch/consumers.h"
#include "gen_text.h"
#include <stdio.h>

typedef lz_err *check_fn(const lzg_ops *ops, lzg_diag *d);

#define OPTIONS4         "ScalarType dtype, Layout layout, Device device, bool pin_memory"
#define OUT(args)        "- func: foo.out(" args ", *, Tensor(a!) out) -> Tensor(a!)\n  structured: True\n"
#define STRUCTURED(args) "- func: foo(" args ") -> Tensor\n  structured_delegate: foo.out\n" OUT(args)
#define LOOP(args, loops)                                                                                    \
    STRUCTURED(args) "  structured_inherits: TensorIteratorBase\n  ufunc_inner_loop: {" loops "}\n"
#define VIEW(args, result)                                                                                   \
    "- func: foo(" args ") -> " result "\n  dispatch: {CompositeExplicitAutograd: foo}\n"
#define COPY(args, result)                                                                                   \
    "- func: foo_copy(" args ") -> " result                                                                  \
    "\n  dispatch: {CompositeExplicitAutogradNonFunctional: foo_copy}\n  tags: view_copy\n"

/* part: of the reason of the first finding; NULL: nothing is found. */
static const struct {
    check_fn *check;
    const char *yaml, *part;
} rows[] = {
    /* the C++ API */
    { lzg_check_cpp,
      "- func: foo(Tensor self, int[] n=[1,2]) -> (Tensor, Tensor)\n  variants: function, method\n", NULL },
    { lzg_check_cpp, "- func: foo(bool[] mask) -> Tensor\n", "bool[]" },
    { lzg_check_cpp, "- func: foo(Tensor self, GraphModule g) -> Tensor\n", "GraphModule" },
    { lzg_check_cpp, "- func: foo(Tensor self) -> Scalar?\n", "Scalar?" },
    { lzg_check_cpp, "- func: foo(Tensor self) -> Tensor[3]\n", "fixed size" },
    { lzg_check_cpp, "- func: foo(Tensor self, int[] n=1) -> Tensor\n", "[...]" },
    { lzg_check_cpp, "- func: foo(Tensor x) -> Tensor\n  variants: method\n", "self" },
    { lzg_check_cpp, "- func: foo(Scalar self, Tensor x) -> Tensor\n  variants: method\n",
      "at::Scalar & self" },
    { lzg_check_cpp, "- func: foo(Scalar self, Tensor x) -> Tensor\n", NULL },
    { lzg_check_cpp, "- func: foo(*, " OPTIONS4 ") -> Tensor\n  dispatch: {CPU: foo_cpu}\n",
      "at::ScalarType dtype" },
    /* declarations of kernels */
    { lzg_check_native, "- func: foo(Tensor self) -> Tensor\n  dispatch: {CPU: a::foo, CUDA: a::foo2}\n",
      NULL },
    { lzg_check_native, "- func: foo(Tensor self) -> Tensor\n  dispatch: {CPU: a::foo, CUDA: foo2}\n",
      "two namespaces" },
    { lzg_check_native, "- func: foo(int n) -> Tensor\n  dispatch: {CPU: foo_symint}\n", "_symint" },
    { lzg_check_native, "- func: foo(SymInt n) -> Tensor\n  dispatch: {CPU: foo_symint, CUDA: legacy::foo}\n",
      "two namespaces" },
    { lzg_check_native, "- func: foo(bool[] mask) -> Tensor\n  dispatch: {CPU: foo}\n", "bool[]" },
    { lzg_check_native, "- func: foo(bool[] mask) -> Tensor\n  dispatch: {}\n", NULL },
    { lzg_check_native,
      STRUCTURED("Tensor self, DimVector v") "  dispatch: {CPU: foo_out, SparseCPU: foo_sparse}\n", NULL },
    /* registrations */
    { lzg_check_register, STRUCTURED("Tensor self, Tensor? w, int[]? n") "  dispatch: {CPU: foo_out}\n",
      NULL },
    { lzg_check_register, STRUCTURED("Tensor self") "  dispatch: {CPU: foo_out, Meta: foo_meta}\n", "Meta" },
    { lzg_check_register,
      STRUCTURED("Tensor self") "  dispatch: {CPU: foo_out, CompositeExplicitAutogradNonFunctional: foo_x}\n",
      "CompositeExplicitAutogradNonFunctional" },
    { lzg_check_register, "- func: foo(Tensor self, int n) -> Tensor\n  dispatch: {CPU: foo_symint}\n",
      "_symint" },
    { lzg_check_register, "- func: foo(Tensor self) -> Tensor\n  dispatch: {CPU: a::b::foo}\n", NULL },
    { lzg_check_register, "- func: foo(Tensor self) -> Tensor\n  dispatch: {CPU: a::b::c::foo}\n",
      "3 are allowed" },
    { lzg_check_register, STRUCTURED("Tensor self, SymInt[] n") "  dispatch: {CPU: foo_out}\n", NULL },
    { lzg_check_register, STRUCTURED("Tensor self, SymInt[]? n") "  dispatch: {CPU: foo_out}\n", "n" },
    { lzg_check_register,
      STRUCTURED("Tensor self, int dim") "  dispatch: {CPU: foo_out}\n  precomputed:\n  - dim -> int lo, "
                                         "Tensor? hi\n",
      NULL },
    { lzg_check_register,
      "- func: foo_(Tensor(a!) self, bool[] mask) -> Tensor(a!)\n  dispatch: {CPU: foo_cpu_}\n", "bool[]" },
    /* functionalization */
    { lzg_check_functionalize, "- func: foo_(Tensor(a!) self) -> Tensor(a!)\n", NULL },
    { lzg_check_functionalize, "- func: foo_(Tensor(a!) self) -> Tensor(a!)\n  dispatch: {CPU: foo_cpu_}\n",
      "functional form" },
    { lzg_check_functionalize,
      "- func: resize_(Tensor(a!) self) -> Tensor(a!)\n  dispatch: {CPU: resize_cpu}\n", NULL },
    { lzg_check_functionalize,
      VIEW("Tensor(a) self, int n", "Tensor(a)") COPY("Tensor self, int n", "Tensor"), NULL },
    { lzg_check_functionalize,
      VIEW("Tensor(a) self, Tensor(a) other", "Tensor(a)") COPY("Tensor self, Tensor other", "Tensor"),
      "first" },
    { lzg_check_functionalize, "- func: foo(Tensor(a) self, Tensor(a) other) -> Tensor(a)\n", "" },
    { lzg_check_functionalize, VIEW("Tensor(a) self", "Tensor(a)[]") COPY("Tensor self", "Tensor[]"),
      "one output" },
    { lzg_check_functionalize,
      VIEW("Tensor(a) self, SymInt?[] n", "Tensor(a)") COPY("Tensor self, SymInt?[] n", "Tensor"),
      "symbolic" },
    { lzg_check_functionalize,
      VIEW("Tensor(a) self, Scalar s", "Tensor(a)") COPY("Tensor self, Scalar s", "Tensor"), "at::Scalar s" },
    { lzg_check_functionalize,
      VIEW("Tensor(a) self",
           "Tensor(a)") "- func: foo_copy(Tensor self) -> Tensor\n  dispatch: {CPU: foo_copy}\n"
                        "  tags: view_copy\n",
      "CompositeExplicitAutogradNonFunctional" },
    { lzg_check_functionalize,
      "- func: foo(Tensor self, Tensor(a!)? w) -> Tensor\n  dispatch: {CPU: foo}\n  autogen: foo_functional, "
      "foo.out\n",
      "w" },
    { lzg_check_functionalize,
      "- func: foo(Tensor self, Tensor(a!) w) -> Tensor\n  dispatch: {CPU: foo}\n  autogen: foo_functional, "
      "foo.out\n",
      NULL },
    /* inner loops */
    { lzg_check_ufunc, LOOP("Tensor self, Tensor other, Scalar alpha=1", "Generic: 'foo (All)'"), NULL },
    { lzg_check_ufunc, LOOP("Tensor self", "Generic: 'foo (All)', ScalarOnly: 'foo (Bool)'"), NULL },
    { lzg_check_ufunc, LOOP("Tensor self", "Generic: 'foo (All)', ScalarOnly: 'bar (Bool)'"), "same ufunc" },
    { lzg_check_ufunc, LOOP("Tensor self", "Generic: 'foo (All)', CUDAFunctorOnSelf: 'bar (All)'"),
      "two tensors" },
    { lzg_check_ufunc, LOOP("Tensor self", "CPUScalar: 'foo (All)'"), "ScalarOnly or a Generic" },
    { lzg_check_ufunc, LOOP("Tensor self", "CPUScalar: 'foo (All)', CUDAFunctor: 'foo (All)'"), NULL },
    { lzg_check_ufunc, LOOP("Tensor self", "CPUVector: 'foo (Float)', CUDAFunctor: 'foo (All)'"),
      "no scalar one" },
    { lzg_check_ufunc, LOOP("Tensor self, Tensor other", "Generic: 'foo (All)', CUDAFunctor: 'bar (Float)'"),
      "no CUDAFunctor" },
    { lzg_check_ufunc, LOOP("Tensor input, Tensor other", "Generic: 'foo (All)'"), "opmath_t input" },
    { lzg_check_ufunc, LOOP("Tensor self, Tensor? other", "Generic: 'foo (All)'"), "Tensor?" },
    { lzg_check_ufunc, LOOP("Tensor self, int n", "Generic: 'foo (All)'"), "int64_t n" },
};

/* *found: the reason of the first finding, or NULL. */
static lz_err *judge(size_t i, char *found, size_t size)
{
    lzg_ops ops = { 0 };
    lzg_diag d;
    lz_err *e = gen_ops(&ops, rows[i].yaml, &d);
    if (!e && lzg_diag_any(&d))
        e = lzg_diag_error(&d);
    if (!e)
        e = rows[i].check(&ops, &d);
    found[0] = '\0';
    if (!e && lzg_diag_any(&d)) {
        const lzg_finding *f = &d.found.data[0];
        (void)snprintf(found, size, "%.*s", LZ_FMT(f->reason));
        assert_true(f->loc.line > 0);
        assert_true(f->context.len > 0);
    }
    lzg_ops_deinit(&ops);
    lzg_diag_deinit(&d);
    return e;
}

/* Not under failing allocations: the next test is. */
static void test_what_consumers_refuse(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char found[1024];
        lz_err *e = judge(i, found, sizeof found);
        if (e)
            fail_msg("%s%s", rows[i].yaml, lz_err_text(e));
        if (!rows[i].part != !found[0] || (rows[i].part && !strstr(found, rows[i].part)))
            fail_msg("%sfound: %s", rows[i].yaml, found);
    }
}

static const char *const one_of_each = VIEW("Tensor(a) self, SymInt n", "Tensor(a)")
    COPY("Tensor self, SymInt n", "Tensor") "- func: bar(Tensor self, Tensor other, *, Scalar alpha=1) -> "
                                            "Tensor\n  structured_delegate: bar.out\n"
                                            "- func: bar.out(Tensor self, Tensor other, *, Scalar alpha=1, "
                                            "Tensor(a!) out) -> Tensor(a!)\n  structured: True\n"
                                            "  ufunc_inner_loop: {Generic: 'bar (Float)'}\n"
                                            "- func: bad(bool[] mask) -> Tensor\n  dispatch: {CPU: bad}\n";

static lz_err *check_each(const lzg_ops *ops, lzg_diag *d)
{
    static check_fn *const all[] = { lzg_check_cpp, lzg_check_native, lzg_check_register,
                                     lzg_check_functionalize, lzg_check_ufunc };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        LZ_TRY(all[i](ops, d));
    return NULL;
}

static lz_err *test_consumers_go_on_and_survive(void)
{
    lzg_ops ops = { 0 };
    lzg_diag d;
    lz_err *e = gen_ops(&ops, one_of_each, &d);
    if (!e)
        e = check_each(&ops, &d);
    if (!e)
        assert_int_equal(d.found.len, 3); /* by the C++ API, the declarations and the registrations */
    lzg_ops_deinit(&ops);
    lzg_diag_deinit(&d);
    return e;
}

static lz_err *expect_arguments(lzg_bindings b, const char *want, lz_text *out)
{
    lz_text_clear(out);
    for (size_t i = 0; i < b.n; i++) {
        lz_text_puts(out, i ? ", " : "");
        lzg_binding_decl(&b.at[i], out);
    }
    LZ_TRY(lz_text_check(out));
    assert_text(out, want);
    return NULL;
}

static lz_err *ufunc_signatures(lz_arena *a, lz_text *out)
{
    lzg_function functional, out_op;
    lzg_group g = { .functional = &functional, .out = &out_op, .structured = true };
    lzg_bindings b;
    lzg_ufunctor u;
    lz_str name;
    LZ_TRY(gen_function(a, "add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1, int n=2) -> Tensor",
                        &functional));
    LZ_TRY(gen_function(
        a, "add.out(Tensor self, Tensor other, *, Scalar alpha=1, int n=2, Tensor(a!) out) -> Tensor(a!)",
        &out_op));
    LZ_TRY(lzg_ufunc_kernel_name(a, &g, lzg_dispatch_key_find(LZ_STR("CUDA")), &name));
    assert_true(lz_str_is(name, "ufunc_add_CUDA"));
    LZ_TRY(lzg_ufunc_stub_arguments(a, &g, &b));
    LZ_TRY(expect_arguments(b, "const at::Scalar & alpha, int64_t n", out));
    LZ_TRY(lzg_ufunc_arguments(a, &g, lzg_ctype_of(LZG_C_VECTORIZED, LZG_CPP_scalar_t), &b));
    LZ_TRY(expect_arguments(b,
                            "at::vec::Vectorized<scalar_t> self, at::vec::Vectorized<scalar_t> other, "
                            "at::vec::Vectorized<scalar_t> alpha, int64_t n",
                            out));
    LZ_TRY(lzg_ufunctor_arguments(a, &g, 1, &u));
    LZ_TRY(expect_arguments(u.ctor, "opmath_t other, opmath_t alpha, int64_t n", out));
    LZ_TRY(expect_arguments(u.apply, "scalar_t self", out));
    LZ_TRY(lzg_ufunctor_arguments(a, &g, -1, &u));
    LZ_TRY(expect_arguments(u.apply, "scalar_t self, scalar_t other", out));
    return lz_check_err(lzg_ufunctor_arguments(a, &g, 2, &u), LZ_ERR_MODEL, "tensor 2");
}

static lz_err *test_signatures_around_inner_loops(void)
{
    lz_arena a;
    lz_text out = { 0 };
    lz_arena_init(&a);
    lz_err *e = ufunc_signatures(&a, &out);
    lz_text_deinit(&out);
    lz_arena_deinit(&a);
    return e;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_consumers_refuse),
        LZ_TEST(test_consumers_go_on_and_survive),
        LZ_TEST(test_signatures_around_inner_loops),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
