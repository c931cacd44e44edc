#include "core/buffer.h"
#include "base/lock.h"
#include "base/mem.h"
#include "base/poison.h"
#include <sys/mman.h>

enum {
    STEPS = 8, /* classes for each doubling */
    STEPS_LOG = 3,
    LINEAR_LOG = 9, /* up to 512 bytes the classes are the multiples of 64 */
    CLASSES = STEPS + (64 - LINEAR_LOG) * STEPS,
    HUGE_PAGE = 2 << 20,
};

/* What is behind a buffer: a block of a pool, a block without one, or foreign memory. */
typedef struct lz_buffer_home {
    lz_buffer buffer; /* first */
    lz_buffer_pool *pool;
    lz_buffer_drop_fn *drop;
    void *user;
    size_t capacity; /* 0: foreign */
    unsigned class;
    struct lz_buffer_home *next, *prev;   /* in its class, latest first */
    struct lz_buffer_home *newer, *older; /* among all free ones */
} home;

struct lz_buffer_pool {
    lz_lock lock;
    size_t users; /* live buffers, and one for the owner */
    size_t keep;
    home *free[CLASSES];
    home *newest, *oldest;
    lz_buffer_stats stats;
};

typedef struct size_class {
    unsigned index;
    size_t capacity;
} size_class;

static size_class class_of(size_t size)
{
    if (size <= (size_t)1 << LINEAR_LOG) {
        size_t i = size ? (size - 1) / LZ_BUFFER_ALIGN : 0;
        return (size_class){ (unsigned)i, (i + 1) * LZ_BUFFER_ALIGN };
    }
    unsigned log = 63 - (unsigned)__builtin_clzll(size - 1), shift = log - STEPS_LOG;
    unsigned step = (unsigned)((size - 1) >> shift) - STEPS;
    return (size_class){ STEPS + (log - LINEAR_LOG) * STEPS + step, (size_t)(STEPS + step + 1) << shift };
}

size_t lz_buffer_capacity(size_t size)
{
    return class_of(size).capacity;
}

lz_err *lz_buffer_pool_create(size_t keep, lz_buffer_pool **out)
{
    lz_buffer_pool *p = lz_mem_zalloc(1, sizeof *p);
    if (!p)
        return lz_err_oom();
    lz_lock_init(&p->lock);
    p->users = 1;
    p->keep = keep;
    *out = p;
    return NULL;
}

static void free_home(home *h)
{
    LZ_UNPOISON(h->buffer.data, h->capacity);
    if (h->capacity)
        lz_mem_free(h->buffer.data);
    lz_mem_free(h);
}

/* The next four under the lock. */
static void link_free(lz_buffer_pool *p, home *h)
{
    h->prev = h->newer = NULL;
    h->next = p->free[h->class];
    h->older = p->newest;
    if (h->next)
        h->next->prev = h;
    if (h->older)
        h->older->newer = h;
    p->free[h->class] = p->newest = h;
    p->oldest = p->oldest ? p->oldest : h;
    p->stats.cached += h->capacity;
}

static void unlink_free(lz_buffer_pool *p, home *h)
{
    *(h->prev ? &h->prev->next : &p->free[h->class]) = h->next;
    *(h->newer ? &h->newer->older : &p->newest) = h->older;
    *(h->older ? &h->older->newer : &p->oldest) = h->newer;
    if (h->next)
        h->next->prev = h->prev;
    p->stats.cached -= h->capacity;
}

/* What has to go, as a list through `older`, to be freed without the lock. */
static home *cut(lz_buffer_pool *p, size_t keep)
{
    home *gone = NULL;
    for (home *h = p->oldest; h && p->stats.cached > keep; h = p->oldest) {
        unlink_free(p, h);
        h->older = gone;
        gone = h;
    }
    return gone;
}

static void count_live(lz_buffer_pool *p, size_t bytes, size_t asked)
{
    lz_buffer_stats *s = &p->stats;
    s->live += bytes;
    s->asked += asked;
    s->peak = s->live > s->peak ? s->live : s->peak;
    s->asked_peak = s->asked > s->asked_peak ? s->asked : s->asked_peak;
}

static void free_list(home *gone)
{
    while (gone) {
        home *h = gone;
        gone = h->older;
        free_home(h);
    }
}

void lz_buffer_pool_trim(lz_buffer_pool *p, size_t keep)
{
    lz_lock_take(&p->lock);
    home *gone = cut(p, keep);
    lz_lock_give(&p->lock);
    free_list(gone);
}

static void destroy(lz_buffer_pool *p)
{
    lz_lock_deinit(&p->lock);
    lz_mem_free(p);
}

void lz_buffer_pool_release(lz_buffer_pool *p)
{
    if (!p)
        return;
    lz_lock_take(&p->lock);
    p->keep = 0;
    home *gone = cut(p, 0);
    bool last = --p->users == 0;
    lz_lock_give(&p->lock);
    free_list(gone);
    if (last)
        destroy(p);
}

/* NULL: there is none of that class. */
static home *reuse(lz_buffer_pool *p, size_class c, size_t asked)
{
    lz_lock_take(&p->lock);
    home *h = p->free[c.index];
    if (h) {
        unlink_free(p, h);
        count_live(p, h->capacity, asked);
        p->stats.reused++;
        p->users++;
    }
    lz_lock_give(&p->lock);
    if (h)
        LZ_UNPOISON(h->buffer.data, h->capacity);
    return h;
}

static void *block(size_t capacity)
{
    bool huge = capacity >= LZ_BUFFER_HUGE;
    void *data = lz_mem_alloc_aligned(capacity, huge ? HUGE_PAGE : LZ_BUFFER_ALIGN);
    if (data && huge)
        (void)madvise(data, capacity, MADV_HUGEPAGE); /* advice: a kernel without them is fine too */
    return data;
}

static home *fresh(lz_buffer_pool *p, size_class c)
{
    home *h = lz_mem_zalloc(1, sizeof *h);
    void *data = h ? block(c.capacity) : NULL;
    if (h && !data && p) {
        lz_buffer_pool_trim(p, 0);
        data = block(c.capacity);
    }
    if (!data) {
        lz_mem_free(h);
        return NULL;
    }
    h->pool = p;
    h->class = c.index;
    h->capacity = c.capacity;
    h->buffer.data = data;
    h->buffer.home = h;
    return h;
}

static void count_fresh(lz_buffer_pool *p, size_t capacity, size_t asked)
{
    lz_lock_take(&p->lock);
    count_live(p, capacity, asked);
    p->stats.made++;
    p->users++;
    lz_lock_give(&p->lock);
}

lz_err *lz_buffer_create(lz_buffer_pool *p, size_t size, lz_buffer **out)
{
    if (size > PTRDIFF_MAX)
        return lz_errf(LZ_ERR_MEMORY, "%zu bytes are more than there can be", size);
    size_class c = class_of(size);
    home *h = p ? reuse(p, c, size) : NULL;
    if (!h) {
        h = fresh(p, c);
        if (!h)
            return lz_errf(LZ_ERR_MEMORY, "out of memory: no room for %zu bytes", size);
        if (p)
            count_fresh(p, c.capacity, size);
    }
    h->buffer.size = size;
    atomic_init(&h->buffer.count, 1);
    *out = &h->buffer;
    return NULL;
}

lz_err *lz_buffer_wrap(void *data, size_t size, bool read_only, lz_buffer_drop_fn *drop, void *user,
                       lz_buffer **out)
{
    home *h = lz_mem_zalloc(1, sizeof *h);
    if (!h)
        return lz_err_oom();
    h->drop = drop;
    h->user = user;
    h->buffer.data = data;
    h->buffer.size = size;
    h->buffer.read_only = read_only;
    h->buffer.home = h;
    atomic_init(&h->buffer.count, 1);
    *out = &h->buffer;
    return NULL;
}

static void give_back(lz_buffer_pool *p, home *h)
{
    LZ_POISON(h->buffer.data, h->capacity);
    lz_lock_take(&p->lock);
    p->stats.live -= h->capacity;
    p->stats.asked -= h->buffer.size;
    bool kept = h->capacity <= p->keep; /* one that is too large must not drive out the others */
    h->older = NULL;
    if (kept)
        link_free(p, h);
    home *gone = kept ? cut(p, p->keep) : h;
    bool last = --p->users == 0;
    lz_lock_give(&p->lock);
    free_list(gone);
    if (last)
        destroy(p);
}

lz_buffer *lz_buffer_retain(lz_buffer *b)
{
    atomic_fetch_add_explicit(&b->count, 1, memory_order_relaxed);
    return b;
}

/* Whether that was the last count. */
static bool let_go(lz_buffer *b)
{
    return b && atomic_fetch_sub_explicit(&b->count, 1, memory_order_acq_rel) == 1;
}

static void end(lz_buffer *b)
{
    home *h = b->home;
    if (h->drop)
        h->drop(h->user, b->data, b->size);
    if (h->pool)
        give_back(h->pool, h);
    else
        free_home(h);
}

/* Nothing is made of what was made. */
void lz_buffer_forget(lz_buffer *b)
{
    lz_buffer *gone = b->made.memory;
    b->made = (lz_buffer_made){ 0 };
    if (let_go(gone))
        end(gone);
}

void lz_buffer_release(lz_buffer *b)
{
    if (!let_go(b))
        return;
    lz_buffer_forget(b);
    end(b);
}

bool lz_buffer_is_exclusive(const lz_buffer *b)
{
    return !b->read_only && atomic_load_explicit(&b->count, memory_order_acquire) == 1;
}

lz_buffer_stats lz_buffer_pool_stats(lz_buffer_pool *p)
{
    lz_lock_take(&p->lock);
    lz_buffer_stats s = p->stats;
    lz_lock_give(&p->lock);
    return s;
}

void lz_buffer_pool_reset_peak(lz_buffer_pool *p)
{
    lz_lock_take(&p->lock);
    p->stats.peak = p->stats.live;
    p->stats.asked_peak = p->stats.asked;
    lz_lock_give(&p->lock);
}
