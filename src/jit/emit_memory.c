/* Accesses: addresses, loads and stores of every kind, in the emitter's current shape. */
#include "jit/emitter.h"
#include "jit/launch.h"
#include <stddef.h>

static int dtype_of(const lz_emitter *e, int access)
{
    return e->ir->access.data[access].dtype;
}

static int64_t size_of(const lz_emitter *e, int access)
{
    return (int64_t)lz_dtype_bytes(dtype_of(e, access));
}

static lz_run run_of(const lz_emitter *e, int access)
{
    return (lz_run)e->v->run[access];
}

/* The index of each lane, i64 in shape. */
static lz_llvm_value *indices(lz_emitter *e)
{
    return e->l->BuildAdd(e->b, lz_emit_splat(e, e->at), lz_emit_iota(e, e->i64), "");
}

/* The last vector of a loop may extend beyond the table: masked-off lanes are not read. */
static lz_llvm_value *table_entries(lz_emitter *e, int access)
{
    lz_llvm_value *p = e->l->BuildGEP2(e->b, e->i64, e->access[access].table, &e->at, 1, "");
    lz_llvm_type *t = lz_emit_shape(e, e->i64);
    if (!e->mask || e->lanes == 1)
        return lz_emit_load(e, t, p, 8);
    lz_llvm_type *types[] = { t, e->ptr };
    lz_llvm_value *args[] = { p, lz_emit_i32(e, 8), e->mask, e->l->ConstNull(t) };
    return lz_emit_call(e, "llvm.masked.load", 2, types, 4, args);
}

static lz_llvm_value *by_step(lz_emitter *e, int access)
{
    bool next = run_of(e, access) == LZ_RUN_NEXT && !e->ir->access.data[access].affine;
    lz_llvm_value *step = next ? lz_emit_i64(e, size_of(e, access)) : e->access[access].step;
    return e->l->BuildMul(e->b, indices(e), lz_emit_splat(e, step), "");
}

/* The entry of an access's `pieces` for index `at`, and at's element number within the entry. A vector never
 * extends into the next entry. */
typedef struct piece {
    lz_llvm_value *first, *then, *count, *element;
} piece;

static piece piece_at(lz_emitter *e, int access, lz_llvm_value *at)
{
    lz_llvm_value *k = e->l->BuildLShr(e->b, at, e->piece_shift, "");
    lz_llvm_value *before = e->l->BuildShl(e->b, k, e->piece_shift, "");
    lz_llvm_value *bytes = e->l->BuildMul(e->b, k, lz_emit_i64(e, sizeof(lz_native_piece)), "");
    lz_llvm_value *p = lz_emit_move(e, e->access[access].pieces, bytes);
    return (piece){ .first = lz_emit_field(e, p, e->i64, offsetof(lz_native_piece, first)),
                    .then = lz_emit_field(e, p, e->i64, offsetof(lz_native_piece, then)),
                    .count = lz_emit_field(e, p, e->i64, offsetof(lz_native_piece, count)),
                    .element = e->l->BuildSub(e->b, at, before, "") };
}

static lz_llvm_value *by_piece(lz_emitter *e, int access)
{
    piece p = piece_at(e, access, e->at);
    lz_llvm_value *i = e->l->BuildAdd(e->b, lz_emit_splat(e, p.element), lz_emit_iota(e, e->i64), "");
    lz_llvm_value *before = e->l->BuildICmp(e->b, LZ_LLVM_SLT, i, lz_emit_splat(e, p.count), "");
    lz_llvm_value *from =
        e->l->BuildSelect(e->b, before, lz_emit_splat(e, p.first), lz_emit_splat(e, p.then), "");
    lz_llvm_value *bytes = e->l->BuildMul(e->b, i, lz_emit_int(e, e->i64, size_of(e, access)), "");
    return e->l->BuildAdd(e->b, from, bytes, "");
}

/* Distance of each lane from `here` in bytes (elements for lz_kernel_build_affine); NULL: all zero. */
static lz_llvm_value *distances(lz_emitter *e, int access)
{
    if (run_of(e, access) == LZ_RUN_SAME || !e->at)
        return NULL;
    if (run_of(e, access) == LZ_RUN_PIECES)
        return by_piece(e, access);
    return run_of(e, access) == LZ_RUN_TABLE ? table_entries(e, access) : by_step(e, access);
}

lz_llvm_value *lz_emit_affine(lz_emitter *e, int access)
{
    lz_llvm_value *first = lz_emit_splat(e, e->access[access].here), *d = distances(e, access);
    return d ? e->l->BuildAdd(e->b, first, d, "") : first;
}

/* One pointer per lane. */
static lz_llvm_value *addresses(lz_emitter *e, int access, lz_llvm_value *d)
{
    return d ? e->l->BuildGEP2(e->b, e->i8, e->access[access].here, &d, 1, "")
             : lz_emit_splat(e, e->access[access].here);
}

/* ---- loads ---- */

/* Reads one element. If the mask is false, reads the spill area instead: any valid address will do. */
static lz_llvm_value *read_one(lz_emitter *e, int access, lz_llvm_value *p, lz_llvm_value *mask)
{
    p = mask ? e->l->BuildSelect(e->b, mask, p, e->spill, "") : p;
    return lz_emit_load(e, lz_emit_memory(e, dtype_of(e, access)), p, (unsigned)size_of(e, access));
}

static lz_llvm_value *read_next(lz_emitter *e, int access, lz_llvm_value *p, lz_llvm_value *mask)
{
    lz_llvm_type *t = lz_emit_shape(e, lz_emit_memory(e, dtype_of(e, access)));
    if (!mask)
        return lz_emit_load(e, t, p, (unsigned)size_of(e, access));
    lz_llvm_type *types[] = { t, e->ptr };
    lz_llvm_value *args[] = { p, lz_emit_i32(e, size_of(e, access)), mask, e->l->ConstNull(t) };
    return lz_emit_call(e, "llvm.masked.load", 2, types, 4, args);
}

static lz_llvm_value *read_scattered(lz_emitter *e, int access, lz_llvm_value *ps, lz_llvm_value *mask)
{
    lz_llvm_type *t = lz_emit_shape(e, lz_emit_memory(e, dtype_of(e, access)));
    lz_llvm_type *types[] = { t, lz_emit_shape(e, e->ptr) };
    mask = mask ? mask : e->l->ConstAllOnes(lz_emit_shape(e, e->i1));
    lz_llvm_value *args[] = { ps, lz_emit_i32(e, size_of(e, access)), mask, e->l->ConstNull(t) };
    return lz_emit_call(e, "llvm.masked.gather", 2, types, 4, args);
}

/* The lanes of x in the opposite order. */
static lz_llvm_value *reversed(lz_emitter *e, lz_llvm_value *x)
{
    lz_llvm_value *which[LZ_EMIT_LANES];
    for (int i = 0; i < e->lanes; i++)
        which[i] = lz_emit_i32(e, e->lanes - 1 - i);
    return e->l->BuildShuffleVector(e->b, x, x, e->l->ConstVector(which, (unsigned)e->lanes), "");
}

/* Address of the last lane of an access with LZ_RUN_BACK. */
static lz_llvm_value *back_address(lz_emitter *e, int access)
{
    lz_llvm_type *t = lz_emit_memory(e, dtype_of(e, access));
    lz_llvm_value *last = e->l->BuildSub(e->b, lz_emit_i64(e, 1 - e->lanes), e->at, "");
    return e->l->BuildGEP2(e->b, t, e->access[access].here, &last, 1, "");
}

static lz_llvm_value *next_address(lz_emitter *e, int access)
{
    lz_llvm_type *t = lz_emit_memory(e, dtype_of(e, access));
    return e->l->BuildGEP2(e->b, t, e->access[access].here, &e->at, 1, "");
}

/* i1: are all lanes active and contiguous? */
static lz_llvm_value *in_line(lz_emitter *e, int access, lz_llvm_value *d, lz_llvm_value **first)
{
    *first = e->l->BuildExtractElement(e->b, d, lz_emit_i32(e, 0), "");
    lz_llvm_value *steps =
        e->l->BuildMul(e->b, lz_emit_iota(e, e->i64), lz_emit_int(e, e->i64, size_of(e, access)), "");
    lz_llvm_value *line = e->l->BuildAdd(e->b, lz_emit_splat(e, *first), steps, "");
    return lz_emit_all(e, lz_emit_active(e, e->l->BuildICmp(e->b, LZ_LLVM_EQ, d, line, "")));
}

static lz_llvm_value *read_table(lz_emitter *e, int access, lz_llvm_value *mask)
{
    lz_llvm_value *d = distances(e, access), *first, *line = in_line(e, access, d, &first);
    lz_llvm_block *near = lz_emit_block(e, "near"), *far = lz_emit_block(e, "far"),
                  *met = lz_emit_block(e, "met");
    lz_emit_branch(e, line, near, far);
    lz_emit_at(e, near);
    lz_llvm_value *x =
        read_next(e, access, lz_emit_move(e, e->access[access].here, first), mask == e->mask ? NULL : mask);
    lz_emit_go(e, met);
    lz_emit_at(e, far);
    lz_llvm_value *y = read_scattered(e, access, addresses(e, access, d), mask);
    lz_emit_go(e, met);
    lz_emit_at(e, met);
    return lz_emit_phi(e, x, near, y, far);
}

/* i1: do all lanes lie within the first piece of their entry, contiguous from *first on? */
static lz_llvm_value *in_piece(lz_emitter *e, int access, lz_llvm_value **first)
{
    piece p = piece_at(e, access, e->at);
    lz_llvm_value *bytes = e->l->BuildMul(e->b, p.element, lz_emit_i64(e, size_of(e, access)), "");
    lz_llvm_value *end = e->l->BuildAdd(e->b, p.element, lz_emit_i64(e, e->lanes), "");
    *first = lz_emit_move(e, lz_emit_move(e, e->access[access].here, p.first), bytes);
    return e->l->BuildICmp(e->b, LZ_LLVM_SGE, p.count, end, "");
}

static lz_llvm_value *read_pieces(lz_emitter *e, int access, lz_llvm_value *mask)
{
    lz_llvm_value *first, *line = in_piece(e, access, &first);
    lz_llvm_block *near = lz_emit_block(e, "near"), *far = lz_emit_block(e, "far"),
                  *met = lz_emit_block(e, "met");
    lz_emit_branch(e, line, near, far);
    lz_emit_at(e, near);
    lz_llvm_value *x = read_next(e, access, first, mask);
    lz_emit_go(e, met);
    lz_emit_at(e, far);
    lz_llvm_value *y = read_scattered(e, access, addresses(e, access, distances(e, access)), mask);
    lz_emit_go(e, met);
    lz_emit_at(e, met);
    return lz_emit_phi(e, x, near, y, far);
}

/* In the memory's type. `mask` already includes e->mask. */
static lz_llvm_value *read_plain(lz_emitter *e, int access, lz_llvm_value *mask)
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

static lz_llvm_value *read_indexed(lz_emitter *e, int access, lz_llvm_value *index, lz_llvm_value *mask)
{
    lz_llvm_value *d = distances(e, access);
    lz_llvm_value *far = e->l->BuildMul(e->b, index, lz_emit_int(e, e->i64, size_of(e, access)), "");
    d = d ? e->l->BuildAdd(e->b, far, d, "") : far;
    lz_llvm_value *ps = addresses(e, access, d);
    return e->lanes == 1 ? read_one(e, access, ps, mask) : read_scattered(e, access, ps, mask);
}

/* One load for all lanes. If the access varies per element and the row is empty, there is no element to
 * read. */
static lz_llvm_value *read_same(lz_emitter *e, int access)
{
    int lanes = e->lanes;
    bool sure = e->at || e->ir->access.data[access].vary == LZ_KERNEL_OUTER;
    e->lanes = 1;
    lz_llvm_value *there = sure ? NULL : e->l->BuildICmp(e->b, LZ_LLVM_SGT, e->n_row, lz_emit_i64(e, 0), "");
    lz_llvm_value *x = read_one(e, access, e->access[access].here, there);
    x = lz_emit_from_memory(e, dtype_of(e, access), x);
    e->lanes = lanes;
    return lz_emit_splat(e, x);
}

lz_llvm_value *lz_emit_read(lz_emitter *e, int access, lz_llvm_value *index, lz_llvm_value *mask,
                            lz_llvm_value *fill)
{
    lz_llvm_value *active = lz_emit_active(e, mask), *x;
    if (run_of(e, access) == LZ_RUN_SAME && !index && !mask)
        return read_same(e, access);
    if (index)
        x = read_indexed(e, access, index, active);
    else if (e->lanes == 1)
        x = read_one(e, access, addresses(e, access, distances(e, access)), active);
    else
        x = read_plain(e, access, active);
    x = lz_emit_from_memory(e, dtype_of(e, access), x);
    return mask ? e->l->BuildSelect(e->b, mask, x, fill, "") : x;
}

/* Like lz_emit_read, `index` elements further, with one index for all lanes. */
lz_llvm_value *lz_emit_read_moved(lz_emitter *e, int access, lz_llvm_value *index, lz_llvm_value *mask,
                                  lz_llvm_value *fill)
{
    lz_llvm_value *here = e->access[access].here;
    lz_llvm_value *bytes = e->l->BuildMul(e->b, index, lz_emit_i64(e, size_of(e, access)), "");
    e->access[access].here = lz_emit_move(e, here, bytes);
    lz_llvm_value *x = lz_emit_read(e, access, NULL, mask, fill);
    e->access[access].here = here;
    return x;
}

/* ---- stores ---- */

static void mark_stream(lz_emitter *e, lz_llvm_value *store)
{
    lz_llvm_metadata *one = e->l->ValueAsMetadata(lz_emit_i32(e, 1));
    lz_llvm_value *node = e->l->MetadataAsValue(e->ctx, e->l->MDNodeInContext2(e->ctx, &one, 1));
    e->l->SetMetadata(store, e->l->GetMDKindIDInContext(e->ctx, "nontemporal", 11), node);
}

static void write_masked(lz_emitter *e, lz_llvm_value *x, lz_llvm_value *p, int64_t align)
{
    lz_llvm_type *types[] = { e->l->TypeOf(x), e->ptr };
    lz_llvm_value *args[] = { x, p, lz_emit_i32(e, align), e->mask };
    lz_emit_call(e, "llvm.masked.store", 2, types, 4, args);
}

static void write_next(lz_emitter *e, int access, lz_llvm_value *x, lz_llvm_value *p)
{
    if (e->mask)
        write_masked(e, x, p, size_of(e, access));
    else
        lz_emit_store(e, x, p, (unsigned)size_of(e, access));
}

static void write_back(lz_emitter *e, int access, lz_llvm_value *x)
{
    lz_llvm_value *mask = e->mask;
    e->mask = mask ? reversed(e, mask) : NULL;
    write_next(e, access, reversed(e, x), back_address(e, access));
    e->mask = mask;
}

/* A vector of at least 64 bytes, stored past the caches; the last, partial one of a row is stored
 * normally. */
static void write_stream(lz_emitter *e, int access, lz_llvm_value *x, lz_llvm_value *p)
{
    lz_llvm_block *whole = lz_emit_block(e, "whole"), *part = lz_emit_block(e, "part"),
                  *met = lz_emit_block(e, "met");
    unsigned bytes = (unsigned)(size_of(e, access) * e->lanes);
    if (e->mask)
        lz_emit_branch(e, lz_emit_all(e, e->mask), whole, part);
    else
        lz_emit_go(e, whole);
    lz_emit_at(e, whole);
    lz_llvm_value *store = e->l->BuildStore(e->b, x, p);
    e->l->SetAlignment(store, bytes < 64 ? bytes : 64);
    mark_stream(e, store);
    lz_emit_go(e, met);
    lz_emit_at(e, part);
    if (e->mask)
        write_masked(e, x, p, size_of(e, access));
    lz_emit_go(e, met);
    lz_emit_at(e, met);
}

static void write_scattered(lz_emitter *e, int access, lz_llvm_value *x, lz_llvm_value *ps)
{
    lz_llvm_type *types[] = { e->l->TypeOf(x), lz_emit_shape(e, e->ptr) };
    lz_llvm_value *mask = e->mask ? e->mask : e->l->ConstAllOnes(lz_emit_shape(e, e->i1));
    lz_llvm_value *args[] = { x, ps, lz_emit_i32(e, size_of(e, access)), mask };
    lz_emit_call(e, "llvm.masked.scatter", 2, types, 4, args);
}

static void write_table(lz_emitter *e, int access, lz_llvm_value *x)
{
    lz_llvm_value *d = distances(e, access), *first, *line = in_line(e, access, d, &first);
    lz_llvm_block *near = lz_emit_block(e, "near"), *far = lz_emit_block(e, "far"),
                  *met = lz_emit_block(e, "met");
    lz_emit_branch(e, line, near, far);
    lz_emit_at(e, near);
    lz_emit_store(e, x, lz_emit_move(e, e->access[access].here, first), (unsigned)size_of(e, access));
    lz_emit_go(e, met);
    lz_emit_at(e, far);
    write_scattered(e, access, x, addresses(e, access, d));
    lz_emit_go(e, met);
    lz_emit_at(e, met);
}

static void write_pieces(lz_emitter *e, int access, lz_llvm_value *x)
{
    lz_llvm_value *first, *line = in_piece(e, access, &first);
    lz_llvm_block *near = lz_emit_block(e, "near"), *far = lz_emit_block(e, "far"),
                  *met = lz_emit_block(e, "met");
    lz_emit_branch(e, line, near, far);
    lz_emit_at(e, near);
    write_next(e, access, x, first);
    lz_emit_go(e, met);
    lz_emit_at(e, far);
    write_scattered(e, access, x, addresses(e, access, distances(e, access)));
    lz_emit_go(e, met);
    lz_emit_at(e, met);
}

static void write_vector(lz_emitter *e, int access, lz_llvm_value *x)
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

void lz_emit_write(lz_emitter *e, int access, lz_llvm_value *x)
{
    x = lz_emit_to_memory(e, dtype_of(e, access), x);
    if (e->lanes == 1)
        lz_emit_store(e, x, addresses(e, access, distances(e, access)), (unsigned)size_of(e, access));
    else
        write_vector(e, access, x);
}

/* ---- contiguous ranges of accesses with LZ_RUN_PIECES ---- */

bool lz_emit_has_pieces(const lz_emitter *e)
{
    bool has = false;
    for (size_t a = 0; a < e->ir->access.len; a++)
        has = has || run_of(e, (int)a) == LZ_RUN_PIECES;
    return has;
}

lz_llvm_value *lz_emit_line_length(lz_emitter *e, lz_llvm_value *at, lz_llvm_value *to)
{
    lz_llvm_value *n = e->l->BuildSub(e->b, to, at, "");
    for (size_t a = 0; a < e->ir->access.len; a++) {
        if (run_of(e, (int)a) != LZ_RUN_PIECES)
            continue;
        piece p = piece_at(e, (int)a, at);
        lz_llvm_value *left = e->l->BuildSub(e->b, p.count, p.element, "");
        lz_llvm_value *none = e->l->BuildICmp(e->b, LZ_LLVM_SLT, left, lz_emit_i64(e, 0), "");
        n = lz_emit_least(e, n, e->l->BuildSelect(e->b, none, lz_emit_i64(e, 0), left, ""));
    }
    return n;
}

/* The address that index 0 would have if the whole row were contiguous with element `at`. */
static lz_llvm_value *line_start(lz_emitter *e, int access, lz_llvm_value *at)
{
    piece p = piece_at(e, access, at);
    lz_llvm_value *back = e->l->BuildSub(e->b, p.element, at, "");
    lz_llvm_value *bytes = e->l->BuildMul(e->b, back, lz_emit_i64(e, size_of(e, access)), "");
    return lz_emit_move(e, lz_emit_move(e, e->access[access].here, p.first), bytes);
}

void lz_emit_line_begin(lz_emitter *e, lz_llvm_value *at, lz_emit_line_range *l)
{
    l->before = e->v;
    l->variant = *e->v;
    for (size_t a = 0; a < e->ir->access.len; a++) {
        l->here[a] = e->access[a].here;
        if (run_of(e, (int)a) != LZ_RUN_PIECES)
            continue;
        e->access[a].here = line_start(e, (int)a, at);
        l->variant.run[a] = LZ_RUN_NEXT;
        l->variant.stream[a] = 0; /* a piece may start at any address */
    }
    e->v = &l->variant;
}

void lz_emit_line_end(lz_emitter *e, const lz_emit_line_range *l)
{
    e->v = l->before;
    for (size_t a = 0; a < e->ir->access.len; a++)
        e->access[a].here = l->here[a];
}

void lz_emit_drain(lz_emitter *e)
{
    bool streams = false;
    for (size_t a = 0; a < e->ir->access.len; a++)
        streams = streams || e->v->stream[a];
    if (streams)
        lz_emit_call(e, e->t->drain, 0, NULL, 0, NULL);
}
