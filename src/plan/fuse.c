#include "plan/fuse_impl.h"
#include <assert.h>
#include <string.h>

static lz_group *group_of(lz_fused *f, uint32_t step)
{
    assert(step < f->steps.len && f->steps.data[step].group);
    return f->steps.data[step].group;
}

/* ---- groups, stores, writers ---- */

lz_err *lz_fuse_new_group(lz_fused *f, const lz_low_node *for_node, uint32_t *step)
{
    lz_group *g;
    LZ_TRY(lz_arena_new(f->arena, &g, 1));
    LZ_TRY(lz_group_init(g, f->arena));
    lz_err *e = lz_fuse_add_step(f, (lz_fused_step){ .group = g, .origin = for_node->origin }, step);
    if (e)
        lz_group_deinit(g);
    return e;
}

lz_err *lz_fuse_wrote(lz_fused *f, uint32_t step, const lz_low_node *target)
{
    assert(step < f->steps.len);
    lz_fused_node *s = lz_fused_node_of(f, target);
    LZ_TRY(lz_vec_push(&f->lists->writers, (lz_fuse_step_link){ step, s->writer }));
    s->writer = (uint32_t)f->lists->writers.len;
    return NULL;
}

lz_err *lz_fuse_reads(lz_fused *f, uint32_t step, const lz_low_node *n)
{
    lz_fused_node *s = lz_fused_node_of(f, n);
    LZ_TRY(lz_vec_push(&f->lists->readers, (lz_fuse_step_link){ step, s->reader }));
    s->reader = (uint32_t)f->lists->readers.len;
    return NULL;
}

lz_err *lz_fuse_store(lz_fused *f, uint32_t step, uint32_t item, const lz_low_node *target,
                      const int64_t *row)
{
    lz_group *g = group_of(f, step);
    lz_group_store s = { .item = item, .target = target };
    assert(item < g->items.len && !g->merged);
    LZ_TRY(lz_group_rows(g, 1, &s.row));
    memcpy(s.row, row, (size_t)lz_group_width(g) * sizeof *row);
    LZ_TRY(lz_vec_push(&g->stores, s));
    return lz_fuse_wrote(f, step, target);
}

/* Makes a group that writes all of `part` into target's buffer, at the addresses of the view `at`. */
static lz_err *write_part(lz_fused *f, const lz_low_node *part, const lz_low_node *target, lz_group_view at,
                          uint32_t *step)
{
    uint32_t item;
    int64_t *rows, row[1 + LZ_GROUP_LOOPS];
    LZ_TRY(lz_fuse_new_group(f, target, step));
    LZ_TRY(lz_group_add_loops(group_of(f, *step), lz_low_node_sizes(part), &rows));
    LZ_TRY(lz_fuse_demand(f, *step, part, rows, 0, &item));
    lz_item_address(group_of(f, *step), &group_of(f, *step)->items.data[item], &at, row);
    return lz_fuse_store(f, *step, item, target, row);
}

/* ---- loads ---- */

static lz_err *load_item(lz_fused *f, const lz_fuse_demand_item *d, const lz_low_node *n)
{
    lz_group *g = group_of(f, d->step);
    lz_group_item *it = &g->items.data[d->item];
    it->load = true;
    it->nin = 0;
    g->n_loads++;
    LZ_TRY(lz_fuse_reads(f, d->step, n));
    return lz_dense_view(f->arena, n, &it->view);
}

/* ---- costs ---- */

static bool is_dear(const lz_low_node *n)
{
    switch (n->kind) {
    case LZ_LOW_REDUCE:
    case LZ_LOW_SCAN:
    case LZ_LOW_PHILOX:
        return true;
    case LZ_LOW_MAP:
        return n->op >= LZ_KERNEL_POW || n->op == LZ_KERNEL_FMOD || n->op == LZ_KERNEL_REMAINDER
               || n->op == LZ_KERNEL_GCD;
    default:
        return false;
    }
}

static bool is_leaf(const lz_low_node *n)
{
    return n->kind <= LZ_LOW_IOTA;
}

static bool is_uniform(const lz_low_node *n)
{
    while (n->kind == LZ_LOW_INDEX && n->nin == 1)
        n = n->in[0];
    return n->kind == LZ_LOW_SCALAR || n->kind == LZ_LOW_CONST;
}

static const lz_low_node *below_views(const lz_low_node *n)
{
    while (n->kind == LZ_LOW_INDEX && n->nin == 1)
        n = n->in[0];
    return n;
}

/* Copies whole rows of an input; one index selects each row. Costs no more than loading the rows. */
static bool gathers_rows(const lz_low_node *n)
{
    enum { ROW = 16 };
    return n->kind == LZ_LOW_GATHER && below_views(n->in[0])->kind == LZ_LOW_INPUT
           && below_views(n->in[1])->numel <= n->numel / ROW;
}

/* Loading the operand costs no more than loading the result. */
static bool is_cheap(const lz_low_node *n)
{
    int varying = 0;
    if (gathers_rows(n))
        return true;
    if ((n->kind != LZ_LOW_MAP && n->kind != LZ_LOW_CAST) || is_dear(n))
        return false;
    for (int i = 0; i < n->nin; i++) {
        const lz_low_node *x = below_views(n->in[i]);
        if (!is_leaf(x))
            return false;
        varying += !is_uniform(x);
    }
    return varying <= 1;
}

static bool is_full(const lz_fused *f, const lz_group *g)
{
    return g->items.len >= (size_t)f->room || g->n_loads >= LZ_GROUP_LOADS || g->masks.len >= LZ_GROUP_MASKS;
}

/* ---- demands and loops ---- */

/* A reduction of `steps` elements per result among the nodes that n is computed from; only the nearest few
 * are searched. NULL: none. */
static const lz_low_node *find_reduction(const lz_low_node *n, int64_t steps)
{
    enum { NEAR = 12 };
    const lz_low_node *stack[NEAR * 3];
    int k = 0;
    stack[k++] = n;
    for (int seen = 0; k > 0 && seen < NEAR; seen++) {
        const lz_low_node *x = stack[--k];
        if (x->kind == LZ_LOW_REDUCE && x->numel > 0 && x->in[0]->numel / x->numel == steps)
            return x;
        for (int i = 0; i < x->nin && x->kind <= LZ_LOW_RESHAPE && k < NEAR * 3; i++)
            stack[k++] = x->in[i];
    }
    return NULL;
}

/* If n does not depend on the loops `rest` and a reduction below n runs over that many elements, these
 * loops become the row of the group. */
static void settle_row(lz_group *g, const lz_low_node *n, uint64_t rest)
{
    const lz_low_node *reduction = g->row_known || !rest ? NULL : find_reduction(n, lz_group_steps(g, rest));
    if (!reduction)
        return;
    g->row = rest;
    g->row_known = true;
    g->columns = lz_wants_columns(reduction->in[0], ((const lz_low_reduce_attr *)reduction->attr)->dims,
                                  lz_group_steps(g, rest));
}

typedef struct places {
    size_t n, groups; /* demands for different elements; groups that make them, counting consecutive demands
                         of one group once */
    size_t most;      /* demands in one group */
    bool full;        /* some group has reached its limit of items, loads or masks */
    bool repeated;    /* some group would compute each element many times */
} places;

static places places_of(lz_fused *f, const lz_low_node *n)
{
    enum { OFTEN = 4 };
    const lz_fuse_demand_item *all = f->lists->demands.data;
    places p = { 0 };
    uint32_t last = LZ_NO_STEP;
    size_t here = 0;
    for (uint32_t d = lz_fused_node_of(f, n)->demand; d; d = all[d - 1].next) {
        lz_group *g = group_of(f, all[d - 1].step);
        const lz_group_item *it = &g->items.data[all[d - 1].item];
        here = all[d - 1].step == last ? here + 1 : 1;
        p.groups += all[d - 1].step != last;
        p.n++;
        p.most = here > p.most ? here : p.most;
        p.full = p.full || is_full(f, g);
        last = all[d - 1].step;
        uint64_t used = lz_rows_loops(g, it->rows, n->ndim), rest = lz_group_live(g) & ~used;
        settle_row(g, n, rest);
        p.repeated = p.repeated || (n->numel > 1 && lz_group_steps(g, rest & ~g->row) >= OFTEN);
    }
    return p;
}

/* Whether the node is a copy of an input that is to have a buffer (lz_low_copy). */
static bool is_copy_of_input(const lz_low_node *n)
{
    const lz_low_index_attr *a = n->attr;
    if (n->kind != LZ_LOW_INDEX || n->in[0]->kind != LZ_LOW_INPUT
        || !lz_shape_eq(lz_low_node_sizes(n), lz_low_node_sizes(n->in[0])))
        return false;
    bool same = n->nin == 1;
    for (int64_t r = 0; same && r < n->ndim; r++) {
        same = a->v[r] == 0;
        for (int64_t c = 0; same && c < n->ndim; c++)
            same = a->v[n->ndim * (1 + r) + c] == (r == c) || n->sizes[c] == 1;
    }
    return same;
}

/* Whether every group that uses the node computes it, so that the node needs no buffer. */
static bool is_inlined(lz_fused *f, const lz_low_node *n)
{
    enum { PLACES = 4 };
    places p = places_of(f, n);
    if (f->separate) /* so that kernels get the same constants as with fusion */
        return is_leaf(n) || is_uniform(n);
    if (is_leaf(n) || n->kind == LZ_LOW_INDEX || n->kind == LZ_LOW_RESHAPE)
        return !is_copy_of_input(n);
    if (p.full || p.most > PLACES)
        return false;
    if (is_dear(n) && (p.n > 1 || p.repeated))
        return false;
    return p.groups <= 1 || is_cheap(n);
}

/* ---- storing a node in a group that computes the node anyway ---- */

/* Whether the group can store n from this item. May settle the row of the group. */
static bool can_host(lz_group *g, const lz_low_node *n, const lz_group_item *it, const int64_t *address)
{
    uint64_t used = lz_rows_loops(g, it->rows, n->ndim), rest = lz_group_live(g) & ~used;
    if (it->mask || g->stores.len >= LZ_GROUP_STORES || !lz_group_covers(g, address, n->numel, used))
        return false;
    if (!rest)
        return true;
    settle_row(g, n, rest);
    return g->row_known && (g->row & lz_group_live(g)) == rest;
}

static size_t places_in(lz_fused *f, const lz_low_node *n, uint32_t step)
{
    const lz_fuse_demand_item *all = f->lists->demands.data;
    size_t k = 0;
    for (uint32_t d = lz_fused_node_of(f, n)->demand; d; d = all[d - 1].next)
        k += all[d - 1].step == step;
    return k;
}

/* Computes and stores n in one of the groups that demand n. *host: that group's step, or LZ_NO_STEP. */
static lz_err *join(lz_fused *f, const lz_low_node *n, uint32_t *host)
{
    enum { TRIES = 4 };
    int64_t address[1 + LZ_GROUP_LOOPS];
    lz_group_view dense;
    bool ok = false;
    *host = LZ_NO_STEP;
    LZ_TRY(lz_dense_view(f->arena, n, &dense));
    uint32_t next, tries = 0;
    for (uint32_t d = lz_fused_node_of(f, n)->demand; d && tries < TRIES; d = next, tries++) {
        lz_fuse_demand_item at = f->lists->demands.data[d - 1];
        lz_group *g = group_of(f, at.step);
        next = at.next;
        lz_item_address(g, &g->items.data[at.item], &dense, address);
        if (is_full(f, g) || places_in(f, n, at.step) != 1
            || !can_host(g, n, &g->items.data[at.item], address))
            continue;
        LZ_TRY(lz_fuse_can_write_first(f, n, at.step, &ok));
        if (ok && !g->items.data[at.item].nin)
            LZ_TRY(lz_fuse_expand(f, at.step, at.item, &ok));
        if (!ok)
            continue;
        lz_item_address(g, &g->items.data[at.item], &dense, address); /* loops may have been split */
        *host = at.step;
        return lz_fuse_store(f, at.step, at.item, n, address);
    }
    return NULL;
}

/* ---- giving a node a buffer ---- */

static lz_err *own_group(lz_fused *f, const lz_low_node *n)
{
    uint32_t step, item;
    int64_t *rows, address[1 + LZ_GROUP_LOOPS];
    lz_group_view dense;
    bool ok;
    LZ_TRY(lz_fuse_new_group(f, n, &step));
    LZ_TRY(lz_group_add_loops(group_of(f, step), lz_low_node_sizes(n), &rows));
    LZ_TRY(lz_group_push(group_of(f, step), &(lz_group_item){ .node = n, .rows = rows }, &item));
    LZ_TRY(lz_fuse_expand(f, step, item, &ok));
    if (!ok)
        return lz_errf(LZ_ERR_INTERNAL, "a group cannot compute the node that it was made for");
    LZ_TRY(lz_dense_view(f->arena, n, &dense));
    lz_item_address(group_of(f, step), &group_of(f, step)->items.data[item], &dense, address);
    return lz_fuse_store(f, step, item, n, address);
}

static lz_err *make_cat(lz_fused *f, const lz_low_node *n)
{
    int64_t dim = ((const lz_low_dim_attr *)n->attr)->dim;
    uint32_t step, end = 0;
    lz_group_view at;
    LZ_TRY(lz_dense_view(f->arena, n, &at));
    for (int i = 0; i < n->nin; i++) {
        LZ_TRY(write_part(f, n->in[i], n, at, &step));
        if (i == 0) /* the writers of the other parts are inserted before this step */
            LZ_TRY(lz_order_add_behind(&f->lists->places, f->steps.data[step].place, &end));
        at.offset += n->in[i]->sizes[dim] * at.strides[dim];
    }
    lz_fused_node_of(f, n)->writers_end = n->nin > 0 ? end + 1 : 0;
    return NULL;
}

static lz_err *make_update(lz_fused *f, const lz_low_node *n)
{
    const lz_low_update_attr *a = n->attr;
    lz_group_view all, part = { .offset = a->offset, .strides = (int64_t *)a->strides };
    uint32_t first, second;
    LZ_TRY(lz_dense_view(f->arena, n, &all));
    LZ_TRY(write_part(f, n->in[0], n, all, &first));
    LZ_TRY(write_part(f, n->in[1], n, part, &second));
    if (n->nin > 2) {
        lz_group *g = group_of(f, second);
        lz_group_store *s = &g->stores.data[g->stores.len - 1];
        s->start = n->in[2];
        s->step = a->strides[n->in[1]->ndim];
    }
    f->steps.data[second].after = first;
    lz_order_move_first(&f->lists->places, f->steps.data[first].place);
    f->steps.data[first].waited_for = true;
    return NULL;
}

/* ---- paddings ---- */

/* An index map that shifts its operand and fills the rest, if large enough to be worth two launches. */
static bool is_padding(const lz_low_node *n)
{
    enum { LEAST = 4096 };
    const lz_low_index_attr *a = n->attr;
    bool is = n->kind == LZ_LOW_INDEX && n->nin == 2 && n->in[0]->ndim == n->ndim && n->numel >= LEAST;
    for (int64_t r = 0; is && r < n->ndim; r++)
        for (int64_t c = 0; is && c < n->ndim; c++)
            is = n->sizes[c] == 1 || a->v[n->ndim + r * n->ndim + c] == (r == c);
    return is;
}

/* Writes the fill value to all of n's buffer. */
static lz_err *write_fill(lz_fused *f, const lz_low_node *n, const lz_group_view *at, uint32_t *step)
{
    uint32_t item;
    int64_t *rows, row[1 + LZ_GROUP_LOOPS] = { 0 };
    LZ_TRY(lz_fuse_new_group(f, n, step));
    LZ_TRY(lz_group_add_loops(group_of(f, *step), lz_low_node_sizes(n), &rows));
    LZ_TRY(lz_fuse_demand(f, *step, n->in[1], NULL, 0, &item));
    for (int64_t d = 0; d < n->ndim; d++)
        lz_row_add(group_of(f, *step), row, at->strides[d], rows + d * lz_group_width(group_of(f, *step)));
    return lz_fuse_store(f, *step, item, n, row);
}

/* Writes the operand to its place in n's buffer. The loops cover only that place, so no element needs a
 * bounds check. */
static lz_err *write_inside(lz_fused *f, const lz_low_node *n, lz_group_view at, uint32_t *step)
{
    const lz_low_node *x = n->in[0];
    const lz_low_index_attr *a = n->attr;
    lz_shape sizes = { .n = n->ndim };
    int64_t *rows, row[1 + LZ_GROUP_LOOPS], first[LZ_MAX_DIMS];
    uint32_t item;
    for (int64_t d = 0; d < n->ndim; d++) { /* element i of the result is element a->v[d] + i of x */
        int64_t from = a->v[d] < 0 ? -a->v[d] : 0, to = x->sizes[d] - a->v[d];
        to = to < n->sizes[d] ? to : n->sizes[d];
        sizes.v[d] = to > from ? to - from : 0;
        first[d] = from + a->v[d];
        at.offset += from * at.strides[d];
    }
    LZ_TRY(lz_fuse_new_group(f, n, step));
    LZ_TRY(lz_group_add_loops(group_of(f, *step), lz_shape_ints(&sizes), &rows));
    lz_group *g = group_of(f, *step);
    memset(row, 0, sizeof row);
    row[0] = at.offset;
    for (int64_t d = 0; d < n->ndim; d++) {
        lz_row_add(g, row, at.strides[d], rows + d * lz_group_width(g));
        rows[d * lz_group_width(g)] += first[d];
    }
    LZ_TRY(lz_fuse_demand(f, *step, x, rows, 0, &item));
    return lz_fuse_store(f, *step, item, n, row);
}

static lz_err *make_padding(lz_fused *f, const lz_low_node *n)
{
    lz_group_view at;
    uint32_t first, second;
    LZ_TRY(lz_dense_view(f->arena, n, &at));
    LZ_TRY(write_fill(f, n, &at, &first));
    LZ_TRY(write_inside(f, n, at, &second));
    f->steps.data[second].after = first;
    f->steps.data[first].waited_for = true;
    return NULL;
}

static lz_err *make_call(lz_fused *f, const lz_low_node *n)
{
    lz_fused_call *c;
    uint32_t step;
    LZ_TRY(lz_arena_new(f->arena, &c, 1));
    c->node = c->target = n;
    LZ_TRY(lz_fuse_add_step(f, (lz_fused_step){ .call = c, .origin = n->origin }, &step));
    for (int i = 0; i < n->nin; i++)
        LZ_TRY(lz_fuse_resolve(f, step, n->in[i], &c->in[i]));
    return lz_fuse_wrote(f, step, n);
}

/* An operand with a buffer shares that buffer with the reshape. An input or an index map is copied into a
 * buffer of the reshape. */
static lz_err *make_reshape(lz_fused *f, const lz_low_node *n)
{
    const lz_low_node *x = n->in[0];
    lz_group_view at;
    uint32_t step;
    if (x->kind != LZ_LOW_INPUT && x->kind != LZ_LOW_INDEX) {
        lz_fused_node_of(f, x)->must = true;
        lz_fused_node_of(f, n)->alias = x;
        for (uint32_t r = lz_fused_node_of(f, n)->reader; r; r = f->lists->readers.data[r - 1].next)
            LZ_TRY(lz_fuse_reads(f, f->lists->readers.data[r - 1].step, x));
        return NULL;
    }
    LZ_TRY(lz_dense_view(f->arena, x, &at));
    if (x->kind == LZ_LOW_INPUT) { /* an input may have other strides; the result is row-major */
        int64_t s = 1;
        at.offset = 0;
        for (int64_t d = x->ndim; d-- > 0; s *= x->sizes[d])
            at.strides[d] = s;
    }
    return write_part(f, x, n, at, &step);
}

/* A cat whose elements keep their row-major order. The cat gets a buffer: writing each part is cheaper
 * than a mask for each part. */
static bool is_reshaped_cat(const lz_low_node *n)
{
    const lz_low_node *x = n->kind == LZ_LOW_INDEX && n->nin == 1 ? n->in[0] : n;
    int64_t from[LZ_MAX_DIMS], to[LZ_MAX_DIMS], offset = 0;
    if (x->kind != LZ_LOW_CAT || x->numel != n->numel)
        return false;
    const lz_low_index_attr *a = n->attr;
    lz_row_major(lz_low_node_sizes(x), from);
    lz_row_major(lz_low_node_sizes(n), to);
    bool is = true;
    for (int64_t r = 0; r < x->ndim; r++)
        offset += from[r] * a->v[r];
    for (int64_t c = 0; c < n->ndim; c++) {
        int64_t step = 0;
        for (int64_t r = 0; r < x->ndim; r++)
            step += from[r] * a->v[x->ndim + r * n->ndim + c];
        is = is && (n->sizes[c] == 1 || step == to[c]);
    }
    return is && offset == 0;
}

static lz_err *make_buffer(lz_fused *f, const lz_low_node *n)
{
    if (n->kind == LZ_LOW_CALL)
        return make_call(f, n);
    if (n->kind == LZ_LOW_CAT)
        return make_cat(f, n);
    if (n->kind == LZ_LOW_UPDATE)
        return make_update(f, n);
    if (n->kind == LZ_LOW_RESHAPE || (n->kind == LZ_LOW_INDEX && !f->separate && is_reshaped_cat(n)))
        return make_reshape(f, n);
    if (!f->separate && is_padding(n))
        return make_padding(f, n);
    return own_group(f, n);
}

/* ---- visiting the nodes ---- */

static bool never_joins(const lz_fused *f, const lz_low_node *n)
{
    return f->separate || n->kind == LZ_LOW_CALL || n->kind == LZ_LOW_CAT || n->kind == LZ_LOW_UPDATE
           || n->kind == LZ_LOW_RESHAPE || n->numel == 0;
}

/* Gives n a buffer. Groups that demand n load it, except the group that computes it. */
static lz_err *materialise(lz_fused *f, const lz_low_node *n)
{
    uint32_t host = LZ_NO_STEP;
    lz_fused_node_of(f, n)->buffer = true;
    if (!never_joins(f, n))
        LZ_TRY(join(f, n, &host));
    for (uint32_t d = lz_fused_node_of(f, n)->demand; d; d = f->lists->demands.data[d - 1].next) {
        lz_fuse_demand_item at = f->lists->demands.data[d - 1];
        const lz_group_item *it = &group_of(f, at.step)->items.data[at.item];
        if (at.step != host && !it->nin)
            LZ_TRY(load_item(f, &at, n));
    }
    return host == LZ_NO_STEP && n->numel > 0 ? make_buffer(f, n) : NULL;
}

static lz_err *visit(lz_fused *f, const lz_low_node *n)
{
    bool all = true, ok;
    lz_fused_node *s = lz_fused_node_of(f, n);
    if (!s->demand && !s->must)
        return NULL;
    if (n->kind == LZ_LOW_INPUT) {
        for (uint32_t d = s->demand; d; d = f->lists->demands.data[d - 1].next)
            LZ_TRY(load_item(f, &f->lists->demands.data[d - 1], n));
        return NULL;
    }
    if ((s->must && !is_leaf(n)) || !is_inlined(f, n))
        return materialise(f, n);
    for (uint32_t d = s->demand; d; d = f->lists->demands.data[d - 1].next) {
        lz_fuse_demand_item at = f->lists->demands.data[d - 1];
        LZ_TRY(lz_fuse_expand(f, at.step, at.item, &ok));
        all = all && ok;
    }
    return s->must || !all ? materialise(f, n) : NULL;
}

/* Shortens the chain of aliases that it follows. */
const lz_low_node *lz_fused_owner(const lz_fused *f, const lz_low_node *n)
{
    for (const lz_low_node *up; (up = f->nodes[n->id].alias); n = up) {
        const lz_low_node *further = f->nodes[up->id].alias;
        f->nodes[n->id].alias = further ? further : up;
    }
    return n;
}

static lz_err *fuse(lz_fused *f, const lz_low_node *const *outputs, size_t n)
{
    LZ_TRY(lz_arena_new(f->arena, &f->lists, 1));
    LZ_TRY(lz_arena_new(f->arena, &f->nodes, f->dag->n_nodes + 1));
    for (size_t i = 0; i < n; i++)
        f->nodes[outputs[i]->id].must = true;
    for (uint32_t i = f->dag->n_nodes; i-- > 0;)
        LZ_TRY(visit(f, f->dag->nodes[i]));
    if (!f->separate)
        LZ_TRY(lz_fuse_siblings(f));
    LZ_TRY(lz_fuse_order(f));
    if (!f->separate)
        LZ_TRY(lz_fuse_order_for_memory(f, outputs, n));
    return lz_fuse_order_overwrites_last(f);
}

lz_err *lz_fuse(lz_fused *out, const lz_lower *dag, const lz_low_node *const *outputs, size_t n, int room)
{
    *out = (lz_fused){ .arena = dag->arena, .dag = dag, .room = room, .separate = room <= 1 };
    lz_err *e = fuse(out, outputs, n);
    if (e)
        lz_fused_deinit(out);
    return e;
}

void lz_fused_deinit(lz_fused *f)
{
    for (size_t i = 0; i < f->steps.len; i++)
        if (f->steps.data[i].group)
            lz_group_deinit(f->steps.data[i].group);
    if (f->lists) {
        lz_vec_deinit(&f->lists->demands);
        lz_vec_deinit(&f->lists->writers);
        lz_vec_deinit(&f->lists->readers);
        lz_vec_deinit(&f->lists->stack);
        lz_vec_deinit(&f->lists->seen);
        lz_order_deinit(&f->lists->places);
    }
    lz_vec_deinit(&f->steps);
    lz_vec_deinit(&f->order);
    *f = (lz_fused){ 0 };
}
