/* The parser of the graph's text. One line is one node; indentation makes blocks, as in Python:
 *
 *     graph(%x : Tensor, %c : bool):
 *       %y : Tensor = prim::If(%c)       nodes are indented more than their block's head
 *         block0():                      heads are indented more than their node
 *           %1 : Tensor = aten::relu(%x)
 *           -> (%1)
 *         block1():
 *           -> (%x)
 *       return (%y)
 *
 * A name refers to its last definition above. If that is in a block that has ended, the text is refused, even
 * if there is an earlier definition. Open blocks are on a stack of LZ_BLOCK_DEPTH; nothing recurses over
 * them. */
#include "graph/graph_parse.h"
#include "base/number.h"
#include "base/vec.h"
#include "graph/ir.h"
#include "graph/script_value_type.h"
#include <assert.h>

typedef struct frame {
    lz_ssa_block *block;
    uint32_t head; /* column of the block's head, from 0 */
    uint32_t body; /* column of its nodes; 0: not yet known */
    bool unsure;   /* body may be one less: so far all lines began with '=' */
} frame;

typedef struct attr {
    lz_token at;
    lz_str name;
    const lz_type *type;
    lz_script_value value;
} attr;

typedef struct parser {
    lz_lexer lex;
    lz_graph *g;
    lz_map names;                  /* from name to the last value of that name; keys point into the text */
    LZ_VEC(lz_ssa_value *) hidden; /* earlier values whose name was defined again */
    frame stack[LZ_BLOCK_DEPTH + 1];
    size_t depth;              /* frames in use */
    LZ_VEC(lz_ssa_value *) in; /* of the current node */
    LZ_VEC(const lz_type *) types;
    LZ_VEC(lz_str) outs;
    LZ_VEC(attr) attrs;
    lz_str file; /* of the last source location in a comment */
} parser;

static frame *top(parser *p)
{
    return &p->stack[p->depth - 1];
}

static const lz_token *now(const parser *p)
{
    return &p->lex.tok;
}

/* ---- names ---- */

enum { ID_DIGITS = 9 };

/* Is the name the decimal form of an id? Values with such a name have no other name. */
static bool is_id(lz_str name, uint32_t *out)
{
    uint64_t v;
    if (!name.len || name.len > ID_DIGITS || (name.len > 1 && name.ptr[0] == '0')
        || !lz_uint64_parse(name, &v))
        return false;
    *out = (uint32_t)v;
    return name.ptr[0] != '+';
}

/* Values without a name in the text get ids above all ids in the text. */
static uint32_t first_free_id(lz_str text)
{
    uint32_t free_id = 0, id;
    for (const char *at = !text.len ? NULL : memchr(text.ptr, '%', text.len), *end = text.ptr + text.len; at;
         at = memchr(at, '%', (size_t)(end - at))) {
        const char *from = ++at;
        while (at < end && *at >= '0' && *at <= '9')
            at++;
        if (is_id((lz_str){ from, (size_t)(at - from) }, &id) && id >= free_id)
            free_id = id + 1;
    }
    return free_id;
}

static lz_err *define(parser *p, lz_ssa_value *v, lz_str name)
{
    uint32_t id;
    lz_map_entry *old = lz_map_find(&p->names, name);
    if (old)
        LZ_TRY(lz_vec_push(&p->hidden, (lz_ssa_value *)old->value));
    if (is_id(name, &id))
        v->id = id;
    else
        LZ_TRY(lz_ssa_name_set(p->g, v, name));
    return lz_map_put(&p->names, name, v);
}

static lz_err *look_up(const parser *p, const lz_token *t, lz_ssa_value **out)
{
    const lz_ssa_block *here = p->stack[p->depth - 1].block;
    lz_ssa_value *v = lz_map_get(&p->names, t->text);
    if (!v)
        return lz_lexer_error(&p->lex, t, LZ_ERR_MODEL, "%%%.*s is not defined", LZ_FMT(t->text));
    if (!lz_ssa_within(here, v->node->block))
        return lz_lexer_error(&p->lex, t, LZ_ERR_MODEL,
                              "%%%.*s is not defined here: its block, in line %u, has ended", LZ_FMT(t->text),
                              v->node->line);
    *out = v;
    return NULL;
}

/* "x.3" -> "x" */
static lz_str stem(lz_str name)
{
    size_t dot = lz_str_rfind(name, LZ_STR(".")), i = dot + 1;
    if (dot == SIZE_MAX || dot == 0)
        return name;
    while (i < name.len && name.ptr[i] >= '0' && name.ptr[i] <= '9')
        i++;
    return i == name.len ? lz_str_sub(name, 0, dot) : name;
}

/* Gives a new name to a value whose name was defined again. Numbers are counted per stem, so that a frequent
 * name is not tried from 1 each time. */
static lz_err *rename_value(parser *p, lz_map *counts, lz_ssa_value *v)
{
    lz_str name, base = v->name;
    uintptr_t n;
    if (!base.len)
        LZ_TRY(lz_arena_printf(&p->g->arena, &base, "%u", v->id));
    base = stem(base);
    n = (uintptr_t)lz_map_get(counts, base);
    do
        LZ_TRY(lz_arena_printf(&p->g->arena, &name, "%.*s.%zu", LZ_FMT(base), (size_t)++n));
    while (lz_map_find(&p->names, name));
    v->name = name;
    LZ_TRY(lz_map_put(counts, base,
                      (void *)n)); /* NOLINT(performance-no-int-to-ptr): a number, never followed */
    return lz_map_put(&p->names, name, v);
}

static lz_err *rename_hidden(parser *p)
{
    lz_map counts = { 0 };
    lz_err *e = NULL;
    for (size_t i = 0; !e && i < p->hidden.len; i++)
        e = rename_value(p, &counts, p->hidden.data[i]);
    lz_map_deinit(&counts);
    return e;
}

/* ---- values ---- */

/* %x : Tensor; the type may be missing, then *type is NULL. */
static lz_err *read_typed(parser *p, lz_str *name, const lz_type **type)
{
    bool typed;
    if (now(p)->kind != LZ_TOKEN_VALUE)
        return lz_lexer_expected(&p->lex, "a value");
    *name = now(p)->text;
    *type = NULL;
    LZ_TRY(lz_lexer_next(&p->lex));
    LZ_TRY(lz_lexer_accept(&p->lex, ':', &typed));
    return typed ? lz_parse_type(&p->lex, &p->g->types, type) : NULL;
}

/* (%a : int, %b): parameters of a block. */
static lz_err *read_params(parser *p, lz_ssa_block *b)
{
    bool more;
    b->param->line = now(p)->line;
    b->param->col = now(p)->col;
    LZ_TRY(lz_lexer_expect(&p->lex, '('));
    more = !lz_token_is(now(p), ')');
    while (more) {
        lz_str name = { 0 };
        const lz_type *type = NULL;
        lz_ssa_value *v;
        LZ_TRY(read_typed(p, &name, &type));
        LZ_TRY(lz_ssa_param_add(p->g, b, type ? type : lz_type_leaf(LZ_GRAPH_TYPE_TENSOR), &v));
        p->g->next_id--; /* the text names it */
        LZ_TRY(define(p, v, name));
        LZ_TRY(lz_lexer_accept(&p->lex, ',', &more));
    }
    return lz_lexer_expect(&p->lex, ')');
}

/* (%a, %b) */
static lz_err *read_inputs(parser *p)
{
    bool more;
    LZ_TRY(lz_lexer_expect(&p->lex, '('));
    more = !lz_token_is(now(p), ')');
    while (more) {
        lz_token t = *now(p);
        lz_ssa_value *v = NULL;
        if (t.kind != LZ_TOKEN_VALUE)
            return lz_lexer_expected(&p->lex, "a value");
        LZ_TRY(look_up(p, &t, &v));
        LZ_TRY(lz_vec_push(&p->in, v));
        LZ_TRY(lz_lexer_next(&p->lex));
        LZ_TRY(lz_lexer_accept(&p->lex, ',', &more));
    }
    return lz_lexer_expect(&p->lex, ')');
}

static lz_err *end_line(parser *p)
{
    return now(p)->kind == LZ_TOKEN_LINE ? lz_lexer_next(&p->lex)
                                         : lz_lexer_expected(&p->lex, "the end of the line");
}

/* ---- nodes ---- */

static lz_err *read_outputs(parser *p)
{
    bool more = now(p)->kind == LZ_TOKEN_VALUE, some = more;
    while (more) {
        lz_str name = { 0 };
        const lz_type *type = NULL;
        LZ_TRY(read_typed(p, &name, &type));
        LZ_TRY(lz_vec_push(&p->outs, name));
        LZ_TRY(lz_vec_push(&p->types, type));
        LZ_TRY(lz_lexer_accept(&p->lex, ',', &more));
    }
    return some || lz_token_is(now(p), '=') ? lz_lexer_expect(&p->lex, '=') : NULL;
}

/* aten::add */
static lz_err *read_symbol(parser *p, const lz_ssa_symbol **out)
{
    lz_token first = *now(p), last = first;
    size_t len = 0;
    for (bool more = true; more;) {
        last = *now(p);
        if (last.kind != LZ_TOKEN_NAME || lz_is_keyword(last.text))
            return lz_lexer_expected(&p->lex, "the name of an operator");
        len += last.text.len;
        LZ_TRY(lz_lexer_next(&p->lex));
        more = now(p)->kind == LZ_TOKEN_COLONS;
        len += more ? 2 : 0;
        if (more)
            LZ_TRY(lz_lexer_next(&p->lex));
    }
    lz_str name = { first.text.ptr, (size_t)(last.text.ptr + last.text.len - first.text.ptr) };
    if (name.len != len || len == first.text.len)
        return lz_lexer_error(&p->lex, &first, LZ_ERR_SYNTAX,
                              "the name of an operator is written namespace::name");
    LZ_TRY(lz_ssa_symbol_get(p->g, name, out));
    if ((*out)->prim == LZ_PRIM_PARAM || (*out)->prim == LZ_PRIM_RETURN)
        return lz_lexer_error(&p->lex, &first, LZ_ERR_MODEL, "%.*s is no node of its own", LZ_FMT(name));
    return NULL;
}

static lz_err *read_attr(parser *p)
{
    attr a = { .name = now(p)->text, .at = *now(p) };
    if (now(p)->kind != LZ_TOKEN_NAME)
        return lz_lexer_expected(&p->lex, "the name of an attribute");
    LZ_TRY(lz_lexer_next(&p->lex));
    LZ_TRY(lz_lexer_expect(&p->lex, '='));
    LZ_TRY(lz_parse_literal(&p->lex, &p->g->types, &a.value, &a.type));
    lz_err *e = lz_vec_push(&p->attrs, a);
    if (e)
        lz_script_value_release(a.value);
    return e;
}

static lz_err *read_attrs(parser *p)
{
    bool more;
    LZ_TRY(lz_lexer_accept(&p->lex, '[', &more));
    if (!more)
        return NULL;
    more = !lz_token_is(now(p), ']');
    while (more) {
        LZ_TRY(read_attr(p));
        LZ_TRY(lz_lexer_accept(&p->lex, ',', &more));
    }
    return lz_lexer_expect(&p->lex, ']');
}

/* ", scope: Net/Linear[fc]", the scope of a tracer, is ignored. */
static lz_err *skip_scope(parser *p)
{
    bool scope;
    LZ_TRY(lz_lexer_accept(&p->lex, ',', &scope));
    if (scope && !lz_token_names(now(p), "scope"))
        return lz_lexer_expected(&p->lex, "scope");
    while (scope && now(p)->kind != LZ_TOKEN_LINE && now(p)->kind != LZ_TOKEN_END)
        LZ_TRY(lz_lexer_next(&p->lex));
    return NULL;
}

static bool is_plain(lz_str s)
{
    bool ok = s.len > 0;
    for (size_t i = 0; ok && i < s.len; i++)
        ok = (unsigned char)s.ptr[i] >= ' ';
    return ok;
}

/* "net.py:3:8" after a node: the location in the user's program, with columns from 0. */
static lz_err *read_place(parser *p, lz_loc *out)
{
    lz_str s = p->lex.comment;
    size_t second = s.len ? lz_str_rfind(s, LZ_STR(":")) : SIZE_MAX;
    size_t first = second == SIZE_MAX ? SIZE_MAX : lz_str_rfind(lz_str_sub(s, 0, second), LZ_STR(":"));
    int64_t line, col;
    *out = (lz_loc){ 0 };
    if (first == SIZE_MAX || !is_plain(lz_str_sub(s, 0, first))
        || !lz_int64_parse(lz_str_sub(s, first + 1, second), &line)
        || !lz_int64_parse(lz_str_sub(s, second + 1, s.len), &col))
        return NULL;
    if (line <= 0 || line > INT32_MAX || col < 0 || col >= INT32_MAX)
        return NULL;
    if (!p->file.ptr || !lz_str_eq(p->file, lz_str_sub(s, 0, first)))
        LZ_TRY(lz_arena_copy(&p->g->arena, lz_str_sub(s, 0, first), &p->file));
    *out = (lz_loc){ p->file.ptr, (int32_t)line, (int32_t)col + 1 };
    return NULL;
}

/* The literal of a constant has the type of the constant's output. */
static lz_err *add_attrs(parser *p, lz_ssa_node *n)
{
    bool constant = lz_ssa_is(n, LZ_PRIM_CONSTANT) && n->nout == 1;
    const lz_type *type = constant ? p->types.data[0] : NULL;
    for (size_t i = 0; i < p->attrs.len; i++) {
        attr *a = &p->attrs.data[i];
        lz_script_value v = a->value;
        a->value = lz_script_value_none();
        if (constant && !a->type)
            LZ_TRY(lz_lexer_locate(
                &p->lex, &a->at,
                lz_script_value_coerce(v, type ? type : lz_type_leaf(LZ_GRAPH_TYPE_TENSOR), &v)));
        LZ_TRY(lz_ssa_attr_add(p->g, n, a->name, a->type, v));
    }
    return NULL;
}

static lz_err *make_node(parser *p, const lz_ssa_symbol *sym, const lz_token *at, lz_ssa_node **out)
{
    lz_ssa_spec spec = {
        .sym = sym,
        .in = p->in.data,
        .types = p->types.data,
        .nin = (uint32_t)p->in.len,
        .nout = (uint32_t)p->outs.len,
    };
    uint32_t free_id = p->g->next_id;
    LZ_TRY(read_place(p, &spec.loc));
    LZ_TRY(lz_ssa_node_make(p->g, &spec, out));
    p->g->next_id = free_id; /* the text names them */
    lz_ssa_node *n = *out;
    n->line = at->line;
    n->col = at->col;
    for (uint32_t i = 0; i < n->nout; i++)
        n->out[i]->name = p->outs.data[i]; /* points into the text until define() is called */
    lz_ssa_append(n, top(p)->block);
    LZ_TRY(add_attrs(p, n));
    return lz_ssa_resolve(p->g, n);
}

/* Reads a node up to and including the end of its line. Does not define its outputs yet. */
static lz_err *read_node(parser *p, lz_ssa_node **out)
{
    lz_token start = *now(p);
    const lz_ssa_symbol *sym = NULL;
    p->in.len = p->types.len = p->outs.len = p->attrs.len = 0;
    LZ_TRY(read_outputs(p));
    LZ_TRY(read_symbol(p, &sym));
    LZ_TRY(read_attrs(p));
    LZ_TRY(read_inputs(p));
    LZ_TRY(skip_scope(p));
    if (now(p)->kind != LZ_TOKEN_LINE)
        return lz_lexer_expected(&p->lex, "the end of the line");
    LZ_TRY(make_node(p, sym, &start, out));
    return lz_lexer_next(&p->lex);
}

/* Called when the node and its blocks are complete: its outputs become visible. */
static lz_err *finish_node(parser *p, lz_ssa_node *n)
{
    const char *rule = lz_prim_check(n);
    if (rule)
        return lz_ssa_error(p->g, n, LZ_ERR_MODEL, "%s", rule);
    for (uint32_t i = 0; i < n->nout; i++) {
        lz_str name = n->out[i]->name;
        n->out[i]->name = (lz_str){ 0 };
        if (name.len) /* an output that the text omits has no name */
            LZ_TRY(define(p, n->out[i], name));
    }
    return NULL;
}

/* ---- blocks ---- */

static lz_err *push(parser *p, lz_ssa_block *b, uint32_t head)
{
    if (p->depth == LZ_BLOCK_DEPTH + 1)
        return lz_lexer_error(&p->lex, now(p), LZ_ERR_LIMIT, "blocks are nested more than %d deep",
                              LZ_BLOCK_DEPTH);
    p->stack[p->depth++] = (frame){ .block = b, .head = head };
    return NULL;
}

static bool is_block_name(const lz_token *t)
{
    size_t i = 5;
    if (t->kind != LZ_TOKEN_NAME || !lz_str_starts(t->text, LZ_STR("block")))
        return false;
    while (i < t->text.len && t->text.ptr[i] >= '0' && t->text.ptr[i] <= '9')
        i++;
    return i == t->text.len;
}

/* block0(%i : int): */
static lz_err *read_head(parser *p, lz_ssa_node *owner)
{
    uint32_t head = now(p)->indent;
    lz_ssa_block *b;
    if (!is_block_name(now(p)))
        return lz_lexer_expected(&p->lex, "the head of a block");
    LZ_TRY(lz_ssa_block_add(p->g, owner, &b));
    LZ_TRY(push(p, b, head));
    LZ_TRY(lz_lexer_next(&p->lex));
    LZ_TRY(read_params(p, b));
    LZ_TRY(lz_lexer_expect(&p->lex, ':'));
    return end_line(p);
}

/* -> (%a, %b), or return (%a): the results of a block. */
static lz_err *read_results(parser *p)
{
    lz_ssa_node *ret = top(p)->block->ret;
    ret->line = now(p)->line;
    ret->col = now(p)->col;
    p->in.len = 0;
    LZ_TRY(lz_lexer_next(&p->lex));
    LZ_TRY(read_inputs(p));
    for (size_t i = 0; i < p->in.len; i++)
        LZ_TRY(lz_ssa_input_add(p->g, ret, p->in.data[i]));
    return end_line(p);
}

/* PyTorch prints a blank before the '=' of a node without outputs, so the line of a node without outputs is
 * indented by one more. */
static bool begins_with_equals(const parser *p)
{
    return lz_token_is(now(p), '=');
}

/* Does the line begin in the column of the block's lines? The first lines determine that column. */
static bool stands_in(const parser *p, frame *f)
{
    uint32_t indent = now(p)->indent;
    bool equals = begins_with_equals(p);
    if (!f->body && indent > f->head) {
        f->body = indent;
        f->unsure = equals;
    } else if (f->unsure && !equals) {
        f->body -= indent + 1 == f->body;
        f->unsure = false;
    }
    return f->body && (indent == f->body || (equals && indent == f->body + 1));
}

/* Every line of a block must begin in the same column. */
static lz_err *check_indent(parser *p)
{
    frame *f = top(p);
    const lz_token *t = now(p);
    bool first = !f->body;
    if (t->kind == LZ_TOKEN_END)
        return lz_lexer_expected(&p->lex, p->depth == 1 ? "return" : "->");
    if (stands_in(p, f))
        return NULL;
    return lz_lexer_error(
        &p->lex, t, LZ_ERR_SYNTAX,
        first ? "a block is empty: its lines are indented and end with ->"
              : "this line is indented neither as its block nor as a block of the node before");
}

/* Continues after a block: the next head of `owner`, expected at column `head`, or the end of the owner. */
static lz_err *next_head(parser *p, lz_ssa_node *owner, uint32_t head)
{
    const lz_token *t = now(p);
    bool line = t->kind != LZ_TOKEN_END && !begins_with_equals(p);
    if (line && t->indent == head)
        return read_head(p, owner);
    if (line && t->indent > head)
        return lz_lexer_error(&p->lex, t, LZ_ERR_SYNTAX, "this line is indented, but stands in no block");
    return finish_node(p, owner);
}

/* Reads one line: a node and, if blocks follow, the head of the first; or a block's results and what follows
 * the block. */
static lz_err *read_line(parser *p, bool *done)
{
    frame *f = top(p);
    lz_ssa_node *n = NULL;
    LZ_TRY(check_indent(p));
    if (now(p)->kind == LZ_TOKEN_ARROW && p->depth > 1) {
        LZ_TRY(read_results(p));
        p->depth--;
        return next_head(p, f->block->owner, f->head);
    }
    *done = p->depth == 1 && lz_token_names(now(p), "return");
    if (*done)
        return read_results(p);
    LZ_TRY(read_node(p, &n));
    assert(n);
    bool deeper = now(p)->kind != LZ_TOKEN_END && !begins_with_equals(p) && now(p)->indent > f->body;
    return deeper ? read_head(p, n) : finish_node(p, n);
}

static lz_err *read_graph(parser *p)
{
    uint32_t head = now(p)->indent;
    bool done = false;
    if (!lz_token_names(now(p), "graph"))
        return lz_lexer_expected(&p->lex, "graph");
    LZ_TRY(push(p, p->g->block, head));
    LZ_TRY(lz_lexer_next(&p->lex));
    LZ_TRY(read_params(p, p->g->block));
    LZ_TRY(lz_lexer_expect(&p->lex, ':'));
    LZ_TRY(end_line(p));
    while (!done)
        LZ_TRY(read_line(p, &done));
    if (now(p)->kind != LZ_TOKEN_END)
        return lz_lexer_expected(&p->lex, "the end of the text");
    return rename_hidden(p);
}

/* ---- interface ---- */

static lz_err *set_file(lz_graph *g, const char *name)
{
    lz_str copy;
    if (!name)
        return NULL;
    LZ_TRY(lz_arena_copy(&g->arena, lz_str_of(name), &copy));
    g->file = copy.ptr;
    return NULL;
}

static void forget(parser *p)
{
    for (size_t i = 0; i < p->attrs.len; i++)
        lz_script_value_release(p->attrs.data[i].value);
    lz_map_deinit(&p->names);
    lz_vec_deinit(&p->hidden);
    lz_vec_deinit(&p->in);
    lz_vec_deinit(&p->types);
    lz_vec_deinit(&p->outs);
    lz_vec_deinit(&p->attrs);
}

lz_err *lz_graph_read(lz_str text, const lz_parse_options *o, lz_graph **out)
{
    parser p = { 0 };
    LZ_TRY(lz_graph_create(o->ops, &p.g));
    p.g->next_id = first_free_id(text);
    lz_err *e = set_file(p.g, o->name);
    e = e ? e : lz_lexer_init(&p.lex, o->name, text);
    e = e ? e : read_graph(&p);
    forget(&p);
    if (e)
        lz_graph_release(p.g);
    else
        *out = p.g;
    return e;
}
