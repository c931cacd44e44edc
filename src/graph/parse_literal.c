/* Parses literals in the graph's text, the values of attributes. */
#include "base/number.h"
#include "base/vec.h"
#include "graph/graph_parse.h"

typedef struct reader {
    lz_lexer *l;
    lz_type_table *t;
    int depth;
} reader;

static lz_err *read_value(reader *r, lz_script_value *out);

/* ---- numbers ---- */

static bool is_number(const lz_token *t)
{
    return t->kind == LZ_TOKEN_NUMBER || lz_token_names(t, "inf") || lz_token_names(t, "nan");
}

/* A number without its sign; an int if it has neither point nor exponent. */
static lz_err *read_unsigned(reader *r, bool negative, lz_script_value *out)
{
    lz_token t = r->l->tok;
    double f;
    uint64_t i, most = (uint64_t)INT64_MAX + negative;
    if (!is_number(&t) || !lz_double_parse(t.text, &f))
        return lz_lexer_expected(r->l, "a number");
    bool whole = lz_str_find_char(t.text, '.') == SIZE_MAX && lz_str_find_char(t.text, 'e') == SIZE_MAX
                 && lz_str_find_char(t.text, 'E') == SIZE_MAX && t.kind == LZ_TOKEN_NUMBER;
    if (whole && (!lz_uint64_parse(t.text, &i) || i > most))
        return lz_lexer_error(r->l, &t, LZ_ERR_LIMIT, "the int does not fit in 64 bits");
    if (whole)
        *out = lz_script_value_int((int64_t)(negative ? 0 - i : i));
    else
        *out = lz_script_value_float(negative ? -f : f);
    return lz_lexer_next(r->l);
}

static lz_err *read_number(reader *r, lz_script_value *out)
{
    bool negative;
    LZ_TRY(lz_lexer_accept(r->l, '-', &negative));
    return read_unsigned(r, negative, out);
}

/* ---- strings ---- */

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Decodes the escape after a backslash and moves *at past it. False: unknown escape. */
static bool unescape(lz_str s, size_t *at, char *out)
{
    static const char letters[] = "\\'\"abfnrtv", plain[] = "\\'\"\a\b\f\n\r\t\v";
    char c = *at < s.len ? s.ptr[(*at)++] : '\0';
    const char *simple = c ? strchr(letters, c) : NULL;
    if (simple) {
        *out = plain[simple - letters];
        return true;
    }
    bool hex = c == 'x';
    int base = hex ? 16 : 8, most = hex ? 2 : 3, value = 0, n = 0;
    for (*at -= !hex && c; n < most && *at < s.len; n++, (*at)++) {
        int d = hex_digit(s.ptr[*at]);
        if (d < 0 || d >= base)
            break;
        value = value * base + d;
    }
    *out = (char)value;
    return n > 0 && value < 256 && (!hex || n == 2);
}

static lz_err *read_string(reader *r, lz_script_value *out)
{
    lz_token t = r->l->tok;
    lz_str s = lz_str_sub(t.text, 1, t.text.len - 1);
    lz_text text = { 0 };
    bool ok = true;
    for (size_t i = 0; ok && i < s.len;) {
        char c = s.ptr[i++];
        ok = c != '\\' || unescape(s, &i, &c);
        lz_text_putc(&text, c);
    }
    lz_err *e =
        ok ? lz_text_check(&text) : lz_lexer_error(r->l, &t, LZ_ERR_SYNTAX, "unknown escape in a string");
    e = e ? e : lz_script_value_str(lz_text_view(&text), out);
    lz_text_deinit(&text);
    if (e)
        return e;
    e = lz_lexer_next(r->l);
    if (e)
        lz_script_value_release(*out);
    return e;
}

/* ---- lists, tuples ---- */

/* NOLINTNEXTLINE(misc-no-recursion): LZ_TYPE_DEPTH deep at most */
static lz_err *read_items(reader *r, char close, lz_script_value list)
{
    bool more = !lz_token_is(&r->l->tok, close);
    while (more) {
        lz_script_value v;
        LZ_TRY(read_value(r, &v));
        LZ_TRY(lz_script_value_push(list, v));
        LZ_TRY(lz_lexer_accept(r->l, ',', &more));
        more = more && !lz_token_is(&r->l->tok, close); /* (1,) */
    }
    return lz_lexer_expect(r->l, close);
}

/* NOLINTNEXTLINE(misc-no-recursion): LZ_TYPE_DEPTH deep at most */
static lz_err *read_sequence(reader *r, bool tuple, lz_script_value *out)
{
    LZ_TRY(lz_lexer_next(r->l));
    LZ_TRY(lz_script_value_list_make(0, out));
    lz_err *e = read_items(r, tuple ? ')' : ']', *out);
    if (e)
        lz_script_value_release(*out);
    else if (tuple)
        out->list->box.kind = out->kind = LZ_SCRIPT_VALUE_TUPLE;
    return e;
}

/* ---- braces: a dict, or the elements of a tensor ---- */

/* NOLINTNEXTLINE(misc-no-recursion): LZ_TYPE_DEPTH deep at most */
static lz_err *read_pairs(reader *r, lz_script_value key, lz_script_value dict)
{
    lz_token at = r->l->tok;
    for (bool more = true; more;) {
        lz_script_value value = lz_script_value_none();
        lz_err *e = lz_lexer_expect(r->l, ':');
        e = e ? e : read_value(r, &value);
        if (e) {
            lz_script_value_release(key);
            return e;
        }
        LZ_TRY(lz_lexer_locate(r->l, &at, lz_script_value_dict_put(dict, key, value)));
        LZ_TRY(lz_lexer_accept(r->l, ',', &more));
        at = r->l->tok;
        if (more)
            LZ_TRY(read_value(r, &key));
    }
    return lz_lexer_expect(r->l, '}');
}

typedef LZ_VEC(lz_scalar) scalars;

/* 1, -2.5, inf, 1+2j: the first part has been read. */
static lz_err *add_element(reader *r, lz_script_value first, bool negative_zero, scalars *out)
{
    lz_scalar s = first.kind == LZ_SCRIPT_VALUE_INT ? lz_scalar_int(first.i) : lz_scalar_float(first.f);
    char sign = r->l->tok.punct;
    if (negative_zero)
        s = lz_scalar_float(-0.0);
    if (sign == '+' || sign == '-') {
        lz_script_value im = lz_script_value_none();
        LZ_TRY(lz_lexer_next(r->l));
        LZ_TRY(read_unsigned(r, sign == '-', &im));
        if (!lz_token_names(&r->l->tok, "j"))
            return lz_lexer_expected(r->l, "the j of a complex number");
        LZ_TRY(lz_lexer_next(r->l));
        s = lz_scalar_complex(s.kind == LZ_SCALAR_INT ? (double)s.i : s.re,
                              im.kind == LZ_SCRIPT_VALUE_INT ? (double)im.i : im.f);
    }
    return lz_vec_push(out, s);
}

/* -0 is the int 0 in Python; in an array of floats it is -0.0. */
static lz_err *read_element(reader *r, scalars *out)
{
    bool negative;
    lz_script_value v = lz_script_value_none();
    LZ_TRY(lz_lexer_accept(r->l, '-', &negative));
    LZ_TRY(read_unsigned(r, negative, &v));
    return add_element(r, v, negative && v.kind == LZ_SCRIPT_VALUE_INT && v.i == 0, out);
}

static lz_err *make_array(const scalars *v, lz_script_value *out)
{
    lz_scalar_kind widest = LZ_SCALAR_INT;
    int64_t n = (int64_t)v->len;
    for (size_t i = 0; i < v->len; i++)
        widest = v->data[i].kind > widest ? v->data[i].kind : widest;
    lz_dtype d = widest == LZ_SCALAR_INT ? LZ_I64 : widest == LZ_SCALAR_FLOAT ? LZ_F64 : LZ_C128;
    LZ_TRY(lz_script_value_array_make(d, (lz_ints){ &n, 1 }, false, out));
    for (size_t i = 0; i < v->len; i++)
        lz_array_set(&out->array->array, (int64_t)i, v->data[i]);
    return NULL;
}

static lz_err *read_elements(reader *r, lz_script_value *out)
{
    scalars v = { 0 };
    lz_err *e = NULL;
    for (bool more = true; !e && more;) {
        e = read_element(r, &v);
        e = e ? e : lz_lexer_accept(r->l, ',', &more);
    }
    e = e ? e : lz_lexer_expect(r->l, '}');
    e = e ? e : make_array(&v, out);
    lz_vec_deinit(&v);
    return e;
}

/* Is the number at the current token the key of a dict? Looks ahead. */
static lz_err *is_key(const reader *r, bool *out)
{
    lz_lexer ahead = *r->l;
    bool sign;
    *out = false;
    LZ_TRY(lz_lexer_accept(&ahead, '-', &sign));
    if (!is_number(&ahead.tok))
        return NULL;
    LZ_TRY(lz_lexer_next(&ahead));
    *out = lz_token_is(&ahead.tok, ':');
    return NULL;
}

/* NOLINTNEXTLINE(misc-no-recursion): LZ_TYPE_DEPTH deep at most */
static lz_err *read_dict(reader *r, lz_script_value *out)
{
    bool empty;
    lz_err *e = NULL;
    LZ_TRY(lz_script_value_dict_make(out));
    e = lz_lexer_accept(r->l, '}', &empty);
    if (!e && !empty) {
        lz_script_value key;
        e = read_value(r, &key);
        e = e ? e : read_pairs(r, key, *out);
    }
    if (e)
        lz_script_value_release(*out);
    return e;
}

/* NOLINTNEXTLINE(misc-no-recursion): LZ_TYPE_DEPTH deep at most */
static lz_err *read_braces(reader *r, lz_script_value *out)
{
    bool key;
    LZ_TRY(lz_lexer_next(r->l));
    LZ_TRY(is_key(r, &key));
    if (!key && (is_number(&r->l->tok) || lz_token_is(&r->l->tok, '-')))
        return read_elements(r, out);
    return read_dict(r, out);
}

/* ---- other literals ---- */

/* <Tensor>: a tensor whose elements are stored elsewhere. Its type gives the sizes. */
static lz_err *read_absent(reader *r, lz_script_value *out)
{
    const int64_t none = 0;
    LZ_TRY(lz_lexer_next(r->l));
    if (!lz_token_names(&r->l->tok, "Tensor"))
        return lz_lexer_expected(r->l, "<Tensor>");
    LZ_TRY(lz_lexer_next(r->l));
    LZ_TRY(lz_lexer_expect(r->l, '>'));
    return lz_script_value_array_make(LZ_F64, (lz_ints){ &none, 1 }, true, out);
}

/* annotate(List[int], []): the type is that of the node's output, so it is skipped. */
/* NOLINTNEXTLINE(misc-no-recursion): LZ_TYPE_DEPTH deep at most */
static lz_err *read_annotated(reader *r, lz_script_value *out)
{
    LZ_TRY(lz_lexer_next(r->l));
    LZ_TRY(lz_lexer_expect(r->l, '('));
    for (uint32_t outside = r->l->open; r->l->open > outside || !lz_token_is(&r->l->tok, ',');) {
        if (r->l->open < outside || r->l->tok.kind == LZ_TOKEN_LINE || r->l->tok.kind == LZ_TOKEN_END)
            return lz_lexer_expected(r->l, "a type and a value");
        LZ_TRY(lz_lexer_next(r->l));
    }
    LZ_TRY(lz_lexer_next(r->l));
    LZ_TRY(read_value(r, out));
    lz_err *e = lz_lexer_expect(r->l, ')');
    if (e)
        lz_script_value_release(*out);
    return e;
}

static lz_err *read_word(reader *r, lz_script_value *out)
{
    if (lz_token_names(&r->l->tok, "None"))
        *out = lz_script_value_none();
    else if (lz_token_names(&r->l->tok, "True") || lz_token_names(&r->l->tok, "False"))
        *out = lz_script_value_bool(lz_token_names(&r->l->tok, "True"));
    else
        return lz_lexer_expected(r->l, "a value");
    return lz_lexer_next(r->l);
}

/* NOLINTNEXTLINE(misc-no-recursion): LZ_TYPE_DEPTH deep at most */
static lz_err *read_nested(reader *r, lz_script_value *out)
{
    char c = r->l->tok.punct;
    if (c == '[' || c == '(')
        return read_sequence(r, c == '(', out);
    if (c == '{')
        return read_braces(r, out);
    return c == '<' ? read_absent(r, out) : read_annotated(r, out);
}

/* NOLINTNEXTLINE(misc-no-recursion): LZ_TYPE_DEPTH deep at most */
static lz_err *read_value(reader *r, lz_script_value *out)
{
    const lz_token *t = &r->l->tok;
    if (t->kind == LZ_TOKEN_STRING)
        return read_string(r, out);
    if (is_number(t) || t->punct == '-')
        return read_number(r, out);
    if (!(t->punct && strchr("[({<", t->punct)) && !lz_token_names(t, "annotate"))
        return read_word(r, out);
    if (r->depth == LZ_TYPE_DEPTH)
        return lz_lexer_error(r->l, t, LZ_ERR_LIMIT, "a literal is nested more than %d deep", LZ_TYPE_DEPTH);
    r->depth++;
    lz_err *e = read_nested(r, out);
    r->depth--;
    return e;
}

static bool is_word(const lz_token *t)
{
    static const char *const words[] = { "None", "True", "False", "annotate", "inf", "nan" };
    bool found = t->kind != LZ_TOKEN_NAME;
    for (size_t i = 0; !found && i < sizeof words / sizeof *words; i++)
        found = lz_token_names(t, words[i]);
    return found;
}

lz_err *lz_parse_literal(lz_lexer *l, lz_type_table *t, lz_script_value *out, const lz_type **type)
{
    reader r = { .l = l, .t = t };
    lz_script_value v = lz_script_value_none();
    *type = NULL;
    *out = v;
    LZ_TRY(is_word(&l->tok) ? read_value(&r, &v) : lz_parse_type(l, t, type));
    *out = v;
    return NULL;
}
