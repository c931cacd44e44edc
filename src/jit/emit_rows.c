/* Vectors along the row: for each outer index, outer code and walks over the row. */
#include "jit/emitter.h"
#include "jit/program.h"
#include <string.h>

static const lz_kernel_node *node(const lz_emitter *e, uint32_t v)
{
    return &e->ir->nodes.data[v];
}

static lz_llvm_value *at_scratch(lz_emitter *e, int64_t offset)
{
    return lz_emit_move(e, e->scratch, lz_emit_i64(e, offset));
}

/* ---- states: see place_states in emit_plan.c ---- */

typedef struct parts {
    lz_llvm_value *lane, *lane_at, *block, *block_at, *total, *total_at;
    int type, total_type; /* type of the lanes; type of the block's sums and the total */
    int vec;
} parts;

static parts parts_of(lz_emitter *e, uint32_t v)
{
    const lz_kernel_node *n = node(e, v);
    lz_emit_state_room r = lz_estate_row_room(e->ir, n);
    int64_t at = e->p->state[v], indices = at + r.indices;
    return (parts){ .lane = at_scratch(e, at),
                    .block = at_scratch(e, at + r.block),
                    .total = at_scratch(e, at + r.total),
                    .lane_at = at_scratch(e, indices),
                    .block_at = at_scratch(e, indices + (int64_t)LZ_ROW_LANES * 8),
                    .total_at = at_scratch(e, indices + (int64_t)(LZ_ROW_LANES + LZ_ROW_SUMS) * 8),
                    .type = lz_emit_state_type(e, n),
                    .total_type =
                        n->op == LZ_KERNEL_NODE_SCAN ? lz_emit_state_type(e, n) : lz_emit_total_type(e, n),
                    .vec = e->p->vec };
}

static void reset_chunk(lz_emitter *e, uint32_t v)
{
    parts p = parts_of(e, v);
    e->lanes = p.vec;
    for (int i = 0; i < LZ_ROW_LANES; i += p.vec)
        lz_emit_put(e, node(e, v), p.type, lz_emit_neutral(e, node(e, v), p.type), p.lane, p.lane_at,
                    lz_emit_i64(e, i));
    e->lanes = 1;
}

static void reset_block(lz_emitter *e, uint32_t v)
{
    parts p = parts_of(e, v);
    e->lanes = p.vec;
    for (int i = 0; i < LZ_ROW_SUMS; i += p.vec)
        lz_emit_put(e, node(e, v), p.total_type, lz_emit_neutral(e, node(e, v), p.total_type), p.block,
                    p.block_at, lz_emit_i64(e, i));
    e->lanes = 1;
}

static lz_emit_state get_total(lz_emitter *e, uint32_t v)
{
    parts p = parts_of(e, v);
    return lz_emit_get(e, node(e, v), p.total_type, p.total, p.total_at, lz_emit_i64(e, 0));
}

static void put_total(lz_emitter *e, uint32_t v, lz_emit_state s)
{
    parts p = parts_of(e, v);
    lz_emit_put(e, node(e, v), p.total_type, s, p.total, p.total_at, lz_emit_i64(e, 0));
}

static void reset_total(lz_emitter *e, uint32_t v)
{
    e->lanes = 1;
    put_total(e, v, lz_emit_neutral(e, node(e, v), parts_of(e, v).total_type));
}

void lz_emit_row_put_lanes(lz_emitter *e, int walk, lz_llvm_value *const *x)
{
    e->lanes = e->p->vec;
    for (uint32_t v = 0; v < e->ir->nodes.len; v++) {
        parts p = lz_emit_reduces_in(e, v, walk) ? parts_of(e, v) : (parts){ 0 };
        for (int i = 0; p.vec && i < LZ_ROW_LANES; i += p.vec, x++)
            lz_emit_put(e, node(e, v), p.type, (lz_emit_state){ *x, NULL }, p.lane, p.lane_at,
                        lz_emit_i64(e, i));
    }
    e->lanes = 1;
}

void lz_emit_row_get_lanes(lz_emitter *e, int walk, lz_llvm_value **x)
{
    e->lanes = e->p->vec;
    for (uint32_t v = 0; v < e->ir->nodes.len; v++) {
        parts p = lz_emit_reduces_in(e, v, walk) ? parts_of(e, v) : (parts){ 0 };
        for (int i = 0; p.vec && i < LZ_ROW_LANES; i += p.vec, x++)
            *x = lz_emit_get(e, node(e, v), p.type, p.lane, p.lane_at, lz_emit_i64(e, i)).x;
    }
    e->lanes = 1;
}

/* Masked-off lanes keep their state. */
static void step(lz_emitter *e, uint32_t v)
{
    const lz_kernel_node *n = node(e, v);
    if (e->held) {
        lz_emit_state x = lz_emit_join(e, n, (lz_emit_state){ *e->held, NULL },
                                       (lz_emit_state){ lz_emit_value(e, n->in[0]), NULL }, false);
        *e->held = e->mask ? e->l->BuildSelect(e->b, e->mask, x.x, *e->held, "") : x.x;
        e->held++;
        return;
    }
    parts p = parts_of(e, v);
    lz_llvm_value *i = e->l->BuildAnd(e->b, e->at, lz_emit_i64(e, LZ_ROW_LANES - 1), "");
    lz_emit_state old = lz_emit_get(e, n, p.type, p.lane, p.lane_at, i),
                  x = { .x = lz_emit_value(e, n->in[0]) };
    if (lz_emit_has_index(n))
        x.at = e->l->BuildAdd(e->b, lz_emit_splat(e, e->at), lz_emit_iota(e, e->i64), "");
    lz_emit_state s = lz_emit_join(e, n, old, x, false);
    if (e->mask) {
        s.x = e->l->BuildSelect(e->b, e->mask, s.x, old.x, "");
        s.at = s.at ? e->l->BuildSelect(e->b, e->mask, s.at, old.at, "") : NULL;
    }
    lz_emit_put(e, n, p.type, s, p.lane, p.lane_at, i);
}

static void fold_chunk(lz_emitter *e, uint32_t v)
{
    const lz_kernel_node *n = node(e, v);
    parts p = parts_of(e, v);
    lz_emit_state s[LZ_ROW_LANES] = { { NULL, NULL } };
    e->lanes = p.vec;
    for (int i = 0; i < LZ_ROW_LANES; i += p.vec)
        s[i / p.vec] = lz_emit_get(e, n, p.type, p.lane, p.lane_at, lz_emit_i64(e, i));
    lz_emit_halve(e, n, p.type, s, LZ_ROW_LANES / p.vec, LZ_ROW_SUMS / p.vec);
    for (int i = 0; i < LZ_ROW_SUMS; i += p.vec) {
        lz_emit_state sum = lz_emit_get(e, n, p.total_type, p.block, p.block_at, lz_emit_i64(e, i));
        sum = lz_emit_merge(e, n, p.total_type, sum, lz_emit_widen(e, n, s[i / p.vec]));
        lz_emit_put(e, n, p.total_type, sum, p.block, p.block_at, lz_emit_i64(e, i));
    }
    e->lanes = 1;
}

/* Lanes from..from+count-1 of a vector. */
static lz_llvm_value *piece(lz_emitter *e, lz_llvm_value *x, int from, int count)
{
    lz_llvm_value *which[LZ_EMIT_LANES];
    if (!x)
        return NULL;
    if (count == 1)
        return e->l->BuildExtractElement(e->b, x, lz_emit_i32(e, from), "");
    for (int i = 0; i < count; i++)
        which[i] = lz_emit_i32(e, from + i);
    return e->l->BuildShuffleVector(e->b, x, x, e->l->ConstVector(which, (unsigned)count), "");
}

lz_emit_state lz_emit_row_fold(lz_emitter *e, uint32_t v)
{
    const lz_kernel_node *n = node(e, v);
    parts p = parts_of(e, v);
    lz_emit_state s[LZ_ROW_SUMS] = { { NULL, NULL } };
    int count = LZ_ROW_SUMS / p.vec;
    e->lanes = p.vec;
    lz_llvm_value **sums = lz_emit_held(e, n->stage - 1) ? lz_emit_held_sums(e, v) : NULL;
    for (int i = 0; i < count; i++)
        s[i] = sums
                   ? (lz_emit_state){ sums[i], NULL }
                   : lz_emit_get(e, n, p.total_type, p.block, p.block_at, lz_emit_i64(e, (int64_t)i * p.vec));
    lz_emit_halve(e, n, p.total_type, s, count, 1);
    for (int half = p.vec / 2; half > 0; half /= 2) {
        lz_emit_state low = { piece(e, s[0].x, 0, half), piece(e, s[0].at, 0, half) };
        lz_emit_state high = { piece(e, s[0].x, half, half), piece(e, s[0].at, half, half) };
        e->lanes = half;
        s[0] = lz_emit_merge(e, n, p.total_type, low, high);
    }
    return s[0];
}

static void add_block(lz_emitter *e, uint32_t v)
{
    lz_emit_state s = lz_emit_row_fold(e, v);
    put_total(e, v, lz_emit_merge(e, node(e, v), lz_emit_total_type(e, node(e, v)), get_total(e, v), s));
}

/* One element, with the state in registers: the value, and its index for argmax and argmin. */
static lz_llvm_value *scan_one(lz_emitter *e, uint32_t v)
{
    const lz_kernel_node *n = node(e, v);
    bool index = lz_emit_has_index(n);
    lz_emit_state old = { e->scan[0], index ? e->scan[1] : NULL };
    lz_emit_state s =
        lz_emit_join(e, n, old, (lz_emit_state){ lz_emit_value(e, n->in[0]), index ? e->at : NULL }, true);
    *e->scan++ = s.x;
    if (index)
        *e->scan++ = s.at;
    return index ? s.at : s.x;
}

/* One lane after the other. Masked-off lanes are the last of the row, so their effect on the state is never
 * used. */
static lz_llvm_value *scan(lz_emitter *e, uint32_t v)
{
    const lz_kernel_node *n = node(e, v);
    int lanes = e->lanes;
    lz_llvm_value *x = lz_emit_value(e, n->in[0]);
    lz_llvm_value *out = e->l->GetPoison(lz_emit_shape(e, lz_emit_ktype(e, n->type)));
    e->lanes = 1;
    lz_emit_state s = get_total(e, v);
    for (int i = 0; i < lanes; i++) {
        lz_emit_state one = { lanes == 1 ? x : e->l->BuildExtractElement(e->b, x, lz_emit_i32(e, i), ""),
                              NULL };
        one.at = e->l->BuildAdd(e->b, e->at, lz_emit_i64(e, i), "");
        s = lz_emit_join(e, n, s, one, true);
        lz_llvm_value *r = lz_emit_has_index(n) ? s.at : s.x;
        out = lanes == 1 ? r : e->l->BuildInsertElement(e->b, out, r, lz_emit_i32(e, i), "");
    }
    put_total(e, v, s);
    e->lanes = lanes;
    return out;
}

/* ---- values kept between walks ---- */

static lz_llvm_value *kept_address(lz_emitter *e, uint32_t v)
{
    int64_t size = (int64_t)lz_kernel_type_size((lz_kernel_type)node(e, v)->type);
    lz_llvm_value *array = e->l->BuildMul(e->b, e->row_room, lz_emit_i64(e, e->p->keep[v] - size), "");
    lz_llvm_value *i = e->l->BuildMul(e->b, e->at, lz_emit_i64(e, size), "");
    return lz_emit_move(e, lz_emit_move(e, at_scratch(e, e->p->scratch), array), i);
}

static lz_llvm_type *kept_type(lz_emitter *e, uint32_t v)
{
    int type = node(e, v)->type;
    return lz_emit_shape(e, type == LZ_KERNEL_BOOL ? e->i8 : lz_emit_ktype(e, type));
}

static lz_llvm_value *read_back(lz_emitter *e, uint32_t v)
{
    unsigned align = (unsigned)lz_kernel_type_size((lz_kernel_type)node(e, v)->type);
    lz_llvm_value *x = lz_emit_load(e, kept_type(e, v), kept_address(e, v), align);
    return node(e, v)->type == LZ_KERNEL_BOOL ? e->l->BuildTrunc(e->b, x, lz_emit_shape(e, e->i1), "") : x;
}

/* The array has room after the row for masked-off lanes. */
static void keep(lz_emitter *e, uint32_t v)
{
    lz_llvm_value *x = e->now[v];
    x = node(e, v)->type == LZ_KERNEL_BOOL ? e->l->BuildZExt(e->b, x, kept_type(e, v), "") : x;
    lz_emit_store(e, x, kept_address(e, v), (unsigned)lz_kernel_type_size((lz_kernel_type)node(e, v)->type));
}

/* ---- one walk ---- */

bool lz_emit_reduces_in(const lz_emitter *e, uint32_t v, int walk)
{
    return node(e, v)->op == LZ_KERNEL_NODE_REDUCE && node(e, v)->stage == walk + 1;
}

static bool made_in(const lz_emitter *e, uint32_t v, int walk)
{
    return e->p->need[walk][v] && e->p->level[v] == LZ_LEVEL_ELEMENT;
}

static void element(lz_emitter *e, uint32_t v, int walk)
{
    if (e->p->keep[v] && e->p->made[v] < walk) {
        e->now[v] = read_back(e, v);
        return;
    }
    e->now[v] = node(e, v)->op != LZ_KERNEL_NODE_SCAN ? lz_emit_node(e, v)
                : e->scan                             ? scan_one(e, v)
                                                      : scan(e, v);
    if (e->p->keep[v])
        keep(e, v);
}

void lz_emit_row_body(lz_emitter *e, int walk)
{
    memset(e->now, 0, e->ir->nodes.len * sizeof(lz_llvm_value *));
    for (uint32_t v = 0; v < e->ir->nodes.len; v++) {
        if (made_in(e, v, walk))
            element(e, v, walk);
        else if (lz_emit_reduces_in(e, v, walk))
            step(e, v);
    }
    for (size_t i = 0; i < e->ir->stores.len; i++) {
        const lz_kernel_store *s = &e->ir->stores.data[i];
        if (lz_emit_plan_stores_row(e->p, e->v, s) && node(e, s->value)->stage == walk)
            lz_emit_write(e, s->access, lz_emit_value(e, s->value));
    }
    memset(e->now, 0, e->ir->nodes.len * sizeof(lz_llvm_value *));
}

static void body_loop(lz_emitter *e, int walk, lz_llvm_value *from, lz_llvm_value *to, int lanes, bool masked)
{
    lz_emit_loop_state l = lz_emit_loop(e, from, to, lz_emit_i64(e, lanes));
    e->lanes = lanes;
    e->at = l.i;
    e->mask = masked ? lz_emit_mask(e, to) : NULL;
    lz_emit_row_body(e, walk);
    e->lanes = 1;
    e->at = e->mask = NULL;
    lz_emit_loop_end(e, &l);
}

/* Is there so little work that masks are a good part of the work? Then whole vectors get a loop of their own
 * without masks: a sum reads the L2 cache at 96 instead of 75 GB/s. */
bool lz_emit_row_does_little(const lz_emitter *e, int walk)
{
    enum { LITTLE = 8 };
    return lz_emit_plan_operations(e->p, walk) <= LITTLE;
}

/* Whole vectors [from, to): as many at once as are contiguous, then one that may cross a piece's end. */
static void lines(lz_emitter *e, int walk, lz_llvm_value *from, lz_llvm_value *to)
{
    lz_emit_line_range line;
    lz_llvm_value *vec = lz_emit_i64(e, e->p->vec);
    lz_emit_loop_state l = lz_emit_loop(e, from, to, vec);
    lz_llvm_value *n = lz_emit_down_to(e, lz_emit_line_length(e, l.i, to), e->p->vec);
    lz_llvm_value *end = e->l->BuildAdd(e->b, l.i, n, "");
    lz_emit_line_begin(e, l.i, &line);
    body_loop(e, walk, l.i, end, e->p->vec, false);
    lz_emit_line_end(e, &line);
    body_loop(e, walk, end, lz_emit_least(e, e->l->BuildAdd(e->b, end, vec, ""), to), e->p->vec, false);
    l.step = e->l->BuildAdd(e->b, n, vec, "");
    lz_emit_loop_end(e, &l);
}

/* Elements [from, to) of the row; from is a multiple of the vector's lanes. */
void lz_emit_row_stretch(lz_emitter *e, int walk, lz_llvm_value *from, lz_llvm_value *to)
{
    if (e->p->vec == 1) {
        body_loop(e, walk, from, to, 1, false);
        return;
    }
    bool pieces = lz_emit_has_pieces(e), split = !e->t->masked || pieces || lz_emit_row_does_little(e, walk);
    lz_llvm_value *whole = split ? lz_emit_down_to(e, to, e->p->vec) : from;
    if (pieces)
        lines(e, walk, from, whole);
    else if (split)
        body_loop(e, walk, from, whole, e->p->vec, false);
    body_loop(e, walk, whole, to, e->t->masked ? e->p->vec : 1, e->t->masked);
}

bool lz_emit_row_reduces(const lz_emitter *e, int walk)
{
    bool does = false;
    for (uint32_t v = 0; v < e->ir->nodes.len; v++)
        does = does || lz_emit_reduces_in(e, v, walk);
    return does;
}

typedef void state_fn(lz_emitter *e, uint32_t v);

static void each_reduction(lz_emitter *e, int walk, state_fn *fn)
{
    for (uint32_t v = 0; v < e->ir->nodes.len; v++) {
        if (lz_emit_reduces_in(e, v, walk))
            fn(e, v);
    }
}

void lz_emit_row_block(lz_emitter *e, int walk, lz_llvm_value *from)
{
    lz_llvm_value *chunk = lz_emit_i64(e, LZ_ROW_CHUNK);
    lz_llvm_value *end = lz_emit_least(e, e->l->BuildAdd(e->b, from, e->block, ""), e->n_row);
    if (lz_emit_held(e, walk)) {
        lz_emit_held_block(e, walk, from, end);
        return;
    }
    each_reduction(e, walk, reset_block);
    lz_emit_loop_state part = lz_emit_loop(e, from, end, chunk);
    each_reduction(e, walk, reset_chunk);
    lz_emit_row_stretch(e, walk, part.i, lz_emit_least(e, e->l->BuildAdd(e->b, part.i, chunk, ""), end));
    each_reduction(e, walk, fold_chunk);
    lz_emit_loop_end(e, &part);
}

static void blocks(lz_emitter *e, int walk)
{
    lz_emit_loop_state block = lz_emit_loop(e, lz_emit_i64(e, 0), e->n_row, e->block);
    lz_emit_row_block(e, walk, block.i);
    each_reduction(e, walk, add_block);
    lz_emit_loop_end(e, &block);
}

/* Broadcasts to vectors the values of lower levels that elements read. */
void lz_emit_row_spread(lz_emitter *e, int walk)
{
    e->lanes = e->p->vec;
    for (uint32_t v = 0; v < e->ir->nodes.len; v++) {
        bool lower = e->p->level[v] != LZ_LEVEL_ELEMENT && node(e, v)->op != LZ_KERNEL_NODE_CONST;
        if (lower && e->p->need[walk][v])
            e->spread[v] = lz_emit_splat(e, e->scalar[v]);
    }
    e->lanes = 1;
}

static void do_walk(lz_emitter *e, int walk)
{
    lz_emit_row_spread(e, walk);
    for (uint32_t v = 0; v < e->ir->nodes.len; v++) {
        if (lz_emit_reduces_in(e, v, walk) || (made_in(e, v, walk) && node(e, v)->op == LZ_KERNEL_NODE_SCAN))
            reset_total(e, v);
    }
    if (lz_emit_row_reduces(e, walk))
        blocks(e, walk);
    else
        lz_emit_row_stretch(e, walk, e->from ? e->from : lz_emit_i64(e, 0), e->to ? e->to : e->n_row);
}

/* ---- outer code ---- */

static lz_llvm_value *total(lz_emitter *e, uint32_t v)
{
    return lz_emit_result(e, node(e, v), get_total(e, v));
}

void lz_emit_row_outer(lz_emitter *e, int stage)
{
    e->lanes = 1;
    for (uint32_t v = 0; v < e->ir->nodes.len; v++) {
        const lz_kernel_node *n = node(e, v);
        if (e->p->level[v] == LZ_LEVEL_OUTER && n->stage == stage && n->op != LZ_KERNEL_NODE_REDUCE)
            e->scalar[v] = lz_emit_node(e, v);
    }
}

void lz_emit_row_stores(lz_emitter *e, int stage)
{
    for (size_t i = 0; i < e->ir->stores.len; i++) {
        const lz_kernel_store *s = &e->ir->stores.data[i];
        if (!lz_emit_plan_stores_row(e->p, e->v, s) && node(e, s->value)->stage == stage)
            lz_emit_write(e, s->access, lz_emit_value(e, s->value));
    }
}

static void outer(lz_emitter *e, int stage)
{
    for (uint32_t v = 0; v < e->ir->nodes.len; v++) {
        if (lz_emit_reduces_in(e, v, stage - 1))
            e->scalar[v] = total(e, v);
    }
    lz_emit_row_outer(e, stage);
    lz_emit_row_stores(e, stage);
}

static lz_llvm_value *row_start(lz_emitter *e, const lz_emit_access *a, bool memory,
                                lz_llvm_value *outer_index)
{
    lz_llvm_value *d = e->l->BuildMul(e->b, outer_index, a->across, "");
    return memory ? lz_emit_move(e, a->base, d) : e->l->BuildAdd(e->b, a->base, d, "");
}

void lz_emit_row_start(lz_emitter *e, lz_llvm_value *outer_index)
{
    for (size_t a = 0; a < e->ir->access.len; a++) {
        const lz_kernel_use *u = &e->ir->access.data[a];
        if (u->loads || u->stores || u->affine)
            e->access[a].here =
                outer_index ? row_start(e, &e->access[a], !u->affine, outer_index) : e->access[a].base;
    }
}

/* As in reduce.h: at most 64 blocks of whole chunks. */
lz_llvm_value *lz_emit_row_block_size(lz_emitter *e)
{
    lz_llvm_value *above =
        e->l->BuildAdd(e->b, e->n_row, lz_emit_i64(e, (int64_t)LZ_ROW_CHUNK * LZ_BLOCKS - 1), "");
    lz_llvm_value *per = e->l->BuildLShr(e->b, above, lz_emit_i64(e, 16), "");
    lz_llvm_value *none = e->l->BuildICmp(e->b, LZ_LLVM_EQ, e->n_row, lz_emit_i64(e, 0), "");
    per = e->l->BuildSelect(e->b, none, lz_emit_i64(e, 1), per, "");
    return e->l->BuildMul(e->b, per, lz_emit_i64(e, LZ_ROW_CHUNK), "");
}

_Static_assert(LZ_ROW_CHUNK *LZ_BLOCKS == 1 << 16, "block_size shifts by it");

static void rows(lz_emitter *e)
{
    lz_emit_loop_state l = lz_emit_loop(e, lz_emit_i64(e, 0), e->n_outer, lz_emit_i64(e, 1));
    lz_emit_row_start(e, l.i);
    for (int w = 0; w < e->p->walks; w++) {
        outer(e, w);
        do_walk(e, w);
    }
    outer(e, e->p->walks);
    lz_emit_loop_end(e, &l);
}

/* ---- strips: every row a vector at a time ---- */

/* Is everything computed per element, independently? */
static bool is_flat(const lz_emitter *e)
{
    bool is = e->p->walks == 1;
    for (uint32_t v = 0; is && v < e->ir->nodes.len; v++)
        is = node(e, v)->op != LZ_KERNEL_NODE_REDUCE && node(e, v)->op != LZ_KERNEL_NODE_SCAN;
    for (size_t i = 0; is && i < e->ir->stores.len; i++)
        is = lz_emit_plan_stores_row(e->p, e->v, &e->ir->stores.data[i]);
    return is;
}

static lz_llvm_value *distance(lz_emitter *e, lz_llvm_value *x)
{
    lz_llvm_value *negative = e->l->BuildICmp(e->b, LZ_LLVM_SLT, x, lz_emit_i64(e, 0), "");
    return e->l->BuildSelect(e->b, negative, e->l->BuildNeg(e->b, x, ""), x, "");
}

/* i1: is the next row nearer in memory than the next element, as in a transposed matrix? */
static lz_llvm_value *lies_across(lz_emitter *e, const lz_emit_access *a)
{
    lz_llvm_value *across = distance(e, a->across),
                  *several = e->l->BuildICmp(e->b, LZ_LLVM_SGT, e->n_outer, lz_emit_i64(e, 1), "");
    lz_llvm_value *nearer = e->l->BuildICmp(e->b, LZ_LLVM_SLT, across, distance(e, a->step), "");
    lz_llvm_value *moves = e->l->BuildICmp(e->b, LZ_LLVM_NE, across, lz_emit_i64(e, 0), "");
    return e->l->BuildAnd(e->b, several, e->l->BuildAnd(e->b, nearer, moves, ""), "");
}

/* i1: does lies_across hold for any access? NULL: no access of this variant can. */
static lz_llvm_value *some_across(lz_emitter *e)
{
    lz_llvm_value *some = NULL;
    for (size_t i = 0; i < e->ir->access.len; i++) {
        const lz_kernel_use *u = &e->ir->access.data[i];
        if (e->v->run[i] != LZ_RUN_STEP || !(u->loads || u->stores))
            continue;
        lz_llvm_value *is = lies_across(e, &e->access[i]);
        some = some ? e->l->BuildOr(e->b, some, is, "") : is;
    }
    return some;
}

/* A transposed access reads cache lines that the next rows need again, but that a long row evicts before its
 * end. Strips avoid that: adding a 4096 x 4096 matrix to a transposed one takes 43 ms in strips and 136
 * without. */
void lz_emit_rows(lz_emitter *e)
{
    if (lz_emit_only_scans(e)) {
        lz_emit_scan_rows(e);
        return;
    }
    lz_llvm_value *across = is_flat(e) ? some_across(e) : NULL;
    e->block = lz_emit_row_block_size(e);
    if (!across) {
        rows(e);
        return;
    }
    lz_llvm_value *strip = e->l->BuildSelect(e->b, across, lz_emit_i64(e, e->t->lanes), e->n_row, "");
    lz_emit_loop_state l = lz_emit_loop(e, lz_emit_i64(e, 0), e->n_row, strip);
    e->from = l.i;
    e->to = lz_emit_least(e, e->l->BuildAdd(e->b, l.i, strip, ""), e->n_row);
    rows(e);
    lz_emit_loop_end(e, &l);
}
