#include "jit/code_launch.h"
#include "base/mem.h"
#include "jit/program.h"
#include "jit/reduce.h"
#include <assert.h>
#include <string.h>
#include <unistd.h>

enum {
    SHORT = 16,              /* shorter rows are combined into one, addressed by tables */
    TABLE = 1024,            /* elements of an address table, approximately */
    LONG_ROW = 1 << 16,      /* shorter rows are not split between threads, even where they could be */
    CHUNK_WORK = 1 << 15,    /* elements that a thread takes at once, ... */
    CHUNKS_MOST = 128,       /* ... or more, so that there are at most about this many chunks */
    SHARE_LEAST = 1 << 17,   /* shorter rows are not shared by threads (lz_walk) */
    STREAM_LEAST = 16 << 20, /* bytes of an output that bypasses the caches */
    ROOM = 16 << 10,         /* scratch on the stack; if more is needed, it is allocated */
    LINE = 64,
    SCATTERED = 4, /* time of an element whose neighbour is elsewhere, over that of one in line */
    COLUMNS = 4,   /* this many columns or fewer are walked one after the other */
};

/* ---- the split ---- */

/* Axes k and inwards of `all` become the vectors; the others are looped over here (`around`). */
static void divide(lz_native_split *c, const lz_axes *all, int k)
{
    c->around.n = k;
    c->around.total = 1;
    for (int d = 0; d < k; d++) {
        c->around.extent[d] = all->extent[d];
        c->around.dim[d] = all->dim[d];
        c->around.total *= all->extent[d];
    }
    c->vectors.n = all->n - k;
    c->vectors.total = 1;
    for (int d = k; d < all->n; d++) {
        c->vectors.extent[d - k] = all->extent[d];
        c->vectors.dim[d - k] = all->dim[d];
        c->vectors.total *= all->extent[d];
    }
}

/* Moves `piece` indices of the innermost axis of `around` into the vectors. The whole axis would exceed a
 * table. */
static void cut_off(lz_native_split *c, int64_t piece)
{
    int last = c->around.n - 1;
    lz_axes *v = &c->vectors;
    int64_t e = c->around.extent[last];
    memmove(v->extent + 1, v->extent, (size_t)v->n * sizeof *v->extent);
    memmove(v->dim + 1, v->dim, (size_t)v->n * sizeof *v->dim);
    v->n++;
    v->extent[0] = piece;
    v->dim[0] = c->around.dim[last];
    c->tail = e % piece * v->total;
    v->total *= piece;
    c->scale = piece;
    c->around.extent[last] = (e + piece - 1) / piece;
    c->around.total = c->around.total / e * c->around.extent[last];
}

/* Without an axis there are no strides to look at; this returns what most shapes of the kernel have. */
static lz_run run_of(const lz_native_split *c, int access)
{
    const lz_axes *v = &c->vectors;
    const lz_kernel_use *u = &c->nest.use[access];
    if (v->n == 0)
        return u->vary == LZ_KERNEL_OUTER && c->nest.n_row && !c->variant.columns ? LZ_RUN_SAME : LZ_RUN_NEXT;
    int64_t step = lz_nest_stride(&c->nest, access, v->dim[v->n - 1]);
    bool memory = u->loads || u->stores;
    if (!lz_axes_linear(v, &c->nest, access, 0))
        return memory && step == 1 && v->extent[v->n - 1] >= LZ_PIECE ? LZ_RUN_PIECES : LZ_RUN_TABLE;
    return step == 0              ? LZ_RUN_SAME
           : step == 1            ? LZ_RUN_NEXT
           : step == -1 && memory ? LZ_RUN_BACK
                                  : LZ_RUN_STEP;
}

/* Would tables have to address every element of the vectors in every access? */
static bool all_by_table(const lz_native_split *c)
{
    bool all = true;
    for (int a = 0; all && a < c->nest.n_access; a++) {
        int run = lz_kernel_use_any(&c->nest.use[a]) ? (int)run_of(c, a) : LZ_RUN_SAME;
        all = run == LZ_RUN_TABLE || run == LZ_RUN_SAME;
    }
    return all;
}

/* Is the innermost axis a few columns that lie apart? These are walked one after the other: the two columns
 * on each side of a padding take three quarters of the time that tables need. The order of elements decides
 * only which index out of bounds is reported, so kernels with checks are left alone. */
static bool few_columns(lz_native_split *c, const lz_program *p, const lz_axes *all)
{
    int k = all->n - 1;
    if (!c->flat || k < 1 || all->extent[k] > COLUMNS || all->extent[k - 1] < SHORT || lz_program_checks(p))
        return false;
    divide(c, all, k - 1);
    return all_by_table(c);
}

/* Vectors span the innermost axis of `all`; if it is short, also further axes outwards. */
static void choose_vectors(lz_native_split *c, const lz_program *p, lz_axes *all)
{
    int k = all->n ? all->n - 1 : 0;
    int64_t n = all->n ? all->extent[k] : 1;
    bool small = n < SHORT && all->total > 0;
    if (small && few_columns(c, p, all)) {
        lz_axes_swap_last(all);
        divide(c, all, k);
        return;
    }
    while (small && k > 0 && all->extent[k - 1] <= TABLE / n)
        n *= all->extent[--k];
    divide(c, all, k);
    if (small && k > 0 && n < TABLE / 2)
        cut_off(c, TABLE / n);
}

/* The size above which an output bypasses the caches, because it would mostly be evicted before it is read:
 * half of the last-level cache, but at most STREAM_LEAST, since other processes may share that cache.
 * Measured: on 16 MB, four streams and three operations, 1.4 to 2 times as fast; a layer norm, whose input
 * then stays in the cache, 1.2 to 2. */
int64_t lz_stream_least(void)
{
    static _Atomic int64_t least;
    int64_t v = atomic_load_explicit(&least, memory_order_relaxed);
    if (!v) {
        long cache = sysconf(_SC_LEVEL3_CACHE_SIZE);
        v = cache > 0 && cache / 2 < STREAM_LEAST ? cache / 2 : STREAM_LEAST;
        atomic_store_explicit(&least, v, memory_order_relaxed);
    }
    return v;
}

static bool reads(const lz_nest *n, const void *base)
{
    bool does = false;
    for (int a = 0; a < n->n_access; a++)
        does = does || (n->use[a].loads && n->args->access[a].base == base);
    return does;
}

/* Requires that every row of the store starts at a cache line and that the kernel does not read the output's
 * memory. */
static bool streams(const lz_native_split *c, int access)
{
    const lz_kernel_use *u = &c->nest.use[access];
    int64_t size = lz_kernel_use_size(u);
    bool does = c->variant.run[access] == LZ_RUN_NEXT && c->elements * size >= lz_stream_least()
                && (uintptr_t)lz_nest_base(&c->nest, access) % LINE == 0
                && !reads(&c->nest, c->nest.args->access[access].base);
    for (int d = 0; does && d < c->around.n; d++)
        does = lz_nest_stride(&c->nest, access, c->around.dim[d]) * size % LINE == 0;
    return does;
}

static void choose_runs(lz_native_split *c)
{
    bool large = !c->variant.columns && c->scale == 1 && c->elements >= lz_stream_least() / 8;
    for (int a = 0; a < c->nest.n_access; a++) {
        if (!lz_kernel_use_any(&c->nest.use[a]))
            continue;
        c->variant.run[a] = (uint8_t)run_of(c, a);
        c->variant.stream[a] = large && c->nest.use[a].stores && streams(c, a);
    }
}

static bool has_row(const lz_nest *n)
{
    bool has = false;
    for (int d = 0; d < n->n_row; d++)
        has = has || n->args->extents[n->n_outer + d] != 1;
    return has;
}

/* Vectors span the innermost of all dimensions (flat), of the outer dimensions (columns), or the row. */
static void choose_axes(lz_native_split *c, const lz_program *p)
{
    int outer = c->nest.n_outer, all = outer + c->nest.n_row;
    bool columns = c->variant.columns;
    lz_axes_init(&c->across);
    if (columns)
        lz_axes_add(&c->across, &c->nest, outer, all);
    if (c->flat || columns) {
        lz_axes x;
        lz_axes_init(&x);
        lz_axes_add(&x, &c->nest, 0, c->flat ? all : outer);
        c->elements = x.total * c->across.total;
        choose_vectors(c, p, &x);
        return;
    }
    lz_axes_init(&c->vectors);
    lz_axes_init(&c->around);
    lz_axes_add(&c->vectors, &c->nest, outer, all);
    lz_axes_add(&c->around, &c->nest, 0, outer);
    c->elements = c->vectors.total * c->around.total;
}

lz_err *lz_native_split_make(const lz_kernel *k, const lz_kernel_args *args, lz_native_split *out)
{
    const lz_program *p = k->program;
    bool loops = p->reduces || p->scans;
    out->nest = (lz_nest){ args, p->access, (int)p->n_access, p->n_outer, p->n_row };
    LZ_TRY(lz_nest_check(&out->nest));
    memset(&out->variant, 0, sizeof out->variant);
    out->variant.columns = loops && p->mode == LZ_KERNEL_COLUMNS;
    out->flat = !loops && !(p->outer_stores && has_row(&out->nest));
    out->walks = p->walks;
    out->scale = 1;
    out->tail = 0;
    choose_axes(out, p);
    out->variant.across_table = out->across.n > 1;
    choose_runs(out);
    return NULL;
}

/* ---- a run ---- */

typedef struct job {
    const lz_native_loaded *code;
    const lz_native_split *cut;
    char *tables; /* one allocation for all tables; NULL if there are none */
    char *extra;  /* scratch of all threads, if it does not fit on a thread's stack */
    size_t extra_each;
    int64_t pieces; /* tasks per row: parts of a row, or strips of columns */
    int64_t piece;  /* elements of each */
    int64_t first;  /* shared rows: the row, and */
    int64_t walk;
    char *totals;
    int n_used;
    uint8_t used[LZ_KERNEL_ACCESSES];
    lz_native_access access[LZ_KERNEL_ACCESSES]; /* at the first element of the run */
} job;

/* Fills in the byte offset of each index of the axes, row-major. */
static void fill_table(const lz_axes *x, const lz_nest *nest, int access, int64_t *out)
{
    int64_t n = 1, size = lz_kernel_use_size(&nest->use[access]);
    if (x->total == 0)
        return;
    out[0] = 0;
    for (int d = x->n - 1; d >= 0; d--) {
        int64_t step = lz_nest_stride(nest, access, x->dim[d]) * size;
        for (int64_t i = n; i < n * x->extent[d]; i++)
            out[i] = out[i - n] + step;
        n *= x->extent[d];
    }
}

/* Advances `at` to the next index of all axes but the last; returns the new byte offset. */
static int64_t next_run(const lz_axes *x, const lz_nest *nest, int access, int64_t *at, int64_t bytes)
{
    int64_t size = lz_kernel_use_size(&nest->use[access]);
    for (int d = x->n - 2; d >= 0; d--) {
        int64_t step = lz_nest_stride(nest, access, x->dim[d]) * size;
        bytes += step;
        if (++at[d] < x->extent[d])
            return bytes;
        bytes -= step * x->extent[d];
        at[d] = 0;
    }
    return bytes;
}

/* Fills in the entries of one contiguous piece: `n` elements, from element `begin` on, at byte offset
 * `bytes`. */
static void fill_run(int64_t begin, int64_t n, int64_t bytes, int64_t size, int shift, lz_native_piece *out)
{
    int64_t each = INT64_C(1) << shift, part = begin & (each - 1), k = (begin + each - 1) >> shift;
    if (part)
        out[begin >> shift].then = bytes - part * size;
    for (; k << shift < begin + n; k++) {
        int64_t done = (k << shift) - begin;
        out[k] = (lz_native_piece){ .first = bytes + done * size, .count = n - done };
    }
}

/* The largest shift for which no entry covers three pieces; a larger shift makes the table smaller. */
static int piece_shift(const lz_axes *x)
{
    int shift = 4;
    while (shift < 62 && x->n > 0 && INT64_C(2) << shift <= x->extent[x->n - 1])
        shift++;
    return shift;
}

_Static_assert(LZ_PIECE == 1 << 4, "the least that piece_shift gives");

static void fill_pieces(const lz_axes *x, const lz_nest *nest, int access, lz_native_piece *out)
{
    int shift = piece_shift(x);
    int64_t at[LZ_KERNEL_DIMS] = { 0 }, n = x->extent[x->n - 1], bytes = 0;
    for (int64_t begin = 0; begin < x->total; begin += n) {
        fill_run(begin, n, bytes, lz_kernel_use_size(&nest->use[access]), shift, out);
        bytes = next_run(x, nest, access, at, bytes);
    }
}

static int64_t count_pieces(const lz_native_split *c)
{
    int shift = piece_shift(&c->vectors);
    return (c->vectors.total + (INT64_C(1) << shift) - 1) >> shift;
}

/* Bytes of all tables of an access. */
static size_t table_size(const lz_native_split *c, int access)
{
    size_t n = 0;
    if (c->variant.run[access] == LZ_RUN_TABLE)
        n += (size_t)c->vectors.total * sizeof(int64_t);
    if (c->variant.run[access] == LZ_RUN_PIECES)
        n += (size_t)count_pieces(c) * sizeof(lz_native_piece);
    if (c->variant.across_table && lz_kernel_use_any(&c->nest.use[access]))
        n += (size_t)c->across.total * sizeof(int64_t);
    return n;
}

static void fill_tables(const lz_native_split *c, int access, char *next, lz_native_access *a)
{
    if (c->variant.run[access] == LZ_RUN_TABLE) {
        fill_table(&c->vectors, &c->nest, access, (int64_t *)(void *)next);
        a->table = (int64_t *)(void *)next;
        next += (size_t)c->vectors.total * sizeof(int64_t);
    }
    if (c->variant.run[access] == LZ_RUN_PIECES) {
        fill_pieces(&c->vectors, &c->nest, access, (lz_native_piece *)(void *)next);
        a->pieces = (lz_native_piece *)(void *)next;
        next += (size_t)count_pieces(c) * sizeof(lz_native_piece);
    }
    if (c->variant.across_table) {
        fill_table(&c->across, &c->nest, access, (int64_t *)(void *)next);
        a->across_table = (int64_t *)(void *)next;
    }
}

static bool has_tables(const lz_native_split *c)
{
    bool has = c->variant.across_table;
    for (int a = 0; a < c->nest.n_access; a++)
        has = has || c->variant.run[a] == LZ_RUN_TABLE || c->variant.run[a] == LZ_RUN_PIECES;
    return has;
}

/* Up to this many elements, the sum of all table sizes fits in a size_t. */
static const int64_t table_most = INT64_C(1) << 48;

static lz_err *make_tables(job *j)
{
    const lz_native_split *c = j->cut;
    size_t bytes = 0;
    if (!has_tables(c))
        return NULL;
    if (c->vectors.total > table_most || c->across.total > table_most)
        return lz_err_oom();
    for (int k = 0; k < j->n_used; k++)
        bytes += table_size(c, j->used[k]);
    j->tables = lz_temporary_take(bytes, LZ_MEM_ALIGN);
    if (!j->tables)
        return lz_err_oom();
    char *next = j->tables;
    for (int k = 0; k < j->n_used; k++) {
        fill_tables(c, j->used[k], next, &j->access[j->used[k]]);
        next += table_size(c, j->used[k]);
    }
    return NULL;
}

static int64_t stride_along(const lz_native_split *c, const lz_axes *x, int access)
{
    return x->n > 0 ? lz_nest_stride(&c->nest, access, x->dim[x->n - 1]) : 0;
}

/* Sets only the fields that every kernel needs: clearing the whole struct would cost more. */
static void start_job(job *j, const lz_native_loaded *code, const lz_native_split *c)
{
    j->code = code;
    j->cut = c;
    j->tables = NULL;
    j->extra = NULL;
    j->extra_each = 0;
    j->totals = NULL;
    j->n_used = 0;
    const lz_axes *across = c->variant.columns ? &c->across : &c->around;
    int64_t scale = c->variant.columns ? 1 : c->scale;
    for (int a = 0; a < c->nest.n_access; a++) {
        const lz_kernel_use *u = &c->nest.use[a];
        if (!lz_kernel_use_any(u))
            continue;
        int64_t size = lz_kernel_use_size(u);
        j->used[j->n_used++] = (uint8_t)a;
        j->access[a] = (lz_native_access){ .base = lz_nest_base(&c->nest, a),
                                           .step = stride_along(c, &c->vectors, a) * size,
                                           .across = stride_along(c, across, a) * size * scale };
    }
}

/* One thread's frame, accesses and scratch. */
typedef struct worker {
    const job *j;
    lz_native_frame frame;
    int64_t at[LZ_KERNEL_DIMS];                  /* index along each axis of `around` */
    lz_native_access access[LZ_KERNEL_ACCESSES]; /* frame.access points here */
    _Alignas(LINE) char room[ROOM];
} worker;

/* Scratch per row element is needed for whole rows only. All scratch is allocated before anything is written,
 * so a run that lacks memory can still be interpreted. */
static lz_err *make_scratch(job *j, int threads, bool shared)
{
    const lz_native_needs *needs = &j->code->needs;
    size_t row = j->cut->variant.columns || shared ? 0 : (size_t)j->cut->vectors.total;
    size_t each = 0, all = 0;
    if (!lz_size_mul((size_t)needs->scratch_row, row, &each)
        || !lz_size_add(each, (size_t)needs->scratch + LINE - 1, &each))
        return lz_err_oom();
    each = each / LINE * LINE;
    if (each <= ROOM)
        return NULL;
    if (!lz_size_mul(each, (size_t)threads, &all) || !(j->extra = lz_temporary_take(all, LINE)))
        return lz_err_oom();
    j->extra_each = each;
    return NULL;
}

static void start(worker *w, const job *j, int thread)
{
    w->j = j;
    memcpy(w->access, j->access, (size_t)j->cut->nest.n_access * sizeof *w->access);
    w->frame = (lz_native_frame){ .access = w->access,
                                  .params = j->cut->nest.args->params,
                                  .tiles = lz_tile(),
                                  .scratch = j->extra ? j->extra + (size_t)thread * j->extra_each : w->room,
                                  .totals = j->totals,
                                  .piece_shift = piece_shift(&j->cut->vectors) };
}

static lz_err *outcome(const worker *w, int rc)
{
    const lz_native_frame *f = &w->frame;
    if (rc == LZ_CODE_FINE)
        return NULL;
    if (rc == LZ_CODE_DIVIDED)
        return lz_errf(LZ_ERR_ARG, "integer division by zero");
    return lz_nest_bad_index(&w->j->cut->nest, f->index, f->dim, f->size);
}

static lz_err *call(worker *w, int64_t n_outer, int64_t n_row)
{
    w->frame.n_outer = n_outer;
    w->frame.n_row = n_row;
    return outcome(w, w->j->code->run(&w->frame));
}

/* Moves w to index `flat` of `around` and element `first` of the vectors. */
static void go_to(worker *w, int64_t flat, int64_t first)
{
    const job *j = w->j;
    const lz_native_split *c = j->cut;
    const lz_axes *x = &c->around;
    lz_axes_split(x, flat, w->at);
    for (int k = 0; k < j->n_used; k++) {
        int a = j->used[k];
        int64_t steps = 0;
        for (int d = 0; d < x->n; d++)
            steps += w->at[d] * lz_nest_stride(&c->nest, a, x->dim[d]) * (d == x->n - 1 ? c->scale : 1);
        bool table = c->variant.run[a] == LZ_RUN_TABLE, pieces = c->variant.run[a] == LZ_RUN_PIECES;
        int64_t along = table || pieces ? 0 : first * j->access[a].step;
        w->access[a].base =
            lz_pointer_add(j->access[a].base, steps * lz_kernel_use_size(&c->nest.use[a]) + along);
        w->access[a].table = table ? j->access[a].table + first : NULL;
        assert(!pieces || first == 0); /* only rows have pieces, and rows are not split */
        w->access[a].pieces = pieces ? j->access[a].pieces : NULL;
    }
}

/* Elements of the vectors at w's index; the last step of a split axis has fewer. */
static int64_t length_at(const worker *w)
{
    const lz_native_split *c = w->j->cut;
    int last = c->around.n - 1;
    return c->tail && w->at[last] == c->around.extent[last] - 1 ? c->tail : c->vectors.total;
}

/* Runs rows [begin, end); one call of the code runs as many as remain on the innermost axis of `around`. */
static lz_err *do_rows(worker *w, int64_t begin, int64_t end)
{
    const lz_native_split *c = w->j->cut;
    int last = c->around.n - 1;
    while (begin < end) {
        go_to(w, begin, 0);
        int64_t left = last < 0 ? 1 : c->around.extent[last] - w->at[last];
        int64_t n = end - begin < left ? end - begin : left;
        int64_t whole = c->tail ? left - 1 : left;
        n = whole && n > whole ? whole : n; /* the row with the tail has a call of its own */
        LZ_TRY(call(w, n, length_at(w)));
        begin += n;
    }
    return NULL;
}

static lz_err *run_rows(void *user, int64_t begin, int64_t end, int thread)
{
    worker w;
    start(&w, user, thread);
    return do_rows(&w, begin, end);
}

/* Runs tasks [begin, end): parts of rows, or strips of columns. */
static lz_err *do_pieces(worker *w, int64_t begin, int64_t end)
{
    const job *j = w->j;
    for (; begin < end; begin++) {
        int64_t first = begin % j->pieces * j->piece;
        go_to(w, begin / j->pieces, first);
        int64_t left = length_at(w) - first, n = left < j->piece ? left : j->piece;
        if (n <= 0)
            continue;
        if (j->cut->variant.columns)
            LZ_TRY(call(w, n, j->cut->across.total));
        else
            LZ_TRY(call(w, 1, n));
    }
    return NULL;
}

static lz_err *run_pieces(void *user, int64_t begin, int64_t end, int thread)
{
    worker w;
    start(&w, user, thread);
    return do_pieces(&w, begin, end);
}

static int64_t at_least_one(int64_t v)
{
    return v > 1 ? v : 1;
}

/* The strip that the code wants, or less, so that each thread gets a part of a large run. */
static int64_t columns_at_once(const job *j, int threads)
{
    const lz_native_split *c = j->cut;
    int64_t strip = at_least_one(j->code->needs.strip);
    int64_t share = (c->vectors.total / threads + LINE - 1) / LINE * LINE;
    bool divided = c->around.total < threads && share * at_least_one(c->across.total) >= CHUNK_WORK;
    return divided && share < strip ? share : strip;
}

static lz_err *run_columns(job *j, lz_pool *pool)
{
    const lz_native_split *c = j->cut;
    j->piece = columns_at_once(j, lz_pool_threads(pool));
    j->pieces = (c->vectors.total + j->piece - 1) / j->piece;
    int64_t wide = c->vectors.total < j->piece ? c->vectors.total : j->piece;
    int64_t work = at_least_one(wide) * at_least_one(c->across.total);
    return lz_pool_for(pool, c->around.total * j->pieces, CHUNK_WORK / work, run_pieces, j);
}

/* ---- rows that threads share ---- */

static lz_err *walk_blocks(void *user, int64_t begin, int64_t end, int thread)
{
    const job *j = user;
    worker w;
    start(&w, j, thread);
    go_to(&w, j->first, 0);
    w.frame.n_outer = 1;
    w.frame.n_row = j->cut->vectors.total;
    return outcome(&w, j->code->walk(&w.frame, j->walk, begin, end));
}

static lz_err *share_row(job *j, int64_t blocks, int64_t grain, lz_pool *pool)
{
    for (j->walk = 0; j->walk < j->cut->walks; j->walk++)
        LZ_TRY(lz_pool_for(pool, blocks, grain, walk_blocks, j));
    return walk_blocks(j, 0, 0, 0);
}

static lz_err *run_shared(job *j, lz_pool *pool)
{
    const lz_native_split *c = j->cut;
    int64_t block = lz_reduce_block(true, c->vectors.total);
    int64_t blocks = (c->vectors.total + block - 1) / block;
    j->totals = lz_temporary_take((size_t)(blocks * j->code->needs.totals), LINE);
    if (!j->totals)
        return lz_err_oom();
    lz_err *e = NULL;
    for (j->first = 0; !e && j->first < c->around.total; j->first++)
        e = share_row(j, blocks, CHUNK_WORK / block, pool);
    lz_temporary_give(j->totals);
    return e;
}

/* Few and long rows: whole rows would leave threads idle. */
static bool shares(const job *j, int threads)
{
    return threads > 1 && !j->cut->flat && j->code->walk && j->code->needs.totals > 0
           && j->cut->vectors.total >= SHARE_LEAST && j->cut->around.total < 4 * (int64_t)threads;
}

/* ---- run ---- */

/* The time of an element, over that of one in line. */
static int64_t weight(const lz_native_split *c)
{
    bool scattered = false;
    for (int a = 0; a < c->nest.n_access; a++) {
        const lz_kernel_use *u = &c->nest.use[a];
        bool apart = c->variant.run[a] == LZ_RUN_TABLE || c->variant.run[a] == LZ_RUN_STEP;
        scattered = scattered || (apart && (u->loads || u->stores));
    }
    return scattered ? SCATTERED : 1;
}

static lz_err *run_threads(job *j, lz_pool *pool)
{
    const lz_native_split *c = j->cut;
    int64_t row = at_least_one(c->vectors.total);
    if (shares(j, lz_pool_threads(pool)))
        return run_shared(j, pool);
    int64_t chunk = CHUNK_WORK / weight(c), least = c->elements / CHUNKS_MOST;
    if (!c->flat || row < LONG_ROW)
        return lz_pool_for(pool, c->around.total, (least > chunk ? least : chunk) / row, run_rows, j);
    j->piece = CHUNK_WORK;
    j->pieces = (row + CHUNK_WORK - 1) / CHUNK_WORK;
    return lz_pool_for(pool, c->around.total * j->pieces, 1, run_pieces, j);
}

static lz_err *run(job *j, lz_pool *pool)
{
    const lz_native_split *c = j->cut;
    bool alone = !c->variant.columns && (lz_pool_threads(pool) == 1 || c->elements < LONG_ROW / weight(c));
    int threads = alone ? 1 : lz_pool_threads(pool);
    LZ_TRY(make_tables(j));
    LZ_TRY(make_scratch(j, threads, shares(j, threads)));
    if (c->variant.columns)
        return run_columns(j, pool);
    return alone ? run_rows(j, 0, c->around.total, 0) : run_threads(j, pool);
}

lz_err *lz_native_run(const lz_native_loaded *c, const lz_native_split *cut, lz_pool *pool)
{
    bool alone = cut->flat || cut->variant.columns; /* otherwise an empty row still stores its reductions */
    if (cut->around.total == 0 || (alone && cut->vectors.total == 0))
        return NULL;
    job j;
    start_job(&j, c, cut);
    lz_err *e = run(&j, pool);
    lz_temporary_give(j.extra);
    lz_temporary_give(j.tables);
    return e;
}
