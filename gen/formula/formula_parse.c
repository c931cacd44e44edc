/* The parser of formulas: operators, conditionals and bindings. */
#include "gen/formula/formula_parser.h"
#include <assert.h>

enum { CALLS_MAX = 3 * LZG_FORMULA_DEPTH }; /* a pair of parentheses takes three */

lzg_parse_mark lzg_parse_save(const lzg_parser *p)
{
    return (lzg_parse_mark){ p->kids.len, p->names.len };
}

/* ---- nodes ---- */

static uint16_t height_of(const lzg_parser *p, lzg_parse_mark m)
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

/* A node like `proto`, with the kids and names that are on the stacks above the mark. */
lz_err *lzg_parse_make(lzg_parser *p, lzg_expr proto, lzg_parse_mark m, const lzg_expr **out)
{
    const lzg_expr **kids;
    lzg_name *names;
    lzg_expr *e;
    assert(m.kids <= p->kids.len && m.names <= p->names.len); /* marks are restored in the order of a stack */
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

/* The same, with these kids. */
lz_err *lzg_parse_make_of(lzg_parser *p, lzg_expr proto, const lzg_expr *const *kids, size_t n,
                          const lzg_expr **out)
{
    lzg_parse_mark m = lzg_parse_save(p);
    for (size_t i = 0; i < n; i++)
        LZ_TRY(lz_vec_push(&p->kids, kids[i]));
    return lzg_parse_make(p, proto, m, out);
}

/* ---- tokens ---- */

lz_err *lzg_parse_advance(lzg_parser *p)
{
    return lzg_lexer_next(&p->lex, &p->tok);
}

lz_err *lzg_parse_unexpected(const lzg_parser *p, const char *wanted)
{
    lz_str t = p->tok.text;
    if (p->tok.kind == LZG_TOK_END)
        return lz_err_at(LZ_ERR_SYNTAX, p->tok.loc, "expected %s, found the end", wanted);
    if (p->tok.kind == LZG_TOK_STR)
        return lz_err_at(LZ_ERR_SYNTAX, p->tok.loc, "expected %s, found a string", wanted);
    return lz_err_at(LZ_ERR_SYNTAX, p->tok.loc, "expected %s, found '%.*s'", wanted, LZ_FMT(t));
}

lz_err *lzg_parse_expect(lzg_parser *p, lzg_token_kind kind)
{
    return p->tok.kind == kind ? lzg_parse_advance(p) : lzg_parse_unexpected(p, lzg_token_kind_name(kind));
}

lz_err *lzg_parse_accept(lzg_parser *p, lzg_token_kind kind, bool *out)
{
    *out = p->tok.kind == kind;
    return *out ? lzg_parse_advance(p) : NULL;
}

lz_err *lzg_parse_push_name(lzg_parser *p)
{
    lzg_name name = { p->tok.text, p->tok.loc };
    LZ_TRY(lzg_parse_expect(p, LZG_TOK_NAME));
    return lz_vec_push(&p->names, name);
}

/* NOLINTBEGIN(misc-no-recursion): enter() holds it to CALLS_MAX */

static lz_err *enter(lzg_parser *p)
{
    return ++p->depth > CALLS_MAX ? too_deep(p->tok.loc) : NULL;
}

static lz_err *parse_unary(lzg_parser *p, const lzg_expr **out);

/* ---- operators ---- */

static lz_err *parse_power(lzg_parser *p, const lzg_expr **out)
{
    LZ_TRY(lzg_parse_postfix(p, out));
    if (p->tok.kind != LZG_TOK_POW)
        return NULL;
    const lzg_expr *kids[2] = { *out };
    lzg_expr proto = { .kind = LZG_EXPR_BINARY, .op = LZG_OP_POW, .loc = (*out)->loc, .at = p->tok.loc };
    LZ_TRY(lzg_parse_advance(p));
    LZ_TRY(parse_unary(p, &kids[1]));
    return lzg_parse_make_of(p, proto, kids, 2, out);
}

static lz_err *parse_prefixed(lzg_parser *p, lzg_op op, const lzg_expr **out)
{
    lzg_expr proto = { .kind = LZG_EXPR_UNARY, .op = op, .loc = p->tok.loc, .at = p->tok.loc };
    const lzg_expr *operand;
    LZ_TRY(lzg_parse_advance(p));
    LZ_TRY(parse_unary(p, &operand));
    return lzg_parse_make_of(p, proto, &operand, 1, out);
}

static lz_err *parse_unary(lzg_parser *p, const lzg_expr **out)
{
    LZ_TRY(enter(p));
    lz_err *e = p->tok.kind == LZG_TOK_MINUS   ? parse_prefixed(p, LZG_OP_NEG, out)
                : p->tok.kind == LZG_TOK_BANG  ? parse_prefixed(p, LZG_OP_NOT, out)
                : p->tok.kind == LZG_TOK_TILDE ? parse_prefixed(p, LZG_OP_BITNOT, out)
                                               : parse_power(p, out);
    p->depth--;
    return e;
}

/* The binary operator of a token, or LZG_OP_COUNT. */
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

static lz_err *parse_binary(lzg_parser *p, int level, const lzg_expr **out);

static lz_err *parse_is(lzg_parser *p, const lzg_expr *left, const lzg_expr **out)
{
    lzg_expr proto = { .kind = LZG_EXPR_IS, .loc = left->loc, .at = p->tok.loc };
    bool negated;
    LZ_TRY(lzg_parse_advance(p));
    LZ_TRY(lzg_parse_accept(p, LZG_TOK_NOT, &negated));
    proto.truth = !negated;
    LZ_TRY(lzg_parse_expect(p, LZG_TOK_NONE));
    return lzg_parse_make_of(p, proto, &left, 1, out);
}

static lz_err *parse_right(lzg_parser *p, const lzg_expr *left, const lzg_expr **out)
{
    const lzg_expr *kids[2] = { left };
    lzg_expr proto = {
        .kind = LZG_EXPR_BINARY, .op = binary_op(p->tok.kind), .loc = left->loc, .at = p->tok.loc
    };
    LZ_TRY(lzg_parse_advance(p));
    LZ_TRY(parse_binary(p, lzg_op_level(proto.op) + 1, &kids[1]));
    return lzg_parse_make_of(p, proto, kids, 2, out);
}

/* Parses operators of at least the precedence `level`. */
static lz_err *parse_binary(lzg_parser *p, int level, const lzg_expr **out)
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

static lz_err *parse_cond(lzg_parser *p, const lzg_expr **out)
{
    LZ_TRY(parse_binary(p, LZG_LEVEL_COND + 1, out));
    if (p->tok.kind != LZG_TOK_QUESTION)
        return NULL;
    const lzg_expr *kids[3] = { *out };
    lzg_expr proto = { .kind = LZG_EXPR_COND, .loc = (*out)->loc, .at = p->tok.loc };
    LZ_TRY(lzg_parse_advance(p));
    LZ_TRY(lzg_parse_expr(p, &kids[1]));
    LZ_TRY(lzg_parse_expect(p, LZG_TOK_COLON));
    LZ_TRY(lzg_parse_expr(p, &kids[2]));
    return lzg_parse_make_of(p, proto, kids, 3, out);
}

lz_err *lzg_parse_expr(lzg_parser *p, const lzg_expr **out)
{
    LZ_TRY(enter(p));
    lz_err *e = parse_cond(p, out);
    p->depth--;
    return e;
}

lz_err *lzg_parse_push_expr(lzg_parser *p)
{
    const lzg_expr *e;
    LZ_TRY(lzg_parse_expr(p, &e));
    return lz_vec_push(&p->kids, e);
}

/* ---- blocks ---- */

static lz_err *parse_pattern(lzg_parser *p)
{
    bool several, more = true;
    LZ_TRY(lzg_parse_accept(p, LZG_TOK_LPAREN, &several));
    LZ_TRY(lzg_parse_push_name(p));
    if (!several)
        return NULL;
    if (p->tok.kind != LZG_TOK_COMMA)
        return lzg_parse_unexpected(p, "','");
    LZ_TRY(lzg_parse_advance(p));
    while (more) {
        LZ_TRY(lzg_parse_push_name(p));
        LZ_TRY(lzg_parse_accept(p, LZG_TOK_COMMA, &more));
    }
    return lzg_parse_expect(p, LZG_TOK_RPAREN);
}

/* The statement's `;` and what follows. */
static lz_err *push_rest(lzg_parser *p)
{
    const lzg_expr *rest;
    LZ_TRY(lzg_parse_expect(p, LZG_TOK_SEMICOLON));
    LZ_TRY(lzg_parse_block(p, &rest));
    return lz_vec_push(&p->kids, rest);
}

static lz_err *parse_let(lzg_parser *p, const lzg_expr **out)
{
    lzg_parse_mark m = lzg_parse_save(p);
    lzg_expr proto = { .kind = LZG_EXPR_LET, .loc = p->tok.loc, .at = p->tok.loc };
    LZ_TRY(lzg_parse_advance(p));
    LZ_TRY(parse_pattern(p));
    LZ_TRY(lzg_parse_expect(p, LZG_TOK_ASSIGN));
    LZ_TRY(lzg_parse_push_expr(p));
    LZ_TRY(push_rest(p));
    return lzg_parse_make(p, proto, m, out);
}

static lz_err *parse_check(lzg_parser *p, const lzg_expr **out)
{
    lzg_parse_mark m = lzg_parse_save(p);
    lzg_expr proto = { .kind = LZG_EXPR_CHECK, .loc = p->tok.loc, .at = p->tok.loc };
    const lzg_expr *rest;
    LZ_TRY(lzg_parse_advance(p));
    LZ_TRY(lzg_parse_expect(p, LZG_TOK_LPAREN));
    LZ_TRY(lzg_parse_push_expr(p));
    LZ_TRY(lzg_parse_expect(p, LZG_TOK_COMMA));
    size_t place = p->kids.len;
    LZ_TRY(lz_vec_push(&p->kids, NULL));
    LZ_TRY(lzg_parse_message(p));
    LZ_TRY(lzg_parse_expect(p, LZG_TOK_RPAREN));
    LZ_TRY(lzg_parse_expect(p, LZG_TOK_SEMICOLON));
    LZ_TRY(lzg_parse_block(p, &rest));
    p->kids.data[place] = rest;
    return lzg_parse_make(p, proto, m, out);
}

lz_err *lzg_parse_block(lzg_parser *p, const lzg_expr **out)
{
    LZ_TRY(enter(p));
    lz_err *e = p->tok.kind == LZG_TOK_LET     ? parse_let(p, out)
                : p->tok.kind == LZG_TOK_CHECK ? parse_check(p, out)
                                               : lzg_parse_expr(p, out);
    p->depth--;
    return e;
}

/* NOLINTEND(misc-no-recursion) */

/* ---- whole formulas ---- */

static lz_err *parse_whole(lzg_parser *p, const lzg_expr **out)
{
    if (p->lex.text.len > LZG_FORMULA_BYTES)
        return lz_err_at(LZ_ERR_LIMIT, p->lex.loc, "a formula of more than %d bytes", LZG_FORMULA_BYTES);
    LZ_TRY(lzg_parse_advance(p));
    LZ_TRY(lzg_parse_block(p, out));
    return p->tok.kind == LZG_TOK_END ? NULL : lzg_parse_unexpected(p, "an operator or the end");
}

static lz_err *parse_with(lz_arena *a, lzg_lexer lex, const lzg_expr **out)
{
    lzg_parser p = { .arena = a, .lex = lex };
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
        return lz_err_at(LZ_ERR_SYNTAX, scalar->loc, "expected a formula, found %s",
                         lzg_yaml_kind_name(scalar->kind));
    if (!scalar->one_line && !scalar->quoted && lz_str_find_char(scalar->text, '\n') != SIZE_MAX)
        lex = block_lexer(scalar, key);
    return parse_with(a, lex, out);
}
