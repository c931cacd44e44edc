#include "jit/reduce.h"
#include <string.h>

/* Where the parts of a state lie; `at` are the indices of ARGMAX and ARGMIN. */
typedef struct parts {
    char *lane, *chunk, *total;
    int64_t *lane_at, *chunk_at, *total_at;
    int64_t width; /* elements per lane */
    size_t size;
} parts;

static bool has_index(const lz_state *s)
{
    return s->kind == LZ_K_RARGMAX || s->kind == LZ_K_RARGMIN;
}

static parts parts_of(const lz_worker *w, const lz_state *s)
{
    bool rows = w->l->rows;
    parts p = { .width = rows ? 1 : w->l->tile, .size = lz_ktype_size((lz_ktype)s->type) };
    int64_t lanes = rows ? LZ_ROW_LANES : LZ_COLUMN_LANES * w->l->tile;
    int64_t most = rows ? (int64_t)3 * LZ_ROW_LANES : s->scan ? w->l->tile : 2 * lanes + w->l->tile;
    size_t group = (size_t)lanes * p.size;
    p.lane = w->state + (rows ? (int64_t)s->rows : (int64_t)s->columns * w->l->tile);
    p.chunk = p.lane + group;
    p.total = p.chunk + group;
    p.lane_at = (int64_t *)(void *)(p.lane + (size_t)most * p.size);
    p.chunk_at = p.lane_at + lanes;
    p.total_at = p.chunk_at + lanes;
    return p;
}

static int64_t lanes_of(const lz_worker *w)
{
    return w->l->rows ? LZ_ROW_LANES : LZ_COLUMN_LANES;
}

/* The neutral element: of AND all ones, of MAX what loses to everything, ... */
static const void *neutral(const lz_state *s)
{
    static const uint8_t no = 0, yes = 1;
    static const int32_t i32[] = { 0, 1, -1, INT32_MIN, INT32_MAX };
    static const int64_t i64[] = { 0, 1, -1, INT64_MIN, INT64_MAX };
    static const float f32[] = { 0, 1, 0, -__builtin_inff(), __builtin_inff() };
    static const double f64[] = { 0, 1, 0, -__builtin_inf(), __builtin_inf() };
    static const uint8_t which[LZ_K_REDUCES] = { 0, 1, 3, 4, 2, 0, 0, 3, 4 };
    static const bool ones[LZ_K_REDUCES] = { [LZ_K_RMIN] = true, [LZ_K_RAND] = true };
    const void *of[LZ_KTYPES] = { ones[s->kind] ? &yes : &no, &i32[which[s->kind]], &i64[which[s->kind]],
                                  &f32[which[s->kind]], &f64[which[s->kind]] };
    return of[s->type];
}

static lz_tile_fn *combine(const lz_worker *w, const lz_state *s)
{
    static const uint8_t op[LZ_K_REDUCES] = { LZ_K_ADD, LZ_K_MUL, LZ_K_MAX, LZ_K_MIN, LZ_K_AND,
                                              LZ_K_OR,  LZ_K_XOR, LZ_K_MAX, LZ_K_MIN };
    return w->l->p->tiles->op[op[s->kind]][s->type];
}

/* x of n elements into o */
static void join(const lz_worker *w, const lz_state *s, char *o, int64_t *o_at, const char *x,
                 const int64_t *x_at, int64_t n)
{
    if (has_index(s))
        w->l->p->tiles->merge[s->kind == LZ_K_RARGMIN][s->type](o, o_at, x, x_at, n);
    else
        combine(w, s)(o, o, x, NULL, NULL, n);
}

static void reset(const lz_worker *w, const lz_state *s, char *o, int64_t *at, int64_t n)
{
    w->l->p->tiles->splat[s->type](o, neutral(s), NULL, NULL, NULL, n);
    for (int64_t i = 0; has_index(s) && i < n; i++)
        at[i] = INT64_MAX;
}

int64_t lz_reduce_block(bool rows, int64_t length)
{
    int64_t chunk = rows ? LZ_ROW_CHUNK : LZ_COLUMN_CHUNK;
    int64_t chunks = (length + chunk - 1) / chunk;
    int64_t per_block = (chunks + LZ_BLOCKS - 1) / LZ_BLOCKS;
    return chunk * (per_block > 1 ? per_block : 1);
}

static void start_lanes(const lz_worker *w, const lz_state *s, const parts *p, bool chunk)
{
    int64_t n = lanes_of(w) * p->width;
    reset(w, s, p->lane, p->lane_at, n);
    if (chunk)
        reset(w, s, p->chunk, p->chunk_at, n);
}

void lz_reduce_start(lz_worker *w, int64_t n)
{
    const lz_program *g = w->l->p;
    for (int k = 0; k < g->n_states[w->walk]; k++) {
        const lz_state *s = &g->states[w->walk][k];
        parts p = parts_of(w, s);
        if (s->scan) {
            reset(w, s, p.lane, p.lane_at, w->l->rows ? 1 : n);
            continue;
        }
        start_lanes(w, s, &p, true);
        reset(w, s, p.total, p.total_at, w->l->rows ? 1 : n);
    }
}

static void step_row(const lz_worker *w, const lz_state *s, const parts *p, const char *x, int64_t n)
{
    const lz_tile_table *t = w->l->p->tiles;
    if (!has_index(s)) {
        t->lanes[s->kind][s->type](p->lane, x, n);
        return;
    }
    for (int64_t i = 0; i < n; i += LZ_ROW_LANES) {
        int64_t few = n - i < LZ_ROW_LANES ? n - i : LZ_ROW_LANES;
        t->best[s->kind == LZ_K_RARGMIN][s->type](p->lane, p->lane_at, x + (size_t)i * p->size, w->first + i,
                                                  1, few);
    }
}

static void step_column(const lz_worker *w, const lz_state *s, const parts *p, const char *x, int64_t n)
{
    const lz_tile_table *t = w->l->p->tiles;
    int64_t at = w->row % LZ_COLUMN_LANES * p->width;
    char *lane = p->lane + (size_t)at * p->size;
    if (has_index(s))
        t->best[s->kind == LZ_K_RARGMIN][s->type](lane, p->lane_at + at, x, w->row, 0, n);
    else
        combine(w, s)(lane, lane, x, NULL, NULL, n);
}

void lz_reduce_step(lz_worker *w, const lz_state *s, const void *x, int64_t n)
{
    parts p = parts_of(w, s);
    if (w->l->rows)
        step_row(w, s, &p, x, n);
    else
        step_column(w, s, &p, x, n);
}

void lz_reduce_scan(lz_worker *w, const lz_state *s, const void *x, int64_t n, void *out)
{
    const lz_tile_table *t = w->l->p->tiles;
    parts p = parts_of(w, s);
    bool least = s->kind == LZ_K_RARGMIN;
    if (has_index(s) && w->l->rows) {
        t->scan_best[least][s->type](out, p.lane, p.lane_at, x, w->first, n);
    } else if (has_index(s)) {
        t->last_best[least][s->type](p.lane, p.lane_at, x, w->row, 0, n);
        memcpy(out, p.lane_at, (size_t)n * sizeof(int64_t));
    } else if (w->l->rows) {
        t->scan[s->kind][s->type](out, p.lane, x, n);
    } else {
        combine(w, s)(p.lane, p.lane, x, NULL, NULL, n);
        memcpy(out, p.lane, (size_t)n * p.size);
    }
}

/* The lanes of the block to one, by halves. n: how many of each lane's elements count. */
static void halve(const lz_worker *w, const lz_state *s, const parts *p, int64_t n)
{
    for (int64_t half = lanes_of(w) / 2; half > 0; half /= 2) {
        if (w->l->rows) {
            join(w, s, p->chunk, p->chunk_at, p->chunk + (size_t)half * p->size, p->chunk_at + half, half);
            continue;
        }
        for (int64_t j = 0; j < half; j++) {
            int64_t a = j * p->width, b = (j + half) * p->width;
            join(w, s, p->chunk + (size_t)a * p->size, p->chunk_at + a, p->chunk + (size_t)b * p->size,
                 p->chunk_at + b, n);
        }
    }
}

static void fold_state(const lz_worker *w, const lz_state *s, bool block, int64_t n)
{
    parts p = parts_of(w, s);
    join(w, s, p.chunk, p.chunk_at, p.lane, p.lane_at, lanes_of(w) * p.width);
    if (block) {
        halve(w, s, &p, n);
        join(w, s, p.total, p.total_at, p.chunk, p.chunk_at, w->l->rows ? 1 : n);
    }
    start_lanes(w, s, &p, block);
}

void lz_reduce_fold(lz_worker *w, int64_t done, int64_t length, int64_t n)
{
    const lz_program *g = w->l->p;
    int64_t chunk = w->l->rows ? LZ_ROW_CHUNK : LZ_COLUMN_CHUNK;
    if (done % chunk && done != length)
        return;
    bool block = done == length || done % lz_reduce_block(w->l->rows, length) == 0;
    for (int k = 0; k < g->n_states[w->walk]; k++) {
        if (!g->states[w->walk][k].scan)
            fold_state(w, &g->states[w->walk][k], block, n);
    }
}

void lz_reduce_end(lz_worker *w, int64_t n)
{
    const lz_program *g = w->l->p;
    int64_t count = w->l->rows ? 1 : n;
    for (int k = 0; k < g->n_states[w->walk]; k++) {
        const lz_state *s = &g->states[w->walk][k];
        if (s->scan)
            continue;
        parts p = parts_of(w, s);
        for (int64_t i = 0; has_index(s) && i < count; i++)
            p.total_at[i] = p.total_at[i] == INT64_MAX ? 0 : p.total_at[i]; /* of nothing */
        size_t bytes = (size_t)count * (has_index(s) ? sizeof(int64_t) : p.size);
        memcpy(w->tile[s->out], has_index(s) ? (const void *)p.total_at : p.total, bytes);
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
        const lz_state *s = &g->states[w->walk][k];
        parts p = parts_of(w, s);
        memcpy(out, p.total, count * p.size);
        if (has_index(s))
            memcpy(out + room, p.total_at, count * sizeof(int64_t));
    }
}

void lz_reduce_add(lz_worker *w, int64_t n, const char *part)
{
    const lz_program *g = w->l->p;
    size_t room = (size_t)(w->l->rows ? 1 : w->l->tile) * sizeof(int64_t);
    for (int k = 0; k < g->n_states[w->walk]; k++, part += 2 * room) {
        const lz_state *s = &g->states[w->walk][k];
        parts p = parts_of(w, s);
        join(w, s, p.total, p.total_at, part, (const int64_t *)(const void *)(part + room),
             w->l->rows ? 1 : n);
    }
}
