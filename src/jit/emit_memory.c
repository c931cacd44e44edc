/* Accesses: addresses, loads and stores of every kind, in the shape the emitter is in. */
#include "jit/emit.h"
#include "jit/launch.h"
#include <stddef.h>

static int dtype_of(const lz_em *e, int access)
{
    return e->ir->access.data[access].dtype;
}

static int64_t size_of(const lz_em *e, int access)
{
    return (int64_t)lz_dtype_bytes(dtype_of(e, access));
}

static lz_run run_of(const lz_em *e, int access)
{
    return (lz_run)e->v->run[access];
}

/* i64 in shape: the index of each lane. */
static lz_lvalue *indices(lz_em *e)
{
    return e->l->BuildAdd(e->b, lz_em_splat(e, e->at), lz_em_iota(e, e->i64), "");
}

/* A loop's last vector may reach over the end of a table: those lanes are not read. */
static lz_lvalue *table_entries(lz_em *e, int access)
{
    lz_lvalue *p = e->l->BuildGEP2(e->b, e->i64, e->access[access].table, &e->at, 1, "");
    lz_ltype *t = lz_em_shape(e, e->i64);
    if (!e->mask || e->lanes == 1)
        return lz_em_load(e, t, p, 8);
    lz_ltype *types[] = { t, e->ptr };
    lz_lvalue *args[] = { p, lz_em_i32(e, 8), e->mask, e->l->ConstNull(t) };
    return lz_em_call(e, "llvm.masked.load", 2, types, 4, args);
}

static lz_lvalue *by_step(lz_em *e, int access)
{
    bool next = run_of(e, access) == LZ_RUN_NEXT && !e->ir->access.data[access].affine;
    lz_lvalue *step = next ? lz_em_i64(e, size_of(e, access)) : e->access[access].step;
    return e->l->BuildMul(e->b, indices(e), lz_em_splat(e, step), "");
}

/* The entry of an access's `pieces` for index `at`, and which of its elements that is. A vector does not
 * reach into the next one. */
typedef struct piece {
    lz_lvalue *first, *then, *count, *element;
} piece;

static piece piece_at(lz_em *e, int access, lz_lvalue *at)
{
    lz_lvalue *k = e->l->BuildLShr(e->b, at, e->piece_shift, "");
    lz_lvalue *before = e->l->BuildShl(e->b, k, e->piece_shift, "");
    lz_lvalue *bytes = e->l->BuildMul(e->b, k, lz_em_i64(e, sizeof(lz_cpiece)), "");
    lz_lvalue *p = lz_em_move(e, e->access[access].pieces, bytes);
    return (piece){ .first = lz_em_field(e, p, e->i64, offsetof(lz_cpiece, first)),
                    .then = lz_em_field(e, p, e->i64, offsetof(lz_cpiece, then)),
                    .count = lz_em_field(e, p, e->i64, offsetof(lz_cpiece, count)),
                    .element = e->l->BuildSub(e->b, at, before, "") };
}

static lz_lvalue *by_piece(lz_em *e, int access)
{
    piece p = piece_at(e, access, e->at);
    lz_lvalue *i = e->l->BuildAdd(e->b, lz_em_splat(e, p.element), lz_em_iota(e, e->i64), "");
    lz_lvalue *before = e->l->BuildICmp(e->b, LZ_L_SLT, i, lz_em_splat(e, p.count), "");
    lz_lvalue *from = e->l->BuildSelect(e->b, before, lz_em_splat(e, p.first), lz_em_splat(e, p.then), "");
    lz_lvalue *bytes = e->l->BuildMul(e->b, i, lz_em_int(e, e->i64, size_of(e, access)), "");
    return e->l->BuildAdd(e->b, from, bytes, "");
}

/* In bytes (elements for lz_kb_affine) from `here`, each lane its own; NULL: none. */
static lz_lvalue *distances(lz_em *e, int access)
{
    if (run_of(e, access) == LZ_RUN_SAME || !e->at)
        return NULL;
    if (run_of(e, access) == LZ_RUN_PIECES)
        return by_piece(e, access);
    return run_of(e, access) == LZ_RUN_TABLE ? table_entries(e, access) : by_step(e, access);
}

lz_lvalue *lz_em_affine(lz_em *e, int access)
{
    lz_lvalue *first = lz_em_splat(e, e->access[access].here), *d = distances(e, access);
    return d ? e->l->BuildAdd(e->b, first, d, "") : first;
}

/* A pointer for each lane. */
static lz_lvalue *addresses(lz_em *e, int access, lz_lvalue *d)
{
    return d ? e->l->BuildGEP2(e->b, e->i8, e->access[access].here, &d, 1, "")
             : lz_em_splat(e, e->access[access].here);
}

/* ---- loads ---- */

/* Of one element. Where it is not to be read, what lies in the spill area is. */
static lz_lvalue *read_one(lz_em *e, int access, lz_lvalue *p, lz_lvalue *mask)
{
    p = mask ? e->l->BuildSelect(e->b, mask, p, e->spill, "") : p;
    return lz_em_load(e, lz_em_memory(e, dtype_of(e, access)), p, (unsigned)size_of(e, access));
}

static lz_lvalue *read_next(lz_em *e, int access, lz_lvalue *p, lz_lvalue *mask)
{
    lz_ltype *t = lz_em_shape(e, lz_em_memory(e, dtype_of(e, access)));
    if (!mask)
        return lz_em_load(e, t, p, (unsigned)size_of(e, access));
    lz_ltype *types[] = { t, e->ptr };
    lz_lvalue *args[] = { p, lz_em_i32(e, size_of(e, access)), mask, e->l->ConstNull(t) };
    return lz_em_call(e, "llvm.masked.load", 2, types, 4, args);
}

static lz_lvalue *read_scattered(lz_em *e, int access, lz_lvalue *ps, lz_lvalue *mask)
{
    lz_ltype *t = lz_em_shape(e, lz_em_memory(e, dtype_of(e, access)));
    lz_ltype *types[] = { t, lz_em_shape(e, e->ptr) };
    mask = mask ? mask : e->l->ConstAllOnes(lz_em_shape(e, e->i1));
    lz_lvalue *args[] = { ps, lz_em_i32(e, size_of(e, access)), mask, e->l->ConstNull(t) };
    return lz_em_call(e, "llvm.masked.gather", 2, types, 4, args);
}

/* The lanes of x in the opposite order. */
static lz_lvalue *reversed(lz_em *e, lz_lvalue *x)
{
    lz_lvalue *which[LZ_EM_LANES];
    for (int i = 0; i < e->lanes; i++)
        which[i] = lz_em_i32(e, e->lanes - 1 - i);
    return e->l->BuildShuffleVector(e->b, x, x, e->l->ConstVector(which, (unsigned)e->lanes), "");
}

/* Where the last lane lies of an access that runs backwards. */
static lz_lvalue *back_address(lz_em *e, int access)
{
    lz_ltype *t = lz_em_memory(e, dtype_of(e, access));
    lz_lvalue *last = e->l->BuildSub(e->b, lz_em_i64(e, 1 - e->lanes), e->at, "");
    return e->l->BuildGEP2(e->b, t, e->access[access].here, &last, 1, "");
}

static lz_lvalue *next_address(lz_em *e, int access)
{
    lz_ltype *t = lz_em_memory(e, dtype_of(e, access));
    return e->l->BuildGEP2(e->b, t, e->access[access].here, &e->at, 1, "");
}

/* i1: do all lanes count, and lie side by side? */
static lz_lvalue *in_line(lz_em *e, int access, lz_lvalue *d, lz_lvalue **first)
{
    *first = e->l->BuildExtractElement(e->b, d, lz_em_i32(e, 0), "");
    lz_lvalue *steps =
        e->l->BuildMul(e->b, lz_em_iota(e, e->i64), lz_em_int(e, e->i64, size_of(e, access)), "");
    lz_lvalue *line = e->l->BuildAdd(e->b, lz_em_splat(e, *first), steps, "");
    return lz_em_all(e, lz_em_active(e, e->l->BuildICmp(e->b, LZ_L_EQ, d, line, "")));
}

static lz_lvalue *read_table(lz_em *e, int access, lz_lvalue *mask)
{
    lz_lvalue *d = distances(e, access), *first, *line = in_line(e, access, d, &first);
    lz_lblock *near = lz_em_block(e, "near"), *far = lz_em_block(e, "far"), *met = lz_em_block(e, "met");
    lz_em_branch(e, line, near, far);
    lz_em_at(e, near);
    lz_lvalue *x =
        read_next(e, access, lz_em_move(e, e->access[access].here, first), mask == e->mask ? NULL : mask);
    lz_em_go(e, met);
    lz_em_at(e, far);
    lz_lvalue *y = read_scattered(e, access, addresses(e, access, d), mask);
    lz_em_go(e, met);
    lz_em_at(e, met);
    return lz_em_phi(e, x, near, y, far);
}

/* i1: do all lanes lie before the end of their piece, side by side from *first on? */
static lz_lvalue *in_piece(lz_em *e, int access, lz_lvalue **first)
{
    piece p = piece_at(e, access, e->at);
    lz_lvalue *bytes = e->l->BuildMul(e->b, p.element, lz_em_i64(e, size_of(e, access)), "");
    lz_lvalue *end = e->l->BuildAdd(e->b, p.element, lz_em_i64(e, e->lanes), "");
    *first = lz_em_move(e, lz_em_move(e, e->access[access].here, p.first), bytes);
    return e->l->BuildICmp(e->b, LZ_L_SGE, p.count, end, "");
}

static lz_lvalue *read_pieces(lz_em *e, int access, lz_lvalue *mask)
{
    lz_lvalue *first, *line = in_piece(e, access, &first);
    lz_lblock *near = lz_em_block(e, "near"), *far = lz_em_block(e, "far"), *met = lz_em_block(e, "met");
    lz_em_branch(e, line, near, far);
    lz_em_at(e, near);
    lz_lvalue *x = read_next(e, access, first, mask);
    lz_em_go(e, met);
    lz_em_at(e, far);
    lz_lvalue *y = read_scattered(e, access, addresses(e, access, distances(e, access)), mask);
    lz_em_go(e, met);
    lz_em_at(e, met);
    return lz_em_phi(e, x, near, y, far);
}

/* In memory's type. `mask` has e->mask in it. */
static lz_lvalue *read_plain(lz_em *e, int access, lz_lvalue *mask)
{
    lz_run run = run_of(e, access);
    if (run == LZ_RUN_NEXT && e->at)
        return read_next(e, access, next_address(e, access), mask);
    if (run == LZ_RUN_BACK && e->at)
        return reversed(e, read_next(e, access, back_address(e, access), mask ? reversed(e, mask) : NULL));
    if (run == LZ_RUN_TABLE && e->at)
        return read_table(e, access, mask);
    if (run == LZ_RUN_PIECES && e->at)
        return read_pieces(e, access, mask);
    return read_scattered(e, access, addresses(e, access, distances(e, access)), mask);
}

static lz_lvalue *read_indexed(lz_em *e, int access, lz_lvalue *index, lz_lvalue *mask)
{
    lz_lvalue *d = distances(e, access);
    lz_lvalue *far = e->l->BuildMul(e->b, index, lz_em_int(e, e->i64, size_of(e, access)), "");
    d = d ? e->l->BuildAdd(e->b, far, d, "") : far;
    lz_lvalue *ps = addresses(e, access, d);
    return e->lanes == 1 ? read_one(e, access, ps, mask) : read_scattered(e, access, ps, mask);
}

/* One load for all lanes. What the kernel reads for each element is not there in a row of none. */
static lz_lvalue *read_same(lz_em *e, int access)
{
    int lanes = e->lanes;
    bool sure = e->at || e->ir->access.data[access].vary == LZ_K_OUTER;
    e->lanes = 1;
    lz_lvalue *there = sure ? NULL : e->l->BuildICmp(e->b, LZ_L_SGT, e->n_row, lz_em_i64(e, 0), "");
    lz_lvalue *x = read_one(e, access, e->access[access].here, there);
    x = lz_em_from_memory(e, dtype_of(e, access), x);
    e->lanes = lanes;
    return lz_em_splat(e, x);
}

lz_lvalue *lz_em_read(lz_em *e, int access, lz_lvalue *index, lz_lvalue *mask, lz_lvalue *fill)
{
    lz_lvalue *active = lz_em_active(e, mask), *x;
    if (run_of(e, access) == LZ_RUN_SAME && !index && !mask)
        return read_same(e, access);
    if (index)
        x = read_indexed(e, access, index, active);
    else if (e->lanes == 1)
        x = read_one(e, access, addresses(e, access, distances(e, access)), active);
    else
        x = read_plain(e, access, active);
    x = lz_em_from_memory(e, dtype_of(e, access), x);
    return mask ? e->l->BuildSelect(e->b, mask, x, fill, "") : x;
}

/* One index for all lanes: what a load reads, from a place so many elements behind. */
lz_lvalue *lz_em_read_moved(lz_em *e, int access, lz_lvalue *index, lz_lvalue *mask, lz_lvalue *fill)
{
    lz_lvalue *here = e->access[access].here;
    lz_lvalue *bytes = e->l->BuildMul(e->b, index, lz_em_i64(e, size_of(e, access)), "");
    e->access[access].here = lz_em_move(e, here, bytes);
    lz_lvalue *x = lz_em_read(e, access, NULL, mask, fill);
    e->access[access].here = here;
    return x;
}

/* ---- stores ---- */

static void mark_stream(lz_em *e, lz_lvalue *store)
{
    lz_lmetadata *one = e->l->ValueAsMetadata(lz_em_i32(e, 1));
    lz_lvalue *node = e->l->MetadataAsValue(e->ctx, e->l->MDNodeInContext2(e->ctx, &one, 1));
    e->l->SetMetadata(store, e->l->GetMDKindIDInContext(e->ctx, "nontemporal", 11), node);
}

static void write_masked(lz_em *e, lz_lvalue *x, lz_lvalue *p, int64_t align)
{
    lz_ltype *types[] = { e->l->TypeOf(x), e->ptr };
    lz_lvalue *args[] = { x, p, lz_em_i32(e, align), e->mask };
    lz_em_call(e, "llvm.masked.store", 2, types, 4, args);
}

static void write_next(lz_em *e, int access, lz_lvalue *x, lz_lvalue *p)
{
    if (e->mask)
        write_masked(e, x, p, size_of(e, access));
    else
        lz_em_store(e, x, p, (unsigned)size_of(e, access));
}

static void write_back(lz_em *e, int access, lz_lvalue *x)
{
    lz_lvalue *mask = e->mask;
    e->mask = mask ? reversed(e, mask) : NULL;
    write_next(e, access, reversed(e, x), back_address(e, access));
    e->mask = mask;
}

/* A vector of 64 bytes at least, past the caches; the last one of a row as usual. */
static void write_stream(lz_em *e, int access, lz_lvalue *x, lz_lvalue *p)
{
    lz_lblock *whole = lz_em_block(e, "whole"), *part = lz_em_block(e, "part"), *met = lz_em_block(e, "met");
    unsigned bytes = (unsigned)(size_of(e, access) * e->lanes);
    if (e->mask)
        lz_em_branch(e, lz_em_all(e, e->mask), whole, part);
    else
        lz_em_go(e, whole);
    lz_em_at(e, whole);
    lz_lvalue *store = e->l->BuildStore(e->b, x, p);
    e->l->SetAlignment(store, bytes < 64 ? bytes : 64);
    mark_stream(e, store);
    lz_em_go(e, met);
    lz_em_at(e, part);
    if (e->mask)
        write_masked(e, x, p, size_of(e, access));
    lz_em_go(e, met);
    lz_em_at(e, met);
}

static void write_scattered(lz_em *e, int access, lz_lvalue *x, lz_lvalue *ps)
{
    lz_ltype *types[] = { e->l->TypeOf(x), lz_em_shape(e, e->ptr) };
    lz_lvalue *mask = e->mask ? e->mask : e->l->ConstAllOnes(lz_em_shape(e, e->i1));
    lz_lvalue *args[] = { x, ps, lz_em_i32(e, size_of(e, access)), mask };
    lz_em_call(e, "llvm.masked.scatter", 2, types, 4, args);
}

static void write_table(lz_em *e, int access, lz_lvalue *x)
{
    lz_lvalue *d = distances(e, access), *first, *line = in_line(e, access, d, &first);
    lz_lblock *near = lz_em_block(e, "near"), *far = lz_em_block(e, "far"), *met = lz_em_block(e, "met");
    lz_em_branch(e, line, near, far);
    lz_em_at(e, near);
    lz_em_store(e, x, lz_em_move(e, e->access[access].here, first), (unsigned)size_of(e, access));
    lz_em_go(e, met);
    lz_em_at(e, far);
    write_scattered(e, access, x, addresses(e, access, d));
    lz_em_go(e, met);
    lz_em_at(e, met);
}

static void write_pieces(lz_em *e, int access, lz_lvalue *x)
{
    lz_lvalue *first, *line = in_piece(e, access, &first);
    lz_lblock *near = lz_em_block(e, "near"), *far = lz_em_block(e, "far"), *met = lz_em_block(e, "met");
    lz_em_branch(e, line, near, far);
    lz_em_at(e, near);
    write_next(e, access, x, first);
    lz_em_go(e, met);
    lz_em_at(e, far);
    write_scattered(e, access, x, addresses(e, access, distances(e, access)));
    lz_em_go(e, met);
    lz_em_at(e, met);
}

static void write_vector(lz_em *e, int access, lz_lvalue *x)
{
    lz_run run = run_of(e, access);
    bool stream = e->v->stream[access] && size_of(e, access) * e->lanes >= 16;
    if (run == LZ_RUN_NEXT && stream)
        write_stream(e, access, x, next_address(e, access));
    else if (run == LZ_RUN_NEXT)
        write_next(e, access, x, next_address(e, access));
    else if (run == LZ_RUN_BACK)
        write_back(e, access, x);
    else if (run == LZ_RUN_TABLE)
        write_table(e, access, x);
    else if (run == LZ_RUN_PIECES)
        write_pieces(e, access, x);
    else
        write_scattered(e, access, x, addresses(e, access, distances(e, access)));
}

void lz_em_write(lz_em *e, int access, lz_lvalue *x)
{
    x = lz_em_to_memory(e, dtype_of(e, access), x);
    if (e->lanes == 1)
        lz_em_store(e, x, addresses(e, access, distances(e, access)), (unsigned)size_of(e, access));
    else
        write_vector(e, access, x);
}

/* ---- pieces as long as they last ---- */

bool lz_em_has_pieces(const lz_em *e)
{
    bool has = false;
    for (size_t a = 0; a < e->ir->access.len; a++)
        has = has || run_of(e, (int)a) == LZ_RUN_PIECES;
    return has;
}

lz_lvalue *lz_em_line_length(lz_em *e, lz_lvalue *at, lz_lvalue *to)
{
    lz_lvalue *n = e->l->BuildSub(e->b, to, at, "");
    for (size_t a = 0; a < e->ir->access.len; a++) {
        if (run_of(e, (int)a) != LZ_RUN_PIECES)
            continue;
        piece p = piece_at(e, (int)a, at);
        lz_lvalue *left = e->l->BuildSub(e->b, p.count, p.element, "");
        lz_lvalue *none = e->l->BuildICmp(e->b, LZ_L_SLT, left, lz_em_i64(e, 0), "");
        n = lz_em_least(e, n, e->l->BuildSelect(e->b, none, lz_em_i64(e, 0), left, ""));
    }
    return n;
}

/* Where index 0 would be if all of the row lay beside element `at`. */
static lz_lvalue *line_start(lz_em *e, int access, lz_lvalue *at)
{
    piece p = piece_at(e, access, at);
    lz_lvalue *back = e->l->BuildSub(e->b, p.element, at, "");
    lz_lvalue *bytes = e->l->BuildMul(e->b, back, lz_em_i64(e, size_of(e, access)), "");
    return lz_em_move(e, lz_em_move(e, e->access[access].here, p.first), bytes);
}

void lz_em_line_begin(lz_em *e, lz_lvalue *at, lz_eline *l)
{
    l->before = e->v;
    l->variant = *e->v;
    for (size_t a = 0; a < e->ir->access.len; a++) {
        l->here[a] = e->access[a].here;
        if (run_of(e, (int)a) != LZ_RUN_PIECES)
            continue;
        e->access[a].here = line_start(e, (int)a, at);
        l->variant.run[a] = LZ_RUN_NEXT;
        l->variant.stream[a] = 0; /* a piece starts anywhere */
    }
    e->v = &l->variant;
}

void lz_em_line_end(lz_em *e, const lz_eline *l)
{
    e->v = l->before;
    for (size_t a = 0; a < e->ir->access.len; a++)
        e->access[a].here = l->here[a];
}

void lz_em_drain(lz_em *e)
{
    bool streams = false;
    for (size_t a = 0; a < e->ir->access.len; a++)
        streams = streams || e->v->stream[a];
    if (streams)
        lz_em_call(e, e->t->drain, 0, NULL, 0, NULL);
}
