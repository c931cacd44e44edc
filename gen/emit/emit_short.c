/* Target `short`: one C name for several overloads, for C programs.
 *
 *     lz_add(c, a, b)               add.Tensor or add.Scalar: a tensor or a number
 *     lz_sum(c, x, .dim = ...)      sum, or sum.dim_IntList if a dimension is given
 *     lz_softmax(c, x, 1)           softmax.int, the only overload
 *
 * The overloads of one name share a short name if all are functional, or all are in-place. *Plain*
 * overloads have equally many positional arguments, which differ only in tensors and numbers. An
 * *extended* overload has those and more positional arguments: the short name takes the additional ones
 * by keyword, and their presence chooses the overload. */
#include "base/mem.h"
#include "gen/emit/c_text.h"
#include "gen/emit/emit.h"

enum { PLAIN_MAX = 8 };

static const char header[] = "include/lazuli/short_ops.h", source[] = "api/short_ops.c";

typedef struct form {
    lz_str name;                      /* "add", "add_" */
    const lzg_c_op *plain[PLAIN_MAX]; /* the first gives the parameters their names */
    size_t n;
    const lzg_c_op *extended; /* or NULL */
    size_t of;                /* number of overloads with the name */
} form;

/* ---- which overloads go together ---- */

static bool is_candidate(const lzg_c_op *op)
{
    lzg_schema_kind kind = op->f->func->kind;
    return op->ident.len && (kind == LZG_FUNCTIONAL || kind == LZG_INPLACE);
}

/* The identifier without its overload: "add_" of add_.Tensor. */
static lz_str short_name(const lzg_c_op *op)
{
    lz_str overload = op->f->func->name.overload;
    return overload.len ? lz_str_sub(op->ident, 0, op->ident.len - overload.len - 1) : op->ident;
}

static const lzg_c_param *positional(const lzg_c_op *op, size_t n)
{
    for (size_t i = 0; i < op->nparams; i++)
        if (!op->params[i].keyword && !n--)
            return &op->params[i];
    return NULL;
}

static const lzg_c_param *keyword(const lzg_c_op *op, lz_str name)
{
    for (size_t i = 0; i < op->nparams; i++)
        if (op->params[i].keyword && lz_str_eq(op->params[i].name, name))
            return &op->params[i];
    return NULL;
}

static bool is_operand(lzg_c_type a)
{
    return a == LZG_C_TENSOR || a == LZG_C_SCALAR;
}

/* Other results have no value for a refused call. */
static bool gives_tensor(const lzg_c_op *op)
{
    return op->nreturns == 1 && op->returns[0].type == LZG_C_TENSOR;
}

/* Each keyword of a is one of b, with the same default. */
static bool has_keywords_of(const lzg_c_op *b, const lzg_c_op *a)
{
    for (size_t i = 0; i < a->nparams; i++) {
        const lzg_c_param *p = &a->params[i], *q = p->keyword ? keyword(b, p->name) : NULL;
        if (p->keyword && (!q || q->type != p->type || !lz_str_eq(q->deflt.init, p->deflt.init)))
            return false;
    }
    return true;
}

/* The first n positional parameters are equal; a tensor and a number count as equal. */
static bool same_positional(const lzg_c_op *a, const lzg_c_op *b, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        lzg_c_type s = positional(a, i)->type, t = positional(b, i)->type;
        if (s != t && !(is_operand(s) && is_operand(t)))
            return false;
    }
    return true;
}

static bool same_kinds(const lzg_c_op *a, const lzg_c_op *b)
{
    for (size_t i = 0; i < a->npositional; i++)
        if (positional(a, i)->type != positional(b, i)->type)
            return false;
    return true;
}

/* Whether op can join the plain overloads of `first`: no two of them take the same types. */
static bool fits_plain(const form *f, const lzg_c_op *op)
{
    const lzg_c_op *first = f->plain[0];
    if (f->n == PLAIN_MAX || op->npositional != first->npositional || !gives_tensor(first)
        || !gives_tensor(op) || !same_positional(first, op, op->npositional) || !has_keywords_of(first, op)
        || !has_keywords_of(op, first))
        return false;
    for (size_t i = 0; i < f->n; i++)
        if (same_kinds(f->plain[i], op))
            return false;
    return true;
}

/* The type in which a keyword can be absent, or LZG_C_TYPE_COUNT. */
static lzg_c_type optional_type(lzg_c_type t)
{
    static const lzg_c_type options[][2] = { { LZG_C_INT, LZG_C_OPT_INT },
                                             { LZG_C_FLOAT, LZG_C_OPT_FLOAT },
                                             { LZG_C_BOOL, LZG_C_OPT_BOOL } };
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        if (options[i][0] == t)
            return options[i][1];
    return t == LZG_C_INTS || t == LZG_C_STR ? t : LZG_C_TYPE_COUNT;
}

/* A keyword that only the extended overload has must be a flag, so that a call that sets it without the
 * extra arguments can be refused. */
static bool extra_keywords_are_flags(const lzg_c_op *plain, const lzg_c_op *op)
{
    for (size_t i = 0; i < op->nparams; i++) {
        const lzg_c_param *p = &op->params[i];
        if (p->keyword && !keyword(plain, p->name)
            && (p->type != LZG_C_BOOL || !lz_str_is(p->deflt.init, "false")))
            return false;
    }
    return true;
}

static bool fits_extended(const form *f, const lzg_c_op *op)
{
    const lzg_c_op *first = f->plain[0];
    if (f->n != 1 || op->npositional <= first->npositional || !gives_tensor(first) || !gives_tensor(op)
        || !has_keywords_of(op, first) || !extra_keywords_are_flags(first, op))
        return false;
    for (size_t i = 0; i < op->npositional; i++) {
        const lzg_c_param *p = positional(op, i);
        if (i < first->npositional) {
            const lzg_c_param *q = positional(first, i);
            if (q->type != p->type || !lz_str_eq(q->name, p->name))
                return false;
        } else if (optional_type(p->type) == LZG_C_TYPE_COUNT) {
            return false;
        }
    }
    return true;
}

/* Of two extended overloads, the one that takes a list is preferred: it fits more calls. */
static bool is_better(const lzg_c_op *op, const lzg_c_op *than)
{
    size_t last = op->npositional - 1;
    return !than
           || (positional(op, last)->type == LZG_C_INTS && than->npositional == op->npositional
               && positional(than, last)->type != LZG_C_INTS);
}

/* The overload without a name, or with the fewest arguments by position. */
static bool is_simpler(const lzg_c_op *op, const lzg_c_op *than)
{
    if (!than)
        return true;
    bool named = op->f->func->name.overload.len, than_named = than->f->func->name.overload.len;
    return named != than_named ? !named : op->npositional < than->npositional;
}

/* Candidates of one name, linked in the order of the operator files: next[i] of operator i, or NULL. */
typedef struct names {
    lz_map first; /* short name -> its first lzg_c_op */
    const lzg_c_op **next, **last;
} names;

static void names_deinit(names *m)
{
    lz_map_deinit(&m->first);
    lz_mem_free(m->next);
}

static lz_err *names_init(names *m, const lzg_c_ops *c)
{
    *m = (names){ .next = lz_mem_zalloc(2 * c->n + 1, sizeof *m->next) };
    if (!m->next)
        return lz_err_oom();
    m->last = m->next + c->n;
    for (size_t i = 0; i < c->n; i++) {
        const lzg_c_op *op = &c->all[i];
        if (!is_candidate(op))
            continue;
        const lzg_c_op *first = lz_map_get(&m->first, short_name(op));
        if (!first)
            LZ_TRY(lz_map_put(&m->first, short_name(op), &c->all[i]));
        first = first ? first : op;
        if (first != op)
            m->next[m->last[first - c->all] - c->all] = op;
        m->last[first - c->all] = op;
    }
    return NULL;
}

#define EACH(o, m, c, first)                                                                                 \
    const lzg_c_op *o = (first);                                                                             \
    o;                                                                                                       \
    o = (m)->next[o - (c)->all]

static form form_of(const names *m, const lzg_c_ops *c, const lzg_c_op *first)
{
    form f = { .name = short_name(first), .n = 1 };
    for (EACH(o, m, c, first)) {
        f.plain[0] = is_simpler(o, f.plain[0]) ? o : f.plain[0];
        f.of++;
    }
    for (EACH(o, m, c, first))
        if (o != f.plain[0] && fits_plain(&f, o))
            f.plain[f.n++] = o;
    for (EACH(o, m, c, first))
        if (fits_extended(&f, o) && is_better(o, f.extended))
            f.extended = o;
    return f;
}

/* A name for a single overload. */
static bool is_alias(const form *f)
{
    return f->n == 1 && !f->extended;
}

/* Whether an operator or a header already has the name. */
static bool is_taken(const lzg_c_ops *c, lz_str name)
{
    return lz_map_get(&c->by_ident, name) || lz_map_find(&c->reserved, name);
}

/* A single overload gets a short name only if the name has no other overload. */
static bool is_made(const lzg_c_ops *c, const form *f)
{
    return !is_alias(f) || (f->of == 1 && !is_taken(c, f->name));
}

/* ---- parameters of a short name ---- */

static const lzg_c_op *richest(const form *f)
{
    return f->extended ? f->extended : f->plain[0];
}

/* Parameters that are tensors in some overloads and numbers in others. */
static bool is_either(const form *f, size_t n)
{
    for (size_t i = 1; i < f->n; i++)
        if (positional(f->plain[i], n)->type != positional(f->plain[0], n)->type)
            return true;
    return false;
}

static bool is_extra(const form *f, const lzg_c_param *p)
{
    if (p->keyword || !f->extended)
        return false;
    for (size_t i = f->plain[0]->npositional; i < f->extended->npositional; i++)
        if (positional(f->extended, i) == p)
            return true;
    return false;
}

static bool has_keywords(const form *f)
{
    return richest(f)->args_like || f->extended;
}

static lzg_c_type keyword_type(const form *f, const lzg_c_param *p)
{
    return is_extra(f, p) ? optional_type(p->type) : p->type;
}

static void put_keyword_default(lz_text *out, const form *f, const lzg_c_param *p)
{
    lzg_fill(out, ".$ = $", p->name, is_extra(f, p) ? lzg_c_types[keyword_type(f, p)].absent : p->deflt.init);
}

static void put_args_type(lz_text *out, const form *f)
{
    const lzg_c_op *op = richest(f);
    lzg_fill(out, "typedef struct lz_$_any_args {\n", f->name);
    for (size_t i = 0; i < op->nparams; i++)
        if (op->params[i].keyword || is_extra(f, &op->params[i]))
            lzg_fill(out, "    $$;\n", lzg_c_types[keyword_type(f, &op->params[i])].decl, op->params[i].name);
    lzg_fill(out, "} lz_$_any_args;\nLZ_API extern const lz_$_any_args lz_$_any_defaults;\n", f->name,
             f->name, f->name);
}

static void put_head(lz_text *out, const form *f, const char *before, const char *end)
{
    const lzg_c_op *op = f->plain[0];
    lz_text_puts(out, before);
    lzg_wrap w = lzg_wrap_begin(out, 4, LZ_STR(""));
    lzg_put_c_result(out, op);
    lzg_fill(out, "lz_$_any_at(lz_ctx *c, lz_loc at", f->name);
    for (size_t i = 0; i < op->npositional; i++) {
        const lzg_c_param *p = positional(op, i);
        lzg_wrap_done(&w, LZ_STR(", "));
        lzg_fill(out, "$$", is_either(f, i) ? LZ_STR("lz_operand ") : lzg_c_types[p->type].decl, p->name);
    }
    if (has_keywords(f)) {
        lzg_wrap_done(&w, LZ_STR(", "));
        lzg_fill(out, "const lz_$_any_args *args", f->name);
    }
    lzg_wrap_done(&w, lz_str_of(end));
    lzg_put(out, "\n");
}

/* ---- the header ---- */

static void put_overloads(lz_text *out, const form *f)
{
    lzg_put(out, "/* ");
    for (size_t i = 0; i < f->n; i++)
        lzg_fill(out, "$$", i ? LZ_STR(", ") : LZ_STR(""), f->plain[i]->f->func->name.text);
    if (f->extended)
        lzg_fill(out, ", $", f->extended->f->func->name.text);
    lzg_put(out, " */\n");
}

static void put_declaration(lz_text *out, const form *f)
{
    put_overloads(out, f);
    if (has_keywords(f))
        put_args_type(out, f);
    put_head(out, f, "LZ_API ", ");\n");
}

static void put_passed(lz_text *out, const form *f, size_t i)
{
    const lzg_c_param *p = positional(f->plain[0], i);
    bool last = has_keywords(f) && i + 1 == f->plain[0]->npositional;
    lz_text_puts(out, is_either(f, i) ? "LZ_OPERAND(" : p->type == LZG_C_SCALAR ? "LZ_S(" : "(");
    lz_text_add(out, last ? LZ_STR("LZ_LAST(__VA_ARGS__)") : p->name);
    lzg_put(out, ")");
}

static void put_macro_keywords(lzg_wrap *w, const form *f)
{
    const lzg_c_op *op = richest(f);
    lzg_wrap_done(w, LZ_STR(", "));
    lzg_fill(w->out, "&(const lz_$_any_args){", f->name);
    lzg_wrap_done(w, LZ_STR(" "));
    for (size_t i = 0; i < op->nparams; i++)
        if (op->params[i].keyword || is_extra(f, &op->params[i])) {
            put_keyword_default(w->out, f, &op->params[i]);
            lzg_wrap_done(w, LZ_STR(", "));
        }
    lzg_put(w->out, "LZ_KEYWORDS(__VA_ARGS__) }))");
}

static void put_macro(lz_text *out, const form *f)
{
    const lzg_c_op *op = f->plain[0];
    size_t named = op->npositional - (has_keywords(f) ? 1 : 0);
    lzg_fill(out, "#undef lz_$\n#define lz_$(c", f->name, f->name);
    for (size_t i = 0; i < named; i++)
        lzg_fill(out, ", $", positional(op, i)->name);
    lz_text_puts(out, has_keywords(f) ? ", ...) LZ_CALL(" : ") ");
    lzg_wrap w = lzg_wrap_begin(out, 4, LZ_STR(" \\"));
    lzg_fill(out, "lz_$_any_at((c), LZ_HERE", f->name);
    for (size_t i = 0; i < op->npositional; i++) {
        lzg_wrap_done(&w, LZ_STR(", "));
        put_passed(out, f, i);
    }
    if (has_keywords(f))
        put_macro_keywords(&w, f);
    else
        lzg_put(out, ")");
    lzg_wrap_done(&w, LZ_STR(""));
    lzg_put(out, "\n");
}

static void put_alias(lz_text *out, const form *f)
{
    lzg_fill(out, "#define lz_$(...) lz_$(__VA_ARGS__)\n", f->name, f->plain[0]->ident);
}

/* ---- the bodies ---- */

static void put_call(lz_text *out, const form *f, const lzg_c_op *op)
{
    lzg_wrap w = lzg_wrap_begin(out, 8, LZ_STR(""));
    lzg_fill(out, "return lz_$$(c, at", op->ident, op->part[LZG_PART_AT]);
    for (size_t i = 0; i < op->npositional; i++) {
        const lzg_c_param *p = positional(op, i);
        lzg_wrap_done(&w, LZ_STR(", "));
        if (i >= f->plain[0]->npositional)
            lzg_fill(out, "args->$$", p->name, optional_type(p->type) == p->type ? LZ_STR("") : LZ_STR(".v"));
        else if (is_either(f, i))
            lzg_fill(out, "$.$", positional(f->plain[0], i)->name,
                     p->type == LZG_C_TENSOR ? LZ_STR("tensor") : LZ_STR("number"));
        else
            lz_text_add(out, positional(f->plain[0], i)->name);
    }
    if (op->args_like) {
        lzg_wrap_done(&w, LZ_STR(", "));
        lzg_fill(out, "&(const lz_$$){", op->ident, op->part[LZG_PART_ARGS]);
        lzg_wrap_done(&w, LZ_STR(" "));
        for (size_t i = 0; i < op->nparams; i++)
            if (op->params[i].keyword) {
                lzg_fill(out, ".$ = args->$", op->params[i].name, op->params[i].name);
                lzg_wrap_done(&w, LZ_STR(", "));
            }
        lzg_put(out, "}");
    }
    lzg_wrap_done(&w, LZ_STR(");"));
    lzg_put(out, "\n");
}

/* The condition that selects one overload: "lz_is_tensor(self) && !lz_is_tensor(other)". */
static void put_plain_test(lz_text *out, const form *f, const lzg_c_op *op)
{
    const char *and = "";
    for (size_t i = 0; i < op->npositional; i++)
        if (is_either(f, i)) {
            lzg_fill(out, "$$lz_operand_is_tensor($)", lz_str_of(and),
                     positional(op, i)->type == LZG_C_TENSOR ? LZ_STR("") : LZ_STR("!"),
                     positional(f->plain[0], i)->name);
            and = " && ";
        }
}

static void put_refusal(lz_text *out, const form *f, lz_str text)
{
    lzg_fill(out, "return lz_fail(c, at, LZ_ERR_ARG, \"$: $\");\n", f->name, text);
}

/* The additional arguments choose the extended overload; its flags have no meaning without them. */
static void put_extended(lz_text *out, const form *f)
{
    const lzg_c_op *op = f->extended;
    lz_str first = positional(op, f->plain[0]->npositional)->name;
    lzg_put(out, "    if (");
    for (size_t i = f->plain[0]->npositional; i < op->npositional; i++) {
        const lzg_c_param *p = positional(op, i);
        lz_str test = p->type == LZG_C_INTS ? LZ_STR(".n >= 0") : LZ_STR(".has");
        lzg_fill(out, "$args->$$", i > f->plain[0]->npositional ? LZ_STR(" || ") : LZ_STR(""), p->name,
                 p->type == LZG_C_STR ? LZ_STR("") : test);
    }
    lzg_put(out, ")\n        ");
    put_call(out, f, op);
    for (size_t i = 0; i < op->nparams; i++) {
        const lzg_c_param *p = &op->params[i];
        if (!p->keyword || keyword(f->plain[0], p->name))
            continue;
        lzg_fill(
            out,
            "    if (args->$)\n        return lz_fail(c, at, LZ_ERR_ARG, \"$: $ is given without $\");\n",
            p->name, f->name, p->name, first);
    }
}

static void put_body(lz_text *out, const form *f)
{
    if (has_keywords(f)) {
        const lzg_c_op *op = richest(f);
        lzg_fill(out, "const lz_$_any_args lz_$_any_defaults = {\n", f->name, f->name);
        for (size_t i = 0; i < op->nparams; i++)
            if (op->params[i].keyword || is_extra(f, &op->params[i])) {
                lzg_put(out, "    ");
                put_keyword_default(out, f, &op->params[i]);
                lzg_put(out, ",\n");
            }
        lzg_put(out, "};\n\n");
    }
    put_head(out, f, "", ")\n{");
    if (has_keywords(f))
        lzg_fill(out, "    args = args ? args : &lz_$_any_defaults;\n", f->name);
    if (f->extended)
        put_extended(out, f);
    for (size_t i = 0; i < f->n; i++) {
        if (f->n > 1) {
            lzg_put(out, "    if (");
            put_plain_test(out, f, f->plain[i]);
            lzg_put(out, ")\n    ");
        }
        lzg_put(out, "    ");
        put_call(out, f, f->plain[i]);
    }
    if (f->n > 1) {
        lzg_put(out, "    ");
        put_refusal(out, f, LZ_STR("no overload takes these tensors and numbers"));
    }
    lzg_put(out, "}\n\n");
}

/* ---- files ---- */

typedef void put_fn(lz_text *out, const form *f);

static void put_each(lzg_emit *e, const names *m, lz_text *out, bool alias, put_fn *put)
{
    for (size_t i = 0; i < e->c->n; i++) {
        const lzg_c_op *op = &e->c->all[i];
        if (!is_candidate(op) || lz_map_get(&m->first, short_name(op)) != op)
            continue;
        form f = form_of(m, e->c, op);
        if (is_alias(&f) == alias && is_made(e->c, &f))
            put(out, &f);
        lzg_emit_flush(e);
    }
}

static void put_opening(lz_text *out)
{
    lzg_put(out,
            "/* short_ops.h - one name for several overloads. Made by lazuli-gen from the operator files.\n"
            " *\n"
            " *     lz_add(c, a, b)    lz_add(c, a, 2)          a tensor or a number\n"
            " *     lz_sum(c, x)       lz_sum(c, x, .dim = ...)  all elements, or some dimensions\n"
            " *     lz_softmax(c, x, 1)                         the only overload, softmax.int\n"
            " *\n"
            " * The macros are for C; the functions behind them choose the overload of ops.h. */\n"
            "#ifndef LAZULI_SHORT_OPS_H\n#define LAZULI_SHORT_OPS_H\n\n#include <lazuli/ops.h>\n\n"
            "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n");
}

static lz_err *emit_header(lzg_emit *e, const names *m)
{
    lz_text *out;
    LZ_TRY(lzg_emit_begin(e, header, &out));
    put_opening(out);
    put_each(e, m, out, false, put_declaration);
    lzg_put(out, "#ifdef __cplusplus\n}\n#else\n\n");
    put_each(e, m, out, false, put_macro);
    lzg_put(out, "\n");
    put_each(e, m, out, true, put_alias);
    lzg_put(out, "\n#endif\n#endif\n");
    return lzg_emit_end(e);
}

static lz_err *emit_source(lzg_emit *e, const names *m)
{
    lz_text *out;
    LZ_TRY(lzg_emit_begin(e, source, &out));
    lzg_put(out, "#include <lazuli/short_ops.h>\n\n"
                 "/* As in tensor.h, some of whose functions have names that operators may have. */\n"
                 "LZ_API lz_tensor *lz_fail(lz_ctx *c, lz_loc at, lz_code code, const char *text);\n\n");
    put_each(e, m, out, false, put_body);
    return lzg_emit_end(e);
}

lz_err *lzg_emit_short(lzg_emit *e)
{
    names m;
    lz_err *err = names_init(&m, e->c);
    if (!err)
        err = emit_header(e, &m);
    if (!err)
        err = emit_source(e, &m);
    names_deinit(&m);
    return err;
}

lz_err *lzg_why_short(const lzg_emit *e, const lzg_c_op *op, lz_arena *a, lzg_uses *out)
{
    names m;
    lz_err *err = names_init(&m, e->c);
    if (!err && is_candidate(op)) {
        form f = form_of(&m, e->c, lz_map_get(&m.first, short_name(op)));
        if (is_made(e->c, &f))
            err = lzg_use_add(a, out, header, "lz_$", "#define lz_$(", f.name);
    }
    names_deinit(&m);
    return err;
}
