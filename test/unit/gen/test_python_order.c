#include "gen/api/python_order.h"
#include "gen_text.h"
#include <stdio.h>

/* ---- pairs of types ---- */

static const char *const all_types[] = { "Tensor",  "Tensor?", "Tensor[]", "Tensor[2]", "Tensor?[]",
                                         "Scalar",  "Scalar?", "Scalar[]", "int",       "int?",
                                         "int[]",   "int[2]",  "int[]?",   "SymInt",    "SymInt[]",
                                         "SymInt?", "float",   "bool[]" };
enum { TYPES = sizeof all_types / sizeof *all_types };

/* The rule in words: which types are tried after which. */
static bool later(const char *a, const char *b)
{
    static const char *const rules[][2] = { { "Scalar", "Tensor" },  { "Scalar?", "Tensor?" },
                                            { "int[]", "int" },      { "int[]", "int?" },
                                            { "SymInt[]", "int[]" }, { "SymInt", "Tensor" },
                                            { "int", "Tensor" } };
    if (strcmp(a, b) == 0)
        return false;
    if (strcmp(a, "Tensor[]") == 0)
        return strstr(b, "[]") != NULL;
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (strcmp(a, rules[i][0]) == 0 && strcmp(b, rules[i][1]) == 0)
            return true;
    return false;
}

static lz_err *signature(lz_arena *a, const char *schema, lzg_py_signature *out)
{
    const lzg_schema *s;
    LZ_TRY(lzg_schema_parse(a, lz_str_of(schema), (lz_loc){ 0 }, &s));
    return lzg_python_signature(a, s, LZ_STR("dummy"), false, out);
}

static lz_err *signature_of(lz_arena *a, const char *type, lzg_py_signature *out)
{
    char schema[64];
    snprintf(schema, sizeof schema, "f(int n, %s x) -> int", type);
    return signature(a, schema, out);
}

static lz_err *check_types(lz_arena *a)
{
    lzg_py_signature sigs[TYPES];
    for (size_t i = 0; i < TYPES; i++)
        LZ_TRY(signature_of(a, all_types[i], &sigs[i]));
    for (size_t i = 0; i < TYPES; i++)
        for (size_t j = 0; j < TYPES; j++)
            if (lzg_python_smaller(&sigs[i], &sigs[j]) != later(all_types[i], all_types[j]))
                fail_msg("%s, %s", all_types[i], all_types[j]);
    return NULL;
}

static lz_err *test_types_are_ordered_by_the_rules(void)
{
    lz_arena a = { 0 };
    lz_err *e = check_types(&a);
    lz_arena_deinit(&a);
    return e;
}

static lz_err *check_whole(lz_arena *a)
{
    static const struct {
        const char *a, *b;
        bool smaller;
    } pairs[] = {
        { "f(Scalar x, Scalar y) -> int", "f(Tensor x, Tensor y) -> int", true },
        { "f(Scalar x, Tensor y) -> int", "f(Tensor x, Tensor y) -> int", true },
        { "f(Scalar x, Tensor y) -> int", "f(Tensor x, Scalar y) -> int", false },
        { "f(Scalar x, float y) -> int", "f(Tensor x, int y) -> int", false },
        { "f(Scalar x) -> int", "f(Tensor x, int y=1) -> int", false },
        { "f(Scalar x) -> int", "f.o(Tensor x, *, Tensor(a!) out) -> Tensor(a!)", true },
        { "f(Scalar x, int a) -> int", "f(Tensor x, *, int a) -> int", true },
        { "f(Scalar x, int a) -> int", "f.o(Tensor x, *, int a, Tensor(a!) out) -> Tensor(a!)", true },
        { "f() -> int", "f() -> int", false },
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        lzg_py_signature x, y;
        LZ_TRY(signature(a, pairs[i].a, &x));
        LZ_TRY(signature(a, pairs[i].b, &y));
        if (lzg_python_smaller(&x, &y) != pairs[i].smaller)
            fail_msg("%s, %s", pairs[i].a, pairs[i].b);
        assert_false(lzg_python_smaller(&y, &x));
    }
    return NULL;
}

static lz_err *test_signatures_are_ordered_argument_by_argument(void)
{
    lz_arena a = { 0 };
    lz_err *e = check_whole(&a);
    lz_arena_deinit(&a);
    return e;
}

/* ---- sorting ---- */

/* The order by its definition: rounds of strings, each overload when its last larger one is out. */
static void sort_slowly(const lzg_py_overload *by_text, size_t n, size_t *out)
{
    bool larger[TYPES][TYPES] = { 0 }, done[TYPES] = { 0 };
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            larger[i][j] = lzg_python_smaller(by_text[i].sig, by_text[j].sig);
    for (size_t next = 0; next <= n; next++) {
        for (size_t i = 0; i < n; i++) {
            bool waits = false;
            for (size_t j = 0; j < n; j++)
                waits = waits || larger[i][j];
            if (!waits && !done[i]) {
                done[i] = true;
                out[count++] = i;
            }
        }
        for (size_t i = 0; next < count && i < n; i++)
            larger[i][out[next]] = false;
    }
}

static void sort_by_text(lzg_py_overload *o, size_t n)
{
    for (size_t i = 1; i < n; i++)
        for (size_t j = i; j > 0 && lz_str_cmp(o[j].text, o[j - 1].text) < 0; j--) {
            lzg_py_overload swap = o[j];
            o[j] = o[j - 1];
            o[j - 1] = swap;
        }
}

static uint32_t random_below(uint32_t *state, uint32_t n)
{
    *state = *state * 1664525u + 1013904223u;
    return (*state >> 8) % n;
}

static lz_err *check_sort(lz_arena *a, uint32_t seed)
{
    lzg_py_overload got[TYPES], slow[TYPES];
    lzg_py_signature sigs[TYPES];
    size_t n = 2 + random_below(&seed, 8), order[TYPES];
    for (size_t i = 0; i < n; i++) {
        const char *type = all_types[(random_below(&seed, 2) + 2 * i) % TYPES];
        LZ_TRY(signature_of(a, type, &sigs[i]));
        got[i] = (lzg_py_overload){ .sig = &sigs[i], .text = lz_str_of(type), .place = i };
    }
    for (size_t i = n; i-- > 1;) {
        size_t k = random_below(&seed, (uint32_t)i + 1);
        lzg_py_overload swap = got[i];
        got[i] = got[k];
        got[k] = swap;
    }
    memcpy(slow, got, sizeof slow);
    sort_by_text(slow, n);
    sort_slowly(slow, n, order);
    LZ_TRY(lzg_python_sort(a, got, n));
    for (size_t i = 0; i < n; i++)
        assert_ptr_equal(got[i].sig, slow[order[i]].sig);
    for (size_t i = 0; i < n; i++)
        for (size_t j = i + 1; j < n; j++)
            assert_false(lzg_python_smaller(got[i].sig, got[j].sig));
    return NULL;
}

static lz_err *test_larger_ones_come_first(void)
{
    lz_err *e = NULL;
    for (uint32_t seed = 0; !e && seed < (lz_check_failing() ? 1 : 300); seed++) {
        lz_arena a = { 0 };
        e = check_sort(&a, seed);
        lz_arena_deinit(&a);
    }
    return e;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LZ_TEST(test_types_are_ordered_by_the_rules),
        LZ_TEST(test_signatures_are_ordered_argument_by_argument),
        LZ_TEST(test_larger_ones_come_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
