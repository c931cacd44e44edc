/* Fusion: pulls the operands of a group's items into the group. */
#include "plan/fuse_impl.h"
#include <stdlib.h>
#include <string.h>

static lz_group *group_of(lz_fused *f, uint32_t step)
{
    return f->steps.data[step].group;
}

static lz_gitem *item_of(lz_fused *f, uint32_t step, uint32_t item)
{
    return &group_of(f, step)->items.data[item];
}

/* ---- demands ---- */

static bool is_place(const lz_group *g, const lz_gitem *it, const int64_t *rows, uint32_t mask)
{
    size_t n = (size_t)(it->node->ndim * lz_group_width(g));
    return it->mask == mask && (n == 0 || !memcmp(it->rows, rows, n * sizeof *rows));
}

/* The newest demands are looked at; one that is made twice costs little, for the kernel
 * shares what is equal. */
lz_err *lz_fuse_demand(lz_fused *f, uint32_t step, const lz_ln *n, int64_t *rows, uint32_t mask,
                       uint32_t *item)
{
    enum { LOOKED_AT = 64 };
    struct lz_fuse_lists *l = f->lists;
    lz_fnode *s = lz_fnode_of(f, n);
    lz_group *g = group_of(f, step);
    int left = LOOKED_AT;
    for (uint32_t d = s->demand; d && left-- > 0; d = l->demands.data[d - 1].next) {
        *item = l->demands.data[d - 1].item;
        if (l->demands.data[d - 1].step == step && is_place(g, &g->items.data[*item], rows, mask))
            return NULL;
    }
    LZ_TRY(lz_group_push(g, &(lz_gitem){ .node = n, .rows = rows, .mask = mask }, item));
    LZ_TRY(lz_vec_push(&l->demands, (lz_demand){ step, *item, s->demand }));
    s->demand = (uint32_t)l->demands.len;
    return NULL;
}

/* Input i of the item is n at this place; item pointers do not survive this. */
static lz_err *take(lz_fused *f, uint32_t step, uint32_t item, const lz_ln *n, int64_t *rows, uint32_t mask)
{
    uint32_t in;
    LZ_TRY(lz_fuse_demand(f, step, n, rows, mask, &in));
    lz_gitem *it = item_of(f, step, item);
    it->in_mask[it->nin] = mask;
    it->in[it->nin++] = in;
    return NULL;
}

/* ---- each kind ---- */

static lz_err *expand_nothing(lz_fused *f, uint32_t step, uint32_t item, bool *ok)
{
    (void)f, (void)step, (void)item;
    *ok = true;
    return NULL;
}

static lz_err *expand_map(lz_fused *f, uint32_t step, uint32_t item, bool *ok)
{
    lz_gitem it = *item_of(f, step, item);
    *ok = true;
    for (int i = 0; i < it.node->nin; i++)
        LZ_TRY(take(f, step, item, it.node->in[i], it.rows, it.mask));
    return NULL;
}

static lz_err *expand_index(lz_fused *f, uint32_t step, uint32_t item, bool *ok)
{
    lz_group *g = group_of(f, step);
    lz_gitem it = *item_of(f, step, item);
    const lz_ln *n = it.node, *x = n->in[0];
    const lz_lindex *a = n->attr;
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

/* A reshape whose place is not affine in the loops: where an input lies so that it is a view, that is read.
 */
static lz_err *load_view(lz_fused *f, uint32_t step, uint32_t item, bool *ok)
{
    lz_gview view;
    LZ_TRY(lz_view_resolve(f->arena, item_of(f, step, item)->node, &view));
    *ok = view.base->kind == LZ_L_INPUT;
    if (!*ok)
        return NULL;
    lz_gitem *it = item_of(f, step, item);
    it->load = true;
    it->view = view;
    group_of(f, step)->n_loads++;
    return lz_fuse_reads(f, step, view.base);
}

static lz_err *expand_reshape(lz_fused *f, uint32_t step, uint32_t item, bool *ok)
{
    lz_group *g = group_of(f, step);
    const lz_ln *x = item_of(f, step, item)->node->in[0];
    int64_t strides[LZ_MAX_DIMS], *rows = NULL, number[1 + LZ_GROUP_LOOPS];
    lz_gview dense = { .strides = strides };
    bool again = true;
    lz_row_major(lz_ln_sizes(item_of(f, step, item)->node), strides);
    while (again) {
        lz_item_address(g, item_of(f, step, item), &dense, number);
        LZ_TRY(lz_group_unravel(g, number, lz_ln_sizes(x), &rows, &again));
    }
    if (!rows)
        return load_view(f, step, item, ok);
    *ok = true;
    return take(f, step, item, x, rows, item_of(f, step, item)->mask);
}

/* ---- how what is reduced lies in memory ---- */

/* The strides of a view of something in memory, in the dimensions of the view. */
static void strides_of(const lz_ln *n, int64_t *strides)
{
    const lz_ln *x = n->kind == LZ_L_INDEX ? n->in[0] : n;
    int64_t below[LZ_MAX_DIMS];
    lz_row_major(lz_ln_sizes(x), below);
    if (x->kind == LZ_L_INPUT)
        memcpy(below, ((const lz_linput *)x->attr)->strides, x->ndim * sizeof *below);
    memcpy(strides, below, n->ndim * sizeof *below);
    if (n->kind != LZ_L_INDEX)
        return;
    const int64_t *map = ((const lz_lindex *)n->attr)->v + x->ndim;
    for (int64_t c = 0; c < n->ndim; c++) {
        strides[c] = 0;
        for (int64_t r = 0; r < x->ndim; r++)
            strides[c] += below[r] * map[r * n->ndim + c];
    }
}

/* The dimension along which elements lie side by side; -1: none. *whole: no dimension stands still. */
static int64_t contiguous_dim(const lz_ln *n, const int64_t *strides, bool *whole)
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

/* Strides of what x is computed from, element by element, if all of it that has as many elements as x
 * lies side by side along one dimension. */
static bool find_strides(const lz_ln *x, int64_t *strides)
{
    enum { NEAR = 16 };
    const lz_ln *stack[NEAR * 3] = { x };
    int64_t mine[LZ_MAX_DIMS], dim = -1;
    int k = 1;
    for (int seen = 0; k > 0; seen++) {
        const lz_ln *n = stack[--k];
        bool whole;
        if (seen == NEAR || n->numel == 0)
            return false;
        if (n->kind == LZ_L_MAP || n->kind == LZ_L_CAST) {
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

static lz_shape sizes_of(const lz_ln *x, const lz_shape *order)
{
    lz_shape s = { .n = order->n };
    for (int64_t i = 0; i < order->n; i++)
        s.v[i] = x->sizes[order->v[i]];
    return s;
}

/* The reduced dimensions; by_memory: those with the longest steps first, where all that is read agrees. */
static lz_shape order_of(const lz_ln *x, uint64_t dims, bool by_memory)
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

/* The last dimension of more than one step among `dims`; -1: none. */
static int64_t last_of(const lz_ln *x, uint64_t dims)
{
    int64_t last = x->ndim - 1;
    while (last >= 0 && (x->sizes[last] == 1 || !(dims >> last & 1)))
        last--;
    return last;
}

/* The dimension along which what is read lies side by side is not reduced, or the rows are short. Where
 * this is not known, or would not be the innermost loop, it is the last dimension that counts. */
bool lz_wants_columns(const lz_ln *x, uint64_t dims, int64_t steps)
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

static bool has_order(const lz_ln *n)
{
    return n->op == LZ_K_RARGMAX || n->op == LZ_K_RARGMIN;
}

/* Which loops the reduction at this place runs over: those it does not depend on, or new
 * ones. false: none that would do. */
static lz_err *find_row(lz_group *g, const lz_gitem *it, const lz_shape *reduced, bool *ok)
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

/* The number of an element in the row. */
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
    const lz_ln *n = item_of(f, step, item)->node, *x = n->in[0];
    uint64_t dims = ((const lz_lreduce *)n->attr)->dims, live = lz_group_live(g);
    bool fresh = !g->row_known && !(live & ~lz_rows_loops(g, item_of(f, step, item)->rows, n->ndim));
    lz_shape order = order_of(x, dims, fresh && !has_order(n)), reduced = sizes_of(x, &order);
    int64_t number[1 + LZ_GROUP_LOOPS], *inner = NULL, *rows;
    int64_t steps = n->numel > 0 ? x->numel / n->numel : 0;
    bool again = true, columns = lz_wants_columns(x, dims, steps);
    *ok = item_of(f, step, item)->mask == 0 && (!g->row_known || g->columns == columns);
    if (x->numel == 0) { /* nothing is added up */
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

/* The row must be the loop along the scanned dimension, and all of it. */
static lz_err *expand_scan(lz_fused *f, uint32_t step, uint32_t item, bool *ok)
{
    lz_group *g = group_of(f, step);
    lz_gitem it = *item_of(f, step, item);
    int64_t dim = ((const lz_ldim *)it.node->attr)->dim, width = lz_group_width(g);
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
    lz_gview view;
    lz_gitem it = *item_of(f, step, item);
    *ok = true;
    LZ_TRY(lz_fuse_resolve(f, step, it.node->in[0], &view));
    item_of(f, step, item)->view = view;
    group_of(f, step)->n_loads++;
    return take(f, step, item, it.node->in[1], it.rows, it.mask);
}

static lz_err *expand_cat(lz_fused *f, uint32_t step, uint32_t item, bool *ok)
{
    lz_group *g = group_of(f, step);
    lz_gitem it = *item_of(f, step, item);
    int64_t dim = ((const lz_ldim *)it.node->attr)->dim, start = 0, width = lz_group_width(g);
    uint32_t mask;
    *ok = it.node->nin <= LZ_ITEM_INPUTS;
    for (int i = 0; *ok && i < it.node->nin; i++) {
        const lz_ln *part = it.node->in[i];
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
static expand_fn *const expanders[LZ_L_KINDS] = {
    [LZ_L_INPUT] = expand_never,     [LZ_L_SCALAR] = expand_nothing, [LZ_L_CONST] = expand_nothing,
    [LZ_L_IOTA] = expand_nothing,    [LZ_L_MAP] = expand_map,        [LZ_L_CAST] = expand_map,
    [LZ_L_PHILOX] = expand_map,      [LZ_L_CHECK] = expand_map,      [LZ_L_INDEX] = expand_index,
    [LZ_L_RESHAPE] = expand_reshape, [LZ_L_REDUCE] = expand_reduce,  [LZ_L_SCAN] = expand_scan,
    [LZ_L_GATHER] = expand_gather,   [LZ_L_CAT] = expand_cat,        [LZ_L_UPDATE] = expand_never,
    [LZ_L_CALL] = expand_never,      [LZ_L_BUFFER] = expand_never,
};

lz_err *lz_fuse_expand(lz_fused *f, uint32_t step, uint32_t item, bool *ok)
{
    return expanders[item_of(f, step, item)->node->kind](f, step, item, ok);
}

/* ---- what kernels that do not fuse read ---- */

lz_err *lz_fuse_resolve(lz_fused *f, uint32_t step, const lz_ln *n, lz_gview *out)
{
    LZ_TRY(f->separate ? lz_dense_view(f->arena, n, out) : lz_view_resolve(f->arena, n, out));
    lz_fnode_of(f, out->base)->must = true;
    return lz_fuse_reads(f, step, out->base);
}
