/* emit_run.h - a kernel run through compiled code, frames made the plain way: the offset
 * of every index is written down, and the offsets say how an access runs. `dice` turns
 * some runs into more general ones, which must not be seen. */
#ifndef LZ_TEST_EMIT_RUN_H
#define LZ_TEST_EMIT_RUN_H

#include "base/mem.h"
#include "check.h"
#include "jit/emitter.h"
#include "jit/launch.h"
#include "jit/reduce.h"
#include "nan_at.h"
#include <stdlib.h>

enum { ER_SHIFT = 4 }; /* of LZ_PIECE */

typedef struct emit_run {
    const lz_kernel *k;
    const lz_kernel_args *args;
    uint64_t dice;
    int force; /* 1 + the lz_run of all accesses that may have it; 0: none */
    lz_native_variant v;
    int64_t n_vec, n_other;
    int64_t *vec[LZ_KERNEL_ACCESSES], *other[LZ_KERNEL_ACCESSES]; /* bytes */
    lz_native_piece *pieces[LZ_KERNEL_ACCESSES];
    lz_native_access access[LZ_KERNEL_ACCESSES];
    bool across; /* one step leads along the other dimension, for all */
} emit_run;

static bool er_loops(const lz_kernel_ir *ir)
{
    bool does = false;
    for (size_t i = 0; i < ir->nodes.len; i++)
        does = does || ir->nodes.data[i].op == LZ_KERNEL_NODE_REDUCE
               || ir->nodes.data[i].op == LZ_KERNEL_NODE_SCAN;
    return does;
}

static bool er_used(const lz_kernel_use *u)
{
    return u->loads || u->stores || u->affine;
}

static int64_t er_size(const lz_kernel_use *u)
{
    return u->affine ? 1 : (int64_t)lz_dtype_bytes(u->dtype);
}

static int64_t er_product(const emit_run *r, int begin, int end)
{
    int64_t n = 1;
    for (int d = begin; d < end; d++)
        n *= r->args->extents[d];
    return n;
}

/* The offset of index `flat` of dimensions begin..end-1. */
static int64_t er_offset(const emit_run *r, int a, int begin, int end, int64_t flat)
{
    const lz_kernel_ir *ir = &r->k->ir;
    int64_t at = 0;
    for (int d = end - 1; d >= begin; d--) {
        bool still = d >= ir->n_outer && ir->access.data[a].vary == LZ_KERNEL_OUTER;
        at += still ? 0 : flat % r->args->extents[d] * r->args->access[a].strides[d];
        flat /= r->args->extents[d];
    }
    return at * er_size(&ir->access.data[a]);
}

static int64_t *er_offsets(const emit_run *r, int a, int begin, int end, int64_t n)
{
    int64_t *t = malloc((size_t)(n + 1) * sizeof *t);
    assert_non_null(t);
    for (int64_t i = 0; i < n; i++)
        t[i] = er_offset(r, a, begin, end, i);
    return t;
}

static bool er_linear(const int64_t *t, int64_t n, int64_t *step)
{
    bool is = true;
    *step = n > 1 ? t[1] - t[0] : 0;
    for (int64_t i = 1; is && i < n; i++)
        is = t[i] - t[i - 1] == *step;
    return is;
}

/* A piece that goes on in the next entry. */
static void er_go_on(lz_native_piece *all, int64_t n, int64_t size)
{
    for (int64_t k = (n - 1) / LZ_PIECE; k-- > 0;) {
        if (all[k].count == LZ_PIECE && all[k].first + LZ_PIECE * size == all[k + 1].first)
            all[k].count += all[k + 1].count;
    }
}

/* The pieces that lead to the same places; NULL: there are none that do. */
static lz_native_piece *er_pieces(const int64_t *t, int64_t n, int64_t size)
{
    lz_native_piece *all = calloc((size_t)(n / LZ_PIECE + 1), sizeof *all);
    bool fits = true;
    assert_non_null(all);
    for (int64_t i = 0; i < n; i++) {
        lz_native_piece *p = &all[i / LZ_PIECE];
        int64_t at = i % LZ_PIECE, place = t[i] - at * size;
        if (at == 0)
            p->first = place;
        if (p->count == at && place == p->first) {
            p->count++;
            continue;
        }
        if (p->count == at)
            p->then = place;
        fits = fits && place == p->then;
    }
    er_go_on(all, n, size);
    if (!fits) {
        free(all);
        all = NULL;
    }
    return all;
}

static bool er_roll(emit_run *r, uint64_t below)
{
    r->dice = r->dice * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (r->dice >> 33) % below == 0;
}

static void er_class(emit_run *r, int a)
{
    const lz_kernel_use *u = &r->k->ir.access.data[a];
    int64_t step;
    bool linear = er_linear(r->vec[a], r->n_vec, &step);
    bool still = !r->v.columns && u->vary == LZ_KERNEL_OUTER;
    lz_run run = !linear                             ? LZ_RUN_TABLE
                 : step == er_size(u)                ? LZ_RUN_NEXT
                 : step == 0                         ? LZ_RUN_SAME
                 : step == -er_size(u) && !u->affine ? LZ_RUN_BACK
                                                     : LZ_RUN_STEP;
    if (!still && r->n_vec <= 1)
        run = LZ_RUN_NEXT;
    if (!still && linear && r->dice && er_roll(r, 4))
        run = LZ_RUN_STEP;
    if (!still && r->dice && er_roll(r, 4))
        run = LZ_RUN_TABLE;
    if (run == LZ_RUN_TABLE && !u->affine)
        r->pieces[a] = er_pieces(r->vec[a], r->n_vec, er_size(u));
    if (r->pieces[a] && !(r->dice && er_roll(r, 3)))
        run = LZ_RUN_PIECES;
    if (!still && r->force)
        run = (lz_run)(r->force - 1);
    r->v.run[a] = (uint8_t)run;
    const lz_kernel_access *from = &r->args->access[a];
    /* NOLINTNEXTLINE(performance-no-int-to-ptr): an index where others have their address */
    char *base = u->affine ? (char *)(uintptr_t)from->offset : (char *)from->base + from->offset * er_size(u);
    r->access[a] =
        (lz_native_access){ .base = base, .step = step, .table = r->vec[a], .pieces = r->pieces[a] };
}

static void er_init(emit_run *r, const lz_kernel *k, const lz_kernel_args *args, uint64_t dice, int force)
{
    const lz_kernel_ir *ir = &k->ir;
    int all = ir->n_outer + ir->n_row, mid = ir->n_outer;
    *r = (emit_run){ .k = k, .args = args, .dice = dice, .force = force };
    r->v.columns = er_loops(ir) && ir->mode == LZ_KERNEL_COLUMNS;
    r->n_vec = r->v.columns ? er_product(r, 0, mid) : er_product(r, mid, all);
    r->n_other = r->v.columns ? er_product(r, mid, all) : er_product(r, 0, mid);
    r->across = true;
    for (int a = 0; a < (int)ir->access.len; a++) {
        if (!er_used(&ir->access.data[a]))
            continue;
        r->vec[a] = er_offsets(r, a, r->v.columns ? 0 : mid, r->v.columns ? mid : all, r->n_vec);
        r->other[a] = er_offsets(r, a, r->v.columns ? mid : 0, r->v.columns ? all : mid, r->n_other);
        er_class(r, a);
        r->across = er_linear(r->other[a], r->n_other, &r->access[a].across) && r->across;
        r->access[a].across_table = r->other[a];
    }
    r->across = r->across && !(dice && er_roll(r, 4));
    r->v.across_table = r->v.columns && !r->across;
}

static void er_free(emit_run *r)
{
    for (int a = 0; a < LZ_KERNEL_ACCESSES; a++) {
        free(r->vec[a]);
        free(r->pieces[a]);
        free(r->other[a]);
    }
}

static lz_err *er_error(int code, const lz_native_frame *f)
{
    if (code == LZ_CODE_DIVIDED)
        return lz_errf(LZ_ERR_ARG, "integer division by zero");
    return lz_errf(LZ_ERR_ARG, "index %lld is out of bounds for dimension %lld with size %lld",
                   (long long)f->index, (long long)f->dim, (long long)f->size);
}

static char *er_move(char *p, int64_t bytes)
{
    /* NOLINTNEXTLINE(performance-no-int-to-ptr): also of indices */
    return (char *)((uintptr_t)p + (uintptr_t)bytes);
}

static lz_err *er_rows(const emit_run *r, const lz_native_loaded *c, lz_native_frame f)
{
    lz_native_access at[LZ_KERNEL_ACCESSES];
    int code = LZ_CODE_FINE;
    f.n_row = r->n_vec;
    f.n_outer = r->across ? r->n_other : 1;
    f.access = at;
    for (int64_t o = 0; !code && o < (r->across && r->n_other ? 1 : r->n_other); o++) {
        for (size_t a = 0; a < r->k->ir.access.len; a++) {
            at[a] = r->access[a];
            at[a].base = r->other[a] && r->n_other ? er_move(at[a].base, r->other[a][o]) : at[a].base;
        }
        code = c->run(&f);
    }
    return code ? er_error(code, &f) : NULL;
}

static lz_err *er_columns(const emit_run *r, const lz_native_loaded *c, lz_native_frame f)
{
    lz_native_access at[LZ_KERNEL_ACCESSES];
    int code = LZ_CODE_FINE;
    f.n_row = r->n_other;
    f.access = at;
    for (int64_t first = 0; !code && first < r->n_vec; first += f.n_outer) {
        f.n_outer = r->n_vec - first < c->needs.strip ? r->n_vec - first : c->needs.strip;
        for (size_t a = 0; a < r->k->ir.access.len; a++) {
            at[a] = r->access[a];
            if (r->v.run[a] == LZ_RUN_TABLE)
                at[a].table += first;
            else if (r->v.run[a] == LZ_RUN_PIECES)
                at[a].pieces += first / LZ_PIECE;
            else
                at[a].base = er_move(at[a].base, at[a].step * first);
        }
        code = c->run(&f);
    }
    return code ? er_error(code, &f) : NULL;
}

static lz_err *er_call(const emit_run *r, const lz_native_loaded *c)
{
    bool nothing = (r->v.columns ? r->n_vec : r->n_other) == 0;
    size_t bytes = (size_t)(c->needs.scratch + c->needs.scratch_row * (r->v.columns ? r->n_other : r->n_vec));
    char *scratch = aligned_alloc(64, (bytes + 127) / 64 * 64);
    assert_non_null(scratch);
    memset(scratch, 0xa5, bytes);
    lz_native_frame f = {
        .params = r->args->params, .tiles = lz_tile(), .scratch = scratch, .piece_shift = ER_SHIFT
    };
    lz_err *e = nothing ? NULL : r->v.columns ? er_columns(r, c, f) : er_rows(r, c, f);
    free(scratch);
    return e;
}

/* The only row, one block after the other from the last to the first, each as another thread. */
__attribute__((unused)) static lz_err *er_share(const emit_run *r, const lz_native_loaded *c)
{
    int64_t block = lz_reduce_block(true, r->n_vec), blocks = (r->n_vec + block - 1) / block;
    char *scratch = aligned_alloc(64, (size_t)(c->needs.scratch + 127) / 64 * 64);
    char *totals = malloc((size_t)(blocks * c->needs.totals) + 1);
    lz_native_frame f = { .n_outer = 1,
                          .n_row = r->n_vec,
                          .access = r->access,
                          .params = r->args->params,
                          .tiles = lz_tile(),
                          .scratch = scratch,
                          .totals = totals,
                          .piece_shift = ER_SHIFT };
    int code = LZ_CODE_FINE, walks = r->k->program->walks;
    assert_true(scratch && totals);
    for (int w = 0; !code && w <= walks; w++) {
        for (int64_t i = w < walks ? blocks : 1; !code && i-- > 0;) {
            memset(scratch, 0x5a, (size_t)c->needs.scratch);
            code = c->walk(&f, w, i, i + 1);
        }
    }
    free(scratch);
    free(totals);
    return code ? er_error(code, &f) : NULL;
}

static lz_err *er_compile(const emit_run *r, const lz_target *t, lz_native_loaded *out)
{
    lz_text object = { 0 };
    lz_err *e = lz_emit_kernel(r->k, &r->v, t, &object);
    e = e ? e : lz_native_load(object.ptr, object.len, out);
    lz_text_deinit(&object);
    return e;
}

/* Does the emitter say that this kernel is not for it? */
__attribute__((unused)) static bool er_refused(const lz_err *e)
{
    return e && (lz_err_code(e) == LZ_ERR_UNSUPPORTED || lz_err_code(e) == LZ_ERR_LIMIT);
}

/* The byte of the first element that differs, or -1. Memory ends 8 bytes behind. */
static int64_t er_difference(int dtype, const char *got, const char *want, size_t bytes)
{
    size_t size = lz_dtype_bytes(dtype);
    for (size_t i = 0; i + size <= bytes; i += size) {
        if (memcmp(got + i, want + i, size) != 0 && !(nan_at(dtype, got + i) && nan_at(dtype, want + i)))
            return (int64_t)i;
    }
    return -1;
}

#endif
