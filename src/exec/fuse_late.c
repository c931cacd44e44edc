/* Launches that write over inputs come last. A run that fails must leave its inputs as they
 * were, so memory that was given away may be written only when nothing can fail any more; in a
 * training step that is the update of the parameters, behind the last matrix product. */
#include "core/dtype.h"
#include "exec/fuse_impl.h"

const lz_ln *lz_step_risk(const lz_step *s)
{
    if (s->call) /* it takes memory of its own */
        return s->call->node;
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

typedef struct sorter {
    lz_fused *f;
    bool *early; /* by step: it can fail, or something that can waits for it */
    bool *late;
    bool waits; /* the step at hand reads what a late one writes */
} sorter;

static int64_t bytes_of(const lz_ln *n)
{
    return n->numel * (int64_t)lz_dtype_size((lz_dtype)n->dtype);
}

static bool is_read(const lz_group *g, size_t before, const lz_ln *base)
{
    for (size_t i = 0; i < before; i++)
        if (g->items.data[i].view.base == base)
            return true;
    return false;
}

/* Bytes that have to be kept until the step runs, inputs aside, and such that it may write
 * over an input of the same size. */
static void weigh(const lz_fused *f, const lz_group *g, int64_t *kept, int64_t *saved)
{
    *kept = *saved = 0;
    for (size_t i = 0; i < g->items.len; i++) {
        const lz_ln *base = g->items.data[i].view.base;
        if (base && base->kind != LZ_L_INPUT && !is_read(g, i, base))
            *kept += bytes_of(base);
        for (size_t k = 0; base && base->kind == LZ_L_INPUT && k < g->stores.len; k++) {
            const lz_ln *to = g->stores.data[k].target;
            if (f->nodes[to->id].must && bytes_of(to) == bytes_of(base)) {
                *saved += bytes_of(to);
                break;
            }
        }
    }
}

static bool is_update(const lz_fused *f, const lz_step *s)
{
    int64_t kept, saved;
    if (!s->group || !s->group->stores.len)
        return false;
    weigh(f, s->group, &kept, &saved);
    return saved > 0 && kept <= saved;
}

static bool mark_writers(void *user, const lz_ln *base)
{
    sorter *s = user;
    const struct lz_fuse_lists *l = s->f->lists;
    for (uint32_t w = s->f->nodes[lz_fused_owner(s->f, base)->id].writer; w; w = l->writers.data[w - 1].next)
        s->early[l->writers.data[w - 1].step] = true;
    return true;
}

static bool ask_writers(void *user, const lz_ln *base)
{
    sorter *s = user;
    const struct lz_fuse_lists *l = s->f->lists;
    for (uint32_t w = s->f->nodes[lz_fused_owner(s->f, base)->id].writer; w; w = l->writers.data[w - 1].next)
        s->waits = s->waits || s->late[l->writers.data[w - 1].step];
    return !s->waits;
}

/* Users come before what they use. */
static void find_early(sorter *s)
{
    for (size_t i = s->f->order.len; i-- > 0;) {
        uint32_t at = s->f->order.data[i];
        const lz_step *t = &s->f->steps.data[at];
        s->early[at] = s->early[at] || lz_step_risk(t);
        if (!s->early[at])
            continue;
        lz_step_reads(t, mark_writers, s);
        if (t->after != LZ_NO_STEP)
            s->early[t->after] = true;
    }
}

static void find_late(sorter *s)
{
    for (size_t i = 0; i < s->f->order.len; i++) {
        uint32_t at = s->f->order.data[i];
        const lz_step *t = &s->f->steps.data[at];
        if (s->early[at])
            continue;
        s->waits = t->after != LZ_NO_STEP && s->late[t->after];
        if (!s->waits)
            lz_step_reads(t, ask_writers, s);
        s->late[at] = s->waits || is_update(s->f, t);
    }
}

lz_err *lz_fuse_put_late(lz_fused *f)
{
    sorter s = { .f = f };
    uint32_t *behind;
    size_t kept = 0, n = 0;
    LZ_TRY(lz_arena_new(f->arena, &s.early, f->steps.len + 1));
    LZ_TRY(lz_arena_new(f->arena, &s.late, f->steps.len + 1));
    LZ_TRY(lz_arena_new(f->arena, &behind, f->order.len + 1));
    find_early(&s);
    find_late(&s);
    for (size_t i = 0; i < f->order.len; i++) {
        uint32_t at = f->order.data[i];
        *(s.late[at] ? &behind[n++] : &f->order.data[kept++]) = at;
    }
    for (size_t i = 0; i < n; i++)
        f->order.data[kept++] = behind[i];
    return NULL;
}
