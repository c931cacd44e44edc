#include "plan/kernel_order.h"
#include "base/hash.h"
#include <stdlib.h>
#include <string.h>

typedef struct frame {
    uint32_t item, next; /* next: the input to visit next */
} frame;

typedef struct walker {
    const lz_group *g;
    lz_kernel_order *out;
    bool *met, *mask_met;
    frame *stack;
    uint64_t *hashes; /* by item: hash of everything that the item is computed from */
} walker;

/* ---- walks ---- */

/* Appends a mask after its parents. */
static void meet_mask(walker *w, uint32_t mask)
{
    uint32_t chain[LZ_GROUP_MASKS + 1];
    int n = 0;
    for (uint32_t m = mask; m && !w->mask_met[m] && n <= LZ_GROUP_MASKS; m = w->g->masks.data[m].parent) {
        w->mask_met[m] = true;
        chain[n++] = m;
    }
    while (n-- > 0)
        w->out->masks[w->out->n_masks++] = chain[n];
}

static void leave(walker *w, uint32_t item)
{
    const lz_group_item *it = &w->g->items.data[item];
    meet_mask(w, it->mask);
    for (int k = 0; k < it->nin; k++)
        meet_mask(w, it->in_mask[k]);
    w->out->items[w->out->n_items++] = item;
}

/* Appends all items that the root needs, then the root. */
static void walk(walker *w, uint32_t root)
{
    size_t depth = 0;
    if (w->met[root])
        return;
    w->met[root] = true;
    w->stack[depth++] = (frame){ root, 0 };
    while (depth > 0) {
        frame *f = &w->stack[depth - 1];
        const lz_group_item *it = &w->g->items.data[f->item];
        if (f->next == it->nin) {
            leave(w, f->item);
            depth--;
            continue;
        }
        uint32_t in = it->in[f->next++];
        if (!w->met[in]) {
            w->met[in] = true;
            w->stack[depth++] = (frame){ in, 0 };
        }
    }
}

static void walk_all(walker *w)
{
    memset(w->met, 0, w->g->items.len * sizeof *w->met);
    memset(w->mask_met, 0, w->g->masks.len * sizeof *w->mask_met);
    w->out->n_items = w->out->n_masks = 0;
    for (size_t i = 0; i < w->g->stores.len; i++)
        walk(w, w->g->stores.data[w->out->stores[i]].item);
}

/* ---- hashes of the computation ---- */

/* The loops along which the item's index varies. */
static uint64_t loops_of(const lz_group *g, const lz_group_item *it)
{
    return it->rows ? lz_rows_loops(g, it->rows, it->node->ndim) : 0;
}

static bool only_moves(const lz_group_item *it)
{
    return !it->load && it->nin == 1 && (it->node->kind == LZ_LOW_INDEX || it->node->kind == LZ_LOW_RESHAPE);
}

static uint64_t hash_of(const walker *w, uint32_t item)
{
    const lz_group_item *it = &w->g->items.data[item];
    const lz_low_node *n = it->node;
    if (only_moves(it))
        return w->hashes[it->in[0]];
    uint64_t parts[5 + LZ_ITEM_INPUTS] = { it->load ? LZ_LOW_INPUT : n->kind, it->load ? 0 : n->op,
                                           (uint64_t)n->dtype, it->load ? loops_of(w->g, it) : 0 };
    bool fixed = n->kind == LZ_LOW_CONST && !n->op
                 && !it->load; /* a constant that depends on sizes becomes an argument of the kernel */
    parts[4] = fixed ? lz_hash64(n->attr, n->attr_size) : 0;
    for (int k = 0; k < it->nin; k++)
        parts[5 + k] = w->hashes[it->in[k]];
    return lz_hash64(parts, sizeof parts);
}

/* ---- stores ---- */

typedef struct ranked {
    uint64_t hash;
    uint32_t store;
} ranked;

static int by_hash(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    return x->hash != y->hash ? (x->hash > y->hash) - (x->hash < y->hash)
                              : (x->store > y->store) - (x->store < y->store);
}

static lz_err *sort_stores(walker *w, lz_arena *arena)
{
    ranked *order;
    size_t n = w->g->stores.len;
    for (size_t i = 0; i < w->out->n_items; i++)
        w->hashes[w->out->items[i]] = hash_of(w, w->out->items[i]);
    LZ_TRY(lz_arena_new(arena, &order, n + 1));
    for (uint32_t i = 0; i < n; i++)
        order[i] = (ranked){ w->hashes[w->g->stores.data[i].item], i };
    qsort(order, n, sizeof *order, by_hash);
    for (size_t i = 0; i < n; i++)
        w->out->stores[i] = order[i].store;
    return NULL;
}

lz_err *lz_kernel_order_find(const lz_group *g, lz_arena *arena, lz_kernel_order *out)
{
    walker w = { .g = g, .out = out };
    LZ_TRY(lz_arena_new(arena, &out->items, g->items.len + 1));
    LZ_TRY(lz_arena_new(arena, &out->masks, g->masks.len + 1));
    LZ_TRY(lz_arena_new(arena, &out->stores, g->stores.len + 1));
    LZ_TRY(lz_arena_new(arena, &w.met, g->items.len + 1));
    LZ_TRY(lz_arena_new(arena, &w.mask_met, g->masks.len + 1));
    LZ_TRY(lz_arena_new(arena, &w.stack, g->items.len + 1));
    LZ_TRY(lz_arena_new(arena, &w.hashes, g->items.len + 1));
    for (uint32_t i = 0; i < g->stores.len; i++)
        out->stores[i] = i;
    walk_all(&w);
    LZ_TRY(sort_stores(&w, arena));
    walk_all(&w);
    return NULL;
}
