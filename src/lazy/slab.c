#include "lazy/slab.h"
#include "base/mem.h"

enum { CHUNK_BYTES = 64 << 10, ALIGN = 16 };

struct lz_slab_chunk {
    lz_slab_chunk *next;
    size_t pad; /* objects begin aligned */
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

static void start(lz_slab *s)
{
    s->next = (char *)(s->chunks + 1);
    s->end = s->next + CHUNK_BYTES / s->size * s->size;
}

void *lz_slab_more(lz_slab *s)
{
    lz_slab_chunk *c = lz_mem_alloc(sizeof *c + CHUNK_BYTES);
    if (!c)
        return NULL;
    c->next = s->chunks;
    s->chunks = c;
    start(s);
    void *p = s->next;
    s->next += s->size;
    return p;
}

void lz_slab_shrink(lz_slab *s)
{
    if (!s->chunks || !s->chunks->next)
        return;
    free_chunks(s->chunks->next);
    s->chunks->next = NULL;
    s->free = NULL;
    start(s);
}
