/* The pass "memory". Requires launches in their order, and which buffers share memory (pass "inplace").
 * Keeps what the launches compute. */
#include "base/vec.h"
#include "core/buffer.h"
#include "plan/packed_weights.h"
#include <assert.h>

/* ---- lifetimes ---- */

bool lz_plan_launch_accesses(lz_plan_launch *l, lz_plan_access_fn *fn, void *user)
{
    bool go = true;
    for (size_t i = 0; go && i < l->n_access; i++)
        go = l->access[i].buffer == LZ_NO_BUFFER || fn(user, (lz_plan_access *)&l->access[i]);
    for (size_t i = 0; go && l->call && i < l->call->n_in; i++)
        go = fn(user, &l->call->in[i]);
    return go && (!l->call || fn(user, &l->call->out));
}

typedef struct toucher {
    lz_plan *p;
    uint32_t launch;
} toucher;

static bool touch(void *user, lz_plan_access *a)
{
    const toucher *t = user;
    assert(a->buffer < t->p->n_buffers);
    lz_plan_buffer *b = &t->p->buffers[a->buffer];
    b->first = t->launch < b->first ? t->launch : b->first;
    b->last = t->launch;
    return true;
}

static bool touch_still(void *user, lz_plan_access *a)
{
    const toucher *t = user;
    assert(a->buffer < t->p->n_buffers);
    lz_plan_buffer *b = &t->p->buffers[a->buffer];
    b->last = t->launch > b->last ? t->launch : b->last;
    return true;
}

void lz_plan_find_lives(lz_plan *p)
{
    for (size_t i = 0; i < p->n_buffers; i++)
        p->buffers[i].first = UINT32_MAX;
    for (uint32_t i = 0; i < p->n_launches; i++)
        lz_plan_launch_accesses(&p->launches[i], touch, &(toucher){ p, i });
    for (uint32_t i = 0; i < p->n_launches; i++) /* a product and its tail run at the same time */
        if (p->launches[i].tail)
            lz_plan_launch_accesses(&p->launches[i], touch_still, &(toucher){ p, i + 1 });
    for (size_t i = 0; i < p->n_outputs; i++)
        if (p->output_buffers[i] != LZ_NO_BUFFER)
            p->buffers[p->output_buffers[i]].last = UINT32_MAX;
    for (size_t i = 0; i < p->n_buffers; i++)
        p->buffers[i].last = p->buffers[i].kept ? UINT32_MAX : p->buffers[i].last;
}

/* ---- offsets of temporaries ---- */

typedef struct hole {
    size_t at, size;
} hole;

typedef struct allocator {
    LZ_VEC(hole) holes; /* sorted by place; no two are adjacent */
    size_t end;
} allocator;

static size_t round_up(size_t n)
{
    return (n + LZ_BUFFER_ALIGN - 1) / LZ_BUFFER_ALIGN * LZ_BUFFER_ALIGN;
}

static void remove_hole(allocator *a, size_t i)
{
    for (; i + 1 < a->holes.len; i++)
        a->holes.data[i] = a->holes.data[i + 1];
    a->holes.len--;
}

/* The smallest hole that is large enough; without one, the end of the block. */
static size_t take(allocator *a, size_t size)
{
    size_t best = a->holes.len;
    for (size_t i = 0; i < a->holes.len; i++)
        if (a->holes.data[i].size >= size
            && (best == a->holes.len || a->holes.data[i].size < a->holes.data[best].size))
            best = i;
    if (best < a->holes.len) {
        hole *h = &a->holes.data[best];
        size_t at = h->at;
        h->at += size;
        h->size -= size;
        if (!h->size)
            remove_hole(a, best);
        return at;
    }
    size_t at = a->end;
    hole *last = a->holes.len ? &a->holes.data[a->holes.len - 1] : NULL;
    if (last && last->at + last->size == a->end) {
        at = last->at;
        a->holes.len--;
    }
    a->end = at + size;
    return at;
}

static lz_err *give(allocator *a, size_t at, size_t size)
{
    size_t i = 0;
    assert(size && at + size <= a->end);
    while (i < a->holes.len && a->holes.data[i].at < at)
        i++;
    bool before = i > 0 && a->holes.data[i - 1].at + a->holes.data[i - 1].size == at;
    bool behind = i < a->holes.len && at + size == a->holes.data[i].at;
    assert(i == 0
           || a->holes.data[i - 1].at + a->holes.data[i - 1].size <= at); /* a block is freed only once */
    assert(i == a->holes.len || at + size <= a->holes.data[i].at);
    if (before) {
        a->holes.data[i - 1].size += size + (behind ? a->holes.data[i].size : 0);
        if (behind)
            remove_hole(a, i);
        return NULL;
    }
    if (behind) {
        a->holes.data[i].at = at;
        a->holes.data[i].size += size;
        return NULL;
    }
    LZ_TRY(lz_vec_push(&a->holes, (hole){ 0 }));
    for (size_t k = a->holes.len - 1; k > i; k--)
        a->holes.data[k] = a->holes.data[k - 1];
    a->holes.data[i] = (hole){ at, size };
    return NULL;
}

/* Buffers by the launch that first, or last, needs their memory. */
typedef struct lifetimes {
    uint32_t *begin, *end, *next_begin, *next_end; /* 1 + index */
} lifetimes;

static lz_err *make_lifetimes(lz_arena *a, const lz_plan *p, const uint32_t *block, lifetimes *c)
{
    uint32_t *last;
    LZ_TRY(lz_arena_new(a, &c->begin, p->n_launches + 1));
    LZ_TRY(lz_arena_new(a, &c->end, p->n_launches + 1));
    LZ_TRY(lz_arena_new(a, &c->next_begin, p->n_buffers + 1));
    LZ_TRY(lz_arena_new(a, &c->next_end, p->n_buffers + 1));
    LZ_TRY(lz_arena_new(a, &last, p->n_buffers + 1));
    for (uint32_t i = 0; i < p->n_buffers; i++) {
        uint32_t b = block[i];
        last[b] = p->buffers[i].last > last[b] ? p->buffers[i].last : last[b];
    }
    for (uint32_t i = 0; i < p->n_buffers; i++) {
        const lz_plan_buffer *b = &p->buffers[i];
        if (b->kind != LZ_PLAN_BUFFER_TEMP || block[i] != i || b->first == UINT32_MAX || !b->bytes)
            continue;
        c->next_begin[i] = c->begin[b->first];
        c->begin[b->first] = i + 1;
        c->next_end[i] = c->end[last[i]];
        c->end[last[i]] = i + 1;
    }
    return NULL;
}

static lz_err *place_temporaries(lz_plan *p, const uint32_t *block, const lifetimes *c)
{
    allocator a = { 0 };
    lz_err *e = NULL;
    for (size_t i = 0; !e && i < p->n_launches; i++) {
        for (uint32_t b = c->begin[i]; b; b = c->next_begin[b - 1])
            p->buffers[b - 1].where = take(&a, round_up(p->buffers[b - 1].bytes));
        for (uint32_t b = c->end[i]; !e && b; b = c->next_end[b - 1])
            e = give(&a, p->buffers[b - 1].where, round_up(p->buffers[b - 1].bytes));
    }
    for (uint32_t i = 0; i < p->n_buffers; i++)
        if (p->buffers[i].kind == LZ_PLAN_BUFFER_TEMP)
            p->buffers[i].where = p->buffers[block[i]].where;
    p->temp_bytes = a.end;
    lz_vec_deinit(&a.holes);
    return e;
}

uint32_t lz_plan_root(const lz_plan *p, uint32_t i)
{
    while (p->buffers[i].kind == LZ_PLAN_BUFFER_TEMP && p->buffers[i].shares != LZ_NO_BUFFER)
        i = p->buffers[i].shares;
    return i;
}

#ifndef NDEBUG
enum { CHECKED = 256 }; /* the check compares at most this many buffers */

static bool live_together(const lz_plan_buffer *a, const lz_plan_buffer *b)
{
    return a->first <= b->last && b->first <= a->last;
}

/* Checks that temporaries with overlapping lifetimes do not overlap, and lie within the block. */
static bool temporaries_fit(const lz_plan *p, const uint32_t *block)
{
    bool fit = true;
    for (uint32_t i = 0; fit && i < p->n_buffers && i < CHECKED; i++) {
        const lz_plan_buffer *a = &p->buffers[i];
        if (a->kind != LZ_PLAN_BUFFER_TEMP || a->first == UINT32_MAX
            || p->buffers[block[i]].kind != LZ_PLAN_BUFFER_TEMP)
            continue;
        fit = a->bytes == 0 || a->where + a->bytes <= p->temp_bytes;
        for (uint32_t k = 0; fit && k < i; k++) {
            const lz_plan_buffer *b = &p->buffers[k];
            bool apart = b->kind != LZ_PLAN_BUFFER_TEMP || b->first == UINT32_MAX || block[k] == block[i]
                         || p->buffers[block[k]].kind != LZ_PLAN_BUFFER_TEMP || !live_together(a, b);
            fit = apart || a->where + a->bytes <= b->where || b->where + b->bytes <= a->where;
        }
    }
    return fit;
}
#endif

static lz_err *plan_memory(lz_plan *p, lz_arena *scratch)
{
    uint32_t *block;
    lifetimes c = { 0 };
    lz_plan_find_tails(p);
    lz_plan_find_packed_weights(p);
    lz_plan_find_lives(p);
    LZ_TRY(lz_arena_new(scratch, &block, p->n_buffers + 1));
    for (uint32_t i = 0; i < p->n_buffers; i++)
        block[i] = lz_plan_root(p, i);
    LZ_TRY(make_lifetimes(scratch, p, block, &c));
    LZ_TRY(place_temporaries(p, block, &c));
    assert(temporaries_fit(p, block));
    p->peak = p->temp_bytes ? lz_buffer_capacity(p->temp_bytes) : 0;
    p->donated = 0;
    for (size_t i = 0; i < p->n_buffers; i++) {
        const lz_plan_buffer *b = &p->buffers[i];
        p->peak += b->kind == LZ_PLAN_BUFFER_OUTPUT ? lz_buffer_capacity(b->bytes) : 0;
        p->donated +=
            b->kind == LZ_PLAN_BUFFER_OUTPUT && b->shares != LZ_NO_BUFFER ? lz_buffer_capacity(b->bytes) : 0;
    }
    return NULL;
}

lz_err *lz_plan_memory(lz_plan *p)
{
    lz_arena scratch;
    lz_arena_init(&scratch);
    lz_err *e = plan_memory(p, &scratch);
    lz_arena_deinit(&scratch);
    return e;
}
