/* Writes a lowered program as a graph. Nodes of a DAG keep their order. Buffers, views and inputs of
 * launches stand before the first launch that uses them; the items of a group stand in the order in which
 * its stores need them. So the order depends only on what is written. */
#include "base/map.h"
#include "plan/lowered.h"

typedef struct writer {
    const lz_lowered *l;
    lz_graph *g;
    lz_ssa_block *block; /* where nodes are added */
    lz_arena *arena;     /* for temporary data */
    lz_ssa_value **params;
    lz_ssa_value *seed[2];    /* seed, stream */
    lz_ssa_value **constants; /* of input slots */
    lz_ssa_value **values;    /* by id: nodes, or their buffers */
    lz_map views;             /* by contents */
    const char *file;         /* the file of the last location that was written */
    lz_str copied;
} writer;

/* ---- attributes ---- */

static lz_err *put(writer *w, lz_ssa_node *n, const char *name, lz_script_value v)
{
    return lz_ssa_attr_add(w->g, n, lz_str_of(name), NULL, v);
}

static lz_err *put_int(writer *w, lz_ssa_node *n, const char *name, int64_t v)
{
    return put(w, n, name, lz_script_value_int(v));
}

static lz_err *put_str(writer *w, lz_ssa_node *n, const char *name, const char *v)
{
    lz_script_value s;
    LZ_TRY(lz_script_value_str(lz_str_of(v), &s));
    return put(w, n, name, s);
}

static lz_err *make_ints(const int64_t *v, int64_t n, lz_script_value *out)
{
    lz_err *e = lz_script_value_list_make((size_t)n, out);
    for (int64_t i = 0; !e && i < n; i++) {
        e = lz_script_value_push(*out, lz_script_value_int(v[i]));
        if (e)
            lz_script_value_release(*out);
    }
    return e;
}

static lz_err *put_ints(writer *w, lz_ssa_node *n, const char *name, const int64_t *v, int64_t count)
{
    lz_script_value list;
    LZ_TRY(make_ints(v, count, &list));
    return put(w, n, name, list);
}

/* A list of rows. */
static lz_err *put_rows(writer *w, lz_ssa_node *n, const char *name, const int64_t *v, int64_t rows,
                        int64_t width)
{
    lz_script_value list, row;
    LZ_TRY(lz_script_value_list_make((size_t)rows, &list));
    for (int64_t i = 0; i < rows; i++) {
        lz_err *e = make_ints(v + i * width, width, &row);
        e = e ? e : lz_script_value_push(list, row);
        if (e) {
            lz_script_value_release(list);
            return e;
        }
    }
    return put(w, n, name, list);
}

static lz_err *put_bits(writer *w, lz_ssa_node *n, const char *name, uint64_t bits)
{
    int64_t v[64], k = 0;
    for (int i = 0; i < 64; i++)
        if (bits >> i & 1)
            v[k++] = i;
    return put_ints(w, n, name, v, k);
}

/* ---- nodes ---- */

static lz_err *type_of(writer *w, lz_dtype d, lz_ints sizes, const lz_type **out)
{
    return lz_type_tensor(
        &w->g->types,
        &(lz_tensor_facts){ .dtype = d, .rank = (int)sizes.n, .sizes = sizes.v, .requires_grad = -1 }, out);
}

static lz_err *place_of(writer *w, uint32_t origin, lz_loc *out)
{
    *out = origin < w->l->origins.len ? w->l->origins.data[origin] : (lz_loc){ 0 };
    if (!out->file)
        return NULL;
    if (out->file != w->file)
        LZ_TRY(lz_arena_copy(&w->g->arena, lz_str_of(out->file), &w->copied));
    w->file = out->file;
    out->file = w->copied.ptr;
    return NULL;
}

typedef struct shape_of_node {
    lz_dtype dtype;
    lz_ints sizes;
} made;

/* Adds a node with one output of the type `out`, or without output if `out` is NULL. */
static lz_err *add(writer *w, const char *name, lz_ssa_value *const *in, uint32_t nin, const made *out,
                   uint32_t origin, lz_ssa_node **node)
{
    const lz_type *type;
    lz_ssa_spec spec = { .in = in, .nin = nin, .types = &type, .nout = out ? 1 : 0 };
    if (out)
        LZ_TRY(type_of(w, out->dtype, out->sizes, &type));
    LZ_TRY(lz_ssa_symbol_get(w->g, lz_str_of(name), &spec.sym));
    LZ_TRY(place_of(w, origin, &spec.loc));
    LZ_TRY(lz_ssa_node_make(w->g, &spec, node));
    lz_ssa_append(*node, w->block);
    return NULL;
}

static made made_of(const lz_low_node *n)
{
    return (made){ (lz_dtype)n->dtype, lz_low_node_sizes(n) };
}

/* ---- attributes of each kind of node ---- */

typedef lz_err *say_fn(writer *w, lz_ssa_node *n, const lz_low_node *x);

static lz_err *say_nothing(writer *w, lz_ssa_node *n, const lz_low_node *x)
{
    (void)w, (void)n, (void)x;
    return NULL;
}

static lz_err *say_input(writer *w, lz_ssa_node *n, const lz_low_node *x)
{
    const lz_low_input_attr *a = x->attr;
    const lz_lowered_source *s = &w->l->inputs.data[a->slot];
    LZ_TRY(put_int(w, n, "offset", a->offset));
    LZ_TRY(put_ints(w, n, "strides", a->strides, x->ndim));
    return s->n_moves ? put_ints(w, n, "bytes", s->bytes, s->n_moves) : NULL;
}

static lz_err *say_const(writer *w, lz_ssa_node *n, const lz_low_node *x)
{
    const lz_scalar *v = x->attr;
    if (v->kind == LZ_SCALAR_COMPLEX)
        return lz_errf(LZ_ERR_UNSUPPORTED, "a complex constant cannot be written");
    LZ_TRY(put(w, n, "value",
               v->kind == LZ_SCALAR_FLOAT  ? lz_script_value_float(v->re)
               : v->kind == LZ_SCALAR_BOOL ? lz_script_value_bool(v->i != 0)
                                           : lz_script_value_int(v->i)));
    return x->op ? put_int(w, n, "sized", 1) : NULL;
}

static lz_err *say_iota(writer *w, lz_ssa_node *n, const lz_low_node *x)
{
    const lz_low_iota_attr *a = x->attr;
    LZ_TRY(put_int(w, n, "offset", a->offset));
    return put_ints(w, n, "strides", a->strides, x->ndim);
}

static lz_err *say_map(writer *w, lz_ssa_node *n, const lz_low_node *x)
{
    return put_str(w, n, "op", lz_kernel_op_text((lz_kernel_op)x->op));
}

static lz_err *say_philox(writer *w, lz_ssa_node *n, const lz_low_node *x)
{
    return put_int(w, n, "word", x->op);
}

static lz_err *say_check(writer *w, lz_ssa_node *n, const lz_low_node *x)
{
    const lz_low_check_attr *a = x->attr;
    LZ_TRY(put_int(w, n, "size", a->size));
    LZ_TRY(put_int(w, n, "dim", a->dim));
    LZ_TRY(put_int(w, n, "wrap", a->wrap));
    return a->rule[0] ? put_str(w, n, "rule", a->rule) : NULL;
}

static lz_err *say_index(writer *w, lz_ssa_node *n, const lz_low_node *x)
{
    const lz_low_index_attr *a = x->attr;
    int64_t rows = x->in[0]->ndim;
    LZ_TRY(put_ints(w, n, "offset", a->v, rows));
    LZ_TRY(put_rows(w, n, "map", a->v + rows, rows, x->ndim));
    return a->bounded ? put_bits(w, n, "bounded", a->bounded) : NULL;
}

static lz_err *say_reduce(writer *w, lz_ssa_node *n, const lz_low_node *x)
{
    LZ_TRY(put_str(w, n, "op", lz_reduce_name((lz_kernel_reduction)x->op)));
    return put_bits(w, n, "dims", ((const lz_low_reduce_attr *)x->attr)->dims);
}

static lz_err *say_dim(writer *w, lz_ssa_node *n, const lz_low_node *x)
{
    return put_int(w, n, "dim", ((const lz_low_dim_attr *)x->attr)->dim);
}

static lz_err *say_scan(writer *w, lz_ssa_node *n, const lz_low_node *x)
{
    LZ_TRY(put_str(w, n, "op", lz_reduce_name((lz_kernel_reduction)x->op)));
    return say_dim(w, n, x);
}

static lz_err *say_update(writer *w, lz_ssa_node *n, const lz_low_node *x)
{
    const lz_low_update_attr *a = x->attr;
    LZ_TRY(put_int(w, n, "offset", a->offset));
    LZ_TRY(put_ints(w, n, "strides", a->strides, x->in[1]->ndim));
    return x->nin == 3 ? put_int(w, n, "step", a->strides[x->in[1]->ndim]) : NULL;
}

static lz_err *say_call(writer *w, lz_ssa_node *n, const lz_low_node *x)
{
    int64_t count = (int64_t)(x->attr_size / sizeof(int64_t));
    LZ_TRY(put_str(w, n, "op", lz_call_name((lz_low_call_op)x->op)));
    return count ? put_ints(w, n, "params", x->attr, count) : NULL;
}

static say_fn *const sayers[LZ_LOW_KINDS] = {
    [LZ_LOW_INPUT] = say_input,     [LZ_LOW_SCALAR] = say_nothing, [LZ_LOW_CONST] = say_const,
    [LZ_LOW_IOTA] = say_iota,       [LZ_LOW_MAP] = say_map,        [LZ_LOW_CAST] = say_nothing,
    [LZ_LOW_PHILOX] = say_philox,   [LZ_LOW_CHECK] = say_check,    [LZ_LOW_INDEX] = say_index,
    [LZ_LOW_RESHAPE] = say_nothing, [LZ_LOW_REDUCE] = say_reduce,  [LZ_LOW_SCAN] = say_scan,
    [LZ_LOW_GATHER] = say_dim,      [LZ_LOW_CAT] = say_dim,        [LZ_LOW_UPDATE] = say_update,
    [LZ_LOW_CALL] = say_call,
};

static lz_err *say(writer *w, lz_ssa_node *n, const lz_low_node *x)
{
    LZ_TRY(sayers[x->kind](w, n, x));
    return x->number && x->kind != LZ_LOW_SCALAR ? put_int(w, n, "number", 1) : NULL;
}

/* ---- parameters and constants ---- */

static lz_ssa_value *scalar_of(writer *w, int64_t slot)
{
    uint32_t param = w->l->scalars.data[slot].param;
    return param == LZ_SEED_PARAM ? w->seed[0] : param == LZ_STREAM_PARAM ? w->seed[1] : w->params[param];
}

/* Writes a constant before its first user. */
static lz_err *source_of(writer *w, int64_t slot, lz_ssa_value **out)
{
    const lz_lowered_source *s = &w->l->inputs.data[slot];
    const lz_type *type;
    lz_ssa_node *n;
    *out = s->param == LZ_NO_PARAM ? w->constants[slot] : w->params[s->param];
    if (*out)
        return NULL;
    LZ_TRY(lz_type_copy(&w->g->types, s->type, &type));
    LZ_TRY(lz_ssa_constant_make(w->g, lz_script_value_retain(s->value), type, (lz_loc){ 0 }, &n));
    lz_ssa_append(n, w->g->block);
    *out = w->constants[slot] = n->out[0];
    return NULL;
}

static lz_err *add_params(writer *w)
{
    const lz_ssa_node *old = w->l->graph->block->param;
    static const char *const names[2] = { "random.seed", "random.stream" };
    LZ_TRY(lz_arena_new(w->arena, &w->params, old->nout + 1));
    for (uint32_t i = 0; i < old->nout; i++) {
        const lz_type *type;
        LZ_TRY(lz_type_copy(&w->g->types, old->out[i]->type, &type));
        LZ_TRY(lz_ssa_param_add(w->g, w->g->block, type, &w->params[i]));
        if (old->out[i]->name.len)
            LZ_TRY(lz_ssa_name_set(w->g, w->params[i], old->out[i]->name));
    }
    for (int k = 0; k < 2; k++) {
        bool needed = false;
        for (size_t i = 0; i < w->l->scalars.len; i++)
            needed = needed || w->l->scalars.data[i].param == LZ_SEED_PARAM + (uint32_t)k;
        if (!needed)
            continue;
        LZ_TRY(lz_ssa_param_add(w->g, w->g->block, lz_type_leaf(LZ_GRAPH_TYPE_INT), &w->seed[k]));
        LZ_TRY(lz_ssa_name_set(w->g, w->seed[k], lz_str_of(names[k])));
    }
    return NULL;
}

/* ---- the DAG ---- */

static lz_err *write_leaf(writer *w, const lz_low_node *x, lz_ssa_value **out)
{
    made type = made_of(x);
    lz_ssa_value *in[1 + LZ_LOWERED_MOVES];
    lz_ssa_node *n;
    uint32_t nin = 1;
    if (x->kind == LZ_LOW_INPUT) {
        int64_t slot = ((const lz_low_input_attr *)x->attr)->slot;
        const lz_lowered_source *s = &w->l->inputs.data[slot];
        LZ_TRY(source_of(w, slot, &in[0]));
        for (uint32_t i = 0; i < s->n_moves; i++)
            in[nin++] = w->params[s->numbers[i]];
    } else {
        in[0] = scalar_of(w, ((const lz_low_scalar_attr *)x->attr)->slot);
    }
    LZ_TRY(add(w, lz_low_kind_name((lz_low_kind)x->kind), in, nin, &type, x->origin, &n));
    *out = n->out[0];
    return say(w, n, x);
}

static lz_err *write_node(writer *w, const lz_low_node *x)
{
    made type = made_of(x);
    lz_ssa_value **in;
    lz_ssa_node *n;
    if (x->kind == LZ_LOW_INPUT || x->kind == LZ_LOW_SCALAR)
        return write_leaf(w, x, &w->values[x->id]);
    LZ_TRY(lz_arena_new(w->arena, &in, x->nin + 1));
    for (int i = 0; i < x->nin; i++)
        in[i] = w->values[x->in[i]->id];
    LZ_TRY(add(w, lz_low_kind_name((lz_low_kind)x->kind), in, x->nin, &type, x->origin, &n));
    w->values[x->id] = n->out[0];
    return say(w, n, x);
}

static lz_err *write_dag(writer *w)
{
    const lz_lower *dag = w->l->dag;
    bool *needed;
    LZ_TRY(lz_arena_new(w->arena, &needed, dag->n_nodes + 1));
    for (size_t i = 0; i < w->l->outputs.len; i++)
        needed[w->l->outputs.data[i]->id] = true;
    for (uint32_t i = dag->n_nodes; i-- > 0;)
        for (int k = 0; needed[i] && k < dag->nodes[i]->nin; k++)
            needed[dag->nodes[i]->in[k]->id] = true;
    for (uint32_t i = 0; i < dag->n_nodes; i++)
        if (needed[i])
            LZ_TRY(write_node(w, dag->nodes[i]));
    return NULL;
}

/* ---- views of buffers ---- */

typedef struct view {
    lz_ssa_value *base;
    made type;
    int64_t offset;
    const int64_t *strides;
} view;

static lz_err *key_of(writer *w, const view *v, lz_str *out)
{
    int64_t *key, n = v->type.sizes.n;
    LZ_TRY(lz_arena_new(w->arena, &key, (size_t)(4 + 2 * n)));
    key[0] = (int64_t)(intptr_t)v->base;
    key[1] = v->offset;
    key[2] = v->type.dtype;
    key[3] = n;
    for (int64_t d = 0; d < n; d++) {
        key[4 + d] = v->type.sizes.v[d];
        key[4 + n + d] = v->type.sizes.v[d] == 1 ? 0 : v->strides[d];
    }
    *out = (lz_str){ (const char *)key, (size_t)(4 + 2 * n) * sizeof *key };
    return NULL;
}

/* Writes each view once. */
static lz_err *view_value(writer *w, const view *v, uint32_t origin, lz_ssa_value **out)
{
    lz_str key;
    lz_ssa_node *n;
    LZ_TRY(key_of(w, v, &key));
    *out = lz_map_get(&w->views, key);
    if (*out)
        return NULL;
    LZ_TRY(add(w, "lz::view", &v->base, 1, &v->type, origin, &n));
    LZ_TRY(put_int(w, n, "offset", v->offset));
    LZ_TRY(put_ints(w, n, "strides", (const int64_t *)key.ptr + 4 + v->type.sizes.n, v->type.sizes.n));
    *out = n->out[0];
    return lz_map_put(&w->views, key, *out);
}

/* ---- buffers ---- */

static lz_err *owner_value(writer *w, const lz_low_node *n, lz_ssa_value **out);

/* NOLINTNEXTLINE(misc-no-recursion): the buffer whose memory x shares has been written, so the depth is 1 */
static lz_err *write_buffer(writer *w, const lz_low_node *x)
{
    static const char *const kinds[2] = { "temporary", "output" };
    const lz_lowered_buffer *m = w->l->buffers ? &w->l->buffers[x->id] : NULL;
    made type = made_of(x);
    lz_ssa_value *from = NULL;
    lz_ssa_node *n;
    if (m && m->shares)
        LZ_TRY(owner_value(w, m->shares, &from));
    LZ_TRY(add(w, "lz::buffer", &from, from ? 1 : 0, &type, x->origin, &n));
    w->values[x->id] = n->out[0];
    if (!m || !m->placed)
        return NULL;
    LZ_TRY(put_str(w, n, "kind", kinds[m->output]));
    LZ_TRY(put_int(w, n, "bytes", m->bytes));
    return m->output ? NULL : put_int(w, n, "where", m->where);
}

/* The value of the input or buffer that holds n's elements. */
/* NOLINTNEXTLINE(misc-no-recursion): the buffer whose memory n shares has been written, so the depth is 1 */
static lz_err *owner_value(writer *w, const lz_low_node *n, lz_ssa_value **out)
{
    const lz_low_node *owner = lz_fused_owner(&w->l->fused, n);
    if (!w->values[owner->id] && owner->kind == LZ_LOW_INPUT)
        LZ_TRY(write_leaf(w, owner, &w->values[owner->id]));
    if (!w->values[owner->id])
        LZ_TRY(write_buffer(w, owner));
    *out = w->values[owner->id];
    return NULL;
}

/* The value of n's buffer with n's sizes. */
static lz_err *buffer_value(writer *w, const lz_low_node *n, lz_ssa_value **out)
{
    const lz_low_node *owner = lz_fused_owner(&w->l->fused, n);
    int64_t dense[LZ_MAX_DIMS];
    LZ_TRY(owner_value(w, n, out));
    if (lz_shape_eq(lz_low_node_sizes(n), lz_low_node_sizes(owner)))
        return NULL;
    lz_row_major(lz_low_node_sizes(n), dense);
    return view_value(w, &(view){ *out, made_of(n), 0, dense }, owner->origin, out);
}

/* ---- groups ---- */

/* Items in the order in which the stores need them, operands first. */
static lz_err *order_items(writer *w, const lz_group *g, uint32_t **out, size_t *n)
{
    uint32_t *stack, *next;
    size_t depth = 0;
    LZ_TRY(lz_arena_new(w->arena, out, g->items.len + 1));
    LZ_TRY(lz_arena_new(w->arena, &stack, g->items.len + 1));
    LZ_TRY(lz_arena_new(w->arena, &next, g->items.len + 1)); /* 1 + the operand to be visited next */
    *n = 0;
    for (size_t s = 0; s < g->stores.len; s++) {
        if (next[g->stores.data[s].item])
            continue;
        next[stack[depth++] = g->stores.data[s].item] = 1;
        while (depth) {
            uint32_t i = stack[depth - 1], k = next[i] - 1;
            const lz_group_item *it = &g->items.data[i];
            if (k == it->nin) {
                (*out)[(*n)++] = i;
                depth--;
                continue;
            }
            next[i]++;
            if (!next[it->in[k]])
                next[stack[depth++] = it->in[k]] = 1;
        }
    }
    return NULL;
}

static lz_err *say_masks(writer *w, lz_ssa_node *n, const lz_group_item *it)
{
    int64_t masks[LZ_ITEM_INPUTS];
    bool other = false;
    if (it->mask)
        LZ_TRY(put_int(w, n, "mask", it->mask));
    for (int i = 0; i < it->nin; i++) {
        masks[i] = it->in_mask[i];
        other = other || it->in_mask[i] != it->mask;
    }
    return other ? put_ints(w, n, "masks", masks, it->nin) : NULL;
}

/* The inputs of an item: first the values that it reads from memory, then other items. */
static lz_err *item_inputs(writer *w, const lz_group_item *it, lz_ssa_value *const *items, lz_ssa_value **in,
                           uint32_t *nin)
{
    *nin = 0;
    if (it->view.base)
        LZ_TRY(buffer_value(w, it->load ? it->node : it->view.base, &in[(*nin)++]));
    if (!it->load && it->node->kind == LZ_LOW_SCALAR)
        in[(*nin)++] = scalar_of(w, ((const lz_low_scalar_attr *)it->node->attr)->slot);
    for (int i = 0; i < it->nin; i++)
        in[(*nin)++] = items[it->in[i]];
    return NULL;
}

static lz_err *write_item(writer *w, const lz_group *g, uint32_t i, lz_ssa_value **items)
{
    const lz_group_item *it = &g->items.data[i];
    const lz_low_node *x = it->node;
    made type = made_of(x);
    lz_ssa_value *in[LZ_ITEM_INPUTS + 2];
    lz_ssa_node *n;
    uint32_t nin;
    LZ_TRY(item_inputs(w, it, items, in, &nin));
    LZ_TRY(add(w, it->load ? "lz::load" : lz_low_kind_name((lz_low_kind)x->kind), in, nin, &type, x->origin,
               &n));
    items[i] = n->out[0];
    if (!it->load)
        LZ_TRY(say(w, n, x));
    if (!it->load && x->kind == LZ_LOW_GATHER) {
        LZ_TRY(put_int(w, n, "offset", it->view.offset));
        LZ_TRY(put_ints(w, n, "strides", it->view.strides, x->ndim));
    }
    if (!lz_rows_plain(g, it->rows, x->ndim))
        LZ_TRY(put_rows(w, n, "at", it->rows, x->ndim, lz_group_width(g)));
    return say_masks(w, n, it);
}

static lz_err *say_group(writer *w, lz_ssa_node *n, const lz_group *g)
{
    int64_t *masks, width = lz_group_width(g), k = 0;
    LZ_TRY(put_ints(w, n, "loops", g->extents, g->n_loops));
    if (g->row_known)
        LZ_TRY(put_bits(w, n, "row", g->row));
    if (g->columns)
        LZ_TRY(put_int(w, n, "columns", 1));
    if (g->masks.len <= 1)
        return NULL;
    LZ_TRY(lz_arena_new(w->arena, &masks, (g->masks.len - 1) * (size_t)(2 + width)));
    for (size_t i = 1; i < g->masks.len; i++) {
        masks[k++] = g->masks.data[i].parent;
        masks[k++] = g->masks.data[i].size;
        for (int64_t c = 0; c < width; c++)
            masks[k++] = g->masks.data[i].row[c];
    }
    return put_rows(w, n, "masks", masks, (int64_t)g->masks.len - 1, 2 + width);
}

static lz_err *write_stores(writer *w, const lz_group *g, lz_ssa_value *const *items)
{
    for (size_t s = 0; s < g->stores.len; s++) {
        const lz_group_store *st = &g->stores.data[s];
        lz_ssa_value *in[3] = { items[st->item] };
        lz_ssa_node *n;
        LZ_TRY(buffer_value(w, st->target, &in[1]));
        if (st->start)
            in[2] = scalar_of(w, ((const lz_low_scalar_attr *)st->start->attr)->slot);
        LZ_TRY(add(w, "lz::store", in, st->start ? 3 : 2, NULL, g->items.data[st->item].node->origin, &n));
        LZ_TRY(put_ints(w, n, "at", st->row, lz_group_width(g)));
        if (st->start)
            LZ_TRY(put_int(w, n, "step", st->step));
    }
    return NULL;
}

static lz_err *write_group(writer *w, const lz_fused_step *s)
{
    const lz_group *g = s->group;
    uint32_t *order;
    size_t n;
    lz_ssa_value **items, *touched;
    lz_ssa_node *node;
    lz_ssa_block *inner;
    LZ_TRY(order_items(w, g, &order, &n));
    LZ_TRY(lz_arena_new(w->arena, &items, g->items.len + 1));
    for (size_t i = 0; i < n; i++) { /* buffers and inputs that the group uses are written before the group */
        const lz_group_item *it = &g->items.data[order[i]];
        if (it->view.base)
            LZ_TRY(buffer_value(w, it->load ? it->node : it->view.base, &touched));
    }
    for (size_t i = 0; i < g->stores.len; i++)
        LZ_TRY(buffer_value(w, g->stores.data[i].target, &touched));
    LZ_TRY(add(w, "lz::group", NULL, 0, NULL, s->origin, &node));
    LZ_TRY(lz_ssa_block_add(w->g, node, &inner));
    LZ_TRY(say_group(w, node, g));
    w->block = inner;
    for (size_t i = 0; i < n; i++)
        LZ_TRY(write_item(w, g, order[i], items));
    LZ_TRY(write_stores(w, g, items));
    w->block = w->g->block;
    return NULL;
}

/* ---- calls ---- */

/* The operand of a call. A whole input or buffer needs no view. */
static lz_err *operand_value(writer *w, const lz_low_node *shape, const lz_group_view *v, uint32_t origin,
                             lz_ssa_value **out)
{
    const lz_low_node *owner = lz_fused_owner(&w->l->fused, v->base);
    lz_group_view all;
    LZ_TRY(owner_value(w, owner, out));
    LZ_TRY(lz_dense_view(w->arena, owner, &all));
    bool same = all.offset == v->offset && lz_shape_eq(lz_low_node_sizes(shape), lz_low_node_sizes(owner));
    for (int64_t d = 0; same && d < shape->ndim; d++)
        same = shape->sizes[d] == 1 || all.strides[d] == v->strides[d];
    return same ? NULL : view_value(w, &(view){ *out, made_of(shape), v->offset, v->strides }, origin, out);
}

static lz_err *write_call(writer *w, const lz_fused_step *s)
{
    const lz_low_node *x = s->call->node;
    lz_ssa_value *in[LZ_CALL_INPUTS + 1];
    lz_ssa_node *n;
    for (int i = 0; i < x->nin; i++)
        LZ_TRY(operand_value(w, x->in[i], &s->call->in[i], s->origin, &in[i]));
    LZ_TRY(buffer_value(w, s->call->target, &in[x->nin]));
    LZ_TRY(add(w, "lz::run", in, x->nin + 1U, NULL, s->origin, &n));
    return say_call(w, n, x);
}

static lz_err *write_fused(writer *w)
{
    const lz_fused *f = &w->l->fused;
    lz_ssa_node *n;
    if (w->l->placed) {
        LZ_TRY(add(w, "lz::memory", NULL, 0, NULL, UINT32_MAX, &n));
        LZ_TRY(put_int(w, n, "temporaries", w->l->temporaries));
        LZ_TRY(put_int(w, n, "peak", w->l->peak));
        LZ_TRY(put_int(w, n, "donated", w->l->donated));
    }
    for (size_t i = 0; i < f->order.len; i++) {
        const lz_fused_step *s = &f->steps.data[f->order.data[i]];
        LZ_TRY(s->group ? write_group(w, s) : write_call(w, s));
    }
    return NULL;
}

/* ---- results ---- */

static lz_err *output_value(writer *w, int32_t output, bool whole, lz_ssa_value **out)
{
    const lz_low_node *x = w->l->outputs.data[output];
    if (w->l->is_fused)
        return whole ? buffer_value(w, x, out) : owner_value(w, x, out);
    *out = w->values[x->id];
    return NULL;
}

static lz_err *write_results(writer *w)
{
    lz_ssa_value *in[2];
    lz_ssa_node *n;
    for (size_t i = 0; i < w->l->writes.len; i++) {
        LZ_TRY(source_of(w, w->l->writes.data[i].slot, &in[0]));
        LZ_TRY(output_value(w, w->l->writes.data[i].output, true, &in[1]));
        LZ_TRY(add(w, "lz::assign", in, 2, NULL, UINT32_MAX, &n));
    }
    for (size_t i = 0; i < w->l->results.len; i++) {
        const lz_lowered_result *r = &w->l->results.data[i];
        LZ_TRY(r->output >= 0 ? output_value(w, r->output, r->whole, &in[0]) : source_of(w, r->slot, &in[0]));
        view v = { in[0], { r->dtype, r->sizes }, r->offset, r->strides.v };
        if (!r->whole)
            LZ_TRY(view_value(w, &v, UINT32_MAX, &in[0]));
        LZ_TRY(lz_ssa_input_add(w->g, w->g->block->ret, in[0]));
    }
    return NULL;
}

static lz_err *write(writer *w)
{
    w->block = w->g->block;
    LZ_TRY(add_params(w));
    LZ_TRY(lz_arena_new(w->arena, &w->values, w->l->dag->n_nodes + 1));
    LZ_TRY(lz_arena_new(w->arena, &w->constants, w->l->inputs.len + 1));
    LZ_TRY(w->l->is_fused ? write_fused(w) : write_dag(w));
    return write_results(w);
}

lz_err *lz_lowered_write(const lz_lowered *l, lz_graph **out)
{
    writer w = { .l = l };
    lz_arena scratch;
    LZ_TRY(lz_graph_create(l->graph->ops, &w.g));
    lz_arena_init(&scratch);
    w.arena = &scratch;
    lz_err *e = write(&w);
    lz_map_deinit(&w.views);
    lz_arena_deinit(&scratch);
    if (e)
        lz_graph_release(w.g);
    else
        *out = w.g;
    return e;
}
