#include "check.h"
#include "gen/torch/native_aot.h"

#define FUNCTIONS                                                                                            \
    "def kernel_precompile_grid():\n    pass\n"                                                              \
    "def covered_axes(*a):\n    pass\n"                                                                      \
    "def cpp_dispatch( spec ):\n    pass\n"                                                                  \
    "def cpp_launch(spec, name):\n    pass\n"
#define CONSTANTS "ATEN_OP = \"gt.Tensor\"\nDISPATCH_KEY = 'CUDA'  # a key\nKERNEL_MODULE=\"k.py\"\n"

static lz_err *parse(lz_arena *a, const char *text, lz_str *key, lzg_aot_declaration *out)
{
    return lzg_aot_parse(a, lz_str_of(text), "op/aot.py", key, out);
}

static lz_err *check_values(lz_arena *a)
{
    lzg_aot_declaration d;
    lz_str key;
    LZ_TRY(parse(a, CONSTANTS FUNCTIONS, &key, &d));
    assert_true(lz_str_is(d.op, "gt.Tensor"));
    assert_true(lz_str_is(d.id, "gt_Tensor"));
    assert_true(lz_str_is(key, "CUDA"));
    assert_false(d.unconditional);
    LZ_TRY(parse(a, CONSTANTS "UNCONDITIONAL = True # yes\n" FUNCTIONS, &key, &d));
    assert_true(d.unconditional);
    LZ_TRY(parse(a, "UNCONDITIONAL = True\n" CONSTANTS FUNCTIONS "UNCONDITIONAL = False\nATEN_OP = 'abs'",
                 &key, &d));
    assert_false(d.unconditional); /* the last counts */
    assert_true(lz_str_is(d.op, "abs"));
    return NULL;
}

static lz_err *check_refusals(lz_arena *a)
{
    static const struct {
        const char *text, *why;
    } cases[] = {
        { CONSTANTS, "the function kernel_precompile_grid() is missing" },
        { FUNCTIONS, "ATEN_OP must be assigned a string" },
        { FUNCTIONS "ATEN_OP = op\n", "ATEN_OP must be assigned a string" },
        { FUNCTIONS "ATEN_OP = 'a\n", "ATEN_OP must be assigned a string" },
        { FUNCTIONS "ATEN_OP = 'a' + 'b'\n", "ATEN_OP must be assigned a string" },
        { FUNCTIONS "ATEN_OP = 'a\\x41'\n", "ATEN_OP must be assigned a string" },
        { FUNCTIONS "  ATEN_OP = 'indented'\n", "ATEN_OP must be assigned a string" },
        { FUNCTIONS "ATEN_OP = 'a'\n", "DISPATCH_KEY must be assigned" },
        { CONSTANTS FUNCTIONS "UNCONDITIONAL = 1\n", "UNCONDITIONAL must be assigned True or False" },
        { CONSTANTS FUNCTIONS "def declarations():\n", "declarations() needs Python" },
        { "", "is missing" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        lzg_aot_declaration d;
        lz_str key;
        LZ_TRY(lz_check_err(parse(a, cases[i].text, &key, &d), LZ_ERR_UNSUPPORTED, cases[i].why));
    }
    return NULL;
}

#define AOT_TEST(name, check)                                                                                \
    static lz_err *name(void)                                                                                \
    {                                                                                                        \
        lz_arena a = { 0 };                                                                                  \
        lz_err *e = check(&a);                                                                               \
        lz_arena_deinit(&a);                                                                                 \
        return e;                                                                                            \
    }

AOT_TEST(test_values, check_values)
AOT_TEST(test_refusals, check_refusals)

int main(void)
{
    const struct CMUnitTest tests[] = {
        LZ_TEST(test_values),
        LZ_TEST(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
