/* order_list.h - a list whose elements can be compared: which of two comes first?
 *
 * Elements are numbers from 0, in the order in which they were added. Each has a label; labels grow
 * along the list. Where no label is free between two neighbours, those of some elements around are
 * spread anew: over a region that is twice as large each time, until it is sparse enough. So an
 * insertion costs O(log n) on average, and a comparison O(1).
 *
 *     lz_order_add_first(&l, &a);       a
 *     lz_order_add_first(&l, &b);       b a
 *     lz_order_move_before(&l, a, b);   a b */
#ifndef LZ_BASE_ORDER_LIST_H
#define LZ_BASE_ORDER_LIST_H

#include "base/vec.h"
#include <stdbool.h>
#include <stdint.h>

enum { LZ_ORDER_END = UINT32_MAX };

typedef struct lz_order_item {
    uint64_t label;
    uint32_t before, behind; /* LZ_ORDER_END: there is none */
} lz_order_item;

typedef struct lz_order_list {
    LZ_VEC(lz_order_item) items;
    uint32_t first, last; /* of no meaning while there are no items */
} lz_order_list;

void lz_order_deinit(lz_order_list *l); /* a list of zeros is empty */

LZ_MUST_USE lz_err *lz_order_add_first(lz_order_list *l, uint32_t *out);
/* Right behind `at`. */
LZ_MUST_USE lz_err *lz_order_add_behind(lz_order_list *l, uint32_t at, uint32_t *out);
/* `item` comes to stand right in front of `at`, another one. */
void lz_order_move_before(lz_order_list *l, uint32_t item, uint32_t at);
void lz_order_move_first(lz_order_list *l, uint32_t item);

static inline bool lz_order_less(const lz_order_list *l, uint32_t a, uint32_t b)
{
    return l->items.data[a].label < l->items.data[b].label;
}

#endif
