#include "lazy/cache.h"
#include "base/hash_table.h"
#include "base/lock.h"
#include "base/mem.h"
#include <assert.h>
#include <string.h>

typedef enum state { COMPILING, READY, REDIRECT, GONE } state;

typedef struct lz_cached lz_cached;
struct lz_cached {
    lz_hash_link link;
    lz_cached *newer, *older; /* by use; only entries that are READY or REDIRECT */
    lz_hash hash;
    size_t n;
    state state;
    uint32_t users; /* threads that compile the entry or wait for it; the entry stays while there are users */
    unsigned generation; /* the fork count of the process that compiles it (lz_fork_count) */
    lz_executable *executable;
    size_t bytes; /* of the entry and its executable; valid while it is listed */
    uint32_t *order;
    lz_loc *locs;
    const uint64_t *words; /* `own`, or those of the executable */
    uint64_t *own;
};

struct lz_cache {
    lz_lock lock;
    size_t limit, count, executables; /* count: entries of the list */
    size_t most_bytes, bytes;         /* of the list */
    lz_cached *newest, *oldest;
    lz_hash_table entries;
    uint64_t *dropped; /* [DROPPED], by hash.lo: hash.hi of an evicted graph; NULL: nothing was evicted */
};

enum { DROPPED = 1 << 12 };

lz_err *lz_cache_create(size_t limit, size_t bytes, lz_cache **out)
{
    lz_cache *c = lz_mem_zalloc(1, sizeof *c);
    if (!c)
        return lz_err_oom();
    c->limit = limit;
    c->most_bytes = bytes;
    lz_lock_init(&c->lock);
    *out = c;
    return NULL;
}

/* ---- table and list ---- */

static uint64_t hash_of(const void *item)
{
    return ((const lz_cached *)item)->hash.lo;
}

static const lz_hash_kind graphs = { offsetof(lz_cached, link), hash_of };

static bool same(const void *item, const void *key)
{
    const lz_cached *x = item;
    const lz_flat *f = key;
    return lz_hash_eq(x->hash, f->hash) && x->n == f->n
           && (x->words == f->words || memcmp(x->words, f->words, 8 * f->n) == 0);
}

static lz_cached *find(const lz_cache *c, const lz_flat *f)
{
    return lz_hash_table_find(&c->entries, &graphs, f->hash.lo, same, f);
}

static void unlist(lz_cache *c, lz_cached *x)
{
    assert(c->count > 0 && c->bytes >= x->bytes);
    *(x->newer ? &x->newer->older : &c->newest) = x->older;
    *(x->older ? &x->older->newer : &c->oldest) = x->newer;
    x->newer = x->older = NULL;
    c->count--;
    c->bytes -= x->bytes;
}

static void list(lz_cache *c, lz_cached *x)
{
    assert(!x->newer && !x->older && c->newest != x);
    x->older = c->newest;
    *(c->newest ? &c->newest->newer : &c->oldest) = x;
    c->newest = x;
    c->count++;
    c->bytes += x->bytes;
}

static size_t bytes_of(const lz_cached *x)
{
    size_t nodes = lz_flat_nodes(x->words), roots = x->order ? lz_flat_roots(x->words) : 0;
    return sizeof *x + (x->own ? 8 * x->n : 0) + nodes * sizeof *x->locs + roots * sizeof *x->order
           + (x->executable ? lz_executable_bytes(x->executable) : 0);
}

static void free_entry(lz_cached *x)
{
    lz_executable_release(x->executable);
    lz_mem_free(x->order);
    lz_mem_free(x->locs);
    lz_mem_free(x->own);
    lz_mem_free(x);
}

static bool is_listed(const lz_cached *x)
{
    return x->state == READY || x->state == REDIRECT;
}

static void entry_unuse(lz_cached *x)
{
    assert(x->users > 0);
    if (--x->users == 0 && x->state == GONE)
        free_entry(x);
}

/* Removes x from table and list; frees x when no user is left. */
static void drop(lz_cache *c, lz_cached *x)
{
    assert(x->state != GONE && c->entries.count > 0);
    lz_hash_table_remove(&c->entries, &graphs, x);
    if (is_listed(x))
        unlist(c, x);
    c->executables -= x->state == READY;
    x->state = GONE;
    if (x->users == 0)
        free_entry(x);
}

/* Remembers the hash of an evicted graph until another hash takes the slot. A later lookup of the graph then
 * finds out that the cache was too small. */
static void remember(lz_cache *c, const lz_cached *x)
{
    if (!c->dropped)
        c->dropped = lz_mem_zalloc(DROPPED, sizeof *c->dropped);
    if (c->dropped && x->state == READY)
        c->dropped[x->hash.lo % DROPPED] = x->hash.hi;
}

static bool was_dropped(const lz_cache *c, lz_hash h)
{
    return c->dropped && h.hi && c->dropped[h.lo % DROPPED] == h.hi;
}

static void evict(lz_cache *c)
{
    while (c->executables > c->limit || c->count > 2 * c->limit
           || (c->bytes > c->most_bytes && c->count > 1)) {
        assert(c->oldest && is_listed(c->oldest));
        remember(c, c->oldest);
        drop(c, c->oldest);
    }
}

void lz_cache_destroy(lz_cache *c)
{
    if (!c)
        return;
    while (c->oldest)
        drop(c, c->oldest);
    assert(c->entries.count == 0 && c->count == 0 && c->bytes == 0); /* no thread is compiling */
    lz_lock_deinit(&c->lock);
    lz_mem_free(c->dropped);
    lz_hash_table_deinit(&c->entries);
    lz_mem_free(c);
}

void lz_cache_set_limit(lz_cache *c, size_t limit)
{
    assert(limit >= 1);
    lz_lock_take(&c->lock);
    c->limit = limit;
    evict(c);
    lz_lock_give(&c->lock);
}

size_t lz_cache_limit(lz_cache *c)
{
    lz_lock_take(&c->lock);
    size_t n = c->limit;
    lz_lock_give(&c->lock);
    return n;
}

void lz_cache_set_bytes(lz_cache *c, size_t bytes)
{
    lz_lock_take(&c->lock);
    c->most_bytes = bytes;
    evict(c);
    lz_lock_give(&c->lock);
}

/* ---- looking for one ---- */

static lz_err *insert(lz_cache *c, const lz_flat *f, const lz_loc *locs, lz_cached **out)
{
    size_t nodes = lz_flat_nodes(f->words);
    LZ_TRY(lz_hash_table_reserve(&c->entries, &graphs));
    lz_cached *x = lz_mem_zalloc(1, sizeof *x);
    if (!x)
        return lz_err_oom();
    x->own = lz_mem_alloc(8 * f->n);
    x->locs = lz_mem_zalloc(nodes + 1, sizeof *x->locs);
    if (!x->own || !x->locs) {
        free_entry(x);
        return lz_err_oom();
    }
    x->hash = f->hash;
    x->n = f->n;
    x->users = 1;
    x->generation = lz_fork_count();
    x->words = x->own;
    memcpy(x->own, f->words, 8 * f->n);
    if (locs)
        memcpy(x->locs, locs, nodes * sizeof *locs);
    lz_hash_table_add(&c->entries, &graphs, x->hash.lo, x);
    *out = x;
    return NULL;
}

static void use(lz_cache *c, lz_cached *x)
{
    assert(is_listed(x));
    if (c->newest == x)
        return;
    unlist(c, x);
    list(c, x);
}

static lz_err *find_or_insert(lz_cache *c, const lz_flat *f, const lz_loc *locs, uint32_t *room,
                              lz_cache_lookup *out)
{
    lz_cached *x = find(c, f);
    while (x && x->state == COMPILING) {
        x->users++;
        if (x->generation != lz_fork_count())
            drop(c, x); /* the thread that compiled x is in another process */
        while (x->state == COMPILING)
            lz_lock_wait(&c->lock);
        entry_unuse(x);
        x = find(c, f);
    }
    *out = (lz_cache_lookup){ .again = !x && was_dropped(c, f->hash) };
    if (!x)
        return insert(c, f, locs, &out->to_make);
    use(c, x);
    if (x->state == READY) {
        out->executable = lz_executable_retain(x->executable);
        return NULL;
    }
    memcpy(room, x->order, lz_flat_roots(f->words) * sizeof *room);
    out->order = room;
    return NULL;
}

lz_err *lz_cache_find(lz_cache *c, const lz_flat *f, const lz_loc *locs, uint32_t *room, lz_cache_lookup *out)
{
    lz_lock_take(&c->lock);
    lz_err *e = find_or_insert(c, f, locs, room, out);
    lz_lock_give(&c->lock);
    return e;
}

lz_executable *lz_cache_peek(lz_cache *c, const lz_flat *f)
{
    lz_lock_take(&c->lock);
    const lz_cached *x = find(c, f);
    lz_executable *p = x && x->state == READY ? lz_executable_retain(x->executable) : NULL;
    lz_lock_give(&c->lock);
    return p;
}

static bool is_listed_as(const void *item, const void *key)
{
    const lz_cached *x = item;
    return lz_hash_eq(x->hash, *(const lz_hash *)key) && is_listed(x);
}

static lz_cached *by_hash(const lz_cache *c, lz_hash h)
{
    return lz_hash_table_find(&c->entries, &graphs, h.lo, is_listed_as, &h);
}

lz_executable *lz_cache_hold(lz_cache *c, const lz_flat *f)
{
    lz_lock_take(&c->lock);
    const lz_cached *x = by_hash(c, f->hash);
    bool there = x && x->state == READY && x->n == f->n && x->words == f->words;
    lz_executable *p = there ? lz_executable_retain(x->executable) : NULL;
    lz_lock_give(&c->lock);
    return p;
}

/* Also copies the words, from which the caller knows the parameters of the executable. */
lz_err *lz_cache_peek_hash(lz_cache *c, lz_hash hash, lz_words *words, lz_executable **out)
{
    *out = NULL;
    lz_lock_take(&c->lock);
    lz_cached *x = by_hash(c, hash);
    bool there = x && x->state == READY;
    lz_err *e = there && words ? lz_vec_reserve(words, x->n) : NULL;
    if (there && !e) {
        use(c, x);
        if (words) {
            memcpy(words->data, x->words, 8 * x->n);
            words->len = x->n;
        }
        *out = lz_executable_retain(x->executable);
    }
    lz_lock_give(&c->lock);
    return e;
}

/* An executable that keeps its words lends them to the entry. */
static void adopt_words(lz_cached *x)
{
    if (!x->executable->words)
        return;
    x->words = x->executable->words;
    lz_mem_free(x->own);
    x->own = NULL;
}

void lz_cache_finish(lz_cache *c, lz_cached *made, lz_executable *executable)
{
    lz_lock_take(&c->lock);
    if (made->state == COMPILING && !executable)
        drop(c, made);
    if (made->state == COMPILING) {
        made->state = READY;
        made->executable = lz_executable_retain(executable);
        adopt_words(made);
        c->executables++;
        made->bytes = bytes_of(made);
        list(c, made);
        evict(c);
    }
    entry_unuse(made);
    lz_lock_wake(&c->lock);
    lz_lock_give(&c->lock);
}

void lz_cache_redirect(lz_cache *c, lz_cached *made, const uint32_t *order, size_t n)
{
    uint32_t *own = lz_mem_alloc(n * sizeof *own);
    lz_lock_take(&c->lock);
    if (made->state == COMPILING && !own)
        drop(c, made);
    if (own && made->state == COMPILING) {
        memcpy(own, order, n * sizeof *own);
        made->order = own;
        made->state = REDIRECT;
        made->bytes = bytes_of(made);
        list(c, made);
        own = NULL;
        evict(c);
    }
    entry_unuse(made);
    lz_lock_wake(&c->lock);
    lz_lock_give(&c->lock);
    lz_mem_free(own);
}

/* ---- for people ---- */

void lz_cache_drop(lz_cache *c)
{
    lz_lock_take(&c->lock);
    while (c->oldest)
        drop(c, c->oldest);
    lz_lock_give(&c->lock);
}

bool lz_cache_drop_hash(lz_cache *c, lz_hash hash)
{
    lz_lock_take(&c->lock);
    lz_cached *x = by_hash(c, hash);
    if (x)
        drop(c, x);
    lz_lock_give(&c->lock);
    return x != NULL;
}

size_t lz_cache_size(lz_cache *c)
{
    lz_lock_take(&c->lock);
    size_t n = c->executables;
    lz_lock_give(&c->lock);
    return n;
}

static void add_parts(const lz_cached *x, lz_cache_parts *to)
{
    size_t words = 8 * x->n, lines = lz_flat_nodes(x->words) * sizeof *x->locs;
    size_t executable = x->executable ? lz_executable_own_bytes(x->executable) : 0;
    bool shared = !x->own && x->executable; /* the words belong to the executable */
    to->lines += lines;
    to->executables += executable - (shared ? words : 0);
    to->keys += sizeof *x + (x->own || shared ? words : 0)
                + (x->order ? lz_flat_roots(x->words) * sizeof *x->order : 0);
}

lz_cache_parts lz_cache_measure(lz_cache *c)
{
    lz_lock_take(&c->lock);
    lz_cache_parts p = { .all = c->bytes };
    for (const lz_cached *x = c->newest; x; x = x->older)
        add_parts(x, &p);
    lz_lock_give(&c->lock);
    p.computations = p.all - p.keys - p.lines - p.executables;
    return p;
}

void lz_cache_each(lz_cache *c, lz_cache_fn *fn, void *user)
{
    lz_lock_take(&c->lock);
    bool more = true;
    for (lz_cached *x = c->newest; more && x; x = x->older) {
        lz_flat f = { x->words, x->n, x->hash };
        if (x->state == READY)
            more = fn(user, &f, x->locs, x->executable);
    }
    lz_lock_give(&c->lock);
}
