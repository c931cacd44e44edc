#include "check.h"
#include "core/value_kind.h"
#include <string.h>

/* One value of each kind that has words; of some kinds several. */
static const lz_scalar scalars[] = { { LZ_SCALAR_INT, -3, 0, 0 }, { LZ_SCALAR_COMPLEX, 0, 0.5, -2 } };
static const char *const strs[] = { "a", "b c" };
static const bool bools[] = { true, false, true };
static const double floats[] = { 0.5, -2 };
static const int64_t ints[] = { 1, -2, 3 };

#define COUNT(array) ((int64_t)(sizeof(array) / sizeof *(array)))

typedef struct sample {
    lz_value v;
    const char *text;
} sample;

static size_t make_samples(sample *out)
{
    const sample all[] = {
        { lz_value_integer(-7), "-7" },
        { lz_value_real(0.25), "0.25" },
        { lz_value_real(-0.0), "-0.0" },
        { lz_value_truth(true), "True" },
        { lz_value_truth(false), "False" },
        { lz_value_scalar(lz_scalar_int(5)), "5" },
        { lz_value_scalar(lz_scalar_float(1.5)), "1.5" },
        { lz_value_scalar(lz_scalar_bool(true)), "True" },
        { lz_value_scalar(lz_scalar_complex(1, 2)), "(1+2j)" },
        { lz_value_str("mean"), "'mean'" },
        { lz_value_str(""), "''" },
        { lz_value_dtype(LZ_F32), "Float" },
        { lz_value_layout(LZ_STRIDED), "0" },
        { lz_value_memory_format(LZ_CHANNELS_LAST), "2" },
        { lz_value_qscheme(LZ_PER_CHANNEL_AFFINE), "1" },
        { lz_value_device((lz_device){ 0, -1 }), "cpu" },
        { lz_value_ints(lz_ints_of(ints, COUNT(ints))), "[1, -2, 3]" },
        { lz_value_ints(lz_ints_of(NULL, 0)), "[]" },
        { lz_value_floats(lz_floats_of(floats, COUNT(floats))), "[0.5, -2.0]" },
        { lz_value_bools(lz_bools_of(bools, COUNT(bools))), "[True, False, True]" },
        { lz_value_scalars(lz_scalars_of(scalars, COUNT(scalars))), "[-3, (0.5-2j)]" },
    };
    memcpy(out, all, sizeof all);
    return sizeof all / sizeof *all;
}

static lz_err *expect_text(const lz_value *v, const char *expected)
{
    lz_text t = { 0 };
    lz_value_print(v, &t);
    lz_err *e = lz_text_check(&t);
    if (!e && !lz_str_is(lz_text_view(&t), expected))
        e = lz_errf(LZ_ERR_INTERNAL, "'%.*s' instead of '%s'", LZ_FMT(lz_text_view(&t)), expected);
    lz_text_deinit(&t);
    return e;
}

static lz_err *test_text(void)
{
    sample all[32];
    size_t n = make_samples(all);
    lz_value strings = lz_value_strs(lz_strs_of(strs, COUNT(strs)));
    lz_value absent[] = { lz_value_none(), lz_value_tensor(NULL), lz_value_dtype(LZ_DTYPE_NONE),
                          lz_value_str(NULL), lz_value_ints(lz_none_ints()) };
    for (size_t i = 0; i < n; i++)
        LZ_TRY(expect_text(&all[i].v, all[i].text));
    for (size_t i = 0; i < sizeof absent / sizeof *absent; i++)
        LZ_TRY(expect_text(&absent[i], "None"));
    return expect_text(&strings, "['a', 'b c']");
}

/* What is read from the words has the text and the words of what was put there. */
static lz_err *round_trip(const sample *s, lz_words *first, lz_words *second)
{
    first->len = second->len = 0;
    LZ_TRY(lz_value_put(first, &s->v));
    lz_value back = lz_value_get(first->data);
    assert_int_equal(back.kind, s->v.kind);
    LZ_TRY(expect_text(&back, s->text));
    LZ_TRY(lz_value_put(second, &back));
    assert_int_equal(first->len, second->len);
    assert_memory_equal(first->data, second->data, first->len * sizeof *first->data);
    return NULL;
}

static lz_err *test_words(void)
{
    sample all[32];
    size_t n = make_samples(all);
    lz_words first = { 0 }, second = { 0 };
    lz_err *e = NULL;
    for (size_t i = 0; !e && i < n; i++)
        e = round_trip(&all[i], &first, &second);
    lz_vec_deinit(&first);
    lz_vec_deinit(&second);
    return e;
}

/* Different values have different words: 0.0 and -0.0, 1 and True, 5 and the Scalar 5. */
static lz_err *compare_all(const sample *all, size_t n, lz_words *a, lz_words *b)
{
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < i; k++) {
            a->len = b->len = 0;
            LZ_TRY(lz_value_put(a, &all[i].v));
            LZ_TRY(lz_value_put(b, &all[k].v));
            assert_false(a->len == b->len && memcmp(a->data, b->data, a->len * sizeof *a->data) == 0);
        }
    return NULL;
}

static lz_err *test_words_differ(void)
{
    sample all[40];
    size_t n = make_samples(all);
    all[n++].v = lz_value_real(0.0);
    all[n++].v = lz_value_integer(1);
    all[n++].v = lz_value_integer(5);
    all[n++].v = lz_value_str("mea");
    all[n++].v = lz_value_floats(lz_floats_of(NULL, 0));
    all[n++].v = lz_value_ints(lz_ints_of(ints, 2));
    lz_words a = { 0 }, b = { 0 };
    lz_err *e = compare_all(all, n, &a, &b);
    lz_vec_deinit(&a);
    lz_vec_deinit(&b);
    return e;
}

/* Memory between the members of a Scalar, and members that its kind does not use, count for nothing. */
static lz_err *test_scalar_words(void)
{
    lz_value v[2];
    lz_words w[2] = { { 0 }, { 0 } };
    lz_err *e = NULL;
    for (int i = 0; !e && i < 2; i++) {
        memset(&v[i], i ? 0xff : 0, sizeof v[i]);
        v[i].kind = LZ_KIND_SCALAR;
        v[i].scalar.kind = LZ_SCALAR_INT;
        v[i].scalar.i = 9;
        e = lz_value_put(&w[i], &v[i]);
    }
    if (!e)
        assert_true(w[0].len == w[1].len && !memcmp(w[0].data, w[1].data, w[0].len * sizeof *w[0].data));
    lz_vec_deinit(&w[0]);
    lz_vec_deinit(&w[1]);
    return e;
}

static lz_err *test_items(void)
{
    lz_value list = lz_value_scalars(lz_scalars_of(scalars, 2));
    lz_value item = lz_value_item(&list, 1);
    assert_true(item.kind == LZ_KIND_SCALAR && item.scalar.kind == LZ_SCALAR_COMPLEX && item.scalar.im == -2);
    list = lz_value_bools(lz_bools_of(bools, 3));
    item = lz_value_item(&list, 1);
    assert_true(item.kind == LZ_KIND_BOOL && !item.truth && lz_value_item(&list, 2).truth);
    list = lz_value_strs(lz_strs_of(strs, 2));
    assert_string_equal(lz_value_item(&list, 1).str, "b c");
    list = lz_value_ints(lz_ints_of(ints, 3));
    assert_true(lz_value_item(&list, 1).integer == -2);
    list = lz_value_floats(lz_floats_of(floats, 2));
    assert_true(lz_value_item(&list, 0).real == 0.5);
    return NULL;
}

static lz_err *test_numbers(void)
{
    lz_value v = lz_value_dtype(LZ_BF16);
    assert_true(lz_value_number(&v).kind == LZ_SCALAR_INT && lz_value_number(&v).i == 15);
    v = lz_value_dtype(LZ_DTYPE_NONE);
    assert_true(lz_value_number(&v).kind == LZ_SCALAR_NONE && lz_value_is_absent(&v));
    v = lz_value_integer(-1);
    assert_true(lz_value_number(&v).i == -1 && !lz_value_is_absent(&v));
    v = lz_value_str("1");
    assert_true(lz_value_number(&v).kind == LZ_SCALAR_NONE && !lz_value_is_absent(&v));
    v = lz_value_strs(lz_strs_of(NULL, -1));
    assert_true(lz_value_is_absent(&v));
    return NULL;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LZ_TEST(test_text),         LZ_TEST(test_words), LZ_TEST(test_words_differ),
        LZ_TEST(test_scalar_words), LZ_TEST(test_items), LZ_TEST(test_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
