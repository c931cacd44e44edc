#include "check.h"
#include "gen/formula/formula_type.h"

static lz_err *type_of(lz_arena *a, const char *text, const lzg_fty **out)
{
    const lzg_type *t;
    if (strcmp(text, "None") == 0 || strcmp(text, "[]") == 0) {
        *out = text[0] == 'N' ? &lzg_fty_none : &lzg_fty_empty_list;
        return NULL;
    }
    LZ_TRY(lzg_type_parse(a, lz_str_of(text), (lz_loc){ "t", 1, 1 }, &t));
    return lzg_fty_of(a, t, out);
}

typedef struct cost_case {
    const char *from, *to;
    int cost;
} cost_case;

/* exact < optional < int and SymInt < a wider number < int to int[N] < number to tensor */
static const cost_case costs[] = {
    { "int", "int", 0 },
    { "int", "int?", 1 },
    { "None", "Tensor?", 0 },
    { "None", "Tensor", -1 },
    { "int?", "int", -1 },
    { "int?", "SymInt?", 2 },
    { "int", "SymInt", 2 },
    { "SymInt", "int", 2 },
    { "int", "float", 4 },
    { "int", "Scalar", 4 },
    { "bool", "Scalar", 4 },
    { "float", "Scalar", 4 },
    { "float", "int", -1 },
    { "bool", "int", -1 },
    { "int", "bool", -1 },
    { "Scalar", "float", -1 },
    { "int", "int[2]", 8 },
    { "int", "SymInt[2]?", 11 },
    { "int", "int[]", -1 },
    { "float", "float[3]", 8 },
    { "Tensor", "Tensor[2]", -1 },
    { "int", "Tensor", 16 },
    { "Scalar", "Tensor?", 17 },
    { "Tensor", "Scalar", -1 },
    { "str", "Tensor", -1 },
    { "int[]", "int[2]", 0 },
    { "int[3]", "int[2]", 0 },
    { "bool[3]", "bool[2]", -1 },
    { "bool[]", "bool[2]", 0 },
    { "int[]", "SymInt[]", 2 },
    { "int[]", "Tensor[]", -1 },
    { "[]", "Tensor[]", 0 },
    { "[]", "int[]?", 1 },
    { "Tensor[]", "Tensor?[]", 1 },
    { "Tensor[]", "Tensor", -1 },
    { "ScalarType", "ScalarType?", 1 },
    { "__torch__.torch.classes.a.B", "__torch__.torch.classes.a.B", 0 },
    { "__torch__.torch.classes.a.B", "__torch__.torch.classes.a.C", -1 },
};

static lz_err *test_conversions_have_a_price(void)
{
    lz_arena a = { 0 };
    lz_err *e = NULL;
    for (size_t i = 0; !e && i < sizeof costs / sizeof *costs; i++) {
        const lzg_fty *from = NULL, *to = NULL;
        e = type_of(&a, costs[i].from, &from);
        if (!e)
            e = type_of(&a, costs[i].to, &to);
        if (!e && lzg_fty_cost(from, to) != costs[i].cost)
            fail_msg("%s to %s costs %d", costs[i].from, costs[i].to, lzg_fty_cost(from, to));
    }
    lz_arena_deinit(&a);
    return e;
}

static const char *const joins[][3] = {
    { "int", "int", "int" },
    { "int", "SymInt", "SymInt" },
    { "SymInt", "int", "SymInt" },
    { "int", "float", "float" },
    { "float", "Scalar", "Scalar" },
    { "bool", "Scalar", "Scalar" },
    { "bool", "int", NULL },
    { "Tensor", "int", "Tensor" },
    { "Tensor", "str", NULL },
    { "None", "int", "int?" },
    { "None", "None", "None" },
    { "int?", "float", "float?" },
    { "Tensor?", "None", "Tensor?" },
    { "str", "int?", NULL },
    { "int[]", "SymInt[]", "SymInt[]" },
    { "[]", "Tensor[]", "Tensor[]" },
    { "Tensor[]", "Tensor?[]", "Tensor?[]" },
    { "int[]", "int", NULL },
    { "int[]", "Tensor[]", NULL },
    { "int[]?", "Tensor[]", NULL },
    { "int?", "Tensor", "Tensor?" },
};

static lz_err *check_join(lz_arena *a, const char *x, const char *y, const char *wanted)
{
    const lzg_fty *tx, *ty, *joined;
    lz_text shown = { 0 };
    LZ_TRY(type_of(a, x, &tx));
    LZ_TRY(type_of(a, y, &ty));
    LZ_TRY(lzg_fty_join(a, tx, ty, &joined));
    if (joined)
        lzg_fty_print(joined, &shown);
    lz_err *e = lz_text_check(&shown);
    if (!e && (wanted ? !lz_str_is(lz_text_view(&shown), wanted) : joined != NULL))
        fail_msg("%s and %s join to '%.*s'", x, y, LZ_FMT(lz_text_view(&shown)));
    if (!e && joined)
        assert_true(lzg_fty_cost(tx, joined) >= 0 && lzg_fty_cost(ty, joined) >= 0);
    lz_text_deinit(&shown);
    return e;
}

static lz_err *test_joins_hold_both(void)
{
    lz_arena a = { 0 };
    lz_err *e = NULL;
    for (size_t i = 0; !e && i < sizeof joins / sizeof *joins; i++) {
        e = check_join(&a, joins[i][0], joins[i][1], joins[i][2]);
        if (!e)
            e = check_join(&a, joins[i][1], joins[i][0], joins[i][2]);
    }
    lz_arena_deinit(&a);
    return e;
}

static const char *const some[] = {
    "None",    "[]",      "int",      "SymInt",    "float",   "bool",    "Scalar",
    "str",     "Tensor",  "int?",     "Scalar?",   "Tensor?", "int[]",   "SymInt[2]",
    "bool[2]", "bool[3]", "Tensor[]", "Tensor?[]", "int[]?",  "int[][]",
};
enum { SOME = sizeof some / sizeof *some };

/* However three are joined, each of them becomes what comes out. */
static lz_err *join_three(lz_arena *a, const lzg_fty *const *t)
{
    const lzg_fty *two, *all;
    LZ_TRY(lzg_fty_join(a, t[0], t[1], &two));
    if (!two)
        return NULL;
    LZ_TRY(lzg_fty_join(a, two, t[2], &all));
    for (size_t i = 0; all && i < 3; i++)
        assert_true(lzg_fty_cost(t[i], all) >= 0);
    return NULL;
}

static lz_err *test_joins_of_joins(void)
{
    const lzg_fty *types[SOME];
    lz_arena a = { 0 };
    lz_err *e = NULL;
    for (size_t i = 0; !e && i < SOME; i++)
        e = type_of(&a, some[i], &types[i]);
    for (size_t i = 0; !e && i < SOME * SOME * SOME; i++) {
        const lzg_fty *three[] = { types[i % SOME], types[i / SOME % SOME], types[i / SOME / SOME] };
        e = join_three(&a, three);
    }
    lz_arena_deinit(&a);
    return e;
}

static lz_err *test_tuples(void)
{
    const lzg_fty *items[2] = { lzg_fty_base(LZG_TY_int), lzg_fty_base(LZG_TY_Tensor) };
    const lzg_fty *other[2] = { lzg_fty_base(LZG_TY_SymInt), lzg_fty_base(LZG_TY_Tensor) };
    const lzg_fty *x, *y, *joined = NULL;
    lz_arena a = { 0 };
    lz_text shown = { 0 };
    lz_err *e = lzg_fty_tuple(&a, items, 2, &x);
    if (!e)
        e = lzg_fty_tuple(&a, other, 2, &y);
    if (!e)
        e = lzg_fty_join(&a, x, y, &joined);
    if (!e) {
        assert_true(lzg_fty_eq(joined, y));
        assert_false(lzg_fty_eq(joined, x));
        assert_int_equal(lzg_fty_cost(x, y), LZG_COST_INT);
        lzg_fty_print(joined, &shown);
        e = lz_text_check(&shown);
    }
    if (!e)
        assert_true(lz_str_is(lz_text_view(&shown), "(SymInt, Tensor)"));
    lz_text_deinit(&shown);
    lz_arena_deinit(&a);
    return e;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LZ_TEST(test_conversions_have_a_price),
        LZ_TEST(test_joins_hold_both),
        LZ_TEST(test_joins_of_joins),
        LZ_TEST(test_tuples),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
