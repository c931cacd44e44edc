#include "base/map.h"
#include "core/shape.h"
#include "exec/fuse_impl.h"
#include <string.h>

/* ---- who reads what ---- */

bool lz_step_reads(const lz_step *s, lz_read_fn *fn, void *user)
{
    if (s->call) {
        for (int i = 0; i < s->call->node->nin; i++)
            if (!fn(user, s->call->in[i].base))
                return false;
        return true;
    }
    for (size_t i = 0; i < s->group->items.len; i++) {
        const lz_gitem *it = &s->group->items.data[i];
        if (it->view.base && !fn(user, it->view.base))
            return false;
    }
    return true;
}

/* ---- reachability ---- */

typedef struct search {
    lz_fused *f;
    lz_err *error;
} search;

static bool push_step(search *s, uint32_t step)
{
    lz_step *t = &s->f->steps.data[step];
    if (t->stamp == s->f->lists->stamp)
        return true;
    t->stamp = s->f->lists->stamp;
    s->error = lz_vec_push(&s->f->lists->stack, step);
    return !s->error;
}

static bool push_writers(void *user, const lz_ln *base)
{
    search *s = user;
    const struct lz_fuse_lists *l = s->f->lists;
    const lz_ln *owner = lz_fused_owner(s->f, base);
    for (uint32_t w = s->f->nodes[owner->id].writer; w; w = l->writers.data[w - 1].next)
        if (!push_step(s, l->writers.data[w - 1].step))
            return false;
    return true;
}

static void begin_search(lz_fused *f)
{
    f->lists->stamp++;
    f->lists->stack.len = 0;
}

/* Whether a is among what has been pushed, or has to run before it. */
static lz_err *search_for(search *s, uint32_t a, bool *out)
{
    enum { PATIENCE = 2000 };
    struct lz_fuse_lists *l = s->f->lists;
    int left = PATIENCE;
    *out = false;
    while (!s->error && l->stack.len > 0 && !*out) {
        uint32_t step = l->stack.data[--l->stack.len];
        *out = step == a || left-- == 0;
        const lz_step *t = &s->f->steps.data[step];
        if (t->after != LZ_NO_STEP)
            push_step(s, t->after);
        if (!s->error)
            lz_step_reads(t, push_writers, s);
    }
    return s->error;
}

lz_err *lz_fuse_reaches(lz_fused *f, uint32_t a, uint32_t b, bool *out)
{
    search s = { f, NULL };
    begin_search(f);
    push_step(&s, b);
    return search_for(&s, a, out);
}

/* The same, but for what b reads directly from a. */
static lz_err *reaches_around(lz_fused *f, uint32_t a, uint32_t b, bool *out)
{
    struct lz_fuse_lists *l = f->lists;
    search s = { f, NULL };
    const lz_step *t = &f->steps.data[b];
    begin_search(f);
    f->steps.data[a].stamp = l->stamp; /* not to be looked at now */
    if (t->after != LZ_NO_STEP)
        push_step(&s, t->after);
    if (!s.error)
        lz_step_reads(t, push_writers, &s);
    f->steps.data[a].stamp = 0;
    return s.error ? s.error : search_for(&s, a, out);
}

/* ---- siblings ---- */

static bool same_loops(const lz_group *a, const lz_group *b)
{
    bool loops =
        a->n_loops == b->n_loops && !memcmp(a->extents, b->extents, (size_t)a->n_loops * sizeof *a->extents);
    return loops && (!a->row_known || !b->row_known || (a->row == b->row && a->columns == b->columns));
}

static bool is_among(void *user, const lz_ln *base)
{
    const lz_ln *wanted = *(const lz_ln *const *)user;
    return wanted != base; /* found: stop */
}

static bool shares_load(const lz_step *a, const lz_step *b)
{
    for (size_t i = 0; i < a->group->items.len; i++) {
        const lz_ln *base = a->group->items.data[i].view.base;
        if (base && base->numel > 1 && !lz_step_reads(b, is_among, &base))
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
        lz_gitem it = b->items.data[i];
        it.mask += it.mask ? masks : 0;
        for (int k = 0; k < it.nin; k++) {
            it.in[k] += items;
            it.in_mask[k] += it.in_mask[k] ? masks : 0;
        }
        a->items.data[a->items.len++] = it;
    }
    for (size_t i = 1; i < b->masks.len; i++) {
        lz_gmask m = b->masks.data[i];
        m.parent += m.parent ? masks : 0;
        a->masks.data[a->masks.len++] = m;
    }
    for (size_t i = 0; i < b->stores.len; i++) {
        lz_gstore s = b->stores.data[i];
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

/* What b writes and reads is written and read by a from now on. */
static void hand_over(lz_fused *f, uint32_t a, uint32_t b)
{
    for (size_t i = 0; i < f->lists->writers.len; i++)
        if (f->lists->writers.data[i].step == b)
            f->lists->writers.data[i].step = a;
    for (size_t i = 0; i < f->lists->readers.len; i++)
        if (f->lists->readers.data[i].step == b)
            f->lists->readers.data[i].step = a;
}

/* ---- a group that takes what another one stores ---- */

/* The item of g that stores all of `base` where `it` of the group h loads it; NULL: none. */
static const lz_gstore *stored_at(const lz_group *g, const lz_group *h, const lz_gitem *it)
{
    int64_t row[1 + LZ_GROUP_LOOPS];
    for (size_t i = 0; i < g->stores.len; i++) {
        const lz_gstore *s = &g->stores.data[i];
        if (s->target != it->view.base || g->items.data[s->item].node != s->target || it->mask || !it->load)
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

static bool writes(const lz_fused *f, uint32_t step, const lz_ln *base)
{
    const struct lz_fuse_lists *l = f->lists;
    for (uint32_t w = f->nodes[lz_fused_owner(f, base)->id].writer; w; w = l->writers.data[w - 1].next)
        if (l->writers.data[w - 1].step == step)
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

/* Whatever `to` reads of what `from` writes, it reads at the place where it is stored; and
 * nobody comes in between. */
static lz_err *can_take(lz_fused *f, uint32_t from, uint32_t to, bool *ok)
{
    const lz_group *g = f->steps.data[from].group, *h = f->steps.data[to].group;
    bool around;
    *ok = true;
    for (size_t i = 0; *ok && i < h->items.len; i++) {
        const lz_gitem *it = &h->items.data[i];
        *ok = !it->view.base || !writes(f, from, it->view.base) || stored_at(g, h, it);
    }
    if (!*ok)
        return NULL;
    LZ_TRY(reaches_around(f, from, to, &around));
    *ok = !around;
    return NULL;
}

static void redirect(lz_group *g, uint32_t from, uint32_t to)
{
    for (size_t i = 0; i < g->items.len; i++)
        for (int k = 0; k < g->items.data[i].nin; k++)
            if (g->items.data[i].in[k] == from)
                g->items.data[i].in[k] = to;
}

/* Loads of what the group itself stores become what is stored. */
static void take_stored(lz_group *g)
{
    for (uint32_t i = 0; i < g->items.len; i++) {
        const lz_gstore *s = g->items.data[i].load ? stored_at(g, g, &g->items.data[i]) : NULL;
        if (!s || s->item == i)
            continue;
        redirect(g, i, s->item);
        g->items.data[i] = g->items.data[s->item]; /* nobody's; the kernel has it once */
    }
}

/* A store that only the group itself would have read. */
static void drop_stores(lz_fused *f, uint32_t step)
{
    lz_group *g = f->steps.data[step].group;
    const struct lz_fuse_lists *l = f->lists;
    size_t kept = 0;
    for (size_t i = 0; i < g->stores.len; i++) {
        const lz_ln *t = g->stores.data[i].target;
        bool wanted = f->nodes[t->id].must || g->items.data[g->stores.data[i].item].node != t;
        for (uint32_t r = f->nodes[t->id].reader; r && !wanted; r = l->readers.data[r - 1].next)
            wanted = l->readers.data[r - 1].step != step;
        if (wanted)
            g->stores.data[kept++] = g->stores.data[i];
        else
            f->nodes[t->id].buffer = false;
    }
    g->stores.len = kept;
}

/* One takes what the other stores, or both load the same and neither waits for the other. */
static lz_err *belong_together(lz_fused *f, uint32_t a, uint32_t b, bool *taken, bool *ok)
{
    bool ab = reads_from(f, a, b), ordered = true;
    *taken = ab || reads_from(f, b, a);
    *ok = false;
    if (*taken)
        return ab ? can_take(f, a, b, ok) : can_take(f, b, a, ok);
    if (!shares_load(&f->steps.data[a], &f->steps.data[b]))
        return NULL;
    LZ_TRY(lz_fuse_reaches(f, a, b, &ordered));
    if (!ordered)
        LZ_TRY(lz_fuse_reaches(f, b, a, &ordered));
    *ok = !ordered;
    return NULL;
}

static lz_err *try_merge(lz_fused *f, uint32_t a, uint32_t b, bool *merged)
{
    lz_step *x = &f->steps.data[a], *y = &f->steps.data[b];
    bool taken;
    *merged = false;
    if (!same_loops(x->group, y->group) || !has_room(f, x->group, y->group) || x->after != LZ_NO_STEP
        || y->after != LZ_NO_STEP)
        return NULL;
    LZ_TRY(belong_together(f, a, b, &taken, merged));
    if (!*merged)
        return NULL;
    LZ_TRY(append(x->group, y->group));
    hand_over(f, a, b);
    if (taken) {
        take_stored(x->group);
        drop_stores(f, a);
    }
    return NULL;
}

/* Each group is compared with the last few over loops of the same extents. */
lz_err *lz_fuse_siblings(lz_fused *f)
{
    enum { NEAR = 8, MOST = 4096 };
    bool merged;
    if (f->steps.len > MOST) /* whoever makes that many has other worries */
        return NULL;
    for (uint32_t b = 1; b < f->steps.len; b++) {
        if (!f->steps.data[b].group || f->steps.data[b].waited_for)
            continue;
        int left = NEAR;
        for (uint32_t a = b; a-- > 0 && left > 0;) {
            const lz_step *s = &f->steps.data[a];
            if (!s->group || s->group->merged || s->waited_for
                || !same_loops(s->group, f->steps.data[b].group))
                continue;
            left--;
            LZ_TRY(try_merge(f, a, b, &merged));
            if (merged)
                break;
        }
    }
    return NULL;
}

/* ---- order ---- */

typedef struct sorter {
    lz_fused *f;
    bool *done;
    uint32_t step;
    bool pushed;
} sorter;

/* Depth first, in the order of the steps reversed: the last made is the first needed. */
static bool find_unfinished(void *user, const lz_ln *base)
{
    sorter *s = user;
    struct lz_fuse_lists *l = s->f->lists;
    const lz_ln *owner = lz_fused_owner(s->f, base);
    for (uint32_t w = s->f->nodes[owner->id].writer; w; w = l->writers.data[w - 1].next) {
        uint32_t step = l->writers.data[w - 1].step;
        if (s->done[step] || step == s->step)
            continue;
        l->stack.data[l->stack.len++] = step;
        s->pushed = true;
        return false;
    }
    return true;
}

static lz_err *place(sorter *s, uint32_t root)
{
    struct lz_fuse_lists *l = s->f->lists;
    l->stack.len = 0;
    l->stack.data[l->stack.len++] = root;
    while (l->stack.len > 0) {
        s->step = l->stack.data[l->stack.len - 1];
        const lz_step *t = &s->f->steps.data[s->step];
        s->pushed = false;
        if (s->done[s->step]) {
            l->stack.len--;
            continue;
        }
        if (l->stack.len > s->f->steps.len)
            return lz_errf(LZ_ERR_INTERNAL, "groups wait for each other");
        if (t->after != LZ_NO_STEP && !s->done[t->after]) {
            l->stack.data[l->stack.len++] = t->after;
            continue;
        }
        lz_step_reads(t, find_unfinished, s);
        if (s->pushed)
            continue;
        l->stack.len--;
        s->done[s->step] = true;
        if (!t->group || !t->group->merged)
            s->f->order.data[s->f->order.len++] = s->step;
    }
    return NULL;
}

lz_err *lz_fuse_order(lz_fused *f)
{
    sorter s = { .f = f };
    f->lists->stack.len = 0;
    LZ_TRY(lz_vec_reserve(&f->lists->stack, f->steps.len + 2));
    LZ_TRY(lz_vec_reserve(&f->order, f->steps.len + 1));
    LZ_TRY(lz_arena_new(f->arena, &s.done, f->steps.len + 1));
    for (uint32_t i = (uint32_t)f->steps.len; i-- > 0;)
        LZ_TRY(place(&s, i));
    return NULL;
}
