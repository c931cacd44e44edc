/* slab.h - memory for many small objects of one size.
 *
 * Objects are taken and given back one by one, in a few nanoseconds; what was given back is
 * taken again first. When the last one is back, all chunks but one go; before that only lz_slab_trim
 * frees chunks. Not zeroed, aligned to 16, and for one thread. */
#ifndef LZ_LAZY_SLAB_H
#define LZ_LAZY_SLAB_H

#include <stddef.h>
#include <stdint.h>

typedef struct lz_slab_chunk lz_slab_chunk;

typedef struct lz_slab {
    void *free; /* each begins with the next */
    char *next, *end;
    lz_slab_chunk *chunks;
    size_t size, live;
    size_t room; /* objects that fit into the chunks */
} lz_slab;

void lz_slab_init(lz_slab *s, size_t size); /* allocates nothing */
void lz_slab_deinit(lz_slab *s);

void *lz_slab_more(lz_slab *s); /* one from a new chunk, or NULL */
void lz_slab_shrink(lz_slab *s);
/* Frees the chunks without an object in use, where that may be worth it: after many objects were given back
 * while a few live on. Takes time in proportion to the objects that were given back. */
void lz_slab_trim(lz_slab *s);

static inline void *lz_slab_take(lz_slab *s)
{
    void *p = s->free;
    if (p) {
        s->free = *(void **)p;
    } else if (s->next != s->end) {
        p = s->next;
        s->next += s->size;
    } else {
        p = lz_slab_more(s);
    }
    s->live += p != NULL;
    return p;
}

static inline void lz_slab_give(lz_slab *s, void *p)
{
    *(void **)p = s->free;
    s->free = p;
    if (--s->live == 0)
        lz_slab_shrink(s);
}

#endif
