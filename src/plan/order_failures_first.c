/* Launches that write over inputs come behind those that can fail. A run that fails must leave its
 * inputs as they were, so memory that was given away may be written only when nothing can go wrong
 * any more; in a training step that is the update of the parameters. */
#include "plan/fuse_impl.h"

/* Matrix products run in memory that the plan takes beforehand; scatter needs none, and can fail where it
 * checks its index. Others take their own. */
static bool can_fail(const lz_gcall *c)
{
    const int64_t *params = c->node->attr;
    return c->node->op == LZ_CALL_SCATTER ? params[2] != 0 : c->node->op != LZ_CALL_MATMUL;
}

const lz_ln *lz_step_risk(const lz_step *s)
{
    if (s->call)
        return can_fail(s->call) ? s->call->node : NULL;
    for (size_t i = 0; i < s->group->items.len; i++) {
        const lz_ln *n = s->group->items.data[i].node;
        bool divides = n->kind == LZ_L_MAP && lz_dtype_is_whole((lz_dtype)n->dtype)
                       && (n->op == LZ_K_IDIV || n->op == LZ_K_IDIV_FLOOR || n->op == LZ_K_FMOD
                           || n->op == LZ_K_REMAINDER);
        if (n->kind == LZ_L_CHECK || divides)
            return n;
    }
    return NULL;
}

/* Places are those in the order as it was. */
typedef struct sorter {
    lz_fused *f;
    bool *early;         /* by step: it can fail, or something that can waits for it */
    uint32_t *when;      /* by step: the place that it has, or the one that it follows */
    uint32_t *read;      /* 1 + the last place where an input is read; open addressing by slot */
    const lz_ln **input; /* any node of that slot */
    size_t slots;
    uint32_t at, last; /* of the step at hand; the last one that can fail, or 0 */
} sorter;

/* ---- who reads inputs last ---- */

static int64_t slot_of(const lz_ln *input)
{
    return ((const lz_linput *)input->attr)->slot;
}

static size_t find_slot(const sorter *s, const lz_ln *input)
{
    size_t at = (size_t)((uint64_t)slot_of(input) * UINT64_C(0x9e3779b97f4a7c15) >> 32) & (s->slots - 1);
    while (s->input[at] && slot_of(s->input[at]) != slot_of(input))
        at = (at + 1) & (s->slots - 1);
    return at;
}

static bool note_read(void *user, const lz_ln *base)
{
    sorter *s = user;
    if (base->kind != LZ_L_INPUT)
        return true;
    size_t at = find_slot(s, base);
    s->input[at] = base;
    s->read[at] = s->at + 1;
    return true;
}

static lz_err *find_reads(sorter *s)
{
    size_t n = 1;
    for (uint32_t i = 0; i < s->f->dag->n_nodes; i++)
        n += s->f->dag->nodes[i]->kind == LZ_L_INPUT;
    for (s->slots = 2; s->slots < 2 * n;)
        s->slots *= 2;
    LZ_TRY(lz_arena_new(s->f->arena, &s->read, s->slots));
    LZ_TRY(lz_arena_new(s->f->arena, &s->input, s->slots));
    for (s->at = 0; s->at < s->f->order.len; s->at++)
        lz_step_reads(&s->f->steps.data[s->f->order.data[s->at]], note_read, s);
    return NULL;
}

/* ---- updates ---- */

static bool is_read(const lz_group *g, size_t before, const lz_ln *base)
{
    for (size_t i = 0; i < before; i++)
        if (g->items.data[i].view.base == base)
            return true;
    return false;
}

/* Whether a store may take this input's place. */
static bool is_replaced(const lz_fused *f, const lz_group *g, const lz_ln *base)
{
    for (size_t k = 0; base->kind == LZ_L_INPUT && k < g->stores.len; k++) {
        const lz_ln *to = g->stores.data[k].target;
        if (f->nodes[to->id].must && lz_ln_bytes(to) == lz_ln_bytes(base))
            return true;
    }
    return false;
}

/* Where an update would have to wait until inputs may be written over: no reader of the old
 * elements may come behind it. */
static lz_err *wish(sorter *s, const lz_group *g, uint32_t *place)
{
    *place = s->last;
    for (size_t i = 0; i < g->items.len; i++) {
        const lz_ln *base = g->items.data[i].view.base;
        if (!base || is_read(g, i, base) || !is_replaced(s->f, g, base))
            continue;
        uint32_t last = s->read[find_slot(s, base)] - 1;
        bool needs_it = true;
        if (last > s->at)
            LZ_TRY(lz_fuse_reaches(s->f, s->f->order.data[s->at], s->f->order.data[last], &needs_it));
        *place = !needs_it && last > *place ? last : *place;
    }
    return NULL;
}

/* What has to be kept for it meanwhile, inputs aside, is no more than what it saves. */
static bool is_update(const lz_fused *f, const lz_step *s)
{
    int64_t kept = 0, saved = 0;
    for (size_t i = 0; s->group && i < s->group->items.len; i++) {
        const lz_ln *base = s->group->items.data[i].view.base;
        if (!base || is_read(s->group, i, base))
            continue;
        kept += base->kind != LZ_L_INPUT ? lz_ln_bytes(base) : 0;
        saved += is_replaced(f, s->group, base) ? lz_ln_bytes(base) : 0;
    }
    return saved > 0 && kept <= saved;
}

/* ---- the order ---- */

static bool mark_writers(void *user, const lz_ln *base)
{
    sorter *s = user;
    const struct lz_fuse_lists *l = s->f->lists;
    for (uint32_t w = s->f->nodes[lz_fused_owner(s->f, base)->id].writer; w; w = l->writers.data[w - 1].next)
        s->early[l->writers.data[w - 1].step] = true;
    return true;
}

static bool wait_for_writers(void *user, const lz_ln *base)
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

/* Users come before what they use. */
static void find_early(sorter *s)
{
    for (size_t i = s->f->order.len; i-- > 0;) {
        uint32_t at = s->f->order.data[i];
        const lz_step *t = &s->f->steps.data[at];
        bool risky = lz_step_risk(t) != NULL;
        s->last = risky && !s->last ? (uint32_t)i : s->last;
        s->early[at] = s->early[at] || risky;
        if (!s->early[at])
            continue;
        lz_step_reads(t, mark_writers, s);
        if (t->after != LZ_NO_STEP)
            s->early[t->after] = true;
    }
}

static lz_err *find_when(sorter *s)
{
    for (s->at = 0; s->at < s->f->order.len; s->at++) {
        uint32_t step = s->f->order.data[s->at], place = 0;
        const lz_step *t = &s->f->steps.data[step];
        s->when[step] = s->at;
        if (s->early[step])
            continue;
        lz_step_reads(t, wait_for_writers, s);
        if (t->after != LZ_NO_STEP && s->when[t->after] > s->when[step])
            s->when[step] = s->when[t->after];
        if (is_update(s->f, t))
            LZ_TRY(wish(s, t->group, &place));
        s->when[step] = place > s->when[step] ? place : s->when[step];
    }
    return NULL;
}

/* Those that wait follow, in the order that they had. */
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

lz_err *lz_fuse_put_late(lz_fused *f)
{
    sorter s = { .f = f };
    LZ_TRY(lz_arena_new(f->arena, &s.early, f->steps.len + 1));
    LZ_TRY(lz_arena_new(f->arena, &s.when, f->steps.len + 1));
    LZ_TRY(find_reads(&s));
    find_early(&s);
    LZ_TRY(find_when(&s));
    return sort(&s);
}
