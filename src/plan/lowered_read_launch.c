/* Groups and calls from their text. */
#include "core/shape.h"
#include "plan/lowered_read.h"

/* ---- items of groups ---- */

static lz_err *get_place(lz_lowered_reader *r, const lz_ssa_node *n, const lz_low_node *x, uint32_t mask,
                         int64_t **rows)
{
    int64_t count = x->ndim, width = lz_group_width(r->group);
    if (lz_ssa_attr_find(n, "at"))
        LZ_TRY(lz_lowered_read_rows(r, n, "at", &count, width, rows));
    else {
        LZ_TRY(lz_group_rows(r->group, count, rows));
        for (int64_t d = 0; d < count && d < r->group->n_loops; d++)
            (*rows)[d * width + 1 + d] = 1;
        if (!lz_rows_plain(r->group, *rows, count))
            return lz_lowered_read_wrong(
                r, n, "attribute 'at' is missing, and the dimensions are not the loops of the group");
    }
    for (int64_t d = 0; !mask && d < count; d++)
        if (!lz_row_within(r->group, *rows + d * lz_group_width(r->group), x->sizes[d]))
            return lz_lowered_read_wrong(r, n, "attribute 'at': the indices are out of the tensor's bounds");
    return NULL;
}

static lz_err *get_mask(lz_lowered_reader *r, const lz_ssa_node *n, int64_t v, uint32_t *out)
{
    if (v < 0 || (uint64_t)v >= r->group->masks.len)
        return lz_lowered_read_wrong(r, n, "the group has no mask with this number");
    *out = (uint32_t)v;
    return NULL;
}

lz_err *lz_lowered_read_memory(lz_lowered_reader *r, const lz_ssa_node *n, uint32_t i,
                               const lz_low_node **out)
{
    lz_lowered_value_reading *v;
    int64_t dense[LZ_MAX_DIMS];
    LZ_TRY(lz_lowered_read_value(r, n, i, &v));
    *out = v->node;
    if (v->kind == LZ_READ_NODE && (v->node->kind == LZ_LOW_INPUT || v->node->kind == LZ_LOW_BUFFER))
        return NULL;
    bool same = v->kind == LZ_READ_VIEW && v->offset == 0 && v->base;
    const lz_low_node *base = same ? r->values.data[v->base - 1].node : NULL;
    same =
        same && base->kind == LZ_LOW_BUFFER && base->numel == v->node->numel && base->dtype == v->node->dtype;
    if (same)
        lz_row_major(lz_low_node_sizes(v->node), dense);
    for (int64_t d = 0; same && d < v->node->ndim; d++)
        same = v->node->sizes[d] == 1 || v->strides[d] == dense[d];
    return same ? lz_vec_push(&r->aliases, lz_ssa_in(n, i)->mark)
                : lz_ssa_error(r->g, n, LZ_ERR_MODEL,
                               "operand %u: expected an input, a buffer, or a view of a whole buffer", i + 1);
}

static lz_err *read_load(lz_lowered_reader *r, const lz_ssa_node *n, lz_group_item *it)
{
    lz_dtype d;
    lz_ints sizes;
    LZ_TRY(lz_lowered_read_type(r, n, &d, &sizes));
    LZ_TRY(lz_lowered_read_memory(r, n, 0, &it->node));
    if (it->node->dtype != (int8_t)d || !lz_shape_eq(lz_low_node_sizes(it->node), sizes) || n->nin != 1)
        return lz_lowered_read_wrong(r, n, "expected one operand of the dtype and sizes of the load");
    it->load = true;
    r->group->n_loads++;
    return lz_dense_view(r->b->arena, it->node, &it->view);
}

static lz_err *gather_view(lz_lowered_reader *r, const lz_ssa_node *n, lz_group_item *it)
{
    const int64_t *strides;
    LZ_TRY(lz_lowered_read_memory(r, n, 0, &it->view.base));
    LZ_TRY(lz_lowered_read_int(r, n, "offset", &it->view.offset));
    LZ_TRY(lz_lowered_read_exactly(r, n, "strides", it->node->ndim, &strides));
    it->view.strides = (int64_t *)strides;
    r->group->n_loads++;
    return NULL;
}

static lz_err *read_computed(lz_lowered_reader *r, const lz_ssa_node *n, lz_low_kind kind, lz_group_item *it)
{
    uint32_t first = kind == LZ_LOW_GATHER || kind == LZ_LOW_SCALAR ? 1 : 0;
    bool fuses = kind != LZ_LOW_INPUT && kind != LZ_LOW_UPDATE && kind != LZ_LOW_CALL;
    if (!fuses || n->nin - first > LZ_ITEM_INPUTS || n->nin < first)
        return lz_lowered_read_wrong(r, n, "a group cannot compute this node with these operands");
    LZ_TRY(lz_lowered_read_node(r, n, kind, &it->node));
    for (uint32_t i = first; i < n->nin; i++)
        it->in[it->nin++] = r->values.data[lz_ssa_in(n, i)->mark - 1].item;
    return kind == LZ_LOW_GATHER ? gather_view(r, n, it) : NULL;
}

static lz_err *read_masks(lz_lowered_reader *r, const lz_ssa_node *n, lz_group_item *it)
{
    const int64_t *masks;
    for (int i = 0; i < it->nin; i++)
        it->in_mask[i] = it->mask;
    if (!lz_ssa_attr_find(n, "masks"))
        return NULL;
    LZ_TRY(lz_lowered_read_exactly(r, n, "masks", it->nin, &masks));
    for (int i = 0; i < it->nin; i++)
        LZ_TRY(get_mask(r, n, masks[i], &it->in_mask[i]));
    return NULL;
}

static lz_err *read_item(lz_lowered_reader *r, lz_ssa_node *n)
{
    lz_group_item it = { 0 };
    lz_low_kind kind;
    int64_t mask;
    uint32_t item;
    bool load = lz_ssa_named(n, "lz::load");
    if (!load && !lz_low_kind_find(n->sym->name, &kind))
        return lz_lowered_read_wrong(r, n, "a group cannot contain this node");
    if (r->group->items.len >= LZ_GROUP_ITEMS || r->group->n_loads >= LZ_GROUP_LOADS)
        return lz_ssa_error(r->g, n, LZ_ERR_LIMIT, "a group has at most %d items and %d loads",
                            LZ_GROUP_ITEMS, LZ_GROUP_LOADS);
    LZ_TRY(lz_lowered_read_int_or(r, n, "mask", 0, &mask));
    LZ_TRY(get_mask(r, n, mask, &it.mask));
    LZ_TRY(load ? read_load(r, n, &it) : read_computed(r, n, kind, &it));
    LZ_TRY(get_place(r, n, it.node, it.mask, &it.rows));
    LZ_TRY(read_masks(r, n, &it));
    LZ_TRY(lz_group_push(r->group, &it, &item));
    return lz_lowered_read_know(r, n->out[0],
                                (lz_lowered_value_reading){ LZ_READ_ITEM, .node = it.node, .item = item,
                                                            .step = (uint32_t)r->l->fused.steps.len });
}

/* The run-time number at which a store begins: the third operand. */
static lz_err *read_start(lz_lowered_reader *r, const lz_ssa_node *n, lz_group_store *s)
{
    lz_ssa_node one = *n;
    int64_t slot;
    if (n->nin < 3)
        return NULL;
    if (lz_ssa_in(n, 2)->type->kind != LZ_GRAPH_TYPE_INT)
        return lz_lowered_read_wrong(r, n, "expected a parameter of type int as the third operand");
    one.in = n->in + 2;
    one.nin = 1;
    LZ_TRY(lz_lowered_read_int(r, n, "step", &s->step));
    LZ_TRY(lz_lowered_read_slot(r, &one, true, &slot));
    return lz_low_scalar(r->b, slot, LZ_I64, &s->start);
}

static lz_err *read_store(lz_lowered_reader *r, const lz_ssa_node *n)
{
    lz_lowered_value_reading *v;
    lz_group_store s = { 0 };
    const int64_t *row;
    LZ_TRY(lz_lowered_read_value(r, n, 0, &v));
    if (v->kind != LZ_READ_ITEM || v->step != r->l->fused.steps.len || n->nin < 2 || n->nin > 3 || n->nout
        || n->nblocks)
        return lz_lowered_read_wrong(r, n, "expected an item of this group and a buffer, and no result");
    s.item = v->item;
    LZ_TRY(lz_lowered_read_memory(r, n, 1, &s.target));
    LZ_TRY(lz_lowered_read_exactly(r, n, "at", lz_group_width(r->group), &row));
    s.row = (int64_t *)row;
    LZ_TRY(read_start(r, n, &s));
    if (s.target->kind == LZ_LOW_INPUT || s.target->dtype != r->group->items.data[s.item].node->dtype)
        return lz_lowered_read_wrong(r, n, "expected a buffer of the dtype of the stored item");
    if (!lz_row_within(r->group, row, s.target->numel))
        return lz_lowered_read_wrong(r, n, "attribute 'at': the address is out of the buffer's bounds");
    if (r->group->stores.len >= LZ_GROUP_STORES)
        return lz_ssa_error(r->g, n, LZ_ERR_LIMIT, "a group has at most %d stores", LZ_GROUP_STORES);
    return lz_vec_push(&r->group->stores, s);
}

/* ---- groups ---- */

static lz_err *read_loops(lz_lowered_reader *r, const lz_ssa_node *n, lz_group *g)
{
    lz_ints loops;
    int64_t columns;
    LZ_TRY(lz_lowered_read_ints(r, n, "loops", &loops));
    if (loops.n > LZ_GROUP_LOOPS)
        return lz_ssa_error(r->g, n, LZ_ERR_LIMIT, "a group has at most %d loops", LZ_GROUP_LOOPS);
    for (int64_t i = 0; i < loops.n; i++) {
        if (loops.v[i] < 0)
            return lz_lowered_read_wrong(r, n, "attribute 'loops': expected no negative number");
        g->extents[g->n_loops++] = loops.v[i];
    }
    lz_err *e = lz_shape_check(loops);
    lz_err_drop(e);
    if (e)
        return lz_lowered_read_wrong(r, n, "attribute 'loops': the product of the steps overflows");
    g->row_known = lz_ssa_attr_find(n, "row") != NULL;
    if (g->row_known)
        LZ_TRY(lz_lowered_read_bits(r, n, "row", &g->row));
    if (g->row >> g->n_loops)
        return lz_lowered_read_wrong(r, n, "attribute 'row' names a loop that the group does not have");
    LZ_TRY(lz_lowered_read_int_or(r, n, "columns", 0, &columns));
    g->columns = columns != 0;
    return NULL;
}

static lz_err *read_group_masks(lz_lowered_reader *r, const lz_ssa_node *n, lz_group *g)
{
    int64_t rows = -1, width = lz_group_width(g), *v;
    if (!lz_ssa_attr_find(n, "masks"))
        return NULL;
    LZ_TRY(lz_lowered_read_rows(r, n, "masks", &rows, 2 + width, &v));
    if (rows >= LZ_GROUP_MASKS)
        return lz_ssa_error(r->g, n, LZ_ERR_LIMIT, "a group has at most %d masks", LZ_GROUP_MASKS - 1);
    for (int64_t i = 0; i < rows; i++, v += 2 + width) {
        lz_group_condition m = { .size = v[1], .row = v + 2 };
        LZ_TRY(get_mask(r, n, v[0], &m.parent));
        lz_mask_sides(g, &m);
        if (!m.low && !m.high)
            return lz_lowered_read_wrong(r, n, "a mask always holds, and must be left out");
        LZ_TRY(lz_vec_push(&g->masks, m));
    }
    return NULL;
}

static lz_err *read_items(lz_lowered_reader *r, const lz_ssa_node *n)
{
    LZ_TRY(read_loops(r, n, r->group));
    LZ_TRY(read_group_masks(r, n, r->group));
    for (lz_ssa_node *x = lz_ssa_first(n->blocks[0]); x != n->blocks[0]->ret; x = x->next) {
        LZ_TRY(lz_vec_push(&r->l->origins, x->loc));
        r->b->origin = (uint32_t)r->l->origins.len - 1;
        LZ_TRY(lz_ssa_named(x, "lz::store") ? read_store(r, x) : read_item(r, x));
    }
    return r->group->stores.len ? NULL
                                : lz_lowered_read_wrong(r, n, "expected at least one lz::store in the group");
}

lz_err *lz_lowered_read_group(lz_lowered_reader *r, lz_ssa_node *n)
{
    lz_group *g;
    uint32_t origin = r->b->origin;
    if (n->nblocks != 1 || n->blocks[0]->param->nout || n->blocks[0]->ret->nin || n->nin || n->nout)
        return lz_lowered_read_wrong(r, n, "expected one block, no operands and no results");
    LZ_TRY(lz_arena_new(r->b->arena, &g, 1));
    lz_err *e = lz_group_init(g, r->b->arena);
    r->group = g;
    e = e ? e : read_items(r, n);
    r->group = NULL;
    e = e ? e : lz_vec_push(&r->l->fused.order, (uint32_t)r->l->fused.steps.len);
    e = e ? e
          : lz_vec_push(&r->l->fused.steps,
                        (lz_fused_step){ .group = g, .origin = origin, .after = LZ_NO_STEP });
    if (e)
        lz_group_deinit(g);
    return e;
}

/* ---- calls ---- */

/* Reads the operand of a call: a view, or a whole input or buffer. */
static lz_err *call_view(lz_lowered_reader *r, const lz_ssa_node *n, uint32_t i, const lz_low_node **shape,
                         lz_group_view *out)
{
    lz_lowered_value_reading *v;
    LZ_TRY(lz_lowered_read_value(r, n, i, &v));
    *shape = v->node;
    if (v->kind == LZ_READ_NODE && (v->node->kind == LZ_LOW_INPUT || v->node->kind == LZ_LOW_BUFFER))
        return lz_dense_view(r->b->arena, v->node, out);
    if (v->kind != LZ_READ_VIEW || !v->base || r->values.data[v->base - 1].kind != LZ_READ_NODE)
        return lz_ssa_error(r->g, n, LZ_ERR_MODEL,
                            "operand %u: expected an input, a buffer, or a view of one", i + 1);
    *out = (lz_group_view){ r->values.data[v->base - 1].node, v->offset, (int64_t *)v->strides };
    return NULL;
}

lz_err *lz_lowered_read_run(lz_lowered_reader *r, lz_ssa_node *n)
{
    const lz_low_node *in[LZ_CALL_INPUTS], *target, *node;
    lz_lowered_reading at = { .n = n, .p = { .kind = LZ_LOW_CALL, .in = in } };
    lz_fused_call *c;
    LZ_TRY(lz_arena_new(r->b->arena, &c, 1));
    if (n->nin < 1 || n->nin > LZ_CALL_INPUTS + 1 || n->nout || n->nblocks)
        return lz_lowered_read_wrong(r, n,
                                     "expected one to four operands and the buffer to write, and no result");
    for (; at.p.nin < n->nin - 1; at.p.nin++)
        LZ_TRY(call_view(r, n, (uint32_t)at.p.nin, &in[at.p.nin], &c->in[at.p.nin]));
    LZ_TRY(lz_lowered_read_memory(r, n, n->nin - 1, &target));
    if (target->kind == LZ_LOW_INPUT)
        return lz_lowered_read_wrong(r, n, "last operand: expected a buffer, found an input");
    at.p.dtype = (lz_dtype)target->dtype;
    at.p.sizes = lz_low_node_sizes(target);
    LZ_TRY(lz_lowered_read_call(r, &at, &node));
    c->node = node;
    c->target = target;
    LZ_TRY(lz_vec_push(&r->l->fused.order, (uint32_t)r->l->fused.steps.len));
    return lz_vec_push(&r->l->fused.steps,
                       (lz_fused_step){ .call = c, .origin = r->b->origin, .after = LZ_NO_STEP });
}
