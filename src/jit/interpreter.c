/* The instructions of the tile interpreter. */
#include "jit/launch.h"
#include "jit/reduce.h"
#include <assert.h>
#include <string.h>

/* Elements of a tile that one stride addresses, from element `at` of the tile on. */
typedef struct run {
    char *p;
    char *line; /* address of the line's first element */
    int64_t at, count, stride;
} run;

static run first_run(const lz_worker *w, const lz_instr *i, int64_t n, bool one, int64_t *index)
{
    const lz_launch *l = w->l;
    const lz_launch_access *a = &l->access[i->access];
    if (one)
        return (run){ w->fixed[i->access], NULL, 0, n, 0 };
    run r = { w->here[i->access], w->here[i->access], 0, n, a->step / a->size };
    if (a->linear)
        return r;
    int last = l->lane.n - 1;
    if (l->lines) {
        r.count = l->lane.extent[last];
    } else if (l->across) {
        for (int d = 0; d < last; d++)
            index[d] = w->lane_at[d];
        int64_t left = l->lane.extent[last] - w->lane_at[last];
        r.count = left < n ? left : n;
        r.line = lz_pointer_add(r.p, -w->lane_at[last] * a->step);
    }
    return r;
}

/* Carries the index over the ends of dimensions; returns the address of the next line. */
static char *carry(const lz_worker *w, const lz_instr *i, int64_t *index)
{
    const lz_axes *x = &w->l->lane;
    for (int d = x->n - 2; d >= 0 && index[d] == x->extent[d]; d--) {
        index[d] = 0;
        if (d > 0)
            index[d - 1]++;
    }
    int64_t offset = 0;
    for (int d = 0; d < x->n - 1; d++)
        offset += index[d] * lz_nest_stride(&w->l->nest, i->access, x->dim[d]);
    return lz_pointer_add(w->fixed[i->access], offset * w->l->access[i->access].size);
}

/* False at the end of the tile. `index` (used if tiles cross lines): the lane index at which the run
 * starts. */
static bool next_run(const lz_worker *w, const lz_instr *i, int64_t n, run *r, int64_t *index)
{
    const lz_axes *x = &w->l->lane;
    r->at += r->count;
    if (r->at >= n)
        return false;
    r->line = lz_pointer_add(r->line, w->l->access[i->access].line);
    if (!w->l->lines) {
        if (++index[x->n - 2] == x->extent[x->n - 2])
            r->line = carry(w, i, index);
        r->count = n - r->at < x->extent[x->n - 1] ? n - r->at : x->extent[x->n - 1];
    }
    r->p = r->line;
    return true;
}

static char *tile_at(const lz_worker *w, uint16_t r, int64_t at)
{
    return w->tile[r] + at * w->l->p->registers[r].size;
}

typedef bool step(lz_worker *w, const lz_instr *i, int64_t n, bool one);

static bool do_fn(lz_worker *w, const lz_instr *i, int64_t n, bool one)
{
    (void)one;
    i->fn(w->tile[i->out], w->tile[i->in[0]], w->tile[i->in[1]], w->tile[i->in[2]], w->tile[i->in[3]], n);
    return true;
}

static bool do_divide(lz_worker *w, const lz_instr *i, int64_t n, bool one)
{
    if (w->l->p->tiles->find_zero[i->type](w->tile[i->in[1]], n) < n) {
        w->err = lz_errf(LZ_ERR_ARG, "integer division by zero");
        return false;
    }
    return do_fn(w, i, n, one);
}

static bool do_const(lz_worker *w, const lz_instr *i, int64_t n, bool one)
{
    (void)n;
    (void)one;
    memcpy(w->tile[i->out], &i->bits, lz_kernel_type_size((lz_kernel_type)i->type));
    return true;
}

static bool do_param(lz_worker *w, const lz_instr *i, int64_t n, bool one)
{
    (void)n;
    (void)one;
    lz_kernel_scalar s = w->l->nest.args->params[i->attr];
    void *to = w->tile[i->out];
    if (i->type == LZ_KERNEL_F32)
        *(float *)to = (float)s.f;
    else if (i->type == LZ_KERNEL_I32)
        *(int32_t *)to = (int32_t)s.i;
    else if (i->type == LZ_KERNEL_BOOL)
        *(uint8_t *)to = s.i != 0;
    else
        memcpy(to, &s, sizeof s); /* i64 or f64, which share their place */
    return true;
}

/* Fills n elements of a register by repeating its first `done` elements, for lines that are all equal. */
static void repeat(lz_worker *w, uint16_t r, int64_t done, int64_t n)
{
    size_t size = w->l->p->registers[r].size;
    for (int64_t more; done < n; done += more) {
        more = done < n - done ? done : n - done;
        memcpy(w->tile[r] + (size_t)done * size, w->tile[r], (size_t)more * size);
    }
}

static bool repeats(const lz_worker *w, const lz_instr *i, run r, int64_t n)
{
    return w->l->lines && w->l->access[i->access].line == 0 && r.count < n;
}

static bool do_load(lz_worker *w, const lz_instr *i, int64_t n, bool one)
{
    const lz_launch *l = w->l;
    int64_t index[LZ_KERNEL_DIMS];
    lz_tile_load *load = l->p->tiles->load[l->access[i->access].dtype];
    run r = first_run(w, i, n, one, index);
    if (repeats(w, i, r, n)) {
        load(w->tile[i->out], r.p, r.stride, r.count);
        repeat(w, i->out, r.count, n);
        return true;
    }
    do {
        load(tile_at(w, i->out, r.at), r.p, r.stride, r.count);
    } while (next_run(w, i, n, &r, index));
    return true;
}

/* Number of elements from `at` on with the same mask value. */
static int64_t stretch(const uint8_t *mask, int64_t at, int64_t count)
{
    const uint8_t *end = memchr(mask + at, mask[at] ? 0 : 1, (size_t)(count - at));
    return end ? end - (mask + at) : count - at;
}

/* Loads one run under a mask: contiguous loads where the mask is set, copies of the fill elsewhere. From the
 * first short stretch in the middle of the run on, it loads element by element. */
static void load_run(lz_worker *w, const lz_instr *i, run r)
{
    enum { SHORT = 8 };
    const lz_launch *l = w->l;
    const lz_tile_table *t = l->p->tiles;
    const lz_launch_access *a = &l->access[i->access];
    const uint8_t *mask = (const uint8_t *)tile_at(w, i->in[0], r.at);
    for (int64_t at = 0, n; at < r.count; at += n) {
        char *out = tile_at(w, i->out, r.at + at), *fill = tile_at(w, i->in[1], r.at + at);
        char *p = lz_pointer_add(r.p, at * a->step);
        n = stretch(mask, at, r.count);
        if (n < SHORT && at > 0 && at + n < r.count) {
            n = r.count - at;
            t->load_if[a->dtype](out, p, r.stride, mask + at, fill, n);
        } else if (mask[at]) {
            t->load[a->dtype](out, p, r.stride, n);
        } else {
            memcpy(out, fill, (size_t)n * l->p->registers[i->out].size);
        }
    }
}

static bool do_load_if(lz_worker *w, const lz_instr *i, int64_t n, bool one)
{
    int64_t index[LZ_KERNEL_DIMS];
    run r = first_run(w, i, n, one, index);
    do {
        load_run(w, i, r);
    } while (next_run(w, i, n, &r, index));
    return true;
}

/* If all indices of a run are equal, the gather is an ordinary load. */
static bool do_gather(lz_worker *w, const lz_instr *i, int64_t n, bool one)
{
    int64_t index[LZ_KERNEL_DIMS];
    const lz_launch *l = w->l;
    const lz_launch_access *a = &l->access[i->access];
    bool by_line = l->row_lines && (l->lines < 2 || !a->linear), still = i->still && (l->once || by_line);
    const lz_tile_table *t = l->p->tiles;
    run r = first_run(w, i, n, one, index);
    do {
        const int64_t *at = (const int64_t *)(const void *)tile_at(w, i->in[0], l->once && still ? 0 : r.at);
        char *out = tile_at(w, i->out, r.at);
        if (still || (at[0] == at[r.count - 1] && t->is_uniform(at, r.count)))
            t->load[a->dtype](out, r.p + at[0] * a->size, r.stride, r.count);
        else
            t->gather[a->dtype](out, r.p, r.stride, at, r.count);
    } while (next_run(w, i, n, &r, index));
    return true;
}

static bool do_gather_if(lz_worker *w, const lz_instr *i, int64_t n, bool one)
{
    int64_t index[LZ_KERNEL_DIMS];
    lz_tile_gather_if *gather = w->l->p->tiles->gather_if[w->l->access[i->access].dtype];
    run r = first_run(w, i, n, one, index);
    do {
        const int64_t *at = (const int64_t *)(const void *)tile_at(w, i->in[0], r.at);
        const uint8_t *mask = (const uint8_t *)tile_at(w, i->in[1], r.at);
        gather(tile_at(w, i->out, r.at), r.p, r.stride, at, mask, tile_at(w, i->in[2], r.at), r.count);
    } while (next_run(w, i, n, &r, index));
    return true;
}

static bool do_affine(lz_worker *w, const lz_instr *i, int64_t n, bool one)
{
    int64_t index[LZ_KERNEL_DIMS];
    run r = first_run(w, i, n, one, index);
    do {
        int64_t value = (int64_t)((uintptr_t)r.p - (uintptr_t)w->l->access[i->access].base);
        w->l->p->tiles->affine((int64_t *)(void *)tile_at(w, i->out, r.at), value, r.stride, r.count);
    } while (next_run(w, i, n, &r, index));
    return true;
}

static bool do_check(lz_worker *w, const lz_instr *i, int64_t n, bool one)
{
    (void)one;
    const int64_t *index = (const int64_t *)(const void *)w->tile[i->in[0]];
    const int64_t *size = (const int64_t *)(const void *)w->tile[i->in[1]];
    int64_t *out = (int64_t *)(void *)w->tile[i->out];
    int64_t k = w->l->p->tiles->check(out, index, size, i->attr & 1, n);
    if (k < n)
        w->err = lz_nest_bad_index(&w->l->nest, index[k], i->attr / 2, size[k]);
    return k == n;
}

static bool do_reduce(lz_worker *w, const lz_instr *i, int64_t n, bool one)
{
    (void)one;
    lz_reduce_step(w, i, n);
    return true;
}

/* In rows mode the scan runs along the tile; in columns mode each lane takes one step. */
static bool do_scan(lz_worker *w, const lz_instr *i, int64_t n, bool one)
{
    (void)one;
    lz_reduce_scan(w, &w->l->p->states[w->walk][i->attr], w->tile[i->in[0]], n, w->tile[i->out]);
    return true;
}

static bool do_store(lz_worker *w, const lz_instr *i, int64_t n, bool one)
{
    const lz_launch_access *a = &w->l->access[i->access];
    if (a->direct && !one)
        return true; /* the value was computed in place */
    if (a->stream && !one) {
        w->l->p->tiles->stream(w->here[i->access], w->tile[i->in[0]], n * a->size);
        return true;
    }
    int64_t index[LZ_KERNEL_DIMS];
    lz_tile_store *store = w->l->p->tiles->store[a->dtype];
    run r = first_run(w, i, n, one, index);
    do {
        store(r.p, tile_at(w, i->in[0], r.at), r.stride, r.count);
    } while (next_run(w, i, n, &r, index));
    return true;
}

static step *const steps[LZ_INSTR_KINDS] = {
    [LZ_INSTR_FN] = do_fn,         [LZ_INSTR_DIVIDE] = do_divide,       [LZ_INSTR_CONST] = do_const,
    [LZ_INSTR_PARAM] = do_param,   [LZ_INSTR_LOAD] = do_load,           [LZ_INSTR_LOAD_IF] = do_load_if,
    [LZ_INSTR_GATHER] = do_gather, [LZ_INSTR_GATHER_IF] = do_gather_if, [LZ_INSTR_AFFINE] = do_affine,
    [LZ_INSTR_CHECK] = do_check,   [LZ_INSTR_REDUCE] = do_reduce,       [LZ_INSTR_SCAN] = do_scan,
    [LZ_INSTR_STORE] = do_store,
};

static bool run_block(lz_worker *w, lz_block b, int64_t n)
{
    const lz_instr *i = w->l->p->code + b.begin, *end = w->l->p->code + b.end;
    assert(b.begin <= b.end && b.end <= w->l->p->n_code && n >= 0 && n <= w->l->tile);
    const uint16_t *depend = w->l->keeps ? w->l->depend + b.begin : NULL;
    bool ok = true;
    for (; ok && i < end; i++) {
        if (depend && !(*depend++ & w->moved))
            continue;
        if (i->kind == LZ_INSTR_FN)
            i->fn(w->tile[i->out], w->tile[i->in[0]], w->tile[i->in[1]], w->tile[i->in[2]], w->tile[i->in[3]],
                  n);
        else if (i->kind == LZ_INSTR_LOAD && w->l->access[i->access].direct)
            w->tile[i->out] = w->here[i->access];
        else
            ok = steps[i->kind](w, i, n, false);
    }
    return ok;
}

/* Values that are computed in their output's memory: the register's tile is the output. */
static void redirect_stores(lz_worker *w, const uint8_t range[2])
{
    const lz_inplace_store *a = w->l->inplace;
    for (int k = range[0]; k < range[1]; k++)
        w->tile[a[k].value] = w->here[a[k].access];
}

bool lz_exec_outer(lz_worker *w, int stage, int64_t n)
{
    assert(stage >= 0 && stage <= w->l->p->walks);
    redirect_stores(w, w->l->inplace_of[0][stage]);
    return run_block(w, w->l->p->outer[stage], n);
}

bool lz_exec_element(lz_worker *w, int walk, int64_t n)
{
    assert(walk >= 0 && walk < w->l->p->walks);
    redirect_stores(w, w->l->inplace_of[1][walk]);
    return run_block(w, w->l->p->element[walk], n);
}

bool lz_exec_one(lz_worker *w, lz_block b)
{
    bool ok = true;
    for (uint16_t k = b.begin; ok && k < b.end; k++) {
        const lz_instr *i = &w->l->p->code[k];
        ok = steps[i->kind](w, i, 1, true);
    }
    return ok;
}

void lz_exec_splat(lz_worker *w, const uint16_t *registers, int64_t n)
{
    const lz_program *p = w->l->p;
    for (; *registers; registers++) {
        assert(*registers < p->n_registers);
        char *t = w->tile[*registers];
        p->tiles->splat[p->registers[*registers].type](t, t, NULL, NULL, NULL, n);
    }
}
