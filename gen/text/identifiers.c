#include "gen/text/identifiers.h"
#include "gen/text/utils.h"

bool lzg_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static size_t run(lz_str s, size_t from, bool (*is)(char))
{
    size_t n = from;
    while (n < s.len && is(s.ptr[n]))
        n++;
    return n - from;
}

size_t lzg_word_run(lz_str s, size_t from)
{
    return run(s, from, lzg_is_word);
}

size_t lzg_digit_run(lz_str s, size_t from)
{
    return run(s, from, lzg_is_digit);
}

size_t lzg_find(lz_str s, lz_str what, size_t from)
{
    const char *at = from < s.len ? memmem(s.ptr + from, s.len - from, what.ptr, what.len) : NULL;
    return at ? (size_t)(at - s.ptr) : SIZE_MAX;
}

/* How to find an occurrence of each kind, and how far it reaches beyond the text itself. */
typedef struct manner {
    bool whole_word, consumes;
} manner;

static bool stands_free(lz_str s, size_t at, size_t end, size_t taken, manner m)
{
    bool left = at == 0 || (!lzg_is_word(s.ptr[at - 1]) && (!m.consumes || at > taken));
    return left && (end == s.len || !lzg_is_word(s.ptr[end]));
}

/* The next occurrence at or after *taken, which moves past the consumed text. */
static size_t next(lz_str s, lz_str what, size_t *taken, manner m)
{
    size_t at = what.len ? lzg_find(s, what, *taken) : SIZE_MAX;
    while (at != SIZE_MAX && m.whole_word && !stands_free(s, at, at + what.len, *taken, m))
        at = lzg_find(s, what, at + 1);
    if (at != SIZE_MAX)
        *taken = at + what.len + (m.consumes && at + what.len < s.len);
    return at;
}

static const manner name_use = { .whole_word = true, .consumes = true };

size_t lzg_ident_find(lz_str formula, lz_str name)
{
    size_t taken = 0;
    return next(formula, name, &taken, name_use);
}

bool lzg_ident_used(lz_str formula, lz_str name)
{
    return lzg_ident_find(formula, name) != SIZE_MAX;
}

static size_t count(lz_str s, lz_str what, manner m)
{
    size_t n = 0;
    for (size_t taken = 0; next(s, what, &taken, m) != SIZE_MAX;)
        n++;
    return n;
}

size_t lzg_ident_count(lz_str formula, lz_str name)
{
    return count(formula, name, name_use);
}

static size_t put(char *to, size_t at, lz_str s)
{
    if (s.len)
        memcpy(to + at, s.ptr, s.len);
    return at + s.len;
}

static lz_err *replace(lz_arena *a, lz_str s, lz_str what, lz_str with, manner m, lz_str *out)
{
    size_t n = count(s, what, m), len = 0, done = 0, taken = 0;
    *out = s;
    if (n == 0)
        return NULL;
    char *text;
    LZ_TRY(lz_arena_new(a, &text, s.len - n * what.len + n * with.len + 1));
    for (size_t i = 0; i < n; i++) {
        size_t at = next(s, what, &taken, m);
        len = put(text, len, lz_str_sub(s, done, at));
        len = put(text, len, with);
        done = at + what.len;
    }
    len = put(text, len, lz_str_sub(s, done, s.len));
    *out = (lz_str){ text, len };
    return NULL;
}

lz_err *lzg_ident_replace(lz_arena *a, lz_str formula, lz_str name, lz_str with, lz_str *out)
{
    return replace(a, formula, name, with, name_use, out);
}

lz_err *lzg_word_replace(lz_arena *a, lz_str formula, lz_str name, lz_str with, lz_str *out)
{
    return replace(a, formula, name, with, (manner){ .whole_word = true }, out);
}

lz_err *lzg_replace_all(lz_arena *a, lz_str text, lz_str what, lz_str with, lz_str *out)
{
    return replace(a, text, what, with, (manner){ 0 }, out);
}
