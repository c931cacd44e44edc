#include "gen/text/yaml_scalar.h"
#include "base/number.h"
#include "base/text.h"
#include <math.h>

#define DIGITS "0123456789"

static bool in_set(char c, const char *set)
{
    return c && strchr(set, c);
}

/* The end of the run of characters of `set` that starts at i. */
static size_t run(lz_str s, size_t i, const char *set)
{
    while (i < s.len && in_set(s.ptr[i], set))
        i++;
    return i;
}

static char at(lz_str s, size_t i)
{
    return i < s.len ? s.ptr[i] : '\0';
}

static bool one_of(lz_str s, const char *const *words)
{
    while (*words && !lz_str_is(s, *words))
        words++;
    return *words;
}

static bool is_null(lz_str s)
{
    static const char *const words[] = { "~", "null", "Null", "NULL", "", NULL };
    return one_of(s, words);
}

static const char *const truths[] = { "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON", NULL };
static const char *const lies[] = { "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF", NULL };

static bool is_bool(lz_str s)
{
    return one_of(s, truths) || one_of(s, lies);
}

static size_t past_sign(lz_str s)
{
    return in_set(at(s, 0), "+-") ? 1 : 0;
}

/* The end of (:[0-5]?[0-9])+ from i, or 0. */
static size_t past_sixties(lz_str s, size_t i)
{
    size_t end = 0;
    while (at(s, i) == ':') {
        size_t stop = run(s, i + 1, DIGITS), n = stop - i - 1;
        if (n < 1 || n > 2 || (n == 2 && s.ptr[i + 1] > '5'))
            return 0;
        end = i = stop;
    }
    return end;
}

/* The bases have a prefix and an alphabet each; decimal and base sixty follow. */
static bool is_int(lz_str s)
{
    static const struct {
        const char *prefix, *alphabet;
    } bases[] = { { "0b", "01_" }, { "0x", "0123456789abcdefABCDEF_" }, { "0", "01234567_" } };
    s = lz_str_sub(s, past_sign(s), s.len);
    for (size_t k = 0; k < sizeof bases / sizeof *bases; k++) {
        size_t n = strlen(bases[k].prefix);
        if (lz_str_starts(s, lz_str_of(bases[k].prefix)) && s.len > n
            && run(s, n, bases[k].alphabet) == s.len)
            return true;
    }
    if (lz_str_is(s, "0"))
        return true;
    size_t end = in_set(at(s, 0), "123456789") ? run(s, 0, DIGITS "_") : 0;
    return end && (end == s.len || past_sixties(s, end) == s.len);
}

static bool is_exponent(lz_str s, size_t i)
{
    if (i == s.len)
        return true;
    return in_set(at(s, i), "eE") && in_set(at(s, i + 1), "+-") && i + 2 < s.len
           && run(s, i + 2, DIGITS) == s.len;
}

static bool is_float(lz_str s)
{
    static const char *const infinities[] = { ".inf", ".Inf", ".INF", NULL };
    static const char *const nans[] = { ".nan", ".NaN", ".NAN", NULL };
    size_t i = past_sign(s);
    if (one_of(lz_str_sub(s, i, s.len), infinities) || one_of(s, nans))
        return true;
    if (at(s, 0) == '.')
        return in_set(at(s, 1), DIGITS) && is_exponent(s, run(s, 1, DIGITS "_"));
    size_t whole = in_set(at(s, i), DIGITS) ? run(s, i, DIGITS "_") : 0;
    size_t sixties = past_sixties(s, whole), point = sixties ? sixties : whole;
    if (!whole || at(s, point) != '.')
        return false;
    size_t end = run(s, point + 1, DIGITS "_");
    return sixties ? end == s.len : is_exponent(s, end);
}

/* From `least` to `most` digits at *i, as a number; -1 if there are fewer. */
static int take_digits(lz_str s, size_t *i, size_t least, size_t most)
{
    size_t end = run(s, *i, DIGITS), n = end - *i;
    int value = 0;
    if (n < least)
        return -1;
    for (n = n > most ? most : n; n > 0; n--)
        value = value * 10 + (s.ptr[(*i)++] - '0');
    return value;
}

static bool take(lz_str s, size_t *i, char c)
{
    bool is = at(s, *i) == c;
    *i += is;
    return is;
}

typedef struct moment {
    int year, month, day, hour, minute, second, zone_hour, zone_minute;
    bool short_date; /* a month or day of one digit: a date alone needs two */
} moment;

static bool take_date(lz_str s, size_t *i, moment *m)
{
    m->year = take_digits(s, i, 4, 4);
    if (m->year < 0 || !take(s, i, '-'))
        return false;
    m->month = take_digits(s, i, 1, 2);
    if (m->month < 0 || !take(s, i, '-'))
        return false;
    m->day = take_digits(s, i, 1, 2);
    m->short_date = *i < 10;
    return m->day >= 0;
}

static bool take_clock(lz_str s, size_t *i, moment *m)
{
    size_t from = *i;
    if (!take(s, i, 'T') && !take(s, i, 't'))
        *i = run(s, *i, " \t");
    m->hour = *i > from ? take_digits(s, i, 1, 2) : -1;
    if (m->hour < 0 || !take(s, i, ':'))
        return false;
    m->minute = take_digits(s, i, 2, 2);
    if (m->minute < 0 || !take(s, i, ':'))
        return false;
    m->second = take_digits(s, i, 2, 2);
    if (m->second >= 0 && take(s, i, '.'))
        *i = run(s, *i, DIGITS);
    return m->second >= 0;
}

static bool take_zone(lz_str s, size_t *i, moment *m)
{
    if (*i == s.len)
        return true;
    *i = run(s, *i, " \t");
    if (take(s, i, 'Z'))
        return true;
    if (!take(s, i, '+') && !take(s, i, '-'))
        return false;
    m->zone_hour = take_digits(s, i, 1, 2);
    if (m->zone_hour >= 0 && take(s, i, ':'))
        m->zone_minute = take_digits(s, i, 2, 2);
    return m->zone_hour >= 0 && m->zone_minute >= 0;
}

/* `any_date`: a tag lets a date alone have a month or day of one digit. */
static bool read_timestamp(lz_str s, bool any_date, moment *m)
{
    size_t i = 0;
    *m = (moment){ 0 };
    if (!take_date(s, &i, m))
        return false;
    if (i == s.len)
        return any_date || !m->short_date;
    return take_clock(s, &i, m) && take_zone(s, &i, m) && i == s.len;
}

static bool is_timestamp(lz_str s)
{
    moment m;
    return read_timestamp(s, false, &m);
}

static bool possible(const moment *m)
{
    static const int days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
    if (m->year < 1 || m->month < 1 || m->month > 12 || m->day < 1)
        return false;
    bool leap = m->year % 4 == 0 && (m->year % 100 != 0 || m->year % 400 == 0);
    int last = days[m->month - 1] + (leap && m->month == 2);
    return m->day <= last && m->hour < 24 && m->minute < 60 && m->second < 60
           && m->zone_hour * 60 + m->zone_minute < 24 * 60;
}

static lz_err *refuse(const lzg_yaml *node, const char *what)
{
    return lz_err_at(LZ_ERR_SYNTAX, node->loc, "'%.*s' is not %s", LZ_FMT(node->text), what);
}

/* ---- values ---- */

static lz_err *fill_null(lzg_yaml *node)
{
    (void)node;
    return NULL;
}

static lz_err *fill_bool(lzg_yaml *node)
{
    static const char *const words[] = { "no", "yes", "false", "true", "off", "on" };
    char low[8] = "";
    for (size_t i = 0; node->text.len < sizeof low && i < node->text.len; i++)
        low[i] = (char)(node->text.ptr[i] >= 'A' && node->text.ptr[i] <= 'Z' ? node->text.ptr[i] | 0x20
                                                                             : node->text.ptr[i]);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        node->truth = i & 1;
        if (strcmp(low, words[i]) == 0)
            return NULL;
    }
    return refuse(node, "a boolean");
}

static int digit_of(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : 99;
}

/* Digits of a base, nothing else, onto *value; false if there are none or others. */
static bool add_digits(lz_str s, int base, double *value, int64_t *whole)
{
    for (size_t i = 0; i < s.len; i++) {
        int d = digit_of(s.ptr[i]);
        if (d >= base)
            return false;
        *value = *value * base + d;
        if (__builtin_mul_overflow(*whole, base, whole) || __builtin_add_overflow(*whole, d, whole))
            *whole = INT64_MAX;
    }
    return s.len > 0;
}

static bool add_sixties(lz_str s, double *value, int64_t *whole)
{
    for (bool more = true; more;) {
        double part = 0;
        int64_t n = 0;
        if (!add_digits(lz_str_cut(&s, LZ_STR(":"), &more), 10, &part, &n))
            return false;
        *value = *value * 60 + part;
        if (__builtin_mul_overflow(*whole, 60, whole) || __builtin_add_overflow(*whole, n, whole))
            *whole = INT64_MAX;
    }
    return true;
}

static bool read_int(lz_str s, double *value, int64_t *whole)
{
    static const struct {
        const char *prefix;
        int base;
    } bases[] = { { "0b", 2 }, { "0x", 16 }, { "0", 8 } };
    for (size_t k = 0; k < sizeof bases / sizeof *bases; k++)
        if (lz_str_starts(s, lz_str_of(bases[k].prefix)) && !lz_str_is(s, "0"))
            return add_digits(lz_str_sub(s, strlen(bases[k].prefix), s.len), bases[k].base, value, whole);
    return add_sixties(s, value, whole);
}

/* The scalar without underscores, outer blanks and sign, in small letters. */
static lz_err *plain_number(lz_text *t, const lzg_yaml *node, bool *negative)
{
    lz_str s = lz_str_trim(node->text);
    for (size_t i = 0; i < s.len; i++)
        if (s.ptr[i] != '_')
            lz_text_putc(t, (char)(s.ptr[i] >= 'A' && s.ptr[i] <= 'Z' ? s.ptr[i] | 0x20 : s.ptr[i]));
    LZ_TRY(lz_text_check(t));
    *negative = t->len && t->ptr[0] == '-';
    return NULL;
}

static lz_err *fill_int(lzg_yaml *node)
{
    lz_text t = { 0 };
    bool negative = false;
    lz_err *e = plain_number(&t, node, &negative);
    lz_str s = lz_text_view(&t);
    if (!e && !read_int(lz_str_sub(s, past_sign(s), s.len), &node->real, &node->integer))
        e = refuse(node, "an integer");
    if (negative) {
        node->real = -node->real;
        node->integer = node->integer == INT64_MAX ? INT64_MIN : -node->integer;
    }
    lz_text_deinit(&t);
    return e;
}

static bool read_float(lz_str s, double *value)
{
    bool more = true;
    if (lz_str_is(s, ".inf") || lz_str_is(s, ".nan"))
        s = lz_str_sub(s, 1, s.len);
    *value = 0;
    while (more) {
        double part;
        lz_str text = lz_str_cut(&s, LZ_STR(":"), &more);
        if (past_sign(text) || !lz_double_parse(text, &part))
            return false;
        *value = *value * 60 + part;
    }
    return true;
}

static lz_err *fill_float(lzg_yaml *node)
{
    lz_text t = { 0 };
    bool negative = false;
    lz_err *e = plain_number(&t, node, &negative);
    lz_str s = lz_text_view(&t);
    if (!e && !read_float(lz_str_sub(s, past_sign(s), s.len), &node->real))
        e = refuse(node, "a number");
    node->real = negative ? -node->real : node->real;
    lz_text_deinit(&t);
    return e;
}

static lz_err *fill_timestamp(lzg_yaml *node)
{
    moment m;
    if (!read_timestamp(node->text, true, &m) || !possible(&m))
        return refuse(node, "a possible date or time");
    return NULL;
}

static const struct {
    lzg_yaml_kind kind;
    const char *tag;
    bool (*spelled)(lz_str s); /* NULL: never implied */
    lz_err *(*fill)(lzg_yaml *node);
} meanings[] = {
    { LZG_YAML_BOOL, "tag:yaml.org,2002:bool", is_bool, fill_bool },
    { LZG_YAML_FLOAT, "tag:yaml.org,2002:float", is_float, fill_float },
    { LZG_YAML_INT, "tag:yaml.org,2002:int", is_int, fill_int },
    { LZG_YAML_NULL, "tag:yaml.org,2002:null", is_null, fill_null },
    { LZG_YAML_TIMESTAMP, "tag:yaml.org,2002:timestamp", is_timestamp, fill_timestamp },
    { LZG_YAML_STR, "tag:yaml.org,2002:str", NULL, fill_null },
    { LZG_YAML_STR, "!", NULL, fill_null },
};
enum { MEANINGS = sizeof meanings / sizeof *meanings };

lz_err *lzg_yaml_resolve_plain(lzg_yaml *node)
{
    lz_str s = node->text;
    node->kind = LZG_YAML_STR;
    if (lz_str_is(s, "<<") || lz_str_is(s, "="))
        return lz_err_at(LZ_ERR_UNSUPPORTED, node->loc, "'%.*s' has no meaning here; a string needs quotes",
                         LZ_FMT(s));
    if (s.len && !in_set(s.ptr[0], "~+-." DIGITS "yYnNtTfFoO"))
        return NULL;
    for (size_t i = 0; i < MEANINGS; i++)
        if (meanings[i].spelled && meanings[i].spelled(s)) {
            node->kind = meanings[i].kind;
            return meanings[i].fill(node);
        }
    return NULL;
}

lz_err *lzg_yaml_resolve_tagged(lzg_yaml *node, const char *tag)
{
    for (size_t i = 0; i < MEANINGS; i++)
        if (strcmp(meanings[i].tag, tag) == 0) {
            node->kind = meanings[i].kind;
            return meanings[i].fill(node);
        }
    return lz_err_at(LZ_ERR_UNSUPPORTED, node->loc, "a scalar cannot have the tag '%s'", tag);
}

/* A number as Python compares it: exactly, whatever its kind. */
typedef struct number {
    double real;
    int64_t integer;
} number;

static bool as_number(const lzg_yaml *n, number *out)
{
    static const double two_63 = 9223372036854775808.0;
    *out = (number){ n->real, n->integer };
    if (n->kind == LZG_YAML_BOOL)
        *out = (number){ n->truth, n->truth };
    else if (n->kind == LZG_YAML_FLOAT && fabs(n->real) < two_63)
        out->integer = (int64_t)n->real;
    else if (n->kind == LZG_YAML_FLOAT)
        out->integer = n->real < 0 ? INT64_MIN : INT64_MAX;
    return n->kind == LZG_YAML_BOOL || n->kind == LZG_YAML_FLOAT || n->kind == LZG_YAML_INT;
}

static int three_way(bool less, bool more)
{
    return more - less;
}

int lzg_yaml_key_cmp(const lzg_yaml *a, const lzg_yaml *b)
{
    number x, y;
    bool numeric = as_number(a, &x), other = as_number(b, &y);
    if (numeric != other)
        return numeric ? -1 : 1;
    if (!numeric && a->kind != b->kind)
        return three_way(a->kind<b->kind, a->kind> b->kind);
    if (!numeric)
        return a->kind == LZG_YAML_NULL ? 0 : lz_str_cmp(a->text, b->text);
    if (isnan(x.real) || isnan(y.real)) /* there is but one .nan, and it comes last */
        return three_way(isnan(y.real) && !isnan(x.real), isnan(x.real) && !isnan(y.real));
    int by_real = three_way(x.real<y.real, x.real> y.real);
    return by_real ? by_real : three_way(x.integer<y.integer, x.integer> y.integer);
}
