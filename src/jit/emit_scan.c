/* Rows with scans and little else. A scan is a chain of dependent steps, so the latency of one step decides.
 * Single elements with the state in a register need no inserts into and extracts from vectors. If there are
 * many rows, several chains run interleaved. */
#include "jit/emitter.h"

enum { LITTLE = 8, SIDE_BY_SIDE = 4 };

static const lz_kernel_node *node(const lz_emitter *e, uint32_t v)
{
    return &e->ir->nodes.data[v];
}

/* Values that make up the states of one row. */
static int state_values(const lz_emitter *e)
{
    int n = 0;
    for (uint32_t v = 0; v < e->ir->nodes.len; v++) {
        if (node(e, v)->op == LZ_KERNEL_NODE_SCAN)
            n += lz_emit_has_index(node(e, v)) ? 2 : 1;
    }
    return n;
}

/* With more operations beside the scan vectors pay off. The limit leaves room for a scan of f16 or bf16 with
 * its load, casts and store. */
bool lz_emit_only_scans(const lz_emitter *e)
{
    bool reduces = false;
    int n = state_values(e);
    for (uint32_t v = 0; v < e->ir->nodes.len; v++)
        reduces = reduces || node(e, v)->op == LZ_KERNEL_NODE_REDUCE;
    return !reduces && e->p->walks == 1 && n > 0 && n <= LZ_EMIT_HELD
           && lz_emit_plan_operations(e->p, 0) <= LITTLE;
}

/* Rows at once. Values of outer levels have one slot each, so a kernel with outer values takes one row at a
 * time. */
static int group_size(const lz_emitter *e)
{
    bool outer = state_values(e) * SIDE_BY_SIDE > LZ_EMIT_HELD;
    for (uint32_t v = 0; v < e->ir->nodes.len; v++)
        outer = outer || e->p->level[v] == LZ_LEVEL_OUTER;
    return outer ? 1 : SIDE_BY_SIDE;
}

static void neutral(lz_emitter *e, lz_llvm_value **state)
{
    for (uint32_t v = 0; v < e->ir->nodes.len; v++) {
        if (node(e, v)->op != LZ_KERNEL_NODE_SCAN)
            continue;
        lz_emit_state s = lz_emit_neutral(e, node(e, v), lz_emit_state_type(e, node(e, v)));
        *state++ = s.x;
        if (s.at)
            *state++ = s.at;
    }
}

typedef struct place {
    lz_llvm_value *here[LZ_KERNEL_ACCESSES];
} place;

static void keep_place(const lz_emitter *e, place *p)
{
    for (size_t a = 0; a < e->ir->access.len; a++)
        p->here[a] = e->access[a].here;
}

static void go_to(lz_emitter *e, const place *p)
{
    for (size_t a = 0; a < e->ir->access.len; a++)
        e->access[a].here = p->here[a];
}

/* Emits what precedes the elements of a row. */
static void start_row(lz_emitter *e, lz_llvm_value *row, lz_llvm_value **state, place *p)
{
    lz_emit_row_start(e, row);
    keep_place(e, p);
    lz_emit_row_outer(e, 0);
    lz_emit_row_stores(e, 0);
    neutral(e, state);
}

static void rows_at_once(lz_emitter *e, lz_llvm_value *from, lz_llvm_value *to, int group)
{
    lz_llvm_value *state[LZ_EMIT_HELD];
    place places[SIDE_BY_SIDE];
    int each = state_values(e);
    lz_emit_loop_state rows = lz_emit_loop(e, from, to, lz_emit_i64(e, group));
    for (int g = 0; g < group; g++)
        start_row(e, e->l->BuildAdd(e->b, rows.i, lz_emit_i64(e, g), ""), state + (ptrdiff_t)g * each,
                  &places[g]);
    lz_emit_handover h =
        lz_emit_hand_on(e, lz_emit_i64(e, 0), e->n_row, lz_emit_i64(e, 1), state, group * each);
    for (int g = 0; g < group; g++) {
        e->at = h.loop.i;
        e->scan = state + (ptrdiff_t)g * each;
        go_to(e, &places[g]);
        lz_emit_row_body(e, 0);
    }
    e->at = NULL;
    e->scan = NULL;
    lz_emit_hand_on_end(e, &h);
    lz_emit_loop_end(e, &rows);
}

void lz_emit_scan_rows(lz_emitter *e)
{
    int group = group_size(e);
    lz_llvm_value *whole = group > 1 ? lz_emit_down_to(e, e->n_outer, group) : lz_emit_i64(e, 0);
    if (group > 1)
        rows_at_once(e, lz_emit_i64(e, 0), whole, group);
    rows_at_once(e, whole, e->n_outer, 1);
}
