/* Orders launches so that those that write over inputs run after those that can fail. A run that fails
 * must leave its inputs unchanged, so donated memory may be written only when no launch can fail any more.
 * In a training step these late launches are the updates of the parameters. */
#include "plan/fuse_impl.h"

/* A matrix product and attention use memory that the plan takes before the first launch, so they cannot fail.
 * scatter needs no memory, and fails only if it checks its index. Other calls allocate memory. */
static bool can_fail(const lz_fused_call *c)
{
    const int64_t *params = c->node->attr;
    bool has_memory = c->node->op == LZ_CALL_MATMUL || c->node->op == LZ_CALL_ATTENTION
                      || c->node->op == LZ_CALL_ATTENTION_BACKWARD;
    return c->node->op == LZ_CALL_SCATTER ? params[2] != 0 : !has_memory;
}

const lz_low_node *lz_fused_step_risk(const lz_fused_step *s)
{
    if (s->call)
        return can_fail(s->call) ? s->call->node : NULL;
    for (size_t i = 0; i < s->group->items.len; i++) {
        const lz_low_node *n = s->group->items.data[i].node;
        bool divides = n->kind == LZ_LOW_MAP && lz_dtype_is_whole((lz_dtype)n->dtype)
                       && (n->op == LZ_KERNEL_IDIV || n->op == LZ_KERNEL_IDIV_FLOOR || n->op == LZ_KERNEL_FMOD
                           || n->op == LZ_KERNEL_REMAINDER);
        if (n->kind == LZ_LOW_CHECK || divides)
            return n;
    }
    return NULL;
}

/* A place is an index into the order before sorting. */
typedef struct sorter {
    lz_fused *f;
    bool *early;         /* by step: the step can fail, or a step that can fail depends on it */
    uint32_t *when;      /* by step: its own place, or the later place after which it has to run */
    lz_hash_table reads; /* read_input of each input, by slot */
    uint32_t at, last;   /* place of the current step; place of the last step that can fail, or 0 */
} sorter;

typedef struct read_input {
    lz_hash_entry slot;
    uint32_t last; /* 1 + the place of the last step that reads the input */
} read_input;

/* ---- last readers of inputs ---- */

static uint64_t slot_of(const lz_low_node *input)
{
    return (uint64_t)((const lz_low_input_attr *)input->attr)->slot;
}

static bool note_read(void *user, const lz_low_node *base)
{
    sorter *s = user;
    if (base->kind == LZ_LOW_INPUT)
        ((read_input *)lz_hash_table_get(&s->reads, slot_of(base)))->last = s->at + 1;
    return true;
}

static lz_err *find_reads(sorter *s)
{
    const lz_lower *dag = s->f->dag;
    read_input *x;
    for (uint32_t i = 0; i < dag->n_nodes; i++)
        if (dag->nodes[i]->kind == LZ_LOW_INPUT)
            LZ_TRY(lz_hash_table_entry(&s->reads, s->f->arena, slot_of(dag->nodes[i]), &x));
    for (s->at = 0; s->at < s->f->order.len; s->at++)
        lz_fused_step_reads(&s->f->steps.data[s->f->order.data[s->at]], note_read, s);
    return NULL;
}

/* ---- updates ---- */

static bool is_read(const lz_group *g, size_t before, const lz_low_node *base)
{
    for (size_t i = 0; i < before; i++)
        if (g->items.data[i].view.base == base)
            return true;
    return false;
}

/* Whether a store of the group may use the memory of this input. */
static bool is_replaced(const lz_fused *f, const lz_group *g, const lz_low_node *base)
{
    for (size_t k = 0; base->kind == LZ_LOW_INPUT && k < g->stores.len; k++) {
        const lz_low_node *to = g->stores.data[k].target;
        if (f->nodes[to->id].must && lz_low_node_bytes(to) == lz_low_node_bytes(base))
            return true;
    }
    return false;
}

/* *place: where an update would have to run so that its inputs may be overwritten: after the last step
 * that can fail, and after the last reader of the old elements. */
static lz_err *wish(sorter *s, const lz_group *g, uint32_t *place)
{
    *place = s->last;
    for (size_t i = 0; i < g->items.len; i++) {
        const lz_low_node *base = g->items.data[i].view.base;
        if (!base || is_read(g, i, base) || !is_replaced(s->f, g, base))
            continue;
        uint32_t last = ((const read_input *)lz_hash_table_get(&s->reads, slot_of(base)))->last - 1;
        bool needs_it = true;
        if (last > s->at)
            LZ_TRY(lz_fuse_reaches(s->f, s->f->order.data[s->at], s->f->order.data[last], &needs_it));
        *place = !needs_it && last > *place ? last : *place;
    }
    return NULL;
}

/* Whether delaying the step costs no more memory than it saves: the operands that have to be kept for the
 * step, apart from inputs, are no larger than the inputs that it may overwrite. */
static bool is_update(const lz_fused *f, const lz_fused_step *s)
{
    int64_t kept = 0, saved = 0;
    for (size_t i = 0; s->group && i < s->group->items.len; i++) {
        const lz_low_node *base = s->group->items.data[i].view.base;
        if (!base || is_read(s->group, i, base))
            continue;
        kept += base->kind != LZ_LOW_INPUT ? lz_low_node_bytes(base) : 0;
        saved += is_replaced(f, s->group, base) ? lz_low_node_bytes(base) : 0;
    }
    return saved > 0 && kept <= saved;
}

/* ---- the order ---- */

static bool mark_writers(void *user, const lz_low_node *base)
{
    sorter *s = user;
    const struct lz_fuse_lists *l = s->f->lists;
    for (uint32_t w = s->f->nodes[lz_fused_owner(s->f, base)->id].writer; w; w = l->writers.data[w - 1].next)
        s->early[l->writers.data[w - 1].step] = true;
    return true;
}

static bool wait_for_writers(void *user, const lz_low_node *base)
{
    sorter *s = user;
    const struct lz_fuse_lists *l = s->f->lists;
    uint32_t *when = &s->when[s->f->order.data[s->at]];
    for (uint32_t w = s->f->nodes[lz_fused_owner(s->f, base)->id].writer; w;
         w = l->writers.data[w - 1].next) {
        uint32_t other = s->when[l->writers.data[w - 1].step];
        *when = other > *when ? other : *when;
    }
    return true;
}

/* Visits users before the steps that they depend on. */
static void find_early(sorter *s)
{
    for (size_t i = s->f->order.len; i-- > 0;) {
        uint32_t at = s->f->order.data[i];
        const lz_fused_step *t = &s->f->steps.data[at];
        bool risky = lz_fused_step_risk(t) != NULL;
        s->last = risky && !s->last ? (uint32_t)i : s->last;
        s->early[at] = s->early[at] || risky;
        if (!s->early[at])
            continue;
        lz_fused_step_reads(t, mark_writers, s);
        if (t->after != LZ_NO_STEP)
            s->early[t->after] = true;
    }
}

static lz_err *find_when(sorter *s)
{
    for (s->at = 0; s->at < s->f->order.len; s->at++) {
        uint32_t step = s->f->order.data[s->at], place = 0;
        const lz_fused_step *t = &s->f->steps.data[step];
        s->when[step] = s->at;
        if (s->early[step])
            continue;
        lz_fused_step_reads(t, wait_for_writers, s);
        if (t->after != LZ_NO_STEP && s->when[t->after] > s->when[step])
            s->when[step] = s->when[t->after];
        if (is_update(s->f, t))
            LZ_TRY(wish(s, t->group, &place));
        s->when[step] = place > s->when[step] ? place : s->when[step];
    }
    return NULL;
}

/* Delayed steps follow the step that they wait for, in the order that they had. */
static lz_err *sort(const sorter *s)
{
    lz_fused *f = s->f;
    uint32_t *first, *next, *out;
    size_t n = f->order.len, k = 0;
    LZ_TRY(lz_arena_new(f->arena, &first, n + 1));
    LZ_TRY(lz_arena_new(f->arena, &next, n + 1));
    LZ_TRY(lz_arena_new(f->arena, &out, n + 1));
    for (uint32_t i = (uint32_t)n; i-- > 0;) {
        uint32_t place = s->when[f->order.data[i]];
        if (place == i)
            continue;
        next[i] = first[place];
        first[place] = i + 1;
    }
    for (uint32_t i = 0; i < n; i++) {
        if (s->when[f->order.data[i]] == i)
            out[k++] = f->order.data[i];
        for (uint32_t w = first[i]; w; w = next[w - 1])
            out[k++] = f->order.data[w - 1];
    }
    for (size_t i = 0; i < n; i++)
        f->order.data[i] = out[i];
    return NULL;
}

lz_err *lz_fuse_order_overwrites_last(lz_fused *f)
{
    sorter s = { .f = f };
    LZ_TRY(lz_arena_new(f->arena, &s.early, f->steps.len + 1));
    LZ_TRY(lz_arena_new(f->arena, &s.when, f->steps.len + 1));
    lz_err *e = find_reads(&s);
    find_early(&s);
    e = e ? e : find_when(&s);
    e = e ? e : sort(&s);
    lz_hash_table_deinit(&s.reads);
    return e;
}
