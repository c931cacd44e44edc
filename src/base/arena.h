/* arena.h - memory that is freed together.
 *
 * Chunks come from mem.h and grow geometrically. A mark remembers the current end; rewinding to it frees
 * everything allocated since. Under ASan memory outside live allocations is poisoned, so a use after rewind
 * is detected. */
#ifndef LZ_BASE_ARENA_H
#define LZ_BASE_ARENA_H

#include "base/err.h"
#include "base/str.h"

typedef struct lz_arena_chunk lz_arena_chunk;

typedef struct lz_arena {
    lz_arena_chunk *chunk; /* newest first */
    size_t used;           /* bytes used in it */
    size_t total;          /* bytes of all chunks, for limits and reports */
} lz_arena;

typedef struct lz_arena_mark {
    lz_arena_chunk *chunk;
    size_t used;
} lz_arena_mark;

void lz_arena_init(lz_arena *a); /* allocates nothing */
void lz_arena_deinit(lz_arena *a);

/* Zeroed, aligned to 16; NULL when memory is out. */
void *lz_arena_zalloc(lz_arena *a, size_t size);

lz_arena_mark lz_arena_save(const lz_arena *a);
void lz_arena_rewind(lz_arena *a, lz_arena_mark mark);
/* Frees all allocations but keeps the first chunk, so that filling the arena again need not take memory. */
void lz_arena_clear(lz_arena *a);

/* LZ_TRY(lz_arena_new(a, &p, n)): p points to n zeroed objects of its type. */
#define lz_arena_new(a, out, n) lz_arena_array((a), (n), sizeof **(out), (out))
LZ_MUST_USE lz_err *lz_arena_array(lz_arena *a, size_t count, size_t size, void *out);

/* A NUL-terminated copy; the view's len leaves the NUL out. */
LZ_MUST_USE lz_err *lz_arena_copy(lz_arena *a, lz_str s, lz_str *out);
LZ_MUST_USE lz_err *lz_arena_printf(lz_arena *a, lz_str *out, const char *fmt, ...) LZ_PRINTF(3, 4);

#endif
