#include "base/json_write.h"
#include "base/number.h"
#include "base/utf8.h"
#include <math.h>

void lz_json_writer_init(lz_json_writer *w, lz_text *text, int indent)
{
    w->text = text;
    w->indent = indent < 0 ? LZ_JSON_COMPACT : indent;
    w->empty = w->keyed = w->done = false;
    w->code = LZ_OK;
    w->what = NULL;
    w->depth = 0;
}

static void mistake(lz_json_writer *w, lz_code code, const char *what)
{
    if (w->code)
        return;
    w->code = code;
    w->what = what;
}

static bool in_object(const lz_json_writer *w)
{
    return w->depth && w->is_object[w->depth - 1];
}

static void new_line(lz_json_writer *w)
{
    if (w->indent == LZ_JSON_COMPACT)
        return;
    lz_text_putc(w->text, '\n');
    lz_text_fill(w->text, ' ', w->depth * (size_t)w->indent);
}

/* Before an item of an array or a key of an object. */
static void separate(lz_json_writer *w)
{
    if (!w->empty)
        lz_text_putc(w->text, ',');
    w->empty = false;
    new_line(w);
}

/* May a value come here? Writes what precedes it. */
static bool may_begin(lz_json_writer *w)
{
    if (w->done)
        mistake(w, LZ_ERR_ARG, "a second outermost value");
    else if (in_object(w) && !w->keyed)
        mistake(w, LZ_ERR_ARG, "a value without a key in an object");
    if (w->code)
        return false;
    if (w->depth && !w->keyed)
        separate(w);
    w->keyed = false;
    w->done = w->depth == 0;
    return true;
}

static void put_word(lz_json_writer *w, lz_str word)
{
    if (may_begin(w))
        lz_text_add(w->text, word);
}

static void begin(lz_json_writer *w, bool object)
{
    if (!may_begin(w))
        return;
    w->done = false;
    if (w->depth == LZ_JSON_DEPTH) {
        mistake(w, LZ_ERR_LIMIT, "nested too deep");
        return;
    }
    w->is_object[w->depth++] = object;
    w->empty = true;
    lz_text_putc(w->text, object ? '{' : '[');
}

static void end(lz_json_writer *w, bool object)
{
    if (w->depth == 0 || in_object(w) != object)
        mistake(w, LZ_ERR_ARG,
                object ? "an end of an object that was not begun" : "an end of an array that was not begun");
    else if (w->keyed)
        mistake(w, LZ_ERR_ARG, "a key without a value");
    if (w->code)
        return;
    w->depth--;
    if (!w->empty)
        new_line(w);
    w->empty = false;
    w->done = w->depth == 0;
    lz_text_putc(w->text, object ? '}' : ']');
}

void lz_json_begin_object(lz_json_writer *w)
{
    begin(w, true);
}

void lz_json_end_object(lz_json_writer *w)
{
    end(w, true);
}

void lz_json_begin_array(lz_json_writer *w)
{
    begin(w, false);
}

void lz_json_end_array(lz_json_writer *w)
{
    end(w, false);
}

/* Characters that need no escape in a string. */
static const bool plain[256] = { [' '] = true, ['!'] = true, ['#' ... '['] = true, [']' ... '~'] = true };

static const char escapes[256] = {
    ['"'] = '"', ['\\'] = '\\', ['\n'] = 'n', ['\r'] = 'r', ['\t'] = 't', ['\b'] = 'b', ['\f'] = 'f',
};

static void put_unit(lz_text *t, uint32_t unit)
{
    static const char hex[] = "0123456789abcdef";
    char buf[] = {
        '\\', 'u', hex[unit >> 12 & 15], hex[unit >> 8 & 15], hex[unit >> 4 & 15], hex[unit & 15]
    };
    lz_text_add(t, (lz_str){ buf, sizeof buf });
}

static void put_code_point(lz_text *t, uint32_t code)
{
    char escape = code < 256 ? escapes[code] : 0;
    if (escape)
        lz_text_add(t, (lz_str){ (char[]){ '\\', escape }, 2 });
    else if (code < 0x10000)
        put_unit(t, code);
    else {
        put_unit(t, 0xd800 + ((code - 0x10000) >> 10));
        put_unit(t, 0xdc00 + ((code - 0x10000) & 0x3ff));
    }
}

static void put_quoted(lz_json_writer *w, lz_str s)
{
    lz_text_putc(w->text, '"');
    for (size_t i = 0; i < s.len;) {
        size_t from = i;
        while (i < s.len && plain[(unsigned char)s.ptr[i]])
            i++;
        lz_text_add(w->text, lz_str_sub(s, from, i));
        if (i == s.len)
            break;
        uint32_t code;
        size_t n = lz_utf8_decode(lz_str_sub(s, i, s.len), &code);
        if (n == 0) {
            mistake(w, LZ_ERR_ARG, "a string that is not UTF-8");
            return;
        }
        put_code_point(w->text, code);
        i += n;
    }
    lz_text_putc(w->text, '"');
}

void lz_json_put_key_str(lz_json_writer *w, lz_str key)
{
    if (!in_object(w))
        mistake(w, LZ_ERR_ARG, "a key outside an object");
    else if (w->keyed)
        mistake(w, LZ_ERR_ARG, "a key without a value");
    if (w->code)
        return;
    separate(w);
    put_quoted(w, key);
    lz_text_add(w->text, w->indent == LZ_JSON_COMPACT ? LZ_STR(":") : LZ_STR(": "));
    w->keyed = true;
}

void lz_json_put_key(lz_json_writer *w, const char *key)
{
    lz_json_put_key_str(w, lz_str_of(key));
}

void lz_json_put_null(lz_json_writer *w)
{
    put_word(w, LZ_STR("null"));
}

void lz_json_put_bool(lz_json_writer *w, bool v)
{
    put_word(w, v ? LZ_STR("true") : LZ_STR("false"));
}

void lz_json_put_int(lz_json_writer *w, int64_t v)
{
    char buf[LZ_INT_CHARS];
    put_word(w, (lz_str){ buf, lz_int64_print(v, buf) });
}

void lz_json_put_uint(lz_json_writer *w, uint64_t v)
{
    char buf[LZ_INT_CHARS];
    put_word(w, (lz_str){ buf, lz_uint64_print(v, buf) });
}

void lz_json_put_double(lz_json_writer *w, double v)
{
    if (!isfinite(v))
        mistake(w, LZ_ERR_ARG, "a number that is not finite");
    if (may_begin(w))
        lz_text_double(w->text, v);
}

void lz_json_put_str(lz_json_writer *w, lz_str v)
{
    if (may_begin(w))
        put_quoted(w, v);
}

void lz_json_put_cstr(lz_json_writer *w, const char *v)
{
    lz_json_put_str(w, lz_str_of(v));
}

#define MEMBER(name, type)                                                                                   \
    void lz_json_member_##name(lz_json_writer *w, const char *key, type v)                                   \
    {                                                                                                        \
        lz_json_put_key(w, key);                                                                             \
        lz_json_put_##name(w, v);                                                                            \
    }

MEMBER(bool, bool)
MEMBER(int, int64_t)
MEMBER(uint, uint64_t)
MEMBER(double, double)
MEMBER(cstr, const char *)
MEMBER(str, lz_str)

void lz_json_member_optional_str(lz_json_writer *w, const char *key, lz_str v)
{
    lz_json_put_key(w, key);
    if (v.ptr)
        lz_json_put_str(w, v);
    else
        lz_json_put_null(w);
}

void lz_json_member_optional_cstr(lz_json_writer *w, const char *key, const char *v)
{
    lz_json_member_optional_str(w, key, v ? lz_str_of(v) : (lz_str){ 0 });
}

lz_err *lz_json_finish(const lz_json_writer *w)
{
    LZ_TRY(lz_text_check(w->text));
    if (w->code)
        return lz_errf(w->code, "writing JSON: %s", w->what);
    if (!w->done)
        return lz_errf(LZ_ERR_ARG, "writing JSON: %s", w->depth ? "a container was not ended" : "no value");
    return NULL;
}
