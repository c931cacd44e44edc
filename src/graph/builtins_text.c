/* Built-ins that make text: joining, padding, formatting, numbers as text; devices; raise, warn and print. */
#include "base/log.h"
#include "base/number.h"
#include "graph/builtins.h"
#include "graph/builtins_util.h"
#include <math.h>

static lz_err *give(lz_text *t, lz_script_value *out)
{
    lz_err *e = lz_text_check(t);
    e = e ? e : lz_script_value_str(lz_text_view(t), out);
    lz_text_deinit(t);
    return e;
}

static lz_err *join(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    const lz_script_value_list *l = in[1].list;
    lz_text t = { 0 };
    (void)nin;
    for (size_t i = 0; i < l->len; i++) {
        if (i)
            lz_text_add(&t, lz_script_value_text(in[0]));
        lz_text_add(&t, lz_script_value_text(l->data[i]));
    }
    return give(&t, out);
}

static lz_err *padded(lz_script_value s, int64_t left, int64_t right, char fill, lz_script_value *out)
{
    lz_text t = { 0 };
    lz_text_fill(&t, fill, left > 0 ? (size_t)left : 0);
    lz_text_add(&t, lz_script_value_text(s));
    lz_text_fill(&t, fill, right > 0 ? (size_t)right : 0);
    return give(&t, out);
}

static lz_err *pad_by(const lz_script_value *in, int64_t *out)
{
    int64_t n = (int64_t)in[0].str->len;
    if (in[2].str->len != 1)
        return lz_errf(LZ_ERR_ARG, "TypeError: The fill character must be exactly one character long");
    *out = in[1].i > n ? in[1].i - n : 0;
    return lz_builtin_room(1, *out);
}

static lz_err *center(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    int64_t by;
    (void)nin;
    LZ_TRY(pad_by(in, &by));
    int64_t left = by / 2 + (by & in[1].i & 1); /* as CPython does for an odd number */
    return padded(in[0], left, by - left, in[2].str->text[0], out);
}

static lz_err *ljust(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    int64_t by;
    (void)nin;
    LZ_TRY(pad_by(in, &by));
    return padded(in[0], 0, by, in[2].str->text[0], out);
}

static lz_err *rjust(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    int64_t by;
    (void)nin;
    LZ_TRY(pad_by(in, &by));
    return padded(in[0], by, 0, in[2].str->text[0], out);
}

static lz_err *zfill(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    lz_str s = lz_script_value_text(in[0]);
    bool sign = s.len && (s.ptr[0] == '-' || s.ptr[0] == '+');
    lz_text t = { 0 };
    (void)nin;
    LZ_TRY(lz_builtin_room(1, in[1].i));
    lz_text_add(&t, lz_str_sub(s, 0, sign));
    lz_text_fill(&t, '0', in[1].i > (int64_t)s.len ? (size_t)in[1].i - s.len : 0);
    lz_text_add(&t, lz_str_sub(s, sign, s.len));
    return give(&t, out);
}

static lz_err *expandtabs(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    lz_str s = lz_script_value_text(in[0]);
    size_t column = 0, width = in[1].i > 0 ? (size_t)in[1].i : 0;
    lz_text t = { 0 };
    (void)nin;
    LZ_TRY(lz_builtin_room(s.len, in[1].i));
    for (size_t i = 0; i < s.len; i++) {
        size_t by = s.ptr[i] != '\t' ? 1 : width ? width - column % width : 0;
        lz_text_fill(&t, s.ptr[i] == '\t' ? ' ' : s.ptr[i], by);
        column = s.ptr[i] == '\n' || s.ptr[i] == '\r' ? 0 : column + by;
    }
    return give(&t, out);
}

static lz_err *show(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    lz_text t = { 0 };
    (void)nin;
    lz_err *e = lz_script_value_show(*in, &t);
    if (!e)
        return give(&t, out);
    lz_text_deinit(&t);
    return e;
}

static lz_err *fill_in(const lz_script_value *in, size_t nin, lz_text *out)
{
    lz_str form = lz_script_value_text(in[0]);
    size_t used = 1;
    for (size_t at = lz_str_find(form, LZ_STR("{}")); at != SIZE_MAX; at = lz_str_find(form, LZ_STR("{}"))) {
        lz_text_add(out, lz_str_sub(form, 0, at));
        form = lz_str_sub(form, at + 2, form.len);
        if (used == nin)
            return lz_errf(LZ_ERR_ARG, "Too few arguments for format string: %.*s",
                           LZ_FMT(lz_script_value_text(in[0])));
        LZ_TRY(lz_script_value_show(in[used++], out));
    }
    lz_text_add(out, form);
    return NULL;
}

static lz_err *format(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    lz_text t = { 0 };
    lz_err *e = fill_in(in, nin, &t);
    if (!e)
        return give(&t, out);
    lz_text_deinit(&t);
    return e;
}

/* ---- %-formatting: TorchScript's, which has neither widths nor precisions ---- */

enum { PLACES = 6 };

/* Prints digits with a point after the first `before`, padded with zeros to PLACES digits after the point. */
static void put_fixed(lz_text *out, const char *digits, size_t n, int before)
{
    for (int i = before > 0 ? 0 : before - 1; i < before + PLACES; i++) {
        if (i == before)
            lz_text_putc(out, '.');
        lz_text_putc(out, i >= 0 && (size_t)i < n ? digits[i] : '0');
    }
}

static void put_float(lz_text *out, double v, char key)
{
    char digits[LZ_DOUBLE_DIGITS];
    int exp10 = 1;
    bool big = key == 'E' || key == 'F', fixed = key == 'f' || key == 'F';
    lz_text_puts(out, signbit(v) ? "-" : "");
    if (!isfinite(v)) {
        lz_text_puts(out, isnan(v) ? (big ? "NAN" : "nan") : big ? "INF" : "inf");
        return;
    }
    v = fabs(v);
    size_t n = v == 0  ? 0
               : fixed ? lz_double_digits_fixed(v, PLACES, digits, &exp10)
                       : lz_double_digits_exact(v, PLACES + 1, digits, &exp10);
    exp10 = n ? exp10 : 1;
    put_fixed(out, digits, n, fixed ? exp10 : 1);
    if (!fixed)
        lz_text_printf(out, "%c%c%02d", key, exp10 < 1 ? '-' : '+', exp10 < 1 ? 1 - exp10 : exp10 - 1);
}

static bool is_number(lz_script_value v)
{
    return v.kind == LZ_SCRIPT_VALUE_INT || v.kind == LZ_SCRIPT_VALUE_FLOAT;
}

static lz_err *put_argument(lz_text *out, char key, lz_script_value v)
{
    double f = v.kind == LZ_SCRIPT_VALUE_FLOAT ? v.f : v.kind == LZ_SCRIPT_VALUE_INT ? (double)v.i : 0;
    bool whole = key == 'd' || key == 'i', real = key && strchr("eEfF", key);
    bool letter =
        key == 'c' && (v.kind == LZ_SCRIPT_VALUE_INT || (v.kind == LZ_SCRIPT_VALUE_STR && v.str->len == 1));
    if (key == 's')
        return lz_script_value_show(v, out);
    if (whole && v.kind == LZ_SCRIPT_VALUE_INT)
        lz_text_int(out, v.i);
    else if (whole && is_number(v) && fabs(f) < 0x1p31)
        lz_text_int(out, (int64_t)f);
    else if (real && is_number(v))
        put_float(out, v.kind == LZ_SCRIPT_VALUE_INT ? (double)(float)v.i : f, key);
    else if (letter)
        lz_text_putc(out, v.kind == LZ_SCRIPT_VALUE_INT ? (char)v.i : v.str->text[0]);
    else
        return lz_errf(LZ_ERR_ARG, "%%%c cannot format this value", key ? key : ' ');
    return NULL;
}

static lz_err *fill_percents(lz_str form, const lz_script_value *args, size_t n, lz_text *out)
{
    size_t used = 0;
    for (size_t i = 0; i < form.len; i++) {
        char key = i + 1 < form.len ? form.ptr[i + 1] : '\0';
        if (form.ptr[i] != '%' || key == '%') {
            lz_text_putc(out, form.ptr[i]);
            i += form.ptr[i] == '%';
            continue;
        }
        if (!key || used == n)
            return lz_errf(LZ_ERR_ARG, "%s",
                           key ? "Too few arguments for format string" : "Incomplete format specifier");
        LZ_TRY(put_argument(out, key, args[used++]));
        i++;
    }
    return used == n ? NULL : lz_errf(LZ_ERR_ARG, "Too many arguments for format string");
}

static lz_err *percent_format(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    bool tuple = nin == 2 && in[1].kind == LZ_SCRIPT_VALUE_TUPLE;
    lz_text t = { 0 };
    lz_err *e = fill_percents(lz_script_value_text(in[0]), tuple ? in[1].list->data : in + 1,
                              tuple ? in[1].list->len : nin - 1, &t);
    if (!e)
        return give(&t, out);
    lz_text_deinit(&t);
    return e;
}

/* ---- numbers as text ---- */

static lz_err *in_base(int64_t v, unsigned bits, const char *prefix, lz_script_value *out)
{
    char digits[64];
    size_t n = 0;
    uint64_t m = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
    lz_text t = { 0 };
    do
        digits[n++] = "0123456789abcdef"[m & ((1u << bits) - 1)];
    while (m >>= bits);
    lz_text_puts(&t, v < 0 ? "-" : "");
    lz_text_puts(&t, prefix);
    while (n)
        lz_text_putc(&t, digits[--n]);
    return give(&t, out);
}

static lz_err *hex(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    (void)nin;
    return in_base(in->i, 4, "0x", out);
}

static lz_err *oct(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    (void)nin;
    return in_base(in->i, 3, "0o", out);
}

static lz_err *bin(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    (void)nin;
    return in_base(in->i, 1, "0b", out);
}

static lz_err *ord(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    (void)nin;
    if (in->str->len != 1)
        return lz_errf(LZ_ERR_ARG, "String for ord() must be 1 character, found %zu", in->str->len);
    *out = lz_script_value_int((unsigned char)in->str->text[0]);
    return NULL;
}

static lz_err *chr(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    char c = (char)in->i; /* a byte, as in TorchScript: strings are bytes */
    (void)nin;
    return lz_script_value_str((lz_str){ &c, 1 }, out);
}

/* ---- devices, messages ---- */

static lz_err *make_device(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    lz_text t = { 0 };
    lz_text_add(&t, lz_script_value_text(in[0]));
    if (nin == 2)
        lz_text_printf(&t, ":%lld", (long long)in[1].i);
    lz_err *e = lz_text_check(&t);
    e = e ? e : lz_script_value_device(lz_text_view(&t), out);
    lz_text_deinit(&t);
    return e;
}

static lz_err *device_index(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    lz_str s = lz_script_value_text(*in);
    size_t colon = lz_str_find_char(s, ':');
    (void)nin;
    *out = lz_script_value_int(0);
    if (colon == SIZE_MAX || !lz_int64_parse(lz_str_sub(s, colon + 1, s.len), &out->i))
        *out = lz_script_value_none();
    return NULL;
}

static lz_err *device_type(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    lz_str s = lz_script_value_text(*in);
    (void)nin;
    return lz_script_value_str(lz_str_sub(s, 0, lz_str_find_char(s, ':')), out);
}

/* "builtins.Exception: text": the class comes second, and may be None. */
static lz_err *raise(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    (void)out;
    if (nin < 2 || in[1].kind == LZ_SCRIPT_VALUE_NONE)
        return lz_errf(LZ_ERR_ARG, "%.*s", LZ_FMT(lz_script_value_text(in[0])));
    return lz_errf(LZ_ERR_ARG, "%.*s: %.*s", LZ_FMT(lz_script_value_text(in[1])),
                   LZ_FMT(lz_script_value_text(in[0])));
}

/* The library never prints: the text goes to the log. */
static lz_err *print(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    lz_text t = { 0 };
    lz_err *e = NULL;
    (void)out;
    for (size_t i = 0; !e && i < nin; i++) {
        lz_text_puts(&t, i ? " " : "");
        e = lz_script_value_show(in[i], &t);
    }
    e = lz_err_first(e, lz_text_check(&t));
    if (!e)
        lz_logf(LZ_LOG_INFO, "%.*s", LZ_FMT(lz_text_view(&t)));
    lz_text_deinit(&t);
    return e;
}

static lz_err *warn(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    (void)nin;
    (void)out;
    lz_logf(LZ_LOG_WARN, "%.*s", LZ_FMT(lz_script_value_text(*in)));
    return NULL;
}

/* ---- the table ---- */

static const lz_builtin rows[] = {
    { "aten::bin", "", "i", "s", bin, 0 },
    { "aten::center", "", "sis", "s", center, 0 },
    { "aten::chr", "", "i", "s", chr, 0 },
    { "aten::device", "", "s", "D", make_device, 0 },
    { "aten::device", "with_index", "si", "D", make_device, 0 },
    { "aten::expandtabs", "", "si", "s", expandtabs, 0 },
    { "aten::format", "", "s*", "s", format, LZ_BUILTIN_READS_DATA },
    { "aten::hex", "", "i", "s", hex, 0 },
    { "aten::join", "", "s[s", "s", join, 0 },
    { "aten::ljust", "", "sis", "s", ljust, 0 },
    { "aten::oct", "", "i", "s", oct, 0 },
    { "aten::ord", "", "s", "i", ord, 0 },
    { "aten::percentFormat", "", "s*", "s", percent_format, LZ_BUILTIN_READS_DATA },
    { "aten::rjust", "", "sis", "s", rjust, 0 },
    { "aten::str", "", "A", "s", show, LZ_BUILTIN_READS_DATA },
    { "aten::warn", "", "si", "", warn, LZ_BUILTIN_EFFECT },
    { "aten::zfill", "", "si", "s", zfill, 0 },
    { "prim::Print", "", "*", "", print, LZ_BUILTIN_EFFECT | LZ_BUILTIN_READS_DATA },
    { "prim::RaiseException", "", "s?s", "", raise, LZ_BUILTIN_EFFECT | LZ_BUILTIN_RAISES },
    { "prim::RaiseException", "message", "s", "", raise, LZ_BUILTIN_EFFECT | LZ_BUILTIN_RAISES },
    { "prim::index", "Device", "D", "?i", device_index, 0 },
    { "prim::type", "Device", "D", "s", device_type, 0 },
};

const lz_builtin_table lz_builtins_text = LZ_BUILTIN_TABLE(rows);
