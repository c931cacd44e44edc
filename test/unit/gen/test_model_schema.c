#include "check.h"
#include "gen/model/model.h"

static const lz_loc here = { "ops.yaml", 3, 9 };

static lz_err *check_name(const char *text, const char *base, const char *flags, const char *overload,
                          const char *unambiguous)
{
    lz_arena a = { 0 };
    lzg_op_name n, again;
    lz_err *e = lzg_op_name_parse(&a, lz_str_of(text), here, &n);
    if (!e) {
        char got[4] = { n.dunder ? 'd' : '-', n.inplace ? 'i' : '-', n.functional_overload ? 'f' : '-', 0 };
        assert_string_equal(got, flags);
        assert_true(lz_str_is(n.base, base));
        assert_true(lz_str_is(n.overload, overload));
        assert_true(lz_str_is(n.unambiguous, unambiguous));
        assert_true(lz_str_is(n.text, text));
        again = (lzg_op_name){ .ns = n.ns,
                               .base = n.base,
                               .overload = n.overload,
                               .dunder = n.dunder,
                               .inplace = n.inplace,
                               .functional_overload = n.functional_overload };
        e = lzg_op_name_finish(&a, &again);
    }
    if (!e) {
        assert_true(lz_str_eq(again.text, n.text));
        assert_true(lz_str_eq(again.printed_base, n.printed_base));
        assert_true(lz_str_eq(again.unambiguous, n.unambiguous));
    }
    lz_arena_deinit(&a);
    return e;
}

static lz_err *test_names_come_apart_and_together(void)
{
    LZ_TRY(check_name("add", "add", "---", "", "add"));
    LZ_TRY(check_name("add_.Tensor", "add", "-i-", "Tensor", "add__Tensor"));
    LZ_TRY(check_name("sum.dim_IntList", "sum", "---", "dim_IntList", "sum_dim_IntList"));
    LZ_TRY(check_name("__and__.Scalar", "and", "d--", "Scalar", "__and___Scalar"));
    LZ_TRY(check_name("__iand__", "and", "di-", "", "__iand__"));
    LZ_TRY(check_name("f_functional.a.b", "f", "--f", "a.b", "f_functional_a.b"));
    LZ_TRY(check_name("_", "", "-i-", "", "_"));
    LZ_TRY(check_name("__a_b__", "__a_b_", "-i-", "", "__a_b__"));
    return check_name("a::b::foo.x", "foo", "---", "x", "a::b::foo_x");
}

typedef struct refusal {
    const char *text;
    int col; /* within the text, from 0 */
    const char *part;
} refusal;

static lz_err *refuse(const refusal *r)
{
    lz_arena a = { 0 };
    const lzg_schema *s;
    lz_err *e = lzg_schema_parse(&a, lz_str_of(r->text), here, &s);
    lz_code code = lz_err_code(e);
    if (!e)
        fail_msg("'%s' was accepted", r->text);
    if (code != LZ_ERR_MEMORY) {
        if (lz_err_loc(e).col != here.col + r->col)
            fail_msg("'%s': column %d: %s", r->text, lz_err_loc(e).col - here.col, lz_err_text(e));
        e = lz_check_err(e, code == LZ_ERR_SYNTAX ? LZ_ERR_SYNTAX : LZ_ERR_MODEL, r->part);
    }
    lz_arena_deinit(&a);
    return e;
}

static lz_err *test_malformed_schemas_point_at_the_piece(void)
{
    static const refusal table[] = {
        { "f(Tensor self)", 0, "not a schema" },
        { "f(Tensor self)-> Tensor", 0, "not a schema" },
        { "(Tensor self) -> Tensor", 0, "without a name" },
        { "f_out(Tensor x) -> ()", 0, "_out is reserved" },
        { "f.(Tensor x) -> ()", 1, "empty overload" },
        { "::f() -> ()", 0, "empty namespace" },
        { "a::() -> ()", 3, "without an operator name" },
        { "__int__() -> ()", 0, "augmented" },
        { "f_functional_() -> ()", 0, "_functional" },
        { "f(Tensor self) -> ", 18, "write () for none" },
        { "f(Tensor self,Tensor o) -> ()", 2, "unknown type 'Tensor self,Tensor'" },
        { "f(Tensor self, , int x) -> ()", 15, "empty argument" },
        { "f(Tensor self, *) -> ()", 15, "no argument follows" },
        { "f(*, int x, *, int y) -> ()", 12, "twice" },
        { "f(Tensor) -> ()", 2, "a type, a space and a name" },
        { "f(int x=) -> ()", 8, "empty default" },
        { "f(str x=\"a=b\") -> ()", 8, "second '='" },
        { "f(x=1 2) -> ()", 2, "a type, a space and a name" },
        { "f(Tensor(a)?[] x) -> ()", 11, "take an annotation" },
        { "f(Tensor self, Tensor(ab) x) -> ()", 23, "unexpected 'b'" },
        { "f(Tensor() x) -> ()", 9, "letter" },
        { "f(int x, int[N] y) -> ()", 9, "unknown type 'int[N]'" },
        { "f() -> (Tensor)", 7, "no parentheses" },
        { "f() -> Tensor, Tensor", 7, "need parentheses" },
        { "f() -> (Tensor, void)", 16, "unknown type 'void'" },
        { "f() -> Tensor(a)[3]", 16, "take an annotation" },
        { "f(int x)\n -> ()", 8, "one line" },
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        LZ_TRY(refuse(&table[i]));
    return NULL;
}

static lz_err *test_invariants(void)
{
#define OPTIONS "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None"
    static const refusal table[] = {
        { "f.out(*, Tensor(a!) o, Tensor(b!) p) -> (Tensor(b!), Tensor(a!))", 20, "return 0" },   /* S1 */
        { "f(Tensor self, Tensor(a!) x) -> Tensor(a!)", 26, "'x' is returned" },                  /* S2 */
        { "f(Tensor(a!) x, Tensor self) -> ()", 13, "in front of self" },                         /* S3 */
        { "f(Tensor(a!) self) -> (Tensor(a!), Tensor)", 0, "some are not" },                      /* S4 */
        { "f(Tensor self) -> Tensor(a!)", 0, "neither self nor an out" },                         /* S5 */
        { "f.out(*, Tensor(a!)[] o) -> Tensor(a!)", 22, "no plain Tensor" },                      /* S6 */
        { "f.out(*, Tensor(a!) o, Tensor(b!) _scratch_p) -> ()", 0, "1 out arguments" },          /* S6 */
        { "f_(int x) -> ()", 0, "needs an argument self" },                                       /* S7 */
        { "f_(Tensor self) -> Tensor", 0, "needs an argument self" },                             /* S7 */
        { "f_(Tensor(a!) self) -> ()", 0, "returns self" },                                       /* S7 */
        { "f_(Tensor(a!)[] self) -> Tensor(a!)[]", 0, "returns nothing" },                        /* S7 */
        { "f_(Tensor(a!) self, *, " OPTIONS ") -> Tensor(a!)", 35, "functional operators only" }, /* S8 */
        { "f.functional_out(*, Tensor(a!) o) -> Tensor(a!)", 2, "reserved" },                     /* S9 */
        { "f(*, Tensor(a!) o, int x) -> Tensor(a!)", 19, "'x' follows the out arguments" },
        { "f_(Tensor(a!) self, *, Tensor(a!) out) -> Tensor(a!)", 0, "with an out argument" },
        { "f(*, " OPTIONS ", " OPTIONS ") -> Tensor", 106, "twice" },
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        LZ_TRY(refuse(&table[i]));
    return NULL;
}

/* One letter a section, in the order of the enumeration: p s q k t r o. */
static lz_err *check_shape(const char *text, const char *sections, const char *kind)
{
    lz_arena a = { 0 };
    lz_text out = { 0 };
    const lzg_schema *s;
    lz_err *e = lzg_schema_parse(&a, lz_str_of(text), here, &s);
    if (!e) {
        assert_int_equal(s->nargs, strlen(sections));
        for (size_t i = 0; i < s->nargs; i++)
            assert_int_equal("psqktro"[s->args[i].section], sections[i]);
        for (int k = 0; k < LZG_SECTION_COUNT; k++)
            for (size_t i = s->first[k]; i < s->first[k + 1]; i++)
                assert_int_equal(s->args[i].section, k);
        assert_int_equal(s->first[LZG_SECTION_COUNT], s->nargs);
        assert_string_equal(lzg_schema_kind_name(s->kind), kind);
        lzg_schema_print(s, &out);
        e = lz_text_check(&out);
    }
    if (!e)
        assert_true(lz_str_is(lz_text_view(&out), text));
    lz_text_deinit(&out);
    lz_arena_deinit(&a);
    return e;
}

static lz_err *test_sections_kinds_and_print(void)
{
    LZ_TRY(check_shape("f() -> ()", "", "functional"));
    LZ_TRY(check_shape("f(int a, Tensor self, int b=1, *, int c) -> Tensor", "psqk", "functional"));
    LZ_TRY(check_shape("f(Tensor a, Scalar b) -> (Tensor, int)", "qq", "functional"));
    LZ_TRY(check_shape("f(Scalar self, Tensor self) -> Tensor x", "sq", "functional"));
    LZ_TRY(check_shape("f(int x, *, bool y, " OPTIONS ", int z=2) -> Tensor", "qkttttr", "functional"));
    LZ_TRY(check_shape("f(" OPTIONS ") -> Tensor", "qqqq", "functional"));
    LZ_TRY(
        check_shape("f(*, ScalarType? dtype, Layout layout, Device device) -> Tensor", "kkk", "functional"));
    LZ_TRY(check_shape("f_(Tensor(a!) self) -> Tensor(a!)", "s", "inplace"));
    LZ_TRY(check_shape("f_(Tensor(a!)[] self, Tensor(b!) x) -> ()", "sq", "inplace"));
    LZ_TRY(check_shape("f.o(Tensor self, *, int k, Tensor(a!) o) -> Tensor(a!)", "sko", "out"));
    LZ_TRY(check_shape("f.o(*, Tensor(a!) o, Tensor(b!) _scratch_) -> Tensor(a!)", "oo", "scratch"));
    LZ_TRY(check_shape("f(Tensor self, Tensor(a! -> b|c) x) -> Tensor y", "sq", "mutable"));
    LZ_TRY(check_shape("f(Tensor(a!) self, Stream s) -> ()", "sq", "functional"));
    LZ_TRY(check_shape("f(int x= 1, int y) -> Tensor ", "qq", "functional"));
    LZ_TRY(check_shape("f(Tensor(a) x) -> Tensor(a -> b) y", "q", "functional"));
    return check_shape("f(Tensor ) -> (Tensor(a)[] x, Tensor(b)?)", "q", "functional");
}

static lz_err *check_aliases(lz_arena *a, const char *text, size_t n, const char *const *want)
{
    const lzg_schema *s;
    lz_str *got;
    LZ_TRY(lzg_schema_parse(a, lz_str_of(text), here, &s));
    LZ_TRY(lzg_schema_aliased_returns(s, a, &got));
    assert_int_equal(s->nreturns, n);
    for (size_t i = 0; i < n; i++)
        assert_true(lz_str_is(got[i], want[i]));
    return NULL;
}

static lz_err *test_returns_that_alias(void)
{
    lz_arena a = { 0 };
    const lzg_schema *s;
    lz_str *got;
    lz_err *e = check_aliases(&a, "f(Tensor(a) x, Tensor(b) y) -> (Tensor(b), Tensor, Tensor(c), Tensor(a))",
                              4, (const char *const[]){ "y", "", "", "x" });
    if (!e)
        e = lzg_schema_parse(&a, LZ_STR("f(Tensor(a) x, Tensor(a) y) -> Tensor(a)"), here, &s);
    if (!e)
        e = lz_check_err(lzg_schema_aliased_returns(s, &a, &got), LZ_ERR_MODEL, "both 'x' and 'y'");
    lz_arena_deinit(&a);
    return e;
}

static lz_err *test_questions_about_a_schema(void)
{
    lz_arena a = { 0 };
    const lzg_schema *s;
    lz_err *e = lzg_schema_parse(
        &a, LZ_STR("f.o(Tensor self, SymInt[2]? n, *, Tensor(a!) out) -> Tensor(a!)"), here, &s);
    if (!e) {
        const lzg_argument *outs;
        assert_true(lzg_schema_is_mutable(s) && lzg_schema_modifies_arguments(s));
        assert_true(lzg_schema_has_symint(s) && lzg_schema_is_out_fn(s));
        assert_false(lzg_schema_has_tensor_options(s));
        assert_ptr_equal(lzg_schema_self(s), lzg_schema_arg(s, LZ_STR("self")));
        assert_null(lzg_schema_arg(s, LZ_STR("m")));
        assert_int_equal(lzg_schema_section(s, LZG_OUT, &outs), 1);
        assert_true(lz_str_is(outs[0].name, "out"));
        assert_true(lzg_argument_eq(outs, outs));
        assert_false(lzg_argument_eq(outs, &s->args[0]));
    }
    lz_arena_deinit(&a);
    return e;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LZ_TEST(test_names_come_apart_and_together),
        LZ_TEST(test_malformed_schemas_point_at_the_piece),
        LZ_TEST(test_invariants),
        LZ_TEST(test_sections_kinds_and_print),
        LZ_TEST(test_returns_that_alias),
        LZ_TEST(test_questions_about_a_schema),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
