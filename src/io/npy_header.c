#include "io/npy_header.h"
#include "base/number.h"
#include "io/names.h"

enum { PAD_TO = 64, GROWTH = 21 }; /* NumPy leaves room for the first size to grow to 21 digits */

#define OWN_ORDER   (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? '>' : '<')
#define OTHER_ORDER (OWN_ORDER == '<' ? '>' : '<')
#define MAGIC       LZ_STR("\x93NUMPY")

static const struct {
    lz_dtype dtype;
    const char *code; /* without the byte order */
} codes[] = {
    { LZ_BOOL, "b1" }, { LZ_U8, "u1" },  { LZ_I8, "i1" },    { LZ_I16, "i2" },
    { LZ_I32, "i4" },  { LZ_I64, "i8" }, { LZ_F16, "f2" },   { LZ_F32, "f4" },
    { LZ_F64, "f8" },  { LZ_C64, "c8" }, { LZ_C128, "c16" },
};

typedef struct cursor {
    const char *name;
    lz_str s;
    size_t at;
    lz_str other; /* the text of an unsupported dtype; the rest of the header is read nevertheless */
    size_t other_at;
} cursor;

static lz_err *refuse(const cursor *c, lz_code code, size_t at, const char *what)
{
    return lz_err_at(code, (lz_loc){ .file = c->name }, "byte %zu: %s", at, what);
}

static lz_err *bad(const cursor *c, const char *what)
{
    return refuse(c, LZ_ERR_SYNTAX, c->at, what);
}

static size_t little_endian(const char *p, size_t n)
{
    size_t v = 0;
    while (n--)
        v = v << 8 | (unsigned char)p[n];
    return v;
}

lz_err *lz_npy_header_length(lz_str start, const char *name, size_t *out)
{
    cursor c = { .name = name, .s = start };
    if (!lz_str_starts(start, MAGIC))
        return bad(&c, "not an .npy file: expected \\x93NUMPY at the beginning");
    c.at = MAGIC.len;
    int major = start.len > 6 ? (unsigned char)start.ptr[6] : -1, minor = start.len > 7 ? start.ptr[7] : -1;
    if (major < 1 || major > 3 || minor != 0)
        return bad(&c, "expected version 1.0, 2.0 or 3.0");
    c.at += 2;
    size_t field = major == 1 ? 2 : 4;
    if (start.len < c.at + field)
        return bad(&c, "the file ends inside the length of its header");
    size_t length = little_endian(start.ptr + c.at, field);
    if (length > LZ_NPY_HEADER_MOST)
        return lz_err_at(LZ_ERR_LIMIT, (lz_loc){ .file = name },
                         "byte %zu: the header has %zu bytes; the limit is %d", c.at, length,
                         LZ_NPY_HEADER_MOST);
    *out = c.at + field + length;
    return NULL;
}

static void skip_space(cursor *c)
{
    while (c->at < c->s.len && (c->s.ptr[c->at] == ' ' || c->s.ptr[c->at] == '\n' || c->s.ptr[c->at] == '\t'))
        c->at++;
}

/* The character at the cursor; 0 at the end. */
static char peek(cursor *c)
{
    skip_space(c);
    return c->at < c->s.len ? c->s.ptr[c->at] : '\0';
}

static bool take(cursor *c, char expected)
{
    bool found = peek(c) == expected;
    c->at += found;
    return found;
}

static bool take_word(cursor *c, lz_str word)
{
    skip_space(c);
    bool found = lz_str_starts(lz_str_sub(c->s, c->at, c->s.len), word);
    c->at += found ? word.len : 0;
    return found;
}

/* Names and dtypes have no escapes, so escapes are not supported. */
static lz_err *parse_string(cursor *c, lz_str *out)
{
    char quote = peek(c);
    if (quote != '\'' && quote != '"')
        return bad(c, "expected a string");
    size_t from = ++c->at;
    while (c->at < c->s.len && c->s.ptr[c->at] != quote && c->s.ptr[c->at] != '\\')
        c->at++;
    if (c->at == c->s.len || c->s.ptr[c->at] == '\\')
        return bad(c, "the string has no end");
    *out = lz_str_sub(c->s, from, c->at++);
    return NULL;
}

static lz_err *parse_size(cursor *c, int64_t *out)
{
    (void)peek(c);
    size_t from = c->at;
    while (c->at < c->s.len && c->s.ptr[c->at] >= '0' && c->s.ptr[c->at] <= '9')
        c->at++;
    if (c->at == from)
        return bad(c, "expected a size");
    if (!lz_int64_parse(lz_str_sub(c->s, from, c->at), out))
        return refuse(c, LZ_ERR_LIMIT, from, "the size does not fit into 64 bits");
    c->at += c->at < c->s.len && c->s.ptr[c->at] == 'L'; /* Python 2 wrote this suffix */
    return NULL;
}

static lz_err *parse_shape(cursor *c, lz_npy_header *h)
{
    lz_shape *s = &h->sizes;
    s->n = 0;
    if (!take(c, '('))
        return bad(c, "expected the shape, a tuple");
    bool comma = true;
    while (comma && peek(c) != ')') {
        if (s->n == LZ_MAX_DIMS)
            return refuse(c, LZ_ERR_LIMIT, c->at, "the shape has more than 64 dimensions");
        LZ_TRY(parse_size(c, &s->v[s->n]));
        s->n++;
        comma = take(c, ',');
    }
    if (!take(c, ')'))
        return bad(c, "expected , or )");
    if (s->n == 1 && !comma)
        return bad(c, "expected a comma: a tuple of one size is written (3,)");
    return NULL;
}

static lz_err *parse_order(cursor *c, lz_npy_header *h)
{
    h->fortran = take_word(c, LZ_STR("True"));
    if (!h->fortran && !take_word(c, LZ_STR("False")))
        return bad(c, "expected True or False");
    return NULL;
}

/* Skips to the bracket that closes the one at the cursor. Brackets in strings do not count. */
static lz_err *skip_list(cursor *c, lz_str *out)
{
    size_t from = c->at, depth = 0;
    char quote = '\0';
    do {
        if (c->at == c->s.len)
            return bad(c, "the list has no end");
        char ch = c->s.ptr[c->at++];
        if (quote && ch == '\\' && c->at < c->s.len)
            c->at++;
        else if (quote || ch == '\'' || ch == '"')
            quote = !quote ? ch : ch == quote ? '\0' : quote;
        else
            depth = ch == '[' ? depth + 1 : ch == ']' ? depth - 1 : depth;
    } while (depth);
    *out = lz_str_sub(c->s, from, c->at);
    return NULL;
}

static lz_err *refuse_other(const cursor *c)
{
    char name[LZ_NAME_CHARS];
    const char *text = lz_name_print(c->other, name);
    lz_loc loc = { .file = c->name };
    if (!c->other_at)
        return NULL;
    if (lz_str_starts(c->other, LZ_STR("[")))
        return lz_err_at(LZ_ERR_UNSUPPORTED, loc,
                         "byte %zu: the elements are records, %s; only numbers and bools are supported",
                         c->other_at, text);
    return lz_err_at(LZ_ERR_UNSUPPORTED, loc, "byte %zu: NumPy's dtype '%s' is not supported", c->other_at,
                     text);
}

static lz_err *parse_descr(cursor *c, lz_npy_header *h)
{
    lz_str s;
    h->dtype = LZ_DTYPE_NONE;
    char first = peek(c);
    size_t at = c->at;
    if (first == '[') {
        c->other_at = at;
        return skip_list(c, &c->other);
    }
    LZ_TRY(parse_string(c, &s));
    char order = s.len ? s.ptr[0] : '\0';
    lz_str code = lz_str_sub(s, 1, s.len);
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        if (lz_str_is(code, codes[i].code))
            h->dtype = codes[i].dtype;
    bool byte = lz_dtype_size(h->dtype) == 1,
         known = order == '<' || order == '>' || order == '=' || (order == '|' && byte);
    if (h->dtype == LZ_DTYPE_NONE || !known) {
        h->dtype = LZ_DTYPE_NONE;
        c->other = s;
        c->other_at = at;
    }
    h->swapped = !byte && order == OTHER_ORDER;
    return NULL;
}

typedef lz_err *field_fn(cursor *c, lz_npy_header *h);

static const struct {
    const char *key;
    field_fn *parse;
} fields[] = { { "descr", parse_descr }, { "fortran_order", parse_order }, { "shape", parse_shape } };

enum { FIELDS = sizeof fields / sizeof *fields, ALL = (1 << FIELDS) - 1 };

static lz_err *parse_field(cursor *c, lz_npy_header *h, unsigned *seen)
{
    lz_str key;
    (void)peek(c);
    size_t at = c->at, i = 0;
    LZ_TRY(parse_string(c, &key));
    while (i < FIELDS && !lz_str_is(key, fields[i].key))
        i++;
    if (i == FIELDS || *seen >> i & 1)
        return refuse(c, LZ_ERR_SYNTAX, at, i == FIELDS ? "unknown key" : "the key is given twice");
    *seen |= 1U << i;
    if (!take(c, ':'))
        return bad(c, "expected :");
    return fields[i].parse(c, h);
}

static lz_err *parse_dict(cursor *c, lz_npy_header *h)
{
    unsigned seen = 0;
    if (!take(c, '{'))
        return bad(c, "expected a dictionary");
    bool comma = true;
    while (comma && peek(c) != '}') {
        LZ_TRY(parse_field(c, h, &seen));
        comma = take(c, ',');
    }
    if (!take(c, '}'))
        return bad(c, "expected , or }");
    if (seen != ALL)
        return bad(c, "one of descr, fortran_order and shape is missing");
    if (peek(c) != '\0' || c->at != c->s.len)
        return bad(c, "unexpected text behind the dictionary");
    return NULL;
}

lz_err *lz_npy_header_parse(lz_str bytes, const char *name, lz_npy_header *out)
{
    size_t end;
    LZ_TRY(lz_npy_header_length(bytes, name, &end));
    cursor c = { .name = name, .s = lz_str_sub(bytes, 0, end), .at = bytes.ptr[6] == 1 ? 10 : 12 };
    if (bytes.len < end) {
        c.at = bytes.len;
        return bad(&c, "the file ends inside its header");
    }
    LZ_TRY(parse_dict(&c, out));
    return refuse_other(&c);
}

static lz_err *code_of(lz_dtype d, const char **out)
{
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        if (codes[i].dtype == d) {
            *out = codes[i].code;
            return NULL;
        }
    return lz_errf(LZ_ERR_UNSUPPORTED, "%s has no name in .npy files; convert it to %s first",
                   lz_dtype_get(d)->name, lz_dtype_is_complex(d) ? "complex64" : "float32");
}

static void print_shape(lz_ints sizes, bool fortran, lz_text *out)
{
    lz_text_puts(out, "(");
    for (int64_t i = 0; i < sizes.n; i++)
        lz_text_printf(out, "%s%lld", i ? ", " : "", (long long)sizes.v[i]);
    lz_text_puts(out, sizes.n == 1 ? ",), }" : "), }");
    if (sizes.n) {
        char digits[LZ_INT_CHARS];
        lz_text_fill(out, ' ', GROWTH - lz_int64_print(sizes.v[fortran ? sizes.n - 1 : 0], digits));
    }
}

lz_err *lz_npy_header_print(lz_dtype d, lz_ints sizes, bool fortran, lz_text *out)
{
    enum { FIXED = 10 };
    lz_text dict = { 0 };
    const char *code;
    LZ_TRY(code_of(d, &code));
    lz_text_printf(&dict, "{'descr': '%c%s', 'fortran_order': %s, 'shape': ",
                   lz_dtype_size(d) == 1 ? '|' : OWN_ORDER, code, fortran ? "True" : "False");
    print_shape(sizes, fortran, &dict);
    size_t length = (FIXED + dict.len + 1 + PAD_TO - 1) / PAD_TO * PAD_TO - FIXED;
    lz_text_fill(&dict, ' ', length - 1 - dict.len);
    lz_text_putc(&dict, '\n');
    lz_text_add(out, MAGIC);
    const char rest[] = { 1, 0, (char)(length & 0xff), (char)(length >> 8) };
    lz_text_add(out, (lz_str){ rest, sizeof rest });
    lz_text_add(out, lz_text_view(&dict));
    lz_err *e = lz_text_check(&dict);
    lz_text_deinit(&dict);
    return e ? e : lz_text_check(out);
}
