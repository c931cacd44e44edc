/* Formulas as text, and their comparison. */
#include "gen/formula/formula.h"

static const struct {
    const char *spelling;
    int level;
} ops[LZG_OP_COUNT] = {
#define X(name, spelling, level) [LZG_OP_##name] = { spelling, level },
    LZG_BINARY_OPS(X) LZG_UNARY_OPS(X)
#undef X
};

const char *lzg_op_spelling(lzg_op op)
{
    return ops[op].spelling;
}

int lzg_op_level(lzg_op op)
{
    return ops[op].level;
}

const char *lzg_expr_kind_name(lzg_expr_kind kind)
{
    static const char *const names[LZG_EXPR_COUNT] = {
        [LZG_EXPR_INT] = "an integer",     [LZG_EXPR_FLOAT] = "a number",
        [LZG_EXPR_STR] = "a string",       [LZG_EXPR_BOOL] = "a truth value",
        [LZG_EXPR_NONE] = "None",          [LZG_EXPR_NAME] = "a name",
        [LZG_EXPR_UNARY] = "an operator",  [LZG_EXPR_BINARY] = "an operator",
        [LZG_EXPR_COND] = "a conditional", [LZG_EXPR_IS] = "a comparison",
        [LZG_EXPR_CALL] = "a call",        [LZG_EXPR_METHOD] = "a call",
        [LZG_EXPR_ATTR] = "an attribute",  [LZG_EXPR_INDEX] = "an index",
        [LZG_EXPR_SLICE] = "a slice",      [LZG_EXPR_TUPLE] = "a tuple",
        [LZG_EXPR_LIST] = "a list",        [LZG_EXPR_MAP] = "a comprehension",
        [LZG_EXPR_FOLD] = "a fold",        [LZG_EXPR_LOOP] = "a loop",
        [LZG_EXPR_LET] = "a let",          [LZG_EXPR_CHECK] = "a check",
    };
    return names[kind];
}

/* The precedence of a node of this kind; operators have their own level. */
static int level_of(const lzg_expr *e)
{
    switch (e->kind) {
    case LZG_EXPR_LET:
    case LZG_EXPR_CHECK:
        return LZG_LEVEL_BLOCK;
    case LZG_EXPR_COND:
        return LZG_LEVEL_COND;
    case LZG_EXPR_IS:
        return LZG_LEVEL_COMPARE;
    case LZG_EXPR_UNARY:
    case LZG_EXPR_BINARY:
        return lzg_op_level(e->op);
    default:
        return LZG_LEVEL_POSTFIX;
    }
}

static void print_text(lz_str text, bool braces, lz_text *out)
{
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        if (c == '"' || c == '\\' || c == '\n')
            lz_text_putc(out, '\\');
        if (braces && (c == '{' || c == '}'))
            lz_text_putc(out, c);
        lz_text_putc(out, c == '\n' ? 'n' : c);
    }
}

/* NOLINTBEGIN(misc-no-recursion): a tree is at most LZG_FORMULA_DEPTH high */

/* In parentheses if the precedence of e is below `level`. */
static void print(const lzg_expr *e, int level, lz_text *out);

static void print_list(const lzg_expr *const *kids, size_t n, lz_text *out)
{
    for (size_t i = 0; i < n; i++) {
        lz_text_puts(out, i ? ", " : "");
        print(kids[i], LZG_LEVEL_COND, out);
    }
}

static void print_literal(const lzg_expr *e, lz_text *out)
{
    if (e->kind == LZG_EXPR_INT)
        lz_text_int(out, e->integer);
    else if (e->kind == LZG_EXPR_FLOAT)
        lz_text_double(out, e->real);
    else
        lz_text_puts(out, e->kind == LZG_EXPR_NONE ? "None" : e->truth ? "True" : "False");
}

static void print_string(const lzg_expr *e, lz_text *out)
{
    lz_text_putc(out, '"');
    print_text(e->text, false, out);
    lz_text_putc(out, '"');
}

static void print_name(const lzg_expr *e, lz_text *out)
{
    if (e->ns.ptr)
        lz_text_printf(out, "%.*s::", LZ_FMT(e->ns));
    lz_text_add(out, e->text);
}

static void print_unary(const lzg_expr *e, lz_text *out)
{
    lz_text_puts(out, lzg_op_spelling(e->op));
    print(e->kids[0], LZG_LEVEL_UNARY, out);
}

/* Operators are left-associative, except that ** takes a prefixed right operand and
 * comparisons do not chain. */
static void print_binary(const lzg_expr *e, lz_text *out)
{
    int level = lzg_op_level(e->op);
    bool power = level == LZG_LEVEL_POW;
    print(e->kids[0], power || level == LZG_LEVEL_COMPARE ? level + 1 : level, out);
    lz_text_printf(out, power ? "%s" : " %s ", lzg_op_spelling(e->op));
    print(e->kids[1], power ? LZG_LEVEL_UNARY : level + 1, out);
}

static void print_is(const lzg_expr *e, lz_text *out)
{
    print(e->kids[0], LZG_LEVEL_COMPARE + 1, out);
    lz_text_puts(out, e->truth ? " is None" : " is not None");
}

static void print_cond(const lzg_expr *e, lz_text *out)
{
    print(e->kids[0], LZG_LEVEL_COND + 1, out);
    lz_text_puts(out, " ? ");
    print(e->kids[1], LZG_LEVEL_COND, out);
    lz_text_puts(out, " : ");
    print(e->kids[2], LZG_LEVEL_COND, out);
}

static void print_arguments(const lzg_expr *e, size_t from, lz_text *out)
{
    lz_text_putc(out, '(');
    for (size_t i = from; i < e->nkids; i++) {
        lz_text_puts(out, i > from ? ", " : "");
        if (e->names[i].text.ptr)
            lz_text_printf(out, "%.*s=", LZ_FMT(e->names[i].text));
        print(e->kids[i], LZG_LEVEL_COND, out);
    }
    lz_text_putc(out, ')');
}

static void print_call(const lzg_expr *e, lz_text *out)
{
    print_name(e, out);
    print_arguments(e, 0, out);
}

static void print_attr(const lzg_expr *e, lz_text *out)
{
    print(e->kids[0], LZG_LEVEL_POSTFIX, out);
    lz_text_printf(out, ".%.*s", LZ_FMT(e->text));
}

static void print_method(const lzg_expr *e, lz_text *out)
{
    print_attr(e, out);
    print_arguments(e, 1, out);
}

static void print_index(const lzg_expr *e, lz_text *out)
{
    print(e->kids[0], LZG_LEVEL_POSTFIX, out);
    lz_text_putc(out, '[');
    if (e->kids[1])
        print(e->kids[1], LZG_LEVEL_COND, out);
    if (e->kind == LZG_EXPR_SLICE)
        lz_text_putc(out, ':');
    if (e->kind == LZG_EXPR_SLICE && e->kids[2])
        print(e->kids[2], LZG_LEVEL_COND, out);
    lz_text_putc(out, ']');
}

static void print_items(const lzg_expr *e, lz_text *out)
{
    lz_text_putc(out, e->kind == LZG_EXPR_TUPLE ? '(' : '[');
    print_list(e->kids, e->nkids, out);
    lz_text_putc(out, e->kind == LZG_EXPR_TUPLE ? ')' : ']');
}

static void print_map(const lzg_expr *e, lz_text *out)
{
    lz_text_putc(out, '[');
    print(e->kids[0], LZG_LEVEL_COND, out);
    lz_text_printf(out, " for %.*s in ", LZ_FMT(e->names[0].text));
    print(e->kids[1], LZG_LEVEL_COND, out);
    if (e->kids[2]) {
        lz_text_puts(out, " if ");
        print(e->kids[2], LZG_LEVEL_COND, out);
    }
    lz_text_putc(out, ']');
}

static void print_state(const lzg_expr *e, size_t n, lz_text *out)
{
    for (size_t i = 0; i < n; i++) {
        lz_text_printf(out, "%s%.*s = ", i ? ", " : "", LZ_FMT(e->names[i].text));
        print(e->kids[i], LZG_LEVEL_COND, out);
    }
    lz_text_puts(out, "; ");
}

static void print_fold(const lzg_expr *e, lz_text *out)
{
    size_t n = e->nnames - 1;
    lz_text_puts(out, "fold(");
    print_state(e, n, out);
    lz_text_printf(out, "%.*s in ", LZ_FMT(e->names[n].text));
    print(e->kids[n], LZG_LEVEL_COND, out);
    lz_text_puts(out, "; ");
    print_list(e->kids + n + 1, n, out);
    lz_text_putc(out, ')');
}

static void print_loop(const lzg_expr *e, lz_text *out)
{
    size_t n = e->nnames;
    lz_text_puts(out, "loop(");
    print_state(e, n, out);
    print(e->kids[n], LZG_LEVEL_COND, out);
    lz_text_puts(out, "; ");
    print_list(e->kids + n + 1, n, out);
    lz_text_puts(out, "; ");
    lz_text_int(out, e->integer);
    lz_text_putc(out, ')');
}

static void print_let(const lzg_expr *e, lz_text *out)
{
    lz_text_puts(out, e->nnames > 1 ? "let (" : "let ");
    for (size_t i = 0; i < e->nnames; i++)
        lz_text_printf(out, "%s%.*s", i ? ", " : "", LZ_FMT(e->names[i].text));
    lz_text_puts(out, e->nnames > 1 ? ") = " : " = ");
    print(e->kids[0], LZG_LEVEL_COND, out);
    lz_text_puts(out, "; ");
    print(e->kids[1], LZG_LEVEL_BLOCK, out);
}

static void print_check(const lzg_expr *e, lz_text *out)
{
    lz_text_puts(out, "check(");
    print(e->kids[0], LZG_LEVEL_COND, out);
    lz_text_puts(out, ", \"");
    for (size_t i = 2; i < e->nkids; i++) {
        if (e->kids[i]->kind == LZG_EXPR_STR) {
            print_text(e->kids[i]->text, true, out);
            continue;
        }
        lz_text_putc(out, '{');
        print(e->kids[i], LZG_LEVEL_COND, out);
        lz_text_putc(out, '}');
    }
    lz_text_puts(out, "\"); ");
    print(e->kids[1], LZG_LEVEL_BLOCK, out);
}

static void (*const printers[LZG_EXPR_COUNT])(const lzg_expr *e, lz_text *out) = {
    [LZG_EXPR_INT] = print_literal,  [LZG_EXPR_FLOAT] = print_literal, [LZG_EXPR_STR] = print_string,
    [LZG_EXPR_BOOL] = print_literal, [LZG_EXPR_NONE] = print_literal,  [LZG_EXPR_NAME] = print_name,
    [LZG_EXPR_UNARY] = print_unary,  [LZG_EXPR_BINARY] = print_binary, [LZG_EXPR_COND] = print_cond,
    [LZG_EXPR_IS] = print_is,        [LZG_EXPR_CALL] = print_call,     [LZG_EXPR_METHOD] = print_method,
    [LZG_EXPR_ATTR] = print_attr,    [LZG_EXPR_INDEX] = print_index,   [LZG_EXPR_SLICE] = print_index,
    [LZG_EXPR_TUPLE] = print_items,  [LZG_EXPR_LIST] = print_items,    [LZG_EXPR_MAP] = print_map,
    [LZG_EXPR_FOLD] = print_fold,    [LZG_EXPR_LOOP] = print_loop,     [LZG_EXPR_LET] = print_let,
    [LZG_EXPR_CHECK] = print_check,
};

static void print(const lzg_expr *e, int level, lz_text *out)
{
    bool parentheses = level_of(e) < level;
    lz_text_puts(out, parentheses ? "(" : "");
    printers[e->kind](e, out);
    lz_text_puts(out, parentheses ? ")" : "");
}

static bool same_names(const lzg_expr *a, const lzg_expr *b)
{
    bool eq = a->nnames == b->nnames;
    for (size_t i = 0; eq && i < a->nnames; i++)
        eq = !a->names[i].text.ptr == !b->names[i].text.ptr && lz_str_eq(a->names[i].text, b->names[i].text);
    return eq;
}

bool lzg_formula_eq(const lzg_expr *a, const lzg_expr *b)
{
    if (!a || !b)
        return a == b;
    bool eq = a->kind == b->kind && a->op == b->op && a->truth == b->truth && a->integer == b->integer
              && a->real == b->real && lz_str_eq(a->text, b->text) && lz_str_eq(a->ns, b->ns)
              && a->nkids == b->nkids && same_names(a, b);
    for (size_t i = 0; eq && i < a->nkids; i++)
        eq = lzg_formula_eq(a->kids[i], b->kids[i]);
    return eq;
}

/* NOLINTEND(misc-no-recursion) */

void lzg_formula_print(const lzg_expr *e, lz_text *out)
{
    print(e, LZG_LEVEL_BLOCK, out);
}
