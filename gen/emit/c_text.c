#include "gen/emit/c_text.h"

/* Memory for the whole line is reserved at once; then the pieces are copied. */
void lzg_fill_with(lz_text *out, lz_str pattern, const lz_str *values, size_t n)
{
    size_t size = pattern.len, at = out->len;
    for (size_t i = 0; i < n; i++)
        size += values[i].len;
    if (out->failed || out->cap - out->len <= size)
        lz_text_fill(out, ' ', size);
    if (out->failed)
        return;
    char *to = out->ptr + at;
    for (size_t i = 0; i < pattern.len; i++) {
        if (pattern.ptr[i] != '$' || !n) {
            *to++ = pattern.ptr[i];
            continue;
        }
        if (values->len)
            memcpy(to, values->ptr, values->len);
        to += values->len;
        values++;
        n--;
    }
    out->len = (size_t)(to - out->ptr);
}

static bool plain(char c)
{
    return c >= ' ' && c <= '~' && c != '"' && c != '\\' && c != '?';
}

/* "??" could begin a trigraph. */
static bool is_plain(lz_str s, size_t i)
{
    return plain(s.ptr[i]) || (s.ptr[i] == '?' && (!i || s.ptr[i - 1] != '?'));
}

/* Octal escapes have three digits, so that a following digit is not part of them. */
static void put_escaped(lz_text *out, char c)
{
    bool printable = c >= ' ' && c <= '~';
    lz_text_putc(out, '\\');
    if (printable)
        lz_text_putc(out, c);
    else
        lz_text_printf(out, "%03o", (unsigned)(unsigned char)c);
}

void lzg_put_c_string(lz_text *out, lz_str s)
{
    size_t from = 0;
    if (!s.ptr) {
        lzg_put(out, "NULL");
        return;
    }
    lz_text_putc(out, '"');
    for (size_t i = 0; i < s.len; i++) {
        while (i < s.len && plain(s.ptr[i]))
            i++;
        if (i == s.len || is_plain(s, i))
            continue;
        lz_text_add(out, lz_str_sub(s, from, i));
        put_escaped(out, s.ptr[i]);
        from = i + 1;
    }
    lz_text_add(out, lz_str_sub(s, from, s.len));
    lz_text_putc(out, '"');
}

/* A blank separates a '/' from an adjacent '*'. */
void lzg_put_c_comment(lz_text *out, lz_str s)
{
    for (size_t slash; (slash = lz_str_find_char(s, '/')) != SIZE_MAX; s = lz_str_sub(s, slash + 1, s.len)) {
        lz_text_add(out, lz_str_sub(s, 0, slash));
        lz_text_puts(out, slash && s.ptr[slash - 1] == '*' ? " /" : "/");
        lz_text_puts(out, slash + 1 < s.len && s.ptr[slash + 1] == '*' ? " " : "");
    }
    lz_text_add(out, s);
}

/* ---- wrapping ---- */

lzg_wrap lzg_wrap_begin(lz_text *out, size_t indent, lz_str end)
{
    size_t line = out->len;
    while (line && out->ptr[line - 1] != '\n')
        line--;
    return (lzg_wrap){ .out = out, .line = line, .item = out->len, .indent = indent, .end = end };
}

void lzg_wrap_item(lzg_wrap *w)
{
    w->item = w->out->len;
}

/* Blanks before the item are replaced by the end of the line. */
static void break_line(lzg_wrap *w)
{
    lz_text *out = w->out;
    size_t blank = w->item && out->ptr[w->item - 1] == ' ', len = out->len - w->item;
    size_t added = w->end.len + 1 + w->indent;
    lz_text_fill(out, ' ', added - blank);
    if (out->failed)
        return;
    char *at = out->ptr + w->item - blank;
    memmove(at + added, at + blank, len);
    memcpy(at, w->end.ptr, w->end.len);
    at[w->end.len] = '\n';
    memset(at + w->end.len + 1, ' ', w->indent);
    w->line = (size_t)(at - out->ptr) + w->end.len + 1;
}

void lzg_wrap_done(lzg_wrap *w, lz_str separator)
{
    size_t limit = LZG_C_COLUMNS - w->end.len;
    lz_text_add(w->out, separator);
    if (w->out->len - w->line > limit + (separator.len && separator.ptr[separator.len - 1] == ' ')
        && w->item - w->line > w->indent)
        break_line(w);
    w->item = w->out->len;
}
