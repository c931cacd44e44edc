/* Vectors along the outer dimension: the code handles a strip of columns and loops over the rows.
 *
 * Values per column are in scratch memory, in arrays of one strip: the states of reductions, and outer values
 * that other code reads. A strip is a multiple of every vector size, so lanes beyond its end stay within the
 * arrays and need no mask there. */
#include "jit/emitter.h"
#include "jit/program.h"
#include <string.h>

enum {
    GROUP_MOST = 8, /* rows at once: one memory stream each; a lane's state is loaded once for several rows */
};

static const lz_kernel_node *node(const lz_emitter *e, uint32_t v)
{
    return &e->ir->nodes.data[v];
}

/* ---- arrays ---- */

typedef struct parts {               /* lanes, the block's sum and the total, then the indices of all three */
    lz_llvm_value *lane, *wide, *at; /* wide: the block's sum, then the total */
    int type, total_type;
} parts;

enum { LANE = 0, BLOCK = LZ_COLUMN_LANES, TOTAL, PARTS };

_Static_assert(LZ_COLUMN_SUMS == 1, "a block of columns has one sum");

static parts parts_of(lz_emitter *e, uint32_t v)
{
    const lz_kernel_node *n = node(e, v);
    bool scans = n->op == LZ_KERNEL_NODE_SCAN;
    parts p = { .type = lz_emit_state_type(e, n), .total_type = lz_emit_total_type(e, n) };
    int64_t lanes = (scans ? 1 : BLOCK) * (int64_t)lz_kernel_type_size((lz_kernel_type)p.type) * e->p->strip;
    int64_t wide = (scans ? 0 : PARTS - BLOCK) * (int64_t)lz_kernel_type_size((lz_kernel_type)p.total_type)
                   * e->p->strip;
    p.lane = lz_emit_move(e, e->scratch, lz_emit_i64(e, e->p->state[v]));
    p.wide = lz_emit_move(e, p.lane, lz_emit_i64(e, lanes));
    p.at = lz_emit_move(e, p.wide, lz_emit_i64(e, wide));
    return p;
}

/* Index of column e->at in strip `part` of an array of strips. */
static lz_llvm_value *column(lz_emitter *e, int part)
{
    return e->l->BuildAdd(e->b, e->at, lz_emit_i64(e, part * e->p->strip), "");
}

/* Address of the indices that belong to the block's sum and the total. */
static lz_llvm_value *wide_at(lz_emitter *e, const parts *p)
{
    return lz_emit_move(e, p->at, lz_emit_i64(e, BLOCK * (int64_t)sizeof(int64_t) * e->p->strip));
}

static lz_emit_state get(lz_emitter *e, uint32_t v, int part)
{
    parts p = parts_of(e, v);
    if (part < BLOCK)
        return lz_emit_get(e, node(e, v), p.type, p.lane, p.at, column(e, part));
    return lz_emit_get(e, node(e, v), p.total_type, p.wide, wide_at(e, &p), column(e, part - BLOCK));
}

static void put(lz_emitter *e, uint32_t v, int part, lz_emit_state s)
{
    parts p = parts_of(e, v);
    if (part < BLOCK)
        lz_emit_put(e, node(e, v), p.type, s, p.lane, p.at, column(e, part));
    else
        lz_emit_put(e, node(e, v), p.total_type, s, p.wide, wide_at(e, &p), column(e, part - BLOCK));
}

static lz_llvm_value *array_address(lz_emitter *e, uint32_t v)
{
    int64_t size = (int64_t)lz_kernel_type_size((lz_kernel_type)node(e, v)->type);
    lz_llvm_value *array = lz_emit_move(e, e->scratch, lz_emit_i64(e, e->p->array[v]));
    return lz_emit_move(e, array, e->l->BuildMul(e->b, e->at, lz_emit_i64(e, size), ""));
}

/* Reads an outer value that was computed before. */
static lz_llvm_value *read_array(lz_emitter *e, uint32_t v)
{
    const lz_kernel_node *n = node(e, v);
    if (n->op == LZ_KERNEL_NODE_REDUCE)
        return lz_emit_result(e, n, get(e, v, TOTAL));
    lz_llvm_type *t = n->type == LZ_KERNEL_BOOL ? e->i8 : lz_emit_ktype(e, n->type);
    unsigned align = (unsigned)lz_kernel_type_size((lz_kernel_type)n->type);
    lz_llvm_value *x = lz_emit_load(e, lz_emit_shape(e, t), array_address(e, v), align);
    return n->type == LZ_KERNEL_BOOL ? e->l->BuildTrunc(e->b, x, lz_emit_shape(e, e->i1), "") : x;
}

static void write_array(lz_emitter *e, uint32_t v)
{
    const lz_kernel_node *n = node(e, v);
    lz_llvm_value *x = e->now[v];
    x = n->type == LZ_KERNEL_BOOL ? e->l->BuildZExt(e->b, x, lz_emit_shape(e, e->i8), "") : x;
    lz_emit_store(e, x, array_address(e, v), (unsigned)lz_kernel_type_size((lz_kernel_type)n->type));
}

/* ---- loops over columns ---- */

typedef struct task { /* what to do for a vector of columns */
    void (*run)(lz_emitter *e, const struct task *t);
    int stage; /* or walk */
    int group; /* rows */
    lz_llvm_value *row;
    lz_llvm_value *here[GROUP_MOST][LZ_KERNEL_ACCESSES];
} task;

static void over_columns(lz_emitter *e, const task *t, lz_llvm_value *from, lz_llvm_value *to, int lanes,
                         bool masked)
{
    lz_emit_loop_state l = lz_emit_loop(e, from, to, lz_emit_i64(e, lanes));
    e->lanes = lanes;
    e->at = l.i;
    e->mask = masked ? lz_emit_mask(e, to) : NULL;
    t->run(e, t);
    e->lanes = 1;
    e->at = e->mask = NULL;
    lz_emit_loop_end(e, &l);
}

/* For tasks that touch only the arrays. */
static void over_arrays(lz_emitter *e, const task *t)
{
    over_columns(e, t, lz_emit_i64(e, 0), e->n_outer, e->p->vec, false);
}

static void over_memory(lz_emitter *e, const task *t)
{
    lz_llvm_value *zero = lz_emit_i64(e, 0);
    if (e->t->masked) {
        over_columns(e, t, zero, e->n_outer, e->p->vec, true);
        return;
    }
    lz_llvm_value *whole = e->l->BuildAnd(e->b, e->n_outer, lz_emit_i64(e, -(int64_t)e->p->vec), "");
    over_columns(e, t, zero, whole, e->p->vec, false);
    over_columns(e, t, whole, e->n_outer, 1, false);
}

/* ---- states ---- */

static bool reduces_in(const lz_emitter *e, uint32_t v, int walk)
{
    return node(e, v)->op == LZ_KERNEL_NODE_REDUCE && node(e, v)->stage == walk + 1;
}

static bool made_in(const lz_emitter *e, uint32_t v, int walk)
{
    return e->p->need[walk][v] && e->p->level[v] == LZ_LEVEL_ELEMENT;
}

static void reset_parts(lz_emitter *e, uint32_t v, int begin, int end)
{
    parts p = parts_of(e, v);
    for (int part = begin; part < end; part++)
        put(e, v, part, lz_emit_neutral(e, node(e, v), part < BLOCK ? p.type : p.total_type));
}

static void reset_totals(lz_emitter *e, const task *t)
{
    for (uint32_t v = 0; v < e->ir->nodes.len; v++) {
        if (reduces_in(e, v, t->stage))
            reset_parts(e, v, TOTAL, PARTS);
        else if (made_in(e, v, t->stage) && node(e, v)->op == LZ_KERNEL_NODE_SCAN)
            reset_parts(e, v, 0, 1);
    }
}

static void reset_blocks(lz_emitter *e, const task *t)
{
    for (uint32_t v = 0; v < e->ir->nodes.len; v++) {
        if (reduces_in(e, v, t->stage))
            reset_parts(e, v, BLOCK, TOTAL);
    }
}

static void reset_lanes(lz_emitter *e, const task *t)
{
    for (uint32_t v = 0; v < e->ir->nodes.len; v++) {
        if (reduces_in(e, v, t->stage))
            reset_parts(e, v, LANE, BLOCK);
    }
}

/* Folds a chunk's lanes into the block's sum. */
static void fold_chunk(lz_emitter *e, const task *t)
{
    for (uint32_t v = 0; v < e->ir->nodes.len; v++) {
        const lz_kernel_node *n = node(e, v);
        lz_emit_state s[LZ_COLUMN_LANES];
        if (!reduces_in(e, v, t->stage))
            continue;
        for (int j = 0; j < LZ_COLUMN_LANES; j++)
            s[j] = get(e, v, LANE + j);
        lz_emit_halve(e, n, lz_emit_state_type(e, n), s, LZ_COLUMN_LANES, LZ_COLUMN_SUMS);
        put(e, v, BLOCK,
            lz_emit_merge(e, n, lz_emit_total_type(e, n), get(e, v, BLOCK), lz_emit_widen(e, n, s[0])));
    }
}

static void fold_block(lz_emitter *e, const task *t)
{
    for (uint32_t v = 0; v < e->ir->nodes.len; v++) {
        const lz_kernel_node *n = node(e, v);
        if (reduces_in(e, v, t->stage))
            put(e, v, TOTAL,
                lz_emit_merge(e, n, lz_emit_total_type(e, n), get(e, v, TOTAL), get(e, v, BLOCK)));
    }
}

static lz_emit_state element_of(lz_emitter *e, uint32_t v, lz_llvm_value *row)
{
    lz_emit_state x = { .x = lz_emit_value(e, node(e, v)->in[0]) };
    x.at = lz_emit_has_index(node(e, v)) ? lz_emit_splat(e, row) : NULL;
    return x;
}

static lz_llvm_value *scan(lz_emitter *e, uint32_t v, lz_llvm_value *row)
{
    lz_emit_state s = lz_emit_join(e, node(e, v), get(e, v, 0), element_of(e, v, row), true);
    put(e, v, 0, s);
    return lz_emit_has_index(node(e, v)) ? s.at : s.x;
}

/* ---- a group of rows ---- */

/* States kept in registers for a group of rows. */
typedef struct held {
    lz_emit_state lane[LZ_KERNEL_REDUCTIONS][LZ_COLUMN_LANES];
    lz_llvm_value *place[LZ_COLUMN_LANES]; /* indices into the strips */
} held;

/* A group starts at a multiple of LZ_COLUMN_LANES, so its lanes are known; a single row's lane is
 * computed. */
static void find_places(lz_emitter *e, const task *t, held *h)
{
    lz_llvm_value *lane = e->l->BuildAnd(e->b, t->row, lz_emit_i64(e, LZ_COLUMN_LANES - 1), "");
    lane = e->l->BuildMul(e->b, lane, lz_emit_i64(e, e->p->strip), "");
    for (int j = 0; j < LZ_COLUMN_LANES; j++)
        h->place[j] = t->group > 1 ? column(e, LANE + j) : e->l->BuildAdd(e->b, e->at, lane, "");
}

static int held_lanes(const task *t)
{
    return t->group < LZ_COLUMN_LANES ? t->group : LZ_COLUMN_LANES;
}

static void move_lanes(lz_emitter *e, const task *t, held *h, bool out)
{
    int k = 0;
    for (uint32_t v = 0; v < e->ir->nodes.len; v++) {
        if (!reduces_in(e, v, t->stage))
            continue;
        parts p = parts_of(e, v);
        for (int j = 0; j < held_lanes(t); j++) {
            if (out)
                lz_emit_put(e, node(e, v), p.type, h->lane[k][j], p.lane, p.at, h->place[j]);
            else
                h->lane[k][j] = lz_emit_get(e, node(e, v), p.type, p.lane, p.at, h->place[j]);
        }
        k++;
    }
}

static void row_body(lz_emitter *e, const task *t, held *h, int g)
{
    lz_llvm_value *row = e->l->BuildAdd(e->b, t->row, lz_emit_i64(e, g), "");
    int k = 0;
    for (size_t a = 0; a < e->ir->access.len; a++)
        e->access[a].here = t->here[g][a];
    for (uint32_t v = 0; v < e->ir->nodes.len; v++) {
        if (made_in(e, v, t->stage)) {
            e->now[v] = node(e, v)->op == LZ_KERNEL_NODE_SCAN ? scan(e, v, row) : lz_emit_node(e, v);
        } else if (reduces_in(e, v, t->stage)) {
            lz_emit_state *lane = &h->lane[k++][g % LZ_COLUMN_LANES];
            *lane = lz_emit_join(e, node(e, v), *lane, element_of(e, v, row), false);
        }
    }
    for (size_t i = 0; i < e->ir->stores.len; i++) {
        const lz_kernel_store *s = &e->ir->stores.data[i];
        if (lz_emit_plan_stores_row(e->p, e->v, s) && node(e, s->value)->stage == t->stage)
            lz_emit_write(e, s->access, lz_emit_value(e, s->value));
    }
}

static void forget(lz_emitter *e)
{
    memset(e->now, 0, e->ir->nodes.len * sizeof(lz_llvm_value *));
}

static void rows_body(lz_emitter *e, const task *t)
{
    held h;
    forget(e);
    for (uint32_t v = 0; v < e->ir->nodes.len; v++) {
        if (e->p->level[v] == LZ_LEVEL_OUTER && e->p->need[t->stage][v])
            e->now[v] = read_array(e, v);
    }
    find_places(e, t, &h);
    move_lanes(e, t, &h, false);
    for (int g = 0; g < t->group; g++)
        row_body(e, t, &h, g);
    move_lanes(e, t, &h, true);
    forget(e);
}

static bool is_memory(const lz_kernel_use *u)
{
    return u->loads || u->stores;
}

/* Sets each access to a row; row NULL: only to its base, for accesses that do not vary along the row. */
static void go_to_row(lz_emitter *e, lz_llvm_value *row, lz_llvm_value **here)
{
    for (size_t a = 0; a < e->ir->access.len; a++) {
        const lz_kernel_use *u = &e->ir->access.data[a];
        const lz_emit_access *x = &e->access[a];
        here[a] = x->base;
        if (!x->base || !row || u->vary == LZ_KERNEL_OUTER)
            continue;
        lz_llvm_value *d =
            x->across_table
                ? lz_emit_load(e, e->i64, e->l->BuildGEP2(e->b, e->i64, x->across_table, &row, 1, ""), 8)
                : e->l->BuildMul(e->b, row, x->across, "");
        here[a] = is_memory(u) ? lz_emit_move(e, x->base, d) : e->l->BuildAdd(e->b, x->base, d, "");
    }
}

static void row_groups(lz_emitter *e, int walk, lz_llvm_value *from, lz_llvm_value *to, int group)
{
    task t = { .run = rows_body, .stage = walk, .group = group };
    lz_emit_loop_state l = lz_emit_loop(e, from, to, lz_emit_i64(e, group));
    t.row = l.i;
    for (int g = 0; g < group; g++)
        go_to_row(e, e->l->BuildAdd(e->b, l.i, lz_emit_i64(e, g), ""), t.here[g]);
    over_memory(e, &t);
    lz_emit_loop_end(e, &l);
}

/* More rows at once for walks with little work, so that the code stays small. */
static int group_size(const lz_emitter *e, int walk)
{
    int work = 0;
    for (uint32_t v = 0; v < e->ir->nodes.len; v++)
        work += made_in(e, v, walk) || reduces_in(e, v, walk);
    return work <= 4 ? GROUP_MOST : work <= 12 ? LZ_COLUMN_LANES : 1;
}

/* Rows [from, to); from is a multiple of the group size. */
static void stretch(lz_emitter *e, int walk, lz_llvm_value *from, lz_llvm_value *to)
{
    int group = group_size(e, walk);
    lz_llvm_value *whole = from;
    if (group > 1) {
        whole = e->l->BuildAnd(e->b, to, lz_emit_i64(e, -(int64_t)group), "");
        row_groups(e, walk, from, whole, group);
    }
    row_groups(e, walk, whole, to, 1);
}

/* ---- walks ---- */

/* As in reduce.h: at most 64 blocks of whole chunks. */
static lz_llvm_value *block_size(lz_emitter *e)
{
    lz_llvm_value *above =
        e->l->BuildAdd(e->b, e->n_row, lz_emit_i64(e, (int64_t)LZ_COLUMN_CHUNK * LZ_BLOCKS - 1), "");
    lz_llvm_value *per = e->l->BuildLShr(e->b, above, lz_emit_i64(e, 13), "");
    return e->l->BuildMul(e->b, per, lz_emit_i64(e, LZ_COLUMN_CHUNK), "");
}

_Static_assert(LZ_COLUMN_CHUNK *LZ_BLOCKS == 1 << 13, "block_size shifts by it");

static void blocks(lz_emitter *e, int walk)
{
    task blocks_new = { .run = reset_blocks, .stage = walk },
         lanes_new = { .run = reset_lanes, .stage = walk };
    task chunk_done = { .run = fold_chunk, .stage = walk }, block_done = { .run = fold_block, .stage = walk };
    lz_llvm_value *chunk = lz_emit_i64(e, LZ_COLUMN_CHUNK);
    lz_emit_loop_state block = lz_emit_loop(e, lz_emit_i64(e, 0), e->n_row, e->block);
    lz_llvm_value *end = lz_emit_least(e, e->l->BuildAdd(e->b, block.i, e->block, ""), e->n_row);
    over_arrays(e, &blocks_new);
    lz_emit_loop_state part = lz_emit_loop(e, block.i, end, chunk);
    over_arrays(e, &lanes_new);
    stretch(e, walk, part.i, lz_emit_least(e, e->l->BuildAdd(e->b, part.i, chunk, ""), end));
    over_arrays(e, &chunk_done);
    lz_emit_loop_end(e, &part);
    over_arrays(e, &block_done);
    lz_emit_loop_end(e, &block);
}

static void do_walk(lz_emitter *e, int walk)
{
    task start = { .run = reset_totals, .stage = walk };
    bool reduces = false;
    for (uint32_t v = 0; v < e->ir->nodes.len; v++)
        reduces = reduces || reduces_in(e, v, walk);
    over_arrays(e, &start);
    if (reduces)
        blocks(e, walk);
    else
        stretch(e, walk, lz_emit_i64(e, 0), e->n_row);
}

/* ---- outer code ---- */

static bool is_outer(const lz_emitter *e, uint32_t v, int stage)
{
    return e->p->level[v] == LZ_LEVEL_OUTER && node(e, v)->op != LZ_KERNEL_NODE_REDUCE
           && node(e, v)->stage == stage;
}

static bool stores_outer(const lz_emitter *e, const lz_kernel_store *s, int stage)
{
    return !lz_emit_plan_stores_row(e->p, e->v, s) && node(e, s->value)->stage == stage;
}

static void fetch(lz_emitter *e, uint32_t v)
{
    if (e->p->level[v] == LZ_LEVEL_OUTER && !e->now[v])
        e->now[v] = read_array(e, v);
}

static void outer_body(lz_emitter *e, const task *t)
{
    forget(e);
    for (uint32_t v = 0; v < e->ir->nodes.len; v++) {
        if (!is_outer(e, v, t->stage))
            continue;
        for (int k = 0; k < lz_kernel_node_operands(node(e, v)); k++)
            fetch(e, node(e, v)->in[k]);
        e->now[v] = lz_emit_node(e, v);
        if (e->p->array[v] >= 0)
            write_array(e, v);
    }
    for (size_t i = 0; i < e->ir->stores.len; i++) {
        const lz_kernel_store *s = &e->ir->stores.data[i];
        if (!stores_outer(e, s, t->stage))
            continue;
        fetch(e, s->value);
        lz_emit_write(e, s->access, lz_emit_value(e, s->value));
    }
    forget(e);
}

static void outer(lz_emitter *e, int stage)
{
    task t = { .run = outer_body, .stage = stage };
    bool work = false;
    for (uint32_t v = 0; v < e->ir->nodes.len; v++)
        work = work || is_outer(e, v, stage);
    for (size_t i = 0; i < e->ir->stores.len; i++)
        work = work || stores_outer(e, &e->ir->stores.data[i], stage);
    if (!work)
        return;
    go_to_row(e, NULL, t.here[0]);
    for (size_t a = 0; a < e->ir->access.len; a++)
        e->access[a].here = t.here[0][a];
    over_memory(e, &t);
}

static void spread_uniform(lz_emitter *e)
{
    e->lanes = e->p->vec;
    for (uint32_t v = 0; v < e->ir->nodes.len; v++) {
        if (e->p->level[v] == LZ_LEVEL_UNIFORM && node(e, v)->op != LZ_KERNEL_NODE_CONST)
            e->spread[v] = lz_emit_splat(e, e->scalar[v]);
    }
    e->lanes = 1;
}

void lz_emit_columns(lz_emitter *e)
{
    spread_uniform(e);
    e->block = block_size(e);
    for (int w = 0; w < e->p->walks; w++) {
        outer(e, w);
        do_walk(e, w);
    }
    outer(e, e->p->walks);
}
