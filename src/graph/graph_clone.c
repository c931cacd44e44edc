/* Graphs copied and compared: two walks side by side, values numbered as they come. */
#include "base/vec.h"
#include "graph/ir.h"

/* ---- copies ---- */

typedef struct copier {
    lz_graph *to;
    LZ_VEC(lz_ir_value *) values; /* by the mark of the original */
    LZ_VEC(lz_ir_value *) in;
    LZ_VEC(const lz_type *) types;
    LZ_VEC(lz_ir_block *) blocks; /* open ones; the innermost last */
    const char *file;             /* the last one copied, and its copy */
    lz_str copied;
} copier;

static lz_err *copy_value(copier *c, lz_ir_value *from, lz_ir_value *to)
{
    from->mark = (uint32_t)c->values.len;
    to->id = from->id;
    if (from->name.len)
        LZ_TRY(lz_ir_name_set(c->to, to, from->name));
    return lz_vec_push(&c->values, to);
}

static lz_err *copy_loc(copier *c, const lz_loc *from, lz_loc *out)
{
    *out = *from;
    if (!from->file)
        return NULL;
    if (from->file != c->file)
        LZ_TRY(lz_arena_copy(&c->to->arena, lz_str_of(from->file), &c->copied));
    c->file = from->file;
    out->file = c->copied.ptr;
    return NULL;
}

static lz_err *copy_attrs(copier *c, const lz_ir_node *from, lz_ir_node *to)
{
    for (uint32_t i = 0; i < from->nattrs; i++) {
        const lz_ir_attr *a = from->attrs[i];
        const lz_type *type = NULL;
        if (a->type)
            LZ_TRY(lz_type_copy(&c->to->types, a->type, &type));
        LZ_TRY(lz_ir_attr_add(c->to, to, a->name, type, lz_gv_retain(a->value)));
    }
    return NULL;
}

static lz_err *copy_params(copier *c, const lz_ir_block *from, lz_ir_block *to)
{
    for (uint32_t i = 0; i < from->param->nout; i++) {
        const lz_type *type;
        lz_ir_value *v;
        LZ_TRY(lz_type_copy(&c->to->types, from->param->out[i]->type, &type));
        LZ_TRY(lz_ir_param_add(c->to, to, type, &v));
        LZ_TRY(copy_value(c, from->param->out[i], v));
    }
    return lz_vec_push(&c->blocks, to);
}

static lz_err *gather(copier *c, const lz_ir_node *n)
{
    c->in.len = c->types.len = 0;
    for (uint32_t i = 0; i < n->nin; i++)
        LZ_TRY(lz_vec_push(&c->in, c->values.data[lz_ir_in(n, i)->mark]));
    for (uint32_t i = 0; i < n->nout; i++) {
        const lz_type *type;
        LZ_TRY(lz_type_copy(&c->to->types, n->out[i]->type, &type));
        LZ_TRY(lz_vec_push(&c->types, type));
    }
    return NULL;
}

static lz_err *copy_node(copier *c, lz_ir_node *from)
{
    lz_ir_spec spec = { .nin = from->nin, .nout = from->nout, .nblocks = from->nblocks };
    lz_ir_node *to;
    LZ_TRY(gather(c, from));
    spec.in = c->in.data;
    spec.types = c->types.data;
    LZ_TRY(lz_ir_symbol_get(c->to, from->sym->name, &spec.sym));
    LZ_TRY(copy_loc(c, &from->loc, &spec.loc));
    LZ_TRY(lz_ir_node_make(c->to, &spec, &to));
    lz_ir_append(to, c->blocks.data[c->blocks.len - 1]);
    to->op = from->op;
    to->builtin = from->builtin;
    to->line = from->line;
    to->col = from->col;
    to->recorded = from->recorded;
    for (uint32_t i = 0; i < from->nout; i++)
        LZ_TRY(copy_value(c, from->out[i], to->out[i]));
    LZ_TRY(copy_attrs(c, from, to));
    return from->nblocks ? copy_params(c, from->blocks[0], to->blocks[0]) : NULL;
}

/* The end of a block; the next one of the same node begins, if there is one. */
static lz_err *copy_ret(copier *c, const lz_ir_node *from)
{
    lz_ir_block *b = c->blocks.data[--c->blocks.len];
    const lz_ir_block *old = from->block;
    for (uint32_t i = 0; i < from->nin; i++)
        LZ_TRY(lz_ir_input_add(c->to, b->ret, c->values.data[lz_ir_in(from, i)->mark]));
    b->ret->line = from->line;
    b->ret->col = from->col;
    if (!old->owner || old->index + 1 == old->owner->nblocks)
        return NULL;
    return copy_params(c, old->owner->blocks[old->index + 1], b->owner->blocks[old->index + 1]);
}

static lz_err *copy_all(copier *c, const lz_graph *g)
{
    lz_loc file = { .file = g->file };
    LZ_TRY(copy_loc(c, &file, &file));
    c->to->file = file.file;
    LZ_TRY(copy_params(c, g->block, c->to->block));
    for (lz_ir_node *n = lz_ir_first(g->block); n; n = lz_ir_next(n))
        LZ_TRY(n->next ? copy_node(c, n) : copy_ret(c, n));
    c->to->next_id = g->next_id;
    return NULL;
}

lz_err *lz_graph_clone(const lz_graph *g, lz_graph **out)
{
    copier c = { 0 };
    LZ_TRY(lz_graph_create(g->ops, &c.to));
    lz_err *e = copy_all(&c, g);
    lz_vec_deinit(&c.values);
    lz_vec_deinit(&c.in);
    lz_vec_deinit(&c.types);
    lz_vec_deinit(&c.blocks);
    if (e)
        lz_graph_release(c.to);
    else
        *out = c.to;
    return e;
}

/* ---- comparison ---- */

static bool same_outputs(lz_ir_node *a, lz_ir_node *b, uint32_t *number)
{
    bool same = a->nout == b->nout;
    for (uint32_t i = 0; same && i < a->nout; i++) {
        a->out[i]->mark = b->out[i]->mark = (*number)++;
        same = lz_type_equal(a->out[i]->type, b->out[i]->type);
    }
    return same;
}

static bool same_attrs(const lz_ir_node *a, const lz_ir_node *b)
{
    bool same = a->nattrs == b->nattrs;
    for (uint32_t i = 0; same && i < a->nattrs; i++) {
        const lz_ir_attr *x = a->attrs[i], *y = b->attrs[i];
        same = lz_str_eq(x->name, y->name) && !x->type == !y->type;
        same = same && (x->type ? lz_type_equal(x->type, y->type) : lz_gv_identical(x->value, y->value));
    }
    return same;
}

static bool same_node(lz_ir_node *a, lz_ir_node *b, uint32_t *number)
{
    bool same = lz_str_eq(a->sym->name, b->sym->name) && a->op == b->op && a->builtin == b->builtin
                && a->nin == b->nin && a->nblocks == b->nblocks && !a->next == !b->next;
    for (uint32_t i = 0; same && i < a->nin; i++)
        same = lz_ir_in(a, i)->mark == lz_ir_in(b, i)->mark;
    same = same && same_attrs(a, b) && same_outputs(a, b, number);
    for (uint32_t i = 0; same && i < a->nblocks; i++)
        same = same_outputs(a->blocks[i]->param, b->blocks[i]->param, number);
    return same;
}

bool lz_graph_equal(lz_graph *a, lz_graph *b)
{
    uint32_t number = 0;
    bool same = same_outputs(a->block->param, b->block->param, &number);
    lz_ir_node *x = lz_ir_first(a->block), *y = lz_ir_first(b->block);
    for (; same && x && y; x = lz_ir_next(x), y = lz_ir_next(y))
        same = same_node(x, y, &number);
    return same && !x && !y;
}
