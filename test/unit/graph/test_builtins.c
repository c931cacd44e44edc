/* Built-ins against what Python gives, called as a graph calls them: found by types. */
#include "graph/builtins.h"
#include "graph/graph_parse.h"
#include "graph_text.h"
#include "ir_call.h"

typedef struct call {
    const char *name, *args; /* a tuple of literals */
    const char *want;        /* results as literals, or "!" and a part of the error */
} call;

/* ---- types of literals ---- */

/* NOLINTNEXTLINE(misc-no-recursion): as deep as the literal */
static lz_err *type_of(lz_type_table *t, lz_script_value v, const lz_type **out)
{
    static const lz_type_kind leaves[LZ_SCRIPT_VALUE_KINDS] = {
        [LZ_SCRIPT_VALUE_NONE] = LZ_GRAPH_TYPE_NONE,    [LZ_SCRIPT_VALUE_BOOL] = LZ_GRAPH_TYPE_BOOL,
        [LZ_SCRIPT_VALUE_INT] = LZ_GRAPH_TYPE_INT,      [LZ_SCRIPT_VALUE_FLOAT] = LZ_GRAPH_TYPE_FLOAT,
        [LZ_SCRIPT_VALUE_STR] = LZ_GRAPH_TYPE_STR,      [LZ_SCRIPT_VALUE_DEVICE] = LZ_GRAPH_TYPE_DEVICE,
        [LZ_SCRIPT_VALUE_ARRAY] = LZ_GRAPH_TYPE_TENSOR,
    };
    const lz_type *elem[8] = { lz_type_leaf(LZ_GRAPH_TYPE_INT), lz_type_leaf(LZ_GRAPH_TYPE_INT) };
    if (v.kind == LZ_SCRIPT_VALUE_DICT) {
        lz_map_entry *e = lz_map_next(&v.dict->map, NULL);
        const lz_script_value_pair *p = e ? e->value : NULL;
        if (p) {
            LZ_TRY(type_of(t, p->key, &elem[0]));
            LZ_TRY(type_of(t, p->value, &elem[1]));
        }
        return lz_type_dict(t, elem[0], elem[1], out);
    }
    if (v.kind != LZ_SCRIPT_VALUE_LIST && v.kind != LZ_SCRIPT_VALUE_TUPLE) {
        *out = lz_type_leaf(leaves[v.kind]);
        return NULL;
    }
    for (size_t i = 0; i < v.list->len && i < 8; i++)
        LZ_TRY(type_of(t, v.list->data[i], &elem[i]));
    if (v.kind == LZ_SCRIPT_VALUE_LIST)
        return lz_type_list(t, elem[0], out);
    return lz_type_compound(t, LZ_GRAPH_TYPE_TUPLE, elem, NULL, v.list->len, out);
}

static lz_err *parse_args(lz_graph *g, const char *text, lz_script_value *out)
{
    lz_lexer l;
    const lz_type *type;
    LZ_TRY(lz_lexer_init(&l, "args", lz_str_of(text)));
    return lz_parse_literal(&l, &g->types, out, &type);
}

static lz_err *make_call(lz_graph *g, const char *name, lz_script_value args, lz_ssa_node **out)
{
    lz_ssa_value *in[8];
    for (size_t i = 0; i < args.list->len; i++) {
        const lz_type *type;
        lz_ssa_node *c;
        LZ_TRY(type_of(&g->types, args.list->data[i], &type));
        LZ_TRY(lz_ssa_constant_make(g, lz_script_value_retain(args.list->data[i]), type, (lz_loc){ 0 }, &c));
        lz_ssa_append(c, g->block);
        in[i] = c->out[0];
    }
    return ir_call(g, g->block, name, in, (uint32_t)args.list->len, out);
}

/* ---- results ---- */

static lz_err *show_results(const lz_script_value *v, uint32_t n, lz_text *out)
{
    for (uint32_t i = 0; i < n; i++) {
        lz_text_puts(out, i ? ", " : "");
        LZ_TRY(lz_script_value_repr(v[i], out));
    }
    return lz_text_check(out);
}

static lz_err *compare(const call *c, const lz_ssa_node *n, const lz_script_value *v, lz_script_value args)
{
    lz_text t = { 0 };
    lz_err *e = show_results(v, n->nout, &t);
    if (!e && c->want[0] == '=') { /* also what the first argument has become */
        lz_text_puts(&t, n->nout ? " and " : "");
        e = lz_script_value_repr(args.list->data[0], &t);
        e = e ? e : lz_text_check(&t);
    }
    const char *want = c->want + (c->want[0] == '=');
    if (!e && !lz_str_is(lz_text_view(&t), want))
        fail_msg("%s%s gives %.*s, not %s", c->name, c->args, LZ_FMT(lz_text_view(&t)), want);
    lz_text_deinit(&t);
    return e;
}

static lz_err *run(const call *c, const lz_ssa_node *n, lz_script_value args)
{
    lz_script_value v[4] = { { 0 } };
    if (!n->builtin) {
        fail_msg("%s%s is no built-in", c->name, c->args);
        return NULL;
    }
    lz_err *e = n->builtin->run(args.list->data, args.list->len, v);
    if (c->want[0] == '!')
        return lz_check_err(e, e ? lz_err_code(e) : LZ_OK, c->want + 1);
    if (e && lz_err_code(e) != LZ_ERR_MEMORY)
        fail_msg("%s%s: %s", c->name, c->args, lz_err_text(e));
    LZ_TRY(e);
    e = compare(c, n, v, args);
    for (uint32_t i = 0; i < n->nout; i++)
        lz_script_value_release(v[i]);
    return e;
}

static lz_err *check_call(const call *c)
{
    lz_graph *g;
    lz_script_value args = lz_script_value_none();
    lz_ssa_node *n = NULL;
    LZ_TRY(lz_graph_create(NULL, &g));
    lz_err *e = parse_args(g, c->args, &args);
    e = e ? e : make_call(g, c->name, args, &n);
    e = e ? e : run(c, n, args);
    lz_script_value_release(args);
    lz_graph_release(g);
    return e;
}

static lz_err *check_calls(const call *c, size_t n)
{
    lz_err *e = NULL;
    for (size_t i = 0; !e && i < n; i++)
        e = check_call(&c[i]);
    return e;
}

#define CHECK(table) return check_calls(table, sizeof(table) / sizeof *(table))

static lz_err *test_numbers(void)
{
    static const call calls[] = {
        { "aten::add", "(2, 3)", "5" },
        { "aten::add", "(2, 0.5)", "2.5" },
        { "aten::add", "(9223372036854775807, 1)", "!OverflowError" },
        { "aten::sub", "(2, 3)", "-1" },
        { "aten::__round_to_zero_floordiv", "(-7, 2)", "-3" },
        { "aten::__round_to_zero_floordiv", "(1, 0)", "!ZeroDivisionError" },
        { "prim::max", "(nan, 1.)", "1." },
        { "prim::max", "(1., nan)", "nan" },
        { "prim::min", "(nan, 1.)", "1." },
        { "aten::sub", "(-9223372036854775807, 2)", "!OverflowError" },
        { "aten::mul", "(-4, 3)", "-12" },
        { "aten::mul", "(4611686018427387904, 2)", "!OverflowError" },
        { "aten::mul", "(1.5, 2)", "3." },
        { "aten::div", "(7, 2)", "3.5" },
        { "aten::div", "(1, 0)", "inf" },
        { "aten::div", "(0., 0.)", "nan" },
        { "aten::floordiv", "(7, 2)", "3" },
        { "aten::floordiv", "(-7, 2)", "-4" },
        { "aten::floordiv", "(7, -2)", "-4" },
        { "aten::floordiv", "(-7, -2)", "3" },
        { "aten::floordiv", "(-8, 2)", "-4" },
        { "aten::floordiv", "(1, 0)", "!ZeroDivisionError" },
        { "aten::floordiv", "(-9223372036854775808, -1)", "!OverflowError" },
        { "aten::floordiv", "(-7., 2)", "-4." },
        { "aten::remainder", "(7, 3)", "1" },
        { "aten::remainder", "(-7, 3)", "2" },
        { "aten::remainder", "(7, -3)", "-2" },
        { "aten::remainder", "(-7, -3)", "-1" },
        { "aten::remainder", "(6, 3)", "0" },
        { "aten::remainder", "(1, 0)", "!ZeroDivisionError" },
        { "aten::remainder", "(-9223372036854775808, -1)", "0" },
        { "aten::remainder", "(-7.5, 2.)", "0.5" },
        { "aten::fmod", "(-7.5, 2.)", "-1.5" },
        { "aten::divmod", "(-7, 2)", "-4, 1" },
        { "aten::pow", "(7, 2)", "49." },
        { "aten::pow", "(2., -1)", "0.5" },
        { "aten::neg", "(5,)", "-5" },
        { "aten::neg", "(-9223372036854775808,)", "!OverflowError" },
        { "aten::neg", "(0.,)", "-0." },
        { "prim::abs", "(-7,)", "7" },
        { "prim::abs", "(-1.75,)", "1.75" },
        { "prim::min", "(-7, 2)", "-7" },
        { "prim::max", "(-7, 2)", "2" },
        { "prim::max", "(1, 2.5)", "2.5" },
        { "prim::min", "(1, 2.5)", "1." },
        { "aten::round", "(2.5,)", "2." },
        { "aten::round", "(3.5,)", "4." },
        { "aten::round", "(-2.5,)", "-2." },
        { "aten::floor", "(-1.5,)", "-2" },
        { "aten::ceil", "(-1.5,)", "-1" },
        { "aten::ceil", "(inf,)", "!OverflowError" },
        { "aten::trunc", "(-1.5,)", "-1" },
        { "aten::Int", "(2.9,)", "2" },
        { "aten::Int", "(-2.9,)", "-2" },
        { "aten::Int", "(nan,)", "!ValueError" },
        { "aten::Int", "(1e30,)", "!OverflowError" },
        { "aten::Int", "(True,)", "1" },
        { "aten::Int", "(\" 42\",)", "42" },
        { "aten::Int", "(\"4x\",)", "!ValueError" },
        { "aten::Float", "(3,)", "3." },
        { "aten::Float", "(\"1e3\",)", "1000." },
        { "aten::Float", "(\"\",)", "!ValueError" },
        { "aten::Bool", "(0,)", "False" },
        { "aten::Bool", "(nan,)", "True" },
        { "aten::eq", "(1, 1.)", "True" },
        { "aten::ne", "(True, False)", "True" },
        { "aten::lt", "(1, 2)", "True" },
        { "aten::ge", "(1.5, 2)", "False" },
        { "aten::eq", "(nan, nan)", "False" },
        { "aten::__and__", "(6, 3)", "2" },
        { "aten::__and__", "(True, False)", "False" },
        { "aten::__or__", "(6, 3)", "7" },
        { "aten::__xor__", "(True, True)", "False" },
        { "aten::__xor__", "(6, 3)", "5" },
        { "aten::__not__", "(True,)", "False" },
        { "aten::__lshift__", "(3, 4)", "48" },
        { "aten::__lshift__", "(1, 63)", "!OverflowError" },
        { "aten::__lshift__", "(1, -1)", "!negative shift" },
        { "aten::__rshift__", "(-5, 1)", "-3" },
        { "aten::__rshift__", "(-5, 100)", "-1" },
        { "aten::__is__", "(None, None)", "True" },
        { "aten::__is__", "(1, None)", "False" },
        { "aten::__isnot__", "(\"a\", None)", "True" },
        { "aten::__range_length", "(0, 10, 3)", "4" },
        { "aten::__range_length", "(10, 0, -3)", "4" },
        { "aten::__range_length", "(5, 5, 1)", "0" },
        { "aten::__range_length", "(0, 1, 0)", "!must not be zero" },
        { "aten::__range_length", "(-9223372036854775808, 9223372036854775807, 1)", "!OverflowError" },
        { "aten::__derive_index", "(3, 10, -2)", "4" },
    };
    CHECK(calls);
}

static lz_err *test_math(void)
{
    static const call calls[] = {
        { "aten::sqrt", "(16,)", "4." },
        { "aten::sqrt", "(-1.,)", "nan" },
        { "aten::exp", "(0,)", "1." },
        { "aten::log", "(1.,)", "0." },
        { "aten::log", "(8, 2)", "3." },
        { "aten::log2", "(1024,)", "10." },
        { "aten::atan2", "(0., 1.)", "0." },
        { "aten::degrees", "(0.,)", "0." },
        { "aten::factorial", "(20,)", "2432902008176640000" },
        { "aten::factorial", "(21,)", "!OverflowError" },
        { "aten::factorial", "(-1,)", "!ValueError" },
        { "aten::gcd", "(-12, 18)", "6" },
        { "aten::gcd", "(0, 0)", "0" },
        { "aten::copysign", "(1., -2.)", "-1." },
        { "aten::isnan", "(nan,)", "True" },
        { "aten::isinf", "(-inf,)", "True" },
        { "aten::isfinite", "(1.,)", "True" },
        { "aten::frexp", "(8.,)", "0.5, 4" },
        { "aten::ldexp", "(0.5, 4)", "8." },
        { "aten::ldexp", "(1., 9223372036854775807)", "inf" },
        { "aten::modf", "(3.25,)", "0.25, 3." },
        { "aten::fabs", "(-2,)", "2." },
        { "aten::mathremainder", "(5., 3.)", "-1." },
        { "aten::gamma", "(5.,)", "24." },
    };
    CHECK(calls);
}

static lz_err *test_strings(void)
{
    static const call calls[] = {
        { "aten::add", "(\"ab\", \"c\")", "\"abc\"" },
        { "aten::len", "(\"abc\",)", "3" },
        { "aten::eq", "(\"a\", \"a\")", "True" },
        { "aten::lt", "(\"a\", \"b\")", "True" },
        { "aten::gt", "(\"ab\", \"abc\")", "False" },
        { "aten::__getitem__", "(\"abc\", -1)", "\"c\"" },
        { "aten::__getitem__", "(\"abc\", 3)", "!IndexError" },
        { "aten::slice", "(\"abcdef\", 1, None, 2)", "\"bdf\"" },
        { "aten::slice", "(\"abcdef\", -3, -1, 1)", "\"de\"" },
        { "aten::slice", "(\"abc\", 5, 9, 1)", "\"\"" },
        { "aten::slice", "(\"abc\", None, None, 0)", "!ValueError" },
        { "aten::mul", "(\"ab\", 3)", "\"ababab\"" },
        { "aten::mul", "(\"ab\", -1)", "\"\"" },
        { "aten::mul", "(\"ab\", 9223372036854775807)", "!MemoryError" },
        { "aten::upper", "(\"aB1\",)", "\"AB1\"" },
        { "aten::lower", "(\"aB1\",)", "\"ab1\"" },
        { "aten::swapcase", "(\"aB1\",)", "\"Ab1\"" },
        { "aten::capitalize", "(\"aBC d\",)", "\"Abc d\"" },
        { "aten::capitalize", "(\"\",)", "\"\"" },
        { "aten::title", "(\"they're bill's x1y\",)", "\"They\\'Re Bill\\'S X1Y\"" },
        { "aten::isdigit", "(\"12\",)", "True" },
        { "aten::isdigit", "(\"\",)", "False" },
        { "aten::isalpha", "(\"aZ\",)", "True" },
        { "aten::isalnum", "(\"a-\",)", "False" },
        { "aten::isspace", "(\" \\t\\n\",)", "True" },
        { "aten::isupper", "(\"A1\",)", "True" },
        { "aten::isupper", "(\"1\",)", "False" },
        { "aten::islower", "(\"aB\",)", "False" },
        { "aten::isprintable", "(\"\",)", "True" },
        { "aten::isprintable", "(\"\\n\",)", "False" },
        { "aten::isidentifier", "(\"_a1\",)", "True" },
        { "aten::isidentifier", "(\"1a\",)", "False" },
        { "aten::find", "(\"hello\", \"l\", 0, -1)", "2" },
        { "aten::find", "(\"hello\", \"l\", 3, 5)", "3" },
        { "aten::find", "(\"hello\", \"z\", 0, -1)", "-1" },
        { "aten::rfind", "(\"hello\", \"l\", 0, -1)", "3" },
        { "aten::index", "(\"hello\", \"z\", 0, -1)", "!substring not found" },
        { "aten::rindex", "(\"hello\", \"l\", 0, -1)", "3" },
        { "aten::count", "(\"banana\", \"an\", 0, -1)", "2" },
        { "aten::count", "(\"aaaa\", \"aa\", 0, -1)", "2" },
        { "aten::count", "(\"abc\", \"\", 0, -1)", "4" },
        { "aten::__contains__", "(\"hello\", \"ell\")", "True" },
        { "aten::startswith", "(\"hello\", \"he\", 0, -1)", "True" },
        { "aten::endswith", "(\"hello\", \"lo\", 0, -1)", "True" },
        { "aten::endswith", "(\"hello\", \"lo\", 0, 4)", "False" },
        { "aten::replace", "(\"banana\", \"a\", \"oo\", -1)", "\"boonoonoo\"" },
        { "aten::replace", "(\"banana\", \"a\", \"oo\", 2)", "\"boonoona\"" },
        { "aten::replace", "(\"ab\", \"\", \"-\", -1)", "\"-a-b-\"" },
        { "aten::replace", "(\"ab\", \"\", \"-\", 2)", "\"-a-b\"" },
        { "aten::strip", "(\"  a b \", \" \")", "\"a b\"" },
        { "aten::lstrip", "(\"xxaxx\", \"x\")", "\"axx\"" },
        { "aten::rstrip", "(\"xxaxx\", \"x\")", "\"xxa\"" },
        { "aten::split", "(\" a  b c \", None, -1)", "[\"a\", \"b\", \"c\"]" },
        { "aten::split", "(\"a  b c\", None, 1)", "[\"a\", \"b c\"]" },
        { "aten::split", "(\"a,,b\", \",\", -1)", "[\"a\", \"\", \"b\"]" },
        { "aten::split", "(\"a,b,c\", \",\", 1)", "[\"a\", \"b,c\"]" },
        { "aten::split", "(\"\", \",\", -1)", "[\"\"]" },
        { "aten::split", "(\"\", None, -1)", "[]" },
        { "aten::split", "(\"a\", \"\", -1)", "!empty separator" },
        { "aten::splitlines", "(\"a\\nb\\r\\nc\", False)", "[\"a\", \"b\", \"c\"]" },
        { "aten::splitlines", "(\"a\\nb\\r\\n\", True)", "[\"a\\n\", \"b\\015\\n\"]" },
        { "aten::partition", "(\"a=b=c\", \"=\")", "\"a\", \"=\", \"b=c\"" },
        { "aten::partition", "(\"abc\", \"=\")", "\"abc\", \"\", \"\"" },
        { "aten::rpartition", "(\"a=b=c\", \"=\")", "\"a=b\", \"=\", \"c\"" },
        { "aten::rpartition", "(\"abc\", \"=\")", "\"\", \"\", \"abc\"" },
        { "aten::rsplit", "(\"a,b,c\", \",\", -1)", "[\"a\", \"b\", \"c\"]" },
        { "aten::rsplit", "(\"a,b,c\", \",\", 1)", "[\"a,b\", \"c\"]" },
        { "aten::rsplit", "(\",a\", \",\", -1)", "[\"\", \"a\"]" },
        { "aten::rsplit", "(\"a\", \"\", -1)", "!empty separator" },
        { "aten::istitle", "(\"Ab Cd1E\",)", "True" },
        { "aten::istitle", "(\"AB\",)", "False" },
        { "aten::istitle", "(\"a\",)", "False" },
        { "aten::istitle", "(\"1\",)", "False" },
        { "aten::percentFormat", "(\"%d%% of %s\", (3, \"x\"))", "\"3% of x\"" },
        { "aten::percentFormat", "(\"%i %s\", (-2.75, [1, 2]))", "\"-2 [1, 2]\"" },
        { "aten::percentFormat", "(\"%f %F\", (0.5, -1234567.25))", "\"0.500000 -1234567.250000\"" },
        { "aten::percentFormat", "(\"%f %f\", (0.00000049, 0.0000007))", "\"0.000000 0.000001\"" },
        { "aten::percentFormat", "(\"%e %E\", (12345.678, 0.00123))", "\"1.234568e+04 1.230000E-03\"" },
        { "aten::percentFormat", "(\"%f %e %e\", (0.0, 0.0, 9.9999999))",
          "\"0.000000 0.000000e+00 1.000000e+01\"" },
        { "aten::percentFormat", "(\"%f %E\", (inf, -inf))", "\"inf -INF\"" },
        { "aten::percentFormat", "(\"%c%c\", (65, \"b\"))", "\"Ab\"" },
        { "aten::percentFormat", "(\"%s\", 5)", "\"5\"" },
        { "aten::percentFormat", "(\"%d\", \"a\")", "!cannot format" },
        { "aten::percentFormat", "(\"%.2f\", 1.0)", "!cannot format" },
        { "aten::percentFormat", "(\"%s %s\", 1)", "!Too few" },
        { "aten::percentFormat", "(\"a\", 1)", "!Too many" },
        { "aten::percentFormat", "(\"%\", 1)", "!Incomplete" },
        { "aten::join", "(\", \", [\"a\", \"b\", \"c\"])", "\"a, b, c\"" },
        { "aten::center", "(\"ab\", 5, \"*\")", "\"**ab*\"" },
        { "aten::center", "(\"abc\", 6, \"*\")", "\"*abc**\"" },
        { "aten::center", "(\"abc\", 6, \"**\")", "!exactly one character" },
        { "aten::ljust", "(\"ab\", 4, \".\")", "\"ab..\"" },
        { "aten::rjust", "(\"ab\", 4, \".\")", "\"..ab\"" },
        { "aten::rjust", "(\"ab\", 1, \".\")", "\"ab\"" },
        { "aten::zfill", "(\"-42\", 6)", "\"-00042\"" },
        { "aten::expandtabs", "(\"a\\tbc\\td\", 4)", "\"a   bc  d\"" },
        { "aten::format", "(\"{} of {}: {}\", 1, 2.5, [\"a\"])", "\"1 of 2.5: [a]\"" },
        { "aten::format", "(\"{}\",)", "!Too few arguments" },
        { "aten::str", "((1, \"a\", None, True),)", "\"(1, a, None, True)\"" },
        { "aten::hex", "(255,)", "\"0xff\"" },
        { "aten::hex", "(-255,)", "\"-0xff\"" },
        { "aten::oct", "(8,)", "\"0o10\"" },
        { "aten::bin", "(5,)", "\"0b101\"" },
        { "aten::bin", "(0,)", "\"0b0\"" },
        { "aten::hex", "(-9223372036854775808,)", "\"-0x8000000000000000\"" },
        { "aten::ord", "(\"A\",)", "65" },
        { "aten::ord", "(\"AB\",)", "!1 character" },
        { "aten::chr", "(65,)", "\"A\"" },
        { "aten::chr", "(321,)", "\"A\"" },
        { "aten::list", "(\"abc\",)", "[\"a\", \"b\", \"c\"]" },
        { "aten::device", "(\"cuda\", 1)", "\"cuda:1\"" },
        { "prim::RaiseException", "(\"negative\", \"builtins.Exception\")", "!builtins.Exception: negative" },
        { "prim::RaiseException", "(\"negative\", None)", "!negative" },
        { "prim::StringIndex", "(\"abc\", 1)", "\"b\"" },
        { "prim::Print", "(1, \"a\")", "" },
        { "aten::warn", "(\"careful\", 2)", "" },
    };
    CHECK(calls);
}

static lz_err *test_lists(void)
{
    static const call calls[] = {
        { "aten::len", "([1, 2],)", "2" },
        { "aten::__getitem__", "([1, 2, 3], -1)", "3" },
        { "aten::__getitem__", "([1], 1)", "!IndexError: list index out of range" },
        { "aten::__getitem__", "([1], -2)", "!IndexError" },
        { "aten::__contains__", "([1, 2], 2)", "True" },
        { "aten::__contains__", "([\"a\"], \"b\")", "False" },
        { "aten::index", "([5, 6], 6)", "1" },
        { "aten::index", "([5, 6], 7)", "!not in list" },
        { "aten::count", "([1, 2, 1], 1)", "2" },
        { "aten::eq", "([1, 2], [1, 2])", "True" },
        { "aten::ne", "([1., 2.], [1., 3.])", "True" },
        { "aten::lt", "([1, 2], [1, 3])", "True" },
        { "aten::lt", "([1, 2], [1])", "False" },
        { "aten::ge", "([\"b\"], [\"a\", \"c\"])", "True" },
        { "prim::min", "([3, 1, 2],)", "1" },
        { "prim::max", "([0.5, 1.5],)", "1.5" },
        { "prim::max", "([\"a\", \"b\"],)", "\"b\"" },
        { "prim::min", "(annotate(List[int], []),)", "!ValueError" },
        { "prim::max", "([1, 2], [1, 3])", "[1, 3]" },
        { "aten::sum", "([1, 2, 3],)", "6" },
        { "aten::sum", "([0.5, 0.25],)", "0.75" },
        { "aten::sum", "([True, True],)", "2" },
        { "aten::sum", "([9223372036854775807, 1],)", "!OverflowError" },
        { "aten::any", "([False, True],)", "True" },
        { "aten::all", "([1, 0],)", "False" },
        { "aten::add", "([1], [2, 3])", "[1, 2, 3]" },
        { "aten::mul", "([1, 2], 2)", "[1, 2, 1, 2]" },
        { "aten::mul", "(0, [1])", "[]" },
        { "aten::mul", "([1], 9223372036854775807)", "!MemoryError" },
        { "aten::slice", "([1, 2, 3, 4, 5], 1, None, 2)", "[2, 4]" },
        { "aten::slice", "([1, 2, 3], None, -1, 1)", "[1, 2]" },
        { "aten::slice", "([1, 2, 3], 2, 1, 1)", "[]" },
        { "aten::copy", "([1, 2],)", "[1, 2]" },
        { "aten::list", "([1, 2],)", "[1, 2]" },
        { "aten::sorted", "([3, 1, 2],)", "[1, 2, 3]" },
        { "aten::sorted", "([\"b\", \"a\"], True)", "[\"b\", \"a\"]" },
        { "prim::rangelist", "(4,)", "[0, 1, 2, 3]" },
        { "prim::rangelist", "(9223372036854775807,)", "!MemoryError" },
        { "aten::append", "([1], 2)", "=[1, 2] and [1, 2]" },
        { "aten::_set_item", "([1, 2], -1, 9)", "=[1, 9] and [1, 9]" },
        { "aten::_set_item", "([1], 1, 9)", "!IndexError" },
        { "aten::extend", "([1], [2, 3])", "=[1, 2, 3]" },
        { "aten::add_", "([1], [2])", "=[1, 2] and [1, 2]" },
        { "aten::mul_", "([1, 2], 2)", "=[1, 2, 1, 2] and [1, 2, 1, 2]" },
        { "aten::insert", "([1, 2], 1, 9)", "=[1, 9, 2]" },
        { "aten::insert", "([1, 2], -100, 9)", "=[9, 1, 2]" },
        { "aten::insert", "([1, 2], 100, 9)", "=[1, 2, 9]" },
        { "aten::pop", "([1, 2, 3], -1)", "=3 and [1, 2]" },
        { "aten::pop", "([1, 2, 3], 0)", "=1 and [2, 3]" },
        { "aten::pop", "(annotate(List[int], []), -1)", "!pop from empty list" },
        { "aten::Delete", "([1, 2, 3], 1)", "=[1, 3]" },
        { "aten::remove", "([1, 2, 1], 1)", "=[2, 1]" },
        { "aten::remove", "([1], 2)", "!not in list" },
        { "aten::reverse", "([1, 2, 3],)", "=[3, 2, 1]" },
        { "aten::reverse", "([1, 2],)", "=[2, 1]" },
        { "aten::clear", "([1, 2],)", "=[]" },
        { "aten::sort", "([3, 1, 2, 5, 4], False)", "=[1, 2, 3, 4, 5]" },
        { "aten::sort", "([0.5, 2.5, 1.5], True)", "=[2.5, 1.5, 0.5]" },
        { "aten::_unwrap_optional", "(1,)", "1" },
        { "aten::_unwrap_optional", "(None,)", "!Unwrapping null optional" },
    };
    CHECK(calls);
}

static lz_err *test_dicts(void)
{
    static const call calls[] = {
        { "aten::len", "({\"a\": 1},)", "1" },
        { "aten::__getitem__", "({\"a\": 1}, \"a\")", "1" },
        { "aten::__getitem__", "({\"a\": 1}, \"zz\")", "!KeyError: \"zz\"" },
        { "aten::__getitem__", "({1: 2.5}, 1)", "2.5" },
        { "aten::__contains__", "({\"a\": 1}, \"b\")", "False" },
        { "aten::get", "({\"a\": 1}, \"b\")", "None" },
        { "aten::get", "({\"a\": 1}, \"b\", 7)", "7" },
        { "aten::keys", "({\"b\": 1, \"a\": 2},)", "[\"b\", \"a\"]" },
        { "aten::values", "({\"b\": 1, \"a\": 2},)", "[1, 2]" },
        { "aten::items", "({\"b\": 1, \"a\": 2},)", "[(\"b\", 1), (\"a\", 2)]" },
        { "aten::copy", "({\"b\": 1},)", "{\"b\": 1}" },
        { "aten::dict", "([(\"x\", 1), (\"y\", 2), (\"x\", 3)],)", "{\"x\": 3, \"y\": 2}" },
        { "aten::_set_item", "({\"a\": 1}, \"b\", 2)", "={\"a\": 1, \"b\": 2}" },
        { "aten::setdefault", "({\"a\": 1}, \"a\", 2)", "=1 and {\"a\": 1}" },
        { "aten::setdefault", "({\"a\": 1}, \"b\", 2)", "=2 and {\"a\": 1, \"b\": 2}" },
        { "aten::update", "({\"a\": 1}, {\"b\": 2, \"a\": 3})", "={\"a\": 3, \"b\": 2}" },
        { "aten::Delete", "({\"a\": 1}, \"a\")", "={}" },
        { "aten::Delete", "({\"a\": 1}, \"b\")", "!KeyError" },
        { "aten::pop", "({\"a\": 1}, \"a\")", "=1 and {}" },
        { "aten::pop", "({\"a\": 1}, \"b\", 9)", "=9 and {\"a\": 1}" },
        { "aten::popitem", "({\"a\": 1, \"b\": 2},)", "=(\"b\", 2) and {\"a\": 1}" },
        { "aten::clear", "({\"a\": 1, \"b\": 2},)", "={}" },
    };
    CHECK(calls);
}

static lz_err *test_tensors(void)
{
    static const call calls[] = {
        { "aten::Int", "({7},)", "7" },
        { "aten::Float", "({0.5},)", "0.5" },
        { "aten::Bool", "({0},)", "False" },
        { "aten::item", "({2.5},)", "2.5" },
        { "aten::Int", "({1, 2},)", "!2 elements" },
        { "aten::size", "({1, 2, 3},)", "[3]" },
        { "aten::size", "({1, 2, 3}, -1)", "3" },
        { "aten::size", "({1, 2, 3}, 1)", "!range" },
        { "aten::dim", "({1, 2},)", "1" },
        { "aten::len", "({1, 2},)", "2" },
        { "aten::numel", "({1, 2},)", "2" },
        { "aten::stride", "({1, 2},)", "[1]" },
        { "prim::dtype", "({1, 2},)", "4" },
        { "prim::dtype", "({0.5},)", "7" },
        { "prim::device", "({1},)", "\"cpu\"" },
        { "prim::layout", "({1},)", "0" },
        { "prim::requires_grad", "({1},)", "False" },
        { "prim::is_cuda", "({1},)", "False" },
        { "aten::is_floating_point", "({0.5},)", "True" },
        { "aten::element_size", "({0.5},)", "8" },
        { "prim::NumToTensor", "(2.5,)", "{2.5}" },
        { "aten::tensor", "(7, 6, None, False)", "{7}" },
        { "aten::tensor", "([1, 2], None, None, False)", "{1, 2}" },
        { "aten::tensor", "([[1., 2.], [3., 4.]], None, None, False)", "{1, 2, 3, 4}" },
        { "aten::tensor", "([[1, 2], [3]], None, None, False)", "!length 2 at dim 1" },
        { "aten::tensor", "(1, 99, None, False)", "!no dtype 99" },
        { "aten::tensor", "([True], None, None, False)", "{1}" },
        { "aten::as_tensor", "([1], None, None)", "{1}" },
        { "prim::tolist", "({1, 2}, 1, 0)", "[1, 2]" },
        { "prim::tolist", "({0.5, 2}, 1, 1)", "[0.5, 2.]" },
        { "prim::tolist", "({1, 2}, 2, 0)", "!dimension must match" },
        { "prim::tolist", "({1, 2}, 1, 1)", "!element type" },
        { "aten::is_contiguous", "({1, 2},)", "True" },
        { "prim::itemsize", "({1, 2},)", "8" },
        { "prim::nbytes", "({1, 2},)", "16" },
        { "prim::is_cpu", "({1},)", "True" },
        { "prim::is_sparse", "({1},)", "False" },
        { "aten::Size", "([1, 2],)", "[1, 2]" },
        { "aten::broadcast_shapes", "([2, 1], [3])", "[2, 3]" },
        { "aten::_infer_size", "([2], [3])", "!" },
    };
    CHECK(calls);
}

/* ---- the tables ---- */

static void test_tables_are_in_order(void **state)
{
    (void)state;
    for (size_t t = 0; t < LZ_BUILTIN_TABLES; t++) {
        const lz_builtin_table *table = lz_builtin_tables[t];
        for (size_t i = 0; i < table->n; i++) {
            const lz_builtin *b = &table->rows[i];
            assert_non_null(b->run);
            assert_true(i == 0 || strcmp(table->rows[i - 1].name, b->name) <= 0);
            assert_non_null(strstr(b->name, "::"));
            for (const char *p = b->args; *p; p = lz_pattern_skip(p))
                assert_non_null(strchr("TifbsNSDgcmoA[]?d(0123*", *p));
            assert_null(strchr(b->rets, '*'));
        }
    }
}

static lz_err *test_schemas_print(void)
{
    static const char *const want[][2] = {
        { "aten::append", "aten::append.t(t[], t) -> t[]" },
        { "aten::items", "aten::items(Dict(k, t)) -> (k, t)[]" },
        { "aten::divmod", "aten::divmod.int(int, int) -> (int, int)" },
        { "aten::format", "aten::format(str, ...) -> str" },
        { "aten::update", "aten::update(Dict(k, t), Dict(k, t)) -> ()" },
    };
    lz_err *e = NULL;
    for (size_t i = 0; !e && i < sizeof want / sizeof *want; i++) {
        const lz_builtin *b;
        lz_text t = { 0 };
        assert_true(lz_builtins_find(lz_str_of(want[i][0]), &b, 1) >= 1);
        lz_builtin_print(b, &t);
        e = lz_text_check(&t);
        if (!e && !lz_str_is(lz_text_view(&t), want[i][1]))
            fail_msg("%.*s", LZ_FMT(lz_text_view(&t)));
        lz_text_deinit(&t);
    }
    return e;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LZ_TEST(test_numbers),       LZ_TEST(test_math),
        LZ_TEST(test_strings),       LZ_TEST(test_lists),
        LZ_TEST(test_dicts),         LZ_TEST(test_tensors),
        LZ_TEST(test_schemas_print), cmocka_unit_test(test_tables_are_in_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
