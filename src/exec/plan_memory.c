/* Requires launches in their order. Keeps what they compute: only where it lies changes. */
#include "base/vec.h"
#include "core/buffer.h"
#include "exec/plan_impl.h"

/* ---- who touches what, and when ---- */

typedef bool access_fn(void *user, lz_paccess *a);

/* Accesses to memory; stops when fn returns false. */
static bool each_access(lz_plaunch *l, access_fn *fn, void *user)
{
    bool go = true;
    for (size_t i = 0; go && i < l->n_access; i++)
        go = l->access[i].buffer == LZ_NO_BUFFER || fn(user, (lz_paccess *)&l->access[i]);
    for (size_t i = 0; go && i < l->n_in; i++)
        go = fn(user, &l->call_in[i]);
    return go && (!l->call || fn(user, &l->call_out));
}

typedef struct toucher {
    lz_plan *p;
    uint32_t launch;
} toucher;

static bool touch(void *user, lz_paccess *a)
{
    const toucher *t = user;
    lz_pbuffer *b = &t->p->buffers[a->buffer];
    b->first = t->launch < b->first ? t->launch : b->first;
    b->last = t->launch;
    return true;
}

static void find_lives(lz_plan *p)
{
    for (size_t i = 0; i < p->n_buffers; i++)
        p->buffers[i].first = UINT32_MAX;
    for (uint32_t i = 0; i < p->n_launches; i++)
        each_access(&p->launches[i], touch, &(toucher){ p, i });
    for (size_t i = 0; i < p->n_outputs; i++)
        if (p->output_buffers[i] != LZ_NO_BUFFER)
            p->buffers[p->output_buffers[i]].last = UINT32_MAX;
    for (size_t i = 0; i < p->n_buffers; i++) /* inputs that are outputs */
        for (size_t k = 0; p->buffers[i].kind == LZ_PB_INPUT && k < p->n_outputs; k++)
            if (p->outputs[k].slot == (int64_t)p->buffers[i].where)
                p->buffers[i].last = UINT32_MAX;
}

/* ---- copies of what nobody reads again ---- */

typedef struct renamer {
    uint32_t from, to;
} renamer;

static bool rename_access(void *user, lz_paccess *a)
{
    const renamer *r = user;
    a->buffer = a->buffer == r->from ? r->to : a->buffer;
    return true;
}

/* `to` takes the place of `from` everywhere. */
static void replace(lz_plan *p, uint32_t from, uint32_t to)
{
    for (size_t i = 0; i < p->n_launches; i++)
        each_access(&p->launches[i], rename_access, &(renamer){ from, to });
    for (size_t i = 0; i < p->n_outputs; i++)
        if (p->output_buffers[i] == from)
            p->output_buffers[i] = to;
    if (p->buffers[from].kind == LZ_PB_OUTPUT)
        p->buffers[to].kind = LZ_PB_OUTPUT;
    p->buffers[to].last = p->buffers[from].last;
    p->buffers[from].bytes = 0;
}

static void drop_copies(lz_plan *p)
{
    size_t kept = 0;
    for (uint32_t i = 0; i < p->n_launches; i++) {
        lz_plaunch *l = &p->launches[i];
        uint32_t from = l->copy ? l->access[0].buffer : 0, to = l->copy ? l->access[1].buffer : 0;
        if (l->copy && p->buffers[from].kind == LZ_PB_TEMP && p->buffers[from].last == i
            && p->buffers[to].first == i && p->buffers[from].bytes == p->buffers[to].bytes) {
            lz_kernel_release(l->kernel);
            *l = (lz_plaunch){ 0 };
            replace(p, to, from);
        }
    }
    for (size_t i = 0; i < p->n_launches; i++) /* an empty launch has neither kernel nor call */
        if (p->launches[i].kernel || p->launches[i].call)
            p->launches[kept++] = p->launches[i];
    p->n_launches = kept;
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
    each_access(l, count_access, &c);
    return c.n == 1;
}

static bool same_place(const lz_plaunch *l, const lz_paccess *a, const lz_paccess *b)
{
    bool same = a->offset == b->offset;
    for (int i = 0; same && i < l->n_outer + l->n_row; i++)
        same = a->strides[i] == b->strides[i];
    return same;
}

typedef struct sharing {
    lz_plan *p;
    uint32_t *block; /* of a buffer: the buffer whose memory it shares; itself */
    bool *taken;     /* someone has its memory already */
} sharing;

static void share(sharing *s, uint32_t from, uint32_t to)
{
    lz_pbuffer *a = &s->p->buffers[from], *b = &s->p->buffers[to];
    s->taken[from] = true;
    if (a->kind == LZ_PB_INPUT) {
        b->donor = (int64_t)a->where;
        return;
    }
    s->block[to] = s->block[from];
}

static int count_stores(const lz_plaunch *l)
{
    int n = 0;
    for (size_t i = 0; i < l->n_access; i++)
        n += l->access[i].store;
    return n;
}

/* A result may lie where an operand lay if the operand dies here, is read at the same
 * place only, and both have one kind of memory. With several stores the operand might
 * still be wanted when the first is made. */
static void share_in_launch(sharing *s, uint32_t i)
{
    lz_plaunch *l = &s->p->launches[i];
    if (count_stores(l) != 1)
        return;
    for (int st = 0; st < (int)l->n_access; st++) {
        const lz_paccess *to = &l->access[st];
        if (!to->store || s->p->buffers[to->buffer].first != i || !is_sole(l, to->buffer))
            continue;
        for (int ld = 0; ld < (int)l->n_access; ld++) {
            const lz_paccess *from = &l->access[ld];
            if (from->store || from->buffer == LZ_NO_BUFFER || s->taken[from->buffer])
                continue;
            const lz_pbuffer *a = &s->p->buffers[from->buffer], *b = &s->p->buffers[to->buffer];
            bool kinds = (a->kind == LZ_PB_TEMP && b->kind == LZ_PB_TEMP)
                         || (a->kind == LZ_PB_INPUT && b->kind == LZ_PB_OUTPUT);
            if (kinds && a->last == i && a->bytes == b->bytes && is_sole(l, from->buffer)
                && same_place(l, from, to) && lz_kernel_in_place(l->kernel, ld, st)) {
                share(s, from->buffer, to->buffer);
                break;
            }
        }
    }
}

/* ---- where temporaries lie ---- */

typedef struct hole {
    size_t at, size;
} hole;

typedef struct allocator {
    LZ_VEC(hole) holes; /* by place, none touching another */
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

/* The smallest hole that is large enough, or the end. */
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
    while (i < a->holes.len && a->holes.data[i].at < at)
        i++;
    bool before = i > 0 && a->holes.data[i - 1].at + a->holes.data[i - 1].size == at;
    bool behind = i < a->holes.len && at + size == a->holes.data[i].at;
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

/* Buffers by the launch where their block is first, or last, needed. */
typedef struct calendar {
    uint32_t *begin, *end, *next_begin, *next_end; /* 1 + index */
} calendar;

static lz_err *make_calendar(lz_arena *a, const lz_plan *p, const sharing *s, calendar *c)
{
    uint32_t *last;
    LZ_TRY(lz_arena_new(a, &c->begin, p->n_launches + 1));
    LZ_TRY(lz_arena_new(a, &c->end, p->n_launches + 1));
    LZ_TRY(lz_arena_new(a, &c->next_begin, p->n_buffers + 1));
    LZ_TRY(lz_arena_new(a, &c->next_end, p->n_buffers + 1));
    LZ_TRY(lz_arena_new(a, &last, p->n_buffers + 1));
    for (uint32_t i = 0; i < p->n_buffers; i++) {
        uint32_t b = s->block[i];
        last[b] = p->buffers[i].last > last[b] ? p->buffers[i].last : last[b];
    }
    for (uint32_t i = 0; i < p->n_buffers; i++) {
        const lz_pbuffer *b = &p->buffers[i];
        if (b->kind != LZ_PB_TEMP || s->block[i] != i || b->first == UINT32_MAX || !b->bytes)
            continue;
        c->next_begin[i] = c->begin[b->first];
        c->begin[b->first] = i + 1;
        c->next_end[i] = c->end[last[i]];
        c->end[last[i]] = i + 1;
    }
    return NULL;
}

static lz_err *place_temporaries(lz_plan *p, const sharing *s, const calendar *c)
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
        if (p->buffers[i].kind == LZ_PB_TEMP)
            p->buffers[i].where = p->buffers[s->block[i]].where;
    p->temp_bytes = a.end;
    lz_vec_deinit(&a.holes);
    return e;
}

static lz_err *plan_memory(lz_plan *p, lz_arena *scratch)
{
    sharing s = { .p = p };
    calendar c = { 0 };
    find_lives(p);
    drop_copies(p);
    find_lives(p);
    LZ_TRY(lz_arena_new(scratch, &s.block, p->n_buffers + 1));
    LZ_TRY(lz_arena_new(scratch, &s.taken, p->n_buffers + 1));
    for (uint32_t i = 0; i < p->n_buffers; i++)
        s.block[i] = i;
    for (uint32_t i = 0; i < p->n_launches; i++)
        share_in_launch(&s, i);
    LZ_TRY(make_calendar(scratch, p, &s, &c));
    LZ_TRY(place_temporaries(p, &s, &c));
    p->peak = p->temp_bytes;
    for (size_t i = 0; i < p->n_buffers; i++)
        p->peak += p->buffers[i].kind == LZ_PB_OUTPUT ? p->buffers[i].bytes : 0;
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
