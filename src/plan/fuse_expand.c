/* Fusion: pulls the operands of a group's items into the group. */
#include "plan/fuse_impl.h"
#include <stdlib.h>
#include <string.h>

static lz_group *group_of(lz_fused *f, uint32_t step)
{
    return f->steps.data[step].group;
}

static lz_group_item *item_of(lz_fused *f, uint32_t step, uint32_t item)
{
    return &group_of(f, step)->items.data[item];
}

/* ---- demands ---- */

static bool is_place(const lz_group *g, const lz_group_item *it, const int64_t *rows, uint32_t mask)
{
    size_t n = (size_t)(it->node->ndim * lz_group_width(g));
    return it->mask == mask && (n == 0 || !memcmp(it->rows, rows, n * sizeof *rows));
}

/* Searches only the newest demands for an equal one. A missed duplicate costs little, because the kernel
 * computes equal values once. */
lz_err *lz_fuse_demand(lz_fused *f, uint32_t step, const lz_low_node *n, int64_t *rows, uint32_t mask,
                       uint32_t *item)
{
    enum { LOOKED_AT = 64 };
    struct lz_fuse_lists *l = f->lists;
    lz_fused_node *s = lz_fused_node_of(f, n);
    lz_group *g = group_of(f, step);
    int left = LOOKED_AT;
    for (uint32_t d = s->demand; d && left-- > 0; d = l->demands.data[d - 1].next) {
        *item = l->demands.data[d - 1].item;
        if (l->demands.data[d - 1].step == step && is_place(g, &g->items.data[*item], rows, mask))
            return NULL;
    }
    LZ_TRY(lz_group_push(g, &(lz_group_item){ .node = n, .rows = rows, .mask = mask }, item));
    LZ_TRY(lz_vec_push(&l->demands, (lz_fuse_demand_item){ step, *item, s->demand }));
    s->demand = (uint32_t)l->demands.len;
    return NULL;
}

/* Makes n, at these indices, the next input of the item. May move the items: pointers to items become
 * invalid. */
static lz_err *take(lz_fused *f, uint32_t step, uint32_t item, const lz_low_node *n, int64_t *rows,
                    uint32_t mask)
{
    uint32_t in;
    LZ_TRY(lz_fuse_demand(f, step, n, rows, mask, &in));
    lz_group_item *it = item_of(f, step, item);
    it->in_mask[it->nin] = mask;
    it->in[it->nin++] = in;
    return NULL;
}

/* ---- expanding an item, by kind of node ---- */

static lz_err *expand_nothing(lz_fused *f, uint32_t step, uint32_t item, bool *ok)
{
    (void)f, (void)step, (void)item;
    *ok = true;
    return NULL;
}

static lz_err *expand_map(lz_fused *f, uint32_t step, uint32_t item, bool *ok)
{
    lz_group_item it = *item_of(f, step, item);
    *ok = true;
    for (int i = 0; i < it.node->nin; i++)
        LZ_TRY(take(f, step, item, it.node->in[i], it.rows, it.mask));
    return NULL;
}

static lz_err *expand_index(lz_fused *f, uint32_t step, uint32_t item, bool *ok)
{
    lz_group *g = group_of(f, step);
    lz_group_item it = *item_of(f, step, item);
    const lz_low_node *n = it.node, *x = n->in[0];
    const lz_low_index_attr *a = n->attr;
    const int64_t *map = a->v + x->ndim;
    int64_t *rows;
    uint32_t mask = it.mask;
    *ok = true;
    LZ_TRY(lz_group_rows(g, x->ndim, &rows));
    for (int64_t r = 0; r < x->ndim; r++) {
        int64_t *row = rows + r * lz_group_width(g);
        row[0] = a->v[r];
        for (int64_t c = 0; c < n->ndim; c++)
            lz_row_add(g, row, map[r * n->ndim + c], it.rows + c * lz_group_width(g));
        if (a->bounded >> r & 1)
            LZ_TRY(lz_group_mask(g, mask, row, x->sizes[r], &mask));
    }
    LZ_TRY(take(f, step, item, x, rows, mask));
    return n->nin > 1 ? take(f, step, item, n->in[1], NULL, it.mask) : NULL;
}

/* A reshape whose indices are not affine in the loops. If the reshape of an input is a strided view of
 * that input, the group loads the view. */
static lz_err *load_view(lz_fused *f, uint32_t step, uint32_t item, bool *ok)
{
    lz_group_view view;
    LZ_TRY(lz_view_resolve(f->arena, item_of(f, step, item)->node, &view));
    *ok = view.base->kind == LZ_LOW_INPUT;
    if (!*ok)
        return NULL;
    lz_group_item *it = item_of(f, step, item);
    it->load = true;
    it->view = view;
    group_of(f, step)->n_loads++;
    return lz_fuse_reads(f, step, view.base);
}

static lz_err *expand_reshape(lz_fused *f, uint32_t step, uint32_t item, bool *ok)
{
    lz_group *g = group_of(f, step);
    const lz_low_node *x = item_of(f, step, item)->node->in[0];
    int64_t strides[LZ_MAX_DIMS], *rows = NULL, number[1 + LZ_GROUP_LOOPS];
    lz_group_view dense = { .strides = strides };
    bool again = true;
    lz_row_major(lz_low_node_sizes(item_of(f, step, item)->node), strides);
    while (again) {
        lz_item_address(g, item_of(f, step, item), &dense, number);
        LZ_TRY(lz_group_unravel(g, number, lz_low_node_sizes(x), &rows, &again));
    }
    if (!rows)
        return load_view(f, step, item, ok);
    *ok = true;
    return take(f, step, item, x, rows, item_of(f, step, item)->mask);
}

/* ---- memory order of a reduction's operand ---- */

/* The strides of a node in memory, or of a view of one, in the dimensions of the view. */
static void strides_of(const lz_low_node *n, int64_t *strides)
{
    const lz_low_node *x = n->kind == LZ_LOW_INDEX ? n->in[0] : n;
    int64_t below[LZ_MAX_DIMS];
    lz_row_major(lz_low_node_sizes(x), below);
    if (x->kind == LZ_LOW_INPUT)
        memcpy(below, ((const lz_low_input_attr *)x->attr)->strides, x->ndim * sizeof *below);
    memcpy(strides, below, n->ndim * sizeof *below);
    if (n->kind != LZ_LOW_INDEX)
        return;
    const int64_t *map = ((const lz_low_index_attr *)n->attr)->v + x->ndim;
    for (int64_t c = 0; c < n->ndim; c++) {
        strides[c] = 0;
        for (int64_t r = 0; r < x->ndim; r++)
            strides[c] += below[r] * map[r * n->ndim + c];
    }
}

/* The dimension whose stride is 1 element; -1: none. *whole: no dimension has stride 0. */
static int64_t contiguous_dim(const lz_low_node *n, const int64_t *strides, bool *whole)
{
    int64_t dim = -1;
    *whole = true;
    for (int64_t d = 0; d < n->ndim; d++) {
        if (n->sizes[d] == 1)
            continue;
        dim = strides[d] == 1 || strides[d] == -1 ? d : dim;
        *whole = *whole && strides[d] != 0;
    }
    return dim;
}

/* The strides of the inputs that x is computed from element by element, if all inputs with as many
 * elements as x are contiguous along the same dimension. */
static bool find_strides(const lz_low_node *x, int64_t *strides)
{
    enum { NEAR = 16 };
    const lz_low_node *stack[NEAR * 3] = { x };
    int64_t mine[LZ_MAX_DIMS], dim = -1;
    int k = 1;
    for (int seen = 0; k > 0; seen++) {
        const lz_low_node *n = stack[--k];
        bool whole;
        if (seen == NEAR || n->numel == 0)
            return false;
        if (n->kind == LZ_LOW_MAP || n->kind == LZ_LOW_CAST) {
            for (int i = 0; i < n->nin; i++)
                stack[k++] = n->in[i];
            continue;
        }
        strides_of(n, mine);
        int64_t at = contiguous_dim(n, mine, &whole);
        if (!whole)
            continue;
        if (at < 0 || (dim >= 0 && at != dim))
            return false;
        dim = at;
        memcpy(strides, mine, n->ndim * sizeof *mine);
    }
    return dim >= 0;
}

/* ---- reductions ---- */

static lz_shape sizes_of(const lz_low_node *x, const lz_shape *order)
{
    lz_shape s = { .n = order->n };
    for (int64_t i = 0; i < order->n; i++)
        s.v[i] = x->sizes[order->v[i]];
    return s;
}

/* The reduced dimensions, in their order. by_memory: sorted by stride, the longest first, if all inputs
 * agree on the strides. */
static lz_shape order_of(const lz_low_node *x, uint64_t dims, bool by_memory)
{
    int64_t strides[LZ_MAX_DIMS];
    lz_shape order = { 0 };
    by_memory = by_memory && find_strides(x, strides);
    for (int64_t d = 0; d < x->ndim; d++) {
        int64_t at = order.n;
        if (!(dims >> d & 1))
            continue;
        while (by_memory && at > 0 && llabs(strides[order.v[at - 1]]) < llabs(strides[d]))
            at--;
        memmove(order.v + at + 1, order.v + at, (size_t)(order.n++ - at) * sizeof *order.v);
        order.v[at] = d;
    }
    return order;
}

/* The last one of the dimensions `dims` whose size is not 1; -1: none. */
static int64_t last_of(const lz_low_node *x, uint64_t dims)
{
    int64_t last = x->ndim - 1;
    while (last >= 0 && (x->sizes[last] == 1 || !(dims >> last & 1)))
        last--;
    return last;
}

/* True if the contiguous dimension of the inputs is not reduced, or if the rows are short. If the
 * contiguous dimension is unknown or would not be the innermost loop, the last dimension counts as
 * contiguous. */
bool lz_wants_columns(const lz_low_node *x, uint64_t dims, int64_t steps)
{
    enum { SHORT_ROW = 16 };
    int64_t strides[LZ_MAX_DIMS], last = last_of(x, UINT64_MAX), kept = last_of(x, ~dims);
    bool whole, inner = last >= 0 && dims >> last & 1;
    if (x->ndim > 1 && find_strides(x, strides)) {
        int64_t near = contiguous_dim(x, strides, &whole);
        inner = near == kept ? false : near >= 0 && dims >> near & 1 ? true : inner;
    }
    return x->numel > steps && (!inner || steps <= SHORT_ROW);
}

static bool has_order(const lz_low_node *n)
{
    return n->op == LZ_KERNEL_RARGMAX || n->op == LZ_KERNEL_RARGMIN;
}

/* Finds the loops of the group that the reduction at this item runs over: the loops that the item does not
 * depend on, or new loops. *ok false: no suitable loops. */
static lz_err *find_row(lz_group *g, const lz_group_item *it, const lz_shape *reduced, bool *ok)
{
    uint64_t used = lz_rows_loops(g, it->rows, it->node->ndim), rest = lz_group_live(g) & ~used;
    int64_t n, *rows;
    uint64_t before = g->n_loops == 0 ? 0 : (UINT64_C(1) << g->n_loops) - 1;
    LZ_TRY(lz_shape_numel(lz_shape_ints(reduced), &n));
    *ok = false;
    if (g->row_known && (g->row & lz_group_live(g)) != rest)
        return NULL;
    if (!g->row_known && !rest && n != 1) {
        if (g->n_loops + reduced->n > LZ_GROUP_LOOPS)
            return NULL;
        LZ_TRY(lz_group_add_loops(g, lz_shape_ints(reduced), &rows));
        rest = lz_group_live(g) & ~before;
    }
    if (lz_group_steps(g, rest) != n)
        return NULL;
    g->row = rest;
    g->row_known = *ok = true;
    return NULL;
}

/* The expression for the row-major number of an element in the row. */
static void row_number(const lz_group *g, int64_t *number)
{
    int64_t stride = 1;
    memset(number, 0, (size_t)lz_group_width(g) * sizeof *number);
    for (int l = g->n_loops; l-- > 0;)
        if (g->row >> l & 1) {
            number[1 + l] = stride;
            stride *= g->extents[l];
        }
}

static lz_err *expand_reduce(lz_fused *f, uint32_t step, uint32_t item, bool *ok)
{
    lz_group *g = group_of(f, step);
    const lz_low_node *n = item_of(f, step, item)->node, *x = n->in[0];
    uint64_t dims = ((const lz_low_reduce_attr *)n->attr)->dims, live = lz_group_live(g);
    bool fresh = !g->row_known && !(live & ~lz_rows_loops(g, item_of(f, step, item)->rows, n->ndim));
    lz_shape order = order_of(x, dims, fresh && !has_order(n)), reduced = sizes_of(x, &order);
    int64_t number[1 + LZ_GROUP_LOOPS], *inner = NULL, *rows;
    int64_t steps = n->numel > 0 ? x->numel / n->numel : 0;
    bool again = true, columns = lz_wants_columns(x, dims, steps);
    *ok = item_of(f, step, item)->mask == 0 && (!g->row_known || g->columns == columns);
    if (x->numel == 0) { /* an empty sum */
        *ok = item_of(f, step, item)->mask == 0;
        return NULL;
    }
    if (*ok)
        LZ_TRY(find_row(g, item_of(f, step, item), &reduced, ok));
    if (!*ok)
        return NULL;
    g->columns = columns;
    while (again) {
        row_number(g, number);
        LZ_TRY(lz_group_unravel(g, number, lz_shape_ints(&reduced), &inner, &again));
    }
    *ok = inner != NULL;
    if (!*ok)
        return NULL;
    LZ_TRY(lz_group_rows(g, x->ndim, &rows));
    const int64_t *kept = item_of(f, step, item)->rows;
    size_t bytes = (size_t)lz_group_width(g) * sizeof *rows;
    for (int64_t d = 0; d < x->ndim; d++) {
        if (dims >> d & 1)
            continue;
        memcpy(rows + d * lz_group_width(g), kept, bytes);
        kept += lz_group_width(g);
    }
    for (int64_t i = 0; i < order.n; i++)
        memcpy(rows + order.v[i] * lz_group_width(g), inner + i * lz_group_width(g), bytes);
    return take(f, step, item, x, rows, 0);
}

/* A scan requires that the row of the group is exactly the loop along the scanned dimension. */
static lz_err *expand_scan(lz_fused *f, uint32_t step, uint32_t item, bool *ok)
{
    lz_group *g = group_of(f, step);
    lz_group_item it = *item_of(f, step, item);
    int64_t dim = ((const lz_low_dim_attr *)it.node->attr)->dim, width = lz_group_width(g);
    const int64_t *row = it.rows + dim * width;
    uint64_t along = lz_rows_loops(g, row, 1), others = 0;
    int l = along ? __builtin_ctzll(along) : 0;
    for (int64_t d = 0; d < it.node->ndim; d++)
        others |= d == dim ? 0 : lz_rows_loops(g, it.rows + d * width, 1);
    bool whole = it.node->sizes[dim] == 1 ? !along
                                          : along && !(along & (along - 1)) && row[0] == 0 && row[1 + l] == 1
                                                && g->extents[l] == it.node->sizes[dim];
    *ok =
        it.mask == 0 && whole && !(others & along) && (!g->row_known || (g->row & lz_group_live(g)) == along);
    if (!*ok)
        return NULL;
    g->columns =
        g->row_known ? g->columns : lz_wants_columns(it.node, UINT64_C(1) << dim, it.node->sizes[dim]);
    g->row = along;
    g->row_known = true;
    return take(f, step, item, it.node->in[0], it.rows, 0);
}

/* ---- gather, cat ---- */

static lz_err *expand_gather(lz_fused *f, uint32_t step, uint32_t item, bool *ok)
{
    lz_group_view view;
    lz_group_item it = *item_of(f, step, item);
    *ok = true;
    LZ_TRY(lz_fuse_resolve(f, step, it.node->in[0], &view));
    item_of(f, step, item)->view = view;
    group_of(f, step)->n_loads++;
    return take(f, step, item, it.node->in[1], it.rows, it.mask);
}

static lz_err *expand_cat(lz_fused *f, uint32_t step, uint32_t item, bool *ok)
{
    lz_group *g = group_of(f, step);
    lz_group_item it = *item_of(f, step, item);
    int64_t dim = ((const lz_low_dim_attr *)it.node->attr)->dim, start = 0, width = lz_group_width(g);
    uint32_t mask;
    *ok = it.node->nin <= LZ_ITEM_INPUTS;
    for (int i = 0; *ok && i < it.node->nin; i++) {
        const lz_low_node *part = it.node->in[i];
        int64_t *rows;
        LZ_TRY(lz_group_rows(g, part->ndim, &rows));
        memcpy(rows, it.rows, (size_t)(part->ndim * width) * sizeof *rows);
        rows[dim * width] -= start;
        LZ_TRY(lz_group_mask(g, it.mask, rows + dim * width, part->sizes[dim], &mask));
        LZ_TRY(take(f, step, item, part, rows, mask));
        start += part->sizes[dim];
    }
    return NULL;
}

static lz_err *expand_never(lz_fused *f, uint32_t step, uint32_t item, bool *ok)
{
    (void)f, (void)step, (void)item;
    *ok = false;
    return NULL;
}

typedef lz_err *expand_fn(lz_fused *f, uint32_t step, uint32_t item, bool *ok);
static expand_fn *const expanders[LZ_LOW_KINDS] = {
    [LZ_LOW_INPUT] = expand_never,     [LZ_LOW_SCALAR] = expand_nothing, [LZ_LOW_CONST] = expand_nothing,
    [LZ_LOW_IOTA] = expand_nothing,    [LZ_LOW_MAP] = expand_map,        [LZ_LOW_CAST] = expand_map,
    [LZ_LOW_PHILOX] = expand_map,      [LZ_LOW_CHECK] = expand_map,      [LZ_LOW_INDEX] = expand_index,
    [LZ_LOW_RESHAPE] = expand_reshape, [LZ_LOW_REDUCE] = expand_reduce,  [LZ_LOW_SCAN] = expand_scan,
    [LZ_LOW_GATHER] = expand_gather,   [LZ_LOW_CAT] = expand_cat,        [LZ_LOW_UPDATE] = expand_never,
    [LZ_LOW_CALL] = expand_never,      [LZ_LOW_BUFFER] = expand_never,
};

lz_err *lz_fuse_expand(lz_fused *f, uint32_t step, uint32_t item, bool *ok)
{
    return expanders[item_of(f, step, item)->node->kind](f, step, item, ok);
}

/* ---- operands of calls ---- */

lz_err *lz_fuse_resolve(lz_fused *f, uint32_t step, const lz_low_node *n, lz_group_view *out)
{
    LZ_TRY(f->separate ? lz_dense_view(f->arena, n, out) : lz_view_resolve(f->arena, n, out));
    lz_fused_node_of(f, out->base)->must = true;
    return lz_fuse_reads(f, step, out->base);
}
