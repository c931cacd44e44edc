/* Clones and compares graphs: walks both side by side and numbers the values on the way. */
#include "base/vec.h"
#include "graph/ir.h"

/* ---- copies ---- */

typedef struct copier {
    lz_graph *to;
    LZ_VEC(lz_ssa_value *) values; /* by the mark of the original */
    LZ_VEC(lz_ssa_value *) in;
    LZ_VEC(const lz_type *) types;
    LZ_VEC(lz_ssa_block *) blocks; /* open blocks, innermost last */
    const char *file;              /* the last file name copied, and its copy */
    lz_str copied;
} copier;

static lz_err *copy_value(copier *c, lz_ssa_value *from, lz_ssa_value *to)
{
    from->mark = (uint32_t)c->values.len;
    to->id = from->id;
    if (from->name.len)
        LZ_TRY(lz_ssa_name_set(c->to, to, from->name));
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

static lz_err *copy_attrs(copier *c, const lz_ssa_node *from, lz_ssa_node *to)
{
    for (uint32_t i = 0; i < from->nattrs; i++) {
        const lz_ssa_attr *a = from->attrs[i];
        const lz_type *type = NULL;
        if (a->type)
            LZ_TRY(lz_type_copy(&c->to->types, a->type, &type));
        LZ_TRY(lz_ssa_attr_add(c->to, to, a->name, type, lz_script_value_retain(a->value)));
    }
    return NULL;
}

static lz_err *copy_params(copier *c, const lz_ssa_block *from, lz_ssa_block *to)
{
    for (uint32_t i = 0; i < from->param->nout; i++) {
        const lz_type *type;
        lz_ssa_value *v;
        LZ_TRY(lz_type_copy(&c->to->types, from->param->out[i]->type, &type));
        LZ_TRY(lz_ssa_param_add(c->to, to, type, &v));
        LZ_TRY(copy_value(c, from->param->out[i], v));
    }
    return lz_vec_push(&c->blocks, to);
}

static lz_err *gather(copier *c, const lz_ssa_node *n)
{
    c->in.len = c->types.len = 0;
    for (uint32_t i = 0; i < n->nin; i++)
        LZ_TRY(lz_vec_push(&c->in, c->values.data[lz_ssa_in(n, i)->mark]));
    for (uint32_t i = 0; i < n->nout; i++) {
        const lz_type *type;
        LZ_TRY(lz_type_copy(&c->to->types, n->out[i]->type, &type));
        LZ_TRY(lz_vec_push(&c->types, type));
    }
    return NULL;
}

static lz_err *copy_node(copier *c, lz_ssa_node *from)
{
    lz_ssa_spec spec = { .nin = from->nin, .nout = from->nout, .nblocks = from->nblocks };
    lz_ssa_node *to;
    LZ_TRY(gather(c, from));
    spec.in = c->in.data;
    spec.types = c->types.data;
    LZ_TRY(lz_ssa_symbol_get(c->to, from->sym->name, &spec.sym));
    LZ_TRY(copy_loc(c, &from->loc, &spec.loc));
    LZ_TRY(lz_ssa_node_make(c->to, &spec, &to));
    lz_ssa_append(to, c->blocks.data[c->blocks.len - 1]);
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

/* Ends a block; begins the next one of the same node, if there is one. */
static lz_err *copy_ret(copier *c, const lz_ssa_node *from)
{
    lz_ssa_block *b = c->blocks.data[--c->blocks.len];
    const lz_ssa_block *old = from->block;
    for (uint32_t i = 0; i < from->nin; i++)
        LZ_TRY(lz_ssa_input_add(c->to, b->ret, c->values.data[lz_ssa_in(from, i)->mark]));
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
    for (lz_ssa_node *n = lz_ssa_first(g->block); n; n = lz_ssa_next(n))
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
