/* The order in which groups and calls run. */
#include "base/map.h"
#include "core/shape.h"
#include "plan/fuse_impl.h"
#include <string.h>

/* ---- reads of a step ---- */

bool lz_fused_step_reads(const lz_fused_step *s, lz_read_fn *fn, void *user)
{
    if (s->call) {
        for (int i = 0; i < s->call->node->nin; i++)
            if (!fn(user, s->call->in[i].base))
                return false;
        return true;
    }
    for (size_t i = 0; i < s->group->items.len; i++) {
        const lz_group_item *it = &s->group->items.data[i];
        if (it->view.base && !fn(user, it->view.base))
            return false;
    }
    return true;
}

/* ---- order ---- */

typedef struct sorter {
    lz_fused *f;
    bool *done;
    uint32_t *left; /* by node: 1 + index of its first writer that may be unfinished */
    uint32_t step;
    bool pushed;
} sorter;

/* Finds a writer of `base` that is not in the order yet. Skips finished writers for good: `left` begins
 * behind them. */
static bool find_unfinished(void *user, const lz_low_node *base)
{
    sorter *s = user;
    struct lz_fuse_lists *l = s->f->lists;
    uint32_t *left = &s->left[lz_fused_owner(s->f, base)->id];
    while (*left && s->done[l->writers.data[*left - 1].step])
        *left = l->writers.data[*left - 1].next;
    for (uint32_t w = *left; w; w = l->writers.data[w - 1].next) {
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
        const lz_fused_step *t = &s->f->steps.data[s->step];
        s->pushed = false;
        if (s->done[s->step]) {
            l->stack.len--;
            continue;
        }
        if (l->stack.len > s->f->steps.len)
            return lz_errf(LZ_ERR_INTERNAL, "the steps of the plan depend on each other in a circle");
        if (t->after != LZ_NO_STEP && !s->done[t->after]) {
            l->stack.data[l->stack.len++] = t->after;
            continue;
        }
        lz_fused_step_reads(t, find_unfinished, s);
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
    LZ_TRY(lz_arena_new(f->arena, &s.left, f->dag->n_nodes + 1));
    for (uint32_t i = 0; i < f->dag->n_nodes; i++)
        s.left[i] = f->nodes[i].writer;
    for (uint32_t i = (uint32_t)f->steps.len; i-- > 0;)
        LZ_TRY(place(&s, i));
    return NULL;
}
