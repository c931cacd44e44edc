/* Runs steps that free more memory than they take as early as possible. No step waits for the gradient of
 * a weight: if the gradient is computed last, the gradients and activations of all layers are kept in
 * memory until then. Requires an order of all steps, and otherwise keeps this order. A step that follows a
 * matrix product and reads only the product stays directly behind it, because the two may run as one
 * (plan_tail.c). */
#include "plan/fuse_impl.h"

typedef struct edge {
    uint32_t step, next; /* next: 1 + index */
} edge;

typedef struct buffer {
    uint32_t readers, left; /* 1 + the first edge to a reader; number of readers that have not run */
    uint32_t unwritten;     /* number of writers that have not run */
    uint32_t look;          /* stamp of the last visit: see sorter.look */
    bool kept, made;        /* the buffer is an output; some writer has run */
} buffer;

/* A step waits for buffers, not for each writer of a buffer: many steps may read what many steps write. */
typedef struct waiter {
    uint32_t users, left; /* 1 + the first edge to a step that is `after` this one; number of buffers and
                             steps that this one waits for */
    bool done;
} waiter;

typedef struct sorter {
    lz_fused *f;
    buffer *buffers; /* by id of the owner */
    waiter *waiters; /* by step */
    LZ_VEC(edge) edges;
    LZ_VEC(uint32_t) asked; /* steps that may free memory now; the last one is tried next */
    LZ_VEC(uint32_t) order; /* the new order */
    uint32_t step, look;    /* the current step; stamp of the current visit */
    int64_t gain;
    lz_err *error;
} sorter;

/* ---- dependences ---- */

static lz_err *add_edge(sorter *s, uint32_t *first, uint32_t step)
{
    LZ_TRY(lz_vec_push(&s->edges, (edge){ step, *first }));
    *first = (uint32_t)s->edges.len;
    return NULL;
}

/* The buffer that a step reads. NULL: an input, or a buffer that this visit has met already. */
static buffer *meet(sorter *s, const lz_low_node *base)
{
    const lz_low_node *owner = lz_fused_owner(s->f, base);
    buffer *b = &s->buffers[owner->id];
    if (owner->kind == LZ_LOW_INPUT || b->look == s->look)
        return NULL;
    b->look = s->look;
    return b;
}

static bool note_read(void *user, const lz_low_node *base)
{
    sorter *s = user;
    buffer *b = meet(s, base);
    if (!b)
        return true;
    b->left++;
    s->waiters[s->step].left++;
    s->error = add_edge(s, &b->readers, s->step);
    return !s->error;
}

static void note_writes(sorter *s, const lz_fused_step *t)
{
    if (t->call)
        s->buffers[t->call->target->id].unwritten++;
    for (size_t i = 0; t->group && i < t->group->stores.len; i++)
        s->buffers[t->group->stores.data[i].target->id].unwritten++;
}

static lz_err *note_all(sorter *s, const lz_low_node *const *outputs, size_t n)
{
    for (size_t i = 0; i < n; i++)
        s->buffers[lz_fused_owner(s->f, outputs[i])->id].kept = true;
    for (size_t i = 0; i < s->f->order.len; i++) {
        s->step = s->f->order.data[i];
        s->look++;
        const lz_fused_step *t = &s->f->steps.data[s->step];
        note_writes(s, t);
        lz_fused_step_reads(t, note_read, s);
        LZ_TRY(s->error);
        s->waiters[s->step].left += t->after != LZ_NO_STEP;
        if (t->after != LZ_NO_STEP)
            LZ_TRY(add_edge(s, &s->waiters[t->after].users, s->step));
    }
    return NULL;
}

/* ---- memory that a step frees and takes ---- */

static bool count_freed(void *user, const lz_low_node *base)
{
    sorter *s = user;
    const buffer *b = meet(s, base);
    s->gain += b && b->left == 1 && !b->kept ? lz_low_node_bytes(lz_fused_owner(s->f, base)) : 0;
    return true;
}

/* An output takes memory in every order, so it does not count. */
static void count_taken(sorter *s, const lz_low_node *target)
{
    const buffer *b = &s->buffers[target->id];
    s->gain -= b->made || b->kept ? 0 : lz_low_node_bytes(target);
}

static bool pays(sorter *s, const lz_fused_step *t)
{
    s->look++;
    s->gain = 0;
    lz_fused_step_reads(t, count_freed, s);
    if (t->call)
        count_taken(s, t->call->target);
    for (size_t i = 0; t->group && i < t->group->stores.len; i++)
        count_taken(s, t->group->stores.data[i].target);
    return s->gain > 0;
}

/* ---- the order ---- */

/* If one reader of the buffer is left, running that reader frees the buffer: tries it. */
static bool has_read(void *user, const lz_low_node *base)
{
    sorter *s = user;
    buffer *b = meet(s, base);
    if (!b || --b->left != 1)
        return true;
    for (uint32_t e = b->readers; e; e = s->edges.data[e - 1].next) {
        uint32_t reader = s->edges.data[e - 1].step;
        if (!s->waiters[reader].done && !s->waiters[reader].left)
            s->error = lz_vec_push(&s->asked, reader);
    }
    return !s->error;
}

/* The steps at the other end of the edges wait for one thing less. Tries those that wait for nothing more. */
static lz_err *release_all(sorter *s, uint32_t first)
{
    for (uint32_t e = first; e; e = s->edges.data[e - 1].next) {
        uint32_t user = s->edges.data[e - 1].step;
        if (--s->waiters[user].left == 0)
            LZ_TRY(lz_vec_push(&s->asked, user));
    }
    return NULL;
}

static lz_err *has_written(sorter *s, const lz_low_node *target)
{
    buffer *b = &s->buffers[target->id];
    b->made = true;
    return --b->unwritten == 0 ? release_all(s, b->readers) : NULL;
}

static lz_err *run(sorter *s, uint32_t step)
{
    const lz_fused_step *t = &s->f->steps.data[step];
    s->waiters[step].done = true;
    s->order.data[s->order.len++] = step;
    s->look++;
    lz_fused_step_reads(t, has_read, s);
    LZ_TRY(s->error);
    if (t->call)
        LZ_TRY(has_written(s, t->call->target));
    for (size_t i = 0; t->group && i < t->group->stores.len; i++)
        LZ_TRY(has_written(s, t->group->stores.data[i].target));
    return release_all(s, s->waiters[step].users);
}

static lz_err *run_asked(sorter *s)
{
    while (s->asked.len) {
        uint32_t step = s->asked.data[--s->asked.len];
        if (!s->waiters[step].done && pays(s, &s->f->steps.data[step]))
            LZ_TRY(run(s, step));
    }
    return NULL;
}

static bool is_other(void *user, const lz_low_node *base)
{
    const lz_low_node *const *target = user;
    return base != *target;
}

/* Whether the next step may run as the tail of this one. */
static bool goes_on(const lz_fused *f, size_t i)
{
    const lz_fused_step *t = &f->steps.data[f->order.data[i]];
    if (!t->call || i + 1 == f->order.len)
        return false;
    const lz_low_node *target = t->call->target;
    return !lz_fused_step_reads(&f->steps.data[f->order.data[i + 1]], is_other, &target);
}

static lz_err *sort(sorter *s)
{
    lz_fused *f = s->f;
    LZ_TRY(lz_vec_reserve(&s->order, f->order.len + 1));
    for (size_t i = 0; i < f->order.len; i++) {
        uint32_t step = f->order.data[i];
        if (!s->waiters[step].done)
            LZ_TRY(run(s, step));
        if (!goes_on(f, i))
            LZ_TRY(run_asked(s));
    }
    for (size_t i = 0; i < f->order.len; i++)
        f->order.data[i] = s->order.data[i];
    return NULL;
}

lz_err *lz_fuse_order_for_memory(lz_fused *f, const lz_low_node *const *outputs, size_t n)
{
    sorter s = { .f = f };
    LZ_TRY(lz_arena_new(f->arena, &s.buffers, f->dag->n_nodes + 1));
    LZ_TRY(lz_arena_new(f->arena, &s.waiters, f->steps.len + 1));
    lz_err *e = note_all(&s, outputs, n);
    e = e ? e : sort(&s);
    lz_vec_deinit(&s.edges);
    lz_vec_deinit(&s.asked);
    lz_vec_deinit(&s.order);
    return e;
}
