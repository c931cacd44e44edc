#include "base/order_list.h"
#include <assert.h>

void lz_order_deinit(lz_order_list *l)
{
    lz_vec_deinit(&l->items);
    *l = (lz_order_list){ 0 };
}

/* Labels are below 2^62, so that sums of two do not overflow. */
enum { LABEL_BITS = 62 };

/* ---- making room ---- */

/* The elements whose labels differ from that of `at` only in the last `bits` bits: *first is the first of
 * them; returns how many. */
static uint64_t find_region(const lz_order_list *l, uint32_t at, int bits, uint32_t *first)
{
    const lz_order_item *all = l->items.data;
    uint64_t prefix = all[at].label >> bits, n = 1;
    *first = at;
    while (all[*first].before != LZ_ORDER_END && all[all[*first].before].label >> bits == prefix) {
        *first = all[*first].before;
        n++;
    }
    for (uint32_t i = at; all[i].behind != LZ_ORDER_END && all[all[i].behind].label >> bits == prefix; n++)
        i = all[i].behind;
    return n;
}

/* Frees labels around `at` by spreading the smallest sparse region evenly. A region of 2^b labels is sparse
 * if it has fewer than (4/3)^b elements: then a larger region is needed only after many insertions. The list
 * has far fewer than (4/3)^62 elements, so all labels together are sparse. */
static void spread(lz_order_list *l, uint32_t at)
{
    double most = 1;
    uint32_t first = at;
    uint64_t n = 1;
    int bits = 0;
    do {
        bits++;
        most *= 4.0 / 3;
        n = find_region(l, at, bits, &first);
    } while (bits < LABEL_BITS && ((double)n > most || n > UINT64_C(1) << bits >> 2));
    assert(n > 0); /* `at` itself */
    uint64_t step = (UINT64_C(1) << bits) / n, label = (l->items.data[at].label >> bits << bits) + step / 2;
    for (uint64_t k = 0; k < n; k++, label += step, first = l->items.data[first].behind)
        l->items.data[first].label = label;
}

static bool find_label(const lz_order_list *l, uint32_t before, uint32_t behind, uint64_t *out)
{
    uint64_t low = before == LZ_ORDER_END ? 0 : l->items.data[before].label + 1;
    uint64_t high = behind == LZ_ORDER_END ? UINT64_C(1) << LABEL_BITS : l->items.data[behind].label;
    if (low >= high)
        return false;
    /* so that repeated additions at one end do not halve the gap each time */
    uint64_t gap = (high - low) / 2, most = UINT64_C(1) << 30;
    if (before == LZ_ORDER_END && behind != LZ_ORDER_END)
        *out = high - 1 - (gap < most ? gap : most);
    else
        *out = low + gap;
    return true;
}

/* ---- links ---- */

static void unlink_item(lz_order_list *l, uint32_t item)
{
    const lz_order_item *x = &l->items.data[item];
    *(x->before == LZ_ORDER_END ? &l->first : &l->items.data[x->before].behind) = x->behind;
    *(x->behind == LZ_ORDER_END ? &l->last : &l->items.data[x->behind].before) = x->before;
}

/* Inserts between two neighbours; one neighbour may be LZ_ORDER_END. */
static void link_item(lz_order_list *l, uint32_t item, uint32_t before, uint32_t behind)
{
    uint64_t label = 0;
    while (!find_label(l, before, behind, &label))
        spread(l, before == LZ_ORDER_END ? behind : before);
    l->items.data[item] = (lz_order_item){ label, before, behind };
    *(before == LZ_ORDER_END ? &l->first : &l->items.data[before].behind) = item;
    *(behind == LZ_ORDER_END ? &l->last : &l->items.data[behind].before) = item;
}

/* ---- adding, moving ---- */

lz_err *lz_order_add_first(lz_order_list *l, uint32_t *out)
{
    lz_order_item only = { UINT64_C(1) << (LABEL_BITS - 1), LZ_ORDER_END, LZ_ORDER_END };
    uint32_t item = (uint32_t)l->items.len;
    LZ_TRY(lz_vec_push(&l->items, only));
    if (item > 0)
        link_item(l, item, LZ_ORDER_END, l->first);
    else
        l->first = l->last = item;
    *out = item;
    return NULL;
}

lz_err *lz_order_add_behind(lz_order_list *l, uint32_t at, uint32_t *out)
{
    LZ_TRY(lz_vec_push(&l->items, (lz_order_item){ 0 }));
    *out = (uint32_t)l->items.len - 1;
    link_item(l, *out, at, l->items.data[at].behind);
    return NULL;
}

void lz_order_move_before(lz_order_list *l, uint32_t item, uint32_t at)
{
    if (l->items.data[item].behind == at)
        return;
    unlink_item(l, item);
    link_item(l, item, l->items.data[at].before, at);
}

void lz_order_move_first(lz_order_list *l, uint32_t item)
{
    if (l->first != item)
        lz_order_move_before(l, item, l->first);
}
