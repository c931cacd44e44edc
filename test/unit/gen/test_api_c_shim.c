#include "gen/torch/gen_aoti_c_shim.h"
#include "gen/torch/gen_vmap_plumbing.h"
#include "gen_text.h"

static const struct {
    const char *schema, *want; /* NULL: refused */
} shims[] = {
    { "f(Tensor self, Scalar s, SymInt n, bool b, str t, DeviceIndex i) -> Tensor",
      "_f(AtenTensorHandle self, double s, int64_t n, int32_t b, const char* t, int32_t i, AtenTensorHandle* "
      "ret0);" },
    { "f.x(Tensor? w, Generator? g, Device d, Device? e, MemoryFormat? m) -> (Tensor, int)",
      "_f_x(AtenTensorHandle* w, AtenGeneratorHandle* g, int32_t d, int32_t d_index_, int32_t* e, int32_t "
      "e_index_, "
      "int32_t* m, AtenTensorHandle* ret0, int64_t* ret1);" },
    { "f(int[] xs, Tensor?[] ts, float[]? ys, bool[2] m, str[] ss) -> ()",
      "_f(const int64_t* xs, int64_t xs_len_, const AtenTensorHandle** ts, int64_t ts_len_, const double** "
      "ys, int64_t "
      "ys_len_, const int32_t* m, int64_t m_len_, const const char** ss, int64_t ss_len_);" },
    { "f.out(Tensor self, *, int n, Tensor(a!) out) -> Tensor(a!)",
      "_f_out(AtenTensorHandle out, AtenTensorHandle self, int64_t n);" },
    { "f_(Tensor(a!) self) -> Tensor(a!)", "_f_(AtenTensorHandle self);" },
    { "f() -> ()", "_f();" },
    { "f(Storage s) -> Tensor", NULL },
    { "f(__torch__.torch.classes.x.Y y) -> Tensor", NULL },
    { "f(Device[] ds) -> Tensor", NULL },
    { "f(int[][] n) -> Tensor", NULL },
    { "f(bool[] m) -> Tensor", NULL },
    { "f(Tensor self) -> Tensor[]", NULL },
    { "f(Tensor self) -> Device", NULL },
};

static lz_err *check_shims(lz_arena *a)
{
    for (size_t i = 0; i < sizeof shims / sizeof *shims; i++) {
        lzg_function f;
        lz_str got, prefix = LZ_STR("AOTI_TORCH_EXPORT AOTITorchError aoti_torch_cpu");
        LZ_TRY(gen_function(a, shims[i].schema, &f));
        lz_err *e = lzg_c_shim_declaration(a, f.func, "cpu", NULL, &got);
        if (!shims[i].want) {
            LZ_TRY(lz_check_err(e, LZ_ERR_UNSUPPORTED, ""));
            continue;
        }
        LZ_TRY(e);
        assert_true(lz_str_starts(got, prefix));
        if (!lz_str_is(lz_str_sub(got, prefix.len, got.len), shims[i].want))
            fail_msg("got  %.*s\nwant ...%s", LZ_FMT(got), shims[i].want);
    }
    return NULL;
}

static lz_err *check_versions(lz_arena *a)
{
    const lz_str second[] = { LZ_STR("b") }, third[] = { LZ_STR("c") };
    lzg_shim_version at[] = { { 2, second, 1, LZ_STR("TORCH_VERSION_2_10_0") }, { 3, third, 1, { 0 } } };
    const lzg_shim_versions v = { .at = at, .n = 2 };
    lzg_function f;
    lz_str got;
    LZ_TRY(gen_function(a, "f(int a, int b=1, int c=2) -> Tensor", &f));
    LZ_TRY(lzg_c_shim_declaration(a, f.func, "x", &v, &got));
    assert_true(lz_str_is(
        got,
        "AOTI_TORCH_EXPORT AOTITorchError aoti_torch_x_f_v3(int64_t a, int64_t b, int64_t c, "
        "AtenTensorHandle* "
        "ret0);\n"
        "#if TORCH_FEATURE_VERSION >= TORCH_VERSION_2_10_0\n"
        "AOTI_TORCH_EXPORT AOTITorchError aoti_torch_x_f_v2(int64_t a, int64_t b, AtenTensorHandle* ret0);\n"
        "#endif // TORCH_FEATURE_VERSION >= TORCH_VERSION_2_10_0\n"
        "AOTI_TORCH_EXPORT AOTITorchError aoti_torch_x_f(int64_t a, AtenTensorHandle* ret0);"));
    static const char *const wrong[] = { "2.10", "TORCH_VERSION_2_10", "TORCH_VERSION_2_10_x",
                                         "TORCH_VERSION_1_2_3_4", "TORCH_VERSION_1__3" };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        at[0].since = lz_str_of(wrong[i]);
        LZ_TRY(lz_check_err(lzg_c_shim_declaration(a, f.func, "x", &v, &got), LZ_ERR_MODEL, wrong[i]));
    }
    return NULL;
}

/* Names from the list of fallback operators: only these get a function. */
static const char *const listed = "- func: amax(Tensor self) -> Tensor\n"
                                  "- func: full(int n, *, ScalarType? dtype=None) -> Tensor\n"
                                  "- func: subtract.Tensor(Tensor self, Scalar value) -> Tensor\n"
                                  "- func: _cdist_forward(Tensor x) -> Tensor\n"
                                  "  dispatch: {CPU: cdist_cpu}\n"
                                  "- func: _fft_c2c(Tensor self, Storage s) -> Tensor\n"
                                  "- func: other(Tensor self) -> Tensor\n";

static lz_err *check_header(lz_arena *a, const lzg_ops *ops, lzg_dispatch_key key, const char *want)
{
    lz_text out = { 0 };
    lz_err *e = lzg_c_shim_header(a, &(lzg_c_shim){ .ops = ops, .key = key }, &out);
    if (!e)
        assert_text(&out, want);
    lz_text_deinit(&out);
    return e;
}

static lz_err *check_headers(lz_arena *a)
{
    lzg_ops ops = { 0 };
    lzg_diag d;
    lz_err *e = gen_ops(&ops, listed, &d);
    if (!e)
        e = check_header(
            a, &ops, LZG_KEY_NONE,
            "AOTI_TORCH_EXPORT AOTITorchError aoti_torch_aten_amax(AtenTensorHandle self, "
            "AtenTensorHandle* ret0);\n"
            "#if TORCH_FEATURE_VERSION >= TORCH_VERSION_2_10_0\n"
            "AOTI_TORCH_EXPORT AOTITorchError aoti_torch_aten_full(int64_t n, int32_t* dtype, "
            "AtenTensorHandle* ret0);\n"
            "#endif // TORCH_FEATURE_VERSION >= TORCH_VERSION_2_10_0\n"
            "#if TORCH_FEATURE_VERSION >= TORCH_VERSION_2_10_0\n"
            "AOTI_TORCH_EXPORT AOTITorchError aoti_torch_aten_subtract_Tensor(AtenTensorHandle self, "
            "double value, AtenTensorHandle* ret0);\n"
            "#endif // TORCH_FEATURE_VERSION >= TORCH_VERSION_2_10_0\n");
    if (!e)
        e = check_header(a, &ops, lzg_dispatch_key_find(LZ_STR("CPU")),
                         "AOTI_TORCH_EXPORT AOTITorchError aoti_torch_cpu__cdist_forward(AtenTensorHandle x, "
                         "AtenTensorHandle* ret0);\n");
    if (!e)
        e = check_header(a, &ops, lzg_dispatch_key_find(LZ_STR("CUDA")), "");
    lzg_ops_deinit(&ops);
    lzg_diag_deinit(&d);
    return e;
}

static const lz_str inplace_view[] = { { "inplace_view", 12 } };

static const struct {
    const char *schema;
    bool tagged;
    lzg_vmap want;
} plumbing[] = {
    { "f(Tensor self) -> Tensor", false, LZG_VMAP_FUNCTIONAL },
    { "f(Tensor? w) -> Tensor[]", false, LZG_VMAP_FUNCTIONAL },
    { "f(int n) -> Tensor", false, LZG_VMAP_NONE },
    { "f(Tensor self) -> ()", false, LZG_VMAP_NO_RETURNS },
    { "f(Tensor self) -> (Tensor, int)", false, LZG_VMAP_NONE },
    { "_scaled_dot_product_flash_attention(Tensor self) -> (Tensor, SymInt)", false, LZG_VMAP_FUNCTIONAL },
    { "f_(Tensor(a!) self, Tensor x) -> Tensor(a!)", false, LZG_VMAP_INPLACE },
    { "f_(Tensor(a!) self) -> Tensor(a!)", true, LZG_VMAP_NONE },
    { "f_(Tensor x, Tensor(a!) self) -> Tensor(a!)", false, LZG_VMAP_NONE },
    { "f_(Tensor(a!)[] self) -> ()", false, LZG_VMAP_NO_RETURNS },
    { "f.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)", false, LZG_VMAP_NONE },
    { "f(Tensor self, Tensor(a!) w) -> Tensor", false, LZG_VMAP_NONE },
    { "f(Tensor self, bool[] m) -> Tensor", false, LZG_VMAP_COUNT },
};

static lz_err *check_plumbing(lz_arena *a)
{
    for (size_t i = 0; i < sizeof plumbing / sizeof *plumbing; i++) {
        lzg_function f;
        lzg_vmap got;
        LZ_TRY(gen_function(a, plumbing[i].schema, &f));
        f.tags = inplace_view;
        f.ntags = plumbing[i].tagged;
        lz_err *e = lzg_vmap_plumbing(a, &f, &got);
        if (plumbing[i].want == LZG_VMAP_COUNT) {
            LZ_TRY(lz_check_err(e, LZ_ERR_UNSUPPORTED, "bool[]"));
            continue;
        }
        LZ_TRY(e);
        if (got != plumbing[i].want)
            fail_msg("%s: got %s", plumbing[i].schema, lzg_vmap_name(got));
    }
    return NULL;
}

static lz_err *with_arena(lz_err *(*body)(lz_arena *))
{
    lz_arena a;
    lz_arena_init(&a);
    lz_err *e = (*body)(&a);
    lz_arena_deinit(&a);
    return e;
}

static lz_err *test_operators_as_c_functions(void)
{
    return with_arena(check_shims);
}

static lz_err *test_older_versions_lack_new_arguments(void)
{
    return with_arena(check_versions);
}

static lz_err *test_headers_hold_fallback_operators(void)
{
    return with_arena(check_headers);
}

static lz_err *test_kinds_of_batching_wrappers(void)
{
    return with_arena(check_plumbing);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LZ_TEST(test_operators_as_c_functions),
        LZ_TEST(test_older_versions_lack_new_arguments),
        LZ_TEST(test_headers_hold_fallback_operators),
        LZ_TEST(test_kinds_of_batching_wrappers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
