#include "base/str.h"

lz_str lz_str_of(const char *cstr)
{
    return (lz_str){ cstr ? cstr : "", cstr ? strlen(cstr) : 0 };
}

lz_str lz_str_sub(lz_str s, size_t from, size_t to)
{
    to = to > s.len ? s.len : to;
    from = from > to ? to : from;
    return (lz_str){ s.ptr + from, to - from };
}

bool lz_str_eq(lz_str a, lz_str b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.ptr, b.ptr, a.len) == 0);
}

bool lz_str_is(lz_str a, const char *cstr)
{
    return lz_str_eq(a, lz_str_of(cstr));
}

int lz_str_cmp(lz_str a, lz_str b)
{
    size_t n = a.len < b.len ? a.len : b.len;
    int c = n ? memcmp(a.ptr, b.ptr, n) : 0;
    return c ? c : (a.len > b.len) - (a.len < b.len);
}

bool lz_str_starts(lz_str s, lz_str prefix)
{
    return s.len >= prefix.len && lz_str_eq(lz_str_sub(s, 0, prefix.len), prefix);
}

bool lz_str_ends(lz_str s, lz_str suffix)
{
    return s.len >= suffix.len && lz_str_eq(lz_str_sub(s, s.len - suffix.len, s.len), suffix);
}

bool lz_str_matches(lz_str s, lz_str pattern)
{
    size_t i = 0, p = 0, star = SIZE_MAX, taken = 0; /* the last *, and where the text behind it is tried */
    while (i < s.len) {
        if (p < pattern.len && pattern.ptr[p] == '*') {
            star = p++;
            taken = i;
        } else if (p < pattern.len && pattern.ptr[p] == s.ptr[i]) {
            p++;
            i++;
        } else if (star != SIZE_MAX) {
            p = star + 1;
            i = ++taken;
        } else {
            return false;
        }
    }
    while (p < pattern.len && pattern.ptr[p] == '*')
        p++;
    return p == pattern.len;
}

static bool blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

lz_str lz_str_trim(lz_str s)
{
    while (s.len && blank(s.ptr[0]))
        s = lz_str_sub(s, 1, s.len);
    while (s.len && blank(s.ptr[s.len - 1]))
        s.len--;
    return s;
}

size_t lz_str_find(lz_str s, lz_str needle)
{
    const char *at = s.len && needle.len ? memmem(s.ptr, s.len, needle.ptr, needle.len) : NULL;
    return at ? (size_t)(at - s.ptr) : needle.len ? SIZE_MAX : 0;
}

size_t lz_str_rfind(lz_str s, lz_str needle)
{
    for (size_t i = s.len + 1; i-- > 0;)
        if (lz_str_eq(lz_str_sub(s, i, i + needle.len), needle))
            return i;
    return SIZE_MAX;
}

size_t lz_str_find_char(lz_str s, char c)
{
    const char *at = s.len ? memchr(s.ptr, c, s.len) : NULL;
    return at ? (size_t)(at - s.ptr) : SIZE_MAX;
}

lz_str lz_str_cut(lz_str *rest, lz_str separator, bool *more)
{
    lz_str whole = *rest;
    size_t at = lz_str_find(whole, separator);
    *more = at != SIZE_MAX;
    if (!*more) {
        *rest = lz_str_sub(whole, whole.len, whole.len);
        return whole;
    }
    *rest = lz_str_sub(whole, at + separator.len, whole.len);
    return lz_str_sub(whole, 0, at);
}
