/* Chooses the operator or built-in that a node calls.
 *
 * The text names no overload: the first one whose arguments fit is chosen, as in TorchScript. First all
 * arguments must be present and fit by type. If no overload does, then in turn arguments with defaults may be
 * missing from the end, numbers may be converted, and numbers may stand for tensors. Built-ins must fit
 * without leniency. Of overloads that differ in results alone, the one whose results fit the node's outputs
 * is chosen. */
#include "graph/ir.h"

/* ---- schemas as patterns ---- */

static const char *const kind_patterns[LZ_KIND_COUNT] = {
    [LZ_KIND_TENSOR] = "T",        [LZ_KIND_GENERATOR] = "g", [LZ_KIND_STORAGE] = "o",
    [LZ_KIND_STREAM] = "m",        [LZ_KIND_OBJECT] = "A",    [LZ_KIND_INT] = "i",
    [LZ_KIND_FLOAT] = "f",         [LZ_KIND_BOOL] = "b",      [LZ_KIND_SCALAR] = "S",
    [LZ_KIND_STR] = "s",           [LZ_KIND_DTYPE] = "i",     [LZ_KIND_LAYOUT] = "i",
    [LZ_KIND_MEMORY_FORMAT] = "i", [LZ_KIND_QSCHEME] = "i",   [LZ_KIND_DEVICE] = "D",
    [LZ_KIND_INTS] = "[i",         [LZ_KIND_FLOATS] = "[f",   [LZ_KIND_BOOLS] = "[b",
    [LZ_KIND_SCALARS] = "[S",      [LZ_KIND_STRS] = "[s",     [LZ_KIND_TENSORS] = "[T",
};

typedef struct row_pattern {
    char text[8];
} row_pattern;

static row_pattern pattern_of(const lz_type_row *t)
{
    row_pattern p = { { 0 } };
    const char *base = kind_patterns[t->kind] ? kind_patterns[t->kind] : "A";
    size_t n = 0;
    if (t->flags & LZ_TYPE_OPTIONAL)
        p.text[n++] = '?';
    for (; *base; base++) {
        p.text[n++] = *base == '[' && t->size > 0 ? ']' : *base;
        if (*base == '[' && (t->flags & LZ_TYPE_NULLABLE))
            p.text[n++] = '?';
    }
    return p;
}

/* ---- candidates ---- */

/* From exact to lenient; all candidates are tried at each step. */
typedef struct lenience {
    bool defaults; /* arguments may be missing */
    lz_match_level level;
} lenience;

static const lenience steps[] = {
    { false, LZ_MATCH_FITS },
    { true, LZ_MATCH_FITS },
    { true, LZ_MATCH_CONVERTS },
    { true, LZ_MATCH_NUMBERS },
};

static bool fits_op(const lz_ssa_node *n, const lz_op_row *op, lenience l)
{
    lz_bindings none = { { NULL } };
    bool ok = n->nin <= op->nargs && (l.defaults || n->nin == op->nargs);
    for (uint32_t i = 0; ok && i < n->nin; i++) {
        row_pattern p = pattern_of(op->args[i].type);
        const char *at = p.text;
        /* a number may stand for a tensor, but not for the first argument */
        lz_match_level level = i == 0 && l.level == LZ_MATCH_NUMBERS ? LZ_MATCH_CONVERTS : l.level;
        ok = lz_pattern_match(&at, lz_ssa_in(n, i)->type, level, &none);
    }
    for (uint32_t i = n->nin; ok && i < op->nargs; i++)
        ok = op->args[i].default_text != NULL;
    return ok;
}

static bool fits_builtin(const lz_ssa_node *n, const lz_builtin *b, lz_bindings *bound)
{
    const char *p = b->args;
    bool ok = true;
    *bound = (lz_bindings){ { NULL } };
    for (uint32_t i = 0; ok && i < n->nin; i++)
        ok = *p == '*' || (*p && lz_pattern_match(&p, lz_ssa_in(n, i)->type, LZ_MATCH_FITS, bound));
    return ok && (!*p || *p == '*');
}

/* ---- results ---- */

/* Do the node's outputs match the patterns, as far as their types are known? */
static bool gives_builtin(const lz_ssa_node *n, const lz_builtin *b, lz_bindings bound)
{
    const char *p = b->rets;
    bool ok = !n->nout || n->nout == lz_pattern_count(b->rets);
    for (uint32_t i = 0; ok && i < n->nout; i++) {
        const char *at = p;
        p = lz_pattern_skip(p);
        ok = !n->out[i]->type || lz_pattern_match(&at, n->out[i]->type, LZ_MATCH_FITS, &bound);
    }
    return ok;
}

static bool gives_op(const lz_ssa_node *n, const lz_op_row *op)
{
    lz_bindings none = { { NULL } };
    bool ok = !n->nout || n->nout == op->nreturns;
    for (uint32_t i = 0; ok && i < n->nout; i++) {
        row_pattern p = pattern_of(op->returns[i].type);
        const char *at = p.text;
        ok = !n->out[i]->type || lz_pattern_match(&at, n->out[i]->type, LZ_MATCH_FITS, &none);
    }
    return ok;
}

typedef struct choice {
    const lz_builtin *builtin; /* or */
    const lz_op_row *op;
    lz_bindings bound;
    bool gives; /* do the results fit, too? */
} choice;

static void consider(choice *c, const choice *candidate)
{
    bool none = !c->builtin && !c->op;
    bool twin = c->builtin && candidate->builtin && !strcmp(c->builtin->args, candidate->builtin->args);
    if (none || (twin && candidate->gives))
        *c = *candidate;
}

static void search(const lz_ssa_node *n, lenience l, choice *out)
{
    const lz_ssa_symbol *s = n->sym;
    for (size_t i = 0; i < s->nbuiltins && !out->gives; i++) {
        choice c = { .builtin = s->builtins[i] };
        if (!fits_builtin(n, c.builtin, &c.bound))
            continue;
        c.gives = gives_builtin(n, c.builtin, c.bound);
        consider(out, &c);
    }
    for (size_t i = 0; i < s->nops && !out->gives; i++)
        if (fits_op(n, s->ops[i], l))
            consider(out, &(choice){ .op = s->ops[i], .gives = gives_op(n, s->ops[i]) });
}

/* ---- errors ---- */

static void print_inputs(const lz_ssa_node *n, lz_text *out)
{
    for (uint32_t i = 0; i < n->nin; i++) {
        lz_text_puts(out, i ? ", " : "");
        lz_type_print(lz_ssa_in(n, i)->type, out);
    }
}

enum { SHOWN = 12 }; /* candidates in a message */

static lz_err *no_match(const lz_graph *g, const lz_ssa_node *n)
{
    const lz_ssa_symbol *s = n->sym;
    lz_text t = { 0 };
    lz_text_printf(&t, "no %.*s takes (", LZ_FMT(s->name));
    print_inputs(n, &t);
    lz_text_puts(&t, "); there are:");
    for (size_t i = 0; i < s->nbuiltins && i < SHOWN; i++) {
        lz_text_puts(&t, "\n    ");
        lz_builtin_print(s->builtins[i], &t);
    }
    for (size_t i = 0; i < s->nops && i + s->nbuiltins < SHOWN; i++)
        lz_text_printf(&t, "\n    %s::%s", s->ops[i]->ns, s->ops[i]->schema);
    if (s->nops + s->nbuiltins > SHOWN)
        lz_text_printf(&t, "\n    and %zu more", s->nops + s->nbuiltins - SHOWN);
    lz_err *e = lz_text_check(&t);
    e = e ? e : lz_ssa_error(g, n, LZ_ERR_MODEL, "%.*s", LZ_FMT(lz_text_view(&t)));
    lz_text_deinit(&t);
    return e;
}

static lz_err *wrong_results(const lz_graph *g, const lz_ssa_node *n, const choice *c)
{
    lz_text t = { 0 };
    lz_text_puts(&t, "the types of the results contradict ");
    if (c->builtin)
        lz_builtin_print(c->builtin, &t);
    else
        lz_text_printf(&t, "%s::%s", c->op->ns, c->op->schema);
    lz_err *e = lz_text_check(&t);
    e = e ? e : lz_ssa_error(g, n, LZ_ERR_MODEL, "%.*s", LZ_FMT(lz_text_view(&t)));
    lz_text_deinit(&t);
    return e;
}

/* ---- types of outputs ---- */

/* For a node that was made without outputs. */
static lz_err *add_outputs(lz_graph *g, lz_ssa_node *n, size_t count)
{
    lz_ssa_value *v;
    while (n->nout < count)
        LZ_TRY(lz_ssa_output_add(g, n, NULL, &v));
    return NULL;
}

static lz_err *fill_types(lz_graph *g, lz_ssa_node *n, const choice *c)
{
    const char *p = c->builtin ? c->builtin->rets : "";
    size_t count = c->builtin ? lz_pattern_count(p) : c->op->nreturns;
    LZ_TRY(add_outputs(g, n, count));
    for (uint32_t i = 0; i < n->nout; i++) {
        row_pattern row = { { 0 } };
        const lz_type *type;
        if (c->op) {
            row = pattern_of(c->op->returns[i].type);
            p = row.text;
        }
        LZ_TRY(lz_pattern_type(&g->types, &p, &c->bound, &type));
        if (!n->out[i]->type)
            n->out[i]->type = type ? type : lz_type_leaf(LZ_GRAPH_TYPE_TENSOR);
    }
    return NULL;
}

static void leave_unknown(lz_ssa_node *n)
{
    for (uint32_t i = 0; i < n->nout; i++)
        n->out[i]->type = n->out[i]->type ? n->out[i]->type : lz_type_leaf(LZ_GRAPH_TYPE_TENSOR);
}

/* aten::sort on a tensor may be an operator that does not exist yet, although there is a built-in of that
 * name for lists. */
static bool may_be_operator(const lz_ssa_node *n)
{
    bool tensors = false;
    for (uint32_t i = 0; !tensors && i < n->nin; i++)
        tensors = lz_ssa_in(n, i)->type->kind == LZ_GRAPH_TYPE_TENSOR;
    return tensors && !n->sym->nops;
}

lz_err *lz_ssa_resolve(lz_graph *g, lz_ssa_node *n)
{
    choice c = { 0 };
    n->op = NULL;
    n->builtin = NULL;
    if (n->sym->prim != LZ_PRIM_NONE || (!n->sym->nbuiltins && !n->sym->nops))
        return leave_unknown(n), NULL;
    for (size_t i = 0; i < sizeof steps / sizeof *steps && !c.builtin && !c.op; i++)
        search(n, steps[i], &c);
    if (!c.builtin && !c.op && may_be_operator(n))
        return leave_unknown(n), NULL;
    if (!c.builtin && !c.op)
        return no_match(g, n);
    if (!c.gives)
        return wrong_results(g, n, &c);
    n->op = c.op;
    n->builtin = c.builtin;
    return fill_types(g, n, &c);
}

bool lz_ssa_matches(const lz_ssa_node *n)
{
    const lenience all = steps[sizeof steps / sizeof *steps - 1];
    lz_bindings bound;
    if (n->op)
        return fits_op(n, n->op, all) && n->nout == n->op->nreturns && gives_op(n, n->op);
    if (n->builtin)
        return fits_builtin(n, n->builtin, &bound) && n->nout == lz_pattern_count(n->builtin->rets)
               && gives_builtin(n, n->builtin, bound);
    return true;
}
