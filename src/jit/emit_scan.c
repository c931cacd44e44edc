/* Rows with scans and little else. A scan is a chain, one element after the other, so what counts is how
 * long a link of it takes: single elements with the state in a register, without vectors to take apart
 * and put together. Where there are many rows, several chains run side by side. */
#include "jit/emit.h"

enum { LITTLE = 8, SIDE_BY_SIDE = 4 };

static const lz_knode *node(const lz_em *e, uint32_t v)
{
    return &e->ir->nodes.data[v];
}

/* Values that the states of one row are. */
static int state_values(const lz_em *e)
{
    int n = 0;
    for (uint32_t v = 0; v < e->ir->nodes.len; v++) {
        if (node(e, v)->op == LZ_N_SCAN)
            n += lz_em_has_index(node(e, v)) ? 2 : 1;
    }
    return n;
}

/* With more beside the scan it gains by vectors; a scan of half the types is cast, loaded and stored. */
bool lz_em_only_scans(const lz_em *e)
{
    bool reduces = false;
    int n = state_values(e);
    for (uint32_t v = 0; v < e->ir->nodes.len; v++)
        reduces = reduces || node(e, v)->op == LZ_N_REDUCE;
    return !reduces && e->p->walks == 1 && n > 0 && n <= LZ_EM_HELD && lz_eplan_operations(e->p, 0) <= LITTLE;
}

/* Rows at once. Values of outer levels have one place, so rows that have some go alone. */
static int group_size(const lz_em *e)
{
    bool outer = state_values(e) * SIDE_BY_SIDE > LZ_EM_HELD;
    for (uint32_t v = 0; v < e->ir->nodes.len; v++)
        outer = outer || e->p->level[v] == LZ_LEVEL_OUTER;
    return outer ? 1 : SIDE_BY_SIDE;
}

static void neutral(lz_em *e, lz_lvalue **state)
{
    for (uint32_t v = 0; v < e->ir->nodes.len; v++) {
        if (node(e, v)->op != LZ_N_SCAN)
            continue;
        lz_ebest s = lz_em_neutral(e, node(e, v), lz_em_state_type(e, node(e, v)));
        *state++ = s.x;
        if (s.at)
            *state++ = s.at;
    }
}

typedef struct place {
    lz_lvalue *here[LZ_KERNEL_ACCESSES];
} place;

static void keep_place(const lz_em *e, place *p)
{
    for (size_t a = 0; a < e->ir->access.len; a++)
        p->here[a] = e->access[a].here;
}

static void go_to(lz_em *e, const place *p)
{
    for (size_t a = 0; a < e->ir->access.len; a++)
        e->access[a].here = p->here[a];
}

/* What comes before the elements of a row. */
static void start_row(lz_em *e, lz_lvalue *row, lz_lvalue **state, place *p)
{
    lz_em_row_start(e, row);
    keep_place(e, p);
    lz_em_row_outer(e, 0);
    lz_em_row_stores(e, 0);
    neutral(e, state);
}

static void rows_at_once(lz_em *e, lz_lvalue *from, lz_lvalue *to, int group)
{
    lz_lvalue *state[LZ_EM_HELD];
    place places[SIDE_BY_SIDE];
    int each = state_values(e);
    lz_eloop rows = lz_em_loop(e, from, to, lz_em_i64(e, group));
    for (int g = 0; g < group; g++)
        start_row(e, e->l->BuildAdd(e->b, rows.i, lz_em_i64(e, g), ""), state + (ptrdiff_t)g * each,
                  &places[g]);
    lz_ehanding h = lz_em_hand_on(e, lz_em_i64(e, 0), e->n_row, lz_em_i64(e, 1), state, group * each);
    for (int g = 0; g < group; g++) {
        e->at = h.loop.i;
        e->scan = state + (ptrdiff_t)g * each;
        go_to(e, &places[g]);
        lz_em_row_body(e, 0);
    }
    e->at = NULL;
    e->scan = NULL;
    lz_em_hand_on_end(e, &h);
    lz_em_loop_end(e, &rows);
}

void lz_em_scan_rows(lz_em *e)
{
    int group = group_size(e);
    lz_lvalue *whole = group > 1 ? lz_em_down_to(e, e->n_outer, group) : lz_em_i64(e, 0);
    if (group > 1)
        rows_at_once(e, lz_em_i64(e, 0), whole, group);
    rows_at_once(e, whole, e->n_outer, 1);
}
