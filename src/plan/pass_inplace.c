/* The pass "inplace". Requires groups and calls in their order (fuse.h), and launches made from them
 * (plan_impl.h). Keeps what the launches compute. First removes copies whose source is not read
 * afterwards: source and copy then share one buffer. Then a result takes the memory of an operand that no
 * later launch reads: temporaries take the memory of temporaries, outputs that of inputs, if the caller
 * donates the inputs. */
#include "core/shape.h"
#include "plan/plan_impl.h"
#include <string.h>

/* ---- copies ---- */

typedef struct lives {
    lz_fused *f;
    uint32_t *first,
        *last;  /* by node that owns a buffer: 1 + place in the order; 0: no step uses the buffer */
    bool *kept; /* by node: the buffer is an output */
    uint32_t at;
} lives;

static bool touch(void *user, const lz_low_node *base)
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
        const lz_fused_step *s = &l->f->steps.data[l->f->order.data[i]];
        l->at = i + 1;
        lz_fused_step_reads(s, touch, l);
        if (s->call)
            touch(l, s->call->target);
        for (size_t k = 0; s->group && k < s->group->stores.len; k++)
            touch(l, s->group->stores.data[k].target);
    }
}

/* The load whose elements a stored item has, directly or through index maps; NULL: the item is computed. */
static const lz_group_item *loaded(const lz_group *g, uint32_t item)
{
    const lz_group_item *it = &g->items.data[item];
    while (!it->load && it->nin == 1 && (it->node->kind == LZ_LOW_INDEX || it->node->kind == LZ_LOW_RESHAPE))
        it = &g->items.data[it->in[0]];
    return it->load && !it->mask ? it : NULL;
}

/* Whether the group only copies `from` to `to`: it loads and stores the same addresses, and these are all
 * elements. */
static bool is_copy(const lz_group *g, const lz_low_node **from, const lz_low_node **to)
{
    int64_t row[1 + LZ_GROUP_LOOPS];
    const lz_group_item *it = g->stores.len == 1 ? loaded(g, g->stores.data[0].item) : NULL;
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
    const lz_fused_step *s = &l->f->steps.data[l->f->order.data[i]];
    const lz_low_node *from, *to;
    if (!s->group || !is_copy(s->group, &from, &to) || from->kind == LZ_LOW_INPUT)
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

lz_err *lz_fused_drop_copies(lz_fused *f, const lz_low_node *const *outputs, size_t n)
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

/* ---- results in the memory of operands ---- */

typedef struct counter {
    uint32_t buffer, n;
} counter;

static bool count_access(void *user, lz_plan_access *a)
{
    counter *c = user;
    c->n += a->buffer == c->buffer;
    return true;
}

static bool is_sole(lz_plan_launch *l, uint32_t buffer)
{
    counter c = { buffer, 0 };
    lz_plan_launch_accesses(l, count_access, &c);
    return c.n == 1;
}

static bool same_place(const lz_plan_launch *l, const lz_plan_access *a, const lz_plan_access *b)
{
    bool same = a->offset == b->offset && !a->step && !b->step;
    for (int i = 0; same && i < l->n_outer + l->n_row; i++)
        same = a->strides[i] == b->strides[i];
    return same;
}

/* Whether the memory of `from` has the right kind and size for `to`. The size of an input's memory is
 * known only in a run, which checks it. */
static bool fits(const lz_plan_buffer *from, lz_plan_buffer_kind kind, const lz_plan_buffer *to)
{
    bool input = kind == LZ_PLAN_BUFFER_INPUT;
    return from->kind == kind && (input ? to->kind == LZ_PLAN_BUFFER_OUTPUT : from->bytes == to->bytes)
           && from->item == to->item;
}

/* A load of a buffer of that kind that the store may overwrite: nothing reads the buffer afterwards.
 * LZ_NO_BUFFER: none. */
static uint32_t find_dying(lz_plan *p, uint32_t i, int st, lz_plan_buffer_kind kind, const bool *taken)
{
    lz_plan_launch *l = &p->launches[i];
    const lz_plan_access *to = &l->access[st];
    for (int ld = 0; ld < (int)l->n_access; ld++) {
        const lz_plan_access *from = &l->access[ld];
        if (from->store || from->buffer == LZ_NO_BUFFER || taken[from->buffer])
            continue;
        const lz_plan_buffer *b = &p->buffers[from->buffer];
        if (fits(b, kind, &p->buffers[to->buffer]) && b->last == i && is_sole(l, from->buffer)
            && same_place(l, from, to) && lz_kernel_in_place(l->kernel, ld, st))
            return from->buffer;
    }
    return LZ_NO_BUFFER;
}

/* Records that `to` uses the memory of `from`. If a temporary gives its memory to an output, the temporary
 * moves into the output's memory. */
static void share(lz_plan *p, uint32_t from, uint32_t to)
{
    uint32_t root = lz_plan_root(p, from);
    if (p->buffers[from].kind == LZ_PLAN_BUFFER_INPUT || p->buffers[to].kind == LZ_PLAN_BUFFER_TEMP)
        p->buffers[to].shares = from;
    else if (p->buffers[root].kind == LZ_PLAN_BUFFER_TEMP)
        p->buffers[root].shares = to;
}

/* Tries inputs before temporaries: memory from an input saves an allocation. */
static void share_in_launch(lz_plan *p, uint32_t i, bool *taken)
{
    lz_plan_launch *l = &p->launches[i];
    for (int st = 0; st < (int)l->n_access; st++) {
        uint32_t to = l->access[st].buffer;
        if (!l->access[st].store || p->buffers[to].first != i || !is_sole(l, to))
            continue;
        uint32_t from = find_dying(p, i, st, LZ_PLAN_BUFFER_INPUT, taken);
        from = from != LZ_NO_BUFFER ? from : find_dying(p, i, st, LZ_PLAN_BUFFER_TEMP, taken);
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
