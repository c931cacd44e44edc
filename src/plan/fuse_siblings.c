/* Merges groups over the same loops if they load a common buffer, or if one loads what the other stores. */
#include "core/shape.h"
#include "plan/fuse_impl.h"
#include <string.h>

static bool same_loops(const lz_group *a, const lz_group *b)
{
    bool loops =
        a->n_loops == b->n_loops && !memcmp(a->extents, b->extents, (size_t)a->n_loops * sizeof *a->extents);
    return loops && (!a->row_known || !b->row_known || (a->row == b->row && a->columns == b->columns));
}

static bool is_among(void *user, const lz_low_node *base)
{
    const lz_low_node *wanted = *(const lz_low_node *const *)user;
    return wanted != base; /* found: stop */
}

static bool shares_load(const lz_fused_step *a, const lz_fused_step *b)
{
    for (size_t i = 0; i < a->group->items.len; i++) {
        const lz_low_node *base = a->group->items.data[i].view.base;
        if (base && base->numel > 1 && !lz_fused_step_reads(b, is_among, &base))
            return true;
    }
    return false;
}

static bool has_room(const lz_fused *f, const lz_group *a, const lz_group *b)
{
    return a->items.len + b->items.len <= (size_t)f->room && a->n_loads + b->n_loads <= LZ_GROUP_LOADS
           && a->masks.len + b->masks.len <= LZ_GROUP_MASKS
           && a->stores.len + b->stores.len <= LZ_GROUP_STORES;
}

static lz_err *append(lz_group *a, lz_group *b)
{
    uint32_t items = (uint32_t)a->items.len, masks = (uint32_t)a->masks.len - 1;
    LZ_TRY(lz_vec_reserve(&a->items, b->items.len));
    LZ_TRY(lz_vec_reserve(&a->masks, b->masks.len));
    LZ_TRY(lz_vec_reserve(&a->stores, b->stores.len));
    for (size_t i = 0; i < b->items.len; i++) {
        lz_group_item it = b->items.data[i];
        it.mask += it.mask ? masks : 0;
        for (int k = 0; k < it.nin; k++) {
            it.in[k] += items;
            it.in_mask[k] += it.in_mask[k] ? masks : 0;
        }
        a->items.data[a->items.len++] = it;
    }
    for (size_t i = 1; i < b->masks.len; i++) {
        lz_group_condition m = b->masks.data[i];
        m.parent += m.parent ? masks : 0;
        a->masks.data[a->masks.len++] = m;
    }
    for (size_t i = 0; i < b->stores.len; i++) {
        lz_group_store s = b->stores.data[i];
        s.item += items;
        a->stores.data[a->stores.len++] = s;
    }
    a->columns = a->row_known ? a->columns : b->columns;
    a->row = a->row_known ? a->row : b->row;
    a->row_known = a->row_known || b->row_known;
    a->n_loads = (uint16_t)(a->n_loads + b->n_loads);
    b->items.len = b->stores.len = 0;
    b->merged = true;
    return NULL;
}

/* ---- a group that loads what another group stores ---- */

/* The store of g that writes all of `base` at the addresses where item `it` of group h loads it; NULL:
 * none. */
static const lz_group_store *stored_at(const lz_group *g, const lz_group *h, const lz_group_item *it)
{
    int64_t row[1 + LZ_GROUP_LOOPS];
    for (size_t i = 0; i < g->stores.len; i++) {
        const lz_group_store *s = &g->stores.data[i];
        if (s->start || s->target != it->view.base || g->items.data[s->item].node != s->target || it->mask
            || !it->load)
            continue;
        lz_item_address(h, it, &it->view, row);
        bool same = row[0] == s->row[0];
        for (int l = 0; same && l < g->n_loops; l++)
            same = g->extents[l] == 1 || row[1 + l] == s->row[1 + l];
        if (same)
            return s;
    }
    return NULL;
}

static bool writes(const lz_fused *f, uint32_t step, const lz_low_node *base)
{
    const lz_group *g = f->steps.data[step].group;
    const lz_low_node *owner = lz_fused_owner(f, base);
    for (size_t i = 0; i < g->stores.len; i++)
        if (g->stores.data[i].target == owner)
            return true;
    return false;
}

static bool reads_from(const lz_fused *f, uint32_t from, uint32_t to)
{
    const lz_group *h = f->steps.data[to].group;
    for (size_t i = 0; i < h->items.len; i++)
        if (h->items.data[i].view.base && writes(f, from, h->items.data[i].view.base))
            return true;
    return false;
}

/* *ok: every element that `to` reads from a buffer that `from` writes is read in the same iteration that
 * stores it, and no step has to run between the two. */
static lz_err *can_take(lz_fused *f, uint32_t from, uint32_t to, bool *ok)
{
    const lz_group *g = f->steps.data[from].group, *h = f->steps.data[to].group;
    *ok = true;
    for (size_t i = 0; *ok && i < h->items.len; i++) {
        const lz_group_item *it = &h->items.data[i];
        *ok = !it->view.base || !writes(f, from, it->view.base) || stored_at(g, h, it);
    }
    return *ok ? lz_fuse_can_join(f, from, to, true, ok) : NULL;
}

static void redirect(lz_group *g, uint32_t from, uint32_t to)
{
    for (size_t i = 0; i < g->items.len; i++)
        for (int k = 0; k < g->items.data[i].nin; k++)
            if (g->items.data[i].in[k] == from)
                g->items.data[i].in[k] = to;
}

/* Replaces loads of a buffer that the group itself stores by the stored item. */
static void take_stored(lz_group *g)
{
    for (uint32_t i = 0; i < g->items.len; i++) {
        const lz_group_store *s = g->items.data[i].load ? stored_at(g, g, &g->items.data[i]) : NULL;
        if (!s || s->item == i)
            continue;
        redirect(g, i, s->item);
        g->items.data[i] =
            g->items
                .data[s->item]; /* no item uses this one any more; equal items give one value of the kernel */
    }
}

/* Removes stores that only the group itself would have read. */
static void drop_stores(lz_fused *f, uint32_t step)
{
    lz_group *g = f->steps.data[step].group;
    const struct lz_fuse_lists *l = f->lists;
    size_t kept = 0;
    for (size_t i = 0; i < g->stores.len; i++) {
        const lz_low_node *t = g->stores.data[i].target;
        bool wanted = f->nodes[t->id].must || g->items.data[g->stores.data[i].item].node != t;
        for (uint32_t r = f->nodes[t->id].reader; r && !wanted; r = l->readers.data[r - 1].next)
            wanted = lz_fuse_step(f, l->readers.data[r - 1].step) != step;
        if (wanted)
            g->stores.data[kept++] = g->stores.data[i];
        else
            f->nodes[t->id].buffer = false;
    }
    g->stores.len = kept;
}

/* ---- a group without rows beside one with rows ---- */

/* Whether the loops of h are the loops of g without the row. */
static bool fits_outside(const lz_group *g, const lz_group *h)
{
    int k = 0;
    bool fits = g->row_known && !h->row_known && h->n_loops < g->n_loops;
    for (int l = 0; fits && l < g->n_loops; l++)
        if (!(g->row >> l & 1))
            fits = k < h->n_loops && g->extents[l] == h->extents[k++];
    return fits && k == h->n_loops;
}

/* Rewrites n index expressions of h for the loops of g; the factors of the row's loops are 0. */
static lz_err *spread_rows(lz_group *g, const lz_group *h, int64_t n, int64_t **rows)
{
    int64_t *wide;
    if (!*rows)
        return NULL;
    LZ_TRY(lz_group_rows(g, n, &wide));
    for (int64_t i = 0; i < n; i++) {
        const int64_t *from = *rows + i * lz_group_width(h);
        int64_t *to = wide + i * lz_group_width(g);
        *to = *from++;
        for (int l = 0; l < g->n_loops; l++)
            to[1 + l] = g->row >> l & 1 ? 0 : *from++;
    }
    *rows = wide;
    return NULL;
}

static lz_err *spread_all(lz_group *g, const lz_group *h, lz_group *out)
{
    LZ_TRY(lz_vec_reserve(&out->items, h->items.len));
    LZ_TRY(lz_vec_reserve(&out->masks, h->masks.len));
    LZ_TRY(lz_vec_reserve(&out->stores, h->stores.len));
    for (size_t i = 0; i < h->items.len; i++) {
        lz_group_item it = h->items.data[i];
        LZ_TRY(spread_rows(g, h, it.node->ndim, &it.rows));
        out->items.data[out->items.len++] = it;
    }
    for (size_t i = 1; i < h->masks.len; i++) {
        lz_group_condition m = h->masks.data[i];
        LZ_TRY(spread_rows(g, h, 1, &m.row));
        out->masks.data[out->masks.len++] = m;
    }
    for (size_t i = 0; i < h->stores.len; i++) {
        lz_group_store s = h->stores.data[i];
        LZ_TRY(spread_rows(g, h, 1, &s.row));
        out->stores.data[out->stores.len++] = s;
    }
    return NULL;
}

/* *out: the group h over the loops of g. */
static lz_err *spread(lz_group *g, const lz_group *h, lz_group **out)
{
    lz_group *w;
    LZ_TRY(lz_arena_new(g->arena, &w, 1));
    LZ_TRY(lz_group_init(w, g->arena));
    w->n_loops = g->n_loops;
    memcpy(w->extents, g->extents, sizeof w->extents);
    w->n_loads = h->n_loads;
    lz_err *e = spread_all(g, h, w);
    if (e)
        lz_group_deinit(w);
    else
        *out = w;
    return e;
}

/* ---- merging ---- */

/* *ok: one group loads what the other stores (*taken), or both load a common buffer and neither depends on
 * the other. */
static lz_err *belong_together(lz_fused *f, uint32_t a, uint32_t b, bool *taken, bool *ok)
{
    bool ab = reads_from(f, a, b);
    *taken = ab || reads_from(f, b, a);
    *ok = false;
    if (*taken)
        return ab ? can_take(f, a, b, ok) : can_take(f, b, a, ok);
    bool shared = shares_load(&f->steps.data[a], &f->steps.data[b]);
    return shared ? lz_fuse_can_join(f, a, b, false, ok) : NULL;
}

static lz_err *merge(lz_fused *f, uint32_t a, uint32_t b, bool taken)
{
    lz_group *x = f->steps.data[a].group;
    LZ_TRY(append(x, f->steps.data[b].group));
    lz_fuse_joined(f, a, b);
    if (taken) {
        take_stored(x);
        drop_stores(f, a);
    }
    return NULL;
}

/* Merges two groups over the same loops if that is allowed and useful. */
static lz_err *try_merge(lz_fused *f, uint32_t a, uint32_t b, bool *merged)
{
    bool taken;
    *merged = false;
    if (!has_room(f, f->steps.data[a].group, f->steps.data[b].group))
        return NULL;
    LZ_TRY(belong_together(f, a, b, &taken, merged));
    return *merged ? merge(f, a, b, taken) : NULL;
}

/* Merges a group `inner` that lacks the row loops of the other group. Only useful if one group loads what
 * the other stores. */
static lz_err *try_outside(lz_fused *f, uint32_t a, uint32_t b, uint32_t inner, bool *merged)
{
    lz_group *own = f->steps.data[inner].group, *wide;
    *merged = false;
    if (!reads_from(f, a, b) && !reads_from(f, b, a))
        return NULL;
    LZ_TRY(spread(f->steps.data[inner == a ? b : a].group, own, &wide));
    f->steps.data[inner].group = wide;
    lz_err *e = try_merge(f, a, b, merged);
    if (!*merged)
        f->steps.data[inner].group = own;
    lz_group_deinit(*merged ? own : wide);
    return e;
}

static lz_err *try_pair(lz_fused *f, uint32_t a, uint32_t b, int *left, bool *merged)
{
    const lz_group *x = f->steps.data[a].group, *y = f->steps.data[b].group;
    bool same = same_loops(x, y), outside = fits_outside(x, y), inside = fits_outside(y, x);
    *merged = false;
    *left -= same || outside || inside;
    if (same)
        return try_merge(f, a, b, merged);
    return outside || inside ? try_outside(f, a, b, outside ? b : a, merged) : NULL;
}

static bool can_move(const lz_fused_step *s)
{
    return s->group && !s->group->merged && !s->waited_for && s->after == LZ_NO_STEP;
}

/* Replaces merged steps in the lists, so that later passes need not follow `into`. */
static void name_final_steps(lz_fused *f)
{
    struct lz_fuse_lists *l = f->lists;
    for (size_t i = 0; i < l->writers.len; i++)
        l->writers.data[i].step = lz_fuse_step(f, l->writers.data[i].step);
    for (size_t i = 0; i < l->readers.len; i++)
        l->readers.data[i].step = lz_fuse_step(f, l->readers.data[i].step);
}

/* Compares each group with the nearest earlier groups over the same loops. After a merge the search starts
 * again from the merged group. */
lz_err *lz_fuse_siblings(lz_fused *f)
{
    enum { NEAR = 8, BACK = 256 };
    bool merged;
    for (uint32_t i = 1; i < f->steps.len; i++) {
        int left = NEAR;
        uint32_t b = i, end = i > BACK ? i - BACK : 0;
        for (uint32_t a = b; can_move(&f->steps.data[b]) && a-- > end && left > 0;) {
            if (!can_move(&f->steps.data[a]))
                continue;
            LZ_TRY(try_pair(f, a, b, &left, &merged));
            left = merged ? NEAR : left;
            b = merged ? a : b;
        }
    }
    name_final_steps(f);
    return NULL;
}
