#include "autograd/checkpoint.h"
#include "base/mem.h"
#include <assert.h>
#include <stdlib.h>

/* A value that a node of the tape keeps: one count of what computes it. */
typedef struct kept {
    lz_gnode *owner; /* NULL: gone */
    uint32_t item;
    lz_output value;
} kept;

/* A value from outside, and what holds it: also across a sync. */
typedef struct border {
    const lz_node *node; /* one count */
    uint32_t index;
    lz_alias *alias; /* one count; NULL: the node is data */
} border;

/* What one scope left behind; counted by the nodes of the tape that need it. */
typedef struct lz_redo {
    uint32_t refs;
    lz_ctx *ctx;
    uint64_t born; /* nodes with larger numbers belong to it */
    LZ_VEC(kept) kept;
    LZ_VEC(border) borders;
} redo;

typedef struct lz_open_scope {
    struct lz_open_scope *outer;
    uint64_t seq, born;
} open_scope;

/* ---- nodes by address ---- */

typedef struct node_map {
    const lz_node **keys;
    lz_node **values;
    size_t cap, used;
} node_map;

static size_t slot_of(const node_map *m, const lz_node *n)
{
    assert(m->keys); /* something was added */
    size_t at = (size_t)((uintptr_t)n / 16 * UINT64_C(0x9e3779b97f4a7c15) >> 20) & (m->cap - 1);
    while (m->keys[at] && m->keys[at] != n)
        at = (at + 1) & (m->cap - 1);
    return at;
}

static void map_deinit(node_map *m)
{
    lz_mem_free((void *)m->keys);
    lz_mem_free((void *)m->values);
    *m = (node_map){ 0 };
}

static lz_err *map_grow(node_map *m)
{
    node_map bigger = { .cap = m->cap ? m->cap * 2 : 256, .used = m->used };
    bigger.keys = lz_mem_zalloc(bigger.cap, sizeof *m->keys);
    bigger.values = lz_mem_zalloc(bigger.cap, sizeof *m->values);
    if (!bigger.keys || !bigger.values) {
        map_deinit(&bigger);
        return lz_err_oom();
    }
    for (size_t i = 0; i < m->cap; i++) {
        if (!m->keys[i])
            continue;
        size_t at = slot_of(&bigger, m->keys[i]);
        bigger.keys[at] = m->keys[i];
        bigger.values[at] = m->values[i];
    }
    map_deinit(m);
    *m = bigger;
    return NULL;
}

/* *fresh: it was not there. */
static lz_err *map_add(node_map *m, const lz_node *n, bool *fresh)
{
    if (m->used * 2 >= m->cap)
        LZ_TRY(map_grow(m));
    assert(m->keys); /* there is room for one more */
    size_t at = slot_of(m, n);
    *fresh = !m->keys[at];
    m->keys[at] = n;
    m->used += *fresh;
    return NULL;
}

static lz_node **map_value(const node_map *m, const lz_node *n)
{
    return &m->values[slot_of(m, n)];
}

/* ---- life ---- */

static void release_redo(redo *r)
{
    if (--r->refs > 0)
        return;
    for (size_t i = 0; i < r->kept.len; i++)
        lz_node_release(r->ctx->nodes, (lz_node *)r->kept.data[i].value.node);
    for (size_t i = 0; i < r->borders.len; i++) {
        lz_node_release(r->ctx->nodes, (lz_node *)r->borders.data[i].node);
        if (r->borders.data[i].alias)
            lz_alias_release(r->borders.data[i].alias);
    }
    lz_vec_deinit(&r->kept);
    lz_vec_deinit(&r->borders);
    lz_mem_free(r);
}

void lz_checkpoint_forget(lz_gnode *n)
{
    redo *r = n->redo;
    if (!r)
        return;
    n->redo = NULL;
    for (size_t i = n->place; i < r->kept.len && r->kept.data[i].owner == n; i++) {
        lz_node_release(r->ctx->nodes, (lz_node *)r->kept.data[i].value.node);
        r->kept.data[i] = (kept){ NULL, 0, { NULL, 0 } };
        n->spent = true;
    }
    release_redo(r);
}

void lz_checkpoints_close(lz_tape *t)
{
    while (t->open) {
        open_scope *o = t->open;
        t->open = o->outer;
        lz_mem_free(o);
    }
}

/* ---- the end of a scope: values become recipes ---- */

static bool is_inside(const redo *r, const lz_node *n)
{
    return n->op && n->born > r->born;
}

/* What the item shows now, or nothing: it was written to since, and will be refused. */
static lz_err *value_of(const redo *r, const lz_gitem *x, lz_output *out)
{
    lz_tensor *t;
    *out = (lz_output){ NULL, 0 };
    if (!x->alias || x->writes != x->alias->writes)
        return NULL;
    LZ_TRY(lz_tensor_create(x->alias, x->spec, x->offset, &t));
    lz_err *e = lz_tensor_value(t, out);
    if (!e && !is_inside(r, out->node))
        *out = (lz_output){ NULL, 0 };
    else if (!e)
        lz_node_retain((lz_node *)out->node);
    lz_release(t);
    return e;
}

static lz_err *strip_item(redo *r, lz_gnode *n, uint32_t i)
{
    lz_output v;
    LZ_TRY(lz_vec_reserve(&r->kept, 1));
    LZ_TRY(value_of(r, &n->items[i], &v));
    if (!v.node)
        return NULL;
    if (!n->redo) {
        n->redo = r;
        n->place = (uint32_t)r->kept.len;
        r->refs++;
    }
    lz_alias_release(n->items[i].alias);
    n->items[i].alias = NULL;
    return lz_vec_push(&r->kept, (kept){ n, i, v });
}

static lz_err *strip(redo *r, lz_gnode *n)
{
    if (n->kind != LZ_GNODE_OP || n->redo)
        return NULL;
    for (uint32_t i = 0; i < n->nin + n->nout; i++)
        LZ_TRY(strip_item(r, n, i));
    return NULL;
}

static lz_err *add_border(redo *r, lz_output o)
{
    border b = { o.node, o.index, NULL };
    LZ_TRY(lz_vec_reserve(&r->borders, 1));
    if (o.node->op) {
        LZ_TRY(lz_alias_pending(r->ctx, o.node->specs[o.index], o, &b.alias));
        lz_node_retain((lz_node *)o.node);
    }
    lz_node_retain((lz_node *)o.node);
    return lz_vec_push(&r->borders, b);
}

static bool has_border(const redo *r, lz_output o)
{
    for (size_t i = 0; i < r->borders.len; i++)
        if (r->borders.data[i].node == o.node && r->borders.data[i].index == o.index)
            return true;
    return false;
}

typedef LZ_VEC(const lz_node *) node_list;

/* All that is inside behind what was kept, in any order, and the borders. */
static lz_err *explore(redo *r, node_map *m, node_list *inside)
{
    node_list stack = { 0 };
    lz_err *e = NULL;
    for (size_t i = 0; !e && i < r->kept.len; i++)
        if (r->kept.data[i].owner)
            e = lz_vec_push(&stack, r->kept.data[i].value.node);
    while (!e && stack.len) {
        const lz_node *n = stack.data[--stack.len];
        bool fresh;
        e = map_add(m, n, &fresh);
        if (e || !fresh)
            continue;
        e = lz_vec_push(inside, n);
        for (uint32_t i = 0; !e && i < n->nin; i++) {
            lz_output o = n->in[i];
            if (o.node && is_inside(r, o.node))
                e = lz_vec_push(&stack, o.node);
            else if (o.node && !has_border(r, o))
                e = add_border(r, o);
        }
    }
    lz_vec_deinit(&stack);
    return e;
}

static lz_err *find_borders(redo *r)
{
    node_map m = { 0 };
    node_list inside = { 0 };
    lz_err *e = explore(r, &m, &inside);
    lz_vec_deinit(&inside);
    map_deinit(&m);
    return e;
}

static lz_err *close_scope(lz_tape *t, const open_scope *o)
{
    redo *r = lz_mem_zalloc(1, sizeof *r);
    lz_err *e = NULL;
    if (!r)
        return lz_err_oom();
    r->refs = 1;
    r->ctx = t->ctx;
    r->born = o->born;
    for (lz_gnode *n = t->last; !e && n && n->seq > o->seq; n = n->prev)
        e = strip(r, n);
    if (!e)
        e = find_borders(r);
    release_redo(r);
    return e;
}

static bool told(lz_ctx *c, lz_err *e)
{
    bool ok = !e;
    lz_ctx_fail(c, (lz_loc){ 0 }, NULL, e);
    return ok;
}

bool lz_checkpoint_begin(lz_ctx *c)
{
    lz_tape *t;
    lz_err *e = lz_tape_of(c, &t);
    open_scope *o = e ? NULL : lz_mem_alloc(sizeof *o);
    if (!e && !o)
        e = lz_err_oom();
    if (!e) {
        *o = (open_scope){ t->open, t->seq, lz_nodes_born(c->nodes) };
        t->open = o;
    }
    return told(c, e);
}

/* A backend with nodes of its own computes nothing again: it keeps. */
bool lz_checkpoint_end(lz_ctx *c)
{
    lz_tape *t = c->tape;
    if (!t || !t->open)
        return told(c, lz_errf(LZ_ERR_ARG, "no checkpoint was begun"));
    open_scope *o = t->open;
    t->open = o->outer;
    lz_err *e = c->builder ? NULL : close_scope(t, o);
    lz_mem_free(o);
    return told(c, e);
}

/* ---- the way back: recipes become values ---- */

static lz_err *record(lz_ctx *c, lz_op op, const lz_value *in, lz_tensor **out)
{
    lz_value made;
    lz_record(c, &lz_op_table[op], c->at, in, &made);
    *out = made.tensor;
    return made.tensor->alias ? NULL : lz_errf(lz_code_of(c), "%s", lz_message(c));
}

/* True whatever the gradient is, but nobody knows before it is there. */
static lz_err *find_signal(lz_ctx *c, lz_tensor *grad, lz_tensor **out)
{
    lz_tensor *flat, *first, *is, *is_not;
    const lz_value one = lz_value_ints(LZ_DIMS(-1)), zero = lz_value_integer(0);
    *out = NULL;
    if (!grad || grad->spec->numel == 0)
        return NULL;
    LZ_TRY(record(c, LZ_OP_reshape, (lz_value[]){ lz_value_tensor(grad), one }, &flat));
    LZ_TRY(record(c, LZ_OP_select_int, (lz_value[]){ lz_value_tensor(flat), zero, zero }, &first));
    const lz_value two[] = { lz_value_tensor(first), lz_value_tensor(first) };
    LZ_TRY(record(c, LZ_OP_eq_Tensor, two, &is));
    LZ_TRY(record(c, LZ_OP_ne_Tensor, two, &is_not));
    return record(c, LZ_OP_logical_or, (lz_value[]){ lz_value_tensor(is), lz_value_tensor(is_not) }, out);
}

/* The value of a border, there when the signal is. One count of the caller. */
static lz_err *cross(const redo *r, const border *b, lz_tensor *signal, bool waits, lz_output *out)
{
    lz_tensor *t, *late;
    *out = (lz_output){ b->node, b->index };
    if (b->alias)
        LZ_TRY(lz_alias_value(b->alias, out));
    if (!signal || !waits) {
        lz_node_retain((lz_node *)out->node);
        return NULL;
    }
    if (b->alias)
        LZ_TRY(lz_tensor_create(b->alias, b->alias->spec, 0, &t));
    else
        LZ_TRY(
            lz_tensor_of_data(r->ctx, b->node->specs[0], r->ctx->device, lz_data_retain(b->node->data), &t));
    const lz_value in[] = { lz_value_tensor(signal), lz_value_tensor(t), lz_value_scalar(lz_scalar_int(0)) };
    LZ_TRY(record(r->ctx, LZ_OP_where_ScalarOther, in, &late));
    LZ_TRY(lz_tensor_value(late, out));
    lz_node_retain((lz_node *)out->node);
    return NULL;
}

/* Values that were computed wait; if there are none, all do. */
static bool any_computed(const redo *r)
{
    for (size_t i = 0; i < r->borders.len; i++)
        if (r->borders.data[i].alias)
            return true;
    return false;
}

static size_t border_of(const redo *r, lz_output o)
{
    size_t i = 0;
    while (i < r->borders.len && (r->borders.data[i].node != o.node || r->borders.data[i].index != o.index))
        i++;
    return i;
}

static lz_err *copy_node(const redo *r, const node_map *m, const lz_output *crossed, const lz_node *n,
                         lz_node **out)
{
    lz_node_form f = { .op = n->op,
                       .slots = n->args,
                       .fixed = n->fixed,
                       .specs = n->specs,
                       .nfixed = n->nfixed,
                       .nslots = n->nargs,
                       .nin = n->nin,
                       .nnumbers = n->nnumbers,
                       .nout = n->nout };
    lz_output *in = lz_mem_alloc((n->nin + 1u) * sizeof *in);
    if (!in)
        return lz_err_oom();
    lz_node_form_finish(&f); /* its parts are those of n */
    for (uint32_t i = 0; i < n->nin; i++) {
        in[i] = n->in[i];
        if (in[i].node && is_inside(r, in[i].node))
            in[i].node = *map_value(m, in[i].node);
        else if (in[i].node)
            in[i] = crossed[border_of(r, in[i])];
    }
    lz_err *e = lz_node_make(r->ctx->nodes, &f, in, n->numbers, n->at, n->scope, out);
    lz_mem_free(in);
    return e;
}

static int by_birth(const void *a, const void *b)
{
    const lz_node *x = *(const lz_node *const *)a, *y = *(const lz_node *const *)b;
    return x->born < y->born ? -1 : x->born > y->born;
}

/* Nodes get their copies in the order they were made in. */
static lz_err *copy_all(redo *r, const lz_output *crossed, node_map *m, node_list *inside)
{
    LZ_TRY(explore(r, m, inside));
    if (inside->len)
        qsort((void *)inside->data, inside->len, sizeof *inside->data, by_birth);
    for (size_t i = 0; i < inside->len; i++)
        LZ_TRY(copy_node(r, m, crossed, inside->data[i], map_value(m, inside->data[i])));
    return NULL;
}

static lz_err *give_back(redo *r, const node_map *m)
{
    for (size_t i = 0; i < r->kept.len; i++) {
        kept *k = &r->kept.data[i];
        if (!k->owner)
            continue;
        lz_gitem *x = &k->owner->items[k->item];
        lz_output v = { *map_value(m, k->value.node), k->value.index };
        const lz_spec *dense;
        LZ_TRY(lz_spec_get(r->ctx->specs, (lz_dtype)x->spec->dtype, lz_spec_sizes(x->spec),
                           (lz_ints){ NULL, 0 }, &dense));
        LZ_TRY(lz_alias_pending(r->ctx, dense, v, &x->alias));
        lz_node_retain((lz_node *)v.node);
        x->spec = dense;
        x->offset = 0;
        x->writes = 0;
    }
    return NULL;
}

static lz_err *compute_again(redo *r, lz_tensor *grad)
{
    lz_ctx *c = r->ctx;
    size_t n = r->borders.len, done = 0;
    node_map m = { 0 };
    node_list inside = { 0 };
    lz_tensor *signal;
    LZ_TRY(find_signal(c, grad, &signal));
    lz_output *crossed = lz_mem_zalloc(n + 1, sizeof *crossed);
    bool some = any_computed(r);
    lz_err *e = crossed ? NULL : lz_err_oom();
    for (; !e && done < n; done += e == NULL)
        e = cross(r, &r->borders.data[done], signal, !some || r->borders.data[done].alias, &crossed[done]);
    if (!e)
        e = copy_all(r, crossed, &m, &inside);
    if (!e)
        e = give_back(r, &m);
    for (size_t i = 0; i < inside.len; i++)
        lz_node_release(c->nodes, *map_value(&m, inside.data[i]));
    for (size_t i = 0; i < done; i++)
        lz_node_release(c->nodes, (lz_node *)crossed[i].node);
    lz_mem_free(crossed);
    lz_vec_deinit(&inside);
    map_deinit(&m);
    return e;
}

/* Owners have their values: they do without it. */
static void dissolve(redo *r)
{
    r->refs++;
    for (size_t i = 0; i < r->kept.len; i++) {
        lz_gnode *n = r->kept.data[i].owner;
        if (!n || !n->redo)
            continue;
        n->redo = NULL;
        release_redo(r);
    }
    release_redo(r);
}

lz_err *lz_checkpoint_restore(lz_gnode *n, lz_tensor *grad)
{
    redo *r = n->redo;
    if (!r)
        return NULL;
    lz_ctx *c = r->ctx;
    bool hidden = c->tape_is_hidden;
    c->tape_is_hidden = true;
    c->at = n->at;
    lz_err *e = compute_again(r, grad);
    c->tape_is_hidden = hidden;
    if (!e)
        dissolve(r);
    return e;
}
