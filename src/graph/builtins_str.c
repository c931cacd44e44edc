/* Built-ins on strings. Strings are bytes, as in TorchScript; letters are ASCII only. */
#include "graph/builtins.h"
#include "graph/builtins_util.h"

/* ---- characters ---- */

static bool is_upper(char c)
{
    return c >= 'A' && c <= 'Z';
}

static bool is_lower(char c)
{
    return c >= 'a' && c <= 'z';
}

static bool is_alpha(char c)
{
    return is_upper(c) || is_lower(c);
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_alnum(char c)
{
    return is_alpha(c) || is_digit(c);
}

static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool is_print(char c)
{
    return c >= ' ' && c <= '~';
}

static char upper(char c)
{
    return is_lower(c) ? (char)(c - 'a' + 'A') : c;
}

static char lower(char c)
{
    return is_upper(c) ? (char)(c - 'A' + 'a') : c;
}

static char swap(char c)
{
    return is_upper(c) ? lower(c) : upper(c);
}

/* ---- whole strings ---- */

static lz_err *give(lz_text *t, lz_script_value *out)
{
    lz_err *e = lz_text_check(t);
    e = e ? e : lz_script_value_str(lz_text_view(t), out);
    lz_text_deinit(t);
    return e;
}

static lz_err *join_two(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    lz_text t = { 0 };
    (void)nin;
    lz_text_add(&t, lz_script_value_text(in[0]));
    lz_text_add(&t, lz_script_value_text(in[1]));
    return give(&t, out);
}

static lz_err *length(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    (void)nin;
    *out = lz_script_value_int((int64_t)in->str->len);
    return NULL;
}

#define COMPARE(name, op)                                                                                    \
    static lz_err *name(const lz_script_value *in, size_t nin, lz_script_value *out)                         \
    {                                                                                                        \
        (void)nin;                                                                                           \
        *out =                                                                                               \
            lz_script_value_bool(lz_str_cmp(lz_script_value_text(in[0]), lz_script_value_text(in[1])) op 0); \
        return NULL;                                                                                         \
    }

COMPARE(s_eq, ==)
COMPARE(s_ne, !=)
COMPARE(s_lt, <)
COMPARE(s_le, <=)
COMPARE(s_gt, >)
COMPARE(s_ge, >=)

static lz_err *get_item(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    size_t at;
    (void)nin;
    if (!lz_index_wrap(in[1].i, in[0].str->len, &at))
        return lz_err_because(LZ_REASON_INDEX, "IndexError: string index out of range");
    return lz_script_value_str((lz_str){ in[0].str->text + at, 1 }, out);
}

static lz_err *slice(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    size_t first, count;
    lz_text t = { 0 };
    (void)nin;
    if (in[3].i <= 0)
        return lz_errf(LZ_ERR_ARG, "ValueError: slice step must be positive");
    lz_slice(in + 1, in[3].i, in[0].str->len, &first, &count);
    for (size_t i = 0; i < count; i++)
        lz_text_putc(&t, in[0].str->text[first + i * (size_t)in[3].i]);
    return give(&t, out);
}

static lz_err *repeat(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    lz_text t = { 0 };
    (void)nin;
    LZ_TRY(lz_builtin_room(in[0].str->len, in[1].i));
    for (int64_t i = 0; i < in[1].i && in[0].str->len; i++)
        lz_text_add(&t, lz_script_value_text(in[0]));
    return give(&t, out);
}

static lz_err *repeat_right(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    const lz_script_value swapped[] = { in[1], in[0] };
    return repeat(swapped, nin, out);
}

static lz_err *each(lz_str s, char fn(char), lz_script_value *out)
{
    lz_text t = { 0 };
    for (size_t i = 0; i < s.len; i++)
        lz_text_putc(&t, fn(s.ptr[i]));
    return give(&t, out);
}

#define EACH(name, fn)                                                                                       \
    static lz_err *name(const lz_script_value *in, size_t nin, lz_script_value *out)                         \
    {                                                                                                        \
        (void)nin;                                                                                           \
        return each(lz_script_value_text(*in), fn, out);                                                     \
    }

EACH(s_upper, upper)
EACH(s_lower, lower)
EACH(s_swapcase, swap)

static lz_err *capitalize(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    LZ_TRY(s_lower(in, nin, out));
    out->str->text[0] = upper(out->str->text[0]);
    return NULL;
}

static lz_err *title(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    bool inside = false;
    LZ_TRY(s_lower(in, nin, out));
    for (size_t i = 0; i < out->str->len; i++) {
        char *c = &out->str->text[i];
        *c = inside ? *c : upper(*c);
        inside = is_alpha(*c);
    }
    return NULL;
}

/* Letters after a letter are lower case, all others upper case, and there is at least one letter. */
static lz_err *istitle(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    lz_str s = lz_script_value_text(*in);
    bool inside = false, any = false, ok = true;
    (void)nin;
    for (size_t i = 0; ok && i < s.len; i++) {
        bool letter = is_alpha(s.ptr[i]), capital = letter && upper(s.ptr[i]) == s.ptr[i];
        ok = !letter || capital != inside;
        inside = letter;
        any = any || letter;
    }
    *out = lz_script_value_bool(ok && any);
    return NULL;
}

static bool all_are(lz_str s, bool fn(char))
{
    bool ok = s.len > 0;
    for (size_t i = 0; ok && i < s.len; i++)
        ok = fn(s.ptr[i]);
    return ok;
}

#define ALL_ARE(name, fn)                                                                                    \
    static lz_err *name(const lz_script_value *in, size_t nin, lz_script_value *out)                         \
    {                                                                                                        \
        (void)nin;                                                                                           \
        *out = lz_script_value_bool(all_are(lz_script_value_text(*in), fn));                                 \
        return NULL;                                                                                         \
    }

ALL_ARE(s_isalpha, is_alpha)
ALL_ARE(s_isdigit, is_digit)
ALL_ARE(s_isalnum, is_alnum)
ALL_ARE(s_isspace, is_space)

static lz_err *isprintable(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    lz_str s = lz_script_value_text(*in);
    (void)nin;
    *out = lz_script_value_bool(s.len == 0 || all_are(s, is_print));
    return NULL;
}

/* At least one letter of the wanted case, and none of the other case. */
static lz_err *one_case(lz_str s, bool wanted(char), bool other(char), lz_script_value *out)
{
    bool some = false, none = true;
    for (size_t i = 0; i < s.len; i++) {
        some = some || wanted(s.ptr[i]);
        none = none && !other(s.ptr[i]);
    }
    *out = lz_script_value_bool(some && none);
    return NULL;
}

static lz_err *s_isupper(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    (void)nin;
    return one_case(lz_script_value_text(*in), is_upper, is_lower, out);
}

static lz_err *s_islower(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    (void)nin;
    return one_case(lz_script_value_text(*in), is_lower, is_upper, out);
}

static lz_err *isidentifier(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    lz_str s = lz_script_value_text(*in);
    bool ok = s.len > 0 && !is_digit(s.ptr[0]);
    (void)nin;
    for (size_t i = 0; ok && i < s.len; i++)
        ok = is_alnum(s.ptr[i]) || s.ptr[i] == '_';
    *out = lz_script_value_bool(ok);
    return NULL;
}

/* ---- finding ---- */

/* The part between two positions, which are given as in a slice. */
static lz_str part(const lz_script_value *in)
{
    size_t len = in[0].str->len, from = lz_index_clamp(in[2].i, len);
    /* an end of -1 is TorchScript's default and means the whole string */
    size_t to = in[3].i == -1 ? len : lz_index_clamp(in[3].i, len);
    return lz_str_sub(lz_script_value_text(in[0]), from, to);
}

static lz_err *found(const lz_script_value *in, size_t at, lz_script_value *out)
{
    size_t from = lz_index_clamp(in[2].i, in[0].str->len);
    *out = lz_script_value_int(at == SIZE_MAX ? -1 : (int64_t)(from + at));
    return NULL;
}

static lz_err *find(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    (void)nin;
    return found(in, lz_str_find(part(in), lz_script_value_text(in[1])), out);
}

static lz_err *rfind(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    (void)nin;
    return found(in, lz_str_rfind(part(in), lz_script_value_text(in[1])), out);
}

static lz_err *must_be_there(lz_script_value at)
{
    return at.i < 0 ? lz_errf(LZ_ERR_ARG, "ValueError: substring not found") : NULL;
}

static lz_err *index_of(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    LZ_TRY(find(in, nin, out));
    return must_be_there(*out);
}

static lz_err *rindex_of(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    LZ_TRY(rfind(in, nin, out));
    return must_be_there(*out);
}

static lz_err *count(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    lz_str s = part(in), needle = lz_script_value_text(in[1]);
    int64_t n = needle.len ? 0 : (int64_t)s.len + 1;
    (void)nin;
    for (size_t at = needle.len ? lz_str_find(s, needle) : SIZE_MAX; at != SIZE_MAX;
         at = lz_str_find(s, needle)) {
        s = lz_str_sub(s, at + needle.len, s.len);
        n++;
    }
    *out = lz_script_value_int(n);
    return NULL;
}

static lz_err *contains(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    (void)nin;
    *out = lz_script_value_bool(lz_str_find(lz_script_value_text(in[0]), lz_script_value_text(in[1]))
                                != SIZE_MAX);
    return NULL;
}

static lz_err *startswith(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    (void)nin;
    *out = lz_script_value_bool(
        lz_str_starts(nin == 4 ? part(in) : lz_script_value_text(in[0]), lz_script_value_text(in[1])));
    return NULL;
}

static lz_err *endswith(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    (void)nin;
    *out = lz_script_value_bool(
        lz_str_ends(nin == 4 ? part(in) : lz_script_value_text(in[0]), lz_script_value_text(in[1])));
    return NULL;
}

static lz_err *replace(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    lz_str s = lz_script_value_text(in[0]), old = lz_script_value_text(in[1]),
           now = lz_script_value_text(in[2]);
    int64_t left = in[3].i < 0 ? INT64_MAX : in[3].i;
    lz_text t = { 0 };
    (void)nin;
    while (left-- > 0) {
        size_t at = lz_str_find(s, old);
        if (at == SIZE_MAX || (!old.len && !s.len))
            break;
        lz_text_add(&t, lz_str_sub(s, 0, at));
        lz_text_add(&t, now);
        if (!old.len)
            lz_text_putc(&t, s.ptr[0]);
        s = lz_str_sub(s, at + (old.len ? old.len : 1), s.len);
    }
    if (!old.len && !s.len && left >= 0)
        lz_text_add(&t, now);
    lz_text_add(&t, s);
    return give(&t, out);
}

/* ---- cutting ---- */

static bool among(lz_str chars, char c)
{
    return lz_str_find_char(chars, c) != SIZE_MAX;
}

static lz_err *strip_ends(const lz_script_value *in, bool left, bool right, lz_script_value *out)
{
    lz_str s = lz_script_value_text(in[0]), chars = lz_script_value_text(in[1]);
    while (left && s.len && among(chars, s.ptr[0]))
        s = lz_str_sub(s, 1, s.len);
    while (right && s.len && among(chars, s.ptr[s.len - 1]))
        s.len--;
    return lz_script_value_str(s, out);
}

static lz_err *strip(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    (void)nin;
    return strip_ends(in, true, true, out);
}

static lz_err *lstrip(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    (void)nin;
    return strip_ends(in, true, false, out);
}

static lz_err *rstrip(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    (void)nin;
    return strip_ends(in, false, true, out);
}

static lz_err *push_str(lz_script_value list, lz_str s)
{
    lz_script_value v;
    LZ_TRY(lz_script_value_str(s, &v));
    return lz_script_value_push(list, v);
}

static lz_err *split_spaces(lz_str s, int64_t most, lz_script_value list)
{
    lz_err *e = NULL;
    for (s = lz_str_trim(s); !e && s.len; most--) {
        size_t end = 0, next;
        while (end < s.len && (most == 0 || !is_space(s.ptr[end])))
            end++;
        for (next = end; next < s.len && is_space(s.ptr[next]);)
            next++;
        e = push_str(list, lz_str_sub(s, 0, end));
        s = lz_str_sub(s, next, s.len);
    }
    return e;
}

static lz_err *split_at(lz_str s, lz_str separator, int64_t most, lz_script_value list)
{
    lz_err *e = NULL;
    for (size_t at = 0; !e && at != SIZE_MAX; most--) {
        at = most == 0 ? SIZE_MAX : lz_str_find(s, separator);
        e = push_str(list, lz_str_sub(s, 0, at));
        if (at != SIZE_MAX)
            s = lz_str_sub(s, at + separator.len, s.len);
    }
    return e;
}

static lz_err *split(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    lz_str s = lz_script_value_text(in[0]);
    (void)nin;
    if (in[1].kind == LZ_SCRIPT_VALUE_STR && in[1].str->len == 0)
        return lz_errf(LZ_ERR_ARG, "ValueError: empty separator");
    LZ_TRY(lz_script_value_list_make(0, out));
    lz_err *e = in[1].kind == LZ_SCRIPT_VALUE_NONE ? split_spaces(s, in[2].i, *out)
                                                   : split_at(s, lz_script_value_text(in[1]), in[2].i, *out);
    if (e)
        lz_script_value_release(*out);
    return e;
}

static lz_err *splitlines(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    lz_str s = lz_script_value_text(in[0]);
    lz_err *e = NULL;
    (void)nin;
    LZ_TRY(lz_script_value_list_make(0, out));
    while (!e && s.len) {
        size_t end = 0, next;
        while (end < s.len && s.ptr[end] != '\n' && s.ptr[end] != '\r')
            end++;
        next = end + (end < s.len);
        next += end + 1 < s.len && s.ptr[end] == '\r' && s.ptr[end + 1] == '\n';
        e = push_str(*out, lz_str_sub(s, 0, in[1].b ? next : end));
        s = lz_str_sub(s, next, s.len);
    }
    if (e)
        lz_script_value_release(*out);
    return e;
}

/* Finds the pieces from the end, then reverses the list. */
static lz_err *rsplit_at(lz_str s, lz_str separator, int64_t most, lz_script_value list)
{
    lz_err *e = NULL;
    for (size_t at = 0; !e && at != SIZE_MAX; most--) {
        at = most == 0 ? SIZE_MAX : lz_str_rfind(s, separator);
        e = push_str(list, at == SIZE_MAX ? s : lz_str_sub(s, at + separator.len, s.len));
        s = lz_str_sub(s, 0, at == SIZE_MAX ? s.len : at);
    }
    lz_script_value *v = list.list->data;
    for (size_t i = 0, n = list.list->len; i < n / 2; i++) {
        lz_script_value kept = v[i];
        v[i] = v[n - 1 - i];
        v[n - 1 - i] = kept;
    }
    return e;
}

static lz_err *rsplit(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    (void)nin;
    if (in[1].str->len == 0)
        return lz_errf(LZ_ERR_ARG, "ValueError: empty separator");
    LZ_TRY(lz_script_value_list_make(0, out));
    lz_err *e = rsplit_at(lz_script_value_text(in[0]), lz_script_value_text(in[1]), in[2].i, *out);
    if (e)
        lz_script_value_release(*out);
    return e;
}

static lz_err *three_parts(lz_str a, lz_str b, lz_str c, lz_script_value out[3])
{
    LZ_TRY(lz_script_value_str(a, &out[0]));
    lz_err *e = lz_script_value_str(b, &out[1]);
    if (!e) {
        e = lz_script_value_str(c, &out[2]);
        if (!e)
            return NULL;
        lz_script_value_release(out[1]);
    }
    lz_script_value_release(out[0]);
    return e;
}

static lz_err *partition(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    lz_str s = lz_script_value_text(in[0]), sep = lz_script_value_text(in[1]);
    size_t at = lz_str_find(s, sep);
    (void)nin;
    if (at == SIZE_MAX)
        return three_parts(s, LZ_STR(""), LZ_STR(""), out);
    return three_parts(lz_str_sub(s, 0, at), sep, lz_str_sub(s, at + sep.len, s.len), out);
}

static lz_err *rpartition(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    lz_str s = lz_script_value_text(in[0]), sep = lz_script_value_text(in[1]);
    size_t at = lz_str_rfind(s, sep);
    (void)nin;
    if (at == SIZE_MAX)
        return three_parts(LZ_STR(""), LZ_STR(""), s, out);
    return three_parts(lz_str_sub(s, 0, at), sep, lz_str_sub(s, at + sep.len, s.len), out);
}

static lz_err *to_list(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    lz_err *e = NULL;
    (void)nin;
    LZ_TRY(lz_script_value_list_make(in->str->len, out));
    for (size_t i = 0; !e && i < in->str->len; i++)
        e = push_str(*out, (lz_str){ in->str->text + i, 1 });
    if (e)
        lz_script_value_release(*out);
    return e;
}

/* ---- the table ---- */

static const lz_builtin rows[] = {
    { "aten::__contains__", "str", "ss", "b", contains, 0 },
    { "aten::__getitem__", "str", "si", "s", get_item, 0 },
    { "aten::add", "str", "ss", "s", join_two, 0 },
    { "aten::capitalize", "", "s", "s", capitalize, 0 },
    { "aten::count", "str", "ssii", "i", count, 0 },
    { "aten::endswith", "", "ssii", "b", endswith, 0 },
    { "aten::eq", "str", "ss", "b", s_eq, 0 },
    { "aten::eq", "device", "DD", "b", s_eq, 0 },
    { "aten::find", "", "ssii", "i", find, 0 },
    { "aten::ge", "str", "ss", "b", s_ge, 0 },
    { "aten::gt", "str", "ss", "b", s_gt, 0 },
    { "aten::index", "str", "ssii", "i", index_of, 0 },
    { "aten::isalnum", "", "s", "b", s_isalnum, 0 },
    { "aten::isalpha", "", "s", "b", s_isalpha, 0 },
    { "aten::isdecimal", "", "s", "b", s_isdigit, 0 },
    { "aten::isdigit", "", "s", "b", s_isdigit, 0 },
    { "aten::isidentifier", "", "s", "b", isidentifier, 0 },
    { "aten::islower", "", "s", "b", s_islower, 0 },
    { "aten::isnumeric", "", "s", "b", s_isdigit, 0 },
    { "aten::isprintable", "", "s", "b", isprintable, 0 },
    { "aten::isspace", "", "s", "b", s_isspace, 0 },
    { "aten::istitle", "", "s", "b", istitle, 0 },
    { "aten::isupper", "", "s", "b", s_isupper, 0 },
    { "aten::le", "str", "ss", "b", s_le, 0 },
    { "aten::len", "str", "s", "i", length, 0 },
    { "aten::list", "", "s", "[s", to_list, LZ_BUILTIN_FRESH },
    { "aten::lower", "", "s", "s", s_lower, 0 },
    { "aten::lstrip", "", "ss", "s", lstrip, 0 },
    { "aten::lt", "str", "ss", "b", s_lt, 0 },
    { "aten::mul", "str_int", "si", "s", repeat, 0 },
    { "aten::mul", "int_str", "is", "s", repeat_right, 0 },
    { "aten::ne", "str", "ss", "b", s_ne, 0 },
    { "aten::ne", "device", "DD", "b", s_ne, 0 },
    { "aten::partition", "", "ss", "sss", partition, 0 },
    { "aten::replace", "", "sssi", "s", replace, 0 },
    { "aten::rfind", "", "ssii", "i", rfind, 0 },
    { "aten::rindex", "", "ssii", "i", rindex_of, 0 },
    { "aten::rpartition", "", "ss", "sss", rpartition, 0 },
    { "aten::rsplit", "", "ssi", "[s", rsplit, LZ_BUILTIN_FRESH },
    { "aten::rstrip", "", "ss", "s", rstrip, 0 },
    { "aten::slice", "str", "s?i?ii", "s", slice, 0 },
    { "aten::split", "str", "s?si", "[s", split, LZ_BUILTIN_FRESH },
    { "aten::splitlines", "", "sb", "[s", splitlines, LZ_BUILTIN_FRESH },
    { "aten::startswith", "", "ssii", "b", startswith, 0 },
    { "aten::strip", "", "ss", "s", strip, 0 },
    { "aten::swapcase", "", "s", "s", s_swapcase, 0 },
    { "aten::title", "", "s", "s", title, 0 },
    { "aten::upper", "", "s", "s", s_upper, 0 },
    { "prim::StringIndex", "", "si", "s", get_item, 0 },
};

const lz_builtin_table lz_builtins_str = LZ_BUILTIN_TABLE(rows);
