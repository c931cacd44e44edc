/* slab.h - memory for many small objects of one size.
 *
 * Taking and returning an object costs a few nanoseconds; returned objects are reused first. When the last
 * object is returned, all chunks but one are freed; before that only lz_slab_trim frees chunks. Memory is not
 * zeroed and aligned to 16. For one thread only. */
#ifndef LZ_BASE_SLAB_H
#define LZ_BASE_SLAB_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

typedef struct lz_slab_chunk lz_slab_chunk;

typedef struct lz_slab {
    void *free; /* list; each object begins with a pointer to the next */
    char *next, *end;
    lz_slab_chunk *chunks;
    size_t size, live;
    size_t room; /* objects that fit into all chunks */
} lz_slab;

void lz_slab_init(lz_slab *s, size_t size); /* allocates nothing */
void lz_slab_deinit(lz_slab *s);

void *lz_slab_more(lz_slab *s); /* takes one from a new chunk; NULL: out of memory */
void lz_slab_shrink(lz_slab *s);
/* Frees chunks without objects in use, if that may be worth it: after many objects were returned while a few
 * are still in use. Takes time in proportion to the returned objects. */
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
    assert(p && s->live > 0);
    *(void **)p = s->free;
    s->free = p;
    if (--s->live == 0)
        lz_slab_shrink(s);
}

#endif
