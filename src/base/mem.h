/* mem.h - all heap memory, through the allocator hook of lazuli/base.h.
 *
 * NULL means failure; nothing here makes an lz_err, because errors are themselves allocated here. Sizes of
 * zero are rounded up to one byte, so NULL is never a success. */
#ifndef LZ_BASE_MEM_H
#define LZ_BASE_MEM_H

#include <lazuli/base.h>
#include <stdbool.h>

enum { LZ_MEM_ALIGN = 16 };

void *lz_mem_alloc(size_t size);
void *lz_mem_zalloc(size_t count, size_t size); /* overflow-checked, zeroed */
void *lz_mem_resize(void *ptr, size_t size);
void *lz_mem_alloc_aligned(size_t size, size_t align); /* align: a power of two */
void lz_mem_free(void *ptr);

/* false on overflow */
bool lz_size_mul(size_t a, size_t b, size_t *out);
bool lz_size_add(size_t a, size_t b, size_t *out);

/* ---- workspaces: memory that the runs of one graph use again and again (workspace.c) ---- */

/* While a thread has entered a workspace, buffers and temporary memory come from it, so a run that takes no
 * more than an earlier one calls no allocator. A run that takes more gets the rest from the heap; the
 * workspace grows when the thread leaves it. Not for two threads at once. */
typedef struct lz_workspace {
    struct lz_buffer_pool *memory; /* of the owner, who makes and releases it */
    char *block;                   /* of temporary memory, taken from its beginning upwards */
    size_t room, top;              /* bytes of the block; bytes below the highest place in use */
    size_t live;                   /* places in use */
    size_t outside, most;          /* bytes in use that the block had no room for; the most of both at once */
    struct lz_workspace *former;
} lz_workspace;

void lz_workspace_deinit(lz_workspace *w); /* zeroed memory is an empty workspace */

void lz_workspace_enter(lz_workspace *w);
void lz_workspace_leave(lz_workspace *w); /* requires that all temporary memory was given back */

bool lz_workspace_is_entered(void);
/* The pool for buffers of the current run: `usual`, or the pool of the workspace. */
struct lz_buffer_pool *lz_workspace_memory(struct lz_buffer_pool *usual);

/* Temporary memory, from the heap if the thread has entered no workspace. What was taken
 * from a workspace is given back by the same thread, before it leaves the workspace. NULL: out of memory.
 * align: a power of two. */
void *lz_temporary_take(size_t size, size_t align);
void *lz_temporary_zeroed(size_t count, size_t size); /* NULL also where the product overflows */
void lz_temporary_give(void *p);                      /* NULL does nothing */

#endif
