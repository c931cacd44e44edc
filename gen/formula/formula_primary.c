/* The parser of formulas: literals, calls, methods, indices and messages. */
#include "gen/formula/formula_parser.h"

/* ---- strings ---- */

/* Decodes escapes of raw up to `end` into the arena. */
static lz_err *unescape(lzg_parser *p, lz_str raw, lz_loc loc, bool braces, lz_str *out)
{
    static const char from[] = "\\\"'n", to[] = "\\\"'\n";
    char *text = lz_arena_zalloc(p->arena, raw.len + 1);
    size_t n = 0;
    if (!text)
        return lz_err_oom();
    for (size_t i = 0; i < raw.len; i++) {
        char c = raw.ptr[i];
        if (c == '\\') {
            const char *hit = ++i < raw.len && raw.ptr[i] ? strchr(from, raw.ptr[i]) : NULL;
            if (!hit)
                return lz_err_at(LZ_ERR_SYNTAX, loc,
                                 "unknown escape; expected one of \\\\, \\\", \\' and \\n");
            c = to[hit - from];
        }
        i += braces && (c == '{' || c == '}');
        text[n++] = c;
    }
    *out = (lz_str){ text, n };
    return NULL;
}

static lz_err *parse_string(lzg_parser *p, const lzg_expr **out)
{
    lzg_expr proto = { .kind = LZG_EXPR_STR, .loc = p->tok.loc, .at = p->tok.loc };
    LZ_TRY(unescape(p, p->tok.text, p->tok.loc, false, &proto.text));
    LZ_TRY(lzg_parse_advance(p));
    return lzg_parse_make(p, proto, lzg_parse_save(p), out);
}

/* NOLINTBEGIN(misc-no-recursion): formula_parse.c holds it to its bound */

/* The length of the text up to a single brace or the end. */
static size_t plain_length(lz_str raw)
{
    size_t n = 0;
    while (n < raw.len) {
        bool brace = raw.ptr[n] == '{' || raw.ptr[n] == '}';
        bool twice = brace && n + 1 < raw.len && raw.ptr[n + 1] == raw.ptr[n];
        if (brace && !twice)
            break;
        n += twice || raw.ptr[n] == '\\' ? 2 : 1;
    }
    return n < raw.len ? n : raw.len;
}

static lz_err *parse_hole(lzg_parser *p, lzg_lexer at, size_t length)
{
    lzg_lexer outer = p->lex;
    lzg_token tok = p->tok;
    const lzg_expr *e;
    lzg_lexer_skip(&at, 1);
    p->lex = at;
    p->lex.text.len = at.pos + length;
    LZ_TRY(lzg_parse_advance(p));
    LZ_TRY(lzg_parse_expr(p, &e));
    if (p->tok.kind != LZG_TOK_END)
        return lzg_parse_unexpected(p, "'}'");
    p->lex = outer;
    p->tok = tok;
    return lz_vec_push(&p->kids, e);
}

static lz_err *push_text(lzg_parser *p, lz_str raw, lz_loc loc)
{
    lzg_expr proto = { .kind = LZG_EXPR_STR, .loc = loc, .at = loc };
    const lzg_expr *e;
    if (raw.len == 0)
        return NULL;
    LZ_TRY(unescape(p, raw, loc, true, &proto.text));
    LZ_TRY(lzg_parse_make(p, proto, lzg_parse_save(p), &e));
    return lz_vec_push(&p->kids, e);
}

/* "text {expression} text": its parts go onto the stack. */
lz_err *lzg_parse_message(lzg_parser *p)
{
    lz_str raw = p->tok.text;
    lzg_lexer at = p->lex;
    if (p->tok.kind != LZG_TOK_STR || raw.len == 0)
        return lzg_parse_unexpected(p, "a message between double quotes");
    at.pos = (size_t)(raw.ptr - at.text.ptr);
    at.loc = p->tok.loc;
    at.loc.col += at.moves;
    for (size_t n; raw.len > 0; raw = lz_str_sub(raw, n, raw.len)) {
        n = plain_length(raw);
        LZ_TRY(push_text(p, lz_str_sub(raw, 0, n), at.loc));
        lzg_lexer_skip(&at, n);
        if (n == raw.len)
            break;
        size_t close = lz_str_find_char(lz_str_sub(raw, n, raw.len), '}');
        if (raw.ptr[n] != '{' || close == SIZE_MAX)
            return lz_err_at(LZ_ERR_SYNTAX, at.loc, "a single '%c' in a message: write it twice", raw.ptr[n]);
        LZ_TRY(parse_hole(p, at, close - 1));
        lzg_lexer_skip(&at, close + 1);
        n += close + 1;
    }
    return lzg_parse_advance(p);
}

/* ---- calls ---- */

static lz_err *parse_argument(lzg_parser *p, bool *keywords)
{
    const lzg_expr *e;
    lzg_name name = { 0 };
    LZ_TRY(lzg_parse_expr(p, &e));
    if (p->tok.kind == LZG_TOK_ASSIGN) {
        if (e->kind != LZG_EXPR_NAME)
            return lz_err_at(LZ_ERR_SYNTAX, e->loc, "only a name is allowed before '='");
        name = (lzg_name){ e->text, e->loc };
        *keywords = true;
        LZ_TRY(lzg_parse_advance(p));
        LZ_TRY(lzg_parse_expr(p, &e));
    } else if (*keywords) {
        return lz_err_at(LZ_ERR_SYNTAX, e->loc, "a positional argument after a keyword argument");
    }
    LZ_TRY(lz_vec_push(&p->names, name));
    return lz_vec_push(&p->kids, e);
}

/* From after the opening parenthesis to after the closing one. */
static lz_err *parse_arguments(lzg_parser *p)
{
    bool keywords = false, more = p->tok.kind != LZG_TOK_RPAREN;
    while (more) {
        LZ_TRY(parse_argument(p, &keywords));
        LZ_TRY(lzg_parse_accept(p, LZG_TOK_COMMA, &more));
    }
    return lzg_parse_expect(p, LZG_TOK_RPAREN);
}

static lz_err *parse_name(lzg_parser *p, const lzg_expr **out)
{
    lzg_parse_mark m = lzg_parse_save(p);
    lzg_expr proto = { .kind = LZG_EXPR_NAME, .text = p->tok.text, .loc = p->tok.loc, .at = p->tok.loc };
    LZ_TRY(lzg_parse_advance(p));
    for (bool path = true; path;) {
        LZ_TRY(lzg_parse_accept(p, LZG_TOK_PATH, &path));
        if (path) {
            proto.ns = proto.ns.ptr ? proto.ns : proto.text;
            proto.ns.len = (size_t)(proto.text.ptr + proto.text.len - proto.ns.ptr);
            proto.text = p->tok.text;
            LZ_TRY(lzg_parse_expect(p, LZG_TOK_NAME));
        }
    }
    bool call;
    LZ_TRY(lzg_parse_accept(p, LZG_TOK_LPAREN, &call));
    if (!call && proto.ns.ptr)
        return lzg_parse_unexpected(p, "'('");
    if (call) {
        proto.kind = LZG_EXPR_CALL;
        LZ_TRY(parse_arguments(p));
    }
    return lzg_parse_make(p, proto, m, out);
}

/* ---- fold, loop, lists ---- */

static lz_err *parse_state(lzg_parser *p)
{
    for (bool more = true; more;) {
        const lzg_expr *e;
        LZ_TRY(lzg_parse_push_name(p));
        LZ_TRY(lzg_parse_expect(p, LZG_TOK_ASSIGN));
        LZ_TRY(lzg_parse_expr(p, &e));
        LZ_TRY(lz_vec_push(&p->kids, e));
        LZ_TRY(lzg_parse_accept(p, LZG_TOK_COMMA, &more));
    }
    return lzg_parse_expect(p, LZG_TOK_SEMICOLON);
}

static lz_err *parse_next(lzg_parser *p, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (i > 0)
            LZ_TRY(lzg_parse_expect(p, LZG_TOK_COMMA));
        LZ_TRY(lzg_parse_push_expr(p));
    }
    if (p->tok.kind == LZG_TOK_COMMA)
        return lz_err_at(LZ_ERR_SYNTAX, p->tok.loc, "more next values than names with start values");
    return NULL;
}

static lz_err *parse_fold(lzg_parser *p, const lzg_expr **out)
{
    lzg_parse_mark m = lzg_parse_save(p);
    lzg_expr proto = { .kind = LZG_EXPR_FOLD, .loc = p->tok.loc, .at = p->tok.loc };
    LZ_TRY(lzg_parse_advance(p));
    LZ_TRY(lzg_parse_expect(p, LZG_TOK_LPAREN));
    LZ_TRY(parse_state(p));
    size_t n = p->kids.len - m.kids;
    LZ_TRY(lzg_parse_push_name(p));
    LZ_TRY(lzg_parse_expect(p, LZG_TOK_IN));
    LZ_TRY(lzg_parse_push_expr(p));
    LZ_TRY(lzg_parse_expect(p, LZG_TOK_SEMICOLON));
    LZ_TRY(parse_next(p, n));
    LZ_TRY(lzg_parse_expect(p, LZG_TOK_RPAREN));
    return lzg_parse_make(p, proto, m, out);
}

static lz_err *parse_loop(lzg_parser *p, const lzg_expr **out)
{
    lzg_parse_mark m = lzg_parse_save(p);
    lzg_expr proto = { .kind = LZG_EXPR_LOOP, .loc = p->tok.loc, .at = p->tok.loc };
    LZ_TRY(lzg_parse_advance(p));
    LZ_TRY(lzg_parse_expect(p, LZG_TOK_LPAREN));
    LZ_TRY(parse_state(p));
    size_t n = p->kids.len - m.kids;
    LZ_TRY(lzg_parse_push_expr(p));
    LZ_TRY(lzg_parse_expect(p, LZG_TOK_SEMICOLON));
    LZ_TRY(parse_next(p, n));
    LZ_TRY(lzg_parse_expect(p, LZG_TOK_SEMICOLON));
    proto.integer = p->tok.integer;
    if (p->tok.kind != LZG_TOK_INT || proto.integer == 0)
        return lzg_parse_unexpected(p, "the most turns, a positive integer,");
    LZ_TRY(lzg_parse_advance(p));
    LZ_TRY(lzg_parse_expect(p, LZG_TOK_RPAREN));
    return lzg_parse_make(p, proto, m, out);
}

static lz_err *parse_for(lzg_parser *p, lzg_expr *proto)
{
    bool filter;
    proto->kind = LZG_EXPR_MAP;
    LZ_TRY(lzg_parse_advance(p));
    LZ_TRY(lzg_parse_push_name(p));
    LZ_TRY(lzg_parse_expect(p, LZG_TOK_IN));
    LZ_TRY(lzg_parse_push_expr(p));
    LZ_TRY(lzg_parse_accept(p, LZG_TOK_IF, &filter));
    return filter ? lzg_parse_push_expr(p) : lz_vec_push(&p->kids, NULL);
}

static lz_err *parse_list(lzg_parser *p, const lzg_expr **out)
{
    lzg_parse_mark m = lzg_parse_save(p);
    lzg_expr proto = { .kind = LZG_EXPR_LIST, .loc = p->tok.loc, .at = p->tok.loc };
    LZ_TRY(lzg_parse_advance(p));
    bool more = p->tok.kind != LZG_TOK_RBRACKET;
    while (more) {
        LZ_TRY(lzg_parse_push_expr(p));
        LZ_TRY(lzg_parse_accept(p, LZG_TOK_COMMA, &more));
    }
    if (p->tok.kind == LZG_TOK_FOR && p->kids.len - m.kids == 1)
        LZ_TRY(parse_for(p, &proto));
    LZ_TRY(lzg_parse_expect(p, LZG_TOK_RBRACKET));
    return lzg_parse_make(p, proto, m, out);
}

/* A block, or a tuple. */
static lz_err *parse_parentheses(lzg_parser *p, const lzg_expr **out)
{
    lzg_parse_mark m = lzg_parse_save(p);
    lzg_expr proto = { .kind = LZG_EXPR_TUPLE, .loc = p->tok.loc, .at = p->tok.loc };
    bool more;
    LZ_TRY(lzg_parse_advance(p));
    LZ_TRY(lzg_parse_block(p, out));
    if (p->tok.kind != LZG_TOK_COMMA)
        return lzg_parse_expect(p, LZG_TOK_RPAREN);
    if ((*out)->kind == LZG_EXPR_LET || (*out)->kind == LZG_EXPR_CHECK)
        return lzg_parse_unexpected(p, "')'");
    LZ_TRY(lz_vec_push(&p->kids, *out));
    LZ_TRY(lzg_parse_advance(p));
    do {
        LZ_TRY(lzg_parse_push_expr(p));
        LZ_TRY(lzg_parse_accept(p, LZG_TOK_COMMA, &more));
    } while (more);
    LZ_TRY(lzg_parse_expect(p, LZG_TOK_RPAREN));
    return lzg_parse_make(p, proto, m, out);
}

/* ---- primaries ---- */

static lz_err *parse_literal(lzg_parser *p, const lzg_expr **out)
{
    static const lzg_expr_kind kinds[LZG_TOK_COUNT] = {
        [LZG_TOK_INT] = LZG_EXPR_INT,    [LZG_TOK_FLOAT] = LZG_EXPR_FLOAT, [LZG_TOK_TRUE] = LZG_EXPR_BOOL,
        [LZG_TOK_FALSE] = LZG_EXPR_BOOL, [LZG_TOK_NONE] = LZG_EXPR_NONE,
    };
    lzg_expr proto = { .kind = kinds[p->tok.kind],
                       .loc = p->tok.loc,
                       .at = p->tok.loc,
                       .truth = p->tok.kind == LZG_TOK_TRUE,
                       .integer = p->tok.integer,
                       .real = p->tok.real };
    LZ_TRY(lzg_parse_advance(p));
    return lzg_parse_make(p, proto, lzg_parse_save(p), out);
}

static lz_err *(*const primaries[LZG_TOK_COUNT])(lzg_parser *p, const lzg_expr **out) = {
    [LZG_TOK_INT] = parse_literal,   [LZG_TOK_FLOAT] = parse_literal,      [LZG_TOK_TRUE] = parse_literal,
    [LZG_TOK_FALSE] = parse_literal, [LZG_TOK_NONE] = parse_literal,       [LZG_TOK_STR] = parse_string,
    [LZG_TOK_NAME] = parse_name,     [LZG_TOK_LPAREN] = parse_parentheses, [LZG_TOK_LBRACKET] = parse_list,
    [LZG_TOK_FOLD] = parse_fold,     [LZG_TOK_LOOP] = parse_loop,
};

/* .name or .name(arguments) */
static lz_err *parse_member(lzg_parser *p, const lzg_expr *whose, const lzg_expr **out)
{
    lzg_parse_mark m = lzg_parse_save(p);
    bool call;
    LZ_TRY(lzg_parse_advance(p));
    lzg_expr proto = { .kind = LZG_EXPR_ATTR, .text = p->tok.text, .loc = whose->loc, .at = p->tok.loc };
    LZ_TRY(lzg_parse_expect(p, LZG_TOK_NAME));
    LZ_TRY(lz_vec_push(&p->kids, whose));
    LZ_TRY(lzg_parse_accept(p, LZG_TOK_LPAREN, &call));
    if (call) {
        proto.kind = LZG_EXPR_METHOD;
        LZ_TRY(lz_vec_push(&p->names, (lzg_name){ 0 }));
        LZ_TRY(parse_arguments(p));
    }
    return lzg_parse_make(p, proto, m, out);
}

/* [index] or [from:to] */
static lz_err *parse_subscript(lzg_parser *p, const lzg_expr *whose, const lzg_expr **out)
{
    lzg_expr proto = { .kind = LZG_EXPR_INDEX, .loc = whose->loc, .at = p->tok.loc };
    const lzg_expr *kids[3] = { whose };
    bool slice;
    LZ_TRY(lzg_parse_advance(p));
    if (p->tok.kind != LZG_TOK_COLON)
        LZ_TRY(lzg_parse_expr(p, &kids[1]));
    LZ_TRY(lzg_parse_accept(p, LZG_TOK_COLON, &slice));
    if (slice && p->tok.kind != LZG_TOK_RBRACKET)
        LZ_TRY(lzg_parse_expr(p, &kids[2]));
    LZ_TRY(lzg_parse_expect(p, LZG_TOK_RBRACKET));
    if (slice)
        proto.kind = LZG_EXPR_SLICE;
    return lzg_parse_make_of(p, proto, kids, slice ? 3 : 2, out);
}

lz_err *lzg_parse_postfix(lzg_parser *p, const lzg_expr **out)
{
    lz_err *(*primary)(lzg_parser *, const lzg_expr **) = primaries[p->tok.kind];
    if (!primary)
        return lzg_parse_unexpected(p, "an expression");
    LZ_TRY(primary(p, out));
    while (p->tok.kind == LZG_TOK_DOT || p->tok.kind == LZG_TOK_LBRACKET) {
        if (p->tok.kind == LZG_TOK_DOT)
            LZ_TRY(parse_member(p, *out, out));
        else
            LZ_TRY(parse_subscript(p, *out, out));
    }
    return NULL;
}

/* NOLINTEND(misc-no-recursion) */
