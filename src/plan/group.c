#include "plan/group.h"
#include "core/shape.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>

lz_err *lz_group_init(lz_group *g, lz_arena *arena)
{
    *g = (lz_group){ .arena = arena };
    return lz_vec_push(&g->masks, (lz_group_condition){ 0 });
}

void lz_group_deinit(lz_group *g)
{
    lz_vec_deinit(&g->items);
    lz_vec_deinit(&g->masks);
    lz_vec_deinit(&g->stores);
}

/* ---- index expressions ---- */

/* Index arithmetic does not overflow for indices within range. Indices of empty tensors may overflow, and
 * their value is never used. */
static int64_t mul_add(int64_t a, int64_t f, int64_t b)
{
    return (int64_t)((uint64_t)a + (uint64_t)f * (uint64_t)b);
}

void lz_row_add(const lz_group *g, int64_t *out, int64_t factor, const int64_t *row)
{
    for (int64_t i = 0; i < lz_group_width(g); i++)
        out[i] = mul_add(out[i], factor, row[i]);
}

lz_err *lz_group_rows(lz_group *g, int64_t n, int64_t **out)
{
    return lz_arena_new(g->arena, out, (size_t)(n * lz_group_width(g)) + 1);
}

uint64_t lz_rows_loops(const lz_group *g, const int64_t *rows, int64_t n)
{
    uint64_t loops = 0;
    for (int64_t i = 0; i < n; i++)
        for (int l = 0; l < g->n_loops; l++)
            if (rows[i * lz_group_width(g) + 1 + l] && g->extents[l] != 1)
                loops |= UINT64_C(1) << l;
    return loops;
}

bool lz_rows_plain(const lz_group *g, const int64_t *rows, int64_t n)
{
    bool plain = n == 0 || n == g->n_loops;
    for (int64_t i = 0; plain && i < n * lz_group_width(g); i++)
        plain = rows[i] == (i % lz_group_width(g) == 1 + i / lz_group_width(g));
    return plain;
}

uint64_t lz_group_live(const lz_group *g)
{
    uint64_t loops = 0;
    for (int l = 0; l < g->n_loops; l++)
        if (g->extents[l] != 1)
            loops |= UINT64_C(1) << l;
    return loops;
}

int64_t lz_group_steps(const lz_group *g, uint64_t loops)
{
    int64_t n = 1;
    for (int l = 0; l < g->n_loops; l++)
        n = loops >> l & 1 ? mul_add(0, n, g->extents[l]) : n;
    return n;
}

/* The least and the greatest value of a row. */
static void range_of(const lz_group *g, const int64_t *row, int64_t *low, int64_t *high)
{
    *low = *high = row[0];
    for (int l = 0; l < g->n_loops; l++) {
        int64_t last = g->extents[l] > 0 ? g->extents[l] - 1 : 0, f = row[1 + l];
        if (f < 0)
            *low = mul_add(*low, f, last);
        else
            *high = mul_add(*high, f, last);
    }
}

/* ---- loops ---- */

static lz_err *widen_rows(lz_group *g, int64_t n, int64_t old_width, int64_t **rows)
{
    int64_t *wide;
    if (!*rows)
        return NULL;
    LZ_TRY(lz_group_rows(g, n, &wide));
    for (int64_t i = 0; i < n; i++)
        memcpy(wide + i * lz_group_width(g), *rows + i * old_width, (size_t)old_width * sizeof **rows);
    *rows = wide;
    return NULL;
}

/* Widens all rows, which had old_width numbers, by zeros for the loops that have been added. */
static lz_err *widen(lz_group *g, int64_t old_width)
{
    for (size_t i = 0; i < g->items.len; i++)
        LZ_TRY(widen_rows(g, g->items.data[i].node->ndim, old_width, &g->items.data[i].rows));
    for (size_t i = 0; i < g->masks.len; i++)
        LZ_TRY(widen_rows(g, 1, old_width, &g->masks.data[i].row));
    for (size_t i = 0; i < g->stores.len; i++)
        LZ_TRY(widen_rows(g, 1, old_width, &g->stores.data[i].row));
    return NULL;
}

lz_err *lz_group_add_loops(lz_group *g, lz_ints sizes, int64_t **rows)
{
    int64_t old = lz_group_width(g), more = 0;
    for (int64_t d = 0; d < sizes.n; d++)
        more += sizes.v[d] != 1;
    if (g->n_loops + more > LZ_GROUP_LOOPS)
        return lz_errf(LZ_ERR_LIMIT, "more than %d loops", LZ_GROUP_LOOPS);
    for (int64_t d = 0; d < sizes.n; d++)
        if (sizes.v[d] != 1)
            g->extents[g->n_loops++] = sizes.v[d];
    LZ_TRY(widen(g, old));
    LZ_TRY(lz_group_rows(g, sizes.n, rows));
    for (int64_t d = 0, l = old; d < sizes.n; d++)
        if (sizes.v[d] != 1)
            (*rows)[d * lz_group_width(g) + l++] = 1;
    return NULL;
}

/* Replaces loop l by two loops in an index expression: an outer one, and behind it an inner one of `inner`
 * steps. */
static void split_row(const lz_group *g, int l, int64_t inner, int64_t *row)
{
    memmove(row + 1 + l + 2, row + 1 + l + 1, (size_t)(g->n_loops - l - 2) * sizeof *row);
    row[1 + l + 1] = row[1 + l];
    row[1 + l] *= inner;
}

static lz_err *split_loop(lz_group *g, int l, int64_t inner)
{
    int64_t old = lz_group_width(g);
    uint64_t below = (UINT64_C(1) << (l + 1)) - 1;
    if (g->n_loops == LZ_GROUP_LOOPS)
        return lz_errf(LZ_ERR_LIMIT, "more than %d loops", LZ_GROUP_LOOPS);
    assert(l >= 0 && l < g->n_loops && inner > 0 && g->extents[l] % inner == 0);
    memmove(&g->extents[l + 1], &g->extents[l], (size_t)(g->n_loops - l) * sizeof *g->extents);
    g->extents[l] /= inner;
    g->extents[l + 1] = inner;
    g->row = (g->row & below) | (g->row & ~below) << 1 | (g->row >> l & 1) << (l + 1);
    g->n_loops++;
    LZ_TRY(widen(g, old));
    for (size_t i = 0; i < g->items.len; i++)
        for (int64_t d = 0; d < g->items.data[i].node->ndim; d++)
            split_row(g, l, inner, g->items.data[i].rows + d * lz_group_width(g));
    for (size_t i = 1; i < g->masks.len; i++)
        split_row(g, l, inner, g->masks.data[i].row);
    for (size_t i = 0; i < g->stores.len; i++)
        split_row(g, l, inner, g->stores.data[i].row);
    return NULL;
}

/* ---- division ---- */

/* Finds a loop whose split would make `row` divisible by size. *inner: the steps of the new inner loop. */
static bool find_split(const lz_group *g, const int64_t *row, int64_t size, int *loop, int64_t *inner)
{
    for (int l = 0; l < g->n_loops; l++) {
        int64_t f = row[1 + l] < 0 ? -row[1 + l] : row[1 + l];
        if (f == 0 || f % size == 0 || size % f != 0 || g->extents[l] <= size / f)
            continue;
        *loop = l;
        *inner = size / f;
        return g->extents[l] % *inner == 0;
    }
    return false;
}

/* q = row / size, r = row % size. True if both are affine: the terms that size divides form q, and the
 * remaining terms stay below size. */
static bool divide(const lz_group *g, const int64_t *row, int64_t size, int64_t *q, int64_t *r)
{
    int64_t low, high;
    for (int64_t i = 0; i < lz_group_width(g); i++) {
        int64_t rest = row[i] % size;
        if (i == 0 && rest < 0)
            rest += size;
        r[i] = i == 0 || rest ? (i == 0 ? rest : row[i]) : 0;
        q[i] = (row[i] - r[i]) / size;
    }
    range_of(g, r, &low, &high);
    return low >= 0 && high < size;
}

lz_err *lz_group_unravel(lz_group *g, const int64_t *row, lz_ints sizes, int64_t **out, bool *again)
{
    int64_t *q, *rows, inner, width = lz_group_width(g);
    int loop;
    *again = false;
    *out = NULL;
    LZ_TRY(lz_group_rows(g, 1, &q));
    LZ_TRY(lz_group_rows(g, sizes.n, &rows));
    memcpy(q, row, (size_t)width * sizeof *q);
    for (int64_t d = sizes.n; d-- > 0;) {
        if (sizes.v[d] == 1)
            continue;
        if (sizes.v[d] == 0)
            return NULL;
        if (divide(g, q, sizes.v[d], q, rows + d * width))
            continue;
        /* divide has overwritten q: restore the sum */
        for (int64_t i = 0; i < width; i++)
            q[i] = mul_add(rows[d * width + i], sizes.v[d], q[i]);
        *again = g->n_loops < LZ_GROUP_LOOPS && find_split(g, q, sizes.v[d], &loop, &inner);
        return *again ? split_loop(g, loop, inner) : NULL;
    }
    *out = rows;
    return NULL;
}

/* ---- masks ---- */

bool lz_row_within(const lz_group *g, const int64_t *row, int64_t size)
{
    int64_t low, high;
    range_of(g, row, &low, &high);
    return (low >= 0 && high < size) || lz_group_steps(g, UINT64_MAX) == 0;
}

void lz_mask_sides(const lz_group *g, lz_group_condition *m)
{
    int64_t low, high;
    range_of(g, m->row, &low, &high);
    m->low = low < 0;
    m->high = high >= m->size;
}

lz_err *lz_group_mask(lz_group *g, uint32_t parent, const int64_t *row, int64_t size, uint32_t *out)
{
    assert(parent < g->masks.len);
    lz_group_condition m = { .parent = parent, .size = size, .row = (int64_t *)row };
    size_t bytes = (size_t)lz_group_width(g) * sizeof *row;
    lz_mask_sides(g, &m);
    *out = parent;
    if (!m.low && !m.high)
        return NULL;
    for (uint32_t i = 1; i < g->masks.len; i++) {
        const lz_group_condition *k = &g->masks.data[i];
        *out = i;
        if (k->parent == parent && k->size == size && !memcmp(k->row, row, bytes))
            return NULL;
    }
    LZ_TRY(lz_group_rows(g, 1, &m.row));
    memcpy(m.row, row, bytes);
    *out = (uint32_t)g->masks.len;
    return lz_vec_push(&g->masks, m);
}

/* ---- items ---- */

lz_err *lz_group_push(lz_group *g, const lz_group_item *item, uint32_t *out)
{
    assert(item->nin <= LZ_ITEM_INPUTS && item->mask < g->masks.len);
    *out = (uint32_t)g->items.len;
    return lz_vec_push(&g->items, *item);
}

void lz_item_address(const lz_group *g, const lz_group_item *item, const lz_group_view *v,
                     int64_t row[1 + LZ_GROUP_LOOPS])
{
    assert(item->rows || !item->node->ndim);
    memset(row, 0, (size_t)lz_group_width(g) * sizeof *row);
    row[0] = v->offset;
    for (int64_t d = 0; d < item->node->ndim; d++)
        lz_row_add(g, row, v->strides[d], item->rows + d * lz_group_width(g));
}

typedef struct term {
    int64_t stride, extent;
} term;

static int by_stride(const void *a, const void *b)
{
    const term *x = a, *y = b;
    return (x->stride > y->stride) - (x->stride < y->stride);
}

bool lz_group_covers(const lz_group *g, const int64_t *address, int64_t numel, uint64_t loops)
{
    term t[LZ_GROUP_LOOPS] = { { 0 } };
    int64_t next = 1;
    size_t k = 0;
    for (int l = 0; l < g->n_loops; l++)
        if (loops >> l & 1)
            t[k++] = (term){ address[1 + l], g->extents[l] };
    qsort(t, k, sizeof *t, by_stride);
    for (size_t i = 0; i < k; i++) {
        if (t[i].stride != next)
            return false;
        next = mul_add(0, next, t[i].extent);
    }
    return address[0] == 0 && next == numel;
}

size_t lz_group_rules(const lz_group *g, size_t n)
{
    size_t found = 0;
    for (size_t i = 0; i < n; i++) {
        const lz_group_item *it = &g->items.data[i];
        found += !it->load && it->node->kind == LZ_LOW_CHECK
                 && ((const lz_low_check_attr *)it->node->attr)->rule[0];
    }
    return found;
}
