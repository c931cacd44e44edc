#include "gen/text/utils.h"

static bool is_lower(char c)
{
    return c >= 'a' && c <= 'z';
}

static bool is_upper(char c)
{
    return c >= 'A' && c <= 'Z';
}

static char lower(char c)
{
    return is_upper(c) ? (char)(c + ('a' - 'A')) : c;
}

static char upper(char c)
{
    return is_lower(c) ? (char)(c - ('a' - 'A')) : c;
}

void lzg_put_title(lz_text *out, lz_str name)
{
    bool inside = false;
    for (size_t i = 0; i < name.len; i++) {
        char c = name.ptr[i];
        if (c != '_')
            lz_text_putc(out, inside ? lower(c) : upper(c));
        inside = is_lower(c) || is_upper(c);
    }
}

void lzg_put_camel(lz_text *out, lz_str name)
{
    for (size_t i = 0; i < name.len; i++)
        if (name.ptr[i] != '_')
            lz_text_putc(out, i == 0 || name.ptr[i - 1] == '_' ? upper(name.ptr[i]) : lower(name.ptr[i]));
}

void lzg_put_lower(lz_text *out, lz_str s)
{
    for (size_t i = 0; i < s.len; i++)
        lz_text_putc(out, lower(s.ptr[i]));
}

void lzg_put_upper(lz_text *out, lz_str s)
{
    for (size_t i = 0; i < s.len; i++)
        lz_text_putc(out, upper(s.ptr[i]));
}

void lzg_put_joined(lz_text *out, const lz_str *items, size_t n, const char *separator)
{
    for (size_t i = 0; i < n; i++) {
        lz_text_puts(out, i ? separator : "");
        lz_text_add(out, items[i]);
    }
}

void lzg_put_indented(lz_text *out, lz_str s, size_t spaces)
{
    for (bool more = s.len > 0; more;) {
        lz_str line = lz_str_cut(&s, LZ_STR("\n"), &more);
        if (lz_str_trim(line).len)
            lz_text_fill(out, ' ', spaces);
        lz_text_add(out, line);
        lz_text_puts(out, more ? "\n" : "");
    }
}

bool lzg_is_word(char c)
{
    return is_lower(c) || is_upper(c) || (c >= '0' && c <= '9') || c == '_' || (unsigned char)c >= 0x80;
}

bool lzg_is_identifier(lz_str s)
{
    for (size_t i = 0; i < s.len; i++)
        if (!lzg_is_word(s.ptr[i]) || (unsigned char)s.ptr[i] >= 0x80)
            return false;
    return s.len && !(s.ptr[0] >= '0' && s.ptr[0] <= '9');
}

size_t lzg_find_word(lz_str s, lz_str name, size_t from)
{
    while (from <= s.len) {
        size_t at = lz_str_find(lz_str_sub(s, from, s.len), name);
        if (at == SIZE_MAX)
            return SIZE_MAX;
        at += from;
        size_t end = at + name.len;
        if ((at == 0 || !lzg_is_word(s.ptr[at - 1])) && (end == s.len || !lzg_is_word(s.ptr[end])))
            return at;
        from = at + 1;
    }
    return SIZE_MAX;
}

lz_err *lzg_namespace_check(lz_str ns, size_t most, lz_loc loc)
{
    size_t levels = 0;
    lz_str rest = ns;
    for (bool more = true; more; levels++)
        lz_str_cut(&rest, LZ_STR("::"), &more);
    if (levels > most)
        return lz_err_at(LZ_ERR_MODEL, loc, "the namespace '%.*s' has %zu levels; %zu are allowed",
                         LZ_FMT(ns), levels, most);
    return NULL;
}

lz_err *lzg_namespace_split(lz_str text, size_t most, lz_loc loc, lzg_namespaced *out)
{
    size_t at = lz_str_rfind(text, LZ_STR("::"));
    *out = (lzg_namespaced){ .ns = { text.ptr, 0 }, .entity = text };
    if (at != SIZE_MAX)
        *out = (lzg_namespaced){ lz_str_sub(text, 0, at), lz_str_sub(text, at + 2, text.len) };
    return lzg_namespace_check(out->ns, most, loc);
}

lz_str lzg_namespace_or(lz_str ns, lz_str otherwise)
{
    return ns.len ? ns : otherwise;
}

void lzg_namespace_open(lz_text *out, lz_str ns)
{
    for (bool more = true; more;) {
        lz_str name = lz_str_cut(&ns, LZ_STR("::"), &more);
        lz_text_printf(out, "namespace %.*s {%s", LZ_FMT(name), more ? "\n" : "");
    }
}

void lzg_namespace_close(lz_text *out, lz_str ns)
{
    for (size_t at = 0; at != SIZE_MAX;) {
        at = lz_str_rfind(ns, LZ_STR("::"));
        lz_str name = at == SIZE_MAX ? ns : lz_str_sub(ns, at + 2, ns.len);
        lz_text_printf(out, "} // namespace %.*s%s", LZ_FMT(name), at == SIZE_MAX ? "" : "\n");
        ns = lz_str_sub(ns, 0, at);
    }
}
