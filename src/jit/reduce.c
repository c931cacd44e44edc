#include "jit/reduce.h"
#include "jit/fused_instr.h"
#include <assert.h>
#include <string.h>

/* One part of a state; `at` are the indices of ARGMAX and ARGMIN. */
typedef struct values {
    char *x;
    int64_t *at;
    lz_kernel_type type;
    size_t size; /* bytes of an element */
} values;

typedef struct parts {
    values lane, sum, total; /* sum and total have the type lz_kernel_reduction_total */
    int64_t width;           /* elements of a lane */
} parts;

static bool has_index(const lz_reduce_state *s)
{
    return s->kind == LZ_KERNEL_RARGMAX || s->kind == LZ_KERNEL_RARGMIN;
}

static int64_t lanes_of(const lz_worker *w)
{
    return w->l->rows ? LZ_ROW_LANES : LZ_COLUMN_LANES;
}

static int64_t sums_of(const lz_worker *w)
{
    return w->l->rows ? LZ_ROW_SUMS : LZ_COLUMN_SUMS;
}

/* Indices follow all values. With indices, all values have one type. */
static parts parts_of(const lz_worker *w, const lz_reduce_state *s)
{
    bool rows = w->l->rows;
    lz_kernel_type type = (lz_kernel_type)s->type, wide = (lz_kernel_type)s->total;
    size_t size = s->size, wide_size = s->total_size;
    int64_t width = rows ? 1 : w->l->tile, sums = sums_of(w) * width;
    int64_t lanes = s->scan && !rows ? width : lanes_of(w) * width;
    char *x = w->state + (rows ? (int64_t)s->rows : (int64_t)s->columns * w->l->tile);
    char *sum = x + (size_t)lanes * size, *total = sum + (size_t)sums * wide_size;
    int64_t *at = (int64_t *)(void *)(s->scan ? sum : total + (size_t)sums * wide_size);
    return (parts){ { x, at, type, size },
                    { sum, at + lanes, wide, wide_size },
                    { total, at + lanes + sums, wide, wide_size },
                    width };
}

/* The neutral element: all ones for AND, the least value for MAX, ... */
static const void *neutral(const lz_reduce_state *s, lz_kernel_type type)
{
    static const uint8_t no = 0, yes = 1;
    static const int32_t i32[] = { 0, 1, -1, INT32_MIN, INT32_MAX };
    static const int64_t i64[] = { 0, 1, -1, INT64_MIN, INT64_MAX };
    static const float f32[] = { 0, 1, 0, -__builtin_inff(), __builtin_inff() };
    static const double f64[] = { 0, 1, 0, -__builtin_inf(), __builtin_inf() };
    static const uint8_t which[LZ_KERNEL_REDUCES] = { 0, 1, 3, 4, 2, 0, 0, 3, 4 };
    static const bool ones[LZ_KERNEL_REDUCES] = { [LZ_KERNEL_RMIN] = true, [LZ_KERNEL_RAND] = true };
    const void *of[LZ_KERNEL_TYPES] = { ones[s->kind] ? &yes : &no, &i32[which[s->kind]],
                                        &i64[which[s->kind]], &f32[which[s->kind]], &f64[which[s->kind]] };
    return of[type];
}

static lz_tile_fn *combine(const lz_worker *w, const lz_reduce_state *s, lz_kernel_type type)
{
    static const uint8_t op[LZ_KERNEL_REDUCES] = { LZ_KERNEL_ADD, LZ_KERNEL_MUL, LZ_KERNEL_MAX,
                                                   LZ_KERNEL_MIN, LZ_KERNEL_AND, LZ_KERNEL_OR,
                                                   LZ_KERNEL_XOR, LZ_KERNEL_MAX, LZ_KERNEL_MIN };
    return w->l->p->tiles->op[op[s->kind]][type];
}

/* Combines n elements of x, from element `from` on, into those of o from element `to` on. Both have one
 * type. */
static void join(const lz_worker *w, const lz_reduce_state *s, const values *o, int64_t to, const values *x,
                 int64_t from, int64_t n)
{
    char *out = o->x + (size_t)to * o->size;
    const char *in = x->x + (size_t)from * x->size;
    assert(o->type == x->type);
    if (has_index(s))
        w->l->p->tiles->merge[s->kind == LZ_KERNEL_RARGMIN][s->type](out, o->at + to, in, x->at + from, n);
    else
        combine(w, s, o->type)(out, out, in, NULL, NULL, n);
}

static void reset(const lz_worker *w, const lz_reduce_state *s, const values *o, int64_t n)
{
    w->l->p->tiles->splat[o->type](o->x, neutral(s, o->type), NULL, NULL, NULL, n);
    for (int64_t i = 0; has_index(s) && i < n; i++)
        o->at[i] = INT64_MAX;
}

int64_t lz_reduce_block(bool rows, int64_t length)
{
    int64_t chunk = rows ? LZ_ROW_CHUNK : LZ_COLUMN_CHUNK;
    int64_t chunks = (length + chunk - 1) / chunk;
    int64_t per_block = (chunks + LZ_BLOCKS - 1) / LZ_BLOCKS;
    return chunk * (per_block > 1 ? per_block : 1);
}

static char *put_neutral(const lz_program *p, const lz_reduce_state *s, lz_kernel_type type, int64_t n,
                         char *to)
{
    p->tiles->splat[type](to, neutral(s, type), NULL, NULL, NULL, n);
    return to + (size_t)n * lz_kernel_type_size(type);
}

void lz_reduce_fresh(const lz_program *p, int walk, char *out)
{
    for (int k = 0; k < p->n_states[walk]; k++) {
        const lz_reduce_state *s = &p->states[walk][k];
        char *end = out + (k + 1 < p->n_states[walk] ? s[1].rows : p->fresh_bytes[walk]);
        char *at = put_neutral(p, s, (lz_kernel_type)s->type, LZ_ROW_LANES, out + s->rows);
        if (!s->scan)
            at = put_neutral(p, s, (lz_kernel_type)s->total, (int64_t)2 * LZ_ROW_SUMS, at);
        for (int64_t none = INT64_MAX; has_index(s) && at < end; at += sizeof none)
            memcpy(at, &none, sizeof none);
    }
}

static void start_columns(lz_worker *w, int64_t n)
{
    const lz_program *g = w->l->p;
    for (int k = 0; k < g->n_states[w->walk]; k++) {
        const lz_reduce_state *s = &g->states[w->walk][k];
        parts p = parts_of(w, s);
        reset(w, s, &p.lane, s->scan ? n : lanes_of(w) * p.width);
        if (s->scan)
            continue;
        reset(w, s, &p.sum, sums_of(w) * p.width);
        reset(w, s, &p.total, n);
    }
}

void lz_reduce_start(lz_worker *w, int64_t n)
{
    const lz_program *g = w->l->p;
    if (!w->l->rows)
        start_columns(w, n);
    else if (g->n_states[w->walk])
        memcpy(w->state, g->fresh[w->walk], g->fresh_bytes[w->walk]);
}

/* A row's reduction without indices: lanes, sums and total follow each other. */
static void step_row(const lz_worker *w, const lz_instr *i, const lz_reduce_state *s, int64_t n)
{
    const lz_tile_table *t = w->l->p->tiles;
    const char *x = w->tile[i->in[0]];
    char *lane = w->state + s->rows;
    if (i->form == LZ_FORM_PRODUCTS)
        t->products[s->type](lane, x, w->tile[i->in[1]], n);
    else if (i->form == LZ_FORM_DTYPE && w->l->access[i->access].raw)
        t->widen_dtype[w->l->access[i->access].dtype](lane, x, n);
    else
        (i->form == LZ_FORM_PLAIN ? t->lanes : t->widen)[s->kind][s->type](lane, x, n);
}

static void step_row_index(const lz_worker *w, const lz_reduce_state *s, const void *x, int64_t n)
{
    parts p = parts_of(w, s);
    w->l->p->tiles->best_lanes[s->kind == LZ_KERNEL_RARGMIN][s->type](p.lane.x, p.lane.at, x, w->first, n);
}

static void step_column(const lz_worker *w, const lz_reduce_state *s, const char *x, int64_t n)
{
    parts p = parts_of(w, s);
    const lz_tile_table *t = w->l->p->tiles;
    int64_t at = w->row % LZ_COLUMN_LANES * p.width;
    char *lane = p.lane.x + (size_t)at * p.lane.size;
    if (has_index(s))
        t->best[s->kind == LZ_KERNEL_RARGMIN][s->type](lane, p.lane.at + at, x, w->row, 0, n);
    else
        combine(w, s, p.lane.type)(lane, lane, x, NULL, NULL, n);
}

void lz_reduce_step(lz_worker *w, const lz_instr *i, int64_t n)
{
    const lz_reduce_state *s = &w->l->p->states[w->walk][i->attr];
    if (!w->l->rows)
        step_column(w, s, w->tile[i->in[0]], n);
    else if (has_index(s))
        step_row_index(w, s, w->tile[i->in[0]], n);
    else
        step_row(w, i, s, n);
}

void lz_reduce_scan(lz_worker *w, const lz_reduce_state *s, const void *x, int64_t n, void *out)
{
    const lz_tile_table *t = w->l->p->tiles;
    values v = parts_of(w, s).lane;
    bool least = s->kind == LZ_KERNEL_RARGMIN;
    if (has_index(s) && w->l->rows) {
        t->scan_best[least][s->type](out, v.x, v.at, x, w->first, n);
    } else if (has_index(s)) {
        t->last_best[least][s->type](v.x, v.at, x, w->row, 0, n);
        memcpy(out, v.at, (size_t)n * sizeof(int64_t));
    } else if (w->l->rows) {
        t->scan[s->kind][s->type](out, v.x, x, n);
    } else {
        combine(w, s, v.type)(v.x, v.x, x, NULL, NULL, n);
        memcpy(out, v.x, (size_t)n * v.size);
    }
}

/* Combines `from` lanes into `to` by repeated halving. n: elements of each lane that count. */
static void halve(const lz_worker *w, const lz_reduce_state *s, const parts *p, const values *x, int64_t from,
                  int64_t to, int64_t n)
{
    for (int64_t half = from / 2; half >= to; half /= 2) {
        for (int64_t j = 0; !w->l->rows && j < half; j++)
            join(w, s, x, j * p->width, x, (j + half) * p->width, n);
        if (w->l->rows)
            join(w, s, x, 0, x, half, half);
    }
}

/* Adds the remaining lanes of a chunk to the sums of the block. Only sums of f32 have wider ones. */
static void add_chunk(const lz_worker *w, const lz_reduce_state *s, const parts *p, int64_t n)
{
    if (p->sum.type == p->lane.type) {
        join(w, s, &p->sum, 0, &p->lane, 0, n);
        return;
    }
    assert(p->lane.type == LZ_KERNEL_F32 && p->sum.type == LZ_KERNEL_F64);
    w->l->p->tiles->wide[LZ_WIDE_ADD](p->sum.x, p->lane.x, p->sum.x, NULL, NULL, n);
}

/* Folds step by step: for columns, and for rows with indices. */
static void fold_steps(const lz_worker *w, const lz_reduce_state *s, const parts *p, bool block, int64_t n)
{
    int64_t lanes = lanes_of(w), sums = sums_of(w), each = w->l->rows ? 1 : n;
    halve(w, s, p, &p->lane, lanes, sums, each);
    add_chunk(w, s, p, w->l->rows ? sums : each);
    if (block) {
        halve(w, s, p, &p->sum, sums, 1, each);
        join(w, s, &p->total, 0, &p->sum, 0, each);
    }
}

/* last: nothing follows in this row, so the lanes need no reset. */
static void fold_state(const lz_worker *w, const lz_reduce_state *s, bool block, bool last, int64_t n)
{
    parts p = parts_of(w, s);
    if (w->l->rows && !has_index(s))
        w->l->p->tiles->fold[s->kind][s->type](p.lane.x, p.sum.x, p.total.x, block);
    else
        fold_steps(w, s, &p, block, n);
    if (!last)
        reset(w, s, &p.lane, lanes_of(w) * p.width);
    if (block && !last)
        reset(w, s, &p.sum, sums_of(w) * p.width);
}

void lz_reduce_fold(lz_worker *w, int64_t done, int64_t length, int64_t n)
{
    const lz_program *g = w->l->p;
    int64_t chunk = w->l->rows ? LZ_ROW_CHUNK : LZ_COLUMN_CHUNK;
    if (done % chunk && done != length)
        return;
    bool block = done == length || done % w->l->block == 0;
    for (int k = 0; k < g->n_states[w->walk]; k++) {
        if (!g->states[w->walk][k].scan)
            fold_state(w, &g->states[w->walk][k], block, done == length, n);
    }
}

void lz_reduce_end(lz_worker *w, int64_t n)
{
    const lz_program *g = w->l->p;
    int64_t count = w->l->rows ? 1 : n;
    for (int k = 0; k < g->n_states[w->walk]; k++) {
        const lz_reduce_state *s = &g->states[w->walk][k];
        if (s->scan)
            continue;
        parts p = parts_of(w, s);
        for (int64_t i = 0; has_index(s) && i < count; i++)
            p.total.at[i] = p.total.at[i] == INT64_MAX ? 0 : p.total.at[i]; /* an empty row */
        if (p.total.type != p.lane.type)
            g->tiles->cast[p.total.type][p.lane.type](w->tile[s->out], p.total.x, NULL, NULL, NULL, count);
        else if (has_index(s))
            memcpy(w->tile[s->out], p.total.at, (size_t)count * sizeof(int64_t));
        else
            memcpy(w->tile[s->out], p.total.x, (size_t)count * p.total.size);
    }
}

size_t lz_reduce_part(const lz_program *p, int walk)
{
    size_t bytes = 0;
    for (int k = 0; k < p->n_states[walk]; k++)
        bytes += 2 * sizeof(int64_t);
    return bytes;
}

void lz_reduce_save(lz_worker *w, int64_t n, char *out)
{
    const lz_program *g = w->l->p;
    size_t count = (size_t)(w->l->rows ? 1 : n),
           room = (size_t)(w->l->rows ? 1 : w->l->tile) * sizeof(int64_t);
    for (int k = 0; k < g->n_states[w->walk]; k++, out += 2 * room) {
        const lz_reduce_state *s = &g->states[w->walk][k];
        parts p = parts_of(w, s);
        memcpy(out, p.total.x, count * p.total.size);
        if (has_index(s))
            memcpy(out + room, p.total.at, count * sizeof(int64_t));
    }
}

/* NOLINTNEXTLINE(readability-non-const-parameter): `values` are written elsewhere */
void lz_reduce_add(lz_worker *w, int64_t n, char *part)
{
    const lz_program *g = w->l->p;
    size_t room = (size_t)(w->l->rows ? 1 : w->l->tile) * sizeof(int64_t);
    for (int k = 0; k < g->n_states[w->walk]; k++, part += 2 * room) {
        const lz_reduce_state *s = &g->states[w->walk][k];
        parts p = parts_of(w, s);
        values x = { part, (int64_t *)(void *)(part + room), p.total.type, p.total.size };
        join(w, s, &p.total, 0, &x, 0, w->l->rows ? 1 : n);
    }
}
