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

lz_err *lz_fuse_reaches_around(lz_fused *f, uint32_t a, uint32_t b, bool *out)
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
