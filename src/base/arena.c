#include "base/arena.h"
#include "base/mem.h"
#include "base/poison.h"
#include <stdarg.h>
#include <stdio.h>

enum { FIRST_CHUNK = 1024, LARGEST_CHUNK = 1 << 22, RED_ZONE = 16 };

struct lz_arena_chunk {
    lz_arena_chunk *prev;
    size_t size;
    _Alignas(LZ_MEM_ALIGN) unsigned char data[];
};

void lz_arena_init(lz_arena *a)
{
    *a = (lz_arena){ 0 };
}

static void drop_chunk(lz_arena *a)
{
    lz_arena_chunk *c = a->chunk;
    a->chunk = c->prev;
    a->total -= c->size;
    LZ_UNPOISON(c->data, c->size);
    lz_mem_free(c);
}

void lz_arena_deinit(lz_arena *a)
{
    while (a->chunk)
        drop_chunk(a);
    *a = (lz_arena){ 0 };
}

static bool add_chunk(lz_arena *a, size_t need)
{
    size_t size = a->total / 4, bytes; /* so that at most a fifth of all chunks is unused */
    size = size < FIRST_CHUNK ? FIRST_CHUNK : size > LARGEST_CHUNK ? LARGEST_CHUNK : size;
    size = size < need ? need : size;
    lz_arena_chunk *c = lz_size_add(size, sizeof *c, &bytes) ? lz_mem_alloc(bytes) : NULL;
    if (!c)
        return false;
    c->prev = a->chunk;
    c->size = size;
    LZ_POISON(c->data, size);
    a->chunk = c;
    a->used = 0;
    a->total += size;
    return true;
}

void *lz_arena_zalloc(lz_arena *a, size_t size)
{
    size_t need;
    if (!lz_size_add(size, LZ_MEM_ALIGN - 1, &need))
        return NULL;
    need &= ~(size_t)(LZ_MEM_ALIGN - 1);
#ifdef LZ_ASAN
    need += RED_ZONE; /* stays poisoned, so that ASan detects an overrun */
#endif
    if ((!a->chunk || need > a->chunk->size - a->used) && !add_chunk(a, need))
        return NULL;
    void *p = a->chunk->data + a->used;
    a->used += need;
    LZ_UNPOISON(p, size);
    memset(p, 0, size);
    return p;
}

lz_arena_mark lz_arena_save(const lz_arena *a)
{
    return (lz_arena_mark){ .chunk = a->chunk, .used = a->used };
}

void lz_arena_rewind(lz_arena *a, lz_arena_mark mark)
{
    while (a->chunk != mark.chunk)
        drop_chunk(a);
    a->used = mark.used;
    if (a->chunk)
        LZ_POISON(a->chunk->data + a->used, a->chunk->size - a->used);
}

void lz_arena_clear(lz_arena *a)
{
    lz_arena_mark start = { .chunk = a->chunk };
    while (start.chunk && start.chunk->prev)
        start.chunk = start.chunk->prev;
    lz_arena_rewind(a, start);
}

lz_err *lz_arena_array(lz_arena *a, size_t count, size_t size, void *out)
{
    size_t bytes;
    void *p = lz_size_mul(count, size, &bytes) ? lz_arena_zalloc(a, bytes) : NULL;
    if (!p)
        return lz_err_oom();
    memcpy(out, &p, sizeof p); /* out is a T **: writing through void ** would break aliasing */
    return NULL;
}

lz_err *lz_arena_copy(lz_arena *a, lz_str s, lz_str *out)
{
    char *p = lz_arena_zalloc(a, s.len + 1);
    if (!p)
        return lz_err_oom();
    if (s.len)
        memcpy(p, s.ptr, s.len);
    *out = (lz_str){ p, s.len };
    return NULL;
}

lz_err *lz_arena_printf(lz_arena *a, lz_str *out, const char *fmt, ...)
{
    va_list ap, again;
    va_start(ap, fmt);
    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, fmt, ap);
    char *p = n < 0 ? NULL : lz_arena_zalloc(a, (size_t)n + 1);
    if (p) {
        vsnprintf(p, (size_t)n + 1, fmt, again);
        *out = (lz_str){ p, (size_t)n };
    }
    va_end(again);
    va_end(ap);
    return p ? NULL : lz_err_oom();
}
