/* Vectors along the row: for each outer index outer code and walks over the row. */
#include "jit/emit.h"
#include "jit/program.h"
#include <string.h>

static const lz_knode *node(const lz_em *e, uint32_t v)
{
    return &e->ir->nodes.data[v];
}

static lz_lvalue *at_scratch(lz_em *e, int64_t offset)
{
    return lz_em_move(e, e->scratch, lz_em_i64(e, offset));
}

/* ---- states: see place_states ---- */

typedef struct parts {
    lz_lvalue *lane, *lane_at, *block, *block_at, *total, *total_at;
    int type, total_type; /* of lanes; of the block's sums and the total */
    int vec;
} parts;

static parts parts_of(lz_em *e, uint32_t v)
{
    const lz_knode *n = node(e, v);
    lz_estate_room r = lz_estate_row_room(e->ir, n);
    int64_t at = e->p->state[v], indices = at + r.indices;
    return (parts){ .lane = at_scratch(e, at),
                    .block = at_scratch(e, at + r.block),
                    .total = at_scratch(e, at + r.total),
                    .lane_at = at_scratch(e, indices),
                    .block_at = at_scratch(e, indices + (int64_t)LZ_ROW_LANES * 8),
                    .total_at = at_scratch(e, indices + (int64_t)(LZ_ROW_LANES + LZ_ROW_SUMS) * 8),
                    .type = lz_em_state_type(e, n),
                    .total_type = n->op == LZ_N_SCAN ? lz_em_state_type(e, n) : lz_em_total_type(e, n),
                    .vec = e->p->vec };
}

static void reset_chunk(lz_em *e, uint32_t v)
{
    parts p = parts_of(e, v);
    e->lanes = p.vec;
    for (int i = 0; i < LZ_ROW_LANES; i += p.vec)
        lz_em_put(e, node(e, v), p.type, lz_em_neutral(e, node(e, v), p.type), p.lane, p.lane_at,
                  lz_em_i64(e, i));
    e->lanes = 1;
}

static void reset_block(lz_em *e, uint32_t v)
{
    parts p = parts_of(e, v);
    e->lanes = p.vec;
    for (int i = 0; i < LZ_ROW_SUMS; i += p.vec)
        lz_em_put(e, node(e, v), p.total_type, lz_em_neutral(e, node(e, v), p.total_type), p.block,
                  p.block_at, lz_em_i64(e, i));
    e->lanes = 1;
}

static lz_ebest get_total(lz_em *e, uint32_t v)
{
    parts p = parts_of(e, v);
    return lz_em_get(e, node(e, v), p.total_type, p.total, p.total_at, lz_em_i64(e, 0));
}

static void put_total(lz_em *e, uint32_t v, lz_ebest s)
{
    parts p = parts_of(e, v);
    lz_em_put(e, node(e, v), p.total_type, s, p.total, p.total_at, lz_em_i64(e, 0));
}

static void reset_total(lz_em *e, uint32_t v)
{
    e->lanes = 1;
    put_total(e, v, lz_em_neutral(e, node(e, v), parts_of(e, v).total_type));
}

void lz_em_row_put_lanes(lz_em *e, int walk, lz_lvalue *const *x)
{
    e->lanes = e->p->vec;
    for (uint32_t v = 0; v < e->ir->nodes.len; v++) {
        parts p = lz_em_reduces_in(e, v, walk) ? parts_of(e, v) : (parts){ 0 };
        for (int i = 0; p.vec && i < LZ_ROW_LANES; i += p.vec, x++)
            lz_em_put(e, node(e, v), p.type, (lz_ebest){ *x, NULL }, p.lane, p.lane_at, lz_em_i64(e, i));
    }
    e->lanes = 1;
}

void lz_em_row_get_lanes(lz_em *e, int walk, lz_lvalue **x)
{
    e->lanes = e->p->vec;
    for (uint32_t v = 0; v < e->ir->nodes.len; v++) {
        parts p = lz_em_reduces_in(e, v, walk) ? parts_of(e, v) : (parts){ 0 };
        for (int i = 0; p.vec && i < LZ_ROW_LANES; i += p.vec, x++)
            *x = lz_em_get(e, node(e, v), p.type, p.lane, p.lane_at, lz_em_i64(e, i)).x;
    }
    e->lanes = 1;
}

/* Lanes that do not count keep what they have. */
static void step(lz_em *e, uint32_t v)
{
    const lz_knode *n = node(e, v);
    if (e->held) {
        lz_ebest x = lz_em_join(e, n, (lz_ebest){ *e->held, NULL },
                                (lz_ebest){ lz_em_value(e, n->in[0]), NULL }, false);
        *e->held = e->mask ? e->l->BuildSelect(e->b, e->mask, x.x, *e->held, "") : x.x;
        e->held++;
        return;
    }
    parts p = parts_of(e, v);
    lz_lvalue *i = e->l->BuildAnd(e->b, e->at, lz_em_i64(e, LZ_ROW_LANES - 1), "");
    lz_ebest old = lz_em_get(e, n, p.type, p.lane, p.lane_at, i), x = { .x = lz_em_value(e, n->in[0]) };
    if (lz_em_has_index(n))
        x.at = e->l->BuildAdd(e->b, lz_em_splat(e, e->at), lz_em_iota(e, e->i64), "");
    lz_ebest s = lz_em_join(e, n, old, x, false);
    if (e->mask) {
        s.x = e->l->BuildSelect(e->b, e->mask, s.x, old.x, "");
        s.at = s.at ? e->l->BuildSelect(e->b, e->mask, s.at, old.at, "") : NULL;
    }
    lz_em_put(e, n, p.type, s, p.lane, p.lane_at, i);
}

static void fold_chunk(lz_em *e, uint32_t v)
{
    const lz_knode *n = node(e, v);
    parts p = parts_of(e, v);
    lz_ebest s[LZ_ROW_LANES] = { { NULL, NULL } };
    e->lanes = p.vec;
    for (int i = 0; i < LZ_ROW_LANES; i += p.vec)
        s[i / p.vec] = lz_em_get(e, n, p.type, p.lane, p.lane_at, lz_em_i64(e, i));
    lz_em_halve(e, n, p.type, s, LZ_ROW_LANES / p.vec, LZ_ROW_SUMS / p.vec);
    for (int i = 0; i < LZ_ROW_SUMS; i += p.vec) {
        lz_ebest sum = lz_em_get(e, n, p.total_type, p.block, p.block_at, lz_em_i64(e, i));
        sum = lz_em_merge(e, n, p.total_type, sum, lz_em_widen(e, n, s[i / p.vec]));
        lz_em_put(e, n, p.total_type, sum, p.block, p.block_at, lz_em_i64(e, i));
    }
    e->lanes = 1;
}

/* `count` lanes of a vector from `from` on. */
static lz_lvalue *piece(lz_em *e, lz_lvalue *x, int from, int count)
{
    lz_lvalue *which[LZ_EM_LANES];
    if (!x)
        return NULL;
    if (count == 1)
        return e->l->BuildExtractElement(e->b, x, lz_em_i32(e, from), "");
    for (int i = 0; i < count; i++)
        which[i] = lz_em_i32(e, from + i);
    return e->l->BuildShuffleVector(e->b, x, x, e->l->ConstVector(which, (unsigned)count), "");
}

lz_ebest lz_em_row_fold(lz_em *e, uint32_t v)
{
    const lz_knode *n = node(e, v);
    parts p = parts_of(e, v);
    lz_ebest s[LZ_ROW_SUMS] = { { NULL, NULL } };
    int count = LZ_ROW_SUMS / p.vec;
    e->lanes = p.vec;
    lz_lvalue **sums = lz_em_held(e, n->stage - 1) ? lz_em_held_sums(e, v) : NULL;
    for (int i = 0; i < count; i++)
        s[i] = sums ? (lz_ebest){ sums[i], NULL }
                    : lz_em_get(e, n, p.total_type, p.block, p.block_at, lz_em_i64(e, (int64_t)i * p.vec));
    lz_em_halve(e, n, p.total_type, s, count, 1);
    for (int half = p.vec / 2; half > 0; half /= 2) {
        lz_ebest low = { piece(e, s[0].x, 0, half), piece(e, s[0].at, 0, half) };
        lz_ebest high = { piece(e, s[0].x, half, half), piece(e, s[0].at, half, half) };
        e->lanes = half;
        s[0] = lz_em_merge(e, n, p.total_type, low, high);
    }
    return s[0];
}

static void add_block(lz_em *e, uint32_t v)
{
    lz_ebest s = lz_em_row_fold(e, v);
    put_total(e, v, lz_em_merge(e, node(e, v), lz_em_total_type(e, node(e, v)), get_total(e, v), s));
}

/* One element, its state in registers: the value, and its index if it has one. */
static lz_lvalue *scan_one(lz_em *e, uint32_t v)
{
    const lz_knode *n = node(e, v);
    bool index = lz_em_has_index(n);
    lz_ebest old = { e->scan[0], index ? e->scan[1] : NULL };
    lz_ebest s = lz_em_join(e, n, old, (lz_ebest){ lz_em_value(e, n->in[0]), index ? e->at : NULL }, true);
    *e->scan++ = s.x;
    if (index)
        *e->scan++ = s.at;
    return index ? s.at : s.x;
}

/* One lane after the other. Lanes that do not count are the row's last: what they do to
 * the state is not seen. */
static lz_lvalue *scan(lz_em *e, uint32_t v)
{
    const lz_knode *n = node(e, v);
    int lanes = e->lanes;
    lz_lvalue *x = lz_em_value(e, n->in[0]);
    lz_lvalue *out = e->l->GetPoison(lz_em_shape(e, lz_em_ktype(e, n->type)));
    e->lanes = 1;
    lz_ebest s = get_total(e, v);
    for (int i = 0; i < lanes; i++) {
        lz_ebest one = { lanes == 1 ? x : e->l->BuildExtractElement(e->b, x, lz_em_i32(e, i), ""), NULL };
        one.at = e->l->BuildAdd(e->b, e->at, lz_em_i64(e, i), "");
        s = lz_em_join(e, n, s, one, true);
        lz_lvalue *r = lz_em_has_index(n) ? s.at : s.x;
        out = lanes == 1 ? r : e->l->BuildInsertElement(e->b, out, r, lz_em_i32(e, i), "");
    }
    put_total(e, v, s);
    e->lanes = lanes;
    return out;
}

/* ---- values kept between walks ---- */

static lz_lvalue *kept_address(lz_em *e, uint32_t v)
{
    int64_t size = (int64_t)lz_ktype_size((lz_ktype)node(e, v)->type);
    lz_lvalue *array = e->l->BuildMul(e->b, e->row_room, lz_em_i64(e, e->p->keep[v] - size), "");
    lz_lvalue *i = e->l->BuildMul(e->b, e->at, lz_em_i64(e, size), "");
    return lz_em_move(e, lz_em_move(e, at_scratch(e, e->p->scratch), array), i);
}

static lz_ltype *kept_type(lz_em *e, uint32_t v)
{
    int type = node(e, v)->type;
    return lz_em_shape(e, type == LZ_KBOOL ? e->i8 : lz_em_ktype(e, type));
}

static lz_lvalue *read_back(lz_em *e, uint32_t v)
{
    unsigned align = (unsigned)lz_ktype_size((lz_ktype)node(e, v)->type);
    lz_lvalue *x = lz_em_load(e, kept_type(e, v), kept_address(e, v), align);
    return node(e, v)->type == LZ_KBOOL ? e->l->BuildTrunc(e->b, x, lz_em_shape(e, e->i1), "") : x;
}

/* There is room behind the row for the lanes that do not count. */
static void keep(lz_em *e, uint32_t v)
{
    lz_lvalue *x = e->now[v];
    x = node(e, v)->type == LZ_KBOOL ? e->l->BuildZExt(e->b, x, kept_type(e, v), "") : x;
    lz_em_store(e, x, kept_address(e, v), (unsigned)lz_ktype_size((lz_ktype)node(e, v)->type));
}

/* ---- one walk ---- */

bool lz_em_reduces_in(const lz_em *e, uint32_t v, int walk)
{
    return node(e, v)->op == LZ_N_REDUCE && node(e, v)->stage == walk + 1;
}

static bool made_in(const lz_em *e, uint32_t v, int walk)
{
    return e->p->need[walk][v] && e->p->level[v] == LZ_LEVEL_ELEMENT;
}

static void element(lz_em *e, uint32_t v, int walk)
{
    if (e->p->keep[v] && e->p->made[v] < walk) {
        e->now[v] = read_back(e, v);
        return;
    }
    e->now[v] = node(e, v)->op != LZ_N_SCAN ? lz_em_node(e, v) : e->scan ? scan_one(e, v) : scan(e, v);
    if (e->p->keep[v])
        keep(e, v);
}

void lz_em_row_body(lz_em *e, int walk)
{
    memset(e->now, 0, e->ir->nodes.len * sizeof(lz_lvalue *));
    for (uint32_t v = 0; v < e->ir->nodes.len; v++) {
        if (made_in(e, v, walk))
            element(e, v, walk);
        else if (lz_em_reduces_in(e, v, walk))
            step(e, v);
    }
    for (size_t i = 0; i < e->ir->stores.len; i++) {
        const lz_kstore *s = &e->ir->stores.data[i];
        if (lz_eplan_stores_row(e->p, e->v, s) && node(e, s->value)->stage == walk)
            lz_em_write(e, s->access, lz_em_value(e, s->value));
    }
    memset(e->now, 0, e->ir->nodes.len * sizeof(lz_lvalue *));
}

static void body_loop(lz_em *e, int walk, lz_lvalue *from, lz_lvalue *to, int lanes, bool masked)
{
    lz_eloop l = lz_em_loop(e, from, to, lz_em_i64(e, lanes));
    e->lanes = lanes;
    e->at = l.i;
    e->mask = masked ? lz_em_mask(e, to) : NULL;
    lz_em_row_body(e, walk);
    e->lanes = 1;
    e->at = e->mask = NULL;
    lz_em_loop_end(e, &l);
}

/* Is there so little to do that masks are a good part of it? Then whole vectors have a loop of
 * their own: a sum reads the second cache at 96 instead of 75 GB/s. */
bool lz_em_row_does_little(const lz_em *e, int walk)
{
    enum { LITTLE = 8 };
    return lz_eplan_operations(e->p, walk) <= LITTLE;
}

/* Whole vectors [from, to), as many at once as lie side by side, then the one that may not. */
static void lines(lz_em *e, int walk, lz_lvalue *from, lz_lvalue *to)
{
    lz_eline line;
    lz_lvalue *vec = lz_em_i64(e, e->p->vec);
    lz_eloop l = lz_em_loop(e, from, to, vec);
    lz_lvalue *n = lz_em_down_to(e, lz_em_line_length(e, l.i, to), e->p->vec);
    lz_lvalue *end = e->l->BuildAdd(e->b, l.i, n, "");
    lz_em_line_begin(e, l.i, &line);
    body_loop(e, walk, l.i, end, e->p->vec, false);
    lz_em_line_end(e, &line);
    body_loop(e, walk, end, lz_em_least(e, e->l->BuildAdd(e->b, end, vec, ""), to), e->p->vec, false);
    l.step = e->l->BuildAdd(e->b, n, vec, "");
    lz_em_loop_end(e, &l);
}

/* Elements [from, to) of the row; from is a multiple of the vector's lanes. */
void lz_em_row_stretch(lz_em *e, int walk, lz_lvalue *from, lz_lvalue *to)
{
    bool pieces = lz_em_has_pieces(e), split = !e->t->masked || pieces || lz_em_row_does_little(e, walk);
    lz_lvalue *whole = split ? lz_em_down_to(e, to, e->p->vec) : from;
    if (pieces)
        lines(e, walk, from, whole);
    else if (split)
        body_loop(e, walk, from, whole, e->p->vec, false);
    body_loop(e, walk, whole, to, e->t->masked ? e->p->vec : 1, e->t->masked);
}

bool lz_em_row_reduces(const lz_em *e, int walk)
{
    bool does = false;
    for (uint32_t v = 0; v < e->ir->nodes.len; v++)
        does = does || lz_em_reduces_in(e, v, walk);
    return does;
}

typedef void state_fn(lz_em *e, uint32_t v);

static void each_reduction(lz_em *e, int walk, state_fn *fn)
{
    for (uint32_t v = 0; v < e->ir->nodes.len; v++) {
        if (lz_em_reduces_in(e, v, walk))
            fn(e, v);
    }
}

void lz_em_row_block(lz_em *e, int walk, lz_lvalue *from)
{
    lz_lvalue *chunk = lz_em_i64(e, LZ_ROW_CHUNK);
    lz_lvalue *end = lz_em_least(e, e->l->BuildAdd(e->b, from, e->block, ""), e->n_row);
    if (lz_em_held(e, walk)) {
        lz_em_held_block(e, walk, from, end);
        return;
    }
    each_reduction(e, walk, reset_block);
    lz_eloop part = lz_em_loop(e, from, end, chunk);
    each_reduction(e, walk, reset_chunk);
    lz_em_row_stretch(e, walk, part.i, lz_em_least(e, e->l->BuildAdd(e->b, part.i, chunk, ""), end));
    each_reduction(e, walk, fold_chunk);
    lz_em_loop_end(e, &part);
}

static void blocks(lz_em *e, int walk)
{
    lz_eloop block = lz_em_loop(e, lz_em_i64(e, 0), e->n_row, e->block);
    lz_em_row_block(e, walk, block.i);
    each_reduction(e, walk, add_block);
    lz_em_loop_end(e, &block);
}

/* What elements read of lower levels, as vectors. */
void lz_em_row_spread(lz_em *e, int walk)
{
    e->lanes = e->p->vec;
    for (uint32_t v = 0; v < e->ir->nodes.len; v++) {
        bool lower = e->p->level[v] != LZ_LEVEL_ELEMENT && node(e, v)->op != LZ_N_CONST;
        if (lower && e->p->need[walk][v])
            e->spread[v] = lz_em_splat(e, e->scalar[v]);
    }
    e->lanes = 1;
}

static void do_walk(lz_em *e, int walk)
{
    lz_em_row_spread(e, walk);
    for (uint32_t v = 0; v < e->ir->nodes.len; v++) {
        if (lz_em_reduces_in(e, v, walk) || (made_in(e, v, walk) && node(e, v)->op == LZ_N_SCAN))
            reset_total(e, v);
    }
    if (lz_em_row_reduces(e, walk))
        blocks(e, walk);
    else
        lz_em_row_stretch(e, walk, e->from ? e->from : lz_em_i64(e, 0), e->to ? e->to : e->n_row);
}

/* ---- outer code ---- */

static lz_lvalue *total(lz_em *e, uint32_t v)
{
    return lz_em_result(e, node(e, v), get_total(e, v));
}

void lz_em_row_outer(lz_em *e, int stage)
{
    e->lanes = 1;
    for (uint32_t v = 0; v < e->ir->nodes.len; v++) {
        const lz_knode *n = node(e, v);
        if (e->p->level[v] == LZ_LEVEL_OUTER && n->stage == stage && n->op != LZ_N_REDUCE)
            e->scalar[v] = lz_em_node(e, v);
    }
}

void lz_em_row_stores(lz_em *e, int stage)
{
    for (size_t i = 0; i < e->ir->stores.len; i++) {
        const lz_kstore *s = &e->ir->stores.data[i];
        if (!lz_eplan_stores_row(e->p, e->v, s) && node(e, s->value)->stage == stage)
            lz_em_write(e, s->access, lz_em_value(e, s->value));
    }
}

static void outer(lz_em *e, int stage)
{
    for (uint32_t v = 0; v < e->ir->nodes.len; v++) {
        if (lz_em_reduces_in(e, v, stage - 1))
            e->scalar[v] = total(e, v);
    }
    lz_em_row_outer(e, stage);
    lz_em_row_stores(e, stage);
}

static lz_lvalue *row_start(lz_em *e, const lz_eaccess *a, bool memory, lz_lvalue *outer_index)
{
    lz_lvalue *d = e->l->BuildMul(e->b, outer_index, a->across, "");
    return memory ? lz_em_move(e, a->base, d) : e->l->BuildAdd(e->b, a->base, d, "");
}

void lz_em_row_start(lz_em *e, lz_lvalue *outer_index)
{
    for (size_t a = 0; a < e->ir->access.len; a++) {
        const lz_kuse *u = &e->ir->access.data[a];
        if (u->loads || u->stores || u->affine)
            e->access[a].here =
                outer_index ? row_start(e, &e->access[a], !u->affine, outer_index) : e->access[a].base;
    }
}

/* reduce.h: at most 64 blocks of whole chunks */
lz_lvalue *lz_em_row_block_size(lz_em *e)
{
    lz_lvalue *above =
        e->l->BuildAdd(e->b, e->n_row, lz_em_i64(e, (int64_t)LZ_ROW_CHUNK * LZ_BLOCKS - 1), "");
    lz_lvalue *per = e->l->BuildLShr(e->b, above, lz_em_i64(e, 16), "");
    lz_lvalue *none = e->l->BuildICmp(e->b, LZ_L_EQ, e->n_row, lz_em_i64(e, 0), "");
    per = e->l->BuildSelect(e->b, none, lz_em_i64(e, 1), per, "");
    return e->l->BuildMul(e->b, per, lz_em_i64(e, LZ_ROW_CHUNK), "");
}

_Static_assert(LZ_ROW_CHUNK *LZ_BLOCKS == 1 << 16, "block_size shifts by it");

static void rows(lz_em *e)
{
    lz_eloop l = lz_em_loop(e, lz_em_i64(e, 0), e->n_outer, lz_em_i64(e, 1));
    lz_em_row_start(e, l.i);
    for (int w = 0; w < e->p->walks; w++) {
        outer(e, w);
        do_walk(e, w);
    }
    outer(e, e->p->walks);
    lz_em_loop_end(e, &l);
}

/* ---- strips: every row a vector at a time ---- */

/* Is everything done for elements, each by itself? */
static bool is_flat(const lz_em *e)
{
    bool is = e->p->walks == 1;
    for (uint32_t v = 0; is && v < e->ir->nodes.len; v++)
        is = node(e, v)->op != LZ_N_REDUCE && node(e, v)->op != LZ_N_SCAN;
    for (size_t i = 0; is && i < e->ir->stores.len; i++)
        is = lz_eplan_stores_row(e->p, e->v, &e->ir->stores.data[i]);
    return is;
}

static lz_lvalue *distance(lz_em *e, lz_lvalue *x)
{
    lz_lvalue *negative = e->l->BuildICmp(e->b, LZ_L_SLT, x, lz_em_i64(e, 0), "");
    return e->l->BuildSelect(e->b, negative, e->l->BuildNeg(e->b, x, ""), x, "");
}

/* i1: is the next row nearer than the next element, as in a matrix that lies on its side? */
static lz_lvalue *lies_across(lz_em *e, const lz_eaccess *a)
{
    lz_lvalue *across = distance(e, a->across),
              *several = e->l->BuildICmp(e->b, LZ_L_SGT, e->n_outer, lz_em_i64(e, 1), "");
    lz_lvalue *nearer = e->l->BuildICmp(e->b, LZ_L_SLT, across, distance(e, a->step), "");
    lz_lvalue *moves = e->l->BuildICmp(e->b, LZ_L_NE, across, lz_em_i64(e, 0), "");
    return e->l->BuildAnd(e->b, several, e->l->BuildAnd(e->b, nearer, moves, ""), "");
}

/* i1: is there such an access? NULL: there is none in this variant. */
static lz_lvalue *some_across(lz_em *e)
{
    lz_lvalue *some = NULL;
    for (size_t i = 0; i < e->ir->access.len; i++) {
        const lz_kuse *u = &e->ir->access.data[i];
        if (e->v->run[i] != LZ_RUN_STEP || !(u->loads || u->stores))
            continue;
        lz_lvalue *is = lies_across(e, &e->access[i]);
        some = some ? e->l->BuildOr(e->b, some, is, "") : is;
    }
    return some;
}

/* What lies across is read from lines that the next rows need again, and that are gone when a
 * long row is at its end: adding a matrix of 4096 x 4096 to one on its side takes 43 ms in
 * strips and 136 without. */
void lz_em_rows(lz_em *e)
{
    if (lz_em_only_scans(e)) {
        lz_em_scan_rows(e);
        return;
    }
    lz_lvalue *across = is_flat(e) ? some_across(e) : NULL;
    e->block = lz_em_row_block_size(e);
    if (!across) {
        rows(e);
        return;
    }
    lz_lvalue *strip = e->l->BuildSelect(e->b, across, lz_em_i64(e, e->p->vec), e->n_row, "");
    lz_eloop l = lz_em_loop(e, lz_em_i64(e, 0), e->n_row, strip);
    e->from = l.i;
    e->to = lz_em_least(e, e->l->BuildAdd(e->b, l.i, strip, ""), e->n_row);
    rows(e);
    lz_em_loop_end(e, &l);
}
