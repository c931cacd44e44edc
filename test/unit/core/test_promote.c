#include "check.h"
#include "core/promote.h"

/* The rules, written down anew. The least common dtype: of two kinds the higher one counts;
 * within a kind the wider, or what holds both. */
static lz_dtype wider_int(lz_dtype a, lz_dtype b)
{
    if ((a == LZ_U8) != (b == LZ_U8) && lz_dtype_size(a) == 1 && lz_dtype_size(b) == 1)
        return LZ_I16;
    return lz_dtype_size(a) >= lz_dtype_size(b) ? a : b;
}

static lz_dtype wider_float(lz_dtype a, lz_dtype b)
{
    if (a != b && lz_dtype_size(a) == 2 && lz_dtype_size(b) == 2)
        return LZ_F32;
    return lz_dtype_size(a) >= lz_dtype_size(b) ? a : b;
}

static lz_dtype with_parts(lz_dtype part)
{
    return part == LZ_F16 ? LZ_C32 : part == LZ_F64 ? LZ_C128 : LZ_C64;
}

static lz_dtype rule(lz_dtype x, lz_dtype y)
{
    bool swap = lz_dtype_category(x) < lz_dtype_category(y);
    lz_dtype a = swap ? y : x, b = swap ? x : y;
    lz_category ka = lz_dtype_category(a), kb = lz_dtype_category(b);
    if (kb == LZ_CATEGORY_BOOL || (kb == LZ_CATEGORY_INT && ka > kb))
        return a;
    if (ka == LZ_CATEGORY_INT)
        return wider_int(a, b);
    lz_dtype part = wider_float(lz_dtype_get(a)->part, lz_dtype_get(b)->part);
    return ka == LZ_CATEGORY_COMPLEX ? with_parts(part) : part;
}

static lz_err *test_the_lattice_follows_its_rules(void)
{
    for (size_t i = 0; i < LZ_DTYPE_COUNT; i++)
        for (size_t j = 0; j < LZ_DTYPE_COUNT; j++)
            if (lz_dtype_promote(lz_dtypes[i], lz_dtypes[j]) != rule(lz_dtypes[i], lz_dtypes[j]))
                fail_msg("%s and %s", lz_dtype_get(lz_dtypes[i])->abbr, lz_dtype_get(lz_dtypes[j])->abbr);
    return NULL;
}

/* A join: idempotent, commutative, above both; absent dtypes give way. */
static lz_err *test_the_lattice_is_a_join(void)
{
    for (size_t i = 0; i < LZ_DTYPE_COUNT; i++) {
        lz_dtype a = lz_dtypes[i];
        assert_int_equal(lz_dtype_promote(a, a), a);
        assert_int_equal(lz_dtype_promote(a, LZ_DTYPE_NONE), a);
        assert_int_equal(lz_dtype_promote(LZ_DTYPE_NONE, a), a);
        for (size_t j = 0; j < LZ_DTYPE_COUNT; j++) {
            lz_dtype b = lz_dtypes[j], up = lz_dtype_promote(a, b);
            assert_int_equal(up, lz_dtype_promote(b, a));
            assert_int_equal(lz_dtype_promote(up, a), up);
        }
    }
    return NULL;
}

/* torch.result_type of PyTorch 1.12: a letter for each pair of 13 tensors with a dimension,
 * 13 without, and the numbers True, 1, 1.5 and 1j. */
static const char letters[] = "buchilefdgxyz"; /* in the order of lz_dtypes */
static const char *const pairs[] = {
    "buchilefdgxyzbuchilefdgxyzbldy", "uuhhilefdgxyzuuuuuuefdgxyzuudy", "chchilefdgxyzccccccefdgxyzccdy",
    "hhhhilefdgxyzhhhhhhefdgxyzhhdy", "iiiiilefdgxyziiiiiiefdgxyziidy", "llllllefdgxyzllllllefdgxyzlldy",
    "eeeeeeeddgxyzeeeeeeeeeexxxeeex", "ffffffdfdgyyzffffffffffyyyfffy", "dddddddddgyyzddddddddddyyydddy",
    "ggggggggggzzzggggggggggzzzgggz", "xxxxxxxyyzxyzxxxxxxxxxxxxxxxxx", "yyyyyyyyyzyyzyyyyyyyyyyyyyyyyy",
    "zzzzzzzzzzzzzzzzzzzzzzzzzzzzzz", "buchilefdgxyzbuchilefdgxyzbldy", "uuchilefdgxyzuuhhilefdgxyzuudy",
    "cuchilefdgxyzchchilefdgxyzccdy", "huchilefdgxyzhhhhilefdgxyzhhdy", "iuchilefdgxyziiiiilefdgxyziidy",
    "luchilefdgxyzllllllefdgxyzlldy", "eeeeeeefdgxyzeeeeeeeddgxyzeeex", "ffffffefdgxyzffffffdfdgyyzfffy",
    "ddddddefdgxyzdddddddddgyyzdddy", "ggggggefdgxyzggggggggggzzzgggz", "xxxxxxxyyzxyzxxxxxxxyyzxyzxxxx",
    "yyyyyyxyyzxyzyyyyyyyyyzyyzyyyy", "zzzzzzxyyzxyzzzzzzzzzzzzzzzzzz", "buchilefdgxyzbuchilefdgxyzbldy",
    "luchilefdgxyzluchilefdgxyzlldy", "ddddddefdgxyzddddddefdgxyzdddy", "yyyyyyxyyzxyzyyyyyyxyyzxyzyyyy",
};

enum { OPERANDS = 2 * LZ_DTYPE_COUNT + 4 };

static lz_arg_type operand(size_t i)
{
    static const lz_dtype numbers[] = { LZ_BOOL, LZ_I64, LZ_F64, LZ_C128 };
    if (i >= 2 * LZ_DTYPE_COUNT)
        return (lz_arg_type){ numbers[i - 2 * LZ_DTYPE_COUNT], LZ_RANK_NUMBER };
    return (lz_arg_type){ lz_dtypes[i % LZ_DTYPE_COUNT],
                          i < LZ_DTYPE_COUNT ? LZ_RANK_TENSOR : LZ_RANK_ZERO_DIM };
}

static lz_err *test_pairs_are_those_of_pytorch(void)
{
    assert_int_equal(sizeof pairs / sizeof *pairs, OPERANDS);
    for (size_t i = 0; i < OPERANDS; i++)
        for (size_t j = 0; j < OPERANDS; j++) {
            const lz_arg_type args[] = { operand(i), operand(j) };
            lz_dtype want = lz_dtypes[strchr(letters, pairs[i][j]) - letters];
            if (lz_dtype_result(args, 2, LZ_F32) != want)
                fail_msg("operands %zu and %zu: %s", i, j, lz_dtype_get(want)->name);
        }
    return NULL;
}

/* Of many operands: each rank for itself; then a lower rank counts only with a kind that no
 * higher rank has. */
static lz_dtype slow_result(const lz_arg_type *args, size_t n, lz_dtype default_float)
{
    lz_dtype all = LZ_DTYPE_NONE;
    for (int rank = LZ_RANKS - 1; rank >= 0; rank--) {
        lz_dtype own = LZ_DTYPE_NONE;
        for (size_t i = 0; i < n; i++) {
            lz_dtype d = args[i].dtype;
            if ((int)args[i].rank != rank || d == LZ_DTYPE_NONE)
                continue;
            if (rank == LZ_RANK_NUMBER && lz_dtype_is_float(d))
                d = default_float;
            if (rank == LZ_RANK_NUMBER && lz_dtype_is_complex(d))
                d = with_parts(default_float);
            own = own == LZ_DTYPE_NONE ? d : rule(own, d);
        }
        if (own == LZ_DTYPE_NONE)
            continue;
        lz_category mine = lz_dtype_category(own), lower = lz_dtype_category(all);
        if (lower <= mine && all != LZ_DTYPE_NONE)
            all = own;
        else if (mine == LZ_CATEGORY_FLOAT && lower == LZ_CATEGORY_COMPLEX)
            all = with_parts(own);
        else
            all = all == LZ_DTYPE_NONE ? own : rule(own, all);
    }
    return all;
}

static lz_err *test_many_operands(void)
{
    static const lz_dtype defaults[] = { LZ_F32, LZ_F64, LZ_F16, LZ_BF16 };
    uint64_t state = 12345;
    for (int k = 0; k < 200000; k++) {
        lz_arg_type args[5];
        size_t n = 1 + (size_t)(k % 5);
        for (size_t i = 0; i < n; i++) {
            state = state * 6364136223846793005 + 1442695040888963407;
            args[i] = operand((size_t)(state >> 33) % OPERANDS);
            if (state >> 60 == 0)
                args[i].dtype = LZ_DTYPE_NONE;
        }
        lz_dtype f = defaults[state >> 40 & 3];
        assert_int_equal(lz_dtype_result(args, n, f), slow_result(args, n, f));
    }
    assert_int_equal(lz_dtype_result(NULL, 0, LZ_F32), LZ_DTYPE_NONE);
    return NULL;
}

static lz_arg_type arg(lz_dtype d, char rank)
{
    return (lz_arg_type){ d, rank == 't' ? LZ_RANK_TENSOR : rank == 'z' ? LZ_RANK_ZERO_DIM : LZ_RANK_NUMBER };
}

/* Recorded calls of PyTorch 2.15: operator, two operands, the dtype of the result. */
static const struct {
    const char *op;
    lz_promotion rule;
    lz_dtype a;
    char a_rank;
    lz_dtype b;
    char b_rank;
    lz_dtype want;
} recorded[] = {
    { "add", LZ_PROMOTE_COMMON, LZ_I64, 't', LZ_F64, 'n', LZ_F32 },
    { "add", LZ_PROMOTE_COMMON, LZ_I64, 'z', LZ_F64, 'n', LZ_F32 },
    { "add", LZ_PROMOTE_COMMON, LZ_F64, 't', LZ_F64, 'n', LZ_F64 },
    { "add", LZ_PROMOTE_COMMON, LZ_F32, 'z', LZ_I64, 'z', LZ_F32 },
    { "sub", LZ_PROMOTE_COMMON, LZ_I64, 't', LZ_F32, 'z', LZ_F32 },
    { "sub", LZ_PROMOTE_COMMON, LZ_F64, 't', LZ_I64, 't', LZ_F64 },
    { "mul", LZ_PROMOTE_COMMON, LZ_I32, 't', LZ_F32, 't', LZ_F32 },
    { "mul", LZ_PROMOTE_COMMON, LZ_BOOL, 't', LZ_BOOL, 'z', LZ_BOOL },
    { "clamp", LZ_PROMOTE_COMMON, LZ_I64, 't', LZ_I32, 't', LZ_I64 },
    { "pow", LZ_PROMOTE_COMMON, LZ_BOOL, 't', LZ_I64, 'n', LZ_I64 },
    { "pow", LZ_PROMOTE_COMMON, LZ_F64, 'n', LZ_F32, 'z', LZ_F32 },
    { "div", LZ_PROMOTE_WHOLE_TO_FLOAT, LZ_BOOL, 't', LZ_BOOL, 'z', LZ_F32 },
    { "div", LZ_PROMOTE_WHOLE_TO_FLOAT, LZ_I64, 't', LZ_I64, 'z', LZ_F32 },
    { "div", LZ_PROMOTE_WHOLE_TO_FLOAT, LZ_F32, 't', LZ_F64, 't', LZ_F64 },
    { "div", LZ_PROMOTE_WHOLE_TO_FLOAT, LZ_F64, 't', LZ_I64, 't', LZ_F64 },
    { "atan2", LZ_PROMOTE_WHOLE_TO_FLOAT, LZ_I64, 't', LZ_I64, 'z', LZ_F32 },
    { "xlogy", LZ_PROMOTE_WHOLE_TO_FLOAT, LZ_BOOL, 't', LZ_BOOL, 'z', LZ_F32 },
    { "eq", LZ_PROMOTE_ALWAYS_BOOL, LZ_F32, 't', LZ_I32, 't', LZ_BOOL },
    { "gt", LZ_PROMOTE_ALWAYS_BOOL, LZ_F32, 't', LZ_F64, 't', LZ_BOOL },
};

static lz_err *test_operators_give_what_was_recorded(void)
{
    for (size_t i = 0; i < sizeof recorded / sizeof *recorded; i++) {
        const lz_arg_type args[] = { arg(recorded[i].a, recorded[i].a_rank),
                                     arg(recorded[i].b, recorded[i].b_rank) };
        assert_int_equal(lz_promote_op(recorded[i].rule, args, 2, LZ_F32).result, recorded[i].want);
    }
    return NULL;
}

static lz_err *test_operators_compute_in_the_common_dtype(void)
{
    const lz_arg_type mixed[] = { arg(LZ_I32, 't'), arg(LZ_F16, 't') }, flags[] = { arg(LZ_BOOL, 't') },
                      complex[] = { arg(LZ_C128, 't') };
    lz_op_types t = lz_promote_op(LZ_PROMOTE_ALWAYS_BOOL, mixed, 2, LZ_F32);
    assert_true(t.common == LZ_F16 && t.result == LZ_BOOL);
    t = lz_promote_op(LZ_PROMOTE_BOOL_TO_I64, flags, 1, LZ_F32);
    assert_true(t.common == LZ_I64 && t.result == LZ_I64);
    t = lz_promote_op(LZ_PROMOTE_TO_REAL, complex, 1, LZ_F32);
    assert_true(t.common == LZ_C128 && t.result == LZ_F64);
    t = lz_promote_op(LZ_PROMOTE_TO_REAL, mixed, 2, LZ_F32);
    assert_true(t.common == LZ_F16 && t.result == LZ_F16);
    t = lz_promote_op(LZ_PROMOTE_WHOLE_TO_FLOAT, flags, 1, LZ_F64);
    assert_true(t.common == LZ_F64 && t.result == LZ_F64);
    t = lz_promote_op(LZ_PROMOTE_WHOLE_TO_FLOAT, complex, 1, LZ_F32);
    assert_true(t.common == LZ_C128 && t.result == LZ_C128);
    return NULL;
}

/* torch.can_cast: rows from, columns to. */
static lz_err *test_results_go_only_where_they_fit(void)
{
    static const bool by_kind[4][4] = { { 1, 1, 1, 1 }, { 0, 1, 1, 1 }, { 0, 0, 1, 1 }, { 0, 0, 0, 1 } };
    for (size_t i = 0; i < LZ_DTYPE_COUNT; i++)
        for (size_t j = 0; j < LZ_DTYPE_COUNT; j++) {
            lz_dtype a = lz_dtypes[i], b = lz_dtypes[j];
            assert_int_equal(lz_dtype_can_cast(a, b),
                             by_kind[lz_dtype_category(a) - 1][lz_dtype_category(b) - 1]);
        }
    lz_err *e = lz_check_err(lz_dtype_check_cast(LZ_F32, LZ_I64), LZ_ERR_ARG,
                             "result type Float can't be cast to the desired output type Long");
    return e ? e : lz_dtype_check_cast(LZ_I64, LZ_I8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LZ_TEST(test_the_lattice_follows_its_rules),    LZ_TEST(test_the_lattice_is_a_join),
        LZ_TEST(test_pairs_are_those_of_pytorch),       LZ_TEST(test_many_operands),
        LZ_TEST(test_operators_give_what_was_recorded), LZ_TEST(test_operators_compute_in_the_common_dtype),
        LZ_TEST(test_results_go_only_where_they_fit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
