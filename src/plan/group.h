/* group.h - fusion groups: which nodes one kernel computes, and where in its loops.
 *
 * A group is a loop nest and a list of items. An item is a node at a place: for each of
 * the node's dimensions an affine expression of the loops says which element is meant.
 * Index maps and reshapes vanish here: they only move the place. An item is loaded from
 * the node's buffer or computed from items of nodes with smaller ids.
 *
 * Loops are split where a reshape needs it; every expression of the group then changes
 * with them. */
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

typedef struct lz_gitem {
    const lz_ln *node;
    int64_t *rows; /* node->ndim rows of 1 + loops numbers: a constant, a factor for each loop */
    uint32_t mask; /* it is asked for only where this holds; 0: everywhere */
    bool load;     /* from `view`; otherwise computed */
    uint8_t nin;
    uint32_t in[LZ_ITEM_INPUTS];
    uint32_t in_mask[LZ_ITEM_INPUTS]; /* of a bounded INDEX, a CAT: where the input holds */
    lz_gview view;                    /* of a load, and of the data of a GATHER */
} lz_gitem;

/* holds where its parent does and 0 <= row < size */
typedef struct lz_gmask {
    uint32_t parent;
    bool low, high; /* which of the two has to be asked */
    int64_t size;
    int64_t *row;
} lz_gmask;

typedef struct lz_gstore {
    uint32_t item;
    const lz_ln *target; /* its buffer */
    int64_t *row;        /* the address there */
    const lz_ln *start;  /* a run-time number (LZ_L_SCALAR): the address is `step` elements times it further
                            on; NULL: none */
    int64_t step;
} lz_gstore;

typedef struct lz_group {
    lz_arena *arena; /* borrowed */
    int n_loops;
    int64_t extents[LZ_GROUP_LOOPS];
    uint64_t row;   /* loops that reductions run over */
    bool row_known; /* otherwise nothing is reduced yet */
    uint16_t n_loads;
    bool merged;  /* into another group: nothing is left here */
    bool columns; /* the first reduction found is one over an outer axis, or over short rows */
    LZ_VEC(lz_gitem) items;
    LZ_VEC(lz_gmask) masks; /* the first is none */
    LZ_VEC(lz_gstore) stores;
} lz_group;

LZ_MUST_USE lz_err *lz_group_init(lz_group *g, lz_arena *arena);
void lz_group_deinit(lz_group *g);

/* Loops over sizes, those of 1 left out, at the end of the nest; rows: the place of an
 * element, to be filled. LZ_ERR_LIMIT if there are too many loops. */
LZ_MUST_USE lz_err *lz_group_add_loops(lz_group *g, lz_ints sizes, int64_t **rows);

/* Room for n rows, all zero. */
LZ_MUST_USE lz_err *lz_group_rows(lz_group *g, int64_t n, int64_t **out);
static inline int64_t lz_group_width(const lz_group *g)
{
    return 1 + g->n_loops;
}

LZ_MUST_USE lz_err *lz_group_push(lz_group *g, const lz_gitem *item, uint32_t *out);

/* A mask for 0 <= row < size beside the parent; the parent itself if that always holds. */
LZ_MUST_USE lz_err *lz_group_mask(lz_group *g, uint32_t parent, const int64_t *row, int64_t size,
                                  uint32_t *out);

/* The place within sizes of the element whose number in row-major order is `row`. Loops
 * are split as needed, in which case *again says that all rows have changed and that the
 * caller has to begin anew; *out NULL: it is not affine. */
LZ_MUST_USE lz_err *lz_group_unravel(lz_group *g, const int64_t *row, lz_ints sizes, int64_t **out,
                                     bool *again);

/* out += factor * row */
void lz_row_add(const lz_group *g, int64_t *out, int64_t factor, const int64_t *row);
/* Loops of more than one step that the rows depend on. */
uint64_t lz_rows_loops(const lz_group *g, const int64_t *rows, int64_t n);
/* Loops of more than one step. */
uint64_t lz_group_live(const lz_group *g);
int64_t lz_group_steps(const lz_group *g, uint64_t loops); /* the product of their extents */

/* How many of the first n items are checks with a rule of their own: the number of the next one. */
size_t lz_group_rules(const lz_group *g, size_t n);

/* The address of an item in a view. */
void lz_item_address(const lz_group *g, const lz_gitem *item, const lz_gview *v,
                     int64_t row[1 + LZ_GROUP_LOOPS]);

/* Dimension d is loop d: there are as many, or no dimensions at all. */
bool lz_rows_plain(const lz_group *g, const int64_t *rows, int64_t n);
/* All of a row's values are from 0 to size - 1, or there are no steps. */
bool lz_row_within(const lz_group *g, const int64_t *row, int64_t size);
/* Finds out which sides of a mask have to be asked. */
void lz_mask_sides(const lz_group *g, lz_gmask *m);

/* Each of the addresses 0 to numel - 1 is met exactly once as these loops run. */
bool lz_group_covers(const lz_group *g, const int64_t *address, int64_t numel, uint64_t loops);

#endif
