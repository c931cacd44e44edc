#include "gen/formula/formula_lex.h"
#include "base/number.h"

#define X(name, spelling) [LZG_TOK_##name] = spelling,
static const char *const spellings[LZG_TOK_COUNT] = { LZG_PUNCTUATION(X) LZG_KEYWORDS(X) };
#undef X

#define X(name, spelling) [LZG_TOK_##name] = "'" spelling "'",
static const char *const kind_names[LZG_TOK_COUNT] = {
    [LZG_TOK_END] = "the end",    [LZG_TOK_NAME] = "a name",  [LZG_TOK_INT] = "a number",
    [LZG_TOK_FLOAT] = "a number", [LZG_TOK_STR] = "a string", LZG_PUNCTUATION(X) LZG_KEYWORDS(X)
};
#undef X

const char *lzg_token_kind_name(lzg_token_kind kind)
{
    return kind_names[kind];
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/* 0 after the end: NUL is in no token. */
static char peek(const lzg_lexer *l, size_t ahead)
{
    return l->pos + ahead < l->text.len ? l->text.ptr[l->pos + ahead] : 0;
}

void lzg_lexer_skip(lzg_lexer *l, size_t n)
{
    for (; n > 0 && l->pos < l->text.len; n--, l->pos++) {
        char c = l->text.ptr[l->pos];
        if (!l->moves)
            continue;
        if (c == '\n') {
            l->loc.line++;
            l->loc.col = l->indent;
        } else {
            l->loc.col += ((unsigned char)c & 0xc0) != 0x80;
        }
    }
}

static void skip_blanks(lzg_lexer *l)
{
    for (char c = peek(l, 0); c == ' ' || c == '\n' || c == '\t' || c == '#'; c = peek(l, 0)) {
        size_t n = 1;
        while (c == '#' && l->pos + n < l->text.len && l->text.ptr[l->pos + n] != '\n')
            n++;
        lzg_lexer_skip(l, n);
    }
}

static void take(lzg_lexer *l, lzg_token_kind kind, size_t n, lzg_token *out)
{
    out->kind = kind;
    out->text = lz_str_sub(l->text, l->pos, l->pos + n);
    lzg_lexer_skip(l, n);
}

static size_t digits(const lzg_lexer *l, size_t from)
{
    size_t n = from;
    while (is_digit(peek(l, n)))
        n++;
    return n - from;
}

/* The length of the exponent at `from`; 0: there is none. */
static size_t exponent(const lzg_lexer *l, size_t from)
{
    if (peek(l, from) != 'e' && peek(l, from) != 'E')
        return 0;
    size_t sign = peek(l, from + 1) == '+' || peek(l, from + 1) == '-', n = digits(l, from + 1 + sign);
    return n ? 1 + sign + n : 0;
}

static lz_err *lex_number(lzg_lexer *l, lzg_token *out)
{
    size_t whole = digits(l, 0), fraction = peek(l, whole) == '.' ? digits(l, whole + 1) : 0;
    size_t n = whole + (fraction ? 1 + fraction : 0), exp = exponent(l, n);
    bool real = fraction || exp;
    n += exp;
    lz_str text = lz_str_sub(l->text, l->pos, l->pos + n);
    if (is_letter(peek(l, n)) || (peek(l, n) == '.' && !is_letter(peek(l, n + 1))))
        return lz_err_at(LZ_ERR_SYNTAX, l->loc, "malformed number '%.*s%c'", LZ_FMT(text), peek(l, n));
    if (whole > 1 && text.ptr[0] == '0')
        return lz_err_at(LZ_ERR_SYNTAX, l->loc, "a number with a leading 0");
    bool good = real ? lz_double_parse(text, &out->real) : lz_int64_parse(text, &out->integer);
    if (!good || out->real - out->real != 0)
        return lz_err_at(LZ_ERR_SYNTAX, l->loc, "the number '%.*s' is too large", LZ_FMT(text));
    take(l, real ? LZG_TOK_FLOAT : LZG_TOK_INT, n, out);
    return NULL;
}

static void lex_name(lzg_lexer *l, lzg_token *out)
{
    size_t n = 1;
    while (is_letter(peek(l, n)) || is_digit(peek(l, n)))
        n++;
    take(l, LZG_TOK_NAME, n, out);
    for (int kind = LZG_TOK_LET; kind <= LZG_TOK_FALSE; kind++)
        if (spellings[kind][0] == out->text.ptr[0] && lz_str_is(out->text, spellings[kind]))
            out->kind = (lzg_token_kind)kind;
}

static lz_err *lex_string(lzg_lexer *l, lzg_token *out)
{
    char quote = peek(l, 0);
    size_t n = 0;
    lzg_lexer_skip(l, 1);
    for (; l->pos + n < l->text.len && peek(l, n) != quote && peek(l, n) != '\n'; n++)
        n += peek(l, n) == '\\';
    if (l->pos + n >= l->text.len || peek(l, n) != quote)
        return lz_err_at(LZ_ERR_SYNTAX, out->loc, "a string without an end");
    take(l, LZG_TOK_STR, n, out);
    lzg_lexer_skip(l, 1);
    return NULL;
}

static lz_err *lex_punctuation(lzg_lexer *l, lzg_token *out)
{
    lz_str rest = lz_str_sub(l->text, l->pos, l->text.len);
    for (int kind = LZG_TOK_POW; kind <= LZG_TOK_QUESTION; kind++)
        if (spellings[kind][0] == rest.ptr[0] && lz_str_starts(rest, lz_str_of(spellings[kind]))) {
            take(l, (lzg_token_kind)kind, strlen(spellings[kind]), out);
            return NULL;
        }
    unsigned char c = (unsigned char)rest.ptr[0];
    if (c == '\'')
        return lz_err_at(LZ_ERR_SYNTAX, l->loc, "strings are written in double quotes");
    if (c <= ' ' || c >= 0x7f)
        return lz_err_at(LZ_ERR_SYNTAX, l->loc, "unexpected character 0x%02x", c);
    return lz_err_at(LZ_ERR_SYNTAX, l->loc, "unexpected character '%c'", c);
}

lz_err *lzg_lexer_next(lzg_lexer *l, lzg_token *out)
{
    skip_blanks(l);
    *out = (lzg_token){ .kind = LZG_TOK_END, .loc = l->loc };
    if (l->pos >= l->text.len)
        return NULL;
    char c = peek(l, 0);
    if (is_digit(c))
        return lex_number(l, out);
    if (c == '"' || (c == '\'' && l->single_quotes))
        return lex_string(l, out);
    if (!is_letter(c))
        return lex_punctuation(l, out);
    lex_name(l, out);
    return NULL;
}
