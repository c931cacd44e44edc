#include "lazy/cache.h"
#include "base/lock.h"
#include "base/mem.h"
#include <string.h>

typedef enum state { COMPILING, READY, REDIRECT, GONE } state;

typedef struct lz_cached lz_cached;
struct lz_cached {
    lz_cached *chain;         /* of the bucket */
    lz_cached *newer, *older; /* by use; only those that are READY or REDIRECT */
    lz_hash hash;
    size_t n;
    state state;
    uint32_t users;      /* who wait for it, or make it; it stays while there are some */
    unsigned generation; /* in which it is being made (lz_fork_count) */
    lz_recipe *recipe;
    size_t bytes; /* that all of it takes; while it is listed */
    uint32_t *order;
    lz_loc *locs;
    const uint64_t *words; /* `own`, or those of the recipe */
    uint64_t *own;
};

struct lz_cache {
    lz_lock lock;
    size_t limit, count, recipes; /* count: in the list */
    size_t most_bytes, bytes;     /* of the list */
    lz_cached *newest, *oldest;
    lz_cached **buckets;
    size_t nbuckets, entries;
    uint64_t *dropped; /* [DROPPED], by hash: the rest of the hash of a graph that had to go; NULL: none */
};

enum { FIRST_BUCKETS = 64, DROPPED = 1 << 12 };

lz_err *lz_cache_create(size_t limit, size_t bytes, lz_cache **out)
{
    lz_cache *c = lz_mem_zalloc(1, sizeof *c);
    lz_cached **buckets = lz_mem_zalloc(FIRST_BUCKETS, sizeof(lz_cached *));
    if (!c || !buckets) {
        lz_mem_free(c);
        lz_mem_free(buckets);
        return lz_err_oom();
    }
    c->buckets = buckets;
    c->nbuckets = FIRST_BUCKETS;
    c->limit = limit;
    c->most_bytes = bytes;
    lz_lock_init(&c->lock);
    *out = c;
    return NULL;
}

/* ---- table and list ---- */

static lz_cached **bucket_of(const lz_cache *c, lz_hash h)
{
    return &c->buckets[h.lo & (c->nbuckets - 1)];
}

static lz_cached *find(const lz_cache *c, const lz_flat *f)
{
    lz_cached *x = *bucket_of(c, f->hash);
    while (x && !(lz_hash_eq(x->hash, f->hash) && x->n == f->n && memcmp(x->words, f->words, 8 * f->n) == 0))
        x = x->chain;
    return x;
}

static void grow(lz_cache *c)
{
    size_t n = c->nbuckets * 4;
    lz_cached **buckets = lz_mem_zalloc(n, sizeof(lz_cached *)), **old = c->buckets;
    size_t nold = c->nbuckets;
    if (!buckets)
        return;
    c->buckets = buckets;
    c->nbuckets = n;
    for (size_t i = 0; i < nold; i++)
        for (lz_cached *x = old[i], *next; x; x = next) {
            lz_cached **to = bucket_of(c, x->hash);
            next = x->chain;
            x->chain = *to;
            *to = x;
        }
    lz_mem_free(old);
}

static void unlist(lz_cache *c, lz_cached *x)
{
    *(x->newer ? &x->newer->older : &c->newest) = x->older;
    *(x->older ? &x->older->newer : &c->oldest) = x->newer;
    x->newer = x->older = NULL;
    c->count--;
    c->bytes -= x->bytes;
}

static void list(lz_cache *c, lz_cached *x)
{
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
           + (x->recipe ? lz_recipe_bytes(x->recipe) : 0);
}

static void free_entry(lz_cached *x)
{
    lz_recipe_release(x->recipe);
    lz_mem_free(x->order);
    lz_mem_free(x->locs);
    lz_mem_free(x->own);
    lz_mem_free(x);
}

static bool is_listed(const lz_cached *x)
{
    return x->state == READY || x->state == REDIRECT;
}

static void leave(lz_cached *x)
{
    if (--x->users == 0 && x->state == GONE)
        free_entry(x);
}

/* Out of table and list; freed when nobody waits for it. */
static void drop(lz_cache *c, lz_cached *x)
{
    lz_cached **p = bucket_of(c, x->hash);
    while (*p != x)
        p = &(*p)->chain;
    *p = x->chain;
    c->entries--;
    if (is_listed(x))
        unlist(c, x);
    c->recipes -= x->state == READY;
    x->state = GONE;
    if (x->users == 0)
        free_entry(x);
}

/* Graphs that had to go are remembered, until others take their place: to notice that they are asked for
 * again. */
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
    while (c->recipes > c->limit || c->count > 2 * c->limit || (c->bytes > c->most_bytes && c->count > 1)) {
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
    lz_lock_deinit(&c->lock);
    lz_mem_free(c->dropped);
    lz_mem_free(c->buckets);
    lz_mem_free(c);
}

void lz_cache_set_limit(lz_cache *c, size_t limit)
{
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
    if (++c->entries > c->nbuckets)
        grow(c);
    lz_cached **bucket = bucket_of(c, x->hash);
    x->chain = *bucket;
    *bucket = x;
    *out = x;
    return NULL;
}

static void use(lz_cache *c, lz_cached *x)
{
    if (c->newest == x)
        return;
    unlist(c, x);
    list(c, x);
}

static lz_err *find_or_insert(lz_cache *c, const lz_flat *f, const lz_loc *locs, uint32_t *room,
                              lz_ticket *out)
{
    lz_cached *x = find(c, f);
    while (x && x->state == COMPILING) {
        x->users++;
        if (x->generation != lz_fork_count())
            drop(c, x); /* its maker is in another process */
        while (x->state == COMPILING)
            lz_lock_wait(&c->lock);
        leave(x);
        x = find(c, f);
    }
    *out = (lz_ticket){ .again = !x && was_dropped(c, f->hash) };
    if (!x)
        return insert(c, f, locs, &out->to_make);
    use(c, x);
    if (x->state == READY) {
        out->recipe = lz_recipe_retain(x->recipe);
        return NULL;
    }
    memcpy(room, x->order, lz_flat_roots(f->words) * sizeof *room);
    out->order = room;
    return NULL;
}

lz_err *lz_cache_find(lz_cache *c, const lz_flat *f, const lz_loc *locs, uint32_t *room, lz_ticket *out)
{
    lz_lock_take(&c->lock);
    lz_err *e = find_or_insert(c, f, locs, room, out);
    lz_lock_give(&c->lock);
    return e;
}

lz_recipe *lz_cache_peek(lz_cache *c, const lz_flat *f)
{
    lz_lock_take(&c->lock);
    const lz_cached *x = find(c, f);
    lz_recipe *p = x && x->state == READY ? lz_recipe_retain(x->recipe) : NULL;
    lz_lock_give(&c->lock);
    return p;
}

static lz_cached *by_hash(const lz_cache *c, lz_hash h)
{
    lz_cached *x = *bucket_of(c, h);
    while (x && !(lz_hash_eq(x->hash, h) && is_listed(x)))
        x = x->chain;
    return x;
}

/* Also gives the words, so that the caller knows what the recipe takes. */
lz_recipe *lz_cache_peek_hash(lz_cache *c, lz_hash hash, lz_words *words)
{
    lz_recipe *p = NULL;
    lz_lock_take(&c->lock);
    lz_cached *x = by_hash(c, hash);
    lz_err *e = x && x->state == READY ? lz_vec_reserve(words, x->n) : NULL;
    if (x && x->state == READY && !e) {
        use(c, x);
        memcpy(words->data, x->words, 8 * x->n);
        words->len = x->n;
        p = lz_recipe_retain(x->recipe);
    }
    lz_lock_give(&c->lock);
    lz_err_free(e);
    return p;
}

/* A recipe that remembers its graph does so for both. */
static void adopt_words(lz_cached *x)
{
    if (!x->recipe->words)
        return;
    x->words = x->recipe->words;
    lz_mem_free(x->own);
    x->own = NULL;
}

void lz_cache_finish(lz_cache *c, lz_cached *made, lz_recipe *recipe)
{
    lz_lock_take(&c->lock);
    if (made->state == COMPILING && !recipe)
        drop(c, made);
    if (made->state == COMPILING) {
        made->state = READY;
        made->recipe = lz_recipe_retain(recipe);
        adopt_words(made);
        c->recipes++;
        made->bytes = bytes_of(made);
        list(c, made);
        evict(c);
    }
    leave(made);
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
    leave(made);
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
    size_t n = c->recipes;
    lz_lock_give(&c->lock);
    return n;
}

size_t lz_cache_bytes(lz_cache *c)
{
    lz_lock_take(&c->lock);
    size_t n = c->bytes;
    lz_lock_give(&c->lock);
    return n;
}

static void add_parts(const lz_cached *x, lz_cache_parts *to)
{
    size_t words = 8 * x->n, lines = lz_flat_nodes(x->words) * sizeof *x->locs;
    size_t executable = x->recipe ? lz_recipe_own_bytes(x->recipe) : 0;
    bool shared = !x->own && x->recipe; /* the words are the recipe's */
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
            more = fn(user, &f, x->locs, x->recipe);
    }
    lz_lock_give(&c->lock);
}
