/* Adds nodes to the graph that functionalization makes. */
#include "base/mem.h"
#include "op/op_table.h"
#include "script/functionalize_impl.h"

lz_err *lz_functionalize_type(lz_functionalizer *f, const lz_spec *s, const lz_type **out)
{
    lz_tensor_facts facts = {
        .dtype = (lz_dtype)s->dtype, .rank = s->ndim, .sizes = s->sizes, .requires_grad = -1
    };
    return lz_type_tensor(&f->g->types, &facts, out);
}

lz_err *lz_functionalize_param(lz_functionalizer *f, const lz_type *type, const lz_static_graph_input *in,
                               lz_functionalize_source source, lz_ssa_value **out)
{
    lz_str name;
    LZ_TRY(lz_arena_printf(&f->g->arena, &name, "p%zu", f->out->inputs.len));
    LZ_TRY(lz_ssa_param_add(f->g, f->g->block, type, out));
    LZ_TRY(lz_ssa_name_set(f->g, *out, name));
    LZ_TRY(lz_vec_push(&f->out->inputs, *in));
    return lz_vec_push(&f->out->sources, source);
}

/* ---- nodes ---- */

static lz_err *append(lz_functionalizer *f, lz_ssa_spec *spec, lz_ssa_node **out)
{
    const lz_ssa_node *from = f->index < f->a->n ? f->a->insts[f->index].node : NULL;
    spec->loc = from ? from->loc : (lz_loc){ 0 };
    LZ_TRY(lz_ssa_node_make(f->g, spec, out));
    if (from) {
        (*out)->line = from->line;
        (*out)->col = from->col;
        (*out)->recorded = f->index + 1;
    }
    lz_ssa_append(*out, f->g->block);
    return NULL;
}

lz_err *lz_functionalize_node(lz_functionalizer *f, const char *name, lz_ssa_value *const *in, uint32_t nin,
                              const lz_type *const *types, uint32_t nout, lz_ssa_node **out)
{
    lz_ssa_spec spec = { .in = in, .nin = nin, .types = types, .nout = nout };
    LZ_TRY(lz_ssa_symbol_get(f->g, lz_str_of(name), &spec.sym));
    return append(f, &spec, out);
}

lz_err *lz_functionalize_op(lz_functionalizer *f, const lz_op_row *op, lz_ssa_value *const *in, uint32_t nin,
                            const lz_type *const *types, uint32_t nout, lz_ssa_node **out)
{
    lz_str name;
    LZ_TRY(lz_arena_printf(&f->scratch, &name, "%s::%.*s", op->ns, op->base, op->name));
    LZ_TRY(lz_functionalize_node(f, name.ptr, in, nin, types, nout, out));
    (*out)->op = op;
    return NULL;
}

/* ---- constants ---- */

/* NOLINTNEXTLINE(misc-no-recursion): at most LZ_TYPE_DEPTH deep */
static lz_err *type_of(lz_functionalizer *f, lz_script_value v, int depth, const lz_type **out)
{
    static const lz_type_kind kinds[] = {
        [LZ_SCRIPT_VALUE_NONE] = LZ_GRAPH_TYPE_NONE, [LZ_SCRIPT_VALUE_BOOL] = LZ_GRAPH_TYPE_BOOL,
        [LZ_SCRIPT_VALUE_INT] = LZ_GRAPH_TYPE_INT,   [LZ_SCRIPT_VALUE_FLOAT] = LZ_GRAPH_TYPE_FLOAT,
        [LZ_SCRIPT_VALUE_STR] = LZ_GRAPH_TYPE_STR,   [LZ_SCRIPT_VALUE_DEVICE] = LZ_GRAPH_TYPE_DEVICE
    };
    bool list = v.kind == LZ_SCRIPT_VALUE_LIST || v.kind == LZ_SCRIPT_VALUE_TUPLE;
    if (list && depth > 0) {
        const lz_type *element = lz_type_leaf(LZ_GRAPH_TYPE_INT);
        if (v.list->len)
            LZ_TRY(type_of(f, v.list->data[0], depth - 1, &element));
        return lz_type_list(&f->g->types, element, out);
    }
    if (list || v.kind >= sizeof kinds / sizeof *kinds)
        return lz_errf(LZ_ERR_UNSUPPORTED, "a value of this type is not supported in a segment");
    *out = lz_type_leaf(kinds[v.kind]);
    return NULL;
}

lz_err *lz_functionalize_constant(lz_functionalizer *f, lz_script_value v, lz_ssa_value **out)
{
    const lz_type *type;
    lz_ssa_node *n;
    LZ_TRY(type_of(f, v, LZ_TYPE_DEPTH, &type));
    LZ_TRY(lz_ssa_constant_make(f->g, lz_script_value_retain(v), type, (lz_loc){ 0 }, &n));
    lz_ssa_append(n, f->g->block);
    *out = n->out[0];
    return NULL;
}

lz_err *lz_functionalize_ints(lz_functionalizer *f, lz_ints v, lz_ssa_value **out)
{
    lz_script_value list;
    LZ_TRY(lz_script_value_list_make((size_t)v.n, &list));
    lz_err *e = NULL;
    for (int64_t i = 0; !e && i < v.n; i++)
        e = lz_script_value_push(list, lz_script_value_int(v.v[i]));
    if (!e)
        e = lz_functionalize_constant(f, list, out);
    lz_script_value_release(list);
    return e;
}

/* ---- views and writes ---- */

static lz_err *tensor_op(lz_functionalizer *f, lz_op op, lz_ssa_value *const *in, uint32_t nin,
                         const lz_spec *s, lz_ssa_value **out)
{
    const lz_type *type;
    lz_ssa_node *n;
    LZ_TRY(lz_functionalize_type(f, s, &type));
    LZ_TRY(lz_functionalize_op(f, &lz_op_table[op], in, nin, &type, 1, &n));
    *out = n->out[0];
    return NULL;
}

static lz_err *place(lz_functionalizer *f, const lz_spec *s, int64_t offset, lz_ssa_value **in)
{
    LZ_TRY(lz_functionalize_ints(f, lz_spec_sizes(s), &in[0]));
    LZ_TRY(lz_functionalize_ints(f, lz_spec_strides(s), &in[1]));
    return lz_functionalize_constant(f, lz_script_value_int(offset), &in[2]);
}

lz_err *lz_functionalize_strided(lz_functionalizer *f, lz_ssa_value *base, const lz_spec *s, int64_t offset,
                                 lz_ssa_value **out)
{
    lz_ssa_value *in[4] = { base };
    LZ_TRY(place(f, s, offset, in + 1));
    return tensor_op(f, LZ_OP_as_strided, in, 4, s, out);
}

lz_err *lz_functionalize_scatter(lz_functionalizer *f, lz_ssa_value *base, const lz_spec *base_spec,
                                 lz_ssa_value *part, const lz_spec *s, int64_t offset, lz_ssa_value **out)
{
    lz_ssa_value *in[5] = { base, part };
    LZ_TRY(place(f, s, offset, in + 2));
    return tensor_op(f, LZ_OP_as_strided_scatter, in, 5, base_spec, out);
}

lz_err *lz_functionalize_permute(lz_functionalizer *f, lz_ssa_value *x, const lz_spec *to,
                                 const int64_t *dims, lz_ssa_value **out)
{
    lz_ssa_value *in[2] = { x };
    LZ_TRY(lz_functionalize_ints(f, (lz_ints){ dims, to->ndim }, &in[1]));
    return tensor_op(f, LZ_OP_permute, in, 2, to, out);
}

lz_err *lz_functionalize_last(lz_functionalizer *f, lz_ssa_value *x, const lz_spec *to, int64_t dim,
                              int64_t size, lz_ssa_value **out)
{
    lz_ssa_value *in[4] = { x };
    LZ_TRY(lz_functionalize_constant(f, lz_script_value_int(dim), &in[1]));
    LZ_TRY(lz_functionalize_constant(f, lz_script_value_int(size - 1), &in[2]));
    LZ_TRY(lz_functionalize_constant(f, lz_script_value_int(1), &in[3]));
    return tensor_op(f, LZ_OP_narrow, in, 4, to, out);
}

lz_err *lz_functionalize_cast(lz_functionalizer *f, lz_ssa_value *x, const lz_spec *to, lz_ssa_value **out)
{
    lz_ssa_value *in[2] = { x };
    LZ_TRY(lz_functionalize_constant(f, lz_script_value_int(to->dtype), &in[1]));
    return tensor_op(f, LZ_OP__to_copy, in, 2, to, out);
}
