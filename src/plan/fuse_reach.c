/* Finds out which steps must run before which. A search starts at a step and visits the steps that write
 * what it reads, and so on. The search skips every step that stands before all wanted steps in the order.
 * If a search shows that two steps can change places, the order is updated. */
#include "plan/fuse_impl.h"
#include <stdlib.h>

uint32_t lz_fuse_step(lz_fused *f, uint32_t step)
{
    lz_fused_step *all = f->steps.data;
    for (uint32_t up; (up = all[step].into) != LZ_NO_STEP; step = up)
        all[step].into = all[up].into != LZ_NO_STEP ? all[up].into : up;
    return step;
}

/* A new step stands first: no step that writes its operands exists yet. */
lz_err *lz_fuse_add_step(lz_fused *f, lz_fused_step s, uint32_t *out)
{
    s.after = s.into = LZ_NO_STEP;
    LZ_TRY(lz_order_add_first(&f->lists->places, &s.place));
    *out = (uint32_t)f->steps.len;
    return lz_vec_push(&f->steps, s);
}

/* ---- searching ---- */

typedef struct search {
    lz_fused *f;
    uint32_t first; /* the first wanted step in the order */
    size_t left;    /* how many more steps the search may visit */
    lz_err *error;
    bool found;
    bool direct; /* steps met now may be met again through other steps */
} search;

static search begin(lz_fused *f)
{
    enum { PATIENCE = 4000 };
    struct lz_fuse_lists *l = f->lists;
    l->stamp++;
    l->stack.len = l->seen.len = 0;
    return (search){ .f = f, .first = LZ_NO_STEP, .left = PATIENCE };
}

static bool is_before(const lz_fused *f, uint32_t a, uint32_t b)
{
    return lz_order_less(&f->lists->places, f->steps.data[a].place, f->steps.data[b].place);
}

static void want(search *s, uint32_t step)
{
    s->f->steps.data[step].wanted = s->f->lists->stamp;
    s->first = s->first == LZ_NO_STEP || is_before(s->f, step, s->first) ? step : s->first;
}

/* Counts a visit. When the limit is reached the search ends as if it had found a wanted step. */
static bool spend(search *s)
{
    s->f->lists->met++;
    s->found = s->found || s->left == 0;
    s->left -= s->left > 0;
    return !s->found;
}

static bool meet_step(search *s, uint32_t step)
{
    struct lz_fuse_lists *l = s->f->lists;
    lz_fused_step *t = &s->f->steps.data[step];
    if (t->seen == l->stamp || is_before(s->f, step, s->first))
        return true;
    t->seen = l->stamp;
    s->found = t->wanted == l->stamp;
    s->error = s->found ? NULL : lz_vec_push(&l->stack, step);
    if (!s->error)
        s->error = lz_vec_push(&l->seen, step);
    return !s->found && !s->error;
}

static bool meet_writers(void *user, const lz_low_node *base)
{
    search *s = user;
    const struct lz_fuse_lists *l = s->f->lists;
    lz_fused_node *n = &s->f->nodes[lz_fused_owner(s->f, base)->id];
    bool early =
        n->writers_end && lz_order_less(&l->places, n->writers_end - 1, s->f->steps.data[s->first].place);
    if (n->seen == l->stamp || early)
        return true;
    n->seen = s->direct ? 0 : l->stamp;
    for (uint32_t w = n->writer; w; w = l->writers.data[w - 1].next)
        if (!spend(s) || !meet_step(s, lz_fuse_step(s->f, l->writers.data[w - 1].step)))
            return false;
    return true;
}

static bool meet_earlier(search *s, const lz_fused_step *t)
{
    bool go = t->after == LZ_NO_STEP || meet_step(s, lz_fuse_step(s->f, t->after));
    return go && lz_fused_step_reads(t, meet_writers, s);
}

/* Visits the steps on the stack until it finds a wanted step. */
static lz_err *search_all(search *s)
{
    struct lz_fuse_lists *l = s->f->lists;
    bool go = !s->found && !s->error;
    while (go && l->stack.len > 0)
        go = meet_earlier(s, &s->f->steps.data[l->stack.data[--l->stack.len]]);
    return s->error;
}

/* ---- moving ---- */

typedef struct placed {
    uint64_t label;
    uint32_t step;
} placed;

static int by_label(const void *a, const void *b)
{
    const placed *x = a, *y = b;
    return (x->label > y->label) - (x->label < y->label);
}

/* Moves all steps that the search met directly before `at`, in the order that they had. */
static lz_err *move_seen_before(lz_fused *f, uint32_t at)
{
    struct lz_fuse_lists *l = f->lists;
    lz_arena_mark mark = lz_arena_save(f->arena);
    placed *all;
    LZ_TRY(lz_arena_new(f->arena, &all, l->seen.len + 1));
    for (size_t i = 0; i < l->seen.len; i++) {
        uint32_t step = l->seen.data[i];
        all[i] = (placed){ l->places.items.data[f->steps.data[step].place].label, step };
    }
    qsort(all, l->seen.len, sizeof *all, by_label);
    for (size_t i = 0; i < l->seen.len; i++)
        lz_order_move_before(&l->places, f->steps.data[all[i].step].place, f->steps.data[at].place);
    lz_arena_rewind(f->arena, mark);
    return NULL;
}

/* ---- questions ---- */

lz_err *lz_fuse_can_write_first(lz_fused *f, const lz_low_node *n, uint32_t host, bool *ok)
{
    const struct lz_fuse_lists *l = f->lists;
    search s = begin(f);
    for (uint32_t d = lz_fused_node_of(f, n)->demand; d; d = l->demands.data[d - 1].next)
        if (l->demands.data[d - 1].step != host)
            want(&s, l->demands.data[d - 1].step);
    for (uint32_t r = lz_fused_node_of(f, n)->reader; r; r = l->readers.data[r - 1].next)
        want(&s, l->readers.data[r - 1].step);
    *ok = s.first == LZ_NO_STEP || is_before(f, host, s.first);
    if (*ok)
        return NULL;
    meet_step(&s, host);
    LZ_TRY(search_all(&s));
    *ok = !s.found;
    return *ok ? move_seen_before(f, s.first) : NULL;
}

lz_err *lz_fuse_reaches(lz_fused *f, uint32_t a, uint32_t b, bool *out)
{
    search s = begin(f);
    want(&s, a);
    meet_step(&s, b);
    LZ_TRY(search_all(&s));
    *out = s.found;
    return NULL;
}

lz_err *lz_fuse_can_join(lz_fused *f, uint32_t a, uint32_t b, bool direct, bool *ok)
{
    uint32_t early = is_before(f, a, b) ? a : b, late = early == a ? b : a;
    search s = begin(f);
    want(&s, early);
    s.direct = direct;
    if (direct)
        f->steps.data[early].seen =
            f->lists->stamp; /* so that the search does not report the direct dependence */
    bool go = meet_earlier(&s, &f->steps.data[late]);
    s.direct = false;
    if (direct)
        f->steps.data[early].seen = 0;
    if (go)
        LZ_TRY(search_all(&s));
    LZ_TRY(s.error);
    *ok = !s.found;
    return *ok ? move_seen_before(f, early) : NULL;
}

void lz_fuse_joined(lz_fused *f, uint32_t a, uint32_t b)
{
    lz_order_list *places = &f->lists->places;
    uint32_t *x = &f->steps.data[a].place, y = f->steps.data[b].place;
    if (lz_order_less(places, y, *x))
        lz_order_move_before(places, *x, y);
    f->steps.data[b].into = a;
}
