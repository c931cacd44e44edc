#include "base/text.h"
#include "base/mem.h"
#include "base/number.h"
#include <stdio.h>

void lz_text_deinit(lz_text *t)
{
    lz_mem_free(t->ptr);
    *t = (lz_text){ 0 };
}

void lz_text_clear(lz_text *t)
{
    t->len = 0;
    t->failed = false;
}

/* Room for n more bytes and a NUL. */
static bool reserve(lz_text *t, size_t n)
{
    size_t need;
    if (t->failed || !lz_size_add(t->len, n, &need) || !lz_size_add(need, 1, &need)) {
        t->failed = true;
        return false;
    }
    if (need <= t->cap)
        return true;
    size_t cap = t->cap < 32 ? 64 : t->cap * 2;
    cap = cap < need ? need : cap;
    char *p = lz_mem_resize(t->ptr, cap);
    t->failed = !p;
    if (p) {
        t->ptr = p;
        t->cap = cap;
    }
    return p != NULL;
}

void lz_text_reserve(lz_text *t, size_t n)
{
    (void)reserve(t, n);
}

void lz_text_add(lz_text *t, lz_str s)
{
    if (s.len && reserve(t, s.len)) {
        memcpy(t->ptr + t->len, s.ptr, s.len);
        t->len += s.len;
    }
}

void lz_text_puts(lz_text *t, const char *cstr)
{
    lz_text_add(t, lz_str_of(cstr));
}

void lz_text_putc(lz_text *t, char c)
{
    if (reserve(t, 1))
        t->ptr[t->len++] = c;
}

void lz_text_fill(lz_text *t, char c, size_t n)
{
    if (n && reserve(t, n)) {
        memset(t->ptr + t->len, c, n);
        t->len += n;
    }
}

void lz_text_vprintf(lz_text *t, const char *fmt, va_list ap)
{
    va_list again;
    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, fmt, ap);
    if (n < 0)
        t->failed = true;
    else if (reserve(t, (size_t)n)) {
        vsnprintf(t->ptr + t->len, (size_t)n + 1, fmt, again);
        t->len += (size_t)n;
    }
    va_end(again);
}

void lz_text_printf(lz_text *t, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    lz_text_vprintf(t, fmt, ap);
    va_end(ap);
}

void lz_text_int(lz_text *t, int64_t v)
{
    char buf[LZ_INT_CHARS];
    lz_text_add(t, (lz_str){ buf, lz_int64_print(v, buf) });
}

void lz_text_double(lz_text *t, double v)
{
    char buf[LZ_DOUBLE_CHARS];
    lz_text_add(t, (lz_str){ buf, lz_double_print(v, buf) });
}

lz_str lz_text_view(const lz_text *t)
{
    return (lz_str){ t->ptr ? t->ptr : "", t->len };
}

lz_err *lz_text_check(const lz_text *t)
{
    return t->failed ? lz_err_oom() : NULL;
}

lz_err *lz_text_take(lz_text *t, char **out)
{
    if (!reserve(t, 0))
        return lz_err_oom();
    t->ptr[t->len] = '\0';
    *out = t->ptr;
    *t = (lz_text){ 0 };
    return NULL;
}

lz_err *lz_text_save(lz_text *t, lz_arena *a, lz_str *out)
{
    LZ_TRY(lz_text_check(t));
    LZ_TRY(lz_arena_copy(a, lz_text_view(t), out));
    lz_text_clear(t);
    return NULL;
}
