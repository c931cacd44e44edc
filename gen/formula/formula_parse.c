#include "base/vec.h"
#include "gen/formula/formula.h"
#include "gen/formula/formula_lex.h"

enum { CALLS_MAX = 3 * LZG_FORMULA_DEPTH }; /* a pair of parentheses takes three */

typedef struct parser {
    lz_arena *arena;
    lzg_lexer lex;
    lzg_token tok; /* the next one */
    int depth;
    LZ_VEC(const lzg_expr *) kids; /* finished nodes whose parents are not */
    LZ_VEC(lzg_name) names;
} parser;

/* How much of the two stacks belongs to others. */
typedef struct mark {
    size_t kids, names;
} mark;

static mark save(const parser *p)
{
    return (mark){ p->kids.len, p->names.len };
}

/* ---- nodes ---- */

static uint16_t height_of(const parser *p, mark m)
{
    uint16_t height = 0;
    for (size_t i = m.kids; i < p->kids.len; i++)
        if (p->kids.data[i] && p->kids.data[i]->height > height)
            height = p->kids.data[i]->height;
    return (uint16_t)(height + 1);
}

static lz_err *too_deep(lz_loc loc)
{
    return lz_err_at(LZ_ERR_LIMIT, loc, "nested more than %d deep", LZG_FORMULA_DEPTH);
}

/* A node like `proto`, with what lies on the stacks above the mark. */
static lz_err *make(parser *p, lzg_expr proto, mark m, const lzg_expr **out)
{
    const lzg_expr **kids;
    lzg_name *names;
    lzg_expr *e;
    proto.nkids = p->kids.len - m.kids;
    proto.nnames = p->names.len - m.names;
    proto.height = height_of(p, m);
    if (proto.height > LZG_FORMULA_DEPTH)
        return too_deep(proto.loc);
    LZ_TRY(lz_arena_new(p->arena, &kids, proto.nkids));
    LZ_TRY(lz_arena_new(p->arena, &names, proto.nnames));
    LZ_TRY(lz_arena_new(p->arena, &e, 1));
    if (proto.nkids)
        memcpy(kids, p->kids.data + m.kids, proto.nkids * sizeof *kids);
    if (proto.nnames)
        memcpy(names, p->names.data + m.names, proto.nnames * sizeof *names);
    proto.kids = kids;
    proto.names = names;
    *e = proto;
    p->kids.len = m.kids;
    p->names.len = m.names;
    *out = e;
    return NULL;
}

/* The same with the kids given. */
static lz_err *make_of(parser *p, lzg_expr proto, const lzg_expr *const *kids, size_t n, const lzg_expr **out)
{
    mark m = save(p);
    for (size_t i = 0; i < n; i++)
        LZ_TRY(lz_vec_push(&p->kids, kids[i]));
    return make(p, proto, m, out);
}

/* ---- tokens ---- */

static lz_err *advance(parser *p)
{
    return lzg_lexer_next(&p->lex, &p->tok);
}

static lz_err *unexpected(const parser *p, const char *wanted)
{
    lz_str t = p->tok.text;
    if (p->tok.kind == LZG_TOK_END)
        return lz_err_at(LZ_ERR_SYNTAX, p->tok.loc, "%s is due at the end", wanted);
    if (p->tok.kind == LZG_TOK_STR)
        return lz_err_at(LZ_ERR_SYNTAX, p->tok.loc, "%s is due instead of a string", wanted);
    return lz_err_at(LZ_ERR_SYNTAX, p->tok.loc, "%s is due instead of '%.*s'", wanted, LZ_FMT(t));
}

static lz_err *expect(parser *p, lzg_token_kind kind)
{
    return p->tok.kind == kind ? advance(p) : unexpected(p, lzg_token_kind_name(kind));
}

static lz_err *accept(parser *p, lzg_token_kind kind, bool *out)
{
    *out = p->tok.kind == kind;
    return *out ? advance(p) : NULL;
}

static lz_err *push_name(parser *p)
{
    lzg_name name = { p->tok.text, p->tok.loc };
    LZ_TRY(expect(p, LZG_TOK_NAME));
    return lz_vec_push(&p->names, name);
}

/* ---- strings ---- */

/* Decodes escapes of raw up to `end` into the arena. */
static lz_err *unescape(parser *p, lz_str raw, lz_loc loc, bool braces, lz_str *out)
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
                return lz_err_at(LZ_ERR_SYNTAX, loc, "an escape other than \\\\, \\\", \\' and \\n");
            c = to[hit - from];
        }
        i += braces && (c == '{' || c == '}');
        text[n++] = c;
    }
    *out = (lz_str){ text, n };
    return NULL;
}

static lz_err *parse_string(parser *p, const lzg_expr **out)
{
    lzg_expr proto = { .kind = LZG_EXPR_STR, .loc = p->tok.loc, .at = p->tok.loc };
    LZ_TRY(unescape(p, p->tok.text, p->tok.loc, false, &proto.text));
    LZ_TRY(advance(p));
    return make(p, proto, save(p), out);
}

/* NOLINTBEGIN(misc-no-recursion): enter() holds it to CALLS_MAX */

static lz_err *parse_expr(parser *p, const lzg_expr **out);
static lz_err *parse_block(parser *p, const lzg_expr **out);
static lz_err *parse_unary(parser *p, const lzg_expr **out);

static lz_err *enter(parser *p)
{
    return ++p->depth > CALLS_MAX ? too_deep(p->tok.loc) : NULL;
}

/* How far the text at hand runs: to a single brace or the end. */
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

static lz_err *parse_hole(parser *p, lzg_lexer at, size_t length)
{
    lzg_lexer outer = p->lex;
    lzg_token tok = p->tok;
    const lzg_expr *e;
    lzg_lexer_skip(&at, 1);
    p->lex = at;
    p->lex.text.len = at.pos + length;
    LZ_TRY(advance(p));
    LZ_TRY(parse_expr(p, &e));
    if (p->tok.kind != LZG_TOK_END)
        return unexpected(p, "'}'");
    p->lex = outer;
    p->tok = tok;
    return lz_vec_push(&p->kids, e);
}

static lz_err *push_text(parser *p, lz_str raw, lz_loc loc)
{
    lzg_expr proto = { .kind = LZG_EXPR_STR, .loc = loc, .at = loc };
    const lzg_expr *e;
    if (raw.len == 0)
        return NULL;
    LZ_TRY(unescape(p, raw, loc, true, &proto.text));
    LZ_TRY(make(p, proto, save(p), &e));
    return lz_vec_push(&p->kids, e);
}

/* "text {expression} text": its parts go onto the stack. */
static lz_err *parse_message(parser *p)
{
    lz_str raw = p->tok.text;
    lzg_lexer at = p->lex;
    if (p->tok.kind != LZG_TOK_STR || raw.len == 0)
        return unexpected(p, "a message between double quotes");
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
            return lz_err_at(LZ_ERR_SYNTAX, at.loc, "a single '%c' in a message", raw.ptr[n]);
        LZ_TRY(parse_hole(p, at, close - 1));
        lzg_lexer_skip(&at, close + 1);
        n += close + 1;
    }
    return advance(p);
}

/* ---- calls ---- */

static lz_err *parse_argument(parser *p, bool *keywords)
{
    const lzg_expr *e;
    lzg_name name = { 0 };
    LZ_TRY(parse_expr(p, &e));
    if (p->tok.kind == LZG_TOK_ASSIGN) {
        if (e->kind != LZG_EXPR_NAME)
            return lz_err_at(LZ_ERR_SYNTAX, e->loc, "only a name can stand before '='");
        name = (lzg_name){ e->text, e->loc };
        *keywords = true;
        LZ_TRY(advance(p));
        LZ_TRY(parse_expr(p, &e));
    } else if (*keywords) {
        return lz_err_at(LZ_ERR_SYNTAX, e->loc, "a positional argument behind a keyword argument");
    }
    LZ_TRY(lz_vec_push(&p->names, name));
    return lz_vec_push(&p->kids, e);
}

/* From behind the opening parenthesis to behind the closing one. */
static lz_err *parse_arguments(parser *p)
{
    bool keywords = false, more = p->tok.kind != LZG_TOK_RPAREN;
    while (more) {
        LZ_TRY(parse_argument(p, &keywords));
        LZ_TRY(accept(p, LZG_TOK_COMMA, &more));
    }
    return expect(p, LZG_TOK_RPAREN);
}

static lz_err *parse_name(parser *p, const lzg_expr **out)
{
    mark m = save(p);
    lzg_expr proto = { .kind = LZG_EXPR_NAME, .text = p->tok.text, .loc = p->tok.loc, .at = p->tok.loc };
    LZ_TRY(advance(p));
    for (bool path = true; path;) {
        LZ_TRY(accept(p, LZG_TOK_PATH, &path));
        if (path) {
            proto.ns = proto.ns.ptr ? proto.ns : proto.text;
            proto.ns.len = (size_t)(proto.text.ptr + proto.text.len - proto.ns.ptr);
            proto.text = p->tok.text;
            LZ_TRY(expect(p, LZG_TOK_NAME));
        }
    }
    bool call;
    LZ_TRY(accept(p, LZG_TOK_LPAREN, &call));
    if (!call && proto.ns.ptr)
        return unexpected(p, "'('");
    if (call) {
        proto.kind = LZG_EXPR_CALL;
        LZ_TRY(parse_arguments(p));
    }
    return make(p, proto, m, out);
}

/* ---- fold, loop, lists ---- */

static lz_err *parse_state(parser *p)
{
    for (bool more = true; more;) {
        const lzg_expr *e;
        LZ_TRY(push_name(p));
        LZ_TRY(expect(p, LZG_TOK_ASSIGN));
        LZ_TRY(parse_expr(p, &e));
        LZ_TRY(lz_vec_push(&p->kids, e));
        LZ_TRY(accept(p, LZG_TOK_COMMA, &more));
    }
    return expect(p, LZG_TOK_SEMICOLON);
}

static lz_err *push_expr(parser *p)
{
    const lzg_expr *e;
    LZ_TRY(parse_expr(p, &e));
    return lz_vec_push(&p->kids, e);
}

static lz_err *parse_next(parser *p, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (i > 0)
            LZ_TRY(expect(p, LZG_TOK_COMMA));
        LZ_TRY(push_expr(p));
    }
    if (p->tok.kind == LZG_TOK_COMMA)
        return lz_err_at(LZ_ERR_SYNTAX, p->tok.loc, "more next values than names before");
    return NULL;
}

static lz_err *parse_fold(parser *p, const lzg_expr **out)
{
    mark m = save(p);
    lzg_expr proto = { .kind = LZG_EXPR_FOLD, .loc = p->tok.loc, .at = p->tok.loc };
    LZ_TRY(advance(p));
    LZ_TRY(expect(p, LZG_TOK_LPAREN));
    LZ_TRY(parse_state(p));
    size_t n = p->kids.len - m.kids;
    LZ_TRY(push_name(p));
    LZ_TRY(expect(p, LZG_TOK_IN));
    LZ_TRY(push_expr(p));
    LZ_TRY(expect(p, LZG_TOK_SEMICOLON));
    LZ_TRY(parse_next(p, n));
    LZ_TRY(expect(p, LZG_TOK_RPAREN));
    return make(p, proto, m, out);
}

static lz_err *parse_loop(parser *p, const lzg_expr **out)
{
    mark m = save(p);
    lzg_expr proto = { .kind = LZG_EXPR_LOOP, .loc = p->tok.loc, .at = p->tok.loc };
    LZ_TRY(advance(p));
    LZ_TRY(expect(p, LZG_TOK_LPAREN));
    LZ_TRY(parse_state(p));
    size_t n = p->kids.len - m.kids;
    LZ_TRY(push_expr(p));
    LZ_TRY(expect(p, LZG_TOK_SEMICOLON));
    LZ_TRY(parse_next(p, n));
    LZ_TRY(expect(p, LZG_TOK_SEMICOLON));
    proto.integer = p->tok.integer;
    if (p->tok.kind != LZG_TOK_INT || proto.integer == 0)
        return unexpected(p, "the most turns, a positive integer,");
    LZ_TRY(advance(p));
    LZ_TRY(expect(p, LZG_TOK_RPAREN));
    return make(p, proto, m, out);
}

static lz_err *parse_for(parser *p, lzg_expr *proto)
{
    bool filter;
    proto->kind = LZG_EXPR_MAP;
    LZ_TRY(advance(p));
    LZ_TRY(push_name(p));
    LZ_TRY(expect(p, LZG_TOK_IN));
    LZ_TRY(push_expr(p));
    LZ_TRY(accept(p, LZG_TOK_IF, &filter));
    return filter ? push_expr(p) : lz_vec_push(&p->kids, NULL);
}

static lz_err *parse_list(parser *p, const lzg_expr **out)
{
    mark m = save(p);
    lzg_expr proto = { .kind = LZG_EXPR_LIST, .loc = p->tok.loc, .at = p->tok.loc };
    LZ_TRY(advance(p));
    bool more = p->tok.kind != LZG_TOK_RBRACKET;
    while (more) {
        LZ_TRY(push_expr(p));
        LZ_TRY(accept(p, LZG_TOK_COMMA, &more));
    }
    if (p->tok.kind == LZG_TOK_FOR && p->kids.len - m.kids == 1)
        LZ_TRY(parse_for(p, &proto));
    LZ_TRY(expect(p, LZG_TOK_RBRACKET));
    return make(p, proto, m, out);
}

/* A block, or a tuple. */
static lz_err *parse_parentheses(parser *p, const lzg_expr **out)
{
    mark m = save(p);
    lzg_expr proto = { .kind = LZG_EXPR_TUPLE, .loc = p->tok.loc, .at = p->tok.loc };
    bool more;
    LZ_TRY(advance(p));
    LZ_TRY(parse_block(p, out));
    if (p->tok.kind != LZG_TOK_COMMA)
        return expect(p, LZG_TOK_RPAREN);
    if ((*out)->kind == LZG_EXPR_LET || (*out)->kind == LZG_EXPR_CHECK)
        return unexpected(p, "')'");
    LZ_TRY(lz_vec_push(&p->kids, *out));
    LZ_TRY(advance(p));
    do {
        LZ_TRY(push_expr(p));
        LZ_TRY(accept(p, LZG_TOK_COMMA, &more));
    } while (more);
    LZ_TRY(expect(p, LZG_TOK_RPAREN));
    return make(p, proto, m, out);
}

/* ---- primaries ---- */

static lz_err *parse_literal(parser *p, const lzg_expr **out)
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
    LZ_TRY(advance(p));
    return make(p, proto, save(p), out);
}

static lz_err *(*const primaries[LZG_TOK_COUNT])(parser *p, const lzg_expr **out) = {
    [LZG_TOK_INT] = parse_literal,   [LZG_TOK_FLOAT] = parse_literal,      [LZG_TOK_TRUE] = parse_literal,
    [LZG_TOK_FALSE] = parse_literal, [LZG_TOK_NONE] = parse_literal,       [LZG_TOK_STR] = parse_string,
    [LZG_TOK_NAME] = parse_name,     [LZG_TOK_LPAREN] = parse_parentheses, [LZG_TOK_LBRACKET] = parse_list,
    [LZG_TOK_FOLD] = parse_fold,     [LZG_TOK_LOOP] = parse_loop,
};

/* .name or .name(arguments) */
static lz_err *parse_member(parser *p, const lzg_expr *whose, const lzg_expr **out)
{
    mark m = save(p);
    bool call;
    LZ_TRY(advance(p));
    lzg_expr proto = { .kind = LZG_EXPR_ATTR, .text = p->tok.text, .loc = whose->loc, .at = p->tok.loc };
    LZ_TRY(expect(p, LZG_TOK_NAME));
    LZ_TRY(lz_vec_push(&p->kids, whose));
    LZ_TRY(accept(p, LZG_TOK_LPAREN, &call));
    if (call) {
        proto.kind = LZG_EXPR_METHOD;
        LZ_TRY(lz_vec_push(&p->names, (lzg_name){ 0 }));
        LZ_TRY(parse_arguments(p));
    }
    return make(p, proto, m, out);
}

/* [index] or [from:to] */
static lz_err *parse_subscript(parser *p, const lzg_expr *whose, const lzg_expr **out)
{
    lzg_expr proto = { .kind = LZG_EXPR_INDEX, .loc = whose->loc, .at = p->tok.loc };
    const lzg_expr *kids[3] = { whose };
    bool slice;
    LZ_TRY(advance(p));
    if (p->tok.kind != LZG_TOK_COLON)
        LZ_TRY(parse_expr(p, &kids[1]));
    LZ_TRY(accept(p, LZG_TOK_COLON, &slice));
    if (slice && p->tok.kind != LZG_TOK_RBRACKET)
        LZ_TRY(parse_expr(p, &kids[2]));
    LZ_TRY(expect(p, LZG_TOK_RBRACKET));
    if (slice)
        proto.kind = LZG_EXPR_SLICE;
    return make_of(p, proto, kids, slice ? 3 : 2, out);
}

static lz_err *parse_postfix(parser *p, const lzg_expr **out)
{
    lz_err *(*primary)(parser *, const lzg_expr **) = primaries[p->tok.kind];
    if (!primary)
        return unexpected(p, "an expression");
    LZ_TRY(primary(p, out));
    while (p->tok.kind == LZG_TOK_DOT || p->tok.kind == LZG_TOK_LBRACKET) {
        if (p->tok.kind == LZG_TOK_DOT)
            LZ_TRY(parse_member(p, *out, out));
        else
            LZ_TRY(parse_subscript(p, *out, out));
    }
    return NULL;
}

/* ---- operators ---- */

static lz_err *parse_power(parser *p, const lzg_expr **out)
{
    LZ_TRY(parse_postfix(p, out));
    if (p->tok.kind != LZG_TOK_POW)
        return NULL;
    const lzg_expr *kids[2] = { *out };
    lzg_expr proto = { .kind = LZG_EXPR_BINARY, .op = LZG_OP_POW, .loc = (*out)->loc, .at = p->tok.loc };
    LZ_TRY(advance(p));
    LZ_TRY(parse_unary(p, &kids[1]));
    return make_of(p, proto, kids, 2, out);
}

static lz_err *parse_prefixed(parser *p, lzg_op op, const lzg_expr **out)
{
    lzg_expr proto = { .kind = LZG_EXPR_UNARY, .op = op, .loc = p->tok.loc, .at = p->tok.loc };
    const lzg_expr *operand;
    LZ_TRY(advance(p));
    LZ_TRY(parse_unary(p, &operand));
    return make_of(p, proto, &operand, 1, out);
}

static lz_err *parse_unary(parser *p, const lzg_expr **out)
{
    LZ_TRY(enter(p));
    lz_err *e = p->tok.kind == LZG_TOK_MINUS   ? parse_prefixed(p, LZG_OP_NEG, out)
                : p->tok.kind == LZG_TOK_BANG  ? parse_prefixed(p, LZG_OP_NOT, out)
                : p->tok.kind == LZG_TOK_TILDE ? parse_prefixed(p, LZG_OP_BITNOT, out)
                                               : parse_power(p, out);
    p->depth--;
    return e;
}

/* The binary operator that a token is, or LZG_OP_COUNT. */
static lzg_op binary_op(lzg_token_kind kind)
{
    static const struct {
        lzg_token_kind kind;
        lzg_op op;
    } table[] = {
        { LZG_TOK_OROR, LZG_OP_OR },      { LZG_TOK_ANDAND, LZG_OP_AND },
        { LZG_TOK_EQ, LZG_OP_EQ },        { LZG_TOK_NE, LZG_OP_NE },
        { LZG_TOK_LE, LZG_OP_LE },        { LZG_TOK_GE, LZG_OP_GE },
        { LZG_TOK_LT, LZG_OP_LT },        { LZG_TOK_GT, LZG_OP_GT },
        { LZG_TOK_IN, LZG_OP_IN },        { LZG_TOK_OR, LZG_OP_BITOR },
        { LZG_TOK_CARET, LZG_OP_BITXOR }, { LZG_TOK_AND, LZG_OP_BITAND },
        { LZG_TOK_SHL, LZG_OP_SHL },      { LZG_TOK_SHR, LZG_OP_SHR },
        { LZG_TOK_PLUS, LZG_OP_ADD },     { LZG_TOK_MINUS, LZG_OP_SUB },
        { LZG_TOK_STAR, LZG_OP_MUL },     { LZG_TOK_SLASH, LZG_OP_DIV },
        { LZG_TOK_PERCENT, LZG_OP_MOD },  { LZG_TOK_FLOORDIV, LZG_OP_FLOORDIV },
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (table[i].kind == kind)
            return table[i].op;
    return LZG_OP_COUNT;
}

static int level_of(lzg_token_kind kind)
{
    lzg_op op = binary_op(kind);
    return kind == LZG_TOK_IS ? LZG_LEVEL_COMPARE : op == LZG_OP_COUNT ? -1 : lzg_op_level(op);
}

static lz_err *parse_binary(parser *p, int level, const lzg_expr **out);

static lz_err *parse_is(parser *p, const lzg_expr *left, const lzg_expr **out)
{
    lzg_expr proto = { .kind = LZG_EXPR_IS, .loc = left->loc, .at = p->tok.loc };
    bool negated;
    LZ_TRY(advance(p));
    LZ_TRY(accept(p, LZG_TOK_NOT, &negated));
    proto.truth = !negated;
    LZ_TRY(expect(p, LZG_TOK_NONE));
    return make_of(p, proto, &left, 1, out);
}

static lz_err *parse_right(parser *p, const lzg_expr *left, const lzg_expr **out)
{
    const lzg_expr *kids[2] = { left };
    lzg_expr proto = {
        .kind = LZG_EXPR_BINARY, .op = binary_op(p->tok.kind), .loc = left->loc, .at = p->tok.loc
    };
    LZ_TRY(advance(p));
    LZ_TRY(parse_binary(p, lzg_op_level(proto.op) + 1, &kids[1]));
    return make_of(p, proto, kids, 2, out);
}

/* Everything that binds at least as tightly as `level`. */
static lz_err *parse_binary(parser *p, int level, const lzg_expr **out)
{
    bool compared = false;
    LZ_TRY(parse_unary(p, out));
    for (int next = level_of(p->tok.kind); next >= level; next = level_of(p->tok.kind)) {
        if (next == LZG_LEVEL_COMPARE && compared)
            return lz_err_at(LZ_ERR_SYNTAX, p->tok.loc, "comparisons do not chain: join them with &&");
        compared = next == LZG_LEVEL_COMPARE;
        if (p->tok.kind == LZG_TOK_IS)
            LZ_TRY(parse_is(p, *out, out));
        else
            LZ_TRY(parse_right(p, *out, out));
    }
    return NULL;
}

static lz_err *parse_cond(parser *p, const lzg_expr **out)
{
    LZ_TRY(parse_binary(p, LZG_LEVEL_COND + 1, out));
    if (p->tok.kind != LZG_TOK_QUESTION)
        return NULL;
    const lzg_expr *kids[3] = { *out };
    lzg_expr proto = { .kind = LZG_EXPR_COND, .loc = (*out)->loc, .at = p->tok.loc };
    LZ_TRY(advance(p));
    LZ_TRY(parse_expr(p, &kids[1]));
    LZ_TRY(expect(p, LZG_TOK_COLON));
    LZ_TRY(parse_expr(p, &kids[2]));
    return make_of(p, proto, kids, 3, out);
}

static lz_err *parse_expr(parser *p, const lzg_expr **out)
{
    LZ_TRY(enter(p));
    lz_err *e = parse_cond(p, out);
    p->depth--;
    return e;
}

/* ---- blocks ---- */

static lz_err *parse_pattern(parser *p)
{
    bool several, more = true;
    LZ_TRY(accept(p, LZG_TOK_LPAREN, &several));
    LZ_TRY(push_name(p));
    if (!several)
        return NULL;
    if (p->tok.kind != LZG_TOK_COMMA)
        return unexpected(p, "','");
    LZ_TRY(advance(p));
    while (more) {
        LZ_TRY(push_name(p));
        LZ_TRY(accept(p, LZG_TOK_COMMA, &more));
    }
    return expect(p, LZG_TOK_RPAREN);
}

/* The statement's `;` and what follows. */
static lz_err *push_rest(parser *p)
{
    const lzg_expr *rest;
    LZ_TRY(expect(p, LZG_TOK_SEMICOLON));
    LZ_TRY(parse_block(p, &rest));
    return lz_vec_push(&p->kids, rest);
}

static lz_err *parse_let(parser *p, const lzg_expr **out)
{
    mark m = save(p);
    lzg_expr proto = { .kind = LZG_EXPR_LET, .loc = p->tok.loc, .at = p->tok.loc };
    LZ_TRY(advance(p));
    LZ_TRY(parse_pattern(p));
    LZ_TRY(expect(p, LZG_TOK_ASSIGN));
    LZ_TRY(push_expr(p));
    LZ_TRY(push_rest(p));
    return make(p, proto, m, out);
}

static lz_err *parse_check(parser *p, const lzg_expr **out)
{
    mark m = save(p);
    lzg_expr proto = { .kind = LZG_EXPR_CHECK, .loc = p->tok.loc, .at = p->tok.loc };
    const lzg_expr *rest;
    LZ_TRY(advance(p));
    LZ_TRY(expect(p, LZG_TOK_LPAREN));
    LZ_TRY(push_expr(p));
    LZ_TRY(expect(p, LZG_TOK_COMMA));
    size_t place = p->kids.len;
    LZ_TRY(lz_vec_push(&p->kids, NULL));
    LZ_TRY(parse_message(p));
    LZ_TRY(expect(p, LZG_TOK_RPAREN));
    LZ_TRY(expect(p, LZG_TOK_SEMICOLON));
    LZ_TRY(parse_block(p, &rest));
    p->kids.data[place] = rest;
    return make(p, proto, m, out);
}

static lz_err *parse_block(parser *p, const lzg_expr **out)
{
    LZ_TRY(enter(p));
    lz_err *e = p->tok.kind == LZG_TOK_LET     ? parse_let(p, out)
                : p->tok.kind == LZG_TOK_CHECK ? parse_check(p, out)
                                               : parse_expr(p, out);
    p->depth--;
    return e;
}

/* NOLINTEND(misc-no-recursion) */

/* ---- whole formulas ---- */

static lz_err *parse_whole(parser *p, const lzg_expr **out)
{
    if (p->lex.text.len > LZG_FORMULA_BYTES)
        return lz_err_at(LZ_ERR_LIMIT, p->lex.loc, "a formula of more than %d bytes", LZG_FORMULA_BYTES);
    LZ_TRY(advance(p));
    LZ_TRY(parse_block(p, out));
    return p->tok.kind == LZG_TOK_END ? NULL : unexpected(p, "an operator or the end");
}

static lz_err *parse_with(lz_arena *a, lzg_lexer lex, const lzg_expr **out)
{
    parser p = { .arena = a, .lex = lex };
    lz_err *e = lz_arena_copy(a, lex.text, &p.lex.text);
    if (!e)
        e = parse_whole(&p, out);
    lz_vec_deinit(&p.kids);
    lz_vec_deinit(&p.names);
    return e;
}

lz_err *lzg_formula_parse_text(lz_arena *a, lz_str text, lz_loc at, int32_t indent, const lzg_expr **out)
{
    return parse_with(a, (lzg_lexer){ .text = text, .loc = at, .indent = indent, .moves = true }, out);
}

lz_err *lzg_formula_parse_default(lz_arena *a, lz_str text, lz_loc at, const lzg_expr **out)
{
    return parse_with(a, (lzg_lexer){ .text = text, .loc = at, .single_quotes = true }, out);
}

/* The tree does not say how far a literal block (|) is indented. All our files
 * indent it by two more than its key, and the key stands on the line of the '|'. */
static lzg_lexer block_lexer(const lzg_yaml *scalar, lz_str key)
{
    int32_t key_col = scalar->loc.col - (int32_t)key.len - 2;
    lz_loc loc = { scalar->loc.file, scalar->loc.line + 1, key_col > 0 ? key_col + 2 : 1 };
    return (lzg_lexer){ .text = scalar->text, .loc = loc, .indent = loc.col, .moves = true };
}

lz_err *lzg_formula_parse(lz_arena *a, const lzg_yaml *scalar, lz_str key, const lzg_expr **out)
{
    lzg_lexer lex = { .text = scalar->text, .loc = lzg_yaml_at(scalar, 0), .moves = scalar->one_line };
    if (scalar->kind == LZG_YAML_NULL || scalar->kind >= LZG_YAML_LIST)
        return lz_err_at(LZ_ERR_SYNTAX, scalar->loc, "%s where a formula is due",
                         lzg_yaml_kind_name(scalar->kind));
    if (!scalar->one_line && !scalar->quoted && lz_str_find_char(scalar->text, '\n') != SIZE_MAX)
        lex = block_lexer(scalar, key);
    return parse_with(a, lex, out);
}
