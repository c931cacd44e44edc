#include "gen/api/translate.h"
#include "gen_text.h"

#define BASE(t)     &lzg_ctypes[LZG_C_BASE][LZG_CPP_##t]
#define OPTIONAL(t) &lzg_ctypes[LZG_C_OPTIONAL][LZG_CPP_##t]
#define VECTOR(t)   &lzg_ctypes[LZG_C_VECTOR][LZG_CPP_##t]
#define CONST(t)    &lzg_ctypes[LZG_C_CONST_REF][LZG_CPP_##t]
#define MUT(t)      &lzg_ctypes[LZG_C_MUT_REF][LZG_CPP_##t]
#define CONSTOPT(t) &lzg_const_optionals[LZG_CPP_##t]

static const lzg_ctype longs_ref = { .kind = LZG_C_ARRAY_REF, .elem = BASE(long) };
static const lzg_ctype optional_longs = { .kind = LZG_C_OPTIONAL, .elem = VECTOR(long) };
static const lzg_ctype list = { .kind = LZG_C_LIST, .elem = OPTIONAL(Tensor) };
static const lzg_ctype const_list = { .kind = LZG_C_CONST_REF, .elem = &list };

enum { OWNING = 1, METHOD = 2 };

/* One variable in scope, one goal. */
static const struct {
    const lzg_ctype *from;
    const char *name, *goal_name;
    const lzg_ctype *to;
    int how;
    const char *want; /* NULL: refused */
} steps[] = {
    { BASE(long), "n", "n", BASE(long), 0, "n_" },
    { BASE(long), "n", "m", BASE(long), 0, NULL },
    { BASE(long), "n", "n", BASE(double), 0, NULL },
    { MUT(Tensor), "x", "x", CONST(Tensor), 0, "x_" },
    { BASE(Tensor), "x", "x", CONST(Tensor), 0, "x_" },
    { BASE(Tensor), "x", "x", MUT(Tensor), 0, "x_" },
    { CONST(Tensor), "x", "x", MUT(Tensor), 0, "const_cast<Tensor&>(x_)" },
    { CONST(Scalar), "x", "x", MUT(Scalar), 0, NULL },
    { CONST(Tensor), "x", "x", BASE(Tensor), 0, NULL },
    { CONST(Tensor), "x", "x", BASE(Tensor), OWNING, "x_" },
    { BASE(IntArrayRef), "x", "x", &longs_ref, 0, "x_" },
    { &longs_ref, "x", "x", BASE(IntArrayRef), 0, NULL },
    { VECTOR(long), "x", "x", BASE(IntArrayRef), 0, "x_" },
    { BASE(IntArrayRef), "x", "x", VECTOR(long), 0, NULL },
    { BASE(IntArrayRef), "x", "x", VECTOR(long), OWNING, "x_.vec()" },
    { BASE(SymIntArrayRef), "x", "x", VECTOR(SymInt), OWNING, "x_.vec()" },
    { VECTOR(SymInt), "x", "x", BASE(SymIntArrayRef), 0, "x_" },
    { BASE(SymIntArrayRef), "x", "x", BASE(IntArrayRef), 0, "C10_AS_INTARRAYREF_SLOW(x_)" },
    { BASE(IntArrayRef), "x", "x", BASE(SymIntArrayRef), 0, "c10::fromIntArrayRefSlow(x_)" },
    { BASE(long), "x", "x", BASE(SymInt), 0, "x_" },
    { BASE(SymInt), "x", "x", BASE(long), 0, "x_.guard_int(__FILE__, __LINE__)" },
    { OPTIONAL(long), "x", "x", OPTIONAL(SymInt), 0,
      "x_.has_value() ? ::std::make_optional(c10::SymInt(*x_)) : ::std::nullopt" },
    { OPTIONAL(SymInt), "x", "x", OPTIONAL(long), 0,
      "x_.has_value() ? ::std::make_optional(x_->guard_int(__FILE__, __LINE__)) : ::std::nullopt" },
    { BASE(OptionalIntArrayRef), "x", "x", BASE(OptionalSymIntArrayRef), 0,
      "x_.has_value() ? ::std::make_optional(c10::fromIntArrayRefSlow(*x_)) : ::std::nullopt" },
    { BASE(OptionalSymIntArrayRef), "x", "x", BASE(OptionalIntArrayRef), 0,
      "x_.has_value() ? ::std::make_optional(C10_AS_INTARRAYREF_SLOW(*x_)) : ::std::nullopt" },
    { &optional_longs, "x", "x", BASE(OptionalIntArrayRef), 0, "x_" },
    { BASE(OptionalIntArrayRef), "x", "x", &optional_longs, OWNING,
      "x_.has_value() ? ::std::make_optional(x_->vec()) : ::std::nullopt" },
    { CONSTOPT(Tensor), "x", "x", BASE(OptionalTensorRef), 0,
      "((x_.has_value() && (*x_).defined()) ? at::OptionalTensorRef(*x_) : at::OptionalTensorRef())" },
    { OPTIONAL(Tensor), "x", "x", BASE(OptionalTensorRef), 0, "x_" },
    { CONSTOPT(Tensor), "x", "x", OPTIONAL(Tensor), OWNING, "x_" },
    { CONSTOPT(Scalar), "x", "x", BASE(OptionalScalarRef), 0,
      "(x_.has_value() ? at::OptionalScalarRef(&(x_.value())) : at::OptionalScalarRef())" },
    { OPTIONAL(Scalar), "x", "x", BASE(OptionalScalarRef), 0, "x_" },
    { BASE(OptionalScalarRef), "x", "x", OPTIONAL(Scalar), OWNING,
      "x_.has_value() ? ::std::make_optional(x_) : ::std::nullopt" },
    { &const_list, "x", "x", BASE(IOptTensorListRef), 0, "at::IOptTensorListRef(x_)" },
    { CONST(Scalar), "x", "x", BASE(opmath_t), 0, "(x_).to<opmath_t>()" },
    { BASE(scalar_t), "x", "x", BASE(opmath_t), 0, "static_cast<opmath_t>(x_)" },
    { BASE(TensorOptions), "options", "dtype", OPTIONAL(ScalarType), 0,
      "c10::optTypeMetaToScalarType(options_.dtype_opt())" },
    { BASE(TensorOptions), "options", "layout", OPTIONAL(Layout), 0, "options_.layout_opt()" },
    { BASE(TensorOptions), "options", "device", OPTIONAL(Device), 0, "options_.device_opt()" },
    { CONST(TensorOptions), "options", "pin_memory", OPTIONAL(bool), 0, "options_.pinned_memory_opt()" },
    { BASE(TensorOptions), "options", "dtype", BASE(ScalarType), 0, NULL },
    { MUT(Tensor), "out", "dtype", OPTIONAL(ScalarType), 0, "out_.scalar_type()" },
    { MUT(Tensor), "out", "layout", OPTIONAL(Layout), 0, "out_.layout()" },
    { MUT(Tensor), "out", "device", OPTIONAL(Device), 0, "out_.device()" },
    { MUT(Tensor), "out", "pin_memory", OPTIONAL(bool), 0, "::std::nullopt" },
    { MUT(Tensor), "other", "dtype", OPTIONAL(ScalarType), 0, NULL },
    { BASE(long), "n", "self", CONST(Tensor), METHOD, "const_cast<Tensor&>(*this)" },
    { BASE(long), "n", "self", CONST(Tensor), 0, NULL },
};

static lz_err *translate_one(lz_arena *a, size_t i)
{
    lzg_scope s;
    lz_str expr, *got;
    lzg_binding goal = { .what = { lz_str_of(steps[i].goal_name), steps[i].to } };
    lzg_scope_init(&s, a);
    LZ_TRY(lz_arena_printf(a, &expr, "%s_", steps[i].name));
    LZ_TRY(lzg_scope_add(&s, expr, (lzg_nctype){ lz_str_of(steps[i].name), steps[i].from }));
    if (steps[i].how & METHOD)
        LZ_TRY(lzg_scope_add_this(&s));
    lz_err *e = lzg_translate(&s, (lzg_bindings){ &goal, 1 }, steps[i].how & OWNING, &got);
    if (!steps[i].want)
        return lz_check_err(e, LZ_ERR_UNSUPPORTED, steps[i].goal_name);
    LZ_TRY(e);
    if (!lz_str_is(got[0], steps[i].want))
        fail_msg("row %zu: got %.*s, want %s", i, LZ_FMT(got[0]), steps[i].want);
    return NULL;
}

static lz_err *test_every_step(void)
{
    lz_arena a;
    lz_err *e = NULL;
    lz_arena_init(&a);
    for (size_t i = 0; !e && i < sizeof steps / sizeof *steps; i++)
        e = translate_one(&a, i);
    lz_arena_deinit(&a);
    return e;
}

static lzg_binding bind(const char *name, const lzg_ctype *type)
{
    return (lzg_binding){ .name = lz_str_of(name), .what = { lz_str_of(name), type } };
}

static lz_err *options_and_format(lz_arena *a)
{
    const lzg_binding packed[] = { bind("options", BASE(TensorOptions)),
                                   { .name = LZ_STR("memory_format"),
                                     .what = { lzg_redundant_memory_format, OPTIONAL(MemoryFormat) } } };
    const lzg_binding parts[] = { bind("dtype", OPTIONAL(ScalarType)), bind("layout", OPTIONAL(Layout)),
                                  bind("device", OPTIONAL(Device)), bind("pin_memory", OPTIONAL(bool)) };
    const lzg_binding format = bind("memory_format", OPTIONAL(MemoryFormat));
    const lzg_binding direct[] = { bind("options", CONST(TensorOptions)), format };
    lz_str *got;
    LZ_TRY(lzg_translate_bindings(a, (lzg_bindings){ packed, 2 }, (lzg_bindings){ &format, 1 }, &got));
    assert_true(lz_str_is(got[0], "c10::impl::check_tensor_options_and_extract_memory_format(options, "
                                  "memory_format)"));
    /* a callee that takes the whole options gets the format unchanged */
    LZ_TRY(lzg_translate_bindings(a, (lzg_bindings){ packed, 2 }, (lzg_bindings){ direct, 2 }, &got));
    assert_true(lz_str_is(got[1], "memory_format"));
    LZ_TRY(lzg_translate_bindings(a, (lzg_bindings){ packed + 1, 1 }, (lzg_bindings){ &format, 1 }, &got));
    assert_true(lz_str_is(got[0], "memory_format"));
    LZ_TRY(lzg_translate_bindings(a, (lzg_bindings){ parts, 4 }, (lzg_bindings){ packed, 1 }, &got));
    assert_true(lz_str_is(got[0], "TensorOptions().dtype(dtype).layout(layout).device(device)"
                                  ".pinned_memory(pin_memory)"));
    lz_err *e = lzg_translate_bindings(a, (lzg_bindings){ parts, 3 }, (lzg_bindings){ packed, 1 }, &got);
    return lz_check_err(e, LZ_ERR_UNSUPPORTED, "at::TensorOptions options");
}

static lz_err *test_options_are_packed_and_unpacked(void)
{
    lz_arena a;
    lz_arena_init(&a);
    lz_err *e = options_and_format(&a);
    lz_arena_deinit(&a);
    return e;
}

static lz_err *failure_lists_scope(lz_arena *a)
{
    const lzg_binding from[] = { bind("n", BASE(long)), bind("x", CONSTOPT(Tensor)) };
    const lzg_binding goal = bind("y", MUT(Tensor));
    lz_str *got;
    lz_err *e = lzg_translate_bindings(a, (lzg_bindings){ from, 2 }, (lzg_bindings){ &goal, 1 }, &got);
    if (lz_err_code(e) == LZ_ERR_UNSUPPORTED) {
        assert_non_null(strstr(lz_err_text(e), "at::Tensor & y"));
        assert_non_null(strstr(lz_err_text(e), "int64_t n; // n"));
        assert_non_null(strstr(lz_err_text(e), "const ::std::optional<at::Tensor> & x; // x"));
        assert_non_null(strstr(lz_err_text(e), "at::OptionalTensorRef x; // "));
    }
    return lz_check_err(e, LZ_ERR_UNSUPPORTED, "among");
}

static lz_err *test_a_failure_lists_the_scope(void)
{
    lz_arena a;
    lz_arena_init(&a);
    lz_err *e = failure_lists_scope(&a);
    lz_arena_deinit(&a);
    return e;
}

static lz_err *later_ones_win(lz_arena *a)
{
    lzg_scope s;
    lz_str *got;
    const lzg_binding goals[] = { bind("x", CONST(Scalar)), bind("x", BASE(opmath_t)) };
    lzg_scope_init(&s, a);
    LZ_TRY(lzg_scope_add(&s, LZ_STR("first"), goals[0].what));
    for (int i = 0; i < 40; i++) {
        lz_str name;
        LZ_TRY(lz_arena_printf(a, &name, "y%d", i));
        LZ_TRY(lzg_scope_add(&s, name, (lzg_nctype){ name, BASE(long) }));
    }
    LZ_TRY(lzg_scope_add(&s, LZ_STR("second"), goals[0].what));
    LZ_TRY(lzg_translate(&s, (lzg_bindings){ goals, 2 }, false, &got));
    assert_true(lz_str_is(got[0], "second"));
    assert_true(lz_str_is(got[1], "(second).to<opmath_t>()"));
    return NULL;
}

static lz_err *test_a_later_variable_replaces_an_earlier_one(void)
{
    lz_arena a;
    lz_arena_init(&a);
    lz_err *e = later_ones_win(&a);
    lz_arena_deinit(&a);
    return e;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LZ_TEST(test_every_step),
        LZ_TEST(test_options_are_packed_and_unpacked),
        LZ_TEST(test_a_failure_lists_the_scope),
        LZ_TEST(test_a_later_variable_replaces_an_earlier_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
