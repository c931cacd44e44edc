#include "autograd/checkpoint.h"
#include "base/hash_table.h"
#include "base/mem.h"
#include "lazy/node.h"
#include "op/op_table.h"
#include <assert.h>
#include <stdlib.h>

/* A value that a node of the tape would save, as one count of the node that computes it. */
typedef struct kept {
    lz_tape_node *owner; /* NULL: the owner has been freed */
    uint32_t item;
    lz_output value;
} kept;

/* A value from outside the checkpoint, and what holds it, also across a sync. */
typedef struct border {
    const lz_node *node; /* one count */
    uint32_t index;
    lz_saved saved; /* storage NULL: the node is a leaf */
} border;

/* What is needed to compute the values of one checkpoint again; counted by the nodes of the tape that need
 * them. */
typedef struct lz_recomputation {
    uint32_t refs;
    lz_ctx *ctx;
    uint64_t born; /* nodes born later belong to the checkpoint */
    LZ_VEC(kept) kept;
    LZ_VEC(border) borders;
} recomputation;

typedef struct lz_open_scope {
    struct lz_open_scope *outer;
    uint64_t seq, born;
} open_scope;

/* ---- nodes by address ---- */

typedef struct copied {
    lz_hash_entry node;
    bool seen;
    lz_node *copy; /* one count */
} copied;

typedef struct node_map {
    lz_hash_table table;
    lz_arena arena;
} node_map;

static void map_deinit(node_map *m)
{
    lz_hash_table_deinit(&m->table);
    lz_arena_deinit(&m->arena);
}

/* *fresh: n was not in the map. */
static lz_err *map_add(node_map *m, const lz_node *n, bool *fresh)
{
    copied *x;
    LZ_TRY(lz_hash_table_entry(&m->table, &m->arena, (uintptr_t)n, &x));
    *fresh = !x->seen;
    x->seen = true;
    return NULL;
}

static lz_node **map_value(const node_map *m, const lz_node *n)
{
    copied *x = lz_hash_table_get(&m->table, (uintptr_t)n);
    assert(x); /* map_add has added n */
    return &x->copy;
}

/* ---- life ---- */

static void release_recomputation(recomputation *r)
{
    if (--r->refs > 0)
        return;
    lz_nodes *nodes = lz_ctx_nodes(r->ctx);
    for (size_t i = 0; i < r->kept.len; i++)
        lz_node_release(nodes, (lz_node *)r->kept.data[i].value.node);
    for (size_t i = 0; i < r->borders.len; i++) {
        lz_node_release(nodes, (lz_node *)r->borders.data[i].node);
        lz_saved_drop(&r->borders.data[i].saved);
    }
    lz_vec_deinit(&r->kept);
    lz_vec_deinit(&r->borders);
    lz_mem_free(r);
}

void lz_checkpoint_forget(lz_tape_node *n)
{
    recomputation *r = n->recomputation;
    if (!r)
        return;
    n->recomputation = NULL;
    for (size_t i = n->place; i < r->kept.len && r->kept.data[i].owner == n; i++) {
        lz_node_release(lz_ctx_nodes(r->ctx), (lz_node *)r->kept.data[i].value.node);
        r->kept.data[i] = (kept){ NULL, 0, { NULL, 0 } };
        n->freed_saved_values = true;
    }
    release_recomputation(r);
}

void lz_checkpoints_close(lz_tape *t)
{
    while (t->open) {
        open_scope *o = t->open;
        t->open = o->outer;
        lz_mem_free(o);
    }
}

/* ---- the end of a checkpoint: saved values are replaced by the nodes that compute them ---- */

static bool is_inside(const recomputation *r, const lz_node *n)
{
    return n->op && n->born > r->born;
}

/* The item's value if a node inside the checkpoint computes it. out->node NULL: the value comes from outside,
 * or was overwritten, which the backward pass reports. */
static lz_err *value_of(const recomputation *r, const lz_saved *x, lz_output *out)
{
    *out = (lz_output){ NULL, 0 };
    if (!x->storage || !lz_saved_is_current(x))
        return NULL;
    LZ_TRY(lz_saved_value(x, out));
    if (is_inside(r, out->node))
        return NULL;
    lz_node_release(lz_ctx_nodes(r->ctx), (lz_node *)out->node);
    *out = (lz_output){ NULL, 0 };
    return NULL;
}

static lz_err *collect(recomputation *r, lz_tape_node *n)
{
    lz_output v;
    if (n->kind != LZ_TAPE_NODE_OP || n->recomputation)
        return NULL;
    for (uint32_t i = 0; i < n->nin + n->nout; i++) {
        LZ_TRY(lz_vec_reserve(&r->kept, 1));
        LZ_TRY(value_of(r, &n->items[i], &v));
        if (v.node)
            LZ_TRY(lz_vec_push(&r->kept, (kept){ n, i, v }));
    }
    return NULL;
}

/* Drops the saved values that can be computed again. Nothing can fail from here on. */
static void strip(recomputation *r)
{
    for (size_t i = 0; i < r->kept.len; i++) {
        lz_tape_node *n = r->kept.data[i].owner;
        if (!n->recomputation) {
            n->recomputation = r;
            n->place = (uint32_t)i;
            r->refs++;
        }
        lz_saved_drop(&n->items[r->kept.data[i].item]);
    }
}

static lz_err *add_border(recomputation *r, lz_output o)
{
    border b = { .node = o.node, .index = o.index };
    LZ_TRY(lz_vec_reserve(&r->borders, 1));
    if (o.node->op)
        LZ_TRY(lz_saved_init_output(&b.saved, r->ctx, o));
    lz_node_retain((lz_node *)o.node);
    return lz_vec_push(&r->borders, b);
}

static bool has_border(const recomputation *r, lz_output o)
{
    for (size_t i = 0; i < r->borders.len; i++)
        if (r->borders.data[i].node == o.node && r->borders.data[i].index == o.index)
            return true;
    return false;
}

typedef LZ_VEC(const lz_node *) node_list;

/* Collects the nodes inside that kept values depend on, in any order; adds the borders. */
static lz_err *explore(recomputation *r, node_map *m, node_list *inside)
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

static lz_err *find_borders(recomputation *r)
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
    recomputation *r = lz_mem_zalloc(1, sizeof *r);
    lz_err *e = NULL;
    if (!r)
        return lz_err_oom();
    r->refs = 1;
    r->ctx = t->ctx;
    r->born = o->born;
    for (lz_tape_node *n = t->last; !e && n && n->seq > o->seq; n = n->prev)
        e = collect(r, n);
    if (!e)
        e = find_borders(r);
    if (!e)
        strip(r);
    release_recomputation(r);
    return e;
}

bool lz_checkpoint_begin(lz_ctx *c)
{
    lz_tape *t;
    lz_err *e = lz_tape_of(c, &t);
    open_scope *o = e ? NULL : lz_mem_alloc(sizeof *o);
    if (!e && !o)
        e = lz_err_oom();
    if (!e) {
        *o = (open_scope){ t->open, t->seq, lz_nodes_born(lz_ctx_nodes(c)) };
        t->open = o;
    }
    return lz_ctx_report(c, (lz_loc){ 0 }, e);
}

/* Nodes of a backend's own builder cannot be copied, so that values are kept as without a checkpoint. */
bool lz_checkpoint_end(lz_ctx *c)
{
    lz_tape *t = lz_ctx_tape(c);
    if (!t || !t->open)
        return lz_ctx_report(c, (lz_loc){ 0 }, lz_errf(LZ_ERR_ARG, "no checkpoint was begun"));
    open_scope *o = t->open;
    t->open = o->outer;
    lz_err *e = lz_ctx_makes_own_nodes(c) ? close_scope(t, o) : NULL;
    lz_mem_free(o);
    return lz_ctx_report(c, (lz_loc){ 0 }, e);
}

/* ---- the backward pass: saved values are computed again ---- */

/* Where values are computed again: below the tape, with the line of the node that needs them. */
typedef struct place {
    lz_ctx *c;
    lz_loc at;
} place;

static lz_err *record(place p, lz_op op, const lz_value *in, lz_tensor **out)
{
    return lz_record_one_below_tape(p.c, &lz_op_table[op], p.at, in, out);
}

/* A tensor that is true for every gradient, but can only be computed after the gradient. Values that depend
 * on the tensor are new nodes: hash-consing does not find the old ones. */
static lz_err *find_signal(place p, lz_tensor *grad, lz_tensor **out)
{
    lz_tensor *flat, *first, *is, *is_not;
    const lz_value one = lz_value_ints(LZ_DIMS(-1)), zero = lz_value_integer(0);
    *out = NULL;
    if (!grad || lz_tensor_numel(grad) == 0)
        return NULL;
    LZ_TRY(record(p, LZ_OP_reshape, (lz_value[]){ lz_value_tensor(grad), one }, &flat));
    LZ_TRY(record(p, LZ_OP_select_int, (lz_value[]){ lz_value_tensor(flat), zero, zero }, &first));
    const lz_value two[] = { lz_value_tensor(first), lz_value_tensor(first) };
    LZ_TRY(record(p, LZ_OP_eq_Tensor, two, &is));
    LZ_TRY(record(p, LZ_OP_ne_Tensor, two, &is_not));
    return record(p, LZ_OP_logical_or, (lz_value[]){ lz_value_tensor(is), lz_value_tensor(is_not) }, out);
}

/* The value of a border. If it waits, it depends on the signal. One count belongs to the caller. */
static lz_err *cross(place p, const border *b, lz_tensor *signal, bool waits, lz_output *out)
{
    lz_tensor *t, *late;
    lz_saved x;
    if (!signal || !waits) {
        if (b->saved.storage)
            return lz_saved_value(&b->saved, out);
        *out = (lz_output){ lz_node_retain((lz_node *)b->node), b->index };
        return NULL;
    }
    LZ_TRY(b->saved.storage ? lz_saved_tensor(&b->saved, &t) : lz_tensor_of_leaf(p.c, b->node, &t));
    const lz_value in[] = { lz_value_tensor(signal), lz_value_tensor(t), lz_value_scalar(lz_scalar_int(0)) };
    LZ_TRY(record(p, LZ_OP_where_ScalarOther, in, &late));
    lz_saved_init(&x, late, true);
    lz_err *e = lz_saved_value(&x, out);
    lz_saved_drop(&x);
    return e;
}

/* Only computed borders wait for the signal; if no border was computed, all wait. */
static bool any_computed(const recomputation *r)
{
    for (size_t i = 0; i < r->borders.len; i++)
        if (r->borders.data[i].saved.storage)
            return true;
    return false;
}

static size_t border_of(const recomputation *r, lz_output o)
{
    size_t i = 0;
    while (i < r->borders.len && (r->borders.data[i].node != o.node || r->borders.data[i].index != o.index))
        i++;
    return i;
}

static lz_err *copy_node(const recomputation *r, const node_map *m, const lz_output *crossed,
                         const lz_node *n, lz_node **out)
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
    lz_node_form_finish(&f); /* the form has the members of n */
    for (uint32_t i = 0; i < n->nin; i++) {
        in[i] = n->in[i];
        if (in[i].node && is_inside(r, in[i].node))
            in[i].node = *map_value(m, in[i].node);
        else if (in[i].node)
            in[i] = crossed[border_of(r, in[i])];
    }
    lz_err *e = lz_node_make(lz_ctx_nodes(r->ctx), &f, in, lz_node_scalars(n), n->at, n->scope, out);
    lz_mem_free(in);
    return e;
}

static int by_birth(const void *a, const void *b)
{
    const lz_node *x = *(const lz_node *const *)a, *y = *(const lz_node *const *)b;
    return x->born < y->born ? -1 : x->born > y->born;
}

/* Copies the nodes in the order in which they were made. */
static lz_err *copy_all(recomputation *r, const lz_output *crossed, node_map *m, node_list *inside)
{
    LZ_TRY(explore(r, m, inside));
    if (inside->len)
        qsort((void *)inside->data, inside->len, sizeof *inside->data, by_birth);
    for (size_t i = 0; i < inside->len; i++)
        LZ_TRY(copy_node(r, m, crossed, inside->data[i], map_value(m, inside->data[i])));
    return NULL;
}

static lz_err *give_back(recomputation *r, const node_map *m)
{
    for (size_t i = 0; i < r->kept.len; i++) {
        const kept *k = &r->kept.data[i];
        if (!k->owner || k->owner->items[k->item].storage) /* restored by an attempt that failed later */
            continue;
        lz_output v = { *map_value(m, k->value.node), k->value.index };
        LZ_TRY(lz_saved_init_output(&k->owner->items[k->item], r->ctx, v));
    }
    return NULL;
}

static lz_err *compute_again(recomputation *r, lz_loc at, lz_tensor *grad)
{
    const place p = { r->ctx, at };
    lz_nodes *nodes = lz_ctx_nodes(r->ctx);
    size_t n = r->borders.len, done = 0;
    node_map m = { 0 };
    node_list inside = { 0 };
    lz_tensor *signal;
    LZ_TRY(find_signal(p, grad, &signal));
    lz_output *crossed = lz_mem_zalloc(n + 1, sizeof *crossed);
    bool some = any_computed(r);
    lz_err *e = crossed ? NULL : lz_err_oom();
    for (; !e && done < n; done += e == NULL)
        e = cross(p, &r->borders.data[done], signal, !some || r->borders.data[done].saved.storage,
                  &crossed[done]);
    if (!e)
        e = copy_all(r, crossed, &m, &inside);
    if (!e)
        e = give_back(r, &m);
    for (size_t i = 0; i < inside.len; i++)
        lz_node_release(nodes, *map_value(&m, inside.data[i]));
    for (size_t i = 0; i < done; i++)
        lz_node_release(nodes, (lz_node *)crossed[i].node);
    lz_mem_free(crossed);
    lz_vec_deinit(&inside);
    map_deinit(&m);
    return e;
}

/* Detaches r from its owners, which have their values again. */
static void dissolve(recomputation *r)
{
    r->refs++;
    for (size_t i = 0; i < r->kept.len; i++) {
        lz_tape_node *n = r->kept.data[i].owner;
        if (!n || !n->recomputation)
            continue;
        n->recomputation = NULL;
        release_recomputation(r);
    }
    release_recomputation(r);
}

lz_err *lz_checkpoint_restore(lz_tape_node *n, lz_tensor *grad)
{
    recomputation *r = n->recomputation;
    if (!r)
        return NULL;
    LZ_TRY(compute_again(r, n->at, grad));
    dissolve(r);
    return NULL;
}
