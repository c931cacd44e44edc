#include "gen/api/types.h"
#include "gen_text.h"

static lz_err *print(const lzg_ctype *t, lz_text *out)
{
    lz_text_clear(out);
    lzg_ctype_print(t, out);
    return lz_text_check(out);
}

static lz_err *expect(const lzg_ctype *t, const char *want, lz_text *out)
{
    LZ_TRY(print(t, out));
    assert_text(out, want);
    return NULL;
}

static lz_err *spellings(lz_arena *a, lz_text *out)
{
    const lzg_ctype *tensor = lzg_ctype_base(LZG_CPP_Tensor), *t;
    LZ_TRY(expect(tensor, "at::Tensor", out));
    LZ_TRY(expect(lzg_ctype_of(LZG_C_CONST_REF, LZG_CPP_Tensor), "const at::Tensor &", out));
    LZ_TRY(expect(lzg_ctype_of(LZG_C_MUT_REF, LZG_CPP_Tensor), "at::Tensor &", out));
    LZ_TRY(expect(&lzg_const_optionals[LZG_CPP_Scalar], "const ::std::optional<at::Scalar> &", out));
    LZ_TRY(expect(lzg_ctype_of(LZG_C_ARRAY_REF, LZG_CPP_double), "at::ArrayRef<double>", out));
    LZ_TRY(expect(lzg_ctype_of(LZG_C_VECTOR, LZG_CPP_SymInt), "::std::vector<c10::SymInt>", out));
    LZ_TRY(expect(lzg_ctype_of(LZG_C_VECTORIZED, LZG_CPP_scalar_t), "at::vec::Vectorized<scalar_t>", out));
    LZ_TRY(lzg_ctype_wrap(a, LZG_C_LIST, lzg_ctype_of(LZG_C_OPTIONAL, LZG_CPP_Tensor), &t));
    LZ_TRY(expect(t, "c10::List<::std::optional<at::Tensor>>", out));
    LZ_TRY(lzg_ctype_array(a, lzg_ctype_base(LZG_CPP_bool), 3, &t));
    LZ_TRY(expect(t, "::std::array<bool,3>", out));
    const lzg_ctype *two[] = { lzg_ctype_of(LZG_C_MUT_REF, LZG_CPP_Tensor), t };
    LZ_TRY(lzg_ctype_tuple(a, two, 2, &t));
    LZ_TRY(expect(t, "::std::tuple<at::Tensor &,::std::array<bool,3>>", out));
    LZ_TRY(lzg_ctype_remove_const_ref(a, t, &t));
    return expect(t, "::std::tuple<at::Tensor,::std::array<bool,3>>", out);
}

static lz_err *test_types_print_as_in_cpp(void)
{
    lz_arena a;
    lz_text out = { 0 };
    lz_arena_init(&a);
    lz_err *e = spellings(&a, &out);
    lz_text_deinit(&out);
    lz_arena_deinit(&a);
    return e;
}

enum { BASES = 4, DEPTH1 = BASES * LZG_C_ARRAY, MANY = 2 * DEPTH1 };

/* Every wrap of four leaves, and every wrap of those. */
static lz_err *make_many(lz_arena *a, const lzg_ctype *many[MANY])
{
    static const lzg_cpp bases[BASES] = { LZG_CPP_Tensor, LZG_CPP_long, LZG_CPP_SymInt, LZG_CPP_bool };
    for (int i = 0; i < DEPTH1; i++)
        many[i] = lzg_ctype_of((lzg_ctype_kind)(i / BASES), bases[i % BASES]);
    for (int i = 0; i < DEPTH1; i++)
        LZ_TRY(lzg_ctype_wrap(a, (lzg_ctype_kind)(1 + i % (LZG_C_ARRAY - 1)), many[i], &many[DEPTH1 + i]));
    return NULL;
}

static lz_err *compare_many(lz_arena *a, lz_text *x, lz_text *y)
{
    const lzg_ctype *many[MANY];
    LZ_TRY(make_many(a, many));
    for (int i = 0; i < MANY; i++) {
        LZ_TRY(print(many[i], x));
        for (int j = 0; j < MANY; j++) {
            LZ_TRY(print(many[j], y));
            assert_int_equal(lzg_ctype_eq(many[i], many[j]), lz_str_eq(lz_text_view(x), lz_text_view(y)));
        }
    }
    return NULL;
}

static lz_err *test_types_are_equal_if_they_print_alike(void)
{
    lz_arena a;
    lz_text x = { 0 }, y = { 0 };
    lz_arena_init(&a);
    lz_err *e = compare_many(&a, &x, &y);
    lz_text_deinit(&x);
    lz_text_deinit(&y);
    lz_arena_deinit(&a);
    return e;
}

static lz_err *strip_many(lz_arena *a, lz_text *out)
{
    const lzg_ctype *many[MANY], *bare;
    LZ_TRY(make_many(a, many));
    for (int i = 0; i < MANY; i++) {
        LZ_TRY(lzg_ctype_remove_const_ref(a, many[i], &bare));
        LZ_TRY(print(bare, out));
        assert_int_equal(lz_str_find_char(lz_text_view(out), '&'), SIZE_MAX);
        lz_text_clear(out);
        lzg_ctype_print_value(many[i], out);
        LZ_TRY(lz_text_check(out));
        assert_false(lz_str_ends(lz_text_view(out), LZ_STR("&")));
    }
    return NULL;
}

static lz_err *test_references_can_be_removed(void)
{
    lz_arena a;
    lz_text out = { 0 };
    lz_arena_init(&a);
    lz_err *e = strip_many(&a, &out);
    lz_text_deinit(&out);
    lz_arena_deinit(&a);
    return e;
}

static lz_err *test_leaves_and_their_wraps_are_shared(void)
{
    lz_arena a;
    const lzg_ctype *t;
    lz_arena_init(&a);
    lz_err *e = lzg_ctype_wrap(&a, LZG_C_OPTIONAL, lzg_ctype_base(LZG_CPP_Device), &t);
    if (!e)
        assert_ptr_equal(t, lzg_ctype_of(LZG_C_OPTIONAL, LZG_CPP_Device));
    assert_int_equal(a.total, 0);
    lz_arena_deinit(&a);
    return e;
}

static lz_err *test_a_leaf_of_another_backend_is_a_type_like_any(void)
{
    lz_arena a;
    const lzg_ctype mine = { .kind = LZG_C_BASE, .name = LZ_STR("my::Value") }, *t = NULL;
    const lzg_ctype tensor = { .kind = LZG_C_BASE, .name = LZ_STR("at::Tensor") };
    lz_text out = { 0 };
    lz_arena_init(&a);
    lz_err *e = lzg_ctype_wrap(&a, LZG_C_OPTIONAL, &mine, &t);
    if (!e)
        e = expect(t, "::std::optional<my::Value>", &out);
    assert_true(lzg_ctype_is(&tensor, LZG_CPP_Tensor));
    assert_false(lzg_ctype_is(&mine, LZG_CPP_Tensor));
    lz_text_deinit(&out);
    lz_arena_deinit(&a);
    return e;
}

static lz_err *test_signatures_print_in_four_ways(void)
{
    const lzg_binding args[] = {
        { .name = LZ_STR("self"), .what = { LZ_STR("self"), lzg_ctype_of(LZG_C_CONST_REF, LZG_CPP_Tensor) } },
        { .name = LZ_STR("n"), .what = { LZ_STR("n"), lzg_ctype_base(LZG_CPP_long) }, .deflt = LZ_STR("1") },
    };
    const lzg_sig sig = { LZ_STR("f"), lzg_ctype_base(LZG_CPP_void), { args, 2 } };
    static const struct {
        void (*print)(const lzg_sig *, lz_text *);
        const char *want;
    } rows[] = {
        { lzg_sig_decl, "void f(const at::Tensor & self, int64_t n=1)" },
        { lzg_sig_defn, "void f(const at::Tensor & self, int64_t n)" },
        { lzg_sig_type, "void (const at::Tensor &, int64_t)" },
        { lzg_sig_ptr_type, "void (*)(const at::Tensor &, int64_t)" },
    };
    lz_text out = { 0 };
    lz_err *e = NULL;
    for (size_t i = 0; !e && i < sizeof rows / sizeof *rows; i++) {
        lz_text_clear(&out);
        rows[i].print(&sig, &out);
        e = lz_text_check(&out);
        if (!e)
            assert_text(&out, rows[i].want);
    }
    lz_text_deinit(&out);
    return e;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LZ_TEST(test_types_print_as_in_cpp),
        LZ_TEST(test_types_are_equal_if_they_print_alike),
        LZ_TEST(test_references_can_be_removed),
        LZ_TEST(test_leaves_and_their_wraps_are_shared),
        LZ_TEST(test_a_leaf_of_another_backend_is_a_type_like_any),
        LZ_TEST(test_signatures_print_in_four_ways),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
