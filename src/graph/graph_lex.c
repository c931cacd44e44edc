#include "graph/graph_lex.h"
#include <stdarg.h>

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_word(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static char peek(const lz_lexer *l, size_t ahead)
{
    return ahead < l->text.len - l->at ? l->text.ptr[l->at + ahead] : '\0';
}

/* ---- errors ---- */

lz_err *lz_lexer_error(const lz_lexer *l, const lz_token *at, lz_code code, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    lz_err *e = lz_err_vat(code, (lz_loc){ l->file, (int32_t)at->line, (int32_t)at->col }, fmt, ap);
    va_end(ap);
    return e;
}

lz_err *lz_lexer_locate(const lz_lexer *l, const lz_token *at, lz_err *e)
{
    if (!e || lz_err_code(e) == LZ_ERR_MEMORY || lz_err_loc(e).line)
        return e;
    lz_loc loc = { l->file, (int32_t)at->line, (int32_t)at->col };
    return lz_err_reword(e, loc, "%s", lz_err_text(e));
}

enum { SHOWN = 40 }; /* bytes of a token in a message */

lz_err *lz_lexer_expected(const lz_lexer *l, const char *what)
{
    const lz_token *t = &l->tok;
    lz_str text = lz_str_sub(t->text, 0, SHOWN);
    if (t->kind == LZ_TOKEN_END || t->kind == LZ_TOKEN_LINE)
        return lz_lexer_error(l, t, LZ_ERR_SYNTAX, "expected %s, found the end of the %s", what,
                              t->kind == LZ_TOKEN_END ? "text" : "line");
    return lz_lexer_error(l, t, LZ_ERR_SYNTAX, "expected %s, found '%s%.*s'", what,
                          t->kind == LZ_TOKEN_VALUE ? "%" : "", LZ_FMT(text));
}

/* ---- white space ---- */

static void next_line(lz_lexer *l)
{
    l->at++;
    l->line++;
    l->line_start = l->at;
}

static void skip_comment(lz_lexer *l)
{
    size_t from = l->at + 1;
    while (l->at < l->text.len && l->text.ptr[l->at] != '\n')
        l->at++;
    l->comment = lz_str_trim(lz_str_sub(l->text, from, l->at));
}

static void skip_blanks(lz_lexer *l)
{
    while (peek(l, 0) == ' ' || peek(l, 0) == '\t' || peek(l, 0) == '\r')
        l->at++;
    if (peek(l, 0) == '#')
        skip_comment(l);
}

/* Skips from the start of a line to the first line with a token. */
static void skip_empty_lines(lz_lexer *l)
{
    skip_blanks(l);
    while (peek(l, 0) == '\n') {
        next_line(l);
        skip_blanks(l);
    }
    l->comment = (lz_str){ 0 };
    l->indent = (uint32_t)(l->at - l->line_start);
}

/* ---- tokens ---- */

static void begin(lz_lexer *l, lz_token_kind kind)
{
    l->tok = (lz_token){ .kind = kind,
                         .line = l->line,
                         .col = (uint32_t)(l->at - l->line_start) + 1,
                         .indent = l->indent,
                         .text = { l->text.ptr + l->at, 0 } };
}

static void end(lz_lexer *l, size_t len)
{
    l->tok.text.len = len;
    l->at += len;
}

static void read_name(lz_lexer *l)
{
    size_t n = 0;
    begin(l, LZ_TOKEN_NAME);
    while (is_word(peek(l, n)))
        n++;
    end(l, n);
}

bool lz_is_keyword(lz_str name)
{
    static const char *const words[] = { "False", "None",   "NoneType", "True",   "and",   "as",   "assert",
                                         "break", "class",  "continue", "def",    "del",   "elif", "else",
                                         "for",   "global", "if",       "import", "in",    "is",   "not",
                                         "or",    "pass",   "raise",    "return", "while", "with" };
    bool found = false;
    for (size_t i = 0; !found && i < sizeof words / sizeof *words; i++)
        found = lz_str_is(name, words[i]);
    return found;
}

static bool is_number(lz_str s)
{
    size_t i = 0;
    while (i < s.len && is_digit(s.ptr[i]))
        i++;
    return s.len && i == s.len;
}

/* A name is identifiers or integers joined by dots. A name that starts with an integer contains only
 * integers. */
static bool is_name(lz_str s)
{
    bool more = true, ok = true, first = true, number = false;
    while (more && ok) {
        lz_str part = lz_str_cut(&s, LZ_STR("."), &more);
        bool digits = is_number(part);
        number = first ? digits : number;
        ok = part.len && (digits || (!is_digit(part.ptr[0]) && !number && !lz_is_keyword(part)));
        first = false;
    }
    return ok;
}

static lz_err *read_value(lz_lexer *l)
{
    size_t n = 1;
    begin(l, LZ_TOKEN_VALUE);
    while (is_word(peek(l, n)) || peek(l, n) == '.')
        n++;
    end(l, n);
    l->tok.text = lz_str_sub(l->tok.text, 1, n);
    if (n == 1)
        return lz_lexer_error(l, &l->tok, LZ_ERR_SYNTAX, "a name follows '%%'");
    return is_name(l->tok.text)
               ? NULL
               : lz_lexer_error(l, &l->tok, LZ_ERR_SYNTAX,
                                "%%%.*s is no name: expected words and numbers joined by points",
                                LZ_FMT(lz_str_sub(l->tok.text, 0, SHOWN)));
}

/* Requires a digit, or a point and a digit, at the current position. */
static void read_number(lz_lexer *l)
{
    size_t n = 0;
    begin(l, LZ_TOKEN_NUMBER);
    while (is_digit(peek(l, n)))
        n++;
    if (peek(l, n) == '.')
        for (n++; is_digit(peek(l, n));)
            n++;
    if (peek(l, n) == 'e' || peek(l, n) == 'E') {
        size_t sign = peek(l, n + 1) == '-' || peek(l, n + 1) == '+';
        if (is_digit(peek(l, n + 1 + sign)))
            for (n += 2 + sign; is_digit(peek(l, n));)
                n++;
    }
    end(l, n);
}

static lz_err *read_string(lz_lexer *l)
{
    char quote = peek(l, 0);
    size_t n = 1;
    begin(l, LZ_TOKEN_STRING);
    while (l->at + n < l->text.len && peek(l, n) != quote && peek(l, n) != '\n')
        n += peek(l, n) == '\\' && l->at + n + 1 < l->text.len ? 2 : 1;
    if (peek(l, n) != quote)
        return lz_lexer_error(l, &l->tok, LZ_ERR_SYNTAX, "a string is not closed");
    end(l, n + 1);
    return NULL;
}

static void read_punct(lz_lexer *l)
{
    char c = peek(l, 0), d = peek(l, 1);
    bool arrow = c == '-' && d == '>', colons = c == ':' && d == ':';
    begin(l, arrow ? LZ_TOKEN_ARROW : colons ? LZ_TOKEN_COLONS : LZ_TOKEN_PUNCT);
    l->tok.punct = arrow || colons ? '\0' : c;
    l->open += c == '(' || c == '[' || c == '{';
    l->open -= l->open && (c == ')' || c == ']' || c == '}');
    end(l, arrow || colons ? 2 : 1);
}

static void read_line_end(lz_lexer *l)
{
    begin(l, LZ_TOKEN_LINE);
    lz_str comment = l->comment;
    next_line(l);
    skip_empty_lines(l);
    l->comment = comment;
}

lz_err *lz_lexer_next(lz_lexer *l)
{
    if (l->tok.kind != LZ_TOKEN_LINE)
        l->comment = (lz_str){ 0 };
    skip_blanks(l);
    while (l->open && peek(l, 0) == '\n') {
        next_line(l);
        skip_blanks(l);
    }
    if (l->at >= l->text.len) { /* the last line may lack its newline */
        begin(l, l->tok.kind == LZ_TOKEN_LINE || l->tok.kind == LZ_TOKEN_END ? LZ_TOKEN_END : LZ_TOKEN_LINE);
        return NULL;
    }
    char c = peek(l, 0), d = peek(l, 1);
    if (c == '\n')
        read_line_end(l);
    else if (c == '%')
        return read_value(l);
    else if (c == '"' || c == '\'')
        return read_string(l);
    else if (is_digit(c) || (c == '.' && is_digit(d)))
        read_number(l);
    else if (is_word(c))
        read_name(l);
    else
        read_punct(l);
    return NULL;
}

lz_err *lz_lexer_init(lz_lexer *l, const char *file, lz_str text)
{
    *l = (lz_lexer){ .file = file, .text = text, .line = 1 };
    if (text.len >= UINT32_MAX)
        return lz_errf(LZ_ERR_LIMIT, "a graph's text must be shorter than 4 GiB");
    skip_empty_lines(l);
    return lz_lexer_next(l);
}

lz_err *lz_lexer_expect(lz_lexer *l, char punct)
{
    char what[] = { '\'', punct, '\'', '\0' };
    return l->tok.punct == punct ? lz_lexer_next(l) : lz_lexer_expected(l, what);
}

lz_err *lz_lexer_accept(lz_lexer *l, char punct, bool *out)
{
    *out = l->tok.punct == punct;
    return *out ? lz_lexer_next(l) : NULL;
}
