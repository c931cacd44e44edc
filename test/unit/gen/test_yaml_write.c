#include "check.h"
#include "gen/text/yaml_write.h"

typedef struct row {
    const char *value, *want;
} row;

static lz_err *check(const row *rows, size_t n, void (*put)(lz_text *out, lz_str s))
{
    lz_text t = { 0 };
    lz_err *e = NULL;
    for (size_t i = 0; !e && i < n; i++) {
        lz_text_clear(&t);
        put(&t, lz_str_of(rows[i].value));
        e = lz_text_check(&t);
        if (!e && !lz_str_is(lz_text_view(&t), rows[i].want))
            fail_msg("'%s' is written %.*s, not %s", rows[i].value, LZ_FMT(lz_text_view(&t)), rows[i].want);
    }
    lz_text_deinit(&t);
    return e;
}

/* What PyYAML 6.0.3 writes for the text, with libyaml, as a value of a mapping. */
static lz_err *test_texts(void)
{
    static const row rows[] = {
        { "", "''" },
        { "a", "a" },
        { "add.Tensor(Tensor self) -> Tensor", "add.Tensor(Tensor self) -> Tensor" },
        { "true", "'true'" },
        { "True", "'True'" },
        { "yes", "'yes'" },
        { "off", "'off'" },
        { "y", "y" },
        { "null", "'null'" },
        { "~", "'~'" },
        { "1", "'1'" },
        { "1_000", "'1_000'" },
        { "0x1f", "'0x1f'" },
        { "1.5", "'1.5'" },
        { "1e5", "1e5" },
        { "1e-05", "1e-05" },
        { ".5", "'.5'" },
        { ".inf", "'.inf'" },
        { "2001-01-01", "'2001-01-01'" },
        { "<<", "'<<'" },
        { "=", "'='" },
        { "- a", "'- a'" },
        { "-a", "-a" },
        { "-", "'-'" },
        { "\?", "'\?'" },
        { "\? a", "'\? a'" },
        { "\?a", "\?a" },
        { ":", "':'" },
        { "a: b", "'a: b'" },
        { "a:b", "a:b" },
        { "a:", "'a:'" },
        { "a #b", "'a #b'" },
        { "a#b", "a#b" },
        { "#a", "'#a'" },
        { "[a]", "'[a]'" },
        { "a[1]", "a[1]" },
        { "{a", "'{a'" },
        { "}", "'}'" },
        { "*a", "'*a'" },
        { "&a", "'&a'" },
        { "!a", "'!a'" },
        { "|", "'|'" },
        { "> x", "'> x'" },
        { "%a", "'%a'" },
        { "@a", "'@a'" },
        { "`a", "'`a'" },
        { "'a'", "'''a'''" },
        { "it's", "it's" },
        { "'it''s'", "'''it''''s'''" },
        { "\"a\"", "'\"a\"'" },
        { "---", "'---'" },
        { "--- a", "'--- a'" },
        { "...", "'...'" },
        { "..a", "..a" },
        { " a", "' a'" },
        { "a ", "'a '" },
        { "a  b", "a  b" },
        { "a\011b", "\"a\\tb\"" },
        { "\303\251", "\"\\xE9\"" },
        { "\360\237\230\200", "\"\\U0001F600\"" },
        { "a\177", "\"a\\x7F\"" },
        { "\007", "\"\\a\"" },
        { ",a", "',a'" },
        { "a,b", "a,b" },
        { "\\", "\\" },
        { "const at::Tensor &", "const at::Tensor &" },
        { "::std::optional<int64_t>", "::std::optional<int64_t>" },
        { "\"*/\\\"\?\?/\"", "'\"*/\\\"\?\?/\"'" },
        { "12:30:45", "'12:30:45'" },
        { "0b11", "'0b11'" },
        { "017", "'017'" },
        { "089", "089" },
        { "0o17", "0o17" },
        { "+1", "'+1'" },
        { "-0", "'-0'" },
        { "1.", "'1.'" },
        { "NULL", "'NULL'" },
        { "None", "None" },
        { "on", "'on'" },
        { "n", "n" },
        { "N", "N" },
        { "-1", "'-1'" },
        { "{}", "'{}'" },
        { "at::kLong", "at::kLong" },
    };
    return check(rows, sizeof rows / sizeof *rows, lzg_yaml_put_text);
}

/* What PyYAML writes for int(text), else float(text), else the text. */
static lz_err *test_python_values(void)
{
    static const row rows[] = {
        { "true", "true" },
        { "false", "false" },
        { "0", "0" },
        { "-0", "0" },
        { "1", "1" },
        { "-1", "-1" },
        { "+7", "7" },
        { "007", "7" },
        { "1_000", "1000" },
        { "1__0", "'1__0'" },
        { "_1", "_1" },
        { "1e-05", "1.0e-05" },
        { "1e5", "100000.0" },
        { "1.0", "1.0" },
        { "0.5", "0.5" },
        { ".5", "0.5" },
        { "5.", "5.0" },
        { "inf", ".inf" },
        { "-inf", "-.inf" },
        { "nan", ".nan" },
        { "Infinity", ".inf" },
        { "1e400", ".inf" },
        { "1e-400", "0.0" },
        { "123456789012345678901234567890", "123456789012345678901234567890" },
        { "0x1f", "'0x1f'" },
        { "at::kLong", "at::kLong" },
        { "{}", "'{}'" },
        { "::std::nullopt", "::std::nullopt" },
        { "1L", "1L" },
        { "\"a\"", "'\"a\"'" },
        { " 1", "1" },
        { "", "''" },
        { "12345678901234567.0", "1.2345678901234568e+16" },
        { "1e16", "1.0e+16" },
        { "1e22", "1.0e+22" },
        { "100000000000000000000000.0", "1.0e+23" },
    };
    return check(rows, sizeof rows / sizeof *rows, lzg_yaml_put_python_value);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LZ_TEST(test_texts),
        LZ_TEST(test_python_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
