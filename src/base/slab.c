#include "base/slab.h"
#include "base/mem.h"
#include <assert.h>
#include <stdlib.h>

/* Chunks grow with the slab, so that those that lz_slab_trim frees are large enough for other uses. */
enum { CHUNK_BYTES = 64 << 10, LARGEST_CHUNK = 1 << 20, ALIGN = 16, TRIM_BYTES = 1 << 20 };

struct lz_slab_chunk {
    lz_slab_chunk *next;
    size_t room;                 /* capacity in objects */
    _Alignas(ALIGN) size_t free; /* number of its objects in the free list, during lz_slab_trim */
};

void lz_slab_init(lz_slab *s, size_t size)
{
    *s = (lz_slab){ .size = (size + ALIGN - 1) / ALIGN * ALIGN };
}

static void free_chunks(lz_slab_chunk *c)
{
    while (c) {
        lz_slab_chunk *next = c->next;
        lz_mem_free(c);
        c = next;
    }
}

void lz_slab_deinit(lz_slab *s)
{
    free_chunks(s->chunks);
    lz_slab_init(s, s->size);
}

static char *begin_of(const lz_slab_chunk *c)
{
    return (char *)(c + 1);
}

static char *end_of(const lz_slab *s, const lz_slab_chunk *c)
{
    return begin_of(c) + c->room * s->size;
}

static void start(lz_slab *s)
{
    s->next = begin_of(s->chunks);
    s->end = end_of(s, s->chunks);
}

static size_t next_bytes(const lz_slab *s)
{
    size_t bytes = s->room * s->size / 4;
    bytes = bytes < CHUNK_BYTES ? CHUNK_BYTES : bytes > LARGEST_CHUNK ? LARGEST_CHUNK : bytes;
    return bytes / s->size * s->size;
}

void *lz_slab_more(lz_slab *s)
{
    size_t bytes = next_bytes(s);
    lz_slab_chunk *c = lz_mem_alloc(sizeof *c + bytes);
    if (!c)
        return NULL;
    c->next = s->chunks;
    c->room = bytes / s->size;
    s->room += c->room;
    s->chunks = c;
    start(s);
    void *p = s->next;
    s->next += s->size;
    return p;
}

void lz_slab_shrink(lz_slab *s)
{
    assert(s->live == 0);
    if (!s->chunks || !s->chunks->next)
        return;
    free_chunks(s->chunks->next);
    s->chunks->next = NULL;
    s->room = s->chunks->room;
    s->free = NULL;
    start(s);
}

/* ---- freeing single chunks ---- */

typedef struct index {
    lz_slab_chunk **chunks; /* sorted by address */
    size_t n;
} index;

static int by_address(const void *a, const void *b)
{
    const lz_slab_chunk *const *x = a, *const *y = b;
    return (*x > *y) - (*x < *y);
}

static bool make_index(const lz_slab *s, index *out)
{
    size_t n = 0;
    for (lz_slab_chunk *c = s->chunks; c; c = c->next)
        n++;
    *out = (index){ .n = n, .chunks = lz_mem_alloc(n * sizeof *out->chunks) };
    if (!out->chunks)
        return false;
    n = 0;
    for (lz_slab_chunk *c = s->chunks; c; c = c->next) {
        c->free = 0;
        out->chunks[n++] = c;
    }
    qsort(out->chunks, n, sizeof *out->chunks, by_address);
    return true;
}

/* The chunk of an object. Neighbours in the free list are mostly in one chunk: *last is tried first. */
static lz_slab_chunk *chunk_of(const lz_slab *s, const index *x, const void *p, lz_slab_chunk **last)
{
    const char *at = p;
    if (*last && at >= begin_of(*last) && at < end_of(s, *last))
        return *last;
    size_t low = 0, high = x->n;
    while (high - low > 1) {
        size_t mid = low + (high - low) / 2;
        if ((const char *)x->chunks[mid] < at)
            low = mid;
        else
            high = mid;
    }
    *last = x->chunks[low];
    return *last;
}

static bool is_empty(const lz_slab *s, const lz_slab_chunk *c)
{
    return c != s->chunks && c->free == c->room;
}

/* Removes objects of empty chunks from the free list. */
static void filter_free(lz_slab *s, const index *x)
{
    lz_slab_chunk *last = NULL;
    void **to = &s->free;
    for (void *p = s->free, *next; p; p = next) {
        next = *(void **)p;
        if (is_empty(s, chunk_of(s, x, p, &last)))
            continue;
        *to = p;
        to = p;
    }
    *to = NULL;
}

static void free_empty(lz_slab *s)
{
    for (lz_slab_chunk *c = s->chunks, *next = c->next; next; next = c->next) {
        if (!is_empty(s, next)) {
            c = next;
            continue;
        }
        c->next = next->next;
        s->room -= next->room;
        lz_mem_free(next);
    }
}

/* Keeps the first chunk: new objects are cut from it. */
void lz_slab_trim(lz_slab *s)
{
    index x;
    lz_slab_chunk *last = NULL;
    if (s->room - s->live < TRIM_BYTES / s->size || !make_index(s, &x))
        return;
    for (void *p = s->free; p; p = *(void **)p)
        chunk_of(s, &x, p, &last)->free++;
    filter_free(s, &x);
    free_empty(s);
    lz_mem_free(x.chunks);
}
