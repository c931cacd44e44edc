#include "gen/text/yaml_write.h"
#include "base/number.h"
#include "base/utf8.h"
#include "gen/text/yaml_scalar.h"
#include <math.h>

/* ---- what a text allows ---- */

typedef struct analysis {
    bool plain, single;
} analysis;

static bool is_blank_or_end(lz_str s, size_t i)
{
    return i >= s.len || s.ptr[i] == ' ' || s.ptr[i] == '\t' || s.ptr[i] == '\n' || s.ptr[i] == '\r'
           || s.ptr[i] == '\0';
}

/* Whether the character at i means something to YAML outside of brackets. */
static bool is_indicator(lz_str s, size_t i)
{
    char c = s.ptr[i];
    bool before = i == 0 || is_blank_or_end(s, i - 1), after = is_blank_or_end(s, i + 1);
    if (i == 0 && c && strchr("#,[]{}&*!|>'\"%@`", c))
        return true;
    if (i == 0 && (c == '?' || c == '-') && after)
        return true;
    return (c == ':' && after) || (c == '#' && before);
}

static analysis analyze(lz_str s)
{
    analysis a = { .plain = true, .single = true };
    if (lz_str_starts(s, LZ_STR("---")) || lz_str_starts(s, LZ_STR("...")))
        a.plain = false;
    for (size_t i = 0; i < s.len; i++) {
        if (s.ptr[i] < ' ' || s.ptr[i] > '~')
            return (analysis){ 0 };
        if (is_indicator(s, i))
            a.plain = false;
    }
    if (s.len && (s.ptr[0] == ' ' || s.ptr[s.len - 1] == ' '))
        a.plain = false;
    return a;
}

/* Whether the plain text is read as a text, not as a number or so. */
static bool reads_as_text(lz_str s)
{
    lzg_yaml node = { .text = s };
    lz_err *e = lzg_yaml_resolve_plain(&node);
    bool text = !e && node.kind == LZG_YAML_STR;
    lz_err_free(e);
    return text;
}

/* ---- writing ---- */

static void put_single(lz_text *out, lz_str s)
{
    lz_text_putc(out, '\'');
    for (size_t i = 0; i < s.len; i++) {
        lz_text_puts(out, s.ptr[i] == '\'' ? "'" : "");
        lz_text_putc(out, s.ptr[i]);
    }
    lz_text_putc(out, '\'');
}

static const struct {
    uint32_t c;
    char escape;
} escapes[] = {
    { 0, '0' },     { '\a', 'a' }, { '\b', 'b' }, { '\t', 't' },   { '\n', 'n' },
    { '\v', 'v' },  { '\f', 'f' }, { '\r', 'r' }, { 0x1b, 'e' },   { '"', '"' },
    { '\\', '\\' }, { 0x85, 'N' }, { 0xa0, '_' }, { 0x2028, 'L' }, { 0x2029, 'P' },
};

static void put_escaped(lz_text *out, uint32_t c)
{
    for (size_t i = 0; i < sizeof escapes / sizeof *escapes; i++)
        if (escapes[i].c == c) {
            lz_text_putc(out, '\\');
            lz_text_putc(out, escapes[i].escape);
            return;
        }
    if (c >= ' ' && c <= '~')
        lz_text_putc(out, (char)c);
    else if (c <= 0xff)
        lz_text_printf(out, "\\x%02X", (unsigned)c);
    else
        lz_text_printf(out, c <= 0xffff ? "\\u%04X" : "\\U%08X", (unsigned)c);
}

static void put_double(lz_text *out, lz_str s)
{
    lz_text_putc(out, '"');
    for (size_t i = 0; i < s.len;) {
        uint32_t c;
        size_t n = lz_utf8_decode(lz_str_sub(s, i, s.len), &c);
        put_escaped(out, n ? c : (unsigned char)s.ptr[i]);
        i += n ? n : 1;
    }
    lz_text_putc(out, '"');
}

void lzg_yaml_put_text(lz_text *out, lz_str s)
{
    s.ptr = s.ptr ? s.ptr : ""; /* an absent text is empty */
    analysis a = analyze(s);
    if (a.plain && reads_as_text(s))
        lz_text_add(out, s);
    else if (a.single)
        put_single(out, s);
    else
        put_double(out, s);
}

void lzg_yaml_put_bool(lz_text *out, bool v)
{
    lz_text_puts(out, v ? "true" : "false");
}

/* ---- Python's numbers ---- */

/* Digits with single underscores between them, with a sign: printed as Python prints the number. */
static bool put_int(lz_text *out, lz_str s)
{
    size_t i = s.len && (s.ptr[0] == '-' || s.ptr[0] == '+');
    lz_text digits = { 0 };
    bool ok = i < s.len;
    for (size_t k = i; ok && k < s.len; k++) {
        bool digit = s.ptr[k] >= '0' && s.ptr[k] <= '9';
        ok = digit || (s.ptr[k] == '_' && k > i && k + 1 < s.len && s.ptr[k - 1] != '_');
        if (digit && (digits.len || s.ptr[k] != '0'))
            lz_text_putc(&digits, s.ptr[k]);
    }
    if (ok) {
        lz_text_puts(out, s.ptr[0] == '-' && digits.len ? "-" : "");
        lz_text_add(out, lz_text_view(&digits));
        lz_text_puts(out, digits.len ? "" : "0");
    }
    out->failed = out->failed || digits.failed;
    lz_text_deinit(&digits);
    return ok;
}

/* "1e-05" is written 1.0e-05, because YAML wants a point. */
static void put_repr(lz_text *out, double v)
{
    lz_text t = { 0 };
    lz_text_double(&t, v);
    lz_str s = lz_text_view(&t);
    size_t e = lz_str_find_char(s, 'e');
    bool bare = e != SIZE_MAX && lz_str_find_char(s, '.') == SIZE_MAX;
    lz_text_add(out, lz_str_sub(s, 0, bare ? e : s.len));
    lz_text_puts(out, bare ? ".0" : "");
    lz_text_add(out, lz_str_sub(s, bare ? e : s.len, s.len));
    out->failed = out->failed || t.failed;
    lz_text_deinit(&t);
}

static bool put_float(lz_text *out, lz_str s)
{
    double v;
    if (!lz_double_parse(s, &v))
        return false;
    if (isnan(v))
        lz_text_puts(out, ".nan");
    else if (isinf(v))
        lz_text_puts(out, v < 0 ? "-.inf" : ".inf");
    else
        put_repr(out, v);
    return true;
}

void lzg_yaml_put_python_value(lz_text *out, lz_str s)
{
    if (lz_str_is(s, "true") || lz_str_is(s, "false"))
        lz_text_add(out, s);
    else if (!put_int(out, lz_str_trim(s)) && !put_float(out, lz_str_trim(s)))
        lzg_yaml_put_text(out, s);
}
