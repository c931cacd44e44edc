#include "gen/api/python_types.h"
#include "gen_text.h"

/* What every form of a type is; NULL: refused. */
static const struct {
    const char *type, *parser, *stub, *returned, *accessor;
} types[] = {
    { "Tensor", "Tensor", "Tensor", "Tensor", "tensor" },
    { "Tensor?", "Tensor?", "Tensor | None", "Tensor | None", "optionalTensor" },
    { "Tensor[]", "TensorList", "tuple[Tensor, ...] | list[Tensor]", "tuple[Tensor, ...]", "tensorlist" },
    { "Tensor[3]", "TensorList[3]", "Tensor | tuple[Tensor, ...] | list[Tensor]", "tuple[Tensor, ...]",
      "tensorlist_n<3>" },
    { "Tensor?[]", "c10::List<::std::optional<Tensor>>",
      "tuple[Tensor | None, ...] | list[Tensor | None] | None", "tuple[Tensor | None, ...]",
      "list_of_optional_tensors" },
    { "Tensor?[]?", "c10::List<::std::optional<Tensor>>?",
      "tuple[Tensor | None, ...] | list[Tensor | None] | None", "tuple[Tensor | None, ...] | None",
      "list_of_optional_tensorsOptional" },
    { "Tensor[][]", "ArrayRef<TensorList>", "tuple[Tensor, ...] | list[Tensor]",
      "tuple[tuple[Tensor, ...], ...]", NULL },
    { "int", "int64_t", "_int", "_int", "toInt64" },
    { "int?", "int64_t?", "_int | None", "_int | None", "toInt64Optional" },
    { "int[]", "IntArrayRef", "_size", "tuple[_int, ...]", "intlist" },
    { "int[2]", "IntArrayRef[2]", "_int | _size", "tuple[_int, ...]", "intlist" },
    { "int[1]?", "IntArrayRef[1]?", "_int | _size | None", "tuple[_int, ...] | None", "intlistOptional" },
    { "SymInt", "SymInt", "_int | SymInt", "_int | SymInt", "toSymInt" },
    { "SymInt[]", "SymIntArrayRef", "Sequence[_int | SymInt]", "tuple[_int | SymInt, ...]", "symintlist" },
    { "SymInt[2]", "SymIntArrayRef[2]", "_int | SymInt | Sequence[_int | SymInt]",
      "tuple[_int | SymInt, ...]", "symintlist" },
    { "float", "double", "_float", "_float", "toDouble" },
    { "float[]", "ArrayRef<double>", "Sequence[_float]", "tuple[_float, ...]", "doublelist" },
    { "float[2]?", "ArrayRef<double>?", "Sequence[_float] | None", "tuple[_float, ...] | None",
      "doublelistOptional" },
    { "Scalar", "Scalar", "Number | _complex | PySymType", "Number | _complex | PySymType", "scalar" },
    { "Scalar[]", "ScalarList", "Sequence[Number | _complex | PySymType]",
      "tuple[Number | _complex | PySymType, ...]", "scalarlist" },
    { "bool", "bool", "_bool", "_bool", "toBool" },
    { "bool[3]", "::std::array<bool,3>", "Sequence[_bool]", "tuple[_bool, ...]", NULL },
    { "bool[]", NULL, "Sequence[_bool]", "tuple[_bool, ...]", NULL },
    { "str?", "c10::string_view?", "str | None", "str | None", "stringViewOptional" },
    { "str[]", "ArrayRef<c10::string_view>", "Sequence[str]", "tuple[str, ...]", NULL },
    { "ScalarType?", "ScalarType?", "_dtype | None", "_dtype | None", "scalartypeOptional" },
    { "Layout", "Layout", "_layout", "_layout", "layout" },
    { "Device", "Device", "DeviceLikeType | None", "_device", "device" },
    { "Device?", "Device?", "DeviceLikeType | None", "_device | None", "deviceOptional" },
    { "DeviceIndex", "DeviceIndex", "_int", "_int", "toInt64" },
    { "Generator?", "Generator?", "Generator | None", "Generator | None", "generator" },
    { "Generator", "Generator", "Generator", "Generator", NULL },
    { "MemoryFormat", "MemoryFormat", "memory_format", "memory_format", "memoryformat" },
    { "QScheme", "QScheme", "_qscheme", "_qscheme", NULL },
    { "Storage", "Storage", "Storage | UntypedStorage", "Storage | UntypedStorage", "storage" },
    { "Stream", "Stream", "Stream", "Stream", "stream" },
    { "SymBool", NULL, "", "", NULL },
    { "DimVector?", NULL, " | None", " | None", NULL },
    { "GraphModule[]", NULL, "Sequence[]", "tuple[, ...]", NULL },
    { "int??", "int64_t??", NULL, "_int | None", "toInt64OptionalOptional" },
    { "__torch__.torch.classes.a.B", NULL, NULL, NULL, NULL },
};

static lz_err *parser(const lzg_type *t, lz_text *out)
{
    return lzg_python_type(t, true, out);
}

static lz_err *accessor(const lzg_type *t, lz_text *out)
{
    return lzg_python_unpack(t, (lz_str){ 0 }, false, out);
}

/* Nothing is printed behind what was there; a refusal names the type. */
static lz_err *check(const lzg_type *t, lz_err *(*print)(const lzg_type *t, lz_text *out), const char *type,
                     const char *want)
{
    lz_text text = { 0 };
    lz_err *e = print(t, &text);
    if (!want)
        e = lz_check_err(e, LZ_ERR_UNSUPPORTED, "");
    else if (!e)
        e = lz_text_check(&text);
    if (want && !e && !lz_str_is(lz_text_view(&text), want))
        fail_msg("%s: got %.*s, want %s", type, LZ_FMT(lz_text_view(&text)), want);
    lz_text_deinit(&text);
    return e;
}

static lz_err *check_all(lz_arena *a)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        const lzg_type *t;
        LZ_TRY(lzg_type_parse(a, lz_str_of(types[i].type), (lz_loc){ 0 }, &t));
        LZ_TRY(check(t, parser, types[i].type, types[i].parser));
        LZ_TRY(check(t, lzg_python_type_pyi, types[i].type, types[i].stub));
        LZ_TRY(check(t, lzg_python_return_pyi, types[i].type, types[i].returned));
        LZ_TRY(check(t, accessor, types[i].type, types[i].accessor));
    }
    return NULL;
}

static lz_err *test_every_form_of_a_type(void)
{
    lz_arena a = { 0 };
    lz_err *e = check_all(&a);
    lz_arena_deinit(&a);
    return e;
}

static lz_err *test_symbolic_lists_can_be_plain(void)
{
    lz_arena a = { 0 };
    lz_text text = { 0 };
    const lzg_type *t;
    lz_err *e = lzg_type_parse(&a, LZ_STR("SymInt[2]?"), (lz_loc){ 0 }, &t);
    if (!e)
        e = lzg_python_type(t, false, &text);
    if (!e)
        e = lz_text_check(&text);
    if (!e)
        assert_text(&text, "IntArrayRef[2]?");
    lz_text_deinit(&text);
    lz_arena_deinit(&a);
    return e;
}

/* A default or a computed value decides how an optional is read. */
static lz_err *test_accessors_of_optionals(void)
{
    static const struct {
        const char *type, *deflt;
        bool init;
        const char *want;
    } cases[] = {
        { "bool?", "None", false, "toBoolOptional" },
        { "bool?", "False", false, "toBool" },
        { "Layout?", "None", true, "layoutWithDefault" },
        { "ScalarType?", "None", true, "scalartypeWithDefault" },
        { "Device?", "None", true, "deviceWithDefault" },
        { "bool?", "None", true, "toBoolWithDefault" },
        { "int?", "::std::nullopt", false, "toInt64Optional" },
        { "int[2]?", "{1,2}", false, "intlist" },
        { "int?", "None", true, NULL },
        { "int[]", "None", true, NULL },
    };
    lz_arena a = { 0 };
    lz_text text = { 0 };
    lz_err *e = NULL;
    for (size_t i = 0; !e && i < sizeof cases / sizeof *cases; i++) {
        const lzg_type *t;
        e = lzg_type_parse(&a, lz_str_of(cases[i].type), (lz_loc){ 0 }, &t);
        lz_text_clear(&text);
        if (!e)
            e = lzg_python_unpack(t, lz_str_of(cases[i].deflt), cases[i].init, &text);
        if (!cases[i].want)
            e = lz_check_err(e, LZ_ERR_UNSUPPORTED, "cannot take this type");
        else if (!e && !(e = lz_text_check(&text)))
            assert_text(&text, cases[i].want);
    }
    lz_text_deinit(&text);
    lz_arena_deinit(&a);
    return e;
}

/* Numbers as Python prints what it reads, other texts as C++ has them; NULL: refused. */
static const struct {
    const char *type, *deflt, *want;
} defaults[] = {
    { "bool", "True", "True" },
    { "bool", "False", "False" },
    { "int", "1", "1" },
    { "int", "-1", "-1" },
    { "int", "+3", "3" },
    { "int", "007", "7" },
    { "int", "-0", "0" },
    { "int", "000", "0" },
    { "int", "1_000", "1000" },
    { "int", "1__0", "1__0" },
    { "int", "_1", "_1" },
    { "int", "1_", "1_" },
    { "int", "-_1", "-_1" },
    { "int", " 5", "5" },
    { "int", "0x10", "0x10" },
    { "int", "123456789012345678901234567890", "123456789012345678901234567890" },
    { "float", "1e-5", "1e-05" },
    { "float", "1e-05", "1e-05" },
    { "float", "1e5", "100000.0" },
    { "float", "1e16", "1e+16" },
    { "float", "0.5", "0.5" },
    { "float", "1.", "1.0" },
    { "float", ".5", "0.5" },
    { "float", "-0.0", "-0.0" },
    { "float", "1_0.2_5", "10.25" },
    { "float", "1_.5", "1_.5" },
    { "float", "1e400", "inf" },
    { "float", "inf", "inf" },
    { "float", "-Infinity", "-inf" },
    { "float", "nan", "nan" },
    { "float", "1e", "1e" },
    { "float", "-", "-" },
    { "int", "Mean", "at::Reduction::Mean" },
    { "int?", "None", "::std::nullopt" },
    { "Tensor?", "None", "{}" },
    { "int[]", "[]", "{}" },
    { "int[2]", "[1,2]", "{1,2}" },
    { "int[2]", "0", "0" },
    { "SymInt[1]", "03", "3" },
    { "int[]", "0", NULL },
    { "str", "'mean'", "\"mean\"" },
    { "MemoryFormat", "contiguous_format", "c10::MemoryFormat::Contiguous" },
    { "ScalarType?", "long", "at::kLong" },
};

static lz_err *check_default(lz_arena *a, size_t i)
{
    const lzg_type *t;
    lz_str got;
    LZ_TRY(lzg_type_parse(a, lz_str_of(defaults[i].type), (lz_loc){ 0 }, &t));
    lz_err *e = lzg_python_default(a, lz_str_of(defaults[i].deflt), t, &got);
    if (!defaults[i].want)
        return lz_check_err(e, LZ_ERR_UNSUPPORTED, "");
    if (!e && !lz_str_is(got, defaults[i].want))
        fail_msg("%s: got %.*s, want %s", defaults[i].deflt, LZ_FMT(got), defaults[i].want);
    return e;
}

static lz_err *test_defaults(void)
{
    lz_arena a = { 0 };
    lz_err *e = NULL;
    for (size_t i = 0; !e && i < sizeof defaults / sizeof *defaults; i++)
        e = check_default(&a, i);
    lz_arena_deinit(&a);
    return e;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LZ_TEST(test_every_form_of_a_type),
        LZ_TEST(test_symbolic_lists_can_be_plain),
        LZ_TEST(test_accessors_of_optionals),
        LZ_TEST(test_defaults),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
