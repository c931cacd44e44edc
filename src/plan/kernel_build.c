#include "plan/kernel_build.h"
#include "core/dtype.h"
#include "core/shape.h"
#include "plan/kernel_order.h"
#include <string.h>

/* An access of the kernel, before loops are merged. */
typedef struct access {
    const lz_low_node *base;
    bool store;
    lz_dtype dtype;
    int number;         /* in the kernel */
    int64_t slot, step; /* as in lz_built_access */
    int64_t row[1 + LZ_GROUP_LOOPS];
} access;

typedef struct emitter {
    const lz_group *g;
    lz_arena *arena, *scratch;
    lz_kernel_builder *kb;
    lz_kernel_order seq;
    access *accesses;
    size_t n_access;
    uint32_t *item_access; /* of loads, gathers, iotas */
    uint32_t *mask_access, *store_access;
    int order[LZ_GROUP_LOOPS];     /* outer loops, then row */
    int64_t scale[LZ_GROUP_LOOPS]; /* steps of the group's loop in one step of this loop */
    int64_t extents[LZ_GROUP_LOOPS];
    int n_outer, n_loops;
    lz_kernel_value *values; /* by item */
    lz_kernel_value *masks;
    lz_built_param *params;
    lz_kernel_value *param_values;
    size_t n_params;
} emitter;

/* ---- accesses ---- */

static uint32_t add_access(emitter *e, const lz_low_node *base, bool store, lz_dtype dtype,
                           const int64_t *row)
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

/* Clears the factors of loops with one step: they would prevent equal accesses from being found. */
static void tidy(const lz_group *g, int64_t *row)
{
    for (int l = 0; l < g->n_loops; l++)
        if (!is_live(g, l))
            row[1 + l] = 0;
}

static bool is_iota(const lz_group_item *it)
{
    return it->node->kind == LZ_LOW_IOTA && !it->load;
}

static void collect_item(emitter *e, uint32_t i)
{
    const lz_group_item *it = &e->g->items.data[i];
    int64_t row[1 + LZ_GROUP_LOOPS];
    lz_group_view iota = { 0 };
    if (is_iota(it)) {
        const lz_low_iota_attr *a = it->node->attr;
        iota = (lz_group_view){ .offset = a->offset, .strides = (int64_t *)a->strides };
        lz_item_address(e->g, it, &iota, row);
        tidy(e->g, row);
        e->item_access[i] = add_access(e, NULL, false, LZ_I64, row);
        return;
    }
    if (!it->view.base)
        return;
    if (it->load) {
        lz_item_address(e->g, it, &it->view, row);
    } else { /* along dim the index takes the place of the item's own index */
        int64_t dim = ((const lz_low_dim_attr *)it->node->attr)->dim, zero[1 + LZ_GROUP_LOOPS] = { 0 };
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
        const lz_group_store *s = &g->stores.data[i];
        memcpy(row, s->row, bytes);
        tidy(g, row);
        e->store_access[i] = add_access(e, s->target, true, (lz_dtype)s->target->dtype, row);
        if (s->start) {
            access *a = &e->accesses[e->store_access[i]];
            a->slot = ((const lz_low_scalar_attr *)s->start->attr)->slot;
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

/* The loops of one class (outer or row), innermost first. Loops that every access walks as one are merged
 * under the number of the inner loop. */
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

/* Orders the loops: outer loops, then row loops. Without reductions the innermost loop is the row. */
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

/* The outer loop along which a load is contiguous although it has a large stride along the row; -1: none. */
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

/* For loads that are contiguous along an outer loop: splits that loop and the row, so that the inner loops
 * cover a block that fits into the nearest cache. */
static void make_blocks(emitter *e)
{
    enum { ROW = 64, ACROSS = 32, LEAST = 8, LARGE = 128 };
    int row = e->n_loops - 1, c = row >= 1 ? find_crossing(e) : -1;
    if (c < 0 || e->n_loops + 2 > LZ_GROUP_LOOPS || e->extents[row] < LARGE)
        return;
    int64_t r_in = divisor(e->extents[row], ROW), c_in = divisor(e->extents[c], ACROSS);
    if (r_in < LEAST || c_in < LEAST)
        return;
    insert_loop(e, row, row, e->extents[row] / r_in, r_in); /* before the row */
    insert_loop(e, row + 1, c, c_in, e->scale[c]); /* between the outer and the inner part of the row */
    e->extents[c] /= c_in;
    e->scale[c] *= c_in;
    e->extents[row + 2] = r_in;
    e->n_outer = e->n_loops - 1;
}

/* ---- parameters ---- */

static lz_kernel_value param(emitter *e, lz_built_param p)
{
    for (size_t i = 0; i < e->n_params; i++)
        if (e->params[i].slot == p.slot && e->params[i].value.i == p.value.i && e->params[i].type == p.type)
            return e->param_values[i];
    e->params[e->n_params] = p;
    e->param_values[e->n_params] = lz_kernel_build_param(e->kb, p.type);
    return e->param_values[e->n_params++];
}

static lz_kernel_value size_param(emitter *e, int64_t v)
{
    return param(e, (lz_built_param){ .slot = -1, .value.i = v, .type = LZ_KERNEL_I64 });
}

static lz_kernel_value constant(emitter *e, lz_kernel_type type, double v)
{
    bool real = type == LZ_KERNEL_F32 || type == LZ_KERNEL_F64;
    return real ? lz_kernel_build_const_f(e->kb, type, v) : lz_kernel_build_const_i(e->kb, type, (int64_t)v);
}

/* ---- masks ---- */

static lz_kernel_value and_of(emitter *e, bool first, lz_kernel_value x, lz_kernel_value y)
{
    return first ? y : lz_kernel_build_op2(e->kb, LZ_KERNEL_AND, x, y);
}

static void emit_masks(emitter *e)
{
    for (size_t k = 0; k < e->seq.n_masks; k++) {
        uint32_t i = e->seq.masks[k];
        const lz_group_condition *m = &e->g->masks.data[i];
        lz_kernel_value at = lz_kernel_build_affine(e->kb, e->accesses[e->mask_access[i]].number);
        lz_kernel_value v = m->parent ? e->masks[m->parent] : 0;
        bool first = !m->parent;
        if (m->low) {
            v = and_of(e, first, v,
                       lz_kernel_build_op2(e->kb, LZ_KERNEL_GE, at, constant(e, LZ_KERNEL_I64, 0)));
            first = false;
        }
        if (m->high)
            v = and_of(e, first, v, lz_kernel_build_op2(e->kb, LZ_KERNEL_LT, at, size_param(e, m->size)));
        e->masks[i] = v;
    }
}

/* ---- values ---- */

typedef lz_kernel_value emit_fn(emitter *e, const lz_group_item *it, uint32_t i);

static lz_kernel_type type_of(const lz_low_node *n)
{
    return lz_kernel_type_of((lz_dtype)n->dtype);
}

static lz_kernel_value in(const emitter *e, const lz_group_item *it, int i)
{
    return e->values[it->in[i]];
}

static lz_kernel_value emit_load(emitter *e, const lz_group_item *it, uint32_t i)
{
    int number = e->accesses[e->item_access[i]].number;
    if (it->mask)
        return lz_kernel_build_load_if(e->kb, number, e->masks[it->mask], constant(e, type_of(it->node), 0));
    return lz_kernel_build_load(e->kb, number);
}

static lz_kernel_value emit_scalar(emitter *e, const lz_group_item *it, uint32_t i)
{
    (void)i;
    return param(e, (lz_built_param){ .slot = ((const lz_low_scalar_attr *)it->node->attr)->slot,
                                      .type = type_of(it->node) });
}

static lz_kernel_value emit_const(emitter *e, const lz_group_item *it, uint32_t i)
{
    const lz_scalar *v = it->node->attr;
    lz_kernel_type type = type_of(it->node);
    bool real = type == LZ_KERNEL_F32 || type == LZ_KERNEL_F64;
    lz_kernel_scalar k = { .i = v->i };
    (void)i;
    if (real)
        k.f = v->kind == LZ_SCALAR_FLOAT ? v->re : (double)v->i;
    if (it->node->op)
        return param(e, (lz_built_param){ .slot = -1, .value = k, .type = type });
    return real ? lz_kernel_build_const_f(e->kb, type, k.f) : lz_kernel_build_const_i(e->kb, type, k.i);
}

static lz_kernel_value emit_iota(emitter *e, const lz_group_item *it, uint32_t i)
{
    (void)it;
    return lz_kernel_build_affine(e->kb, e->accesses[e->item_access[i]].number);
}

static bool may_fail(lz_kernel_op op)
{
    return op == LZ_KERNEL_IDIV || op == LZ_KERNEL_IDIV_FLOOR || op == LZ_KERNEL_FMOD
           || op == LZ_KERNEL_REMAINDER;
}

/* The computing type may be wider than the dtype: casts the value to the dtype. */
static lz_kernel_value narrow(emitter *e, const lz_low_node *n, lz_kernel_value v)
{
    static const lz_dtype wide[LZ_KERNEL_TYPES] = { [LZ_KERNEL_BOOL] = LZ_BOOL,
                                                    [LZ_KERNEL_I32] = LZ_I32,
                                                    [LZ_KERNEL_I64] = LZ_I64,
                                                    [LZ_KERNEL_F32] = LZ_F32,
                                                    [LZ_KERNEL_F64] = LZ_F64 };
    return wide[type_of(n)] == (lz_dtype)n->dtype ? v : lz_kernel_build_cast(e->kb, v, (lz_dtype)n->dtype);
}

static lz_kernel_value emit_map(emitter *e, const lz_group_item *it, uint32_t i)
{
    lz_kernel_op op = (lz_kernel_op)it->node->op;
    lz_kernel_type type = lz_kernel_build_type(e->kb, in(e, it, 0));
    (void)i;
    if (it->nin == 1)
        return narrow(e, it->node, lz_kernel_build_op1(e->kb, op, in(e, it, 0)));
    lz_kernel_value y = in(e, it, 1);
    if (it->mask && may_fail(op)
        && (type == LZ_KERNEL_I32 || type == LZ_KERNEL_I64)) /* outside the mask the divisor may be 0; no user
                                                                needs the result there */
        y = lz_kernel_build_op3(e->kb, LZ_KERNEL_SELECT, e->masks[it->mask], y, constant(e, type, 1));
    if (it->nin == 2)
        return narrow(e, it->node, lz_kernel_build_op2(e->kb, op, in(e, it, 0), y));
    return narrow(e, it->node, lz_kernel_build_op3(e->kb, op, in(e, it, 0), y, in(e, it, 2)));
}

static lz_kernel_value emit_cast(emitter *e, const lz_group_item *it, uint32_t i)
{
    (void)i;
    return lz_kernel_build_cast(e->kb, in(e, it, 0), (lz_dtype)it->node->dtype);
}

static lz_kernel_value emit_philox(emitter *e, const lz_group_item *it, uint32_t i)
{
    (void)i;
    return lz_kernel_build_philox(e->kb, it->node->op, in(e, it, 0), in(e, it, 1), in(e, it, 2));
}

static lz_kernel_value emit_check(emitter *e, const lz_group_item *it, uint32_t i)
{
    const lz_low_check_attr *a = it->node->attr;
    lz_kernel_value x = in(e, it, 0);
    if (it->mask)
        x = lz_kernel_build_op3(e->kb, LZ_KERNEL_SELECT, e->masks[it->mask], x,
                                constant(e, LZ_KERNEL_I64, 0));
    if (a->rule[0])
        return lz_kernel_build_require(e->kb, x, size_param(e, a->size), (int)lz_group_rules(e->g, i));
    return lz_kernel_build_check(e->kb, x, size_param(e, a->size), (int)a->dim, a->wrap != 0);
}

static lz_kernel_value emit_index(emitter *e, const lz_group_item *it, uint32_t i)
{
    (void)i;
    if (it->nin == 1 || it->in_mask[0] == it->mask)
        return in(e, it, 0);
    return lz_kernel_build_op3(e->kb, LZ_KERNEL_SELECT, e->masks[it->in_mask[0]], in(e, it, 0), in(e, it, 1));
}

static lz_kernel_value emit_same(emitter *e, const lz_group_item *it, uint32_t i)
{
    (void)i;
    return in(e, it, 0);
}

static lz_kernel_value neutral(emitter *e, const lz_group_item *it)
{
    lz_kernel_reduction op = (lz_kernel_reduction)it->node->op;
    return constant(e, type_of(it->node), op == LZ_KERNEL_RPROD || op == LZ_KERNEL_RAND ? 1 : 0);
}

static lz_kernel_value emit_reduce(emitter *e, const lz_group_item *it, uint32_t i)
{
    (void)i;
    if (!it->nin) /* a reduction over no elements */
        return neutral(e, it);
    return narrow(e, it->node,
                  lz_kernel_build_reduce(e->kb, (lz_kernel_reduction)it->node->op, in(e, it, 0)));
}

static lz_kernel_value emit_scan(emitter *e, const lz_group_item *it, uint32_t i)
{
    (void)i;
    return narrow(e, it->node, lz_kernel_build_scan(e->kb, (lz_kernel_reduction)it->node->op, in(e, it, 0)));
}

static lz_kernel_value emit_gather(emitter *e, const lz_group_item *it, uint32_t i)
{
    int number = e->accesses[e->item_access[i]].number;
    int64_t dim = ((const lz_low_dim_attr *)it->node->attr)->dim, stride = it->view.strides[dim];
    lz_kernel_value index = in(e, it, 0);
    if (stride != 1)
        index = lz_kernel_build_op2(e->kb, LZ_KERNEL_MUL, index, size_param(e, stride));
    if (it->mask)
        return lz_kernel_build_gather_if(e->kb, number, index, e->masks[it->mask],
                                         constant(e, type_of(it->node), 0));
    return lz_kernel_build_gather(e->kb, number, index);
}

static lz_kernel_value emit_cat(emitter *e, const lz_group_item *it, uint32_t i)
{
    lz_kernel_value v = in(e, it, it->nin - 1);
    (void)i;
    for (int k = it->nin - 1; k-- > 0;)
        v = it->in_mask[k] == it->mask
                ? in(e, it, k)
                : lz_kernel_build_op3(e->kb, LZ_KERNEL_SELECT, e->masks[it->in_mask[k]], in(e, it, k), v);
    return v;
}

static emit_fn *const emitters[LZ_LOW_KINDS] = {
    [LZ_LOW_SCALAR] = emit_scalar, [LZ_LOW_CONST] = emit_const, [LZ_LOW_IOTA] = emit_iota,
    [LZ_LOW_MAP] = emit_map,       [LZ_LOW_CAST] = emit_cast,   [LZ_LOW_PHILOX] = emit_philox,
    [LZ_LOW_CHECK] = emit_check,   [LZ_LOW_INDEX] = emit_index, [LZ_LOW_RESHAPE] = emit_same,
    [LZ_LOW_REDUCE] = emit_reduce, [LZ_LOW_SCAN] = emit_scan,   [LZ_LOW_GATHER] = emit_gather,
    [LZ_LOW_CAT] = emit_cat,
};

static void emit_items(emitter *e)
{
    for (size_t k = 0; k < e->seq.n_items; k++) {
        uint32_t i = e->seq.items[k];
        const lz_group_item *it = &e->g->items.data[i];
        emit_fn *fn = it->load ? emit_load : emitters[it->node->kind];
        e->values[i] = fn(e, it, i);
    }
}

/* ---- the whole kernel ---- */

/* At most. An access is large, and most items are operations, so accesses are counted first. */
static size_t count_accesses(const lz_group *g)
{
    size_t n = g->masks.len + g->stores.len;
    for (size_t i = 0; i < g->items.len; i++)
        n += g->items.data[i].view.base || is_iota(&g->items.data[i]);
    return n;
}

static lz_err *make_room(emitter *e)
{
    const lz_group *g = e->g;
    LZ_TRY(lz_arena_new(e->scratch, &e->accesses, count_accesses(g) + 1));
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
        lz_kernel_build_store(e->kb, e->accesses[e->store_access[i]].number,
                              e->values[e->g->stores.data[i].item]);
    }
}

static int rows_at_least_one(int n)
{
    return n > 0 ? n : 1;
}

static lz_err *describe(const emitter *e, lz_built_kernel *out)
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
        lz_built_access *x = &out->access[a->number];
        *x = (lz_built_access){
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

static lz_err *build(emitter *e, lz_built_kernel *out)
{
    for (size_t i = 0; i < e->n_access; i++) {
        access *a = &e->accesses[i];
        a->number =
            lz_kernel_build_access(e->kb, a->dtype, varies(e, a) ? LZ_KERNEL_ELEMENT : LZ_KERNEL_OUTER);
        if (a->number != (int)i)
            return NULL; /* too many accesses: finishing the kernel reports that */
    }
    emit_masks(e);
    emit_items(e);
    emit_stores(e);
    return describe(e, out);
}

lz_err *lz_kernel_build(const lz_group *g, lz_arena *arena, lz_arena *scratch, lz_built_kernel *out)
{
    emitter e = { .g = g, .arena = arena, .scratch = scratch };
    *out = (lz_built_kernel){ 0 };
    LZ_TRY(make_room(&e));
    LZ_TRY(lz_kernel_order_find(g, scratch, &e.seq));
    collect(&e);
    arrange(&e);
    if (!g->row_known)
        make_blocks(&e);
    lz_kernel_mode mode = g->columns && g->row_known && e.n_outer > 0 ? LZ_KERNEL_COLUMNS : LZ_KERNEL_ROWS;
    LZ_TRY(lz_kernel_builder_create(mode, e.n_outer, rows_at_least_one(e.n_loops - e.n_outer), &e.kb));
    lz_err *err = build(&e, out);
    if (err) {
        lz_kernel_builder_destroy(e.kb);
        return err;
    }
    return lz_kernel_builder_finish(e.kb, &out->kernel);
}
