#include "jit/launch.h"
#include "jit/reduce.h"
#include <string.h>

size_t lz_dtype_bytes(int dtype)
{
    static const uint8_t sizes[LZ_DTYPE_SLOTS] = {
        [LZ_BOOL] = 1, [LZ_U8] = 1,  [LZ_I8] = 1,   [LZ_I16] = 2, [LZ_I32] = 4,
        [LZ_I64] = 8,  [LZ_F16] = 2, [LZ_BF16] = 2, [LZ_F32] = 4, [LZ_F64] = 8
    };
    return sizes[dtype];
}

/* A stretch of a tile that one stride leads through: from element `at` of the tile on. */
typedef struct run {
    int64_t at, count, offset, stride;
} run;

static int64_t lane_stride(const lz_launch *l, int access, int axis)
{
    return l->lane.n ? lz_launch_stride(l, access, l->lane.dim[axis]) : 0;
}

static int64_t start_of(const lz_worker *w, int access)
{
    const lz_launch *l = w->l;
    int64_t offset = w->offset[access];
    for (int d = 0; d < l->lane.n; d++)
        offset += w->lane_at[d] * lane_stride(l, access, d);
    return offset;
}

/* The first stretch, and the next; false at the end. `index` is the walker's place. */
static run first_run(const lz_worker *w, const lz_instr *i, int64_t n, bool one, int64_t *index)
{
    const lz_launch *l = w->l;
    int access = i->access;
    if (one)
        return (run){ 0, n, w->offset[access], 0 };
    int last = l->lane.n ? l->lane.n - 1 : 0;
    run r = { 0, n, start_of(w, access), lane_stride(l, access, last) };
    if (!l->across || l->linear[access])
        return r;
    memcpy(index, w->lane_at, (size_t)l->lane.n * sizeof *index);
    int64_t left = l->lane.extent[last] - index[last];
    r.count = left < n ? left : n;
    return r;
}

static bool next_run(const lz_worker *w, const lz_instr *i, int64_t n, run *r, int64_t *index)
{
    const lz_axes *a = &w->l->lane;
    r->at += r->count;
    if (r->at >= n)
        return false;
    index[a->n - 1] = 0;
    r->offset = w->offset[i->access];
    for (int d = a->n - 2; d >= 0; d--) {
        if (++index[d] < a->extent[d])
            break;
        index[d] = 0;
    }
    for (int d = 0; d < a->n - 1; d++)
        r->offset += index[d] * lane_stride(w->l, i->access, d);
    r->count = n - r->at < a->extent[a->n - 1] ? n - r->at : a->extent[a->n - 1];
    return true;
}

static char *address(const lz_worker *w, int access, int64_t offset)
{
    char *base = w->l->args->access[access].base;
    return base + offset * (int64_t)lz_dtype_bytes(w->l->p->access[access].dtype);
}

static char *tile_at(const lz_worker *w, uint16_t r, int64_t at)
{
    return w->tile[r] + at * w->l->p->registers[r].size;
}

typedef bool step(lz_worker *w, const lz_instr *i, int64_t n, bool one);

static bool do_fn(lz_worker *w, const lz_instr *i, int64_t n, bool one)
{
    (void)one;
    i->fn(w->tile[i->out], w->tile[i->in[0]], w->tile[i->in[1]], w->tile[i->in[2]], n);
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
    memcpy(w->tile[i->out], &i->bits, lz_ktype_size((lz_ktype)i->type));
    return true;
}

static bool do_param(lz_worker *w, const lz_instr *i, int64_t n, bool one)
{
    (void)n;
    (void)one;
    lz_kscalar s = w->l->args->params[i->attr];
    uint8_t truth = s.i != 0;
    int32_t narrow = (int32_t)s.i;
    float f = (float)s.f;
    const void *value[LZ_KTYPES] = { &truth, &narrow, &s.i, &f, &s.f };
    memcpy(w->tile[i->out], value[i->type], lz_ktype_size((lz_ktype)i->type));
    return true;
}

static bool do_load(lz_worker *w, const lz_instr *i, int64_t n, bool one)
{
    const lz_launch *l = w->l;
    if (l->direct[i->access] && !one) {
        w->tile[i->out] = address(w, i->access, start_of(w, i->access));
        return true;
    }
    int64_t index[LZ_KERNEL_DIMS];
    lz_tile_load *load = l->p->tiles->load[l->p->access[i->access].dtype];
    run r = first_run(w, i, n, one, index);
    do {
        load(tile_at(w, i->out, r.at), address(w, i->access, r.offset), r.stride, r.count);
    } while (next_run(w, i, n, &r, index));
    return true;
}

static bool do_load_if(lz_worker *w, const lz_instr *i, int64_t n, bool one)
{
    int64_t index[LZ_KERNEL_DIMS];
    lz_tile_load_if *load = w->l->p->tiles->load_if[w->l->p->access[i->access].dtype];
    run r = first_run(w, i, n, one, index);
    do {
        const uint8_t *mask = (const uint8_t *)tile_at(w, i->in[0], r.at);
        load(tile_at(w, i->out, r.at), address(w, i->access, r.offset), r.stride, mask,
             tile_at(w, i->in[1], r.at), r.count);
    } while (next_run(w, i, n, &r, index));
    return true;
}

static bool do_gather(lz_worker *w, const lz_instr *i, int64_t n, bool one)
{
    int64_t index[LZ_KERNEL_DIMS];
    lz_tile_gather *gather = w->l->p->tiles->gather[w->l->p->access[i->access].dtype];
    run r = first_run(w, i, n, one, index);
    do {
        const int64_t *at = (const int64_t *)(const void *)tile_at(w, i->in[0], r.at);
        gather(tile_at(w, i->out, r.at), address(w, i->access, r.offset), r.stride, at, r.count);
    } while (next_run(w, i, n, &r, index));
    return true;
}

static bool do_gather_if(lz_worker *w, const lz_instr *i, int64_t n, bool one)
{
    int64_t index[LZ_KERNEL_DIMS];
    lz_tile_gather_if *gather = w->l->p->tiles->gather_if[w->l->p->access[i->access].dtype];
    run r = first_run(w, i, n, one, index);
    do {
        const int64_t *at = (const int64_t *)(const void *)tile_at(w, i->in[0], r.at);
        const uint8_t *mask = (const uint8_t *)tile_at(w, i->in[1], r.at);
        gather(tile_at(w, i->out, r.at), address(w, i->access, r.offset), r.stride, at, mask,
               tile_at(w, i->in[2], r.at), r.count);
    } while (next_run(w, i, n, &r, index));
    return true;
}

static bool do_affine(lz_worker *w, const lz_instr *i, int64_t n, bool one)
{
    int64_t index[LZ_KERNEL_DIMS];
    run r = first_run(w, i, n, one, index);
    do {
        w->l->p->tiles->affine((int64_t *)(void *)tile_at(w, i->out, r.at), r.offset, r.stride, r.count);
    } while (next_run(w, i, n, &r, index));
    return true;
}

static bool do_check(lz_worker *w, const lz_instr *i, int64_t n, bool one)
{
    (void)one;
    const int64_t *index = (const int64_t *)(const void *)w->tile[i->in[0]];
    const int64_t *size = (const int64_t *)(const void *)w->tile[i->in[1]];
    int64_t *out = (int64_t *)(void *)w->tile[i->out];
    bool wrap = i->attr & 1;
    for (int64_t k = 0; k < n; k++) {
        int64_t at = wrap && index[k] < 0 ? index[k] + size[k] : index[k];
        if (at < 0 || at >= size[k]) {
            w->err = lz_errf(LZ_ERR_ARG, "index %lld is out of bounds for dimension %d with size %lld",
                             (long long)index[k], i->attr / 2, (long long)size[k]);
            return false;
        }
        out[k] = at;
    }
    return true;
}

static bool do_reduce(lz_worker *w, const lz_instr *i, int64_t n, bool one)
{
    (void)one;
    lz_reduce_step(w, &w->l->p->states[w->walk][i->attr], w->tile[i->in[0]], n);
    return true;
}

/* Rows go along the tile; columns take one step each. */
static bool do_scan(lz_worker *w, const lz_instr *i, int64_t n, bool one)
{
    (void)one;
    lz_reduce_scan(w, &w->l->p->states[w->walk][i->attr], w->tile[i->in[0]], n, w->tile[i->out]);
    return true;
}

static bool do_store(lz_worker *w, const lz_instr *i, int64_t n, bool one)
{
    const lz_launch *l = w->l;
    if (l->direct[i->access] && !one)
        return true; /* it was made there */
    int64_t index[LZ_KERNEL_DIMS];
    lz_tile_store *store = l->p->tiles->store[l->p->access[i->access].dtype];
    run r = first_run(w, i, n, one, index);
    do {
        store(address(w, i->access, r.offset), tile_at(w, i->in[0], r.at), r.stride, r.count);
    } while (next_run(w, i, n, &r, index));
    return true;
}

static step *const steps[LZ_I_KINDS] = {
    [LZ_I_FN] = do_fn,         [LZ_I_DIVIDE] = do_divide,       [LZ_I_CONST] = do_const,
    [LZ_I_PARAM] = do_param,   [LZ_I_LOAD] = do_load,           [LZ_I_LOAD_IF] = do_load_if,
    [LZ_I_GATHER] = do_gather, [LZ_I_GATHER_IF] = do_gather_if, [LZ_I_AFFINE] = do_affine,
    [LZ_I_CHECK] = do_check,   [LZ_I_REDUCE] = do_reduce,       [LZ_I_SCAN] = do_scan,
    [LZ_I_STORE] = do_store,
};

/* Values that are stored where they are made: their tile is the output. */
static void aim_stores(lz_worker *w, lz_block b)
{
    const lz_program *p = w->l->p;
    for (uint16_t k = b.end; k > b.begin && p->code[k - 1].kind == LZ_I_STORE; k--) {
        const lz_instr *i = &p->code[k - 1];
        if (w->l->direct[i->access])
            w->tile[i->in[0]] = address(w, i->access, start_of(w, i->access));
    }
}

bool lz_exec(lz_worker *w, lz_block b, int64_t n, bool one)
{
    const lz_instr *code = w->l->p->code;
    if (!one)
        aim_stores(w, b);
    bool ok = true;
    for (uint16_t k = b.begin; ok && k < b.end; k++) {
        const lz_instr *i = &code[k];
        if (i->kind == LZ_I_FN)
            i->fn(w->tile[i->out], w->tile[i->in[0]], w->tile[i->in[1]], w->tile[i->in[2]], n);
        else
            ok = steps[i->kind](w, i, n, one);
    }
    return ok;
}

void lz_exec_splat(lz_worker *w, const uint16_t *registers, int64_t n)
{
    const lz_program *p = w->l->p;
    for (; *registers; registers++) {
        char *t = w->tile[*registers];
        p->tiles->splat[p->registers[*registers].type](t, t, NULL, NULL, n);
    }
}
