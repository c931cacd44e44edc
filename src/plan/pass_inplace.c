/* The pass "inplace". Requires groups and calls in their order (fuse.h), and launches made
 * of them (plan_impl.h); keeps what they compute. First copies of what nobody reads again
 * go: the copy is then another name of the same buffer. Then results are put where
 * operands lay that die in the same launch: temporaries into temporaries, outputs into
 * inputs, should their owner give them away. */
#include "core/shape.h"
#include "plan/plan_impl.h"
#include <string.h>

/* ---- copies ---- */

typedef struct lives {
    lz_fused *f;
    uint32_t *first, *last; /* 1 + place in the order; 0: nobody touches it. Of nodes that own a buffer */
    bool *kept;             /* it is an output */
    uint32_t at;
} lives;

static bool touch(void *user, const lz_ln *base)
{
    lives *l = user;
    uint32_t id = lz_fused_owner(l->f, base)->id;
    l->first[id] = l->first[id] ? l->first[id] : l->at;
    l->last[id] = l->at;
    return true;
}

static void find_lives(lives *l)
{
    for (uint32_t i = 0; i < l->f->order.len; i++) {
        const lz_step *s = &l->f->steps.data[l->f->order.data[i]];
        l->at = i + 1;
        lz_step_reads(s, touch, l);
        if (s->call)
            touch(l, s->call->target);
        for (size_t k = 0; s->group && k < s->group->stores.len; k++)
            touch(l, s->group->stores.data[k].target);
    }
}

/* The load that a stored item is, itself or looked at; NULL: it is computed. */
static const lz_gitem *loaded(const lz_group *g, uint32_t item)
{
    const lz_gitem *it = &g->items.data[item];
    while (!it->load && it->nin == 1 && (it->node->kind == LZ_L_INDEX || it->node->kind == LZ_L_RESHAPE))
        it = &g->items.data[it->in[0]];
    return it->load && !it->mask ? it : NULL;
}

/* Loads and stores the same addresses, which are all there are. */
static bool is_copy(const lz_group *g, const lz_ln **from, const lz_ln **to)
{
    int64_t row[1 + LZ_GROUP_LOOPS];
    const lz_gitem *it = g->stores.len == 1 ? loaded(g, g->stores.data[0].item) : NULL;
    if (!it || g->stores.data[0].start)
        return false;
    *from = it->view.base;
    *to = g->stores.data[0].target;
    lz_item_address(g, it, &it->view, row);
    uint64_t loops = lz_rows_loops(g, row, 1) | lz_rows_loops(g, g->stores.data[0].row, 1);
    bool same = row[0] == g->stores.data[0].row[0];
    for (int l = 0; same && l < g->n_loops; l++)
        same = !(loops >> l & 1) || row[1 + l] == g->stores.data[0].row[1 + l];
    return same && (*from)->numel == (*to)->numel && (*from)->dtype == (*to)->dtype
           && lz_group_covers(g, row, (*to)->numel, loops);
}

static bool drops(lives *l, uint32_t i)
{
    const lz_step *s = &l->f->steps.data[l->f->order.data[i]];
    const lz_ln *from, *to;
    if (!s->group || !is_copy(s->group, &from, &to) || from->kind == LZ_L_INPUT)
        return false;
    from = lz_fused_owner(l->f, from);
    if (lz_fused_owner(l->f, to) != to || from == to || from->numel != to->numel || l->kept[from->id]
        || l->last[from->id] != i + 1 || l->first[to->id] != i + 1)
        return false;
    l->f->nodes[to->id].alias = from;
    l->last[from->id] = l->last[to->id];
    l->kept[from->id] = l->kept[to->id];
    return true;
}

lz_err *lz_fused_drop_copies(lz_fused *f, const lz_ln *const *outputs, size_t n)
{
    lives l = { .f = f };
    size_t all = f->dag->n_nodes + 1, kept = 0;
    LZ_TRY(lz_arena_new(f->arena, &l.first, all));
    LZ_TRY(lz_arena_new(f->arena, &l.last, all));
    LZ_TRY(lz_arena_new(f->arena, &l.kept, all));
    for (size_t i = 0; i < n; i++)
        l.kept[lz_fused_owner(f, outputs[i])->id] = true;
    find_lives(&l);
    for (uint32_t i = 0; i < f->order.len; i++)
        if (!drops(&l, i))
            f->order.data[kept++] = f->order.data[i];
    f->order.len = kept;
    return NULL;
}

/* ---- results in the memory of what dies ---- */

typedef struct counter {
    uint32_t buffer, n;
} counter;

static bool count_access(void *user, lz_paccess *a)
{
    counter *c = user;
    c->n += a->buffer == c->buffer;
    return true;
}

static bool is_sole(lz_plaunch *l, uint32_t buffer)
{
    counter c = { buffer, 0 };
    lz_plaunch_accesses(l, count_access, &c);
    return c.n == 1;
}

static bool same_place(const lz_plaunch *l, const lz_paccess *a, const lz_paccess *b)
{
    bool same = a->offset == b->offset && !a->step && !b->step;
    for (int i = 0; same && i < l->n_outer + l->n_row; i++)
        same = a->strides[i] == b->strides[i];
    return same;
}

/* As much memory of the right kind. Of an input only its owner knows how much there is: the run
 * asks. */
static bool fits(const lz_pbuffer *from, lz_pbuffer_kind kind, const lz_pbuffer *to)
{
    bool input = kind == LZ_PB_INPUT;
    return from->kind == kind && (input ? to->kind == LZ_PB_OUTPUT : from->bytes == to->bytes)
           && from->item == to->item;
}

/* A load of that kind whose place the store can take; LZ_NO_BUFFER: none. */
static uint32_t find_dying(lz_plan *p, uint32_t i, int st, lz_pbuffer_kind kind, const bool *taken)
{
    lz_plaunch *l = &p->launches[i];
    const lz_paccess *to = &l->access[st];
    for (int ld = 0; ld < (int)l->n_access; ld++) {
        const lz_paccess *from = &l->access[ld];
        if (from->store || from->buffer == LZ_NO_BUFFER || taken[from->buffer])
            continue;
        const lz_pbuffer *b = &p->buffers[from->buffer];
        if (fits(b, kind, &p->buffers[to->buffer]) && b->last == i && is_sole(l, from->buffer)
            && same_place(l, from, to) && lz_kernel_in_place(l->kernel, ld, st))
            return from->buffer;
    }
    return LZ_NO_BUFFER;
}

/* A temporary whose place an output takes lies where the output will. */
static void share(lz_plan *p, uint32_t from, uint32_t to)
{
    uint32_t root = lz_plan_root(p, from);
    if (p->buffers[from].kind == LZ_PB_INPUT || p->buffers[to].kind == LZ_PB_TEMP)
        p->buffers[to].shares = from;
    else if (p->buffers[root].kind == LZ_PB_TEMP)
        p->buffers[root].shares = to;
}

/* Inputs first: what they give has not to be taken. */
static void share_in_launch(lz_plan *p, uint32_t i, bool *taken)
{
    lz_plaunch *l = &p->launches[i];
    for (int st = 0; st < (int)l->n_access; st++) {
        uint32_t to = l->access[st].buffer;
        if (!l->access[st].store || p->buffers[to].first != i || !is_sole(l, to))
            continue;
        uint32_t from = find_dying(p, i, st, LZ_PB_INPUT, taken);
        from = from != LZ_NO_BUFFER ? from : find_dying(p, i, st, LZ_PB_TEMP, taken);
        if (from == LZ_NO_BUFFER)
            continue;
        taken[from] = true;
        share(p, from, to);
    }
}

lz_err *lz_plan_in_place(lz_plan *p)
{
    lz_arena scratch;
    bool *taken = NULL;
    lz_arena_init(&scratch);
    lz_plan_find_lives(p);
    lz_err *e = lz_arena_new(&scratch, &taken, p->n_buffers + 1);
    for (uint32_t i = 0; !e && i < p->n_launches; i++)
        share_in_launch(p, i, taken);
    lz_arena_deinit(&scratch);
    return e;
}
