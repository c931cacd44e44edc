/* order_list.h - a list that answers in O(1) which of two elements comes first.
 *
 * Elements are numbers from 0, in the order in which they were added. Each has a label; labels grow along the
 * list. If no label is free between two neighbours, the labels of a region around them are spread anew; the
 * region doubles until it is sparse enough. So an insertion costs O(log n) on average.
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
    uint32_t before, behind; /* LZ_ORDER_END: none */
} lz_order_item;

typedef struct lz_order_list {
    LZ_VEC(lz_order_item) items;
    uint32_t first, last; /* undefined while there are no items */
} lz_order_list;

void lz_order_deinit(lz_order_list *l); /* a zeroed list is empty */

LZ_MUST_USE lz_err *lz_order_add_first(lz_order_list *l, uint32_t *out);
/* Right after `at`. */
LZ_MUST_USE lz_err *lz_order_add_behind(lz_order_list *l, uint32_t at, uint32_t *out);
/* Moves `item` right before `at`, a different element. */
void lz_order_move_before(lz_order_list *l, uint32_t item, uint32_t at);
void lz_order_move_first(lz_order_list *l, uint32_t item);

static inline bool lz_order_less(const lz_order_list *l, uint32_t a, uint32_t b)
{
    return l->items.data[a].label < l->items.data[b].label;
}

#endif
