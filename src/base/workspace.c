/* Temporary memory, and workspaces that it comes from. */
#include "base/mem.h"
#include "base/poison.h"
#include <assert.h>
#include <stdint.h>
#include <string.h>

enum { LINE = 64 }; /* the alignment of a block */

static _Thread_local lz_workspace *current;

/* Lies before each place. */
typedef struct place_header {
    size_t begin; /* in the block: `top` before; on the heap: bytes from the allocation to the place */
    size_t
        bytes; /* on the heap: of the allocation if a workspace counts it, or 0; in the block: `top` after */
} place_header;

_Static_assert(sizeof(place_header) == LZ_MEM_ALIGN, "the memory behind a header must be aligned");

static void free_block(lz_workspace *w)
{
    LZ_UNPOISON(w->block, w->room);
    lz_mem_free(w->block);
    w->block = NULL;
    w->room = 0;
}

void lz_workspace_deinit(lz_workspace *w)
{
    free_block(w);
}

void lz_workspace_enter(lz_workspace *w)
{
    assert(!w->live && !w->outside);
    w->former = current;
    current = w;
}

/* Without memory for a larger block the next run takes from the heap again. */
static void grow(lz_workspace *w)
{
    free_block(w);
    w->block = lz_mem_alloc_aligned(w->most, LINE);
    w->room = w->block ? w->most : 0;
    LZ_POISON(w->block, w->room);
}

void lz_workspace_leave(lz_workspace *w)
{
    assert(current == w && !w->live && !w->outside);
    current = w->former;
    if (w->most > w->room)
        grow(w);
}

bool lz_workspace_is_entered(void)
{
    return current != NULL;
}

struct lz_buffer_pool *lz_workspace_memory(struct lz_buffer_pool *usual)
{
    return current ? current->memory : usual;
}

/* ---- temporary memory ---- */

static void count(lz_workspace *w)
{
    size_t now = w->top + w->outside;
    w->most = now > w->most ? now : w->most;
}

static void *take_inside(lz_workspace *w, size_t lead, size_t size)
{
    size_t begin = (w->top + lead - 1) / lead * lead, end;
    if (!lz_size_add(begin + lead, size, &end) || end > w->room)
        return NULL;
    char *p = w->block + begin + lead;
    LZ_UNPOISON(w->block + w->top, end - w->top);
    ((place_header *)(void *)p)[-1] = (place_header){ w->top, end };
    w->top = end;
    w->live++;
    count(w);
    return p;
}

static void *take_outside(lz_workspace *w, size_t lead, size_t size)
{
    size_t bytes;
    if (!lz_size_add(size, 2 * lead, &bytes)) /* in the block, an earlier place may end anywhere */
        return NULL;
    char *p = lz_mem_alloc_aligned(bytes, lead);
    if (!p)
        return NULL;
    ((place_header *)(void *)(p + lead))[-1] = (place_header){ lead, w ? bytes : 0 };
    if (w) {
        w->outside += bytes;
        count(w);
    }
    return p + lead;
}

void *lz_temporary_take(size_t size, size_t align)
{
    size_t lead = align > LZ_MEM_ALIGN ? align : LZ_MEM_ALIGN;
    void *p = current && lead <= LINE ? take_inside(current, lead, size) : NULL;
    return p ? p : take_outside(current, lead, size);
}

void *lz_temporary_zeroed(size_t count, size_t size)
{
    size_t total;
    void *p = lz_size_mul(count, size, &total) ? lz_temporary_take(total, LZ_MEM_ALIGN) : NULL;
    if (p)
        memset(p, 0, total);
    return p;
}

static bool is_inside(const lz_workspace *w, const char *p)
{
    return w && (uintptr_t)p > (uintptr_t)w->block && (uintptr_t)p <= (uintptr_t)w->block + w->room;
}

/* Places are mostly given back in the reverse order. The room of any other waits for the last place. */
static void give_inside(lz_workspace *w, place_header h)
{
    size_t top = w->top;
    assert(w->live > 0);
    w->live--;
    w->top = w->live == 0 ? 0 : h.bytes == top ? h.begin : top;
    LZ_POISON(w->block + w->top, top - w->top);
}

void lz_temporary_give(void *p)
{
    if (!p)
        return;
    place_header h = ((place_header *)p)[-1];
    if (is_inside(current, p)) {
        give_inside(current, h);
        return;
    }
    if (h.bytes) {
        assert(current && current->outside >= h.bytes);
        current->outside -= h.bytes;
    }
    lz_mem_free((char *)p - h.begin);
}
