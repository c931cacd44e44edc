/* Vectors along the outer dimension: a strip of columns, and the rows outside of it.
 *
 * What belongs to a column lies in scratch memory, in arrays of one strip: the states of
 * reductions, and outer values that other code reads. A strip is a multiple of every
 * vector, so lanes over its end do no harm there and need no mask. */
#include "jit/emit.h"
#include "jit/program.h"
#include <string.h>

enum {
    GROUP_MOST = 8, /* rows at once: as many streams, and a lane is fetched for several */
};

static const lz_knode *node(const lz_em *e, uint32_t v)
{
    return &e->ir->nodes.data[v];
}

/* ---- arrays ---- */

typedef struct parts {           /* lanes, the block's sum, the total; the same of indices */
    lz_lvalue *lane, *wide, *at; /* wide: the block's sum and the total */
    int type, total_type;
} parts;

enum { LANE = 0, BLOCK = LZ_COLUMN_LANES, TOTAL, PARTS };

_Static_assert(LZ_COLUMN_SUMS == 1, "a block of columns has one sum");

static parts parts_of(lz_em *e, uint32_t v)
{
    const lz_knode *n = node(e, v);
    bool scans = n->op == LZ_N_SCAN;
    parts p = { .type = lz_em_state_type(e, n), .total_type = lz_em_total_type(e, n) };
    int64_t lanes = (scans ? 1 : BLOCK) * (int64_t)lz_ktype_size((lz_ktype)p.type) * e->p->strip;
    int64_t wide = (scans ? 0 : PARTS - BLOCK) * (int64_t)lz_ktype_size((lz_ktype)p.total_type) * e->p->strip;
    p.lane = lz_em_move(e, e->scratch, lz_em_i64(e, e->p->state[v]));
    p.wide = lz_em_move(e, p.lane, lz_em_i64(e, lanes));
    p.at = lz_em_move(e, p.wide, lz_em_i64(e, wide));
    return p;
}

/* Where column `at` is in the strip `part` of an array of strips. */
static lz_lvalue *column(lz_em *e, int part)
{
    return e->l->BuildAdd(e->b, e->at, lz_em_i64(e, part * e->p->strip), "");
}

/* The indices of the block's sum and of the total. */
static lz_lvalue *wide_at(lz_em *e, const parts *p)
{
    return lz_em_move(e, p->at, lz_em_i64(e, BLOCK * (int64_t)sizeof(int64_t) * e->p->strip));
}

static lz_ebest get(lz_em *e, uint32_t v, int part)
{
    parts p = parts_of(e, v);
    if (part < BLOCK)
        return lz_em_get(e, node(e, v), p.type, p.lane, p.at, column(e, part));
    return lz_em_get(e, node(e, v), p.total_type, p.wide, wide_at(e, &p), column(e, part - BLOCK));
}

static void put(lz_em *e, uint32_t v, int part, lz_ebest s)
{
    parts p = parts_of(e, v);
    if (part < BLOCK)
        lz_em_put(e, node(e, v), p.type, s, p.lane, p.at, column(e, part));
    else
        lz_em_put(e, node(e, v), p.total_type, s, p.wide, wide_at(e, &p), column(e, part - BLOCK));
}

static lz_lvalue *array_address(lz_em *e, uint32_t v)
{
    int64_t size = (int64_t)lz_ktype_size((lz_ktype)node(e, v)->type);
    lz_lvalue *array = lz_em_move(e, e->scratch, lz_em_i64(e, e->p->array[v]));
    return lz_em_move(e, array, e->l->BuildMul(e->b, e->at, lz_em_i64(e, size), ""));
}

/* An outer value made before. */
static lz_lvalue *read_array(lz_em *e, uint32_t v)
{
    const lz_knode *n = node(e, v);
    if (n->op == LZ_N_REDUCE)
        return lz_em_result(e, n, get(e, v, TOTAL));
    lz_ltype *t = n->type == LZ_KBOOL ? e->i8 : lz_em_ktype(e, n->type);
    unsigned align = (unsigned)lz_ktype_size((lz_ktype)n->type);
    lz_lvalue *x = lz_em_load(e, lz_em_shape(e, t), array_address(e, v), align);
    return n->type == LZ_KBOOL ? e->l->BuildTrunc(e->b, x, lz_em_shape(e, e->i1), "") : x;
}

static void write_array(lz_em *e, uint32_t v)
{
    const lz_knode *n = node(e, v);
    lz_lvalue *x = e->now[v];
    x = n->type == LZ_KBOOL ? e->l->BuildZExt(e->b, x, lz_em_shape(e, e->i8), "") : x;
    lz_em_store(e, x, array_address(e, v), (unsigned)lz_ktype_size((lz_ktype)n->type));
}

/* ---- loops over columns ---- */

typedef struct task { /* what is done for a vector of columns */
    void (*run)(lz_em *e, const struct task *t);
    int stage; /* or walk */
    int group; /* rows */
    lz_lvalue *row;
    lz_lvalue *here[GROUP_MOST][LZ_KERNEL_ACCESSES];
} task;

static void over_columns(lz_em *e, const task *t, lz_lvalue *from, lz_lvalue *to, int lanes, bool masked)
{
    lz_eloop l = lz_em_loop(e, from, to, lz_em_i64(e, lanes));
    e->lanes = lanes;
    e->at = l.i;
    e->mask = masked ? lz_em_mask(e, to) : NULL;
    t->run(e, t);
    e->lanes = 1;
    e->at = e->mask = NULL;
    lz_em_loop_end(e, &l);
}

/* Those that touch nothing but the arrays. */
static void over_arrays(lz_em *e, const task *t)
{
    over_columns(e, t, lz_em_i64(e, 0), e->n_outer, e->p->vec, false);
}

static void over_memory(lz_em *e, const task *t)
{
    lz_lvalue *zero = lz_em_i64(e, 0);
    if (e->t->masked) {
        over_columns(e, t, zero, e->n_outer, e->p->vec, true);
        return;
    }
    lz_lvalue *whole = e->l->BuildAnd(e->b, e->n_outer, lz_em_i64(e, -(int64_t)e->p->vec), "");
    over_columns(e, t, zero, whole, e->p->vec, false);
    over_columns(e, t, whole, e->n_outer, 1, false);
}

/* ---- states ---- */

static bool reduces_in(const lz_em *e, uint32_t v, int walk)
{
    return node(e, v)->op == LZ_N_REDUCE && node(e, v)->stage == walk + 1;
}

static bool made_in(const lz_em *e, uint32_t v, int walk)
{
    return e->p->need[walk][v] && e->p->level[v] == LZ_LEVEL_ELEMENT;
}

static void reset_parts(lz_em *e, uint32_t v, int begin, int end)
{
    parts p = parts_of(e, v);
    for (int part = begin; part < end; part++)
        put(e, v, part, lz_em_neutral(e, node(e, v), part < BLOCK ? p.type : p.total_type));
}

static void reset_totals(lz_em *e, const task *t)
{
    for (uint32_t v = 0; v < e->ir->nodes.len; v++) {
        if (reduces_in(e, v, t->stage))
            reset_parts(e, v, TOTAL, PARTS);
        else if (made_in(e, v, t->stage) && node(e, v)->op == LZ_N_SCAN)
            reset_parts(e, v, 0, 1);
    }
}

static void reset_blocks(lz_em *e, const task *t)
{
    for (uint32_t v = 0; v < e->ir->nodes.len; v++) {
        if (reduces_in(e, v, t->stage))
            reset_parts(e, v, BLOCK, TOTAL);
    }
}

static void reset_lanes(lz_em *e, const task *t)
{
    for (uint32_t v = 0; v < e->ir->nodes.len; v++) {
        if (reduces_in(e, v, t->stage))
            reset_parts(e, v, LANE, BLOCK);
    }
}

/* A chunk's lanes to the sum of the block. */
static void fold_chunk(lz_em *e, const task *t)
{
    for (uint32_t v = 0; v < e->ir->nodes.len; v++) {
        const lz_knode *n = node(e, v);
        lz_ebest s[LZ_COLUMN_LANES];
        if (!reduces_in(e, v, t->stage))
            continue;
        for (int j = 0; j < LZ_COLUMN_LANES; j++)
            s[j] = get(e, v, LANE + j);
        lz_em_halve(e, n, lz_em_state_type(e, n), s, LZ_COLUMN_LANES, LZ_COLUMN_SUMS);
        put(e, v, BLOCK,
            lz_em_merge(e, n, lz_em_total_type(e, n), get(e, v, BLOCK), lz_em_widen(e, n, s[0])));
    }
}

static void fold_block(lz_em *e, const task *t)
{
    for (uint32_t v = 0; v < e->ir->nodes.len; v++) {
        const lz_knode *n = node(e, v);
        if (reduces_in(e, v, t->stage))
            put(e, v, TOTAL, lz_em_merge(e, n, lz_em_total_type(e, n), get(e, v, TOTAL), get(e, v, BLOCK)));
    }
}

static lz_ebest element_of(lz_em *e, uint32_t v, lz_lvalue *row)
{
    lz_ebest x = { .x = lz_em_value(e, node(e, v)->in[0]) };
    x.at = lz_em_has_index(node(e, v)) ? lz_em_splat(e, row) : NULL;
    return x;
}

static lz_lvalue *scan(lz_em *e, uint32_t v, lz_lvalue *row)
{
    lz_ebest s = lz_em_join(e, node(e, v), get(e, v, 0), element_of(e, v, row), true);
    put(e, v, 0, s);
    return lz_em_has_index(node(e, v)) ? s.at : s.x;
}

/* ---- a group of rows ---- */

/* Lanes are held in registers while the group lasts. */
typedef struct held {
    lz_ebest lane[LZ_KERNEL_REDUCTIONS][LZ_COLUMN_LANES];
    lz_lvalue *place[LZ_COLUMN_LANES]; /* in the strips */
} held;

/* A group starts at a multiple of four; a single row is anywhere. */
static void find_places(lz_em *e, const task *t, held *h)
{
    lz_lvalue *lane = e->l->BuildAnd(e->b, t->row, lz_em_i64(e, LZ_COLUMN_LANES - 1), "");
    lane = e->l->BuildMul(e->b, lane, lz_em_i64(e, e->p->strip), "");
    for (int j = 0; j < LZ_COLUMN_LANES; j++)
        h->place[j] = t->group > 1 ? column(e, LANE + j) : e->l->BuildAdd(e->b, e->at, lane, "");
}

static int held_lanes(const task *t)
{
    return t->group < LZ_COLUMN_LANES ? t->group : LZ_COLUMN_LANES;
}

static void move_lanes(lz_em *e, const task *t, held *h, bool out)
{
    int k = 0;
    for (uint32_t v = 0; v < e->ir->nodes.len; v++) {
        if (!reduces_in(e, v, t->stage))
            continue;
        parts p = parts_of(e, v);
        for (int j = 0; j < held_lanes(t); j++) {
            if (out)
                lz_em_put(e, node(e, v), p.type, h->lane[k][j], p.lane, p.at, h->place[j]);
            else
                h->lane[k][j] = lz_em_get(e, node(e, v), p.type, p.lane, p.at, h->place[j]);
        }
        k++;
    }
}

static void row_body(lz_em *e, const task *t, held *h, int g)
{
    lz_lvalue *row = e->l->BuildAdd(e->b, t->row, lz_em_i64(e, g), "");
    int k = 0;
    for (size_t a = 0; a < e->ir->access.len; a++)
        e->access[a].here = t->here[g][a];
    for (uint32_t v = 0; v < e->ir->nodes.len; v++) {
        if (made_in(e, v, t->stage)) {
            e->now[v] = node(e, v)->op == LZ_N_SCAN ? scan(e, v, row) : lz_em_node(e, v);
        } else if (reduces_in(e, v, t->stage)) {
            lz_ebest *lane = &h->lane[k++][g % LZ_COLUMN_LANES];
            *lane = lz_em_join(e, node(e, v), *lane, element_of(e, v, row), false);
        }
    }
    for (size_t i = 0; i < e->ir->stores.len; i++) {
        const lz_kstore *s = &e->ir->stores.data[i];
        if (lz_eplan_stores_row(e->p, e->v, s) && node(e, s->value)->stage == t->stage)
            lz_em_write(e, s->access, lz_em_value(e, s->value));
    }
}

static void forget(lz_em *e)
{
    memset(e->now, 0, e->ir->nodes.len * sizeof(lz_lvalue *));
}

static void rows_body(lz_em *e, const task *t)
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

static bool is_memory(const lz_kuse *u)
{
    return u->loads || u->stores;
}

/* Each access at a row; row NULL: those that do not vary with it. */
static void go_to_row(lz_em *e, lz_lvalue *row, lz_lvalue **here)
{
    for (size_t a = 0; a < e->ir->access.len; a++) {
        const lz_kuse *u = &e->ir->access.data[a];
        const lz_eaccess *x = &e->access[a];
        here[a] = x->base;
        if (!x->base || !row || u->vary == LZ_K_OUTER)
            continue;
        lz_lvalue *d =
            x->across_table
                ? lz_em_load(e, e->i64, e->l->BuildGEP2(e->b, e->i64, x->across_table, &row, 1, ""), 8)
                : e->l->BuildMul(e->b, row, x->across, "");
        here[a] = is_memory(u) ? lz_em_move(e, x->base, d) : e->l->BuildAdd(e->b, x->base, d, "");
    }
}

static void row_groups(lz_em *e, int walk, lz_lvalue *from, lz_lvalue *to, int group)
{
    task t = { .run = rows_body, .stage = walk, .group = group };
    lz_eloop l = lz_em_loop(e, from, to, lz_em_i64(e, group));
    t.row = l.i;
    for (int g = 0; g < group; g++)
        go_to_row(e, e->l->BuildAdd(e->b, l.i, lz_em_i64(e, g), ""), t.here[g]);
    over_memory(e, &t);
    lz_em_loop_end(e, &l);
}

/* As many rows at once as leave the code small. */
static int group_size(const lz_em *e, int walk)
{
    int work = 0;
    for (uint32_t v = 0; v < e->ir->nodes.len; v++)
        work += made_in(e, v, walk) || reduces_in(e, v, walk);
    return work <= 4 ? GROUP_MOST : work <= 12 ? LZ_COLUMN_LANES : 1;
}

/* Rows [from, to); from is a multiple of the group. */
static void stretch(lz_em *e, int walk, lz_lvalue *from, lz_lvalue *to)
{
    int group = group_size(e, walk);
    lz_lvalue *whole = from;
    if (group > 1) {
        whole = e->l->BuildAnd(e->b, to, lz_em_i64(e, -(int64_t)group), "");
        row_groups(e, walk, from, whole, group);
    }
    row_groups(e, walk, whole, to, 1);
}

/* ---- walks ---- */

/* reduce.h: at most 64 blocks of whole chunks */
static lz_lvalue *block_size(lz_em *e)
{
    lz_lvalue *above =
        e->l->BuildAdd(e->b, e->n_row, lz_em_i64(e, (int64_t)LZ_COLUMN_CHUNK * LZ_BLOCKS - 1), "");
    lz_lvalue *per = e->l->BuildLShr(e->b, above, lz_em_i64(e, 13), "");
    return e->l->BuildMul(e->b, per, lz_em_i64(e, LZ_COLUMN_CHUNK), "");
}

_Static_assert(LZ_COLUMN_CHUNK *LZ_BLOCKS == 1 << 13, "block_size shifts by it");

static void blocks(lz_em *e, int walk)
{
    task blocks_new = { .run = reset_blocks, .stage = walk },
         lanes_new = { .run = reset_lanes, .stage = walk };
    task chunk_done = { .run = fold_chunk, .stage = walk }, block_done = { .run = fold_block, .stage = walk };
    lz_lvalue *chunk = lz_em_i64(e, LZ_COLUMN_CHUNK);
    lz_eloop block = lz_em_loop(e, lz_em_i64(e, 0), e->n_row, e->block);
    lz_lvalue *end = lz_em_least(e, e->l->BuildAdd(e->b, block.i, e->block, ""), e->n_row);
    over_arrays(e, &blocks_new);
    lz_eloop part = lz_em_loop(e, block.i, end, chunk);
    over_arrays(e, &lanes_new);
    stretch(e, walk, part.i, lz_em_least(e, e->l->BuildAdd(e->b, part.i, chunk, ""), end));
    over_arrays(e, &chunk_done);
    lz_em_loop_end(e, &part);
    over_arrays(e, &block_done);
    lz_em_loop_end(e, &block);
}

static void do_walk(lz_em *e, int walk)
{
    task start = { .run = reset_totals, .stage = walk };
    bool reduces = false;
    for (uint32_t v = 0; v < e->ir->nodes.len; v++)
        reduces = reduces || reduces_in(e, v, walk);
    over_arrays(e, &start);
    if (reduces)
        blocks(e, walk);
    else
        stretch(e, walk, lz_em_i64(e, 0), e->n_row);
}

/* ---- outer code ---- */

static bool is_outer(const lz_em *e, uint32_t v, int stage)
{
    return e->p->level[v] == LZ_LEVEL_OUTER && node(e, v)->op != LZ_N_REDUCE && node(e, v)->stage == stage;
}

static bool stores_outer(const lz_em *e, const lz_kstore *s, int stage)
{
    return !lz_eplan_stores_row(e->p, e->v, s) && node(e, s->value)->stage == stage;
}

static void fetch(lz_em *e, uint32_t v)
{
    if (e->p->level[v] == LZ_LEVEL_OUTER && !e->now[v])
        e->now[v] = read_array(e, v);
}

static void outer_body(lz_em *e, const task *t)
{
    forget(e);
    for (uint32_t v = 0; v < e->ir->nodes.len; v++) {
        if (!is_outer(e, v, t->stage))
            continue;
        for (int k = 0; k < lz_knode_operands(node(e, v)); k++)
            fetch(e, node(e, v)->in[k]);
        e->now[v] = lz_em_node(e, v);
        if (e->p->array[v] >= 0)
            write_array(e, v);
    }
    for (size_t i = 0; i < e->ir->stores.len; i++) {
        const lz_kstore *s = &e->ir->stores.data[i];
        if (!stores_outer(e, s, t->stage))
            continue;
        fetch(e, s->value);
        lz_em_write(e, s->access, lz_em_value(e, s->value));
    }
    forget(e);
}

static void outer(lz_em *e, int stage)
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

static void spread_uniform(lz_em *e)
{
    e->lanes = e->p->vec;
    for (uint32_t v = 0; v < e->ir->nodes.len; v++) {
        if (e->p->level[v] == LZ_LEVEL_UNIFORM && node(e, v)->op != LZ_N_CONST)
            e->spread[v] = lz_em_splat(e, e->scalar[v]);
    }
    e->lanes = 1;
}

void lz_em_columns(lz_em *e)
{
    spread_uniform(e);
    e->block = block_size(e);
    for (int w = 0; w < e->p->walks; w++) {
        outer(e, w);
        do_walk(e, w);
    }
    outer(e, e->p->walks);
}
