/* group.h - fusion groups: which nodes one kernel computes, and where in its loops.
 *
 * A group is a loop nest and a list of items. An item is a node and its indices: for each of
 * the node's dimensions an affine expression of the loops says which element is computed.
 * Index maps and reshapes disappear here: they only change the indices. An item is loaded from
 * the node's buffer or computed from items of nodes with smaller ids.
 *
 * A reshape may split loops; every expression of the group is then rewritten for the new loops. */
#ifndef LZ_PLAN_GROUP_H
#define LZ_PLAN_GROUP_H

#include "base/vec.h"
#include "lower/views.h"

enum {
    LZ_GROUP_LOOPS = 48,
    LZ_GROUP_ITEMS = 160,
    LZ_GROUP_LOADS = 48,
    LZ_GROUP_MASKS = 24,
    LZ_GROUP_STORES = 16,
    LZ_ITEM_INPUTS = 4,
    LZ_NO_ITEM = UINT32_MAX,
};

typedef struct lz_group_item {
    const lz_low_node *node;
    int64_t *rows; /* node->ndim rows of 1 + loops numbers: a constant, a factor for each loop */
    uint32_t mask; /* the item is needed only where this mask holds; 0: everywhere */
    bool load;     /* from `view`; otherwise computed */
    uint8_t nin;
    uint32_t in[LZ_ITEM_INPUTS];
    uint32_t in_mask[LZ_ITEM_INPUTS]; /* of a bounded INDEX, a CAT: where the input holds */
    lz_group_view view;               /* of a load, and of the data of a GATHER */
} lz_group_item;

/* holds where its parent does and 0 <= row < size */
typedef struct lz_group_condition {
    uint32_t parent;
    bool low, high; /* which of the two comparisons is needed */
    int64_t size;
    int64_t *row;
} lz_group_condition;

typedef struct lz_group_store {
    uint32_t item;
    const lz_low_node *target; /* its buffer */
    int64_t *row;              /* the address there */
    const lz_low_node *start;  /* a run-time number (LZ_LOW_SCALAR): `step` times it is added to the address;
                                  NULL: none */
    int64_t step;
} lz_group_store;

typedef struct lz_group {
    lz_arena *arena; /* borrowed */
    int n_loops;
    int64_t extents[LZ_GROUP_LOOPS];
    uint64_t row;   /* loops that reductions run over */
    bool row_known; /* otherwise nothing is reduced yet */
    uint16_t n_loads;
    bool merged;  /* into another group: this group is empty */
    bool columns; /* the first reduction found is over an outer axis, or over short rows */
    LZ_VEC(lz_group_item) items;
    LZ_VEC(lz_group_condition) masks; /* masks[0] always holds */
    LZ_VEC(lz_group_store) stores;
} lz_group;

LZ_MUST_USE lz_err *lz_group_init(lz_group *g, lz_arena *arena);
void lz_group_deinit(lz_group *g);

/* Appends a loop for each size greater than 1 at the end of the nest. *rows: the index expressions of an
 * element in these loops. LZ_ERR_LIMIT if there are too many loops. */
LZ_MUST_USE lz_err *lz_group_add_loops(lz_group *g, lz_ints sizes, int64_t **rows);

/* Room for n rows, all zero. */
LZ_MUST_USE lz_err *lz_group_rows(lz_group *g, int64_t n, int64_t **out);
static inline int64_t lz_group_width(const lz_group *g)
{
    return 1 + g->n_loops;
}

LZ_MUST_USE lz_err *lz_group_push(lz_group *g, const lz_group_item *item, uint32_t *out);

/* A mask for 0 <= row < size beside the parent; the parent itself if that always holds. */
LZ_MUST_USE lz_err *lz_group_mask(lz_group *g, uint32_t parent, const int64_t *row, int64_t size,
                                  uint32_t *out);

/* *out: the indices within `sizes` of the element whose row-major number is `row`. May split loops: then
 * *again is set, all rows have changed, and the caller has to start again. *out NULL: the indices are not
 * affine. */
LZ_MUST_USE lz_err *lz_group_unravel(lz_group *g, const int64_t *row, lz_ints sizes, int64_t **out,
                                     bool *again);

/* out += factor * row */
void lz_row_add(const lz_group *g, int64_t *out, int64_t factor, const int64_t *row);
/* Loops of more than one step that the rows depend on. */
uint64_t lz_rows_loops(const lz_group *g, const int64_t *rows, int64_t n);
/* Loops of more than one step. */
uint64_t lz_group_live(const lz_group *g);
int64_t lz_group_steps(const lz_group *g, uint64_t loops); /* the product of their extents */

/* How many of the first n items are checks with a message of their own; so the number of the next rule. */
size_t lz_group_rules(const lz_group *g, size_t n);

/* The address of an item in a view. */
void lz_item_address(const lz_group *g, const lz_group_item *item, const lz_group_view *v,
                     int64_t row[1 + LZ_GROUP_LOOPS]);

/* Dimension d is loop d: there are as many, or no dimensions at all. */
bool lz_rows_plain(const lz_group *g, const int64_t *rows, int64_t n);
/* All of a row's values are from 0 to size - 1, or there are no steps. */
bool lz_row_within(const lz_group *g, const int64_t *row, int64_t size);
/* Sets which comparisons of a mask are needed. */
void lz_mask_sides(const lz_group *g, lz_group_condition *m);

/* Whether the loops visit each of the addresses 0 to numel - 1 exactly once. */
bool lz_group_covers(const lz_group *g, const int64_t *address, int64_t numel, uint64_t loops);

#endif
