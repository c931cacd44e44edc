/* Type patterns: matched against types, converted to types, printed. A pattern is a constant of a few
 * characters, so recursion here is a few calls deep. */
#include "graph/builtins.h"

static const char leaf_letters[LZ_GRAPH_TYPE_LEAVES + 1] = {
    [LZ_GRAPH_TYPE_TENSOR] = 'T',    [LZ_GRAPH_TYPE_INT] = 'i',    [LZ_GRAPH_TYPE_FLOAT] = 'f',
    [LZ_GRAPH_TYPE_COMPLEX] = 'c',   [LZ_GRAPH_TYPE_BOOL] = 'b',   [LZ_GRAPH_TYPE_STR] = 's',
    [LZ_GRAPH_TYPE_NONE] = 'N',      [LZ_GRAPH_TYPE_SCALAR] = 'S', [LZ_GRAPH_TYPE_DEVICE] = 'D',
    [LZ_GRAPH_TYPE_GENERATOR] = 'g', [LZ_GRAPH_TYPE_STREAM] = 'm', [LZ_GRAPH_TYPE_STORAGE] = 'o',
    [LZ_GRAPH_TYPE_ANY] = 'A',
};

static const lz_type *leaf_of(char c)
{
    const char *at = c ? strchr(leaf_letters, c) : NULL;
    return at ? lz_type_leaf((lz_type_kind)(at - leaf_letters)) : NULL;
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as the pattern */
const char *lz_pattern_skip(const char *p)
{
    switch (*p) {
    case '[':
    case ']':
    case '?':
        return lz_pattern_skip(p + 1);
    case 'd':
        return lz_pattern_skip(lz_pattern_skip(p + 1));
    case '(':
        for (p++; *p && *p != ')';)
            p = lz_pattern_skip(p);
        return *p ? p + 1 : p;
    default:
        return *p ? p + 1 : p;
    }
}

size_t lz_pattern_count(const char *p)
{
    size_t n = 0;
    for (; *p && *p != '*'; n++)
        p = lz_pattern_skip(p);
    return n;
}

/* ---- matching ---- */

static bool is_number(const lz_type *t)
{
    return t->kind == LZ_GRAPH_TYPE_INT || t->kind == LZ_GRAPH_TYPE_FLOAT || t->kind == LZ_GRAPH_TYPE_BOOL
           || t->kind == LZ_GRAPH_TYPE_SCALAR;
}

static bool match_leaf(char c, const lz_type *t, lz_match_level level)
{
    const lz_type *wanted = leaf_of(c);
    if (wanted && lz_type_fits(t, wanted))
        return true;
    if (!wanted || level == LZ_MATCH_FITS)
        return false;
    return (c == 'f' && t->kind == LZ_GRAPH_TYPE_INT) || (c == 'S' && t->kind == LZ_GRAPH_TYPE_BOOL)
           || (c == 'T' && is_number(t) && level == LZ_MATCH_NUMBERS);
}

static bool match_var(char c, const lz_type *t, lz_bindings *b)
{
    const lz_type **var = &b->var[c - '0'];
    if (!*var)
        *var = t;
    return lz_type_fits(t, *var);
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as the pattern */
static bool match_elements(const char **p, const lz_type *t, lz_match_level level, lz_bindings *b)
{
    bool ok = true;
    for (size_t i = 0; ok && i < t->n; i++)
        ok = **p && **p != ')' && lz_pattern_match(p, t->elem[i], level, b);
    return ok;
}

/* Elements of a list must be equal, not only fit: a list of ints is not a list of Scalars. */
/* NOLINTNEXTLINE(misc-no-recursion): as deep as the pattern */
static bool match_list(const char *p, const lz_type *t, lz_match_level level, lz_bindings *b)
{
    bool single = *p == ']' && level > LZ_MATCH_FITS;
    if (t->kind != LZ_GRAPH_TYPE_LIST)
        return p++, single && lz_pattern_match(&p, t, level, b);
    const lz_type *leaf = leaf_of(p[1]), *elem = t->elem[0];
    if (leaf && leaf->kind != elem->kind && leaf->kind != LZ_GRAPH_TYPE_ANY)
        return level > LZ_MATCH_FITS && match_leaf(p[1], elem, level);
    return p++, lz_pattern_match(&p, elem, level, b);
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as the pattern */
bool lz_pattern_match(const char **p, const lz_type *t, lz_match_level level, lz_bindings *b)
{
    const char *at = *p, *inner = at + 1;
    *p = lz_pattern_skip(at);
    switch (*at) {
    case '[':
    case ']':
        return match_list(at, t, level, b);
    case '?':
        return t->kind == LZ_GRAPH_TYPE_NONE
               || lz_pattern_match(&inner, t->kind == LZ_GRAPH_TYPE_OPTIONAL ? t->elem[0] : t, level, b);
    case 'd':
        return t->kind == LZ_GRAPH_TYPE_DICT && match_elements(&inner, t, level, b);
    case '(':
        return t->kind == LZ_GRAPH_TYPE_TUPLE && match_elements(&inner, t, level, b) && *inner == ')';
    case '0':
    case '1':
    case '2':
    case '3':
        return match_var(*at, t, b);
    default:
        return match_leaf(*at, t, level);
    }
}

/* ---- types ---- */

/* NOLINTNEXTLINE(misc-no-recursion): as deep as the pattern */
static lz_err *make_tuple(lz_type_table *t, const char *p, const lz_bindings *b, const lz_type **out)
{
    const lz_type *elem[8];
    size_t n = 0;
    *out = NULL;
    for (; *p && *p != ')' && n < 8; n++) {
        LZ_TRY(lz_pattern_type(t, &p, b, &elem[n]));
        if (!elem[n])
            return NULL;
    }
    return lz_type_compound(t, LZ_GRAPH_TYPE_TUPLE, elem, NULL, n, out);
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as the pattern */
lz_err *lz_pattern_type(lz_type_table *t, const char **p, const lz_bindings *b, const lz_type **out)
{
    const char *at = *p, *inner = at + 1;
    const lz_type *first = NULL, *second = NULL;
    *p = lz_pattern_skip(at);
    if (*at == '(')
        return make_tuple(t, inner, b, out);
    *out = *at >= '0' && *at <= '3' ? b->var[*at - '0'] : leaf_of(*at);
    if (!strchr("[]?d", *at))
        return NULL;
    LZ_TRY(lz_pattern_type(t, &inner, b, &first));
    if (*at == 'd')
        LZ_TRY(lz_pattern_type(t, &inner, b, &second));
    *out = NULL;
    if (!first || (*at == 'd' && !second))
        return NULL;
    if (*at == 'd')
        return lz_type_dict(t, first, second, out);
    return *at == '?' ? lz_type_optional(t, first, out) : lz_type_list(t, first, out);
}

/* ---- text ---- */

/* NOLINTNEXTLINE(misc-no-recursion): as deep as the pattern */
void lz_pattern_print(const char **p, lz_text *out)
{
    static const char *const vars[] = { "t", "k", "u", "v" };
    char c = *(*p)++;
    const lz_type *leaf = leaf_of(c);
    if (leaf) {
        lz_type_print(leaf, out);
    } else if (c >= '0' && c <= '3') {
        lz_text_puts(out, vars[c - '0']);
    } else if (c == '*') {
        lz_text_puts(out, "...");
    } else if (c == 'd' || c == '(') {
        const char *end = c == '(' ? ")" : "";
        lz_text_puts(out, c == 'd' ? "Dict(" : "(");
        for (int i = 0; **p && **p != *end && (c == '(' || i < 2); i++) {
            lz_text_puts(out, i ? ", " : "");
            lz_pattern_print(p, out);
        }
        *p += c == '(' && **p;
        lz_text_putc(out, ')');
    } else {
        lz_pattern_print(p, out);
        lz_text_puts(out, c == '?' ? "?" : "[]");
    }
}
