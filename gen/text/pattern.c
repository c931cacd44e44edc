#include "gen/text/pattern.h"

/* A pattern is a little program; its machine keeps the set of all steps that it could
 * be at (Thompson 1968). Jumps are relative, so a piece may be moved. */
typedef enum op { OP_CHAR, OP_ANY, OP_BEGIN, OP_END, OP_JUMP, OP_SPLIT, OP_MATCH } op;

typedef struct step {
    op op;
    char c;
    int to; /* JUMP goes there, SPLIT there and to the next one */
} step;

struct lzg_pattern {
    size_t n;
    step code[];
};

typedef struct compiler {
    lz_str text;
    size_t at;
    lz_loc loc;
    size_t n;
    step code[LZG_PATTERN_STEPS];
} compiler;

static lz_err *refuse(const compiler *c, const char *why)
{
    return lz_err_at(LZ_ERR_SYNTAX, c->loc, "pattern '%.*s', character %zu: %s", LZ_FMT(c->text), c->at + 1,
                     why);
}

static char peek(const compiler *c)
{
    return c->at < c->text.len ? c->text.ptr[c->at] : '\0';
}

/* Puts a step before step `where`, which moves up. */
static lz_err *insert(compiler *c, size_t where, step s)
{
    if (c->n == LZG_PATTERN_STEPS)
        return lz_err_at(LZ_ERR_LIMIT, c->loc, "pattern '%.*s' is too long", LZ_FMT(c->text));
    memmove(c->code + where + 1, c->code + where, (c->n - where) * sizeof *c->code);
    c->code[where] = s;
    c->n++;
    return NULL;
}

static lz_err *alternatives(compiler *c, size_t depth);

/* NOLINTNEXTLINE(misc-no-recursion): groups nest DEEPEST deep at most */
static lz_err *group(compiler *c, size_t depth)
{
    enum { DEEPEST = 16 };
    c->at++;
    if (depth == DEEPEST)
        return refuse(c, "too many nested groups");
    LZ_TRY(alternatives(c, depth + 1));
    if (peek(c) != ')')
        return refuse(c, "a group does not end");
    c->at++;
    return NULL;
}

/* `first` is where the repeated piece begins. */
static lz_err *suffix(compiler *c, size_t first)
{
    int n = (int)(c->n - first);
    char s = peek(c);
    if (s != '?' && s != '*' && s != '+')
        return NULL;
    if (n && (c->code[c->n - 1].op == OP_BEGIN || c->code[c->n - 1].op == OP_END))
        return refuse(c, "an anchor cannot repeat");
    c->at++;
    if (s == '+')
        LZ_TRY(insert(c, c->n, (step){ .op = OP_SPLIT, .to = -n }));
    else
        LZ_TRY(insert(c, first, (step){ .op = OP_SPLIT, .to = n + (s == '*' ? 2 : 1) }));
    if (s == '*')
        LZ_TRY(insert(c, c->n, (step){ .op = OP_JUMP, .to = -n - 1 }));
    return strchr("?*+", peek(c)) && peek(c) ? refuse(c, "nothing to repeat") : NULL;
}

/* NOLINTNEXTLINE(misc-no-recursion): as group */
static lz_err *piece(compiler *c, size_t depth)
{
    static const struct {
        char c;
        op op;
    } specials[] = { { '.', OP_ANY }, { '^', OP_BEGIN }, { '$', OP_END } };
    size_t first = c->n;
    step s = { .op = OP_CHAR, .c = peek(c) };
    if (strchr("?*+[]{}\\", s.c))
        return refuse(c, "this character has no meaning here");
    for (size_t i = 0; i < sizeof specials / sizeof *specials; i++)
        if (s.c == specials[i].c)
            s.op = specials[i].op;
    if (s.c == '(') {
        LZ_TRY(group(c, depth));
    } else {
        LZ_TRY(insert(c, first, s));
        c->at++;
    }
    return suffix(c, first);
}

/* NOLINTNEXTLINE(misc-no-recursion): as group; and each '|' takes two of the STEPS */
static lz_err *alternatives(compiler *c, size_t depth)
{
    size_t first = c->n;
    while (c->at < c->text.len && peek(c) != '|' && peek(c) != ')')
        LZ_TRY(piece(c, depth));
    if (peek(c) != '|')
        return NULL;
    c->at++;
    LZ_TRY(insert(c, first, (step){ .op = OP_SPLIT, .to = (int)(c->n - first) + 2 }));
    size_t jump = c->n;
    LZ_TRY(insert(c, jump, (step){ .op = OP_JUMP }));
    LZ_TRY(alternatives(c, depth));
    c->code[jump].to = (int)(c->n - jump);
    return NULL;
}

lz_err *lzg_pattern_compile(lz_arena *a, lz_str text, lz_loc loc, const lzg_pattern **out)
{
    compiler c = { .text = text, .loc = loc };
    if (memchr(text.ptr, '\0', text.len))
        return lz_err_at(LZ_ERR_SYNTAX, loc, "a pattern with a NUL");
    LZ_TRY(alternatives(&c, 0));
    if (c.at < text.len)
        return refuse(&c, "a group ends that did not begin");
    LZ_TRY(insert(&c, c.n, (step){ .op = OP_MATCH }));
    lzg_pattern *p = lz_arena_zalloc(a, sizeof *p + c.n * sizeof *p->code);
    if (!p)
        return lz_err_oom();
    p->n = c.n;
    memcpy(p->code, c.code, c.n * sizeof *p->code);
    *out = p;
    return NULL;
}

typedef struct steps {
    uint64_t bits[LZG_PATTERN_STEPS / 64];
    size_t n, list[LZG_PATTERN_STEPS];
} steps;

static void clear(steps *s)
{
    memset(s->bits, 0, sizeof s->bits);
    s->n = 0; /* what the list holds beyond is never read */
}

/* Adds a step and all that can be reached from it without reading; true at MATCH. */
static bool reach(const lzg_pattern *p, steps *set, size_t i, bool first, bool last)
{
    size_t todo[2 * LZG_PATTERN_STEPS], n = 1; /* each step is left once, for two others at most */
    for (todo[0] = i; n;) {
        size_t k = todo[--n];
        const step *s = &p->code[k];
        uint64_t bit = (uint64_t)1 << k % 64;
        if (set->bits[k / 64] & bit)
            continue;
        set->bits[k / 64] |= bit;
        if (s->op == OP_MATCH)
            return true;
        if (s->op == OP_CHAR || s->op == OP_ANY)
            set->list[set->n++] = k;
        if (s->op == OP_JUMP || s->op == OP_SPLIT)
            todo[n++] = k + (size_t)s->to;
        if (s->op == OP_SPLIT || (s->op == OP_BEGIN && first) || (s->op == OP_END && last))
            todo[n++] = k + 1;
    }
    return false;
}

bool lzg_pattern_match(const lzg_pattern *p, lz_str s)
{
    steps sets[2], *now = &sets[0], *next = &sets[1];
    clear(now);
    if (reach(p, now, 0, true, s.len == 0))
        return true;
    for (size_t i = 0; i < s.len && now->n; i++) {
        clear(next);
        for (size_t k = 0; k < now->n; k++) {
            const step *at = &p->code[now->list[k]];
            bool reads = at->op == OP_ANY ? s.ptr[i] != '\n' : at->c == s.ptr[i];
            if (reads && reach(p, next, now->list[k] + 1, false, i + 1 == s.len))
                return true;
        }
        steps *swap = now;
        now = next;
        next = swap;
    }
    return false;
}
