#include "core/buffer.h"
#include "base/lock.h"
#include "base/mem.h"
#include "base/poison.h"
#include <assert.h>
#include <sys/mman.h>

enum {
    STEPS = 8, /* classes per doubling */
    STEPS_LOG = 3,
    LINEAR_LOG = 9, /* up to 512 bytes the classes are the multiples of 64 */
    CLASSES = STEPS + (64 - LINEAR_LOG) * STEPS,
    HUGE_PAGE = 2 << 20,
    LARGE = 1 << 16, /* blocks whose new pages take longer than finding a larger block */
};

/* The owner of a buffer's memory: a block of a pool, a block without a pool, or foreign memory. */
typedef struct lz_buffer_home {
    lz_buffer buffer; /* must be first */
    lz_buffer_pool *pool;
    lz_buffer_drop_fn *drop;
    void *user;
    size_t capacity; /* 0: foreign */
    size_t counted;  /* the capacity of the requested size's class, at most `capacity` */
    unsigned class;
    struct lz_buffer_home *next, *prev;   /* free blocks of the class, latest first */
    struct lz_buffer_home *newer, *older; /* all free blocks, in order of release */
} home;

struct lz_buffer_pool {
    lz_lock lock;
    size_t users; /* live buffers, plus one for the owner */
    size_t keep;
    size_t surplus; /* of live blocks: capacity that was not requested */
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
    assert(size <= PTRDIFF_MAX);
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

/* The next four require the lock. */
static void link_free(lz_buffer_pool *p, home *h)
{
    assert(h->class < CLASSES && h->pool == p && h->capacity);
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
    assert(p->stats.cached >= h->capacity);
    p->stats.cached -= h->capacity;
}

/* Unlinks the oldest free blocks until `keep` bytes are left; returns them as a list through `older`, to be
 * freed without the lock. */
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
    assert(p->users == 0 && p->stats.live == 0 && p->stats.cached == 0 && !p->newest);
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

/* A free block of the class. A large one may also come from a class up to twice as large, and for a brief use
 * from any larger class: where shapes change with every step, the system would spend more time on clearing
 * new pages than some steps take. */
static home *find_free(const lz_buffer_pool *p, size_class c, bool brief)
{
    unsigned last = c.capacity < LARGE ? c.index : brief ? CLASSES - 1 : c.index + STEPS;
    home *h = NULL;
    for (unsigned i = c.index; !h && i <= last && i < CLASSES; i++)
        h = p->free[i];
    return h;
}

/* NULL: no free block fits. */
static home *reuse(lz_buffer_pool *p, size_class c, size_t asked, bool brief)
{
    lz_lock_take(&p->lock);
    home *h = find_free(p, c, brief);
    if (h) {
        unlink_free(p, h);
        h->counted = c.capacity;
        p->surplus += h->capacity - c.capacity;
        count_live(p, c.capacity, asked);
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
        (void)madvise(data, capacity, MADV_HUGEPAGE); /* only advice: a kernel without huge pages is fine */
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
    h->capacity = h->counted = c.capacity;
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

static lz_err *create(lz_buffer_pool *p, size_t size, bool brief, lz_buffer **out)
{
    if (size > PTRDIFF_MAX)
        return lz_errf(LZ_ERR_MEMORY, "%zu bytes exceed the address space", size);
    size_class c = class_of(size);
    home *h = p ? reuse(p, c, size, brief) : NULL;
    if (!h) {
        h = fresh(p, c);
        if (!h)
            return lz_errf(LZ_ERR_MEMORY, "out of memory: no room for %zu bytes", size);
        if (p)
            count_fresh(p, c.capacity, size);
    }
    assert(h->capacity >= size && (uintptr_t)h->buffer.data % LZ_BUFFER_ALIGN == 0 && !h->buffer.read_only);
    h->buffer.size = size;
    atomic_init(&h->buffer.count, 1);
    *out = &h->buffer;
    return NULL;
}

lz_err *lz_buffer_create(lz_buffer_pool *p, size_t size, lz_buffer **out)
{
    return create(p, size, false, out);
}

lz_err *lz_buffer_create_brief(lz_buffer_pool *p, size_t size, lz_buffer **out)
{
    return create(p, size, true, out);
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
    assert(p->stats.live >= h->counted && p->stats.asked >= h->buffer.size && p->users > 0);
    p->stats.live -= h->counted;
    p->surplus -= h->capacity - h->counted;
    p->stats.asked -= h->buffer.size;
    bool kept = h->capacity <= p->keep; /* a block larger than the limit must not displace the others */
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
    assert(atomic_load_explicit(&b->count, memory_order_relaxed) > 0);
    atomic_fetch_add_explicit(&b->count, 1, memory_order_relaxed);
    return b;
}

/* Drops one reference; true if it was the last. */
static bool let_go(lz_buffer *b)
{
    return b && atomic_fetch_sub_explicit(&b->count, 1, memory_order_acq_rel) == 1;
}

static void end(lz_buffer *b)
{
    home *h = b->home;
    assert(&h->buffer == b && !b->made.memory);
    if (h->drop)
        h->drop(h->user, b->data, b->size);
    if (h->pool)
        give_back(h->pool, h);
    else
        free_home(h);
}

/* Derived memory has no derived memory itself, so this does not recurse. */
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
    s.cached += p->surplus;
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
