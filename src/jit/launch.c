#include "jit/launch.h"
#include "jit/code_launch.h"
#include "jit/fused_instr.h"
#include "jit/reduce.h"
#include <assert.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

enum {
    L1_LEAST = 32 << 10,   /* bytes of the L1 cache if the system does not say */
    CHUNK_WORK = 1 << 15,  /* elements that a thread takes at once */
    SHARE_LEAST = 1 << 17, /* shorter rows are not shared by threads */
};

static int64_t at_least(int64_t v, int64_t least)
{
    return v > least ? v : least;
}

static bool contiguous(const lz_launch *l, int access)
{
    const lz_launch_access *a = &l->access[access];
    bool whole = (size_t)a->size == lz_kernel_type_size(lz_kernel_type_of((lz_dtype)a->dtype));
    return whole && a->linear && (a->step == a->size || l->lane.n == 0);
}

typedef struct span {
    uintptr_t from, to;
} span;

/* The address range that an access may touch. */
static span span_of(const lz_launch *l, int access)
{
    const lz_kernel_access *a = &l->nest.args->access[access];
    int64_t low = a->offset, high = a->offset, n = l->p->n_outer + l->p->n_row;
    for (int d = 0; d < n; d++) {
        int64_t reach = lz_nest_stride(&l->nest, access, d) * (l->nest.args->extents[d] - 1);
        low += reach < 0 ? reach : 0;
        high += reach > 0 ? reach : 0;
    }
    int64_t size = (int64_t)lz_dtype_bytes(l->p->access[access].dtype);
    uintptr_t base = (uintptr_t)a->base;
    return (span){ base + (uintptr_t)(low * size), base + (uintptr_t)((high + 1) * size) };
}

/* Does any access read this memory? */
static bool is_read(const lz_launch *l, span s)
{
    bool read = false;
    for (size_t k = 0; !read && k < l->p->n_access; k++) {
        span x = span_of(l, (int)k);
        read = l->p->access[k].loads && x.from < s.to && s.from < x.to;
    }
    return read;
}

/* Would writing the value to its output when instruction `made` computes it overwrite memory that is read
 * later? Includes loads of earlier blocks: their registers may be the memory itself. */
static bool spoils(const lz_launch *l, lz_block b, uint16_t made, span s)
{
    const lz_program *p = l->p;
    if (!is_read(l, s)) /* long programs have few accesses */
        return false;
    for (uint16_t k = 0; k < b.end; k++) {
        const lz_instr *i = &p->code[k];
        if (i->kind < LZ_INSTR_LOAD || i->kind > LZ_INSTR_GATHER_IF)
            continue;
        uint16_t last = p->registers[i->out].last > k ? p->registers[i->out].last : k;
        span x = span_of(l, i->access);
        if (last > made && x.from < s.to && s.from < x.to)
            return true;
    }
    return false;
}

/* The instruction of the block that computes register r, mostly one of the last; b.end if there is none. */
static uint16_t maker_of(const lz_program *p, lz_block b, uint16_t r)
{
    uint16_t k = b.end;
    while (k > b.begin && p->code[k - 1].out != r)
        k--;
    return k > b.begin ? k - 1 : b.end;
}

/* Is the output too large to be still in a cache when it is read, and disjoint from all loads? Then it is
 * written past the caches, which saves reading its lines first. */
static bool streams(const lz_launch *l, int access)
{
    span s = span_of(l, access);
    return contiguous(l, access) && (int64_t)(s.to - s.from) >= lz_stream_least() && !is_read(l, s);
}

/* Finds the stores at the end of a block whose value can be computed in place. Appends to `inplace` from `n`
 * on. */
static uint8_t inplace_stores_of_block(lz_launch *l, lz_block b, uint8_t n)
{
    const lz_program *p = l->p;
    uint8_t first = n;
    for (uint16_t k = b.end; k > b.begin && p->code[k - 1].kind == LZ_INSTR_STORE; k--) {
        const lz_instr *i = &p->code[k - 1];
        uint16_t made = maker_of(p, b, i->in[0]);
        bool own = made < b.end && p->code[made].kind != LZ_INSTR_REDUCE && !lz_keep_is(l, made);
        own = own && !(p->code[made].kind == LZ_INSTR_LOAD && l->access[p->code[made].access].direct);
        for (uint8_t j = first; own && j < n; j++)
            own = l->inplace[j].value != i->in[0];
        own = own && contiguous(l, i->access) && !spoils(l, b, made, span_of(l, i->access));
        l->access[i->access].stream = streams(l, i->access);
        l->streams = l->streams || l->access[i->access].stream;
        own = own && !l->access[i->access].stream;
        l->access[i->access].direct = own;
        if (own)
            l->inplace[n++] = (lz_inplace_store){ i->in[0], (uint8_t)i->access };
    }
    return n;
}

static void find_inplace_stores(lz_launch *l)
{
    const lz_program *p = l->p;
    uint8_t n = 0;
    for (int w = 0; w <= p->walks; w++) {
        l->inplace_of[0][w][0] = n;
        n = l->once ? n : inplace_stores_of_block(l, p->outer[w], n);
        l->inplace_of[0][w][1] = l->inplace_of[1][w][0] = n;
        n = w < p->walks ? inplace_stores_of_block(l, p->element[w], n) : n;
        l->inplace_of[1][w][1] = n;
    }
}

/* Does one stride address a whole tile? */
static bool is_linear(const lz_launch *l, int access)
{
    if (l->lines > 1)
        return lz_axes_linear(&l->lane, &l->nest, access, l->lane.n - 2);
    return !l->across || lz_axes_linear(&l->lane, &l->nest, access, 0);
}

static void reach_all(lz_launch *l)
{
    int last = l->lane.n - 1;
    for (size_t k = 0; k < l->p->n_access; k++) {
        const lz_kernel_use *u = &l->p->access[k];
        if (!lz_kernel_use_any(u))
            continue;
        lz_launch_access *a = &l->access[k];
        bool memory = u->loads || u->stores;
        a->stream = a->raw = false;
        assert(l->n_used < LZ_KERNEL_ACCESSES);
        l->used[l->n_used++] = (uint8_t)k;
        a->base = memory ? l->nest.args->access[k].base : NULL;
        a->size = lz_kernel_use_size(u);
        a->offset = l->nest.args->access[k].offset;
        a->dtype = u->dtype;
        a->step = last < 0 ? 0 : lz_nest_stride(&l->nest, (int)k, l->lane.dim[last]) * a->size;
        a->line = last < 1 ? 0 : lz_nest_stride(&l->nest, (int)k, l->lane.dim[last - 1]) * a->size;
        a->linear = is_linear(l, (int)k);
        a->direct = u->loads && contiguous(l, (int)k);
    }
}

/* Lets sums read their elements in memory. */
static void find_raw(lz_launch *l)
{
    for (size_t k = 0; l->rows && k < l->p->n_code; k++) {
        const lz_instr *i = &l->p->code[k];
        if (i->kind != LZ_INSTR_REDUCE || i->form != LZ_FORM_DTYPE)
            continue;
        lz_launch_access *a = &l->access[i->access];
        a->direct = a->raw = a->linear && (a->step == a->size || l->lane.n == 0);
    }
}

static int64_t state_bytes(const lz_launch *l, int64_t tile)
{
    return l->rows ? (int64_t)l->p->state_rows : (int64_t)l->p->state_columns * tile;
}

/* Bytes that a tile's registers and streams may take: three quarters of the L1 cache; measured. */
static int64_t tile_budget(void)
{
    static _Atomic int64_t known; /* sysconf is slow in a virtual machine */
    int64_t budget = atomic_load_explicit(&known, memory_order_relaxed);
    if (!budget) {
        long cache = sysconf(_SC_LEVEL1_DCACHE_SIZE);
        budget = at_least(cache, L1_LEAST) / 4 * 3;
        atomic_store_explicit(&known, budget, memory_order_relaxed);
    }
    return budget;
}

static int64_t tile_size(const lz_launch *l, int threads)
{
    int64_t tile = LZ_TILE_MOST, units = l->p->units;
    while (tile > LZ_TILE_LEAST && threads > 1 && !l->flat && !l->rows && tile * threads > l->lane.total)
        tile /= 2; /* threads share columns by tiles */
    while (tile > LZ_TILE_LEAST && (int64_t)l->p->hot * tile > tile_budget())
        tile /= 2;
    while (tile > LZ_TILE_LEAST && units * tile + state_bytes(l, tile) + 64 > LZ_SCRATCH)
        tile /= 2;
    return tile;
}

/* Kernels without reductions run flat, except if outer code is worth running once per row and rows are
 * long. */
static bool worth_rows(const lz_program *p, const int64_t *extents)
{
    enum { LONG = 128 };
    int64_t row = 1;
    bool work = false;
    for (int d = 0; d < p->n_row; d++)
        row = row < LZ_TILE_MOST ? row * extents[p->n_outer + d] : row;
    for (int k = 0; k <= p->walks; k++) {
        for (uint16_t i = p->outer[k].begin; i < p->outer[k].end; i++)
            work = work || p->code[i].kind != LZ_INSTR_LOAD;
    }
    return work && p->n_outer > 0 && row >= LONG;
}

/* Are there stores per outer index and rows of more or fewer than one element? Such stores happen once per
 * row. */
static bool stores_outer(const lz_launch *l)
{
    const lz_program *p = l->p;
    int64_t row = 1;
    for (int d = 0; d < p->n_row; d++)
        row = l->nest.args->extents[p->n_outer + d] == 1 ? row : 0;
    return p->outer_stores && row != 1;
}

/* Number of whole lines in a tile; 0 if lines are longer than tiles, or too few fit. */
static int64_t lines_of(const lz_launch *l)
{
    int last = l->lane.n - 1;
    if (l->rows || last < 1 || l->lane.total == 0 || l->lane.extent[last] > l->tile)
        return 0;
    int64_t line = l->lane.extent[last], lines = l->tile / line;
    lines = lines < l->lane.extent[last - 1] ? lines : l->lane.extent[last - 1];
    return line >= LZ_TILE_LEAST || lines * line >= l->tile / 4 ? lines : 0;
}

/* Swaps the last two lane dimensions if lines have only a few elements. The order of elements decides only
 * which out-of-bounds index is reported, so kernels with checks are left alone. */
static void turn_short_lines(lz_launch *l)
{
    enum { SHORT = 4 };
    lz_axes *x = &l->lane;
    int last = x->n - 1;
    if (last < 1 || x->extent[last] > SHORT || x->extent[last - 1] <= x->extent[last]
        || lz_program_checks(l->p))
        return;
    lz_axes_swap_last(x);
}

static void prepare(lz_launch *l, int threads)
{
    const lz_program *p = l->p;
    int outer = p->n_outer, all = p->n_outer + p->n_row;
    bool loops = p->reduces || p->scans;
    l->flat = !loops && !stores_outer(l) && !worth_rows(p, l->nest.args->extents);
    l->rows = !l->flat && (loops ? p->mode == LZ_KERNEL_ROWS : p->walks > 0);
    l->once = l->rows;
    lz_axes_init(&l->fixed);
    lz_axes_init(&l->lane);
    if (!l->flat)
        lz_axes_add(&l->fixed, &l->nest, l->rows ? 0 : outer, l->rows ? outer : all);
    lz_axes_add(&l->lane, &l->nest, l->rows ? outer : 0, l->flat || l->rows ? all : outer);
    if (l->flat)
        turn_short_lines(l);
    int64_t last = l->lane.n ? l->lane.extent[l->lane.n - 1] : 1;
    l->tile = tile_size(l, threads);
    assert(l->tile >= LZ_TILE_LEAST && l->tile <= LZ_TILE_MOST && (l->tile & (l->tile - 1)) == 0);
    l->lines = lines_of(l);
    l->across = l->lane.n > 1 && !l->lines && (l->rows || last < LZ_TILE_LEAST);
    l->row_lines = l->flat && !l->across && l->lane.n && l->lane.dim[l->lane.n - 1] >= outer;
    l->block = lz_reduce_block(l->rows, l->rows ? l->lane.total : l->fixed.total);
    reach_all(l);
    if (p->sums_memory)
        find_raw(l);
    lz_keep_plan(l);
    find_inplace_stores(l);
}

static void place_tiles(lz_worker *w, const lz_launch *l)
{
    const lz_program *p = l->p;
    w->l = l;
    w->err = NULL;
    w->walk = 0;
    w->row = w->first = 0;
    w->moved = LZ_KEEP_ALL;
    for (size_t r = 0; r < p->n_registers; r++)
        w->tile[r] = w->scratch + (int64_t)p->registers[r].at * l->tile;
    w->state = w->scratch + ((int64_t)p->units * l->tile + 63) / 64 * 64;
    assert(w->state + state_bytes(l, l->tile) <= w->scratch + LZ_SCRATCH);
    lz_keep_place(w, w->state + (state_bytes(l, l->tile) + 63) / 64 * 64);
}

/* Sets up a thread's registers and computes the uniform values. */
static bool start_worker(lz_worker *w, const lz_launch *l)
{
    place_tiles(w, l);
    bool ok = lz_exec_one(w, l->p->uniform);
    if (ok)
        lz_exec_splat(w, l->p->splat_uniform, l->tile < l->lane.total ? l->tile : l->lane.total);
    return ok;
}

static void end_worker(const lz_launch *l)
{
    if (l->streams)
        l->p->tiles->streamed();
}

static void go_to_fixed(lz_worker *w, int64_t flat)
{
    const lz_launch *l = w->l;
    lz_axes_split(&l->fixed, flat, w->fixed_at);
    for (int k = 0; k < l->n_used; k++) {
        int a = l->used[k];
        int64_t offset = l->access[a].offset;
        for (int d = 0; d < l->fixed.n; d++)
            offset += w->fixed_at[d] * lz_nest_stride(&l->nest, a, l->fixed.dim[d]);
        w->fixed[a] = lz_pointer_add(l->access[a].base, offset * l->access[a].size);
    }
}

static void next_fixed(lz_worker *w)
{
    const lz_launch *l = w->l;
    int d = l->fixed.n - 1;
    if (d < 0)
        return;
    w->fixed_at[d]++;
    if (w->fixed_at[d] < l->fixed.extent[d]) {
        for (int k = 0; k < l->n_used; k++) {
            int a = l->used[k];
            w->fixed[a] =
                lz_pointer_add(w->fixed[a], lz_nest_stride(&l->nest, a, l->fixed.dim[d]) * l->access[a].size);
        }
        return;
    }
    int64_t flat = 0;
    for (int k = 0; k < l->fixed.n; k++)
        flat = flat * l->fixed.extent[k] + w->fixed_at[k];
    if (flat < l->fixed.total)
        go_to_fixed(w, flat);
}

/* Moves to element `flat` of the lane dimensions, at the current fixed index. */
static void go_to_lane(lz_worker *w, int64_t flat)
{
    const lz_launch *l = w->l;
    int last = l->lane.n - 1;
    w->first = flat;
    lz_axes_split(&l->lane, flat, w->lane_at);
    if (flat == 0) {
        for (int k = 0; k < l->n_used; k++)
            w->here[l->used[k]] = w->fixed[l->used[k]];
        return;
    }
    for (int k = 0; k < l->n_used; k++) {
        int a = l->used[k];
        int64_t offset = 0;
        for (int d = 0; d < last; d++)
            offset += w->lane_at[d] * lz_nest_stride(&l->nest, a, l->lane.dim[d]);
        w->here[a] = lz_pointer_add(w->fixed[a], offset * l->access[a].size
                                                     + (last < 0 ? 0 : w->lane_at[last] * l->access[a].step));
    }
}

/* Bits of lane dimensions d and inwards. */
static uint16_t bits_from(int d)
{
    return d < LZ_KEEP_DIMS ? (uint16_t)((1u << LZ_KEEP_DIMS) - (1u << d)) : 0;
}

/* Advances n elements to the start of another line, past the end of lane dimension `from`. */
static void next_line(lz_worker *w, int from, int64_t n)
{
    const lz_launch *l = w->l;
    int last = l->lane.n - 1, d = from - 1;
    while (w->lane_at[d] + 1 == l->lane.extent[d])
        d--;
    for (int k = 0; k < l->n_used; k++) {
        int a = l->used[k];
        int64_t steps = lz_nest_stride(&l->nest, a, l->lane.dim[d]);
        for (int e = d + 1; e <= last; e++)
            steps -= w->lane_at[e] * lz_nest_stride(&l->nest, a, l->lane.dim[e]);
        w->here[a] = lz_pointer_add(w->here[a], steps * l->access[a].size);
    }
    w->first += n;
    w->moved = bits_from(d);
    w->lane_at[d]++;
    for (int e = d + 1; e <= last; e++)
        w->lane_at[e] = 0;
}

/* Advances `by` indices along lane dimension d, which are n elements. */
static void next_along(lz_worker *w, int d, int64_t by, int64_t n)
{
    const lz_launch *l = w->l;
    w->first += n;
    w->moved = bits_from(d);
    w->lane_at[d] += by;
    for (int k = 0; k < l->n_used; k++) {
        const lz_launch_access *a = &l->access[l->used[k]];
        int64_t each = d == l->lane.n - 1 ? a->step : a->line;
        w->here[l->used[k]] = lz_pointer_add(w->here[l->used[k]], by * each);
    }
}

/* Advances n elements. */
static void next_lane(lz_worker *w, int64_t n)
{
    const lz_launch *l = w->l;
    if (w->first + n >= l->lane.total)
        return;
    int d = l->lane.n - 1 - (l->lines > 0);
    int64_t by = l->lines == 0                           ? n
                 : n == l->lines * l->lane.extent[d + 1] ? l->lines
                                                         : n / l->lane.extent[d + 1];
    if (w->lane_at[d] + by < l->lane.extent[d])
        next_along(w, d, by, n);
    else if (w->lane_at[d] + by == l->lane.extent[d])
        next_line(w, d, n);
    else
        go_to_lane(w, w->first + n);
}

/* Elements of the tile at w->first. A tile ends at `end`, and at the end of the lane dimension along which
 * tiles are cut unless tiles may cross it. */
static int64_t tile_count(const lz_worker *w, int64_t end)
{
    const lz_launch *l = w->l;
    int last = l->lane.n - 1;
    int64_t n = end - w->first < l->tile ? end - w->first : l->tile, line = 1;
    if (last < 1 || l->across)
        return n;
    if (l->lines) {
        line = l->lane.extent[last--];
        n = end - w->first < l->lines * line ? end - w->first : l->lines * line;
    }
    int64_t left = (l->lane.extent[last] - w->lane_at[last]) * line;
    return left < n ? left : n;
}

/* The unit in which threads share the work: one line if tiles are whole lines. */
static int64_t unit_of(const lz_launch *l)
{
    return l->lines ? l->lane.extent[l->lane.n - 1] : 1;
}

static lz_err *run_flat(void *user, int64_t begin, int64_t end, int worker)
{
    const lz_launch *l = user;
    const lz_program *p = l->p;
    lz_worker w;
    (void)worker;
    bool ok = start_worker(&w, l);
    int64_t most = 0;
    begin *= unit_of(l);
    end *= unit_of(l);
    go_to_fixed(&w, 0);
    go_to_lane(&w, begin);
    for (int64_t at = begin; ok && at < end;) {
        int64_t n = tile_count(&w, end);
        assert(n > 0 && n <= l->tile && n <= end - at);
        w.moved = n > most ? LZ_KEEP_ALL : w.moved; /* a shorter tile computed too few elements */
        most = n > most ? n : most;
        for (int k = 0; ok && k <= p->walks; k++) {
            ok = lz_exec_outer(&w, k, n);
            ok = ok && (k == p->walks || lz_exec_element(&w, k, n));
        }
        next_lane(&w, n);
        at += n;
    }
    end_worker(l);
    return w.err;
}

/* Elements [begin, end) of the row in this walk; begin is a multiple of a block. */
static bool walk_row(lz_worker *w, int64_t begin, int64_t end)
{
    const lz_launch *l = w->l;
    const lz_program *p = l->p;
    bool ok = true, folds = p->n_states[w->walk] > 0;
    if (folds)
        lz_reduce_start(w, l->tile);
    go_to_lane(w, begin);
    for (int64_t at = begin; ok && at < end;) {
        int64_t n = tile_count(w, end);
        ok = lz_exec_element(w, w->walk, n);
        next_lane(w, n);
        at += n;
        if (ok && folds)
            lz_reduce_fold(w, at, l->lane.total, n);
    }
    return ok;
}

static bool outer_code(lz_worker *w, int k)
{
    const lz_program *p = w->l->p;
    int64_t n = w->l->lane.total < w->l->tile ? w->l->lane.total : w->l->tile;
    bool ok = lz_exec_one(w, p->outer[k]);
    if (ok)
        lz_exec_splat(w, p->splat_outer[k], n);
    return ok;
}

static lz_err *run_rows(void *user, int64_t begin, int64_t end, int worker)
{
    const lz_launch *l = user;
    lz_worker w;
    (void)worker;
    bool ok = start_worker(&w, l);
    if (ok)
        go_to_fixed(&w, begin);
    for (int64_t at = begin; ok && at < end; at++) {
        for (int k = 0; ok && k < l->p->walks; k++) {
            w.walk = k;
            ok = outer_code(&w, k) && walk_row(&w, 0, l->lane.total);
            if (ok)
                lz_reduce_end(&w, 1);
        }
        ok = ok && outer_code(&w, l->p->walks);
        next_fixed(&w);
        w.moved = 1; /* keep.c: bit 0, the fixed index */
    }
    end_worker(l);
    return w.err;
}

/* A row that all threads walk together. Each thread takes blocks; the blocks' totals are combined in the
 * order of the row. */
typedef struct shared_row {
    const lz_worker *leader;
    char *parts; /* one per block */
    size_t part;
    int64_t block;
} shared_row;

/* Gives w the leader's position and registers, but not its states. */
static void follow(lz_worker *w, const lz_worker *leader)
{
    const lz_launch *l = leader->l;
    place_tiles(w, l);
    w->walk = leader->walk;
    memcpy(w->fixed, leader->fixed, sizeof w->fixed);
    memcpy(w->fixed_at, leader->fixed_at, sizeof w->fixed_at);
    memcpy(w->scratch, leader->scratch, (size_t)l->p->units * (size_t)l->tile);
}

static lz_err *walk_blocks(void *user, int64_t begin, int64_t end, int worker)
{
    const shared_row *s = user;
    int64_t total = s->leader->l->lane.total;
    lz_worker w;
    (void)worker;
    follow(&w, s->leader);
    for (int64_t b = begin; b < end; b++) {
        int64_t to = (b + 1) * s->block;
        if (!walk_row(&w, b * s->block, to < total ? to : total))
            break;
        lz_reduce_save(&w, 1, s->parts + (size_t)b * s->part);
    }
    end_worker(w.l);
    return w.err;
}

static lz_err *walk_shared(lz_worker *leader, char *parts, lz_pool *pool)
{
    const lz_launch *l = leader->l;
    shared_row s = {
        .leader = leader, .parts = parts, .part = lz_reduce_part(l->p, leader->walk), .block = l->block
    };
    int64_t blocks = (l->lane.total + s.block - 1) / s.block;
    LZ_TRY(lz_pool_for(pool, blocks, at_least(CHUNK_WORK / s.block, 1), walk_blocks, &s));
    lz_reduce_start(leader, l->tile);
    for (int64_t b = 0; b < blocks; b++)
        lz_reduce_add(leader, 1, parts + (size_t)b * s.part);
    lz_reduce_end(leader, 1);
    return NULL;
}

static lz_err *run_shared_row(lz_worker *w, char *parts, lz_pool *pool)
{
    const lz_program *p = w->l->p;
    bool ok = true;
    for (int k = 0; ok && k < p->walks; k++) {
        w->walk = k;
        ok = outer_code(w, k);
        if (ok)
            LZ_TRY(walk_shared(w, parts, pool));
    }
    if (ok)
        outer_code(w, p->walks);
    return w->err;
}

/* noinline: the caller's other paths put workers of their own on the stack. */
__attribute__((noinline)) static lz_err *run_shared(const lz_launch *l, lz_pool *pool)
{
    _Alignas(int64_t) char parts[sizeof(int64_t) * 2 * LZ_KERNEL_REDUCTIONS * LZ_BLOCKS]; /* lz_reduce_part */
    lz_worker w;
    lz_err *e = start_worker(&w, l) ? NULL : w.err;
    for (int64_t at = 0; !e && at < l->fixed.total; at++) {
        go_to_fixed(&w, at);
        e = run_shared_row(&w, parts, pool);
    }
    return e;
}

/* Makes `here` relative to the address at the fixed index (sign -1), or absolute again (sign 1). */
static void rebase(lz_worker *w, int64_t sign)
{
    for (int k = 0; k < w->l->n_used; k++) {
        int a = w->l->used[k];
        int64_t fixed = (int64_t)(uintptr_t)w->fixed[a];
        w->here[a] = lz_pointer_add(w->here[a], sign * fixed);
    }
}

/* Moves to the next row, same columns. */
static void next_row(lz_worker *w)
{
    rebase(w, -1);
    next_fixed(w);
    rebase(w, 1);
}

/* Rows [begin, end) of all columns of the tile, which starts at w->first. */
static bool walk_columns(lz_worker *w, int64_t begin, int64_t end, int64_t n)
{
    const lz_program *p = w->l->p;
    bool ok = true, folds = p->n_states[w->walk] > 0;
    if (folds)
        lz_reduce_start(w, n);
    go_to_fixed(w, begin);
    go_to_lane(w, w->first);
    for (w->row = begin; ok && w->row < end; w->row++) {
        ok = lz_exec_element(w, w->walk, n);
        if (ok && folds)
            lz_reduce_fold(w, w->row + 1, w->l->fixed.total, n);
        next_row(w);
    }
    return ok;
}

static bool outer_columns(lz_worker *w, int stage, int64_t n)
{
    go_to_fixed(w, 0);
    go_to_lane(w, w->first);
    return lz_exec_outer(w, stage, n);
}

static bool do_columns(lz_worker *w, int64_t n)
{
    const lz_program *p = w->l->p;
    bool ok = true;
    for (int k = 0; ok && k < p->walks; k++) {
        w->walk = k;
        ok = outer_columns(w, k, n) && walk_columns(w, 0, w->l->fixed.total, n);
        if (ok)
            lz_reduce_end(w, n);
    }
    return ok && outer_columns(w, p->walks, n);
}

static lz_err *run_columns(void *user, int64_t begin, int64_t end, int worker)
{
    const lz_launch *l = user;
    lz_worker w;
    (void)worker;
    bool ok = start_worker(&w, l);
    begin *= unit_of(l);
    end *= unit_of(l);
    go_to_fixed(&w, 0);
    for (int64_t at = begin; ok && at < end;) {
        go_to_lane(&w, at);
        int64_t n = tile_count(&w, end);
        ok = do_columns(&w, n);
        at += n;
    }
    end_worker(l);
    return w.err;
}

/* Few and long rows: whole rows would leave threads idle. */
static bool shares(const lz_launch *l, lz_pool *pool)
{
    int threads = lz_pool_threads(pool);
    return threads > 1 && !l->p->scans && l->lane.total >= SHARE_LEAST
           && l->fixed.total < (int64_t)4 * threads;
}

lz_err *lz_launch_prepare(lz_launch *l, const lz_program *p, const lz_kernel_args *args, int threads)
{
    /* Sets fields one by one: clearing the whole struct takes longer than a small run. */
    assert(p->n_access <= LZ_KERNEL_ACCESSES && p->n_registers <= LZ_REGISTERS && threads > 0);
    l->p = p;
    l->nest = (lz_nest){
        .args = args, .use = p->access, .n_access = (int)p->n_access, .n_outer = p->n_outer, .n_row = p->n_row
    };
    l->n_used = 0;
    l->streams = l->keeps = false;
    LZ_TRY(lz_nest_check(&l->nest));
    prepare(l, threads);
    return NULL;
}

lz_err *lz_program_run(const lz_program *p, const lz_kernel_args *args, lz_pool *pool)
{
    lz_launch l;
    LZ_TRY(lz_launch_prepare(&l, p, args, lz_pool_threads(pool)));
    int64_t unit = unit_of(&l);
    if (l.flat)
        return lz_pool_for(pool, l.lane.total / unit, at_least(CHUNK_WORK / unit, 1), run_flat, &l);
    if (l.rows && shares(&l, pool))
        return run_shared(&l, pool);
    if (l.rows) {
        int64_t grain = at_least(CHUNK_WORK / at_least(l.lane.total, 1), 1);
        return lz_pool_for(pool, l.fixed.total, grain, run_rows, &l);
    }
    int64_t tiles = at_least(CHUNK_WORK / at_least(l.fixed.total * l.tile, 1), 1);
    return lz_pool_for(pool, l.lane.total / unit, at_least(tiles * l.tile / unit, 1), run_columns, &l);
}
