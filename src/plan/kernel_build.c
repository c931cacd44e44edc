#include "plan/kernel_build.h"
#include "core/dtype.h"
#include "core/shape.h"
#include "plan/kernel_order.h"
#include <string.h>

/* An access while loops are still being merged. */
typedef struct access {
    const lz_ln *base;
    bool store;
    lz_dtype dtype;
    int number;         /* in the kernel */
    int64_t slot, step; /* as in lz_eaccess */
    int64_t row[1 + LZ_GROUP_LOOPS];
} access;

typedef struct emitter {
    const lz_group *g;
    lz_arena *arena, *scratch;
    lz_kb *kb;
    lz_eorder seq;
    access *accesses;
    size_t n_access;
    uint32_t *item_access; /* of loads, gathers, iotas */
    uint32_t *mask_access, *store_access;
    int order[LZ_GROUP_LOOPS];     /* outer loops, then row */
    int64_t scale[LZ_GROUP_LOOPS]; /* a step of the loop is so many of the group's */
    int64_t extents[LZ_GROUP_LOOPS];
    int n_outer, n_loops;
    lz_kv *values; /* of items */
    lz_kv *masks;
    lz_eparam *params;
    lz_kv *param_values;
    size_t n_params;
} emitter;

/* ---- accesses ---- */

static uint32_t add_access(emitter *e, const lz_ln *base, bool store, lz_dtype dtype, const int64_t *row)
{
    size_t bytes = (size_t)lz_group_width(e->g) * sizeof *row;
    for (uint32_t i = 0; i < e->n_access && !store; i++) {
        const access *a = &e->accesses[i];
        if (a->base == base && !a->store && a->dtype == dtype && !memcmp(a->row, row, bytes))
            return i;
    }
    access *a = &e->accesses[e->n_access];
    *a = (access){ .base = base, .store = store, .dtype = dtype };
    memcpy(a->row, row, bytes);
    return (uint32_t)e->n_access++;
}

static bool is_live(const lz_group *g, int l)
{
    return g->extents[l] != 1;
}

/* Steps along a loop that is walked once do not count. */
static void tidy(const lz_group *g, int64_t *row)
{
    for (int l = 0; l < g->n_loops; l++)
        if (!is_live(g, l))
            row[1 + l] = 0;
}

static void collect_item(emitter *e, uint32_t i)
{
    const lz_gitem *it = &e->g->items.data[i];
    int64_t row[1 + LZ_GROUP_LOOPS];
    lz_gview iota = { 0 };
    if (it->node->kind == LZ_L_IOTA && !it->load) {
        const lz_liota *a = it->node->attr;
        iota = (lz_gview){ .offset = a->offset, .strides = (int64_t *)a->strides };
        lz_item_address(e->g, it, &iota, row);
        tidy(e->g, row);
        e->item_access[i] = add_access(e, NULL, false, LZ_I64, row);
        return;
    }
    if (!it->view.base)
        return;
    if (it->load) {
        lz_item_address(e->g, it, &it->view, row);
    } else { /* the index replaces the place along dim */
        int64_t dim = ((const lz_ldim *)it->node->attr)->dim, zero[1 + LZ_GROUP_LOOPS] = { 0 };
        memcpy(row, zero, sizeof zero);
        row[0] = it->view.offset;
        for (int64_t d = 0; d < it->node->ndim; d++)
            if (d != dim)
                lz_row_add(e->g, row, it->view.strides[d], it->rows + d * lz_group_width(e->g));
    }
    tidy(e->g, row);
    e->item_access[i] = add_access(e, it->view.base, false, (lz_dtype)it->node->dtype, row);
}

static void collect(emitter *e)
{
    const lz_group *g = e->g;
    int64_t row[1 + LZ_GROUP_LOOPS];
    size_t bytes = (size_t)lz_group_width(g) * sizeof *row;
    for (size_t k = 0; k < e->seq.n_items; k++)
        collect_item(e, e->seq.items[k]);
    for (size_t k = 0; k < e->seq.n_masks; k++) {
        uint32_t i = e->seq.masks[k];
        memcpy(row, g->masks.data[i].row, bytes);
        tidy(g, row);
        e->mask_access[i] = add_access(e, NULL, false, LZ_I64, row);
    }
    for (size_t k = 0; k < g->stores.len; k++) {
        uint32_t i = e->seq.stores[k];
        const lz_gstore *s = &g->stores.data[i];
        memcpy(row, s->row, bytes);
        tidy(g, row);
        e->store_access[i] = add_access(e, s->target, true, (lz_dtype)s->target->dtype, row);
        if (s->start) {
            access *a = &e->accesses[e->store_access[i]];
            a->slot = ((const lz_lscalar *)s->start->attr)->slot;
            a->step = s->step;
        }
    }
}

/* ---- loops ---- */

static bool walk_as_one(const emitter *e, int a, int b, int64_t steps)
{
    for (size_t i = 0; i < e->n_access; i++)
        if (e->accesses[i].row[1 + a] != e->accesses[i].row[1 + b] * steps)
            return false;
    return true;
}

/* The loops of one class, from the innermost; merged ones are called by the inner one. */
static int merge_class(emitter *e, uint64_t class, int *out, int64_t *extents)
{
    int n = 0;
    for (int l = e->g->n_loops; l-- > 0;) {
        if (!(class >> l & 1) || !is_live(e->g, l))
            continue;
        if (n > 0 && walk_as_one(e, l, out[n - 1], extents[n - 1])) {
            extents[n - 1] *= e->g->extents[l];
            continue;
        }
        out[n] = l;
        extents[n++] = e->g->extents[l];
    }
    return n;
}

static void reverse_into(emitter *e, const int *loops, const int64_t *extents, int n)
{
    for (int i = n; i-- > 0;) {
        e->order[e->n_loops] = loops[i];
        e->scale[e->n_loops] = 1;
        e->extents[e->n_loops++] = extents[i];
    }
}

/* Without reductions the innermost loop is the row. */
static void arrange(emitter *e)
{
    int loops[LZ_GROUP_LOOPS];
    int64_t extents[LZ_GROUP_LOOPS];
    uint64_t row = e->g->row_known ? e->g->row : 0;
    int n = merge_class(e, ~row, loops, extents);
    reverse_into(e, loops, extents, n);
    e->n_outer = e->n_loops;
    if (!e->g->row_known && e->n_loops > 0)
        e->n_outer--;
    n = merge_class(e, row, loops, extents);
    reverse_into(e, loops, extents, n);
}

static int64_t stride_along(const emitter *e, const access *a, int l)
{
    return a->row[1 + e->order[l]] * e->scale[l];
}

/* ---- blocks ---- */

/* The outer loop along which a load is contiguous that jumps along the row; -1: none. */
static int find_crossing(const emitter *e)
{
    enum { JUMP = 16 };
    int row = e->n_loops - 1;
    for (size_t i = 0; i < e->n_access; i++) {
        int64_t jump = stride_along(e, &e->accesses[i], row);
        if (!e->accesses[i].base || e->accesses[i].store || (jump < JUMP && jump > -JUMP))
            continue;
        for (int l = 0; l < row; l++)
            if (stride_along(e, &e->accesses[i], l) == 1)
                return l;
    }
    return -1;
}

/* The greatest divisor of n up to `most`. */
static int64_t divisor(int64_t n, int64_t most)
{
    int64_t d = most;
    while (n % d)
        d--;
    return d;
}

static void insert_loop(emitter *e, int at, int from, int64_t extent, int64_t scale)
{
    int order = e->order[from];
    for (int l = e->n_loops++; l > at; l--) {
        e->order[l] = e->order[l - 1];
        e->scale[l] = e->scale[l - 1];
        e->extents[l] = e->extents[l - 1];
    }
    e->order[at] = order;
    e->scale[at] = scale;
    e->extents[at] = extent;
}

/* Where memory is walked across, loops go over blocks that the nearest cache holds: the
 * crossing loop and the row are cut into outer and inner ones. */
static void make_blocks(emitter *e)
{
    enum { ROW = 64, ACROSS = 32, LEAST = 8, LARGE = 128 };
    int row = e->n_loops - 1, c = row >= 1 ? find_crossing(e) : -1;
    if (c < 0 || e->n_loops + 2 > LZ_GROUP_LOOPS || e->extents[row] < LARGE)
        return;
    int64_t r_in = divisor(e->extents[row], ROW), c_in = divisor(e->extents[c], ACROSS);
    if (r_in < LEAST || c_in < LEAST)
        return;
    insert_loop(e, row, row, e->extents[row] / r_in, r_in); /* in front of the row */
    insert_loop(e, row + 1, c, c_in, e->scale[c]);          /* between the two */
    e->extents[c] /= c_in;
    e->scale[c] *= c_in;
    e->extents[row + 2] = r_in;
    e->n_outer = e->n_loops - 1;
}

/* ---- parameters ---- */

static lz_kv param(emitter *e, lz_eparam p)
{
    for (size_t i = 0; i < e->n_params; i++)
        if (e->params[i].slot == p.slot && e->params[i].value.i == p.value.i && e->params[i].type == p.type)
            return e->param_values[i];
    e->params[e->n_params] = p;
    e->param_values[e->n_params] = lz_kb_param(e->kb, p.type);
    return e->param_values[e->n_params++];
}

static lz_kv size_param(emitter *e, int64_t v)
{
    return param(e, (lz_eparam){ .slot = -1, .value.i = v, .type = LZ_KI64 });
}

static lz_kv constant(emitter *e, lz_ktype type, double v)
{
    bool real = type == LZ_KF32 || type == LZ_KF64;
    return real ? lz_kb_const_f(e->kb, type, v) : lz_kb_const_i(e->kb, type, (int64_t)v);
}

/* ---- masks ---- */

static lz_kv and_of(emitter *e, bool first, lz_kv x, lz_kv y)
{
    return first ? y : lz_kb_op2(e->kb, LZ_K_AND, x, y);
}

static void emit_masks(emitter *e)
{
    for (size_t k = 0; k < e->seq.n_masks; k++) {
        uint32_t i = e->seq.masks[k];
        const lz_gmask *m = &e->g->masks.data[i];
        lz_kv at = lz_kb_affine(e->kb, e->accesses[e->mask_access[i]].number);
        lz_kv v = m->parent ? e->masks[m->parent] : 0;
        bool first = !m->parent;
        if (m->low) {
            v = and_of(e, first, v, lz_kb_op2(e->kb, LZ_K_GE, at, constant(e, LZ_KI64, 0)));
            first = false;
        }
        if (m->high)
            v = and_of(e, first, v, lz_kb_op2(e->kb, LZ_K_LT, at, size_param(e, m->size)));
        e->masks[i] = v;
    }
}

/* ---- values ---- */

typedef lz_kv emit_fn(emitter *e, const lz_gitem *it, uint32_t i);

static lz_ktype type_of(const lz_ln *n)
{
    return lz_ktype_of((lz_dtype)n->dtype);
}

static lz_kv in(const emitter *e, const lz_gitem *it, int i)
{
    return e->values[it->in[i]];
}

static lz_kv emit_load(emitter *e, const lz_gitem *it, uint32_t i)
{
    int number = e->accesses[e->item_access[i]].number;
    if (it->mask)
        return lz_kb_load_if(e->kb, number, e->masks[it->mask], constant(e, type_of(it->node), 0));
    return lz_kb_load(e->kb, number);
}

static lz_kv emit_scalar(emitter *e, const lz_gitem *it, uint32_t i)
{
    (void)i;
    return param(
        e, (lz_eparam){ .slot = ((const lz_lscalar *)it->node->attr)->slot, .type = type_of(it->node) });
}

static lz_kv emit_const(emitter *e, const lz_gitem *it, uint32_t i)
{
    const lz_scalar *v = it->node->attr;
    lz_ktype type = type_of(it->node);
    bool real = type == LZ_KF32 || type == LZ_KF64;
    lz_kscalar k = { .i = v->i };
    (void)i;
    if (real)
        k.f = v->kind == LZ_SCALAR_FLOAT ? v->re : (double)v->i;
    if (it->node->op)
        return param(e, (lz_eparam){ .slot = -1, .value = k, .type = type });
    return real ? lz_kb_const_f(e->kb, type, k.f) : lz_kb_const_i(e->kb, type, k.i);
}

static lz_kv emit_iota(emitter *e, const lz_gitem *it, uint32_t i)
{
    (void)it;
    return lz_kb_affine(e->kb, e->accesses[e->item_access[i]].number);
}

static bool may_fail(lz_kop op)
{
    return op == LZ_K_IDIV || op == LZ_K_IDIV_FLOOR || op == LZ_K_FMOD || op == LZ_K_REMAINDER;
}

/* The computing type is wider than the dtype: what was computed has to be cut to it. */
static lz_kv narrow(emitter *e, const lz_ln *n, lz_kv v)
{
    static const lz_dtype wide[LZ_KTYPES] = {
        [LZ_KBOOL] = LZ_BOOL, [LZ_KI32] = LZ_I32, [LZ_KI64] = LZ_I64, [LZ_KF32] = LZ_F32, [LZ_KF64] = LZ_F64
    };
    return wide[type_of(n)] == (lz_dtype)n->dtype ? v : lz_kb_cast(e->kb, v, (lz_dtype)n->dtype);
}

static lz_kv emit_map(emitter *e, const lz_gitem *it, uint32_t i)
{
    lz_kop op = (lz_kop)it->node->op;
    lz_ktype type = lz_kb_type(e->kb, in(e, it, 0));
    (void)i;
    if (it->nin == 1)
        return narrow(e, it->node, lz_kb_op1(e->kb, op, in(e, it, 0)));
    lz_kv y = in(e, it, 1);
    if (it->mask && may_fail(op) && (type == LZ_KI32 || type == LZ_KI64)) /* nobody asked there */
        y = lz_kb_op3(e->kb, LZ_K_SELECT, e->masks[it->mask], y, constant(e, type, 1));
    if (it->nin == 2)
        return narrow(e, it->node, lz_kb_op2(e->kb, op, in(e, it, 0), y));
    return narrow(e, it->node, lz_kb_op3(e->kb, op, in(e, it, 0), y, in(e, it, 2)));
}

static lz_kv emit_cast(emitter *e, const lz_gitem *it, uint32_t i)
{
    (void)i;
    return lz_kb_cast(e->kb, in(e, it, 0), (lz_dtype)it->node->dtype);
}

static lz_kv emit_philox(emitter *e, const lz_gitem *it, uint32_t i)
{
    (void)i;
    return lz_kb_philox(e->kb, it->node->op, in(e, it, 0), in(e, it, 1), in(e, it, 2));
}

static lz_kv emit_check(emitter *e, const lz_gitem *it, uint32_t i)
{
    const lz_lcheck *a = it->node->attr;
    lz_kv x = in(e, it, 0);
    if (it->mask)
        x = lz_kb_op3(e->kb, LZ_K_SELECT, e->masks[it->mask], x, constant(e, LZ_KI64, 0));
    if (a->rule[0])
        return lz_kb_require(e->kb, x, size_param(e, a->size), (int)lz_group_rules(e->g, i));
    return lz_kb_check(e->kb, x, size_param(e, a->size), (int)a->dim, a->wrap != 0);
}

static lz_kv emit_index(emitter *e, const lz_gitem *it, uint32_t i)
{
    (void)i;
    if (it->nin == 1 || it->in_mask[0] == it->mask)
        return in(e, it, 0);
    return lz_kb_op3(e->kb, LZ_K_SELECT, e->masks[it->in_mask[0]], in(e, it, 0), in(e, it, 1));
}

static lz_kv emit_same(emitter *e, const lz_gitem *it, uint32_t i)
{
    (void)i;
    return in(e, it, 0);
}

static lz_kv neutral(emitter *e, const lz_gitem *it)
{
    lz_kreduce op = (lz_kreduce)it->node->op;
    return constant(e, type_of(it->node), op == LZ_K_RPROD || op == LZ_K_RAND ? 1 : 0);
}

static lz_kv emit_reduce(emitter *e, const lz_gitem *it, uint32_t i)
{
    (void)i;
    if (!it->nin) /* over nothing */
        return neutral(e, it);
    return narrow(e, it->node, lz_kb_reduce(e->kb, (lz_kreduce)it->node->op, in(e, it, 0)));
}

static lz_kv emit_scan(emitter *e, const lz_gitem *it, uint32_t i)
{
    (void)i;
    return narrow(e, it->node, lz_kb_scan(e->kb, (lz_kreduce)it->node->op, in(e, it, 0)));
}

static lz_kv emit_gather(emitter *e, const lz_gitem *it, uint32_t i)
{
    int number = e->accesses[e->item_access[i]].number;
    int64_t dim = ((const lz_ldim *)it->node->attr)->dim, stride = it->view.strides[dim];
    lz_kv index = in(e, it, 0);
    if (stride != 1)
        index = lz_kb_op2(e->kb, LZ_K_MUL, index, size_param(e, stride));
    if (it->mask)
        return lz_kb_gather_if(e->kb, number, index, e->masks[it->mask], constant(e, type_of(it->node), 0));
    return lz_kb_gather(e->kb, number, index);
}

static lz_kv emit_cat(emitter *e, const lz_gitem *it, uint32_t i)
{
    lz_kv v = in(e, it, it->nin - 1);
    (void)i;
    for (int k = it->nin - 1; k-- > 0;)
        v = it->in_mask[k] == it->mask
                ? in(e, it, k)
                : lz_kb_op3(e->kb, LZ_K_SELECT, e->masks[it->in_mask[k]], in(e, it, k), v);
    return v;
}

static emit_fn *const emitters[LZ_L_KINDS] = {
    [LZ_L_SCALAR] = emit_scalar, [LZ_L_CONST] = emit_const, [LZ_L_IOTA] = emit_iota,
    [LZ_L_MAP] = emit_map,       [LZ_L_CAST] = emit_cast,   [LZ_L_PHILOX] = emit_philox,
    [LZ_L_CHECK] = emit_check,   [LZ_L_INDEX] = emit_index, [LZ_L_RESHAPE] = emit_same,
    [LZ_L_REDUCE] = emit_reduce, [LZ_L_SCAN] = emit_scan,   [LZ_L_GATHER] = emit_gather,
    [LZ_L_CAT] = emit_cat,
};

static void emit_items(emitter *e)
{
    for (size_t k = 0; k < e->seq.n_items; k++) {
        uint32_t i = e->seq.items[k];
        const lz_gitem *it = &e->g->items.data[i];
        emit_fn *fn = it->load ? emit_load : emitters[it->node->kind];
        e->values[i] = fn(e, it, i);
    }
}

/* ---- all of it ---- */

static lz_err *make_room(emitter *e)
{
    const lz_group *g = e->g;
    size_t accesses = g->items.len + g->masks.len + g->stores.len + 1;
    LZ_TRY(lz_arena_new(e->scratch, &e->accesses, accesses));
    LZ_TRY(lz_arena_new(e->scratch, &e->item_access, g->items.len + 1));
    LZ_TRY(lz_arena_new(e->scratch, &e->mask_access, g->masks.len + 1));
    LZ_TRY(lz_arena_new(e->scratch, &e->store_access, g->stores.len + 1));
    LZ_TRY(lz_arena_new(e->scratch, &e->values, g->items.len + 1));
    LZ_TRY(lz_arena_new(e->scratch, &e->masks, g->masks.len + 1));
    LZ_TRY(lz_arena_new(e->scratch, &e->params, g->items.len + g->masks.len + 1));
    return lz_arena_new(e->scratch, &e->param_values, g->items.len + g->masks.len + 1);
}

static bool varies(const emitter *e, const access *a)
{
    bool row = false;
    for (int i = e->n_outer; i < e->n_loops; i++)
        row = row || a->row[1 + e->order[i]] != 0;
    return row;
}

static void emit_stores(emitter *e)
{
    for (size_t k = 0; k < e->g->stores.len; k++) {
        uint32_t i = e->seq.stores[k];
        lz_kb_store(e->kb, e->accesses[e->store_access[i]].number, e->values[e->g->stores.data[i].item]);
    }
}

static int rows_at_least_one(int n)
{
    return n > 0 ? n : 1;
}

static lz_err *describe(const emitter *e, lz_emitted *out)
{
    out->n_outer = e->n_outer;
    out->n_row = rows_at_least_one(e->n_loops - e->n_outer);
    int n = out->n_outer + out->n_row;
    LZ_TRY(lz_arena_new(e->arena, &out->extents, (size_t)n));
    for (int l = 0; l < n; l++)
        out->extents[l] = l < e->n_loops ? e->extents[l] : 1;
    LZ_TRY(lz_arena_new(e->scratch, &out->access, e->n_access + 1));
    for (size_t i = 0; i < e->n_access; i++) {
        const access *a = &e->accesses[i];
        lz_eaccess *x = &out->access[a->number];
        *x = (lz_eaccess){
            .base = a->base, .store = a->store, .offset = a->row[0], .slot = a->slot, .step = a->step
        };
        LZ_TRY(lz_arena_new(e->arena, &x->strides, (size_t)n));
        for (int l = 0; l < e->n_loops; l++)
            x->strides[l] = stride_along(e, a, l);
    }
    out->n_access = e->n_access;
    LZ_TRY(lz_arena_new(e->arena, &out->params, e->n_params));
    for (size_t i = 0; i < e->n_params; i++)
        out->params[i] = e->params[i];
    out->n_params = e->n_params;
    return NULL;
}

static lz_err *build(emitter *e, lz_emitted *out)
{
    for (size_t i = 0; i < e->n_access; i++) {
        access *a = &e->accesses[i];
        a->number = lz_kb_access(e->kb, a->dtype, varies(e, a) ? LZ_K_ELEMENT : LZ_K_OUTER);
        if (a->number != (int)i)
            return NULL; /* too many: the kernel says so */
    }
    emit_masks(e);
    emit_items(e);
    emit_stores(e);
    return describe(e, out);
}

lz_err *lz_emit(const lz_group *g, lz_arena *arena, lz_arena *scratch, lz_emitted *out)
{
    emitter e = { .g = g, .arena = arena, .scratch = scratch };
    *out = (lz_emitted){ 0 };
    LZ_TRY(make_room(&e));
    LZ_TRY(lz_emit_order(g, scratch, &e.seq));
    collect(&e);
    arrange(&e);
    if (!g->row_known)
        make_blocks(&e);
    lz_kmode mode = g->columns && g->row_known && e.n_outer > 0 ? LZ_K_COLUMNS : LZ_K_ROWS;
    LZ_TRY(lz_kb_create(mode, e.n_outer, rows_at_least_one(e.n_loops - e.n_outer), &e.kb));
    lz_err *err = build(&e, out);
    if (err) {
        lz_kb_destroy(e.kb);
        return err;
    }
    return lz_kb_finish(e.kb, &out->kernel);
}
